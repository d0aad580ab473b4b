//! A rule: which calls it matches, and what it decides about them.

use super::arguments::Texts;
use super::defaults::is_for_plans;
use super::guard::{Unit, matches};
use super::text;
use super::{Decision, Inquiry, Mode, PolicyCall, Tier};
use fancy_regex::Regex;
use gemini_tools_shell::{Command, mentions};
use serde_json::{Map, Value};
use std::path::PathBuf;
use std::ptr;

/// Aliases of tools that also count in a rule that allows, because Gemini CLI's rules accept them.
/// Gemini CLI accepts class names such as `ShellTool` in its old settings only; here they also
/// count in rules that restrict.
const RENAMED: [&str; 1] = ["grep_search"];

/// A rule from a policy file, the settings or a person's answer.
#[derive(Debug, Clone, Default)]
pub struct Rule {
    pub(super) tools: Vec<String>,
    pub(super) server: Option<String>,
    pub(super) condition: Condition,
    pub(super) decision: Decision,
    pub(super) tier: Tier,
    pub(super) priority: u16,
    pub(super) modes: Vec<Mode>,
    /// True if the rule counts in plan mode only for calls that read. A user who lists a tool as
    /// allowed for daily work has not agreed that a plan may change files with it.
    pub(super) reads_in_plans: bool,
    pub(super) interactive: Option<bool>,
    pub(super) annotations: Vec<(String, Value)>,
    pub(super) allows_redirection: bool,
    /// True for a rule about calls of subagents, which don't exist here.
    pub(super) is_for_subagent: bool,
    pub(super) message: Option<String>,
    pub(super) source: Source,
}

/// Where a rule comes from. `faults` says what is wrong with the rule, which then matches more
/// calls than was meant. `only_restricts` is set if the rule can only make a verdict stricter: a
/// rule that asks would otherwise hide rules below it that deny.
#[derive(Debug, Clone, Default)]
pub(super) struct Source {
    pub(super) file: Option<PathBuf>,
    pub(super) number: Option<usize>,
    pub(super) text: String,
    pub(super) faults: Option<String>,
    pub(super) is_kept_answer: bool,
    pub(super) only_restricts: bool,
}

#[derive(Debug, Clone, Default)]
pub(super) enum Condition {
    #[default]
    None,
    Prefixes(Vec<String>),
    Pattern(Pattern),
    /// Matches calls that no entry of the setting `tools.core` lists.
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
    /// Matches commands whose first word is this one.
    CommandsOf(String),
}

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

#[derive(Clone, Copy)]
pub(super) struct RuleSubject<'a> {
    pub(super) asked: Inquiry<'a>,
    pub(super) line: Option<&'a str>,
    pub(super) command: Option<&'a Command>,
    pub(super) is_part: bool,
    /// True if it can't be known what the text runs. Then a rule that restricts by a prefix matches
    /// the text, and a rule that allows by a prefix does not match a part of a line.
    pub(super) is_unknown: bool,
    pub(super) texts: &'a Texts,
}

impl<'a> RuleSubject<'a> {
    pub(super) fn plain(asked: Inquiry<'a>, texts: &'a Texts) -> Self {
        Self {
            asked,
            line: None,
            command: None,
            is_part: false,
            is_unknown: false,
            texts,
        }
    }
}

impl Rule {
    pub(super) fn decides(&self, subject: &RuleSubject<'_>) -> bool {
        let asked = subject.asked;
        self.is_active(asked) && self.is_for(asked.call) && self.matches(subject)
    }

    pub(super) fn is_active(&self, asked: Inquiry<'_>) -> bool {
        let interactive = self.interactive;
        let is_left_out =
            self.reads_in_plans && asked.mode == Mode::Plan && !is_for_plans(asked.call);
        (self.modes.is_empty() || self.modes.contains(&asked.mode))
            && !is_left_out
            && (!self.source.only_restricts || asked.with.is_some_and(|rule| ptr::eq(rule, self)))
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
        let bare = match pattern.strip_prefix("discovered_tool_") {
            Some(bare) if restricts || !call.has_namesake => bare,
            _ => pattern,
        };
        let is = |name: &str| {
            if bare.contains('*') {
                restricts && glob(bare, name)
            } else {
                bare == name
            }
        };
        let counts = |alias: &str| restricts || RENAMED.contains(&alias);
        // A discovered tool whose own name is taken is called by its name with this prefix. Rules
        // that restrict the name without the prefix restrict the tool as well.
        let prefixed = || call.name.strip_prefix("discovered_tool_");
        is(call.name)
            || pattern == call.name
            || restricts && prefixed().is_some_and(is)
            || call.aliases.iter().any(|alias| counts(alias) && is(alias))
            // Gemini CLI's `replace` corresponds to both `replace` and `smart_edit`.
            || restricts && call.name == "smart_edit" && is("replace") && self.source.number.is_some()
    }

    /// Returns true if the call's arguments satisfy the rule's condition. A rule that allows must
    /// be certain; a rule that restricts matches whatever the call might mean.
    fn matches(&self, subject: &RuleSubject<'_>) -> bool {
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

/// Returns true if a command begins with a prefix. The words are compared if they are known. A line
/// of several commands is compared as text, since each command is also judged by itself.
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
        // A part of a line does not match if it is not understood. A whole line may:
        // `ask_if_not_understood` then has a person asked about it.
        (_, true) => !(subject.is_part && subject.is_unknown) && is_written(prefix, subject),
        (Some(command), false) => subject.is_unknown || command.may_run(prefix) || by_text(),
        (None, false) => {
            subject.is_unknown || by_text() || subject.is_part && mentions(prefix, line)
        }
    }
}

/// Returns true if the text begins with the prefix character by character and ends a word there.
/// Gemini CLI's rules don't allow a command that is spelt differently either.
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
            let are_all = |texts: &Vec<String>| texts.iter().all(|text| found(text));
            return !subject.texts.is_ambiguous && subject.texts.sure.iter().any(are_all);
        }
        // A relative path is tried as an absolute one only if the pattern wants one: `(?!docs/)`
        // would match any.
        let wants_absolute = ["\"/", "\"\\/"]
            .iter()
            .any(|start| self.regex.as_str().contains(start));
        let absolute = subject.texts.absolute.iter().filter(|_| wants_absolute);
        if subject
            .texts
            .any
            .iter()
            .chain(absolute)
            .any(|text| found(text))
        {
            return true;
        }
        if self.about == PatternTarget::Arguments || subject.line.is_none() {
            return false;
        }
        let Some(command) = subject.command else {
            return subject.is_unknown;
        };
        // The pattern is also tried on the command as the shell reads it, without quotes and with
        // single spaces, once with the directory of the program and once without.
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

/// Returns true if `pattern` matches the tool of the server. `pattern` is what follows `mcp_` in a
/// rule's name of the form `mcp_SERVER_TOOL`, and each half may be `*`. `is_like` decides about a
/// `*` within the tool's name.
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

pub(super) fn sanitized(name: &str) -> String {
    let is_fine = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | ':');
    name.chars()
        .map(|c| if is_fine(c) { c } else { '_' })
        .collect()
}

fn glob(pattern: &str, text: &str) -> bool {
    let units = pattern.chars().map(|c| match c {
        '*' => Unit::Many,
        c => Unit::Char(c),
    });
    matches(&units.collect::<Vec<_>>(), text)
}
