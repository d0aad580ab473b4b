//! What a tool's file says: the keys of a manifest, or of the block in a script.

use super::position::Source;
use super::presentation::{self, Presentation};
use super::reader::{Reader, kind_of};
use super::words::Template;
use super::{block, parameters};
use gemini_tools_core::diagnostic::Diagnostic;
use gemini_tools_core::registry::is_valid_name;
use gemini_tools_core::tool::Kind;
use gemini_tools_declarations::{Compiled, Names, compile};
use gemini_tools_sandbox::Mode;
use serde_json::{Map, Value, json};
use std::path::Path;
use std::time::Duration;

/// The time limit where a tool's file says nothing.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(120);

/// The longest time limit, in seconds.
const MAX_TIMEOUT_SECS: f64 = 3600.0;

/// The keys of every tool.
const KEYS: [&str; 18] = [
    "description",
    "display_name",
    "kind",
    "read_only",
    "parameters",
    "params",
    "stdin",
    "output",
    "timeout",
    "cwd",
    "env",
    "sandbox",
    "success_statuses",
    "streaming",
    "args",
    "call_description",
    "locations",
    "confirmation",
];

/// The keys that say what is run, which a script's own block does not have.
const ACTIONS: [&str; 4] = ["command", "script", "discovery_command", "call_command"];

/// The keys of a pair of commands.
const PAIR_KEYS: [&str; 9] = [
    "discovery_command",
    "call_command",
    "description",
    "kind",
    "read_only",
    "timeout",
    "cwd",
    "env",
    "sandbox",
];

/// What a file defines.
#[derive(Debug)]
pub(super) enum Definition {
    Tool(Box<Manifest>),
    Pair(Box<Pair>),
}

/// A definition with warnings, or why there is none.
pub(super) type Outcome = Result<(Definition, Vec<Diagnostic>), Vec<Diagnostic>>;

/// How programs are run, whatever the tool.
#[derive(Debug, Clone)]
pub(super) struct Running {
    pub(super) timeout: Duration,
    /// Beneath the project's root.
    pub(super) cwd: Option<String>,
    /// With variables in them that are not replaced yet.
    pub(super) env: Vec<(String, String)>,
    pub(super) sandbox: Option<Mode>,
}

/// One tool.
#[derive(Debug)]
pub(super) struct Manifest {
    pub(super) declared: Compiled,
    pub(super) display_name: String,
    pub(super) kind: Kind,
    pub(super) read_only: bool,
    pub(super) action: Action,
    pub(super) stdin: Stdin,
    pub(super) output: Output,
    pub(super) success: Vec<i32>,
    pub(super) streaming: bool,
    /// What is said of a call before it runs.
    pub(super) presentation: Presentation,
    pub(super) running: Running,
}

/// What is run.
#[derive(Debug)]
pub(super) enum Action {
    Command(Template),
    /// Text for bash, and what it is given as `$1` and so on.
    Script(String, Template),
    /// The file itself, with these words before its path: none where it is executable.
    File(Vec<String>),
}

/// What is on standard input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Stdin {
    Arguments,
    Nothing,
    Parameter(String),
}

/// What is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Output {
    Text,
    Json,
    ToolResult,
}

/// Two commands of another program.
#[derive(Debug)]
pub(super) struct Pair {
    pub(super) discovery: Vec<String>,
    pub(super) call: Vec<String>,
    /// For tools that don't say it themselves.
    pub(super) kind: Option<Kind>,
    pub(super) read_only: bool,
    pub(super) running: Running,
}

/// Reads a file of a directory of tools. `None` where it is none: a text beside the tools, a
/// module that they use. With a definition, the findings are warnings.
pub(super) fn read(name: &str, file: &Path, text: &str, is_executable: bool) -> Option<Outcome> {
    let is_manifest = file.extension().is_some_and(|e| e == "toml");
    let mut reader = Reader::new(name, file);
    let (toml, action) = if is_manifest {
        (text.to_owned(), None)
    } else {
        match block::find(text) {
            Ok(None) => return None,
            Ok(Some(toml)) => {
                let words = if is_executable {
                    Some(Vec::new())
                } else {
                    block::interpreter(text)
                };
                if words.is_none() {
                    reader.report(
                        "",
                        "It can't be run: begin it with a line such as #!/usr/bin/env python3, or \
                         make it executable.",
                    );
                }
                (toml, Some(Action::File(words.unwrap_or_default())))
            }
            Err(reason) => {
                let mut reason = reason;
                reason[..1].make_ascii_uppercase();
                reader.report("", reason);
                return Some(Err(reader.findings));
            }
        }
    };
    check_name(&mut reader);
    let map = match toml::from_str::<Map<String, Value>>(&toml) {
        Ok(map) => map,
        Err(e) => {
            let message = e.message().trim().replace('\n', "; ");
            reader.report("", format!("The manifest is not valid TOML: {message}."));
            if let (Some(finding), Some(span)) = (reader.findings.last_mut(), e.span()) {
                finding.put_at(Source::of(text, is_manifest).position(&toml, span.start));
            }
            return Some(Err(reader.findings));
        }
    };
    let definition = if action.is_none() && map.keys().any(|k| ACTIONS[2..].contains(&&**k)) {
        read_pair(&mut reader, map).map(|pair| Definition::Pair(Box::new(pair)))
    } else {
        read_tool(&mut reader, map, action).map(|tool| Definition::Tool(Box::new(tool)))
    };
    let has_errors = reader
        .findings
        .iter()
        .any(|f| f.severity == gemini_tools_core::diagnostic::Severity::Error);
    Some(match definition {
        Some(definition) if !has_errors => Ok((definition, reader.findings)),
        _ => Err(reader.findings),
    })
}

fn check_name(reader: &mut Reader<'_>) {
    let name = reader.tool;
    if !is_valid_name(name) || name.len() > Names::LONGEST {
        reader.report(
            "",
            format!(
                "The file's name without its ending is the tool's, and {name:?} can't be one: use up \
                 to {} of A-Z a-z 0-9 _ . - and begin with a letter or _.",
                Names::LONGEST
            ),
        );
    } else if name.contains("__") {
        reader.report(
            "",
            format!(
                "The file's name without its ending is the tool's, and {name:?} can't be one: __ stands \
                 between the names of an MCP server and its tool, and rules for servers would be for it. \
                 Write one _."
            ),
        );
    }
}

fn read_tool(
    reader: &mut Reader<'_>,
    mut map: Map<String, Value>,
    file: Option<Action>,
) -> Option<Manifest> {
    let is_file = file.is_some();
    let description = reader.text(&mut map, "description").unwrap_or_default();
    if description.trim().is_empty() {
        reader.report(
            "description",
            "It is missing: say what the tool does and when to use it, for the model.",
        );
    }
    let display_name = reader.text(&mut map, "display_name");
    let schema = parameters::read(reader, &mut map);
    let mut repairs = Vec::new();
    let declaration = json!({
        "name": reader.tool, "description": description, "parametersJsonSchema": schema,
        "displayName": display_name,
    });
    let compiled = compile(&declaration, &mut Names::new(63), &mut repairs);
    let file_path = reader.file;
    let placed = |f: Diagnostic| f.in_file(file_path);
    // A name that would have to be another, and a description that is missing, are faults here.
    repairs.retain(|repair| !matches!(&*repair.code, "name" | "no-description"));
    reader.findings.extend(repairs.into_iter().map(placed));
    let declared = match compiled {
        Ok(declared) => Some(declared),
        Err(finding) => {
            reader.findings.push(placed(finding));
            None
        }
    };
    let names: Vec<String> = schema["properties"]
        .as_object()
        .map(|p| p.keys().cloned().collect())
        .unwrap_or_default();
    if let Some(declared) = &declared {
        parameters::check_defaults(reader, &declared.schema);
    }
    let (kind, read_only) = read_kind(reader, &mut map);
    let action = read_action(reader, &mut map, file, &names, &schema["properties"]);
    let stdin = read_stdin(reader, &mut map, &names).unwrap_or(if is_file {
        Stdin::Arguments
    } else {
        Stdin::Nothing
    });
    let output = match reader.choice(&mut map, "output", &["text", "json", "tool_result"]) {
        Some(1) => Output::Json,
        Some(2) => Output::ToolResult,
        _ => Output::Text,
    };
    let success = read_statuses(reader, &mut map);
    let streaming = reader.flag(&mut map, "streaming").unwrap_or(true);
    let presentation = presentation::read(reader, &mut map, &names);
    if read_only && presentation.question.is_some() {
        reader.warn(
            "unused-question",
            "confirmation",
            "It is never shown: a tool that only reads runs without being asked about.",
        );
    }
    let running = read_running(reader, &mut map);
    let known: Vec<&str> = KEYS
        .into_iter()
        .chain(ACTIONS.into_iter().filter(|_| !is_file))
        .collect();
    for key in ["name", "shell"] {
        if map.remove(key).is_some() {
            reader.report(
                key,
                match key {
                    "name" => "There is no such key: the file's name is the tool's.",
                    _ => "There is no such key: use \"script\" for a text for bash.",
                },
            );
        }
    }
    reader.unknown(&map, "", &known);
    check_variables(reader, &names, action.as_ref());
    if let Some(Action::Command(template)) = &action {
        warn_unused(reader, template, &stdin, &names);
    }
    Some(Manifest {
        display_name: display_name.unwrap_or_else(|| reader.tool.to_owned()),
        declared: declared?,
        kind,
        read_only,
        action: action?,
        stdin,
        output,
        success,
        streaming,
        presentation,
        running,
    })
}

fn read_kind(reader: &mut Reader<'_>, map: &mut Map<String, Value>) -> (Kind, bool) {
    let names: Vec<String> = Kind::ALL
        .iter()
        .filter_map(|kind| Some(json!(kind).as_str()?.to_owned()))
        .collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let kind = reader.choice(map, "kind", &names).map(|i| Kind::ALL[i]);
    let read_only = reader.flag(map, "read_only");
    match (kind, read_only) {
        (Some(kind), Some(false)) if kind.is_read_only() => {
            reader.report(
                "read_only",
                "A tool of this \"kind\" only reads; set one of the two right.",
            );
        }
        (Some(Kind::Edit | Kind::Delete | Kind::Move), Some(true)) => {
            reader.report(
                "read_only",
                "A tool of this \"kind\" changes things; set one of the two right.",
            );
        }
        _ => {}
    }
    let read_only = read_only.unwrap_or(kind.is_some_and(Kind::is_read_only));
    let otherwise = if read_only { Kind::Read } else { Kind::Execute };
    (kind.unwrap_or(otherwise), read_only)
}

fn read_action(
    reader: &mut Reader<'_>,
    map: &mut Map<String, Value>,
    file: Option<Action>,
    names: &[String],
    properties: &Value,
) -> Option<Action> {
    let args = map.remove("args");
    if args.is_some() && !map.contains_key("script") {
        reader.report(
            "args",
            "It gives a \"script\" its $1, $2 and so on; there is none.",
        );
    }
    if let Some(file) = file {
        return Some(file);
    }
    match (map.remove("command"), map.contains_key("script")) {
        (Some(_), true) => {
            map.remove("script");
            reader.report(
                "script",
                "There is a \"command\" as well; a tool has one of the two.",
            );
            None
        }
        (Some(command), false) => {
            let template = Template::read(reader, "command", &command, names)?;
            template.check_command(reader, "command", properties)?;
            Some(Action::Command(template))
        }
        (None, true) => {
            let script = reader.text(map, "script")?;
            if script.trim().is_empty() || script.contains('\0') {
                reader.report("script", "It is empty, or holds a NUL character.");
                return None;
            }
            let args = args.unwrap_or_else(|| json!([]));
            let template = Template::read(reader, "args", &args, names)?;
            Some(Action::Script(script, template))
        }
        (None, false) => {
            reader.report(
                "command",
                "Nothing says what to run: add command = [\"program\", \"{parameter}\"], or script = \
                 \"…\" for bash, or discovery_command and call_command.",
            );
            None
        }
    }
}

fn read_stdin(
    reader: &mut Reader<'_>,
    map: &mut Map<String, Value>,
    names: &[String],
) -> Option<Stdin> {
    let text = reader.text(map, "stdin")?;
    match (text.as_str(), text.strip_prefix("param:")) {
        ("args", _) => Some(Stdin::Arguments),
        ("none", _) => Some(Stdin::Nothing),
        (_, Some(name)) if names.iter().any(|n| n == name) => {
            Some(Stdin::Parameter(name.to_owned()))
        }
        (_, Some(name)) => {
            let near = super::reader::near(name, names.iter().map(String::as_str));
            reader.report("stdin", format!("There is no parameter {name:?}.{near}"));
            None
        }
        _ => {
            reader.report(
                "stdin",
                format!("{text:?} is not one of \"args\", \"none\" and \"param:NAME\"."),
            );
            None
        }
    }
}

fn read_statuses(reader: &mut Reader<'_>, map: &mut Map<String, Value>) -> Vec<i32> {
    let Some(value) = map.remove("success_statuses") else {
        return vec![0];
    };
    let read = |value: &Value| -> Option<Vec<i32>> {
        let list = value.as_array()?;
        let status = |v: &Value| Some(v.as_i64().filter(|n| (0..=255).contains(n))? as i32);
        list.iter().map(status).collect()
    };
    if let Some(list) = read(&value).filter(|list| !list.is_empty()) {
        return list;
    }
    reader.report(
        "success_statuses",
        format!("It must be a list of exit statuses such as [0, 1], but it is {value}."),
    );
    vec![0]
}

fn read_running(reader: &mut Reader<'_>, map: &mut Map<String, Value>) -> Running {
    let timeout = map
        .remove("timeout")
        .map_or(Some(DEFAULT_TIMEOUT), |value| {
            value
                .as_f64()
                .filter(|secs| *secs > 0.0 && *secs <= MAX_TIMEOUT_SECS)
                .and_then(|secs| Duration::try_from_secs_f64(secs).ok())
        });
    if timeout.is_none() {
        reader.report(
            "timeout",
            format!("It must be a number of seconds, more than 0 and up to {MAX_TIMEOUT_SECS}."),
        );
    }
    let cwd = reader.text(map, "cwd");
    if let Some(cwd) = &cwd
        && (Path::new(cwd).is_absolute() || cwd.split('/').any(|part| part == ".."))
    {
        reader.report(
            "cwd",
            "It must lie beneath the project's root: give it relative to that, without \"..\".",
        );
    }
    let sandbox = reader
        .choice(map, "sandbox", &Mode::NAMES)
        .and_then(|i| Mode::from_name(Mode::NAMES[i]));
    Running {
        timeout: timeout.unwrap_or(DEFAULT_TIMEOUT),
        cwd,
        env: read_env(reader, map),
        sandbox,
    }
}

fn read_env(reader: &mut Reader<'_>, map: &mut Map<String, Value>) -> Vec<(String, String)> {
    let table = match map.remove("env") {
        None => return Vec::new(),
        Some(Value::Object(table)) => table,
        Some(other) => {
            reader.report(
                "env",
                format!("It must be a table, but it is {}.", kind_of(&other)),
            );
            return Vec::new();
        }
    };
    let mut env = Vec::new();
    for (name, value) in table {
        let key = format!("env.{name}");
        let is_name = !name.is_empty()
            && !name.starts_with(|c: char| c.is_ascii_digit())
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        match value {
            _ if !is_name => reader.report(&key, "That is not a valid name of a variable."),
            Value::String(text) if !text.contains('\0') => env.push((name, text)),
            Value::Number(number) => env.push((name, number.to_string())),
            other => reader.report(
                &key,
                format!("It must be a text, but it is {}.", kind_of(&other)),
            ),
        }
    }
    env
}

/// Parameters arrive in the environment as well, and must not be taken for each other there.
fn check_variables(reader: &mut Reader<'_>, names: &[String], action: Option<&Action>) {
    if matches!(action, Some(Action::Command(_)) | None) {
        return;
    }
    for (i, name) in names.iter().enumerate() {
        let variable = super::call::variable_of(name);
        if let Some(other) = names[..i]
            .iter()
            .find(|o| super::call::variable_of(o) == variable)
        {
            reader.report(
                &format!("params.{name}"),
                format!("It would be {variable} in the environment, as {other:?} is; rename one."),
            );
        }
    }
}

fn warn_unused(reader: &mut Reader<'_>, template: &Template, stdin: &Stdin, names: &[String]) {
    if *stdin == Stdin::Arguments {
        return;
    }
    let used: Vec<&str> = template.parameters().collect();
    for name in names {
        let on_stdin = *stdin == Stdin::Parameter(name.clone());
        if !on_stdin && !used.contains(&name.as_str()) {
            reader.warn(
                "unused-parameter",
                &format!("params.{name}"),
                format!(
                    "The command does not use it: add \"{{{name}}}\" to it, or stdin = \"args\"."
                ),
            );
        }
    }
}

fn read_pair(reader: &mut Reader<'_>, mut map: Map<String, Value>) -> Option<Pair> {
    let mut words = |key: &str| -> Option<Vec<String>> {
        let Some(value) = map.remove(key) else {
            reader.report(
                key,
                "It is missing: a pair has a discovery_command and a call_command.",
            );
            return None;
        };
        let words = match &value {
            Value::String(line) => shlex::split(line),
            Value::Array(list) => list.iter().map(|v| v.as_str().map(str::to_owned)).collect(),
            _ => None,
        };
        let words = words.filter(|w| w.first().is_some_and(|first| !first.is_empty()));
        if words.is_none() {
            reader.report(
                key,
                "It must be a command line in one text, or a list of words; its quotes must be closed.",
            );
        }
        words
    };
    let (discovery, call) = (words("discovery_command"), words("call_command"));
    reader.text(&mut map, "description");
    let has_kind = map.contains_key("kind") || map.contains_key("read_only");
    let (kind, read_only) = read_kind(reader, &mut map);
    let running = read_running(reader, &mut map);
    reader.unknown(&map, "", &PAIR_KEYS);
    Some(Pair {
        discovery: discovery?,
        call: call?,
        kind: has_kind.then_some(kind),
        read_only,
        running,
    })
}
