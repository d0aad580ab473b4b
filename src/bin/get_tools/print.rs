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

/// Writes everything at once to standard output, and returns the exit status.
pub(crate) fn print(text: &[u8]) -> u8 {
    start::write_status("get_tools", write_text(text))
}
