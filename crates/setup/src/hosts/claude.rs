//! Claude Code.

use super::{Host, HostFacts};
use crate::doctor::{DoctorReport, HostSetup, report_off};
use crate::init::SetupScope;
use crate::syntax::Syntax;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub(super) static HOST: Host = Host {
    name: "claude",
    title: "Claude Code",
    seen: "2.1.332",
    program: "claude",
    package: "claude-code",
    scope: SetupScope::Project,
    user_file: ".claude.json",
    moved: Some(("CLAUDE_CONFIG_DIR", ".claude.json")),
    project_file: ".mcp.json",
    user_skills: |home| own_directory(home).join("skills"),
    project_skills: ".claude/skills",
    servers: "mcpServers",
    syntax: Syntax::Json,
    needs: Vec::new,
    facts: HostFacts {
        trust: "asks once; `claude -p` starts it unasked",
        asks: "before each call; `claude -p` makes those that `--allowedTools` names",
        plan: "tools that read",
        sandbox: "only around its own commands",
        variables: "all",
        answers: "75,000 bytes; more in a file",
    },
    next: "claude; without a terminal: claude -p 'What is in README.md?' --allowedTools mcp__gemini-tools__read_file",
    passes: |_| true,
    check,
};

/// Returns the directory of the user's settings and skills.
fn own_directory(home: &Path) -> PathBuf {
    let moved = std::env::var_os("CLAUDE_CONFIG_DIR").filter(|value| !value.is_empty());
    moved.map_or_else(|| home.join(".claude"), Into::into)
}

/// Reports what keeps Claude Code from starting the server or from calling its tools.
fn check(setup: &HostSetup<'_>, report: &mut DoctorReport) {
    let Some((name, _)) = setup.entry else { return };
    setup.check_timeout("timeout", Duration::from_millis(1), report);
    let root = setup.root.to_string_lossy();
    let has = |names: &Value| {
        let names = names.as_array().into_iter().flatten();
        names.into_iter().any(|one| one == name)
    };
    if has(&setup.user.value["projects"][&*root]["disabledMcpServers"]) {
        report_off(&setup.user.path, "disabledMcpServers has it", report);
    }
    let users = own_directory(setup.home);
    let projects = setup.root.join(".claude");
    for (directory, name_of_file) in [
        (&users, "settings.json"),
        (&projects, "settings.json"),
        (&projects, "settings.local.json"),
    ] {
        let file = directory.join(name_of_file);
        let value = setup.read(&file, directory == &projects);
        let value = value.unwrap_or_default();
        setup.check_denied(&file, &value, report);
        if setup.file.scope == SetupScope::Project && has(&value["disabledMcpjsonServers"]) {
            report_off(&file, "disabledMcpjsonServers has it", report);
        }
    }
}
