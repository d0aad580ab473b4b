//! Old contents that a write removes, for a keeper: see `journal`.
//!
//! When the new content is ready, the keeper is asked where the old file is to go and what is to
//! be recorded. The old file, which the write would remove, is renamed, and one line is appended to
//! a log. So keeping costs nearly nothing, and there is a line only for a change that was made. A
//! kill between these calls leaves the change without its line.

use super::{OpenFile, Workspace, WorkspacePath, resolve::Entry};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, Mode, fchmod, renameat, unlinkat};
use rustix::io::{Errno, retry_on_intr, write};
use std::cell::Cell;
use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A keeper of the old content of files that are written.
pub trait Keeper: fmt::Debug + Send + Sync {
    /// Prepares the backup of a change that is about to be made, which is dropped if the change is
    /// not made after all.
    ///
    /// # Errors
    ///
    /// Returns why nothing can be kept, as the end of a sentence. The change is made all the same.
    fn prepare(&self, change: &Change<'_>) -> Result<Backup, String>;
}

/// The call that makes a change.
#[derive(Debug, Clone, Default)]
pub struct ChangeOrigin {
    /// The tool's name.
    pub tool: String,
    /// The call's id, if it has one.
    pub call: Option<String>,
    /// The id that the change gets in the journal, if it is given.
    pub id: Option<String>,
    /// The ids of the changes that are undone by this one, newest first.
    pub undoes: Vec<String>,
}

/// A change that is about to be made.
#[derive(Debug)]
pub struct Change<'a> {
    /// The call that makes it.
    pub origin: &'a ChangeOrigin,
    /// The absolute path, without links if the system can tell.
    pub path: &'a Path,
    /// The path below its root.
    pub rel: &'a Path,
    /// True for a file of the user's own outside of all roots.
    pub is_users: bool,
    /// True if `.geminiignore` names the file.
    pub is_gemini_ignored: bool,
    /// The directory of the file, or the deepest one above it that exists.
    pub dir: BorrowedFd<'a>,
    /// The directories above the file that the change makes.
    pub made_directories: usize,
    /// The file that is there; `None` if the change makes one.
    pub old: Option<&'a OpenFile>,
    /// The file that will be there; `None` if the change removes it.
    pub new: Option<&'a File>,
    /// True if the old file can't be moved, so that it has to be copied.
    pub must_copy: bool,
}

/// The preparations for a change: the place of the old file, and the line that records the change.
#[derive(Debug)]
pub struct Backup {
    /// The directory for the old file, and its name there. The old file is removed if there is none.
    pub moved_to: Option<(Arc<OwnedFd>, String)>,
    /// The directory and the name of a copy of the old file, removed if the change is not made.
    pub copy: Option<(Arc<OwnedFd>, String)>,
    /// The log, open for appending.
    pub log: File,
    /// The line that is appended to the log.
    pub line: Vec<u8>,
    /// The reason why the old content is lost.
    pub lost: Option<String>,
    is_made: Cell<bool>,
}

impl Backup {
    /// Returns the preparations for a change that keeps nothing but a line in the log.
    pub fn new(log: File, line: Vec<u8>) -> Self {
        Self {
            moved_to: None,
            copy: None,
            log,
            line,
            lost: None,
            is_made: Cell::new(false),
        }
    }

    /// Moves the old file, which is called `name` in `dir`, to its place in the journal, and makes
    /// it the user's alone. The log records the mode that it had.
    ///
    /// # Errors
    ///
    /// Returns the operating system's error if the file can't be moved.
    pub(super) fn take(&self, dir: BorrowedFd<'_>, name: &str, old: &File) -> Result<(), Errno> {
        if let Some((to, kept)) = &self.moved_to {
            renameat(dir, name, to, kept)?;
            let _ = fchmod(old, Mode::from_raw_mode(0o600));
        }
        Ok(())
    }

    /// Records that the change was made. Returns why it can't be undone, if it can't.
    fn record(&self) -> Option<String> {
        self.is_made.set(true);
        // One call, so that lines of several writers don't mix.
        match retry_on_intr(|| write(&self.log, &self.line)) {
            Ok(count) if count == self.line.len() => self.lost.clone(),
            _ => Some("the journal's log could not be written".to_owned()),
        }
    }
}

impl Drop for Backup {
    fn drop(&mut self) {
        if !self.is_made.get()
            && let Some((dir, name)) = &self.copy
        {
            let _ = unlinkat(&**dir, name.as_str(), AtFlags::empty());
        }
    }
}

/// A change's keeper, with the facts that it is told of the change.
#[derive(Debug)]
pub(super) struct ChangeKeeper {
    keeper: Arc<dyn Keeper>,
    origin: ChangeOrigin,
    is_users: bool,
    is_gemini_ignored: bool,
    path: PathBuf,
    rel: PathBuf,
}

impl ChangeKeeper {
    /// Returns `None` if there is no keeper.
    pub(super) fn new(
        keepers: &Workspace,
        own: Option<&Workspace>,
        place: &WorkspacePath,
        origin: ChangeOrigin,
    ) -> Option<Self> {
        let keeper = keepers.keeper.get()?;
        Some(Self {
            keeper: Arc::clone(keeper),
            origin,
            is_users: own.is_some(),
            is_gemini_ignored: own.is_none() && keepers.is_gemini_ignored(place),
            path: place.path().to_owned(),
            rel: place.rel().to_owned(),
        })
    }

    pub(super) fn prepare(
        &self,
        entry: &Entry,
        old: Option<&OpenFile>,
        new: Option<&File>,
        must_copy: bool,
    ) -> PreparedBackup {
        let real = if self.is_users {
            None
        } else {
            real_path(entry)
        };
        let prepared = self.keeper.prepare(&Change {
            origin: &self.origin,
            path: real.as_deref().unwrap_or(&self.path),
            rel: &self.rel,
            is_users: self.is_users,
            is_gemini_ignored: self.is_gemini_ignored,
            dir: entry.dir.as_fd(),
            made_directories: entry.missing.len(),
            old,
            new,
            must_copy,
        });
        match prepared {
            Ok(backup) => PreparedBackup {
                backup: Some(backup),
                obstacle: None,
            },
            Err(reason) => PreparedBackup {
                backup: None,
                obstacle: Some(reason),
            },
        }
    }
}

/// A keeper's preparations, or the reason why there are none.
#[derive(Debug, Default)]
pub(super) struct PreparedBackup {
    pub(super) backup: Option<Backup>,
    obstacle: Option<String>,
}

impl PreparedBackup {
    /// Records that the change was made. Returns why it can't be undone, if it can't.
    pub(super) fn record(self) -> Option<String> {
        let recorded = self.backup.as_ref().and_then(Backup::record);
        self.obstacle.or(recorded)
    }
}

/// Returns the path of an entry, without links.
fn real_path(entry: &Entry) -> Option<PathBuf> {
    let mut path = super::walk::real_path(&entry.dir)?;
    path.extend(&entry.missing);
    path.push(entry.name.as_deref()?);
    Some(path)
}
