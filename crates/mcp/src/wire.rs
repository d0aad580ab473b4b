//! What is said between our commands and `mcp_client`: one JSON document a line, both ways.
//!
//! The kind of a message is a key around it, not one within: serde would have to take the
//! whole in before it could tell, and again to read it, and an image is megabytes.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// How a server is reached.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Connect {
    /// A program that speaks on its standard streams.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) command: Option<String>,
    /// The program's arguments.
    pub(super) args: Vec<String>,
    /// What its environment has besides what every server gets.
    pub(super) env: BTreeMap<String, String>,
    /// Where it runs.
    pub(super) cwd: PathBuf,
    /// Streamable HTTP, or where the server does not speak it, SSE.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) url: Option<String>,
    /// Streamable HTTP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) http_url: Option<String>,
    /// Sent with every request.
    pub(super) headers: BTreeMap<String, String>,
    /// The directories that the server is told of as roots.
    pub(super) roots: Vec<PathBuf>,
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Ask {
    /// Says how a server is reached; comes before everything else about it.
    Server {
        /// The server's name in the settings.
        server: String,
        /// How it is reached.
        connect: Connect,
    },
    /// Does something with it.
    Do(Request),
    /// Gives a request up.
    Cancel {
        /// The request's number.
        id: u64,
    },
}

/// A request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Request {
    /// The request's number; the answer bears it.
    pub(super) id: u64,
    /// The server's name in the settings.
    pub(super) server: String,
    /// How long connecting and the answer may take together.
    pub(super) limit_ms: u64,
    /// What is wanted.
    pub(super) what: Wanted,
}

/// What is wanted of a server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Wanted {
    /// All of its tools.
    Tools,
    /// A call of a tool.
    Call {
        /// The tool's name on the server.
        tool: String,
        /// The call's arguments.
        arguments: Map<String, Value>,
        /// Whether it runs as a task only.
        as_task: bool,
    },
    /// All of its resources and templates of resources.
    Resources,
    /// A resource's content.
    Read {
        /// The resource.
        uri: String,
    },
}

/// What the client says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ClientMessage {
    /// What the server has answered.
    Done {
        /// The request's number.
        id: u64,
        /// As it came.
        result: Value,
    },
    /// There is no answer.
    Failed {
        /// The request's number.
        id: u64,
        /// Why not.
        why: FailureKind,
        /// In words, with what the server has said on standard error.
        message: String,
    },
    /// A request is still being worked on.
    Progress {
        /// The request's number.
        id: u64,
        /// In words.
        text: String,
    },
    /// A server's tools are not what they were.
    Changed {
        /// The server's name in the settings.
        server: String,
    },
}

/// Why there is no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum FailureKind {
    /// The server can't be reached or does not do what the protocol asks for.
    Connection,
    /// The server has refused the request.
    Refused,
    /// The server has ended.
    Gone,
    /// The answer took too long.
    TimedOut,
    /// The request was given up.
    Cancelled,
}
