//! How git is started: this is the only place that starts it.
//!
//! git obeys the settings of a repository, which nobody need have reviewed. A call of ours must run
//! no program that they name, but for clean filters, and reach no other machine.

use gemini_tools_core::tool::{Cancellation, ErrorKind, ToolError};
use gemini_tools_process::ending::ProcessEnd;
use gemini_tools_process::piped::Program;
use gemini_tools_process::program_run::{Input, RunOptions};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(100);

/// How long to wait, after git has exited, for a process that it has started and that still holds
/// its output open.
const HOLD: Duration = Duration::from_secs(1);

/// Settings that win over those of the repository. With them git starts no program for
/// `core.fsmonitor` or as a hook, takes no directory of the working tree for a repository because
/// it looks like one (`safe.bareRepository`), lists no files of which only the times have changed
/// (`diff.autoRefreshIndex`) and quotes no names. All of the repository is compared
/// (`diff.relative`): a file that was moved into the root is new to git that sees only that.
const SETTINGS: [&str; 12] = [
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "safe.bareRepository=explicit",
    "-c",
    "diff.autoRefreshIndex=true",
    "-c",
    "core.quotePath=false",
    "-c",
    "diff.relative=false",
];

/// In a partial clone git fetches what is missing, by a program that the repository names. A list
/// of allowed protocols in the environment wins over those in settings.
const VARIABLES: [(&str, &str); 4] = [
    ("GIT_ALLOW_PROTOCOL", "none"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_TERMINAL_PROMPT", "0"),
];

const IN_PARTIAL_CLONE: &str =
    "A partial clone lacks what files were: `git diff --stat BASE...` fetches that.";

/// Variables that name a program, or ask for lines of context. Those with settings stay: they are
/// the user's, say which directories are safe, and [`SETTINGS`] win over them too.
const LEFT_OUT: [&str; 2] = ["GIT_DIFF_OPTS", "GIT_EXTERNAL_DIFF"];

pub(crate) fn output(
    root: &Path,
    arguments: &[&str],
    cancel: &Cancellation,
) -> Result<Vec<u8>, ToolError> {
    let mut all = Vec::new();
    let mut take = |bytes: &[u8]| all.extend_from_slice(bytes);
    stream(root, arguments, cancel, &mut take)?;
    Ok(all)
}

pub(crate) fn stream(
    root: &Path,
    arguments: &[&str],
    cancel: &Cancellation,
    take: &mut dyn FnMut(&[u8]),
) -> Result<(), ToolError> {
    let arguments = SETTINGS.iter().chain(arguments);
    let arguments: Vec<String> = arguments.map(|word| (*word).to_owned()).collect();
    let mut environment: BTreeMap<OsString, OsString> = std::env::vars_os().collect();
    environment.retain(|name, _| !LEFT_OUT.iter().any(|out| name == out));
    environment.extend(VARIABLES.map(|(name, value)| (name.into(), value.into())));
    let program = Program {
        name: "git".as_ref(),
        arguments: &arguments,
        environment: &environment,
        directory: root,
    };
    let options = RunOptions {
        input: Input::Bytes(&[]),
        limit: LIMIT,
        hold: HOLD,
        leaves: false,
    };
    let failed = |why: &str| {
        let why = why.trim().trim_end_matches('.');
        let what = format!("git can't tell what has changed: {why}.");
        let error = ToolError::new(ErrorKind::ExecutionFailed, what);
        if why.contains("promisor") {
            return error.with_hint(IN_PARTIAL_CLONE);
        }
        error
    };
    let run = program.run_into(options, cancel, take);
    cancel.check()?;
    let run = run.map_err(|e| {
        let error = failed(&e.to_string());
        match e.kind() {
            std::io::ErrorKind::NotFound => error.with_hint("It has to be on the PATH."),
            _ => error,
        }
        .with_source(e)
    })?;
    match run.ending {
        Ok(ProcessEnd::Code(0)) => Ok(()),
        // `git merge-base` has nothing more to say then.
        Ok(_) if run.stderr.is_empty() => Err(failed("HEAD and this commit have none in common")),
        Ok(_) => Err(failed(&String::from_utf8_lossy(&run.stderr))),
        Err(_) => Err(failed("it takes too long.")),
    }
}
