//! Which calls of a session may run, by the policy, its mode, and what a person has agreed to
//! before.

use super::call::{CallRequest, ToolCall};
use super::pair::{Declared, Explanation};
use crate::builtin;
use crate::policy::{self, Agreed, Call, Decision, Policy, ServerTool};
use crate::tool::{ApprovalMode, ConfirmationDetails};
use serde_json::{Map, Value};

/// What the rules say of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It may run.
    Allow,
    /// A person must agree.
    Ask {
        /// Because a rule says so, and not only the tool's kind.
        by_rule: bool,
    },
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
    /// The call can't be shown whole, so no person can agree to it; why, for the model.
    NotShown(String),
}

impl Reply {
    /// What the answer allows besides the call that was asked about; `None` where it allows
    /// nothing more.
    pub fn agreed<'a>(&self, tool: &'a str, explanation: &'a Explanation) -> Option<Agreed<'a>> {
        match (self, explanation.confirmation.as_ref()) {
            _ if explanation.is_for_once => None,
            (Reply::Always, Some(ConfirmationDetails::Edit { .. })) => Some(Agreed::Edits),
            (Reply::Always, Some(ConfirmationDetails::Exec { root_commands, .. }))
                if policy::is_shell(tool) =>
            {
                // No program of such a command is known.
                (!root_commands.is_empty()).then_some(Agreed::Programs {
                    tool,
                    programs: root_commands,
                })
            }
            (Reply::AlwaysServer, Some(ConfirmationDetails::Mcp { server_name, .. })) => {
                Some(Agreed::Server(server_name))
            }
            (Reply::Always | Reply::AlwaysTool | Reply::AlwaysServer, _) => {
                Some(Agreed::Tool(tool))
            }
            _ => None,
        }
    }
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

/// The rules of a session.
#[derive(Debug, Clone)]
pub struct Approval {
    mode: ApprovalMode,
    policy: Policy,
    /// Whether there is somebody to ask.
    is_interactive: bool,
}

impl Approval {
    /// Rules for a mode, with or without somebody to ask.
    pub fn new(mode: ApprovalMode, policy: Policy, is_interactive: bool) -> Self {
        Self {
            mode,
            policy,
            is_interactive,
        }
    }

    /// Why no call may run at all, where a policy file can't be read.
    pub fn obstacle(&self) -> Option<String> {
        self.policy.obstacle()
    }

    /// What is wrong with the rules.
    pub fn problems(&self) -> &[String] {
        &self.policy.problems
    }

    /// Whether calls are judged by what MCP servers say of their tools.
    pub fn heeds_annotations(&self) -> bool {
        self.policy.heeds_annotations() || self.mode == ApprovalMode::Plan
    }

    /// Whether a model is shown the tool at all.
    pub fn shows(&self, tool: &Declared) -> bool {
        let args = Map::new();
        self.policy
            .shows(&of_tool(tool, &args), self.mode, self.is_interactive)
    }

    /// What the rules say before anybody has looked at what the call would do.
    pub fn first_look(&self, tool: &Declared, request: &CallRequest) -> Verdict {
        self.verdict(&of_tool(tool, &request.args))
    }

    /// The same, once it is known what the call would do: a tool that has nothing to ask about
    /// need not, unless a rule wants it to. `by_rule` is whether one does.
    pub fn second_look(
        &self,
        tool: &Declared,
        request: &CallRequest,
        by_rule: bool,
        explanation: &Explanation,
    ) -> Verdict {
        match &explanation.confirmation {
            _ if by_rule => Verdict::Ask { by_rule },
            None => Verdict::Allow,
            Some(ConfirmationDetails::Mcp {
                server_name,
                tool_name,
                ..
            }) => {
                let call = Call {
                    server: Some(ServerTool {
                        name: server_name,
                        tool: tool_name,
                    }),
                    ..of_tool(tool, &request.args)
                };
                self.verdict(&call)
            }
            Some(_) => Verdict::Ask { by_rule },
        }
    }

    fn verdict(&self, call: &Call<'_>) -> Verdict {
        let verdict = self.policy.check(call, self.mode, self.is_interactive);
        match verdict.decision {
            Decision::Allow => Verdict::Allow,
            Decision::AskUser => Verdict::Ask {
                by_rule: !verdict.rule.is_default,
            },
            Decision::Deny => Verdict::Deny(verdict.to_error().to_string()),
        }
    }

    /// Whether a person's yes can only be for the call that they are asked about.
    pub fn keeps_no_answers(&self) -> bool {
        self.policy.keeps_no_answers()
    }

    /// Keeps in mind what a person has agreed to for the session.
    pub fn remember(&mut self, reply: &Reply, tool: &Declared, explanation: &Explanation) {
        if let Some(agreed) = reply.agreed(&tool.name, explanation) {
            self.policy.remember(agreed, self.mode);
        }
    }
}

/// A call of a tool, as rules know it.
fn of_tool<'a>(tool: &'a Declared, args: &'a Map<String, Value>) -> Call<'a> {
    // A stranger's tool may have the name of one of ours: its other names say nothing then, but
    // rules for either restrict it.
    let known = builtin::known(&tool.name).filter(|known| known.name == tool.name);
    let mcp = tool.mcp.as_ref();
    let server = mcp.map(|mcp| ServerTool {
        name: &mcp.server,
        tool: &mcp.tool,
    });
    Call {
        kind: tool.kind,
        is_built_in: tool.is_built_in,
        server: server.or_else(|| ServerTool::from_name(&tool.name)),
        annotations: mcp.and_then(|mcp| mcp.annotations.as_ref()),
        renamed: known.map_or(&[], |known| known.renamed),
        ..Call::of_tool(&tool.name, known.map_or(&[], |known| known.aliases), args)
    }
}

#[cfg(test)]
mod tests {
    use super::{Approval, Reply, Verdict};
    use crate::agent::call::CallRequest;
    use crate::agent::pair::{Declared, Explanation};
    use crate::policy::Policy;
    use crate::settings::Settings;
    use crate::tool::{ApprovalMode, ConfirmationDetails, Kind, Schema};
    use serde_json::{Map, Value, json};
    use std::path::Path;

    const ASK: Verdict = Verdict::Ask { by_rule: false };

    fn tool(name: &str, kind: Kind) -> Declared {
        Declared {
            name: name.to_owned(),
            original: name.to_owned(),
            description: String::new(),
            schema: Schema::from_value(json!({"type": "object"})),
            kind,
            mcp: None,
            is_built_in: false,
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
        let mut settings = Settings::default();
        settings.allowed.users = own(allowed);
        settings.exclude = own(excluded);
        let policy = Policy::of_texts(&[], &settings, Path::new("/"));
        Approval::new(mode, policy, true)
    }

    #[test]
    fn modes_ask_for_what_they_say() {
        use ApprovalMode as M;
        let verdict = |mode, kind| approval(mode, &[], &[]).first_look(&tool("t", kind), &run(""));
        for (mode, kind, want) in [
            (M::Default, Kind::Read, Verdict::Allow),
            (M::Default, Kind::Edit, ASK),
            (M::Default, Kind::Execute, ASK),
            (M::Default, Kind::Other, ASK),
            (M::AutoEdit, Kind::Edit, Verdict::Allow),
            (M::AutoEdit, Kind::Execute, ASK),
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
        assert_eq!(look("git status; make"), ASK);
        assert_eq!(look("git status $(make)"), ASK);
        for line in ["git push", "ls; git push origin", "bash -c 'git push'"] {
            assert!(matches!(look(line), Verdict::Deny(_)), "{line}");
        }
    }

    #[test]
    fn a_rule_that_asks_is_not_outvoted_and_what_needs_no_question_is_not_asked_about() {
        let rules = approval(ApprovalMode::Default, &[], &[]);
        let nothing = Explanation::default();
        for kind in [Kind::Read, Kind::Other] {
            let tool = tool("t", kind);
            let look = |by_rule| rules.second_look(&tool, &run(""), by_rule, &nothing);
            assert_eq!(look(false), Verdict::Allow, "{kind:?}");
            assert_eq!(look(true), Verdict::Ask { by_rule: true }, "{kind:?}");
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
                runs: None,
            }),
            ..Explanation::default()
        };
        rules.remember(&Reply::Once, &shell, &exec);
        assert_eq!(rules.first_look(&shell, &run("make")), ASK);
        rules.remember(&Reply::Always, &shell, &exec);
        assert_eq!(rules.first_look(&shell, &run("make all")), Verdict::Allow);
        assert_eq!(rules.first_look(&shell, &run("make; rm x")), ASK);
        rules.remember(&Reply::AlwaysTool, &shell, &exec);
        assert_eq!(rules.first_look(&shell, &run("rm x")), Verdict::Allow);
    }
}
