//! Characters that a model reads and a person doesn't see.

use crate::text::with_deceptive;

/// Returns the first character of `text` that is invisible or changes the direction of what follows,
/// and has no business there: controls, tags, bidirectional controls, zero-width characters.
/// Characters that join letters or emoji are allowed where they do.
pub fn hidden_character(text: &str) -> Option<char> {
    if text.bytes().all(|b| matches!(b, b' '..=b'~' | b'\n')) {
        return None;
    }
    with_deceptive(text)
        .find(|(c, deceives)| *deceives && !matches!(c, '\t' | '\n' | '\r'))
        .map(|(c, _)| c)
}

#[cfg(test)]
mod tests {
    use super::hidden_character;

    #[test]
    fn writing_of_all_sorts_is_seen() {
        for text in [
            "plain\ttext\r\nin lines",
            "wörld 世界 🌍",
            "⚠️ careful",
            "👨‍👩‍👧 family",
            "می‌خواهم",
            "🏳️‍🌈",
        ] {
            assert_eq!(hidden_character(text), None, "{text:?}");
        }
    }

    #[test]
    fn what_nobody_sees_is_found() {
        for (text, c) in [
            ("a\u{200b}b", '\u{200b}'),
            ("a\u{202e}b", '\u{202e}'),
            ("a\u{2066}b", '\u{2066}'),
            ("a\u{e0041}b", '\u{e0041}'),
            ("\u{feff}a", '\u{feff}'),
            ("a\u{200d}b", '\u{200d}'),
            ("a\x1b[8m", '\x1b'),
            ("\u{fe0f}", '\u{fe0f}'),
        ] {
            assert_eq!(hidden_character(text), Some(c), "{text:?}");
        }
    }
}
