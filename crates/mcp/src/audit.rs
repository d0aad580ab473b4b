//! Findings about servers and their declarations, for `get_tools lint`.

use super::declare::HeldBack;
use super::session::Mcp;
use gemini_tools_core::diagnostic::Diagnostic;
use gemini_tools_core::tool::Cancellation;

/// The code of a finding on a server of which nothing is known, as it was not asked.
pub const NOT_ASKED: &str = "not-asked";

/// Whom to ask for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asks {
    /// No server: what is kept has to do.
    None,
    /// The servers of which nothing is kept that still counts.
    Unknown,
    /// Findings about all servers; their declarations are accepted.
    All,
}

/// The findings of an audit.
#[derive(Debug, Default)]
pub struct Audit {
    /// By server.
    pub findings: Vec<Diagnostic>,
    /// The tools that can be used: name and server.
    pub tools: Vec<(String, String)>,
    /// Number of servers.
    pub servers: usize,
}

impl Mcp {
    /// Looks at what the servers declare, where it is known or they may be asked.
    pub fn audit(&self, asks: Asks, cancel: &Cancellation) -> Audit {
        let of_settings = |note: String| Diagnostic::error("settings", "", "", note);
        let mut audit = Audit {
            findings: self.take_notes().into_iter().map(of_settings).collect(),
            servers: self.servers.len(),
            ..Audit::default()
        };
        let failures = match asks {
            Asks::None => Vec::new(),
            Asks::Unknown => self.ask_all(false, cancel),
            Asks::All => self.ask_all(true, cancel),
        };
        for at in 0..self.servers.len() {
            let failure = failures.iter().find(|(failed, _)| *failed == at);
            self.audit_server(at, failure.map(|(_, reason)| reason.as_str()), &mut audit);
        }
        // Only a server whose tools were asked for just now has any.
        let changes = self.take_notes().into_iter();
        let change = |note: String| Diagnostic::warning("changed", "", "", note);
        audit.findings.extend(changes.map(change));
        audit
    }

    fn audit_server(&self, at: usize, failure: Option<&str>, audit: &mut Audit) {
        let server = &self.servers[at];
        let mut say = |finding: Diagnostic| audit.findings.push(finding.of_server(&server.name));
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
        known
            .findings()
            .filter(|f| offered(&f.place.tool))
            .for_each(&mut say);
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
                audit.tools.push((tool.name.clone(), server.name.clone()));
                continue;
            };
            let rule = match held {
                HeldBack::Hidden(_) => "hidden-text",
                HeldBack::Pinned(_) => "pinned",
            };
            let shown = tool.original.escape_default().to_string();
            let message = format!("It is held back: {}", held.reason());
            say(Diagnostic::error(rule, &shown, "", message));
        }
    }
}
