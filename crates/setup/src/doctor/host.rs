//! Checks a host that takes the tools over MCP: its settings, and the server that they name,
//! started as the host would.

use super::calls::HARMLESS;
use super::handshake::{ServerAnswers, shake_hands};
use super::{DoctorReport, Setup, State, UNTRUSTED_IS_NOT_RUN, program, trust_remedy};
use crate::hosts::{HOSTS, Host, NAME, is_off, owner};
use crate::init::SetupScope;
use gemini_tools_core::text::{counted, show_path};
use gemini_tools_custom_tools::own_program::is_own_server;
use gemini_tools_environment::variables::{self, RESTRICTING};
use gemini_tools_process::command::find_program;
use gemini_tools_process::piped::Program;
use gemini_tools_settings::settings::expanded;
use serde_json::Value;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

struct SettingsFile {
    path: PathBuf,
    scope: SetupScope,
    value: Value,
    fault: Option<String>,
    /// Set if the text mentions `serve_tools` anywhere, even if it can't be parsed.
    names_server: bool,
}

/// A host to check, with its settings files: the project's, if it has one, and the user's.
pub(super) struct HostFiles {
    pub(super) host: &'static Host,
    files: Vec<SettingsFile>,
}

/// Finds the hosts to check: the one called `name`, or all whose settings name `serve_tools`.
/// Gemini CLI is only included if its settings name `serve_tools`, since it usually runs
/// `get_tools` and `call_tool`.
pub(super) fn find(home: Option<&Path>, root: &Path, name: Option<&str>) -> Vec<HostFiles> {
    let Some(home) = home else { return Vec::new() };
    let hosts = HOSTS
        .iter()
        .filter(|host| name.is_none_or(|name| host.name == name));
    let all = hosts.map(|host| HostFiles {
        host,
        files: [SetupScope::Project, SetupScope::User]
            .into_iter()
            .filter_map(|scope| read(host, home, root, scope))
            .collect(),
    });
    let is_checked = |files: &HostFiles| {
        let is_asked_for = name.is_some() && !files.host.is_gemini();
        let is_broken = |file: &SettingsFile| file.fault.is_some() && file.names_server;
        let is_trace = |file| !files.host.is_gemini() && is_broken(file);
        is_asked_for || files.files.iter().any(is_trace) || files.entry(root).is_some()
    };
    all.filter(is_checked).collect()
}

fn read(host: &Host, home: &Path, root: &Path, scope: SetupScope) -> Option<SettingsFile> {
    let path = host.file(home, root, scope)?;
    let text = owner(scope == SetupScope::Project, home, root).read(&path);
    let text = text
        .map_err(|e| e.to_string())
        .map(Option::unwrap_or_default);
    let names_server = text.as_ref().is_ok_and(|text| text.contains("serve_tools"));
    let value = text.and_then(|text| host.syntax.value(&text));
    let fault = value.as_ref().err().map(|e| e.trim_end().to_owned());
    Some(SettingsFile {
        path,
        scope,
        value: value.unwrap_or_default(),
        fault,
        names_server,
    })
}

impl HostFiles {
    /// Returns the settings file in force, and our entry in it. The user's file may contain a
    /// section for this project, which takes precedence.
    fn entry<'a>(&'a self, root: &Path) -> Option<(&'a SettingsFile, &'a Value)> {
        let files = self.files.iter().map(|file| (file, &file.value));
        let root = root.to_string_lossy();
        let sections = files
            .clone()
            .map(|(file, value)| (file, &value["projects"][&*root]));
        sections.chain(files).find_map(|(file, document)| {
            let named = || self.host.servers(document).as_object()?.get(NAME);
            let own = self.host.own_entry(document).map(|(_, entry)| entry);
            Some((file, own.or_else(named)?))
        })
    }

    pub(super) fn check(&self, setup: &Setup<'_>, report: &mut DoctorReport) {
        let host = self.host;
        match find_program(OsStr::new(&host.program)) {
            Some(path) => report.fact(&host.title, show_path(&path), State::Works),
            None => report.fact(&host.title, "not on the PATH", State::Missing),
        }
        let before = report.findings.len();
        for file in &self.files {
            let Some(fault) = &file.fault else { continue };
            let what = format!("{} can't read it: {fault}.", host.title);
            let why = "None of its servers is there then, or it does not start.";
            report.error(
                "host-unreadable",
                &*file.path,
                what,
                why,
                "Correct the file at that place.",
            );
        }
        let Some((file, entry)) = self.entry(setup.root) else {
            if report.findings.len() == before {
                let what = format!("The settings of {} don't name serve_tools.", host.title);
                let help = format!("get_tools init --host {}", host.name);
                report.error(
                    "host-not-set-up",
                    &*host.title,
                    what,
                    "It has none of the tools.",
                    help,
                );
            }
            return;
        };
        let what = format!(
            "gets the tools from serve_tools ({})",
            show_path(&file.path)
        );
        report.fact(&host.title, what, State::Known);
        self.check_trust(setup, file, report);
        if is_off(entry) {
            let why = "The host does not start the server, and has none of the tools.";
            let help = "Turn it on there, or in the host.";
            let what = "The entry is switched off.";
            report.error("host-off", &*file.path, what, why, help);
        }
        self.check_server(setup, file, entry, report);
    }

    fn check_trust(&self, setup: &Setup<'_>, file: &SettingsFile, report: &mut DoctorReport) {
        let users = self
            .files
            .iter()
            .find(|file| file.scope == SetupScope::User);
        let (Some(trusted), Some(users), SetupScope::Project) =
            (&self.host.trusted, users, file.scope)
        else {
            return;
        };
        if !trusted.have(setup.root, &users.value) {
            let what = format!("{} does not trust this folder.", self.host.title);
            let why = "It ignores the project's settings, and has none of the tools.";
            let help = format!(
                "Start {} here and trust the folder, or: get_tools init --host {} --user",
                self.host.program, self.host.name
            );
            report.warn("host-untrusted", &*file.path, what, why, help);
        }
    }

    fn check_server(
        &self,
        setup: &Setup<'_>,
        file: &SettingsFile,
        entry: &Value,
        report: &mut DoctorReport,
    ) {
        let place = setup.root.to_string_lossy();
        let filled = |text: &str| expanded(&text.replace("${workspaceFolder}", &place));
        let Some(started) = self.host.started(entry) else {
            let what = format!("The entry {NAME} has no command.");
            let help = format!("get_tools init --host {} writes one.", self.host.name);
            let why = "The host has nothing to start.";
            return report.error("host-no-command", &*file.path, what, why, help);
        };
        let command = filled(started.command);
        // The arguments that `init` writes into the entry for this command are harmless. Others may
        // not be: `--http --allow-remote` opens the server to other machines, and `--policy` takes
        // the place of the user's rules. So an entry with other arguments is only started if the
        // project is trusted.
        let own = Value::Object(self.host.entry(started.command));
        let own = self.host.started(&own);
        let has_own_arguments = own.is_some_and(|own| own.arguments == started.arguments);
        let arguments: Vec<String> = started.arguments.into_iter().map(filled).collect();
        let directory = entry["cwd"].as_str().map(filled).unwrap_or_default();
        let directory = setup.root.join(directory);
        let environment = environment(self.host, entry, report);
        let path = match program::find(&command, &directory) {
            Ok(path) => path,
            Err(fault) => return report.findings.push(fault.about(&*file.path)),
        };
        let has_env = entry[&self.host.env]
            .as_object()
            .is_some_and(|env| !env.is_empty());
        let is_plain = entry["cwd"].is_null()
            && !has_env
            && has_own_arguments
            && is_own_server(&command, &directory);
        let is_trusted = file.scope == SetupScope::User || setup.settings.trust.is_trusted();
        if !is_plain && !is_trusted {
            let what = "The project's entry starts more than serve_tools, and was not tried.";
            let help = trust_remedy(setup);
            return report.warn(
                "project-untrusted",
                &*file.path,
                what,
                UNTRUSTED_IS_NOT_RUN,
                help,
            );
        }
        let answers = shake_hands(&Program {
            name: path.as_os_str(),
            arguments: &arguments,
            environment: &environment,
            directory: &directory,
        });
        match answers {
            Ok(answers) => note(&self.host.title, &answers, &file.path, report),
            Err(fault) => report.findings.push(fault.about(&*file.path)),
        }
    }
}

fn note(host: &'static str, answers: &ServerAnswers, file: &Path, report: &mut DoctorReport) {
    let tools = counted(answers.tools, "tool");
    let text = match &answers.call {
        Some(Err(error)) => {
            let what = format!("It fails: {error}");
            let help = "Correct that; get_tools config shows the settings and rules in force.";
            return report.error(
                "call-fails",
                HARMLESS,
                what,
                "The model gets an error.",
                help,
            );
        }
        None if answers.tools == 0 => {
            let why = "The model has nothing to call.";
            let help = "get_tools --notes says what was left out, and why.";
            return report.error("no-tools", file, "The server has no tools.", why, help);
        }
        Some(Ok(())) => format!("{tools}; {HARMLESS} works"),
        None => tools,
    };
    report.fact(host, text, State::Works);
}

/// Returns the variables with which the host would start the server. Reports a variable that
/// restricts calls but would not be passed on: the user believes in a limit that is not there.
fn environment(
    host: &Host,
    entry: &Value,
    report: &mut DoctorReport,
) -> BTreeMap<OsString, OsString> {
    let listed = host.listed.iter().filter_map(|key| entry[key].as_array());
    let listed = listed.flatten();
    let listed: Vec<&str> = listed
        .filter_map(|one| one.as_str().or(one["name"].as_str()))
        .collect();
    let own = entry[&host.env].as_object();
    let passes = |name: &str| host.passes(name) || listed.contains(&name);
    for name in RESTRICTING {
        let is_in_file = variables::values(name).iter().any(|one| one.file.is_some());
        let is_set = std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let is_given = own.is_some_and(|own| own.contains_key(name));
        if is_set && !passes(name) && !is_given && !is_in_file {
            let what = format!("{name} is set here, and does not reach the tools.");
            let why = "The host starts servers with few variables.";
            let env = &host.env;
            let help = match &host.listed {
                Some(key) => format!("Add {name} to {key} of the entry."),
                None => format!("Add \"{env}\": {{\"{name}\": \"${name}\"}} to the entry."),
            };
            report.error("not-handed-on", name, what, why, help);
        }
    }
    let given = std::env::vars_os().filter(|(name, _)| passes(&name.to_string_lossy()));
    let own = own.into_iter().flatten();
    let own = own.filter_map(|(name, value)| Some((name.into(), expanded(value.as_str()?).into())));
    given.chain(own).collect()
}
