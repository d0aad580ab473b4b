//! What the settings say of the two commands.

use super::{Commands, Patient, Report, said};
use crate::settings::{Scope, jsonc};
use crate::shown::show_path;
use serde_json::Value;

const BOTH: &str = "Gemini CLI needs both: one declares the tools, the other runs them.";
const INIT: &str = "get_tools init writes both.";

/// The commands in force, where they may be run.
pub(super) fn examine(patient: &Patient<'_>, report: &mut Report) -> Option<Commands> {
    let Patient {
        home,
        root,
        settings,
        ..
    } = patient;
    for problem in &settings.problems {
        let (file, reason) = problem
            .split_once(": ")
            .unwrap_or(("settings.json", problem));
        report.error(
            "settings-unreadable",
            file,
            said(
                reason,
                "Gemini CLI does not start with settings that it can't read.",
                "Mend the file at that place.",
            ),
        );
    }
    let mut discovery = None;
    let mut call = None;
    let mut has_old_names = None;
    for scope in Scope::ALL {
        let Some(path) = scope.file(*home, root) else {
            continue;
        };
        let Some(value) = read(&path) else {
            continue;
        };
        let shown = show_path(&path).into_owned();
        for (key, into) in [
            ("discoveryCommand", &mut discovery),
            ("callCommand", &mut call),
        ] {
            match &value["tools"][key] {
                Value::Null => {}
                Value::String(text) if text.trim().is_empty() => {}
                Value::String(text) => note(into, key, scope, &shown, text, report),
                other => report.error(
                    "command-type",
                    &shown,
                    said(
                        format!("tools.{key} is {other}."),
                        "Gemini CLI takes a text there and nothing else.",
                        "Write the command as one text.",
                    ),
                ),
            }
        }
        if value["toolDiscoveryCommand"].is_string() || value["toolCallCommand"].is_string() {
            has_old_names = Some(shown);
        }
    }
    if let Some(file) = has_old_names
        && (discovery.is_none() || call.is_none())
    {
        report.error(
            "old-names",
            file,
            said(
                "The commands stand under toolDiscoveryCommand and toolCallCommand.",
                "Gemini CLI 0.61 overlooks these names, which were those before 0.3.",
                "Put them under tools.discoveryCommand and tools.callCommand.",
            ),
        );
    }
    let (discovery, call) = both(discovery, call, report)?;
    report.fact(
        "discovery",
        format!("{} ({})", discovery.text, discovery.file),
    );
    report.fact("call", format!("{} ({})", call.text, call.file));
    let is_projects = [&discovery, &call]
        .iter()
        .any(|named| named.scope == Scope::Project);
    if is_projects && !settings.trust.is_trusted() {
        report.error(
            "project-untrusted",
            discovery.file,
            said(
                format!("The commands are the project's, which is {}.", *settings.trust),
                "Nothing of an untrusted project is run, here and in Gemini CLI.",
                "Look at what the project brings, then: get_tools trust; in Gemini CLI /permissions, without a terminal GEMINI_CLI_TRUST_WORKSPACE=true.",
            ),
        );
        return None;
    }
    let expanded = |text: &str| crate::settings::expanded(text);
    Some(Commands {
        discovery: expanded(&discovery.text),
        call: expanded(&call.text),
    })
}

/// Both commands; what is missing is told.
fn both(
    discovery: Option<Named>,
    call: Option<Named>,
    report: &mut Report,
) -> Option<(Named, Named)> {
    match (discovery, call) {
        (Some(discovery), Some(call)) => return Some((discovery, call)),
        (None, None) => {
            report.error(
                "no-commands",
                "settings.json",
                said("No settings name the two commands.", BOTH, INIT),
            );
        }
        (Some(named), None) => {
            let what = "tools.discoveryCommand is there, tools.callCommand is not.";
            report.error("no-call-command", named.file, said(what, BOTH, INIT));
        }
        (None, Some(named)) => {
            let what = "tools.callCommand is there, tools.discoveryCommand is not.";
            report.error("no-discovery-command", named.file, said(what, BOTH, INIT));
        }
    }
    None
}

/// A command, and who says so.
struct Named {
    text: String,
    file: String,
    scope: Scope,
}

/// Takes a command down; the later file counts.
fn note(
    into: &mut Option<Named>,
    key: &str,
    scope: Scope,
    file: &str,
    text: &str,
    report: &mut Report,
) {
    if let Some(earlier) = into.as_ref().filter(|earlier| earlier.text != text) {
        report.warn(
            "command-overridden",
            file,
            said(
                format!("tools.{key} here takes the place of {:?} in {}.", earlier.text, earlier.file),
                "The tools of the other command are not there in this project.",
                "Remove one of them, or call the other by a pair in ~/.gemini/tools (README, \"A tool of your own\").",
            ),
        );
    }
    *into = Some(Named {
        text: text.to_owned(),
        file: file.to_owned(),
        scope,
    });
}

fn read(path: &std::path::Path) -> Option<Value> {
    let text = crate::settings::read_regular(path).ok()??;
    jsonc(text.trim_start_matches('\u{feff}')).ok()
}
