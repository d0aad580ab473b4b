//! Questions to a person before a call runs.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Whether a call may run, and whether a person must agree first.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Confirmation {
    /// The call may run as it is.
    NotNeeded,
    /// A person must agree.
    Ask(ConfirmationDetails),
    /// The call must not run. Holds the reason, for the model.
    Forbidden(String),
}

impl Confirmation {
    /// Returns the JSON that `--explain` prints: `false`, the details of the question, or an object
    /// with the reason as `forbidden`.
    pub fn to_json(&self) -> Value {
        match self {
            Confirmation::NotNeeded => Value::Bool(false),
            Confirmation::Ask(details) => {
                serde_json::to_value(details).unwrap_or(Value::Bool(true))
            }
            Confirmation::Forbidden(reason) => serde_json::json!({ "forbidden": reason }),
        }
    }
}

/// What a person is shown in order to decide about a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(
    tag = "type",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
#[non_exhaustive]
pub enum ConfirmationDetails {
    /// A file is about to change.
    Edit {
        /// Heading of the question.
        title: String,
        /// The file's name without directories.
        file_name: String,
        /// The file's absolute path.
        file_path: String,
        /// The change as a unified diff.
        file_diff: String,
        /// The file's present content. `None` for a new file, and for one too large to be shown
        /// whole.
        original_content: Option<String>,
        /// The file's future content, or only the changed part of a large file.
        new_content: String,
        /// The change of each file if there may be several. `file_diff` is the diff of them all.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        files: Vec<FileChange>,
    },
    /// A command is about to run.
    Exec {
        /// Heading of the question.
        title: String,
        /// The whole shell line.
        command: String,
        /// The name of the first program that the line starts.
        root_command: String,
        /// The names of all programs that the line starts.
        root_commands: Vec<String>,
        /// Parts of the line whose commands can't be known before it runs. Omitted if there are
        /// none.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        unresolved: Vec<String>,
    },
    /// Any other call that needs consent.
    Info {
        /// Heading of the question.
        title: String,
        /// Description of the call.
        prompt: String,
        /// Addresses that will be requested.
        urls: Vec<String>,
    },
    /// A tool of an MCP server is about to run.
    Mcp {
        /// Heading of the question.
        title: String,
        /// The server's name in the settings.
        server_name: String,
        /// The tool's name on the server.
        tool_name: String,
        /// The tool's name as declared to the model.
        tool_display_name: String,
    },
}

/// A file among several that are about to change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FileChange {
    /// What is done to the file: `creates`, `updates`, `moves` or `deletes`.
    pub change: String,
    /// Absolute path of the file.
    pub file_path: String,
    /// Absolute path that the file is moved to; `None` if it is not moved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new_path: Option<String>,
    /// The file's change as a unified diff.
    pub file_diff: String,
}

/// The approval mode, as in Gemini CLI.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalMode {
    /// Edits and commands need approval.
    #[default]
    Default,
    /// Edits need no approval.
    AutoEdit,
    /// No call needs approval.
    Yolo,
    /// Only calls that read may run.
    Plan,
}

impl ApprovalMode {
    /// The names of all modes on command lines, in the order of the variants.
    pub const NAMES: [&str; 4] = ["default", "auto_edit", "yolo", "plan"];

    /// The modes, from the one that asks most to the one that asks least.
    pub const ASKING_MOST_FIRST: [Self; 4] =
        [Self::Plan, Self::Default, Self::AutoEdit, Self::Yolo];

    /// Returns the mode with this name, or `None` if there is none.
    pub fn from_name(name: &str) -> Option<Self> {
        let mut all = Self::ASKING_MOST_FIRST.into_iter();
        all.find(|mode| mode.name() == name)
    }

    /// Returns the mode's name.
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }
}
