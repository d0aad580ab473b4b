//! A single JSON document at the end of the session, as from `gemini --output-format json`.

use super::Sink;
use super::metrics::metrics;
use crate::event::{Observer, SessionEvent};
use serde_json::json;
use std::fmt;
use std::io::Write;

const MAX_WARNINGS: usize = 100;

/// Writes the model's final text, the statistics, the warnings and the error.
///
/// Like Gemini CLI, it leaves out text that precedes calls: the response is the text of the last
/// turn that has any.
#[derive(Debug)]
pub struct JsonOutput<W> {
    sink: Sink<W>,
    session: Option<String>,
    response: String,
    is_new_turn: bool,
    warnings: Vec<String>,
}

impl<W: Write> JsonOutput<W> {
    /// Writes to `out`.
    pub fn new(out: W) -> Self {
        Self {
            sink: Sink::new(out),
            session: None,
            response: String::new(),
            is_new_turn: true,
            warnings: Vec::new(),
        }
    }
}

impl<W: Write + Send + fmt::Debug> Observer for JsonOutput<W> {
    fn take(&mut self, event: &SessionEvent<'_>) {
        match event {
            SessionEvent::Started { session, .. } => {
                self.session = Some((*session).to_owned());
                self.response.clear();
            }
            SessionEvent::Request { .. } => self.is_new_turn = true,
            SessionEvent::Text(text) => {
                if std::mem::take(&mut self.is_new_turn) {
                    self.response.clear();
                }
                self.response.push_str(text);
            }
            SessionEvent::Retry(_) => self.response.clear(),
            SessionEvent::Warning(warning) if self.warnings.len() < MAX_WARNINGS => {
                self.warnings.push((*warning).to_owned());
            }
            SessionEvent::Ended { error, stats } => {
                let mut document = json!({ "response": self.response, "stats": metrics(stats) });
                if let Some(session) = &self.session {
                    document["session_id"] = session.as_str().into();
                }
                if let Some(error) = error {
                    document["error"] = json!({
                        "type": error.kind.name(),
                        "message": error.message,
                        "code": error.kind.exit_status(),
                    });
                }
                if !self.warnings.is_empty() {
                    document["warnings"] = json!(self.warnings);
                }
                if let Ok(mut text) = serde_json::to_string_pretty(&document) {
                    text.push('\n');
                    self.sink.write(&text);
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
