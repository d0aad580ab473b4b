//! Checks the discovery and the call command in Gemini CLI's settings.

use super::{Commands, DoctorReport, Setup, State, UNTRUSTED_IS_NOT_RUN, trust_remedy};
use gemini_tools_core::text::show_path;
use gemini_tools_settings::settings::{Scope, expanded, jsonc, strict_jsonc};
use gemini_tools_settings::trust::{Trust, TrustedBy, gemini_cli_trusts};
use serde_json::Value;
use std::path::{Path, PathBuf};

#[derive(Clone)]
pub(super) struct CommandText {
    /// The command as written. It is shown with its variables unexpanded, because a value may be a
    /// secret.
    pub(super) text: String,
    file: String,
}

impl CommandText {
    pub(super) fn expanded(&self) -> String {
        expanded(&self.text)
    }
}

pub(super) fn check(setup: &Setup<'_>, report: &mut DoctorReport) -> Option<Commands> {
    let mut in_force = [None::<CommandText>, None];
    let mut projects = None;
    let mut files = Vec::new();
    for (scope, path) in settings_files(setup) {
        let Some(value) = read(setup, scope, &path, report) else {
            continue;
        };
        let file = show_path(&path).into_owned();
        for (at, key) in ["discoveryCommand", "callCommand"].into_iter().enumerate() {
            let text = value["tools"][key]
                .as_str()
                .filter(|text| !text.trim().is_empty());
            let Some(text) = text.map(str::to_owned) else {
                continue;
            };
            if scope == Scope::Project && !setup.settings.trust.is_trusted() {
                projects.get_or_insert_with(|| file.clone());
            } else {
                let file = file.clone();
                in_force[at] = Some(CommandText { text, file });
            }
        }
        files.push(file);
    }
    let missing = match in_force {
        [Some(discovery), Some(call)] => {
            for (name, command) in [("discovery", &discovery), ("call", &call)] {
                let text = format!("{} ({})", command.text, command.file);
                report.fact(name, text, State::Known);
            }
            return Some(Commands { discovery, call });
        }
        [None, None] if setup.is_for_others && projects.is_none() => return None,
        [None, None] => "tools.discoveryCommand and tools.callCommand",
        [Some(_), None] => "tools.callCommand",
        [None, Some(_)] => "tools.discoveryCommand",
    };
    if let Some(file) = projects {
        let trust = &*setup.settings.trust;
        let what = format!("The commands are the project's, which is {trust}.");
        let help = trust_remedy(setup);
        report.error("project-untrusted", file, what, UNTRUSTED_IS_NOT_RUN, help);
    // If a settings file can't be read, it may name the commands, so nothing is reported.
    } else if !report
        .findings
        .iter()
        .any(|one| one.code == "settings-unreadable")
    {
        let read = match files.join(", ") {
            none if none.is_empty() => String::new(),
            files => format!(" Read: {files}."),
        };
        let what = format!("No settings name {missing}.{read}");
        let why = "Gemini CLI needs both: one declares the tools, the other runs them.";
        let help = "get_tools init writes both.";
        report.error("no-commands", "settings.json", what, why, help);
    }
    None
}

fn settings_files(setup: &Setup<'_>) -> impl Iterator<Item = (Scope, PathBuf)> {
    let Setup { home, root, .. } = *setup;
    Scope::ALL
        .into_iter()
        // In the home directory the project's file is the user's, so it is listed once.
        .filter(move |scope| *scope != Scope::Project || home != Some(root))
        .filter_map(move |scope| Some((scope, scope.file(home, root)?)))
}

/// Reads a settings file, and reports why Gemini CLI can't read it, unless that has been reported
/// because we can't either.
fn read(setup: &Setup<'_>, scope: Scope, path: &Path, report: &mut DoctorReport) -> Option<Value> {
    let text = scope
        .owner(setup.home, setup.root)
        .read(path)
        .ok()
        .flatten()?;
    let value = jsonc(text.trim_start_matches('\u{feff}')).ok();
    let fault = match strict_jsonc(&text) {
        Ok(Value::Object(_)) => return value,
        Ok(_) => "There is no object in it on line 1.".to_owned(),
        Err(e) => e,
    };
    let mut problems = setup.settings.problems.iter();
    if !problems.any(|one| one.code == "settings-unreadable" && one.place.file() == Some(path)) {
        let why = "Gemini CLI does not start with settings that it can't read (status 52).";
        let help =
            "Correct the file at that place: it must be JSON with nothing but comments added.";
        report.error("settings-unreadable", path, fault, why, help);
    }
    value
}

/// Warns if Gemini CLI does not trust the folder. It does not know of our own record of trust.
pub(super) fn check_host_trust(setup: &Setup<'_>, report: &mut DoctorReport) {
    let Some(home) = setup.home else { return };
    let is_by_folder = matches!(
        &*setup.settings.trust,
        Trust::Trusted(TrustedBy::Folder(_) | TrustedBy::Caller)
    );
    if is_by_folder || gemini_cli_trusts(home, setup.root) {
        return;
    }
    let what = "Gemini CLI does not trust the folder.";
    let why = "Without a terminal (-p, CI) Gemini CLI 0.61 ends with status 55 there; on one it asks, and leaves out what the project brings.";
    let help = "Set GEMINI_CLI_TRUST_WORKSPACE=true, or trust the folder in gemini (/permissions).";
    report.warn("gemini-untrusted", setup.root, what, why, help);
}
