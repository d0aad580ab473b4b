//! What `serve_tools` does for one host and not for others: hints, and answers within the host's limit.

use serde_json::{Value, json};

use super::serve::{greeted_by, text};
use crate::harness::Workspace;
use crate::harness::client::Server;

const LINES: usize = 4000;

/// A workspace with a file of 200 KB.
fn workspace() -> Workspace {
    let lines = (1..=LINES).map(|n| format!("line {n:>4} {}\n", "x".repeat(40)));
    let long = lines.collect::<Vec<_>>().concat();
    Workspace::new().file("long.txt", long)
}

/// Reads the whole file, by a model of this name.
fn read_long(server: &mut Server, model: &str) -> String {
    read_as(server, model, "call_1")
}

/// Reads the whole file by a call with this id.
fn read_as(server: &mut Server, model: &str, id: &str) -> String {
    let call = json!({
        "name": "read_file",
        "arguments": {"absolute_path": "long.txt", "limit": LINES},
        "_meta": {"callId": id, "x-codex-turn-metadata": {"model": model}},
    });
    text(&server.ask("tools/call", &call)["result"]).to_owned()
}

/// Follows the note of a cut answer, and asserts that the call that it names reads on at once.
#[track_caller]
fn follow(server: &mut Server, answer: &str) {
    let (before, rest) = answer.split_once('[').expect("a note");
    let (note, after) = rest.split_once("]\n").expect("its end");
    let (_, rest) = note.split_once("The whole answer is in ").expect("a file");
    let (file, offset) = rest.split_once("; read_file with offset ").expect("a way");
    let offset: usize = offset
        .split(' ')
        .next()
        .expect("a word")
        .parse()
        .expect("a number");
    let next = server.call(
        "read_file",
        &json!({"absolute_path": file, "offset": offset, "limit": 1}),
    );
    let last = before.lines().last().expect("a line");
    assert!(last.starts_with(&format!("line {offset:>4} x")), "{last}");
    let next = text(&next);
    assert!(
        next.contains(&format!("line {:>4} x", offset + 1)),
        "{next}"
    );
    assert!(
        after.ends_with(&format!("line {LINES:>4} {}\n", "x".repeat(40))),
        "{note}"
    );
}

#[test]
fn an_answer_is_cut_to_what_the_host_hands_to_its_model() {
    for (client, model, limit) in [
        ("codex-mcp-client", "", 12_000),
        ("codex-mcp-client", "gpt-5.1-codex", 12_000),
        ("codex-mcp-client", "gpt-6-sol", 48_000),
        ("claude-code", "", 75_000),
        ("qwen-cli-mcp-client-gemini-tools", "", 25_000),
        ("gemini-cli-mcp-client-gemini-tools", "", 40_000),
    ] {
        let ws = workspace();
        let mut server = greeted_by(&ws, client, &[]);
        let answer = read_long(&mut server, model);
        let size = answer.len();
        assert!(
            (limit - 600..=limit).contains(&size),
            "{client} {model}: {size}"
        );
        follow(&mut server, &answer);
        let shown = server.call("run_shell_command", &json!({"command": "cat long.txt"}));
        let shown = text(&shown);
        assert!(
            shown.len() <= limit && !shown.contains("bytes are left out here"),
            "{shown}"
        );
        let short = server.call(
            "read_file",
            &json!({"absolute_path": "long.txt", "limit": 100}),
        );
        assert!(!text(&short).contains("bytes are left out"), "{client}");
    }
    for (client, id) in [("another", "call_1"), ("codex-mcp-client", "exec-1")] {
        let ws = workspace();
        let mut server = greeted_by(&ws, client, &[]);
        let answer = read_as(&mut server, "gpt-6-sol", id);
        assert!(answer.len() > 200_000, "{client}");
    }
}

#[test]
fn a_limit_of_codex_that_the_user_has_set_counts() {
    let ws = workspace().home(".codex/config.toml", "tool_output_token_limit = 20000\n");
    let mut server = greeted_by(&ws, "codex-mcp-client", &[]);
    let answer = read_long(&mut server, "gpt-6-sol");
    assert!((95_000..96_000).contains(&answer.len()), "{}", answer.len());
    follow(&mut server, &answer);
    let ws = workspace().home(".codex/config.toml", "tool_output_token_limit = \n");
    let mut server = greeted_by(&ws, "codex-mcp-client", &[]);
    assert!(read_long(&mut server, "m").len() < 12_000);
}

#[test]
fn where_nothing_can_be_kept_the_note_says_to_narrow_the_call_down() {
    let ws = workspace();
    let mut server = greeted_by(&ws, "codex-mcp-client", &[("GEMINI_CLI_HOME", "none")]);
    let answer = read_long(&mut server, "m");
    assert!(
        answer.contains("Narrow the call down to see them."),
        "{answer}"
    );
}

#[test]
fn claude_code_alone_gets_hints() {
    let ws = Workspace::new();
    let hints = |client: &str| -> Vec<(String, Value)> {
        let mut server = greeted_by(&ws, client, &[]);
        let listed = server.ask("tools/list", &json!({}));
        let tools = listed["result"]["tools"]
            .as_array()
            .expect("a list")
            .clone();
        let hint = |tool: &Value| {
            Some((
                tool["name"].as_str()?.to_owned(),
                tool.get("_meta")?.clone(),
            ))
        };
        tools.iter().filter_map(hint).collect()
    };
    let all = hints("claude-code");
    assert_eq!(all.len(), 15);
    let (always, deferred): (Vec<_>, Vec<_>) = all
        .into_iter()
        .partition(|(_, hint)| hint["anthropic/alwaysLoad"] == true);
    let names: Vec<_> = always.iter().map(|(name, _)| &**name).collect();
    let expected = [
        "glob",
        "read_file",
        "replace",
        "run_shell_command",
        "search_file_content",
        "write_file",
    ];
    assert_eq!(names, expected);
    for (name, hint) in always.into_iter().chain(deferred) {
        assert_eq!(hint["anthropic/maxResultSizeChars"], 75_000, "{name}");
    }
    for client in ["codex-mcp-client", "qwen-cli-mcp-client-x", "another"] {
        assert_eq!(hints(client), [], "{client}");
    }
}
