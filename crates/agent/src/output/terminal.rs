//! The model's text for a terminal.

use super::markdown::Markdown;
use super::{Sink, escape_controls};
use crate::event::{Event, Observer};
use std::io::Write;

/// A longer line is shown before its end has come, and as it is.
pub(super) const LINE_BYTES: usize = 8 * 1024;

/// Shows what the model says, line by line. No control character of it reaches the terminal.
#[derive(Debug)]
pub struct TerminalOutput<W> {
    sink: Sink<W>,
    /// Nothing where no escape sequences are wanted: then text is shown as it comes.
    markdown: Option<Markdown>,
    line: String,
}

impl<W: Write> TerminalOutput<W> {
    /// Writes to `out`; with `is_styled`, headings, bold text, code and lists look so.
    pub fn new(out: W, is_styled: bool) -> Self {
        Self {
            sink: Sink::new(out),
            markdown: is_styled.then(Markdown::default),
            line: String::new(),
        }
    }

    fn text(&mut self, text: &str) {
        for piece in text.split_inclusive('\n') {
            let whole = piece.strip_suffix('\n');
            self.line.push_str(whole.unwrap_or(piece));
            if whole.is_some() {
                self.show();
                self.sink.write("\n");
            } else if self.markdown.is_none() || self.line.len() > LINE_BYTES {
                self.show();
            }
        }
    }

    /// Shows what has come of a line.
    fn show(&mut self) {
        let line = std::mem::take(&mut self.line);
        let line = escape_controls(&line);
        match &mut self.markdown {
            // The rest of a line of which a part was shown.
            Some(markdown) if self.sink.at_line_start && line.len() <= LINE_BYTES => {
                let line = markdown.line(&line);
                self.sink.write(&line);
            }
            _ => self.sink.write(&line),
        }
    }

    /// What follows begins anew.
    fn end(&mut self) {
        self.show();
        self.sink.end_line();
        if let Some(markdown) = &mut self.markdown {
            *markdown = Markdown::default();
        }
    }
}

impl<W: Write + Send> Observer for TerminalOutput<W> {
    fn take(&mut self, event: &Event<'_>) {
        match event {
            Event::Text(text) => self.text(text),
            Event::Response { .. }
            | Event::ApiFailed { .. }
            | Event::Retry(_)
            | Event::Call(_)
            | Event::Ended { .. } => self.end(),
            // What is said of it on the same terminal begins a line; a text that goes on does
            // not.
            Event::Warning(_) | Event::Compressed { .. } => self.sink.end_line(),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{LINE_BYTES, TerminalOutput};
    use crate::event::{Event, Observer};
    use crate::output::testing::{begun, stats};
    use serde_json::json;

    fn shown(is_styled: bool, events: &[Event<'_>]) -> String {
        let mut out = Vec::new();
        let mut observer = TerminalOutput::new(&mut out, is_styled);
        for event in events {
            observer.take(event);
        }
        String::from_utf8(out).expect("UTF-8")
    }

    #[test]
    fn a_line_is_shown_when_it_is_whole() {
        let texts = ["# He", "ad\nSome **bo", "ld**"].map(Event::Text);
        assert_eq!(shown(true, &texts), "\x1b[1mHead\x1b[22m\n");
        let stats = stats();
        let mut events = Vec::from(texts);
        events.push(Event::Ended {
            error: None,
            stats: &stats,
        });
        assert_eq!(
            shown(true, &events),
            "\x1b[1mHead\x1b[22m\nSome \x1b[1mbold\x1b[22m\n"
        );
    }

    #[test]
    fn without_styles_text_is_shown_as_it_comes() {
        let texts = ["# He", "ad\r\nSome **bo"].map(Event::Text);
        assert_eq!(shown(false, &texts), "# Head\nSome **bo");
    }

    #[test]
    fn escape_sequences_of_a_model_reach_no_terminal() {
        let events = ["a\x1b", "[2J\x1b]52;c;aGk=\x07\n", "```\n\u{9b}31m\n"].map(Event::Text);
        let expected = "a␛[2J␛]52;c;aGk=␇\n\x1b[2m```\x1b[22m\n\x1b[2m\u{fffd}31m\x1b[22m\n";
        assert_eq!(shown(true, &events), expected);
        assert!(!shown(false, &events).contains(['\x1b', '\u{9b}', '\x07']));
    }

    #[test]
    fn a_call_ends_the_line_and_what_was_open_in_it() {
        let call = begun("t", json!({}));
        let events = [
            Event::Text("```\ncode"),
            Event::Call(&call),
            Event::Text("**b**\n"),
        ];
        assert_eq!(
            shown(true, &events),
            "\x1b[2m```\x1b[22m\n\x1b[2mcode\x1b[22m\n\x1b[1mb\x1b[22m\n"
        );
    }

    #[test]
    fn a_line_without_end_takes_no_memory() {
        let long = "x".repeat(LINE_BYTES);
        let events = [
            Event::Text(&long),
            Event::Text("yy"),
            Event::Text("**z**\n"),
        ];
        assert_eq!(shown(true, &events), format!("{long}yy**z**\n"));
    }
}
