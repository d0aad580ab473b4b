//! The list of files and directories that the model is shown.

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

/// Maximum files and directories that are shown in all.
const MAX_ENTRIES: usize = 200;

/// Directories that are shown but not entered.
const NOT_ENTERED: [&[u8]; 3] = [b"node_modules", b".git", b"dist"];

/// Stands for what is not shown.
const MORE: &str = "...";

/// Lists what the directories of a workspace hold.
pub(super) fn structure(workspace: &Workspace) -> String {
    let mut text = format!(
        "What is there, up to {MAX_ENTRIES} files and directories; \"{MORE}\" stands for what is \
         not shown, and what ignore files name is left out."
    );
    let roots = workspace.root_places();
    let mut left = MAX_ENTRIES;
    for (i, root) in roots.iter().enumerate() {
        // What one root does not need is for the next ones.
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

/// Returns the paths below a root, the nearest to it first, up to so many.
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

/// Returns the entries of a directory that are shown, files first.
fn shown_entries(
    workspace: &Workspace,
    directory: &WorkspacePath,
    mut entries: Vec<DirectoryEntry>,
) -> Vec<DirectoryEntry> {
    entries.retain(|e| match e.ignored {
        None => true,
        // That there is a `target` or `build` is worth knowing.
        Some(IgnoreSource::Git) => e.is_dir,
        Some(IgnoreSource::Gemini) => false,
    });
    // A listing has no repository's own directory.
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
mod tests {
    use super::super::tests::Place;
    use super::structure;
    use std::os::unix::fs::symlink;

    /// The list of the project, without what is before it.
    fn listed(place: &Place) -> Vec<String> {
        let text = structure(&place.workspace("", &[]));
        let root = format!("\n\n{}/\n", place.root.display());
        let list = text.split_once(&root).expect("the root's line").1;
        list.lines().map(str::to_owned).collect()
    }

    #[test]
    fn files_come_before_directories_and_some_are_not_entered() {
        let place = Place::new();
        for file in [
            "b.rs",
            "A.rs",
            "b_c.rs",
            "src/x/y.rs",
            "src/z.rs",
            "dist/d",
            "node_modules/m/m.js",
        ] {
            place.write(&format!("project/{file}"), "");
        }
        assert_eq!(
            listed(&place),
            [
                "A.rs",
                "b_c.rs",
                "b.rs",
                ".git/...",
                "dist/...",
                "node_modules/...",
                "src/",
                "src/z.rs",
                "src/x/",
                "src/x/y.rs"
            ]
        );
    }

    #[test]
    fn ignore_rules_are_obeyed() {
        let place = Place::new();
        place.write("project/.gitignore", "target/\n*.log\n");
        place.write("project/.geminiignore", "secret/\n");
        for file in ["target/t", "secret/s", "a.log", "k/b.log", "k/c"] {
            place.write(&format!("project/{file}"), "");
        }
        assert_eq!(
            listed(&place),
            [
                ".geminiignore",
                ".gitignore",
                ".git/...",
                "k/",
                "target/...",
                "k/c"
            ]
        );
    }

    #[test]
    fn links_are_shown_but_not_followed_and_names_stay_on_their_line() {
        let place = Place::new();
        std::fs::remove_dir(place.root.join(".git")).expect("removed");
        place.write("project/d/f\ng", "");
        symlink("..", place.root.join("d/up")).expect("made");
        symlink("/etc", place.root.join("out")).expect("made");
        assert_eq!(listed(&place), ["out", "d/", "d/f\\ng", "d/up/..."]);
    }

    #[test]
    fn a_list_that_is_too_long_ends_with_a_mark() {
        let place = Place::new();
        for n in 0..150 {
            place.write(&format!("project/a/{n:03}"), "");
            place.write(&format!("project/b/{n:03}"), "");
        }
        let lines = listed(&place);
        assert_eq!(lines.len(), 201);
        assert_eq!(lines[..3], [".git/...", "a/", "b/"]);
        assert_eq!(lines[199..], ["b/046", "..."]);
    }

    #[test]
    fn roots_share_the_room() {
        let place = Place::new();
        for n in 0..300 {
            place.write(&format!("project/{n:03}"), "");
            place.write(&format!("lib/{n:03}"), "");
        }
        let lib = place.home.join("lib");
        let text = structure(&place.workspace("", &[&lib]));
        assert_eq!(text.matches("\n0").count(), 199, "{text}");
        let empty = place.home.join("empty");
        std::fs::create_dir(&empty).expect("made");
        let text = structure(&place.workspace("", &[&empty]));
        assert!(text.ends_with(&format!("{}/", empty.display())), "{text}");
    }
}
