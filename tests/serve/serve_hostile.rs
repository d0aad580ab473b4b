//! What clients of `serve_tools` should not do: each such thing is answered or ended, at no other client's cost.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Stdio;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
#[cfg(target_os = "linux")]
use rustix::process::{Resource, getrlimit};
use serde_json::{Value, json};

use crate::harness::client::{Server, Session, TOKEN, greeting, post, request};
use crate::harness::mcp::Helper;
use crate::harness::random::{Random, seeds};
use crate::harness::{Workspace, executable};

/// What a server may hold for a client that does not read, in kB, with all that the executable is.
const MAX_HELD_KB: u64 = 600_000;

fn greeted(ws: &Workspace) -> Server {
    Server::greeted(ws, &[], &json!({}))
}

fn read(file: &str) -> Value {
    json!({"name": "read_file", "arguments": {"absolute_path": file}})
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_default()
}

#[test]
fn lines_that_are_no_text_or_far_too_long_are_answered() {
    let ws = Workspace::new().file("a.txt", "one");
    let mut server = greeted(&ws);
    for (line, code) in [
        (&b"\xff\xfe\xfd"[..], -32700),
        (
            b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}",
            -32700,
        ),
        (b"garbage", -32700),
        (b"\0\x01", -32700),
        (b"{\"jsonrpc\":", -32700),
        (b"[]", -32600),
        (b"{\"jsonrpc\":\"2.0\"}", -32600),
        (b"{\"id\":1,\"method\":\"ping\"}", -32600),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":7}", -32600),
        (
            b"{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}",
            -32600,
        ),
        (
            b"{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}",
            -32600,
        ),
        (
            b"{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"ping\"}",
            -32600,
        ),
        (b"null", -32600),
        (b"\"ping\"", -32600),
    ] {
        server.say_bytes(line);
        let answer = server.message();
        let shown = String::from_utf8_lossy(line);
        assert_eq!(answer["error"]["code"], code, "{shown}: {answer}");
    }
    // Deeper than any reader reads.
    server.say(&format!("{}{}", "[".repeat(100_000), "]".repeat(100_000)));
    assert_eq!(server.message()["error"]["code"], -32700);
    server.say_bytes(&vec![b'x'; 100 << 20]);
    let answer = server.message();
    assert_eq!(answer["error"]["code"], -32600, "{answer}");
    let message = answer["error"]["message"].as_str().expect("a message");
    assert!(message.contains("longer than"), "{message}");
    assert_eq!(
        text(&server.call("read_file", &json!({"absolute_path": "a.txt"}))),
        "one"
    );
}

#[test]
fn the_answer_to_a_last_line_is_written_before_the_end() {
    let ws = Workspace::new();
    for _ in 0..30 {
        let call = ws.program(&executable("serve_tools"), &[]).input("hello\n");
        let answer = call.unwatched().run();
        assert_eq!(answer.status(), 0, "{}", answer.shown());
        assert_eq!(answer.json()["error"]["code"], -32700, "{}", answer.shown());
    }
}

#[test]
fn what_is_not_declared_is_no_method() {
    let ws = Workspace::new();
    let mut server = greeted(&ws);
    for (method, params) in [
        ("resources/subscribe", json!({"uri": "file:///etc/passwd"})),
        (
            "resources/directory/read",
            json!({"uri": "skill://gemini-tools"}),
        ),
        ("tasks/list", json!({})),
        ("nothing/known", json!({})),
    ] {
        let answer = server.ask(method, &params);
        assert_eq!(answer["error"]["code"], -32601, "{method}: {answer}");
    }
    let read = server.ask("resources/read", &json!({"uri": "file:///etc/passwd"}));
    assert_eq!(read["error"]["code"], -32002, "{read}");
}

#[test]
fn arguments_of_the_wrong_kind_are_refused_by_name() {
    let ws = Workspace::new();
    let mut server = greeted(&ws);
    for (method, params) in [
        ("prompts/get", json!({"name": "x"})),
        ("prompts/get", json!({})),
        ("completion/complete", json!({"ref": 1})),
        ("resources/read", json!({"uri": []})),
        ("skills/get", json!({})),
        ("tasks/get", json!({"taskId": {}})),
        ("tools/list", json!({"cursor": "bogus"})),
        ("tools/call", json!({})),
    ] {
        let answer = server.ask(method, &params);
        assert_eq!(answer["error"]["code"], -32602, "{method}: {answer}");
    }
    for params in [
        json!({"name": "read_file", "arguments": []}),
        json!({"name": "read_file", "arguments": "a.txt"}),
        json!({"name": ["read_file"], "arguments": {}}),
        json!({"name": null}),
        json!([]),
    ] {
        let answer = server.ask("tools/call", &params);
        assert_eq!(answer["error"]["code"], -32602, "{params}: {answer}");
    }
    for arguments in [
        json!({"absolute_path": 7}),
        json!({"absolute_path": null}),
        json!({"absolute_path": "a.txt", "limit": "many"}),
    ] {
        let result = server.call("read_file", &arguments);
        assert_eq!(
            result["structuredContent"]["errorType"], "invalid_tool_params",
            "{arguments}: {result}"
        );
    }
}

#[test]
fn a_batch_is_refused_with_what_to_do_instead() {
    let ws = Workspace::new();
    let batch = json!([{"jsonrpc": "2.0", "id": 7, "method": "ping"}]).to_string();
    let must_say = |error: &Value| {
        assert_eq!(error["error"]["code"], -32600, "{error}");
        assert_eq!(error["jsonrpc"], "2.0");
        let message = error["error"]["message"].as_str().expect("a message");
        assert!(message.contains("each message alone"), "{message}");
    };
    for version in ["2025-03-26", "2025-11-25"] {
        let mut server = Server::start(&ws, &[]);
        server.greet(version, &json!({}));
        server.say(&batch);
        must_say(&server.message());
        assert!(server.ask("ping", &json!({}))["result"].is_object());
        let mut server = Server::start(&ws, &["--http", "127.0.0.1:0"]);
        let to = server.address();
        let session = Session::begin(to, version, &json!({}));
        let reply = post(to, &session.headers(), &batch);
        assert_eq!(reply.status, 400, "{reply:?}");
        must_say(&serde_json::from_str(&reply.body).expect("JSON"));
    }
}

#[test]
fn by_http_what_is_no_message_gets_the_error_of_the_protocol() {
    let ws = Workspace::new();
    let mut server = Server::start(&ws, &["--http", "127.0.0.1:0"]);
    let to = server.address();
    for (body, code) in [
        ("garbage", -32700),
        ("", -32700),
        ("{}", -32600),
        ("[]", -32600),
    ] {
        let reply = post(to, &[], body);
        assert_eq!(reply.status, 400, "{body}: {reply:?}");
        assert_eq!(reply.header("Content-Type"), Some("application/json"));
        let error: Value = serde_json::from_str(&reply.body).expect("JSON");
        assert_eq!(error["error"]["code"], code, "{body}: {error}");
        assert_eq!(
            (&error["jsonrpc"], &error["id"]),
            (&json!("2.0"), &Value::Null)
        );
    }
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":7}"#;
    let reply = post(to, &[], body);
    assert!((400..500).contains(&reply.status), "{reply:?}");
    Session::begin(to, "2025-11-25", &json!({}));
}

#[test]
fn an_id_that_is_in_use_is_not_taken_twice() {
    let ws = Workspace::new();
    let mut server = greeted(&ws);
    let sleep = |seconds: &str| json!({"name": "run_shell_command", "arguments": {"command": format!("sleep {seconds}")}});
    let id = server.request("tools/call", &sleep("31.25"));
    server.wait_for_process("sleep 31.25");
    let again =
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": sleep("31.5")});
    server.say(&again.to_string());
    let refused = server.message();
    assert_eq!(refused["error"]["code"], -32600, "{refused}");
    assert!(refused["id"].is_null(), "{refused}");
    // The first is still the one that the id stands for.
    server.notify("notifications/cancelled", &json!({"requestId": id}));
    server.wait_until_gone("sleep 31.25");
    server.wait_until_gone("sleep 31.5");
    server.say(&json!({"jsonrpc": "2.0", "id": id, "method": "ping"}).to_string());
    assert!(server.answer(id)["result"].is_object());
}

#[test]
fn in_a_session_over_http_an_id_is_not_taken_twice_either() {
    let ws = Workspace::new();
    let mut server = Server::start(&ws, &["--http", "127.0.0.1:0"]);
    let to = server.address();
    let [session, other] = [(), ()].map(|()| Session::begin(to, "2025-11-25", &json!({})));
    let call = |command: &str| {
        let params = json!({"name": "run_shell_command", "arguments": {"command": command}});
        json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params})
    };
    let mut first = session.send(&call("sleep 2.75; echo first"));
    server.wait_for_process("sleep 2.75");
    let refused = post(to, &session.headers(), &call("echo second").to_string());
    assert_eq!(refused.status, 400, "{refused:?}");
    let error: Value = serde_json::from_str(&refused.body).expect("JSON");
    assert_eq!(
        (&error["id"], &error["error"]["code"]),
        (&Value::Null, &json!(-32600))
    );
    let answer = other.send(&call("echo of another")).message();
    assert!(text(&answer["result"]).contains("of another"), "{answer}");
    let answer = first.message();
    assert!(text(&answer["result"]).contains("first"), "{answer}");
    // Nor while a call goes on whose connection has broken, or one ends that was cancelled.
    let broken = session.send(&call("trap '' TERM; sleep 2.25; echo first"));
    server.wait_for_process("sleep 2.25");
    drop(broken);
    let again = call("echo again");
    let is_refused = || post(to, &session.headers(), &again.to_string()).status == 400;
    assert!(is_refused());
    session.tell(
        &json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
        "params": {"requestId": 7}}),
    );
    assert!(is_refused());
    server.wait_until_gone("sleep 2.25");
    while is_refused() {}
    let again = session.send(&again).message();
    assert!(text(&again["result"]).contains("again"), "{again}");
}

#[test]
fn before_the_greeting_nothing_but_a_greeting_is_needed() {
    let ws = Workspace::new();
    let mut server = Server::start(&ws, &[]);
    assert!(server.ask("ping", &json!({}))["result"].is_object());
    server.notify("notifications/initialized", &json!({}));
    server.say(r#"{"jsonrpc":"2.0","id":"x","result":{}}"#);
    let early = server.ask("tools/list", &json!({}));
    let message = early["error"]["message"].as_str().expect("a refusal");
    assert!(
        message.contains("first request must be initialize"),
        "{message}"
    );
    // Without a version it is no greeting.
    let no_greeting = server.ask("initialize", &json!({"capabilities": {}}));
    let message = no_greeting["error"]["message"].to_string();
    assert!(message.contains("with protocolVersion"), "{message}");
    server.notify("notifications/cancelled", &json!({"requestId": 99}));
    let greeting = server.greet("2025-11-25", &json!({}));
    assert!(greeting["result"].is_object(), "{greeting}");
    assert!(server.ask("tools/list", &json!({}))["result"].is_object());
}

/// What may come before a greeting, and whether it gets an answer under the id ID.
fn early(random: &mut Random) -> (String, bool) {
    let meta = |version: &str| {
        format!(
            r#""_meta":{{"io.modelcontextprotocol/protocolVersion":"{version}","io.modelcontextprotocol/clientInfo":{{"name":"n","version":"1"}},"io.modelcontextprotocol/clientCapabilities":{{}}}}"#
        )
    };
    let version = random.of(&["2026-07-28", "2025-11-25", "2099-01-01"]);
    let method = random.of(&["tools/list", "server/discover", "ping", "no/such"]);
    let kind = random.of(&["cancelled", "initialized", "roots/list_changed", "other"]);
    match random.below(7) {
        0 => (
            r#"{"jsonrpc":"2.0","id":ID,"method":"ping"}"#.to_owned(),
            true,
        ),
        1 => (r#"{"jsonrpc":"2.0","id":ID,"result":{}}"#.to_owned(), false),
        2 => (
            r#"{"jsonrpc":"2.0","id":ID,"result":{"x":NaN}}"#.to_owned(),
            false,
        ),
        3 => (
            r#"{"jsonrpc":"2.0","id":ID,"method":"ping","params":{"#.to_owned(),
            true,
        ),
        4 => {
            let params = random.of(&["{}", r#"{"requestId":9}"#, "[]"]);
            let method = format!("notifications/{kind}");
            let line = format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{params}}}"#);
            (line, false)
        }
        5 => (
            format!(r#"{{"jsonrpc":"2.0","id":ID,"method":"{method}"}}"#),
            true,
        ),
        _ => {
            let params = meta(version);
            let line =
                format!(r#"{{"jsonrpc":"2.0","id":ID,"method":"{method}","params":{{{params}}}}}"#);
            (line, true)
        }
    }
}

#[test]
fn whatever_comes_before_the_greeting_is_answered_and_decides_nothing() {
    let ws = Workspace::new().file("a.txt", "here");
    for seed in seeds("messages before a greeting", 8) {
        let mut random = Random::new(seed);
        let mut server = Server::start(&ws, &[]);
        for id in 1000..1020_u64 {
            let (line, is_answered) = early(&mut random);
            server.say(&line.replace("ID", &id.to_string()));
            if is_answered {
                let answer = server.answer(id);
                let has_one = answer["result"].is_object() || answer["error"].is_object();
                assert!(
                    has_one && !answer.to_string().contains("Some("),
                    "{seed}: {line}"
                );
            }
        }
        let greeted = server.greet("2025-11-25", &json!({}));
        assert_eq!(greeted["result"]["protocolVersion"], "2025-11-25", "{seed}");
        let read = server.ask("tools/call", &read("a.txt"));
        assert!(text(&read["result"]).contains("here"), "{seed}: {read}");
        let again = server.ask("initialize", &greeting("2025-11-25", &json!({})));
        assert!(
            again["error"]["message"].to_string().contains("once"),
            "{again}"
        );
    }
}

#[test]
fn an_answer_waits_for_a_client_whose_connection_broke_and_is_sent_no_event_twice() {
    let ws = Workspace::new();
    let mut server = Server::start(&ws, &["--http", "127.0.0.1:0"]);
    let to = server.address();
    let session = Session::begin(to, "2025-11-25", &json!({}));
    let line = "until test -e go; do sleep 0.05; done; echo x >>effect.txt; echo ended";
    let mut call = session.send(&json!({"jsonrpc": "2.0", "id": 5, "method": "tools/call",
        "params": {"name": "run_shell_command", "arguments": {"command": line}}}));
    let first = call.event_id();
    drop(call);
    fs::write(ws.path("go"), "").expect("written");
    server.wait_until_gone("until test");
    let resume = |session: &Session, last: &str| {
        let mut headers = session.headers();
        headers.push(("Last-Event-ID", Some(last)));
        request("GET", to, &headers, "")
    };
    for _ in 0..2 {
        let again = resume(&session, &first);
        assert!(
            text(&again.answer(5)["result"]).contains("ended"),
            "{again:?}"
        );
        let ids = again
            .body
            .lines()
            .filter_map(|line| line.strip_prefix("id:"));
        let ids: Vec<&str> = ids.map(str::trim).collect();
        assert!(!ids.contains(&&*first), "{again:?}");
        let nothing = resume(&session, ids.last().expect("an event"));
        assert!(
            nothing.status == 200 && !nothing.body.contains("id:"),
            "{nothing:?}"
        );
    }
    assert_eq!(
        fs::read_to_string(ws.path("effect.txt")).expect("a file"),
        "x\n"
    );
    let other = Session::begin(to, "2025-11-25", &json!({}));
    for (session, last) in [(&session, "0/4711"), (&other, &*first), (&session, "x/y")] {
        assert_eq!(resume(session, last).status, 410, "{last}");
    }
}

/// A request under the id ID, with the code of its error, or 0.
fn odd_request(random: &mut Random) -> (Vec<u8>, i64) {
    let deep = format!("[{}{}]", "[".repeat(200), "]".repeat(200));
    let (params, code) = match random.below(8) {
        0 => ("{}", 0),
        1 => (r#"{"x":"\ud83d"}"#, 0),
        2 => (deep.as_str(), -32700),
        3 => ("{\"x\":NaN}", -32700),
        4 => ("{\"x\":1e400}", -32700),
        5 => ("{\"x\":\"\u{1}\"}", -32700),
        6 => ("{\"x\":", -32700),
        _ => ("[", -32700),
    };
    let mut members = [
        r#""jsonrpc":"2.0""#.to_owned(),
        r#""id":ID"#.to_owned(),
        r#""method":"ping""#.to_owned(),
    ];
    members.rotate_left(random.below(3));
    let line = format!("{{{},\"params\":{params}}}", members.join(","));
    let mut line = line.into_bytes();
    if code == 0 && random.one_in(3) {
        let at = line.len() - 1;
        line.splice(at..at, *b",\"x\":\"\xff\"");
        return (line, -32700);
    }
    (line, code)
}

#[test]
fn every_request_gets_one_answer_under_its_id_and_an_answer_gets_none() {
    let ws = Workspace::new();
    for seed in seeds("messages of a client", 4) {
        let mut random = Random::new(seed);
        let mut server = greeted(&ws);
        let mut expected = Vec::new();
        for id in 1000..1100_u64 {
            if random.one_in(3) {
                let odd = random.of(&[
                    r#""result":"odd""#,
                    r#""result":null"#,
                    r#""error":"odd""#,
                    r#""result":{"x":NaN}"#,
                    r#""result":{"x":"#,
                    r#""x":1"#,
                ]);
                server.say(&format!(r#"{{"jsonrpc":"2.0","id":{id},{odd}}}"#));
                continue;
            }
            let (line, code) = odd_request(&mut random);
            let at = line.windows(2).position(|two| two == b"ID").expect("an id");
            let mut sent = line[..at].to_vec();
            sent.extend(id.to_string().bytes());
            sent.extend(&line[at + 2..]);
            server.say_bytes(&sent);
            expected.push((id, code, String::from_utf8_lossy(&sent).into_owned()));
        }
        for (id, code, line) in expected {
            let answer = server.answer(id);
            let found = answer["error"]["code"].as_i64().unwrap_or_default();
            assert_eq!(found, code, "{line}: {answer}");
        }
        server.ask("ping", &json!({}));
        assert!(server.aside.is_empty(), "{:?}", server.aside);
    }
}

#[test]
fn half_of_a_surrogate_pair_is_no_reason_to_refuse_a_call() {
    let ws = Workspace::new();
    let call = |id: u64, file: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"write_file","arguments":{{"file_path":"{file}","content":"x\ud83d"}}}}}}"#
        )
    };
    let mut server = greeted(&ws);
    server.say(&call(7, "a.txt"));
    assert!(server.answer(7)["result"].is_object());
    let mut by_http = Server::start(&ws, &["--http", "127.0.0.1:0"]);
    let to = by_http.address();
    let session = Session::begin(to, "2025-11-25", &json!({}));
    let reply = post(to, &session.headers(), &call(8, "b.txt"));
    assert!(reply.answer(8)["result"].is_object(), "{reply:?}");
    for file in ["a.txt", "b.txt"] {
        let written = fs::read_to_string(ws.dir().join(file)).expect("written");
        assert_eq!(written.trim_end(), "x\u{fffd}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn where_no_thread_can_be_started_each_call_has_an_error_and_the_server_ends() {
    let ws = Workspace::new().file("a", "hi").unprivileged();
    for signal in [None, Some(Signal::TERM)] {
        let mut server = greeted(&ws);
        assert_eq!(text(&server.ask("tools/call", &read("a"))["result"]), "hi");
        let most = getrlimit(Resource::Nproc).maximum;
        let most = most.map_or("unlimited".to_owned(), |most| most.to_string());
        for (most, expected) in [("1", "No thread could be"), (&*most, "hi")] {
            let (pid, most) = (server.pid().to_string(), format!("--nproc={most}:"));
            let limit = ws.program("prlimit".as_ref(), &["--pid", &pid, &most]);
            assert_eq!(limit.run().status(), 0);
            let answer = server.ask("tools/call", &read("a"));
            assert!(text(&answer["result"]).contains(expected), "{answer}");
            let listed = server.ask("tools/list", &json!({}));
            let has_failed = listed["error"]["message"].as_str().is_some();
            assert_eq!(has_failed, expected != "hi", "{listed}");
        }
        match signal {
            Some(signal) => server.signal(signal),
            None => server.hang_up(),
        }
        assert_eq!(server.status(), Some(signal.map_or(0, |_| 143)));
    }
}

#[test]
fn more_requests_than_are_kept_are_refused() {
    let ws = Workspace::new();
    // The client does not answer the questions, so that none of the calls comes to its end.
    let args = ["--approval-mode", "default"];
    let mut server = Server::greeted(&ws, &args, &json!({"elicitation": {}}));
    let write = |n: u32| json!({"name": "write_file", "arguments": {"file_path": format!("{n}.txt"), "content": "x"}});
    let ids: Vec<u64> = (0..256)
        .map(|n| server.request("tools/call", &write(n)))
        .collect();
    let refused = server.ask("ping", &json!({}));
    let message = refused["error"]["message"].as_str().expect("a refusal");
    assert!(message.contains("256 requests"), "{message}");
    // Each of them can still be cancelled, and makes place for another.
    for id in &ids {
        server.notify("notifications/cancelled", &json!({"requestId": id}));
    }
    assert!(server.ask("ping", &json!({}))["result"].is_object());
    assert!(
        server
            .aside
            .iter()
            .all(|m| m["id"].is_null() || m["method"].is_string())
    );
    assert!(!ws.dir().join("0.txt").exists());
}

#[test]
fn a_client_that_never_reads_costs_no_memory_without_end() {
    // As much again with each of thousands of calls would be gigabytes.
    let ws = Workspace::new().file("large.txt", "a line of a large file\n".repeat(20_000));
    let call = ws.program(&executable("serve_tools"), &[]);
    let mut command = call.command();
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut server = Helper(command.stderr(Stdio::null()).spawn().expect("it starts"));
    let unread = server.0.stdout.take().expect("piped");
    let mut input = server.0.stdin.take().expect("piped");
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize",
        "params": greeting("2025-11-25", &json!({}))});
    let begun = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    writeln!(input, "{hello}\n{begun}").expect("sent");
    let (sent, taken) = channel();
    thread::spawn(move || {
        for id in 1..20_000 {
            let read = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": read("large.txt")});
            if writeln!(input, "{read}").is_err() || sent.send(id).is_err() {
                return;
            }
        }
    });
    let mut last = 0;
    // Until it takes no more.
    while let Ok(id) = taken.recv_timeout(Duration::from_secs(3)) {
        last = id;
    }
    assert!(last < 19_999, "everything was taken");
    let status = fs::read_to_string(format!("/proc/{}/status", server.0.id())).expect("it lives");
    let peak = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .and_then(|rest| rest.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok())
        .expect("a size");
    assert!(peak < MAX_HELD_KB, "{peak} kB after {last} requests");
    // Nor is it waited for.
    kill_process(Pid::from_child(&server.0), Signal::TERM).expect("a child of ours");
    let status = server.0.wait().expect("a child of ours");
    assert_eq!(status.code(), Some(143));
    drop(unread);
}

/// A connection on which a request has begun, and goes on no more.
fn begun(to: std::net::SocketAddr, head: &str) -> TcpStream {
    let mut stream = TcpStream::connect(to).expect("it listens");
    stream.write_all(head.as_bytes()).expect("sent");
    stream
}

#[test]
fn requests_that_never_come_to_their_end_are_not_waited_for() {
    let ws = Workspace::new();
    let mut server = Server::start(&ws, &["--http", "127.0.0.1:0"]);
    let to = server.address();
    let mut slow: Vec<TcpStream> = (0..40)
        .map(|_| begun(to, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nX-Slow: "))
        .collect();
    let stalled: Vec<TcpStream> = (0..10)
        .map(|_| {
            begun(
                to,
                &format!(
                    "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n\
                     Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n\
                     Content-Length: 1000\r\n\r\n{{"
                ),
            )
        })
        .collect();
    // One without the token need not even send its body.
    let mut stranger = begun(
        to,
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{",
    );
    let mut answer = [0; 12];
    stranger.read_exact(&mut answer).expect("an answer");
    assert_eq!(&answer, b"HTTP/1.1 401");
    let session = Session::begin(to, "2025-11-25", &json!({}));
    let ping = json!({"jsonrpc": "2.0", "id": 2, "method": "ping"}).to_string();
    assert_eq!(post(to, &session.headers(), &ping).status, 200);
    for stream in &mut slow {
        stream
            .set_read_timeout(Some(Duration::from_secs(30)))
            .expect("a limit");
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).expect("it is closed");
    }
    drop(stalled);
}

#[test]
fn the_server_goes_on_when_clients_break_off() {
    let ws = Workspace::new().file("a.txt", "one");
    let mut server = Server::start(&ws, &["--http", "127.0.0.1:0"]);
    let to = server.address();
    let session = Session::begin(to, "2025-11-25", &json!({}));
    for garbage in [
        "\r\n\r\n",
        "\u{16}\u{3}\u{1}",
        "GET\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\n",
    ] {
        drop(begun(to, garbage));
    }
    for _ in 0..20 {
        let call =
            json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": read("a.txt")});
        drop(session.send(&call));
    }
    let call = json!({"jsonrpc": "2.0", "id": 4, "method": "tools/call", "params": read("a.txt")});
    assert_eq!(text(&session.send(&call).message()["result"]), "one");
}

#[test]
fn who_may_not_ask_holds_no_connection() {
    let ws = Workspace::new();
    let mut server = Server::start(&ws, &["--http", "127.0.0.1:0"]);
    let to = server.address();
    for (request, status) in [
        (
            "POST /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n".to_owned(),
            "401",
        ),
        (
            "GET /mcp HTTP/1.1\r\nHost: evil.example\r\n\r\n".to_owned(),
            "403",
        ),
        (
            format!(
                "POST http://evil.example/mcp HTTP/1.1\r\nHost: localhost\r\n\
                 Authorization: Bearer {TOKEN}\r\n\r\n"
            ),
            "403",
        ),
    ] {
        let mut stream = begun(to, &request);
        stream
            .set_read_timeout(Some(Duration::from_secs(9)))
            .expect("a limit");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it is closed");
        let expected = format!("HTTP/1.1 {status} ");
        assert!(answer.starts_with(&expected), "{request}: {answer}");
    }
}
