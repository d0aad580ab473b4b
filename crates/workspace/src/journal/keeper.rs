//! Writing the journal, at each write of a tool.

use super::Journal;
use super::backup::{Backup, PendingChange};
use super::entry::{ContentStamp, FileState, JournalEntry, OldContent};
use super::place;
use crate::lines::read_at;
use crate::{OpenFile, resolve::Entry, show_path};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{self, Mode, OFlags, Stat};
use rustix::io::Errno;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{SystemTime, UNIX_EPOCH};

/// The largest file that is copied where it can't be moved, in bytes.
const MAX_COPIED_BYTES: u64 = 32 * 1024 * 1024;

/// The largest content whose digest is kept, in bytes.
const MAX_DIGESTED_BYTES: u64 = 256 * 1024;

/// The part of all that may be kept from which on a file is followed by a look for what has to go.
const LARGE_PART: u64 = 16;

/// The pieces in which files are copied, in bytes.
const PIECE_BYTES: usize = 256 * 1024;

/// Returns a new id: ten digits and letters that can't be taken for each other.
pub(crate) fn new_id() -> String {
    use std::hash::{BuildHasher, Hasher, RandomState};
    const DIGITS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
    let mut hasher = RandomState::new().build_hasher();
    hasher.write_u64(now().wrapping_mul(0x9E37_79B9_7F4A_7C15));
    hasher.write_u32(std::process::id());
    let mut bits = hasher.finish();
    let mut id = String::with_capacity(10);
    for _ in 0..10 {
        id.push(char::from(DIGITS[(bits % 32) as usize]));
        bits /= 32;
    }
    id
}

/// Returns the milliseconds since 1970.
pub(crate) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    })
}

impl PendingChange {
    /// Prepares the backup of the change, which is dropped if the change is not made after all.
    /// `old` is the file that is there, `new` the one that will be there.
    ///
    /// # Errors
    ///
    /// Returns why nothing can be kept, as the end of a sentence. The change is made all the same.
    pub(crate) fn prepare(
        &self,
        target: &Entry,
        old: Option<&OpenFile>,
        new: Option<&File>,
        must_copy: bool,
    ) -> Result<Backup, String> {
        let (change, journal) = (self, &*self.journal);
        let id = change.origin.id.clone().unwrap_or_else(new_id);
        let at = now();
        let (dir, log) = journal.open_hour(at / place::HOUR_MILLIS)?;
        let caller = journal.caller.get_or_init(journal.find_caller);
        let mut entry = JournalEntry::new(id, at, &change.real_path(target));
        entry.by.clone_from(&caller.program);
        entry.session.clone_from(&caller.session);
        entry.tool.clone_from(&change.origin.tool);
        entry.call.clone_from(&change.origin.call);
        entry.undoes.clone_from(&change.origin.undoes);
        entry.memory = change.is_users;
        entry.made = target.missing.len();
        let mut backup = Backup::new(log, Vec::new());
        let exclusion = journal.exclusion(change);
        let state = |file: &File, stat: &Stat| match exclusion {
            // A digest of a short secret would give it away.
            Some(_) => stamped(stat),
            None => state(file, stat),
        };
        if let Some(new) = new {
            let stat = fs::fstat(new).map_err(|e| format!("the file can't be read: {e}"))?;
            entry.after = Some(state(new, &stat));
        }
        if let Some(old) = old {
            entry.before = Some(state(&old.file, &old.stat));
        }
        if let Some(reason) = exclusion {
            entry.old_content = OldContent::Lost(reason.to_owned());
        } else if let Some(old) = old {
            let is_movable = !must_copy && place::is_one_mount(&target.dir, &dir);
            entry.old_content = journal.keep(old, is_movable, &dir, &mut backup, &entry.id);
            backup.lost = entry.loss().map(str::to_owned);
        }
        backup.line.push(b'\n');
        serde_json::to_writer(&mut backup.line, &entry)
            .map_err(|e| format!("the journal can't be written: {e}"))?;
        backup.line.push(b'\n');
        Ok(backup)
    }
}

/// Returns the state of a file, with the digest of a small content that can be read.
pub(crate) fn state(file: &File, stat: &Stat) -> FileState {
    let mut state = stamped(stat);
    let size = state.stamp.size;
    if size <= MAX_DIGESTED_BYTES {
        let content = read(file, size).ok();
        state.sha256 =
            content.map(|content| gemini_tools_core::text::hex(&Sha256::digest(content)));
    }
    state
}

/// Returns the state of a file without its digest.
fn stamped(stat: &Stat) -> FileState {
    FileState {
        stamp: ContentStamp::from(stat),
        mode: crate::files::mode(stat),
        sha256: None,
    }
}

impl Journal {
    /// Returns why the user wants nothing kept of this file, if so.
    fn exclusion(&self, change: &PendingChange) -> Option<&'static str> {
        if change.is_gemini_ignored {
            return Some(".geminiignore names it");
        }
        let matches = |path: &Path| {
            let path = path.as_os_str().as_bytes();
            let name_at = path.iter().rposition(|b| *b == b'/').map_or(0, |i| i + 1);
            self.exclude.matches(path, name_at)
        };
        // A directory that is named stands for all below it.
        let mut ancestors = change.rel.ancestors();
        let is_excluded = !self.exclude.is_empty()
            && ancestors.any(|path| !path.as_os_str().is_empty() && matches(path));
        is_excluded.then_some("tools.undo.exclude names it")
    }

    /// Opens the directory and the log of an hour, and makes what is missing.
    ///
    /// # Errors
    ///
    /// Returns why nothing can be kept, as the end of a sentence.
    fn open_hour(&self, hour: u64) -> Result<(Arc<OwnedFd>, File), String> {
        let path = place::journal(&self.home);
        let fail = |e: Errno| match e {
            Errno::PERM => format!("{} is not yours alone (mode 700)", show_path(&path)),
            e => format!("{} can't be written: {e}", show_path(&path)),
        };
        let dir = match place::open(&path).map_err(fail)? {
            Some(dir) => dir,
            None => place::make(&path).map_err(fail)?,
        };
        let (dir, is_new) = place::make_hour(&dir, hour).map_err(fail)?;
        if is_new {
            self.prune_soon();
        }
        let flags =
            OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let log = fs::openat(&dir, place::LOG, flags, Mode::from_raw_mode(0o600)).map_err(fail)?;
        Ok((Arc::new(dir), File::from(log)))
    }

    /// Has the old file moved into the journal, or copies it.
    fn keep(
        &self,
        old: &OpenFile,
        is_movable: bool,
        dir: &Arc<OwnedFd>,
        backup: &mut Backup,
        id: &str,
    ) -> OldContent {
        let size = old.size();
        if size > self.limits.max_bytes {
            return OldContent::Lost("it is larger than all that is kept".to_owned());
        }
        if size > self.limits.max_bytes / LARGE_PART {
            self.prune_soon();
        }
        // With another name, the content would be changed by any program that knows that.
        let is_alone = i128::from(old.stat.st_nlink) == 1;
        if is_alone && is_movable {
            backup.moved_to = Some((Arc::clone(dir), id.to_owned()));
            return OldContent::Moved;
        }
        match copy(old, dir, id) {
            Ok(()) => {
                backup.copy = Some((Arc::clone(dir), id.to_owned()));
                OldContent::Copied
            }
            Err(reason) => OldContent::Lost(reason.to_owned()),
        }
    }

    /// Starts the removal of what is over the limits, or leaves it to the caller.
    fn prune_soon(&self) {
        if self.is_pruned_by_caller.load(Ordering::Relaxed) {
            self.is_prune_due.store(true, Ordering::Relaxed);
            return;
        }
        let (home, limits) = (self.home.clone(), self.limits);
        // Where there is no thread, the next one does it.
        let _ = std::thread::Builder::new().spawn(move || super::prune::prune(&home, limits));
    }
}

/// Copies the old file into the journal.
///
/// # Errors
///
/// Returns why not, as the end of a sentence.
fn copy(old: &OpenFile, dir: &OwnedFd, name: &str) -> Result<(), &'static str> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = fs::openat(dir.as_fd(), name, flags, Mode::from_raw_mode(0o600));
    let mut file = File::from(file.map_err(|_| "the journal could not be written")?);
    let copied = clone_or_copy(&old.file, &mut file, MAX_COPIED_BYTES);
    if copied.is_err() {
        let _ = fs::unlinkat(dir, name, fs::AtFlags::empty());
    }
    copied.map_err(|e| match e.kind() {
        std::io::ErrorKind::FileTooLarge => "it is too large to be copied",
        _ => "it could not be copied",
    })
}

/// Writes the content of a file into an empty one, sharing the blocks where the file system can.
///
/// # Errors
///
/// Returns `FileTooLarge` if more than `max_bytes` would have to be copied, and the operating system's errors.
pub(crate) fn clone_or_copy(from: &File, to: &mut File, max_bytes: u64) -> std::io::Result<()> {
    #[cfg(target_os = "linux")]
    if fs::ioctl_ficlone(&*to, from).is_ok() {
        return Ok(());
    }
    if from.metadata()?.len() > max_bytes {
        return Err(std::io::ErrorKind::FileTooLarge.into());
    }
    let mut piece = vec![0_u8; PIECE_BYTES];
    let mut at = 0;
    loop {
        match read_at(from, &mut piece, at)? {
            0 => return Ok(()),
            n => {
                to.write_all(&piece[..n])?;
                at += n as u64;
            }
        }
    }
}

/// Reads the first `size` bytes of a file. Its own position stays.
pub(crate) fn read(file: &File, size: u64) -> std::io::Result<Vec<u8>> {
    let mut content = vec![0_u8; usize::try_from(size).unwrap_or(usize::MAX)];
    if read_at(file, &mut content, 0)? < content.len() {
        return Err(std::io::ErrorKind::UnexpectedEof.into());
    }
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
