//! Recognises lines that look like an error, a warning or a failed test.

use super::shape::is_time;
use std::collections::BTreeSet;
use std::sync::LazyLock;

const MARKS: [char; 8] = ['✗', '✘', '✖', '✕', '❌', '×', '●', '⨯'];

/// Number of first tokens among which a letter can be the level of a log.
const MAX_LEVEL_TOKENS: usize = 6;

/// Returns true if a line looks like an error, a warning or a failed test. A word such as `error`
/// within a name (`error.rs`, `parse_error`) does not count, nor does a count of zero (`0 errors`).
pub(super) fn is_alarm(line: &str) -> bool {
    let text = line.trim_start();
    if text.starts_with(MARKS) || line.starts_with("E  ") || has_level_letter(text) {
        return true;
    }
    let bytes = line.as_bytes();
    let mut before: &[u8] = b"";
    let mut at = 0;
    while let Some(skipped) = bytes[at..].iter().position(u8::is_ascii_alphabetic) {
        let start = at + skipped;
        let rest = &bytes[start..];
        let is_end = |b: &u8| !b.is_ascii_alphabetic();
        at = start + rest.iter().position(is_end).unwrap_or(rest.len());
        let word = &bytes[start..at];
        // Two words can be a phrase, such as `not found`, only if one character is between them.
        let first = if skipped == 1 { before } else { b"" };
        before = word;
        if is_phrase(first, word) && !is_in_name(bytes, start, at) {
            return true;
        }
        let is_reported = is_error_type(word) && !goes_on(&bytes[at..])
            || is_alarm_word(word) && !is_in_name(bytes, start, at);
        if is_reported && !is_counted_zero(bytes, start, at) {
            return true;
        }
    }
    false
}

/// Returns true if a line of a log has a letter for its level: `[E]`, `|W|`, one that stands alone
/// behind the time, or klog's `E1129` before it.
fn has_level_letter(line: &str) -> bool {
    const LEVELS: [char; 4] = ['E', 'W', 'F', 'C'];
    const PAIRS: [(char, char); 4] = [('[', ']'), ('|', '|'), ('<', '>'), ('(', ')')];
    let tokens = line.split_ascii_whitespace().take(MAX_LEVEL_TOKENS);
    let first = tokens.clone().next().unwrap_or_default();
    let has_time = tokens.clone().nth(1).is_some_and(is_time);
    let date = first.strip_prefix(LEVELS).unwrap_or_default();
    if has_time && matches!(date.len(), 4 | 8) && date.bytes().all(|b| b.is_ascii_digit()) {
        return true;
    }
    let mut is_behind_time = false;
    let mut tokens = tokens;
    tokens.any(|token| {
        is_behind_time |= is_time(token);
        let inner = |(open, close)| token.strip_prefix(open)?.strip_suffix(close);
        let bare = Some(token).filter(|_| is_behind_time);
        let letter = PAIRS.into_iter().find_map(inner).or(bare);
        letter.is_some_and(|letter| letter.strip_prefix(LEVELS) == Some(""))
    })
}

const MAX_WORD_BYTES: usize = 12;

fn lower_case(word: &[u8]) -> ([u8; MAX_WORD_BYTES], usize) {
    let mut lower = [0; MAX_WORD_BYTES];
    let length = word.len().min(MAX_WORD_BYTES);
    lower[..length].copy_from_slice(&word[..length]);
    lower.make_ascii_lowercase();
    (lower, length)
}

fn is_alarm_word(word: &[u8]) -> bool {
    static WORDS: LazyLock<BTreeSet<&[u8]>> = LazyLock::new(|| {
        "abort aborted aborting assertion cannot conflict conflicts critical crashed denied err \
         error errors exception fail failed failing fails failure failures fatal forbidden \
         invalid killed missing panic panicked refused rejected segmentation timeout traceback \
         unable uncaught undefined unexpected unhandled unknown unresolved warn warning warnings"
            .split(' ')
            .map(str::as_bytes)
            .collect()
    });
    let (lower, length) = lower_case(word);
    (3..=MAX_WORD_BYTES).contains(&word.len()) && WORDS.contains(&lower[..length])
}

fn is_phrase(first: &[u8], second: &[u8]) -> bool {
    if first.len() > 6 || second.len() > 6 || first.len() < 2 {
        return false;
    }
    let ((first, f), (second, s)) = (lower_case(first), lower_case(second));
    matches!(
        (&first[..f], &second[..s]),
        (b"not", b"found" | b"ok")
            | (b"no", b"such")
            | (b"could" | b"can" | b"did" | b"does", b"not")
            | (b"can" | b"couldn" | b"didn" | b"doesn", b"t")
            | (b"timed", b"out")
            | (b"core", b"dumped")
    )
}

/// Returns true for the names of error types, such as `TypeError`. These count even after a dot, as
/// in `json.JSONDecodeError`.
fn is_error_type(word: &[u8]) -> bool {
    const ENDS: [&[u8]; 5] = [b"Error", b"Exception", b"Failure", b"Warning", b"Panic"];
    let is_end = |end: &&[u8]| word.len() > end.len() && word.ends_with(end);
    ENDS.iter().any(is_end)
}

/// Returns true if a word is a part of a name, such as `parse_error` or `error::Kind`. A word in
/// capitals is rather the level of a log, even beside a mark, as in `123-ERROR-Order` and
/// `ERROR/MainProcess`. It is a part of a name only beside `_` or `\` and before `::` or an ending
/// such as `.rs`.
fn is_in_name(line: &[u8], start: usize, end: usize) -> bool {
    let before = &line[..start];
    if line[start..end].iter().all(u8::is_ascii_uppercase) {
        let is_name = |b: &u8| matches!(b, b'_' | b'\\');
        let after = &line[end..];
        let is_joined = before.last().is_some_and(is_name) || after.first().is_some_and(is_name);
        return is_joined || after.starts_with(b"::") || is_extended(after);
    }
    let goes_back = match before {
        [.., a, b':', b':'] => a.is_ascii_alphanumeric(),
        [.., b] => b.is_ascii_digit() || matches!(b, b'_' | b'-' | b'/' | b'.' | b'\\'),
        [] => false,
    };
    goes_back || goes_on(&line[end..])
}

/// Returns true if the text after a word continues a name, as in `error.rs`, `error_code` and
/// `error::Kind`.
fn goes_on(after: &[u8]) -> bool {
    match after {
        [b'_' | b'-' | b'/' | b'\\', ..] | [b':', b':', ..] => true,
        [b'.', ..] => is_extended(after),
        [next, ..] => next.is_ascii_digit(),
        [] => false,
    }
}

fn is_extended(after: &[u8]) -> bool {
    matches!(after, [b'.', next, ..] if next.is_ascii_alphanumeric() || *next == b'<')
}

fn is_counted_zero(line: &[u8], start: usize, end: usize) -> bool {
    let is_part = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b',' | b'_');
    let none_before = match &line[..start] {
        [rest @ .., b'0', b' '] | [rest @ .., b'n' | b'N', b'o', b' '] => {
            !rest.last().is_some_and(is_part)
        }
        _ => false,
    };
    let is_many = line[start..end].ends_with(b"s") || line[start..end].ends_with(b"ed");
    let none_after = match &line[end..] {
        [b':' | b'=', b' ', b'0', rest @ ..] | [b':' | b'=' | b' ', b'0', rest @ ..] => {
            is_many && !rest.first().is_some_and(|b| is_part(b) && *b != b',')
        }
        _ => false,
    };
    none_before || none_after
}
