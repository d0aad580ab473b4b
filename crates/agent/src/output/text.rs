//! Output of the model's text alone.

use super::Sink;
use crate::event::{Observer, SessionEvent};
use gemini_tools_core::text::harmless_lines;
use std::fmt;
use std::io::Write;

/// Writes the model's text as it comes, and nothing else.
///
/// Like Gemini CLI, it ends an unfinished line before a call and at the end of the session.
#[derive(Debug)]
pub struct TextOutput<W> {
    sink: Sink<W>,
    is_terminal: bool,
}

impl<W: Write> TextOutput<W> {
    /// Writes to `out`. On a terminal, control characters are made harmless, and a line is also
    /// ended before other output, such as progress.
    pub fn new(out: W, is_terminal: bool) -> Self {
        let sink = Sink::new(out);
        Self { sink, is_terminal }
    }
}

impl<W: Write + Send + fmt::Debug> Observer for TextOutput<W> {
    fn take(&mut self, event: &SessionEvent<'_>) {
        match event {
            SessionEvent::Text(text) if self.is_terminal => self.sink.write(&harmless_lines(text)),
            SessionEvent::Text(text) => self.sink.write(text),
            SessionEvent::Prompt { .. }
            | SessionEvent::Call(_)
            | SessionEvent::Retry(_)
            | SessionEvent::Ended { .. } => {
                self.sink.end_line();
            }
            SessionEvent::Thought(_) => {}
            _ if self.is_terminal => self.sink.end_line(),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
