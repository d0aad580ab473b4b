//! The two commands in the settings.

use super::{AFTER_0_8, Commands, DoctorReport, Setup, explain, qwen, trust_remedy};
use gemini_tools_core::diagnostic::Diagnostic;
use gemini_tools_core::text::show_path;
use gemini_tools_settings::settings::{Scope, jsonc, strict_jsonc};
use gemini_tools_settings::trust::{Distrust, Trust, TrustedBy, gemini_cli_trusts};
use gemini_tools_workspace::file_owner::FileOwner;
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};

const BOTH: &str = "Gemini CLI needs both: one declares the tools, the other runs them.";
const INIT: &str = "get_tools init writes both.";

pub(super) const UNTRUSTED_IS_NOT_RUN: &str =
    "Nothing of an untrusted project is run, here and in Gemini CLI.";

/// The keys of the two commands before Gemini CLI 0.3.
const OLD_NAMES: [&str; 2] = ["toolDiscoveryCommand", "toolCallCommand"];

/// The commands in force, where they may be run.
pub(super) fn check(setup: &Setup<'_>, report: &mut DoctorReport) -> Option<Commands> {
    let is_all_read = unreadable(setup, report);
    let is_trusted = setup.settings.trust.is_trusted();
    let mut in_force = Pair::default();
    let mut projects = Pair::default();
    let mut old_names = None;
    let mut files = SettingsFiles::default();
    for (scope, path) in settings_files(setup) {
        let Some(value) = read(&path, scope.whose(setup.home, setup.root)) else {
            files.missing.push(show_path(&path).into_owned());
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
        let old = OLD_NAMES.map(|key| value[key].as_str().map(str::to_owned));
        if is_left_out {
            projects.take_old(&shown, old);
        } else if old.iter().any(Option::is_some) {
            old_names = Some((shown.clone(), old));
        }
        files.misspelt(&shown, &value);
        files.read.push(shown);
    }
    if let Some((file, old)) = old_names {
        told_of_old_names(file, old, &mut in_force, report);
    }
    if projects.is_any() {
        if !in_force.is_both() {
            untrusted(&projects, setup, report);
            return None;
        }
        left_out(&projects, &in_force, setup, report);
    }
    // What could not be read may name them.
    if !is_all_read && !in_force.is_any() {
        return None;
    }
    let (discovery, call) = both(in_force, &files, setup, report)?;
    report.fact(
        "discovery",
        format!("{} ({})", discovery.text, discovery.file),
    );
    report.fact("call", format!("{} ({})", call.text, call.file));
    hosts_trust(setup, report);
    let expanded = |text: &str| gemini_tools_settings::settings::expanded(text);
    Some(Commands {
        discovery: expanded(&discovery.text),
        call: expanded(&call.text),
        discovery_text: discovery.text,
        call_text: call.text,
    })
}

/// The settings files that there are, and the keys in them that look like those of the commands.
#[derive(Default)]
struct SettingsFiles {
    read: Vec<String>,
    missing: Vec<String>,
    /// The file, the key that is there, and the one that it looks like.
    near: Vec<(String, String, &'static str)>,
}

impl SettingsFiles {
    /// Takes down keys that are nearly those of the commands, at most two objects deep.
    fn misspelt(&mut self, file: &str, value: &Value) {
        let inner = |map: &Map<String, Value>| {
            let both = map.iter().filter(|(_, value)| value.is_object());
            let both = both.map(|(name, value)| (name.clone(), value.clone()));
            both.collect::<Vec<_>>()
        };
        let Some(top) = value.as_object() else {
            return;
        };
        let mut objects = vec![(String::new(), value.clone())];
        objects.extend(inner(top));
        for (outer, object) in objects {
            for key in object.as_object().into_iter().flat_map(Map::keys) {
                let path = match outer.as_str() {
                    "" => key.clone(),
                    outer => format!("{outer}.{key}"),
                };
                let is_right = outer == "tools" && COMMANDS.iter().any(|(_, right)| path == *right);
                if let Some(right) = near_command(key).filter(|_| !is_right) {
                    self.near.push((file.to_owned(), path, right));
                }
            }
        }
    }

    /// Says how to put the key `right` in its place where a file has one that looks like it.
    fn correction(&self, right: &str) -> Option<String> {
        let (file, wrong, _) = self.near.iter().find(|(_, _, near)| *near == right)?;
        let wrong = if wrong == right {
            format!("{wrong:?}, which is one key there, and not two")
        } else {
            format!("{wrong:?}")
        };
        Some(format!("{file} has {wrong}; the key is {right}."))
    }

    /// The files that were looked at, in words.
    fn description(&self) -> String {
        match self.read.as_slice() {
            [] => format!("None of these files exists: {}.", self.missing.join(", ")),
            read => format!("Read: {}.", read.join(", ")),
        }
    }
}

/// The keys of the commands without signs and capitals, in both generations of settings.
const COMMANDS: [(&str, &str); 4] = [
    ("discoverycommand", "tools.discoveryCommand"),
    ("tooldiscoverycommand", "tools.discoveryCommand"),
    ("callcommand", "tools.callCommand"),
    ("toolcallcommand", "tools.callCommand"),
];

/// The key of a command that this one is meant to be; one of the older generation is none.
fn near_command(key: &str) -> Option<&'static str> {
    /// A letter more, less or wrong in the shortest of them.
    const NEAR: f64 = 0.9;
    if OLD_NAMES.contains(&key) {
        return None;
    }
    let last = key.rsplit('.').next().unwrap_or(key);
    let plain: String = last.chars().filter(char::is_ascii_alphanumeric).collect();
    let plain = plain.to_ascii_lowercase();
    let likeness = |name: &str| strsim::normalized_damerau_levenshtein(&plain, name);
    let nearest = COMMANDS
        .iter()
        .map(|(name, right)| (likeness(name), *right))
        .max_by(|a, b| a.0.total_cmp(&b.0))?;
    (nearest.0 >= NEAR).then_some(nearest.1)
}

/// The settings files, in the order in which they count.
fn settings_files(setup: &Setup<'_>) -> impl Iterator<Item = (Scope, PathBuf)> {
    let Setup { home, root, .. } = *setup;
    Scope::ALL
        .into_iter()
        // In the home directory both are one.
        .filter(move |scope| *scope != Scope::Project || home != Some(root))
        .filter_map(move |scope| Some((scope, scope.file(home, root)?)))
}

/// Tells what we or Gemini CLI can't read, and what of the rest is not in effect. Says whether
/// every file could be read.
fn unreadable(setup: &Setup<'_>, report: &mut DoctorReport) -> bool {
    let problems = &setup.settings.problems;
    let mut is_all_read = true;
    for (scope, path) in settings_files(setup) {
        let whose = scope.whose(setup.home, setup.root);
        let of_it = problems
            .iter()
            .filter(|one| one.place.file() == Some(&path));
        let mut of_it = of_it.peekable();
        let text = whose.read(&path).ok().flatten();
        let is_sound = |text: &String| jsonc(text).is_ok_and(|value| value.is_object());
        if text.as_ref().is_some_and(is_sound) && of_it.peek().is_some() {
            let why = "It is not in effect here.";
            let help = "Correct it; get_tools config shows what is in effect.";
            let told = of_it.map(|problem| {
                let mut told = problem.clone().advise(why, help);
                told.code = "settings-value".into();
                told
            });
            report.findings.extend(told);
            continue;
        }
        let fault = |text: &String| match strict_jsonc(text) {
            Ok(Value::Object(_)) => None,
            Ok(_) => Some("There is no object in it on line 1.".to_owned()),
            Err(e) => Some(e),
        };
        let own = text.as_ref().and_then(fault);
        let Some(reason) = of_it.next().map(Diagnostic::what).or(own) else {
            continue;
        };
        is_all_read &= text.as_ref().is_some_and(is_sound);
        let why = "Gemini CLI does not start with settings that it can't read (status 52).";
        let help =
            "Correct the file at that place: it must be JSON with nothing but comments added.";
        report.error(
            "settings-unreadable",
            path.as_path(),
            explain(reason, why, help),
        );
    }
    is_all_read
}

/// The names before 0.3, alone or beside the new ones. Alone they are checked all the same: other
/// versions use them.
fn told_of_old_names(
    file: String,
    [discovery, call]: [Option<String>; 2],
    in_force: &mut Pair,
    report: &mut DoctorReport,
) {
    let help = "Put them under tools.discoveryCommand and tools.callCommand, and nowhere else.";
    if !in_force.is_both() {
        in_force.take_old(&file, [discovery, call]);
        report.error(
            "old-names",
            file,
            explain(
                "The commands are under toolDiscoveryCommand and toolCallCommand, the names before 0.3.",
                "Gemini CLI 0.61 ignores these names; 0.8 and run_agent still use them.",
                help,
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
            explain(
                "Other commands are under toolDiscoveryCommand or toolCallCommand, the names before 0.3.",
                "Gemini CLI 0.8 puts them in the place of the new ones; 0.61 ignores them.",
                help,
            ),
        );
    }
}

/// The project's commands are the only ones, and it is not trusted.
fn untrusted(projects: &Pair, setup: &Setup<'_>, report: &mut DoctorReport) {
    let trust = &setup.settings.trust;
    report.error(
        "project-untrusted",
        projects.file(),
        explain(
            format!("The commands are the project's, which is {}.", **trust),
            UNTRUSTED_IS_NOT_RUN,
            trust_remedy(setup),
        ),
    );
}

/// The project's commands are not those that count.
fn left_out(projects: &Pair, in_force: &Pair, setup: &Setup<'_>, report: &mut DoctorReport) {
    report.warn(
        "project-left-out",
        projects.file(),
        explain(
            format!(
                "The project names its own commands, but those of {} apply.",
                in_force.file()
            ),
            "What an untrusted project names is left out, here and in Gemini CLI.",
            format!("Leave it so, or: {}", trust_remedy(setup)),
        ),
    );
}

/// Returns true if Gemini CLI trusts the folder too: our own record is not known to it.
fn hosts_trust(setup: &Setup<'_>, report: &mut DoctorReport) {
    // A refusal that we obey may be none to it, and the other way round.
    let is_trusted = |home| gemini_cli_trusts(home, setup.root);
    if setup.home.is_some_and(is_trusted) || !setup.host_may_be(AFTER_0_8..) {
        return;
    }
    let why_not = match &*setup.settings.trust {
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
        Trust::Untrusted(Distrust::Unknown) => {
            "Gemini CLI does not trust the folder yet.".to_owned()
        }
        Trust::Untrusted(why) => format!("Gemini CLI does not trust the folder: {why}."),
    };
    let is_switched_off = |(_, path): (Scope, PathBuf)| {
        let value = read(&path, FileOwner::Users);
        value.is_some_and(|value| value["security"]["folderTrust"]["enabled"] == false)
    };
    // Gemini CLI asks its settings before any folder; a project may not say it.
    if settings_files(setup)
        .filter(|(scope, _)| *scope != Scope::Project)
        .any(is_switched_off)
    {
        return;
    }
    let environment =
        "Set GEMINI_CLI_TRUST_WORKSPACE=true, or trust the folder in gemini (/permissions).";
    let help = match setup.settings.trust.obstacle(setup.home) {
        Some(_) => trust_remedy(setup),
        None => environment.to_owned(),
    };
    report.warn(
        "gemini-untrusted",
        setup.root,
        explain(
            why_not,
            "Without a terminal (-p, CI) Gemini CLI 0.61 ends with status 55 there; on one it asks, and leaves out what the project brings.",
            help,
        ),
    );
}

/// The two commands, where files name them.
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

    /// The file that names the first of them.
    fn file(&self) -> &str {
        let first = self.discovery.as_ref().or(self.call.as_ref());
        first.map_or("settings.json", |named| &named.file)
    }

    /// Takes down what a file says by the old names, where nothing else is said.
    fn take_old(&mut self, file: &str, [discovery, call]: [Option<String>; 2]) {
        let named = |text| Named {
            text,
            file: file.to_owned(),
        };
        self.discovery = self.discovery.take().or(discovery.map(named));
        self.call = self.call.take().or(call.map(named));
    }

    /// Takes down what a file says.
    fn take(&mut self, file: &str, value: &Value, report: &mut DoctorReport) {
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
                    explain(
                        format!("tools.{key} is {other}."),
                        "Gemini CLI takes a text there and nothing else.",
                        "Write the command as one text.",
                    ),
                ),
            }
        }
    }
}

/// Both commands; what is missing is told, with a key that looks like it.
fn both(
    pair: Pair,
    files: &SettingsFiles,
    setup: &Setup<'_>,
    report: &mut DoctorReport,
) -> Option<(Named, Named)> {
    const DISCOVERY: &str = "tools.discoveryCommand";
    const CALL: &str = "tools.callCommand";
    let (id, about, what, missing) = match (pair.discovery, pair.call) {
        (Some(discovery), Some(call)) => return Some((discovery, call)),
        (None, None) if qwen::check(setup, report) => return None,
        (None, None) => {
            let what = format!("No settings name the two commands. {}", files.description());
            (
                "no-commands",
                "settings.json".to_owned(),
                what,
                &[DISCOVERY, CALL][..],
            )
        }
        (Some(named), None) => {
            let what = format!(
                "{DISCOVERY} is there, {CALL} is not. {}",
                files.description()
            );
            ("no-call-command", named.file, what, &[CALL][..])
        }
        (None, Some(named)) => {
            let what = format!(
                "{CALL} is there, {DISCOVERY} is not. {}",
                files.description()
            );
            ("no-discovery-command", named.file, what, &[DISCOVERY][..])
        }
    };
    let corrections = missing.iter().filter_map(|right| files.correction(right));
    let corrections: Vec<String> = corrections.collect();
    let help = match corrections.as_slice() {
        [] => INIT.to_owned(),
        some => some.join(" "),
    };
    report.error(id, about, explain(what, BOTH, help));
    None
}

/// A command, and who says so.
struct Named {
    text: String,
    file: String,
}

/// Takes a command down; the later file counts.
fn note(into: &mut Option<Named>, key: &str, file: &str, text: &str, report: &mut DoctorReport) {
    if let Some(earlier) = into.as_ref().filter(|earlier| earlier.text != text) {
        report.warn(
            "command-overridden",
            file,
            explain(
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

fn read(path: &Path, whose: FileOwner<'_>) -> Option<Value> {
    let text = whose.read(path).ok()??;
    jsonc(text.trim_start_matches('\u{feff}')).ok()
}
