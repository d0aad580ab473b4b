//! What is wrong with a text that should be JSON, in words for its author.
//!
//! The parsers say what they expected in the words of their grammar ("EOF while parsing a value at
//! line 1 column 0"). [`JsonError`] says where the fault is, what was expected there, what is
//! there instead, and for common slips what to write. A sentence of a parser that is not known
//! here is passed on as it is.

use crate::scan;
#[cfg(feature = "jsonc")]
use jsonc_parser::{
    ParseStringErrorKind,
    errors::{ParseError, ParseErrorKind},
};
use serde_json::error::Category;
use std::fmt;

/// Maximum bytes of a character in UTF-8.
const LONGEST_CHARACTER_BYTES: usize = 4;

/// Why a text can't be read as JSON, such as "line 1, column 9: expected `,` or `]`, found `x`". The
/// message begins with a small letter and has no full stop, for use in a sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct JsonError {
    /// Line and column, in characters; both begin with 1.
    place: Option<(usize, usize)>,
    what: String,
}

impl fmt::Display for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((line, column)) = self.place {
            write!(f, "line {line}, column {column}: ")?;
        }
        f.write_str(&self.what)
    }
}

impl JsonError {
    /// An error of `serde_json` about a text.
    pub fn new(text: &[u8], error: &serde_json::Error) -> Self {
        let offset = offset(text, error);
        Self {
            place: (error.line() > 0).then(|| place(text, offset)),
            what: words(text, offset, error),
        }
    }

    /// An error about a text of JSON with comments.
    #[cfg(feature = "jsonc")]
    pub fn with_comments(text: &str, error: &ParseError) -> Self {
        Self {
            place: Some((error.line_display(), error.column_display())),
            what: words_with_comments(text.as_bytes(), error.range().start, error.kind()),
        }
    }

    /// An error about a document as a whole.
    pub(crate) fn whole(what: impl Into<String>) -> Self {
        Self {
            place: None,
            what: what.into(),
        }
    }

    /// The same error where the text is one line of a file: this one, counted from 1.
    #[must_use]
    pub fn in_line(mut self, number: usize) -> Self {
        let column = self.place.map_or(1, |(_, column)| column);
        self.place = Some((number, column));
        self
    }

    /// The line and the column, in characters, both counted from 1; `None` if the error is about
    /// the whole document.
    pub fn place(&self) -> Option<(usize, usize)> {
        self.place
    }

    /// What is wrong, without the place.
    pub fn what(&self) -> &str {
        &self.what
    }
}

/// Where in a text the fault is, in bytes. The parser counts bytes of a line from 1, and gives
/// column 0 of the next line for a line break.
fn offset(text: &[u8], error: &serde_json::Error) -> usize {
    if error.classify() == Category::Eof {
        return text.trim_ascii_end().len();
    }
    let mut breaks = memchr::memchr_iter(b'\n', text);
    let start = match error.line() {
        0 | 1 => 0,
        line => breaks.nth(line - 2).map_or(text.len(), |at| at + 1),
    };
    (start + error.column()).saturating_sub(1).min(text.len())
}

/// The line and the column of an offset, in characters.
fn place(text: &[u8], offset: usize) -> (usize, usize) {
    let before = &text[..offset];
    let start = scan::last_position(b'\n', before).map_or(0, |at| at + 1);
    let line = scan::count_newlines(before) as usize + 1;
    let column = String::from_utf8_lossy(&before[start..]).chars().count() + 1;
    (line, column)
}

/// The sentence of `serde_json`'s in words of ours. The kinds of its errors are private.
fn words(text: &[u8], offset: usize, error: &serde_json::Error) -> String {
    let message = error.to_string();
    let suffix = format!(" at line {} column {}", error.line(), error.column());
    let message = message.strip_suffix(&suffix).unwrap_or(&message);
    let found = || found(text, offset);
    match message {
        "EOF while parsing a list" => "the text ends within an array; `]` is missing".to_owned(),
        "EOF while parsing an object" => {
            "the text ends within an object; `}` is missing".to_owned()
        }
        "EOF while parsing a string" => "the text ends within a string; `\"` is missing".to_owned(),
        "EOF while parsing a value" if text.trim_ascii().is_empty() => {
            "the text is empty".to_owned()
        }
        "EOF while parsing a value" => "the text ends where a value is expected".to_owned(),
        "expected value" => expected_value(text, offset),
        "expected ident" => "expected true, false or null; a string is in double quotes".to_owned(),
        "key must be a string" => format!("expected a name in double quotes, found {}", found()),
        "trailing comma" => format!("a comma before {} is not allowed", found()),
        "trailing characters" => format!("expected the end of the text, found {}", found()),
        "expected `:`" | "expected `,` or `]`" | "expected `,` or `}`" | "expected `\"`" => {
            format!("{message}, found {}", found())
        }
        "invalid number" => "the number is not valid".to_owned(),
        "number out of range" => "the number is too large".to_owned(),
        "invalid escape" => {
            "the escape is not valid; write `\\\\` for a backslash in a string".to_owned()
        }
        "invalid unicode code point" => "the characters are not valid UTF-8".to_owned(),
        "lone leading surrogate in hex escape" | "unexpected end of hex escape" => {
            "the escape is only one half of a surrogate pair".to_owned()
        }
        "recursion limit exceeded" => "the values are nested too deep".to_owned(),
        _ if message.starts_with("control character") => control(text, offset),
        _ => wrong_value(message),
    }
}

/// The sentence for a control character in a string, which must be an escape.
fn control(text: &[u8], offset: usize) -> String {
    match text.get(offset) {
        Some(b'\n') => {
            "the line ends within a string; `\"` is missing, or write `\\n` for a line break"
                .to_owned()
        }
        Some(b'\t') => "write `\\t` for a tab in a string".to_owned(),
        Some(b'\r') => "write `\\r` for a carriage return in a string".to_owned(),
        other => {
            let code = other.copied().unwrap_or_default();
            format!("write `\\u{code:04x}` for the control character in a string")
        }
    }
}

/// The sentence of serde's about JSON that is valid, and not what is wanted.
fn wrong_value(message: &str) -> String {
    let name = |rest: &str| rest.trim_matches('`').to_owned();
    // A name, and the names that would do.
    let listed = |rest: &str| match rest.split_once(", expected ") {
        Some((one, others)) => (name(one), format!("; expected {others}")),
        None => (name(rest), String::new()),
    };
    if let Some(rest) = message.strip_prefix("missing field ") {
        return format!("{:?} is missing", name(rest));
    }
    if let Some(rest) = message.strip_prefix("duplicate field ") {
        return format!("{:?} is given twice", name(rest));
    }
    if let Some(rest) = message.strip_prefix("unknown field ") {
        let (key, others) = listed(rest);
        return format!("{key:?} is not a known key{others}");
    }
    if let Some(rest) = message.strip_prefix("unknown variant ") {
        let (value, others) = listed(rest);
        return format!("{value:?} is not a known value{others}");
    }
    let found = ["invalid type: ", "invalid value: "]
        .iter()
        .find_map(|prefix| message.strip_prefix(prefix));
    if let Some((found, expected)) = found.and_then(|rest| rest.rsplit_once(", expected ")) {
        return format!(
            "expected {}, found {}",
            type_name(expected),
            type_name(found)
        );
    }
    if message.starts_with("data did not match any variant of untagged enum") {
        return "the value has none of the forms that are understood".to_owned();
    }
    message.to_owned()
}

/// The name of a type in JSON's words, of a type in serde's.
fn type_name(name: &str) -> &str {
    match name {
        "map" | "a map" => "an object",
        "sequence" | "a sequence" => "an array",
        "unit" | "unit value" => "null",
        "u8" | "u16" | "u32" | "u64" | "usize" | "i8" | "i16" | "i32" | "i64" | "isize" => {
            "a whole number"
        }
        "f32" | "f64" => "a number",
        _ if name.starts_with("struct ") || name.contains("tagged enum ") => "an object",
        _ => ["integer ", "floating point ", "boolean "]
            .iter()
            .find_map(|prefix| name.strip_prefix(prefix))
            .unwrap_or(name),
    }
}

/// The sentence where a value should begin, with what to write for common slips.
fn expected_value(text: &[u8], offset: usize) -> String {
    let advice = match text.get(offset) {
        Some(b'/' | b'#') => "; JSON has no comments",
        Some(b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'$' | b'\'') => "; a string is in double quotes",
        _ => "",
    };
    format!("expected a value, found {}{advice}", found(text, offset))
}

/// The same for JSON with comments, whose parser has the kinds of its errors.
#[cfg(feature = "jsonc")]
fn words_with_comments(text: &[u8], offset: usize, kind: &ParseErrorKind) -> String {
    let found = || found(text, offset);
    match kind {
        ParseErrorKind::CommentsNotAllowed => "comments are not allowed here".to_owned(),
        ParseErrorKind::ExpectedColonAfterObjectKey => "expected `:` after the name".to_owned(),
        ParseErrorKind::ExpectedObjectValue => "expected a value after `:`".to_owned(),
        ParseErrorKind::ExpectedStringObjectProperty | ParseErrorKind::UnexpectedTokenInObject => {
            format!("expected a name in double quotes, found {}", found())
        }
        ParseErrorKind::ExpectedComma => {
            let gap = &text[offset..];
            let next = text.len() - gap.trim_ascii_start().len();
            format!("expected `,`, found {}", self::found(text, next))
        }
        ParseErrorKind::MultipleRootJsonValues => {
            format!("expected the end of the text, found {}", found())
        }
        ParseErrorKind::SingleQuotedStringsNotAllowed => {
            "a string is in double quotes, not in single quotes".to_owned()
        }
        ParseErrorKind::TrailingCommasNotAllowed => {
            "a comma after the last value is not allowed".to_owned()
        }
        ParseErrorKind::UnexpectedCloseBrace
        | ParseErrorKind::UnexpectedCloseBracket
        | ParseErrorKind::UnexpectedColon
        | ParseErrorKind::UnexpectedComma
        | ParseErrorKind::UnexpectedToken
        | ParseErrorKind::UnexpectedWord => expected_value(text, offset),
        ParseErrorKind::UnterminatedArray => "the array is not closed; `]` is missing".to_owned(),
        ParseErrorKind::UnterminatedObject => "the object is not closed; `}` is missing".to_owned(),
        ParseErrorKind::UnterminatedCommentBlock => {
            "the comment that begins here is not closed; `*/` is missing".to_owned()
        }
        ParseErrorKind::String(ParseStringErrorKind::UnterminatedStringLiteral) => {
            "the string that begins here is not closed; `\"` is missing".to_owned()
        }
        ParseErrorKind::String(_) => {
            "the string has an escape that is not valid; write `\\\\` for a backslash".to_owned()
        }
        ParseErrorKind::NestingDepthExceeded => "the values are nested too deep".to_owned(),
        other => {
            let mut message = other.to_string();
            message[..1].make_ascii_lowercase();
            message
        }
    }
}

/// What is at an offset, for a message: one character. More of the text could be a part of a
/// secret, which nothing that looks for the whole of it would take out.
fn found(text: &[u8], offset: usize) -> String {
    let rest = text.get(offset..).unwrap_or_default();
    let rest = String::from_utf8_lossy(&rest[..rest.len().min(LONGEST_CHARACTER_BYTES)]);
    match rest.chars().next() {
        None => "the end of the text".to_owned(),
        Some('\n' | '\r') => "the end of the line".to_owned(),
        Some('"') => "a string".to_owned(),
        Some('`') => "a backquote".to_owned(),
        Some(c) if c.is_control() || crate::text::is_deceptive(c) => {
            format!("the character U+{:04X}", u32::from(c))
        }
        Some(c) => format!("`{c}`"),
    }
}

#[cfg(test)]
mod tests {
    use super::JsonError;
    use crate::json::{from_value, parse_json, read};
    use serde::Deserialize;
    use serde_json::{Value, json};

    #[test]
    fn a_fault_is_told_with_its_place_and_what_is_there() {
        for (text, expected) in [
            ("", "line 1, column 1: the text is empty"),
            ("\n \n", "line 1, column 1: the text is empty"),
            (
                "x",
                "line 1, column 1: expected a value, found `x`; a string is in double quotes",
            ),
            (
                "[hello there]",
                "line 1, column 2: expected a value, found `h`; a string is in double quotes",
            ),
            (
                "[1, nulx]",
                "line 1, column 8: expected true, false or null; a string is in double quotes",
            ),
            (
                "{\"a\": 'b'}",
                "line 1, column 7: expected a value, found `'`; a string is in double quotes",
            ),
            (
                "// x\n{}",
                "line 1, column 1: expected a value, found `/`; JSON has no comments",
            ),
            ("{\"a\": }", "line 1, column 7: expected a value, found `}`"),
            (
                "{\"a\": 1,}",
                "line 1, column 9: a comma before `}` is not allowed",
            ),
            (
                "[1,]",
                "line 1, column 4: a comma before `]` is not allowed",
            ),
            ("[1,,2]", "line 1, column 4: expected a value, found `,`"),
            (
                "{a: 1}",
                "line 1, column 2: expected a name in double quotes, found `a`",
            ),
            ("{\"a\" 1}", "line 1, column 6: expected `:`, found `1`"),
            (
                "{\"a\": 1 \"b\": 2}",
                "line 1, column 9: expected `,` or `}`, found a string",
            ),
            ("[1 2]", "line 1, column 4: expected `,` or `]`, found `2`"),
            (
                "[] []",
                "line 1, column 4: expected the end of the text, found `[`",
            ),
            (
                "{\n  \"ä\": \"ü\" x}",
                "line 2, column 12: expected `,` or `}`, found `x`",
            ),
            (
                "[",
                "line 1, column 2: the text ends within an array; `]` is missing",
            ),
            (
                "{\"a\": 1\n",
                "line 1, column 8: the text ends within an object; `}` is missing",
            ),
            (
                "{\"a\":",
                "line 1, column 6: the text ends where a value is expected",
            ),
            (
                "[\"a",
                "line 1, column 4: the text ends within a string; `\"` is missing",
            ),
            (
                "[\"a\nb\"]",
                "line 1, column 4: the line ends within a string; `\"` is missing, or write `\\n` for a line break",
            ),
            (
                "[\"a\tb\"]",
                "line 1, column 4: write `\\t` for a tab in a string",
            ),
            (
                "[\"a\u{1}b\"]",
                "line 1, column 4: write `\\u0001` for the control character in a string",
            ),
            (
                "[\"C:\\dir\"]",
                "line 1, column 6: the escape is not valid; write `\\\\` for a backslash in a string",
            ),
            ("[01]", "line 1, column 3: the number is not valid"),
            ("[1e999]", "line 1, column 6: the number is too large"),
            (
                "\u{feff}{}",
                "line 1, column 1: expected a value, found the character U+FEFF",
            ),
        ] {
            let error = parse_json(text.as_bytes()).expect_err(text);
            assert_eq!(error.to_string(), expected, "{text}");
        }
    }

    #[test]
    fn a_fault_of_depth_or_encoding_is_told_and_a_line_of_a_file_is_named() {
        let deep = "[".repeat(200);
        let error = parse_json(deep.as_bytes()).expect_err("deep").to_string();
        assert!(
            error.ends_with(": the values are nested too deep"),
            "{error}"
        );
        let error = read::<Value>(b"[\"\xff\"]").expect_err("bytes").to_string();
        assert!(
            error.ends_with(": the characters are not valid UTF-8"),
            "{error}"
        );
        let error = parse_json(b"{\"a\": ").expect_err("cut").in_line(7);
        assert_eq!(error.place(), Some((7, 6)));
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Wanted {
        #[expect(dead_code, reason = "only reading is tried")]
        count: u32,
        #[expect(dead_code, reason = "only reading is tried")]
        kind: Option<Kind>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Kind {
        One,
        Two,
    }

    #[test]
    fn a_wrong_value_is_told_in_words_of_json() {
        for (value, expected) in [
            (json!({}), "\"count\" is missing"),
            (json!([[]]), "expected a whole number, found an array"),
            (json!("x"), "expected an object, found string \"x\""),
            (
                json!({"count": "x"}),
                "expected a whole number, found string \"x\"",
            ),
            (
                json!({"count": true}),
                "expected a whole number, found `true`",
            ),
            (
                json!({"count": null}),
                "expected a whole number, found null",
            ),
            (
                json!({"count": {}}),
                "expected a whole number, found an object",
            ),
            (json!({"count": -1}), "expected a whole number, found `-1`"),
            (
                json!({"count": 1, "x": 1}),
                "\"x\" is not a known key; expected `count` or `kind`",
            ),
            (
                json!({"count": 1, "kind": "three"}),
                "\"three\" is not a known value; expected `one` or `two`",
            ),
        ] {
            let text = value.to_string();
            let error = from_value::<Wanted>(value).expect_err(&text);
            assert_eq!(error, JsonError::whole(expected), "{text}");
            let error = read::<Wanted>(text.as_bytes()).expect_err(&text);
            assert_eq!(error.what(), expected, "{text}");
        }
    }

    #[test]
    fn json_with_comments_has_the_same_words() {
        for (text, expected) in [
            (
                r#"{"a": 1"#,
                "column 8: the object is not closed; `}` is missing",
            ),
            ("[1", "column 3: the array is not closed; `]` is missing"),
            (
                r#"{"a": "x}"#,
                "column 7: the string that begins here is not closed; `\"` is missing",
            ),
            (
                "/* x",
                "column 1: the comment that begins here is not closed; `*/` is missing",
            ),
            (r#"{"a" 1}"#, "column 6: expected `:` after the name"),
            (r#"{"a": }"#, "column 7: expected a value, found `}`"),
            ("{} {}", "column 4: expected the end of the text, found `{`"),
            (
                r#"{"a": x}"#,
                "column 7: expected a value, found `x`; a string is in double quotes",
            ),
            (
                "{,}",
                "column 2: expected a name in double quotes, found `,`",
            ),
            ("[1 2]", "column 3: expected `,`, found `2`"),
            (
                r#"{"a": 1 "b": 2}"#,
                "column 8: expected `,`, found a string",
            ),
            (
                r#"{"a": 1,}"#,
                "column 8: a comma after the last value is not allowed",
            ),
            (
                "{a: 1}",
                "column 2: expected a name in double quotes, found `a`",
            ),
            (
                "{'a': 1}",
                "column 2: a string is in double quotes, not in single quotes",
            ),
            (
                r#"{"a": "C:\d"}"#,
                "column 10: the string has an escape that is not valid; write `\\\\` for a backslash",
            ),
        ] {
            let error = gemini_tools_config::settings::strict_jsonc(text).expect_err(text);
            let expected = format!("line 1, {expected}");
            assert_eq!(error, expected, "{text}");
        }
    }
}
