//! Changes by tools in a folder that is trusted as a whole, which nobody has looked at.
//!
//! Who trusts a folder trusts what people put there, not what a model does. So what a call changes of the files that
//! need trust is written down, as they were before the first such call. The project is trusted again when they are so
//! again, or when `get_tools trust` has shown them. A change by hand alone takes nothing away.

use super::fingerprint::Fingerprint;
use super::record::{TrustRecord, TrustRecordError, save_to};
use super::{ProjectTrust, Trust};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A look at what trust covers, before calls that may change it.
#[derive(Debug)]
pub struct TrustWatch {
    home: PathBuf,
    root: PathBuf,
    /// An empty one where not all could be read: then nothing is as it was.
    before: Fingerprint,
}

impl TrustWatch {
    /// Returns the path of the file that says how the project in `root` was before tools have changed it.
    pub fn path(home: &Path, root: &Path) -> PathBuf {
        TrustRecord::path(home, root).with_extension("before")
    }

    /// Looks at the project; `None` where it is not trusted as a whole, so that changes need not be noticed.
    pub fn begin(trust: &ProjectTrust) -> Option<Self> {
        let home = trust
            .home
            .clone()
            .filter(|_| Trust::covers_changes(trust))?;
        let root = fs::canonicalize(&trust.root).ok()?;
        let before = Fingerprint::look(&root).unwrap_or_default();
        Some(Self { home, root, before })
    }

    /// Looks again, and writes down how it was if that has changed, or may change later: `goes_on` is whether commands
    /// of tools run in the background. Once none does, and all is as it was, that is forgotten.
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

/// Returns the paths of what is no longer as it was before tools have changed it. `root` is without links.
pub(super) fn changes_by_tools(home: &Path, root: &Path) -> Result<Vec<String>, TrustRecordError> {
    let before = TrustRecord::load_from(&TrustWatch::path(home, root), root)?;
    Ok(before.map_or_else(Vec::new, |before| before.seen.changes(root)))
}

/// Forgets changes by tools: a person has looked at them.
pub(super) fn forget(home: &Path, root: &Path) -> Result<(), TrustRecordError> {
    let path = TrustWatch::path(home, root);
    match fs::remove_file(&path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(TrustRecordError::new(&path, &e)),
        _ => Ok(()),
    }
}
