//! Finds and runs a program as the host does.

use super::fault;
use gemini_tools_core::diagnostic::Diagnostic;
use gemini_tools_core::text::show_path;
use gemini_tools_core::tool::Cancellation;
use gemini_tools_process::command::{find_program, is_program};
use gemini_tools_process::ending::ProcessEnd;
use gemini_tools_process::piped::Program;
use gemini_tools_process::program_run::{Input, MAX_STREAM_BYTES, ProgramRun, RunOptions};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

const NOT_STARTED: &str = "The host starts it without a shell, and can't.";

pub(super) fn find(word: &str, root: &Path) -> Result<PathBuf, Diagnostic> {
    let fail =
        |code, what: String, help: &str| Err(fault(code, what, NOT_STARTED, help.to_owned()));
    let path: PathBuf = if word.contains('/') {
        root.join(word).components().collect()
    } else if let Some(path) = find_program(OsStr::new(word)) {
        path
    } else {
        let what = format!("There is no program {word:?} on the PATH.");
        return fail("program-missing", what, "Install it, or write its path.");
    };
    let shown = show_path(&path).into_owned();
    if !path.exists() {
        let what = format!("There is no file {shown}.");
        let help = "Correct the path: that of a program and nothing else, without ~ and arguments; a relative one counts from the project's root.";
        return fail("program-missing", what, help);
    }
    let code = "program-not-executable";
    if path.is_dir() {
        let what = format!("{shown} is a directory.");
        return fail(code, what, "Name the program in it.");
    }
    if !is_program(&path) {
        let what = format!("{shown} may not be executed.");
        return fail(code, what, &format!("chmod +x {shown}"));
    }
    Ok(path)
}

/// Runs a program until its output pipes are closed, as the host does, then ends everything it has
/// started.
///
/// # Errors
///
/// Returns a finding if the program can't be started, or does not end: the host would hang.
pub(super) fn run(
    path: &Path,
    args: &[String],
    root: &Path,
    input: Input<'_>,
    limit: Duration,
) -> Result<ProgramRun, Diagnostic> {
    const LINGER: Duration = Duration::from_secs(1);
    let program = Program {
        name: path.as_os_str(),
        arguments: args,
        environment: &std::env::vars_os().collect(),
        directory: root,
    };
    let options = RunOptions {
        input,
        limit,
        hold: LINGER,
        leaves: false,
    };
    let seen = program.run(options, &Cancellation::default());
    let seen = seen.map_err(|e| {
        let help = "Run it by hand to see why; a script's first line must name its interpreter.";
        fault(
            "not-started",
            format!("It can't be started: {e}."),
            NOT_STARTED,
            help,
        )
    })?;
    let what = match seen.ending {
        Ok(_) if !seen.was_held => return Ok(seen),
        Ok(_) => "Something that it started still holds its output.".to_owned(),
        Err(_) if seen.is_cut => format!("It prints more than {MAX_STREAM_BYTES} bytes."),
        Err(_) => format!("It has not ended after {} s.", limit.as_secs()),
    };
    let why = "Gemini CLI waits until its pipes are closed, without a limit: its start or the session hangs.";
    let help = "Let it read its input, answer and end; it must not wait for a terminal or the network, or leave something behind that holds its output.";
    Err(fault("hangs", what, why, help))
}

pub(super) fn failure(seen: &ProgramRun) -> Option<String> {
    match seen.ending {
        Ok(ProcessEnd::Code(0)) => None,
        Ok(ProcessEnd::Code(code)) => Some(format!("status {code}")),
        Ok(signal) => Some(signal.to_string()),
        Err(_) => Some("it was ended".to_owned()),
    }
}
