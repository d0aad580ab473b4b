//! A program that serves tools of its own by `gemini_tools_mcp_sdk::serve::registry`, as its client
//! sees it.

use gemini_tools_test_harness::Workspace;
use gemini_tools_test_harness::client::Server;
use serde_json::{Value, json};
use std::path::Path;

fn start(ws: &Workspace) -> Server {
    Server::start_program(ws, Path::new(env!("CARGO_BIN_EXE_own-tools")), &[])
}

fn greeted(ws: &Workspace) -> Server {
    let mut server = start(ws);
    server.greet("2025-11-25", &json!({}));
    server
}

#[test]
fn a_client_is_told_who_serves_which_tools() {
    let ws = Workspace::new();
    let mut server = start(&ws);
    let greeting = server.greet("2025-11-25", &json!({}));
    let result = &greeting["result"];
    assert_eq!(
        result["serverInfo"],
        json!({"name": "own-tools", "title": "Own tools", "version": "3.2.1"})
    );
    assert_eq!(result["instructions"], "Shout only when asked.");
    assert_eq!(result["capabilities"], json!({"tools": {}}));

    let listed = server.ask("tools/list", &json!({}));
    let tools = listed["result"]["tools"].as_array().expect("a list");
    let names: Vec<&Value> = tools.iter().map(|tool| &tool["name"]).collect();
    assert_eq!(names, ["crash", "erase", "shout", "until_ended", "wait"]);
    let shout = tools.iter().find(|tool| tool["name"] == "shout");
    let shout = shout.expect("it is there");
    assert_eq!(shout["description"], "Gives the text in capitals.");
    assert_eq!(
        shout["inputSchema"],
        json!({"type": "object", "required": ["text"], "properties": {"text": {"type": "string"}}})
    );
    let hints = |name: &str, hint: &str| {
        let tool = tools.iter().find(|tool| tool["name"] == name);
        tool.expect("it is there")["annotations"][hint].clone()
    };
    assert_eq!(hints("erase", "readOnlyHint"), false);
    assert_eq!(hints("erase", "destructiveHint"), true);
    assert_eq!(hints("shout", "destructiveHint"), false);
    assert_eq!(hints("shout", "readOnlyHint"), true);
    assert_eq!(hints("shout", "openWorldHint"), false);

    for method in ["no/such", "prompts/list", "resources/list"] {
        let answer = server.ask(method, &json!({}));
        assert_eq!(answer["error"]["code"], -32601, "{method}: {answer}");
    }
    server.hang_up();
    assert_eq!(server.status(), Some(0));
}

#[test]
fn calls_are_answered_with_results_or_the_kind_of_their_error() {
    let ws = Workspace::new();
    let mut server = greeted(&ws);
    let result = server.call("shout", &json!({"text": "hi"}));
    assert_eq!(result["isError"], false, "{result}");
    assert_eq!(
        result["content"],
        json!([{"type": "text", "text": "HI"}]),
        "{result}"
    );
    for (tool, kind) in [
        ("erase", "file_not_found"),
        ("shout", "invalid_tool_params"),
        ("crash", "unhandled_exception"),
        ("shuot", "tool_not_registered"),
    ] {
        let result = server.call(tool, &json!({}));
        assert_eq!(result["isError"], true, "{tool}: {result}");
        let data = &result["structuredContent"];
        assert_eq!(data["errorType"], kind, "{tool}: {result}");
    }
}

#[test]
fn the_version_without_a_greeting_is_spoken() {
    let ws = Workspace::new();
    let mut server = start(&ws);
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "by-hand", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {}});
    let call = json!({"name": "shout", "arguments": {"text": "hi"}, "_meta": meta});
    let answer = server.ask("tools/call", &call);
    assert_eq!(answer["result"]["content"][0]["text"], "HI", "{answer}");
}

#[test]
fn live_output_is_progress_and_a_cancelled_call_ends() {
    let ws = Workspace::new();
    let mut server = greeted(&ws);
    let call = json!({"name": "wait", "arguments": {}, "_meta": {"progressToken": "t"}});
    let id = server.request("tools/call", &call);
    let progress = server.told("notifications/progress");
    assert_eq!(progress["params"]["message"], "waiting", "{progress}");
    assert_eq!(progress["params"]["progressToken"], "t", "{progress}");
    server.notify("notifications/cancelled", &json!({"requestId": id}));
    let result = server.call("until_ended", &json!({}));
    assert_eq!(result["content"][0]["text"], "it has ended", "{result}");
}

#[test]
fn a_call_that_runs_when_the_client_goes_ends_the_server_all_the_same() {
    let ws = Workspace::new();
    let mut server = greeted(&ws);
    let call = json!({"name": "wait", "arguments": {}, "_meta": {"progressToken": "t"}});
    server.request("tools/call", &call);
    server.told("notifications/progress");
    server.hang_up();
    assert_eq!(server.status(), Some(0));
}

#[test]
fn no_settings_and_no_policy_count() {
    let rule = "[[rule]]\ntoolName = \"*\"\ndecision = \"deny\"\npriority = 999\n";
    let ws = Workspace::new()
        .file(
            ".gemini/settings.json",
            r#"{"tools": {"exclude": ["shout"]}}"#,
        )
        .home(".gemini/settings.json", "no JSON")
        .home(".gemini/policies/p.toml", rule);
    let mut server = greeted(&ws);
    let result = server.call("shout", &json!({"text": "hi"}));
    assert_eq!(result["isError"], false, "{result}");
}
