//! Converts paths to those within the repository, by which CI services find a file.

use std::collections::HashMap;
use std::fs::canonicalize;
use std::path::{Path, PathBuf};

const GITHUB_WORKSPACE: &str = "GITHUB_WORKSPACE";

pub(super) struct RepositoryPaths<'a> {
    root: &'a Path,
    /// The canonical directories to which paths are made relative. The first that contains a file
    /// is used.
    tops: Vec<PathBuf>,
    /// The canonical path of each parent directory seen so far, since resolving it for each finding
    /// would be slow.
    parents: HashMap<PathBuf, PathBuf>,
}

impl<'a> RepositoryPaths<'a> {
    /// Finds the directories that may be the top of the repository, in this order:
    /// `GITHUB_WORKSPACE`, the git repository, worktree or submodule that contains `root`, and the
    /// current directory.
    pub(super) fn of(root: &'a Path) -> Self {
        let workspace = std::env::var_os(GITHUB_WORKSPACE).filter(|path| !path.is_empty());
        let real = canonicalize(root).ok();
        let git = real.as_deref().and_then(|root| {
            let mut dirs = root.ancestors();
            dirs.find(|dir| dir.join(".git").exists())
        });
        let tops = [
            workspace.and_then(|path| canonicalize(path).ok()),
            git.map(Path::to_owned),
            std::env::current_dir().and_then(canonicalize).ok(),
        ];
        Self {
            root,
            tops: tops.into_iter().flatten().collect(),
            parents: HashMap::new(),
        }
    }

    /// Returns a file's path within the repository, or its absolute path if it is outside. If the
    /// file itself is a symbolic link, it is not resolved, since the link is a file of the
    /// repository.
    pub(super) fn path(&mut self, file: &Path) -> PathBuf {
        let whole = self.root.join(file);
        let (Some(parent), Some(name)) = (whole.parent(), whole.file_name()) else {
            return whole;
        };
        let real = if let Some(real) = self.parents.get(parent) {
            real.join(name)
        } else {
            let real = canonicalize(parent).unwrap_or_else(|_| parent.to_owned());
            let file = real.join(name);
            self.parents.insert(parent.to_owned(), real);
            file
        };
        let mut tops = self.tops.iter();
        let inside = tops.find_map(|top| real.strip_prefix(top).ok());
        inside.map(Path::to_owned).unwrap_or(real)
    }
}
