//! Remembers what a conversation has seen of files, to notice a write that would lose what somebody
//! else has written.
//!
//! For each file that a caller was shown, or has written, a stamp and a hash of each line are
//! remembered. A file with the same stamp is unchanged, unless it was seen so soon after a write
//! that another write could have left the same stamp; then the hashes tell. If it was changed, the
//! hashes tell which lines.
//!
//! This is kept in memory, unless [`SeenFiles::keep_below`] names a directory. In that directory
//! each remembered file has a file, for later processes of the same conversation.

use super::atomic_file::write_cache;
use super::diff::{Algorithm, DiffOp, changes, diff_lines};
use super::journal::{ContentStamp, JournalEntry, read};
use super::lines::read_at;
use super::write::Target;
use super::{OpenFile, Workspace, WorkspacePath, walk};
use gemini_tools_core::text::{excerpt, hex};
use rustix::fs::{CWD, fstat};
use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::fs::File;
use std::ops::Range;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, SystemTime};

/// Of a file up to `MAX_HASHED_BYTES` each line is remembered, and of one up to
/// `MAX_DIGESTED_BYTES`, which is read whole for that, a digest.
const MAX_HASHED_BYTES: u64 = 256 * 1024;

const MAX_DIGESTED_BYTES: u64 = 64 * 1024 * 1024;

/// The time in microseconds within which a file may be written twice and keep the same stamp.
const TICK: u64 = 50_000;

/// The names of empty files in a conversation's directory whose mtimes are the beginning of the
/// conversation, and the end of its last command. The directory's creation time would do for the
/// first, but the standard library can't read it when it is linked to musl.
const BEGAN: &str = "began";

const RAN: &str = "ran";

const LINK: &str = ".link";

/// A conversation's directory is removed at the age `MAX_AGE`, and the oldest ones also if there
/// are more than `MAX_CONVERSATIONS`: a shell that makes one call makes a conversation, and looking
/// at all of them takes longer than such a call.
const MAX_AGE: Duration = Duration::from_secs(7 * 24 * 60 * 60);

const MAX_CONVERSATIONS: usize = 1000;

/// The name of an empty file whose mtime is when conversations were last removed.
const PRUNED: &str = ".pruned";

const PRUNE_MICROS: u64 = 60_000_000;

const SHOWN_LINES: usize = 40;

const SHOWN_CHARS: usize = 200;

/// What happens to a write that would lose changes that its caller has not seen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum UnseenChanges {
    /// The write is refused.
    #[default]
    Refuse,
    /// The file is written, and the tool's answer shows the changes of others that it overwrote.
    Warn,
    /// The file is written. What callers have seen is not remembered at all.
    Off,
}

impl UnseenChanges {
    /// The names of the values in settings, in the order of the variants.
    pub const NAMES: [&str; 3] = ["refuse", "warn", "off"];

    /// Returns the value with this name, which must be spelled exactly so; `None` if there is none.
    pub fn from_name(name: &str) -> Option<Self> {
        let mut all = [Self::Refuse, Self::Warn, Self::Off].into_iter();
        all.find(|one| Self::NAMES[*one as usize] == name)
    }
}

/// A file as a conversation last saw it, with a hash of each line. A file that is too large for
/// that has no `lines`. If another write could leave the same stamp on it, it has a `digest` of its
/// content instead, unless it is too large for that as well.
///
/// `at` is when, in microseconds since 1970. `left` is the stamp with which a command of the
/// conversation has left the file: it may have made what was not seen.
#[derive(Debug, Clone, PartialEq, Eq)]
struct SeenFile {
    stamp: ContentStamp,
    at: u64,
    left: Option<ContentStamp>,
    lines: Option<Vec<u32>>,
    digest: Option<u64>,
}

/// A file as it is before the caller is shown it.
#[derive(Debug)]
pub struct Sight {
    named: PathBuf,
    path: PathBuf,
    file: SeenFile,
    shown: Option<Shown>,
}

#[derive(Debug)]
struct Shown {
    lines: Range<usize>,
    /// The numbers, from 1, of the lines of which only the beginning was shown.
    cut: Vec<u64>,
}

impl Sight {
    /// Says that only these lines are shown, counted from 0, up to `usize::MAX` for the end of the
    /// file, and not the whole of those with the numbers `cut`, from 1. What the caller had seen of
    /// the others is what it still knows of them.
    pub fn show_only(&mut self, lines: Range<usize>, cut: Vec<u64>) {
        self.shown = Some(Shown { lines, cut });
    }
}

/// The files that a conversation had seen before a command ran, and that were unchanged.
#[derive(Debug)]
pub struct SeenBefore {
    files: HashSet<PathBuf>,
    at: u64,
}

/// The files that a conversation has seen.
#[derive(Debug)]
pub struct SeenFiles {
    records: Records,
    began: u64,
    /// When the stored conversation began; `None` if it begins with this process.
    stored_beginning: OnceLock<Option<u64>>,
}

impl Default for SeenFiles {
    fn default() -> Self {
        Self {
            records: Records::default(),
            began: now(),
            stored_beginning: OnceLock::new(),
        }
    }
}

/// What is remembered, by the names of records: in memory, or, once there is a directory, in files
/// of it.
#[derive(Debug, Default)]
struct Records {
    memory: Mutex<HashMap<String, (Vec<u8>, u64)>>,
    directory: OnceLock<PathBuf>,
    putting: Mutex<()>,
}

impl Records {
    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, (Vec<u8>, u64)>> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a record, and when it was written, in microseconds since 1970.
    fn read(&self, name: &str) -> Option<(Vec<u8>, u64)> {
        let Some(directory) = self.directory.get() else {
            return self.lock().get(name).cloned();
        };
        let path = directory.join(name);
        Some((std::fs::read(&path).ok()?, written_at(&path)?))
    }

    fn write(&self, name: &str, record: Vec<u8>) -> bool {
        let Some(directory) = self.directory.get() else {
            self.lock().insert(name.to_owned(), (record, now()));
            return true;
        };
        write_cache(&directory.join(name), &record)
    }

    fn remove(&self, name: &str) {
        match self.directory.get() {
            None => drop(self.lock().remove(name)),
            Some(directory) => drop(std::fs::remove_file(directory.join(name))),
        }
    }

    fn all(&self) -> Vec<Vec<u8>> {
        let Some(directory) = self.directory.get() else {
            return self
                .lock()
                .values()
                .map(|(record, _)| record.clone())
                .collect();
        };
        let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
        entries
            .filter_map(|entry| std::fs::read(entry.path()).ok())
            .collect()
    }
}

/// A change of a file that the caller of a write has not seen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UnseenChange {
    /// The new lines of the present file, as ranges counted from 0; a range is empty where lines
    /// were only removed. `None` if they are not known, because the file is large or gone.
    pub places: Option<Vec<Range<usize>>>,
    /// The difference, for a model: the new lines, and how many lines are gone.
    pub diff: String,
    /// When the caller last saw the file, in seconds since 1970.
    pub seen_at: u64,
    /// True if the file has been removed.
    pub is_gone: bool,
    /// True if a command of the conversation that has ended may have made the change.
    pub may_be_own: bool,
    /// The file to which the path led when the caller last saw it, if it leads to another one now.
    pub led_to: Option<PathBuf>,
}

impl UnseenChange {
    /// Returns true if `lines` of the present file, counted from 0, overlap a place that the caller
    /// has not seen, or if these places are not known.
    pub fn meets(&self, lines: &Range<usize>) -> bool {
        let is_beside = |place: &Range<usize>| place.start < lines.end && lines.start < place.end;
        let places = self.places.as_ref();
        places.is_none_or(|places| places.iter().any(is_beside))
    }
}

impl SeenFile {
    fn new(file: &File) -> Option<Self> {
        let stat = fstat(file).ok()?;
        let stamp = ContentStamp::from(&stat);
        let bytes = (stamp.size() <= MAX_HASHED_BYTES)
            .then(|| read(file, stamp.size()).ok())
            .flatten();
        let mut seen = Self {
            stamp,
            at: now(),
            left: None,
            lines: bytes.map(|bytes| hashes(&bytes)),
            digest: None,
        };
        let is_digested = seen.lines.is_none() && stamp.size() <= MAX_DIGESTED_BYTES;
        if is_digested && seen.may_be_rewritten() {
            seen.digest = digest(file);
        }
        Some(seen)
    }

    fn is_same(&self, file: &OpenFile) -> bool {
        let stamp = ContentStamp::from(&file.stat);
        if stamp == self.stamp && !self.may_be_rewritten() {
            return true;
        }
        match &self.lines {
            Some(lines) if stamp.size() == self.stamp.size() => {
                let bytes = read(&file.file, stamp.size());
                bytes.is_ok_and(|bytes| hashes(&bytes) == *lines)
            }
            Some(_) => false,
            None => {
                stamp == self.stamp && (self.digest.is_none() || digest(&file.file) == self.digest)
            }
        }
    }

    /// Returns true if the file was seen so soon after its last write that a later write could have
    /// left the same stamp.
    fn may_be_rewritten(&self) -> bool {
        self.at < self.stamp.written_at() * 1000 + TICK
    }

    fn is_at(&self, stamp: Option<ContentStamp>) -> bool {
        stamp.is_some_and(|stamp| stamp == self.stamp || Some(stamp) == self.left)
    }

    fn change(&self, file: &OpenFile) -> UnseenChange {
        let size = ContentStamp::from(&file.stat).size();
        let bytes = (size <= MAX_HASHED_BYTES)
            .then(|| read(&file.file, size).ok())
            .flatten();
        let seen_at = self.at / 1_000_000;
        let (Some(lines), Some(bytes)) = (&self.lines, bytes) else {
            return UnseenChange {
                seen_at,
                ..UnseenChange::default()
            };
        };
        let text = String::from_utf8_lossy(&bytes);
        let ops = diff_lines(Algorithm::Myers, lines, &hashes(&bytes), None);
        UnseenChange {
            places: Some(changes(&ops).map(DiffOp::new_range).collect()),
            diff: shown(&ops, &text),
            seen_at,
            ..UnseenChange::default()
        }
    }

    fn to_bytes(&self, path: &Path) -> Vec<u8> {
        let head = serde_json::to_vec(&(
            self.stamp,
            self.at,
            self.left,
            self.lines.is_some(),
            self.digest,
        ))
        .unwrap_or_default();
        let path = path.as_os_str().as_bytes();
        let lines = self
            .lines
            .iter()
            .flatten()
            .flat_map(|line| line.to_le_bytes());
        [&head, &b"\n"[..], path, b"\0"]
            .concat()
            .into_iter()
            .chain(lines)
            .collect()
    }

    fn from_bytes(bytes: &[u8]) -> Option<(PathBuf, Self)> {
        let (head, rest) = split(bytes, b'\n')?;
        let (path, rest) = split(rest, 0)?;
        let (stamp, at, left, has_lines, digest): (_, _, _, bool, _) =
            serde_json::from_slice(head).ok()?;
        let (words, []) = rest.as_chunks::<4>() else {
            return None;
        };
        let lines = has_lines.then(|| words.iter().map(|word| u32::from_le_bytes(*word)).collect());
        let path = PathBuf::from(std::ffi::OsStr::from_bytes(path));
        let seen = Self {
            stamp,
            at,
            left,
            lines,
            digest,
        };
        Some((path, seen))
    }
}

fn now() -> u64 {
    micros(SystemTime::now()).unwrap_or(0)
}

fn micros(time: SystemTime) -> Option<u64> {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    u64::try_from(since.as_micros()).ok()
}

fn written_at(path: &Path) -> Option<u64> {
    micros(path.metadata().ok()?.modified().ok()?)
}

fn digest(file: &File) -> Option<u64> {
    use sha2::{Digest, Sha256};
    let (mut digest, mut buffer, mut at) = (Sha256::new(), vec![0; 64 * 1024], 0);
    loop {
        let count = read_at(file, &mut buffer, at).ok()?;
        if count == 0 {
            return digest
                .finalize()
                .first_chunk()
                .copied()
                .map(u64::from_le_bytes);
        }
        digest.update(&buffer[..count]);
        at += count as u64;
    }
}

fn split(bytes: &[u8], at: u8) -> Option<(&[u8], &[u8])> {
    let place = bytes.iter().position(|byte| *byte == at)?;
    Some((&bytes[..place], &bytes[place + 1..]))
}

/// Returns a hash of each line, the same in every build.
fn hashes(bytes: &[u8]) -> Vec<u32> {
    let hash = |line: &[u8]| {
        let step =
            |hash: u64, word: u64| (hash.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
        let (words, rest) = line.as_chunks::<8>();
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        let hash = words.iter().fold(line.len() as u64, |hash, word| {
            step(hash, u64::from_le_bytes(*word))
        });
        (step(hash, u64::from_le_bytes(last)) >> 32) as u32
    };
    let ends = memchr::memchr_iter(b'\n', bytes).map(|at| at + 1);
    let ends = ends.chain((!bytes.is_empty() && !bytes.ends_with(b"\n")).then_some(bytes.len()));
    let mut start = 0;
    let line = |end| hash(&bytes[std::mem::replace(&mut start, end)..end]);
    ends.map(line).collect()
}

/// Returns the line hashes that a caller knows after its edit. It had seen `seen`, and its edit
/// turned the lines `old` into `new`. Returns `None` if the edit has replaced lines that it had not
/// seen.
fn with_edit(seen: &[u32], old: &[u32], new: &[u32]) -> Option<Vec<u32>> {
    let changed = |lines: &[u32]| -> Vec<(Range<usize>, Vec<u32>)> {
        let ops = diff_lines(Algorithm::Myers, old, lines, None);
        let with_lines = |op: &DiffOp| (op.old_range(), lines[op.new_range()].to_vec());
        changes(&ops).map(with_lines).collect()
    };
    let mut changed = [changed(seen), changed(new)].concat();
    changed.sort_by_key(|(place, _)| (place.start, place.end));
    let (mut lines, mut at) = (Vec::new(), 0);
    for (place, new) in changed {
        lines.extend(old.get(at..place.start)?);
        lines.extend(new);
        at = place.end;
    }
    lines.extend(&old[at..]);
    Some(lines)
}

fn shown(ops: &[DiffOp], text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let mut out = String::new();
    let mut room = SHOWN_LINES;
    for op in changes(ops) {
        let (old, new) = (op.old_range(), op.new_range());
        if room == 0 {
            out.push_str("...\n");
            break;
        }
        room -= 1;
        out.push_str(&format!("@@ line {} @@", new.start + 1));
        if !old.is_empty() {
            let count = gemini_tools_core::text::counted(old.len(), "line");
            out.push_str(&format!(" {count} that you saw gone"));
        }
        out.push('\n');
        let count = new.len();
        for line in new.clone().take(room) {
            let line = lines.get(line).copied().unwrap_or_default();
            out.push_str(&format!("+{}\n", excerpt(line, SHOWN_CHARS)));
        }
        if count > room {
            out.push_str("+...\n");
        }
        room = room.saturating_sub(count);
    }
    out
}

impl SeenFiles {
    /// Keeps what the conversation `name` has seen in files below a home directory from now on.
    /// Once a minute at most, directories of conversations that have not changed for a week are
    /// removed, and the oldest of too many.
    pub fn keep_below(&self, home: &Path, name: &str) {
        use sha2::{Digest, Sha256};
        let all = home.join(".gemini/tools_seen");
        let own = all.join(&hex(&Sha256::digest(name))[..16]);
        if !own.exists() {
            prune(&all);
        }
        // If a directory is set already, that one stays.
        let _ = self.records.directory.set(own);
    }

    /// Returns a text that identifies the conversation: the name of its directory, or without one a
    /// text that differs between processes.
    pub fn conversation(&self) -> String {
        let own = self.records.directory.get();
        own.and_then(|own| own.file_name()).map_or_else(
            || format!("{}-{}", std::process::id(), self.began),
            |name| name.to_string_lossy().into_owned(),
        )
    }

    fn began(&self) -> Option<u64> {
        if self.records.directory.get().is_none() {
            return Some(self.began);
        }
        *self.stored_beginning.get_or_init(|| {
            let began = self.records.read(BEGAN);
            if began.is_none() {
                self.records.write(BEGAN, Vec::new());
            }
            began.map(|(_, at)| at)
        })
    }

    fn ran(&self) -> u64 {
        self.records.read(RAN).map_or(0, |(_, at)| at)
    }

    fn has_run(&self) {
        // A conversation that has seen no file yet has nothing to compare with this time.
        if self.records.directory.get().is_none_or(|own| own.exists()) {
            self.records.write(RAN, Vec::new());
        }
    }

    /// Remembers where a path leads that has links in it.
    fn leads(&self, named: &Path, real: &Path) {
        let link = name_of(named) + LINK;
        if named == real {
            self.records.remove(&link);
        } else {
            self.records
                .write(&link, real.as_os_str().as_bytes().to_vec());
        }
    }

    /// Returns where a path led when the caller last saw it, and when that was.
    fn led(&self, named: &Path) -> Option<(PathBuf, u64)> {
        let (real, at) = self.records.read(&(name_of(named) + LINK))?;
        Some((PathBuf::from(OsString::from_vec(real)), at))
    }

    fn get(&self, path: &Path) -> Option<SeenFile> {
        let (of, seen) = SeenFile::from_bytes(&self.records.read(&name_of(path))?.0)?;
        (of == path).then_some(seen)
    }

    pub(crate) fn forget(&self, path: &Path) {
        self.records.remove(&name_of(path));
    }

    /// An older sight never takes the place of a newer one.
    fn put(&self, path: &Path, seen: &SeenFile) {
        let _ = self.began();
        let _putting = self.records.putting.lock();
        let is_older = self.get(path).is_some_and(|known| known.at > seen.at);
        // If this fails, the file counts as never seen, and no write is refused. An older record
        // would say that somebody else has changed what the caller has just seen.
        if !is_older && !self.records.write(&name_of(path), seen.to_bytes(path)) {
            self.forget(path);
        }
    }

    /// Remembers that the caller was shown the lines `shown` of a file, which is now as `file`
    /// says. A change by others that lies elsewhere still counts as not seen.
    fn saw_lines(&self, path: &Path, mut file: SeenFile, shown: &Shown) {
        let before = self.get(path);
        if let Some(before) = before.filter(|before| before.stamp != file.stamp) {
            if before.at > file.at {
                return;
            }
            let (Some(old), Some(new)) = (&before.lines, &file.lines) else {
                // Of a large file it is not known which lines have changed. So it counts as seen
                // only if all of its lines were shown, even if long ones were cut.
                if shown.lines == (0..usize::MAX) {
                    self.put(path, &file);
                }
                return;
            };
            let mut known = Vec::new();
            for op in diff_lines(Algorithm::Myers, old, new, None) {
                let place = op.new_range();
                let is_whole = || !shown.cut.iter().any(|n| place.contains(&(*n as usize - 1)));
                let is_known = matches!(op, DiffOp::Equal { .. })
                    || shown.lines.start <= place.start
                        && place.end <= shown.lines.end
                        && is_whole();
                known.extend(if is_known {
                    &new[place]
                } else {
                    &old[op.old_range()]
                });
            }
            if known != *new {
                file = SeenFile {
                    lines: Some(known),
                    ..before
                };
            }
        }
        self.put(path, &file);
    }

    fn saw(&self, path: &Path, file: &File) {
        if let Some(seen) = SeenFile::new(file) {
            self.put(path, &seen);
        }
    }

    /// Remembers a file that the caller has written in place of `old`, which was at `former`.
    /// Changes in `old` by others that the caller had not seen still count as not seen.
    pub(crate) fn wrote(&self, path: &Path, written: &File, former: &Path, old: Option<&OpenFile>) {
        let Some(mut new) = SeenFile::new(written) else {
            return;
        };
        let before = self.get(former).zip(old);
        // If another call has already noted the new file, there is nothing to compare.
        let before = before.filter(|(before, _)| before.stamp != new.stamp);
        if let Some((before, old)) = before.filter(|(before, old)| !before.is_same(old)) {
            let is_left = before.left == Some(ContentStamp::from(&old.stat));
            let left = is_left.then_some(new.stamp);
            if digest(written) == digest(&old.file) {
                new = SeenFile { left, ..before };
            } else if let (Some(seen), Some(written)) = (&before.lines, &new.lines)
                && let Some(old) = SeenFile::new(&old.file).and_then(|old| old.lines)
                && let Some(lines) = with_edit(seen, &old, written)
            {
                (new.stamp, new.left, new.lines) = (before.stamp, left, Some(lines));
            }
        }
        self.put(path, &new);
    }

    fn all(&self) -> Vec<(PathBuf, SeenFile)> {
        let records = self.records.all().into_iter();
        records
            .filter_map(|bytes| SeenFile::from_bytes(&bytes))
            .collect()
    }
}

fn name_of(path: &Path) -> String {
    use sha2::{Digest, Sha256};
    hex(&Sha256::digest(path.as_os_str().as_bytes()))[..32].to_owned()
}

fn prune(all: &Path) {
    let mark = all.join(PRUNED);
    if !all.exists() || written_at(&mark).is_some_and(|at| at.abs_diff(now()) < PRUNE_MICROS) {
        return;
    }
    write_cache(&mark, b"");
    let entries = std::fs::read_dir(all).into_iter().flatten().flatten();
    let aged = entries.filter_map(|entry| {
        let changed = entry.metadata().and_then(|stat| stat.modified());
        Some((changed.ok()?.elapsed().unwrap_or_default(), entry.path()))
    });
    let mut aged: Vec<_> = aged.filter(|(_, path)| *path != mark).collect();
    aged.sort_unstable();
    for (nth, (age, path)) in aged.iter().enumerate() {
        if nth >= MAX_CONVERSATIONS || *age > MAX_AGE {
            let _ = std::fs::remove_dir_all(path);
        }
    }
}

impl Workspace {
    /// Returns what the conversation has seen of files.
    pub fn seen(&self) -> &SeenFiles {
        &self.seen
    }

    /// Returns the workspace with what an earlier workspace of the same conversation has seen.
    #[must_use]
    pub fn with_seen(mut self, seen: Arc<SeenFiles>) -> Self {
        self.seen = seen;
        self
    }

    /// Returns the state of a file, for [`Workspace::saw`]. A caller takes it before it reads the
    /// file, so that a change made meanwhile counts as not seen.
    pub fn sight(&self, open: &OpenFile, place: &WorkspacePath) -> Option<Sight> {
        // The time is taken before the file is looked at. If another call replaces the file in
        // between, what that call notes is newer and stays.
        let at = now();
        let path = walk::real_path(&open.file)?;
        SeenFile::new(&open.file).map(|file| Sight {
            named: place.path().to_owned(),
            path,
            file: SeenFile { at, ..file },
            shown: None,
        })
    }

    /// Remembers that the caller was shown a file, or some of its lines.
    pub fn saw(&self, sight: Option<Sight>) {
        let Some(sight) = sight else {
            return;
        };
        let Sight {
            named,
            path,
            file,
            shown,
        } = sight;
        self.seen.leads(&named, &path);
        match shown {
            None => self.seen.put(&path, &file),
            Some(shown) => self.seen.saw_lines(&path, file, &shown),
        }
    }

    /// Remembers that the caller knows the present content of a target's file, because its changes
    /// were shown.
    pub fn saw_target(&self, target: &Target, place: &WorkspacePath) {
        if let (Some(path), Some(current)) = (target.real_path(), &target.current) {
            self.seen.leads(place.path(), &path);
            self.seen.saw(&path, &current.file);
        }
    }

    /// Remembers where the path of a target leads that the caller is about to write.
    pub fn writes_to(&self, target: &Target, place: &WorkspacePath) {
        if let Some(path) = target.real_path() {
            self.seen.leads(place.path(), &path);
        }
    }

    /// Returns what has changed in the file of a target, which the caller calls `place`, since it
    /// last saw it; `None` if nothing has, or if the caller never saw it.
    pub fn unseen_change(&self, target: &Target, place: &WorkspacePath) -> Option<UnseenChange> {
        let (path, named) = (target.real_path()?, place.path());
        let seen = self.seen.get(&path);
        let Some(current) = &target.current else {
            return seen.map(|seen| UnseenChange {
                is_gone: true,
                seen_at: seen.at / 1_000_000,
                ..UnseenChange::default()
            });
        };
        let seen_there = || self.seen.get(named).filter(|_| named != path);
        let itself = || Some((named.to_owned(), seen_there()?.at));
        if let Some((led_to, at)) = self.seen.led(named).or_else(itself)
            && led_to != path
        {
            return Some(UnseenChange {
                seen_at: at / 1_000_000,
                may_be_own: at <= self.seen.ran(),
                led_to: Some(led_to),
                ..UnseenChange::default()
            });
        }
        let seen = seen.filter(|seen| !seen.is_same(current))?;
        Some(UnseenChange {
            may_be_own: seen.left == Some(ContentStamp::from(&current.stat)),
            ..seen.change(current)
        })
    }

    /// Returns true if the file of a target was written since the conversation began, and the
    /// caller never saw it.
    pub fn is_unread_and_new(&self, target: &Target) -> bool {
        let written = target
            .current
            .as_ref()
            .map(|file| ContentStamp::from(&file.stat).written_at() * 1000);
        let is_new = self
            .seen
            .began()
            .zip(written)
            .is_some_and(|(began, written)| written + TICK >= began);
        is_new
            && target
                .real_path()
                .is_some_and(|path| self.seen.get(&path).is_none())
    }

    /// Returns the files that have not changed since they were seen. After a command has run,
    /// [`Workspace::saw_changes_of`] compares them.
    pub fn seen_files(&self) -> SeenBefore {
        let at = now();
        let is_same = |(path, seen): &(PathBuf, SeenFile)| {
            let stamp = ContentStamp::at(CWD, path);
            seen.is_at(stamp)
                && (stamp == seen.left
                    || !seen.may_be_rewritten()
                    || self.open_seen(path).is_some_and(|open| seen.is_same(&open)))
        };
        let all = self.seen.all().into_iter().filter(is_same);
        let files = all.map(|(path, _)| path).collect();
        SeenBefore { files, at }
    }

    fn open_seen(&self, path: &Path) -> Option<OpenFile> {
        let place = self.beneath(path)?;
        self.open_file(&place).ok()
    }

    /// Remembers that the caller has given back a file that was gone.
    pub fn gave_back(&self, path: &Path) {
        if let Some(open) = self.open_seen(path) {
            self.seen.saw(path, &open.file);
        }
    }

    /// Judges what has changed in files while a command of the conversation ran. When it began,
    /// they were as last seen, or another call of the conversation was shown them since. A change
    /// that the journal has of the conversation's session counts as seen, one that it has of
    /// another session doesn't, and of any other the command may be the cause.
    pub fn saw_changes_of(&self, before: &SeenBefore) {
        let journal = OnceCell::new();
        for (path, seen) in self.seen.all() {
            let is_own = seen.at >= before.at || before.files.contains(&path);
            let stamp = ContentStamp::at(CWD, &path);
            if !is_own || seen.is_at(stamp) {
                continue;
            }
            let Some(open) = self.open_seen(&path) else {
                self.seen.forget(&path);
                continue;
            };
            let changes = journal.get_or_init(|| {
                let journal = self.journal.get();
                journal.map_or_else(Vec::new, |journal| journal.since(before.at / 1000))
            });
            let mut changes = changes.iter().filter(|(entry, _)| entry.path() == path);
            if changes.clone().any(|(_, is_own)| !is_own) {
                continue;
            }
            let is_whole = |entry: &JournalEntry| {
                let stamps = [&entry.before, &entry.after].map(|state| Some(state.as_ref()?.stamp));
                stamps == [Some(seen.stamp), stamp]
            };
            if changes.any(|(entry, _)| is_whole(entry)) {
                self.seen.saw(&path, &open.file);
            } else {
                let left = stamp;
                self.seen.put(&path, &SeenFile { left, ..seen });
            }
        }
        self.seen.has_run();
    }
}

#[cfg(test)]
mod tests;
