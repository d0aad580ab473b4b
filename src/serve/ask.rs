//! Asking the client's user about a call, by the protocol's elicitation.

use crate::agent::approval::{Asker, Reply};
use crate::agent::call::ToolCall;
use crate::agent::pair::Explanation;
use crate::tool::ConfirmationDetails;
use rmcp::RoleServer;
use rmcp::model::{
    ClientCapabilities, ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema,
    EnumSchema,
};
use rmcp::service::Peer;
use std::sync::mpsc::SyncSender;
use tokio::sync::mpsc::Sender;

/// Longer texts are cut, in characters.
const MAX_SHOWN: usize = 4000;

/// The one field of the form.
const FIELD: &str = "decision";

const ONCE: &str = "allow once";
const ALWAYS: &str = "allow for this session";
const NO: &str = "do not allow";

/// A question, and where its answer goes.
pub(super) struct Question {
    pub(super) message: String,
    pub(super) answer: SyncSender<Option<Reply>>,
}

/// Whether a client's user can be asked.
pub(super) fn is_possible(client: Option<&ClientCapabilities>) -> bool {
    let elicitation = client.and_then(|client| client.elicitation.as_ref());
    // A client that names no mode has forms.
    elicitation.is_some_and(|modes| modes.form.is_some() || modes.url.is_none())
}

/// Asks on behalf of the thread on which a call runs.
pub(super) struct ByClient(pub(super) Sender<Question>);

impl Asker for ByClient {
    fn ask(&mut self, call: &ToolCall, explanation: &Explanation) -> Option<Reply> {
        let (answer, answered) = std::sync::mpsc::sync_channel(1);
        let message = shown(whole_message(call, explanation));
        self.0.blocking_send(Question { message, answer }).ok()?;
        answered.recv().ok()?
    }
}

/// All that a call would do, in words.
pub(super) fn whole_message(call: &ToolCall, explanation: &Explanation) -> String {
    let details = match &explanation.confirmation {
        Some(ConfirmationDetails::Edit { file_diff, .. }) => file_diff.clone(),
        Some(ConfirmationDetails::Exec { command, .. }) => command.clone(),
        Some(ConfirmationDetails::Info { prompt, .. }) => prompt.clone(),
        Some(ConfirmationDetails::Mcp { .. }) | None => String::new(),
    };
    let name = &call.request.name;
    format!("May {name} run? {}\n\n{details}", explanation.description)
}

/// As much of it as a person reads.
pub(super) fn shown(mut text: String) -> String {
    if let Some((end, _)) = text.char_indices().nth(MAX_SHOWN) {
        text.truncate(end);
        text.push_str("\n[…]");
    }
    text.trim_end().to_owned()
}

/// The question as a form. `is_alone` is whether no other client works in the same project: what
/// is agreed to for a session counts for all of them.
pub(super) fn form(message: String, is_alone: bool) -> Option<ElicitRequestParams> {
    let choices = if is_alone {
        vec![ONCE, ALWAYS, NO]
    } else {
        vec![ONCE, NO]
    };
    let choices = choices.into_iter().map(str::to_owned).collect();
    let requested_schema = ElicitationSchema::builder()
        .required_enum_schema(FIELD, EnumSchema::builder(choices).build())
        .build()
        .ok()?;
    Some(ElicitRequestParams::FormElicitationParams {
        meta: None,
        message,
        requested_schema,
    })
}

/// Asks; `None` where there is no answer.
pub(super) async fn ask(peer: &Peer<RoleServer>, message: String, is_alone: bool) -> Option<Reply> {
    let result = peer.create_elicitation(form(message, is_alone)?).await;
    result.ok().map(|result| reply(&result, is_alone))
}

/// What an answer says; anything but one of the choices is a no.
pub(super) fn reply(result: &ElicitResult, is_alone: bool) -> Reply {
    let decision = result
        .content
        .as_ref()
        .and_then(|content| content[FIELD].as_str());
    match (&result.action, decision) {
        (ElicitationAction::Accept, Some(ONCE)) => Reply::Once,
        (ElicitationAction::Accept, Some(ALWAYS)) if is_alone => Reply::Always,
        _ => Reply::No,
    }
}

#[cfg(test)]
mod tests {
    use super::{is_possible, reply};
    use crate::agent::approval::Reply;
    use serde_json::json;

    #[test]
    fn only_a_clear_yes_is_one() {
        for (result, expected) in [
            (
                json!({"action": "accept", "content": {"decision": "allow once"}}),
                Reply::Once,
            ),
            (
                json!({"action": "accept", "content": {"decision": "allow for this session"}}),
                Reply::Always,
            ),
            (
                json!({"action": "accept", "content": {"decision": "do not allow"}}),
                Reply::No,
            ),
            (json!({"action": "accept", "content": {}}), Reply::No),
            (json!({"action": "accept"}), Reply::No),
            (json!({"action": "decline"}), Reply::No),
            (
                json!({"action": "cancel", "content": {"decision": "allow once"}}),
                Reply::No,
            ),
        ] {
            let result = serde_json::from_value(result).expect("a result");
            assert_eq!(reply(&result, true), expected, "{result:?}");
        }
    }

    #[test]
    fn what_counts_for_other_clients_too_can_not_be_agreed_to() {
        let always = json!({"action": "accept", "content": {"decision": "allow for this session"}});
        let result = serde_json::from_value(always).expect("a result");
        assert_eq!(reply(&result, false), Reply::No);
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
