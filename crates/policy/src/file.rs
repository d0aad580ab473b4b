//! Reading a policy file.
//!
//! A fault never lets more run than was meant: a rule that allows and has a fault is left out;
//! one that denies or asks counts without what can't be understood, for more calls then. A file
//! that is not TOML stops every call.

use super::rule::{Condition, Pattern, PatternTarget, RENAMED, Source, is_odd_wildcard};
use super::shell::is_shell;
use super::{Decision, Mode, Rule, Tier, text};
use gemini_tools_builtin_tools::builtin;
use gemini_tools_core::diagnostic::Diagnostic;
use serde::de::{Error, IgnoredAny};
use serde::{Deserialize, Deserializer};
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use toml::{Table, Value};

/// The rules of a policy file, and what is wrong with it.
#[derive(Default)]
pub(super) struct FileRules {
    pub(super) rules: Vec<Rule>,
    pub(super) problems: Vec<Diagnostic>,
}

/// Reads a policy file.
///
/// # Errors
///
/// Returns the place and the reason if it is not TOML.
pub(super) fn read(path: &Path, tier: Tier, text: &str) -> Result<FileRules, String> {
    let table: Table = toml::from_str(text).map_err(|e| {
        let line = e
            .span()
            .map(|span| text[..span.start.min(text.len())].lines().count().max(1));
        let at = line.map_or(String::new(), |line| format!("line {line}: "));
        format!("{at}{}", e.message().trim())
    })?;
    let mut read = FileRules::default();
    for (key, value) in &table {
        let rules = match value {
            Value::Array(rules) => rules.as_slice(),
            one => std::slice::from_ref(one),
        };
        let is_rules = matches!(
            (key.as_str(), value),
            ("rule" | "safety_checker", Value::Array(_))
        );
        let what = format!("{key:?} is not a key of policy files; rules are under [[rule]]");
        let has_decision = |rule: &Value| rule.get("decision").is_some();
        if !is_rules && !rules.iter().any(has_decision) {
            read.problems.push(fault(path, "", format!("{what}.")));
            continue;
        }
        for (at, rule) in rules.iter().enumerate() {
            let mut reader = RuleReader {
                path,
                tier,
                number: at + 1,
                faults: Vec::new(),
            };
            if is_rules && key == "safety_checker" {
                reader.checker(rule, &mut read);
            } else if is_rules || has_decision(rule) {
                reader.faults.extend((!is_rules).then(|| what.clone()));
                reader.rule(rule, &mut read);
            }
        }
    }
    Ok(read)
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

/// The keys of a rule.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
struct Keys {
    #[serde(deserialize_with = "texts")]
    tool_name: Vec<String>,
    #[serde(deserialize_with = "text_of")]
    mcp_name: Option<String>,
    #[serde(deserialize_with = "text_of")]
    args_pattern: Option<String>,
    #[serde(deserialize_with = "texts")]
    command_prefix: Vec<String>,
    #[serde(deserialize_with = "text_of")]
    command_regex: Option<String>,
    decision: Option<Decision>,
    #[serde(deserialize_with = "priority")]
    priority: Option<u16>,
    #[serde(deserialize_with = "modes")]
    modes: Vec<Mode>,
    interactive: Option<bool>,
    tool_annotations: BTreeMap<String, Json>,
    #[serde(alias = "allow_redirection")]
    allow_redirection: bool,
    #[serde(alias = "deny_message", deserialize_with = "text_of")]
    deny_message: Option<String>,
    #[serde(deserialize_with = "text_of")]
    subagent: Option<String>,
    /// For people, as are the next two.
    #[serde(rename = "name")]
    _name: IgnoredAny,
    #[serde(rename = "description")]
    _description: IgnoredAny,
    #[serde(rename = "comment")]
    _comment: IgnoredAny,
}

fn text_of<'de, D: Deserializer<'de>>(value: D) -> Result<Option<String>, D::Error> {
    match Value::deserialize(value)? {
        Value::String(text) if !text.is_empty() => Ok(Some(text)),
        _ => Err(D::Error::custom("it must be a string that is not empty")),
    }
}

fn texts<'de, D: Deserializer<'de>>(value: D) -> Result<Vec<String>, D::Error> {
    let items = match Value::deserialize(value)? {
        Value::Array(items) => items,
        one => vec![one],
    };
    let text = |item: &Value| item.as_str().filter(|t| !t.is_empty()).map(str::to_owned);
    let texts: Option<Vec<String>> = items.iter().map(text).collect();
    let wrong = "it must be a string that is not empty, or a list of such";
    let texts = texts.filter(|texts| !texts.is_empty());
    texts.ok_or_else(|| D::Error::custom(wrong))
}

fn modes<'de, D: Deserializer<'de>>(value: D) -> Result<Vec<Mode>, D::Error> {
    let mode = |name: &String| match name.as_str() {
        "autoEdit" => Ok(Mode::AutoEdit),
        name => Mode::from_name(name).ok_or_else(|| {
            let what = format!("{name:?} is none of default, autoEdit, yolo and plan");
            D::Error::custom(what)
        }),
    };
    Vec::<String>::deserialize(value)?
        .iter()
        .map(mode)
        .collect()
}

fn priority<'de, D: Deserializer<'de>>(value: D) -> Result<Option<u16>, D::Error> {
    match f64::deserialize(value)? {
        number if number.fract() == 0.0 && (0.0..=999.0).contains(&number) => {
            Ok(Some(number as u16))
        }
        number => Err(D::Error::custom(format!(
            "it is {number}; it must be a whole number from 0 to 999"
        ))),
    }
}

/// A reader of one rule.
struct RuleReader<'a> {
    path: &'a Path,
    tier: Tier,
    number: usize,
    faults: Vec<String>,
}

impl RuleReader<'_> {
    fn rule(mut self, value: &Value, read: &mut FileRules) {
        let Some(table) = value.as_table() else {
            self.faults.push("the rule is not a table".to_owned());
            return self.report("it is left out", read);
        };
        let mut keys = self.keys(table);
        let decision = keys.decision.unwrap_or(Decision::Deny);
        self.add_tools(&mut keys, table);
        let condition = self.condition(&keys);
        let restricts_only = self.tier == Tier::Extension;
        if decision == Decision::Allow {
            self.report_names(&keys, read);
            if restricts_only {
                let what = "decision is \"allow\", which an extension may not say";
                self.faults.push(what.to_owned());
            }
        }
        let is_of_yolo = restricts_only && keys.modes.contains(&Mode::Yolo);
        if is_of_yolo {
            let what = "modes has \"yolo\", for which an extension may not say anything";
            self.faults.push(what.to_owned());
        }
        let is_faulty = !self.faults.is_empty();
        if is_of_yolo || is_faulty && decision == Decision::Allow {
            return self.report("it is left out", read);
        }
        read.rules.push(Rule {
            tools: keys.tool_name,
            server: keys.mcp_name,
            condition,
            modes: keys.modes,
            interactive: keys.interactive,
            annotations: keys.tool_annotations.into_iter().collect(),
            allows_redirection: keys.allow_redirection,
            is_for_subagent: keys.subagent.is_some(),
            message: keys.deny_message,
            source: Source {
                file: Some(self.path.to_owned()),
                number: Some(self.number),
                text: summary(self.number, table),
                faults: is_faulty.then(|| self.faults.join("; ")),
                is_kept_answer: is_kept_answer(self.path, self.tier, decision),
            },
            ..Rule::new(decision, self.tier, keys.priority.unwrap_or(999))
        });
        if is_faulty {
            let how = format!("it counts as {} without that", decision.name());
            self.report(&how, read);
        }
    }

    /// Reads a checker that Gemini CLI would ask besides, as a rule that denies: programs are not
    /// asked, so that what they guard may not run. Paths are held within the workspace by our tools
    /// themselves.
    fn checker(mut self, value: &Value, read: &mut FileRules) {
        let own = value.get("checker");
        if own.and_then(|c| c.get("type")).and_then(Value::as_str) == Some("in-process") {
            return;
        }
        let mut table = value.as_table().cloned().unwrap_or_default();
        table.remove("checker");
        table.insert("decision".to_owned(), "deny".into());
        table.insert("priority".to_owned(), 999.into());
        let message = "A safety checker guards it, which only Gemini CLI can ask.";
        table.insert("denyMessage".to_owned(), message.into());
        self.tier = Tier::Admin;
        let what = "it is a safety checker, a program that only Gemini CLI asks";
        self.faults.push(what.to_owned());
        self.rule(&Value::Table(table), read);
    }

    /// Reads each key by itself, so that a fault in one leaves the others in force.
    fn keys(&mut self, table: &Table) -> Keys {
        let mut understood = Table::new();
        for (key, value) in table {
            let one = Table::from_iter([(key.clone(), value.clone())]);
            match one.clone().try_into::<Keys>() {
                Ok(_) => understood.extend(one),
                Err(e) => self.faults.push(format!("{key}: {}", e.message().trim())),
            }
        }
        for key in ["decision", "priority"] {
            if !table.contains_key(key) {
                self.faults.push(format!("{key} is missing"));
            }
        }
        understood.try_into().unwrap_or_else(|e: toml::de::Error| {
            self.faults.push(e.message().trim().to_owned());
            Keys::default()
        })
    }

    /// Adds the tools of a rule that names none.
    fn add_tools(&mut self, keys: &mut Keys, table: &Table) {
        if !keys.tool_name.is_empty() {
            return;
        }
        let has_command = !keys.command_prefix.is_empty() || keys.command_regex.is_some();
        let is_said = table.contains_key("toolName");
        let tool = if has_command && !is_said {
            "run_shell_command"
        } else {
            if !is_said && keys.mcp_name.is_none() {
                self.faults.push("toolName is missing".to_owned());
            }
            "*"
        };
        keys.tool_name.push(tool.to_owned());
    }

    /// Reports names that fit nothing in a rule that allows, because they don't in Gemini CLI.
    fn report_names(&self, keys: &Keys, read: &mut FileRules) {
        for tool in &keys.tool_name {
            let why = if is_odd_wildcard(tool, keys.mcp_name.is_some()) {
                "a rule that allows has no wildcards but \"*\", \"mcp_*\", \"mcp_SERVER_*\" and \
                 \"mcp_*_TOOL\""
                    .to_owned()
            } else {
                let is_other = |name: &&str| *name != tool && !RENAMED.contains(&tool.as_str());
                let name = builtin::find(tool).map(|known| known.name).filter(is_other);
                match name.filter(|_| keys.mcp_name.is_none()) {
                    Some(name) => format!("in a rule that allows, the tool is called {name}"),
                    None => continue,
                }
            };
            let what = format!("toolName {tool:?} allows nothing: {why}.");
            read.problems.push(self.problem(what));
        }
    }

    fn report(&self, how: &str, read: &mut FileRules) {
        let what = format!("{}; {how}.", self.faults.join("; "));
        read.problems.push(self.problem(what));
    }

    fn problem(&self, what: String) -> Diagnostic {
        fault(self.path, &format!("rule {}", self.number), what)
    }

    /// Returns what a rule wants of the arguments; all of it is left out where it has a fault.
    fn condition(&mut self, keys: &Keys) -> Condition {
        let condition = valid_condition(keys);
        condition.unwrap_or_else(|what| {
            self.faults.push(what);
            Condition::None
        })
    }
}

/// Returns what a rule wants of the arguments, or what is wrong with that.
fn valid_condition(keys: &Keys) -> Result<Condition, String> {
    let prefixes = &keys.command_prefix;
    let (regex, pattern) = (&keys.command_regex, &keys.args_pattern);
    let is_of_shell = keys.tool_name.iter().all(|tool| is_shell(tool));
    if (!prefixes.is_empty() || regex.is_some()) && !is_of_shell {
        return Err(
            "commandPrefix and commandRegex are for toolName = \"run_shell_command\" only"
                .to_owned(),
        );
    }
    let (key, pattern, about) = match (prefixes.as_slice(), regex, pattern) {
        ([], None, None) => return Ok(Condition::None),
        (prefixes, None, None) => return Ok(Condition::Prefixes(prefixes.to_vec())),
        ([], Some(regex), None) => {
            let about =
                first_word(regex).map_or(PatternTarget::Commands, PatternTarget::CommandsOf);
            ("commandRegex", format!("\"command\":\"{regex}"), about)
        }
        ([], None, Some(pattern)) => {
            let about = if is_of_shell && pattern.contains("command") {
                PatternTarget::Commands
            } else {
                PatternTarget::Arguments
            };
            ("argsPattern", pattern.clone(), about)
        }
        _ => {
            return Err(
                "argsPattern, commandPrefix and commandRegex can't stand together".to_owned(),
            );
        }
    };
    let regex = text::compile(&pattern)
        .map_err(|e| format!("{key} is not a valid regular expression: {e}"))?;
    if keys.decision == Some(Decision::Allow) && text::is_refused(&pattern) {
        return Err(format!(
            "{key} repeats what repeats itself; Gemini CLI does not take such a rule"
        ));
    }
    Ok(Condition::Pattern(Pattern { regex, about }))
}

/// Returns the word with which a text must begin that an expression fits, where it is one word.
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

/// Returns a rule in one line.
fn summary(number: usize, table: &Table) -> String {
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
        // A value in one line.
        let json = serde_json::to_string(value).unwrap_or_default();
        let short: String = json.chars().take(200).collect();
        let _ = write!(text, "{gap}{key} = {short}");
        gap = ", ";
    }
    text
}
