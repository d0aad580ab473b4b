//! The model's text for a pipe or a file.

use super::Sink;
use crate::event::{Event, Observer};
use std::io::Write;

/// Writes what the model says as it comes, and nothing else.
///
/// As by Gemini CLI, a line is ended where calls follow and at the end.
#[derive(Debug)]
pub struct TextOutput<W> {
    sink: Sink<W>,
}

impl<W: Write> TextOutput<W> {
    /// Writes to `out`.
    pub fn new(out: W) -> Self {
        let sink = Sink::new(out);
        Self { sink }
    }
}

impl<W: Write + Send> Observer for TextOutput<W> {
    fn take(&mut self, event: &Event<'_>) {
        match event {
            Event::Text(text) => self.sink.write(text),
            Event::Prompt { .. } | Event::Call(_) | Event::Retry(_) | Event::Ended { .. } => {
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
    use crate::output::testing::{
        Broken, PROMPT, STARTED, begun, done, last, stats, text, thought, turn,
    };
    use serde_json::json;
    use std::time::Duration;

    fn shown(events: &[Event<'_>]) -> String {
        let mut out = Vec::new();
        let mut observer = TextOutput::new(&mut out);
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
        let mut observer = TextOutput::new(&mut broken);
        for _ in 0..3 {
            observer.take(&Event::Text("a"));
        }
        assert_eq!(broken.0, 1);
    }
}
