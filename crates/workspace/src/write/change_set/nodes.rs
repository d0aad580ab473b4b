//! What an undo does besides the steps of a change: it sets modes, and writes into a file whose
//! other names are to change with it.
//!
//! All of this can be done twice without harm, so an undo that was killed is simply completed from
//! the beginning. Only writing into a file is noted in the intent as soon as it is done, because
//! the steps may take away the name by which the file is found.

use super::{ChangeSet, JournalEntry, Obstacle, ToolError, unwritten};
use crate::Workspace;
use crate::journal::{
    FileId, Intent, IntentRecord, KeptContent, ModeRecord, RewriteRecord, UndoRecord,
    clone_or_copy, look, open_writable, set_mode, state,
};
use gemini_tools_core::tool::Cancellation;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{Dir, Mode, OFlags, RawMode, fchmod, fstat, openat};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

impl<'w> ChangeSet<'w> {
    /// Records the temporary names that an undo is about to use, and makes directories writable.
    ///
    /// # Errors
    ///
    /// Returns why that is not possible. Nothing was changed then.
    pub(crate) fn begin(workspace: &'w Workspace, record: IntentRecord) -> Result<Self, ToolError> {
        let home = workspace.home().ok_or("there is no home directory");
        let intent = home.map_err(str::to_owned).and_then(Intent::create);
        let intent =
            intent.map_err(|why| ToolError::failed(format!("Nothing was changed: {why}.")))?;
        let set = Self {
            workspace,
            intent,
            record,
        };
        let begun = set.intent.write(&set.record).map_err(|e| unwritten(&e));
        let opened = begun.and_then(|()| {
            let opened = set.set_modes(|undo| &undo.opened);
            opened.map_err(|(path, why)| {
                ToolError::failed(format!("{} {why}", workspace.shown(&path)))
            })
        });
        match opened {
            Ok(()) => Ok(set),
            Err(e) => {
                set.discard();
                Err(e)
            }
        }
    }

    pub(crate) fn give_up(self) {
        self.discard();
    }

    /// Makes an undo whose new files, links and directories are all prepared. Returns why the undo
    /// can't itself be undone, as the end of a sentence; `None` if it can.
    ///
    /// # Errors
    ///
    /// Returns the reason why it could not be made. All is as before then, apart from what the
    /// error names.
    pub(crate) fn carry_out(mut self, cancel: &Cancellation) -> Result<Option<String>, ToolError> {
        self.record.is_prepared = true;
        let written = self.intent.write(&self.record).map_err(|e| unwritten(&e));
        let acting = written.and_then(|()| cancel.acting());
        let _acting = match acting {
            Ok(acting) => acting,
            Err(e) => {
                self.discard();
                return Err(e);
            }
        };
        self.complete()
            .map_err(|(path, why)| self.take_back(&path, &why))
    }

    pub(super) fn entries(&self) -> (Vec<JournalEntry>, Vec<JournalEntry>) {
        let Some(undo) = &self.record.undo else {
            let entries = self.record.steps.iter().map(|step| step.entry.clone());
            return (entries.collect(), Vec::new());
        };
        undo.split(|entry| {
            let (dir, name) = self.spot(&entry.path())?;
            let (found, _) = look(&dir, Path::new(&name)).ok()??;
            let digested = || {
                let file = crate::journal::open_file(&dir, &*name).ok()?;
                Some(state(&file, &fstat(&file).ok()?))
            };
            // An excluded file gets no digest, because a short secret could be guessed from it.
            let is_wanted = found.is_file() && entry.loss().is_none();
            let digested = is_wanted.then(digested).flatten();
            Some(digested.unwrap_or(found))
        })
    }

    /// Makes directories writable and writes into files, unless an earlier run of this change has
    /// done so.
    pub(super) fn before_steps(&mut self) -> Result<(), Obstacle> {
        self.set_modes(|undo| &undo.opened)?;
        let Some(undo) = &self.record.undo else {
            return Ok(());
        };
        if undo.is_rewritten || undo.rewrites.is_empty() {
            return Ok(());
        }
        for rewrite in &undo.rewrites {
            let path = PathBuf::from(&rewrite.path);
            self.rewrite(rewrite, &rewrite.new)
                .map_err(|why| (path, why))?;
        }
        let first = PathBuf::from(&undo.rewrites[0].path);
        if let Some(undo) = &mut self.record.undo {
            undo.is_rewritten = true;
        }
        self.intent
            .write(&self.record)
            .map_err(|e| (first, format!("can't be changed: {e}")))
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

    pub(super) fn write_back(&self) -> Vec<PathBuf> {
        let rewrites = self.record.undo.iter().flat_map(|undo| &undo.rewrites);
        rewrites
            .filter(|rewrite| {
                let path = Path::new(&rewrite.path);
                let is_untouched = || self.stamp(path) == Some(rewrite.planned);
                !is_untouched() && self.rewrite(rewrite, &rewrite.old).is_err()
            })
            .map(|rewrite| PathBuf::from(&rewrite.path))
            .collect()
    }

    fn stamp(&self, path: &Path) -> Option<crate::journal::ContentStamp> {
        let (dir, name) = self.spot(path)?;
        crate::journal::ContentStamp::at(dir, &*name)
    }

    fn rewrite(&self, rewrite: &RewriteRecord, content: &KeptContent) -> Result<(), String> {
        let write = || -> io::Result<()> {
            let (dir, name) = self.spot(Path::new(&rewrite.path)).ok_or(Errno::NOENT)?;
            let mut file = open_writable(&dir, &name, rewrite.planned.file())?;
            let mode = fstat(&file)?.st_mode & 0o7777;
            let content = self.intent.kept(content)?;
            write_over(&content, &mut file)?;
            // Writing takes away set-user-ID and set-group-ID.
            if fstat(&file)?.st_mode & 0o7777 != mode {
                fchmod(&file, Mode::from_raw_mode(mode as RawMode))?;
            }
            Ok(())
        };
        write().map_err(failed)
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
