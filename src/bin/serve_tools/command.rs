//! The command line of `serve_tools`, for clap; `options` reads it.

use clap::{Arg, ArgAction, Command};
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

Exit status: 0 the client is gone, 1 it can't serve, 2 unusable arguments, 130 or 143 ended by a signal.";

/// Returns the command line of `serve_tools`.
pub(crate) fn command() -> Command {
    let http = Arg::new("http")
        .long("http")
        .value_name("ADDR:PORT")
        .num_args(0..=1)
        .default_missing_value(DEFAULT_ADDRESS)
        .help("Serve over HTTP instead of the standard streams [address: 127.0.0.1:8808]");
    let mode = Arg::new("approval-mode")
        .long("approval-mode")
        .value_name("MODE")
        .value_parser(ApprovalMode::NAMES)
        .help("Ask the client's user when the policy requires it [default: never ask]");
    Command::new("serve_tools")
        .version(gemini_tools::VERSION)
        .about("Serves the tools to clients of the Model Context Protocol (MCP)")
        .max_term_width(100)
        .after_help(EXAMPLES)
        .arg(http)
        .arg(
            flag(
                "allow-remote",
                "Let --http listen where other machines can reach it",
            )
            .requires("http"),
        )
        .arg(
            list(
                "host",
                "NAME",
                "A name by which HTTP clients may call this server",
            )
            .requires("http"),
        )
        .arg(
            list(
                "root",
                "DIR",
                "Work in this directory, whatever roots a client has",
            )
            .value_parser(clap::value_parser!(PathBuf)),
        )
        .arg(flag(
            "mcp",
            "Serve the tools of the MCP servers in the settings too",
        ))
        .arg(mode)
        .arg(list(
            "policy",
            "PATH",
            "Policy file or directory to use instead of ~/.gemini/policies",
        ))
}

fn flag(id: &'static str, help: &'static str) -> Arg {
    Arg::new(id).long(id).action(ArgAction::SetTrue).help(help)
}

fn list(id: &'static str, value: &'static str, help: &'static str) -> Arg {
    Arg::new(id)
        .long(id)
        .value_name(value)
        .action(ArgAction::Append)
        .help(help)
}
