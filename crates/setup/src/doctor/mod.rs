//! `get_tools doctor`: whether the set-up works.
//!
//! It asks the few questions that explain nearly every set-up that does not work: are the settings
//! read, do they name our programs, are these found, do they print what a host can read, and does a
//! harmless call answer without writing to standard error. It also looks for restrictions that have
//! no effect, because nothing else would tell the user: a call that should be refused simply
//! succeeds.
//!
//! Programs are run as the host runs them (split into words without a shell, the whole call command
//! as one path, pipes that must be closed), since most of them work when run by hand. Only what is
//! in force is run, and nothing of an untrusted project.

mod calls;
mod declarations;
mod discovery;
mod handshake;
mod host;
mod program;
mod restrictions;
mod setup;

pub use restrictions::tool_names;

use crate::init::active_content;
use gemini_tools_core::diagnostic::{Diagnostic, Origin, Severity};
use gemini_tools_core::secrets::Secrets;
use gemini_tools_core::text::show_path;
use gemini_tools_policy::Policy;
use gemini_tools_session::{PolicyOptions, Project};
use gemini_tools_settings::settings::Settings;
use serde::Serialize;
use setup::CommandText;
use std::borrow::Cow;
use std::path::Path;

const UNTRUSTED_IS_NOT_RUN: &str =
    "Nothing of an untrusted project is run, here and in Gemini CLI.";

/// The result of the checks.
#[derive(Debug, Default, Serialize)]
pub struct DoctorReport {
    /// The facts, in the order in which they were found.
    pub facts: Vec<Fact>,
    /// The findings, errors first.
    pub findings: Vec<Diagnostic>,
}

/// Something that was checked, and the result.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Fact {
    /// The subject of the fact, for people and programs.
    pub name: &'static str,
    /// The fact in words.
    pub text: String,
    /// Whether the checked thing works.
    pub state: State,
}

/// The result of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// The checked thing was tried and works.
    Works,
    /// A fact that is neither good nor bad, such as how a host behaves.
    Known,
    /// The checked thing is missing or was not tried.
    Missing,
}

impl DoctorReport {
    fn fact(&mut self, name: &'static str, text: impl Into<String>, state: State) {
        let text = text.into();
        self.facts.push(Fact { name, text, state });
    }

    fn error(
        &mut self,
        code: &'static str,
        about: impl Into<Origin>,
        what: impl Into<String>,
        why: &'static str,
        help: impl Into<Cow<'static, str>>,
    ) {
        let finding = fault(code, what, why, help).about(about);
        self.findings.push(finding);
    }

    fn warn(
        &mut self,
        code: &'static str,
        about: impl Into<Origin>,
        what: impl Into<String>,
        why: &'static str,
        help: impl Into<Cow<'static, str>>,
    ) {
        let mut finding = fault(code, what, why, help).about(about);
        finding.severity = Severity::Warning;
        self.findings.push(finding);
    }

    /// Returns true if any finding is an error.
    pub fn has_errors(&self) -> bool {
        self.findings.iter().any(|f| f.severity == Severity::Error)
    }
}

fn fault(
    code: &'static str,
    what: impl Into<String>,
    why: &'static str,
    help: impl Into<Cow<'static, str>>,
) -> Diagnostic {
    Diagnostic::error(code, "", "", what).advise(why, help)
}

fn trust_remedy(setup: &Setup<'_>) -> String {
    let brings_nothing =
        |home| active_content(home, setup.root).is_ok_and(|brings| brings.is_empty());
    match setup.settings.trust.obstacle(setup.home) {
        Some(obstacle) => format!("{obstacle}."),
        None if setup.home.is_some_and(brings_nothing) => "get_tools init --trust".to_owned(),
        None => "Look at what the project brings, then: get_tools trust; in Gemini CLI \
                 /permissions, without a terminal GEMINI_CLI_TRUST_WORKSPACE=true."
            .to_owned(),
    }
}

struct Setup<'a> {
    home: Option<&'a Path>,
    root: &'a Path,
    settings: &'a Settings,
    policy: Policy,
    /// Set if another host has the tools, so that Gemini CLI's discovery and call command may be
    /// missing.
    is_for_others: bool,
}

struct Commands {
    discovery: CommandText,
    call: CommandText,
}

/// Checks the set-up of a project, for the host of this name, which is `gemini` for Gemini CLI, or
/// for all hosts that are set up.
pub fn check(project: &Project, host: Option<&str>) -> DoctorReport {
    let (home, root) = (project.home.as_deref(), project.root.as_path());
    let hosts = host::find(home, root, host);
    let setup = Setup {
        home,
        root,
        settings: &project.settings,
        policy: project.policy(&PolicyOptions::default()),
        is_for_others: !hosts.is_empty(),
    };
    let mut report = DoctorReport::default();
    note_environment(&setup, &mut report);
    // Checks of causes come before checks of their consequences.
    restrictions::check(&setup, &mut report);
    for host in &hosts {
        host.check(&setup, &mut report);
    }
    let is_for_gemini = host.is_none_or(|host| host == "gemini");
    let commands = if is_for_gemini {
        setup::check(&setup, &mut report)
    } else {
        None
    };
    if commands.is_some() || hosts.iter().any(|files| files.host.is_gemini()) {
        setup::check_host_trust(&setup, &mut report);
    }
    let mut declared = Vec::new();
    if let Some(commands) = &commands {
        declared = commands.check(&setup, &mut report);
    }
    restrictions::check_names(&setup, &declared, &mut report);
    hide_secrets(&mut report);
    report.findings.sort_by_key(|finding| finding.severity);
    report
}

fn note_environment(setup: &Setup<'_>, report: &mut DoctorReport) {
    report.fact("get_tools", gemini_tools_core::version::get(), State::Known);
    let trust = &*setup.settings.trust;
    let project = format!("{}: {trust}", show_path(setup.root));
    report.fact("project", project, State::Known);
    if let Some(weaker) = gemini_tools_process::PLATFORM_LIMITATIONS {
        report.fact("system", weaker, State::Known);
    }
}

/// Masks credentials, which a program may have printed: a report is often shown to others.
fn hide_secrets(report: &mut DoctorReport) {
    let secrets = Secrets::from_environment();
    for finding in &mut report.findings {
        finding.message = secrets.hidden(&finding.message);
        finding.help = secrets.hidden(&finding.help).into();
    }
    for fact in &mut report.facts {
        fact.text = secrets.hidden(&fact.text);
    }
}

impl Commands {
    fn check(&self, setup: &Setup<'_>, report: &mut DoctorReport) -> Vec<String> {
        let printed = discovery::check(setup, &self.discovery, report);
        let declared = printed.map(|printed| declarations::check(&printed, report));
        let declared = declared.unwrap_or_default();
        calls::check(setup, &self.call, &declared, report);
        declared.names
    }
}
