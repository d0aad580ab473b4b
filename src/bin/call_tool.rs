//! `call_tool NAME`: runs one call of a tool and prints its answer as JSON.

#![cfg_attr(all(target_os = "linux", target_env = "gnu"), no_main)]

use clap::{Arg, ArgAction, ArgMatches, Command};
use gemini_tools::ToolRegistry;
use gemini_tools::answer::{Answer, Form, to_line, write_stdout};
use gemini_tools::builtin;
use gemini_tools::settings::{Settings, home};
use gemini_tools::tool::{
    Args, Cancellation, Confirmation, Context, ErrorKind, Interruption, ToolError, ToolResult,
};
use gemini_tools::workspace::Workspace;
use rustix::event::{PollFd, PollFlags};
use serde_json::{Value, json};
use std::io::{IsTerminal, Write};
use std::sync::Arc;
use std::time::Duration;

/// Arguments larger than this are refused, in bytes.
const MAX_ARGUMENT_BYTES: usize = 512 * 1024 * 1024;

/// The time limit of a call where `GEMINI_TOOLS_TIMEOUT` says nothing.
const DEFAULT_TIMEOUT_SECS: u64 = 120;

const EXAMPLES: &str = "\
Arguments are one JSON object on standard input, or KEY=VALUE (a string) and
KEY:=JSON after the name; with those, standard input is not read.

Examples:
  echo '{\"path\":\"src\"}' | call_tool list_directory
  call_tool glob pattern='**/*.rs' --output text
  call_tool read_file absolute_path=README.md limit:=20 --output text
  call_tool search_file_content pattern='TODO|FIXME' include='*.rs' | jq -r .functionResponse.response.output
  call_tool replace file_path=a.txt old_string=one new_string=two --explain

Exit status: 0 done, 1 the tool failed, 2 unknown tool or unusable arguments,
3 refused by policy, 124 out of time, 130 and 143 interrupted.

Environment: GEMINI_TOOLS_OUTPUT (as --output), GEMINI_TOOLS_ROOTS (more
directories to work in, separated by colons), GEMINI_TOOLS_TIMEOUT (seconds).";

/// What the command line says.
#[derive(Default)]
struct Options {
    name: String,
    /// `None` where they come on standard input.
    args: Option<Vec<String>>,
    id: Option<String>,
    /// Which form was asked for, by argument or environment.
    form: Option<Form>,
    explain: bool,
    strict: bool,
}

gemini_tools::main!(run);

fn run() -> u8 {
    // A panic becomes an answer; its text must not reach standard error, which would make
    // the host take any answer for a failure.
    std::panic::set_hook(Box::new(|_| {}));
    let options = match options() {
        Ok(options) => options,
        Err(code) => return code,
    };
    let cancel = Cancellation::with_time_limit(time_limit());
    let signals = cancel.signal_cell();
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        // Without a handler the signal ends the process, which is right as well.
        let _ =
            signal_hook::flag::register_usize(signal, Arc::clone(&signals), signal as usize + 1);
    }
    // A file that grows too large is an error of its write, not the end of the process.
    let ignored = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let _ = signal_hook::flag::register(rustix::process::Signal::XFSZ.as_raw(), ignored);
    let input = match &options.args {
        Some(_) => Ok(Vec::new()),
        None => read_input(&cancel),
    };
    answer(&options, input, cancel)
}

fn answer(options: &Options, input: Result<Vec<u8>, ToolError>, cancel: Cancellation) -> u8 {
    let home = home();
    let form = options.form.unwrap_or_default();
    let cx = Context::new(cancel, matches!(form, Form::Result | Form::Text));
    let mut workspace = None;
    let mut limit = None;
    let outcome = arguments(options, input).and_then(|args| {
        let root = std::env::current_dir().unwrap_or_default();
        let settings = Settings::load(home.as_deref(), &root);
        limit = settings.limit_chars();
        let mut roots = settings.include_directories.clone();
        if let Some(more) = std::env::var_os("GEMINI_TOOLS_ROOTS") {
            roots.extend(std::env::split_paths(&more).filter(|p| !p.as_os_str().is_empty()));
        }
        let opened = Arc::new(Workspace::open(&roots, home.as_deref())?);
        workspace = Some(Arc::clone(&opened));
        let mut registry = ToolRegistry::default();
        builtin::register(&mut registry, &opened)?;
        call(options, &registry, &settings, args, &cx)
    });
    let outcome = outcome.map_err(|e| explain_types(options, e));
    let mut answer = Answer {
        name: &options.name,
        id: options.id.as_deref(),
        outcome,
    };
    let status = match (answer.exit_status(), cx.cancel.interruption()) {
        (130, Some(Interruption::Cancelled(signal))) if signal > 0 => {
            u8::try_from(128 + signal).unwrap_or(130)
        }
        (status, _) => status,
    };
    if form != Form::Text {
        answer.limit(limit, workspace.as_deref());
    }
    if options.explain && answer.outcome.is_ok() {
        let text = answer.to_text();
        return print(text.as_bytes(), status);
    }
    if form == Form::Text {
        let is_diff = answer.is_diff();
        let text = answer.to_text();
        if answer.failure().is_some() {
            complain(&format!("call_tool: {}", text.trim_end()));
            return status;
        }
        let text = if is_diff { coloured(&text) } else { text };
        return print(text.as_bytes(), status);
    }
    print(&answer.to_json(form), status)
}

/// Runs or explains the call.
fn call(
    options: &Options,
    registry: &ToolRegistry,
    settings: &Settings,
    args: Value,
    cx: &Context,
) -> Result<ToolResult, ToolError> {
    let tool = registry.require(&options.name)?;
    let names: Vec<&str> = std::iter::once(tool.name())
        .chain(tool.aliases().iter().copied())
        .collect();
    if !settings.allows(&names) {
        return Err(ToolError::new(
            ErrorKind::PolicyViolation,
            format!(
                "The tool {} is excluded by .gemini/settings.json.",
                tool.name()
            ),
        )
        .with_hint("See tools.core and tools.exclude there, and in the user's own settings."));
    }
    if options.strict {
        let unknown = tool.unknown_arguments(&Args::from_value(args.clone())?);
        if !unknown.is_empty() {
            return Err(ToolError::invalid(format!(
                "The tool {} has no argument \"{}\".",
                tool.name(),
                unknown.join("\", \"")
            ))
            .with_hint("Without --strict it is ignored."));
        }
    }
    if !options.explain {
        return registry.execute(&options.name, args, cx);
    }
    let invocation = registry.build(&options.name, Args::from_value(args)?, cx)?;
    let confirmation = invocation.confirmation(cx)?;
    if let Confirmation::Forbidden(reason) = confirmation {
        return Err(ToolError::new(ErrorKind::PolicyViolation, reason));
    }
    let explanation = json!({
        "description": invocation.describe(),
        "locations": invocation.locations(),
        "confirmation": confirmation.to_json(),
    });
    let line = to_line(&explanation);
    Ok(ToolResult::text(String::from_utf8_lossy(&line)))
}

/// The arguments as a JSON value.
fn arguments(options: &Options, input: Result<Vec<u8>, ToolError>) -> Result<Value, ToolError> {
    if let Some(pairs) = &options.args {
        return pairs_to_json(pairs);
    }
    let input = input?;
    let text = input.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&input);
    if text.trim_ascii().is_empty() {
        return Ok(json!({}));
    }
    serde_json::from_slice(text).map_err(|e| {
        ToolError::invalid(format!(
            "The arguments on standard input are not valid JSON: {e}."
        ))
        .with_hint(r#"Give one object such as {"path":"src"}."#)
    })
}

/// `KEY=VALUE` and `KEY:=JSON`.
fn pairs_to_json(pairs: &[String]) -> Result<Value, ToolError> {
    let mut map = serde_json::Map::new();
    for pair in pairs {
        let Some((key, value)) = pair.split_once('=') else {
            return Err(ToolError::invalid(format!(
                "{pair:?} is no argument of the form KEY=VALUE."
            ))
            .with_hint("Use KEY=VALUE for strings and KEY:=JSON for everything else."));
        };
        let (key, value) = match key.strip_suffix(':') {
            Some(key) => {
                let json = serde_json::from_str(value).map_err(|e| {
                    ToolError::invalid(format!("The value of {key:?} is not valid JSON: {e}."))
                        .with_hint("Use KEY=VALUE for a string.")
                })?;
                (key, json)
            }
            None => (key, Value::from(value)),
        };
        if key.is_empty() {
            return Err(ToolError::invalid(format!(
                "{pair:?} has no name before the =."
            )));
        }
        map.insert(key.to_owned(), value);
    }
    Ok(Value::Object(map))
}

/// Reminds of the form for values that are no strings, where one was perhaps meant.
fn explain_types(options: &Options, e: ToolError) -> ToolError {
    let pairs = options.args.as_deref().unwrap_or_default();
    let odd = pairs
        .iter()
        .filter_map(|pair| pair.split_once('='))
        .find(|(key, value)| {
            !key.ends_with(':')
                && serde_json::from_str::<Value>(value).is_ok_and(|value| !value.is_string())
        });
    match odd {
        Some((key, value)) if e.kind == ErrorKind::InvalidToolParams && e.hint.is_none() => e
            .with_hint(format!(
                "KEY=VALUE gives a string; for numbers and the like write {key}:={value}."
            )),
        _ => e,
    }
}

fn time_limit() -> Duration {
    std::env::var("GEMINI_TOOLS_TIMEOUT")
        .ok()
        .and_then(|text| text.trim().parse::<f64>().ok())
        .and_then(|secs| Duration::try_from_secs_f64(secs).ok())
        .filter(|limit| !limit.is_zero())
        .unwrap_or(Duration::from_secs(DEFAULT_TIMEOUT_SECS))
}

fn options() -> Result<Options, u8> {
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
                .required(true)
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
        .arg(flag(
            "explain",
            "Say what the call would do, without doing it",
        ))
        .arg(flag(
            "strict",
            "Refuse arguments that the tool does not know",
        ))
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
fn usage_error(name: &str, reason: &str) -> u8 {
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

/// Reads standard input to its end, in every case: a host whose write fails because nobody
/// reads raises an error of its own. A person at a terminal is not waited for.
fn read_input(cancel: &Cancellation) -> Result<Vec<u8>, ToolError> {
    let stdin = rustix::stdio::stdin();
    if rustix::termios::isatty(stdin) {
        return Ok(Vec::new());
    }
    let failed = |e: rustix::io::Errno| {
        let reason = std::io::Error::from(e);
        ToolError::invalid(format!("Standard input can't be read: {reason}."))
    };
    let mut input = Vec::new();
    let mut buffer = vec![0; 64 * 1024];
    let mut is_too_large = false;
    loop {
        // A signal ends the wait, but not the read of a handler that restarts it.
        let mut ready = [PollFd::new(&stdin, PollFlags::IN)];
        match rustix::event::poll(&mut ready, None) {
            Err(rustix::io::Errno::INTR) => {
                cancel.check()?;
                continue;
            }
            other => other.map_err(failed)?,
        };
        match rustix::io::read(stdin, &mut buffer) {
            Ok(0) => break,
            // Read on, only to let the writer finish.
            Ok(_) if is_too_large => {}
            Ok(n) => {
                input.extend_from_slice(&buffer[..n]);
                is_too_large = input.len() > MAX_ARGUMENT_BYTES;
            }
            Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => {}
            Err(e) => return Err(failed(e)),
        }
    }
    if is_too_large {
        return Err(ToolError::invalid(format!(
            "The arguments are larger than {MAX_ARGUMENT_BYTES} bytes."
        )));
    }
    Ok(input)
}

/// Colours the lines of a diff, where a terminal shows them.
fn coloured(text: &str) -> String {
    let plain = !std::io::stdout().is_terminal()
        || std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty());
    if plain {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len() * 2);
    let mut is_header = true;
    for line in text.split_inclusive('\n') {
        let colour = match line.as_bytes() {
            [b'@', b'@', ..] => {
                is_header = false;
                "36"
            }
            [b'+' | b'-', ..] if is_header => "1",
            [b'+', ..] => "32",
            [b'-', ..] => "31",
            _ => {
                out.push_str(line);
                continue;
            }
        };
        out.push_str(&format!(
            "\x1b[{colour}m{}\x1b[0m\n",
            line.trim_end_matches('\n')
        ));
    }
    out
}

fn complain(message: &str) {
    // Where standard error is gone, nobody reads it.
    let _ = writeln!(std::io::stderr(), "{message}");
}

/// Writes everything at once; a reader that has gone away is none of our business.
fn print(text: &[u8], status: u8) -> u8 {
    match write_stdout(text) {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => {
            complain(&format!("call_tool: can't write to standard output: {e}"));
            1
        }
        _ => status,
    }
}
