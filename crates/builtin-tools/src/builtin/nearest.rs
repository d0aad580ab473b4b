//! Finds the text of a file that is most similar to an `old_string` that was not found, and says
//! what differs.
//!
//! # How it works
//!
//! If [`crate::edit`] finds `old_string` in the file although it is quoted inexactly, for example
//! with other indentation, that text is the most similar one. Otherwise the file is searched for
//! the text with the smallest edit distance to the first `SEARCHED_BYTES` of `old_string`, by the
//! bit-parallel algorithm of Myers (1999) in the blocks of Hyyrö (2003). Its time is proportional
//! to the size of the file times the length of these bytes in machine words. The maintained crates
//! with this algorithm bring much code that is not needed here. A text is similar enough if the
//! distance is at most the length of these bytes divided by `NEAR_PART`, rounded up. A text of less
//! than `MIN_BYTES` is not searched for: it is similar to everything.
//!
//! A text of at most `SHOWN_LINES` lines is shown so that it can be passed as `old_string`: it
//! begins and ends between words. If the file has it more than once, lines around it are shown with
//! it. Of a longer text, only the lines that differ are shown.

use crate::edit::{Reading, fitting_places, is_word, plain};
use gemini_tools_workspace::diff::{Algorithm, changes, diff_lines};
use std::ops::Range;

const SHOWN: usize = 3;

const SHOWN_LINES: usize = 40;

const SHOWN_CHARS: usize = 2_000;

const TOLD: usize = 3;

const SEARCHED_BYTES: usize = 1_024;

const NEAR_PART: usize = 3;

const MIN_BYTES: usize = 3;

const COMPARED_BYTES: usize = 4 * 1024 * 1024;

const AROUND_LINES: usize = 5;

pub(super) fn nearest(text: &str, old: &str) -> Vec<String> {
    let mut places: Vec<(Range<usize>, Option<Reading>)> = Vec::new();
    if text.len() <= COMPARED_BYTES {
        let fits = fitting_places(text, old).into_iter().take(SHOWN);
        places.extend(fits.map(|(place, reading)| (place, Some(reading))));
    }
    if places.is_empty() {
        let wanted = old.trim_matches(['\r', '\n']).replace("\r\n", "\n");
        let found = approximate(text.as_bytes(), &wanted).into_iter();
        places.extend(found.map(|place| (place, None)));
    }
    let near = |(place, reading)| {
        let place = unique(text, place);
        let line = text[..place.start].matches('\n').count() + 1;
        describe(line, &text[place], old, reading)
    };
    places.into_iter().map(near).collect()
}

fn approximate(text: &[u8], wanted: &str) -> Vec<Range<usize>> {
    let is_crlf = memchr::memmem::find(text, b"\r\n").is_some();
    let all = wanted.replace('\n', if is_crlf { "\r\n" } else { "\n" });
    let pattern = &all.as_bytes()[..all.len().min(SEARCHED_BYTES)];
    if pattern.len() < MIN_BYTES {
        return Vec::new();
    }
    let mut limit = pattern.len().div_ceil(NEAR_PART);
    let mut search = Myers::new(pattern);
    // The edit distance and the end of each text that is similar enough. Ends that are close to
    // each other belong to one text, of which only the end with the smallest distance is kept.
    let mut ends: Vec<(usize, usize)> = Vec::new();
    for (at, byte) in (1..).zip(text) {
        let slips = search.step(*byte);
        if slips > limit {
            continue;
        }
        match ends.last_mut() {
            Some((least, end)) if at - *end < pattern.len() => {
                if slips < *least {
                    (*least, *end) = (slips, at);
                }
            }
            _ => ends.push((slips, at)),
        }
        if ends.len() > 16 * SHOWN {
            let last = ends.pop();
            ends.sort_by_key(|(slips, _)| *slips);
            ends.truncate(SHOWN);
            limit = ends.last().map_or(limit, |(slips, _)| *slips);
            ends.extend(last);
        }
    }
    ends.sort_by_key(|(slips, _)| *slips);
    ends.truncate(SHOWN);
    let place = |(slips, end): (usize, usize)| {
        let window = &text[end - (pattern.len() + slips).min(end)..end];
        let start = end - length_from_end(pattern, window, slips);
        let end = end + all.len() - pattern.len();
        // `whole_words` widens the text that was found to whole words and lines, but not without
        // end.
        let from = start.saturating_sub(SHOWN_CHARS);
        let around = &text[from..(end + SHOWN_CHARS).min(text.len())];
        let place = whole_words(around, start - from..end - from, wanted);
        from + place.start..from + place.end
    };
    ends.into_iter().map(place).collect()
}

fn whole_words(text: &[u8], place: Range<usize>, wanted: &str) -> Range<usize> {
    let is_word = |at: usize| {
        text.get(at)
            .is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_' || *byte >= 0x80)
    };
    let (mut start, mut end) = (place.start, place.end.min(text.len()));
    while start > 0 && is_word(start - 1) && is_word(start) {
        start -= 1;
    }
    // An escape such as `\d` begins with its backslash.
    while start > 0 && text[start - 1] == b'\\' {
        start -= 1;
    }
    while end < text.len() && end > 0 && is_word(end - 1) && is_word(end) {
        end += 1;
    }
    let line = text[..start]
        .iter()
        .rposition(|byte| *byte == b'\n')
        .map_or(0, |at| at + 1);
    let is_indented = text[line..start]
        .iter()
        .all(|byte| matches!(byte, b' ' | b'\t'));
    if is_indented && (wanted.starts_with([' ', '\t']) || wanted.contains('\n')) {
        start = line;
    }
    while start < end && matches!(text[start], b'\r' | b'\n') {
        start += 1;
    }
    while end > start && matches!(text[end - 1], b'\r' | b'\n') {
        end -= 1;
    }
    start..end
}

/// Returns the length of the shortest suffix of `window` that differs from `pattern` by at most
/// `slips` edits.
fn length_from_end(pattern: &[u8], window: &[u8], slips: usize) -> usize {
    let mut row: Vec<usize> = (0..=window.len()).collect();
    for (n, one) in pattern.iter().rev().enumerate() {
        let mut diagonal = row[0];
        row[0] = n + 1;
        for (at, other) in window.iter().rev().enumerate() {
            let same = diagonal + usize::from(one != other);
            diagonal = row[at + 1];
            row[at + 1] = same.min(diagonal + 1).min(row[at] + 1);
        }
    }
    row.iter()
        .position(|there| *there <= slips)
        .unwrap_or(window.len())
}

/// Widens a place by up to `AROUND_LINES` lines on each side until the file has its text only once,
/// so that it can be used as `old_string`.
fn unique(text: &str, place: Range<usize>) -> Range<usize> {
    let boundary = |at: usize, step: isize| {
        let mut at = at.min(text.len());
        while !text.is_char_boundary(at) {
            at = at.saturating_add_signed(step);
        }
        at
    };
    let (mut start, mut end) = (boundary(place.start, -1), boundary(place.end, 1));
    let is_unique = |place: Range<usize>| {
        let wanted = &text[place];
        memchr::memmem::find_iter(text.as_bytes(), wanted)
            .take(2)
            .count()
            < 2
    };
    let line_start = |at: usize| text[..at].rfind('\n').map_or(0, |at| at + 1);
    let line_end = |at: usize| text[at..].find('\n').map_or(text.len(), |more| at + more);
    for widened in 0..=2 * AROUND_LINES {
        if is_unique(start..end) {
            break;
        }
        if widened == 0 {
            (start, end) = (line_start(start), line_end(end));
        } else if widened % 2 == 1 {
            start = line_start(start.saturating_sub(1));
        } else {
            end = line_end((end + 1).min(text.len()));
        }
    }
    start..end
}

fn describe(line: usize, text: &str, old: &str, reading: Option<Reading>) -> String {
    let text = text.replace("\r\n", "\n");
    let lines: Vec<&str> = text.trim_end_matches('\n').split('\n').collect();
    let wanted = old.trim_matches(['\r', '\n']).replace("\r\n", "\n");
    let wanted: Vec<&str> = wanted.split('\n').collect();
    let place = match lines.len() {
        1 => format!("line {line}"),
        more => format!("lines {line}-{}", line + more - 1),
    };
    let differences = differences(&wanted, &lines);
    let why = match (reading, differences.is_empty()) {
        (Some(reading), false) => format!("{differences} ({})", reading.describe()),
        (None, false) => differences,
        (Some(reading), true) => format!("where {}", reading.describe()),
        (None, true) => "where line ends differ".to_owned(),
    };
    let cut = |line: &str| line.chars().take(SHOWN_CHARS).collect::<String>();
    let shown: Vec<String> = if lines.len() <= SHOWN_LINES {
        lines.iter().map(|line| cut(line)).collect()
    } else {
        let marked = marked(&wanted, &lines);
        marked.iter().map(|line| cut(line)).collect()
    };
    let fence = if text.contains("```") { "````" } else { "```" };
    format!("{place}, {why}:\n{fence}\n{}\n{fence}", shown.join("\n"))
}

fn marked(wanted: &[&str], lines: &[&str]) -> Vec<String> {
    let mut out = Vec::new();
    for op in changes(&diff_lines(Algorithm::Patience, wanted, lines, None)) {
        out.extend(wanted[op.old_range()].iter().map(|line| format!("-{line}")));
        out.extend(lines[op.new_range()].iter().map(|line| format!("+{line}")));
    }
    out
}

fn differences(wanted: &[&str], lines: &[&str]) -> String {
    let mut told: Vec<String> = Vec::new();
    let mut more = 0;
    for op in changes(&diff_lines(Algorithm::Patience, wanted, lines, None)) {
        let (old, new) = (op.old_range(), op.new_range());
        for at in 0..old.len().max(new.len()) {
            let line = |n: usize| match wanted.len() {
                1 => "old_string".to_owned(),
                _ => format!("line {} of old_string", n + 1),
            };
            let (one, other) = (wanted.get(old.start + at), lines.get(new.start + at));
            let one = one.filter(|_| at < old.len());
            let other = other.filter(|_| at < new.len());
            let words = match (one, other) {
                (Some(one), Some(other)) => {
                    let (one, other) = apart(one, other);
                    format!("{} has {one}, the file {other}", line(old.start + at))
                }
                (Some(one), None) => format!("the file has no line {}", quoted(one)),
                (None, Some(other)) => format!("old_string has no line {}", quoted(other)),
                (None, None) => continue,
            };
            if told.len() < TOLD {
                told.push(words);
            } else {
                more += 1;
            }
        }
    }
    match (told.is_empty(), more) {
        (true, _) => String::new(),
        (false, 0) => format!("where {}", told.join("; ")),
        (false, more) => format!("where {}; and {more} more", told.join("; ")),
    }
}

fn apart(one: &str, other: &str) -> (String, String) {
    let same = |a: &mut dyn Iterator<Item = char>, b: &mut dyn Iterator<Item = char>| {
        a.zip(b)
            .take_while(|(a, b)| a == b)
            .map(|(a, _)| a.len_utf8())
            .sum::<usize>()
    };
    let mut start = same(&mut one.chars(), &mut other.chars());
    let end = same(
        &mut one[start..].chars().rev(),
        &mut other[start..].chars().rev(),
    );
    let (mut one_end, mut other_end) = (one.len() - end, other.len() - end);
    if one[..start].trim().is_empty() {
        // A difference in indentation is shown whole, because a part of it says nothing.
        let indentation = |line: &str| line.len() - line.trim_start().len();
        start = 0;
        let further = one.trim_start() == other.trim_start();
        if further {
            (one_end, other_end) = (indentation(one), indentation(other));
        }
    }
    let is_within =
        |text: &str, at: usize| text[..at].ends_with(is_word) && text[at..].starts_with(is_word);
    while is_within(one, start) || is_within(other, start) {
        start -= one[..start].chars().next_back().map_or(1, char::len_utf8);
    }
    while is_within(one, one_end) || is_within(other, other_end) {
        let more = one[one_end..].chars().next().map_or(1, char::len_utf8);
        one_end += more;
        other_end += more;
    }
    (
        quoted(&one[start..one_end]),
        quoted(&other[start..other_end]),
    )
}

fn quoted(text: &str) -> String {
    let mut out = String::from("`");
    for c in text.chars().take(80) {
        if c == '\t' || c.is_control() || plain(c) != Some(c) {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
    if text.chars().nth(80).is_some() {
        out.push('…');
    }
    match text {
        "" => "nothing".to_owned(),
        _ => out + "`",
    }
}

/// State of Myers' algorithm: the edit distances between each prefix of the pattern and the text
/// that ends at the byte read last. They are kept as bits, one for each position of the pattern, in
/// blocks of 64. `places` has them for each byte value: they are set where the pattern has this
/// byte. `more` and `less` are set where the distance is greater or smaller by one than at the
/// position before.
struct Myers {
    places: Vec<u64>,
    more: Vec<u64>,
    less: Vec<u64>,
    last: u64,
    slips: usize,
}

impl Myers {
    fn new(pattern: &[u8]) -> Self {
        let blocks = pattern.len().div_ceil(64);
        let mut places = vec![0; 256 * blocks];
        for (at, byte) in pattern.iter().enumerate() {
            places[usize::from(*byte) * blocks + at / 64] |= 1 << (at % 64);
        }
        Self {
            places,
            more: vec![u64::MAX; blocks],
            less: vec![0; blocks],
            last: 1 << ((pattern.len() - 1) % 64),
            slips: pattern.len(),
        }
    }

    /// Takes the next byte of the file. Returns the smallest edit distance between the pattern and
    /// any text of the file that ends with this byte.
    fn step(&mut self, byte: u8) -> usize {
        let blocks = self.more.len();
        let places = &self.places[usize::from(byte) * blocks..][..blocks];
        let (mut grows, mut shrinks) = (0_u64, 0_u64);
        for (block, same) in places.iter().enumerate() {
            let (more, less) = (self.more[block], self.less[block]);
            let vertical = same | less;
            let same = same | shrinks;
            let horizontal = ((same & more).wrapping_add(more) ^ more) | same;
            let up = less | !(horizontal | more);
            let down = more & horizontal;
            let top = if block + 1 == blocks {
                self.last
            } else {
                1 << 63
            };
            let out = (u64::from(up & top != 0), u64::from(down & top != 0));
            let (up, down) = (up << 1 | grows, down << 1 | shrinks);
            self.more[block] = down | !(vertical | up);
            self.less[block] = up & vertical;
            (grows, shrinks) = out;
        }
        self.slips = self.slips + grows as usize - shrinks as usize;
        self.slips
    }
}

#[cfg(test)]
mod tests {
    use super::nearest as near;

    #[test]
    fn the_difference_is_named_with_the_line_and_the_text_that_is_there() {
        let text = "fn a() {\n\tlet x = \"one\";\n    Return(x)\n}\nfoo(“bar”)\nlast line of all\n  \\d+ foo(boz)\n\\u0041598 is it\n";
        let cases = [
            (
                "    let x = \"one\";",
                "line 2, where old_string has `    `, the file `\\t` (",
                "\tlet x = \"one\";",
            ),
            (
                "let x = 'one';",
                "line 2, where old_string has `'one'`, the file `\"one\"`",
                "let x = \"one\";",
            ),
            (
                "return(x)",
                "line 3, where old_string has `return`, the file `Return`:",
                "Return(x)",
            ),
            (
                "foo(\"bar\")",
                "line 5, where old_string has `\"bar\"`, the file `\\u{201c}bar\\u{201d}` (",
                "foo(“bar”)",
            ),
            (
                "last lime of all",
                "line 6, where old_string has `lime`, the file `line`:",
                "last line of all",
            ),
            ("ast line af al", "line 6, where ", "last line of all"),
            ("d+ foo(baz)", "line 7, where ", "\\d+ foo(boz)"),
            (
                "A598 is it",
                "line 8, where old_string has `A598`, the file `\\u0041598`",
                "\\u0041598 is it",
            ),
            (
                "fn a() {\n  let x = \"one\";\n  Return(x)",
                "lines 1-3, where line 2 of old_string has `  `, the file `\\t`; line 3 of old_string has `  `, the file `    ` (",
                "fn a() {\n\tlet x = \"one\";\n    Return(x)",
            ),
        ];
        for (old, words, there) in cases {
            let found = near(text, old);
            let first = found.first().unwrap_or_else(|| panic!("{old}"));
            assert!(first.starts_with(words), "{old}: {first}");
            assert!(
                first.ends_with(&format!("\n```\n{there}\n```")),
                "{old}: {first}"
            );
        }
        assert!(near(text, "something else entirely, not here").is_empty());
        assert!(near("", "xyz").is_empty());
    }

    #[test]
    fn what_is_shown_is_in_the_file_once() {
        let text = "a {\n  same(one);\n}\nb {\n  same(one);\n}\n";
        let found = near(text, "b {\n  some(one);");
        assert!(
            found[0].ends_with("\n```\nb {\n  same(one);\n```"),
            "{found:?}"
        );
        let found = near(text, "some(one)");
        assert!(
            found[0].ends_with("\n```\na {\n  same(one);\n```"),
            "{found:?}"
        );
    }
}
