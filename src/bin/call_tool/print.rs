//! The only place that writes to the standard streams.

use gemini_tools::output::{write_json, write_json_to_terminal, write_text};
pub(crate) use gemini_tools_executables::start::warn;
use gemini_tools_executables::start::write_status;
use std::io::IsTerminal;
use std::sync::{LazyLock, Mutex, PoisonError};

/// Held while something is written, so that lines stay whole.
static TURN: Mutex<()> = Mutex::new(());

/// Returns true if standard output is a terminal, which is asked once for all calls of a batch.
pub(crate) fn is_stdout_terminal() -> bool {
    static IS_TERMINAL: LazyLock<bool> = LazyLock::new(|| std::io::stdout().is_terminal());
    *IS_TERMINAL
}

/// The form of a message, and its stream.
#[derive(Clone, Copy)]
pub(crate) enum Medium {
    /// A line of JSON, which on a terminal shows nothing that deceives.
    Json,
    /// Anything else, as it is.
    Text,
    /// A message for a person, on standard error.
    Complaint,
}

/// Prints a line of JSON and returns the exit status: `status`, or 1 if it can't be written.
pub(crate) fn print_json(line: &[u8], status: u8) -> u8 {
    if print(line, Medium::Json) { status } else { 1 }
}

/// Writes everything at once; a reader that has gone away is none of our business. Returns false
/// if it can't be written.
pub(crate) fn print(text: &[u8], medium: Medium) -> bool {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    write(text, medium)
}

fn write(text: &[u8], medium: Medium) -> bool {
    let written = match (medium, std::str::from_utf8(text)) {
        (Medium::Complaint, _) => {
            warn(&String::from_utf8_lossy(text));
            return true;
        }
        (Medium::Json, Ok(json)) if is_stdout_terminal() => write_json_to_terminal(json),
        (Medium::Json, _) => write_json(text),
        (Medium::Text, _) => write_text(text),
    };
    write_status("call_tool", written) == 0
}

/// Writes the last that there is to say, and ends the process, whatever else it does. `status`
/// is told whether the text could be written.
pub(crate) fn print_last(text: &[u8], medium: Medium, status: impl Fn(bool) -> u8) -> ! {
    // Not while a line is being written, and none comes after it.
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    gemini_tools::process::exit(status(write(text, medium)))
}
