//! Files for answers that are too long for a model, which later calls read.
//!
//! They go where Gemini CLI keeps a project's temporary files: `~/.gemini/tmp/<SHA-256 of the
//! root's path>/`, never into the workspace.

use super::Workspace;
use gemini_tools_core::client_host::{ClientHost, HOSTS, SavedAnswers};
use gemini_tools_core::text::hex;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

/// Maximum bytes of a path that a file names.
const MAX_PATH_BYTES: u64 = 64 * 1024;

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
    /// Hosts keep those that they shorten themselves beside their own files, and tell the model to read them.
    pub fn with_overflow(&self, argument: &str) -> Option<Self> {
        let home = self.home.as_ref()?;
        let argument = self.meant(argument).ok()?;
        let argument = Path::new(&*argument);
        let own = self.overflow_dir()?;
        let of_hosts = || {
            HOSTS
                .iter()
                .find_map(|host| self.saved_answers(host, argument))
        };
        let dir = if argument.starts_with(&own) {
            own
        } else {
            of_hosts()?
        };
        // The first root stays the first, for relative paths and for messages.
        let mut wider = Self::open_at(self.root(), &[], Some(home)).ok()?;
        wider.add_roots(&[dir], &[], true);
        Some(wider)
    }

    /// Returns the directory in which a host keeps this project's long answers, if `argument` lies there.
    fn saved_answers(&self, host: &ClientHost, argument: &Path) -> Option<PathBuf> {
        if argument
            .components()
            .any(|part| part == Component::ParentDir)
        {
            return None;
        }
        let directory = host.directory(self.home.as_deref())?;
        let rest = argument.strip_prefix(&directory).ok()?;
        let mut parts = rest.iter().map(Path::new);
        let mut part = || parts.next();
        let (_, project) = (part()?, part()?);
        let expected = match host.saved_answers? {
            SavedAnswers::NamedProject => {
                let beneath = Path::new("tmp").join(project);
                let file = File::open(directory.join(&beneath).join(".project_root")).ok()?;
                let mut path = Vec::new();
                file.take(MAX_PATH_BYTES).read_to_end(&mut path).ok()?;
                let is_this = path.trim_ascii() == self.root().as_os_str().as_bytes();
                is_this.then(|| beneath.join("tool-outputs"))?
            }
            SavedAnswers::Session => {
                let path = self.root().to_str()?;
                let name = path.replace(|c: char| !c.is_ascii_alphanumeric(), "-");
                Path::new("projects")
                    .join(name)
                    .join(part()?)
                    .join("tool-results")
            }
            SavedAnswers::HashedProject => Path::new("tmp")
                .join(digest(self.root()))
                .join("tool-results"),
        };
        rest.starts_with(&expected)
            .then(|| directory.join(expected))
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
