//! Files with tool answers that are too long for a model, which later calls read.
//!
//! They lie where Gemini CLI keeps a project's temporary files, `~/.gemini/tmp/<SHA-256 of the
//! root's path>/`, and not in the project.

use super::Workspace;
use gemini_tools_core::client_host::{ClientHost, HOSTS, SavedAnswers};
use gemini_tools_core::text::hex;
use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

const MAX_PATH_BYTES: u64 = 64 * 1024;

/// Returns the directory for a project's temporary files.
pub fn project(home: &Path, root: &Path) -> PathBuf {
    home.join(".gemini/tmp").join(digest(root))
}

fn digest(root: &Path) -> String {
    hex(&Sha256::digest(root.as_os_str().as_bytes()))
}

/// Returns true for a regular file of this user without further hard links. Other users can write
/// to a shared directory for temporary files, and could link one of the user's files there.
fn is_private_file(path: &Path) -> bool {
    let own = rustix::process::geteuid().as_raw();
    fs::symlink_metadata(path)
        .is_ok_and(|stat| stat.is_file() && stat.uid() == own && stat.nlink() == 1)
}

impl Workspace {
    /// Returns a workspace of the first root and, as a read-only root, the directory of stored long
    /// answers that `argument` lies in; `None` if it lies in none.
    ///
    /// Agent hosts also store answers that they shorten, and tell the model to read them. If a host
    /// stores those of all projects in one directory, they can be read only if `client` is this
    /// host.
    pub fn with_overflow(&self, argument: &str, client: Option<&ClientHost>) -> Option<Self> {
        let home = self.home.as_ref()?;
        let argument = self.meant(argument).ok()?;
        let argument = Path::new(&*argument);
        let own = self.overflow_dir()?;
        let of_hosts = || {
            HOSTS.iter().find_map(|host| {
                let is_client = client == Some(*host);
                self.saved_answers(host, argument, is_client)
            })
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

    /// Returns the directory where `host` stores this project's long answers, if `argument` lies in
    /// it.
    fn saved_answers(
        &self,
        host: &ClientHost,
        argument: &Path,
        is_client: bool,
    ) -> Option<PathBuf> {
        if argument
            .components()
            .any(|part| part == Component::ParentDir)
        {
            return None;
        }
        let directory = host.directory(self.home.as_deref())?;
        let rest = argument.strip_prefix(&directory).ok()?;
        if let SavedAnswers::Shared { beneath, mark } = host.saved_answers? {
            let name = rest.strip_prefix(beneath).ok()?.to_str()?;
            let is_its_own = is_client && name.contains(mark) && !name.contains('/');
            return (is_its_own && is_private_file(argument)).then(|| directory.join(beneath));
        }
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
            SavedAnswers::Shared { .. } => return None,
        };
        rest.starts_with(&expected)
            .then(|| directory.join(expected))
    }

    /// Returns the directory of this project's long answers; `None` without a home directory.
    pub fn overflow_dir(&self) -> Option<PathBuf> {
        let home = self.home.as_ref()?;
        Some(project(home, self.root()).join("tool-outputs"))
    }

    /// Returns the directory with the records of this project's background processes; `None`
    /// without a home directory.
    pub fn jobs_dir(&self) -> Option<PathBuf> {
        let home = self.home.as_ref()?;
        Some(project(home, self.root()).join("background-processes"))
    }
}
