//! The hosts that take the tools over MCP: their files of settings, the entry that each needs, and
//! their behaviour, with the version in which it was seen.
//!
//! `docs/other-hosts.md` has the same table. Of Gemini CLI only the MCP entry is here; its two commands
//! are in [`crate::init`] and [`crate::doctor`].

mod agy;
mod claude;
mod codex;
mod cursor;
mod gemini;
mod qwen;
mod vscode;

use crate::doctor::{DoctorReport, HostSetup};
use crate::init::SetupScope;
use crate::syntax::Syntax;
#[cfg(doc)]
use gemini_tools_core::client_host::ClientHost;
use gemini_tools_process::command::find_program;
use gemini_tools_workspace::file_owner::FileOwner;
use serde_json::Value;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// The name of our entry in the settings of a host.
pub(crate) const NAME: &str = "gemini-tools";

/// The text of a fact of which the host's manual says nothing.
pub(crate) const NOT_DOCUMENTED: &str = "undocumented";

/// Gemini CLI, where an entry of its settings starts `serve_tools`.
pub(crate) static GEMINI: &Host = &gemini::HOST;

/// The hosts besides Gemini CLI, in the order in which they are listed.
pub static HOSTS: [&Host; 6] = [
    &qwen::HOST,
    &claude::HOST,
    &codex::HOST,
    &cursor::HOST,
    &vscode::HOST,
    &agy::HOST,
];

/// A host that takes the tools over MCP.
#[derive(Debug)]
pub struct Host {
    /// The name on the command line.
    pub name: &'static str,
    /// The name for people.
    pub title: &'static str,
    /// The version in which the facts were seen, or the document that has them.
    pub seen: &'static str,
    /// The program that is on the `PATH` where the host is installed.
    pub(crate) program: &'static str,
    /// The end of the name of its npm package.
    pub(crate) package: &'static str,
    /// The scope of `get_tools init` unless the user chooses one.
    pub scope: SetupScope,
    /// The user's file, beneath the home directory.
    pub(crate) user_file: &'static str,
    /// The variable that names another directory for it, and its path beneath that.
    pub(crate) moved: Option<(&'static str, &'static str)>,
    /// The project's file, beneath its directory.
    pub(crate) project_file: &'static str,
    /// Returns the directory of the user's skills, by the home directory.
    pub(crate) user_skills: fn(&Path) -> PathBuf,
    /// The directory of the project's skills, beneath its own.
    pub(crate) project_skills: &'static str,
    /// The key of the servers in both files.
    pub(crate) servers: &'static str,
    /// The syntax of both files.
    pub(crate) syntax: Syntax,
    /// The keys that our entry needs besides `command`.
    pub(crate) needs: fn() -> Vec<(&'static str, Value)>,
    /// The behaviour.
    pub facts: HostFacts,
    /// The first use, for a person who has set it up.
    pub next: &'static str,
    /// Returns true for a variable that the host hands on without being told.
    pub(crate) passes: fn(&str) -> bool,
    /// The check of what this host alone has.
    pub(crate) check: fn(&HostSetup<'_>, &mut DoctorReport),
}

/// The behaviour of a host towards a server of tools.
#[derive(Debug)]
pub struct HostFacts {
    /// The condition for the project's file.
    pub trust: &'static str,
    /// The calls about which it asks, on a terminal and without one.
    pub asks: &'static str,
    /// The behaviour in the host's mode for planning.
    pub plan: &'static str,
    /// The effect of the host's sandbox on the server.
    pub sandbox: &'static str,
    /// The variables that the server gets.
    pub variables: &'static str,
    /// The part of a long answer that the model gets, as [`ClientHost::answer_limit`] has it.
    pub answers: &'static str,
}

impl HostFacts {
    /// Returns the facts with their subjects, in the order of the columns in the book.
    pub fn all(&self) -> [(&'static str, &'static str); 6] {
        [
            ("project's file", self.trust),
            ("asks", self.asks),
            ("plan mode", self.plan),
            ("sandbox", self.sandbox),
            ("variables", self.variables),
            ("long answers", self.answers),
        ]
    }
}

impl Host {
    /// Finds a host by its name.
    pub fn find(name: &str) -> Option<&'static Self> {
        HOSTS.into_iter().find(|host| host.name == name)
    }

    /// Returns the file of settings that has the servers.
    pub(crate) fn file(&self, home: &Path, root: &Path, scope: SetupScope) -> PathBuf {
        if scope == SetupScope::Project {
            return root.join(self.project_file);
        }
        let moved = self.moved.and_then(|(variable, rest)| {
            let directory = std::env::var_os(variable).filter(|value| !value.is_empty())?;
            Some(Path::new(&directory).join(rest))
        });
        moved.unwrap_or_else(|| home.join(self.user_file))
    }

    /// Returns the directory of skills that the host reads.
    pub(crate) fn skills(&self, home: &Path, root: &Path, scope: SetupScope) -> PathBuf {
        match scope {
            SetupScope::Project => root.join(self.project_skills),
            SetupScope::User => (self.user_skills)(home),
        }
    }

    /// Returns true if the host puts the values of variables into texts.
    pub(crate) fn replaces_variables(&self) -> bool {
        self.syntax != Syntax::Toml
    }

    /// Finds the entry of `serve_tools`, and its name.
    pub(crate) fn own_entry<'a>(&self, document: &'a Value) -> Option<(&'a str, &'a Value)> {
        let servers = document[self.servers].as_object()?;
        let mut own = servers.iter().filter(|(_, entry)| is_own(entry));
        let named = servers
            .get_key_value(NAME)
            .filter(|(_, entry)| is_own(entry));
        let (name, entry) = named.or_else(|| own.next())?;
        Some((name, entry))
    }

    /// Returns true if the host seems to be installed.
    pub fn is_installed(&self, home: &Path) -> bool {
        let program = find_program(OsStr::new(self.program)).is_some();
        program || self.file(home, home, SetupScope::User).exists()
    }
}

/// Returns the owner of a file of settings: a project's is the user's where it is the home.
pub(crate) fn owner<'a>(is_projects: bool, home: &'a Path, root: &'a Path) -> FileOwner<'a> {
    if is_projects && home != root {
        let home = Some(home);
        return FileOwner::Projects { root, home };
    }
    FileOwner::Users
}

/// Returns true if an entry starts `serve_tools`, also by way of another program.
fn is_own(entry: &Value) -> bool {
    let is_it = |word: &Value| word.as_str().is_some_and(is_server);
    is_it(&entry["command"])
        || entry["args"]
            .as_array()
            .is_some_and(|args| args.iter().any(is_it))
}

/// Returns true if a command is `serve_tools`, by whatever path.
pub(crate) fn is_server(command: &str) -> bool {
    is_named(command, "serve_tools")
}

fn is_named(command: &str, program: &str) -> bool {
    let name = Path::new(command).file_stem();
    name.is_some_and(|name| name == program)
}

#[cfg(test)]
mod tests {
    use super::{GEMINI, HOSTS, Host};
    use gemini_tools_core::client_host::ClientHost;

    /// The sizes are to the thousand, with room for what the host adds.
    #[test]
    fn the_facts_name_the_limits_that_are_kept_to() {
        for (name, client, models) in [
            ("claude", "claude-code", &[""][..]),
            ("codex", "codex-mcp-client", &["", "gpt-6"]),
            ("qwen", "qwen-cli-mcp-client", &[""]),
        ] {
            let host = Host::find(name).expect("a host");
            for model in models {
                let client = ClientHost::find(client).expect("a client");
                let limit = client.answer_limit(model).expect("a limit");
                let size = format!("{},000", limit.size.div_ceil(1000));
                assert!(host.facts.answers.contains(&size), "{name}: {size}");
            }
        }
    }

    /// The table in the book, a row for each host. `UPDATE_HOSTS=1` writes it.
    #[test]
    fn the_book_has_the_same_facts() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/other-hosts.md");
        let page = std::fs::read_to_string(path).expect("the page");
        let rows = HOSTS.into_iter().chain([GEMINI]).map(|host| {
            let facts = host.facts.all().map(|(_, text)| text).join(" | ");
            format!("| {} ({}) | {facts} |", host.title, host.seen)
        });
        let rows = rows.collect::<Vec<_>>();
        let head = "|---|---|---|---|---|---|---|\n";
        let (before, rest) = page.split_once(head).expect("the table");
        let (_, after) = rest.split_once("\n\n").expect("its end");
        let expected = format!("{before}{head}{}\n\n{after}", rows.join("\n"));
        if std::env::var_os("UPDATE_HOSTS").is_some() {
            return std::fs::write(path, &expected).expect("written");
        }
        assert!(
            page == expected,
            "UPDATE_HOSTS=1 writes the table:\n{}",
            rows.join("\n")
        );
    }
}
