//! Revokes trust in a folder when a tool has changed files that need trust.
//!
//! A user who trusts a folder trusts what people put there, not what a model does. The files that
//! need trust are therefore read before each call that may change them. If a call has changed them,
//! their state before the first such call is saved. The folder is trusted again when the files are
//! as before, or when `get_tools trust` has shown them to the user. Changes by hand alone revoke
//! nothing.

use super::fingerprint::Fingerprint;
use super::record::{TrustRecord, TrustRecordError, save_to};
use super::{ProjectTrust, Trust};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The state of the files that need trust, before calls that may change them.
#[derive(Debug)]
pub struct TrustWatch {
    home: PathBuf,
    root: PathBuf,
    /// Empty if not all files that need trust could be read; then each of them counts as changed.
    before: Fingerprint,
}

impl TrustWatch {
    /// Returns the path of the file in which the state before changes by tools is saved.
    pub fn path(home: &Path, root: &Path) -> PathBuf {
        TrustRecord::path(home, root).with_extension("before")
    }

    /// Reads the project's files. `None` if the project is not trusted as a whole, so that changes
    /// need not be detected.
    pub fn begin(trust: &ProjectTrust) -> Option<Self> {
        let home = trust
            .home
            .clone()
            .filter(|_| Trust::covers_changes(trust))?;
        let root = fs::canonicalize(&trust.root).ok()?;
        let before = Fingerprint::look(&root).unwrap_or_default();
        Some(Self { home, root, before })
    }

    /// Compares the files with the earlier state, and saves that state if they have changed, or if
    /// they may change later because commands still run in the background (`goes_on`). Once no
    /// command runs and the files are as before, the saved state is deleted.
    ///
    /// # Errors
    ///
    /// Returns the operating system's error, with the path.
    pub fn end(&self, goes_on: bool) -> Result<(), TrustRecordError> {
        let Self { home, root, before } = self;
        let path = Self::path(home, root);
        let is_as = |seen: &Fingerprint| seen.changes(root).is_empty();
        match TrustRecord::load_from(&path, root)? {
            Some(first) if !goes_on && is_as(&first.seen) => forget(home, root),
            None if goes_on || !is_as(before) => save_to(&path, root, before.clone()),
            _ => Ok(()),
        }
    }
}

/// Returns the paths that differ from the state before tools changed them. `root` must be
/// canonical.
pub(super) fn changes_by_tools(home: &Path, root: &Path) -> Result<Vec<String>, TrustRecordError> {
    let before = TrustRecord::load_from(&TrustWatch::path(home, root), root)?;
    Ok(before.map_or_else(Vec::new, |before| before.seen.changes(root)))
}

pub(super) fn forget(home: &Path, root: &Path) -> Result<(), TrustRecordError> {
    let path = TrustWatch::path(home, root);
    match fs::remove_file(&path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(TrustRecordError::new(&path, &e)),
        _ => Ok(()),
    }
}
