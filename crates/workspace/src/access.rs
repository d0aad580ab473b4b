//! The access of a file that is replaced: the one that takes its place has exactly the same, or
//! the write is refused. What a new file inherits from its directory counts no more.

use super::{OpenFile, show_name, system_error};
use gemini_tools_core::tool::{ErrorKind, ToolError};
use rustix::fs::{Gid, Mode, Stat, Uid, XattrFlags};
use rustix::io::Errno;
use std::fs::File;
use std::path::Path;

/// Gives the new file the access of the old one.
///
/// # Errors
///
/// Returns `permission_denied` if it would belong to another user or group, `file_write_failure` where
/// a part can't be kept, or the operating system's error.
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

/// A reason why a file can't have the same access as another.
#[derive(Debug)]
enum NotKept {
    /// The operating system's error.
    System(Errno),
    /// The file would belong to another user or group.
    Owner {
        /// The user and the group of the old file.
        before: (u32, u32),
        /// The user and the group that the new file would have.
        now: (u32, u32),
    },
    /// The system gives it another mode than this, in octal digits.
    Mode(String),
    /// The attributes can't be listed.
    Attributes(Errno),
    /// The attribute of this name can't be kept.
    Attribute(Vec<u8>, Errno),
}

/// Gives a new file the owner, mode and extended attributes of an old one, of which `old` is known.
///
/// # Errors
///
/// [`NotKept`].
fn copy(from: &File, old: &Stat, to: &File) -> Result<(), NotKept> {
    let new = rustix::fs::fstat(to).map_err(NotKept::System)?;
    if owners(&new) != owners(old) {
        let (uid, gid) = (Uid::from_raw(old.st_uid), Gid::from_raw(old.st_gid));
        // Whether it has helped is seen below.
        let _ = rustix::fs::fchown(to, Some(uid), Some(gid))
            .or_else(|_| rustix::fs::fchown(to, None, Some(gid)));
    }
    keep_attributes(from, to)?;
    let mode = old.st_mode & 0o7777;
    // Whether it has helped is seen below: not all file systems have modes.
    let _ = rustix::fs::fchmod(to, Mode::from_raw_mode(mode));
    let new = rustix::fs::fstat(to).map_err(NotKept::System)?;
    let (before, now) = (owners(old), owners(&new));
    if now != before {
        return Err(NotKept::Owner { before, now });
    }
    if new.st_mode & 0o7777 != mode {
        return Err(NotKept::Mode(format!("{mode:04o}")));
    }
    Ok(())
}

fn owners(stat: &Stat) -> (u32, u32) {
    (stat.st_uid, stat.st_gid)
}

fn keep_attributes(from: &File, to: &File) -> Result<(), NotKept> {
    let fail = |e: Errno| match e {
        Errno::NOSPC | Errno::DQUOT => NotKept::System(e),
        _ => NotKept::Attributes(e),
    };
    let kept = attributes(from).map_err(fail)?;
    let inherited = attributes(to).map_err(fail)?;
    for name in names(&inherited).filter(|name| is_access_list(name)) {
        if !names(&kept).any(|kept| kept == name) {
            rustix::fs::fremovexattr(to, name)
                .map_err(|e| NotKept::Attribute(name.to_owned(), e))?;
        }
    }
    for name in names(&kept).filter(|name| !is_of_the_content(name)) {
        let value = match value(from, name) {
            Ok(value) => value,
            // It has gone since.
            Err(Errno::NODATA) => continue,
            Err(_) if !must_be_kept(name) => continue,
            Err(e) => return Err(NotKept::Attribute(name.to_owned(), e)),
        };
        let set = rustix::fs::fsetxattr(to, name, &value, XattrFlags::empty());
        match set {
            Err(e @ (Errno::NOSPC | Errno::DQUOT)) => return Err(NotKept::System(e)),
            // The new file may have got the same one.
            Err(e) if must_be_kept(name) && self::value(to, name).ok().as_ref() != Some(&value) => {
                return Err(NotKept::Attribute(name.to_owned(), e));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Returns true if an attribute says who may do what.
fn is_access_list(name: &[u8]) -> bool {
    name.starts_with(b"system.")
}

/// Returns true if an attribute is about the content, so that the system makes it anew.
fn is_of_the_content(name: &[u8]) -> bool {
    [&b"security.ima"[..], b"security.evm"].contains(&name)
}

/// Returns true if a file without an attribute would not be the same to its users. Capabilities only
/// widen what it may do, and a write in place takes them away as well. What begins otherwise is
/// the system's own.
fn must_be_kept(name: &[u8]) -> bool {
    let prefixes = [&b"system."[..], b"security.", b"user."];
    prefixes.iter().any(|prefix| name.starts_with(prefix)) && name != b"security.capability"
}

/// Returns the names of all attributes of a file, each with a NUL.
fn attributes(file: &File) -> Result<Vec<u8>, Errno> {
    match grown(|buffer| rustix::fs::flistxattr(file, buffer)) {
        Err(Errno::NOTSUP | Errno::NOSYS) => Ok(Vec::new()),
        other => other,
    }
}

fn names(list: &[u8]) -> impl Iterator<Item = &[u8]> {
    list.split(|b| *b == 0).filter(|name| !name.is_empty())
}

fn value(file: &File, name: &[u8]) -> Result<Vec<u8>, Errno> {
    grown(|buffer| rustix::fs::fgetxattr(file, name, buffer))
}

/// Returns what a call puts into a buffer that is as large as it needs.
fn grown(call: impl Fn(&mut [u8]) -> Result<usize, Errno>) -> Result<Vec<u8>, Errno> {
    let mut buffer = vec![0_u8; 1024];
    loop {
        match call(&mut buffer) {
            Ok(length) => {
                buffer.truncate(length);
                return Ok(buffer);
            }
            Err(Errno::RANGE) => {
                // Without room, the call says how much it wants; that may grow meanwhile.
                let wanted = call(&mut [])?;
                buffer.resize(wanted.max(buffer.len() * 2), 0);
            }
            Err(errno) => return Err(errno),
        }
    }
}
