//! Tells what the settings of qwen-code name, a fork of Gemini CLI with settings of its own.

use super::{DoctorReport, Setup, State, explain};
use gemini_tools_core::text::show_path;
use gemini_tools_settings::settings::jsonc;
use gemini_tools_workspace::file_owner::FileOwner;
use std::path::Path;

/// With this set to 1, qwen 0.24 asks discovery commands when it starts.
const BLOCKING: &str = "QWEN_CODE_LEGACY_MCP_BLOCKING";

/// Looks at `.qwen/settings.json` of the project and of the user. Returns true if one of them names
/// the two commands or an MCP server of ours.
pub(super) fn check(setup: &Setup<'_>, report: &mut DoctorReport) -> bool {
    let mut has_found = false;
    for base in [Some(setup.root), setup.home].into_iter().flatten() {
        let path = base.join(".qwen/settings.json");
        let owner = FileOwner::by_location(&path, setup.home, setup.root);
        let text = owner.read(&path).ok().flatten();
        let Some(value) = text.and_then(|text| jsonc(&text).ok()) else {
            continue;
        };
        let is_ours = |command: &str| {
            let name = Path::new(command).file_stem();
            name.is_some_and(|name| name == "serve_tools")
        };
        let servers = value["mcpServers"].as_object();
        let mut servers = servers.into_iter().flat_map(|servers| servers.values());
        if servers.any(|server| server["command"].as_str().is_some_and(is_ours)) {
            has_found = true;
            let what = format!("gets the tools from serve_tools ({})", show_path(&path));
            report.note("qwen-code", what, State::Known);
        }
        if value["tools"]["discoveryCommand"].is_string() {
            has_found = true;
            pair(&path, report);
        }
        if setup.home == Some(setup.root) {
            break;
        }
    }
    has_found
}

/// Tells what becomes of the two commands in qwen.
fn pair(file: &Path, report: &mut DoctorReport) {
    const HELP: &str = "qwen mcp add --scope user --trust gemini-tools serve_tools; then take the two commands out.";
    if std::env::var_os(BLOCKING).is_some_and(|value| value == "1") {
        let why = "qwen's own edit then refuses files that our read_file has read, its replace and \
                   search_file_content are tools of its own, and ours edit in its plan mode.";
        let what = "qwen takes the two commands' tools in the place of its own.";
        return report.warn("qwen-pair", file, explain(what, why, HELP));
    }
    let what = format!("qwen 0.24 does not use these two commands unless {BLOCKING}=1 is set.");
    let why = "It skips the discovery of tools, without a word.";
    report.error("qwen-pair", file, explain(what, why, HELP));
}
