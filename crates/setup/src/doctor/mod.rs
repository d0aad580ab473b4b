//! `get_tools doctor`: whether Gemini CLI can use the two commands that the settings name, ours or
//! another program's, and other hosts `serve_tools`, and what else is in the way.
//!
//! The commands are started and judged as the host does it (words of the discovery
//! command, the whole call command as one path, pipes that must close, standard error that must
//! be empty). Only what counts is run: commands of a project that is not trusted are not. The
//! call command is asked for a tool that no program has, and where our tools are declared, for one
//! that has no effect; another call is made where the caller names one.

mod answers;
mod calls;
mod declarations;
mod discovery;
mod environment;
mod handshake;
mod host;
mod host_setup;
mod program;
mod replay;
mod rules;
mod setup;
mod variables;

pub(crate) use host_setup::{HostSetup, report_off};
pub use rules::tool_names;

use crate::init::active_content;
use environment::InstalledHost;
use gemini_tools_core::diagnostic::{Diagnostic, Origin, Place, Severity};
use gemini_tools_custom_tools::own_program::own_name;
use gemini_tools_policy::Policy;
use gemini_tools_session::{PolicyOptions, Project};
use gemini_tools_settings::settings::{Settings, variables_in};
use host::HostFiles;
use serde::Serialize;
use serde_json::{Map, Value};
use setup::CommandText;
use std::borrow::Cow;
use std::ops::RangeBounds;
use std::path::Path;
use std::time::Duration;

/// A call that is to be made, because the caller says that it may be.
#[derive(Debug, Clone)]
pub struct Try {
    /// The tool, as the discovery command calls it.
    pub name: String,
    /// The call's arguments.
    pub args: Map<String, Value>,
}

/// The checks that are made besides.
#[derive(Debug, Clone, Default)]
pub struct Extent {
    /// Calls to be made.
    pub tries: Vec<Try>,
    /// True if MCP servers of which nothing is kept are started and asked.
    pub asks_servers: bool,
    /// The only host that is checked, by its name; `gemini` is Gemini CLI.
    pub host: Option<String>,
}

/// The facts and the findings.
#[derive(Debug, Default, Serialize)]
pub struct DoctorReport {
    /// The facts.
    pub facts: Vec<Fact>,
    /// The findings, errors first.
    pub findings: Vec<Diagnostic>,
}

/// A probe, and its result.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Fact {
    /// The subject of the fact, for people and programs.
    pub name: &'static str,
    /// The fact in words.
    pub text: String,
    /// The state.
    pub state: State,
    /// The time that it took, in milliseconds, if that is what the fact is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub milliseconds: Option<f64>,
}

/// The state of a thing that was looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Tried, and it works.
    Works,
    /// Neither good nor bad.
    Known,
    /// Missing, or not tried.
    Missing,
}

impl DoctorReport {
    /// Notes what is so.
    fn fact(&mut self, name: &'static str, what: impl Into<String>) {
        self.note(name, what, State::Known);
    }

    fn note(&mut self, name: &'static str, what: impl Into<String>, state: State) {
        self.facts.push(Fact {
            name,
            text: what.into(),
            state,
            milliseconds: None,
        });
    }

    /// Notes that something works, and how long it took.
    fn time(&mut self, name: &'static str, took: Duration) {
        let milliseconds = took.as_secs_f64() * 1e3;
        self.facts.push(Fact {
            name,
            text: format!("{milliseconds:.1} ms"),
            state: State::Works,
            // No clock says more than microseconds.
            milliseconds: Some((milliseconds * 1e3).round() / 1e3),
        });
    }

    /// Reports an error of `about`: what is wrong, why that matters, and what helps.
    pub(crate) fn error(
        &mut self,
        code: &'static str,
        about: impl Into<Origin>,
        what: impl Into<String>,
        why: &'static str,
        help: impl Into<Cow<'static, str>>,
    ) {
        self.findings
            .push(fault(code, what, why, help).about(about));
    }

    /// Reports a warning, as [`Self::error`] an error.
    pub(crate) fn warn(
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

    /// Returns true if something can't work.
    pub fn has_errors(&self) -> bool {
        self.findings.iter().any(|f| f.severity == Severity::Error)
    }
}

/// Makes an error: what is wrong, why that matters, and what helps.
fn fault(
    code: &'static str,
    what: impl Into<String>,
    why: &'static str,
    help: impl Into<Cow<'static, str>>,
) -> Diagnostic {
    Diagnostic::error(code, "", "", what).advise(why, help)
}

/// Returns the advice for what an untrusted project brings.
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

/// The subject of all checks.
struct Setup<'a> {
    home: Option<&'a Path>,
    root: &'a Path,
    settings: &'a Settings,
    policy: Policy,
    host: Option<InstalledHost>,
    /// True if the two commands need not be there: another host has the tools.
    is_for_others: bool,
}

impl Setup<'_> {
    /// Returns true if the Gemini CLI that is used may be one of these versions: no other one is
    /// installed here.
    fn host_may_be(&self, versions: impl RangeBounds<(u32, u32)>) -> bool {
        let installed = self.host.as_ref().and_then(InstalledHost::minor);
        installed.is_none_or(|version| versions.contains(&version))
    }
}

/// The first version that differs from 0.8 in rules and trust as 0.61 does: no version between them
/// was tried.
const AFTER_0_8: (u32, u32) = (0, 9);

/// Checks the set-up of a project.
pub fn check(project: &Project, extent: &Extent) -> DoctorReport {
    let (home, root) = (project.home.as_deref(), project.root.as_path());
    let hosts = host::find(home, root, extent.host.as_deref());
    let setup = Setup {
        home,
        root,
        settings: &project.settings,
        policy: project.policy(&PolicyOptions::default()),
        host: InstalledHost::find("gemini", "gemini-cli"),
        is_for_others: !hosts.is_empty() && extent.tries.is_empty(),
    };
    let mut report = DoctorReport::default();
    environment::check(&setup, extent.asks_servers, &mut report);
    // A cause is told before what comes of it.
    rules::faults(&setup, &mut report);
    variables::check(&mut report);
    for host in &hosts {
        host.check(&setup, &mut report);
    }
    let is_for_gemini = extent.host.as_deref().is_none_or(|host| host == "gemini");
    let commands = is_for_gemini.then(|| setup::check(&setup, &mut report));
    let commands = commands.flatten();
    if commands.is_some() || hosts.iter().any(HostFiles::is_gemini) {
        setup::check_host_trust(&setup, &mut report);
    }
    let declared = commands
        .as_ref()
        .map(|commands| commands.check(&setup, &extent.tries, &mut report));
    rules::unknown_tools(&setup, &declared.unwrap_or_default(), &mut report);
    if let Some(commands) = &commands {
        hide_values(commands, &mut report);
    }
    report.findings.sort_by_key(|finding| finding.severity);
    report.findings = grouped(std::mem::take(&mut report.findings));
    report
}

/// Makes one finding of those that differ in nothing but what they are about: its subject names
/// them all.
fn grouped(findings: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let mut groups: Vec<Vec<Diagnostic>> = Vec::new();
    for finding in findings {
        let is_same = |group: &&mut Vec<Diagnostic>| {
            let elsewhere = Diagnostic {
                place: finding.place.clone(),
                ..group[0].clone()
            };
            elsewhere == finding
        };
        match groups.iter_mut().find(is_same) {
            Some(group) => group.push(finding),
            None => groups.push(vec![finding]),
        }
    }
    let one = |mut group: Vec<Diagnostic>| {
        let names: Vec<String> = group.iter().map(|one| one.place.to_string()).collect();
        let mut first = group.swap_remove(0);
        if names.len() > 1 {
            *first.place = Place {
                origin: Some(names.join(", ").into()),
                ..Place::default()
            };
        }
        first
    };
    groups.into_iter().map(one).collect()
}

/// Puts the names of variables that the commands hold back into the place of their values, which
/// a report must not tell: it is shown to others.
fn hide_values(commands: &Commands, report: &mut DoctorReport) {
    /// A shorter one is not a secret, and may be anywhere, in bytes.
    const SHORTEST_BYTES: usize = 6;
    let texts = [&commands.discovery.text, &commands.call.text];
    let names = texts.into_iter().flat_map(|text| variables_in(text));
    for name in names {
        let Ok(value) = std::env::var(name) else {
            continue;
        };
        // A path is none either, and says which file it is about.
        if value.len() < SHORTEST_BYTES || value.starts_with('/') {
            continue;
        }
        let shown = format!("${name}");
        for finding in &mut report.findings {
            finding.replace(&value, &shown);
        }
        for fact in &mut report.facts {
            fact.text = fact.text.replace(&value, &shown);
        }
    }
}

/// The commands that the settings name.
struct Commands {
    discovery: CommandText,
    call: CommandText,
}

impl Commands {
    /// Runs them. Returns the names of the tools that they declare.
    fn check(&self, setup: &Setup<'_>, tries: &[Try], report: &mut DoctorReport) -> Vec<String> {
        if self.are_swapped(setup.root, report) {
            return Vec::new();
        }
        let printed = discovery::check(setup, self, report);
        let is_usable = printed.is_some();
        let declared = printed.map(|printed| declarations::check(setup, &printed, report));
        let declared = declared.unwrap_or_default();
        let has_our_tools = self.are_ours(setup.root) || !declared.ours.is_empty();
        if has_our_tools {
            answers::check(setup, report);
        }
        calls::check(setup, self, has_our_tools, &declared, tries, report);
        if is_usable {
            rules::check(setup, &declared.names, report);
        }
        declared.names
    }

    /// Returns which of these executables the discovery command starts, if it is one.
    fn own_discovery(&self, root: &Path) -> Option<&'static str> {
        let words = shlex::split(&self.discovery.expanded())?;
        own_name(words.first()?, root)
    }

    /// Returns which of these executables the call command is, if it is one.
    fn own_call(&self, root: &Path) -> Option<&'static str> {
        own_name(&self.call.expanded(), root)
    }

    /// Returns true if they are these executables.
    fn are_ours(&self, root: &Path) -> bool {
        self.own_discovery(root).is_some() && self.own_call(root).is_some()
    }

    /// Reports our own executables in each other's place, which would wait without end.
    fn are_swapped(&self, root: &Path, report: &mut DoctorReport) -> bool {
        let what = match (self.own_discovery(root), self.own_call(root)) {
            (Some("call_tool"), Some("get_tools")) => "The two commands are swapped.",
            (Some("call_tool"), _) => "tools.discoveryCommand names call_tool.",
            (_, Some("get_tools")) => "tools.callCommand names get_tools.",
            _ => return false,
        };
        let why = "get_tools declares the tools and is the discovery command; call_tool runs them.";
        let help = "Exchange the two, or let get_tools init write them.";
        let about = self.discovery.text.as_str();
        report.error("commands-swapped", about, what, why, help);
        true
    }
}
