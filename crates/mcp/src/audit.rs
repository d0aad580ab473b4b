//! Checks MCP servers and their declarations, for `get_tools lint`.

use super::session::Mcp;
use gemini_tools_core::diagnostic::Diagnostic;
use gemini_tools_core::tool::Cancellation;
use gemini_tools_settings::settings::Settings;
use std::path::Path;

/// Which servers a lint may ask for their declarations. That starts a program or sends a request,
/// so it needs the user's consent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServersToAsk {
    /// No server is asked; only cached declarations are checked.
    None,
    /// Servers without current declarations in the cache are asked.
    Unknown,
    /// All servers are asked, and changed declarations of pinned tools are accepted.
    All,
}

/// The result of checking servers.
#[derive(Debug, Default)]
pub struct ServerFindings {
    /// The faults that were found.
    pub findings: Vec<Diagnostic>,
    /// The number of servers that were checked.
    pub servers: usize,
    /// The names of the usable tools, each with its server's name.
    pub tools: Vec<(String, String)>,
}

/// Checks the MCP servers of the project in `root`. `asks` says which of them are asked for their
/// declarations; `home` is the user's home directory.
pub fn lint_servers(
    settings: &Settings,
    home: Option<&Path>,
    root: &Path,
    asks: ServersToAsk,
) -> ServerFindings {
    let root = root.to_owned();
    let mcp = Mcp::open(settings, home, &root, std::slice::from_ref(&root));
    mcp.map_or_else(ServerFindings::default, |mcp| mcp.lint(asks))
}

impl Mcp {
    fn lint(&self, asks: ServersToAsk) -> ServerFindings {
        let cancel = &Cancellation::default();
        let from_settings = |note: String| Diagnostic::error("settings", "", "", note);
        let mut found = ServerFindings {
            findings: self.take_notes().into_iter().map(from_settings).collect(),
            servers: self.servers.len(),
            tools: Vec::new(),
        };
        let failures = match asks {
            ServersToAsk::None => Vec::new(),
            ServersToAsk::Unknown => self.ask_all(false, cancel),
            ServersToAsk::All => self.ask_all(true, cancel),
        };
        for at in 0..self.servers.len() {
            let failure = failures.iter().find(|(failed, _)| *failed == at);
            self.lint_server(
                at,
                failure.map(|(_, failure)| failure.message.as_str()),
                &mut found,
            );
        }
        // The notes about the settings were taken above. Those taken now are about changed
        // declarations of the servers that were asked.
        let change = |note: String| Diagnostic::warning("changed", "", "", note);
        found
            .findings
            .extend(self.take_notes().into_iter().map(change));
        found
    }

    fn lint_server(&self, at: usize, failure: Option<&str>, found: &mut ServerFindings) {
        let ServerFindings {
            findings, tools, ..
        } = found;
        let server = &self.servers[at];
        let mut say = |finding: Diagnostic| findings.push(finding.about_server(&server.name));
        if let Some(reason) = failure {
            let message = format!("It has no tools: {reason}.");
            let help = format!("See {}.", server.entry());
            return say(Diagnostic::error("discovery", "", "", message).advise("", help));
        }
        let Some(known) = self.cached(at) else {
            let message =
                "What it declares is not known, or no longer; get_tools lint --mcp asks it.";
            return say(Diagnostic::warning("not-asked", "", "", message));
        };
        let offered = |tool: &str| tool.is_empty() || server.offers(tool);
        let findings = known.findings.iter().filter(|f| offered(&f.place.tool));
        findings.cloned().for_each(&mut say);
        for missing in server.missing(|name| known.tools.iter().any(|t| t.original == name)) {
            let message = "The server has no tool of this name.";
            let finding = Diagnostic::warning("no-such-tool", missing, "includeTools", message);
            say(finding);
        }
        for tool in known.tools.iter().filter(|t| server.offers(&t.original)) {
            let Some(held) = &tool.held else {
                tools.push((tool.name.clone(), server.name.clone()));
                continue;
            };
            let message = format!("It is held back: {held}");
            say(Diagnostic::error("pinned", &tool.original, "", message));
        }
    }
}
