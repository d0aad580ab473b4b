//! What a running tool asks of the client that has called it, such as a form for the client's user.

use super::ToolError;
use serde_json::{Map, Value};

/// Requests of a tool to the client that has called it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct WantedInput {
    /// The requests, by names that the tool has chosen. Each has `method` and `params`, as in the
    /// Model Context Protocol (`elicitation/create`, `sampling/createMessage`, `roots/list`).
    pub requests: Map<String, Value>,
    /// Data that the tool wants back with the answers. The client holds it meanwhile and could
    /// change it.
    pub state: Option<String>,
}

/// A client's answers to [`WantedInput`].
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GivenInput {
    /// The answers, by the names of the requests. A request that the client can't answer is
    /// missing.
    pub responses: Map<String, Value>,
    /// The data that the tool gave as [`WantedInput::state`].
    pub state: Option<String>,
}

/// A way to ask the client during a call.
pub trait InputSource: Send + Sync {
    /// If this call repeats an earlier one that has asked the client something, returns the answers
    /// that were sent with it; otherwise `None`.
    fn given(&self) -> Option<GivenInput>;

    /// Asks the client and waits for its answers.
    ///
    /// # Errors
    ///
    /// Returns an error if the client can't be asked, or can answer only by repeating the call. The
    /// tool must end its call with this error.
    fn ask(&self, wanted: WantedInput) -> Result<GivenInput, ToolError>;
}
