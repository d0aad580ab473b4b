//! Writes into a file that can't be replaced: a mount point, or one in a directory that takes no
//! new names.
//!
//! Other programs may see such a file half-written, and a kill leaves it so. That is why the old
//! content is copied first, and put back if the new content can't be written.

use super::OpenFile;
use super::journal::is_mount_point;
use super::new_file::is_same_file;
use super::resolve::Entry;
use rustix::fs::{Access, AtFlags, Mode, OFlags, accessat, fstat, openat};
use rustix::process::geteuid;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Seek};

pub(super) fn is_needed(entry: &Entry, current: &OpenFile) -> bool {
    let user = geteuid();
    let is_sticky = fstat(&entry.dir).is_ok_and(|dir| {
        let owners = [dir.st_uid, current.stat.st_uid];
        let is_sticky = Mode::from_raw_mode(dir.st_mode).contains(Mode::SVTX);
        is_sticky && !user.is_root() && !owners.contains(&user.as_raw())
    });
    let may = Access::WRITE_OK | Access::EXEC_OK;
    is_sticky
        || accessat(&entry.dir, ".", may, AtFlags::EACCESS).is_err()
        || is_mount_point(&current.file, &entry.dir)
}

pub(super) struct InPlace {
    file: File,
    old: File,
}

impl InPlace {
    /// Opens the file for writing and copies its content, which [`InPlace::write`] restores if it
    /// fails. Returns `None` if the name belongs to another file by now.
    ///
    /// # Errors
    ///
    /// Returns the operating system's error.
    pub(super) fn open(
        entry: &Entry,
        name: &OsStr,
        current: &OpenFile,
    ) -> io::Result<Option<Self>> {
        let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::NOFOLLOW;
        let file = openat(&entry.dir, name, flags | OFlags::CLOEXEC, Mode::empty())?;
        if !is_same_file(&fstat(&file)?, &current.stat) {
            return Ok(None);
        }
        let mut old = tempfile::tempfile()?;
        copy(&current.file, &mut old)?;
        let file = file.into();
        Ok(Some(Self { file, old }))
    }

    /// Replaces the content by that of `new`, and returns the file.
    ///
    /// # Errors
    ///
    /// Returns the operating system's error after the old content has been restored, or an error
    /// that says that it could not be.
    pub(super) fn write(mut self, new: &File) -> io::Result<File> {
        let written = copy(new, &mut self.file).and_then(|()| self.file.sync_data());
        if let Err(e) = written {
            // The old content was there before, so it should fit. If not, the error says so.
            copy(&self.old, &mut self.file)
                .and_then(|()| self.file.sync_data())
                .map_err(|_| io::Error::other("the old content could not be put back"))?;
            return Err(e);
        }
        Ok(self.file)
    }
}

fn copy(from: &File, to: &mut File) -> io::Result<()> {
    let mut from = from;
    from.rewind()?;
    to.rewind()?;
    let length = io::copy(&mut from, to)?;
    to.set_len(length)
}
