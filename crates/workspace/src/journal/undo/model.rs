//! A model of the files that an undo changes. All steps are tried on it before the first is made.

use super::plan::{Goal, Goals, Step};
use crate::journal::entry::{FileId, FileState, NodeKind};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};

#[derive(Debug, Clone, PartialEq)]
enum Node {
    Directory(u32),
    Link(Vec<u8>),
    Special,
    File(FileId),
}

#[derive(Debug, Clone)]
struct File {
    mode: u32,
    names: u64,
    is_written: bool,
}

/// A model of the paths and files that an undo touches. The files in `aside` have a temporary
/// second name while the undo runs. The directories in `shared` also have entries that the undo
/// does not know.
#[derive(Debug, Default)]
pub(super) struct Model {
    nodes: BTreeMap<PathBuf, Node>,
    files: HashMap<FileId, File>,
    aside: Vec<FileId>,
    made: u64,
    shared: HashSet<PathBuf>,
}

impl Model {
    pub(super) fn new(goals: &Goals) -> Self {
        let mut model = Self::default();
        for (path, goal) in &goals.by_path {
            if let Some(now) = &goal.now {
                model.insert(path, now);
            }
        }
        for (path, state) in &goals.others {
            model.insert(path, state);
        }
        model.shared.clone_from(&goals.shared);
        model
    }

    fn insert(&mut self, path: &Path, state: &FileState) {
        let node = match &state.kind {
            Some(NodeKind::Directory) => Node::Directory(state.mode),
            Some(NodeKind::Link(target)) => Node::Link(target.clone()),
            Some(NodeKind::Special) => Node::Special,
            None => {
                let file = File {
                    mode: state.mode,
                    names: state.links.unwrap_or(1),
                    is_written: false,
                };
                self.files.insert(state.stamp.file(), file);
                Node::File(state.stamp.file())
            }
        };
        self.nodes.insert(path.to_owned(), node);
    }

    /// Makes the steps on the model and compares the result with the goals. Returns the paths of
    /// the files whose present content will be lost unless it is kept, each with true if the file
    /// is overwritten rather than removed.
    ///
    /// # Errors
    ///
    /// Returns the path at which a step fails or the result is not the goal.
    pub(super) fn simulate(
        mut self,
        goals: &Goals,
        steps: &[Step],
    ) -> Result<Vec<(PathBuf, bool)>, PathBuf> {
        for step in steps {
            let path = step.path();
            self.take(step, path).ok_or_else(|| path.to_owned())?;
        }
        for file in std::mem::take(&mut self.aside) {
            self.drop_name(file);
        }
        let mut owners: HashMap<FileId, usize> = HashMap::new();
        for (path, goal) in &goals.by_path {
            if !self.reaches(path, goal, &mut owners) {
                return Err(path.clone());
            }
        }
        let present = goals
            .by_path
            .iter()
            .filter_map(|(path, goal)| Some((path, goal.now.as_ref()?)));
        let loses = |(path, now): (&PathBuf, &FileState)| {
            let file = self.files.get(&now.stamp.file())?;
            (file.names == 0 || file.is_written).then(|| (path.clone(), file.is_written))
        };
        let files = present
            .chain(&goals.others)
            .filter(|(_, now)| now.is_file());
        Ok(files.filter_map(loses).collect())
    }

    /// Returns true if a path in the model is as its goal says. Two names must belong to one file
    /// if they did before the changes, and to two files if they did not.
    fn reaches(&self, path: &Path, goal: &Goal, owners: &mut HashMap<FileId, usize>) -> bool {
        let (Some(node), Some(then)) = (self.nodes.get(path), &goal.then) else {
            return goal.then.is_none() && !self.nodes.contains_key(path);
        };
        match (node, &then.kind) {
            (Node::Directory(mode), Some(NodeKind::Directory)) => *mode == goal.mode,
            (Node::Link(target), Some(NodeKind::Link(wanted))) => target == wanted,
            (Node::File(key), None) => {
                let is_whole = *owners.entry(*key).or_insert(goal.former_file) == goal.former_file;
                self.files
                    .get(key)
                    .is_some_and(|file| file.mode == goal.mode)
                    && is_whole
            }
            _ => false,
        }
    }

    fn drop_name(&mut self, key: FileId) {
        if let Some(file) = self.files.get_mut(&key) {
            file.names -= 1;
        }
    }

    fn file_at(&self, path: &Path) -> Option<FileId> {
        match self.nodes.get(path) {
            Some(Node::File(key)) => Some(*key),
            _ => None,
        }
    }

    fn new_file(&mut self, mode: u32) -> Node {
        // No file on the disk has this device.
        let key = (u64::MAX, self.made);
        self.made += 1;
        let (names, is_written) = (1, true);
        self.files.insert(
            key,
            File {
                mode,
                names,
                is_written,
            },
        );
        Node::File(key)
    }

    fn has_children(&self, path: &Path) -> bool {
        let mut below = self.nodes.range(path.to_owned()..).skip(1);
        // As paths compare by components, no name such as `a-b` comes between `a` and `a/b`.
        self.shared.contains(path) || below.next().is_some_and(|(next, _)| next.starts_with(path))
    }

    fn take(&mut self, step: &Step, path: &Path) -> Option<()> {
        let is_free = !self.nodes.contains_key(path);
        let is_in_directory = matches!(
            path.parent().and_then(|above| self.nodes.get(above)),
            Some(Node::Directory(_))
        );
        let can_make = is_free && is_in_directory;
        let node = match step {
            Step::Aside(_) => {
                let key = self.file_at(path)?;
                self.files.get_mut(&key)?.names += 1;
                self.aside.push(key);
                return Some(());
            }
            Step::Remove(_) => {
                if matches!(self.nodes.get(path)?, Node::Directory(_)) && self.has_children(path) {
                    return None;
                }
                if let Some(Node::File(key)) = self.nodes.remove(path) {
                    self.drop_name(key);
                }
                return Some(());
            }
            Step::Rewrite { .. } => {
                let key = self.file_at(path)?;
                self.files.get_mut(&key)?.is_written = true;
                return Some(());
            }
            Step::Mode(_, mode, _) => {
                match self.nodes.get_mut(path)? {
                    Node::Directory(now) => *now = *mode,
                    Node::File(key) => self.files.get_mut(key)?.mode = *mode,
                    _ => return None,
                }
                return Some(());
            }
            Step::Replace { .. } => {
                let key = self.file_at(path)?;
                let mode = self.files.get(&key)?.mode;
                self.drop_name(key);
                self.new_file(mode)
            }
            _ if !can_make => return None,
            Step::Directory(_) => Node::Directory(0o700),
            Step::Symlink(_, target) => Node::Link(target.clone()),
            Step::Create { .. } => self.new_file(0o600),
            Step::Link { from, .. } => {
                let key = self.file_at(from)?;
                self.files.get_mut(&key)?.names += 1;
                Node::File(key)
            }
            Step::LinkAside { index, .. } => {
                let key = *self.aside.get(*index)?;
                self.files.get_mut(&key)?.names += 1;
                Node::File(key)
            }
        };
        self.nodes.insert(path.to_owned(), node);
        Some(())
    }
}
