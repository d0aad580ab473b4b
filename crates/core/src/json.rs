//! Reads JSON documents of other programs within limits, also those that JavaScript writes with
//! half of a surrogate pair.
//!
//! A value takes up to a hundred bytes of memory for two bytes of text, so a limit on bytes alone
//! does not bound memory. The memory of all values is estimated before any is made.
//!
//! Every error about JSON that a user or model sees is worded here, as [`JsonError`].

mod error;

pub use error::JsonError;

use serde::de::DeserializeOwned;
use serde_json::{Number, Value};

/// Longest call or message in bytes, not counting media of MCP messages. A call that writes a file
/// holds the whole file.
pub const MAX_BYTES: usize = 8 * 1024 * 1024;

/// Maximum size of a document that may hold media in base64, in bytes.
pub const MAX_WITH_MEDIA_BYTES: usize = 32 * 1024 * 1024;

const MEDIA_NAMES: [&[u8]; 2] = [b"data", b"blob"];

/// Maximum memory of a document's values, in bytes. The content of texts is not counted, because it
/// takes no more memory than the document itself.
pub const MAX_VALUES_BYTES: usize = 12 * 1024 * 1024;

const VALUE_BYTES: usize = 64;

/// A whole number of fewer digits is never rounded, because a double can hold it exactly.
const MIN_ROUNDED_BYTES: usize = 16;

/// Memory of an object besides its values, in bytes: a tree node with room for eleven entries.
const OBJECT_BYTES: usize = 640;

/// Reads a JSON document. `JSON.stringify` and Python write half of a surrogate pair if a text was
/// cut within a character, or a file's name is not UTF-8; that half becomes U+FFFD, as in node and
/// jq. A whole number that would be rounded becomes a text with its digits, which a schema refuses
/// as a number. A byte order mark is skipped. Otherwise RFC 8259 applies strictly.
///
/// # Errors
///
/// Returns an error if the text is too large, not valid JSON, or not of the form of a `T`.
pub fn read<T: DeserializeOwned>(text: &[u8]) -> Result<T, JsonError> {
    check(text)?;
    read_unlimited(text)
}

/// Does the same as [`read`] without limits. The document must come from one of our executables or
/// from the user.
///
/// # Errors
///
/// Returns an error if the text is not valid JSON or does not have the form of a `T`.
pub fn read_unlimited<T: DeserializeOwned>(text: &[u8]) -> Result<T, JsonError> {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let parse = |text: &[u8]| serde_json::from_slice(text).map_err(|e| JsonError::new(text, &e));
    let parse = |text: &[u8]| {
        parse(text).or_else(|error| match without_lone_surrogates(text) {
            Some(text) => parse(&text),
            None => Err(error),
        })
    };
    match exact(text).map(|text| parse(&text)) {
        Some(Ok(value)) => Ok(value),
        _ => parse(text),
    }
}

/// Converts a JSON value into a `T`. Errors have no position, because there is no text.
///
/// # Errors
///
/// Returns an error if the value does not have the form of a `T`.
pub fn from_value<T: DeserializeOwned>(value: Value) -> Result<T, JsonError> {
    serde_json::from_value(value).map_err(|e| JsonError::new(b"", &e))
}

/// Checks that a document is small enough to be read.
///
/// # Errors
///
/// Returns an error that names the limit.
pub fn check(text: &[u8]) -> Result<(), JsonError> {
    if text.len() > MAX_WITH_MEDIA_BYTES {
        let message = format!("the document has more than {MAX_WITH_MEDIA_BYTES} bytes");
        return Err(JsonError::whole(message));
    }
    if values_bytes(text) > MAX_VALUES_BYTES {
        let most = MAX_VALUES_BYTES / (1024 * 1024);
        let message = format!("the values in it take more than {most} MiB of memory");
        return Err(JsonError::whole(message));
    }
    Ok(())
}

/// Checks that a message of an MCP server is small enough to read. Only media may make it longer
/// than [`MAX_BYTES`].
///
/// # Errors
///
/// Returns an error that names the limit.
pub fn check_message(text: &[u8]) -> Result<(), JsonError> {
    check(text)?;
    if text.len() > MAX_BYTES && text.len() - media_bytes(text) > MAX_BYTES {
        let message = format!("it has more than {MAX_BYTES} bytes beside media");
        return Err(JsonError::whole(message));
    }
    Ok(())
}

fn media_bytes(text: &[u8]) -> usize {
    let (mut bytes, mut rest) = (0, text);
    let mut is_media = false;
    while let Some(at) = memchr::memchr(b'"', rest) {
        let string = &rest[at + 1..];
        rest = behind_string(string);
        let length = string.len() - rest.len();
        bytes += if is_media { length } else { 0 };
        let name = &string[..length.saturating_sub(1)];
        is_media = MEDIA_NAMES.contains(&name) && rest.trim_ascii_start().starts_with(b":");
    }
    bytes
}

/// Estimates the memory that the values of a text will take, in bytes; counting ends just beyond
/// the limit. The text need not be valid: a parser makes values until it meets the mistake.
fn values_bytes(text: &[u8]) -> usize {
    let mut bytes = VALUE_BYTES;
    let mut rest = text;
    while let Some((&first, behind)) = rest.split_first() {
        rest = behind;
        match first {
            b'"' => rest = behind_string(rest),
            b',' | b':' | b'[' => bytes += VALUE_BYTES,
            b'{' => bytes += VALUE_BYTES + OBJECT_BYTES,
            _ => continue,
        }
        if bytes > MAX_VALUES_BYTES {
            break;
        }
    }
    bytes
}

fn behind_string(mut text: &[u8]) -> &[u8] {
    while let Some(at) = memchr::memchr2(b'"', b'\\', text) {
        if text[at] == b'"' {
            return &text[at + 1..];
        }
        text = text.get(at + 2..).unwrap_or_default();
    }
    &[]
}

/// Returns the text with [`unrounded`] numbers, or `None` if that is the same.
fn exact(text: &[u8]) -> Option<Vec<u8>> {
    let (mut copy, mut copied, mut at) = (Vec::new(), 0, 0);
    while let Some(first) = text.get(at) {
        let rest = &text[at..];
        let is_part = |byte: &&u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
        at += match first {
            b'"' => rest.len() - behind_string(&rest[1..]).len(),
            b'-' | b'0'..=b'9' => {
                let word = rest.iter().take_while(is_part).count();
                if let Some(number) = unrounded(&rest[..word]) {
                    copy.extend_from_slice(&text[copied..at]);
                    copy.extend_from_slice(number.as_bytes());
                    copied = at + word;
                }
                word
            }
            _ => 1,
        };
    }
    if copied == 0 {
        return None;
    }
    copy.extend_from_slice(&text[copied..]);
    Some(copy)
}

/// Returns the form of a whole number in which the parser does not round it: `9007199254740993.0`
/// as an integer, and one of more than 64 bits in quotes. Returns `None` for a number whose digits
/// stay, such as `1e22`.
pub(crate) fn unrounded(word: &[u8]) -> Option<String> {
    if word.len() < MIN_ROUNDED_BYTES {
        return None;
    }
    let read: Number = serde_json::from_slice(word).ok().filter(Number::is_f64)?;
    let word = std::str::from_utf8(word).ok()?;
    let (digits, zeros) = decimal(word);
    if digits.is_empty() || zeros < 0 || decimal(&read.to_string()) == (digits.clone(), zeros) {
        return None;
    }
    let sign = if word.starts_with('-') { "-" } else { "" };
    let whole = format!("{sign}{digits}{}", "0".repeat(zeros.min(20) as usize));
    let fits = whole.parse::<i64>().is_ok() || whole.parse::<u64>().is_ok();
    Some(if fits { whole } else { format!("\"{word}\"") })
}

/// Returns the digits of a number without zeros at the ends, and how many zeros come after them.
fn decimal(number: &str) -> (String, i64) {
    let (number, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = format!("{whole}{fraction}");
    let most = digits.trim_end_matches('0');
    let zeros = (digits.len() - most.len()) as i64 - fraction.len() as i64;
    let zeros = zeros.saturating_add(exponent.parse().unwrap_or(0));
    (most.trim_start_matches(['-', '0']).to_owned(), zeros)
}

fn without_lone_surrogates(text: &[u8]) -> Option<Vec<u8>> {
    let mut repaired = None;
    let mut at = 0;
    while at < text.len() {
        if text[at] != b'\\' {
            at += 1;
            continue;
        }
        at += match (unit(text, at), unit(text, at + 6)) {
            (Some(0xd800..0xdc00), Some(0xdc00..0xe000)) => 12,
            (Some(0xd800..0xe000), _) => {
                let copy = repaired.get_or_insert_with(|| text.to_vec());
                copy[at..at + 6].copy_from_slice(b"\\ufffd");
                6
            }
            // Skips the escaped character: the second backslash of `\\` begins no escape.
            _ => 2,
        };
    }
    repaired
}

fn unit(text: &[u8], at: usize) -> Option<u16> {
    let digits = text.get(at..at + 6)?.strip_prefix(b"\\u")?;
    let digits = std::str::from_utf8(digits).ok()?;
    let is_hex = digits.bytes().all(|b| b.is_ascii_hexdigit());
    is_hex.then(|| u16::from_str_radix(digits, 16).ok())?
}

#[cfg(test)]
mod tests {
    use super::{OBJECT_BYTES, VALUE_BYTES, check, read, values_bytes};
    use serde_json::Value;

    #[test]
    fn halves_of_pairs_become_the_replacement_character() {
        for (text, expected) in [
            (r#""a\ud83d""#, "a\u{fffd}"),
            (r#""\ud83d\ud83d\ude00""#, "\u{fffd}\u{1f600}"),
            (r#""\ude00b\uD83D\n""#, "\u{fffd}b\u{fffd}\n"),
            (r#""\\ud83d""#, "\\ud83d"),
            (r#""\\\ud83d""#, "\\\u{fffd}"),
            (r#""\ud83dA""#, "\u{fffd}A"),
            (r#""\ud83d\ude00""#, "\u{1f600}"),
        ] {
            let value: Value = read(text.as_bytes()).expect(text);
            assert_eq!(value, expected, "{text}");
        }
    }

    #[test]
    fn no_whole_number_is_rounded_and_no_other_text_changed() {
        let long = "12345678901234567890123";
        for (number, expected) in [
            ("18446744073709551615", "18446744073709551615"),
            ("-9223372036854775808", "-9223372036854775808"),
            ("-9223372036854775809", r#""-9223372036854775809""#),
            ("18446744073709551616", r#""18446744073709551616""#),
            (long, r#""12345678901234567890123""#),
            ("9007199254740993.00", "9007199254740993"),
            ("-0.90071992547409930e16", "-9007199254740993"),
            ("0.1000000000000000e17", "1e+16"),
            ("100000000000000000000000", "1e+23"),
            ("1.7976931348623157E308", "1.7976931348623157e+308"),
            ("-0.000000000000000000e99", "-0.0"),
            ("12345678901234567890123.5", "1.2345678901234568e+22"),
            ("3.14159265358979323846264", "3.141592653589793"),
        ] {
            let text = format!(r#"{{"{long}":"\"{long}","a":[{number},"{number}",1]}}"#);
            let value: Value = read(text.as_bytes()).expect(number);
            let expected = format!(r#"{{"{long}":"\"{long}","a":[{expected},"{number}",1]}}"#);
            assert_eq!(value.to_string(), expected);
        }
        assert_eq!(read::<f64>(long.as_bytes()), Ok(1.234_567_890_123_456_8e22));
        let error = read::<Value>(format!("[{long}, x]").as_bytes()).expect_err("no JSON");
        assert_eq!(error.place(), Some((1, 27)));
    }

    #[test]
    fn values_are_summed_up_and_what_strings_hold_is_not() {
        for (text, values, objects) in [
            ("1", 1, 0),
            ("[]", 2, 0),
            ("[1,1,1]", 4, 0),
            (r#"{"a":[1,2],"b":"x,[{:\",\\"}"#, 7, 1),
            (r#""[[[[,,,,"#, 1, 0),
            ("[{[[", 5, 1),
        ] {
            let expected = values * VALUE_BYTES + objects * OBJECT_BYTES;
            assert_eq!(values_bytes(text.as_bytes()), expected, "{text}");
        }
        for (many, expected) in [
            (format!("[{}1]", "1,".repeat(200_000)), "12 MiB"),
            (format!("[{}1]", r#"{"a":1},"#.repeat(20_000)), "12 MiB"),
            (format!("{:?}", "x".repeat(33 << 20)), "33554432 bytes"),
        ] {
            let message = check(many.as_bytes()).expect_err("too large").to_string();
            assert!(message.contains(expected), "{message}");
        }
        check(format!("[{}1]", "1,".repeat(190_000)).as_bytes()).expect("small enough");
    }

    #[test]
    fn what_is_no_json_stays_none() {
        for text in [
            "",
            "{",
            r#""\ud8"#,
            r#""\ud83d"#,
            r#""\u{d83d}""#,
            "\\",
            "[\\ud83d]",
            "00000000000000000000001",
            "18446744073709551617x",
        ] {
            assert!(read::<Value>(text.as_bytes()).is_err(), "{text}");
        }
    }
}
