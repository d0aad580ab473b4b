//! The options of `call_tool`, read from its command line.

pub(crate) use crate::call_tool::command::{CallToolOptions, CiFormat};
use crate::call_tool::help;
use crate::call_tool::input::read_input;
use crate::call_tool::print::{is_stdout_terminal, print_json};
use crate::call_tool::propagate;
use crate::start::{Failure, usage_text};
use anyhow::bail;
use clap::Parser;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use gemini_tools::answer::{Answer, Form};
use gemini_tools::builtin;
use gemini_tools::session::{PolicyOptions, with_time_limit};
use gemini_tools::tool::{Cancellation, ToolError};
use gemini_tools::variables;
use std::env::args_os;
use std::ffi::OsString;
use std::path::PathBuf;

/// Returns the options, or how a command line without a call ends.
pub(crate) fn options() -> Result<CallToolOptions, anyhow::Result<u8>> {
    let mut options = CallToolOptions::default();
    let mut words = args_os().skip(1);
    let plain = match (words.next(), words.next()) {
        (Some(name), None) => name
            .into_string()
            .ok()
            .filter(|name| !name.starts_with('-')),
        _ => None,
    };
    let is_as_by_host = plain.is_some();
    if let Some(name) = plain {
        // A host only gives the tool's name. Then nothing needs to be parsed, which saves time.
        options.name = name;
    } else {
        options = parse()?;
        options.name = options.given_name.take().unwrap_or_default();
        if options.text {
            options.form = Some(Form::Text);
        } else if options.null {
            options.form = Some(Form::Lines);
        }
        options.json |= options.is_about_journal() && options.form == Some(Form::Part);
        if let Some(conflict) = options.conflict() {
            return Err(usage_error(&options.name, &conflict));
        }
    }
    // A value from the user's `.env` file only applies to command lines such as a host uses: a
    // tool's name alone.
    let chosen = variables::values("GEMINI_TOOLS_OUTPUT").into_iter();
    let mut chosen = chosen.filter(|chosen| is_as_by_host || chosen.file.is_none());
    if options.form.is_none()
        && let Some(chosen) = chosen.next()
    {
        options.form = Form::from_name(chosen.text().trim());
    }
    if options.form.is_none() && options.is_one_call() && is_stdout_terminal() {
        options.form = Some(Form::Text);
    }
    Ok(options)
}

impl CallToolOptions {
    /// Returns true if the command line makes one call, whose answer is printed at its end and in
    /// one of our own forms.
    fn is_one_call(&self) -> bool {
        !self.batch
            && !self.stream
            && self.from.is_none()
            && self.report.is_none()
            && !self.is_check()
    }

    pub(crate) fn shows_live(&self) -> bool {
        self.is_one_call() && !self.explain
    }

    pub(crate) fn is_check(&self) -> bool {
        !self.check.is_empty()
            || self.files_without_match
            || self.max.is_some()
            || self.has_selection()
    }

    pub(crate) fn has_selection(&self) -> bool {
        self.files_from.is_some() || self.changed.is_some() || self.changed_lines.is_some()
    }

    fn conflict(&self) -> Option<String> {
        if self.is_about_journal() {
            let is_known = matches!(self.form, None | Some(Form::Text | Form::Part));
            let is_clear = is_known && !(self.json && self.form == Some(Form::Text));
            return (!is_clear).then(|| {
                "The journal is printed as text (-t, --output text) or as JSON lines (--json, --output json)."
                    .to_owned()
            });
        }
        let option = match (self.batch, self.stream) {
            (true, _) => "--batch",
            (_, true) => "--stream",
            _ => return None,
        };
        self.form.filter(|form| form.is_for_people()).map(|_| {
            format!(
                "{option} prints lines of JSON; --output text and --output lines are for one call."
            )
        })
    }

    pub(crate) fn rules(&self) -> PolicyOptions {
        let mut options = PolicyOptions::default();
        options.approval = self.approval_mode;
        options.policy = self.policy.iter().map(PathBuf::from).collect();
        options
    }

    /// Returns true if no tool is called: changes are listed or undone, or the journal is pruned.
    pub(crate) fn is_about_journal(&self) -> bool {
        self.prune_history || self.undo.is_some() || self.history.is_some()
    }
}

fn parse() -> Result<CallToolOptions, anyhow::Result<u8>> {
    CallToolOptions::try_parse().map_err(|e| {
        if args_os().len() == 1 || is_without_name(&e) {
            usage_error("", &help::name_a_tool())
        } else if e.use_stderr() {
            usage_error("", &unusable(&e))
        } else {
            Err(e.into())
        }
    })
}

fn is_without_name(error: &clap::Error) -> bool {
    let missing = error.get(ContextKind::InvalidArg);
    error.kind() == ErrorKind::MissingRequiredArgument
        && matches!(missing, Some(ContextValue::Strings(all)) if all.iter().all(|one| one.contains("NAME")))
}

fn unusable(error: &clap::Error) -> String {
    let unknown = match (error.kind(), error.get(ContextKind::InvalidArg)) {
        (ErrorKind::UnknownArgument, Some(ContextValue::String(unknown))) => unknown,
        _ => "",
    };
    let has_name = || error.to_string().contains("'[NAME]'");
    let mut journal = ["--undo", "--history"].into_iter();
    if error.kind() == ErrorKind::ArgumentConflict
        && has_name()
        && let Some(option) = journal.find(|option| args_os().any(|word| word == *option))
    {
        return format!("No tool is called with {option}. Put a path or an id right behind it.");
    }
    let name = unknown.strip_prefix("--").unwrap_or_default();
    let is_near_an_option = error.get(ContextKind::SuggestedArg).is_some();
    let key = name.replace('-', "_");
    if name.is_empty() || is_near_an_option && !is_argument_of_built_in(&key) {
        return usage_text(error);
    }
    format!(
        "There is no option {unknown}. The arguments of a tool have no dashes: {key}=VALUE. call_tool \
         --help lists the options."
    )
}

fn is_argument_of_built_in(key: &str) -> bool {
    let mut names = args_os().skip(1).filter_map(|word| word.into_string().ok());
    names.any(|name| builtin::find(&name).is_some_and(|tool| tool.knows_argument(key)))
}

/// Returns true if no model waits for the answer to an invalid command line: it asks for text, it is
/// one of a check, or it names no tool and is about the journal.
fn is_for_people() -> bool {
    const CHECKS: [&str; 7] = [
        "--changed",
        "--changed-lines",
        "--check",
        "--files-from",
        "--files-without-match",
        "--format",
        "--max",
    ];
    const JOURNAL: [&str; 3] = ["--history", "--prune-history", "--undo"];
    let words: Vec<String> = args_os().skip(1).flat_map(OsString::into_string).collect();
    let has = |options: &[&str]| {
        let mut names = words.iter().filter_map(|word| word.split('=').next());
        names.any(|name| options.contains(&name))
    };
    let mut before = "";
    let wants_text = words.iter().any(|word| {
        let form = match std::mem::replace(&mut before, word) {
            "-o" | "--output" => Some(word.as_str()),
            _ => word
                .strip_prefix("--output=")
                .or_else(|| word.strip_prefix("-o")),
        };
        let form = form.and_then(Form::from_name);
        word == "-t" || form.is_some_and(Form::is_for_people)
    });
    let names_tool = words.first().is_some_and(|word| !word.starts_with('-'));
    wants_text || has(&CHECKS) || has(&JOURNAL) && !names_tool
}

/// Returns the error of an invalid command line for a person. A program gets an answer in the same
/// form as for any other failure.
fn usage_error(name: &str, reason: &str) -> anyhow::Result<u8> {
    let status = if args_os().any(|word| word == propagate::FLAG) {
        propagate::OURS
    } else {
        2
    };
    if is_stdout_terminal() || is_for_people() {
        bail!(Failure(status, reason.to_owned()));
    }
    // Standard input is read to its end, because a host fails if it can't write all of it.
    let _ = read_input(&with_time_limit(&Cancellation::default()));
    let answer = Answer {
        name,
        id: None,
        outcome: Err(ToolError::invalid(reason)),
    };
    Ok(print_json(&answer.to_json(Form::Part), status))
}
