//! Copies the access rights of a file that is replaced: the new file gets the same owner, mode and
//! extended attributes, or the write is refused. An access list that the new file inherits from its
//! directory is removed, or replacing a file could open it to others.

use super::{OpenFile, show_name, system_error};
use gemini_tools_core::tool::{ErrorKind, ToolError};
use rustix::fs::{Gid, Mode, Stat, Uid, XattrFlags};
use rustix::io::Errno;
use std::fs::File;
use std::path::Path;

/// Gives the new file the owner, mode and extended attributes of the old one.
///
/// # Errors
///
/// Returns `permission_denied` if the new file would belong to another user or group,
/// `file_write_failure` if its mode or an attribute can't be kept, or the operating system's error.
pub(super) fn keep(file: &File, current: &OpenFile, path: &Path) -> Result<(), ToolError> {
    let fail = |errno| system_error(errno, &path.display().to_string());
    let old = &current.stat;
    let new = rustix::fs::fstat(file).map_err(fail)?;
    if owners(&new) != owners(old) {
        let (uid, gid) = (Uid::from_raw(old.st_uid), Gid::from_raw(old.st_gid));
        // A failure shows below, where the owners are compared.
        let _ = rustix::fs::fchown(file, Some(uid), Some(gid))
            .or_else(|_| rustix::fs::fchown(file, None, Some(gid)));
    }
    keep_attributes(&current.file, file, |name| !is_of_the_content(name)).map_err(
        |(what, errno)| match errno {
            Errno::NOSPC | Errno::DQUOT => fail(errno),
            _ => refused(path, &what, &errno.to_string()),
        },
    )?;
    let mode = old.st_mode & 0o7777;
    // A failure shows below, where the modes are compared. Not all file systems have modes.
    let _ = rustix::fs::fchmod(file, Mode::from_raw_mode(mode));
    let new = rustix::fs::fstat(file).map_err(fail)?;
    if owners(&new) != owners(old) {
        return Err(another_owner(path, owners(old), owners(&new)));
    }
    if new.st_mode & 0o7777 != mode {
        let what = format!("mode {mode:04o}");
        return Err(refused(path, &what, "the system gives it another one"));
    }
    Ok(())
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

fn owners(stat: &Stat) -> (u32, u32) {
    (stat.st_uid, stat.st_gid)
}

/// Copies the extended attributes that are wanted from one file to another, and removes an access
/// list that only the other one has, such as one that it has inherited from its directory.
///
/// # Errors
///
/// Returns the name of the attribute that can't be kept, and why.
fn keep_attributes(
    from: &File,
    to: &File,
    is_wanted: fn(&[u8]) -> bool,
) -> Result<(), (String, Errno)> {
    let list = |file| attributes(file).map_err(|e| ("list of attributes".to_owned(), e));
    let (kept, present) = (list(from)?, list(to)?);
    let attribute = |name: &[u8], errno| (format!("attribute {}", show_name(name)), errno);
    for name in names(&present).filter(|name| is_access_list(name)) {
        if !names(&kept).any(|kept| kept == name) {
            rustix::fs::fremovexattr(to, name).map_err(|e| attribute(name, e))?;
        }
    }
    for name in names(&kept).filter(|name| is_wanted(name)) {
        let value = match value(from, name) {
            Ok(value) => value,
            // The attribute was removed after it had been listed.
            Err(Errno::NODATA) => continue,
            Err(_) if !must_be_kept(name) => continue,
            Err(e) => return Err(attribute(name, e)),
        };
        let set = rustix::fs::fsetxattr(to, name, &value, XattrFlags::empty());
        match set {
            Err(e @ (Errno::NOSPC | Errno::DQUOT)) => return Err(attribute(name, e)),
            // The attribute can't be set. That is an error only if the new file does not have the
            // same value already.
            Err(e) if must_be_kept(name) && self::value(to, name).ok().as_ref() != Some(&value) => {
                return Err(attribute(name, e));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Gives a file the access lists that another one has, and no others. Where they are on two file
/// systems nothing is changed, because one of them may have no access lists: the list that the
/// other file had was lost then when that was copied.
///
/// # Errors
///
/// Returns the name of the attribute that can't be kept, and why.
pub(crate) fn keep_lists(from: &File, to: &File) -> Result<(), (String, Errno)> {
    let device = |file| rustix::fs::fstat(file).map(|stat| stat.st_dev);
    if device(from) != device(to) {
        return Ok(());
    }
    keep_attributes(from, to, is_access_list)
}

fn is_access_list(name: &[u8]) -> bool {
    name.starts_with(b"system.")
}

fn is_of_the_content(name: &[u8]) -> bool {
    [&b"security.ima"[..], b"security.evm"].contains(&name)
}

/// Returns true if the write must be refused when this attribute can't be copied. File capabilities
/// may be lost: they only widen what a program may do, and a write in place drops them too.
/// Attributes with other prefixes belong to the system.
fn must_be_kept(name: &[u8]) -> bool {
    let prefixes = [&b"system."[..], b"security.", b"user."];
    prefixes.iter().any(|prefix| name.starts_with(prefix)) && name != b"security.capability"
}

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

fn grown(call: impl Fn(&mut [u8]) -> Result<usize, Errno>) -> Result<Vec<u8>, Errno> {
    let mut buffer = vec![0_u8; 1024];
    loop {
        match call(&mut buffer) {
            Ok(length) => {
                buffer.truncate(length);
                return Ok(buffer);
            }
            Err(Errno::RANGE) => {
                // With an empty buffer, the call returns the size that it needs. If the attribute
                // grows before the next call, that one fails and the loop goes on.
                let wanted = call(&mut [])?;
                buffer.resize(wanted.max(buffer.len() * 2), 0);
            }
            Err(errno) => return Err(errno),
        }
    }
}
