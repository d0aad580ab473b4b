//! Whose a file is, who may write to it, and what tells it from others, by the mode and the owner.

use rustix::fd::AsFd;
use rustix::fs::{AtFlags, CWD};
use rustix::io::Errno;
use std::fs::{File, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// The bits of a mode by which the group and others may write.
const OTHERS_WRITE: u32 = 0o022;

/// What tells an open file from all others.
///
/// # Errors
///
/// None; Windows has to ask.
pub fn identity(_file: &File, metadata: &Metadata) -> io::Result<(u64, u64)> {
    Ok((metadata.dev(), metadata.ino()))
}

/// What changes with a file's content, as text.
pub fn version(metadata: &Metadata) -> String {
    format!(
        "{}:{}:{}:{}.{}",
        metadata.dev(),
        metadata.ino(),
        metadata.size(),
        metadata.mtime(),
        metadata.mtime_nsec()
    )
}

/// Why a file may have been written by others than root and the user, for a message: by the file's
/// own metadata, and those of the directory that it is in.
///
/// # Errors
///
/// In words.
pub fn check_writers(path: &Path, metadata: &Metadata) -> Result<(), &'static str> {
    let own = rustix::process::geteuid().as_raw();
    let is_secure = |of: &Metadata| {
        let is_sticky = of.is_dir() && of.mode() & 0o1000 != 0;
        (of.uid() == 0 || of.uid() == own) && (of.mode() & OTHERS_WRITE == 0 || is_sticky)
    };
    let dir = path.parent().unwrap_or(path).metadata();
    if is_secure(metadata) && dir.is_ok_and(|dir| is_secure(&dir)) {
        return Ok(());
    }
    Err("others can write to it or to its directory")
}

/// Whether others than root and the user own a file or may write to it.
pub fn can_be_written_by_others(_path: &Path, metadata: &Metadata) -> bool {
    let own = rustix::process::geteuid().as_raw();
    (metadata.uid() != own && metadata.uid() != 0) || metadata.mode() & OTHERS_WRITE != 0
}

/// Whether only the administrator can write to a directory.
pub fn is_of_the_system(directory: &Path) -> bool {
    std::fs::metadata(directory)
        .is_ok_and(|metadata| metadata.uid() == 0 && metadata.mode() & OTHERS_WRITE == 0)
}

/// Whether the repository of a directory is the user's or that of who owns `root`; `None` where
/// there is none.
pub fn is_our_repository(directory: &Path, root: &Path) -> Option<bool> {
    let owner = owner_of(&directory.join(".git"))?;
    let is_ours = owner == rustix::process::geteuid().as_raw() || owner_of(root) == Some(owner);
    Some(is_ours && owner_of(directory) == Some(owner))
}

/// Who owns what is at a path, links not followed; `None` where there is nothing.
fn owner_of(path: &Path) -> Option<u32> {
    let stat = rustix::fs::statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    Some(stat.st_uid)
}

/// Checks that a directory is the user's alone.
///
/// # Errors
///
/// `PERM` where it is not, or what the system says.
pub fn check_private(directory: impl AsFd) -> Result<(), Errno> {
    let stat = rustix::fs::fstat(directory)?;
    let own = rustix::process::geteuid().as_raw();
    let others = stat.st_mode & 0o077;
    if stat.st_uid == own && others == 0 {
        Ok(())
    } else {
        Err(Errno::PERM)
    }
}

/// The permissions of a mode; `None` where the system has none.
pub fn permissions(mode: u32) -> Option<Permissions> {
    Some(Permissions::from_mode(mode))
}

/// Has the names in a directory survive a loss of power.
///
/// # Errors
///
/// What the system says.
pub fn flush_names(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

/// A relative path as the names are written that are matched against rules: as it is.
pub fn with_slashes(path: PathBuf) -> PathBuf {
    path
}

/// A name of bytes as it is written that is matched against rules: as it is.
pub fn put_slashes(_name: &mut [u8]) {}

/// The path of the current directory, as the file system spells it.
///
/// # Errors
///
/// What the system says.
pub fn current_directory() -> io::Result<PathBuf> {
    std::env::current_dir()
}
