//! The fingerprint of a project: every file that can run something, with its hash.
//!
//! The files are few and small, so that they are read each time: the times and sizes that a file
//! system gives can be the same after a change, and those of a directory say nothing of what is
//! written into its files.

use super::record::TrustRecordError;
use gemini_tools_core::text::hex;
use gemini_tools_workspace::file_owner::{FileOwner, LEADS_OUT};
use gemini_tools_workspace::files::mode;
use gemini_tools_workspace::resolve::ResolveError;
use rustix::fs::{FileType, OFlags, Stat};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::io::Read;
use std::path::Path;

/// Paths below the project's directory that need trust.
pub const WATCHED: [&str; 3] = [".gemini/settings.json", ".gemini/policies", ".gemini/tools"];

/// Maximum entries looked at: a user could not have read more, and each use would have to.
const MAX_ENTRIES: usize = 5000;

/// Maximum bytes of all files together.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

const MAX_DEPTH: usize = 8;

/// The hashes of a project's files that can run something.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Fingerprint(Vec<Entry>);

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct Entry {
    path: String,
    is: EntryKind,
    /// The hash of a file, the target of a link.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    what: String,
    #[serde(default, skip_serializing_if = "is_zero")]
    mode: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes it so")]
fn is_zero(mode: &u32) -> bool {
    *mode == 0
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
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
    /// Reads all that counts of the project in `root`.
    ///
    /// # Errors
    ///
    /// Returns the operating system's error if something can't be read, or an error if there is
    /// more than a user could have read.
    pub fn look(root: &Path) -> Result<Self, TrustRecordError> {
        let mut scan = Scan::new(root);
        match scan.walk_all() {
            Ok(()) => Ok(Self(scan.entries)),
            Err((path, reason)) => Err(TrustRecordError::new(&root.join(path), &reason)),
        }
    }

    /// Returns a hash of all that counts of the project in `root`, with the reason where it could
    /// not be read to its end.
    pub fn state(root: &Path) -> String {
        let mut scan = Scan::new(root);
        let failure = scan.walk_all().err();
        format!("{} {failure:?}", Self(scan.entries).digest())
    }

    /// Returns true if there is nothing to trust.
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

    /// Returns the paths of all that is no longer as it was seen, by reading it all again.
    pub fn changes(&self, root: &Path) -> Vec<String> {
        let now = match Self::look(root) {
            Ok(now) => now,
            Err(e) => return vec![e.to_string()],
        };
        let entries = |seen: &Self| seen.0.iter().cloned().collect::<BTreeSet<_>>();
        let (before, now) = (entries(self), entries(&now));
        let paths = before.symmetric_difference(&now).map(|entry| &entry.path);
        paths
            .cloned()
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect()
    }
}

impl Entry {
    /// Looks at `path` in the project, and takes the size of a file from `bytes`.
    fn of(project: Project<'_>, path: &str, is_link: bool, bytes: &mut u64) -> Result<Self, Errno> {
        let entry = |is, what, stat: Option<&Stat>| Self {
            path: path.to_owned(),
            is,
            what,
            mode: stat.map_or(0, mode),
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
                let (hash, stat) = project.hash(path, bytes)?;
                Ok(entry(EntryKind::File, hash, Some(&stat)))
            }
            FileType::Directory => Ok(entry(EntryKind::Dir, String::new(), Some(&stat))),
            kind => Ok(entry(EntryKind::Special, format!("{kind:?}"), Some(&stat))),
        }
    }
}

/// A walk over all that counts.
struct Scan<'a> {
    project: Project<'a>,
    entries: Vec<Entry>,
    /// Number of bytes that may still be read.
    bytes: u64,
}

impl<'a> Scan<'a> {
    fn new(root: &'a Path) -> Self {
        Self {
            project: Project(root),
            entries: Vec::new(),
            bytes: MAX_BYTES,
        }
    }

    /// Looks at everything. An error has the path, and the reason.
    fn walk_all(&mut self) -> Result<(), (String, String)> {
        let failed = |failure| (String::new(), errno_of(failure).to_string());
        let root = self.project.stat("").map_err(failed)?;
        if FileType::from_raw_mode(root.st_mode) != FileType::Directory {
            return Err((String::new(), Errno::NOTDIR.to_string()));
        }
        if self.project.is_link(".gemini") {
            self.add(".gemini", true)?;
        }
        WATCHED.iter().try_for_each(|path| self.walk(path, 0))
    }

    fn add(&mut self, path: &str, is_link: bool) -> Result<(), (String, String)> {
        if self.entries.len() >= MAX_ENTRIES {
            let reason = format!("there are more than {MAX_ENTRIES} files");
            return Err((path.to_owned(), reason));
        }
        let reason = |e: Errno| match e {
            Errno::FBIG => format!("the files have more than {MAX_BYTES} bytes together"),
            e => e.to_string(),
        };
        let entry = Entry::of(self.project, path, is_link, &mut self.bytes)
            .map_err(|e| (path.to_owned(), reason(e)))?;
        self.entries.push(entry);
        Ok(())
    }

    fn walk(&mut self, path: &str, depth: usize) -> Result<(), (String, String)> {
        if depth > MAX_DEPTH {
            let reason = format!("directories are more than {MAX_DEPTH} deep");
            return Err((path.to_owned(), reason));
        }
        if self.project.is_link(path) {
            self.add(path, true)?;
        }
        self.add(path, false)?;
        if self
            .entries
            .last()
            .is_some_and(|entry| entry.is == EntryKind::Dir)
        {
            let names = self
                .project
                .names(path)
                .map_err(|e| (path.to_owned(), e.to_string()))?;
            for name in names {
                self.walk(&format!("{path}/{name}"), depth + 1)?;
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

    /// The hash of a file, and what `stat` says of the file that was read. Takes its size from
    /// `bytes`.
    fn hash(self, path: &str, bytes: &mut u64) -> Result<(String, Stat), Errno> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
        let opened = self.whose().open(&self.0.join(path), flags);
        let opened = opened.map_err(errno_of)?;
        let stat = rustix::fs::fstat(&opened)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(Errno::INVAL);
        }
        let mut file = std::fs::File::from(opened);
        let mut hash = Sha256::new();
        let mut buffer = [0; 16 * 1024];
        loop {
            let count = match file.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => count,
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(e) => return Err(Errno::from_io_error(&e).unwrap_or(Errno::IO)),
            };
            *bytes = bytes.checked_sub(count as u64).ok_or(Errno::FBIG)?;
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
