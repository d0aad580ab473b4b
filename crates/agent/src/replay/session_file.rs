//! The file of a session, as what is played.
//!
//! It has the messages of the model, not the pieces in which they came, and neither refusals nor
//! what was used: each message is played as an answer of one piece.

use super::lines::told;
use super::{Entry, RecordedCall, RecordedOutcome, RecordedPrompt, Recording, RecordingError};
use super::{Source, content};
use crate::call::CallRequest;
use crate::record::Line;
use gemini_tools_core::message::{Content, Part};
use gemini_tools_core::tool::ErrorKind;
use gemini_tools_net::gemini_api::{ApiMethod, RecordedAnswer};
use serde_json::{Value, json};
use std::path::Path;

/// Reads the file of a session. A last line that was cut off is left out.
pub(super) fn read(path: &Path, text: &str) -> Result<Recording, RecordingError> {
    let mut reader = Reader::default();
    let whole = &text[..text.rfind('\n').map_or(0, |end| end + 1)];
    for (number, line) in whole.lines().enumerate() {
        let line: Line = gemini_tools_core::json::read(line.as_bytes()).map_err(|e| {
            let reason = format!("It is not a line of a session: {e}.");
            content(path, Some(number + 1), reason)
        })?;
        reader.take(line);
    }
    reader.drop_unheard();
    let mut own = reader.own;
    if own.prompts.is_empty() || own.entries.is_empty() {
        let reason = "The session has no prompt that a model has answered.";
        return Err(content(path, None, reason));
    }
    own.is_whole = own.entries.last().is_some_and(|last| last.calls.is_empty());
    Ok(own)
}

#[derive(Default)]
struct Reader {
    own: Recording,
    /// The last message of the user, which the next of the model answers.
    asked: Option<Content>,
    /// The ids of the calls of the last entry.
    ids: Vec<String>,
    /// The model's last message wants calls, and no line has said which.
    is_unheard: bool,
}

impl Reader {
    fn take(&mut self, line: Line) {
        match line {
            Line::Session { model, .. } => {
                self.own.source = Source::Session;
                self.own.model = Some(model);
            }
            Line::Content { content, .. } if content.role == "model" => self.answer(&content),
            Line::Content { content, .. } => self.said(content),
            Line::Calls { requests } => self.calls(requests),
            Line::Done { id, outcome } => {
                let at = self.ids.iter().position(|own| *own == id);
                let entry = self.own.entries.last_mut();
                let call = at
                    .zip(entry)
                    .and_then(|(at, entry)| entry.calls.get_mut(at));
                if let Some(call) = call {
                    let kind = outcome.error.as_ref().and_then(|error| error.kind);
                    let state = match (&outcome.error, kind) {
                        (None, _) => "success",
                        (_, Some(ErrorKind::Cancelled)) => "cancelled",
                        _ => "error",
                    };
                    let kind = kind.and_then(|kind| serde_json::to_value(kind).ok());
                    call.outcome = Some(RecordedOutcome {
                        state: state.to_owned(),
                        error_type: kind.and_then(|kind| kind.as_str().map(str::to_owned)),
                        parts: outcome.parts.iter().map(|part| json!(part)).collect(),
                    });
                }
            }
            // The history was shortened; what was said before stays said.
            Line::History { .. } | Line::Began { .. } => {}
        }
    }

    fn said(&mut self, content: Content) {
        self.drop_unheard();
        let is_answer = |part: &Part| part.function_response.is_some();
        if content.parts.last().is_some_and(|part| !is_answer(part)) {
            let said = content.parts.iter().filter(|part| !is_answer(part));
            let said: Vec<Part> = said.cloned().collect();
            let texts = said.iter().filter_map(|part| part.text.as_deref());
            self.own.prompts.push(RecordedPrompt {
                text: texts.collect::<Vec<_>>().join("\n"),
                parts: Some(said),
            });
        }
        self.asked = Some(content);
    }

    fn answer(&mut self, content: &Content) {
        self.drop_unheard();
        let mut answer = RecordedAnswer::new(ApiMethod::StreamGenerateContent, 200);
        let candidate = json!({ "content": content, "finishReason": "STOP" });
        answer.chunks = vec![json!({ "candidates": [candidate] })];
        self.own.entries.push(Entry {
            answer,
            told: self.asked.as_ref().map(|asked| told(Some(asked))),
            calls: Vec::new(),
        });
        self.ids.clear();
        let mut parts = content.parts.iter();
        self.is_unheard = parts.any(|part| part.function_call.is_some());
    }

    fn calls(&mut self, requests: Vec<CallRequest>) {
        self.is_unheard = false;
        self.ids = requests.iter().map(|request| request.id.clone()).collect();
        let Some(entry) = self.own.entries.last_mut() else {
            return;
        };
        let call = |request: CallRequest| RecordedCall {
            name: request.name,
            args: request.args,
            outcome: None,
            expect: None,
        };
        entry.calls = requests.into_iter().map(call).collect();
        // The model may have given no ids: the ones of the session are as good.
        let parts = &mut entry.answer.chunks[0]["candidates"][0]["content"]["parts"];
        let calls = parts.as_array_mut().into_iter().flatten();
        let calls = calls.filter_map(|part| part["functionCall"].as_object_mut());
        for (call, id) in calls.zip(&self.ids) {
            call.entry("id").or_insert_with(|| Value::from(id.as_str()));
        }
    }

    /// As where a session goes on: a message whose calls were not heard was asked for again.
    fn drop_unheard(&mut self) {
        if std::mem::take(&mut self.is_unheard) {
            self.own.entries.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::read;
    use serde_json::{Value, json};
    use std::path::Path;

    fn file(lines: &[Value]) -> String {
        let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
        lines.join("\n") + "\n"
    }

    #[test]
    fn the_turns_and_answers_of_a_session_are_played() {
        let text = file(&[
            json!({"type": "session", "version": 1, "id": "s", "model": "m"}),
            json!({"type": "content", "content": {"role": "user", "parts": [{"text": "Go"}]}}),
            json!({"type": "content", "content": {"role": "model", "parts": [{"functionCall": {"name": "lost"}}]}}),
            json!({"type": "content", "content": {"role": "model", "parts": [{"functionCall": {"name": "t", "args": {"a": 1}}}]}}),
            json!({"type": "calls", "requests": [{"id": "t-1", "name": "t", "args": {"a": 1}}]}),
            json!({"type": "began", "id": "t-1", "only_reads": true}),
            json!({"type": "done", "id": "t-1", "outcome": {"parts": [], "text": "", "error": {"message": "m", "type": "file_not_found"}}}),
            json!({"type": "content", "content": {"role": "user", "parts": [{"functionResponse": {"name": "t", "response": {}}}]}}),
            json!({"type": "content", "content": {"role": "model", "parts": [{"text": "Done."}]}}),
            json!({"type": "content", "content": {"role": "user", "parts": [{"text": "More"}]}}),
            json!({"type": "content", "content": {"role": "model", "parts": [{"text": "No."}]}}),
        ]);
        let own = read(Path::new("s.jsonl"), &text).expect("a session");
        let prompts: Vec<&str> = own.prompts.iter().map(|p| p.text.as_str()).collect();
        assert_eq!(prompts, ["Go", "More"]);
        assert_eq!(own.model.as_deref(), Some("m"));
        assert!(own.is_whole);
        let told: Vec<_> = own
            .entries
            .iter()
            .map(|e| e.told.clone().expect("known"))
            .collect();
        assert_eq!(told, [vec![], vec!["t".to_owned()], vec![]]);
        let call = &own.entries[0].calls[0];
        let outcome = call.outcome.as_ref().expect("done");
        assert_eq!(outcome.state, "error");
        assert_eq!(outcome.error_type.as_deref(), Some("file_not_found"));
        let content = &own.entries[0].answer.chunks[0]["candidates"][0]["content"];
        assert_eq!(content["parts"][0]["functionCall"]["id"], "t-1");
    }

    #[test]
    fn a_session_without_an_answer_has_nothing_to_play() {
        let text = file(&[json!({"type": "session", "version": 1, "id": "s", "model": "m"})]);
        let e = read(Path::new("s.jsonl"), &text).expect_err("nothing");
        assert!(
            e.to_string()
                .contains("no prompt that a model has answered"),
            "{e}"
        );
        let e = read(Path::new("s.jsonl"), &(text + "x\n")).expect_err("not a line");
        assert!(e.to_string().contains("line 2"), "{e}");
    }
}
