//! Finds out what is at a path: a file, a directory or a link. A command's changes are found by
//! comparing that before and after it.

use super::entry::{FileState, NodeKind};
use super::keeper::stamped;
use crate::{Workspace, WorkspacePath};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, RawMode, Stat, openat, readlinkat, statat};
use rustix::io::Errno;
use std::os::fd::AsRawFd;
use std::path::Path;

/// Returns the state of a path below `dir`; `None` if nothing is there. Follows no link at its end.
///
/// # Errors
///
/// Returns the operating system's error.
pub(super) fn look(dir: impl AsFd, path: &Path) -> Result<Option<(FileState, Stat)>, Errno> {
    let stat = match statat(&dir, path, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT | Errno::NOTDIR) => return Ok(None),
        stat => stat?,
    };
    let kind = match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => None,
        FileType::Directory => Some(NodeKind::Directory),
        FileType::Symlink => {
            let target = readlinkat(&dir, path, Vec::new())?;
            Some(NodeKind::Link(target.into_bytes()))
        }
        _ => Some(NodeKind::Special),
    };
    let state = stamped(&stat);
    let links = state.links.filter(|_| kind.is_none());
    Ok(Some((
        FileState {
            kind,
            links,
            ..state
        },
        stat,
    )))
}

/// Returns the state of a path in a workspace, or `None` if nothing is there or if a directory
/// above it is a link.
///
/// # Errors
///
/// Returns the operating system's error.
pub(super) fn look_plain(
    workspace: &Workspace,
    place: &WorkspacePath,
) -> Result<Option<(FileState, Stat)>, Errno> {
    match workspace.open_parent(place) {
        Ok(dir) => look(dir, Path::new(place.name())),
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(None),
        Err(errno) => Err(errno),
    }
}

pub(super) fn set_mode(dir: &OwnedFd, name: &Path, mode: u32) -> Result<(), Errno> {
    let flags = crate::files::PATH_ONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let node = openat(dir, name, flags, Mode::empty())?;
    let stat = rustix::fs::fstat(&node)?;
    if FileType::from_raw_mode(stat.st_mode) == FileType::Symlink {
        return Err(Errno::LOOP);
    }
    // The mode is set through the open descriptor, so the file need not be readable and can't be
    // exchanged meanwhile.
    let path = format!("/proc/self/fd/{}", node.as_raw_fd());
    let mode = RawMode::try_from(mode).map_err(|_| Errno::INVAL)?;
    rustix::fs::chmod(path, Mode::from_raw_mode(mode))
}
