//! A planned change of a file.

use super::record::{copy_of, remove};
use super::set::Edit;
use super::{SetupPlace, SetupScope};
use crate::hosts::owner;
use gemini_tools_core::text::show_path;
use gemini_tools_workspace::atomic_file;
use gemini_tools_workspace::edit::diff_texts;
use gemini_tools_workspace::file_owner::FileOwner;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// A file that can't be read, understood or written.
#[derive(Debug, thiserror::Error)]
#[error("{}: {reason}", show_path(path))]
pub struct InitError {
    path: PathBuf,
    reason: String,
}

impl InitError {
    pub(super) fn new(path: &Path, reason: impl fmt::Display) -> Self {
        Self {
            path: path.to_owned(),
            reason: reason.to_string(),
        }
    }
}

/// Why a file is changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// To name the discovery and the call command in the settings.
    Commands,
    /// To allow calls without approval.
    Rules,
    /// To put the project on Gemini CLI's list of trusted folders.
    Trust,
    /// To add an entry for `serve_tools` to another host's settings.
    Server,
    /// To install the skill, a text that explains the tools to a model.
    Skill,
    /// To undo an earlier `init`.
    Undo,
}

impl Purpose {
    /// Returns a sentence about the effect, for the user who must agree.
    pub fn description(self) -> &'static str {
        match self {
            Self::Commands => "Gemini CLI gets its tools from get_tools and call_tool.",
            Self::Rules => {
                "Gemini CLI lets a model call these tools without asking, also without a terminal."
            }
            Self::Trust => {
                "From now on Gemini CLI and get_tools trust this directory with all that comes into it."
            }
            Self::Server => {
                "This host gets the tools from serve_tools, and asks about calls as it does for any server."
            }
            Self::Skill => "The model reads here how to use the tools, when it needs to.",
            Self::Undo => "What get_tools init has put there is taken back.",
        }
    }
}

/// A change of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct FileChange {
    /// The file's path.
    pub path: PathBuf,
    /// The path with its links resolved.
    pub real: PathBuf,
    /// The present text; `None` if there is no file.
    pub before: Option<String>,
    /// The new text; `None` if the file is to be removed.
    pub after: Option<String>,
    /// Why the file is changed.
    pub purpose: Purpose,
    pub(super) edits: Vec<Edit>,
    pub(super) needs_copy: bool,
}

pub(super) fn read(path: &Path, owner: FileOwner<'_>) -> Result<Option<String>, InitError> {
    let fail = |e: &dyn fmt::Display| InitError::new(path, e);
    let opened = owner.beginning(path, MAX_BYTES + 1).map_err(|e| fail(&e))?;
    let Some(bytes) = opened else {
        return Ok(None);
    };
    if bytes.len() as u64 > MAX_BYTES {
        return Err(fail(&"it is too large"));
    }
    let text = String::from_utf8(bytes).map_err(|_| fail(&"it is not text in UTF-8"))?;
    Ok(Some(text))
}

/// Resolves the links in a path. Components that do not exist yet are kept as they are.
pub(super) fn real(path: &Path) -> Result<PathBuf, InitError> {
    let there = path
        .ancestors()
        .find(|above| fs::symlink_metadata(above).is_ok())
        .unwrap_or(path);
    let real = std::fs::canonicalize(there).map_err(|e| match e.kind() {
        io::ErrorKind::NotFound => InitError::new(there, "it is a link that leads nowhere"),
        _ => InitError::new(there, e),
    })?;
    let rest = path.strip_prefix(there).unwrap_or(Path::new(""));
    // Joining an empty path would add a slash.
    Ok(real.components().chain(rest.components()).collect())
}

impl SetupPlace<'_> {
    fn is_projects(&self, path: &Path) -> bool {
        let is_homes = self.home.starts_with(self.root) && path.starts_with(self.home);
        self.scope == SetupScope::Project && path.starts_with(self.root) && !is_homes
    }

    pub(super) fn owner_of(&self, path: &Path) -> FileOwner<'_> {
        owner(self.is_projects(path), self.home, self.root)
    }

    /// Resolves the links in the path of a file.
    ///
    /// # Errors
    ///
    /// Returns an error if a file of the project leads outside of it, or to the user's own files. A
    /// repository could otherwise contain a link that has any file overwritten.
    pub(super) fn real(&self, path: &Path) -> Result<PathBuf, InitError> {
        if path.to_str().is_none() {
            let reason = "its path is not UTF-8, which the record for --undo can't hold";
            return Err(InitError::new(path, reason));
        }
        let (file, root, users) = (real(path)?, real(self.root)?, self.home.join(".gemini"));
        // If its links can't be resolved, the path is compared as it is written.
        let users = real(&users).unwrap_or(users);
        if !self.is_projects(path) || file.starts_with(&root) && !file.starts_with(&users) {
            return Ok(file);
        }
        let reason = format!(
            "it is {}, which is not a file of this project alone; remove the link that leads there, or set up all of your projects with get_tools init --user",
            show_path(&file)
        );
        Err(InitError::new(path, reason))
    }

    pub(super) fn read(&self, path: &Path) -> Result<Option<String>, InitError> {
        self.real(path)?;
        read(path, self.owner_of(path))
    }
}

impl FileChange {
    /// Returns the change as a unified diff.
    pub fn diff(&self) -> String {
        let [before, after] = [&self.before, &self.after].map(|text| text.as_deref().unwrap_or(""));
        let name = show_path(&self.path);
        diff_texts(before, after, &name).0
    }

    pub(super) fn check(&self, place: &SetupPlace<'_>) -> Result<(), InitError> {
        if place.read(&self.path)? == self.before && real(&self.path)? == self.real {
            return Ok(());
        }
        let reason = "it has changed meanwhile; look again";
        Err(InitError::new(&self.path, reason))
    }

    pub(super) fn make(&self, place: &SetupPlace<'_>) -> Result<(), InitError> {
        self.check(place)?;
        let done = match &self.after {
            // If a link to the file was made here since, it is removed as well, because it would
            // lead nowhere.
            None => return remove(&self.real).and_then(|()| remove(&self.path)),
            Some(text) => {
                // The user's settings of other hosts often contain secrets.
                let is_secret = self.purpose == Purpose::Server && !place.is_projects(&self.path);
                let mode = if is_secret { 0o600 } else { 0o644 };
                write(&self.real, text, (&self.real, mode))
            }
        };
        done.map_err(|e| InitError::new(&self.path, e))
    }

    pub(super) fn copy(&self, place: &SetupPlace<'_>) -> Result<(), InitError> {
        let copy = copy_of(&self.path);
        let text = self.before.as_deref().unwrap_or_default();
        let done = write(&place.real(&copy)?, text, (&self.real, 0o600));
        done.map_err(|e| InitError::new(&copy, e))
    }
}

/// Replaces a file atomically. It gets the access rights of another one, or a mode if that is not
/// there. `real` must have its links resolved, or the link would be replaced.
pub(super) fn write(real: &Path, text: &str, (like, mode): (&Path, u32)) -> io::Result<()> {
    fs::create_dir_all(real.parent().ok_or(io::ErrorKind::InvalidInput)?)?;
    atomic_file::put(real, text.as_bytes(), mode, Some(like), true)
}
