//! The command line of `run_agent`.

#![expect(
    clippy::doc_markdown,
    reason = "the comments of options are their help"
)]

use crate::start::approval_modes;
use clap::{CommandFactory, Parser, ValueEnum};
use gemini_tools::tool::ApprovalMode;
use std::path::PathBuf;
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  run_agent 'What does this project do?'
  git diff | run_agent -p 'Review this diff' -o json | jq -r .response
  run_agent -p 'Fix the typo in @README.md' --approval-mode auto_edit
  run_agent -p 'Run the tests' --allowed-tools 'run_shell_command(make)'
  run_agent --discovery-command ./list --call-command ./call 'Go'
  run_agent --session s.jsonl 'Begin'
  run_agent --resume s.jsonl 'Go on'
  run_agent --continue 'And now the tests'
  run_agent --record run.yaml 'What does this project do?'
  run_agent --model-script run.yaml

The tools are the built-in ones, by get_tools and call_tool beside this executable, those of the MCP servers in the \
settings, and those of a pair of commands that the options or the settings name (tools.discoveryCommand, \
tools.callCommand). What a project's settings name counts with --trust.

Exit status: 0 done, 1 failed, 3 done, but calls were refused (with --fail-on-refusal), 4 a model script differs, 42 prompt, option or setting \
that can't be used, or no credential, 53 out of turns, 124 out of time, 129, 130 and 143 interrupted.

Environment: GEMINI_API_KEY and the other credentials of Gemini CLI, GEMINI_MODEL, GEMINI_SYSTEM_MD, \
GEMINI_WRITE_SYSTEM_MD, GEMINI_TOOLS_SANDBOX, GEMINI_CLI_TRUST_WORKSPACE (as --trust), GEMINI_TELEMETRY_OUTFILE, \
GEMINI_TELEMETRY_LOG_PROMPTS, and those of call_tool. The manual page says more.";

fn seconds(text: &str) -> Result<Duration, &'static str> {
    let secs = text.parse().unwrap_or_default();
    match Duration::try_from_secs_f64(secs) {
        Ok(limit) if !limit.is_zero() => Ok(limit),
        _ => Err("a number of seconds above 0 is wanted"),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    Text,
    Json,
    StreamJson,
}

/// The options of `run_agent`. The comments are the help.
#[derive(Debug, Parser)]
#[command(
    name = "run_agent",
    about = "Runs a Gemini model on a prompt, with tools",
    long_about = None,
    version = crate::VERSION,
    max_term_width = 100,
    after_help = EXAMPLES,
)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
pub(crate) struct RunAgentOptions {
    /// The prompt; text piped to standard input comes before it
    #[arg(id = "PROMPT")]
    pub(crate) words: Vec<String>,
    /// The same as PROMPT
    #[arg(long, short, value_name = "TEXT")]
    pub(crate) prompt: Option<String>,
    /// The model to ask [default: gemini-2.5-pro]
    #[arg(long, short, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// Which calls need the user's approval [default: default]
    #[arg(long, value_name = "MODE", value_parser = approval_modes())]
    pub(crate) approval_mode: Option<ApprovalMode>,
    /// As --approval-mode yolo: nothing asks
    #[arg(long, short)]
    pub(crate) yolo: bool,
    /// Tools that need no approval, such as replace or 'run_shell_command(git)'
    #[arg(long = "allowed-tools", value_name = "TOOLS", value_delimiter = ',')]
    pub(crate) allowed: Vec<String>,
    /// End with status 3 if the rules refused a call, or no user could approve it
    #[arg(long)]
    pub(crate) fail_on_refusal: bool,
    /// Policy files or directories to use instead of ~/.gemini/policies
    #[arg(long, value_name = "PATHS", value_delimiter = ',')]
    pub(crate) policy: Vec<PathBuf>,
    /// Prints the declarations of the tools
    #[arg(long = "discovery-command", value_name = "LINE", requires = "call")]
    pub(crate) discovery: Option<String>,
    /// Runs a call: its name as argument, its arguments on standard input
    #[arg(long = "call-command", value_name = "PATH", requires = "discovery")]
    pub(crate) call: Option<String>,
    /// Use the tools of the discovery command alone, without the built-in ones
    #[arg(long)]
    pub(crate) only_discovered: bool,
    /// Ignore the MCP servers in the settings
    #[arg(long)]
    pub(crate) no_mcp: bool,
    /// Let the project's settings name commands, allow tools and weaken the sandbox
    #[arg(long)]
    pub(crate) trust: bool,
    /// Record the run as a model script: the model's turns, and what the tools answered
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
    /// Play turns of a file, or - for standard input, in the model's place, as YAML or JSON; the tools run
    #[arg(long, value_name = "FILE", conflicts_with_all = ["resume", "continues"])]
    pub(crate) model_script: Option<PathBuf>,
    /// End the session after so many turns of the model
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_turns: Option<u32>,
    /// End the session after so many seconds
    #[arg(long, value_name = "SECS", value_parser = seconds)]
    pub(crate) time_limit: Option<Duration>,
    /// Form of the output
    #[arg(
        long = "output-format",
        short = 'o',
        value_name = "FORMAT",
        default_value = "text"
    )]
    pub(crate) format: OutputFormat,
    /// Keep the session in this file
    #[arg(long, value_name = "FILE", conflicts_with = "resume")]
    pub(crate) session: Option<PathBuf>,
    /// Go on with the session in this file
    #[arg(long, value_name = "FILE")]
    pub(crate) resume: Option<PathBuf>,
    /// Go on with the newest session of this directory
    #[arg(long = "continue", short = 'c', conflicts_with_all = ["session", "resume"])]
    pub(crate) continues: bool,
    /// Keep no session; without this, each is kept for a week below ~/.gemini/tmp
    #[arg(long, conflicts_with_all = ["session", "resume", "continues"])]
    pub(crate) no_session: bool,
    /// Write the session as an HTML page
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
    /// Sandbox for shell commands [default: workspace-write]
    #[arg(long, value_name = "MODE", value_parser = ["off", "read-only", "workspace-write"])]
    pub(crate) sandbox: Option<String>,
    /// More directories for tools to work in
    #[arg(
        long = "include-directories",
        value_name = "DIRS",
        value_delimiter = ','
    )]
    pub(crate) include: Vec<PathBuf>,
}

impl RunAgentOptions {
    pub(crate) fn written_prompt(&self) -> String {
        let words = self.words.join(" ");
        let parts = self.prompt.iter().chain(Some(&words));
        let parts = parts.filter(|part| !part.is_empty()).cloned();
        parts.collect::<Vec<_>>().join("\n\n")
    }

    pub(crate) fn approval(&self) -> ApprovalMode {
        let yolo = self.yolo.then_some(ApprovalMode::Yolo);
        yolo.or(self.approval_mode).unwrap_or_default()
    }
}

/// Returns the command line of the program.
#[must_use]
pub fn command() -> clap::Command {
    RunAgentOptions::command()
}
