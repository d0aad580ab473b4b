//! What goes to the standard streams.

use gemini_tools::output::write_text;
use std::io::Write;

pub(crate) fn warn(message: &str) {
    // Where standard error is gone, there is no reader.
    let _ = writeln!(std::io::stderr(), "{message}");
}

/// Writes everything at once; a reader that has gone away is none of our business.
pub(crate) fn print(text: &[u8]) -> u8 {
    match write_text(text) {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => {
            warn(&format!("get_tools: can't write to standard output: {e}"));
            1
        }
        _ => 0,
    }
}
