//! A file that takes any amount of output and keeps its beginning and its end.
//!
//! What lies between is given back to the file system as a hole, so that places in the file
//! stay what they were and a program that prints for days does not fill the disk.

use gemini_tools_platform::fs::{Mode, OFlags};
use gemini_tools_platform::holes;
use gemini_tools_platform::unix_fs::OpenOptionsExt;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

/// How much of the beginning is kept, in bytes.
pub const HEAD_BYTES: u64 = 64 * 1024 * 1024;

/// How much of the end is kept, in bytes.
pub const TAIL_BYTES: u64 = 192 * 1024 * 1024;

/// Room is given back in pieces of this size.
const STEP_BYTES: u64 = 32 * 1024 * 1024;

/// No file takes more on the disk, however long it is.
pub const MAX_BYTES: u64 = HEAD_BYTES + TAIL_BYTES + STEP_BYTES;

/// An output file that is being written.
#[derive(Debug)]
pub struct Log {
    file: File,
    written: u64,
    /// Where the hole ends.
    hole_end: u64,
    can_punch: bool,
}

impl Log {
    /// Makes a new file, for its owner only.
    ///
    /// # Errors
    ///
    /// What the system says, also where the file exists.
    pub fn create(path: &Path) -> io::Result<Self> {
        let mut options = File::options();
        options.create_new(true).append(true).mode(0o600);
        Ok(Self::new(options.open(path)?, 0))
    }

    /// Goes on with a file.
    ///
    /// # Errors
    ///
    /// What the system says, also where there is no such file.
    pub fn reopen(path: &Path) -> io::Result<Self> {
        let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = File::from(gemini_tools_platform::fs::open(path, flags, Mode::empty())?);
        let written = file.metadata()?.len();
        Ok(Self::new(file, written))
    }

    fn new(file: File, written: u64) -> Self {
        Self {
            file,
            written,
            hole_end: HEAD_BYTES,
            can_punch: true,
        }
    }

    /// Adds output.
    ///
    /// # Errors
    ///
    /// What the system says; where it can't make holes, `FileTooLarge` when the limits are
    /// reached.
    pub fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.written >= self.hole_end + TAIL_BYTES + STEP_BYTES {
            self.punch()?;
        }
        self.file.write_all(bytes)?;
        self.written += bytes.len() as u64;
        Ok(())
    }

    fn punch(&mut self) -> io::Result<()> {
        if self.can_punch {
            let to = holes::end(self.written - TAIL_BYTES);
            match holes::punch(&self.file, HEAD_BYTES, to - HEAD_BYTES) {
                Ok(()) => {
                    self.hole_end = to;
                    return Ok(());
                }
                Err(_) => self.can_punch = false,
            }
        }
        Err(io::ErrorKind::FileTooLarge.into())
    }

    /// How many bytes were written in all.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// How many bytes between the beginning and the end are kept no more.
    pub fn lost(&self) -> u64 {
        self.hole_end - HEAD_BYTES
    }
}
