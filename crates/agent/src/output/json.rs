//! A JSON document at the end, as of `gemini --output-format json`.

use super::Sink;
use super::metrics::metrics;
use crate::event::{Event, Observer};
use serde_json::json;
use std::io::Write;

/// Maximum warnings kept.
const MAX_WARNINGS: usize = 100;

/// Writes the last thing that the model has said, with the statistics and the error.
///
/// Text before calls is not an answer, as by Gemini CLI; the last turn that says anything counts.
#[derive(Debug)]
pub struct JsonOutput<W> {
    sink: Sink<W>,
    session: Option<String>,
    response: String,
    /// The next text is that of another turn.
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

impl<W: Write + Send> Observer for JsonOutput<W> {
    fn take(&mut self, event: &Event<'_>) {
        match event {
            Event::Started { session, .. } => {
                self.session = Some((*session).to_owned());
                self.response.clear();
            }
            Event::Request { .. } => self.is_new_turn = true,
            Event::Text(text) => {
                if std::mem::take(&mut self.is_new_turn) {
                    self.response.clear();
                }
                self.response.push_str(text);
            }
            Event::Retry(_) => self.response.clear(),
            Event::Warning(warning) if self.warnings.len() < MAX_WARNINGS => {
                self.warnings.push((*warning).to_owned());
            }
            Event::Ended { error, stats } => {
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
mod tests {
    use super::JsonOutput;
    use crate::event::{Event, Observer, SessionError, SessionErrorKind};
    use crate::output::tests::{PROMPT, STARTED, done, stats, text, thought, turn};
    use crate::stats::Stats;
    use serde_json::{Value, json};

    fn shown(events: &[Event<'_>]) -> String {
        let mut out = Vec::new();
        let mut observer = JsonOutput::new(&mut out);
        for event in events {
            observer.take(event);
        }
        String::from_utf8(out).expect("UTF-8")
    }

    #[test]
    fn a_session_is_one_document() {
        let (call, stats) = (done("t", json!({}), text("out")), stats());
        let shown = shown(&[
            STARTED,
            PROMPT,
            turn(1),
            Event::ThoughtPiece("hidden"),
            Event::Thought(&thought()),
            Event::Text("I look."),
            Event::Call(&call),
            turn(2),
            Event::Text("It is "),
            Event::Text("\x1b3."),
            Event::Ended {
                error: None,
                stats: &stats,
            },
        ]);
        let expected = json!({
          "session_id": "s-1",
          "response": "It is \u{1b}3.",
          "stats": {
            "models": {
              "gemini-x": {
                "api": {
                  "totalRequests": 3,
                  "totalErrors": 1,
                  "totalLatencyMs": 3000
                },
                "tokens": {
                  "input": 80,
                  "prompt": 200,
                  "candidates": 40,
                  "total": 260,
                  "cached": 120,
                  "thoughts": 20,
                  "tool": 0
                }
              }
            },
            "tools": {
              "totalCalls": 2,
              "totalSuccess": 1,
              "totalFail": 1,
              "totalDurationMs": 24,
              "totalDecisions": {
                "accept": 0,
                "reject": 0,
                "modify": 0,
                "auto_accept": 1
              },
              "byName": {
                "read_file": {
                  "count": 1,
                  "success": 0,
                  "fail": 1,
                  "durationMs": 12,
                  "decisions": {
                    "accept": 0,
                    "reject": 0,
                    "modify": 0,
                    "auto_accept": 0
                  }
                },
                "replace": {
                  "count": 1,
                  "success": 1,
                  "fail": 0,
                  "durationMs": 12,
                  "decisions": {
                    "accept": 0,
                    "reject": 0,
                    "modify": 0,
                    "auto_accept": 1
                  }
                }
              }
            },
            "files": {
              "totalLinesAdded": 2,
              "totalLinesRemoved": 1
            }
          }
        });
        assert!(shown.ends_with("}\n"), "{shown}");
        let shown: Value = serde_json::from_str(&shown).expect("JSON");
        assert_eq!(shown, expected);
    }

    #[test]
    fn an_error_stands_beside_what_was_said() {
        let error = SessionError {
            message: "The turns are used up.".to_owned(),
            kind: SessionErrorKind::TurnLimit,
        };
        let stats = Stats::default();
        let shown = shown(&[
            turn(1),
            Event::Text("wrong"),
            Event::Retry("flaw"),
            Event::Text("right"),
            Event::Warning("slow"),
            turn(2),
            Event::Ended {
                error: Some(&error),
                stats: &stats,
            },
        ]);
        let shown: Value = serde_json::from_str(&shown).expect("JSON");
        assert_eq!(shown["response"], "right");
        assert_eq!(shown["warnings"], json!(["slow"]));
        let expected = json!({
            "type": "FatalTurnLimitedError", "message": "The turns are used up.", "code": 53,
        });
        assert_eq!(shown["error"], expected);
        assert!(shown.get("session_id").is_none());
    }
}
