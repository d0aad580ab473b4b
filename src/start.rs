//! The start of an executable: signals and access, before it does anything else.

use gemini_tools_core::text::wrapped;
use gemini_tools_core::version;
use gemini_tools_process::output::{width, write_status};
use gemini_tools_process::own;
use std::borrow::Cow;
use std::io::{IsTerminal, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

/// Exit status of a failure that no code foresaw (`EX_SOFTWARE` of `sysexits.h`).
const UNFORESEEN: u8 = 70;

/// Runs the main function of a command and returns its exit status. A panic becomes status 70. A
/// reader of its output that goes away ends it quietly, as is usual for Unix tools.
pub fn run(main: fn() -> u8) -> ExitCode {
    own::end_by_sigpipe();
    serve(main)
}

/// Does as [`run`] for a process with several peers, which goes on when one of them goes away.
pub fn serve(main: fn() -> u8) -> ExitCode {
    own::prepare();
    version::set(crate::VERSION);
    catch_unwind(AssertUnwindSafe(main))
        .unwrap_or(UNFORESEEN)
        .into()
}

/// Writes a message for a person to standard error; on a terminal it is wrapped between words.
pub fn warn(message: &str) {
    let mut stderr = std::io::stderr();
    let message = if stderr.is_terminal() {
        Cow::Owned(wrapped(message, width()))
    } else {
        Cow::Borrowed(message)
    };
    // If standard error is gone, there is no reader.
    let _ = writeln!(stderr, "{message}");
}

/// Returns the length of a line of help, in characters.
pub fn help_width() -> usize {
    width().min(100)
}

/// Returns a message of the command-line parser with the program's name in the place of `error`.
///
/// ```
/// let text = "error: unexpected argument '--x' found\n";
/// let message = gemini_tools::start::usage_message("get_tools", text);
/// assert_eq!(message, "get_tools: unexpected argument '--x' found");
/// ```
#[must_use]
pub fn usage_message(program: &str, text: &str) -> String {
    let reason = text.strip_prefix("error: ").unwrap_or(text);
    format!("{program}: {}", reason.trim_end())
}

/// Prints the error of a command line, and returns `status`, or prints the help that it asks for.
#[must_use]
pub fn refuse(program: &str, error: &clap::Error, status: u8) -> u8 {
    if error.use_stderr() {
        warn(&usage_message(program, &error.to_string()));
        return status;
    }
    write_status(error.print())
}

/// Returns the exit status of what a signal has ended; `0` is the end of the caller.
#[must_use]
pub fn signal_status(signal: i32) -> u8 {
    match signal {
        1.. => u8::try_from(128 + signal).unwrap_or(130),
        _ => 130,
    }
}
