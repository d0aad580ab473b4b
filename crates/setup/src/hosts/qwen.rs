//! Qwen Code, a fork of Gemini CLI with settings of its own.

use super::{Host, HostFacts};
use crate::doctor::{DoctorReport, HostSetup};
use crate::init::{SKILLS, SetupScope};
use crate::syntax::Syntax;
use gemini_tools_builtin_tools::builtin::TOOLS;
use gemini_tools_settings::trust::is_listed;
use std::time::Duration;

/// With this set to 1, qwen 0.24 asks discovery commands when it starts.
const BLOCKING: &str = "QWEN_CODE_LEGACY_MCP_BLOCKING";

pub(super) static HOST: Host = Host {
    name: "qwen",
    title: "Qwen Code",
    seen: "0.24.4",
    program: "qwen",
    package: "qwen-code",
    scope: SetupScope::User,
    user_file: ".qwen/settings.json",
    moved: Some(("QWEN_HOME", "settings.json")),
    project_file: ".qwen/settings.json",
    user_skills: |home| home.join(SKILLS),
    project_skills: SKILLS,
    servers: "mcpServers",
    syntax: Syntax::Comments,
    needs: || vec![("alwaysLoadTools", true.into())],
    facts: HostFacts {
        trust: "asks once; until then `qwen -p` needs `--yolo`",
        asks: "before each call; `qwen -p` makes those that `permissions.allow` names",
        plan: "what `permissions.allow` names",
        sandbox: "around the server, if in its image",
        variables: "all",
        answers: "25,000 characters; more in a file",
    },
    next: "qwen; qwen -p calls what permissions.allow in its settings names: mcp__gemini-tools__read_file",
    passes: |_| true,
    check,
};

/// Reports what keeps Qwen Code from starting the server or from calling its tools.
fn check(setup: &HostSetup<'_>, report: &mut DoctorReport) {
    let file = &*setup.file.path;
    if setup.file.value["tools"]["discoveryCommand"].is_string() {
        check_pair(setup, report);
    }
    let Some((name, entry)) = setup.entry else {
        return;
    };
    if entry["alwaysLoadTools"] != true {
        let what = format!("{name} has no \"alwaysLoadTools\": true.");
        let why = "The model sees none of the tools until it searches for them.";
        let help = "get_tools init --host qwen adds it.";
        report.warn("host-tools-late", file, what, why, help);
    }
    if entry["trust"] == true {
        let what = format!("{name} has \"trust\": true.");
        let why =
            "Nothing is asked about then, and in plan mode the tools edit and run commands too.";
        let help = "Take it out, and name what needs no question in permissions.allow.";
        report.warn("host-approval", file, what, why, help);
    }
    setup.check_lists(["includeTools", "excludeTools"], report);
    setup.check_denied(file, &setup.file.value, report);
    setup.check_server_lists(report);
    setup.check_timeout("timeout", Duration::from_millis(1), report);
    setup.check_container("QWEN_SANDBOX", report);
    let mut settings = setup.settings().into_iter();
    if settings.any(|value| !value["tools"]["executionSandbox"].is_null()) {
        let what = "tools.executionSandbox is set.";
        let why = "That sandbox takes no MCP servers: qwen ends when it starts.";
        let help = "Take it out, and use the sandbox of these tools (docs/sandbox.md).";
        report.error("host-sandbox", file, what, why, help);
    }
    check_plan(setup, name, report);
    check_trust(setup, report);
}

/// Reports tools that may edit without a question, and so in plan mode too.
fn check_plan(setup: &HostSetup<'_>, name: &str, report: &mut DoctorReport) {
    let writes = TOOLS.iter().filter(|tool| !tool.info.is_read_only);
    let mut names: Vec<String> = writes
        .map(|tool| format!("mcp__{name}__{}", tool.name))
        .collect();
    names.extend([format!("mcp__{name}"), format!("mcp__{name}__*")]);
    let settings = setup.settings();
    let allowed = settings.map(|value| value["permissions"]["allow"].as_array());
    let rules = allowed.into_iter().flatten().flatten();
    let mut rules = rules.filter(|rule| names.iter().any(|name| *rule == name));
    if let Some(rule) = rules.next() {
        let what = format!("permissions.allow has {rule}.");
        let why = "These tools edit or run commands in plan mode too.";
        let help = "Name only tools that read, or don't rely on plan mode.";
        report.warn("host-plan-mode", &*setup.file.path, what, why, help);
    }
}

/// Reports a folder that Qwen Code does not trust, where it asks for trust at all.
fn check_trust(setup: &HostSetup<'_>, report: &mut DoctorReport) {
    let folders = setup.user.path.with_file_name("trustedFolders.json");
    let asks = setup.user.value["security"]["folderTrust"]["enabled"] == true;
    if !asks || is_listed(&folders, setup.root) {
        return;
    }
    let what = "Qwen Code does not trust this folder.";
    let why = "It starts no server there.";
    let help = "Start qwen here once and trust the folder, or with /trust.";
    report.error("host-untrusted", setup.root, what, why, help);
}

/// Reports the fate of the two commands of Gemini CLI in Qwen Code.
fn check_pair(setup: &HostSetup<'_>, report: &mut DoctorReport) {
    const HELP: &str = "get_tools init --host qwen; then take the two commands out.";
    let file = &*setup.file.path;
    if std::env::var_os(BLOCKING).is_some_and(|value| value == "1") {
        let why = "It asks about none of their calls, and in its plan mode they change files too.";
        let what = "qwen takes the two commands' tools in the place of its own.";
        return report.warn("qwen-pair", file, what, why, HELP);
    }
    let what = format!("qwen 0.24 does not use these two commands unless {BLOCKING}=1 is set.");
    let why = "It skips the discovery of tools, without a word.";
    report.error("qwen-pair", file, what, why, HELP);
}
