//! MCP servers of the user's settings, which are `mcp/server.py` and misbehave on demand.

use std::fs;
use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::{Answer, Call, Workspace, marked_processes};

/// The server of the tests, for python3.
pub const SERVER: &str = include_str!("mcp/server.py");

/// How long the last processes may take to go.
pub const WAIT_LIMIT: Duration = Duration::from_secs(15);

/// A variable that every process of a test has in its environment: MCP servers get those of XDG.
pub const MARK: &str = "XDG_MCP_TEST_MARK";

/// A workspace with servers in the user's settings; what they note is in `out`.
pub struct Servers {
    pub ws: Workspace,
}

impl Servers {
    /// Servers of `server.py`, each by name, mode and what else is in its entry.
    pub fn new(servers: &[(&str, &str, Value)]) -> Self {
        Self::with_settings(servers, &json!({}))
    }

    pub fn with_settings(servers: &[(&str, &str, Value)], more: &Value) -> Self {
        let ws = Workspace::new().outside("server.py", SERVER);
        let script = ws.outside_path("server.py");
        let mut entries = serde_json::Map::new();
        for (name, mode, more) in servers {
            let notes = ws.outside_path(&format!("{name}.notes"));
            let mut entry = json!({"command": "python3", "args": [script, mode, notes]});
            merge(&mut entry, more);
            entries.insert((*name).to_owned(), entry);
        }
        Self::configured(ws, entries.into(), more)
    }

    pub fn configured(ws: Workspace, servers: Value, more: &Value) -> Self {
        let mut settings = json!({});
        settings["mcpServers"] = servers;
        merge(&mut settings, more);
        let ws = ws.home(".gemini/settings.json", settings.to_string());
        Self { ws }
    }

    /// The value of [`MARK`] for what these servers start.
    pub fn mark(&self) -> String {
        self.ws.root().display().to_string()
    }

    pub fn marked<'a>(&self, call: Call<'a>) -> Call<'a> {
        // What servers note, and what they keep, is not looked at.
        call.env(MARK, &self.mark()).unwatched()
    }

    pub fn list(&self, args: &[&str]) -> Answer {
        self.marked(self.ws.get_tools(args)).run()
    }

    /// The names of the tools that are not built in.
    pub fn names(&self) -> Vec<String> {
        let answer = self.list(&["--mcp"]);
        assert_eq!(answer.status(), 0, "{}", answer.shown());
        assert!(answer.stderr.is_empty(), "{}", answer.shown());
        Self::names_in(&answer)
    }

    /// The names of the tools in a list that are not built in.
    pub fn names_in(answer: &Answer) -> Vec<String> {
        let list = answer.json();
        let names = list.as_array().expect("a list").iter();
        names
            .map(|tool| tool["name"].as_str().expect("a name").to_owned())
            .filter(|name| {
                name.contains("__")
                    || name.ends_with("_mcp_resource")
                    || name.ends_with("_mcp_resources")
            })
            .collect()
    }

    pub fn tool<'a>(&'a self, name: &str, arguments: &Value) -> Call<'a> {
        self.marked(self.ws.tool(name).arguments(arguments))
    }

    pub fn call(&self, name: &str, arguments: &Value) -> Answer {
        self.tool(name, arguments).run()
    }

    /// The answers to calls in one batch, in the order of the calls.
    pub fn batch(&self, calls: &[(&str, Value)]) -> Vec<Value> {
        let lines: Vec<String> = calls
            .iter()
            .enumerate()
            .map(|(id, (name, args))| json!({"id": id, "name": name, "args": args}).to_string())
            .collect();
        let call = self.ws.call_tool(&["--batch"]).input(lines.join("\n"));
        let answer = self.marked(call).run();
        let mut answers: Vec<Value> = answer
            .text()
            .lines()
            .map(|line| {
                serde_json::from_str::<Value>(line).expect("JSON")["functionResponse"].take()
            })
            .collect();
        answers.sort_by_key(|a| a["id"].as_str().and_then(|id| id.parse::<usize>().ok()));
        assert_eq!(answers.len(), calls.len(), "{}", answer.shown());
        answers
    }

    /// What a server has noted.
    pub fn notes(&self, name: &str) -> Vec<String> {
        let path = self.ws.outside_path(&format!("{name}.notes"));
        let text = fs::read_to_string(path).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    pub fn was_started(&self, name: &str) -> usize {
        self.notes(name)
            .iter()
            .filter(|line| *line == "started")
            .count()
    }

    /// Waits until a server has noted something.
    #[track_caller]
    pub fn wait_for_note(&self, name: &str, note: &str) {
        let until = Instant::now() + WAIT_LIMIT;
        while !self.notes(name).iter().any(|line| line == note) {
            assert!(Instant::now() < until, "{note}: {:?}", self.notes(name));
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits until nothing is left of what the test has started.
    #[track_caller]
    pub fn all_gone(&self) {
        let until = Instant::now() + WAIT_LIMIT;
        loop {
            let left = marked_processes(MARK, &self.mark());
            if left.is_empty() {
                return;
            }
            assert!(Instant::now() < until, "still there: {left:?}");
            thread::sleep(Duration::from_millis(20));
        }
    }
}

fn merge(into: &mut Value, more: &Value) {
    for (key, value) in more.as_object().expect("an object") {
        into[key] = value.clone();
    }
}

/// A process that ends with the test.
pub struct Helper(pub Child);

impl Drop for Helper {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
