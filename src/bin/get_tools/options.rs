//! The options of `get_tools`, read from its command line.

use crate::command::{GetToolsOptions, InitOptions, LintOptions, Subtask, TrustOptions, command};
use crate::doctor::DoctorTask;
use crate::format::Format;
use crate::init::InitTask;
use crate::lint::{LintTask, Output};
use crate::list;
use crate::print::warn;
use crate::show;
use crate::trust::TrustTask;
use clap::Parser;
use gemini_tools::hosts::Host;
use gemini_tools::init::{Allow, SetupScope};
use gemini_tools::mcp::ServersToAsk;
use gemini_tools::output::write_status;
use gemini_tools::start::usage_message;
use gemini_tools::workspace::pattern::PatternSet;
use std::env::args_os;

/// The task of the command line.
pub(crate) enum Task {
    /// Try the set-up.
    Doctor(DoctorTask),
    /// Setting Gemini CLI up.
    Init(InitTask),
    /// The declarations.
    List(Box<list::ListOptions>),
    /// Check custom tools or declarations.
    Lint(LintTask),
    /// The licences of what is linked.
    Licenses,
    /// The settings.
    Config { json: bool, policy: Vec<String> },
    /// Show or change the project's trust.
    Trust(TrustTask),
    /// Help for a tool.
    Show(String),
    /// Print a shell's suggestions.
    Complete {
        tool: Option<String>,
        describes: bool,
    },
    /// Completions for a shell, of one command or of all.
    Completions {
        shell: String,
        command: Option<String>,
    },
}

/// Reads the command line; `Err` is the status to exit with.
pub(crate) fn parse() -> Result<Task, u8> {
    if let Some(task) = complete() {
        return Ok(task);
    }
    let options = match GetToolsOptions::try_parse() {
        Ok(options) => options,
        Err(e) => {
            let words: Vec<String> = args_os()
                .skip(1)
                .map(|word| word.to_string_lossy().into_owned())
                .collect();
            if let Some(task) = guess(&words) {
                return task;
            }
            if e.use_stderr() {
                warn(&usage_message("get_tools", &e.to_string()));
                return Err(2);
            }
            return Err(write_status(e.print()));
        }
    };
    Ok(match options.task {
        Some(Subtask::Config { json, policy }) => Task::Config { json, policy },
        Some(Subtask::Show { name }) => Task::Show(name),
        Some(Subtask::Lint(options)) => Task::Lint(lint_task(options)),
        Some(Subtask::Trust(options)) => Task::Trust(trust_task(options)),
        Some(Subtask::Init(options)) => Task::Init(init_task(&options)?),
        Some(Subtask::Doctor(options)) => Task::Doctor(DoctorTask {
            json: options.json,
            asks_servers: options.mcp,
            host: options.host,
            tries: options.tries,
        }),
        Some(Subtask::Completions { shell, command }) => Task::Completions { shell, command },
        None if options.licenses => Task::Licenses,
        None => Task::List(Box::new(list_options(options)?)),
    })
}

/// `get_tools complete [--describe] [--] [NAME]`: for the completions of shells, which ask for it
/// at each tab, and for nothing else, so that no help lists it.
fn complete() -> Option<Task> {
    let mut words = args_os().skip(1);
    if words.next()? != "complete" {
        return None;
    }
    let (options, names): (Vec<_>, Vec<_>) = words
        .filter_map(|word| word.into_string().ok())
        .partition(|word| word.starts_with("--"));
    Some(Task::Complete {
        tool: names.into_iter().next(),
        describes: options.iter().any(|option| option == "--describe"),
    })
}

/// Returns the task of a user who has typed something else than a subcommand: help, the list, or a
/// tool.
fn guess(words: &[String]) -> Option<Result<Task, u8>> {
    let [first, rest @ ..] = words else {
        return None;
    };
    let is_subcommand = |name: &str| command().find_subcommand(name).is_some();
    match (first.as_str(), rest) {
        ("help", []) => Some(Err(write_status(command().print_help()))),
        ("help", [name]) if is_subcommand(name) => {
            let mut all = command();
            all.build();
            let found = all.find_subcommand_mut(name)?;
            Some(Err(write_status(found.print_help())))
        }
        ("help", [name]) => Some(Ok(Task::Show(name.clone()))),
        ("list", []) => Some(Ok(Task::List(Box::new(list::ListOptions {
            format: Format::List,
            ..list::ListOptions::default()
        })))),
        (name, []) if !name.starts_with('-') => match show::tool_help(name) {
            Ok(_) => Some(Ok(Task::Show(name.to_owned()))),
            Err(e) => {
                let hint = e.hint.filter(|hint| hint.starts_with("Did you mean"))?;
                warn(&format!(
                    "get_tools: There is no subcommand or tool {name:?}. {hint}"
                ));
                Some(Err(2))
            }
        },
        _ => None,
    }
}

fn lint_task(options: LintOptions) -> LintTask {
    LintTask {
        files: options.files,
        output: match options.format.as_deref() {
            _ if options.json => Output::Json,
            Some("json") => Output::Json,
            Some("sarif") => Output::Sarif,
            Some("junit") => Output::Junit,
            Some("github") => Output::Github,
            _ => Output::Text,
        },
        asks: match (options.refresh, options.mcp) {
            (true, _) => ServersToAsk::All,
            (false, true) => ServersToAsk::Unknown,
            (false, false) => ServersToAsk::None,
        },
    }
}

fn init_task(options: &InitOptions) -> Result<InitTask, u8> {
    let host = options.host.as_deref().and_then(Host::find);
    if let Some(host) = host {
        for (id, is_set) in [
            ("allow", options.allow.is_some()),
            ("trust", options.trust),
            ("output", options.output.is_some()),
        ] {
            if is_set {
                warn(&format!(
                    "get_tools: --{id} is for Gemini CLI; leave it out. {} asks about calls itself.",
                    host.title
                ));
                return Err(2);
            }
        }
    }
    Ok(InitTask {
        host,
        scope: match (options.user, options.project) {
            (true, _) => SetupScope::User,
            (_, true) => SetupScope::Project,
            _ => host.map_or(SetupScope::Project, |host| host.scope),
        },
        allow: match options.allow.as_deref() {
            Some("all") => Allow::All,
            Some("none") => Allow::Nothing,
            _ => Allow::ReadOnly,
        },
        asks: !options.yes,
        undoes: options.undo,
        trusts: options.trust,
        host_form: options.output.as_ref().map(|form| form == "host"),
    })
}

fn trust_task(options: TrustOptions) -> TrustTask {
    match options.remove {
        Some(dir) => TrustTask::Remove(dir),
        None if options.list => TrustTask::List,
        None if options.status => TrustTask::Status,
        None => TrustTask::Record { asks: !options.yes },
    }
}

fn list_options(options: GetToolsOptions) -> Result<list::ListOptions, u8> {
    let set = |id: &str, values: &Option<Vec<String>>| -> Result<Option<PatternSet>, u8> {
        let Some(values) = values else {
            return Ok(None);
        };
        let set = PatternSet::for_paths(values, false).map_err(|e| {
            warn(&format!("get_tools: --{id}: {e}"));
            2
        })?;
        Ok(Some(set))
    };
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
            warn(&format!(
                "get_tools: --{id} does nothing with --format {name}; leave it out."
            ));
            return Err(2);
        }
    }
    let only = set("only", &options.only)?;
    let exclude = set("exclude", &options.exclude)?.unwrap_or_default();
    let named = |id| move |glob| (id, glob);
    let globs = options.only.into_iter().flatten().map(named("only"));
    let excluded = options.exclude.into_iter().flatten();
    Ok(list::ListOptions {
        format,
        colours: options.colours,
        pretty: options.pretty,
        wrap: options.wrap,
        kinds: options.kinds,
        mcp: options.mcp,
        notes: options.notes,
        refresh: options.refresh,
        only,
        exclude,
        globs: globs.chain(excluded.map(named("exclude"))).collect(),
    })
}
