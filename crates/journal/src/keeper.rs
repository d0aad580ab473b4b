//! Writing the journal: what is asked at each write.

use super::entry::{Entry, FileState, Kept, Patch, Stamp, WrittenPath};
use super::place;
use super::{Host, Journal};
use gemini_tools_platform::fd::{AsFd, BorrowedFd, OwnedFd};
use gemini_tools_platform::ffi::OsStrExt;
use gemini_tools_platform::fs::{self, Mode, OFlags, Stat};
use gemini_tools_platform::io::Errno;
use gemini_tools_workspace::keep::{Backup, Change, Keeper};
use gemini_tools_workspace::lines::read_at;
use gemini_tools_workspace::{OpenFile, show_path};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{SystemTime, UNIX_EPOCH};

/// The largest file that is copied where it can't be moved, in bytes.
pub(crate) const MAX_COPIED_BYTES: u64 = 32 * 1024 * 1024;

/// The largest content that is compared with another one, in bytes.
pub(crate) const MAX_COMPARED_BYTES: u64 = 256 * 1024;

/// The most of a new content that goes into a line of the log, in bytes.
const MAX_INLINE_BYTES: usize = 512;

/// The most that goes into a file beside the old one.
const MAX_PATCH_BYTES: usize = 64 * 1024;

/// The log of one hour grows no larger, in bytes.
const MAX_LOG_BYTES: u64 = 64 * 1024 * 1024;

/// A change of a file that is this part of all that may be kept is followed by a look whether
/// something has to go.
const LARGE_PART: u64 = 16;

/// Pieces in which files are copied.
const PIECE_BYTES: usize = 256 * 1024;

/// What is added to an id for the name of a patch.
pub(crate) const PATCH_ENDING: &str = ".new";

/// A new id: ten digits and letters that can't be taken for each other.
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

/// Milliseconds since 1970.
pub(crate) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    })
}

impl Keeper for Journal {
    fn prepare(&self, change: &Change<'_>) -> Result<Option<Backup>, String> {
        if self.excludes(change) {
            return Ok(None);
        }
        let id = match &change.origin.id {
            Some(id) => id.clone(),
            None => new_id(),
        };
        let at = now();
        let hour = at / place::HOUR_MILLIS;
        let (dir, log) = self.open_hour(hour)?;
        let unwritable = |e: &dyn std::fmt::Display| format!("the journal can't be written: {e}");
        let host = self.host.get_or_init(Host::find);
        let mut entry = Entry::new(&id, at, WrittenPath::of(change.path));
        entry.by = host.by.as_str().into();
        entry.session = host.session.as_str().into();
        entry.tool = change.origin.tool.as_str().into();
        entry.call = change.origin.call.as_deref().map(Into::into);
        entry.memory = change.is_users;
        entry.made = change.made_directories;
        entry.undoes = change
            .origin
            .undoes
            .iter()
            .map(|id| id.as_str().into())
            .collect();
        entry.same_as = change
            .origin
            .restores
            .as_deref()
            .and_then(|stamp| serde_json::from_str(stamp).ok());
        let mut backup = Backup::new(log, Vec::new());
        if let Some(old) = change.old {
            entry.before = Some(state(&old.stat));
            entry.kept = self.keep(change, old, &dir, hour, &id, &mut backup);
            if let Kept::Lost(reason) = &entry.kept {
                backup.lost = Some(reason.to_string());
            }
        }
        if let Some(new) = change.new {
            let stat = fs::fstat(new).map_err(|e| unwritable(&e))?;
            entry.after = Some(state(&stat));
            self.describe(change, &mut entry, &dir, &mut backup);
        }
        let mut line = vec![b'\n'];
        serde_json::to_writer(&mut line, &entry).map_err(|e| unwritable(&e))?;
        line.push(b'\n');
        backup.line = line;
        Ok(Some(backup))
    }
}

fn state(stat: &Stat) -> FileState<'static> {
    FileState {
        stamp: Stamp::of(stat),
        mode: gemini_tools_platform::files::mode(stat),
        sha256: None,
    }
}

impl Journal {
    /// Whether the user doesn't want this file kept.
    fn excludes(&self, change: &Change<'_>) -> bool {
        let matches = |path: &std::path::Path| {
            let path = path.as_os_str().as_bytes();
            let name_at = path.iter().rposition(|b| *b == b'/').map_or(0, |i| i + 1);
            self.exclude.matches(path, name_at)
        };
        if self.exclude.is_empty() {
            return false;
        }
        // A directory that is named stands for all below it.
        let mut ancestors = change
            .rel
            .ancestors()
            .filter(|path| !path.as_os_str().is_empty());
        ancestors.any(matches)
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
        let log = File::from(log);
        if fs::fstat(&log).is_ok_and(|stat| stat.st_size as u64 > MAX_LOG_BYTES) {
            return Err(format!(
                "the journal of this hour in {} is full",
                show_path(&path)
            ));
        }
        Ok((Arc::new(dir), log))
    }

    /// Has the old file moved or copied into the journal.
    fn keep(
        &self,
        change: &Change<'_>,
        old: &OpenFile,
        dir: &Arc<OwnedFd>,
        hour: u64,
        id: &str,
        backup: &mut Backup,
    ) -> Kept<'static> {
        let size = old.size();
        if size > self.limits.max_bytes {
            return Kept::Lost("it is larger than all that is kept".into());
        }
        if size > self.limits.max_bytes / LARGE_PART {
            self.prune_soon();
        }
        let name = id.to_owned();
        // Another name, and the content would be changed by who knows it.
        let is_alone = i128::from(old.stat.st_nlink) == 1;
        if is_alone && !change.must_copy {
            let own = place::mount(change.dir);
            if own.is_some() && own == place::mount(&**dir) {
                backup.moved_to = Some((Arc::clone(dir), name));
                return Kept::Moved;
            }
            if let Some((beside, path)) = self.beside(change.dir)
                && let Some(text) = path.to_str()
                && let Ok((beside, _)) = place::make_hour(&beside, hour)
            {
                backup.moved_to = Some((Arc::new(beside), name));
                return Kept::Beside(text.to_owned().into());
            }
        }
        match copy(old, dir, &name) {
            Ok(()) => {
                backup.copies.push((Arc::clone(dir), name));
                Kept::Copied
            }
            Err(reason) => Kept::Lost(reason.into()),
        }
    }

    #[cfg(target_os = "linux")]
    fn beside(&self, dir: BorrowedFd<'_>) -> Option<(OwnedFd, std::path::PathBuf)> {
        place::beside(dir, &self.roots)
    }

    #[cfg(not(target_os = "linux"))]
    fn beside(&self, _: BorrowedFd<'_>) -> Option<(OwnedFd, std::path::PathBuf)> {
        // Nothing is put on another file system, so that the directories don't matter.
        let _ = &self.roots;
        None
    }

    /// Writes down what the new content is, where that costs little.
    #[expect(clippy::unused_self, reason = "it belongs to what is written")]
    fn describe(
        &self,
        change: &Change<'_>,
        entry: &mut Entry<'_>,
        dir: &Arc<OwnedFd>,
        backup: &mut Backup,
    ) {
        let (Some(new), Some(after)) = (change.new, &mut entry.after) else {
            return;
        };
        if after.stamp.size > MAX_COMPARED_BYTES {
            return;
        }
        let Ok(content) = read(new, after.stamp.size) else {
            return;
        };
        let is_lost = matches!(entry.kept, Kept::Lost(_));
        let old = change
            .old
            .filter(|old| !is_lost && old.size() <= MAX_COMPARED_BYTES);
        if let Some(old) = old.and_then(|old| read(&old.file, old.size()).ok()) {
            let (head, tail) = common(&old, &content);
            let middle = &content[head..content.len() - tail];
            let text = std::str::from_utf8(middle).ok();
            if let Some(text) = text.filter(|text| text.len() <= MAX_INLINE_BYTES) {
                let text = Some(text.to_owned().into());
                entry.patch = Some(Patch { head, tail, text });
                return;
            }
            if middle.len() <= MAX_PATCH_BYTES {
                let name = format!("{}{PATCH_ENDING}", entry.id);
                if write(dir, &name, middle).is_ok() {
                    backup.copies.push((Arc::clone(dir), name));
                    let text = None;
                    entry.patch = Some(Patch { head, tail, text });
                    return;
                }
            }
        }
        after.sha256 = Some(digest(&content).into());
    }

    /// Has what is too old or too much removed, soon and not by this call.
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

/// Makes a new file of the journal.
fn create(dir: impl AsFd, name: &str) -> Result<File, Errno> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(fs::openat(dir.as_fd(), name, flags, Mode::from_raw_mode(0o600))?.into())
}

fn write(dir: &OwnedFd, name: &str, content: &[u8]) -> std::io::Result<()> {
    let mut file = create(dir, name)?;
    file.write_all(content).inspect_err(|_| remove(dir, name))
}

fn remove(dir: &OwnedFd, name: &str) {
    let _ = fs::unlinkat(dir, name, fs::AtFlags::empty());
}

/// Copies the old file into the journal, or says why not.
fn copy(old: &OpenFile, dir: &OwnedFd, name: &str) -> Result<(), &'static str> {
    let mut file = create(dir, name).map_err(|_| "the journal could not be written")?;
    #[cfg(target_os = "linux")]
    if fs::ioctl_ficlone(&file, &old.file).is_ok() {
        return Ok(());
    }
    if old.size() > MAX_COPIED_BYTES {
        remove(dir, name);
        return Err("it is too large to be copied");
    }
    let mut piece = vec![0_u8; PIECE_BYTES];
    let mut at = 0;
    loop {
        let copied = match read_at(&old.file, &mut piece, at) {
            Ok(0) => return Ok(()),
            Ok(n) => file.write_all(&piece[..n]).map(|()| n),
            Err(e) => Err(e),
        };
        let Ok(n) = copied else {
            remove(dir, name);
            return Err("it could not be copied");
        };
        at += n as u64;
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

/// How many bytes two texts have in common at their beginnings and, after that, at their ends.
fn common(old: &[u8], new: &[u8]) -> (usize, usize) {
    fn equal<'a>(pairs: impl Iterator<Item = (&'a u8, &'a u8)>) -> usize {
        pairs.take_while(|(old, new)| old == new).count()
    }
    let head = equal(old.iter().zip(new));
    let tail = equal(old[head..].iter().rev().zip(new[head..].iter().rev()));
    (head, tail)
}

/// The SHA-256 of a content in hexadecimal digits.
pub(crate) fn digest(content: &[u8]) -> String {
    gemini_tools_core::text::hex(&Sha256::digest(content))
}

#[cfg(test)]
mod tests {
    use super::{common, new_id};
    use std::collections::BTreeSet;

    #[test]
    fn what_two_texts_have_in_common_never_overlaps() {
        for (old, new, expected) in [
            ("", "", (0, 0)),
            ("abc", "abc", (3, 0)),
            ("aaa", "aa", (2, 0)),
            ("one two", "one or two", (4, 3)),
            ("x", "y", (0, 0)),
            ("abab", "ababab", (4, 0)),
        ] {
            assert_eq!(
                common(old.as_bytes(), new.as_bytes()),
                expected,
                "{old} {new}"
            );
        }
    }

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
