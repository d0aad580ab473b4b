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

/// A trusted project with a user's program, and a rule for its tool.
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

/// The findings of this name, and what they say.
fn told(ws: &Workspace, id: &str) -> Vec<Value> {
    let answer = doctor(ws, &["--json"]);
    let report = answer.json();
    let findings = report["findings"].as_array().expect("a list").clone();
    findings.into_iter().filter(|f| f["code"] == id).collect()
}

/// Asserts that this is not among what is found.
#[track_caller]
fn finds_no(ws: &Workspace, id: &str) {
    assert_eq!(told(ws, id), Vec::<Value>::new());
}

fn found(answer: &Answer) -> Vec<String> {
    let report = answer.json();
    let findings = report["findings"].as_array().expect("a list");
    findings
        .iter()
        .map(|f| {
            for key in ["message", "why", "help"] {
                assert!(!f[key].as_str().expect(key).is_empty(), "{key} of {f}");
            }
            f["code"].as_str().expect("a code").to_owned()
        })
        .collect()
}

#[track_caller]
fn finds(ws: &Workspace, id: &str) {
    let answer = doctor(ws, &["--json"]);
    let found = found(&answer);
    assert!(found.iter().any(|f| f == id), "{id}: {}", answer.shown());
    let report = answer.json();
    let findings = report["findings"].as_array().expect("a list");
    let has_errors = findings.iter().any(|f| f["severity"] == "error");
    assert_eq!(answer.status(), i32::from(has_errors), "{}", answer.shown());
}

/// Asserts that each of these is found, three at a time: some wait for a program that hangs.
fn finds_each(cases: &[(Workspace, &str)]) {
    std::thread::scope(|scope| {
        for cases in cases.chunks(cases.len().div_ceil(3)) {
            scope.spawn(move || {
                for (ws, id) in cases {
                    finds(ws, id);
                }
            });
        }
    });
}

/// Our own pair as `init` sets it up.
fn with_ours() -> Workspace {
    let ours = Workspace::new();
    let init = ours
        .get_tools(&["init", "--yes", "--trust"])
        .unwatched()
        .run();
    assert_eq!(init.status(), 0, "{}", init.shown());
    for name in ["get_tools", "call_tool"] {
        // The launcher of the checkout would build what is missing.
        let text = std::fs::read_to_string(ours.dir().join(SETTINGS)).expect("settings");
        let mut value: Value = serde_json::from_str(&text).expect("JSON");
        let path = executable(name).display().to_string();
        if name == "get_tools" {
            let line = shlex::try_quote(&path).expect("a path");
            value["tools"]["discoveryCommand"] = (*line).into();
        } else {
            value["tools"]["callCommand"] = path.into();
        }
        std::fs::write(ours.dir().join(SETTINGS), value.to_string()).expect("written");
    }
    ours
}

/// What is said of this fact; empty where it is not told.
fn fact(ws: &Workspace, name: &str) -> String {
    let report = doctor(ws, &["--json"]).json();
    let facts = report["facts"].as_array().expect("a list");
    let found = facts.iter().find(|fact| fact["name"] == name);
    found.map_or(String::new(), |fact| {
        fact["text"].as_str().expect("words").to_owned()
    })
}

#[test]
fn nothing_is_found_in_a_sound_set_up() {
    let ours = with_ours();
    let theirs = with_program(QUICK);
    for ws in [&ours, &theirs] {
        let answer = ws
            .get_tools(&["doctor"])
            .env("GEMINI_CLI_TRUST_WORKSPACE", "true")
            .unwatched()
            .run();
        assert_eq!(answer.status(), 0, "{}", answer.shown());
        answer.must_say(
            answer.text(),
            &["No problems found.", "declarations", "project"],
        );
        assert_eq!(found(&doctor(ws, &["--json"])), Vec::<String>::new());
    }
}

#[test]
fn faults_of_settings_are_found() {
    let own = SOUND;
    for (text, id) in [
        ("{", "settings-unreadable"),
        ("{}", "no-commands"),
        (r#"{"tools": {"discoveryCommand": "x"}}"#, "no-commands"),
        (r#"{"tools": {"callCommand": "x"}}"#, "no-commands"),
        (
            r#"{"tools": {"discoveryCommand": ["x"], "callCommand": "y"}}"#,
            "no-commands",
        ),
    ] {
        let ws = with_program(own).file(SETTINGS, text);
        finds(&ws, id);
    }
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
        ("~/tools", "./my tools", "program-missing"),
        ("no_such_program", "./my tools", "program-missing"),
        ("'./my tools' --only read_*", "./my tools", "shell-syntax"),
        ("'./my tools' \\*", "./my tools", "shell-syntax"),
        ("'./my tools' 2>/dev/null", "./my tools", "shell-syntax"),
        ("(x)", "./my tools", "shell-syntax"),
        ("a|b", "./my tools", "shell-syntax"),
        ("'./my tools' # mine", "./my tools", "shell-syntax"),
        ("./nowhere", "./my tools", "program-missing"),
        ("'./my tools'", "./nowhere", "program-missing"),
        ("'./my tools'", "'./my tools'", "program-missing"),
        ("'./my tools'", "python3 my.py", "program-missing"),
    ] {
        let ws = with_program(SOUND).file(SETTINGS, settings(discovery, call));
        finds(&ws, id);
    }
    let ws = with_program(SOUND);
    set_mode(&ws.dir().join("my tools"), 0o644);
    finds(&ws, "program-not-executable");
    finds(&with_program("#!/bin/no_such_shell\n"), "not-started");
}

#[test]
fn what_is_no_word_for_the_host_is_named_and_what_is_quoted_is_none() {
    for (discovery, piece) in [
        ("'./my tools' --only read_*", "'*'"),
        ("'./my tools' 2>/dev/null", "'>'"),
        ("'./my tools' a#b", "'#'"),
    ] {
        let ws = with_program(QUICK).file(SETTINGS, settings(discovery, "./my tools"));
        let told = told(&ws, "shell-syntax");
        assert!(
            told[0]["message"]
                .as_str()
                .is_some_and(|what| what.contains(piece)),
            "{told:?}"
        );
    }
    let program = QUICK.replace(
        "[ $# -gt 0 ] ||",
        "[ \"$1\" = greet ] || [ \"${1#gemini}\" != \"$1\" ] ||",
    );
    assert_ne!(program, QUICK);
    for quoted in ["'*?'", "\"a|b\"", "a\\;b", "'#'", "[x]", "{a,b}"] {
        let discovery = format!("'./my tools' {quoted}");
        let ws = with_program(&program).file(SETTINGS, settings(&discovery, "./my tools"));
        assert_eq!(
            found(&doctor(&ws, &["--json"])),
            Vec::<String>::new(),
            "{quoted}"
        );
    }
}

#[test]
fn settings_that_the_host_refuses_are_no_good_ones_and_the_line_is_told() {
    for (text, line) in [
        ("{\n  \"a\": 1,\n}", "line 2"),
        ("{\n'a': 1}", "line 2"),
        ("{\na: 1}", "line 2"),
        ("{\"a\": 0x10}", "line 1"),
        ("\u{feff}{}", "line 1"),
        ("// nothing\n", "line 1"),
        ("", "line 1"),
    ] {
        let ws = with_program(QUICK).home(SETTINGS, text);
        let told = told(&ws, "settings-unreadable");
        assert_eq!(told.len(), 1, "{text}: {told:?}");
        assert!(
            told[0]["message"]
                .as_str()
                .is_some_and(|what| what.contains(line)),
            "{told:?}"
        );
        assert_eq!(told[0]["severity"], "error");
    }
    let ws = with_program(QUICK).home(SETTINGS, "{ // one\n  /* two */ \"a\": 1e3 }\n");
    assert_eq!(found(&doctor(&ws, &["--json"])), Vec::<String>::new());
}

#[test]
fn a_foreign_command_of_our_name_is_called_for_nothing() {
    let called = "#!/bin/sh\ncat >/dev/null\necho \"$1\" >> called\nexit 1\n";
    let declares = "#!/bin/sh\necho '[{\"name\": \"greet\", \"description\": \"Greets.\"}]'\n";
    let ws = Workspace::new()
        .file("bin/get_tools", declares)
        .file("bin/call_tool", called)
        .file(SETTINGS, settings("bin/get_tools", "bin/call_tool"));
    for name in ["bin/get_tools", "bin/call_tool"] {
        set_mode(&ws.dir().join(name), 0o755);
    }
    let answer = doctor(&ws, &["--json"]);
    let calls = std::fs::read_to_string(ws.dir().join("called")).expect("called");
    for call in calls.lines() {
        let nobody = "gemini_tools_doctor_asks_for_no_tool";
        assert_eq!(call, nobody, "{}", answer.shown());
    }
}

#[test]
fn the_hosts_trust_is_told_apart_from_ours() {
    let ws = with_program(QUICK);
    let trusted = ws.get_tools(&["trust", "--yes"]).unwatched().run();
    assert_eq!(trusted.status(), 0, "{}", trusted.shown());
    let ids = || found(&ws.get_tools(&["doctor", "--json"]).unwatched().run());
    assert_eq!(ids(), ["gemini-untrusted"]);
    let ws = ws.home(
        SETTINGS,
        json!({"security": {"folderTrust": {"enabled": false}}}).to_string(),
    );
    let off = ws.get_tools(&["doctor", "--json"]).unwatched().run();
    assert_eq!(found(&off), Vec::<String>::new());
}

#[test]
fn the_users_commands_are_examined_where_the_project_is_not_trusted() {
    let ws = with_program("#!/bin/sh\ntouch ran\n").home("mine", QUICK);
    let mine = ws
        .dir()
        .join("../home/mine")
        .canonicalize()
        .expect("written");
    set_mode(&mine, 0o755);
    let mine = mine.display().to_string();
    let ws = ws.home(SETTINGS, settings(&format!("'{mine}'"), &mine));
    let answer = ws.get_tools(&["doctor", "--json"]).unwatched().run();
    assert_eq!(found(&answer), ["gemini-untrusted"], "{}", answer.shown());
    let facts = answer.json()["facts"].to_string();
    assert!(
        facts.contains(&mine) && facts.contains("declarations"),
        "{facts}"
    );
    assert!(
        !ws.dir().join("ran").exists(),
        "nothing of the project is run"
    );
}

#[test]
fn what_the_host_takes_is_no_fault_of_discovery() {
    let bom = QUICK.replace("    echo '[", "    printf '\\357\\273\\277'; echo '[");
    assert_ne!(bom, QUICK);
    assert_eq!(
        found(&doctor(&with_program(&bom), &["--json"])),
        Vec::<String>::new()
    );
    let program = |declarations: Value| {
        let text = format!("'{declarations}'");
        let (before, after) = (
            QUICK.find("'[{").expect("it"),
            QUICK.find("]'").expect("it"),
        );
        with_program(&format!(
            "{}{text}{}",
            &QUICK[..before],
            &QUICK[after + 2..]
        ))
    };
    let schema = json!({"type": "object", "properties": {"a": {"type": "string", "description": "d", "format": "email"}}});
    let odd =
        program(json!([{"name": "greet", "description": "d", "parametersJsonSchema": schema}]));
    let format = told(&odd, "keyword");
    assert_eq!(format[0]["severity"], "warning", "{format:?}");
    assert!(!format[0].to_string().contains("taken out"), "{format:?}");
    let beside = program(json!([{"name": "greet", "description": "d",
        "parametersJsonSchema": {"type": "object", "properties": {}}, "parameters": {"type": "object"}}]));
    assert_eq!(told(&beside, "parameters-unused")[0]["severity"], "warning");
    let twice = program(
        json!([{"name": "greet", "description": "one"}, {"name": "greet", "description": "two"}]),
    );
    let twice = told(&twice, "duplicate-name");
    assert!(
        twice[0]["why"]
            .as_str()
            .is_some_and(|why| why.contains("last")),
        "{twice:?}"
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
    let cases = [
        ("    sys.exit('broken')\n", "discovery-fails"),
        ("    os.kill(os.getpid(), 9)\n", "discovery-fails"),
        ("    print('Loading...')\n", "discovery-no-json"),
        ("    sys.exit()\n", "discovery-no-json"),
        ("    print('{}'); sys.exit()\n", "discovery-no-json"),
        ("    print('[]'); sys.exit()\n", "discovery-no-json"),
        (
            "    sys.stdout.buffer.write(b'[\"\\xe9\"]'); sys.exit()\n",
            "discovery-no-json",
        ),
        ("    sys.stdin.read()\n", "hangs"),
        ("    subprocess.Popen(['sleep', '77'])\n", "hangs"),
    ]
    .map(|(lines, id)| (discovering(lines), id));
    finds_each(&cases);
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
            json!({"type": "function", "function": {"name": "a", "description": "d"}}),
            "foreign-wrapper",
        ),
    ] {
        let program = SOUND.replace(
            "json.dumps([",
            &format!(
                "json.dumps([json.loads({}), ",
                json!(declaration.to_string())
            ),
        );
        finds(&with_program(&program), id);
    }
}

#[test]
fn faults_of_calls_are_found() {
    let cases = [
        (
            "args = json.load(sys.stdin)\n",
            "args = {}\n",
            "call-leaves-input",
        ),
        (
            "args = json",
            "import time; time.sleep(77)\nargs = json",
            "hangs",
        ),
        (
            "args = json",
            "import subprocess; subprocess.Popen(['sleep', '77'])\nargs = json",
            "hangs",
        ),
    ]
    .map(|(from, to, id)| {
        let program = SOUND.replace(from, to);
        assert_ne!(program, SOUND);
        (with_program(&program), id)
    });
    finds_each(&cases);
}

#[test]
fn faults_around_it_are_found() {
    let rule = |name: &str| {
        format!("[[rule]]\ntoolName = \"{name}\"\ndecision = \"allow\"\npriority = 100\n")
    };
    let policy = ".gemini/policies/mine.toml";
    finds(
        &with_program(SOUND).home(policy, rule("discovered_tool_greets")),
        "rule-unknown-tool",
    );
    for (key, name, code) in [
        ("exclude", "run_shell_comand", "rule-unknown-tool"),
        ("exclude", "WRITE_FILE", "rule-unknown-tool"),
        ("core", "read_fil", "rule-unknown-tool"),
        (
            "confirmationRequired",
            "discovered_tool_greets",
            "rule-unknown-tool",
        ),
        ("exclude", "write_file(x)", "policy-rule"),
    ] {
        let settings = format!("{{\"tools\": {{\"{key}\": [\"{name}\"]}}}}");
        let listed = with_program(SOUND).home(".gemini/settings.json", settings);
        finds(&listed, code);
    }
    let broken = with_program(SOUND).home(policy, "[[rule]\n");
    finds(&broken, "policy-unreadable");
    let file = broken.root().join("home").join(policy);
    let told_of = &told(&broken, "policy-unreadable")[0]["file"];
    assert_eq!(*told_of, file.display().to_string());
    finds(
        &with_program(SOUND).file(policy, rule("greet")),
        "project-policies",
    );
    // What restricts, and does not count yet, is told with the way to have it count.
    let untrusted = with_program(QUICK).file(policy, rule("greet"));
    let answer = untrusted.get_tools(&["doctor", "--json"]).unwatched().run();
    let report = answer.json();
    let findings = report["findings"].as_array().expect("a list");
    let left_out = findings.iter().find(|f| f["code"] == "untrusted");
    let mend = left_out.and_then(|f| f["help"].as_str());
    assert!(
        mend.is_some_and(|m| m.contains("get_tools trust")),
        "{}",
        answer.shown()
    );
}

#[test]
fn a_tool_that_settings_take_away_is_not_tried() {
    for (key, names) in [("core", "ReadFileTool"), ("exclude", "list_directory")] {
        let ws = with_ours().home(SETTINGS, json!({"tools": {key: [names]}}).to_string());
        finds_no(&ws, "call-fails");
        let none = "no harmless tool available";
        assert!(fact(&ws, "tried").contains(none), "{key}");
    }
}

#[test]
fn a_file_of_rules_that_can_be_read_is_not_called_unreadable() {
    let policy = ".gemini/policies/more.toml";
    let useless = "[[rule]]\ntoolName = \"glob\"\ndecision = \"allow\"\npriority = 1\nx = 1\n";
    let ws = with_ours().home(policy, useless);
    let rules = told(&ws, "policy-rule");
    assert_eq!(rules[0]["severity"], "warning", "{rules:?}");
    let file = ws.root().join("home").join(policy).display().to_string();
    assert_eq!(rules[0]["file"], file);
    finds_no(&ws, "policy-unreadable");
    // Of a broken one only the cause is told, and not each call that it stops.
    let ws = ws.home(policy, "[[rule]\n");
    finds_no(&ws, "call-fails");
    assert_eq!(found(&doctor(&ws, &["--json"])), ["policy-unreadable"]);
}

#[test]
fn settings_that_name_no_commands_are_one_finding_with_its_cause() {
    let broken = with_program(QUICK).file(SETTINGS, "{\"tools\": ");
    assert_eq!(
        found(&doctor(&broken, &["--json"])),
        ["settings-unreadable"]
    );
    let value = broken.file(SETTINGS, r#"{"tools": {"core": 5}}"#);
    let ids = found(&doctor(&value, &["--json"]));
    assert_eq!(ids, ["settings-value", "no-commands"]);
    let read = told(&value, "no-commands");
    let file = value.dir().join(SETTINGS).display().to_string();
    let what = read[0]["message"].as_str().expect("words");
    assert!(what.ends_with(&format!("Read: {file}.")), "{what}");
}

#[test]
fn a_path_is_told_without_its_dots() {
    let ws = with_program(QUICK).file(SETTINGS, settings("./nowhere", "./my tools"));
    let what = told(&ws, "program-missing")[0]["message"].to_string();
    assert!(what.contains("ws/nowhere"), "{what}");
}

#[test]
fn the_remedy_for_an_untrusted_project_is_one_that_helps() {
    let ws = with_program(QUICK)
        .file(".gemini/policies/x.toml", "")
        .file(".gemini/tools/x.toml", "command = [\"ls\"]\n");
    let folders = json!({ws.dir().display().to_string(): "DO_NOT_TRUST"});
    let denied = ws.home(".gemini/trustedFolders.json", folders.to_string());
    let mends = |ws: &Workspace, env: (&str, &str)| {
        let answer = ws.get_tools(&["doctor", "--json"]);
        let answer = answer.env(env.0, env.1).unwatched().run();
        let report = answer.json();
        let findings = report["findings"].as_array().expect("a list").clone();
        let about_trust = |f: &&Value| f["code"] == "project-untrusted" || f["code"] == "untrusted";
        let mends = findings
            .iter()
            .filter(about_trust)
            .map(|f| f["help"].to_string());
        let mends: Vec<String> = mends.collect();
        assert_eq!(mends.len(), 2, "{}", answer.shown());
        mends
    };
    for variable in [("NONE", ""), ("GEMINI_CLI_TRUST_WORKSPACE", "true")] {
        for mend in mends(&denied, variable) {
            assert!(
                mend.contains("trustedFolders.json") && mend.contains("DO_NOT_TRUST"),
                "{mend}"
            );
            assert!(mend.contains(&denied.dir().display().to_string()), "{mend}");
        }
    }
    let lint = denied.get_tools(&["lint"]).unwatched().run();
    lint.must_say(lint.text(), &["trustedFolders.json to \"TRUST_FOLDER\""]);
    for name in ["GEMINI_RESTRICTED_MODE", "GEMINI_CLI_TRUST_WORKSPACE"] {
        let value = if name.ends_with("MODE") {
            "true"
        } else {
            "false"
        };
        for mend in mends(&denied, (name, value)) {
            assert!(mend.contains(&format!("Unset {name}")), "{mend}");
        }
    }
}

#[test]
fn nothing_that_was_started_is_left() {
    // Another run of the suite has another number.
    let time = format!("7717.{:07}", std::process::id());
    let ws = discovering(&format!(
        "    subprocess.Popen(['sleep', '{time}'], start_new_session=True)\n"
    ));
    finds(&ws, "hangs");
    let left = std::process::Command::new("pgrep")
        .args(["-f", &format!("^sleep {time}")])
        .output()
        .expect("pgrep");
    assert!(left.stdout.is_empty());
}

#[test]
fn credentials_are_not_told() {
    let ws = with_program("#!/bin/sh\necho \"$2 is no good token\" >&2\nexit 1\n").file(
        SETTINGS,
        settings("'./my tools' --token $API_TOKEN", "$API_TOKEN"),
    );
    for args in [&["doctor"][..], &["doctor", "--json"]] {
        let answer = ws
            .get_tools(args)
            .env("GEMINI_CLI_TRUST_WORKSPACE", "true")
            .env("API_TOKEN", "top-secret-7717")
            .unwatched()
            .run();
        answer.must_say(answer.text(), &["*** is no good token"]);
        assert!(!answer.text().contains("7717"), "{}", answer.shown());
    }
}

#[test]
fn a_directory_is_no_call_command() {
    let directory = with_program(QUICK)
        .directory("place")
        .file(SETTINGS, settings("'./my tools'", "./place"));
    let answer = doctor(&directory, &[]);
    answer.must_say(answer.text(), &["is a directory"]);
}

#[test]
fn every_finding_says_what_to_do() {
    let ws = with_program(QUICK).file(".gemini/policies/x.toml", "");
    let answer = ws.get_tools(&["doctor"]).unwatched().run();
    assert_eq!(answer.status(), 1, "{}", answer.shown());
    for one in ["error[project-untrusted]", "warning[untrusted]"] {
        let part = answer.text().split(one).nth(1).expect(one);
        let part = part.split("\n\n").next().expect("a piece");
        assert!(part.contains("\n    Do:  "), "{one}: {}", answer.shown());
    }
    let bare = Workspace::new();
    let init = bare.get_tools(&["init", "--yes"]).unwatched().run();
    assert_eq!(init.status(), 0, "{}", init.shown());
    let answer = bare.get_tools(&["doctor"]).unwatched().run();
    answer.must_say(answer.text(), &["\n    Do:  get_tools init --trust\n"]);
}

/// Our discovery command, and a call command of the user's around ours.
fn with_wrapper(lines: &str) -> Workspace {
    let ours = executable("get_tools").display().to_string();
    let ours = shlex::try_quote(&ours).expect("a path").into_owned();
    let call = executable("call_tool").display().to_string();
    let call = shlex::try_quote(&call).expect("a path").into_owned();
    let ws = Workspace::new()
        .file("call", format!("#!/bin/sh\n{lines}exec {call} \"$@\"\n"))
        .file(SETTINGS, settings(&ours, "./call"))
        .home(
            ".gemini/policies/mine.toml",
            "[[rule]]\ntoolName = \"discovered_tool_glob\"\ndecision = \"allow\"\npriority = 100\n",
        );
    set_mode(&ws.dir().join("call"), 0o755);
    ws
}

#[test]
fn a_wrapper_is_judged_by_a_call_that_succeeds() {
    let plain = with_wrapper("");
    assert_eq!(found(&doctor(&plain, &["--json"])), Vec::<String>::new());
    let tried = fact(&plain, "tried");
    assert!(tried.starts_with("list_directory: status 0"), "{tried}");
    let unknown = "case $1 in gemini_tools_doctor*) cat >/dev/null; exit 1;; esac\n";
    for (lines, id) in [
        ("echo warming up >&2\n", "call-stderr"),
        ("exit 0\n", "call-leaves-input"),
        ("cat >/dev/null; echo no >&2; exit 3\n", "call-fails"),
    ] {
        let lines = format!("{unknown}{lines}");
        let told = told(&with_wrapper(&lines), id);
        assert_eq!(told.len(), 1, "{lines}: {told:?}");
        assert_eq!(told[0]["subject"], "list_directory");
    }
    let killed = format!("{unknown}cat >/dev/null; kill -SEGV $$\n");
    let told = told(&with_wrapper(&killed), "call-fails");
    assert_eq!(told[0]["message"], "It fails (SIGSEGV)");
}

#[test]
fn long_messages_are_wrapped_on_a_terminal() {
    let ws = with_program(QUICK).file(SETTINGS, "{}");
    let call = ws.get_tools(&["doctor"]).unwatched().env("COLUMNS", "60");
    let shown = call.env("NO_COLOR", "1").at_a_terminal().sees_it_end(1);
    let (_, findings) = shown.split_once("error[").expect("a finding");
    let prose = findings.lines().filter(|line| line.contains("  "));
    for line in prose {
        assert!(line.chars().count() <= 60, "{line:?} in {shown}");
    }
    let piped = ws.get_tools(&["doctor"]).unwatched().run();
    piped.must_say(
        piped.text(),
        &["No settings name tools.discoveryCommand and tools.callCommand. Read: "],
    );
}

#[test]
fn a_person_gets_marks_and_colours_and_a_pipe_gets_words() {
    let ws = with_program(QUICK).home(".gemini/policies/mine.toml", "[[rule]\n");
    let at_terminal = |variables: &[(&str, &str)]| {
        let call = ws.get_tools(&["doctor"]).unwatched();
        let call = call
            .env("GEMINI_CLI_TRUST_WORKSPACE", "true")
            .env("TERM", "xterm");
        let call = variables
            .iter()
            .fold(call, |call, (name, value)| call.env(name, value));
        call.at_a_terminal().sees_it_end(1)
    };
    let shown = at_terminal(&[]);
    for piece in [
        "\x1b[32m✓\x1b[0m declarations",
        "\x1b[31m✗ \x1b[0m\x1b[31merror\x1b[0m",
    ] {
        assert!(shown.contains(piece), "{piece:?} in {shown:?}");
    }
    let shown = at_terminal(&[("NO_COLOR", "1")]);
    assert!(
        !shown.contains('\x1b') && shown.contains("✗ error["),
        "{shown:?}"
    );
    let answer = doctor(&ws, &[]);
    let text = answer.text();
    assert!(!text.contains(['\x1b', '✓', '✗', '·']), "{text}");
    assert!(text.contains("\nerror["), "{text}");
    let call = ws
        .get_tools(&["doctor"])
        .env("CLICOLOR_FORCE", "1")
        .unwatched();
    let answer = call.env("GEMINI_CLI_TRUST_WORKSPACE", "true").run();
    answer.must_say(answer.text(), &["\x1b[31m✗ "]);
}

#[test]
fn variables_that_a_host_in_a_workflow_keeps_back_are_reported() {
    let ws = with_ours();
    let codes = |variables: &[(&str, &str)]| {
        let mut call = ws.get_tools(&["doctor", "--json"]).unwatched();
        for (name, value) in variables {
            call = call.env(name, value);
        }
        let report: Value = serde_json::from_str(call.run().text()).expect("JSON");
        let findings = report["findings"].as_array().expect("a list").clone();
        let is_it = |finding: &&Value| finding["code"] == "not-handed-on";
        let found: Vec<Value> = findings.iter().filter(is_it).cloned().collect();
        found
    };
    let (sha, sandbox) = (
        ("GITHUB_SHA", "0123abc"),
        ("GEMINI_TOOLS_SANDBOX", "read-only"),
    );
    assert_eq!(codes(&[sandbox]).len(), 0);
    let found = codes(&[sha, sandbox]);
    assert_eq!(found.len(), 1, "{found:?}");
    // Linux lets a call look into the host's environment.
    let severity = if cfg!(target_os = "linux") {
        "warning"
    } else {
        "error"
    };
    assert_eq!(found[0]["severity"], severity);
    assert!(
        found[0].to_string().contains("GEMINI_CLI_TOOLS_SANDBOX"),
        "{found:?}"
    );
    assert_eq!(
        codes(&[sha, ("GEMINI_CLI_TOOLS_SANDBOX", "read-only")]).len(),
        0
    );
}
