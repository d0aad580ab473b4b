//! Parts of a file that take no room: these are for files that are declared to have some, which
//! none of ours are.

use super::io::Errno;
use std::fs::File;
use std::io;

/// Where a hole may end that is to end here: there are none.
pub fn end(at: u64) -> u64 {
    at
}

/// Gives nothing back.
///
/// # Errors
///
/// `Unsupported`.
pub fn punch(_file: &File, _from: u64, _length: u64) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Where the next bytes are that were written, from `at` on: there.
///
/// # Errors
///
/// None; elsewhere the system is asked.
pub fn next_data(_file: &File, at: u64) -> Result<u64, Errno> {
    Ok(at)
}
