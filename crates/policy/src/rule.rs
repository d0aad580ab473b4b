//! A rule: the calls that it is for, and its decision.

use super::text;
use super::{Decision, Inquiry, Mode, PolicyCall, Tier};
use fancy_regex::Regex;
use gemini_tools_shell::{Command, mentions};
use serde_json::{Map, Value};
use std::path::PathBuf;

/// Other names of tools that Gemini CLI's rules know. The names of classes, which only its older
/// settings knew, are not names in a rule that allows.
pub(super) const RENAMED: [&str; 1] = ["grep_search"];

/// A rule of a policy file, of the settings, or of a person's answer.
#[derive(Debug, Clone, Default)]
pub struct Rule {
    /// Names of tools; a call matches by any of them.
    pub(super) tools: Vec<String>,
    /// Name of the MCP server, `*` for any.
    pub(super) server: Option<String>,
    pub(super) condition: Condition,
    pub(super) decision: Decision,
    pub(super) tier: Tier,
    /// From 0 to 999, within the tier.
    pub(super) priority: u16,
    /// Modes of the rule; every mode if it is empty.
    pub(super) modes: Vec<Mode>,
    pub(super) interactive: Option<bool>,
    pub(super) annotations: Vec<(String, Value)>,
    pub(super) allows_redirection: bool,
    /// The rule is for calls of subagents, of which there are none here.
    pub(super) is_for_subagent: bool,
    pub(super) message: Option<String>,
    pub(super) source: Source,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Source {
    pub(super) file: Option<PathBuf>,
    /// Counted from one within the file.
    pub(super) number: Option<usize>,
    pub(super) text: String,
    /// The faults of the rule, which then counts for more calls than are meant.
    pub(super) faults: Option<String>,
    /// The rule is an answer that a person gave before, kept by Gemini CLI in the user's
    /// `auto-saved.toml`.
    pub(super) is_kept_answer: bool,
}

#[derive(Debug, Clone, Default)]
pub(super) enum Condition {
    #[default]
    None,
    /// A command that begins with one of these.
    Prefixes(Vec<String>),
    /// The arguments as text.
    Pattern(Pattern),
    /// None of what `tools.core` lists.
    NotListed(Vec<Entry>),
}

#[derive(Debug, Clone)]
pub(super) struct Pattern {
    pub(super) regex: Regex,
    pub(super) about: PatternTarget,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PatternTarget {
    Arguments,
    Commands,
    /// A command that must begin with this word.
    CommandsOf(String),
}

/// An entry of a list of the settings: `read_file`, `run_shell_command(git status)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) tool: String,
    pub(super) prefix: Option<String>,
}

impl Entry {
    pub(super) fn parse(entry: &str) -> Self {
        let entry = entry.trim();
        let entry = entry.strip_prefix("discovered_tool_").unwrap_or(entry);
        let own = |tool: &str, prefix: Option<&str>| Self {
            tool: tool.trim().to_owned(),
            prefix: prefix.map(str::to_owned),
        };
        match entry.split_once('(') {
            Some((tool, rest)) => own(tool, Some(rest.strip_suffix(')').unwrap_or(rest))),
            None => own(entry, None),
        }
    }
}

/// The subject of a rule: a call, and for a shell's also one command of its line.
#[derive(Clone, Copy)]
pub(super) struct RuleSubject<'a> {
    pub(super) asked: Inquiry<'a>,
    /// The text of the command; `None` for calls of other tools.
    pub(super) line: Option<&'a str>,
    /// The line's words, where it is one command.
    pub(super) command: Option<&'a Command>,
    /// The command is one of several things that a line runs.
    pub(super) is_part: bool,
    /// True if what it runs can't be known.
    pub(super) is_unknown: bool,
    /// The arguments as text, in all spellings of their names.
    pub(super) texts: &'a [String],
    /// Two spellings of one argument are there: which one counts, the tool knows.
    pub(super) is_ambiguous: bool,
}

impl Rule {
    /// Returns true if the rule is for calls in this mode, with or without a user to ask.
    pub(super) fn is_active(&self, asked: Inquiry<'_>) -> bool {
        let interactive = self.interactive;
        (self.modes.is_empty() || self.modes.contains(&asked.mode))
            && interactive.is_none_or(|wanted| wanted == asked.interactive)
            && !self.is_for_subagent
    }

    pub(super) fn is_for(&self, call: &PolicyCall<'_>) -> bool {
        let server = match (&self.server, call.server) {
            (None, _) => true,
            (Some(_), None) => return false,
            (Some(wanted), Some(server)) => wanted == "*" || wanted == server.name,
        };
        let restricts = self.decision != Decision::Allow;
        let has = |(key, value): &(String, Value)| {
            call.annotations.and_then(|a| a.get(key)) == Some(value)
        };
        server
            && self
                .tools
                .iter()
                .any(|tool| self.names(tool, call, restricts))
            && self.annotations.iter().all(has)
    }

    fn names(&self, pattern: &str, call: &PolicyCall<'_>, restricts: bool) -> bool {
        if pattern == "*" {
            return true;
        }
        if let Some(server) = call.server {
            let own = server.tool;
            let is_like = |pattern: &str| pattern.contains('*') && restricts && glob(pattern, own);
            if self.server.is_some() && (pattern == own || is_like(pattern)) {
                return true;
            }
            if let Some(rest) = pattern.strip_prefix("mcp_") {
                return names_qualified(rest, server.name, own, is_like);
            }
        }
        if pattern.starts_with("mcp_") && pattern.contains('*') {
            return false;
        }
        let bare = pattern.strip_prefix("discovered_tool_").unwrap_or(pattern);
        let is = |name: &str| {
            if bare.contains('*') {
                restricts && glob(bare, name)
            } else {
                bare == name
            }
        };
        let counts = |alias: &str| restricts || RENAMED.contains(&alias);
        // Of a discovered tool whose own name is taken the prefix is part of its name. What
        // restricts the other tool restricts this one.
        let prefixed = || call.name.strip_prefix("discovered_tool_");
        is(call.name)
            || pattern == call.name
            || restricts && prefixed().is_some_and(is)
            || call.aliases.iter().any(|alias| counts(alias) && is(alias))
            // `replace` of today's Gemini CLI is both of our tools.
            || restricts && call.name == "smart_edit" && is("replace") && self.source.number.is_some()
    }

    /// Returns true if the call's arguments are as the rule wants them. A rule that allows wants to be
    /// sure; one that restricts is for whatever may be meant.
    pub(super) fn matches(&self, subject: &RuleSubject<'_>) -> bool {
        let is_sure = self.decision == Decision::Allow;
        match &self.condition {
            Condition::None => true,
            Condition::Prefixes(prefixes) => prefixes
                .iter()
                .any(|prefix| begins(prefix, subject, is_sure)),
            Condition::Pattern(pattern) => pattern.matches(subject, is_sure),
            Condition::NotListed(entries) => !entries.iter().any(|entry| entry.lists(subject)),
        }
    }

    pub(super) fn is_by_prefix(&self) -> bool {
        matches!(self.condition, Condition::Prefixes(_))
    }

    pub(super) fn is_conditional(&self) -> bool {
        !matches!(self.condition, Condition::None)
    }
}

impl Entry {
    pub(super) fn is_for(&self, call: &PolicyCall<'_>) -> bool {
        self.tool == call.name || call.aliases.contains(&&*self.tool)
    }

    fn lists(&self, subject: &RuleSubject<'_>) -> bool {
        self.is_for(subject.asked.call)
            && match (&self.prefix, subject.line) {
                (Some(prefix), Some(_)) => begins(prefix, subject, true),
                _ => true,
            }
    }
}

/// Returns true if a command begins with a prefix. Words count where they are known, text where the
/// subject is a line of several commands, each of which is looked at as well.
fn begins(prefix: &str, subject: &RuleSubject<'_>, is_sure: bool) -> bool {
    let Some(line) = subject.line else {
        return false;
    };
    if prefix.trim().is_empty() {
        return !is_sure;
    }
    let by_text = || {
        let rest = line.trim_start().strip_prefix(prefix.trim());
        rest.is_some_and(|rest| rest.chars().next().is_none_or(ends_a_word))
    };
    let is_plain = !prefix.contains(['"', '\'', '\\', '$', '`', '*', '?', '[', '{', '~']);
    match (subject.command, is_sure) {
        (Some(command), true) if is_plain => {
            command.begins_exactly_with(prefix) && is_written(prefix, subject)
        }
        // A whole line that is not understood is dealt with later.
        (_, true) => !(subject.is_part && subject.is_unknown) && is_written(prefix, subject),
        (Some(command), false) => subject.is_unknown || command.may_run(prefix) || by_text(),
        (None, false) => {
            subject.is_unknown || by_text() || subject.is_part && mentions(prefix, line)
        }
    }
}

/// Returns true if the subject's text begins with the prefix letter by letter, and a word ends there: what
/// is written in another way Gemini CLI's rules don't allow either.
fn is_written(prefix: &str, subject: &RuleSubject<'_>) -> bool {
    let line = subject.line.unwrap_or_default();
    let line = if subject.is_part { line.trim() } else { line };
    let rest = line.strip_prefix(prefix);
    rest.is_some_and(|rest| {
        let next = rest.chars().next();
        next.is_none_or(|c| ends_a_word(c) && (c == ' ' || !c.is_whitespace()))
    })
}

fn ends_a_word(c: char) -> bool {
    c.is_whitespace() || matches!(c, '"' | ';' | '|' | '&')
}

impl Pattern {
    fn matches(&self, subject: &RuleSubject<'_>, is_sure: bool) -> bool {
        let found = |text: &str| self.regex.is_match(text).unwrap_or(!is_sure);
        if is_sure {
            return !subject.is_ambiguous && subject.texts.iter().any(|text| found(text));
        }
        if subject.texts.iter().any(|text| found(text)) {
            return true;
        }
        if self.about == PatternTarget::Arguments || subject.line.is_none() {
            return false;
        }
        let Some(command) = subject.command else {
            return subject.is_unknown;
        };
        // As the shell reads it: without quotes, with single spaces, without a directory.
        let known: Vec<&str> = command.words.iter().map_while(Option::as_deref).collect();
        let is_known = known.len() == command.words.len();
        if let (PatternTarget::CommandsOf(first), Some(name)) = (&self.about, known.first())
            && first != name
            && first != command.root()
        {
            return false;
        }
        if !is_known || subject.is_unknown {
            return true;
        }
        let mut words = known;
        let as_text = |words: &[&str]| {
            let mut args = Map::new();
            args.insert("command".to_owned(), words.join(" ").into());
            text::stable_json(&args)
        };
        if found(&as_text(&words)) {
            return true;
        }
        words[0] = command.root();
        found(&as_text(&words))
    }
}

/// Returns true if a name of the form `SERVER_TOOL`, either of which may be `*`, is this tool's; `is_like`
/// is for tools with a `*` in the middle.
fn names_qualified(
    pattern: &str,
    server: &str,
    tool: &str,
    is_like: impl Fn(&str) -> bool,
) -> bool {
    let tool_is = |rest: &str| rest == "*" || rest == tool || sanitized(tool) == rest;
    if pattern == "*" {
        return true;
    }
    if let Some(rest) = pattern.strip_prefix("*_") {
        return tool_is(rest);
    }
    let clean = sanitized(server);
    [server, &clean]
        .iter()
        .filter_map(|server| pattern.strip_prefix(*server)?.strip_prefix('_'))
        .any(|rest| tool_is(rest) || is_like(rest))
}

/// Returns true if a name has a `*` that Gemini CLI's rules don't know.
pub(super) fn is_odd_wildcard(name: &str, has_server: bool) -> bool {
    if !name.contains('*') || name == "*" {
        return false;
    }
    let known = |rest: &str| {
        let mut parts = rest.split('*');
        match (parts.next(), parts.next(), parts.next()) {
            (Some(""), Some(tool), None) => tool.is_empty() || tool.starts_with('_'),
            (Some(server), Some(""), None) => server.ends_with('_'),
            _ => false,
        }
    };
    has_server || !name.strip_prefix("mcp_").is_some_and(known)
}

pub(super) fn sanitized(name: &str) -> String {
    let is_fine = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | ':');
    name.chars()
        .map(|c| if is_fine(c) { c } else { '_' })
        .collect()
}

/// Returns true if a text is like a pattern, in which `*` stands for anything.
fn glob(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = text.strip_prefix(parts.next().unwrap_or_default()) else {
        return false;
    };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else {
        return rest.is_empty();
    };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}
