//! What all executables share: the preparation of the process at its start, parsers of common
//! options, and the reporting of errors.

use anyhow::Context as _;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use gemini_tools::builtin::summary;
use gemini_tools::colours::ColourChoice;
use gemini_tools::output::width;
use gemini_tools::process::own;
use gemini_tools::session::Session;
use gemini_tools::text::{first_sentence, harmless_lines, visible, wrapped};
use gemini_tools::tool::{ApprovalMode, Cancellation, Context, ToolError, help};
use gemini_tools::version;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::ExitCode;
use std::sync::OnceLock;

/// Exit status after a panic (`EX_SOFTWARE` of `sysexits.h`).
const UNFORESEEN: u8 = 70;

static PROGRAM: OnceLock<&str> = OnceLock::new();

/// How many processes read what a program writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peers {
    /// One process reads standard output. If it exits, the program ends quietly, as is usual for
    /// Unix tools.
    One,
    /// Several processes. If one of them exits, the program goes on.
    Many,
}

/// An error with an exit status of its own. Its message may have several lines.
#[derive(Debug, thiserror::Error)]
#[error("{1}")]
pub struct Failure(pub u8, pub String);

/// Runs the main function of a program and returns its exit status. An error is printed, a panic
/// becomes status 70.
pub fn run(program: &'static str, peers: Peers, main: fn() -> anyhow::Result<u8>) -> ExitCode {
    if peers == Peers::One {
        own::end_by_sigpipe();
    }
    own::prepare();
    version::set(crate::VERSION);
    let _ = PROGRAM.set(program);
    let ended = catch_unwind(AssertUnwindSafe(main)).unwrap_or(Ok(UNFORESEEN));
    ended.unwrap_or_else(|error| report(&error)).into()
}

/// Prints an error and returns the exit status: its own, or 1 if it has none. If it stands for a
/// command line that asks for help or the version, that is printed instead.
pub fn report(error: &anyhow::Error) -> u8 {
    if let Some(asked) = error.downcast_ref::<clap::Error>() {
        return written(asked.print()).unwrap_or_else(|error| report(&error));
    }
    let one_line = |text: &str| visible(text).into_owned();
    let (status, message) = if let Some(Failure(status, message)) = error.downcast_ref() {
        (*status, message.clone())
    } else if let Some(error) = error.downcast_ref::<ToolError>() {
        (error.kind.exit_status(), one_line(&error.to_string()))
    } else {
        (1, one_line(&format!("{error:#}")))
    };
    warn(&message);
    status
}

/// Prints a message for a person to standard error, after the program's name.
pub fn warn(message: &str) {
    let program = PROGRAM.get().copied().unwrap_or_default();
    tell(&format!("{program}: {message}"));
}

/// Prints a text for a person to standard error; on a terminal it is wrapped between words.
/// Control characters and deceptive characters are escaped, because names and arguments in the
/// text may contain anything.
pub fn tell(message: &str) {
    let mut stderr = io::stderr();
    let mut message = harmless_lines(message);
    if stderr.is_terminal() {
        message = wrapped(&message, width());
    }
    // If standard error can't be written to, nobody can be told.
    let _ = writeln!(stderr, "{message}");
}

/// Returns the exit status after a write to standard output, 0, or why it failed. That the reader
/// has exited does not count as a failure.
pub fn written(written: io::Result<()>) -> anyhow::Result<u8> {
    match written {
        Err(e) if e.kind() == ErrorKind::BrokenPipe => Ok(0),
        written => written
            .context("Can't write to standard output")
            .map(|()| 0),
    }
}

/// Returns true if a path of the command line stands for standard input.
pub fn is_stdin(path: &Path) -> bool {
    ["-", "/dev/stdin"].map(Path::new).contains(&path)
}

/// Returns the width to which help is wrapped, in columns.
pub fn help_width() -> usize {
    width().min(100)
}

/// Returns the help for a tool, wrapped to the terminal's width.
///
/// # Errors
///
/// Returns `tool_not_registered`, or why the tool can't be used.
pub fn tool_help(session: &Session, name: &str) -> Result<String, ToolError> {
    let cx = Context::new(Cancellation::default(), false);
    session.with_tool(name, &cx, |tool| help(tool, help_width()))
}

/// Returns the names of all tools that can be called, each with a summary, without asking servers.
#[must_use]
pub fn named_tools(session: &Session) -> Vec<(String, String)> {
    let ours = session.visible_tools(true).into_iter();
    let ours = ours.map(|tool| {
        let name = tool.name();
        (name.to_owned(), summary(name, tool.description()))
    });
    let theirs = session.known_server_tools(true).into_iter().map(|tool| {
        let description = first_sentence(&tool.description());
        (tool.name.clone(), description)
    });
    let mut all: Vec<_> = ours.chain(theirs).collect();
    all.sort();
    all
}

/// Returns a parser for an option whose value is one of `names`. `from_name` converts the name.
pub fn name_parser<T: Clone + Send + Sync + 'static>(
    names: impl Into<PossibleValuesParser>,
    from_name: fn(&str) -> Option<T>,
) -> impl TypedValueParser<Value = T> {
    names
        .into()
        .try_map(move |name| from_name(&name).ok_or("it is no such name"))
}

/// Returns a parser of `--approval-mode`.
pub fn approval_modes() -> impl TypedValueParser<Value = ApprovalMode> {
    name_parser(ApprovalMode::NAMES, ApprovalMode::from_name)
}

/// Returns a parser of `--color`.
pub fn colours() -> impl TypedValueParser<Value = ColourChoice> {
    name_parser(ColourChoice::NAMES, ColourChoice::from_name)
}

/// Returns the message of a command line that can't be used, without the word `error`.
pub fn usage_text(error: &clap::Error) -> String {
    let text = error.to_string();
    let reason = text.strip_prefix("error: ").unwrap_or(&text);
    reason.trim_end().to_owned()
}

/// Returns the error of a command line that can't be used, with this status. If the command line
/// asks for help or the version, returns that.
pub fn refuse(error: clap::Error, status: u8) -> anyhow::Error {
    if error.use_stderr() {
        Failure(status, usage_text(&error)).into()
    } else {
        error.into()
    }
}

/// Returns the exit status after a cancellation by `signal`: 128 plus its number. If `signal` is 0,
/// the caller has exited, and the status is 130.
#[must_use]
pub fn signal_status(signal: i32) -> u8 {
    match signal {
        1.. => u8::try_from(128 + signal).unwrap_or(130),
        _ => 130,
    }
}
