//! Determines the shape of a line: its text without what differs between similar lines of a log.
//!
//! Only a line that is known to be a message of a log has a shape: one that says what is being done
//! (`Compiling serde`), when (`12:00:01`), how far it is (`[3/9]`, `[ 12%]`), how long it took
//! (`(0.01s)`), or `... ok`. Lists, tables and source text repeat words as well, and no list of
//! what those look like would ever be complete.

use super::history::hash;
use super::pieces::Pieces;
use std::hash::{DefaultHasher, Hash, Hasher};

const MIN_WORD_BYTES: usize = 3;

const MIN_PARTICIPLE_BYTES: usize = 6;

const MIN_OPTIONS: usize = 3;

const MAX_UNIT_BYTES: usize = 3;

const MAX_RATE_BYTES: usize = 6;

/// A line counts as a log message if a time of day is among so many of its first tokens. In a line
/// such as `checking for gcc... no`, up to `MAX_OUTCOME_TOKENS` words tell the outcome.
const MAX_TIME_TOKENS: usize = 3;

const MAX_OUTCOME_TOKENS: usize = 2;

/// Returns the hash of a message's words. Messages with the same words say the same about different
/// things. All that the hash leaves out is put into `pieces`.
pub(super) fn shape(line: &str, pieces: &mut Pieces) -> Option<u64> {
    pieces.clear();
    let text = line.trim();
    if !text.contains(char::is_alphanumeric) {
        return Some(hash(text));
    }
    if is_source(text) || !is_message(text) {
        return None;
    }
    let (text, duration) = without_duration(text).unwrap_or((text, ""));
    for (at, token) in duration.split_ascii_whitespace().enumerate() {
        pieces.push_measure(("duration", at), token);
    }
    let mut hasher = DefaultHasher::new();
    let mut says_something = false;
    let mut before = Token::Mark('\0');
    // Neighbouring tokens that are left out form a group. The hash has only one mark for a group,
    // so how many tokens it has is noted as a piece.
    let (mut place, mut form) = ((0, 0), DefaultHasher::new());
    let mut tokens = text.split_ascii_whitespace().peekable();
    while let Some(text) = tokens.next() {
        let token = Token::new(text).after(&before, tokens.peek().copied());
        let is_in_group = token.differs() && before.differs();
        before = token;
        // The bracket of `[  1%]` is a token of its own, but that of `[100%]` is not, so it does
        // not count.
        if matches!(before, Token::Mark('[' | '(')) {
            continue;
        }
        place = if is_in_group {
            (place.0, place.1 + 1)
        } else {
            (place.0 + 1, 0)
        };
        place.hash(&mut form);
        let mut left_out = ("", text);
        match &before {
            Token::Mark(mark) => {
                mark.hash(&mut hasher);
                // A bar of equal marks, as in `=====>`, may have any length. Only what follows the
                // marks is noted as a piece.
                left_out.1 = text.trim_start_matches(*mark);
            }
            Token::Word(word) => {
                word.hash(&mut hasher);
                says_something |= word.len() >= MIN_WORD_BYTES;
                left_out = text.split_once(word).unwrap_or(left_out);
            }
            _ if is_in_group => {}
            _ => '\0'.hash(&mut hasher),
        }
        let is_clock = is_time(text);
        pieces.push((place, "before"), left_out.0, is_clock);
        pieces.push((place, "after"), left_out.1, is_clock);
    }
    pieces.push_measure("form", &form.finish().to_string());
    says_something.then(|| hasher.finish())
}

fn is_message(text: &str) -> bool {
    let tokens = text.split_ascii_whitespace();
    let first = tokens.clone().next().unwrap_or_default();
    is_participle(first.trim_end_matches(':'))
        || Token::label(first).is_some()
        || is_counter(text)
        || text.ends_with("%]")
        || text.starts_with(['✓', '✔', '√'])
        || text.starts_with("=== ")
        || without_duration(text).is_some()
        || is_command(text)
        || has_outcome(text)
        || tokens.clone().skip(1).any(is_measure)
        || tokens.take(MAX_TIME_TOKENS).any(is_time)
}

fn is_source(line: &str) -> bool {
    let is_directive = |rest: &str| !rest.starts_with(|c: char| c.is_ascii_digit());
    line.starts_with(['{', '"', '<', '|', '}', '+'])
        || line.starts_with("- ")
        || line.contains(" { ")
        || line.contains(" = ")
        || line.starts_with("//")
        || line.strip_prefix('#').is_some_and(is_directive)
        || line.ends_with([';', '{', '}', ',', '(', '\\'])
}

fn is_participle(word: &str) -> bool {
    word.len() >= MIN_PARTICIPLE_BYTES
        && word.ends_with("ing")
        && word.chars().all(char::is_alphabetic)
}

fn is_counter(text: &str) -> bool {
    let is_number = |inside: &str| inside.contains(|c: char| c.is_ascii_digit());
    let is_level = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || " /%.:".contains(c);
    let closed = |open, close| text.strip_prefix(open)?.split_once(close);
    match closed('[', ']').or_else(|| closed('(', ')')) {
        Some((inside, rest)) => {
            inside.len() > 1 && inside.chars().all(is_level) && rest.starts_with(' ')
        }
        None => text.strip_prefix('#').is_some_and(is_number),
    }
}

fn without_duration(text: &str) -> Option<(&str, &str)> {
    let (before, duration) = text.strip_suffix("s)")?.rsplit_once(" (")?;
    let is_number = duration.starts_with(|c: char| c.is_ascii_digit());
    is_number.then(|| (before, &text[before.len()..]))
}

fn is_command(text: &str) -> bool {
    let is_option = |token: &&str| is_option(token);
    text.split_ascii_whitespace()
        .nth(1)
        .is_some_and(|token| is_option(&token))
        && text.split_ascii_whitespace().filter(is_option).count() >= MIN_OPTIONS
}

fn is_option(token: &str) -> bool {
    token
        .strip_prefix('-')
        .is_some_and(|rest| rest.starts_with(|c: char| c.is_alphabetic() || c == '-'))
}

/// Returns true for a time or speed such as `12ms`, `(0.01s)` or `1.2MB/s`.
fn is_measure(token: &str) -> bool {
    let token = token.trim_end_matches(')');
    let number = token.rsplit(['(', '=']).next().unwrap_or_default();
    let unit = number.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    token.ends_with("B/s") || unit.len() < number.len() && matches!(unit, "s" | "ms" | "µs")
}

/// Returns true for a step with or without its outcome, such as `checking for gcc...`, `checking
/// for gcc... no` or `test a ... ok`.
fn has_outcome(text: &str) -> bool {
    text.rsplit_once("...").is_some_and(|(before, after)| {
        let outcome = after.split_ascii_whitespace();
        let is_ended = after.is_empty() && before.ends_with(char::is_alphanumeric);
        let is_word = |word: &str| word.chars().all(char::is_alphanumeric);
        is_ended
            || after.starts_with(' ')
                && outcome.clone().count() <= MAX_OUTCOME_TOKENS
                && outcome.clone().all(is_word)
    })
}

pub(super) fn is_time(token: &str) -> bool {
    token.as_bytes().windows(8).any(|bytes| {
        let is_part = |(at, byte): (usize, &u8)| {
            if at % 3 == 2 {
                *byte == b':'
            } else {
                byte.is_ascii_digit()
            }
        };
        bytes.iter().enumerate().all(is_part)
    })
}

enum Token<'a> {
    /// A piece of text without letters or digits, such as `->`. Only its first character is kept.
    Mark(char),
    /// A word, or the word of one with a number attached, such as `Get:12`.
    Word(&'a str),
    /// A number, time, size or hash, with its unit if that is attached.
    Number,
    Unit,
    Name(&'a str),
}

impl<'a> Token<'a> {
    fn new(text: &'a str) -> Self {
        let core = text.trim_matches(|c: char| !c.is_alphanumeric());
        let Some(first) = core.chars().next() else {
            return Self::Mark(text.chars().next().unwrap_or_default());
        };
        if let Some(label) = Self::label(core) {
            return Self::Word(label);
        }
        let is_quoted = text.starts_with(['"', '\'', '`', '/', '~', '$', '@', '-', '*']);
        let is_word = core
            .chars()
            .all(|c| c.is_alphabetic() || c == '\'' || c == '=');
        match () {
            () if is_word && !is_quoted || is_option(text) => Self::Word(core),
            () if first.is_ascii_digit()
                && (!core.contains('/') || !core.contains(char::is_alphabetic)) =>
            {
                Self::Number
            }
            () => Self::Name(core),
        }
    }

    fn label(text: &str) -> Option<&str> {
        let (word, number) = text.split_once(':')?;
        let is_label = (1..=MAX_UNIT_BYTES).contains(&word.len())
            && word.bytes().all(|b| b.is_ascii_alphabetic())
            && !number.is_empty()
            && number.bytes().all(|b| b.is_ascii_digit());
        is_label.then_some(word)
    }

    fn differs(&self) -> bool {
        matches!(self, Self::Number | Self::Unit | Self::Name(_))
    }

    /// Returns the token as its neighbours show how to read it: a short word after a number is its
    /// unit, and a word after a participle or before `...` names a thing.
    fn after(self, before: &Token<'_>, next: Option<&str>) -> Self {
        match (before, self) {
            (Token::Number, Self::Word(word)) if is_unit(word) => Self::Unit,
            (Token::Number | Token::Unit, Self::Name(name))
                if name.len() <= MAX_RATE_BYTES
                    && name.bytes().all(|b| b.is_ascii_alphabetic() || b == b'/') =>
            {
                Self::Unit
            }
            (Token::Word(before), Self::Word(word)) if is_participle(before) => Self::Name(word),
            (_, Self::Word(word)) if next == Some("...") && !is_participle(word) => {
                Self::Name(word)
            }
            (_, token) => token,
        }
    }
}

fn is_unit(word: &str) -> bool {
    word.len() <= MAX_UNIT_BYTES && word.ends_with(['B', 's', 'm', 'h'])
}
