//! Writes down what a change of several files is about to do, before it begins: its intent.
//!
//! The journal's directory `intents/` has a file for each change that is under way, locked by the
//! process that makes it. Its first line names the files that will be prepared, so that they can be
//! removed if the process ends early. Its second line has everything that is needed to complete the
//! change or to take it back. If nobody has locked such a file, its process was killed.

use super::backup::PendingChange;
use super::entry::{ContentStamp, JournalEntry, OldContent};
use super::keeper::{new_id, now, stamped};
use super::{Journal, place};
use crate::{OpenFile, resolve::Entry};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{
    AtFlags, FlockOperation, Mode, OFlags, chmodat, flock, fstat, openat, renameat, unlinkat,
};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

const INTENTS: &str = "intents";

/// A step of a change of several files: the journal entry that records it, and a temporary name in
/// the nearest existing directory above the path. Before the step the new file has this name, and
/// after it the old file.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct StepRecord {
    pub(crate) entry: JournalEntry,
    pub(crate) temporary: String,
}

impl StepRecord {
    /// Creates the record of a step before its new file is written. `missing` is the number of
    /// directories above `path` that don't exist yet.
    pub(crate) fn new(path: &Path, missing: usize, temporary: String) -> Self {
        let entry = JournalEntry {
            made: missing,
            ..JournalEntry::of_path(new_id(), now(), path)
        };
        Self { entry, temporary }
    }

    pub(crate) fn temporary_path(&self) -> PathBuf {
        let path = self.entry.path();
        let dir = path.ancestors().nth(self.entry.made + 1);
        dir.unwrap_or(&path).join(&self.temporary)
    }

    /// Returns the stamps of the file before and after the step; `None` where there is no file.
    pub(crate) fn stamps(&self) -> [Option<ContentStamp>; 2] {
        [&self.entry.before, &self.entry.after].map(|state| Some(state.as_ref()?.stamp))
    }

    /// Keeps the old content in the journal and completes the entry. `new` is the file that
    /// replaces `old`; `None` if that is removed. Returns why the step can't be undone, as the end
    /// of a sentence; `None` if it can, or if nothing is recorded.
    pub(crate) fn prepare(
        &mut self,
        change: Option<&mut PendingChange>,
        target: &Entry,
        old: Option<&OpenFile>,
        new: Option<&File>,
    ) -> io::Result<Option<String>> {
        let state = |file: &File| fstat(file).map(|stat| stamped(&stat));
        self.entry.before = old.map(|old| stamped(&old.stat));
        self.entry.after = new.map(state).transpose()?;
        let Some(change) = change else {
            return Ok(None);
        };
        change.origin.id = Some(self.entry.id.clone());
        match change.prepare(target, old, new, false) {
            Ok(backup) => {
                // Dropping `backup` at the end of this block would remove the copy of the old
                // content. From now on the intent decides how long the copy stays.
                backup.is_made.set(true);
                self.entry = backup.entry.clone();
                let loss = self.entry.loss().filter(|_| !backup.is_excluded);
                Ok(loss.map(str::to_owned))
            }
            Err(reason) => Ok(Some(reason)),
        }
    }
}

/// The content of an intent: the steps of a change of several files.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct IntentRecord {
    /// True if all new files are prepared, so that the change can be completed.
    pub(crate) is_prepared: bool,
    /// True if the workspace has a journal, to whose log the entries are appended.
    pub(crate) is_recorded: bool,
    pub(crate) steps: Vec<StepRecord>,
}

/// The open file of an intent, which this process has locked.
#[derive(Debug)]
pub(crate) struct Intent {
    home: PathBuf,
    dir: OwnedFd,
    name: String,
    file: File,
}

impl Intent {
    /// Creates and locks a new, empty intent below a home directory.
    ///
    /// # Errors
    ///
    /// Returns why that is not possible, as the end of a sentence.
    pub(crate) fn create(home: &Path) -> Result<Self, String> {
        let journal = place::journal(home);
        place::open_or_make(&journal)?;
        let path = journal.join(INTENTS);
        let fail = |e| place::complaint(&path, e);
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::APPEND | OFlags::CLOEXEC;
        loop {
            let dir = place::make(&path).map_err(fail)?;
            let name = new_id();
            let file =
                File::from(openat(&dir, &*name, flags, Mode::from_raw_mode(0o600)).map_err(fail)?);
            flock(&file, FlockOperation::LockExclusive).map_err(fail)?;
            // Between the creation and the lock, another process may have removed the file, taking
            // it for that of a killed process.
            if fstat(&file).map_err(fail)?.st_nlink > 0 {
                let home = home.to_owned();
                return Ok(Self {
                    home,
                    dir,
                    name,
                    file,
                });
            }
        }
    }

    /// Appends the record to the file, and returns once it is on the disk.
    ///
    /// # Errors
    ///
    /// Returns the operating system's error. An earlier record in the file stays valid then.
    pub(crate) fn write(&self, record: &IntentRecord) -> io::Result<()> {
        let mut line = serde_json::to_vec(record)?;
        line.push(b'\n');
        (&self.file).write_all(&line)?;
        self.file.sync_data()
    }

    /// Opens and locks the intents of processes that were killed, each with its last complete
    /// record; `None` if it has none.
    pub(crate) fn left_behind(home: &Path) -> Vec<(Self, Option<IntentRecord>)> {
        let path = place::journal(home).join(INTENTS);
        let Ok(Some(dir)) = place::open(&path) else {
            return Vec::new();
        };
        let open = |name: String| {
            // `.gitignore` and the other files that hide the directory are no intents.
            if name.starts_with('.') {
                return None;
            }
            let mut file = place::open_file(&dir, &*name).ok()?;
            flock(&file, FlockOperation::NonBlockingLockExclusive).ok()?;
            if fstat(&file).ok()?.st_nlink == 0 {
                return None;
            }
            let mut text = Vec::new();
            file.read_to_end(&mut text).ok()?;
            let lines = text.split_inclusive(|byte| *byte == b'\n');
            let whole = lines.filter(|line| line.ends_with(b"\n"));
            let record = whole
                .filter_map(|line| serde_json::from_slice(line).ok())
                .next_back();
            let (home, dir) = (home.to_owned(), dir.try_clone().ok()?);
            Some((
                Self {
                    home,
                    dir,
                    name,
                    file,
                },
                record,
            ))
        };
        place::names(&dir)
            .unwrap_or_default()
            .into_iter()
            .filter_map(open)
            .collect()
    }

    /// Moves the old file, which has the temporary name `name` in `dir`, into the journal if
    /// `entry` says so; otherwise removes it. Unless `is_kept`, a copy of its content in the
    /// journal is removed as well.
    pub(crate) fn put_away(&self, dir: impl AsFd, name: &str, entry: &JournalEntry, is_kept: bool) {
        if !is_kept {
            self.forget(entry);
        }
        let is_moved = is_kept
            && entry.old_content == OldContent::Moved
            && self.hour(entry.at).is_some_and(|hour| {
                let moved = renameat(&dir, name, &hour, &*entry.id);
                let private = Mode::from_raw_mode(0o600);
                moved.is_ok() && chmodat(&hour, &*entry.id, private, AtFlags::empty()).is_ok()
            });
        if !is_moved {
            let _ = unlinkat(&dir, name, AtFlags::empty());
        }
    }

    fn hour(&self, at: u64) -> Option<OwnedFd> {
        let journal = place::open(&place::journal(&self.home)).ok()??;
        place::open_hour(&journal, at / place::HOUR_MILLIS).ok()?
    }

    /// Removes the copy of a file's old content from the journal, because the file is not changed
    /// after all. The journal has a directory for each hour. An intent that was written before its
    /// copies names the hour of its own beginning, so a copy may be in the directory of the next.
    pub(crate) fn forget(&self, entry: &JournalEntry) {
        for at in [entry.at, entry.at + place::HOUR_MILLIS] {
            if let Some(hour) = self.hour(at) {
                let _ = unlinkat(&hour, &*entry.id, AtFlags::empty());
            }
        }
    }

    /// Appends those entries of the steps to the journal's log that are not in it already.
    /// Returns why the steps can't be undone; `None` if they can.
    pub(crate) fn record(
        &self,
        entries: &[JournalEntry],
        journal: Option<&Journal>,
    ) -> Option<String> {
        let first = entries.first()?;
        let failed = || Some("the journal's log could not be written".to_owned());
        // A killed process may have appended only some of the lines, and the last one in part: the
        // system can end a write between two pages. So each entry is looked for.
        let mut log = Vec::new();
        if let Some(hour) = self.hour(first.at)
            && let Ok(mut file) = place::open_file(&hour, place::LOG)
            && file.read_to_end(&mut log).is_err()
        {
            return failed();
        }
        let lines: HashSet<&[u8]> = log.split(|byte| *byte == b'\n').collect();
        let has_line = |entry: &&JournalEntry| {
            let line = serde_json::to_vec(entry).unwrap_or_default();
            lines.contains(&*line)
        };
        let missing: Vec<_> = entries
            .iter()
            .filter(|entry| !has_line(entry))
            .cloned()
            .collect();
        if missing.is_empty() {
            return None;
        }
        let Some(journal) = journal else {
            return Some("undo has been turned off since".to_owned());
        };
        let Ok(hour) = journal.open_hour(first.at) else {
            return failed();
        };
        let is_written = hour.append(&missing);
        let kept: u64 = entries
            .iter()
            .filter_map(|entry| Some(entry.before.as_ref()?.stamp.size()))
            .sum();
        if hour.is_new || journal.is_large(kept) {
            journal.prune();
        }
        if is_written { None } else { failed() }
    }

    /// Removes the intent, after the change was completed or taken back.
    pub(crate) fn end(&self) {
        // If the file can't be removed, a later call finds it and has nothing left to do.
        let _ = unlinkat(&self.dir, &*self.name, AtFlags::empty());
    }
}
