//! Codex, of `OpenAI`.

use super::{Host, HostFacts};
use crate::doctor::{DoctorReport, HostSetup, report_off};
use crate::init::{SKILLS, SetupScope};
use crate::syntax::Syntax;
use gemini_tools_core::variables::RESTRICTING;
use serde_json::Value;
use std::path::Path;
use std::time::Duration;

pub(super) static HOST: Host = Host {
    name: "codex",
    title: "Codex",
    seen: "0.171.0",
    program: "codex",
    package: "codex",
    scope: SetupScope::User,
    user_file: ".codex/config.toml",
    moved: Some(("CODEX_HOME", "config.toml")),
    project_file: ".codex/config.toml",
    user_skills: |home| home.join(SKILLS),
    project_skills: SKILLS,
    servers: "mcp_servers",
    syntax: Syntax::Toml,
    needs,
    facts: HostFacts {
        trust: "counts in trusted folders",
        asks: "before what changes something or sends data out; `codex exec` refuses that",
        plan: "all; only the model is told",
        sandbox: "`--sandbox MODE` around our commands, on Linux",
        variables: "few, and `env_vars`",
        answers: "12,000 bytes, from GPT-5.5 on 48,000; more in a file",
    },
    next: "codex; codex exec only reads until you add default_tools_approval_mode = \"approve\" to the entry",
    passes,
    check,
};

/// Returns the variables that the tools need: a key for the web tools, and all that restricts.
fn needs() -> Vec<(&'static str, Value)> {
    let mut names = vec!["GEMINI_API_KEY"];
    names.extend(RESTRICTING);
    if std::env::var_os("CODEX_HOME").is_some() {
        names.push("CODEX_HOME");
    }
    vec![("env_vars", names.into())]
}

/// Returns true for the variables that a server gets without being named.
fn passes(name: &str) -> bool {
    const PASSED: [&str; 10] = [
        "HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER",
    ];
    PASSED.contains(&name)
}

/// Reports what keeps Codex from starting the server or from calling its tools.
fn check(setup: &HostSetup<'_>, report: &mut DoctorReport) {
    let Some((_, entry)) = setup.entry else {
        return;
    };
    let file = &*setup.file.path;
    let is_trusted = |folder: &Path| {
        setup.user.value["projects"][&*folder.to_string_lossy()]["trust_level"] == "trusted"
    };
    if setup.file.scope == SetupScope::Project && !setup.root.ancestors().any(is_trusted) {
        let what = "Codex does not trust this folder, so the project's file does not count.";
        let why = "The server is not started, without a word.";
        let help = "Start codex here once and trust the folder, or: get_tools init --host codex.";
        report.error("host-untrusted", file, what, why, help);
    }
    if entry["enabled"] == false {
        report_off(file, "enabled = false", report);
    }
    setup.check_lists(["enabled_tools", "disabled_tools"], report);
    setup.check_timeout("tool_timeout_sec", Duration::from_secs(1), report);
    if entry["default_tools_approval_mode"] == "prompt" {
        let what = "default_tools_approval_mode is \"prompt\".";
        let why = "codex exec refuses every call then, also of tools that read.";
        let help = "Take it out: tools that read are called without a question then.";
        report.warn("host-approval", file, what, why, help);
    }
    // Each tool may have its own; this is about all that has none.
    let refuses = setup.user.value["approval_policy"] == "never";
    if refuses && entry["default_tools_approval_mode"] != "approve" {
        let what = "approval_policy is \"never\".";
        let why = "Codex refuses calls that change something or send data out, instead of asking.";
        let help = "Choose \"on-request\", or approve tools in the entry: default_tools_approval_mode = \"approve\".";
        report.warn("host-approval", &*setup.user.path, what, why, help);
    }
}
