//! Reads the definition in a tool's file. A manifest or a script defines a tool; a manifest may
//! instead define a pair of commands, one that declares tools and one that calls them.

use super::call::variable_of;
use super::catalogue::ToolEntry;
use super::keys::{CommandLine, Keys, Output, Scalar};
use super::position::Source;
use super::report::{Report, nearest};
use super::words::Template;
use super::{block, parameters};
use gemini_tools_core::declarations::{Names, ToolDeclaration, compile};
use gemini_tools_core::diagnostic::{Diagnostic, Severity};
use gemini_tools_core::registry::is_valid_name;
use gemini_tools_core::tool::Kind;
use gemini_tools_core::tool::SandboxMode;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

const DEFAULT_TIMEOUT_SECS: f64 = 120.0;

const MAX_TIMEOUT_SECS: f64 = 3600.0;

const NOT_OF_SCRIPTS: &str = "command script args discovery_command call_command";

const NOT_OF_PAIRS: &str = "\
    display_name params parameters command script args stdin output success_statuses streaming \
    prompt resource";

#[derive(Debug)]
pub(super) enum Definition {
    Tool(Box<Manifest>),
    Pair(Box<Pair>),
}

pub(super) type Outcome = Result<(Definition, Vec<Diagnostic>), Vec<Diagnostic>>;

#[derive(Debug, Clone)]
pub(super) struct RunSettings {
    pub(super) timeout: Duration,
    pub(super) cwd: Option<String>,
    pub(super) env: Vec<(String, String)>,
    pub(super) sandbox: Option<SandboxMode>,
}

#[derive(Debug)]
pub(super) struct Manifest {
    pub(super) declared: ToolDeclaration,
    pub(super) entry: ToolEntry,
    pub(super) action: Action,
    pub(super) stdin: Stdin,
    pub(super) output: Output,
    pub(super) success: Vec<i32>,
    pub(super) running: RunSettings,
}

#[derive(Debug)]
pub(super) enum Action {
    Command(Template),
    Script(String, Template),
    /// The file itself is run. These words, such as its interpreter, come before its path; there
    /// are none if it is executable.
    File(Vec<String>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Stdin {
    Arguments,
    Nothing,
    Parameter(String),
}

#[derive(Debug)]
pub(super) struct Pair {
    pub(super) discovery: Vec<String>,
    pub(super) call: Vec<String>,
    pub(super) kind: Option<Kind>,
    pub(super) read_only: bool,
    pub(super) running: RunSettings,
}

/// Reads a file of a tools directory. Returns `None` if the file defines nothing, such as a text or
/// a module that a tool imports.
pub(super) fn read(name: &str, file: &Path, text: &str, is_executable: bool) -> Option<Outcome> {
    let is_manifest = file.extension().is_some_and(|e| e == "toml");
    let mut report = Report {
        tool: name,
        file,
        findings: Vec::new(),
    };
    let (toml, action) = if is_manifest {
        (text.to_owned(), None)
    } else {
        match block::find(text) {
            Ok(None) => return None,
            Ok(Some(toml)) => {
                let action = Action::File(interpreter(&mut report, text, is_executable));
                (toml, Some(action))
            }
            Err(mut reason) => {
                reason[..1].make_ascii_uppercase();
                report.fault("", reason);
                return Some(Err(report.findings));
            }
        }
    };
    check_name(&mut report);
    let keys = match Keys::parse(&toml) {
        Ok(keys) => keys,
        Err(fault) => {
            report.fault(&fault.key, fault.message);
            if let (Some(finding), Some(span)) = (report.findings.last_mut(), fault.span) {
                finding.put_at(Source::new(text, is_manifest).position(&toml, span.start));
            }
            return Some(Err(report.findings));
        }
    };
    let is_pair = keys.discovery_command.is_some() || keys.call_command.is_some();
    let definition = if is_pair && action.is_none() {
        read_pair(&mut report, keys).map(|pair| Definition::Pair(Box::new(pair)))
    } else {
        read_tool(&mut report, keys, action).map(|tool| Definition::Tool(Box::new(tool)))
    };
    let mut findings = report.findings.iter();
    let has_errors = findings.any(|f| f.severity == Severity::Error);
    Some(match definition {
        Some(definition) if !has_errors => Ok((definition, report.findings)),
        _ => Err(report.findings),
    })
}

fn interpreter(report: &mut Report<'_>, text: &str, is_executable: bool) -> Vec<String> {
    if is_executable {
        return Vec::new();
    }
    block::interpreter(text).unwrap_or_else(|| {
        let message = "It can't be run: begin it with a line such as #!/usr/bin/env python3, or \
                       make it executable.";
        report.fault("", message);
        Vec::new()
    })
}

fn check_name(report: &mut Report<'_>) {
    let name = report.tool;
    let problem = if !is_valid_name(name) || name.len() > Names::LONGEST {
        format!(
            "use up to {} of A-Z a-z 0-9 _ . - and begin with a letter or _.",
            Names::LONGEST
        )
    } else if name.contains("__") {
        "__ stands between the names of an MCP server and its tool, and rules for servers would be \
         for it. Write one _."
            .to_owned()
    } else {
        return;
    };
    report.fault(
        "",
        format!(
            "The file's name without its ending is the tool's, and {name:?} can't be one: {problem}"
        ),
    );
}

fn read_tool(report: &mut Report<'_>, mut keys: Keys, file: Option<Action>) -> Option<Manifest> {
    if file.is_some() {
        let message = "There is no such key here: the script itself is run.";
        refuse(report, &keys, NOT_OF_SCRIPTS, message);
    }
    let schema = parameters::schema(report, &mut keys);
    let declared = declare(report, &keys, &schema);
    if let Some(declared) = &declared {
        parameters::check_defaults(report, &declared.schema);
    }
    let names = schema["properties"].as_object();
    let names: Vec<String> = names
        .into_iter()
        .flat_map(|all| all.keys().cloned())
        .collect();
    let (kind, read_only) = read_kind(report, &keys);
    let is_file = file.is_some();
    let action = file.or_else(|| read_action(report, &keys, &names, &schema["properties"]));
    let stdin = read_stdin(report, keys.stdin.as_deref(), &names).unwrap_or(if is_file {
        Stdin::Arguments
    } else {
        Stdin::Nothing
    });
    let success = keys.success_statuses.take().unwrap_or(vec![0]);
    if success.is_empty() {
        let message = "It is empty; give the exit statuses that count as success, such as [0, 1].";
        report.fault("success_statuses", message);
    }
    match &action {
        Some(Action::Command(template)) => warn_unused(report, template, &stdin, &names),
        Some(_) => check_variables(report, &names),
        None => {}
    }
    let running = read_running(report, &mut keys);
    let resource = read_resource(report, keys.resource, &names, read_only);
    let declared = declared?;
    let mut entry = ToolEntry::new(&declared, report.file, kind, read_only);
    entry.display_name = keys.display_name.unwrap_or(entry.display_name);
    entry.streaming = keys.streaming.unwrap_or(true);
    entry.prompt = keys.prompt.unwrap_or(false);
    entry.resource = resource;
    Some(Manifest {
        declared,
        entry,
        action: action?,
        stdin,
        output: keys.output.unwrap_or(Output::Text),
        success: success.into_iter().map(i32::from).collect(),
        running,
    })
}

/// Reads the URI under which MCP clients read the tool's answer as a resource. They do so without
/// the user's approval, so a tool that changes something must not have one.
fn read_resource(
    report: &mut Report<'_>,
    uri: Option<String>,
    names: &[String],
    read_only: bool,
) -> Option<String> {
    let uri = uri?;
    let mut parts = uri.split('{');
    let has_scheme = parts.next().is_some_and(|start| start.contains("://"));
    let knows = |part: &str| {
        let name = part.split_once('}').map(|(name, _)| name);
        name.is_some_and(|name| names.iter().any(|known| known == name))
    };
    let fault = if !read_only {
        "Only a tool that reads can be a resource: add kind = \"read\"."
    } else if !has_scheme {
        "It must be a URI, such as \"notes://today\"."
    } else if !parts.all(knows) {
        "It has a name in braces that is no parameter of the tool."
    } else {
        return Some(uri);
    };
    report.fault("resource", fault);
    None
}

fn refuse(report: &mut Report<'_>, keys: &Keys, refused: &str, message: &str) {
    for key in refused.split(' ') {
        if keys.written.iter().any(|written| written == key) {
            report.fault(key, message);
        }
    }
}

fn declare(report: &mut Report<'_>, keys: &Keys, schema: &Value) -> Option<ToolDeclaration> {
    if keys.description.trim().is_empty() {
        let message = "It is missing: say what the tool does and when to use it, for the model.";
        report.fault("description", message);
    }
    let mut repairs = Vec::new();
    let declaration = json!({
        "name": report.tool, "description": keys.description, "parametersJsonSchema": schema,
        "displayName": keys.display_name,
    });
    let compiled = compile(&declaration, &mut Names::new(63), &mut repairs);
    // These two are reported as errors already: the name by `check_name`, the description above.
    repairs.retain(|repair| !matches!(&*repair.code, "name" | "no-description"));
    let (declared, fault) = match compiled {
        Ok(declared) => (Some(declared), None),
        Err(fault) => (None, Some(fault)),
    };
    let file = report.file;
    let findings = repairs.into_iter().chain(fault);
    report
        .findings
        .extend(findings.map(|finding| finding.in_file(file)));
    declared
}

fn read_kind(report: &mut Report<'_>, keys: &Keys) -> (Kind, bool) {
    let problem = match (keys.kind, keys.read_only) {
        (Some(kind), Some(false)) if kind.is_read_only() => "only reads",
        (Some(Kind::Edit | Kind::Delete | Kind::Move), Some(true)) => "changes things",
        _ => "",
    };
    if !problem.is_empty() {
        let message = format!("A tool of this \"kind\" {problem}; correct one of the two.");
        report.fault("read_only", message);
    }
    let read_only = keys.read_only;
    let read_only = read_only.unwrap_or(keys.kind.is_some_and(Kind::is_read_only));
    let otherwise = if read_only { Kind::Read } else { Kind::Execute };
    (keys.kind.unwrap_or(otherwise), read_only)
}

fn read_action(
    report: &mut Report<'_>,
    keys: &Keys,
    names: &[String],
    properties: &Value,
) -> Option<Action> {
    if keys.args.is_some() && keys.script.is_none() {
        let message = "It gives a \"script\" its $1, $2 and so on; there is none.";
        report.fault("args", message);
    }
    match (&keys.command, &keys.script) {
        (Some(_), Some(_)) => {
            let message = "There is a \"command\" as well; a tool has one of the two.";
            report.fault("script", message);
            None
        }
        (Some(command), None) => {
            let template = Template::read(report, "command", command, names)?;
            template.check_command(report, "command", properties)?;
            Some(Action::Command(template))
        }
        (None, Some(script)) => {
            if script.trim().is_empty() || script.contains('\0') {
                report.fault("script", "It is empty, or holds a NUL character.");
                return None;
            }
            let args = keys.args.as_deref().unwrap_or_default();
            let template = Template::read(report, "args", args, names)?;
            Some(Action::Script(script.clone(), template))
        }
        (None, None) => {
            report.fault(
                "command",
                "Nothing says what to run: add command = [\"program\", \"{parameter}\"], or script = \
                 \"…\" for bash, or discovery_command and call_command.",
            );
            None
        }
    }
}

fn read_stdin(report: &mut Report<'_>, stdin: Option<&str>, names: &[String]) -> Option<Stdin> {
    let text = stdin?;
    match (text, text.strip_prefix("param:")) {
        ("args", _) => Some(Stdin::Arguments),
        ("none", _) => Some(Stdin::Nothing),
        (_, Some(name)) if names.iter().any(|n| n == name) => {
            Some(Stdin::Parameter(name.to_owned()))
        }
        (_, Some(name)) => {
            let nearest = nearest(name, names.iter().map(String::as_str));
            report.fault("stdin", format!("There is no parameter {name:?}.{nearest}"));
            None
        }
        _ => {
            let message = format!("{text:?} is not one of \"args\", \"none\" and \"param:NAME\".");
            report.fault("stdin", message);
            None
        }
    }
}

fn read_running(report: &mut Report<'_>, keys: &mut Keys) -> RunSettings {
    let seconds = keys.timeout.unwrap_or(DEFAULT_TIMEOUT_SECS);
    let is_in_range = seconds > 0.0 && seconds <= MAX_TIMEOUT_SECS;
    let timeout = Duration::try_from_secs_f64(seconds).ok();
    let timeout = timeout.filter(|_| is_in_range);
    if timeout.is_none() {
        report.fault(
            "timeout",
            format!("It must be a number of seconds, more than 0 and up to {MAX_TIMEOUT_SECS}."),
        );
    }
    let cwd = keys.cwd.take();
    if let Some(cwd) = &cwd
        && (Path::new(cwd).is_absolute() || cwd.split('/').any(|part| part == ".."))
    {
        report.fault(
            "cwd",
            "It must lie beneath the project's root: give it relative to that, without \"..\".",
        );
    }
    let sandbox = keys
        .sandbox
        .as_deref()
        .map(|name| (name, SandboxMode::from_name(name)));
    if let Some((name, None)) = sandbox {
        let message = format!("{name:?} is not one of {}.", SandboxMode::NAMES.join(", "));
        report.fault("sandbox", message);
    }
    RunSettings {
        timeout: timeout.unwrap_or_default(),
        cwd,
        env: read_env(report, std::mem::take(&mut keys.env)),
        sandbox: sandbox.and_then(|(_, mode)| mode),
    }
}

fn read_env(report: &mut Report<'_>, env: BTreeMap<String, Scalar>) -> Vec<(String, String)> {
    let mut variables = Vec::new();
    for (name, value) in env {
        let is_name = !name.is_empty()
            && !name.starts_with(|c: char| c.is_ascii_digit())
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        let value = match value {
            Scalar::Text(text) => text,
            Scalar::Number(number) => number.to_string(),
        };
        let problem = match is_name {
            true if !value.contains('\0') => {
                variables.push((name, value));
                continue;
            }
            true => "It holds a NUL character.",
            false => "That is not a valid name of a variable.",
        };
        report.fault(&format!("env.{name}"), problem);
    }
    variables
}

/// Reports parameters whose names differ, but whose environment variables would be the same.
fn check_variables(report: &mut Report<'_>, names: &[String]) {
    for (i, name) in names.iter().enumerate() {
        let variable = variable_of(name);
        let mut others = names[..i].iter();
        if let Some(other) = others.find(|other| variable_of(other) == variable) {
            let message =
                format!("It would be {variable} in the environment, as {other:?} is; rename one.");
            report.fault(&format!("params.{name}"), message);
        }
    }
}

fn warn_unused(report: &mut Report<'_>, template: &Template, stdin: &Stdin, names: &[String]) {
    if *stdin == Stdin::Arguments {
        return;
    }
    let used: Vec<&str> = template.parameters().collect();
    for name in names {
        let on_stdin = *stdin == Stdin::Parameter(name.clone());
        if !on_stdin && !used.contains(&name.as_str()) {
            let message = format!(
                "The command does not use it: add \"{{{name}}}\" to it, or stdin = \"args\"."
            );
            report.warn("unused-parameter", &format!("params.{name}"), message);
        }
    }
}

fn read_pair(report: &mut Report<'_>, mut keys: Keys) -> Option<Pair> {
    let message = "A pair has no such key: its own commands say what it declares.";
    refuse(report, &keys, NOT_OF_PAIRS, message);
    let discovery = read_words(report, "discovery_command", keys.discovery_command.take());
    let call = read_words(report, "call_command", keys.call_command.take());
    let has_kind = keys.kind.is_some() || keys.read_only.is_some();
    let (kind, read_only) = read_kind(report, &keys);
    let running = read_running(report, &mut keys);
    Some(Pair {
        discovery: discovery?,
        call: call?,
        kind: has_kind.then_some(kind),
        read_only,
        running,
    })
}

fn read_words(
    report: &mut Report<'_>,
    key: &str,
    command: Option<CommandLine>,
) -> Option<Vec<String>> {
    let Some(command) = command else {
        let message = "It is missing: a pair has a discovery_command and a call_command.";
        report.fault(key, message);
        return None;
    };
    let words = match command {
        CommandLine::Line(line) => shlex::split(&line).unwrap_or_default(),
        CommandLine::Words(words) => words,
    };
    if words.first().is_none_or(String::is_empty) {
        report.fault(key, "It names no program, or its quotes are not closed.");
        return None;
    }
    Some(words)
}
