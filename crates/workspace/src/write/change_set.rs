//! Changes several files: all of them or none.
//!
//! Each new file is written under a temporary name beside its place, with its final access rights,
//! and flushed. Then an intent is written into the journal's directory; from then on the change
//! counts as made. Each new file is exchanged for the old one, which gets the temporary name, and
//! at the end the old files go into the journal. If another program has changed a file meanwhile,
//! all steps are taken back.
//!
//! The files' stamps show which steps were made, so the same code completes the change of a process
//! that was killed ([`Workspace::finish_interrupted`]).
//!
//! An undo of a patch or of a command goes the same way (`nodes`). It makes its new files, links
//! and directories itself.

mod nodes;

pub(crate) use nodes::{failed, is_equal};

use super::{Target, access, in_place, lost_race, within};
use crate::journal::{
    ChangeOrigin, ContentStamp, FileState, Intent, IntentRecord, JournalEntry, OldContent,
    PendingChange, StepRecord, look, names_below, remove,
};
use crate::new_file::{CHANGE_PREFIX, temporary_name};
use crate::{Workspace, WorkspacePath, files, io_error, show_path};
use gemini_tools_core::text::counted;
use gemini_tools_core::tool::{Cancellation, ErrorKind, ToolError};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{Mode, OFlags, RenameFlags, openat, renameat, renameat_with};
use rustix::io::Errno;
use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The most files of one change. Up to two file descriptors are open for each.
pub const MAX_CHANGED_FILES: usize = 256;

/// Ways of renaming. `NEW` fails if the new name exists. `EXCHANGED` exchanges two files in one
/// step, so that both names exist at every moment.
const NEW: RenameFlags = RenameFlags::NOREPLACE;

const EXCHANGED: RenameFlags = RenameFlags::EXCHANGE;

/// The new content of a file.
#[derive(Debug)]
pub struct NewContent {
    /// The whole content.
    pub bytes: Vec<u8>,
    /// The index, among the files of the change, of the file whose owner, mode and attributes the
    /// new one gets; `None` for those of the file that it replaces.
    pub access_of: Option<usize>,
    /// Whether the file is executable; `None` if that does not change.
    pub is_executable: Option<bool>,
}

/// One file of a change of several files.
#[derive(Debug)]
pub struct ChangedFile {
    /// The place that the caller named.
    pub place: WorkspacePath,
    /// The locked target; its `current` is `None` if the file is created.
    pub target: Target,
    /// The new content; `None` if the file is removed.
    pub new: Option<NewContent>,
}

pub(crate) struct ChangeSet<'w> {
    workspace: &'w Workspace,
    intent: Intent,
    pub(crate) record: IntentRecord,
    /// The temporary names of all changes, searched for once a directory is not there any more.
    moved: OnceCell<Vec<PathBuf>>,
    /// True if the process that has begun the change was killed.
    is_left_behind: bool,
    /// True if an error of the system has kept steps from being taken back. The next call tries
    /// again.
    is_pending: bool,
}

impl<'w> ChangeSet<'w> {
    fn new(workspace: &'w Workspace, intent: Intent, record: IntentRecord) -> Self {
        Self {
            is_left_behind: record.is_prepared,
            is_pending: false,
            workspace,
            intent,
            record,
            moved: OnceCell::new(),
        }
    }
}

impl Workspace {
    /// Changes several files at once. Returns why the change can't be undone, as the end of a
    /// sentence; `None` if it can, or if nothing is recorded. `line` describes the change in the
    /// history.
    ///
    /// # Errors
    ///
    /// Returns the first reason why a file can't be changed. All files are as before then, apart
    /// from those that the error names.
    pub fn change_files(
        &self,
        files: &[ChangedFile],
        origin: &ChangeOrigin,
        line: &str,
        cancel: &Cancellation,
    ) -> Result<Option<String>, ToolError> {
        let steps = files.iter().map(|file| {
            let entry = &file.target.entry;
            let path = file
                .target
                .real_path()
                .unwrap_or_else(|| file.place.path().to_owned());
            StepRecord::new(&path, entry.missing.len(), temporary_name(CHANGE_PREFIX))
        });
        let record = IntentRecord {
            is_prepared: false,
            is_made: false,
            is_recorded: self.journal.get().is_some(),
            conversation: origin.is_remembered.then(|| self.seen.conversation()),
            steps: steps.collect(),
            undo: None,
        };
        let mut set = ChangeSet::begin(self, record)?;
        let not_kept = set
            .prepare(files, origin, line, cancel)
            .inspect_err(|_| set.give_up())?;
        let known = if origin.is_remembered { files } else { &[] };
        Ok(not_kept.or(set.carry_out(known, cancel)?))
    }

    /// Completes the changes of several files whose processes were killed, or takes them back if
    /// one of the files was changed since. A change with a file outside of this workspace is left
    /// alone. Returns for each change a sentence on what was done.
    pub fn finish_interrupted(&self) -> Vec<String> {
        let left = self.interrupted().into_iter();
        left.filter_map(|(intent, record)| self.finish(intent, record))
            .collect()
    }

    /// Returns a sentence for each change that [`Workspace::finish_interrupted`] would complete.
    pub fn pending_changes(&self) -> Vec<String> {
        let left = self.interrupted().into_iter();
        let prepared = left.filter_map(|(_, record)| record.filter(|record| record.is_prepared));
        let sentence = |record: IntentRecord| {
            let (what, names) = self.described(&record);
            format!(
                "{what} is pending: {names}. The next call of a tool completes it, or takes it back."
            )
        };
        prepared.map(sentence).collect()
    }

    fn interrupted(&self) -> Vec<(Intent, Option<IntentRecord>)> {
        let is_here = |path: PathBuf| {
            let place = self.beneath(&path);
            place.is_some_and(|place| !place.is_root() && !self.roots[place.root].read_only)
        };
        let mut left = self.home().map(Intent::left_behind).unwrap_or_default();
        left.retain(|(_, record)| record.iter().flat_map(IntentRecord::paths).all(is_here));
        left
    }

    fn finish(&self, intent: Intent, record: Option<IntentRecord>) -> Option<String> {
        let Some(record) = record else {
            // The process was killed before it had prepared anything.
            intent.end();
            return None;
        };
        let mut set = ChangeSet::new(self, intent, record);
        if !set.record.is_prepared {
            set.discard(true);
            return None;
        }
        let (what, names) = self.described(&set.record);
        Some(match set.complete() {
            Ok(not_kept) => {
                if set.record.conversation == Some(self.seen.conversation()) {
                    // The call that began the change was killed, so this conversation may not know
                    // the new contents. The files count as never seen, because a write is refused
                    // only if it undoes a change to something seen.
                    let paths = set.record.paths();
                    paths.for_each(|path| self.seen.forget(&path));
                }
                let but =
                    not_kept.map_or_else(String::new, |why| format!(" It can't be undone: {why}."));
                format!("{what} has been completed: {names}.{but}")
            }
            Err((path, why)) => {
                let why = set.take_back(&path, &why).message;
                let state = if set.is_pending {
                    "is pending"
                } else {
                    "has been taken back"
                };
                format!("{what} {state}: {why}")
            }
        })
    }

    fn described(&self, record: &IntentRecord) -> (String, String) {
        let paths: BTreeSet<PathBuf> = record.paths().collect();
        let names: Vec<String> = paths.iter().map(|path| self.shown(path)).collect();
        let what = if record.undo.is_some() {
            "An undo"
        } else {
            "A change"
        };
        let files = counted(names.len(), "file");
        (
            format!("{what} of {files} that was interrupted"),
            names.join(", "),
        )
    }

    pub(crate) fn shown(&self, path: &Path) -> String {
        show_path(self.display(path)).into_owned()
    }
}

/// Whether a step was made. Before it the new file has the temporary name, and after it the old one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    Open,
    Made,
    /// Another program has removed or replaced what had the temporary name, or moved its directory.
    Unknown,
}

type Obstacle = (PathBuf, String);

/// Returns true if an error is not what other programs cause that change files or directories.
fn is_of_system(errno: Errno) -> bool {
    !matches!(
        errno,
        Errno::STALE
            | Errno::NOENT
            | Errno::EXIST
            | Errno::NOTDIR
            | Errno::ISDIR
            | Errno::NOTEMPTY
            | Errno::LOOP
            | Errno::XDEV
    )
}

impl ChangeSet<'_> {
    /// Writes all new files under temporary names. The present files stay as they are. Returns why
    /// the change can't be undone, or `None`.
    fn prepare(
        &mut self,
        files: &[ChangedFile],
        origin: &ChangeOrigin,
        line: &str,
        cancel: &Cancellation,
    ) -> Result<Option<String>, ToolError> {
        let command = self.record.steps.first().map(|step| step.entry.id.clone());
        let mut not_kept = None;
        for (index, file) in files.iter().enumerate() {
            cancel.check()?;
            let path = file.place.path();
            let step = &mut self.record.steps[index];
            let new = file
                .new
                .as_ref()
                .map(|new| new.write(files, file, &step.temporary))
                .transpose()?;
            let mut change = PendingChange::new(self.workspace, &file.place, origin.clone());
            let target = &file.target;
            let kept = step.prepare(
                change.as_mut(),
                &target.entry,
                target.current.as_ref(),
                new.as_ref(),
            );
            not_kept = not_kept.or(kept.map_err(|e| io_error(&e, path))?);
            step.entry.command.clone_from(&command);
            step.entry.line = (index == 0).then(|| line.to_owned());
        }
        for file in files {
            if let Some(current) = &file.target.current {
                let is_unchanged = file.target.check_unchanged(current);
                is_unchanged.map_err(|unplaced| file.target.error(unplaced, file.place.path()))?;
            }
        }
        Ok(not_kept)
    }

    /// Puts every new file in place, and moves the old ones into the journal or removes them. Once
    /// it is recorded that all steps are made, the change is never taken back: what another program
    /// writes to a file from then on comes after the change, and must stay.
    ///
    /// # Errors
    ///
    /// Returns the first file that can't be changed, and why. The files before it in the list have
    /// been changed then.
    fn complete(&mut self) -> Result<Option<String>, Obstacle> {
        if !self.record.is_made {
            self.before_steps()?;
            for step in &self.record.steps {
                self.forward(step)
                    .map_err(|why| (step.entry.path().into_owned(), why))?;
            }
            self.after_steps()?;
            self.note_made()?;
        }
        Ok(self.settle())
    }

    /// Records a change whose steps are all made, and moves the old files into the journal or
    /// removes them. Returns why the change can't be undone, or `None`.
    fn settle(&self) -> Option<String> {
        let (entries, unchanged) = self.entries();
        let journal = self.workspace.journal.get();
        let not_written = if self.record.is_recorded {
            self.intent
                .record(&entries, journal.map(|journal| &**journal))
        } else {
            None
        };
        // The old files are of use in the journal only if its log has lines about them. That is not
        // so if undo has been turned off since and the lines could not be written. But if there is
        // a journal and only writing to its log has failed, the files are kept all the same: the
        // log may have some of the lines, and the old contents are nowhere else. The journal's
        // limits apply to files without a line, too.
        let is_kept = not_written.is_none() || journal.is_some();
        let old_files = self
            .record
            .steps
            .iter()
            .filter(|step| step.entry.before.is_some());
        let left: Vec<String> = old_files
            .filter(|step| !self.in_opened(step, || self.put_away(step, is_kept)))
            .map(|step| self.workspace.shown(&self.whereabouts(step)))
            .collect();
        let forgotten = entries.iter().filter(|_| !is_kept);
        for entry in unchanged.iter().chain(forgotten) {
            self.intent.forget(entry);
        }
        self.flush();
        self.intent.end();
        let left = (!left.is_empty()).then(|| format!("an old file stays in {}", left.join(", ")));
        not_written.or(left)
    }

    /// Takes back all steps that were made, and returns the error to report. `path` could not be
    /// changed because of `why`. If the system fails at a step, the intent stays.
    fn take_back(&mut self, path: &Path, why: &str) -> ToolError {
        self.close_again(|undo| &undo.modes);
        let steps = self.record.steps.iter().rev();
        let errors = steps.filter_map(|step| {
            let errno = self.backward(step).err()?;
            Some((step.entry.path().into_owned(), errno))
        });
        let mut stuck: Vec<(PathBuf, Errno)> = errors.collect();
        let mut kept = Vec::new();
        let failure = |stuck: &[(PathBuf, Errno)]| {
            stuck
                .iter()
                .find(|(_, errno)| is_of_system(*errno))
                .cloned()
        };
        if failure(&stuck).is_none() {
            for (path, copy, errno) in self.write_back() {
                stuck.push((path, errno));
                kept.push(copy);
            }
        }
        self.flush();
        if let Some((stuck, errno)) = failure(&stuck) {
            return self.leave_pending([path, &*stuck], why, errno);
        }
        let shown = |path: &Path| self.workspace.shown(path);
        let mut message = format!("{} {why}", shown(path));
        let mut left = self.discard(stuck.is_empty());
        left.extend(kept);
        let stuck: Vec<String> = stuck.iter().map(|(path, _)| shown(path)).collect();
        if stuck.is_empty() {
            message.push_str("; no file was changed.");
        } else {
            message.push_str(&format!(
                "; of the change, {} stays, because it was changed since.",
                stuck.join(", ")
            ));
        }
        if !left.is_empty() {
            let left: Vec<String> = left.iter().map(|path| shown(path)).collect();
            let left = left.join(", ");
            message.push_str(&format!(" What could not be put back is in {left}."));
        }
        lost_race(
            ErrorKind::FileWriteFailure,
            message,
            "Read the files again and repeat the change.",
        )
    }

    fn leave_pending(&mut self, paths: [&Path; 2], why: &str, errno: Errno) -> ToolError {
        self.is_pending = true;
        self.close_again(|undo| &undo.opened);
        // Some files may have their former contents again. If the next call completes the change,
        // it must write into all of them once more.
        if let Some(undo) = &mut self.record.undo
            && std::mem::take(&mut undo.is_rewritten)
        {
            let _ = self.intent.write(&self.record);
        }
        let [path, stuck] = paths.map(|path| self.workspace.shown(path));
        let message = format!(
            "{path} {why}; {stuck} can't be put back: {errno}. The next call of a tool completes the \
             change, or takes it back."
        );
        ToolError::new(ErrorKind::FileWriteFailure, message)
            .with_hint("Read the files again before you repeat the change.")
    }

    /// Removes the new files that are not in place, the copies in the journal, and the intent. What
    /// may be the only old content stays: that of a step that was made, or of which this is not
    /// known, and all copies of an undo unless `is_as_before`. Returns where old files are.
    fn discard(&self, is_as_before: bool) -> Vec<PathBuf> {
        let (mut left, mut is_over) = (Vec::new(), true);
        for step in &self.record.steps {
            if !self.record.is_prepared || self.standing(step) == Standing::Open {
                if let Some((dir, name)) = self.spot(&step.temporary_path()) {
                    let removed = remove(&dir, &*name);
                    is_over &= removed.is_ok() || removed == Err(Errno::NOENT);
                }
                self.intent.forget(&step.entry);
            } else if step.entry.before.is_some() {
                left.push(self.whereabouts(step));
            }
        }
        self.close_again(|undo| &undo.opened);
        let copies = self.record.undo.iter().flat_map(|undo| &undo.entries);
        for entry in copies.filter(|_| is_as_before && left.is_empty()) {
            self.intent.forget(entry);
        }
        // A file that can't be removed now is left to the next call, which needs the intent for
        // that. But if the change was prepared, that call would complete it, so the intent is
        // removed all the same.
        if is_over || self.record.is_prepared {
            self.intent.end();
        }
        left
    }

    /// After a step was made, moves its old file into the journal, or removes it if the journal is
    /// not to have it. Returns false if the file stays, because it has been written to since or
    /// can't be moved.
    fn put_away(&self, step: &StepRecord, is_kept: bool) -> bool {
        let is_gone = || {
            let is_moved = is_kept && step.entry.old_content == OldContent::Moved;
            !is_moved || self.intent.kept_at(&step.entry).is_some()
        };
        let Some((dir, name)) = self.spot(&self.aside(step)) else {
            return is_gone();
        };
        match self.found(&dir, &name) {
            None => is_gone(),
            found if found == self.marks(step)[0] => {
                self.intent.put_away(&dir, &name, &step.entry, is_kept)
            }
            Some(_) => false,
        }
    }

    /// Returns the path of a step's temporary name. If another program has moved its directory, it
    /// is searched for in the whole workspace.
    fn aside(&self, step: &StepRecord) -> PathBuf {
        let path = step.temporary_path();
        if self.spot(&path).is_some() {
            return path;
        }
        let moved = self.moved.get_or_init(|| {
            let is_temporary = |path: &PathBuf| {
                let name = path.file_name().map(OsStrExt::as_bytes);
                name.is_some_and(|name| name.starts_with(CHANGE_PREFIX.as_bytes()))
            };
            names_below(self.workspace).filter(is_temporary).collect()
        });
        let found = moved.iter().find(|moved| moved.ends_with(&step.temporary));
        found.cloned().unwrap_or(path)
    }

    fn whereabouts(&self, step: &StepRecord) -> PathBuf {
        let aside = self.aside(step);
        if self.now(&aside).is_some() {
            return aside;
        }
        let undo = self.record.undo.iter().flat_map(|undo| &undo.entries);
        let copies = undo.filter(|entry| entry.path() == step.entry.path());
        let mut copies = copies.chain([&step.entry]);
        copies
            .find_map(|entry| self.intent.kept_at(entry))
            .unwrap_or(aside)
    }

    fn remember(&self, files: &[ChangedFile]) {
        let (steps, seen) = (&self.record.steps, &self.workspace.seen);
        // In the list, a file that was moved comes after its former path. It is handled first here,
        // because what was seen of it under the former path is taken over, before that is
        // forgotten.
        for (index, (step, file)) in steps.iter().zip(files).enumerate().rev() {
            let path = step.entry.path();
            let moved = file.new.as_ref().and_then(|new| new.access_of);
            let former = moved.unwrap_or(index);
            let written = self
                .workspace
                .beneath(&path)
                .and_then(|place| self.workspace.open_file(&place).ok());
            // If another file is there than the one that was written, another program has changed
            // it since. The caller does not know that, so the file counts as never seen.
            let written =
                written.filter(|file| Some(ContentStamp::from(&file.stat)) == step.stamps()[1]);
            match written {
                Some(written) => seen.wrote(
                    &path,
                    &written.file,
                    &steps[former].entry.path(),
                    files[former].target.current.as_ref(),
                ),
                None => seen.forget(&path),
            }
        }
    }

    /// Tells whether a step was made by what has the temporary name, because other programs may
    /// have changed what is at the path itself since.
    fn standing(&self, step: &StepRecord) -> Standing {
        let [before, after] = self.marks(step);
        let Some((dir, name)) = self.spot(&step.temporary_path()) else {
            return Standing::Unknown;
        };
        let aside = self.found(&dir, &name);
        let now = || self.now(&step.entry.path());
        // If there is no old file, or if files can't be exchanged, nothing has the temporary name
        // after the step. Then what the path itself has decides.
        let is_placed = || match before {
            None => now().is_some(),
            Some(_) => after.is_some() && now() == after,
        };
        if before.is_some() && aside == before || aside.is_none() && is_placed() {
            Standing::Made
        } else if aside == after {
            Standing::Open
        } else {
            Standing::Unknown
        }
    }

    fn forward(&self, step: &StepRecord) -> Result<(), String> {
        let [before, after] = self.marks(step);
        let (temporary_dir, temporary) = self
            .spot(&step.temporary_path())
            .ok_or("is in a directory that is not there any more")?;
        match self.standing(step) {
            Standing::Made => return Ok(()),
            Standing::Open if self.now(&step.entry.path()) == before => {}
            _ => return Err("was changed by another program meanwhile".to_owned()),
        }
        let (dir, name, missing) = self.target(step)?;
        let moved = match (before, after) {
            (None, _) => within(dir.as_fd(), &missing, &mut |dir| {
                self.rename(&temporary_dir, &temporary, dir, &name, NEW)
            }),
            (Some(_), None) => {
                self.rename(dir.as_fd(), &name, temporary_dir.as_fd(), &temporary, NEW)
            }
            (Some(_), Some(_)) => {
                self.rename(&temporary_dir, &temporary, dir.as_fd(), &name, EXCHANGED)
            }
        };
        moved.map_err(|e| format!("can't be changed: {e}"))?;
        // Another program may have replaced the file just before the exchange, or put a file into
        // the directory. Then that is put back.
        let came_out = self.found(&temporary_dir, &temporary);
        let is_other = before.is_some() && came_out.is_some() && came_out != before;
        if is_other || nodes::is_filled_directory(&temporary_dir, &temporary) && before.is_some() {
            let flags = if after.is_some() { EXCHANGED } else { NEW };
            let _ = renameat_with(&temporary_dir, &temporary, &dir, &name, flags);
            return Err("was changed by another program meanwhile".to_owned());
        }
        Ok(())
    }

    /// Renames a file for a step. Where the file system can't exchange two names, or check that a
    /// new name is free, an undo renames without that, because it has copies of all old contents.
    fn rename(
        &self,
        from_dir: impl AsFd,
        from: &OsStr,
        dir: impl AsFd,
        name: &OsStr,
        flags: RenameFlags,
    ) -> Result<(), Errno> {
        match renameat_with(&from_dir, from, &dir, name, flags) {
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) if self.record.undo.is_some() => {
                renameat(from_dir, from, dir, name)
            }
            renamed => renamed,
        }
    }

    fn backward(&self, step: &StepRecord) -> Result<(), Errno> {
        let path = step.entry.path();
        for path in [&step.temporary_path(), &*path] {
            // If a path can't be examined, the file there must not count as one that is gone.
            self.examine(path).or_else(|errno| {
                if is_of_system(errno) {
                    Err(errno)
                } else {
                    Ok(())
                }
            })?;
        }
        let [before, after] = self.marks(step);
        let (standing, now) = (self.standing(step), self.now(&path));
        if standing == Standing::Open || now == before {
            return Ok(());
        }
        if standing == Standing::Unknown || now != after {
            return Err(Errno::STALE);
        }
        let (temporary_dir, temporary) = self.spot(&step.temporary_path()).ok_or(Errno::NOENT)?;
        let (dir, name, _) = self.target(step).map_err(|_| Errno::NOENT)?;
        if before.is_some() {
            let flags = if after.is_some() { EXCHANGED } else { NEW };
            return self.rename(&temporary_dir, &temporary, &dir, &name, flags);
        }
        self.rename(&dir, &name, &temporary_dir, &temporary, NEW)?;
        if let Some(place) = self.workspace.beneath(&step.entry.path()) {
            self.workspace
                .remove_empty_directories(&place, step.entry.made);
        }
        Ok(())
    }

    fn examine(&self, path: &Path) -> Result<(), Errno> {
        let place = self.workspace.beneath(path).ok_or(Errno::NOENT)?;
        look(self.workspace.open_parent(&place)?, Path::new(place.name())).map(drop)
    }

    fn marks(&self, step: &StepRecord) -> [Option<ContentStamp>; 2] {
        [&step.entry.before, &step.entry.after]
            .map(|state| state.as_ref().map(|state| self.mark(state)))
    }

    /// Returns the stamp of what a path had. The change itself gives another size or time to a
    /// directory and to a file that it writes into, so of these only the identity counts.
    fn mark(&self, state: &FileState) -> ContentStamp {
        let rewrites = || self.record.undo.iter().flat_map(|undo| &undo.rewrites);
        let is_rewritten = |file| rewrites().any(|rewrite| rewrite.planned.file() == file);
        if state.is_directory() || is_rewritten(state.stamp.file()) {
            state.stamp.of_any_content()
        } else {
            state.stamp
        }
    }

    fn found(&self, dir: impl AsFd, name: &OsStr) -> Option<ContentStamp> {
        let (state, _) = look(dir, Path::new(name)).ok()??;
        Some(self.mark(&state))
    }

    fn now(&self, path: &Path) -> Option<ContentStamp> {
        let (dir, name) = self.spot(path)?;
        self.found(dir, &name)
    }

    fn target(&self, step: &StepRecord) -> Result<(OwnedFd, OsString, Vec<OsString>), String> {
        let path = step.entry.path();
        let missing = || {
            let entry = self.workspace.entry(&self.workspace.beneath(&path)?).ok()?;
            Some((entry.dir, entry.name?, entry.missing))
        };
        let spot = self.spot(&path).map(|(dir, name)| (dir, name, Vec::new()));
        let made = || missing().filter(|_| step.entry.made > 0);
        spot.or_else(made)
            .ok_or_else(|| "is in a directory that is not there any more".to_owned())
    }

    /// Opens the directory of a path, without following a link, and returns it with the last
    /// component of the path; `None` if the directory can't be opened.
    pub(crate) fn spot(&self, path: &Path) -> Option<(OwnedFd, OsString)> {
        let place = self.workspace.beneath(path)?;
        let dir = self.workspace.open_parent(&place).ok()?;
        Some((dir, place.name().to_owned()))
    }

    fn flush(&self) {
        let dirs = self
            .record
            .steps
            .iter()
            .filter_map(|step| Some(step.entry.path().parent()?.to_owned()));
        for dir in dirs.collect::<BTreeSet<_>>() {
            // If this fails, only a loss of power at this moment can leave the change incomplete.
            let _ = files::flush_names(&dir);
        }
    }
}

fn unwritten(e: &std::io::Error) -> ToolError {
    let kind = if e.raw_os_error() == Some(Errno::NOSPC.raw_os_error()) {
        ErrorKind::NoSpaceLeft
    } else {
        ErrorKind::FileWriteFailure
    };
    let message =
        format!("What the change is about to do can't be written down: {e}. Nothing was changed.");
    ToolError::new(kind, message)
}

/// Returns the mode of a file that becomes executable, or no longer is it.
pub fn mode_with(old: u32, is_executable: bool) -> u32 {
    // Everybody who may read the file may also execute it.
    if is_executable {
        old | (old & 0o444) >> 2
    } else {
        old & !0o111
    }
}

impl NewContent {
    fn write(
        &self,
        files: &[ChangedFile],
        file: &ChangedFile,
        temporary: &str,
    ) -> Result<File, ToolError> {
        let path = file.place.path();
        let target = &file.target;
        let current = target.current.as_ref();
        if current.is_some_and(|current| in_place::is_needed(&target.entry, current)) {
            let what =
                "can't be replaced by a new file, and so can't be changed together with others";
            let error = ToolError::new(
                ErrorKind::FileWriteFailure,
                format!("{} {what}. Nothing was changed.", path.display()),
            );
            return Err(error.with_hint("Change it by itself, with replace."));
        }
        let like = self
            .access_of
            .and_then(|index| files[index].target.current.as_ref())
            .or(current);
        let mode = Mode::from_raw_mode(if like.is_some() { 0o600 } else { 0o666 });
        let flags =
            OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let written = openat(&target.entry.dir, temporary, flags, mode);
        let written = written.map_err(|errno| target.making_error(errno, path))?;
        let mut written = File::from(written);
        let fail = |e: std::io::Error| io_error(&e, path);
        written.write_all(&self.bytes).map_err(fail)?;
        if let Some(like) = like {
            access::keep(&written, like, path)?;
        }
        if let Some(is_executable) = self.is_executable {
            let old = written.metadata().map_err(fail)?.permissions().mode();
            let new = std::fs::Permissions::from_mode(mode_with(old, is_executable));
            written.set_permissions(new).map_err(fail)?;
        }
        written.sync_data().map_err(fail)?;
        Ok(written)
    }
}

#[cfg(test)]
mod tests;
