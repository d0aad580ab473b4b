//! The command line of `serve_tools`, as clap types. The module `options` parses it.

use crate::start::approval_modes;
use clap::builder::NonEmptyStringValueParser;
use clap::{CommandFactory, Parser};
use gemini_tools::serve::DEFAULT_ADDRESS;
use gemini_tools::tool::ApprovalMode;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  claude mcp add gemini-tools -- serve_tools  in Claude Code
  serve_tools --approval-mode default         asks the user
  serve_tools --http                          over HTTP
  npx @modelcontextprotocol/inspector serve_tools

With --approval-mode default the client's user is asked before edits and commands. With --http several clients are \
served, on this machine only.

The workspace: the client's roots, or the current directory where it has none. Settings, policies and trust count as \
they do for call_tool. Over HTTP a client needs the token in GEMINI_TOOLS_SERVE_TOKEN, or the one printed at the \
start.

Exit status: 0 the client is gone, 1 it can't serve, 2 unusable arguments, 129, 130 or 143 ended by a signal.";

/// The options of `serve_tools`. The comments are the help.
#[derive(Debug, Parser)]
#[command(
    name = "serve_tools",
    about = "Serves the tools to clients of the Model Context Protocol (MCP)",
    long_about = None,
    version = crate::VERSION,
    max_term_width = 100,
    after_help = EXAMPLES,
)]
pub(crate) struct ServeToolsOptions {
    /// Serve over HTTP instead of the standard streams [address: 127.0.0.1:8808]
    #[arg(long, value_name = "ADDR:PORT", num_args = 0..=1, default_missing_value = DEFAULT_ADDRESS)]
    pub(crate) http: Option<String>,
    /// Let --http listen where other machines can reach it
    #[arg(long, requires = "http")]
    pub(crate) allow_remote: bool,
    /// A name by which HTTP clients may call this server
    #[arg(long = "host", value_name = "NAME", requires = "http")]
    pub(crate) hosts: Vec<String>,
    /// Work in this directory, whatever roots a client has
    #[arg(long = "root", value_name = "DIR")]
    pub(crate) roots: Vec<PathBuf>,
    /// Serve the tools of the MCP servers in the settings too
    #[arg(long)]
    pub(crate) mcp: bool,
    /// Give clients the data of answers and errors as structuredContent too
    #[arg(long)]
    pub(crate) structured_content: bool,
    /// Ask the client's user when the policy requires it [default: never ask]
    #[arg(long, value_name = "MODE", value_parser = approval_modes())]
    pub(crate) approval_mode: Option<ApprovalMode>,
    /// Policy file or directory to use instead of ~/.gemini/policies
    #[arg(long, value_name = "PATH", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) policy: Vec<String>,
}

/// Returns the command line of the program.
#[must_use]
pub fn command() -> clap::Command {
    ServeToolsOptions::command()
}
