//! `get_tools show NAME`: help for one tool, as `call_tool NAME --help` prints it.

use crate::get_tools::print::{fail, print};
use crate::start;
use gemini_tools::session::Session;
use gemini_tools::text::visible;
use gemini_tools::tool::ToolError;

pub(crate) fn run(name: &str) -> u8 {
    match tool_help(name) {
        Ok(text) => print(text.as_bytes()),
        Err(e) => fail(e.kind.exit_status(), &visible(&e.to_string())),
    }
}

pub(crate) fn tool_help(name: &str) -> Result<String, ToolError> {
    let root = std::env::current_dir().unwrap_or_default();
    let session = Session::describing(&root)?;
    start::tool_help(&session, name)
}
