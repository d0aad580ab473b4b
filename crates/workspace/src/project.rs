//! Finds the project that the first root belongs to, and opens directories for reading only.

use super::{Workspace, open_directory};
use crate::files::is_our_repository;
use std::path::Path;

impl Workspace {
    /// Returns a workspace of one directory in which nothing can be written. Links on the way to
    /// the directory are followed.
    ///
    /// # Errors
    ///
    /// Returns the operating system's error.
    pub fn reading(directory: &Path) -> std::io::Result<Self> {
        let path = std::fs::canonicalize(directory)?;
        let dir = open_directory(&path)?;
        Ok(Self::with_root(path, dir, true))
    }

    /// Returns the nearest directory from the first root upwards that holds `.git`; without one,
    /// the first root.
    ///
    /// The search ends below the home directory, unless that is the first root: a repository there
    /// keeps settings, and would make a project of everything that the user has. It also ends at a
    /// `.git` of another user, or in a directory of another user, as git's own search does: any
    /// user can create one in `/tmp`.
    pub fn project_root(&self) -> &Path {
        let root = self.root();
        let home = self
            .home()
            .and_then(|home| std::fs::canonicalize(home).ok());
        for dir in root.ancestors() {
            if dir != root && home.as_deref() == Some(dir) {
                break;
            }
            if let Some(is_ours) = is_our_repository(dir, root) {
                return if is_ours { dir } else { root };
            }
        }
        root
    }
}

#[cfg(test)]
mod tests {
    use super::Workspace;
    use std::fs;

    #[test]
    fn a_project_begins_at_the_nearest_git_but_not_at_home_or_above() {
        let dir = tempfile::tempdir().expect("a directory");
        let home = dir.path().canonicalize().expect("exists").join("home");
        let below = home.join("project/a/b");
        fs::create_dir_all(&below).expect("made");
        let root = |at: &std::path::Path| {
            let workspace = Workspace::open_at(at, &[], Some(&home)).expect("opens");
            workspace.project_root().to_owned()
        };
        assert_eq!(root(&below), below, "without any");
        fs::create_dir(dir.path().join(".git")).expect("made");
        assert_eq!(root(&below), below, "above home");
        fs::create_dir(home.join(".git")).expect("made");
        assert_eq!(root(&below), below, "at home");
        assert_eq!(root(&home), home);
        fs::write(home.join("project/.git"), "gitdir: x").expect("written");
        assert_eq!(root(&below), home.join("project"));
    }

    #[test]
    fn a_git_of_somebody_else_begins_no_project() {
        let dir = tempfile::tempdir().expect("a directory");
        let top = dir.path().canonicalize().expect("exists");
        fs::create_dir_all(top.join("a/.git")).expect("made");
        fs::create_dir(top.join("a/b")).expect("made");
        fs::create_dir(top.join(".git")).expect("made");
        let workspace = Workspace::open_at(&top.join("a/b"), &[], None).expect("opens");
        assert_eq!(workspace.project_root(), top.join("a"));
        // Only root can make another user the owner of a file.
        if std::os::unix::fs::lchown(top.join("a/.git"), Some(65_533), None).is_ok() {
            assert_eq!(workspace.project_root(), top.join("a/b"));
        }
    }

    #[test]
    fn nothing_is_written_where_only_reading_is_wanted() {
        let dir = tempfile::tempdir().expect("a directory");
        let workspace = Workspace::reading(dir.path()).expect("opens");
        let place = workspace
            .place_of(&workspace.root().join("x"))
            .expect("inside");
        let cancel = gemini_tools_core::tool::Cancellation::default();
        assert!(workspace.target(&place, &cancel).is_err());
        assert!(workspace.place_of(&workspace.root().join("../x")).is_none());
    }
}
