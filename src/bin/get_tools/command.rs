//! The command line of `get_tools`, for clap; `options` reads it.

use clap::{Arg, ArgAction, Command};
use gemini_tools::colours::ColourChoice;
use std::path::PathBuf;

/// Formats of declarations.
pub(crate) const FORMATS: [&str; 8] = [
    "gemini",
    "openai",
    "openai-responses",
    "anthropic",
    "markdown",
    "list",
    "table",
    "names",
];

const EXAMPLES: &str = "\
Examples:
  get_tools                       on a terminal: a list
  get_tools | jq length           in a pipe: the JSON
  get_tools --format table        with their parameters
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
  get_tools doctor --try 'weather={\"place\":\"Oslo\"}'
  get_tools doctor --mcp
  get_tools doctor --json | jq '.findings[].code'

The commands may be any programs. Discovery is run; the call command is asked for a tool that does not exist, and where \
our tools are declared, to list the current directory. Commands of a project that is not trusted are not run. What \
get_tools lint finds in your own tools is found here too.

Exit status: 0 no errors (there may be warnings), 1 errors, 2 unusable arguments.";

const INIT_EXAMPLES: &str = "\
Examples:
  get_tools init                 shows each change and asks
  get_tools init --yes           changes without asking
  get_tools init --user          for all of your projects
  get_tools init --undo          takes it back

The changes, of which --yes makes the first two:
  .gemini/settings.json          the two commands
  ~/.gemini/policies             rules for headless calls
  ~/.gemini/.env                 text (--output host)
  ~/.gemini/trustedFolders.json  the project (--trust)

The commands are named without their directory if that is on the PATH. By the rules Gemini CLI 0.61 lets a model call \
these tools without a terminal. In Plan mode they allow only what reads. Comments and the order of settings \
stay. Commands of another program that were there are still there, as a pair in .gemini/tools.

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

fn flag(id: &'static str, help: &'static str) -> Arg {
    Arg::new(id).long(id).action(ArgAction::SetTrue).help(help)
}

/// The command line of `get_tools`.
pub(crate) fn command() -> Command {
    let list = |id: &'static str, help: &'static str| {
        Arg::new(id)
            .long(id)
            .value_name("GLOBS")
            .value_delimiter(',')
            .action(ArgAction::Append)
            .help(help)
    };
    Command::new("get_tools")
        .version(gemini_tools::VERSION)
        .about("Lists all tools, or prints their declarations as a JSON array")
        .max_term_width(100)
        .after_help(EXAMPLES)
        .arg(flag("pretty", "Indent the JSON"))
        .arg(flag(
            "wrap",
            "Wrap the declarations as a request has them: [{\"functionDeclarations\":[…]}]",
        ))
        .arg(
            Arg::new("format")
                .long("format")
                .value_name("FORMAT")
                .value_parser(FORMATS)
                .help("Form of the declarations [default: list on a terminal, else gemini]"),
        )
        .arg(
            Arg::new("color")
                .long("color")
                .value_name("WHEN")
                .value_parser(ColourChoice::NAMES)
                .help("When to use colours [default: auto]"),
        )
        .arg(flag(
            "kinds",
            "Add each tool's kind (read, edit, execute, …), for hosts that decide by it",
        ))
        .arg(flag(
            "mcp",
            "Add the tools of the MCP servers in the settings (or GEMINI_TOOLS_MCP=1)",
        ))
        .arg(flag(
            "refresh",
            "As --mcp, but ask all servers and pairs again, and accept what they declare now",
        ))
        .arg(flag(
            "notes",
            "Say on standard error what was left out and why, as on a terminal",
        ))
        .arg(list(
            "only",
            "Only tools whose names match (globs, separated by commas)",
        ))
        .arg(list(
            "exclude",
            "No tools whose names match (globs, separated by commas)",
        ))
        .arg(
            flag(
                "licenses",
                "Print the licences of all that is linked into the executables",
            )
            .exclusive(true),
        )
        .args_conflicts_with_subcommands(true)
        .disable_help_subcommand(true)
        .subcommand(
            Command::new("config")
                .about("Prints the settings and policy files in force, and what is left out")
                .arg(flag("json", "Print JSON"))
                .arg(
                    Arg::new("policy")
                        .long("policy")
                        .value_name("PATH")
                        .action(ArgAction::Append)
                        .help("Policy file or directory to use instead of ~/.gemini/policies"),
                ),
        )
        .subcommand(show_command())
        .subcommand(lint_command())
        .subcommand(trust_command())
        .subcommand(init_command())
        .subcommand(doctor_command())
        .subcommand(completions_command())
}

fn show_command() -> Command {
    Command::new("show")
        .about("Shows what a tool does, what it takes, how to call it, and its errors")
        .arg(
            Arg::new("NAME")
                .required(true)
                .help("The tool's name, as call_tool takes it"),
        )
}

fn lint_command() -> Command {
    Command::new("lint")
        .about("Checks your own tools and those of MCP servers, or files")
        .after_help(LINT_EXAMPLES)
        .arg(
            Arg::new("FILE")
                .num_args(0..)
                .value_parser(clap::value_parser!(PathBuf))
                .help("Manifests, scripts, directories, or what a discovery command prints, to check instead; - for standard input"),
        )
        .arg(
            Arg::new("format")
                .long("format")
                .value_name("FORMAT")
                .value_parser(["text", "json", "sarif", "junit", "github"])
                .help("Form of the findings [default: text]"),
        )
        .arg(flag("json", "Print each finding as a line of JSON").conflicts_with("format"))
        .arg(
            flag(
                "mcp",
                "Start MCP servers whose declarations are not cached",
            )
            .conflicts_with("FILE"),
        )
        .arg(
            flag(
                "refresh",
                "Ask all MCP servers again, and accept what they declare now",
            )
            .conflicts_with("FILE"),
        )
}

fn init_command() -> Command {
    Command::new("init")
        .about("Puts the two commands into Gemini CLI's settings")
        .after_help(INIT_EXAMPLES)
        .arg(flag("user", "Change your own settings, for all projects"))
        .arg(flag("yes", "Don't ask").short('y'))
        .arg(flag("undo", "Undo what init did here"))
        .arg(
            Arg::new("allow")
                .long("allow")
                .value_name("WHICH")
                .value_parser(["read-only", "all", "none"])
                .default_value("read-only")
                .conflicts_with("undo")
                .help("Which tools a model may call without a terminal"),
        )
        .arg(
            flag(
                "trust",
                "Trust the project as well, if it brings nothing else that runs",
            )
            .conflicts_with_all(["undo", "user"]),
        )
        .arg(
            Arg::new("output")
                .long("output")
                .value_name("FORM")
                .value_parser(["host", "part"])
                .conflicts_with("undo")
                .help("Form of answers in Gemini CLI: host is text, part JSON [default: asks; with --yes part]"),
        )
}

fn doctor_command() -> Command {
    Command::new("doctor")
        .about("Tries the two commands that the settings name as Gemini CLI would, and says what is wrong")
        .after_help(DOCTOR_EXAMPLES)
        .arg(flag("json", "Print JSON"))
        .arg(flag(
            "mcp",
            "Start MCP servers whose declarations are not cached",
        ))
        .arg(
            Arg::new("try")
                .long("try")
                .value_name("NAME[=JSON]")
                .action(ArgAction::Append)
                .help("Make this call as well, whatever it does"),
        )
}

fn trust_command() -> Command {
    Command::new("trust")
        .about("Reviews and trusts the project's own tools and commands")
        .after_help(TRUST_EXAMPLES)
        .arg(flag("yes", "Don't ask").short('y'))
        .arg(flag(
            "status",
            "Say whether the project is trusted, and why",
        ))
        .arg(flag("list", "List the directories that were trusted here"))
        .arg(
            Arg::new("remove")
                .long("remove")
                .value_name("DIR")
                .num_args(0..=1)
                .default_missing_value(".")
                .value_parser(clap::value_parser!(PathBuf))
                .help("Take trust back [default: the current directory]"),
        )
        .group(clap::ArgGroup::new("what").args(["yes", "status", "list", "remove"]))
}

fn completions_command() -> Command {
    Command::new("completions")
        .about("Prints completions for a shell")
        .after_help(COMPLETIONS_EXAMPLES)
        .arg(
            Arg::new("SHELL")
                .required(true)
                .value_parser(["bash", "zsh", "fish"])
                .help("Shell to print them for"),
        )
        .arg(Arg::new("COMMAND").help("For this command only"))
}
