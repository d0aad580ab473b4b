//! Single keys from a terminal, whose modes are put back however that ends.

use crate::tool::Cancellation;
use rustix::io::Errno;
use rustix::termios::{
    InputModes, LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr,
};
use std::fs::File;
use std::io;
use std::time::Duration;

/// How long a read waits before it is looked whether the session goes on, in tenths of a
/// second.
const WAIT_TENTHS: u8 = 2;

/// What a person has pressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pressed<T> {
    /// A key that means something.
    Key(T),
    /// Ctrl-C, or the session is cancelled.
    Stop,
    /// Ctrl-D.
    End,
}

/// A terminal's modes, put back when it is dropped.
pub(super) struct Kept<'a> {
    tty: &'a File,
    modes: Termios,
}

impl<'a> Kept<'a> {
    /// Remembers the present modes.
    pub(super) fn new(tty: &'a File) -> io::Result<Self> {
        Ok(Self {
            tty,
            modes: tcgetattr(tty)?,
        })
    }

    /// Lets keys come one by one, unseen and without signals.
    fn raw(tty: &'a File) -> io::Result<Self> {
        let kept = Self::new(tty)?;
        let mut raw = kept.modes.clone();
        // Output stays as it is, so that a line feed still begins a line.
        raw.local_modes -=
            LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG | LocalModes::IEXTEN;
        raw.input_modes -= InputModes::IXON;
        raw.special_codes[SpecialCodeIndex::VMIN] = 0;
        raw.special_codes[SpecialCodeIndex::VTIME] = WAIT_TENTHS;
        // What was typed before the question was shown is no answer to it.
        tcsetattr(tty, OptionalActions::Flush, &raw)?;
        Ok(kept)
    }
}

impl Drop for Kept<'_> {
    fn drop(&mut self) {
        // A terminal that is gone needs no modes.
        let _ = tcsetattr(self.tty, OptionalActions::Now, &self.modes);
    }
}

/// Waits for a key that means something; `show` is called once keys are taken.
///
/// # Errors
///
/// Where the terminal is gone.
pub(super) fn key<T>(
    tty: &File,
    cancel: &Cancellation,
    show: impl FnOnce() -> io::Result<()>,
    meaning: impl Fn(u8) -> Option<T>,
) -> io::Result<Pressed<T>> {
    const CTRL_C: u8 = 3;
    const CTRL_D: u8 = 4;
    const ESCAPE: u8 = 0x1b;

    let _raw = Kept::raw(tty)?;
    show()?;
    let mut buffer = [0; 256];
    loop {
        if cancel.interruption().is_some() {
            return Ok(Pressed::Stop);
        }
        let count = match rustix::io::read(tty, &mut buffer) {
            Ok(count) => count,
            Err(Errno::INTR) => continue,
            Err(e) => return gone(cancel, e),
        };
        // A terminal that has hung up gives nothing as well, and has no modes.
        if count == 0
            && let Err(e) = tcgetattr(tty)
        {
            return gone(cancel, e);
        }
        for &byte in &buffer[..count] {
            match byte {
                CTRL_C => return Ok(Pressed::Stop),
                CTRL_D => return Ok(Pressed::End),
                // The letters of an arrow key are no answer.
                ESCAPE => break,
                byte => {
                    if let Some(known) = meaning(byte) {
                        return Ok(Pressed::Key(known));
                    }
                }
            }
        }
    }
}

/// Where the terminal has gone away with the session, the signal that says so comes a moment later.
fn gone<T>(cancel: &Cancellation, error: Errno) -> io::Result<Pressed<T>> {
    std::thread::sleep(Duration::from_millis(100) * u32::from(WAIT_TENTHS));
    match cancel.interruption() {
        Some(_) => Ok(Pressed::Stop),
        None => Err(error.into()),
    }
}
