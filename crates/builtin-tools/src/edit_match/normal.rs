//! Other forms of a text in which what models confuse is the same.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// The level at which texts are the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Level {
    /// Line ends, and blanks before them.
    Plain,
    /// Besides, characters that look alike.
    LookAlike,
}

/// A character of the normal form, and where it comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mapped {
    pub(super) c: char,
    /// First byte in the text.
    pub(super) start: usize,
    /// After the last byte.
    pub(super) end: usize,
}

/// The normal form of a text.
pub(super) fn normalized(text: &str, level: Level) -> Vec<Mapped> {
    let mut out: Vec<Mapped> = Vec::with_capacity(text.len());
    let mut chars = text.char_indices().peekable();
    while let Some((start, c)) = chars.next() {
        let mut end = start + c.len_utf8();
        match c {
            '\n' | '\r' if c == '\n' || matches!(chars.peek(), Some((_, '\n'))) => {
                if c == '\r' {
                    chars.next();
                    end += 1;
                }
                // Blanks before a line end don't count.
                while matches!(out.last(), Some(m) if m.c == ' ' || m.c == '\t') {
                    out.pop();
                }
                out.push(Mapped {
                    c: '\n',
                    start,
                    end,
                });
            }
            _ if level == Level::Plain || c.is_ascii() && !next_combines(&mut chars) => {
                out.push(Mapped { c, start, end });
            }
            _ => {
                let mut cluster = String::from(c);
                while let Some((at, mark)) = chars.next_if(|(_, next)| is_combining_mark(*next)) {
                    cluster.push(mark);
                    end = at + mark.len_utf8();
                }
                push_look_alike(&mut out, &cluster, start, end);
            }
        }
    }
    while matches!(out.last(), Some(m) if m.c == ' ' || m.c == '\t') {
        out.pop();
    }
    out
}

fn next_combines(chars: &mut std::iter::Peekable<std::str::CharIndices<'_>>) -> bool {
    matches!(chars.peek(), Some((_, next)) if is_combining_mark(*next))
}

fn push_look_alike(out: &mut Vec<Mapped>, cluster: &str, start: usize, end: usize) {
    let plain = cluster.nfkc().filter_map(plain);
    out.extend(plain.map(|c| Mapped { c, start, end }));
}

/// Returns the plain character that a character looks like; `None` if it is not visible.
pub(crate) fn plain(c: char) -> Option<char> {
    Some(match c {
        '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}' | '\u{ad}' => return None,
        '‘' | '’' | '‚' | '‛' | '′' | '`' | '´' | 'ʼ' => '\'',
        '“' | '”' | '„' | '‟' | '″' | '«' | '»' => '"',
        '‐' | '‑' | '‒' | '–' | '—' | '―' | '−' | '﹘' => '-',
        c if c.is_whitespace() && !matches!(c, '\t' | '\n') => ' ',
        c => c,
    })
}

/// The normal form of one line as a text.
pub(super) fn normal_line(line: &str, level: Level) -> String {
    match level {
        Level::Plain => line.to_owned(),
        Level::LookAlike => normalized(line, level).into_iter().map(|m| m.c).collect(),
    }
}

/// A line without any blanks, with look-alikes as one: what is left is what it says.
pub(super) fn loose(line: &str) -> String {
    normalized(line, Level::LookAlike)
        .into_iter()
        .map(|m| m.c)
        .filter(|c| !c.is_whitespace())
        .collect()
}

/// Takes one level of backslash escapes off both texts; `None` where the old one has none.
pub(super) fn unescaped(old: &str, new: &str) -> Option<(String, String)> {
    let plain_old = unescape(old);
    if plain_old == old {
        return None;
    }
    // A model escapes both texts or none: a new text that has its line feeds while the old one
    // had none was not escaped.
    let is_new_plain = !old.contains('\n') && new.contains('\n');
    let plain_new = if is_new_plain {
        new.to_owned()
    } else {
        unescape(new)
    };
    Some((plain_old, plain_new))
}

/// Takes one level of backslash escapes off.
pub(crate) fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        let next = chars.clone().next();
        let plain = match next {
            // A line feed may itself follow a backslash, at the end of a line.
            Some('n' | '\n') => Some('\n'),
            Some('t') => Some('\t'),
            Some('r') => Some('\r'),
            Some(q @ ('"' | '\'' | '`' | '\\' | '/' | '$')) => Some(q),
            _ => None,
        };
        match plain.filter(|_| c == '\\') {
            Some(plain) => {
                chars.next();
                out.push(plain);
            }
            None => out.push(c),
        }
    }
    out
}

/// Takes line numbers off: every line of the old text that is not blank must have one, and they
/// must count up by one each.
pub(super) fn without_line_numbers(old: &str, new: &str) -> Option<(String, String)> {
    let mut last: Option<usize> = None;
    let mut count = 0;
    for line in old.split('\n') {
        match numbered(line) {
            Some((number, _)) => {
                if last.is_some_and(|last| number != last + 1) {
                    return None;
                }
                last = Some(number);
                count += 1;
            }
            None if line.trim().is_empty() => last = last.map(|last| last + 1),
            None => return None,
        }
    }
    if count == 0 {
        return None;
    }
    let strip = |text: &str| {
        let lines = text.split('\n');
        let lines: Vec<&str> = lines
            .map(|line| numbered(line).map_or(line, |(_, rest)| rest))
            .collect();
        lines.join("\n")
    };
    let is_new_numbered = new
        .split('\n')
        .find(|line| !line.trim().is_empty())
        .is_some_and(|line| numbered(line).is_some());
    let plain_new = if is_new_numbered {
        strip(new)
    } else {
        new.to_owned()
    };
    Some((strip(old), plain_new))
}

/// The number before a line, as tools and editors print it, and the rest: `12: x`, `12\tx`,
/// `L12: x`, `  12 | x`, `12→x`.
fn numbered(line: &str) -> Option<(usize, &str)> {
    let start = line.trim_start_matches([' ', '\t']);
    let start = start.strip_prefix('L').unwrap_or(start);
    let digits = start.bytes().take_while(u8::is_ascii_digit).count();
    let number = start[..digits].parse().ok()?;
    let rest = &start[digits..];
    let rest = if let Some(rest) = rest.strip_prefix([':', '|']) {
        rest.strip_prefix(' ').unwrap_or(rest)
    } else if let Some(rest) = rest.strip_prefix(['\t', '→']) {
        rest
    } else {
        let rest = rest.strip_prefix(" |")?;
        rest.strip_prefix(' ').unwrap_or(rest)
    };
    Some((number, rest))
}

#[cfg(test)]
mod tests {
    use super::{Level, loose, normalized, unescaped, without_line_numbers};

    fn text(source: &str, level: Level) -> String {
        normalized(source, level).iter().map(|m| m.c).collect()
    }

    #[test]
    fn what_looks_alike_becomes_the_same() {
        assert_eq!(text("a \t\r\nb  ", Level::Plain), "a\nb");
        assert_eq!(
            text("“a”\u{a0}–\u{200b} e\u{301} ﬁ…", Level::LookAlike),
            "\"a\" - é fi..."
        );
        assert_eq!(loose(" a ( b,“c” )\t"), "a(b,\"c\")");
    }

    #[test]
    fn escapes_come_off_both_texts_or_off_the_one_that_has_them() {
        let plain = |old, new| unescaped(old, new);
        let pair = |a: &str, b: &str| Some((a.to_owned(), b.to_owned()));
        assert_eq!(plain("a\\nb", "a\\nc"), pair("a\nb", "a\nc"));
        assert_eq!(plain("a\\nb", "a\n\"\\n\""), pair("a\nb", "a\n\"\\n\""));
        assert_eq!(plain("a\\\\nb\nc", "\\\\n"), pair("a\\nb\nc", "\\n"));
        assert_eq!(plain("ab", "\\n"), None);
    }

    #[test]
    fn only_numbers_that_count_up_are_line_numbers() {
        let plain = |old, new| without_line_numbers(old, new).map(|(old, _)| old);
        assert_eq!(plain("1: a\n\n3:   b", "x").as_deref(), Some("a\n\n  b"));
        assert_eq!(plain("L9\ta\nL10\tb", "x").as_deref(), Some("a\nb"));
        assert_eq!(plain("  9 | a\n 10 | b", "x").as_deref(), Some("a\nb"));
        assert_eq!(plain("80: 1\n443: 2", "x"), None);
        assert_eq!(plain("1: a\nb", "x"), None);
    }
}
