//! Reading a policy file.
//!
//! A fault never lets more run than was meant: a rule that allows and has a fault is left out;
//! one that denies or asks counts without what can't be understood, for more calls then. A file
//! that is not TOML stops every call.

use super::rule::{Condition, Pattern, PatternTarget, RENAMED, Source, is_odd_wildcard};
use super::{Decision, Mode, Rule, Tier, text};
use gemini_tools_builtin_tools::builtin;
use gemini_tools_core::diagnostic::Diagnostic;
use serde_json::Value as Json;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// The rules of a file, and what is wrong with it.
#[derive(Default)]
pub(super) struct Loaded {
    pub(super) rules: Vec<Rule>,
    pub(super) problems: Vec<Diagnostic>,
    pub(super) broken: Option<(PathBuf, Tier, String)>,
}

/// Keys of a rule that are for people.
const FOR_PEOPLE: [&str; 3] = ["name", "description", "comment"];

pub(super) fn read(path: &Path, tier: Tier, text: &str) -> Loaded {
    let mut loaded = Loaded::default();
    let table: Table = match toml::from_str(text) {
        Ok(table) => table,
        Err(e) => {
            let line = e
                .span()
                .map(|span| text[..span.start.min(text.len())].lines().count().max(1));
            let at = line
                .map(|line| format!("line {line}: "))
                .unwrap_or_default();
            let why = format!("{at}{}", e.message().trim());
            loaded.broken = Some((path.to_owned(), tier, why));
            return loaded;
        }
    };
    for (key, value) in &table {
        match (key.as_str(), value) {
            ("rule", Value::Array(rules)) => {
                for (at, rule) in rules.iter().enumerate() {
                    Reader::new(path, tier, at + 1).rule(rule, None, &mut loaded);
                }
            }
            ("safety_checker", Value::Array(rules)) => {
                for (at, rule) in rules.iter().enumerate() {
                    Reader::new(path, tier, at + 1).checker(rule, &mut loaded);
                }
            }
            (key, value) => {
                let what =
                    format!("{key:?} is not a key of policy files; rules are under [[rule]]");
                let rules = match value {
                    Value::Array(rules) => rules.as_slice(),
                    one => std::slice::from_ref(one),
                };
                let tables = rules.iter().enumerate().filter(|(_, rule)| rule.is_table());
                let mut is_rules = false;
                for (at, rule) in tables {
                    if rule.get("decision").is_some() {
                        is_rules = true;
                        Reader::new(path, tier, at + 1).rule(rule, Some(&what), &mut loaded);
                    }
                }
                if !is_rules {
                    loaded.problems.push(fault(path, "", format!("{what}.")));
                }
            }
        }
    }
    loaded
}

/// The file in which Gemini CLI 0.61 keeps the answers "always" of a person.
const KEPT_ANSWERS: &str = "auto-saved.toml";

/// Returns true if a rule is an answer that was kept: one that allows something, in the file for
/// those. A rule that denies or asks is none, whatever its file or priority.
fn is_kept_answer(path: &Path, tier: Tier, decision: Decision) -> bool {
    decision == Decision::Allow
        && matches!(tier, Tier::User | Tier::Workspace)
        && path.file_name().is_some_and(|name| name == KEPT_ANSWERS)
}

/// Reports a rule, or a part of a file, that has no effect as written.
fn fault(file: &Path, key: &str, what: impl Into<String>) -> Diagnostic {
    let problem = Diagnostic::warning("policy-rule", "", key, what).in_file(file);
    problem.advise(
        "The rule does not do what it seems to do; no call may run because of a fault in it.",
        "Correct the rule, or take it out.",
    )
}

/// Reads one rule.
struct Reader<'a> {
    path: &'a Path,
    tier: Tier,
    number: usize,
    faults: Vec<String>,
}

/// The keys of a rule.
#[derive(Default)]
struct Keys {
    tools: Vec<String>,
    server: Option<String>,
    args_pattern: Option<String>,
    prefixes: Option<Vec<String>>,
    regex: Option<String>,
    decision: Option<Decision>,
    priority: Option<u16>,
    modes: Vec<Mode>,
    interactive: Option<bool>,
    annotations: Vec<(String, Json)>,
    allows_redirection: bool,
    is_for_subagent: bool,
    message: Option<String>,
}

impl<'a> Reader<'a> {
    fn new(path: &'a Path, tier: Tier, number: usize) -> Self {
        Self {
            path,
            tier,
            number,
            faults: Vec::new(),
        }
    }

    fn fault(&mut self, key: &str, what: &str) {
        self.faults.push(format!("{key} {what}"));
    }

    fn rule(mut self, value: &Value, fault: Option<&str>, loaded: &mut Loaded) {
        self.faults.extend(fault.map(str::to_owned));
        let Some(table) = value.as_table() else {
            self.fault("the rule", "is not a table");
            return self.report("it is left out", loaded);
        };
        let mut keys = self.keys(table);
        let decision = keys.decision.unwrap_or_else(|| {
            if !table.contains_key("decision") {
                self.fault("decision", "is missing");
            }
            Decision::Deny
        });
        let priority = keys.priority.unwrap_or_else(|| {
            if !table.contains_key("priority") {
                self.fault("priority", "is missing");
            }
            999
        });
        let has_command = keys.prefixes.is_some() || keys.regex.is_some();
        if keys.tools.is_empty() && !table.contains_key("toolName") {
            if has_command {
                keys.tools.push("run_shell_command".to_owned());
            } else if keys.server.is_some() {
                keys.tools.push("*".to_owned());
            } else {
                self.fault("toolName", "is missing");
            }
        }
        if keys.tools.is_empty() {
            keys.tools.push("*".to_owned());
        }
        let condition = self.condition(&mut keys);
        if decision == Decision::Allow {
            self.report_names(&keys, loaded);
        }
        if self.tier == Tier::Extension && decision == Decision::Allow {
            self.fault("decision", "is \"allow\", which an extension may not say");
        }
        if self.tier == Tier::Extension && keys.modes.contains(&Mode::Yolo) {
            self.fault(
                "modes",
                "has \"yolo\", for which an extension may not say anything",
            );
            return self.report("it is left out", loaded);
        }
        let is_faulty = !self.faults.is_empty();
        if is_faulty && decision == Decision::Allow {
            return self.report("it is left out", loaded);
        }
        let text = shown(self.number, table);
        let faults = is_faulty.then(|| self.faults.join("; "));
        loaded.rules.push(Rule {
            tools: keys.tools,
            server: keys.server,
            condition,
            modes: keys.modes,
            interactive: keys.interactive,
            annotations: keys.annotations,
            allows_redirection: keys.allows_redirection,
            is_for_subagent: keys.is_for_subagent,
            message: keys.message,
            source: Source {
                file: Some(self.path.to_owned()),
                number: Some(self.number),
                text,
                faults,
                is_kept_answer: is_kept_answer(self.path, self.tier, decision),
            },
            ..Rule::new(decision, self.tier, priority)
        });
        if is_faulty {
            let how = format!("it counts as {} without that", decision.name());
            self.report(&how, loaded);
        }
    }

    /// A checker that Gemini CLI would ask besides. Paths are held within the workspace by our
    /// tools themselves; programs are not asked, so that what they guard may not run.
    fn checker(mut self, value: &Value, loaded: &mut Loaded) {
        let own = value.get("checker");
        let kind = own.and_then(|c| c.get("type")).and_then(Value::as_str);
        if kind == Some("in-process") {
            return;
        }
        let Some(table) = value.as_table() else {
            self.fault("the safety checker", "is not a table");
            return self.report("it is left out", loaded);
        };
        let mut table = table.clone();
        table.remove("checker");
        table.remove("priority");
        let mut keys = self.keys(&table);
        let condition = self.condition(&mut keys);
        self.fault(
            "the safety checker",
            "is a program, which only Gemini CLI asks",
        );
        loaded.rules.push(Rule {
            tools: if keys.tools.is_empty() {
                vec!["*".to_owned()]
            } else {
                keys.tools
            },
            server: keys.server,
            condition,
            modes: keys.modes,
            annotations: keys.annotations,
            message: Some("A safety checker guards it, which only Gemini CLI can ask.".to_owned()),
            source: Source {
                file: Some(self.path.to_owned()),
                number: Some(self.number),
                text: format!("safety checker {}", self.number),
                ..Source::default()
            },
            ..Rule::new(Decision::Deny, Tier::Admin, 999)
        });
        self.report("what it guards may not run", loaded);
    }

    /// Names that fit nothing in a rule that allows, because they don't in Gemini CLI.
    fn report_names(&self, keys: &Keys, loaded: &mut Loaded) {
        for tool in &keys.tools {
            let why = if is_odd_wildcard(tool, keys.server.is_some()) {
                "a rule that allows has no wildcards but \"*\", \"mcp_*\", \"mcp_SERVER_*\" and \
                 \"mcp_*_TOOL\""
                    .to_owned()
            } else {
                match builtin::find(tool).map(|known| known.name) {
                    Some(name)
                        if name != tool
                            && keys.server.is_none()
                            && !RENAMED.contains(&tool.as_str()) =>
                    {
                        format!("in a rule that allows, the tool is called {name}")
                    }
                    _ => continue,
                }
            };
            let what = format!("toolName {tool:?} allows nothing: {why}.");
            loaded.problems.push(self.problem(what));
        }
    }

    fn report(&self, how: &str, loaded: &mut Loaded) {
        let what = format!("{}; {how}.", self.faults.join("; "));
        loaded.problems.push(self.problem(what));
    }

    fn problem(&self, what: String) -> Diagnostic {
        fault(self.path, &format!("rule {}", self.number), what)
    }

    fn keys(&mut self, table: &Table) -> Keys {
        let mut keys = Keys::default();
        for (key, value) in table {
            match key.as_str() {
                "toolName" => keys.tools = self.texts(key, value).unwrap_or_default(),
                "mcpName" => keys.server = self.text(key, value),
                "argsPattern" => keys.args_pattern = self.text(key, value),
                "commandPrefix" => keys.prefixes = self.texts(key, value),
                "commandRegex" => keys.regex = self.text(key, value),
                "decision" => keys.decision = self.decision(value),
                "priority" => keys.priority = self.priority(value),
                "modes" => keys.modes = self.modes(value),
                "interactive" => keys.interactive = self.truth(key, value),
                "allowRedirection" | "allow_redirection" => {
                    keys.allows_redirection = self.truth(key, value).unwrap_or_default();
                }
                "denyMessage" | "deny_message" => keys.message = self.text(key, value),
                "toolAnnotations" => keys.annotations = self.annotations(value),
                "subagent" => keys.is_for_subagent = self.text(key, value).is_some(),
                other if FOR_PEOPLE.contains(&other) => {}
                other => self.fault(&format!("{other:?}"), "is not a key of rules"),
            }
        }
        keys
    }

    fn text(&mut self, key: &str, value: &Value) -> Option<String> {
        let text = value.as_str().filter(|text| !text.is_empty());
        if text.is_none() {
            self.fault(key, "must be a string that is not empty");
        }
        text.map(str::to_owned)
    }

    fn texts(&mut self, key: &str, value: &Value) -> Option<Vec<String>> {
        let items = match value {
            Value::Array(items) => items.as_slice(),
            one => std::slice::from_ref(one),
        };
        let texts: Option<Vec<String>> = items
            .iter()
            .map(|item| item.as_str().filter(|t| !t.is_empty()).map(str::to_owned))
            .collect();
        match texts {
            Some(texts) if !texts.is_empty() => Some(texts),
            _ => {
                self.fault(key, "must be a string that is not empty, or a list of such");
                None
            }
        }
    }

    fn truth(&mut self, key: &str, value: &Value) -> Option<bool> {
        if value.as_bool().is_none() {
            self.fault(key, "must be true or false");
        }
        value.as_bool()
    }

    fn decision(&mut self, value: &Value) -> Option<Decision> {
        match value.as_str() {
            Some("allow") => Some(Decision::Allow),
            Some("deny") => Some(Decision::Deny),
            Some("ask_user") => Some(Decision::AskUser),
            _ => {
                let what = format!(
                    "is {}; it must be \"allow\", \"deny\" or \"ask_user\"",
                    plain(value)
                );
                self.fault("decision", &what);
                None
            }
        }
    }

    fn priority(&mut self, value: &Value) -> Option<u16> {
        let number = match value {
            Value::Integer(n) => u16::try_from(*n).ok(),
            Value::Float(x) if x.fract() == 0.0 && (0.0..=999.0).contains(x) => Some(*x as u16),
            _ => None,
        };
        let number = number.filter(|n| *n <= 999);
        if number.is_none() {
            self.fault(
                "priority",
                &format!(
                    "is {}; it must be a whole number from 0 to 999",
                    plain(value)
                ),
            );
        }
        number
    }

    fn modes(&mut self, value: &Value) -> Vec<Mode> {
        let mut modes = Vec::new();
        let Some(items) = value.as_array() else {
            self.fault("modes", "must be a list");
            return modes;
        };
        for item in items {
            match item.as_str() {
                Some("default") => modes.push(Mode::Default),
                Some("autoEdit" | "auto_edit") => modes.push(Mode::AutoEdit),
                Some("yolo") => modes.push(Mode::Yolo),
                Some("plan") => modes.push(Mode::Plan),
                _ => {
                    let what = format!(
                        "has {}; there are default, autoEdit, yolo and plan",
                        plain(item)
                    );
                    self.fault("modes", &what);
                    // For all of them.
                    return Vec::new();
                }
            }
        }
        modes
    }

    fn annotations(&mut self, value: &Value) -> Vec<(String, Json)> {
        let Some(table) = value.as_table() else {
            self.fault("toolAnnotations", "must be a table");
            return Vec::new();
        };
        let mut own = Vec::new();
        for (key, value) in table {
            match value {
                Value::String(s) => own.push((key.clone(), Json::from(s.as_str()))),
                Value::Integer(n) => own.push((key.clone(), Json::from(*n))),
                Value::Float(x) => own.push((key.clone(), Json::from(*x))),
                Value::Boolean(b) => own.push((key.clone(), Json::from(*b))),
                _ => self.fault("toolAnnotations", &format!("can't be compared with {key}")),
            }
        }
        own
    }

    fn condition(&mut self, keys: &mut Keys) -> Condition {
        let has_command = keys.prefixes.is_some() || keys.regex.is_some();
        let is_shell = |tool: &String| matches!(&**tool, "run_shell_command" | "ShellTool");
        if has_command && !keys.tools.iter().all(is_shell) {
            self.fault(
                "commandPrefix and commandRegex",
                "are for toolName = \"run_shell_command\" only",
            );
            return Condition::None;
        }
        if u8::from(keys.args_pattern.is_some())
            + u8::from(keys.prefixes.is_some())
            + u8::from(keys.regex.is_some())
            > 1
        {
            self.fault(
                "argsPattern, commandPrefix and commandRegex",
                "can't stand together",
            );
            return Condition::None;
        }
        if let Some(prefixes) = keys.prefixes.take() {
            return Condition::Prefixes(prefixes);
        }
        let (key, pattern, about) = match (keys.regex.take(), keys.args_pattern.take()) {
            (Some(regex), _) => {
                let about =
                    first_word(&regex).map_or(PatternTarget::Commands, PatternTarget::CommandsOf);
                ("commandRegex", format!("\"command\":\"{regex}"), about)
            }
            (None, Some(pattern)) => {
                let is_about = keys.tools.iter().all(is_shell) && pattern.contains("command");
                let about = if is_about {
                    PatternTarget::Commands
                } else {
                    PatternTarget::Arguments
                };
                ("argsPattern", pattern, about)
            }
            (None, None) => return Condition::None,
        };
        match text::compile(&pattern) {
            Ok(_) if keys.decision == Some(Decision::Allow) && text::is_refused(&pattern) => {
                self.fault(
                    key,
                    "repeats what repeats itself; Gemini CLI does not take such a rule",
                );
                Condition::None
            }
            Ok(regex) => Condition::Pattern(Pattern { regex, about }),
            Err(e) => {
                self.fault(key, &format!("is not a valid regular expression: {e}"));
                Condition::None
            }
        }
    }
}

/// The word with which a text must begin that an expression fits, where it is one word.
fn first_word(regex: &str) -> Option<String> {
    let end = regex.find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '_' | '-'))?;
    let (word, rest) = regex.split_at(end);
    let ends = rest.starts_with([' ', '"']) || rest.starts_with("\\s+") || rest.starts_with("\\b");
    // An alternative at the outermost level begins with something else.
    (ends && !word.is_empty() && !regex.contains('|') || ends && is_within_group(regex))
        .then(|| word.to_owned())
        .filter(|word| !word.is_empty())
}

/// Returns true if each `|` is in a group.
fn is_within_group(regex: &str) -> bool {
    let mut depth = 0_usize;
    let mut chars = regex.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => {
                chars.next();
            }
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            '|' if depth == 0 => return false,
            _ => {}
        }
    }
    true
}

/// A rule in one line.
fn shown(number: usize, table: &Table) -> String {
    let mut text = format!("rule {number}");
    let mut gap = ": ";
    for key in [
        "name",
        "toolName",
        "mcpName",
        "toolAnnotations",
        "argsPattern",
        "commandPrefix",
        "commandRegex",
        "decision",
    ] {
        let Some(value) = table.get(key) else {
            continue;
        };
        let short: String = plain(value).chars().take(200).collect();
        let _ = write!(text, "{gap}{key} = {short}");
        gap = ", ";
    }
    text
}

/// A value in one line.
fn plain(value: &Value) -> String {
    serde_json::to_string(value).unwrap_or_default()
}
