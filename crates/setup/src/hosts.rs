//! The hosts that take the tools over MCP. Each is a row of data: its settings files, the entry
//! that it needs, and its behaviour in the version that was tried.
//!
//! Because they are data, a new host is a row here and a file in `tests/setup/hosts.d`, and no host
//! can be treated in a way that its row does not show. `docs/other-hosts.md` has the same table.
//! For Gemini CLI only the MCP entry is here; its two commands are handled by [`crate::init`] and
//! [`crate::doctor`].

use crate::init::{SKILLS, SetupScope};
use crate::syntax::Syntax;
#[cfg(doc)]
use gemini_tools_core::client_host::ClientHost;
use gemini_tools_environment::variables::RESTRICTING;
use gemini_tools_process::command::find_program;
use gemini_tools_workspace::file_owner::FileOwner;
use serde_json::{Map, Value};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

pub(crate) const NAME: &str = "gemini-tools";

pub(crate) const NOT_DOCUMENTED: &str = "undocumented";

/// A host that takes the tools over MCP.
#[derive(Debug, Clone, Copy)]
pub struct Host {
    /// The name on the command line.
    pub name: &'static str,
    /// The name for people.
    pub title: &'static str,
    /// The version in which the facts were observed, or the document that states them.
    pub seen: &'static str,
    pub(crate) program: &'static str,
    /// The scope of `get_tools init` unless the user chooses one.
    pub scope: SetupScope,
    pub(crate) user_file: &'static str,
    pub(crate) project_file: &'static str,
    /// An environment variable that moves the user's files to another directory: its name, the path
    /// of the settings below that directory, and the path of the skills if these move, too.
    pub(crate) moved: Option<(&'static str, &'static str, Option<&'static str>)>,
    pub(crate) skills: [&'static str; 2],
    pub(crate) servers: &'static str,
    pub(crate) syntax: Syntax,
    /// The keys that our entry needs besides `command`, as a JSON object.
    pub(crate) entry: &'static str,
    pub(crate) variables: Variables,
    /// How the user can switch off the host's questions, if that would affect its plan mode, too.
    pub(crate) unasked: Option<Unasked>,
    /// The behaviour.
    pub facts: HostFacts,
    /// What a user should do first after the set-up.
    pub next: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Variables {
    All,
    AllButKeys,
    /// Only a few of the system's variables, and those that the entry lists under this key.
    Listed(&'static str),
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Unasked {
    pub(crate) key: &'static str,
    /// A variable that makes the host run Gemini CLI's two commands without asking.
    pub(crate) variable: &'static str,
}

/// The behaviour of a host towards a server of tools.
#[derive(Debug, Clone, Copy)]
pub struct HostFacts {
    /// When the host uses the project's settings file.
    pub trust: &'static str,
    /// Before which calls it asks the user, with and without a terminal.
    pub asks: &'static str,
    /// What is allowed in the host's plan mode.
    pub plan: &'static str,
    /// Whether the host's sandbox applies to the server.
    pub sandbox: &'static str,
    /// Which environment variables the server gets.
    pub variables: &'static str,
    /// How much of a long answer the model gets, as [`ClientHost::answer_limit`] has it.
    pub answers: &'static str,
}

const USUAL: Host = Host {
    name: "",
    title: "",
    seen: "",
    program: "",
    scope: SetupScope::Project,
    user_file: "",
    project_file: "",
    moved: None,
    skills: [SKILLS, SKILLS],
    servers: "mcpServers",
    syntax: Syntax::Lenient,
    entry: "{}",
    variables: Variables::All,
    unasked: None,
    facts: HostFacts {
        trust: NOT_DOCUMENTED,
        asks: "before each call",
        plan: NOT_DOCUMENTED,
        sandbox: NOT_DOCUMENTED,
        variables: NOT_DOCUMENTED,
        answers: NOT_DOCUMENTED,
    },
    next: "",
};

pub(crate) static GEMINI: Host = Host {
    name: "gemini",
    title: "Gemini CLI",
    seen: "0.61",
    program: "gemini",
    user_file: ".gemini/settings.json",
    project_file: ".gemini/settings.json",
    syntax: Syntax::Comments,
    variables: Variables::AllButKeys,
    facts: HostFacts {
        trust: "counts in trusted folders",
        asks: "before each call; in `-p` rules decide",
        plan: "tools that read; `gemini -p` none",
        sandbox: "around the server, if in its image",
        variables: "all but keys",
        answers: "40,000 characters; more in a file",
    },
    next: "gemini; /mcp shows the server",
    ..USUAL
};

/// The hosts other than Gemini CLI, in the order in which they are listed. The last three were not
/// tried; their facts are from their manuals.
pub static HOSTS: [Host; 6] = [
    Host {
        name: "qwen",
        title: "Qwen Code",
        seen: "0.24.4",
        program: "qwen",
        scope: SetupScope::User,
        user_file: ".qwen/settings.json",
        project_file: ".qwen/settings.json",
        moved: Some(("QWEN_HOME", "settings.json", None)),
        syntax: Syntax::Comments,
        // Without this key, the model sees none of the tools until it searches for them.
        entry: r#"{"alwaysLoadTools": true}"#,
        unasked: Some(Unasked {
            key: "trust",
            variable: "QWEN_CODE_LEGACY_MCP_BLOCKING",
        }),
        facts: HostFacts {
            trust: "asks once; until then `qwen -p` needs `--yolo`",
            asks: "before each call; `qwen -p` makes those that `permissions.allow` names",
            plan: "what `permissions.allow` names",
            sandbox: "around the server, if in its image",
            variables: "all",
            answers: "25,000 characters; more in a file",
        },
        next: "qwen; qwen -p calls what permissions.allow in its settings names: mcp__gemini-tools__read_file",
        ..USUAL
    },
    Host {
        name: "claude",
        title: "Claude Code",
        seen: "2.1.332",
        program: "claude",
        user_file: ".claude.json",
        project_file: ".mcp.json",
        moved: Some(("CLAUDE_CONFIG_DIR", ".claude.json", Some("skills"))),
        skills: [".claude/skills", ".claude/skills"],
        syntax: Syntax::Json,
        facts: HostFacts {
            trust: "asks once; `claude -p` starts it unasked",
            asks: "before each call; `claude -p` makes those that `--allowedTools` names",
            plan: "tools that read",
            sandbox: "only around its own commands",
            variables: "all",
            answers: "75,000 bytes; more in a file",
        },
        next: "claude; without a terminal: claude -p 'What is in README.md?' --allowedTools mcp__gemini-tools__read_file",
        ..USUAL
    },
    Host {
        name: "codex",
        title: "Codex",
        seen: "0.171.0",
        program: "codex",
        scope: SetupScope::User,
        user_file: ".codex/config.toml",
        project_file: ".codex/config.toml",
        moved: Some(("CODEX_HOME", "config.toml", None)),
        servers: "mcp_servers",
        syntax: Syntax::Toml,
        variables: Variables::Listed("env_vars"),
        facts: HostFacts {
            trust: "counts in trusted folders",
            asks: "before what changes something or sends data out; `codex exec` refuses that",
            plan: "all; only the model is told",
            sandbox: "`--sandbox MODE` around our commands, on Linux",
            variables: "few, and `env_vars`",
            answers: "12,000 bytes, from GPT-5.5 on 48,000; more in a file",
        },
        next: "codex; codex exec only reads until you add default_tools_approval_mode = \"approve\" to the entry",
        ..USUAL
    },
    Host {
        name: "cursor",
        title: "Cursor",
        seen: "cursor.com/docs/mcp, October 2026",
        program: "cursor",
        user_file: ".cursor/mcp.json",
        project_file: ".cursor/mcp.json",
        entry: r#"{"type": "stdio"}"#,
        facts: HostFacts {
            trust: "turned on in Customize",
            ..USUAL.facts
        },
        next: "restart Cursor, and turn gemini-tools on in Customize",
        ..USUAL
    },
    Host {
        name: "vscode",
        title: "VS Code",
        seen: "code.visualstudio.com, MCP reference, 2026",
        program: "code",
        user_file: if cfg!(target_os = "macos") {
            "Library/Application Support/Code/User/mcp.json"
        } else {
            ".config/Code/User/mcp.json"
        },
        project_file: ".vscode/mcp.json",
        servers: "servers",
        entry: r#"{"type": "stdio"}"#,
        facts: HostFacts {
            trust: "asks once",
            sandbox: "with `\"sandboxEnabled\": true`",
            ..USUAL.facts
        },
        next: "MCP: List Servers in the Command Palette starts gemini-tools",
        ..USUAL
    },
    Host {
        name: "agy",
        title: "Antigravity CLI",
        seen: "antigravity.google/docs/mcp, 2026",
        program: "agy",
        scope: SetupScope::User,
        user_file: ".gemini/config/mcp_config.json",
        project_file: ".agents/mcp_config.json",
        skills: [".gemini/config/skills", SKILLS],
        facts: HostFacts {
            asks: "as `toolPermission` says",
            ..USUAL.facts
        },
        next: "restart agy; /mcp shows the server",
        ..USUAL
    },
];

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
        HOSTS.iter().find(|host| host.name == name)
    }

    pub(crate) fn file(&self, home: &Path, root: &Path, scope: SetupScope) -> PathBuf {
        match scope {
            SetupScope::Project => root.join(self.project_file),
            SetupScope::User => {
                let file = self.moved.map(|(_, file, _)| file);
                self.moved(file)
                    .unwrap_or_else(|| home.join(self.user_file))
            }
        }
    }

    pub(crate) fn skills(&self, home: &Path, root: &Path, scope: SetupScope) -> PathBuf {
        let [users, projects] = self.skills;
        match scope {
            SetupScope::Project => root.join(projects),
            SetupScope::User => {
                let skills = self.moved.and_then(|(_, _, skills)| skills);
                self.moved(skills).unwrap_or_else(|| home.join(users))
            }
        }
    }

    fn moved(&self, rest: Option<&str>) -> Option<PathBuf> {
        let (variable, ..) = self.moved?;
        let directory = std::env::var_os(variable).filter(|value| !value.is_empty())?;
        Some(Path::new(&directory).join(rest?))
    }

    /// Returns the keys that our entry needs besides `command`. If the host passes on only listed
    /// variables, they list an API key for the web tools and every variable that restricts calls.
    pub(crate) fn needs(&self) -> Map<String, Value> {
        let mut needs: Map<String, Value> = serde_json::from_str(self.entry).unwrap_or_default();
        if let Variables::Listed(key) = self.variables {
            let mut names = vec!["GEMINI_API_KEY"];
            names.extend(RESTRICTING);
            let moved = self.moved.map(|(variable, ..)| variable);
            names.extend(moved.filter(|name| std::env::var_os(name).is_some()));
            needs.insert(key.to_owned(), names.into());
        }
        needs
    }

    pub(crate) fn passes(&self, name: &str) -> bool {
        const FEW: [&str; 10] = [
            "HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER",
        ];
        match self.variables {
            Variables::All => true,
            Variables::AllButKeys => !name.contains("KEY"),
            Variables::Listed(_) => FEW.contains(&name),
        }
    }

    pub(crate) fn replaces_variables(&self) -> bool {
        self.syntax != Syntax::Toml
    }

    /// Finds the entry that starts `serve_tools`, whatever its name.
    pub(crate) fn own_entry<'a>(&self, document: &'a Value) -> Option<(&'a str, &'a Value)> {
        let servers = document[self.servers].as_object()?;
        let named = servers.get_key_value(NAME).into_iter();
        let mut all = named.chain(servers);
        let (name, entry) = all.find(|(_, entry)| is_own(entry))?;
        Some((name, entry))
    }

    /// Returns true if the host seems to be installed.
    pub fn is_installed(&self, home: &Path) -> bool {
        let program = find_program(OsStr::new(self.program)).is_some();
        program || self.file(home, home, SetupScope::User).exists()
    }
}

pub(crate) fn owner<'a>(is_projects: bool, home: &'a Path, root: &'a Path) -> FileOwner<'a> {
    if is_projects && home != root {
        let home = Some(home);
        return FileOwner::Projects { root, home };
    }
    FileOwner::Users
}

fn is_own(entry: &Value) -> bool {
    let is_it = |word: &Value| word.as_str().is_some_and(is_server);
    is_it(&entry["command"])
        || entry["args"]
            .as_array()
            .is_some_and(|args| args.iter().any(is_it))
}

pub(crate) fn is_server(command: &str) -> bool {
    let name = Path::new(command).file_stem();
    name.is_some_and(|name| name == "serve_tools")
}

#[cfg(test)]
mod tests {
    use super::{GEMINI, HOSTS, Host};
    use gemini_tools_core::client_host::ClientHost;
    use gemini_tools_test_harness::{checkout, hold_generated};

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

    #[test]
    fn the_keys_of_each_entry_are_an_object() {
        for host in HOSTS.iter().chain([&GEMINI]) {
            let entry: serde_json::Value = serde_json::from_str(host.entry).expect("JSON");
            assert!(entry.is_object(), "{}", host.name);
        }
    }

    #[test]
    fn generated_facts_are_in_the_book() {
        const PAGE: &str = "docs/other-hosts.md";
        let page = std::fs::read_to_string(checkout().join(PAGE)).expect("the page");
        let rows = HOSTS.iter().chain([&GEMINI]).map(|host| {
            let facts = host.facts.all().map(|(_, text)| text).join(" | ");
            format!("| {} ({}) | {facts} |", host.title, host.seen)
        });
        let rows = rows.collect::<Vec<_>>();
        let head = "|---|---|---|---|---|---|---|\n";
        let (before, rest) = page.split_once(head).expect("the table");
        let (_, after) = rest.split_once("\n\n").expect("its end");
        let expected = format!("{before}{head}{}\n\n{after}", rows.join("\n"));
        hold_generated(PAGE, &expected);
    }
}
