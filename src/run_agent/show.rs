//! The observers that show a session, and messages after it.

use crate::run_agent::command::{OutputFormat, RunAgentOptions};
use crate::start::warn;
use gemini_tools::agent::call::CallRefusal;
use gemini_tools::agent::event::{Observer, SessionError, SessionEvent};
use gemini_tools::agent::model_script::ScriptPlayer;
use gemini_tools::agent::output::{
    JsonOutput, ProgressOutput, StatusOutput, StreamJsonOutput, TextOutput,
};
use gemini_tools::agent::report::HtmlReport;
use gemini_tools::agent::stats::Stats;
use gemini_tools::agent::telemetry::Telemetry;
use gemini_tools::colours::ColourChoice;
use gemini_tools::output::{terminal_json, width};
use gemini_tools::text::{counted, visible};
use gemini_tools::trust::TrustWatch;
use std::collections::HashSet;
use std::io::{self, ErrorKind, IsTerminal, Stdout, Write, stderr, stdout};
use std::sync::atomic::{AtomicBool, Ordering};

static IS_INCOMPLETE: AtomicBool = AtomicBool::new(false);

pub(crate) fn is_incomplete() -> bool {
    IS_INCOMPLETE.load(Ordering::Relaxed)
}

fn unwritten(message: &str) {
    IS_INCOMPLETE.store(true, Ordering::Relaxed);
    warn(message);
}

/// Standard output that reports write errors, except when the reader has exited.
#[derive(Debug)]
struct ReportingStdout {
    out: Stdout,
    shows_json: bool,
}

impl Write for ReportingStdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let shown = if self.shows_json {
            terminal_json(bytes)
        } else {
            bytes.into()
        };
        let written = self.out.write_all(&shown).map(|()| bytes.len());
        written.inspect_err(report_unwritten)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush().inspect_err(report_unwritten)
    }
}

fn report_unwritten(error: &io::Error) {
    // Observers write nothing after a failure, so this is reported once.
    if !matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::Interrupted) {
        unwritten(&format!("Can't write to standard output: {error}"));
    }
}

/// Returns the observers of the session. That for standard output comes first, since it must end
/// its line before another observer writes to the same terminal.
pub(crate) fn observers(
    options: &RunAgentOptions,
    go_on: Option<String>,
    journal_session: Option<&str>,
) -> Vec<Box<dyn Observer>> {
    let mut observers: Vec<Box<dyn Observer>> = vec![answer(options)];
    observers.push(Box::new(if is_watched(options) {
        ProgressOutput::new(stderr(), width(), is_styled(), go_on)
    } else {
        ProgressOutput::notes(stderr())
    }));
    // A run with a script uses no tokens, so it is not counted.
    if options.model_script.is_none()
        && let Some(telemetry) = Telemetry::open(|name| std::env::var_os(name), warn)
    {
        observers.push(Box::new(telemetry));
    }
    if let Some(path) = &options.report {
        let session = journal_session.map(str::to_owned);
        let report = HtmlReport::new(path.clone(), session, unwritten);
        observers.push(Box::new(report));
    }
    if is_watched(options) && is_live() {
        let shows_text = stdout().is_terminal();
        let live = StatusOutput::new(stderr(), width, is_styled(), shows_text, observers);
        return vec![Box::new(live)];
    }
    observers
}

/// After each call of a call command that is not ours, checks whether files that need trust have
/// changed. Our own `call_tool` does that itself.
#[derive(Debug)]
pub(crate) struct TrustObserver(pub(crate) TrustWatch);

impl Observer for TrustObserver {
    fn take(&mut self, event: &SessionEvent<'_>) {
        if let SessionEvent::Call(call) = event
            && call.outcome().is_some()
            && let Err(e) = self.0.end(false)
        {
            warn(&visible(&format!(
                "Whether the call has changed files that need trust can't be written down: {e}"
            )));
        }
    }
}

/// Returns true if a status line can be redrawn. In the stored output of a CI job, old status lines
/// would not be erased.
fn is_live() -> bool {
    let is_ci = std::env::var_os("CI").is_some_and(|ci| !ci.is_empty() && ci != "false");
    !is_dumb() && !is_ci
}

pub(crate) fn describes(options: &RunAgentOptions) -> bool {
    is_watched(options) || options.report.is_some()
}

fn answer(options: &RunAgentOptions) -> Box<dyn Observer> {
    let is_terminal = stdout().is_terminal();
    let out = ReportingStdout {
        out: stdout(),
        shows_json: is_terminal && options.format != OutputFormat::Text,
    };
    match options.format {
        OutputFormat::Json => Box::new(JsonOutput::new(out)),
        OutputFormat::StreamJson => Box::new(StreamJsonOutput::new(out)),
        OutputFormat::Text => Box::new(TextOutput::new(out, is_terminal)),
    }
}

fn is_styled() -> bool {
    ColourChoice::Auto.shows_on(true)
}

fn is_dumb() -> bool {
    std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb")
}

pub(crate) fn undo(stats: &Stats, journal_session: Option<&str>) {
    if let Some(session) = journal_session
        && stats.has_changed_files
        && stderr().is_terminal()
    {
        // The line must fit into 80 columns, so it is short.
        let _ = writeln!(stderr(), "Undo with: call_tool --undo --session {session}");
    }
}

pub(crate) fn expectations(options: &RunAgentOptions, player: Option<&ScriptPlayer>) {
    let met = player.map_or(0, ScriptPlayer::expectations_met);
    if met > 0 && options.format == OutputFormat::Text {
        warn(&format!("{} met", counted(met, "expectation")));
    }
}

pub(crate) fn refused(options: &RunAgentOptions, refused: &[(String, CallRefusal)]) {
    let lines = [
        (
            CallRefusal::NoUser,
            "refused, because no user could be asked",
            " (--approval-mode, --allowed-tools)",
        ),
        (CallRefusal::Rule, "refused by a rule", ""),
    ];
    for (why, how, help) in lines {
        let of = refused.iter().filter(|(_, reason)| *reason == why);
        let mut names: Vec<_> = of.map(|(name, _)| visible(name)).collect();
        if names.is_empty() || is_watched(options) && why == CallRefusal::Rule {
            continue;
        }
        let were = if names.len() == 1 { "was" } else { "were" };
        let count = counted(names.len(), "call");
        let mut seen = HashSet::new();
        names.retain(|name| seen.insert(name.clone()));
        warn(&format!("{count} {were} {how}: {}{help}", names.join(", ")));
    }
}

fn is_watched(options: &RunAgentOptions) -> bool {
    stderr().is_terminal() && options.format == OutputFormat::Text
}

pub(crate) fn failed_early(options: &RunAgentOptions, error: &SessionError) {
    let ended = SessionEvent::Ended {
        error: Some(error),
        stats: &Stats::default(),
    };
    answer(options).take(&ended);
}
