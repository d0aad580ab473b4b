//! The two commands in the settings.

use super::{AFTER_0_8, Commands, DoctorReport, Setup, fault, trust_remedy};
use gemini_tools_core::diagnostic::{Diagnostic, Severity};
use gemini_tools_core::text::show_path;
use gemini_tools_settings::settings::{Scope, expanded, jsonc, strict_jsonc};
use gemini_tools_settings::trust::{Distrust, Trust, TrustedBy, gemini_cli_trusts};
use gemini_tools_workspace::file_owner::FileOwner;
use serde_json::Value;
use std::path::{Path, PathBuf};

pub(super) const UNTRUSTED_IS_NOT_RUN: &str =
    "Nothing of an untrusted project is run, here and in Gemini CLI.";

/// Reads the commands in force, and reports what is wrong with them. Returns `None` where they can't
/// be run.
pub(super) fn check(setup: &Setup<'_>, report: &mut DoctorReport) -> Option<Commands> {
    let is_all_read = report_unreadable(setup, report);
    let is_trusted = setup.settings.trust.is_trusted();
    let mut in_force = CommandPair::default();
    let mut projects = CommandPair::default();
    let mut files = Vec::new();
    for (scope, path) in settings_files(setup) {
        let Some(value) = read(&path, scope.owner(setup.home, setup.root)) else {
            continue;
        };
        let file = show_path(&path).into_owned();
        if scope == Scope::Project && !is_trusted {
            // What is wrong with them is told once they count.
            projects.take(&file, &value, &mut DoctorReport::default());
        } else {
            in_force.take(&file, &value, report);
        }
        files.push(file);
    }
    in_force.take_old(report);
    projects.take_old(&mut DoctorReport::default());
    if projects.is_any() {
        let is_alone = in_force.commands.iter().any(Option::is_none);
        note_untrusted(&projects, &in_force, is_alone, setup, report);
        if is_alone {
            return None;
        }
    }
    // What could not be read may name them.
    if !is_all_read && !in_force.is_any() {
        return None;
    }
    let commands = in_force.both(&files, setup, report)?;
    let Commands { discovery, call } = &commands;
    for (name, command) in [("discovery", discovery), ("call", call)] {
        report.fact(name, format!("{} ({})", command.text, command.file));
    }
    Some(commands)
}

/// Lists the settings files, in the order in which they count.
fn settings_files(setup: &Setup<'_>) -> impl Iterator<Item = (Scope, PathBuf)> {
    let Setup { home, root, .. } = *setup;
    Scope::ALL
        .into_iter()
        // In the home directory both are one.
        .filter(move |scope| *scope != Scope::Project || home != Some(root))
        .filter_map(move |scope| Some((scope, scope.file(home, root)?)))
}

/// Reports what we or Gemini CLI can't read, and what of the rest is not in effect. Returns true if
/// every file could be read.
fn report_unreadable(setup: &Setup<'_>, report: &mut DoctorReport) -> bool {
    let problems = &setup.settings.problems;
    let mut is_all_read = true;
    for (scope, path) in settings_files(setup) {
        let owner = scope.owner(setup.home, setup.root);
        let of_it = problems
            .iter()
            .filter(|one| one.place.file() == Some(&path));
        let mut of_it = of_it.peekable();
        let text = owner.read(&path).ok().flatten();
        let is_sound = |text: &String| jsonc(text).is_ok_and(|value| value.is_object());
        if text.as_ref().is_some_and(is_sound) && of_it.peek().is_some() {
            let why = "It is not in effect here.";
            let help = "Correct it; get_tools config shows what is in effect.";
            let findings = of_it.map(|problem| {
                let mut finding = problem.clone().advise(why, help);
                finding.code = "settings-value".into();
                finding
            });
            report.findings.extend(findings);
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
        report.error("settings-unreadable", path.as_path(), reason, why, help);
    }
    is_all_read
}

/// Reports commands of a project that is not trusted: an error where there are no others.
fn note_untrusted(
    projects: &CommandPair,
    in_force: &CommandPair,
    is_alone: bool,
    setup: &Setup<'_>,
    report: &mut DoctorReport,
) {
    let remedy = trust_remedy(setup);
    if is_alone {
        let trust = &setup.settings.trust;
        let what = format!("The commands are the project's, which is {}.", **trust);
        let about = projects.file();
        return report.error(
            "project-untrusted",
            about,
            what,
            UNTRUSTED_IS_NOT_RUN,
            remedy,
        );
    }
    let what = format!(
        "The project names its own commands, but those of {} apply.",
        in_force.file()
    );
    let why = "What an untrusted project names is left out, here and in Gemini CLI.";
    let help = format!("Leave it so, or: {remedy}");
    report.warn("project-left-out", projects.file(), what, why, help);
}

/// Warns where Gemini CLI does not trust the folder: our own record is not known to it.
pub(super) fn check_host_trust(setup: &Setup<'_>, report: &mut DoctorReport) {
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
    let why = "Without a terminal (-p, CI) Gemini CLI 0.61 ends with status 55 there; on one it asks, and leaves out what the project brings.";
    report.warn("gemini-untrusted", setup.root, why_not, why, help);
}

/// The discovery command and the call command, where files name them.
#[derive(Default)]
struct CommandPair {
    commands: [Option<CommandText>; 2],
    /// Both under the names before 0.3.
    old: [Option<CommandText>; 2],
}

/// A command, and the file that names it.
#[derive(Clone)]
pub(super) struct CommandText {
    /// The command as it is written, for people: what a variable holds may be a secret.
    pub(super) text: String,
    file: String,
}

impl CommandText {
    /// Returns the command with the values of variables.
    pub(super) fn expanded(&self) -> String {
        expanded(&self.text)
    }
}

impl CommandPair {
    fn is_any(&self) -> bool {
        self.commands.iter().any(Option::is_some)
    }

    /// Returns the file that names the first of them.
    fn file(&self) -> &str {
        let first = self.commands.iter().flatten().next();
        first.map_or("settings.json", |command| &command.file)
    }

    /// Takes the commands of a file, which count more than those of the files before, and reports
    /// what is wrong with its keys.
    fn take(&mut self, file: &str, value: &Value, report: &mut DoctorReport) {
        let keys = ["discoveryCommand", "callCommand"];
        for (key, into) in keys.into_iter().zip(&mut self.commands) {
            match &value["tools"][key] {
                Value::Null => {}
                Value::String(text) if text.trim().is_empty() => {}
                Value::String(text) => take_command(into, key, file, text, report),
                other => report.error(
                    "command-type",
                    file,
                    format!("tools.{key} is {other}."),
                    "Gemini CLI takes a text there and nothing else.",
                    "Write the command as one text.",
                ),
            }
        }
        let old = ["toolDiscoveryCommand", "toolCallCommand"].map(|key| {
            let text = value[key].as_str()?.to_owned();
            let file = file.to_owned();
            Some(CommandText { text, file })
        });
        if old.iter().any(Option::is_some) {
            self.old = old;
        }
    }

    /// Puts commands under the names before 0.3 where there are no others, because other versions
    /// use them, and reports those names.
    fn take_old(&mut self, report: &mut DoctorReport) {
        let old = std::mem::take(&mut self.old);
        let Some(file) = old.iter().flatten().next().map(|old| old.file.clone()) else {
            return;
        };
        let what =
            "It has commands under toolDiscoveryCommand or toolCallCommand, the names before 0.3.";
        let why =
            "Gemini CLI 0.8 and run_agent put them in the place of others; 0.61 ignores them.";
        let help = "Put them under tools.discoveryCommand and tools.callCommand, and nowhere else.";
        let mut finding = fault("old-names", what, why, help);
        let is_complete = self.commands.iter().all(Option::is_some);
        let mut differs = false;
        for (old, into) in old.into_iter().zip(&mut self.commands) {
            let Some(old) = old else { continue };
            differs |= into.get_or_insert(old.clone()).text != old.text;
        }
        if is_complete {
            finding.severity = Severity::Warning;
        }
        if differs || !is_complete {
            report.findings.push(finding.about(file));
        }
    }

    /// Returns both commands; reports what is missing.
    fn both(
        self,
        files: &[String],
        setup: &Setup<'_>,
        report: &mut DoctorReport,
    ) -> Option<Commands> {
        let (code, about, what) = match self.commands {
            [Some(discovery), Some(call)] => return Some(Commands { discovery, call }),
            [None, None] if setup.is_for_others => return None,
            [None, None] => (
                "no-commands",
                "settings.json".to_owned(),
                "No settings name the two commands.",
            ),
            [Some(command), None] => (
                "no-call-command",
                command.file,
                "tools.discoveryCommand is there, tools.callCommand is not.",
            ),
            [None, Some(command)] => (
                "no-discovery-command",
                command.file,
                "tools.callCommand is there, tools.discoveryCommand is not.",
            ),
        };
        let files = match files {
            [] => "There is no settings file.".to_owned(),
            files => format!("Read: {}.", files.join(", ")),
        };
        let why = "Gemini CLI needs both: one declares the tools, the other runs them.";
        let help = "get_tools init writes both.";
        report.error(code, about, format!("{what} {files}"), why, help);
        None
    }
}

/// Takes a command of a file; warns where it takes the place of another file's.
fn take_command(
    into: &mut Option<CommandText>,
    key: &str,
    file: &str,
    text: &str,
    report: &mut DoctorReport,
) {
    if let Some(earlier) = into.as_ref().filter(|earlier| earlier.text != text) {
        let what = format!(
            "tools.{key} here takes the place of {:?} in {}.",
            earlier.text, earlier.file
        );
        let why = "The tools of the other command are not there in this project.";
        let help = "Remove one of them, or call the other by a pair in ~/.gemini/tools (README, \"A tool of your own\").";
        report.warn("command-overridden", file, what, why, help);
    }
    *into = Some(CommandText {
        text: text.to_owned(),
        file: file.to_owned(),
    });
}

/// Reads a settings file; `None` if it can't be read.
fn read(path: &Path, owner: FileOwner<'_>) -> Option<Value> {
    let text = owner.read(path).ok()??;
    jsonc(text.trim_start_matches('\u{feff}')).ok()
}
