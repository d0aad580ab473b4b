//! Questions to clients of protocol version 2026-07-28 or later. Such a client can't be sent
//! requests: the result says what input is needed, and the client repeats its request with the
//! answers.
//!
//! The server keeps no state between the rounds. The client's answers about its roots and approvals
//! are returned to it as `requestState`, with the tool's own state, to be sent again. That needs no
//! signature: it is trusted no more than any answer of the client. A question about a call is
//! identified by a hash of everything the call would do, so that an answer can't be used to approve
//! a different call.

use super::ask::{self, Text};
use crate::lock;
use gemini_tools_core::text::hex;
use gemini_tools_core::tool::{GivenInput, InputSource, ToolError, WantedInput};
use gemini_tools_policy::approval::{ApprovalPrompt, ApprovalQuestion, ApprovalReply};
use rmcp::ErrorData;
use rmcp::model::{
    ClientCapabilities, ElicitResult, InputRequest, InputRequests, InputRequiredResult,
    InputResponses, ProtocolVersion,
};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::sync::{Arc, Mutex};

const ROOTS: &str = "roots";

const APPROVAL: &str = "may-run-";

pub(super) fn are_needed(version: Option<&ProtocolVersion>) -> bool {
    version.is_some_and(|version| !version.has_initialize())
}

pub(super) fn is_own(name: &str) -> bool {
    name == ROOTS || name.starts_with(APPROVAL)
}

#[derive(Debug, Clone, Default)]
pub(super) struct Answers {
    kept: RequestState,
    input: InputResponses,
}

/// The state that the client sends back as `requestState` in each round. The server needs it,
/// because the client repeats only the answers of the last round.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct RequestState {
    #[serde(skip_serializing_if = "Option::is_none")]
    roots: Option<Vec<String>>,
    #[serde(skip_serializing_if = "InputResponses::is_empty")]
    approvals: InputResponses,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<String>,
}

impl Answers {
    #[expect(deprecated, reason = "clients have roots as long as they have them")]
    pub(super) fn parse(
        responses: Option<InputResponses>,
        state: Option<&str>,
    ) -> Result<Self, ErrorData> {
        let mut input = responses.unwrap_or_default();
        let mut kept = match state {
            Some(state) => serde_json::from_str(state).map_err(|_| {
                unusable("requestState is not one that this server has sent.".to_owned())
            })?,
            None => RequestState::default(),
        };
        if let Some(answer) = input.remove(ROOTS) {
            let listed: rmcp::model::ListRootsResult = gemini_tools_core::json::from_value(answer)
                .map_err(|e| {
                    unusable(format!(
                        "inputResponses.{ROOTS} is not a list of roots: {e}."
                    ))
                })?;
            kept.roots = Some(listed.roots.into_iter().map(|root| root.uri).collect());
        }
        let (approvals, input): (InputResponses, _) = input
            .into_iter()
            .partition(|(name, _)| name.starts_with(APPROVAL));
        kept.approvals.extend(approvals);
        Ok(Self { kept, input })
    }

    pub(super) fn roots(&self) -> Option<&[String]> {
        self.kept.roots.as_deref()
    }

    fn question(&self, requests: InputRequests, of_tool: Option<String>) -> InputRequiredResult {
        let kept = RequestState {
            tool: of_tool,
            ..self.kept.clone()
        };
        let state = (kept != RequestState::default())
            .then(|| serde_json::to_string(&kept).ok())
            .flatten();
        InputRequiredResult::new(Some(requests), state)
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

/// What the client has to be asked before the call can go on, or the error with the capabilities
/// that the client would need to be asked; `None` if there is nothing to ask.
pub(super) type OpenQuestion = Arc<Mutex<Option<Result<InputRequiredResult, ErrorData>>>>;

#[derive(Debug, Clone)]
pub(super) struct RecordedAnswers {
    pub(super) said: Answers,
    pub(super) open: OpenQuestion,
    pub(super) client: ClientCapabilities,
    pub(super) is_alone: bool,
}

impl ApprovalPrompt for RecordedAnswers {
    fn ask(&mut self, question: &ApprovalQuestion<'_>) -> Option<ApprovalReply> {
        let text = match Text::new(question, self.is_alone) {
            Ok(text) => text,
            Err(refusal) => return Some(refusal),
        };
        let name = name(question, &text.message);
        if let Some(reply) = self.said.kept.approvals.get(&name) {
            // A malformed answer does not approve the call.
            let result: ElicitResult = serde_json::from_value(reply.clone()).ok()?;
            return Some(text.reply(&result));
        }
        let requests = InputRequests::from([(name, text.request()?)]);
        *lock(&self.open) = Some(Ok(self.said.question(requests, None)));
        None
    }
}

impl InputSource for RecordedAnswers {
    fn given(&self) -> Option<GivenInput> {
        let Answers { kept, input } = &self.said;
        (kept.tool.is_some() || !input.is_empty()).then(|| GivenInput {
            responses: input.clone().into_iter().collect(),
            state: kept.tool.clone(),
        })
    }

    fn ask(&self, wanted: WantedInput) -> Result<GivenInput, ToolError> {
        let (possible, missing) = ask::answerable(wanted.requests, &self.client)?;
        *lock(&self.open) = Some(if possible.is_empty() {
            Err(ErrorData::missing_required_client_capability(missing))
        } else {
            Ok(self.said.question(possible, wanted.state))
        });
        // The tool ends its call with this error. The client does not get to see it, but the
        // question or error in `open`.
        Err(ask::cant_be_asked())
    }
}

fn name(question: &ApprovalQuestion<'_>, message: &str) -> String {
    let args = serde_json::to_string(question.args).unwrap_or_default();
    let mut hash = Sha256::new();
    for part in [question.name, &args, message] {
        hash.update(part.len().to_le_bytes());
        hash.update(part);
    }
    format!("{APPROVAL}{}", hex(&hash.finalize()))
}

#[cfg(test)]
mod tests {
    use super::{Answers, OpenQuestion, RecordedAnswers, are_needed};
    use crate::lock;
    use gemini_tools_core::tool::Cancellation;
    use gemini_tools_policy::approval::{
        ApprovalPrompt, ApprovalQuestion, ApprovalReply, Explanation,
    };
    use rmcp::model::{ClientCapabilities, ProtocolVersion};
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
        assert_eq!(said.roots(), Some(&["file:///a".to_owned()][..]));
        let state = serde_json::to_string(&said.kept).expect("a state");
        let again = Answers::parse(None, Some(&state)).expect("a state");
        assert_eq!(again.roots(), said.roots());
        assert_eq!(Answers::parse(None, None).expect("nothing").roots(), None);
        for (responses, state) in [
            (answer(json!({"roots": 1})), None),
            (answer(json!("none")), None),
            (None, Some("nonsense")),
            (None, Some(r#"{"other": 1}"#)),
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
                cancel: &Cancellation::default(),
            })
        };
        let open = OpenQuestion::default();
        let asker = |said: Answers| RecordedAnswers {
            said,
            open: open.clone(),
            client: ClientCapabilities::default(),
            is_alone: true,
        };
        let mut nothing = asker(Answers::default());
        assert_eq!(ask(&mut nothing, "x", "write x"), None);
        let take = || lock(&open).take();
        let wanted = take().expect("a question").expect("a form");
        let mut questions = wanted.input_requests.into_iter().flatten();
        let (name, form) = questions.next().expect("one");
        let form = serde_json::to_string(&form).expect("JSON");
        assert!(form.contains("write x"), "{form}");

        let yes = json!({"action": "accept", "content": {"decision": "allow once"}});
        let said = Answers::parse(Some([(name, yes)].into()), None).expect("an answer");
        let mut asker = asker(said);
        assert_eq!(ask(&mut asker, "x", "write x"), Some(ApprovalReply::Once));
        assert!(take().is_none());
        for (content, description) in [("y", "write x"), ("x", "write x over y")] {
            assert_eq!(ask(&mut asker, content, description), None);
            assert!(take().is_some());
        }
    }
}
