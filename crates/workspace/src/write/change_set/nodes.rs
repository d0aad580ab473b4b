//! What an undo does besides the steps of a change: it sets modes, and writes into a file whose
//! other names are to change with it.
//!
//! All of this can be done twice without harm, so an undo that was killed is simply completed from
//! the beginning. Only writing into a file is noted in the intent as soon as it is done, because
//! the steps may take away the name by which the file is found.

use super::{ChangeSet, ChangedFile, JournalEntry, Obstacle, ToolError, unwritten};
use crate::journal::{
    ContentStamp, FileId, FileState, Intent, IntentRecord, KeptContent, ModeRecord, RewriteRecord,
    StepRecord, UndoRecord, clone_or_copy, look, open_writable, set_mode, state,
};
use crate::{Workspace, access};
use gemini_tools_core::tool::Cancellation;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{Dir, Mode, OFlags, RawMode, fchmod, fstat, openat};
use rustix::io::Errno;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

const COMPARED_BYTES: usize = 64 * 1024;

impl<'w> ChangeSet<'w> {
    /// Records the temporary names that a change is about to use, and makes the directories writable
    /// that an undo needs.
    ///
    /// # Errors
    ///
    /// Returns why that is not possible. Nothing was changed then.
    pub(crate) fn begin(workspace: &'w Workspace, record: IntentRecord) -> Result<Self, ToolError> {
        let home = workspace.home().ok_or_else(|| {
            ToolError::failed("A change of several files is written down below the home directory, and there is none.")
                .with_hint("Set HOME.")
        })?;
        let intent = Intent::create(home)
            .map_err(|why| ToolError::failed(format!("Nothing was changed: {why}.")))?;
        let set = Self::new(workspace, intent, record);
        let begun = set.intent.write(&set.record).map_err(|e| unwritten(&e));
        let opened = begun.and_then(|()| {
            let opened = set.set_modes(|undo| &undo.opened);
            opened.map_err(|(path, why)| {
                ToolError::failed(format!("{} {why}", workspace.shown(&path)))
            })
        });
        opened.inspect_err(|_| set.give_up())?;
        Ok(set)
    }

    pub(crate) fn give_up(&self) {
        self.discard(true);
    }

    /// Makes a change whose new files, links and directories are all prepared. Returns why it can't
    /// be undone, as the end of a sentence; `None` if it can. The conversation counts as having seen
    /// what is written to `known`: all files of the change, or none.
    ///
    /// # Errors
    ///
    /// Returns the reason why it could not be made. All is as before then, apart from what the
    /// error names.
    pub(crate) fn carry_out(
        &mut self,
        known: &[ChangedFile],
        cancel: &Cancellation,
    ) -> Result<Option<String>, ToolError> {
        self.record.is_prepared = true;
        let written = self.intent.write(&self.record).map_err(|e| unwritten(&e));
        let acting = written.and_then(|()| cancel.acting());
        let _acting = acting.inspect_err(|_| self.give_up())?;
        let not_kept = self
            .complete()
            .map_err(|(path, why)| self.take_back(&path, &why))?;
        self.remember(known);
        Ok(not_kept)
    }

    pub(super) fn entries(&self) -> (Vec<JournalEntry>, Vec<JournalEntry>) {
        self.record.undo.as_ref().map_or_else(
            || {
                let entries = self.record.steps.iter().map(|step| step.entry.clone());
                (entries.collect(), Vec::new())
            },
            UndoRecord::split,
        )
    }

    /// Writes down that all steps are made, and how an undo has left each path.
    pub(super) fn note_made(&mut self) -> Result<(), Obstacle> {
        let steps = self.record.steps.iter();
        let made: HashMap<PathBuf, Option<FileState>> = steps
            .map(|step| (step.entry.path().into_owned(), step.entry.after.clone()))
            .collect();
        let undo = self.record.undo.iter().flat_map(|undo| &undo.entries);
        let left: Vec<_> = undo.map(|entry| self.left(entry, &made)).collect();
        if let Some(undo) = &mut self.record.undo {
            for (entry, left) in undo.entries.iter_mut().zip(left) {
                entry.after = left;
            }
        }
        self.record.is_made = true;
        let written = self.intent.write(&self.record);
        let first = || self.record.paths().next().unwrap_or_default();
        written.map_err(|e| (first(), failed(e)))
    }

    /// Returns the state in which the undo has left a path. Another program may have changed it
    /// since. That must not count as the undo's work, or taking the undo back would overwrite it.
    fn left(
        &self,
        entry: &JournalEntry,
        made: &HashMap<PathBuf, Option<FileState>>,
    ) -> Option<FileState> {
        let found = self.spot(&entry.path()).and_then(|(dir, name)| {
            let (found, _) = look(&dir, Path::new(&name)).ok()??;
            let file = crate::journal::open_file(&dir, &*name).ok();
            Some((found, file))
        });
        let mark = |state: &FileState| self.mark(state);
        if let Some(made) = made.get(&*entry.path())
            && made.as_ref().map(mark) != found.as_ref().map(|(found, _)| mark(found))
        {
            return made.clone();
        }
        let (found, file) = found?;
        let file = file.filter(|_| found.is_file());
        let mut rewrites = self.record.undo.iter().flat_map(|undo| &undo.rewrites);
        let rewrite = rewrites.find(|rewrite| rewrite.planned.file() == found.stamp.file());
        if let Some((rewrite, file)) = rewrite.zip(file.as_ref()) {
            let is_ours = |new: &File| is_equal(file, new).unwrap_or(false);
            if !self
                .intent
                .kept(&rewrite.new)
                .is_ok_and(|new| is_ours(&new))
            {
                let stamp = found.stamp.of_any_content();
                return Some(FileState { stamp, ..found });
            }
        }
        // An excluded file gets no digest, because a short secret could be guessed from it.
        let digested = file.filter(|_| entry.loss().is_none()).and_then(|file| {
            let stat = fstat(&file).ok()?;
            Some(state(&file, &stat))
        });
        Some(digested.unwrap_or(found))
    }

    /// Writes into the files whose content an undo changes in place. An earlier run of the same
    /// undo may have done so before it was interrupted, and then nothing is written.
    pub(super) fn before_steps(&mut self) -> Result<(), Obstacle> {
        // An earlier run may have closed the directories again, so they are opened once more. This
        // may fail for some: after the steps that the earlier run has made, new files have their
        // paths.
        for mode in self.record.undo.iter().flat_map(|undo| &undo.opened) {
            let _ = self.set_mode(Path::new(&mode.path), mode.file, mode.to);
        }
        let rewrites = self.record.undo.iter();
        let rewrites = rewrites.filter(|undo| !undo.is_rewritten);
        let mut rewrites = rewrites.flat_map(|undo| &undo.rewrites).enumerate();
        let failed_at = rewrites.find_map(|(index, rewrite)| {
            let error = self.rewrite(rewrite, &rewrite.new).err()?;
            Some((index, PathBuf::from(&rewrite.path), error))
        });
        let Some(undo) = &mut self.record.undo else {
            return Ok(());
        };
        if let Some((index, path, error)) = failed_at {
            // Files that were not written into yet need not be written back. If the process that
            // has begun the change was killed, it is not known which these are.
            if !self.is_left_behind {
                let is_begun = error.raw_os_error() != Some(Errno::STALE.raw_os_error());
                undo.rewrites.truncate(index + usize::from(is_begun));
            }
            return Err((path, failed(error)));
        }
        let is_new = !std::mem::replace(&mut undo.is_rewritten, true);
        match undo.rewrites.first().map(|first| first.path.clone()) {
            Some(first) if is_new => {
                let noted = self.intent.write(&self.record);
                noted.map_err(|e| (first.into(), failed(e)))
            }
            _ => Ok(()),
        }
    }

    pub(super) fn after_steps(&self) -> Result<(), Obstacle> {
        self.set_modes(|undo| &undo.modes)
    }

    fn set_modes(&self, which: fn(&UndoRecord) -> &Vec<ModeRecord>) -> Result<(), Obstacle> {
        for mode in self.record.undo.iter().flat_map(which) {
            let path = Path::new(&mode.path);
            self.set_mode(path, mode.file, mode.to)
                .map_err(|errno| (path.to_owned(), failed(errno)))?;
        }
        Ok(())
    }

    fn set_mode(&self, path: &Path, file: FileId, mode: u32) -> Result<(), Errno> {
        let (dir, name) = self.spot(path).ok_or(Errno::NOENT)?;
        set_mode(&dir, Path::new(&name), mode, Some(file))?;
        let found = look(&dir, Path::new(&name))?;
        // Some file systems have no modes, and the system may refuse a bit silently.
        if found.is_some_and(|(found, _)| found.mode == mode) {
            Ok(())
        } else {
            Err(Errno::NOTSUP)
        }
    }

    /// Sets former modes again. A mode that the undo has not changed yet, or whose file is gone, is
    /// left alone.
    pub(super) fn close_again(&self, which: fn(&UndoRecord) -> &Vec<ModeRecord>) {
        let modes = self.record.undo.iter().flat_map(which);
        let modes: Vec<_> = modes.collect();
        for mode in modes.into_iter().rev() {
            let _ = self.set_mode(Path::new(&mode.path), mode.file, mode.from);
        }
    }

    /// Calls `act`, which needs the directory of a step's temporary name. An undo may have set
    /// modes that close this directory or those above it, so these modes are changed for that time.
    pub(super) fn in_opened(&self, step: &StepRecord, act: impl FnOnce() -> bool) -> bool {
        let temporary = step.temporary_path();
        let modes = self.record.undo.iter().flat_map(|undo| &undo.modes);
        let mut closed: Vec<_> = modes
            .filter(|mode| temporary.starts_with(&mode.path))
            .collect();
        closed.sort_by_key(|mode| mode.path.len());
        let set = |mode: &ModeRecord, to| {
            let _ = self.set_mode(Path::new(&mode.path), mode.file, to);
        };
        for mode in &closed {
            set(mode, mode.from);
        }
        let is_done = act();
        for mode in closed.iter().rev() {
            set(mode, mode.to);
        }
        is_done
    }

    /// Writes the former contents back into the files that were written into. Returns the paths of
    /// those at which that has failed, each with the journal's file that has the content.
    pub(super) fn write_back(&self) -> Vec<(PathBuf, PathBuf, Errno)> {
        let rewrites = self.record.undo.iter().flat_map(|undo| &undo.rewrites);
        let failed = rewrites.filter_map(|rewrite| {
            let error = self.rewrite(rewrite, &rewrite.old).err()?;
            let errno = Errno::from_io_error(&error).unwrap_or(Errno::STALE);
            let kept = self.intent.kept_path(&rewrite.old);
            Some((PathBuf::from(&rewrite.path), kept, errno))
        });
        failed.collect()
    }

    /// Gives the planned file a content, unless it has that already. What another program has
    /// written is not overwritten: the file must have the old content, or as much of the new one as
    /// an interrupted write has left. Other tools wait for the lock meanwhile.
    fn rewrite(&self, rewrite: &RewriteRecord, content: &KeptContent) -> io::Result<()> {
        let path = Path::new(&rewrite.path);
        let place = self.workspace.beneath(path).ok_or(Errno::NOENT)?;
        let target = self.workspace.target(&place, &Cancellation::default());
        let target = target.map_err(io::Error::other)?;
        let locked = target.current.as_ref().ok_or(Errno::NOENT)?;
        let (dir, name) = self.spot(path).ok_or(Errno::NOENT)?;
        let mut file = open_writable(&dir, &name, rewrite.planned.file())?;
        if ContentStamp::from(&locked.stat).file() != rewrite.planned.file() {
            return Err(Errno::STALE.into());
        }
        let content = self.intent.kept(content)?;
        let mode = fstat(&file)?.st_mode & 0o7777;
        if !is_equal(&locked.file, &content)? {
            let old = self.intent.kept(&rewrite.old)?;
            let new = self.intent.kept(&rewrite.new)?;
            if !is_between(&locked.file, &old, &new)? {
                return Err(Errno::STALE.into());
            }
            write_over(&content, &mut file)?;
        }
        // A command that copies access with contents (`cp -p`) may have opened the file to others.
        // Only its owner can take that back.
        let _ = access::keep_lists(&content, &file);
        // Writing takes away set-user-ID and set-group-ID, and a list changes the mode.
        if fstat(&file)?.st_mode & 0o7777 != mode {
            fchmod(&file, Mode::from_raw_mode(mode as RawMode))?;
        }
        Ok(())
    }
}

/// Returns true if a file has the content `old`, or that of `new` as far as [`write_over`] has come.
fn is_between(file: &File, old: &File, new: &File) -> io::Result<bool> {
    let (length, old_length) = (file.metadata()?.len(), old.metadata()?.len());
    let written = agreement(file, new, 0)?;
    let is_whole = written == length && length == new.metadata()?.len();
    let has_rest = || -> io::Result<bool> {
        Ok(written >= length || agreement(file, old, written)? == length)
    };
    Ok(is_whole || length == written.max(old_length) && has_rest()?)
}

pub(crate) fn is_equal(one: &File, other: &File) -> io::Result<bool> {
    let length = one.metadata()?.len();
    Ok(length == other.metadata()?.len() && agreement(one, other, 0)? == length)
}

/// Returns up to where two files have the same content from `at` on.
fn agreement(one: &File, other: &File, mut at: u64) -> io::Result<u64> {
    let (mut here, mut there) = (vec![0; COMPARED_BYTES], vec![0; COMPARED_BYTES]);
    loop {
        let read = one.read_at(&mut here, at)?;
        let read = read.min(other.read_at(&mut there, at)?);
        let pairs = here[..read].iter().zip(&there[..read]);
        let same = pairs.take_while(|(here, there)| here == there).count();
        at += same as u64;
        if same < read || read == 0 {
            return Ok(at);
        }
    }
}

/// Gives a file the content of another one. The room for it is taken first, so that a full disk is
/// noticed before anything is overwritten.
fn write_over(content: &File, file: &mut File) -> io::Result<()> {
    let length = content.metadata()?.len();
    #[cfg(target_os = "linux")]
    if length > 0 {
        use rustix::fs::{FallocateFlags, fallocate};
        // Other errors mean that the file system can't take room in advance.
        let taken = fallocate(&*file, FallocateFlags::KEEP_SIZE, 0, length);
        if let Err(errno @ (Errno::NOSPC | Errno::DQUOT | Errno::FBIG)) = taken {
            return Err(errno.into());
        }
    }
    clone_or_copy(content, file, u64::MAX)?;
    file.set_len(length)?;
    file.sync_data()
}

pub(crate) fn failed(errno: impl Into<io::Error>) -> String {
    let error: io::Error = errno.into();
    if error.raw_os_error() == Some(Errno::STALE.raw_os_error()) {
        return "was changed by another process meanwhile".to_owned();
    }
    format!("can't be changed: {error}")
}

pub(super) fn is_filled_directory(dir: impl AsFd, name: &OsStr) -> bool {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened: Result<OwnedFd, Errno> = openat(dir, name, flags, Mode::empty());
    let Ok(entries) = opened.and_then(Dir::read_from) else {
        return false;
    };
    entries
        .flatten()
        .any(|entry| ![&b"."[..], b".."].contains(&entry.file_name().to_bytes()))
}

#[cfg(test)]
mod tests {
    use super::{File, is_between};
    use std::io::Write;

    fn file(content: &[u8]) -> File {
        let mut file = tempfile::tempfile().expect("a file");
        file.write_all(content).expect("written");
        file
    }

    #[test]
    fn only_what_an_interrupted_write_leaves_counts_as_our_own() {
        let texts: Vec<Vec<u8>> = (0..5)
            .flat_map(|length| (0..1 << length).map(move |bits: u32| (length, bits)))
            .map(|(length, bits)| (0..length).map(|i| b'a' + (bits >> i & 1) as u8).collect())
            .collect();
        for (old, new) in [
            ("", "ab"),
            ("ab", ""),
            ("abab", "aa"),
            ("ab", "abba"),
            ("abb", "baa"),
        ] {
            let (old, new) = (old.as_bytes(), new.as_bytes());
            let mut left = vec![new.to_vec()];
            for written in 0..=new.len() {
                let rest = old.get(written..).unwrap_or_default();
                left.push([&new[..written], rest].concat());
            }
            for text in &texts {
                let is_left = is_between(&file(text), &file(old), &file(new)).expect("read");
                assert_eq!(is_left, left.contains(text), "{text:?} {old:?} {new:?}");
            }
        }
    }
}
