//! Sessions in files: going on from any end, and no call that changes anything made twice.

use std::fs;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::Workspace;
use crate::harness::stand_in::StandIn;
use crate::run_agent::{agent, ended, last_parts, response, said, turns};

/// Appends a line: a call whose repetition is seen.
fn append(id: &str) -> Value {
    let command = format!("echo {id} >> log.txt; sleep 0.05");
    json!({"id": id, "tool": "run_shell_command", "args": {"command": command}})
}

#[test]
fn a_session_goes_on_with_all_that_was_said() {
    let Some(api) = StandIn::playing(&json!({"closing": "One."})) else {
        return;
    };
    let ws = Workspace::new();
    said(&agent(&ws, &api, &["First", "--session", "s.jsonl"]).run());
    said(&agent(&ws, &api, &["Second", "--resume", "s.jsonl"]).run());
    let body = turns(&api).pop().expect("a turn");
    let texts: Vec<_> = body["contents"].as_array().expect("messages")[2..]
        .iter()
        .map(|c| c["parts"][0]["text"].clone())
        .collect();
    assert_eq!(texts, ["First", "One.", "Second"]);
    ended(
        &agent(&ws, &api, &["Third", "--session", "s.jsonl"]).run(),
        42,
        &["--resume"],
    );
    ended(
        &agent(&ws, &api, &["--resume", "s.jsonl"]).run(),
        42,
        &["no prompt"],
    );
    ended(
        &agent(&ws, &api, &["x", "--resume", "missing.jsonl"]).run(),
        42,
        &["missing.jsonl"],
    );
}

#[test]
fn a_session_that_was_killed_at_any_moment_goes_on_and_repeats_no_change() {
    let calls: Vec<Value> = (0..6)
        .map(|i| json!([append(&format!("call{i}"))]))
        .collect();
    let script = json!({"turns": calls, "closing": "Done."});
    let Some(api) = StandIn::playing(&script) else {
        return;
    };
    for moment in 0..12 {
        api.play(&script);
        let ws = Workspace::new();
        let running = agent(&ws, &api, &["Play", "-y", "--session", "s.jsonl"]).start();
        thread::sleep(Duration::from_millis(40 + moment * 60));
        running.kill();
        let mut times = 0;
        loop {
            times += 1;
            let answer = if fs::exists(ws.path("s.jsonl")).expect("a name") {
                agent(&ws, &api, &["-y", "--resume", "s.jsonl"]).run()
            } else {
                agent(&ws, &api, &["Play", "-y", "--session", "s.jsonl"]).run()
            };
            // Killed before the prompt was kept, or after the end.
            if answer.status() == 42 {
                let again = agent(&ws, &api, &["Play", "-y", "--resume", "s.jsonl"]).run();
                said(&again);
                break;
            }
            if answer.status() == 0 || times == 3 {
                said(&answer);
                break;
            }
        }
        let log = fs::read_to_string(ws.path("log.txt")).unwrap_or_default();
        for i in 0..6 {
            let count = log.lines().filter(|l| **l == format!("call{i}")).count();
            assert!(count <= 1, "moment {moment}: {log}");
        }
    }
}

#[test]
fn a_session_that_was_killed_before_its_first_line_begins() {
    let Some(api) = StandIn::playing(&json!({"closing": "One."})) else {
        return;
    };
    let ws = Workspace::new().file("s.jsonl", "");
    said(&agent(&ws, &api, &["First", "--resume", "s.jsonl"]).run());
    said(&agent(&ws, &api, &["Second", "--resume", "s.jsonl"]).run());
    assert_eq!(
        turns(&api).pop().expect("a turn")["contents"][2]["parts"][0]["text"],
        "First"
    );
}

#[test]
fn a_change_that_was_broken_off_is_told_and_not_made_again() {
    let script = json!({"turns": [[append("a"), append("b")]], "closing": "Done."});
    let Some(api) = StandIn::playing(&script) else {
        return;
    };
    let ws = Workspace::new();
    said(&agent(&ws, &api, &["Play", "-y", "--session", "s.jsonl"]).run());
    // As if it had been killed while the first call ran.
    let whole = fs::read_to_string(ws.path("s.jsonl")).expect("a session");
    let began = whole.find("{\"type\":\"began\"").expect("a call");
    let end = began + whole[began..].find('\n').expect("a line") + 1;
    fs::write(
        ws.path("s.jsonl"),
        format!("{}{{\"type\":\"do", &whole[..end]),
    )
    .expect("written");
    fs::remove_file(ws.path("log.txt")).expect("a log");
    said(&agent(&ws, &api, &["-y", "--resume", "s.jsonl"]).run());
    let told = response(&api, "a")["error"].to_string();
    assert!(told.contains("not made again"), "{told}");
    assert!(
        response(&api, "b")["output"]
            .to_string()
            .contains("Exit Code: 0")
    );
    assert_eq!(
        fs::read_to_string(ws.path("log.txt")).expect("a log"),
        "b\n"
    );
    assert_eq!(last_parts(&api).len(), 2);
}
