//! Printing to the standard streams.

use gemini_tools::output::{width, write_text};
use gemini_tools::text::wrapped;
use std::borrow::Cow;
use std::io::{IsTerminal, Write};

/// The longest lines of help, in characters.
pub(crate) const WIDEST: usize = 100;

/// Writes a message for a person; on a terminal it is wrapped between words.
pub(crate) fn warn(message: &str) {
    let message = if std::io::stderr().is_terminal() {
        Cow::Owned(wrapped(message, width()))
    } else {
        Cow::Borrowed(message)
    };
    // If standard error is gone, there is no reader.
    let _ = writeln!(std::io::stderr(), "{message}");
}

/// Writes everything at once; a reader that has gone away is none of our business.
pub(crate) fn print(text: &[u8]) -> u8 {
    match write_text(text) {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => {
            warn(&format!("get_tools: Can't write to standard output: {e}"));
            1
        }
        _ => 0,
    }
}
