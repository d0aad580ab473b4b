//! The record of the projects that the user trusts: one file per project, in
//! `~/.gemini/trusted_tools`.
//!
//! Separate files ensure that two processes that record at the same time don't overwrite each
//! other's entries.

use super::fingerprint::Fingerprint;
use super::watch;
use gemini_tools_core::text::hex;
use gemini_tools_workspace::atomic_file::write_record;
use gemini_tools_workspace::file_owner::{FileOwner, RegularFile};
use gemini_tools_workspace::files::can_be_written_by_others;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fmt;
use std::fs;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

const VERSION: u32 = 1;

/// The record that `get_tools trust` writes for a project.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TrustRecord {
    version: u32,
    /// The project's directory, as shown to the user.
    pub root: String,
    /// When the record was written, in seconds since 1970.
    pub recorded: u64,
    /// The fingerprint of the project's files.
    pub seen: Fingerprint,
}

/// The error of a record that can't be read or written.
#[derive(Debug, thiserror::Error)]
#[error("{}: {reason}", path.display())]
pub struct TrustRecordError {
    path: PathBuf,
    reason: String,
}

impl TrustRecordError {
    pub(super) fn new(path: &Path, reason: &dyn fmt::Display) -> Self {
        Self {
            path: path.to_owned(),
            reason: reason.to_string(),
        }
    }
}

impl TrustRecord {
    /// Returns the path of the record for the project in `root`. The file's name is a hash, because
    /// a path may contain bytes that a file's name can't, and may be too long.
    pub fn path(home: &Path, root: &Path) -> PathBuf {
        let name = hex(&Sha256::digest(root.as_os_str().as_bytes()));
        directory(home).join(format!("{name}.json"))
    }

    pub(super) fn load(home: &Path, root: &Path) -> Result<Option<Self>, TrustRecordError> {
        Self::load_from(&Self::path(home, root), root)
    }

    pub(super) fn load_from(path: &Path, root: &Path) -> Result<Option<Self>, TrustRecordError> {
        let Some(record) = Self::read(path)? else {
            return Ok(None);
        };
        if record.root != gemini_tools_core::text::show_path(root) {
            return Err(TrustRecordError::new(path, &"it is for another directory"));
        }
        Ok(Some(record))
    }

    fn read(path: &Path) -> Result<Option<Self>, TrustRecordError> {
        let fail = |e: io::Error| TrustRecordError::new(path, &e);
        let Some(RegularFile { mut file, metadata }) =
            FileOwner::Users.open_regular(path).map_err(fail)?
        else {
            return Ok(None);
        };
        if can_be_written_by_others(&metadata) {
            return Err(TrustRecordError::new(path, &"others can write to it"));
        }
        let mut bytes = Vec::with_capacity(metadata.len() as usize + 1);
        file.read_to_end(&mut bytes).map_err(fail)?;
        let record: Self = gemini_tools_core::json::read_unlimited(&bytes)
            .map_err(|e| TrustRecordError::new(path, &e))?;
        if record.version != VERSION {
            return Err(TrustRecordError::new(path, &"it is of another version"));
        }
        Ok(Some(record))
    }
}

/// Records the fingerprint `seen` of the project in `root` as trusted. The file is written
/// atomically, and only the user can read it.
///
/// # Errors
///
/// Returns the operating system's error, with the path.
pub fn save(home: &Path, root: &Path, seen: Fingerprint) -> Result<PathBuf, TrustRecordError> {
    let fail = |e: io::Error| TrustRecordError::new(root, &e);
    let root = std::fs::canonicalize(root).map_err(fail)?;
    let path = TrustRecord::path(home, &root);
    save_to(&path, &root, seen)?;
    // The user has now reviewed all changes that tools made, so the states before them are deleted.
    watch::forget(home, &root)?;
    Ok(path)
}

pub(super) fn save_to(path: &Path, root: &Path, seen: Fingerprint) -> Result<(), TrustRecordError> {
    let text = to_json(root, seen);
    let written = text.and_then(|text| write_record(path, &text));
    written.map_err(|e| TrustRecordError::new(path, &e))
}

pub(super) fn to_json(root: &Path, seen: Fingerprint) -> io::Result<Vec<u8>> {
    let record = TrustRecord {
        version: VERSION,
        root: gemini_tools_core::text::show_path(root).into_owned(),
        recorded: SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |since| since.as_secs()),
        seen,
    };
    let mut text = serde_json::to_vec(&record)?;
    text.push(b'\n');
    Ok(text)
}

/// Removes the record of the project in `root`, which need no longer exist. Returns true if there
/// was one.
///
/// # Errors
///
/// Returns the operating system's error, with the path.
pub fn remove(home: &Path, root: &Path) -> Result<bool, TrustRecordError> {
    let real = std::fs::canonicalize(root).unwrap_or_else(|_| root.to_owned());
    remove_file(&TrustRecord::path(home, &real))
}

pub(super) fn remove_file(path: &Path) -> Result<bool, TrustRecordError> {
    match fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(e) => Err(TrustRecordError::new(path, &e)),
    }
}

/// Returns all records, sorted by directory, and the errors of those that can't be read.
pub fn list(home: &Path) -> (Vec<TrustRecord>, Vec<TrustRecordError>) {
    let (mut records, mut problems) = (Vec::new(), Vec::new());
    let dir = directory(home);
    let entries = match fs::read_dir(&dir) {
        Ok(entries) => entries,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return (records, problems),
        Err(e) => return (records, vec![TrustRecordError::new(&dir, &e)]),
    };
    let is_record = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "json");
    for path in entries.flatten().map(|e| e.path()).filter(is_record) {
        match TrustRecord::read(&path) {
            Ok(Some(record)) => records.push(record),
            Ok(None) => {}
            Err(e) => problems.push(e),
        }
    }
    records.sort_by(|a, b| a.root.cmp(&b.root));
    problems.sort_by(|a, b| a.path.cmp(&b.path));
    (records, problems)
}

fn directory(home: &Path) -> PathBuf {
    home.join(".gemini/trusted_tools")
}
