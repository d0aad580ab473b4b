//! The MCP servers of one process: what they have declared, and calls to them.
//!
//! # How it works
//!
//! [`Mcp`] learns what a server declares in one of three ways, from cheap to expensive: from
//! `State::known`, in memory; from the cache that an earlier process wrote, if the server's program
//! and settings have not changed (`cached`); or by starting the server and asking it, which also
//! writes the cache (`refresh`). [`Mcp::list`] asks only servers of which nothing is known, all at
//! once, so that a discovery with a full cache starts none. [`Mcp::find`] asks only servers to
//! which a name may belong.
//!
//! A call needs more than a listing does. Before it, the server must have declared its tools over
//! the very connection that the call then takes (`fresh`), and again after it has announced a
//! change. If the settings pin declarations, a tool that is new or differs from the accepted
//! declaration is withheld until `get_tools --refresh` accepts it; the accepted hash stays in the
//! cache, so that asking again does not accept the change. If the policy judges by annotations and
//! the server has changed those of the tool since, the call fails.
//!
//! A tool thus runs only if the settings allow it, it is not withheld, and its annotations are
//! those that were judged. A failure of one server becomes a note, and only its tools are missing.
//!
//! Other modules do the rest: another executable holds the connections ([`Link`]), the cache's
//! format is in `cache`, checks of declarations in `declare`, names in `names`; the policy decides
//! whether a call may run.

use super::cache::{self, Declarations};
use super::declare::{DeclaredTool, declare};
use super::many;
use super::names;
use super::resources;
use super::servers::{self, CALL_SECS, Server};
use super::tool::McpTool;
use gemini_tools_core::diagnostic::Diagnostic;
use gemini_tools_core::registry::{Others, bare_name, hint, nearest};
use gemini_tools_core::tool::{
    Cancellation, Context, ErrorKind, OutputUpdate, ServerTool, TimeLimit, Tool, ToolError,
};
use gemini_tools_process::network::link::{Failure, Link, Question};
use gemini_tools_process::network::wire::{FailureKind, ServerRequest};
use gemini_tools_settings::settings::Settings;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;
use std::time::{Duration, Instant};

/// The code of the finding that the end of a server's list was left out.
const ENDLESS: &str = "endless-list";

/// A server that may have changed its tools without saying so is asked for them again, unless it
/// was asked within this time.
const SETTLED: Duration = Duration::from_secs(2);

/// How often a call is tried with a server that restarts before each.
const MAX_ATTEMPTS: u32 = 3;

/// The MCP servers that the settings name.
#[derive(Debug)]
pub struct Mcp {
    pub(super) servers: Vec<Server>,
    link: Link,
    pin: bool,
    heeds_annotations: AtomicBool,
    state: Mutex<State>,
}

/// What this process knows of the servers. `known`, `asked`, `changed` and `missed` name them by
/// their index in `servers`. A server in `asked` was asked for its tools by this process, which
/// confirms declarations from the cache. A server in `changed` has announced other tools since
/// then, and one in `missed` could not be asked after that, so that the next list asks it. `listed`
/// has the tools of all servers, for as long as `known` stays as it is.
#[derive(Debug, Default)]
struct State {
    known: BTreeMap<usize, Arc<Declarations>>,
    asked: BTreeMap<usize, Listing>,
    changed: BTreeSet<usize>,
    missed: BTreeSet<usize>,
    listed: Option<Vec<Arc<McpDeclaration>>>,
    notes: Vec<String>,
}

/// What a server has declared to this process, and over which connection: calls are sent over no
/// other.
#[derive(Debug, Clone)]
struct Listing {
    known: Arc<Declarations>,
    connection: String,
    since: Instant,
}

/// A tool that a server has declared, or a tool of this crate, as `get_tools` prints it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpDeclaration {
    /// The tool's name.
    pub name: String,
    /// Gemini CLI 0.61's name for the tool.
    pub alias: String,
    /// The server's name in the settings, and the tool's name on that server; `None` for this
    /// crate's own tools, which read resources, or search and call tools.
    pub origin: Option<(String, String)>,
    /// The declaration as compact JSON, without the closing brace, so that fields can be appended.
    pub text: String,
    /// Annotations of the tool, as the server sent them.
    pub annotations: Option<Map<String, Value>>,
    /// True if the server says that the tool only reads, and the user trusts the server.
    pub is_read_only: bool,
}

impl State {
    fn learn(&mut self, at: usize, known: &Arc<Declarations>) {
        self.known.insert(at, Arc::clone(known));
        self.listed = None;
    }
}

impl McpDeclaration {
    pub(super) fn of_no_server(
        name: &str,
        description: &str,
        schema: impl std::fmt::Display,
        is_read_only: bool,
    ) -> Self {
        let (json_name, description) = (Value::from(name), Value::from(description));
        Self {
            name: name.to_owned(),
            alias: name.to_owned(),
            origin: None,
            text: format!(
                r#"{{"name":{json_name},"description":{description},"parametersJsonSchema":{schema}"#
            ),
            annotations: None,
            is_read_only,
        }
    }

    /// Returns the declaration as JSON.
    pub fn declaration(&self) -> Value {
        serde_json::from_str(&format!("{}}}", self.text)).unwrap_or_default()
    }

    /// Returns the server's description of the tool.
    pub fn description(&self) -> String {
        self.declaration()["description"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    }

    /// Returns the server, and the tool's name on it; `None` if [`Self::origin`] is `None`.
    pub fn server(&self) -> Option<ServerTool<'_>> {
        let (name, tool) = self.origin.as_ref()?;
        Some(ServerTool { name, tool })
    }
}

impl Mcp {
    /// Returns the servers in the settings, without starting any; `None` if there are none.
    /// Relative paths are resolved against `root`; `roots` are the directories that are announced
    /// to servers.
    pub fn open(
        settings: &Settings,
        home: Option<&Path>,
        root: &Path,
        roots: &[PathBuf],
    ) -> Option<Arc<Self>> {
        // If the settings files have faults, it is not known which servers may be started. No call
        // may run then anyway.
        if !settings.problems.is_empty() {
            return None;
        }
        let (servers, notes) = servers::servers(&settings.mcp, home, root, roots);
        if servers.is_empty() && notes.is_empty() {
            return None;
        }
        Some(Arc::new(Self {
            servers,
            link: Link::default(),
            pin: settings.mcp.pin,
            heeds_annotations: AtomicBool::new(false),
            state: Mutex::new(State {
                notes,
                ..State::default()
            }),
        }))
    }

    /// Makes each later call fail if its tool's annotations have changed since it was judged by
    /// them.
    pub fn heed_annotations(&self) {
        self.heeds_annotations.store(true, Ordering::Relaxed);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the notes about faults and changes of servers and their tools, and clears them.
    pub fn take_notes(&self) -> Vec<String> {
        std::mem::take(&mut self.state().notes)
    }

    /// Lists the tools of all servers, sorted by name. Servers whose declarations are not known are
    /// asked, all at once. With `refresh`, all servers are asked, and changed declarations are
    /// accepted.
    pub fn list(&self, refresh: bool, cancel: &Cancellation) -> Vec<Arc<McpDeclaration>> {
        for (at, failure) in self.ask_all(refresh, cancel) {
            let what = match self.cached(at) {
                Some(_) => "whether its tools have changed is not known",
                None => "it has no tools",
            };
            self.note(at, &format!("{what}: {}.", failure.message));
        }
        self.known()
    }

    /// Lists the known tools of all servers, sorted by name, without asking any server.
    pub fn known(&self) -> Vec<Arc<McpDeclaration>> {
        // Reads the caches of servers of which nothing is known yet.
        self.known_servers().for_each(drop);
        let state = &mut *self.state();
        let (known, notes) = (&state.known, &mut state.notes);
        let list = || listed_tools(&self.servers, known, notes);
        state.listed.get_or_insert_with(list).clone()
    }

    /// Asks several servers at once: all of them with `refresh`, otherwise those whose declarations
    /// are not known, or no longer. Returns the servers that failed to answer, with the reason.
    pub(super) fn ask_all(&self, refresh: bool, cancel: &Cancellation) -> Vec<(usize, Failure)> {
        self.poll_list_changed();
        let has_changed = |at: usize| {
            let state = self.state();
            state.changed.contains(&at) || state.missed.contains(&at)
        };
        let is_old = |at: usize| has_changed(at) || self.cached(at).is_none();
        let unknown = (0..self.servers.len()).filter(|&at| refresh || is_old(at));
        let unknown: Vec<usize> = unknown.collect();
        std::thread::scope(|scope| {
            let asked = unknown.into_iter().map(|at| {
                let ask = move || self.refresh(at, refresh, cancel);
                (at, Builder::new().spawn_scoped(scope, ask))
            });
            let asked: Vec<_> = asked.collect();
            let failed = asked.into_iter().filter_map(|(at, answer)| {
                let failed = |message| Failure {
                    why: FailureKind::Connection,
                    message,
                };
                let crashed = || failed("asking it has crashed (internal error)".to_owned());
                let failure = match answer {
                    Ok(answer) => answer.join().unwrap_or_else(|_| Err(crashed())).err()?,
                    Err(e) => failed(format!("no thread could be started: {e}")),
                };
                Some((at, failure))
            });
            failed.collect()
        })
    }

    fn note(&self, at: usize, note: &str) {
        let note = self.servers[at].note(note);
        self.state().notes.push(note);
    }

    pub(super) fn cached(&self, at: usize) -> Option<Arc<Declarations>> {
        if let Some(known) = self.state().known.get(&at) {
            return Some(Arc::clone(known));
        }
        let server = &self.servers[at];
        let known = cache::read(server.cache.as_deref()?)?;
        if !known.is_current(&server.connect) {
            return None;
        }
        let known = Arc::new(known);
        self.state().learn(at, &known);
        Some(known)
    }

    fn known_servers(&self) -> impl Iterator<Item = (usize, &Server, Arc<Declarations>)> {
        let servers = self.servers.iter().enumerate();
        servers.filter_map(|(at, server)| Some((at, server, self.cached(at)?)))
    }

    /// Asks a server for its tools and stores the answer in memory and in the cache. With
    /// `accepts`, changed declarations of pinned tools are accepted.
    fn refresh(&self, at: usize, accepts: bool, cancel: &Cancellation) -> Result<Listing, Failure> {
        let server = &self.servers[at];
        // The mark is removed before the request, so that a change during the request is not
        // missed.
        let has_changed = self.state().changed.remove(&at);
        let since = Instant::now();
        let question = Question {
            server: &server.name,
            connect: &server.connect,
            what: ServerRequest::Tools,
            limit: server.discovery_limit(),
        };
        let answer = self.link.ask(&question, cancel, &|_| {});
        let answer = answer.inspect_err(|_| {
            if has_changed {
                self.state().missed.insert(at);
            }
        })?;
        let tools = answer["tools"].as_array().map_or(&[][..], Vec::as_slice);
        let (mut tools, mut findings) = declare(&server.name, tools);
        let notes = answer["notes"].as_array().into_iter().flatten();
        let notes = notes.filter_map(Value::as_str);
        findings.extend(notes.map(|note| Diagnostic::error(ENDLESS, "", "", note)));
        // The cache is read again, because another process may have accepted changes meanwhile.
        let old = server.cache.as_deref().and_then(cache::read);
        if let Some(old) = &old
            && !accepts
        {
            self.compare(at, old, &mut tools);
        }
        let has_resources = answer["resources"] == true;
        let known = Declarations::new(&server.connect, tools, has_resources, findings);
        if old.as_ref() != Some(&known)
            && let Some(path) = &server.cache
        {
            cache::write(path, &known);
        }
        let listing = Listing {
            known: Arc::new(known),
            connection: answer["connection"].as_str().unwrap_or_default().to_owned(),
            since,
        };
        let mut state = self.state();
        state.learn(at, &listing.known);
        state.asked.insert(at, listing.clone());
        state.missed.remove(&at);
        Ok(listing)
    }

    /// Compares a server's declarations with the stored ones. Without pinning, changes are only
    /// reported. With pinning, a changed or new tool is withheld, and the stored hash is kept, so
    /// that the change is found again next time.
    fn compare(&self, at: usize, old: &Declarations, tools: &mut [DeclaredTool]) {
        for tool in tools {
            let before = old.tools.iter().find(|t| t.original == tool.original);
            let reason = match before {
                Some(before) if before.hash == tool.hash => continue,
                Some(_) => "its declaration has changed",
                None => "it is new",
            };
            if self.pin {
                // Keep the accepted hash, with which later declarations are compared.
                tool.hash = before.map(|t| t.hash.clone()).unwrap_or_default();
                tool.text = String::new();
                let advice = "get_tools --refresh accepts it.";
                tool.held = Some(format!("{reason} since it was accepted; {advice}"));
            } else {
                self.note(at, &format!("{:?}: {reason}.", tool.original));
            }
        }
    }

    /// Returns true if the tool of this name only reads: it searches tools or reads resources, or
    /// its server says so in a known declaration and the user trusts the server.
    pub fn is_read_only(&self, name: &str) -> bool {
        let name = bare_name(name);
        let mut servers = self.servers.iter().enumerate();
        let reads = |(at, server): (usize, &Server)| {
            let may_be = names::may_be_of(name, &server.name);
            let known = may_be.then(|| self.cached(at)).flatten()?;
            let tool = find(&known, server, name).filter(|tool| server.offers(&tool.original))?;
            Some(is_read_only(server, tool))
        };
        name == many::SEARCH
            || resources::is_resource_tool(name)
            || servers.find_map(reads) == Some(true)
    }

    /// Returns the names of the servers and of their known usable tools, each tool with its own
    /// name on the server.
    pub fn others(&self) -> Others {
        let tools = self.known_servers().flat_map(|(_, server, known)| {
            let usable = known
                .tools
                .iter()
                .filter(|tool| server.offers(&tool.original) && tool.held.is_none());
            let names = usable.map(|tool| (tool.name.clone(), tool.original.clone()));
            names.collect::<Vec<_>>()
        });
        Others {
            tools: tools.collect(),
            servers: self.servers.iter().map(|s| s.name.clone()).collect(),
        }
    }

    fn find_by_own_name(self: &Arc<Self>, name: &str) -> Result<Option<Arc<dyn Tool>>, ToolError> {
        let own_tool = |(at, server, known): (usize, &Server, Arc<Declarations>)| {
            let tool = known.tools.iter().find(|tool| tool.original == name)?;
            server.offers(name).then(|| (at, tool.clone()))
        };
        let found: Vec<(usize, DeclaredTool)> = self.known_servers().filter_map(own_tool).collect();
        match &found[..] {
            [] => Ok(None),
            [(at, tool)] => self.usable(*at, tool).map(Some),
            several => {
                let names: Vec<&str> = several.iter().map(|(_, tool)| &*tool.name).collect();
                Err(ToolError::new(
                    ErrorKind::ToolNotRegistered,
                    format!("Several MCP servers have a tool named {name:?}."),
                )
                .with_hint(format!("Call one of {}.", names.join(", "))))
            }
        }
    }

    /// Finds a tool by name; `None` if no server has it. If its declaration is not known, only
    /// servers to which the name may belong are asked. A name without a server's prefix is only
    /// looked for among known tools.
    ///
    /// # Errors
    ///
    /// Returns an error if a server to which the name belongs can't be asked or does not have the
    /// tool, if several servers have it, or if the tool must not be used.
    pub fn find(
        self: &Arc<Self>,
        name: &str,
        cx: &Context,
    ) -> Result<Option<Arc<dyn Tool>>, ToolError> {
        let name = bare_name(name);
        if self.servers.is_empty() {
            return Ok(None);
        }
        self.poll_list_changed();
        if let Some(tool) = resources::tool(self, name) {
            return Ok(Some(tool));
        }
        let candidates: Vec<usize> = (0..self.servers.len())
            .filter(|&at| names::may_be_of(name, &self.servers[at].name))
            .collect();
        let (mut names, mut cuts) = (Vec::new(), String::new());
        let mut left_out: BTreeMap<usize, DeclaredTool> = BTreeMap::new();
        for asks in [false, true] {
            for &at in &candidates {
                // The tool is not in the known lists. Not every server announces new tools, so the
                // servers are asked once more.
                if asks {
                    self.doubt(at, SETTLED);
                }
                let known = match self.cached(at) {
                    _ if left_out.contains_key(&at) => continue,
                    _ if asks => match self.fresh(at, cx) {
                        Err(e) if left_out.is_empty() => return Err(e),
                        fresh => fresh.ok().map(|listing| listing.known),
                    },
                    cached => cached,
                };
                let Some(known) = known else { continue };
                let server = &self.servers[at];
                match find(&known, server, name) {
                    Some(tool) if server.offers(&tool.original) => {
                        return self.usable(at, tool).map(Some);
                    }
                    Some(tool) => drop(left_out.insert(at, tool.clone())),
                    None if asks => {
                        let offered = known.tools.iter().filter(|t| server.offers(&t.original));
                        names.extend(offered.map(|tool| tool.name.clone()));
                        let is_why = |finding: &&Diagnostic| {
                            let tool = &finding.place.tool;
                            finding.code == ENDLESS || names::means(name, &server.name, tool)
                        };
                        let why = known.findings.iter().filter(is_why);
                        cuts.extend(why.map(|finding| format!(" {}", finding.message)));
                    }
                    None => {}
                }
            }
        }
        if candidates.is_empty() {
            return self.find_by_own_name(name);
        }
        if let Some((at, tool)) = left_out.pop_first() {
            return self.usable(at, &tool).map(Some);
        }
        let servers: Vec<&str> = candidates
            .iter()
            .map(|&at| self.servers[at].name.as_str())
            .collect();
        Err(ToolError::new(
            ErrorKind::ToolNotRegistered,
            format!(
                "The MCP server {} has no tool named {name:?}.{cuts}",
                servers.join(" or ")
            ),
        )
        .with_hint(if names.is_empty() {
            "It declares no tools.".to_owned()
        } else {
            let all = || names.iter().map(String::as_str);
            hint(&nearest(name, all().map(|own| (own, own))), all())
        }))
    }

    fn usable(
        self: &Arc<Self>,
        at: usize,
        tool: &DeclaredTool,
    ) -> Result<Arc<dyn Tool>, ToolError> {
        let server = &self.servers[at];
        if !server.offers(&tool.original) {
            return Err(ToolError::denied(format!(
                "The settings of the MCP server {} leave its tool {:?} out.",
                server.name, tool.original
            ))
            .with_hint("See includeTools and excludeTools there."));
        }
        self.check_held(at, tool)?;
        let tool = McpTool::new(self, at, tool, is_read_only(server, tool))?;
        Ok(Arc::new(tool))
    }

    fn check_held(&self, at: usize, tool: &DeclaredTool) -> Result<(), ToolError> {
        let Some(held) = &tool.held else {
            return Ok(());
        };
        Err(ToolError::denied(format!(
            "The tool {:?} of the MCP server {} is held back: {held}",
            tool.original, self.servers[at].name,
        )))
    }

    pub(super) fn call(
        &self,
        at: usize,
        judged: &DeclaredTool,
        arguments: &Map<String, Value>,
        cx: &Context,
    ) -> Result<Value, ToolError> {
        let started = Instant::now();
        let heeds_annotations = self.heeds_annotations.load(Ordering::Relaxed);
        // Over HTTP a restart of the server may go unnoticed, because the newest version of the
        // protocol has no sessions. So the server is asked for its tools again.
        if (self.pin || heeds_annotations) && self.servers[at].connect.command.is_none() {
            self.doubt(at, SETTLED);
        }
        let tool = &judged.original;
        let mut attempts = 1;
        loop {
            let listing = self.fresh(at, cx)?;
            let declared = listing.known.tools.iter().find(|t| t.original == *tool);
            if let Some(declared) = declared {
                self.check_held(at, declared)?;
            }
            // The server may have declared other annotations since the policy judged the call,
            // perhaps in answer to another call.
            let now = declared.and_then(|declared| declared.annotations.as_ref());
            if heeds_annotations && now != judged.annotations.as_ref() {
                return Err(says_something_else(&self.servers[at].name, tool)
                    .with_hint("Call it again: the policy then judges by that."));
            }
            let what = ServerRequest::Call {
                tool: tool.clone(),
                arguments: arguments.clone(),
                connection: listing.connection,
            };
            let answer = self.request(at, what, started, cx);
            // A tool that is refused may be one that the server has no longer.
            if let Err((FailureKind::Reconnected | FailureKind::Refused, _)) = answer {
                self.doubt(at, Duration::ZERO);
            }
            match answer {
                Err((FailureKind::Reconnected, _)) if attempts < MAX_ATTEMPTS => attempts += 1,
                answer => return answer.map_err(|(_, error)| error),
            }
        }
    }

    /// Returns a server's declarations as confirmed by this process. Asks the server if that has
    /// not happened yet, if it has announced a change, or after a restart.
    fn fresh(&self, at: usize, cx: &Context) -> Result<Listing, ToolError> {
        self.poll_list_changed();
        let listing = self.state().asked.get(&at).cloned();
        if let Some(listing) = listing {
            return Ok(listing);
        }
        let old = self.cached(at);
        let listing = self.refresh(at, false, &cx.cancel);
        let listing = listing.map_err(|failure| self.error(at, failure, cx))?;
        // The client knows the old list.
        if old.is_some_and(|old| old != listing.known) {
            self.state().changed.insert(at);
        }
        Ok(listing)
    }

    /// Makes the next listing and the next call ask a server again, unless it was asked within this
    /// time.
    fn doubt(&self, at: usize, age: Duration) {
        let mut state = self.state();
        let listing = state.asked.get(&at);
        if listing.is_some_and(|listing| listing.since.elapsed() >= age) {
            state.asked.remove(&at);
            state.changed.insert(at);
        }
    }

    fn poll_list_changed(&self) {
        let changed = self.link.take_changed();
        if !changed.is_empty() {
            let is_changed = |at: &usize| changed.contains(&self.servers[*at].name);
            let mut state = self.state();
            state.asked.retain(|at, _| !is_changed(at));
            state
                .changed
                .extend((0..self.servers.len()).filter(is_changed));
        }
    }

    /// Returns true if a server has announced a change of its tools since it was last asked for
    /// them.
    pub fn has_changed(&self) -> bool {
        self.poll_list_changed();
        !self.state().changed.is_empty()
    }

    pub(super) fn request(
        &self,
        at: usize,
        what: ServerRequest,
        started: Instant,
        cx: &Context,
    ) -> Result<Value, (FailureKind, ToolError)> {
        let server = &self.servers[at];
        let own = server.settings.timeout_ms.map(Duration::from_millis);
        // A default limit of the call gives way to the server's own limit; one that the caller has
        // chosen does not.
        let of_call = match own {
            Some(_) => cx.cancel.chosen_limit(),
            None => cx.cancel.limit(),
        };
        let own = own.unwrap_or(Duration::from_secs(CALL_SECS));
        let left = |call: TimeLimit| call.at().saturating_duration_since(Instant::now());
        let own_left = own.saturating_sub(started.elapsed());
        let of_call = of_call.filter(|call| left(*call) < own_left);
        let limit = of_call.map_or(own_left, left);
        let question = Question {
            server: &server.name,
            connect: &server.connect,
            what,
            limit,
        };
        // The link waits a little longer than the limit, which the process that holds the
        // connection enforces itself, because its error says more.
        let cancel = cx.cancel.without_time_limit();
        let is_call = matches!(question.what, ServerRequest::Call { .. });
        let _waiting = cx.cancel.wait_for_others();
        self.link
            .ask(&question, &cancel, &|text| {
                cx.update_output(OutputUpdate::Text(text.to_owned()));
            })
            .map_err(|failure| {
                let why = failure.why;
                let error = match why {
                    FailureKind::TimedOut => self.out_of_time(at, own, of_call, &failure.message),
                    _ => self.error(at, failure, cx),
                };
                if is_call && why == FailureKind::Gone {
                    let hint = "Whether the call has had an effect is not known.";
                    return (why, error.with_hint(hint));
                }
                (why, error)
            })
    }

    /// Returns the error for a request that took too long. The advice depends on which limit was
    /// exceeded: the server's own, or the call's (`of_call`).
    fn out_of_time(
        &self,
        at: usize,
        own: Duration,
        of_call: Option<TimeLimit>,
        message: &str,
    ) -> ToolError {
        let server = &self.servers[at];
        let took = |limit: String| {
            let server = &server.name;
            let message =
                format!("The MCP server {server} took too long, more than {limit}: {message}.");
            ToolError::new(ErrorKind::Timeout, message)
        };
        match of_call {
            Some(call) => took(format!("the call's time limit, {call}"))
                .with_hint(format!("Narrow the call down, or {}.", call.advice())),
            None => took(format!("its time limit, {} s", own.as_secs_f64())).with_hint(format!(
                "\"timeout\" (milliseconds) of {} sets it.",
                server.entry()
            )),
        }
    }

    pub(super) fn error(&self, at: usize, failure: Failure, cx: &Context) -> ToolError {
        let server = &self.servers[at].name;
        let Failure { why, message } = failure;
        match why {
            FailureKind::Cancelled => match cx.cancel.check() {
                Err(interrupted) => interrupted,
                Ok(()) => ToolError::new(
                    ErrorKind::Timeout,
                    format!("The MCP server {server} did not answer in time."),
                ),
            },
            // [`Mcp::request`] reports time-outs of calls itself. Here, the list of tools has timed
            // out.
            FailureKind::TimedOut => {
                self.out_of_time(at, self.servers[at].discovery_limit(), None, &message)
            }
            FailureKind::Refused => ToolError::new(
                ErrorKind::McpToolError,
                format!("The MCP server {server} has refused the request: {message}"),
            ),
            FailureKind::Gone | FailureKind::Connection | FailureKind::Reconnected => {
                ToolError::new(
                    ErrorKind::McpToolError,
                    match message.strip_prefix("it ") {
                        Some(did) => format!("The MCP server {server} {did}."),
                        None => format!("The MCP server {server} can't be used: {message}."),
                    },
                )
                .with_hint(format!("See {}.", self.servers[at].entry()))
            }
        }
    }

    pub(super) fn with_resources(&self, cx: &Context) -> Result<Vec<usize>, ToolError> {
        let failed = self.ask_all(false, &cx.cancel).pop();
        let known = self.known_servers();
        let found = known.filter_map(|(at, _, known)| known.has_resources.then_some(at));
        let found: Vec<usize> = found.collect();
        match failed {
            Some((at, failure)) if found.is_empty() => Err(self.error(at, failure, cx)),
            _ => Ok(found),
        }
    }
}

/// Returns the error for a call that was judged by annotations which the server has changed since.
pub fn says_something_else(server: &str, tool: &str) -> ToolError {
    ToolError::denied(format!(
        "The MCP server {server} has changed its hints about what the tool {tool:?} does."
    ))
}

fn listed_tools(
    servers: &[Server],
    known: &BTreeMap<usize, Arc<Declarations>>,
    notes: &mut Vec<String>,
) -> Vec<Arc<McpDeclaration>> {
    let mut list: BTreeMap<&str, Arc<McpDeclaration>> = BTreeMap::new();
    for (&at, known) in known {
        let server = &servers[at];
        notes.extend(known.errors().map(|error| server.note(&error.text())));
        for tool in &known.tools {
            if !server.offers(&tool.original) {
                continue;
            }
            if let Some(held) = &tool.held {
                notes.push(server.note(&format!("{:?} is held back: {held}", tool.original)));
            } else if list.contains_key(&*tool.name) {
                let note = format!("{:?} is left out: {} is taken.", tool.original, tool.name);
                notes.push(server.note(&note));
            } else {
                let listed = McpDeclaration {
                    name: tool.name.clone(),
                    alias: names::gemini_cli_name(&server.name, &tool.original),
                    origin: Some((server.name.clone(), tool.original.clone())),
                    text: tool.text.clone(),
                    annotations: tool.annotations.clone(),
                    is_read_only: is_read_only(server, tool),
                };
                list.insert(&tool.name, Arc::new(listed));
            }
        }
    }
    let mut list: Vec<Arc<McpDeclaration>> = list.into_values().collect();
    if known.values().any(|known| known.has_resources) {
        list.extend(resources::declarations());
        list.sort_by(|a, b| a.name.cmp(&b.name));
    }
    list
}

fn is_read_only(server: &Server, tool: &DeclaredTool) -> bool {
    server.settings.trust && tool.says_it_reads()
}

/// Returns the tool of a server that a name means. If it can mean several, one that the settings do
/// not exclude is preferred.
fn find<'a>(known: &'a Declarations, server: &Server, name: &str) -> Option<&'a DeclaredTool> {
    let tools = known.tools.iter();
    tools
        .filter(|tool| names::means(name, &server.name, &tool.original))
        .min_by_key(|tool| (!server.offers(&tool.original), tool.name != name))
}
