//! The fingerprint of a project: hashes of all files that can run something.
//!
//! The content is read each time. Sizes and times can be the same after a change, and a directory's
//! time does not show changes within its files. The files are few and small.

use super::record::TrustRecordError;
use gemini_tools_core::text::{hex, show_name};
use gemini_tools_workspace::file_owner::{FileOwner, LEADS_OUT};
use gemini_tools_workspace::files::mode;
use gemini_tools_workspace::resolve::ResolveError;
use rustix::fs::{FileType, OFlags, Stat};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::Path;

/// The paths in a project that need trust.
pub const WATCHED: [&str; 3] = [".gemini/settings.json", ".gemini/policies", ".gemini/tools"];

/// A project with more entries is refused: a user could not have reviewed them all, and each use
/// would have to read them.
const MAX_ENTRIES: usize = 5000;

const MAX_BYTES: u64 = 64 * 1024 * 1024;

const MAX_DEPTH: usize = 8;

/// The state of each file of a project that can run something, by path: `file 644 HASH`,
/// `directory 755`, `link TARGET -> file 644 HASH`. A path that does not exist has no entry.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fingerprint(BTreeMap<String, String>);

fn kind(state: &str) -> &str {
    let last = state.rsplit("-> ").next().unwrap_or_default();
    last.split(' ').next().unwrap_or_default()
}

impl Fingerprint {
    /// Reads all files of the project in `root` that need trust.
    ///
    /// # Errors
    ///
    /// Returns an error if a file can't be read, or if there are more files than a user could have
    /// reviewed.
    pub fn look(root: &Path) -> Result<Self, TrustRecordError> {
        let mut scan = Scan::new(root);
        match scan.walk_all() {
            Ok(()) => Ok(Self(scan.states)),
            Err((path, reason)) => Err(TrustRecordError::new(&root.join(path), &reason)),
        }
    }

    /// Returns a hash of all files that need trust in the project in `root`. If they can't all be
    /// read, the reason is part of the result, so that it changes when the reason does.
    pub fn state(root: &Path) -> String {
        let mut scan = Scan::new(root);
        let failure = scan.walk_all().err();
        format!("{} {failure:?}", Self(scan.states).digest())
    }

    /// Returns true if there are no files that need trust.
    pub fn is_empty(&self) -> bool {
        let mut states = self.0.values();
        states.all(|state| matches!(kind(state), "absent" | "directory"))
    }

    /// Returns the paths of the files, without directories and dangling links.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        let is_file = |state: &str| !matches!(kind(state), "absent" | "directory" | "link");
        let files = self.0.iter().filter(move |(_, state)| is_file(state));
        files.map(|(path, _)| path.as_str())
    }

    /// Returns a hash of the fingerprint.
    pub fn digest(&self) -> String {
        let mut hash = Sha256::new();
        for (path, state) in &self.0 {
            hash.update(format!("{path:?} {state:?}\n"));
        }
        hex(&hash.finalize())
    }

    /// Reads one of the files, and checks that its content is that of the fingerprint.
    ///
    /// # Errors
    ///
    /// Returns an error if the file can't be read, or if its content has changed: the user must not
    /// be shown one text and trust another.
    pub fn content(&self, root: &Path, file: &str) -> std::io::Result<Vec<u8>> {
        let found = owner(root).beginning(&root.join(file), MAX_BYTES)?;
        let bytes = found.ok_or(std::io::ErrorKind::NotFound)?;
        let state = self.0.get(file).map_or("", String::as_str);
        if !state.ends_with(&hex(&Sha256::digest(&bytes))) {
            return Err(std::io::Error::other("it has changed meanwhile"));
        }
        Ok(bytes)
    }

    /// Returns the paths that differ from the fingerprint now.
    pub fn changes(&self, root: &Path) -> Vec<String> {
        let now = match Self::look(root) {
            Ok(now) => now,
            Err(e) => return vec![e.to_string()],
        };
        let paths: BTreeSet<&String> = self.0.keys().chain(now.0.keys()).collect();
        let is_changed = |path: &&String| self.0.get(*path) != now.0.get(*path);
        paths.into_iter().filter(is_changed).cloned().collect()
    }
}

fn owner(root: &Path) -> FileOwner<'_> {
    FileOwner::Projects { root, home: None }
}

struct Scan<'a> {
    root: &'a Path,
    states: BTreeMap<String, String>,
    bytes: u64,
}

impl<'a> Scan<'a> {
    fn new(root: &'a Path) -> Self {
        Self {
            root,
            states: BTreeMap::new(),
            bytes: MAX_BYTES,
        }
    }

    fn walk_all(&mut self) -> Result<(), (String, String)> {
        let failed = |failure| (String::new(), errno_of(failure).to_string());
        let root = owner(self.root).stat(self.root).map_err(failed)?;
        if FileType::from_raw_mode(root.st_mode) != FileType::Directory {
            return Err((String::new(), Errno::NOTDIR.to_string()));
        }
        if let Ok((_, Some(target))) = owner(self.root).entry(&self.root.join(".gemini")) {
            self.states.insert(".gemini".to_owned(), of_link(&target));
        }
        WATCHED.iter().try_for_each(|path| self.walk(path, 0))
    }

    fn walk(&mut self, path: &str, depth: usize) -> Result<(), (String, String)> {
        let failed = |reason: String| (path.to_owned(), reason);
        if depth > MAX_DEPTH {
            return Err(failed(format!(
                "directories are more than {MAX_DEPTH} deep"
            )));
        }
        if self.states.len() >= MAX_ENTRIES {
            return Err(failed(format!("there are more than {MAX_ENTRIES} files")));
        }
        let state = self.state_of(path).map_err(|errno| match errno {
            Errno::FBIG => failed(format!(
                "the files have more than {MAX_BYTES} bytes together"
            )),
            errno => failed(errno.to_string()),
        })?;
        let Some(state) = state else {
            return Ok(());
        };
        let is_directory = kind(&state) == "directory";
        self.states.insert(path.to_owned(), state);
        if is_directory {
            for name in self.names(path).map_err(|e| failed(e.to_string()))? {
                self.walk(&format!("{path}/{name}"), depth + 1)?;
            }
        }
        Ok(())
    }

    fn state_of(&mut self, path: &str) -> Result<Option<String>, Errno> {
        let at = self.root.join(path);
        let (link, stat) = match owner(self.root).entry(&at) {
            Ok((_, Some(target))) => (Some(of_link(&target)), owner(self.root).stat(&at)),
            Ok((stat, None)) => (None, Ok(stat)),
            Err(failure) => (None, Err(failure)),
        };
        let state = match stat {
            // A link that leads outside is recorded, but not followed.
            Err(ResolveError::Escapes) => format!("outside {LEADS_OUT}"),
            Err(ResolveError::System(Errno::NOENT | Errno::NOTDIR | Errno::LOOP))
                if link.is_some() =>
            {
                "absent".to_owned()
            }
            Err(ResolveError::System(Errno::NOENT | Errno::NOTDIR)) => return Ok(None),
            Err(ResolveError::System(errno)) => return Err(errno),
            Ok(stat) => match FileType::from_raw_mode(stat.st_mode) {
                FileType::RegularFile => {
                    let (hash, stat) = self.hash(path)?;
                    format!("file {:o} {hash}", mode(&stat))
                }
                FileType::Directory => format!("directory {:o}", mode(&stat)),
                kind => format!("{kind:?} {:o}", mode(&stat)),
            },
        };
        Ok(Some(match link {
            Some(link) => format!("{link} -> {state}"),
            None => state,
        }))
    }

    fn names(&self, path: &str) -> Result<BTreeSet<String>, Errno> {
        let names = owner(self.root).names(&self.root.join(path));
        let texts = names.map_err(errno_of)?.into_iter();
        let texts = texts.map(std::ffi::OsString::into_string);
        texts.collect::<Result<_, _>>().map_err(|_| Errno::ILSEQ)
    }

    fn hash(&mut self, path: &str) -> Result<(String, Stat), Errno> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
        let opened = owner(self.root).open(&self.root.join(path), flags);
        let opened = opened.map_err(errno_of)?;
        let stat = rustix::fs::fstat(&opened)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(Errno::INVAL);
        }
        let size = u64::try_from(stat.st_size).unwrap_or(0).min(self.bytes);
        let mut text = Vec::with_capacity(usize::try_from(size).unwrap_or(0) + 1);
        let mut file = std::fs::File::from(opened).take(self.bytes + 1);
        let count = file.read_to_end(&mut text);
        let count = count.map_err(|e| Errno::from_io_error(&e).unwrap_or(Errno::IO))?;
        self.bytes = self.bytes.checked_sub(count as u64).ok_or(Errno::FBIG)?;
        Ok((hex(&Sha256::digest(&text)), stat))
    }
}

fn of_link(target: &[u8]) -> String {
    format!("link {}", show_name(target))
}

/// Converts an error. `Escapes` means that a link out of the project has replaced the file since it
/// was looked at, which is reported like a link that can't be followed.
fn errno_of(failure: ResolveError) -> Errno {
    match failure {
        ResolveError::Escapes => Errno::LOOP,
        ResolveError::System(errno) => errno,
    }
}
