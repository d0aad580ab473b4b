//! `serve_tools --mcp`: the tools of other MCP servers beside ours, for one client.
//!
//! The servers are `server.py` of the harness, which misbehaves on demand.

use std::fs;

use serde_json::{Value, json};

use crate::harness::Workspace;
use crate::harness::client::Server;
use crate::harness::mcp::Servers;

fn serving(s: &Servers) -> Server {
    Server::greeted(&s.ws, &["--mcp"], &json!({}))
}

fn plain() -> Servers {
    Servers::new(&[("one", "plain", json!({}))])
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_default()
}

fn tools(server: &mut Server) -> Vec<Value> {
    let listed = server.ask("tools/list", &json!({}));
    listed["result"]["tools"]
        .as_array()
        .expect("a list")
        .clone()
}

fn names(server: &mut Server) -> Vec<String> {
    let tools = tools(server);
    let name = |tool: &Value| tool["name"].as_str().expect("a name").to_owned();
    tools.iter().map(name).collect()
}

#[test]
fn the_tools_of_other_servers_are_served_beside_ours_where_that_is_wanted() {
    let s = plain();
    let mut without = Server::greeted(&s.ws, &[], &json!({}));
    assert!(!names(&mut without).iter().any(|name| name.contains("__")));
    let refused = without.call("one__echo", &json!({"text": "x"}));
    assert_eq!(
        refused["structuredContent"]["errorType"],
        "tool_not_registered"
    );
    assert_eq!(s.was_started("one"), 0);

    let mut server = serving(&s);
    let tools = tools(&mut server);
    let named = |name: &str| tools.iter().find(|tool| tool["name"] == name);
    let echo = named("one__echo").expect("it is listed");
    assert_eq!(echo["description"], "Says it again.");
    assert_eq!(echo["inputSchema"]["properties"]["text"]["type"], "string");
    assert_eq!(echo["title"], "echo (one MCP server)");
    // It was not said that the server is to be believed.
    assert_eq!(echo["annotations"]["readOnlyHint"], false);
    assert_eq!(echo["annotations"]["openWorldHint"], true);
    assert!(named("read_file").is_some());

    let said = server.call("one__echo", &json!({"text": "a \"b\" é\n"}));
    assert_eq!(
        (text(&said), &said["isError"]),
        ("a \"b\" é\n", &json!(false))
    );
    let blocks = server.call("one__blocks", &json!({}));
    let kinds: Vec<&str> = blocks["content"]
        .as_array()
        .expect("blocks")
        .iter()
        .filter_map(|block| block["type"].as_str())
        .collect();
    assert!(kinds.contains(&"text") && kinds.contains(&"image") && kinds.contains(&"audio"));
    assert_eq!(blocks["structuredContent"], json!({"n": 1}), "{blocks}");
    for (tool, part) in [
        ("one__fails", "it did not work"),
        ("one__refuses", "no such thing"),
    ] {
        let result = server.call(tool, &json!({}));
        assert_eq!(result["isError"], true, "{tool}: {result}");
        assert!(text(&result).contains(part), "{tool}: {result}");
        assert_eq!(result["structuredContent"]["errorType"], "mcp_tool_error");
    }
    let none = server.call("one__ehco", &json!({}));
    assert_eq!(
        none["structuredContent"]["errorType"],
        "tool_not_registered"
    );
    assert_eq!(s.was_started("one"), 1, "{:?}", s.notes("one"));
    server.hang_up();
    assert_eq!(server.status(), Some(0));
    server.wait_until_gone("server.py");
}

#[test]
fn a_server_of_a_project_that_nobody_trusts_is_not_started() {
    let s = Servers::configured(
        Workspace::new().outside("server.py", crate::harness::mcp::SERVER),
        json!({}),
        &json!({}),
    );
    let notes = s.ws.outside_path("evil.notes");
    let entry =
        json!({"command": "python3", "args": [s.ws.outside_path("server.py"), "plain", notes]});
    let settings = json!({"mcpServers": {"evil": entry}}).to_string();
    let s = Servers {
        ws: s.ws.file(".gemini/settings.json", settings),
    };
    let mut server = serving(&s);
    assert!(!names(&mut server).iter().any(|name| name.contains("evil")));
    let refused = server.call("evil__echo", &json!({"text": "x"}));
    assert_eq!(refused["isError"], true, "{refused}");
    assert_eq!(s.was_started("evil"), 0);

    // From the next request on, once it is.
    let trusted = json!({s.ws.dir().display().to_string(): "TRUST_FOLDER"});
    let s = Servers {
        ws: s
            .ws
            .home(".gemini/trustedFolders.json", trusted.to_string()),
    };
    let said = server.call("evil__echo", &json!({"text": "x"}));
    assert_eq!(text(&said), "x", "{said}");
    // Told with this answer, or with the next where the server takes its time.
    server.call("evil__echo", &json!({"text": "x"}));
    server.told("notifications/tools/list_changed");
    assert!(names(&mut server).contains(&"evil__echo".to_owned()));
    fs::remove_file(s.ws.root().join("home/.gemini/trustedFolders.json")).expect("removed");
    let refused = server.call("evil__echo", &json!({"text": "x"}));
    assert_eq!(refused["isError"], true, "{refused}");
    server.wait_until_gone("server.py");
}

#[test]
fn a_server_that_gets_other_tools_is_heard_of() {
    let s = plain();
    let mut server = serving(&s);
    assert!(!names(&mut server).contains(&"one__later".to_owned()));
    assert_eq!(text(&server.call("one__change", &json!({}))), "changed");
    // Heard of with this answer or with the next.
    server.call("one__echo", &json!({"text": "x"}));
    server.told("notifications/tools/list_changed");
    assert!(names(&mut server).contains(&"one__later".to_owned()));
    assert_eq!(text(&server.call("one__later", &json!({}))), "called later");
    assert!(server.aside.is_empty(), "{:?}", server.aside);
}

#[test]
fn a_change_that_could_not_be_heard_of_is_asked_for_again() {
    let s = plain();
    let mut server = serving(&s);
    let broken = s.ws.outside_path("one.notes.broken");
    server.call("one__echo", &json!({"text": "x"}));
    fs::write(&broken, "").expect("written");
    assert_eq!(text(&server.call("one__change", &json!({}))), "changed");
    server.call("one__echo", &json!({"text": "x"}));
    assert!(!names(&mut server).contains(&"one__later".to_owned()));
    fs::remove_file(&broken).expect("removed");
    assert!(names(&mut server).contains(&"one__later".to_owned()));
}

#[test]
fn servers_of_changed_settings_are_those_of_the_next_request() {
    let s = plain();
    let mut server = serving(&s);
    assert!(names(&mut server).contains(&"one__echo".to_owned()));
    server.call("one__echo", &json!({"text": "x"}));
    let notes = s.ws.outside_path("two.notes");
    let entry =
        json!({"command": "python3", "args": [s.ws.outside_path("server.py"), "plain", notes]});
    let settings = json!({"mcpServers": {"two": entry}}).to_string();
    let s = Servers {
        ws: s.ws.home(".gemini/settings.json", settings),
    };
    let said = server.call("two__echo", &json!({"text": "y"}));
    assert_eq!(text(&said), "y", "{said}");
    server.call("two__echo", &json!({"text": "y"}));
    server.told("notifications/tools/list_changed");
    let now = names(&mut server);
    assert!(now.contains(&"two__echo".to_owned()) && !now.contains(&"one__echo".to_owned()));
    let gone = server.call("one__echo", &json!({"text": "x"}));
    assert_eq!(
        gone["structuredContent"]["errorType"],
        "tool_not_registered"
    );
    assert_eq!(s.notes("one").last().map(String::as_str), Some("ended"));
}

#[test]
fn cancellation_and_progress_are_handed_through() {
    let s = plain();
    let mut server = serving(&s);
    let call = |tool: &str| json!({"name": tool, "arguments": {}, "_meta": {"progressToken": 7}});
    let id = server.request("tools/call", &call("one__hang"));
    s.wait_for_note("one", "call hang");
    server.notify("notifications/cancelled", &json!({"requestId": id}));
    s.wait_for_note("one", "notifications/cancelled");
    // The server goes on.
    let answer = server.ask("tools/call", &call("one__progress"));
    assert_eq!(text(&answer["result"]), "done", "{answer}");
    let told = std::mem::take(&mut server.aside);
    let said: String = told
        .iter()
        .map(|message| message["params"]["message"].as_str().expect("a text"))
        .collect();
    assert!(
        said.contains("step 1") && said.contains("step 2"),
        "{told:?}"
    );
    assert!(told.iter().all(|m| m["params"]["progressToken"] == 7));
    assert!(told.iter().all(|m| m["id"].is_null()), "{told:?}");
    assert_eq!(s.was_started("one"), 1);
}

#[test]
fn a_server_that_dies_costs_one_call() {
    let s = plain();
    let mut server = serving(&s);
    for round in 1..=2 {
        assert_eq!(text(&server.call("one__echo", &json!({"text": "x"}))), "x");
        let lost = server.call("one__crash", &json!({}));
        assert_eq!(lost["isError"], true, "{lost}");
        assert_eq!(lost["structuredContent"]["errorType"], "mcp_tool_error");
        assert!(text(&lost).contains("one"), "{lost}");
        assert_eq!(s.was_started("one"), round);
    }
    assert_eq!(text(&server.call("one__echo", &json!({"text": "x"}))), "x");
}

#[test]
fn servers_that_say_nothing_cost_only_their_own_tools() {
    let s = Servers::new(&[
        ("gone", "exits", json!({})),
        ("mute", "hang_initialize", json!({"timeout": 1500})),
        ("good", "plain", json!({})),
    ]);
    let mut server = serving(&s);
    let names = names(&mut server);
    assert!(names.contains(&"good__echo".to_owned()) && names.contains(&"glob".to_owned()));
    assert!(
        !names
            .iter()
            .any(|n| n.starts_with("gone") || n.starts_with("mute"))
    );
    for tool in ["gone__echo", "mute__echo"] {
        let result = server.call(tool, &json!({}));
        assert_eq!(result["isError"], true, "{tool}: {result}");
    }
    assert_eq!(text(&server.call("good__echo", &json!({"text": "x"}))), "x");
}

#[test]
fn a_call_of_another_server_is_agreed_to_as_one_of_ours_is() {
    let s = plain();
    let args = ["--mcp", "--approval-mode", "default"];
    let mut server = Server::greeted(&s.ws, &args, &json!({"elicitation": {}}));
    let call = json!({"name": "one__echo", "arguments": {"text": "x"}});
    for (decision, is_error) in [("do not allow", true), ("allow for this session", false)] {
        let id = server.request("tools/call", &call);
        let reply = json!({"action": "accept", "content": {"decision": decision}});
        let question = server.answer_request("elicitation/create", &reply);
        let message = question["params"]["message"].as_str().expect("a message");
        assert!(message.contains("one__echo"), "{message}");
        assert_eq!(server.answer(id)["result"]["isError"], is_error);
    }
    assert_eq!(text(&server.call("one__echo", &json!({"text": "x"}))), "x");
    let calls = s.notes("one").iter().filter(|n| *n == "call echo").count();
    assert_eq!(calls, 2);
}
