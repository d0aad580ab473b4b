//! The change of one file, as the journal stores it.

use rustix::fd::AsFd;
use rustix::fs::{AtFlags, Stat, statat};
use rustix::path::Arg;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// The identity of a file, its size and its mtime. Two equal stamps mean the same content, unless a
/// file is written twice within one tick of the clock.
///
/// The numbers are device, inode, size in bytes, and mtime in seconds and nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ContentStamp(u64, u64, u64, i64, i64);

pub(crate) type FileId = (u64, u64);

impl ContentStamp {
    pub(crate) fn at(dir: impl AsFd, name: impl Arg) -> Option<Self> {
        let stat = statat(dir, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        Some(Self::from(&stat))
    }

    /// Returns the size in bytes.
    pub fn size(self) -> u64 {
        self.2
    }

    pub(crate) fn written_at(self) -> u64 {
        u64::try_from(self.3 * 1000 + self.4 / 1_000_000).unwrap_or(0)
    }

    pub(crate) fn file(self) -> FileId {
        (self.0, self.1)
    }

    /// Returns a stamp that tells which file it is, and nothing of its content.
    pub(crate) fn of_any_content(self) -> Self {
        Self(self.0, self.1, 0, 0, 0)
    }
}

impl From<&Stat> for ContentStamp {
    #[expect(clippy::unnecessary_cast, reason = "the types differ between systems")]
    fn from(stat: &Stat) -> Self {
        Self(
            stat.st_dev as u64,
            stat.st_ino as u64,
            stat.st_size as u64,
            stat.st_mtime as i64,
            stat.st_mtime_nsec as i64,
        )
    }
}

/// The state of a file before or after a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileState {
    /// The file's identity, size and mtime.
    pub stamp: ContentStamp,
    /// The permission bits, with those for set-user-ID, set-group-ID and sticky: 12 bits.
    pub mode: u32,
    /// The SHA-256 of the content in hexadecimal digits; `None` if it is large or not to be kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) kind: Option<NodeKind>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) links: Option<u64>,
    /// The user and the group that it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) owner: Option<(u32, u32)>,
}

impl FileState {
    pub(crate) fn is_directory(&self) -> bool {
        self.kind == Some(NodeKind::Directory)
    }

    pub(crate) fn is_file(&self) -> bool {
        self.kind.is_none()
    }

    /// Returns a mode for a file of this owner, as far as a file that was in the state `then` may
    /// have it: what one user has made set-user-ID must not become so for another one.
    pub(crate) fn granted(&self, mode: u32, then: &Self) -> u32 {
        let is_same_owner = self.owner == then.owner || !then.is_file();
        mode & if is_same_owner { 0o7777 } else { 0o1777 }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum NodeKind {
    Directory,
    Link(Vec<u8>),
    Special,
}

/// Where the old content of a file is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OldContent {
    /// The old file itself is in the journal.
    Moved,
    /// A copy of the old file is in the journal.
    Copied,
    /// The content is lost, for this reason. The reason is empty if there was no content to keep.
    Lost(String),
}

impl Default for OldContent {
    fn default() -> Self {
        Self::Lost(String::new())
    }
}

/// A change of a file.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct JournalEntry {
    /// The entry's id, unique in the journal.
    pub id: String,
    /// The time of the change, in milliseconds since 1970.
    pub at: u64,
    /// The program that asked for the change.
    pub by: String,
    /// The session of that program.
    pub session: String,
    /// The tool's name, or `undo`.
    pub tool: String,
    /// The id of the tool call, if it has one. All changes of one undo have the undo's id here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// The id that all changes of one command, or of one change of several files, have in common:
    /// the id of the first of them, or in an undo an id for each command. `None` for a change by
    /// itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The beginning of the command line, or a description of the change of several files; only in
    /// the first of the changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<String>,
    /// The absolute path without links. If it is not UTF-8, `raw` has its bytes.
    pub(crate) path: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) raw: Option<Vec<u8>>,
    /// True for a memory file of the user outside of the project.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub memory: bool,
    /// The file before the change; `None` if there was none.
    pub before: Option<FileState>,
    /// The file after the change; `None` if it was removed.
    pub after: Option<FileState>,
    /// Whether and how the old content is kept.
    #[serde(rename = "kept")]
    pub old_content: OldContent,
    /// Where a command has moved the file from, which is outside of what is kept. It was there
    /// before the command, and nothing but the file at this path has its content now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) moved_from: Option<String>,
    /// How many directories above the file the change has created.
    #[serde(default)]
    pub made: usize,
    /// The ids of the changes that this one has undone, newest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub undoes: Vec<String>,
    #[serde(skip)]
    pub(crate) hour: u64,
}

impl JournalEntry {
    pub(super) fn of_path(id: String, at: u64, path: &Path) -> Self {
        let raw = || path.as_os_str().as_bytes().to_vec();
        Self {
            id,
            at,
            path: path.to_string_lossy().into_owned(),
            raw: path.to_str().is_none().then(raw),
            ..Self::default()
        }
    }

    pub(super) fn push_line(&self, lines: &mut Vec<u8>) -> bool {
        lines.push(b'\n');
        let is_written = serde_json::to_writer(&mut *lines, self).is_ok();
        lines.push(b'\n');
        is_written
    }

    /// Returns the file's path.
    pub fn path(&self) -> Cow<'_, Path> {
        match &self.raw {
            Some(raw) => Cow::Owned(PathBuf::from(OsString::from_vec(raw.clone()))),
            None => Cow::Borrowed(Path::new(&self.path)),
        }
    }

    /// Returns what was done to the file: `created`, `removed` or `changed`.
    pub fn change(&self) -> &'static str {
        match (&self.before, &self.after) {
            (None, _) => "created",
            (_, None) => "removed",
            _ => "changed",
        }
    }

    pub(super) fn changes_nothing(&self) -> bool {
        let states = self.before.as_ref().zip(self.after.as_ref());
        states.is_some_and(|(before, after)| {
            let is_same = before.sha256 == after.sha256 && before.mode == after.mode;
            before.sha256.is_some() && is_same
        })
    }

    pub(super) fn is_a_change(&self) -> bool {
        let (Some(before), Some(after)) = (&self.before, &self.after) else {
            return self.before != self.after;
        };
        let is_same_node = match before.kind {
            None => before.stamp == after.stamp,
            _ => true,
        };
        let has_mode = !matches!(before.kind, Some(NodeKind::Link(_)));
        before.kind != after.kind || !is_same_node || has_mode && before.mode != after.mode
    }

    /// Returns true if the change left the content alone, so that none is kept.
    pub(super) fn is_of_mode(&self) -> bool {
        let stamp = |state: &Option<FileState>| Some(state.as_ref()?.stamp);
        self.old_content == OldContent::default() && stamp(&self.before) == stamp(&self.after)
    }

    /// Returns why the old content is lost; `None` if it is kept or there was none to keep.
    pub fn loss(&self) -> Option<&str> {
        match &self.old_content {
            OldContent::Lost(reason) if !reason.is_empty() => Some(reason),
            _ => None,
        }
    }
}
