//! A host that takes the tools over MCP: its files, and the server that they name, started as the
//! host does.

use super::environment::InstalledHost;
use super::handshake::{ServerAnswers, shake_hands};
use super::host_setup::{HostSetup, SettingsFile};
use super::setup::UNTRUSTED_IS_NOT_RUN;
use super::{DoctorReport, Setup, State, program, trust_remedy};
use crate::hosts::{GEMINI, HOSTS, Host, NAME, NOT_DOCUMENTED, owner};
use crate::init::SetupScope;
use gemini_tools_core::text::{counted, show_path};
use gemini_tools_core::variables::{self, NAMES, RESTRICTING};
use gemini_tools_custom_tools::own_program::{is_own_server, own_name};
use gemini_tools_process::piped::Program;
use gemini_tools_process::terminal::excerpt;
use gemini_tools_settings::settings::expanded;
use serde_json::Value;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

/// The variables besides our own that the tools use: those for the Gemini API.
const KEYS: [&str; 3] = ["GEMINI_API_KEY", "GOOGLE_API_KEY", "CODEX_HOME"];

/// A host that is to be checked, with its files: the project's comes first.
pub(super) struct HostFiles {
    host: &'static Host,
    files: [SettingsFile; 2],
}

/// Finds the hosts to check: the one that is asked for, or all whose settings name `serve_tools`. Gemini
/// CLI is one only where they do.
pub(super) fn find(home: Option<&Path>, root: &Path, name: Option<&str>) -> Vec<HostFiles> {
    let Some(home) = home else { return Vec::new() };
    let hosts = HOSTS.into_iter().chain([GEMINI]);
    let hosts = hosts.filter(|host| name.is_none_or(|name| host.name == name));
    let all = hosts.map(|host| HostFiles {
        host,
        files: [SetupScope::Project, SetupScope::User].map(|scope| read(host, home, root, scope)),
    });
    let is_checked = |files: &HostFiles| {
        if files.is_gemini() {
            return !files.entries(root).is_empty();
        }
        name.is_some() || files.are_set_up(root)
    };
    all.filter(is_checked).collect()
}

fn read(host: &Host, home: &Path, root: &Path, scope: SetupScope) -> SettingsFile {
    let path = host.file(home, root, scope);
    let owner = owner(scope == SetupScope::Project, home, root);
    let text = owner.read(&path).map_err(|e| e.to_string());
    let names_server = matches!(&text, Ok(Some(text)) if text.contains("serve_tools"));
    let value = text.and_then(|text| match text {
        Some(text) => host
            .syntax
            .value(&text)
            .map_err(|e| e.trim_end().to_owned()),
        None => Ok(Value::Null),
    });
    let (value, fault) = match value {
        Ok(value) => (value, None),
        Err(fault) => (Value::Null, Some(fault)),
    };
    SettingsFile {
        path,
        scope,
        value,
        fault,
        names_server,
    }
}

impl HostFiles {
    /// Returns our entry, its name, and the file that counts. In a user's file may stand entries
    /// for this project alone.
    fn entries<'a>(&'a self, root: &Path) -> Vec<(&'a SettingsFile, (&'a str, &'a Value))> {
        let root = root.to_string_lossy();
        let [project, user] = &self.files;
        let places = [
            (user, &user.value["projects"][&*root]),
            (project, &project.value),
            (user, &user.value),
        ];
        let entry = |document: &'a Value| {
            let named = document[self.host.servers].as_object()?.get_key_value(NAME);
            let named = named.map(|(name, entry)| (name.as_str(), entry));
            self.host.own_entry(document).or(named)
        };
        let found = places.into_iter();
        found
            .filter_map(|(file, document)| Some((file, entry(document)?)))
            .collect()
    }

    /// Returns true for Gemini CLI.
    pub(super) fn is_gemini(&self) -> bool {
        self.host.name == GEMINI.name
    }

    fn are_set_up(&self, root: &Path) -> bool {
        let is_trace = |file: &SettingsFile| {
            let is_broken = file.fault.is_some() && file.names_server;
            is_broken || file.value["tools"]["discoveryCommand"].is_string()
        };
        self.files.iter().any(is_trace) || !self.entries(root).is_empty()
    }

    /// Checks the host, and starts the server that its settings name.
    pub(super) fn check(&self, setup: &Setup<'_>, report: &mut DoctorReport) {
        let Some(home) = setup.home else { return };
        let host = self.host;
        let installed = InstalledHost::find(host.program, host.package);
        let entries = self.entries(setup.root);
        let [_, user] = &self.files;
        let pair = self
            .files
            .iter()
            .find(|file| !file.value.is_null())
            .unwrap_or(user);
        let counting = entries.first().map_or(pair, |(file, _)| file);
        let of_host = HostSetup {
            home,
            root: setup.root,
            file: counting,
            user,
            entry: entries.first().map(|(_, entry)| *entry),
        };
        self.note(&of_host, installed.as_ref(), report);
        let before = report.findings.len();
        self.report_unreadable(report);
        (host.check)(&of_host, report);
        if let Some((other, _)) = entries
            .get(1)
            .filter(|(other, _)| other.path != counting.path)
        {
            let what = format!(
                "{} has an entry for serve_tools too.",
                show_path(&other.path)
            );
            let why = "Only the one here counts, or the model gets the tools twice.";
            let help = "Take one of the two out.";
            report.warn("host-twice", &*counting.path, what, why, help);
        }
        let Some((_, entry)) = of_host.entry else {
            if report.findings.len() == before {
                let what = format!("The settings of {} don't name serve_tools.", host.title);
                let help = format!("get_tools init --host {}", host.name);
                let why = "It has none of the tools.";
                report.error("host-not-set-up", host.title, what, why, help);
            }
            return;
        };
        self.check_server(setup, &of_host, entry, report);
    }

    /// Starts the server as the host does, and reports what is wrong with it.
    fn check_server(
        &self,
        setup: &Setup<'_>,
        of_host: &HostSetup<'_>,
        entry: &Value,
        report: &mut DoctorReport,
    ) {
        let host = self.host;
        let file = &*of_host.file.path;
        let place = setup.root.to_string_lossy();
        let filled = |text: &str| expanded(&text.replace("${workspaceFolder}", &place));
        let Some(command) = entry["command"].as_str().map(filled) else {
            let what = format!("The entry {NAME} has no command.");
            let help = format!("get_tools init --host {} writes one.", host.name);
            let why = "The host has nothing to start.";
            return report.error("host-no-command", file, what, why, help);
        };
        let words = entry["args"].as_array().into_iter().flatten();
        let arguments: Vec<String> = words.filter_map(|word| word.as_str().map(filled)).collect();
        let directory = setup
            .root
            .join(entry["cwd"].as_str().map(filled).unwrap_or_default());
        if let Some(name) = own_name(&command, &directory) {
            let what = format!("The command is {name}.");
            let why =
                "It is for Gemini CLI's two commands and does not speak MCP; serve_tools does.";
            let help = format!("get_tools init --host {}", host.name);
            return report.error("commands-swapped", file, what, why, help);
        }
        check_root(&arguments, &directory, of_host, report);
        let environment = environment(host, entry, report);
        let path = match program::find(&command, &directory) {
            Ok(path) => path,
            Err(fault) => return report.findings.push(fault.about(file)),
        };
        let is_plain = entry["cwd"].is_null()
            && entry["env"]
                .as_object()
                .is_none_or(serde_json::Map::is_empty)
            && is_own_server(&command, &directory);
        let is_trusted =
            of_host.file.scope == SetupScope::User || setup.settings.trust.is_trusted();
        if !is_plain && !is_trusted {
            let what = "The project's entry starts more than serve_tools, and was not tried.";
            let help = trust_remedy(setup);
            return report.warn("project-untrusted", file, what, UNTRUSTED_IS_NOT_RUN, help);
        }
        let program = Program {
            name: path.as_os_str(),
            arguments: &arguments,
            environment: &environment,
            directory: &directory,
        };
        match shake_hands(&program) {
            Ok(answers) => note_answers(host, &answers, file, report),
            Err(fault) => report.findings.push(fault.about(file)),
        }
    }

    fn report_unreadable(&self, report: &mut DoctorReport) {
        for file in &self.files {
            if let Some(fault) = &file.fault {
                let what = format!("{} can't read it: {fault}.", self.host.title);
                let why = "None of its servers is there then, or it does not start.";
                let help = "Correct the file at that place.";
                report.error("host-unreadable", &*file.path, what, why, help);
            }
        }
    }

    /// Notes the host's version and its behaviour.
    fn note(
        &self,
        setup: &HostSetup<'_>,
        installed: Option<&InstalledHost>,
        report: &mut DoctorReport,
    ) {
        let host = self.host;
        let (version, state) = match installed {
            Some(installed) => (installed.to_string(), State::Works),
            None => ("not on the PATH".to_owned(), State::Missing),
        };
        report.note(host.title, version, state);
        if setup.entry.is_some() {
            let what = format!(
                "gets the tools from serve_tools ({})",
                show_path(&setup.file.path)
            );
            report.fact(host.title, what);
        }
        let known = host.facts.all().into_iter();
        for (subject, text) in known.filter(|(_, text)| *text != NOT_DOCUMENTED) {
            report.fact(host.title, format!("{subject}: {text} ({})", host.seen));
        }
        let seen = InstalledHost::numbers(host.seen);
        if let (Some(there), Some(seen)) = (installed.and_then(InstalledHost::minor), seen)
            && there < seen
        {
            let what = format!("This version is older than {}, which was tried.", host.seen);
            let why = "It may not know a key of the entry, or behave otherwise.";
            let help = "Update it.";
            report.warn("host-old", host.title, what, why, help);
        }
    }
}

/// Reports a workspace that is not this project.
fn check_root(
    arguments: &[String],
    directory: &Path,
    setup: &HostSetup<'_>,
    report: &mut DoctorReport,
) {
    let after = arguments.iter().skip_while(|word| *word != "--root").nth(1);
    let joined = arguments
        .iter()
        .find_map(|word| word.strip_prefix("--root="));
    let Some(given) = after.map(String::as_str).or(joined) else {
        return;
    };
    let root = directory.join(given);
    let real = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    if !real(setup.root).starts_with(real(&root)) {
        let what = format!("--root {given} is not this project.");
        let why = "The tools see the files of that directory, and none of this project.";
        let help = "Take --root out of args: without it the tools work where the host does.";
        report.error("host-root", &*setup.file.path, what, why, help);
    }
}

/// Returns the variables that the host gives the server, and reports those that it drops.
fn environment(
    host: &Host,
    entry: &Value,
    report: &mut DoctorReport,
) -> BTreeMap<OsString, OsString> {
    let listed = entry["env_vars"].as_array().into_iter().flatten();
    let listed: Vec<&str> = listed
        .filter_map(|one| one.as_str().or(one["name"].as_str()))
        .collect();
    let own = entry["env"].as_object();
    let passes = |name: &str| (host.passes)(name) || listed.contains(&name);
    for name in NAMES.into_iter().chain(KEYS) {
        let of_users_file =
            |name: &str| variables::values(name).iter().any(|one| one.file.is_some());
        let is_set = std::env::var_os(name).is_some_and(|value| !value.is_empty());
        if !is_set
            || passes(name)
            || own.is_some_and(|own| own.contains_key(name))
            || of_users_file(name)
        {
            continue;
        }
        let what = format!("{name} is set here, and does not reach the tools.");
        let why = "The host starts servers with few variables.";
        let help = if host.replaces_variables() {
            format!("Add \"env\": {{\"{name}\": \"${name}\"}} to the entry.")
        } else {
            format!("Add {name} to env_vars of the entry.")
        };
        if RESTRICTING.contains(&name) {
            report.error("not-handed-on", name, what, why, help);
        } else {
            report.warn("not-handed-on", name, what, why, help);
        }
    }
    let given = std::env::vars_os().filter(|(name, _)| passes(&name.to_string_lossy()));
    let own = own.into_iter().flatten();
    let own = own.filter_map(|(name, value)| Some((name.into(), expanded(value.as_str()?).into())));
    given.chain(own).collect()
}

fn note_answers(host: &Host, answers: &ServerAnswers, file: &Path, report: &mut DoctorReport) {
    let tools = counted(answers.tools.len(), "tool");
    let call = match &answers.call {
        Some((name, None)) => format!("; {name} works"),
        _ => String::new(),
    };
    let milliseconds = answers.took.as_secs_f64() * 1e3;
    let what = format!("{tools}, greeted in {milliseconds:.1} ms{call}");
    report.note(host.title, what, State::Works);
    if let Some((name, Some(error))) = &answers.call {
        let what = format!("It fails: {error}");
        let why = "The model gets an error.";
        let help = "Correct that; get_tools config shows the settings and rules in force.";
        report.error("call-fails", *name, what, why, help);
    }
    if answers.tools.is_empty() {
        let why = "The model has nothing to call.";
        let help = "get_tools --notes says what was left out, and why.";
        report.error("no-tools", file, "The server has no tools.", why, help);
    }
    if let Some(noise) = &answers.noise {
        let what = format!(
            "The server prints what is no message: {}",
            excerpt(noise.as_bytes())
        );
        let why = "Claude Code, Codex and Qwen Code skip such lines; others end the connection.";
        let help = "Print it to standard error, or not at all.";
        report.warn("host-noise", file, what, why, help);
    }
}
