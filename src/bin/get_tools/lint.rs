//! `get_tools lint`: what is wrong with the tools of the user, of the project and of MCP servers,
//! and what was repaired.

use crate::list::surroundings;
use crate::print::{complain, print};
use gemini_tools::custom::{self, Custom};
use gemini_tools::declaration::Finding;
use gemini_tools::mcp::{Asks, Mcp};
use gemini_tools::settings::{Settings, home};
use gemini_tools::shown::visible;
use gemini_tools::tool::Cancellation;

/// What to look at, and how to print it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Options {
    pub(crate) json: bool,
    /// Which MCP servers to ask.
    pub(crate) asks: Asks,
}

/// Prints a line for each finding. Exits with 1 where a tool is left out.
pub(crate) fn run(options: Options) -> u8 {
    let root = std::env::current_dir().unwrap_or_default();
    let home = home();
    let settings = Settings::load(home.as_deref(), &root);
    let custom = Custom::open(home.as_deref(), &root, &settings.trust);
    let mut lint = match custom::lint(&custom, || surroundings(&settings)) {
        Ok(lint) => lint,
        Err(e) => {
            complain(&format!("get_tools: {e}"));
            return 1;
        }
    };
    let servers = settings.notes.iter().filter(|note| {
        let is_servers = note.key == "mcpServers" || note.key == "mcp.serverCommand";
        is_servers && note.needs_trust
    });
    lint.findings.extend(servers.map(|note| {
        let message = format!("{}: get_tools trust", note.what);
        Finding::warning("untrusted", "", &note.key, message).in_file(&note.file)
    }));
    let roots = std::slice::from_ref(&root);
    if let Some(mcp) = Mcp::open(&settings, home.as_deref(), &root, roots) {
        let audit = mcp.audit(options.asks, &Cancellation::default());
        lint.servers = audit.servers;
        lint.findings.extend(audit.findings);
        for (name, server) in &audit.tools {
            lint.take_tool_of_server(name, server);
        }
    }
    let mut text = String::new();
    for finding in &lint.findings {
        if options.json {
            text.push_str(&serde_json::to_string(finding).unwrap_or_default());
        } else {
            text.push_str(&visible(&finding.to_string()));
        }
        text.push('\n');
    }
    if !options.json {
        text.push_str(&lint.summary());
        text.push('\n');
    }
    match print(text.as_bytes()) {
        0 => u8::from(lint.has_errors()),
        status => status,
    }
}
