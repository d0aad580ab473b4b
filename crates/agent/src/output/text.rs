//! The model's text.

use super::{Sink, escape_controls};
use crate::event::{Event, Observer};
use std::io::Write;

/// Writes the model's text as it comes, and nothing else.
///
/// As by Gemini CLI, a line is ended where calls follow and at the end.
#[derive(Debug)]
pub struct TextOutput<W> {
    sink: Sink<W>,
    is_terminal: bool,
}

impl<W: Write> TextOutput<W> {
    /// Writes to `out`. On a terminal no control character of the text has an effect, and what is
    /// shown beside the text begins a line.
    pub fn new(out: W, is_terminal: bool) -> Self {
        let sink = Sink::new(out);
        Self { sink, is_terminal }
    }
}

impl<W: Write + Send> Observer for TextOutput<W> {
    fn take(&mut self, event: &Event<'_>) {
        match event {
            Event::Text(text) if self.is_terminal => self.sink.write(&escape_controls(text)),
            Event::Text(text) => self.sink.write(text),
            Event::Prompt { .. } | Event::Call(_) | Event::Retry(_) | Event::Ended { .. } => {
                self.sink.end_line();
            }
            Event::Response { .. }
            | Event::ApiFailed { .. }
            | Event::Warning(_)
            | Event::Compressed { .. }
                if self.is_terminal =>
            {
                self.sink.end_line();
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::TextOutput;
    use crate::event::{Event, Observer};
    use crate::output::tests::{
        Broken, PROMPT, STARTED, begun, done, last, stats, text, thought, turn,
    };
    use serde_json::json;
    use std::time::Duration;

    fn shown(events: &[Event<'_>]) -> String {
        shown_on(false, events)
    }

    fn shown_on(is_terminal: bool, events: &[Event<'_>]) -> String {
        let mut out = Vec::new();
        let mut observer = TextOutput::new(&mut out, is_terminal);
        for event in events {
            observer.take(event);
        }
        String::from_utf8(out).expect("UTF-8")
    }

    #[test]
    fn a_pipe_gets_exactly_the_text_of_the_model() {
        let (begun, done) = (begun("t", json!({})), done("t", json!({}), text("out")));
        let (last, stats) = (last(), stats());
        let events = [
            STARTED,
            PROMPT,
            turn(1),
            Event::ThoughtPiece("hidden"),
            Event::Thought(&thought()),
            Event::Text("I lo"),
            Event::Text("ok.\x1b[1m"),
            Event::Response {
                last: Some(&last),
                duration: Duration::ZERO,
            },
            Event::Call(&begun),
            Event::Live {
                id: "t-1",
                text: "hidden",
            },
            Event::Call(&done),
            Event::Warning("hidden"),
            turn(2),
            Event::Text("It is\n\n3.\r\n"),
            Event::Ended {
                error: None,
                stats: &stats,
            },
        ];
        assert_eq!(shown(&events), "I look.\x1b[1m\nIt is\n\n3.\r\n");
    }

    #[test]
    fn a_last_line_is_ended_once() {
        let stats = stats();
        let ended = || Event::Ended {
            error: None,
            stats: &stats,
        };
        assert_eq!(shown(&[Event::Text("a"), ended()]), "a\n");
        assert_eq!(shown(&[Event::Text("a\n"), ended()]), "a\n");
        assert_eq!(shown(&[ended()]), "");
    }

    #[test]
    fn what_is_said_again_begins_a_line() {
        let events = [
            Event::Text("half"),
            Event::Retry("flaw"),
            Event::Text("whole"),
        ];
        assert_eq!(shown(&events), "half\nwhole");
    }

    #[test]
    fn a_reader_that_is_gone_is_left_alone() {
        let mut broken = Broken::default();
        let mut observer = TextOutput::new(&mut broken, false);
        for _ in 0..3 {
            observer.take(&Event::Text("a"));
        }
        assert_eq!(broken.0, 1);
    }

    #[test]
    fn a_terminal_shows_text_as_it_comes_and_obeys_none_of_its_sequences() {
        let events = ["a\x1b", "[2J\x1b]52;c;aGk=\x07 **b", "**\r\nc\u{9b}"].map(Event::Text);
        let expected = "a␛[2J␛]52;c;aGk=␇ **b**\nc\u{fffd}";
        assert_eq!(shown_on(true, &events), expected);
        let warned = [Event::Text("a"), Event::Warning("w"), Event::Text("b")];
        assert_eq!(shown_on(true, &warned), "a\nb");
    }
}
