//! What a tool is: the contract between those who write tools and those who call them.
//!
//! The types follow Gemini CLI's tools API. Nothing here touches files, processes or the
//! network; nothing here prints.

mod args;
mod check;
mod confirmation;
mod context;
mod equal;
mod error;
mod execute;
mod kind;
pub mod named;
mod pattern;
pub(crate) mod reference;
mod result;
mod schema;

pub use args::Args;
pub use confirmation::{ApprovalMode, Confirmation, ConfirmationDetails, ConfirmationOutcome};
pub(crate) use context::seconds_of;
pub use context::{
    Acting, Cancellation, Context, Interruption, LiveOutput, Patience, TICK, Waiting,
};
pub use error::{ErrorKind, ToolError};
pub(crate) use execute::catch;
pub use execute::{build, build_and_execute, validate_build_execute};
pub use kind::Kind;
pub use result::{
    AnsiToken, DiffStat, Display, FileDiff, FoundPlace, LlmContent, PartOrText, ResultError,
    SubagentActivity, SubagentProgress, TailToolCallRequest, Todo, TodoList, TodoStatus,
    ToolResult,
};
pub use schema::Schema;

use crate::genai::FunctionDeclaration;
use crate::shown::show_path;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// A tool: its declaration, and how a call of it is checked.
///
/// Object-safe, with run-time names and schemas, so that a built-in, a project's own script
/// and a tool of an MCP server are the same to a caller.
pub trait Tool: Send + Sync {
    /// The name in declarations and calls; unique, `[A-Za-z_][A-Za-z0-9_.-]{0,62}`.
    fn name(&self) -> &str;

    /// The name for people.
    fn display_name(&self) -> &str;

    /// What the tool does and when to use it, for the model.
    fn description(&self) -> &str;

    /// What the tool does to the world; permissions and parallelism derive from it.
    fn kind(&self) -> Kind;

    /// The JSON Schema of the arguments.
    fn parameters(&self) -> &Schema;

    /// Checks what the schema does not say of the arguments, and makes a call that can be
    /// described, confirmed and run. Callers use [`build`].
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidToolParams`] where the arguments don't fit the schema or each
    /// other, and whatever else can be known before anything runs.
    fn build(&self, args: Args, cx: &Context) -> Result<Box<dyn ToolInvocation>, ToolError>;

    /// Whether [`Tool::build`] checks the arguments against the schema itself, as it must where it
    /// takes other spellings than the declared ones. For all other tools [`build`] does, before it
    /// calls that.
    fn checks_arguments(&self) -> bool {
        false
    }

    /// Other names under which the tool may be called; never printed.
    fn aliases(&self) -> &[&str] {
        &[]
    }

    /// Arguments that the tool would ignore, for callers who want to be told.
    fn unknown_arguments(&self, args: &Args) -> Vec<String> {
        args.unknown(self.parameters(), &[])
            .into_iter()
            .map(str::to_owned)
            .collect()
    }

    /// Whether [`ToolResult::return_display`] strings are markdown.
    fn is_output_markdown(&self) -> bool {
        true
    }

    /// Whether calls report live output through [`Context::update_output`].
    fn can_update_output(&self) -> bool {
        false
    }

    /// Whether calls leave the world as it was.
    fn is_read_only(&self) -> bool {
        self.kind().is_read_only()
    }

    /// Whether the same call once more changes nothing further.
    fn is_idempotent(&self) -> bool {
        self.is_read_only()
    }

    /// Whether calls reach beyond this machine, or may.
    fn is_open_world(&self) -> bool {
        true
    }

    /// The MCP server that the tool comes from, and the tool's name there: what rules of a policy
    /// name it by.
    fn server(&self) -> Option<(&str, &str)> {
        None
    }

    /// What the MCP server says of the tool besides, such as `readOnlyHint`.
    fn annotations(&self) -> Option<&serde_json::Map<String, serde_json::Value>> {
        None
    }

    /// What a model is told; `model` is the model's id where one is known, for tools whose
    /// schema differs between models.
    fn declaration(&self, model: Option<&str>) -> FunctionDeclaration<'_> {
        let _ = model;
        FunctionDeclaration {
            name: self.name(),
            description: self.description(),
            parameters_json_schema: self.parameters(),
        }
    }
}

/// One checked call of a tool.
pub trait ToolInvocation: Send {
    /// What the call will do, in one line of markdown, before it runs.
    fn describe(&self) -> String;

    /// The paths that the call reads or changes.
    fn locations(&self) -> Vec<Location>;

    /// Whether a person must agree first, and what to show them.
    ///
    /// # Errors
    ///
    /// What would make the call fail, where preparing the details meets it.
    fn confirmation(&self, cx: &Context) -> Result<Confirmation, ToolError>;

    /// Runs the call to its end; `cx` carries cancellation and live output.
    ///
    /// # Errors
    ///
    /// What went wrong, in one sentence that a model can act on.
    fn run(self: Box<Self>, cx: &Context) -> Result<ToolResult, ToolError>;
}

fn path_as_text<S: serde::Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&show_path(path))
}

/// A place that a call touches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Location {
    /// Absolute. Printed as text; bytes that are no UTF-8 as `\x{ff}`.
    #[serde(serialize_with = "path_as_text")]
    pub path: PathBuf,
    /// One-based, where the call is about one line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
}
