//! Printing to the standard streams.

use gemini_tools::output::write_text;
pub(crate) use gemini_tools::start::warn;

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
