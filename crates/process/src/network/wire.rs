//! The messages between our executables and `serve_tools --connect`: a JSON document a line, both ways.
//!
//! The kind of a message is the key around it, and not a field within: for a field, serde would have to read the whole
//! message before it knew the kind, and then convert it, and an image has megabytes.

use gemini_tools_core::tool::{ErrorKind, LlmContent, ModelCall, ToolError, ToolResult};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The way to reach a server.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Connect {
    /// A program that speaks on its standard streams.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The program's arguments.
    pub args: Vec<String>,
    /// Variables of its environment besides those that every server gets.
    pub env: BTreeMap<String, String>,
    /// Working directory of the program.
    pub cwd: PathBuf,
    /// Address to reach by streamable HTTP, or by SSE if the server does not support that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Address to reach by streamable HTTP only.
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
    /// Introduces a server. It must come before every request for it.
    Server {
        /// The server's name in the settings.
        server: String,
        /// The way to reach the server.
        connect: Connect,
    },
    /// Makes a request to a server that was introduced.
    Do(Request),
    /// Does the network part of a built-in tool.
    Web(WebRequest),
    /// Parses a source text.
    Syntax(SyntaxRequest),
    /// Gives a request up.
    Cancel {
        /// The request's number.
        id: u64,
    },
}

/// A request to a server that was introduced.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// The request's number. The answer carries the same.
    pub id: u64,
    /// The server's name in the settings.
    pub server: String,
    /// Time limit for connecting and the answer together.
    pub limit_ms: u64,
    /// Kind of the request.
    pub what: ServerRequest,
}

/// A request to a server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ServerRequest {
    /// List all tools.
    Tools,
    /// A call of a tool.
    Call {
        /// The tool's name on the server.
        tool: String,
        /// The call's arguments.
        arguments: Map<String, Value>,
    },
    /// List all resources and templates of resources.
    Resources,
    /// A resource's content.
    Read {
        /// The resource.
        uri: String,
    },
}

/// A message from `serve_tools --connect`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClientMessage {
    /// The server's answer. It is the last message for its request.
    Done {
        /// The request's number.
        id: u64,
        /// The server's result, unparsed.
        result: Value,
    },
    /// The request has failed.
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
    /// A model was asked on the way to the answer.
    ModelCall {
        /// The request's number.
        id: u64,
        /// Cost of the call.
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
    /// The server has ended.
    Gone,
    /// The answer took too long.
    TimedOut,
    /// The caller has cancelled the request.
    Cancelled,
}

/// A request of a built-in tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WebRequest {
    /// The request's number. The answer carries the same.
    pub id: u64,
    /// Remaining time of the call, if it is limited. Retries and partial answers depend on it.
    pub limit_ms: Option<u64>,
    /// The home directory, where credentials are.
    pub home: Option<PathBuf>,
    /// Task of the request.
    pub task: WebTask,
}

/// A question about a source text. The name of its file tells the language.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SyntaxRequest {
    /// The number of the request, which the answer has, too.
    pub id: u64,
    /// The name of the file, whose extension tells the language.
    pub name: String,
    /// The part of the text that a change has replaced, to ask for the syntax errors of that change; `None` to ask for
    /// the outline of the text.
    pub old: Option<OldPart>,
    /// The text.
    pub text: String,
}

/// What a change has replaced in a text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OldPart {
    /// The offset at which the new part begins, in bytes of the new text.
    pub start: usize,
    /// The offset behind the new part, in bytes of the new text.
    pub end: usize,
    /// The old part, which was there before the change.
    pub text: String,
}

impl OldPart {
    /// Compares two texts, and returns the part of `old` that `new` has replaced.
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

/// What `web_fetch` is to read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FetchTask {
    /// The prompt.
    pub prompt: String,
    /// The addresses in the prompt.
    pub urls: Vec<String>,
    /// Texts that look like an address but can't be requested, each with the reason.
    pub unusable: Vec<(String, String)>,
    /// Rules of the user that allow hosts which are not public.
    pub allowed: Vec<String>,
}

/// The answer to a [`WebTask`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WebAnswer {
    /// The result of a tool.
    Result {
        /// For the model.
        llm_content: LlmContent,
        /// For a person, in Markdown.
        display: String,
        /// For programs.
        data: Map<String, Value>,
    },
    /// The error of a tool.
    Error {
        /// Kind of the error.
        kind: ErrorKind,
        /// Human-readable reason.
        message: String,
        /// Advice for the next attempt.
        hint: Option<String>,
    },
    /// Answer of a model.
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
            WebAnswer::Result {
                llm_content,
                display,
                data,
            } => {
                let mut result = ToolResult::content(llm_content).with_display(display);
                result.data = Some(data);
                Ok(result)
            }
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
