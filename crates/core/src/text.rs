//! Converts names and paths to text and back, and escapes characters that deceive readers.

use std::borrow::Cow;
use std::ffi::OsString;
use std::fmt::Display;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// Returns the path that an argument names. An escape such as `\x{ff}` becomes the byte that it
/// stands for, unless that is NUL or a printable ASCII character other than the backslash. Callers
/// see bytes that are not UTF-8 in this form (see [`show_name`]), and in lines of text also
/// deceptive characters (see [`line_name`]).
pub fn path_from_argument(argument: &str) -> PathBuf {
    let bytes = argument.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut i = 0;
    while i < bytes.len() {
        let escaped = bytes[i..]
            .strip_prefix(b"\\x{")
            .filter(|rest| rest.get(2) == Some(&b'}'))
            .filter(|rest| rest[..2].iter().all(u8::is_ascii_hexdigit))
            .and_then(|rest| std::str::from_utf8(&rest[..2]).ok())
            .and_then(|hex| u8::from_str_radix(hex, 16).ok())
            .filter(|byte| matches!(byte, 1..b' ' | b'\\' | 0x7f..));
        if let Some(byte) = escaped {
            out.push(byte);
            i += 6;
        } else {
            out.push(bytes[i]);
            i += 1;
        }
    }
    PathBuf::from(OsString::from_vec(out))
}

/// Returns the number of line feeds.
pub fn count_newlines(bytes: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', bytes).count() as u64
}

/// Returns bytes as hexadecimal digits, two each.
pub fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        text.push_str(&format!("{byte:02x}"));
    }
    text
}

/// Returns a name or path as text. Bytes that are not UTF-8 become `\x{ff}`, which arguments that
/// are paths accept, so that the file stays reachable.
pub fn show_name(name: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(name) {
        return text.into();
    }
    let mut shown = String::with_capacity(name.len() + 16);
    for chunk in name.utf8_chunks() {
        shown.push_str(chunk.valid());
        for byte in chunk.invalid() {
            push_odd_byte(&mut shown, *byte);
        }
    }
    shown.into()
}

fn push_odd_byte(shown: &mut String, byte: u8) {
    shown.push_str(&format!("\\x{{{byte:02x}}}"));
}

/// Returns a name or path for a line of text. Characters that would end the line, control a
/// terminal or disguise the name are shown as their bytes, such as `\x{0a}`, which arguments that
/// are paths accept.
pub fn line_name(name: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(name)
        && name.iter().all(|b| matches!(b, b' '..=b'~') && *b != b'\\')
    {
        return text.into();
    }
    let mut out = String::with_capacity(name.len() + 16);
    let escape = |out: &mut String, bytes: &[u8]| {
        for byte in bytes {
            push_odd_byte(out, *byte);
        }
    };
    for chunk in name.utf8_chunks() {
        let valid = chunk.valid();
        let mut at = 0;
        for (c, deceives) in with_deceptive(valid) {
            let bytes = &valid.as_bytes()[at..at + c.len_utf8()];
            at += c.len_utf8();
            // The name of a file may really contain `\x{0a}`. Its backslash is escaped, so that the
            // name is not taken for one with a line feed.
            if deceives || c == '\\' && valid[at..].starts_with("x{") {
                escape(&mut out, bytes);
            } else {
                out.push(c);
            }
        }
        escape(&mut out, chunk.invalid());
    }
    out.into()
}

/// Escapes everything in a multi-line text that would control a terminal or deceive the reader.
/// Line feeds, tabs and carriage returns at line ends stay.
pub fn harmless_lines(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut characters = with_deceptive(text).peekable();
    while let Some((c, deceives)) = characters.next() {
        let ends_line = c == '\r' && matches!(characters.peek(), Some(('\n', _)));
        if deceives && !ends_line && !matches!(c, '\n' | '\t') {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
    }
    out
}

/// Does the same as [`harmless_lines`] for a text that has colours, which stay. So does what can only
/// overwrite the line that it is in: a carriage return, and the sequences that erase in the line.
pub fn harmless_colours(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['\r', '\u{1b}']) {
        out.push_str(&harmless_lines(&rest[..at]));
        rest = &rest[at..];
        let length = match rest.strip_prefix("\u{1b}[") {
            Some(sequence) => {
                let end = sequence.find(|c: char| !c.is_ascii_digit() && !";:".contains(c));
                let end = end.filter(|end| sequence[*end..].starts_with(['m', 'K']));
                end.map(|end| 2 + end + 1)
            }
            None => rest.starts_with('\r').then_some(1),
        };
        match length {
            Some(length) => out.push_str(&rest[..length]),
            None => out.push_str("\\u{1b}"),
        }
        rest = &rest[length.unwrap_or(1)..];
    }
    out + &harmless_lines(rest)
}

/// Returns a path as text, like [`show_name`].
pub fn show_path(path: &Path) -> Cow<'_, str> {
    show_name(path.as_os_str().as_bytes())
}

/// Returns a text of unknown origin on one line. Control characters, marks that change the
/// direction of writing and invisible characters are escaped.
pub fn visible(text: &str) -> Cow<'_, str> {
    // Most texts are plain ASCII, and a look at bytes costs a tenth of a look at characters.
    let is_plain = text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    if is_plain || !text.chars().any(is_deceptive) {
        return text.into();
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if is_deceptive(c) => out.extend(c.escape_unicode()),
            c => out.push(c),
        }
    }
    out.into()
}

/// Returns true if a character is invisible or changes how others look: control characters, marks
/// that change the direction of writing, characters without a shape.
pub fn is_deceptive(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{ad}'
                | '\u{34f}'
                | '\u{61c}'
                | '\u{115f}'..='\u{1160}'
                | '\u{17b4}'..='\u{17b5}'
                | '\u{180b}'..='\u{180f}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{3164}'
                | '\u{fe00}'..='\u{fe0f}'
                | '\u{feff}'
                | '\u{ffa0}'
                | '\u{fff0}'..='\u{fffb}'
                | '\u{1bca0}'..='\u{1bca3}'
                | '\u{1d173}'..='\u{1d17a}'
                | '\u{e0000}'..='\u{e0fff}'
        )
}

/// Returns the characters of a text, each with true if it deceives in its context. A joiner between
/// letters that join, or a variation selector after an emoji, changes what a reader sees, so it
/// does not deceive.
pub fn with_deceptive(text: &str) -> impl Iterator<Item = (char, bool)> {
    let mut before: Option<char> = None;
    let mut is_selected = false;
    let mut chars = text.chars().peekable();
    std::iter::from_fn(move || {
        let c = chars.next()?;
        let joins = |c: Option<char>| c.is_some_and(|c| !c.is_ascii() && !is_deceptive(c));
        // Digits, # and * become emoji if a variation selector follows. Only one selector is
        // accepted there, since a run of selectors could spell a hidden text.
        let is_key = |c: char| matches!(c, '#' | '*' | '0'..='9');
        let selects = (joins(before) || before.is_some_and(is_key)) && !is_selected;
        let is_selector = matches!(c, '\u{fe0e}' | '\u{fe0f}');
        let deceives = match c {
            '\u{200c}' | '\u{200d}' => !(joins(before) && joins(chars.peek().copied())),
            _ if is_selector => !selects,
            c => is_deceptive(c),
        };
        // A selector is part of the character that it follows, so `before` stays that character.
        is_selected = is_selector;
        if !is_selector {
            before = Some(c);
        }
        Some((c, deceives))
    })
}

/// Returns a number with its noun: `1 file`, `2 files`, `2 entries`, `2 matches`.
pub fn counted<N: Copy + Display + PartialEq + From<u8>>(n: N, noun: &str) -> String {
    let (stem, ending) = match noun.strip_suffix('y') {
        _ if n == N::from(1) => (noun, ""),
        Some(stem) => (stem, "ies"),
        None if noun.ends_with("ch") || noun.ends_with("ss") => (noun, "es"),
        None => (noun, "s"),
    };
    format!("{n} {stem}{ending}")
}

/// Returns a sentence about the files and directories that could not be read. `places` has a reason
/// for each of them, or for the first of many.
pub fn unread_sentence(count: u64, places: &[impl AsRef<str>]) -> String {
    let noun = if count == 1 {
        "file or directory"
    } else {
        "files or directories"
    };
    let reasons = places
        .iter()
        .map(|place| place.as_ref().trim_end_matches('.'));
    let reasons = reasons.collect::<Vec<_>>().join("; ");
    let rest = if count > places.len() as u64 {
        "; …"
    } else {
        "."
    };
    format!("{count} {noun} not read, or not to the end: {reasons}{rest}")
}

/// Returns a text on one line, with one blank between words.
pub fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the first sentence of a description, on one line.
pub fn first_sentence(text: &str) -> String {
    let text = one_line(text);
    let end = text.find(". ").map_or(text.len(), |dot| dot + 1);
    text[..end].to_owned()
}

/// Returns a text, or its first `most` characters and an ellipsis if it is longer.
pub fn excerpt(text: &str, most: usize) -> Cow<'_, str> {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]).into(),
        None => text.into(),
    }
}

/// Returns `text`, or if it is wider than `room` columns, as many of its words as fit with an
/// ellipsis. `columns` returns the width of a character.
pub fn shortened(text: &str, room: usize, columns: impl Fn(char) -> usize) -> String {
    if text.chars().map(&columns).sum::<usize>() <= room {
        return text.to_owned();
    }
    let Some(room) = room.checked_sub(1) else {
        return String::new();
    };
    let mut used = 0;
    let fits = |c: &char| {
        used += columns(*c);
        used <= room
    };
    let mut cut: String = text.chars().take_while(fits).collect();
    let ends_a_word = text[cut.len()..].starts_with(' ');
    if !ends_a_word && let Some(at) = cut.rfind(' ') {
        cut.truncate(at);
    }
    cut.truncate(cut.trim_end_matches([' ', ',', ';', ':']).len());
    cut.push('…');
    cut
}

/// Returns `text` with its long lines broken between words, in lines of up to `width` characters or
/// one longer word. Lines that begin with a blank stay whole, since they may be code.
pub fn wrapped(text: &str, width: usize) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 40);
    for line in text.split_inclusive('\n') {
        if line.starts_with([' ', '\t']) {
            out.push_str(line);
            continue;
        }
        let mut used = 0;
        for word in line.split_inclusive(' ') {
            let wide = word.trim_end().chars().count();
            if used > 0 && used + wide > width {
                out.truncate(out.trim_end_matches(' ').len());
                out.push('\n');
                used = 0;
            }
            out.push_str(word);
            used += word.chars().count();
        }
    }
    out
}

/// Returns a key that orders names as Gemini CLI's locale does: punctuation before digits before
/// letters. Names that differ only in case or accents have the same key, so callers break the tie.
pub fn collation_key(name: &[u8]) -> Vec<u8> {
    const PUNCTUATION: &[u8] = b"_-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$";
    // In a key, all bytes that stand for ASCII characters are less than this one, with which every
    // other character begins. So other characters sort behind ASCII.
    const BEYOND: u8 = 0xc0;
    let ascii = |b: u8| -> u8 {
        match b {
            b'0'..=b'9' | b'a'..=b'z' => b,
            b'A'..=b'Z' => b.to_ascii_lowercase(),
            _ => PUNCTUATION
                .iter()
                .position(|p| *p == b)
                .map_or(1, |i| 2 + i as u8),
        }
    };
    if name.is_ascii() {
        return name.iter().map(|b| ascii(*b)).collect();
    }
    let mut key = Vec::with_capacity(name.len() * 2);
    for c in String::from_utf8_lossy(name).chars() {
        match base_letter(c) {
            c if c.is_ascii() => key.push(ascii(c as u8)),
            c => {
                for lower in c.to_lowercase() {
                    key.push(BEYOND);
                    key.extend(u32::from(lower).to_be_bytes());
                }
            }
        }
    }
    key
}

fn base_letter(c: char) -> char {
    match c {
        'À'..='Å' | 'à'..='å' => 'a',
        'Ç' | 'ç' => 'c',
        'È'..='Ë' | 'è'..='ë' => 'e',
        'Ì'..='Ï' | 'ì'..='ï' => 'i',
        'Ñ' | 'ñ' => 'n',
        'Ò'..='Ö' | 'ò'..='ö' => 'o',
        'Ù'..='Ü' | 'ù'..='ü' => 'u',
        'Ý' | 'ý' | 'ÿ' => 'y',
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::{
        harmless_colours, is_deceptive, line_name, path_from_argument, shortened, show_name,
        visible, wrapped,
    };
    use std::os::unix::ffi::OsStrExt;

    #[test]
    fn a_text_is_cut_and_broken_between_words() {
        let cut = |room| shortened("Lists, then reads", room, |_| 1);
        assert_eq!(cut(17), "Lists, then reads");
        assert_eq!(cut(16), "Lists, then…");
        assert_eq!(cut(12), "Lists, then…");
        assert_eq!(cut(9), "Lists…");
        assert_eq!(cut(3), "Li…");
        assert_eq!(cut(0), "");
        assert_eq!(wrapped("one two three", 8), "one two\nthree");
        assert_eq!(
            wrapped("one two\n  three four\n", 8),
            "one two\n  three four\n"
        );
        assert_eq!(wrapped("averyverylongword a", 8), "averyverylongword\na");
    }

    #[test]
    fn a_name_that_is_no_utf8_survives_being_shown() {
        let name = b"caf\xe9 \\x{41}.txt";
        let shown = show_name(name);
        assert_eq!(shown, "caf\\x{e9} \\x{41}.txt");
        assert_eq!(path_from_argument(&shown).as_os_str().as_bytes(), name);
        let plain = "\\x{+f} \\x{f}";
        assert_eq!(path_from_argument(plain), std::path::Path::new(plain));
    }

    #[test]
    fn a_name_on_a_line_deceives_nobody_and_leads_back() {
        for (name, shown) in [
            (&b"plain name.txt"[..], "plain name.txt"),
            ("ünï 中 👩\u{200d}💻".as_bytes(), "ünï 中 👩\u{200d}💻"),
            (b"a\nb\x1b[2J\x7f", "a\\x{0a}b\\x{1b}[2J\\x{7f}"),
            ("a\u{202e}b".as_bytes(), "a\\x{e2}\\x{80}\\x{ae}b"),
            (b"caf\xe9", "caf\\x{e9}"),
            (b"a\\x{0a}b\\c", "a\\x{5c}x{0a}b\\c"),
        ] {
            assert_eq!(line_name(name), shown);
            assert_eq!(path_from_argument(shown).as_os_str().as_bytes(), name);
        }
    }

    #[test]
    fn what_unicode_says_is_not_seen_or_turns_the_direction_deceives() {
        let unseen = r"^[\p{Default_Ignorable_Code_Point}\p{Bidi_Control}\p{Cc}]$";
        let unseen = fancy_regex::Regex::new(unseen).expect("an expression");
        for c in '\0'..=char::MAX {
            let is_unseen = unseen.is_match(&c.to_string()).expect("an answer");
            assert!(!is_unseen || is_deceptive(c), "{}", c.escape_unicode());
        }
    }

    #[test]
    fn colours_stay_and_nothing_that_commands_the_terminal() {
        for (text, shown) in [
            (
                "\u{1b}[1;38:5:9mA\u{1b}[0m\n",
                "\u{1b}[1;38:5:9mA\u{1b}[0m\n",
            ),
            ("1%\r\u{1b}[K2%\r\n", "1%\r\u{1b}[K2%\r\n"),
            (
                "\u{1b}]0;x\u{7}B\u{1b}[2JC",
                "\\u{1b}]0;x\\u{7}B\\u{1b}[2JC",
            ),
            (
                "\u{1b}[5AÄ\u{1b}[?25l\u{1b}c\u{1b}",
                "\\u{1b}[5AÄ\\u{1b}[?25l\\u{1b}c\\u{1b}",
            ),
            ("\u{1b}[1\u{1b}[mx\u{9b}2J", "\\u{1b}[1\u{1b}[mx\\u{9b}2J"),
        ] {
            assert_eq!(harmless_colours(text), shown);
        }
    }

    #[test]
    fn nothing_in_a_shown_text_is_invisible_or_turns_it_round() {
        for (text, shown) in [
            ("plain ünï 中", "plain ünï 中"),
            ("a\u{202e}b\u{2066}", "a\\u{202e}b\\u{2066}"),
            ("\u{e0041}\u{200b}\u{feff}", "\\u{e0041}\\u{200b}\\u{feff}"),
            ("one\ntwo\u{1b}[2J", "one\\ntwo\\u{1b}[2J"),
        ] {
            assert_eq!(visible(text), shown);
        }
    }
}
