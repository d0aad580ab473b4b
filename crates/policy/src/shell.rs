//! The policy for lines of shell: each line is judged as a whole, then each of its commands, and
//! the strictest verdict decides.
//!
//! # How it works
//!
//! [`gemini_tools_shell::analyse`] gives the commands of a line, and the parts whose
//! commands can't be known (`unresolved`). `check_analysed` then asks the rules in this order:
//!
//! 1. The whole line, as one call of the tool. If a rule denies it, that is the result.
//! 2. The built-in rules. A command that deletes or links needs approval although a rule allows the
//!    line, unless that rule looks at arguments. A redirection needs approval unless the rule has
//!    `allowRedirection`. So does a line that can't be parsed, or that runs nothing. Modes that ask
//!    less (`autoEdit`, `yolo`) leave out some of this.
//! 3. Each command by itself, with its text as the `command` argument, and each unresolved part. If
//!    a rule denies one, the line is denied; if one needs approval, so does the line. A rule that
//!    denies or asks by a prefix also matches where the words of the prefix are mentioned: anywhere
//!    in a command, or in another text of the line, such as a here-document.
//! 4. If the line would need approval, and nothing in steps 1 and 2 was about its arguments or a
//!    deletion, the list of harmless commands (`safe`): they need no approval.
//!
//! No step turns a denial into anything else, and only step 4 turns a question into an allowance.
//! An unresolved part is judged as a command of which nothing is known: rules that deny by a prefix
//! apply, rules that allow by one don't. In the mode `yolo` without rules every line is allowed, so
//! it is not parsed.
//!
//! `rule` matches a rule with a call, and `defaults` decides where no rule does. If the line is
//! understood, it is [`Verdict::understood`] that runs, not the line as written.

use super::arguments::Meant;
use super::rule::RuleSubject;
use super::{Decision, Inquiry, Mode, Policy, PolicyCall, Rule, Verdict, defaults, guard, safe};
use gemini_tools_core::text::excerpt;
use gemini_tools_core::tool::Kind;
use gemini_tools_shell::{Analysis, Command, analyse};
use serde_json::{Map, Value};

/// With these variables git only reads. Otherwise it would fetch what is missing in a partial
/// clone, by a program that the repository names, and `git status` would write the index anew. Only
/// `git diff` still does that: otherwise `git diff --name-only` would name files that merely have a
/// newer time. A list of allowed protocols in the environment wins over those in settings.
pub(super) const READ_BY_GIT: &str =
    "GIT_ALLOW_PROTOCOL=none GIT_NO_LAZY_FETCH=1 GIT_OPTIONAL_LOCKS=0";

const SHELL: [&str; 2] = ["run_shell_command", "ShellTool"];

pub(super) const DIRECTORY: [&str; 2] = ["dir_path", "directory"];

pub(super) fn line_of<'a>(call: &PolicyCall<'a>) -> Option<&'a str> {
    let is_shell = call.server.is_none() && is_shell(call.name);
    let line = is_shell.then(|| call.args.get("command").and_then(Value::as_str));
    line.flatten().filter(|line| !line.is_empty())
}

/// Returns true if the tool of this name runs lines of shell, each command of which is judged.
pub fn is_shell(tool: &str) -> bool {
    SHELL.contains(&tool)
}

impl Policy {
    pub(super) fn check_line(&self, asked: Inquiry<'_>, line: &str) -> Verdict {
        // Without rules, the mode yolo allows every line.
        if self.rules.is_empty() && asked.mode == Mode::Yolo {
            return self.verdict(None, asked);
        }
        let analysis = analyse(line);
        let mut verdict = self.check_analysed(asked, line, &analysis);
        verdict.understood = analysis.understood().map(str::to_owned);
        if let Some(not_plain) = &analysis.not_plain
            && verdict.decision != Decision::Allow
        {
            verdict.reason = format!("{} {not_plain} is not plain shell.", verdict.reason);
        }
        verdict
    }

    fn check_analysed(&self, asked: Inquiry<'_>, line: &str, analysis: &Analysis) -> Verdict {
        let Inquiry { call, mode, .. } = asked;
        let meant = self.meant(call);
        let texts = self.texts(call, &meant);
        let is_nothing = analysis.commands.is_empty();
        let single = single_command(line, analysis);
        let whole = RuleSubject {
            line: Some(line),
            command: single,
            is_unknown: is_nothing && !analysis.unresolved.is_empty(),
            ..RuleSubject::plain(asked, &texts)
        };
        let rule = self.first(&whole);
        let mut verdict = self.verdict(rule, asked);
        if verdict.decision == Decision::Deny {
            return verdict;
        }
        let is_dangerous = mode != Mode::Yolo && analysis.commands.iter().any(safe::is_dangerous);
        let is_conditional = rule.is_some_and(Rule::is_conditional);
        if is_dangerous && !is_conditional && verdict.decision == Decision::Allow {
            let rule = "built in: what deletes or links needs the user's approval";
            verdict = ask(call, verdict, rule);
        }
        if is_nothing {
            verdict = ask_if_not_understood(asked, rule, verdict);
        } else if verdict.decision == Decision::Allow
            && (analysis.redirects || analysis.commands.iter().any(guard::writes_by_option))
            && !matches!(mode, Mode::AutoEdit | Mode::Yolo)
            && !rule.is_some_and(|rule| rule.allows_redirection)
        {
            let rule = "built in: redirections, and options that name an output, need a rule with \
                        allowRedirection, or approval";
            verdict = ask(call, verdict, rule);
        }
        if single.is_none() {
            verdict = self.parts(asked, analysis, &meant, verdict);
        }
        if is_dangerous || is_conditional {
            return verdict;
        }
        let is_plain = !analysis.redirects && analysis.understood().is_some();
        let single = single.filter(|_| is_plain);
        self.apply_safe_list(asked, single, verdict)
    }

    /// Judges the parts of a line: each command, each text whose commands can't be known, and each
    /// other text, such as a here-document. A rule that restricts a prefix also matches a text that
    /// mentions the words of the prefix.
    fn parts(
        &self,
        asked: Inquiry<'_>,
        analysis: &Analysis,
        meant: &Meant,
        whole: Verdict,
    ) -> Verdict {
        let mut verdict = whole;
        let known = analysis
            .commands
            .iter()
            .map(|command| (command.text.as_str(), Some(command), false));
        let unknown = analysis.unresolved.iter().map(|text| (text, true));
        let texts = analysis.texts.iter().map(|text| (text, false));
        let others = unknown.chain(texts);
        let others = others.map(|(text, is_unknown)| (text.as_str(), None, is_unknown));
        for (line, command, is_unknown) in known.chain(others) {
            let mut args = Map::new();
            args.insert("command".to_owned(), line.trim().into());
            for key in DIRECTORY {
                if let Some(directory) = asked.call.args.get(key) {
                    args.insert(key.to_owned(), directory.clone());
                }
            }
            let call = PolicyCall {
                args: &args,
                renamed: &[],
                ..*asked.call
            };
            let texts = self.texts(&call, meant);
            let subject = RuleSubject {
                line: Some(line),
                command,
                is_part: true,
                is_unknown,
                ..RuleSubject::plain(asked, &texts)
            };
            // Rules without a prefix are about commands, and don't count for other texts. If such a
            // rule came first, it would hide one with a prefix that restricts the text.
            let is_text = command.is_none() && !is_unknown;
            let mut rules = self.rules.iter();
            let rule =
                rules.find(|rule| (!is_text || rule.is_by_prefix()) && rule.decides(&subject));
            if is_text && rule.is_none() {
                continue;
            }
            let part = self.verdict(rule, asked);
            match part.decision {
                Decision::Deny => return about(part, line, is_unknown),
                Decision::AskUser if verdict.decision == Decision::Allow => {
                    verdict = about(part, line, is_unknown);
                }
                _ => {}
            }
        }
        verdict
    }

    /// Allows commands that are known to be harmless, as Gemini CLI 0.61 does. It changes neither a
    /// denial nor the verdict on a line that is not understood.
    fn apply_safe_list(
        &self,
        asked: Inquiry<'_>,
        single: Option<&Command>,
        verdict: Verdict,
    ) -> Verdict {
        let Inquiry { call, mode, .. } = asked;
        // git starts programs that files of the project name. So the project must be trusted, and
        // no tool may have been allowed to write its files without asking a person.
        let trusts_git =
            || mode != Mode::AutoEdit && !self.edits_are_agreed && self.trust.is_trusted();
        let may_be_safe = verdict.decision == Decision::AskUser
            && call.kind == Kind::Execute
            && !has_directory(call)
            && single.is_some_and(|command| {
                safe::is_known_safe(command, &self.root, &self.more_roots, trusts_git)
            });
        if !may_be_safe {
            return verdict;
        }
        let mut allowed = verdict;
        allowed.decision = Decision::Allow;
        allowed.reason.clear();
        "built in: the command only looks at what is in the workspace"
            .clone_into(&mut allowed.rule);
        allowed.file = None;
        allowed.only_looks = true;
        allowed
    }
}

fn single_command<'a>(line: &str, analysis: &'a Analysis) -> Option<&'a Command> {
    let [command] = analysis.commands.as_slice() else {
        return None;
    };
    let is_all = command.text.trim() == line.trim()
        && analysis.unresolved.is_empty()
        && analysis.texts.is_empty();
    is_all.then_some(command)
}

fn has_directory(call: &PolicyCall<'_>) -> bool {
    DIRECTORY
        .iter()
        .any(|key| call.args.get(*key).is_some_and(|v| !v.is_null()))
}

/// Asks about a line that is not understood or that runs nothing, because a rule that allows it may
/// not have meant this.
fn ask_if_not_understood(asked: Inquiry<'_>, rule: Option<&Rule>, verdict: Verdict) -> Verdict {
    let text = "built in: lines that can't be understood need the user's approval";
    match (asked.mode, rule) {
        (Mode::Yolo, Some(rule)) if rule.is_conditional() => {
            let alone = Inquiry {
                interactive: false,
                ..asked
            };
            defaults::ask(alone, 10, text)
        }
        (Mode::Yolo, _) => verdict,
        _ if verdict.decision == Decision::Allow => defaults::ask(asked, 10, text),
        _ => verdict,
    }
}

fn ask(call: &PolicyCall<'_>, allowed: Verdict, rule: &str) -> Verdict {
    Verdict {
        decision: Decision::AskUser,
        reason: format!("{} needs the user's approval.", call.name),
        rule: rule.to_owned(),
        file: None,
        ..allowed
    }
}

fn about(verdict: Verdict, part: &str, is_unknown: bool) -> Verdict {
    let part = excerpt(part.trim(), 200);
    let what = if is_unknown {
        format!("What {part:?} runs can't be known beforehand.")
    } else {
        format!("It is about {part:?}.")
    };
    Verdict {
        reason: format!("{} {what}", verdict.reason),
        ..verdict
    }
}
