//! The session that a page holds, and that nothing of it is markup.

use super::{ALL_BYTES, CALL_CHARS, Cut, ENTRY_BYTES, Entries, HtmlReport};
use crate::call::{CallOutcome, CallState};
use crate::event::{Event, Observer, SessionError, SessionErrorKind};
use crate::output::tests::{
    PROMPT, STARTED, begun, done, edit, failed, last, stats, still, text, turn,
};
use crate::stats::Stats;
use crate::thought::Thought;
use gemini_tools_core::tool::ModelCall;
use gemini_tools_net::gemini_api::ApiError;
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

fn record(path: &Path, events: &[Event<'_>]) -> Vec<String> {
    let mut warnings = Vec::new();
    let warn = |warning: &str| warnings.push(warning.to_owned());
    let mut report = HtmlReport {
        now: still,
        ..HtmlReport::new(path.to_owned(), Some("j-1".to_owned()), warn)
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

/// The session that the page holds.
fn session(page: &str) -> Value {
    let (_, rest) = page.split_once("id=\"session\">").expect("a session");
    let (session, _) = rest.split_once("</script>").expect("its end");
    serde_json::from_str(session).expect("JSON")
}

fn ended(stats: &Stats) -> Event<'_> {
    Event::Ended { error: None, stats }
}

#[test]
fn a_page_holds_all_that_has_happened() {
    let (last, stats) = (last(), stats());
    let mut edited = done("replace", json!({"file_path": "a"}), edit());
    edited.description = Some("Edit a".to_owned());
    let failed = failed("read_file", json!({}), "gone");
    let page = page(&[
        STARTED,
        PROMPT,
        turn(1),
        Event::ThoughtPiece("**Musing** I"),
        Event::Thought(&Thought::parse("**Musing** I muse")),
        Event::Text("Let me "),
        Event::Text("look."),
        Event::Response {
            last: Some(&last),
            duration: Duration::from_secs(1),
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
    assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"));
    assert!(!page.contains("live output"));
    let session = session(&page);
    let text = |text: &str| json!({"text": text, "missing": 0});
    assert_eq!(session["error"], Value::Null);
    assert_eq!(
        session["totals"][0],
        json!(["Started", "2026-01-31 08:09:10 UTC"])
    );
    assert_eq!(
        session["totals"][10],
        json!(["Undo", "call_tool --undo --session j-1"])
    );
    assert_eq!(session["tools"][1], json!(["replace", 1, 0, "12ms"]));
    let entries = session["entries"].as_array().expect("entries");
    let types: Vec<&str> = entries.iter().filter_map(|e| e["type"].as_str()).collect();
    assert_eq!(
        types,
        [
            "prompt", "turn", "thought", "text", "used", "call", "call", "warning", "turn", "text"
        ]
    );
    assert_eq!(entries[2]["subject"], text("Musing"));
    assert_eq!(entries[3]["text"], text("Let me look."));
    assert_eq!(entries[4]["prompt"], 100);
    let call = &entries[5];
    assert_eq!(call["description"], text("Edit a"));
    assert_eq!(call["decision"], "auto_accept");
    assert_eq!(call["lines"], json!([2, 1]));
    assert!(
        call["diff"]["text"]
            .as_str()
            .is_some_and(|diff| diff.contains("\n-old\n"))
    );
    assert_eq!(entries[6]["output"], text("gone"));
    assert_eq!(entries[6]["is_failed"], true);
}

#[test]
fn a_call_without_a_description_shows_the_beginning_of_its_arguments() {
    let stats = Stats::default();
    let args = json!({"a": "ä".repeat(200), "limit": 3, "path": "src/a.rs"});
    let page = page(&[
        Event::Call(&done("read_file", args, text("out"))),
        ended(&stats),
    ]);
    let session = session(&page);
    let shown = session["entries"][0]["description"]["text"]
        .as_str()
        .expect("text");
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
fn arguments_are_in_the_order_in_which_they_are_declared() {
    let order = ["path", "old", "new"].map(str::to_owned);
    let args = json!({"a": 1, "new": "n", "old": {"x": [1, "l\nm"]}, "path": "p"});
    let mut call = begun("t", args.clone());
    call.argument_order = order.to_vec();
    let shown = super::args_text(&call);
    assert_eq!(
        shown,
        "{\n  \"path\": \"p\",\n  \"old\": {\n    \"x\": [\n      1,\n      \"l\\nm\"\n    ]\n  },\n  \
         \"new\": \"n\",\n  \"a\": 1\n}"
    );
    let read: Value = serde_json::from_str(&shown).expect("JSON");
    assert_eq!(read, args);
    assert!(call.summary().starts_with("path: p, old: {"));
    assert_eq!(super::args_text(&begun("t", json!({}))), "{}");
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
    let session = session(&page);
    assert_eq!(
        session["error"],
        "Nothing <there>. (FatalTurnLimitedError, status 53)"
    );
    assert!(page.contains("There is no credential for the Gemini API."));
}

#[test]
fn nothing_of_a_session_is_markup() {
    let hostile = "</script></pre></style><img src=x onerror=alert(1)>\"'&lt;&#x3c;\
                   {{session}}\\ud800\u{0}\u{1b}[31m\u{85}\u{202e}\u{fffe}\u{1ffff}\u{fdd0}]]>--><!--";
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
        call.move_to(state);
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
    let events = [
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
    ];
    let hostile_page = page(&events);
    let plain = page(&[ended(&Stats::default())]);
    let tags = |page: &str| page.matches('<').count();
    assert_eq!(tags(&hostile_page), tags(&plain));
    let is_odd =
        |c: char| c.is_control() && c != '\n' || c == '\u{202e}' || u32::from(c) & 0xfffe == 0xfffe;
    assert!(!hostile_page.contains(is_odd));
    let session = session(&hostile_page);
    let text = session["entries"][3]["text"]["text"]
        .as_str()
        .expect("text");
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
fn long_texts_are_cut_and_say_so() {
    let long = "ä".repeat(CALL_CHARS + 1234);
    let call = done("t", json!({}), text(&long));
    let page = page(&[Event::Call(&call), ended(&Stats::default())]);
    let session = session(&page);
    assert_eq!(session["entries"][0]["output"]["missing"], 1234);
}

#[test]
fn a_text_is_cut_at_the_same_place_however_it_comes() {
    for (most, room, expected) in [(3, 99, "äbc"), (99, 3, "äb"), (99, 1, ""), (4, 5, "äbcd")] {
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
    let mut entries = Entries::default();
    let call = done("t", json!({}), text(&"x".repeat(CALL_CHARS)));
    for _ in 0..2_000 {
        entries.add_call(&call);
    }
    let text = |entry: &Value| entry["output"]["text"].as_str().map_or(0, str::len);
    assert!(entries.list.iter().map(text).sum::<usize>() <= ALL_BYTES);
    assert!(entries.room < ENTRY_BYTES && entries.left_out > 0);
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
