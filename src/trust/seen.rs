//! What a project brings that can run, as it was looked at: every file with its hash.
//!
//! Beside each hash stands what `stat` said, so that an unchanged file need not be read again.

use super::record::RecordError;
use crate::shown::hex;
use crate::sys::fd::{AsFd, OwnedFd};
use crate::sys::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat};
use crate::sys::io::Errno;
use crate::workspace::path_only;
use crate::workspace::stamp::{COARSE_TICK, Stamp, permissions};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::io::Read;
use std::path::Path;
use std::time::SystemTime;

/// What counts of a project, below its directory.
pub const WATCHED: [&str; 3] = [".gemini/settings.json", ".gemini/tools", ".gemini/policies"];

/// More is not looked at: nobody could have read it, and each use would have to.
const MAX_ENTRIES: usize = 5000;
const MAX_BYTES: u64 = 64 * 1024 * 1024;
const MAX_DEPTH: usize = 8;

/// What a project brings that can run, as it was looked at.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Seen(Vec<Entry>);

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Entry {
    path: String,
    is: Is,
    /// Of a file its hash, of a link its target.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    what: String,
    #[serde(default, skip_serializing_if = "is_zero")]
    mode: u32,
    /// `None` where the file was not at rest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stamp: Option<Stamp>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes it so")]
fn is_zero(mode: &u32) -> bool {
    *mode == 0
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Is {
    File,
    Dir,
    /// The link itself; where it leads is another entry.
    Link,
    Absent,
    Special,
}

impl Seen {
    /// Looks at the project in `root`. Waits for a moment where a file has only just changed.
    ///
    /// # Errors
    ///
    /// What the system says, or that there is more than anybody could have read.
    pub fn look(root: &Path) -> Result<Self, RecordError> {
        let look = || Scan::of(root).map_err(|(path, e)| RecordError::new(&root.join(path), &e));
        let mut scan = look()?;
        let unrest = |entry: &Entry| entry.stamp.as_ref()?.unrest_at(scan.start);
        // Longer than a tick is a clock that went wrong; no waiting helps then.
        let waits = scan.entries.iter().filter_map(unrest);
        if let Some(wait) = waits.filter(|wait| *wait <= COARSE_TICK).max() {
            std::thread::sleep(wait);
            scan = look()?;
        }
        for entry in &mut scan.entries {
            let at_rest = |stamp: &Stamp| stamp.unrest_at(scan.start).is_none();
            entry.stamp = entry.stamp.take().filter(at_rest);
        }
        Ok(Self(scan.entries))
    }

    /// Whether there is nothing to trust.
    pub fn is_empty(&self) -> bool {
        self.0
            .iter()
            .all(|entry| matches!(entry.is, Is::Absent | Is::Dir))
    }

    /// The files, without directories and what is missing.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        self.0
            .iter()
            .filter(|entry| matches!(entry.is, Is::File | Is::Special))
            .map(|entry| entry.path.as_str())
    }

    /// A hash of all that was seen.
    pub fn digest(&self) -> String {
        let mut hash = Sha256::new();
        for entry in &self.0 {
            let Entry { path, is, .. } = entry;
            let (what, mode) = (&entry.what, entry.mode);
            hash.update(format!("{path:?} {is:?} {what:?} {mode:o}\n"));
        }
        hex(&hash.finalize())
    }

    /// What is no longer as it was seen, empty where all is.
    pub fn changes(&self, root: &Path) -> Vec<String> {
        let Ok(dir) = open_root(root) else {
            return vec![root.display().to_string()];
        };
        let mut changed = BTreeSet::new();
        for entry in &self.0 {
            if !entry.is_unchanged(&dir) {
                changed.extend(self.news(entry, &dir));
            }
        }
        changed.into_iter().collect()
    }

    /// What is new of an entry whose stamp is: of a directory the names that came or went.
    fn news(&self, entry: &Entry, dir: &OwnedFd) -> Vec<String> {
        let own = || vec![entry.path.clone()];
        if entry.is != Is::Dir {
            return match Entry::of(dir, &entry.path, entry.is == Is::Link) {
                Ok(now) if now.is_same(entry) => Vec::new(),
                _ => own(),
            };
        }
        let Ok(now) = names(dir, &entry.path) else {
            return own();
        };
        let below = |path: &str| -> Option<String> {
            let name = path.strip_prefix(&*entry.path)?.strip_prefix('/')?;
            (!name.contains('/')).then(|| name.to_owned())
        };
        let before: BTreeSet<String> = self.0.iter().filter_map(|e| below(&e.path)).collect();
        before
            .symmetric_difference(&now)
            .map(|name| format!("{}/{name}", entry.path))
            .collect()
    }
}

impl Entry {
    /// What is at `path` below `dir`.
    fn of(dir: &OwnedFd, path: &str, is_link: bool) -> Result<Self, Errno> {
        let entry = |is, what, stat: Option<&Stat>| Self {
            path: path.to_owned(),
            is,
            what,
            mode: stat.map_or(0, permissions),
            stamp: stat.map(Stamp::of),
        };
        if is_link {
            let stat = crate::sys::fs::statat(dir, path, AtFlags::SYMLINK_NOFOLLOW)?;
            if FileType::from_raw_mode(stat.st_mode) != FileType::Symlink {
                return Err(Errno::INVAL);
            }
            let target = crate::sys::fs::readlinkat(dir, path, Vec::new())?;
            let target = crate::shown::show_name(target.as_bytes()).into_owned();
            return Ok(entry(Is::Link, target, Some(&stat)));
        }
        let stat = match crate::sys::fs::statat(dir, path, AtFlags::empty()) {
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {
                return Ok(entry(Is::Absent, String::new(), None));
            }
            stat => stat?,
        };
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => {
                let (hash, stat) = hash(dir, path)?;
                Ok(entry(Is::File, hash, Some(&stat)))
            }
            FileType::Directory => Ok(entry(Is::Dir, String::new(), Some(&stat))),
            kind => {
                let mut special = entry(Is::Special, format!("{kind:?}"), Some(&stat));
                // Such a file may change with each use.
                special.stamp = None;
                Ok(special)
            }
        }
    }

    fn is_same(&self, other: &Self) -> bool {
        self.is == other.is && self.what == other.what && self.mode == other.mode
    }

    /// Whether `stat` says that nothing has happened to it.
    fn is_unchanged(&self, dir: &OwnedFd) -> bool {
        let flags = if self.is == Is::Link {
            AtFlags::SYMLINK_NOFOLLOW
        } else {
            AtFlags::empty()
        };
        match crate::sys::fs::statat(dir, &*self.path, flags) {
            Ok(stat) => self
                .stamp
                .as_ref()
                .is_some_and(|stamp| *stamp == Stamp::of(&stat)),
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => self.is == Is::Absent,
            Err(_) => false,
        }
    }
}

/// A walk over all that counts.
struct Scan {
    start: SystemTime,
    entries: Vec<Entry>,
}

impl Scan {
    fn of(root: &Path) -> Result<Self, (String, String)> {
        let said = |path: &str, e: Errno| (path.to_owned(), e.to_string());
        let dir = open_root(root).map_err(|e| said("", e))?;
        let mut scan = Self {
            start: SystemTime::now(),
            entries: Vec::new(),
        };
        if Entry::of(&dir, ".gemini", true).is_ok() {
            scan.add(&dir, ".gemini", true)?;
        }
        for path in WATCHED {
            scan.walk(&dir, path, 0)?;
        }
        Ok(scan)
    }

    fn add(&mut self, dir: &OwnedFd, path: &str, is_link: bool) -> Result<(), (String, String)> {
        if self.entries.len() >= MAX_ENTRIES {
            let reason = format!("there are more than {MAX_ENTRIES} files");
            return Err((path.to_owned(), reason));
        }
        let reason = |e: Errno| match e {
            Errno::FBIG => format!("it is larger than {MAX_BYTES} bytes"),
            e => e.to_string(),
        };
        let entry = Entry::of(dir, path, is_link).map_err(|e| (path.to_owned(), reason(e)))?;
        self.entries.push(entry);
        Ok(())
    }

    fn walk(&mut self, dir: &OwnedFd, path: &str, depth: usize) -> Result<(), (String, String)> {
        if depth > MAX_DEPTH {
            let reason = format!("directories are more than {MAX_DEPTH} deep");
            return Err((path.to_owned(), reason));
        }
        let is_link = crate::sys::fs::statat(dir, path, AtFlags::SYMLINK_NOFOLLOW)
            .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Symlink);
        if is_link {
            self.add(dir, path, true)?;
        }
        self.add(dir, path, false)?;
        if self.entries.last().is_some_and(|entry| entry.is == Is::Dir) {
            let names = names(dir, path).map_err(|e| (path.to_owned(), e.to_string()))?;
            for name in names {
                self.walk(dir, &format!("{path}/{name}"), depth + 1)?;
            }
        }
        Ok(())
    }
}

fn open_root(root: &Path) -> Result<OwnedFd, Errno> {
    let flags = path_only() | OFlags::DIRECTORY | OFlags::CLOEXEC;
    crate::sys::fs::openat(CWD, root, flags, Mode::empty())
}

/// The names in a directory. One that is no UTF-8 could not be written down.
fn names(dir: &OwnedFd, path: &str) -> Result<BTreeSet<String>, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let opened = crate::sys::fs::openat(dir.as_fd(), path, flags, Mode::empty())?;
    let mut names = BTreeSet::new();
    for entry in Dir::new(opened)? {
        let entry = entry?;
        let name = entry.file_name().to_str().map_err(|_| Errno::ILSEQ)?;
        if name != "." && name != ".." {
            names.insert(name.to_owned());
        }
    }
    Ok(names)
}

/// The hash of a file, and what `stat` says of the file that was read.
fn hash(dir: &OwnedFd, path: &str) -> Result<(String, Stat), Errno> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let opened = crate::sys::fs::openat(dir.as_fd(), path, flags, Mode::empty())?;
    let stat = crate::sys::fs::fstat(&opened)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(Errno::INVAL);
    }
    let mut file = std::fs::File::from(opened);
    let mut hash = Sha256::new();
    let mut buffer = [0; 16 * 1024];
    let mut total = 0;
    loop {
        let count = match file.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => count,
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(e) => return Err(Errno::from_io_error(&e).unwrap_or(Errno::IO)),
        };
        total += count as u64;
        if total > MAX_BYTES {
            return Err(Errno::FBIG);
        }
        hash.update(&buffer[..count]);
    }
    Ok((hex(&hash.finalize()), stat))
}
