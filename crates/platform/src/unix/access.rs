//! Owner, group, mode and extended attributes, access lists and the labels of the system among
//! them. What a new file inherits from its directory counts no more.

use crate::access::NotKept;
use rustix::fs::{Gid, Mode, Stat, Uid, XattrFlags};
use rustix::io::Errno;
use std::fs::File;

/// Gives a new file the owner, mode and extended attributes of an old one, of which `old` is known.
///
/// # Errors
///
/// [`NotKept`].
pub fn copy(from: &File, old: &Stat, to: &File) -> Result<(), NotKept> {
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

/// Whether an attribute says who may do what.
fn is_access_list(name: &[u8]) -> bool {
    name.starts_with(b"system.")
}

/// Whether an attribute is about the content, so that the system makes it anew.
fn is_of_the_content(name: &[u8]) -> bool {
    [&b"security.ima"[..], b"security.evm"].contains(&name)
}

/// Whether a file without an attribute would not be the same to its users. Capabilities only
/// widen what it may do, and a write in place takes them away as well. What begins otherwise is
/// the system's own.
fn must_be_kept(name: &[u8]) -> bool {
    let prefixes = [&b"system."[..], b"security.", b"user."];
    prefixes.iter().any(|prefix| name.starts_with(prefix)) && name != b"security.capability"
}

/// The names of all attributes of a file, each with a NUL.
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

/// What a call puts into a buffer that is as large as it needs.
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
