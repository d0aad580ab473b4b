//! Finds restrictions that have no effect: settings and rules that are not in force, and variables
//! that do not reach a call; and those that can't be read, with which no call runs. The user
//! believes that calls are restricted, and would not notice that they are not, because they simply
//! succeed.

use super::{DoctorReport, Setup, UNTRUSTED_IS_NOT_RUN, trust_remedy};
use gemini_tools_builtin_tools::builtin::{self, ToolEnv};
use gemini_tools_custom_tools::Custom;
use gemini_tools_environment::ancestors;
use gemini_tools_environment::variables::{self, RESTRICTING, Variable, host_name};
use gemini_tools_settings::settings::{Settings, UNTRUSTED};
use gemini_tools_workspace::file_owner::FileOwner;
use std::path::Path;

pub(super) fn check(setup: &Setup<'_>, report: &mut DoctorReport) {
    report
        .findings
        .extend(setup.settings.problems.iter().cloned());
    // `tools.core` is the only setting of an untrusted project that may be meant as a restriction
    // and is ignored.
    let notes = setup.settings.notes.iter();
    let notes = notes.filter(|note| note.code == UNTRUSTED && note.place.key == "tools.core");
    for problem in notes.chain(&setup.policy.problems) {
        let mut finding = problem.clone();
        if finding.code == UNTRUSTED {
            finding = finding.advise(UNTRUSTED_IS_NOT_RUN, trust_remedy(setup));
        }
        report.findings.push(finding);
    }
    let projects = setup.root.join(".gemini/policies");
    let names = FileOwner::Users.names(&projects).unwrap_or_default();
    let has_rules = names
        .iter()
        .any(|name| Path::new(name).extension().is_some_and(|e| e == "toml"));
    if setup.settings.trust.is_trusted() && setup.home != Some(setup.root) && has_rules {
        let what = "The project has its own rules.";
        let why = "call_tool obeys them where the project is trusted; Gemini CLI 0.61 does not look at them.";
        let help =
            "Rules that Gemini CLI is to obey are in ~/.gemini/policies, or are named by --policy.";
        report.warn("project-policies", projects.as_path(), what, why, help);
    }
    for name in RESTRICTING {
        check_variable(name, report);
    }
}

fn check_variable(name: &'static str, report: &mut DoctorReport) {
    let found = variables::values(name);
    // In GitHub Actions, Gemini CLI passes only a few variables on to commands (seen in 0.61).
    // Where a process can see its ancestors' variables, `call_tool` reads them there.
    let has = |name: &str, is: fn(&str) -> bool| std::env::var(name).is_ok_and(|value| is(&value));
    let is_strict =
        has("GITHUB_SHA", |value| !value.is_empty()) || has("SURFACE", |value| value == "Github");
    let is_handed_on =
        |one: &Variable| one.file.is_some() || one.name.starts_with(variables::HOST_PREFIX);
    if !is_strict || found.is_empty() || found.iter().any(is_handed_on) {
        return;
    }
    let what = format!("{name} is set, and is not handed on to calls.");
    let help = format!(
        "Set {} instead, or a line in ~/.gemini/.env.",
        host_name(name)
    );
    let why = "With GITHUB_SHA set, Gemini CLI 0.61 keeps it back; on Linux calls read it from the host's process, unless the host's own sandbox (security.toolSandboxing) hides that.";
    if ancestors::ARE_VISIBLE {
        report.warn("not-handed-on", name, what, why, help);
    } else {
        report.error("not-handed-on", name, what, why, help);
    }
}

/// Warns of rules that refuse nothing, because their tool names are neither in `declared` nor ours.
/// In the user's own rules, only names that resemble a known one are reported.
pub(super) fn check_names(setup: &Setup<'_>, declared: &[String], report: &mut DoctorReport) {
    let mut known = tool_names(setup.settings, setup.home, setup.root);
    known.extend_from_slice(declared);
    report.findings.extend(setup.policy.unknown_tools(&known));
}

/// Returns the names of the built-in tools, and of the custom tools of the user and the project.
pub fn tool_names(settings: &Settings, home: Option<&Path>, root: &Path) -> Vec<String> {
    let tool_env = || ToolEnv::open(settings, home);
    let own = Custom::open(home, root, &settings.trust);
    let mut names = own.declarations(|_, _| true, false, false, tool_env).names;
    names.extend(builtin::TOOLS.iter().map(|tool| tool.name.to_owned()));
    names
}
