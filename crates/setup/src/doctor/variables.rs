//! Variables that restrict calls, their source, and those that reach a call.

use super::DoctorReport;
use gemini_tools_core::ancestors;
use gemini_tools_core::text::show_path;
use gemini_tools_core::variables::{self, NAMES, RESTRICTING, Variable, host_name};

/// Returns true if Gemini CLI hands the commands that it starts few variables, as it does in GitHub's workflows: seen in
/// 0.61.
fn is_host_strict() -> bool {
    let has = |name: &str, is: fn(&str) -> bool| std::env::var(name).is_ok_and(|value| is(&value));
    has("GITHUB_SHA", |value| !value.is_empty()) || has("SURFACE", |value| value == "Github")
}

/// Returns true if the host gives this variable to the calls that it makes, or they read it from the user's file.
fn is_handed_on(variable: &Variable) -> bool {
    let has_hosts_name = variable.name.starts_with(variables::HOST_PREFIX);
    variable.file.is_some() || has_hosts_name || !is_host_strict()
}

/// Returns true if a call that the host makes has this variable. Where processes show their variables it looks
/// at the host's.
pub(super) fn reaches_calls(variable: &Variable) -> bool {
    ancestors::ARE_VISIBLE || is_handed_on(variable)
}

/// Notes the variables that restrict calls, and reports those that do not reach a call.
pub(super) fn check(report: &mut DoctorReport) {
    for name in NAMES {
        let found = variables::values(name);
        for one in found.iter().filter(|_| RESTRICTING.contains(&name)) {
            let place = one.file.as_deref().map(show_path);
            let place = place.as_deref().unwrap_or("the environment");
            report.fact(
                "restricts",
                format!("{} = {}, by {place}", one.name, one.text()),
            );
        }
        if found.is_empty() || found.iter().any(is_handed_on) {
            continue;
        }
        let is_read = found.iter().any(reaches_calls);
        let restricts = RESTRICTING.contains(&name);
        if is_read && !restricts {
            continue;
        }
        let (what, why) = if is_read {
            (
                format!("{name} is set, and is not handed on to calls."),
                "With GITHUB_SHA set, Gemini CLI 0.61 keeps it back. Calls read it from the host's process, which the \
                 host's own sandbox (security.toolSandboxing) hides from them.",
            )
        } else {
            (
                format!("{name} is set, and does not reach a call."),
                "With GITHUB_SHA set, Gemini CLI 0.61 hands on GEMINI_CLI_* and few other variables.",
            )
        };
        let help = format!(
            "Set {} instead, or a line in ~/.gemini/.env.",
            host_name(name)
        );
        if restricts && !is_read {
            report.error("not-handed-on", name, what, why, help);
        } else {
            report.warn("not-handed-on", name, what, why, help);
        }
    }
}
