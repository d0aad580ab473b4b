//! Tools: the contract between those who write tools and those who call them.
//!
//! The types follow Gemini CLI's tools API. Nothing here touches files, processes or the
//! network; nothing here prints.

mod args;
mod cancellation;
mod check;
mod confirmation;
mod context;
mod convert;
mod equal;
mod error;
mod execute;
mod function;
#[cfg(feature = "hosts")]
mod help;
mod input;
mod kind;
mod model_call;
pub mod named;
#[cfg(feature = "hosts")]
mod parameters;
#[cfg(feature = "patterns")]
mod pattern;
#[cfg(not(feature = "patterns"))]
#[path = "without_patterns.rs"]
mod pattern;
pub mod reference;
mod result;
mod sandbox_mode;
mod schema;
mod usage;
#[cfg(feature = "hosts")]
mod words;

pub use args::Args;
pub use cancellation::{
    ActGuard, Cancellation, GracePeriod, Interruption, TICK, TimeLimit, WaitGuard,
};
pub use confirmation::{ApprovalMode, Confirmation, ConfirmationDetails, FileChange};
pub use context::{CallView, Context, OutputUpdate, ResultPlaces};
pub use convert::convert;
pub use error::{ErrorKind, ToolError};
pub use execute::{build, catch};
pub use function::FunctionTool;
#[cfg(feature = "hosts")]
pub use help::help;
pub use input::{GivenInput, InputSource, WantedInput};
pub use kind::Kind;
pub use model_call::{ModelCall, ModelCallError, TokenCounts};
#[cfg(feature = "hosts")]
pub use parameters::{Parameter, kind_of_parameter, parameters};
pub use result::{
    DiffStat, Display, FileDiff, FoundPlace, LlmContent, PartOrText, ResultError, ResultView,
    TailToolCallRequest, ToolResult,
};
pub use sandbox_mode::SandboxMode;
pub use schema::Schema;
pub use usage::{ExtraArgument, Limit, Usage};
#[cfg(feature = "hosts")]
pub use words::{ReadNamed, from_words, obvious_parameter, refuse_unknown};

use crate::text::show_path;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};

/// A tool: its declaration, and how a call is checked. The trait is object-safe, and methods return
/// the name and the schema, so that callers treat built-in tools, a project's scripts and tools of
/// MCP servers alike.
pub trait Tool: Send + Sync {
    /// Returns the tool's unique name in declarations and calls: `[A-Za-z_][A-Za-z0-9_.-]{0,62}`.
    fn name(&self) -> &str;

    /// Returns what the tool does and when to use it, for the model.
    fn description(&self) -> &str;

    /// Returns the JSON Schema of the arguments.
    fn parameters(&self) -> &Schema;

    /// Returns the facts that callers rely on.
    fn info(&self) -> ToolInfo<'_>;

    /// Checks what the schema can't express, and builds a call that can be described, confirmed and
    /// run. Callers use the function [`build`] instead of this method, since it converts and checks
    /// the arguments first.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::InvalidToolParams`] if the arguments don't fit the schema or each
    /// other, and other errors that can be known before anything runs.
    fn build(&self, args: Args, cx: &Context) -> Result<Box<dyn ToolInvocation>, ToolError>;

    /// Returns the arguments that the tool accepts besides the parameters of its schema, and its
    /// help.
    fn usage(&self) -> Usage<'_> {
        Usage::default()
    }
}

/// The facts about a tool that policies, registries, declarations and schedulers rely on.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "MCP has a hint for each")]
#[non_exhaustive]
pub struct ToolInfo<'a> {
    /// The name for people.
    pub display_name: &'a str,
    /// Other names under which the tool may be called. Declarations leave them out.
    pub aliases: &'a [&'a str],
    /// Kind of the tool.
    pub kind: Kind,
    /// True if calls change nothing.
    pub is_read_only: bool,
    /// True if a repeated call changes nothing further.
    pub is_idempotent: bool,
    /// True if calls reach, or may reach, beyond this machine.
    pub is_open_world: bool,
    /// True if calls report live output through [`Context::update_output`].
    pub can_update_output: bool,
    /// True if [`Tool::build`] checks the arguments against the schema itself, as it must if it
    /// accepts other spellings than the declared ones. Otherwise the function [`build`] does it
    /// first.
    pub checks_arguments: bool,
    /// True if MCP clients are also given the tool as a prompt.
    pub is_prompt: bool,
    /// The URI under which MCP clients can also read the tool's answer as a resource; names of
    /// parameters in it are in braces.
    pub resource: Option<&'a str>,
    /// The tool on its MCP server, if it comes from one.
    pub server: Option<ServerTool<'a>>,
    /// Annotations of the MCP server, such as `readOnlyHint`.
    pub annotations: Option<&'a Map<String, Value>>,
}

impl<'a> ToolInfo<'a> {
    /// Describes a tool of this kind. A kind that only reads makes the tool read-only and
    /// idempotent. Everything else is set to what the most cautious caller must assume: calls of
    /// other kinds change something, again when repeated, and all calls reach beyond this machine.
    pub const fn new(display_name: &'a str, kind: Kind) -> Self {
        let reads = kind.is_read_only();
        Self {
            display_name,
            aliases: &[],
            kind,
            is_read_only: reads,
            is_idempotent: reads,
            is_open_world: true,
            can_update_output: false,
            checks_arguments: false,
            is_prompt: false,
            resource: None,
            server: None,
            annotations: None,
        }
    }

    /// Declares that calls don't reach beyond this machine.
    #[must_use]
    pub const fn on_this_machine(mut self) -> Self {
        self.is_open_world = false;
        self
    }

    /// Declares that repeating a call changes nothing further.
    #[must_use]
    pub const fn idempotent(mut self) -> Self {
        self.is_idempotent = true;
        self
    }

    /// Declares that calls report live output.
    #[must_use]
    pub const fn with_live_output(mut self) -> Self {
        self.can_update_output = true;
        self
    }

    /// Declares that [`Tool::build`] checks the arguments against the schema itself.
    #[must_use]
    pub const fn checking_arguments(mut self) -> Self {
        self.checks_arguments = true;
        self
    }

    /// Adds other names under which the tool may be called.
    #[must_use]
    pub const fn with_aliases(mut self, aliases: &'a [&'a str]) -> Self {
        self.aliases = aliases;
        self
    }
}

/// A tool of an MCP server, as rules of a policy name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerTool<'a> {
    /// The server's name in the settings.
    pub name: &'a str,
    /// The tool's name on the server.
    pub tool: &'a str,
}

impl<'a> ServerTool<'a> {
    /// Parses a name of the form `server__tool`; returns `None` for any other name.
    pub fn from_name(name: &'a str) -> Option<Self> {
        let (name, tool) = name.split_once("__")?;
        (!name.is_empty() && !tool.is_empty()).then_some(Self { name, tool })
    }
}

/// Returns a tool's function declaration in the form of the Gemini API.
pub fn declaration(tool: &dyn Tool) -> Value {
    serde_json::json!({
        "name": tool.name(),
        "description": tool.description(),
        "parametersJsonSchema": tool.parameters().value(),
    })
}

/// A checked call of a tool.
pub trait ToolInvocation: Send {
    /// Describes the call in one line of markdown, before it runs.
    fn describe(&self) -> String;

    /// Returns the paths that the call reads or changes, for hosts to show.
    fn locations(&self) -> Vec<Location> {
        Vec::new()
    }

    /// Returns whether a person must agree first, and the details of the question.
    ///
    /// # Errors
    ///
    /// Returns the error with which the call would fail, if preparing the details reveals it.
    fn confirmation(&self, cx: &Context) -> Result<Confirmation, ToolError>;

    /// Sets the shell line that runs instead of the one in the arguments. It has the same commands,
    /// written by the judge of the call so that bash can read them in only one way. Calls that run
    /// no shell line ignore it.
    fn set_line(&mut self, _line: String) {}

    /// Runs the call to its end. `cx` carries the cancellation and the live output.
    ///
    /// # Errors
    ///
    /// Returns what went wrong, in one sentence that a model can act on.
    fn run(self: Box<Self>, cx: &Context) -> Result<ToolResult, ToolError>;
}

/// A place in a file that a call reads or changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Location {
    /// The absolute path. Bytes of it that are not UTF-8 are serialized as `\x{ff}`.
    #[serde(serialize_with = "path_as_text")]
    pub path: PathBuf,
    /// The line, from 1, if the call is about a single one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
}

/// Serializes a path as text, because a path that is not UTF-8 is not a JSON string.
pub(crate) fn path_as_text<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&show_path(path))
}

impl From<&Path> for Location {
    fn from(path: &Path) -> Self {
        let path = path.to_owned();
        Self { path, line: None }
    }
}
