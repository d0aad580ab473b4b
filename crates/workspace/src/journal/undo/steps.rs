//! Prepares what a plan says. All new files, links and directories get temporary names, with
//! their final modes, before anything is changed; then the undo goes the way of every change of
//! several files ([`ChangeSet`]).
//!
//! No link on the way to a path is followed, because a command could have put it there.

use super::plan::{Goal, Make, Obstacle, Plan};
use super::whole::{Whole, look, open, place_of};
use crate::journal::command::CommandChanges;
use crate::journal::entry::{FileId, FileState, JournalEntry, NodeKind, OldContent};
use crate::journal::intent::{IntentRecord, ModeRecord, RewriteRecord, StepRecord, UndoRecord};
use crate::journal::keeper::{clone_or_copy, stamped};
use crate::journal::{node, place};
use crate::new_file::{CHANGE_PREFIX, temporary_name};
use crate::write::{ChangeSet, Target, failed};
use crate::{OpenFile, WorkspacePath, access, files};
use gemini_tools_core::tool::ToolError;
use rustix::fd::AsFd;
use rustix::fs::{
    AtFlags, Mode, OFlags, RawMode, fchmod, fstat, linkat, mkdirat, openat, symlinkat,
};
use rustix::io::Errno;
use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// From this many new files on, one flush of their file systems is quicker than one of each file.
const MANY_FILES: usize = if cfg!(target_os = "linux") {
    16
} else {
    usize::MAX
};

impl Whole<'_, '_> {
    pub(super) fn carry_out(&mut self, plan: &Plan, changes: CommandChanges) {
        let opened = self.opened(plan);
        let reached: HashSet<&Path> = (plan.contents().chain(plan.modes.keys()))
            .map(PathBuf::as_path)
            .chain(opened.iter().map(|mode| Path::new(&mode.path)))
            .collect();
        let (entries, lost) = changes.into_entries();
        match self.change(plan, entries) {
            Err(obstacle) => self.refuse(vec![obstacle]),
            Ok(not_written) => {
                let all = reached.len();
                let some = || format!("{lost} of its {all} changes could not be kept");
                let not_kept = not_written.or_else(|| (lost > 0).then(some));
                for (path, outcome) in &mut self.outcomes {
                    outcome.is_done &= !reached.contains(path.as_path());
                    outcome.id = Some(self.run.call.clone());
                }
                if let Some(outcome) = self.outcomes.values_mut().find(|o| !o.is_done) {
                    outcome.not_kept = not_kept;
                }
            }
        }
    }

    /// Makes the undo. Returns why it can't itself be undone; `None` if it can.
    fn change(&self, plan: &Plan, entries: Vec<JournalEntry>) -> Result<Option<String>, Obstacle> {
        let record = self.record(plan, entries);
        let first = || {
            let mut paths = plan.contents().chain(plan.modes.keys());
            paths.next().cloned().unwrap_or_default()
        };
        let said = |e: ToolError| (first(), said(&e));
        let mut set = ChangeSet::begin(self.workspace(), record).map_err(said)?;
        self.prepare(plan, &mut set)
            .inspect_err(|_| set.give_up())?;
        set.carry_out(&[], &self.run.undo.cancel).map_err(said)
    }

    pub(super) fn place(&self, path: &Path) -> Result<WorkspacePath, String> {
        place_of(self.workspace(), path)
    }

    pub(super) fn open(&self, path: &Path) -> Result<File, Errno> {
        open(self.workspace(), path)
    }

    fn content(&self, source: usize) -> Result<File, String> {
        let content = self.run.old_content(source)?;
        content.ok_or_else(|| "is not in the journal any more".to_owned())
    }
}

/// Waits until all that was prepared is on the disk, as it must be before the journal's copies go.
#[cfg(target_os = "linux")]
fn flush(set: &ChangeSet<'_>) -> Result<(), Obstacle> {
    let mut devices = HashSet::new();
    for path in set.record.steps.iter().map(StepRecord::temporary_path) {
        let Some((dir, _)) = set.spot(&path) else {
            continue;
        };
        let fail = |e| (path.clone(), failed(e));
        if devices.insert(fstat(&dir).map_err(fail)?.st_dev) {
            // The directory is open only as a place to start from.
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let dir = openat(&dir, ".", flags, Mode::empty()).map_err(fail)?;
            rustix::fs::syncfs(&dir).map_err(fail)?;
        }
    }
    Ok(())
}

pub(super) fn said(e: &ToolError) -> String {
    format!("can't be written: {}", e.to_string().trim_end_matches('.'))
}

fn mode_record(path: &Path, file: FileId, from: u32, to: u32) -> ModeRecord {
    let path = path.as_os_str().to_owned();
    ModeRecord {
        path,
        file,
        from,
        to,
    }
}

impl Whole<'_, '_> {
    fn record(&self, plan: &Plan, entries: Vec<JournalEntry>) -> IntentRecord {
        let moving: HashSet<&Path> = (plan.removed.iter().chain(plan.made.keys()))
            .map(PathBuf::as_path)
            .collect();
        let removed = plan.removed.iter();
        let removals = removed.filter(|path| !plan.made.contains_key(*path));
        let record = |path: &PathBuf| {
            let mut record = StepRecord::new(path, 0, temporary_name(CHANGE_PREFIX));
            let is_moving = |above: &&Path| moving.contains(above);
            record.above = path.ancestors().skip(1).take_while(is_moving).count();
            record.entry.before = self.goals.now(path).cloned();
            record
        };
        IntentRecord {
            is_prepared: false,
            is_made: false,
            is_recorded: true,
            conversation: None,
            steps: removals.chain(plan.made.keys()).map(record).collect(),
            undo: Some(UndoRecord {
                entries,
                opened: self.opened(plan),
                ..UndoRecord::default()
            }),
        }
    }

    fn opened(&self, plan: &Plan) -> Vec<ModeRecord> {
        plan.opened(&self.goals)
            .map(|(path, now, mode)| mode_record(path, now.stamp.file(), now.mode, mode))
            .collect()
    }

    fn prepare(&self, plan: &Plan, set: &mut ChangeSet<'_>) -> Result<(), Obstacle> {
        let at = |(index, step): (usize, &StepRecord)| (step.entry.path().into_owned(), index);
        let at: HashMap<_, _> = set.record.steps.iter().enumerate().map(at).collect();
        let mut kept_in_place = HashSet::new();
        for (path, source) in &plan.rewrites {
            self.plan_rewrite(path, *source, set)
                .map_err(|reason| (path.clone(), reason))?;
        }
        let is_file = |made: &&Make| matches!(made, Make::File(_));
        let syncs = plan.made.values().filter(is_file).count() < MANY_FILES;
        // A new file comes before its links.
        let (links, others): (Vec<_>, Vec<_>) =
            (plan.made.iter()).partition(|(_, made)| matches!(made, Make::LinkNew(_)));
        for (path, made) in others.into_iter().chain(links) {
            let fail = |reason| (path.clone(), reason);
            if let Make::File(source) = made
                && self
                    .replaced(path)
                    .map_err(fail)?
                    .is_some_and(|old| old.must_stay())
            {
                self.plan_rewrite(path, *source, set).map_err(fail)?;
                kept_in_place.insert(path.clone());
                continue;
            }
            let made = self.make(path, made, set, &at, &kept_in_place, syncs);
            set.record.steps[at[path]].entry.after = Some(made.map_err(fail)?);
        }
        #[cfg(target_os = "linux")]
        if !syncs {
            flush(set)?;
        }
        let is_step = |step: &StepRecord| !kept_in_place.contains(&*step.entry.path());
        set.record.steps.retain(is_step);
        let modes = self.modes(plan, set, &kept_in_place);
        if let Some(undo) = &mut set.record.undo {
            undo.modes = modes;
        }
        let path = self.unreached(&set.record);
        path.map_or(Ok(()), |path| {
            Err((path, "can't be given back without harm".to_owned()))
        })
    }

    /// Returns a path that would not be as its goal says once what is prepared is in place. Two
    /// names must belong to one file if they did before the changes, and to two if they did not.
    fn unreached(&self, record: &IntentRecord) -> Option<PathBuf> {
        let after =
            |step: &'_ StepRecord| (step.entry.path().into_owned(), step.entry.after.clone());
        let steps: HashMap<_, _> = record.steps.iter().map(after).collect();
        let modes = record.undo.iter();
        let modes = modes.flat_map(|undo| undo.opened.iter().chain(&undo.modes));
        let modes: HashMap<FileId, u32> = modes.map(|mode| (mode.file, mode.to)).collect();
        let mut owners = HashMap::new();
        let mut is_reached = |path: &PathBuf, goal: &Goal| {
            let left = steps.get(path).unwrap_or(&goal.now);
            let (Some(left), Some(then)) = (left, &goal.then) else {
                return left.is_none() && goal.then.is_none();
            };
            let file = left.stamp.file();
            let mode = modes.get(&file).copied().unwrap_or(left.mode);
            let has_mode = !matches!(then.kind, Some(NodeKind::Link(_)));
            let owner = *owners.entry(file).or_insert(goal.former_file);
            left.kind == then.kind
                && (!has_mode || left.granted(mode, then) == goal.mode)
                && (!then.is_file() || owner == goal.former_file)
        };
        let mut goals = self.goals.by_path.iter();
        goals.find_map(|(path, goal)| (!is_reached(path, goal)).then(|| path.clone()))
    }

    /// Returns the file that a new one replaces at a path, locked; `None` if no file is there.
    fn replaced(&self, path: &Path) -> Result<Option<Target>, String> {
        if !self.goals.now(path).is_some_and(FileState::is_file) {
            return Ok(None);
        }
        let target = self
            .workspace()
            .target(&self.place(path)?, &self.run.undo.cancel);
        target.map(Some).map_err(|e| said(&e))
    }

    fn plan_rewrite(
        &self,
        path: &Path,
        source: usize,
        set: &mut ChangeSet<'_>,
    ) -> Result<(), String> {
        self.content(source)?;
        let planned = self.goals.now(path).map(|now| now.stamp);
        let planned = planned.ok_or_else(|| failed(Errno::STALE))?;
        let found = look(self.workspace(), path)?.map(|found| found.stamp);
        if found != Some(planned) {
            return Err(failed(Errno::STALE));
        }
        let Some(undo) = &mut set.record.undo else {
            return Ok(());
        };
        let kept =
            |entry: &&JournalEntry| entry.path() == path && entry.old_content == OldContent::Copied;
        let old = undo.entries.iter().find(kept);
        let old = old.ok_or("would lose its content: it could not be kept")?;
        let old = (old.at / place::HOUR_MILLIS, old.id.clone());
        let new = self.run.entry(source);
        let new = (new.hour, new.id.clone());
        let path = path.as_os_str().to_owned();
        undo.rewrites.push(RewriteRecord {
            path,
            planned,
            old,
            new,
        });
        Ok(())
    }

    fn make(
        &self,
        path: &Path,
        what: &Make,
        set: &ChangeSet<'_>,
        at: &HashMap<PathBuf, usize>,
        kept_in_place: &HashSet<PathBuf>,
        syncs: bool,
    ) -> Result<FileState, String> {
        let temporary = |path: &Path| set.record.steps[at[path]].temporary_path();
        let spot = |path: &Path| set.spot(path).ok_or_else(|| failed(Errno::NOENT));
        let (dir, name) = spot(&temporary(path))?;
        let name = name.as_os_str();
        let link = |from: &Path| {
            let (above, from) = spot(from)?;
            linkat(&above, &*from, &dir, name, AtFlags::empty()).map_err(failed)
        };
        let mut linked = None;
        match what {
            Make::Directory => {
                mkdirat(&dir, name, Mode::from_raw_mode(0o700)).map_err(failed)?;
            }
            Make::Symlink(target) => {
                symlinkat(OsStr::from_bytes(target), &dir, name).map_err(failed)?;
            }
            Make::File(source) => {
                let goal = &self.goals.by_path[path];
                let like = self.replaced(path)?.filter(|_| goal.keeps_access());
                self.write(&dir, name, *source, like.as_ref(), goal, syncs)?;
            }
            Make::LinkNew(from) if !kept_in_place.contains(from) => link(&temporary(from))?,
            Make::LinkNew(from) | Make::LinkNow(from) => {
                link(from)?;
                linked = self.goals.now(from);
            }
        }
        let found = node::look(&dir, Path::new(name)).map_err(failed)?;
        let (found, _) = found.ok_or_else(|| failed(Errno::NOENT))?;
        if linked.is_some_and(|linked| linked.stamp != found.stamp) {
            return Err(failed(Errno::STALE));
        }
        Ok(found)
    }

    /// Writes a content of the journal into a new file, which gets the access of the file `like`, or
    /// as far as possible that of the file in the journal.
    fn write(
        &self,
        dir: impl AsFd,
        name: &OsStr,
        source: usize,
        like: Option<&Target>,
        goal: &Goal,
        syncs: bool,
    ) -> Result<(), String> {
        let source = self.content(source)?;
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
        let private = Mode::from_raw_mode(0o600);
        let file = openat(dir, name, flags | OFlags::CLOEXEC, private).map_err(failed)?;
        let mut file = File::from(file);
        clone_or_copy(&source, &mut file, u64::MAX).map_err(failed)?;
        let keep = |like| access::keep(&file, like, Path::new(name)).map_err(|e| said(&e));
        if let Some(like) = like.and_then(|target| target.current.as_ref()) {
            keep(like)?;
        } else {
            // The system may not let its owner be given back. Without its content, more is lost.
            let stat = fstat(&source).map_err(failed)?;
            let _ = keep(&OpenFile { file: source, stat });
        }
        let write = || -> io::Result<()> {
            let new = stamped(&fstat(&file)?);
            let then = goal.then.as_ref().unwrap_or(&new);
            let mode = new.granted(goal.mode, then);
            let raw = RawMode::try_from(mode).map_err(io::Error::other)?;
            fchmod(&file, Mode::from_raw_mode(raw))?;
            if files::mode(&fstat(&file)?) != mode {
                return Err(Errno::NOTSUP.into());
            }
            if syncs { file.sync_data() } else { Ok(()) }
        };
        write().map_err(failed)
    }

    fn modes(
        &self,
        plan: &Plan,
        set: &ChangeSet<'_>,
        kept_in_place: &HashSet<PathBuf>,
    ) -> Vec<ModeRecord> {
        let opened = plan.opened(&self.goals);
        let opened: HashMap<FileId, u32> = opened
            .map(|(_, now, mode)| (now.stamp.file(), mode))
            .collect();
        let planned = self
            .goals
            .by_path
            .values()
            .filter_map(|goal| goal.now.as_ref());
        let now: HashMap<FileId, u32> = planned
            .chain(self.goals.others.values())
            .map(|now| (now.stamp.file(), now.mode))
            .collect();
        let made = |path: &Path| {
            let mut steps = set.record.steps.iter();
            let step = steps.find(|step| *step.entry.path() == *path)?;
            step.entry.after.as_ref()
        };
        let record = |(path, (to, file)): (&PathBuf, &(u32, Option<FileId>))| {
            let of_new = || made(path).filter(|made| made.is_directory());
            let in_place = || {
                self.goals
                    .now(path)
                    .filter(|_| kept_in_place.contains(path))
            };
            let new = if file.is_some() {
                None
            } else {
                of_new().or_else(in_place)
            };
            let file = file.or_else(|| new.map(|new| new.stamp.file()))?;
            let from = opened.get(&file).or_else(|| now.get(&file));
            let from = from.copied().or_else(|| new.map(|new| new.mode))?;
            (from != *to).then(|| mode_record(path, file, from, *to))
        };
        plan.modes.iter().rev().filter_map(record).collect()
    }
}
