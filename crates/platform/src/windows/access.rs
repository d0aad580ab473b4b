//! The list that says who may do what.

use super::fs::{Stat, copy_access};
use super::io::Errno;
use crate::access::NotKept;
use std::fs::File;

/// Gives a new file the list of an old one. Where the file system has no such lists there is
/// nothing to give.
///
/// # Errors
///
/// [`NotKept::System`].
pub fn copy(from: &File, _old: &Stat, to: &File) -> Result<(), NotKept> {
    match copy_access(from, to) {
        Err(Errno::NOTSUP | Errno::INVAL | Errno::NOSYS) => Ok(()),
        other => other.map_err(NotKept::System),
    }
}
