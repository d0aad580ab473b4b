//! The variables that configure these tools, `GEMINI_TOOLS_…`.
//!
//! Each has a second name, `GEMINI_CLI_TOOLS_…`, because with `GITHUB_SHA` set Gemini CLI 0.61
//! passes few variables but `GEMINI_CLI_*` to the commands that it starts. For the same reason
//! `~/.gemini/.env` is read here as the host reads it, and `~/.qwen/.env` if the host is qwen-code.
//! A variable of the environment overrides a line of these files, and so does one that the host was
//! started with and has not passed on (`host`). A project's `.env` is not read, because it could
//! loosen what the user has restricted.
//!
//! If both names are set, a caller that restricts something by the variable takes the stricter
//! value ([`values`]), and any other the value of the first name ([`value`]).
//!
//! What can't be read here may be a restriction. [`faults`] lists all of that, and no call may run
//! while there is any.

mod file;
mod host;

pub use file::parse;

use gemini_tools_core::answer::Form;
use gemini_tools_core::client_host::QWEN_CODE;
use gemini_tools_core::diagnostic::Diagnostic;
use gemini_tools_core::registry::nearest;
use gemini_tools_core::tool::{ApprovalMode, SandboxMode};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::Duration;

/// The beginning of each variable's name.
pub const PREFIX: &str = "GEMINI_TOOLS_";

/// The beginning of each variable's second name.
pub const HOST_PREFIX: &str = "GEMINI_CLI_TOOLS_";

/// The variables that configure these tools. A host must pass them on to the programs it starts.
pub const NAMES: [&str; 15] = [
    "GEMINI_TOOLS_APPROVAL_MODE",
    "GEMINI_TOOLS_CONDENSE",
    "GEMINI_TOOLS_DNS",
    "GEMINI_TOOLS_FETCH_ALLOW",
    "GEMINI_TOOLS_MCP",
    "GEMINI_TOOLS_MODEL",
    "GEMINI_TOOLS_OUTPUT",
    "GEMINI_TOOLS_POLICY",
    "GEMINI_TOOLS_ROOTS",
    "GEMINI_TOOLS_SANDBOX",
    "GEMINI_TOOLS_SESSION",
    "GEMINI_TOOLS_SHELL_IDLE_TIMEOUT",
    "GEMINI_TOOLS_SHELL_TIMEOUT",
    "GEMINI_TOOLS_TIMEOUT",
    "GEMINI_TOOLS_UNDO_COMMANDS",
];

/// The variables of [`NAMES`] that restrict what may run.
pub const RESTRICTING: [&str; 3] = [
    "GEMINI_TOOLS_APPROVAL_MODE",
    "GEMINI_TOOLS_POLICY",
    "GEMINI_TOOLS_SANDBOX",
];

/// A variable that is set to a non-empty value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    /// The one of the variable's two names under which it is set.
    pub name: String,
    /// The variable's value.
    pub value: OsString,
    /// The file that sets it; `None` if the environment does.
    pub file: Option<PathBuf>,
}

impl Variable {
    /// Returns the value, with U+FFFD for bytes that are not UTF-8.
    pub fn text(&self) -> String {
        self.value.to_string_lossy().into_owned()
    }

    /// Returns what the value must be, if it is something else.
    fn misses(&self) -> Option<String> {
        let text = self.text();
        let is_one_of = |names: &[&str]| {
            let is_one = names.contains(&text.trim());
            (is_one, format!("one of {}", names.join(", ")))
        };
        let (is_right, expected) = match self.name.rsplit("TOOLS_").next() {
            Some("APPROVAL_MODE") => is_one_of(&ApprovalMode::NAMES),
            Some("CONDENSE") => is_one_of(&["on", "off"]),
            Some("OUTPUT") => is_one_of(&Form::NAMES),
            Some("SANDBOX") => is_one_of(&SandboxMode::NAMES),
            Some("UNDO_COMMANDS") => is_one_of(&["on", "off", "all"]),
            Some("SHELL_IDLE_TIMEOUT" | "SHELL_TIMEOUT" | "TIMEOUT") => {
                (seconds(&text).is_some(), "a number of seconds".to_owned())
            }
            Some("POLICY") => {
                let are_absolute = paths(&self.value).iter().all(|path| path.is_absolute());
                (are_absolute, "a list of absolute paths".to_owned())
            }
            _ => return None,
        };
        (!is_right).then_some(expected)
    }
}

/// Returns the second name of a variable, or `name` itself if it does not begin with [`PREFIX`].
pub fn host_name(name: &str) -> String {
    match name.strip_prefix(PREFIX) {
        Some(rest) => format!("{HOST_PREFIX}{rest}"),
        None => name.to_owned(),
    }
}

/// Returns a variable under both of its names, for the environment of a new program.
pub fn for_program(name: &str, value: impl Into<String>) -> [(String, String); 2] {
    let value = value.into();
    [(name.to_owned(), value.clone()), (host_name(name), value)]
}

/// Returns the variable under its first name and under its second, each only if it is set and not
/// empty.
pub fn values(name: &str) -> Vec<Variable> {
    // The environment of this process, or else that of the host, which may not have passed it on.
    let environment = |name: &str| std::env::var_os(name).or_else(|| host::variable(name));
    lookup(name, &environment, &user_files().1)
}

/// Returns the variable's value under its first name, or else under its second.
pub fn value(name: &str) -> Option<OsString> {
    values(name).into_iter().next().map(|found| found.value)
}

/// Returns the paths that a variable's value lists, without empty ones.
pub fn paths(value: &OsStr) -> Vec<PathBuf> {
    let paths = std::env::split_paths(value);
    paths.filter(|path| !path.as_os_str().is_empty()).collect()
}

type Lines = (PathBuf, Vec<(String, String)>);

fn lookup(
    name: &str,
    environment: &dyn Fn(&str) -> Option<OsString>,
    files: &[Lines],
) -> Vec<Variable> {
    let by_name = |name: String| {
        let (value, file) = match environment(&name) {
            Some(value) => (value, None),
            None => files.iter().find_map(|(file, lines)| {
                let (_, value) = lines.iter().rfind(|(key, _)| *key == name)?;
                Some((OsString::from(value), Some(file.clone())))
            })?,
        };
        (!value.is_empty()).then_some(Variable { name, value, file })
    };
    [name.to_owned(), host_name(name)]
        .into_iter()
        .filter_map(by_name)
        .collect()
}

type Files = (Option<PathBuf>, Vec<Lines>, Vec<Diagnostic>);

/// Returns what the user's files say, and the home directory at that time: they are read once.
fn user_files() -> &'static Files {
    static FILES: LazyLock<Files> = LazyLock::new(|| {
        let (mut read, mut faults) = (Vec::new(), Vec::new());
        let Some(home) = home() else {
            return (None, read, faults);
        };
        let mut files = vec![user_file(&home)];
        if is_in_qwen() {
            let directory = QWEN_CODE.directory(None);
            let file = directory.map(|directory| directory.join(".env"));
            files.splice(0..0, file);
        }
        for file in files {
            match file::read(&file) {
                Ok(None) => {}
                Ok(Some(text)) => read.push((file, file::of_tools(&text))),
                Err(e) => {
                    let fault = Diagnostic::error("variables-unreadable", "", "", format!("{e}."));
                    let help = "Correct the file, or remove it.";
                    faults.push(fault.in_file(&file).advise(MAY_RESTRICT, help));
                }
            }
        }
        (Some(home), read, faults)
    });
    &FILES
}

/// Why a fault matters of which it can't be known what it hides.
pub const MAY_RESTRICT: &str = "It may restrict any call, so none may run.";

/// Variables that name files, each of which must be an absolute path. A relative one would name a
/// file of whatever project a call works in.
const PLACES: [&str; 4] = [
    "GEMINI_CLI_HOME",
    "HOME",
    "GEMINI_CLI_SYSTEM_DEFAULTS_PATH",
    "GEMINI_CLI_SYSTEM_SETTINGS_PATH",
];

/// Returns what is wrong with the variables, and with what they are read from. A restriction may be
/// lost by any of it, so no call may run then.
pub fn faults() -> Vec<Diagnostic> {
    let fault = |name: &str, value: &OsStr, expected: &str| {
        let message = format!("It is {:?}, not {expected}.", value.display());
        let fault = Diagnostic::error("variable-value", "", name, message);
        fault.advise(MAY_RESTRICT, "Correct it, or unset it.")
    };
    let (first, _, mut faults) = user_files().clone();
    if first != home() {
        let (name, home) = (
            home_variable().unwrap_or("HOME"),
            home().unwrap_or_default(),
        );
        let expected = "the home directory whose variables this process has read";
        faults.push(fault(name, home.as_os_str(), expected));
    }
    for name in PLACES {
        let value = std::env::var_os(name).unwrap_or_default();
        let is_used = name != "HOME" || home_variable() == Some(name);
        if is_used && !value.is_empty() && !Path::new(&value).is_absolute() {
            faults.push(fault(name, &value, "an absolute path"));
        }
    }
    faults.extend(std::env::vars().filter_map(|(name, _)| misspelt(&name)));
    for found in NAMES.into_iter().flat_map(values) {
        if let Some(expected) = found.misses() {
            let fault = fault(&found.name, &found.value, &expected);
            faults.push(match &found.file {
                Some(file) => fault.in_file(file),
                None => fault,
            });
        }
    }
    faults
}

/// How many letters of a variable's name make it clear which is meant.
const STEM: usize = 5;

fn misspelt(name: &str) -> Option<Diagnostic> {
    let own = |known: &'static str| (&known[PREFIX.len()..], known);
    let rest = name.strip_prefix(PREFIX);
    let rest = rest.or_else(|| name.strip_prefix(HOST_PREFIX))?;
    if NAMES.iter().any(|known| own(known).0 == rest) {
        return None;
    }
    let all = RESTRICTING.into_iter().map(own);
    // As in `POLICIES` or `SANDBOXED`, which are less like the name than a slip of the finger.
    let begins = |known: &str| known.get(..STEM) == rest.get(..STEM);
    let begun = all.clone().find(|(known, _)| begins(known));
    let meant = begun.map(|(_, name)| name);
    let meant = meant.or_else(|| nearest(rest, all).first().copied())?;
    let what = format!("There is no such variable, but there is {meant}");
    let fault = Diagnostic::error("variable-name", "", name, what);
    Some(fault.advise(MAY_RESTRICT, "Correct it, or unset it."))
}

/// Returns true if a path, or a directory above, is a link that leads nowhere. Of what should be
/// there it can't be known then what it would say, unlike of a file that does not exist.
pub fn is_dangling(path: &Path) -> bool {
    let mut parts = path.ancestors();
    let there = parts.find(|part| part.symlink_metadata().is_ok());
    there.is_some_and(|part| !part.exists())
}

/// Returns true if qwen-code has started this program. Seen in qwen-code 0.24.4: it sets
/// `QWEN_CODE_NO_RELAUNCH` for every program that it starts, and `QWEN_CODE` for commands of the
/// model. Others that begin so, such as `QWEN_CODE_LEGACY_MCP_BLOCKING`, are settings of a person's.
pub fn is_in_qwen() -> bool {
    let signs = ["QWEN_CODE", "QWEN_CODE_NO_RELAUNCH"];
    signs.iter().any(|name| std::env::var_os(name).is_some())
}

/// Returns the path of the file in which the user sets variables for all projects.
pub fn user_file(home: &Path) -> PathBuf {
    home.join(".gemini/.env")
}

/// Returns the directory that holds the user's `.gemini`. It is `GEMINI_CLI_HOME`, which replaces
/// the home directory in Gemini CLI (seen in 0.61), or else `HOME`. Returns `None` if neither is
/// set, or if the path is not absolute, since it would lie somewhere in the project.
pub fn home() -> Option<PathBuf> {
    let home = PathBuf::from(std::env::var_os(home_variable()?)?);
    home.is_absolute().then_some(home)
}

fn home_variable() -> Option<&'static str> {
    let is_set = |name: &&str| std::env::var_os(name).is_some_and(|home| !home.is_empty());
    ["GEMINI_CLI_HOME", "HOME"].into_iter().find(is_set)
}

/// Returns the number of seconds in a variable. If both of its names are set, the smaller number
/// counts; but zero, by which a user takes back a limit, counts only if no other number is set.
pub fn seconds_of(variable: &str) -> Option<Duration> {
    let limits = values(variable);
    let limits = limits.iter().filter_map(|found| seconds(&found.text()));
    limits.min_by_key(|limit| (limit.is_zero(), *limit))
}

fn seconds(text: &str) -> Option<Duration> {
    Duration::try_from_secs_f64(text.trim().parse().ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::{NAMES, lookup, misspelt, parse};
    use std::ffi::OsString;
    use std::path::PathBuf;

    #[test]
    fn a_name_like_that_of_a_restriction_is_a_slip() {
        for slip in [
            "POLICIES",
            "POLICYS",
            "POLICY_PATH",
            "POLCIY",
            "SANDBOXED",
            "SANDBX",
            "APPROVAL",
            "APPROVALMODE",
        ] {
            for prefix in ["GEMINI_TOOLS_", "GEMINI_CLI_TOOLS_"] {
                assert!(misspelt(&format!("{prefix}{slip}")).is_some(), "{slip}");
            }
            assert!(misspelt(slip).is_none());
        }
        for known in NAMES
            .into_iter()
            .chain(["GEMINI_TOOLS_BENCH_DIR", "GEMINI_TOOLS_é"])
        {
            assert!(misspelt(known).is_none(), "{known}");
        }
    }

    #[test]
    fn each_name_counts_in_the_environment_and_else_in_a_file() {
        let file = |text: &str| (PathBuf::from("/h/.env"), parse(text));
        let found = |set: &[(&str, &str)], text: &str| {
            let environment = |name: &str| {
                let (_, value) = set.iter().find(|(key, _)| *key == name)?;
                Some(OsString::from(value))
            };
            let found = lookup("GEMINI_TOOLS_X", &environment, &[file(text)]);
            let shown = found.iter().map(|one| {
                let place = if one.file.is_some() { "file" } else { "env" };
                format!("{}={} {place}", one.name, one.text())
            });
            shown.collect::<Vec<_>>().join(", ")
        };
        let (first, second) = ("GEMINI_TOOLS_X", "GEMINI_CLI_TOOLS_X");
        for (set, text, expected) in [
            (&[][..], "", ""),
            (&[(first, "a")], "", "GEMINI_TOOLS_X=a env"),
            (&[(second, "b")], "", "GEMINI_CLI_TOOLS_X=b env"),
            (&[], "GEMINI_TOOLS_X=c", "GEMINI_TOOLS_X=c file"),
            (&[(first, "a")], "GEMINI_TOOLS_X=c", "GEMINI_TOOLS_X=a env"),
            // An empty variable of the environment hides the line of the file, as in the host.
            (&[(first, "")], "GEMINI_TOOLS_X=c", ""),
            (
                &[(second, "b")],
                "GEMINI_TOOLS_X=c",
                "GEMINI_TOOLS_X=c file, GEMINI_CLI_TOOLS_X=b env",
            ),
        ] {
            assert_eq!(found(set, text), expected, "{set:?} {text}");
        }
    }
}
