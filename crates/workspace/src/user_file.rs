//! Opens one of the user's own files outside of the project for writing.
//!
//! Such a file is often a link into a directory under version control. The links are the user's
//! own, so they are followed wherever they lead, and the directory of their target is opened as a
//! workspace.

use super::resolve::MAX_LINKS;
use super::{Workspace, WorkspacePath, open_directory, system_error};
use gemini_tools_core::tool::{ErrorKind, ToolError};
use rustix::io::Errno;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

impl Workspace {
    /// Returns a workspace for writing the file at `path`, and the file's place in it. `path` is
    /// absolute and need not exist. The write creates missing directories, unless `path` is a link
    /// to a file in them.
    ///
    /// # Errors
    ///
    /// Returns `file_not_found` for a link into a directory that does not exist, or the operating
    /// system's error.
    pub fn for_user_file(path: &Path) -> Result<(Self, WorkspacePath), ToolError> {
        let fail = |e: &io::Error| super::io_error(e, path);
        let mut end = path.to_owned();
        let mut links = 0;
        while let Ok(target) = end.read_link() {
            links += 1;
            if links > MAX_LINKS {
                return Err(system_error(Errno::LOOP, &path.display().to_string()));
            }
            end.pop();
            end.push(target);
        }
        let dead_end = |at: &Path| {
            ToolError::new(
                ErrorKind::FileNotFound,
                format!(
                    "{} leads through a link to {}, where there is no directory.",
                    path.display(),
                    at.display()
                ),
            )
            .with_hint("Make that directory, or remove the link.")
        };
        let mut existing = end.as_path();
        let mut names: Vec<OsString> = Vec::new();
        let root = loop {
            let (Some(name), Some(parent)) = (existing.file_name(), existing.parent()) else {
                return Err(system_error(Errno::ISDIR, &path.display().to_string()));
            };
            names.push(name.to_owned());
            existing = parent;
            match std::fs::canonicalize(existing) {
                Ok(root) => break root,
                Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(fail(&e)),
                Err(_) if links > 0 || existing.is_symlink() => return Err(dead_end(existing)),
                Err(_) => {}
            }
        };
        let dir = open_directory(&root).map_err(|e| fail(&e))?;
        let rel: PathBuf = names.iter().rev().collect();
        let place = WorkspacePath::new(0, rel, path.to_owned());
        Ok((Self::with_root(root, dir, false), place))
    }
}
