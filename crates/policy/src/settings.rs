//! Turns the lists of `settings.json` into rules: which tools exist, which need no approval, which
//! servers are trusted.

use super::rule::{Condition, Entry, Source};
use super::shell::is_shell;
use super::{Decision, Mode, PolicyCall, Rule, Tier};
use gemini_tools_settings::settings::{Scope, Settings};
use std::path::PathBuf;

/// The modes in which trust in MCP servers and `mcp.allowed` count. Plan mode has its own rules.
const BUT_FOR_PLANS: [Mode; 3] = [Mode::Default, Mode::AutoEdit, Mode::Yolo];

pub(super) fn rules(settings: &Settings, allowed_tools: &[String]) -> Vec<Rule> {
    let list = |key: &str, decision: Decision, priority: u16| Rule {
        source: Source {
            file: (!key.starts_with("--")).then(|| file_of(settings, key)),
            text: key.to_owned(),
            only_restricts: decision == Decision::AskUser,
            ..Source::default()
        },
        ..Rule::new(decision, Tier::User, priority)
    };
    let mcp = &settings.mcp;
    let mut rules = Vec::new();
    let excluded = list("mcp.excluded", Decision::Deny, 900);
    rules.extend(mcp.excluded.iter().map(|s| excluded.for_server(s)));
    let allowed = &settings.allowed;
    let allowed = [&*allowed.users, &*allowed.projects].concat();
    let lists = [
        ("tools.exclude", Decision::Deny, 400, &*settings.exclude),
        (
            "tools.confirmationRequired",
            Decision::AskUser,
            350,
            &*settings.confirmation_required,
        ),
        ("--allowed-tools", Decision::Allow, 300, allowed_tools),
        ("tools.allowed", Decision::Allow, 300, &*allowed),
    ];
    for (key, decision, priority, entries) in lists {
        let list = Rule {
            reads_in_plans: decision == Decision::Allow,
            ..list(key, decision, priority)
        };
        rules.extend(entries.iter().filter_map(|entry| list.for_entry(entry)));
    }
    if let Some(core) = &settings.core {
        rules.push(Rule {
            tools: vec!["*".to_owned()],
            condition: Condition::NotListed(core.iter().map(|e| Entry::parse(e)).collect()),
            message: Some("It is not among what tools.core lists.".to_owned()),
            ..list("tools.core", Decision::Deny, 240)
        });
    }
    let trusting = list("mcpServers.*.trust", Decision::Allow, 200);
    let trusted = mcp.servers.iter().filter(|(_, server)| server.trust);
    let trusted = trusted.map(|(name, _)| trusting.for_server(name));
    let list = list("mcp.allowed", Decision::Allow, 100);
    // If a project that is not trusted sets this list, it can only take servers away.
    let is_restriction =
        settings.is_set_by("mcp.allowed", Scope::Project) && !settings.trust.is_trusted();
    let allowed = mcp.allowed.iter().flatten().filter(|_| !is_restriction);
    let servers = trusted.chain(allowed.map(|server| list.for_server(server)));
    rules.extend(servers.map(|rule| Rule {
        modes: BUT_FOR_PLANS.to_vec(),
        ..rule
    }));
    rules
}

pub(super) fn file_of(settings: &Settings, key: &str) -> PathBuf {
    let files = settings.files.iter();
    let mut setting = files.filter(|(scope, _)| settings.is_set_by(key, *scope));
    match (setting.next(), setting.next()) {
        (Some((_, path)), None) => path.clone(),
        _ => PathBuf::from("settings.json"),
    }
}

/// In these methods `self` is a rule without tools, made for a whole list of the settings. They
/// make one rule from it for each entry of the list.
impl Rule {
    fn with_entry(&self, entry: &str) -> Self {
        let mut rule = self.clone();
        rule.source.text = format!("{}: {entry}", self.source.text);
        rule
    }

    fn for_server(&self, server: &str) -> Self {
        Self {
            tools: vec!["*".to_owned()],
            server: Some(server.to_owned()),
            ..self.with_entry(server)
        }
    }

    /// Returns the rule for an entry such as `glob` or `run_shell_command(git)`. The meaning of
    /// parentheses after any other tool is unknown: such an entry allows nothing, and restricts the
    /// whole tool.
    fn for_entry(&self, entry: &str) -> Option<Self> {
        let Entry { tool, prefix } = Entry::parse(entry);
        let whole = entry.trim();
        // The prefix `discovered_tool_` stays: which tools it means is for the rule to say.
        let written = whole.split('(').next().unwrap_or_default().trim();
        let named = if is_shell(&tool) && written == tool {
            "run_shell_command"
        } else {
            written
        };
        let mut rule = self.with_entry(whole);
        rule.tools = vec![named.to_owned()];
        match prefix {
            None => {}
            Some(prefix) if is_shell(&tool) => rule.condition = Condition::Prefixes(vec![prefix]),
            Some(_) if self.decision == Decision::Allow => return None,
            Some(_) => rule.source.faults = Some("parentheses are for commands only".to_owned()),
        }
        Some(rule)
    }
}

/// Returns true if an entry of `--allowed-tools` is about the tool of one of these calls.
pub fn is_about_one<'a>(entry: &str, mut calls: impl Iterator<Item = PolicyCall<'a>>) -> bool {
    let rule = Rule::new(Decision::Allow, Tier::User, 0).for_entry(entry);
    rule.is_some_and(|rule| calls.any(|call| rule.is_for(&call)))
}

/// Returns the tool's name in an entry of `--allowed-tools`, without the parentheses.
pub fn tool_of_entry(entry: &str) -> String {
    Entry::parse(entry).tool
}

#[cfg(test)]
mod tests {
    use crate::{Decision, Mode, Policy, PolicyCall};
    use gemini_tools_settings::settings::Settings;
    use serde_json::{Map, json};
    use std::path::Path;

    fn decides(core: Option<&[&str]>, exclude: &[&str], line: &str) -> Decision {
        let own = |list: &[&str]| list.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>();
        let mut settings = Settings::default();
        settings.core = core.map(own);
        settings.exclude = own(exclude);
        let policy = Policy::from_texts(&[], &settings, Path::new("/"));
        let mut args = Map::new();
        args.insert("command".to_owned(), json!(line));
        let call = PolicyCall::of_tool("run_shell_command", &["ShellTool"], &args);
        policy.check(&call, Mode::Default, true).decision
    }

    #[test]
    fn an_allowed_tool_is_no_other_of_its_name_and_changes_nothing_in_plans() {
        let entries = [
            "write_file",
            "discovered_tool_write_file",
            "run_shell_command",
            "discovered_tool_run_shell_command",
            "run_shell_command(touch)",
            "discovered_tool_run_shell_command(touch)",
            "ShellTool",
        ];
        let mut args = Map::new();
        args.insert("command".to_owned(), json!("touch x"));
        for entry in entries {
            let mut settings = Settings::default();
            settings.allowed.users = vec![entry.to_owned()];
            let policy = Policy::from_texts(&[], &settings, Path::new("/"));
            let allows = |name: &str, has_namesake: bool, mode: Mode| {
                let call = PolicyCall {
                    has_namesake,
                    ..PolicyCall::by_name(name, &args)
                };
                policy.check(&call, mode, true).decision == Decision::Allow
            };
            let is_prefixed = entry.starts_with("discovered_tool_");
            for tool in ["write_file", "run_shell_command"] {
                let is_meant = entry.contains(tool) || entry == "ShellTool" && tool != "write_file";
                assert_eq!(
                    allows(tool, false, Mode::Default),
                    is_meant,
                    "{entry}: {tool}"
                );
                let is_sure = is_meant && !is_prefixed;
                assert_eq!(
                    allows(tool, true, Mode::Default),
                    is_sure,
                    "{entry}: {tool}"
                );
                assert!(!allows(tool, false, Mode::Plan), "{entry}: {tool}");
            }
            // Of another program's tool no commands are known, so only its whole name allows it.
            let foreign = entries[3];
            assert_eq!(
                allows(foreign, false, Mode::Default),
                entry == foreign,
                "{entry}"
            );
        }
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
        let args = Map::new();
        for (tool, decision) in [("glob", Decision::Deny), ("write_file", Decision::AskUser)] {
            let mut settings = Settings::default();
            settings.exclude = vec!["glob(x)".to_owned()];
            let policy = Policy::from_texts(&[], &settings, Path::new("/"));
            let call = PolicyCall::by_name(tool, &args);
            assert_eq!(policy.check(&call, Mode::Default, true).decision, decision);
        }
        let all = ["ShellTool(ls)", "discovered_tool_run_shell_command"];
        assert_eq!(decides(Some(&all), &[], "make"), Decision::AskUser);
    }
}
