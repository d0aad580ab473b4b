//! Taking back what commands have changed: whole, or not at all.
//!
//! The goals say what is there and what was; the plan is tried on a model; all content that it takes away is kept in the
//! journal before its first step; and at the end the tree is compared with the goals. No link is followed on the way to a
//! path.

use super::model::Model;
use super::plan::{Files, Goal, Goals, Obstacle, SHARED, Step, plan};
use super::{FileOutcome, Run, UndoRefusal};
use crate::journal::command::{Access, CommandChanges, UndoOrigin};
use crate::journal::entry::{ContentStamp, FileState, NodeKind};
use crate::journal::keeper::{clone_or_copy, new_id, stamped, state};
use crate::journal::{node, place};
use crate::{Workspace, WorkspacePath};
use gemini_tools_core::tool::ToolError;
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, Dir, Mode, OFlags, fstat, linkat, mkdirat, openat, symlinkat, unlinkat};
use rustix::io::Errno;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

/// The size of the blocks in which contents are compared.
const BLOCK_BYTES: usize = 64 * 1024;

/// The beginning of the names of files that are put aside in a root.
const ASIDE: &str = ".gemini-undo-";

/// The most names among which another name of a file is looked for.
const MAX_SEARCHED_NAMES: usize = 1_000_000;

/// An undo of all paths at once.
pub(super) struct Whole<'r, 'a> {
    run: &'r Run<'a>,
    by_path: &'r HashMap<PathBuf, Vec<usize>>,
    goals: Goals,
    outcomes: BTreeMap<PathBuf, FileOutcome>,
    obstacles: Vec<Obstacle>,
}

impl Run<'_> {
    /// Takes back the chosen entries of all paths, which are given in their order.
    pub(super) fn whole(
        &self,
        order: &[PathBuf],
        by_path: &HashMap<PathBuf, Vec<usize>>,
    ) -> Vec<FileOutcome> {
        let mut whole = Whole {
            run: self,
            by_path,
            goals: Goals::default(),
            outcomes: BTreeMap::new(),
            obstacles: Vec::new(),
        };
        for path in order {
            if let Err(reason) = whole.set_goal(path) {
                whole.obstacles.push((path.clone(), reason));
            }
        }
        whole.take_back_directories();
        whole.look_around();
        whole.undo();
        order
            .iter()
            .filter_map(|path| whole.outcomes.remove(path))
            .collect()
    }
}

impl Files for Run<'_> {
    fn original(&self, stamp: ContentStamp) -> ContentStamp {
        Run::original(self, stamp)
    }

    fn find_name(&self, file: (u64, u64)) -> Option<(PathBuf, FileState)> {
        let workspace = self.undo.workspace;
        let mut waiting: Vec<PathBuf> = workspace.roots().map(Path::to_owned).collect();
        let mut rest = MAX_SEARCHED_NAMES;
        while let Some(dir) = waiting.pop() {
            for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
                rest = rest.checked_sub(1)?;
                let path = entry.path();
                let kind = entry.file_type().ok();
                if kind.is_some_and(|kind| kind.is_dir()) && path != self.journal {
                    waiting.push(path);
                } else if kind.is_some_and(|kind| kind.is_file())
                    && entry
                        .metadata()
                        .is_ok_and(|found| (found.dev(), found.ino()) == file)
                    && let Ok(Some(found)) = look(workspace, &path)
                {
                    return Some((path, found));
                }
            }
        }
        None
    }
}

fn place_of(workspace: &Workspace, path: &Path) -> Result<WorkspacePath, String> {
    let outside = || "is outside of the project".to_owned();
    let place = workspace.beneath(path).filter(|place| !place.is_root());
    let place = place.ok_or_else(outside)?;
    if workspace.roots[place.root].read_only {
        return Err("can only be read".to_owned());
    }
    Ok(place)
}

fn look(workspace: &Workspace, path: &Path) -> Result<Option<FileState>, String> {
    let place = place_of(workspace, path)?;
    let found = node::look_plain(workspace, &place).map_err(|e| format!("can't be read: {e}"))?;
    Ok(found.map(|(state, _)| state))
}

impl Whole<'_, '_> {
    fn workspace(&self) -> &Workspace {
        self.run.undo.workspace
    }

    /// Finds out what a path is to become. The entries that do not follow from what is there are in the way.
    fn set_goal(&mut self, path: &Path) -> Result<(), String> {
        let run = self.run;
        let chosen = &self.by_path[path];
        let mut outcome = FileOutcome {
            path: path.to_owned(),
            ..FileOutcome::default()
        };
        let now = self.present(path)?;
        outcome.is_done = run.is_as_before(chosen, now.as_ref());
        if outcome.is_done {
            outcome.undone.clone_from(chosen);
        } else {
            outcome.undone = run.steps(chosen, now.as_ref(), &mut outcome.refused);
        }
        let oldest = outcome.undone.last().copied();
        if oldest.is_some() && outcome.refused.is_empty() {
            let goal = self.goal(&outcome.undone, now);
            self.goals.by_path.insert(path.to_owned(), goal);
        }
        self.outcomes.insert(path.to_owned(), outcome);
        Ok(())
    }

    /// Returns what is at a path now, with the digest of a regular file if an entry has one.
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
        let digest = self.open(path).and_then(|file| {
            let stat = fstat(&file)?;
            Ok(state(&file, &stat).sha256)
        });
        let sha256 = digest.map_err(|e| format!("can't be read: {e}"))?;
        Ok(Some(FileState {
            sha256,
            ..found.clone()
        }))
    }

    /// Makes the goal of a path whose changes all follow each other.
    fn goal(&self, undone: &[usize], now: Option<FileState>) -> Goal {
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
            .last()
            .and_then(|entry| mode_of(entry.before.as_ref()));
        let is_mode_changed = after.is_some() && after != before && after == mode_of(now.as_ref());
        let is_kept = !is_mode_changed
            && now
                .as_ref()
                .zip(then.as_ref())
                .is_some_and(|(now, then)| now.kind == then.kind);
        // A new file gives others than the user no more than usual: that is the user's to give.
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
        let has_content = then.as_ref().zip(now.as_ref()).is_some_and(|(then, now)| {
            let is_original = run.original(then.stamp) == run.original(now.stamp);
            // Another file with the same content is not to be changed if it has other names.
            let is_equal = now.links.is_none() && run.is_same(Some(then), Some(now));
            then.is_file() && now.is_file() && (is_original || is_equal)
        });
        let file = then.as_ref().map(|then| then.stamp.file());
        let states = undone.iter().flat_map(|index| {
            let entry = run.entry(*index);
            [&entry.before, &entry.after, &entry.left]
                .into_iter()
                .flatten()
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
            is_mode_changed,
            has_content,
            source,
            oldest: index,
            class: usize::MAX,
            is_optional: false,
        }
    }

    /// Finds an entry that has kept a content.
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

    /// Has the directories go that were made for a file that goes, if they are empty then.
    fn take_back_directories(&mut self) {
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
                        is_optional: true,
                        ..Goal::removal(now, oldest)
                    };
                    self.goals.by_path.insert(dir.to_owned(), goal);
                }
            }
        }
    }

    /// Looks at what is around the paths: the directories above them, and what is in those that may go.
    fn look_around(&mut self) {
        let (mut others, mut shared) = (BTreeMap::new(), HashSet::new());
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
            if goal.now.as_ref().is_some_and(FileState::is_directory)
                && !stays
                && self.has_strangers(&place).unwrap_or(true)
            {
                shared.insert(path.clone());
            }
        }
        self.goals.others = others;
        self.goals.shared = shared;
    }

    /// Returns true if a directory has names that no goal is about.
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

    fn undo(&mut self) {
        let is_refused = self
            .outcomes
            .values()
            .any(|outcome| !outcome.refused.is_empty());
        if is_refused || !self.obstacles.is_empty() {
            // What else is in the way is said at once.
            let shared = self
                .goals
                .shared
                .iter()
                .filter(|path| !self.goals.by_path[*path].is_optional);
            self.obstacles
                .extend(shared.map(|path| (path.clone(), SHARED.to_owned())));
            return self.refuse();
        }
        let steps = match plan(&mut self.goals, self.run) {
            Ok(steps) => steps,
            Err(obstacles) => {
                self.obstacles = obstacles;
                return self.refuse();
            }
        };
        let lost = match Model::new(&self.goals).simulate(&self.goals, &steps) {
            Ok(lost) => lost,
            Err(path) => {
                self.obstacles = vec![(path, "can't be given back without harm".to_owned())];
                return self.refuse();
            }
        };
        self.describe();
        if self.run.undo.is_explained || steps.is_empty() {
            return;
        }
        match self.keep(&steps, &lost) {
            Ok(changes) => self.carry_out(&steps, changes),
            Err(obstacles) => {
                self.obstacles = obstacles;
                self.refuse();
            }
        }
    }

    /// Leaves the rest as it is, and says what is in the way.
    fn refuse(&mut self) {
        for outcome in self.outcomes.values_mut() {
            (outcome.is_done, outcome.diff) = (false, String::new());
            outcome.undone.clear();
        }
        for (path, reason) in std::mem::take(&mut self.obstacles) {
            // Of a directory made for a file, or a file that goes elsewhere, the nearest path below is meant.
            let is_chosen = self.by_path.contains_key(&path);
            let mut below = self
                .by_path
                .keys()
                .filter(|chosen| chosen.starts_with(&path));
            let named = if is_chosen { Some(&path) } else { below.next() };
            let Some(named) = named.or_else(|| self.by_path.keys().next()) else {
                continue;
            };
            let index = self.by_path[named][0];
            let reason = if reason.is_empty() {
                self.loss(named)
            } else {
                reason
            };
            let outcome = self.outcomes.entry(named.clone()).or_default();
            outcome.refused.push(UndoRefusal { index, reason });
        }
        for path in self.by_path.keys() {
            let outcome = self.outcomes.entry(path.clone()).or_default();
            outcome.path.clone_from(path);
            let oldest = outcome.refused.iter().map(|refusal| refusal.index).min();
            if let Some(index) = oldest
                && let Ok(Some(old)) = self.run.old_content(index)
                && let Ok(place) = place_of(self.run.undo.workspace, path)
            {
                let now = open(self.run.undo.workspace, &place).ok();
                outcome.diff = self.run.diff(path, now.as_ref(), Some(&old));
                outcome.old_content = Some(self.run.backup(self.run.entry(index)));
            }
        }
    }

    /// Returns why the content of a path can't be had.
    fn loss(&self, path: &Path) -> String {
        let entries = self.by_path[path].iter().rev();
        let reason = entries
            .map(|index| self.run.old_content(*index))
            .find_map(Result::err);
        reason.unwrap_or_else(|| "was not kept".to_owned())
    }

    /// Notes what changes at each path.
    fn describe(&mut self) {
        for (path, goal) in &self.goals.by_path {
            let Some(outcome) = self.outcomes.get_mut(path) else {
                continue;
            };
            let is_file =
                |state: &Option<FileState>| state.as_ref().is_some_and(FileState::is_file);
            let (was, is) = (is_file(&goal.then), is_file(&goal.now));
            if goal.has_content || !was && !is {
                continue;
            }
            let old = goal
                .source
                .and_then(|index| self.run.old_content(index).ok()?);
            let place = place_of(self.run.undo.workspace, path);
            let now = place
                .ok()
                .filter(|_| is)
                .and_then(|place| open(self.run.undo.workspace, &place).ok());
            if old.is_some() || !was {
                outcome.diff = self.run.diff(path, now.as_ref(), old.as_ref());
            }
        }
    }

    /// Keeps what the steps take away.
    fn keep(
        &self,
        steps: &[Step],
        lost: &[(PathBuf, bool)],
    ) -> Result<CommandChanges, Vec<Obstacle>> {
        let undoes = |(path, outcome): (&PathBuf, &FileOutcome)| {
            let ids = outcome
                .undone
                .iter()
                .map(|index| self.run.entry(*index).id.clone());
            (path.clone(), ids.collect())
        };
        let origin = UndoOrigin {
            call: self.run.call.clone(),
            undoes: self.outcomes.iter().map(undoes).collect(),
        };
        let Some(mut changes) = CommandChanges::of_undo(self.workspace(), origin) else {
            let reason = "can't be kept: there is no journal".to_owned();
            return Err(self
                .by_path
                .keys()
                .take(1)
                .map(|path| (path.clone(), reason.clone()))
                .collect());
        };
        for (path, is_written) in lost {
            // A second name in the journal would be one of the file that is written to.
            let access = if *is_written {
                Access::Content
            } else {
                Access::Name
            };
            changes.touch(path, access);
        }
        for step in steps {
            let access = match step {
                Step::Mode(..) => Access::Mode,
                // The file is used on.
                _ => Access::Content,
            };
            changes.touch(step.path(), access);
        }
        // By other names of a file that gets its content or mode back.
        for path in self.goals.by_path.keys() {
            changes.touch(path, Access::Mode);
        }
        let loss = |(path, _): &(PathBuf, bool)| {
            let reason = format!("would lose its content: {}", changes.loss(path)?);
            Some((path.clone(), reason))
        };
        let obstacles: Vec<Obstacle> = lost.iter().filter_map(loss).collect();
        if obstacles.is_empty() {
            return Ok(changes);
        }
        changes.abandon();
        Err(obstacles)
    }

    fn carry_out(&mut self, steps: &[Step], mut changes: CommandChanges) {
        let mut aside = Vec::new();
        let mut result = Ok(());
        for step in steps {
            result = self
                .take(step, &mut aside)
                .map_err(|reason| (step.path().to_owned(), reason));
            if result.is_err() {
                break;
            }
        }
        for (root, name) in &aside {
            // After a failure, it may be the only name.
            if result.is_ok() {
                let _ = unlinkat(root, name.as_str(), AtFlags::empty());
            }
        }
        let result = result.and_then(|()| self.verify());
        let counts = changes.record();
        let id = (counts.changed > 0).then(|| self.run.call.clone());
        if let Err((path, reason)) = result {
            let stopped = format!(
                "{reason}; the undo stopped there, and what it took away is in the journal and in {ASIDE}*"
            );
            self.obstacles = vec![(path, stopped)];
            self.refuse();
        }
        for (path, outcome) in &mut self.outcomes {
            let goal = self.goals.by_path.get(path);
            let is_changed = goal.is_some_and(|goal| {
                let kind = |state: Option<&FileState>| state.map(|state| state.kind.clone());
                !goal.has_content && !(goal.now.is_none() && goal.then.is_none())
                    || kind(goal.now.as_ref()) != kind(goal.then.as_ref())
                    || goal.now.as_ref().is_some_and(|now| now.mode != goal.mode)
            });
            outcome.is_done &= !is_changed;
            outcome.id.clone_from(&id);
        }
    }
}

/// A second name of a file: the root's directory and the name in it.
type AsideName = (OwnedFd, String);

fn open(workspace: &Workspace, place: &WorkspacePath) -> Result<File, Errno> {
    let dir = workspace.open_parent(place)?;
    place::open_file(&dir, place.name())
}

/// Says what the system said, as the end of a sentence.
fn failed(errno: impl Into<io::Error>) -> String {
    let error: io::Error = errno.into();
    format!("can't be changed: {error}")
}

impl Whole<'_, '_> {
    fn place(&self, path: &Path) -> Result<WorkspacePath, String> {
        place_of(self.workspace(), path)
    }

    fn open(&self, path: &Path) -> Result<File, Errno> {
        open(
            self.workspace(),
            &self.place(path).map_err(|_| Errno::XDEV)?,
        )
    }

    fn content(&self, source: usize) -> Result<File, String> {
        let content = self.run.old_content(source)?;
        content.ok_or_else(|| "is not in the journal any more".to_owned())
    }

    /// Takes a step.
    fn take(&self, step: &Step, aside: &mut Vec<AsideName>) -> Result<(), String> {
        let place = self.place(step.path())?;
        let dir = self.workspace().open_parent(&place).map_err(failed)?;
        let name = place.name();
        match step {
            Step::Aside(_) => {
                let root = &self.workspace().roots[place.root].dir;
                let root = rustix::io::fcntl_dupfd_cloexec(root, 0).map_err(failed)?;
                let second = format!("{ASIDE}{}", new_id());
                linkat(&dir, name, &root, second.as_str(), AtFlags::empty()).map_err(failed)?;
                aside.push((root, second));
            }
            Step::Remove(path) => self.remove(path, &dir, name)?,
            Step::Directory(_) => {
                mkdirat(&dir, name, Mode::from_raw_mode(0o700)).map_err(failed)?;
            }
            Step::Symlink(_, target) => {
                symlinkat(OsStr::from_bytes(target), &dir, name).map_err(failed)?;
            }
            Step::Create { source, .. } => {
                let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
                let mode = Mode::from_raw_mode(0o600);
                let file = openat(&dir, name, flags | OFlags::CLOEXEC, mode).map_err(failed)?;
                self.write(&mut file.into(), *source)?;
            }
            Step::Replace { source, .. } => {
                let source = self.content(*source)?;
                let said = |e: ToolError| {
                    format!("can't be written: {}", e.to_string().trim_end_matches('.'))
                };
                let target = self
                    .workspace()
                    .target(&place, &self.run.undo.cancel)
                    .map_err(said)?;
                let put = |file: &mut File| clone_or_copy(&source, file, u64::MAX);
                target.commit(&place, put).map_err(said)?;
            }
            Step::Rewrite { source, .. } => {
                let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let file = openat(&dir, name, flags, Mode::empty()).map_err(failed)?;
                let mut file = File::from(file);
                self.write(&mut file, *source)?;
            }
            Step::Link { from, .. } => {
                let from = self.place(from)?;
                let above = self.workspace().open_parent(&from).map_err(failed)?;
                linkat(&above, from.name(), &dir, name, AtFlags::empty()).map_err(failed)?;
            }
            Step::LinkAside { index, .. } => {
                let (root, second) = &aside[*index];
                linkat(root, second.as_str(), &dir, name, AtFlags::empty()).map_err(failed)?;
            }
            Step::Mode(_, mode) => {
                node::set_mode(&dir, Path::new(name), *mode).map_err(failed)?;
            }
        }
        Ok(())
    }

    /// Writes an old content over that of a file.
    fn write(&self, file: &mut File, source: usize) -> Result<(), String> {
        let source = self.content(source)?;
        let mut copy = || {
            file.set_len(0)?;
            clone_or_copy(&source, file, u64::MAX)?;
            file.sync_data()
        };
        copy().map_err(failed)
    }

    /// Removes what is at a path, if it is what was there when the plan was made.
    fn remove(&self, path: &Path, dir: &OwnedFd, name: &OsStr) -> Result<(), String> {
        let planned = self
            .goals
            .by_path
            .get(path)
            .and_then(|goal| goal.now.as_ref());
        let found = node::look(dir, Path::new(name)).map_err(failed)?;
        let is_planned = |found: &FileState| {
            let is_same = |planned: &FileState| {
                let is_kind = planned.kind == found.kind;
                is_kind && (!found.is_file() || planned.stamp.file() == found.stamp.file())
            };
            planned.is_some_and(is_same)
        };
        let Some((found, _)) = found.filter(|(found, _)| is_planned(found)) else {
            return Err("was changed by another process meanwhile".to_owned());
        };
        let is_directory = found.is_directory();
        let flags = if is_directory {
            AtFlags::REMOVEDIR
        } else {
            AtFlags::empty()
        };
        unlinkat(dir, name, flags).map_err(failed)
    }

    /// Compares what is there with the goals.
    fn verify(&self) -> Result<(), Obstacle> {
        let mut files = HashMap::new();
        for (path, goal) in &self.goals.by_path {
            let is_reached = self.is_reached(path, goal, &mut files);
            if !is_reached.map_err(|reason| (path.clone(), reason))? {
                let reason = "is not as it was, although all steps were taken".to_owned();
                return Err((path.clone(), reason));
            }
        }
        Ok(())
    }

    fn is_reached(
        &self,
        path: &Path,
        goal: &Goal,
        files: &mut HashMap<usize, (u64, u64)>,
    ) -> Result<bool, String> {
        let found = look(self.workspace(), path)?;
        let (Some(found), Some(then)) = (&found, &goal.then) else {
            return Ok(found.is_none() && goal.then.is_none());
        };
        if found.kind != then.kind
            || !matches!(found.kind, Some(NodeKind::Link(_))) && found.mode != goal.mode
        {
            return Ok(false);
        }
        if !found.is_file() {
            return Ok(true);
        }
        let file = found.stamp.file();
        if *files.entry(goal.class).or_insert(file) != file {
            return Ok(false);
        }
        if self.run.original(found.stamp) == self.run.original(then.stamp) || goal.has_content {
            return Ok(true);
        }
        let Some(source) = goal.source else {
            return Ok(found.stamp.size() == then.stamp.size());
        };
        let content = self.content(source)?;
        let file = self.open(path).map_err(failed)?;
        is_equal(&content, &file).map_err(failed)
    }
}

/// Compares the contents of two files.
fn is_equal(one: &File, other: &File) -> io::Result<bool> {
    let (mut one_block, mut other_block) = (vec![0; BLOCK_BYTES], vec![0; BLOCK_BYTES]);
    let size = one.metadata()?.len();
    if other.metadata()?.len() != size {
        return Ok(false);
    }
    for at in (0..size).step_by(BLOCK_BYTES) {
        let rest = usize::try_from(size - at)
            .unwrap_or(BLOCK_BYTES)
            .min(BLOCK_BYTES);
        one.read_exact_at(&mut one_block[..rest], at)?;
        other.read_exact_at(&mut other_block[..rest], at)?;
        if one_block[..rest] != other_block[..rest] {
            return Ok(false);
        }
    }
    Ok(true)
}
