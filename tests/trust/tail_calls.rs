//! A call that a tool's result asks for is judged as if the model had made it, in every executable.

use std::fs;

use serde_json::{Value, json};

use crate::harness::client::Server;
use crate::harness::custom::with;
use crate::harness::terminal::ASKED;
use crate::harness::{Answer, Workspace, executable};

/// A user's tool of a kind that asks for a call of another tool.
fn asking_for(kind: &str, wanted: &Value) -> Workspace {
    let result = json!({"llmContent": "seen", "tailToolCallRequest": wanted});
    let head = "#!/bin/sh\n# /// tool\n# description = \"Looks.\"\n# output = \"tool_result\"";
    let script = format!("{head}\n# kind = \"{kind}\"\n# ///\ncat <<'END'\n{result}\nEND\n");
    with("look.sh", &script)
}

fn command() -> Value {
    json!({"name": "run_shell_command", "args": {"command": "echo x > made"}})
}

fn edit() -> Value {
    json!({"name": "write_file", "args": {"file_path": "made", "content": "x"}})
}

fn is_made(ws: &Workspace) -> bool {
    fs::remove_file(ws.path("made")).is_ok()
}

/// Lets the tool be called in all ways that `call_tool` knows, with more options.
fn called(ws: &Workspace, more: &[&str]) -> Vec<Answer> {
    let openai =
        json!({"type": "function", "id": "1", "function": {"name": "look", "arguments": "{}"}});
    let ways: [(&[&str], Value); 3] = [
        (&["look"], json!({})),
        (&["--batch"], json!({"id": "1", "name": "look", "args": {}})),
        (&["--from", "openai"], openai),
    ];
    let ways = ways.iter().map(|(way, input)| {
        let call = ws.call_tool(&[way, more].concat());
        call.input(input.to_string()).unwatched().run()
    });
    ways.collect()
}

fn played(ws: &Workspace, more: &[&str]) -> Vec<Value> {
    fs::write(
        ws.path("turns.yaml"),
        "turns:\n- calls: [{name: look}]\n- text: Done.\n",
    )
    .expect("written");
    let args = ["--model-script", "turns.yaml", "-o", "stream-json", "Go"];
    let answer = ws.program(&executable("run_agent"), &[&args, more].concat());
    let answer = answer.unwatched().run();
    let lines = answer.text().lines().map(serde_json::from_str);
    lines.collect::<Result<_, _>>().expect("lines of JSON")
}

/// The results of calls, each by the tool that was called.
fn results(lines: &[Value]) -> Vec<(String, Value)> {
    let name = |id: &Value| {
        let mut begun = lines.iter().filter(|line| line["type"] == "tool_use");
        let used = begun.find(|line| line["tool_id"] == *id).expect("its call");
        used["tool_name"].as_str().expect("a name").to_owned()
    };
    let done = lines.iter().filter(|line| line["type"] == "tool_result");
    done.map(|line| (name(&line["tool_id"]), line.clone()))
        .collect()
}

#[test]
fn a_tool_that_says_it_only_reads_can_not_ask_for_a_change() {
    for kind in ["read", "search", "fetch"] {
        for wanted in [command(), edit()] {
            let ws = asking_for(kind, &wanted);
            for mode in [&[][..], &["--approval-mode", "yolo"]] {
                for answer in called(&ws, mode) {
                    answer.must_say(answer.text(), &["look says that it only reads"]);
                    assert!(!is_made(&ws), "{kind}: {}", answer.shown());
                }
            }
            let mut server = Server::greeted(&ws, &[], &json!({}));
            let listed = server.ask("tools/list", &json!({}))["result"]["tools"].clone();
            let tools = listed.as_array().expect("a list");
            let look = tools
                .iter()
                .find(|tool| tool["name"] == "look")
                .expect("listed");
            assert_eq!(look["annotations"]["readOnlyHint"], kind != "fetch");
            let answer = server.call("look", &json!({}));
            assert_eq!(answer["isError"], true, "{answer}");
            assert!(!is_made(&ws), "{kind}");
            let lines = played(&ws, &["--yolo"]);
            let done = results(&lines);
            assert_eq!(done[1].0, wanted["name"].as_str().expect("a name"));
            assert_eq!(done[1].1["error"]["type"], "policy_violation", "{done:?}");
            assert!(!is_made(&ws), "{kind}");
        }
    }
}

#[test]
fn what_a_permitted_tool_asks_for_needs_its_own_permission() {
    let ws = asking_for("execute", &command());
    let allow = "[[rule]]\ntoolName = \"look\"\ndecision = \"allow\"\npriority = 10\n";
    fs::write(ws.path("allow.toml"), allow).expect("written");
    let rules = ["--policy", "allow.toml", "--approval-mode", "auto_edit"];
    for answer in called(&ws, &rules) {
        answer.must_say(
            answer.text(),
            &["run_shell_command needs the user's approval"],
        );
        assert!(!is_made(&ws), "{}", answer.shown());
    }
    let answer = Server::greeted(&ws, &rules, &json!({})).call("look", &json!({}));
    assert!(
        answer.to_string().contains("run_shell_command needs"),
        "{answer}"
    );
    assert!(!is_made(&ws));
    let lines = played(&ws, &rules);
    let done = results(&lines);
    let names: Vec<&str> = done.iter().map(|(name, _)| &**name).collect();
    assert_eq!(names, ["look", "run_shell_command"]);
    assert_eq!(done[0].1["status"], "success");
    assert_eq!(done[1].1["error"]["type"], "policy_violation");
    assert!(!is_made(&ws));
    // In the mode that lets it, it is made.
    let lines = played(&ws, &["--yolo"]);
    assert!(is_made(&ws), "{lines:?}");
    for answer in called(&ws, &["--approval-mode", "yolo"]) {
        assert_eq!(answer.status(), 0, "{}", answer.shown());
    }
    assert!(is_made(&ws));
}

#[test]
fn a_client_is_asked_about_what_a_tool_asks_for() {
    let ws = asking_for("execute", &command());
    let args = ["--approval-mode", "default"];
    for (second, is_wanted) in [("accept", true), ("decline", false)] {
        let mut server = Server::greeted(&ws, &args, &json!({"elicitation": {}}));
        server.request("tools/call", &json!({"name": "look", "arguments": {}}));
        let once = json!({"action": "accept", "content": {"decision": "allow once"}});
        let question = server.answer_request("elicitation/create", &once);
        assert!(!question.to_string().contains("made"), "{question}");
        let reply = match second {
            "accept" => once,
            other => json!({ "action": other }),
        };
        let question = server.answer_request("elicitation/create", &reply);
        assert!(question.to_string().contains("echo x > made"), "{question}");
        server.message();
        assert_eq!(is_made(&ws), is_wanted);
    }
}

#[test]
fn a_person_at_a_terminal_is_asked_about_what_a_tool_asks_for() {
    let ws = asking_for("execute", &command());
    let allow = "[[rule]]\ntoolName = \"look\"\ndecision = \"allow\"\npriority = 10\n";
    fs::write(ws.path("allow.toml"), allow).expect("written");
    let turns = "turns:\n- calls: [{name: look}]\n- text: Done.\n";
    fs::write(ws.path("turns.yaml"), turns).expect("written");
    let args = [
        "--model-script",
        "turns.yaml",
        "--policy",
        "allow.toml",
        "Go",
    ];
    for (key, is_wanted) in [(b"y", true), (b"n", false)] {
        let agent = ws.program(&executable("run_agent"), &args);
        let mut person = agent.unwatched().at_a_terminal();
        let page = person.sees(ASKED);
        assert!(page.contains("echo x > made"), "{page}");
        assert_eq!(page.matches("[n]o").count(), 1, "{page}");
        assert!(!is_made(&ws), "{page}");
        person.types(key);
        person.sees_it_end(0);
        assert_eq!(is_made(&ws), is_wanted);
    }
}

#[test]
fn what_a_foreign_pair_answers_asks_for_no_other_call() {
    let declared = json!([{"name": "look", "description": "Looks.",
        "parametersJsonSchema": {"type": "object", "properties": {}}}]);
    let asks = json!({"tailToolCallRequest": command()});
    let mut response = json!({"name": "look", "response": {"output": "seen"}});
    response["tailToolCallRequest"] = command();
    for said in [
        json!({"functionResponse": response}),
        json!({"functionResponse": {"name": "look", "response": asks}}),
        json!({"llmContent": "seen", "tailToolCallRequest": command()}),
    ] {
        let ws = Workspace::new()
            .file("tools.json", declared.to_string())
            .file("call.sh", format!("#!/bin/sh\ncat <<'END'\n{said}\nEND\n"))
            .mode("call.sh", 0o755);
        let pair = [
            "--discovery-command",
            "cat tools.json",
            "--call-command",
            "./call.sh",
        ];
        let lines = played(&ws, &[&pair[..], &["--yolo"]].concat());
        let names: Vec<_> = results(&lines).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["look"]);
        assert!(!is_made(&ws), "{said}");
    }
}

#[test]
fn a_model_gets_the_last_answer_and_every_call_is_named() {
    let listing = json!({"name": "list_directory", "args": {"path": "."}});
    let ws = asking_for("read", &listing);
    let lines = played(
        &ws,
        &["--report", "page.html", "--session", "session.jsonl"],
    );
    let done = results(&lines);
    assert_eq!(done.len(), 2, "{done:?}");
    assert!(
        done[1].1["output"].to_string().contains("turns.yaml"),
        "{done:?}"
    );
    let stats = &lines.last().expect("the end")["stats"];
    assert_eq!(stats["tool_calls"], 2);
    let page = fs::read_to_string(ws.path("page.html")).expect("a report");
    assert!(page.contains("list_directory"));
    let stored = fs::read_to_string(ws.path("session.jsonl")).expect("a session");
    let answer = stored
        .lines()
        .find(|line| line.contains("functionResponse"));
    let answer = answer.expect("an answer");
    assert!(
        answer.contains("\"name\":\"look\"") && answer.contains("turns.yaml"),
        "{answer}"
    );
}

#[test]
fn wrong_arguments_are_said_before_a_refusal_for_want_of_a_user() {
    let ws = Workspace::new();
    let mode = ["--approval-mode", "default"];
    let one = ws.tool("write_file").arguments(&json!({"file_path": "a"}));
    let answer = one.flags(&mode).run();
    assert!(answer.error("invalid_tool_params", 2).contains("content"));
    let call = json!({"name": "write_file", "args": {"file_path": "a"}});
    let batch = ws
        .call_tool(&["--batch"])
        .flags(&mode)
        .input(call.to_string());
    let answer = batch.run();
    answer.must_say(answer.text(), &["invalid_tool_params"]);
    let mut server = Server::greeted(&ws, &mode, &json!({}));
    let answer = server.call("write_file", &json!({"file_path": "a"}));
    assert!(answer.to_string().contains("content"), "{answer}");
    let turns = "turns:\n- calls:\n  - {name: write_file, args: {file_path: a}}\n- text: Done.\n";
    fs::write(ws.path("turns.yaml"), turns).expect("written");
    let args = ["--model-script", "turns.yaml", "-o", "stream-json", "Go"];
    let answer = ws
        .program(&executable("run_agent"), &args)
        .unwatched()
        .run();
    let lines = answer.text().lines().map(serde_json::from_str::<Value>);
    let lines: Vec<Value> = lines.collect::<Result<_, _>>().expect("lines of JSON");
    let done = results(&lines);
    assert_eq!(
        done[0].1["error"]["type"], "invalid_tool_params",
        "{done:?}"
    );
    // What is right in itself says nothing of what is in files.
    let right = json!({"file_path": "missing/a", "old_string": "a", "new_string": "b"});
    let answer = ws.tool("replace").arguments(&right).flags(&mode).run();
    answer.error("policy_violation", 3);
}
