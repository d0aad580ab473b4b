//! The paths of a report: those of the repository, by which CI services find a file.

use std::collections::HashMap;
use std::fs::canonicalize;
use std::path::{Path, PathBuf};

/// The variable with the directory that a job of GitHub Actions has checked the repository out to.
const GITHUB_WORKSPACE: &str = "GITHUB_WORKSPACE";

pub(super) struct RepositoryPaths<'a> {
    /// The directory that relative paths count from.
    root: &'a Path,
    /// The directories that paths are made relative to, the first that holds a file. Without links,
    /// as those of `parents`.
    tops: Vec<PathBuf>,
    /// The real path of each directory that was seen.
    parents: HashMap<PathBuf, PathBuf>,
}

impl<'a> RepositoryPaths<'a> {
    /// Looks for the repository of `root`: that of the job, else the one that `root` lies in, which may
    /// be a worktree or a submodule. Where there is neither, paths count from the current directory.
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

    /// Returns the path of a file in the repository; the whole path of a file outside of it. A link
    /// that is the file itself stays: it is a file of the repository, too.
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
