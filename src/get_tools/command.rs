//! The command line of `get_tools`, as clap types. The module `options` parses it.

#![expect(
    clippy::doc_markdown,
    reason = "the comments of options are their help"
)]

use crate::start::colours;
use clap::builder::{NonEmptyStringValueParser, PossibleValuesParser};
use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};
use gemini_tools::colours::ColourChoice;
use gemini_tools::hosts::Host;
use std::ffi::OsString;
use std::path::PathBuf;

pub(crate) const FORMATS: [&str; 7] = [
    "gemini",
    "openai",
    "openai-responses",
    "anthropic",
    "markdown",
    "list",
    "names",
];

const EXAMPLES: &str = "\
Examples:
  get_tools                       on a terminal: a list
  get_tools | jq length           in a pipe: the JSON
  get_tools --pretty              the JSON, indented
  get_tools --format names        the names only
  get_tools --only 'read_*,glob'  some of the tools
  get_tools --exclude write_file  all but one
  get_tools --wrap                in a Gemini API request
  get_tools --format openai       for OpenAI's API
  get_tools --mcp                 with MCP servers' tools
  get_tools --refresh             asks servers again
  get_tools show read_file        help for one tool

Without options a file or a pipe gets what Gemini CLI's tools.discoveryCommand reads, and a terminal a list. Tools that .gemini/settings.json \
excludes (tools.core, tools.exclude) are left out. Your own tools are in ~/.gemini/tools and, in a trusted project, \
in .gemini/tools.";

const LINT_EXAMPLES: &str = "\
Examples:
  get_tools lint                         your own tools
  get_tools lint tools/ a.toml b.py      files, directories
  get_tools lint tools.json              declarations
  get_tools lint --format github tools/  for GitHub Actions
  my_discovery_command | get_tools lint -

Declarations are those that a discovery command of Gemini CLI prints. Nothing of a project that is not trusted is run, \
and its files are checked all the same.

Exit status: 0 no errors, 1 errors, 2 unusable arguments or an unreadable file.";

const DOCTOR_EXAMPLES: &str = "\
Examples:
  get_tools doctor
  get_tools doctor --host claude
  get_tools doctor --json | jq '.findings[].code'

The commands may be any programs. Discovery is run; the call command is asked for a tool that does not exist, and where \
our tools are declared, to list the current directory. Commands of a project that is not trusted are not run. Your own \
tools and MCP servers are checked by get_tools lint.

Exit status: 0 no errors (there may be warnings), 1 errors, 2 unusable arguments.";

const INIT_EXAMPLES: &str = "\
Examples:
  get_tools init                 shows the changes and asks
  get_tools init --yes           changes without asking
  get_tools init --user          for all of your projects
  get_tools init --undo          takes it back
  get_tools init --host claude   sets Claude Code up
  get_tools init --skill         with a skill for the model

The changes for Gemini CLI, without --trust the first two:
  .gemini/settings.json          the two commands
  ~/.gemini/policies             rules for headless calls
  ~/.gemini/trustedFolders.json  the project (--trust)

The commands are named without their directory if that is on the PATH. By the rules Gemini CLI 0.61 lets a model call \
these tools without a terminal. In Plan mode they allow only what reads. Comments and the order of settings \
stay. Commands of another program that were there are replaced; the message says how to keep them as a pair.

Other hosts get an entry for serve_tools in their own settings, by which no call is approved. --undo leaves what you or \
the host have changed since.

Exit status: 0 done, 1 not, 2 unusable arguments, or no user to ask.";

const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  source <(get_tools completions bash)    in ~/.bashrc
  source <(get_tools completions zsh)     in ~/.zshrc
  get_tools completions fish | source     in config.fish
  get_tools completions zsh call_tool > ~/.zfunc/_call_tool

In ~/.zshrc the line stands after compinit. The file for fish is ~/.config/fish/config.fish.";

const TRUST_EXAMPLES: &str = "\
A project's own tools, servers and commands run as you. They count once you have said so here, and until one of the \
files that were shown changes: then ask again. Programs that those files start are not watched. Folders that Gemini \
CLI trusts (~/.gemini/trustedFolders.json) and GEMINI_CLI_TRUST_WORKSPACE=true count as well, and without such a \
condition; DO_NOT_TRUST in that file counts before the variable.

Exit status: 0 done (--status: trusted), 1 not (--status: not trusted), 2 unusable arguments, or no user to ask.";

const SERVE_EXAMPLES: &str = "\
Examples:
  npx gemini-tools serve
  claude mcp add gemini-tools -- npx -y gemini-tools serve

All that follows goes to serve_tools: get_tools serve --help prints its help.";

fn host_names() -> PossibleValuesParser {
    PossibleValuesParser::new(Host::names())
}

/// The options of `get_tools`. The comments are the help.
#[derive(Debug, Default, Parser)]
#[command(
    name = "get_tools",
    about = "Lists all tools, or prints their declarations as a JSON array",
    long_about = None,
    version = crate::VERSION,
    max_term_width = 100,
    after_help = EXAMPLES,
    args_conflicts_with_subcommands = true,
    disable_help_subcommand = true,
)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
pub(crate) struct GetToolsOptions {
    /// Indent the JSON
    #[arg(long)]
    pub(crate) pretty: bool,
    /// Wrap the declarations as a request has them: [{"functionDeclarations":[…]}]
    #[arg(long)]
    pub(crate) wrap: bool,
    /// Form of the declarations [default: list on a terminal, else gemini]
    #[arg(long, value_name = "FORMAT", value_parser = FORMATS)]
    pub(crate) format: Option<String>,
    /// When to use colours
    #[arg(long = "color", value_name = "WHEN", value_parser = colours(), default_value = "auto")]
    pub(crate) colours: ColourChoice,
    /// Add each tool's kind (read, edit, execute, …), for hosts that decide by it
    #[arg(long)]
    pub(crate) kinds: bool,
    /// Add the tools of the MCP servers in the settings (or GEMINI_TOOLS_MCP=1)
    #[arg(long)]
    pub(crate) mcp: bool,
    /// As --mcp, but ask all servers and pairs again, and accept what they declare now
    #[arg(long)]
    pub(crate) refresh: bool,
    /// Say on standard error what was left out and why, as on a terminal
    #[arg(long)]
    pub(crate) notes: bool,
    /// Only tools whose names match (globs, separated by commas)
    #[arg(long, value_name = "GLOBS", value_delimiter = ',')]
    pub(crate) only: Option<Vec<String>>,
    /// No tools whose names match (globs, separated by commas)
    #[arg(long, value_name = "GLOBS", value_delimiter = ',')]
    pub(crate) exclude: Option<Vec<String>>,
    /// Print the licences of all that is linked into the executables
    #[arg(long, exclusive = true)]
    pub(crate) licenses: bool,
    #[command(subcommand)]
    pub(crate) task: Option<Subtask>,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub(crate) enum Subtask {
    /// Prints the settings and policy files in force, and what is left out
    Config {
        /// Print JSON
        #[arg(long)]
        json: bool,
        /// Policy file or directory to use instead of ~/.gemini/policies
        #[arg(long, value_name = "PATH", value_parser = NonEmptyStringValueParser::new())]
        policy: Vec<String>,
    },
    /// Shows what a tool does, what it takes, how to call it, and its errors
    Show {
        /// The tool's name, as call_tool takes it
        #[arg(id = "NAME")]
        name: String,
    },
    Lint(LintOptions),
    Trust(TrustOptions),
    Init(InitOptions),
    Doctor(DoctorOptions),
    /// Starts serve_tools, the MCP server, with these arguments
    #[command(after_help = SERVE_EXAMPLES, disable_help_flag = true)]
    Serve {
        /// Options of serve_tools
        #[arg(id = "ARGUMENT", trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Prints completions for a shell
    #[command(after_help = COMPLETIONS_EXAMPLES)]
    Completions {
        /// Shell to print them for
        #[arg(id = "SHELL", value_parser = ["bash", "zsh", "fish"])]
        shell: String,
        /// For this command only
        #[arg(id = "COMMAND")]
        command: Option<String>,
    },
}

/// Checks your own tools and those of MCP servers, or files
#[derive(Debug, Args)]
#[command(after_help = LINT_EXAMPLES)]
pub(crate) struct LintOptions {
    /// Manifests, scripts, directories, or what a discovery command prints, to check instead; - for standard input
    #[arg(id = "FILE", num_args = 0..)]
    pub(crate) files: Vec<PathBuf>,
    /// Form of the findings
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) format: LintFormat,
    /// Print each finding as a line of JSON
    #[arg(long, conflicts_with = "format")]
    pub(crate) json: bool,
    /// Start MCP servers whose declarations are not cached
    #[arg(long, conflicts_with = "FILE")]
    pub(crate) mcp: bool,
    /// Ask all MCP servers again, and accept what they declare now
    #[arg(long, conflicts_with = "FILE")]
    pub(crate) refresh: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LintFormat {
    Text,
    Json,
    Sarif,
    Junit,
    Github,
}

/// Reviews and trusts the project's own tools and commands
#[derive(Debug, Args)]
#[command(after_help = TRUST_EXAMPLES)]
#[group(multiple = false)]
pub(crate) struct TrustOptions {
    /// Don't ask
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// Say whether the project is trusted, and why
    #[arg(long)]
    pub(crate) status: bool,
    /// List the directories that were trusted here
    #[arg(long)]
    pub(crate) list: bool,
    /// Take trust back [default: the current directory]
    #[arg(long, value_name = "DIR", num_args = 0..=1, default_missing_value = ".")]
    pub(crate) remove: Option<PathBuf>,
}

/// Sets up Gemini CLI, or another host
#[derive(Debug, Args)]
#[command(after_help = INIT_EXAMPLES)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
pub(crate) struct InitOptions {
    /// The host to set up [default: gemini]
    #[arg(long, value_name = "NAME", value_parser = host_names())]
    pub(crate) host: Option<String>,
    /// Change your own settings, for all projects
    #[arg(long, conflicts_with = "project")]
    pub(crate) user: bool,
    /// Change the project's settings [default where the host reads these at once]
    #[arg(long)]
    pub(crate) project: bool,
    /// Don't ask
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// Undo what init did here
    #[arg(long)]
    pub(crate) undo: bool,
    /// The tools that a model may call without a terminal [default: read-only]
    #[arg(
        long,
        value_name = "WHICH",
        value_parser = ["read-only", "all", "none"],
        conflicts_with = "undo",
    )]
    pub(crate) allow: Option<String>,
    /// Trust the project as well, if it brings nothing else that runs
    #[arg(long, conflicts_with_all = ["undo", "user"])]
    pub(crate) trust: bool,
    /// Write a skill, from which models learn to use the tools, where the host reads it
    #[arg(long, conflicts_with = "undo")]
    pub(crate) skill: bool,
}

/// Tries what the settings name as the host would, and says what is wrong
#[derive(Debug, Args)]
#[command(after_help = DOCTOR_EXAMPLES)]
pub(crate) struct DoctorOptions {
    /// The host to check [default: all that are set up]
    #[arg(long, value_name = "NAME", value_parser = host_names())]
    pub(crate) host: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Returns the command line of the program.
pub fn command() -> clap::Command {
    GetToolsOptions::command()
}
