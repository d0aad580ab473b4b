//! `get_tools show NAME`: help for one tool, as `call_tool NAME --help` prints it.

use crate::get_tools::print::{fail, print};
use crate::start;
use gemini_tools::session::Session;
use gemini_tools::text::visible;

pub(crate) fn run(name: &str) -> u8 {
    let root = std::env::current_dir().unwrap_or_default();
    let help = Session::describing(&root).and_then(|session| start::tool_help(&session, name));
    match help {
        Ok(text) => print(text.as_bytes()),
        Err(e) => fail(e.kind.exit_status(), &visible(&e.to_string())),
    }
}
