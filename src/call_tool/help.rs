//! Help about tools: `call_tool NAME --help`, and the names of tools where a user has given none.

use crate::call_tool::command::command;
use crate::call_tool::open_session;
use crate::call_tool::options::CallToolOptions;
use crate::call_tool::print::{Medium, print, warn};
use crate::start::{named_tools, tool_help, write_status};
use gemini_tools::text::visible;
use gemini_tools::tool::ToolError;

pub(crate) fn run(options: &CallToolOptions) -> u8 {
    if options.name.is_empty() {
        return write_status("call_tool", command().print_help());
    }
    let help = open_session(options).and_then(|session| tool_help(&session, &options.name));
    match help {
        Ok(text) => u8::from(!print(text.as_bytes(), Medium::Text)),
        Err(e) => failed(&e),
    }
}

pub(crate) fn failed(error: &ToolError) -> u8 {
    warn(&format!("call_tool: {}", visible(&error.to_string())));
    error.kind.exit_status()
}

pub(crate) fn name_a_tool() -> String {
    let mut text = "Name a tool".to_owned();
    if let Ok(session) = open_session(&CallToolOptions::default()) {
        let tools = named_tools(&session).into_iter();
        let names: Vec<String> = tools.map(|(name, _)| name).collect();
        text.push_str(&format!(": {}", names.join(", ")));
    }
    text + ". call_tool NAME --help shows its arguments, get_tools lists what they do."
}
