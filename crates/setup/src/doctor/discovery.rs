//! Runs the discovery command as Gemini CLI does, and checks what it prints.

use super::setup::CommandText;
use super::{DoctorReport, Setup, fault, program};
use gemini_tools_core::diagnostic::Diagnostic;
use gemini_tools_process::program_run::{Input, ProgramRun};
use gemini_tools_process::terminal::excerpt;
use serde_json::Value;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(15);

const NO_TOOLS: &str = "Gemini CLI does not start when discovery fails.";

pub(super) fn check(
    setup: &Setup<'_>,
    command: &CommandText,
    report: &mut DoctorReport,
) -> Option<Vec<u8>> {
    let about = command.text.as_str();
    let printed = words(&command.expanded()).and_then(|words| {
        let path = program::find(&words[0], setup.root)?;
        let seen = program::run(&path, &words[1..], setup.root, Input::KeptOpen, LIMIT)?;
        judge(&seen)
    });
    match printed {
        Ok(printed) => Some(printed),
        Err(finding) => {
            report.findings.push(finding.about(about));
            None
        }
    }
}

/// Splits a command line into words as Gemini CLI does, with the rules of npm's shell-quote. An
/// unquoted operator, pattern or comment is not a word there, and Gemini CLI would fail to start.
fn words(line: &str) -> Result<Vec<String>, Diagnostic> {
    if let Some(c) = unquoted_syntax(line) {
        let what = format!(
            "{c:?} is not part of a word for Gemini CLI, but an operator, a pattern or a comment."
        );
        let why = "It splits the command as npm's shell-quote does, without a shell, and fails at its start with what is not a word.";
        let help =
            "Put it in quotes where it means itself; or put the line into a script, and name that.";
        return Err(fault("shell-syntax", what, why, help));
    }
    let words = shlex::split(line).filter(|words| !words.is_empty());
    words.ok_or_else(|| {
        let what = "It can't be split into words: a quote is open, or there are none.";
        let help = "Close the quote; a path with spaces needs quotes.";
        fault("discovery-words", what, NO_TOOLS, help)
    })
}

fn unquoted_syntax(line: &str) -> Option<char> {
    let (mut quote, mut is_escaped) = (None, false);
    line.chars().find(|&c| {
        // In Gemini CLI, a pattern remains one even after a backslash (seen in 0.61.0).
        let is_syntax = "*?".contains(c) || !is_escaped && "|&;<>()#".contains(c);
        let is_found = quote.is_none() && is_syntax;
        match (quote, c) {
            _ if is_escaped => is_escaped = false,
            (None | Some('"'), '\\') => is_escaped = true,
            (None, '\'' | '"') => quote = Some(c),
            (Some(open), _) if open == c => quote = None,
            _ => {}
        }
        is_found
    })
}

fn judge(seen: &ProgramRun) -> Result<Vec<u8>, Diagnostic> {
    if let Some(how) = program::failure(seen) {
        let what = format!("It fails ({how}). {}", excerpt(&seen.stderr));
        let help = "Run it by hand in the project's root and fix what it says.";
        return Err(fault("discovery-fails", what, NO_TOOLS, help));
    }
    let reason = match gemini_tools_core::json::read_unlimited::<Value>(&seen.stdout) {
        Ok(Value::Array(list)) if list.is_empty() => "no tool is in it".to_owned(),
        Ok(Value::Array(_)) => return Ok(seen.stdout.clone()),
        Ok(_) => "it is not an array".to_owned(),
        Err(e) => e.to_string(),
    };
    let what = format!(
        "What it prints is no JSON array of tools: {reason}: {}",
        excerpt(&seen.stdout)
    );
    let why =
        "Gemini CLI reads all of standard output as one JSON array, and does not start otherwise.";
    let help =
        "Print the array of declarations and nothing else; messages belong on standard error.";
    Err(fault("discovery-no-json", what, why, help))
}
