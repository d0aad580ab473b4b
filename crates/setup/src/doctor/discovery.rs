//! The discovery command, run as Gemini CLI runs it.

use super::program;
use super::replay::run;
use super::{Commands, DoctorReport, Setup, fault};
use gemini_tools_core::diagnostic::Diagnostic;
use gemini_tools_process::command::StopReason;
use gemini_tools_process::ending::ProcessEnd;
use gemini_tools_process::program_run::{Input, ProgramRun};
use gemini_tools_process::terminal::excerpt;
use gemini_tools_settings::settings::reference;
use std::time::Duration;

/// After this Gemini CLI's users think that it hangs.
const LIMIT: Duration = Duration::from_secs(15);

/// The time from which on a program is not started again, so that the checks don't take too long.
const RETRY_WITHIN: Duration = Duration::from_secs(3);

/// A start that takes longer is felt.
const SLOW: Duration = Duration::from_secs(1);

/// Gemini CLI refuses more, in bytes.
const MAX_BYTES: usize = 10 * 1024 * 1024;

const NO_TOOLS: &str = "Gemini CLI does not start when discovery fails.";

/// Runs the discovery command, twice. Returns what it prints, where that can be used.
pub(super) fn check(
    setup: &Setup<'_>,
    commands: &Commands,
    report: &mut DoctorReport,
) -> Option<Vec<u8>> {
    let about = commands.discovery.text.as_str();
    let words = split(&commands.discovery.expanded(), about, report)?;
    let path = match program::find(&words[0], setup.root) {
        Ok(path) => path,
        Err(fault) => {
            report.findings.push(fault.about(about));
            return None;
        }
    };
    let start = || run(&path, &words[1..], setup.root, Input::KeptOpen, LIMIT);
    let mut seen = match start() {
        Ok(seen) => seen,
        Err(e) => {
            let what = format!("It can't be started: {e}.");
            let help = "Run it by hand to see why.";
            report.error("discovery-not-started", about, what, NO_TOOLS, help);
            return None;
        }
    };
    let is_quick = seen.ending.is_ok() && seen.took < RETRY_WITHIN && !seen.was_held;
    let again = is_quick.then(start).and_then(Result::ok);
    if let Some(again) = &again {
        // A machine may be busy for once.
        seen.took = seen.took.min(again.took);
    }
    if !has_ended_well(&seen, about, report) || !is_readable(&seen, about, report) {
        return None;
    }
    report.time("discovery time", seen.took);
    if again.is_some_and(|again| again.ending == seen.ending && again.stdout != seen.stdout) {
        let what = "Run twice, it prints two different things.";
        let why = "The declarations change from request to request, so the API can't cache them.";
        let help = "Print the tools in the same order each time.";
        report.warn("discovery-changes", about, what, why, help);
    }
    Some(trimmed(&seen.stdout).to_vec())
}

/// Splits a command line into words as Gemini CLI does; reports what a shell would take otherwise.
fn split(line: &str, about: &str, report: &mut DoctorReport) -> Option<Vec<String>> {
    let (line, unset) = without_unset(line);
    for name in unset {
        let what = format!("${name} is not set here, so nothing takes its place.");
        let why = "Gemini CLI replaces variables itself before it splits the command, within double quotes too.";
        let help =
            "Set it where Gemini CLI is started, or put the line into a script, and name that.";
        report.warn("unset-variable", about, what, why, help);
    }
    if let Some(fault) = shell_syntax(&line) {
        report.findings.push(fault.about(about));
        return None;
    }
    let words = shlex::split(&line).filter(|words| !words.is_empty());
    if words.is_none() {
        let what = "It can't be split into words: a quote is open, or there are none.";
        let help = "Close the quote; a path with spaces needs quotes.";
        report.error("discovery-words", about, what, NO_TOOLS, help);
    }
    words
}

/// Returns a command line without the variables that are not set, as npm's shell-quote leaves it,
/// and their names. Within single quotes a variable is none.
fn without_unset(line: &str) -> (String, Vec<&str>) {
    let (mut kept, mut names) = (String::new(), Vec::new());
    let mut quotes = QuoteState::default();
    let mut rest = line;
    while let Some(c) = rest.chars().next() {
        let (name, _, length) = match c {
            '$' if !quotes.is_escaped && quotes.open != Some('\'') => reference(rest),
            _ => ("", None, 0),
        };
        if !name.is_empty() {
            names.push(name);
            rest = &rest[length..];
            continue;
        }
        kept.push(c);
        rest = &rest[c.len_utf8()..];
        quotes.pass(c);
    }
    (kept, names)
}

/// Returns a finding about the first piece that a shell would not take as it is, or that Gemini
/// CLI does not.
fn shell_syntax(line: &str) -> Option<Diagnostic> {
    let help = "Put the piece in quotes where it means itself; or put the line into a script, and name that.";
    if let Some(word) = find_syntax(line) {
        let what = format!(
            "{word:?} is not a word for Gemini CLI, but an operator, a pattern or a comment."
        );
        let why = "It splits the command as npm's shell-quote does, without a shell, and fails at its start with what is not a word.";
        return Some(fault("shell-syntax", what, why, help));
    }
    let is_assignment = |word: &str| {
        word.split_once('=').is_some_and(|(name, _)| {
            !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        })
    };
    let mut words = line.split_whitespace();
    let first = words.clone().next().filter(|word| is_assignment(word));
    let shells = first.or_else(|| words.find(|word| word.starts_with('`')))?;
    let what = format!("{shells:?} means something to a shell, but no shell is there.");
    let why = "Gemini CLI splits the command into words and hands them over as they are.";
    Some(fault("shell-syntax", what, why, help))
}

/// Finds the first word in which something is an operator, a pattern or a comment to npm's
/// shell-quote.
fn find_syntax(line: &str) -> Option<&str> {
    let mut quotes = QuoteState::default();
    for (at, c) in line.char_indices() {
        // A pattern stays one after a backslash there (seen in 0.61.0).
        let is_syntax = quotes.open.is_none()
            && (matches!(c, '*' | '?')
                || !quotes.is_escaped
                    && matches!(c, '|' | '&' | ';' | '<' | '>' | '(' | ')' | '#'));
        if is_syntax {
            let before = line[..at].rsplit(char::is_whitespace).next()?;
            return line[at - before.len()..].split_whitespace().next();
        }
        quotes.pass(c);
    }
    None
}

/// The quoting of the next character of a command line.
#[derive(Default)]
struct QuoteState {
    /// The quote that is open.
    open: Option<char>,
    /// True if a backslash is before it.
    is_escaped: bool,
}

impl QuoteState {
    /// Goes past a character.
    fn pass(&mut self, c: char) {
        match (self.open, c) {
            _ if self.is_escaped => self.is_escaped = false,
            (None | Some('"'), '\\') => self.is_escaped = true,
            (None, '\'' | '"') => self.open = Some(c),
            (Some(open), _) if open == c => self.open = None,
            _ => {}
        }
    }
}

/// Trims what Gemini CLI's `trim()` takes away: blanks, and a byte order mark.
fn trimmed(bytes: &[u8]) -> &[u8] {
    match std::str::from_utf8(bytes) {
        Ok(text) => text
            .trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}')
            .as_bytes(),
        Err(_) => bytes,
    }
}

/// Returns true if the command has ended by itself and with success; reports what is wrong.
fn has_ended_well(seen: &ProgramRun, about: &str, report: &mut DoctorReport) -> bool {
    let stderr = match excerpt(&seen.stderr) {
        text if text.is_empty() => text,
        text => format!(" Standard error: {text}"),
    };
    let failure = match seen.ending {
        Ok(ProcessEnd::Code(0)) => None,
        Ok(ProcessEnd::Code(code)) => Some(format!("It ended with status {code}.")),
        Ok(signal) => Some(format!("It was ended by {signal}.")),
        Err(StopReason::Unwatched) => {
            Some("It killed the process that watched over it.".to_owned())
        }
        Err(_) => {
            let what = format!("It has not ended after {} s.{stderr}", LIMIT.as_secs());
            let help = "Let it print and end; it must not wait for input or for the network.";
            let why = "Gemini CLI waits for it at each start, without a limit, and neither writes to its standard input nor closes it.";
            report.error("discovery-hangs", about, what, why, help);
            return false;
        }
    };
    if let Some(failure) = failure {
        let help = "Run it by hand in the project's root and fix what it says.";
        let what = format!("{failure}{stderr}");
        report.error("discovery-fails", about, what, NO_TOOLS, help);
        return false;
    }
    if seen.was_held {
        let what = "Something that it started still holds its output.";
        let why =
            "Gemini CLI waits until the pipes are closed, so its start hangs as long as that runs.";
        let help = "Start it with its output to /dev/null, or not at all.";
        report.error("discovery-background", about, what, why, help);
    }
    if seen.took > SLOW {
        let what = format!("It takes {:.1} s.", seen.took.as_secs_f64());
        let why = "Each start of Gemini CLI waits for it.";
        let help = "Print declarations that were made before, or let get_tools keep them: make it a pair in .gemini/tools.";
        report.warn("discovery-slow", about, what, why, help);
    }
    true
}

/// Returns true if what the command prints can be read on; reports what is wrong.
fn is_readable(seen: &ProgramRun, about: &str, report: &mut DoctorReport) -> bool {
    for (stream, stream_bytes) in [
        ("standard output", seen.stdout.len()),
        ("standard error", seen.stderr.len()),
    ] {
        if stream_bytes > MAX_BYTES {
            let what = format!("It writes {stream_bytes} bytes to {stream}.");
            let why = "Gemini CLI ends it at 10 MB of either stream, and does not start.";
            let help = "Declare fewer tools, or say less.";
            report.error("discovery-too-large", about, what, why, help);
            return false;
        }
    }
    if std::str::from_utf8(&seen.stdout).is_err() {
        let what = "What it prints is not UTF-8.";
        let why = "Gemini CLI reads it as UTF-8; what does not fit is lost.";
        let help = "Print UTF-8: PYTHONUTF8=1 for Python, for example.";
        report.error("discovery-encoding", about, what, why, help);
        return false;
    }
    is_array(seen, about, report)
}

/// Returns true if the command prints a JSON array; reports what is wrong.
fn is_array(seen: &ProgramRun, about: &str, report: &mut DoctorReport) -> bool {
    let text = String::from_utf8_lossy(trimmed(&seen.stdout));
    let why =
        "Gemini CLI reads all of standard output as one JSON array, and does not start otherwise.";
    match gemini_tools_core::json::read_unlimited::<serde_json::Value>(text.as_bytes()) {
        Ok(serde_json::Value::Array(list)) if list.is_empty() => {
            let help = "Print at least one declaration, or take the commands out of the settings.";
            let what = "It declares no tool.";
            let why = "The two commands do nothing then.";
            report.warn("no-tools", about, what, why, help);
            true
        }
        Ok(serde_json::Value::Array(_)) => true,
        Ok(_) => {
            let what = format!(
                "It prints JSON that is not an array: {}",
                excerpt(&seen.stdout)
            );
            let help = "Print [ … ] around the declarations.";
            report.error("discovery-no-array", about, what, why, help);
            false
        }
        Err(e) => {
            let help = if text.trim().is_empty() {
                "Print the declarations on standard output."
            } else {
                "Print the array and nothing else; messages belong on standard error."
            };
            let what = format!(
                "What it prints is not valid JSON: {e}: {}",
                excerpt(&seen.stdout)
            );
            report.error("discovery-no-json", about, what, why, help);
            false
        }
    }
}
