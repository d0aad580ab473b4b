//! Help about tools: `call_tool NAME --help`, `call_tool help`, and the list of tools where a user
//! has given no name.

use crate::command::command;
use crate::open_session;
use crate::options::CallToolOptions;
use crate::print::{Printed, Statuses, WIDEST, is_stdout_terminal, print, warn};
use gemini_tools::builtin::summary;
use gemini_tools::output::printed;
use gemini_tools::output::width;
use gemini_tools::session::Session;
use gemini_tools::text::{first_sentence, shortened, visible};
use gemini_tools::tool::{Cancellation, Context, ErrorKind, ToolError, help};

const SHOWN: Statuses = Statuses {
    written: 0,
    unwritten: 1,
};

/// `--help`: about the tool that is named, or else about the command.
pub(crate) fn run(options: &CallToolOptions) -> u8 {
    if options.name.is_empty() {
        return of_command();
    }
    match of_tool(options, &options.name) {
        Ok(status) => status,
        Err(e) if options.name == "help" && e.kind == ErrorKind::ToolNotRegistered => of_command(),
        Err(e) => failed(&e),
    }
}

/// `call_tool help`, and `call_tool help NAME`, where no tool has the name help: what is not a call
/// of a host. `None` where it may be one.
pub(crate) fn asked_by_name(options: &CallToolOptions) -> Option<u8> {
    let is_typed = options.args.is_some() || is_stdout_terminal();
    if options.name != "help" || !is_typed || options.batch || options.from.is_some() {
        return None;
    }
    match of_tool_named(options, "help") {
        Err(e) if e.kind == ErrorKind::ToolNotRegistered => {}
        _ => return None,
    }
    Some(match options.args.as_deref() {
        Some([name]) => of_tool(options, name).unwrap_or_else(|e| failed(&e)),
        _ => of_command(),
    })
}

fn of_command() -> u8 {
    printed(command().print_help())
}

fn failed(error: &ToolError) -> u8 {
    warn(&format!("call_tool: {}", visible(&error.to_string())));
    error.kind.exit_status()
}

fn of_tool(options: &CallToolOptions, name: &str) -> Result<u8, ToolError> {
    let text = of_tool_named(options, name)?;
    Ok(print(text.as_bytes(), Printed::Text, SHOWN))
}

fn of_tool_named(options: &CallToolOptions, name: &str) -> Result<String, ToolError> {
    let session = open_session(options)?;
    let cx = Context::new(Cancellation::default(), false);
    session.with_tool(name, &cx, |tool| help(tool, width().min(WIDEST)))
}

/// Returns the help for a user who has given no name: the way to call a tool, and the list.
pub(crate) fn tools() -> String {
    let mut text =
        "Usage: call_tool [OPTIONS] NAME [VALUE] [KEY=VALUE|KEY=@FILE|KEY:=JSON]...\n".to_owned();
    if let Ok(session) = open_session(&CallToolOptions::default()) {
        text.push_str("\nTools:\n");
        text.push_str(&list(&session));
    }
    text.push_str(
        "\ncall_tool NAME --help shows the arguments of a tool, call_tool --help all options.\n",
    );
    text
}

/// Returns the error of a command line without a tool's name, with the names.
pub(crate) fn name_a_tool() -> String {
    let mut text = "Name a tool".to_owned();
    if let Ok(session) = open_session(&CallToolOptions::default()) {
        let names: Vec<String> = rows(&session).into_iter().map(|(name, _)| name).collect();
        text.push_str(&format!(": {}", names.join(", ")));
    }
    text + ". call_tool NAME --help shows its arguments."
}

/// A line for each tool.
fn list(session: &Session) -> String {
    let rows = rows(session);
    let longest = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let room = width().saturating_sub(longest + 4).max(20);
    let line = |(name, what): &(String, String)| {
        let what = shortened(&visible(what), room, |_| 1);
        format!("  {name:longest$}  {what}\n")
    };
    rows.iter().map(line).collect()
}

/// Returns the names of all tools with what a list says of each.
fn rows(session: &Session) -> Vec<(String, String)> {
    let mut rows: Vec<(String, String)> = session
        .visible_tools(true)
        .into_iter()
        .map(|tool| {
            (
                tool.name().to_owned(),
                summary(tool.name(), tool.description()),
            )
        })
        .chain(session.known_server_tools(true).into_iter().map(|tool| {
            let description = tool.description();
            (tool.name, first_sentence(&description))
        }))
        .collect();
    rows.sort();
    rows
}
