//! Builds a session from options, settings and environment.

use crate::run_agent::input::Prompt;
use crate::run_agent::model::Model;
use crate::run_agent::options::RunAgentOptions;
use crate::run_agent::{bad_input, show, warn};
use gemini_tools::agent::at_paths;
use gemini_tools::agent::context::{self, ACKNOWLEDGEMENT};
use gemini_tools::agent::event::{Observer, SessionError};
use gemini_tools::agent::kept::KeptSessions;
use gemini_tools::agent::model_script::ScriptPlaces;
use gemini_tools::agent::pair::{Commands, ForeignCommands, OwnCommands, Pair};
use gemini_tools::agent::record::{SessionRecord, StoredSession};
use gemini_tools::agent::session::{AgentSession, Listeners, Parts, SessionConfig};
use gemini_tools::approval::Gate;
use gemini_tools::approval::terminal::TerminalPrompt;
use gemini_tools::builtin;
use gemini_tools::custom::own_program::own_name;
use gemini_tools::genai::{ApiError, Content, GeminiClient, Part, deterministic, unique_id};
use gemini_tools::policy::{is_about_one, is_shell, tool_of_entry};
use gemini_tools::process::signals::Signals;
use gemini_tools::registry::{hint, nearest};
use gemini_tools::session::{PolicyOptions, Project, SESSION, roots_from_env};
use gemini_tools::text::visible;
use gemini_tools::tool::{Cancellation, ErrorKind, ToolError};
use gemini_tools::trust::{ProjectTrust, TrustWatch};
use gemini_tools::variables;
use gemini_tools::workspace::{Workspace, refusal};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::env::consts::EXE_SUFFIX;
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
        pair.retain(|tool| gate.shows(&tool.to_call(&none), can_ask));
        Ok(pair)
    }

    /// Refuses a name in `--allowed-tools` that no tool has. Otherwise the calls that it was meant
    /// to allow would be refused one by one. If the name begins with that of an MCP server, there
    /// is only a warning, since the server may be down.
    fn check_allowed(&self, pair: &Pair) -> Result<(), SessionError> {
        let none = Map::new();
        for entry in &self.options.allowed {
            let name = tool_of_entry(entry);
            if is_shell(&name) {
                continue;
            }
            let calls = pair.tools().iter().map(|tool| tool.to_call(&none));
            // The discovery command leaves out built-in tools that the settings exclude.
            let is_known = is_about_one(&name, calls) || builtin::find_exactly(&name).is_some();
            let entry = visible(entry);
            if is_known {
                if entry.contains('(') {
                    return Err(bad_input(format!(
                        "--allowed-tools {entry}: Only for run_shell_command do parentheses mean \
                         something. Name the tool without them."
                    )));
                }
                continue;
            }
            let mut servers = self.project.settings.mcp.servers.iter();
            if uses_servers(self.options)
                && servers.any(|(server, _)| name.starts_with(&format!("{server}__")))
            {
                warn(&format!(
                    "--allowed-tools {entry}: The tool's MCP server does not declare it just now."
                ));
                continue;
            }
            let names = || pair.tools().iter().map(|tool| tool.name.as_str());
            let near = nearest(&name, names().map(|own| (own, own)));
            return Err(bad_input(format!(
                "--allowed-tools {entry}: There is no such tool. {}",
                hint(&near, names())
            )));
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
            let words = pair.words().map_err(SessionError::failed)?;
            let root = self.workspace.root();
            let is_own = |program: &str, name| own_name(program, root) == Some(name);
            let lists_own = is_own(&words[0], "get_tools");
            if lists_own && is_own(&pair.call, "call_tool") {
                arguments = Some(words[1..].to_vec());
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
        let directory = own_directory(arguments.is_some())?;
        let own = arguments.map(|arguments| OwnCommands {
            arguments,
            has_servers: uses_servers(self.options),
        });
        Ok(Commands {
            directory,
            own,
            foreign,
        })
    }

    fn foreign(&self) -> Result<Option<ForeignCommands>, SessionError> {
        if let (Some(discovery), Some(call)) = (&self.options.discovery, &self.options.call) {
            return Ok(Some(ForeignCommands {
                discovery: discovery.clone(),
                call: call.clone(),
            }));
        }
        let settings = &self.project.settings;
        let chosen = &settings.commands;
        let found = chosen.projects.as_ref().or(chosen.users.as_ref());
        if found.is_none() && settings.needs_trust("tools.discoveryCommand") {
            return Err(bad_input(
                "The project's .gemini/settings.json names its own commands for tools \
                 (tools.discoveryCommand). They would run as you: say --trust if you know \
                 them, or give --discovery-command and --call-command.",
            ));
        }
        match found {
            Some((discovery, Some(call))) => Ok(Some(ForeignCommands {
                discovery: discovery.clone(),
                call: call.clone(),
            })),
            Some((_, None)) => Err(bad_input(
                "The settings have tools.discoveryCommand, but no tools.callCommand.",
            )),
            None => Ok(None),
        }
    }

    pub(crate) fn journal_session(&self) -> Option<&str> {
        let is_kept = self.project.settings.undo.enabled && self.project.home.is_some();
        is_kept.then_some(self.id.as_str())
    }

    fn environment(&self) -> Result<Vec<(String, String)>, SessionError> {
        let options = self.options;
        let mut added = Vec::new();
        let is_set = !variables::values("GEMINI_TOOLS_SANDBOX").is_empty();
        let sandbox = match (&options.sandbox, is_set) {
            (Some(mode), _) => Some(mode.clone()),
            (None, true) => None,
            (None, false) => self
                .project
                .settings
                .sandbox
                .default_for_agents(DEFAULT_SANDBOX, self.project.settings.trust.is_trusted()),
        };
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
            let paths: Vec<PathBuf> = options
                .policy
                .iter()
                .map(|path| self.project.root.join(path))
                .collect();
            let policy = joined("--policy", &paths)?;
            set("GEMINI_TOOLS_POLICY", policy);
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

    fn nearest(&self, path: &str) -> Option<String> {
        let place = self.workspace.locate(path).ok()?;
        self.workspace.nearest_question(&place)
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
        let reason = match e.kind {
            ErrorKind::FileNotFound => match self.nearest(path) {
                Some(question) => format!("there is no such file. {}", visible(&question)),
                None => "there is no such file".to_owned(),
            },
            _ => format!("it can't be used: {}", visible(&e.message)),
        };
        let end = if reason.ends_with('?') { "" } else { "." };
        Err(bad_input(format!(
            "The prompt names @{shown}, but {reason}{end} If no file is meant, write \\@{shown}."
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
            None => bad_input(format!("A file of the prompt can't be read: {}", e.message)),
        })?;
        Ok(at_paths::message_parts(text, &read))
    }

    pub(crate) fn model(&self, scripted: Option<String>) -> String {
        let chosen = || std::env::var("GEMINI_MODEL").ok().filter(|m| !m.is_empty());
        let given = self.options.model.clone().or(scripted);
        given
            .or_else(chosen)
            .or_else(|| self.project.settings.model.clone())
            .unwrap_or_else(|| DEFAULT_MODEL.to_owned())
    }

    pub(crate) fn client(&self) -> Result<GeminiClient, SessionError> {
        GeminiClient::from_environment(self.project.home.as_deref())
            .and_then(|client| client.ok_or_else(ApiError::no_credential))
            .map_err(|e| SessionError::failed(e.to_string()))
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
        let kept = self.session_file(&model.name)?;
        let memory = context::memory(&self.workspace, &self.project.settings.context_file_names);
        for problem in &memory.problems {
            warn(&visible(problem));
        }
        let system = context::system_prompt(&self.workspace, &memory.text).map_err(bad_input)?;
        let mut observers = show::observers(options, kept.go_on, self.journal_session());
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
                record: kept.file,
                recorder: model.recorder,
                ..Listeners::default()
            },
            player: model.player,
            cancel: signals.cancellation().clone(),
        };
        Ok(AgentSession::new(parts, config, kept.stored))
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

    fn session_file(&self, model: &str) -> Result<SessionFile, SessionError> {
        let options = self.options;
        let named = options.session.as_ref().or(options.resume.as_ref());
        let home = self.project.home.as_deref().filter(|_| named.is_none());
        let kept = home.map(|home| KeptSessions::new(home, self.workspace.root()));
        let resumed = self.resumed_file(kept.as_ref())?;
        let go_on = named.map_or_else(
            || "run_agent --continue".to_owned(),
            |path| format!("run_agent --resume {}", quoted(path)),
        );
        if let Some(path) = resumed {
            let resumed = SessionRecord::resume(&path, &self.id, model);
            let (mut record, stored) = resumed.map_err(bad_input)?;
            record.best_effort = kept.is_some();
            return Ok(SessionFile {
                file: Some(record),
                stored,
                go_on: Some(go_on),
            });
        }
        let mut file = None;
        if let Some(path) = &options.session {
            file = Some(SessionRecord::create(path, &self.id, model).map_err(bad_input)?);
        } else if let Some(kept) = kept
            && !options.no_session
            // A session that a script has played is not kept, so that `--continue` does not resume
            // it.
            && options.model_script.is_none()
            // The user did not ask for a file, so a failure is ignored.
            && let Ok(path) = kept.make(&self.id)
            && let Ok(mut record) = SessionRecord::create(&path, &self.id, model)
        {
            record.best_effort = true;
            file = Some(record);
        }
        Ok(SessionFile {
            go_on: file.is_some().then_some(go_on),
            file,
            stored: StoredSession::new(&self.id),
        })
    }
}

struct SessionFile {
    file: Option<SessionRecord>,
    stored: StoredSession,
    go_on: Option<String>,
}

fn quoted(path: &Path) -> String {
    let text = visible(&path.to_string_lossy()).into_owned();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '_' | '-');
    if !text.is_empty() && text.chars().all(is_plain) {
        return text;
    }
    format!("'{}'", text.replace('\'', "'\\''"))
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
/// Returns an error if a path contains `:` or is not UTF-8. If it were left out, the commands would
/// work with fewer rules or directories than this process.
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

/// Returns the directory of this executable, in which `get_tools` and `call_tool` must be if their
/// tools are used.
fn own_directory(is_needed: bool) -> Result<PathBuf, SessionError> {
    let own = std::env::current_exe().map_err(|e| {
        SessionError::failed(format!("The path of run_agent can't be found out: {e}."))
    })?;
    let directory = own.parent().unwrap_or(Path::new("/")).to_owned();
    for name in ["get_tools", "call_tool"] {
        if is_needed && !directory.join(format!("{name}{EXE_SUFFIX}")).is_file() {
            return Err(SessionError::failed(format!(
                "{name} is not beside run_agent in {}. Install all three there, or name other \
                 commands by --discovery-command and --call-command, with --only-discovered.",
                directory.display()
            )));
        }
    }
    Ok(directory)
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
