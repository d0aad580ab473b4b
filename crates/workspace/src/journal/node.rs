//! Finds out what is at a path: a file, a directory or a link. A command's changes are found by
//! comparing that before and after the command. An undo refuses to change a file that is not the
//! one that was found when the undo was planned.

use super::entry::{ContentStamp, FileId, FileState, NodeKind};
use super::keeper::stamped;
use crate::files::PATH_ONLY;
use crate::{Workspace, WorkspacePath};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, RawMode, Stat, fstat, openat, readlinkat, statat,
};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::{File, ReadDir};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

/// The most names that are read to find one by which a file can be reached.
const MAX_SEARCHED_NAMES: usize = 1_000_000;

/// Returns the state of a path below `dir`; `None` if nothing is there. Follows no link at its end.
///
/// # Errors
///
/// Returns the operating system's error.
pub(crate) fn look(dir: impl AsFd, path: &Path) -> Result<Option<(FileState, Stat)>, Errno> {
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

/// Returns the paths below the roots, at most a million. Follows no link.
pub(crate) fn names_below(workspace: &Workspace) -> impl Iterator<Item = PathBuf> {
    let mut waiting: Vec<PathBuf> = workspace.roots().map(Path::to_owned).collect();
    let mut open: Option<ReadDir> = None;
    let names = std::iter::from_fn(move || {
        loop {
            if let Some(entry) = open.as_mut().and_then(|open| open.flatten().next()) {
                let path = entry.path();
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    waiting.push(path.clone());
                }
                return Some(path);
            }
            open = std::fs::read_dir(waiting.pop()?).ok();
        }
    });
    names.take(MAX_SEARCHED_NAMES)
}

pub(crate) fn open_writable(dir: &OwnedFd, name: &OsStr, planned: FileId) -> Result<File, Errno> {
    // `NONBLOCK`, because opening a named pipe would otherwise wait for a reader.
    let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
    let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = openat(dir, name, flags, Mode::empty())?;
    if planned != ContentStamp::from(&fstat(&file)?).file() {
        return Err(Errno::STALE);
    }
    Ok(file.into())
}

pub(crate) fn set_mode(
    dir: &OwnedFd,
    name: &Path,
    mode: u32,
    planned: Option<FileId>,
) -> Result<(), Errno> {
    let open = |flags| {
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let node = openat(dir, name, flags, Mode::empty())?;
        let stat = fstat(&node)?;
        if FileType::from_raw_mode(stat.st_mode) == FileType::Symlink {
            return Err(Errno::LOOP);
        }
        let file = ContentStamp::from(&stat).file();
        if planned.is_some_and(|planned| planned != file) {
            return Err(Errno::STALE);
        }
        Ok(node)
    };
    let node = open(PATH_ONLY)?;
    let mode = Mode::from_raw_mode(RawMode::try_from(mode).map_err(|_| Errno::INVAL)?);
    // The mode is set through the open descriptor, so the file need not be readable and can't be
    // exchanged meanwhile. Where there is no `/proc`, it must be readable.
    match rustix::fs::chmod(format!("/proc/self/fd/{}", node.as_raw_fd()), mode) {
        Err(Errno::NOENT) => {
            let readable = open(OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY)?;
            rustix::fs::fchmod(readable, mode)
        }
        result => result,
    }
}

#[cfg(test)]
mod tests {
    use super::{Errno, look, open_writable, set_mode};
    use rustix::fd::OwnedFd;
    use rustix::fs::{Mode, OFlags};
    use std::ffi::OsStr;
    use std::fs::{self, File};
    use std::path::Path;

    #[test]
    fn only_the_planned_file_is_written_or_gets_a_mode() {
        let top = tempfile::tempdir().expect("a directory");
        let path = |name: &str| top.path().join(name);
        for name in ["planned", "other"] {
            fs::write(path(name), "text").expect("written");
        }
        std::os::unix::fs::symlink("planned", path("link")).expect("a link");
        let made = std::process::Command::new("mkfifo")
            .arg(path("pipe"))
            .status();
        assert!(made.expect("mkfifo").success());
        let dir = OwnedFd::from(File::open(top.path()).expect("it opens"));
        let planned = look(&dir, Path::new("planned")).expect("a look");
        let planned = planned.expect("it is there").0.stamp.file();
        let open = |name| open_writable(&dir, OsStr::new(name), planned);
        let set = |name| set_mode(&dir, Path::new(name), 0o640, Some(planned));
        assert!(open("planned").is_ok() && set("planned").is_ok());
        for (name, why) in [("other", Errno::STALE), ("link", Errno::LOOP)] {
            assert_eq!(open(name).map(drop), Err(why), "{name}");
            assert_eq!(set(name), Err(why), "{name}");
        }
        assert_eq!(open("pipe").map(drop), Err(Errno::NXIO));
        let reader = OFlags::RDONLY | OFlags::NONBLOCK;
        let _reader = rustix::fs::open(path("pipe"), reader, Mode::empty()).expect("it opens");
        assert_eq!(open("pipe").map(drop), Err(Errno::STALE));
        assert_eq!(set("planned"), Ok(()));
    }
}
