//! Which calls may run: the mode, the rules of the settings and of the command line, and what
//! a person has agreed to before.

use super::call::{CallRequest, ToolCall};
use super::pair::{Declared, Explanation};
use crate::commands::analyse;
use crate::tool::{ApprovalMode, ConfirmationDetails, Kind};
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// What the rules say of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It may run.
    Allow,
    /// A person must agree.
    Ask,
    /// It must not run; the reason is for the model.
    Deny(String),
}

/// What a person answers.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// Yes, this time.
    Once,
    /// Yes, and to all like it: to commands of these programs, to all edits.
    Always,
    /// Yes, and to all calls of the tool.
    AlwaysTool,
    /// Yes, and to all tools of the MCP server.
    AlwaysServer,
    /// With other arguments, which are looked at again.
    Change {
        /// All of them.
        args: Map<String, Value>,
        /// Lines that the person has added to what would be written.
        added: u64,
        /// Lines that the person has removed from it.
        removed: u64,
    },
    /// No, and the model goes on without it.
    No,
    /// No, and nothing goes on.
    Stop,
}

/// Asks a person.
pub trait Asker: Send {
    /// Shows what a call would do and gives the answer. `None` where nobody can be asked.
    fn ask(&mut self, call: &ToolCall, explanation: &Explanation) -> Option<Reply>;
}

/// Nobody is there: every question is a no.
#[derive(Debug, Clone, Copy)]
pub struct Nobody;

impl Asker for Nobody {
    fn ask(&mut self, _: &ToolCall, _: &Explanation) -> Option<Reply> {
        None
    }
}

/// A rule such as `read_file` or `run_shell_command(git status)`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Rule {
    tool: String,
    prefix: Option<String>,
}

/// The rules of a session.
#[derive(Debug, Clone)]
pub struct Approval {
    mode: ApprovalMode,
    allowed: Vec<Rule>,
    excluded: Vec<Rule>,
    /// Programs whose commands a person has agreed to for the session.
    programs: BTreeSet<String>,
    /// Tools that a person has agreed to for the session.
    tools: BTreeSet<String>,
    /// MCP servers that a person has agreed to for the session.
    servers: BTreeSet<String>,
}

/// The names that Gemini CLI's settings give the tool that runs commands.
const SHELL: [&str; 2] = ["run_shell_command", "ShellTool"];

fn rules(entries: &[String]) -> Vec<Rule> {
    let rule = |entry: &String| {
        let entry = entry.trim();
        let entry = entry.strip_prefix("discovered_tool_").unwrap_or(entry);
        match entry.split_once('(') {
            Some((tool, rest)) => Rule {
                tool: tool.trim().to_owned(),
                prefix: Some(rest.strip_suffix(')').unwrap_or(rest).trim().to_owned()),
            },
            None => Rule {
                tool: entry.to_owned(),
                prefix: None,
            },
        }
    };
    entries.iter().map(rule).collect()
}

impl Rule {
    fn is_for(&self, tool: &str) -> bool {
        self.tool == tool || SHELL.contains(&tool) && SHELL.contains(&&*self.tool)
    }
}

impl Approval {
    /// Rules of a mode, of the tools that need no question, and of those that may not run.
    pub fn new(mode: ApprovalMode, allowed: &[String], excluded: &[String]) -> Self {
        Self {
            mode,
            allowed: rules(allowed),
            excluded: rules(excluded),
            programs: BTreeSet::new(),
            tools: BTreeSet::new(),
            servers: BTreeSet::new(),
        }
    }

    /// How much is asked.
    pub fn mode(&self) -> ApprovalMode {
        self.mode
    }

    /// Whether a model is shown the tool at all.
    pub fn shows(&self, tool: &Declared) -> bool {
        let is_out = |rule: &Rule| rule.prefix.is_none() && rule.is_for(&tool.name);
        !self.excluded.iter().any(is_out)
            && (self.mode != ApprovalMode::Plan || tool.kind.is_read_only())
    }

    /// What the rules say before anybody has looked at what the call would do.
    pub fn first_look(&self, tool: &Declared, request: &CallRequest) -> Verdict {
        if !self.shows(tool) {
            let why = if self.mode == ApprovalMode::Plan {
                "While a plan is made, only tools that read may run."
            } else {
                "The settings exclude it."
            };
            return Verdict::Deny(format!("{} may not run. {why}", tool.name));
        }
        if let Some(line) = command_of(tool, request) {
            let (whole, prefixes) = self.prefixes(&self.allowed, tool);
            let (_, denied) = self.prefixes(&self.excluded, tool);
            let analysis = analyse(line);
            if let Err(why) = analysis.permitted(None, &denied) {
                return Verdict::Deny(format!("The command may not run: {why}"));
            }
            let agreed: Vec<String> = self.programs.iter().cloned().chain(prefixes).collect();
            if whole || !agreed.is_empty() && analysis.permitted(Some(&agreed), &[]).is_ok() {
                return Verdict::Allow;
            }
        } else if self.allowed.iter().any(|rule| rule.is_for(&tool.name)) {
            return Verdict::Allow;
        }
        let is_agreed = self.mode == ApprovalMode::Yolo
            || tool.kind.is_read_only()
            || self.mode == ApprovalMode::AutoEdit && tool.kind == Kind::Edit
            || self.tools.contains(&tool.name);
        if is_agreed {
            Verdict::Allow
        } else {
            Verdict::Ask
        }
    }

    /// The same, once it is known what the call would do.
    pub fn second_look(&self, tool: &Declared, explanation: &Explanation) -> Verdict {
        match &explanation.confirmation {
            None if tool.kind != Kind::Other => Verdict::Allow,
            Some(ConfirmationDetails::Mcp { server_name, .. })
                if self.servers.contains(server_name) =>
            {
                Verdict::Allow
            }
            _ => Verdict::Ask,
        }
    }

    /// Keeps in mind what a person has agreed to for the session.
    pub fn remember(&mut self, reply: &Reply, tool: &Declared, explanation: &Explanation) {
        match (reply, &explanation.confirmation) {
            (Reply::Always, Some(ConfirmationDetails::Exec { root_commands, .. })) => {
                self.programs.extend(root_commands.iter().cloned());
            }
            (Reply::Always, Some(ConfirmationDetails::Edit { .. })) => {
                self.mode = match self.mode {
                    ApprovalMode::Default => ApprovalMode::AutoEdit,
                    other => other,
                };
            }
            (Reply::AlwaysServer, Some(ConfirmationDetails::Mcp { server_name, .. })) => {
                self.servers.insert(server_name.clone());
            }
            (Reply::Always | Reply::AlwaysTool | Reply::AlwaysServer, _) => {
                self.tools.insert(tool.name.clone());
            }
            _ => {}
        }
    }

    /// Whether a rule is for the tool as a whole, and the prefixes of the others.
    fn prefixes(&self, rules: &[Rule], tool: &Declared) -> (bool, Vec<String>) {
        let own = || rules.iter().filter(|rule| rule.is_for(&tool.name));
        (
            own().any(|rule| rule.prefix.is_none()) || self.tools.contains(&tool.name),
            own().filter_map(|rule| rule.prefix.clone()).collect(),
        )
    }
}

/// The line of a call that runs one.
fn command_of<'a>(tool: &Declared, request: &'a CallRequest) -> Option<&'a str> {
    (SHELL.contains(&&*tool.name))
        .then(|| request.args.get("command").and_then(Value::as_str))
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::{Approval, Reply, Verdict};
    use crate::agent::call::CallRequest;
    use crate::agent::pair::{Declared, Explanation};
    use crate::tool::{ApprovalMode, ConfirmationDetails, Kind, Schema};
    use serde_json::{Map, Value, json};

    fn tool(name: &str, kind: Kind) -> Declared {
        Declared {
            name: name.to_owned(),
            original: name.to_owned(),
            description: String::new(),
            schema: Schema::from_value(json!({"type": "object"})),
            kind,
        }
    }

    fn run(line: &str) -> CallRequest {
        let mut args = Map::new();
        args.insert("command".to_owned(), Value::from(line));
        CallRequest {
            id: "1".to_owned(),
            name: "run_shell_command".to_owned(),
            args,
        }
    }

    fn approval(mode: ApprovalMode, allowed: &[&str], excluded: &[&str]) -> Approval {
        let own = |list: &[&str]| list.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>();
        Approval::new(mode, &own(allowed), &own(excluded))
    }

    #[test]
    fn modes_ask_for_what_they_say() {
        use ApprovalMode as M;
        let verdict = |mode, kind| approval(mode, &[], &[]).first_look(&tool("t", kind), &run(""));
        for (mode, kind, want) in [
            (M::Default, Kind::Read, Verdict::Allow),
            (M::Default, Kind::Edit, Verdict::Ask),
            (M::Default, Kind::Execute, Verdict::Ask),
            (M::Default, Kind::Other, Verdict::Ask),
            (M::AutoEdit, Kind::Edit, Verdict::Allow),
            (M::AutoEdit, Kind::Execute, Verdict::Ask),
            (M::Yolo, Kind::Execute, Verdict::Allow),
            (M::Plan, Kind::Search, Verdict::Allow),
        ] {
            assert_eq!(verdict(mode, kind), want, "{mode:?} {kind:?}");
        }
        for kind in [Kind::Edit, Kind::Execute, Kind::Other, Kind::Think] {
            assert!(
                matches!(verdict(M::Plan, kind), Verdict::Deny(_)),
                "{kind:?}"
            );
        }
    }

    #[test]
    fn rules_for_commands_count_for_every_command_of_a_line() {
        let shell = tool("run_shell_command", Kind::Execute);
        let rules = approval(
            ApprovalMode::Default,
            &["run_shell_command(git)", "ShellTool(ls)"],
            &["run_shell_command(git push)"],
        );
        let look = |line: &str| rules.first_look(&shell, &run(line));
        assert_eq!(look("git status && ls -l"), Verdict::Allow);
        assert_eq!(look("git status; make"), Verdict::Ask);
        assert_eq!(look("git status $(make)"), Verdict::Ask);
        for line in ["git push", "ls; git push origin", "bash -c 'git push'"] {
            assert!(matches!(look(line), Verdict::Deny(_)), "{line}");
        }
    }

    #[test]
    fn what_is_excluded_stays_so_in_every_mode() {
        let rules = approval(ApprovalMode::Yolo, &["t"], &["discovered_tool_t"]);
        let own = tool("t", Kind::Read);
        assert!(!rules.shows(&own));
        assert!(matches!(rules.first_look(&own, &run("")), Verdict::Deny(_)));
    }

    #[test]
    fn what_a_person_agreed_to_is_not_asked_again() {
        let shell = tool("run_shell_command", Kind::Execute);
        let mut rules = approval(ApprovalMode::Default, &[], &[]);
        let exec = Explanation {
            confirmation: Some(ConfirmationDetails::Exec {
                title: String::new(),
                command: "make".to_owned(),
                root_command: "make".to_owned(),
                root_commands: vec!["make".to_owned()],
                unresolved: Vec::new(),
            }),
            ..Explanation::default()
        };
        rules.remember(&Reply::Once, &shell, &exec);
        assert_eq!(rules.first_look(&shell, &run("make")), Verdict::Ask);
        rules.remember(&Reply::Always, &shell, &exec);
        assert_eq!(rules.first_look(&shell, &run("make all")), Verdict::Allow);
        assert_eq!(rules.first_look(&shell, &run("make; rm x")), Verdict::Ask);
        rules.remember(&Reply::AlwaysTool, &shell, &exec);
        assert_eq!(rules.first_look(&shell, &run("rm x")), Verdict::Allow);
    }
}
