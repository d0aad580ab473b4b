//! A server that restarts while `serve_tools` is connected to it, as another version with other tools.

use std::fs;
use std::thread::sleep;
use std::time::Duration;

use serde_json::{Value, json};

use super::mcp_policy::NO_DESTRUCTION;
use super::mcp_reached::listening;
use crate::harness::Workspace;
use crate::harness::client::Server;
use crate::harness::mcp::Helper;

/// How the server is reached.
const KINDS: [&str; 3] = ["stdio", "http", "stateless"];

/// `serve_tools` before `restarts.py`.
struct Setup {
    ws: Workspace,
    client: Server,
    _server: Option<Helper>,
}

impl Setup {
    fn new(kind: &str, more: &Value, rules: &str) -> Self {
        let ws = Workspace::new()
            .outside("restarts.py", include_str!("servers/restarts.py"))
            .outside("version", "1\n")
            .home(".gemini/policies/mine.toml", rules);
        let files = ["version", "notes"].map(|name| ws.outside_path(name));
        let [version, notes] = [&*files[0], &*files[1]];
        let (server, entry) = if kind == "stdio" {
            let script = ws.outside_path("restarts.py");
            let entry = json!({"command": "python3", "args": [script, version, notes]});
            (None, entry)
        } else {
            let (server, port) = listening(&ws, "restarts.py", &[version, notes, kind]);
            let entry = json!({"httpUrl": format!("http://127.0.0.1:{port}/mcp")});
            (Some(server), entry)
        };
        let mut settings = json!({"mcpServers": {"ann": entry}});
        settings["mcp"] = more.clone();
        let ws = ws.home(".gemini/settings.json", settings.to_string());
        let accepted = ws.get_tools(&["--mcp", "--refresh"]).unwatched().run();
        assert_eq!(accepted.status(), 0, "{}", accepted.shown());
        let client = Server::greeted(&ws, &["--mcp"], &json!({}));
        let mut new = Self {
            ws,
            client,
            _server: server,
        };
        assert_eq!(new.call("old"), "done");
        new
    }

    fn restart_as(&self, version: &str) {
        fs::write(self.ws.outside_path("version"), version).expect("written");
        sleep(Duration::from_millis(500));
    }

    fn call(&mut self, tool: &str) -> String {
        let answer = self.client.call(&format!("ann__{tool}"), &json!({}));
        answer["content"][0]["text"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    }

    fn listed(&mut self) -> Vec<String> {
        let listed = self.client.ask("tools/list", &json!({}));
        let tools = listed["result"]["tools"].as_array().expect("a list");
        let names = tools.iter().filter_map(|tool| tool["name"].as_str());
        let names = names.filter_map(|name| name.strip_prefix("ann__"));
        names.map(str::to_owned).collect()
    }

    fn notes(&self) -> String {
        fs::read_to_string(self.ws.outside_path("notes")).unwrap_or_default()
    }
}

#[test]
fn a_tool_of_a_restarted_server_is_judged_before_it_runs() {
    for kind in KINDS {
        for (more, rules, refusal) in [
            (json!({"pin": true}), "", "is held back"),
            (json!({}), NO_DESTRUCTION, "may not run"),
            (json!({}), "", "done"),
        ] {
            let mut s = Setup::new(kind, &more, rules);
            if kind == "stateless" {
                // Nobody notices the restart, but the list counts no longer.
                sleep(Duration::from_secs(2));
            }
            s.restart_as("2\n");
            let answers: Vec<String> = (0..3).map(|_| s.call("old")).collect();
            let is_run = refusal == "done";
            for (at, answer) in answers.iter().enumerate() {
                // The first call was judged by the hints of before.
                let changed = at == 0 && !rules.is_empty() && answer.contains("changed its hints");
                assert!(changed || answer.contains(refusal), "{kind} {answers:?}");
            }
            let ran = if is_run {
                "old 2\n".repeat(3)
            } else {
                String::new()
            };
            assert_eq!(s.notes(), format!("old 1\n{ran}"), "{kind} {more} {rules}");
        }
    }
}

#[test]
fn a_new_tool_is_found_and_one_that_is_gone_is_listed_no_more() {
    for kind in KINDS {
        let mut s = Setup::new(kind, &json!({}), "");
        // A server is not asked again at once for what it lacks.
        sleep(Duration::from_secs(2));
        s.restart_as("2\n");
        assert_eq!(s.call("new"), "done", "{kind}");
        assert_eq!(s.listed(), ["new", "old"], "{kind}");
        s.restart_as("3\n");
        let refused = s.call("old");
        assert!(refused.contains("no such tool"), "{kind} {refused}");
        assert_eq!(s.listed(), ["new"], "{kind}");
    }
}
