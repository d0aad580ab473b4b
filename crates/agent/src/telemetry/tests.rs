//! Tests of telemetry to files and pipes, and of switching it off.

use super::Telemetry;
use crate::call::CallOutcome;
use crate::event::{Observer, SessionEvent};
use crate::output::tests::{
    PROMPT, STARTED, begun, done, edit, failed, model_call, refused_call, still, turn,
};
use crate::thought::Thought;
use rustix::fs::{Mode, OFlags};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::OsString;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

thread_local!(static WARNINGS: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) });

fn record(path: &Path, has_prompts: bool, events: &[SessionEvent<'_>]) -> Vec<String> {
    WARNINGS.take();
    let variable = |name: &str| match name {
        "GEMINI_TELEMETRY_OUTFILE" => Some(path.into()),
        "GEMINI_TELEMETRY_LOG_PROMPTS" => has_prompts.then(|| "true".into()),
        _ => None,
    };
    let warn = |warning: &str| WARNINGS.with_borrow_mut(|all| all.push(warning.to_owned()));
    let mut telemetry = Telemetry::open(variable, warn).expect("it is on");
    telemetry.now = still;
    for event in events {
        telemetry.take(event);
    }
    WARNINGS.take()
}

fn lines(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).expect("a file");
    assert!(text.ends_with('\n'));
    let line = |line: &str| serde_json::from_str(line).expect("a line of JSON");
    text.lines().map(line).collect()
}

fn a_second_before(mut line: Value) -> Value {
    line["event.timestamp"] = "2026-01-31T08:09:09.123Z".into();
    line
}

fn with_common(name: &str, mut fields: Value) -> Value {
    fields["event.name"] = format!("gemini_cli.{name}").into();
    fields["event.timestamp"] = "2026-01-31T08:09:10.123Z".into();
    fields["session.id"] = "s-1".into();
    fields
}

fn session_lines() -> Vec<Value> {
    let request = json!({ "model": "gemini-x", "prompt_id": "p-1" });
    vec![
        with_common(
            "user_prompt",
            json!({ "prompt_length": 8, "prompt_id": "p-1", "prompt": "Häng an!" }),
        ),
        a_second_before(with_common("api_request", request.clone())),
        with_common(
            "api_response",
            json!({
                "model": "gemini-x", "status_code": 200, "duration_ms": 1000,
                "input_token_count": 100, "output_token_count": 20,
                "cached_content_token_count": 60, "thoughts_token_count": 10,
                "tool_token_count": 0, "total_token_count": 130, "prompt_id": "p-1",
            }),
        ),
        with_common(
            "tool_call",
            json!({
                "function_name": "replace", "function_args": "{\"file_path\":\"ä\"}",
                "duration_ms": 12, "success": true, "decision": "auto_accept",
                "prompt_id": "p-1", "tool_type": "native", "content_length": 7,
                "metadata": {
                    "ai_added_lines": 2, "ai_removed_lines": 1,
                    "user_added_lines": 0, "user_removed_lines": 0,
                },
            }),
        ),
        with_common(
            "tool_call",
            json!({
                "function_name": "read_file", "function_args": "{}", "duration_ms": 12,
                "success": false, "error": "gone\nwith more",
                "error_type": "file_not_found", "prompt_id": "p-1",
                "tool_type": "native", "content_length": 14,
            }),
        ),
        a_second_before(with_common("api_request", request)),
        with_common(
            "api_error",
            json!({
                "model": "gemini-x", "error": "The Gemini API answered 500.",
                "error_type": "Server", "status_code": 500, "duration_ms": 1000,
                "prompt_id": "p-1",
            }),
        ),
    ]
}

#[test]
fn events_have_the_fields_of_gemini_cli() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("t.jsonl");
    let (answered, refused) = (model_call(), refused_call());
    let calls = [
        done("replace", json!({"file_path": "ä"}), edit()),
        failed("read_file", json!({}), "gone\nwith more"),
    ];
    let events = [
        STARTED,
        PROMPT,
        turn(1),
        SessionEvent::Text("hidden"),
        SessionEvent::ModelCall(&answered),
        SessionEvent::Call(&begun("replace", json!({}))),
        SessionEvent::Call(&calls[0]),
        SessionEvent::Call(&calls[1]),
        turn(2),
        SessionEvent::ModelCall(&refused),
    ];
    assert!(record(&path, true, &events).is_empty());
    let mode = path.metadata().expect("there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let expected = session_lines();
    let written = lines(&path);
    for (written, expected) in written.iter().zip(&expected) {
        assert_eq!(written, expected);
    }
    assert_eq!(written.len(), expected.len());
    // A second session appends its line to the same file.
    record(&path, true, &events[..2]);
    assert_eq!(lines(&path).len(), expected.len() + 1);
}

#[test]
fn without_leave_nothing_of_prompts_and_files_is_written() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("t.jsonl");
    let output = CallOutcome {
        diff: Some("+secret".to_owned()),
        text: "secret".to_owned(),
        ..CallOutcome::default()
    };
    let calls = [
        done("write_file", json!({"content": "secret"}), output),
        failed("x", json!({"content": "secret"}), "secret can't be used"),
    ];
    let mut refused = refused_call();
    let error = refused.error.as_mut().expect("one");
    error.message = "secret is refused".to_owned();
    let events = [
        STARTED,
        SessionEvent::Prompt {
            id: "p-1",
            text: "secret",
        },
        SessionEvent::Text("secret"),
        SessionEvent::Thought(&Thought::parse("**secret** secret")),
        SessionEvent::Call(&calls[0]),
        SessionEvent::Call(&calls[1]),
        SessionEvent::ModelCall(&refused),
    ];
    record(&path, false, &events);
    let written = lines(&path);
    assert_eq!(written.len(), 5);
    assert_eq!(written[2]["error_type"], "file_not_found");
    assert_eq!(written[4]["error_type"], "Server");
    for line in written {
        assert!(!line.to_string().contains("secret"), "{line}");
        assert!(line.get("function_args").is_none(), "{line}");
    }
}

#[test]
fn a_call_of_an_mcp_server_is_told_apart() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("t.jsonl");
    // A name with `__` may look like that of an MCP server's tool; only the call's `server` counts.
    let of = |name: &str, server: Option<&str>| {
        let mut call = done(name, json!({}), CallOutcome::default());
        call.server = server.map(str::to_owned);
        call
    };
    let calls = [
        of("my_server__t", Some("my server")),
        of("mine__t", None),
        of("read_file", None),
    ];
    let events: Vec<_> = calls.iter().map(SessionEvent::Call).collect();
    record(&path, false, &events);
    let native = json!(["native", null]);
    let told: Vec<_> = lines(&path)
        .iter()
        .map(|line| json!([line["tool_type"], line["mcp_server_name"]]))
        .collect();
    assert_eq!(told, [json!(["mcp", "my server"]), native.clone(), native]);
}

#[test]
fn a_file_that_cannot_be_written_is_one_warning() {
    let directory = tempfile::tempdir().expect("a directory");
    let fifo = directory.path().join("fifo");
    let made = std::process::Command::new("mkfifo").arg(&fifo).status();
    assert!(made.expect("mkfifo").success());
    let cases = [directory.path(), Path::new("/dev/full"), fifo.as_path()];
    for path in cases {
        let warnings = record(path, true, &[STARTED, PROMPT, turn(1)]);
        assert_eq!(warnings.len(), 1, "{}", path.display());
        assert!(warnings[0].contains(&path.display().to_string()));
    }
}

#[test]
fn a_pipe_that_is_read_gets_the_lines_and_is_never_waited_for() {
    let directory = tempfile::tempdir().expect("a directory");
    let fifo = directory.path().join("fifo");
    let made = std::process::Command::new("mkfifo").arg(&fifo).status();
    assert!(made.expect("mkfifo").success());
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let reader = rustix::fs::open(&fifo, flags, Mode::empty()).expect("opened");
    let text = "x".repeat(1000);
    let prompts: Vec<SessionEvent<'_>> = (0..200)
        .map(|_| SessionEvent::Prompt {
            id: "p",
            text: &text,
        })
        .collect();
    let warnings = record(&fifo, true, &prompts);
    assert_eq!(warnings.len(), 1);
    let mut read = String::new();
    std::fs::File::from(reader)
        .read_to_string(&mut read)
        .expect("read");
    let is_whole = |line: &str| serde_json::from_str::<Value>(line).is_ok();
    assert!(read.lines().count() > 10 && read.lines().all(is_whole));
}

#[test]
fn it_is_off_unless_asked_for() {
    let has_prompts = |variables: &[(&str, &str)]| {
        let variables: HashMap<&str, &str> = variables.iter().copied().collect();
        let variable = |name: &str| variables.get(name).map(OsString::from);
        Telemetry::open(variable, |_| {}).map(|telemetry| telemetry.has_prompts)
    };
    let file = ("GEMINI_TELEMETRY_OUTFILE", "/dev/null");
    assert_eq!(has_prompts(&[]), None);
    assert_eq!(has_prompts(&[("GEMINI_TELEMETRY_OUTFILE", "")]), None);
    let off = ("GEMINI_TELEMETRY_ENABLED", "false");
    assert_eq!(has_prompts(&[file, off]), None);
    let on = ("GEMINI_TELEMETRY_ENABLED", "1");
    assert_eq!(has_prompts(&[file, on]), Some(false));
    for (value, expected) in [("true", true), ("1", true), ("yes", false), ("0", false)] {
        let prompts = ("GEMINI_TELEMETRY_LOG_PROMPTS", value);
        assert_eq!(has_prompts(&[file, prompts]), Some(expected), "{value}");
    }
}
