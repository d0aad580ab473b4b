use super::ProgressOutput;
use crate::call::{CallOutcome, ToolCallDecision};
use crate::event::{Observer, SessionError, SessionErrorKind, SessionEvent};
use crate::output::tests::{begun, done, edit, failed, refused, stats, text};
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
         ✓ run_shell_command (1.0s)\n    two\n  three\\u{1b}[2J\n"
    );
}

#[test]
fn below_a_call_with_data_for_hosts_is_its_text() {
    let outcome = CallOutcome {
        display: Display::Other(json!({"todos": [{"description": "Look"}]})),
        ..text("For the model.")
    };
    assert_eq!(
        plain(&[SessionEvent::Call(&done("todos", json!({}), outcome))]),
        "✓ todos (12ms)\n  For the model.\n"
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
    let mut events = vec![SessionEvent::Call(&edited), SessionEvent::Call(&edited)];
    events.push(ended());
    let last = |columns, is_styled| {
        let shown = shown(columns, is_styled, &events);
        let at = shown.find("2 turns").expect("a summary");
        shown[at..].to_owned()
    };
    let sums = "2 turns, 2 calls (1 failed), 260 tokens, 4.2s, 1 file changed (+2 -1).";
    let go_on = "Go on with: run_agent --continue 'PROMPT'";
    assert_eq!(last(80, false), format!("{sums}\n{go_on}\n"));
    assert_eq!(
        last(80, true),
        format!("{sums}\x1b[0m\n\x1b[2m{go_on}\x1b[0m\n")
    );
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
        "Warning: slow\nThe history was shortened from 9 to about 1 tokens.\nError: No.\n\
         2 turns, 2 calls (1 failed), 260 tokens, 4.2s.\nGo on with: run_agent --continue\n"
    );
    let mut out = Vec::new();
    let mut notes = ProgressOutput::notes(&mut out);
    for event in &events {
        notes.take(event);
    }
    assert_eq!(out, b"Warning: slow\nError: No.\n");
}
