use super::StreamJsonOutput;
use crate::call::{CallState, ToolCallDecision};
use crate::event::{Observer, SessionError, SessionErrorKind, SessionEvent};
use crate::output::tests::{
    PROMPT, STARTED, answered_turn, begun, done, failed, refused, stats, still, text, thought, turn,
};
use crate::stats::Stats;
use serde_json::{Value, json};
use std::time::Duration;

fn shown(events: &[SessionEvent<'_>]) -> Vec<String> {
    let mut out = Vec::new();
    let mut observer = StreamJsonOutput {
        now: still,
        ..StreamJsonOutput::new(&mut out)
    };
    for event in events {
        observer.take(event);
    }
    let out = String::from_utf8(out).expect("UTF-8");
    let time = r#","timestamp":"2026-01-31T08:09:10.123Z""#;
    out.lines()
        .map(|line| {
            assert_eq!(line.matches(time).count(), 1, "{line}");
            line.replace(time, "")
        })
        .collect()
}

fn value(line: &str) -> Value {
    serde_json::from_str(line).expect("JSON")
}

#[test]
fn a_session_is_told_line_by_line() {
    let begun = begun("read_file", json!({"file_path": "ä\n\u{2028}"}));
    let mut running = begun.clone();
    running.move_to(CallState::Scheduled);
    let done = done("read_file", json!({}), text("line 1\nline 2"));
    let failed = failed("read_file", json!({}), "gone");
    let refused = refused("read_file", json!({}));
    let (answered, stats) = (answered_turn(), stats());
    let shown = shown(&[
        STARTED,
        PROMPT,
        turn(1),
        SessionEvent::Thought(&thought()),
        SessionEvent::Text("I look."),
        SessionEvent::Response {
            turn: &answered,
            duration: Duration::ZERO,
        },
        SessionEvent::Call(&begun),
        SessionEvent::Call(&running),
        SessionEvent::Call(&done),
        SessionEvent::Call(&failed),
        SessionEvent::Call(&refused),
        SessionEvent::Warning("slow"),
        turn(2),
        SessionEvent::Retry("its answer is empty"),
        SessionEvent::Ended {
            error: None,
            stats: &stats,
        },
    ]);
    let expected = [
        r#"{"type":"init","session_id":"s-1","model":"gemini-x"}"#,
        r#"{"type":"message","role":"user","content":"Häng an!"}"#,
        r#"{"type":"thought","subject":"Hidden","description":"in the dark"}"#,
        r#"{"type":"message","role":"assistant","content":"I look.","delta":true}"#,
        "{\"type\":\"tool_use\",\"tool_name\":\"read_file\",\"tool_id\":\"read_file-1\",\"parameters\":{\"file_path\":\"ä\\n\u{2028}\"}}",
        r#"{"type":"tool_result","tool_id":"read_file-1","status":"success","output":"line 1\nline 2"}"#,
        r#"{"type":"tool_result","tool_id":"read_file-1","status":"error","output":"gone","error":{"type":"file_not_found","message":"gone"}}"#,
        r#"{"type":"tool_result","tool_id":"read_file-1","status":"error","output":"The user declined this call.","error":{"type":"cancelled","message":"The user declined this call."}}"#,
        r#"{"type":"error","severity":"warning","message":"slow"}"#,
        r#"{"type":"error","severity":"warning","message":"The model is asked again, because its answer is empty."}"#,
        r#"{"type":"result","status":"success","stats":{"total_tokens":260,"input_tokens":200,"output_tokens":40,"cached":120,"input":80,"duration_ms":4200,"tool_calls":2,"models":{"gemini-x":{"total_tokens":260,"input_tokens":200,"output_tokens":40,"cached":120,"input":80}}}}"#,
    ];
    for (shown, expected) in shown.iter().zip(expected) {
        assert_eq!(value(shown), value(expected));
    }
    assert_eq!(shown.len(), expected.len());
}

#[test]
fn an_error_ends_the_stream() {
    let error = SessionError {
        message: "Enough.".to_owned(),
        kind: SessionErrorKind::Cancelled(0),
    };
    let stats = Stats::default();
    let shown = shown(&[SessionEvent::Ended {
        error: Some(&error),
        stats: &stats,
    }]);
    let expected = r#"{"type":"result","status":"error","error":{"type":"FatalCancellationError","message":"Enough."},"stats":{"total_tokens":0,"input_tokens":0,"output_tokens":0,"cached":0,"input":0,"duration_ms":0,"tool_calls":0,"models":{}}}"#;
    assert_eq!(shown.len(), 1);
    assert_eq!(value(&shown[0]), value(expected));
}

#[test]
fn a_call_that_is_looked_at_again_is_told_once() {
    let mut call = begun("t", json!({}));
    let first = call.clone();
    call.decision = Some(ToolCallDecision::Modify);
    assert_eq!(
        shown(&[SessionEvent::Call(&first), SessionEvent::Call(&call)]).len(),
        1
    );
}
