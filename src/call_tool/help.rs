//! Help about tools: `call_tool NAME --help`, and the names of tools where a user has given none.

use crate::call_tool::command::command;
use crate::call_tool::open_session;
use crate::call_tool::options::CallToolOptions;
use crate::call_tool::print::{Medium, print};
use crate::start::{named_tools, tool_help, written};

pub(crate) fn run(options: &CallToolOptions) -> anyhow::Result<u8> {
    if options.name.is_empty() {
        return written(command().print_help());
    }
    let help = tool_help(&open_session(options)?, &options.name)?;
    Ok(u8::from(!print(help.as_bytes(), Medium::Text)))
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
