//! The memory: `GEMINI.md` files of the user, of the project and of what lies below.
//!
//! They come from the general to the particular: the user's first, then those from the
//! project's root down to the current directory, then those below it. The text has the form
//! that Gemini CLI gives it. A project's file comes from the project only, whatever links say;
//! the user's own file may be a link, as such files often are.

use super::budget::{Budget, NotRead};
use super::imports::{FileId, Importer, id_of};
use gemini_tools_core::text::visible;
use gemini_tools_workspace::{OpenFile, Respect, Workspace, WorkspacePath, show_path};
use std::collections::{HashSet, VecDeque};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The name where the settings give none.
const DEFAULT_NAME: &str = "GEMINI.md";

/// Directories below the current one that are looked into.
const MAX_DIRECTORIES: usize = 200;

/// Never looked into: what comes with a dependency has nothing to say here.
const NEVER: [&[u8]; 2] = [b".git", b"node_modules"];

/// The memory: texts of the user and the project for the model.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Memory {
    /// For the system prompt; empty where there is none.
    pub text: String,
    /// The number of its files, those that are imported not counted.
    pub files: usize,
    /// Problems, for people: files that were left out. The text has them too.
    pub problems: Vec<String>,
}

/// Reads the memory; `names` are those of its files in the settings.
pub fn memory(workspace: &Workspace, names: &[String]) -> Memory {
    let mut collector = Collector {
        cwd: workspace.root(),
        budget: Budget::new(),
        seen: HashSet::new(),
        blocks: Vec::new(),
        memory: Memory::default(),
    };
    let names = collector.names(names);
    collector.users(workspace, &names);
    collector.projects(workspace, &names);
    collector.finish()
}

struct Collector<'a> {
    cwd: &'a Path,
    budget: Budget,
    /// Files that are in the text; one may go by several names.
    seen: HashSet<FileId>,
    blocks: Vec<String>,
    memory: Memory,
}

impl Collector<'_> {
    /// The names that stay in their directory.
    fn names(&mut self, wanted: &[String]) -> Vec<String> {
        let is_plain = |name: &&String| {
            !name.contains('\0') && Path::new(name).file_name() == Some(OsStr::new(name))
        };
        let (plain, odd): (Vec<_>, Vec<_>) = wanted.iter().partition(is_plain);
        self.memory.problems.extend(odd.iter().map(|name| {
            format!("context.fileName holds {name:?}, which is not a valid file name.")
        }));
        match plain.as_slice() {
            [] => vec![DEFAULT_NAME.to_owned()],
            plain => plain.iter().copied().cloned().collect(),
        }
    }

    /// The user's own files.
    fn users(&mut self, workspace: &Workspace, names: &[String]) {
        let Some(home) = workspace.home() else {
            return;
        };
        let Ok(global) = Workspace::reading(&home.join(".gemini")) else {
            return;
        };
        for name in names {
            let path = global.root().join(name);
            let open = Workspace::for_user_file(&path)
                .and_then(|(workspace, place)| workspace.open_file(&place));
            self.add(&global, &path, open.map_err(NotRead::from));
        }
    }

    /// The project's files.
    fn projects(&mut self, workspace: &Workspace, names: &[String]) {
        let project = Workspace::reading(workspace.project_root())
            .or_else(|_| Workspace::reading(workspace.root()));
        let project = match project {
            Ok(project) => project,
            Err(e) => return self.memory.problems.push(e.message),
        };
        let mut above: Vec<&Path> = workspace
            .root()
            .ancestors()
            .take_while(|dir| dir.starts_with(project.root()))
            .collect();
        above.reverse();
        let above = above
            .iter()
            .flat_map(|dir| names.iter().map(|name| dir.join(name)));
        for path in above.chain(below(workspace, names)) {
            if let Some(place) = project.place_of(&path)
                && !project.is_gemini_ignored(&place)
            {
                let open = project.open_file(&place);
                self.add(&project, &path, open.map_err(NotRead::from));
            }
        }
    }

    /// Adds a file with what it imports from `workspace`.
    fn add(&mut self, workspace: &Workspace, path: &Path, open: Result<OpenFile, NotRead>) {
        let open = match open {
            Ok(open) => open,
            Err(NotRead::Missing) => return,
            Err(reason) => return self.refuse(path, reason),
        };
        let id = id_of(&open);
        if !self.seen.insert(id) {
            return;
        }
        match self.budget.read(&open) {
            Ok(text) => {
                let dir = path.parent().unwrap_or(Path::new("/"));
                let text = Importer::new(workspace, &mut self.budget, id).expand(&text, dir);
                self.memory.files += 1;
                self.block(path, text.trim());
            }
            Err(NotRead::NoRoom) => self.budget.left_out += 1,
            Err(reason) => self.refuse(path, reason),
        }
    }

    fn refuse(&mut self, path: &Path, reason: NotRead) {
        self.block(path, &format!("<!-- Not read: {reason} -->"));
        let path = visible(&show_path(path)).into_owned();
        self.memory
            .problems
            .push(format!("{path} was not read: {reason}."));
    }

    fn block(&mut self, path: &Path, text: &str) {
        if text.is_empty() {
            return;
        }
        let path = relative(self.cwd, path);
        let path = show_path(&path);
        let path = visible(&path);
        self.blocks.push(format!(
            "--- Context from: {path} ---\n{text}\n--- End of Context from: {path} ---"
        ));
    }

    fn finish(mut self) -> Memory {
        let left_out = self.budget.left_out;
        if left_out > 0 {
            let note = format!("The memory is too long: {left_out} of its files were left out");
            self.blocks.push(format!("<!-- {note} -->"));
            self.memory.problems.push(note + ".");
        }
        self.memory.text = self.blocks.join("\n\n");
        self.memory
    }
}

/// The files below the first root, not in it, the nearest first.
fn below(workspace: &Workspace, names: &[String]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut queue = VecDeque::from([workspace.root_place()]);
    let mut queued = 1;
    while let Some(dir) = queue.pop_front() {
        let Ok(mut entries) = workspace.list_dir(&dir, Respect::ALL) else {
            continue;
        };
        entries.retain(|entry| entry.ignored.is_none());
        entries.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        if !dir.rel().as_os_str().is_empty() {
            let is_there = |name: &&String| {
                let mut files = entries.iter().filter(|entry| !entry.is_dir);
                files.any(|file| file.name == name.as_bytes())
            };
            let there = names.iter().filter(is_there);
            found.extend(there.map(|name| dir.path().join(name)));
        }
        for entry in &entries {
            let is_never = NEVER.contains(&entry.name.as_slice());
            if entry.is_dir && !entry.is_link && !is_never && queued < MAX_DIRECTORIES {
                queue.push_back(child(&dir, &entry.name));
                queued += 1;
            }
        }
    }
    found
}

fn child(dir: &WorkspacePath, name: &[u8]) -> WorkspacePath {
    dir.join(Path::new(OsStr::from_bytes(name)))
}

/// The way from one absolute path to another, as text.
fn relative(from: &Path, to: &Path) -> PathBuf {
    let shared = from.ancestors().find(|dir| to.starts_with(dir));
    let shared = shared.unwrap_or(Path::new("/"));
    let up = from.strip_prefix(shared).unwrap_or(from).components();
    let mut path: PathBuf = up.map(|_| "..").collect();
    path.push(to.strip_prefix(shared).unwrap_or(to));
    path
}

#[cfg(test)]
mod tests;
