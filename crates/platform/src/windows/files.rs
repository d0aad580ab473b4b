//! Whose a file is, who may write to it, and what tells it from others, by its owner.

use super::fd::{AsFd, BorrowedFd};
use super::ffi::{OsStrExt, OsStringExt};
use super::fs::{OFlags, Stat, has_trusted_owner, rename_in};
use super::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata, Permissions};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What tells an open file from all others.
///
/// # Errors
///
/// What the system says.
pub fn identity(file: &File, _metadata: &Metadata) -> io::Result<(u64, u64)> {
    let stat = super::fs::fstat(file)?;
    Ok((stat.st_dev, stat.st_ino))
}

/// What changes with a file's content, as text.
pub fn version(metadata: &Metadata) -> String {
    format!(
        "{}:{:?}:{:?}",
        metadata.len(),
        metadata.created().ok(),
        metadata.modified().ok()
    )
}

/// Why a file may have been written by others than administrators and the user, for a message: by
/// the owners of the file and of the directory that it is in.
///
/// # Errors
///
/// In words.
pub fn check_writers(path: &Path, _metadata: &Metadata) -> Result<(), &'static str> {
    if has_trusted_owner(path) && has_trusted_owner(path.parent().unwrap_or(path)) {
        return Ok(());
    }
    Err("it or its directory belongs to another user")
}

/// Whether others than administrators and the user own a file.
pub fn can_be_written_by_others(path: &Path, _metadata: &Metadata) -> bool {
    !has_trusted_owner(path)
}

/// Whether a directory may be taken for the administrator's: who else may write there can't be
/// told in a word, so that it never is.
pub fn is_of_the_system(_directory: &Path) -> bool {
    false
}

/// Whether the repository of a directory is the user's or an administrator's; `None` where there
/// is none.
pub fn is_our_repository(directory: &Path, _root: &Path) -> Option<bool> {
    let git = directory.join(".git");
    git.symlink_metadata().ok()?;
    Some(has_trusted_owner(&git) && has_trusted_owner(directory))
}

/// Accepts every directory: what is made in the user's own inherits who may do what.
///
/// # Errors
///
/// None; elsewhere a mode may let others in.
pub fn check_private(_directory: impl AsFd) -> Result<(), Errno> {
    Ok(())
}

/// The permissions of a mode: there are none. What a new file inherits from the user's directory is
/// right.
pub fn permissions(_mode: u32) -> Option<Permissions> {
    None
}

/// Has the names in a directory survive a loss of power, which the system does with each file.
///
/// # Errors
///
/// None; elsewhere the directory is flushed.
pub fn flush_names(_directory: &Path) -> io::Result<()> {
    Ok(())
}

/// A relative path as the names are written that are matched against rules: with slashes, which
/// the system takes as well.
#[expect(clippy::needless_pass_by_value, reason = "it is given back elsewhere")]
pub fn with_slashes(path: PathBuf) -> PathBuf {
    let mut bytes = path.as_os_str().as_bytes().to_vec();
    put_slashes(&mut bytes);
    OsString::from_vec(bytes).into()
}

/// A name of bytes as it is written that is matched against rules: with slashes.
pub fn put_slashes(name: &mut [u8]) {
    name.iter_mut()
        .filter(|byte| **byte == b'\\')
        .for_each(|byte| *byte = b'/');
}

/// The path of the current directory, as the file system spells it: what the caller has called it
/// may differ in case.
///
/// # Errors
///
/// What the system says.
pub fn current_directory() -> io::Result<PathBuf> {
    crate::canonicalize(std::env::current_dir()?)
}

/// Who may do what with a file: what its mode says of that.
pub fn mode(stat: &Stat) -> u32 {
    stat.st_mode & 0o7777
}

/// For opening what is not to be read: a directory that others are opened beneath, or a file that
/// is only looked at.
pub const PATH_ONLY: OFlags = OFlags::PATH;

/// Whether a file can have several names: not in every file system, so that none is given one.
pub const HAS_LINKS: bool = false;

/// Gives no file a second name.
///
/// # Errors
///
/// `NOTSUP`.
pub fn link(
    _from: BorrowedFd<'_>,
    _name: &OsStr,
    _to: BorrowedFd<'_>,
    _second: &str,
) -> Result<(), Errno> {
    Err(Errno::NOTSUP)
}

/// A path by which an open file is opened again and given a name: there is none here.
pub fn by_descriptor(_file: &File) -> Option<String> {
    None
}

/// Names no file, because [`by_descriptor`] gives no path.
///
/// # Errors
///
/// `NOTSUP`.
pub fn name_open(_path: &str, _directory: BorrowedFd<'_>, _name: &OsStr) -> Result<(), Errno> {
    Err(Errno::NOTSUP)
}

/// Gives a file a name that no other has, in the place of the one that it had.
///
/// # Errors
///
/// `EXIST` where another file has the name, or what the system says.
pub fn name_anew(
    from: BorrowedFd<'_>,
    temporary: &str,
    directory: BorrowedFd<'_>,
    name: &OsStr,
) -> Result<(), Errno> {
    rename_in(from, temporary, directory, name, false)
}

/// Gives a file the name of another in its directory, which goes. Only NTFS replaces a file that is
/// open; elsewhere `release` closes it, and gives its lock up, just before. Programs that look
/// through files (virus scanners, indexers) may have one of the two open for a moment.
///
/// # Errors
///
/// What the system says.
pub fn replace(
    directory: BorrowedFd<'_>,
    temporary: &str,
    name: &OsStr,
    release: &mut dyn FnMut(),
) -> Result<(), Errno> {
    const ATTEMPTS: u32 = 6;
    let rename = || rename_in(directory, temporary, directory, name, true);
    let mut outcome = rename();
    release();
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

/// Moves no file: what is to be kept is copied.
///
/// # Errors
///
/// `NOTSUP`.
pub fn move_away(
    _file: &File,
    _from: BorrowedFd<'_>,
    _name: &OsStr,
    _to: BorrowedFd<'_>,
    _kept: &str,
) -> Result<(), Errno> {
    Err(Errno::NOTSUP)
}
