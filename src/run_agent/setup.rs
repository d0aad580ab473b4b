//! Builds a session from options, settings and environment.

use crate::run_agent::command::RunAgentOptions;
use crate::run_agent::input::Prompt;
use crate::run_agent::model::Model;
use crate::run_agent::{bad_input, show};
use crate::start::warn;
use gemini_tools::agent::at_paths;
use gemini_tools::agent::context::{self, ACKNOWLEDGEMENT};
use gemini_tools::agent::event::{Observer, SessionError};
use gemini_tools::agent::kept::KeptSessions;
use gemini_tools::agent::model_script::ScriptPlaces;
use gemini_tools::agent::pair::{CallLimits, Commands, ForeignCommands, Pair};
use gemini_tools::agent::record::{SessionRecord, StoredSession, command_to_go_on};
use gemini_tools::agent::session::{AgentSession, Listeners, Parts, SessionConfig};
use gemini_tools::approval::Gate;
use gemini_tools::approval::terminal::TerminalPrompt;
use gemini_tools::builtin;
use gemini_tools::custom::own_program::own_name;
use gemini_tools::genai::{ApiError, Content, GeminiClient, Part, deterministic, unique_id};
use gemini_tools::policy::{PolicyCall, is_about_one, is_shell, tool_of_entry};
use gemini_tools::process::signals::Signals;
use gemini_tools::session::{PolicyOptions, Project, SESSION, call_time, roots_from_env};
use gemini_tools::text::visible;
use gemini_tools::tool::{Cancellation, ErrorKind, ToolError};
use gemini_tools::trust::{ProjectTrust, TrustWatch};
use gemini_tools::variables;
use gemini_tools::workspace::{Workspace, refusal};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const DEFAULT_MODEL: &str = "gemini-2.5-pro";

const DEFAULT_SANDBOX: &str = "workspace-write";

/// If this variable is `0`, the tools of MCP servers are not used. `get_tools` reads it, too.
const MCP_VARIABLE: &str = "GEMINI_TOOLS_MCP";

pub(crate) struct Setup<'a> {
    pub(crate) options: &'a RunAgentOptions,
    id: String,
    project: Project,
    workspace: Workspace,
}

impl<'a> Setup<'a> {
    pub(crate) fn new(options: &'a RunAgentOptions) -> Result<Self, SessionError> {
        let root = std::env::current_dir()
            .map_err(|e| bad_input(format!("The current directory is gone: {e}.")))?;
        let root = std::fs::canonicalize(&root)
            .map_err(|e| bad_input(format!("The current directory can't be opened: {e}.")))?;
        let project = if options.trust {
            Project::open_trusting(&root, ProjectTrust::by_caller)
        } else {
            Project::open(&root)
        };
        let settings = &project.settings;
        if std::io::stderr().is_terminal() {
            for note in &settings.notes {
                warn(&visible(&note.text()));
            }
        }
        // As in Gemini CLI, a directory that can't be read does not prevent the use of the others.
        for path in &options.include {
            if let Err(e) = std::fs::read_dir(path) {
                warn(&format!(
                    "--include-directories {}: {e}; it is left out",
                    path.display()
                ));
            }
        }
        let mut roots = settings.include_directories.clone();
        roots.extend(more_roots(options));
        let workspace = project.workspace(&roots);
        let workspace = workspace.map_err(|e| bad_input(e.to_string()))?;
        for refused in workspace.refused_roots() {
            warn(&visible(&refusal(refused)));
        }
        Ok(Self {
            options,
            id: unique_id(),
            project,
            workspace,
        })
    }

    pub(crate) fn pair(&self, cancel: &Cancellation) -> Result<Pair, SessionError> {
        let gate = self.gate();
        if let Some(obstacle) = gate.obstacle() {
            return Err(bad_input(obstacle));
        }
        let commands = self.commands()?;
        let mut pair = Pair::discover(&commands, &self.environment()?, cancel)
            .map_err(SessionError::failed)?;
        for note in &pair.notes {
            warn(&visible(note));
        }
        for problem in gate.problems() {
            warn(&visible(&problem));
        }
        self.check_allowed(&pair)?;
        let (can_ask, none) = (terminal().is_some(), Map::new());
        // Our own discovery command leaves out what the policy denies.
        let left_out = builtin::TOOLS.iter().map(|tool| PolicyCall {
            kind: tool.info.kind,
            is_built_in: true,
            ..PolicyCall::by_name(tool.name, &none)
        });
        let declared = pair.tools().iter().map(|tool| tool.to_call(&none));
        let hidden = left_out
            .chain(declared)
            .filter(|call| !gate.shows(call, can_ask));
        let denied: Vec<(String, String)> = hidden
            .map(|call| {
                (
                    call.name.to_owned(),
                    gate.verdict(&call, can_ask).to_error().to_string(),
                )
            })
            .collect();
        for (name, reason) in denied {
            pair.deny(name, reason);
        }
        Ok(pair)
    }

    /// Refuses a name in `--allowed-tools` that no tool has. Otherwise the calls that it was meant
    /// to allow would be refused one by one. If the name begins with that of an MCP server, there
    /// is only a warning, since the server may be down.
    fn check_allowed(&self, pair: &Pair) -> Result<(), SessionError> {
        let none = Map::new();
        for entry in &self.options.allowed {
            let name = tool_of_entry(entry);
            let calls = pair.tools().iter().map(|tool| tool.to_call(&none));
            // The discovery command leaves out built-in tools that the settings exclude.
            let is_known = is_about_one(&name, calls) || builtin::find_exactly(&name).is_some();
            // Parentheses mean something only for commands, so `replace(a.txt)` would allow nothing.
            if is_shell(&name) || is_known && !entry.contains('(') {
                continue;
            }
            let entry = visible(entry);
            let mut servers = self.project.settings.mcp.servers.iter();
            if !is_known
                && uses_servers(self.options)
                && servers.any(|(server, _)| name.starts_with(&format!("{server}__")))
            {
                warn(&format!(
                    "--allowed-tools {entry}: The tool's MCP server does not declare it just now."
                ));
                continue;
            }
            let hint = pair.hint(&name);
            let what = format!("--allowed-tools {entry}: There is no such tool. {hint}");
            return Err(bad_input(what));
        }
        Ok(())
    }

    /// Returns the discovery and call commands of the session: the pair that options or settings
    /// name, and in addition our own, as Gemini CLI has its own tools in addition to discovered
    /// ones.
    fn commands(&self) -> Result<Commands, SessionError> {
        let mut arguments = Some(Vec::new());
        let mut foreign = self.foreign()?;
        if let Some(pair) = &foreign {
            // If the discovery command is our own `get_tools`, adding our own commands would list
            // the tools twice.
            let root = self.workspace.root();
            let is_own = |program: &str, name| own_name(program, root) == Some(name);
            let lists_own = is_own(&pair.discovery[0], "get_tools");
            if lists_own && is_own(&pair.call, "call_tool") {
                arguments = Some(pair.discovery[1..].to_vec());
                foreign = None;
            } else if lists_own || self.options.only_discovered {
                arguments = None;
            }
        } else if self.options.only_discovered {
            return Err(bad_input(
                "--only-discovered: There is no discovery command. Name one by \
                 --discovery-command, or by tools.discoveryCommand in the settings.",
            ));
        }
        if let Some(arguments) = &mut arguments {
            let servers = uses_servers(self.options).then_some("--mcp");
            let flags = ["--kinds", "--notes"].into_iter().chain(servers);
            // Settings that were made for Gemini CLI may contain `--mcp`, whatever is wanted here.
            arguments.retain(|word| !["--kinds", "--notes", "--mcp"].contains(&word.as_str()));
            arguments.extend(flags.map(str::to_owned));
        }
        // Without our own tools, nothing reads a kept answer.
        let kept = arguments
            .as_ref()
            .and_then(|_| self.workspace.overflow_dir());
        Ok(Commands {
            directory: own_directory(arguments.is_some())?,
            own: arguments,
            foreign,
            limits: CallLimits {
                time: call_time(),
                chars: self.project.settings.limit_chars(),
                kept,
            },
        })
    }

    fn foreign(&self) -> Result<Option<ForeignCommands>, SessionError> {
        let settings = &self.project.settings;
        let chosen = &settings.commands;
        let given = self.options.discovery.clone();
        let given = given.map(|discovery| (discovery, self.options.call.clone()));
        let settled = chosen.projects.as_ref().or(chosen.users.as_ref());
        let Some((discovery, call)) = given.as_ref().or(settled) else {
            if settings.needs_trust("tools.discoveryCommand") {
                return Err(bad_input(
                    "The project's .gemini/settings.json names its own commands for tools \
                     (tools.discoveryCommand). They would run as you: say --trust if you know \
                     them, or give --discovery-command and --call-command.",
                ));
            }
            return Ok(None);
        };
        let missing = "The settings have tools.discoveryCommand, but no tools.callCommand.";
        let call = call.as_ref().ok_or_else(|| bad_input(missing))?;
        let pair = ForeignCommands::new(discovery, call);
        pair.map(Some).map_err(SessionError::failed)
    }

    pub(crate) fn journal_session(&self) -> Option<&str> {
        let is_kept = self.project.settings.undo.enabled && self.project.home.is_some();
        is_kept.then_some(self.id.as_str())
    }

    fn environment(&self) -> Result<Vec<(String, String)>, SessionError> {
        let (options, settings) = (self.options, &self.project.settings);
        let mut added = Vec::new();
        let is_unset = variables::values("GEMINI_TOOLS_SANDBOX").is_empty();
        let default = || {
            let trusts = settings.trust.is_trusted();
            settings.sandbox.default_for_agents(DEFAULT_SANDBOX, trusts)
        };
        let sandbox = options.sandbox.clone();
        let sandbox = sandbox.or_else(|| is_unset.then(default).flatten());
        if options.trust {
            added.push(("GEMINI_CLI_TRUST_WORKSPACE".to_owned(), "true".to_owned()));
        }
        let mut set = |name: &str, value: String| added.extend(variables::for_program(name, value));
        if let Some(mode) = sandbox {
            set("GEMINI_TOOLS_SANDBOX", mode);
        }
        if !uses_servers(options) {
            set(MCP_VARIABLE, "0".to_owned());
        }
        set(SESSION, self.id.clone());
        let mode = options.approval().name().to_owned();
        set("GEMINI_TOOLS_APPROVAL_MODE", mode);
        if !options.policy.is_empty() {
            // In the variable a relative path is refused.
            let paths = options.policy.iter();
            let paths: Vec<_> = paths.map(|path| self.project.root.join(path)).collect();
            set("GEMINI_TOOLS_POLICY", joined("--policy", &paths)?);
        }
        if !options.include.is_empty() {
            let roots = joined("--include-directories", &more_roots(options))?;
            set("GEMINI_TOOLS_ROOTS", roots);
        }
        Ok(added)
    }

    fn gate(&self) -> Gate {
        let mut rules = PolicyOptions::default();
        rules.approval = Some(self.options.approval());
        rules.policy.clone_from(&self.options.policy);
        rules.allowed.clone_from(&self.options.allowed);
        self.project.gate(&self.workspace, &rules)
    }

    fn found(&self, path: &str) -> Result<(), ToolError> {
        let workspace = &self.workspace;
        let place = workspace.locate(path)?;
        workspace.stat(&place).map(drop)
    }

    /// Refuses a path in the prompt that does not exist. A word that may not be meant as a path
    /// only causes a warning.
    fn check_named(&self, path: &str) -> Result<(), SessionError> {
        let Err(e) = self.found(path) else {
            return Ok(());
        };
        let shown = visible(path);
        let begins = path.split('/').next().unwrap_or_default();
        let is_below = path != begins && self.found(begins).is_ok();
        if !is_below && !at_paths::looks_like_path(path) {
            warn(&format!(
                "There is no file @{shown}; the model gets the word as it is."
            ));
            return Ok(());
        }
        let place = self.workspace.locate(path).ok();
        let near = place.and_then(|place| self.workspace.nearest_question(&place));
        let reason = match (e.kind, near) {
            (ErrorKind::FileNotFound, Some(question)) => {
                format!("there is no such file. {}", visible(&question))
            }
            (ErrorKind::FileNotFound, None) => "there is no such file.".to_owned(),
            _ => format!("it can't be used: {}.", visible(&e.message)),
        };
        Err(bad_input(format!(
            "The prompt names @{shown}, but {reason} If no file is meant, write \\@{shown}."
        )))
    }

    pub(crate) fn message(
        &self,
        pair: &Pair,
        prompt: &Prompt,
        cancel: &Cancellation,
    ) -> Result<Vec<Part>, SessionError> {
        let text = &prompt.text;
        if text.trim().is_empty() {
            return Ok(Vec::new());
        }
        for at in at_paths::find(&prompt.written) {
            self.check_named(&at.path)?;
        }
        // Text from a pipe may contain `@` words that are not files; these are ignored.
        let paths: BTreeSet<String> = at_paths::find(text)
            .into_iter()
            .map(|at| at.path)
            .filter(|path| self.found(path).is_ok())
            .collect();
        if paths.is_empty() {
            return Ok(vec![Part::text(text)]);
        }
        let read = pair.read_files(&paths, cancel);
        let read = read.map_err(|e| match cancel.interruption() {
            Some(why) => why.into(),
            None => bad_input(format!("A file of the prompt can't be read: {e}")),
        })?;
        Ok(at_paths::message_parts(text, &read))
    }

    pub(crate) fn model(&self, scripted: Option<String>) -> String {
        let set = std::env::var("GEMINI_MODEL").ok().filter(|m| !m.is_empty());
        let given = self.options.model.clone().or(scripted).or(set);
        let model = given.or_else(|| self.project.settings.model.clone());
        model.unwrap_or_else(|| DEFAULT_MODEL.to_owned())
    }

    pub(crate) fn client(&self) -> Result<GeminiClient, SessionError> {
        GeminiClient::from_environment(self.project.home.as_deref())
            .and_then(|client| client.ok_or_else(ApiError::no_credential))
            .map_err(|e| bad_input(e.to_string()))
    }

    pub(crate) fn places(&self) -> ScriptPlaces {
        let given = std::env::var_os("PWD").map(PathBuf::from);
        let root = self.workspace.root();
        // `PWD` may be a path with links. It is used only if it names this directory.
        let given = given
            .filter(|given| std::fs::canonicalize(given).is_ok_and(|real| real.as_path() == root));
        ScriptPlaces::new(root, given.as_deref(), self.project.home.as_deref())
    }

    pub(crate) fn session<'p>(
        &self,
        pair: &'p Pair,
        signals: &Arc<Signals>,
        model: Model,
    ) -> Result<AgentSession<'p>, SessionError> {
        let options = self.options;
        let (record, stored) = self.session_file(&model.name)?;
        let named = options.session.as_deref().or(options.resume.as_deref());
        let go_on = record.is_some().then(|| command_to_go_on(named));
        let memory = context::memory(&self.workspace, &self.project.settings.context_file_names);
        for problem in &memory.problems {
            warn(&visible(problem));
        }
        let system = context::system_prompt(&self.workspace, &memory.text).map_err(bad_input)?;
        let mut observers = show::observers(options, go_on, self.journal_session());
        let foreign = self.foreign()?;
        let watch = foreign.and_then(|_| TrustWatch::begin(&self.project.settings.trust));
        observers
            .extend(watch.map(|watch| Box::new(show::TrustObserver(watch)) as Box<dyn Observer>));
        let config = SessionConfig {
            generation: generation(&model.name),
            model: model.name,
            system,
            context: vec![
                Content::user(context::environment_message(&self.workspace)),
                Content::new("model", vec![Part::text(ACKNOWLEDGEMENT)]),
            ],
            max_turns: options.max_turns.or(self.project.settings.max_turns),
            describes: show::describes(options),
        };
        let parts = Parts {
            client: model.client,
            pair,
            gate: self.gate(),
            asker: terminal().map(|mut terminal| {
                terminal.cancel = signals.cancellation().clone();
                terminal.signals = Some(Arc::clone(signals));
                terminal
            }),
            listeners: Listeners {
                observers,
                record,
                recorder: model.recorder,
                ..Listeners::default()
            },
            player: model.player,
            cancel: signals.cancellation().clone(),
        };
        Ok(AgentSession::new(parts, config, stored))
    }

    fn resumed_file(&self, kept: Option<&KeptSessions>) -> Result<Option<PathBuf>, SessionError> {
        if !self.options.continues {
            return Ok(self.options.resume.clone());
        }
        let Some(kept) = kept else {
            return Err(bad_input(
                "Without a home directory (HOME) no session is kept to go on with (--continue).",
            ));
        };
        let newest = kept.newest().ok_or_else(|| {
            bad_input("There is no session of this directory to go on with (--continue).")
        })?;
        Ok(Some(newest))
    }

    fn session_file(
        &self,
        model: &str,
    ) -> Result<(Option<SessionRecord>, StoredSession), SessionError> {
        let options = self.options;
        let is_named = options.session.is_some() || options.resume.is_some();
        let home = self.project.home.as_deref().filter(|_| !is_named);
        let kept = home.map(|home| KeptSessions::new(home, self.workspace.root()));
        if let Some(path) = self.resumed_file(kept.as_ref())? {
            let resumed = SessionRecord::resume(&path, &self.id, model);
            let (mut record, stored) = resumed.map_err(bad_input)?;
            record.best_effort = kept.is_some();
            return Ok((Some(record), stored));
        }
        let mut record = None;
        if let Some(path) = &options.session {
            record = Some(SessionRecord::create(path, &self.id, model).map_err(bad_input)?);
        } else if let Some(kept) = kept
            && !options.no_session
            // A session that a script has played is not kept, so that `--continue` does not resume
            // it.
            && options.model_script.is_none()
            // The user did not ask for a file, so a failure is ignored.
            && let Ok(path) = kept.make(&self.id)
            && let Ok(mut spare) = SessionRecord::create(&path, &self.id, model)
        {
            spare.best_effort = true;
            record = Some(spare);
        }
        Ok((record, StoredSession::new(&self.id)))
    }
}

/// Returns true if a person may be watching. One of the streams may be redirected, as in
/// `git diff | run_agent`; if all three are, the caller is a program.
fn is_person_there() -> bool {
    std::io::stdin().is_terminal()
        || std::io::stdout().is_terminal()
        || std::io::stderr().is_terminal()
}

fn terminal() -> Option<TerminalPrompt> {
    TerminalPrompt::open().filter(|_| is_person_there())
}

/// Joins the paths of an option with `:` into the value of an environment variable, from which the
/// commands of tools take them.
///
/// # Errors
///
/// Returns an error if a path contains `:` or is not UTF-8. If such a path were left out, the
/// commands would work with fewer rules or directories than this process.
fn joined(option: &str, paths: &[PathBuf]) -> Result<String, SessionError> {
    let joined = std::env::join_paths(paths).ok();
    joined
        .and_then(|joined| joined.into_string().ok())
        .ok_or_else(|| {
            bad_input(format!(
                "{option}: The commands of tools can't be told a path that contains ':' or is not \
             UTF-8. Name it by a link."
            ))
        })
}

fn uses_servers(options: &RunAgentOptions) -> bool {
    !options.no_mcp && variables::value(MCP_VARIABLE).is_none_or(|value| value != "0")
}

fn own_directory(is_needed: bool) -> Result<PathBuf, SessionError> {
    let own = std::env::current_exe().map_err(|e| {
        SessionError::failed(format!("The path of run_agent can't be found out: {e}."))
    })?;
    let directory = own.parent().unwrap_or(Path::new("/"));
    let mut names = ["get_tools", "call_tool"].into_iter();
    match names.find(|name| is_needed && !directory.join(name).is_file()) {
        None => Ok(directory.to_owned()),
        Some(name) => Err(SessionError::failed(format!(
            "{name} is not beside run_agent in {}. Install all three there, or name other \
             commands by --discovery-command and --call-command, with --only-discovered.",
            directory.display()
        ))),
    }
}

fn more_roots(options: &RunAgentOptions) -> Vec<PathBuf> {
    roots_from_env()
        .into_iter()
        .chain(options.include.iter().cloned())
        .collect()
}

/// Returns Gemini CLI's generation parameters: those of 0.8.2 for models up to 2.5, and those of
/// 0.61.0 for later ones.
fn generation(model: &str) -> Value {
    let name = model.strip_prefix("models/").unwrap_or(model);
    let mut config = deterministic();
    if name.starts_with("gemini-3") {
        config = json!({
            "temperature": 1, "topP": 0.95, "topK": 64,
            "thinkingConfig": {"includeThoughts": true, "thinkingLevel": "HIGH"},
        });
    } else if name.starts_with("gemini-2.5") {
        config["thinkingConfig"] = json!({"includeThoughts": true, "thinkingBudget": -1});
    }
    config
}
