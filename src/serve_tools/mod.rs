//! `serve_tools`: serves our tools over MCP, on the standard streams or over HTTP, and connects to
//! other MCP servers (`--connect`).

mod command;
mod options;

pub use command::command;

use crate::start::{Failure, warn};
use anyhow::bail;
use std::ffi::OsStr;
use std::io::IsTerminal;

/// Runs the program and returns its exit status.
///
/// # Errors
///
/// Returns why the program can't serve.
pub fn run() -> anyhow::Result<u8> {
    let mut words = std::env::args_os().skip(1);
    if words.next().is_some_and(|word| word == "--connect") {
        return connect(words.next().as_deref());
    }
    let options = options::options()?;
    if options.http.is_none() && std::io::stdin().is_terminal() {
        warn(
            "waiting for an MCP client on standard input, a message of JSON in each line; \
             --http serves over the network, --help tells more, Ctrl-C ends",
        );
    }
    Ok(gemini_tools::serve::run(options))
}

/// Holds the connections to MCP servers for `get_tools`, `call_tool` and `run_agent`, and does what
/// tools in these programs need the network for. The programs start this mode themselves, so it is
/// not in the help. Requests are JSON lines on standard input; at its end, all servers are ended.
fn connect(protocol: Option<&OsStr>) -> anyhow::Result<u8> {
    if protocol.is_some_and(|word| word == &*gemini_tools::network::protocol()) {
        return Ok(gemini_tools::connect::run());
    }
    let reason =
        "--connect: another version has other messages; install executables of one version";
    bail!(Failure(2, reason.to_owned()))
}
