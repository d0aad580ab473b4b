//! Records what a command has changed.

use super::{ChangeCounts, CommandChanges, OriginalState};
use crate::journal::entry::{FileState, JournalEntry, OldContent};
use crate::journal::keeper::{self, now};
use crate::journal::place;
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, CWD, Mode, chmodat, linkat, statat};
use std::fs::File;
use std::path::{Path, PathBuf};

const MAX_COMPARED_BYTES: u64 = 256 * 1024;

impl CommandChanges {
    /// Records the files that the command has changed since the last `record`. Returns how many
    /// these are, and for how many the change can't be undone.
    pub fn record(&mut self) -> ChangeCounts {
        let mut counts = ChangeCounts {
            changed: self.missed,
            lost: std::mem::take(&mut self.missed),
        };
        let mut entries = Vec::new();
        let mut touched = std::mem::take(&mut self.before);
        for before in touched.values_mut() {
            self.share_copy(before);
        }
        for (path, before) in touched {
            let path = PathBuf::from(path);
            let after = self.scope.look(&path);
            let after = after.map(|found| found.map(|(state, _)| state));
            match after {
                Ok(after) if self.is_changed(&path, &before, after.as_ref()) => {
                    counts.changed += 1;
                    let is_lost = matches!(before.kept, OldContent::Lost(_))
                        && !before.is_untouched()
                        && !before.is_excluded;
                    counts.lost += u32::from(is_lost);
                    entries.push((path, before, after));
                }
                Ok(_) => self.discard(&before),
                // The path can't be read, perhaps because the command has removed permissions of
                // its directory.
                Err(_) => {
                    self.discard(&before);
                    counts.changed += 1;
                    counts.lost += 1;
                }
            }
        }
        if !entries.is_empty() && !self.append(entries) {
            counts.lost = counts.changed;
        }
        self.hour = None;
        self.linked.clear();
        counts
    }

    /// Gives a path its own hard link to the copy that was made under another name of the file.
    fn share_copy(&self, before: &mut OriginalState) {
        let state = before.state.as_ref().filter(|_| before.is_untouched());
        if let Some(state) = state
            && let Some(linked) = self.linked.get(&state.stamp.file())
            && let (Some(id), Some(hour)) = (&linked.kept, &self.hour)
            && linkat(&hour.dir, &**id, &hour.dir, &*before.id, AtFlags::empty()).is_ok()
        {
            before.kept = OldContent::Copied;
        }
    }

    fn is_changed(
        &mut self,
        path: &Path,
        before: &OriginalState,
        after: Option<&FileState>,
    ) -> bool {
        let is_same = match (&before.state, after) {
            (None, None) => true,
            (Some(before), Some(after)) if before.kind.is_some() => {
                before.kind == after.kind && (before.mode == after.mode || !before.is_directory())
            }
            (Some(state), Some(after)) => {
                after.kind.is_none()
                    && state.mode == after.mode
                    && (state.stamp == after.stamp || self.has_same_content(path, before, after))
            }
            _ => false,
        };
        // Before the command, nothing was at the path, so ignore rules for directories only, such
        // as `build/`, did not apply to it. If it is a directory now, they do.
        let is_ignored = before.state.is_none()
            && after.is_some_and(FileState::is_directory)
            && self.scope.find(path, true).is_none();
        // Objects that a command has added to a git repository are not recorded, so that an undo
        // does not remove them: the repository may refer to them.
        let is_object = before.state.is_none() && is_git_object(path);
        !is_same && !is_ignored && !is_object
    }

    fn has_same_content(&self, path: &Path, before: &OriginalState, after: &FileState) -> bool {
        let size = after.stamp.size();
        let is_small = size <= MAX_COMPARED_BYTES
            && before
                .state
                .as_ref()
                .is_some_and(|state| state.stamp.size() == size);
        let (true, OldContent::Copied, Some(hour)) = (is_small, &before.kept, &self.hour) else {
            return false;
        };
        let now = place::open_file(CWD, path).ok();
        let old = place::open_file(&hour.dir, &before.id).ok();
        let content = |file: Option<File>| keeper::read(&file?, size).ok();
        let old = content(old);
        old.is_some() && old == content(now)
    }

    fn append(&mut self, changes: Vec<(PathBuf, OriginalState, Option<FileState>)>) -> bool {
        let at = now();
        if self.hour.is_none() {
            self.hour = self.journal.open_hour(at).ok();
        }
        let Some(hour) = &self.hour else {
            return false;
        };
        let first = changes.first().map(|(_, before, _)| before.id.clone());
        let command = self.command.get_or_insert(first.unwrap_or_default());
        let mut undo = self.undo.take().unwrap_or_default();
        let mut entries = Vec::new();
        for (path, before, after) in changes {
            if before.kept == OldContent::Moved {
                make_private(&hour.dir, &before.id);
            }
            let linked = before
                .state
                .as_ref()
                .and_then(|state| self.linked.get(&state.stamp.file()));
            entries.push(JournalEntry {
                left: linked.and_then(|linked| linked.left.clone()),
                tool: self.tool.clone(),
                command: Some(command.clone()),
                line: (before.id == *command).then(|| self.line.clone()),
                before: before.state,
                after,
                old_content: before.kept,
                call: (!undo.call.is_empty()).then(|| undo.call.clone()),
                undoes: undo.undoes.remove(&path).unwrap_or_default(),
                ..self.journal.entry(before.id, at, &path)
            });
        }
        if let Some(first) = entries.first_mut() {
            // A path that already was as before its changes gets no entry of this undo. The first
            // entry lists these changes too, so that they count as undone.
            let others = undo.undoes.into_values().flatten();
            first.undoes.splice(0..0, others);
        }
        let is_written = hour.append(&entries);
        if hour.is_new || self.journal.is_large(self.kept_bytes) {
            self.journal.prune();
        }
        is_written
    }
}

fn make_private(dir: &OwnedFd, id: &str) {
    let stat = statat(dir, id, AtFlags::SYMLINK_NOFOLLOW);
    // All hard links of a file have the same mode. If the file has a name outside of the journal,
    // it keeps its mode.
    if stat.is_ok_and(|stat| i128::from(stat.st_nlink) == 1) {
        let mode = Mode::from_raw_mode(0o600);
        let _ = chmodat(dir, id, mode, AtFlags::empty());
    }
}

fn is_git_object(path: &Path) -> bool {
    let mut names = path.iter();
    names.any(|name| name == ".git") && names.any(|name| name == "objects")
}
