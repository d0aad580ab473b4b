//! The tree of directories that the model is shown, drawn as Gemini CLI draws it.

use super::line_of;
use gemini_tools_core::text::{push_collation_key, visible};
use gemini_tools_workspace::ignore::IgnoreSource;
use gemini_tools_workspace::walk::DirectoryEntry;
use gemini_tools_workspace::{Respect, Workspace, WorkspacePath, show_name};
use std::cmp::Reverse;
use std::collections::VecDeque;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Files and directories that are shown in all.
const MAX_ENTRIES: usize = 200;

/// Directories that are shown but not entered.
const NOT_ENTERED: [&[u8]; 3] = [b"node_modules", b".git", b"dist"];

/// Stands for what is not shown.
const MORE: &str = "...";

/// The directories of a workspace, one tree for each root.
pub(super) fn structure(workspace: &Workspace) -> String {
    let mut text = format!(
        "What is there, up to {MAX_ENTRIES} files and directories; \"{MORE}\" marks what is not \
         shown in full, and what ignore files name is left out."
    );
    let roots = workspace.root_places();
    let mut left = MAX_ENTRIES;
    for (i, root) in roots.iter().enumerate() {
        // What one root does not need is for the next ones.
        let mut tree = Tree::new(workspace, left / (roots.len() - i));
        left -= tree.fill(root);
        text.push_str(&format!(
            "\n\n{}/\n",
            line_of(root.path()).trim_end_matches('/')
        ));
        match tree.folders.first() {
            Some(top) if top.is_closed => text.push_str("(It can't be read.)"),
            _ => tree.draw(0, "", &mut text),
        }
        text.truncate(text.trim_end().len());
    }
    text
}

/// A directory in the tree.
#[derive(Default)]
struct Folder {
    name: String,
    files: Vec<String>,
    more_files: bool,
    /// Indices.
    folders: Vec<usize>,
    more_folders: bool,
    /// Set if its content is not shown.
    is_closed: bool,
}

struct Tree<'a> {
    workspace: &'a Workspace,
    /// The first one is the root.
    folders: Vec<Folder>,
    /// Entries that it may have.
    limit: usize,
    entries: usize,
}

impl<'a> Tree<'a> {
    fn new(workspace: &'a Workspace, limit: usize) -> Self {
        Self {
            workspace,
            folders: vec![Folder::default()],
            limit,
            entries: 0,
        }
    }

    /// Takes directories in, the nearest to the root first; gives back how many entries there
    /// are.
    fn fill(&mut self, root: &WorkspacePath) -> usize {
        let mut queue = VecDeque::from([(0, root.clone())]);
        while let Some((index, place)) = queue.pop_front() {
            if self.is_full() {
                self.folders[index].is_closed = true;
                continue;
            }
            match self.workspace.list_dir(&place, Respect::ALL) {
                Ok(entries) => self.add(index, &place, entries, &mut queue),
                Err(_) => self.folders[index].is_closed = true,
            }
        }
        self.entries
    }

    fn is_full(&self) -> bool {
        self.entries >= self.limit
    }

    fn add(
        &mut self,
        index: usize,
        place: &WorkspacePath,
        mut entries: Vec<DirectoryEntry>,
        queue: &mut VecDeque<(usize, WorkspacePath)>,
    ) {
        entries.retain(|e| match e.ignored {
            None => true,
            // That there is a `target` or `build` is worth knowing.
            Some(IgnoreSource::Git) => e.is_dir,
            Some(IgnoreSource::Gemini) => false,
        });
        // A listing has no repository's own directory.
        let git = child(place, b".git");
        if entries.iter().all(|e| e.name != b".git") && self.workspace.file_type(&git).is_ok() {
            entries.push(DirectoryEntry {
                name: b".git".to_vec(),
                is_dir: true,
                is_link: false,
                ignored: None,
            });
        }
        entries.sort_by_cached_key(|e| {
            let mut key = Vec::new();
            push_collation_key(&mut key, &e.name);
            (key, Reverse(e.name.clone()))
        });
        for file in entries.iter().filter(|e| !e.is_dir) {
            if self.is_full() {
                self.folders[index].more_files = true;
                break;
            }
            self.entries += 1;
            self.folders[index].files.push(visible_name(&file.name));
        }
        for folder in entries.iter().filter(|e| e.is_dir) {
            if self.is_full() {
                self.folders[index].more_folders = true;
                break;
            }
            self.entries += 1;
            let is_closed = folder.is_link
                || folder.ignored.is_some()
                || NOT_ENTERED.contains(&folder.name.as_slice());
            let new = self.folders.len();
            self.folders.push(Folder {
                name: visible_name(&folder.name),
                is_closed,
                ..Folder::default()
            });
            self.folders[index].folders.push(new);
            if !is_closed {
                queue.push_back((new, child(place, &folder.name)));
            }
        }
    }

    /// Draws what a directory holds; `indent` is before each of its lines.
    fn draw(&self, index: usize, indent: &str, text: &mut String) {
        let folder = &self.folders[index];
        let more = |is_more: bool| is_more.then_some(MORE);
        let files = folder.files.iter().map(String::as_str);
        let files = files
            .chain(more(folder.more_files))
            .map(|name| (name, None));
        let folders = folder.folders.iter();
        let folders = folders.map(|i| (self.folders[*i].name.as_str(), Some(*i)));
        let last = more(folder.more_folders).map(|name| (name, None));
        let mut lines = files.chain(folders).chain(last).peekable();
        while let Some((name, folder)) = lines.next() {
            let is_last = lines.peek().is_none();
            text.push_str(indent);
            text.push_str(if is_last {
                "└───"
            } else {
                "├───"
            });
            text.push_str(name);
            if let Some(folder) = folder {
                let mark = if self.folders[folder].is_closed {
                    MORE
                } else {
                    ""
                };
                text.push_str(&format!("/{mark}\n"));
                let deeper = if is_last { "    " } else { "│   " };
                self.draw(folder, &format!("{indent}{deeper}"), text);
            } else {
                text.push('\n');
            }
        }
    }
}

fn visible_name(name: &[u8]) -> String {
    visible(&show_name(name)).into_owned()
}

fn child(place: &WorkspacePath, name: &[u8]) -> WorkspacePath {
    place.join(Path::new(OsStr::from_bytes(name)))
}

#[cfg(test)]
mod tests {
    use super::super::tests::Place;
    use super::structure;
    use std::os::unix::fs::symlink;

    /// The tree of the project, without what is before it.
    fn tree(place: &Place) -> String {
        let text = structure(&place.workspace("", &[]));
        let root = format!("\n\n{}/\n", place.root.display());
        text.split_once(&root)
            .expect("the root's line")
            .1
            .to_owned()
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
            tree(&place),
            "├───A.rs\n├───b_c.rs\n├───b.rs\n├───.git/...\n├───dist/...\n├───node_modules/...\n└───src/\n    \
             ├───z.rs\n    └───x/\n        └───y.rs"
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
            tree(&place),
            "├───.geminiignore\n├───.gitignore\n├───.git/...\n├───k/\n│   └───c\n└───target/..."
        );
    }

    #[test]
    fn links_are_shown_but_not_followed_and_names_stay_on_their_line() {
        let place = Place::new();
        std::fs::remove_dir(place.root.join(".git")).expect("removed");
        place.write("project/d/f\ng", "");
        symlink("..", place.root.join("d/up")).expect("made");
        symlink("/etc", place.root.join("out")).expect("made");
        assert_eq!(
            tree(&place),
            "├───out\n└───d/\n    ├───f\\ng\n    └───up/..."
        );
    }

    #[test]
    fn what_does_not_fit_is_marked() {
        let place = Place::new();
        for n in 0..150 {
            place.write(&format!("project/a/{n:03}"), "");
            place.write(&format!("project/b/{n:03}"), "");
        }
        place.write("project/b/deep/x", "");
        let text = tree(&place);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 200 + 2, "{text}");
        assert_eq!(lines[lines.len() - 2..], ["    ├───...", "    └───..."]);
        assert_eq!(lines[..2], ["├───.git/...", "├───a/"]);
    }

    #[test]
    fn directories_for_which_there_is_no_room_are_marked_too() {
        let place = Place::new();
        for n in 0..210 {
            place.write(&format!("project/{n:03}/f"), "");
        }
        let text = tree(&place);
        assert!(text.contains("├───000/...\n"), "{text}");
        assert!(text.ends_with("├───198/...\n└───..."), "{text}");
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
        assert_eq!(text.matches("───0").count(), 200, "{text}");
        let empty = place.home.join("empty");
        std::fs::create_dir(&empty).expect("made");
        let text = structure(&place.workspace("", &[&empty]));
        assert!(text.ends_with(&format!("{}/", empty.display())), "{text}");
    }
}
