//! A status line at the bottom of a terminal that says what the session is waiting for.
//!
//! The line is drawn on the same terminal that everything else is written to. To keep the two
//! apart, [`StatusOutput`] owns the other observers: for each event it erases the line, passes the
//! event on, and redraws the line. It is not drawn while the model's text is in the middle of a
//! line.

use super::escape::fitting;
use super::progress::call_label;
use super::{Sink, one_line, styled};
use crate::call::{CallState, ToolCall};
use crate::event::{Observer, SessionEvent};
use std::fmt;
use std::io::Write;

/// Shows what the session is waiting for, below the output of other observers.
#[derive(Debug)]
pub struct StatusOutput<W> {
    observers: Vec<Box<dyn Observer>>,
    sink: Sink<W>,
    columns: fn() -> usize,
    is_styled: bool,
    /// Set if the model's text is printed on the same terminal, so that the status line must not be
    /// drawn in the middle of it.
    shows_text: bool,
    is_drawn: bool,
    model: String,
    running: Vec<(String, String)>,
    status: Option<String>,
}

impl<W: Write> StatusOutput<W> {
    /// Draws on `out`, a terminal that understands escape sequences. `columns` returns its width.
    /// `shows_text` is set if the model's text goes to the same terminal.
    pub fn new(
        out: W,
        columns: fn() -> usize,
        is_styled: bool,
        shows_text: bool,
        observers: Vec<Box<dyn Observer>>,
    ) -> Self {
        Self {
            observers,
            sink: Sink::new(out),
            columns,
            is_styled,
            shows_text,
            is_drawn: false,
            model: String::new(),
            running: Vec::new(),
            status: None,
        }
    }

    fn wait_for_model(&mut self, subject: &str) {
        let status = format!("{}  {}", self.model, one_line(subject));
        self.status = Some(status.trim_end().to_owned());
    }

    fn follow(&mut self, event: &SessionEvent<'_>) {
        match event {
            SessionEvent::Started { model, .. } => self.model = one_line(model),
            SessionEvent::Thought(thought) => self.wait_for_model(&thought.subject),
            SessionEvent::Text(text) if self.shows_text && !text.ends_with('\n') => {
                self.status = None;
            }
            SessionEvent::Request { .. }
            | SessionEvent::Text(_)
            | SessionEvent::Retry(_)
            | SessionEvent::AttemptFailed { wait: Some(_), .. } => self.wait_for_model(""),
            SessionEvent::Call(call) => self.follow_call(call),
            SessionEvent::AttemptFailed { wait: None, .. }
            | SessionEvent::Response { .. }
            | SessionEvent::Ended { .. } => self.status = None,
            _ => {}
        }
    }

    fn follow_call(&mut self, call: &ToolCall) {
        let id = &call.request.id;
        self.running.retain(|(running, _)| running != id);
        if matches!(call.state, CallState::Executing) {
            let label = format!("{} {}", one_line(&call.request.name), call_label(call));
            self.running.push((id.clone(), label.trim_end().to_owned()));
        }
        self.status = self
            .running
            .first()
            .map(|(_, label)| match self.running.len() {
                1 => label.clone(),
                count => format!("{label}, and {} more", count - 1),
            });
    }

    fn erase(&mut self) {
        if std::mem::take(&mut self.is_drawn) {
            self.sink.write("\r\x1b[2K");
        }
    }

    fn draw(&mut self) {
        let Some(status) = &self.status else {
            return;
        };
        // The last column stays empty, because some terminals wrap as soon as it is filled, and the
        // line could then not be erased.
        let room = (self.columns)().saturating_sub(1);
        let line = format!("… {status}");
        let text = fitting(&line, room);
        self.is_drawn = true;
        self.sink.write(&styled(self.is_styled, "2", &text));
    }
}

impl<W: Write + Send + fmt::Debug> Observer for StatusOutput<W> {
    fn take(&mut self, event: &SessionEvent<'_>) {
        self.erase();
        for observer in &mut self.observers {
            observer.take(event);
        }
        self.follow(event);
        self.draw();
    }
}

#[cfg(test)]
mod tests;
