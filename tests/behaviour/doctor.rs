//! `get_tools doctor`: nothing is found in a sound set-up, and each planted fault is.

use serde_json::{Value, json};

use crate::harness::{Answer, Workspace, executable, set_mode};

const SETTINGS: &str = ".gemini/settings.json";

/// A program of one's own that keeps to the contract.
const SOUND: &str = r#"#!/usr/bin/env python3
import json, sys
if len(sys.argv) == 1:
    print(json.dumps([{"name": "greet", "description": "Greets somebody.", "parametersJsonSchema": {
        "type": "object", "properties": {"name": {"type": "string", "description": "Whom."}}}}]))
    sys.exit()
args = json.load(sys.stdin)
if sys.argv[1] != "greet":
    sys.exit("no such tool")
print("hello", args.get("name", ""))
"#;

/// The same without python, whose start takes as long as the machine is busy.
const QUICK: &str = r#"#!/bin/sh
[ $# -gt 0 ] || {
    echo '[{"name": "greet", "description": "Greets somebody.", "parametersJsonSchema": {"type": "object", "properties": {}}}]'
    exit
}
cat >/dev/null
[ "$1" = greet ] || exit 1
echo hello
"#;

fn settings(discovery: &str, call: &str) -> String {
    json!({"tools": {"discoveryCommand": discovery, "callCommand": call}}).to_string()
}

/// A trusted project with somebody's program, and a rule for its tool.
fn with_program(program: &str) -> Workspace {
    let ws = Workspace::new()
        .file("my tools", program)
        .file(SETTINGS, settings("'./my tools'", "./my tools"))
        .home(
            ".gemini/policies/mine.toml",
            "[[rule]]\ntoolName = \"discovered_tool_greet\"\ndecision = \"allow\"\npriority = 100\n",
        );
    set_mode(&ws.dir().join("my tools"), 0o755);
    ws
}

fn doctor(ws: &Workspace, args: &[&str]) -> Answer {
    ws.get_tools(&["doctor"])
        .flags(args)
        .env("GEMINI_CLI_TRUST_WORKSPACE", "true")
        .unwatched()
        .run()
}

fn found(answer: &Answer) -> Vec<String> {
    let report = answer.json();
    let findings = report["findings"].as_array().expect("a list");
    findings
        .iter()
        .map(|f| {
            for key in ["what", "why", "mend", "about"] {
                assert!(!f[key].as_str().expect(key).is_empty(), "{key} of {f}");
            }
            f["id"].as_str().expect("an id").to_owned()
        })
        .collect()
}

#[track_caller]
fn finds(ws: &Workspace, args: &[&str], id: &str) {
    let answer = doctor(ws, &[&["--json"], args].concat());
    let found = found(&answer);
    assert!(found.iter().any(|f| f == id), "{id}: {}", answer.shown());
    let report = answer.json();
    let findings = report["findings"].as_array().expect("a list");
    let has_errors = findings.iter().any(|f| f["grade"] == "error");
    assert_eq!(answer.status(), i32::from(has_errors), "{}", answer.shown());
}

#[test]
fn nothing_is_found_in_a_sound_set_up() {
    let ours = Workspace::new();
    let init = ours.get_tools(&["init", "--yes"]).unwatched().run();
    assert_eq!(init.status(), 0, "{}", init.shown());
    for name in ["get_tools", "call_tool"] {
        // The launcher of the checkout would build what is missing.
        let text = std::fs::read_to_string(ours.dir().join(SETTINGS)).expect("settings");
        let mut value: Value = serde_json::from_str(&text).expect("JSON");
        let key = if name == "get_tools" {
            "discoveryCommand"
        } else {
            "callCommand"
        };
        value["tools"][key] = executable(name).display().to_string().into();
        std::fs::write(ours.dir().join(SETTINGS), value.to_string()).expect("written");
    }
    let theirs = with_program(QUICK);
    for ws in [&ours, &theirs] {
        let answer = ws
            .get_tools(&["doctor"])
            .env("GEMINI_CLI_TRUST_WORKSPACE", "true")
            .unwatched()
            .run();
        assert_eq!(answer.status(), 0, "{}", answer.shown());
        answer.must_say(answer.text(), &["All is well.", "declarations", "sandbox"]);
        assert_eq!(found(&doctor(ws, &["--json"])), Vec::<String>::new());
    }
    let tried = doctor(&theirs, &["--try", "greet={\"name\":\"Ada\"}"]);
    tried.must_say(tried.text(), &["greet: status 0", "All is well."]);
}

#[test]
fn faults_of_settings_are_found() {
    let own = SOUND;
    for (text, id) in [
        ("{", "settings-unreadable"),
        ("{}", "no-commands"),
        (r#"{"tools": {"discoveryCommand": "x"}}"#, "no-call-command"),
        (r#"{"tools": {"callCommand": "x"}}"#, "no-discovery-command"),
        (
            r#"{"toolDiscoveryCommand": "x", "toolCallCommand": "y"}"#,
            "old-names",
        ),
        (
            r#"{"tools": {"discoveryCommand": ["x"], "callCommand": "y"}}"#,
            "command-type",
        ),
    ] {
        let ws = with_program(own).file(SETTINGS, text);
        finds(&ws, &[], id);
    }
    let ws = with_program(own).home(SETTINGS, settings("theirs", "theirs"));
    finds(&ws, &[], "command-overridden");
    let ws = with_program("#!/bin/sh\ntouch ran\n");
    let answer = ws.get_tools(&["doctor", "--json"]).run();
    assert!(found(&answer).contains(&"project-untrusted".to_owned()));
    assert!(!ws.dir().join("ran").exists(), "nothing is run");
}

#[test]
fn commands_that_cannot_be_started_are_found() {
    for (discovery, call, id) in [
        ("'./my tools", "./my tools", "discovery-words"),
        ("'./my tools' | head", "./my tools", "shell-syntax"),
        ("A=1 './my tools'", "./my tools", "shell-syntax"),
        ("~/tools", "./my tools", "tilde"),
        ("no_such_program", "./my tools", "program-missing"),
        ("./nowhere", "./my tools", "program-missing"),
        ("'./my tools'", "./nowhere", "program-missing"),
        ("'./my tools'", "'./my tools'", "call-arguments"),
        ("'./my tools'", "python3 my.py", "call-arguments"),
    ] {
        let ws = with_program(SOUND).file(SETTINGS, settings(discovery, call));
        finds(&ws, &[], id);
    }
    let ws = with_program(SOUND);
    set_mode(&ws.dir().join("my tools"), 0o644);
    finds(&ws, &[], "program-not-executable");
    finds(&with_program("echo '[]'\n"), &[], "no-interpreter");
    finds(
        &with_program("#!/bin/no_such_shell\n"),
        &[],
        "bad-interpreter",
    );
    finds(
        &with_program("#!/usr/bin/env no_such_python\n"),
        &[],
        "bad-interpreter",
    );
    finds(
        &with_program("#!/bin/sh\r\necho '[]'\r\n"),
        &[],
        "bad-interpreter",
    );
}

/// A program whose discovery does something else first, or instead.
fn discovering(lines: &str) -> Workspace {
    with_program(&SOUND.replace(
        "if len(sys.argv) == 1:\n",
        &format!("import os, subprocess, time\nif len(sys.argv) == 1:\n{lines}"),
    ))
}

#[test]
fn faults_of_discovery_are_found() {
    for (lines, id) in [
        ("    sys.exit('broken')\n", "discovery-fails"),
        ("    os.kill(os.getpid(), 9)\n", "discovery-fails"),
        ("    print('Loading...')\n", "discovery-no-json"),
        ("    sys.exit()\n", "discovery-no-json"),
        ("    print('{}'); sys.exit()\n", "discovery-no-array"),
        ("    print('[]'); sys.exit()\n", "no-tools"),
        (
            "    print(json.dumps(['x' * 11_000_000])); sys.exit()\n",
            "discovery-too-large",
        ),
        (
            "    sys.stdout.buffer.write(b'[\"\\xe9\"]'); sys.exit()\n",
            "discovery-encoding",
        ),
        (
            "    print('[' + str(time.time()) + ']'); sys.exit()\n",
            "discovery-changes",
        ),
        ("    time.sleep(1.2)\n", "discovery-slow"),
        (
            "    subprocess.Popen(['sleep', '77'])\n",
            "discovery-background",
        ),
    ] {
        finds(&discovering(lines), &[], id);
    }
}

#[test]
fn faults_of_declarations_are_found() {
    for (declaration, id) in [
        (
            json!({"name": "a", "description": "d", "parameters": {"type": "object", "properties": {"x": {"type": "string"}}}}),
            "parameters-key",
        ),
        (json!({"description": "d"}), "nameless"),
        (json!({"name": "a b", "description": "d"}), "name"),
        (json!({"name": "x".repeat(60), "description": "d"}), "name"),
        (
            json!({"name": "greet", "description": "d"}),
            "duplicate-name",
        ),
        (json!({"name": "a"}), "no-description"),
        (
            json!({"name": "a", "description": "d".repeat(5000)}),
            "long-description",
        ),
        (
            json!({"name": "a", "description": "d\u{e0041}"}),
            "hidden-text",
        ),
        (
            json!({"name": "read_file", "description": "d"}),
            "replaces-built-in",
        ),
        (
            json!({"type": "function", "function": {"name": "a", "description": "d"}}),
            "foreign-wrapper",
        ),
        (
            json!({"name": "a", "description": "d", "parametersJsonSchema": {"type": "object", "properties": {"x": {"type": "string", "description": "y".repeat(90_000)}}}}),
            "many-tokens",
        ),
    ] {
        let program = SOUND.replace(
            "json.dumps([",
            &format!(
                "json.dumps([json.loads({}), ",
                json!(declaration.to_string())
            ),
        );
        finds(&with_program(&program), &[], id);
    }
}

#[test]
fn faults_of_calls_are_found() {
    for (from, to, args, id) in [
        (
            "args = json.load(sys.stdin)\n",
            "args = {}\n",
            &[][..],
            "call-leaves-input",
        ),
        (
            "    sys.exit(\"no such tool\")\n",
            "    print('ok'); sys.exit()\n",
            &[],
            "unknown-tool-succeeds",
        ),
        (
            "args = json",
            "import time; time.sleep(0.7)\nargs = json",
            &[],
            "call-slow",
        ),
        (
            "args = json",
            "import time; time.sleep(77)\nargs = json",
            &[],
            "call-hangs",
        ),
        (
            "args = json",
            "import subprocess; subprocess.Popen(['sleep', '77'])\nargs = json",
            &[],
            "call-background",
        ),
        (
            "print(\"hello\"",
            "print('old', file=sys.stderr)\nprint(\"hello\"",
            &["--try", "greet"],
            "call-stderr",
        ),
        (
            "print(\"hello\"",
            "sys.exit('no')\nprint(\"hello\"",
            &["--try", "greet"],
            "call-fails",
        ),
        (
            "print(\"hello\"",
            "print('x' + 'é' * 40_000)\nprint(\"hello\"",
            &["--try", "greet"],
            "call-split-character",
        ),
        (
            "print(\"hello\"",
            "sys.stdout.buffer.write(b'\\xff')\nprint(\"hello\"",
            &["--try", "greet"],
            "call-encoding",
        ),
        (
            "print(\"hello\"",
            "print('x' * 300_000)\nprint(\"hello\"",
            &["--try", "greet"],
            "call-floods",
        ),
    ] {
        let program = SOUND.replace(from, to);
        assert_ne!(program, SOUND);
        finds(&with_program(&program), args, id);
    }
}

#[test]
fn faults_around_it_are_found() {
    let rule = |name: &str| {
        format!("[[rule]]\ntoolName = \"{name}\"\ndecision = \"allow\"\npriority = 100\n")
    };
    let policy = ".gemini/policies/mine.toml";
    finds(
        &with_program(SOUND).home(policy, rule("discovered_tool_*")),
        &[],
        "rule-pattern",
    );
    finds(
        &with_program(SOUND).home(policy, rule("discovered_tool_greets")),
        &[],
        "rule-unknown-tool",
    );
    finds(
        &with_program(SOUND).home(policy, rule("other")),
        &[],
        "no-rule",
    );
    finds(
        &with_program(SOUND).home(policy, "[[rule]\n"),
        &[],
        "policy-unreadable",
    );
    finds(
        &with_program(SOUND).file(policy, rule("greet")),
        &[],
        "project-policies",
    );
    finds(
        &with_program(SOUND).file(".gemini/tools/x.toml", "description = 1\n"),
        &[],
        "manifest",
    );
    let server = json!({"tools": {"discoveryCommand": "'./my tools'", "callCommand": "./my tools"}, "mcpServers": {"s": {"command": "no_such_server"}}});
    finds(
        &with_program(SOUND).file(SETTINGS, server.to_string()),
        &[],
        "server-missing",
    );
    let old = with_program(SOUND).file("bin/gemini", "#!/bin/sh\n").file(
        "package.json",
        "{\"name\": \"@google/gemini-cli\", \"version\": \"0.1.9\"}",
    );
    set_mode(&old.dir().join("bin/gemini"), 0o755);
    let path = format!("{}:/usr/bin:/bin", old.dir().join("bin").display());
    let answer = old
        .get_tools(&["doctor", "--json"])
        .env("GEMINI_CLI_TRUST_WORKSPACE", "true")
        .env("PATH", &path)
        .unwatched()
        .run();
    assert!(
        found(&answer).contains(&"old-host".to_owned()),
        "{}",
        answer.shown()
    );
}

#[test]
fn nothing_that_was_started_is_left() {
    let ws = discovering("    subprocess.Popen(['sleep', '7717'], start_new_session=True)\n");
    finds(&ws, &[], "discovery-background");
    let left = std::process::Command::new("pgrep")
        .args(["-f", "^sleep 7717"])
        .output()
        .expect("pgrep");
    assert!(left.stdout.is_empty());
}

#[test]
fn a_call_to_try_must_be_a_name_and_an_object() {
    let ws = with_program(SOUND);
    for (text, reason) in [
        ("greet=[]", "must be a JSON object"),
        ("greet={", "are no JSON"),
    ] {
        let answer = doctor(&ws, &["--try", text]);
        assert_eq!(answer.status(), 2);
        let said = answer.errors();
        answer.must_say(&said, &[reason]);
    }
}
