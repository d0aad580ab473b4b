//! Makes the steps of a plan, and compares the result with the goals.
//!
//! No link on the way to a path is followed, because a command could have put it there.

use super::plan::{Goal, Obstacle, Step};
use super::whole::{Whole, look, place_of};
use crate::WorkspacePath;
use crate::journal::command::CommandChanges;
use crate::journal::entry::{FileState, NodeKind};
use crate::journal::keeper::{clone_or_copy, new_id};
use crate::journal::{node, place};
use crate::lines::read_at;
use gemini_tools_core::tool::ToolError;
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, Mode, OFlags, linkat, mkdirat, openat, symlinkat, unlinkat};
use rustix::io::Errno;
use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

const BLOCK_BYTES: usize = 64 * 1024;

const ASIDE: &str = ".gemini-undo-";

impl Whole<'_, '_> {
    pub(super) fn carry_out(&mut self, steps: &[Step], mut changes: CommandChanges) {
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
            // After a failed step, the temporary name may be the only name that a file has left.
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
        let reached: HashSet<&Path> = steps.iter().map(Step::path).collect();
        for (path, outcome) in &mut self.outcomes {
            outcome.is_done &= !reached.contains(path.as_path());
            outcome.id.clone_from(&id);
        }
        if counts.lost > 0
            && let Some(outcome) = self.outcomes.values_mut().find(|o| !o.is_done)
        {
            let (lost, all) = (counts.lost, counts.changed);
            outcome.not_kept = Some(format!("{lost} of its {all} changes could not be kept"));
        }
    }
}

type AsideName = (OwnedFd, String);

fn failed(errno: impl Into<io::Error>) -> String {
    let error: io::Error = errno.into();
    if error.raw_os_error() == Some(Errno::STALE.raw_os_error()) {
        return "was changed by another process meanwhile".to_owned();
    }
    format!("can't be changed: {error}")
}

impl Whole<'_, '_> {
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
            Step::Rewrite { path, source } => {
                let planned = self.goals.now(path).map(|now| now.stamp);
                let mut file = node::open_unchanged(&dir, name, planned).map_err(failed)?;
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
            Step::Mode(_, mode, file) => {
                node::set_mode(&dir, Path::new(name), *mode, *file).map_err(failed)?;
            }
        }
        Ok(())
    }

    fn write(&self, file: &mut File, source: usize) -> Result<(), String> {
        let source = self.content(source)?;
        let mut copy = || {
            file.set_len(0)?;
            clone_or_copy(&source, file, u64::MAX)?;
            file.sync_data()
        };
        copy().map_err(failed)
    }

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
            return Err(failed(Errno::STALE));
        };
        let is_directory = found.is_directory();
        let flags = if is_directory {
            AtFlags::REMOVEDIR
        } else {
            AtFlags::empty()
        };
        unlinkat(dir, name, flags).map_err(failed)
    }

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
        if *files.entry(goal.former_file).or_insert(file) != file {
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

fn is_equal(one: &File, other: &File) -> io::Result<bool> {
    let (mut block, mut other_block, mut at) = (vec![0; BLOCK_BYTES], vec![0; BLOCK_BYTES], 0);
    loop {
        let length = read_at(one, &mut block, at)?;
        let other_length = read_at(other, &mut other_block, at)?;
        if block[..length] != other_block[..other_length] {
            return Ok(false);
        }
        if length < BLOCK_BYTES {
            return Ok(true);
        }
        at += length as u64;
    }
}
