//! The controlling terminal, on which a person is asked.

use rustix::io::Errno;
use rustix::termios::{
    InputModes, LocalModes, OptionalActions, QueueSelector, SpecialCodeIndex, Termios, tcflush,
    tcgetattr, tcsetattr,
};
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::process::Stdio;
use std::time::Duration;

const WAIT_TENTHS: u8 = 2;

/// How long [`Tty::read`] waits for a key in the mode of [`Tty::raw`].
pub const WAIT: Duration = Duration::from_millis(100 * WAIT_TENTHS as u64);

/// Discards what was typed at standard input before a question is shown, since it can't be an
/// answer. Does nothing if standard input is not a terminal.
pub fn discard_typed_ahead() {
    // The call fails if this is not a terminal, which is fine.
    let _ = tcflush(rustix::stdio::stdin(), QueueSelector::IFlush);
}

/// A terminal that is open for reading and writing.
#[derive(Debug)]
pub struct Tty(File);

impl From<File> for Tty {
    fn from(file: File) -> Self {
        Self(file)
    }
}

impl Tty {
    /// Returns the controlling terminal, or `None` if there is none.
    pub fn open() -> Option<Self> {
        let tty = OpenOptions::new()
            .read(true)
            .write(true)
            .open("/dev/tty")
            .ok()?;
        tcgetattr(&tty).ok()?;
        Some(Self(tty))
    }

    /// Shows a text.
    ///
    /// # Errors
    ///
    /// Returns the operating system's error if the terminal is gone.
    pub fn write(&self, text: &str) -> io::Result<()> {
        (&self.0).write_all(text.as_bytes())
    }

    /// Returns a guard that restores the present modes of the terminal when it is dropped.
    ///
    /// # Errors
    ///
    /// Returns the operating system's error if the terminal is gone.
    pub fn keep(&self) -> io::Result<SavedModes<'_>> {
        Ok(SavedModes {
            tty: &self.0,
            modes: tcgetattr(&self.0)?,
        })
    }

    /// Makes the terminal return single keys, without echo and without signals for keys such as
    /// Ctrl-C, until the guard is dropped.
    ///
    /// # Errors
    ///
    /// Returns the operating system's error if the terminal is gone.
    pub fn raw(&self) -> io::Result<SavedModes<'_>> {
        let kept = self.keep()?;
        let mut raw = kept.modes.clone();
        // The output modes stay unchanged, so that a line feed still begins a new line.
        raw.local_modes -=
            LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG | LocalModes::IEXTEN;
        raw.input_modes -= InputModes::IXON;
        raw.special_codes[SpecialCodeIndex::VMIN] = 0;
        raw.special_codes[SpecialCodeIndex::VTIME] = WAIT_TENTHS;
        // What was typed before the question was shown is not an answer to it.
        tcsetattr(&self.0, OptionalActions::Flush, &raw)?;
        Ok(kept)
    }

    /// Reads keys. Returns 0 if none comes within [`WAIT`].
    ///
    /// # Errors
    ///
    /// Returns the operating system's error if the terminal is gone.
    pub fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        match rustix::io::read(&self.0, buffer) {
            // 0 bytes may mean that no key was pressed, or that the terminal has hung up. In the
            // latter case its modes can't be read either, which is the error to return.
            Ok(0) => tcgetattr(&self.0).map(|_| 0),
            Err(Errno::INTR) => Ok(0),
            other => other,
        }
        .map_err(io::Error::from)
    }

    /// Returns three copies of the terminal, as the standard streams of a program for a person.
    ///
    /// # Errors
    ///
    /// Returns the operating system's error.
    pub fn streams(&self) -> io::Result<[Stdio; 3]> {
        let stream = || self.0.try_clone().map(Stdio::from);
        Ok([stream()?, stream()?, stream()?])
    }
}

/// The saved modes of a terminal. Dropping this restores them.
#[derive(Debug)]
pub struct SavedModes<'a> {
    tty: &'a File,
    modes: Termios,
}

impl Drop for SavedModes<'_> {
    fn drop(&mut self) {
        // If the terminal is gone, there are no modes to restore.
        let _ = tcsetattr(self.tty, OptionalActions::Now, &self.modes);
    }
}
