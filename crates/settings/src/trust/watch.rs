//! Revokes trust in a folder when a tool has changed files that need trust.
//!
//! A user who trusts a folder trusts what people put there, not what a model does. Each call that
//! may change files therefore saves their state before it runs, in a file of its own, and compares
//! them when it has ended. If they have changed, the state before the first such call is kept. The
//! folder is trusted again when the files are as before, or when `get_tools trust` has shown them
//! to the user. Changes by hand alone revoke nothing.
//!
//! The file of a call that was killed stays, and counts until the files are as it says. Otherwise a
//! command could change the settings and have its caller killed, and nobody would know.

use super::fingerprint::Fingerprint;
use super::record::{TrustRecord, TrustRecordError, remove_file, save_to, to_json};
use super::{ProjectTrust, Trust};
use gemini_tools_workspace::files::make_private;
use rustix::fs::{FlockOperation, flock};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::thread;

/// The state of the files that need trust, before calls that may change them.
#[derive(Debug)]
pub struct TrustWatch {
    home: PathBuf,
    root: PathBuf,
    /// The state of the files before the call. It is empty if not everything could be read; then
    /// everything counts as changed.
    before: Fingerprint,
    /// The path of a copy of `before`, which is deleted when this value is dropped, and the open
    /// file. It is locked, so that other processes see that this one still runs. `None` if it could
    /// not be written, or if `end` could not save the state, so that the copy must stay.
    call: Option<(PathBuf, File)>,
}

impl TrustWatch {
    /// Returns the path of the file in which the state before changes by tools is saved.
    pub fn path(home: &Path, root: &Path) -> PathBuf {
        TrustRecord::path(home, root).with_extension("before")
    }

    /// Reads the project's files, and saves their state. `None` if the project is not trusted as a
    /// whole, so that changes need not be detected.
    pub fn begin(trust: &ProjectTrust) -> Option<Self> {
        let home = trust
            .home
            .clone()
            .filter(|_| Trust::covers_changes(trust))?;
        let root = fs::canonicalize(&trust.root).ok()?;
        let now = Fingerprint::look(&root);
        if let Ok(now) = &now {
            forget_killed(&home, &root, now);
        }
        let before = now.unwrap_or_default();
        // If the state can't be saved now, the call goes on all the same. But `end` fails if there
        // is something to save then, because that can't be saved either.
        let call = save_call(&home, &root, &before).ok();
        Some(Self {
            home,
            root,
            before,
            call,
        })
    }

    /// Compares the files with the earlier state, and saves that state if they have changed, or if
    /// they may change later because commands still run in the background (`goes_on`). Once no
    /// command runs and the files are as before, the saved state is deleted.
    ///
    /// # Errors
    ///
    /// Returns the operating system's error, with the path.
    pub fn end(&mut self, goes_on: bool) -> Result<(), TrustRecordError> {
        let Self { home, root, .. } = self;
        let path = Self::path(home, root);
        let is_as = |seen: &Fingerprint| seen.changes(root).is_empty();
        let saved = TrustRecord::load_from(&path, root).and_then(|first| match first {
            Some(first) if !goes_on && is_as(&first.seen) => remove_file(&path).map(drop),
            None if goes_on || !is_as(&self.before) => save_to(&path, root, self.before.clone()),
            _ => Ok(()),
        });
        // If the state could not be saved for later, it is still in this call's own file, which is
        // then not deleted.
        self.call = self.call.take().filter(|_| saved.is_ok());
        saved
    }
}

impl Drop for TrustWatch {
    fn drop(&mut self) {
        if let Some((path, _)) = &self.call
            && !thread::panicking()
        {
            // A file that stays says that the files are as they are now, which revokes nothing.
            let _ = fs::remove_file(path);
        }
    }
}

/// Returns the directory that holds, for all projects, the states of files before calls that are
/// running or were killed.
fn calls(home: &Path) -> PathBuf {
    home.join(".gemini/tools_calls")
}

fn prefix(home: &Path, root: &Path) -> OsString {
    let record = TrustRecord::path(home, root);
    let mut prefix = record.file_stem().unwrap_or_default().to_owned();
    prefix.push("-");
    prefix
}

/// Saves the state of the files before a call, in a new file that is complete and locked by the
/// time it gets its name.
fn save_call(home: &Path, root: &Path, before: &Fingerprint) -> io::Result<(PathBuf, File)> {
    let directory = calls(home);
    make_private(&directory)?;
    let prefix = prefix(home, root);
    let mut new = tempfile::Builder::new()
        .prefix(&prefix)
        .tempfile_in(&directory)?;
    flock(&new, FlockOperation::NonBlockingLockExclusive)?;
    new.write_all(&to_json(root, before.clone())?)?;
    let path = new.path().with_extension("json");
    let file = new.persist_noclobber(&path).map_err(|e| e.error)?;
    Ok((path, file))
}

fn saved_calls(home: &Path, root: &Path) -> Vec<PathBuf> {
    let prefix = prefix(home, root);
    let is_ours = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().as_bytes();
        name.starts_with(prefix.as_bytes()) && name.ends_with(b".json")
    };
    let entries = fs::read_dir(calls(home)).into_iter().flatten();
    let paths = entries.flatten().map(|entry| entry.path());
    paths.filter(is_ours).collect()
}

/// Deletes the states that killed calls have left behind, if the project's files are in the same
/// state now.
fn forget_killed(home: &Path, root: &Path, now: &Fingerprint) {
    for path in saved_calls(home, root) {
        let is_free = |file: &File| flock(file, FlockOperation::NonBlockingLockExclusive).is_ok();
        let saved = || TrustRecord::load_from(&path, root).ok().flatten();
        if File::open(&path).is_ok_and(|file| is_free(&file))
            && saved().is_some_and(|saved| saved.seen == *now)
        {
            let _ = fs::remove_file(&path);
        }
    }
}

/// Returns the paths of files that differ from their state before tools changed them. `root` must
/// be canonical.
pub(super) fn changes_by_tools(home: &Path, root: &Path) -> Result<Vec<String>, TrustRecordError> {
    let mut changes = Vec::new();
    let first = [TrustWatch::path(home, root)];
    for path in first.into_iter().chain(saved_calls(home, root)) {
        if let Some(before) = TrustRecord::load_from(&path, root)? {
            changes.append(&mut before.seen.changes(root));
        }
    }
    changes.sort();
    changes.dedup();
    Ok(changes)
}

/// Deletes all saved states, because the user has seen the files as they are.
pub(super) fn forget(home: &Path, root: &Path) -> Result<(), TrustRecordError> {
    for path in saved_calls(home, root) {
        remove_file(&path)?;
    }
    remove_file(&TrustWatch::path(home, root)).map(drop)
}
