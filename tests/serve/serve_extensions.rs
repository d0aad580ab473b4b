//! What `serve_tools` has beyond tools, in the newest version of the protocol: tasks, skills, and tools of the user's own
//! that ask the client, or are prompts and resources too.

use std::fs;
use std::net::SocketAddr;

use serde_json::{Value, json};

use crate::harness::Workspace;
use crate::harness::client::{Exchange, Server, request};

const TASKS: &str = "io.modelcontextprotocol/tasks";

const ASKS: &str = "\
#!/bin/sh
# /// tool
# description = \"Asks for a name.\"
# kind = \"read\"
# output = \"tool_result\"
# prompt = true
# ///
case $GEMINI_TOOL_INPUT in
'')
    echo '{\"inputRequests\": {\"who\": {\"method\": \"elicitation/create\", \"params\": {\"message\": \"Who?\",
        \"requestedSchema\": {\"type\": \"object\", \"properties\": {\"name\": {\"type\": \"string\"}}}}}},
        \"requestState\": \"asked\"}'
    ;;
*) printf '{\"llmContent\": \"%s: %s\"}\\n' \"$GEMINI_TOOL_STATE\" \"$(printf %s \"$GEMINI_TOOL_INPUT\" | tr -d '\"')\" ;;
esac
";

const NOTE: &str = "\
description = \"A note.\"
kind = \"read\"
resource = \"notes://{day}/all\"
command = [\"echo\", \"note of {day}\"]
[params.day]
type = \"string\"
required = true
enum = [\"monday\", \"tuesday\"]
description = \"Which day.\"
";

fn alone(capabilities: &Value, params: &Value) -> Value {
    let mut params = params.clone();
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "tests", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    });
    params
}

fn with_tasks() -> Value {
    json!({"extensions": {TASKS: {}}, "elicitation": {}})
}

fn command(line: &str) -> Value {
    json!({"name": "run_shell_command", "arguments": {"command": line}})
}

/// Sends a request over HTTP, on a connection of its own.
fn sent(to: SocketAddr, method: &str, params: &Value) -> Exchange {
    let name = params["name"].as_str().or(params["taskId"].as_str());
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let headers = [
        ("Accept", Some("application/json, text/event-stream")),
        ("MCP-Protocol-Version", Some("2026-07-28")),
        ("Mcp-Method", Some(method)),
        ("Mcp-Name", name),
    ];
    Exchange::post(to, &headers, &body.to_string())
}

fn ask(to: SocketAddr, method: &str, params: &Value) -> Value {
    sent(to, method, &alone(&with_tasks(), params)).message()["result"].take()
}

/// Polls a task until it has ended.
fn ended(mut poll: impl FnMut() -> Value) -> Value {
    loop {
        let task = poll();
        if task["status"] != "working" {
            return task;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
}

#[test]
fn a_long_command_outlives_the_client_that_began_it() {
    let ws = Workspace::new();
    let mut server = Server::start(&ws, &["--http", "127.0.0.1:0"]);
    let to = server.address();
    let line = "echo begun; until test -e go; do sleep 0.1; done; echo done";
    let begun = ask(to, "tools/call", &command(line));
    assert_eq!(begun["resultType"], "task", "{begun}");
    assert!(begun["ttlMs"].is_u64() && begun["pollIntervalMs"].is_u64());
    let task = json!({"taskId": begun["taskId"]});
    // Its connection is closed; another client asks on.
    let working = ask(to, "tasks/get", &task);
    assert_eq!(working["status"], "working", "{working}");
    fs::write(ws.path("go"), "").expect("written");
    let done = ended(|| ask(to, "tasks/get", &task));
    assert_eq!(done["status"], "completed", "{done}");
    assert!(
        done["result"].to_string().contains("begun\\ndone"),
        "{done}"
    );
}

#[test]
fn a_cancelled_task_ends_its_command() {
    let ws = Workspace::new();
    let mut server = Server::start(&ws, &[]);
    let client = with_tasks();
    let begun = server.ask("tools/call", &alone(&client, &command("sleep 29.375")));
    let task = alone(&client, &json!({"taskId": begun["result"]["taskId"]}));
    server.wait_for_process("sleep 29.375");
    let acknowledged = server.ask("tasks/cancel", &task);
    assert_eq!(acknowledged["result"]["resultType"], "complete");
    server.wait_until_gone("sleep 29.375");
    let ended = ended(|| server.ask("tasks/get", &task)["result"].take());
    assert_eq!(ended["status"], "cancelled", "{ended}");
    let unknown = alone(&client, &json!({"taskId": "none"}));
    assert_eq!(server.ask("tasks/get", &unknown)["error"]["code"], -32602);
}

#[test]
fn only_what_takes_long_is_a_task_and_only_for_clients_that_have_them() {
    let ws = Workspace::new();
    let mut server = Server::start(&ws, &[]);
    let quick = server.ask("tools/call", &alone(&with_tasks(), &command("echo quick")));
    assert_eq!(quick["result"]["resultType"], "complete", "{quick}");
    let long = command("sleep 1.5; echo long");
    let answer = server.ask("tools/call", &alone(&json!({}), &long));
    assert!(answer["result"]["content"].to_string().contains("long"));
    let get = alone(&json!({}), &json!({"taskId": "any"}));
    assert_eq!(server.ask("tasks/get", &get)["error"]["code"], -32021);
}

#[test]
fn a_project_s_skills_are_served_once_it_is_trusted() {
    let text = "---\nname: review\ndescription: Reviews.\n---\n\nRead list.md.\n";
    let ws = Workspace::new()
        .file(".agents/skills/review/SKILL.md", text)
        .file(".agents/skills/review/list.md", "one")
        .file(".agents/skills/other/SKILL.md", text);
    let list = |trust: &str| {
        let variables = [("GEMINI_CLI_TRUST_WORKSPACE", trust)];
        let mut server = Server::start_with(&ws, &[], &variables);
        let none = alone(&json!({}), &json!({}));
        (server.ask("skills/list", &none)["result"].take(), server)
    };
    let uris = |listed: &Value| -> Vec<String> {
        let skills = listed["skills"].as_array().expect("skills");
        let uris = skills.iter().map(|skill| skill["uri"].as_str());
        uris.map(|uri| uri.expect("a URI").to_owned()).collect()
    };
    let own = "skill://gemini-tools/SKILL.md";
    assert_eq!(uris(&list("false").0), [own]);
    let (listed, mut server) = list("true");
    // The name of the other is not that of its directory.
    assert_eq!(uris(&listed), [own, "skill://project/review/SKILL.md"]);
    assert_eq!(listed["skills"][1]["resources"][1]["size"], 3, "{listed}");
    let uri = json!({"uri": "skill://project/review/list.md"});
    let read = server.ask("resources/read", &alone(&json!({}), &uri));
    assert_eq!(read["result"]["contents"][0]["text"], "one", "{read}");
    let outside = json!({"uri": "skill://project/review/../../settings.json"});
    let refused = server.ask("resources/read", &alone(&json!({}), &outside));
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
}

#[test]
fn a_tool_of_the_user_s_own_asks_the_client_in_rounds_or_meanwhile() {
    let ws = Workspace::new().home(".gemini/tools/asks.sh", ASKS);
    let call = json!({"name": "asks", "arguments": {}});
    let name = json!({"action": "accept", "content": {"name": "Ada"}});

    let mut server = Server::start(&ws, &[]);
    let client = json!({"elicitation": {}});
    let asked = server.ask("tools/call", &alone(&client, &call))["result"].take();
    let question = &asked["inputRequests"]["who"];
    assert_eq!(question["params"]["message"], "Who?", "{asked}");
    let mut again = call.clone();
    again["inputResponses"] = json!({"who": name});
    again["requestState"] = asked["requestState"].clone();
    let answer = server
        .ask("tools/call", &alone(&client, &again))
        .to_string();
    assert!(
        answer.contains("asked: {who:") && answer.contains("name:Ada"),
        "{answer}"
    );
    let prompt = server
        .ask("prompts/get", &alone(&client, &again))
        .to_string();
    assert!(
        prompt.contains("\"role\":\"user\"") && prompt.contains("name:Ada"),
        "{prompt}"
    );
    again["requestState"] = "changed".into();
    let refused = server.ask("tools/call", &alone(&client, &again));
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    // A client that can't be asked is told what it lacks.
    let refused = server.ask("tools/call", &alone(&json!({}), &call));
    assert_eq!(refused["error"]["code"], -32021, "{refused}");

    let mut server = Server::greeted(&ws, &[], &client);
    let id = server.request("tools/call", &call);
    server.answer_request("elicitation/create", &name);
    let answer = server.answer(id).to_string();
    assert!(answer.contains("name:Ada"), "{answer}");
}

#[test]
fn a_tool_that_asks_without_end_asks_ten_times() {
    let never_answered = ASKS.replace("case $GEMINI_TOOL_INPUT in", "case '' in");
    let ws = Workspace::new().home(".gemini/tools/asks.sh", never_answered);
    let mut server = Server::greeted(&ws, &[], &json!({"elicitation": {}}));
    let id = server.request("tools/call", &json!({"name": "asks", "arguments": {}}));
    for _ in 0..10 {
        let _ = server.answer_request("elicitation/create", &json!({"action": "decline"}));
    }
    let answer = server.answer(id).to_string();
    assert!(answer.contains("asked its client 10 times"), "{answer}");
}

#[test]
fn a_tool_of_the_user_s_own_is_read_by_its_uri() {
    let ws = Workspace::new().home(".gemini/tools/note.toml", NOTE);
    let mut server = Server::greeted(&ws, &[], &json!({}));
    let listed = server.ask("resources/templates/list", &json!({}));
    let template = &listed["result"]["resourceTemplates"][0];
    assert_eq!(template["uriTemplate"], "notes://{day}/all", "{listed}");
    let read = server.ask("resources/read", &json!({"uri": "notes://monday/all"}));
    assert_eq!(read["result"]["contents"][0]["text"], "note of monday");
    let none = server.ask("resources/read", &json!({"uri": "notes://monday"}));
    assert_eq!(none["error"]["code"], -32002, "{none}");
    let reference = json!({"type": "ref/resource", "uri": "notes://{day}/all"});
    let argument = json!({"name": "day", "value": "t"});
    let params = json!({"ref": reference, "argument": argument});
    let completed = server.ask("completion/complete", &params);
    assert_eq!(
        completed["result"]["completion"]["values"],
        json!(["tuesday"])
    );
}

#[test]
fn requests_of_this_server_s_own_origin_are_let_in_and_no_others() {
    let ws = Workspace::new();
    let mut server = Server::start(&ws, &["--http", "127.0.0.1:0"]);
    let to = server.address();
    let own = format!("http://{to}");
    let other = format!("http://127.0.0.1:{}", to.port() ^ 1);
    for (origin, status) in [(&*own, 405), (&*other, 403), ("null", 403)] {
        let headers = [("Origin", Some(origin))];
        assert_eq!(request("PUT", to, &headers, "").status, status, "{origin}");
    }
}
