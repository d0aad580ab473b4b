//! Keeping answers that are too long for a model, for later calls to read.
//!
//! They go where Gemini CLI keeps a project's temporary files: `~/.gemini/tmp/<SHA-256 of the
//! root's path>/`, never into the workspace.

use super::Workspace;
use crate::shown::hex;
use crate::sys::ffi::OsStrExt;
use crate::sys::unix_fs::{DirBuilderExt, OpenOptionsExt};
use sha2::{Digest, Sha256};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Kept answers older than this are removed when a new one is kept.
const KEEP: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// The directory for the answers of one project.
pub(super) fn directory(home: &Path, root: &Path) -> PathBuf {
    project(home, root).join("tool-outputs")
}

/// The directory for a project's temporary files.
pub(crate) fn project(home: &Path, root: &Path) -> PathBuf {
    let hash = Sha256::digest(root.as_os_str().as_bytes());
    home.join(".gemini/tmp").join(hex(&hash))
}

impl Workspace {
    /// Where what is known of the project's background processes is kept, if there is a home
    /// directory.
    pub fn jobs_dir(&self) -> Option<PathBuf> {
        let home = self.home.as_ref()?;
        Some(project(home, self.root()).join("background-processes"))
    }

    /// Keeps a text and gives back the file that holds it; `None` where there is no home
    /// directory or it can't be written.
    pub fn spill(&self, tool: &str, text: &str) -> Option<PathBuf> {
        let path = self.spill_path(tool)?;
        let mut file = std::fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)
            .ok()?;
        if file.write_all(text.as_bytes()).is_err() {
            // Half an answer would be taken for a whole one.
            let _ = std::fs::remove_file(&path);
            return None;
        }
        Some(path)
    }

    /// A name for a new file that keeps an answer, in a directory that exists; `None` as for
    /// [`Workspace::spill`].
    pub fn spill_path(&self, tool: &str) -> Option<PathBuf> {
        let dir = self.spill_dir()?;
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&dir)
            .ok()?;
        // Now and then is enough.
        if std::process::id().is_multiple_of(16) {
            remove_old(&dir);
        }
        let now = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .ok()?;
        Some(dir.join(format!(
            "{tool}-{}-{:09}-{}.txt",
            now.as_secs(),
            now.subsec_nanos(),
            std::process::id()
        )))
    }
}

fn remove_old(dir: &Path) {
    let Ok(entries) = std::fs::read_dir(dir) else {
        return;
    };
    for entry in entries.flatten() {
        let age = entry
            .metadata()
            .and_then(|m| m.modified())
            .ok()
            .and_then(|t| SystemTime::now().duration_since(t).ok());
        if age.is_some_and(|age| age > KEEP) {
            // Another call may have removed it already.
            let _ = std::fs::remove_file(entry.path());
        }
    }
}
