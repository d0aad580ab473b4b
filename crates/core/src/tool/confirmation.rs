//! Questions to a person before a call runs.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The need for a person's consent to a call.
#[derive(Debug, Clone, PartialEq)]
pub enum Confirmation {
    /// The call may run as it is.
    NotNeeded,
    /// A person must agree.
    Ask(ConfirmationDetails),
    /// The call must not run; the reason is for the model.
    Forbidden(String),
}

impl Confirmation {
    /// Returns `false`, or the details: the form that `--explain` prints.
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

/// The details that a person who decides is shown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(
    tag = "type",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
pub enum ConfirmationDetails {
    /// A file is about to change.
    Edit {
        /// Heading.
        title: String,
        /// The file's name without directories.
        file_name: String,
        /// Absolute.
        file_path: String,
        /// Unified diff.
        file_diff: String,
        /// Null for a new file, and for one too large to be shown whole.
        original_content: Option<String>,
        /// The content as it will be; only the changed region where the file is too large.
        new_content: String,
        /// The changes of the files, where there may be several; `file_diff` has them all.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        files: Vec<FileChange>,
    },
    /// A command is about to run.
    Exec {
        /// Heading.
        title: String,
        /// The whole line.
        command: String,
        /// The first program's name.
        root_command: String,
        /// The names of all programs that the line starts.
        root_commands: Vec<String>,
        /// Text of the line whose commands can't be known before it runs; left out where
        /// there is none.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        unresolved: Vec<String>,
    },
    /// Something else that needs a yes.
    Info {
        /// Heading.
        title: String,
        /// Description of the call.
        prompt: String,
        /// Addresses that will be asked.
        urls: Vec<String>,
    },
    /// A tool of an MCP server is about to run.
    Mcp {
        /// Heading.
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
    /// What is done to it: `creates`, `updates`, `moves` or `deletes`.
    pub change: String,
    /// Absolute.
    pub file_path: String,
    /// Absolute path that it is moved to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new_path: Option<String>,
    /// Unified diff.
    pub file_diff: String,
}

/// The approval mode.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalMode {
    /// Edits and commands ask.
    #[default]
    Default,
    /// Edits don't ask.
    AutoEdit,
    /// Every call runs unasked.
    Yolo,
    /// Only reading kinds run.
    Plan,
}

impl ApprovalMode {
    /// The names of all modes in their order, on command lines.
    pub const NAMES: [&str; 4] = ["default", "auto_edit", "yolo", "plan"];

    /// The modes, from the one that lets the fewest calls run unasked.
    pub const ASKING_MOST_FIRST: [Self; 4] =
        [Self::Plan, Self::Default, Self::AutoEdit, Self::Yolo];

    /// Returns the mode of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        let mut all = Self::ASKING_MOST_FIRST.into_iter();
        all.find(|mode| mode.name() == name)
    }

    /// Returns the mode's name.
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }
}
