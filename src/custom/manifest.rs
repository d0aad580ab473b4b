//! What a tool's file says: the keys, and every fault told with its key and what to do.

use super::words::{TOOL_DIR, Template};
use crate::process::sandbox::Mode;
use crate::tool::{Kind, Schema};
use serde_json::{Map, Value, json};
use std::path::Path;
use std::time::Duration;
use toml::{Table, Value as Toml};

/// All keys of a manifest.
const KEYS: [&str; 16] = [
    "description",
    "display_name",
    "kind",
    "read_only",
    "parameters",
    "params",
    "command",
    "script",
    "stdin",
    "output",
    "timeout",
    "cwd",
    "env",
    "sandbox",
    "success_statuses",
    "streaming",
];

/// The keys of one parameter in the short form, and the schema's name for each.
const PARAM_KEYS: [(&str, &str); 15] = [
    ("type", "type"),
    ("description", "description"),
    ("default", "default"),
    ("required", "required"),
    ("enum", "enum"),
    ("minimum", "minimum"),
    ("maximum", "maximum"),
    ("items", "items"),
    ("min_length", "minLength"),
    ("max_length", "maxLength"),
    ("min_items", "minItems"),
    ("max_items", "maxItems"),
    ("pattern", "pattern"),
    ("properties", "properties"),
    ("format", "format"),
];

const TYPES: [&str; 6] = ["string", "integer", "number", "boolean", "array", "object"];

/// The time limit where a manifest says nothing.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(120);

/// The longest time limit.
const MAX_TIMEOUT: f64 = 3600.0;

/// What a tool's file says.
#[derive(Debug, Clone)]
pub(super) struct Manifest {
    pub(super) description: String,
    pub(super) display_name: Option<String>,
    pub(super) kind: Kind,
    pub(super) read_only: bool,
    /// A JSON Schema of an object.
    pub(super) parameters: Value,
    pub(super) action: Action,
    pub(super) stdin: Stdin,
    pub(super) output: Output,
    pub(super) timeout: Duration,
    pub(super) cwd: Option<String>,
    pub(super) env: Vec<(String, String)>,
    pub(super) sandbox: Mode,
    pub(super) success_statuses: Vec<i32>,
    pub(super) streaming: bool,
}

/// What is run.
#[derive(Debug, Clone)]
pub(super) enum Action {
    Command(Template),
    /// For bash.
    Script(String),
    /// The file itself.
    Itself,
}

/// What the program finds on standard input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Stdin {
    Args,
    Nothing,
    Param(String),
}

/// What is made of what it prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Output {
    Text,
    Json,
    ToolResult,
}

/// Reads a manifest, or the block of the script at `script`.
///
/// # Errors
///
/// Every fault, as a sentence.
pub(super) fn parse(text: &str, script: Option<&Path>) -> Result<Manifest, Vec<String>> {
    let table = text.parse::<Table>().map_err(|e| {
        let line = e
            .span()
            .map(|span| text[..span.start.min(text.len())].matches('\n').count() + 1);
        let line = line.map_or_else(String::new, |line| format!("line {line}: "));
        let message = e.message().trim().replace('\n', " ");
        vec![format!("{line}this is not valid TOML: {message}.")]
    })?;
    let mut reader = Reader {
        table,
        faults: Vec::new(),
    };
    let manifest = reader.manifest(script.is_some());
    if reader.faults.is_empty() {
        return Ok(manifest);
    }
    Err(reader.faults)
}

/// The environment variable in which a parameter arrives.
pub(super) fn variable(param: &str) -> String {
    let upper = param.chars().map(|c| {
        if c.is_ascii_alphanumeric() {
            c.to_ascii_uppercase()
        } else {
            '_'
        }
    });
    format!("TOOL_{}", upper.collect::<String>())
}

struct Reader {
    table: Table,
    faults: Vec<String>,
}

impl Reader {
    fn fault(&mut self, key: &str, what: &str) {
        self.faults.push(format!("{key}: {what}"));
    }

    fn manifest(&mut self, is_script: bool) -> Manifest {
        self.check_keys();
        let description = self.description();
        let parameters = self.parameters();
        let names: Vec<String> = names_of(&parameters);
        let action = self.action(is_script);
        if let Action::Command(template) = &action {
            let unknown: Vec<_> = template
                .params()
                .filter(|param| !names.iter().any(|name| name == param))
                .map(|param| unknown("parameter", param, names.iter().map(String::as_str)))
                .collect();
            for what in unknown {
                self.fault("command", &what);
            }
        }
        let (kind, read_only) = self.kind();
        Manifest {
            description,
            display_name: self.text("display_name"),
            kind,
            read_only,
            parameters,
            stdin: self.stdin(&names, is_script),
            action,
            output: self.output(),
            timeout: self.timeout(),
            cwd: self.cwd(),
            env: self.env(),
            sandbox: self.sandbox(),
            success_statuses: self.success_statuses(),
            streaming: self.flag("streaming").unwrap_or(false),
        }
    }

    fn check_keys(&mut self) {
        let odd: Vec<String> = self
            .table
            .keys()
            .filter(|key| !KEYS.contains(&key.as_str()))
            .cloned()
            .collect();
        for key in odd {
            let what = unknown("key", &key, KEYS.into_iter());
            self.fault(&key, &what);
        }
    }

    /// A value that must be a text and not empty.
    fn text(&mut self, key: &str) -> Option<String> {
        match self.table.remove(key)? {
            Toml::String(text) if !text.trim().is_empty() => Some(text),
            Toml::String(_) => {
                self.fault(key, "it is empty; give a text or leave the key out.");
                None
            }
            other => {
                let what = format!("it must be a text, but it is {}.", describe(&other));
                self.fault(key, &what);
                None
            }
        }
    }

    fn flag(&mut self, key: &str) -> Option<bool> {
        match self.table.remove(key)? {
            Toml::Boolean(flag) => Some(flag),
            other => {
                let what = format!("it must be true or false, but it is {}.", describe(&other));
                self.fault(key, &what);
                None
            }
        }
    }

    fn description(&mut self) -> String {
        if !self.table.contains_key("description") {
            self.fault(
                "description",
                "it is missing; say what the tool does and when to use it.",
            );
        }
        let text = self.text("description").unwrap_or_default();
        if let Some(odd) = text.chars().find(|c| is_invisible(*c)) {
            let what = format!(
                "it holds the invisible character U+{:04X}, by which a model could be told what \
                 nobody sees; take it out.",
                odd as u32
            );
            self.fault("description", &what);
        }
        text.trim().to_owned()
    }

    fn kind(&mut self) -> (Kind, bool) {
        let read_only = self.flag("read_only");
        let kind = self.text("kind").and_then(|name| {
            let kind = Kind::ALL.into_iter().find(|kind| name_of(*kind) == name);
            if kind.is_none() {
                let names: Vec<String> = Kind::ALL.into_iter().map(name_of).collect();
                let what = format!("{name:?} is none; use one of {}.", names.join(", "));
                self.fault("kind", &what);
            }
            kind
        });
        if let (Some(kind), Some(true)) = (kind, read_only)
            && kind.is_mutator()
        {
            let what = format!(
                "a tool of kind {} changes things; leave out one of both.",
                name_of(kind)
            );
            self.fault("read_only", &what);
        }
        let default = if read_only == Some(true) {
            Kind::Read
        } else {
            Kind::Other
        };
        let kind = kind.unwrap_or(default);
        (kind, read_only.unwrap_or_else(|| kind.is_read_only()))
    }

    fn parameters(&mut self) -> Value {
        let schema = match (self.table.remove("parameters"), self.table.remove("params")) {
            (Some(_), Some(_)) => {
                self.fault("params", "parameters is there as well; use one of both.");
                json!({})
            }
            (Some(Toml::Table(table)), None) => to_json(Toml::Table(table)),
            (None, Some(Toml::Table(table))) => self.short_form(table),
            (None, None) => json!({}),
            (Some(other), None) => {
                let what = format!("it must be a table, but it is {}.", describe(&other));
                self.fault("parameters", &what);
                json!({})
            }
            (None, Some(other)) => {
                let what = format!(
                    "it must be a table for each parameter, such as [params.path], but it is {}.",
                    describe(&other)
                );
                self.fault("params", &what);
                json!({})
            }
        };
        let Value::Object(mut schema) = schema else {
            return json!({});
        };
        let kind = schema.entry("type").or_insert_with(|| "object".into());
        if kind != "object" {
            let what = format!("the type must be \"object\", but it is {kind}.");
            self.fault("parameters", &what);
        }
        let properties = schema.entry("properties").or_insert_with(|| json!({}));
        let properties = properties.as_object().cloned().unwrap_or_default();
        self.check_properties(&properties, schema.get("required"));
        Value::Object(schema)
    }

    fn check_properties(&mut self, properties: &Map<String, Value>, required: Option<&Value>) {
        let mut variables: Vec<(String, &str)> = Vec::new();
        for (name, schema) in properties {
            let key = format!("params.{name}");
            let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
            if name.is_empty()
                || !name.chars().all(is_name)
                || name.starts_with(['-'])
                || name.starts_with(|c: char| c.is_ascii_digit())
            {
                self.fault(
                    &key,
                    "a name holds A-Z a-z 0-9 _ - and begins with a letter or _.",
                );
            }
            if name == TOOL_DIR {
                self.fault(
                    &key,
                    "this name is taken; {tool_dir} is the tool's directory.",
                );
            }
            let variable = variable(name);
            if let Some((_, other)) = variables.iter().find(|(v, _)| *v == variable) {
                let what =
                    format!("it would be the same variable {variable} as {other}; rename one.");
                self.fault(&key, &what);
            }
            variables.push((variable, name));
            self.check_schema(&key, schema);
            if let Some(default) = schema.get("default")
                && let Err(e) = Schema::from_value(schema.clone()).validate(default)
            {
                let e = e.message.replace("The arguments", "it");
                self.fault(&format!("{key}.default"), &e);
            }
        }
        for name in required.and_then(Value::as_array).into_iter().flatten() {
            if name
                .as_str()
                .is_none_or(|name| !properties.contains_key(name))
            {
                let what = format!("{name} is required but no property.");
                self.fault("parameters", &what);
            }
        }
    }

    /// What a validator would silently pass over.
    fn check_schema(&mut self, key: &str, schema: &Value) {
        let Some(map) = schema.as_object() else {
            if !schema.is_boolean() {
                self.fault(key, "it must be a table that describes the parameter.");
            }
            return;
        };
        let types = match map.get("type") {
            Some(Value::Array(types)) => types.clone(),
            Some(one) => vec![one.clone()],
            None => Vec::new(),
        };
        for name in types {
            let is_known = |name: &str| TYPES.contains(&name) || name == "null";
            if !name.as_str().is_some_and(is_known) {
                let what = format!("{name} is none; use one of {}.", TYPES.join(", "));
                self.fault(&format!("{key}.type"), &what);
            }
        }
        if let Some(pattern) = map.get("pattern")
            && let Some(Err(e)) = pattern.as_str().map(crate::tool::check_pattern)
        {
            self.fault(&format!("{key}.pattern"), &format!("{e}."));
        }
        if let Some(items) = map.get("items") {
            self.check_schema(&format!("{key}.items"), items);
        }
        for (name, sub) in map
            .get("properties")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
        {
            self.check_schema(&format!("{key}.{name}"), sub);
        }
    }

    /// `[params.limit] type = "integer"` and so on as a JSON Schema.
    fn short_form(&mut self, params: Table) -> Value {
        let mut properties = Map::new();
        let mut required = Vec::new();
        for (name, value) in params {
            let key = format!("params.{name}");
            let Toml::Table(table) = value else {
                let what = format!(
                    "it must be a table such as {{ type = \"string\" }}, but it is {}.",
                    describe(&value)
                );
                self.fault(&key, &what);
                continue;
            };
            let mut schema = Map::new();
            for (word, value) in table {
                let Some((_, wire)) = PARAM_KEYS
                    .iter()
                    .find(|(own, wire)| *own == word || *wire == word)
                else {
                    let what = unknown("key", &word, PARAM_KEYS.iter().map(|(own, _)| *own));
                    self.fault(&format!("{key}.{word}"), &what);
                    continue;
                };
                match (*wire, value) {
                    ("required", Toml::Boolean(true)) => required.push(Value::from(name.as_str())),
                    ("required", Toml::Boolean(false)) => {}
                    ("required", other) => {
                        let what =
                            format!("it must be true or false, but it is {}.", describe(&other));
                        self.fault(&format!("{key}.required"), &what);
                    }
                    ("items", Toml::String(kind)) => {
                        schema.insert("items".to_owned(), json!({ "type": kind }));
                    }
                    (wire, value) => {
                        schema.insert(wire.to_owned(), to_json(value));
                    }
                }
            }
            let kind = schema.entry("type").or_insert_with(|| "string".into());
            if kind == "array" {
                let items = json!({ "type": "string" });
                schema.entry("items").or_insert(items);
            }
            properties.insert(name, Value::Object(schema));
        }
        let mut schema = json!({ "type": "object", "properties": properties });
        if !required.is_empty() {
            schema["required"] = required.into();
        }
        schema
    }

    fn action(&mut self, is_script: bool) -> Action {
        let command = self.table.remove("command");
        let script = self.text("script");
        match (command, script) {
            (None, None) if is_script => Action::Itself,
            (Some(_), _) | (_, Some(_)) if is_script => {
                let key = "command";
                self.fault(key, "in a script's own block it is the script that is run; leave this and script out.");
                Action::Itself
            }
            (Some(_), Some(_)) => {
                self.fault("script", "command is there as well; use one of both.");
                Action::Itself
            }
            (None, Some(script)) => Action::Script(script),
            (None, None) => {
                // A fault of script is told already.
                if self
                    .faults
                    .iter()
                    .all(|fault| !fault.starts_with("script: "))
                {
                    self.fault(
                        "command",
                        "it is missing; give a list such as [\"grep\", \"-n\", \"--\", \"{text}\"], or script.",
                    );
                }
                Action::Itself
            }
            (Some(Toml::Array(words)), None) => match Template::parse(&words) {
                Ok(template) => Action::Command(template),
                Err(what) => {
                    self.fault("command", &what);
                    Action::Itself
                }
            },
            (Some(other), None) => {
                let what = format!(
                    "it must be a list of words such as [\"ls\", \"{{path}}\"], but it is {}; for a \
                     line of shell use script.",
                    describe(&other)
                );
                self.fault("command", &what);
                Action::Itself
            }
        }
    }

    fn stdin(&mut self, names: &[String], is_script: bool) -> Stdin {
        let default = if is_script {
            Stdin::Args
        } else {
            Stdin::Nothing
        };
        let Some(text) = self.text("stdin") else {
            return default;
        };
        match (text.as_str(), text.strip_prefix("param:")) {
            ("args", _) => Stdin::Args,
            ("none", _) => Stdin::Nothing,
            (_, Some(name)) if names.iter().any(|n| n == name) => Stdin::Param(name.to_owned()),
            (_, Some(name)) => {
                let what = unknown("parameter", name, names.iter().map(String::as_str));
                self.fault("stdin", &what);
                default
            }
            _ => {
                let what = format!("{text:?} is none; use args, none, or param:NAME.");
                self.fault("stdin", &what);
                default
            }
        }
    }

    fn output(&mut self) -> Output {
        match self.text("output").as_deref() {
            None | Some("text") => Output::Text,
            Some("json") => Output::Json,
            Some("tool_result") => Output::ToolResult,
            Some(other) => {
                let what = format!("{other:?} is none; use text, json, or tool_result.");
                self.fault("output", &what);
                Output::Text
            }
        }
    }

    fn timeout(&mut self) -> Duration {
        let Some(value) = self.table.remove("timeout") else {
            return DEFAULT_TIMEOUT;
        };
        let secs = match &value {
            Toml::Integer(n) => Some(*n as f64),
            Toml::Float(n) => Some(*n),
            _ => None,
        };
        let duration = secs
            .filter(|secs| *secs > 0.0 && *secs <= MAX_TIMEOUT)
            .and_then(|secs| Duration::try_from_secs_f64(secs).ok());
        duration.unwrap_or_else(|| {
            let what = format!(
                "it must be a number of seconds from above 0 to {MAX_TIMEOUT}, but it is {}.",
                describe(&value)
            );
            self.fault("timeout", &what);
            DEFAULT_TIMEOUT
        })
    }

    fn cwd(&mut self) -> Option<String> {
        let cwd = self.text("cwd")?;
        let path = Path::new(&cwd);
        let climbs = path
            .components()
            .any(|c| c == std::path::Component::ParentDir);
        if path.is_absolute() || climbs {
            self.fault(
                "cwd",
                "it must lie beneath the project's root; give a relative path.",
            );
        }
        Some(cwd)
    }

    fn env(&mut self) -> Vec<(String, String)> {
        let table = match self.table.remove("env") {
            None => return Vec::new(),
            Some(Toml::Table(table)) => table,
            Some(other) => {
                let what = format!("it must be a table, but it is {}.", describe(&other));
                self.fault("env", &what);
                return Vec::new();
            }
        };
        let mut env = Vec::new();
        for (name, value) in table {
            let key = format!("env.{name}");
            if name.is_empty() || name.contains(['=', '\0']) {
                self.fault(&key, "a variable's name holds no = and is not empty.");
            }
            match value {
                Toml::String(text) if !text.contains('\0') => env.push((name, text)),
                Toml::Integer(_) | Toml::Float(_) | Toml::Boolean(_) => {
                    env.push((name, to_json(value).to_string()));
                }
                other => {
                    let what = format!("it must be a text, but it is {}.", describe(&other));
                    self.fault(&key, &what);
                }
            }
        }
        env
    }

    fn sandbox(&mut self) -> Mode {
        let Some(name) = self.text("sandbox") else {
            return Mode::Off;
        };
        Mode::from_name(&name).unwrap_or_else(|| {
            let what = format!("{name:?} is none; use one of {}.", Mode::NAMES.join(", "));
            self.fault("sandbox", &what);
            Mode::Off
        })
    }

    fn success_statuses(&mut self) -> Vec<i32> {
        let Some(value) = self.table.remove("success_statuses") else {
            return vec![0];
        };
        let status = |value: &Toml| {
            let status = value
                .as_integer()
                .filter(|status| (0..=255).contains(status))?;
            i32::try_from(status).ok()
        };
        let list: Option<Vec<i32>> = value
            .as_array()
            .and_then(|list| list.iter().map(status).collect());
        list.filter(|list| !list.is_empty()).unwrap_or_else(|| {
            self.fault(
                "success_statuses",
                "it must be a list of exit statuses from 0 to 255 such as [0, 1].",
            );
            vec![0]
        })
    }
}

fn names_of(schema: &Value) -> Vec<String> {
    let properties = schema.get("properties").and_then(Value::as_object);
    properties
        .into_iter()
        .flat_map(|properties| properties.keys().cloned())
        .collect()
}

fn name_of(kind: Kind) -> String {
    match serde_json::to_value(kind) {
        Ok(Value::String(name)) => name,
        _ => String::new(),
    }
}

/// That something is not known, and what was perhaps meant.
fn unknown<'a>(what: &str, name: &str, known: impl Iterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.collect();
    let near = known
        .iter()
        .map(|other| (strsim::normalized_damerau_levenshtein(name, other), other))
        .filter(|(score, _)| *score >= 0.5)
        .max_by(|a, b| a.0.total_cmp(&b.0));
    match near {
        Some((_, near)) => format!("there is no {what} {name:?}; did you mean {near:?}?"),
        None if known.is_empty() => format!("there is no {what} {name:?}; the tool has none."),
        None => format!(
            "there is no {what} {name:?}; use one of {}.",
            known.join(", ")
        ),
    }
}

fn describe(value: &Toml) -> String {
    match value {
        Toml::String(text) if text.chars().count() <= 40 => format!("the text {text:?}"),
        Toml::String(_) => "a text".to_owned(),
        Toml::Integer(n) => format!("the number {n}"),
        Toml::Float(n) => format!("the number {n}"),
        Toml::Boolean(flag) => flag.to_string(),
        Toml::Datetime(_) => "a date".to_owned(),
        Toml::Array(_) => "a list".to_owned(),
        Toml::Table(_) => "a table".to_owned(),
    }
}

fn to_json(value: Toml) -> Value {
    match value {
        Toml::String(text) => text.into(),
        Toml::Integer(n) => n.into(),
        Toml::Float(n) => n.into(),
        Toml::Boolean(flag) => flag.into(),
        Toml::Datetime(date) => date.to_string().into(),
        Toml::Array(list) => list.into_iter().map(to_json).collect(),
        Toml::Table(table) => {
            let map = table.into_iter().map(|(key, value)| (key, to_json(value)));
            Value::Object(map.collect())
        }
    }
}

/// Characters that are not seen but that a model reads, or that turn the rest round.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\0'..='\u{8}' | '\u{b}'..='\u{1f}' | '\u{7f}'..='\u{9f}'
        | '\u{ad}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}
