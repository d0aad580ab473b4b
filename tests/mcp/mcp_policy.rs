//! Rules for what MCP servers say of their tools: `toolAnnotations` of a policy, and the mode `plan`.
//!
//! The server is `server.py`, whose tools `look`, `wipe` and `plain` say that they read, that they destroy, and nothing.

use std::fs;

use serde_json::{Value, json};

use crate::harness::agent::{agent, response, said, turns};
use crate::harness::client::Server;
use crate::harness::mcp::Servers;
use crate::harness::stand_in::StandIn;
use crate::harness::terminal::ASKED;
use crate::harness::{Answer, executable};

/// A rule for the tools of the server `ann` that say that they destroy.
pub(super) const NO_DESTRUCTION: &str = r#"
[[rule]]
toolName = "*"
mcpName = "ann"
toolAnnotations = { destructiveHint = true }
decision = "deny"
priority = 100
"#;

fn annotated() -> Servers {
    Servers::new(&[("ann", "annotated", json!({}))])
}

fn calls(s: &Servers) -> Vec<String> {
    let mut notes = s.notes("ann");
    notes.retain(|note| note.starts_with("call "));
    notes
}

fn with_policy(s: Servers, policy: &str) -> Servers {
    Servers {
        ws: s.ws.home(".gemini/policies/mine.toml", policy),
    }
}

#[test]
fn a_rule_denies_by_what_a_server_says_of_a_tool() {
    let s = annotated();
    let s = Servers {
        ws: s.ws.outside("rule.toml", NO_DESTRUCTION),
    };
    let policy = s.ws.outside_path("rule.toml");
    let call = |name: &str| s.tool(name, &json!({})).flags(&["--policy", &policy]).run();
    let denied = call("ann__wipe");
    denied.must_say(
        &denied.error("policy_violation", 3),
        &["ann__wipe may not run", "destructiveHint"],
    );
    for name in ["look", "plain"] {
        let output = call(&format!("ann__{name}")).output();
        assert_eq!(output, format!("called {name}"));
    }
    assert_eq!(calls(&s), ["call look", "call plain"]);

    // The user's own rules count for all, and the tool is not listed.
    let s = with_policy(annotated(), NO_DESTRUCTION);
    assert_eq!(s.names(), ["ann__look", "ann__plain"]);
    let _ = s.call("ann__wipe", &json!({})).error("policy_violation", 3);
    let mut server = Server::greeted(&s.ws, &["--mcp"], &json!({}));
    let listed = server.ask("tools/list", &json!({}))["result"]["tools"].to_string();
    assert!(listed.contains("ann__look") && !listed.contains("ann__wipe"));
    let refused = server.call("ann__wipe", &json!({}));
    assert_eq!(
        refused["structuredContent"]["errorType"],
        "policy_violation"
    );
    server.hang_up();
    assert_eq!(server.status(), Some(0));
    assert!(calls(&s).is_empty());
    s.all_gone();
}

#[test]
fn run_agent_obeys_such_a_rule_where_nothing_else_asks() {
    let call = |id: &str, tool: &str| json!({"id": id, "tool": tool, "args": {"text": "all"}});
    let script =
        json!({"turns": [[call("w", "ann__wipe"), call("p", "ann__plain")]], "closing": "Done."});
    let Some(api) = StandIn::playing(&script) else {
        return;
    };
    let s = annotated();
    // A rule for some arguments leaves the tool in the list.
    let s = Servers {
        ws: s.ws.outside(
            "rule.toml",
            format!("{NO_DESTRUCTION}argsPattern = \"all\"\n"),
        ),
    };
    let policy = s.ws.outside_path("rule.toml");
    let run = agent(&s.ws, &api, &["Play", "--yolo", "--policy", &policy]);
    said(&s.marked(run.env("GEMINI_TOOLS_MCP", "1")).run());
    let declared = turns(&api)[0]["tools"][0]["functionDeclarations"].to_string();
    assert!(declared.contains("ann__wipe") && !declared.contains("destructiveHint"));
    let error = response(&api, "w")["error"].to_string();
    assert!(error.contains("may not run"), "{error}");
    assert_eq!(response(&api, "p")["output"], "called plain");
    assert_eq!(calls(&s), ["call plain"]);
    s.all_gone();
}

#[test]
fn run_agent_asks_where_a_rule_for_arguments_does_and_a_lower_one_allows() {
    let call = json!({"id": "p", "tool": "ann__plain", "args": {"text": "all"}});
    let other = json!({"id": "o", "tool": "ann__plain", "args": {"text": "one"}});
    let script = json!({"turns": [[call, other]], "closing": "Done."});
    let Some(api) = StandIn::playing(&script) else {
        return;
    };
    let rules = "[[rule]]\ntoolName = \"*\"\nmcpName = \"ann\"\nargsPattern = \"all\"\n\
                 decision = \"ask_user\"\npriority = 100\n\
                 [[rule]]\ntoolName = \"*\"\nmcpName = \"ann\"\ndecision = \"allow\"\npriority = 10\n";
    let s = with_policy(annotated(), rules);
    let run = agent(&s.ws, &api, &["Play"]).env("GEMINI_TOOLS_MCP", "1");
    let mut person = s.marked(run).at_a_terminal();
    let page = person.sees(ASKED);
    assert!(page.contains("\"all\""), "{page}");
    person.types(b"n");
    person.sees_it_end(0);
    assert_eq!(response(&api, "o")["output"], "called plain");
    assert_eq!(calls(&s), ["call plain"]);
    s.all_gone();
}

#[test]
fn a_plan_may_be_made_with_tools_that_say_they_read_where_a_person_agrees() {
    let s = annotated();
    // The host has asked.
    let planning = |name: &str| {
        let call = s.tool(name, &json!({}));
        call.env("GEMINI_TOOLS_APPROVAL_MODE", "plan").run()
    };
    assert_eq!(planning("ann__look").output(), "called look");
    for name in ["ann__wipe", "ann__plain"] {
        let _ = planning(name).error("policy_violation", 3);
    }
    let listed = s.marked(s.ws.get_tools(&["--mcp", "--format", "names"]));
    let listed = listed.env("GEMINI_TOOLS_APPROVAL_MODE", "plan").run();
    let mut names = listed.text().lines();
    assert_eq!(names.by_ref().find(|n| n.contains("__")), Some("ann__look"));
    assert!(!names.any(|n| n.contains("__")), "{}", listed.shown());
    // The user has not agreed, and no user can be asked: the word of a server is not an approval.
    let call = s.tool("ann__look", &json!({}));
    let refused = call.flags(&["--approval-mode", "plan"]).run();
    refused.must_say(
        &refused.error("policy_violation", 3),
        &["needs the user's approval"],
    );
    assert_eq!(calls(&s), ["call look"]);
    // One who is asked may agree.
    let mut server = Server::greeted(
        &s.ws,
        &["--mcp", "--approval-mode", "plan"],
        &json!({"elicitation": {}}),
    );
    let id = server.request("tools/call", &json!({"name": "ann__look", "arguments": {}}));
    let agreed = json!({"action": "accept", "content": {"decision": "allow once"}});
    let _ = server.answer_request("elicitation/create", &agreed);
    let answer = server.answer(id);
    assert_eq!(answer["result"]["isError"], false, "{answer}");
    server.hang_up();
    assert_eq!(server.status(), Some(0));
    s.all_gone();
}

#[test]
fn what_a_server_says_differently_by_now_is_judged_anew() {
    let s = annotated();
    let planning = || {
        let call = s.tool("ann__look", &json!({}));
        call.env("GEMINI_TOOLS_APPROVAL_MODE", "plan").run()
    };
    assert_eq!(planning().output(), "called look");
    fs::write(s.ws.outside_path("ann.notes.poison"), "").expect("written");
    let changed = planning();
    changed.must_say(
        &changed.error("policy_violation", 3),
        &["has changed its hints", "Call it again"],
    );
    let denied = planning();
    denied.must_say(
        &denied.error("policy_violation", 3),
        &["Plans are made with"],
    );
    assert_eq!(calls(&s), ["call look"]);
    s.all_gone();
}

#[test]
fn what_a_server_says_while_a_question_is_open_counts_for_that_call() {
    const RULES: &str = r#"
[[rule]]
toolName = "plain"
mcpName = "ann"
decision = "allow"
priority = 300

[[rule]]
toolName = "*"
mcpName = "ann"
toolAnnotations = { readOnlyHint = true }
decision = "ask_user"
priority = 200

[[rule]]
toolName = "*"
mcpName = "ann"
decision = "deny"
priority = 100
"#;
    let s = with_policy(annotated(), RULES);
    assert_eq!(s.names(), ["ann__look", "ann__plain"]);
    let mut server = Server::greeted(
        &s.ws,
        &["--mcp", "--approval-mode", "default"],
        &json!({"elicitation": {}}),
    );
    let id = server.request("tools/call", &json!({"name": "ann__look", "arguments": {}}));
    let question = server.told("elicitation/create");
    fs::write(s.ws.outside_path("ann.notes.poison"), "").expect("written");
    // This call is the first that the server is asked for: it says by then what is new.
    let other = server.call("ann__plain", &json!({}));
    assert_eq!(other["isError"], false, "{other}");
    let agreed = json!({"action": "accept", "content": {"decision": "allow once"}});
    let agreed = json!({"jsonrpc": "2.0", "id": question["id"], "result": agreed});
    server.say(&agreed.to_string());
    let refused = server.answer(id)["result"].take();
    assert_eq!(
        refused["structuredContent"]["errorType"], "policy_violation",
        "{refused}"
    );
    assert!(refused.to_string().contains("has changed its hints"));
    server.hang_up();
    assert_eq!(server.status(), Some(0));
    assert_eq!(calls(&s), ["call plain"]);
    s.all_gone();
}

#[test]
fn run_agent_makes_no_call_that_it_has_judged_by_what_a_server_no_longer_says() {
    const RULES: &str = r#"
[[rule]]
toolName = "run_shell_command"
decision = "allow"
priority = 100

[[rule]]
toolName = "plain"
mcpName = "ann"
decision = "allow"
priority = 100

[[rule]]
toolName = "*"
mcpName = "ann"
toolAnnotations = { readOnlyHint = true }
decision = "allow"
priority = 100
"#;
    let Some(api) = StandIn::playing(&json!({"closing": "Done."})) else {
        return;
    };
    // The call command may know the rules, or only the agent does.
    for is_shared in [true, false] {
        let s = annotated();
        let s = if is_shared {
            with_policy(s, RULES)
        } else {
            Servers {
                ws: s.ws.outside("rule.toml", RULES),
            }
        };
        let poison = format!("touch '{}'", s.ws.outside_path("ann.notes.poison"));
        let look = |id: &str| json!([{"id": id, "tool": "ann__look", "args": {}}]);
        let shell = json!([{"id": "s", "tool": "run_shell_command", "args": {"command": poison}}]);
        let plain = json!([{"id": "p", "tool": "ann__plain", "args": {}}]);
        let turns = json!([shell, look("first"), look("second"), plain]);
        api.play(&json!({"turns": turns, "closing": "Done."}));
        let policy = s.ws.outside_path("rule.toml");
        let mut args = vec!["Play"];
        if !is_shared {
            args.extend(["--policy", &policy]);
        }
        let run = agent(&s.ws, &api, &args);
        let answer = s.marked(run.env("GEMINI_TOOLS_MCP", "1")).run();
        said(&answer);
        assert_eq!(calls(&s), ["call plain"], "{is_shared}: {}", answer.shown());
        assert_eq!(response(&api, "p")["output"], "called plain");
        let asked = api.requests().pop().expect("a request").to_string();
        assert_eq!(asked.matches("has changed its hints").count(), 2, "{asked}");
        s.all_gone();
    }
}

/// Plays a call with `run_agent` in the mode `yolo`.
fn played(s: &Servers, name: &str, args: &Value) -> Answer {
    let turns = json!({"turns": [{"calls": [{"name": name, "args": args}]}, {"text": "Done."}]});
    fs::write(s.ws.path("turns.json"), turns.to_string()).expect("written");
    let flags = [
        "--model-script",
        "turns.json",
        "--yolo",
        "-o",
        "stream-json",
        "Go",
    ];
    s.marked(s.ws.program(&executable("run_agent"), &flags))
        .run()
}

#[test]
fn what_a_server_answers_asks_for_no_other_call() {
    let s = annotated();
    let wanted = json!({"name": "run_shell_command", "args": {"command": "touch made"}});
    let args = json!({"tail": wanted});
    s.call("ann__look", &args).output();
    let mut server = Server::greeted(&s.ws, &["--mcp"], &json!({}));
    let answer = server.call("ann__look", &args);
    assert_eq!(answer["isError"], false, "{answer}");
    let answer = played(&s, "ann__look", &args);
    assert_eq!(answer.status(), 0, "{}", answer.shown());
    assert_eq!(calls(&s), ["call look"; 3]);
    assert!(!fs::exists(s.ws.path("made")).expect("a name"));
}

/// A user's tool of a kind that asks for a call of a server's tool.
fn asking_for(s: Servers, kind: &str, wanted: &str) -> Servers {
    let tail = json!({"name": wanted, "args": {}});
    let result = json!({"llmContent": "seen", "tailToolCallRequest": tail});
    let head = "#!/bin/sh\n# /// tool\n# description = \"Asks.\"\n# output = \"tool_result\"";
    let script = format!("{head}\n# kind = \"{kind}\"\n# ///\necho '{result}'\n");
    Servers {
        ws: s.ws.home(".gemini/tools/asks.sh", script),
    }
}

#[test]
fn a_server_s_tool_that_another_asks_for_is_judged_like_any_call() {
    for (kind, wanted, expected) in [
        ("read", "ann__plain", Err("asks says that it only reads")),
        // A server's word alone is not believed.
        ("read", "ann__look", Err("asks says that it only reads")),
        ("execute", "ann__plain", Ok("call plain")),
        // The agent knows no tool that a rule denies.
        ("execute", "ann__wipe", Err("ann__wipe")),
    ] {
        let s = asking_for(with_policy(annotated(), NO_DESTRUCTION), kind, wanted);
        let called = s.call("asks", &json!({}));
        let mut server = Server::greeted(&s.ws, &["--mcp"], &json!({}));
        let over_mcp = server.call("asks", &json!({})).to_string();
        let played = played(&s, "asks", &json!({}));
        match expected {
            Ok(call) => assert_eq!(calls(&s), [call; 3], "{over_mcp}"),
            Err(message) => {
                assert_eq!(calls(&s), [""; 0], "{wanted}");
                for text in [called.text(), &*over_mcp, played.text()] {
                    assert!(text.contains(message), "{text}");
                }
            }
        }
    }
}
