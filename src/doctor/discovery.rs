//! The discovery command, run as Gemini CLI runs it.

use super::program;
use super::replay::{Patience, Seen, run};
use super::{Commands, Patient, Report, said};
use crate::process::signal_name;
use crate::process::warden::Ending;
use std::time::Duration;

/// After this Gemini CLI's users think that it hangs.
const LIMIT: Duration = Duration::from_secs(20);

/// A start that takes longer is felt.
const SLOW: Duration = Duration::from_secs(1);

/// How long pipes may be held.
const LINGER: Duration = Duration::from_secs(1);

/// Gemini CLI refuses more, in bytes.
const MAX_BYTES: usize = 10 * 1024 * 1024;

/// What is told of what a command printed, in characters.
const EXCERPT: usize = 200;

const NO_TOOLS: &str = "Gemini CLI does not start when discovery fails.";

/// What the command has printed, where that can be used.
pub(super) struct Found {
    pub(super) declarations: Vec<u8>,
    pub(super) are_ours: bool,
}

/// Runs it, twice.
pub(super) fn examine(
    patient: &Patient<'_>,
    commands: &Commands,
    report: &mut Report,
) -> Option<Found> {
    let about = commands.discovery.as_str();
    let Some(words) = shlex::split(about).filter(|words| !words.is_empty()) else {
        let what = "It can't be split into words: a quote is open, or there are none.";
        let mend = "Close the quote; a path with spaces stands in quotes.";
        report.error("discovery-words", about, said(what, NO_TOOLS, mend));
        return None;
    };
    if let Some(word) = shell_syntax(&words) {
        report.error(
            "shell-syntax",
            about,
            said(
                format!("{word:?} means something to a shell, but no shell is there."),
                "Gemini CLI splits the command into words and hands them over as they are.",
                "Put the line into a script, and name that.",
            ),
        );
        return None;
    }
    let path = match program::find(&words[0], patient.root) {
        Ok(path) => path,
        Err((id, said)) => {
            report.error(id, about, said);
            return None;
        }
    };
    let patience = Patience {
        limit: LIMIT,
        linger: LINGER,
    };
    let start = || run(&path, &words[1..], patient.root, b"", patience);
    let seen = match start() {
        Ok(seen) => seen,
        Err(e) => {
            let mend = "Run it by hand to see why.";
            let what = format!("It can't be started: {e}.");
            report.error("discovery-not-started", about, said(what, NO_TOOLS, mend));
            return None;
        }
    };
    let mut seen = seen;
    let again = seen.ending.is_some().then(start).and_then(Result::ok);
    if let Some(again) = &again {
        // A machine may be busy for once.
        seen.took = seen.took.min(again.took);
    }
    if !is_usable(&seen, about, report) {
        return None;
    }
    report.fact(
        "discovery time",
        format!("{:.1} ms", seen.took.as_secs_f64() * 1e3),
    );
    if again.is_some_and(|again| again.ending == seen.ending && again.stdout != seen.stdout) {
        report.warn(
            "discovery-changes",
            about,
            said(
                "Run twice, it prints two different things.",
                "What a model is told changes from request to request, so nothing of it is kept by the API.",
                "Print the tools in the same order each time.",
            ),
        );
    }
    Some(Found {
        declarations: seen.stdout,
        are_ours: commands.are_ours(),
    })
}

/// The first word that a shell would not take as it is.
fn shell_syntax(words: &[String]) -> Option<&String> {
    const OPERATORS: [&str; 10] = ["|", "||", "&&", "&", ";", ">", ">>", "<", "2>", "2>&1"];
    let is_assignment = |word: &str| {
        word.split_once('=').is_some_and(|(name, _)| {
            !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        })
    };
    let first = words.first().filter(|word| is_assignment(word));
    first.or_else(|| {
        words.iter().find(|word| {
            OPERATORS.contains(&word.as_str()) || word.starts_with("$(") || word.starts_with('`')
        })
    })
}

/// Whether what came of it can be read on; what is wrong is told.
fn is_usable(seen: &Seen, about: &str, report: &mut Report) -> bool {
    let stderr = excerpt(&seen.stderr);
    let said_on_stderr = if stderr.is_empty() {
        String::new()
    } else {
        format!(" Standard error: {stderr}")
    };
    let failure = match seen.ending {
        None => {
            let what = format!(
                "It has not ended after {} s.{said_on_stderr}",
                LIMIT.as_secs()
            );
            let mend = "Let it print and end; it must not wait for input or for the network.";
            let why = "Gemini CLI waits for it at each start, without a limit.";
            report.error("discovery-hangs", about, said(what, why, mend));
            return false;
        }
        Some(Ending::Code(0)) => None,
        Some(Ending::Code(code)) => Some(format!("It ended with status {code}.")),
        Some(Ending::Signal(signal)) => Some(format!("It was ended by {}.", signal_name(signal))),
    };
    if let Some(failure) = failure {
        let mend = "Run it by hand in the project's root and mend what it says.";
        let what = format!("{failure}{said_on_stderr}");
        report.error("discovery-fails", about, said(what, NO_TOOLS, mend));
        return false;
    }
    if seen.was_held {
        report.error(
            "discovery-background",
            about,
            said(
                "Something that it started still holds its output.",
                "Gemini CLI waits until the pipes are closed, so its start hangs as long as that runs.",
                "Start it with its output to /dev/null, or not at all.",
            ),
        );
    }
    if seen.took > SLOW {
        report.warn(
            "discovery-slow",
            about,
            said(
                format!("It takes {:.1} s.", seen.took.as_secs_f64()),
                "Each start of Gemini CLI waits for it.",
                "Print declarations that were made before, or let get_tools keep them: make it a pair in .gemini/tools.",
            ),
        );
    }
    if seen.stdout.len() > MAX_BYTES {
        let what = format!("It prints {} bytes.", seen.stdout.len());
        let why = "Gemini CLI refuses more than 10 MB.";
        let mend = "Declare fewer tools, or shorten what they say.";
        report.error("discovery-too-large", about, said(what, why, mend));
        return false;
    }
    if std::str::from_utf8(&seen.stdout).is_err() {
        let what = "What it prints is no UTF-8.";
        let why = "Gemini CLI reads it as UTF-8; what does not fit is lost.";
        let mend = "Print UTF-8: PYTHONUTF8=1 for Python, for example.";
        report.error("discovery-encoding", about, said(what, why, mend));
        return false;
    }
    is_array(seen, about, report)
}

fn is_array(seen: &Seen, about: &str, report: &mut Report) -> bool {
    let text = String::from_utf8_lossy(&seen.stdout);
    let why =
        "Gemini CLI reads all of standard output as one JSON array, and does not start otherwise.";
    match serde_json::from_str::<serde_json::Value>(&text) {
        Ok(serde_json::Value::Array(list)) if list.is_empty() => {
            let mend = "Print at least one declaration, or take the commands out of the settings.";
            let what = "It declares no tool.";
            report.warn(
                "no-tools",
                about,
                said(what, "The two commands do nothing then.", mend),
            );
            true
        }
        Ok(serde_json::Value::Array(_)) => true,
        Ok(_) => {
            let what = format!("It prints JSON, but no array: {}", excerpt(&seen.stdout));
            let mend = "Print [ … ] around the declarations.";
            report.error("discovery-no-array", about, said(what, why, mend));
            false
        }
        Err(e) => {
            let mend = if text.trim().is_empty() {
                "Print the declarations on standard output."
            } else {
                "Print the array and nothing else; messages belong on standard error."
            };
            let what = format!("It prints no JSON ({e}): {}", excerpt(&seen.stdout));
            report.error("discovery-no-json", about, said(what, why, mend));
            false
        }
    }
}

/// The beginning of what was printed, in one line.
pub(super) fn excerpt(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut line: String = text.trim().chars().take(EXCERPT).collect();
    if text.trim().chars().nth(EXCERPT).is_some() {
        line.push('…');
    }
    line.replace('\n', " ⏎ ")
}
