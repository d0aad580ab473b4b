//! `serve_tools`: our tools as an MCP server, over the standard streams or HTTP.

mod command;
mod options;

use std::io::{IsTerminal, Write};
use std::process::ExitCode;

fn main() -> ExitCode {
    gemini_tools::start::serve(run)
}

fn run() -> u8 {
    match options::options() {
        Ok(options) => {
            if options.http.is_none() && std::io::stdin().is_terminal() {
                log(
                    "waiting for an MCP client on standard input, a message of JSON in each line; \
                     --http serves over the network, --help tells more, Ctrl-C ends",
                );
            }
            gemini_tools::serve::run(options)
        }
        Err(status) => status,
    }
}

/// Prints a message for a person; standard output is the protocol's.
fn log(message: &str) {
    // Where standard error is gone, there is no reader.
    let _ = writeln!(std::io::stderr(), "serve_tools: {message}");
}
