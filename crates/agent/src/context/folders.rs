//! The tree of files and directories that is shown to the model at the start of a session.

use super::line_of;
use gemini_tools_core::text::{collation_key, visible};
use gemini_tools_workspace::ignore::IgnoreSource;
use gemini_tools_workspace::walk::DirectoryEntry;
use gemini_tools_workspace::{Respect, Workspace, WorkspacePath, show_name, show_path};
use std::cmp::Reverse;
use std::collections::VecDeque;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

const MAX_ENTRIES: usize = 200;

const NOT_ENTERED: [&[u8]; 3] = [b"node_modules", b".git", b"dist"];

const MORE: &str = "...";

pub(super) fn structure(workspace: &Workspace) -> String {
    let mut text = format!(
        "What is there, up to {MAX_ENTRIES} files and directories; \"{MORE}\" stands for what is \
         not shown, and what ignore files name is left out."
    );
    let roots = workspace.root_places();
    let mut left = MAX_ENTRIES;
    for (i, root) in roots.iter().enumerate() {
        // Each root gets an equal share of the entries that are left, so what a small root does not
        // use goes to the roots after it.
        let lines = list(workspace, root, left / (roots.len() - i));
        left = left.saturating_sub(lines.len());
        let name = line_of(root.path());
        text.push_str(&format!("\n\n{}/", name.trim_end_matches('/')));
        for line in lines {
            text.push('\n');
            text.push_str(&line);
        }
    }
    text
}

/// Lists up to `limit` paths below a root, breadth first, so that the deepest ones are cut off.
fn list(workspace: &Workspace, root: &WorkspacePath, limit: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut queue = VecDeque::from([root.clone()]);
    while let Some(directory) = queue.pop_front() {
        let prefix = match visible(&show_path(directory.rel())).as_ref() {
            "" => String::new(),
            path => format!("{path}/"),
        };
        let Ok(entries) = workspace.list_dir(&directory, Respect::ALL) else {
            lines.push(prefix + MORE);
            continue;
        };
        for entry in shown_entries(workspace, &directory, entries) {
            if lines.len() >= limit {
                lines.push(MORE.to_owned());
                return lines;
            }
            let is_closed = entry.is_link
                || entry.ignored.is_some()
                || NOT_ENTERED.contains(&entry.name.as_slice());
            let name = show_name(&entry.name);
            let mark = match (entry.is_dir, is_closed) {
                (false, _) => "",
                (true, false) => "/",
                (true, true) => "/...",
            };
            lines.push(format!("{prefix}{}{mark}", visible(&name)));
            if mark == "/" {
                queue.push_back(child(&directory, &entry.name));
            }
        }
    }
    lines
}

fn shown_entries(
    workspace: &Workspace,
    directory: &WorkspacePath,
    mut entries: Vec<DirectoryEntry>,
) -> Vec<DirectoryEntry> {
    entries.retain(|e| match e.ignored {
        None => true,
        // Directories that git ignores are listed, but not entered: the model should know that
        // there is a `target` or `build`.
        Some(IgnoreSource::Git) => e.is_dir,
        Some(IgnoreSource::Gemini) => false,
    });
    // `list_dir` leaves `.git` out, but the model should know that this is a repository.
    let git = child(directory, b".git");
    if entries.iter().all(|e| e.name != b".git") && workspace.file_type(&git).is_ok() {
        entries.push(DirectoryEntry {
            name: b".git".to_vec(),
            is_dir: true,
            is_link: false,
            ignored: None,
        });
    }
    entries.sort_by_cached_key(|e| (e.is_dir, collation_key(&e.name), Reverse(e.name.clone())));
    entries
}

fn child(place: &WorkspacePath, name: &[u8]) -> WorkspacePath {
    place.join(Path::new(OsStr::from_bytes(name)))
}

#[cfg(test)]
mod tests;
