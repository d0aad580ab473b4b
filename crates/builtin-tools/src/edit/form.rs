//! The form in which texts are compared: characters that look alike are equal in it. This module
//! also removes line numbers and escapes.

use super::lines::{trim_end, without_indentation};
use std::borrow::Cow;
use std::collections::{BTreeSet, HashSet};
use std::ops::Range;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::{compose, is_combining_mark};

/// A character of a text's form ([`form`]), and the range of bytes in the text that it stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FormChar {
    pub(super) c: char,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// Whether blanks within lines count when texts are compared. Blanks at the ends of lines never do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Blanks {
    Kept,
    Dropped,
}

/// Returns the form in which texts are compared: it has one kind of line end, and a single
/// character in place of all those that look alike.
pub(super) fn form(text: &str, blanks: Blanks) -> Vec<FormChar> {
    let mut out: Vec<FormChar> = Vec::with_capacity(text.len());
    let mut chars = text.char_indices().peekable();
    while let Some((start, c)) = chars.next() {
        let mut end = start + c.len_utf8();
        let mut push = |c: char, end: usize| {
            if blanks == Blanks::Kept || c == '\n' || !c.is_whitespace() {
                out.push(FormChar { c, start, end });
            }
        };
        if c == '\n' || c == '\r' && matches!(chars.peek(), Some((_, '\n'))) {
            if c == '\r' {
                chars.next();
                end += 1;
            }
            drop_blanks_at_end(&mut out);
            let c = '\n';
            out.push(FormChar { c, start, end });
            continue;
        }
        if c.is_ascii() && !matches!(chars.peek(), Some((_, next)) if is_combining_mark(*next)) {
            push(c, end);
            continue;
        }
        // The vowels and final consonants of Hangul are not combining marks, but they, too, are
        // composed with the letters before them into one syllable.
        let (mut cluster, mut syllable) = (String::from(c), c);
        while let Some((at, mark)) = chars
            .next_if(|(_, next)| is_combining_mark(*next) || compose(syllable, *next).is_some())
        {
            cluster.push(mark);
            syllable = compose(syllable, mark).unwrap_or(syllable);
            end = at + mark.len_utf8();
        }
        for c in cluster.nfkc().filter_map(plain) {
            push(c, end);
        }
    }
    drop_blanks_at_end(&mut out);
    out
}

fn drop_blanks_at_end(form: &mut Vec<FormChar>) {
    while matches!(form.last(), Some(last) if last.c == ' ' || last.c == '\t') {
        form.pop();
    }
}

/// Returns the form of a line without indentation and trailing blanks. Where blanks are dropped,
/// one still stays between two words.
pub(super) fn key(line: &str, blanks: Blanks) -> Cow<'_, str> {
    let line = line.trim();
    if blanks == Blanks::Kept && line.is_ascii() {
        return Cow::Borrowed(line);
    }
    let kept = form_text(line, Blanks::Kept);
    let kept = kept.trim();
    if blanks == Blanks::Kept {
        return Cow::Owned(kept.to_owned());
    }
    let mut out = String::with_capacity(kept.len());
    let mut is_apart = false;
    for c in kept.chars() {
        if c.is_whitespace() {
            is_apart = true;
            continue;
        }
        if is_apart && is_word(c) && out.ends_with(is_word) {
            out.push(' ');
        }
        is_apart = false;
        out.push(c);
    }
    Cow::Owned(out)
}

/// Returns true if two texts of the same form also have the same characters, apart from blanks,
/// kinds of quotes and dashes, and width. Other characters that read alike, such as `³` and `3`, may
/// stand for one another in a line that stays, but not in one that goes.
pub(super) fn have_same_characters(one: &str, other: &str) -> bool {
    let is_width = |c: char| matches!(c, '…' | '\u{ff00}'..='\u{ffef}');
    let [one, other] = [one, other].map(|text| -> String {
        let parts = text.nfc().map(|c| match String::from(c) {
            part if is_width(c) => part.nfkc().collect(),
            part => part,
        });
        let chars = parts.flat_map(|part| part.chars().collect::<Vec<_>>());
        let chars = chars.filter_map(plain);
        chars.filter(|c| !c.is_whitespace()).collect()
    });
    one == other
}

pub(super) fn form_text(text: &str, blanks: Blanks) -> String {
    form(text, blanks).into_iter().map(|char| char.c).collect()
}

pub(super) fn tabs_between_words(line: &str) -> Vec<usize> {
    let gaps = line.trim().split(|c: char| !c.is_whitespace());
    gaps.map(|gap| gap.matches('\t').count())
        .filter(|tabs| *tabs > 0)
        .collect()
}

/// Returns the plain character that `c` looks like; `None` if `c` is invisible.
pub(crate) fn plain(c: char) -> Option<char> {
    Some(match c {
        '\u{200b}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2060}'
        | '\u{2066}'..='\u{2069}'
        | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}'
        | '\u{ad}' => return None,
        '‘' | '’' | '‚' | '‛' | '′' | '`' | '´' | 'ʼ' => '\'',
        '“' | '”' | '„' | '‟' | '″' | '«' | '»' => '"',
        '‐' | '‑' | '‒' | '–' | '—' | '―' | '−' | '﹘' => '-',
        c if c.is_whitespace() && !matches!(c, '\t' | '\n') => ' ',
        c => c,
    })
}

pub(crate) fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

pub(super) fn words(form: &[FormChar], may_cut: impl Fn(usize) -> bool) -> Vec<Range<usize>> {
    let ends_word = |before: FormChar, after: FormChar| {
        let is_one = is_word(before.c) && is_word(after.c) || before.c == '.' && after.c == '.';
        before.end < after.start || before.end == after.start && !is_one
    };
    let mut words = Vec::new();
    let mut start = 0;
    for at in 1..=form.len() {
        if at == form.len() || ends_word(form[at - 1], form[at]) && may_cut(at) {
            words.push(start..at);
            start = at;
        }
    }
    words
}

pub(super) fn source<'t>(text: &'t str, form: &[FormChar], word: &Range<usize>) -> &'t str {
    &text[form[word.start].start..form[word.end - 1].end]
}

pub(super) fn before<'t>(text: &'t str, form: &[FormChar], word: &Range<usize>) -> &'t str {
    let end = form[word.start].start;
    let start = word.start.checked_sub(1).map_or(0, |at| form[at].end);
    &text[start.min(end)..end]
}

pub(super) fn behind<'t>(text: &'t str, form: &[FormChar]) -> &'t str {
    &text[form.last().map_or(0, |last| last.end)..]
}

/// Returns a text with an `a` in place of each word, so that only its signs, blanks and invisible
/// characters are compared.
pub(super) fn shape(text: &str, form: &[FormChar], words: &[Range<usize>]) -> String {
    let parts = words.iter().map(|word| {
        let sign = form[word.start].c;
        let sign = if is_word(sign) { 'a' } else { sign };
        format!("{}{sign}", before(text, form, word))
    });
    parts.collect::<String>() + behind(text, form)
}

pub(super) fn shape_of(line: &str) -> String {
    let line = without_indentation(trim_end(line));
    let form = form(line, Blanks::Dropped);
    shape(line, &form, &words(&form, |_| true))
}

pub(crate) fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        let escaped = match chars.clone().next() {
            // A backslash before a line feed is not decoded. No notation escapes a line feed in
            // this way; the backslash says that the line goes on.
            Some('n') => Some('\n'),
            Some('t') => Some('\t'),
            Some('r') => Some('\r'),
            Some(q @ ('"' | '\'' | '`' | '\\' | '/' | '$')) => Some(q),
            _ => None,
        };
        match escaped.filter(|_| c == '\\') {
            Some(escaped) => {
                chars.next();
                out.push(escaped);
            }
            None => out.push(c),
        }
    }
    out
}

/// Removes line numbers from both texts. Returns `None` unless every line of the old text that is
/// not blank has one and they count up by one.
pub(super) fn without_line_numbers(
    text: &str,
    old: &str,
    new: &str,
) -> Option<(String, String, usize)> {
    let (mut numbers, mut contents) = (Vec::new(), Vec::new());
    for (at, line) in old.split('\n').enumerate() {
        if !line.trim().is_empty() {
            let (number, content) = split_line_number(line)?;
            numbers.push(number.checked_sub(at)?);
            contents.push(content);
        }
    }
    let first = numbers.first()?;
    if numbers.iter().any(|number| number != first) {
        return None;
    }
    // The number may also be a wrong one of the file's own, as in a list or a table.
    let quoted: HashSet<&str> = contents.iter().map(|content| content.trim()).collect();
    let own = text.lines().filter_map(split_line_number);
    let mut own = own.map(|(_, content)| content.trim());
    if own.any(|content| !content.is_empty() && quoted.contains(content)) {
        return None;
    }
    // The blank of `12: x` may belong to the number or to the line. It belongs to the number if all
    // lines have it and the file's lines do not.
    let lines: HashSet<&str> = text.lines().map(str::trim_end).collect();
    let has_blank = |content: &str| content.is_empty() || content.starts_with(' ');
    let is_blank_of_number = contents.iter().copied().all(has_blank)
        && !contents
            .iter()
            .all(|content| lines.contains(content.trim_end()));
    let strip = |text: &str| {
        let line = |line| {
            let content = split_line_number(line).map_or(line, |(_, content)| content);
            let rest = content.strip_prefix(' ');
            let is_numbered = content.len() < line.len();
            rest.filter(|_| is_numbered && is_blank_of_number)
                .unwrap_or(content)
        };
        text.split('\n').map(line).collect::<Vec<_>>().join("\n")
    };
    // `mark` is how a line number is written, such as `:` or `L:`, without its digits. If no number
    // of the new text is written as in the old text, the numbers are content. If only some are, it
    // is not known which of them are line numbers.
    let mark = |line| {
        let (_, content) = split_line_number(line)?;
        let mark = line[..line.len() - content.len()].trim_start();
        Some(mark.replace(|c: char| c.is_ascii_digit(), ""))
    };
    let marks = |text| {
        let lines = str::split(text, '\n').filter(|line| !line.trim().is_empty());
        lines.map(mark).collect::<BTreeSet<_>>()
    };
    let (of_old, of_new) = (marks(old), marks(new));
    let plain = if of_new.is_disjoint(&of_old) {
        [strip(old), new.to_owned()]
    } else if of_new.is_subset(&of_old) {
        let mut contents = new.split('\n').filter_map(split_line_number);
        if is_blank_of_number && !contents.all(|(_, content)| has_blank(content)) {
            return None;
        }
        // If the text ends in a line number with nothing behind it, its last line is an empty line,
        // and not just the end of the line above.
        [old, new].map(|text| {
            let plain = strip(text);
            let is_numbered = plain.ends_with('\n') && !text.ends_with('\n');
            plain + if is_numbered { "\n" } else { "" }
        })
    } else {
        return None;
    };
    let [plain_old, plain_new] = plain;
    let blank = old.split('\n').take_while(|line| line.trim().is_empty());
    Some((plain_old, plain_new, first + blank.count()))
}

/// Splits off a line number as tools and editors print it: `12: x`, `12\tx`, `L12: x`, ` 12 | x`,
/// `12→x`. A blank behind `:` or `|` is left in the rest of the line.
fn split_line_number(line: &str) -> Option<(usize, &str)> {
    let start = line.trim_start_matches([' ', '\t']);
    let start = start.strip_prefix('L').unwrap_or(start);
    let digits = start.bytes().take_while(u8::is_ascii_digit).count();
    let number = start[..digits].parse().ok()?;
    let rest = &start[digits..];
    if let Some(rest) = rest.strip_prefix(['\t', '→']) {
        return Some((number, rest));
    }
    let rest = rest.strip_prefix([':', '|']).or(rest.strip_prefix(" |"))?;
    Some((number, rest))
}

#[cfg(test)]
mod tests {
    use super::{Blanks, form_text, without_line_numbers};

    #[test]
    fn what_looks_alike_becomes_the_same() {
        assert_eq!(form_text("a \t\r\nb  ", Blanks::Kept), "a\nb");
        assert_eq!(
            form_text("“a”\u{a0}–\u{200b} e\u{301} ﬁ…", Blanks::Kept),
            "\"a\" - é fi..."
        );
        assert_eq!(form_text(" a ( b,“c” )\t", Blanks::Dropped), "a(b,\"c\")");
    }

    #[test]
    fn only_numbers_that_count_up_are_line_numbers() {
        let plain = |old| without_line_numbers("", old, "x").map(|(old, ..)| old);
        assert_eq!(plain("1: a\n\n3:   b").as_deref(), Some("a\n\n  b"));
        assert_eq!(plain("L9\ta\nL10\tb").as_deref(), Some("a\nb"));
        assert_eq!(plain("  9 | a\n 10 | b").as_deref(), Some("a\nb"));
        assert_eq!(plain("80: 1\n443: 2"), None);
        assert_eq!(plain("1: a\nb"), None);
        assert_eq!(plain("\n0: a"), None);
        // The file has numbers of its own.
        let own = |text, old| without_line_numbers(text, old, "x").map(|(old, ..)| old);
        assert_eq!(own("f(a)\n  2| f(a)\n", "3| f(a)"), None);
        assert_eq!(own("f(a)\n2| f(b)\n", "3| f(a)").as_deref(), Some("f(a)"));
        // Line numbers of the new text are written as those of the old one.
        let both = |new| without_line_numbers("", "7: 50\ta\n8: 51\tb", new).map(|(_, new, _)| new);
        assert_eq!(both("7: 50\ta\n8: 52\tb").as_deref(), Some("50\ta\n52\tb"));
        assert_eq!(both("50\ta\n52\tb").as_deref(), Some("50\ta\n52\tb"));
        assert_eq!(both("7: 50\ta\n52\tb"), None);
        assert_eq!(both("7: 50\ta\n8:\n9: b").as_deref(), Some("50\ta\n\nb"));
        // The blank behind them is decided once, by the old text and the file.
        let both = |text, old| without_line_numbers(text, old, "1: a\n2:b").map(|(_, new, _)| new);
        assert_eq!(both("a", "1:a").as_deref(), Some(" a\nb"));
        assert_eq!(both(" a", "1: a").as_deref(), Some(" a\nb"));
        assert_eq!(both("a", "1: a"), None);
    }
}
