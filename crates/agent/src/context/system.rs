//! The system prompt: the built-in one, or a file named by `GEMINI_SYSTEM_MD`.
//! `GEMINI_WRITE_SYSTEM_MD` exports the prompt to a file, as a start for such a file.

use super::{line_of, platform};
use crate::clock;
use gemini_tools_core::tool::Cancellation;
use gemini_tools_workspace::text::detect;
use gemini_tools_workspace::{OpenFile, Workspace, WorkspacePath};
use std::ffi::OsStr;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

/// The built-in prompt. Text that differs from run to run, such as the date, is appended later, so
/// that an exported copy does not contain it.
const RULES: &str = include_str!("system.md");

const PROJECTS: &str = ".gemini/system.md";

const MAX_BYTES: u64 = 1024 * 1024;

/// Returns the system prompt with the memory at its end.
///
/// If `GEMINI_SYSTEM_MD` is `1` or `true`, `.gemini/system.md` below the first root of the
/// workspace replaces the built-in prompt; with any other value, the file of that name does. If the
/// variable is unset, empty, `0` or `false`, the built-in prompt is used. `GEMINI_WRITE_SYSTEM_MD`
/// names, by the same rules, a file to which the prompt is written, without the memory and without
/// what changes from run to run.
///
/// # Errors
///
/// Returns a message if a file that is asked for can't be read or written.
pub fn system_prompt(workspace: &Workspace, memory: &str) -> Result<String, String> {
    let variable = |name| std::env::var_os(name).unwrap_or_default();
    let (read, written) = (
        variable("GEMINI_SYSTEM_MD"),
        variable("GEMINI_WRITE_SYSTEM_MD"),
    );
    build(workspace, &read, &written, memory)
}

fn build(
    workspace: &Workspace,
    read: &OsStr,
    written: &OsStr,
    memory: &str,
) -> Result<String, String> {
    let own = PromptFile::named_by(read, workspace).map(|file| file.read(workspace));
    let own = own.transpose()?;
    if let Some(file) = PromptFile::named_by(written, workspace) {
        file.write(workspace, own.as_deref().unwrap_or(RULES))?;
    }
    let mut prompt = own.unwrap_or_else(|| {
        let rules = RULES.trim_end();
        let (today, platform, root) = (clock::today(), platform(), line_of(workspace.root()));
        format!(
            "{rules}\n\n# This run\n\n- Date: {today}\n- Operating system: {platform}\n\
             - Project's root directory: {root}"
        )
    });
    let memory = memory.trim();
    if !memory.is_empty() {
        prompt.push_str("\n\n---\n\n");
        prompt.push_str(memory);
    }
    Ok(prompt)
}

enum PromptFile {
    /// The project's `.gemini/system.md`. It is opened within the workspace, so a link in an
    /// untrusted project can't lead to a file outside.
    Projects,
    Other(PathBuf),
}

impl PromptFile {
    fn named_by(value: &OsStr, workspace: &Workspace) -> Option<Self> {
        match value.to_string_lossy().trim().to_lowercase().as_str() {
            "" | "0" | "false" => None,
            "1" | "true" => Some(Self::Projects),
            _ => Some(Self::Other(user_path(value, workspace))),
        }
    }

    fn read(&self, workspace: &Workspace) -> Result<String, String> {
        let (path, open) = match self {
            Self::Projects => {
                let place = workspace.root_place().join(Path::new(PROJECTS));
                let path = workspace.root().join(PROJECTS);
                (path, workspace.open_file(&place).map_err(|e| e.message))
            }
            Self::Other(path) => {
                let open = Workspace::for_user_file(path)
                    .and_then(|(user, place)| user.open_file(&place))
                    .map_err(|e| e.message);
                (path.clone(), open)
            }
        };
        read(&path, open)
    }

    fn write(&self, workspace: &Workspace, text: &str) -> Result<(), String> {
        let put = |workspace: &Workspace, place: &WorkspacePath| {
            workspace
                .target(place, &Cancellation::default())?
                .commit(place, |file| file.write_all(text.as_bytes()))
        };
        let written = match self {
            Self::Projects => {
                let place = workspace.root_place().join(Path::new(PROJECTS));
                put(workspace, &place)
            }
            Self::Other(path) => {
                Workspace::for_user_file(path).and_then(|(user, place)| put(&user, &place))
            }
        };
        let failed = |why| format!("GEMINI_WRITE_SYSTEM_MD: the prompt can't be written: {why}");
        written.map(drop).map_err(|e| failed(e.message))
    }
}

fn user_path(value: &OsStr, workspace: &Workspace) -> PathBuf {
    let path = Path::new(value.to_str().map_or(value, |text| OsStr::new(text.trim())));
    match (path.strip_prefix("~"), workspace.home()) {
        (Ok(rest), Some(home)) => home.join(rest),
        _ => workspace.root().join(path),
    }
}

fn read(path: &Path, open: Result<OpenFile, String>) -> Result<String, String> {
    let unusable = |why: String| {
        let path = path.display();
        format!("GEMINI_SYSTEM_MD asks for the system prompt {path}, which can't be used: {why}")
    };
    let open = open.map_err(unusable)?;
    let mut bytes = Vec::new();
    (&open.file)
        .take(MAX_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|e| unusable(format!("{e}.")))?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(unusable(format!("it has more than {MAX_BYTES} bytes.")));
    }
    match detect(&bytes, true) {
        Some(encoding) => Ok(encoding.decode(&bytes).into_owned()),
        None => Err(unusable("it is not text.".to_owned())),
    }
}

#[cfg(test)]
mod tests;
