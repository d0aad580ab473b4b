//! Printing to the standard streams.

use gemini_tools::output::write_text;
use gemini_tools::start;

/// Prints a message to standard error.
pub(crate) fn warn(message: &str) {
    start::warn(&format!("get_tools: {message}"));
}

/// Prints the reason of a failure to standard error, and returns the exit status.
pub(crate) fn fail(status: u8, reason: &str) -> u8 {
    warn(reason);
    status
}

/// Writes everything at once; a reader that has gone away is none of our business.
pub(crate) fn print(text: &[u8]) -> u8 {
    match write_text(text) {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => {
            fail(1, &format!("Can't write to standard output: {e}"))
        }
        _ => 0,
    }
}
