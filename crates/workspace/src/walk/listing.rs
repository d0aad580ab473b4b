//! Listing of one directory, with the reasons why entries are ignored.

use super::{ENTRY_BYTES, MAX_ENTRIES_BYTES, list, slashed, type_of};
use crate::git_config::UsersRules;
use crate::ignore::IgnoreSource;
use crate::resolve::WorkspacePath;
use crate::rules::{IgnoreFilesSeen, OpenDirectory, Respect};
use crate::{Workspace, show_path};
use gemini_tools_core::tool::{ErrorKind, ToolError};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::FileType;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The name of an entry, and its type.
type NamedType = (Vec<u8>, FileType);

/// Reads the entries of an open directory, up to a limit.
fn read_entries(
    dir: &OwnedFd,
    place: &WorkspacePath,
) -> Result<(Vec<NamedType>, IgnoreFilesSeen), ToolError> {
    let mut entries = Vec::new();
    let mut taken = 0;
    let mut seen = IgnoreFilesSeen::default();
    let mut buffer = Vec::with_capacity(64 * 1024);
    list(dir, &mut buffer, |name, file_type| {
        seen.note(name.to_bytes());
        taken += ENTRY_BYTES + 2 * name.to_bytes().len();
        if taken <= MAX_ENTRIES_BYTES {
            entries.push((name.to_bytes().to_vec(), file_type));
        }
    })
    .map_err(|e| Workspace::path_error(e.into(), place))?;
    if taken > MAX_ENTRIES_BYTES {
        return Err(ToolError::new(
            ErrorKind::LsExecutionError,
            format!(
                "The entries of {} take more than {} MiB.",
                show_path(place.path()),
                MAX_ENTRIES_BYTES / (1024 * 1024)
            ),
        )
        .with_hint("Use glob with a pattern for names."));
    }
    Ok((entries, seen))
}

/// An entry of a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirectoryEntry {
    /// The entry's name.
    pub name: Vec<u8>,
    /// True for a directory, or a link to one inside of the workspace.
    pub is_dir: bool,
    /// True for a link.
    pub is_link: bool,
    /// The reason to leave it out.
    pub ignored: Option<IgnoreSource>,
}

impl Workspace {
    /// Lists a directory, in no order; git's own directory is left out where git's
    /// rules count.
    ///
    /// # Errors
    ///
    /// As [`Workspace::open_dir`]; `permission_denied` where a `.geminiignore` can't be read.
    pub fn list_dir(
        &self,
        place: &WorkspacePath,
        respect: Respect,
    ) -> Result<Vec<DirectoryEntry>, ToolError> {
        let dir = self.open_dir(place)?;
        let (entries, seen) = read_entries(&dir, place)?;
        let mut path = slashed(place);
        let users = UsersRules::default();
        let opened = OpenDirectory {
            fd: dir.as_fd(),
            root: place.root,
            path: &path,
        };
        let above = self.rules_above(place, respect, &users)?;
        let scope = above.entered(self, opened, seen, respect, &users)?;
        let is_closed = respect.gemini && self.is_closed(place, true)?;
        let name_at = path.len();
        let listed = entries.into_iter().filter_map(|(name, file_type)| {
            let file_type = match file_type {
                FileType::Unknown => std::ffi::CString::new(name.as_slice())
                    .map_or(FileType::Unknown, |name| type_of(&dir, &name)),
                known => known,
            };
            let is_dir = match file_type {
                FileType::Symlink | FileType::Unknown => {
                    let target = place.join(Path::new(OsStr::from_bytes(&name)));
                    self.file_type(&target)
                        .is_ok_and(|t| t == FileType::Directory)
                }
                known => known == FileType::Directory,
            };
            if respect.git && scope.in_repository && name == b".git" {
                return None;
            }
            path.truncate(name_at);
            path.extend_from_slice(&name);
            Some(DirectoryEntry {
                ignored: if is_closed {
                    Some(IgnoreSource::Gemini)
                } else {
                    scope.rules.ignored(&path, name_at, is_dir)
                },
                name,
                is_dir,
                is_link: file_type == FileType::Symlink,
            })
        });
        Ok(listed.collect())
    }
}
