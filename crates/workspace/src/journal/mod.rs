//! Keeps a journal of what tools have changed, and undoes changes.
//!
//! Each write of a tool asks the journal first (`keeper`). When the new file has got its name, the
//! old one is renamed into the journal, and one line is appended to the journal's log. So no
//! content is copied, unless the old file lies on another file system or has several names. A kill
//! between these calls leaves a change without its line, which can't be undone. The line says who
//! made the change, and what the file was before and after. No line is ever rewritten: each hour
//! has a directory, which is removed as a whole (`prune`).
//!
//! An undo (`undo`) follows the lines of a file backwards from its present content, as long as each
//! line describes the content that the later one started from. It then writes the content from
//! before the oldest of these lines. That write has a line in the journal too.
//!
//! # What it owns
//!
//! - [`Journal`]: the journal that a workspace writes to, and its limits;
//! - [`History`]: the entries, and which of them have been undone;
//! - [`CommandChanges`]: keeping what a command changes, before it does;
//! - [`Undo`]: undoing changes;
//! - [`Journal::prune`]: removing changes that exceed the limits of age and size;
//! - the directories of the journal (`place`).
//!
//! The callers decide who may see or undo which changes, and have the settings and the command
//! line. All paths go through the workspace, which refuses those outside of it.
//!
//! # Example
//!
//! ```
//! use gemini_tools_core::tool::Cancellation;
//! use gemini_tools_workspace::journal::{
//!     Caller, ChangeOrigin, Filter, History, Journal, Limits, Undo, UndoLock,
//! };
//! use gemini_tools_workspace::Workspace;
//! use std::io::Write;
//! use std::sync::Arc;
//!
//! let dir = tempfile::tempdir()?;
//! let (home, root) = (dir.path().join("home"), dir.path().join("project"));
//! for directory in [&home, &root] {
//!     std::fs::create_dir(directory)?;
//! }
//! let root = root.canonicalize()?;
//! let workspace = Workspace::open_at(&root, &[], Some(&home))?;
//! let caller = || Caller { program: "editor".to_owned(), session: "today".to_owned() };
//! let journal = Journal::new(Some(home.clone()), Limits::default(), &[], caller);
//! workspace.set_journal(Arc::new(journal));
//!
//! std::fs::write(root.join("a.txt"), "one\n")?;
//! let place = workspace.locate("a.txt")?;
//! let cancel = Cancellation::default();
//! let origin = ChangeOrigin { tool: "write_file".to_owned(), ..ChangeOrigin::default() };
//! let target = workspace.target(&place, &cancel)?.recorded(&workspace, &place, origin);
//! target.commit(&place, |file| file.write_all(b"two\n"))?;
//!
//! let lock = UndoLock::wait(&home, &cancel)?;
//! let history = History::load(&home)?;
//! let chosen = history.chosen(&Filter::default());
//! let undo = Undo { workspace: &workspace, memory: Vec::new(), is_explained: false, cancel };
//! let outcomes = undo.take_back(&home, &history, &chosen);
//! assert_eq!(outcomes[0].undone, chosen);
//! assert_eq!(std::fs::read_to_string(root.join("a.txt"))?, "one\n");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod backup;
mod command;
mod entry;
mod history;
mod intent;
mod keeper;
mod node;
mod place;
mod prune;
mod scope;
mod undo;

pub use backup::ChangeOrigin;
pub(crate) use backup::{Backup, PendingChange};
pub use command::{Access, ChangeCounts, CommandChanges};
pub(crate) use entry::FileId;
pub use entry::{ContentStamp, FileState, JournalEntry, OldContent};
pub use history::{Filter, History};
pub(crate) use intent::{
    Intent, IntentRecord, KeptContent, ModeRecord, RewriteRecord, StepRecord, UndoRecord, remove,
};
pub use keeper::now;
pub(crate) use keeper::{clone_or_copy, read, state};
pub(crate) use node::{look, names_below, open_writable, set_mode};
pub(crate) use place::{is_mount_point, open_file};
pub use undo::{FileOutcome, UNDO, Undo, UndoLock, UndoRefusal};

use crate::pattern::PatternSet;
use std::path::PathBuf;
use std::sync::OnceLock;

/// The limits of the journal's age and size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The age in milliseconds from which changes are removed.
    pub max_age_millis: u64,
    /// The size in bytes above which the oldest changes are removed.
    pub max_bytes: u64,
}

impl Limits {
    /// Creates limits from days (of 24 hours) and megabytes (of 1024 × 1024 bytes).
    pub fn new(days: u32, megabytes: u32) -> Self {
        Self {
            max_age_millis: u64::from(days) * 24 * place::HOUR_MILLIS,
            max_bytes: u64::from(megabytes) * 1024 * 1024,
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self::new(7, 256)
    }
}

/// The journal that keeps the old content of the files that a workspace writes.
#[derive(Debug)]
pub struct Journal {
    home: Option<PathBuf>,
    limits: Limits,
    exclude: PatternSet,
    find_caller: fn() -> Caller,
    caller: OnceLock<Caller>,
}

impl Journal {
    /// Creates a journal below the home directory. Without one, each change says that it can't be
    /// kept. `exclude` has patterns as in `.gitignore`: the
    /// content of matching files, and of files below matching directories, is not kept.
    /// `find_caller` is called when the first change is recorded.
    pub fn new(
        home: Option<PathBuf>,
        limits: Limits,
        exclude: &[String],
        find_caller: fn() -> Caller,
    ) -> Self {
        let patterns = exclude
            .iter()
            .map(|pattern| pattern.strip_suffix('/').unwrap_or(pattern));
        // If a pattern is invalid, no content is kept, since the pattern may be meant for secrets.
        let exclude = PatternSet::for_names_or_paths(patterns, false)
            .or_else(|_| PatternSet::for_names_or_paths(["*"], false))
            .unwrap_or_default();
        Self {
            home,
            limits,
            exclude,
            find_caller,
            caller: OnceLock::new(),
        }
    }

    fn caller(&self) -> &Caller {
        self.caller.get_or_init(self.find_caller)
    }
}

/// The programs that run a script of somebody's, for whom the script may make calls.
pub const SCRIPT_RUNNERS: [&str; 9] = [
    "ash", "bash", "dash", "fish", "ksh", "make", "mksh", "sh", "zsh",
];

/// The program and the session that caused a change.
#[derive(Debug)]
pub struct Caller {
    /// The name of the program.
    pub program: String,
    /// The name of the session.
    pub session: String,
}
