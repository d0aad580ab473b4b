//! The arguments of `run_agent`; `options` reads them.

use clap::{Arg, ArgAction, Command};

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
that can't be used, 53 out of turns, 124 out of time, 129, 130 and 143 interrupted.

Environment: GEMINI_API_KEY and the other credentials of Gemini CLI, GEMINI_MODEL, GEMINI_SYSTEM_MD, \
GEMINI_TOOLS_SANDBOX, GEMINI_CLI_TRUST_WORKSPACE (as --trust), GEMINI_TELEMETRY_OUTFILE, \
GEMINI_TELEMETRY_LOG_PROMPTS, and those of call_tool. The manual page says more.";

/// Returns the command line of `run_agent`.
pub(crate) fn command() -> Command {
    sessions(limits(script(tools(task()))))
}

fn flag(id: &'static str, help: &'static str) -> Arg {
    Arg::new(id).long(id).action(ArgAction::SetTrue).help(help)
}

fn value(id: &'static str, name: &'static str, help: &'static str) -> Arg {
    Arg::new(id).long(id).value_name(name).help(help)
}

fn list(id: &'static str, name: &'static str, help: &'static str) -> Arg {
    value(id, name, help)
        .value_delimiter(',')
        .action(ArgAction::Append)
}

fn seconds(text: &str) -> Result<f64, &'static str> {
    match text.parse::<f64>() {
        Ok(secs) if secs.is_finite() && secs > 0.0 => Ok(secs),
        _ => Err("a number of seconds above 0 is wanted"),
    }
}

/// Returns the arguments for the task, the model and the approval of calls.
fn task() -> Command {
    Command::new("run_agent")
        .version(gemini_tools::VERSION)
        .about("Runs a Gemini model on a prompt, with tools")
        .max_term_width(100)
        .after_help(EXAMPLES)
        .arg(
            Arg::new("PROMPT")
                .num_args(0..)
                .help("The prompt; text piped to standard input comes before it"),
        )
        .arg(value("prompt", "TEXT", "The same as PROMPT").short('p'))
        .arg(
            value(
                "model",
                "NAME",
                "The model to ask [default: gemini-2.5-pro]",
            )
            .short('m'),
        )
        .arg(
            value(
                "approval-mode",
                "MODE",
                "Which calls need the user's approval [default: default]",
            )
            .value_parser(["default", "auto_edit", "yolo", "plan"]),
        )
        .arg(flag("yolo", "As --approval-mode yolo: nothing asks").short('y'))
        .arg(list(
            "allowed-tools",
            "TOOLS",
            "Tools that need no approval, such as replace or 'run_shell_command(git)'",
        ))
        .arg(flag(
            "fail-on-refusal",
            "End with status 3 if the rules refused a call, or no user could approve it",
        ))
        .arg(list(
            "policy",
            "PATHS",
            "Policy files or directories to use instead of ~/.gemini/policies",
        ))
}

/// Adds the commands of the tools.
fn tools(command: Command) -> Command {
    command
        .arg(
            value(
                "discovery-command",
                "LINE",
                "Prints the declarations of the tools",
            )
            .requires("call-command"),
        )
        .arg(
            value(
                "call-command",
                "PATH",
                "Runs a call: its name as argument, its arguments on standard input",
            )
            .requires("discovery-command"),
        )
        .arg(flag(
            "only-discovered",
            "Use the tools of the discovery command alone, without the built-in ones",
        ))
        .arg(flag("no-mcp", "Ignore the MCP servers in the settings"))
        .arg(flag(
            "trust",
            "Let the project's settings name commands, allow tools and weaken the sandbox",
        ))
}

/// Adds the script in the model's place, and the one that is recorded.
fn script(command: Command) -> Command {
    command
        .arg(value(
            "record",
            "FILE",
            "Record the run as a model script: the model's turns, and what the tools answered",
        ))
        .arg(
            value(
                "model-script",
                "FILE",
                "Play turns of a file in the model's place, as YAML or JSON; the tools run",
            )
            .conflicts_with_all(["resume", "continue"]),
        )
}

/// Adds the limits of a session, and the form in which it is shown.
fn limits(command: Command) -> Command {
    command
        .arg(
            value(
                "max-turns",
                "N",
                "End the session after so many turns of the model",
            )
            .value_parser(clap::value_parser!(u32).range(1..)),
        )
        .arg(
            value(
                "time-limit",
                "SECS",
                "End the session after so many seconds",
            )
            .value_parser(seconds),
        )
        .arg(
            value(
                "output-format",
                "FORMAT",
                "Form of the output [default: text]",
            )
            .short('o')
            .value_parser(["text", "json", "stream-json"]),
        )
}

/// Adds the files of a session, and what its tools may reach.
fn sessions(command: Command) -> Command {
    command
        .arg(value("session", "FILE", "Keep the session in this file").conflicts_with("resume"))
        .arg(value(
            "resume",
            "FILE",
            "Go on with the session in this file",
        ))
        .arg(
            flag(
                "continue",
                "Go on with the newest session of this directory",
            )
            .short('c')
            .conflicts_with_all(["session", "resume"]),
        )
        .arg(
            flag(
                "no-session",
                "Keep no session; without this, each is kept for a week below ~/.gemini/tmp",
            )
            .conflicts_with_all(["session", "resume", "continue"]),
        )
        .arg(value("report", "FILE", "Write the session as an HTML page"))
        .arg(
            value(
                "sandbox",
                "MODE",
                "Sandbox for shell commands [default: workspace-write]",
            )
            .value_parser(["off", "read-only", "workspace-write"]),
        )
        .arg(list(
            "include-directories",
            "DIRS",
            "More directories for tools to work in",
        ))
}
