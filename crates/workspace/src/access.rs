//! The access of a file that is replaced: the one that takes its place has exactly the same, or
//! the write is refused.
//!
//! That is its owner, its group, its mode and its extended attributes, access lists and the
//! labels of the system among them. What a new file inherits from its directory counts no more.

use super::OpenFile;
#[cfg(unix)]
use super::system_error;
#[cfg(unix)]
use gemini_tools_core::tool::ErrorKind;
use gemini_tools_core::tool::ToolError;
#[cfg(unix)]
use gemini_tools_platform::fs::{Gid, Mode, Stat, Uid, XattrFlags};
use gemini_tools_platform::io::Errno;
use std::fs::File;
use std::path::Path;

/// Gives the new file the list of the old one that says who may do what. Where the file system
/// has no such lists there is nothing to give.
///
/// # Errors
///
/// What the system says.
#[cfg(windows)]
pub(super) fn keep(file: &File, current: &OpenFile, path: &Path) -> Result<(), ToolError> {
    match gemini_tools_platform::fs::copy_access(&current.file, file) {
        Err(Errno::NOTSUP | Errno::INVAL | Errno::NOSYS) => Ok(()),
        other => other.map_err(|e| super::io_error(&e.into(), path)),
    }
}

/// Gives the new file the owner, mode and extended attributes of the old one.
///
/// # Errors
///
/// `permission_denied` where it would belong to another user or group, `file_write_failure` where
/// an attribute can't be kept, or what the system says.
#[cfg(unix)]
pub(super) fn keep(file: &File, current: &OpenFile, path: &Path) -> Result<(), ToolError> {
    let fail = |e: Errno| system_error(e, &path.display().to_string());
    let old = &current.stat;
    let new = gemini_tools_platform::fs::fstat(file).map_err(fail)?;
    if owners(&new) != owners(old) {
        let (uid, gid) = (Uid::from_raw(old.st_uid), Gid::from_raw(old.st_gid));
        // Whether it has helped is seen below.
        let _ = gemini_tools_platform::fs::fchown(file, Some(uid), Some(gid))
            .or_else(|_| gemini_tools_platform::fs::fchown(file, None, Some(gid)));
    }
    keep_attributes(file, &current.file, path)?;
    let mode = old.st_mode & 0o7777;
    // Whether it has helped is seen below: not all file systems have modes.
    let _ = gemini_tools_platform::fs::fchmod(file, Mode::from_raw_mode(mode));
    let new = gemini_tools_platform::fs::fstat(file).map_err(fail)?;
    if owners(&new) != owners(old) {
        return Err(ToolError::new(
            ErrorKind::PermissionDenied,
            format!(
                "{} belongs to user {} and group {}, and what is written here in its place would \
                 belong to user {} and group {}; nothing was changed.",
                path.display(),
                old.st_uid,
                old.st_gid,
                new.st_uid,
                new.st_gid
            ),
        )
        .with_hint("Its owner can edit it, or a command that writes to it in place."));
    }
    if new.st_mode & 0o7777 != mode {
        return Err(not_kept(
            path,
            &format!("mode {mode:04o}"),
            "the system gives it another one",
        ));
    }
    Ok(())
}

#[cfg(unix)]
fn owners(stat: &Stat) -> (u32, u32) {
    (stat.st_uid, stat.st_gid)
}

#[cfg(unix)]
fn not_kept(path: &Path, what: &str, why: &str) -> ToolError {
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

#[cfg(unix)]
fn keep_attributes(to: &File, from: &File, path: &Path) -> Result<(), ToolError> {
    let fail = |e: Errno| match e {
        Errno::NOSPC | Errno::DQUOT => system_error(e, &path.display().to_string()),
        _ => not_kept(path, "list of attributes", &e.to_string()),
    };
    let kept = attributes(from).map_err(fail)?;
    let inherited = attributes(to).map_err(fail)?;
    for name in names(&inherited).filter(|name| is_access_list(name)) {
        if !names(&kept).any(|kept| kept == name) {
            gemini_tools_platform::fs::fremovexattr(to, name)
                .map_err(|e| not_kept(path, &shown_attribute(name), &e.to_string()))?;
        }
    }
    for name in names(&kept).filter(|name| !is_of_the_content(name)) {
        let value = match value(from, name) {
            Ok(value) => value,
            // It has gone since.
            Err(Errno::NODATA) => continue,
            Err(_) if !must_be_kept(name) => continue,
            Err(e) => return Err(not_kept(path, &shown_attribute(name), &e.to_string())),
        };
        let set = gemini_tools_platform::fs::fsetxattr(to, name, &value, XattrFlags::empty());
        match set {
            Err(e @ (Errno::NOSPC | Errno::DQUOT)) => return Err(fail(e)),
            // The new file may have got the same one.
            Err(e) if must_be_kept(name) && self::value(to, name).ok().as_ref() != Some(&value) => {
                return Err(not_kept(path, &shown_attribute(name), &e.to_string()));
            }
            _ => {}
        }
    }
    Ok(())
}

/// An attribute's name in a message.
#[cfg(unix)]
fn shown_attribute(name: &[u8]) -> String {
    format!("attribute {}", super::show_name(name))
}

/// Whether an attribute says who may do what.
#[cfg(unix)]
fn is_access_list(name: &[u8]) -> bool {
    name.starts_with(b"system.")
}

/// Whether an attribute is about the content, so that the system makes it anew.
#[cfg(unix)]
fn is_of_the_content(name: &[u8]) -> bool {
    [&b"security.ima"[..], b"security.evm"].contains(&name)
}

/// Whether a file without an attribute would not be the same to its users. Capabilities only
/// widen what it may do, and a write in place takes them away as well. What begins otherwise is
/// the system's own.
#[cfg(unix)]
fn must_be_kept(name: &[u8]) -> bool {
    let prefixes = [&b"system."[..], b"security.", b"user."];
    prefixes.iter().any(|prefix| name.starts_with(prefix)) && name != b"security.capability"
}

/// The names of all attributes of a file, each with a NUL.
#[cfg(unix)]
fn attributes(file: &File) -> Result<Vec<u8>, Errno> {
    match grown(|buffer| gemini_tools_platform::fs::flistxattr(file, buffer)) {
        Err(Errno::NOTSUP | Errno::NOSYS) => Ok(Vec::new()),
        other => other,
    }
}

#[cfg(unix)]
fn names(list: &[u8]) -> impl Iterator<Item = &[u8]> {
    list.split(|b| *b == 0).filter(|name| !name.is_empty())
}

#[cfg(unix)]
fn value(file: &File, name: &[u8]) -> Result<Vec<u8>, Errno> {
    grown(|buffer| gemini_tools_platform::fs::fgetxattr(file, name, buffer))
}

/// What a call puts into a buffer that is as large as it needs.
#[cfg(unix)]
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
