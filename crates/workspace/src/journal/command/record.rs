//! The record of what a command has changed.

use super::{BackupKind, ChangeCounts, CommandChanges, Hour, OriginalState, is_directory};
use crate::journal::entry::{FileState, JournalEntry, OldContent};
use crate::journal::keeper::{self, now};
use crate::journal::scope::Coverage;
use crate::journal::{node, place, prune};
use rustix::fs::{AtFlags, CWD, Mode, OFlags, chmodat, open, statat};
use rustix::io::{retry_on_intr, write};
use std::fs::File;
use std::path::{Path, PathBuf};

/// The largest content that is compared byte by byte with what was there, in bytes.
const MAX_COMPARED_BYTES: u64 = 256 * 1024;

impl CommandChanges {
    /// Records what the command has changed so far. What it changes from now on is recorded by the
    /// next call.
    pub fn record(&mut self) -> ChangeCounts {
        let mut counts = ChangeCounts {
            changed: self.missed,
            lost: std::mem::take(&mut self.missed),
        };
        let mut entries = Vec::new();
        for (path, before) in std::mem::take(&mut self.before) {
            let path = PathBuf::from(path);
            let after = node::look(CWD, &path);
            let after = after.map(|found| found.map(|(state, _)| state));
            match after {
                Ok(after) if self.is_changed(&path, &before, after.as_ref()) => {
                    counts.changed += 1;
                    counts.lost += u32::from(matches!(before.kept, BackupKind::Lost(_, true)));
                    entries.push((path, before, after));
                }
                _ => self.discard(&before),
            }
        }
        if !entries.is_empty() && !self.append(entries) {
            counts.lost = counts.changed;
        }
        self.hour = None;
        counts
    }

    /// Returns true if the command has changed what a path names.
    fn is_changed(
        &mut self,
        path: &Path,
        before: &OriginalState,
        after: Option<&FileState>,
    ) -> bool {
        let is_same = match (&before.state, after) {
            (None, None) => true,
            (Some(before), Some(after)) if before.kind.is_some() => {
                before.kind == after.kind && (before.mode == after.mode || !is_directory(before))
            }
            (Some(state), Some(after)) => {
                after.kind.is_none()
                    && state.mode == after.mode
                    && (state.stamp == after.stamp || self.has_same_content(path, before, after))
            }
            _ => false,
        };
        // Only now it is known that it is a directory.
        let is_ignored = before.state.is_none()
            && after.is_some_and(is_directory)
            && matches!(self.scope.coverage(path, true), Coverage::Outside);
        // Without an object that it has made, git's data may be of no use.
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
        let (true, BackupKind::Copied, Some(hour)) = (is_small, &before.kept, &self.hour) else {
            return false;
        };
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let now = open(path, flags, Mode::empty()).ok().map(File::from);
        let old = place::open_file(&hour.dir, &before.id).ok();
        let content = |file: Option<File>| keeper::read(&file?, size).ok();
        let old = content(old);
        old.is_some() && old == content(now)
    }

    /// Appends entries to the log. Returns true if that was possible.
    fn append(&mut self, entries: Vec<(PathBuf, OriginalState, Option<FileState>)>) -> bool {
        let at = now();
        if self.hour.is_none() {
            let hour = self.journal.open_hour(at / place::HOUR_MILLIS);
            self.hour = hour
                .ok()
                .map(|(dir, log, is_new)| Hour { dir, log, is_new });
        }
        let Some(hour) = &self.hour else {
            return false;
        };
        let first = entries.first().map(|(_, before, _)| before.id.clone());
        let command = self
            .command
            .get_or_insert(first.unwrap_or_default())
            .clone();
        let mut lines = Vec::new();
        for (path, before, after) in entries {
            lines.push(b'\n');
            let line = (before.id == command).then(|| self.line.clone());
            let entry = JournalEntry {
                tool: self.tool.clone(),
                command: Some(command.clone()),
                line,
                before: before.state,
                after,
                old_content: hour.old_content(before.kept, &before.id),
                ..self.journal.entry(before.id, at, &path)
            };
            lines.extend(serde_json::to_vec(&entry).unwrap_or_default());
            lines.push(b'\n');
        }
        // One call, so that lines of several writers don't mix.
        let written = retry_on_intr(|| write(&hour.log, &lines));
        if hour.is_new || self.journal.is_large(self.kept_bytes) {
            prune(&self.journal.home, self.journal.limits);
        }
        written == Ok(lines.len())
    }
}

impl Hour {
    /// Returns the place of an old content for the log.
    fn old_content(&self, kept: BackupKind, id: &str) -> OldContent {
        match kept {
            BackupKind::Nothing => OldContent::default(),
            BackupKind::Lost(reason, _) => OldContent::Lost(reason),
            BackupKind::Copied => OldContent::Copied,
            BackupKind::Linked => {
                let stat = statat(&self.dir, id, AtFlags::SYMLINK_NOFOLLOW);
                if stat.is_ok_and(|stat| i128::from(stat.st_nlink) == 1) {
                    let mode = Mode::from_raw_mode(0o600);
                    let _ = chmodat(&self.dir, id, mode, AtFlags::empty());
                }
                OldContent::Moved
            }
        }
    }
}

/// Returns true for what git keeps its objects in.
fn is_git_object(path: &Path) -> bool {
    let mut names = path.iter();
    names.any(|name| name == ".git") && names.any(|name| name == "objects")
}
