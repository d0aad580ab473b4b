//! A file that keeps the output of a command up to a maximum size.

use gemini_tools_workspace::files::make_private;
use rustix::fs::{Mode, OFlags};
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Maximum size of a log, in bytes. Only the beginning of longer output is kept.
pub const MAX_BYTES: u64 = 256 * 1024 * 1024;

const FULL: &[u8] = b"\n[The log is full: it keeps the first 256 MiB of the output.]\n";

/// Makes a new file that only its owner can read, opened for appending, and its directory: another
/// call may have removed that since, as an empty one.
///
/// # Errors
///
/// Returns the operating system's error, also if the file exists.
pub fn new_file(path: &Path) -> io::Result<File> {
    path.parent().map_or(Ok(()), make_private)?;
    let mut options = File::options();
    options.create_new(true).append(true).mode(0o600).open(path)
}

/// A file for output that is being written.
#[derive(Debug)]
pub struct Log {
    file: File,
    written: u64,
}

impl Log {
    /// Makes a new log that only its owner can read.
    ///
    /// # Errors
    ///
    /// Returns the operating system's error, also if the file exists.
    pub fn create(path: &Path) -> io::Result<Self> {
        let file = new_file(path)?;
        Ok(Self { file, written: 0 })
    }

    /// Opens an existing log to append to it.
    ///
    /// # Errors
    ///
    /// Returns the operating system's error, also if there is no such file.
    pub fn reopen(path: &Path) -> io::Result<Self> {
        let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
        let written = file.metadata()?.len();
        Ok(Self { file, written })
    }

    /// Appends output while there is room.
    ///
    /// # Errors
    ///
    /// Returns the operating system's error, or `FileTooLarge` if the log is full.
    pub fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let room = MAX_BYTES.saturating_sub(self.written);
        if bytes.len() as u64 <= room {
            self.written += bytes.len() as u64;
            return self.file.write_all(bytes);
        }
        if self.written <= MAX_BYTES {
            self.written = MAX_BYTES + 1;
            self.file.write_all(&bytes[..room as usize])?;
            self.file.write_all(FULL)?;
        }
        Err(io::ErrorKind::FileTooLarge.into())
    }
}

#[cfg(test)]
mod tests {
    use super::{FULL, Log, MAX_BYTES};
    use std::io::ErrorKind;
    use std::os::unix::fs::FileExt;

    #[test]
    fn a_full_log_says_so_once_and_takes_nothing_more() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("log");
        drop(Log::create(&path).expect("made"));
        // A sparse file stands for much output.
        let file = std::fs::File::options().write(true).open(&path);
        file.and_then(|file| file.set_len(MAX_BYTES - 3))
            .expect("long");
        let mut log = Log::reopen(&path).expect("opened");
        log.append(b"a").expect("room");
        for bytes in [&b"bcd"[..], b"e"] {
            let full = log.append(bytes).expect_err("no room");
            assert_eq!(full.kind(), ErrorKind::FileTooLarge);
            log = Log::reopen(&path).expect("opened");
        }
        let mut end = [0; 3 + FULL.len()];
        let file = std::fs::File::open(&path).expect("opened");
        file.read_exact_at(&mut end, MAX_BYTES - 3)
            .expect("long enough");
        assert_eq!(end, *[&b"abc"[..], FULL].concat());
        assert_eq!(log.written, MAX_BYTES + FULL.len() as u64);
    }
}
