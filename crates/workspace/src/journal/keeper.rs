//! Writes the journal at each change that a tool makes.

use super::Journal;
use super::backup::{Backup, PendingChange};
use super::entry::{ContentStamp, FileState, JournalEntry, OldContent};
use super::place;
use crate::{OpenFile, access, resolve::Entry};
use rustix::fd::OwnedFd;
use rustix::fs::{self, Mode, OFlags, Stat};
use rustix::io::{retry_on_intr, write};
use sha2::{Digest, Sha256};
use std::cell::Cell;
use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::io::Seek;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

const MAX_COPIED_BYTES: u64 = 32 * 1024 * 1024;

const MAX_DIGESTED_BYTES: u64 = 256 * 1024;

/// The journal is pruned after a change whose old content is larger than the journal's maximum size
/// divided by this number. The sizes of several changed files are added up.
const LARGE_PART: u64 = 16;

/// Returns a new id of ten digits and lower-case letters that are not easily confused.
pub(crate) fn new_id() -> String {
    const DIGITS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
    let bits = RandomState::new().hash_one((SystemTime::now(), std::process::id()));
    let digit = |i: u32| char::from(DIGITS[(bits >> (5 * i)) as usize % DIGITS.len()]);
    (0..10).map(digit).collect()
}

/// Returns the present time in milliseconds since 1970.
pub fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    })
}

#[derive(Debug)]
pub(super) struct Hour {
    pub(super) dir: OwnedFd,
    log: File,
    pub(super) is_new: bool,
}

impl Hour {
    pub(super) fn append(&self, entries: &[JournalEntry]) -> bool {
        let mut lines = Vec::new();
        let mut is_whole = true;
        for entry in entries {
            is_whole &= entry.push_line(&mut lines);
        }
        self.append_lines(&lines) && is_whole
    }

    /// Writes lines with one system call, so that those of several writers don't mix.
    pub(super) fn append_lines(&self, lines: &[u8]) -> bool {
        retry_on_intr(|| write(&self.log, lines)) == Ok(lines.len())
    }
}

impl PendingChange {
    /// Prepares the backup of a change. `old` is the present file, and `new` the one that will
    /// replace it. With `must_copy`, the old file is not moved into the journal. Dropping the
    /// backup before the change is recorded removes the copy.
    ///
    /// # Errors
    ///
    /// Returns why nothing can be kept, as the end of a sentence. The change is made nevertheless.
    pub(crate) fn prepare(
        &self,
        target: &Entry,
        old: Option<&OpenFile>,
        new: Option<&File>,
        must_copy: bool,
    ) -> Result<Backup, String> {
        let (journal, origin, at) = (&*self.journal, &self.origin, now());
        let id = origin.id.clone().unwrap_or_else(new_id);
        let hour = journal.open_hour(at)?;
        let exclusion = journal.exclusion(self.is_gemini_ignored, &self.rel);
        let state = |file: &File, stat: &Stat| match exclusion {
            // The user has excluded the content. If it is a short secret, it could be guessed from
            // a digest, so the entry has none.
            Some(_) => stamped(stat),
            None => state(file, stat),
        };
        let after = new.map(|new| fs::fstat(new).map(|stat| state(new, &stat)));
        let after = after
            .transpose()
            .map_err(|e| format!("the file can't be read: {e}"))?;
        let old_content = match (exclusion, old) {
            (Some(reason), _) => OldContent::Lost(reason.to_owned()),
            (None, None) => OldContent::default(),
            (None, Some(old)) => {
                let from = (!must_copy).then_some(&target.dir);
                journal.keep(old, from, &hour.dir, &id)
            }
        };
        Ok(Backup {
            journal: Arc::clone(&self.journal),
            entry: JournalEntry {
                tool: origin.tool.clone(),
                call: origin.call.clone(),
                memory: origin.is_users_file,
                before: old.map(|old| state(&old.file, &old.stat)),
                after,
                old_content,
                made: target.missing.len(),
                undoes: origin.undoes.clone(),
                ..journal.entry(id, at, &self.real_path(target))
            },
            is_excluded: exclusion.is_some(),
            is_prune_due: hour.is_new || old.is_some_and(|old| journal.is_large(old.size())),
            hour,
            is_made: Cell::new(false),
        })
    }
}

/// Returns the state of a file, with a digest if its content is small and readable.
pub(crate) fn state(file: &File, stat: &Stat) -> FileState {
    let mut state = stamped(stat);
    let size = state.stamp.size();
    if size <= MAX_DIGESTED_BYTES {
        let content = read(file, size).ok();
        state.sha256 =
            content.map(|content| gemini_tools_core::text::hex(&Sha256::digest(content)));
    }
    state
}

pub(super) fn stamped(stat: &Stat) -> FileState {
    FileState {
        stamp: ContentStamp::from(stat),
        mode: crate::files::mode(stat),
        sha256: None,
        kind: None,
        links: u64::try_from(i128::from(stat.st_nlink))
            .ok()
            .filter(|links| *links > 1),
        owner: Some((stat.st_uid, stat.st_gid)),
    }
}

impl Journal {
    pub(super) fn entry(&self, id: String, at: u64, path: &Path) -> JournalEntry {
        let caller = self.caller();
        JournalEntry {
            by: caller.program.clone(),
            session: caller.session.clone(),
            ..JournalEntry::of_path(id, at, path)
        }
    }

    pub(super) fn exclusion(&self, is_gemini_ignored: bool, rel: &Path) -> Option<&'static str> {
        if is_gemini_ignored {
            return Some(".geminiignore names it");
        }
        let matches = |path: &Path| {
            let path = path.as_os_str().as_bytes();
            let name_at = path.iter().rposition(|b| *b == b'/').map_or(0, |i| i + 1);
            self.exclude.matches(path, name_at)
        };
        // A pattern that matches a directory excludes everything below it.
        let mut ancestors = rel.ancestors();
        let is_excluded = !self.exclude.is_empty()
            && ancestors.any(|path| !path.as_os_str().is_empty() && matches(path));
        is_excluded.then_some("tools.undo.exclude names it")
    }

    /// Opens the directory and the log for the hour of the time `at`, in milliseconds since 1970,
    /// and creates what is missing.
    ///
    /// # Errors
    ///
    /// Returns why nothing can be kept, as the end of a sentence.
    pub(super) fn open_hour(&self, at: u64) -> Result<Hour, String> {
        let home = self.home.as_deref();
        let path = place::journal(home.ok_or("there is no home directory; set HOME")?);
        let number = at / place::HOUR_MILLIS;
        let dir = place::open_or_make(&path)?;
        let path = path.join(number.to_string());
        let fail = |e| place::complaint(&path, e);
        let (dir, is_new) = place::make_hour(&dir, number).map_err(fail)?;
        let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE;
        let log = place::open_regular(&dir, place::LOG, flags)
            .map_err(|e| place::complaint(&path.join(place::LOG), e))?;
        Ok(Hour { dir, log, is_new })
    }

    pub(super) fn is_large(&self, size: u64) -> bool {
        size > self.limits.max_bytes / LARGE_PART
    }

    /// Returns `Moved` if the old file can later be moved into the journal. Otherwise copies it and
    /// returns `Copied`, or `Lost` if it is too large or can't be copied.
    fn keep(&self, old: &OpenFile, from: Option<&OwnedFd>, dir: &OwnedFd, id: &str) -> OldContent {
        if old.size() > self.limits.max_bytes {
            return OldContent::Lost("it is larger than all that is kept".to_owned());
        }
        // A file that has another hard link is copied: any program could change the content in the
        // journal through that link.
        let is_alone = i128::from(old.stat.st_nlink) == 1;
        if is_alone && from.is_some_and(|from| place::is_one_mount(from, dir)) {
            return OldContent::Moved;
        }
        copy(old, dir, id)
    }
}

pub(super) fn copy(old: &OpenFile, dir: &OwnedFd, name: &str) -> OldContent {
    let lost = |reason: &str| OldContent::Lost(reason.to_owned());
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let Ok(file) = fs::openat(dir, name, flags, Mode::from_raw_mode(0o600)) else {
        return lost("the journal could not be written");
    };
    let mut file = File::from(file);
    let Err(e) = clone_or_copy(&old.file, &mut file, MAX_COPIED_BYTES) else {
        // An undo gives them back. Nobody else may read the copy.
        let _ = access::keep(&file, old, Path::new(name));
        let _ = fs::fchmod(&file, Mode::from_raw_mode(0o600));
        return OldContent::Copied;
    };
    let _ = fs::unlinkat(dir, name, fs::AtFlags::empty());
    match e.kind() {
        std::io::ErrorKind::FileTooLarge => lost("it is too large to be copied"),
        _ => lost("it could not be copied"),
    }
}

/// Copies a file into an empty one. If the file system can, both files share the blocks instead.
///
/// # Errors
///
/// Returns `FileTooLarge` for a copy of more than `max_bytes`, or the operating system's error.
pub(crate) fn clone_or_copy(from: &File, to: &mut File, max_bytes: u64) -> std::io::Result<()> {
    #[cfg(target_os = "linux")]
    if fs::ioctl_ficlone(&*to, from).is_ok() {
        return Ok(());
    }
    if from.metadata()?.len() > max_bytes {
        return Err(std::io::ErrorKind::FileTooLarge.into());
    }
    let mut from = from;
    from.rewind()?;
    std::io::copy(&mut from, to).map(drop)
}

pub(crate) fn read(file: &File, size: u64) -> std::io::Result<Vec<u8>> {
    let mut content = vec![0; usize::try_from(size).map_err(std::io::Error::other)?];
    file.read_exact_at(&mut content, 0)?;
    Ok(content)
}

#[cfg(test)]
mod tests {
    use super::new_id;
    use std::collections::BTreeSet;

    #[test]
    fn ids_differ_and_are_easily_typed() {
        let ids: BTreeSet<String> = (0..1000).map(|_| new_id()).collect();
        assert_eq!(ids.len(), 1000);
        let is_plain = |c: char| c.is_ascii_digit() || c.is_ascii_lowercase();
        assert!(
            ids.iter()
                .all(|id| id.len() == 10 && id.chars().all(is_plain))
        );
    }
}
