//! Asks the client's user to approve a call, through the protocol's elicitation.

use gemini_tools_policy::SessionGrant;
use gemini_tools_policy::approval::{ApprovalPrompt, ApprovalQuestion, ApprovalReply, terminal};
use rmcp::RoleServer;
use rmcp::model::{
    ClientCapabilities, ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema,
    EnumSchema,
};
use rmcp::service::Peer;
use std::sync::mpsc::SyncSender;
use tokio::sync::mpsc::Sender;

/// A longer question, in characters, is refused: nobody would read it, and what is not read is not
/// approved.
const MAX_SHOWN_CHARS: usize = 50_000;

const FIELD: &str = "decision";

const ONCE: &str = "allow once";
const ALWAYS: &str = "allow for this session";
const NO: &str = "do not allow";

#[derive(Debug, Clone)]
pub(super) struct Text {
    /// All that the call would do, with invisible characters made visible.
    pub(super) message: String,
    /// What the choice [`ALWAYS`] would approve; `None` if it is not offered.
    always: Option<&'static str>,
}

pub(super) struct Question {
    pub(super) text: Text,
    pub(super) answer: SyncSender<Option<ApprovalReply>>,
}

pub(super) fn is_possible(client: Option<&ClientCapabilities>) -> bool {
    let elicitation = client.and_then(|client| client.elicitation.as_ref());
    // According to the protocol, a client that lists no mode supports forms.
    elicitation.is_some_and(|modes| modes.form.is_some() || modes.url.is_none())
}

#[derive(Debug)]
pub(super) struct ClientAsker {
    pub(super) asked: Sender<Question>,
    pub(super) is_alone: bool,
}

impl ApprovalPrompt for ClientAsker {
    fn ask(&mut self, question: &ApprovalQuestion<'_>) -> Option<ApprovalReply> {
        let (answer, answered) = std::sync::mpsc::sync_channel(1);
        let text = match Text::new(question, self.is_alone) {
            Ok(text) => text,
            Err(refusal) => return Some(refusal),
        };
        self.asked.blocking_send(Question { text, answer }).ok()?;
        answered.recv().ok()?
    }
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

    pub(super) fn form(self) -> Option<ElicitRequestParams> {
        let mut choices = vec![ONCE, NO];
        if self.always.is_some() {
            choices.insert(1, ALWAYS);
        }
        let choices = choices.into_iter().map(str::to_owned).collect();
        let requested_schema = ElicitationSchema::builder()
            .required_enum_schema(FIELD, EnumSchema::builder(choices).build())
            .build()
            .ok()?;
        Some(ElicitRequestParams::FormElicitationParams {
            meta: None,
            message: self.message,
            requested_schema,
        })
    }

    /// Parses an answer. Anything but one of the choices counts as a no.
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

pub(super) async fn ask(peer: &Peer<RoleServer>, text: Text) -> Option<ApprovalReply> {
    let result = peer.create_elicitation(text.clone().form()?).await;
    result.ok().map(|result| text.reply(&result))
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
