//! A line of JSON for each event, as of `gemini --output-format stream-json`.

use super::Sink;
use super::metrics::StreamStats;
use crate::call::{CallFailure, CallState, ToolCall};
use crate::clock::{Clock, iso};
use crate::event::{Event, Observer};
use serde::Serialize;
use serde_json::{Map, Value};
use std::io::Write;
use std::time::SystemTime;

/// The type of an error of which the sort is not known.
const UNKNOWN_TYPE: &str = "TOOL_EXECUTION_ERROR";

/// Writes lines as things happen.
#[derive(Debug)]
pub struct StreamJsonOutput<W> {
    sink: Sink<W>,
    now: Clock,
}

#[derive(Serialize)]
struct Line<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    timestamp: String,
    #[serde(flatten)]
    fields: Fields<'a>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Fields<'a> {
    Init {
        session_id: &'a str,
        model: &'a str,
    },
    Message {
        role: &'static str,
        content: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        delta: Option<bool>,
    },
    /// Gemini CLI has no such line: it leaves thoughts out.
    Thought {
        subject: &'a str,
        description: &'a str,
    },
    ToolUse {
        tool_name: &'a str,
        tool_id: &'a str,
        parameters: &'a Map<String, Value>,
    },
    ToolResult {
        tool_id: &'a str,
        status: &'static str,
        output: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<LineError<'a>>,
    },
    Error {
        severity: &'static str,
        message: &'a str,
    },
    Result {
        status: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<LineError<'a>>,
        stats: StreamStats<'a>,
    },
}

impl Fields<'_> {
    fn kind(&self) -> &'static str {
        match self {
            Fields::Init { .. } => "init",
            Fields::Message { .. } => "message",
            Fields::Thought { .. } => "thought",
            Fields::ToolUse { .. } => "tool_use",
            Fields::ToolResult { .. } => "tool_result",
            Fields::Error { .. } => "error",
            Fields::Result { .. } => "result",
        }
    }
}

#[derive(Serialize)]
struct LineError<'a> {
    #[serde(rename = "type")]
    kind: Value,
    message: &'a str,
}

impl<'a> From<&'a CallFailure> for LineError<'a> {
    fn from(failure: &'a CallFailure) -> Self {
        let kind = failure
            .kind
            .and_then(|kind| serde_json::to_value(kind).ok());
        Self {
            kind: kind.unwrap_or_else(|| UNKNOWN_TYPE.into()),
            message: &failure.message,
        }
    }
}

impl<W: Write> StreamJsonOutput<W> {
    /// Writes to `out`.
    pub fn new(out: W) -> Self {
        Self {
            sink: Sink::new(out),
            now: SystemTime::now,
        }
    }

    fn write(&mut self, fields: Fields<'_>) {
        let line = Line {
            kind: fields.kind(),
            timestamp: iso((self.now)()),
            fields,
        };
        if let Ok(mut line) = serde_json::to_string(&line) {
            line.push('\n');
            self.sink.write(&line);
        }
    }

    fn call(&mut self, call: &ToolCall) {
        let request = &call.request;
        if let Some(outcome) = call.outcome() {
            let is_done = matches!(call.state(), CallState::Success(_));
            self.write(Fields::ToolResult {
                tool_id: &request.id,
                status: if is_done { "success" } else { "error" },
                output: &outcome.text,
                error: outcome.error.as_ref().map(LineError::from),
            });
        } else if matches!(call.state(), CallState::Validating) && call.decision.is_none() {
            // Arguments that a person has changed are looked at again, by a decision.
            self.write(Fields::ToolUse {
                tool_name: &request.name,
                tool_id: &request.id,
                parameters: &request.args,
            });
        }
    }
}

impl<W: Write + Send> Observer for StreamJsonOutput<W> {
    fn take(&mut self, event: &Event<'_>) {
        match event {
            Event::Started { session, model } => self.write(Fields::Init {
                session_id: session,
                model,
            }),
            Event::Prompt { text, .. } => self.write(Fields::Message {
                role: "user",
                content: text,
                delta: None,
            }),
            Event::Text(text) => self.write(Fields::Message {
                role: "assistant",
                content: text,
                delta: Some(true),
            }),
            Event::Thought(thought) => self.write(Fields::Thought {
                subject: &thought.subject,
                description: &thought.description,
            }),
            Event::Call(call) => self.call(call),
            Event::Retry(flaw) => self.write(Fields::Error {
                severity: "warning",
                message: &format!("The model is asked again, because {flaw}."),
            }),
            Event::Warning(message) => self.write(Fields::Error {
                severity: "warning",
                message,
            }),
            Event::Ended { error, stats } => self.write(Fields::Result {
                status: if error.is_some() { "error" } else { "success" },
                error: error.map(|error| LineError {
                    kind: error.kind.name().into(),
                    message: &error.message,
                }),
                stats: StreamStats::from(*stats),
            }),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::StreamJsonOutput;
    use crate::call::{CallState, ToolCallDecision};
    use crate::event::{Event, Observer, SessionError, SessionErrorKind};
    use crate::output::testing::{
        PROMPT, STARTED, begun, done, failed, last, refused, stats, still, text, thought, turn,
    };
    use crate::stats::Stats;
    use serde_json::json;
    use std::time::Duration;

    /// The lines, without the parts that all of them have.
    fn shown(events: &[Event<'_>]) -> Vec<String> {
        let mut out = Vec::new();
        let mut observer = StreamJsonOutput {
            now: still,
            ..StreamJsonOutput::new(&mut out)
        };
        for event in events {
            observer.take(event);
        }
        let out = String::from_utf8(out).expect("UTF-8");
        let time = r#","timestamp":"2026-01-31T08:09:10.123Z""#;
        out.lines()
            .map(|line| {
                assert_eq!(line.matches(time).count(), 1, "{line}");
                line.replace(time, "")
            })
            .collect()
    }

    #[test]
    fn a_session_is_told_line_by_line() {
        let begun = begun("read_file", json!({"file_path": "ä\n\u{2028}"}));
        let mut running = begun.clone();
        running.move_to(CallState::Scheduled).expect("legal");
        let done = done("read_file", json!({}), text("line 1\nline 2"));
        let failed = failed("read_file", json!({}), "gone");
        let refused = refused("read_file", json!({}));
        let (last, stats) = (last(), stats());
        let shown = shown(&[
            STARTED,
            PROMPT,
            turn(1),
            Event::ThoughtPiece("hidden"),
            Event::Thought(&thought()),
            Event::Text("I look."),
            Event::Response {
                last: Some(&last),
                duration: Duration::ZERO,
            },
            Event::Call(&begun),
            Event::Call(&running),
            Event::Live {
                id: "x",
                text: "hidden",
            },
            Event::Call(&done),
            Event::Call(&failed),
            Event::Call(&refused),
            Event::Warning("slow"),
            turn(2),
            Event::Retry("its answer is empty"),
            Event::Ended {
                error: None,
                stats: &stats,
            },
        ]);
        let expected = [
            r#"{"type":"init","session_id":"s-1","model":"gemini-x"}"#,
            r#"{"type":"message","role":"user","content":"Häng an!"}"#,
            r#"{"type":"thought","subject":"Hidden","description":"in the dark"}"#,
            r#"{"type":"message","role":"assistant","content":"I look.","delta":true}"#,
            "{\"type\":\"tool_use\",\"tool_name\":\"read_file\",\"tool_id\":\"read_file-1\",\"parameters\":{\"file_path\":\"ä\\n\u{2028}\"}}",
            r#"{"type":"tool_result","tool_id":"read_file-1","status":"success","output":"line 1\nline 2"}"#,
            r#"{"type":"tool_result","tool_id":"read_file-1","status":"error","output":"gone","error":{"type":"file_not_found","message":"gone"}}"#,
            r#"{"type":"tool_result","tool_id":"read_file-1","status":"error","output":"The user declined this call.","error":{"type":"cancelled","message":"The user declined this call."}}"#,
            r#"{"type":"error","severity":"warning","message":"slow"}"#,
            r#"{"type":"error","severity":"warning","message":"The model is asked again, because its answer is empty."}"#,
            r#"{"type":"result","status":"success","stats":{"total_tokens":260,"input_tokens":200,"output_tokens":40,"cached":120,"input":80,"duration_ms":4200,"tool_calls":2,"models":{"gemini-x":{"total_tokens":260,"input_tokens":200,"output_tokens":40,"cached":120,"input":80}}}}"#,
        ];
        for (shown, expected) in shown.iter().zip(expected) {
            assert_eq!(shown, expected);
        }
        assert_eq!(shown.len(), expected.len());
    }

    #[test]
    fn an_error_ends_the_stream() {
        let error = SessionError {
            message: "Enough.".to_owned(),
            kind: SessionErrorKind::Cancelled,
        };
        let stats = Stats::default();
        let shown = shown(&[Event::Ended {
            error: Some(&error),
            stats: &stats,
        }]);
        let expected = r#"{"type":"result","status":"error","error":{"type":"FatalCancellationError","message":"Enough."},"stats":{"total_tokens":0,"input_tokens":0,"output_tokens":0,"cached":0,"input":0,"duration_ms":0,"tool_calls":0,"models":{}}}"#;
        assert_eq!(shown, [expected]);
    }

    #[test]
    fn a_call_that_is_looked_at_again_is_told_once() {
        let mut call = begun("t", json!({}));
        let first = call.clone();
        call.decision = Some(ToolCallDecision::Modify);
        assert_eq!(shown(&[Event::Call(&first), Event::Call(&call)]).len(), 1);
    }
}
