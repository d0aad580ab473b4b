//! The lists of `settings.json` as rules: what tools there are, which need no agreement, which
//! servers are trusted.

use super::rule::{Condition, Entry, Source};
use super::{Decision, Mode, Rule, Tier};
use crate::settings::{Scope, Settings};
use std::path::PathBuf;

/// What the settings say for the policy alone. What a project may not say is not in them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct PolicySettings {
    /// `tools.confirmationRequired`: tools that ask although they are in `tools.allowed`.
    ask: Vec<String>,
    /// `mcp.excluded`.
    excluded_servers: Vec<String>,
    /// `mcp.allowed`.
    allowed_servers: Vec<String>,
    /// `mcpServers.*.trust`.
    trusted_servers: Vec<String>,
}

impl PolicySettings {
    pub(super) fn of(settings: &Settings) -> Self {
        let mcp = &settings.mcp;
        // In a project that nobody trusts this list can only take servers away.
        let is_restriction =
            settings.is_said_by("mcp.allowed", Scope::Project) && !settings.trust.is_trusted();
        let allowed = mcp.allowed.clone().filter(|_| !is_restriction);
        let trusted = mcp.servers.iter().filter(|(_, server)| server.trust);
        Self {
            ask: settings.confirmation_required.clone(),
            excluded_servers: mcp.excluded.clone(),
            allowed_servers: allowed.unwrap_or_default(),
            trusted_servers: trusted.map(|(name, _)| name.clone()).collect(),
        }
    }
}

/// What the lists of the settings and of the command line come to.
pub(super) struct Lists<'a> {
    pub(super) core: Option<&'a [String]>,
    pub(super) exclude: &'a [String],
    /// Of the user, of the command line, and of the project where it is trusted.
    pub(super) allowed: Vec<String>,
    pub(super) policy: PolicySettings,
}

/// Modes in which lists of who is trusted count. A plan has rules of its own.
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
                message: Some("It is not among what tools.core lists.".to_owned()),
                ..of("tools.core".to_owned(), Decision::Deny, 240)
            });
        }
        for (names, priority, list) in [
            (&self.policy.trusted_servers, 200, "mcpServers.*.trust"),
            (&self.policy.allowed_servers, 100, "mcp.allowed"),
        ] {
            rules.extend(names.iter().map(|server| Rule {
                modes: BUT_FOR_PLANS.to_vec(),
                ..of_server(server, Decision::Allow, priority, list)
            }));
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

#[cfg(test)]
mod tests {
    use crate::policy::{Call, Decision, Mode, Policy};
    use crate::settings::Settings;
    use serde_json::{Map, json};
    use std::path::Path;

    fn decides(core: Option<&[&str]>, exclude: &[&str], line: &str) -> Decision {
        let own = |list: &[&str]| list.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>();
        let mut settings = Settings::default();
        settings.core = core.map(own);
        settings.exclude = own(exclude);
        let policy = Policy::of_texts(&[], &settings, Path::new("/"));
        let mut args = Map::new();
        args.insert("command".to_owned(), json!(line));
        let call = Call::of_tool("run_shell_command", &["ShellTool"], &args);
        policy.check(&call, Mode::Default, true).decision
    }

    #[test]
    fn entries_with_parentheses_restrict_the_calls_of_a_tool() {
        let core = [
            "read_file",
            "ShellTool(git status)",
            "run_shell_command(ls)",
        ];
        for (line, decision) in [
            ("git status -s", Decision::AskUser),
            ("ls; git status", Decision::AskUser),
            ("git push", Decision::Deny),
            ("rm -rf x", Decision::Deny),
        ] {
            assert_eq!(decides(Some(&core), &[], line), decision, "{line}");
        }
        let exclude = ["run_shell_command( rm -rf )", "ShellTool(sudo)", "glob(x)"];
        assert_eq!(decides(None, &exclude, "sudo make"), Decision::Deny);
        assert_eq!(decides(None, &exclude, "rm x"), Decision::AskUser);
        let all = ["ShellTool(ls)", "discovered_tool_run_shell_command"];
        assert_eq!(decides(Some(&all), &[], "make"), Decision::AskUser);
    }
}
