//! Taking changes back.
//!
//! For each file the chosen entries are followed from the newest to the oldest. An entry is taken
//! back where what is there, or what the entry after it had found, is what it had left: by the
//! same file of the same size and time, or by the content itself where that is known. So only the
//! last content is written, once. Where a file was changed since, a merge joins the changes: its
//! base is what the entry had left, made anew from the old content and the difference.

use super::entry::{Entry, Kept, Stamp};
use super::history::History;
use super::keeper::{MAX_COMPARED_BYTES, PATCH_ENDING, digest, new_id, read};
use super::merge::merge;
use super::place;
use gemini_tools_core::tool::{Cancellation, ToolError};
use gemini_tools_platform::fs;
use gemini_tools_platform::unix_fs::PermissionsExt;
use gemini_tools_workspace::edit::{SHOWN_BYTES, diff_texts};
use gemini_tools_workspace::keep::ChangeOrigin;
use gemini_tools_workspace::lines::read_at;
use gemini_tools_workspace::write::{Target, is_lost_race};
use gemini_tools_workspace::{OpenFile, Workspace, WorkspacePath, show_path};
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// What an undo is called in the place of a tool.
pub const UNDO: &str = "undo";

/// The largest file that is merged, in bytes.
const MAX_MERGED_BYTES: u64 = 16 * 1024 * 1024;

/// Pieces in which content is put back, in bytes.
const PIECE_BYTES: usize = 512 * 1024;

/// How often a file is looked at anew, because another program writes it.
const ATTEMPTS: usize = 20;

/// How changes are taken back.
#[derive(Debug)]
pub struct Undo<'a> {
    /// Where, with the journal as its keeper.
    pub workspace: &'a Workspace,
    /// The user's memory files, which may lie outside of it.
    pub memory: Vec<PathBuf>,
    /// Whether files that were changed since are merged.
    pub merges: bool,
    /// Whether only to say what would be done.
    pub is_explained: bool,
    /// Ends it.
    pub cancel: Cancellation,
}

/// An entry that is not taken back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// The entry's place in the history.
    pub index: usize,
    /// Why, as the end of a sentence about the file.
    pub reason: String,
    /// True where a merge was not tried and could do it.
    pub can_merge: bool,
}

/// What came of the chosen changes of a file.
#[derive(Debug, Clone, Default)]
pub struct FileOutcome {
    /// The file's path.
    pub path: PathBuf,
    /// The places of the entries that were taken back, newest first.
    pub undone: Vec<usize>,
    /// The others.
    pub refused: Vec<Refused>,
    /// What has changed in the file, as a unified diff.
    pub diff: String,
    /// The id of the entry that the undo itself is.
    pub id: Option<String>,
    /// True where the file was as before the changes already.
    pub is_done: bool,
    /// Why the undo itself can't be taken back, as the end of a sentence.
    pub not_kept: Option<String>,
}

/// A content of a file on the way back.
enum Content {
    /// What is there now.
    Current,
    /// What an entry had found.
    Before(usize),
    /// The result of a merge.
    Merged(Vec<u8>),
}

/// What is known of a content without reading it.
#[derive(Clone, Copy)]
enum Identity {
    /// There is no file.
    Missing,
    /// The content is that of this file.
    File(Stamp),
    /// A merge has made it.
    Unknown,
}

impl Undo<'_> {
    /// Takes the entries at these places back, which are given newest first. All of them are one
    /// undo, by the id of the first.
    pub fn take_back(
        &self,
        home: &Path,
        history: &History<'_>,
        chosen: &[usize],
    ) -> Vec<FileOutcome> {
        let run = Run {
            undo: self,
            journal: place::journal(home),
            history,
            call: new_id(),
            same: same_contents(history),
        };
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
        let mut is_first = true;
        let mut outcomes = Vec::new();
        for path in order {
            let id = if is_first { run.call.clone() } else { new_id() };
            let outcome = run.file(&path, &by_path[&path], &id);
            is_first &= outcome.id.is_none();
            outcomes.push(outcome);
        }
        outcomes
    }
}

/// For each file that an undo has made the file whose content it has.
fn same_contents(history: &History<'_>) -> HashMap<Stamp, Stamp> {
    let entries = history.entries.iter();
    let pairs = entries.filter_map(|entry| Some((entry.after.as_ref()?.stamp, entry.same_as?)));
    pairs.collect()
}

struct Run<'a> {
    undo: &'a Undo<'a>,
    journal: PathBuf,
    history: &'a History<'a>,
    /// The id of the whole undo.
    call: String,
    same: HashMap<Stamp, Stamp>,
}

/// A file and the way to it.
struct Found<'a> {
    /// Set for a memory file of the user.
    own: Option<Workspace>,
    shared: &'a Workspace,
    place: WorkspacePath,
}

impl Found<'_> {
    fn workspace(&self) -> &Workspace {
        self.own.as_ref().unwrap_or(self.shared)
    }

    fn kept(&self, target: Target, origin: ChangeOrigin) -> Target {
        match &self.own {
            Some(own) => target.kept_for_user(self.shared, own, &self.place, origin),
            None => target.kept(self.shared, &self.place, origin),
        }
    }
}

impl Run<'_> {
    fn entry(&self, index: usize) -> &Entry<'_> {
        &self.history.entries[index]
    }

    fn file(&self, path: &Path, chosen: &[usize], id: &str) -> FileOutcome {
        let refuse = |e: &ToolError| FileOutcome {
            path: path.to_owned(),
            refused: refused(chosen, &in_a_sentence(e)),
            ..FileOutcome::default()
        };
        let found = match self.find(path, self.entry(chosen[0]).memory) {
            Ok(found) => found,
            Err(e) => return refuse(&e),
        };
        let mut last = None;
        for _ in 0..ATTEMPTS {
            match self.attempt(&found, path, chosen, id) {
                Err(e) if is_lost_race(&e) => last = Some(e),
                Err(e) => return refuse(&e),
                Ok(outcome) => return outcome,
            }
        }
        last.map_or_else(FileOutcome::default, |e| refuse(&e))
    }

    /// Finds the file as a tool would, and a memory file where it is that.
    fn find(&self, path: &Path, is_memory: bool) -> Result<Found<'_>, ToolError> {
        let shared = self.undo.workspace;
        if is_memory && self.undo.memory.iter().any(|file| file == path) {
            let (own, place) = Workspace::for_user_file(path)?;
            return Ok(Found {
                own: Some(own),
                shared,
                place,
            });
        }
        Ok(Found {
            own: None,
            shared,
            place: shared.locate_exactly(path)?,
        })
    }

    fn attempt(
        &self,
        found: &Found<'_>,
        path: &Path,
        chosen: &[usize],
        id: &str,
    ) -> Result<FileOutcome, ToolError> {
        let target = found.workspace().target(&found.place, &self.undo.cancel)?;
        let mut outcome = FileOutcome {
            path: path.to_owned(),
            ..FileOutcome::default()
        };
        let mut steps: Vec<(usize, Content)> = Vec::new();
        if self.are_undone(chosen, target.current.as_ref()) {
            outcome.undone = chosen.to_vec();
            outcome.is_done = true;
            return Ok(outcome);
        }
        let mut remaining = chosen.to_vec();
        while !remaining.is_empty() {
            let content = steps
                .last()
                .map_or(&Content::Current, |(_, content)| content);
            let current = target.current.as_ref();
            let next = self.next(&remaining, content, current);
            let index = remaining.remove(next.unwrap_or(0));
            if next.is_some() {
                steps.push((index, Content::Before(index)));
                continue;
            }
            match self.merged(index, content, current) {
                Ok(merged) => steps.push((index, merged)),
                Err(reason) => {
                    let entry = self.entry(index);
                    let can_merge = !self.undo.merges
                        && self.history.undone_by(index).is_none()
                        && current.is_some()
                        && entry.before.is_some()
                        && entry.after.is_some();
                    outcome.refused.push(Refused {
                        index,
                        reason,
                        can_merge,
                    });
                }
            }
        }
        // Old contents between the first and the last are not needed; the last one is.
        let mut source = None;
        while let Some((index, Content::Before(_))) = steps.last() {
            match self.old_content(*index) {
                Ok(file) => {
                    source = file;
                    break;
                }
                Err(reason) => {
                    let index = *index;
                    let refused = Refused {
                        index,
                        reason,
                        can_merge: false,
                    };
                    outcome.refused.insert(0, refused);
                    steps.pop();
                }
            }
        }
        outcome.undone = steps.iter().map(|(index, _)| *index).collect();
        let Some((_, content)) = steps.pop() else {
            return Ok(outcome);
        };
        self.write(found, target, content, source, &mut outcome, id)?;
        Ok(outcome)
    }

    /// Returns true if no entry has left what is there, and it is what the oldest one had found.
    fn are_undone(&self, chosen: &[usize], current: Option<&OpenFile>) -> bool {
        let Some(&oldest) = chosen.last() else {
            return false;
        };
        if self.next(chosen, &Content::Current, current).is_some() {
            return false;
        }
        match (&self.entry(oldest).before, current) {
            (None, None) => true,
            (Some(before), Some(file)) => {
                before.stamp.size == file.size()
                    && self.bytes(&Content::Current, current).is_some_and(|now| {
                        self.bytes(&Content::Before(oldest), current) == Some(now)
                    })
            }
            _ => false,
        }
    }

    /// Which of the entries has left this content. That is the first, unless lines of the log were
    /// written by two processes at the same moment, or one was not written.
    fn next(
        &self,
        remaining: &[usize],
        content: &Content,
        current: Option<&OpenFile>,
    ) -> Option<usize> {
        /// How far is looked for a content; a file is found by its stamp however far it is.
        const COMPARED: usize = 32;
        let is_left = |index: &usize| self.is_as_left(self.entry(*index), content, current);
        if is_left(remaining.first()?) {
            return Some(0);
        }
        let Identity::File(stamp) = self.identity(content, current) else {
            return remaining.iter().take(COMPARED).position(is_left);
        };
        let by_stamp = remaining.iter().position(|index| {
            let after = self.entry(*index).after.as_ref();
            after.is_some_and(|after| self.original(after.stamp) == self.original(stamp))
        });
        let by_stamp = by_stamp.filter(|found| is_left(&remaining[*found]));
        by_stamp.or_else(|| remaining.iter().take(COMPARED).position(is_left))
    }

    fn identity(&self, content: &Content, current: Option<&OpenFile>) -> Identity {
        let of = |stamp: Option<Stamp>| stamp.map_or(Identity::Missing, Identity::File);
        match content {
            Content::Current => of(current.map(|file| Stamp::of(&file.stat))),
            Content::Before(index) => {
                let before = self.entry(*index).before.as_ref();
                of(before.map(|state| state.stamp))
            }
            Content::Merged(_) => Identity::Unknown,
        }
    }

    /// What is there when an entry is taken back by a merge, or why it can't be.
    fn merged(
        &self,
        index: usize,
        content: &Content,
        current: Option<&OpenFile>,
    ) -> Result<Content, String> {
        let entry = self.entry(index);
        if let Some(by) = self.history.undone_by(index) {
            return Err(format!("is as it was before already (undone by {})", by.id));
        }
        let is_there = match content {
            Content::Current => current.is_some(),
            Content::Before(other) => self.entry(*other).before.is_some(),
            Content::Merged(_) => true,
        };
        match (is_there, &entry.after) {
            (false, _) => return Err("was removed since".to_owned()),
            (true, None) => return Err("was made anew since".to_owned()),
            (true, Some(_)) if !self.undo.merges || entry.before.is_none() => {
                return Err("was changed since".to_owned());
            }
            _ => {}
        }
        let unknown =
            || "was changed since, and is too large or too different to be merged".to_owned();
        let text = |bytes: Vec<u8>| {
            let no_text = "was changed since, and is not UTF-8 text that could be merged";
            String::from_utf8(bytes).map_err(|_| no_text.to_owned())
        };
        let base = text(self.new_content(entry).ok_or_else(unknown)?)?;
        let ours = text(self.bytes(content, current).ok_or_else(unknown)?)?;
        let theirs = text(
            self.bytes(&Content::Before(index), current)
                .ok_or_else(unknown)?,
        )?;
        let merged = merge(&base, &ours, &theirs)
            .ok_or("was changed since in the same lines, so that it can't be merged")?;
        Ok(Content::Merged(merged.into_bytes()))
    }

    /// Whether a content is what an entry has left.
    fn is_as_left(&self, entry: &Entry<'_>, content: &Content, current: Option<&OpenFile>) -> bool {
        let (stamp, after) = match (self.identity(content, current), &entry.after) {
            (Identity::Missing, after) => return after.is_none(),
            (_, None) => return false,
            (Identity::File(stamp), Some(after)) => (Some(stamp), after),
            (Identity::Unknown, Some(after)) => (None, after),
        };
        let is_same_file =
            stamp.is_some_and(|stamp| self.original(stamp) == self.original(after.stamp));
        if is_same_file && !matches!(content, Content::Current) {
            return true;
        }
        let has_size = stamp.is_none_or(|stamp| stamp.size == after.stamp.size);
        if !has_size || after.stamp.size > MAX_COMPARED_BYTES {
            return is_same_file;
        }
        // Written twice within a tick it would have the same time.
        let known = self
            .bytes(content, current)
            .and_then(|bytes| match &after.sha256 {
                Some(sha256) => Some(digest(&bytes) == **sha256),
                None => self.new_content(entry).map(|new| new == bytes),
            });
        known.unwrap_or(is_same_file)
    }

    /// The file that first had the content of another one.
    fn original(&self, mut stamp: Stamp) -> Stamp {
        // A chain can't be longer, unless it is a circle that another program has written.
        for _ in 0..self.same.len() {
            match self.same.get(&stamp) {
                Some(earlier) => stamp = *earlier,
                None => break,
            }
        }
        stamp
    }

    /// A content as a whole, where it is not too large; `None` also where it is lost.
    fn bytes(&self, content: &Content, current: Option<&OpenFile>) -> Option<Vec<u8>> {
        let small = |size: u64| (size <= MAX_MERGED_BYTES).then_some(size);
        match content {
            Content::Current => {
                let current = current?;
                read(&current.file, small(current.size())?).ok()
            }
            Content::Before(index) => {
                let size = small(self.entry(*index).before.as_ref()?.stamp.size)?;
                read(&self.old_content(*index).ok()??, size).ok()
            }
            Content::Merged(bytes) => Some(bytes.clone()),
        }
    }

    /// What an entry has left, made from what it had found.
    fn new_content(&self, entry: &Entry<'_>) -> Option<Vec<u8>> {
        let patch = entry.patch.as_ref()?;
        let before = entry.before.as_ref()?.stamp.size;
        let old = read(&self.open_old(entry).ok()?, before).ok()?;
        let (head, tail) = (
            old.get(..patch.head)?,
            old.get(old.len().checked_sub(patch.tail)?..)?,
        );
        let middle = if let Some(text) = &patch.text {
            text.as_bytes().to_vec()
        } else {
            let dir = place::open(&self.journal).ok()??;
            let dir = place::open_hour(&dir, entry.hour).ok()??;
            let file = place::open_file(&dir, &format!("{}{PATCH_ENDING}", entry.id)).ok()?;
            let size = file.metadata().ok()?.len();
            read(&file, size.min(MAX_COMPARED_BYTES)).ok()?
        };
        Some([head, &middle, tail].concat())
    }

    /// What an entry had found, open for reading; `None` where there was no file.
    fn old_content(&self, index: usize) -> Result<Option<File>, String> {
        let entry = self.entry(index);
        match entry.before {
            None => Ok(None),
            Some(_) => self.open_old(entry).map(Some),
        }
    }

    fn open_old(&self, entry: &Entry<'_>) -> Result<File, String> {
        let before = entry.before.as_ref().ok_or("did not exist")?;
        let dir = match &entry.kept {
            Kept::Lost(reason) => return Err(format!("was not kept: {reason}")),
            Kept::Beside(path) => Path::new(&**path),
            Kept::Moved | Kept::Copied => &self.journal,
        };
        let gone = || "is not in the journal any more".to_owned();
        let dir = place::open(dir).ok().flatten().ok_or_else(gone)?;
        let dir = place::open_hour(&dir, entry.hour).ok().flatten();
        let file = place::open_file(&dir.ok_or_else(gone)?, &entry.id).map_err(|_| gone())?;
        let stat = fs::fstat(&file).map_err(|_| gone())?;
        let now = Stamp::of(&stat);
        let is_as_kept = match entry.kept {
            Kept::Copied => now.size == before.stamp.size,
            _ => now == before.stamp,
        };
        if is_as_kept {
            Ok(file)
        } else {
            Err("was written to by another program after it had been replaced".to_owned())
        }
    }

    /// Puts a content in the place of the present one.
    fn write(
        &self,
        found: &Found<'_>,
        target: Target,
        content: Content,
        source: Option<File>,
        outcome: &mut FileOutcome,
        id: &str,
    ) -> Result<(), ToolError> {
        let name = show_path(self.undo.workspace.display(&outcome.path)).into_owned();
        let shown = |content: &Content| self.bytes(content, target.current.as_ref());
        outcome.diff = diff(
            shown(&Content::Current).as_deref(),
            shown(&content).as_deref(),
            &name,
        );
        let is_same = match (&content, &target.current) {
            (Content::Before(index), Some(current)) => {
                let before = self.entry(*index).before.as_ref();
                before.is_some_and(|before| {
                    self.original(before.stamp) == self.original(Stamp::of(&current.stat))
                })
            }
            (Content::Before(index), None) => self.entry(*index).before.is_none(),
            _ => false,
        };
        outcome.is_done = is_same;
        if is_same || self.undo.is_explained {
            return Ok(());
        }
        let restored = match &content {
            Content::Before(index) => self.entry(*index).before.as_ref(),
            _ => None,
        };
        let origin = ChangeOrigin {
            tool: UNDO.to_owned(),
            call: Some(self.call.clone()),
            id: Some(id.to_owned()),
            undoes: outcome
                .undone
                .iter()
                .map(|i| self.entry(*i).id.to_string())
                .collect(),
            restores: restored.and_then(|state| serde_json::to_string(&state.stamp).ok()),
        };
        let is_new = target.current.is_none();
        let target = found.kept(target, origin);
        outcome.not_kept = match (content, source) {
            (Content::Merged(bytes), _) => {
                target.commit(&found.place, |file| file.write_all(&bytes))?
            }
            (_, Some(source)) => {
                let mode = restored.filter(|_| is_new).map(|state| state.mode);
                target.commit(&found.place, |file| put_back(&source, file, mode))?
            }
            (_, None) => {
                let not_kept = target.remove(&found.place)?;
                let made = outcome.undone.iter().map(|i| self.entry(*i).made).max();
                found
                    .workspace()
                    .remove_empty_directories(&found.place, made.unwrap_or(0));
                not_kept
            }
        };
        outcome.id = Some(id.to_owned());
        Ok(())
    }
}

/// Writes an old content, with the mode that its file had where none is there to take it from.
fn put_back(source: &File, file: &mut File, mode: Option<u32>) -> io::Result<()> {
    // No more than a new file has for others than the user: that is the user's to give.
    let permissions = mode.map(|mode| std::fs::Permissions::from_mode(mode & 0o777));
    if let Some(permissions) = permissions {
        file.set_permissions(permissions)?;
    }
    #[cfg(target_os = "linux")]
    if fs::ioctl_ficlone(&*file, source).is_ok() {
        return Ok(());
    }
    let mut piece = vec![0_u8; PIECE_BYTES];
    let mut at = 0;
    loop {
        match read_at(source, &mut piece, at)? {
            0 => return Ok(()),
            n => {
                file.write_all(&piece[..n])?;
                at += n as u64;
            }
        }
    }
}

fn refused(chosen: &[usize], reason: &str) -> Vec<Refused> {
    let refused = |index: &usize| Refused {
        index: *index,
        reason: reason.to_owned(),
        can_merge: false,
    };
    chosen.iter().map(refused).collect()
}

/// An error as the end of a sentence about the file.
fn in_a_sentence(error: &ToolError) -> String {
    let text = error.to_string();
    format!("can't be written: {}", text.trim_end_matches('.'))
}

/// What changes from one content to the other, as far as it can be shown.
fn diff(old: Option<&[u8]>, new: Option<&[u8]>, name: &str) -> String {
    fn text(bytes: Option<&[u8]>) -> Option<&str> {
        let text = std::str::from_utf8(bytes.unwrap_or_default()).ok()?;
        (text.len() <= SHOWN_BYTES && !text.contains('\0')).then_some(text)
    }
    match (text(old), text(new)) {
        (Some(old), Some(new)) => diff_texts(old, new, name).0,
        _ => format!("--- {name}\n+++ {name}\nThe content is large, or is not UTF-8 text.\n"),
    }
}
