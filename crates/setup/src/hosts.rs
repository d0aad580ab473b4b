//! The hosts that take the tools over MCP. Each is a file of data, `hosts/NAME.toml`: its settings
//! files, the entry that it needs, and, for the book, its behaviour in the version that was tried,
//! or in its manual.
//!
//! `build.rs` compiles in every file that is there, so a new host is one file here and one in
//! `tests/setup/hosts.d`, and no host can be treated in a way that its file does not show.
//! `docs/other-hosts.md` has tables of them. For Gemini CLI only the MCP entry is here; its
//! discovery and call command are handled by [`crate::init`] and [`crate::doctor`].

use crate::init::SetupScope;
use crate::syntax::Syntax;
use gemini_tools_environment::variables::RESTRICTING;
use gemini_tools_workspace::file_owner::FileOwner;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Map, Value};
use std::iter::once;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

pub(crate) const NAME: &str = "gemini-tools";

/// The word that stands for the path of `serve_tools` in the entries of the host files.
const SERVER: &str = "serve_tools";

include!(concat!(env!("OUT_DIR"), "/hosts.rs"));

/// A host that takes the tools over MCP.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Host {
    /// The name on the command line.
    #[serde(skip)]
    pub name: &'static str,
    /// The name for people.
    pub title: String,
    pub(crate) program: String,
    /// The scope of `get_tools init` unless the user chooses one.
    #[serde(default)]
    pub scope: SetupScope,
    /// The user's settings files, of which the first that exists is used, or else the first.
    /// `project` has those of a project; some hosts have none.
    user: Vec<String>,
    #[serde(default)]
    user_macos: Vec<String>,
    #[serde(default)]
    project: Vec<String>,
    pub(crate) moved: Option<Moved>,
    pub(crate) trusted: Option<TrustedFolders>,
    /// The directories of skills: the user's, relative to the home directory, and the project's.
    #[serde(default = "usual_skills")]
    skills: [String; 2],
    /// The keys that lead to the object that contains all servers, outermost first. Within a
    /// server's entry, `command` has the keys that lead to the command, and `env` is the key of the
    /// variables that the entry sets. `listed` is the key of a list of variables that the host
    /// passes on; some hosts have no such list.
    #[serde(default = "usual_servers")]
    pub(crate) servers: Vec<String>,
    pub(crate) syntax: Syntax,
    entry: Map<String, Value>,
    #[serde(default = "usual_command")]
    pub(crate) command: Vec<String>,
    #[serde(default = "usual_env")]
    pub(crate) env: String,
    #[serde(default)]
    passes: Passes,
    pub(crate) listed: Option<String>,
    /// Facts about the host that only the book shows. The tests read this part of the files.
    #[serde(rename = "facts")]
    _facts: IgnoredAny,
    /// What a user should do first after the set-up.
    pub next: String,
}

/// An environment variable that moves files of the user. If it is set, a path that begins with one
/// of `directories` is not relative to the home directory: the variable's value replaces that
/// beginning.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Moved {
    variable: String,
    directories: Vec<String>,
}

/// Where the user's settings list the folders whose settings files count: the keys that lead to the
/// value of a folder, of which `FOLDER` stands for its path, and the value that trusts it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TrustedFolders {
    keys: Vec<String>,
    value: String,
}

impl TrustedFolders {
    /// Returns true if the user's settings trust a directory, or the git repository that it is in.
    pub(crate) fn have(&self, root: &Path, users: &Value) -> bool {
        let repository = root.ancestors().find(|above| above.join(".git").exists());
        once(root).chain(repository).any(|folder| {
            let folder = folder.to_string_lossy();
            let value = self.keys.iter().fold(users, |value, key| match &**key {
                "FOLDER" => &value[&*folder],
                key => &value[key],
            });
            *value == *self.value
        })
    }
}

/// Which variables of the host's environment a server gets, besides those that its entry sets.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Passes {
    #[default]
    All,
    AllButKeys,
    Few,
}

#[derive(Debug, PartialEq)]
pub(crate) struct Started<'a> {
    pub(crate) command: &'a str,
    pub(crate) arguments: Vec<&'a str>,
    pub(crate) key: String,
}

/// The hosts, sorted by name.
pub static HOSTS: LazyLock<Vec<Host>> = LazyLock::new(|| FILES.iter().filter_map(parsed).collect());

fn parsed((name, text): &(&'static str, &str)) -> Option<Host> {
    // A file that can't be parsed would be left out. A test makes sure that there is none.
    let host: Host = toml::from_str(text).ok()?;
    Some(Host { name, ..host })
}

fn usual_skills() -> [String; 2] {
    [".agents/skills"; 2].map(str::to_owned)
}

fn usual_servers() -> Vec<String> {
    vec!["mcpServers".to_owned()]
}

fn usual_command() -> Vec<String> {
    vec!["command".to_owned()]
}

fn usual_env() -> String {
    "env".to_owned()
}

impl Host {
    /// Returns the names of all hosts, sorted.
    pub fn names() -> impl Iterator<Item = &'static str> {
        FILES.iter().map(|(name, _)| *name)
    }

    /// Finds a host by its name.
    pub fn find(name: &str) -> Option<&'static Self> {
        HOSTS.iter().find(|host| host.name == name)
    }

    /// Returns true for Gemini CLI, which usually runs `get_tools` and `call_tool` instead of a
    /// server.
    pub fn is_gemini(&self) -> bool {
        self.name == "gemini"
    }

    pub(crate) fn file(&self, home: &Path, root: &Path, scope: SetupScope) -> Option<PathBuf> {
        let paths: Vec<PathBuf> = match scope {
            SetupScope::Project => self.project.iter().map(|path| root.join(path)).collect(),
            SetupScope::User => {
                let is_other = cfg!(target_os = "macos") && !self.user_macos.is_empty();
                let paths = if is_other {
                    &self.user_macos
                } else {
                    &self.user
                };
                paths.iter().map(|path| self.users(home, path)).collect()
            }
        };
        let there = paths.iter().find(|path| path.exists());
        there.or(paths.first()).cloned()
    }

    pub(crate) fn skills(&self, home: &Path, root: &Path, scope: SetupScope) -> PathBuf {
        let [users, projects] = &self.skills;
        match scope {
            SetupScope::Project => root.join(projects),
            SetupScope::User => self.users(home, users),
        }
    }

    fn users(&self, home: &Path, path: &str) -> PathBuf {
        let moved = || {
            let Moved {
                variable,
                directories,
            } = self.moved.as_ref()?;
            let to = std::env::var_os(variable).filter(|value| !value.is_empty())?;
            let mut rests = directories
                .iter()
                .map(|base| Path::new(path).strip_prefix(base));
            Some(Path::new(&to).join(rests.find_map(Result::ok)?))
        };
        moved().unwrap_or_else(|| home.join(path))
    }

    /// Returns our entry, with `server` as its command. If the host only passes on listed
    /// variables, the entry lists an API key for the web tools, every variable that restricts
    /// calls, and the variable that moves the host's files if it is set.
    pub(crate) fn entry(&self, server: &str) -> Map<String, Value> {
        let mut entry = self.entry.clone();
        for value in entry.values_mut() {
            replace(value, SERVER, server);
        }
        if let Some(key) = &self.listed {
            let mut names = vec!["GEMINI_API_KEY"];
            names.extend(RESTRICTING);
            let moved = self.moved.iter().map(|moved| &*moved.variable);
            names.extend(moved.filter(|name| std::env::var_os(name).is_some()));
            entry.insert(key.clone(), names.into());
        }
        entry
    }

    /// Returns the command of an entry: the one under the key that our own entry uses for it, or
    /// else the one under the key `command`, which most hosts use.
    pub(crate) fn started<'a>(&self, entry: &'a Value) -> Option<Started<'a>> {
        let usual = || started_at(entry, &usual_command());
        started_at(entry, &self.command).or_else(usual)
    }

    pub(crate) fn passes(&self, name: &str) -> bool {
        const FEW: [&str; 10] = [
            "HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER",
        ];
        match self.passes {
            Passes::All => true,
            Passes::AllButKeys => !name.contains("KEY"),
            Passes::Few => FEW.contains(&name),
        }
    }

    pub(crate) fn servers<'a>(&self, document: &'a Value) -> &'a Value {
        self.servers.iter().fold(document, |value, key| &value[key])
    }

    pub(crate) fn own_entry<'a>(&self, document: &'a Value) -> Option<(&'a str, &'a Value)> {
        let servers = self.servers(document).as_object()?;
        let named = servers.get_key_value(NAME).into_iter();
        let mut all = named.chain(servers);
        let (name, entry) = all.find(|(_, entry)| self.names_server(entry))?;
        Some((name, entry))
    }

    /// Returns true if `serve_tools` is the command of an entry, or a word after it, as in one that
    /// wraps it. A directory of that name is what another server works in, and a word like
    /// `ROOT=/a/serve_tools` or `https://a.example/serve_tools` names no program.
    pub(crate) fn names_server(&self, entry: &Value) -> bool {
        self.started(entry).is_some_and(|it| {
            let mut words = it.arguments.iter();
            is_server(it.command) || words.any(|word| is_server(word) && !word.contains(['=', ':']))
        })
    }
}

pub(crate) fn owner<'a>(is_projects: bool, home: &'a Path, root: &'a Path) -> FileOwner<'a> {
    if is_projects && home != root {
        let home = Some(home);
        return FileOwner::Projects { root, home };
    }
    FileOwner::Users
}

fn started_at<'a>(entry: &'a Value, at: &[String]) -> Option<Started<'a>> {
    let (key, above) = at.split_last()?;
    let beside = above.iter().fold(entry, |value, key| &value[key]);
    let line: Vec<&Value> = match &beside[key] {
        Value::Array(line) => line.iter().collect(),
        command => {
            let arguments = beside["args"].as_array().into_iter().flatten();
            once(command).chain(arguments).collect()
        }
    };
    let (command, arguments) = line.split_first()?;
    let words = arguments.iter().filter_map(|word| word.as_str());
    Some(Started {
        command: command.as_str()?,
        arguments: words.collect(),
        key: at.first()?.clone(),
    })
}

pub(crate) fn replace(value: &mut Value, old: &str, new: &str) {
    match value {
        Value::String(text) if text == old => new.clone_into(text),
        Value::Array(list) => list.iter_mut().for_each(|one| replace(one, old, new)),
        Value::Object(map) => map.values_mut().for_each(|one| replace(one, old, new)),
        _ => {}
    }
}

pub(crate) fn is_off(entry: &Value) -> bool {
    entry["disabled"] == true || entry["enabled"] == false
}

pub(crate) fn is_server(command: &str) -> bool {
    let path = Path::new(command);
    path.file_name().is_some_and(|name| name == SERVER) && !path.is_dir()
}

#[cfg(test)]
mod tests {
    use super::{FILES, HOSTS, Host, NAME, SetupScope};
    use gemini_tools_core::client_host::ClientHost;
    use gemini_tools_test_harness::{checkout, hold_generated};
    use serde::Deserialize;
    use std::path::Path;

    /// What the book says of a host; what is not documented is empty. `run` is the version in which
    /// the facts were observed. For a host that was not run, `documentation` names the document
    /// that states them, and its month. The other facts are: when the host uses the project's
    /// settings file (`trust`), before which calls it asks the user, with and without a terminal
    /// (`asks`), what its plan mode allows (`plan`), whether its sandbox applies to the server
    /// (`sandbox`), which environment variables the server gets (`variables`), how much of a long
    /// answer the model gets, as in [`ClientHost::answer_limit`], and how long a call may take
    /// (`limits`).
    #[derive(Debug, Default, Deserialize)]
    #[serde(deny_unknown_fields, default)]
    struct HostFacts {
        run: String,
        documentation: String,
        trust: String,
        asks: String,
        plan: String,
        sandbox: String,
        variables: String,
        limits: String,
    }

    fn facts(host: &Host) -> HostFacts {
        #[derive(Deserialize)]
        struct File {
            facts: HostFacts,
        }
        let file = FILES.iter().find(|(name, _)| *name == host.name);
        let (name, text) = file.expect("a file");
        let file: File = toml::from_str(text).unwrap_or_else(|e| panic!("{name}: {e}"));
        file.facts
    }

    #[test]
    fn every_file_is_a_host_that_can_be_set_up() {
        for (name, text) in FILES {
            toml::from_str::<Host>(text).unwrap_or_else(|e| panic!("{name}: {e}"));
        }
        assert_eq!(HOSTS.len(), FILES.len());
        for host in HOSTS.iter() {
            let name = host.name;
            let facts = facts(host);
            assert_ne!(
                facts.run.is_empty(),
                facts.documentation.is_empty(),
                "{name}"
            );
            assert!(!host.user.is_empty() && !host.next.is_empty(), "{name}");
            assert!(
                host.scope == SetupScope::User || !host.project.is_empty(),
                "{name}"
            );
            let entry = host.entry("/a/serve_tools").into();
            let started = host.started(&entry).expect("a command");
            assert_eq!(started.command, "/a/serve_tools", "{name}");
            assert!(started.arguments.is_empty(), "{name}");
        }
    }

    #[test]
    fn the_facts_name_the_limits_that_are_kept_to() {
        for (name, client, models) in [
            ("claude", "claude-code", &[""][..]),
            ("cline", "@cline/core", &[""]),
            ("codex", "codex-mcp-client", &["", "gpt-6"]),
            ("copilot", "copilot-cli", &[""]),
            ("goose", "goose-cli", &[""]),
            ("kilo", "kilo", &[""]),
            ("opencode", "opencode", &[""]),
            ("qwen", "qwen-cli-mcp-client", &[""]),
        ] {
            let host = Host::find(name).expect("a host");
            for model in models {
                let client = ClientHost::find(client).expect("a client");
                let size = client.answer_limit(model).expect("a limit").size;
                let sizes = [size, size.next_multiple_of(1000)].map(|size| size.to_string());
                let limits = facts(host).limits.replace(',', "");
                assert!(
                    sizes.iter().any(|size| limits.contains(size)),
                    "{name}: {sizes:?}"
                );
            }
        }
    }

    #[test]
    fn generated_facts_are_in_the_book() {
        const PAGE: &str = "docs/other-hosts.md";
        let page = std::fs::read_to_string(checkout().join(PAGE)).expect("the page");
        // Hosts that were run come first.
        let mut hosts: Vec<&Host> = HOSTS.iter().collect();
        hosts.sort_by_key(|host| facts(host).run.is_empty());
        let known = |text: &str| {
            if text.is_empty() {
                "undocumented"
            } else {
                text
            }
            .to_owned()
        };
        let file = |paths: &[String], base: &str| match paths.first() {
            Some(path) => format!("`{base}{path}`"),
            None => "none".to_owned(),
        };
        let overview = |host: &Host| {
            let known_facts = facts(host);
            let seen = match &*known_facts.run {
                "" => format!("not run; {}", known_facts.documentation),
                version => format!("run, {version}"),
            };
            let HostFacts {
                asks, plan, limits, ..
            } = &known_facts;
            let files = [file(&host.user, "~/"), file(&host.project, "")];
            [
                vec![format!("{}, `{}`", host.title, host.name)],
                files.to_vec(),
                vec![seen],
                [asks, plan, limits].map(|text| known(text)).to_vec(),
            ]
            .concat()
        };
        let rest = |host: &Host| {
            let HostFacts {
                trust,
                sandbox,
                variables,
                ..
            } = facts(host);
            [
                vec![host.title.clone()],
                [trust, sandbox, variables]
                    .map(|text| known(&text))
                    .to_vec(),
            ]
            .concat()
        };
        let is_known = |host: &&&Host| rest(host)[1..].iter().any(|text| text != "undocumented");
        let page = with_table(
            &page,
            "| Host, `--host` | Your file | Project's file | Seen | Asks | Plan mode has | Limits of an answer and a call |",
            hosts.iter().map(|host| overview(host)),
        );
        let page = with_table(
            &page,
            "| Host | Project's file counts | Sandbox | Variables |",
            hosts.iter().filter(is_known).map(|host| rest(host)),
        );
        hold_generated(PAGE, &page);
    }

    fn with_table(page: &str, head: &str, rows: impl Iterator<Item = Vec<String>>) -> String {
        let (before, rest) = page.split_once(head).expect("the table");
        let (_, after) = rest.split_once("\n\n").expect("its end");
        let line = "|---".repeat(head.matches(" | ").count() + 1);
        let rows: Vec<String> = rows.map(|row| format!("| {} |", row.join(" | "))).collect();
        format!("{before}{head}\n{line}|\n{}\n\n{after}", rows.join("\n"))
    }

    #[test]
    fn an_entry_is_found_in_any_form_and_under_any_name() {
        let host = |name| Host::find(name).expect("a host");
        for (name, text, command, arguments) in [
            (
                "opencode",
                r#"{"mcp": {"x": {"command": ["env", "A=b", "serve_tools"]}}}"#,
                "env",
                &["A=b", "serve_tools"][..],
            ),
            (
                "cline",
                r#"{"mcpServers": {"x": {"transport": {"command": "/a/serve_tools", "args": ["b"]}}}}"#,
                "/a/serve_tools",
                &["b"],
            ),
            (
                "cline",
                r#"{"mcpServers": {"x": {"command": "serve_tools", "args": []}}}"#,
                "serve_tools",
                &[],
            ),
            (
                "goose",
                r#"{"extensions": {"x": {"cmd": "serve_tools"}}}"#,
                "serve_tools",
                &[],
            ),
            (
                "amp",
                r#"{"amp.mcpServers": {"x": {"command": "serve_tools"}}}"#,
                "serve_tools",
                &[],
            ),
        ] {
            let document = serde_json::from_str(text).expect("JSON");
            let (found, entry) = host(name).own_entry(&document).expect("an entry");
            let started = host(name).started(entry).expect("a command");
            assert_eq!(
                (found, started.command, &*started.arguments),
                ("x", command, arguments),
                "{name}"
            );
        }
        let other = serde_json::json!({"mcp": {NAME: {"command": ["other"]}}});
        assert_eq!(host("opencode").own_entry(&other), None);
        assert!(
            host("goose")
                .file(Path::new("/h"), Path::new("/p"), SetupScope::Project)
                .is_none()
        );
    }
}
