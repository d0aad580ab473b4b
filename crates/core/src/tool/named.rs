//! A text that contains file names.
//!
//! A program that reads JSON gets each name as it is. In a text for a person or a pipe, a name must
//! neither break its line nor control the terminal. So the text keeps the positions of such names,
//! with their escaped forms. A terminal shows names, line numbers and matches in colours; if
//! [`CallView::wants_looks`](super::CallView::wants_looks) is set, the text keeps their positions
//! too.

use super::Context;
use crate::colours::Look;
use crate::text::{harmless_lines, line_name, show_name};
use std::borrow::Cow;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Byte ranges of file names that need escaping in text output, each with the escaped form.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OddNames(Vec<(Range<usize>, Box<str>)>);

impl OddNames {
    /// Returns the text with these names in their escaped forms.
    pub fn replace_in<'t>(&self, text: &'t str) -> Cow<'t, str> {
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

    /// Returns the text as a terminal shows it, with colours at the positions in `looks`.
    /// Everything else that would control the terminal is escaped.
    pub fn terminal_text(&self, text: &str, looks: &[PlacedLook]) -> String {
        let mut out = String::with_capacity(text.len() + self.0.len() * 8 + looks.len() * 12);
        let mut odd = self.0.iter().peekable();
        // A name that is shown in escaped form lies within one range of `looks` or outside of all
        // of them, so it is never split.
        let mut plain = |from: usize, to: usize| {
            let mut piece = String::new();
            let mut done = from;
            while let Some((place, shown)) = odd.next_if(|(place, _)| place.end <= to) {
                piece.push_str(&harmless_lines(&text[done..place.start]));
                piece.push_str(shown);
                done = place.end;
            }
            piece.push_str(&harmless_lines(&text[done..to]));
            piece
        };
        let mut done = 0;
        for (place, look) in looks {
            out.push_str(&plain(done, place.start));
            look.push(&mut out, &plain(place.start, place.end));
            done = place.end;
        }
        out.push_str(&plain(done, text.len()));
        out
    }

    /// Adapts the positions to a text that was cut after `length` bytes. Names behind the cut are
    /// dropped, and a name that is cut ends there.
    pub fn keep_within(&mut self, length: usize) {
        self.0.retain_mut(|(place, _)| {
            place.end = place.end.min(length);
            place.start < length
        });
    }
}

/// A range of bytes in a text, with its colour. The ranges of one text are in order and don't
/// overlap.
pub type PlacedLook = (Range<usize>, Look);

/// A text with file names while it is being written.
#[derive(Debug, Default)]
pub struct NamedText {
    /// Text so far.
    pub text: String,
    odd: OddNames,
    looks: Option<Vec<PlacedLook>>,
}

impl NamedText {
    /// Makes an empty text for the answer to a call.
    pub fn answering(cx: &Context) -> Self {
        Self {
            looks: cx.view.wants_looks.then(Vec::new),
            ..Self::default()
        }
    }

    /// Returns true if the text is for a terminal with colours.
    pub fn has_looks(&self) -> bool {
        self.looks.is_some()
    }

    /// Appends a text that needs no escaping, in the colour of `look`.
    pub fn push_looking(&mut self, text: &str, look: Look) {
        let start = self.text.len();
        self.text.push_str(text);
        self.look_from(start, look);
    }

    fn look_from(&mut self, start: usize, look: Look) {
        if let Some(looks) = &mut self.looks {
            looks.push((start..self.text.len(), look));
        }
    }

    /// Appends a text that needs no escaping.
    pub fn push_str(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// Appends a name or path.
    pub fn push_name(&mut self, name: &[u8]) {
        self.push_name_as(name, Look::Path);
    }

    /// Appends a name in the colour of `look`.
    pub fn push_name_as(&mut self, name: &[u8], look: Look) {
        let start = self.text.len();
        self.push_plain_name(name);
        self.look_from(start, look);
    }

    /// Appends a name without a colour.
    pub fn push_plain_name(&mut self, name: &[u8]) {
        // A model that reads the text would take what follows the line end for a line of the tool.
        if name.iter().any(|b| matches!(b, b'\n' | b'\r')) {
            return self.text.push_str(&line_name(name));
        }
        let start = self.text.len();
        self.text.push_str(&show_name(name));
        let shown = line_name(name);
        if self.text[start..] != *shown {
            let place = start..self.text.len();
            self.odd.0.push((place, shown.into()));
        }
    }

    /// Appends a path like [`NamedText::push_name`].
    pub fn push_path(&mut self, path: &Path) {
        self.push_name(path.as_os_str().as_bytes());
    }

    /// Appends another text without its final line feed.
    pub fn append(&mut self, other: Self) {
        let shift = self.text.len();
        let text = other.text.strip_suffix('\n').unwrap_or(&other.text);
        self.text.push_str(text);
        let moved = |(place, shown): (Range<usize>, Box<str>)| {
            (place.start + shift..place.end + shift, shown)
        };
        self.odd.0.extend(other.odd.0.into_iter().map(moved));
        if let Some(looks) = &mut self.looks {
            let moved = |(place, look): PlacedLook| (place.start + shift..place.end + shift, look);
            looks.extend(other.looks.into_iter().flatten().map(moved));
        }
    }

    pub(crate) fn into_parts(self) -> (String, OddNames, Vec<PlacedLook>) {
        (self.text, self.odd, self.looks.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::NamedText;
    use crate::colours::Look;
    use crate::tool::{Cancellation, Context};

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
        let (text, mut odd, _) = text.into_parts();
        assert_eq!(
            text,
            "d\\x{0d}e:\na.txt\nb\\x{0a}c\ncaf\\x{e9}\n\\x{e9}\u{1b}"
        );
        assert_eq!(
            odd.replace_in(&text),
            "d\\x{0d}e:\na.txt\nb\\x{0a}c\ncaf\\x{e9}\n\\x{e9}\\x{1b}"
        );
        odd.keep_within(13);
        assert_eq!(odd.replace_in(&text[..13]), &text[..13]);
    }

    #[test]
    fn a_terminal_shows_looks_and_nothing_that_commands_it() {
        let mut cx = Context::new(Cancellation::default(), false);
        cx.view.wants_looks = true;
        let mut body = NamedText::answering(&cx);
        body.push_name(b"a\nb");
        body.push_str(":");
        body.push_looking("7", Look::LineNumber);
        body.push_str(" x\x1b[2J\r\n");
        let mut text = NamedText::answering(&cx);
        text.push_str("Found\n");
        text.append(body);
        let (text, odd, looks) = text.into_parts();
        assert_eq!(
            odd.terminal_text(&text, &looks),
            "Found\n\x1b[35ma\\x{0a}b\x1b[0m:\x1b[32m7\x1b[0m x\\u{1b}[2J\\u{d}"
        );
        assert_eq!(
            odd.terminal_text(&text, &[]),
            "Found\na\\x{0a}b:7 x\\u{1b}[2J\\u{d}"
        );
    }
}
