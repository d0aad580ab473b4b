//! Whose a file is, who may write to it, and what tells it from others, by its owner.

use super::fd::AsFd;
use super::ffi::{OsStrExt, OsStringExt};
use super::fs::has_trusted_owner;
use super::io::Errno;
use std::ffi::OsString;
use std::fs::{File, Metadata, Permissions};
use std::io;
use std::path::{Path, PathBuf};

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
