//! Makes text of a model or a program safe to print: it must not be able to control the terminal.

use gemini_tools_core::text::with_deceptive;
use std::borrow::Cow;
use unicode_width::UnicodeWidthChar;

/// Replaces characters by which a text could deceive: control characters (and so escape sequences),
/// marks that change the direction of writing, and invisible characters. Line feeds and tabs are
/// kept, carriage returns are removed.
pub fn escape_controls(text: &str) -> Cow<'_, str> {
    if with_deceptive(text).all(|(c, deceives)| !deceives || matches!(c, '\n' | '\t')) {
        return text.into();
    }
    let shown =
        with_deceptive(text).filter_map(|(c, deceives)| if deceives { sign(c) } else { Some(c) });
    shown.collect::<String>().into()
}

/// Escapes a text as [`escape_controls`] does, and puts it on one line without surrounding space.
pub fn one_line(text: &str) -> String {
    let text = escape_controls(text.trim());
    text.chars()
        .map(|c| if matches!(c, '\n' | '\t') { ' ' } else { c })
        .collect()
}

fn sign(c: char) -> Option<char> {
    Some(match c {
        '\n' | '\t' => c,
        '\r' => return None,
        '\0'..='\x1f' => {
            char::from_u32(0x2400 + u32::from(c)).unwrap_or(char::REPLACEMENT_CHARACTER)
        }
        '\x7f' => '␡',
        _ => char::REPLACEMENT_CHARACTER,
    })
}

/// Cuts a line to a number of columns; a cut line ends with `…`.
pub(super) fn fitting(line: &str, columns: usize) -> Cow<'_, str> {
    let mut width = 0;
    let mut end_with_sign = 0;
    for (at, c) in line.char_indices() {
        if width < columns {
            end_with_sign = at;
        }
        width += c.width().unwrap_or(0);
        if width > columns {
            return format!("{}…", &line[..end_with_sign]).into();
        }
    }
    line.into()
}

#[cfg(test)]
mod tests {
    use super::{escape_controls, fitting, one_line};
    use std::borrow::Cow;

    #[test]
    fn no_escape_sequence_gets_through() {
        let text = "a\x1b[31mb\x1b]0;title\x07\u{9b}2Jc\x7f\u{202e}d\0";
        assert_eq!(
            escape_controls(text),
            "a␛[31mb␛]0;title␇\u{fffd}2Jc␡\u{fffd}d␀"
        );
        for c in (0..=0x9f).filter_map(char::from_u32) {
            let text = c.to_string();
            let shown = escape_controls(&text);
            assert!(
                shown.chars().all(|c| !c.is_control() || "\n\t".contains(c)),
                "{c:?}"
            );
        }
    }

    #[test]
    fn nothing_unseen_gets_through() {
        for c in "\u{200b}\u{200e}\u{200f}\u{61c}\u{feff}\u{2060}\u{2066}\u{ad}\u{e0041}\u{e007f}\u{fe00}\u{e0100}".chars() {
            assert_eq!(escape_controls(&format!("a{c}b")), "a\u{fffd}b", "{c:?}");
        }
        assert_eq!(escape_controls("a\u{200d}b\u{fe0f}"), "a\u{fffd}b\u{fffd}");
        // Variation selectors are invisible, and a row of them could encode a hidden text.
        let row = "⚠\u{fe0f}\u{fe0e}\u{fe0f} 1\u{fe0f}";
        assert_eq!(escape_controls(row), "⚠\u{fe0f}\u{fffd}\u{fffd} 1\u{fe0f}");
    }

    #[test]
    fn plain_text_stays_as_it_is() {
        let text = "Zeile\n\tschön 漢字 🦀 עברית ⚠\u{fe0f} 👨\u{200d}👩\u{200d}👧 می\u{200c}خواهم";
        assert!(matches!(escape_controls(text), Cow::Borrowed(same) if same == text));
    }

    #[test]
    fn lines_end_as_they_should() {
        assert_eq!(escape_controls("a\r\nb\rc"), "a\nbc");
        assert_eq!(one_line(" a\r\n\tb \n"), "a  b");
    }

    #[test]
    fn a_line_fits_or_says_that_it_was_cut() {
        let cases = [
            ("abc", 3, "abc"),
            ("abcd", 3, "ab…"),
            ("漢字", 4, "漢字"),
            ("漢字", 3, "漢…"),
            ("a漢", 2, "a…"),
            ("", 0, ""),
        ];
        for (line, columns, expected) in cases {
            assert_eq!(fitting(line, columns), expected, "{line} in {columns}");
        }
    }
}
