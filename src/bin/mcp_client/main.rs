//! `mcp_client`: reaches the network and MCP servers for `get_tools` and `call_tool`, which start
//! it themselves.

use std::io::Write;
use std::process::ExitCode;

const USAGE: &str = "\
Usage: mcp_client --connect VERSION

Holds the connections to MCP servers for get_tools and call_tool, and does what
their own tools need the network for: they start it where such a tool is
called, and it must be in their directory. Requests come as JSON lines on
standard input; when that ends, all servers are ended. Not meant to be run by
hand.
";

fn main() -> ExitCode {
    gemini_tools::start::serve(run)
}

fn run() -> u8 {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        // Another version has other messages.
        ["--connect", version] if version == gemini_tools::network::protocol() => {
            gemini_tools::network_helper::run()
        }
        ["-h" | "--help"] => print(&mut std::io::stdout(), USAGE, 0),
        ["-V" | "--version"] => print(
            &mut std::io::stdout(),
            &format!("mcp_client {}\n", gemini_tools::VERSION),
            0,
        ),
        _ => print(&mut std::io::stderr(), USAGE, 2),
    }
}

fn print(to: &mut dyn Write, text: &str, status: u8) -> u8 {
    // Without a reader, it is not missed.
    let _ = to.write_all(text.as_bytes());
    status
}
