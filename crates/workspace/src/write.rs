//! Writes files, all or nothing.
//!
//! The new content goes into a temporary file in the nearest existing directory, without a name if
//! the file system allows that. The file is flushed and then exchanged with the old one in one
//! step. A full disk or a kill at any moment leaves either the old or the new file, whole. A kill
//! between two system calls may leave a file with a temporary name, an empty directory, or a change
//! that the journal does not know.
//!
//! A lock on the file serialises two writers of this crate. A program that does not use the lock is
//! noticed: the file that comes out of the exchange is compared with the one that was read for the
//! edit, and put back if it is another one.
//!
//! A file that can't be replaced is written in place (`in_place`), where a kill may leave it
//! half-written.

mod change_set;

pub(crate) use change_set::{ChangeSet, failed, is_equal};
pub use change_set::{ChangedFile, MAX_CHANGED_FILES, NewContent, mode_with};

use super::in_place::{self, InPlace};
use super::journal::{Backup, ChangeOrigin, PendingChange};
use super::new_file::{
    NewFile, PlacementError, is_same_content, is_same_file, remove, remove_litter,
};
use super::resolve::{Entry, WorkspacePath};
use super::seen::SeenFiles;
use super::{OpenFile, Workspace, access, io_error, system_error};
use crate::files::PATH_ONLY;
use gemini_tools_core::tool::{Cancellation, ErrorKind, ToolError};
use rustix::fd::{AsFd, BorrowedFd};
use rustix::fs::{
    Access, AtFlags, FileType, FlockOperation, Mode, OFlags, Stat, accessat, flock, fstat, mkdirat,
    openat, statat, unlinkat,
};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

const LOCK_WAIT: Duration = Duration::from_secs(20);

/// The target of a write: an existing file, which is locked, or a name that does not exist.
#[derive(Debug)]
pub struct Target {
    entry: Entry,
    /// The present file, which is locked as long as it is open. `None` if there is none.
    pub current: Option<OpenFile>,
    cancel: Cancellation,
    recorded: Option<PendingChange>,
    /// Where to note that the conversation knows the written content; `None` if it is not to be
    /// noted.
    seen: Option<Arc<SeenFiles>>,
}

impl Workspace {
    /// Finds the target of a write to `place`, and locks the file that is there.
    ///
    /// # Errors
    ///
    /// Returns `target_is_directory`, `path_not_in_workspace`, `permission_denied`, or
    /// `file_write_failure` if another process keeps the file locked.
    pub fn target(
        &self,
        place: &WorkspacePath,
        cancel: &Cancellation,
    ) -> Result<Target, ToolError> {
        let target = |entry, current| Target {
            entry,
            current,
            cancel: cancel.clone(),
            recorded: None,
            seen: None,
        };
        if place.is_directory() {
            let message = format!(
                "The path {}/ ends in a slash, as only that of a directory does.",
                place.path().display()
            );
            return Err(ToolError::new(ErrorKind::TargetIsDirectory, message)
                .with_hint("Give the path of a file: missing directories on its way are made."));
        }
        let started = Instant::now();
        let mut pause = Duration::from_micros(200);
        loop {
            cancel.check()?;
            let entry = self.entry(place).map_err(|e| Self::path_error(e, place))?;
            if self.roots[entry.root].read_only {
                return Err(read_only(place.path()));
            }
            let Some(name) = &entry.name else {
                return Err(Self::path_error(Errno::ISDIR.into(), place));
            };
            let Some(file) = open_present(&entry, name, place)? else {
                return Ok(target(entry, None));
            };
            match flock(&file.file, FlockOperation::NonBlockingLockExclusive) {
                // Another call may have replaced the file while this one waited for the lock.
                Ok(()) if is_at(&entry, name, &file.stat) => {
                    let stat = fstat(&file.file).map_err(|e| Self::path_error(e.into(), place))?;
                    return Ok(target(entry, Some(OpenFile { stat, ..file })));
                }
                Ok(()) => {}
                // The file system has no locks. Then only the comparison just before the exchange
                // finds what another writer has changed.
                Err(Errno::NOLCK | Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => {
                    return Ok(target(entry, Some(file)));
                }
                Err(_) if started.elapsed() < LOCK_WAIT => {
                    std::thread::sleep(pause);
                    pause = (pause * 3 / 2).min(Duration::from_millis(5));
                }
                Err(_) => return Err(locked(place.path())),
            }
        }
    }

    /// Removes up to `count` directories above a place, as long as they are empty.
    pub fn remove_empty_directories(&self, place: &WorkspacePath, count: usize) {
        let above = std::iter::successors(place.parent(), WorkspacePath::parent);
        for place in above.take(count) {
            let Ok(Entry {
                dir,
                missing,
                name: Some(name),
                ..
            }) = self.entry(&place)
            else {
                return;
            };
            if !missing.is_empty() || unlinkat(&dir, &name, AtFlags::REMOVEDIR).is_err() {
                return;
            }
        }
    }
}

fn open_present(
    entry: &Entry,
    name: &OsStr,
    place: &WorkspacePath,
) -> Result<Option<OpenFile>, ToolError> {
    let path = place.path().display().to_string();
    let fail = |e| system_error(e, &path);
    if !entry.missing.is_empty() {
        return Ok(None);
    }
    let flags =
        OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let fd = match openat(&entry.dir, name, flags, Mode::empty()) {
        Err(Errno::NOENT) => return Ok(None),
        other => other.map_err(fail)?,
    };
    let stat = fstat(&fd).map_err(fail)?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => {}
        FileType::Directory => {
            return Err(fail(Errno::ISDIR).with_hint("Name a file to write to."));
        }
        other => return Err(super::special_file(place, other)),
    }
    // Exchanging names would succeed even if the user may not write to the file itself.
    accessat(&entry.dir, name, Access::WRITE_OK, AtFlags::EACCESS).map_err(fail)?;
    Ok(Some(OpenFile {
        file: File::from(fd),
        stat,
    }))
}

fn is_at(entry: &Entry, name: &OsStr, stat: &Stat) -> bool {
    statat(&entry.dir, name, AtFlags::SYMLINK_NOFOLLOW).is_ok_and(|now| is_same_file(&now, stat))
}

impl Target {
    /// Has the change recorded in the journal of `workspace`. The file lies in that workspace, or
    /// is one of the user's own outside of it.
    #[must_use]
    pub fn recorded(
        mut self,
        workspace: &Workspace,
        place: &WorkspacePath,
        origin: ChangeOrigin,
    ) -> Self {
        self.seen =
            (origin.is_remembered && !origin.is_users_file).then(|| Arc::clone(&workspace.seen));
        self.recorded = PendingChange::new(workspace, place, origin);
        self
    }

    /// Removes the file. Returns why the removal can't be undone, as the end of a sentence; `None`
    /// if it can, or if nothing was to be kept.
    ///
    /// # Errors
    ///
    /// Returns the operating system's error, or `file_write_failure` if another process has changed
    /// the file. Nothing was changed then.
    pub fn remove(self, place: &WorkspacePath) -> Result<Option<String>, ToolError> {
        let path = place.path();
        let Some(current) = &self.current else {
            return Err(system_error(Errno::NOENT, &path.display().to_string()));
        };
        let dir = self.entry.dir.as_fd();
        self.change(None, |backup| remove(dir, self.name(), current, backup))
            .map_err(|unplaced| self.error(unplaced, path))
    }

    /// Writes the new content and puts it in place. Returns why the change can't be undone, as the
    /// end of a sentence; `None` if it can, or if nothing was to be kept. `produce` writes the
    /// content into the file that it is given. It is called a second time on a file system that
    /// creates nameless files but can't name them.
    ///
    /// # Errors
    ///
    /// Returns the operating system's error, or `file_write_failure` if another process has changed
    /// the file. Nothing was changed then, unless a file was written in place and the error says
    /// that its old content could not be put back.
    pub fn commit(
        self,
        place: &WorkspacePath,
        mut produce: impl FnMut(&mut File) -> io::Result<()>,
    ) -> Result<Option<String>, ToolError> {
        let path = place.path();
        let dir = self.entry.dir.as_fd();
        // Only the user may read the new file until it has the mode of the file that it replaces.
        let mode = Mode::from_raw_mode(if self.current.is_some() { 0o600 } else { 0o666 });
        if let Some(current) = &self.current
            && in_place::is_needed(&self.entry, current)
        {
            return self.overwrite(current, path, &mut produce);
        }
        let fail = |errno| self.making_error(errno, path);
        remove_litter(dir, SystemTime::now());
        if let Some(mut new) = NewFile::nameless(dir, mode).map_err(fail)? {
            self.fill(&mut new.file, path, &mut produce)?;
            match self.put(&new) {
                // The file system can't name a file that was made without a name.
                Err(PlacementError::System(Errno::NOENT | Errno::NOTSUP)) => {}
                result => return result.map_err(|unplaced| self.error(unplaced, path)),
            }
        }
        let mut new = NewFile::named(dir, mode).map_err(fail)?;
        self.fill(&mut new.file, path, &mut produce)?;
        self.put(&new)
            .map_err(|unplaced| self.error(unplaced, path))
    }

    /// Writes the new content into the present file. Refuses a file with other hard links: the
    /// caller has not agreed to a change under other names, which may be anywhere.
    fn overwrite(
        &self,
        current: &OpenFile,
        path: &Path,
        produce: &mut dyn FnMut(&mut File) -> io::Result<()>,
    ) -> Result<Option<String>, ToolError> {
        let fail = |e: io::Error| io_error(&e, path);
        if self.other_names() > 0 {
            let what = "can't be replaced by a new file, and has other names (hard links), which would change with it";
            let error = ToolError::new(
                ErrorKind::FileWriteFailure,
                format!("{} {what}. Nothing was written.", path.display()),
            );
            return Err(error.with_hint("Let the user write it, or run_shell_command."));
        }
        // The new content is completed before the file is touched, as `produce` may read it.
        let mut new = tempfile::tempfile().map_err(fail)?;
        produce(&mut new).map_err(fail)?;
        let unplaced = |unplaced| self.error(unplaced, path);
        let place = InPlace::open(&self.entry, self.name(), current).map_err(fail)?;
        let place = place.ok_or_else(|| unplaced(PlacementError::Changed))?;
        let change = self.recorded.as_ref();
        let backup =
            change.map(|change| change.prepare(&self.entry, Some(current), Some(&new), true));
        self.check_unchanged(current).map_err(unplaced)?;
        let _acting = self.cancel.acting()?;
        let file = place.write(&new).map_err(fail)?;
        self.remember(&file);
        Ok(backup.and_then(|backup| {
            backup.map_or_else(Some, |mut backup| {
                backup.has_left(&file);
                backup.record()
            })
        }))
    }

    fn making_error(&self, errno: Errno, path: &Path) -> ToolError {
        let (reason, what) = match errno {
            Errno::ACCESS | Errno::PERM if self.current.is_none() => {
                ("the system denies writing to", "")
            }
            Errno::ROFS if self.current.is_none() => (
                "nothing can be written to",
                ", which is on a read-only file system",
            ),
            _ => return system_error(errno, &path.display().to_string()),
        };
        let above = path.ancestors().nth(self.entry.missing.len() + 1);
        let message = format!(
            "{} can't be created: {reason} the directory {}{what}.",
            path.display(),
            above.unwrap_or(path).display()
        );
        ToolError::new(ErrorKind::PermissionDenied, message)
            .with_hint("Write to another directory, or have its permissions changed.")
            .with_source(io::Error::from(errno))
    }

    pub(crate) fn real_path(&self) -> Option<PathBuf> {
        self.entry.real_path()
    }

    fn remember(&self, written: &File) {
        if let (Some(seen), Some(path)) = (&self.seen, self.real_path()) {
            seen.wrote(&path, written, &path, self.current.as_ref());
        }
    }

    fn name(&self) -> &OsStr {
        self.entry.name.as_deref().unwrap_or_default()
    }

    fn fill(
        &self,
        file: &mut File,
        path: &Path,
        produce: &mut dyn FnMut(&mut File) -> io::Result<()>,
    ) -> Result<(), ToolError> {
        let fail = |e: io::Error| io_error(&e, path);
        produce(file).map_err(fail)?;
        if let Some(current) = &self.current {
            access::keep(file, current, path)?;
        }
        file.sync_data().map_err(fail)
    }

    fn put(&self, new: &NewFile<'_>) -> Result<Option<String>, PlacementError> {
        if self.recorded.is_some() {
            // The next writer of this file waits for this lock, so its change is recorded after
            // this one.
            let _ = flock(&new.file, FlockOperation::NonBlockingLockExclusive);
        }
        let changed = self.change(Some(&new.file), |backup| match &self.current {
            Some(current) => new.replace(self.name(), current, backup),
            None => Ok(within(
                self.entry.dir.as_fd(),
                &self.entry.missing,
                &mut |dir| new.place(dir, self.name()),
            )?),
        })?;
        self.remember(&new.file);
        Ok(changed)
    }

    fn change(
        &self,
        new: Option<&File>,
        act: impl Fn(Option<&Backup>) -> Result<(), PlacementError>,
    ) -> Result<Option<String>, PlacementError> {
        let change = |must_copy| {
            let current = self.current.as_ref();
            let change = self.recorded.as_ref();
            let backup = change.map(|change| change.prepare(&self.entry, current, new, must_copy));
            if let Some(current) = &self.current {
                self.check_unchanged(current)?;
            }
            let _acting = self.cancel.acting().map_err(PlacementError::Late)?;
            act(backup.as_ref().and_then(|backup| backup.as_ref().ok()))?;
            Ok(backup.and_then(|backup| backup.map_or_else(Some, |backup| backup.record())))
        };
        match change(false) {
            Err(PlacementError::Unmovable) => change(true),
            result => result,
        }
    }

    fn check_unchanged(&self, current: &OpenFile) -> Result<(), PlacementError> {
        let times = |stat: &Stat| (stat.st_ctime, stat.st_ctime_nsec);
        let now = statat(&self.entry.dir, self.name(), AtFlags::SYMLINK_NOFOLLOW);
        let is_unchanged = now.is_ok_and(|now| {
            is_same_content(&current.stat, &now) && times(&current.stat) == times(&now)
        });
        if is_unchanged {
            Ok(())
        } else {
            Err(PlacementError::Changed)
        }
    }

    fn error(&self, unplaced: PlacementError, path: &Path) -> ToolError {
        let path = path.display();
        match unplaced {
            PlacementError::Late(error) => error,
            PlacementError::Changed | PlacementError::Unmovable => lost_race(
                ErrorKind::FileWriteFailure,
                format!("{path} was changed by another process meanwhile; nothing was written."),
                "Read it again and repeat the edit.",
            ),
            PlacementError::System(Errno::EXIST) if self.current.is_none() => lost_race(
                ErrorKind::AttemptToCreateExistingFile,
                format!("{path} was created by another process meanwhile; nothing was changed."),
                "Read it and decide again.",
            ),
            PlacementError::System(errno) => system_error(errno, &path.to_string()),
        }
    }

    /// Returns true if the file must be written in place, because the system does not allow another
    /// file to be put there.
    pub(crate) fn must_stay(&self) -> bool {
        let current = self.current.as_ref();
        current.is_some_and(|current| in_place::is_needed(&self.entry, current))
    }

    /// Returns the number of further names (hard links) of the present file, which keep the old
    /// content.
    pub fn other_names(&self) -> u64 {
        // The type of the number differs between systems.
        let names = |file: &OpenFile| i128::from(file.stat.st_nlink);
        let others = self.current.as_ref().map_or(1, names) - 1;
        u64::try_from(others).unwrap_or(0)
    }

    /// Duplicates the handle of the present file, to read from while the new file is written. Both
    /// handles share one position.
    ///
    /// # Errors
    ///
    /// Returns `ENOENT` if there is no file, or the operating system's error if the file can't be
    /// opened again.
    pub fn reopened(&self) -> io::Result<OpenFile> {
        let current = self.current.as_ref().ok_or(Errno::NOENT)?;
        Ok(OpenFile {
            file: current.file.try_clone()?,
            stat: current.stat,
        })
    }
}

/// Creates the missing directories, each in the one before, and calls `act` with the last one.
/// After a failure, the new directories are removed again.
fn within(
    dir: BorrowedFd<'_>,
    missing: &[OsString],
    act: &mut dyn FnMut(BorrowedFd<'_>) -> Result<(), Errno>,
) -> Result<(), Errno> {
    let Some((name, rest)) = missing.split_first() else {
        return act(dir);
    };
    let is_made = match mkdirat(dir, name, Mode::from_raw_mode(0o777)) {
        Ok(()) => true,
        Err(Errno::EXIST) => false,
        Err(errno) => return Err(errno),
    };
    let flags = PATH_ONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let result =
        openat(dir, name, flags, Mode::empty()).and_then(|next| within(next.as_fd(), rest, act));
    if result.is_err() && is_made {
        // The directory stays if another program has put something into it.
        let _ = unlinkat(dir, name, AtFlags::REMOVEDIR);
    }
    result
}

/// The source of an error that was caused only by another process writing at the same time.
#[derive(Debug, thiserror::Error)]
#[error("another process wrote the file at the same time")]
struct LostRace;

/// Returns true if a write failed only because another process was faster. Repeating it with the
/// file's present content may succeed.
pub fn is_lost_race(error: &ToolError) -> bool {
    matches!(&error.source, Some(source) if source.is::<LostRace>())
}

fn lost_race(kind: ErrorKind, message: String, hint: &str) -> ToolError {
    let error = ToolError::new(kind, message);
    error.with_hint(hint).with_source(LostRace)
}

fn read_only(path: &Path) -> ToolError {
    ToolError::new(
        ErrorKind::PermissionDenied,
        format!("{} can only be read.", path.display()),
    )
}

fn locked(path: &Path) -> ToolError {
    ToolError::new(
        ErrorKind::FileWriteFailure,
        format!(
            "Another process keeps {} locked; nothing was changed.",
            path.display()
        ),
    )
    .with_hint("Try again when it is done.")
}
