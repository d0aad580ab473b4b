//! Runs the call command as Gemini CLI does, and checks what it answers.

use super::declarations::DeclaredNames;
use super::setup::CommandText;
use super::{DoctorReport, Setup, State, Try, fault, program};
use gemini_tools_builtin_tools::builtin;
use gemini_tools_core::diagnostic::Diagnostic;
use gemini_tools_core::tool::Kind;
use gemini_tools_policy::{Decision, PolicyCall, mode_from_env};
use gemini_tools_process::program_run::{Input, ProgramRun};
use gemini_tools_process::terminal::excerpt;
use serde_json::{Map, Value, json};
use std::time::Duration;

/// A name that no tool has, so that the call can't have an effect.
const UNKNOWN_TOOL: &str = "gemini_tools_doctor_asks_for_no_tool";

/// The length of the padded input in bytes. It is more than a pipe's buffer holds, so that a
/// program that does not read all of its input is detected.
const PADDING_BYTES: usize = 1024 * 1024;

const LIMIT: Duration = Duration::from_secs(10);

const TRY_LIMIT: Duration = Duration::from_secs(120);

/// Built-in tools that change nothing, with arguments for a call.
pub(super) const HARMLESS: [(&str, &str); 3] = [
    ("list_directory", r#"{"path":"."}"#),
    ("list_background_processes", "{}"),
    ("glob", r#"{"pattern":"*"}"#),
];

/// Calls a tool that does not exist, then the tools that the user has named or else one of
/// [`HARMLESS`], and reports what would go wrong in a host.
pub(super) fn check(
    setup: &Setup<'_>,
    command: &CommandText,
    declared: &DeclaredNames,
    tries: &[Try],
    report: &mut DoctorReport,
) {
    let about = command.text.as_str();
    let path = match program::find(&command.expanded(), setup.root) {
        Ok(path) => path,
        Err(finding) => return report.findings.push(finding.about(about)),
    };
    let call = |name: &str, args: &str, limit| {
        let name = [name.to_owned()];
        let input = Input::Bytes(args.as_bytes());
        let seen = program::run(&path, &name, setup.root, input, limit)?;
        if !seen.left_input {
            return Ok(seen);
        }
        let what = "It ends without having read all of standard input.";
        let why = "Writing the arguments fails in Gemini CLI then, which is not caught there and can end the whole session.";
        let help =
            "Read standard input to its end before anything else, also where the call fails.";
        Err(fault("call-leaves-input", what, why, help))
    };
    if let Err(finding) = call(UNKNOWN_TOOL, &padded("{}"), LIMIT) {
        return report.findings.push(finding.about(about));
    }
    let is_ours = tries.is_empty() && !declared.ours.is_empty();
    let own = is_ours.then(|| harmless(setup, declared, report)).flatten();
    let tries = tries.iter().map(|Try { name, args }| {
        let args = Value::Object(args.clone()).to_string();
        (name.as_str(), args, TRY_LIMIT)
    });
    for (name, args, limit) in own.into_iter().chain(tries) {
        match call(name, &args, limit).and_then(|seen| judge(&seen)) {
            Ok(text) => report.fact("tried", format!("{name}: {text}"), State::Works),
            Err(finding) => report.findings.push(finding.about(name)),
        }
    }
}

fn padded(args: &str) -> String {
    args.replacen('{', &format!("{{{}", " ".repeat(PADDING_BYTES)), 1)
}

fn harmless(
    setup: &Setup<'_>,
    declared: &DeclaredNames,
    report: &mut DoctorReport,
) -> Option<(&'static str, String, Duration)> {
    let may_run = |(name, args): &(&str, &str)| {
        let args: Map<String, Value> = serde_json::from_str(args).unwrap_or_default();
        let known = builtin::find(name);
        let call = PolicyCall {
            kind: known.map_or(Kind::Other, |known| known.info.kind),
            ..PolicyCall::of_tool(name, known.map_or(&[], |known| known.info.aliases), &args)
        };
        let verdict = setup.policy.check(&call, mode_from_env(), true);
        declared.ours.iter().any(|one| one == name) && verdict.decision != Decision::Deny
    };
    let Some((name, args)) = HARMLESS.into_iter().find(may_run) else {
        report.fact("tried", "no harmless tool available to try", State::Missing);
        return None;
    };
    // The absolute path makes the call fail if the tools work in another project.
    let project = json!({ "path": setup.root }).to_string();
    let args = match name {
        "list_directory" => project.as_str(),
        _ => args,
    };
    Some((name, padded(args), LIMIT))
}

/// Judges a result by Gemini CLI's rules, and describes it for the report.
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
