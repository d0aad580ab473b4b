//! Writes to the standard streams. Nothing else does, except that clap prints its help.

use crate::start::{report, tell, written};
use gemini_tools::output::{write_json, write_json_to_terminal, write_text};
use std::io::IsTerminal;
use std::sync::{LazyLock, Mutex, PoisonError};

/// Held during each write, so that lines of several threads are not mixed.
static TURN: Mutex<()> = Mutex::new(());

/// Returns true if standard output is a terminal. The system is asked only once per process.
pub(crate) fn is_stdout_terminal() -> bool {
    static IS_TERMINAL: LazyLock<bool> = LazyLock::new(|| std::io::stdout().is_terminal());
    *IS_TERMINAL
}

/// What kind of text is printed, and to which stream: a line of JSON for standard output, in which
/// deceptive characters are escaped if that is a terminal; other text for standard output, which is
/// printed as it is; or a message for a person on standard error.
#[derive(Clone, Copy)]
pub(crate) enum Medium {
    Json,
    Text,
    Complaint,
}

/// Prints a line of JSON and returns the exit status: `status`, or 1 if it can't be written.
pub(crate) fn print_json(line: &[u8], status: u8) -> u8 {
    if print(line, Medium::Json) { status } else { 1 }
}

/// Prints a text without interruption by other threads. Returns false if it can't be written; that
/// the reader has exited does not count as a failure.
pub(crate) fn print(text: &[u8], medium: Medium) -> bool {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    write(text, medium)
}

fn write(text: &[u8], medium: Medium) -> bool {
    let done = match (medium, std::str::from_utf8(text)) {
        (Medium::Complaint, _) => {
            tell(&String::from_utf8_lossy(text));
            return true;
        }
        (Medium::Json, Ok(json)) if is_stdout_terminal() => write_json_to_terminal(json),
        (Medium::Json, _) => write_json(text),
        (Medium::Text, _) => write_text(text),
    };
    written(done).map_err(|error| report(&error)).is_ok()
}

/// Prints a line of JSON. If it can't be written, ends the process: calls whose answers nobody gets
/// must not change anything more.
pub(crate) fn print_or_end(line: &[u8]) {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    if !write(line, Medium::Json) {
        gemini_tools::process::exit(1);
    }
}

/// Prints a last text and ends the process, even if other threads are still at work. `status`
/// returns the exit status, given whether the text could be written.
pub(crate) fn print_last(text: &[u8], medium: Medium, status: impl Fn(bool) -> u8) -> ! {
    // Waits until a line that is being written is complete. The lock is never released, so that no
    // line comes after this text.
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    gemini_tools::process::exit(status(write(text, medium)))
}
