//! Sends requests to the client: to have its user approve a call, by the protocol's elicitation,
//! and for input that a custom tool asks for.

use gemini_tools_core::json;
use gemini_tools_core::tool::{GivenInput, InputSource, ToolError, WantedInput};
use gemini_tools_policy::SessionGrant;
use gemini_tools_policy::approval::{ApprovalPrompt, ApprovalQuestion, ApprovalReply, terminal};
use rmcp::RoleServer;
use rmcp::model::{
    ClientCapabilities, ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction,
    ElicitationSchema, EnumSchema, InputRequest, InputRequests, ServerRequest,
};
use rmcp::service::Peer;
use serde_json::{Map, Value};
use std::sync::mpsc::SyncSender;
use tokio::sync::mpsc::Sender;

/// The most characters of a question. A call with a longer one is refused, because nobody would
/// read all of it before approving the call.
const MAX_SHOWN_CHARS: usize = 50_000;

const FIELD: &str = "decision";

const ONCE: &str = "allow once";
const ALWAYS: &str = "allow for this session";
const NO: &str = "do not allow";

/// The text of a question. `message` tells all that the call would do, with invisible characters
/// made visible. `always` tells what the choice [`ALWAYS`] would approve, or is `None` if that
/// choice is not offered.
#[derive(Debug, Clone)]
pub(super) struct Text {
    pub(super) message: String,
    always: Option<&'static str>,
}

pub(super) struct Question {
    pub(super) request: InputRequest,
    pub(super) answer: SyncSender<Option<Value>>,
}

pub(super) fn is_possible(client: Option<&ClientCapabilities>) -> bool {
    let elicitation = client.and_then(|client| client.elicitation.as_ref());
    // According to the protocol, a client that lists no mode supports forms.
    elicitation.is_some_and(|modes| modes.form.is_some() || modes.url.is_none())
}

#[derive(Debug, Clone)]
pub(super) struct ClientAsker {
    pub(super) asked: Sender<Question>,
    pub(super) client: ClientCapabilities,
    pub(super) is_alone: bool,
}

impl ClientAsker {
    fn request(&self, request: InputRequest) -> Option<Value> {
        let (answer, answered) = std::sync::mpsc::sync_channel(1);
        self.asked
            .blocking_send(Question { request, answer })
            .ok()?;
        answered.recv().ok()?
    }
}

impl ApprovalPrompt for ClientAsker {
    fn ask(&mut self, question: &ApprovalQuestion<'_>) -> Option<ApprovalReply> {
        let text = match Text::new(question, self.is_alone) {
            Ok(text) => text,
            Err(refusal) => return Some(refusal),
        };
        let result = self.request(text.request()?)?;
        // A malformed answer does not approve the call.
        Some(text.reply(&serde_json::from_value(result).ok()?))
    }
}

impl InputSource for ClientAsker {
    fn given(&self) -> Option<GivenInput> {
        None
    }

    fn ask(&self, wanted: WantedInput) -> Result<GivenInput, ToolError> {
        let (possible, _) = answerable(wanted.requests, &self.client)?;
        if possible.is_empty() {
            return Err(cant_be_asked());
        }
        let mut responses = Map::new();
        for (name, request) in possible {
            if let Some(response) = self.request(request) {
                responses.insert(name, response);
            }
        }
        let state = wanted.state;
        Ok(GivenInput { responses, state })
    }
}

pub(super) fn cant_be_asked() -> ToolError {
    ToolError::failed("The client can't be asked what the tool wants to know.".to_owned())
        .with_hint("Use a client that declares elicitation, sampling or roots, whichever the tool asks for.")
}

/// Returns those of a tool's requests that the client can answer, and the capabilities that all of
/// them need, whether or not the client has them.
///
/// # Errors
///
/// Returns an error if a request is not of a kind that the protocol has, or has a name that this
/// server uses itself.
pub(super) fn answerable(
    wanted: Map<String, Value>,
    client: &ClientCapabilities,
) -> Result<(InputRequests, ClientCapabilities), ToolError> {
    let (mut possible, mut missing) = (InputRequests::new(), ClientCapabilities::default());
    for (name, request) in wanted {
        let wrong = |why: String| {
            ToolError::failed(format!(
                "The tool's inputRequests.{name} can't be used: {why}."
            ))
        };
        if super::rounds::is_own(&name) {
            return Err(wrong("this server uses the name itself".to_owned()));
        }
        let request = json::from_value(request).map_err(|e| wrong(e.to_string()))?;
        let is_possible = match &request {
            InputRequest::Elicitation(_) => {
                missing.elicitation.get_or_insert_default();
                is_possible(Some(client))
            }
            InputRequest::CreateMessage(_) => {
                missing.sampling.get_or_insert_default();
                client.sampling.is_some()
            }
            InputRequest::ListRoots(_) => {
                missing.roots.get_or_insert_default();
                client.roots.is_some()
            }
            _ => false,
        };
        if is_possible {
            possible.insert(name, request);
        }
    }
    Ok((possible, missing))
}

impl Text {
    /// Creates the question about a call. `is_alone` is true if this is the only client of the
    /// project; otherwise [`ALWAYS`] is not offered, because it would apply to the other clients as
    /// well.
    ///
    /// # Errors
    ///
    /// Returns a refusal if the question is too long to be shown completely.
    pub(super) fn new(
        question: &ApprovalQuestion<'_>,
        is_alone: bool,
    ) -> Result<Self, ApprovalReply> {
        let mut message = terminal::question(question);
        let count = message.chars().count();
        if count > MAX_SHOWN_CHARS {
            return Err(ApprovalReply::NotShown(format!(
                "This call needs the user's approval, and it is too long to be read: it takes \
                 {count} characters, and {MAX_SHOWN_CHARS} are the most. Make it in smaller steps."
            )));
        }
        let agreed = ApprovalReply::Always.grant(question.name, question.explanation);
        let always = agreed.filter(|_| is_alone).map(SessionGrant::words);
        if let Some(what) = always {
            message.push_str(&format!("\n\n\"{ALWAYS}\" is for {what}."));
        }
        Ok(Self { message, always })
    }

    pub(super) fn request(&self) -> Option<InputRequest> {
        let mut choices = vec![ONCE, NO];
        if self.always.is_some() {
            choices.insert(1, ALWAYS);
        }
        let choices = choices.into_iter().map(str::to_owned).collect();
        let requested_schema = ElicitationSchema::builder()
            .required_enum_schema(FIELD, EnumSchema::builder(choices).build())
            .build()
            .ok()?;
        let form = ElicitRequestParams::FormElicitationParams {
            meta: None,
            message: self.message.clone(),
            requested_schema,
        };
        Some(InputRequest::Elicitation(ElicitRequest::new(form)))
    }

    /// Parses the user's answer. Anything but one of the choices counts as a no.
    pub(super) fn reply(&self, result: &ElicitResult) -> ApprovalReply {
        let decision = result
            .content
            .as_ref()
            .and_then(|content| content[FIELD].as_str());
        match (&result.action, decision) {
            (ElicitationAction::Accept, Some(ONCE)) => ApprovalReply::Once,
            (ElicitationAction::Accept, Some(ALWAYS)) if self.always.is_some() => {
                ApprovalReply::Always
            }
            _ => ApprovalReply::No,
        }
    }
}

pub(super) async fn ask(peer: &Peer<RoleServer>, request: InputRequest) -> Option<Value> {
    let request = match request {
        InputRequest::Elicitation(request) => ServerRequest::ElicitRequest(request),
        InputRequest::CreateMessage(request) => ServerRequest::CreateMessageRequest(request),
        InputRequest::ListRoots(request) => ServerRequest::ListRootsRequest(request),
        _ => return None,
    };
    let result = peer.send_request(request).await.ok()?;
    serde_json::to_value(result).ok()
}

#[cfg(test)]
mod tests {
    use super::{Text, is_possible};
    use gemini_tools_policy::approval::ApprovalReply;
    use serde_json::json;

    fn text(always: Option<&'static str>) -> Text {
        Text {
            message: String::new(),
            always,
        }
    }

    #[test]
    fn only_a_clear_yes_is_one() {
        for (result, expected) in [
            (
                json!({"action": "accept", "content": {"decision": "allow once"}}),
                ApprovalReply::Once,
            ),
            (
                json!({"action": "accept", "content": {"decision": "allow for this session"}}),
                ApprovalReply::Always,
            ),
            (
                json!({"action": "accept", "content": {"decision": "do not allow"}}),
                ApprovalReply::No,
            ),
            (
                json!({"action": "accept", "content": {}}),
                ApprovalReply::No,
            ),
            (json!({"action": "accept"}), ApprovalReply::No),
            (json!({"action": "decline"}), ApprovalReply::No),
            (
                json!({"action": "cancel", "content": {"decision": "allow once"}}),
                ApprovalReply::No,
            ),
        ] {
            let result = serde_json::from_value(result).expect("a result");
            assert_eq!(
                text(Some("all edits")).reply(&result),
                expected,
                "{result:?}"
            );
        }
    }

    #[test]
    fn what_was_not_offered_can_not_be_agreed_to() {
        let always = json!({"action": "accept", "content": {"decision": "allow for this session"}});
        let result = serde_json::from_value(always).expect("a result");
        assert_eq!(text(None).reply(&result), ApprovalReply::No);
    }

    #[test]
    fn only_a_client_with_forms_can_ask() {
        for (client, expected) in [
            (json!({}), false),
            (json!({"elicitation": {}}), true),
            (json!({"elicitation": {"form": {}}}), true),
            (json!({"elicitation": {"form": {}, "url": {}}}), true),
            (json!({"elicitation": {"url": {}}}), false),
        ] {
            let capabilities = serde_json::from_value(client.clone()).expect("capabilities");
            assert_eq!(is_possible(Some(&capabilities)), expected, "{client}");
        }
        assert!(!is_possible(None));
    }
}
