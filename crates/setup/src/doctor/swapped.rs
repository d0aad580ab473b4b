//! The check for two commands that were swapped.
//!
//! A call command in the place of the discovery command waits for arguments that never come, as
//! Gemini CLI then does. Ours are known by their names. Of others the call command is asked first,
//! for a tool that is not there: one that answers with declarations is made for discovery.

use super::calls::{NotProbed, Probe};
use super::{Commands, DoctorReport, explain};
use gemini_tools_custom_tools::own_program::own_name;
use gemini_tools_process::ending::Ending;
use serde_json::Value;
use std::path::Path;

const SWAP: &str = "Exchange the two, or let get_tools init write them.";

/// Tells that our own executables are in each other's place.
pub(super) fn by_name(commands: &Commands, root: &Path, report: &mut DoctorReport) -> bool {
    let first = shlex::split(&commands.discovery).and_then(|words| words.into_iter().next());
    let discovery = first.and_then(|first| own_name(&first, root));
    let call = own_name(&commands.call, root);
    let (about, what, help) = match (discovery == Some("call_tool"), call == Some("get_tools")) {
        (true, true) => (
            &commands.discovery_text,
            "The two commands are swapped.",
            SWAP,
        ),
        (true, false) => (
            &commands.discovery_text,
            "tools.discoveryCommand names call_tool, which runs calls.",
            "Name get_tools there.",
        ),
        (false, true) => (
            &commands.call_text,
            "tools.callCommand names get_tools, which declares tools.",
            "Name call_tool there.",
        ),
        (false, false) => return false,
    };
    let why = "get_tools declares the tools and is the discovery command; call_tool runs them.";
    report.error("commands-swapped", about.as_str(), explain(what, why, help));
    true
}

/// Returns true if the call command has answered with declarations.
pub(super) fn declares(probe: &Result<Probe, NotProbed>) -> bool {
    let Ok(probe) = probe else {
        return false;
    };
    let is_declaration = |item: &Value| {
        ["name", "functionDeclarations", "function_declarations"]
            .iter()
            .any(|key| !item[key].is_null())
    };
    let printed = serde_json::from_slice(&probe.seen.stdout);
    probe.seen.ending == Ok(Ending::Code(0))
        && matches!(printed, Ok(Value::Array(list)) if list.iter().any(is_declaration))
}

/// Tells that the commands are swapped: the call command has answered with declarations, and the
/// discovery command has not.
pub(super) fn by_answers(commands: &Commands, report: &mut DoctorReport) {
    // What it did in a place that is not its own says nothing.
    report
        .findings
        .retain(|finding| !finding.code.starts_with("discovery-"));
    let what = "The two commands are swapped: the call command prints declarations, and the discovery command does not.";
    let why = "The discovery command is started without arguments and declares the tools; the call command gets a tool's name, and its arguments on standard input.";
    let about = commands.call_text.as_str();
    report.error("commands-swapped", about, explain(what, why, SWAP));
}
