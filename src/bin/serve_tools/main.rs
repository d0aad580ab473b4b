//! `serve_tools`: our tools as an MCP server, over the standard streams or HTTP.

#[cfg(unix)]
mod command;
#[cfg(unix)]
mod options;

use std::io::Write;
use std::process::ExitCode;

#[cfg(windows)]
fn main() -> ExitCode {
    tell("it does not run on Windows yet; there call_tool does, and serve_tools in WSL 2.");
    ExitCode::from(2)
}

#[cfg(unix)]
fn main() -> ExitCode {
    match options::options() {
        Ok(options) => gemini_tools::serve::run(options),
        Err(status) => status,
    }
    .into()
}

/// Tells a person; standard output is the protocol's.
fn tell(message: &str) {
    // Where standard error is gone, nobody reads it.
    let _ = writeln!(std::io::stderr(), "serve_tools: {message}");
}
