//! Writes down what a change of several files is about to do, before it begins: its intent.
//!
//! The journal's directory `intents/` has a file for each change that is under way, locked by the
//! process that makes it. Its first line names the files that will be prepared, so that they can be
//! removed if the process ends early. Its second line has everything that is needed to complete the
//! change or to take it back. If nobody has locked such a file, its process was killed.
//!
//! An undo of a patch or of a command is such a change, too. Its record has more ([`UndoRecord`]):
//! it can change modes, make and remove links and directories, and must write into a file whose
//! other names are to change with it.

use super::backup::PendingChange;
use super::entry::{ContentStamp, FileId, JournalEntry, OldContent};
use super::keeper::{new_id, now, stamped};
use super::{Journal, place};
use crate::{OpenFile, resolve::Entry};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{
    AtFlags, FlockOperation, Mode, OFlags, chmodat, flock, fstat, openat, renameat, unlinkat,
};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
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
    /// How many more directories the temporary name lies above the path, because the change makes
    /// or removes those between.
    #[serde(default)]
    pub(crate) above: usize,
}

impl StepRecord {
    pub(crate) fn new(path: &Path, missing: usize, temporary: String) -> Self {
        let entry = JournalEntry {
            made: missing,
            ..JournalEntry::of_path(new_id(), now(), path)
        };
        Self {
            entry,
            temporary,
            above: 0,
        }
    }

    pub(crate) fn temporary_path(&self) -> PathBuf {
        let path = self.entry.path();
        let dir = path.ancestors().nth(self.entry.made + self.above + 1);
        dir.unwrap_or(&path).join(&self.temporary)
    }

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

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ModeRecord {
    pub(crate) path: OsString,
    pub(crate) file: FileId,
    pub(crate) from: u32,
    pub(crate) to: u32,
}

/// A content that the journal keeps: the hour whose directory it is in, and its name there.
pub(crate) type KeptContent = (u64, String);

/// A file that an undo overwrites in place, because it has other names, or because no other file
/// can take its place.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct RewriteRecord {
    pub(crate) path: OsString,
    pub(crate) planned: ContentStamp,
    pub(crate) old: KeptContent,
    pub(crate) new: KeptContent,
}

/// What an undo does besides its steps, and what it records. The steps themselves are not recorded,
/// because a file can change under another of its names. So `entries` has an entry for each path
/// that may change, without its state after the undo until all steps are made. The directories in
/// `opened` are made writable before the steps.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct UndoRecord {
    pub(crate) entries: Vec<JournalEntry>,
    pub(crate) opened: Vec<ModeRecord>,
    pub(crate) rewrites: Vec<RewriteRecord>,
    pub(crate) is_rewritten: bool,
    pub(crate) modes: Vec<ModeRecord>,
}

impl UndoRecord {
    /// Returns the entries to record, and those of the paths that are as they were. What these undo
    /// counts as undone too: the last entry lists it.
    pub(crate) fn split(&self) -> (Vec<JournalEntry>, Vec<JournalEntry>) {
        let entries = self.entries.iter().cloned();
        let (mut changed, mut same): (Vec<_>, Vec<_>) =
            entries.partition(JournalEntry::is_a_change);
        if changed.is_empty() {
            changed.extend(same.pop());
        }
        if let Some(last) = changed.last_mut() {
            let others = same.iter().flat_map(|entry| entry.undoes.iter().cloned());
            last.undoes.splice(0..0, others);
        }
        (changed, same)
    }
}

/// The content of an intent: the steps of a change of several files. Once `is_prepared` is set, all
/// new files are prepared, so that the change can be completed. Once `is_made` is set, all steps are
/// made, so that the old files may leave their temporary names, and the change can only be
/// completed. With `is_recorded`, the workspace
/// has a journal, to whose log the entries are appended. `conversation` knows the new files.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct IntentRecord {
    pub(crate) is_prepared: bool,
    #[serde(default)]
    pub(crate) is_made: bool,
    pub(crate) is_recorded: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) conversation: Option<String>,
    pub(crate) steps: Vec<StepRecord>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) undo: Option<UndoRecord>,
}

impl IntentRecord {
    pub(crate) fn paths(&self) -> impl Iterator<Item = PathBuf> {
        let undo = self.undo.iter().flat_map(|undo| &undo.entries);
        let steps = self.steps.iter().map(|step| &step.entry);
        steps.chain(undo).map(|entry| entry.path().into_owned())
    }
}

#[derive(Debug)]
pub(crate) struct Intent {
    home: PathBuf,
    dir: OwnedFd,
    name: String,
    file: File,
    /// True if another process has begun the change.
    is_left: bool,
}

impl Intent {
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
                    is_left: false,
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
        // A line that a full disk has cut must not spoil this one.
        let mut line = vec![b'\n'];
        serde_json::to_writer(&mut line, record)?;
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
            let flags = OFlags::RDWR | OFlags::APPEND | OFlags::NOFOLLOW | OFlags::NONBLOCK;
            let file = openat(&dir, &*name, flags | OFlags::CLOEXEC, Mode::empty());
            let mut file = File::from(file.ok()?);
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
                    is_left: true,
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
    /// journal is removed as well. Returns false if the file stays.
    pub(crate) fn put_away(
        &self,
        dir: impl AsFd,
        name: &OsStr,
        entry: &JournalEntry,
        is_kept: bool,
    ) -> bool {
        if !is_kept {
            self.forget(entry);
        }
        if !is_kept || entry.old_content != OldContent::Moved {
            return remove(&dir, name).is_ok();
        }
        let Some(hour) = self.hour(entry.at) else {
            return false;
        };
        let is_moved = renameat(&dir, name, &hour, &*entry.id).is_ok();
        let private = Mode::from_raw_mode(0o600);
        is_moved && chmodat(&hour, &*entry.id, private, AtFlags::empty()).is_ok()
    }

    pub(crate) fn kept(&self, (hour, name): &KeptContent) -> Result<File, Errno> {
        let dir = self.hour(hour * place::HOUR_MILLIS).ok_or(Errno::NOENT)?;
        place::open_file(&dir, &**name)
    }

    pub(crate) fn kept_path(&self, (hour, name): &KeptContent) -> PathBuf {
        let journal = place::journal(&self.home);
        journal.join(hour.to_string()).join(name)
    }

    /// Returns the path of an entry's old content in the journal; `None` if it is not there.
    pub(crate) fn kept_at(&self, entry: &JournalEntry) -> Option<PathBuf> {
        let path = self.kept_path(&(entry.at / place::HOUR_MILLIS, entry.id.clone()));
        path.symlink_metadata().is_ok().then_some(path)
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
        if self.is_left
            && let Some(hour) = self.hour(first.at)
            && let Ok(mut file) = place::open_file(&hour, place::LOG)
            && file.read_to_end(&mut log).is_err()
        {
            return failed();
        }
        let lines = log.split(|byte| *byte == b'\n');
        let ids: HashSet<String> = lines
            .filter_map(|line| Some(serde_json::from_slice::<JournalEntry>(line).ok()?.id))
            .collect();
        let missing: Vec<_> = entries
            .iter()
            .filter(|entry| !ids.contains(&entry.id))
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

    pub(crate) fn end(&self) {
        // If the file can't be removed, a later call finds it and has nothing left to do.
        let _ = unlinkat(&self.dir, &*self.name, AtFlags::empty());
    }
}

pub(crate) fn remove(dir: impl AsFd, name: impl rustix::path::Arg + Copy) -> Result<(), Errno> {
    match unlinkat(&dir, name, AtFlags::empty()) {
        Err(Errno::ISDIR | Errno::PERM) => unlinkat(&dir, name, AtFlags::REMOVEDIR),
        removed => removed,
    }
}
