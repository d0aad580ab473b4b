//! What the settings say of the two commands.

use super::{Commands, Patient, Report, said};
use crate::settings::{Scope, Settings, jsonc};
use crate::shown::show_path;
use crate::trust::{Trust, TrustedBy};
use jsonc_parser::ParseOptions;
use serde_json::Value;
use std::path::{Path, PathBuf};

const BOTH: &str = "Gemini CLI needs both: one declares the tools, the other runs them.";
const INIT: &str = "get_tools init writes both.";

/// The commands in force, where they may be run.
pub(super) fn examine(patient: &Patient<'_>, report: &mut Report) -> Option<Commands> {
    unreadable(patient, report);
    let settings = &patient.settings;
    let is_trusted = settings.trust.is_trusted();
    let mut in_force = Pair::default();
    let mut projects = Pair::default();
    let mut old_names = None;
    for (scope, path) in files(patient) {
        let Some(value) = read(&path) else {
            continue;
        };
        let shown = show_path(&path).into_owned();
        let is_left_out = scope == Scope::Project && !is_trusted;
        let into = if is_left_out {
            &mut projects
        } else {
            &mut in_force
        };
        into.take(&shown, &value, report);
        let old = ["toolDiscoveryCommand", "toolCallCommand"].map(|key| value[key].as_str());
        if old.iter().any(Option::is_some) && !is_left_out {
            old_names = Some((shown, old.map(|text| text.map(str::to_owned))));
        }
    }
    if let Some((file, [discovery, call])) = old_names {
        told_of_old_names(file, discovery, call, &in_force, report);
    }
    if projects.is_any() {
        if !in_force.is_both() {
            untrusted(&projects, settings, report);
            return None;
        }
        left_out(&projects, &in_force, report);
    }
    let (discovery, call) = both(in_force, report)?;
    report.fact(
        "discovery",
        format!("{} ({})", discovery.text, discovery.file),
    );
    report.fact("call", format!("{} ({})", call.text, call.file));
    hosts_trust(patient, report);
    let expanded = |text: &str| crate::settings::expanded(text);
    Some(Commands {
        discovery: expanded(&discovery.text),
        call: expanded(&call.text),
        discovery_text: discovery.text,
        call_text: call.text,
    })
}

/// The settings files, in the order in which they count.
fn files(patient: &Patient<'_>) -> impl Iterator<Item = (Scope, PathBuf)> {
    let Patient { home, root, .. } = *patient;
    Scope::ALL
        .into_iter()
        // In the home directory both are one.
        .filter(move |scope| *scope != Scope::Project || home != Some(root))
        .filter_map(move |scope| Some((scope, scope.file(home, root)?)))
}

/// What we or Gemini CLI can't read.
fn unreadable(patient: &Patient<'_>, report: &mut Report) {
    let mut tell = |file: &str, reason: &str| {
        report.error(
            "settings-unreadable",
            file,
            said(
                reason,
                "Gemini CLI does not start with settings that it can't read (status 52).",
                "Mend the file at that place: it is JSON, and nothing but comments may stand besides.",
            ),
        );
    };
    let problems = &patient.settings.problems;
    for problem in problems {
        let (file, reason) = problem
            .split_once(": ")
            .unwrap_or(("settings.json", problem));
        tell(file, reason);
    }
    for (_, path) in files(patient) {
        let known = format!("{}: ", path.display());
        if problems.iter().any(|problem| problem.starts_with(&known)) {
            continue;
        }
        let Ok(Some(text)) = crate::settings::read_regular(&path) else {
            continue;
        };
        if let Err(reason) = strictly(&text) {
            tell(&show_path(&path), &reason);
        }
    }
}

/// Reads settings as Gemini CLI does: `JSON.parse` of the text without its comments (seen in
/// 0.61.0, which ends with 52 otherwise). We are more lenient.
fn strictly(text: &str) -> Result<(), String> {
    const STRICT: ParseOptions = ParseOptions {
        allow_comments: true,
        allow_loose_object_property_names: false,
        allow_trailing_commas: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    if text.starts_with('\u{feff}') {
        return Err("It begins with a byte order mark on line 1.".to_owned());
    }
    match jsonc_parser::parse_to_serde_value(text, &STRICT) {
        Err(e) => Err(e.to_string()),
        Ok(Value::Object(_)) => Ok(()),
        Ok(_) => Err("There is no object in it on line 1.".to_owned()),
    }
}

/// The names before 0.3, alone or beside the new ones.
fn told_of_old_names(
    file: String,
    discovery: Option<String>,
    call: Option<String>,
    in_force: &Pair,
    report: &mut Report,
) {
    let mend = "Put them under tools.discoveryCommand and tools.callCommand, and nowhere else.";
    if !in_force.is_both() {
        report.error(
            "old-names",
            file,
            said(
                "The commands stand under toolDiscoveryCommand and toolCallCommand.",
                "Gemini CLI 0.61 overlooks these names, which were those before 0.3.",
                mend,
            ),
        );
        return;
    }
    let differs = |old: Option<String>, new: &Option<Named>| {
        old.is_some() && old.as_deref() != new.as_ref().map(|new| new.text.as_str())
    };
    if differs(discovery, &in_force.discovery) || differs(call, &in_force.call) {
        report.warn(
            "old-names",
            file,
            said(
                "Other commands stand under toolDiscoveryCommand or toolCallCommand, the names before 0.3.",
                "Gemini CLI 0.8 puts them in the place of the new ones; 0.61 overlooks them.",
                mend,
            ),
        );
    }
}

/// The project's commands are the only ones, and it is not trusted.
fn untrusted(projects: &Pair, settings: &Settings, report: &mut Report) {
    report.error(
        "project-untrusted",
        projects.file(),
        said(
            format!("The commands are the project's, which is {}.", *settings.trust),
            "Nothing of an untrusted project is run, here and in Gemini CLI.",
            "Look at what the project brings, then: get_tools trust; in Gemini CLI /permissions, without a terminal GEMINI_CLI_TRUST_WORKSPACE=true.",
        ),
    );
}

/// The project's commands are not those that count.
fn left_out(projects: &Pair, in_force: &Pair, report: &mut Report) {
    report.warn(
        "project-left-out",
        projects.file(),
        said(
            format!(
                "The project names commands of its own; those of {} are in force.",
                in_force.file()
            ),
            "What an untrusted project names is left out, here and in Gemini CLI.",
            "Leave it so, or look at what the project brings, then: get_tools trust",
        ),
    );
}

/// Whether Gemini CLI trusts the folder too: our own record is not known to it.
fn hosts_trust(patient: &Patient<'_>, report: &mut Report) {
    let why_not = match &*patient.settings.trust {
        // It takes this one word, where we take 1 as well.
        Trust::Trusted(TrustedBy::Environment)
            if std::env::var_os("GEMINI_CLI_TRUST_WORKSPACE").is_some_and(|v| v == "true") =>
        {
            return;
        }
        Trust::Trusted(TrustedBy::Folder(_) | TrustedBy::Caller) => return,
        Trust::Trusted(by) => {
            format!("Here the folder is trusted ({by}), by Gemini CLI it is not.")
        }
        Trust::Untrusted(why) => format!("Gemini CLI does not trust the folder: {why}."),
    };
    let is_switched_off = |(_, path): (Scope, PathBuf)| {
        read(&path).is_some_and(|value| value["security"]["folderTrust"]["enabled"] == false)
    };
    // Gemini CLI asks its settings before any folder; a project may not say it.
    if files(patient)
        .filter(|(scope, _)| *scope != Scope::Project)
        .any(is_switched_off)
    {
        return;
    }
    report.warn(
        "gemini-untrusted",
        show_path(patient.root),
        said(
            why_not,
            "Without a terminal (-p, CI) Gemini CLI 0.61 ends with status 55 there; on one it asks, and leaves out what the project brings.",
            "Set GEMINI_CLI_TRUST_WORKSPACE=true, or trust the folder in gemini (/permissions).",
        ),
    );
}

/// The two commands, as far as files name them.
#[derive(Default)]
struct Pair {
    discovery: Option<Named>,
    call: Option<Named>,
}

impl Pair {
    fn is_both(&self) -> bool {
        self.discovery.is_some() && self.call.is_some()
    }

    fn is_any(&self) -> bool {
        self.discovery.is_some() || self.call.is_some()
    }

    /// Who names the first of them.
    fn file(&self) -> &str {
        let first = self.discovery.as_ref().or(self.call.as_ref());
        first.map_or("settings.json", |named| &named.file)
    }

    /// Takes down what a file says.
    fn take(&mut self, file: &str, value: &Value, report: &mut Report) {
        for (key, into) in [
            ("discoveryCommand", &mut self.discovery),
            ("callCommand", &mut self.call),
        ] {
            match &value["tools"][key] {
                Value::Null => {}
                Value::String(text) if text.trim().is_empty() => {}
                Value::String(text) => note(into, key, file, text, report),
                other => report.error(
                    "command-type",
                    file,
                    said(
                        format!("tools.{key} is {other}."),
                        "Gemini CLI takes a text there and nothing else.",
                        "Write the command as one text.",
                    ),
                ),
            }
        }
    }
}

/// Both commands; what is missing is told.
fn both(pair: Pair, report: &mut Report) -> Option<(Named, Named)> {
    match (pair.discovery, pair.call) {
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
}

/// Takes a command down; the later file counts.
fn note(into: &mut Option<Named>, key: &str, file: &str, text: &str, report: &mut Report) {
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
    });
}

fn read(path: &Path) -> Option<Value> {
    let text = crate::settings::read_regular(path).ok()??;
    jsonc(text.trim_start_matches('\u{feff}')).ok()
}
