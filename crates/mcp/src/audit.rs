//! Findings about servers and their declarations, for `get_tools lint`.

use super::session::Mcp;
use gemini_tools_core::diagnostic::Diagnostic;
use gemini_tools_core::tool::Cancellation;
use gemini_tools_custom_tools::Lint;
use gemini_tools_settings::settings::Settings;
use std::path::Path;

/// The code of a finding on a server of which nothing is known, as it was not asked.
pub const NOT_ASKED: &str = "not-asked";

/// The servers that are started for findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServersToAsk {
    /// No server: what is kept has to do.
    None,
    /// The servers of which nothing is kept that still counts.
    Unknown,
    /// Findings about all servers; their declarations are accepted.
    All,
}

/// Adds the findings about the MCP servers of the project in `root`, and takes the names of their
/// tools. `asks` names the servers that are started for it; `home` is the user's home directory.
pub fn lint_servers(
    lint: &mut Lint,
    settings: &Settings,
    home: Option<&Path>,
    root: &Path,
    asks: ServersToAsk,
) {
    let root = root.to_owned();
    if let Some(mcp) = Mcp::open(settings, home, &root, std::slice::from_ref(&root)) {
        mcp.lint(lint, asks, &Cancellation::default());
    }
}

impl Mcp {
    /// Adds the findings about what the servers declare, where it is known or they may be asked.
    fn lint(&self, lint: &mut Lint, asks: ServersToAsk, cancel: &Cancellation) {
        let of_settings = |note: String| Diagnostic::error("settings", "", "", note);
        let faults = self.take_notes().into_iter().map(of_settings);
        lint.findings.extend(faults);
        lint.servers = self.servers.len();
        let failures = match asks {
            ServersToAsk::None => Vec::new(),
            ServersToAsk::Unknown => self.ask_all(false, cancel),
            ServersToAsk::All => self.ask_all(true, cancel),
        };
        let mut tools = Vec::new();
        for at in 0..self.servers.len() {
            let failure = failures.iter().find(|(failed, _)| *failed == at);
            let failure = failure.map(|(_, reason)| reason.as_str());
            self.lint_server(at, failure, &mut lint.findings, &mut tools);
        }
        // Only a server whose tools were asked for just now has any.
        let changes = self.take_notes().into_iter();
        let change = |note: String| Diagnostic::warning("changed", "", "", note);
        lint.findings.extend(changes.map(change));
        for (name, server) in tools {
            lint.take_tool_of_server(&name, server);
        }
    }

    /// Adds the findings about a server to `findings`, and its tools that can be used to `tools`,
    /// each with the server's name.
    fn lint_server<'a>(
        &'a self,
        at: usize,
        failure: Option<&str>,
        findings: &mut Vec<Diagnostic>,
        tools: &mut Vec<(String, &'a str)>,
    ) {
        let server = &self.servers[at];
        let mut say = |finding: Diagnostic| findings.push(finding.about_server(&server.name));
        if let Some(reason) = failure {
            let message = format!("It has no tools: {reason}.");
            let help = format!("See {}.", server.entry());
            return say(Diagnostic::error("discovery", "", "", message).advise("", help));
        }
        let Some(known) = self.cached(at) else {
            return say(Diagnostic::warning(
                NOT_ASKED,
                "",
                "",
                "What it declares is not known, or no longer; get_tools lint --mcp asks it.",
            ));
        };
        let offered = |tool: &str| tool.is_empty() || server.offers(tool);
        let findings = known.findings.iter().filter(|f| offered(&f.place.tool));
        findings.cloned().for_each(&mut say);
        for missing in server.missing(|name| known.tools.iter().any(|t| t.original == name)) {
            say(Diagnostic::warning(
                "no-such-tool",
                missing,
                "includeTools",
                "The server has no tool of this name.",
            ));
        }
        for tool in known.tools.iter().filter(|t| server.offers(&t.original)) {
            let Some(held) = &tool.held else {
                tools.push((tool.name.clone(), &server.name));
                continue;
            };
            let message = format!("It is held back: {held}");
            say(Diagnostic::error("pinned", &tool.original, "", message));
        }
    }
}
