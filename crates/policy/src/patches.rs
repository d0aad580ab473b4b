//! Judges calls of `apply_patch`, which may change many files: each change is judged by itself.

use super::rule::{Condition, Rule, RuleSubject};
use super::{Decision, Inquiry, Policy, PolicyCall, Verdict, defaults};
use gemini_tools_builtin_tools::patch::{Change, FilePatch, parse};
use serde_json::{Map, Value};

/// Judges a call. A patch is judged by the rules for `apply_patch`, by the kind of each change in
/// it, and by the rules that restrict `write_file` and `replace` for the same file; the strictest
/// verdict counts.
pub(super) fn judge(policy: &Policy, asked: Inquiry<'_>) -> Verdict {
    let verdict = policy.check_plain(asked);
    if !is_patch(asked.call) {
        return verdict;
    }
    let Some(patches) = parsed(asked.call) else {
        // The tool refuses a patch that can't be parsed. A person is asked first, in case the tool
        // can parse a patch that this code can't.
        let rule = "built in: a patch that can't be read changes files that are not known";
        return if asked.mode == super::Mode::Yolo {
            verdict
        } else {
            verdict.or_stricter(defaults::ask(asked, 10, rule))
        };
    };
    let mut verdict = verdict;
    for patch in &patches {
        for (path, kind) in patch.effects() {
            let call = PolicyCall {
                kind,
                ..*asked.call
            };
            let asked_so = Inquiry {
                call: &call,
                ..asked
            };
            verdict = verdict.or_stricter(policy.check_plain(asked_so));
            let tools: &[&str] = match (&patch.change, kind) {
                (Change::Create { .. }, _) => &["write_file"],
                (Change::Update { to: None, .. }, _) => &["replace"],
                _ => &["write_file", "replace"],
            };
            for tool in tools {
                if let Some(restriction) = restriction(policy, asked, tool, patch, path) {
                    verdict = verdict.or_stricter(restriction);
                }
            }
        }
    }
    verdict
}

pub(super) fn paths(call: &PolicyCall<'_>) -> Option<Vec<String>> {
    let patches = is_patch(call).then(|| parsed(call))??;
    let effects = patches.iter().flat_map(FilePatch::effects);
    Some(effects.map(|(path, _)| path.to_owned()).collect())
}

pub(super) fn is_patch(call: &PolicyCall<'_>) -> bool {
    call.is_built_in && call.name == "apply_patch"
}

fn parsed(call: &PolicyCall<'_>) -> Option<Vec<FilePatch>> {
    let others = call.renamed.iter().map(|(name, _)| *name);
    let mut given = ["patch"]
        .into_iter()
        .chain(others)
        .filter_map(|name| call.args.get(name));
    let patch = parse(given.next()?.as_str()?).ok()?;
    given.next().is_none().then_some(patch)
}

/// Returns the verdict of the rule that would decide if `tool` made the same change of `file`.
/// Returns `None` if that rule allows the change or there is none.
fn restriction(
    policy: &Policy,
    asked: Inquiry<'_>,
    tool: &str,
    patch: &FilePatch,
    file: &str,
) -> Option<Verdict> {
    let absolute = policy.root.join(file).to_string_lossy().into_owned();
    let verdicts = [file.to_owned(), absolute].map(|file| {
        let mut args = Map::new();
        args.insert("file_path".to_owned(), Value::from(file));
        if let Change::Create { text, .. } = &patch.change {
            args.insert("content".to_owned(), Value::from(text.as_str()));
        }
        let call = PolicyCall {
            kind: asked.call.kind,
            is_built_in: true,
            ..PolicyCall::by_name(tool, &args)
        };
        let asked = Inquiry {
            call: &call,
            ..asked
        };
        let texts = policy.texts(&call, &policy.meant(&call));
        let subject = RuleSubject::plain(asked, &texts);
        // `tools.core` lists which tools there are, and says nothing about files.
        let is_list = |rule: &Rule| matches!(rule.condition, Condition::NotListed(_));
        let mut rules = policy.rules.iter();
        let rule = rules.find(|rule| !is_list(rule) && rule.decides(&subject))?;
        (rule.decision != Decision::Allow).then(|| rule.verdict(asked.call))
    });
    verdicts
        .into_iter()
        .flatten()
        .max_by_key(|verdict| verdict.decision)
}
