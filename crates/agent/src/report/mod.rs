//! A session as a single self-contained HTML page.
//!
//! The page is a template with the session as JSON inside; its script renders it. Sizes are
//! bounded, and the page says where something was cut.

use super::call::ToolCall;
use super::clock::{iso, span};
use super::event::{Observer, SessionError, SessionEvent};
use super::model_script::places::each_text;
use super::output::metrics;
use super::stats::Stats;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gemini_tools_core::text::harmless_lines;
use gemini_tools_core::tool::{Cancellation, Display, ToolError};
use gemini_tools_workspace::Workspace;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

const TEMPLATE: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

const CALL_BYTES: usize = 20_000;

const TEXT_BYTES: usize = 100_000;

const NAME_BYTES: usize = 2_000;

/// The most bytes of all texts of a report together. Entries after that are counted but not shown.
const ALL_BYTES: usize = 16 * 1024 * 1024;

const ENTRY_BYTES: usize = 256;

/// Collects the events of a session, and writes the page when it ends, also after an error.
#[derive(Debug)]
pub struct HtmlReport {
    path: PathBuf,
    /// Called with a message if the page can't be written; a report must not make the session fail.
    warn: fn(&str),
    started: SystemTime,
    session: String,
    model: String,
    entries: Vec<Value>,
    left_bytes: usize,
    left_out: u64,
    journal_session: Option<String>,
}

impl HtmlReport {
    /// Creates a report of the session that begins now, to be written to `path`. With a
    /// `journal_session`, the id of the session in the undo journal, the page says how to undo its
    /// changes.
    pub fn new(path: PathBuf, journal_session: Option<String>, warn: fn(&str)) -> Self {
        Self {
            path,
            warn,
            started: SystemTime::now(),
            session: String::new(),
            model: String::new(),
            entries: Vec::new(),
            left_bytes: ALL_BYTES,
            left_out: 0,
            journal_session,
        }
    }

    fn add(&mut self, kind: &str, fields: impl FnOnce(&mut Self) -> Value) {
        if self.left_bytes < ENTRY_BYTES {
            self.left_out += 1;
            return;
        }
        self.left_bytes -= ENTRY_BYTES;
        let mut entry = fields(self);
        entry["type"] = kind.into();
        self.entries.push(entry);
    }

    fn add_text(&mut self, kind: &str, text: &str, limit: usize) {
        self.add(kind, |own| json!({ "text": own.cut(text, limit) }));
    }

    fn add_piece(&mut self, piece: &str) {
        match self.entries.last_mut() {
            Some(last) if last["type"] == "text" && self.left_bytes > piece.len() => {
                let piece = harmless_lines(piece);
                self.left_bytes = self.left_bytes.saturating_sub(piece.len());
                if let Value::String(text) = &mut last["text"] {
                    text.push_str(&piece);
                }
            }
            _ => self.add_text("text", piece, ALL_BYTES),
        }
    }

    fn add_call(&mut self, call: &ToolCall) {
        let Some(outcome) = call.outcome() else {
            return;
        };
        let args = Value::Object(call.request.args.clone());
        let failure = outcome.command_failure.as_ref();
        // A display that is contained in the answer is not shown twice.
        let display = match &outcome.display {
            Display::Markdown(text) if !outcome.text.contains(text.trim()) => {
                Some(("markdown", text.clone()))
            }
            Display::Other(value) => Some(("plain", format!("{value:#}"))),
            _ => None,
        };
        self.add("call", |own| {
            json!({
                "name": own.cut(&call.request.name, NAME_BYTES),
                "description": own.cut(&call.summary(), NAME_BYTES),
                "state": outcome.end().name(),
                "decision": call.decision,
                "duration": span(call.duration),
                "args": own.cut(&format!("{args:#}"), CALL_BYTES),
                "diff": outcome.diff.as_ref().map(|diff| own.cut(diff, CALL_BYTES)),
                "display": display.map(|(form, text)| json!({ form: own.cut(&text, CALL_BYTES) })),
                "output": own.cut(&outcome.text, CALL_BYTES),
                "command_failure": failure.map(|failure| own.cut(failure, NAME_BYTES)),
                "lines": outcome.diff_stat.map(|stat| (stat.added(), stat.removed())),
            })
        });
    }

    fn cut(&mut self, text: &str, limit: usize) -> String {
        let text = harmless_lines(text);
        let limit = limit.min(self.left_bytes);
        let end = (0..=limit.min(text.len()))
            .rev()
            .find(|at| text.is_char_boundary(*at));
        let (start, rest) = text.split_at(end.unwrap_or(0));
        self.left_bytes -= start.len();
        match rest.chars().count() {
            0 => start.to_owned(),
            count => format!("{start}\n[{count} more characters are left out.]"),
        }
    }

    fn page(&self, error: Option<&SessionError>, stats: &Stats) -> String {
        let journal_session = self.journal_session.as_ref();
        let undo = journal_session
            .filter(|_| stats.has_changed_files)
            .map(|session| format!("call_tool --undo --session {session}"));
        let error = error.map(|error| {
            let (name, code) = (error.kind.name(), error.kind.exit_status());
            format!("{} ({name}, status {code})", error.message)
        });
        let by_name = stats.by_name.iter();
        let failed_commands: Map<String, Value> = by_name
            .map(|(name, tool)| (name.clone(), tool.failed_commands.into()))
            .collect();
        let mut session = json!({
            "error": error,
            "started": iso(self.started),
            "duration": span(stats.duration),
            "model": self.model,
            "session": self.session,
            "turns": stats.turns,
            "undo": undo,
            "failed_commands": failed_commands,
            "stats": metrics(stats),
            "entries": self.entries,
            "left_out": self.left_out,
        });
        each_text(&mut session, &harmless_lines);
        // The JSON stands inside a `script` element. A `<` in it could end that element or begin
        // another.
        let session = session.to_string().replace('<', "\\u003c");
        let hash = STANDARD.encode(Sha256::digest(SCRIPT));
        TEMPLATE
            .replace("{{hash}}", &hash)
            .replace("{{style}}", STYLE)
            .replace("{{script}}", SCRIPT)
            // The session is inserted last, because it may contain the text of a placeholder such
            // as `{{style}}`, which must not be replaced.
            .replacen("{{session}}", &session, 1)
    }
}

fn write(path: &Path, page: &str) -> Result<(), ToolError> {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let (workspace, place) = Workspace::for_user_file(&path)?;
    workspace
        .target(&place, &Cancellation::default())?
        .commit(&place, |file| file.write_all(page.as_bytes()))
        .map(drop)
}

impl Observer for HtmlReport {
    fn take(&mut self, event: &SessionEvent<'_>) {
        match event {
            SessionEvent::Started { session, model } => {
                self.session = self.cut(session, NAME_BYTES);
                self.model = self.cut(model, NAME_BYTES);
            }
            SessionEvent::Prompt { text, .. } => self.add_text("prompt", text, TEXT_BYTES),
            SessionEvent::Request { turn, .. } => {
                self.add("turn", |_| json!({ "number": turn }));
            }
            SessionEvent::Text(text) => self.add_piece(text),
            SessionEvent::Thought(thought) => self.add("thought", |own| {
                json!({
                    "subject": own.cut(&thought.subject, NAME_BYTES),
                    "description": own.cut(&thought.description, TEXT_BYTES),
                })
            }),
            SessionEvent::Response { turn, duration } => {
                let usage = turn.usage.as_ref();
                self.add("used", |_| {
                    json!({
                        "duration": span(*duration),
                        "prompt": usage.map_or(0, |usage| usage.prompt),
                        "candidates": usage.map_or(0, |usage| usage.candidates),
                    })
                });
            }
            SessionEvent::Call(call) => self.add_call(call),
            SessionEvent::Ended { error, stats } => {
                let page = self.page(*error, stats);
                if let Err(e) = write(&self.path, &page) {
                    (self.warn)(&format!("The report can't be written: {}", e.message));
                }
            }
            event => {
                if let Some(note) = event.note() {
                    self.add_text("warning", &note, NAME_BYTES);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
