//! Writing files: all or nothing.
//!
//! The new content goes into a nameless temporary file of the same directory, is flushed (or will
//! be, see [`super::flush`]), and then takes the old file's place by one rename. A full disk or a
//! kill at any moment leaves the old file whole and nothing beside it. Two editors at once are serialised by a lock on
//! the file; what was read for an edit is checked to be unchanged just before the rename.

use super::flush::{self, FlushBehind};
use super::resolve::{Entry, Place};
use super::{OpenFile, Workspace, access, io_error, system_error};
use crate::sys::fd::{AsFd, OwnedFd};
use crate::sys::fs::{Access, AtFlags, FileType, FlockOperation, Mode, OFlags, Stat};
use crate::sys::io::Errno;
use crate::tool::{Cancellation, ErrorKind, ToolError};
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// How long a call waits for another one that edits the same file.
const LOCK_WAIT: Duration = Duration::from_secs(20);

/// The place of a write: an entry that exists, locked, or one that does not exist.
#[derive(Debug)]
pub struct Target {
    entry: Entry,
    /// The present file; holding it open holds the lock.
    pub current: Option<OpenFile>,
    /// `None` where it is flushed before the answer.
    behind: Option<Arc<FlushBehind>>,
}

impl Workspace {
    /// Finds where a write to `place` goes, and locks the file that is there.
    ///
    /// # Errors
    ///
    /// `target_is_directory`, `path_not_in_workspace`, `permission_denied`, or
    /// `file_write_failure` where another process keeps the file locked.
    pub fn target(&self, place: &Place, cancel: &Cancellation) -> Result<Target, ToolError> {
        #[cfg(windows)]
        crate::sys::check_new_names(place.rel())?;
        let started = std::time::Instant::now();
        let mut pause = Duration::from_micros(200);
        loop {
            cancel.check()?;
            let entry = self.entry(place).map_err(|e| Self::path_error(e, place))?;
            if self.roots[entry.root].read_only {
                return Err(ToolError::new(
                    ErrorKind::PermissionDenied,
                    format!("{} can only be read.", place.path().display()),
                ));
            }
            let Some(name) = &entry.name else {
                return Err(Self::path_error(Errno::ISDIR.into(), place));
            };
            let Some(file) = open_present(&entry, name, place)? else {
                return Ok(self.target_at(entry, None));
            };
            match crate::sys::fs::flock(&file.file, FlockOperation::NonBlockingLockExclusive) {
                // The lock is worth something only if its file is still the one by that name.
                Ok(()) if is_same_file(&entry, name, &file.stat) => {
                    let stat = crate::sys::fs::fstat(&file.file)
                        .map_err(|e| Self::path_error(e.into(), place))?;
                    return Ok(self.target_at(entry, Some(OpenFile { stat, ..file })));
                }
                Ok(()) => {}
                // A file system without locks: the check before the rename must do.
                Err(Errno::NOLCK | Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => {
                    return Ok(self.target_at(entry, Some(file)));
                }
                Err(_) if started.elapsed() < LOCK_WAIT => {
                    std::thread::sleep(pause);
                    pause = (pause * 3 / 2).min(Duration::from_millis(5));
                }
                Err(_) => {
                    return Err(ToolError::new(
                        ErrorKind::FileWriteFailure,
                        format!(
                            "Another process keeps {} locked; nothing was changed.",
                            place.path().display()
                        ),
                    )
                    .with_hint("Try again when it is done."));
                }
            }
        }
    }

    fn target_at(&self, entry: Entry, current: Option<OpenFile>) -> Target {
        Target {
            entry,
            current,
            behind: self.behind.get().cloned(),
        }
    }
}

fn open_present(entry: &Entry, name: &OsStr, place: &Place) -> Result<Option<OpenFile>, ToolError> {
    let path = place.path().display().to_string();
    let fail = |e| system_error(e, &path);
    if !entry.missing.is_empty() {
        return Ok(None);
    }
    let flags =
        OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let fd = match crate::sys::fs::openat(&entry.dir, name, flags, Mode::empty()) {
        Err(Errno::NOENT) => return Ok(None),
        other => other.map_err(fail)?,
    };
    let stat = crate::sys::fs::fstat(&fd).map_err(fail)?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => {}
        FileType::Directory => {
            return Err(fail(Errno::ISDIR).with_hint("Name a file to write to."));
        }
        other => return Err(super::special_file(place, other)),
    }
    // The rename would not ask whether the file itself may be written.
    crate::sys::fs::accessat(&entry.dir, name, Access::WRITE_OK, AtFlags::EACCESS).map_err(fail)?;
    Ok(Some(OpenFile {
        file: File::from(fd),
        stat,
    }))
}

fn is_same_file(entry: &Entry, name: &OsStr, stat: &Stat) -> bool {
    crate::sys::fs::statat(&entry.dir, name, AtFlags::SYMLINK_NOFOLLOW)
        .is_ok_and(|now| now.st_ino == stat.st_ino && now.st_dev == stat.st_dev)
}

/// Whether two looks at a file saw the same content.
fn is_unchanged(before: &Stat, now: &Stat) -> bool {
    before.st_ino == now.st_ino
        && before.st_dev == now.st_dev
        && before.st_size == now.st_size
        && (before.st_mtime, before.st_mtime_nsec) == (now.st_mtime, now.st_mtime_nsec)
        && (before.st_ctime, before.st_ctime_nsec) == (now.st_ctime, now.st_ctime_nsec)
}

impl Target {
    /// Writes the new content and puts it in place. `produce` may be called twice.
    ///
    /// # Errors
    ///
    /// What the system says; nothing was changed then.
    pub fn commit(
        self,
        place: &Place,
        produce: impl FnMut(&mut File) -> io::Result<()>,
    ) -> Result<(), ToolError> {
        let Self {
            entry,
            current,
            behind,
        } = self;
        let path = place.path();
        let mut made = MadeDirectories::default();
        let result = made
            .make(&entry)
            .map_err(|e| system_error(e, &path.display().to_string()))
            .and_then(|deepest| {
                let dir = deepest.as_ref().unwrap_or(&entry.dir);
                let name = entry.name.as_deref().unwrap_or_default();
                publish(dir, name, current, path, behind.as_deref(), produce)
            });
        if result.is_err() {
            made.remove();
        }
        result
    }

    /// The present file once more, for reading while the new one is written.
    ///
    /// # Errors
    ///
    /// `NotFound` where there is none, or what the system says.
    pub fn reopened(&self) -> io::Result<OpenFile> {
        let current = self.current.as_ref().ok_or(io::ErrorKind::NotFound)?;
        Ok(OpenFile {
            file: current.file.try_clone()?,
            stat: current.stat,
        })
    }
}

/// Directories made for a write, so that they can be taken away again if it fails.
#[derive(Default)]
struct MadeDirectories(Vec<(OwnedFd, std::ffi::OsString)>);

impl MadeDirectories {
    fn make(&mut self, entry: &Entry) -> Result<Option<OwnedFd>, Errno> {
        let mut deepest: Option<OwnedFd> = None;
        for name in &entry.missing {
            let parent = match &deepest {
                Some(dir) => dir.as_fd(),
                None => entry.dir.as_fd(),
            };
            match crate::sys::fs::mkdirat(parent, name, Mode::from_raw_mode(0o777)) {
                Ok(()) => {
                    let parent = crate::sys::io::fcntl_dupfd_cloexec(parent, 0)?;
                    self.0.push((parent, name.clone()));
                }
                Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno),
            }
            let parent = match &deepest {
                Some(dir) => dir.as_fd(),
                None => entry.dir.as_fd(),
            };
            let flags = super::path_only() | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            deepest = Some(crate::sys::fs::openat(parent, name, flags, Mode::empty())?);
        }
        Ok(deepest)
    }

    fn remove(self) {
        for (parent, name) in self.0.into_iter().rev() {
            // Somebody else may use it already; then it stays.
            let _ = crate::sys::fs::unlinkat(parent, name, AtFlags::REMOVEDIR);
        }
    }
}

fn publish(
    dir: &OwnedFd,
    name: &OsStr,
    replaced: Option<OpenFile>,
    path: &Path,
    behind: Option<&FlushBehind>,
    mut produce: impl FnMut(&mut File) -> io::Result<()>,
) -> Result<(), ToolError> {
    let current = replaced.as_ref();
    let fail = |e: Errno| system_error(e, &path.display().to_string());
    if let Some(file) = nameless_file(dir, current.is_some()) {
        let mut file = file.map_err(fail)?;
        fill(&mut file, current, path, &mut produce)?;
        let behind = behind.filter(|_| flush::may_wait(&file));
        match behind {
            Some(_) => flush::begin(&file),
            None => file.sync_data().map_err(|e| io_error(&e, path))?,
        }
        check_unchanged(dir, name, current, path)?;
        match link_nameless(&file, dir, name, current.is_some()) {
            Ok(()) => {
                if let Some(behind) = behind {
                    behind.push(file, path);
                }
                return Ok(());
            }
            Err(Errno::NOENT | Errno::NOTSUP) => {}
            Err(Errno::EXIST) => return Err(created_meanwhile(path)),
            Err(errno) => return Err(fail(errno)),
        }
    }
    // No nameless files here, or no way to name one: the file has a name from the start.
    remove_litter(dir);
    let temporary = temporary_name();
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let fd = crate::sys::fs::openat(dir, &temporary, flags, creation_mode(current.is_some()))
        .map_err(fail)?;
    let mut file = File::from(fd);
    let is_new = current.is_none();
    let filled = fill(&mut file, current, path, &mut produce)
        .and_then(|()| file.sync_data().map_err(|e| io_error(&e, path)))
        .and_then(|()| check_unchanged(dir, name, current, path));
    // It may hold the old file open, which not every file system replaces then.
    drop(produce);
    let result = filled.and_then(|()| match replaced {
        Some(replaced) => put_over(dir, &temporary, name, replaced).map_err(fail),
        None => match put_new(dir, &temporary, name) {
            Err(Errno::EXIST) => Err(created_meanwhile(path)),
            other => other.map_err(fail),
        },
    });
    if result.is_err() || is_new {
        // Best effort: what is left otherwise is removed by the next write.
        let _ = crate::sys::fs::unlinkat(dir, &temporary, AtFlags::empty());
    }
    result
}

/// Puts a finished file in the place of another.
#[cfg(unix)]
fn put_over(dir: &OwnedFd, temporary: &str, name: &OsStr, _: OpenFile) -> Result<(), Errno> {
    crate::sys::fs::renameat(dir, temporary, dir, name)
}

/// Gives a finished file its name, which none may have.
#[cfg(unix)]
fn put_new(dir: &OwnedFd, temporary: &str, name: &OsStr) -> Result<(), Errno> {
    crate::sys::fs::linkat(dir, temporary, dir, name, AtFlags::empty())
}

/// Puts a finished file in the place of another. Only NTFS replaces a file that is open; elsewhere
/// it is closed, and its lock given up, just before. Whoever looks through files (virus scanners,
/// indexers) may have one of the two open for a moment.
#[cfg(windows)]
fn put_over(dir: &OwnedFd, temporary: &str, name: &OsStr, old: OpenFile) -> Result<(), Errno> {
    const ATTEMPTS: u32 = 6;
    let rename = || crate::sys::fs::rename_in(dir.as_fd(), temporary, name, true);
    let mut outcome = rename();
    drop(old);
    for attempt in 0..ATTEMPTS {
        if !matches!(outcome, Err(Errno::BUSY | Errno::ACCESS)) {
            break;
        }
        std::thread::sleep(Duration::from_millis(if attempt == 0 {
            0
        } else {
            5 << attempt
        }));
        outcome = rename();
    }
    outcome
}

/// Gives a finished file its name, which none may have.
#[cfg(windows)]
fn put_new(dir: &OwnedFd, temporary: &str, name: &OsStr) -> Result<(), Errno> {
    crate::sys::fs::rename_in(dir.as_fd(), temporary, name, false)
}

/// The cause of an error that nothing but another process's write at the same time has led to.
#[derive(Debug, thiserror::Error)]
#[error("another process wrote the file at the same time")]
struct LostRace;

/// Whether a write failed only because another process was faster: done anew from its start,
/// with what the file holds now, it may succeed.
pub fn is_lost_race(error: &ToolError) -> bool {
    matches!(&error.source, Some(source) if source.is::<LostRace>())
}

fn created_meanwhile(path: &Path) -> ToolError {
    ToolError::new(
        ErrorKind::AttemptToCreateExistingFile,
        format!(
            "{} was created by another process meanwhile; nothing was changed.",
            path.display()
        ),
    )
    .with_hint("Read it and decide again.")
    .with_source(LostRace)
}

fn check_unchanged(
    dir: &OwnedFd,
    name: &OsStr,
    current: Option<&OpenFile>,
    path: &Path,
) -> Result<(), ToolError> {
    let Some(current) = current else {
        return Ok(());
    };
    match crate::sys::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(now) if is_unchanged(&current.stat, &now) => Ok(()),
        _ => Err(ToolError::new(
            ErrorKind::FileWriteFailure,
            format!(
                "{} was changed by another process meanwhile; nothing was written.",
                path.display()
            ),
        )
        .with_hint("Read it again and repeat the edit.")
        .with_source(LostRace)),
    }
}

/// Private until it has the mode of the file that it replaces.
fn creation_mode(replaces: bool) -> Mode {
    Mode::from_raw_mode(if replaces { 0o600 } else { 0o666 })
}

fn fill(
    file: &mut File,
    current: Option<&OpenFile>,
    path: &Path,
    produce: &mut dyn FnMut(&mut File) -> io::Result<()>,
) -> Result<(), ToolError> {
    produce(file).map_err(|e| io_error(&e, path))?;
    match current {
        Some(current) => access::keep(file, current, path),
        None => Ok(()),
    }
}

#[cfg(target_os = "linux")]
fn nameless_file(dir: &OwnedFd, replaces: bool) -> Option<Result<File, Errno>> {
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    match crate::sys::fs::openat(dir, ".", flags, creation_mode(replaces)) {
        Ok(fd) => Some(Ok(File::from(fd))),
        Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL | Errno::NOENT) => None,
        Err(errno) => Some(Err(errno)),
    }
}

#[cfg(not(target_os = "linux"))]
fn nameless_file(_dir: &OwnedFd, _replaces: bool) -> Option<Result<File, Errno>> {
    None
}

#[cfg(target_os = "linux")]
fn link_nameless(file: &File, dir: &OwnedFd, name: &OsStr, replaces: bool) -> Result<(), Errno> {
    use std::os::fd::AsRawFd;
    let source = format!("/proc/self/fd/{}", file.as_raw_fd());
    if !replaces {
        return crate::sys::fs::linkat(
            crate::sys::fs::CWD,
            source,
            dir,
            name,
            AtFlags::SYMLINK_FOLLOW,
        );
    }
    super::shielded::link_and_rename(&source, dir.as_fd(), &temporary_name(), name)
}

#[cfg(not(target_os = "linux"))]
fn link_nameless(_: &File, _: &OwnedFd, _: &OsStr, _: bool) -> Result<(), Errno> {
    Err(Errno::NOTSUP)
}

const TEMPORARY_PREFIX: &str = ".gemini-tools-";

fn temporary_name() -> String {
    let nanos = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(0, |d| d.subsec_nanos());
    format!("{TEMPORARY_PREFIX}{}-{nanos:08x}.tmp", std::process::id())
}

/// Whether there is no process of this id.
#[cfg(unix)]
fn is_dead(pid: i32) -> bool {
    let pid = crate::sys::process::Pid::from_raw(pid);
    pid.is_some_and(|pid| crate::sys::process::test_kill_process(pid) == Err(Errno::SRCH))
}

/// Whether there is no process of this id.
#[cfg(windows)]
fn is_dead(pid: i32) -> bool {
    crate::process::identity::Identity::of(pid).is_none()
}

/// Removes temporary files of calls that were killed, where files can't be nameless.
fn remove_litter(dir: &OwnedFd) {
    let Ok(entries) = crate::sys::fs::Dir::read_from(dir) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy();
        let dead = name
            .strip_prefix(TEMPORARY_PREFIX)
            .and_then(|rest| rest.split_once('-'))
            .is_some_and(|(pid, _)| pid.parse().is_ok_and(is_dead));
        if dead {
            let _ = crate::sys::fs::unlinkat(dir, entry.file_name(), AtFlags::empty());
        }
    }
}
