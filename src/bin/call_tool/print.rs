//! The only place that writes to the standard streams.

use gemini_tools::output::{width, write_json, write_stdout, write_text};
use gemini_tools::text::{json_for_terminal, wrapped};
use std::borrow::Cow;
use std::io::{IsTerminal, Write};
use std::sync::{LazyLock, Mutex, PoisonError};

/// The longest lines of help, in characters.
pub(crate) const WIDEST: usize = 100;

/// Held while something is written, so that lines stay whole.
static TURN: Mutex<()> = Mutex::new(());

/// Returns true if standard output is a terminal, which is asked once for all calls of a batch.
pub(crate) fn is_stdout_terminal() -> bool {
    static IS_TERMINAL: LazyLock<bool> = LazyLock::new(|| std::io::stdout().is_terminal());
    *IS_TERMINAL
}

/// Returns true if standard error is a terminal.
pub(crate) fn is_stderr_terminal() -> bool {
    static IS_TERMINAL: LazyLock<bool> = LazyLock::new(|| std::io::stderr().is_terminal());
    *IS_TERMINAL
}

/// Writes a message for a person; on a terminal it is wrapped between words.
pub(crate) fn warn(message: &str) {
    let message = if is_stderr_terminal() {
        Cow::Owned(wrapped(message, width()))
    } else {
        Cow::Borrowed(message)
    };
    // If standard error is gone, there is no reader.
    let _ = writeln!(std::io::stderr(), "{message}");
}

/// The stream of a message.
#[derive(Clone, Copy)]
pub(crate) enum Printed {
    /// A line of JSON, which on a terminal shows nothing that deceives.
    Json,
    /// Anything else, as it is.
    Text,
    /// A message for a person, on standard error.
    Complaint,
}

/// The exit status of what was printed.
#[derive(Clone, Copy)]
pub(crate) struct Statuses {
    pub(crate) written: u8,
    /// Exit status if the message could not be printed.
    pub(crate) unwritten: u8,
}

/// [`print()`] of a line of JSON.
pub(crate) fn print_json(line: &[u8], status: u8) -> u8 {
    let statuses = Statuses {
        written: status,
        unwritten: 1,
    };
    print(line, Printed::Json, statuses)
}

/// Writes everything at once; a reader that has gone away is none of our business.
pub(crate) fn print(text: &[u8], printed: Printed, statuses: Statuses) -> u8 {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    write(text, printed, statuses)
}

fn write(text: &[u8], printed: Printed, statuses: Statuses) -> u8 {
    let written = match (printed, std::str::from_utf8(text)) {
        (Printed::Complaint, _) => {
            warn(&String::from_utf8_lossy(text));
            return statuses.written;
        }
        (Printed::Json, Ok(json)) if is_stdout_terminal() => {
            write_stdout(json_for_terminal(json).as_bytes())
        }
        (Printed::Json, _) => write_json(text),
        (Printed::Text, _) => write_text(text),
    };
    match written {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => {
            warn(&format!("call_tool: Can't write to standard output: {e}"));
            statuses.unwritten
        }
        _ => statuses.written,
    }
}

/// Writes the last that there is to say, and ends the process, whatever else it does.
pub(crate) fn print_last(text: &[u8], printed: Printed, statuses: Statuses) -> ! {
    // Not while a line is being written, and none comes after it.
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    gemini_tools::process::exit(write(text, printed, statuses))
}
