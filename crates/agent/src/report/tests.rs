//! Tests that a page contains the session, and that none of its text counts as markup.

use super::{ALL_BYTES, CALL_BYTES, ENTRY_BYTES, HtmlReport};
use crate::call::{CallOutcome, CallState, ToolCall};
use crate::event::{Observer, SessionError, SessionErrorKind, SessionEvent};
use crate::output::tests::{
    PROMPT, STARTED, answered_turn, begun, done, edit, failed, stats, still, text, turn,
};
use crate::stats::Stats;
use crate::thought::Thought;
use gemini_tools_core::tool::ModelCall;
use gemini_tools_net::gemini_api::ApiError;
use serde_json::{Value, json};
use std::cell::Cell;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

// The number of warnings of a test, which runs on a thread of its own.
thread_local!(static WARNINGS: Cell<usize> = const { Cell::new(0) });

fn report(path: &Path) -> HtmlReport {
    let warn = |_: &str| WARNINGS.set(WARNINGS.get() + 1);
    HtmlReport {
        started: still(),
        ..HtmlReport::new(path.to_owned(), Some("j-1".to_owned()), warn)
    }
}

fn record(path: &Path, events: &[SessionEvent<'_>]) -> usize {
    WARNINGS.set(0);
    let mut report = report(path);
    for event in events {
        report.take(event);
    }
    WARNINGS.get()
}

fn page(events: &[SessionEvent<'_>]) -> String {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("r.html");
    assert_eq!(record(&path, events), 0);
    std::fs::read_to_string(path).expect("a page")
}

fn session(page: &str) -> Value {
    let (_, rest) = page.split_once("id=\"session\">").expect("a session");
    let (session, _) = rest.split_once("</script>").expect("its end");
    serde_json::from_str(session).expect("JSON")
}

fn ended(stats: &Stats) -> SessionEvent<'_> {
    SessionEvent::Ended { error: None, stats }
}

fn whole_page() -> String {
    let (answered, stats) = (answered_turn(), stats());
    let mut edited = done("replace", json!({"file_path": "a"}), edit());
    edited.description = Some("Edit a".to_owned());
    let failed = failed("read_file", json!({}), "gone");
    page(&[
        STARTED,
        PROMPT,
        turn(1),
        SessionEvent::Thought(&Thought::parse("**Musing** I muse")),
        SessionEvent::Text("Let me "),
        SessionEvent::Text("look."),
        SessionEvent::Response {
            turn: &answered,
            duration: Duration::from_secs(1),
        },
        SessionEvent::Call(&begun("replace", json!({}))),
        SessionEvent::Call(&edited),
        SessionEvent::Call(&failed),
        SessionEvent::Warning("slow"),
        turn(2),
        SessionEvent::Text("Done."),
        ended(&stats),
    ])
}

#[test]
fn a_page_holds_all_that_has_happened() {
    let page = whole_page();
    assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"));
    assert!(!page.contains("live output"));
    let session = session(&page);
    assert_eq!(session["error"], Value::Null);
    assert_eq!(session["started"], "2026-01-31T08:09:10.123Z");
    assert_eq!(session["undo"], "call_tool --undo --session j-1");
    assert_eq!(session["stats"]["tools"]["byName"]["replace"]["count"], 1);
    let entries = session["entries"].as_array().expect("entries");
    let types: Vec<&str> = entries.iter().filter_map(|e| e["type"].as_str()).collect();
    assert_eq!(
        types,
        [
            "prompt", "turn", "thought", "text", "used", "call", "call", "warning", "turn", "text"
        ]
    );
    assert_eq!(entries[2]["subject"], "Musing");
    assert_eq!(entries[3]["text"], "Let me look.");
    assert_eq!(entries[4]["prompt"], 100);
    let call = &entries[5];
    assert_eq!(call["description"], "Edit a");
    assert_eq!(call["decision"], "auto_accept");
    assert_eq!(call["lines"], json!([2, 1]));
    assert!(
        call["diff"]
            .as_str()
            .is_some_and(|diff| diff.contains("\n-old\n"))
    );
    assert_eq!(entries[6]["output"], "gone");
    assert_eq!(entries[6]["state"], "error");
}

#[test]
fn a_call_without_a_description_shows_the_beginning_of_its_arguments() {
    let stats = Stats::default();
    let args = json!({"a": "ä".repeat(200), "limit": 3, "path": "src/a.rs"});
    let page = page(&[
        SessionEvent::Call(&done("read_file", args, text("out"))),
        ended(&stats),
    ]);
    let session = session(&page);
    let shown = session["entries"][0]["description"].as_str().expect("text");
    assert!(
        shown.starts_with("limit: 3, path: src/a.rs, a: ää"),
        "{shown}"
    );
    assert!(
        shown.ends_with("ä…") && shown.chars().count() == 101,
        "{shown}"
    );
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
        SessionEvent::AttemptFailed {
            error: &error,
            wait: Some(Duration::from_secs(2)),
        },
        SessionEvent::Ended {
            error: Some(&session_error),
            stats: &stats,
        },
    ]);
    let session = session(&page);
    assert_eq!(
        session["error"],
        "Nothing <there>. (FatalTurnLimitedError, status 53)"
    );
    assert_eq!(
        session["entries"][1]["text"],
        "There is no credential for the Gemini API. It is asked again in 2.0s."
    );
}

fn hostile_call(hostile: &str) -> ToolCall {
    let mut call = begun(hostile, json!({hostile: hostile, "l": [hostile]}));
    call.description = Some(hostile.to_owned());
    for state in [
        CallState::Scheduled,
        CallState::Executing,
        CallState::Done(CallOutcome {
            text: hostile.to_owned(),
            diff: Some(format!("+{hostile}\n-{hostile}\n@@{hostile}\n{hostile}")),
            ..CallOutcome::failure(
                &call.request,
                gemini_tools_core::tool::ErrorKind::Unknown,
                hostile,
            )
        }),
    ] {
        call.move_to(state);
    }
    call
}

#[test]
fn nothing_of_a_session_is_markup() {
    let hostile = "</script></pre></style><img src=x onerror=alert(1)>\"'&lt;&#x3c;\
                   {{session}}\\ud800\u{0}\u{1b}[31m\u{85}\u{202e}]]>--><!--";
    let call = hostile_call(hostile);
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
    let events = [
        SessionEvent::Started {
            session: hostile,
            model: hostile,
        },
        SessionEvent::Prompt {
            id: hostile,
            text: hostile,
        },
        turn(1),
        SessionEvent::Thought(&Thought {
            subject: hostile.to_owned(),
            description: hostile.to_owned(),
        }),
        SessionEvent::Text(hostile),
        SessionEvent::Retry(hostile),
        SessionEvent::Call(&call),
        SessionEvent::Warning(hostile),
        SessionEvent::Ended {
            error: Some(&error),
            stats: &stats,
        },
    ];
    let hostile_page = page(&events);
    let plain = page(&[ended(&Stats::default())]);
    let tags = |page: &str| page.matches('<').count();
    assert_eq!(tags(&hostile_page), tags(&plain));
    let is_odd = |c: char| c.is_control() && c != '\n' || c == '\u{202e}';
    assert!(!hostile_page.contains(is_odd));
    let session = session(&hostile_page);
    let text = session["entries"][3]["text"].as_str().expect("text");
    assert!(
        text.starts_with("</script></pre></style><img src=x"),
        "{text}"
    );
    assert!(text.contains("{{session}}"), "{text}");
}

#[test]
fn the_page_needs_nothing_from_elsewhere() {
    let page = page(&[STARTED, PROMPT, turn(1), ended(&stats())]);
    for bad in [
        "http:", "https:", "src=", "href=", "url(", "@import", "<link", "{{",
    ] {
        assert!(!page.contains(bad), "{bad}");
    }
    assert!(page.contains("default-src 'none'") && page.contains("script-src 'sha256-"));
}

#[test]
fn what_a_tool_shows_people_is_on_the_page_with_its_states() {
    let hostile = "</script><img src=x>\u{1b}[31m";
    let entry = |display: Value| {
        let display = serde_json::from_value(display).expect("a display");
        let outcome = CallOutcome {
            display,
            ..text("For the model.")
        };
        let page = page(&[
            SessionEvent::Call(&done("t", json!({}), outcome)),
            ended(&stats()),
        ]);
        assert!(!page.contains("<img") && !page.contains('\u{1b}'), "{page}");
        session(&page)["entries"][0]["display"].take()
    };
    let lines = format!("l1\nl2\nl3\nl4\n{hostile}");
    let shown = entry(json!(lines));
    let text = shown["markdown"].as_str().expect("text");
    assert!(text.starts_with("l1\nl2\nl3\nl4\n</script>"), "{text}");
    let other = entry(json!({"x": hostile}));
    let plain = other["plain"].as_str().expect("text");
    assert!(plain.starts_with("{\n  \"x\": \"</script>"), "{plain}");
    assert_eq!(
        entry(json!(" the model ")),
        Value::Null,
        "it is in the answer"
    );
    assert_eq!(entry(json!("")), Value::Null);
}

#[test]
fn long_texts_are_cut_and_say_so() {
    let long = "ä".repeat(CALL_BYTES / 2 + 1234);
    let call = done("t", json!({}), text(&long));
    let page = page(&[SessionEvent::Call(&call), ended(&Stats::default())]);
    let session = session(&page);
    let output = session["entries"][0]["output"].as_str().expect("text");
    assert!(output.ends_with("ä\n[1234 more characters are left out.]"));
}

#[test]
fn a_session_without_end_takes_no_more_memory() {
    let mut report = report(Path::new("unused"));
    let call = done("t", json!({}), text(&"x".repeat(CALL_BYTES)));
    for _ in 0..2_000 {
        report.take(&SessionEvent::Call(&call));
        report.take(&SessionEvent::Text("more"));
    }
    let text = |entry: &Value| entry["output"].as_str().map_or(0, str::len);
    assert!(report.entries.iter().map(text).sum::<usize>() <= ALL_BYTES);
    assert!(report.left_bytes < ENTRY_BYTES && report.left_out > 0);
}

#[test]
fn the_file_is_replaced_whole_and_for_everybody() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("new/r.html");
    let stats = Stats::default();
    for _ in 0..2 {
        assert_eq!(record(&path, &[STARTED, ended(&stats)]), 0);
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
    assert_eq!(record(directory.path(), &[ended(&stats)]), 1);
}
