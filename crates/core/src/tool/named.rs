//! A text that holds names of files.
//!
//! A program that reads JSON is given each name as it is. In a text for a person or a pipe a name
//! must neither break its line nor command the terminal, so that the places of names that would
//! are kept, with what is shown there instead.

use crate::text::{line_name, show_name};
use gemini_tools_platform::ffi::OsStrExt;
use std::borrow::Cow;
use std::ops::Range;
use std::path::Path;

/// The names in a text that are shown otherwise on a line: where they are, and as what.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OddNames(Vec<(Range<usize>, Box<str>)>);

impl OddNames {
    /// The text with each of them as it is shown on a line.
    pub fn shown_in<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if self.0.is_empty() {
            return text.into();
        }
        let mut out = String::with_capacity(text.len() + self.0.len() * 8);
        let mut done = 0;
        for (place, shown) in &self.0 {
            out.push_str(&text[done..place.start]);
            out.push_str(shown);
            done = place.end;
        }
        out.push_str(&text[done..]);
        out.into()
    }

    /// Forgets those that are not whole in the first `length` bytes. One that is cut there
    /// ends before it.
    pub fn keep_within(&mut self, length: usize) {
        self.0.retain_mut(|(place, _)| {
            place.end = place.end.min(length);
            place.start < length
        });
    }
}

/// A text as it grows.
#[derive(Debug, Default)]
pub struct NamedText {
    /// What there is so far.
    pub text: String,
    odd: OddNames,
}

impl NamedText {
    /// Adds words of our own.
    pub fn push_str(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// Adds a name, or a path.
    pub fn push_name(&mut self, name: &[u8]) {
        let start = self.text.len();
        self.text.push_str(&show_name(name));
        let shown = line_name(name);
        if self.text[start..] != *shown {
            let place = start..self.text.len();
            self.odd.0.push((place, shown.into()));
        }
    }

    /// [`NamedText::push_name`] of a path.
    pub fn push_path(&mut self, path: &Path) {
        self.push_name(path.as_os_str().as_bytes());
    }

    /// Adds another text, without the line feed at its end.
    pub fn append(&mut self, other: Self) {
        let shift = self.text.len();
        let text = other.text.strip_suffix('\n').unwrap_or(&other.text);
        self.text.push_str(text);
        let moved = |(place, shown): (Range<usize>, Box<str>)| {
            (place.start + shift..place.end + shift, shown)
        };
        self.odd.0.extend(other.odd.0.into_iter().map(moved));
    }

    /// The text, and the names in it.
    pub(crate) fn into_parts(self) -> (String, OddNames) {
        (self.text, self.odd)
    }
}

#[cfg(test)]
mod tests {
    use super::NamedText;

    #[test]
    fn a_name_is_itself_in_the_text_and_harmless_on_a_line() {
        let mut body = NamedText::default();
        for name in [&b"a.txt"[..], b"b\nc", b"caf\xe9", b"\xe9\x1b"] {
            body.push_name(name);
            body.push_str("\n");
        }
        let mut text = NamedText::default();
        text.push_name(b"d\re");
        text.push_str(":\n");
        text.append(body);
        let (text, mut odd) = text.into_parts();
        assert_eq!(text, "d\re:\na.txt\nb\nc\ncaf\\x{e9}\n\\x{e9}\u{1b}");
        assert_eq!(
            odd.shown_in(&text),
            "d\\x{0d}e:\na.txt\nb\\x{0a}c\ncaf\\x{e9}\n\\x{e9}\\x{1b}"
        );
        odd.keep_within(13);
        assert_eq!(odd.shown_in(&text[..13]), "d\\x{0d}e:\na.txt\nb\\x{0a}c");
    }
}
