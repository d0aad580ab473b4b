//! The journal of what tools have changed, and taking changes back.
//!
//! Each write of a tool asks the journal first (`keeper`). In the same step in which the new file
//! gets its name, the old one is renamed into the journal, and one line is appended to its log. So
//! no content is copied, and a kill leaves both or neither. The line says whose change it was, and
//! what the file was before and after. Nothing is ever rewritten: each hour is a directory, and is
//! removed as a whole (`prune`).
//!
//! An undo (`undo`) follows the lines of a file backwards from its present content, as long as each
//! line describes what is there. It then writes what the last of these lines started from. That is
//! a write like any other, and has a line in the journal too.
//!
//! # What it owns
//!
//! - [`Journal`]: what a workspace writes to, and its limits;
//! - [`History`]: the entries, and which of them still stand;
//! - [`CommandChanges`]: what a command changes, kept before it does;
//! - [`Undo`]: taking changes back;
//! - [`Journal::prune`]: keeping age and size within the limits;
//! - the directories of all of that (`place`).
//!
//! Who may be shown or asked what, settings and the command line are up to the callers. Paths are
//! those of the workspace, which refuses what lies outside of it.
//!
//! # Example
//!
//! ```
//! use gemini_tools_core::tool::Cancellation;
//! use gemini_tools_workspace::journal::{Caller, ChangeOrigin, Filter, History, Journal, Limits, Undo};
//! use gemini_tools_workspace::Workspace;
//! use std::io::Write;
//! use std::sync::Arc;
//!
//! let dir = tempfile::tempdir()?;
//! let (home, root) = (dir.path().join("home"), dir.path().join("project"));
//! std::fs::create_dir(&root)?;
//! let root = root.canonicalize()?;
//! let workspace = Workspace::open_at(&root, &[], Some(&home))?;
//! let caller = || Caller { program: "editor".to_owned(), session: "today".to_owned() };
//! let journal = Journal::new(home.clone(), Limits::default(), &[], caller);
//! workspace.set_journal(Arc::new(journal));
//!
//! std::fs::write(root.join("a.txt"), "one\n")?;
//! let place = workspace.locate("a.txt")?;
//! let cancel = Cancellation::default();
//! let origin = ChangeOrigin { tool: "write_file".to_owned(), ..ChangeOrigin::default() };
//! let target = workspace.target(&place, &cancel)?.recorded(&workspace, &place, origin);
//! target.commit(&place, |file| file.write_all(b"two\n"))?;
//!
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
pub use entry::{ContentStamp, FileState, JournalEntry, OldContent};
pub use history::{Filter, History};
pub(crate) use intent::{Intent, IntentRecord, StepRecord};
pub use keeper::now;
pub(crate) use keeper::read;
pub(crate) use place::is_mount_point;
pub use undo::{FileOutcome, UNDO, Undo, UndoRefusal};

use crate::pattern::PatternSet;
use std::path::PathBuf;
use std::sync::OnceLock;

/// The limits of age and size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The age in milliseconds at which changes are removed.
    pub max_age_millis: u64,
    /// The size in bytes above which the oldest changes are removed.
    pub max_bytes: u64,
}

impl Limits {
    /// Makes limits of days, of 24 hours each, and of megabytes, of 1024 × 1024 bytes each.
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

/// The journal that keeps what the writes of a workspace replace.
#[derive(Debug)]
pub struct Journal {
    home: PathBuf,
    limits: Limits,
    exclude: PatternSet,
    find_caller: fn() -> Caller,
    caller: OnceLock<Caller>,
}

impl Journal {
    /// Creates a journal below the home directory. `exclude` has patterns as in `.gitignore`: no content is kept of
    /// matching files, and of those below matching directories. `find_caller` is called at the first change.
    pub fn new(
        home: PathBuf,
        limits: Limits,
        exclude: &[String],
        find_caller: fn() -> Caller,
    ) -> Self {
        let patterns = exclude
            .iter()
            .map(|pattern| pattern.strip_suffix('/').unwrap_or(pattern));
        // If a pattern is invalid, nothing is kept, since the pattern may be meant for secrets.
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

/// The program and the session that caused a change.
#[derive(Debug)]
pub struct Caller {
    /// The name of the program.
    pub program: String,
    /// The name of the session.
    pub session: String,
}
