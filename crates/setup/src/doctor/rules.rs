//! The rules by which Gemini CLI lets a model call the tools.

use super::{AFTER_0_8, DoctorReport, Setup};
use crate::init::MODES_BUT_PLAN;
use gemini_tools_builtin_tools::builtin::{self, ToolEnv};
use gemini_tools_core::diagnostic::Origin;
use gemini_tools_custom_tools::Custom;
use gemini_tools_policy::{Mode, PolicyFile, Tier};
use gemini_tools_settings::settings::{Settings, UNTRUSTED};
use gemini_tools_workspace::file_owner::FileOwner;
use std::path::Path;

const PREFIX: &str = "discovered_tool_";

const HEADLESS: &str = "Gemini CLI 0.61 without a terminal (-p, CI) shows a model only tools that a rule allows by name.";

/// Reports the files of rules that can't be read, and the rules that say something else than they seem to.
pub(super) fn faults(setup: &Setup<'_>, report: &mut DoctorReport) {
    let problems = setup.policy.problems.iter();
    // An untrusted project is reported with its tools and settings.
    let problems = problems.filter(|problem| problem.code != UNTRUSTED);
    report.findings.extend(problems.cloned());
}

/// Warns of names in rules that no tool has, neither of `declared` nor of ours.
pub(super) fn unknown_tools(setup: &Setup<'_>, declared: &[String], report: &mut DoctorReport) {
    let mut known = tool_names(setup.settings, setup.home, setup.root);
    known.extend_from_slice(declared);
    report.findings.extend(setup.policy.unknown_tools(&known));
}

/// Returns the names of the built-in tools and of the user's and the project's own.
pub fn tool_names(settings: &Settings, home: Option<&Path>, root: &Path) -> Vec<String> {
    let tool_env = || ToolEnv::open(settings, home);
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
    let changing = find_changing(setup, names);
    // They count in every mode, and can't be told otherwise.
    warn_unasked("tools.allowed", &allowed, &changing, true, report);
    let users = setup.policy.files.iter();
    for PolicyFile { path, .. } in users.filter(|file| file.tier == Tier::User) {
        let in_mode = |mode| {
            let names = setup.policy.allowed_in(path, mode);
            names.map(str::to_owned).collect::<Vec<_>>()
        };
        let (in_plan, mut in_others) = (in_mode(Mode::Plan), in_mode(Mode::Default));
        warn_of_patterns(path, &in_others, report);
        allowed.extend(in_others.iter().cloned());
        in_others.retain(|name| !in_plan.contains(name));
        warn_unasked(path.as_path(), &in_plan, &changing, true, report);
        warn_unasked(path.as_path(), &in_others, &changing, false, report);
    }
    let is_allowed = |name: &String| allows(&allowed, name);
    for name in names.iter().filter(|name| !is_allowed(name)) {
        if allowed.contains(name) {
            let what = format!("A rule allows {name:?}, which does not allow the discovered tool.");
            let why = "Gemini CLI 0.61 puts discovered_tool_ before the names of discovered tools; a rule without it is for Gemini CLI's own tool.";
            let help = format!("Name it {PREFIX}{name} in the rule.");
            report.warn("rule-without-prefix", name.as_str(), what, why, help);
        }
    }
    if !names.is_empty() && !names.iter().any(is_allowed) {
        let what = "No rule allows any of these tools.";
        let help = "get_tools init writes one for tools that only read.";
        report.warn("no-rule", "~/.gemini/policies", what, HEADLESS, help);
    }
    warn_of_project_rules(setup, report);
}

/// Warns of names in rules that are patterns for discovered tools.
fn warn_of_patterns(file: &Path, names: &[String], report: &mut DoctorReport) {
    for name in names {
        if name.contains('*') && name.starts_with("discovered") {
            let what = format!("{name:?} is a pattern.");
            let why = "For discovered tools Gemini CLI compares whole names: it matches none.";
            let help = "Name each tool; get_tools init writes such a rule.";
            report.warn("rule-pattern", file, what, why, help);
        }
    }
}

/// Warns of a project's own rules, which Gemini CLI does not look at.
fn warn_of_project_rules(setup: &Setup<'_>, report: &mut DoctorReport) {
    let projects = setup.root.join(".gemini/policies");
    let entries = FileOwner::Users.names(&projects).unwrap_or_default();
    let has_rules = entries
        .iter()
        .any(|name| Path::new(name).extension().is_some_and(|e| e == "toml"));
    if setup.home != Some(setup.root) && has_rules {
        let what = "The project has its own rules.";
        let why = "call_tool obeys them where the project is trusted; Gemini CLI 0.61 does not look at them.";
        let help =
            "Rules that Gemini CLI is to obey are in ~/.gemini/policies, or are named by --policy.";
        report.warn("project-policies", projects.as_path(), what, why, help);
    }
}

/// Returns true if these names of rules allow a discovered tool.
fn allows(rules: &[String], name: &str) -> bool {
    let mut rules = rules.iter();
    rules.any(|rule| rule.strip_prefix(PREFIX) == Some(name) || rule == "*")
}

/// Returns those of the tools that are known to change something.
fn find_changing(setup: &Setup<'_>, names: &[String]) -> Vec<String> {
    let kinds = Custom::open(setup.home, setup.root, &setup.settings.trust).kinds();
    let kind = |name: &str| {
        let own = kinds.iter().find(|(own, _)| own == name);
        let built_in = builtin::find_exactly(name).map(|tool| tool.info.kind);
        built_in.or(own.map(|(_, kind)| *kind))
    };
    let changes = |name: &&String| kind(name).is_some_and(|kind| !kind.is_read_only());
    names.iter().filter(changes).cloned().collect()
}

/// Warns of tools that change something if these names of rules allow them: in Plan mode too, or in
/// all other modes and in all projects.
fn warn_unasked(
    about: impl Into<Origin>,
    rules: &[String],
    changing: &[String],
    in_plan_mode: bool,
    report: &mut DoctorReport,
) {
    let names = changing.iter().filter(|name| allows(rules, name));
    let names: Vec<&str> = names.map(String::as_str).collect();
    if names.is_empty() {
        return;
    }
    let names = names.join(", ");
    if in_plan_mode {
        let what = format!("In Plan mode too, no question is asked about {names}.");
        let why = "What allows a tool in every mode counts in Plan mode as well, where Gemini CLI's own tools may not write.";
        let help = format!(
            "Allow them in a rule of ~/.gemini/policies that has: modes = {MODES_BUT_PLAN}"
        );
        report.warn("rule-plan-mode", about, what, why, help);
    } else {
        let what = format!("In every mode but Plan mode, no question is asked about {names}.");
        let why = "A rule of yours counts in all of your projects, not in this one alone.";
        let help = "If that is not meant: get_tools init --allow read-only";
        report.warn("rule-all-projects", about, what, why, help);
    }
}
