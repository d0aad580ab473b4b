//! Runs the call command as Gemini CLI does, and checks what it answers.

use super::declarations::DeclaredNames;
use super::setup::CommandText;
use super::{DoctorReport, Setup, State, fault, program};
use gemini_tools_core::diagnostic::Diagnostic;
use gemini_tools_core::text::line_name;
use gemini_tools_process::program_run::{Input, ProgramRun};
use gemini_tools_process::terminal::excerpt;
use serde_json::json;
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

/// A name that no tool has, so that the call can't have an effect.
const UNKNOWN_TOOL: &str = "gemini_tools_doctor_asks_for_no_tool";

/// The length of the padded input in bytes. It is more than a pipe's buffer holds, so that a
/// program that does not read all of its input is detected.
const PADDING_BYTES: usize = 1024 * 1024;

const LIMIT: Duration = Duration::from_secs(10);

pub(super) const HARMLESS: &str = "list_directory";

pub(super) fn check(
    setup: &Setup<'_>,
    command: &CommandText,
    declared: &DeclaredNames,
    report: &mut DoctorReport,
) {
    let about = command.text.as_str();
    let path = match program::find(&command.expanded(), setup.root) {
        Ok(path) => path,
        Err(finding) => return report.findings.push(finding.about(about)),
    };
    let call = |name: &str, args: &str| {
        let name = [name.to_owned()];
        let args = padded(args);
        let input = Input::Bytes(args.as_bytes());
        let seen = program::run(&path, &name, setup.root, input, LIMIT)?;
        if !seen.left_input {
            return Ok(seen);
        }
        let what = "It ends without having read all of standard input.";
        let why = "Writing the arguments fails in Gemini CLI then, which is not caught there and can end the whole session.";
        let help =
            "Read standard input to its end before anything else, also where the call fails.";
        Err(fault("call-leaves-input", what, why, help))
    };
    if let Err(finding) = call(UNKNOWN_TOOL, "{}") {
        return report.findings.push(finding.about(about));
    }
    // If the rules can't be read, no call may run, which is reported as such.
    if !declared.has_harmless || setup.policy.obstacle().is_some() {
        return report.fact("tried", "no harmless tool available to try", State::Missing);
    }
    // The absolute path makes the call fail if the tools work in another project.
    let path = line_name(setup.root.as_os_str().as_bytes());
    let args = json!({ "path": path });
    match call(HARMLESS, &args.to_string()).and_then(|seen| judge(&seen)) {
        Ok(text) => report.fact("tried", format!("{HARMLESS}: {text}"), State::Works),
        Err(finding) => report.findings.push(finding.about(HARMLESS)),
    }
}

fn padded(args: &str) -> String {
    args.replacen('{', &format!("{{{}", " ".repeat(PADDING_BYTES)), 1)
}

fn judge(seen: &ProgramRun) -> Result<String, Diagnostic> {
    let (stdout, stderr) = (excerpt(&seen.stdout), excerpt(&seen.stderr));
    if let Some(how) = program::failure(seen) {
        let what = format!("It fails ({how}): {stdout} {stderr}");
        let what = what.trim().trim_end_matches(':').to_owned();
        let help = "Run it by hand with the same arguments on standard input.";
        return Err(fault("call-fails", what, "The model gets an error.", help));
    }
    if !stderr.is_empty() {
        let what = format!("It succeeds, but writes to standard error: {stderr}");
        let why = "One byte there makes a failure of the call for Gemini CLI.";
        let help =
            "Write nothing there, or name the pair in .gemini/tools, where only the status counts.";
        return Err(fault("call-stderr", what, why, help));
    }
    let milliseconds = seen.took.as_secs_f64() * 1e3;
    Ok(format!(
        "status 0, {} bytes in {milliseconds:.1} ms",
        seen.stdout.len()
    ))
}
