//! A session as one page of HTML, which needs nothing else to be read.
//!
//! The page is a template whose script shows the session, which is in it as JSON. What is kept of a
//! session is bounded, and what was cut says so.

use super::call::ToolCall;
use super::clock::{Clock, iso, span};
use super::event::{Event, Observer, SessionError};
use super::output::escape_controls;
use super::stats::{ModelStats, Stats};
use super::thought::Thought;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gemini_tools_core::tool::{Cancellation, Display, ToolError};
use gemini_tools_net::gemini_api::GenerateContentResponse;
use gemini_tools_workspace::Workspace;
use serde::Serialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::fmt;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

const TEMPLATE: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// Maximum characters kept of a call's arguments, diff and output each.
const CALL_CHARS: usize = 20_000;

/// Maximum characters kept of a prompt, and of what a model says or thinks at a time.
const TEXT_CHARS: usize = 100_000;

/// Maximum characters kept of names, descriptions and messages.
const NAME_CHARS: usize = 2_000;

/// Maximum bytes of all texts together.
const ALL_BYTES: usize = 16 * 1024 * 1024;

/// Bytes of an entry besides its texts, about.
const ENTRY_BYTES: usize = 256;

/// Collects what happens and writes a page of it at the end, also after an error. Calls `warn` if
/// that fails.
pub struct HtmlReport<F> {
    path: PathBuf,
    warn: F,
    now: Clock,
    started: Option<SystemTime>,
    session: String,
    model: String,
    turns: u32,
    entries: Entries,
    /// The session by which the changes are listed, for the command that undoes them.
    journal_session: Option<String>,
}

impl<F> fmt::Debug for HtmlReport<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HtmlReport")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

/// The events of a session as the page shows them, within a budget.
#[derive(Debug)]
struct Entries {
    list: Vec<Value>,
    /// The model's text that is not in the list yet.
    text: Option<Cut>,
    /// The number of entries for which there was no room.
    left_out: u64,
    /// The bytes that are left.
    room: usize,
}

/// The beginning of a text.
#[derive(Debug, Default, Serialize)]
struct Cut {
    text: String,
    #[serde(skip)]
    chars: usize,
    /// The number of characters that were cut off.
    missing: usize,
}

impl Cut {
    fn new(text: &str, most_chars: usize, room: &mut usize) -> Self {
        let mut cut = Self::default();
        cut.push(text, most_chars, room);
        cut
    }

    fn push(&mut self, text: &str, most_chars: usize, room: &mut usize) {
        let text = &*escape_controls(text);
        let mut end = 0;
        let mut taken = 0;
        if self.missing == 0 {
            for (at, c) in text.char_indices() {
                if self.chars + taken == most_chars || at + c.len_utf8() > *room {
                    break;
                }
                end = at + c.len_utf8();
                taken += 1;
            }
        }
        self.text.push_str(&text[..end]);
        self.chars += taken;
        self.missing += text[end..].chars().count();
        *room -= end;
    }
}

/// Returns the arguments of a call as JSON over several lines.
fn args_text(call: &ToolCall) -> String {
    let lines: Vec<String> = call
        .ordered_args()
        .into_iter()
        .map(|(name, value)| {
            let name = Value::from(name.as_str());
            // A line end in a text is written as two characters.
            format!("  {name}: {value:#}").replace('\n', "\n  ")
        })
        .collect();
    match lines.as_slice() {
        [] => "{}".to_owned(),
        lines => format!("{{\n{}\n}}", lines.join(",\n")),
    }
}

impl Default for Entries {
    fn default() -> Self {
        Self {
            list: Vec::new(),
            text: None,
            left_out: 0,
            room: ALL_BYTES,
        }
    }
}

impl Entries {
    fn cut(&mut self, text: &str, most_chars: usize) -> Cut {
        Cut::new(text, most_chars, &mut self.room)
    }

    /// Adds an entry of this type, if there is room.
    fn add(&mut self, kind: &str, fields: impl FnOnce(&mut Self) -> Value) {
        self.end_text();
        if !self.takes_room() {
            return;
        }
        let mut entry = fields(self);
        entry["type"] = kind.into();
        self.list.push(entry);
    }

    fn takes_room(&mut self) -> bool {
        let has_room = self.room >= ENTRY_BYTES;
        if has_room {
            self.room -= ENTRY_BYTES;
        } else {
            self.left_out += 1;
        }
        has_room
    }

    fn add_text(&mut self, piece: &str) {
        if self.text.is_none() && self.takes_room() {
            self.text = Some(Cut::default());
        }
        if let Some(text) = &mut self.text {
            text.push(piece, TEXT_CHARS, &mut self.room);
        }
    }

    fn end_text(&mut self) {
        if let Some(text) = self.text.take() {
            self.list.push(json!({ "type": "text", "text": text }));
        }
    }

    fn add_message(&mut self, kind: &str, text: &str, most_chars: usize) {
        self.add(kind, |own| json!({ "text": own.cut(text, most_chars) }));
    }

    fn add_thought(&mut self, thought: &Thought) {
        self.add("thought", |own| {
            json!({
                "subject": own.cut(&thought.subject, NAME_CHARS),
                "description": own.cut(&thought.description, TEXT_CHARS),
            })
        });
    }

    fn add_response(&mut self, last: Option<&GenerateContentResponse>, duration: Duration) {
        let usage = last.and_then(|last| last.usage_metadata.as_ref());
        self.add("used", |_| {
            json!({
                "duration": span(duration),
                "prompt": usage.map_or(0, |usage| usage.prompt_token_count),
                "candidates": usage.map_or(0, |usage| usage.candidates_token_count),
            })
        });
    }

    fn add_call(&mut self, call: &ToolCall) {
        let Some(outcome) = call.outcome() else {
            return;
        };
        let args = args_text(call);
        let output = match &outcome.display {
            Display::Other(_) => {
                format!("{}\n\n{}", outcome.display.to_text(), outcome.text)
            }
            Display::Markdown(_) | Display::FileDiff(_) => outcome.text.clone(),
        };
        let failure = outcome.command_failure.as_ref().map(ToString::to_string);
        let diff = outcome.diff.as_deref();
        let lines = outcome.diff_stat.map(|stat| (stat.added(), stat.removed()));
        self.add("call", |own| {
            json!({
                "name": own.cut(&call.request.name, NAME_CHARS),
                "description": own.cut(&call.summary(), NAME_CHARS),
                "state": call.state().name(),
                "decision": call.decision,
                "duration": span(call.duration),
                "args": own.cut(&args, CALL_CHARS),
                "diff": diff.map(|diff| own.cut(diff, CALL_CHARS)),
                "output": own.cut(&output, CALL_CHARS),
                "is_failed": outcome.error.is_some(),
                "command_failure": failure.map(|failure| own.cut(&failure, NAME_CHARS).text),
                "lines": lines,
            })
        });
    }

    fn add_warning(&mut self, text: &str) {
        self.add_message("warning", text, NAME_CHARS);
    }
}

impl<F: FnMut(&str)> HtmlReport<F> {
    /// Makes a report for the file at `path`, which is written when the session is over. With a
    /// `journal_session`, by which changes are listed, the page tells how to undo them.
    pub fn new(path: PathBuf, journal_session: Option<String>, warn: F) -> Self {
        Self {
            path,
            warn,
            now: SystemTime::now,
            started: None,
            session: String::new(),
            model: String::new(),
            turns: 0,
            entries: Entries::default(),
            journal_session,
        }
    }

    fn page(&self, error: Option<&SessionError>, stats: &Stats) -> String {
        let tools = stats.by_name.iter().map(|(name, tool)| {
            let failed = tool.failures + tool.failed_commands;
            json!([
                escape_controls(name),
                tool.calls,
                failed,
                span(tool.duration)
            ])
        });
        let error = error.map(|error| {
            let (name, code) = (error.kind.name(), error.kind.exit_status());
            format!(
                "{} ({name}, status {code})",
                escape_controls(&error.message)
            )
        });
        let session = json!({
            "error": error,
            "totals": self.totals(stats),
            "tools": tools.collect::<Vec<_>>(),
            "entries": self.entries.list,
            "left_out": self.entries.left_out,
        });
        let session = without_markup(&session.to_string());
        let hash = STANDARD.encode(Sha256::digest(SCRIPT));
        TEMPLATE
            .replace("{{hash}}", &hash)
            .replace("{{style}}", STYLE)
            .replace("{{script}}", SCRIPT)
            // Last, because it may have any text.
            .replacen("{{session}}", &session, 1)
    }

    /// Returns the names and values at the top of the page, in their order.
    fn totals(&self, stats: &Stats) -> Value {
        let sum = |of: fn(&ModelStats) -> u64| -> u64 { stats.models.values().map(of).sum() };
        let calls = &stats.tools;
        let failed = calls.failures + calls.failed_commands;
        let started = self.started.map(moment);
        let lines = &calls.lines;
        let undo = self
            .journal_session
            .as_ref()
            .filter(|_| stats.has_changed_files())
            .map(|session| format!("call_tool --undo --session {session}"));
        json!([
            ["Started", started],
            ["Duration", span(stats.duration)],
            ["Model", self.model],
            ["Session", self.session],
            ["Turns", self.turns],
            [
                "Calls",
                format!("{}, of which {failed} failed", calls.calls)
            ],
            [
                "Tokens in",
                format!(
                    "{}, of which {} cached",
                    sum(|m| m.prompt),
                    sum(|m| m.cached)
                )
            ],
            [
                "Tokens out",
                format!(
                    "{}, and {} of thoughts",
                    sum(|m| m.candidates),
                    sum(|m| m.thoughts)
                )
            ],
            ["Tokens in total", sum(|m| m.total)],
            ["Lines", format!("+{} -{}", lines.added(), lines.removed())],
            ["Undo", undo],
        ])
    }
}

/// Returns a point in time that may be broken into two lines on a phone.
fn moment(time: SystemTime) -> String {
    let iso = iso(time);
    let (date, clock) = iso.split_once('T').unwrap_or_default();
    format!("{date} {} UTC", clock.get(..8).unwrap_or(clock))
}

/// Returns JSON in which nothing ends or begins an element, and nothing is an error in HTML.
fn without_markup(json: &str) -> String {
    let mut own = String::with_capacity(json.len());
    for c in json.chars() {
        match u32::from(c) {
            code if c == '<' || code & 0xfffe == 0xfffe && code < 0x1_0000 => {
                own.push_str(&format!("\\u{code:04x}"));
            }
            0xfdd0..=0xfdef => own.push(char::REPLACEMENT_CHARACTER),
            code if code & 0xfffe == 0xfffe => own.push(char::REPLACEMENT_CHARACTER),
            _ => own.push(c),
        }
    }
    own
}

/// Puts a page in place, all or nothing.
fn write(path: &Path, page: &str) -> Result<(), ToolError> {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let (workspace, place) = Workspace::for_user_file(&path)?;
    workspace
        .target(&place, &Cancellation::default())?
        .commit(&place, |file| file.write_all(page.as_bytes()))
        .map(drop)
}

impl<F: FnMut(&str) + Send> Observer for HtmlReport<F> {
    fn take(&mut self, event: &Event<'_>) {
        self.started.get_or_insert_with(self.now);
        let entries = &mut self.entries;
        match event {
            Event::Started { session, model } => {
                self.session = entries.cut(session, NAME_CHARS).text;
                self.model = entries.cut(model, NAME_CHARS).text;
            }
            Event::Prompt { text, .. } => entries.add_message("prompt", text, TEXT_CHARS),
            Event::Request { turn, .. } => {
                self.turns += 1;
                entries.add("turn", |_| json!({ "number": turn }));
            }
            Event::Text(text) => entries.add_text(text),
            Event::Thought(thought) => entries.add_thought(thought),
            Event::Retry(reason) => {
                entries.add_warning(&format!("The model was asked again, because {reason}."));
            }
            Event::AttemptFailed {
                error,
                wait: Some(wait),
            } => entries.add_warning(&format!(
                "{error} The request was sent again after {}.",
                span(*wait)
            )),
            Event::Response { last, duration } => entries.add_response(*last, *duration),
            Event::ApiFailed { error, .. } => {
                entries.add_message("error", &error.to_string(), NAME_CHARS);
            }
            Event::Call(call) => entries.add_call(call),
            Event::Compressed { from, to } => entries.add_warning(&format!(
                "The history was shortened from {from} to {to} tokens."
            )),
            Event::Warning(text) => entries.add_warning(text),
            Event::Ended { error, stats } => {
                entries.end_text();
                let page = self.page(*error, stats);
                if let Err(e) = write(&self.path, &page) {
                    (self.warn)(&format!("The report can't be written: {}", e.message));
                }
            }
            Event::Live { .. }
            | Event::ModelCall(_)
            | Event::ThoughtPiece(_)
            | Event::AttemptFailed { wait: None, .. } => {}
        }
    }
}

#[cfg(test)]
mod tests;
