//! Asking the client's user about a call, by the protocol's elicitation.

use crate::agent::approval::{Asker, Reply};
use crate::agent::call::ToolCall;
use crate::agent::pair::Explanation;
use crate::tool::ConfirmationDetails;
use rmcp::RoleServer;
use rmcp::model::{
    ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema, EnumSchema,
};
use rmcp::service::{ElicitationMode, Peer};
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
pub(super) fn is_possible(peer: &Peer<RoleServer>) -> bool {
    peer.supported_elicitation_modes()
        .contains(&ElicitationMode::Form)
}

/// Asks on behalf of the thread on which a call runs.
pub(super) struct ByClient(pub(super) Sender<Question>);

impl Asker for ByClient {
    fn ask(&mut self, call: &ToolCall, explanation: &Explanation) -> Option<Reply> {
        let (answer, answered) = std::sync::mpsc::sync_channel(1);
        let message = message(call, explanation);
        self.0.blocking_send(Question { message, answer }).ok()?;
        answered.recv().ok()?
    }
}

fn message(call: &ToolCall, explanation: &Explanation) -> String {
    let details = match &explanation.confirmation {
        Some(ConfirmationDetails::Edit { file_diff, .. }) => file_diff.clone(),
        Some(ConfirmationDetails::Exec { command, .. }) => command.clone(),
        Some(ConfirmationDetails::Info { prompt, .. }) => prompt.clone(),
        Some(ConfirmationDetails::Mcp { .. }) | None => String::new(),
    };
    let name = &call.request.name;
    let mut text = format!("May {name} run? {}\n\n{details}", explanation.description);
    if let Some((end, _)) = text.char_indices().nth(MAX_SHOWN) {
        text.truncate(end);
        text.push_str("\n[…]");
    }
    text.trim_end().to_owned()
}

/// Asks; `None` where there is no answer.
pub(super) async fn ask(peer: &Peer<RoleServer>, message: String) -> Option<Reply> {
    let choices = [ONCE, ALWAYS, NO].map(str::to_owned).to_vec();
    let requested_schema = ElicitationSchema::builder()
        .required_enum_schema(FIELD, EnumSchema::builder(choices).build())
        .build()
        .ok()?;
    let question = ElicitRequestParams::FormElicitationParams {
        meta: None,
        message,
        requested_schema,
    };
    peer.create_elicitation(question)
        .await
        .ok()
        .map(|r| reply(&r))
}

fn reply(result: &ElicitResult) -> Reply {
    let decision = result
        .content
        .as_ref()
        .and_then(|content| content[FIELD].as_str());
    match (&result.action, decision) {
        (ElicitationAction::Accept, Some(ONCE)) => Reply::Once,
        (ElicitationAction::Accept, Some(ALWAYS)) => Reply::Always,
        _ => Reply::No,
    }
}

#[cfg(test)]
mod tests {
    use super::reply;
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
            assert_eq!(reply(&result), expected, "{result:?}");
        }
    }
}
