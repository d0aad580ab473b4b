//! `get_tools`: prints the declarations of all tools.

use crate::get_tools::command::GetToolsOptions;
use crate::get_tools::format::Format;
use crate::get_tools::print::print;
use crate::start::{Failure, warn};
use anyhow::bail;
use gemini_tools::builtin::{self, BuiltinTool, ToolEnv};
use gemini_tools::custom::Custom;
use gemini_tools::mcp::{Mcp, McpDeclaration, many};
use gemini_tools::policy::{Mode, Policy, PolicyCall, mode_from_env};
use gemini_tools::registry::nearest;
use gemini_tools::session::{PolicyOptions, Project, as_call};
use gemini_tools::settings::UNTRUSTED;
use gemini_tools::text::{harmless_lines, visible};
use gemini_tools::tool::{Cancellation, Kind};
use gemini_tools::variables::is_in_qwen;
use gemini_tools::workspace::pattern::PatternSet;
use serde_json::json;
use std::cell::RefCell;
use std::io::IsTerminal;
use std::sync::Arc;

/// Names of our tools that qwen-code 0.24 takes for old names of its own tools, each with the new
/// name. When a model calls either name, qwen-code runs its own tool, unless ours is declared under
/// the new name as well.
const NAMES_IN_QWEN: [(&str, &str); 2] =
    [("replace", "edit"), ("search_file_content", "grep_search")];

pub(crate) fn run(options: &GetToolsOptions) -> anyhow::Result<u8> {
    let format = chosen_format(options)?;
    let only = patterns("only", options.only.as_deref())?;
    let exclude = patterns("exclude", options.exclude.as_deref())?.unwrap_or_default();
    let project = Project::open(&std::env::current_dir().unwrap_or_default());
    let policy = project.policy(&PolicyOptions::default());
    let (home, root, settings) = (project.home, project.root, project.settings);
    // Who asks for kinds decides about calls by the same settings, and reports their faults.
    if std::io::stderr().is_terminal() || options.notes && !options.kinds {
        let problems = settings.problems.iter().chain(&policy.problems);
        for problem in problems.chain(&settings.notes) {
            warn(&visible(&problem.text()));
        }
        if let Some(obstacle) = policy.obstacle() {
            warn(&visible(&obstacle));
        }
        if settings.notes.iter().any(|note| note.code == UNTRUSTED) {
            warn("To see and trust what the project brings, run get_tools trust.");
        }
    }
    let shown = Selection {
        options,
        only,
        exclude,
        policy: &policy,
        mode: mode_from_env(),
        names: RefCell::default(),
    };
    // All other formats are derived from Gemini's declarations, and need the kind.
    let with_kinds = options.kinds || !format.is_gemini();
    let mut list = built_in(&shown, format.is_gemini() && is_in_qwen(), with_kinds);
    let custom = Custom::open(home.as_deref(), &root, &settings.trust).declarations(
        |name, kind| shown.keeps_ours(name, &[], kind),
        with_kinds,
        options.refresh,
        || ToolEnv::open(&settings, home.as_deref()),
    );
    list.extend(custom.list);
    shown.print_notes(&custom.notes);
    if options.mcp || options.refresh || is_set("GEMINI_TOOLS_MCP") {
        let roots = std::slice::from_ref(&root);
        if let Some(mcp) = Mcp::open(&settings, home.as_deref(), &root, roots) {
            // Only a model is given a search tool in place of many tools. A host that asks for
            // kinds decides about each tool's calls, and a person reads the list: both need all
            // tools.
            let is_for_model = format.is_json() && !options.kinds;
            let limit = is_for_model.then(|| settings.mcp.search_above());
            let tools = mcp_tools(&shown, &mcp, &custom.names);
            add_mcp(
                &mut list,
                many::offered(tools, limit.unwrap_or(usize::MAX)),
                with_kinds,
            );
        }
    }
    shown.warn_of_globs();
    print(format.write(&list, options).as_bytes())
}

fn built_in(shown: &Selection<'_>, is_in_qwen: bool, with_kinds: bool) -> Vec<String> {
    let is_kept =
        |tool: &&&BuiltinTool| shown.keeps_ours(tool.name, tool.info.aliases, tool.info.kind);
    let tools: Vec<_> = builtin::TOOLS.iter().filter(is_kept).collect();
    let mut list: Vec<String> = tools
        .iter()
        .map(|tool| tool.declaration(with_kinds))
        .collect();
    for (name, alias) in NAMES_IN_QWEN.into_iter().filter(|_| is_in_qwen) {
        let tool = tools.iter().find(|tool| tool.name == name);
        list.extend(tool.map(|tool| tool.declaration_as(alias, with_kinds)));
    }
    list
}

fn chosen_format(options: &GetToolsOptions) -> anyhow::Result<Format> {
    let format = match &options.format {
        Some(name) => Format::from_name(name),
        None if options.pretty || options.wrap => Format::default(),
        None => Format::for_stdout(),
    };
    for (id, is_set, is_for) in [
        ("pretty", options.pretty, format.is_json()),
        ("wrap", options.wrap, format.is_json()),
        ("kinds", options.kinds, format.has_kinds()),
    ] {
        if is_set && !is_for {
            let name = options.format.as_deref().unwrap_or("gemini");
            let reason = format!("--{id} does nothing with --format {name}; leave it out.");
            bail!(Failure(2, reason));
        }
    }
    Ok(format)
}

fn patterns(option: &str, globs: Option<&[String]>) -> Result<Option<PatternSet>, Failure> {
    let set = globs.map(|globs| PatternSet::for_paths(globs, false));
    set.transpose()
        .map_err(|e| Failure(2, format!("--{option}: {e}")))
}

struct Selection<'a> {
    options: &'a GetToolsOptions,
    only: Option<PatternSet>,
    exclude: PatternSet,
    policy: &'a Policy,
    mode: Mode,
    names: RefCell<Vec<String>>,
}

impl Selection<'_> {
    /// Warns of globs in `--only` and `--exclude` that match no tool. This is safe in a pipe, too:
    /// both versions of Gemini CLI that the tests use ignore the standard error of a discovery
    /// command that succeeds.
    fn warn_of_globs(&self) {
        let names = self.names.borrow();
        let only = self.options.only.iter().flatten();
        let exclude = self.options.exclude.iter().flatten();
        let globs = only.map(|glob| ("only", glob));
        for (option, glob) in globs.chain(exclude.map(|glob| ("exclude", glob))) {
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
                "--{option} {}: No tool has this name{hint}",
                visible(glob)
            ));
        }
    }

    /// Prints notes on a terminal, or if the caller asks for them. A host might take them for a
    /// failure.
    fn print_notes(&self, notes: &[String]) {
        if self.options.notes || std::io::stderr().is_terminal() {
            for note in notes {
                warn(&harmless_lines(note));
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
        let names = || std::iter::once(&call.name).chain(call.aliases);
        if self.options.only.is_some() || self.options.exclude.is_some() {
            let names = names().map(|name| (*name).to_owned());
            self.names.borrow_mut().extend(names);
        }
        let listed = |set: &PatternSet| names().any(|name| set.matches(name.as_bytes(), 0));
        self.policy.shows(call, self.mode, true)
            && self.only.as_ref().is_none_or(listed)
            && !listed(&self.exclude)
    }
}

fn is_set(variable: &str) -> bool {
    gemini_tools::variables::value(variable).is_some_and(|value| value != "0")
}

fn mcp_tools(shown: &Selection<'_>, mcp: &Mcp, custom: &[String]) -> Vec<Arc<McpDeclaration>> {
    let mut tools = mcp.list(shown.options.refresh, &Cancellation::default());
    shown.print_notes(&mcp.take_notes());
    tools.retain(|tool| {
        if custom.contains(&tool.name) {
            shown.print_notes(&[format!(
                "The tool {} of an MCP server is left out, because a tool of your own has its name; \
                 rename yours.",
                tool.name
            )]);
            return false;
        }
        as_call(tool, |call| shown.keeps(call))
    });
    tools
}

fn add_mcp(list: &mut Vec<String>, tools: Vec<Arc<McpDeclaration>>, with_kinds: bool) {
    for tool in tools {
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
