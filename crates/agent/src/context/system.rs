//! The system prompt: ours, or the file that `GEMINI_SYSTEM_MD` names.

use super::{line_of, platform};
use crate::clock;
use gemini_tools_workspace::text::detect;
use gemini_tools_workspace::{OpenFile, Workspace};
use std::ffi::OsStr;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Our rules. What changes from run to run is said after them.
const RULES: &str = include_str!("system.md");

/// The file of the project, below the first root.
const PROJECTS: &str = ".gemini/system.md";

/// Maximum size of a system prompt, in bytes.
const MAX_BYTES: u64 = 1024 * 1024;

/// Returns the system prompt with the memory at its end.
///
/// `GEMINI_SYSTEM_MD` puts a file in the place of our prompt: `1` or `true`
/// `.gemini/system.md` below the first root, any other value the file of that name; nothing,
/// `0` and `false` leave ours.
///
/// # Errors
///
/// Returns a message if a file that is asked for can't be read.
pub fn system_prompt(workspace: &Workspace, memory: &str) -> Result<String, String> {
    let value = std::env::var_os("GEMINI_SYSTEM_MD").unwrap_or_default();
    build(workspace, &value, memory)
}

fn build(workspace: &Workspace, value: &OsStr, memory: &str) -> Result<String, String> {
    let text = value.to_string_lossy();
    let mut prompt = match text.trim().to_lowercase().as_str() {
        "" | "0" | "false" => {
            let rules = RULES.trim_end();
            let (today, platform, root) = (clock::today(), platform(), line_of(workspace.root()));
            format!(
                "{rules}\n\n# This run\n\n- Date: {today}\n- Operating system: {platform}\n\
                 - Project's root directory: {root}"
            )
        }
        "1" | "true" => {
            let place = workspace.root_place().join(Path::new(PROJECTS));
            let open = workspace.open_file(&place).map_err(|e| e.message);
            read(&workspace.root().join(PROJECTS), open)?
        }
        _ => {
            let path = user_path(value, workspace);
            let open = Workspace::for_user_file(&path)
                .and_then(|(user, place)| user.open_file(&place))
                .map_err(|e| e.message);
            read(&path, open)?
        }
    };
    let memory = memory.trim();
    if !memory.is_empty() {
        prompt.push_str("\n\n---\n\n");
        prompt.push_str(memory);
    }
    Ok(prompt)
}

/// Returns the path that a value names; `~` is the home directory.
fn user_path(value: &OsStr, workspace: &Workspace) -> PathBuf {
    let path = Path::new(value.to_str().map_or(value, |text| OsStr::new(text.trim())));
    match (path.strip_prefix("~"), workspace.home()) {
        (Ok(rest), Some(home)) => home.join(rest),
        _ => workspace.root().join(path),
    }
}

/// Reads a system prompt.
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
