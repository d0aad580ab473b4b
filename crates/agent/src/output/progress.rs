//! Progress of a session on standard error: calls, warnings and the summary.

use super::escape::fitting;
use super::{Sink, one_line, styled};
use crate::call::{CallEnd, ToolCall, ToolCallDecision};
use crate::clock::span;
use crate::event::{Observer, SessionEvent};
use crate::stats::Stats;
use gemini_tools_core::registry::bare_name;
use gemini_tools_core::text::{counted, harmless_lines};
use gemini_tools_core::tool::Display;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt;
use std::io::Write;

const RESULT_LINES: usize = 2;

const MOST_LINES: usize = 12;

/// Errors are cut to this many columns on the terminal; the model gets the whole text.
const ERROR_COLUMNS: usize = 300;

const NAME_COLUMNS: usize = 40;

const RED: &str = "31";
const GREEN: &str = "32";
const YELLOW: &str = "33";
const BOLD: &str = "1";
const DIM: &str = "2";

/// Shows warnings, and why a session ended early. On a terminal also each call when it has ended,
/// with a line or two of its result or its diff, and a summary.
#[derive(Debug)]
pub struct ProgressOutput<W> {
    sink: Sink<W>,
    columns: usize,
    is_terminal: bool,
    is_styled: bool,
    go_on: Option<String>,
    files: BTreeSet<String>,
}

impl<W: Write> ProgressOutput<W> {
    /// Writes to `out`, which is no terminal.
    pub fn notes(out: W) -> Self {
        Self {
            is_terminal: false,
            ..Self::new(out, 0, false, None)
        }
    }

    /// Writes to `out`, a terminal with this many columns. `go_on` is the command that resumes the
    /// session, if it is saved.
    pub fn new(out: W, columns: usize, is_styled: bool, go_on: Option<String>) -> Self {
        Self {
            sink: Sink::new(out),
            columns: columns.max(20),
            is_terminal: true,
            is_styled,
            go_on,
            files: BTreeSet::new(),
        }
    }

    fn styled(&self, code: &str, text: &str) -> String {
        styled(self.is_styled, code, text)
    }

    fn line(&mut self, line: &str) {
        self.sink.write(&format!("{line}\n"));
    }

    fn styled_line(&mut self, code: &str, line: &str) {
        let line = self.styled(code, line);
        self.line(&line);
    }

    fn call(&mut self, call: &ToolCall) {
        let Some(outcome) = call.outcome() else {
            return;
        };
        let failure = outcome.command_failure.as_ref();
        let (mark, colour) = match outcome.end() {
            CallEnd::Success if failure.is_some() => ("✗", YELLOW),
            CallEnd::Success => ("✓", GREEN),
            CallEnd::Cancelled => ("–", YELLOW),
            CallEnd::Error => ("✗", RED),
        };
        let name = one_line(&call.request.name);
        let name = fitting(&name, NAME_COLUMNS);
        let mut end = format!(" ({})", span(call.duration));
        if let Some(stat) = &outcome.diff_stat {
            end = format!(" +{} -{}{end}", stat.added(), stat.removed());
        }
        let failure = failure
            .map(|failure| one_line(&format!(": {failure}")))
            .unwrap_or_default();
        let taken =
            2 + name.chars().count() + 1 + failure.chars().count() + end.chars().count() + 1;
        let mut label = call_label(call);
        if !label.is_empty() {
            let room = self.columns.saturating_sub(taken).max(10);
            label = format!(" {}", fitting(&label, room));
        }
        let line = format!(
            "{} {}{label}{}{}",
            self.styled(colour, mark),
            self.styled(BOLD, &name),
            self.styled(colour, &failure),
            self.styled(DIM, &end)
        );
        self.line(&line);
        if let Some(error) = &outcome.error {
            let message = one_line(error.message.trim().lines().next().unwrap_or_default());
            let message = self.styled(colour, &fitting(&message, ERROR_COLUMNS));
            self.line(&format!("  {message}"));
            return;
        }
        self.files.extend(changed_file(call));
        let Some(diff) = &outcome.diff else {
            return self.asides(&result_lines(call), |_| DIM);
        };
        // The user has just approved this diff, and need not see it again.
        if matches!(
            call.decision,
            Some(ToolCallDecision::Accept | ToolCallDecision::Modify)
        ) {
            return;
        }
        let lines = diff.lines().skip_while(|line| !line.starts_with("@@"));
        let lines = lines.filter(|line| !line.starts_with("@@"));
        let lines: Vec<_> = lines.map(str::to_owned).collect();
        self.asides(&lines, |line| match line.as_bytes().first() {
            Some(b'+') => GREEN,
            Some(b'-') => RED,
            _ => DIM,
        });
    }

    fn asides(&mut self, lines: &[String], colour: impl Fn(&str) -> &'static str) {
        for line in lines.iter().take(MOST_LINES) {
            self.aside(line, colour(line));
        }
        let left_out = lines.len().saturating_sub(MOST_LINES);
        if left_out > 0 {
            self.aside(&format!("… {left_out} lines more"), DIM);
        }
    }

    fn aside(&mut self, line: &str, colour: &str) {
        let indent = line.len() - line.trim_start_matches(' ').len();
        let line = format!("{}{}", &line[..indent], one_line(line));
        let line = self.styled(colour, &fitting(&line, self.columns - 3));
        self.line(&format!("  {line}"));
    }

    fn summary(&mut self, stats: &Stats, is_done: bool) {
        let calls = &stats.tools;
        let failed = calls.failures + calls.failed_commands;
        let tokens: u64 = stats.models.values().map(|model| model.tokens.total).sum();
        let mut parts = vec![counted(stats.turns, "turn")];
        parts.push(match failed {
            0 => counted(calls.calls, "call"),
            _ => format!("{} ({failed} failed)", counted(calls.calls, "call")),
        });
        parts.push(format!("{tokens} tokens"));
        parts.push(span(stats.duration));
        if !self.files.is_empty() {
            let count = counted(self.files.len(), "file");
            let lines = &calls.lines;
            parts.push(format!(
                "{count} changed (+{} -{})",
                lines.added(),
                lines.removed()
            ));
        }
        self.styled_line(DIM, &format!("{}.", parts.join(", ")));
        if let Some(command) = &self.go_on {
            // A session that is done needs a new prompt; an interrupted one can just continue.
            let prompt = if is_done { " 'PROMPT'" } else { "" };
            // The command is on a line of its own, so that it can be copied.
            let go_on = format!("Go on with: {command}{prompt}");
            self.styled_line(DIM, &go_on);
        }
    }
}

fn changed_file(call: &ToolCall) -> Option<String> {
    call.outcome()?.diff.as_ref()?;
    let mut paths = ["file_path", "absolute_path", "path"].iter();
    let path = paths.find_map(|key| call.request.args.get(*key)?.as_str())?;
    Some(path.to_owned())
}

/// Returns a few lines of a call's result: the last ones of a command's output, where errors
/// usually are, and otherwise the first ones.
fn result_lines(call: &ToolCall) -> Vec<String> {
    let Some(outcome) = call.outcome() else {
        return Vec::new();
    };
    let text = match &outcome.display {
        Display::Markdown(text) => text,
        Display::Other(_) => &outcome.text,
        _ => return Vec::new(),
    };
    let mut lines: Vec<&str> = text.lines().collect();
    lines.retain(|line| !line.trim().is_empty());
    if bare_name(&call.request.name) == "run_shell_command" {
        lines.drain(..lines.len().saturating_sub(RESULT_LINES));
    } else {
        lines.truncate(RESULT_LINES);
    }
    lines.into_iter().map(str::to_owned).collect()
}

pub(super) fn call_label(call: &ToolCall) -> String {
    if bare_name(&call.request.name) == "run_shell_command"
        && let Some(Value::String(command)) = call.request.args.get("command")
    {
        return one_line(command);
    }
    one_line(&call.summary())
}

fn labelled(label: &str, text: &str) -> String {
    format!("{label}: {}", harmless_lines(text.trim()))
}

impl<W: Write + Send + fmt::Debug> Observer for ProgressOutput<W> {
    fn take(&mut self, event: &SessionEvent<'_>) {
        match event {
            SessionEvent::Warning(text) => self.styled_line(YELLOW, &labelled("Warning", text)),
            SessionEvent::Ended { error, stats } => {
                if let Some(e) = error {
                    self.styled_line(RED, &labelled("Error", &e.message));
                }
                if self.is_terminal {
                    self.summary(stats, error.is_none());
                }
            }
            _ if !self.is_terminal => {}
            SessionEvent::Call(call) => self.call(call),
            event => {
                if let Some(note) = event.note() {
                    self.styled_line(DIM, &one_line(&note));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
