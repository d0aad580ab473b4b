//! The options of `call_tool`, read from its command line.

use crate::command::{PRUNE, command};
use crate::help;
use crate::history::HistoryOptions;
use crate::input::read_input;
use crate::print::{Printed, Statuses, is_stdout_terminal, print, print_json, warn};
use crate::propagate;
use clap::ArgMatches;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use gemini_tools::answer::{Answer, Form};
use gemini_tools::builtin;
use gemini_tools::colours::ColourChoice;
use gemini_tools::diagnostic::Severity;
use gemini_tools::dialect::Dialect;
use gemini_tools::output::printed;
use gemini_tools::session::{PolicyOptions, with_time_limit};
use gemini_tools::tool::{ApprovalMode, Cancellation, ToolError};
use gemini_tools::variables;
use serde_json::Value;
use std::env::args_os;
use std::ffi::OsString;
use std::path::PathBuf;

/// The options that say which changes `--history` and `--undo` are about.
const OF_JOURNAL: [&str; 2] = ["since", "session"];

/// The options of the command line.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
#[derive(Default)]
pub(crate) struct CallToolOptions {
    pub(crate) name: String,
    /// `None` where they come on standard input.
    pub(crate) args: Option<Vec<String>>,
    pub(crate) id: Option<String>,
    /// Form that was asked for, by argument or environment; text if a person looks at the answer to
    /// one call.
    pub(crate) form: Option<Form>,
    /// Print the paths alone, each with a NUL after it.
    pub(crate) prints_paths: bool,
    /// Colours of the text.
    pub(crate) colours: ColourChoice,
    pub(crate) explain: bool,
    pub(crate) strict: bool,
    /// True if output is printed while the tool runs.
    pub(crate) stream: bool,
    /// True if calls come as JSON lines.
    pub(crate) batch: bool,
    /// True if help is asked for.
    pub(crate) helps: bool,
    /// True if the exit status is that of the call's command.
    pub(crate) propagates_status: bool,
    /// Roots in the place of the current directory.
    pub(crate) roots: Vec<PathBuf>,
    /// Rules that calls are judged by.
    pub(crate) rules: PolicyOptions,
    /// The dialect that calls come in and are answered in; `None` for our own.
    pub(crate) from: Option<Dialect>,
    /// True if a search that finds something is a failure.
    pub(crate) fail_on_match: bool,
    /// Format of a report for CI.
    pub(crate) report: Option<CiFormat>,
    /// Options for the journal, if there is no call.
    pub(crate) history: Option<HistoryOptions>,
    /// Texts of the report.
    pub(crate) check: Check,
}

/// The texts of a report, in the words of the author of the check.
#[derive(Default)]
pub(crate) struct Check {
    /// The rule; the tool's name where none is given.
    pub(crate) rule_id: Option<String>,
    /// Message of each match; the matching text if there is none.
    pub(crate) message: Option<String>,
    pub(crate) severity: Option<Severity>,
}

/// A format that CI reads.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum CiFormat {
    Sarif,
    Junit,
    Github,
}

/// Reads the command line and the environment; `Err` is the status to exit with.
pub(crate) fn options() -> Result<CallToolOptions, u8> {
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
        // The host gives the name and nothing else: then nothing is parsed.
        options.name = name;
    } else {
        options.take(&parse()?);
        if let Some(conflict) = options.conflict() {
            return Err(usage_error(&options.name, &conflict));
        }
    }
    // A line of the user's file is for hosts.
    let chosen = variables::values("GEMINI_TOOLS_OUTPUT").into_iter();
    let mut chosen = chosen.filter(|chosen| is_as_by_host || chosen.file.is_none());
    if options.form.is_none()
        && let Some(chosen) = chosen.next()
    {
        let name = chosen.text();
        options.form = Some(Form::from_name(&name).ok_or_else(|| {
            usage_error(
                &options.name,
                &format!(
                    "{} is {name:?}; it must be one of {}.",
                    chosen.name,
                    Form::NAMES.join(", ")
                ),
            )
        })?);
    }
    if options.form.is_none() && options.is_one_call() && is_stdout_terminal() {
        options.form = Some(Form::Text);
    }
    Ok(options)
}

impl CallToolOptions {
    /// Returns true if there is one answer, which comes when the call is over, and no other
    /// program's format was asked for.
    fn is_one_call(&self) -> bool {
        !self.batch && !self.stream && self.from.is_none() && self.report.is_none()
    }

    /// Returns true if a terminal shows output while the call runs.
    pub(crate) fn shows_live(&self) -> bool {
        self.is_one_call() && !self.explain
    }

    /// Refuses arguments that the form of the answer has no place for.
    ///
    /// # Errors
    ///
    /// Returns `invalid_tool_params` for the context lines of a search with `--output lines`.
    pub(crate) fn check_form(&self, args: &Value) -> Result<(), ToolError> {
        let is_search =
            builtin::find(&self.name).is_some_and(|known| known.name == "search_file_content");
        if self.form != Some(Form::Lines) || !is_search {
            return Ok(());
        }
        let wants_lines = |key: &&&str| args[**key].as_f64().is_some_and(|lines| lines > 0.0);
        match ["context", "before", "after"].iter().find(wants_lines) {
            None => Ok(()),
            Some(key) => Err(ToolError::invalid(format!(
                "--output lines prints matching lines only, but {key} asks for others."
            ))
            .with_hint(format!("Leave out {key}, or use --output text."))),
        }
    }

    /// Returns what is wrong with options that parse one by one.
    fn conflict(&self) -> Option<String> {
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

    fn take(&mut self, matches: &ArgMatches) {
        let text = |id: &str| matches.get_one::<String>(id).cloned();
        self.name = text("NAME").unwrap_or_default();
        self.args = matches
            .get_many::<String>("ARGUMENT")
            .map(|values| values.cloned().collect());
        self.id = text("id");
        self.explain = matches.get_flag("explain");
        self.strict = matches.get_flag("strict");
        self.stream = matches.get_flag("stream");
        self.batch = matches.get_flag("batch");
        self.rules.approval = text("approval-mode").and_then(|name| ApprovalMode::from_name(&name));
        let policy = matches.get_many::<String>("policy");
        self.rules.policy = policy.into_iter().flatten().cloned().collect();
        self.helps = matches.get_flag("help");
        self.propagates_status = matches.get_flag("propagate-status");
        let roots = matches.get_many::<PathBuf>("root");
        self.roots = roots.into_iter().flatten().cloned().collect();
        self.from = text("from").and_then(|name| Dialect::from_name(&name));
        self.fail_on_match = matches.get_flag("fail-on-match");
        self.report = match text("format").as_deref() {
            _ if matches.get_flag("sarif") => Some(CiFormat::Sarif),
            _ if matches.get_flag("junit") => Some(CiFormat::Junit),
            Some("sarif") => Some(CiFormat::Sarif),
            Some("junit") => Some(CiFormat::Junit),
            Some("github") => Some(CiFormat::Github),
            _ => None,
        };
        self.check = Check {
            rule_id: text("rule-id"),
            message: text("message"),
            severity: match text("level").as_deref() {
                Some("warning") => Some(Severity::Warning),
                Some("note") => Some(Severity::Repair),
                Some(_) => Some(Severity::Error),
                None => None,
            },
        };
        self.prints_paths = matches.get_flag("null");
        self.form = match text("output") {
            _ if matches.get_flag("text") => Some(Form::Text),
            _ if self.prints_paths => Some(Form::Lines),
            name => name.and_then(|name| Form::from_name(&name)),
        };
        let colours = text("color").and_then(|name| ColourChoice::from_name(&name));
        self.colours = colours.unwrap_or_default();
        self.history = history(matches);
    }
}

fn history(matches: &ArgMatches) -> Option<HistoryOptions> {
    let text = |id: &str| matches.get_one::<String>(id).cloned();
    let prunes = matches.get_flag(PRUNE);
    let undo = matches.get_many::<String>("undo");
    if !prunes && undo.is_none() && !matches.contains_id("history") {
        return None;
    }
    Some(HistoryOptions {
        undo: undo.map(|ids| ids.cloned().collect()),
        path: text("history"),
        session: text("session"),
        since: matches.get_one("since").copied(),
        json: matches.get_flag("json"),
        all: matches.get_flag("all"),
        prunes,
    })
}

fn parse() -> Result<ArgMatches, u8> {
    command().try_get_matches_from(args_os()).map_err(|e| {
        if args_os().len() == 1 && is_stdout_terminal() {
            print(
                help::tools().as_bytes(),
                Printed::Text,
                Statuses {
                    written: 2,
                    unwritten: 2,
                },
            )
        } else if args_os().len() > 1 && is_without_name(&e) || args_os().len() == 1 {
            usage_error("", &help::name_a_tool())
        } else if e.use_stderr() {
            usage_error("", &unusable(&e))
        } else {
            printed(e.print())
        }
    })
}

/// Returns true if only the tool's name is missing.
fn is_without_name(error: &clap::Error) -> bool {
    let missing = error.get(ContextKind::InvalidArg);
    error.kind() == ErrorKind::MissingRequiredArgument
        && matches!(missing, Some(ContextValue::Strings(all)) if all.iter().all(|one| one.contains("NAME")))
}

/// The options of `grep` and `rg` that a search has an argument for, or does without being asked.
const OF_GREP: [(&str, &str); 22] = [
    (
        "-i",
        "Case is ignored unless you write case_sensitive=true.",
    ),
    (
        "--ignore-case",
        "Case is ignored unless you write case_sensitive=true.",
    ),
    ("-s", "Write case_sensitive=true."),
    ("--case-sensitive", "Write case_sensitive=true."),
    ("-n", "Line numbers are always printed."),
    ("--line-number", "Line numbers are always printed."),
    ("-r", "Directories are always searched; path=DIR names one."),
    ("-l", "Write names_only=true."),
    ("--files-with-matches", "Write names_only=true."),
    ("-c", "Write count=true."),
    ("-F", "Write fixed_strings=true."),
    ("--fixed-strings", "Write fixed_strings=true."),
    ("-A", "Write after=LINES."),
    ("-B", "Write before=LINES."),
    ("-C", "Write context=LINES."),
    ("-m", "Write max_matches_per_file=NUMBER."),
    ("-g", "Write include='GLOB'."),
    ("--glob", "Write include='GLOB'."),
    (
        "--type",
        "Name the files by a glob, such as include='*.rs'.",
    ),
    ("--hidden", "Hidden files are searched anyway."),
    ("--no-ignore", "Write no_ignore=true."),
    ("--json", "Write --output json."),
];

/// Returns what to type instead of an option of `grep` or `rg` beside a search.
fn of_grep(error: &clap::Error) -> Option<String> {
    let (ErrorKind::UnknownArgument, Some(ContextValue::String(option))) =
        (error.kind(), error.get(ContextKind::InvalidArg))
    else {
        return None;
    };
    let words: Vec<OsString> = args_os().collect();
    let mut names = words.iter().skip(1).filter_map(|word| word.to_str());
    let is_search = names
        .any(|name| builtin::find(name).is_some_and(|known| known.name == "search_file_content"));
    let option = option.split('=').next().unwrap_or_default();
    let (_, instead) = OF_GREP.iter().find(|(known, _)| *known == option)?;
    is_search.then(|| {
        format!(
            "There is no option {option}. {instead} call_tool search_file_content --help lists \
             the arguments."
        )
    })
}

/// Returns the message for a command line that can't be used.
fn unusable(error: &clap::Error) -> String {
    if let Some(message) = of_grep(error) {
        return message;
    }
    if let Some(option) = of_journal(error) {
        return format!(
            "{option} is for --history or --undo. {}",
            without_dashes(&option)
        );
    }
    let unknown = match (error.kind(), error.get(ContextKind::InvalidArg)) {
        (ErrorKind::UnknownArgument, Some(ContextValue::String(unknown))) => unknown,
        _ => "",
    };
    let name = unknown.strip_prefix("--").unwrap_or_default();
    let is_near_an_option = error.get(ContextKind::SuggestedArg).is_some();
    let key = name.replace('-', "_");
    if name.is_empty() || is_near_an_option && !is_argument_of_built_in(&key) {
        let text = error.to_string();
        return text.trim_start_matches("error: ").trim_end().to_owned();
    }
    format!("There is no option {unknown}. {}", without_dashes(unknown))
}

/// An option of `--history` or `--undo` that stands beside a tool's name: it may be meant as an
/// argument of the tool.
fn of_journal(error: &clap::Error) -> Option<String> {
    if error.kind() != ErrorKind::ArgumentConflict {
        return None;
    }
    let words: Vec<OsString> = args_os().collect();
    let is_there = |option: &str| words.iter().any(|word| word == option);
    if is_there("--history") || is_there("--undo") {
        return None;
    }
    let kinds = [ContextKind::InvalidArg, ContextKind::PriorArg];
    let mut named = kinds.into_iter().flat_map(|kind| match error.get(kind) {
        Some(ContextValue::String(one)) => vec![one.as_str()],
        Some(ContextValue::Strings(all)) => all.iter().map(String::as_str).collect(),
        _ => Vec::new(),
    });
    let option = named.find_map(|text| {
        let name = text.split([' ', '=']).next()?.strip_prefix("--")?;
        OF_JOURNAL.contains(&name).then_some(name)
    })?;
    Some(format!("--{option}"))
}

/// Returns the spelling of the argument that was typed as an option.
fn without_dashes(option: &str) -> String {
    let key = option.trim_start_matches('-').replace('-', "_");
    let words: Vec<String> = args_os()
        .filter_map(|word| word.into_string().ok())
        .collect();
    let place = words
        .iter()
        .position(|word| word.split('=').next() == Some(option));
    let value = place.and_then(|at| match words[at].split_once('=') {
        Some((_, value)) => Some(value),
        None => words
            .get(at + 1)
            .map(String::as_str)
            .filter(|word| !word.starts_with('-')),
    });
    let value = value.unwrap_or("VALUE");
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/');
    let value = if value.chars().all(plain) {
        value.to_owned()
    } else {
        format!("'{}'", value.replace('\'', "'\\''"))
    };
    format!(
        "The arguments of a tool have no dashes: {key}={value}. call_tool --help lists the options."
    )
}

/// Returns true if the called tool is a built-in one that knows this argument.
fn is_argument_of_built_in(key: &str) -> bool {
    let mut names = args_os().skip(1).filter_map(|word| word.into_string().ok());
    names.any(|name| builtin::find(&name).is_some_and(|tool| tool.knows_argument(key)))
}

/// Returns true if an unusable command line asks for text.
fn wants_text() -> bool {
    let words: Vec<_> = args_os()
        .filter_map(|word| word.into_string().ok())
        .collect();
    let is_text = |form: &str| Form::from_name(form).is_some_and(Form::is_for_people);
    let after = |option: &str| {
        let mut pairs = words.windows(2);
        pairs.any(|pair| pair[0] == option && is_text(&pair[1]))
    };
    let joined = |word: &String| {
        let form = word
            .strip_prefix("--output=")
            .or_else(|| word.strip_prefix("-o"));
        form.is_some_and(is_text)
    };
    words.iter().any(|word| word == "-t" || joined(word)) || after("-o") || after("--output")
}

/// Answers a command line that can't be used. For a person on a terminal that is a message;
/// a program gets it in the same form as every other failure.
pub(crate) fn usage_error(name: &str, reason: &str) -> u8 {
    let status = if args_os().any(|word| word == propagate::FLAG) {
        propagate::OURS
    } else {
        2
    };
    if is_stdout_terminal() || wants_text() {
        warn(&format!("call_tool: {reason}"));
        return status;
    }
    // The host would fail if its write to us did.
    let _ = read_input(&with_time_limit(&Cancellation::default()));
    let answer = Answer {
        name,
        id: None,
        outcome: Err(ToolError::invalid(reason)),
    };
    print_json(&answer.to_json(Form::Part), status)
}
