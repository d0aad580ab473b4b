//! Creates a file and gives it its final name in one step, once it is complete. Until then it has
//! no name, if the file system can do that.
//!
//! A file that replaces another one has a temporary name before that step, and the old file has it
//! after. A kill leaves that name behind, and [`remove_litter`] removes it later. The temporary
//! names in a change of several files have another prefix, and `remove_litter` leaves them alone:
//! the record of that change (its intent) names them, or such a file is the only one with the old
//! content.

use super::OpenFile;
use super::journal::Backup;
use gemini_tools_core::tool::ToolError;
use rustix::fd::{AsFd, AsRawFd, BorrowedFd};
use rustix::fs::{
    AtFlags, CWD, Dir, Mode, OFlags, RenameFlags, Stat, fstat, linkat, openat, renameat,
    renameat_with, statat, unlinkat,
};
use rustix::io::Errno;
use std::cell::Cell;
use std::ffi::OsStr;
use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, SystemTime};

const TEMPORARY_PREFIX: &str = ".gemini-tools-";

pub(super) const CHANGE_PREFIX: &str = ".gemini-change-";

/// A temporary file is removed at this age; a younger one may belong to a running call, perhaps in
/// another container. Up to `MAX_LITTER_NAMES` names of a directory are searched for such files, or
/// a write into a directory of a million files would take long.
const LITTER_AGE: Duration = Duration::from_secs(60 * 60);

const MAX_LITTER_NAMES: usize = 1000;

/// Why a new file did not get its final name, or why a file was not removed: the call was cancelled
/// before (`Late`), another program has changed or removed the old file (`Changed`), the old file
/// can't be moved into the journal, so that the caller tries again with a copy (`Unmovable`), or
/// the operating system has returned an error.
pub(super) enum PlacementError {
    Late(ToolError),
    Changed,
    Unmovable,
    System(Errno),
}

impl From<Errno> for PlacementError {
    fn from(errno: Errno) -> Self {
        Self::System(errno)
    }
}

/// A file that may still lack its final name. Dropping this removes its temporary name, which is in
/// `dir`, the nearest existing directory above the file's final path.
pub(super) struct NewFile<'a> {
    pub(super) file: File,
    dir: BorrowedFd<'a>,
    temporary: String,
    has_temporary: Cell<bool>,
}

impl<'a> NewFile<'a> {
    /// Creates a file without a name. Returns `None` if the file system can't do that.
    ///
    /// # Errors
    ///
    /// Returns the operating system's error.
    #[cfg(target_os = "linux")]
    pub(super) fn nameless(dir: BorrowedFd<'a>, mode: Mode) -> Result<Option<Self>, Errno> {
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        match openat(dir, ".", flags, mode) {
            Ok(fd) => Ok(Some(Self {
                file: fd.into(),
                dir,
                temporary: temporary_name(TEMPORARY_PREFIX),
                has_temporary: Cell::new(false),
            })),
            // If the directory was removed, ext4 answers with EPERM.
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL | Errno::NOENT | Errno::PERM) => {
                Ok(None)
            }
            Err(errno) => Err(errno),
        }
    }

    #[cfg(not(target_os = "linux"))]
    #[expect(clippy::unnecessary_wraps, reason = "as on Linux")]
    pub(super) fn nameless(_: BorrowedFd<'a>, _: Mode) -> Result<Option<Self>, Errno> {
        Ok(None)
    }

    pub(super) fn named(dir: BorrowedFd<'a>, mode: Mode) -> Result<Self, Errno> {
        let temporary = temporary_name(TEMPORARY_PREFIX);
        // Readable, because the journal computes a digest of the new file.
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
        let fd = openat(dir, &*temporary, flags | OFlags::CLOEXEC, mode)?;
        Ok(Self {
            file: fd.into(),
            dir,
            temporary,
            has_temporary: Cell::new(true),
        })
    }

    fn link(&self, dir: BorrowedFd<'_>, name: &OsStr) -> Result<(), Errno> {
        let path = format!("/proc/self/fd/{}", self.file.as_raw_fd());
        linkat(CWD, path, dir, name, AtFlags::SYMLINK_FOLLOW)
    }

    pub(super) fn place(&self, dir: BorrowedFd<'_>, name: &OsStr) -> Result<(), Errno> {
        if !self.has_temporary.get() {
            return self.link(dir, name);
        }
        match renameat_with(self.dir, &self.temporary, dir, name, RenameFlags::NOREPLACE) {
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
                linkat(self.dir, &self.temporary, dir, name, AtFlags::empty())
            }
            result => result,
        }
    }

    /// Exchanges the new file with the old one in one step, and moves the old one into the journal
    /// if `backup` says so. If the file that had the name turns out not to be `old`, both are
    /// exchanged back.
    ///
    /// # Errors
    ///
    /// Returns why the file did not get its final name. Nothing was changed then.
    pub(super) fn replace(
        &self,
        name: &OsStr,
        old: &OpenFile,
        backup: Option<&Backup>,
    ) -> Result<(), PlacementError> {
        if !self.has_temporary.get() {
            self.link(self.dir, self.temporary.as_ref())?;
            self.has_temporary.set(true);
        }
        // The file is compared once more just before the exchange. Noticing another program's file
        // only after the exchange, and putting it back then, would be too late: programs could read
        // the new file meanwhile and build on it.
        if self
            .stat(name)
            .is_ok_and(|now| !is_same_content(&old.stat, &now))
        {
            return Err(PlacementError::Changed);
        }
        let (dir, temporary) = (self.dir, &*self.temporary);
        match renameat_with(dir, temporary, dir, name, RenameFlags::EXCHANGE) {
            Ok(()) => {}
            // The file system or a sandbox does not allow an exchange.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP | Errno::PERM) => {
                if backup.is_some_and(Backup::takes_old_file) {
                    return Err(PlacementError::Unmovable);
                }
                return Ok(renameat(dir, temporary, dir, name)?);
            }
            // Another program has removed the old file.
            Err(Errno::NOENT) => return Err(PlacementError::Changed),
            Err(errno) => return Err(errno.into()),
        }
        let came_out = self.stat(temporary.as_ref());
        if came_out.is_ok_and(|came_out| !is_same_content(&old.stat, &came_out)) {
            self.put_back(name);
            return Err(PlacementError::Changed);
        }
        if backup.is_some_and(|backup| backup.take(dir, temporary, &old.file).is_err()) {
            self.put_back(name);
            return Err(PlacementError::Unmovable);
        }
        Ok(())
    }

    fn stat(&self, name: &OsStr) -> Result<Stat, Errno> {
        statat(self.dir, name, AtFlags::SYMLINK_NOFOLLOW)
    }

    /// Exchanges the new and the old file back. If another program has put a third file in place
    /// meanwhile, that one keeps the name.
    fn put_back(&self, name: &OsStr) {
        let (dir, temporary) = (self.dir, &*self.temporary);
        let exchange = || renameat_with(dir, temporary, dir, name, RenameFlags::EXCHANGE);
        if exchange().is_err() {
            // Another program has removed the new file, so the name is free.
            let _ = renameat_with(dir, temporary, dir, name, RenameFlags::NOREPLACE);
            return;
        }
        let is_ours = |out: Stat| fstat(&self.file).is_ok_and(|own| is_same_file(&own, &out));
        if !self.stat(temporary.as_ref()).is_ok_and(is_ours) {
            let _ = exchange();
        }
    }
}

impl Drop for NewFile<'_> {
    fn drop(&mut self) {
        if self.has_temporary.get() {
            let _ = unlinkat(self.dir, &*self.temporary, AtFlags::empty());
        }
    }
}

pub(super) fn remove(
    dir: BorrowedFd<'_>,
    name: &OsStr,
    old: &OpenFile,
    backup: Option<&Backup>,
) -> Result<(), PlacementError> {
    let temporary = temporary_name(TEMPORARY_PREFIX);
    renameat(dir, name, dir, &*temporary)?;
    let came_out = statat(dir, &*temporary, AtFlags::SYMLINK_NOFOLLOW);
    let failure = if came_out.is_ok_and(|came_out| !is_same_content(&old.stat, &came_out)) {
        PlacementError::Changed
    } else if backup.is_some_and(|backup| backup.take(dir, &temporary, &old.file).is_err()) {
        PlacementError::Unmovable
    } else {
        // If the journal has taken the file, the temporary name is gone already.
        let _ = unlinkat(dir, &*temporary, AtFlags::empty());
        return Ok(());
    };
    match renameat_with(dir, &*temporary, dir, name, RenameFlags::NOREPLACE) {
        Ok(()) => {}
        // Another program has created a file with this name, which stays.
        Err(Errno::EXIST) => {
            let _ = unlinkat(dir, &*temporary, AtFlags::empty());
        }
        Err(_) => renameat(dir, &*temporary, dir, name)?,
    }
    Err(failure)
}

pub(super) fn is_same_file(one: &Stat, other: &Stat) -> bool {
    (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)
}

/// Returns true if a file still has the content of an earlier look, judged by device, inode, size
/// and mtime.
pub(super) fn is_same_content(before: &Stat, now: &Stat) -> bool {
    is_same_file(before, now)
        && before.st_size == now.st_size
        && (before.st_mtime, before.st_mtime_nsec) == (now.st_mtime, now.st_mtime_nsec)
}

pub(super) fn temporary_name(prefix: &str) -> String {
    let number = RandomState::new().hash_one(SystemTime::now());
    format!("{prefix}{number:016x}.tmp")
}

pub(super) fn remove_litter(dir: impl AsFd, now: SystemTime) {
    let dir = dir.as_fd();
    let oldest = now
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default()
        .saturating_sub(LITTER_AGE);
    let Ok(entries) = Dir::read_from(dir) else {
        return;
    };
    for entry in entries.flatten().take(MAX_LITTER_NAMES) {
        let name = entry.file_name();
        let is_temporary = name.to_bytes().starts_with(TEMPORARY_PREFIX.as_bytes())
            && name.to_bytes().ends_with(b".tmp");
        // The age is that of the ctime, which a rename sets. The mtime of an old file that was
        // exchanged a moment ago may be years old.
        let is_old = || {
            statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)
                .is_ok_and(|stat| i128::from(stat.st_ctime) < i128::from(oldest.as_secs()))
        };
        if is_temporary && is_old() {
            let _ = unlinkat(dir, name, AtFlags::empty());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{
        CHANGE_PREFIX, LITTER_AGE, SystemTime, TEMPORARY_PREFIX, remove_litter, temporary_name,
    };
    use std::fs::{self, File};
    use std::time::Duration;

    #[test]
    fn only_temporary_files_older_than_an_hour_are_litter() {
        let dir = tempfile::tempdir().expect("a directory");
        let fd = File::open(dir.path()).expect("it opens");
        let temporary = temporary_name(TEMPORARY_PREFIX);
        let of_change = temporary_name(CHANGE_PREFIX);
        for name in [temporary.as_str(), "a.tmp", ".gemini-tools-x", &of_change] {
            fs::write(dir.path().join(name), "x").expect("written");
        }
        let count = || fs::read_dir(dir.path()).expect("it").count();
        remove_litter(&fd, SystemTime::now());
        assert_eq!(count(), 4);
        remove_litter(&fd, SystemTime::now() + LITTER_AGE + Duration::from_secs(2));
        assert_eq!(count(), 3);
        assert!(!dir.path().join(temporary).exists());
    }
}
