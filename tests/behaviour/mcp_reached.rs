//! How MCP servers are reached, and what is said where they are not: those that die at once, the newest greeting and its
//! unfinished answers, server-sent events, proxies.

use std::net::TcpListener;

use serde_json::{Value, json};

use crate::harness::Workspace;
use crate::mcp::Servers;

/// A server with this entry.
fn one(entry: &Value) -> Servers {
    Servers::configured(Workspace::new(), json!({ "one": entry }), &json!({}))
}

#[test]
fn a_server_that_ends_at_once_has_its_reason_told_each_time() {
    let script = "echo missing API token >&2; exit 3";
    let s = one(&json!({"command": "sh", "args": ["-c", script]}));
    for _ in 0..12 {
        let message = s.call("one__x", &json!({})).error("mcp_tool_error", 1);
        assert_eq!(
            message,
            "The MCP server one exited with status 3 before it answered: \"missing API token\". See \
             mcpServers.one in ~/.gemini/settings.json."
        );
    }
    for (script, reason) in [
        ("kill -9 $$", "was ended by SIGKILL before it answered."),
        ("exit 0", "exited with status 0 before it answered."),
        (
            "exec >&-; sleep 60",
            "closed its standard output before it answered.",
        ),
    ] {
        let s = one(&json!({"command": "sh", "args": ["-c", script]}));
        let answer = s.call("one__x", &json!({}));
        answer.must_say(&answer.error("mcp_tool_error", 1), &[reason]);
        s.all_gone();
    }
}

#[test]
fn only_a_call_that_was_handed_over_may_have_had_an_effect() {
    let s = Servers::new(&[("one", "plain", json!({}))]);
    let died = s.call("one__crash", &json!({})).error("mcp_tool_error", 1);
    assert_eq!(
        died,
        "The MCP server one exited with status 3 before it answered: \"a last word\". Whether the call \
         has had an effect is not known."
    );
    s.all_gone();
}

#[test]
fn an_address_where_nobody_listens_is_told_with_the_reason_and_the_file() {
    let port = {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        listener.local_addr().expect("its address").port()
    };
    for kind in ["httpUrl", "url"] {
        let mut entry = json!({});
        entry[kind] = format!("http://127.0.0.1:{port}/secret").into();
        let s = one(&entry);
        let answer = s.call("one__x", &json!({}));
        answer.must_say(
            &answer.error("mcp_tool_error", 1),
            &[
                "The MCP server one can't be reached: Connection refused (os error ",
                "). See mcpServers.one in ~/.gemini/settings.json.",
            ],
        );
        // The project's file is another one.
        let settings = json!({"mcpServers": { "two": entry }}).to_string();
        let s = Servers {
            ws: s.ws.file(".gemini/settings.json", settings),
        };
        let call = s.tool("two__x", &json!({}));
        let answer = call.env("GEMINI_CLI_TRUST_WORKSPACE", "true").run();
        let file = format!(
            "See mcpServers.two in {}",
            s.ws.path(".gemini/settings.json")
        );
        answer.must_say(&answer.error("mcp_tool_error", 1), &[&file]);
    }
}
