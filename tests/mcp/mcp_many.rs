//! Many tools of servers: a search and a call are declared in their place, and what is called is judged by its own name.

use serde_json::{Value, json};

use crate::harness::client::Server;
use crate::harness::mcp::Servers;

const SEARCH: &str = "search_mcp_tools";
const CALL: &str = "call_mcp_tool";

const NO_WIPING: &str = r#"
[[rule]]
toolName = "*"
mcpName = "ann"
toolAnnotations = { destructiveHint = true }
decision = "deny"
priority = 100
"#;

/// The server `ann` of three tools, of which the one that destroys may not run.
fn three() -> Servers {
    let more = json!({"mcp": {"searchAbove": 1}});
    let s = Servers::with_settings(&[("ann", "annotated", json!({}))], &more);
    Servers {
        ws: s.ws.home(".gemini/policies/mine.toml", NO_WIPING),
    }
}

/// The names of declared tools with one of these two in them.
fn about_servers(declared: &Value) -> Vec<&str> {
    let names = declared.as_array().expect("a list").iter();
    let names = names.map(|tool| tool["name"].as_str().expect("a name"));
    names
        .filter(|name| name.contains("mcp_tool") || name.contains("__"))
        .collect()
}

/// What `call_mcp_tool` is given to call a tool.
fn call(name: &str) -> Value {
    json!({"name": name, "arguments": {"text": "t"}})
}

#[test]
fn a_search_and_a_call_are_declared_in_place_of_many_tools() {
    let s = three();
    let help = s.marked(s.ws.call_tool(&[SEARCH, "--help"])).run();
    assert!(help.text().contains("query"), "{}", help.text());
    assert_eq!(s.was_started("ann"), 0);
    let declared = s.list(&["--mcp"]).json();
    assert_eq!(about_servers(&declared), [CALL, SEARCH]);
    assert!(declared.to_string().contains("ann (2)"), "{declared}");
    // Whoever judges calls, or looks, gets all of them.
    let with_kinds = s.list(&["--mcp", "--kinds"]).json();
    assert_eq!(about_servers(&with_kinds), ["ann__look", "ann__plain"]);
    let names = s.list(&["--mcp", "--format", "names"]);
    assert!(names.text().contains("ann__look") && !names.text().contains(CALL));
    // As many as the setting says are declared themselves, and 40 by default.
    let few = s.list(&["--mcp", "--only", "*look"]).json();
    assert_eq!(about_servers(&few), ["ann__look"]);
    let s = Servers::new(&[("ann", "annotated", json!({}))]);
    assert_eq!(s.names(), ["ann__look", "ann__plain", "ann__wipe"]);
}

#[test]
fn what_a_search_has_found_is_called_by_its_name() {
    let s = three();
    let found = s.call(SEARCH, &json!({"query": "looking"})).output();
    assert!(
        found.starts_with(r#"{"name":"ann__look","description":"A tool.""#),
        "{found}"
    );
    let none = s.call(SEARCH, &json!({"query": "zebra wipe"})).output();
    assert_eq!(
        none,
        "None of the 2 tools of MCP servers has any of these words. Try others."
    );
    assert_eq!(s.call(CALL, &call("ann__look")).output(), "called look");
    let words =
        s.ws.call_tool(&[CALL, "name=ann__plain", r#"arguments={"a":1}"#]);
    assert_eq!(s.marked(words).run().output(), "called plain");
    let explained = s.tool(CALL, &call("ann__look")).flags(&["--explain"]).run();
    assert!(
        explained.text().contains("look of the MCP server ann"),
        "{}",
        explained.text()
    );
    let unknown = s
        .call(CALL, &call("ann__lok"))
        .error("tool_not_registered", 2);
    assert!(unknown.contains("ann__look"), "{unknown}");
    let ours = s
        .call(CALL, &call("read_file"))
        .error("invalid_tool_params", 2);
    assert!(ours.contains("not a tool of an MCP server"), "{ours}");
    let _ = s
        .call(CALL, &json!({"arguments": {}}))
        .error("invalid_tool_params", 2);
}

#[test]
fn a_tool_that_rules_deny_is_neither_found_nor_called_by_any_of_its_names() {
    let s = three();
    assert!(
        !s.call(SEARCH, &json!({"query": "wipe tool"}))
            .output()
            .contains("wipe")
    );
    for name in [
        "ann__wipe",
        "mcp_ann_wipe",
        "wipe",
        "discovered_tool_ann__wipe",
    ] {
        let _ = s.call(CALL, &call(name)).error("policy_violation", 3);
        // A call of the call is no way around.
        let twice = json!({"name": CALL, "arguments": call(name)});
        let _ = s.call(CALL, &twice).error("policy_violation", 3);
    }
    let mut server = Server::greeted(&s.ws, &["--mcp"], &json!({}));
    let listed = server.ask("tools/list", &json!({}))["result"]["tools"].take();
    assert_eq!(about_servers(&listed), [CALL, SEARCH]);
    let found = server.call(SEARCH, &json!({"query": "look"}))["content"][0]["text"].take();
    assert!(
        found
            .as_str()
            .is_some_and(|text| text.contains("ann__look")),
        "{found}"
    );
    assert_eq!(
        server.call(CALL, &call("ann__look"))["content"][0]["text"],
        "called look"
    );
    let refused = server.call(CALL, &call("ann__wipe"));
    assert_eq!(
        refused["structuredContent"]["errorType"], "policy_violation",
        "{refused}"
    );
    server.hang_up();
    let mut notes = s.notes("ann");
    notes.retain(|note| note.starts_with("call "));
    assert_eq!(notes, ["call look"]);
    s.all_gone();
}

#[test]
fn a_tool_of_the_project_with_the_name_of_the_call_is_itself() {
    let s = three();
    let manifest = "description = \"Mine.\"\ncommand = [\"echo\", \"mine\"]\n[params.name]\ntype = \"string\"\n";
    let ws = s.ws.home(".gemini/tools/call_mcp_tool.toml", manifest);
    let s = Servers { ws };
    let answer = s.call(CALL, &json!({"name": "ann__wipe"}));
    assert_eq!(answer.output().trim_end(), "mine");
    assert_eq!(s.was_started("ann"), 0);
}
