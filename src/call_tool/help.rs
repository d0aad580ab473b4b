//! Help about tools: `call_tool NAME --help`, `call_tool help`, and the names of tools where a user
//! has given none.

use crate::call_tool::command::command;
use crate::call_tool::open_session;
use crate::call_tool::options::CallToolOptions;
use crate::call_tool::print::{Medium, is_stdout_terminal, print, warn};
use crate::start::{self, named_tools, write_status};
use gemini_tools::text::visible;
use gemini_tools::tool::{ErrorKind, ToolError};

pub(crate) fn run(options: &CallToolOptions) -> u8 {
    if options.name.is_empty() {
        return print_command_help();
    }
    match print_tool_help(options, &options.name) {
        Ok(status) => status,
        Err(e) if options.name == "help" && e.kind == ErrorKind::ToolNotRegistered => {
            print_command_help()
        }
        Err(e) => failed(&e),
    }
}

/// Prints the help of `call_tool help` and `call_tool help NAME`, and returns the exit status.
/// Returns `None` if a tool is named `help`, or if the caller may be a host that calls a tool of
/// that name.
pub(crate) fn asked_by_name(options: &CallToolOptions) -> Option<u8> {
    let is_typed = options.args.is_some() || is_stdout_terminal();
    if options.name != "help" || !is_typed || options.batch || options.from.is_some() {
        return None;
    }
    match tool_help(options, "help") {
        Err(e) if e.kind == ErrorKind::ToolNotRegistered => {}
        _ => return None,
    }
    Some(match options.args.as_deref() {
        Some([name]) => {
            let name = name.to_string_lossy();
            print_tool_help(options, &name).unwrap_or_else(|e| failed(&e))
        }
        _ => print_command_help(),
    })
}

fn print_command_help() -> u8 {
    write_status("call_tool", command().print_help())
}

pub(crate) fn failed(error: &ToolError) -> u8 {
    warn(&format!("call_tool: {}", visible(&error.to_string())));
    error.kind.exit_status()
}

fn print_tool_help(options: &CallToolOptions, name: &str) -> Result<u8, ToolError> {
    let text = tool_help(options, name)?;
    Ok(u8::from(!print(text.as_bytes(), Medium::Text)))
}

fn tool_help(options: &CallToolOptions, name: &str) -> Result<String, ToolError> {
    start::tool_help(&open_session(options)?, name)
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
