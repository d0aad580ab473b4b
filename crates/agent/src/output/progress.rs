//! The calls and other events beside the model's text, on standard error.

use super::escape::fitting;
use super::{Sink, one_line};
use crate::call::{CallState, ToolCall, ToolCallDecision};
use crate::clock::span;
use crate::event::{Observer, SessionError, SessionEvent};
use crate::stats::Stats;
use gemini_tools_core::registry::bare_name;
use gemini_tools_core::text::counted;
use gemini_tools_core::tool::Display;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt;
use std::io::Write;

/// Lines of a result that are shown below its call.
const RESULT_LINES: usize = 2;

/// Lines of a diff that are shown below its call.
const DIFF_LINES: usize = 12;

/// Maximum columns of a call's error that are shown; the model gets all of it.
const ERROR_COLUMNS: usize = 300;

/// Maximum columns of a tool's name that are shown.
const NAME_COLUMNS: usize = 40;

const RED: &str = "31";
const GREEN: &str = "32";
const YELLOW: &str = "33";
const BOLD: &str = "1";
const DIM: &str = "2";

/// Shows on a terminal each call when it is over, with a line or two of its result or its diff,
/// warnings, why a session ended early, and at the end what it came to.
#[derive(Debug)]
pub struct ProgressOutput<W> {
    sink: Sink<W>,
    columns: usize,
    is_styled: bool,
    go_on: Option<String>,
    turns: u32,
    /// Files that calls have changed.
    files: BTreeSet<String>,
}

impl<W: Write> ProgressOutput<W> {
    /// Writes to `out`, a terminal of so many columns; with `is_styled`, in colours. `go_on` is the
    /// command by which the session goes on, where it is kept.
    pub fn new(out: W, columns: usize, is_styled: bool, go_on: Option<String>) -> Self {
        Self {
            sink: Sink::new(out),
            columns: columns.max(20),
            is_styled,
            go_on,
            turns: 0,
            files: BTreeSet::new(),
        }
    }

    fn styled(&self, code: &str, text: &str) -> String {
        if self.is_styled && !text.is_empty() {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
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
        match (&outcome.diff, call.decision) {
            // The user has just seen it.
            (Some(_), Some(ToolCallDecision::Accept | ToolCallDecision::Modify)) => {}
            (Some(diff), _) => self.diff(diff),
            (None, _) => {
                for line in result_lines(call) {
                    self.aside(&line, DIM);
                }
            }
        }
    }

    /// Shows as much of a line below a call as fits.
    fn aside(&mut self, line: &str, colour: &str) {
        let indent = line.len() - line.trim_start_matches(' ').len();
        let line = format!("{}{}", &line[..indent], one_line(line));
        let line = self.styled(colour, &fitting(&line, self.columns - 3));
        self.line(&format!("  {line}"));
    }

    /// Shows the beginning of a diff, without the names of the file.
    fn diff(&mut self, diff: &str) {
        let lines = diff.lines().skip_while(|line| !line.starts_with("@@"));
        let lines: Vec<&str> = lines.filter(|line| !line.starts_with("@@")).collect();
        let left_out = lines.len().saturating_sub(DIFF_LINES);
        for line in lines.iter().take(DIFF_LINES) {
            let colour = match line.as_bytes().first() {
                Some(b'+') => GREEN,
                Some(b'-') => RED,
                _ => DIM,
            };
            self.aside(line, colour);
        }
        if left_out > 0 {
            self.aside(&format!("… {left_out} lines more"), DIM);
        }
    }

    /// Shows the sums of the session, and the command by which it goes on.
    fn summary(&mut self, stats: &Stats, is_done: bool) {
        let calls = &stats.tools;
        let failed = calls.failures + calls.failed_commands;
        let tokens: u64 = stats.models.values().map(|model| model.tokens.total).sum();
        let mut parts = vec![counted(self.turns, "turn")];
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
        let line = parts.join(", ");
        let go_on = self.go_on.as_ref().map(|command| {
            // A session that is done wants a word of the user, and another just goes on.
            let prompt = if is_done { " 'PROMPT'" } else { "" };
            format!("Go on with: {command}{prompt}")
        });
        let line = match go_on {
            Some(go_on) if line.chars().count() + 2 + go_on.chars().count() < self.columns => {
                format!("{line}. {go_on}")
            }
            // The command is not broken, so that it can be copied.
            Some(go_on) => format!("{line}.\n{go_on}"),
            None => format!("{line}."),
        };
        let line = line.split('\n').map(|line| self.styled(DIM, line));
        let line = line.collect::<Vec<_>>().join("\n");
        self.line(&line);
    }
}

/// Returns the file that a call has changed, by the name in its arguments.
fn changed_file(call: &ToolCall) -> Option<String> {
    call.outcome()?.diff.as_ref()?;
    let mut paths = ["file_path", "absolute_path", "path"].iter();
    let path = paths.find_map(|key| call.request.args.get(*key)?.as_str())?;
    Some(path.to_owned())
}

/// Returns a line or two of a call's result: the end of a command's output, and the beginning of
/// anything else.
fn result_lines(call: &ToolCall) -> Vec<String> {
    let Some(outcome) = call.outcome() else {
        return Vec::new();
    };
    let text = match &outcome.display {
        Display::Other(_) => outcome.text.as_str().into(),
        display => display.to_text(),
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

/// Returns the last line that is not blank.
pub(super) fn last_line(text: &str) -> Option<&str> {
    text.lines().rev().find(|line| !line.trim().is_empty())
}

/// Returns the command of a call, or its description.
pub(super) fn call_label(call: &ToolCall) -> String {
    if bare_name(&call.request.name) == "run_shell_command"
        && let Some(Value::String(command)) = call.request.args.get("command")
    {
        return one_line(command);
    }
    one_line(&call.summary())
}

fn warning(text: &str) -> String {
    format!("Warning: {}", super::escape_controls(text.trim()))
}

fn error(error: &SessionError) -> String {
    format!("Error: {}", super::escape_controls(error.message.trim()))
}

impl<W: Write + Send + fmt::Debug> Observer for ProgressOutput<W> {
    fn take(&mut self, event: &SessionEvent<'_>) {
        match event {
            SessionEvent::Call(call) => self.call(call),
            SessionEvent::Warning(text) => self.styled_line(YELLOW, &warning(text)),
            SessionEvent::Retry(reason) => {
                let reason = one_line(reason);
                self.styled_line(DIM, &format!("The model is asked again, because {reason}."));
            }
            SessionEvent::AttemptFailed {
                error,
                wait: Some(wait),
            } => {
                let reason = one_line(&error.message);
                let line = format!("{reason} It is asked again in {}.", span(*wait));
                self.styled_line(DIM, &line);
            }
            SessionEvent::Compressed { from, to } => {
                let line = format!("The history was shortened from {from} to {to} tokens.");
                self.styled_line(DIM, &line);
            }
            SessionEvent::Request { .. } => self.turns += 1,
            SessionEvent::Ended {
                error: ended,
                stats,
            } => {
                if let Some(e) = ended {
                    self.styled_line(RED, &error(e));
                }
                self.summary(stats, ended.is_none());
            }
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

impl<W: Write + Send + fmt::Debug> Observer for NotesOutput<W> {
    fn take(&mut self, event: &SessionEvent<'_>) {
        match event {
            SessionEvent::Warning(text) => self.sink.write(&format!("{}\n", warning(text))),
            SessionEvent::Ended { error: Some(e), .. } => {
                self.sink.write(&format!("{}\n", error(e)));
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{NotesOutput, ProgressOutput};
    use crate::call::{CallOutcome, ToolCallDecision};
    use crate::event::{Observer, SessionError, SessionErrorKind, SessionEvent};
    use crate::output::tests::{begun, done, edit, failed, refused, stats, text, turn};
    use crate::stats::Stats;
    use gemini_tools_core::tool::Display;
    use serde_json::json;
    use std::time::Duration;

    fn shown(columns: usize, is_styled: bool, events: &[SessionEvent<'_>]) -> String {
        let mut out = Vec::new();
        let go_on = Some("run_agent --continue".to_owned());
        let mut observer = ProgressOutput::new(&mut out, columns, is_styled, go_on);
        for event in events {
            observer.take(event);
        }
        String::from_utf8(out).expect("UTF-8")
    }

    fn plain(events: &[SessionEvent<'_>]) -> String {
        shown(80, false, events)
    }

    #[test]
    fn a_call_is_one_line_when_it_is_over_with_its_diff_below() {
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
        let calls = [&begun, &done, &described, &failed, &refused].map(SessionEvent::Call);
        assert_eq!(
            plain(&calls),
            "✓ read_file limit: 3, more: [1], file_path: src/a.rs (12ms)\n\
             ✓ replace Edit a +2 -1 (1m 30s)\n  -old\n  +new\n  +more\n\
             ✗ x (12ms)\n  gone\n\
             – rm a: b (12ms)\n  The user declined this call.\n"
        );
    }

    #[test]
    fn a_line_is_as_wide_as_the_terminal() {
        let call = done("read_file", json!({"path": "x".repeat(1000)}), text(""));
        let shown = shown(40, false, &[SessionEvent::Call(&call)]);
        assert_eq!(shown.trim_end().chars().count(), 39, "{shown}");
        assert!(shown.ends_with("x… (12ms)\n"), "{shown}");
    }

    #[test]
    fn a_line_or_two_of_a_result_is_below_its_call() {
        let with = |name: &str, display: &str| {
            let display = Display::Markdown(display.to_owned());
            let outcome = CallOutcome {
                display,
                ..CallOutcome::default()
            };
            done(name, json!({}), outcome)
        };
        let search = with("glob", "Found 3 files\n\n  a\nb\n");
        let mut make = with("run_shell_command", "one\n\n  two\nthree\x1b[2J\n");
        make.duration = Duration::from_secs(1);
        assert_eq!(
            plain(&[SessionEvent::Call(&search), SessionEvent::Call(&make)]),
            "✓ glob (12ms)\n  Found 3 files\n    a\n\
             ✓ run_shell_command (1.0s)\n    two\n  three␛[2J\n"
        );
    }

    #[test]
    fn a_command_that_failed_is_marked_by_its_status() {
        let outcome = CallOutcome {
            command_failure: Some("exit 2".to_owned()),
            display: "1\n2\n3\n".to_owned().into(),
            ..CallOutcome::default()
        };
        let call = done(
            "run_shell_command",
            json!({"command": "make lint"}),
            outcome,
        );
        assert_eq!(
            plain(&[SessionEvent::Call(&call)]),
            "✗ run_shell_command make lint: exit 2 (12ms)\n  2\n  3\n"
        );
    }

    #[test]
    fn of_a_long_diff_the_beginning_is_shown_and_none_that_the_user_has_seen() {
        let diff = |count: usize| CallOutcome {
            diff: Some(format!(
                "--- a\n+++ a\n@@ -1 +1 @@\n{}",
                "+x\n".repeat(count)
            )),
            ..CallOutcome::default()
        };
        for (count, lines, rest) in [(12, 12, ""), (14, 12, "  … 2 lines more\n")] {
            let shown = plain(&[SessionEvent::Call(&done("replace", json!({}), diff(count)))]);
            assert_eq!(
                shown,
                format!("✓ replace (12ms)\n{}{rest}", "  +x\n".repeat(lines))
            );
        }
        let mut seen = done("replace", json!({}), diff(3));
        seen.decision = Some(ToolCallDecision::Accept);
        assert_eq!(plain(&[SessionEvent::Call(&seen)]), "✓ replace (12ms)\n");
    }

    #[test]
    fn the_end_says_what_the_session_came_to_and_how_it_goes_on() {
        let stats = stats();
        let ended = || SessionEvent::Ended {
            error: None,
            stats: &stats,
        };
        let edited = done("replace", json!({"file_path": "a"}), edit());
        let mut events = vec![
            turn(1),
            SessionEvent::Call(&edited),
            SessionEvent::Call(&edited),
            turn(2),
        ];
        events.push(ended());
        let last = |columns, is_styled| {
            let shown = shown(columns, is_styled, &events);
            let at = shown.find("2 turns").expect("a summary");
            shown[at..].to_owned()
        };
        let sums = "2 turns, 2 calls (1 failed), 260 tokens, 4.2s, 1 file changed (+2 -1).";
        let go_on = "Go on with: run_agent --continue 'PROMPT'";
        assert_eq!(last(120, false), format!("{sums} {go_on}\n"));
        assert_eq!(last(80, false), format!("{sums}\n{go_on}\n"));
        assert_eq!(last(120, true), format!("{sums} {go_on}\x1b[0m\n"));
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
            SessionEvent::Call(&first),
            SessionEvent::Call(&call),
            SessionEvent::Warning(hostile),
            SessionEvent::Retry(hostile),
            SessionEvent::Ended {
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
            SessionEvent::Warning("slow"),
            SessionEvent::Compressed { from: 9, to: 1 },
            SessionEvent::Ended {
                error: Some(&error),
                stats: &stats,
            },
        ];
        assert_eq!(
            plain(&events),
            "Warning: slow\nThe history was shortened from 9 to 1 tokens.\nError: No.\n\
             0 turns, 2 calls (1 failed), 260 tokens, 4.2s. Go on with: run_agent --continue\n"
        );
        let mut out = Vec::new();
        let mut notes = NotesOutput::new(&mut out);
        for event in &events {
            notes.take(event);
        }
        assert_eq!(out, b"Warning: slow\nError: No.\n");
    }
}
