//! The call command, run as Gemini CLI runs it.

use super::declarations::DeclaredNames;
use super::program;
use super::replay::run;
use super::{Commands, DoctorReport, Setup, State, Try, fault};
use gemini_tools_builtin_tools::builtin;
use gemini_tools_core::diagnostic::Diagnostic;
use gemini_tools_core::tool::{ErrorKind, Kind};
use gemini_tools_policy::{Decision, PolicyCall, mode_from_env};
use gemini_tools_process::command::StopReason;
use gemini_tools_process::ending::ProcessEnd;
use gemini_tools_process::program_run::{Input, ProgramRun};
use gemini_tools_process::terminal::excerpt;
use serde_json::{Value, json};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// No program has a tool of this name, so a call has no effect.
const UNKNOWN_TOOL: &str = "gemini_tools_doctor_asks_for_no_tool";

/// Larger than a pipe, in bytes: a program that does not read it all is found out.
const LARGE_INPUT_BYTES: usize = 1024 * 1024;

/// The time that host and model wait for nothing at all.
const LIMIT: Duration = Duration::from_secs(10);

/// A call that the user asked for may do something.
const TRY_LIMIT: Duration = Duration::from_secs(120);

/// A start that is felt, with each call.
const SLOW: Duration = Duration::from_millis(500);

/// The time from which on a call is not made again, so that the checks don't take too long.
const RETRY_WITHIN: Duration = Duration::from_secs(2);

/// An answer that floods a model, in bytes.
const FLOOD_BYTES: usize = 200_000;

/// Finds the program of the call command, as Gemini CLI starts it.
///
/// # Errors
///
/// Returns the code of a finding and its explanation if it can't be started.
fn find_program(call: &str, root: &Path) -> Result<PathBuf, Diagnostic> {
    program::find(call, root).map_err(|not_started| {
        let words = shlex::split(call).unwrap_or_default();
        let first = words.first().filter(|first| *first != call);
        if first.is_none_or(|first| program::find(first, root).is_err()) {
            return not_started;
        }
        fault(
            "call-arguments",
            "It has arguments, or quotes.",
            "Gemini CLI takes the whole of it for the path of one program (its issue #19783).",
            "Name a script that holds the arguments, or name the pair in .gemini/tools, where they work.",
        )
    })
}

/// Makes a call, and again where it is slow: a machine may be busy for once. Returns the first
/// run with the shortest time.
fn quickest(call: impl Fn() -> io::Result<ProgramRun>) -> io::Result<ProgramRun> {
    let mut seen = call()?;
    for _ in 0..2 {
        let is_worth_it = seen.took > SLOW && seen.took < RETRY_WITHIN;
        if is_worth_it
            && !seen.was_held
            && seen.ending.is_ok()
            && let Ok(again) = call()
        {
            seen.took = seen.took.min(again.took);
        }
    }
    Ok(seen)
}

fn start(
    path: &Path,
    name: &str,
    input: &[u8],
    root: &Path,
    limit: Duration,
) -> io::Result<ProgramRun> {
    run(path, &[name.to_owned()], root, Input::Bytes(input), limit)
}

/// Asks the call command for a tool that is not there, and makes the calls that the caller names.
pub(super) fn check(
    setup: &Setup<'_>,
    commands: &Commands,
    has_our_tools: bool,
    declared: &DeclaredNames,
    tries: &[Try],
    report: &mut DoctorReport,
) {
    let about = commands.call.text.as_str();
    let path = match find_program(&commands.call.expanded(), setup.root) {
        Ok(path) => path,
        Err(fault) => return report.findings.push(fault.about(about)),
    };
    let input = json!({ "probe": "x".repeat(LARGE_INPUT_BYTES) }).to_string();
    let ask = || start(&path, UNKNOWN_TOOL, input.as_bytes(), setup.root, LIMIT);
    let seen = match quickest(ask) {
        Ok(seen) => seen,
        Err(e) => {
            let what = format!("It can't be started: {e}.");
            let why = "No call can be made.";
            let help = "Run it by hand to see why.";
            return report.error("call-not-started", about, what, why, help);
        }
    };
    check_unknown_tool(&seen, about, report);
    if tries.is_empty() && seen.ending.is_ok() && has_our_tools {
        return check_own_call(setup, &path, declared, &seen, report);
    }
    if tries.is_empty() {
        warn_of_noise(&seen, about, &declared.names, report);
    }
    for Try { name, args } in tries {
        let input = Value::Object(args.clone()).to_string();
        let Ok(seen) = start(&path, name, input.as_bytes(), setup.root, TRY_LIMIT) else {
            continue;
        };
        let state = if succeeds(&seen) {
            State::Works
        } else {
            State::Known
        };
        report.note("tried", format!("{name}: {}", summary(&seen)), state);
        check_real_call(&seen, name, TRY_LIMIT, report);
    }
}

/// Judges a call as Gemini CLI does.
fn succeeds(seen: &ProgramRun) -> bool {
    seen.ending == Ok(ProcessEnd::Code(0)) && seen.stderr.is_empty()
}

/// Tools of ours that have no effect, with their arguments.
pub(super) const HARMLESS: [(&str, &str); 3] = [
    ("list_directory", r#"{"path":"."}"#),
    ("list_background_processes", "{}"),
    ("glob", r#"{"pattern":"*"}"#),
];

/// Size of the blanks in the arguments, in bytes: larger than the buffer of a pipe.
const PADDING_BYTES: usize = 128 * 1024;

/// Calls a tool of ours that has no effect, where one is declared and may run, by whatever call
/// command the settings name; `probe` is the call of a tool that is not there.
fn check_own_call(
    setup: &Setup<'_>,
    path: &Path,
    declared: &DeclaredNames,
    probe: &ProgramRun,
    report: &mut DoctorReport,
) {
    let may_run = |name: &str, args: &str| {
        let args = serde_json::from_str(args).unwrap_or_default();
        let known = builtin::find(name);
        let call = PolicyCall {
            kind: known.map_or(Kind::Other, |known| known.info.kind),
            ..PolicyCall::of_tool(name, known.map_or(&[], |known| known.info.aliases), &args)
        };
        let verdict = setup.policy.check(&call, mode_from_env(), true);
        declared.ours.iter().any(|one| one == name) && verdict.decision != Decision::Deny
    };
    let Some((name, args)) = HARMLESS
        .into_iter()
        .find(|(name, args)| may_run(name, args))
    else {
        return report.note("tried", "no harmless tool available to try", State::Missing);
    };
    // Named by its path, the project is listed only by tools that work in it.
    let project = json!({ "path": setup.root }).to_string();
    let args = match name {
        "list_directory" => project.as_str(),
        _ => args,
    };
    // Blanks within the object: what reads the arguments reads past them.
    let input = args.replacen('{', &format!("{{{}", " ".repeat(PADDING_BYTES)), 1);
    let call = || start(path, name, input.as_bytes(), setup.root, LIMIT);
    let Ok(seen) = quickest(call) else {
        return;
    };
    if succeeds(&seen) {
        report.time("call time", seen.took);
    }
    check_real_call(&seen, name, LIMIT, report);
    // What the probe has told already is true of every call.
    if seen.left_input && !probe.left_input {
        report_left_input(name, report);
    }
    if seen.took > SLOW && probe.took <= SLOW {
        warn_of_slow_call(&seen, name, report);
    }
}

/// Warns of a program that succeeds and still writes to standard error: it may do so in each call.
fn warn_of_noise(seen: &ProgramRun, about: &str, declared: &[String], report: &mut DoctorReport) {
    if seen.ending != Ok(ProcessEnd::Code(0)) || seen.stderr.is_empty() {
        return;
    }
    let name = declared.first().map_or("NAME", String::as_str);
    let what = format!(
        "A call of a tool that is not there ends with status 0, but writes to standard error: {}",
        excerpt(&seen.stderr)
    );
    let why = "If it writes there in every call, each of them is a failure for Gemini CLI.";
    let help = format!("Make a real call to see whether it does: get_tools doctor --try {name}");
    report.warn("call-stderr", about, what, why, help);
}

fn how_it_ended(seen: &ProgramRun) -> String {
    match seen.ending {
        Ok(ProcessEnd::Code(code)) => format!("status {code}"),
        Ok(signal) => signal.to_string(),
        Err(_) => "did not end".to_owned(),
    }
}

fn summary(seen: &ProgramRun) -> String {
    format!(
        "{}, {} bytes in {:.1} ms",
        how_it_ended(seen),
        seen.stdout.len(),
        seen.took.as_secs_f64() * 1e3
    )
}

/// Checks what is true of any call.
fn check_any_call(
    seen: &ProgramRun,
    about: &str,
    limit: Duration,
    report: &mut DoctorReport,
) -> bool {
    if seen.ending == Err(StopReason::Unwatched) {
        let what = "A call killed the process that watched over it.";
        let why = "That may be Gemini CLI itself.";
        let help = "Don't end the parent process.";
        report.error("call-fails", about, what, why, help);
        return false;
    }
    if seen.ending.is_err() {
        let what = format!("A call has not ended after {} s.", limit.as_secs());
        let why = "Gemini CLI sets no limit: the session hangs until the user presses Escape, and the call goes on.";
        let help = "Set a time limit in the program itself.";
        report.error("call-hangs", about, what, why, help);
        return false;
    }
    if seen.was_held {
        let what = "Something that it started still holds its output.";
        let why =
            "Gemini CLI waits until the pipes are closed, so the call hangs as long as that runs.";
        let help = "Start it in a session of its own, with its output to a file or /dev/null.";
        report.error("call-background", about, what, why, help);
    }
    true
}

fn check_unknown_tool(seen: &ProgramRun, about: &str, report: &mut DoctorReport) {
    if !check_any_call(seen, about, LIMIT, report) {
        return;
    }
    if seen.left_input {
        report_left_input(about, report);
    }
    if seen.ending == Ok(ProcessEnd::Code(0))
        && seen.stderr.is_empty()
        && !tells_an_error(&seen.stdout)
    {
        let what = format!(
            "A call of a tool that is not there succeeds: {}",
            excerpt(&seen.stdout)
        );
        let why = "The model takes that for the answer.";
        let help = "Exit with a status other than 0 for a name that is not known.";
        report.warn("unknown-tool-succeeds", about, what, why, help);
    }
    if seen.took > SLOW {
        warn_of_slow_call(seen, about, report);
    }
}

fn report_left_input(about: &str, report: &mut DoctorReport) {
    let what = "It ends without having read all of standard input.";
    let why = "Writing the arguments fails in Gemini CLI then, which is not caught there and can end the whole session.";
    let help = "Read standard input to its end before anything else, also where the call fails.";
    report.error("call-leaves-input", about, what, why, help);
}

fn warn_of_slow_call(seen: &ProgramRun, about: &str, report: &mut DoctorReport) {
    let what = format!(
        "A call that does next to nothing takes {:.1} s.",
        seen.took.as_secs_f64()
    );
    let why = "Each call of each tool pays for that.";
    let help = "Load less at the start, or keep a server running that the command asks.";
    report.warn("call-slow", about, what, why, help);
}

fn tells_an_error(stdout: &[u8]) -> bool {
    let value: Value = serde_json::from_slice(stdout).unwrap_or_default();
    !value["functionResponse"]["response"]["error"].is_null() || !value["error"].is_null()
}

/// Returns true for the error about a path outside of the directories that the tools work in.
fn is_outside(stdout: &[u8]) -> bool {
    let value: Value = serde_json::from_slice(stdout).unwrap_or_default();
    value["functionResponse"]["response"]["errorType"] == json!(ErrorKind::PathNotInWorkspace)
}

fn report_failed_call(seen: &ProgramRun, name: &str, report: &mut DoctorReport) {
    let (stdout, stderr) = (excerpt(&seen.stdout), excerpt(&seen.stderr));
    if is_outside(&seen.stdout) {
        let what = format!("The project is not where the tools work: {stdout}");
        let why = "The model gets the files of another directory, and none of this project.";
        let help = "Take --root out of the script that the call command names, or let it name this project.";
        return report.error("call-root", name, what, why, help);
    }
    let how = how_it_ended(seen);
    let what = format!("It fails ({how}): {stdout} {stderr}");
    let help = "Run it by hand with the same arguments on standard input.";
    let what = what.trim().trim_end_matches(':');
    report.error("call-fails", name, what, "The model gets an error.", help);
}

fn check_real_call(seen: &ProgramRun, name: &str, limit: Duration, report: &mut DoctorReport) {
    if !check_any_call(seen, name, limit, report) {
        return;
    }
    let stderr = excerpt(&seen.stderr);
    match seen.ending {
        Ok(ProcessEnd::Code(0)) if !stderr.is_empty() => report.error(
            "call-stderr",
            name,
            format!("It succeeds, but writes to standard error: {stderr}"),
            "One byte there makes a failure of the call for Gemini CLI.",
            "Write nothing there, or name the pair in .gemini/tools, where only the status counts.",
        ),
        Ok(ProcessEnd::Code(0)) => {}
        _ => report_failed_call(seen, name, report),
    }
    if std::str::from_utf8(&seen.stdout).is_err() {
        let what = "What it prints is not UTF-8.";
        let why = "Gemini CLI reads it as UTF-8; what does not fit is lost.";
        report.error("call-encoding", name, what, why, "Print UTF-8.");
    } else if seen.splits_characters {
        let what = format!(
            "Of its {} bytes a character lies across the edge of a piece.",
            seen.stdout.len()
        );
        let why =
            "Gemini CLI decodes each piece that it reads alone: the character becomes U+FFFD.";
        let help = "Print long answers in ASCII, in JSON as \\u escapes.";
        report.warn("call-split-character", name, what, why, help);
    }
    if seen.stdout.len() > FLOOD_BYTES {
        let what = format!("It prints {} bytes.", seen.stdout.len());
        let why = "All of it goes to the model and stays in its context.";
        let help = "Limit what is printed, and say what was left out.";
        report.warn("call-floods", name, what, why, help);
    }
}
