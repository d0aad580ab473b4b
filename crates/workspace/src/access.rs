//! The access of a file that is replaced: the one that takes its place has exactly the same, or
//! the write is refused.

use super::{OpenFile, show_name, system_error};
use gemini_tools_core::tool::{ErrorKind, ToolError};
use gemini_tools_platform::access::{NotKept, copy};
use std::fs::File;
use std::path::Path;

/// Gives the new file the access of the old one.
///
/// # Errors
///
/// `permission_denied` where it would belong to another user or group, `file_write_failure` where
/// a part can't be kept, or what the system says.
pub(super) fn keep(file: &File, current: &OpenFile, path: &Path) -> Result<(), ToolError> {
    copy(&current.file, &current.stat, file).map_err(|not_kept| match not_kept {
        NotKept::System(errno) => system_error(errno, &path.display().to_string()),
        NotKept::Owner { before, now } => another_owner(path, before, now),
        NotKept::Mode(mode) => refused(
            path,
            &format!("mode {mode}"),
            "the system gives it another one",
        ),
        NotKept::Attributes(errno) => refused(path, "list of attributes", &errno.to_string()),
        NotKept::Attribute(name, errno) => refused(
            path,
            &format!("attribute {}", show_name(&name)),
            &errno.to_string(),
        ),
    })
}

fn another_owner(path: &Path, before: (u32, u32), now: (u32, u32)) -> ToolError {
    ToolError::new(
        ErrorKind::PermissionDenied,
        format!(
            "{} belongs to user {} and group {}, and what is written here in its place would \
             belong to user {} and group {}; nothing was changed.",
            path.display(),
            before.0,
            before.1,
            now.0,
            now.1
        ),
    )
    .with_hint("Its owner can edit it, or a command that writes to it in place.")
}

fn refused(path: &Path, what: &str, why: &str) -> ToolError {
    ToolError::new(
        ErrorKind::FileWriteFailure,
        format!(
            "{} can't be replaced by a file with the same access: its {what} can't be kept \
             ({why}). Nothing was changed.",
            path.display()
        ),
    )
    .with_hint("A command that writes to it in place keeps it.")
}
