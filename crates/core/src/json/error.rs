//! Errors about a text that should be JSON.
//!
//! An error has `serde_json`'s own message, its line and column in characters, and the character
//! that is there.

use crate::text::count_newlines;
use serde_json::error::Category;
use std::fmt;

const LONGEST_CHARACTER_BYTES: usize = 4;

/// The reason why a text can't be read as JSON, such as "line 1, column 9: trailing comma at `}`".
/// The message begins with a small letter and has no full stop, for use in a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonError {
    place: Option<(usize, usize)>,
    message: String,
}

impl fmt::Display for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((line, column)) = self.place {
            write!(f, "line {line}, column {column}: ")?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for JsonError {}

impl JsonError {
    /// Converts an error of `serde_json` about `text`. The line, column and character are looked up
    /// there.
    pub fn new(text: &[u8], error: &serde_json::Error) -> Self {
        let offset = offset(text, error);
        let message = error.to_string();
        let suffix = format!(" at line {} column {}", error.line(), error.column());
        let mut message = message.strip_suffix(&suffix).unwrap_or(&message).to_owned();
        if error.is_syntax() {
            message.push_str(&format!(" at {}", character(text, offset)));
        }
        Self {
            place: (error.line() > 0).then(|| place(text, offset)),
            message,
        }
    }

    pub(crate) fn whole(message: impl Into<String>) -> Self {
        Self {
            place: None,
            message: message.into(),
        }
    }

    /// Sets the line of the error, for a text that is line `number` (from 1) of a file.
    #[must_use]
    pub fn in_line(mut self, number: usize) -> Self {
        let column = self.place.map_or(1, |(_, column)| column);
        self.place = Some((number, column));
        self
    }

    /// Returns the line and the column, in characters, both counted from 1; `None` if the error is
    /// about the whole document.
    pub fn place(&self) -> Option<(usize, usize)> {
        self.place
    }

    /// Returns the message without the place.
    pub fn message(&self) -> &str {
        &self.message
    }
}

fn offset(text: &[u8], error: &serde_json::Error) -> usize {
    if error.classify() == Category::Eof {
        return text.trim_ascii_end().len();
    }
    let mut breaks = memchr::memchr_iter(b'\n', text);
    let start = match error.line() {
        0 | 1 => 0,
        line => breaks.nth(line - 2).map_or(text.len(), |at| at + 1),
    };
    // The parser counts the bytes of a line from 1. For a line break it gives column 0 of the next
    // line.
    (start + error.column()).saturating_sub(1).min(text.len())
}

fn place(text: &[u8], offset: usize) -> (usize, usize) {
    let before = &text[..offset];
    let start = memchr::memrchr(b'\n', before).map_or(0, |at| at + 1);
    let line = count_newlines(before) as usize + 1;
    let column = String::from_utf8_lossy(&before[start..]).chars().count() + 1;
    (line, column)
}

/// Names the character at a byte offset. More of the text is not shown: it could be part of a
/// secret, which would no longer be recognised and masked.
fn character(text: &[u8], offset: usize) -> String {
    let rest = text.get(offset..).unwrap_or_default();
    let rest = String::from_utf8_lossy(&rest[..rest.len().min(LONGEST_CHARACTER_BYTES)]);
    match rest.chars().next() {
        None => "the end of the text".to_owned(),
        Some('\n' | '\r') => "the end of the line".to_owned(),
        Some('"') => "a quote".to_owned(),
        Some('`') => "a backquote".to_owned(),
        Some(c) if c.is_control() || crate::text::is_deceptive(c) => {
            format!("the character U+{:04X}", u32::from(c))
        }
        Some(c) => format!("`{c}`"),
    }
}

#[cfg(test)]
mod tests {
    use crate::json::{from_value, read};
    use serde_json::{Value, json};

    #[test]
    fn a_fault_is_told_with_its_place_and_the_character_there() {
        for (text, expected) in [
            ("", "line 1, column 1: EOF while parsing a value"),
            ("x", "line 1, column 1: expected value at `x`"),
            ("[1, nulx]", "line 1, column 8: expected ident at `x`"),
            ("{\"a\": 1,}", "line 1, column 9: trailing comma at `}`"),
            ("{a: 1}", "line 1, column 2: key must be a string at `a`"),
            (
                "{\"a\": 1 \"b\": 2}",
                "line 1, column 9: expected `,` or `}` at a quote",
            ),
            ("[] []", "line 1, column 4: trailing characters at `[`"),
            (
                "{\n  \"ä\": \"ü\" x}",
                "line 2, column 12: expected `,` or `}` at `x`",
            ),
            (
                "{\"a\": 1\n",
                "line 1, column 8: EOF while parsing an object",
            ),
            (
                "[\"a\nb\"]",
                "line 1, column 4: control character (\\u0000-\\u001F) found while parsing a string at the end of the line",
            ),
            ("[\"C:\\dir\"]", "line 1, column 6: invalid escape at `d`"),
            (
                "\u{feff}\u{feff}{}",
                "line 1, column 1: expected value at the character U+FEFF",
            ),
        ] {
            let error = read::<Value>(text.as_bytes()).expect_err(text);
            assert_eq!(error.to_string(), expected, "{text}");
        }
    }

    #[test]
    fn a_fault_of_depth_or_encoding_is_told_and_a_line_of_a_file_is_named() {
        let deep = "[".repeat(200);
        let error = read::<Value>(deep.as_bytes())
            .expect_err("deep")
            .to_string();
        assert!(error.contains("recursion limit exceeded"), "{error}");
        let error = read::<Value>(b"[\"\xff\"]").expect_err("bytes").to_string();
        assert!(error.contains("invalid unicode code point"), "{error}");
        let error = read::<Value>(b"{\"a\": ").expect_err("cut").in_line(7);
        assert_eq!(error.place(), Some((7, 6)));
    }

    #[test]
    fn a_wrong_value_is_told_with_its_place_only_where_it_was_read_from_a_text() {
        let error = from_value::<u32>(json!("x")).expect_err("no number");
        let message = "invalid type: string \"x\", expected u32";
        assert_eq!(error.to_string(), message);
        let error = read::<u32>(b"\"x\"").expect_err("no number");
        assert_eq!(error.to_string(), format!("line 1, column 3: {message}"));
    }
}
