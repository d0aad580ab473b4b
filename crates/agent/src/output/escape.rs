//! Text of a model or a program on one line of a terminal, which it must not be able to control.

use gemini_tools_core::text::harmless_lines;
use std::borrow::Cow;
use unicode_width::UnicodeWidthChar;

/// Puts a text on one line without surrounding space, in which nothing acts on the terminal.
pub fn one_line(text: &str) -> String {
    let text = harmless_lines(text.trim()).replace('\t', " ");
    text.lines().collect::<Vec<_>>().join(" ")
}

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
    use super::{fitting, one_line};

    #[test]
    fn a_text_is_one_line_without_control_characters() {
        assert_eq!(one_line(" a\r\n\tb\x1b[2J \n"), "a  b\\u{1b}[2J");
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
