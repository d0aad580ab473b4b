//! A file that is to be changed.

use super::record::Edit;
use crate::hosts::owner;
use gemini_tools_workspace::atomic_file;
use gemini_tools_workspace::edit::diff_texts;
use gemini_tools_workspace::file_owner::FileOwner;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The maximum size of a settings file, in bytes.
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

/// The purpose of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// The settings name the two commands.
    Commands,
    /// Rules for calls that need no approval.
    Rules,
    /// Gemini CLI's list of trusted folders names the project.
    Trust,
    /// Gemini CLI gets answers in the form for hosts.
    HostForm,
    /// Another host gets an entry for `serve_tools`.
    Server,
    /// The host gets the skill, a text about the tools for its model.
    Skill,
    /// Undo of an earlier `init`.
    Undo,
}

impl Purpose {
    /// Returns a sentence about the change, for the user who is asked.
    pub fn description(self) -> &'static str {
        match self {
            Self::Commands => "Gemini CLI gets its tools from get_tools and call_tool.",
            Self::Rules => {
                "Gemini CLI lets a model call these tools without asking, also without a terminal."
            }
            Self::Trust => {
                "From now on Gemini CLI and get_tools trust this directory with all that comes into it."
            }
            Self::HostForm => {
                "In all of your projects Gemini CLI shows you, and the model, text instead of JSON."
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
    /// Path with its links followed.
    pub real: PathBuf,
    /// The text now; `None` where there is no file.
    pub before: Option<String>,
    /// The text afterwards; `None` where it is removed.
    pub after: Option<String>,
    /// The purpose.
    pub purpose: Purpose,
    /// The piece that is put in or taken out, where no copy of the whole is to be kept.
    pub(super) edit: Option<Edit>,
}

/// Reads a file's text; `None` where there is no such file.
pub(super) fn read(path: &Path, owner: FileOwner<'_>) -> Result<Option<String>, InitError> {
    let fail = |e: &dyn fmt::Display| InitError::new(path, e);
    let opened = owner.beginning(path, MAX_BYTES + 1).map_err(|e| fail(&e))?;
    let Some(bytes) = opened else {
        // A write would replace such a link by a file, and leave its target as it is.
        return dangling(path).map_or(Ok(None), Err);
    };
    if bytes.len() as u64 > MAX_BYTES {
        return Err(fail(&"it is too large"));
    }
    let text = String::from_utf8(bytes).map_err(|_| fail(&"it is not text in UTF-8"))?;
    Ok(Some(text))
}

pub(super) fn dangling(path: &Path) -> Option<InitError> {
    let target = fs::read_link(path).ok().filter(|_| !path.exists())?;
    let target = gemini_tools_core::text::show_path(&target);
    let reason =
        format!("it is a link to {target}, which is not there: make that file, or remove the link");
    Some(InitError::new(path, reason))
}

/// Follows the links of a path. What of it is not there yet counts as it is written.
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
    Ok(if rest.as_os_str().is_empty() {
        real
    } else {
        real.join(rest)
    })
}

#[derive(Debug, Clone)]
pub(super) struct Project {
    root: PathBuf,
    /// The project's directory, as it is written.
    written: PathBuf,
    home: PathBuf,
    /// The directory in the project whose files are the project's.
    own: PathBuf,
    /// The user's own files, which may lie in the project too.
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
            // Without links followed it is still the path of no other file.
            users: real(&users).unwrap_or(users),
        })
    }

    pub(super) fn owner_of(&self, path: &Path) -> FileOwner<'_> {
        owner(path.starts_with(&self.own), &self.home, &self.written)
    }

    /// Follows the links of a file that is the project's, or the user's.
    ///
    /// # Errors
    ///
    /// A file of the project leads out of it, or to the user's own files: a repository could have
    /// anything written there.
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

/// Lists the directories above a file that are not there, the highest first.
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
        let (before, after) = (self.before.as_deref(), self.after.as_deref());
        if let Some(Edit::Line(line)) = &self.edit {
            let has_it = after.is_some_and(|after| after.contains(line.trim()));
            let sign = if has_it { '+' } else { '-' };
            return format!("{sign}{}\n", line.trim());
        }
        let name = gemini_tools_core::text::show_path(&self.path);
        diff_texts(before.unwrap_or_default(), after.unwrap_or_default(), &name).0
    }

    /// Returns true if [`FileChange::diff`] has the heads of a unified diff, which it does not where the
    /// file's text must not be shown.
    pub fn shows_a_diff(&self) -> bool {
        !matches!(self.edit, Some(Edit::Line(_)))
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
                // A new file whose like holds secrets is for the user alone.
                let mode = match (&self.edit, owner) {
                    (Some(Edit::Line(_)), _) | (Some(Edit::Entry(_)), FileOwner::Users) => 0o600,
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

/// Writes a file as a whole, with the permissions that it has; a new one with `mode`. Links are
/// followed before.
pub(super) fn write(real: &Path, text: &str, mode: u32) -> io::Result<()> {
    fs::create_dir_all(real.parent().ok_or(io::ErrorKind::InvalidInput)?)?;
    let permissions = fs::metadata(real).ok().map(|m| m.permissions());
    atomic_file::put(real, text.as_bytes(), mode, permissions, true)
}
