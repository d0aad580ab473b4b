//! The MCP servers that the settings name.

use super::cache;
use gemini_tools_core::text::{show_path, visible};
use gemini_tools_process::network::wire::Connect;
use gemini_tools_settings::settings::{McpServer, McpSettings, SettingsLines};
use std::path::{Path, PathBuf};
use std::time::Duration;

const COMMAND_SERVER: &str = "mcp";

pub(super) const CALL_SECS: u64 = 600;

/// The longest time for listing a server's tools, in seconds, even if the server's `timeout` is
/// longer, because a discovery waits for all servers.
const DISCOVERY_SECS: u64 = 30;

#[derive(Debug)]
pub(super) struct Server {
    pub(super) name: String,
    pub(super) connect: Connect,
    pub(super) settings: McpServer,
    pub(super) cache: Option<PathBuf>,
    /// The settings file that names the server; `None` for the one from `mcp.serverCommand`.
    file: Option<PathBuf>,
    home: Option<PathBuf>,
    root: PathBuf,
}

impl Server {
    pub(super) fn discovery_limit(&self) -> Duration {
        let most = Duration::from_secs(DISCOVERY_SECS);
        let own = self.settings.timeout_ms.map(Duration::from_millis);
        own.map_or(most, |own| own.min(most))
    }

    pub(super) fn note(&self, note: &str) -> String {
        visible(&format!("The MCP server {}: {note}", self.name)).into_owned()
    }

    pub(super) fn entry(&self) -> String {
        let Some(file) = &self.file else {
            return "mcp.serverCommand in the settings".to_owned();
        };
        let key = format!("mcpServers.{}", self.name);
        let home = self.home.as_deref();
        let shown = match home.and_then(|home| file.strip_prefix(home).ok()) {
            Some(rest) => format!("~/{}", show_path(rest)),
            None => show_path(file).into_owned(),
        };
        match SettingsLines::new(home, &self.root).line_of(file, &key) {
            Some(line) => format!("{key} in {shown}:{line}"),
            None => format!("{key} in {shown}"),
        }
    }

    /// Returns true if `includeTools` and `excludeTools` allow the tool. An entry of `includeTools`
    /// may restrict arguments, as in `tool(args)`; like Gemini CLI, this treats it as allowing the
    /// tool with any arguments.
    pub(super) fn offers(&self, tool: &str) -> bool {
        let is = |entry: &String| entry == tool;
        let is_some_call = |entry: &String| {
            entry
                .strip_prefix(tool)
                .is_some_and(|rest| rest.starts_with('('))
        };
        let settings = &self.settings;
        !settings.exclude_tools.iter().any(is)
            && settings
                .include_tools
                .as_ref()
                .is_none_or(|list| list.iter().any(|entry| is(entry) || is_some_call(entry)))
    }

    pub(super) fn missing(&self, has: impl Fn(&str) -> bool) -> impl Iterator<Item = &str> {
        let entries = self.settings.include_tools.iter().flatten();
        let tools = entries.map(|entry| entry.split_once('(').map_or(&**entry, |(name, _)| name));
        tools.filter(move |tool| !has(tool))
    }
}

/// Returns the servers that the settings allow, sorted by name, and notes about those that can't be
/// used. A relative working directory is resolved against `root`; `roots` are the directories that
/// are announced to the servers.
pub(super) fn servers(
    settings: &McpSettings,
    home: Option<&Path>,
    root: &Path,
    roots: &[PathBuf],
) -> (Vec<Server>, Vec<String>) {
    let (mut servers, mut notes) = (Vec::new(), Vec::new());
    let mut all = settings.servers.clone();
    let mut has_command = false;
    if let Some(line) = &settings.server_command {
        match command_server(line) {
            Some(server) => {
                has_command = true;
                if all.insert(COMMAND_SERVER.to_owned(), server).is_some() {
                    notes.push(format!(
                        "mcp.serverCommand takes the place of mcpServers.{COMMAND_SERVER}; give \
                         that entry another name."
                    ));
                }
            }
            None => notes.push(format!(
                "mcp.serverCommand is {line:?}, which can't be read as words."
            )),
        }
    }
    for (name, server) in all {
        if !settings.lets(&name) {
            continue;
        }
        let connect = connect(&server, root, roots);
        let is_command = has_command && name == COMMAND_SERVER;
        let file = (!is_command).then(|| server.source.file(home, root).unwrap_or_default());
        servers.push(Server {
            cache: cache::path(home, &name, &connect),
            file,
            home: home.map(Path::to_owned),
            root: root.to_owned(),
            name,
            connect,
            settings: server,
        });
    }
    (servers, notes)
}

fn command_server(line: &str) -> Option<McpServer> {
    let mut words = shlex::split(line).filter(|words| !words.is_empty())?;
    Some(McpServer {
        command: Some(words.remove(0)),
        args: words,
        ..McpServer::default()
    })
}

fn connect(server: &McpServer, root: &Path, roots: &[PathBuf]) -> Connect {
    let cwd = server.cwd.as_deref().unwrap_or(Path::new(""));
    let is_remote = server.url.is_some() || server.http_url.is_some();
    Connect {
        // As in Gemini CLI, an address takes precedence over a command.
        command: server.command.clone().filter(|_| !is_remote),
        args: server.args.clone(),
        env: server.env.clone(),
        cwd: root.join(cwd),
        url: server.url.clone(),
        http_url: server.http_url.clone(),
        headers: server.headers.clone(),
        roots: roots.to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::servers;
    use gemini_tools_settings::settings::{McpServer, McpSettings};
    use std::path::Path;

    #[test]
    fn a_fault_is_that_of_the_setting_which_the_server_comes_from() {
        let entry = || McpServer {
            command: Some("own".to_owned()),
            ..McpServer::default()
        };
        for (line, command, in_command, noted) in [
            (None, "own", false, ""),
            (
                Some("given x"),
                "given",
                true,
                "takes the place of mcpServers.mcp",
            ),
            (Some("given 'x"), "own", false, "can't be read as words"),
        ] {
            let settings = McpSettings {
                servers: [("mcp".to_owned(), entry())].into(),
                server_command: line.map(str::to_owned),
                ..McpSettings::default()
            };
            let (servers, notes) = servers(&settings, None, Path::new("/p"), &[]);
            assert_eq!(servers[0].connect.command.as_deref(), Some(command));
            let is_in_command = servers[0].entry().starts_with("mcp.serverCommand");
            assert_eq!(is_in_command, in_command, "{line:?}");
            assert!(notes.concat().contains(noted), "{notes:?}");
            assert_eq!(notes.is_empty(), noted.is_empty(), "{notes:?}");
        }
    }
}
