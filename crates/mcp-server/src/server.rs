//! What all clients share: the projects that are open, and the calls that run.

use super::ServeOptions;
use super::watch::WatchedFiles;
use gemini_tools_approval::session::{Session, with_time_limit};
use gemini_tools_config::settings::{Settings, home};
use gemini_tools_core::text::visible;
use gemini_tools_core::tool::{Cancellation, GracePeriod, TICK, ToolError};
use gemini_tools_workspace::flush::FlushBehind;
use gemini_tools_workspace::real_root;
use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Maximum open projects: with more, those that are not in use are closed.
const MAX_PROJECTS: usize = 16;

pub(super) struct Server {
    pub(super) options: ServeOptions,
    /// The workspace where no client says otherwise, as it was named.
    roots: Vec<PathBuf>,
    projects: Mutex<HashMap<Vec<PathBuf>, Arc<Project>>>,
    running: Arc<Running>,
    flush_behind: Arc<FlushBehind>,
}

/// A project as it was when it was opened.
pub(super) struct Project {
    pub(super) session: Session,
    watched: WatchedFiles,
    state: u64,
    /// What its tools were told apart by when a client was told of them.
    declared: Mutex<Option<u64>>,
}

impl Project {
    /// Tells apart what was found on disk when it was opened.
    pub(super) fn state(&self) -> u64 {
        self.state
    }

    /// Whether that is still so.
    pub(super) fn is_current(&self) -> bool {
        self.watched.state() == self.state
    }

    /// Keeps what its tools are told apart by.
    pub(super) fn know_as(&self, fingerprint: u64) {
        *self.declared.lock().unwrap_or_else(PoisonError::into_inner) = Some(fingerprint);
    }

    /// Whether its tools are known to be those, and no MCP server has said that it has others.
    pub(super) fn is_known_as(&self, fingerprint: u64) -> bool {
        let is_settled = !self.session.servers_have_changed();
        is_settled
            && *self.declared.lock().unwrap_or_else(PoisonError::into_inner) == Some(fingerprint)
    }
}

impl Server {
    /// For the roots of the options, or else the current directory.
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
            flush_behind: Arc::new(FlushBehind::new(options.log)),
            options,
            roots,
            projects: Mutex::default(),
            running: Arc::default(),
        })
    }

    /// Whether clients choose the workspace. One on another machine knows nothing of this one.
    pub(super) fn follows_roots(&self) -> bool {
        let is_remote = self
            .options
            .http
            .as_ref()
            .is_some_and(|http| http.allows_remote);
        self.options.roots.is_empty() && !is_remote
    }

    fn projects(&self) -> MutexGuard<'_, HashMap<Vec<PathBuf>, Arc<Project>>> {
        self.projects.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The project of these roots, or of ours where there are none. It is opened anew where
    /// what decides about it has changed.
    pub(super) fn project(&self, roots: &[PathBuf]) -> Result<Arc<Project>, ToolError> {
        let roots = if roots.is_empty() { &self.roots } else { roots };
        let open = self.projects().get(roots).cloned();
        if let Some(open) = open
            && open.is_current()
        {
            return Ok(open);
        }
        let new = Arc::new(self.open(roots)?);
        let mut projects = self.projects();
        let mut closed = Vec::new();
        if projects.len() >= MAX_PROJECTS {
            let idle = |_: &_, project: &mut Arc<_>| Arc::strong_count(project) == 1;
            closed.extend(projects.extract_if(idle).map(|(_, project)| project));
        }
        closed.extend(projects.insert(roots.to_vec(), Arc::clone(&new)));
        // Their MCP servers take a moment to end, in which other calls are not to wait.
        drop(projects);
        drop(closed);
        Ok(new)
    }

    fn open(&self, roots: &[PathBuf]) -> Result<Project, ToolError> {
        let ServeOptions {
            rules,
            with_servers,
            log,
            ..
        } = &self.options;
        let (root, more) = roots
            .split_first()
            .map_or((Path::new(""), roots), |(root, more)| (root, more));
        let open = if *with_servers {
            Session::open
        } else {
            Session::open_without_servers
        };
        let home = home();
        let written = root;
        let root = &real_root(written, more)?;
        let settings = Settings::load(home.as_deref(), root);
        real_root(written, &settings.sandbox.allowed_paths)?;
        let watched = WatchedFiles::new(home.as_deref(), root, &settings, rules);
        // Looked at first: what changes while it is being read is seen the next time.
        let state = watched.state();
        let session = open(root, more, rules)?;
        let workspace = &session.tool_env().workspace;
        workspace.flush_behind(Arc::clone(&self.flush_behind));
        for problem in session.problems() {
            log(&visible(&problem));
        }
        Ok(Project {
            session,
            watched,
            state,
            declared: Mutex::default(),
        })
    }

    /// A new call, which counts as running until the guard is dropped. Its time begins.
    pub(super) fn start(&self) -> Started {
        let cancel = with_time_limit(&Cancellation::default());
        let id = self.running.next.fetch_add(1, Ordering::Relaxed);
        self.running
            .change(|calls| drop(calls.insert(id, cancel.clone())));
        Started {
            id,
            cancel,
            running: Arc::clone(&self.running),
        }
    }

    /// Tells all calls to end.
    pub(super) fn cancel_all(&self) {
        let calls = self
            .running
            .calls
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        calls.values().for_each(Cancellation::cancel);
    }

    /// Tells all calls to end, waits for that, and closes all projects.
    pub(super) async fn end(&self) {
        self.cancel_all();
        let mut grace: HashMap<u64, GracePeriod> = HashMap::new();
        // One that says nothing ends with the process, what it has started with its supervisor.
        while self
            .running
            .any(|id, cancel| !grace.entry(id).or_default().is_over(cancel))
        {
            tokio::time::sleep(TICK).await;
        }
        self.projects().clear();
    }
}

/// Waits until a call that has been interrupted has to be given up.
pub(super) async fn given_up(cancel: Cancellation) -> ToolError {
    let mut grace = GracePeriod::default();
    while !grace.is_over(&cancel) {
        tokio::time::sleep(TICK).await;
    }
    cancel.give_up()
}

#[derive(Default)]
struct Running {
    next: AtomicU64,
    calls: Mutex<HashMap<u64, Cancellation>>,
}

impl Running {
    fn change(&self, f: impl FnOnce(&mut HashMap<u64, Cancellation>)) {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        f(&mut calls);
    }

    /// Whether this is so for one of them; all are asked.
    fn any(&self, mut f: impl FnMut(u64, &Cancellation) -> bool) -> bool {
        let calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        let so: Vec<bool> = calls.iter().map(|(id, cancel)| f(*id, cancel)).collect();
        so.contains(&true)
    }
}

/// A call that runs.
pub(super) struct Started {
    id: u64,
    pub(super) cancel: Cancellation,
    running: Arc<Running>,
}

impl Drop for Started {
    fn drop(&mut self) {
        self.running.change(|calls| drop(calls.remove(&self.id)));
    }
}
