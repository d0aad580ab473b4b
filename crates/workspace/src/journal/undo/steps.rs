//! Prepares the steps of a plan. All new files, links and directories get temporary names, with
//! their final modes, before anything is changed; then the undo goes the way of every change of
//! several files ([`ChangeSet`]).
//!
//! No link on the way to a path is followed, because a command could have put it there.

use super::plan::{Obstacle, Step};
use super::whole::{Whole, look, place_of};
use crate::journal::command::CommandChanges;
use crate::journal::entry::{FileId, FileState, JournalEntry, OldContent};
use crate::journal::intent::{IntentRecord, ModeRecord, RewriteRecord, StepRecord, UndoRecord};
use crate::journal::keeper::clone_or_copy;
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
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

impl Whole<'_, '_> {
    pub(super) fn carry_out(&mut self, steps: &[Step], changes: CommandChanges) {
        let reached: HashSet<&Path> = steps.iter().map(Step::path).collect();
        let (entries, lost) = changes.into_entries();
        match self.change(steps, entries) {
            Err(obstacle) => {
                self.obstacles = vec![obstacle];
                self.refuse();
            }
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
    fn change(
        &self,
        steps: &[Step],
        entries: Vec<JournalEntry>,
    ) -> Result<Option<String>, Obstacle> {
        let layout = Layout::new(steps);
        let record = layout.record(self, steps, entries);
        let first = || steps[0].path().to_owned();
        let said = |e: ToolError| (first(), said(&e));
        let mut set = ChangeSet::begin(self.workspace(), record).map_err(said)?;
        self.prepare(&layout, steps, &mut set)
            .inspect_err(|_| set.give_up())?;
        set.carry_out(&[], &self.run.undo.cancel).map_err(said)
    }

    pub(super) fn place(&self, path: &Path) -> Result<WorkspacePath, String> {
        place_of(self.workspace(), path)
    }

    pub(super) fn open(&self, path: &Path) -> Result<File, Errno> {
        let place = self.place(path).map_err(|_| Errno::XDEV)?;
        let dir = self.workspace().open_parent(&place)?;
        place::open_file(&dir, place.name())
    }

    fn content(&self, source: usize) -> Result<File, String> {
        let content = self.run.old_content(source)?;
        content.ok_or_else(|| "is not in the journal any more".to_owned())
    }
}

fn said(e: &ToolError) -> String {
    format!("can't be written: {}", e.to_string().trim_end_matches('.'))
}

/// What the steps of a plan come to, path by path: the paths from which something is taken away,
/// from the deepest on (`removed`), the steps that put something at a path, from the top on
/// (`made`), and the modes of what the undo creates (`new_modes`).
struct Layout<'s> {
    removed: Vec<&'s Path>,
    made: BTreeMap<&'s Path, &'s Step>,
    asides: Vec<&'s Path>,
    new_modes: HashMap<&'s Path, u32>,
}

impl<'s> Layout<'s> {
    fn new(steps: &'s [Step]) -> Self {
        let mut layout = Self {
            removed: Vec::new(),
            made: BTreeMap::new(),
            asides: Vec::new(),
            new_modes: HashMap::new(),
        };
        for step in steps {
            let path = step.path();
            match step {
                Step::Aside(_) => layout.asides.push(path),
                Step::Remove(_) => layout.removed.push(path),
                Step::Mode(_, mode, None) => drop(layout.new_modes.insert(path, *mode)),
                Step::Mode(..) | Step::Rewrite { .. } => {}
                _ => drop(layout.made.insert(path, step)),
            }
        }
        layout
    }

    fn record(
        &self,
        whole: &Whole<'_, '_>,
        steps: &[Step],
        entries: Vec<JournalEntry>,
    ) -> IntentRecord {
        let moving: HashSet<&Path> = self
            .removed
            .iter()
            .chain(self.made.keys())
            .copied()
            .collect();
        let removals = self
            .removed
            .iter()
            .filter(|path| !self.made.contains_key(*path));
        let record = |path: &&Path| {
            let mut record = StepRecord::new(path, 0, temporary_name(CHANGE_PREFIX));
            let is_moving = |above: &&Path| moving.contains(above);
            record.above = path.ancestors().skip(1).take_while(is_moving).count();
            record.entry.before = whole.goals.now(path).cloned();
            record
        };
        IntentRecord {
            is_prepared: false,
            is_made: false,
            is_recorded: true,
            steps: removals.chain(self.made.keys()).map(record).collect(),
            undo: Some(UndoRecord {
                entries,
                opened: Self::opened(whole, steps),
                ..UndoRecord::default()
            }),
        }
    }

    fn opened(whole: &Whole<'_, '_>, steps: &[Step]) -> Vec<ModeRecord> {
        let is_first = |step: &&Step| matches!(step, Step::Mode(..));
        let mut paths = BTreeSet::new();
        let modes = steps.iter().take_while(is_first).filter_map(|step| {
            let Step::Mode(path, to, Some(file)) = step else {
                return None;
            };
            let now = whole.goals.now(path).filter(|now| now.is_directory())?;
            let is_opened = now.mode & 0o700 != 0o700 && paths.insert(path);
            is_opened.then(|| mode_record(path, *file, now.mode, *to))
        });
        modes.collect()
    }
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
    fn prepare(
        &self,
        layout: &Layout<'_>,
        steps: &[Step],
        set: &mut ChangeSet<'_>,
    ) -> Result<(), Obstacle> {
        let at = |(index, step): (usize, &StepRecord)| (step.entry.path().into_owned(), index);
        let at: HashMap<_, _> = set.record.steps.iter().enumerate().map(at).collect();
        let mut kept_in_place = HashSet::new();
        for step in steps {
            let path = step.path();
            let fail = |reason| (path.to_owned(), reason);
            match step {
                Step::Rewrite { source, .. } => {
                    self.plan_rewrite(path, *source, set).map_err(fail)?;
                }
                Step::Replace { source, .. } if self.must_stay(path).map_err(fail)? => {
                    self.plan_rewrite(path, *source, set).map_err(fail)?;
                    kept_in_place.insert(path.to_owned());
                }
                _ if layout.made.contains_key(path)
                    && !matches!(step, Step::Remove(_) | Step::Mode(..) | Step::Aside(_)) =>
                {
                    let made = self.make(step, layout, set, &at, &kept_in_place);
                    set.record.steps[at[path]].entry.after = Some(made.map_err(fail)?);
                }
                _ => {}
            }
        }
        let is_step = |step: &StepRecord| !kept_in_place.contains(&*step.entry.path());
        set.record.steps.retain(is_step);
        let modes = self.modes(steps, set, &kept_in_place);
        if let Some(undo) = &mut set.record.undo {
            undo.modes = modes;
        }
        Ok(())
    }

    fn must_stay(&self, path: &Path) -> Result<bool, String> {
        Ok(self.target(path)?.must_stay())
    }

    fn target(&self, path: &Path) -> Result<Target, String> {
        let target = self
            .workspace()
            .target(&self.place(path)?, &self.run.undo.cancel);
        target.map_err(|e| said(&e))
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
        step: &Step,
        layout: &Layout<'_>,
        set: &ChangeSet<'_>,
        at: &HashMap<PathBuf, usize>,
        kept_in_place: &HashSet<PathBuf>,
    ) -> Result<FileState, String> {
        let temporary = |path: &Path| set.record.steps[at[path]].temporary_path();
        let path = step.path();
        let spot = |path: &Path| set.spot(path).ok_or_else(|| failed(Errno::NOENT));
        let (dir, name) = spot(&temporary(path))?;
        let name = name.as_os_str();
        let is_made = |from: &PathBuf| {
            layout.made.contains_key(from.as_path()) && !kept_in_place.contains(from)
        };
        let link = |from: &Path| {
            let (above, from) = spot(from)?;
            linkat(&above, &*from, &dir, name, AtFlags::empty()).map_err(failed)
        };
        match step {
            Step::Directory(_) => {
                mkdirat(&dir, name, Mode::from_raw_mode(0o700)).map_err(failed)?;
            }
            Step::Symlink(_, target) => {
                symlinkat(OsStr::from_bytes(target), &dir, name).map_err(failed)?;
            }
            Step::Create { source, .. } | Step::Replace { source, .. } => {
                let like = matches!(step, Step::Replace { .. }).then(|| self.target(path));
                let mode = layout.new_modes.get(path).copied();
                self.write(&dir, name, *source, like.transpose()?.as_ref(), mode)?;
            }
            Step::Link { from, .. } if is_made(from) => link(&temporary(from))?,
            Step::Link { from, .. } => link(from)?,
            Step::LinkAside { index, .. } => link(layout.asides[*index])?,
            _ => {}
        }
        let made = node::look(&dir, Path::new(name)).map_err(failed)?;
        let (made, _) = made.ok_or_else(|| failed(Errno::NOENT))?;
        let linked = match step {
            Step::Link { from, .. } if !is_made(from) => self.goals.now(from),
            Step::LinkAside { index, .. } => self.goals.now(layout.asides[*index]),
            _ => None,
        };
        if linked.is_some_and(|linked| linked.stamp != made.stamp) {
            return Err(failed(Errno::STALE));
        }
        Ok(made)
    }

    /// Writes a content of the journal into a new file, which gets the access of the one that it
    /// replaces, or as far as possible that of the file in the journal.
    fn write(
        &self,
        dir: impl AsFd,
        name: &OsStr,
        source: usize,
        like: Option<&Target>,
        mode: Option<u32>,
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
            if let Some(mode) = mode {
                let raw = RawMode::try_from(mode).map_err(io::Error::other)?;
                fchmod(&file, Mode::from_raw_mode(raw))?;
                if files::mode(&fstat(&file)?) != mode {
                    return Err(Errno::NOTSUP.into());
                }
            }
            file.sync_data()
        };
        write().map_err(failed)
    }

    fn modes(
        &self,
        steps: &[Step],
        set: &ChangeSet<'_>,
        kept_in_place: &HashSet<PathBuf>,
    ) -> Vec<ModeRecord> {
        let undo = set.record.undo.as_ref();
        let opened: HashMap<&OsStr, u32> = undo
            .iter()
            .flat_map(|undo| &undo.opened)
            .map(|mode| (&*mode.path, mode.to))
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
        let is_last = |step: &&Step| matches!(step, Step::Mode(..));
        let last = steps.iter().rev().take_while(is_last).filter_map(|step| {
            let Step::Mode(path, to, file) = step else {
                return None;
            };
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
            let from = opened.get(path.as_os_str()).or_else(|| now.get(&file));
            let from = from.copied().or_else(|| new.map(|new| new.mode))?;
            (from != *to).then(|| mode_record(path, file, from, *to))
        });
        let mut modes: Vec<_> = last.collect();
        modes.reverse();
        modes
    }
}
