//! Reads single keys from a terminal, and restores its modes afterwards, also after an error.

use super::TerminalPrompt;
use gemini_tools_process::tty::WAIT;
use std::io;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeyPress<T> {
    Key(T),
    Stop,
    End,
}

impl TerminalPrompt {
    /// Shows `line`, which lists the keys, and waits for a key that has a meaning. Ctrl-C and the
    /// end of the session count as `Stop`, and Ctrl-D as `End`.
    ///
    /// # Errors
    ///
    /// Returns the operating system's error if the terminal is gone.
    pub(super) fn key<T>(
        &self,
        line: &str,
        meaning: impl Fn(u8) -> Option<T>,
    ) -> io::Result<KeyPress<T>> {
        const CTRL_C: u8 = 3;
        const CTRL_D: u8 = 4;
        const ESCAPE: u8 = 0x1b;

        let _raw = self.tty.raw()?;
        self.tty.write(line)?;
        let mut buffer = [0; 256];
        while self.cancel.interruption().is_none() {
            let count = match self.tty.read(&mut buffer) {
                Ok(count) => count,
                Err(e) => {
                    // If the terminal is gone because its session has ended, the signal that
                    // cancels this process may come a moment later.
                    std::thread::sleep(WAIT);
                    let is_over = self.cancel.interruption().is_some();
                    return if is_over { Ok(KeyPress::Stop) } else { Err(e) };
                }
            };
            for &byte in &buffer[..count] {
                match byte {
                    CTRL_C => return Ok(KeyPress::Stop),
                    CTRL_D => return Ok(KeyPress::End),
                    // An arrow key sends ESC and letters, which are not an answer.
                    ESCAPE => break,
                    byte => {
                        if let Some(known) = meaning(byte) {
                            return Ok(KeyPress::Key(known));
                        }
                    }
                }
            }
        }
        Ok(KeyPress::Stop)
    }
}
