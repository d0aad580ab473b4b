//! The declarations.

use crate::print::{complain, print};
use gemini_tools::builtin::declarations;
use gemini_tools::mcp::Mcp;
use gemini_tools::policy::{Call, Extra, Policy, ServerTool, hosts_mode};
use gemini_tools::settings::{Settings, home};
use gemini_tools::shown::visible;
use gemini_tools::tool::{Cancellation, Kind};
use gemini_tools::workspace::pattern::PatternSet;
use std::io::IsTerminal;

/// What to print of them, and how.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
#[derive(Default)]
pub(crate) struct Options {
    pub(crate) pretty: bool,
    pub(crate) wrap: bool,
    pub(crate) kinds: bool,
    pub(crate) mcp: bool,
    pub(crate) refresh: bool,
    pub(crate) only: Option<PatternSet>,
    pub(crate) exclude: PatternSet,
}

/// Prints the declarations.
pub(crate) fn run(options: &Options) -> u8 {
    let home = home();
    let root = std::env::current_dir().unwrap_or_default();
    let settings = Settings::load(home.as_deref(), &root);
    let policy = Policy::load(
        &settings,
        home.as_deref(),
        &root,
        &Extra::with_paths(&[""; 0]),
    );
    if std::io::stderr().is_terminal() {
        for problem in &settings.problems {
            complain(&format!("get_tools: ignored {}", visible(problem)));
        }
        for problem in &policy.problems {
            complain(&format!("get_tools: {}", visible(problem)));
        }
        for note in &settings.notes {
            complain(&format!("get_tools: {}", visible(&note.to_string())));
        }
        if settings.notes.iter().any(|note| note.needs_trust) {
            complain("get_tools: get_tools trust shows what the project brings, and trusts it");
        }
    }
    let mode = hosts_mode();
    let no_args = serde_json::Map::new();
    let keep = |name: &str, aliases: &[&str]| {
        let names: Vec<&str> = std::iter::once(name)
            .chain(aliases.iter().copied())
            .collect();
        let listed = |set: &PatternSet| names.iter().any(|n| set.matches(n.as_bytes(), 0));
        let call = Call {
            kind: builtin::kind(name).unwrap_or(Kind::Other),
            ..Call::of_tool(name, aliases, &no_args)
        };
        policy.shows(&call, mode, true)
            && options.only.as_ref().is_none_or(listed)
            && !listed(&options.exclude)
    };
    let mut list = declarations(keep, options.kinds);
    if options.mcp || options.refresh || is_set("GEMINI_TOOLS_MCP") {
        add_mcp(&mut list, options, &settings, &policy);
    }
    let mut text = format!("[{}]", list.join(","));
    if options.wrap {
        text = format!(r#"[{{"functionDeclarations":{text}}}]"#);
    }
    if options.pretty
        && let Ok(value) = serde_json::from_str::<serde_json::Value>(&text)
    {
        text = serde_json::to_string_pretty(&value).unwrap_or(text);
    }
    text.push('\n');
    print(text.as_bytes())
}

fn is_set(variable: &str) -> bool {
    std::env::var_os(variable).is_some_and(|value| !value.is_empty() && value != "0")
}

/// Adds the tools of MCP servers. What is wrong with some of them costs only those.
fn add_mcp(list: &mut Vec<String>, options: &Options, settings: &Settings, policy: &Policy) {
    let root = std::env::current_dir().unwrap_or_default();
    let roots = std::slice::from_ref(&root);
    let Some(mcp) = Mcp::open(settings, home().as_deref(), &root, roots) else {
        return;
    };
    let tools = mcp.list(options.refresh, &Cancellation::default());
    if std::io::stderr().is_terminal() {
        for note in mcp.take_notes() {
            complain(&format!("get_tools: {}", visible(&note)));
        }
    }
    let no_args = serde_json::Map::new();
    for tool in tools {
        let names = [tool.name.as_str(), tool.alias.as_str()];
        let listed = |set: &PatternSet| names.iter().any(|n| set.matches(n.as_bytes(), 0));
        let aliases = [tool.alias.as_str()];
        let call = Call {
            server: tool
                .origin
                .as_ref()
                .map(|(name, tool)| ServerTool { name, tool }),
            ..Call::of_tool(&tool.name, &aliases, &no_args)
        };
        if !policy.shows(&call, hosts_mode(), true)
            || !options.only.as_ref().is_none_or(listed)
            || listed(&options.exclude)
        {
            continue;
        }
        let kind = match (options.kinds, tool.is_read_only) {
            (false, _) => "}",
            (true, true) => r#","kind":"read"}"#,
            (true, false) => r#","kind":"other"}"#,
        };
        list.push(format!("{}{kind}", tool.text));
    }
}
