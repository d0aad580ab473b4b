//! `serve_tools` with clients of others, from npm: the official TypeScript client over standard streams and HTTP, and
//! the command line of the MCP inspector.
//!
//! `scripts/mcp-servers` installs them. Where they, or node, are not to be had, the tests say so and pass.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::harness::{Workspace, executable, skipped};
use crate::mcp::Helper;

const TOKEN: &str = "a-token-of-the-tests";

/// Where the packages are, if they are installed.
fn packages() -> Option<PathBuf> {
    let has_node = Command::new("node").arg("--version").output();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/mcp-servers");
    let found = Command::new(script).arg("--installed").output().ok()?;
    let directory = PathBuf::from(String::from_utf8(found.stdout).ok()?.trim());
    if has_node.is_ok() && found.status.success() && directory.is_dir() {
        return Some(directory);
    }
    skipped("node, or none of the clients that scripts/mcp-servers installs");
    None
}

fn workspace() -> Workspace {
    Workspace::new()
        .file("a.txt", "one\n")
        .file("p.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")
}

/// A call of every tool, with what its answer has in it, or the type of its error.
fn calls() -> Vec<(&'static str, Value, Result<&'static str, &'static str>)> {
    vec![
        ("glob", json!({"pattern": "*.txt"}), Ok("a.txt")),
        (
            "google_web_search",
            json!({"query": "x"}),
            Err("web_search_failed"),
        ),
        ("list_background_processes", json!({}), Ok("")),
        ("list_directory", json!({"path": "."}), Ok("a.txt")),
        ("read_background_output", json!({"pid": 1}), Err("")),
        ("read_file", json!({"absolute_path": "a.txt"}), Ok("one")),
        (
            "read_file",
            json!({"absolute_path": "p.png"}),
            Ok("image/png"),
        ),
        ("read_many_files", json!({"paths": ["a.txt"]}), Ok("one")),
        (
            "replace",
            json!({"file_path": "a.txt", "old_string": "one", "new_string": "two three"}),
            Ok("Replaced"),
        ),
        (
            "run_shell_command",
            json!({"command": "echo first; sleep 1.2; echo last"}),
            Ok("last"),
        ),
        (
            "save_memory",
            json!({"fact": "tests pass"}),
            Ok("tests pass"),
        ),
        (
            "search_file_content",
            json!({"pattern": "two"}),
            Ok("L1: two"),
        ),
        (
            "smart_edit",
            json!({"file_path": "a.txt", "instruction": "i", "old_string": "two three", "new_string": "four"}),
            Ok("a.txt"),
        ),
        ("stop_background_process", json!({"pid": 1}), Err("")),
        ("web_fetch", json!({"prompt": "no address"}), Err("")),
        (
            "write_file",
            json!({"file_path": "b.txt", "content": "x\n"}),
            Ok("Created"),
        ),
    ]
}

/// The real client over one of the two ways; `roots` are the client's.
fn with_client(ws: &Workspace, packages: &Path, way: &[&str], roots: &Value) -> Value {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/behaviour/serve/client.mjs");
    let calls: Vec<Value> = calls()
        .into_iter()
        .map(|(name, args, _)| json!({"name": name, "arguments": args}))
        .collect();
    let mut args = vec![
        script.to_str().expect("UTF-8"),
        packages.to_str().expect("UTF-8"),
    ];
    args.extend(way);
    let mut command = ws.program(Path::new("node"), &args).command();
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("node is installed");
    let wanted = json!({"calls": calls, "roots": roots}).to_string();
    let mut input = child.stdin.take().expect("piped");
    input.write_all(wanted.as_bytes()).expect("fed");
    drop(input);
    let output = child.wait_with_output().expect("its output");
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn check(found: &Value) {
    assert_eq!(found["version"]["name"], "gemini-tools");
    let listed: BTreeSet<&str> = found["tools"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|tool| tool["name"].as_str())
        .collect();
    let called: BTreeSet<&str> = calls().iter().map(|(name, ..)| *name).collect();
    assert_eq!(listed, called, "every tool is called");
    let results = found["results"].as_array().expect("a list");
    for ((name, _, expected), result) in calls().iter().zip(results) {
        match expected {
            Ok(part) => {
                assert_ne!(result["isError"], true, "{name}: {result}");
                assert!(result.to_string().contains(part), "{name}: {result}");
            }
            Err(kind) => {
                assert_eq!(result["isError"], true, "{name}: {result}");
                let found = result["structuredContent"]["errorType"].as_str();
                assert!(
                    found.is_some_and(|f| kind.is_empty() || f == *kind),
                    "{result}"
                );
            }
        }
    }
    let progress = found["progress"].to_string();
    assert!(
        progress.contains("run_shell_command") && progress.contains("first"),
        "{progress}"
    );
    assert_eq!(found["cancelled"], true);
    let contents = &found["read"]["contents"][0];
    assert_eq!(contents["uri"], found["resources"][0]["uri"]);
    assert!(contents["text"].is_string(), "{contents}");
}

#[test]
fn the_official_client_lists_and_calls_every_tool_on_standard_streams() {
    let Some(packages) = packages() else { return };
    let ws = workspace();
    let program = executable("serve_tools");
    let way = ["stdio", program.to_str().expect("UTF-8")];
    check(&with_client(&ws, &packages, &way, &Value::Null));
}

#[test]
fn the_official_client_lists_and_calls_every_tool_by_http_and_its_roots_are_followed() {
    let Some(packages) = packages() else { return };
    let ws = workspace();
    let elsewhere = Workspace::new();
    let args = ["--http", "127.0.0.1:0", "--approval-mode", "default"];
    let call = elsewhere
        .program(&executable("serve_tools"), &args)
        .env("GEMINI_TOOLS_SERVE_TOKEN", TOKEN);
    let mut command = call.command();
    command.stdin(Stdio::null()).stderr(Stdio::piped());
    let mut server = Helper(command.spawn().expect("the server starts"));
    let mut line = String::new();
    let said = server.0.stderr.take().expect("piped");
    BufReader::new(said)
        .read_line(&mut line)
        .expect("its address");
    let address = line.trim().rsplit(' ').next().expect("an address");
    let roots = json!([{"uri": format!("file://{}", ws.dir().display())}]);
    check(&with_client(
        &ws,
        &packages,
        &["http", address, TOKEN],
        &roots,
    ));
}

#[test]
fn the_inspector_lists_and_calls_every_tool() {
    let Some(packages) = packages() else { return };
    let ws = workspace();
    let inspector = packages.join("inspector/clients/launcher/build/index.js");
    let inspect = |more: &[&str]| {
        let program = executable("serve_tools");
        let mut args = vec![
            inspector.to_str().expect("UTF-8"),
            "--cli",
            program.to_str().expect("UTF-8"),
        ];
        args.extend(more);
        let output = ws.program(Path::new("node"), &args).command().output();
        let output = output.expect("node is installed");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        serde_json::from_str::<Value>(&text)
            .unwrap_or_else(|e| panic!("{more:?}: {e}: {text}{said}"))
    };
    let listed = inspect(&["--method", "tools/list"]);
    let listed: BTreeSet<String> = listed["tools"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|tool| tool["name"].as_str().map(str::to_owned))
        .collect();
    let called: BTreeSet<String> = calls()
        .iter()
        .map(|(name, ..)| (*name).to_owned())
        .collect();
    assert_eq!(listed, called);
    for (name, args, expected) in calls() {
        let pairs: Vec<String> = args
            .as_object()
            .expect("an object")
            .iter()
            .map(|(key, value)| match value {
                Value::String(text) => format!("{key}={text}"),
                other => format!("{key}={other}"),
            })
            .collect();
        let mut words = vec!["--method", "tools/call", "--tool-name", name];
        for pair in &pairs {
            words.extend(["--tool-arg", pair]);
        }
        let result = inspect(&words);
        assert_eq!(
            result["isError"] == true,
            expected.is_err(),
            "{name}: {result}"
        );
        if let Ok(part) = expected {
            assert!(result.to_string().contains(part), "{name}: {result}");
        }
    }
}
