//! The settings `mcpServers` and `mcp`, about MCP servers.

use super::Scope;
use super::keys::{
    MCP_ALLOWED, MCP_EXCLUDED, MCP_PIN, MCP_SEARCH, MCP_SERVER_COMMAND, MCP_SERVERS,
};
use super::reader::Reader;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The settings of MCP servers. The servers of a project that is not trusted are not among them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct McpSettings {
    /// `mcpServers`, by name. A later file's server takes the place of an earlier one's.
    pub servers: BTreeMap<String, McpServer>,
    /// `mcp.allowed` (`allowMCPServers`): if given, only these servers are used. If several files
    /// have a list, only the names that are in all of them count.
    pub allowed: Option<Vec<String>>,
    /// `mcp.excluded` (`excludeMCPServers`): these servers are not used. All files' lists are
    /// joined.
    pub excluded: Vec<String>,
    /// `mcp.serverCommand` (`mcpServerCommand`): the command line of one more server.
    pub server_command: Option<String>,
    /// `mcp.pin`: a tool whose declaration has changed is withheld until the user accepts it. Any
    /// file can switch this on.
    pub pin: bool,
    /// `mcp.searchAbove`: if servers have more tools than this, two tools are declared in their
    /// place, one that searches them and one that calls them.
    pub search_above: Option<u32>,
}

const SEARCH_ABOVE: u32 = 40;

impl McpSettings {
    /// Returns the largest number of servers' tools that are declared one by one
    /// (`mcp.searchAbove`).
    pub fn search_above(&self) -> usize {
        self.search_above.unwrap_or(SEARCH_ABOVE) as usize
    }
}

/// The settings of one MCP server. They serialize as they are written in a file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct McpServer {
    /// A program that communicates over its standard streams.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The program's arguments.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// Variables that are added to the server's environment.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// The server's working directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<PathBuf>,
    /// The address of a server that uses streamable HTTP or the older HTTP with server-sent events
    /// (SSE).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The address of a server that uses streamable HTTP; SSE is not tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http_url: Option<String>,
    /// The headers of every request.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// The time limit of a call, in milliseconds.
    #[serde(rename = "timeout", skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// True if the server's tools need no approval.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub trust: bool,
    /// If given, only these tools are used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub include_tools: Option<Vec<String>>,
    /// These tools are not used.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub exclude_tools: Vec<String>,
    /// A description for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The file that the settings are from.
    #[serde(skip)]
    pub source: Scope,
}

impl McpSettings {
    /// Returns true if the settings let this server be used: it is not excluded, and is on the
    /// allow-list, if there is one.
    pub fn lets(&self, name: &str) -> bool {
        let has = |list: &Vec<String>| list.iter().any(|one| one == name);
        self.allowed.as_ref().is_none_or(has) && !has(&self.excluded)
    }
}

impl Reader<'_> {
    pub(super) fn read_mcp(&mut self) {
        if self.value(MCP_ALLOWED).is_some() {
            // A list of the wrong type allows nothing: to ignore it would allow every server.
            let allowed = self.names(MCP_ALLOWED).unwrap_or_default();
            let known = self.into.mcp.allowed.take();
            let same = |a: &str, b: &str| a.trim().eq_ignore_ascii_case(b.trim());
            let common = |mut names: Vec<String>, others: &[String]| {
                names.retain(|name| others.iter().any(|other| same(name, other)));
                names
            };
            // Names that differ only in case match. The spelling that is kept is the system's, or
            // else the earlier file's: otherwise a project could allow its own server whose name
            // differs in case.
            self.into.mcp.allowed = Some(match (known, self.scope) {
                (None, _) => allowed,
                (Some(known), Scope::System) => common(allowed, &known),
                (Some(known), _) => common(known, &allowed),
            });
            self.adds(MCP_ALLOWED);
        }
        self.extend(MCP_EXCLUDED, Self::names, |into| &mut into.mcp.excluded);
        self.switch_on(MCP_PIN, |into| &mut into.mcp.pin);
        self.set(MCP_SEARCH, Self::count, |into| &mut into.mcp.search_above);
        self.set(MCP_SERVER_COMMAND, Self::owned_text, |into| {
            &mut into.mcp.server_command
        });
        let servers = self.typed(MCP_SERVERS, "an object", Value::as_object);
        let Some(servers) = servers.filter(|servers| !servers.is_empty()) else {
            return;
        };
        for (name, value) in servers {
            if let Some(server) = self.server(&format!("{}.{name}", MCP_SERVERS.name), value) {
                self.into.mcp.servers.insert(name.clone(), server);
            }
        }
        self.adds(MCP_SERVERS);
    }

    /// Parses a server's settings. If a restriction in them is malformed, the server is left out:
    /// without the restriction it could do more than the user wants.
    fn server(&mut self, key: &str, value: &Value) -> Option<McpServer> {
        let Some(map) = value.as_object() else {
            self.wrong(key, "an object", value);
            return None;
        };
        let mut server = McpServer {
            source: self.scope,
            ..McpServer::default()
        };
        let lists = ["includeTools", "excludeTools"].map(|list| format!("{key}.{list}"));
        let lists = lists.each_ref().map(String::as_str);
        let mut transport = None;
        for (name, value) in map.iter().filter(|(_, value)| !value.is_null()) {
            let at = format!("{key}.{name}");
            let mut text = || {
                let text = value.as_str().map(str::to_owned);
                if text.is_none() {
                    self.wrong(&at, "a string", value);
                }
                text
            };
            match name.as_str() {
                "command" => server.command = Some(text()?),
                "cwd" => server.cwd = Some(PathBuf::from(text()?)),
                "url" => server.url = Some(text()?),
                "httpUrl" => server.http_url = Some(text()?),
                "type" => transport = text(),
                "description" => server.description = text(),
                "args" => server.args = self.list_in(&at, value)?,
                "env" => server.env = self.table_in(&at, value),
                "headers" => server.headers = self.table_in(&at, value),
                "includeTools" => server.include_tools = Some(self.list_in(&at, value)?),
                "excludeTools" => {
                    let list = self.list_in(&at, value)?;
                    // The server is left out if an item of this list is not a string. If only that
                    // item were dropped, the tool that it was meant to exclude could be called.
                    let is_whole = value.as_array().is_some_and(|all| all.len() == list.len());
                    server.exclude_tools = is_whole.then_some(list)?;
                }
                "timeout" => match value.as_f64().filter(|ms| *ms >= 0.0) {
                    Some(ms) => server.timeout_ms = Some(ms as u64),
                    None => self.wrong(&at, "a number of milliseconds", value),
                },
                "trust" => match value.as_bool() {
                    Some(trust) => server.trust = trust,
                    None => self.wrong(&at, "true or false", value),
                },
                _ => self.note_misspelt(&at, &lists),
            }
        }
        if transport.as_deref() == Some("http") && server.http_url.is_none() {
            server.http_url = server.url.take();
        }
        if server.command.is_none() && server.url.is_none() && server.http_url.is_none() {
            self.leave_out(
                "settings-value",
                key,
                "left out, it has no command, url or httpUrl",
            );
            return None;
        }
        Some(server)
    }
}
