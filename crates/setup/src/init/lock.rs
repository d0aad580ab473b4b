//! A lock, because two runs at once would write over each other's entries in files that all projects share.

use super::change::InitError;
use std::fs::{File, TryLockError};
use std::io::{self, ErrorKind};
use std::path::Path;

/// A lock on the home directory. While it lives, no other run of `get_tools init` there changes anything.
#[derive(Debug)]
pub struct Lock {
    _home: File,
}

impl Lock {
    /// Waits for its turn, after it has called `waits` where that may take a while.
    ///
    /// # Errors
    ///
    /// Returns the operating system's error if the directory can't be opened or locked.
    pub fn take(home: &Path, waits: impl FnOnce()) -> Result<Self, InitError> {
        let fail = |e: io::Error| InitError::new(home, e);
        let file = File::open(home).map_err(fail)?;
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => {
                waits();
                file.lock().map_err(fail)?;
            }
            // A file system without locks is not a reason to do nothing at all.
            Err(TryLockError::Error(e)) if e.kind() != ErrorKind::Unsupported => {
                return Err(fail(e));
            }
            _ => {}
        }
        Ok(Self { _home: file })
    }
}
