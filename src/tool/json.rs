//! JSON as hosts in JavaScript write it.

use serde_json::Value;

/// Reads a JSON document. A half of a surrogate pair, which `JSON.stringify` writes where a text
/// was cut within a character, becomes U+FFFD, as in node and jq; all else is as strict as
/// RFC 8259.
///
/// # Errors
///
/// Where it is no JSON.
pub fn parse_json(text: &[u8]) -> Result<Value, serde_json::Error> {
    serde_json::from_slice(text).or_else(|error| match without_lone_surrogates(text) {
        Some(text) => serde_json::from_slice(&text),
        None => Err(error),
    })
}

/// The text with U+FFFD for each half that stands alone; `None` where there is none.
fn without_lone_surrogates(text: &[u8]) -> Option<Vec<u8>> {
    let mut mended = None;
    let mut at = 0;
    while at < text.len() {
        if text[at] != b'\\' {
            at += 1;
            continue;
        }
        at += match (unit(text, at), unit(text, at + 6)) {
            (Some(0xd800..0xdc00), Some(0xdc00..0xe000)) => 12,
            (Some(0xd800..0xe000), _) => {
                let copy = mended.get_or_insert_with(|| text.to_vec());
                copy[at..at + 6].copy_from_slice(b"\\ufffd");
                6
            }
            // Whatever it is, what it escapes is no escape of its own.
            _ => 2,
        };
    }
    mended
}

/// The code unit of an escape at a place.
fn unit(text: &[u8], at: usize) -> Option<u16> {
    let digits = text.get(at..at + 6)?.strip_prefix(b"\\u")?;
    let digits = std::str::from_utf8(digits).ok()?;
    let is_hex = digits.bytes().all(|b| b.is_ascii_hexdigit());
    is_hex.then(|| u16::from_str_radix(digits, 16).ok())?
}

#[cfg(test)]
mod tests {
    use super::parse_json;

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
            let value = parse_json(text.as_bytes()).expect(text);
            assert_eq!(value, expected, "{text}");
        }
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
        ] {
            assert!(parse_json(text.as_bytes()).is_err(), "{text}");
        }
    }
}
