//! Reads policy files.
//!
//! A mistake in a file never lets more run than was meant. A rule that allows something and has a
//! mistake is dropped. A rule that denies or asks stays in force without the part that is wrong, so
//! that it applies to more calls. A file that is not TOML, or has something of a rule where no rule
//! is looked for, stops every call, because any of its rules might have denied it.

use super::rule::{Condition, Pattern, PatternTarget, Source};
use super::shell::is_shell;
use super::{Decision, Mode, Rule, Tier, text};
use gemini_tools_core::diagnostic::Diagnostic;
use gemini_tools_core::position::{LineIndex, Position};
use gemini_tools_core::registry::nearest;
use serde::Deserialize;
use serde_json::Value;
use std::fmt::Write;
use std::path::Path;
use toml::Spanned;
use toml::de::{DeTable, DeValue, ValueDeserializer};

const SHOWN_CHARS: usize = 60;

#[derive(Default)]
pub(super) struct FileRules {
    pub(super) rules: Vec<Rule>,
    pub(super) problems: Vec<Diagnostic>,
}

pub(super) fn read(path: &Path, tier: Tier, text: &str) -> Result<FileRules, String> {
    let lines = LineIndex::new(text);
    let top = DeTable::parse(text).map_err(|e| {
        let place = e.span().map(|span| lines.position(span.start));
        let at = place.map_or(String::new(), |place| format!("line {}: ", place.line));
        format!("{at}{}", e.message().trim())
    })?;
    let mut read = FileRules::default();
    for (key, value) in top.get_ref() {
        let name = key.get_ref().as_ref();
        let rules = match (name, value.get_ref()) {
            ("rule" | "safety_checker", DeValue::Array(rules)) => rules,
            (_, value) => {
                let at = lines.position(key.span().start);
                let what =
                    format!("{name:?} is not a key of policy files; rules are under [[rule]]");
                if is_of_rule(name, value) {
                    return Err(format!("line {}: {what}", at.line));
                }
                read.problems.push(problem(path, "", at, what + "."));
                continue;
            }
        };
        for (number, rule) in (1..).zip(rules) {
            let start = lines.position(rule.span().start);
            let entries = entries(text, &lines, rule)
                .ok_or_else(|| format!("line {}: {name} {number} is not a table", start.line))?;
            let reader = RuleReader {
                path,
                tier,
                number,
                start,
                faults: Vec::new(),
            };
            match name {
                "rule" => reader.rule(&entries, &mut read),
                _ => reader.checker(entries, &mut read),
            }
        }
    }
    Ok(read)
}

/// Keys that only a rule has. A table with one of them was meant as a rule, wherever in the file it
/// stands.
const OF_RULES: [&str; 9] = [
    "rule",
    "rules",
    "safety_checker",
    "decision",
    "toolName",
    "mcpName",
    "argsPattern",
    "commandPrefix",
    "commandRegex",
];

fn is_of_rule(name: &str, value: &DeValue<'_>) -> bool {
    OF_RULES.iter().any(|key| key.eq_ignore_ascii_case(name))
        || match value {
            DeValue::Table(table) => table
                .iter()
                .any(|(key, value)| is_of_rule(key.get_ref(), value.get_ref())),
            DeValue::Array(items) => items.iter().any(|item| is_of_rule("", item.get_ref())),
            _ => false,
        }
}

fn entries(text: &str, lines: &LineIndex<'_>, rule: &Spanned<DeValue<'_>>) -> Option<Vec<Entry>> {
    let DeValue::Table(table) = rule.get_ref() else {
        return None;
    };
    let entries = table.iter().map(|(key, value)| {
        let written = text.get(value.span()).unwrap_or_default();
        let value = ValueDeserializer::from(value.clone());
        Entry {
            name: key.get_ref().to_string(),
            at: lines.position(key.span().start),
            value: Value::deserialize(value).unwrap_or_default(),
            written: written.split_whitespace().collect::<Vec<_>>().join(" "),
        }
    });
    Some(entries.collect())
}

struct Entry {
    name: String,
    at: Position,
    value: Value,
    written: String,
}

struct Fault {
    at: Position,
    text: String,
}

/// The file in which Gemini CLI 0.61 stores a person's "always" answers.
const KEPT_ANSWERS: &str = "auto-saved.toml";

/// Returns true for a stored answer: a rule that allows something in [`KEPT_ANSWERS`]. Rules there
/// that deny or ask are not answers, and stay in force if stored answers are forbidden.
fn is_kept_answer(path: &Path, tier: Tier, decision: Decision) -> bool {
    decision == Decision::Allow
        && matches!(tier, Tier::User | Tier::Workspace)
        && path.file_name().is_some_and(|name| name == KEPT_ANSWERS)
}

fn problem(file: &Path, key: &str, at: Position, what: String) -> Diagnostic {
    let mut problem = Diagnostic::warning("policy-rule", "", key, what).in_file(file);
    problem.put_at(at);
    problem.advise(
        "The rule does not do what it seems to do. A fault in it never lets a call run.",
        "Correct the rule, or take it out.",
    )
}

struct Keys {
    rule: Rule,
    args_pattern: Option<String>,
    command_prefix: Vec<String>,
    command_regex: Option<String>,
}

const KEYS: [&str; 16] = [
    "toolName",
    "mcpName",
    "argsPattern",
    "commandPrefix",
    "commandRegex",
    "decision",
    "priority",
    "modes",
    "interactive",
    "toolAnnotations",
    "allowRedirection",
    "denyMessage",
    "subagent",
    "name",
    "description",
    "comment",
];

const DECISIONS: &str = "\"allow\", \"ask_user\" or \"deny\"";

const PRIORITIES: &str = "a whole number from 0 to 999";

impl Keys {
    fn take(&mut self, key: &str, value: &Value) -> Result<(), &'static str> {
        let flag = value.as_bool().ok_or("true or false");
        let rule = &mut self.rule;
        match key {
            "toolName" => rule.tools = texts(value)?,
            "mcpName" => rule.server = Some(text_of(value)?),
            "argsPattern" => self.args_pattern = Some(text_of(value)?),
            "commandPrefix" => self.command_prefix = texts(value)?,
            "commandRegex" => self.command_regex = Some(text_of(value)?),
            "decision" => rule.decision = Decision::deserialize(value).map_err(|_| DECISIONS)?,
            "priority" => rule.priority = priority(value).ok_or(PRIORITIES)?,
            "modes" => {
                let names = "a list of \"default\", \"autoEdit\", \"yolo\" and \"plan\"";
                rule.modes = modes(value).ok_or(names)?;
            }
            "interactive" => rule.interactive = Some(flag?),
            "toolAnnotations" => {
                let annotations = value.as_object().cloned().ok_or("a table")?;
                rule.annotations = annotations.into_iter().collect();
            }
            "allowRedirection" => rule.allows_redirection = flag?,
            "denyMessage" => rule.message = Some(text_of(value)?),
            "subagent" => rule.is_for_subagent = text_of(value).map(|_| true)?,
            _ => {}
        }
        Ok(())
    }
}

fn today(name: &str) -> &str {
    match name {
        "allow_redirection" => "allowRedirection",
        "deny_message" => "denyMessage",
        name => name,
    }
}

fn text_of(value: &Value) -> Result<String, &'static str> {
    let text = value.as_str().filter(|text| !text.is_empty());
    text.map(str::to_owned).ok_or("a string that is not empty")
}

fn texts(value: &Value) -> Result<Vec<String>, &'static str> {
    let items = match value {
        Value::Array(items) => items.as_slice(),
        one => std::slice::from_ref(one),
    };
    let texts: Result<Vec<String>, _> = items.iter().map(text_of).collect();
    let texts = texts.ok().filter(|texts| !texts.is_empty());
    texts.ok_or("a string that is not empty, or a list of such")
}

fn modes(value: &Value) -> Option<Vec<Mode>> {
    let mode = |mode: &Value| match mode.as_str()? {
        "autoEdit" => Some(Mode::AutoEdit),
        name => Mode::from_name(name),
    };
    value.as_array()?.iter().map(mode).collect()
}

fn priority(value: &Value) -> Option<u16> {
    let number = value.as_f64()?;
    let is_valid = number.fract() == 0.0 && (0.0..=999.0).contains(&number);
    is_valid.then_some(number as u16)
}

struct RuleReader<'a> {
    path: &'a Path,
    tier: Tier,
    number: usize,
    start: Position,
    faults: Vec<Fault>,
}

impl RuleReader<'_> {
    fn rule(mut self, entries: &[Entry], read: &mut FileRules) {
        let mut keys = self.keys(entries);
        let decision = keys.rule.decision;
        self.add_tools(&mut keys, entries);
        let condition = valid_condition(&keys).unwrap_or_else(|(key, what)| {
            self.fault(self.place_of(entries, key), what);
            // Without its faulty part, the condition would mean something else, so the whole
            // condition is dropped.
            Condition::None
        });
        let restricts_only = self.tier == Tier::Extension;
        if restricts_only && decision == Decision::Allow {
            let what = "decision is \"allow\", which an extension may not say";
            self.fault(self.place_of(entries, "decision"), what);
        }
        let is_of_yolo = restricts_only && keys.rule.modes.contains(&Mode::Yolo);
        if is_of_yolo {
            let what = "modes has \"yolo\", for which an extension may not say anything";
            self.fault(self.place_of(entries, "modes"), what);
        }
        let is_faulty = !self.faults.is_empty();
        if is_of_yolo || is_faulty && decision == Decision::Allow {
            return self.report("is left out", read);
        }
        read.rules.push(Rule {
            condition,
            source: Source {
                file: Some(self.path.to_owned()),
                number: Some(self.number),
                text: summary(self.number, entries),
                faults: self.faults_in_lines(),
                is_kept_answer: is_kept_answer(self.path, self.tier, decision),
                only_restricts: is_faulty && decision == Decision::AskUser,
            },
            ..keys.rule
        });
        self.report(&format!("counts as {} without that", decision.name()), read);
    }

    /// Reads a safety checker, a program that Gemini CLI asks about each call. Such programs are
    /// not run here, so the checker becomes a rule that denies the calls it is for. Built-in
    /// checkers are skipped: they keep paths within the workspace, which our tools do themselves.
    fn checker(mut self, mut entries: Vec<Entry>, read: &mut FileRules) {
        let own = entries.iter().find(|entry| entry.name == "checker");
        if own.is_some_and(|own| own.value["type"] == "in-process") {
            return;
        }
        let message = "A safety checker guards it, which only Gemini CLI can ask.";
        let added: [(&str, Value); 3] = [
            ("decision", "deny".into()),
            ("priority", 999.into()),
            ("denyMessage", message.into()),
        ];
        entries.retain(|entry| {
            let name = today(&entry.name);
            name != "checker" && added.iter().all(|(added, _)| *added != name)
        });
        entries.extend(added.map(|(name, value)| Entry {
            name: name.to_owned(),
            at: self.start,
            written: value.to_string(),
            value,
        }));
        self.tier = Tier::Admin;
        let what = "it is a safety checker, a program that only Gemini CLI asks";
        self.fault(self.start, what);
        self.rule(&entries, read);
    }

    fn fault(&mut self, at: Position, text: impl Into<String>) {
        let text = text.into();
        self.faults.push(Fault { at, text });
    }

    fn place_of(&self, entries: &[Entry], key: &str) -> Position {
        let entry = entries.iter().find(|entry| today(&entry.name) == key);
        entry.map_or(self.start, |entry| entry.at)
    }

    /// Reads the keys one by one, so that a mistake in one leaves the others in force.
    fn keys(&mut self, entries: &[Entry]) -> Keys {
        let mut keys = Keys {
            rule: Rule::new(Decision::Deny, self.tier, 999),
            args_pattern: None,
            command_prefix: Vec::new(),
            command_regex: None,
        };
        for (i, entry) in entries.iter().enumerate() {
            let name = today(&entry.name);
            if !KEYS.contains(&name) {
                self.fault(entry.at, unknown(name));
            } else if entries[..i].iter().any(|other| today(&other.name) == name) {
                self.fault(entry.at, format!("{name} stands twice, in two spellings"));
            } else if let Err(allowed) = keys.take(name, &entry.value) {
                let written: String = entry.written.chars().take(SHOWN_CHARS).collect();
                let text = format!("{name} is {written}; it must be {allowed}");
                self.fault(entry.at, text);
            }
        }
        let is_there = |key: &str| entries.iter().any(|entry| entry.name == key);
        for (key, allowed) in [("decision", DECISIONS), ("priority", PRIORITIES)] {
            if !is_there(key) {
                self.fault(self.start, format!("{key} is missing; give {allowed}"));
            }
        }
        keys
    }

    fn add_tools(&mut self, keys: &mut Keys, entries: &[Entry]) {
        if !keys.rule.tools.is_empty() {
            return;
        }
        let has_command = !keys.command_prefix.is_empty() || keys.command_regex.is_some();
        let is_said = entries.iter().any(|entry| entry.name == "toolName");
        let tool = if has_command && !is_said {
            "run_shell_command"
        } else {
            if !is_said && keys.rule.server.is_none() {
                let what = "toolName is missing; give a tool's name, or \"*\" for all tools";
                self.fault(self.start, what);
            }
            "*"
        };
        keys.rule.tools.push(tool.to_owned());
    }

    fn report(&self, how: &str, read: &mut FileRules) {
        let faults = self.faults.iter();
        let faults =
            faults.map(|fault| self.problem(fault.at, format!("{}; the rule {how}.", fault.text)));
        read.problems.extend(faults);
    }

    fn problem(&self, at: Position, what: String) -> Diagnostic {
        problem(self.path, &format!("rule {}", self.number), at, what)
    }

    fn faults_in_lines(&self) -> Option<String> {
        let faults = self.faults.iter();
        let faults: Vec<String> = faults
            .map(|fault| format!("line {}: {}", fault.at.line, fault.text))
            .collect();
        (!faults.is_empty()).then(|| faults.join("; "))
    }
}

fn unknown(name: &str) -> String {
    // A misspelt key gets one suggestion; otherwise all keys are listed.
    match nearest(name, KEYS.iter().map(|known| (*known, *known))).first() {
        Some(near) => format!("{name:?} is not a key of a rule (did you mean {near}?)"),
        None => format!(
            "{name:?} is not a key of a rule; there are: {}",
            KEYS.join(", ")
        ),
    }
}

fn valid_condition(keys: &Keys) -> Result<Condition, (&'static str, String)> {
    let prefixes = &keys.command_prefix;
    let (regex, pattern) = (&keys.command_regex, &keys.args_pattern);
    let is_of_shell = keys.rule.tools.iter().all(|tool| is_shell(tool));
    if (!prefixes.is_empty() || regex.is_some()) && !is_of_shell {
        let what = "commandPrefix and commandRegex are for toolName = \"run_shell_command\" only";
        return Err(("toolName", what.to_owned()));
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
            let what = "argsPattern, commandPrefix and commandRegex can't stand together";
            return Err(("argsPattern", what.to_owned()));
        }
    };
    let regex = text::compile(&pattern)
        .map_err(|e| (key, format!("{key} is not a valid regular expression: {e}")))?;
    if keys.rule.decision == Decision::Allow && text::is_refused(&pattern) {
        let what =
            format!("{key} repeats what repeats itself; Gemini CLI does not take such a rule");
        return Err((key, what));
    }
    Ok(Condition::Pattern(Pattern { regex, about }))
}

/// Returns the word with which every match of a regular expression begins, if the expression shows
/// where that word ends.
fn first_word(regex: &str) -> Option<String> {
    let end = regex.find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '_' | '-'))?;
    let (word, rest) = regex.split_at(end);
    let ends = [" ", "\"", "\\s+", "\\b"];
    let behind = ends.iter().find_map(|end| rest.strip_prefix(end))?;
    // If a quantifier follows the separator, a match may lack the separator, and the word may then
    // go on.
    let ends = !behind.starts_with(['?', '*', '{']);
    // After a `|` outside of groups, a match may begin with something else.
    (ends && !word.is_empty() && is_within_group(regex)).then(|| word.to_owned())
}

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

fn summary(number: usize, entries: &[Entry]) -> String {
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
        let Some(entry) = entries.iter().find(|entry| entry.name == key) else {
            continue;
        };
        // The value as text, on one line and not too long.
        let short: String = entry.value.to_string().chars().take(200).collect();
        let _ = write!(text, "{gap}{key} = {short}");
        gap = ", ";
    }
    text
}

#[cfg(test)]
mod tests {
    use super::first_word;

    #[test]
    fn a_word_ends_only_where_something_must_follow_it() {
        for (regex, expected) in [
            ("git push", Some("git")),
            ("git\\s+push", Some("git")),
            ("git\\b.*push", Some("git")),
            ("git +push", Some("git")),
            ("git ?push", None),
            ("git *push", None),
            ("git {0,2}push", None),
            ("git\\b?push", None),
            ("git|x", None),
        ] {
            assert_eq!(first_word(regex).as_deref(), expected, "{regex}");
        }
    }
}
