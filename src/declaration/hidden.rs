//! Characters that a model reads and a person doesn't see.

/// The first character of `text` that is invisible or changes the direction of what follows,
/// and has no business there: controls, tags, bidirectional controls, zero-width characters.
/// Those that join letters or emoji are left alone where they do.
pub fn hidden_character(text: &str) -> Option<char> {
    if text.bytes().all(|b| matches!(b, b' '..=b'~' | b'\n')) {
        return None;
    }
    let mut before: Option<char> = None;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        // Scripts with cursive letters need them, and emoji that are made of several.
        let joins = |c: Option<char>| c.is_some_and(|c| !c.is_ascii() && !is_hidden(c));
        let is_fine = match c {
            '\u{200c}' | '\u{200d}' => joins(before) && joins(chars.peek().copied()),
            // How an emoji is to look.
            '\u{fe0e}' | '\u{fe0f}' => before.is_some_and(|c| !is_hidden(c)),
            c => !is_hidden(c),
        };
        if !is_fine {
            return Some(c);
        }
        // A variation selector belongs to what it follows.
        if !matches!(c, '\u{fe0e}' | '\u{fe0f}') {
            before = Some(c);
        }
    }
    None
}

fn is_hidden(c: char) -> bool {
    matches!(c,
        '\0'..='\u{8}' | '\u{b}' | '\u{c}' | '\u{e}'..='\u{1f}' | '\u{7f}'..='\u{9f}'
        | '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
        | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
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
