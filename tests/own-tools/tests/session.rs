//! A program that makes calls by `gemini_tools_session`: its gate is that of the executables.

use gemini_tools_test_harness::Workspace;
use gemini_tools_test_harness::custom::with;
use serde_json::json;
use std::fs;
use std::path::Path;

fn asking_for_a_command(kind: &str) -> Workspace {
    let wanted = json!({"name": "run_shell_command", "args": {"command": "touch made"}});
    let result = json!({"llmContent": "seen", "tailToolCallRequest": wanted});
    let head = "#!/bin/sh\n# /// tool\n# description = \"Looks.\"\n# output = \"tool_result\"";
    let script = format!("{head}\n# kind = \"{kind}\"\n# ///\necho '{result}'\n");
    with("look.sh", &script)
}

fn said(ws: &Workspace, mode: &str) -> (String, bool) {
    let program = Path::new(env!("CARGO_BIN_EXE_session-call"));
    let answer = ws.program(program, &[mode, "look"]).unwatched().run();
    let is_made = fs::remove_file(ws.path("made")).is_ok();
    (answer.text().to_owned(), is_made)
}

#[test]
fn a_tail_call_in_a_session_passes_the_gate_of_the_session() {
    let ws = asking_for_a_command("read");
    for mode in ["default", "host", "yolo"] {
        let (text, is_made) = said(&ws, mode);
        let expected = if mode == "default" {
            "policy_violation"
        } else {
            "look says that it only reads"
        };
        assert!(text.contains(expected) && !is_made, "{mode}: {text}");
    }
    let ws = asking_for_a_command("execute");
    let rule = "[[rule]]\ntoolName = \"look\"\ndecision = \"allow\"\npriority = 10\n";
    let ws = ws.home(".gemini/policies/look.toml", rule);
    let (text, is_made) = said(&ws, "default");
    assert!(
        text.contains("run_shell_command needs") && !is_made,
        "{text}"
    );
    let (text, is_made) = said(&ws, "yolo");
    assert!(is_made, "{text}");
}

#[test]
fn a_tool_that_a_program_adds_passes_the_gate_and_takes_no_name_of_another() {
    let ws = Workspace::new();
    let program = Path::new(env!("CARGO_BIN_EXE_session-call"));
    let said = |mode: &str| {
        let answer = ws.program(program, &[mode, "mark"]).unwatched().run();
        let is_marked = fs::remove_file(ws.path("marked")).is_ok();
        (answer.text().to_owned(), is_marked)
    };
    let (text, is_marked) = said("default");
    assert!(text.contains("policy_violation") && !is_marked, "{text}");
    assert_eq!(said("yolo"), ("\"Marked.\"\n".to_owned(), true));
}
