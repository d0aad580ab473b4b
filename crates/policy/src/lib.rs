//! The policy: decides which calls may run, by rules in Gemini CLI's format.
//!
//! Rules come from files ([`Policy::load`] knows where they are), from the lists of the settings,
//! and from answers of a person. They are tried on a call from the highest [`Tier`] and priority
//! down, and the first that matches decides; if none does, the kind of the tool decides. A line of
//! shell is judged as a whole and command by command, and the strictest verdict counts.
//! `docs/compatibility.md` tells where this differs from Gemini CLI.
//!
//! If there are no rules and the host itself asks its user, calls pass without being parsed, except
//! in plan mode.
//!
//! [`approval`] has the one gate that every call passes: it asks the user where one must be asked,
//! and keeps the answers.
//!
//! # Example
//!
//! ```
//! use gemini_tools_settings::settings::Settings;
//! use gemini_tools_policy::{Decision, Mode, Policy, PolicyCall, Tier};
//! use serde_json::json;
//! use std::path::Path;
//!
//! let rules = r#"
//! [[rule]]
//! toolName = "run_shell_command"
//! commandPrefix = "git"
//! decision = "allow"
//! priority = 100
//!
//! [[rule]]
//! toolName = "run_shell_command"
//! commandPrefix = "git push"
//! decision = "deny"
//! priority = 200
//! "#;
//! let texts = [(Tier::User, "user.toml".into(), rules.to_owned())];
//! let policy = Policy::from_texts(&texts, &Settings::default(), Path::new("/project"));
//!
//! let decide = |command: &str| {
//!     let args = json!({ "command": command });
//!     let args = args.as_object().expect("arguments");
//!     let call = PolicyCall::of_tool("run_shell_command", &[], args);
//!     policy.check(&call, Mode::Default, true).decision
//! };
//! assert_eq!(decide("git status"), Decision::Allow);
//! assert_eq!(decide("git status && env git push"), Decision::Deny);
//! assert_eq!(decide("npm test"), Decision::AskUser);
//! // What can't be known could be what a rule denies.
//! assert_eq!(decide("git status; $x"), Decision::Deny);
//! ```

pub mod approval;
mod arguments;
mod defaults;
mod file;
mod guard;
mod patches;
mod rule;
mod safe;
mod settings;
mod shell;
mod sources;
mod text;

pub use gemini_tools_core::tool::ApprovalMode as Mode;
pub use rule::Rule;
pub use settings::{is_about_one, tool_of_entry};
pub use shell::is_shell;
pub use sources::{PolicyOptions, mode_from_env};

use gemini_tools_builtin_tools::builtin;
use gemini_tools_core::diagnostic::Diagnostic;
use gemini_tools_core::registry::{bare_name, nearest};
use gemini_tools_core::text::show_path;
use gemini_tools_core::tool::{Kind, ServerTool, ToolError};
use gemini_tools_settings::settings::home;
use gemini_tools_settings::trust::ProjectTrust;
use rule::RuleSubject;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::iter;
use std::path::{Path, PathBuf};

/// Where a rule comes from. A rule of a higher tier wins over a rule of a lower one, whatever their
/// priorities.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// Built-in rules.
    #[default]
    Default,
    /// Rules of an extension. They may only restrict.
    Extension,
    /// Rules of the project, if it is trusted.
    Workspace,
    /// Rules of the user, including those from their settings.
    User,
    /// Rules of the administrator.
    Admin,
}

/// A decision about a call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// The call may run.
    Allow,
    /// A person must agree.
    AskUser,
    /// The call must not run.
    #[default]
    Deny,
}

impl Tier {
    /// Returns the name of the tier, as it is shown to people.
    pub fn name(self) -> &'static str {
        match self {
            Tier::Default => "default",
            Tier::Extension => "extension",
            Tier::Workspace => "workspace",
            Tier::User => "user",
            Tier::Admin => "admin",
        }
    }
}

impl Decision {
    /// Returns the name of the decision, as it is written in policy files.
    pub fn name(self) -> &'static str {
        match self {
            Decision::Allow => "allow",
            Decision::AskUser => "ask_user",
            Decision::Deny => "deny",
        }
    }
}

/// A call to be judged.
#[derive(Debug, Clone, Copy)]
pub struct PolicyCall<'a> {
    /// The tool's own name.
    pub name: &'a str,
    /// The tool's other names.
    pub aliases: &'a [&'a str],
    /// The tool on its MCP server, if it comes from one.
    pub server: Option<ServerTool<'a>>,
    /// The arguments.
    pub args: &'a Map<String, Value>,
    /// Old names of arguments, each with the present one.
    pub renamed: &'a [(&'a str, &'a str)],
    /// What the MCP server says about its tool.
    pub annotations: Option<&'a Map<String, Value>>,
    /// The kind of the tool: what it does to files, processes or the network.
    pub kind: Kind,
    /// True for a built-in tool, false for a foreign one, even if it has the same name.
    pub is_built_in: bool,
    /// True if a foreign tool of this session has the same name, and is called by it with the
    /// prefix `discovered_tool_`. A rule that allows the name with the prefix means that tool.
    pub has_namesake: bool,
}

impl<'a> PolicyCall<'a> {
    /// Returns a call of a tool about which only its names are known.
    pub fn of_tool(name: &'a str, aliases: &'a [&'a str], args: &'a Map<String, Value>) -> Self {
        Self {
            name,
            aliases,
            server: None,
            args,
            renamed: &[],
            annotations: None,
            kind: Kind::Other,
            is_built_in: false,
            has_namesake: false,
        }
    }

    /// Returns a call of the tool with this name. For a built-in tool's main name the other names
    /// of the tool and of its arguments are filled in; for an alias they are not.
    pub fn by_name(name: &'a str, args: &'a Map<String, Value>) -> Self {
        let known = builtin::find_exactly(name);
        Self {
            renamed: known.map_or(&[], |known| known.usage.renamed),
            ..Self::of_tool(name, known.map_or(&[], |known| known.info.aliases), args)
        }
    }
}

/// Returns true for the name of a built-in tool.
pub fn is_built_in(name: &str) -> bool {
    builtin::find_exactly(name).is_some()
}

/// The policy's verdict on a call, which `--explain` prints.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Verdict {
    /// The rule that decided, in one line.
    pub rule: String,
    /// The file with that rule; `None` for built-in rules, the command line and a person's answers.
    pub file: Option<PathBuf>,
    /// Where the rule comes from.
    pub tier: Tier,
    /// The priority within the tier.
    pub priority: u16,
    /// The decision.
    pub decision: Decision,
    /// Reason for a model; empty if the call may simply run.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// True if the built-in default decided, because no rule matched. If the default is to ask, a
    /// call runs without a question when its tool has nothing to confirm.
    #[serde(skip)]
    pub is_default: bool,
    /// True if the call is of a command that is known to look at files only.
    #[serde(skip)]
    only_looks: bool,
    /// The shell line as it was understood and printed anew. It runs instead of the written line,
    /// unless a person has approved the written line. `None` for other calls, and for lines that
    /// are not understood or were not parsed.
    #[serde(skip)]
    pub understood: Option<String>,
}

impl Verdict {
    /// Returns the stricter of two verdicts. A question that a rule wants is stricter than one that
    /// is dropped where the tool has nothing to confirm.
    fn or_stricter(self, other: Self) -> Self {
        let strictness = |verdict: &Self| (verdict.decision, !verdict.is_default);
        if strictness(&other) > strictness(&self) {
            other
        } else {
            self
        }
    }

    /// Returns the error for a call that may not run.
    pub fn to_error(&self) -> ToolError {
        let error = ToolError::denied(self.reason.clone());
        match &self.file {
            Some(file) => error.with_hint(format!("See {}.", show_path(file))),
            None => error,
        }
    }
}

/// The rules in force.
#[derive(Debug, Clone, Default)]
pub struct Policy {
    rules: Vec<Rule>,
    /// Set if a policy or settings file, or another source of restrictions, can't be read or has a
    /// fault. It might deny any call, so every call gets this verdict.
    unreadable: Option<Verdict>,
    /// What is wrong with files and rules.
    pub problems: Vec<Diagnostic>,
    /// The files in force, those of the highest tier first.
    pub files: Vec<PolicyFile>,
    rule_paths: Vec<PathBuf>,
    root: PathBuf,
    more_roots: Vec<PathBuf>,
    /// Whether the project is trusted. It is determined only when a rule or command depends on it,
    /// since that takes reading files.
    trust: ProjectTrust,
    /// `security.disableYoloMode`: yolo then means the default mode.
    forbids_yolo: bool,
    edits_are_agreed: bool,
    /// `security.disableAlwaysAllow`: every yes is for one call, and stored answers are ignored.
    keeps_no_answers: bool,
}

/// A policy file in force.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PolicyFile {
    /// The path.
    pub path: PathBuf,
    /// Where the file comes from.
    pub tier: Tier,
    /// The number of the file's rules that are in force. A rule that allows something is not
    /// counted if it is faulty, or if the file may only restrict.
    pub rules: usize,
}

#[derive(Clone, Copy)]
struct Inquiry<'a> {
    call: &'a PolicyCall<'a>,
    mode: Mode,
    interactive: bool,
    /// The only rule that counts of those which merely restrict; `None` if none of them counts. See
    /// [`Policy::inquiries`].
    with: Option<&'a Rule>,
}

/// Tools of Gemini CLI 0.61, almost all of which don't exist here. Rules about them are no
/// mistakes, because Gemini CLI reads the same files.
const HOST_TOOLS: &str = "\
    activate_skill ask_user cli_help codebase_investigator complete_task enter_plan_mode \
    exit_plan_mode generalist get_internal_docs invoke_agent \
    list_mcp_resources read_mcp_resource tracker_add_dependency tracker_create_task \
    tracker_get_task tracker_list_tasks tracker_update_task tracker_visualize update_topic \
    write_todos";

/// The priority of a rule that is made of a person's answer for the rest of the session, as in
/// Gemini CLI.
const ANSWER_PRIORITY: u16 = 950;

impl Policy {
    fn sort(&mut self) {
        self.rules
            .sort_by_key(|rule| std::cmp::Reverse((rule.tier, rule.priority)));
        self.files.sort_by_key(|file| std::cmp::Reverse(file.tier));
        if self.keeps_no_answers {
            self.rules.retain(|rule| !rule.source.is_kept_answer);
        }
        for file in &mut self.files {
            let is_of = |rule: &&Rule| {
                rule.tier == file.tier && rule.source.file.as_ref() == Some(&file.path)
            };
            file.rules = self.rules.iter().filter(is_of).count();
        }
    }

    /// Warns of tool names in rules and lists that are not those of a tool, but are similar to a name
    /// in `known`, and of entries that restrict more than they say. In a project's own rules any
    /// unknown name is reported; a user's rules may be about tools of other projects.
    pub fn unknown_tools(&self, known: &[String]) -> Vec<Diagnostic> {
        let mut problems: Vec<Diagnostic> = Vec::new();
        for rule in &self.rules {
            let Some(file) = &rule.source.file else {
                continue;
            };
            let key = match rule.source.number {
                Some(number) => format!("rule {number}"),
                None => rule.source.text.clone(),
            };
            if let (None, Some(fault)) = (rule.source.number, &rule.source.faults) {
                let what = format!("The entry counts as the whole tool: {fault}.");
                let problem = Diagnostic::warning("policy-rule", "", &key, what).in_file(file);
                let help = "Take the parentheses out.";
                problems.push(problem.advise("Every call of the tool is restricted.", help));
            }
            let listed: &[rule::Entry] = match &rule.condition {
                rule::Condition::NotListed(entries) => entries,
                _ => &[],
            };
            // Only an MCP server knows the names of its tools.
            let is_of_server = |name: &str| {
                rule.server.is_some() || name.starts_with("mcp_") || name.contains("__")
            };
            let listed = listed.iter().map(|entry| &entry.tool);
            for name in rule.tools.iter().chain(listed) {
                let bare = bare_name(name);
                if name.contains('*')
                    || is_of_server(name)
                    || HOST_TOOLS.split(' ').any(|tool| tool == bare)
                    || builtin::find(bare).is_some()
                    || known.iter().any(|known| known == bare)
                {
                    continue;
                }
                let spellings = known.iter().map(|known| (known.as_str(), known.as_str()));
                let near = nearest(bare, spellings);
                let what = match near.first() {
                    Some(near) => format!("No tool is called {name:?}. Did you mean {near}?"),
                    None if rule.tier == Tier::Workspace => format!("No tool is called {name:?}."),
                    None => continue,
                };
                let problem = Diagnostic::warning("rule-unknown-tool", "", &key, what);
                let problem = problem.in_file(file);
                problems.push(problem.advise(
                    "It is for no call.",
                    "Correct the name; get_tools lists the names.",
                ));
            }
        }
        problems
    }

    /// Adds directories, other than the project's, in which tools may write. A program that is
    /// found there never counts as a harmless one of the same name.
    pub fn add_roots<'r>(&mut self, roots: impl Iterator<Item = &'r Path>) {
        self.more_roots.extend(roots.map(Path::to_owned));
    }

    /// Returns true if only the built-in rules apply.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty() && self.unreadable.is_none()
    }

    /// Returns why no call may run at all, if what may restrict calls has a fault.
    pub fn obstacle(&self) -> Option<String> {
        let verdict = self.unreadable.as_ref();
        verdict.map(|verdict| verdict.reason.clone())
    }

    /// Returns true if a rule depends on what an MCP server says about its tools.
    pub fn heeds_annotations(&self) -> bool {
        self.rules.iter().any(|rule| !rule.annotations.is_empty())
    }

    /// Returns the questions of which the strictest answer is the verdict on a call. Each rule that
    /// only restricts is in a question of its own, beside one without any, so that none can hide
    /// another rule. Where a setting forbids the mode yolo, what is denied there stays denied.
    fn inquiries<'a>(
        &'a self,
        call: &'a PolicyCall<'a>,
        mode: Mode,
        interactive: bool,
    ) -> impl Iterator<Item = Inquiry<'a>> {
        let is_forbidden = mode == Mode::Yolo && self.forbids_yolo;
        let modes = if is_forbidden {
            vec![Mode::Default, Mode::Yolo]
        } else {
            vec![mode]
        };
        let counts = |rule: &&Rule| rule.is_for(call) || patches::is_patch(call);
        let restricting = self.rules.iter().filter(|rule| rule.source.only_restricts);
        let with = iter::once(None).chain(restricting.filter(counts).map(Some));
        with.flat_map(move |with| {
            modes.clone().into_iter().map(move |mode| Inquiry {
                call,
                mode,
                interactive,
                with,
            })
        })
    }

    /// Judges a call. `interactive` says that a user can be asked.
    pub fn check(&self, call: &PolicyCall<'_>, mode: Mode, interactive: bool) -> Verdict {
        if let Some(verdict) = &self.unreadable {
            return verdict.clone();
        }
        let inquiries = self.inquiries(call, mode, interactive);
        let verdicts = inquiries.map(|asked| self.judge(asked));
        verdicts.reduce(Verdict::or_stricter).unwrap_or_default()
    }

    fn judge(&self, asked: Inquiry<'_>) -> Verdict {
        let verdict = match shell::line_of(asked.call) {
            Some(line) => self.check_line(asked, line),
            None => patches::judge(self, asked),
        };
        let mut verdict = guard::ask(asked, verdict, self);
        let git = verdict
            .understood
            .as_deref()
            .filter(|line| line.starts_with("git "));
        if let Some(line) = git.filter(|_| verdict.only_looks) {
            verdict.understood = Some(format!("{} {line}", shell::READ_BY_GIT));
        }
        verdict
    }

    fn check_plain(&self, asked: Inquiry<'_>) -> Verdict {
        let texts = self.texts(asked.call, &self.meant(asked.call));
        let subject = RuleSubject::plain(asked, &texts);
        self.verdict(self.first(&subject), asked)
    }

    fn verdict(&self, rule: Option<&Rule>, asked: Inquiry<'_>) -> Verdict {
        match rule {
            Some(rule) => rule.verdict(asked.call),
            None => defaults::verdict(asked, self.edits_are_agreed),
        }
    }

    fn first(&self, subject: &RuleSubject<'_>) -> Option<&Rule> {
        self.rules.iter().find(|rule| rule.decides(subject))
    }

    /// Returns true if the model is told about a tool. A tool of which every call is denied is
    /// hidden.
    pub fn shows(&self, call: &PolicyCall<'_>, mode: Mode, interactive: bool) -> bool {
        let mut inquiries = self.inquiries(call, mode, interactive);
        inquiries.all(|asked| self.shows_in(asked))
    }

    fn shows_in(&self, asked: Inquiry<'_>) -> bool {
        let call = asked.call;
        for rule in &self.rules {
            if !rule.is_active(asked) || !rule.is_for(call) {
                continue;
            }
            match (&rule.condition, rule.decision) {
                (rule::Condition::None, decision) => return decision != Decision::Deny,
                (rule::Condition::NotListed(entries), _) => {
                    if !entries.iter().any(|entry| entry.is_for(call)) {
                        return false;
                    }
                }
                // The rule denies only calls that meet its condition, so other calls of the tool
                // may run.
                (_, Decision::Deny) => {}
                _ => return true,
            }
        }
        asked.mode != Mode::Plan || defaults::is_for_plans(call)
    }

    /// Adds a person's answer as a rule. It holds in the present mode and in modes that ask less,
    /// and does not override rules of the user or the administrator. Consent to all edits covers
    /// more than the person has seen, so it overrides no rule at all. Nothing is added if
    /// `security.disableAlwaysAllow` is set.
    pub fn grant(&mut self, agreed: SessionGrant<'_>, mode: Mode) {
        if self.keeps_no_answers {
            return;
        }
        let order = Mode::ASKING_MOST_FIRST;
        let from = order.iter().position(|m| *m == mode).unwrap_or(0);
        let (tools, server, condition, text) = match agreed {
            SessionGrant::Edits => {
                self.edits_are_agreed = true;
                return;
            }
            SessionGrant::Programs { tool, programs } => (
                vec![tool.to_owned()],
                None,
                rule::Condition::Prefixes(programs.to_vec()),
                format!("agreed to for the session: {tool}({})", programs.join(", ")),
            ),
            SessionGrant::Tool(tool) => (
                vec![tool.to_owned()],
                None,
                rule::Condition::None,
                format!("agreed to for the session: {tool}"),
            ),
            SessionGrant::Server(server) => (
                vec!["*".to_owned()],
                Some(server.to_owned()),
                rule::Condition::None,
                format!("agreed to for the session: all tools of {server}"),
            ),
        };
        self.rules.push(Rule {
            tools,
            server,
            condition,
            modes: order[from..].to_vec(),
            source: rule::Source {
                text,
                ..rule::Source::default()
            },
            ..Rule::new(Decision::Allow, Tier::Workspace, ANSWER_PRIORITY)
        });
        self.sort();
    }
}

/// What a person has allowed for the session.
#[derive(Debug, Clone, Copy)]
pub enum SessionGrant<'a> {
    /// All commands that run these programs.
    Programs {
        /// The tool that runs commands.
        tool: &'a str,
        /// The names of the programs.
        programs: &'a [String],
    },
    /// Every edit of a file by built-in tools.
    Edits,
    /// Every call of a tool.
    Tool(&'a str),
    /// Every tool of an MCP server.
    Server(&'a str),
}

impl SessionGrant<'_> {
    /// Returns what is allowed, in the words of the question to the person.
    pub fn words(self) -> &'static str {
        match self {
            SessionGrant::Programs { .. } => "these programs",
            SessionGrant::Edits => "all edits",
            SessionGrant::Tool(_) => "this tool",
            SessionGrant::Server(_) => "this server",
        }
    }
}

impl Rule {
    fn new(decision: Decision, tier: Tier, priority: u16) -> Self {
        Self {
            decision,
            tier,
            priority,
            ..Self::default()
        }
    }

    fn verdict(&self, call: &PolicyCall<'_>) -> Verdict {
        let source = &self.source;
        let reason = match (self.decision, &source.faults, &source.file) {
            (Decision::Allow, ..) => String::new(),
            (Decision::AskUser, ..) => format!("{} needs the user's approval.", call.name),
            (Decision::Deny, Some(faults), Some(file)) => format!(
                "{} may not run: invalid rule in {}: {}: {faults}.",
                call.name,
                show_path(file),
                source.text
            ),
            (Decision::Deny, ..) => format!("{} may not run: {}.", call.name, source.text),
        };
        let reason = match (self.decision, &self.message) {
            (Decision::Deny, Some(message)) => format!("{reason} {message}"),
            _ => reason,
        };
        Verdict {
            decision: self.decision,
            rule: source.text.clone(),
            file: source.file.clone(),
            tier: self.tier,
            priority: self.priority,
            reason,
            ..Verdict::default()
        }
    }
}
