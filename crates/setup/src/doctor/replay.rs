//! A process as the host starts it: three pipes, no shell, no time limit but ours.

use gemini_tools_core::tool::Cancellation;
use gemini_tools_process::piped::Program;
use gemini_tools_process::program_run::{Input, ProgramRun, RunOptions};
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::time::Duration;

/// The time that pipes may be held after the end of the program.
const LINGER: Duration = Duration::from_secs(1);

/// Starts a program and watches it until its pipes are closed, as the host does. Then all that
/// it started is ended.
///
/// # Errors
///
/// Where it can't be started.
pub(super) fn run(
    program: &Path,
    args: &[String],
    root: &Path,
    input: Input<'_>,
    limit: Duration,
) -> io::Result<ProgramRun> {
    let environment: BTreeMap<_, _> = std::env::vars_os().collect();
    let program = Program {
        name: program.as_os_str(),
        arguments: args,
        environment: &environment,
        directory: root,
    };
    let drive = RunOptions {
        input,
        limit,
        hold: LINGER,
        leaves: false,
    };
    program.run(drive, &Cancellation::default())
}
