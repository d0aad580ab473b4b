//! The terminal on which a person is asked: the controlling one.

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

/// How long a read waits for a key.
pub const WAIT: Duration = Duration::from_millis(100 * WAIT_TENTHS as u64);

/// Discards what was typed at standard input before a question is shown, if that is a terminal: it can't be an answer.
pub fn discard_typed_ahead() {
    // What is not a terminal refuses this, which is fine.
    let _ = tcflush(rustix::stdio::stdin(), QueueSelector::IFlush);
}

/// A terminal.
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

    /// Saves the present modes until the guard is dropped.
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

    /// Sets the terminal to give keys one by one, unseen and without signals.
    ///
    /// # Errors
    ///
    /// Returns the operating system's error if the terminal is gone.
    pub fn raw(&self) -> io::Result<SavedModes<'_>> {
        let kept = self.keep()?;
        let mut raw = kept.modes.clone();
        // Output stays as it is, so that a line feed still begins a line.
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
            // A terminal that has hung up returns nothing, too, but its modes can't be read either.
            Ok(0) => tcgetattr(&self.0).map(|_| 0),
            Err(Errno::INTR) => Ok(0),
            other => other,
        }
        .map_err(io::Error::from)
    }

    /// Returns the terminal as standard input, output and error of a program that a person uses
    /// there.
    ///
    /// # Errors
    ///
    /// Returns the operating system's error.
    pub fn streams(&self) -> io::Result<[Stdio; 3]> {
        let stream = || self.0.try_clone().map(Stdio::from);
        Ok([stream()?, stream()?, stream()?])
    }
}

/// The saved modes of a terminal, which are restored when this is dropped.
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
