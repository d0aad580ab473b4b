//! The lists of `settings.json` as rules: what tools there are, which need no agreement, which
//! servers are trusted.

use super::rule::{Condition, Entry, Source};
use super::{Decision, Mode, Rule, Tier};
use crate::settings::PerFile;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// What the settings say for the policy alone.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PolicySettings {
    /// `tools.confirmationRequired`: tools that ask although they are in `tools.allowed`.
    pub ask: Vec<String>,
    /// `policyPaths` of the user's file: files and directories in the place of
    /// `~/.gemini/policies`.
    pub paths: Vec<PathBuf>,
    /// `adminPolicyPaths` of the user's file.
    pub admin_paths: Vec<PathBuf>,
    /// `security.disableAlwaysAllow`.
    pub ignores_kept_answers: bool,
    /// `mcp.excluded`.
    pub excluded_servers: Vec<String>,
    /// `mcp.allowed`, and servers with `trust`.
    pub servers: PerFile<Servers>,
}

/// Servers whose tools need no agreement.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Servers {
    /// `mcp.allowed`.
    pub allowed: Vec<String>,
    /// `mcpServers.*.trust`.
    pub trusted: Vec<String>,
}

fn strings(value: Option<&Value>) -> Vec<String> {
    let list = value.and_then(Value::as_array);
    let texts = list.into_iter().flatten().filter_map(Value::as_str);
    texts.map(str::to_owned).collect()
}

impl PolicySettings {
    /// Adds what one file says.
    pub fn add(&mut self, value: &Value, is_users: bool, home: Option<&Path>) {
        let in_ = |outer: &str, inner: &str| value.get(outer).and_then(|v| v.get(inner));
        self.ask
            .extend(strings(in_("tools", "confirmationRequired")));
        self.excluded_servers
            .extend(strings(in_("mcp", "excluded")));
        self.excluded_servers
            .extend(strings(value.get("excludeMCPServers")));
        self.ignores_kept_answers |=
            in_("security", "disableAlwaysAllow") == Some(&Value::Bool(true));
        let mut allowed = strings(in_("mcp", "allowed"));
        allowed.extend(strings(value.get("allowMCPServers")));
        let servers = value.get("mcpServers").and_then(Value::as_object);
        let trusts = |server: &Value| server.get("trust") == Some(&Value::Bool(true));
        let trusted = servers.into_iter().flatten();
        let trusted = trusted
            .filter(|(_, server)| trusts(server))
            .map(|(name, _)| name.clone());
        let own = Servers {
            allowed,
            trusted: trusted.collect(),
        };
        if !is_users {
            self.servers.projects = own;
            return;
        }
        self.servers.users = own;
        let paths = |key: &str| {
            let expand = |path: String| match (path.strip_prefix("~/"), home) {
                (Some(rest), Some(home)) => home.join(rest),
                _ => PathBuf::from(path),
            };
            strings(value.get(key)).into_iter().map(expand).collect()
        };
        self.paths = paths("policyPaths");
        self.admin_paths = paths("adminPolicyPaths");
    }
}

/// What the lists of the settings and of the command line come to.
pub(super) struct Lists<'a> {
    pub(super) core: Option<&'a [String]>,
    pub(super) exclude: &'a [String],
    /// Of the user, of the command line, and of the project where it is trusted.
    pub(super) allowed: Vec<String>,
    pub(super) policy: &'a PolicySettings,
    pub(super) trusts_project: bool,
}

/// Modes in which lists of what there is and of who is trusted count. A plan has rules of its
/// own.
const BUT_FOR_PLANS: [Mode; 3] = [Mode::Default, Mode::AutoEdit, Mode::Yolo];

impl Lists<'_> {
    /// The rules, with the priorities that Gemini CLI gives them.
    pub(super) fn rules(&self) -> Vec<Rule> {
        let mut rules = Vec::new();
        for server in &self.policy.excluded_servers {
            rules.push(of_server(server, Decision::Deny, 900, "mcp.excluded"));
        }
        for entry in self.exclude {
            rules.extend(of_entry(entry, Decision::Deny, 400, "tools.exclude"));
        }
        for entry in &self.policy.ask {
            rules.extend(of_entry(
                entry,
                Decision::AskUser,
                350,
                "tools.confirmationRequired",
            ));
        }
        for entry in &self.allowed {
            rules.extend(of_entry(entry, Decision::Allow, 300, "tools.allowed"));
        }
        if let Some(core) = self.core {
            rules.push(Rule {
                tools: vec!["*".to_owned()],
                condition: Condition::NotListed(core.iter().map(|e| Entry::parse(e)).collect()),
                modes: BUT_FOR_PLANS.to_vec(),
                message: Some("It is not among what tools.core lists.".to_owned()),
                ..of("tools.core".to_owned(), Decision::Deny, 240)
            });
        }
        let project = self.trusts_project.then_some(&self.policy.servers.projects);
        for servers in std::iter::once(&self.policy.servers.users).chain(project) {
            for (names, priority, list) in [
                (&servers.trusted, 200, "mcpServers.*.trust"),
                (&servers.allowed, 100, "mcp.allowed"),
            ] {
                rules.extend(names.iter().map(|server| Rule {
                    modes: BUT_FOR_PLANS.to_vec(),
                    ..of_server(server, Decision::Allow, priority, list)
                }));
            }
        }
        rules
    }
}

fn of(text: String, decision: Decision, priority: u16) -> Rule {
    Rule {
        source: Source {
            file: Some(PathBuf::from("settings.json")),
            number: None,
            text,
        },
        ..Rule::new(decision, Tier::User, priority)
    }
}

fn of_server(server: &str, decision: Decision, priority: u16, list: &str) -> Rule {
    Rule {
        tools: vec!["*".to_owned()],
        server: Some(server.to_owned()),
        ..of(format!("{list}: {server}"), decision, priority)
    }
}

/// Entries such as `glob` and `run_shell_command(git)`. Of other tools than the one that runs
/// commands nobody knows what parentheses would mean: such an entry says nothing.
fn of_entry(entry: &str, decision: Decision, priority: u16, list: &str) -> Option<Rule> {
    let Entry { tool, prefix } = Entry::parse(entry);
    let is_shell = matches!(&*tool, "run_shell_command" | "ShellTool");
    let condition = match prefix {
        None => Condition::None,
        Some(prefix) if is_shell => Condition::Prefixes(vec![prefix]),
        Some(_) => return None,
    };
    Some(Rule {
        tools: vec![if is_shell {
            "run_shell_command".to_owned()
        } else {
            tool
        }],
        condition,
        ..of(format!("{list}: {}", entry.trim()), decision, priority)
    })
}
