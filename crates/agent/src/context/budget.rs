//! A budget for the text of the memory, and reading files within it.

use gemini_tools_core::tool::{ErrorKind, ToolError};
use gemini_tools_workspace::OpenFile;
use gemini_tools_workspace::text::{ContentKind, detect};
use std::fmt;
use std::io::Read;

/// Maximum bytes taken of one file.
const MAX_FILE_BYTES: usize = 256 * 1024;

/// Maximum bytes taken in all.
const MAX_TOTAL_BYTES: usize = 1024 * 1024;

/// The room that is left.
#[derive(Debug)]
pub(super) struct Budget {
    left_bytes: usize,
    /// Files and imports for which there was no room any more.
    pub(super) left_out: usize,
}

impl Budget {
    pub(super) fn new() -> Self {
        Self {
            left_bytes: MAX_TOTAL_BYTES,
            left_out: 0,
        }
    }

    /// Takes room for a text; says whether there was any.
    pub(super) fn take(&mut self, bytes: usize) -> bool {
        let had_room = self.left_bytes > 0;
        self.left_bytes = self.left_bytes.saturating_sub(bytes);
        had_room
    }

    /// Reads a file. Where it is too long its beginning is given, and a comment says so.
    pub(super) fn read(&mut self, open: &OpenFile) -> Result<String, NotRead> {
        if !self.take(0) {
            return Err(NotRead::NoRoom);
        }
        let limit = self.left_bytes.min(MAX_FILE_BYTES);
        let mut bytes = Vec::new();
        (&open.file)
            .take(limit as u64 + 1)
            .read_to_end(&mut bytes)
            .map_err(|_| NotRead::Unreadable)?;
        let is_whole = bytes.len() <= limit;
        bytes.truncate(limit);
        let ContentKind::Text(encoding) = detect(&bytes, is_whole) else {
            return Err(NotRead::Binary);
        };
        let mut text = encoding.decode(&bytes).into_owned();
        if !is_whole {
            // The last line may be cut in the middle of a character.
            let end = text.rfind('\n').map_or(0, |i| i + 1);
            let end = if end > 0 {
                end
            } else {
                text.trim_end_matches('\u{fffd}').len()
            };
            text.truncate(end);
            text.push_str(&format!(
                "\n<!-- Cut here: of {} bytes only the first {end} are shown. -->",
                open.size()
            ));
        }
        self.take(text.len());
        Ok(text)
    }
}

/// The reason why a file is not in the memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NotRead {
    Missing,
    Outside,
    Closed,
    Directory,
    Special,
    Binary,
    NotPermitted,
    Cycle,
    TooDeep,
    NoRoom,
    Unreadable,
}

impl From<ToolError> for NotRead {
    fn from(error: ToolError) -> Self {
        match error.kind {
            ErrorKind::FileNotFound | ErrorKind::PathIsNotADirectory => NotRead::Missing,
            ErrorKind::PathNotInWorkspace => NotRead::Outside,
            ErrorKind::TargetIsDirectory => NotRead::Directory,
            ErrorKind::PermissionDenied => NotRead::NotPermitted,
            ErrorKind::ReadContentFailure => NotRead::Special,
            _ => NotRead::Unreadable,
        }
    }
}

impl fmt::Display for NotRead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NotRead::Missing => "there is no such file",
            NotRead::Outside => "it lies outside of the directory that files may come from",
            NotRead::Closed => ".geminiignore closes it",
            NotRead::Directory => "it is a directory",
            NotRead::Special => "it is not a regular file",
            NotRead::Binary => "it is not text",
            NotRead::NotPermitted => "the system does not permit it",
            NotRead::Cycle => "it would import itself",
            NotRead::TooDeep => "imports are nested too deep",
            NotRead::NoRoom => "there is no room left",
            NotRead::Unreadable => "it can't be read",
        })
    }
}
