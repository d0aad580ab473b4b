//! The environment: hosts, the kernel's sandbox, the tools of project and user, servers.

use super::setup::UNTRUSTED_IS_NOT_RUN;
use super::{DoctorReport, Setup, State, trust_remedy};
use gemini_tools_builtin_tools::builtin::{ToolEnv, sandbox};
use gemini_tools_core::diagnostic::{Diagnostic, Origin, Severity};
use gemini_tools_core::text::show_path;
use gemini_tools_core::tool::Context;
use gemini_tools_core::tool::SandboxMode;
use gemini_tools_custom_tools::lint_tools;
use gemini_tools_mcp::{NOT_ASKED, ServersToAsk, lint_servers};
use gemini_tools_process::command::find_program;
use gemini_tools_process::network::link::launcher;
use gemini_tools_process::sandbox::{Sandbox, SandboxPolicy};
use gemini_tools_settings::settings::UNTRUSTED;
use serde_json::Value;
use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};

/// Notes what there is, and reports what of it is at fault.
pub(super) fn check(setup: &Setup<'_>, asks_servers: bool, report: &mut DoctorReport) {
    report.fact("get_tools", gemini_tools_core::version::get());
    let trust = &*setup.settings.trust;
    let project = format!("{}: {trust}", show_path(setup.root));
    let state = if trust.is_trusted() {
        State::Works
    } else {
        State::Missing
    };
    report.note("project", project, state);
    note_host(setup, report);
    check_siblings(report);
    check_kernel(setup, report);
    let missing = check_servers(setup, report);
    check_own_tools(setup, asks_servers, &missing, report);
}

/// A host that is on the `PATH`.
pub(super) struct InstalledHost {
    path: PathBuf,
    /// The version of its package, if that is found.
    version: Option<String>,
}

impl InstalledHost {
    /// Returns the first two numbers of the version.
    pub(super) fn minor(&self) -> Option<(u32, u32)> {
        Self::numbers(self.version.as_deref()?)
    }

    /// Returns the first two numbers of a version; `None` if it is none.
    pub(super) fn numbers(version: &str) -> Option<(u32, u32)> {
        let mut parts = version.split('.').map(str::parse);
        Some((parts.next()?.ok()?, parts.next()?.ok()?))
    }

    /// Finds a host by its program, and its version by the end of its package's name.
    pub(super) fn find(program: &str, package: &str) -> Option<Self> {
        let path = find_program(OsStr::new(program))?;
        let real = std::fs::canonicalize(&path).ok();
        let version = real.and_then(|real| version_of(&real, package));
        Some(Self { path, version })
    }
}

impl fmt::Display for InstalledHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let version = self.version.as_deref().unwrap_or("of an unknown version");
        write!(f, "{version} ({})", show_path(&self.path))
    }
}

/// The oldest version of Gemini CLI with which the two commands were tried.
const OLDEST_TRIED: (u32, u32) = (0, 8);

/// Notes the installed Gemini CLI.
fn note_host(setup: &Setup<'_>, report: &mut DoctorReport) {
    let Some(host) = &setup.host else {
        let what = "not on the PATH, so only the two commands are tried";
        report.note("Gemini CLI", what, State::Missing);
        return;
    };
    report.note("Gemini CLI", host.to_string(), State::Works);
    if !setup.host_may_be(OLDEST_TRIED..) {
        let what = "This version is older than 0.8, which was tried.";
        let why = "Before 0.3 it does not read these settings; it may not call the tools.";
        let help = "Update it: npm install -g @google/gemini-cli";
        report.warn("host-old", "Gemini CLI", what, why, help);
    }
}

/// Reads the version in the package that a program belongs to, or takes it from the program's name:
/// Claude Code installs itself as `versions/2.1.332`.
fn version_of(program: &Path, package: &str) -> Option<String> {
    let name = program.file_name()?.to_str()?;
    if InstalledHost::numbers(name).is_some() {
        return Some(name.to_owned());
    }
    program.ancestors().skip(1).take(4).find_map(|dir| {
        let text = std::fs::read_to_string(dir.join("package.json")).ok()?;
        let found: Value = serde_json::from_str(&text).ok()?;
        let is_it = found["name"].as_str()?.ends_with(package);
        is_it.then(|| found["version"].as_str().map(str::to_owned))?
    })
}

/// Reports executables that are missing beside this one, which starts them.
fn check_siblings(report: &mut DoctorReport) {
    let Ok(own) = std::env::current_exe() else {
        return;
    };
    let directory: PathBuf = own.parent().map(Path::to_owned).unwrap_or_default();
    for name in ["call_tool", "serve_tools"] {
        let path = directory.join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
        // It is built when it is first needed.
        let has_launcher = name == "serve_tools" && launcher().is_some();
        if !path.is_file() && !has_launcher {
            let what = format!("{name} is not beside get_tools.");
            let why =
                "They are made for each other: tools are declared by one and run by the other.";
            let help = "Install all of them: scripts/install";
            report.error("incomplete", path.as_path(), what, why, help);
        }
    }
}

/// Notes what the kernel can do to restrict commands, and reports that it can't where that is wanted.
fn check_kernel(setup: &Setup<'_>, report: &mut DoctorReport) {
    let probe = SandboxPolicy {
        mode: SandboxMode::ReadOnly,
        writable: Vec::new(),
        network: false,
    };
    if let Some(weaker) = gemini_tools_process::PLATFORM_LIMITATIONS {
        report.fact("system", weaker);
    }
    let ability = Sandbox::prepare(&probe);
    match &ability {
        Ok(_) => report.note("sandbox", "supported by this kernel", State::Works),
        Err(e) => report.note("sandbox", e.to_string(), State::Missing),
    }
    let Ok(tool_env) = ToolEnv::open(setup.settings, setup.home) else {
        return;
    };
    if !setup.settings.problems.is_empty() {
        return;
    }
    if let Err(e) = sandbox(&tool_env, &Context::default(), None) {
        let what = e.message;
        let why = "run_shell_command runs nothing without the sandbox that is asked for.";
        let help = e.hint.unwrap_or_else(|| {
            "Set tools.commandSandbox to \"off\", or use a newer kernel.".to_owned()
        });
        report.error("sandbox", "tools.commandSandbox", what, why, help);
    }
}

/// Reports the findings of `get_tools lint` about the tools of files and pairs, and about MCP
/// servers: those that have to be asked only if `asks`. `missing` are servers that were reported
/// already.
fn check_own_tools(setup: &Setup<'_>, asks: bool, missing: &[&str], report: &mut DoctorReport) {
    let settings = setup.settings;
    let asks = if asks {
        ServersToAsk::Unknown
    } else {
        ServersToAsk::None
    };
    let mut lint = match lint_tools(settings, setup.home, setup.root) {
        Ok(lint) => lint,
        Err(e) => {
            let why = "The tools of files, of pairs and of MCP servers could not be checked.";
            let help = "Correct that, then: get_tools lint";
            report.error("not-checked", ".gemini/tools", e.to_string(), why, help);
            return;
        }
    };
    let found = lint_servers(settings, setup.home, setup.root, asks);
    lint.take_servers(found.servers, found.findings, &found.tools);
    let is_reported = |finding: &Diagnostic| match &finding.place.origin {
        Some(Origin::Server(name)) => missing.contains(&name.as_str()),
        _ => false,
    };
    let all = lint.findings.len();
    let state = if lint.has_errors() {
        State::Missing
    } else {
        State::Works
    };
    lint.findings.retain(|finding| finding.code != NOT_ASKED);
    let unknown = all - lint.findings.len();
    report.note("own tools", lint.summary(), state);
    if unknown > 0 {
        let what = format!("tools of {unknown} not known; get_tools doctor --mcp asks for them");
        report.note("MCP servers", what, State::Missing);
    }
    for mut finding in lint.findings {
        if finding.severity == Severity::Repair || is_reported(&finding) {
            continue;
        }
        let why = match (&finding.place.origin, finding.severity) {
            _ if finding.code == UNTRUSTED => UNTRUSTED_IS_NOT_RUN,
            (Some(Origin::Server(_)), _) => "Its tools are not there, or not what they were.",
            (_, Severity::Error) => "No model is told of the tool, and no call of it is made.",
            _ => "The tool can be called, but a model may call it wrongly.",
        };
        let help = match finding.code.as_ref() {
            UNTRUSTED => trust_remedy(setup).into(),
            _ if finding.help.is_empty() => "Correct that, and run get_tools lint again.".into(),
            _ => std::mem::take(&mut finding.help),
        };
        let subject = || ".gemini/tools".into();
        finding.place.origin.get_or_insert_with(subject);
        report.findings.push(finding.advise(why, help));
    }
}

/// Reports MCP servers whose program is not there, and returns their names.
fn check_servers<'a>(setup: &'a Setup<'_>, report: &mut DoctorReport) -> Vec<&'a str> {
    let mut missing = Vec::new();
    let mcp = &setup.settings.mcp;
    for (name, server) in mcp.servers.iter().filter(|(name, _)| mcp.lets(name)) {
        // As in Gemini CLI an address comes first.
        let is_remote = server.url.is_some() || server.http_url.is_some();
        let Some(command) = server.command.as_ref().filter(|_| !is_remote) else {
            continue;
        };
        let cwd = server.cwd.as_deref().unwrap_or(Path::new(""));
        let is_there = if command.contains('/') {
            setup.root.join(cwd).join(command).is_file()
        } else {
            find_program(OsStr::new(command)).is_some()
        };
        if !is_there {
            missing.push(name.as_str());
            let what = format!("There is no program {command:?}.");
            let why = "The server can't be started, so its tools are not there.";
            let help = "Install it, or correct the command.";
            report.error(
                "server-missing",
                format!("mcpServers.{name}"),
                what,
                why,
                help,
            );
        }
    }
    missing
}
