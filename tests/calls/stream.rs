//! `call_tool --stream`: output while a tool runs, then the result.

use serde_json::{Value, json};

use crate::harness::Workspace;

fn stream(ws: &Workspace, command: &str) -> Vec<Value> {
    let call = ws.tool("run_shell_command").flags(&["--stream"]);
    let answer = call
        .arguments(&json!({ "command": command }))
        .unwatched()
        .run();
    let lines = answer.text().lines();
    lines
        .map(|l| serde_json::from_str(l).expect("a line of JSON"))
        .collect()
}

#[test]
fn output_comes_in_lines_before_the_result() {
    let ws = Workspace::new();
    let lines = stream(
        &ws,
        "for i in 1 2 3 4 5 6; do printf '\\033[1m%s\\033[0m\\n' $i; sleep 0.5; done",
    );
    let (result, updates) = lines.split_last().expect("lines");
    assert!(!updates.is_empty(), "{lines:?}");
    assert!(updates.iter().all(|u| u["type"] == "output"), "{lines:?}");
    let text: String = updates.iter().filter_map(|u| u["text"].as_str()).collect();
    assert!(
        !text.is_empty() && "1\n2\n3\n4\n5\n6\n".starts_with(&text),
        "{text:?}"
    );
    assert_eq!(result["type"], "result");
    let output = result["functionResponse"]["response"]["output"]
        .as_str()
        .expect("text");
    assert!(
        output.contains("\nOutput: 1\n2\n3\n4\n5\n6\nError: (none)\n"),
        "{output}"
    );
}

#[test]
fn output_in_an_older_encoding_is_decoded_while_it_comes() {
    let ws = Workspace::new();
    let lines = stream(
        &ws,
        r"for i in 1 2 3 4 5 6; do printf 'gr\366\337er f\374r Fran\347ois\n'; sleep 0.5; done",
    );
    let (result, updates) = lines.split_last().expect("lines");
    assert!(!updates.is_empty(), "{lines:?}");
    let text: String = updates.iter().filter_map(|u| u["text"].as_str()).collect();
    let whole = "größer für François\n".repeat(6);
    assert!(!text.is_empty() && whole.starts_with(&text), "{text:?}");
    let output = &result["functionResponse"]["response"]["output"];
    let output = output.as_str().expect("text");
    let expected = format!("\nOutput: {whole}[Decoded from windows-1252.]\n");
    assert!(output.contains(&expected), "{output}");
}

#[test]
fn a_quick_command_has_only_a_result() {
    let ws = Workspace::new();
    // On a loaded machine no command is always quick.
    let mut calls = (0..20).map(|_| stream(&ws, "echo hi"));
    let lines = calls.find(|lines| lines.len() == 1).expect("a quick one");
    assert_eq!(lines[0]["type"], "result");
}

#[test]
fn a_flood_comes_in_small_pieces() {
    let ws = Workspace::new();
    let call = ws.tool("run_shell_command").flags(&["--stream"]);
    let answer = call
        .arguments(&json!({"command": "yes line", "timeout": 3}))
        .unwatched()
        .run();
    assert_eq!(answer.status(), 124);
    let lines: Vec<Value> = answer
        .text()
        .lines()
        .map(|l| serde_json::from_str(l).expect("JSON"))
        .collect();
    let (result, updates) = lines.split_last().expect("lines");
    assert!(!updates.is_empty());
    for update in updates {
        let text = update["text"].as_str().expect("text");
        assert!(
            text.chars().count() < 8_200 && text.contains(" left out "),
            "{}",
            text.len()
        );
    }
    assert_eq!(
        result["functionResponse"]["response"]["errorType"],
        "timeout"
    );
}

#[test]
fn other_tools_and_other_forms_have_a_result_line() {
    let ws = Workspace::new().file("a", "a\n");
    let call = ws
        .tool("read_file")
        .flags(&["--stream", "--output", "response"]);
    let answer = call.arguments(&json!({"absolute_path": "a"})).run().json();
    assert_eq!(answer, json!({"type": "result", "output": "a\n"}));
    let failed = ws
        .tool("read_file")
        .flags(&["--stream"])
        .arguments(&json!({"absolute_path": "b"}))
        .run();
    assert_eq!(failed.status(), 1);
    assert_eq!(
        failed.json()["functionResponse"]["response"]["errorType"],
        "file_not_found"
    );
    assert_eq!(
        ws.call_tool(&["read_file", "--stream", "--explain"])
            .run()
            .status(),
        2
    );
}
