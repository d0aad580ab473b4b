//! The MCP servers of the settings in `run_agent`: whose tools a model is shown, and which calls reach them.

use std::fs;

use serde_json::{Value, json};

use crate::harness::Workspace;
use crate::harness::agent::{agent, ended, response, said, turns};
use crate::harness::mcp::Servers;
use crate::harness::stand_in::StandIn;
use crate::harness::terminal::ASKED;

/// The names of the declared tools that are not built in.
fn declared(api: &StandIn) -> Vec<String> {
    let request = turns(api).pop().expect("a turn");
    let tools = request["tools"][0]["functionDeclarations"].as_array();
    let names = tools
        .expect("tools")
        .iter()
        .filter_map(|t| t["name"].as_str());
    let mut names: Vec<String> = names.map(str::to_owned).collect();
    assert!(names.iter().any(|name| name == "read_file"), "{names:?}");
    names.retain(|name| name.contains("__"));
    names
}

/// A model that has a tool say it again.
fn echoing(tool: &str) -> Value {
    let call = json!({"id": "e", "tool": tool, "args": {"text": "hällo"}});
    json!({"turns": [[call]], "closing": "Done."})
}

/// What the telemetry says of each call: the tool, its type and its server.
fn told(ws: &Workspace) -> Vec<Value> {
    let events = fs::read_to_string(ws.path("events.jsonl")).expect("events");
    let events = events
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"));
    let calls = events.filter(|event: &Value| event["event.name"] == "gemini_cli.tool_call");
    calls
        .map(|call| {
            json!([
                call["function_name"],
                call["tool_type"],
                call["mcp_server_name"]
            ])
        })
        .collect()
}

#[test]
fn the_telemetry_has_the_server_of_a_call_whether_or_not_a_user_was_asked() {
    let name = "my server";
    let Some(api) = StandIn::playing(&json!({})) else {
        return;
    };
    let call = |id: &str, tool: &str| json!({"id": id, "tool": tool, "args": {"text": "x"}});
    let listing = json!({"id": "l", "tool": "list_directory", "args": {"path": "."}});
    let calls = json!([call("e", "my_server__echo"), listing]);
    let expected = [
        json!(["my_server__echo", "mcp", name]),
        json!(["list_directory", "native", null]),
    ];
    // Allowed by trust, refused because no user could be asked, and approved by one.
    for (trust, is_asked) in [(true, false), (false, false), (false, true)] {
        api.play(&json!({"turns": [calls], "closing": "Done."}));
        let s = Servers::new(&[(name, "plain", json!({"trust": trust}))]);
        let events = s.ws.path("events.jsonl");
        let run = agent(&s.ws, &api, &["Play"]).env("GEMINI_TELEMETRY_OUTFILE", &events);
        let run = s.marked(run);
        if is_asked {
            let mut person = run.at_a_terminal();
            person.sees(ASKED);
            person.types(b"y");
            person.sees_it_end(0);
        } else {
            said(&run.run());
        }
        let mut told = told(&s.ws);
        // A call that may not run is over first.
        told.sort_by_key(|call| call[1] != "mcp");
        assert_eq!(told, expected);
        s.all_gone();
    }
}

fn trusted() -> Value {
    json!({"trust": true})
}

#[test]
fn the_servers_of_the_settings_are_used_unless_they_are_left_aside() {
    let Some(api) = StandIn::playing(&echoing("one__echo")) else {
        return;
    };
    let s = Servers::new(&[("one", "plain", trusted())]);
    let run = s.marked(agent(&s.ws, &api, &["Play"])).run();
    said(&run);
    assert!(run.stderr.is_empty(), "{}", run.shown());
    assert!(declared(&api).contains(&"one__echo".to_owned()));
    assert_eq!(response(&api, "e"), json!({"output": "hällo"}));
    let started = s.was_started("one");
    for (flag, variable) in [("--no-mcp", "1"), ("--yolo", "0")] {
        api.play(&echoing("one__echo"));
        let run = agent(&s.ws, &api, &["Play", flag]).env("GEMINI_TOOLS_MCP", variable);
        said(&s.marked(run).run());
        assert!(declared(&api).is_empty(), "{flag}");
        let error = response(&api, "e")["error"].to_string();
        assert!(error.contains("no tool one__echo"), "{error}");
    }
    // What was meant to allow a call of one of them would do nothing.
    let allowed = ["Play", "--no-mcp", "--allowed-tools", "one__echo"];
    let run = s.marked(agent(&s.ws, &api, &allowed)).run();
    ended(
        &run,
        42,
        &["--allowed-tools one__echo: There is no such tool"],
    );
    assert_eq!(s.was_started("one"), started);
    s.all_gone();
}

#[test]
fn a_server_of_which_nothing_comes_is_told_once_and_costs_only_its_own_tools() {
    let Some(api) = StandIn::playing(&echoing("good__echo")) else {
        return;
    };
    let limit = json!({"timeout": 1500});
    let s = Servers::new(&[
        ("gone", "exits", trusted()),
        ("late", "hang_list", limit),
        ("good", "plain", trusted()),
    ]);
    let run = s.marked(agent(&s.ws, &api, &["Play"])).run();
    said(&run);
    let errors = run.errors();
    for server in ["gone", "late"] {
        let line = format!("run_agent: The MCP server {server}: it has no tools: ");
        assert_eq!(errors.matches(&line).count(), 1, "{errors}");
    }
    assert_eq!(errors.lines().count(), 2, "{errors}");
    assert_eq!(response(&api, "e"), json!({"output": "hällo"}));
    assert!(declared(&api).iter().all(|name| name.starts_with("good__")));
    s.all_gone();
}

#[test]
fn what_the_settings_leave_out_is_not_declared_and_not_called() {
    let Some(api) = StandIn::playing(&echoing("one__echo")) else {
        return;
    };
    let some = json!({"excludeTools": ["echo"], "trust": true});
    let s = Servers::with_settings(
        &[("one", "plain", some), ("two", "plain", trusted())],
        &json!({"mcp": {"excluded": ["two"]}}),
    );
    said(&s.marked(agent(&s.ws, &api, &["Play"])).run());
    let names = declared(&api);
    assert!(names.iter().any(|name| name.starts_with("one__")));
    assert!(
        !names
            .iter()
            .any(|name| name == "one__echo" || name.starts_with("two__"))
    );
    assert!(response(&api, "e")["error"].is_string());
    assert_eq!(s.was_started("two"), 0);
}

#[test]
fn a_call_without_approval_does_not_reach_a_server_that_is_not_trusted() {
    let Some(api) = StandIn::playing(&echoing("one__echo")) else {
        return;
    };
    let s = Servers::new(&[("one", "plain", json!({}))]);
    said(&s.marked(agent(&s.ws, &api, &["Play"])).run());
    let error = response(&api, "e")["error"].to_string();
    assert!(error.contains("approv"), "{error}");
    assert!(!s.notes("one").iter().any(|note| note.starts_with("call")));
    s.all_gone();
}
