//! `serve_tools` over the standard streams and HTTP, by messages that a test writes itself.
//!
//! Clients of others are in `serve_real.rs`.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::harness::client::{Reply, Server, TOKEN, greeting, post};
use crate::harness::terminal::CTRL_D;
use crate::harness::{Workspace, executable};

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";

pub(crate) fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_default()
}

fn greeted(ws: &Workspace) -> Server {
    Server::greeted(ws, &[], &json!({}))
}

#[test]
fn the_tools_are_those_of_get_tools_with_hints() {
    let ws = Workspace::new();
    let declared = ws.get_tools(&[]).run().json();
    let listed = greeted(&ws).ask("tools/list", &json!({}));
    let tools = listed["result"]["tools"].as_array().expect("a list");
    let plain: Vec<Value> = tools
        .iter()
        .map(|t| {
            json!({"name": t["name"], "description": t["description"],
                "parametersJsonSchema": t["inputSchema"]})
        })
        .collect();
    assert_eq!(json!(plain), declared);
    let hints = |name: &str| {
        let tool = tools
            .iter()
            .find(|t| t["name"] == name)
            .expect("it is there");
        let hint = |key: &str| tool["annotations"][key].as_bool().expect("a hint");
        assert!(tool["annotations"]["title"].is_string(), "{tool}");
        [
            "readOnlyHint",
            "destructiveHint",
            "idempotentHint",
            "openWorldHint",
        ]
        .map(hint)
    };
    assert_eq!(hints("read_file"), [true, false, true, false]);
    assert_eq!(hints("google_web_search"), [false, false, true, true]);
    assert_eq!(hints("web_fetch"), [false, false, true, true]);
    assert_eq!(hints("write_file"), [false, true, true, false]);
    assert_eq!(hints("replace"), [false, true, false, false]);
    assert_eq!(hints("save_memory"), [false, true, true, false]);
    assert_eq!(hints("run_shell_command"), [false, true, false, true]);
    // Codex asks about no others than those that destroy or send data out.
    for tool in tools {
        let [reads, destroys, _, sends] = hints(tool["name"].as_str().expect("a name"));
        assert!(reads || destroys || sends, "{tool}");
    }
}

/// A supervisor is forked from a process whose other threads begin and end. What they had locked at that moment is
/// never released in it.
#[test]
fn commands_that_are_watched_for_undo_end_when_hundreds_begin_at_once() {
    let ws = Workspace::new();
    let mut server = Server::start_with(&ws, &[], &[("GEMINI_TOOLS_UNDO_COMMANDS", "on")]);
    server.greet("2025-11-25", &json!({}));
    let call = |i: u32| {
        let arguments = json!({"command": format!("echo x > f{i}"), "timeout": 40});
        json!({"name": "run_shell_command", "arguments": arguments})
    };
    for _ in 0..2 {
        let ids: Vec<u64> = (0..250)
            .map(|i| server.request("tools/call", &call(i)))
            .collect();
        for id in ids {
            let answer = server.answer(id);
            assert_eq!(answer["result"]["isError"], false, "{answer}");
        }
    }
}

#[test]
fn every_tool_can_be_called() {
    let ws = Workspace::new().file("a.txt", "one\n").file("p.png", PNG);
    let mut server = greeted(&ws);
    for (tool, args, expected) in [
        ("read_file", json!({"absolute_path": "a.txt"}), "one"),
        ("read_many_files", json!({"paths": ["a.txt"]}), "one"),
        ("list_directory", json!({"path": "."}), "a.txt"),
        ("glob", json!({"pattern": "*.txt"}), "a.txt"),
        ("search_file_content", json!({"pattern": "on"}), "L1: one"),
        (
            "write_file",
            json!({"file_path": "b.txt", "content": "x y\n"}),
            "Successfully created",
        ),
        (
            "replace",
            json!({"file_path": "b.txt", "old_string": "x", "new_string": "z"}),
            "Successfully modified",
        ),
        (
            "smart_edit",
            json!({"file_path": "b.txt", "instruction": "i", "old_string": "z y", "new_string": "w"}),
            "b.txt",
        ),
        ("run_shell_command", json!({"command": "echo said"}), "said"),
        ("save_memory", json!({"fact": "tests pass"}), "tests pass"),
        ("list_background_processes", json!({}), "no"),
    ] {
        let result = server.call(tool, &args);
        assert_eq!(result["isError"], false, "{tool}: {result}");
        let said = text(&result).to_lowercase();
        assert!(said.contains(&expected.to_lowercase()), "{tool}: {result}");
        if let Some(data) = result["structuredContent"].as_object() {
            assert_eq!(data["output"], result["content"][0]["text"], "{tool}");
        }
    }
    assert_eq!(fs::read_to_string(ws.path("b.txt")).expect("made"), "w\n");
    let image = server.call("read_file", &json!({"absolute_path": "p.png"}));
    assert_eq!(image["content"][0]["type"], "image");
    assert_eq!(image["content"][0]["mimeType"], "image/png");
    for (tool, args, kind) in [
        ("read_background_output", json!({"pid": 1}), ""),
        ("stop_background_process", json!({"pid": 1}), ""),
        (
            "google_web_search",
            json!({"query": "x"}),
            "web_search_failed",
        ),
        ("web_fetch", json!({"prompt": "no address"}), ""),
        (
            "read_file",
            json!({"absolute_path": "none.txt"}),
            "file_not_found",
        ),
        (
            "read_file",
            json!({"absolute_path": "/etc/passwd"}),
            "path_not_in_workspace",
        ),
        ("read_file", json!({}), "invalid_tool_params"),
        ("raed_file", json!({}), "tool_not_registered"),
    ] {
        let result = server.call(tool, &args);
        assert_eq!(result["isError"], true, "{tool}: {result}");
        let structured = &result["structuredContent"];
        assert_eq!(
            structured["error"], result["content"][0]["text"],
            "{result}"
        );
        let found = structured["errorType"].as_str().expect("a kind");
        assert!(kind.is_empty() || found == kind, "{tool}: {result}");
    }
}

#[test]
fn calls_run_side_by_side() {
    let ws = Workspace::new();
    let mut server = greeted(&ws);
    // Neither ends before the other has begun.
    let meet = |own: &str, other: &str| {
        let command = format!("touch {own}; until [ -e {other} ]; do sleep 0.01; done; echo {own}");
        json!({"name": "run_shell_command", "arguments": {"command": command}})
    };
    let first = server.request("tools/call", &meet("a", "b"));
    let second = server.request("tools/call", &meet("b", "a"));
    for id in [second, first] {
        let answer = server.answer(id);
        assert_eq!(answer["result"]["isError"], false, "{answer}");
    }
}

#[test]
fn progress_is_told_to_who_has_asked_for_it() {
    let ws = Workspace::new();
    let mut server = greeted(&ws);
    let command = "for i in 1 2 3; do echo line $i; sleep 0.7; done";
    let call = |meta: Value| json!({"name": "run_shell_command", "arguments": {"command": command}, "_meta": meta});
    let answer = server.ask("tools/call", &call(json!({"progressToken": "mine"})));
    assert_eq!(answer["result"]["isError"], false);
    let told: Vec<Value> = std::mem::take(&mut server.aside);
    assert!(!told.is_empty());
    let mut before = 0.0;
    for message in &told {
        assert_eq!(message["method"], "notifications/progress", "{message}");
        assert_eq!(message["params"]["progressToken"], "mine");
        let progress = message["params"]["progress"].as_f64().expect("a number");
        assert!(progress > before, "{told:?}");
        before = progress;
    }
    let said = told[0]["params"]["message"].as_str().expect("a text");
    assert!(said.contains("line 1"), "{said}");
    server.ask("tools/call", &call(json!({})));
    assert!(server.aside.is_empty(), "{:?}", server.aside);
}

#[test]
fn a_client_that_fails_to_say_its_new_roots_keeps_the_old_ones() {
    let ws = Workspace::new()
        .file("here.txt", "here")
        .outside("one/first.txt", "first");
    let root = format!("file://{}", ws.outside_path("one"));
    let mut server = Server::greeted(&ws, &[], &json!({"roots": {"listChanged": true}}));
    server.answer_request("roots/list", &json!({"roots": [{"uri": root}]}));
    let changed = json!({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"});
    for _ in 0..2 {
        server.say(&changed.to_string());
        let request = server.told("roots/list");
        let error = json!({"jsonrpc": "2.0", "id": request["id"],
            "error": {"code": -32603, "message": "not now"}});
        server.say(&error.to_string());
        let first = server.call("read_file", &json!({"absolute_path": "first.txt"}));
        assert_eq!(text(&first), "first");
        let here = ws.path("here.txt");
        let outside = server.call("read_file", &json!({ "absolute_path": here }));
        assert_eq!(outside["isError"], true, "{outside}");
    }
}

#[test]
fn the_clients_roots_are_the_workspace_and_followed() {
    let ws = Workspace::new()
        .file("here.txt", "here")
        .outside("one/first.txt", "first")
        .outside("two/second.txt", "second");
    let root =
        |name: &str| json!({"roots": [{"uri": format!("file://{}", ws.outside_path(name))}]});
    let mut server = Server::greeted(&ws, &[], &json!({"roots": {"listChanged": true}}));
    server.answer_request("roots/list", &root("one"));
    assert_eq!(
        text(&server.call("read_file", &json!({"absolute_path": "first.txt"}))),
        "first"
    );
    let outside = server.call("read_file", &json!({"absolute_path": ws.path("here.txt")}));
    assert_eq!(
        outside["structuredContent"]["errorType"],
        "path_not_in_workspace"
    );
    let said = server.call("run_shell_command", &json!({"command": "pwd"}));
    assert!(text(&said).contains(&ws.outside_path("one")), "{said}");

    server
        .say(&json!({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"}).to_string());
    server.answer_request("roots/list", &root("two"));
    assert_eq!(
        text(&server.call("read_file", &json!({"absolute_path": "second.txt"}))),
        "second"
    );

    server
        .say(&json!({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"}).to_string());
    server.answer_request("roots/list", &root("none"));
    let none = server.call("read_file", &json!({"absolute_path": "second.txt"}));
    assert_eq!(none["isError"], true);
    assert!(text(&none).contains("out/none"), "{none}");

    server
        .say(&json!({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"}).to_string());
    server.answer_request("roots/list", &json!({"roots": []}));
    assert_eq!(
        text(&server.call("read_file", &json!({"absolute_path": "here.txt"}))),
        "here"
    );
}

#[test]
fn a_chosen_root_counts_whatever_the_client_has() {
    let ws = Workspace::new().outside("one/first.txt", "first");
    let one = ws.outside_path("one");
    let mut server = Server::greeted(&ws, &["--root", &one], &json!({"roots": {}}));
    assert_eq!(
        text(&server.call("read_file", &json!({"absolute_path": "first.txt"}))),
        "first"
    );
    assert!(server.aside.is_empty(), "{:?}", server.aside);
    let mut missing = Server::start(&ws, &["--root", "none"]);
    assert_eq!(missing.status(), Some(1));
}

#[test]
fn own_tools_are_served_and_a_change_of_them_is_told() {
    let tool = "#!/bin/sh\n# /// tool\n# description = \"d\"\n# ///\necho own\n";
    let ws = Workspace::new().home(".gemini/tools/own", tool);
    let own = ws.root().join("home/.gemini/tools/own");
    crate::harness::set_mode(&own, 0o755);
    let mut server = greeted(&ws);
    let names = |server: &mut Server| {
        let listed = server.ask("tools/list", &json!({}));
        let tools = listed["result"]["tools"]
            .as_array()
            .expect("a list")
            .clone();
        tools
            .iter()
            .map(|t| t["name"].as_str().unwrap_or_default().to_owned())
            .collect::<Vec<_>>()
    };
    assert!(names(&mut server).contains(&"own".to_owned()));
    assert!(text(&server.call("own", &json!({}))).contains("own"));
    assert!(server.aside.is_empty());
    fs::copy(&own, own.with_file_name("other")).expect("copied");
    server.call("glob", &json!({"pattern": "*"}));
    server.ask("ping", &json!({}));
    let told = std::mem::take(&mut server.aside);
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!(told[0]["method"], "notifications/tools/list_changed");
    assert!(names(&mut server).contains(&"other".to_owned()));
    server.call("glob", &json!({"pattern": "*"}));
    assert!(server.aside.is_empty(), "{:?}", server.aside);
}

#[test]
fn an_untrusted_projects_tools_are_not_served_until_it_is_trusted() {
    let tool = "description = \"d\"\ncommand = [\"echo\", \"theirs\"]\n";
    let ws = Workspace::new().file(".gemini/tools/theirs.toml", tool);
    let mut server = greeted(&ws);
    let refused = server.call("theirs", &json!({}));
    assert_eq!(
        refused["structuredContent"]["errorType"], "policy_violation",
        "{refused}"
    );
    let trusted = json!({ws.dir().display().to_string(): "TRUST_FOLDER"});
    let ws = ws.home(".gemini/trustedFolders.json", trusted.to_string());
    let allowed = server.call("theirs", &json!({}));
    assert!(text(&allowed).contains("theirs"), "{allowed}");
    fs::remove_file(ws.root().join("home/.gemini/trustedFolders.json")).expect("removed");
    let refused = server.call("theirs", &json!({}));
    assert_eq!(refused["isError"], true, "{refused}");
}

#[test]
fn a_change_below_the_tools_of_a_trusted_project_ends_its_trust_at_the_next_call() {
    const DEEP: &str = ".gemini/tools/lib/deep/k.sh";
    type Change = fn(&std::path::Path);
    let changes: [Change; 5] = [
        |file| fs::write(file, "echo evil\n").expect("written"),
        |file| {
            let date = fs::metadata(file).and_then(|m| m.modified());
            fs::write(file, "echo evil\n").expect("written");
            let opened = fs::File::options().write(true).open(file);
            let set = opened.and_then(|opened| opened.set_modified(date.expect("a date")));
            set.expect("its date");
        },
        |file| {
            let new = file.ancestors().nth(5).expect("the project").join("new");
            fs::write(&new, "echo evil\n").expect("written");
            fs::rename(new, file).expect("moved");
        },
        |file| crate::harness::set_mode(file, 0o755),
        |file| {
            let (dir, new) = (file.parent().expect("one"), file.ancestors().nth(5));
            let new = new.expect("the project").join("other");
            fs::rename(dir, &new).expect("moved");
            std::os::unix::fs::symlink("../../../other", dir).expect("a link");
        },
    ];
    let tool = "#!/bin/sh\n# /// tool\n# description = \"d\"\n# ///\n. \"${0%/*}/lib/deep/k.sh\"\n";
    for (i, change) in changes.iter().enumerate() {
        let ws = Workspace::new()
            .file(".gemini/tools/own", tool)
            .file(DEEP, "echo fine\n");
        crate::harness::set_mode(&ws.dir().join(".gemini/tools/own"), 0o755);
        crate::harness::set_mode(&ws.dir().join(DEEP), 0o644);
        let trusted = ws
            .get_tools(&["trust", "--yes"])
            .changing_at_home(&[".gemini"])
            .run();
        assert_eq!(trusted.status(), 0, "{}", trusted.shown());
        let mut server = greeted(&ws);
        let first = server.call("own", &json!({}));
        assert_eq!(text(&first).trim_end(), "fine", "change {i}: {first}");
        change(&ws.dir().join(DEEP));
        let refused = server.call("own", &json!({}));
        assert_eq!(
            refused["structuredContent"]["errorType"], "policy_violation",
            "change {i}: {refused}"
        );
    }
}

/// A server that a client of this name has greeted.
pub(crate) fn greeted_by(ws: &Workspace, client: &str, variables: &[(&str, &str)]) -> Server {
    let mut server = Server::start_with(ws, &[], variables);
    let mut greeting = greeting("2025-11-25", &json!({}));
    greeting["clientInfo"]["name"] = client.into();
    server.ask("initialize", &greeting);
    server.notify("notifications/initialized", &json!({}));
    server
}

#[test]
fn memories_are_kept_where_the_client_reads_them() {
    for (client, is_declared, at_home, variable, elsewhere) in [
        (
            "gemini-cli-mcp-client-gemini-tools",
            true,
            ".gemini/GEMINI.md",
            "GEMINI_CLI_HOME",
            ".gemini/GEMINI.md",
        ),
        (
            "claude-code",
            true,
            ".claude/CLAUDE.md",
            "CLAUDE_CONFIG_DIR",
            "CLAUDE.md",
        ),
        (
            "codex-mcp-client",
            true,
            ".codex/AGENTS.md",
            "CODEX_HOME",
            "AGENTS.md",
        ),
        (
            "qwen-cli-mcp-client-gemini-tools",
            true,
            ".qwen/QWEN.md",
            "QWEN_HOME",
            "QWEN.md",
        ),
        (
            "another",
            false,
            ".gemini/GEMINI.md",
            "GEMINI_CLI_HOME",
            ".gemini/GEMINI.md",
        ),
    ] {
        let ws = Workspace::new();
        let outside = ws.outside_path("elsewhere");
        let home = ws.root().join("home");
        for (variables, file) in [
            (vec![], home.join(at_home)),
            (
                vec![(variable, outside.as_str())],
                Path::new(&outside).join(elsewhere),
            ),
        ] {
            let mut server = greeted_by(&ws, client, &variables);
            let listed = server.ask("tools/list", &json!({}));
            let tools = listed["result"]["tools"].as_array().expect("a list");
            let is_there = tools.iter().any(|tool| tool["name"] == "save_memory");
            assert_eq!(is_there, is_declared, "{client}");
            let saved = server.call("save_memory", &json!({"fact": "Likes tea."}));
            assert!(
                text(&saved).contains(&format!("(in {})", file.display())),
                "{client}: {saved}"
            );
            let kept = fs::read_to_string(&file).unwrap_or_else(|e| panic!("{client}: {e}"));
            assert!(kept.contains("- Likes tea.\n"), "{client}: {kept}");
            let undone = ws.call_tool(&["--undo"]);
            let undone = variables
                .iter()
                .fold(undone, |call, (name, value)| call.env(name, value));
            assert_eq!(undone.unwatched().run().status(), 0, "{client}");
            assert!(!file.exists(), "{client}");
        }
    }
}

#[test]
fn rules_count_as_everywhere() {
    let rule = "[[rule]]\ntoolName = \"run_shell_command\"\ndecision = \"deny\"\npriority = 500\n\
        [[rule]]\ntoolName = \"read_file\"\nargsPattern = \"secret\"\ndecision = \"deny\"\npriority = 500\n";
    let ws = Workspace::new()
        .file("secret.txt", "x")
        .home(".gemini/policies/p.toml", rule);
    let mut server = greeted(&ws);
    let listed = server.ask("tools/list", &json!({})).to_string();
    assert!(!listed.contains("\"run_shell_command\""), "{listed}");
    for (tool, args) in [
        ("run_shell_command", json!({"command": "echo x"})),
        ("read_file", json!({"absolute_path": "secret.txt"})),
    ] {
        let result = server.call(tool, &args);
        assert_eq!(
            result["structuredContent"]["errorType"], "policy_violation",
            "{result}"
        );
    }
}

#[test]
fn a_client_that_can_ask_its_user_is_made_to() {
    let ws = Workspace::new();
    let write = |name: &str| json!({"name": "write_file", "arguments": {"file_path": name, "content": "x\n"}});
    let args = ["--approval-mode", "default"];
    let mut server = Server::greeted(&ws, &args, &json!({"elicitation": {}}));
    for (decision, is_error) in [("allow once", false), ("do not allow", true)] {
        let id = server.request("tools/call", &write(&format!("{}.txt", decision.len())));
        let reply = json!({"action": "accept", "content": {"decision": decision}});
        let question = server.answer_request("elicitation/create", &reply);
        let message = question["params"]["message"].as_str().expect("a message");
        assert!(
            message.contains("write_file") && message.contains("+x"),
            "{message}"
        );
        let answer = server.answer(id);
        assert_eq!(answer["result"]["isError"], is_error, "{answer}");
    }
    let id = server.request("tools/call", &write("declined.txt"));
    server.answer_request("elicitation/create", &json!({"action": "decline"}));
    assert_eq!(
        server.answer(id)["result"]["structuredContent"]["errorType"],
        "policy_violation"
    );
    assert!(!ws.dir().join("declined.txt").exists());
    // Nothing is asked before reading.
    server.call("glob", &json!({"pattern": "*"}));

    let mut server = Server::greeted(&ws, &args, &json!({}));
    let refused = server.ask("tools/call", &write("asked.txt"));
    assert_eq!(
        refused["result"]["structuredContent"]["errorType"],
        "policy_violation"
    );
    assert!(
        text(&refused["result"]).contains("no user can be asked"),
        "{refused}"
    );
}

/// Asks for a call, and answers its question so. Gives the question's message.
#[track_caller]
fn questioned(server: &mut Server, name: &str, args: &Value, decision: &str) -> String {
    let call = json!({"name": name, "arguments": args});
    let id = server.request("tools/call", &call);
    let reply = json!({"action": "accept", "content": {"decision": decision}});
    let question = server.answer_request("elicitation/create", &reply);
    let answer = server.answer(id);
    assert_eq!(
        answer["result"]["isError"],
        decision == "do not allow",
        "{answer}"
    );
    let message = question["params"]["message"].as_str();
    message.expect("a message").to_owned()
}

#[test]
fn all_of_a_command_is_seen_before_it_is_agreed_to() {
    let ws = Workspace::new();
    let args = ["--approval-mode", "default"];
    let mut server = Server::greeted(&ws, &args, &json!({"elicitation": {}}));
    let mut ask = |command: &str, description: &str| {
        let args = json!({"command": command, "description": description});
        questioned(&mut server, "run_shell_command", &args, "do not allow")
    };
    let message = ask(&format!("touch a{}; rm -rf ~", " ".repeat(5000)), "");
    assert!(
        message.contains("touch a[5000 blanks]; rm -rf ~"),
        "{message}"
    );
    let message = ask(&format!("touch a{}; rm -rf ~", "\n".repeat(5000)), "");
    assert!(
        message.contains("blank lines") && message.contains("; rm -rf ~"),
        "{message}"
    );
    let message = ask("touch a; rm -rf ~", &"words ".repeat(750));
    let at = |piece: &str| message.find(piece).expect("a piece");
    assert!(at("rm -rf ~") < at("words"), "{message}");
    assert_eq!(message.matches("words").count(), 750);
    let message = ask(
        "touch \u{202e}a\u{200b}\u{e0041}\u{2028}b\x1b[2J\r",
        "c\nd\u{2066}",
    );
    let shown = "touch \\u{202e}a\\u{200b}\\u{e0041}\\u{2028}b\\u{1b}[2J\\r";
    assert!(message.contains(shown), "{message}");
    assert!(message.contains("\\u{2066}"), "{message}");
    let is_odd = |c: char| c.is_control() && c != '\n' || !c.is_ascii() && c != '…';
    assert!(!message.contains(is_odd), "{message:?}");

    // What is too long to be read is refused, and the user is not asked.
    let long = json!({"command": format!("touch a; echo {}", "x".repeat(60_000))});
    let refused = server.call("run_shell_command", &long);
    assert_eq!(
        refused["structuredContent"]["errorType"], "policy_violation",
        "{refused}"
    );
    assert!(text(&refused).contains("too long to be read"), "{refused}");
}

#[test]
fn where_always_is_switched_off_a_session_is_not_offered() {
    let settings = json!({"security": {"disableAlwaysAllow": true}});
    let ws = Workspace::new().home(".gemini/settings.json", settings.to_string());
    let args = ["--approval-mode", "default"];
    let mut server = Server::greeted(&ws, &args, &json!({"elicitation": {}}));
    let written = json!({"file_path": "a.txt", "content": "one\n"});
    let message = questioned(&mut server, "write_file", &written, "allow once");
    assert!(!message.contains("for this session"), "{message}");
    let id = server.request(
        "tools/call",
        &json!({"name": "write_file", "arguments": written}),
    );
    let always = json!({"action": "accept", "content": {"decision": "allow for this session"}});
    let question = server.answer_request("elicitation/create", &always);
    assert!(
        !question.to_string().contains("for this session"),
        "{question}"
    );
    assert_eq!(server.answer(id)["result"]["isError"], true);
}

#[test]
fn what_is_allowed_for_a_session_is_said_and_is_that() {
    let ws = Workspace::new();
    let args = ["--approval-mode", "default"];
    let mut server = Server::greeted(&ws, &args, &json!({"elicitation": {}}));
    let written = json!({"file_path": "a.txt", "content": "one\n"});
    let always = "allow for this session";
    let message = questioned(&mut server, "write_file", &written, always);
    assert!(
        message.ends_with("\"allow for this session\" is for all edits."),
        "{message}"
    );
    let edit = json!({"file_path": "a.txt", "old_string": "one", "new_string": "two"});
    assert_eq!(server.call("replace", &edit)["isError"], false);
    let touch = json!({"command": "touch b"});
    let message = questioned(&mut server, "run_shell_command", &touch, always);
    assert!(message.ends_with("is for these programs."), "{message}");
    server.call("run_shell_command", &json!({"command": "touch c"}));
    let message = questioned(
        &mut server,
        "run_shell_command",
        &json!({"command": "mkdir d"}),
        "do not allow",
    );
    assert!(message.contains("mkdir d"), "{message}");
}

#[test]
fn the_end_of_the_input_and_signals_end_everything() {
    let ws = Workspace::new();
    let call =
        json!({"name": "run_shell_command", "arguments": {"command": "sleep 30.75 & sleep 30.75"}});
    let mut server = greeted(&ws);
    server.request("tools/call", &call);
    server.wait_for_process("sleep 30.75");
    server.hang_up();
    assert_eq!(server.status(), Some(0));
    server.wait_until_gone("sleep 30.75");
    // A question that is open can't be answered any more, either.
    let mut server = Server::greeted(
        &ws,
        &["--approval-mode", "default"],
        &json!({"elicitation": {}}),
    );
    server.request(
        "tools/call",
        &json!({"name": "write_file", "arguments": {"file_path": "a", "content": "x"}}),
    );
    server.told("elicitation/create");
    let hung_up = Instant::now();
    server.hang_up();
    assert_eq!(server.status(), Some(0));
    assert!(
        hung_up.elapsed() < Duration::from_secs(5),
        "{:?}",
        hung_up.elapsed()
    );
    for (signal, status) in [(Signal::TERM, 143), (Signal::INT, 130)] {
        let mut server = greeted(&ws);
        server.request("tools/call", &call);
        server.wait_for_process("sleep 30.75");
        server.signal(signal);
        assert_eq!(server.status(), Some(status));
        server.wait_until_gone("sleep 30.75");
    }
    let mut server = greeted(&ws);
    server.request("tools/call", &call);
    server.wait_for_process("sleep 30.75");
    server.signal(Signal::KILL);
    server.status();
    server.wait_until_gone("sleep 30.75");
}

#[test]
fn what_came_down_a_pipe_is_answered_and_nothing_else_is_printed() {
    let ws = Workspace::new().file("a.txt", "one\n");
    let greeting = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": greeting("2025-06-18", &json!({}))});
    let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call",
        "params": {"name": "read_file", "arguments": {"absolute_path": "a.txt"}}});
    let answer = ws
        .program(&executable("serve_tools"), &[])
        .input(format!("{greeting}\n{call}"))
        .run();
    assert_eq!(answer.status(), 0);
    let lines: Vec<Value> = String::from_utf8_lossy(&answer.stdout)
        .lines()
        .map(|line| serde_json::from_str(line).expect("a message"))
        .collect();
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[1]["result"]["content"][0]["text"], "one\n");
    assert!(answer.stderr.is_empty());
    let silent = ws.program(&executable("serve_tools"), &[]).run();
    assert!(silent.status() == 0 && silent.stdout.is_empty());
}

#[test]
fn a_call_that_the_end_of_the_input_has_ended_is_answered_in_a_pipe_and_not_to_a_client() {
    let ws = Workspace::new();
    let arguments = json!({"command": "echo said; sleep 30.25"});
    let mut call = json!({"name": "run_shell_command", "arguments": arguments});
    call["_meta"] = json!({"progressToken": "t"});
    let mut server = greeted(&ws);
    server.request("tools/call", &call);
    server.told("notifications/progress");
    server.hang_up();
    assert_eq!(server.line(), None);
    assert_eq!(server.status(), Some(0));
    server.wait_until_gone("sleep 30.25");

    call["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "by-hand", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let mut piped = Server::start(&ws, &[]);
    let id = piped.request("tools/call", &call);
    piped.hang_up();
    let answer = piped.answer(id);
    assert_eq!(answer["result"]["isError"], true, "{answer}");
}

#[test]
fn a_client_that_has_waited_before_it_leaves_gets_no_late_answer_and_a_pipe_does() {
    let ws = Workspace::new();
    let call = json!({"name": "run_shell_command",
        "arguments": {"command": "sleep 1"}});
    let mut server = greeted(&ws);
    server.request("tools/call", &call);
    server.wait_for_process("sleep 1");
    // By now it has been silent for long.
    thread::sleep(Duration::from_millis(400));
    server.hang_up();
    assert_eq!(server.line(), None);
    assert_eq!(server.status(), Some(0));

    let mut call = call;
    call["arguments"]["command"] = json!("echo said");
    let messages = [
        json!({"id": 1, "method": "initialize", "params": greeting("2025-06-18", &json!({}))}),
        json!({"method": "notifications/initialized"}),
        json!({"id": 2, "method": "tools/call", "params": call}),
    ];
    let lines = messages.map(|mut message| {
        message["jsonrpc"] = json!("2.0");
        message.to_string()
    });
    let piped = ws.program(&executable("serve_tools"), &[]);
    let answer = piped.input(lines.join("\n")).unwatched().run();
    let last = answer.text().lines().last().expect("an answer");
    assert!(last.contains("\"id\":2") && last.contains("said"), "{last}");
}

#[test]
fn unusable_arguments_are_refused() {
    let ws = Workspace::new();
    for (args, message) in [
        (&["--http", "0.0.0.0:0"][..], "--allow-remote"),
        (&["--http", "[::]:0"], "--allow-remote"),
        (&["--http", "nonsense"], "ADDR:PORT"),
        (&["--allow-remote"], "--http"),
        (&["--approval-mode", "x"], "yolo"),
        (&["--no-such"], "--no-such"),
    ] {
        let answer = ws.program(&executable("serve_tools"), args).run();
        assert_eq!(answer.status(), 2, "{args:?}");
        let said = answer.errors();
        assert!(said.contains(message), "{args:?}: {said}");
        assert!(answer.stdout.is_empty());
    }
    let short = ws
        .program(&executable("serve_tools"), &["--http", "127.0.0.1:0"])
        .env("GEMINI_TOOLS_SERVE_TOKEN", "short")
        .run();
    assert_eq!(short.status(), 2);
    let help = ws.program(&executable("serve_tools"), &["--help"]).run();
    assert!(help.status() == 0 && String::from_utf8_lossy(&help.stdout).contains("--http"));
}

/// A session over HTTP: its id, once it has begun.
fn begin(to: std::net::SocketAddr) -> String {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": greeting("2025-06-18", &json!({}))});
    let reply = post(to, &[], &body.to_string());
    assert_eq!(reply.status, 200, "{reply:?}");
    assert_eq!(
        reply.answer(1)["result"]["serverInfo"]["name"],
        "gemini-tools"
    );
    let session = reply
        .header("mcp-session-id")
        .expect("a session")
        .to_owned();
    let begun = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let reply = post(
        to,
        &[("Mcp-Session-Id", Some(&session))],
        &begun.to_string(),
    );
    assert_eq!(reply.status, 202, "{reply:?}");
    session
}

fn call_over_http(to: std::net::SocketAddr, session: &str, tool: &str, args: &Value) -> Reply {
    let body = json!({"jsonrpc": "2.0", "id": 5, "method": "tools/call",
        "params": {"name": tool, "arguments": args}});
    post(to, &[("Mcp-Session-Id", Some(session))], &body.to_string())
}

#[test]
fn by_http_only_those_come_in_who_may() {
    let ws = Workspace::new();
    let mut server = Server::start(&ws, &["--http", "127.0.0.1:0"]);
    let to = server.address();
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": greeting("2025-06-18", &json!({}))})
    .to_string();
    for (header, value, status) in [
        ("Authorization", None, 401),
        ("Authorization", Some("Bearer wrong"), 401),
        ("Authorization", Some("Basic YTpi"), 401),
        ("Origin", Some("https://evil.example"), 403),
        ("Origin", Some("null"), 403),
        ("Host", Some("evil.example"), 403),
        ("Host", Some("evil.example:80"), 403),
        ("Host", None, 403),
        ("Content-Type", Some("text/plain"), 415),
        ("Mcp-Session-Id", Some("no-such-session"), 404),
    ] {
        let body = if status == 404 {
            r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#
        } else {
            &body
        };
        let reply = post(to, &[(header, value)], body);
        assert_eq!(reply.status, status, "{header}: {value:?}: {reply:?}");
        assert!(!reply.body.contains("serverInfo"), "{reply:?}");
    }
    let reply = post(to, &[], &format!("{body}{}", " ".repeat(65 << 20)));
    assert_eq!(reply.status, 413, "{reply:?}");
    begin(to);
}

#[test]
fn by_http_clients_work_side_by_side_in_sessions_of_their_own() {
    let ws = Workspace::new();
    let mut server = Server::start(&ws, &["--http", "127.0.0.1:0"]);
    let to = server.address();
    let sessions = [begin(to), begin(to)];
    assert_ne!(sessions[0], sessions[1]);
    thread::scope(|scope| {
        for (session, own, other) in [(&sessions[0], "a", "b"), (&sessions[1], "b", "a")] {
            scope.spawn(move || {
                let command =
                    format!("touch {own}; until [ -e {other} ]; do sleep 0.01; done; echo met");
                let reply = call_over_http(
                    to,
                    session,
                    "run_shell_command",
                    &json!({"command": command}),
                );
                assert!(
                    text(&reply.answer(5)["result"]).contains("met"),
                    "{reply:?}"
                );
            });
        }
    });
    let token = call_over_http(
        to,
        &sessions[0],
        "run_shell_command",
        &json!({"command": "env"}),
    );
    assert!(!token.body.contains(TOKEN), "{token:?}");
    let body = json!({"jsonrpc": "2.0", "id": 6, "method": "tools/list"}).to_string();
    let without = post(to, &[], &body);
    assert!((400..500).contains(&without.status), "{without:?}");
}

#[test]
fn by_http_a_signal_ends_everything() {
    let ws = Workspace::new();
    let mut server = Server::start(&ws, &["--http", "127.0.0.1:0"]);
    let to = server.address();
    let session = begin(to);
    let caller = thread::spawn(move || {
        let args = json!({"command": "sleep 30.125"});
        let body = json!({"jsonrpc": "2.0", "id": 5, "method": "tools/call",
            "params": {"name": "run_shell_command", "arguments": args}});
        post(to, &[("Mcp-Session-Id", Some(&session))], &body.to_string());
    });
    server.wait_for_process("sleep 30.125");
    server.signal(Signal::TERM);
    assert_eq!(server.status(), Some(143));
    server.wait_until_gone("sleep 30.125");
    drop(caller.join());
    let mut other = Server::start(&ws, &["--http", "127.0.0.1:0"]);
    let taken = other.address().to_string();
    let mut second = Server::start(&ws, &["--http", &taken]);
    assert!(
        second
            .line()
            .is_some_and(|line| line.contains("can't listen"))
    );
    assert_eq!(second.status(), Some(1));
}

#[test]
fn a_person_at_a_terminal_learns_what_it_waits_for() {
    let ws = Workspace::new();
    let call = ws.program(&executable("serve_tools"), &[]).unwatched();
    let mut person = call.at_a_terminal();
    let said = person.sees("Ctrl-C ends");
    assert!(
        said.contains("MCP client") && said.contains("--http"),
        "{said}"
    );
    person.types(CTRL_D);
    person.sees_it_end(0);
}
