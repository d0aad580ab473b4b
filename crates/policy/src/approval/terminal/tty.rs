//! Single keys from a terminal, whose modes are put back however that ends.

pub(super) use gemini_tools_process::tty::Tty;

use gemini_tools_core::tool::Cancellation;
use gemini_tools_process::tty::WAIT;
use std::io;

/// A key that a person has pressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeyPress<T> {
    /// A key that means something.
    Key(T),
    /// Ctrl-C, or the session is cancelled.
    Stop,
    /// Ctrl-D.
    End,
}

/// Waits for a key that means something; `show` is called once keys are taken.
///
/// # Errors
///
/// Returns the operating system's error if the terminal is gone.
pub(super) fn key<T>(
    tty: &Tty,
    cancel: &Cancellation,
    show: impl FnOnce() -> io::Result<()>,
    meaning: impl Fn(u8) -> Option<T>,
) -> io::Result<KeyPress<T>> {
    const CTRL_C: u8 = 3;
    const CTRL_D: u8 = 4;
    const ESCAPE: u8 = 0x1b;

    let _raw = tty.raw()?;
    show()?;
    let mut buffer = [0; 256];
    loop {
        if cancel.interruption().is_some() {
            return Ok(KeyPress::Stop);
        }
        let count = match tty.read(&mut buffer) {
            Ok(count) => count,
            Err(e) => return gone(cancel, e),
        };
        for &byte in &buffer[..count] {
            match byte {
                CTRL_C => return Ok(KeyPress::Stop),
                CTRL_D => return Ok(KeyPress::End),
                // The letters of an arrow key are not an answer.
                ESCAPE => break,
                byte => {
                    if let Some(known) = meaning(byte) {
                        return Ok(KeyPress::Key(known));
                    }
                }
            }
        }
    }
}

/// Waits a moment for the signal that says that the terminal has gone away with the session.
fn gone<T>(cancel: &Cancellation, error: io::Error) -> io::Result<KeyPress<T>> {
    std::thread::sleep(WAIT);
    match cancel.interruption() {
        Some(_) => Ok(KeyPress::Stop),
        None => Err(error),
    }
}
