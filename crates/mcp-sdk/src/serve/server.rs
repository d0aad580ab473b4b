//! The state shared by all clients of a process: the open projects.

use super::ServeOptions;
use super::changes::KnownTools;
use super::tasks::Tasks;
use super::watch::WatchedFiles;
use crate::lock;
use gemini_tools_core::client_host::{ClientHost, GEMINI_CLI};
use gemini_tools_core::text::visible;
use gemini_tools_core::tool::{TICK, ToolError};
use gemini_tools_session::{Clock, Session};
use gemini_tools_workspace::seen::SeenFiles;
use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const MAX_PROJECTS: usize = 16;

/// Longer than the clock lets an interrupted call take. If no thread can be started for the clock,
/// no call is abandoned.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(20);

pub(super) struct Server {
    pub(super) options: ServeOptions,
    /// The workspace for clients that don't choose one: absolute paths whose links are not
    /// resolved.
    roots: Vec<PathBuf>,
    projects: Mutex<HashMap<Key, Arc<Project>>>,
    pub(super) clock: Arc<Clock>,
    pub(super) tasks: Tasks,
    /// The files that callers have seen. All projects share this record, and keep it when they are
    /// reopened, because everything that this server does belongs to one conversation.
    seen: Arc<SeenFiles>,
}

type Key = (&'static ClientHost, Vec<PathBuf>);

pub(super) struct Project {
    pub(super) session: Session,
    watched: WatchedFiles,
    state: u64,
    pub(super) declared: KnownTools,
    /// The fingerprint of the tools that clients were told last, before the project was reopened.
    declared_before: Option<u64>,
}

impl Project {
    pub(super) fn is_known_as(&self, fingerprint: u64) -> bool {
        let is_settled = !self.session.servers_have_changed();
        is_settled && self.declared.get() == Some(fingerprint)
    }

    fn last_declared(&self) -> Option<u64> {
        self.declared.get().or(self.declared_before)
    }
}

impl Server {
    pub(super) fn new(options: ServeOptions) -> io::Result<Self> {
        let mut roots = Vec::new();
        for root in &options.roots {
            let fail = |e: io::Error| io::Error::new(e.kind(), format!("{}: {e}", root.display()));
            if !std::fs::metadata(root).map_err(fail)?.is_dir() {
                return Err(fail(io::ErrorKind::NotADirectory.into()));
            }
            roots.push(std::path::absolute(root).map_err(fail)?);
        }
        if roots.is_empty() {
            let gone = |e: io::Error| {
                io::Error::new(e.kind(), format!("The current directory is gone: {e}"))
            };
            roots.push(std::env::current_dir().map_err(gone)?);
        }
        Ok(Self {
            options,
            roots,
            projects: Mutex::default(),
            clock: Arc::default(),
            tasks: Tasks::default(),
            seen: Arc::default(),
        })
    }

    /// Returns true if clients may choose the workspace. They may not if the options set it, or if
    /// clients may be on other machines, whose paths mean nothing on this one.
    pub(super) fn follows_roots(&self) -> bool {
        let http = self.options.http.as_ref();
        self.options.roots.is_empty() && !http.is_some_and(|http| http.allows_remote)
    }

    /// Returns the project for these roots, or for the server's own roots if there are none, with
    /// the tools for clients of `host`; `None` stands for Gemini CLI. The project is reopened if
    /// any of the files has changed that decide about its tools, or if a root's path has come to
    /// name another directory.
    pub(super) fn project(
        &self,
        roots: &[PathBuf],
        host: Option<&'static ClientHost>,
    ) -> Result<Arc<Project>, ToolError> {
        let key = self.key(roots, host);
        let open = lock(&self.projects).get(&key).cloned();
        if let Some(open) = &open
            && open.watched.state() == open.state
            && open.session.tool_env().workspace.check_roots().is_ok()
        {
            return Ok(Arc::clone(open));
        }
        let mut new = self.open(&key.1, key.0)?;
        new.declared_before = open.and_then(|open| open.last_declared());
        let new = Arc::new(new);
        let mut projects = lock(&self.projects);
        let mut closed = Vec::new();
        if projects.len() >= MAX_PROJECTS {
            let idle = |_: &_, project: &mut Arc<_>| Arc::strong_count(project) == 1;
            closed.extend(projects.extract_if(idle).map(|(_, project)| project));
        }
        closed.extend(projects.insert(key, Arc::clone(&new)));
        // Dropping a project ends its MCP servers, which takes a moment. Other calls must not wait
        // for the lock meanwhile.
        drop(projects);
        drop(closed);
        Ok(new)
    }

    fn key(&self, roots: &[PathBuf], host: Option<&'static ClientHost>) -> Key {
        let roots = if roots.is_empty() { &self.roots } else { roots };
        (host.unwrap_or(&GEMINI_CLI), roots.to_vec())
    }

    /// Returns the fingerprint of the tools for the server's own roots that clients of `host` were
    /// told last. It opens and reads no file, so it can be called at any time.
    pub(super) fn last_declared(&self, host: Option<&'static ClientHost>) -> Option<u64> {
        let key = self.key(&[], host);
        lock(&self.projects).get(&key)?.last_declared()
    }

    fn open(&self, roots: &[PathBuf], host: &'static ClientHost) -> Result<Project, ToolError> {
        let rules = &self.options.rules;
        let (root, more) = roots
            .split_first()
            .map_or((Path::new(""), roots), |(root, more)| (root, more));
        let project = gemini_tools_session::Project::open_at(root, more)?;
        let watched = WatchedFiles::new(&project, rules);
        // The state is taken before the session is opened, so that a change during the opening is
        // noticed the next time.
        let state = watched.state();
        let mut project = gemini_tools_session::Project::open(&project.root);
        project.seen = Arc::clone(&self.seen);
        let mut session = Session::of_project(project, more, rules)?.with_client_host(host)?;
        if !self.options.with_servers {
            session = session.without_servers();
        }
        for problem in session.problems() {
            (self.options.log)(&visible(&problem));
        }
        Ok(Project {
            session,
            watched,
            state,
            declared: KnownTools::default(),
            declared_before: None,
        })
    }

    pub(super) async fn end(&self) {
        end(&self.clock).await;
        lock(&self.projects).clear();
    }
}

/// Cancels all calls, and waits until each has ended or been abandoned. An abandoned call's thread
/// ends with this process, and its child processes are killed by their supervisor.
pub(super) async fn end(clock: &Clock) {
    clock.cancel_all();
    let ended = async {
        while !clock.is_idle() {
            tokio::time::sleep(TICK).await;
        }
    };
    let _ = tokio::time::timeout(SHUTDOWN_TIMEOUT, ended).await;
}
