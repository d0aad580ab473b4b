//! The session of a project: its settings, workspace, tools and rules, which are opened once.
//!
//! [`Session`] makes calls with them. The gate of `gemini-tools-policy` decides which may run.

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
use gemini_tools_mcp::{Catalogue, Mcp, McpDeclaration, many, says_something_else};
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
use gemini_tools_workspace::journal::{Caller, Journal, Limits, SCRIPT_RUNNERS};
use gemini_tools_workspace::seen::UnseenChanges;
use serde_json::{Map, Value, json};
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

const TIMEOUT: &str = "GEMINI_TOOLS_TIMEOUT";

/// The variable with the name of the caller's session.
pub const SESSION: &str = "GEMINI_TOOLS_SESSION";

/// The time limit of a call if `GEMINI_TOOLS_TIMEOUT` is unset or 0.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(120);

/// A way to ask a person. The lock makes sure that only one question is asked at a time.
pub type SharedPrompt = Mutex<Box<dyn ApprovalPrompt>>;

/// The options of a call.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct CallOptions<'a> {
    /// True to refuse arguments that the tool does not declare.
    pub is_strict: bool,
    /// True to explain what the call would do, without doing it.
    pub is_explained: bool,
    /// True if argument names may have been changed for another model API; they are mapped back.
    pub is_foreign: bool,
    /// The prompt by which a person is asked if the rules require that; `None` if nobody can be
    /// asked.
    pub person: Option<&'a SharedPrompt>,
    /// The annotations of a tool of an MCP server by which the caller judged the call; `None` if
    /// the caller did not use annotations. The call fails if the server declares other annotations
    /// now.
    pub judged: Option<&'a Map<String, Value>>,
    /// The call's id, if the caller has given it one.
    pub id: Option<&'a str>,
    /// The reader of the answer.
    pub reader: Reader,
    /// What happens to the further calls that results ask for.
    pub tail_calls: TailCalls,
    /// Shows a person the notes about faults of MCP servers. If it is `None`, the notes are kept
    /// for [`Session::tell_notes`].
    pub tell: Option<fn(&str)>,
    /// Gets the notes on interrupted changes that the call has completed. If it is `None`, they are
    /// added to the text of the answer, where a program could take them for the tool's.
    pub notes: Option<&'a RefCell<Vec<String>>>,
}

/// Returns a cancellation for a new call with the same signals. Its time limit counts from now:
/// `GEMINI_TOOLS_TIMEOUT` seconds, or a default of 120 s.
#[must_use]
pub fn with_time_limit(cancel: &Cancellation) -> Cancellation {
    let cancel = match chosen_time() {
        Some(limit) => cancel.restarted(limit),
        None => cancel.restarted_by_default(DEFAULT_TIMEOUT),
    };
    cancel.limited_by(TIMEOUT)
}

/// Returns how long a call may take: `GEMINI_TOOLS_TIMEOUT` seconds, or a default of 120 s.
pub fn call_time() -> Duration {
    chosen_time().unwrap_or(DEFAULT_TIMEOUT)
}

fn chosen_time() -> Option<Duration> {
    seconds_of(TIMEOUT).filter(|limit| !limit.is_zero())
}

/// Returns the directories in `GEMINI_TOOLS_ROOTS`; if `GEMINI_CLI_TOOLS_ROOTS`, the second name of
/// this variable, is set as well, those that are in both values.
pub fn roots_from_env() -> Vec<PathBuf> {
    let named = variables::values("GEMINI_TOOLS_ROOTS");
    let mut named = named.iter().map(|found| variables::paths(&found.value));
    let first = named.next().unwrap_or_default();
    named.fold(first, |mut roots, others| {
        roots.retain(|root| others.contains(root));
        roots
    })
}

/// A project's tools, with the settings, workspace and rules that they work with.
#[derive(Debug)]
pub struct Session {
    tool_env: ToolEnv,
    registry: ToolRegistry,
    mcp: OnceLock<Option<Arc<Mcp>>>,
    searched: Mutex<Arc<Catalogue>>,
    gate: Gate,
    journal: Option<Arc<Journal>>,
    unseen_changes: UnseenChanges,
}

impl Session {
    /// Opens a session for the project in `root`, an absolute path without links. `more` are
    /// further roots besides those of the settings and of `GEMINI_TOOLS_ROOTS`.
    ///
    /// # Errors
    ///
    /// Returns `execution_failed` if `root` can't be opened.
    pub fn open(root: &Path, more: &[PathBuf], rules: &PolicyOptions) -> Result<Self, ToolError> {
        Self::of_project(Project::open(root), more, rules)
    }

    /// Opens a session for a project whose settings have been read.
    ///
    /// # Errors
    ///
    /// As [`Session::open`].
    pub fn of_project(
        project: Project,
        more: &[PathBuf],
        rules: &PolicyOptions,
    ) -> Result<Self, ToolError> {
        Self::with_built_in(builtin::register, project, more, rules)
    }

    /// Opens a session that only finds and describes the tools of the project in `root`: calls of
    /// built-in tools fail. A program that opens no other session does not contain what those tools
    /// do, and is a fifth smaller.
    ///
    /// # Errors
    ///
    /// As [`Session::open`].
    pub fn describing(root: &Path) -> Result<Self, ToolError> {
        let project = Project::open(root);
        Self::with_built_in(builtin::declare, project, &[], &PolicyOptions::default())
    }

    fn with_built_in(
        register: Register,
        project: Project,
        more: &[PathBuf],
        rules: &PolicyOptions,
    ) -> Result<Self, ToolError> {
        if project.home != variables::home() {
            let message = "The project's home directory is not that of this process.";
            return Err(ToolError::failed(message));
        }
        let mut roots = more.to_vec();
        roots.extend(project.settings.include_directories.iter().cloned());
        roots.extend(roots_from_env());
        let workspace = Arc::new(project.workspace(&roots)?);
        let gate = project.gate(&workspace, rules);
        let journal = journal(&workspace, &project.settings.undo);
        let unseen_changes = project.settings.unseen_changes;
        let tool_env = ToolEnv::new(workspace).with_settings(project.settings);
        Ok(Self {
            registry: registry(register, &tool_env)?,
            tool_env,
            mcp: OnceLock::new(),
            searched: Mutex::default(),
            gate,
            journal,
            unseen_changes,
        })
    }

    /// Returns the same session, without the MCP servers of the settings.
    #[must_use]
    pub fn without_servers(mut self) -> Self {
        self.mcp = OnceLock::from(None);
        self
    }

    /// Adds a tool that the program itself implements. Its calls are judged and made like others.
    ///
    /// # Errors
    ///
    /// Returns `invalid_tool_params` if the name is taken or is not valid for the Gemini API.
    pub fn add_tool(&mut self, tool: impl Tool + 'static) -> Result<(), ToolError> {
        self.registry.register(tool)
    }

    /// Returns the same session, with tools for the MCP client `host`. Call this before
    /// [`Session::add_tool`], because it drops tools that were added.
    ///
    /// # Errors
    ///
    /// As [`Session::open`].
    pub fn with_client_host(mut self, host: &'static ClientHost) -> Result<Self, ToolError> {
        self.tool_env = self.tool_env.with_client_host(host);
        self.registry = registry(builtin::register, &self.tool_env)?;
        Ok(self)
    }

    /// Stores, in the home directory, which files calls have read, so that later processes of the
    /// same caller's session know it. Without this, only this process knows it.
    ///
    /// What a script changes between its calls, as with `sed -i`, can't be told from what somebody
    /// else changes. So under a shell or `make`, and without a session named by the environment, a
    /// change that the calls have not shown is only told and no reason to refuse.
    pub fn remember_by_caller(&mut self) {
        let (seen, caller) = (self.tool_env.workspace.seen(), caller());
        if let Some(home) = self.tool_env.workspace.home() {
            seen.keep_below(home, &caller.session);
        }
        let is_script =
            SCRIPT_RUNNERS.contains(&&*caller.program) && variables::value(SESSION).is_none();
        if is_script && self.unseen_changes == UnseenChanges::Refuse {
            self.unseen_changes = UnseenChanges::Warn;
        }
    }

    /// Returns the environment in which the tools work.
    pub fn tool_env(&self) -> &ToolEnv {
        &self.tool_env
    }

    /// Returns the journal of the files that tools change; `None` if the settings switch it off.
    pub fn journal(&self) -> Option<&Journal> {
        self.journal.as_deref()
    }

    /// Lists problems as texts for a person: faults of settings and rules, values in settings that
    /// are ignored, directories that are refused as roots, and custom tools that are left out
    /// because the project is not trusted.
    pub fn problems(&self) -> Vec<String> {
        let (workspace, settings) = (&self.tool_env.workspace, &self.tool_env.settings);
        let of_settings = settings.problems.iter().chain(&settings.notes);
        let mut problems: Vec<String> = of_settings.map(Diagnostic::text).collect();
        problems.extend(self.gate.problems());
        problems.extend(self.gate.obstacle());
        let refused = workspace.refused_roots().iter();
        problems.extend(refused.map(|root| gemini_tools_workspace::refusal(root)));
        let custom = custom::Custom::open(workspace.home(), workspace.root(), &settings.trust);
        problems.extend(custom.untrusted());
        problems
    }

    /// Shows a person the notes about faults of MCP servers since the last call of this method.
    pub fn tell_notes(&self, tell: fn(&str)) {
        let mcp = self.mcp.get().and_then(Option::as_ref);
        let notes = mcp.map(|mcp| mcp.take_notes()).unwrap_or_default();
        for note in notes {
            tell(&visible(&note));
        }
    }

    /// Returns the tools of which the rules let a model be told, sorted by name, without those of
    /// MCP servers. `can_ask` says whether a person can be asked about calls.
    pub fn visible_tools(&self, can_ask: bool) -> Vec<&dyn Tool> {
        let args = Map::new();
        let is_shown = |tool: &&dyn Tool| self.gate.shows(&call_of(*tool, &args), can_ask);
        let mut tools: Vec<&dyn Tool> = self.registry.iter().filter(is_shown).collect();
        tools.sort_by(|a, b| a.name().cmp(b.name()));
        tools
    }

    /// Returns the declarations of MCP servers' tools of which the rules let a model be told,
    /// sorted by name; if there are many tools, two tools instead that search them and call one.
    pub fn visible_server_tools(
        &self,
        can_ask: bool,
        cancel: &Cancellation,
    ) -> Vec<Arc<McpDeclaration>> {
        let limit = self.tool_env.settings.mcp.search_above();
        many::offered(self.all_server_tools(can_ask, cancel), limit)
    }

    fn all_server_tools(&self, can_ask: bool, cancel: &Cancellation) -> Vec<Arc<McpDeclaration>> {
        let tools = self.mcp().map(|mcp| mcp.list(false, cancel));
        self.visible_among(tools.unwrap_or_default(), can_ask)
    }

    /// Lists the tools of MCP servers that are known without asking a server.
    pub fn known_server_tools(&self, can_ask: bool) -> Vec<Arc<McpDeclaration>> {
        let tools = self.mcp().map(|mcp| mcp.known());
        self.visible_among(tools.unwrap_or_default(), can_ask)
    }

    fn visible_among(
        &self,
        mut tools: Vec<Arc<McpDeclaration>>,
        can_ask: bool,
    ) -> Vec<Arc<McpDeclaration>> {
        tools.retain(|tool| {
            // A registered tool takes precedence over one of a server with the same name.
            !self.is_registered(&tool.name) && as_call(tool, |call| self.gate.shows(call, can_ask))
        });
        tools
    }

    /// Returns true if an MCP server has announced a change of its tools and was not asked since.
    pub fn servers_have_changed(&self) -> bool {
        let mcp = self.mcp.get().and_then(Option::as_ref);
        mcp.is_some_and(|mcp| mcp.has_changed())
    }

    /// Returns true if a tool of the project that is not of an MCP server has this name.
    pub fn is_registered(&self, name: &str) -> bool {
        self.registry.get(name).is_some()
    }

    /// Returns the MCP servers, if the settings name any. They are opened when they are first
    /// needed, since calls of other tools do without them.
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

    /// Returns true if a call of the tool with this name changes nothing, or fails at once.
    pub fn only_reads(&self, name: &str) -> bool {
        match self.registry.get(name) {
            Some(tool) => tool.info().is_read_only,
            None => self.mcp().is_none_or(|mcp| mcp.is_read_only(name)),
        }
    }

    /// Returns true if `name` means `own`, one of the two tools that search the tools of MCP
    /// servers and call one of them. They only exist if there are MCP servers, and a registered
    /// tool of the same name takes precedence.
    fn means(&self, name: &str, own: &str) -> bool {
        bare_name(name) == own && !self.is_registered(name) && self.mcp().is_some()
    }

    fn find(&self, name: &str, cx: &Context) -> Result<Arc<dyn Tool>, ToolError> {
        if let Some(tool) = self.registry.find(name) {
            return Ok(Arc::clone(tool));
        }
        if self.means(name, many::SEARCH) {
            return Ok(Arc::new(many::search_tool(self.catalogue(&cx.cancel))));
        }
        if self.means(name, many::CALL) {
            return Ok(Arc::new(many::call_tool()));
        }
        if let Some(mcp) = self.mcp()
            && let Some(tool) = mcp.find(name, cx)?
        {
            return Ok(tool);
        }
        if let Some(obstacle) = self.gate.obstacle() {
            return Err(ToolError::denied(obstacle));
        }
        if let Some(fault) = self.fault_of_server(name) {
            return Err(ToolError::failed(format!(
                "The tool {name} can't be used. {fault}"
            )));
        }
        let others = self.mcp().map(|mcp| mcp.others()).unwrap_or_default();
        let error = self.registry.missing(name, &others);
        Err(custom::explain_missing(&self.tool_env, name, error))
    }

    /// Returns why the settings' server to which a tool of this name would belong is left out.
    fn fault_of_server(&self, name: &str) -> Option<String> {
        let settings = &self.tool_env.settings;
        let server = name.split_once("__")?.0;
        let is_its = |note: &&Diagnostic| {
            let key = note.place.key.strip_prefix("mcpServers.");
            let rest = key.and_then(|key| key.strip_prefix(server));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        let is_used = settings.mcp.servers.contains_key(server);
        let note = settings.notes.iter().find(is_its).filter(|_| !is_used)?;
        Some(note.text())
    }

    /// Returns the searchable tools of MCP servers. They are listed for each search, since a server
    /// may declare other tools by then; the index of their words is made again only if they differ.
    fn catalogue(&self, cancel: &Cancellation) -> Arc<Catalogue> {
        let mut tools = self.all_server_tools(true, cancel);
        tools.retain(|tool| tool.origin.is_some());
        let mut searched = self.searched.lock().unwrap_or_else(PoisonError::into_inner);
        if searched.tools != tools {
            *searched = Arc::new(Catalogue::new(tools));
        }
        Arc::clone(&searched)
    }

    /// Calls `look` with the tool of this name, as [`Session::run`] would find it.
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
            // Listing the tools to be found would start servers, and `look` doesn't need them.
            return Ok(look(&many::search_tool(Arc::default())));
        }
        self.find(name, cx).map(|tool| look(&*tool))
    }

    fn call(
        &self,
        name: &str,
        mut args: Value,
        options: CallOptions<'_>,
        cx: &Context,
        notes: &mut Vec<String>,
    ) -> Result<ToolResult, ToolError> {
        self.tool_env.workspace.check_roots()?;
        // A call of the tool that calls MCP servers' tools is replaced by a call of the tool that
        // it names.
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
        // Finishing interrupted changes writes files, which explaining a call must not do.
        *notes = self.tool_env.workspace.finish_interrupted();
        let only_reads = tool.info().is_read_only && is_built_in(&*tool);
        let trust = &self.tool_env.settings.trust;
        // A call that can't run changes nothing. If it was watched, a rule file that can't be read
        // would count as changed, which ends the trust in the project, and with it what its rules
        // forbid: the next call would run.
        let may_change = !only_reads && self.gate.obstacle().is_none();
        let mut watch = may_change.then(|| TrustWatch::begin(trust)).flatten();
        let mut person = options.person;
        // Built-in tools that read or edit files record themselves which ones. Any other tool may
        // change more files, so the files that were seen before are compared afterwards.
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
        if let Some(watch) = &mut watch {
            watch.end(self.has_background_commands()).map_err(|e| {
                let what =
                    "Whether the call has changed files that need trust can't be written down";
                ToolError::failed(format!("{what}: {e}."))
            })?;
        }
        if let Some(unchanged) = unchanged {
            self.tool_env.workspace.saw_changes_of(&unchanged);
        }
        outcome
    }

    fn has_background_commands(&self) -> bool {
        let jobs = self.tool_env.workspace.jobs_dir().map(Jobs::new);
        jobs.is_some_and(|jobs| jobs.list().iter().any(Job::is_running))
    }

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
                    // The call was cancelled by a signal, or its time is over.
                    cx.cancel.check()?;
                }
                let why = refusal.message()?;
                Err(ToolError::denied(why))
            }
        }
    }

    /// Refuses a call of an MCP server's tool if the annotations by which the caller judged it
    /// differ from those that the server is known to declare. Also makes the call fail if the
    /// server turns out to declare other annotations when the call is made.
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
        let invocation = match tool::build(tool, args, cx) {
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
        // This exempts the text from the limit of answers: it is JSON, and would not be valid if it
        // were cut.
        result.view.is_limited = true;
        result.error = denial.map(|message| ResultError {
            message,
            kind: Some(ErrorKind::PolicyViolation),
        });
        Ok(result)
    }
}

type Register = fn(&mut ToolRegistry, &ToolEnv) -> Result<(), ToolError>;

fn registry(register: Register, tool_env: &ToolEnv) -> Result<ToolRegistry, ToolError> {
    let mut registry = ToolRegistry::default();
    register(&mut registry, tool_env)?;
    for source in custom::sources(tool_env) {
        registry.add_source(source);
    }
    Ok(registry)
}

fn journal(workspace: &Workspace, wanted: &UndoSettings) -> Option<Arc<Journal>> {
    if !wanted.enabled {
        return None;
    }
    let home = workspace.home().map(Path::to_owned);
    let limits = Limits::new(wanted.max_age_days, wanted.max_megabytes);
    let journal = Journal::new(home, limits, &wanted.exclude, caller);
    let journal = Arc::new(journal);
    workspace.set_journal(Arc::clone(&journal));
    Some(journal)
}

/// Returns the caller, for the journal: the program is the parent process, and the session is named
/// by the environment, or else after that process.
fn caller() -> Caller {
    let own = || {
        let program = std::env::current_exe().ok();
        let name = program.as_deref().and_then(Path::file_stem);
        let name = name.map_or("unknown".into(), |name| name.to_string_lossy().into_owned());
        (i32::try_from(std::process::id()).unwrap_or(0), name)
    };
    let (pid, program) = parent().unwrap_or_else(own);
    let chosen = variables::value(SESSION);
    let chosen = chosen.and_then(|id| id.into_string().ok());
    let session = chosen.unwrap_or_else(|| {
        let start = Identity::find(pid).map_or(0, |identity| identity.start_time);
        format!("{program}-{pid}-{start}")
    });
    Caller { program, session }
}

fn parent() -> Option<(i32, String)> {
    let pid = i32::try_from(std::os::unix::process::parent_id()).ok()?;
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
    Some((pid, name.trim_end().to_owned()))
}

struct SessionCall<'a> {
    tool: &'a dyn Tool,
    args: &'a mut Value,
    /// An empty object in place of arguments that are not an object, which the tool refuses later.
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
        tool::build(self.tool, args, self.cx)
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
            // A variant of `Confirmation` that this code does not know must not let the call run.
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
        // Only one call asks the person at a time.
        let mut person = self.person?.lock().unwrap_or_else(PoisonError::into_inner);
        if self.cx.cancel.interruption().is_some() {
            return None;
        }
        // The default time limit is paused while the person decides.
        let _waiting = self.cx.cancel.wait_for_others();
        let question = ApprovalQuestion {
            name: self.tool.name(),
            args: self.args(),
            explanation,
            cancel: &self.cx.cancel,
        };
        // A panic in the program's dialog is no fault of the tool: nobody has answered.
        catch_unwind(AssertUnwindSafe(|| person.ask(&question))).ok()?
    }

    fn change(&mut self, changed: ArgumentChange) -> Result<(), ToolError> {
        *self.args = Value::Object(changed.args);
        tool::convert(self.tool, self.args);
        Ok(())
    }
}

/// Passes to `judge` a call of an MCP server's tool without arguments, which stands for the tool
/// itself, for example to find out whether the model is told about it.
pub fn as_call<T>(tool: &McpDeclaration, judge: impl FnOnce(&PolicyCall<'_>) -> T) -> T {
    judge(&PolicyCall {
        server: tool.server(),
        annotations: tool.annotations.as_ref(),
        ..PolicyCall::of_tool(&tool.name, &[&tool.alias], &Map::new())
    })
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
        // No other tool of a session can have the name of a built-in one.
        is_built_in: is_built_in(tool),
        has_namesake: false,
    }
}

fn is_edit_or_read(tool: &dyn Tool) -> bool {
    matches!(tool.info().kind, Kind::Edit) || tool.info().is_read_only
}

fn is_built_in(tool: &dyn Tool) -> bool {
    tool.info().server.is_none() && builtin::find_exactly(tool.name()).is_some()
}
