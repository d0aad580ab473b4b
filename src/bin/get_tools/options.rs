//! The command line of `get_tools`.

use crate::init::InitTask;
use crate::list;
use crate::print::complain;
use crate::trust::TrustTask;
use clap::{Arg, ArgAction, ArgMatches, Command};
use gemini_tools::init::{Allow, Reach};
use gemini_tools::workspace::pattern::PatternSet;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  get_tools                          what Gemini CLI's tools.discoveryCommand reads
  get_tools --pretty                 for people
  get_tools | jq -r '.[].name'       the names only
  get_tools --only 'read_*,glob'     some of the tools
  get_tools --exclude write_file     all but one
  get_tools --wrap                   as a tool of the Gemini API
  get_tools --mcp                    with the tools of MCP servers
  get_tools --refresh                the same, with nothing that is kept from earlier

  get_tools init                     put the two commands into Gemini CLI's settings
  get_tools config                   the settings in force, and where they come from
  get_tools trust                    let the project's own tools run
  get_tools lint                     what is wrong with your own tools

Tools that .gemini/settings.json excludes (tools.core, tools.exclude) are left out.
Your own tools stand in ~/.gemini/tools and, in a trusted project, in .gemini/tools.";

const TRUST_EXAMPLES: &str = "\
A project's own tools, servers and commands run as you. They count once you have
said so here, and until one of the files that were shown changes: then ask again.
Programs that those files start are not watched. Folders that Gemini CLI trusts
(~/.gemini/trustedFolders.json) and GEMINI_CLI_TRUST_WORKSPACE=true count as well,
and without such a condition.

Exit status: 0 done (--status: trusted), 1 not (--status: not trusted),
2 unusable arguments, or nobody to ask.";

const INIT_EXAMPLES: &str = "\
Shows each change and asks before it makes any:
  .gemini/settings.json       the two commands
  .gemini/tools               one tool as an example, where there are none
  ~/.gemini/policies          a rule by which Gemini CLI 0.61 lets a model call
                              these tools without a terminal
  ~/.gemini/trustedFolders.json
                              the project, where it brings nothing else that runs
Comments and the order of settings stay. Commands of somebody else's that stood
there are still there, as a pair in .gemini/tools.

Exit status: 0 done, 1 not, 2 unusable arguments, or nobody to ask.";

/// What is asked for.
pub(crate) enum Task {
    /// Setting Gemini CLI up.
    Init(InitTask),
    /// The declarations.
    List(list::Options),
    /// What is wrong with custom tools.
    Lint { json: bool },
    /// The settings.
    Config { json: bool },
    /// Whether the project may say them.
    Trust(TrustTask),
}

/// Reads the command line; `Err` is the status to exit with.
pub(crate) fn parse() -> Result<Task, u8> {
    let matches = command().try_get_matches().map_err(|e| {
        let help = !e.use_stderr();
        // Where standard output or error is gone, nobody reads it.
        let _ = e.print();
        if help { 0 } else { 2 }
    })?;
    match matches.subcommand() {
        Some(("lint", matches)) => Ok(Task::Lint {
            json: matches.get_flag("json"),
        }),
        Some(("config", matches)) => Ok(Task::Config {
            json: matches.get_flag("json"),
        }),
        Some(("init", matches)) => Ok(Task::Init(init_task(matches))),
        Some(("trust", matches)) => Ok(Task::Trust(trust_task(matches))),
        _ => Ok(Task::List(list_options(&matches)?)),
    }
}

fn flag(id: &'static str, help: &'static str) -> Arg {
    Arg::new(id).long(id).action(ArgAction::SetTrue).help(help)
}

fn command() -> Command {
    let list = |id: &'static str, help: &'static str| {
        Arg::new(id)
            .long(id)
            .value_name("GLOBS")
            .value_delimiter(',')
            .action(ArgAction::Append)
            .help(help)
    };
    Command::new("get_tools")
        .version(env!("CARGO_PKG_VERSION"))
        .about("Prints the declarations of all tools as a JSON array")
        .after_help(EXAMPLES)
        .arg(flag("pretty", "Indent the JSON"))
        .arg(flag(
            "wrap",
            "Wrap the declarations as a tool: [{\"functionDeclarations\":[…]}]",
        ))
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
            "The same, with all servers and pairs asked anew, accepting what they declare now",
        ))
        .arg(list(
            "only",
            "Only tools with such names (globs, separated by commas)",
        ))
        .arg(list(
            "exclude",
            "No tools with such names (globs, separated by commas)",
        ))
        .args_conflicts_with_subcommands(true)
        .disable_help_subcommand(true)
        .subcommand(
            Command::new("config")
                .about("Prints the settings in force, where they come from, and what is left out")
                .arg(flag("json", "Print JSON")),
        )
        .subcommand(
            Command::new("lint")
                .about("Checks your own tools, in ~/.gemini/tools and .gemini/tools")
                .arg(flag("json", "Print each finding as a line of JSON")),
        )
        .subcommand(trust_command())
        .subcommand(init_command())
}

fn init_command() -> Command {
    Command::new("init")
        .about("Puts the two commands into Gemini CLI's settings")
        .after_help(INIT_EXAMPLES)
        .arg(flag("user", "In your own settings, for all projects"))
        .arg(flag("yes", "Don't ask").short('y'))
        .arg(flag("undo", "Take back what was done here"))
        .arg(
            Arg::new("allow")
                .long("allow")
                .value_name("WHICH")
                .value_parser(["read-only", "all", "none"])
                .default_value("read-only")
                .help("Which tools a model may call without a terminal"),
        )
        .arg(flag(
            "no-trust",
            "Don't add the project to Gemini CLI's trusted folders",
        ))
}

fn init_task(matches: &ArgMatches) -> InitTask {
    let allow = match matches.get_one::<String>("allow").map(String::as_str) {
        Some("all") => Allow::All,
        Some("none") => Allow::Nothing,
        _ => Allow::ReadOnly,
    };
    InitTask {
        reach: if matches.get_flag("user") {
            Reach::User
        } else {
            Reach::Project
        },
        allow,
        asks: !matches.get_flag("yes"),
        undoes: matches.get_flag("undo"),
        trusts: !matches.get_flag("no-trust"),
    }
}

fn trust_command() -> Command {
    Command::new("trust")
        .about("Shows what the project brings that can run, and lets it")
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

fn trust_task(matches: &ArgMatches) -> TrustTask {
    if let Some(dir) = matches.get_one::<PathBuf>("remove") {
        return TrustTask::Remove(dir.clone());
    }
    if matches.get_flag("list") {
        return TrustTask::List;
    }
    if matches.get_flag("status") {
        return TrustTask::Status;
    }
    TrustTask::Record {
        asks: !matches.get_flag("yes"),
    }
}

fn list_options(matches: &ArgMatches) -> Result<list::Options, u8> {
    let set = |id: &str| -> Result<Option<PatternSet>, u8> {
        let Some(values) = matches.get_many::<String>(id) else {
            return Ok(None);
        };
        let mut set = PatternSet::default();
        for value in values {
            let more = PatternSet::for_paths(value, false).map_err(|e| {
                complain(&format!("get_tools: --{id}: {e}"));
                2
            })?;
            set.extend(more);
        }
        Ok(Some(set))
    };
    Ok(list::Options {
        pretty: matches.get_flag("pretty"),
        wrap: matches.get_flag("wrap"),
        kinds: matches.get_flag("kinds"),
        mcp: matches.get_flag("mcp"),
        refresh: matches.get_flag("refresh"),
        only: set("only")?,
        exclude: set("exclude")?.unwrap_or_default(),
    })
}
