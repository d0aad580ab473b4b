//! `serve_tools` with clients of others, from npm: the official TypeScript client over standard streams and HTTP, and
//! the command line of the MCP inspector.
//!
//! `scripts/mcp-servers` installs them. Where they, or node, are not to be had, the tests say so and pass.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::harness::mcp::Helper;
use crate::harness::stand_in::StandIn;
use crate::harness::{Workspace, executable, skipped};

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
    skipped("node, or a client that scripts/mcp-servers installs,");
    None
}

fn workspace() -> Workspace {
    Workspace::new().file("a.txt", "one\n").file("p.png", PNG)
}

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";

/// What stands for the process that the last command has left in the background.
const PID: &str = "$PID";

/// The API for the tools that ask a model.
fn api() -> Option<StandIn> {
    StandIn::playing(&json!({
        "search": [{"text": "Herons are birds.", "times": "always"}],
        "fetch": [{"text": "A page on herons.", "times": "always"}],
    }))
}

fn variables(api: &StandIn) -> [(&'static str, String); 2] {
    [
        ("GEMINI_API_KEY", "k".to_owned()),
        ("GOOGLE_GEMINI_BASE_URL", api.url().to_owned()),
    ]
}

/// Parts of the text of an answer, or the type of an error.
type Expected = Result<&'static [&'static str], &'static str>;

/// Calls of every tool, in their order, each with what its answer must be.
fn calls() -> Vec<(&'static str, Value, Expected)> {
    vec![
        ("glob", json!({"pattern": "*.txt"}), Ok(&["/ws", "\na.txt"])),
        (
            "list_directory",
            json!({"path": "."}),
            Ok(&["a.txt", "p.png"]),
        ),
        (
            "read_file",
            json!({"absolute_path": "a.txt"}),
            Ok(&["one\n"]),
        ),
        ("read_file", json!({"absolute_path": "p.png"}), Ok(&[])),
        (
            "read_file",
            json!({"absolute_path": "none.txt"}),
            Err("file_not_found"),
        ),
        (
            "read_many_files",
            json!({"paths": ["a.txt"]}),
            Ok(&["--- ", "a.txt", "one\n"]),
        ),
        (
            "replace",
            json!({"file_path": "a.txt", "old_string": "one", "new_string": "two three"}),
            Ok(&["Successfully modified file: ", "a.txt (1 replacements)"]),
        ),
        (
            "search_file_content",
            json!({"pattern": "two"}),
            Ok(&["File: a.txt", "L1: two three"]),
        ),
        (
            "smart_edit",
            json!({"file_path": "a.txt", "instruction": "i", "old_string": "two three", "new_string": "four"}),
            Ok(&["a.txt"]),
        ),
        (
            "write_file",
            json!({"file_path": "b.txt", "content": "x\n"}),
            Ok(&["Successfully created", "b.txt. It has 2 bytes"]),
        ),
        (
            "apply_patch",
            json!({"patch": "*** Begin Patch\n*** Update File: b.txt\n-x\n+y\n*** End Patch"}),
            Ok(&["Successfully applied", "updates b.txt"]),
        ),
        (
            "run_shell_command",
            json!({"command": "cat a.txt; sleep 1.2; echo last; exit 3"}),
            Ok(&["Output: four\nlast\n", "Exit Code: 3"]),
        ),
        (
            "run_shell_command",
            json!({"command": "echo it is ready; sleep 60.5", "is_background": true}),
            Ok(&["Background PIDs: "]),
        ),
        (
            "read_background_output",
            json!({"pid": PID, "pattern": "is ready"}),
            Ok(&["it is ready", "matches \"is ready\""]),
        ),
        (
            "list_background_processes",
            json!({}),
            Ok(&["running: echo it is ready; sleep 60.5"]),
        ),
        (
            "stop_background_process",
            json!({"pid": PID}),
            Ok(&["was ended"]),
        ),
        (
            "save_memory",
            json!({"fact": "tests pass"}),
            Ok(&["tests pass"]),
        ),
        (
            "google_web_search",
            json!({"query": "herons"}),
            Ok(&["Herons are birds."]),
        ),
        (
            "web_fetch",
            json!({"prompt": "Read https://herons.example/"}),
            Ok(&["A page on herons."]),
        ),
        (
            "web_fetch",
            json!({"prompt": "no address"}),
            Err("web_fetch_no_url_in_prompt"),
        ),
    ]
}

/// The tools that must not run unless the user agrees, in the order of their calls.
const ASKED_ABOUT: [&str; 9] = [
    "replace",
    "smart_edit",
    "write_file",
    "apply_patch",
    "run_shell_command",
    "run_shell_command",
    "stop_background_process",
    "save_memory",
    "web_fetch",
];

/// The real client over one of the two ways; `roots` are the client's.
fn with_client(
    ws: &Workspace,
    packages: &Path,
    way: &[&str],
    roots: &Value,
    api: &StandIn,
) -> Value {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/serve/client.mjs");
    let calls: Vec<Value> = calls()
        .into_iter()
        .map(|(name, args, _)| json!({"name": name, "arguments": args}))
        .collect();
    let mut args = vec![
        script.to_str().expect("UTF-8"),
        packages.to_str().expect("UTF-8"),
    ];
    args.extend(way);
    let call = ws.program(Path::new("node"), &args);
    let call = variables(api)
        .iter()
        .fold(call, |call, (name, value)| call.env(name, value));
    let mut command = call.command();
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

fn names_in(tools: &Value) -> BTreeSet<String> {
    let tools = tools.as_array().expect("a list").iter();
    tools
        .filter_map(|tool| tool["name"].as_str().map(str::to_owned))
        .collect()
}

fn called() -> BTreeSet<String> {
    calls()
        .iter()
        .map(|(name, ..)| (*name).to_owned())
        .collect()
}

/// Whether the answer to a call is the one that belongs to it, for a client that may have asked for structured content.
#[track_caller]
fn check_result(name: &str, args: &Value, expected: Expected, result: &Value, has_asked: bool) {
    let block = &result["content"][0];
    match expected {
        Ok(parts) => {
            assert_eq!(result["isError"], false, "{name}: {result}");
            if args["absolute_path"] == "p.png" {
                assert_eq!(block["type"], "image", "{result}");
                assert_eq!(block["mimeType"], "image/png");
                assert_eq!(block["data"], STANDARD.encode(PNG));
                return;
            }
            assert_eq!(block["type"], "text", "{name}: {result}");
            let text = block["text"].as_str().expect("a text");
            for part in parts {
                assert!(text.contains(part), "{name}: {part:?} is not in {text}");
            }
            if let Some(data) = result["structuredContent"].as_object() {
                assert_eq!(data["output"], block["text"], "{name}");
            }
        }
        Err(kind) => {
            assert_eq!(result["isError"], true, "{name}: {result}");
            let data = json!({"error": result["content"][0]["text"], "errorType": kind});
            let expected = if has_asked { data } else { Value::Null };
            assert_eq!(result["structuredContent"], expected, "{result}");
        }
    }
}

/// What the calls must have done.
fn check_files(ws: &Workspace) {
    let read = |path: String| std::fs::read_to_string(path).expect("a file");
    assert_eq!(read(ws.path("a.txt")), "four\n");
    assert_eq!(read(ws.path("b.txt")), "y\n");
}

fn check_memory(ws: &Workspace) {
    let memory = std::fs::read_to_string(ws.root().join("home/.gemini/GEMINI.md"));
    assert!(memory.expect("a file").contains("- tests pass\n"));
}

fn check(found: &Value) {
    assert_eq!(found["version"]["name"], "gemini-tools");
    assert_eq!(names_in(&found["tools"]), called(), "every tool is called");
    let results = found["results"].as_array().expect("a list");
    assert_eq!(results.len(), calls().len());
    for ((name, args, expected), result) in calls().into_iter().zip(results) {
        check_result(name, &args, expected, result, true);
    }
    let progress = found["progress"].to_string();
    assert!(
        progress.contains("run_shell_command") && progress.contains("four"),
        "{progress}"
    );
    assert_eq!(found["cancelled"], true);
}

#[test]
fn the_official_client_lists_and_calls_every_tool_on_standard_streams() {
    let (Some(packages), Some(api)) = (packages(), api()) else {
        return;
    };
    let ws = workspace();
    let program = executable("serve_tools");
    let way = ["stdio", program.to_str().expect("UTF-8")];
    let found = with_client(&ws, &packages, &way, &Value::Null, &api);
    check(&found);
    check_files(&ws);
    check_memory(&ws);
    // The client is taken to have asked.
    assert_eq!(found["asked"], json!([]));
}

#[test]
fn the_official_client_lists_and_calls_every_tool_by_http_and_its_roots_are_followed() {
    let (Some(packages), Some(api)) = (packages(), api()) else {
        return;
    };
    let ws = workspace();
    let elsewhere = Workspace::new();
    let args = [
        "--http",
        "127.0.0.1:0",
        "--approval-mode",
        "default",
        "--structured-content",
    ];
    let call = elsewhere
        .program(&executable("serve_tools"), &args)
        .env("GEMINI_TOOLS_SERVE_TOKEN", TOKEN);
    let call = variables(&api)
        .iter()
        .fold(call, |call, (name, value)| call.env(name, value));
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
    let way = ["http", address, TOKEN];
    let found = with_client(&ws, &packages, &way, &roots, &api);
    check(&found);
    check_files(&ws);
    check_memory(&elsewhere);
    let asked = found["asked"].as_array().expect("questions");
    let asked: Vec<&str> = asked
        .iter()
        .filter_map(|message| message.as_str()?.strip_prefix("May ")?.split(' ').next())
        .collect();
    // The last one is cancelled.
    assert_eq!(asked[..asked.len() - 1], ASKED_ABOUT, "{found}");
    assert_eq!(asked.last(), Some(&"run_shell_command"));
}

#[test]
fn the_inspector_lists_and_calls_every_tool() {
    let (Some(packages), Some(api)) = (packages(), api()) else {
        return;
    };
    let ws = workspace();
    let inspector = packages.join("inspector/clients/launcher/build/index.js");
    let inspect = |more: &[&str]| {
        let program = executable("serve_tools");
        let mut args: Vec<String> = vec![
            inspector.display().to_string(),
            "--cli".to_owned(),
            program.display().to_string(),
        ];
        for (name, value) in variables(&api) {
            args.extend(["-e".to_owned(), format!("{name}={value}")]);
        }
        args.extend(more.iter().map(|&word| word.to_owned()));
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let output = ws.program(Path::new("node"), &args).command().output();
        let output = output.expect("node is installed");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        serde_json::from_str::<Value>(&text)
            .unwrap_or_else(|e| panic!("{more:?}: {e}: {text}{said}"))
    };
    let listed = inspect(&["--method", "tools/list"]);
    let mut declared = called();
    // No memory file of it is known.
    assert!(declared.remove("save_memory"));
    assert_eq!(names_in(&listed["tools"]), declared);
    let mut pid = String::new();
    let declared = |(name, ..): &(&str, Value, Expected)| *name != "save_memory";
    for (name, args, expected) in calls().into_iter().filter(declared) {
        let pairs: Vec<String> = args
            .as_object()
            .expect("an object")
            .iter()
            .map(|(key, value)| match value {
                Value::String(text) => format!("{key}={}", text.replace(PID, &pid)),
                other => format!("{key}={other}"),
            })
            .collect();
        let mut words = vec!["--method", "tools/call", "--tool-name", name];
        for pair in &pairs {
            words.extend(["--tool-arg", pair]);
        }
        let result = inspect(&words);
        check_result(name, &args, expected, &result, false);
        let text = result["content"][0]["text"].as_str().unwrap_or_default();
        if let Some((_, rest)) = text.split_once("Background PIDs: ") {
            pid = rest.chars().take_while(char::is_ascii_digit).collect();
        }
    }
    check_files(&ws);
}
