//! Gemini CLI, where it gets the tools over MCP and not by its two commands.

use super::{Host, HostFacts, is_named};
use crate::doctor::{DoctorReport, HostSetup, report_off};
use crate::init::{SKILLS, SetupScope};
use crate::syntax::Syntax;
use serde_json::Value;
use std::time::Duration;

pub(super) static HOST: Host = Host {
    name: "gemini",
    title: "Gemini CLI",
    seen: "0.61",
    program: "gemini",
    package: "gemini-cli",
    scope: SetupScope::Project,
    user_file: ".gemini/settings.json",
    moved: None,
    project_file: ".gemini/settings.json",
    user_skills: |home| home.join(SKILLS),
    project_skills: SKILLS,
    servers: "mcpServers",
    syntax: Syntax::Comments,
    needs: Vec::new,
    facts: HostFacts {
        trust: "counts in trusted folders",
        asks: "before each call; in `-p` rules decide",
        plan: "tools that read; `gemini -p` none",
        sandbox: "around the server, if in its image",
        variables: "all but keys",
        answers: "40,000 characters; more in a file",
    },
    next: "gemini; /mcp shows the server",
    passes,
    check,
};

/// Returns true for the variables that a server gets without being named.
fn passes(name: &str) -> bool {
    !name.contains("KEY")
}

/// Reports what keeps Gemini CLI from starting the server or from calling its tools.
fn check(setup: &HostSetup<'_>, report: &mut DoctorReport) {
    let Some((name, _)) = setup.entry else { return };
    setup.check_lists(["includeTools", "excludeTools"], report);
    setup.check_server_lists(report);
    setup.check_timeout("timeout", Duration::from_millis(1), report);
    setup.check_container("GEMINI_SANDBOX", report);
    let switches = setup.home.join(".gemini/mcp-server-enablement.json");
    let value = setup.read(&switches, false).unwrap_or_default();
    if value[name.to_lowercase().trim()]["enabled"] == false {
        report_off(&switches, "it was disabled by gemini mcp disable", report);
    }
    let discovery = |value: &Value| {
        let command = value["tools"]["discoveryCommand"].as_str()?;
        let program = command.split_whitespace().next()?;
        is_named(program, "get_tools").then(|| command.to_owned())
    };
    if let Some(command) = setup.settings().into_iter().find_map(discovery) {
        let what = format!("tools.discoveryCommand is {command:?} beside the entry {name}.");
        let why = "The model gets the tools twice, under two names.";
        let help = "Take one of the two out; docs/other-hosts.md compares them.";
        report.warn("host-twice", &*setup.file.path, what, why, help);
    }
}
