//! What goes on beside the model's text, on standard error.

use super::escape::fitting;
use super::{Sink, one_line};
use crate::call::{CallState, ToolCall};
use crate::clock::span;
use crate::event::{Event, Observer, SessionError};
use gemini_tools_core::registry::bare_name;
use serde_json::Value;
use std::io::Write;
use std::time::{Duration, Instant};

/// Live output is shown no more often than this.
const LIVE_PAUSE: Duration = Duration::from_secs(1);

/// Maximum columns of a call's error that are shown; the model gets all of it.
const ERROR_COLUMNS: usize = 300;

/// Maximum columns of a tool's name that are shown.
const NAME_COLUMNS: usize = 40;

const RED: &str = "31";
const GREEN: &str = "32";
const YELLOW: &str = "33";
const BOLD: &str = "1";
const DIM: &str = "2";

/// Shows on a terminal each call when it is over, the last line of one that runs, warnings,
/// and why a session ended early.
#[derive(Debug)]
pub struct ProgressOutput<W> {
    sink: Sink<W>,
    columns: usize,
    is_styled: bool,
    pause: Duration,
    last_live: Option<Instant>,
    /// A line is there that makes room for the next.
    has_live: bool,
}

impl<W: Write> ProgressOutput<W> {
    /// Writes to `out`, a terminal of so many columns; with `is_styled`, in colours.
    pub fn new(out: W, columns: usize, is_styled: bool) -> Self {
        Self {
            sink: Sink::new(out),
            columns: columns.max(20),
            is_styled,
            pause: LIVE_PAUSE,
            last_live: None,
            has_live: false,
        }
    }

    fn styled(&self, code: &str, text: &str) -> String {
        if self.is_styled && !text.is_empty() {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }

    /// Shows a line that stays.
    fn line(&mut self, line: &str) {
        self.clear();
        self.sink.write(&format!("{line}\n"));
    }

    fn clear(&mut self) {
        if std::mem::take(&mut self.has_live) {
            self.sink.write("\r\x1b[2K");
        }
    }

    fn live(&mut self, text: &str) {
        let now = Instant::now();
        let is_early = |last| now.duration_since(last) < self.pause;
        let Some(line) = last_line(text) else {
            return;
        };
        if self.last_live.is_some_and(is_early) {
            return;
        }
        self.last_live = Some(now);
        self.clear();
        let line = one_line(line);
        // The last column stays free: some terminals go to the next line after it.
        let line = format!("  {}", fitting(&line, self.columns - 3));
        let line = self.styled(DIM, &line);
        self.sink.write(&line);
        self.has_live = true;
    }

    fn call(&mut self, call: &ToolCall) {
        let Some(outcome) = call.outcome() else {
            return;
        };
        let failure = outcome.command_failure.as_ref();
        let (mark, colour) = match call.state() {
            CallState::Success(_) if failure.is_some() => ("✗", YELLOW),
            CallState::Success(_) => ("✓", GREEN),
            CallState::Cancelled(_) => ("–", YELLOW),
            _ => ("✗", RED),
        };
        let name = one_line(&call.request.name);
        let name = fitting(&name, NAME_COLUMNS);
        let mut end = format!(" ({})", span(call.duration));
        if let Some(stat) = &outcome.diff_stat {
            let lines = |key: &str| stat[key].as_u64().unwrap_or_default();
            let added = lines("ai_added_lines") + lines("user_added_lines");
            let removed = lines("ai_removed_lines") + lines("user_removed_lines");
            end = format!(" +{added} -{removed}{end}");
        }
        let failure = failure
            .map(|failure| one_line(&format!(": {failure}")))
            .unwrap_or_default();
        let taken =
            2 + name.chars().count() + 1 + failure.chars().count() + end.chars().count() + 1;
        let mut what = what(call);
        if !what.is_empty() {
            let room = self.columns.saturating_sub(taken).max(10);
            what = format!(" {}", fitting(&what, room));
        }
        let line = format!(
            "{} {}{what}{}{}",
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
        } else if outcome.command_failure.is_some()
            && let Some(last) = last_line(&outcome.display)
        {
            self.aside(last);
        }
    }

    /// A line below a call, of which as much is shown as fits.
    fn aside(&mut self, line: &str) {
        let line = one_line(line);
        let line = self.styled(DIM, &fitting(&line, self.columns - 3));
        self.line(&format!("  {line}"));
    }
}

/// The last line in which something is.
fn last_line(text: &str) -> Option<&str> {
    text.lines().rev().find(|line| !line.trim().is_empty())
}

/// What a call does, in words or by its arguments.
fn what(call: &ToolCall) -> String {
    if bare_name(&call.request.name) == "run_shell_command"
        && let Some(Value::String(command)) = call.request.args.get("command")
    {
        return one_line(command);
    }
    if let Some(description) = call.description.as_deref().map(one_line)
        && !description.is_empty()
    {
        return description;
    }
    let mut shown = String::new();
    for (name, value) in &call.request.args {
        let value = match value {
            // More of it would not be read here.
            Value::String(text) => one_line(&text.chars().take(200).collect::<String>()),
            Value::Array(_) | Value::Object(_) => "…".to_owned(),
            value => value.to_string(),
        };
        let comma = if shown.is_empty() { "" } else { ", " };
        shown.push_str(&format!("{comma}{}: {value}", one_line(name)));
    }
    shown
}

fn warning(text: &str) -> String {
    format!("Warning: {}", super::escape_controls(text.trim()))
}

fn error(error: &SessionError) -> String {
    format!("Error: {}", super::escape_controls(error.message.trim()))
}

impl<W: Write + Send> Observer for ProgressOutput<W> {
    fn take(&mut self, event: &Event<'_>) {
        match event {
            Event::Call(call) => self.call(call),
            Event::Live { text, .. } => self.live(text),
            Event::Warning(text) => {
                let line = self.styled(YELLOW, &warning(text));
                self.line(&line);
            }
            Event::Retry(flaw) => {
                let line = format!("The model is asked again, because {}.", one_line(flaw));
                let line = self.styled(DIM, &line);
                self.line(&line);
            }
            Event::Compressed { from, to } => {
                let line = format!("The history was shortened from {from} to {to} tokens.");
                let line = self.styled(DIM, &line);
                self.line(&line);
            }
            Event::Ended { error: Some(e), .. } => {
                let line = self.styled(RED, &error(e));
                self.line(&line);
            }
            Event::Request { .. } | Event::Ended { .. } => self.clear(),
            _ => {}
        }
    }
}

/// Writes warnings and why a session ended early, where standard error is not a terminal.
#[derive(Debug)]
pub struct NotesOutput<W> {
    sink: Sink<W>,
}

impl<W: Write> NotesOutput<W> {
    /// Writes to `out`.
    pub fn new(out: W) -> Self {
        let sink = Sink::new(out);
        Self { sink }
    }
}

impl<W: Write + Send> Observer for NotesOutput<W> {
    fn take(&mut self, event: &Event<'_>) {
        match event {
            Event::Warning(text) => self.sink.write(&format!("{}\n", warning(text))),
            Event::Ended { error: Some(e), .. } => self.sink.write(&format!("{}\n", error(e))),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{NotesOutput, ProgressOutput};
    use crate::event::{Event, Observer, SessionError, SessionErrorKind};
    use crate::output::testing::{begun, done, edit, failed, refused, stats, text, turn};
    use crate::stats::Stats;
    use serde_json::json;
    use std::time::Duration;

    fn shown(columns: usize, is_styled: bool, pause: Duration, events: &[Event<'_>]) -> String {
        let mut out = Vec::new();
        let mut observer = ProgressOutput {
            pause,
            ..ProgressOutput::new(&mut out, columns, is_styled)
        };
        for event in events {
            observer.take(event);
        }
        String::from_utf8(out).expect("UTF-8")
    }

    fn plain(events: &[Event<'_>]) -> String {
        shown(80, false, Duration::ZERO, events)
    }

    #[test]
    fn a_call_is_one_line_when_it_is_over() {
        let args = json!({"file_path": "src/a.rs", "limit": 3, "more": [1]});
        let mut described = done("replace", json!({}), edit());
        described.description = Some("Edit a".to_owned());
        described.duration = Duration::from_secs(90);
        let begun = begun("read_file", args.clone());
        let (done, failed) = (
            done("read_file", args, text("out")),
            failed("x", json!({}), "gone\nmore"),
        );
        let refused = refused("rm", json!({"a": "b"}));
        let calls = [&begun, &done, &described, &failed, &refused].map(Event::Call);
        assert_eq!(
            plain(&calls),
            "✓ read_file file_path: src/a.rs, limit: 3, more: … (12ms)\n\
             ✓ replace Edit a +2 -1 (1m 30s)\n\
             ✗ x (12ms)\n  gone\n\
             – rm a: b (12ms)\n  The user declined this call.\n"
        );
    }

    #[test]
    fn a_line_is_as_wide_as_the_terminal() {
        let call = done("read_file", json!({"path": "x".repeat(1000)}), text(""));
        let shown = shown(40, false, Duration::ZERO, &[Event::Call(&call)]);
        assert_eq!(shown.trim_end().chars().count(), 39, "{shown}");
        assert!(shown.ends_with("x… (12ms)\n"), "{shown}");
    }

    #[test]
    fn live_output_makes_room_and_is_not_shown_too_often() {
        let live = |text| Event::Live { id: "1", text };
        let call = done("t", json!({}), text(""));
        let events = [live("a\nb\n\n"), live("c"), live(" \n"), Event::Call(&call)];
        assert_eq!(plain(&events), "  b\r\x1b[2K  c\r\x1b[2K✓ t (12ms)\n");
        let hour = Duration::from_secs(3600);
        assert_eq!(shown(80, true, hour, &events[..2]), "\x1b[2m  b\x1b[0m");
        let long = "y".repeat(50);
        let cut = shown(
            20,
            false,
            hour,
            &[Event::Live {
                id: "1",
                text: &long,
            }],
        );
        assert_eq!(cut, format!("  {}…", "y".repeat(16)));
        assert_eq!(plain(&[live("a"), turn(2)]), "  a\r\x1b[2K");
    }

    #[test]
    fn nothing_that_is_shown_can_act_on_the_terminal() {
        let hostile = "\x1b[2J\x1b]0;x\x07\u{9b}\nb";
        let mut call = failed(hostile, json!({hostile: hostile}), hostile);
        let first = call.clone();
        call.description = Some(hostile.to_owned());
        let error = SessionError {
            message: hostile.to_owned(),
            kind: SessionErrorKind::Failed,
        };
        let stats = Stats::default();
        let events = [
            Event::Call(&first),
            Event::Call(&call),
            Event::Warning(hostile),
            Event::Retry(hostile),
            Event::Ended {
                error: Some(&error),
                stats: &stats,
            },
        ];
        let shown = plain(&events);
        assert!(!shown.contains(['\x1b', '\x07', '\u{9b}']), "{shown:?}");
    }

    #[test]
    fn warnings_and_the_end_are_told_with_and_without_a_terminal() {
        let error = SessionError {
            message: "No.".to_owned(),
            kind: SessionErrorKind::Failed,
        };
        let stats = stats();
        let events = [
            Event::Warning("slow"),
            Event::Compressed { from: 9, to: 1 },
            Event::Ended {
                error: Some(&error),
                stats: &stats,
            },
        ];
        assert_eq!(
            plain(&events),
            "Warning: slow\nThe history was shortened from 9 to 1 tokens.\nError: No.\n"
        );
        let mut out = Vec::new();
        let mut notes = NotesOutput::new(&mut out);
        for event in &events {
            notes.take(event);
        }
        assert_eq!(out, b"Warning: slow\nError: No.\n");
    }
}
