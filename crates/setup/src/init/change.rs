//! A planned change of a file.

use super::record::Edit;
use crate::hosts::owner;
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
#[error("{}: {reason}", gemini_tools_core::text::show_path(path))]
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
    /// The inserted piece, which an undo can remove even from a file that was edited since; `None`
    /// if an undo can only restore the whole file.
    pub(super) edit: Option<Edit>,
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

#[derive(Debug, Clone)]
pub(super) struct Project {
    root: PathBuf,
    written: PathBuf,
    home: PathBuf,
    /// The directory whose files count as the project's; all others count as the user's.
    own: PathBuf,
    users: PathBuf,
}

impl Project {
    pub(super) fn new(root: &Path, home: &Path, own: &Path) -> Result<Self, InitError> {
        let users = home.join(".gemini");
        Ok(Self {
            root: real(root)?,
            written: root.to_owned(),
            home: home.to_owned(),
            own: own.to_owned(),
            // If its links can't be resolved, the path is compared as it is written.
            users: real(&users).unwrap_or(users),
        })
    }

    pub(super) fn owner_of(&self, path: &Path) -> FileOwner<'_> {
        owner(path.starts_with(&self.own), &self.home, &self.written)
    }

    /// Resolves the links in the path of a file of the project or the user.
    ///
    /// # Errors
    ///
    /// Returns an error if a file of the project leads outside of it, or to the user's own files. A
    /// repository could otherwise contain a link that has any file overwritten.
    pub(super) fn real(&self, path: &Path) -> Result<PathBuf, InitError> {
        let real = real(path)?;
        let is_within = real.starts_with(&self.root) && !real.starts_with(&self.users);
        if is_within || !path.starts_with(&self.own) {
            return Ok(real);
        }
        let rest = path.strip_prefix(&self.written).unwrap_or(path);
        if real == self.root.join(rest) {
            let reason = "it is one of your own files, which are for all of your projects; set them up with get_tools init --user";
            return Err(InitError::new(path, reason));
        }
        let shown = gemini_tools_core::text::show_path(&real);
        let reason = format!(
            "a link makes it {shown}, which is not a file of this project; remove the link, or set up all of your projects with get_tools init --user"
        );
        Err(InitError::new(path, reason))
    }
}

pub(super) fn missing(path: &Path) -> Vec<PathBuf> {
    let above = path.ancestors().skip(1);
    let mut missing: Vec<_> = above
        .take_while(|dir| !dir.exists())
        .map(Path::to_owned)
        .collect();
    missing.reverse();
    missing
}

impl FileChange {
    /// Returns the change as a unified diff.
    pub fn diff(&self) -> String {
        let [before, after] = [&self.before, &self.after].map(|text| text.as_deref().unwrap_or(""));
        let name = gemini_tools_core::text::show_path(&self.path);
        diff_texts(before, after, &name).0
    }

    pub(super) fn check(&self, owner: FileOwner<'_>) -> Result<(), InitError> {
        if read(&self.path, owner)? == self.before && real(&self.path)? == self.real {
            return Ok(());
        }
        let reason = "it has changed meanwhile; look again";
        Err(InitError::new(&self.path, reason))
    }

    pub(super) fn make(&self, owner: FileOwner<'_>) -> Result<(), InitError> {
        self.check(owner)?;
        let fail = |e: io::Error| InitError::new(&self.path, e);
        match &self.after {
            None => fs::remove_file(&self.path).map_err(fail),
            Some(text) => {
                // The user's settings of other hosts often contain secrets.
                let mode = match (&self.edit, owner) {
                    (
                        Some(Edit {
                            keeps_copy: true, ..
                        }),
                        FileOwner::Users,
                    ) => 0o600,
                    _ => 0o644,
                };
                write(&self.real, text, mode).map_err(fail)
            }
        }
    }
}

pub(super) fn copy(from: &Path, to: &Path, text: &str) -> io::Result<()> {
    let permissions = Some(fs::metadata(from)?.permissions());
    atomic_file::put(to, text.as_bytes(), 0o600, permissions, true)
}

/// Replaces a file atomically and keeps its permissions; a new file gets `mode`. `real` must have
/// its links resolved, or the link would be replaced.
pub(super) fn write(real: &Path, text: &str, mode: u32) -> io::Result<()> {
    fs::create_dir_all(real.parent().ok_or(io::ErrorKind::InvalidInput)?)?;
    let permissions = fs::metadata(real).ok().map(|m| m.permissions());
    atomic_file::put(real, text.as_bytes(), mode, permissions, true)
}
