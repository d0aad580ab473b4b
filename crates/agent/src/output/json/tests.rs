use super::JsonOutput;
use crate::event::{Observer, SessionError, SessionErrorKind, SessionEvent};
use crate::output::tests::{PROMPT, STARTED, done, stats, text, thought, turn};
use crate::stats::Stats;
use serde_json::{Value, json};

fn shown(events: &[SessionEvent<'_>]) -> String {
    let mut out = Vec::new();
    let mut observer = JsonOutput::new(&mut out);
    for event in events {
        observer.take(event);
    }
    String::from_utf8(out).expect("UTF-8")
}

#[test]
fn a_session_is_one_document() {
    let (call, stats) = (done("t", json!({}), text("out")), stats());
    let shown = shown(&[
        STARTED,
        PROMPT,
        turn(1),
        SessionEvent::Thought(&thought()),
        SessionEvent::Text("I look."),
        SessionEvent::Call(&call),
        turn(2),
        SessionEvent::Text("It is "),
        SessionEvent::Text("\x1b3."),
        SessionEvent::Ended {
            error: None,
            stats: &stats,
        },
    ]);
    let decisions =
        |auto_accept| json!({"accept": 0, "reject": 0, "modify": 0, "auto_accept": auto_accept});
    let tool = |success: u8, auto_accept| {
        json!({
            "count": 1, "success": success, "fail": 1 - success, "durationMs": 12,
            "decisions": decisions(auto_accept),
        })
    };
    let expected = json!({
        "session_id": "s-1",
        "response": "It is \u{1b}3.",
        "stats": {
            "models": {"gemini-x": {
                "api": {"totalRequests": 3, "totalErrors": 1, "totalLatencyMs": 3000},
                "tokens": {
                    "input": 80, "prompt": 200, "candidates": 40, "total": 260, "cached": 120,
                    "thoughts": 20, "tool": 0,
                },
            }},
            "tools": {
                "totalCalls": 2, "totalSuccess": 1, "totalFail": 1, "totalDurationMs": 24,
                "totalDecisions": decisions(1),
                "byName": {"read_file": tool(0, 0), "replace": tool(1, 1)},
            },
            "files": {"totalLinesAdded": 2, "totalLinesRemoved": 1},
        },
    });
    assert!(shown.ends_with("}\n"), "{shown}");
    let shown: Value = serde_json::from_str(&shown).expect("JSON");
    assert_eq!(shown, expected);
}

#[test]
fn an_error_stands_beside_what_was_said() {
    let error = SessionError {
        message: "The turns are used up.".to_owned(),
        kind: SessionErrorKind::TurnLimit,
    };
    let stats = Stats::default();
    let shown = shown(&[
        turn(1),
        SessionEvent::Text("wrong"),
        SessionEvent::Retry("flaw"),
        SessionEvent::Text("right"),
        SessionEvent::Warning("slow"),
        turn(2),
        SessionEvent::Ended {
            error: Some(&error),
            stats: &stats,
        },
    ]);
    let shown: Value = serde_json::from_str(&shown).expect("JSON");
    assert_eq!(shown["response"], "right");
    assert_eq!(shown["warnings"], json!(["slow"]));
    let expected = json!({
        "type": "FatalTurnLimitedError", "message": "The turns are used up.", "code": 53,
    });
    assert_eq!(shown["error"], expected);
    assert!(shown.get("session_id").is_none());
}
