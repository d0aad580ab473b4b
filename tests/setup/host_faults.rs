//! `get_tools doctor --host`: a sound set-up has no faults, and each broken one is told with its
//! cause and its remedy.

use std::fs;

use serde_json::{Value, json};

use super::hosts::{Fixture, installed};
use crate::harness::{Answer, Workspace, set_mode};

const PROJECT: &str = ".mcp.json";
const CODEX: &str = ".codex/config.toml";
const QWEN: &str = ".qwen/settings.json";

pub(crate) fn doctor(ws: &Workspace, args: &[&str], variables: &[(&str, &str)]) -> Answer {
    let call = installed(ws, &["doctor", "--json"]).flags(args);
    let mut call = call.env("GEMINI_CLI_TRUST_WORKSPACE", "true");
    for (name, value) in variables {
        call = call.env(name, value);
    }
    call.run()
}

pub(crate) fn findings(answer: &Answer) -> Vec<Value> {
    answer.json()["findings"]
        .as_array()
        .expect("a list")
        .clone()
}

/// Asserts that a finding of this code has all of the pieces, and that it says why and what to do.
#[track_caller]
pub(crate) fn finds(answer: &Answer, code: &str, pieces: &[&str]) {
    let all = findings(answer);
    let of_code = all.iter().filter(|one| one["code"] == code);
    let has_all = |one: &&Value| {
        let said = one.to_string();
        let is_whole = ["message", "why", "help"].iter().all(|key| one[*key] != "");
        is_whole && pieces.iter().all(|piece| said.contains(piece))
    };
    assert!(
        of_code.clone().any(|one| has_all(&one)),
        "{code} {pieces:?}: {all:#?}"
    );
    let has_errors = all.iter().any(|one| one["severity"] == "error");
    assert_eq!(answer.status(), i32::from(has_errors), "{}", answer.shown());
}

fn claude(entry: Value) -> String {
    let mut settings = json!({"mcpServers": {}});
    settings["mcpServers"]["gemini-tools"] = entry;
    settings.to_string()
}

fn codex(lines: &str) -> String {
    format!("[mcp_servers.gemini-tools]\n{lines}")
}

#[test]
fn what_init_sets_up_has_no_faults() {
    for fixture in Fixture::all() {
        let host = &*fixture.host;
        let ws = Workspace::new();
        let done = installed(&ws, &["init", "--yes", "--host", host]).run();
        assert_eq!(done.status(), 0, "{}", done.shown());
        for args in [&["--host", host][..], &[]] {
            let answer = doctor(&ws, args, &[]);
            assert_eq!(findings(&answer), Vec::<Value>::new(), "{host} {args:?}");
            assert_eq!(answer.status(), 0, "{host}");
            let facts = answer.json()["facts"].to_string();
            assert!(facts.contains("list_directory works"), "{host}: {facts}");
        }
    }
}

#[test]
fn all_hosts_that_are_set_up_are_checked_and_a_host_that_is_not_is_told_how() {
    let ws = Workspace::new();
    for host in ["claude", "codex"] {
        let done = installed(&ws, &["init", "--yes", "--host", host]).run();
        assert_eq!(done.status(), 0, "{}", done.shown());
    }
    let text = installed(&ws, &["doctor"]).run();
    text.must_say(
        text.text(),
        &["Claude Code ", "Codex ", "No problems found."],
    );
    assert!(!text.text().contains("Qwen Code"), "{}", text.shown());
    let answer = doctor(&ws, &["--host", "qwen"], &[]);
    finds(&answer, "host-not-set-up", &["get_tools init --host qwen"]);
    let answer = doctor(&ws, &["--host", "gemini"], &[]);
    finds(&answer, "no-commands", &["get_tools init"]);
}

#[test]
fn a_folder_whose_settings_codex_ignores_is_told() {
    let ws = Workspace::new().git();
    let done = installed(&ws, &["init", "--yes", "--host", "codex", "--project"]).run();
    assert_eq!(done.status(), 0, "{}", done.shown());
    let check = || doctor(&ws, &["--host", "codex"], &[]);
    finds(
        &check(),
        "host-untrusted",
        &["does not trust", "get_tools init --host codex --user"],
    );
    for (level, is_trusted) in [("untrusted", false), ("trusted", true)] {
        let root = ws.dir();
        let text = format!("[projects.{root:?}]\ntrust_level = {level:?}\n");
        let users = ws.root().join("home/.codex");
        fs::create_dir_all(&users).expect("a directory");
        fs::write(users.join("config.toml"), text).expect("a file");
        let found = findings(&check()).len();
        assert_eq!(found, usize::from(!is_trusted), "{level}");
    }
}

#[test]
fn broken_set_ups_of_the_pair_in_gemini_cli_are_told_with_cause_and_remedy() {
    let pair =
        |discovery: &str, call: &str| json!({"discoveryCommand": discovery, "callCommand": call});
    let sound = || pair("get_tools", "call_tool");
    let wrapper = |lines: &str| format!("#!/bin/sh\n{lines}\nexec call_tool \"$@\"\n");
    let elsewhere = "#!/bin/sh\nexec call_tool --root /usr \"$@\"\n".to_owned();
    for (tools, script, code, pieces) in [
        (
            pair("/gone/get_tools", "call_tool"),
            None,
            "program-missing",
            &["/gone/get_tools", "Correct the path"][..],
        ),
        (
            json!({"discoveryCommand": "get_tools"}),
            None,
            "no-commands",
            &["callCommand"],
        ),
        (
            pair("get_tools", "call_tool --root /usr"),
            None,
            "program-missing",
            &["call_tool --root /usr", "without ~ and arguments"],
        ),
        (
            pair("get_tools", "./call"),
            Some(elsewhere),
            "call-fails",
            &["list_directory", "is not in the workspace"],
        ),
        (
            pair("get_tools", "./call"),
            Some(wrapper("echo warming up >&2")),
            "call-stderr",
            &["warming up", "Write nothing there"],
        ),
    ] {
        let ws =
            Workspace::new().file(".gemini/settings.json", json!({"tools": tools}).to_string());
        if let Some(script) = &script {
            fs::write(ws.path("call"), script).expect("written");
            set_mode(&ws.dir().join("call"), 0o755);
        }
        finds(&doctor(&ws, &["--host", "gemini"], &[]), code, pieces);
    }
    let settings = json!({"tools": sound()}).to_string();
    let ws = Workspace::new().file(".gemini/settings.json", settings);
    let untrusted = installed(&ws, &["doctor", "--json"]).run();
    finds(&untrusted, "project-untrusted", &["get_tools trust"]);
}

#[test]
fn broken_set_ups_of_claude_code_are_told_with_cause_and_remedy() {
    let entry = |command: &str| claude(json!({"command": command}));
    for (text, code, pieces) in [
        (
            entry("/gone/serve_tools"),
            "program-missing",
            &["/gone/serve_tools", "Correct the path"][..],
        ),
        (
            entry("~/bin/serve_tools"),
            "program-missing",
            &["without ~"],
        ),
        (
            entry("get_tools"),
            "host-server-fails",
            &["initialize", "get_tools init does"],
        ),
        (
            claude(json!({"url": "https://a.example"})),
            "host-no-command",
            &["get_tools init --host claude"],
        ),
        (
            claude(json!({"command": "serve_tools", "args": ["--no-such-option"]})),
            "host-server-fails",
            &["ends before it answers", "--no-such-option"],
        ),
        (
            format!("// mine\n{}", entry("serve_tools")),
            "host-unreadable",
            &["line 1", "Correct the file"],
        ),
    ] {
        let ws = Workspace::new().file(PROJECT, text);
        let answer = doctor(&ws, &["--host", "claude"], &[]);
        finds(&answer, code, pieces);
    }
    // The server reads the same settings: a fault of what restricts is told for each host.
    let ws = Workspace::new()
        .file(PROJECT, entry("serve_tools"))
        .home(".gemini/settings.json", r#"{"tools": {"core": 5}}"#);
    let answer = doctor(&ws, &["--host", "claude"], &[]);
    finds(&answer, "settings-value", &["core", "none may run"]);
    // Without --host, a file that names serve_tools is told of although it can't be read.
    let ws = Workspace::new().file(PROJECT, format!("// mine\n{}", entry("serve_tools")));
    finds(&doctor(&ws, &[], &[]), "host-unreadable", &[PROJECT]);
    // What `claude mcp add` writes is found too.
    let ws = Workspace::new();
    let local = json!({"projects": {ws.path("").trim_end_matches('/'):
        {"mcpServers": {"gemini-tools": {"command": "/gone/serve_tools", "args": [], "env": {}}}}}});
    let ws = ws.home(".claude.json", local.to_string());
    finds(&doctor(&ws, &[], &[]), "program-missing", &[".claude.json"]);
}

#[test]
fn broken_set_ups_of_codex_are_told_with_cause_and_remedy() {
    let sound = "command = \"serve_tools\"\n";
    let ws = Workspace::new().home(CODEX, format!("x = \n{}", codex(sound)));
    let answer = doctor(&ws, &["--host", "codex"], &[]);
    finds(&answer, "host-unreadable", &["line 1", "Correct the file"]);
    let ws = Workspace::new().home(CODEX, codex(sound));
    let variables = [("GEMINI_TOOLS_SANDBOX", "read-only")];
    let answer = doctor(&ws, &["--host", "codex"], &variables);
    finds(
        &answer,
        "not-handed-on",
        &["GEMINI_TOOLS_SANDBOX", "env_vars", "\"error\""],
    );
    let listed = "env_vars = [{ name = \"GEMINI_TOOLS_SANDBOX\" }]\n";
    let ws = Workspace::new().home(CODEX, codex(&format!("{sound}{listed}")));
    assert_eq!(
        findings(&doctor(&ws, &["--host", "codex"], &variables)),
        Vec::<Value>::new()
    );
}

#[test]
fn broken_set_ups_of_qwen_code_are_told_with_cause_and_remedy() {
    for (entry, code, pieces) in [
        (
            json!({"command": "/usr"}),
            "program-not-executable",
            &["/usr is a directory"][..],
        ),
        (
            json!({"command": "cat"}),
            "host-server-fails",
            &["initialize"],
        ),
    ] {
        let ws = Workspace::new().home(QWEN, claude(entry));
        finds(&doctor(&ws, &["--host", "qwen"], &[]), code, pieces);
    }
}

#[test]
fn an_entry_that_is_switched_off_is_told_by_doctor_and_init() {
    let disabled = "\"disabled\": true, \"timeout\"";
    for (host, file, on, off) in [
        (
            "cline",
            ".cline/data/settings/cline_mcp_settings.json",
            "\"timeout\"",
            disabled,
        ),
        (
            "kilo",
            ".config/kilo/kilo.jsonc",
            "\"enabled\": true",
            "\"enabled\": false",
        ),
        (
            "goose",
            ".config/goose/config.yaml",
            "enabled: true",
            "enabled: false",
        ),
        ("codex", CODEX, "env_vars", "enabled = false\nenv_vars"),
    ] {
        let ws = Workspace::new();
        let init = || installed(&ws, &["init", "--user", "--yes", "--host", host]).run();
        assert_eq!(init().status(), 0, "{host}");
        let path = ws.root().join("home").join(file);
        let read = || fs::read_to_string(&path).expect("a file");
        let text = read().replace(on, off);
        fs::write(&path, &text).expect("written");
        finds(
            &doctor(&ws, &["--host", host], &[]),
            "host-off",
            &["switched off"],
        );
        let answer = init();
        answer.must_say(answer.text(), &["is switched off, and stays so"]);
        assert_eq!(read(), text, "{host}");
    }
}

#[test]
fn programs_of_a_project_that_is_not_trusted_are_not_started() {
    for entry in [
        json!({"command": "./touch", "args": ["serve_tools"]}),
        json!({"command": "serve_tools", "env": {"LD_PRELOAD": "x"}}),
        json!({"command": "serve_tools", "cwd": "/"}),
        json!({"command": "serve_tools", "args": ["--root", "/"]}),
    ] {
        let ws = Workspace::new()
            .file("touch", "#!/bin/sh\ntouch was-run\n")
            .mode("touch", 0o755)
            .file(PROJECT, claude(entry));
        let answer = installed(&ws, &["doctor", "--json"]).run();
        finds(
            &answer,
            "project-untrusted",
            &["was not tried", "get_tools"],
        );
        assert!(!ws.dir().join("was-run").exists());
    }
}

/// A server that greets, and then answers in the way of its argument.
const FAKE: &str = r#"#!/usr/bin/env python3
import json, sys
way = sys.argv[1]
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    if way == "endless":
        while True:
            sys.stdout.write("x" * 1000000)
    answer = {"jsonrpc": "2.0", "id": asked["id"], "result": {}}
    if asked["method"] == "tools/list":
        tools = [] if way == "empty" else [{"name": "list_directory", "inputSchema": {"type": "object"}}]
        answer["result"] = {"tools": tools}
        # A request of the server with the number of ours is no answer.
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "method": "ping"}), flush=True)
    if asked["method"] == "tools/call":
        answer["result"] = {"isError": True, "content": [{"type": "text", "text": "no rights"}]}
    if way == "refuses" or way == "refuses-calls" and asked["method"] == "tools/call":
        del answer["result"]
        answer["error"] = {"code": -32600, "message": "not today"}
    print(json.dumps(answer), flush=True)
"#;

#[test]
fn servers_that_refuse_fail_or_have_no_tools_are_told() {
    for (way, code, pieces) in [
        ("fails", "call-fails", &["list_directory", "no rights"][..]),
        ("refuses-calls", "call-fails", &["not today"]),
        (
            "refuses",
            "host-server-fails",
            &["refuses initialize", "not today"],
        ),
        ("empty", "no-tools", &["get_tools --notes"]),
        (
            "endless",
            "host-server-fails",
            &["ends before it answers initialize"],
        ),
    ] {
        let ws = Workspace::new();
        let entry = json!({"command": ws.path("fake"), "args": [way]});
        let ws = ws
            .file("fake", FAKE)
            .mode("fake", 0o755)
            .file(PROJECT, claude(entry));
        finds(&doctor(&ws, &["--host", "claude"], &[]), code, pieces);
    }
}
