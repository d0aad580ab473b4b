//! `mcpServers` and `mcp`: which MCP servers there are.

use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// What the settings say about MCP servers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct McpSettings {
    /// `mcpServers`, by name.
    pub servers: BTreeMap<String, McpServer>,
    /// `mcp.allowed`: only these, where given.
    pub allowed: Option<Vec<String>>,
    /// `mcp.excluded`: not these.
    pub excluded: Vec<String>,
    /// `mcp.serverCommand`: one more server, as a line of words.
    pub server_command: Option<String>,
    /// `mcp.pin`: a tool whose declaration has changed is held back.
    pub pin: bool,
}

/// One server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct McpServer {
    /// A program that speaks on its standard streams.
    pub command: Option<String>,
    /// Its arguments.
    pub args: Vec<String>,
    /// What is added to its environment.
    pub env: BTreeMap<String, String>,
    /// Where it runs.
    pub cwd: Option<PathBuf>,
    /// Its address.
    pub url: Option<String>,
    /// Its address, where it speaks streamable HTTP.
    pub http_url: Option<String>,
    /// Sent with every request.
    pub headers: BTreeMap<String, String>,
    /// How long a call may take.
    pub timeout_ms: Option<u64>,
    /// Whether its tools need no agreement.
    pub trust: bool,
    /// Only these tools, where given.
    pub include_tools: Option<Vec<String>>,
    /// Not these tools.
    pub exclude_tools: Vec<String>,
    /// For people.
    pub description: Option<String>,
}

impl McpSettings {
    /// Takes what one settings file says: the user's, or that of a project which is trusted.
    pub(super) fn add(&mut self, file: &Value, is_users: bool) {
        let trusts = || std::env::var("GEMINI_CLI_TRUST_WORKSPACE").is_ok_and(|v| v == "true");
        if !is_users && !trusts() {
            return;
        }
        let mcp = &file["mcp"];
        if let Some(allowed) = strings(&mcp["allowed"]) {
            self.allowed = Some(allowed);
        }
        self.excluded
            .extend(strings(&mcp["excluded"]).unwrap_or_default());
        if let Some(line) = mcp["serverCommand"]
            .as_str()
            .or(file["mcpServerCommand"].as_str())
        {
            self.server_command = Some(line.to_owned());
        }
        self.pin |= mcp["pin"] == Value::Bool(true);
        for (name, server) in file["mcpServers"].as_object().into_iter().flatten() {
            self.servers.insert(name.clone(), McpServer::read(server));
        }
    }
}

impl McpServer {
    fn read(value: &Value) -> Self {
        let text = |key: &str| value[key].as_str().map(expand);
        let table = |key: &str| -> BTreeMap<String, String> {
            let map = value[key].as_object().into_iter().flatten();
            map.filter_map(|(name, value)| Some((name.clone(), expand(value.as_str()?))))
                .collect()
        };
        let (mut url, mut http_url) = (text("url"), text("httpUrl"));
        if value["type"] == "http" && http_url.is_none() {
            http_url = url.take();
        }
        Self {
            command: text("command"),
            args: strings(&value["args"])
                .unwrap_or_default()
                .iter()
                .map(|a| expand(a))
                .collect(),
            env: table("env"),
            cwd: text("cwd").map(PathBuf::from),
            url,
            http_url,
            headers: table("headers"),
            timeout_ms: value["timeout"].as_u64(),
            trust: value["trust"] == Value::Bool(true),
            include_tools: strings(&value["includeTools"]),
            exclude_tools: strings(&value["excludeTools"]).unwrap_or_default(),
            description: text("description"),
        }
    }
}

fn strings(value: &Value) -> Option<Vec<String>> {
    let list = value.as_array()?.iter();
    Some(list.filter_map(Value::as_str).map(str::to_owned).collect())
}

/// Puts the values of variables in the place of `$NAME` and `${NAME}`; one that is not set stays
/// as it is written, as in Gemini CLI.
fn expand(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        let (name, end) = if let Some(inner) = after.strip_prefix('{') {
            inner
                .find('}')
                .map_or(("", 0), |end| (&inner[..end], end + 2))
        } else {
            let end = after
                .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
                .unwrap_or(after.len());
            (&after[..end], end)
        };
        match std::env::var(name) {
            Ok(value) if !name.is_empty() => out.push_str(&value),
            _ => out.push_str(&rest[at..=at + end]),
        }
        rest = &after[end..];
    }
    out.push_str(rest);
    out
}
