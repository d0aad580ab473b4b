//! The subject of the checks of a host, and the checks that several hosts have in common.

use super::DoctorReport;
use crate::hosts::owner;
use crate::init::SetupScope;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The subject of the checks of a host.
pub(crate) struct HostSetup<'a> {
    pub(crate) home: &'a Path,
    pub(crate) root: &'a Path,
    /// The file that counts.
    pub(crate) file: &'a SettingsFile,
    /// The user's file.
    pub(crate) user: &'a SettingsFile,
    /// Our entry and its name; `None` where there is none.
    pub(crate) entry: Option<(&'a str, &'a Value)>,
}

/// A file of settings, as a host reads it.
pub(crate) struct SettingsFile {
    pub(crate) path: PathBuf,
    pub(crate) scope: SetupScope,
    pub(crate) value: Value,
    /// The fault for which it can't be read.
    pub(super) fault: Option<String>,
    /// True if such a text names `serve_tools` somewhere.
    pub(super) names_server: bool,
}

impl HostSetup<'_> {
    /// Returns the settings that count, and the user's.
    pub(crate) fn settings(&self) -> [&Value; 2] {
        [&self.file.value, &self.user.value]
    }

    /// Reads another file of JSON of the host; `None` if there is none, or it can't be read.
    pub(crate) fn read(&self, path: &Path, is_projects: bool) -> Option<Value> {
        let owner = owner(is_projects, self.home, self.root);
        crate::syntax::Syntax::Lenient
            .value(&owner.read(path).ok()??)
            .ok()
    }

    /// Reports tools that a list of the entry leaves out: the first key is that of the tools that
    /// alone are let in, the second that of tools that are not.
    pub(crate) fn check_lists(&self, keys: [&str; 2], report: &mut DoctorReport) {
        let Some((_, entry)) = self.entry else { return };
        for key in keys.into_iter().filter(|key| entry[*key].is_array()) {
            let what = format!("{key} is {}.", entry[key]);
            let why = "The model is not told of the other tools, or of these.";
            let help = "Take the list out, if you want all tools.";
            report.warn("host-tools-left-out", &*self.file.path, what, why, help);
        }
    }

    /// Reports lists of the settings by which no server of this name is started.
    pub(crate) fn check_server_lists(&self, report: &mut DoctorReport) {
        let Some((name, _)) = self.entry else { return };
        let has = |key: &str| {
            let names = self.settings().map(|value| value["mcp"][key].as_array());
            let names = names.into_iter().flatten().next()?;
            Some(names.iter().any(|one| one == name))
        };
        if has("excluded") == Some(true) {
            report_off(&self.file.path, "mcp.excluded has it", report);
        }
        if has("allowed") == Some(false) {
            report_off(&self.file.path, "mcp.allowed lacks it", report);
        }
    }

    /// Reports a time limit of the entry, in units of `unit`, that commands often exceed.
    pub(crate) fn check_timeout(&self, key: &str, unit: Duration, report: &mut DoctorReport) {
        const SHORT: Duration = Duration::from_secs(60);
        let limit = self.entry.and_then(|(_, entry)| entry[key].as_f64());
        let Some(limit) = limit.filter(|limit| limit * unit.as_secs_f64() < SHORT.as_secs_f64())
        else {
            return;
        };
        let what = format!("{key} is {limit}: less than a minute.");
        let why = "The host gives up calls that take longer, such as builds and tests.";
        let help = "Take it out; the host's own limit is longer.";
        report.warn("host-timeout", &*self.file.path, what, why, help);
    }

    /// Reports that the host runs in a container, by the variable or `tools.sandbox`.
    pub(crate) fn check_container(&self, variable: &str, report: &mut DoctorReport) {
        let is_on = |value: &str| !matches!(value, "" | "0" | "false");
        let of_settings = || {
            let sandbox = self.settings().map(|value| &value["tools"]["sandbox"]);
            let sandbox = sandbox.into_iter().find(|value| !value.is_null())?;
            let is_off = sandbox == false || sandbox["enabled"] == false;
            (!is_off).then(|| format!("tools.sandbox is {sandbox}"))
        };
        let of_variable = |value: String| is_on(&value).then(|| format!("{variable} is {value}"));
        let cause = match std::env::var(variable) {
            Ok(value) => of_variable(value),
            Err(_) => of_settings(),
        };
        // There the system itself has a sandbox, in which the programs of the machine are.
        let Some(cause) = cause.filter(|_| !cfg!(target_os = "macos")) else {
            return;
        };
        let what = format!("{cause}: the host runs in a container.");
        let why = "It starts the server there, where serve_tools is not, unless the image has it.";
        let help =
            "Put serve_tools into the image, or use the sandbox of these tools (docs/sandbox.md).";
        report.warn("host-sandbox", &*self.file.path, what, why, help);
    }

    /// Reports rules of a file by which the host refuses calls of our tools.
    pub(crate) fn check_denied(&self, file: &Path, settings: &Value, report: &mut DoctorReport) {
        let Some((name, _)) = self.entry else { return };
        let is_denied = |rule: &&Value| {
            let rule = rule.as_str().unwrap_or_default();
            let rest = rule.strip_prefix(&format!("mcp__{name}"));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with("__"))
        };
        let denied = settings["permissions"]["deny"].as_array();
        for rule in denied.into_iter().flatten().filter(is_denied) {
            let what = format!("permissions.deny has {rule}.");
            let why = "The host refuses these calls.";
            let help = "Take it out, if you want the tool.";
            report.warn("host-tools-left-out", file, what, why, help);
        }
    }
}

/// Reports that the host does not start the server.
pub(crate) fn report_off(file: &Path, cause: &str, report: &mut DoctorReport) {
    let what = format!("The server is turned off: {cause}.");
    let why = "The host does not start it.";
    report.error("host-server-off", file, what, why, "Correct that there.");
}
