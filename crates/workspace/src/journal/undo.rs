//! Undoes changes.
//!
//! For each file the chosen entries are followed from the newest to the oldest. An entry can be
//! undone if the file's state after it is the present one, or the state before the newer entry that
//! has just been followed. States are the same if they have the same content, or for a large file
//! if they are the same file with the same size and mtime. So only the oldest content is written,
//! once. A file that others have changed since is left alone.

mod goals;
mod plan;
mod steps;
mod whole;

use super::backup::ChangeOrigin;
use super::entry::{ContentStamp, FileId, FileState, JournalEntry, NodeKind, OldContent};
use super::history::History;
use super::keeper::{clone_or_copy, new_id, now, read, state};
use super::{node, place};
use crate::edit::{SHOWN_BYTES, diff_texts};
use crate::write::{Target, is_lost_race};
use crate::{Workspace, WorkspacePath, show_path};
use gemini_tools_core::text::visible;
use gemini_tools_core::tool::{Cancellation, ToolError};
use rustix::fd::OwnedFd;
use rustix::fs::{self, FlockOperation};
use rustix::io::Errno;
use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The name that the entries of an undo have in place of a tool's name.
pub const UNDO: &str = "undo";

const ATTEMPTS: usize = 20;

const LOCK_PAUSE: Duration = Duration::from_millis(5);

/// The workspace and the options of an undo.
#[derive(Debug)]
pub struct Undo<'a> {
    /// The workspace of the files, with a journal.
    pub workspace: &'a Workspace,
    /// The user's memory files, which may be outside of the workspace.
    pub memory: Vec<PathBuf>,
    /// True to report what would be undone, and change nothing.
    pub is_explained: bool,
    /// The cancellation of the call that makes the undo.
    pub cancel: Cancellation,
}

/// Keeps the undos of other processes waiting until it is dropped.
#[derive(Debug)]
pub struct UndoLock {
    _journal: Option<OwnedFd>,
}

impl UndoLock {
    /// Waits for the undo of another process to end. An undo that loads the history after that
    /// plans by what the other one has left.
    ///
    /// # Errors
    ///
    /// Returns an error if the call is cancelled meanwhile.
    pub fn wait(home: &Path, cancel: &Cancellation) -> Result<Self, ToolError> {
        // A journal that can't be opened is reported when the history is loaded.
        let journal = place::open(&place::journal(home)).ok().flatten();
        while let Some(dir) = &journal
            && fs::flock(dir, FlockOperation::NonBlockingLockExclusive) == Err(Errno::WOULDBLOCK)
        {
            cancel.check()?;
            std::thread::sleep(LOCK_PAUSE);
        }
        Ok(Self { _journal: journal })
    }
}

/// An entry that was not undone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UndoRefusal {
    /// The entry's index in the history.
    pub index: usize,
    /// The reason, as the end of a sentence about the file.
    pub reason: String,
}

/// The result of an undo for one file.
#[derive(Debug, Clone, Default)]
pub struct FileOutcome {
    /// The file's path.
    pub path: PathBuf,
    /// The indices of the entries that were undone, newest first.
    pub undone: Vec<usize>,
    /// The entries that were not undone, with the reasons.
    pub refused: Vec<UndoRefusal>,
    /// The change that the undo makes to the file, as a unified diff. If nothing was undone, it is
    /// the difference to the old content in the journal.
    pub diff: String,
    /// The path of the old content in the journal, if entries were refused and it is still there.
    pub old_content: Option<PathBuf>,
    /// The id by which this undo can be chosen: that of its entry, or after an undo of a command
    /// that of the whole undo. `None` if nothing was recorded.
    pub id: Option<String>,
    /// True if the file already was as before the changes, so that it was not written.
    pub is_done: bool,
    /// Why this undo can't itself be undone, as the end of a sentence; `None` if it can.
    pub not_kept: Option<String>,
}

impl Undo<'_> {
    /// Undoes the entries at the indices `chosen`, newest first. They count as one undo. Of several
    /// commands each is undone by itself, until one is refused.
    pub fn take_back(&self, home: &Path, history: &History, chosen: &[usize]) -> Vec<FileOutcome> {
        let (call, mut outcomes) = (new_id(), Vec::new());
        let parts = if self.is_explained {
            vec![chosen.to_vec()]
        } else {
            history.parts(chosen)
        };
        if let [part] = &parts[..] {
            Run::new(self, home, history, [&call, &call]).take_back(part, &mut outcomes);
            return outcomes;
        }
        let (mut newer, hour) = (history.clone(), now() / place::HOUR_MILLIS);
        let mut undone_before = HashMap::new();
        for part in &parts {
            let index = part[0];
            if is_refused(outcomes.iter()) {
                let reason = "waits for the undo of what came later".to_owned();
                outcomes.push(FileOutcome {
                    path: history.entries[index].path().into_owned(),
                    refused: vec![UndoRefusal { index, reason }],
                    ..FileOutcome::default()
                });
                continue;
            }
            let paths = (part.iter()).map(|index| (history.entries[*index].path(), *index));
            if part.iter().all(|i| newer.undone_by(*i).is_some()) {
                undone_before.extend(paths);
                continue;
            }
            for (path, _) in paths {
                undone_before.remove(&path);
            }
            let run = Run::new(self, home, &newer, [&call, &new_id()]);
            run.take_back(part, &mut outcomes);
            // What this undo has written and can't be read counts as done by others: it is refused.
            let _ = newer.read_on(home, hour);
        }
        // What was undone before may have been changed since. The oldest entry of a path tells.
        let mut rest: Vec<usize> = undone_before.into_values().collect();
        rest.sort_unstable_by(|one, other| other.cmp(one));
        if !rest.is_empty() && !is_refused(outcomes.iter()) {
            let look = Undo {
                memory: self.memory.clone(),
                is_explained: true,
                cancel: self.cancel.clone(),
                ..*self
            };
            let mut found = Vec::new();
            Run::new(&look, home, &newer, [&call, &call]).take_back(&rest, &mut found);
            for outcome in &mut found {
                let reason = "was changed since".to_owned();
                if let (false, Some(index)) = (outcome.diff.is_empty(), outcome.undone.pop()) {
                    outcome.refused.push(UndoRefusal { index, reason });
                }
                outcome.is_done = true;
            }
            outcomes.extend(found);
        }
        outcomes
    }
}

impl<'a> Run<'a> {
    fn new(undo: &'a Undo<'a>, home: &Path, history: &'a History, ids: [&String; 2]) -> Self {
        let [call, command] = ids.map(String::clone);
        Self {
            undo,
            journal: place::journal(home),
            history,
            call,
            command,
            origins: origins(history),
            kept: kept(history),
        }
    }

    fn take_back(&self, chosen: &[usize], outcomes: &mut Vec<FileOutcome>) {
        let (run, history) = (self, self.history);
        let mut order: Vec<PathBuf> = Vec::new();
        let mut by_path: HashMap<PathBuf, Vec<usize>> = HashMap::new();
        for index in chosen {
            let path = history.entries[*index].path().into_owned();
            let entries = by_path.entry(path.clone()).or_default();
            if entries.is_empty() {
                order.push(path);
            }
            entries.push(*index);
        }
        if chosen
            .iter()
            .any(|index| run.entry(*index).command.is_some())
        {
            let (alone, order): (Vec<_>, Vec<_>) = order
                .into_iter()
                .partition(|path| by_path[path].iter().any(|index| run.entry(*index).memory));
            outcomes.extend(run.whole(&order, &by_path));
            if !is_refused(outcomes.iter()) {
                let alone = alone.iter();
                outcomes.extend(alone.map(|path| run.file(path, &by_path[path], &new_id())));
            }
            return;
        }
        let mut is_first = outcomes.iter().all(|outcome| outcome.id.is_none());
        for path in order {
            // The tool has made a file of its own of one that had several names. If the file that
            // it was before still has its content, the path becomes a name of that again.
            let oldest = by_path[&path].last().map(|index| run.entry(*index));
            let was_linked = |entry: &JournalEntry| {
                let links = entry.before.as_ref().and_then(|before| before.links);
                links.is_some() && !entry.memory
            };
            if oldest.is_some_and(was_linked) {
                let alone = HashMap::from([(path.clone(), by_path[&path].clone())]);
                let linked = run.whole(std::slice::from_ref(&path), &alone);
                if !is_refused(linked.iter()) {
                    is_first = false;
                    outcomes.extend(linked);
                    continue;
                }
            }
            let id = if is_first { run.call.clone() } else { new_id() };
            let outcome = run.file(&path, &by_path[&path], &id);
            is_first &= outcome.id.is_none();
            outcomes.push(outcome);
        }
    }
}

fn is_refused<'o>(mut outcomes: impl Iterator<Item = &'o FileOutcome>) -> bool {
    outcomes.any(|outcome| !outcome.refused.is_empty())
}

fn kept(history: &History) -> HashMap<ContentStamp, Vec<usize>> {
    let mut kept: HashMap<_, Vec<usize>> = HashMap::new();
    for (index, entry) in history.entries.iter().enumerate() {
        let is_kept = !matches!(entry.old_content, OldContent::Lost(_));
        // Another content has had this stamp as well.
        let is_ambiguous = |before: &FileState| {
            let after = entry.after.as_ref();
            after.is_some_and(|after| after.stamp == before.stamp)
        };
        if let Some(before) = entry
            .before
            .as_ref()
            .filter(|before| is_kept && before.is_file() && !is_ambiguous(before))
        {
            kept.entry(before.stamp).or_default().push(index);
        }
    }
    kept
}

/// Maps the stamp of what an undo has put in place to that of the file that had this content before
/// any undo, and to the file that it stands for, whatever is written into it later.
fn origins(history: &History) -> HashMap<ContentStamp, (ContentStamp, FileId)> {
    let mut origins: HashMap<_, (ContentStamp, FileId)> = HashMap::new();
    for entry in &history.entries {
        let oldest = entry.undoes.last().and_then(|id| history.entry(id));
        let oldest = oldest.filter(|oldest| oldest.path() == entry.path());
        let before = oldest.unwrap_or(entry).before.as_ref();
        if let Some((before, after)) = before.zip(entry.after.as_ref()) {
            let (before, after) = (before.stamp, after.stamp);
            let origin = origins.get(&before).copied();
            let origin = origin.unwrap_or((before, before.file()));
            if oldest.is_some() {
                origins.insert(after, origin);
            } else if before.file() == after.file() {
                origins.entry(after).or_insert((after, origin.1));
            }
        }
    }
    origins
}

struct Run<'a> {
    undo: &'a Undo<'a>,
    journal: PathBuf,
    history: &'a History,
    /// The id of the undo, and that of what is undone together as a whole.
    call: String,
    command: String,
    origins: HashMap<ContentStamp, (ContentStamp, FileId)>,
    kept: HashMap<ContentStamp, Vec<usize>>,
}

struct LocatedFile {
    /// The workspace of one of the user's own files; `None` for a file of the project.
    own: Option<Workspace>,
    place: WorkspacePath,
}

impl Run<'_> {
    fn entry(&self, index: usize) -> &JournalEntry {
        &self.history.entries[index]
    }

    fn file(&self, path: &Path, chosen: &[usize], id: &str) -> FileOutcome {
        let refuse = |e: &ToolError| {
            let refusal = |&index: &usize| UndoRefusal {
                index,
                reason: steps::said(e),
            };
            FileOutcome {
                path: path.to_owned(),
                refused: chosen.iter().map(refusal).collect(),
                ..FileOutcome::default()
            }
        };
        let located = match self.locate(path, self.entry(chosen[0]).memory) {
            Ok(located) => located,
            Err(e) => return refuse(&e),
        };
        let mut last = None;
        for _ in 0..ATTEMPTS {
            match self.attempt(&located, path, chosen, id) {
                Err(e) if is_lost_race(&e) => last = Some(e),
                Err(e) => return refuse(&e),
                Ok(outcome) => return outcome,
            }
        }
        last.map_or_else(FileOutcome::default, |e| refuse(&e))
    }

    fn locate(&self, path: &Path, is_memory: bool) -> Result<LocatedFile, ToolError> {
        let (own, place) = if is_memory && self.undo.memory.iter().any(|file| file == path) {
            let (own, place) = Workspace::for_user_file(path)?;
            (Some(own), place)
        } else {
            let shared = self.undo.workspace;
            let outside = || shared.outside(&path.display().to_string());
            (None, shared.place_of(path).ok_or_else(outside)?)
        };
        Ok(LocatedFile { own, place })
    }

    fn attempt(
        &self,
        located: &LocatedFile,
        path: &Path,
        chosen: &[usize],
        id: &str,
    ) -> Result<FileOutcome, ToolError> {
        let workspace = located.own.as_ref().unwrap_or(self.undo.workspace);
        if located.own.is_none() && is_behind_link(workspace, &located.place) {
            return Err(ToolError::failed("it lies behind a symbolic link now"));
        }
        let target = workspace.target(&located.place, &self.undo.cancel)?;
        let current = target.current.as_ref();
        let current_state = current.map(|file| state(&file.file, &file.stat));
        let mut outcome = FileOutcome {
            path: path.to_owned(),
            ..FileOutcome::default()
        };
        if self.is_as_before(chosen, current_state.as_ref()) {
            outcome.undone = chosen.to_vec();
            outcome.is_done = true;
            return Ok(outcome);
        }
        let mut steps = self.steps(chosen, current_state.as_ref(), &mut outcome.refused);
        // Only the content from before the oldest step is written. If that content is lost, the
        // step is refused, and the next newer one counts.
        while let Some(&index) = steps.last() {
            match self.old_content(index) {
                Ok(source) => {
                    outcome.undone = steps;
                    let before = self.entry(index).before.as_ref();
                    outcome.is_done = self.is_same(before, current_state.as_ref());
                    self.write(located, target, index, source, &mut outcome, id)?;
                    return Ok(outcome);
                }
                Err(reason) => {
                    outcome.refused.insert(0, UndoRefusal { index, reason });
                    steps.pop();
                }
            }
        }
        self.show_old(&mut outcome, current.map(|file| &file.file));
        Ok(outcome)
    }

    /// Shows in a refusal how the present file, `now`, differs from the oldest content that was
    /// asked for, and where that content is.
    fn show_old(&self, outcome: &mut FileOutcome, now: Option<&File>) {
        let oldest = outcome.refused.iter().map(|refusal| refusal.index).min();
        if let Some(index) = oldest
            && let Ok(Some(old)) = self.old_content(index)
        {
            outcome.diff = self.diff(&outcome.path, now, Some(&old));
            outcome.old_content = Some(self.backup(self.entry(index)));
        }
    }

    /// Returns true if the file already is as it was before the oldest of the entries, and not as
    /// one of them has left it.
    fn is_as_before(&self, chosen: &[usize], current: Option<&FileState>) -> bool {
        let has_left = |index: &usize| self.is_same(self.entry(*index).after.as_ref(), current);
        let oldest = chosen.last().map(|index| (*index, self.entry(*index)));
        !chosen.iter().any(has_left)
            && oldest.is_some_and(|(index, oldest)| {
                self.is_same(oldest.before.as_ref(), current)
                    || current.is_some_and(|current| self.has_old_content(index, current))
            })
    }

    /// Returns true if a file has the content that the journal keeps from before an entry. The
    /// entries of commands have no digest of that content, since its file was not read then.
    fn has_old_content(&self, index: usize, current: &FileState) -> bool {
        let before = self.entry(index).before.as_ref();
        let is_alike = before.is_some_and(|before| {
            let is_file = before.is_file() && current.is_file();
            is_file && before.sha256.is_none() && before.stamp.size() == current.stamp.size()
        });
        let Some(digest) = current.sha256.as_ref().filter(|_| is_alike) else {
            return false;
        };
        let Ok(Some(old)) = self.old_content(index) else {
            return false;
        };
        let old = fs::fstat(&old).map(|stat| state(&old, &stat));
        old.is_ok_and(|old| old.sha256.as_ref() == Some(digest))
    }

    fn steps<'s>(
        &'s self,
        chosen: &[usize],
        mut current: Option<&'s FileState>,
        refused: &mut Vec<UndoRefusal>,
    ) -> Vec<usize> {
        let is_there = current.is_some();
        let mut steps = Vec::new();
        let mut remaining = chosen.to_vec();
        while !remaining.is_empty() {
            // The entry that has led to this state is the newest one, unless two processes appended
            // their lines at the same moment. An entry that is really newer than one which has been
            // followed did not lead here: others have given the file an earlier content since.
            let leads_here = |index: &usize| {
                let entry = self.entry(*index);
                let is_older = |last: &usize| index < last || entry.at <= self.entry(*last).at;
                steps.last().is_none_or(is_older) && self.is_same(entry.after.as_ref(), current)
            };
            let next = remaining.iter().position(leads_here);
            let index = remaining.remove(next.unwrap_or(0));
            let entry = self.entry(index);
            if next.is_some() {
                steps.push(index);
                current = entry.before.as_ref();
                continue;
            }
            let reason = match self.history.undone_by(index) {
                Some(by) => format!("is as it was before already (undone by {})", by.id),
                None if !is_there => "was removed since".to_owned(),
                None if entry.after.is_none() => "was created again since".to_owned(),
                None => "was changed since".to_owned(),
            };
            refused.push(UndoRefusal { index, reason });
        }
        steps
    }

    fn is_same(&self, one: Option<&FileState>, other: Option<&FileState>) -> bool {
        let (one, other) = match (one, other) {
            (None, None) => return true,
            (Some(one), Some(other)) => (one, other),
            _ => return false,
        };
        if one.kind.is_some() || other.kind.is_some() {
            return one.kind == other.kind;
        }
        match (&one.sha256, &other.sha256) {
            (Some(one), Some(other)) => one == other,
            _ => self.original(one.stamp) == self.original(other.stamp),
        }
    }

    /// An undo writes old content to a new file, which has another stamp. Returns the stamp of the
    /// file that had the content before any undo.
    fn original(&self, stamp: ContentStamp) -> ContentStamp {
        self.origins.get(&stamp).map_or(stamp, |origin| origin.0)
    }

    /// Returns the file that a file with this stamp stands for, if an undo has put it in its place.
    fn file_of(&self, stamp: ContentStamp) -> FileId {
        let origin = self.origins.get(&stamp);
        origin.map_or(stamp.file(), |origin| origin.1)
    }

    fn backup(&self, entry: &JournalEntry) -> PathBuf {
        self.journal.join(entry.hour.to_string()).join(&entry.id)
    }

    fn old_content(&self, index: usize) -> Result<Option<File>, String> {
        let entry = self.entry(index);
        if let Some(reason) = entry.loss() {
            return Err(format!("was not kept: {reason}"));
        }
        let Some(before) = &entry.before else {
            return Ok(None);
        };
        let open = || {
            let dir = place::open(&self.journal)?.ok_or(Errno::NOENT)?;
            let dir = place::open_hour(&dir, entry.hour)?.ok_or(Errno::NOENT)?;
            let file = place::open_file(&dir, &entry.id)?;
            let stamp = ContentStamp::from(&fs::fstat(&file)?);
            Ok((file, stamp))
        };
        let (file, now) = open().map_err(|e| match e {
            Errno::NOENT if entry.is_of_mode() => "was changed since".to_owned(),
            Errno::NOENT => "is not in the journal any more".to_owned(),
            e => format!("can't be read in the journal: {e}"),
        })?;
        let is_as_kept = match entry.old_content {
            OldContent::Moved => now == before.stamp,
            _ => now.size() == before.stamp.size(),
        };
        if is_as_kept {
            Ok(Some(file))
        } else {
            Err("was written to by another program after it had been replaced".to_owned())
        }
    }

    fn diff(&self, path: &Path, old: Option<&File>, new: Option<&File>) -> String {
        fn text(file: Option<&File>) -> Option<String> {
            let Some(file) = file else {
                return Some(String::new());
            };
            let size = file.metadata().ok()?.len();
            let content = (size <= SHOWN_BYTES as u64).then(|| read(file, size).ok())??;
            let text = String::from_utf8(content).ok()?;
            (!text.contains('\0')).then_some(text)
        }
        let name = show_path(self.undo.workspace.display(path)).into_owned();
        if let (Some(old), Some(new)) = (text(old), text(new)) {
            return diff_texts(&old, &new, &name).0;
        }
        let name = visible(&name);
        format!("--- {name}\n+++ {name}\nThe content is large, or is not UTF-8 text.\n")
    }

    fn write(
        &self,
        located: &LocatedFile,
        target: Target,
        oldest: usize,
        source: Option<File>,
        outcome: &mut FileOutcome,
        id: &str,
    ) -> Result<(), ToolError> {
        let current = target.current.as_ref().map(|current| &current.file);
        outcome.diff = self.diff(&outcome.path, current, source.as_ref());
        if outcome.is_done || self.undo.is_explained {
            return Ok(());
        }
        let shared = self.undo.workspace;
        let undone = outcome.undone.iter().map(|index| self.entry(*index));
        let origin = ChangeOrigin {
            tool: UNDO.to_owned(),
            call: Some(self.call.clone()),
            id: Some(id.to_owned()),
            undoes: undone.clone().map(|entry| entry.id.clone()).collect(),
            is_users_file: located.own.is_some(),
            is_remembered: false,
        };
        // A file that is created again does not get set-user-ID, set-group-ID and sticky bits: only
        // the user should grant these.
        let before = self.entry(oldest).before.as_ref();
        let mode = before.filter(|_| current.is_none());
        let mode = mode.map(|state| std::fs::Permissions::from_mode(state.mode & 0o777));
        let target = target.recorded(shared, &located.place, origin);
        outcome.not_kept = if let Some(source) = source {
            target.commit(&located.place, |file| {
                if let Some(mode) = &mode {
                    file.set_permissions(mode.clone())?;
                }
                clone_or_copy(&source, file, u64::MAX)
            })?
        } else {
            let not_kept = target.remove(&located.place)?;
            let new_directories = undone.map(|entry| entry.made).max().unwrap_or(0);
            let workspace = located.own.as_ref().unwrap_or(shared);
            workspace.remove_empty_directories(&located.place, new_directories);
            not_kept
        };
        outcome.id = Some(id.to_owned());
        Ok(())
    }
}

fn is_behind_link(workspace: &Workspace, place: &WorkspacePath) -> bool {
    let places = std::iter::successors(Some(place.clone()), WorkspacePath::parent);
    let mut places = places.take_while(|place| !place.is_root());
    places.any(|place| {
        let found = node::look_plain(workspace, &place).ok().flatten();
        found.is_some_and(|(state, _)| matches!(state.kind, Some(NodeKind::Link(_))))
    })
}
