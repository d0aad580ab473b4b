//! What a model is told before the prompt: the system prompt, the memory files of the user and of
//! the project, and the system and directories that it works in.
//!
//! The order of the parts is Gemini CLI 0.8's: the memory is at the end of the system prompt; the
//! environment is the first message of the user, and [`ACKNOWLEDGEMENT`] is put there as the
//! model's reply to it.

mod folders;
mod memory;
mod system;

pub use memory::{Memory, memory};
pub use system::system_prompt;

use chrono::Local;
use gemini_tools_core::text::{show_path, visible};
use gemini_tools_workspace::Workspace;
use std::path::Path;

/// The model's answer to [`environment_message`], as Gemini CLI puts it into the history.
pub const ACKNOWLEDGEMENT: &str = "Got it. Thanks for the context!";

/// Returns the first message of the user: the date, the operating system, the directories of the
/// workspace, and a tree of what they contain.
pub fn environment_message(workspace: &Workspace) -> String {
    let roots: Vec<String> = workspace.roots().map(line_of).collect();
    let directories = match roots.as_slice() {
        [one] => format!("The working directory is {one}"),
        more => format!("The working directories are:\n  - {}", more.join("\n  - ")),
    };
    format!(
        "Some facts before we begin.\nToday is {}.\nThe operating system is {}.\n{directories}\n{}",
        Local::now().format("%A, %B %-d, %Y"),
        std::env::consts::OS,
        folders::structure(workspace)
    )
}

/// Formats a path on a single line. A directory's name may contain line breaks, and its second line
/// must not pass for a line of the text around it.
fn line_of(path: &Path) -> String {
    visible(&show_path(path)).into_owned()
}

#[cfg(test)]
mod tests;
