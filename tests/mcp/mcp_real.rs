//! Servers of others, from npm: `server-everything` and `server-filesystem`, over standard streams and by HTTP.
//!
//! `scripts/mcp-servers` installs them. Where they, or node, are not to be had, the tests say so and pass.

use std::collections::BTreeSet;
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::harness::mcp::{Helper, Servers};
use crate::harness::{Workspace, skipped, wait_until};

/// The program of a server, if it is installed.
fn program(server: &str) -> Option<PathBuf> {
    let has_node = Command::new("node").arg("--version").output();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/mcp-servers");
    let found = Command::new(script).arg("--installed").output().ok()?;
    let directory = String::from_utf8(found.stdout).ok()?;
    let program = Path::new(directory.trim())
        .join(server)
        .join("dist/index.js");
    if has_node.is_ok() && found.status.success() && program.is_file() {
        return Some(program);
    }
    skipped("node, or a server that scripts/mcp-servers installs,");
    None
}

fn everything(entry: &Value) -> Servers {
    Servers::configured(Workspace::new(), json!({ "every": entry }), &json!({}))
}

fn over_stdio(program: &Path) -> Servers {
    everything(&json!({"command": "node", "args": [program, "stdio"]}))
}

/// A server by HTTP, and its port.
fn listening(program: &Path, way: &str) -> (Helper, u16) {
    let port = {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        listener.local_addr().expect("its address").port()
    };
    let mut command = Command::new("node");
    command.arg(program).arg(way).env("PORT", port.to_string());
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let helper = Helper(command.spawn().expect("node is installed"));
    wait_until("that it listens", || {
        std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()
    });
    (helper, port)
}

/// Arguments for every tool of the server, and what its answer must have in it.
fn calls() -> Vec<(&'static str, Value, &'static str)> {
    vec![
        ("echo", json!({"message": "hi"}), "Echo: hi"),
        (
            "get-annotated-message",
            json!({"messageType": "success", "includeImage": true}),
            "success",
        ),
        ("get-env", json!({}), "PATH"),
        ("get-resource-links", json!({"count": 2}), "Resource Link: "),
        (
            "get-resource-reference",
            json!({"resourceType": "Text", "resourceId": 1}),
            "plaintext",
        ),
        ("get-roots-list", json!({}), "Roots"),
        (
            "get-structured-content",
            json!({"location": "New York"}),
            "temperature",
        ),
        ("get-sum", json!({"a": 1, "b": 2}), "is 3"),
        ("get-tiny-image", json!({}), "image/png"),
        (
            "gzip-file-as-resource",
            json!({"name": "x.gz", "data": "data:text/plain;base64,aGVsbG8="}),
            "x.gz",
        ),
        ("toggle-simulated-logging", json!({}), "simulated"),
        ("toggle-subscriber-updates", json!({}), "updates"),
        (
            "trigger-long-running-operation",
            json!({"duration": 0.2, "steps": 2}),
            "completed",
        ),
    ]
}

fn check_all(s: &Servers, others: &[&str]) {
    let names: BTreeSet<String> = s.names().into_iter().collect();
    let calls = calls();
    let expected: BTreeSet<String> = calls
        .iter()
        .map(|(name, ..)| format!("every__{name}"))
        .chain(others.iter().map(|name| format!("every__{name}")))
        .chain([
            "list_mcp_resources".to_owned(),
            "read_mcp_resource".to_owned(),
        ])
        .collect();
    assert_eq!(names, expected);
    let qualified: Vec<String> = calls
        .iter()
        .map(|(name, ..)| format!("every__{name}"))
        .collect();
    let batch: Vec<(&str, Value)> = qualified
        .iter()
        .zip(&calls)
        .map(|(name, (_, args, _))| (name.as_str(), args.clone()))
        .collect();
    for ((name, _, piece), answer) in calls.iter().zip(s.batch(&batch)) {
        let output = answer["response"]["output"].as_str().unwrap_or_default();
        assert!(output.contains(piece), "{name}: {answer}");
    }
    s.all_gone();
}

#[test]
fn all_tools_of_server_everything_are_listed_and_called() {
    let Some(program) = program("server-everything") else {
        return;
    };
    check_all(&over_stdio(&program), &[]);
}

#[test]
fn they_are_so_by_streamable_http_and_by_sse() {
    let Some(program) = program("server-everything") else {
        return;
    };
    let (_http, port) = listening(&program, "streamableHttp");
    let url = format!("http://127.0.0.1:{port}/mcp");
    // The SDK does not hand on, by this way, that a tool runs only as a task.
    for entry in [
        json!({"httpUrl": url}),
        json!({"url": url, "type": "http"}),
        json!({"url": url}),
    ] {
        check_all(&everything(&entry), &["simulate-research-query"]);
    }
    let (_sse, port) = listening(&program, "sse");
    let url = format!("http://127.0.0.1:{port}/sse");
    check_all(&everything(&json!({"url": url})), &[]);
}

#[test]
fn its_contents_arrive_as_the_right_parts() {
    let Some(program) = program("server-everything") else {
        return;
    };
    let s = over_stdio(&program);
    let parts = |name: &str, args: Value| -> Value {
        let answer = s
            .tool(&format!("every__{name}"), &args)
            .flags(&["--output", "result"])
            .run();
        answer.json()
    };
    let image = parts("get-tiny-image", json!({}));
    let image = &image["llmContent"];
    assert_eq!(
        image[1]["text"],
        "[Tool 'get-tiny-image' provided the following image data with mime-type: image/png]"
    );
    assert!(
        image[2]["inlineData"]["data"]
            .as_str()
            .expect("data")
            .starts_with("iVBOR")
    );
    let annotated = parts(
        "get-annotated-message",
        json!({"messageType": "error", "includeImage": true}),
    );
    assert_eq!(
        annotated["llmContent"][0]["text"],
        "Error: Operation failed"
    );
    assert_eq!(
        annotated["llmContent"][2]["inlineData"]["mimeType"],
        "image/png"
    );
    let blob = parts(
        "get-resource-reference",
        json!({"resourceType": "Blob", "resourceId": 1}),
    );
    assert!(
        blob["llmContent"][2]["inlineData"]["data"].is_string(),
        "{blob}"
    );
    let text = parts(
        "get-resource-reference",
        json!({"resourceType": "Text", "resourceId": 1}),
    );
    assert!(
        text["llmContent"][1]["text"]
            .as_str()
            .expect("text")
            .starts_with("Resource 1"),
        "{text}"
    );
    let structured = parts("get-structured-content", json!({"location": "New York"}));
    assert!(
        structured["data"]["temperature"].is_number(),
        "{structured}"
    );
    let bad = s.call("every__get-sum", &json!({"a": "x", "b": 1}));
    bad.must_say(
        &bad.error("invalid_tool_params", 2),
        &["\"a\" must be a number"],
    );
    s.all_gone();
}

#[test]
fn its_resources_are_listed_and_read() {
    let Some(program) = program("server-everything") else {
        return;
    };
    let s = over_stdio(&program);
    let listed = s.call("list_mcp_resources", &json!({"serverName": "every"}));
    listed.must_say(
        &listed.output(),
        &[
            "every: demo://resource/static/document/",
            "demo://resource/dynamic/text/{resourceId}",
        ],
    );
    let read = s.call(
        "read_mcp_resource",
        &json!({"uri": "demo://resource/dynamic/text/1"}),
    );
    read.must_say(
        &read.output(),
        &["Resource 1: This is a plaintext resource"],
    );
    let response = s
        .call(
            "read_mcp_resource",
            &json!({"uri": "demo://resource/dynamic/blob/1"}),
        )
        .function_response();
    assert_eq!(response.parts[0].inline_data.mime_type, "text/plain");
    let missing = s.call("read_mcp_resource", &json!({"uri": "demo://nothing"}));
    missing.must_say(&missing.error("mcp_tool_error", 1), &["server every"]);
    let unknown = s.call("list_mcp_resources", &json!({"serverName": "nobody"}));
    unknown.must_say(&unknown.error("invalid_tool_params", 2), &["every"]);
    s.all_gone();
}

#[test]
fn server_filesystem_reads_and_writes_in_its_directory_only() {
    let Some(program) = program("server-filesystem") else {
        return;
    };
    let ws = Workspace::new()
        .file("a.txt", "content\n")
        .outside("b.txt", "not for it");
    let entry = json!({"command": "node", "args": [program, ws.path("")], "trust": true});
    let s = Servers::configured(ws, json!({ "fs": entry }), &json!({}));
    assert!(s.names().contains(&"fs__read_text_file".to_owned()));
    let read = s.call("fs__read_text_file", &json!({"path": s.ws.path("a.txt")}));
    assert_eq!(read.output(), "content\n");
    let write = json!({"path": s.ws.path("c.txt"), "content": "new"});
    let _ = s.call("fs__write_file", &write).output();
    assert_eq!(
        fs::read_to_string(s.ws.path("c.txt")).expect("written"),
        "new"
    );
    let outside = s.call(
        "fs__read_text_file",
        &json!({"path": s.ws.outside_path("b.txt")}),
    );
    outside.must_say(&outside.error("mcp_tool_error", 1), &["Access denied"]);
    let kinds = s.list(&["--mcp", "--kinds"]).json();
    let kind = |name: &str| {
        let mut tools = kinds.as_array().expect("a list").iter();
        tools.find(|t| t["name"] == name).expect("listed")["kind"].clone()
    };
    assert_eq!(
        (kind("fs__read_text_file"), kind("fs__write_file")),
        (json!("read"), json!("other"))
    );
    s.all_gone();
}
