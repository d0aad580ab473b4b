//! The state that the clients of a session share: the open projects.

use super::ServeOptions;
use super::changes::KnownTools;
use super::watch::WatchedFiles;
use crate::lock;
use gemini_tools_core::client_host::{ClientHost, GEMINI_CLI};
use gemini_tools_core::text::visible;
use gemini_tools_core::tool::{TICK, ToolError};
use gemini_tools_session::{Clock, Session};
use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// Maximum open projects: with more, those that are not in use are closed.
const MAX_PROJECTS: usize = 16;

pub(super) struct Server {
    pub(super) options: ServeOptions,
    /// The workspace where no client says otherwise, as it was named.
    roots: Vec<PathBuf>,
    projects: Mutex<HashMap<Key, Arc<Project>>>,
    pub(super) clock: Arc<Clock>,
}

/// The client's host, Gemini CLI where it is not known, and the roots.
type Key = (&'static ClientHost, Vec<PathBuf>);

pub(super) struct Project {
    pub(super) session: Session,
    watched: WatchedFiles,
    state: u64,
    /// Fingerprint of the tools that were last sent to a client.
    pub(super) declared: KnownTools,
}

impl Project {
    pub(super) fn is_known_as(&self, fingerprint: u64) -> bool {
        let is_settled = !self.session.servers_have_changed();
        is_settled && self.declared.get() == Some(fingerprint)
    }
}

impl Server {
    /// Creates a server for the roots of the options, or else the current directory.
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
            roots.push(std::env::current_dir()?);
        }
        Ok(Self {
            options,
            roots,
            projects: Mutex::default(),
            clock: Arc::default(),
        })
    }

    /// Returns true if clients choose the workspace. One on another machine knows nothing of this
    /// one.
    pub(super) fn follows_roots(&self) -> bool {
        let is_remote = self
            .options
            .http
            .as_ref()
            .is_some_and(|http| http.allows_remote);
        self.options.roots.is_empty() && !is_remote
    }

    /// Returns the project of these roots, or of ours where there are none, for clients of this host. It is opened anew
    /// where what decides about it has changed.
    pub(super) fn project(
        &self,
        roots: &[PathBuf],
        host: Option<&'static ClientHost>,
    ) -> Result<Arc<Project>, ToolError> {
        let roots = if roots.is_empty() { &self.roots } else { roots };
        let host = host.unwrap_or(&GEMINI_CLI);
        let key = (host, roots.to_vec());
        let open = lock(&self.projects).get(&key).cloned();
        if let Some(open) = open
            && open.watched.state() == open.state
        {
            return Ok(open);
        }
        let new = Arc::new(self.open(roots, host)?);
        let mut projects = lock(&self.projects);
        let mut closed = Vec::new();
        if projects.len() >= MAX_PROJECTS {
            let idle = |_: &_, project: &mut Arc<_>| Arc::strong_count(project) == 1;
            closed.extend(projects.extract_if(idle).map(|(_, project)| project));
        }
        closed.extend(projects.insert(key, Arc::clone(&new)));
        // Their MCP servers take a moment to end, in which other calls are not to wait.
        drop(projects);
        drop(closed);
        Ok(new)
    }

    fn open(&self, roots: &[PathBuf], host: &'static ClientHost) -> Result<Project, ToolError> {
        let rules = &self.options.rules;
        let (root, more) = roots
            .split_first()
            .map_or((Path::new(""), roots), |(root, more)| (root, more));
        let project = gemini_tools_session::Project::open_at(root, more)?;
        let watched = WatchedFiles::new(&project, rules);
        // Looked at first: what changes while it is being read is seen the next time.
        let state = watched.state();
        let mut session = Session::open(&project.root, more, rules)?.with_client_host(host)?;
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
        })
    }

    pub(super) async fn end(&self) {
        end(&self.clock).await;
        lock(&self.projects).clear();
    }
}

/// Tells all calls to end, and waits until they have, or have been given up. A call that never ends is left to the end of
/// this process, and what it has started to its supervisor.
pub(super) async fn end(clock: &Clock) {
    clock.cancel_all();
    while !clock.is_idle() {
        tokio::time::sleep(TICK).await;
    }
}
