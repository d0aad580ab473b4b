//! A change on its way into the journal.
//!
//! When the new content of a file is ready, the journal says where the old file is to go and what
//! is to be recorded. The old file, which the write would remove, is renamed, and one line is
//! appended to a log. So keeping costs nearly nothing, and there is a line only for a change that
//! was made. A kill between these calls leaves the change without its line.

use super::Journal;
use crate::{Workspace, WorkspacePath, resolve::Entry};
use rustix::fd::{BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, Mode, fchmod, renameat, unlinkat};
use rustix::io::{Errno, retry_on_intr, write};
use std::cell::Cell;
use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;

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

/// A change that the journal is to record.
#[derive(Debug)]
pub(crate) struct PendingChange {
    pub(super) journal: Arc<Journal>,
    pub(super) origin: ChangeOrigin,
    /// True for a file of the user's own outside of all roots.
    pub(super) is_users: bool,
    pub(super) is_gemini_ignored: bool,
    path: PathBuf,
    /// The path below its root.
    pub(super) rel: PathBuf,
}

impl PendingChange {
    /// Returns `None` if the workspace has no journal. `own` is the workspace of a file of the
    /// user's own.
    pub(crate) fn new(
        workspace: &Workspace,
        own: Option<&Workspace>,
        place: &WorkspacePath,
        origin: ChangeOrigin,
    ) -> Option<Self> {
        Some(Self {
            journal: Arc::clone(workspace.journal.get()?),
            origin,
            is_users: own.is_some(),
            is_gemini_ignored: own.is_none() && workspace.is_gemini_ignored(place),
            path: place.path().to_owned(),
            rel: place.rel().to_owned(),
        })
    }

    /// Returns the absolute path of the file, without links if the system can tell.
    pub(super) fn real_path(&self, entry: &Entry) -> PathBuf {
        let real = || {
            let mut path = crate::walk::real_path(&entry.dir)?;
            path.extend(&entry.missing);
            path.push(entry.name.as_deref()?);
            Some(path)
        };
        let real = if self.is_users { None } else { real() };
        real.unwrap_or_else(|| self.path.clone())
    }
}

/// The preparations for a change: the place of the old file, and the line that records the change.
#[derive(Debug)]
pub(crate) struct Backup {
    /// The directory for the old file, and its name there. The old file is removed if there is none.
    pub(crate) moved_to: Option<(Arc<OwnedFd>, String)>,
    /// The directory and the name of a copy of the old file, removed if the change is not made.
    pub(super) copy: Option<(Arc<OwnedFd>, String)>,
    /// The log, open for appending.
    pub(super) log: File,
    /// The line that is appended to the log.
    pub(super) line: Vec<u8>,
    /// The reason why the old content is lost.
    pub(super) lost: Option<String>,
    is_made: Cell<bool>,
}

impl Backup {
    /// Returns the preparations for a change that keeps nothing but a line in the log.
    pub(super) fn new(log: File, line: Vec<u8>) -> Self {
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
    pub(crate) fn take(&self, dir: BorrowedFd<'_>, name: &str, old: &File) -> Result<(), Errno> {
        if let Some((to, kept)) = &self.moved_to {
            renameat(dir, name, to, kept)?;
            let _ = fchmod(old, Mode::from_raw_mode(0o600));
        }
        Ok(())
    }

    /// Records that the change was made. Returns why it can't be undone, if it can't.
    pub(crate) fn record(&self) -> Option<String> {
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
