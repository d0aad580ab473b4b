//! The rules by which Gemini CLI lets a model call the tools.

use super::{AFTER_0_8, DoctorReport, Setup, explain};
use crate::init::MODES_BUT_PLAN;
use gemini_tools_builtin_tools::builtin::{self, ToolEnv};
use gemini_tools_core::diagnostic::Origin;
use gemini_tools_core::text::show_path;
use gemini_tools_core::tool::{ErrorKind, Kind, ToolError};
use gemini_tools_custom_tools::Custom;
use gemini_tools_policy::{Decision, Mode, PolicyCall, PolicyFile, Tier};
use gemini_tools_settings::settings::{Settings, UNTRUSTED};
use gemini_tools_workspace::Workspace;
use gemini_tools_workspace::file_owner::FileOwner;
use serde_json::Map;
use std::path::Path;
use std::sync::Arc;

const PREFIX: &str = "discovered_tool_";

const HEADLESS: &str = "Gemini CLI 0.61 without a terminal (-p, CI) shows a model only tools that a rule allows by name.";

/// Reports the files of rules that can't be read, and the rules that say something else than they seem to.
pub(super) fn faults(setup: &Setup<'_>, report: &mut DoctorReport) {
    let problems = setup.policy.problems.iter();
    // An untrusted project is reported with its tools and settings.
    let told = problems.filter(|problem| problem.code != UNTRUSTED);
    report.findings.extend(told.cloned());
}

/// Warns of names in rules that no tool has, neither of `declared` nor of ours.
pub(super) fn unknown_tools(setup: &Setup<'_>, declared: &[String], report: &mut DoctorReport) {
    let mut known = tool_names(&setup.settings, setup.home, setup.root);
    known.extend_from_slice(declared);
    report.findings.extend(setup.policy.unknown_tools(&known));
}

/// Returns the names of the built-in tools and of the user's and the project's own.
pub fn tool_names(settings: &Settings, home: Option<&Path>, root: &Path) -> Vec<String> {
    let tool_env = || {
        let workspace = Workspace::open(&[], home)?;
        let tool_env = ToolEnv::new(Arc::new(workspace));
        Ok(tool_env.with_settings(Arc::new(settings.clone())))
    };
    let own = Custom::open(home, root, &settings.trust);
    let mut names = own.declarations(|_, _| true, false, false, tool_env).names;
    names.extend(builtin::TOOLS.iter().map(|tool| tool.name.to_owned()));
    names
}

/// Compares the rules with the tools' names.
pub(super) fn check(setup: &Setup<'_>, names: &[String], report: &mut DoctorReport) {
    if !setup.host_may_be(AFTER_0_8..) {
        return;
    }
    let mut allowed: Vec<String> = setup.settings.allowed.users.clone();
    allowed.extend(setup.settings.allowed.projects.iter().cloned());
    // They count in every mode, and can't be told otherwise.
    let changing = changing(setup, names);
    in_plan_mode("tools.allowed", &allowed, &changing, report);
    let users = setup
        .policy
        .files
        .iter()
        .filter(|file| file.tier == Tier::User);
    for PolicyFile { path, .. } in users {
        let rules = setup.policy.allowed_in(path, Mode::Default);
        let in_plan = setup.policy.allowed_in(path, Mode::Plan);
        let (in_plan, in_others): (Vec<String>, Vec<String>) = rules
            .clone()
            .map(str::to_owned)
            .partition(|name| in_plan.clone().any(|one| one == name.as_str()));
        in_plan_mode(path.as_path(), &in_plan, &changing, report);
        in_other_modes(path.as_path(), &in_others, &changing, report);
        for name in rules {
            if name.contains('*') && name.starts_with("discovered") {
                report.warn(
                    "rule-pattern",
                    path.as_path(),
                    explain(
                        format!("{name:?} is a pattern."),
                        "For discovered tools Gemini CLI compares whole names: it matches none.",
                        "Name each tool; get_tools init writes such a rule.",
                    ),
                );
            }
            allowed.push(name.to_owned());
        }
    }
    let is_allowed = |name: &String| {
        allowed
            .iter()
            .any(|rule| rule.strip_prefix(PREFIX) == Some(name) || rule == "*")
    };
    for name in names.iter().filter(|name| !is_allowed(name)) {
        if allowed.contains(name) {
            report.warn(
                "rule-without-prefix",
                name.as_str(),
                explain(
                    format!("A rule allows {name:?}, which does not allow the discovered tool."),
                    "Gemini CLI 0.61 puts discovered_tool_ before the names of discovered tools; a rule without it is for Gemini CLI's own tool.",
                    format!("Name it {PREFIX}{name} in the rule."),
                ),
            );
        }
    }
    for name in names.iter().filter(|name| is_allowed(name)) {
        if let Some(rule) = denied(setup, name) {
            report.warn(
                "rule-denies",
                name.as_str(),
                explain(
                    format!(
                        "One rule allows it, and another one, which counts, denies it: {rule}."
                    ),
                    "Gemini CLI 0.61 shows a model no tool that is denied.",
                    "Take one of the two rules out.",
                ),
            );
        }
    }
    if !names.is_empty() && !names.iter().any(is_allowed) {
        report.warn(
            "no-rule",
            "~/.gemini/policies",
            explain(
                "No rule allows any of these tools.",
                HEADLESS,
                "get_tools init writes one for tools that only read.",
            ),
        );
    }
    let projects = setup.root.join(".gemini/policies");
    let entries = FileOwner::Users.names(&projects).unwrap_or_default();
    let has_rules = entries
        .iter()
        .any(|name| Path::new(name).extension().is_some_and(|e| e == "toml"));
    if setup.home != Some(setup.root) && has_rules {
        report.warn(
            "project-policies",
            projects.as_path(),
            explain(
                "The project has its own rules.",
                "call_tool obeys them where the project is trusted; Gemini CLI 0.61 does not look at them.",
                "Rules that Gemini CLI is to obey are in ~/.gemini/policies, or are named by --policy.",
            ),
        );
    }
}

/// Returns those of the tools that are known to change something.
fn changing(setup: &Setup<'_>, names: &[String]) -> Vec<String> {
    let mut kinds: Vec<(String, Kind)> = Vec::new();
    let nowhere = || {
        let message = "No command is run to look at rules.";
        Err(ToolError::new(ErrorKind::ExecutionFailed, message))
    };
    let own = Custom::open(setup.home, setup.root, &setup.settings.trust);
    let note = |name: &str, kind| {
        kinds.push((name.to_owned(), kind));
        false
    };
    own.declarations(note, false, false, nowhere);
    let kind = |name: &str| {
        let own = kinds.iter().find(|(own, _)| own == name);
        let built_in = builtin::find_exactly(name).map(|tool| tool.info.kind);
        built_in.or(own.map(|(_, kind)| *kind))
    };
    let changes = |name: &&String| kind(name).is_some_and(|kind| !kind.is_read_only());
    names.iter().filter(changes).cloned().collect()
}

/// Returns the names of `changing` that these names of rules allow, `None` if there are none.
fn allowed_of(changing: &[String], allowed: &[String]) -> Option<String> {
    let is_allowed = |name: &&String| {
        allowed
            .iter()
            .any(|rule| rule.strip_prefix(PREFIX) == Some(name) || rule == "*")
    };
    let names = changing.iter().filter(is_allowed);
    let names: Vec<&str> = names.map(String::as_str).collect();
    (!names.is_empty()).then(|| names.join(", "))
}

/// Warns of tools that change something if a rule of all projects allows them in every mode but Plan mode.
fn in_other_modes(file: &Path, allowed: &[String], changing: &[String], report: &mut DoctorReport) {
    let Some(names) = allowed_of(changing, allowed) else {
        return;
    };
    report.warn(
        "rule-all-projects",
        file,
        explain(
            format!("In every mode but Plan mode, no question is asked about {names}."),
            "A rule of yours counts in all of your projects, not in this one alone.",
            "If that is not meant: get_tools init --allow read-only",
        ),
    );
}

/// Warns of tools that change something if these names allow them in Plan mode too.
fn in_plan_mode(
    about: impl Into<Origin>,
    allowed: &[String],
    changing: &[String],
    report: &mut DoctorReport,
) {
    let Some(names) = allowed_of(changing, allowed) else {
        return;
    };
    report.warn(
        "rule-plan-mode",
        about,
        explain(
            format!("In Plan mode too, no question is asked about {names}."),
            "What allows a tool in every mode counts in Plan mode as well, where Gemini CLI's own tools may not write.",
            format!("Allow them in a rule of ~/.gemini/policies that has: modes = {MODES_BUT_PLAN}"),
        ),
    );
}

/// Returns the rule that denies each call of a discovered tool, where Gemini CLI obeys it.
fn denied(setup: &Setup<'_>, name: &str) -> Option<String> {
    // What a file that can't be read might deny is told by itself; and a rule for a built-in tool
    // is one for the discovered tool of its name here, but not in Gemini CLI.
    if !setup.policy.problems.is_empty() || builtin::find(name).is_some() {
        return None;
    }
    let args = Map::new();
    let call = PolicyCall::of_tool(name, &[], &args);
    let verdict = setup.policy.check(&call, Mode::Default, false);
    let rule = verdict.rule;
    let is_obeyed = verdict.decision == Decision::Deny
        && !rule.is_default
        // Gemini CLI asks neither for discovered tools.
        && rule.tier != Tier::Workspace
        && rule.rule != "tools.core";
    is_obeyed.then(|| match &rule.file {
        Some(file) => format!("{} in {}", rule.rule, show_path(file)),
        None => rule.rule,
    })
}
