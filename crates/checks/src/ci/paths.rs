//! Converts paths to those within the repository, by which CI services find a file.

use std::collections::HashMap;
use std::fs::canonicalize;
use std::path::{Path, PathBuf};

const GITHUB_WORKSPACE: &str = "GITHUB_WORKSPACE";

/// Makes paths relative to the first of these that contains the file: `GITHUB_WORKSPACE`, the git
/// repository, worktree or submodule that contains `root`, and the current directory. The path of a
/// file outside of them becomes absolute. If a file itself is a symbolic link, it is not resolved,
/// since the link is a file of the repository.
pub(super) fn make_relative<'f>(root: &Path, files: impl Iterator<Item = &'f mut PathBuf>) {
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
    // The canonical path of each parent directory seen so far, since resolving it for each finding
    // would be slow.
    let mut parents: HashMap<PathBuf, PathBuf> = HashMap::new();
    for file in files {
        *file = root.join(&*file);
        let (Some(parent), Some(name)) = (file.parent(), file.file_name()) else {
            continue;
        };
        let real = |parent: &PathBuf| canonicalize(parent).unwrap_or_else(|_| parent.clone());
        let known = parents.entry(parent.to_owned());
        let real = known.or_insert_with_key(real).join(name);
        let mut tops = tops.iter().flatten();
        let inside = tops.find_map(|top| real.strip_prefix(top).ok());
        *file = inside.map(Path::to_owned).unwrap_or(real);
    }
}
