//! Finds links in the directories that are guarded by their name. A file elsewhere that such a link
//! leads to is guarded too.

use super::DIRECTORIES;
use std::path::{Path, PathBuf};

const MAX_ENTRIES: usize = 500;

const MAX_DEPTH: usize = 3;

/// Directories with many files, in which links may lead anywhere. If such a directory is itself a
/// link, its target is guarded, but links in it are not looked at.
const NOT_LOOKED_INTO: [&str; 5] = [".cargo", ".config", ".git", ".ssh", ".yarn"];

pub(super) fn targets(root: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for base in [Some(root), home].into_iter().flatten() {
        for name in DIRECTORIES.split(' ').chain([".git/hooks"]) {
            let depth = if NOT_LOOKED_INTO.contains(&name) {
                0
            } else {
                MAX_DEPTH
            };
            let mut left = MAX_ENTRIES;
            collect(&base.join(name), depth, &mut left, &mut found);
        }
    }
    // A link to the project or to a directory above it would guard every file.
    found.retain(|target| !root.starts_with(target));
    found
}

fn collect(path: &Path, depth: usize, left: &mut usize, found: &mut Vec<PathBuf>) {
    let Ok(metadata) = std::fs::symlink_metadata(path) else {
        return;
    };
    if metadata.is_symlink() {
        found.extend(std::fs::canonicalize(path).ok());
    }
    if depth == 0 || !metadata.is_dir() {
        return;
    }
    for entry in std::fs::read_dir(path).into_iter().flatten().flatten() {
        if *left == 0 {
            return;
        }
        *left -= 1;
        collect(&entry.path(), depth - 1, left, found);
    }
}
