//! The session of a project: settings, workspace, tools and rules, opened once.
//!
//! [`Session`] makes calls with them. Whether a call may run is decided by the gate of
//! `gemini-tools-policy`.

mod clock;
mod project;
mod run;

pub use clock::{Clock, WatchGuard};
pub use gemini_tools_policy::PolicyOptions;
pub use project::Project;
pub use run::Reader;

use gemini_tools_builtin_tools::builtin::{self, ToolEnv};
use gemini_tools_core::answer::to_line;
use gemini_tools_core::client_host::ClientHost;
use gemini_tools_core::diagnostic::Diagnostic;
use gemini_tools_core::registry::{ToolRegistry, bare_name};
use gemini_tools_core::tail_call::{self, TailCalls};
use gemini_tools_core::text::visible;
use gemini_tools_core::tool::{
    self, Args, Cancellation, Confirmation, Context, ErrorKind, Kind, ResultError, ServerTool,
    Tool, ToolError, ToolInvocation, ToolResult,
};
use gemini_tools_custom_tools as custom;
use gemini_tools_custom_tools::dialect::restore;
use gemini_tools_environment::variables::{self, seconds_of};
use gemini_tools_mcp::{Mcp, McpDeclaration, many, says_something_else};
use gemini_tools_policy::approval::{
    ApprovalPrompt, ApprovalQuestion, ApprovalReply, ArgumentChange, Explanation, Gate, GateError,
    GatedCall, Pass,
};
use gemini_tools_policy::{Decision, PolicyCall};
use gemini_tools_process::jobs::{Job, Jobs};
use gemini_tools_process::tree::Identity;
use gemini_tools_settings::settings::UndoSettings;
use gemini_tools_settings::trust::TrustWatch;
use gemini_tools_workspace::Workspace;
use gemini_tools_workspace::journal::{Caller, Journal, Limits};
use gemini_tools_workspace::seen::SeenFiles;
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

/// Seconds until a call ends by itself.
const TIMEOUT: &str = "GEMINI_TOOLS_TIMEOUT";

/// The variable that names the session that calls belong to.
pub const SESSION: &str = "GEMINI_TOOLS_SESSION";

/// The time limit of a call where `GEMINI_TOOLS_TIMEOUT` says nothing.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(120);

/// A person who can be asked, one question at a time.
pub type SharedPrompt = Mutex<Box<dyn ApprovalPrompt>>;

/// The options of a call.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct CallOptions<'a> {
    /// True if arguments are refused that the tool does not know.
    pub is_strict: bool,
    /// True if to say what the call would do, without doing it.
    pub is_explained: bool,
    /// True if names of arguments may be those that another API's limits have made of them.
    pub is_foreign: bool,
    /// The prompt for a person where rules want one.
    pub person: Option<&'a SharedPrompt>,
    /// Annotations of the tool's MCP server when the caller judged the call, if the caller went by
    /// them. The call is not made where the server says something else.
    pub judged: Option<&'a Map<String, Value>>,
    /// The call's id, where the caller has given it one.
    pub id: Option<&'a str>,
    /// The reader of the answer.
    pub reader: Reader,
    /// The treatment of the calls that results ask for.
    pub tail_calls: TailCalls,
    /// Tells a person of faults of MCP servers.
    pub tell: Option<fn(&str)>,
}

/// Adds the time that one call may take from now on.
#[must_use]
pub fn with_time_limit(cancel: &Cancellation) -> Cancellation {
    // What is not a number is refused where a session is opened.
    let chosen = seconds_of(TIMEOUT).ok().flatten();
    let cancel = match chosen.filter(|limit| !limit.is_zero()) {
        Some(limit) => cancel.restarted(limit),
        None => cancel.restarted_by_default(DEFAULT_TIMEOUT),
    };
    cancel.limited_by(TIMEOUT)
}

/// Returns the directories in `GEMINI_TOOLS_ROOTS`; if both of its names are set, those that both have.
pub fn roots_from_env() -> Vec<PathBuf> {
    let named = variables::values("GEMINI_TOOLS_ROOTS");
    let mut named = named.iter().map(|found| variables::paths(&found.value));
    let first = named.next().unwrap_or_default();
    named.fold(first, |mut roots, others| {
        roots.retain(|root| others.contains(root));
        roots
    })
}

/// A project's tools, and what they work with.
#[derive(Debug)]
pub struct Session {
    tool_env: ToolEnv,
    registry: ToolRegistry,
    mcp: OnceLock<Option<Arc<Mcp>>>,
    gate: Gate,
    journal: Option<Arc<Journal>>,
}

impl Session {
    /// Opens everything for the project in `root`, an absolute path without links. `more` are
    /// further roots besides those of the settings and of `GEMINI_TOOLS_ROOTS`.
    ///
    /// # Errors
    ///
    /// Returns `execution_failed` if `root` can't be opened, `invalid_tool_params` if
    /// `GEMINI_TOOLS_TIMEOUT` is not a number of seconds.
    pub fn open(root: &Path, more: &[PathBuf], rules: &PolicyOptions) -> Result<Self, ToolError> {
        Self::of_project(Project::open(root), more, rules)
    }

    /// Opens everything for a project of which the settings have been read.
    ///
    /// # Errors
    ///
    /// As [`Session::open`].
    pub fn of_project(
        project: Project,
        more: &[PathBuf],
        rules: &PolicyOptions,
    ) -> Result<Self, ToolError> {
        seconds_of(TIMEOUT)?;
        let mut roots = more.to_vec();
        roots.extend(project.settings.include_directories.iter().cloned());
        roots.extend(roots_from_env());
        let workspace = project.workspace(&roots)?.with_seen(process_memory());
        let workspace = Arc::new(workspace);
        let gate = project.gate(&workspace, rules);
        let journal = journal(&workspace, &project.settings.undo);
        workspace.seen().react(project.settings.unseen_changes);
        let tool_env = ToolEnv::new(workspace).with_settings(project.settings);
        Ok(Self {
            registry: registry(&tool_env)?,
            tool_env,
            mcp: OnceLock::new(),
            gate,
            journal,
        })
    }

    /// Returns the same session, without the MCP servers of the settings.
    #[must_use]
    pub fn without_servers(mut self) -> Self {
        self.mcp = OnceLock::from(None);
        self
    }

    /// Adds a tool of the program's own. Calls of it are judged and made as those of the other tools.
    ///
    /// # Errors
    ///
    /// Returns `invalid_tool_params` if the name is taken by a built-in tool or is not valid for the Gemini API.
    pub fn add_tool(&mut self, tool: impl Tool + 'static) -> Result<(), ToolError> {
        self.registry.register(tool)
    }

    /// Returns the same session, for an MCP client of this host. Own tools are added after that.
    ///
    /// # Errors
    ///
    /// As [`Session::open`].
    pub fn with_client_host(mut self, host: &'static ClientHost) -> Result<Self, ToolError> {
        self.tool_env = self.tool_env.with_client_host(host);
        self.registry = registry(&self.tool_env)?;
        Ok(self)
    }

    /// Has what calls read remembered for the further processes of their caller's session, and not for this process
    /// alone.
    pub fn remember_by_caller(&self) {
        if let Some(home) = self.tool_env.workspace.home() {
            self.tool_env
                .workspace
                .seen()
                .keep_below(home, &caller().session);
        }
    }

    /// Returns the environment of the tools.
    pub fn tool_env(&self) -> &ToolEnv {
        &self.tool_env
    }

    /// Returns the journal of files that tools change; `None` where the settings switch it
    /// off, or there is no home directory.
    pub fn journal(&self) -> Option<&Journal> {
        self.journal.as_deref()
    }

    /// Lists the problems of settings and rules, and what of the project is left out; for a person.
    pub fn problems(&self) -> Vec<String> {
        let (workspace, settings) = (&self.tool_env.workspace, &self.tool_env.settings);
        let ignored = settings
            .problems
            .iter()
            .map(|p| format!("Ignored {}", p.text()));
        let mut problems: Vec<String> = ignored.collect();
        problems.extend(self.gate.problems());
        problems.extend(settings.notes.iter().map(Diagnostic::text));
        let refused = workspace.refused_roots().iter();
        problems.extend(refused.map(|root| gemini_tools_workspace::refusal(root)));
        let custom = custom::Custom::open(workspace.home(), workspace.root(), &settings.trust);
        problems.extend(custom.untrusted());
        problems
    }

    /// Tells a person of the faults of MCP servers since this was last done.
    pub fn tell_notes(&self, tell: fn(&str)) {
        let mcp = self.mcp.get().and_then(Option::as_ref);
        let notes = mcp.map(|mcp| mcp.take_notes()).unwrap_or_default();
        for note in notes {
            tell(&visible(&note));
        }
    }

    /// Returns the tools that rules let a model be told of, sorted by name; those of MCP servers apart.
    /// `can_ask` is whether the user can be asked about calls.
    pub fn visible_tools(&self, can_ask: bool) -> Vec<&dyn Tool> {
        let args = Map::new();
        let is_shown = |tool: &&dyn Tool| self.gate.shows(&call_of(*tool, &args), can_ask);
        let mut tools: Vec<&dyn Tool> = self.registry.iter().filter(is_shown).collect();
        tools.sort_by(|a, b| a.name().cmp(b.name()));
        tools
    }

    /// Returns what a model is told of the tools of MCP servers, as far as rules let it be told, sorted by name: the
    /// tools, or if they are many, a search and a call.
    pub fn visible_server_tools(
        &self,
        can_ask: bool,
        cancel: &Cancellation,
    ) -> Vec<McpDeclaration> {
        let limit = self.tool_env.settings.mcp.search_above();
        many::offered(self.all_server_tools(can_ask, cancel), limit)
    }

    fn all_server_tools(&self, can_ask: bool, cancel: &Cancellation) -> Vec<McpDeclaration> {
        let tools = self.mcp().map(|mcp| mcp.list(false, cancel));
        self.visible_among(tools.unwrap_or_default(), can_ask)
    }

    /// Lists the tools of servers as far as they are known, without asking a server.
    pub fn known_server_tools(&self, can_ask: bool) -> Vec<McpDeclaration> {
        let tools = self.mcp().map(|mcp| mcp.known());
        self.visible_among(tools.unwrap_or_default(), can_ask)
    }

    fn visible_among(&self, mut tools: Vec<McpDeclaration>, can_ask: bool) -> Vec<McpDeclaration> {
        let args = Map::new();
        tools.retain(|tool| {
            let aliases = [&*tool.alias];
            let call = PolicyCall {
                server: tool.server(),
                annotations: tool.annotations.as_ref(),
                ..PolicyCall::of_tool(&tool.name, &aliases, &args)
            };
            self.gate.shows(&call, can_ask)
        });
        tools
    }

    /// Returns true if an MCP server has said that it has other tools than those last shown.
    pub fn servers_have_changed(&self) -> bool {
        let mcp = self.mcp.get().and_then(Option::as_ref);
        mcp.is_some_and(|mcp| mcp.has_changed())
    }

    /// Returns true if a tool of ours has this name, and not one of an MCP server.
    pub fn is_registered(&self, name: &str) -> bool {
        self.registry.get(name).is_some()
    }

    /// Returns the MCP servers, where the settings name any. No call of another tool needs them.
    fn mcp(&self) -> Option<&Arc<Mcp>> {
        let open = || {
            let (workspace, settings) = (&self.tool_env.workspace, &self.tool_env.settings);
            let told: Vec<_> = workspace.roots().map(Path::to_owned).collect();
            let mcp = Mcp::open(settings, workspace.home(), workspace.root(), &told)?;
            if self.gate.heeds_annotations() {
                mcp.heed_annotations();
            }
            Some(mcp)
        };
        self.mcp.get_or_init(open).as_ref()
    }

    /// Returns true if a call of this name leaves the world as it was, or fails at once.
    pub fn only_reads(&self, name: &str) -> bool {
        match self.registry.get(name) {
            Some(tool) => tool.info().is_read_only,
            None => self.mcp().is_none_or(|mcp| mcp.is_read_only(name)),
        }
    }

    /// Returns true if a name is that of the search among the tools of servers, or of the call of one, whichever `own`
    /// is: if there are servers, and no tool of the project has taken the name.
    fn means(&self, name: &str, own: &str) -> bool {
        bare_name(name) == own && !self.is_registered(name) && self.mcp().is_some()
    }

    /// Returns the tool of this name. Those of MCP servers are made when they are first asked for.
    fn find(&self, name: &str, cx: &Context) -> Result<Arc<dyn Tool>, ToolError> {
        if let Some(tool) = self.registry.find(name) {
            return Ok(Arc::clone(tool));
        }
        if self.means(name, many::SEARCH) {
            let mut tools = self.all_server_tools(true, &cx.cancel);
            tools.retain(|tool| tool.origin.is_some() && !self.is_registered(&tool.name));
            return Ok(Arc::new(many::search_tool(tools)));
        }
        if self.means(name, many::CALL) {
            return Ok(Arc::new(many::call_tool()));
        }
        if let Some(mcp) = self.mcp()
            && let Some(tool) = mcp.find(name, cx)?
        {
            return Ok(tool);
        }
        let others = self.mcp().map(|mcp| mcp.others()).unwrap_or_default();
        let error = self.registry.missing(name, &others);
        Err(custom::explain_missing(&self.tool_env, name, error))
    }

    /// Looks at the tool of this name, as [`Session::run`] would find it.
    ///
    /// # Errors
    ///
    /// Returns `tool_not_registered`, or why the tool can't be used.
    pub fn with_tool<T>(
        &self,
        name: &str,
        cx: &Context,
        look: impl FnOnce(&dyn Tool) -> T,
    ) -> Result<T, ToolError> {
        if self.means(name, many::SEARCH) {
            // What there is to find says nothing of the tool itself, and would start servers.
            return Ok(look(&many::search_tool(Vec::new())));
        }
        self.find(name, cx).map(|tool| look(&*tool))
    }

    fn call(
        &self,
        name: &str,
        mut args: Value,
        options: CallOptions<'_>,
        cx: &Context,
    ) -> Result<ToolResult, ToolError> {
        // What follows judges, limits and explains the call of the server's tool, as if it had been made by its name.
        let tool = if self.means(name, many::CALL) {
            let (wanted, its_args) = many::wanted(args)?;
            if self.is_registered(&wanted) {
                let message = format!("{wanted} is not a tool of an MCP server.");
                return Err(ToolError::invalid(message).with_hint("Call it by its name."));
            }
            args = its_args;
            self.find(&wanted, cx)?
        } else {
            self.find(name, cx)?
        };
        if let Some(judged) = options.judged {
            self.compare(&*tool, judged)?;
        }
        if options.is_foreign {
            restore(tool.parameters().value(), &mut args);
        }
        if options.is_strict {
            tool::refuse_unknown(&*tool, &Args::from_value(args.clone())?)?;
        }
        if options.is_explained {
            return self.explain(&*tool, args, options, cx);
        }
        // Only now: a call that is explained changes nothing.
        let notes = self.tool_env.workspace.finish_interrupted();
        let only_reads = tool.info().is_read_only && is_built_in(&*tool);
        let trust = &self.tool_env.settings.trust;
        let watch = (!only_reads).then(|| TrustWatch::begin(trust)).flatten();
        let mut person = options.person;
        // Edits say themselves what they write; what else changes is the work of commands.
        let runs_commands = cx.view.remembers && !(is_built_in(&*tool) && is_edit_or_read(&*tool));
        let unchanged = runs_commands.then(|| self.tool_env.workspace.seen_files());
        let find = |name: &str| self.find(name, cx);
        let treatment = options.tail_calls;
        let outcome = tail_call::execute(tool, args, cx, treatment, find, |tool, args| {
            let passed = self.pass_gate(tool, args, cx, person);
            if treatment == TailCalls::MakeUnasked {
                person = None;
            }
            passed
        });
        if let Some(watch) = watch {
            watch.end(self.has_background_commands()).map_err(|e| {
                let what =
                    "Whether the call has changed files that need trust can't be written down";
                ToolError::failed(format!("{what}: {e}."))
            })?;
        }
        if let Some(unchanged) = unchanged {
            self.tool_env.workspace.saw_changes_of(&unchanged);
        }
        with_notes(outcome, &notes)
    }

    /// Returns true if commands of the project's tools run in the background.
    fn has_background_commands(&self) -> bool {
        let jobs = self.tool_env.workspace.jobs_dir().map(Jobs::new);
        jobs.is_some_and(|jobs| jobs.list().iter().any(Job::is_running))
    }

    /// Builds a call that may run, of what the rules or a person have made of it, or says why it may not.
    fn pass_gate(
        &self,
        tool: &dyn Tool,
        mut args: Value,
        cx: &Context,
        person: Option<&SharedPrompt>,
    ) -> Result<Box<dyn ToolInvocation>, ToolError> {
        let mut asked = SessionCall {
            tool,
            args: &mut args,
            none: Map::new(),
            cx,
            person,
        };
        match self.gate.pass(&mut asked) {
            Ok(Pass { line, .. }) => {
                let mut call = asked.build()?;
                if let Some(line) = line {
                    call.set_line(line);
                }
                Ok(call)
            }
            Err(GateError::Denied(verdict)) => Err(verdict.to_error()),
            Err(refusal) => {
                if matches!(refusal, GateError::Cancelled) {
                    // By a signal, or because its time is over.
                    cx.cancel.check()?;
                }
                let why = refusal.message()?;
                Err(ToolError::denied(why))
            }
        }
    }

    /// Refuses a call that the caller has judged by something else than what the tool's server
    /// is known to say of it; from now on it also must not say something else by then.
    fn compare(&self, tool: &dyn Tool, judged: &Map<String, Value>) -> Result<(), ToolError> {
        if let Some(mcp) = self.mcp() {
            mcp.heed_annotations();
        }
        let empty = Map::new();
        let info = tool.info();
        let Some(ServerTool { name, tool }) = info.server else {
            return Ok(());
        };
        if info.annotations.unwrap_or(&empty) == judged {
            return Ok(());
        }
        Err(says_something_else(name, tool).with_hint("A new session judges its calls by that."))
    }

    /// Explains what a call would do, and what the policy says of it.
    fn explain(
        &self,
        tool: &dyn Tool,
        args: Value,
        options: CallOptions<'_>,
        cx: &Context,
    ) -> Result<ToolResult, ToolError> {
        let mut args = args;
        tool::convert(tool, &mut args);
        let args = Args::from_value(args)?;
        let verdict = self
            .gate
            .verdict(&call_of(tool, args.as_map()), options.person.is_some());
        let is_denied = verdict.decision == Decision::Deny;
        let built = tool::catch(tool.name(), || tool::build(tool, args, cx));
        let invocation = match built {
            Ok(invocation) => invocation,
            Err(_) if is_denied => return Err(verdict.to_error()),
            Err(e) => return Err(e),
        };
        let denial = is_denied.then(|| verdict.to_error().to_string());
        let confirmation = match &denial {
            Some(denial) => Confirmation::Forbidden(denial.clone()),
            None => invocation.confirmation(cx)?,
        };
        if let (None, Confirmation::Forbidden(reason)) = (&denial, &confirmation) {
            return Err(ToolError::denied(reason.as_str()));
        }
        let explanation = json!({
            "description": invocation.describe(),
            "locations": invocation.locations(),
            "confirmation": confirmation.to_json(),
            "policy": verdict,
        });
        let line = to_line(&explanation);
        let mut result = ToolResult::text(String::from_utf8_lossy(&line));
        // A document of JSON can't be cut.
        result.view.is_limited = true;
        result.error = denial.map(|message| ResultError {
            message,
            kind: Some(ErrorKind::PolicyViolation),
        });
        Ok(result)
    }
}

/// Adds what the reader of an answer must know besides.
fn with_notes(
    outcome: Result<ToolResult, ToolError>,
    notes: &[String],
) -> Result<ToolResult, ToolError> {
    match outcome {
        Ok(mut result) => {
            for note in notes {
                result.push_note(note);
                if let Some(error) = &mut result.error {
                    error.message = format!("{}\n{note}", error.message);
                }
            }
            Ok(result)
        }
        Err(mut error) => {
            for note in notes {
                error.message = format!("{}\n{note}", error.message);
            }
            Err(error)
        }
    }
}

/// Returns the built-in tools, and the user's own where they are looked for.
fn registry(tool_env: &ToolEnv) -> Result<ToolRegistry, ToolError> {
    let mut registry = ToolRegistry::default();
    builtin::register(&mut registry, tool_env)?;
    for source in custom::sources(tool_env) {
        registry.add_source(source);
    }
    Ok(registry)
}

/// Opens the journal that keeps what tools change, where the user wants that.
fn journal(workspace: &Workspace, wanted: &UndoSettings) -> Option<Arc<Journal>> {
    let home = workspace.home().filter(|_| wanted.enabled)?;
    let limits = Limits::new(wanted.max_age_days, wanted.max_megabytes);
    let journal = Journal::new(home.to_owned(), limits, &wanted.exclude, caller);
    let journal = Arc::new(journal);
    workspace.set_journal(Arc::clone(&journal));
    Some(journal)
}

/// Returns what this process has seen of files. Sessions come and go with the settings, and the conversation goes on.
fn process_memory() -> Arc<SeenFiles> {
    static SEEN: OnceLock<Arc<SeenFiles>> = OnceLock::new();
    Arc::clone(SEEN.get_or_init(Arc::default))
}

/// Returns the program and the session that make changes: the session as the environment names it, the program as the
/// process that has started this one.
fn caller() -> Caller {
    let own = || {
        let program = std::env::current_exe().ok();
        let name = program.as_deref().and_then(Path::file_stem);
        let name = name.map(|name| name.to_string_lossy().into_owned());
        (i32::try_from(std::process::id()).unwrap_or(0), name)
    };
    let (pid, name) = parent().unwrap_or_else(own);
    let program = name.unwrap_or_else(|| "unknown".to_owned());
    let chosen = gemini_tools_environment::variables::value(SESSION);
    let chosen = chosen.and_then(|id| id.into_string().ok());
    let session = chosen.unwrap_or_else(|| {
        let start = Identity::find(pid).map_or(0, |identity| identity.start_time);
        format!("{program}-{pid}-{start}")
    });
    Caller { program, session }
}

/// Returns the process that has started this one, and its name, where the system has `/proc`.
fn parent() -> Option<(i32, Option<String>)> {
    let pid = i32::try_from(std::os::unix::process::parent_id()).ok()?;
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
    Some((pid, Some(name.trim_end().to_owned())))
}

struct SessionCall<'a> {
    tool: &'a dyn Tool,
    args: &'a mut Value,
    /// Replaces arguments that are not an object: the tool refuses them later.
    none: Map<String, Value>,
    cx: &'a Context,
    person: Option<&'a SharedPrompt>,
}

impl SessionCall<'_> {
    fn args(&self) -> &Map<String, Value> {
        self.args.as_object().unwrap_or(&self.none)
    }

    fn build(&self) -> Result<Box<dyn ToolInvocation>, ToolError> {
        let args = Args::from_value(self.args.clone())?;
        tool::catch(self.tool.name(), || tool::build(self.tool, args, self.cx))
    }
}

impl GatedCall for SessionCall<'_> {
    type Error = ToolError;

    fn call(&self) -> PolicyCall<'_> {
        call_of(self.tool, self.args())
    }

    fn can_ask(&self) -> bool {
        self.person.is_some()
    }

    fn cancel(&self) -> &Cancellation {
        &self.cx.cancel
    }

    fn validate(&self) -> Result<(), ToolError> {
        match self.build() {
            Err(e) if e.kind == ErrorKind::InvalidToolParams => Err(e),
            _ => Ok(()),
        }
    }

    fn explain(&mut self) -> Result<Explanation, ToolError> {
        let invocation = self.build()?;
        let confirmation = match invocation.confirmation(self.cx)? {
            Confirmation::Forbidden(reason) => {
                return Err(ToolError::denied(reason));
            }
            Confirmation::NotNeeded => None,
            Confirmation::Ask(details) => Some(details),
            // What this version does not know is not allowed by it.
            _ => {
                return Err(ToolError::denied(
                    "The tool asks for an unknown kind of consent.",
                ));
            }
        };
        Ok(Explanation {
            description: invocation.describe(),
            locations: invocation.locations(),
            confirmation,
            is_for_once: false,
        })
    }

    fn ask(&mut self, explanation: &Explanation) -> Option<ApprovalReply> {
        // One question at a time.
        let mut person = self.person?.lock().unwrap_or_else(PoisonError::into_inner);
        // A person takes the time that they need.
        let _waiting = self.cx.cancel.wait_for_others();
        person.ask(&ApprovalQuestion {
            name: self.tool.name(),
            args: self.args(),
            explanation,
        })
    }

    fn change(&mut self, changed: ArgumentChange) -> Result<(), ToolError> {
        *self.args = Value::Object(changed.args);
        tool::convert(self.tool, self.args);
        Ok(())
    }
}

fn call_of<'a>(tool: &'a dyn Tool, args: &'a Map<String, Value>) -> PolicyCall<'a> {
    let info = tool.info();
    PolicyCall {
        name: tool.name(),
        aliases: info.aliases,
        server: info.server,
        args,
        renamed: tool.usage().renamed,
        annotations: info.annotations,
        kind: info.kind,
        // No other tool of a session can have the name of one.
        is_built_in: is_built_in(tool),
    }
}

fn is_edit_or_read(tool: &dyn Tool) -> bool {
    matches!(tool.info().kind, Kind::Edit) || tool.info().is_read_only
}

fn is_built_in(tool: &dyn Tool) -> bool {
    tool.info().server.is_none() && builtin::find_exactly(tool.name()).is_some()
}
