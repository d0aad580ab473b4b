//! A session as one page of HTML, which needs nothing else to be read.
//!
//! What is kept of a session is bounded, and what was cut says so. `page` writes the page.

mod markdown;
mod page;

use super::call::{ToolCall, ToolCallDecision};
use super::clock::{Clock, span};
use super::event::{Event, Observer};
use super::thought::Thought;
use gemini_tools_core::tool::{Cancellation, Display, ToolError};
use gemini_tools_net::gemini_api::GenerateContentResponse;
use gemini_tools_workspace::Workspace;
use serde_json::{Map, Value};
use std::fmt;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Maximum characters kept of a call's arguments, diff and output each.
const CALL_CHARS: usize = 20_000;

/// Maximum characters kept of a prompt, and of what a model says or thinks at a time.
const TEXT_CHARS: usize = 100_000;

/// Maximum characters kept of names, descriptions and messages.
const NAME_CHARS: usize = 2_000;

/// Maximum characters kept of arguments that replace a description.
const BRIEF_CHARS: usize = 100;

/// All texts together.
const ALL_BYTES: usize = 16 * 1024 * 1024;

/// What an entry takes besides its texts, about.
const ENTRY_BYTES: usize = 256;

/// Collects what happens and writes a page of it at the end, also after an error. Where that
/// fails, `warn` is told.
pub struct HtmlReport<F> {
    path: PathBuf,
    warn: F,
    now: Clock,
    kept: ReportState,
}

impl<F> fmt::Debug for HtmlReport<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HtmlReport")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

/// What is kept of a session.
#[derive(Debug)]
struct ReportState {
    started: Option<SystemTime>,
    session: Cut,
    model: Cut,
    entries: Vec<Entry>,
    turns: u32,
    /// Entries for which there was no room.
    left_out: u64,
    /// The room that is left.
    room: usize,
    /// By what the session's changes are listed.
    journal_session: Option<String>,
}

#[derive(Debug)]
enum Entry {
    Prompt(Cut),
    Turn(u32),
    Text(Cut),
    Thought {
        subject: Cut,
        description: Cut,
    },
    Used {
        duration: Duration,
        prompt: u64,
        candidates: u64,
    },
    Call(Box<ReportCall>),
    Warning(Cut),
    Error(Cut),
}

#[derive(Debug)]
struct ReportCall {
    name: Cut,
    description: Cut,
    state: &'static str,
    decision: Option<ToolCallDecision>,
    duration: Duration,
    args: Cut,
    diff: Option<Cut>,
    output: Cut,
    is_failed: bool,
    /// How its command has failed, where it has run one that has.
    command_failure: Option<Cut>,
    lines: Option<(u64, u64)>,
}

/// The beginning of a text.
#[derive(Debug, Default)]
struct Cut {
    text: String,
    chars: usize,
    missing: usize,
}

impl Cut {
    fn new(text: &str, most_chars: usize, room: &mut usize) -> Self {
        let mut cut = Self::default();
        cut.push(text, most_chars, room);
        cut
    }

    fn push(&mut self, text: &str, most_chars: usize, room: &mut usize) {
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

/// Arguments as JSON over several lines, in the order in which the tool declares them.
fn in_order(args: &Map<String, Value>, order: &[String]) -> String {
    if args.is_empty() {
        return "{}".to_owned();
    }
    let mut pairs: Vec<_> = args.iter().collect();
    pairs.sort_by_key(|(name, _)| declared(name, order));
    let lines = pairs.into_iter().map(|(name, value)| {
        let value = serde_json::to_string_pretty(value).unwrap_or_default();
        // A line end in a text is written as two characters.
        format!(
            "  {}: {}",
            Value::from(name.as_str()),
            value.replace('\n', "\n  ")
        )
    });
    let lines: Vec<String> = lines.collect();
    format!("{{\n{}\n}}", lines.join(",\n"))
}

/// Where an argument is among those that are declared; others come last.
fn declared(name: &str, order: &[String]) -> usize {
    let place = order.iter().position(|declared| declared == name);
    place.unwrap_or(order.len())
}

/// The beginning of arguments, for a call that was not asked what it would do: in the order in
/// which they are declared, and of others the shortest first, because a path tells more than the
/// content of a file.
fn brief(args: &Map<String, Value>, order: &[String]) -> String {
    let shown = |value: &Value| match value.as_str() {
        Some(text) => text.to_owned(),
        None => value.to_string(),
    };
    let mut pairs: Vec<_> = args.iter().map(|(name, v)| (name, shown(v))).collect();
    pairs.sort_by_key(|(name, value)| (declared(name, order), value.len()));
    let mut text = String::new();
    for (name, value) in pairs {
        let separator = if text.is_empty() { "" } else { ", " };
        text.push_str(&format!("{separator}{name}: {value}"));
        if let Some((end, _)) = text.char_indices().nth(BRIEF_CHARS) {
            text.truncate(end);
            text.push('…');
            break;
        }
    }
    text
}

impl Default for ReportState {
    fn default() -> Self {
        Self {
            journal_session: None,
            started: None,
            session: Cut::default(),
            model: Cut::default(),
            entries: Vec::new(),
            turns: 0,
            left_out: 0,
            room: ALL_BYTES,
        }
    }
}

impl ReportState {
    fn cut(&mut self, text: &str, most_chars: usize) -> Cut {
        Cut::new(text, most_chars, &mut self.room)
    }

    fn add(&mut self, make: impl FnOnce(&mut Self) -> Entry) {
        if self.room < ENTRY_BYTES {
            self.left_out += 1;
            return;
        }
        self.room -= ENTRY_BYTES;
        let entry = make(self);
        self.entries.push(entry);
    }

    fn text(&mut self, piece: &str) {
        if let Some(Entry::Text(text)) = self.entries.last_mut() {
            text.push(piece, TEXT_CHARS, &mut self.room);
        } else {
            self.add(|kept| Entry::Text(kept.cut(piece, TEXT_CHARS)));
        }
    }

    fn thought(&mut self, thought: &Thought) {
        self.add(|kept| Entry::Thought {
            subject: kept.cut(&thought.subject, NAME_CHARS),
            description: kept.cut(&thought.description, TEXT_CHARS),
        });
    }

    fn response(&mut self, last: Option<&GenerateContentResponse>, duration: Duration) {
        let usage = last.and_then(|last| last.usage_metadata.as_ref());
        let (prompt, candidates) = usage.map_or((0, 0), |usage| {
            (usage.prompt_token_count, usage.candidates_token_count)
        });
        self.add(|_| Entry::Used {
            duration,
            prompt,
            candidates,
        });
    }

    fn call(&mut self, call: &ToolCall) {
        let Some(outcome) = call.outcome() else {
            return;
        };
        let args = in_order(&call.request.args, &call.argument_order);
        let description = match call.description.as_deref() {
            Some(description) if !description.trim().is_empty() => description.to_owned(),
            _ => brief(&call.request.args, &call.argument_order),
        };
        let lines = outcome.diff_stat.as_ref().map(|stat| {
            let lines = |key: &str| stat[key].as_u64().unwrap_or_default();
            (
                lines("ai_added_lines") + lines("user_added_lines"),
                lines("ai_removed_lines") + lines("user_removed_lines"),
            )
        });
        let output = match &outcome.display {
            Display::Ansi(_) | Display::Todos(_) | Display::Subagent(_) => {
                format!("{}\n\n{}", outcome.display.to_text(), outcome.text)
            }
            Display::Markdown(_) | Display::FileDiff(_) => outcome.text.clone(),
        };
        self.add(|kept| {
            Entry::Call(Box::new(ReportCall {
                name: kept.cut(&call.request.name, NAME_CHARS),
                description: kept.cut(&description, NAME_CHARS),
                state: call.state().name(),
                decision: call.decision,
                duration: call.duration,
                args: kept.cut(&args, CALL_CHARS),
                diff: outcome
                    .diff
                    .as_deref()
                    .map(|diff| kept.cut(diff, CALL_CHARS)),
                output: kept.cut(&output, CALL_CHARS),
                is_failed: outcome.error.is_some(),
                command_failure: outcome
                    .command_failure
                    .as_ref()
                    .map(|failure| kept.cut(&failure.to_string(), NAME_CHARS)),
                lines,
            }))
        });
    }

    fn warning(&mut self, text: &str) {
        self.add(|kept| Entry::Warning(kept.cut(text, NAME_CHARS)));
    }
}

impl<F: FnMut(&str)> HtmlReport<F> {
    /// Writes to the file at `path` when the session is over.
    pub fn new(path: PathBuf, warn: F) -> Self {
        Self {
            path,
            warn,
            now: SystemTime::now,
            kept: ReportState::default(),
        }
    }

    /// The same, where changes are listed by this session, so that the page can say how they are
    /// taken back.
    #[must_use]
    pub fn with_journal_session(mut self, session: Option<String>) -> Self {
        self.kept.journal_session = session;
        self
    }
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
        let kept = &mut self.kept;
        kept.started.get_or_insert_with(self.now);
        match event {
            Event::Started { session, model } => {
                kept.session = kept.cut(session, NAME_CHARS);
                kept.model = kept.cut(model, NAME_CHARS);
            }
            Event::Prompt { text, .. } => {
                kept.add(|kept| Entry::Prompt(kept.cut(text, TEXT_CHARS)));
            }
            Event::Request { turn, .. } => {
                kept.turns += 1;
                kept.add(|_| Entry::Turn(*turn));
            }
            Event::Text(text) => kept.text(text),
            Event::Thought(thought) => kept.thought(thought),
            Event::Retry(flaw) => {
                kept.warning(&format!("The model was asked again, because {flaw}."));
            }
            Event::Waits { error, wait } => kept.warning(&format!(
                "{error} The request was sent again after {}.",
                span(*wait)
            )),
            Event::Response { last, duration } => kept.response(*last, *duration),
            Event::ApiFailed { error, .. } => {
                let message = error.to_string();
                kept.add(|kept| Entry::Error(kept.cut(&message, NAME_CHARS)));
            }
            Event::Call(call) => kept.call(call),
            Event::Compressed { from, to } => kept.warning(&format!(
                "The history was shortened from {from} to {to} tokens."
            )),
            Event::Warning(text) => kept.warning(text),
            Event::Ended { error, stats } => {
                let page = page::page(kept, *error, stats);
                if let Err(e) = write(&self.path, &page) {
                    (self.warn)(&format!("The report can't be written: {}", e.message));
                }
            }
            Event::Live { .. } | Event::ModelCall(_) | Event::ThoughtPiece(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{ALL_BYTES, CALL_CHARS, Cut, ENTRY_BYTES, Entry, HtmlReport, ReportState};
    use crate::call::{CallOutcome, CallState};
    use crate::event::{Event, Observer, SessionError, SessionErrorKind};
    use crate::output::testing::{
        PROMPT, STARTED, begun, done, edit, failed, last, stats, still, text, turn,
    };
    use crate::stats::Stats;
    use crate::thought::Thought;
    use gemini_tools_core::tool::ModelCall;
    use gemini_tools_net::gemini_api::ApiError;
    use serde_json::json;
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;
    use std::time::Duration;

    fn record(path: &Path, events: &[Event<'_>]) -> Vec<String> {
        let mut warnings = Vec::new();
        let warn = |warning: &str| warnings.push(warning.to_owned());
        let mut report = HtmlReport {
            now: still,
            ..HtmlReport::new(path.to_owned(), warn)
        };
        for event in events {
            report.take(event);
        }
        drop(report);
        warnings
    }

    fn page(events: &[Event<'_>]) -> String {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("r.html");
        let warnings = record(&path, events);
        assert!(warnings.is_empty(), "{warnings:?}");
        std::fs::read_to_string(path).expect("a page")
    }

    fn ended(stats: &Stats) -> Event<'_> {
        Event::Ended { error: None, stats }
    }

    #[test]
    fn a_session_is_one_page_with_all_that_has_happened() {
        let (last, stats) = (last(), stats());
        let mut edited = done("replace", json!({"file_path": "a"}), edit());
        edited.description = Some("Edit a".to_owned());
        let failed = failed("read_file", json!({}), "gone");
        let second = Duration::from_secs(1);
        let page = page(&[
            STARTED,
            PROMPT,
            turn(1),
            Event::ThoughtPiece("**Musing** I"),
            Event::Thought(&Thought::parse("**Musing** I muse")),
            Event::Thought(&Thought::parse("And more.")),
            Event::Text("Let me "),
            Event::Text("look."),
            Event::Response {
                last: Some(&last),
                duration: second,
            },
            Event::Call(&begun("replace", json!({}))),
            Event::Live {
                id: "x",
                text: "live output",
            },
            Event::Call(&edited),
            Event::Call(&failed),
            Event::Warning("slow"),
            turn(2),
            Event::Text("Done."),
            ended(&stats),
        ]);
        let parts = [
            "<!doctype html>",
            "name=\"viewport\"",
            "2026-01-31 08:09:10 UTC",
            "gemini-x",
            "s-1",
            "Done.",
            "Häng an!",
            "<h2>Turn 1</h2>",
            "<details><summary>Musing</summary>",
            ">I muse</div>",
            "<details><summary>Thoughts</summary>",
            ">And more.</div>",
            "Let me look.",
            "Edit a",
            "auto_accept",
            "<span class=\"r\">-old</span><span class=\"a\">+new</span>",
            "<details class=\"bad\">",
            "gone",
            "slow",
            "<h2>Turn 2</h2>",
            "The answer is at the top",
        ];
        let mut at = 0;
        for part in parts {
            let found = page[at..].find(part);
            assert!(found.is_some(), "{part} after {}", &page[at..]);
            at += found.unwrap_or_default();
        }
        assert!(!page.contains("live output"));
        assert!(page.ends_with("</html>\n"));
    }

    #[test]
    fn the_names_of_a_diff_are_no_lines_of_it() {
        let stats = Stats::default();
        let mut outcome = edit();
        outcome.diff = Some("--- a\n+++ a\n@@ -1 +1 @@\n--- x\n+++ y\n".to_owned());
        let page = page(&[
            Event::Call(&done("replace", json!({}), outcome)),
            ended(&stats),
        ]);
        let lines = [
            "<span class=\"f\">--- a</span><span class=\"f\">+++ a</span>",
            "<span class=\"h\">@@ -1 +1 @@</span>",
            "<span class=\"r\">--- x</span><span class=\"a\">+++ y</span>",
        ];
        assert!(page.contains(&lines.concat()), "{page}");
    }

    #[test]
    fn a_call_that_nobody_has_described_shows_the_beginning_of_its_arguments() {
        let stats = Stats::default();
        let args = json!({"a": "ä".repeat(200), "limit": 3, "path": "src/a.rs"});
        let page = page(&[
            Event::Call(&done("read_file", args, text("out"))),
            ended(&stats),
        ]);
        let summary = page.split("</summary>").next().unwrap_or_default();
        assert!(
            summary.contains(" limit: 3, path: src/a.rs, a: ää"),
            "{summary}"
        );
        assert!(
            summary.contains("ä… <span") && summary.matches('ä').count() < 100,
            "{summary}"
        );
    }

    #[test]
    fn arguments_are_in_the_order_in_which_they_are_declared() {
        let order = ["path", "old", "new"].map(str::to_owned);
        let args = json!({"a": 1, "new": "n", "old": {"x": [1, "l\nm"]}, "path": "p"});
        let args = args.as_object().expect("an object");
        let shown = super::in_order(args, &order);
        assert_eq!(
            shown,
            "{\n  \"path\": \"p\",\n  \"old\": {\n    \"x\": [\n      1,\n      \"l\\nm\"\n    ]\n  },\n  \
             \"new\": \"n\",\n  \"a\": 1\n}"
        );
        let read: serde_json::Value = serde_json::from_str(&shown).expect("JSON");
        assert_eq!(read.as_object(), Some(args));
        assert!(super::brief(args, &order).starts_with("path: p, old: {"));
        assert_eq!(super::in_order(&serde_json::Map::new(), &order), "{}");
    }

    #[test]
    fn the_answer_is_at_the_top_and_diffs_are_open() {
        let stats = stats();
        let edited = done("replace", json!({"file_path": "a"}), edit());
        let events = [
            STARTED,
            PROMPT,
            turn(1),
            Event::Text("I look."),
            Event::Call(&edited),
            turn(2),
            Event::Text("All **done**."),
            ended(&stats),
        ];
        let done = page(&events);
        let at = |text: &str| done.find(text).unwrap_or_else(|| panic!("{text}: {done}"));
        let words = "All <strong>done</strong>.";
        assert!(at("<h2>Answer</h2>") < at(words));
        assert!(at(words) < at("<h2>Prompt</h2>"));
        assert!(at("<h2>Turn 1</h2>") < at("I look."));
        assert!(at("<h2>Turn 2</h2>") < at("The answer is at the top"));
        assert_eq!(done.matches(words).count(), 1);
        assert!(done.contains("<details open><summary>"));
        assert!(at("<h3>Diff</h3>") < at("<h3>Arguments</h3>"));
        // A session that has ended at a call has none.
        let page = page(&[
            turn(1),
            Event::Text("I look."),
            Event::Call(&edited),
            ended(&stats),
        ]);
        assert!(!page.contains("Answer") && page.contains("I look."));
    }

    #[test]
    fn a_long_prompt_is_folded() {
        let stats = Stats::default();
        for (chars, is_folded) in [(1_500, false), (1_501, true)] {
            let text = "ä".repeat(chars);
            let prompt = Event::Prompt {
                id: "p",
                text: &text,
            };
            let page = page(&[prompt, ended(&stats)]);
            let fold = format!("<summary>{chars} characters</summary>");
            assert_eq!(page.contains(&fold), is_folded);
            assert!(page.contains(&text));
        }
    }

    #[test]
    fn an_error_is_on_the_page() {
        let session_error = SessionError {
            message: "Nothing <there>.".to_owned(),
            kind: SessionErrorKind::TurnLimit,
        };
        let error = ApiError::no_credential();
        let stats = Stats::default();
        let page = page(&[
            turn(1),
            Event::ApiFailed {
                error: &error,
                duration: Duration::ZERO,
            },
            Event::Ended {
                error: Some(&session_error),
                stats: &stats,
            },
        ]);
        assert!(page.contains("Nothing &lt;there&gt;. (FatalTurnLimitedError, status 53)"));
        assert!(page.contains("There is no credential for the Gemini API."));
    }

    #[test]
    fn nothing_of_a_session_is_markup() {
        let hostile = "</script></pre></style><img src=x onerror=alert(1)>\"'&lt;&#x3c;\
                       \\ud800\u{0}\u{1b}[31m\u{85}\u{202e}\u{fffe}]]>--><!--";
        let mut call = begun(hostile, json!({hostile: hostile, "l": [hostile]}));
        call.description = Some(hostile.to_owned());
        for state in [
            CallState::Scheduled,
            CallState::Executing,
            CallState::Error(CallOutcome {
                text: hostile.to_owned(),
                diff: Some(format!("+{hostile}\n-{hostile}\n@@{hostile}\n{hostile}")),
                ..CallOutcome::failure(
                    &call.request,
                    gemini_tools_core::tool::ErrorKind::Unknown,
                    hostile,
                )
            }),
        ] {
            call.move_to(state).expect("legal");
        }
        let error = SessionError {
            message: hostile.to_owned(),
            kind: SessionErrorKind::Failed,
        };
        let mut stats = Stats::default();
        stats.count_model_call(&ModelCall {
            model: hostile.to_owned(),
            ..ModelCall::default()
        });
        stats.count_call(&call);
        let page = page(&[
            Event::Started {
                session: hostile,
                model: hostile,
            },
            Event::Prompt {
                id: hostile,
                text: hostile,
            },
            turn(1),
            Event::Thought(&Thought {
                subject: hostile.to_owned(),
                description: hostile.to_owned(),
            }),
            Event::Text(hostile),
            Event::Retry(hostile),
            Event::Call(&call),
            Event::Warning(hostile),
            Event::Ended {
                error: Some(&error),
                stats: &stats,
            },
        ]);
        let tags = regex::Regex::new("<(/?[a-z0-9]+|!)").expect("a pattern");
        let known = [
            "!", "html", "head", "meta", "title", "style", "body", "h1", "h2", "h3", "dl", "div",
            "dt", "dd", "pre", "code", "p", "details", "summary", "b", "span", "table", "thead",
            "tbody", "tr", "th", "td",
        ];
        for tag in tags.captures_iter(&page) {
            assert!(
                known.contains(&tag[1].trim_start_matches('/')),
                "{}",
                &tag[0]
            );
        }
        for bad in ["<img", "<!--", "</script", "&lt;&#x3c;"] {
            assert!(!page.contains(bad), "{bad}");
        }
        assert_eq!(page.matches("</style>").count(), 1);
        assert!(
            page.matches("onerror=alert(1)&gt;&quot;&#39;&amp;lt;&amp;#x3c;")
                .count()
                >= 12
        );
        let is_odd = |c: char| c.is_control() && c != '\n' || c == '\u{202e}';
        assert!(!page.contains(is_odd));
    }

    #[test]
    fn the_page_needs_nothing_from_elsewhere() {
        let stats = stats();
        let page = page(&[STARTED, PROMPT, turn(1), ended(&stats)]);
        for bad in [
            "http:", "https:", "src=", "href=", "url(", "@import", "<script", "<link",
        ] {
            assert!(!page.contains(bad), "{bad}");
        }
        assert!(page.contains("default-src 'none'"));
    }

    #[test]
    fn elements_are_closed_in_their_order() {
        let stats = stats();
        let call = done("replace", json!({}), edit());
        let page = page(&[
            STARTED,
            PROMPT,
            turn(1),
            Event::Thought(&Thought::parse("**t** u")),
            Event::Text("x"),
            Event::Call(&call),
            Event::Warning("w"),
            ended(&stats),
        ]);
        let tags = regex::Regex::new("<(/?)([a-z0-9]+)").expect("a pattern");
        let mut open = Vec::new();
        for tag in tags.captures_iter(&page) {
            match (&tag[1], &tag[2]) {
                (_, "meta") => {}
                ("", name) => open.push(name.to_owned()),
                (_, name) => assert_eq!(open.pop().as_deref(), Some(name)),
            }
        }
        assert!(open.is_empty(), "{open:?}");
    }

    #[test]
    fn long_texts_are_cut_and_say_so() {
        let long = "ä".repeat(CALL_CHARS + 1234);
        let call = done("t", json!({}), text(&long));
        let stats = Stats::default();
        let page = page(&[Event::Call(&call), ended(&stats)]);
        assert!(page.contains("1234 more characters are left out"));
        assert!(page.len() < 3 * CALL_CHARS);
    }

    #[test]
    fn a_text_is_cut_at_the_same_place_however_it_comes() {
        for (most, room, expected) in [(3, 99, "äbc"), (99, 3, "äb"), (99, 1, ""), (4, 5, "äbcd")]
        {
            let (mut one, mut other) = (room, room);
            let whole = Cut::new("äbcd", most, &mut one);
            let mut pieces = Cut::new("ä", most, &mut other);
            pieces.push("bc", most, &mut other);
            pieces.push("d", most, &mut other);
            assert_eq!(whole.text, expected);
            assert_eq!(
                (&whole.text, whole.missing, one),
                (&pieces.text, pieces.missing, other)
            );
        }
    }

    #[test]
    fn a_session_without_end_takes_no_more_memory() {
        let mut kept = ReportState::default();
        let call = done("t", json!({}), text(&"x".repeat(CALL_CHARS)));
        for _ in 0..2_000 {
            kept.call(&call);
        }
        let text = |entry: &Entry| match entry {
            Entry::Call(call) => call.output.text.len(),
            _ => 0,
        };
        assert!(kept.entries.iter().map(text).sum::<usize>() <= ALL_BYTES);
        assert!(kept.room < ENTRY_BYTES && kept.left_out > 0);
    }

    #[test]
    fn the_file_is_replaced_whole_and_for_everybody() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("new/r.html");
        let stats = Stats::default();
        for _ in 0..2 {
            assert!(record(&path, &[STARTED, ended(&stats)]).is_empty());
        }
        let names: Vec<_> = path
            .parent()
            .expect("one")
            .read_dir()
            .expect("read")
            .map(|entry| entry.expect("an entry").file_name())
            .collect();
        assert_eq!(names, ["r.html"]);
        let mode = path.metadata().expect("there").permissions().mode();
        assert_eq!(mode & 0o600, 0o600);
    }

    #[test]
    fn a_page_that_cannot_be_written_is_a_warning() {
        let directory = tempfile::tempdir().expect("a directory");
        let stats = Stats::default();
        let warnings = record(directory.path(), &[ended(&stats)]);
        assert_eq!(warnings.len(), 1, "{warnings:?}");
    }
}
