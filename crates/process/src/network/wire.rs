//! The messages of `serve_tools --connect` and its callers: one JSON document a line, both ways.
//!
//! The kind of a message is the key around it and not a field within it: for a field, serde would
//! have to read the whole message before it knew the kind, and then convert it, and a message with
//! an image has megabytes.

use gemini_tools_core::tool::{ErrorKind, ModelCall, ToolError, ToolResult};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// How to reach an MCP server: by a command or by an address.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Connect {
    /// The program of a server that speaks MCP on its standard streams; `None` for an address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The program's arguments.
    pub args: Vec<String>,
    /// Variables of its environment besides those that every server gets.
    pub env: BTreeMap<String, String>,
    /// Working directory of the program.
    pub cwd: PathBuf,
    /// Address of a server that is reached by streamable HTTP, or else by SSE.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Address of a server that is reached by streamable HTTP only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http_url: Option<String>,
    /// HTTP headers that are sent with every request.
    pub headers: BTreeMap<String, String>,
    /// Directories that are announced to the server as its roots.
    pub roots: Vec<PathBuf>,
}

/// A message to `serve_tools --connect`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ask {
    /// Makes a request to a server.
    Do(Request),
    /// Does the network part of a built-in tool.
    Web(WebRequest),
    /// Parses a source text, for its outline or its syntax errors.
    Syntax(SyntaxRequest),
    /// Cancels a request.
    Cancel {
        /// The request's number.
        id: u64,
    },
}

/// A request to a server, with its time limit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// The request's number, which its answers carry too.
    pub id: u64,
    /// The server's name in the settings.
    pub server: String,
    /// How to reach the server. What the first request to it says counts.
    pub connect: Connect,
    /// Time limit for connecting and the answer together, in milliseconds.
    pub limit_ms: u64,
    /// What is requested.
    pub what: ServerRequest,
}

/// What is requested from a server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ServerRequest {
    /// Lists all tools.
    Tools,
    /// Calls a tool.
    Call {
        /// The tool's name on the server.
        tool: String,
        /// The call's arguments.
        arguments: Map<String, Value>,
        /// The connection that has listed the tool, as the answer to `Tools` names it. The call is
        /// sent over no other.
        connection: String,
    },
    /// Lists all resources and resource templates.
    Resources,
    /// Reads a resource.
    Read {
        /// The URI of the resource.
        uri: String,
    },
}

/// A message from `serve_tools --connect`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClientMessage {
    /// The answer to a request. It is the last message for that request.
    Done {
        /// The request's number.
        id: u64,
        /// The result, in the form that depends on the request.
        result: Value,
    },
    /// The request has failed. It is the last message for that request.
    Failed {
        /// The request's number.
        id: u64,
        /// Kind of the failure.
        why: FailureKind,
        /// Human-readable reason, with what the server printed on standard error.
        message: String,
    },
    /// The request is still being worked on.
    Progress {
        /// The request's number.
        id: u64,
        /// Human-readable state.
        text: String,
    },
    /// A model was asked while the request was worked on.
    ModelCall {
        /// The request's number.
        id: u64,
        /// The model, its tokens and the time that it took.
        call: ModelCall,
    },
    /// The list of a server's tools has changed.
    Changed {
        /// The server's name in the settings.
        server: String,
    },
}

/// The kind of a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// The server can't be reached, or violates the protocol.
    Connection,
    /// The server has refused the request.
    Refused,
    /// Another connection to the server had to be made, over which it may have other tools. It has
    /// not seen the request.
    Reconnected,
    /// The server, or `serve_tools --connect` itself, has ended.
    Gone,
    /// The answer took too long.
    TimedOut,
    /// The caller has cancelled the request.
    Cancelled,
}

/// A request for the network part of a built-in tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WebRequest {
    /// The request's number, which its answers carry too.
    pub id: u64,
    /// The remaining time of the call in milliseconds, if limited. Retries and partial answers need
    /// it.
    pub limit_ms: Option<u64>,
    /// The home directory, which holds the credentials.
    pub home: Option<PathBuf>,
    /// What is to be done.
    pub task: WebTask,
}

/// A question about a source text: its outline, or the syntax errors of a change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SyntaxRequest {
    /// The request's number, which its answer carries too.
    pub id: u64,
    /// The name of the file, whose extension tells the language.
    pub name: String,
    /// The part that a change has replaced, to ask for the syntax errors of that change; `None` to
    /// ask for the outline of the text.
    pub old: Option<OldPart>,
    /// The text after the change.
    pub text: String,
}

/// The part of a text that a change has replaced, and its place in the new text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OldPart {
    /// The offset at which the new part begins, in bytes of the new text.
    pub start: usize,
    /// The offset after the new part, in bytes of the new text.
    pub end: usize,
    /// The old part, as it was before the change.
    pub text: String,
}

impl OldPart {
    /// Returns the part of `old` without the beginning and the end that it has in common with
    /// `new`.
    pub fn new(old: &str, new: &str) -> Self {
        let same = |pair: &(char, char)| pair.0 == pair.1;
        let bytes = |(c, _): (char, char)| c.len_utf8();
        let start: usize = old
            .chars()
            .zip(new.chars())
            .take_while(same)
            .map(bytes)
            .sum();
        let rest = old[start..].chars().rev().zip(new[start..].chars().rev());
        let kept: usize = rest.take_while(same).map(bytes).sum();
        Self {
            start,
            end: new.len() - kept,
            text: old[start..old.len() - kept].to_owned(),
        }
    }

    /// Returns the whole old text; `None` if the offsets are not in `new`.
    pub fn restore(&self, new: &str) -> Option<String> {
        Some(
            [
                new.get(..self.start)?,
                self.text.as_str(),
                new.get(self.end..)?,
            ]
            .concat(),
        )
    }
}

/// A task of a built-in tool that needs the network.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WebTask {
    /// `web_fetch`: fetches pages and follows the prompt about them.
    Fetch(FetchTask),
    /// `google_web_search`: answers a query with Google's search.
    Search {
        /// The query.
        query: String,
    },
    /// Asks a model for JSON.
    Model {
        /// System instruction.
        instruction: String,
        /// Prompt of the model.
        prompt: String,
        /// The JSON Schema of its answer.
        schema: Value,
    },
    /// Asks whether a model is available, that is, whether there is a credential.
    HasModel,
}

/// What `web_fetch` is to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FetchTask {
    /// The prompt.
    pub prompt: String,
    /// The addresses in the prompt.
    pub urls: Vec<String>,
    /// Texts in the prompt that look like an address but can't be requested, each with the reason.
    pub unusable: Vec<(String, String)>,
    /// The user's rules that allow hosts which are not public.
    pub allowed: Vec<String>,
}

/// The answer to a [`WebTask`].
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WebAnswer {
    /// The result of a tool.
    Result(Box<ToolResult>),
    /// The error of a tool.
    Error {
        /// Kind of the error.
        kind: ErrorKind,
        /// Human-readable reason.
        message: String,
        /// Advice for the next attempt.
        hint: Option<String>,
    },
    /// The answer of a model, as JSON.
    Model(Value),
    /// Whether a model is available.
    HasModel(bool),
}

impl WebAnswer {
    /// Returns the tool's result.
    ///
    /// # Errors
    ///
    /// Returns the tool's error.
    pub fn into_result(self) -> Result<ToolResult, ToolError> {
        match self {
            WebAnswer::Result(result) => Ok(*result),
            WebAnswer::Error {
                kind,
                message,
                hint,
            } => {
                let mut error = ToolError::new(kind, message);
                error.hint = hint;
                Err(error)
            }
            WebAnswer::Model(_) | WebAnswer::HasModel(_) => {
                Err(ToolError::failed("The answer is one to another question."))
            }
        }
    }
}

impl From<ToolError> for WebAnswer {
    fn from(error: ToolError) -> Self {
        WebAnswer::Error {
            kind: error.kind,
            message: error.message,
            hint: error.hint,
        }
    }
}
