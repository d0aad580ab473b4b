//! `get_tools`: prints the declarations of all tools as a JSON array.

#![cfg_attr(all(target_os = "linux", target_env = "gnu"), no_main)]

use clap::{Arg, ArgAction, Command};
use gemini_tools::answer::write_stdout;
use gemini_tools::builtin::{self, declarations};
use gemini_tools::policy::{Call, Extra, Policy, hosts_mode};
use gemini_tools::settings::{Settings, home};
use gemini_tools::tool::Kind;
use gemini_tools::workspace::pattern::PatternSet;
use std::io::{IsTerminal, Write};

const EXAMPLES: &str = "\
Examples:
  get_tools                          what Gemini CLI's tools.discoveryCommand reads
  get_tools --pretty                 for people
  get_tools | jq -r '.[].name'       the names only
  get_tools --only 'read_*,glob'     some of the tools
  get_tools --exclude write_file     all but one
  get_tools --wrap                   as a tool of the Gemini API

Tools that .gemini/settings.json excludes (tools.core, tools.exclude), or that a
policy denies whatever their arguments, are left out.";

#[derive(Default)]
struct Options {
    pretty: bool,
    wrap: bool,
    kinds: bool,
    only: Option<PatternSet>,
    exclude: PatternSet,
}

gemini_tools::main!(run);

fn run() -> u8 {
    // The host starts this without arguments and waits: then nothing is parsed.
    let options = if std::env::args_os().len() > 1 {
        match parse() {
            Ok(options) => options,
            Err(code) => return code,
        }
    } else {
        Options::default()
    };
    let home = home();
    let root = std::env::current_dir().unwrap_or_default();
    let settings = Settings::load(home.as_deref(), &root);
    let extra = Extra::with_paths(&[""; 0]);
    let policy = Policy::load(&settings, home.as_deref(), &root, &extra);
    if std::io::stderr().is_terminal() {
        for problem in &settings.problems {
            complain(&format!("get_tools: ignored {problem}"));
        }
        for problem in &policy.problems {
            complain(&format!("get_tools: {problem}"));
        }
    }
    let mode = hosts_mode();
    let no_args = serde_json::Map::new();
    let keep = |name: &str, aliases: &[&str]| {
        let names: Vec<&str> = std::iter::once(name)
            .chain(aliases.iter().copied())
            .collect();
        let listed = |set: &PatternSet| names.iter().any(|n| set.matches(n.as_bytes(), 0));
        let call = Call {
            kind: builtin::known(name).map_or(Kind::Other, |known| known.kind),
            ..Call::of_tool(name, aliases, &no_args)
        };
        policy.shows(&call, mode, true)
            && options.only.as_ref().is_none_or(listed)
            && !listed(&options.exclude)
    };
    let list = declarations(keep, options.kinds);
    let mut text = format!("[{}]", list.join(","));
    if options.wrap {
        text = format!(r#"[{{"functionDeclarations":{text}}}]"#);
    }
    if options.pretty
        && let Ok(value) = serde_json::from_str::<serde_json::Value>(&text)
    {
        text = serde_json::to_string_pretty(&value).unwrap_or(text);
    }
    text.push('\n');
    print(text.as_bytes())
}

fn parse() -> Result<Options, u8> {
    let list = |id: &'static str, help: &'static str| {
        Arg::new(id)
            .long(id)
            .value_name("GLOBS")
            .value_delimiter(',')
            .action(ArgAction::Append)
            .help(help)
    };
    let flag = |id: &'static str, help: &'static str| {
        Arg::new(id).long(id).action(ArgAction::SetTrue).help(help)
    };
    let matches = Command::new("get_tools")
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
        .arg(list(
            "only",
            "Only tools with such names (globs, separated by commas)",
        ))
        .arg(list(
            "exclude",
            "No tools with such names (globs, separated by commas)",
        ))
        .try_get_matches()
        .map_err(|e| {
            let help = !e.use_stderr();
            // Where standard output or error is gone, nobody reads it.
            let _ = e.print();
            if help { 0 } else { 2 }
        })?;
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
    Ok(Options {
        pretty: matches.get_flag("pretty"),
        wrap: matches.get_flag("wrap"),
        kinds: matches.get_flag("kinds"),
        only: set("only")?,
        exclude: set("exclude")?.unwrap_or_default(),
    })
}

fn complain(message: &str) {
    // Where standard error is gone, nobody reads it.
    let _ = writeln!(std::io::stderr(), "{message}");
}

/// Writes everything at once; a reader that has gone away is none of our business.
fn print(text: &[u8]) -> u8 {
    match write_stdout(text) {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => {
            complain(&format!("get_tools: can't write to standard output: {e}"));
            1
        }
        _ => 0,
    }
}
