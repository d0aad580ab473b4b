//! Parses the command line of `get_tools`, and runs the task.

use crate::get_tools::command::{GetToolsOptions, Subtask};
use crate::get_tools::{
    complete, completions, config, doctor, init, licenses, lint, list, serve, show, trust,
};
use crate::start::refuse;
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

pub(crate) fn run() -> anyhow::Result<u8> {
    if let Some(completed) = complete() {
        return completed;
    }
    let options = GetToolsOptions::try_parse().map_err(|mut e| {
        advise_on_hosts(&mut e);
        refuse(e, 2)
    })?;
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
fn complete() -> Option<anyhow::Result<u8>> {
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
