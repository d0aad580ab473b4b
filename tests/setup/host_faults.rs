//! `get_tools doctor --host`: a sound set-up has no faults, and each broken one is told with its
//! cause and its remedy.

use std::fs;

use serde_json::{Value, json};

use super::hosts::installed;
use crate::harness::{Answer, Workspace, executable, set_mode};

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

fn qwen(mut entry: Value, more: Value) -> String {
    entry["alwaysLoadTools"] = true.into();
    let mut settings = more;
    settings["mcpServers"]["gemini-tools"] = entry;
    settings.to_string()
}

fn codex(lines: &str) -> String {
    format!("[mcp_servers.gemini-tools]\n{lines}")
}

/// A program with a host's name and version, as npm installs it; returns its directory.
fn install_host(ws: &Workspace, name: &str, package: &str, version: &str) -> String {
    let directory = ws.root().join("out/node_modules/host");
    fs::create_dir_all(&directory).expect("a directory");
    let program = directory.join(name);
    fs::write(&program, "#!/bin/sh\n").expect("written");
    set_mode(&program, 0o755);
    let package = json!({"name": package, "version": version}).to_string();
    fs::write(directory.join("package.json"), package).expect("written");
    let own = executable("get_tools");
    let own = own.parent().expect("a directory").display();
    format!("{own}:{}:/usr/bin:/bin", directory.display())
}

#[test]
fn what_init_sets_up_has_no_faults() {
    for host in ["qwen", "claude", "codex", "cursor", "vscode", "agy"] {
        let ws = Workspace::new();
        let done = installed(&ws, &["init", "--yes", "--host", host]).run();
        assert_eq!(done.status(), 0, "{}", done.shown());
        for args in [&["--host", host][..], &[]] {
            let answer = doctor(&ws, args, &[]);
            assert_eq!(findings(&answer), Vec::<Value>::new(), "{host} {args:?}");
            assert_eq!(answer.status(), 0, "{host}");
            let facts = answer.json()["facts"].to_string();
            let is_tried = ["qwen", "claude", "codex"].contains(&host);
            for fact in ["list_directory works", "asks: ", "project's file: "] {
                assert!(
                    facts.contains(fact) || host == "agy",
                    "{host}: {fact}: {facts}"
                );
            }
            for fact in ["long answers: ", "variables: "] {
                assert_eq!(facts.contains(fact), is_tried, "{host}: {fact}: {facts}");
            }
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
fn a_call_to_try_is_refused_for_other_hosts() {
    let ws = Workspace::new();
    let answer = installed(&ws, &["doctor", "--host", "codex", "--try", "glob"]).run();
    assert_eq!(answer.status(), 2, "{}", answer.shown());
    answer.must_say(
        &answer.errors(),
        &["--try", "leave it out with --host codex"],
    );
}

#[test]
fn broken_set_ups_of_the_pair_in_gemini_cli_are_told_with_cause_and_remedy() {
    let pair =
        |discovery: &str, call: &str| json!({"discoveryCommand": discovery, "callCommand": call});
    let sound = || pair("get_tools", "call_tool");
    let with = |key: &str, names: Value| {
        let mut tools = sound();
        tools[key] = names;
        tools
    };
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
            "no-call-command",
            &["callCommand"],
        ),
        (
            pair("get_tools", "call_tool --root /usr"),
            None,
            "call-arguments",
            &["the path of one program", "Name a script"],
        ),
        (
            pair("get_tools", "./call"),
            Some(elsewhere),
            "call-root",
            &["/usr", "Take --root out"],
        ),
        (
            with("exclude", json!(["read_file", "GlobTool"])),
            None,
            "tools-left-out",
            &["glob, read_file", "get_tools config"],
        ),
        (
            with("core", json!(["ReadFileTool"])),
            None,
            "tools-left-out",
            &["write_file", "Change the list"],
        ),
        (
            pair("get_tools", "./call"),
            Some(wrapper("echo warming up >&2")),
            "call-stderr",
            &["warming up", "Write nothing there"],
        ),
        (sound(), None, "no-rule", &["get_tools init writes one"]),
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
    for (version, is_old) in [("0.2.4", true), ("0.8.2", false)] {
        let path = install_host(&ws, "gemini", "@google/gemini-cli", version);
        let answer = doctor(&ws, &["--host", "gemini"], &[("PATH", &path)]);
        if is_old {
            finds(&answer, "host-old", &["0.3", "npm install"]);
        } else {
            assert!(
                !findings(&answer)
                    .iter()
                    .any(|one| one["code"] == "host-old")
            );
        }
    }
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
            "tilde",
            &["Write the whole path"],
        ),
        (
            entry("get_tools"),
            "commands-swapped",
            &["The command is get_tools", "get_tools init --host claude"],
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
            claude(json!({"command": "sh", "args": ["-c", "echo warming up; exec serve_tools"]})),
            "host-noise",
            &["warming up", "standard error"],
        ),
        (
            claude(json!({"command": "serve_tools", "args": ["--root", "/usr"]})),
            "host-root",
            &["--root /usr", "Take --root out"],
        ),
        (
            claude(json!({"command": "serve_tools", "timeout": 5000})),
            "host-timeout",
            &["timeout is 5000"],
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
    let sound = Workspace::new().file(PROJECT, entry("serve_tools"));
    let ws = sound.file(
        ".claude/settings.local.json",
        r#"{"disabledMcpjsonServers": ["gemini-tools"]}"#,
    );
    let answer = doctor(&ws, &["--host", "claude"], &[]);
    finds(
        &answer,
        "host-server-off",
        &["settings.local.json", "disabledMcpjsonServers"],
    );
    let denied =
        json!({"permissions": {"deny": ["mcp__gemini-tools__read_file", "Bash"]}}).to_string();
    let ws = Workspace::new()
        .file(PROJECT, entry("serve_tools"))
        .home(".claude/settings.json", denied);
    let answer = doctor(&ws, &["--host", "claude"], &[]);
    finds(
        &answer,
        "host-tools-left-out",
        &["mcp__gemini-tools__read_file", "Take it out"],
    );
    let ws = Workspace::new();
    let off = json!({"mcpServers": {"gemini-tools": {"command": "serve_tools"}},
        "projects": {ws.path("").trim_end_matches('/'): {"disabledMcpServers": ["gemini-tools"]}}});
    let ws = ws.home(".claude.json", off.to_string());
    let answer = doctor(&ws, &["--host", "claude"], &[]);
    finds(
        &answer,
        "host-server-off",
        &[".claude.json", "disabledMcpServers"],
    );
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
    let with = |more: &str| codex(&format!("{sound}{more}"));
    for (text, code, pieces) in [
        (
            format!("x = \n{}", codex(sound)),
            "host-unreadable",
            &["line 1", "Correct the file"][..],
        ),
        (
            with("enabled = false\n"),
            "host-server-off",
            &["enabled = false", "Correct that"],
        ),
        (
            with("enabled_tools = [\"glob\"]\n"),
            "host-tools-left-out",
            &["enabled_tools"],
        ),
        (
            with("disabled_tools = [\"glob\"]\n"),
            "host-tools-left-out",
            &["disabled_tools"],
        ),
        (
            with("default_tools_approval_mode = \"prompt\"\n"),
            "host-approval",
            &["codex exec refuses every call"],
        ),
        (
            format!("approval_policy = \"never\"\n{}", codex(sound)),
            "host-approval",
            &["approval_policy", "on-request"],
        ),
        (
            with("tool_timeout_sec = 5\n"),
            "host-timeout",
            &["tool_timeout_sec is 5"],
        ),
        (
            with("cwd = \"/\"\nargs = [\"--root=usr\"]\n"),
            "host-root",
            &["--root usr"],
        ),
    ] {
        let ws = Workspace::new().home(CODEX, text);
        let answer = doctor(&ws, &["--host", "codex"], &[]);
        finds(&answer, code, pieces);
    }
    let ws = Workspace::new().home(CODEX, codex(sound));
    let variables = [
        ("GEMINI_TOOLS_SANDBOX", "read-only"),
        ("GEMINI_API_KEY", "k"),
    ];
    let answer = doctor(&ws, &["--host", "codex"], &variables);
    finds(
        &answer,
        "not-handed-on",
        &["GEMINI_TOOLS_SANDBOX", "env_vars", "\"error\""],
    );
    finds(
        &answer,
        "not-handed-on",
        &["GEMINI_API_KEY", "env_vars", "\"warning\""],
    );
    let listed = "env_vars = [\"GEMINI_API_KEY\", { name = \"GEMINI_TOOLS_SANDBOX\" }]\n";
    let ws = Workspace::new().home(CODEX, with(listed));
    assert_eq!(
        findings(&doctor(&ws, &["--host", "codex"], &variables)),
        Vec::<Value>::new()
    );
    let ws = Workspace::new().file(CODEX, codex(sound));
    finds(
        &doctor(&ws, &["--host", "codex"], &[]),
        "host-untrusted",
        &["trust the folder", "--host codex"],
    );
    let trusted = format!(
        "[projects.\"{}\"]\ntrust_level = \"trusted\"\n",
        ws.dir().display()
    );
    let ws = ws.home(CODEX, trusted);
    assert_eq!(
        findings(&doctor(&ws, &["--host", "codex"], &[])),
        Vec::<Value>::new()
    );
    let ws = ws.home(CODEX, codex(sound));
    finds(
        &doctor(&ws, &["--host", "codex"], &[]),
        "host-twice",
        &["Take one of the two out"],
    );
}

#[test]
fn broken_set_ups_of_qwen_code_are_told_with_cause_and_remedy() {
    let entry = || json!({"command": "serve_tools"});
    for (text, code, pieces) in [
        (
            claude(entry()),
            "host-tools-late",
            &["alwaysLoadTools", "get_tools init --host qwen"][..],
        ),
        (
            qwen(json!({"command": "serve_tools", "trust": true}), json!({})),
            "host-approval",
            &["plan mode", "permissions.allow"],
        ),
        (
            qwen(
                json!({"command": "serve_tools", "excludeTools": ["glob"]}),
                json!({}),
            ),
            "host-tools-left-out",
            &["excludeTools"],
        ),
        (
            qwen(
                entry(),
                json!({"permissions": {"deny": ["mcp__gemini-tools"]}}),
            ),
            "host-tools-left-out",
            &["permissions.deny", "mcp__gemini-tools"],
        ),
        (
            qwen(entry(), json!({"mcp": {"excluded": ["gemini-tools"]}})),
            "host-server-off",
            &["mcp.excluded"],
        ),
        (
            qwen(entry(), json!({"mcp": {"allowed": ["other"]}})),
            "host-server-off",
            &["mcp.allowed"],
        ),
        (
            qwen(
                entry(),
                json!({"security": {"folderTrust": {"enabled": true}}}),
            ),
            "host-untrusted",
            &["trust the folder"],
        ),
        (
            qwen(json!({"command": "/usr"}), json!({})),
            "program-not-executable",
            &["/usr is a directory"],
        ),
        (
            qwen(json!({"command": "cat"}), json!({})),
            "host-server-fails",
            &["initialize"],
        ),
        (
            json!({"tools": {"discoveryCommand": "get_tools", "callCommand": "call_tool"}})
                .to_string(),
            "qwen-pair",
            &[
                "QWEN_CODE_LEGACY_MCP_BLOCKING",
                "get_tools init --host qwen",
            ],
        ),
    ] {
        let ws = Workspace::new().home(QWEN, text);
        finds(&doctor(&ws, &["--host", "qwen"], &[]), code, pieces);
    }
    let ws = Workspace::new();
    let trusted = json!({ws.path("").trim_end_matches('/'): "TRUST_FOLDER"}).to_string();
    let text = qwen(
        entry(),
        json!({"security": {"folderTrust": {"enabled": true}}}),
    );
    let ws = ws
        .home(QWEN, text)
        .home(".qwen/trustedFolders.json", trusted);
    assert_eq!(
        findings(&doctor(&ws, &["--host", "qwen"], &[])),
        Vec::<Value>::new()
    );
    let path = install_host(&ws, "qwen", "@qwen-code/qwen-code", "0.14.2");
    let answer = doctor(&ws, &["--host", "qwen"], &[("PATH", &path)]);
    finds(&answer, "host-old", &["0.24.4", "Update it"]);
    let path = install_host(&ws, "qwen", "@qwen-code/qwen-code", "0.24.9");
    let answer = doctor(&ws, &["--host", "qwen"], &[("PATH", &path)]);
    assert_eq!(findings(&answer), Vec::<Value>::new());
    assert!(
        answer.json()["facts"].to_string().contains("0.24.9"),
        "{}",
        answer.shown()
    );
}

#[test]
fn settings_of_qwen_code_that_change_its_modes_are_told() {
    let entry = || json!({"command": "serve_tools"});
    for (text, code, pieces) in [
        (
            qwen(
                entry(),
                json!({"permissions": {"allow": ["mcp__gemini-tools__glob", "mcp__gemini-tools__replace"]}}),
            ),
            "host-plan-mode",
            &["mcp__gemini-tools__replace", "plan mode too"],
        ),
        (
            qwen(
                entry(),
                json!({"tools": {"executionSandbox": {"filesystem": "workspace-write"}}}),
            ),
            "host-sandbox",
            &["tools.executionSandbox", "qwen ends"],
        ),
        (
            qwen(
                json!({"command": "serve_tools", "timeout": 2000}),
                json!({}),
            ),
            "host-timeout",
            &["timeout is 2000", "Take it out"],
        ),
    ] {
        let ws = Workspace::new().home(QWEN, text);
        finds(&doctor(&ws, &["--host", "qwen"], &[]), code, pieces);
    }
}

#[test]
fn programs_of_a_project_that_is_not_trusted_are_not_started() {
    for entry in [
        json!({"command": "./touch", "args": ["serve_tools"]}),
        json!({"command": "serve_tools", "env": {"LD_PRELOAD": "x"}}),
        json!({"command": "serve_tools", "cwd": "/"}),
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
            &["initialize with a line of more than 32 MiB"],
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
