//! `serve_tools` in every version of the protocol that it speaks, over standard streams and HTTP: a greeting or none, the
//! list, calls, cancellation, the client's roots, and questions to its user.

use std::fs;
use std::net::SocketAddr;

use serde_json::{Value, json};

use crate::harness::Workspace;
use crate::harness::client::{Exchange, Server, Session, greeting, post, request};

/// The versions that begin with a greeting, and whether a server can ask a client's user in them.
const GREETED: [(&str, bool); 4] = [
    ("2024-11-05", false),
    ("2025-03-26", false),
    ("2025-06-18", true),
    ("2025-11-25", true),
];

/// The one in which each request stands for itself.
const NEWEST: &str = "2026-07-28";

const ASKS: &[&str] = &["--structured-content", "--approval-mode", "default"];
const ASKS_BY_HTTP: &[&str] = &[
    "--structured-content",
    "--approval-mode",
    "default",
    "--http",
    "127.0.0.1:0",
];

const ONCE: &str = "allow once";

fn workspace() -> Workspace {
    Workspace::new()
        .file("here.txt", "here")
        .outside("root/there.txt", "there")
}

fn roots(ws: &Workspace) -> Value {
    json!({"roots": [{"uri": format!("file://{}", ws.outside_path("root"))}]})
}

fn capabilities() -> Value {
    json!({"roots": {}, "elicitation": {}})
}

fn agreed(decision: &str) -> Value {
    json!({"action": "accept", "content": {"decision": decision}})
}

fn read() -> Value {
    json!({"name": "read_file", "arguments": {"absolute_path": "there.txt"}})
}

fn write(name: &str) -> Value {
    json!({"name": "write_file", "arguments": {"file_path": name, "content": "x\n"}})
}

fn sleep(seconds: &str) -> Value {
    json!({"name": "run_shell_command", "arguments": {"command": format!("sleep {seconds}")}})
}

fn call(id: u64, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
}

fn cancelled(id: u64) -> Value {
    json!({"requestId": id, "reason": "no need"})
}

fn text(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"]
        .as_str()
        .unwrap_or_else(|| panic!("no text: {answer}"))
}

fn has_read_file(answer: &Value) -> bool {
    let tools = answer["result"]["tools"].as_array().expect("a list");
    tools.iter().any(|tool| tool["name"] == "read_file")
}

#[test]
fn each_version_with_a_greeting_has_all_that_it_promises_on_standard_streams() {
    for (version, can_ask) in GREETED {
        let ws = workspace();
        let mut server = Server::start(&ws, ASKS);
        let greeting = server.greet(version, &capabilities());
        assert_eq!(greeting["result"]["protocolVersion"], version);
        server.answer_request("roots/list", &roots(&ws));
        let listed = server.ask("tools/list", &json!({}));
        assert!(has_read_file(&listed), "{version}: {listed}");
        // What later versions have added is not there.
        assert!(listed["result"]["resultType"].is_null(), "{version}");
        assert_eq!(text(&server.ask("tools/call", &read())), "there");
        let id = server.request("tools/call", &write("new.txt"));
        if can_ask {
            server.answer_request("elicitation/create", &agreed(ONCE));
        }
        let answer = server.answer(id);
        assert_eq!(answer["result"]["isError"], !can_ask, "{version}: {answer}");
        let made = fs::exists(ws.outside_path("root/new.txt")).expect("a look");
        assert_eq!(made, can_ask, "{version}");

        let mut server = Server::start(&ws, &[]);
        server.greet(version, &json!({}));
        let id = server.request("tools/call", &sleep("30.375"));
        server.wait_for_process("sleep 30.375");
        server.notify("notifications/cancelled", &cancelled(id));
        server.wait_until_gone("sleep 30.375");
        assert!(server.ask("ping", &json!({}))["result"].is_object());
        assert!(server.aside.is_empty(), "{version}: {:?}", server.aside);
    }
}

#[test]
fn each_version_with_a_greeting_has_all_that_it_promises_by_http() {
    for (version, can_ask) in GREETED {
        let ws = workspace();
        let mut server = Server::start(&ws, ASKS_BY_HTTP);
        let to = server.address();
        let session = Session::begin(to, version, &capabilities());
        let list = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"});
        let mut listing = session.send(&list);
        answer_question(&session, &mut listing, "roots/list", &roots(&ws));
        assert!(has_read_file(&listing.message()), "{version}");
        let mut reading = session.send(&call(3, &read()));
        assert_eq!(text(&reading.message()), "there", "{version}");
        let mut writing = session.send(&call(4, &write("new.txt")));
        if can_ask {
            let question =
                answer_question(&session, &mut writing, "elicitation/create", &agreed(ONCE));
            // What is agreed to for a session would count for other clients too.
            let choices = &question["params"]["requestedSchema"]["properties"]["decision"]["enum"];
            assert_eq!(*choices, json!([ONCE, "do not allow"]));
        }
        let answer = writing.message();
        assert_eq!(answer["result"]["isError"], !can_ask, "{version}: {answer}");

        let mut server = Server::start(&ws, &["--http", "127.0.0.1:0"]);
        let session = Session::begin(server.address(), version, &json!({}));
        let sleeping = session.send(&call(5, &sleep("30.625")));
        server.wait_for_process("sleep 30.625");
        let params = cancelled(5);
        session.tell(
            &json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}),
        );
        server.wait_until_gone("sleep 30.625");
        drop(sleeping);
    }
}

/// Answers the next request of the server's, which comes on the stream of one of ours.
fn answer_question(
    session: &Session,
    stream: &mut Exchange,
    method: &str,
    result: &Value,
) -> Value {
    let question = stream.message();
    assert_eq!(question["method"], method, "{question}");
    session.tell(&json!({"jsonrpc": "2.0", "id": question["id"], "result": result}));
    question
}

/// The parameters of a request of the newest version.
fn alone(capabilities: &Value, params: &Value) -> Value {
    let mut params = params.clone();
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": NEWEST,
        "io.modelcontextprotocol/clientInfo": {"name": "gemini-cli-mcp-client-tests", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    });
    params
}

fn with(params: &Value, more: &Value) -> Value {
    let mut params = params.clone();
    for (key, value) in more.as_object().expect("an object") {
        params[key] = value.clone();
    }
    params
}

/// What a result asks for: its name, and the request.
fn question(answer: &Value) -> (String, Value) {
    let result = &answer["result"];
    assert_eq!(result["resultType"], "input_required", "{answer}");
    let questions = result["inputRequests"].as_object().expect("questions");
    let (name, request) = questions.iter().next().expect("one");
    (name.clone(), request.clone())
}

#[test]
fn each_client_of_one_server_has_its_own_memory_file() {
    let ws = Workspace::new();
    let mut server = Server::start(&ws, &[]);
    let mut ask = |client: &str, method: &str, params: &Value| {
        let mut params = alone(&json!({}), params);
        params["_meta"]["io.modelcontextprotocol/clientInfo"]["name"] = client.into();
        server.ask(method, &params)
    };
    for (client, file) in [
        ("codex-mcp-client", ".codex/AGENTS.md"),
        ("another", ".gemini/GEMINI.md"),
        ("claude-code", ".claude/CLAUDE.md"),
    ] {
        let listed = ask(client, "tools/list", &json!({})).to_string();
        let is_declared = listed.contains("\"save_memory\"");
        assert_eq!(is_declared, client != "another", "{client}");
        let call = json!({"name": "save_memory", "arguments": {"fact": client}});
        ask(client, "tools/call", &call);
        let kept = fs::read_to_string(ws.root().join("home").join(file)).expect("a file");
        assert_eq!(kept, format!("## Gemini Added Memories\n- {client}\n"));
    }
}

/// Plays the rounds of calls with one way to ask.
fn rounds(ws: &Workspace, mut ask: impl FnMut(&str, &Value) -> Value) {
    let client = capabilities();
    let found = ask("server/discover", &alone(&json!({}), &json!({})));
    let versions = found["result"]["supportedVersions"].as_array();
    assert_eq!(versions.map(Vec::len), Some(GREETED.len() + 1), "{found}");
    let listed = ask("tools/list", &alone(&client, &json!({})));
    assert!(has_read_file(&listed));
    assert_eq!(listed["result"]["cacheScope"], "private", "{listed}");
    // This version has none.
    assert_eq!(
        ask("ping", &alone(&client, &json!({})))["error"]["code"],
        -32601
    );

    // Roots, which a list does not depend on, and a call does.
    let wanted = ask("tools/call", &alone(&client, &read()));
    let (name, request) = question(&wanted);
    assert_eq!(request["method"], "roots/list");
    let told = json!({"inputResponses": {name: roots(ws)}});
    let answer = ask("tools/call", &alone(&client, &with(&read(), &told)));
    assert_eq!(text(&answer), "there");
    assert_eq!(answer["result"]["resultType"], "complete");
    for result in [&found, &listed, &wanted, &answer] {
        let own = &result["result"]["_meta"]["io.modelcontextprotocol/serverInfo"];
        assert_eq!(own["name"], "gemini-tools", "{result}");
    }
    // One that has none is asked for none.
    let here = json!({"name": "read_file", "arguments": {"absolute_path": "here.txt"}});
    assert_eq!(text(&ask("tools/call", &alone(&json!({}), &here))), "here");

    // Then the question, with what was said before.
    let new = write("new.txt");
    let asked = ask("tools/call", &alone(&client, &with(&new, &told)));
    let (name, request) = question(&asked);
    assert_eq!(request["method"], "elicitation/create");
    let message = request["params"]["message"].as_str().expect("a message");
    assert!(message.contains("+x"), "{message}");
    let file = ws.outside_path("root/new.txt");
    assert!(!fs::exists(&file).expect("a look"));
    let state = &asked["result"]["requestState"];
    let reply = |decision: &str| json!({"requestState": state, "inputResponses": {&name: agreed(decision)}});
    // An approval counts for what was shown, and for nothing else.
    let other = with(&write("other.txt"), &reply(ONCE));
    let answer = ask("tools/call", &alone(&client, &other));
    assert_ne!(question(&answer).0, name);
    let refused = with(&new, &reply("do not allow"));
    let answer = ask("tools/call", &alone(&client, &refused));
    assert_eq!(
        answer["result"]["structuredContent"]["errorType"],
        "policy_violation"
    );
    assert!(!fs::exists(&file).expect("a look"));
    let allowed = with(&new, &reply(ONCE));
    let answer = ask("tools/call", &alone(&client, &allowed));
    assert_eq!(answer["result"]["isError"], false, "{answer}");
    assert_eq!(fs::read_to_string(&file).expect("made"), "x\n");
    // Who can't be asked gets a refusal.
    let answer = ask("tools/call", &alone(&json!({}), &write("never.txt")));
    assert!(text(&answer).contains("no user can be asked"), "{answer}");

    for (params, part) in [
        (
            json!({"inputResponses": {"roots": 1}}),
            "inputResponses.roots",
        ),
        (json!({"requestState": "nonsense"}), "requestState"),
    ] {
        let answer = ask("tools/call", &alone(&client, &with(&read(), &params)));
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
        let message = answer["error"]["message"].as_str().expect("a message");
        assert!(message.contains(part), "{message}");
    }
    // Each request says by itself which version it is of.
    let mut bare = alone(&client, &json!({}));
    bare["_meta"] = json!({});
    assert_eq!(ask("tools/list", &bare)["error"]["code"], -32602);
}

#[test]
fn the_newest_version_asks_by_results_on_standard_streams() {
    let ws = workspace();
    let mut server = Server::start(&ws, ASKS);
    rounds(&ws, |method, params| server.ask(method, params));
    // No request of the server's own, and no notification that the client has not asked for.
    assert!(server.aside.is_empty(), "{:?}", server.aside);
    server.hang_up();
    assert_eq!(server.status(), Some(0));
}

/// A request of the newest version, which says in headers too what it is.
fn sent(to: SocketAddr, id: u64, method: &str, params: &Value) -> Exchange {
    let body = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
    let name = params["name"].as_str().or(params["uri"].as_str());
    let headers = [
        ("MCP-Protocol-Version", Some(NEWEST)),
        ("Mcp-Method", Some(method)),
        ("Mcp-Name", name),
    ];
    Exchange::post(to, &headers, &body.to_string())
}

#[test]
fn the_newest_version_asks_by_results_and_has_no_sessions_by_http() {
    let ws = workspace();
    let mut server = Server::start(&ws, ASKS_BY_HTTP);
    let to = server.address();
    let mut id = 0;
    rounds(&ws, |method, params| {
        id += 1;
        let body = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        let name = params["name"].as_str().or(params["uri"].as_str());
        let version = (!params["_meta"]["io.modelcontextprotocol/protocolVersion"].is_null())
            .then_some(NEWEST);
        let headers = [
            ("MCP-Protocol-Version", version.or(Some(NEWEST))),
            ("Mcp-Method", Some(method)),
            ("Mcp-Name", name),
        ];
        let reply = post(to, &headers, &body.to_string());
        assert!(reply.header("mcp-session-id").is_none(), "{reply:?}");
        if reply.body.contains("data:") {
            return reply.answer(id);
        }
        let start = reply.body.find('{').expect("a message");
        let end = reply.body.rfind('}').expect("a message");
        serde_json::from_str(&reply.body[start..=end]).expect("JSON")
    });
    let wrong = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list",
        "params": alone(&json!({}), &json!({}))});
    let headers = [
        ("MCP-Protocol-Version", Some(NEWEST)),
        ("Mcp-Method", Some("tools/call")),
    ];
    assert_eq!(post(to, &headers, &wrong.to_string()).status, 400);
}

/// Makes a tool of the user's own appear.
fn add_tool(ws: &Workspace, name: &str) {
    let tool = "#!/bin/sh\n# /// tool\n# description = \"d\"\n# ///\necho own\n";
    let directory = ws.root().join("home/.gemini/tools");
    fs::create_dir_all(&directory).expect("made");
    let path = directory.join(name);
    fs::write(&path, tool).expect("written");
    crate::harness::set_mode(&path, 0o755);
}

fn listen() -> Value {
    let wanted = json!({"notifications": {"toolsListChanged": true, "resourcesListChanged": true}});
    alone(&json!({}), &wanted)
}

#[test]
fn who_listens_is_told_of_other_tools_on_standard_streams_until_it_has_enough() {
    let ws = Workspace::new();
    let mut server = Server::start(&ws, &[]);
    server.ask("tools/list", &alone(&json!({}), &json!({})));
    let id = server.request("subscriptions/listen", &listen());
    let told = server.told("notifications/subscriptions/acknowledged");
    // Only what is promised.
    assert_eq!(
        told["params"]["notifications"],
        json!({"toolsListChanged": true})
    );
    for name in ["own", "other"] {
        add_tool(&ws, name);
        let told = server.told("notifications/tools/list_changed");
        let subscription = &told["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"];
        assert_eq!(*subscription, id, "{told}");
        let listed = server.ask("tools/list", &alone(&json!({}), &json!({})));
        assert!(listed.to_string().contains(&format!("\"{name}\"")));
    }
    server.notify("notifications/cancelled", &cancelled(id));
    // A call of it tells nothing, either.
    add_tool(&ws, "third");
    let called = alone(&json!({}), &json!({"name": "third", "arguments": {}}));
    assert!(text(&server.ask("tools/call", &called)).contains("own"));
    assert!(server.aside.is_empty(), "{:?}", server.aside);
    // A client that goes away while it listens is not waited for.
    server.request("subscriptions/listen", &listen());
    server.told("notifications/subscriptions/acknowledged");
    server.hang_up();
    assert_eq!(server.status(), Some(0));
}

#[test]
fn who_listens_is_told_of_tools_that_came_since_its_list_whatever_host_it_is() {
    for client in [
        "gemini-cli-mcp-client-tests",
        "claude-code",
        "codex",
        "another",
    ] {
        let ws = Workspace::new();
        let mut server = Server::start(&ws, &[]);
        let as_client = |mut params: Value| {
            params["_meta"]["io.modelcontextprotocol/clientInfo"]["name"] = client.into();
            params
        };
        server.ask("tools/list", &as_client(alone(&json!({}), &json!({}))));
        add_tool(&ws, "own");
        // This opens the project again.
        let called = alone(&json!({}), &json!({"name": "own", "arguments": {}}));
        server.ask("tools/call", &as_client(called));
        server.request("subscriptions/listen", &as_client(listen()));
        server.told("notifications/tools/list_changed");
    }
}

#[test]
fn who_listens_is_told_of_other_tools_by_http() {
    let ws = Workspace::new();
    let mut server = Server::start(&ws, &["--http", "127.0.0.1:0"]);
    let to = server.address();
    let mut listed = sent(to, 3, "tools/list", &alone(&json!({}), &json!({})));
    assert!(has_read_file(&listed.message()));
    let mut streams = [1, 2].map(|id| sent(to, id, "subscriptions/listen", &listen()));
    for stream in &mut streams {
        let told = stream.message();
        assert_eq!(told["method"], "notifications/subscriptions/acknowledged");
    }
    add_tool(&ws, "own");
    for stream in &mut streams {
        let told = stream.message();
        assert_eq!(told["method"], "notifications/tools/list_changed", "{told}");
    }
}

#[test]
fn in_the_newest_version_a_call_by_http_ends_with_its_connection() {
    let ws = Workspace::new();
    let mut server = Server::start(&ws, &["--http", "127.0.0.1:0"]);
    let call = sent(
        server.address(),
        1,
        "tools/call",
        &alone(&json!({}), &sleep("30.875")),
    );
    server.wait_for_process("sleep 30.875");
    drop(call);
    server.wait_until_gone("sleep 30.875");
}

#[test]
fn in_the_newest_version_a_call_is_cancelled_and_says_how_far_it_is() {
    let ws = Workspace::new();
    let mut server = Server::start(&ws, &[]);
    let id = server.request("tools/call", &alone(&json!({}), &sleep("31.125")));
    server.wait_for_process("sleep 31.125");
    server.notify("notifications/cancelled", &cancelled(id));
    server.wait_until_gone("sleep 31.125");
    let command = "echo first; until test -e told; do sleep 0.1; done; echo last";
    let mut params = alone(
        &json!({}),
        &json!({"name": "run_shell_command", "arguments": {"command": command}}),
    );
    params["_meta"]["progressToken"] = "mine".into();
    let next = server.request("tools/call", &params);
    let told = server.told("notifications/progress");
    assert_eq!(told["params"]["progressToken"], "mine");
    fs::write(ws.path("told"), "").expect("written");
    let answer = server.answer(next);
    assert!(text(&answer).contains("last"), "{answer}");
    assert!(server.aside.iter().all(|m| m["id"] != id));
}

#[test]
fn a_version_that_is_not_spoken_is_answered_with_those_that_are() {
    let ws = Workspace::new();
    let mut server = Server::start(&ws, &[]);
    let mut params = alone(&json!({}), &json!({}));
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = "2099-01-01".into();
    let answer = server.ask("tools/list", &params);
    assert_eq!(answer["error"]["code"], -32022, "{answer}");
    assert!(
        answer["error"]["data"].to_string().contains(NEWEST),
        "{answer}"
    );
    let mut server = Server::start(&ws, &["--http", "127.0.0.1:0"]);
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": params});
    let headers = [
        ("MCP-Protocol-Version", Some("2099-01-01")),
        ("Mcp-Method", Some("tools/list")),
    ];
    let reply = post(server.address(), &headers, &body.to_string());
    assert_eq!(reply.status, 400, "{reply:?}");
    assert!(reply.body.contains(NEWEST), "{reply:?}");
}

#[test]
fn a_client_is_asked_in_the_version_that_is_agreed_on_whatever_it_wanted() {
    let ws = workspace();
    for wanted in ["1999-01-01", NEWEST, "2099-01-01"] {
        let mut server = Server::start(&ws, ASKS);
        let agreed_on = server.greet(wanted, &json!({"elicitation": {}}));
        assert_eq!(agreed_on["result"]["protocolVersion"], "2025-11-25");
        let id = server.request("tools/call", &write("new.txt"));
        server.answer_request("elicitation/create", &agreed(ONCE));
        let answer = server.answer(id);
        assert_eq!(answer["result"]["isError"], false, "{wanted}: {answer}");
        assert!(answer["result"]["resultType"].is_null(), "{answer}");
    }
}

#[test]
fn what_the_newest_version_has_no_more_is_no_method() {
    let ws = Workspace::new();
    let mut server = Server::start(&ws, &[]);
    for (method, params) in [
        ("ping", json!({})),
        ("logging/setLevel", json!({"level": "debug"})),
    ] {
        let answer = server.ask(method, &alone(&json!({}), &params));
        assert_eq!(answer["error"]["code"], -32601, "{method}: {answer}");
    }
}

#[test]
fn a_session_ends_when_its_client_says_so() {
    let ws = Workspace::new();
    let mut server = Server::start(&ws, &["--http", "127.0.0.1:0"]);
    let to = server.address();
    let session = Session::begin(to, "2025-11-25", &json!({}));
    let ping = json!({"jsonrpc": "2.0", "id": 2, "method": "ping"}).to_string();
    assert_eq!(post(to, &session.headers(), &ping).status, 200);
    let again = json!({"jsonrpc": "2.0", "id": 3, "method": "initialize",
        "params": greeting("2025-11-25", &json!({}))});
    let again = session.send(&again).message();
    assert_eq!(again["error"]["code"], -32600, "{again}");
    let line = "sleep 2.5; touch effect";
    let call = call(
        4,
        &json!({"name": "run_shell_command", "arguments": {"command": line}}),
    );
    let _running = session.send(&call);
    server.wait_for_process("sleep 2.5");
    let deleted = request("DELETE", to, &session.headers(), "");
    // The SDKs for Python take 202 for a failure.
    assert_eq!(deleted.status, 204, "{deleted:?}");
    assert_eq!(post(to, &session.headers(), &ping).status, 404);
    let again = request("DELETE", to, &session.headers(), "");
    assert_eq!(again.status, 404, "{again:?}");
    assert_eq!(request("PUT", to, &session.headers(), "").status, 405);
    // Its calls have ended with it.
    server.wait_until_gone("sleep 2.5");
    assert!(!fs::exists(ws.path("effect")).expect("a look"));
}
