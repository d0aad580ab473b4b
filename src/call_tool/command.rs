//! The command line of `call_tool`, as clap types. The module `options` parses it.

#![expect(
    clippy::doc_markdown,
    reason = "the comments of options are their help"
)]

use crate::start::{approval_modes, colours, name_parser};
use clap::builder::{NonEmptyStringValueParser, PossibleValue, TypedValueParser};
use clap::{ArgAction, ArgGroup, CommandFactory, Parser, ValueEnum};
use gemini_tools::answer::Form;
use gemini_tools::colours::ColourChoice;
use gemini_tools::diagnostic::Severity;
use gemini_tools::dialect::Dialect;
use gemini_tools::tool::ApprovalMode;
use std::ffi::OsString;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Arguments are one JSON object on standard input, or words after the name. KEY=VALUE takes the type of the parameter: \
limit=20 is a number, and KEY=a KEY=b gives a list two items. KEY=@FILE reads the value from a file, KEY=@- from standard \
input; KEY=@@VALUE is a value that begins with @. KEY:=JSON is JSON. A bare value fills the only required parameter. A \
terminal gets the answer as text, a file or a pipe gets it as JSON (functionResponse).

Examples:
  echo '{\"path\":\"src\"}' | call_tool list_directory
  call_tool glob '**/*.rs'
  call_tool read_file README.md limit=20
  call_tool search_file_content 'TODO|FIXME' --output lines
  call_tool glob '*.md' | jq .functionResponse.response
  call_tool replace file_path=a.txt old_string=one new_string=two --explain
  call_tool web_fetch url=https://www.rust-lang.org/
  call_tool write_file file_path=a.txt content=@draft.txt
  call_tool run_shell_command 'make test' timeout=600 --propagate-status
  call_tool github__get_issue number=7   a tool over MCP
  call_tool --batch < calls.jsonl
  call_tool --from openai < call.json    from another API
  call_tool search_file_content TODO --fail-on-match --format sarif
  call_tool search_file_content TODO --format github --level warning
  call_tool --check checks.toml --changed main
  call_tool search_file_content TODO --files-from - --max 10
  call_tool --history src          what tools have changed
  call_tool --undo --since 10m     takes it back

Your own tools are in ~/.gemini/tools and, in a trusted project, in .gemini/tools; get_tools lint checks them.

Exit status: 0 done, 1 the tool failed, 2 unknown tool, unusable arguments or call, 3 refused by policy, 124 out of \
time, 130 and 143 interrupted. With --fail-on-match, as a check: 0 nothing found, 1 something found, 2 and above not \
searched; so with --check and the options for what is checked. With --propagate-status: the command's own, 128 and more by a signal, 125 where call_tool failed.

Environment: GEMINI_TOOLS_OUTPUT (as --output), GEMINI_TOOLS_SESSION (for --history), GEMINI_TOOLS_ROOTS (more directories to work in, separated by \
colons), GEMINI_TOOLS_TIMEOUT (seconds), GEMINI_TOOLS_SHELL_TIMEOUT and GEMINI_TOOLS_SHELL_IDLE_TIMEOUT (seconds, \
for commands), GEMINI_TOOLS_SANDBOX (off, read-only, workspace-write), GEMINI_TOOLS_UNDO_COMMANDS (on, off, all), GEMINI_TOOLS_POLICY (as --policy, separated \
by colons), GEMINI_TOOLS_MODEL, GEMINI_TOOLS_FETCH_ALLOW (hosts for web_fetch that are not public), GEMINI_TOOLS_DNS \
(name servers), GEMINI_API_KEY and the other credentials of Gemini CLI, https_proxy and no_proxy, GEMINI_CLI_HOME \
(instead of the home directory), NO_COLOR and CLICOLOR_FORCE. The manual page says more.";

fn span(text: &str) -> Result<u64, String> {
    let complaint = || {
        format!("{text:?} is not a span of time; give a number and s, m, h, d or w, such as 10m.")
    };
    let unit = match text.chars().next_back() {
        Some('s') => 1,
        Some('m') => 60,
        Some('h') => 60 * 60,
        Some('d') => 24 * 60 * 60,
        Some('w') => 7 * 24 * 60 * 60,
        _ => return Err(complaint()),
    };
    let number: u64 = text[..text.len() - 1].parse().map_err(|_| complaint())?;
    number.checked_mul(unit * 1000).ok_or_else(complaint)
}

/// Options about calls, which can't be combined with those about the journal.
const CALLS: [&str; 13] = [
    "NAME",
    "ARGUMENT",
    "batch",
    "from",
    "null",
    "id",
    "strict",
    "stream",
    "fail_on_match",
    "report",
    "propagate_status",
    "check",
    "selection",
];

/// Options that choose the form of an answer, which can't be combined with a report for CI.
const OTHER_ANSWERS: [&str; 7] = ["batch", "from", "explain", "form", "text", "stream", "id"];

/// Returns a parser for the form of an answer. The form `part` can also be called `json`.
fn form() -> impl TypedValueParser<Value = Form> {
    let names = Form::NAMES.map(|name| match Form::from_name(name) {
        Some(Form::Part) => PossibleValue::new(name).alias(Form::JSON),
        _ => PossibleValue::new(name),
    });
    name_parser(names, Form::from_name)
}

fn level() -> impl TypedValueParser<Value = Severity> {
    name_parser(["error", "warning", "note"], |name| match name {
        "error" => Some(Severity::Error),
        "warning" => Some(Severity::Warning),
        "note" => Some(Severity::Repair),
        _ => None,
    })
}

/// Options that make a search a check: they say which files are checked, and how much may be found.
const SELECTION: [&str; 5] = [
    "files_from",
    "changed",
    "changed_lines",
    "files_without_match",
    "max",
];

/// Options that can't be combined with `--check` and those of [`SELECTION`].
const NOT_OF_CHECKS: [&str; 9] = [
    "form",
    "null",
    "id",
    "explain",
    "stream",
    "batch",
    "from",
    "propagate_status",
    "fail_on_match",
];

/// A format that CI reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CiFormat {
    Sarif,
    Junit,
    Github,
}

/// The options of `call_tool`. The comments are the help.
#[derive(Debug, Default, Parser)]
#[command(
    name = "call_tool",
    about = "Runs one call of a tool and prints its answer",
    long_about = None,
    version = crate::VERSION,
    max_term_width = 100,
    after_help = EXAMPLES,
    disable_help_flag = true,
    group(ArgGroup::new("reported").args(["report", "check"]).args(SELECTION).multiple(true)),
    group(ArgGroup::new("selection").args(SELECTION).multiple(true).conflicts_with_all(NOT_OF_CHECKS)),
    group(ArgGroup::new("changes").args(["history", "undo"])),
    // An argument that conflicts with NAME is not required where NAME is given; a group is.
    group(ArgGroup::new("checks").arg("check").args(SELECTION).multiple(true)),
    group(ArgGroup::new("list").arg("history")),
    group(ArgGroup::new("journal").args(["history", "undo", "prune_history"]).conflicts_with_all(CALLS)),
)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
pub(crate) struct CallToolOptions {
    /// The tool's name (see get_tools)
    #[arg(id = "NAME", required_unless_present_any = ["batch", "from", "help", "journal", "check"])]
    pub(crate) given_name: Option<String>,
    #[arg(skip)]
    pub(crate) name: String,
    /// KEY=VALUE, KEY=@FILE, KEY:=JSON or a bare value, instead of JSON on standard input
    #[arg(id = "ARGUMENT", num_args = 0..)]
    pub(crate) args: Option<Vec<OsString>>,
    /// Form of the answer [default: text on a terminal, else part]
    #[arg(long = "output", short = 'o', value_name = "FORM", value_parser = form())]
    pub(crate) form: Option<Form>,
    /// Print text, as --output text
    #[arg(short = 't', conflicts_with_all = ["form", "json"])]
    pub(crate) text: bool,
    /// Print the paths of what is found, each once and ended by NUL, for xargs -0
    #[arg(long, short = '0', conflicts_with_all = ["form", "text", "explain", "stream", "batch", "from", "report"])]
    pub(crate) null: bool,
    /// When to use colours
    #[arg(long = "color", value_name = "WHEN", value_parser = colours(), default_value = "auto")]
    pub(crate) colours: ColourChoice,
    /// The call's id, for functionResponse.id
    #[arg(long, value_name = "ID")]
    pub(crate) id: Option<String>,
    /// Ask on the terminal when the policy requires it [default: never ask]
    #[arg(long, value_name = "MODE", value_parser = approval_modes())]
    pub(crate) approval_mode: Option<ApprovalMode>,
    /// Policy file or directory to use instead of ~/.gemini/policies
    #[arg(long, value_name = "PATH", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) policy: Vec<String>,
    /// Say what the call would do, without doing it
    #[arg(long)]
    pub(crate) explain: bool,
    /// Refuse arguments in JSON that the tool does not know
    #[arg(long)]
    pub(crate) strict: bool,
    /// Print JSON lines: output while the tool runs, then the result
    #[arg(long, conflicts_with = "explain")]
    pub(crate) stream: bool,
    /// Read calls as JSON lines from standard input and answer each with a line
    #[arg(long, conflicts_with_all = ["NAME", "id"])]
    pub(crate) batch: bool,
    /// Read the call in another API's form, and answer in it
    #[arg(
        long,
        value_name = "DIALECT",
        value_parser = name_parser(["openai", "anthropic"], Dialect::from_name),
        conflicts_with_all = ["ARGUMENT", "id", "form", "text", "explain", "stream"],
    )]
    pub(crate) from: Option<Dialect>,
    /// Exit 1 if a search finds anything, 0 if not, 2 on failure
    #[arg(long, conflicts_with_all = ["batch", "from", "explain"])]
    pub(crate) fail_on_match: bool,
    /// Print what a search finds for CI; github: annotations of GitHub Actions
    #[arg(long = "format", value_name = "FORMAT", value_enum, conflicts_with_all = OTHER_ANSWERS)]
    pub(crate) report: Option<CiFormat>,
    /// Check files by the rules of these TOML files, all in one walk
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with_all = NOT_OF_CHECKS)]
    #[arg(conflicts_with_all = ["NAME", "strict", "rule_id"])]
    pub(crate) check: Vec<PathBuf>,
    /// Check only these files: a list by lines or NULs, - for standard input
    #[arg(long, value_name = "FILE|-", conflicts_with_all = ["changed", "changed_lines"])]
    pub(crate) files_from: Option<PathBuf>,
    /// Check only the files that differ from where HEAD left this commit or branch
    #[arg(
        long,
        value_name = "BASE",
        conflicts_with = "changed_lines",
        value_parser = NonEmptyStringValueParser::new()
    )]
    pub(crate) changed: Option<String>,
    /// Check only these files, and only the lines that were added
    #[arg(long, value_name = "BASE", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) changed_lines: Option<String>,
    /// Find the files that a search does not match
    #[arg(long, conflicts_with_all = ["check", "max"])]
    pub(crate) files_without_match: bool,
    /// Matches that a search may have before it fails
    #[arg(long, value_name = "N", conflicts_with = "check")]
    pub(crate) max: Option<u64>,
    /// With --check: lowest level that fails [default: error]
    #[arg(long, value_name = "LEVEL", requires = "checks", value_parser = level())]
    pub(crate) fail_level: Option<Severity>,
    /// With --check: file with known findings, which don't count
    #[arg(long, value_name = "FILE", requires = "checks")]
    pub(crate) baseline: Option<PathBuf>,
    /// Write the baseline, or take out of it what is gone
    #[arg(long, requires = "checks", conflicts_with_all = ["report", "selection"])]
    pub(crate) update_baseline: bool,
    /// Name of the broken rule in a report [default: the tool's name]
    #[arg(long, value_name = "ID", requires = "reported")]
    pub(crate) rule_id: Option<String>,
    /// Message for each match in a report, with the text that was found below it or for {text} [default: that text]
    #[arg(
        long,
        value_name = "TEXT",
        requires = "reported",
        conflicts_with = "check"
    )]
    pub(crate) message: Option<String>,
    /// Severity of a match in a report [default: error]
    #[arg(long, value_name = "LEVEL", requires = "reported", conflicts_with = "check", value_parser = level())]
    pub(crate) level: Option<Severity>,
    /// Work in this directory instead of the current one
    #[arg(long = "root", value_name = "DIR")]
    pub(crate) roots: Vec<PathBuf>,
    /// End with the command's own exit status; 125 is a failure of call_tool
    #[arg(long, conflicts_with_all = ["batch", "from", "explain", "fail_on_match", "report"])]
    pub(crate) propagate_status: bool,
    /// Print help, about the tool where one is named
    #[arg(long, short = 'h')]
    pub(crate) help: bool,
    /// List what tools have changed in this project, or below PATH, newest first
    #[arg(long, value_name = "PATH", num_args = 0..=1)]
    #[expect(clippy::option_option, reason = "clap reads an optional value so")]
    pub(crate) history: Option<Option<OsString>>,
    /// Undo the latest change (of PATH), or those with these IDs; --explain previews
    #[arg(long, value_name = "PATH|ID", num_args = 0.., action = ArgAction::Set)]
    pub(crate) undo: Option<Vec<OsString>>,
    /// With --history or --undo: only changes of the last 10m, 2h, 3d, ...
    #[arg(long, value_name = "SPAN", value_parser = span, requires = "changes")]
    pub(crate) since: Option<u64>,
    /// With --history or --undo: only changes of this session
    #[arg(long, value_name = "ID", requires = "changes")]
    pub(crate) session: Option<String>,
    /// With --history or --undo: print JSON lines
    #[arg(long, requires = "changes")]
    pub(crate) json: bool,
    /// With --history: list the changes in all projects
    #[arg(long, requires = "list", conflicts_with = "undo")]
    pub(crate) all: bool,
    /// Trim the journal now (normally automatic)
    #[arg(long)]
    pub(crate) prune_history: bool,
}

/// Returns the command line of the program.
pub fn command() -> clap::Command {
    CallToolOptions::command()
}
