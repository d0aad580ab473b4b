//! The terminal on which a person is asked: the console.

use super::console::{Console, Modes};
use super::stdio::{stderr, stdin, stdout};
use super::termios::isatty;
use std::io;
use std::process::Stdio;
use std::time::Duration;

/// How long a read waits for a key.
pub const WAIT: Duration = Duration::from_millis(200);

/// A console. Its modes are put back when it is dropped.
#[derive(Debug)]
pub struct Tty {
    console: Console,
    before: Modes,
}

impl Tty {
    /// The console, where a person sees it. Hosts start programs in consoles without a window,
    /// and terminals that are none have one that is hidden: one that can be seen has at least one
    /// of the standard streams.
    pub fn open() -> Option<Self> {
        if ![stdin(), stdout(), stderr()].into_iter().any(isatty) {
            return None;
        }
        let console = Console::open().ok()?;
        let before = console.modes().ok()?;
        Some(Self { console, before })
    }

    /// Whether it can show colours: from now on it does.
    pub fn can_colour(&self) -> bool {
        let modes = self.before.with_escape_sequences();
        self.console.set_modes(modes).is_ok()
    }

    /// Shows a text.
    ///
    /// # Errors
    ///
    /// Where the terminal is gone.
    pub fn write(&self, text: &str) -> io::Result<()> {
        Ok(self.console.write(text)?)
    }

    /// Remembers the present modes.
    ///
    /// # Errors
    ///
    /// Where the terminal is gone.
    pub fn keep(&self) -> io::Result<SavedModes<'_>> {
        Ok(SavedModes {
            console: &self.console,
            modes: self.console.modes()?,
        })
    }

    /// Lets keys come one by one, unseen and without signals.
    ///
    /// # Errors
    ///
    /// Where the terminal is gone.
    pub fn raw(&self) -> io::Result<SavedModes<'_>> {
        let kept = self.keep()?;
        self.console.set_modes(kept.modes.with_single_keys())?;
        // What was typed before the question was shown is not an answer to it.
        self.console.forget_keys()?;
        Ok(kept)
    }

    /// Reads keys, those that are characters of ASCII; none where none comes for a while.
    ///
    /// # Errors
    ///
    /// Where the terminal is gone.
    pub fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        Ok(self.console.read(buffer, WAIT)?)
    }

    /// The terminal, for a program that a person uses there: input, output, standard error.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn streams(&self) -> io::Result<[Stdio; 3]> {
        self.console.streams()
    }
}

impl Drop for Tty {
    fn drop(&mut self) {
        // A console that is gone needs no modes.
        let _ = self.console.set_modes(self.before);
    }
}

/// A console's modes, put back when it is dropped.
#[derive(Debug)]
pub struct SavedModes<'a> {
    console: &'a Console,
    modes: Modes,
}

impl Drop for SavedModes<'_> {
    fn drop(&mut self) {
        // As above.
        let _ = self.console.set_modes(self.modes);
    }
}
