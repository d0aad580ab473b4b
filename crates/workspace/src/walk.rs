//! Walks a directory tree on all cores.
//!
//! # How it works
//!
//! A task is a directory to be listed, or files of a directory to be visited; many files become
//! several tasks. Each worker has a stack of tasks and takes the last one, so it walks depth-first.
//! When another worker waits, it gives away the older half of its stack: these directories are
//! nearest to the top, and so probably the largest. The calling thread is the first worker; helpers
//! start when `TASKS_WORTH_A_HELPER` tasks wait, so that a small tree costs no thread. The walk
//! ends when no worker has a task.
//!
//! A directory is opened by its path beneath the root, with links refused by the kernel
//! (`openat2`), and its files by their names in it. So the walk never leaves the workspace, even if
//! a directory is swapped for a link meanwhile, and no whole path is resolved for each file.
//! `Worker::directory` reads the entries, and reads ignore files only if they are among them;
//! `sort_out` asks the [`Visitor`] whether it wants a file, then the ignore rules, and queues
//! directories and files. The files are a task of their own, so that helpers start before the first
//! file is visited.
//!
//! Links to directories are not followed.
//!
//! A directory that can't be read, or whose `.geminiignore` can't be read, is left out and counted
//! in the [`WalkReport`]. If the `.geminiignore` of the walk's start can't be read, the walk fails.
//! Files come in no order. Ignore rules are in `rules` and `ignore`, patterns in `pattern`, and the
//! visitor decides what is done with a file.

mod listing;

pub use listing::DirectoryEntry;

use super::git_config::UsersRules;
use super::ignore::IgnoreSource;
use super::resolve::{WorkspacePath, open_plain};
use super::rules::{IgnoreFilesSeen, IgnoreScope, OpenDirectory, Respect};
use super::{Workspace, system_error};
use crate::files::PATH_ONLY;
use crate::processors;
use gemini_tools_core::tool::{Cancellation, ToolError};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, FileType, OFlags};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::ffi::{CStr, OsStr};
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::Builder;

/// A directory with more than twice as many files is divided into tasks of so many, so that several
/// workers share it.
const FILES_PER_TASK: usize = 128;

const TASKS_WORTH_A_HELPER: usize = 6;

/// Maximum number of workers. More gain nothing, because they wait for the kernel's locks on
/// directories.
const MAX_WORKERS: usize = 12;

/// Names of directories in `/` that are file systems of the kernel. They are never walked.
const PSEUDO_DIRECTORIES: [&[u8]; 3] = [b"proc", b"sys", b"dev"];

/// Maximum size of one directory's entries in memory, in bytes: some 400,000 entries. A larger
/// directory counts as unreadable.
const MAX_WALKED_DIRECTORY_BYTES: usize = 16 * 1024 * 1024;

/// The most files and directories that are named as unreadable.
pub const MAX_NAMED: usize = 100;

/// Maximum size in memory, in bytes, of the entries that [`Workspace::list_dir`] lists.
pub const MAX_ENTRIES_BYTES: usize = 24 * 1024 * 1024;

const ENTRY_BYTES: usize = 96;

const MAX_IGNORED_ENTRIES: usize = 50_000;

const GIT: &[u8] = b".git";

/// The name of the directory with a project's dependencies, often hundreds of thousands of files.
pub const NODE_MODULES: &[u8] = b"node_modules";

/// How directories called `node_modules` are treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum NodeModules {
    /// The directories are not entered, only counted.
    LeftOut,
    /// The directories are treated like all others.
    Ordinary,
    /// The directories are entered even if git's rules exclude them, because the caller named one.
    Named,
}

impl NodeModules {
    /// Returns how a search treats directories called `node_modules`. They count as named if the
    /// search's path or one of its patterns has their name. Otherwise they are left out, unless
    /// git's rules do not count (`git`).
    pub fn asked_by<'a>(
        patterns: impl IntoIterator<Item = &'a str>,
        path: Option<&str>,
        git: bool,
    ) -> Self {
        let is_in = |text: &str| text.to_ascii_lowercase().contains("node_modules");
        // `!(node_modules)` excludes the directory, so it does not ask for it.
        let is_named = |pattern: &str| is_in(pattern) && !pattern.contains("!(");
        if path.is_some_and(is_in) || patterns.into_iter().any(is_named) {
            Self::Named
        } else if git {
            Self::LeftOut
        } else {
            Self::Ordinary
        }
    }
}

/// Options of a walk.
#[derive(Debug, Clone, Copy)]
pub struct WalkOptions {
    /// The ignore files that count.
    pub respect: Respect,
    /// The treatment of directories that are called `node_modules`.
    pub node_modules: NodeModules,
    /// True to visit ignored files too, with [`WalkEntry::ignored`] set, so that they can be
    /// counted.
    pub visit_ignored: bool,
}

/// A file that the walk has met.
#[derive(Debug)]
pub struct WalkEntry<'a> {
    /// The open directory that holds the entry.
    pub dir: BorrowedFd<'a>,
    /// The entry's name in the directory.
    pub name: &'a CStr,
    /// The path relative to the start of the walk.
    pub path: &'a [u8],
    /// The type: a regular file, a link or something special, but never a directory.
    pub file_type: FileType,
    /// The kind of ignore file that excludes the entry; `None` if it is not ignored.
    pub ignored: Option<IgnoreSource>,
}

/// A receiver of the files that a walk finds. Each worker has its own.
pub trait Visitor: Send {
    /// Returns true if a file is of interest. `path` is relative to the start of the walk, and
    /// `name_at` is the offset of the name in it. This is asked before ignore rules are applied.
    fn wants(&self, path: &[u8], name_at: usize) -> bool;

    /// Returns true if a directory is worth entering. The arguments are as for [`Visitor::wants`].
    fn enters(&self, path: &[u8], name_at: usize) -> bool;

    /// Processes a file for which [`Visitor::wants`] has returned true.
    fn visit(&mut self, found: &WalkEntry<'_>);

    /// Called on the worker's thread when the worker has no more files.
    fn finish(&mut self) {
        // Most visitors need no such step.
    }
}

/// What a walk could not do.
#[derive(Debug, Default, Clone)]
pub struct WalkReport {
    /// The number of directories that could not be read.
    pub unreadable: usize,
    /// The first of these directories by name, at most [`MAX_NAMED`]: the path from the start of the
    /// walk, and a sentence that says why.
    pub unreadable_places: BTreeMap<Vec<u8>, String>,
    /// True if more files are ignored than were counted.
    pub more_ignored: bool,
    /// Number of directories called `node_modules` that were skipped and that `.geminiignore` does
    /// not exclude.
    pub node_modules: usize,
}

#[derive(Default)]
struct Outcome {
    report: WalkReport,
    failure: Option<ToolError>,
}

enum Task {
    Directory(Directory),
    Files(Arc<Files>, Range<usize>),
}

struct Directory {
    /// The path relative to the root. It is empty or ends in a slash.
    path: Vec<u8>,
    scope: IgnoreScope,
    ignored: Option<IgnoreSource>,
}

struct Files {
    path: Vec<u8>,
    dir: OwnedFd,
    names: Vec<u8>,
    /// For each file the offset of its name, its type, and why it is ignored.
    entries: Vec<(usize, FileType, Option<IgnoreSource>)>,
}

/// Tasks that busy workers have given away, for workers that have none.
#[derive(Default)]
struct Queue {
    tasks: Vec<Task>,
    busy: usize,
    stopped: bool,
}

struct SharedWalk<'a> {
    workspace: &'a Workspace,
    place: &'a WorkspacePath,
    root: BorrowedFd<'a>,
    users: &'a UsersRules,
    is_whole_system: bool,
    start: usize,
    options: WalkOptions,
    cancel: &'a Cancellation,
    outcome: Mutex<Outcome>,
    queue: Mutex<Queue>,
    wake: Condvar,
    waiting: AtomicUsize,
    ignored_left: AtomicUsize,
}

/// Walks the tree below `place`. Returns the visitors of all workers, each of which `make` has
/// created, and what the walk could not do.
///
/// # Errors
///
/// Returns `cancelled`, `timeout`, the errors of [`Workspace::open_dir`] for `place`, or
/// `permission_denied` if a `.geminiignore` that applies there can't be read.
pub fn walk<V: Visitor>(
    workspace: &Workspace,
    place: &WorkspacePath,
    options: WalkOptions,
    cancel: &Cancellation,
    make: impl Fn() -> V + Sync,
) -> Result<(Vec<V>, WalkReport), ToolError> {
    // `place` may be a link to another directory of the workspace. Its real path counts from here
    // on.
    let named = place;
    let place = &workspace.real_directory(named)?;
    let path = slashed(place);
    let users = UsersRules::default();
    let shared = SharedWalk {
        workspace,
        place,
        root: workspace.roots[place.root].dir.as_fd(),
        users: &users,
        is_whole_system: workspace.roots[place.root].path == Path::new("/"),
        start: path.len(),
        options,
        cancel,
        outcome: Mutex::default(),
        queue: Mutex::new(Queue {
            busy: 1,
            ..Queue::default()
        }),
        wake: Condvar::new(),
        waiting: AtomicUsize::new(0),
        ignored_left: AtomicUsize::new(MAX_IGNORED_ENTRIES),
    };
    let is_closed = options.respect.gemini && workspace.is_closed(named, true)?;
    let first = Directory {
        path,
        scope: workspace.rules_above(place, options.respect, &users)?,
        ignored: is_closed.then_some(IgnoreSource::Gemini),
    };
    let visitors = shared.work(first, &make);
    cancel.check()?;
    let outcome = shared
        .outcome
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    match outcome.failure {
        Some(failure) => Err(failure),
        None => Ok((visitors, outcome.report)),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl SharedWalk<'_> {
    fn work<V: Visitor>(&self, first: Directory, make: &(impl Fn() -> V + Sync)) -> Vec<V> {
        std::thread::scope(|threads| {
            let mut helpers = Vec::new();
            let mut worker = Worker::new(self, make());
            let mut alone = true;
            worker.tasks.push(Task::Directory(first));
            while worker.step() {
                // Helpers are started at most once. `alone` is cleared even if there is only one
                // processor, so that this is not tried again at each step.
                if alone && worker.tasks.len() >= TASKS_WORTH_A_HELPER {
                    alone = false;
                    let mut queue = lock(&self.queue);
                    let work = || Worker::new(self, make()).work();
                    let start = |_| Builder::new().spawn_scoped(threads, work).ok();
                    helpers.extend((1..processors().min(MAX_WORKERS)).map_while(start));
                    queue.busy += helpers.len();
                    drop(queue);
                    if !helpers.is_empty() {
                        worker.share();
                    }
                }
            }
            worker.visitor.finish();
            let mut visitors = vec![worker.visitor];
            for helper in helpers {
                let joined = helper.join();
                visitors.push(joined.unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            }
            visitors
        })
    }

    fn next(&self) -> Option<Task> {
        let mut queue = lock(&self.queue);
        queue.busy -= 1;
        loop {
            if queue.stopped {
                return None;
            }
            if let Some(task) = queue.tasks.pop() {
                queue.busy += 1;
                return Some(task);
            }
            if queue.busy == 0 {
                queue.stopped = true;
                self.wake.notify_all();
                return None;
            }
            self.waiting.fetch_add(1, Ordering::Relaxed);
            queue = self
                .wake
                .wait(queue)
                .unwrap_or_else(PoisonError::into_inner);
            self.waiting.fetch_sub(1, Ordering::Relaxed);
        }
    }

    fn stop(&self) {
        lock(&self.queue).stopped = true;
        self.wake.notify_all();
    }
}

struct Worker<'a, V> {
    shared: &'a SharedWalk<'a>,
    visitor: V,
    tasks: Vec<Task>,
    dents: Vec<u8>,
    entries: Entries,
    path: Vec<u8>,
    _alarm: Alarm<'a>,
}

/// Stops the walk if a worker panics, because the others would wait for it forever.
struct Alarm<'a>(&'a SharedWalk<'a>);

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.stop();
        }
    }
}

impl<'a, V: Visitor> Worker<'a, V> {
    fn new(shared: &'a SharedWalk<'a>, visitor: V) -> Self {
        Self {
            shared,
            visitor,
            tasks: Vec::new(),
            dents: Vec::with_capacity(64 * 1024),
            entries: Entries::default(),
            path: Vec::new(),
            _alarm: Alarm(shared),
        }
    }

    fn work(mut self) -> V {
        while self.step() {}
        self.visitor.finish();
        self.visitor
    }

    fn step(&mut self) -> bool {
        let Some(task) = self.tasks.pop().or_else(|| self.shared.next()) else {
            return false;
        };
        if self.shared.cancel.interruption().is_some() {
            self.shared.stop();
            return false;
        }
        match &task {
            Task::Directory(directory) => self.directory(directory),
            Task::Files(files, range) => self.visit_files(files, range.clone()),
        }
        if self.shared.waiting.load(Ordering::Relaxed) > 0 {
            self.share();
        }
        true
    }

    fn share(&mut self) {
        let half = self.tasks.len() / 2;
        if half > 0 {
            lock(&self.shared.queue)
                .tasks
                .extend(self.tasks.drain(..half));
            self.shared.wake.notify_all();
        }
    }

    fn directory(&mut self, task: &Directory) {
        let shared = self.shared;
        let listed = open_without_links(shared.root, &task.path).and_then(|dir| {
            let cost = |length| size_of::<(usize, FileType)>() + length + 1;
            let max_bytes = MAX_WALKED_DIRECTORY_BYTES;
            let read = self.entries.read(&dir, &mut self.dents, max_bytes, cost);
            read.map(|()| dir)
        });
        let dir = match listed {
            Ok(dir) => dir,
            Err(errno) => return self.unreadable(&task.path, errno),
        };
        let seen = self.entries.seen;
        let scope = if task.ignored.is_some() || seen == IgnoreFilesSeen::default() {
            task.scope.clone()
        } else {
            let respect = shared.options.respect;
            let (workspace, users) = (shared.workspace, shared.users);
            let dir = OpenDirectory {
                fd: dir.as_fd(),
                root: shared.place.root,
                path: &task.path,
            };
            match task.scope.entered(workspace, dir, seen, respect, users) {
                Ok(scope) => scope,
                Err(closed) => return self.closed(&task.path, closed),
            }
        };
        self.sort_out(task, &scope, dir);
    }

    /// Queues the files and directories of a listed directory. The worker takes the files first.
    fn sort_out(&mut self, task: &Directory, scope: &IgnoreScope, dir: OwnedFd) {
        let mut files = Files {
            path: task.path.clone(),
            dir,
            names: Vec::new(),
            entries: Vec::new(),
        };
        let mut tasks = Vec::new();
        self.path.clear();
        self.path.extend_from_slice(&task.path);
        let name_at = self.path.len();
        for (name, file_type) in self.entries.iter() {
            self.path.truncate(name_at);
            self.path.extend_from_slice(name.to_bytes());
            let file_type = match file_type {
                FileType::Unknown => type_of(&files.dir, name),
                known => known,
            };
            if !self.is_of_interest(task, scope, name_at, file_type) {
                continue;
            }
            let ignored = self.ignored(task, scope, name_at, file_type);
            let is_counted =
                || self.shared.options.visit_ignored && self.shared.may_count_ignored();
            if ignored.is_some() && !is_counted() {
                continue;
            }
            if file_type != FileType::Directory {
                files.entries.push((files.names.len(), file_type, ignored));
                files.names.extend_from_slice(name.to_bytes_with_nul());
                continue;
            }
            let mut path = Vec::with_capacity(self.path.len() + 1);
            path.extend_from_slice(&self.path);
            path.push(b'/');
            tasks.push(Task::Directory(Directory {
                path,
                scope: scope.clone(),
                ignored,
            }));
        }
        // Tasks are taken from the end of the stack, so the first directory must come last.
        tasks.reverse();
        let count = files.entries.len();
        let mut piece = count.max(1);
        if count > 2 * FILES_PER_TASK {
            // The entries of a large directory are freed before its files are visited.
            self.entries = Entries::default();
            piece = FILES_PER_TASK;
        }
        let files = Arc::new(files);
        let pieces = (0..count).step_by(piece).rev();
        let pieces = pieces.map(|from| from..(from + piece).min(count));
        tasks.extend(pieces.map(|range| Task::Files(Arc::clone(&files), range)));
        self.tasks.append(&mut tasks);
    }

    /// Returns true if the entry at `self.path` is to be visited or entered, unless ignore rules
    /// exclude it.
    fn is_of_interest(
        &self,
        task: &Directory,
        scope: &IgnoreScope,
        name_at: usize,
        file_type: FileType,
    ) -> bool {
        let shared = self.shared;
        let name = &self.path[name_at..];
        let is_dir = file_type == FileType::Directory;
        let is_top = is_dir && task.path.is_empty() && shared.is_whole_system;
        if name == GIT || is_top && PSEUDO_DIRECTORIES.contains(&name) {
            return false;
        }
        let path = &self.path[shared.start..];
        let is_wanted = if is_dir {
            self.visitor.enters(path, name_at - shared.start)
        } else {
            self.visitor.wants(path, name_at - shared.start)
        };
        let is_left_out = is_wanted
            && is_dir
            && name == NODE_MODULES
            && shared.options.node_modules == NodeModules::LeftOut;
        if is_left_out {
            let rules = scope.rules.without_git();
            if task.ignored.is_none() && rules.ignored(&self.path, name_at, true).is_none() {
                lock(&shared.outcome).report.node_modules += 1;
            }
        }
        is_wanted && !is_left_out
    }

    fn ignored(
        &self,
        task: &Directory,
        scope: &IgnoreScope,
        name_at: usize,
        file_type: FileType,
    ) -> Option<IgnoreSource> {
        let options = &self.shared.options;
        let is_dir = file_type == FileType::Directory;
        let is_named = is_dir
            && &self.path[name_at..] == NODE_MODULES
            && options.node_modules == NodeModules::Named;
        let ignored = match task.ignored {
            None if is_named => {
                let rules = scope.rules.without_git();
                rules.ignored(&self.path, name_at, is_dir)
            }
            None if !scope.rules.is_empty() => scope.rules.ignored(&self.path, name_at, is_dir),
            other => other,
        };
        let leads_to_closed = || {
            let is_link = file_type == FileType::Symlink && options.respect.gemini;
            is_link && self.shared.is_closed(&self.path[self.shared.start..])
        };
        ignored.or_else(|| leads_to_closed().then_some(IgnoreSource::Gemini))
    }

    fn visit_files(&mut self, files: &Files, range: Range<usize>) {
        // From here on, `self.path` is relative to the start of the walk, as visitors get it.
        self.path.clear();
        self.path
            .extend_from_slice(&files.path[self.shared.start..]);
        let name_at = self.path.len();
        for (at, file_type, ignored) in &files.entries[range] {
            let name = name_from(&files.names, *at);
            self.path.truncate(name_at);
            self.path.extend_from_slice(name.to_bytes());
            self.visitor.visit(&WalkEntry {
                dir: files.dir.as_fd(),
                name,
                path: &self.path,
                file_type: *file_type,
                ignored: *ignored,
            });
        }
    }

    fn unreadable(&self, path: &[u8], errno: Errno) {
        // A directory that was removed meanwhile, or replaced by a link, is treated as if it had
        // never been there.
        if matches!(errno, Errno::NOENT | Errno::NOTDIR | Errno::LOOP) {
            return;
        }
        self.left_out(path, || {
            let shown = gemini_tools_core::text::line_name(path);
            let shown = match shown.trim_end_matches('/') {
                "" => ".",
                path => path,
            };
            if errno == Errno::FBIG {
                let most = MAX_WALKED_DIRECTORY_BYTES / (1024 * 1024);
                return format!("the entries of {shown} take more than {most} MiB.");
            }
            system_error(errno, shown).message
        });
    }

    /// Records a directory whose `.geminiignore` can't be read. If the walk starts there, it fails.
    fn closed(&self, path: &[u8], why: ToolError) {
        let shared = self.shared;
        if path.len() == shared.start {
            lock(&shared.outcome).failure = Some(why);
        } else {
            self.left_out(path, || why.message);
        }
    }

    fn left_out(&self, path: &[u8], why: impl FnOnce() -> String) {
        let report = &mut lock(&self.shared.outcome).report;
        report.unreadable += 1;
        let path = path.strip_suffix(b"/").unwrap_or(path);
        name_one(&mut report.unreadable_places, path.to_owned(), why());
    }
}

/// Adds a name with a reason to those that are told, which are the first [`MAX_NAMED`] by name.
pub fn name_one(told: &mut BTreeMap<Vec<u8>, String>, name: Vec<u8>, why: String) {
    told.insert(name, why);
    if told.len() > MAX_NAMED {
        told.pop_last();
    }
}

impl SharedWalk<'_> {
    fn is_closed(&self, below: &[u8]) -> bool {
        let below = Path::new(OsStr::from_bytes(below));
        self.workspace.is_gemini_ignored(&self.place.join(below))
    }

    fn may_count_ignored(&self) -> bool {
        let take = |left: usize| left.checked_sub(1);
        let left = &self.ignored_left;
        let is_left = left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, take)
            .is_ok();
        if !is_left {
            lock(&self.outcome).report.more_ignored = true;
        }
        is_left
    }
}

fn name_from(names: &[u8], at: usize) -> &CStr {
    CStr::from_bytes_until_nul(&names[at..]).unwrap_or_default()
}

fn type_of(dir: &OwnedFd, name: &CStr) -> FileType {
    rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW).map_or(FileType::Unknown, |stat| {
        FileType::from_raw_mode(stat.st_mode)
    })
}

fn open_without_links(root: BorrowedFd<'_>, path: &[u8]) -> Result<OwnedFd, Errno> {
    let path = Path::new(OsStr::from_bytes(path.strip_suffix(b"/").unwrap_or(path)));
    open_plain(root, path, OFlags::RDONLY | OFlags::DIRECTORY)
}

#[derive(Default)]
struct Entries {
    names: Vec<u8>,
    types: Vec<(usize, FileType)>,
    seen: IgnoreFilesSeen,
}

impl Entries {
    /// Reads the entries of a directory.
    ///
    /// # Errors
    ///
    /// Returns `FBIG` if the entries exceed `max_bytes`, or the operating system's error. `cost`
    /// returns how many bytes an entry with a name of a given length counts.
    fn read(
        &mut self,
        dir: &OwnedFd,
        buffer: &mut Vec<u8>,
        max_bytes: usize,
        cost: fn(usize) -> usize,
    ) -> Result<(), Errno> {
        self.names.clear();
        self.types.clear();
        self.seen = IgnoreFilesSeen::default();
        let mut taken = 0;
        let mut take = |name: &CStr, file_type| {
            if matches!(name.to_bytes(), b"." | b"..") {
                return;
            }
            self.seen.note(name.to_bytes());
            taken += cost(name.count_bytes());
            if taken <= max_bytes {
                self.types.push((self.names.len(), file_type));
                self.names.extend_from_slice(name.to_bytes_with_nul());
            }
        };
        #[cfg(target_os = "linux")]
        {
            buffer.clear();
            let mut entries = rustix::fs::RawDir::new(dir, buffer.spare_capacity_mut());
            while let Some(entry) = entries.next() {
                let entry = entry?;
                take(entry.file_name(), entry.file_type());
            }
        }
        #[cfg(not(target_os = "linux"))]
        {
            let _ = buffer;
            for entry in rustix::fs::Dir::read_from(dir)? {
                let entry = entry?;
                take(entry.file_name(), entry.file_type());
            }
        }
        if taken > max_bytes {
            return Err(Errno::FBIG);
        }
        Ok(())
    }

    fn iter(&self) -> impl Iterator<Item = (&CStr, FileType)> {
        let entries = self.types.iter();
        entries.map(|(at, file_type)| (name_from(&self.names, *at), *file_type))
    }
}

impl Workspace {
    pub(super) fn real_place(&self, place: &WorkspacePath) -> Option<WorkspacePath> {
        let open = self.open_beneath(place, PATH_ONLY).ok()?;
        real_path(&open).and_then(|path| self.beneath(&path))
    }

    fn real_directory(&self, place: &WorkspacePath) -> Result<WorkspacePath, ToolError> {
        let dir = self.open_dir(place)?;
        if open_without_links(self.roots[place.root].dir.as_fd(), &slashed(place)).is_ok() {
            return Ok(place.clone());
        }
        let real = real_path(&dir).and_then(|path| self.beneath(&path));
        real.ok_or_else(|| Self::path_error(super::resolve::ResolveError::Escapes, place))
    }
}

fn slashed(place: &WorkspacePath) -> Vec<u8> {
    let mut path = place.rel().as_os_str().as_bytes().to_vec();
    if !path.is_empty() {
        path.push(b'/');
    }
    path
}

pub(super) fn real_path(dir: &(impl AsFd + std::os::fd::AsRawFd)) -> Option<PathBuf> {
    #[cfg(target_os = "linux")]
    {
        std::fs::read_link(format!("/proc/self/fd/{}", dir.as_raw_fd())).ok()
    }
    #[cfg(not(target_os = "linux"))]
    {
        let path = rustix::fs::getpath(dir).ok()?;
        Some(OsStr::from_bytes(path.to_bytes()).into())
    }
}
