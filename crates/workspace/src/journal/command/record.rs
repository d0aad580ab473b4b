//! Records what a command has changed.

use super::{ChangeCounts, CommandChanges, LinkedFile, OriginalState, changed_at};
use crate::journal::entry::{ContentStamp, FileId, FileState, JournalEntry, NodeKind, OldContent};
use crate::journal::keeper::{self, now};
use crate::journal::{node, place};
use crate::write::is_equal;
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, CWD, Mode, chmodat, fstat, linkat, statat};
use rustix::io::Errno;
use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::num::NonZero;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

const MAX_COMPARED_BYTES: u64 = 256 * 1024;

const MAX_LINES_BYTES: usize = 16 * 1024 * 1024;

/// How many bytes are read at most at the end of a command, for digests of the files that it has
/// changed. They take a few tenths of a second.
const MAX_DIGESTED_BYTES: u64 = 64 * 1024 * 1024;

impl CommandChanges {
    /// Records the files that the command has changed since the last `record`. Returns how many
    /// these are, and for how many the change can't be undone. Unless this is the last record, what
    /// the command has touched and not changed stays kept: a process that still runs may be about
    /// to change it by a system call that has been seen already, or through a file that it has open.
    pub fn record(&mut self, is_final: bool) -> ChangeCounts {
        self.find_left_files();
        let mut counts = ChangeCounts::default();
        let mut touched = std::mem::take(&mut self.before);
        let new = touched.iter().filter(|(_, before)| before.state.is_none());
        let heads = new.filter(|(path, _)| path.as_bytes().ends_with(b"/HEAD"));
        let made = heads.filter_map(|(path, _)| Path::new(path).parent().map(Path::to_owned));
        self.repositories.extend(made);
        for before in touched.values_mut() {
            self.share_copy(before);
        }
        let at = now();
        let mut lines = Lines::default();
        for (path, mut before) in touched {
            let path = PathBuf::from(path);
            match self.after(&path, &mut before, is_final) {
                Ok(after) if self.is_changed(&path, &before, after.as_ref()) => {
                    counts.changed += 1;
                    counts.lost += u32::from(before.is_lost());
                    let later = after.clone().filter(|after| !is_final && after.is_file());
                    let entry = self.entry(at, &path, before, after);
                    lines.push(&entry, self);
                    if let Some(state) = later {
                        self.watch_on(path, state);
                    }
                }
                Ok(_) if is_final => self.discard(&before),
                Ok(_) => drop(self.before.insert(path.into(), before)),
                // The path can't be read, perhaps because the command has removed permissions of
                // its directory. Nor can an undo, which is refused then, but names the old content.
                Err(_) => {
                    (counts.changed, counts.lost) = (counts.changed + 1, counts.lost + 1);
                    let after = before.state.clone();
                    let entry = self.entry(at, &path, before, after);
                    lines.push(&entry, self);
                }
            }
        }
        counts.changed += self.missed;
        counts.lost += self.missed;
        if let Some(entry) = self.missed_entry(at) {
            lines.push(&entry, self);
        }
        if !lines.finish(self) {
            counts.lost = counts.changed;
        }
        let touched = self
            .before
            .values()
            .filter_map(|before| before.state.as_ref());
        let touched: HashSet<_> = touched.map(|state| state.stamp.file()).collect();
        self.linked.retain(|file, _| touched.contains(file));
        counts
    }

    /// Finds another name of each file that has lost all names that the command touched. A process
    /// that had the file open may have changed it since, so that name counts as touched as well.
    fn find_left_files(&mut self) {
        // A file all of whose names were touched may be gone, and its inode that of another file.
        let mut names: HashMap<FileId, u64> = HashMap::new();
        for state in self
            .before
            .values()
            .filter_map(|before| before.state.as_ref())
        {
            *names.entry(state.stamp.file()).or_default() += 1;
        }
        let has_others = |(file, linked): &(&FileId, &LinkedFile)| {
            linked.state.links > names.get(*file).copied()
        };
        let left = self.linked.iter().filter(has_others);
        let mut left: HashSet<FileId> = left.map(|(file, _)| *file).collect();
        for path in self.before.keys() {
            if !left.is_empty()
                && let Ok(Some((now, _))) = self.scope.look(Path::new(path))
            {
                left.remove(&now.stamp.file());
            }
        }
        let Some(workspace) = self.scope.workspace().filter(|_| !left.is_empty()) else {
            return;
        };
        let found: Vec<_> = node::names_below(workspace)
            .filter_map(|path| {
                let file = ContentStamp::at(CWD, &path)?.file();
                left.remove(&file).then_some((path, file))
            })
            .collect();
        for (path, file) in found {
            let state = Some(self.linked[&file].state.clone());
            let before = OriginalState::new(state, OldContent::default(), false);
            self.before.insert(path.into(), before);
        }
    }

    /// Keeps an eye on a file that was recorded, since a process may have it open and write on. That
    /// is one more change of the same command. Its old content is not needed, because the command
    /// is undone from its first change on.
    fn watch_on(&mut self, path: PathBuf, state: FileState) {
        let stat = statat(CWD, &path, AtFlags::SYMLINK_NOFOLLOW);
        let kept = OldContent::Lost("the command went on writing to it".to_owned());
        let before = OriginalState {
            changed_at: stat.as_ref().ok().map(changed_at),
            ..OriginalState::new(Some(state), kept, true)
        };
        self.before.insert(path.into(), before);
    }

    /// Returns an entry for each path that an undo may change, without the state after it, and the
    /// number of those that could not be kept.
    pub(in crate::journal) fn into_entries(mut self) -> (Vec<JournalEntry>, usize) {
        let Some(mut undo) = self.undo.take() else {
            return (Vec::new(), 0);
        };
        let (mut entries, mut lost) = (Vec::new(), 0);
        for (path, mut before) in std::mem::take(&mut self.before) {
            self.share_copy(&mut before);
            lost += usize::from(before.is_lost());
            let path = PathBuf::from(path);
            entries.push(JournalEntry {
                call: Some(undo.call.clone()),
                undoes: undo.undoes.remove(&path).unwrap_or_default(),
                ..self.entry(undo.at, &path, before, None)
            });
        }
        // What is already as it was before the changes, and outside of what is kept, has no entry
        // of its own.
        if let Some(last) = entries.last_mut() {
            last.undoes.extend(undo.undoes.into_values().flatten());
        }
        (entries, lost)
    }

    fn after(
        &mut self,
        path: &Path,
        before: &mut OriginalState,
        is_final: bool,
    ) -> Result<Option<FileState>, Errno> {
        let found = self.scope.look(path)?.map(|(state, _)| state);
        let (Some(state), Some(now), OldContent::Moved) = (&before.state, &found, &before.kept)
        else {
            return Ok(found);
        };
        let is_pending = !is_final && state.stamp == now.stamp;
        if state.stamp.file() != now.stamp.file() || is_pending {
            return Ok(found);
        }
        // The file got a second name in the journal because it was about to lose its own, but that
        // has failed. Whoever writes to the file would write to the journal's.
        self.discard(before);
        before.kept = OldContent::Lost(if state.stamp == now.stamp {
            String::new()
        } else {
            "it was written to before it was copied".to_owned()
        });
        Ok(self.scope.look(path)?.map(|(state, _)| state))
    }

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
                let has_mode = !matches!(before.kind, Some(NodeKind::Link(_)));
                before.kind == after.kind && (before.mode == after.mode || !has_mode)
            }
            (Some(state), Some(after)) => {
                after.kind.is_none()
                    && state.mode == after.mode
                    && self.has_same_content(path, before, state, after)
            }
            _ => false,
        };
        // Before the command, nothing was at the path, so ignore rules for directories only, such
        // as `build/`, did not apply to it. If it is a directory now, they do.
        let is_ignored = before.state.is_none()
            && after.is_some_and(FileState::is_directory)
            && self.scope.find(path, true).is_none();
        // Objects that a command has added to a git repository are not recorded, so that an undo
        // does not remove them: the repository may refer to them, unless it goes as well.
        let goes = || path.ancestors().any(|dir| self.repositories.contains(dir));
        let is_object = before.state.is_none() && is_git_object(path) && !goes();
        !is_same && !is_ignored && !is_object
    }

    /// Returns true if a file has the content that it had before the command. A file of the same
    /// size and mtime may have another one, because `cp -p` and `touch -r` set the mtime; so the
    /// contents are compared, unless the old one is not kept, or the file is large and its ctime
    /// says that nothing has changed it.
    fn has_same_content(
        &self,
        path: &Path,
        before: &OriginalState,
        state: &FileState,
        after: &FileState,
    ) -> bool {
        let size = after.stamp.size();
        let (is_same_stamp, is_small) = (state.stamp == after.stamp, size <= MAX_COMPARED_BYTES);
        let is_kept = matches!(before.kept, OldContent::Copied | OldContent::Moved);
        let is_unchanged = || {
            let now = statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW);
            now.is_ok_and(|now| before.changed_at == Some(changed_at(&now)))
        };
        // What was moved is the same file.
        let is_safe = before.is_untouched() || before.kept == OldContent::Moved;
        if is_same_stamp && (is_safe || !(is_kept && is_small) && is_unchanged()) {
            return true;
        }
        // If another file has taken the name, and one of them has several, that is a change.
        let has_links = state.links.is_some() || after.links.is_some();
        let is_one_of_several = has_links && state.stamp.file() != after.stamp.file();
        let is_comparable = state.stamp.size() == size && (is_small || is_same_stamp);
        let Some(hour) = self
            .hour
            .as_ref()
            .filter(|_| is_comparable && is_kept && !is_one_of_several)
        else {
            return false;
        };
        let now = place::open_file(CWD, path);
        let old = place::open_file(&hour.dir, &before.id);
        old.is_ok_and(|old| now.is_ok_and(|now| is_equal(&old, &now).unwrap_or(false)))
    }

    fn entry(
        &mut self,
        at: u64,
        path: &Path,
        before: OriginalState,
        after: Option<FileState>,
    ) -> JournalEntry {
        if before.kept == OldContent::Moved
            && let Some(hour) = &self.hour
        {
            make_private(&hour.dir, &before.id);
        }
        let command = self.command.get_or_insert_with(|| before.id.clone());
        JournalEntry {
            tool: self.tool.clone(),
            command: Some(command.clone()),
            line: (before.id == *command).then(|| self.line.clone()),
            before: before.state,
            after: after.map(|after| self.with_digest(path, after, before.is_excluded)),
            old_content: before.kept,
            moved_from: before.moved_from.map(|from| from.display().to_string()),
            ..self.journal.entry(before.id, at, path)
        }
    }

    /// Adds the digest of a small file. By it, an undo finds that a file still has the same content
    /// although it has been touched since. A file that the user has excluded gets none, because a
    /// short secret could be guessed from it, nor does a file beyond [`MAX_DIGESTED_BYTES`] of a
    /// command.
    fn with_digest(&mut self, path: &Path, state: FileState, is_excluded: bool) -> FileState {
        let digest = || {
            let file = place::open_file(CWD, path).ok()?;
            let now = keeper::state(&file, &fstat(&file).ok()?);
            (now.stamp == state.stamp).then_some(now.sha256)?
        };
        let is_wanted = state.is_file() && !is_excluded && self.digested < MAX_DIGESTED_BYTES;
        let sha256 = is_wanted.then(digest).flatten();
        if sha256.is_some() {
            self.digested += state.stamp.size();
        }
        FileState { sha256, ..state }
    }

    /// Returns an entry about the root directory if changes were missed, so that the command is not
    /// undone without them.
    fn missed_entry(&mut self, at: u64) -> Option<JournalEntry> {
        let missed = NonZero::new(std::mem::take(&mut self.missed))?;
        let (path, state) = self.scope.root()?;
        let path = path.to_owned();
        let why = format!(
            "{missed} changes were not seen, of paths that are unknown or too long, or of a root that was moved, or after too many"
        );
        let before = OriginalState::new(Some(state.clone()), OldContent::Lost(why), true);
        Some(self.entry(at, &path, before, Some(state)))
    }

    fn append(&mut self, lines: &[u8]) -> bool {
        if self.hour.is_none() {
            self.hour = self.journal.open_hour(now()).ok();
        }
        let hour = self.hour.as_ref();
        hour.is_some_and(|hour| hour.append_lines(lines))
    }
}

/// The lines of a record. They are written to the log together: if the command's supervisor is
/// killed, all changes of the command can be undone, or none. Only a very large record is written
/// in parts, because its lines would take too much memory.
#[derive(Default)]
struct Lines {
    bytes: Vec<u8>,
    is_incomplete: bool,
}

impl Lines {
    fn push(&mut self, entry: &JournalEntry, changes: &mut CommandChanges) {
        self.is_incomplete |= !entry.push_line(&mut self.bytes);
        if self.bytes.len() > MAX_LINES_BYTES {
            self.is_incomplete |= !changes.append(&self.bytes);
            self.bytes.clear();
        }
    }

    fn finish(mut self, changes: &mut CommandChanges) -> bool {
        if !self.bytes.is_empty() {
            self.is_incomplete |= !changes.append(&self.bytes);
        }
        let is_large = changes.journal.is_large(changes.kept_bytes);
        let is_new = changes
            .hour
            .as_mut()
            .is_some_and(|hour| std::mem::take(&mut hour.is_new));
        if changes.before.is_empty() {
            // What is kept next may belong to another hour.
            changes.hour = None;
        }
        if is_new || is_large {
            changes.journal.prune();
        }
        !self.is_incomplete
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

/// Returns true for `objects/` of a git repository, for a file in it that holds objects, and for
/// the directory of such a file.
fn is_git_object(path: &Path) -> bool {
    let is_hex = |name: &[u8]| name.iter().all(u8::is_ascii_hexdigit);
    let mut names = path.iter().map(OsStr::as_bytes);
    if !names.any(|name| name == b".git") {
        return false;
    }
    let names: Vec<_> = names.collect();
    let objects = names.iter().rposition(|name| *name == b"objects");
    let Some(objects) = objects.filter(|at| {
        // A branch or a tag may be named `objects/ab`, too.
        !names[..*at]
            .iter()
            .any(|name| [&b"refs"[..], b"logs"].contains(name))
    }) else {
        return false;
    };
    let mut names = names.into_iter().skip(objects + 1);
    match (names.next(), names.next(), names.next()) {
        (None, ..) => path.join("pack").is_dir(),
        (Some(b"pack"), _, None) => true,
        (Some(dir), file, None) if dir.len() == 2 && is_hex(dir) => {
            // The rest of the digits of an object's SHA-1 or SHA-256.
            file.is_none_or(|name| matches!(name.len(), 38 | 62) && is_hex(name))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::is_git_object;
    use std::path::Path;

    #[test]
    fn only_files_of_git_that_hold_objects_are_objects() {
        let digits = "0123456789abcdef0123456789abcdef012345";
        let dir = tempfile::tempdir().expect("a directory");
        let objects = dir.path().join(".git/objects");
        std::fs::create_dir_all(objects.join("pack")).expect("made");
        let is_object = |name: &str| is_git_object(&dir.path().join(".git").join(name));
        let loose = format!("objects/0f/{digits}");
        let in_module = format!("modules/lib/{loose}");
        for name in [
            "objects",
            "objects/0f",
            &loose,
            &in_module,
            "objects/pack/pack-1.idx",
        ] {
            assert!(is_object(name), "{name}");
        }
        assert!(is_object(&format!("modules/objects/{loose}")));
        let branch = "refs/heads/objects";
        for name in [
            branch,
            &format!("{branch}/feature"),
            &format!("{branch}/ab"),
            "logs/refs/heads/objects/pack",
            "objects/info/alternates",
            "HEAD",
        ] {
            assert!(!is_object(name), "{name}");
        }
        assert!(!is_git_object(Path::new("objects/0f")));
    }
}
