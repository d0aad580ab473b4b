//! `get_tools complete`: prints what a shell offers as completions of a `call_tool` command line.
//! The scripts in `completions/` run it at each press of Tab, so it asks no MCP server, and ignores
//! errors.

use crate::get_tools::print::print;
use crate::start::named_tools;
use gemini_tools::session::Session;
use gemini_tools::text::{first_sentence, visible};
use gemini_tools::tool::{Cancellation, Context, ExtraArgument, parameters};
use serde_json::Value;

pub(crate) fn run(tool: Option<&str>, describes: bool) -> anyhow::Result<u8> {
    let root = std::env::current_dir().unwrap_or_default();
    let Ok(session) = Session::describing(&root) else {
        return Ok(0);
    };
    let offered = match tool {
        None => named_tools(&session),
        Some(tool) => arguments(&session, tool),
    };
    let mut text = String::new();
    for (word, meaning) in offered {
        if !is_plain(&word) {
            continue;
        }
        text.push_str(&word);
        if describes {
            text.push('\t');
            text.push_str(&visible(&meaning).replace('`', ""));
        }
        text.push('\n');
    }
    print(text.as_bytes())
}

/// Returns true if a word needs no quoting in any shell. Completions are inserted as they are, and
/// an MCP server chooses the names of its tools.
fn is_plain(word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || "_-.:=/@+".contains(c);
    word.chars().all(is_part) && !word.starts_with(['-', '=']) && visible(word) == word
}

fn arguments(session: &Session, name: &str) -> Vec<(String, String)> {
    if session.is_registered(name) {
        let cx = Context::new(Cancellation::default(), false);
        let found = session.with_tool(name, &cx, |tool| {
            schema_arguments(tool.parameters().value(), tool.usage().undeclared)
        });
        return found.unwrap_or_default();
    }
    let known = session.known_server_tools(true);
    let tool = known
        .iter()
        .find(|tool| tool.name == name || tool.alias == name);
    tool.map(|tool| schema_arguments(&tool.declaration()["parametersJsonSchema"], &[]))
        .unwrap_or_default()
}

fn schema_arguments(schema: &Value, undeclared: &[ExtraArgument]) -> Vec<(String, String)> {
    let word = |name: &str, kind: &str| {
        let is_json = kind.contains("object") || kind.starts_with("array of array");
        format!("{name}{}", if is_json { ":=" } else { "=" })
    };
    let declared = parameters(schema);
    let declared = declared
        .iter()
        .filter(|parameter| !parameter.name.contains('.'));
    let declared = declared.map(|parameter| {
        (
            word(&parameter.name, &parameter.kind),
            first_sentence(parameter.description),
        )
    });
    let more = undeclared
        .iter()
        .map(|more| (word(more.name, more.kind), first_sentence(more.meaning)));
    declared.chain(more).collect()
}
