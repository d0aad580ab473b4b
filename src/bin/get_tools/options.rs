//! The options of `get_tools`, read from its command line.

use crate::command::command;
use crate::doctor::DoctorTask;
use crate::format::Format;
use crate::init::InitTask;
use crate::lint::{LintTask, Output};
use crate::list;
use crate::print::warn;
use crate::show;
use crate::trust::TrustTask;
use clap::ArgMatches;
use gemini_tools::colours::ColourChoice;
use gemini_tools::init::{Allow, SetupScope};
use gemini_tools::mcp::Asks;
use gemini_tools::output::printed;
use gemini_tools::start::usage_message;
use gemini_tools::workspace::pattern::PatternSet;
use std::env::args_os;
use std::path::PathBuf;

/// The task of the command line.
pub(crate) enum Task {
    /// Try the set-up.
    Doctor(DoctorTask),
    /// Setting Gemini CLI up.
    Init(InitTask),
    /// The declarations.
    List(list::ListOptions),
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
    let matches = match command().try_get_matches_from(args_os()) {
        Ok(matches) => matches,
        Err(e) => {
            let words: Vec<String> = args_os()
                .skip(1)
                .map(|word| word.to_string_lossy().into_owned())
                .collect();
            if let Some(task) = meant(&words) {
                return task;
            }
            if e.use_stderr() {
                warn(&usage_message("get_tools", &e.to_string()));
                return Err(2);
            }
            return Err(printed(e.print()));
        }
    };
    match matches.subcommand() {
        Some(("show", matches)) => Ok(Task::Show(text(matches, "NAME").unwrap_or_default())),
        Some(("lint", matches)) => Ok(Task::Lint(lint_task(matches))),
        Some(("config", matches)) => Ok(Task::Config {
            json: matches.get_flag("json"),
            policy: matches
                .get_many::<String>("policy")
                .map(|paths| paths.cloned().collect())
                .unwrap_or_default(),
        }),
        Some(("doctor", matches)) => Ok(Task::Doctor(doctor_task(matches))),
        Some(("init", matches)) => Ok(Task::Init(init_task(matches))),
        Some(("completions", matches)) => Ok(Task::Completions {
            shell: text(matches, "SHELL").unwrap_or_default(),
            command: text(matches, "COMMAND"),
        }),
        Some(("trust", matches)) => Ok(Task::Trust(trust_task(matches))),
        _ if matches.get_flag("licenses") => Ok(Task::Licenses),
        _ => Ok(Task::List(list_options(&matches)?)),
    }
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
fn meant(words: &[String]) -> Option<Result<Task, u8>> {
    let [first, rest @ ..] = words else {
        return None;
    };
    let is_subcommand = |name: &str| command().find_subcommand(name).is_some();
    match (first.as_str(), rest) {
        ("help", []) => Some(Err(printed(command().print_help()))),
        ("help", [name]) if is_subcommand(name) => {
            let mut all = command();
            all.build();
            let found = all.find_subcommand_mut(name)?;
            Some(Err(printed(found.print_help())))
        }
        ("help", [name]) => Some(Ok(Task::Show(name.clone()))),
        ("list", []) => Some(Ok(Task::List(list::ListOptions {
            format: Format::Table,
            ..list::ListOptions::default()
        }))),
        (name, []) if !name.starts_with('-') => match show::of_tool(name) {
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

fn text(matches: &ArgMatches, id: &str) -> Option<String> {
    matches.get_one::<String>(id).cloned()
}

fn lint_task(matches: &ArgMatches) -> LintTask {
    let text = |id: &str| matches.get_one::<String>(id).map(String::as_str);
    let output = match text("format") {
        _ if matches.get_flag("json") => Output::Json,
        Some("json") => Output::Json,
        Some("sarif") => Output::Sarif,
        Some("junit") => Output::Junit,
        Some("github") => Output::Github,
        _ => Output::Text,
    };
    let files = matches.get_many::<PathBuf>("FILE");
    LintTask {
        files: files.into_iter().flatten().cloned().collect(),
        output,
        asks: match (matches.get_flag("refresh"), matches.get_flag("mcp")) {
            (true, _) => Asks::All,
            (false, true) => Asks::Unknown,
            (false, false) => Asks::None,
        },
    }
}

fn doctor_task(matches: &ArgMatches) -> DoctorTask {
    let tries = matches.get_many::<String>("try");
    DoctorTask {
        json: matches.get_flag("json"),
        asks_servers: matches.get_flag("mcp"),
        tries: tries.into_iter().flatten().cloned().collect(),
    }
}

fn init_task(matches: &ArgMatches) -> InitTask {
    let allow = match matches.get_one::<String>("allow").map(String::as_str) {
        Some("all") => Allow::All,
        Some("none") => Allow::Nothing,
        _ => Allow::ReadOnly,
    };
    InitTask {
        scope: if matches.get_flag("user") {
            SetupScope::User
        } else {
            SetupScope::Project
        },
        allow,
        asks: !matches.get_flag("yes"),
        undoes: matches.get_flag("undo"),
        trusts: matches.get_flag("trust"),
        host_form: matches
            .get_one::<String>("output")
            .map(|form| form == "host"),
    }
}

fn trust_task(matches: &ArgMatches) -> TrustTask {
    if let Some(dir) = matches.get_one::<PathBuf>("remove") {
        return TrustTask::Remove(dir.clone());
    }
    if matches.get_flag("list") {
        return TrustTask::List;
    }
    if matches.get_flag("status") {
        return TrustTask::Status;
    }
    TrustTask::Record {
        asks: !matches.get_flag("yes"),
    }
}

fn list_options(matches: &ArgMatches) -> Result<list::ListOptions, u8> {
    let set = |id: &str| -> Result<Option<PatternSet>, u8> {
        let Some(values) = matches.get_many::<String>(id) else {
            return Ok(None);
        };
        let mut set = PatternSet::default();
        for value in values {
            let more = PatternSet::for_paths(value, false).map_err(|e| {
                warn(&format!("get_tools: --{id}: {e}"));
                2
            })?;
            set.extend(more);
        }
        Ok(Some(set))
    };
    let format = matches.get_one::<String>("format");
    let asks_for_json = matches.get_flag("pretty") || matches.get_flag("wrap");
    let format = match format {
        Some(name) => Format::from_name(name),
        None if asks_for_json => Format::default(),
        None => Format::of_stdout(),
    };
    let colours = matches.get_one::<String>("color");
    let colours = colours.and_then(|name| ColourChoice::from_name(name));
    for (id, is_for) in [
        ("pretty", format.is_json()),
        ("wrap", format.is_json()),
        ("kinds", format.has_kinds()),
    ] {
        if matches.get_flag(id) && !is_for {
            let name = matches.get_one::<String>("format");
            let name = name.map_or("gemini", String::as_str);
            warn(&format!(
                "get_tools: --{id} does nothing with --format {name}; leave it out."
            ));
            return Err(2);
        }
    }
    Ok(list::ListOptions {
        format,
        colours: colours.unwrap_or_default(),
        pretty: matches.get_flag("pretty"),
        wrap: matches.get_flag("wrap"),
        kinds: matches.get_flag("kinds"),
        mcp: matches.get_flag("mcp"),
        notes: matches.get_flag("notes"),
        refresh: matches.get_flag("refresh"),
        only: set("only")?,
        exclude: set("exclude")?.unwrap_or_default(),
        globs: ["only", "exclude"]
            .into_iter()
            .flat_map(|id| {
                let globs = matches.get_many::<String>(id).into_iter().flatten();
                globs.map(move |glob| (id, glob.clone()))
            })
            .collect(),
    })
}
