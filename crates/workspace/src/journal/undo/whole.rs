//! Undoes what commands have changed, completely or not at all.
//!
//! The goals say how each path is and how it was, and a plan leads there. Before the first step,
//! everything that it will remove is kept in the journal, and what is prepared is compared with the
//! goals. No link on the way to a path is followed.

use super::plan::{Goals, Obstacle, Plan, SHARED, plan};
use super::{FileOutcome, Run, UNDO, UndoRefusal, is_refused};
use crate::journal::command::{Access, CommandChanges, UndoOrigin};
use crate::journal::entry::{ContentStamp, FileState};
use crate::journal::keeper::{now, state};
use crate::journal::{node, place};
use crate::{Workspace, WorkspacePath};
use rustix::fs::fstat;
use rustix::io::Errno;
use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::path::{Path, PathBuf};

pub(super) struct Whole<'r, 'a> {
    pub(super) run: &'r Run<'a>,
    pub(super) by_path: &'r HashMap<PathBuf, Vec<usize>>,
    pub(super) goals: Goals,
    pub(super) outcomes: BTreeMap<PathBuf, FileOutcome>,
    pub(super) obstacles: Vec<Obstacle>,
}

impl Run<'_> {
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

impl Run<'_> {
    /// Returns the digest of a file's present content, unless it is too large for one.
    pub(super) fn digest(&self, path: &Path) -> Result<Option<String>, Errno> {
        let file = open(self.undo.workspace, path)?;
        let stat = fstat(&file)?;
        Ok(state(&file, &stat).sha256)
    }

    /// Returns true if a present file is the one that had the stamp `former`. A file that an undo
    /// has made for another one is not, though it may have got the same inode.
    pub(super) fn is_file(&self, now: ContentStamp, former: ContentStamp) -> bool {
        now.file() == former.file() && self.stands_for(now, former)
    }

    /// Returns true if a file is the former one, or one that undos have put in its place.
    fn stands_for(&self, now: ContentStamp, former: ContentStamp) -> bool {
        [former.file(), self.file_of(former)].contains(&self.file_of(now))
    }

    /// Finds a name of the file that had this stamp. If there is none, finds one of a file that an
    /// undo has created in its place.
    pub(super) fn find_name(
        &self,
        former: ContentStamp,
    ) -> Result<Option<(PathBuf, FileState)>, PathBuf> {
        let workspace = self.undo.workspace;
        let (mut made, mut unseen) = (None, None);
        for path in node::names_below(workspace) {
            if path.starts_with(&self.journal) {
                continue;
            }
            let Ok(Some(found)) = look(workspace, &path) else {
                if std::fs::symlink_metadata(&path).is_err() {
                    unseen.get_or_insert(path);
                }
                continue;
            };
            if found.is_file() && self.is_file(found.stamp, former) {
                return Ok(Some((path, found)));
            } else if found.is_directory() && std::fs::read_dir(&path).is_err() {
                unseen.get_or_insert(path);
            } else if found.is_file() && self.stands_for(found.stamp, former) {
                made.get_or_insert((path, found));
            }
        }
        match (made, unseen) {
            (None, Some(unseen)) => Err(unseen),
            (made, _) => Ok(made),
        }
    }
}

/// Opens a file of the project. No link on the way to it is followed.
pub(super) fn open(workspace: &Workspace, path: &Path) -> Result<File, Errno> {
    let place = place_of(workspace, path).map_err(|_| Errno::XDEV)?;
    let dir = workspace.open_parent(&place)?;
    place::open_file(&dir, place.name())
}

pub(super) fn place_of(workspace: &Workspace, path: &Path) -> Result<WorkspacePath, String> {
    let outside = || "is outside of the project".to_owned();
    let place = workspace.beneath(path).filter(|place| !place.is_root());
    let place = place.ok_or_else(outside)?;
    if workspace.roots[place.root].read_only {
        return Err("can only be read".to_owned());
    }
    Ok(place)
}

pub(super) fn look(workspace: &Workspace, path: &Path) -> Result<Option<FileState>, String> {
    let place = place_of(workspace, path)?;
    let found = node::look_plain(workspace, &place).map_err(|e| format!("can't be read: {e}"))?;
    Ok(found.map(|(state, _)| state))
}

impl Whole<'_, '_> {
    fn undo(&mut self) {
        if is_refused(self.outcomes.values()) || !self.obstacles.is_empty() {
            // The plan, which is not made now, would have found these obstacles. They are added, so
            // that the caller learns of all obstacles at once.
            let shared = self
                .goals
                .shared
                .iter()
                .filter(|path| !self.goals.by_path[*path].is_optional);
            let shared = shared.map(|path| (path.clone(), SHARED.to_owned()));
            let obstacles = std::mem::take(&mut self.obstacles).into_iter();
            let obstacles = obstacles.chain(shared).collect();
            return self.refuse(obstacles);
        }
        let plan = match plan(&mut self.goals, self.run) {
            Ok(plan) => plan,
            Err(obstacles) => return self.refuse(obstacles),
        };
        self.describe();
        let is_done = plan.contents().next().is_none() && plan.modes.is_empty();
        if is_done {
            self.outcomes
                .values_mut()
                .for_each(|outcome| outcome.is_done = true);
        }
        // An undo that is taken back no longer stands, even if nothing was left to do for that.
        let history = self.run.history;
        let stands =
            |i: &usize| history.entries[*i].tool == UNDO && history.undone_by(*i).is_none();
        let is_redo = self.by_path.values().flatten().any(stands);
        if self.run.undo.is_explained || is_done && !is_redo {
            return;
        }
        match self.keep(&plan) {
            Ok(changes) => self.carry_out(&plan, changes),
            Err(obstacles) => self.refuse(obstacles),
        }
    }

    pub(super) fn refuse(&mut self, obstacles: Vec<Obstacle>) {
        for outcome in self.outcomes.values_mut() {
            (outcome.is_done, outcome.diff) = (false, String::new());
            outcome.undone.clear();
        }
        for (path, reason) in obstacles {
            // An obstacle may be at a path without an entry, such as a directory that was created
            // for a file. It is reported for a chosen path below it.
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
            let (is_here, now) = (self.place(path).is_ok(), self.open(path).ok());
            let outcome = self.outcomes.entry(path.clone()).or_default();
            outcome.path.clone_from(path);
            if is_here {
                self.run.show_old(outcome, now.as_ref());
            }
        }
    }

    fn loss(&self, path: &Path) -> String {
        let entries = self.by_path[path].iter().rev();
        let reason = entries
            .map(|index| self.run.old_content(*index))
            .find_map(Result::err);
        reason.unwrap_or_else(|| "was not kept".to_owned())
    }

    fn describe(&mut self) {
        for (path, goal) in &self.goals.by_path {
            let (was, is) = (goal.file_then().is_some(), goal.file_now().is_some());
            if goal.has_content || !was && !is {
                continue;
            }
            let old = goal
                .source
                .and_then(|index| self.run.old_content(index).ok()?);
            let now = is.then(|| self.open(path).ok()).flatten();
            if let Some(outcome) = self.outcomes.get_mut(path)
                && (old.is_some() || !was)
            {
                outcome.diff = self.run.diff(path, now.as_ref(), old.as_ref());
            }
        }
    }

    fn keep(&self, plan: &Plan) -> Result<CommandChanges, Vec<Obstacle>> {
        let undoes = |(path, outcome): (&PathBuf, &FileOutcome)| {
            let ids = outcome
                .undone
                .iter()
                .map(|index| self.run.entry(*index).id.clone());
            (path.clone(), ids.collect())
        };
        // What was undone before is not undone once more if this undo is taken back.
        let is_new = |(_, outcome): &(&PathBuf, &FileOutcome)| {
            let oldest = outcome.undone.last();
            let by = oldest.and_then(|index| self.run.history.undone_by(*index));
            !outcome.is_done || by.is_none()
        };
        let origin = UndoOrigin {
            call: self.run.call.clone(),
            command: self.run.command.clone(),
            at: now(),
            undoes: self.outcomes.iter().filter(is_new).map(undoes).collect(),
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
        let lost = plan.lost(&self.goals);
        for (path, is_written) in &lost {
            // Overwriting the file would change a hard link in the journal too, so it is copied.
            let access = if *is_written {
                Access::Content
            } else {
                Access::Name
            };
            changes.touch(path, access);
        }
        for path in plan.contents() {
            // The content may be overwritten, so it is copied.
            changes.touch(path, Access::Content);
        }
        // Paths without a step are included, because a file may get its content or mode back under
        // another of its names.
        for path in plan.modes.keys().chain(self.goals.by_path.keys()) {
            changes.touch(path, Access::Mode);
        }
        let is_lost = |(path, _): &(PathBuf, bool)| {
            let reason = format!("would lose its content: {}", changes.loss(path)?);
            Some((path.clone(), reason))
        };
        let obstacles: Vec<Obstacle> = lost.iter().filter_map(is_lost).collect();
        if obstacles.is_empty() {
            return Ok(changes);
        }
        changes.abandon();
        Err(obstacles)
    }
}
