//! Writing files: all or nothing.
//!
//! The new content goes into a nameless temporary file of the nearest directory that exists, is
//! flushed (or will be, see [`super::flush`]), and then changes places with the old file by one
//! rename. A full disk or a kill at any moment leaves the old file whole and nothing beside it.
//!
//! Two editors at once are serialised by a lock on the file. A program that takes no part in the
//! lock is seen all the same: what came out is compared with what was read for the edit, and put
//! back where it is another.

use super::flush::{self, FlushBehind};
use super::keep::{ChangeOrigin, Keeping, Kept};
use super::resolve::{Entry, WorkspacePath};
use super::stamp::Stamp;
use super::{OpenFile, Workspace, access, io_error, system_error};
use gemini_tools_core::tool::{Acting, Cancellation, ErrorKind, ToolError};
use gemini_tools_platform::fd::{AsFd, BorrowedFd, OwnedFd};
use gemini_tools_platform::files;
use gemini_tools_platform::fs::{Access, AtFlags, FileType, FlockOperation, Mode, OFlags, Stat};
use gemini_tools_platform::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// How long a call waits for another one that edits the same file.
const LOCK_WAIT: Duration = Duration::from_secs(20);

/// A larger file that has just changed is waited for until it is at rest, in bytes.
const MAX_DIGESTED_BYTES: u64 = 8 * 1024 * 1024;

/// The place of a write: an entry that exists, locked, or one that does not exist.
#[derive(Debug)]
pub struct Target {
    entry: Entry,
    /// The present file; holding it open holds the lock.
    pub current: Option<OpenFile>,
    /// What the present file held when it was locked, where its times would not show a change.
    digest: Option<u64>,
    /// `None` where it is flushed before the answer.
    behind: Option<Arc<FlushBehind>>,
    /// The call's cancellation: when it is over, nothing is put in place any more.
    cancel: Cancellation,
    /// Who keeps what is taken away.
    kept: Option<Kept>,
}

impl Workspace {
    /// Finds where a write to `place` goes, and locks the file that is there.
    ///
    /// # Errors
    ///
    /// `target_is_directory`, `path_not_in_workspace`, `permission_denied`, or
    /// `file_write_failure` where another process keeps the file locked.
    pub fn target(
        &self,
        place: &WorkspacePath,
        cancel: &Cancellation,
    ) -> Result<Target, ToolError> {
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
                return Ok(self.target_at(entry, None, cancel));
            };
            match gemini_tools_platform::fs::flock(
                &file.file,
                FlockOperation::NonBlockingLockExclusive,
            ) {
                // The lock is worth something only if its file is still the one by that name.
                Ok(()) if is_same_file(&entry, name, &file.stat) => {
                    let stat = gemini_tools_platform::fs::fstat(&file.file)
                        .map_err(|e| Self::path_error(e.into(), place))?;
                    let current = OpenFile { stat, ..file };
                    return Ok(self.target_at(entry, Some(current), cancel));
                }
                Ok(()) => {}
                // A file system without locks: the check before the rename must do.
                Err(Errno::NOLCK | Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => {
                    return Ok(self.target_at(entry, Some(file), cancel));
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

    /// Removes up to `count` directories above a place, as long as they are empty.
    pub fn remove_empty_directories(&self, place: &WorkspacePath, count: usize) {
        let (rel, path) = (place.rel(), place.path());
        for (rel, path) in rel.ancestors().zip(path.ancestors()).skip(1).take(count) {
            let place = WorkspacePath::new(place.root, rel.to_owned(), path.to_owned());
            let Ok(Entry {
                dir,
                missing,
                name: Some(name),
                ..
            }) = self.entry(&place)
            else {
                return;
            };
            let remove = || gemini_tools_platform::fs::unlinkat(&dir, &name, AtFlags::REMOVEDIR);
            if !missing.is_empty() || remove().is_err() {
                return;
            }
        }
    }

    fn target_at(&self, entry: Entry, current: Option<OpenFile>, cancel: &Cancellation) -> Target {
        let now = std::time::SystemTime::now();
        let restless = current
            .as_ref()
            .and_then(|file| Some((file, Stamp::of(&file.stat).time_until_stable(now)?)));
        let digest = match restless {
            None => None,
            Some((file, _)) if file.size() <= MAX_DIGESTED_BYTES => digest(&file.file).ok(),
            // To read all of it takes longer than the file needs to be at rest.
            Some((_, rest)) => {
                std::thread::sleep(rest);
                None
            }
        };
        Target {
            cancel: cancel.clone(),
            entry,
            digest,
            current,
            behind: self.behind.get().cloned(),
            kept: None,
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
    let fd = match gemini_tools_platform::fs::openat(&entry.dir, name, flags, Mode::empty()) {
        Err(Errno::NOENT) => return Ok(None),
        other => other.map_err(fail)?,
    };
    let stat = gemini_tools_platform::fs::fstat(&fd).map_err(fail)?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => {}
        FileType::Directory => {
            return Err(fail(Errno::ISDIR).with_hint("Name a file to write to."));
        }
        other => return Err(super::special_file(place, other)),
    }
    // The rename would not ask whether the file itself may be written.
    gemini_tools_platform::fs::accessat(&entry.dir, name, Access::WRITE_OK, AtFlags::EACCESS)
        .map_err(fail)?;
    Ok(Some(OpenFile {
        file: File::from(fd),
        stat,
    }))
}

fn is_same_file(entry: &Entry, name: &OsStr, stat: &Stat) -> bool {
    gemini_tools_platform::fs::statat(&entry.dir, name, AtFlags::SYMLINK_NOFOLLOW)
        .is_ok_and(|now| now.st_ino == stat.st_ino && now.st_dev == stat.st_dev)
}

/// Whether two looks at a file saw the same content, by its times.
fn is_same_content(before: &Stat, now: &Stat) -> bool {
    before.st_ino == now.st_ino
        && before.st_dev == now.st_dev
        && before.st_size == now.st_size
        && (before.st_mtime, before.st_mtime_nsec) == (now.st_mtime, now.st_mtime_nsec)
}

/// Whether two looks at a file saw the same content, access and place.
fn is_unchanged(before: &Stat, now: &Stat) -> bool {
    is_same_content(before, now)
        && (before.st_ctime, before.st_ctime_nsec) == (now.st_ctime, now.st_ctime_nsec)
}

impl Target {
    /// Has what the write takes away kept, by the keeper of `workspace`, in which `place` lies.
    #[must_use]
    pub fn kept(
        mut self,
        workspace: &Workspace,
        place: &WorkspacePath,
        origin: ChangeOrigin,
    ) -> Self {
        self.kept = Kept::of(workspace, None, place, origin);
        self
    }

    /// The same for a file of the user's own, which lies in `own`
    /// ([`Workspace::for_user_file`]) and is kept by the keeper of `workspace`.
    #[must_use]
    pub fn kept_for_user(
        mut self,
        workspace: &Workspace,
        own: &Workspace,
        place: &WorkspacePath,
        origin: ChangeOrigin,
    ) -> Self {
        self.kept = Kept::of(workspace, Some(own), place, origin);
        self
    }

    /// Removes the file. Returns why the removal can't be undone, as the end of a sentence, where
    /// it should be kept and is not.
    ///
    /// # Errors
    ///
    /// Returns the operating system's error if the file can't be removed; nothing was changed then.
    pub fn remove(self, place: &WorkspacePath) -> Result<Option<String>, ToolError> {
        let path = place.path();
        let name = self.entry.name.clone().unwrap_or_default();
        let fail = |e: Errno| system_error(e, &path.display().to_string());
        let Some(current) = &self.current else {
            return Err(fail(Errno::NOENT));
        };
        let dir = &self.entry.dir;
        let mut must_copy = false;
        loop {
            let kept = self.kept.as_ref();
            let prepare = |kept: &Kept| kept.prepare(&self.entry, Some(current), None, must_copy);
            let prepared = kept.map(prepare).unwrap_or_default();
            check_unchanged(dir, &name, current, self.digest)
                .map_err(|unplaced| unplaced.into_error(path, true))?;
            let _acting = self.cancel.acting()?;
            let mut outcome = Ok(());
            undivided(0, &mut || {
                outcome = take_away(dir, &name, current, prepared.keeping.as_ref());
            });
            match outcome {
                Err(Unplaced::Unmovable) if !must_copy => must_copy = true,
                Err(unplaced) => return Err(unplaced.into_error(path, true)),
                Ok(()) => return Ok(prepared.into_obstacle()),
            }
        }
    }

    /// Writes the new content and puts it in place. `produce` may be called twice. Returns why the
    /// change can't be undone, as the end of a sentence, where it should be kept and is not.
    ///
    /// # Errors
    ///
    /// Returns the operating system's error if the content can't be written; nothing was changed
    /// then.
    pub fn commit(
        self,
        place: &WorkspacePath,
        produce: impl FnMut(&mut File) -> io::Result<()>,
    ) -> Result<Option<String>, ToolError> {
        publish(self, place.path(), produce)
    }

    /// How many other names the present file has, which keep the old content: hard links.
    pub fn other_names(&self) -> u64 {
        // The type differs between systems.
        let names = |file: &OpenFile| i128::from(file.stat.st_nlink);
        let others = self.current.as_ref().map_or(1, names) - 1;
        u64::try_from(others).unwrap_or(0)
    }

    /// Returns the present file once more, for reading while the new one is written.
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

/// Makes the missing directories, each in the one before, and does `act` in the last. If that
/// fails, those that were made are taken away again.
fn within(
    dir: BorrowedFd<'_>,
    missing: &[OsString],
    act: &mut dyn FnMut(BorrowedFd<'_>) -> Result<(), Errno>,
) -> Result<(), Errno> {
    let Some((name, rest)) = missing.split_first() else {
        return act(dir);
    };
    let is_made = match gemini_tools_platform::fs::mkdirat(dir, name, Mode::from_raw_mode(0o777)) {
        Ok(()) => true,
        Err(Errno::EXIST) => false,
        Err(errno) => return Err(errno),
    };
    let flags = files::PATH_ONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let result = gemini_tools_platform::fs::openat(dir, name, flags, Mode::empty())
        .and_then(|next| within(next.as_fd(), rest, act));
    if result.is_err() && is_made {
        // Another program may use it already; then it stays.
        let _ = gemini_tools_platform::fs::unlinkat(dir, name, AtFlags::REMOVEDIR);
    }
    result
}

/// A finished file that has no place yet.
struct Finished<'a> {
    file: &'a File,
    /// The directory that it is in: the nearest to its place that exists.
    dir: &'a OwnedFd,
    /// The file's name there, or the one that it gets for a moment.
    temporary: String,
    is_nameless: bool,
    cancel: &'a Cancellation,
}

/// Why a finished file did not get its place.
enum Unplaced {
    /// The call is over.
    Late(ToolError),
    /// Another program has changed what was there.
    Changed,
    /// The old file can't be moved to where it is kept.
    Unmovable,
    System(Errno),
}

impl From<Errno> for Unplaced {
    fn from(errno: Errno) -> Self {
        Self::System(errno)
    }
}

fn publish(
    target: Target,
    path: &Path,
    mut produce: impl FnMut(&mut File) -> io::Result<()>,
) -> Result<Option<String>, ToolError> {
    let Target {
        entry,
        mut current,
        digest,
        behind,
        cancel,
        kept,
    } = target;
    let replaces = current.is_some();
    let fail = |e: Errno| system_error(e, &path.display().to_string());
    if let Some(file) = nameless_file(&entry.dir, replaces) {
        let mut file = file.map_err(fail)?;
        fill(&mut file, current.as_ref(), path, &mut produce)?;
        let behind = behind.filter(|_| flush::may_wait(&file));
        match behind {
            Some(_) => flush::begin(&file),
            None => file.sync_data().map_err(|e| io_error(&e, path))?,
        }
        let finished = Finished {
            file: &file,
            dir: &entry.dir,
            temporary: temporary_name(),
            is_nameless: true,
            cancel: &cancel,
        };
        match finished.put_kept(&entry, &mut current, digest, kept.as_ref()) {
            Ok(obstacle) => {
                if let Some(behind) = behind {
                    behind.push(for_reading(file), path);
                }
                return Ok(obstacle);
            }
            Err(Unplaced::System(Errno::NOENT | Errno::NOTSUP)) => {}
            Err(unplaced) => return Err(unplaced.into_error(path, replaces)),
        }
    }
    // No nameless files here, or no way to name one: the file has a name from the start.
    remove_litter(&entry.dir, SystemTime::now());
    let temporary = temporary_name();
    #[cfg(target_os = "linux")]
    let _sweeper = super::commit_child::Sweeper::of(entry.dir.as_fd(), &temporary);
    // Read by who keeps what is taken away.
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let fd =
        gemini_tools_platform::fs::openat(&entry.dir, &temporary, flags, creation_mode(replaces))
            .map_err(fail)?;
    let mut file = File::from(fd);
    let filled = fill(&mut file, current.as_ref(), path, &mut produce)
        .and_then(|()| file.sync_data().map_err(|e| io_error(&e, path)));
    // It may hold the old file open, which not every file system replaces then.
    drop(produce);
    let finished = Finished {
        file: &file,
        dir: &entry.dir,
        temporary,
        is_nameless: false,
        cancel: &cancel,
    };
    let result = filled.and_then(|()| {
        let put = finished.put_kept(&entry, &mut current, digest, kept.as_ref());
        put.map_err(|unplaced| unplaced.into_error(path, replaces))
    });
    if result.is_err() || !replaces {
        // Best effort: what is left otherwise is removed by the next write.
        let _ =
            gemini_tools_platform::fs::unlinkat(&entry.dir, &finished.temporary, AtFlags::empty());
    }
    result
}

impl Unplaced {
    fn into_error(self, path: &Path, replaces: bool) -> ToolError {
        match self {
            Self::Late(error) => error,
            Self::Changed | Self::Unmovable => changed_meanwhile(path),
            Self::System(Errno::EXIST) if !replaces => created_meanwhile(path),
            Self::System(errno) => system_error(errno, &path.display().to_string()),
        }
    }
}

impl Finished<'_> {
    /// Asked for just before the file is put in its place, when all else is done.
    fn acting(&self) -> Result<Acting<'_>, Unplaced> {
        self.cancel.acting().map_err(Unplaced::Late)
    }

    /// Puts the file where it belongs, and has what was there kept.
    fn put_kept(
        &self,
        entry: &Entry,
        current: &mut Option<OpenFile>,
        digest: Option<u64>,
        kept: Option<&Kept>,
    ) -> Result<Option<String>, Unplaced> {
        let prepare = |old: Option<&OpenFile>, must_copy| {
            let prepare = |kept: &Kept| kept.prepare(entry, old, Some(self.file), must_copy);
            kept.map(prepare).unwrap_or_default()
        };
        let mut prepared = prepare(current.as_ref(), false);
        if prepared.keeping.is_some() {
            // The next writer of this file waits, and so writes down its change after this one.
            let _ = gemini_tools_platform::fs::flock(
                self.file,
                FlockOperation::NonBlockingLockExclusive,
            );
        }
        match self.put(entry, current, digest, prepared.keeping.as_ref()) {
            Err(Unplaced::Unmovable) => {
                drop(prepared);
                prepared = prepare(current.as_ref(), true);
                self.put(entry, current, digest, prepared.keeping.as_ref())?;
            }
            other => other?,
        }
        Ok(prepared.into_obstacle())
    }
}

/// Removes a file, or moves it to where it is kept. System calls only.
fn take_away(
    dir: &OwnedFd,
    name: &OsStr,
    current: &OpenFile,
    keeping: Option<&Keeping>,
) -> Result<(), Unplaced> {
    use gemini_tools_platform::fs::unlinkat;
    let is_moved = keeping.is_some_and(|keeping| keeping.take(dir.as_fd(), name, &current.file));
    if !is_moved {
        if keeping.is_some_and(|keeping| keeping.moved_to.is_some()) {
            return Err(Unplaced::Unmovable);
        }
        unlinkat(dir, name, AtFlags::empty())?;
    } else if let Some((to, kept)) = keeping.and_then(|keeping| keeping.moved_to.as_ref()) {
        let came_out =
            gemini_tools_platform::fs::statat(to, kept.as_str(), AtFlags::SYMLINK_NOFOLLOW);
        if !came_out.is_ok_and(|came_out| is_same_content(&current.stat, &came_out)) {
            // Another program was faster. Its file goes back, unless there is yet another by now.
            let _ = files::name_anew(to.as_fd(), kept, dir.as_fd(), name);
            let _ = unlinkat(to, kept.as_str(), AtFlags::empty());
            return Err(Unplaced::Changed);
        }
    }
    if let Some(keeping) = keeping {
        keeping.record();
    }
    Ok(())
}

/// The same file, open for reading only: who keeps it open for writing would seem to change it.
fn for_reading(file: File) -> File {
    let again = files::by_descriptor(&file).and_then(|path| File::open(path).ok());
    again.unwrap_or(file)
}

impl Finished<'_> {
    /// Gives the file its name, which none may have, in directories that are still to be made.
    fn put_new(
        &self,
        missing: &[OsString],
        name: &OsStr,
        keeping: Option<&Keeping>,
    ) -> Result<(), Unplaced> {
        let _acting = self.acting()?;
        let source = self.source();
        let mut link = |dir: BorrowedFd<'_>| {
            match &source {
                Some(source) => files::name_open(source, dir, name),
                None => files::name_anew(self.dir.as_fd(), &self.temporary, dir, name),
            }?;
            if let Some(keeping) = keeping {
                keeping.record();
            }
            Ok(())
        };
        if missing.is_empty() && keeping.is_none() {
            return Ok(link(self.dir.as_fd())?);
        }
        let mut outcome = Err(Errno::IO);
        undivided(missing.len(), &mut || {
            outcome = within(self.dir.as_fd(), missing, &mut link);
        });
        Ok(outcome?)
    }

    /// The path by which a nameless file is given a name.
    fn source(&self) -> Option<String> {
        files::by_descriptor(self.file).filter(|_| self.is_nameless)
    }
}

#[cfg(target_os = "linux")]
use super::commit_child::take as undivided;

/// Takes steps that a kill might interrupt here.
#[cfg(not(target_os = "linux"))]
fn undivided(_: usize, steps: &mut dyn FnMut()) {
    steps();
}

#[cfg(not(target_os = "linux"))]
impl Finished<'_> {
    /// Puts the file where it belongs.
    fn put(
        &self,
        entry: &Entry,
        current: &mut Option<OpenFile>,
        digest: Option<u64>,
        keeping: Option<&Keeping>,
    ) -> Result<(), Unplaced> {
        let name = entry.name.as_deref().unwrap_or_default();
        let Some(old) = current else {
            return self.put_new(&entry.missing, name, keeping);
        };
        check_unchanged(self.dir, name, old, digest)?;
        let _acting = self.acting()?;
        let mut release = || drop(current.take());
        replace(
            self.dir.as_fd(),
            &self.temporary,
            name,
            keeping,
            &mut release,
        )
    }
}

/// Gives a file the name of another, which goes. System calls only.
fn replace(
    dir: BorrowedFd<'_>,
    temporary: &str,
    name: &OsStr,
    keeping: Option<&Keeping>,
    release: &mut dyn FnMut(),
) -> Result<(), Unplaced> {
    if let Some(keeping) = keeping {
        keeping.link(dir, name).map_err(|_| Unplaced::Unmovable)?;
    }
    if let Err(errno) = files::replace(dir, temporary, name, release) {
        if let Some(keeping) = keeping {
            keeping.unlink();
        }
        return Err(errno.into());
    }
    if let Some(keeping) = keeping {
        keeping.record();
    }
    Ok(())
}

#[cfg(target_os = "linux")]
impl Finished<'_> {
    /// Puts the file where it belongs. Where another is, they change places, and the other goes if
    /// it is the one that was read.
    fn put(
        &self,
        entry: &Entry,
        current: &mut Option<OpenFile>,
        digest: Option<u64>,
        keeping: Option<&Keeping>,
    ) -> Result<(), Unplaced> {
        let name = entry.name.as_deref().unwrap_or_default();
        let Some(current) = current else {
            return self.put_new(&entry.missing, name, keeping);
        };
        let lease = super::commit_child::Lease::of(&current.file);
        check_unchanged(self.dir, name, current, digest)?;
        let _acting = self.acting()?;
        let source = self.source();
        let mut outcome = Err(Unplaced::System(Errno::IO));
        undivided(0, &mut || {
            let is_as_read = |came_out: &Stat| {
                is_same_content(&current.stat, came_out)
                    && lease.as_ref().is_none_or(|lease| !lease.is_challenged())
            };
            let kept = keeping.map(|keeping| (keeping, &current.file));
            outcome = self.change_places(source.as_deref(), name, &is_as_read, kept);
        });
        outcome
    }

    /// The steps of a change of places: system calls only.
    fn change_places(
        &self,
        source: Option<&str>,
        name: &OsStr,
        is_as_read: &dyn Fn(&Stat) -> bool,
        kept: Option<(&Keeping, &File)>,
    ) -> Result<(), Unplaced> {
        use gemini_tools_platform::fs::{
            CWD, RenameFlags, linkat, renameat_with, statat, unlinkat,
        };
        let (dir, temporary) = (self.dir, self.temporary.as_str());
        if let Some(source) = source {
            linkat(CWD, source, dir, temporary, AtFlags::SYMLINK_FOLLOW)?;
        }
        let remove = || unlinkat(dir, temporary, AtFlags::empty());
        // Until what came out is put back, another program may read what goes in, and write it with its own change. So
        // next to nothing lies between this look and the change of places.
        let there = statat(dir, name, AtFlags::SYMLINK_NOFOLLOW);
        if there.is_ok_and(|there| !is_as_read(&there)) {
            let _ = remove();
            return Err(Unplaced::Changed);
        }
        match renameat_with(dir, temporary, dir, name, RenameFlags::EXCHANGE) {
            Ok(()) => {}
            // Not on this file system, or not for us.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP | Errno::PERM) => {
                let keeping = kept.map(|(keeping, _)| keeping);
                let replaced = replace(dir.as_fd(), temporary, name, keeping, &mut || {});
                // One that is to be tried again keeps the name that it has.
                if replaced.is_err()
                    && (source.is_some() || !matches!(replaced, Err(Unplaced::Unmovable)))
                {
                    let _ = remove();
                }
                return replaced;
            }
            Err(errno) => {
                let _ = remove();
                return Err(match errno {
                    // The old file has been removed.
                    Errno::NOENT => Unplaced::Changed,
                    other => other.into(),
                });
            }
        }
        let came_out = statat(dir, temporary, AtFlags::SYMLINK_NOFOLLOW);
        if came_out.is_ok_and(|came_out| is_as_read(&came_out)) {
            let is_moved =
                kept.is_some_and(|(keeping, old)| keeping.take(dir.as_fd(), temporary, old));
            if !is_moved {
                let _ = remove();
            }
            if let Some((keeping, _)) = kept {
                keeping.record();
            }
            return Ok(());
        }
        self.put_back(name);
        Err(Unplaced::Changed)
    }

    /// Gives its name back to a file that turned out to be another than the one that was read.
    /// Should yet another have taken the name meanwhile, that one keeps it.
    fn put_back(&self, name: &OsStr) {
        use gemini_tools_platform::fs::{RenameFlags, fstat, renameat_with, statat, unlinkat};
        /// Programs that write one after the other faster than we look.
        const ROUNDS: usize = 16;
        let (dir, temporary) = (self.dir, self.temporary.as_str());
        let identity = |stat: Stat| (stat.st_dev, stat.st_ino);
        let out = || statat(dir, temporary, AtFlags::SYMLINK_NOFOLLOW).map(identity);
        let mut has_name = fstat(self.file).map(identity);
        for _ in 0..ROUNDS {
            let given = out();
            match renameat_with(dir, temporary, dir, name, RenameFlags::EXCHANGE) {
                Ok(()) if out() == has_name => {
                    let _ = unlinkat(dir, temporary, AtFlags::empty());
                    return;
                }
                Ok(()) => has_name = given,
                Err(_) => {
                    // The new file has been removed already.
                    let _ = renameat_with(dir, temporary, dir, name, RenameFlags::NOREPLACE);
                    return;
                }
            }
        }
    }
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
    current: &OpenFile,
    held: Option<u64>,
) -> Result<(), Unplaced> {
    let now = gemini_tools_platform::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW);
    let is_same = now.is_ok_and(|now| is_unchanged(&current.stat, &now))
        && held.is_none_or(|held| digest(&current.file).is_ok_and(|now| now == held));
    if is_same {
        Ok(())
    } else {
        Err(Unplaced::Changed)
    }
}

/// Tells the content of a file from others.
fn digest(file: &File) -> io::Result<u64> {
    let mut hasher = std::hash::DefaultHasher::new();
    let mut piece = vec![0_u8; 64 * 1024];
    let mut at = 0;
    loop {
        let read = || gemini_tools_platform::io::pread(file, &mut piece[..], at);
        let n = gemini_tools_platform::io::retry_on_intr(read)?;
        if n == 0 {
            return Ok(hasher.finish());
        }
        hasher.write(&piece[..n]);
        at += n as u64;
    }
}

fn changed_meanwhile(path: &Path) -> ToolError {
    ToolError::new(
        ErrorKind::FileWriteFailure,
        format!(
            "{} was changed by another process meanwhile; nothing was written.",
            path.display()
        ),
    )
    .with_hint("Read it again and repeat the edit.")
    .with_source(LostRace)
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
    match gemini_tools_platform::fs::openat(dir, ".", flags, creation_mode(replaces)) {
        Ok(fd) => Some(Ok(File::from(fd))),
        Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL | Errno::NOENT) => None,
        Err(errno) => Some(Err(errno)),
    }
}

#[cfg(not(target_os = "linux"))]
fn nameless_file(_dir: &OwnedFd, _replaces: bool) -> Option<Result<File, Errno>> {
    None
}

const TEMPORARY_PREFIX: &str = ".gemini-tools-";

/// The age from which a temporary file is litter. A younger one may be that of a call that still
/// runs, also in another container.
const LITTER_AGE: Duration = Duration::from_secs(60 * 60);

fn temporary_name() -> String {
    let number = RandomState::new().hash_one(SystemTime::now());
    format!("{TEMPORARY_PREFIX}{number:016x}.tmp")
}

/// Removes temporary files that calls have left behind, where files can't be nameless.
fn remove_litter(dir: &OwnedFd, now: SystemTime) {
    let oldest = now
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default()
        .saturating_sub(LITTER_AGE);
    let Ok(entries) = gemini_tools_platform::fs::Dir::read_from(dir) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let is_temporary = name.to_bytes().starts_with(TEMPORARY_PREFIX.as_bytes())
            && name.to_bytes().ends_with(b".tmp");
        // The time of the last rename too: an old file has this name while it is replaced.
        let is_old = || {
            gemini_tools_platform::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)
                .is_ok_and(|stat| i128::from(stat.st_ctime) < i128::from(oldest.as_secs()))
        };
        if is_temporary && is_old() {
            let _ = gemini_tools_platform::fs::unlinkat(dir, name, AtFlags::empty());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{LITTER_AGE, OwnedFd, SystemTime, remove_litter, temporary_name};
    use std::fs::{self, File};
    use std::time::Duration;

    #[test]
    fn only_temporary_files_older_than_an_hour_are_litter() {
        let dir = tempfile::tempdir().expect("a directory");
        let fd = OwnedFd::from(File::open(dir.path()).expect("it opens"));
        let temporary = temporary_name();
        for name in [temporary.as_str(), "a.tmp", ".gemini-tools-x"] {
            fs::write(dir.path().join(name), "x").expect("written");
        }
        let count = || fs::read_dir(dir.path()).expect("it").count();
        remove_litter(&fd, SystemTime::now());
        assert_eq!(count(), 3);
        remove_litter(&fd, SystemTime::now() + LITTER_AGE + Duration::from_secs(2));
        assert_eq!(count(), 2);
        assert!(!dir.path().join(temporary).exists());
    }
}
