//! What a tool asks of the client that has called it, such as its user by a form.

use super::ToolError;
use serde_json::{Map, Value};

/// Requests to a client, by names that the tool has chosen: each with `method` and `params`, as the Model Context
/// Protocol has them (`elicitation/create`, `sampling/createMessage`, `roots/list`).
#[derive(Debug, Clone, Default, PartialEq)]
pub struct WantedInput {
    /// The requests.
    pub requests: Map<String, Value>,
    /// What the tool wants to be told with the answers. It is the client's meanwhile, who could change it.
    pub state: Option<String>,
}

/// A client's answers to [`WantedInput`].
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GivenInput {
    /// The results, by the names of the requests. One that the client can't answer is missing.
    pub responses: Map<String, Value>,
    /// The state of [`WantedInput::state`].
    pub state: Option<String>,
}

/// The way to a client that may be asked during a call.
pub trait InputSource: Send + Sync {
    /// Returns what was answered before this call, which the client makes once more because of a question.
    fn given(&self) -> Option<GivenInput>;

    /// Asks the client.
    ///
    /// # Errors
    ///
    /// Returns an error if the client can't be asked, or answers only by making the call again. The call ends with it.
    fn ask(&self, wanted: WantedInput) -> Result<GivenInput, ToolError>;
}
