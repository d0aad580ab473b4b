//! `get_tools show NAME`: help for one tool, as `call_tool NAME --help` prints it.

use crate::print::{fail, print};
use gemini_tools::session::{PolicyOptions, Session};
use gemini_tools::text::visible;
use gemini_tools::tool::{Cancellation, Context, ToolError, help};
use gemini_tools_executables::start::help_width;

pub(crate) fn run(name: &str) -> u8 {
    match tool_help(name) {
        Ok(text) => print(text.as_bytes()),
        Err(e) => fail(e.kind.exit_status(), &visible(&e.to_string())),
    }
}

/// Returns the help for a tool, wrapped to the terminal's width.
///
/// # Errors
///
/// Returns `tool_not_registered`, or why the tool can't be used.
pub(crate) fn tool_help(name: &str) -> Result<String, ToolError> {
    let root = std::env::current_dir().unwrap_or_default();
    let session = Session::open(&root, &[], &PolicyOptions::default())?;
    let cx = Context::new(Cancellation::default(), false);
    session.with_tool(name, &cx, |tool| help(tool, help_width()))
}
