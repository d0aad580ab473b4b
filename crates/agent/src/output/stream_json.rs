//! One line of JSON per event, as from `gemini --output-format stream-json`.

use super::Sink;
use super::metrics::stream_stats;
use crate::call::{CallState, ToolCall};
use crate::clock::{Clock, iso};
use crate::event::{Observer, SessionEvent};
use crate::thought::Thought;
use serde_json::{Value, json};
use std::fmt;
use std::io::Write;
use std::time::SystemTime;

const UNKNOWN_TYPE: &str = "TOOL_EXECUTION_ERROR";

/// Writes a line for each event for which Gemini CLI has a type of line, and for each thought.
#[derive(Debug)]
pub struct StreamJsonOutput<W> {
    sink: Sink<W>,
    now: Clock,
}

impl<W: Write> StreamJsonOutput<W> {
    /// Writes to `out`.
    pub fn new(out: W) -> Self {
        Self {
            sink: Sink::new(out),
            now: SystemTime::now,
        }
    }

    fn write(&mut self, kind: &str, fields: &Value) {
        // The type comes first, which is easier to read.
        let mut line = format!(r#"{{"type":"{kind}","timestamp":"{}""#, iso((self.now)()));
        let fields = fields.to_string();
        line.push(',');
        line.push_str(&fields[1..]);
        line.push('\n');
        self.sink.write(&line);
    }

    fn call(&mut self, call: &ToolCall) {
        let request = &call.request;
        if let Some(outcome) = call.outcome() {
            let mut fields = json!({
                "tool_id": request.id,
                "status": if outcome.error.is_some() { "error" } else { "success" },
                "output": outcome.text,
            });
            if let Some(error) = &outcome.error {
                let kind = error
                    .kind
                    .map_or_else(|| UNKNOWN_TYPE.into(), |kind| json!(kind));
                fields["error"] = json!({ "type": kind, "message": error.message });
            }
            self.write("tool_result", &fields);
        } else if matches!(call.state, CallState::Validating) && call.decision.is_none() {
            // A call whose arguments a person has changed is validated again. It has a decision
            // then, and must not be reported twice.
            let fields = json!({
                "tool_name": request.name, "tool_id": request.id, "parameters": request.args,
            });
            self.write("tool_use", &fields);
        }
    }
}

impl<W: Write + Send + fmt::Debug> Observer for StreamJsonOutput<W> {
    fn take(&mut self, event: &SessionEvent<'_>) {
        match event {
            SessionEvent::Started { session, model } => {
                self.write("init", &json!({ "session_id": session, "model": model }));
            }
            SessionEvent::Prompt { text, .. } => {
                self.write("message", &json!({ "role": "user", "content": text }));
            }
            SessionEvent::Text(text) => {
                let fields = json!({ "role": "assistant", "content": text, "delta": true });
                self.write("message", &fields);
            }
            // Gemini CLI has no such line: it leaves thoughts out.
            SessionEvent::Thought(Thought {
                subject,
                description,
            }) => self.write(
                "thought",
                &json!({ "subject": subject, "description": description }),
            ),
            SessionEvent::Call(call) => self.call(call),
            SessionEvent::Retry(_) | SessionEvent::Warning(_) => {
                let fields = json!({ "severity": "warning", "message": event.note() });
                self.write("error", &fields);
            }
            SessionEvent::Ended { error, stats } => {
                let status = if error.is_some() { "error" } else { "success" };
                let mut fields = json!({ "status": status, "stats": stream_stats(stats) });
                if let Some(error) = error {
                    fields["error"] =
                        json!({ "type": error.kind.name(), "message": error.message });
                }
                self.write("result", &fields);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
