//! What a project brings that can run, as it was looked at: every file with its hash.
//!
//! Beside each hash is what `stat` said, so that an unchanged file need not be read again.

use super::record::TrustRecordError;
use gemini_tools_core::text::hex;
use gemini_tools_platform::files::mode;
use gemini_tools_platform::fs::{FileType, OFlags, Stat};
use gemini_tools_platform::io::Errno;
use gemini_tools_workspace::file_owner::{FileOwner, LEADS_OUT};
use gemini_tools_workspace::resolve::ResolveError;
use gemini_tools_workspace::stamp::{COARSE_TICK, Stamp};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::io::Read;
use std::path::Path;
use std::time::SystemTime;

/// What counts of a project, below its directory.
pub const WATCHED: [&str; 3] = [".gemini/settings.json", ".gemini/tools", ".gemini/policies"];

/// Maximum entries looked at: a user could not have read more, and each use would have to.
const MAX_ENTRIES: usize = 5000;
const MAX_BYTES: u64 = 64 * 1024 * 1024;
const MAX_DEPTH: usize = 8;

/// What a project brings that can run, as it was looked at.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Fingerprint(Vec<Entry>);

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Entry {
    path: String,
    is: EntryKind,
    /// The hash of a file, the target of a link.
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
enum EntryKind {
    File,
    Dir,
    /// The link itself; where it leads is another entry.
    Link,
    Absent,
    Special,
    /// A link on the way to it leads out of the project, so that it is not opened.
    Outside,
}

/// A project at which is looked.
#[derive(Clone, Copy)]
struct Project<'a>(&'a Path);

impl Fingerprint {
    /// Looks at the project in `root`. Waits for a moment where a file has only just changed.
    ///
    /// # Errors
    ///
    /// What the system says, or that there is more than a user could have read.
    pub fn look(root: &Path) -> Result<Self, TrustRecordError> {
        let look =
            || Scan::of(root).map_err(|(path, e)| TrustRecordError::new(&root.join(path), &e));
        let mut scan = look()?;
        let unrest = |entry: &Entry| entry.stamp.as_ref()?.time_until_stable(scan.start);
        // Longer than a tick is a clock that went wrong; no waiting helps then.
        let waits = scan.entries.iter().filter_map(unrest);
        if let Some(wait) = waits.filter(|wait| *wait <= COARSE_TICK).max() {
            std::thread::sleep(wait);
            scan = look()?;
        }
        for entry in &mut scan.entries {
            let at_rest = |stamp: &Stamp| stamp.time_until_stable(scan.start).is_none();
            entry.stamp = entry.stamp.take().filter(at_rest);
        }
        Ok(Self(scan.entries))
    }

    /// Whether there is nothing to trust.
    pub fn is_empty(&self) -> bool {
        self.0
            .iter()
            .all(|entry| matches!(entry.is, EntryKind::Absent | EntryKind::Dir))
    }

    /// The files, without directories and what is missing.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        self.0
            .iter()
            .filter(|entry| {
                matches!(
                    entry.is,
                    EntryKind::File | EntryKind::Special | EntryKind::Outside
                )
            })
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

    /// At most `limit` bytes of the beginning of one of the files.
    ///
    /// # Errors
    ///
    /// Why it is not read.
    pub fn beginning(root: &Path, file: &str, limit: u64) -> std::io::Result<Vec<u8>> {
        let found = Project(root).whose().beginning(&root.join(file), limit)?;
        found.ok_or_else(|| std::io::ErrorKind::NotFound.into())
    }

    /// What is no longer as it was seen, empty where all is.
    pub fn changes(&self, root: &Path) -> Vec<String> {
        if !root.is_dir() {
            return vec![root.display().to_string()];
        }
        let project = Project(root);
        let mut changed = BTreeSet::new();
        for entry in &self.0 {
            if !entry.is_unchanged(project) {
                changed.extend(self.news(entry, project));
            }
        }
        changed.into_iter().collect()
    }

    /// What is new of an entry whose stamp is: of a directory the names that came or went.
    fn news(&self, entry: &Entry, project: Project<'_>) -> Vec<String> {
        let own = || vec![entry.path.clone()];
        if entry.is != EntryKind::Dir {
            return match Entry::of(project, &entry.path, entry.is == EntryKind::Link) {
                Ok(now) if now.is_same(entry) => Vec::new(),
                _ => own(),
            };
        }
        let Ok(now) = project.names(&entry.path) else {
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
    /// What is at `path` in the project.
    fn of(project: Project<'_>, path: &str, is_link: bool) -> Result<Self, Errno> {
        let entry = |is, what, stat: Option<&Stat>| Self {
            path: path.to_owned(),
            is,
            what,
            mode: stat.map_or(0, mode),
            stamp: stat.map(Stamp::of),
        };
        let outside = || entry(EntryKind::Outside, LEADS_OUT.to_owned(), None);
        if is_link {
            return match project.entry(path) {
                Ok((stat, Some(target))) => {
                    let target = gemini_tools_core::text::show_name(&target).into_owned();
                    Ok(entry(EntryKind::Link, target, Some(&stat)))
                }
                Ok(_) => Err(Errno::INVAL),
                Err(ResolveError::Escapes) => Ok(outside()),
                Err(ResolveError::System(errno)) => Err(errno),
            };
        }
        let stat = match project.stat(path) {
            Err(ResolveError::Escapes) => return Ok(outside()),
            Err(ResolveError::System(Errno::NOENT | Errno::NOTDIR | Errno::LOOP)) => {
                return Ok(entry(EntryKind::Absent, String::new(), None));
            }
            Err(ResolveError::System(errno)) => return Err(errno),
            Ok(stat) => stat,
        };
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => {
                let (hash, stat) = project.hash(path)?;
                Ok(entry(EntryKind::File, hash, Some(&stat)))
            }
            FileType::Directory => Ok(entry(EntryKind::Dir, String::new(), Some(&stat))),
            kind => {
                let mut special = entry(EntryKind::Special, format!("{kind:?}"), Some(&stat));
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
    fn is_unchanged(&self, project: Project<'_>) -> bool {
        let stat = if self.is == EntryKind::Link {
            project.entry(&self.path).map(|(stat, _)| stat)
        } else {
            project.stat(&self.path)
        };
        match stat {
            Ok(stat) => self
                .stamp
                .as_ref()
                .is_some_and(|stamp| *stamp == Stamp::of(&stat)),
            Err(ResolveError::Escapes) => self.is == EntryKind::Outside,
            Err(ResolveError::System(Errno::NOENT | Errno::NOTDIR | Errno::LOOP)) => {
                self.is == EntryKind::Absent
            }
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
        let project = Project(root);
        let said = |failure| (String::new(), errno_of(failure).to_string());
        project.stat("").map_err(said)?;
        let mut scan = Self {
            start: SystemTime::now(),
            entries: Vec::new(),
        };
        if project.is_link(".gemini") {
            scan.add(project, ".gemini", true)?;
        }
        for path in WATCHED {
            scan.walk(project, path, 0)?;
        }
        Ok(scan)
    }

    fn add(
        &mut self,
        project: Project<'_>,
        path: &str,
        is_link: bool,
    ) -> Result<(), (String, String)> {
        if self.entries.len() >= MAX_ENTRIES {
            let reason = format!("there are more than {MAX_ENTRIES} files");
            return Err((path.to_owned(), reason));
        }
        let reason = |e: Errno| match e {
            Errno::FBIG => format!("it is larger than {MAX_BYTES} bytes"),
            e => e.to_string(),
        };
        let entry = Entry::of(project, path, is_link).map_err(|e| (path.to_owned(), reason(e)))?;
        self.entries.push(entry);
        Ok(())
    }

    fn walk(
        &mut self,
        project: Project<'_>,
        path: &str,
        depth: usize,
    ) -> Result<(), (String, String)> {
        if depth > MAX_DEPTH {
            let reason = format!("directories are more than {MAX_DEPTH} deep");
            return Err((path.to_owned(), reason));
        }
        if project.is_link(path) {
            self.add(project, path, true)?;
        }
        self.add(project, path, false)?;
        if self
            .entries
            .last()
            .is_some_and(|entry| entry.is == EntryKind::Dir)
        {
            let names = project
                .names(path)
                .map_err(|e| (path.to_owned(), e.to_string()))?;
            for name in names {
                self.walk(project, &format!("{path}/{name}"), depth + 1)?;
            }
        }
        Ok(())
    }
}

impl<'a> Project<'a> {
    /// The user's home directory needs no record, so that it is never looked at here.
    fn whose(self) -> FileOwner<'a> {
        FileOwner::Projects {
            root: self.0,
            home: None,
        }
    }

    fn stat(self, path: &str) -> Result<Stat, ResolveError> {
        self.whose().stat(&self.0.join(path))
    }

    fn entry(self, path: &str) -> Result<(Stat, Option<Vec<u8>>), ResolveError> {
        self.whose().entry(&self.0.join(path))
    }

    fn is_link(self, path: &str) -> bool {
        self.entry(path).is_ok_and(|(_, target)| target.is_some())
    }

    /// The names in a directory. One that is not UTF-8 could not be written down.
    fn names(self, path: &str) -> Result<BTreeSet<String>, Errno> {
        let names = self.whose().names(&self.0.join(path)).map_err(errno_of)?;
        let texts = names.into_iter().map(std::ffi::OsString::into_string);
        texts.collect::<Result<_, _>>().map_err(|_| Errno::ILSEQ)
    }

    /// The hash of a file, and what `stat` says of the file that was read.
    fn hash(self, path: &str) -> Result<(String, Stat), Errno> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
        let opened = self.whose().open(&self.0.join(path), flags);
        let opened = opened.map_err(errno_of)?;
        let stat = gemini_tools_platform::fs::fstat(&opened)?;
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
}

/// A link that has come in between is not a file any more.
fn errno_of(failure: ResolveError) -> Errno {
    match failure {
        ResolveError::Escapes => Errno::LOOP,
        ResolveError::System(errno) => errno,
    }
}
