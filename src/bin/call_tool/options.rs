//! The command line of `call_tool`.

use crate::input::read_input;
use crate::print::{complain, print};
use clap::{Arg, ArgAction, ArgMatches, Command};
use gemini_tools::answer::{Answer, Form};
use gemini_tools::session::Rules;
use gemini_tools::tool::{ApprovalMode, Cancellation, ToolError};
use std::io::IsTerminal;

const EXAMPLES: &str = "\
Arguments are one JSON object on standard input, or KEY=VALUE (a string) and
KEY:=JSON after the name; with those, standard input is not read.

Examples:
  echo '{\"path\":\"src\"}' | call_tool list_directory
  call_tool glob pattern='**/*.rs' --output text
  call_tool read_file absolute_path=README.md limit:=20 --output text
  call_tool search_file_content pattern='TODO|FIXME' include='*.rs' | jq -r .functionResponse.response.output
  call_tool replace file_path=a.txt old_string=one new_string=two --explain
  call_tool web_fetch url=https://www.rust-lang.org/ --output text
  call_tool run_shell_command command='make test' timeout:=600 --output text
  call_tool github__get_issue number:=7       a tool of an MCP server
  call_tool --batch < calls.jsonl

Your own tools stand in ~/.gemini/tools and, in a trusted project, in
.gemini/tools; get_tools lint checks them.

Exit status: 0 done, 1 the tool failed, 2 unknown tool or unusable arguments,
3 refused by policy, 124 out of time, 130 and 143 interrupted.

Environment: GEMINI_TOOLS_OUTPUT (as --output), GEMINI_TOOLS_ROOTS (more
directories to work in, separated by colons), GEMINI_TOOLS_TIMEOUT (seconds),
GEMINI_TOOLS_SHELL_TIMEOUT and GEMINI_TOOLS_SHELL_IDLE_TIMEOUT (seconds, for
commands), GEMINI_TOOLS_SANDBOX (off, read-only, workspace-write),
GEMINI_TOOLS_POLICY (as --policy, separated by colons),
GEMINI_TOOLS_MODEL, GEMINI_TOOLS_FETCH_ALLOW (hosts for web_fetch that are not
public), GEMINI_TOOLS_DNS (name servers), GEMINI_API_KEY and the other
credentials of Gemini CLI, https_proxy and no_proxy, GEMINI_CLI_HOME (instead
of the home directory). The manual page says more.";

/// What the command line says.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
#[derive(Default)]
pub(crate) struct Options {
    pub(crate) name: String,
    /// `None` where they come on standard input.
    pub(crate) args: Option<Vec<String>>,
    pub(crate) id: Option<String>,
    /// Which form was asked for, by argument or environment.
    pub(crate) form: Option<Form>,
    pub(crate) explain: bool,
    pub(crate) strict: bool,
    /// Whether to print output while the tool runs.
    pub(crate) stream: bool,
    /// Whether calls come as JSON lines.
    pub(crate) batch: bool,
    /// What calls are judged by.
    pub(crate) rules: Rules,
}

/// Reads the command line and the environment; `Err` is the status to exit with.
pub(crate) fn options() -> Result<Options, u8> {
    let mut options = Options::default();
    let mut words = std::env::args_os().skip(1);
    let plain = match (words.next(), words.next()) {
        (Some(name), None) => name
            .into_string()
            .ok()
            .filter(|name| !name.starts_with('-')),
        _ => None,
    };
    match plain {
        // The host gives the name and nothing else: then nothing is parsed.
        Some(name) => options.name = name,
        None => options.take(&parse()?),
    }
    if let Ok(name) = std::env::var("GEMINI_TOOLS_OUTPUT")
        && options.form.is_none()
        && !name.is_empty()
    {
        options.form = Some(Form::from_name(&name).ok_or_else(|| {
            usage_error(
                &options.name,
                &format!(
                    "GEMINI_TOOLS_OUTPUT is {name:?}; it must be one of {}.",
                    Form::NAMES.join(", ")
                ),
            )
        })?);
    }
    Ok(options)
}

impl Options {
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
        if let Some(form) = text("output") {
            self.form = Form::from_name(&form);
        }
    }
}

fn parse() -> Result<ArgMatches, u8> {
    let flag = |id: &'static str, help: &'static str| {
        Arg::new(id).long(id).action(ArgAction::SetTrue).help(help)
    };
    Command::new("call_tool")
        .version(env!("CARGO_PKG_VERSION"))
        .about("Runs one call of a tool and prints its answer as JSON")
        .after_help(EXAMPLES)
        .arg(
            Arg::new("NAME")
                .required_unless_present("batch")
                .help("The tool's name (see get_tools)"),
        )
        .arg(
            Arg::new("ARGUMENT")
                .num_args(0..)
                .help("KEY=VALUE or KEY:=JSON, instead of standard input"),
        )
        .arg(
            Arg::new("output")
                .long("output")
                .short('o')
                .value_name("FORM")
                .value_parser(Form::NAMES)
                .help("Which form of the answer to print [default: part]"),
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
                .help(
                    "Ask on the terminal where the policy wants it [default: the host has asked]",
                ),
        )
        .arg(
            Arg::new("policy")
                .long("policy")
                .value_name("PATH")
                .action(ArgAction::Append)
                .help("A policy file, or a directory of such, instead of ~/.gemini/policies"),
        )
        .arg(flag(
            "explain",
            "Say what the call would do, without doing it",
        ))
        .arg(flag(
            "strict",
            "Refuse arguments that the tool does not know",
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
        .try_get_matches()
        .map_err(|e| {
            if e.use_stderr() {
                let text = e.to_string();
                let reason = text.trim_start_matches("error: ").trim_end();
                usage_error("", reason)
            } else {
                // Where standard output is gone, nobody reads it.
                let _ = e.print();
                0
            }
        })
}

/// Answers a command line that can't be used. For a person on a terminal that is a message;
/// a program gets it in the same form as every other failure.
pub(crate) fn usage_error(name: &str, reason: &str) -> u8 {
    if std::io::stdout().is_terminal() {
        complain(&format!("call_tool: {reason}"));
        return 2;
    }
    // The host would fail if its write to us did.
    let _ = read_input(&Cancellation::default());
    let answer = Answer {
        name,
        id: None,
        outcome: Err(ToolError::invalid(reason)),
    };
    print(&answer.to_json(Form::Part), 2)
}
