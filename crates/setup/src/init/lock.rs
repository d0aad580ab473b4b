//! One at a time: two runs at once would write over each other's entries in files that all
//! projects share.

use super::change::{InitError, missing};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// Maximum tries: each further one means that another process got through in between.
const MAX_TRIES: usize = 10_000;

/// While it lives, no other run of `get_tools init` with the same home directory changes anything.
#[derive(Debug)]
pub struct Lock {
    path: PathBuf,
    /// Directories that were made for it, the highest first.
    pub(super) made: Vec<PathBuf>,
    /// Directories that are to go where nothing is left in them, the highest first.
    pub(super) emptied: Vec<PathBuf>,
    file: File,
}

impl Lock {
    /// Waits for its turn, after it has called `waits` where that may take a while.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn take(home: &Path, waits: impl FnOnce()) -> Result<Self, InitError> {
        let path = home.join(".gemini/tools_init/lock");
        let made = missing(&path);
        let mut waits = Some(waits);
        let fail = |e: io::Error| InitError::new(&path, e);
        for _ in 0..MAX_TRIES {
            let file = match open(&path) {
                // The last one has just removed the directory.
                Err(e) if e.kind() == ErrorKind::NotFound => continue,
                file => file.map_err(fail)?,
            };
            match file.try_lock() {
                Err(TryLockError::WouldBlock) => {
                    if let Some(waits) = waits.take() {
                        waits();
                    }
                    file.lock().map_err(fail)?;
                }
                // A file system without locks is not a reason to do nothing at all.
                Err(TryLockError::Error(e)) if e.kind() != ErrorKind::Unsupported => {
                    return Err(fail(e));
                }
                _ => {}
            }
            if is_at(&file, &path).map_err(fail)? {
                return Ok(Self {
                    path,
                    made,
                    emptied: Vec::new(),
                    file,
                });
            }
        }
        Err(InitError::new(&path, "others hold it all the time"))
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Where something else is in a directory by now, it stays.
        let _ = fs::remove_file(&self.path);
        let _ = self.path.parent().map(fs::remove_dir);
        for directory in self.emptied.iter().rev().chain(self.made.iter().rev()) {
            let _ = fs::remove_dir(directory);
        }
        let _ = self.file.unlock();
    }
}

fn open(path: &Path) -> io::Result<File> {
    fs::create_dir_all(path.parent().ok_or(ErrorKind::InvalidInput)?)?;
    OpenOptions::new()
        .create(true)
        .write(true)
        .truncate(false)
        .open(path)
}

/// Whether the locked file still has its name: its last holder may have removed it.
fn is_at(mut file: &File, path: &Path) -> io::Result<bool> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let nanos = now.map_or(0, |now| now.as_nanos());
    let mark = format!("{} {nanos}\n", std::process::id());
    file.set_len(0)?;
    file.write_all(mark.as_bytes())?;
    match fs::read(path) {
        Ok(there) => Ok(there == mark.as_bytes()),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(false),
        // Where a lock keeps others from reading, the file can't be another one either.
        Err(_) => Ok(true),
    }
}
