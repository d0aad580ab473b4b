//! `run_agent` with commands that are not ours: what they get, and how they are judged.

use std::fs;
use std::path::Path;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::harness::agent::{agent, ended, last_parts, response, said, turns};
use crate::harness::stand_in::StandIn;
use crate::harness::{Workspace, copy_program, executable};

/// A discovery command as the documentation of Gemini CLI has it, with both wrappers.
const DISCOVERY: &str = r#"#!/usr/bin/env python3
import json, sys
def declared(name, /, **properties):
    return {"name": name, "description": "The tool %s." % name, "parametersJsonSchema": {
        "type": "object", "properties": {k: {"type": v} for k, v in properties.items()}, "required": list(properties)}}
print(json.dumps([
    {"function_declarations": [declared("greet", name="string"), declared("noisy"), declared("fails")]},
    {"functionDeclarations": [declared("picture"), declared("object"), declared("signal")]},
    {"name": "old", "description": "Parameters under the old key.", "parameters": {
        "type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}},
    {"name": "untyped", "description": "d", "parametersJsonSchema": {"type": "object", "properties": {"x": {}}}},
]))
"#;

const CALL: &str = r#"#!/usr/bin/env python3
import json, os, signal, sys
name, args = sys.argv[1], json.load(sys.stdin)
with open("calls.log", "a") as log:
    log.write(json.dumps([sys.argv[1:], args, os.getcwd()]) + "\n")
if name == "greet":
    print("Hello, %s!" % args["name"])
elif name == "noisy":
    print("done")
    print("a warning", file=sys.stderr)
elif name == "fails":
    print("half")
    sys.exit(3)
elif name == "picture":
    print(json.dumps({"functionResponse": {"name": name, "response": {"output": "seen"},
        "parts": [{"inlineData": {"mimeType": "image/png", "data": "AAAA"}}]}}))
elif name == "object":
    print(json.dumps({"some": "object"}))
elif name == "signal":
    os.kill(os.getpid(), signal.SIGKILL)
elif name == "old":
    print(args["x"] + 1)
"#;

fn foreign() -> Workspace {
    let settings = json!({"tools": {"discoveryCommand": "./disco'very'.py now", "callCommand": "./call it.py"}});
    Workspace::new()
        .file("discovery.py", DISCOVERY)
        .mode("discovery.py", 0o755)
        .file("call it.py", CALL)
        .mode("call it.py", 0o755)
        .file(".gemini/settings.json", settings.to_string())
}

fn turn(calls: &[(&str, Value)]) -> Value {
    let calls: Vec<Value> = calls
        .iter()
        .map(|(tool, args)| json!({"id": tool, "tool": tool, "args": args}))
        .collect();
    json!({"turns": [calls], "closing": "Done."})
}

#[test]
fn their_tools_get_arguments_in_the_types_that_they_declare() {
    let Some(api) = StandIn::playing(&turn(&[
        ("old", json!({"x": "41"})),
        ("greet", json!({"name": "7"})),
    ])) else {
        return;
    };
    let ws = foreign();
    let answer = agent(&ws, &api, &["Play", "-y", "--trust", "--only-discovered"]).run();
    said(&answer);
    assert_eq!(response(&api, "old"), json!({"output": "42\n"}));
    assert_eq!(response(&api, "greet"), json!({"output": "Hello, 7!\n"}));
}

#[test]
fn their_answers_are_unwrapped_or_taken_as_they_are_and_judged_by_the_hosts_rules() {
    let script = turn(&[
        ("greet", json!({"name": "Ada"})),
        ("noisy", json!({})),
        ("fails", json!({})),
        ("picture", json!({})),
        ("object", json!({})),
        ("signal", json!({})),
        ("old", json!({"x": 41})),
    ]);
    let Some(api) = StandIn::playing(&script) else {
        return;
    };
    let ws = foreign();
    let answer = agent(&ws, &api, &["Play", "-y", "--trust", "--only-discovered"]).run();
    said(&answer);
    for (id, expected) in [
        ("greet", json!({"output": "Hello, Ada!\n"})),
        (
            "noisy",
            json!({"error": "Stdout: done\n\nStderr: a warning\n\nError: (none)\nExit Code: 0\nSignal: (none)"}),
        ),
        (
            "fails",
            json!({"error": "Stdout: half\n\nStderr: (empty)\nError: (none)\nExit Code: 3\nSignal: (none)"}),
        ),
        ("picture", json!({"output": "seen"})),
        ("object", json!({"output": "{\"some\": \"object\"}\n"})),
        (
            "signal",
            json!({"error": "Stdout: (empty)\nStderr: (empty)\nError: (none)\nExit Code: (none)\nSignal: SIGKILL"}),
        ),
        ("old", json!({"output": "42\n"})),
    ] {
        assert_eq!(response(&api, id), expected, "{id}");
    }
    let beside: Vec<_> = last_parts(&api)
        .into_iter()
        .filter(|p| p.get("functionResponse").is_none())
        .collect();
    assert_eq!(
        beside,
        [json!({"inlineData": {"mimeType": "image/png", "data": "AAAA"}})]
    );
    // What the model is shown: no tool that the API would refuse, and parameters from where they stood.
    let declared = &turns(&api)[0]["tools"][0]["functionDeclarations"];
    assert_eq!(
        names(&api),
        [
            "greet", "noisy", "fails", "picture", "object", "signal", "old", "untyped"
        ]
    );
    assert_eq!(
        declared[6]["parametersJsonSchema"]["required"],
        json!(["x"])
    );
    let stderr = answer.errors();
    for piece in ["untyped", "parametersJsonSchema"] {
        assert!(stderr.contains(piece), "{piece}: {stderr}");
    }
    // What they got: the bare name, the arguments, the project's root.
    let log = fs::read_to_string(ws.path("calls.log")).expect("a log");
    let first: Value = serde_json::from_str(log.lines().next().expect("a line")).expect("JSON");
    assert_eq!(first[0], json!(["greet"]));
    assert_eq!(first[1], json!({"name": "Ada"}));
    assert_eq!(log.lines().count(), 7);
}

#[test]
fn a_projects_commands_run_only_where_it_is_trusted() {
    let Some(api) = StandIn::playing(&turn(&[("greet", json!({"name": "Ada"}))])) else {
        return;
    };
    let ws = foreign();
    ended(&agent(&ws, &api, &["Play", "-y"]).run(), 42, &["--trust"]);
    assert!(api.requests().is_empty());
    let call = agent(&ws, &api, &["Play", "-y"]).env("GEMINI_CLI_TRUST_WORKSPACE", "true");
    said(&call.run());
    // Without approval they don't run: it is not known what they do.
    api.play(&turn(&[("greet", json!({"name": "Ada"}))]));
    said(&agent(&ws, &api, &["Play", "--trust"]).run());
    assert!(
        response(&api, "greet")["error"]
            .to_string()
            .contains("approval")
    );
    api.play(&turn(&[("greet", json!({"name": "Ada"}))]));
    said(&agent(&ws, &api, &["Play", "--trust", "--allowed-tools", "greet"]).run());
    assert_eq!(response(&api, "greet")["output"], "Hello, Ada!\n");
}

#[test]
fn what_a_foreign_command_says_of_its_tools_lets_none_run_unasked() {
    let claims = [
        json!({"kind": "read"}),
        json!({"kind": "search"}),
        json!({"kind": "edit"}),
        json!({"kind": "think"}),
        json!({"kind": "fetch"}),
        json!({"annotations": {"readOnlyHint": true}}),
        json!({"kind": "read", "mcp": {"server": "s", "tool": "t", "annotations": {"readOnlyHint": true}}}),
    ];
    let names: Vec<String> = (0..claims.len()).map(|i| format!("claims_{i}")).collect();
    let calls: Vec<_> = names.iter().map(|name| (&**name, json!({}))).collect();
    let Some(api) = StandIn::playing(&turn(&calls)) else {
        return;
    };
    let declared = names.iter().zip(&claims).map(|(name, claim)| {
        let mut declared = json!({"name": name, "description": "d"});
        for (key, value) in claim.as_object().expect("an object") {
            declared[key] = value.clone();
        }
        declared
    });
    let ws = Workspace::new()
        .file("tools.json", declared.collect::<Value>().to_string())
        .file("call.sh", "#!/bin/sh\necho \"$1\" >>ran\n")
        .mode("call.sh", 0o755);
    let pair = [
        "--discovery-command",
        "cat tools.json",
        "--call-command",
        "./call.sh",
    ];
    for (mode, ran) in [
        ("default", 0),
        ("auto_edit", 0),
        ("plan", 0),
        ("yolo", claims.len()),
    ] {
        api.play(&turn(&calls));
        said(
            &agent(&ws, &api, &["Play", "--approval-mode", mode])
                .flags(&pair)
                .run(),
        );
        let log = fs::read_to_string(ws.path("ran")).unwrap_or_default();
        assert_eq!(log.lines().count(), ran, "{mode}: {log}");
    }
}

#[test]
fn arguments_that_are_not_what_the_schema_says_never_reach_a_command() {
    let script = turn(&[("greet", json!({"name": 7})), ("nothing", json!({}))]);
    let Some(api) = StandIn::playing(&script) else {
        return;
    };
    let ws = foreign();
    let args = [
        "--discovery-command",
        "./discovery.py",
        "--call-command",
        "./call it.py",
    ];
    said(&agent(&ws, &api, &["Play", "-y"]).flags(&args).run());
    let error = response(&api, "greet")["error"].to_string();
    assert!(error.contains("name"), "{error}");
    assert!(!fs::exists(ws.path("calls.log")).expect("a name"));
}

#[test]
fn a_discovery_command_that_fails_ends_the_session_before_it_begins() {
    let Some(api) = StandIn::playing(&json!({"closing": "Never."})) else {
        return;
    };
    let ws = Workspace::new().file("plain.sh", "echo '[]'\n");
    for (line, piece) in [
        ("./plain.sh", "Permission denied"),
        ("sh -c 'echo broken >&2; exit 7'", "broken"),
        ("echo '{}'", "not an array"),
        ("echo nothing", "not valid JSON"),
        ("./missing", "can't be started: No such file"),
        ("'unfinished", "quote"),
        ("sh -c 'yes \"[\" | head -c 11000000'", "bytes"),
        ("yes", "bytes"),
    ] {
        let args = [
            "Play",
            "--discovery-command",
            line,
            "--call-command",
            "true",
        ];
        ended(&agent(&ws, &api, &args).run(), 1, &[piece]);
    }
    assert!(api.requests().is_empty());
}

#[test]
fn where_there_are_no_tools_a_model_that_calls_one_is_told_so() {
    let call = json!({"calls": [{"id": "r", "tool": "rec", "args": {}}], "match": {}});
    let script = json!({"answers": [call, {"text": "Done.", "match": {}}]});
    let Some(api) = StandIn::playing(&script) else {
        return;
    };
    let args = "Play --only-discovered --call-command true --discovery-command";
    let mut args: Vec<_> = args.split(' ').collect();
    args.push("echo '[]'");
    said(&agent(&Workspace::new(), &api, &args).run());
    let body = api.requests().pop().expect("a request")["body"].to_string();
    assert!(body.contains("no tool rec. There are no tools."), "{body}");
}

/// The names of the tools that the model was shown first.
fn names(api: &StandIn) -> Vec<String> {
    let request = turns(api).swap_remove(0);
    let declared = request["tools"][0]["functionDeclarations"].as_array();
    let names = declared.expect("tools").iter();
    names
        .map(|tool| tool["name"].as_str().expect("a name").to_owned())
        .collect()
}

/// A discovery command and a call command, by the names of the tools that it declares.
fn sayer(ws: Workspace, names: &[&str]) -> Workspace {
    let declared: Vec<Value> = names
        .iter()
        .map(|name| {
            json!({"name": name, "description": "Says who it is.",
                "parametersJsonSchema": {"type": "object", "properties": {}}})
        })
        .collect();
    let settings =
        json!({"tools": {"discoveryCommand": "cat tools.json", "callCommand": "./say.sh"}});
    ws.file("tools.json", json!(declared).to_string())
        .file("say.sh", "#!/bin/sh\ncat >/dev/null\necho \"foreign $1\"\n")
        .mode("say.sh", 0o755)
        .home(".gemini/settings.json", settings.to_string())
}

#[test]
fn beside_discovered_tools_the_built_in_ones_stay_unless_they_are_told_to_go() {
    let script = || {
        turn(&[
            ("hello", json!({})),
            ("read_file", json!({"absolute_path": "a.txt"})),
        ])
    };
    let Some(api) = StandIn::playing(&script()) else {
        return;
    };
    let ws = sayer(Workspace::new().file("a.txt", "x\n"), &["hello"]);
    let answer = agent(&ws, &api, &["Play", "--allowed-tools", "hello"]).run();
    said(&answer);
    assert!(answer.stderr.is_empty(), "{}", answer.shown());
    assert_eq!(response(&api, "hello")["output"], "foreign hello\n");
    assert_eq!(response(&api, "read_file")["output"], "x\n");
    assert!(names(&api).contains(&"write_file".to_owned()));
    // The same for a pair that options name.
    let options = [
        "Play",
        "--discovery-command",
        "cat tools.json",
        "--call-command",
        "./say.sh",
    ];
    api.play(&script());
    said(&agent(&ws, &api, &options).run());
    assert!(names(&api).contains(&"read_file".to_owned()));
    for args in [&["Play"][..], &options] {
        api.play(&script());
        said(&agent(&ws, &api, args).flags(&["--only-discovered"]).run());
        assert_eq!(names(&api), ["hello"]);
        let error = response(&api, "read_file")["error"].to_string();
        assert!(error.contains("no tool read_file"), "{error}");
    }
}

#[test]
fn to_allow_a_discovered_tool_does_not_allow_the_built_in_one_of_its_name() {
    let call = json!({"tool": "run_shell_command", "args": {"command": "touch made"}});
    let script = json!({"turns": [[call]]});
    let Some(api) = StandIn::playing(&script) else {
        return;
    };
    let prefixed = "discovered_tool_run_shell_command";
    let rule = format!("[[rule]]\ntoolName = \"{prefixed}\"\ndecision = \"allow\"\n");
    let tools = json!({"discoveryCommand": "cat tools.json", "callCommand": "./say.sh", "allowed": [prefixed]});
    let settings = json!({"tools": tools}).to_string();
    let ws = || sayer(Workspace::new(), &["run_shell_command"]);
    for (ws, flags) in [
        (ws(), &["--allowed-tools", prefixed][..]),
        (
            ws().home(".gemini/policies/a.toml", rule + "priority = 900\n"),
            &[],
        ),
        (ws().home(".gemini/settings.json", settings), &[]),
    ] {
        api.play(&script);
        let ran = agent(&ws, &api, &["Play"]).flags(flags).run();
        said(&ran);
        assert!(
            !ws.dir().join("made").exists(),
            "{flags:?}: {}",
            ran.shown()
        );
    }
}

#[test]
fn a_discovered_tool_does_not_take_the_place_of_a_built_in_one() {
    // By the very names: a turn of the stand-in puts the prefix before a name where one is declared so.
    let script = || {
        let call = |name: &str, args: Value| json!({"functionCall": {"id": name, "name": name, "args": args}});
        let parts = [
            call("discovered_tool_read_file", json!({})),
            call("read_file", json!({"absolute_path": "a.txt"})),
        ];
        json!({"answers": [{"parts": parts}], "closing": "Done."})
    };
    let Some(api) = StandIn::playing(&script()) else {
        return;
    };
    let ws = sayer(
        Workspace::new().file("a.txt", "x\n"),
        &["read_file", "discovered_tool_read_file"],
    );
    let answer = agent(&ws, &api, &["Play"]).run();
    said(&answer);
    answer.must_say(
        &answer.errors(),
        &[
            "knows the discovered tool read_file as discovered_tool_read_file",
            "discovered_tool_read_file is left out",
        ],
    );
    assert_eq!(response(&api, "read_file")["output"], "x\n");
    // What allows the built-in tool says nothing of the other one.
    let id = "discovered_tool_read_file";
    let error = response(&api, id)["error"].to_string();
    assert!(error.contains("approval"), "{error}");
    for (allowed, is_allowed) in [("read_file", false), (id, true)] {
        api.play(&script());
        said(&agent(&ws, &api, &["Play", "--allowed-tools", allowed]).run());
        assert_eq!(response(&api, id)["output"].is_string(), is_allowed);
        assert_eq!(response(&api, "read_file")["output"], "x\n");
    }
    // What forbids it forbids both.
    let rule = "[[rule]]\ntoolName = \"read_file\"\ndecision = \"deny\"\npriority = 900\n";
    let ws = ws.home(".gemini/policies/no.toml", rule);
    api.play(&script());
    said(&agent(&ws, &api, &["Play", "-y"]).run());
    for id in [id, "read_file"] {
        assert!(response(&api, id)["error"].is_string(), "{id}");
    }
}

#[test]
fn our_own_pair_in_the_settings_is_not_listed_twice_and_asks_for_no_more_than_without() {
    let script = turn(&[("read_file", json!({"absolute_path": "a.txt"}))]);
    let Some(api) = StandIn::playing(&script) else {
        return;
    };
    let pair = |more: &str| {
        let discovery = format!("'{}' {more}", executable("get_tools").display());
        json!({"tools": {"discoveryCommand": discovery, "callCommand": executable("call_tool")}})
    };
    let ws = |more| {
        let ws = Workspace::new().file("a.txt", "x\n");
        ws.home(".gemini/settings.json", pair(more).to_string())
    };
    let plain = Workspace::new().file("a.txt", "x\n");
    said(&agent(&plain, &api, &["Play"]).run());
    let expected = names(&api);
    for more in ["", "--mcp --kinds"] {
        api.play(&script);
        let ws = ws(more);
        said(&agent(&ws, &api, &["Play"]).run());
        assert_eq!(names(&api), expected);
        assert_eq!(response(&api, "read_file")["output"], "x\n");
    }
    // What they are told to list is what there is.
    api.play(&script);
    said(&agent(&ws("--only 'read_*'"), &api, &["Play"]).run());
    assert_eq!(
        names(&api),
        ["read_background_output", "read_file", "read_many_files"]
    );
    // A call command that is a wrapper of ours gets the calls, and nothing comes twice.
    let wrapper = format!(
        "#!/bin/sh\nexec '{}' \"$@\"\n",
        executable("call_tool").display()
    );
    let ws = Workspace::new()
        .file("a.txt", "x\n")
        .file("wrapper", wrapper)
        .mode("wrapper", 0o755);
    let discovery = executable("get_tools").display().to_string();
    let args = [
        "--discovery-command",
        &discovery,
        "--call-command",
        "./wrapper",
    ];
    api.play(&script);
    said(&agent(&ws, &api, &["Play", "-y"]).flags(&args).run());
    assert_eq!(response(&api, "read_file"), json!({"output": "x\n"}));
    assert_eq!(names(&api), expected);
}

#[test]
fn only_discovered_tools_are_wanted_only_where_there_is_a_discovery_command() {
    let Some(api) = StandIn::playing(&json!({"closing": "Never."})) else {
        return;
    };
    let ws = Workspace::new();
    ended(
        &agent(&ws, &api, &["Play", "--only-discovered"]).run(),
        42,
        &["--only-discovered", "--discovery-command"],
    );
    assert!(api.requests().is_empty());
}

#[test]
fn our_own_pair_of_another_installation_can_be_called_as_a_foreign_one() {
    let script = turn(&[
        ("read_file", json!({"absolute_path": "a.txt"})),
        ("glob", json!({"pattern": "*", "path": "missing"})),
    ]);
    let Some(api) = StandIn::playing(&script) else {
        return;
    };
    let ws = Workspace::new().file("a.txt", "x\n");
    let beside = ws.dir().join("bin");
    fs::create_dir(&beside).expect("a directory");
    for name in ["get_tools", "call_tool"] {
        let from = executable(name);
        let to = beside.join(from.file_name().expect("a name"));
        copy_program(&from, &to);
    }
    let args = [
        "--discovery-command",
        "bin/get_tools",
        "--call-command",
        "bin/call_tool",
        "--only-discovered",
    ];
    said(&agent(&ws, &api, &["Play", "-y"]).flags(&args).run());
    assert_eq!(response(&api, "read_file"), json!({"output": "x\n"}));
    let error = response(&api, "glob");
    assert!(error["error"].to_string().contains("missing"), "{error}");
    assert_eq!(error.as_object().map(serde_json::Map::len), Some(1));
}

/// A script that leaves a process behind which holds its pipes, and ends: one that stays in its group, or one that has
/// left it.
fn leaving(session: &str) -> String {
    format!(
        "#!/bin/sh\n{session} sh -c 'echo $$ >orphan; exec sleep 300' &\nwhile [ ! -s orphan ]; do sleep 0.01; done\n"
    )
}

/// Whether the process that was left behind is still there; it is not afterwards.
fn is_left(ws: &Workspace) -> bool {
    let id = fs::read_to_string(ws.path("orphan")).expect("an orphan");
    let id = id
        .trim()
        .parse()
        .ok()
        .and_then(Pid::from_raw)
        .expect("an id");
    let status = fs::read_to_string(format!("/proc/{}/status", id.as_raw_nonzero()));
    // The dead may stay until the first process has taken note of them.
    let is_alive = status.is_ok_and(|status| !status.contains("\nState:\tZ"));
    is_alive && kill_process(id, Signal::KILL).is_ok()
}

#[test]
fn what_a_call_leaves_behind_lives_on_and_is_not_waited_for() {
    let Some(api) = StandIn::playing(&turn(&[("greet", json!({"name": "Ada"}))])) else {
        return;
    };
    for first in ["echo Hello; exec >/dev/null 2>&1;", "echo Hello;"] {
        for session in ["", "setsid"] {
            let script = leaving(&format!("{first} {session}"));
            let ws = foreign().file("call it.py", script);
            // One that waited for it would do so for longer than a test may take.
            said(&agent(&ws, &api, &["Play", "-y", "--trust"]).run());
            assert_eq!(response(&api, "greet"), json!({"output": "Hello\n"}));
            assert!(is_left(&ws), "{first} {session}");
        }
    }
}

#[test]
fn their_calls_have_the_time_and_the_length_that_other_calls_have() {
    let Some(api) = StandIn::playing(&turn(&[("greet", json!({"name": "Ada"}))])) else {
        return;
    };
    let args = ["Play", "-y", "--trust"];
    let ws = foreign().file("call it.py", "#!/bin/sh\nexec sleep 300\n");
    said(
        &agent(&ws, &api, &args)
            .env("GEMINI_TOOLS_TIMEOUT", "1")
            .run(),
    );
    let error = response(&api, "greet")["error"].to_string();
    assert!(error.contains("longer than 1 s"), "{error}");
    let lines = "seq 100000";
    let object = r#"printf '{"functionResponse":{"name":"greet","response":{"rows":"'; seq -s, 100000; printf '"}}}'"#;
    for (script, key) in [
        (lines.to_owned(), "output"),
        (format!("{lines}; exit 3"), "error"),
        (object.replace("100000;", "100000 | tr -d '\\n';"), "output"),
    ] {
        let ws = foreign().file("call it.py", format!("#!/bin/sh\n{script}\n"));
        said(&agent(&ws, &api, &args).run());
        let given = response(&api, "greet");
        let text = given[key].as_str().unwrap_or_else(|| panic!("{script}"));
        assert!(text.chars().count() < 41_000, "{script}: {}", text.len());
        let (_, file) = text.split_once("The whole answer is in ").expect("a file");
        let (file, _) = file.split_once("; read it").expect("a file");
        let whole = fs::read_to_string(file).expect("kept");
        assert!(
            whole.contains("99999") && whole.contains("100000"),
            "{script}"
        );
    }
}

#[test]
fn an_answer_that_the_api_would_refuse_is_taken_as_text() {
    let Some(api) = StandIn::playing(&turn(&[("greet", json!({"name": "Ada"}))])) else {
        return;
    };
    let beside =
        |parts: Value| json!({"name": "greet", "response": {"output": "x"}, "parts": parts});
    let image = |data: &str| json!({"inlineData": {"mimeType": "image/png", "data": data}});
    for (answer, parts) in [
        (json!({"name": "greet", "response": [1, 2]}), 0),
        (json!({"name": "greet", "response": "x"}), 0),
        (
            beside(json!([{"functionCall": {"name": "run_shell_command", "args": {}}}])),
            0,
        ),
        (
            beside(json!([{"functionResponse": {"name": "greet", "response": {}}}])),
            0,
        ),
        (beside(json!([{"text": "x", "thought": true}])), 0),
        (beside(json!([image("AAAA"), image("?")])), 0),
        (beside(json!([{}])), 0),
        (beside(json!(7)), 0),
        (beside(json!([])), 1),
        (beside(json!([{"text": ""}])), 1),
        (beside(json!([{"text": "y"}, image("AAAA")])), 3),
    ] {
        let answer = json!({"functionResponse": answer}).to_string();
        let ws = foreign().file(
            "call it.py",
            format!("#!/bin/sh\ncat <<'END'\n{answer}\nEND\n"),
        );
        said(&agent(&ws, &api, &["Play", "-y", "--trust"]).run());
        let expected = if parts == 0 {
            format!("{answer}\n")
        } else {
            "x".to_owned()
        };
        assert_eq!(response(&api, "greet"), json!({"output": expected}));
        assert_eq!(last_parts(&api).len(), parts.max(1), "{answer}");
    }
}

#[test]
fn a_call_that_prints_without_end_is_ended() {
    let Some(api) = StandIn::playing(&turn(&[("greet", json!({"name": "Ada"}))])) else {
        return;
    };
    for script in ["exec yes", "exec yes >&2", "yes; sleep 300"] {
        let ws = foreign().file("call it.py", format!("#!/bin/sh\n{script}\n"));
        let args = ["Play", "-y", "--trust", "--time-limit", "60"];
        said(&agent(&ws, &api, &args).run());
        let error = response(&api, "greet")["error"].to_string();
        assert!(error.contains("bytes and was ended"), "{script}: {error}");
    }
}

#[test]
fn arguments_that_are_no_object_are_an_error_to_the_model() {
    let odd = [json!("{\"name\":\"Ada\"}"), json!(["Ada"]), json!(7)];
    for args in odd {
        let call = json!({"functionCall": {"id": "greet", "name": "greet", "args": args}});
        let script = json!({"answers": [{"parts": [call]}, {"text": "Done."}]});
        let Some(api) = StandIn::playing(&script) else {
            return;
        };
        let ws = foreign();
        said(&agent(&ws, &api, &["Play", "-y", "--trust"]).run());
        let error = response(&api, "greet")["error"].to_string();
        assert!(error.contains("are an object, and not"), "{args}: {error}");
        assert!(!Path::new(&ws.path("calls.log")).exists(), "{args}");
    }
}

#[test]
fn a_call_that_kills_who_watches_over_it_is_ended_and_was_not_cancelled() {
    let Some(api) = StandIn::playing(&turn(&[("greet", json!({"name": "Ada"}))])) else {
        return;
    };
    let ws = foreign().file("call it.py", "#!/bin/sh\nkill -9 $PPID\nexec sleep 300\n");
    said(&agent(&ws, &api, &["Play", "-y", "--trust"]).run());
    let error = "The call was ended: the process that watched over it was killed.";
    assert_eq!(response(&api, "greet"), json!({"error": error}));
}

#[test]
fn an_explanation_that_never_comes_is_not_waited_for_when_the_time_is_over() {
    let script = turn(&[("write_file", json!({"file_path": "a.txt", "content": "x"}))]);
    let Some(api) = StandIn::playing(&script) else {
        return;
    };
    let ws = Workspace::new();
    // Beside our own run_agent, a call_tool that never answers.
    let beside = ws.dir().join("bin");
    fs::create_dir(&beside).expect("a directory");
    for name in ["run_agent", "get_tools"] {
        let from = executable(name);
        let to = beside.join(from.file_name().expect("a name"));
        copy_program(&from, &to);
    }
    let ws = ws
        .file(
            "bin/call_tool",
            "#!/bin/sh\necho $$ >orphan\nexec sleep 300\n",
        )
        .mode("bin/call_tool", 0o755);
    let args = ["Play", "--time-limit", "10"];
    let call = agent(&ws, &api, &args);
    let mut person = call.by(&beside.join("run_agent")).at_a_terminal();
    let shown = person.sees_it_end(124);
    assert!(shown.contains("time is over"), "{shown}");
    assert!(!is_left(&ws));
}

/// A text longer than a pipe takes in.
fn long_text() -> String {
    "x".repeat(1_000_000)
}

#[test]
fn a_command_that_reads_none_of_its_arguments_answers_all_the_same() {
    let Some(api) = StandIn::playing(&turn(&[("greet", json!({"name": long_text()}))])) else {
        return;
    };
    let script = "#!/bin/sh\nexec <&-\necho '{\"output\": \"not read\"}'\n";
    let ws = foreign().file("call it.py", script);
    let printed = said(&agent(&ws, &api, &["Play", "-y", "--trust"]).run());
    assert!(printed.contains("Done."), "{printed}");
    let response = response(&api, "greet");
    assert!(response.to_string().contains("not read"), "{response}");
}

#[test]
fn a_call_tool_that_reads_no_calls_is_an_error_of_the_call() {
    let script = turn(&[(
        "write_file",
        json!({"file_path": "a.txt", "content": long_text()}),
    )]);
    let Some(api) = StandIn::playing(&script) else {
        return;
    };
    let ws = Workspace::new();
    let beside = ws.dir().join("bin");
    fs::create_dir(&beside).expect("a directory");
    for name in ["run_agent", "get_tools"] {
        let from = executable(name);
        let to = beside.join(from.file_name().expect("a name"));
        copy_program(&from, &to);
    }
    // A batch is what it is asked for, and everything else it answers.
    let script = "#!/bin/sh\nexec <&-\n[ \"$1\" = --batch ] && exec sleep 2\n";
    let ws = ws.file("bin/call_tool", script);
    let ws = ws.mode("bin/call_tool", 0o755);
    let call = agent(&ws, &api, &["Play", "-y"]).by(&beside.join("run_agent"));
    let printed = said(&call.run());
    assert!(printed.contains("Done."), "{printed}");
    let response = response(&api, "write_file");
    assert!(response["error"].is_string(), "{response}");
}
