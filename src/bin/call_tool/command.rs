//! The command line of `call_tool`, for clap; `options` reads it.

use clap::builder::PossibleValue;
use clap::{Arg, ArgAction, ArgGroup, Command};
use gemini_tools::answer::Form;
use gemini_tools::colours::ColourChoice;
use gemini_tools::tool::ApprovalMode;
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
  call_tool search_file_content TODO --fail-on-match --sarif
  call_tool search_file_content TODO --format github --level warning
  call_tool --history src          what tools have changed
  call_tool --undo --since 10m     takes it back

Your own tools are in ~/.gemini/tools and, in a trusted project, in .gemini/tools; get_tools lint checks them.

Exit status: 0 done, 1 the tool failed, 2 unknown tool, unusable arguments or call, 3 refused by policy, 124 out of \
time, 130 and 143 interrupted. With --fail-on-match, as a check: 0 nothing found, 1 something found, 2 and above not \
searched. With --propagate-status: the command's own, 128 and more by a signal, 125 where call_tool failed.

Environment: GEMINI_TOOLS_OUTPUT (as --output), GEMINI_TOOLS_SESSION (for --history), GEMINI_TOOLS_ROOTS (more directories to work in, separated by \
colons), GEMINI_TOOLS_TIMEOUT (seconds), GEMINI_TOOLS_SHELL_TIMEOUT and GEMINI_TOOLS_SHELL_IDLE_TIMEOUT (seconds, \
for commands), GEMINI_TOOLS_SANDBOX (off, read-only, workspace-write), GEMINI_TOOLS_POLICY (as --policy, separated \
by colons), GEMINI_TOOLS_MODEL, GEMINI_TOOLS_FETCH_ALLOW (hosts for web_fetch that are not public), GEMINI_TOOLS_DNS \
(name servers), GEMINI_API_KEY and the other credentials of Gemini CLI, https_proxy and no_proxy, GEMINI_CLI_HOME \
(instead of the home directory), NO_COLOR and CLICOLOR_FORCE. The manual page says more.";

fn flag(id: &'static str, help: &'static str) -> Arg {
    Arg::new(id).long(id).action(ArgAction::SetTrue).help(help)
}

/// The option by which what is over the limits is removed from the journal.
pub(crate) const PRUNE: &str = "prune-history";

/// A span such as `10m`, in milliseconds.
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

/// Options of a call, which the options for the journal exclude.
const CALLS: [&str; 15] = [
    "NAME",
    "batch",
    "from",
    "output",
    "text",
    "null",
    "id",
    "strict",
    "stream",
    "fail-on-match",
    "sarif",
    "junit",
    "format",
    "propagate-status",
    "ARGUMENT",
];

/// Returns the forms of an answer; `json` is another name of the first.
fn forms() -> [PossibleValue; Form::NAMES.len()] {
    Form::NAMES.map(|name| match Form::from_name(name) {
        Some(Form::Part) => PossibleValue::new(name).alias(Form::JSON),
        _ => PossibleValue::new(name),
    })
}

/// The command line of `call_tool`.
pub(crate) fn command() -> Command {
    let command = Command::new("call_tool")
        .version(gemini_tools::VERSION)
        .about("Runs one call of a tool and prints its answer")
        .max_term_width(100)
        .after_help(EXAMPLES)
        .disable_help_flag(true)
        .arg(
            Arg::new("NAME")
                .required_unless_present_any(["batch", "from", "help", "history", "undo", PRUNE])
                .help("The tool's name (see get_tools)"),
        )
        .arg(Arg::new("ARGUMENT").num_args(0..).help(
            "KEY=VALUE, KEY=@FILE, KEY:=JSON or a bare value, instead of JSON on standard input",
        ))
        .arg(
            Arg::new("output")
                .long("output")
                .short('o')
                .value_name("FORM")
                .value_parser(forms())
                .help("Form of the answer [default: text on a terminal, else part]"),
        )
        .arg(
            Arg::new("text")
                .short('t')
                .action(ArgAction::SetTrue)
                .conflicts_with("output")
                .help("Print text, as --output text"),
        )
        .arg(
            flag(
                "null",
                "Print the paths of what is found, each once and ended by NUL, for xargs -0",
            )
            .short('0')
            .conflicts_with_all([
                "output", "text", "explain", "stream", "batch", "from", "report",
            ]),
        )
        .arg(
            Arg::new("color")
                .long("color")
                .value_name("WHEN")
                .value_parser(ColourChoice::NAMES)
                .help("When to use colours [default: auto]"),
        )
        .arg(
            Arg::new("id")
                .long("id")
                .value_name("ID")
                .help("The call's id, for functionResponse.id"),
        )
        .arg(
            Arg::new("approval-mode")
                .long("approval-mode")
                .value_name("MODE")
                .value_parser(ApprovalMode::NAMES)
                .help("Ask on the terminal when the policy requires it [default: never ask]"),
        )
        .arg(
            Arg::new("policy")
                .long("policy")
                .value_name("PATH")
                .action(ArgAction::Append)
                .help("Policy file or directory to use instead of ~/.gemini/policies"),
        )
        .arg(flag(
            "explain",
            "Say what the call would do, without doing it",
        ))
        .arg(flag(
            "strict",
            "Refuse arguments in JSON that the tool does not know",
        ))
        .arg(
            flag(
                "stream",
                "Print JSON lines: output while the tool runs, then the result",
            )
            .conflicts_with("explain"),
        )
        .arg(
            flag(
                "batch",
                "Read calls as JSON lines from standard input and answer each with a line",
            )
            .conflicts_with_all(["NAME", "id"]),
        )
        .arg(
            Arg::new("from")
                .long("from")
                .value_name("DIALECT")
                .value_parser(["openai", "anthropic"])
                .conflicts_with_all(["ARGUMENT", "id", "output", "text", "explain", "stream"])
                .help("Read the call in another API's form, and answer in it"),
        );
    with_reports(command)
}

/// Adds what makes a search a check for CI.
fn with_reports(command: Command) -> Command {
    let command = command
        .arg(
            flag(
                "fail-on-match",
                "Exit 1 if a search finds anything, 0 if not, 2 on failure",
            )
            .conflicts_with_all(["batch", "from", "explain"]),
        )
        .arg(
            flag("sarif", "Print what a search finds as SARIF 2.1.0, for CI")
                .conflicts_with_all(["batch", "from", "explain", "output", "text", "stream", "id"]),
        )
        .arg(
            flag("junit", "Print what a search finds as JUnit XML, for CI").conflicts_with_all([
                "batch", "from", "explain", "output", "text", "stream", "id", "sarif",
            ]),
        )
        .arg(
            Arg::new("format")
                .long("format")
                .value_name("FORMAT")
                .value_parser(["sarif", "junit", "github"])
                .conflicts_with_all([
                    "batch", "from", "explain", "output", "text", "stream", "id", "sarif", "junit",
                ])
                .help("Print what a search finds for CI; github: annotations of GitHub Actions"),
        )
        .group(ArgGroup::new("report").args(["sarif", "junit", "format"]))
        .args(words_of_reports())
        .args(place_and_status());
    with_journal(command)
}

/// Returns the options for the texts of a report.
fn words_of_reports() -> [Arg; 3] {
    let arg = |id: &'static str, value: &'static str, help: &'static str| {
        let arg = Arg::new(id).long(id).value_name(value);
        arg.requires("report").help(help)
    };
    [
        arg(
            "rule-id",
            "ID",
            "Name of the broken rule in a report [default: the tool's name]",
        ),
        arg(
            "message",
            "TEXT",
            "Message for each match in a report [default: the text that was found]",
        ),
        arg(
            "level",
            "LEVEL",
            "Severity of a match in a report [default: error]",
        )
        .value_parser(["error", "warning", "note"]),
    ]
}

/// Returns the options for the working directory, the exit status, and help.
fn place_and_status() -> [Arg; 3] {
    [
        Arg::new("root")
            .long("root")
            .value_name("DIR")
            .action(ArgAction::Append)
            .value_parser(clap::value_parser!(PathBuf))
            .help("Work in this directory instead of the current one"),
        flag(
            "propagate-status",
            "End with the command's own exit status; 125 is a failure of call_tool",
        )
        .conflicts_with_all([
            "batch",
            "from",
            "explain",
            "fail-on-match",
            "sarif",
            "junit",
            "format",
        ]),
        flag("help", "Print help, about the tool where one is named").short('h'),
    ]
}

/// Adds what there is instead of calls: listing and taking back what they have changed.
fn with_journal(command: Command) -> Command {
    command
        .arg(
            Arg::new("history")
                .long("history")
                .value_name("PATH")
                .num_args(0..=1)
                .conflicts_with_all(CALLS)
                .help("List what tools have changed in this project, or below PATH, newest first"),
        )
        .arg(
            Arg::new("undo")
                .long("undo")
                .value_name("PATH|ID")
                .num_args(0..)
                .conflicts_with_all(CALLS)
                .conflicts_with("history")
                .help(
                    "Undo the latest change (of PATH), or those with these IDs; --explain previews",
                ),
        )
        .arg(
            Arg::new("since")
                .long("since")
                .value_name("SPAN")
                .value_parser(span)
                .requires("journal")
                .conflicts_with_all(CALLS)
                .help("With --history or --undo: only changes of the last 10m, 2h, 3d, ..."),
        )
        .arg(
            Arg::new("session")
                .long("session")
                .value_name("ID")
                .requires("journal")
                .conflicts_with_all(CALLS)
                .help("With --history or --undo: only changes of this session"),
        )
        .arg(
            flag("json", "With --history or --undo: print JSON lines")
                .requires("journal")
                .conflicts_with_all(CALLS),
        )
        .arg(
            flag("all", "With --history: list the changes in all projects")
                .requires("history")
                .conflicts_with("undo")
                .conflicts_with_all(CALLS),
        )
        .arg(
            flag(PRUNE, "Trim the journal now (normally automatic)")
                .conflicts_with_all(CALLS)
                .conflicts_with("journal"),
        )
        .group(ArgGroup::new("journal").args(["history", "undo"]))
}
