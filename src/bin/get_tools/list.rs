//! The declarations.

use crate::format::Format;
use crate::print::{print, warn};
use gemini_tools::builtin::{self, ToolEnv};
use gemini_tools::colours::ColourChoice;
use gemini_tools::custom::Custom;
use gemini_tools::mcp::Mcp;
use gemini_tools::policy::{Extra, Mode, Policy, PolicyCall, mode_from_env};
use gemini_tools::registry::nearest;
use gemini_tools::settings::{Settings, UNTRUSTED, home};
use gemini_tools::text::{harmless_lines, visible};
use gemini_tools::tool::{Cancellation, Kind, ToolError};
use gemini_tools::workspace::Workspace;
use gemini_tools::workspace::pattern::PatternSet;
use serde_json::json;
use std::cell::RefCell;
use std::io::IsTerminal;
use std::sync::Arc;

/// The options of the list.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
#[derive(Default)]
pub(crate) struct ListOptions {
    pub(crate) format: Format,
    pub(crate) colours: ColourChoice,
    pub(crate) pretty: bool,
    pub(crate) wrap: bool,
    pub(crate) kinds: bool,
    pub(crate) mcp: bool,
    /// True if left-out tools are named although standard error is not a terminal.
    pub(crate) notes: bool,
    /// True if the caches of custom tools and of servers don't count.
    pub(crate) refresh: bool,
    pub(crate) only: Option<PatternSet>,
    pub(crate) exclude: PatternSet,
    /// The globs of both as they were typed, each with its option.
    pub(crate) globs: Vec<(&'static str, String)>,
}

/// Prints the declarations.
pub(crate) fn run(options: &ListOptions) -> u8 {
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
            warn(&format!("get_tools: Ignored {}", visible(&problem.text())));
        }
        for problem in &policy.problems {
            warn(&format!("get_tools: {}", visible(&problem.text())));
        }
        for note in &settings.notes {
            warn(&format!("get_tools: {}", visible(&note.text())));
        }
        if settings.notes.iter().any(|note| note.code == UNTRUSTED) {
            warn("get_tools: To see and trust what the project brings, run get_tools trust.");
        }
    }
    let shown = Selection {
        options,
        policy: &policy,
        mode: mode_from_env(),
        names: RefCell::default(),
    };
    // Every other format is made from Gemini's, and says more of a tool than that.
    let with_kinds = options.kinds || !options.format.is_gemini();
    let built_in = builtin::TOOLS.iter();
    let mut list: Vec<String> = built_in
        .filter(|tool| shown.keeps_ours(tool.name, tool.info.aliases, tool.info.kind))
        .map(|tool| tool.declaration(with_kinds))
        .collect();
    let custom = Custom::open(home.as_deref(), &root, &settings.trust).declarations(
        |name, kind| shown.keeps_ours(name, &[], kind),
        with_kinds,
        options.refresh,
        || tool_env(&settings),
    );
    list.extend(custom.list);
    shown.print_notes(&custom.notes);
    if options.mcp || options.refresh || is_set("GEMINI_TOOLS_MCP") {
        let roots = std::slice::from_ref(&root);
        if let Some(mcp) = Mcp::open(&settings, home.as_deref(), &root, roots) {
            add_mcp(&mut list, &shown, &mcp, &custom.names, with_kinds);
        }
    }
    shown.warn_of_globs();
    print(options.format.write(&list, options).as_bytes())
}

/// The tools to print.
struct Selection<'a> {
    options: &'a ListOptions,
    policy: &'a Policy,
    mode: Mode,
    /// The names of all tools that were looked at.
    names: RefCell<Vec<String>>,
}

impl Selection<'_> {
    /// Says which globs of the command line fit no tool. Both versions of Gemini CLI that we test
    /// with overlook what a discovery command says on standard error as long as it succeeds.
    fn warn_of_globs(&self) {
        let names = self.names.borrow();
        for (option, glob) in &self.options.globs {
            let set = PatternSet::for_paths([glob], false).unwrap_or_default();
            if names.iter().any(|name| set.matches(name.as_bytes(), 0)) {
                continue;
            }
            let near = nearest(
                glob,
                names.iter().map(|name| (name.as_str(), name.as_str())),
            );
            let hint = match near.as_slice() {
                [] => String::new(),
                near => format!("; did you mean {}?", near.join(" or ")),
            };
            warn(&format!(
                "get_tools: --{option} {}: No tool has this name{hint}",
                visible(glob)
            ));
        }
    }

    /// Prints notes for a person, or for a caller that asks for them: a host would take them for a
    /// failure.
    fn print_notes(&self, notes: &[String]) {
        if self.options.notes || std::io::stderr().is_terminal() {
            for note in notes {
                warn(&format!("get_tools: {}", harmless_lines(note)));
            }
        }
    }

    fn keeps_ours(&self, name: &str, aliases: &[&str], kind: Kind) -> bool {
        let no_args = serde_json::Map::new();
        self.keeps(&PolicyCall {
            kind,
            ..PolicyCall::of_tool(name, aliases, &no_args)
        })
    }

    fn keeps(&self, call: &PolicyCall<'_>) -> bool {
        if !self.options.globs.is_empty() {
            let names = std::iter::once(&call.name).chain(call.aliases);
            let names = names.map(|name| (*name).to_owned());
            self.names.borrow_mut().extend(names);
        }
        let listed = |set: &PatternSet| {
            let mut names = std::iter::once(&call.name).chain(call.aliases);
            names.any(|n| set.matches(n.as_bytes(), 0))
        };
        self.policy.shows(call, self.mode, true)
            && self.options.only.as_ref().is_none_or(listed)
            && !listed(&self.options.exclude)
    }
}

fn is_set(variable: &str) -> bool {
    gemini_tools::variables::value(variable).is_some_and(|value| value != "0")
}

/// Adds the tools of MCP servers. What is wrong with some of them costs only those.
fn add_mcp(
    list: &mut Vec<String>,
    shown: &Selection<'_>,
    mcp: &Mcp,
    custom: &[String],
    with_kinds: bool,
) {
    let tools = mcp.list(shown.options.refresh, &Cancellation::default());
    shown.print_notes(&mcp.take_notes());
    for tool in tools {
        if custom.contains(&tool.name) {
            shown.print_notes(&[format!(
                "The tool {} of an MCP server is left out, because a tool of your own has its name; \
                 rename yours.",
                tool.name
            )]);
            continue;
        }
        let no_args = serde_json::Map::new();
        let aliases = [&*tool.alias];
        let call = PolicyCall {
            server: tool.server(),
            annotations: tool.annotations.as_ref(),
            ..PolicyCall::of_tool(&tool.name, &aliases, &no_args)
        };
        if !shown.keeps(&call) {
            continue;
        }
        let kind = match (with_kinds, tool.is_read_only) {
            (false, _) => "",
            (true, true) => r#","kind":"read""#,
            (true, false) => r#","kind":"other""#,
        };
        let mcp = match &tool.origin {
            Some((server, name)) if with_kinds => format!(
                r#","mcp":{}"#,
                json!({"server": server, "tool": name, "annotations": tool.annotations})
            ),
            _ => String::new(),
        };
        list.push(format!("{}{kind}{mcp}}}", tool.text));
    }
}

/// Returns the environment in which the commands of pairs run.
fn tool_env(settings: &Settings) -> Result<ToolEnv, ToolError> {
    let workspace = Arc::new(Workspace::open(&[], home().as_deref())?);
    Ok(ToolEnv::new(workspace).with_settings(Arc::new(settings.clone())))
}
