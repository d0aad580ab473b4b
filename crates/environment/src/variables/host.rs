//! The variables of a host that passes on few of them.
//!
//! With `GITHUB_SHA` set, Gemini CLI 0.61 starts commands with a handful of variables, so
//! restrictions that are set under names with [`PREFIX`] would be lost. On Linux the variables that
//! the host was started with can be read. That is done only for Gemini CLI, and only if it has
//! started this process itself or this process has few more variables than the host passes on: if a
//! user has unset a variable in a shell, it must stay unset.

use super::{HOST_PREFIX, PREFIX};
use crate::ancestors;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::LazyLock;

/// The variables that Gemini CLI 0.61 passes on to the processes that it starts, besides those with
/// one of [`LEFT_PREFIXES`]: common ones, and those of GitHub's workflows. The last four are set by
/// a shell between Gemini CLI and this process.
const LEFT: [&str; 30] = [
    "PATH",
    "HOME",
    "LANG",
    "SHELL",
    "TMPDIR",
    "TEMP",
    "TMP",
    "USER",
    "LOGNAME",
    "TERM",
    "COLORTERM",
    "ADDITIONAL_CONTEXT",
    "AVAILABLE_LABELS",
    "BRANCH_NAME",
    "DESCRIPTION",
    "EVENT_NAME",
    "GITHUB_ENV",
    "IS_PULL_REQUEST",
    "ISSUES_TO_TRIAGE",
    "ISSUE_BODY",
    "ISSUE_NUMBER",
    "ISSUE_TITLE",
    "PULL_REQUEST_NUMBER",
    "REPOSITORY",
    "TITLE",
    "TRIGGERING_ACTOR",
    "PWD",
    "OLDPWD",
    "SHLVL",
    "_",
];

/// Prefixes of the variables that Gemini CLI passes on to the processes that it starts, and
/// [`PREFIX`], because a wrapper script may set variables of these tools.
const LEFT_PREFIXES: [&str; 3] = ["GEMINI_CLI_", "GIT_CONFIG_", PREFIX];

const MAX_ADDED: usize = 4;

/// A variable that Gemini CLI sets for the processes that it starts as commands or as servers. For
/// a server, its settings may add variables.
const STARTED_BY_HOST: &str = "GEMINI_CLI";

const MAX_WORDS: usize = 3;

/// Returns the value that a variable has in the host. The host passes few variables on to the
/// processes that it starts, so this process may lack it.
pub(super) fn variable(name: &str) -> Option<OsString> {
    static VARIABLES: LazyLock<Vec<(OsString, OsString)>> = LazyLock::new(|| {
        if may_lack_some(&mut std::env::vars_os().map(|(name, _)| name)) {
            host_variables().unwrap_or_default()
        } else {
            Vec::new()
        }
    });
    let found = VARIABLES.iter().find(|(key, _)| key == name);
    found.map(|(_, value)| value.clone())
}

/// Returns true if the names look like those of a process that a host has started with only a few
/// of its own variables.
fn may_lack_some(names: &mut dyn Iterator<Item = OsString>) -> bool {
    let mut added = 0;
    let mut is_by_host = false;
    for name in names {
        // If the host has passed on one of these, it has not reduced the environment.
        if name == "GITHUB_SHA" || name == "SURFACE" {
            return false;
        }
        is_by_host |= name == STARTED_BY_HOST;
        let begins = |prefix: &&str| name.as_bytes().starts_with(prefix.as_bytes());
        let is_left = LEFT_PREFIXES.iter().any(begins) || LEFT.iter().any(|left| name == *left);
        added += usize::from(!is_left);
    }
    is_by_host || added <= MAX_ADDED
}

fn host_variables() -> Option<Vec<(OsString, OsString)>> {
    let is_in_workflow = |line: &Vec<u8>| match parse(line) {
        Some((b"GITHUB_SHA", value)) => !value.is_empty(),
        Some((b"SURFACE", value)) => value == b"Github",
        _ => false,
    };
    let lines = ancestors::all()
        .filter(|process| is_gemini_cli(&process.words()))
        .map(|host| host.variables())
        .find(|lines| lines.iter().any(is_in_workflow))?;
    let is_ours = |(name, _): &(&[u8], &[u8])| {
        let begins = |prefix: &str| name.starts_with(prefix.as_bytes());
        begins(PREFIX) || begins(HOST_PREFIX)
    };
    let own = |text: &[u8]| OsStr::from_bytes(text).to_owned();
    let ours = lines.iter().filter_map(|line| parse(line)).filter(is_ours);
    Some(ours.map(|(name, value)| (own(name), own(value))).collect())
}

fn parse(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = line.iter().position(|byte| *byte == b'=')?;
    Some((&line[..end], &line[end + 1..]))
}

fn is_gemini_cli(words: &[Vec<u8>]) -> bool {
    let is_option = |word: &&Vec<u8>| word.starts_with(b"-");
    let mut words = words.iter().filter(|word| !is_option(word)).take(MAX_WORDS);
    words.any(|word| {
        let path = Path::new(OsStr::from_bytes(word));
        let is_package = |part: &OsStr| part == "gemini-cli";
        path.iter().any(is_package) || path.file_stem().is_some_and(|name| name == "gemini")
    })
}

#[cfg(test)]
mod tests {
    use super::{is_gemini_cli, may_lack_some};

    #[test]
    fn only_an_environment_that_the_host_may_have_left_is_suspected() {
        let suspected = |names: &str| {
            may_lack_some(&mut names.split_whitespace().map(std::ffi::OsString::from))
        };
        for (names, expected) in [
            (
                "PATH HOME GEMINI_CLI_TRUST_WORKSPACE GIT_CONFIG_COUNT GITHUB_ENV",
                true,
            ),
            ("PATH HOME PWD SHLVL _", true),
            ("", true),
            // A wrapper may add some variables; a person's shell has more.
            ("PATH HOME A B C D GEMINI_TOOLS_OUTPUT", true),
            ("PATH HOME A B C D LS_COLORS", false),
            // The settings of a server may add variables.
            ("PATH GEMINI_CLI A B C D E", true),
            ("PATH GEMINI_CLI GITHUB_SHA", false),
            ("PATH SURFACE", false),
        ] {
            assert_eq!(suspected(names), expected, "{names}");
        }
    }

    #[test]
    fn gemini_cli_is_known_by_its_program_or_script() {
        for (line, expected) in [
            (
                "node\0/usr/lib/node_modules/@google/gemini-cli/bundle/gemini.js\0-p\0go",
                true,
            ),
            (
                "/usr/bin/node\0--max-old-space-size=8\0/usr/local/bin/gemini\0-p\0go",
                true,
            ),
            ("/opt/gemini\0-p\0go", true),
            ("npm\0exec\0@google/gemini-cli", true),
            ("node\0/opt/other.js\0--model\0gemini-2.5-flash", false),
            ("bash\0-c\0call_tool gemini", false),
            ("", false),
        ] {
            let words: Vec<_> = line
                .split('\0')
                .map(|word| word.as_bytes().to_vec())
                .collect();
            assert_eq!(is_gemini_cli(&words), expected, "{line}");
        }
    }
}
