//! Lists one directory, and says which entries are ignored.

use super::{ENTRY_BYTES, Entries, MAX_ENTRIES_BYTES, slashed, type_of};
use crate::git_config::UsersRules;
use crate::ignore::IgnoreSource;
use crate::resolve::WorkspacePath;
use crate::rules::{OpenDirectory, Respect};
use crate::{Workspace, show_path};
use gemini_tools_core::tool::{ErrorKind, ToolError};
use rustix::fd::AsFd;
use rustix::fs::FileType;
use rustix::io::Errno;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// An entry of a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirectoryEntry {
    /// The entry's name.
    pub name: Vec<u8>,
    /// True for a directory, or a link to one inside of the workspace.
    pub is_dir: bool,
    /// True for a link.
    pub is_link: bool,
    /// The kind of ignore file that excludes the entry; `None` if it is not ignored.
    pub ignored: Option<IgnoreSource>,
}

impl Workspace {
    /// Lists a directory, in no order. `.git` is left out if `respect` has git's rules.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Workspace::open_dir`], `ls_execution_error` for more than
    /// [`MAX_ENTRIES_BYTES`], and `permission_denied` if a `.geminiignore` that applies there can't
    /// be read.
    pub fn list_dir(
        &self,
        place: &WorkspacePath,
        respect: Respect,
    ) -> Result<Vec<DirectoryEntry>, ToolError> {
        let dir = self.open_dir(place)?;
        let mut entries = Entries::default();
        let mut buffer = Vec::with_capacity(64 * 1024);
        let cost = |length| ENTRY_BYTES + 2 * length;
        let read = entries.read(&dir, &mut buffer, MAX_ENTRIES_BYTES, cost);
        read.map_err(|errno| match errno {
            Errno::FBIG => too_large(place),
            errno => Self::path_error(errno.into(), place),
        })?;
        let mut path = slashed(place);
        let users = UsersRules::default();
        let opened = OpenDirectory {
            fd: dir.as_fd(),
            root: place.root,
            path: &path,
        };
        let above = self.rules_above(place, respect, &users)?;
        let scope = above.entered(self, opened, entries.seen, respect, &users)?;
        let is_closed = respect.gemini && self.is_closed(place, true)?;
        let name_at = path.len();
        let listed = entries.iter().filter_map(|(name, file_type)| {
            let file_type = match file_type {
                FileType::Unknown => type_of(&dir, name),
                known => known,
            };
            let name = name.to_bytes();
            let is_dir = match file_type {
                FileType::Symlink | FileType::Unknown => {
                    let target = place.join(Path::new(OsStr::from_bytes(name)));
                    self.file_type(&target)
                        .is_ok_and(|t| t == FileType::Directory)
                }
                known => known == FileType::Directory,
            };
            if respect.git && scope.in_repository && name == b".git" {
                return None;
            }
            path.truncate(name_at);
            path.extend_from_slice(name);
            Some(DirectoryEntry {
                ignored: if is_closed {
                    Some(IgnoreSource::Gemini)
                } else {
                    scope.rules.ignored(&path, name_at, is_dir)
                },
                name: name.to_vec(),
                is_dir,
                is_link: file_type == FileType::Symlink,
            })
        });
        Ok(listed.collect())
    }
}

fn too_large(place: &WorkspacePath) -> ToolError {
    let most = MAX_ENTRIES_BYTES / (1024 * 1024);
    let path = show_path(place.path());
    ToolError::new(
        ErrorKind::LsExecutionError,
        format!("The entries of {path} take more than {most} MiB."),
    )
    .with_hint("Use glob with a pattern for names.")
}
