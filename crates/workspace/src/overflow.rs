//! Files for answers that are too long for a model, which later calls read.
//!
//! They go where Gemini CLI keeps a project's temporary files: `~/.gemini/tmp/<SHA-256 of the
//! root's path>/`, never into the workspace.

use super::Workspace;
use gemini_tools_core::text::hex;
use sha2::{Digest, Sha256};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Returns the directory for a project's temporary files.
pub fn project(home: &Path, root: &Path) -> PathBuf {
    home.join(".gemini/tmp").join(digest(root))
}

fn digest(root: &Path) -> String {
    hex(&Sha256::digest(root.as_os_str().as_bytes()))
}

impl Workspace {
    /// Returns the workspace with the long answers of earlier calls as one more root that can only be
    /// read; `None` if `argument` does not lie among them.
    ///
    /// qwen-code keeps those that it shortens itself beside its own files, and tells the model to read them with
    /// `read_file`, which is ours there (seen in 0.24.4).
    pub fn with_overflow(&self, argument: &str) -> Option<Self> {
        let home = self.home.as_ref()?;
        let of_qwen = home.join(".qwen/tmp").join(digest(self.root()));
        let mut dirs = [self.overflow_dir()?, of_qwen.join("tool-results")].into_iter();
        let dir = dirs.find(|dir| Path::new(argument).starts_with(dir))?;
        // The first root stays the first, for relative paths and for messages.
        let mut wider = Self::open_at(self.root(), &[], Some(home)).ok()?;
        wider.add_roots(&[dir], &[], true);
        Some(wider)
    }

    /// Returns the directory of long answers, if there is a home directory.
    pub fn overflow_dir(&self) -> Option<PathBuf> {
        let home = self.home.as_ref()?;
        Some(project(home, self.root()).join("tool-outputs"))
    }

    /// Returns the directory of the records of the project's background processes, if there is a home
    /// directory.
    pub fn jobs_dir(&self) -> Option<PathBuf> {
        let home = self.home.as_ref()?;
        Some(project(home, self.root()).join("background-processes"))
    }
}
