//! Determines what an undo is to achieve: the state of each path now and before the changes.

use super::plan::{Goal, ModeChange};
use super::whole::{Whole, look, place_of};
use super::{FileOutcome, UndoRefusal};
use crate::journal::entry::{FileState, NodeKind, OldContent};
use crate::journal::keeper::stamped;
use crate::write::is_equal;
use crate::{Workspace, WorkspacePath};
use rustix::fs::{Dir, Mode, OFlags, fstat, openat};
use rustix::io::Errno;
use std::collections::{BTreeMap, HashSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

impl Whole<'_, '_> {
    pub(super) fn workspace(&self) -> &Workspace {
        self.run.undo.workspace
    }

    /// Determines the state that a path is to have after the undo. Entries that have not led to its
    /// present state are refused.
    pub(super) fn set_goal(&mut self, path: &Path) -> Result<(), String> {
        let run = self.run;
        let stands_for_lost = |index: &usize| {
            let entry = run.entry(*index);
            let is_directory = entry.before.as_ref().is_some_and(FileState::is_directory);
            is_directory && entry.loss().is_some()
        };
        if self.by_path[path].iter().any(stands_for_lost) {
            // The entry of the root of the command stands for changes of unknown paths, and says
            // why they are lost.
            return Err(String::new());
        }
        let chosen = &self.by_path[path];
        let mut outcome = FileOutcome {
            path: path.to_owned(),
            ..FileOutcome::default()
        };
        let now = self.present(path)?;
        outcome.is_done = run.is_as_before(chosen, now.as_ref());
        let moved_from = |index: &usize| run.entry(*index).moved_from.as_ref();
        if let Some(from) = chosen.iter().find_map(moved_from)
            && !outcome.is_done
        {
            return Err(format!("was moved here from {from}, and would be lost"));
        }
        if outcome.is_done {
            outcome.undone.clone_from(chosen);
        } else {
            outcome.undone = run.steps(chosen, now.as_ref(), &mut outcome.refused);
        }
        if let (Some(index), []) = (outcome.undone.last().copied(), &outcome.refused[..]) {
            let goal = self.goal(path, &outcome.undone, now);
            if goal.mode_change == ModeChange::Others {
                let reason = "was changed since".to_owned();
                outcome.refused.push(UndoRefusal { index, reason });
            }
            self.goals.by_path.insert(path.to_owned(), goal);
        }
        self.outcomes.insert(path.to_owned(), outcome);
        Ok(())
    }

    fn present(&self, path: &Path) -> Result<Option<FileState>, String> {
        let now = look(self.workspace(), path)?;
        let entries = self.by_path[path]
            .iter()
            .map(|index| self.run.entry(*index));
        let mut states = entries
            .flat_map(|entry| [&entry.before, &entry.after])
            .flatten();
        let Some(found) = now
            .as_ref()
            .filter(|now| now.is_file() && states.any(|s| s.sha256.is_some()))
        else {
            return Ok(now);
        };
        let sha256 = (self.run.digest(path)).map_err(|e| format!("can't be read: {e}"))?;
        Ok(Some(FileState {
            sha256,
            ..found.clone()
        }))
    }

    fn goal(&self, path: &Path, undone: &[usize], now: Option<FileState>) -> Goal {
        let run = self.run;
        let index = undone[undone.len() - 1];
        let oldest = run.entry(index);
        let then = oldest.before.clone();
        let by_commands = || {
            let entries = undone.iter().map(|index| run.entry(*index));
            entries.filter(|entry| entry.command.is_some())
        };
        let mode_of = |state: Option<&FileState>| state.map(|state| state.mode);
        let after = by_commands()
            .next()
            .and_then(|entry| mode_of(entry.after.as_ref()));
        let before = by_commands()
            .next_back()
            .and_then(|entry| mode_of(entry.before.as_ref()));
        let mode_now = mode_of(now.as_ref());
        let has_changed_mode = after.is_some() && after != before;
        let is_mode_changed = has_changed_mode && after == mode_now;
        let is_kept = !is_mode_changed
            && now
                .as_ref()
                .zip(then.as_ref())
                .is_some_and(|(now, then)| now.kind == then.kind);
        // Undoing a file tool's change does not bring back set-user-ID, set-group-ID and sticky
        // bits: only the user should grant these.
        let bits = if oldest.command.is_some() {
            0o7777
        } else {
            0o777
        };
        let mode = then.as_ref().map_or(0, |then| then.mode & bits);
        let source = then
            .as_ref()
            .filter(|then| then.is_file())
            .and_then(|then| self.source(index, then));
        let states = then.as_ref().zip(now.as_ref());
        let has_content =
            states.is_some_and(|(then, now)| self.has_content(path, index, then, now));
        let file = then.as_ref().map(|then| then.stamp.file());
        let states = undone.iter().flat_map(|index| {
            let entry = run.entry(*index);
            [&entry.before, &entry.after].into_iter().flatten()
        });
        let passed = states.filter(|state| state.is_file() && Some(state.stamp.file()) == file);
        Goal {
            passed: passed.cloned().collect(),
            mode: now
                .as_ref()
                .filter(|_| is_kept)
                .map_or(mode, |now| now.mode),
            now,
            then,
            mode_change: if is_mode_changed {
                ModeChange::Ours
            } else if has_content && has_changed_mode && before != mode_now {
                ModeChange::Others
            } else {
                ModeChange::None
            },
            has_content,
            source,
            oldest: index,
            ..Goal::default()
        }
    }

    fn has_content(&self, path: &Path, index: usize, then: &FileState, now: &FileState) -> bool {
        let run = self.run;
        let is_original = run.original(then.stamp) == run.original(now.stamp);
        if is_original && self.differs(path, index) {
            return false;
        }
        // A file with further names may have the same content by chance. It must not count as the
        // former file, whose names and mode the undo changes.
        let is_one_name = then.links.is_none() && now.links.is_none();
        let is_equal = is_one_name
            && (run.is_same(Some(then), Some(now))
                || run.has_old_content(index, now)
                || self.by_path[path]
                    .iter()
                    .all(|i| run.entry(*i).is_of_mode()));
        then.is_file() && now.is_file() && (is_original || is_equal)
    }

    /// Returns true if a file that has its former size and mtime has another content. A copy is kept
    /// of what a command may have written into.
    fn differs(&self, path: &Path, index: usize) -> bool {
        let is_copied = self.run.entry(index).old_content == OldContent::Copied;
        let old = self.run.old_content(index).ok().flatten();
        let files = old.filter(|_| is_copied).zip(self.open(path).ok());
        files.is_some_and(|(old, now)| !is_equal(&old, &now).unwrap_or(false))
    }

    fn source(&self, index: usize, then: &FileState) -> Option<usize> {
        let kept = self
            .run
            .kept
            .get(&then.stamp)
            .into_iter()
            .flatten()
            .copied();
        std::iter::once(index).chain(kept).find(|index| {
            self.run
                .old_content(*index)
                .is_ok_and(|file| file.is_some())
        })
    }

    /// Adds goals to remove the directories that were created for files which the undo removes, if
    /// they are empty after that.
    pub(super) fn take_back_directories(&mut self) {
        let made = |(path, goal): (&PathBuf, &Goal)| {
            let made = self.run.entry(goal.oldest).made;
            let is_gone = goal.then.is_none() && made > 0;
            is_gone.then(|| (path.clone(), goal.oldest, made))
        };
        let made: Vec<_> = self.goals.by_path.iter().filter_map(made).collect();
        for (path, oldest, count) in made {
            for dir in path.ancestors().skip(1).take(count) {
                if let Some(goal) = self.goals.by_path.get_mut(dir) {
                    if goal.oldest > oldest {
                        (goal.then, goal.is_optional) = (None, true);
                    }
                    continue;
                }
                let now = look(self.workspace(), dir).ok().flatten();
                if let Some(now) = now.filter(FileState::is_directory) {
                    let goal = Goal {
                        now: Some(now),
                        oldest,
                        is_optional: true,
                        ..Goal::default()
                    };
                    self.goals.by_path.insert(dir.to_owned(), goal);
                }
            }
        }
    }

    /// Notes the states of the directories above the paths, and which of the directories to be
    /// removed hold files that the undo does not know.
    pub(super) fn look_around(&mut self) {
        let (mut others, mut shared, mut unread) = (BTreeMap::new(), HashSet::new(), Vec::new());
        for (path, goal) in &self.goals.by_path {
            let Ok(place) = place_of(self.workspace(), path) else {
                continue;
            };
            let above = path.parent().unwrap_or(path);
            if !self.goals.by_path.contains_key(above)
                && !others.contains_key(above)
                && let Ok(dir) = self.workspace().open_parent(&place)
                && let Ok(stat) = fstat(&dir)
            {
                let kind = Some(NodeKind::Directory);
                others.insert(
                    above.to_owned(),
                    FileState {
                        kind,
                        ..stamped(&stat)
                    },
                );
            }
            let stays = goal.then.as_ref().is_some_and(FileState::is_directory);
            if !goal.now.as_ref().is_some_and(FileState::is_directory) || stays {
                continue;
            }
            match self.has_strangers(&place) {
                Ok(false) => {}
                Err(errno) if !goal.is_optional => {
                    unread.push((path.clone(), format!("can't be read: {errno}")));
                }
                _ => drop(shared.insert(path.clone())),
            }
        }
        self.obstacles.extend(unread);
        self.goals.others = others;
        self.goals.shared = shared;
    }

    fn has_strangers(&self, place: &WorkspacePath) -> Result<bool, Errno> {
        let dir = self.workspace().open_parent(place)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let dir = openat(&dir, place.name(), flags, Mode::empty())?;
        for entry in Dir::read_from(&dir)? {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            let path = place.path().join(name);
            let is_known =
                || self.goals.by_path.contains_key(&path) || self.by_path.contains_key(&path);
            if name != "." && name != ".." && !is_known() {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
