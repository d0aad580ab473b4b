//! The system prompt: the built-in one, or a file named by `GEMINI_SYSTEM_MD`.
//! `GEMINI_WRITE_SYSTEM_MD` exports the prompt to a file, as a start for such a file.

use gemini_tools_core::tool::{Cancellation, ToolError};
use gemini_tools_workspace::file_owner::FileOwner;
use gemini_tools_workspace::{Workspace, WorkspacePath};
use std::ffi::OsStr;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// The built-in prompt. What differs from run to run, such as the date, is in the first message, so
/// that an exported copy does not contain it.
const RULES: &str = include_str!("system.md");

const PROJECTS: &str = ".gemini/system.md";

/// Returns the system prompt with the memory at its end.
///
/// If `GEMINI_SYSTEM_MD` is `1` or `true`, `.gemini/system.md` below the first root of the
/// workspace replaces the built-in prompt; with any other value, the file of that name does. If the
/// variable is unset, empty, `0` or `false`, the built-in prompt is used. `GEMINI_WRITE_SYSTEM_MD`
/// names, by the same rules, a file to which the prompt is written, without the memory.
///
/// # Errors
///
/// Returns a message if a file that is asked for can't be read or written.
pub fn system_prompt(workspace: &Workspace, memory: &str) -> Result<String, String> {
    let [read, written] = ["GEMINI_SYSTEM_MD", "GEMINI_WRITE_SYSTEM_MD"]
        .map(|name| std::env::var_os(name).unwrap_or_default());
    build(workspace, &read, &written, memory)
}

fn build(
    workspace: &Workspace,
    read: &OsStr,
    written: &OsStr,
    memory: &str,
) -> Result<String, String> {
    let own = named_by(read, workspace).map(|(path, owner)| read_file(&path, owner));
    let own = own.transpose()?;
    if let Some((path, owner)) = named_by(written, workspace) {
        let text = own.as_deref().unwrap_or(RULES);
        write(workspace, &path, owner, text).map_err(|e| {
            format!(
                "GEMINI_WRITE_SYSTEM_MD: the prompt can't be written: {}",
                e.message
            )
        })?;
    }
    let mut prompt = own.unwrap_or_else(|| RULES.trim_end().to_owned());
    let memory = memory.trim();
    if !memory.is_empty() {
        prompt.push_str("\n\n---\n\n");
        prompt.push_str(memory);
    }
    Ok(prompt)
}

/// Returns the file that a variable names. A project's file is opened relative to the project, so
/// that a link in an untrusted project can't lead to a file outside of it.
fn named_by<'a>(value: &OsStr, workspace: &'a Workspace) -> Option<(PathBuf, FileOwner<'a>)> {
    match value.to_string_lossy().trim().to_lowercase().as_str() {
        "" | "0" | "false" => None,
        "1" | "true" => {
            let (root, home) = (workspace.root(), workspace.home());
            Some((root.join(PROJECTS), FileOwner::Projects { root, home }))
        }
        _ => Some((user_path(value, workspace), FileOwner::Users)),
    }
}

fn user_path(value: &OsStr, workspace: &Workspace) -> PathBuf {
    let path = Path::new(value.to_str().map_or(value, |text| OsStr::new(text.trim())));
    match (path.strip_prefix("~"), workspace.home()) {
        (Ok(rest), Some(home)) => home.join(rest),
        _ => workspace.root().join(path),
    }
}

fn read_file(path: &Path, owner: FileOwner<'_>) -> Result<String, String> {
    let missing = || io::Error::other("there is no such file");
    let text = owner.read(path).and_then(|text| text.ok_or_else(missing));
    text.map_err(|why| {
        let path = path.display();
        format!("GEMINI_SYSTEM_MD asks for the system prompt {path}, which can't be used: {why}.")
    })
}

fn write(
    workspace: &Workspace,
    path: &Path,
    owner: FileOwner<'_>,
    text: &str,
) -> Result<(), ToolError> {
    let put = |workspace: &Workspace, place: &WorkspacePath| {
        let target = workspace.target(place, &Cancellation::default())?;
        target.commit(place, |file| file.write_all(text.as_bytes()))
    };
    match owner {
        FileOwner::Projects { .. } => {
            put(workspace, &workspace.root_place().join(Path::new(PROJECTS)))
        }
        FileOwner::Users => {
            let (user, place) = Workspace::for_user_file(path)?;
            put(&user, &place)
        }
    }
    .map(drop)
}

#[cfg(test)]
mod tests;
