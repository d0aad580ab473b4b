//! Parses the command line of `get_tools`, and runs the task.

use crate::get_tools::command::{GetToolsOptions, Subtask, command};
use crate::get_tools::print::fail;
use crate::get_tools::{
    complete, completions, config, doctor, init, licenses, lint, list, serve, show, trust,
};
use crate::start::{refuse, write_status};
use clap::Parser;
use clap::error::{ContextKind, ContextValue};
use std::env::args_os;

/// If the error is about the value of `--host`, adds to it how to set up any other MCP host.
fn advise_on_hosts(error: &mut clap::Error) {
    const ADVICE: &str = "any other MCP host needs an entry with the command serve_tools and no arguments, over stdio; \
         docs/other-hosts.md has examples";
    let argument = error.get(ContextKind::InvalidArg);
    if argument.is_some_and(|argument| argument.to_string().starts_with("--host")) {
        let advice = ContextValue::StyledStrs(vec![ADVICE.into()]);
        error.insert(ContextKind::Suggested, advice);
    }
}

pub(crate) fn run() -> u8 {
    if let Some(status) = complete() {
        return status;
    }
    let options = match GetToolsOptions::try_parse() {
        Ok(options) => options,
        Err(mut e) => {
            advise_on_hosts(&mut e);
            let words = args_os().skip(1);
            let words: Vec<_> = words
                .map(|word| word.to_string_lossy().into_owned())
                .collect();
            if let Some(status) = guess(&words) {
                return status;
            }
            return refuse("get_tools", &e, 2);
        }
    };
    match options.task {
        Some(Subtask::Config { json, policy }) => config::run(json, &policy),
        Some(Subtask::Show { name }) => show::run(&name),
        Some(Subtask::Lint(options)) => lint::run(&options),
        Some(Subtask::Trust(options)) => trust::run(&options),
        Some(Subtask::Init(options)) => init::run(&options),
        Some(Subtask::Doctor(options)) => doctor::run(&options),
        Some(Subtask::Completions { shell, command }) => {
            completions::run(&shell, command.as_deref())
        }
        Some(Subtask::Serve { arguments }) => serve::run(&arguments),
        None if options.licenses => licenses::run(),
        None => list::run(&options),
    }
}

/// Runs `get_tools complete [--describe] [--] [NAME]`; `None` for another command line. It is not a
/// clap subcommand, because only shells' completions use it and no help should list it.
fn complete() -> Option<u8> {
    let mut words = args_os().skip(1);
    if words.next()? != "complete" {
        return None;
    }
    let (options, names): (Vec<_>, Vec<_>) = words
        .filter_map(|word| word.into_string().ok())
        .partition(|word| word.starts_with("--"));
    let describes = options.iter().any(|option| option == "--describe");
    Some(complete::run(names.first().map(String::as_str), describes))
}

/// Interprets a command line that clap has rejected: `help`, `list`, or the name of a tool. Returns
/// the exit status, or `None` if it is none of these.
fn guess(words: &[String]) -> Option<u8> {
    let [first, rest @ ..] = words else {
        return None;
    };
    let is_subcommand = |name: &str| command().find_subcommand(name).is_some();
    match (first.as_str(), rest) {
        ("help", []) => Some(write_status("get_tools", command().print_help())),
        ("help", [name]) if is_subcommand(name) => {
            let mut all = command();
            all.build();
            let found = all.find_subcommand_mut(name)?;
            Some(write_status("get_tools", found.print_help()))
        }
        ("help", [name]) => Some(show::run(name)),
        ("list", []) => Some(list::run(&GetToolsOptions {
            format: Some("list".to_owned()),
            ..GetToolsOptions::default()
        })),
        (name, []) if !name.starts_with('-') => match show::tool_help(name) {
            Ok(_) => Some(show::run(name)),
            Err(e) => {
                let hint = e.hint.filter(|hint| hint.starts_with("Did you mean"))?;
                let reason = format!("There is no subcommand or tool {name:?}. {hint}");
                Some(fail(2, &reason))
            }
        },
        _ => None,
    }
}
