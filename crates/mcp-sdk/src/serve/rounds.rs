//! Questions to clients of protocol version 2026-07-28 or later. Such a client can't be sent
//! requests: the result says what input is needed, and the client repeats its request with the
//! answers.
//!
//! The server keeps no state between the rounds. The client's answer about its roots is returned to
//! it as `requestState`, to be sent again. That needs no signature: it is trusted no more than any
//! answer of the client. A question about a call is identified by a hash of everything the call
//! would do, so that an answer can't be used to approve a different call.

use super::ask::Text;
use crate::lock;
use gemini_tools_core::text::hex;
use gemini_tools_policy::approval::{ApprovalPrompt, ApprovalQuestion, ApprovalReply};
use rmcp::ErrorData;
use rmcp::model::{
    ElicitRequest, ElicitResult, InputRequest, InputRequests, InputRequiredResult, InputResponses,
    ProtocolVersion,
};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::sync::{Arc, Mutex};

const ROOTS: &str = "roots";

pub(super) fn are_needed(version: Option<&ProtocolVersion>) -> bool {
    version.is_some_and(|version| !version.has_initialize())
}

#[derive(Debug, Default)]
pub(super) struct Answers {
    pub(super) roots: Option<Vec<String>>,
    replies: InputResponses,
}

#[derive(Serialize, Deserialize)]
struct RequestState {
    roots: Vec<String>,
}

impl Answers {
    /// Parses the answers in a request.
    ///
    /// # Errors
    ///
    /// Returns an error if they are not answers to questions of this server.
    #[expect(deprecated, reason = "clients have roots as long as they have them")]
    pub(super) fn parse(
        responses: Option<InputResponses>,
        state: Option<&str>,
    ) -> Result<Self, ErrorData> {
        let mut replies = responses.unwrap_or_default();
        let roots = match (replies.remove(ROOTS), state) {
            (Some(answer), _) => {
                let listed: rmcp::model::ListRootsResult =
                    gemini_tools_core::json::from_value(answer).map_err(|e| {
                        unusable(format!(
                            "inputResponses.{ROOTS} is not a list of roots: {e}."
                        ))
                    })?;
                Some(listed.roots.into_iter().map(|root| root.uri).collect())
            }
            (None, Some(state)) => {
                let kept: RequestState = serde_json::from_str(state).map_err(|_| {
                    unusable("requestState is not one that this server has sent.".to_owned())
                })?;
                Some(kept.roots)
            }
            (None, None) => None,
        };
        Ok(Self { roots, replies })
    }

    fn state(&self) -> Option<String> {
        let roots = self.roots.clone()?;
        serde_json::to_string(&RequestState { roots }).ok()
    }

    pub(super) fn asker(&self, open: &OpenQuestion, is_alone: bool) -> RecordedAnswers {
        RecordedAnswers {
            replies: self.replies.clone(),
            open: open.clone(),
            is_alone,
        }
    }

    pub(super) fn question(&self, open: &OpenQuestion) -> Option<InputRequiredResult> {
        let (name, text) = open.take()?;
        let request = InputRequest::Elicitation(ElicitRequest::new(text.form()?));
        let requests = InputRequests::from([(name, request)]);
        Some(InputRequiredResult::new(Some(requests), self.state()))
    }
}

#[expect(deprecated, reason = "clients have roots as long as they have them")]
pub(super) fn roots_wanted() -> InputRequiredResult {
    let request = InputRequest::ListRoots(rmcp::model::ListRootsRequest::default());
    let requests = InputRequests::from([(ROOTS.to_owned(), request)]);
    InputRequiredResult::from_input_requests(requests)
}

fn unusable(message: String) -> ErrorData {
    ErrorData::invalid_params(message, None)
}

#[derive(Debug, Clone, Default)]
pub(super) struct OpenQuestion(Arc<Mutex<Option<(String, Text)>>>);

impl OpenQuestion {
    fn take(&self) -> Option<(String, Text)> {
        lock(&self.0).take()
    }
}

#[derive(Debug)]
pub(super) struct RecordedAnswers {
    replies: InputResponses,
    open: OpenQuestion,
    is_alone: bool,
}

impl ApprovalPrompt for RecordedAnswers {
    fn ask(&mut self, question: &ApprovalQuestion<'_>) -> Option<ApprovalReply> {
        let text = match Text::new(question, self.is_alone) {
            Ok(text) => text,
            Err(refusal) => return Some(refusal),
        };
        let name = name(question, &text.message);
        if let Some(reply) = self.replies.get(&name) {
            // A malformed answer does not approve the call.
            let result: ElicitResult = serde_json::from_value(reply.clone()).ok()?;
            return Some(text.reply(&result));
        }
        *lock(&self.open.0) = Some((name, text));
        None
    }
}

fn name(question: &ApprovalQuestion<'_>, message: &str) -> String {
    let args = serde_json::to_string(question.args).unwrap_or_default();
    let mut hash = Sha256::new();
    for part in [question.name, &args, message] {
        hash.update(part.len().to_le_bytes());
        hash.update(part);
    }
    format!("may-run-{}", hex(&hash.finalize()))
}

#[cfg(test)]
mod tests {
    use super::{Answers, OpenQuestion, RecordedAnswers, are_needed};
    use gemini_tools_policy::approval::{
        ApprovalPrompt, ApprovalQuestion, ApprovalReply, Explanation,
    };
    use rmcp::model::ProtocolVersion;
    use serde_json::{Map, Value, json};

    #[test]
    fn only_the_newest_version_is_asked_by_results() {
        assert!(!are_needed(None));
        assert!(!are_needed(Some(&ProtocolVersion::V_2025_11_25)));
        assert!(are_needed(Some(&ProtocolVersion::V_2026_07_28)));
    }

    #[test]
    fn roots_are_those_of_the_answer_or_those_that_were_said_before() {
        let answer = |value: Value| Some([("roots".to_owned(), value)].into());
        let listed = json!({"roots": [{"uri": "file:///a"}]});
        let said = Answers::parse(answer(listed), None).expect("an answer");
        assert_eq!(said.roots.as_deref(), Some(&["file:///a".to_owned()][..]));
        let again = Answers::parse(None, said.state().as_deref()).expect("a state");
        assert_eq!(again.roots, said.roots);
        assert_eq!(Answers::parse(None, None).expect("nothing").roots, None);
        for (responses, state) in [
            (answer(json!({"roots": 1})), None),
            (answer(json!("none")), None),
            (None, Some("nonsense")),
            (None, Some("{}")),
        ] {
            let error = Answers::parse(responses, state).expect_err("no answer");
            assert_eq!(error.code.0, -32602);
        }
    }

    #[test]
    fn an_answer_counts_for_the_very_call_that_was_asked_about() {
        let ask = |asker: &mut RecordedAnswers, content: &str, description: &str| {
            let args = Map::from_iter([("content".to_owned(), json!(content))]);
            let explanation = Explanation {
                description: description.to_owned(),
                ..Explanation::default()
            };
            asker.ask(&ApprovalQuestion {
                name: "write_file",
                args: &args,
                explanation: &explanation,
            })
        };
        let open = OpenQuestion::default();
        let mut nothing = Answers::default().asker(&open, true);
        assert_eq!(ask(&mut nothing, "x", "write x"), None);
        let (name, text) = open.take().expect("a question");
        assert!(text.message.contains("write x"), "{text:?}");

        let yes = json!({"action": "accept", "content": {"decision": "allow once"}});
        let said = Answers::parse(Some([(name, yes)].into()), None).expect("an answer");
        let mut asker = said.asker(&open, true);
        assert_eq!(ask(&mut asker, "x", "write x"), Some(ApprovalReply::Once));
        assert!(open.take().is_none());
        for (content, description) in [("y", "write x"), ("x", "write x over y")] {
            assert_eq!(ask(&mut asker, content, description), None);
            assert!(open.take().is_some());
        }
    }
}
