//! Records a single change in the journal.
//!
//! When the new content of a file is ready, the journal decides where the old file goes and what
//! will be recorded. After the write, the old file is renamed into the journal instead of being
//! removed, and one line is appended to a log. So keeping it costs nearly nothing, and only a
//! change that was made has a line. A kill between these calls leaves a change without its line.

use super::Journal;
use super::entry::{JournalEntry, OldContent};
use super::keeper::{Hour, stamped, state};
use crate::{Workspace, WorkspacePath, resolve::Entry};
use rustix::fd::BorrowedFd;
use rustix::fs::{AtFlags, Mode, fchmod, fstat, renameat, unlinkat};
use rustix::io::Errno;
use std::cell::Cell;
use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;

/// The tool that makes a change, and the call for which it does.
#[derive(Debug, Clone, Default)]
pub struct ChangeOrigin {
    /// The tool's name.
    pub tool: String,
    /// The call's id, if it has one.
    pub call: Option<String>,
    /// The id that the change is to have in the journal; `None` for a new one.
    pub id: Option<String>,
    /// The ids of the changes that are undone by this one, newest first.
    pub undoes: Vec<String>,
    /// True for one of the user's own files outside of all roots ([`Workspace::for_user_file`]).
    pub is_users_file: bool,
    /// True if the conversation counts as having seen what is written ([`crate::seen`]).
    pub is_remembered: bool,
}

#[derive(Debug)]
pub(crate) struct PendingChange {
    pub(super) journal: Arc<Journal>,
    pub(super) origin: ChangeOrigin,
    pub(super) is_gemini_ignored: bool,
    path: PathBuf,
    pub(super) rel: PathBuf,
}

impl PendingChange {
    pub(crate) fn new(
        workspace: &Workspace,
        place: &WorkspacePath,
        origin: ChangeOrigin,
    ) -> Option<Self> {
        Some(Self {
            journal: Arc::clone(workspace.journal.get()?),
            is_gemini_ignored: !origin.is_users_file && workspace.is_gemini_ignored(place),
            origin,
            path: place.path().to_owned(),
            rel: place.rel().to_owned(),
        })
    }

    pub(super) fn real_path(&self, entry: &Entry) -> PathBuf {
        let real = entry.real_path().filter(|_| !self.origin.is_users_file);
        real.unwrap_or_else(|| self.path.clone())
    }
}

/// The prepared backup of a change: where the old file goes, and the entry to record.
#[derive(Debug)]
pub(crate) struct Backup {
    pub(super) journal: Arc<Journal>,
    pub(super) hour: Hour,
    pub(super) entry: JournalEntry,
    /// True if the user has excluded this file from the journal, so that no content is kept.
    pub(super) is_excluded: bool,
    pub(super) is_prune_due: bool,
    pub(super) is_made: Cell<bool>,
}

impl Backup {
    pub(crate) fn takes_old_file(&self) -> bool {
        self.entry.old_content == OldContent::Moved
    }

    /// Moves the old file, which has the name `name` in `dir`, into the journal, and makes it
    /// readable for the user only. The journal's entry keeps its former mode.
    ///
    /// # Errors
    ///
    /// Returns the operating system's error if the file can't be moved.
    pub(crate) fn take(&self, dir: BorrowedFd<'_>, name: &str, old: &File) -> Result<(), Errno> {
        if self.takes_old_file() {
            renameat(dir, name, &self.hour.dir, &*self.entry.id)?;
            let _ = fchmod(old, Mode::from_raw_mode(0o600));
        }
        Ok(())
    }

    pub(crate) fn has_left(&mut self, file: &File) {
        if let Ok(stat) = fstat(file) {
            self.entry.after = Some(if self.is_excluded {
                stamped(&stat)
            } else {
                state(file, &stat)
            });
        }
    }

    /// Appends the entry to the journal's log, and prunes the journal if it may be too large.
    /// Returns why the change can't be undone; `None` if it can, or if the user has excluded the
    /// file from the journal.
    pub(crate) fn record(&self) -> Option<String> {
        self.is_made.set(true);
        let is_written = self.hour.append(std::slice::from_ref(&self.entry));
        if self.is_prune_due {
            self.journal.prune();
        }
        if !is_written {
            return Some("the journal's log could not be written".to_owned());
        }
        let loss = self.entry.loss().filter(|_| !self.is_excluded);
        loss.map(str::to_owned)
    }
}

impl Drop for Backup {
    fn drop(&mut self) {
        if !self.is_made.get() && self.entry.old_content == OldContent::Copied {
            let _ = unlinkat(&self.hour.dir, &*self.entry.id, AtFlags::empty());
        }
    }
}
