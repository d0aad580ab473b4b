//! The files of a directory of tools: what is known of them without reading, and their
//! beginnings.

use crate::shown::show_path;
use crate::sys::fs::{AtFlags, FileType, OFlags};
use crate::workspace::stamp::Stamp;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

#[cfg(unix)]
fn may_be_executed(stat: &crate::sys::fs::Stat, _name: &[u8]) -> bool {
    stat.st_mode & 0o111 != 0
}

#[cfg(windows)]
fn may_be_executed(_stat: &crate::sys::fs::Stat, name: &[u8]) -> bool {
    crate::process::command::has_program_ending(Path::new(&*crate::shown::show_name(name)))
}

/// Whether anybody may execute a file.
#[cfg(unix)]
pub(super) fn is_executable(file: &Path) -> bool {
    use crate::sys::unix_fs::PermissionsExt;
    file.metadata()
        .is_ok_and(|m| m.permissions().mode() & 0o111 != 0)
}

/// Whether a file's ending is that of a program.
#[cfg(windows)]
pub(super) fn is_executable(file: &Path) -> bool {
    crate::process::command::is_program(file)
}

/// Whether two files of tools say the same, so that nothing is lost where only one counts: with
/// `get_tools init` a user and their project get the same example.
pub(super) fn are_same(one: &Path, other: &Path) -> bool {
    let text = |path| beginning(path, super::MAX_MANIFEST_BYTES);
    // What lies beside them need not be the same.
    let is_alone = |text: &[u8]| {
        let text = String::from_utf8_lossy(text);
        !text.contains("{@dir}") && !text.contains("GEMINI_TOOL_DIR")
    };
    text(one).is_some_and(|one| is_alone(&one) && text(other).as_ref() == Some(&one))
}

/// The regular files of a directory that may be tools, sorted by name, each with its stamp and
/// whether it may be executed. Links are followed.
pub(super) fn list(directory: &Path) -> Vec<(Vec<u8>, Stamp, bool)> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let Ok(dir) = crate::sys::fs::open(directory, flags, crate::sys::fs::Mode::empty()) else {
        return Vec::new();
    };
    let Ok(entries) = crate::sys::fs::Dir::read_from(&dir) else {
        return Vec::new();
    };
    let mut files = Vec::new();
    for entry in entries.flatten() {
        let name = entry.file_name().to_bytes();
        if name.starts_with(b".")
            || name.ends_with(b"~")
            || entry.file_type() == FileType::Directory
        {
            continue;
        }
        let Ok(stat) = crate::sys::fs::statat(&dir, entry.file_name(), AtFlags::empty()) else {
            continue;
        };
        if FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile {
            let is_executable = may_be_executed(&stat, name);
            files.push((name.to_owned(), Stamp::of(&stat), is_executable));
        }
    }
    files.sort_unstable_by(|a, b| a.0.cmp(&b.0));
    files
}

/// What [`list`] leaves out though it looks as if it were to be a tool, sorted by name, each with
/// what it is: links that lead nowhere, and what is no file but called like a manifest.
pub(super) fn oddities(directory: &Path) -> Vec<(PathBuf, String)> {
    let Ok(entries) = std::fs::read_dir(directory) else {
        return Vec::new();
    };
    let paths = entries.flatten().map(|entry| entry.path());
    let mut all: Vec<_> = paths
        .filter(|path| {
            let name = path.file_name().unwrap_or_default().as_encoded_bytes();
            !name.starts_with(b".") && !name.ends_with(b"~")
        })
        .filter_map(|path| Some((what_is_odd(&path)?, path)))
        .map(|(what, path)| (path, what))
        .collect();
    all.sort_unstable();
    all
}

fn what_is_odd(path: &Path) -> Option<String> {
    let own = std::fs::symlink_metadata(path).ok()?.file_type();
    let is_manifest = path.extension().is_some_and(|e| e == "toml");
    let found = match std::fs::metadata(path) {
        Ok(found) if !found.is_file() && is_manifest => found.file_type(),
        Err(e) if own.is_symlink() => {
            let target = std::fs::read_link(path).unwrap_or_default();
            let target = show_path(&target);
            return Some(if e.kind() == std::io::ErrorKind::NotFound {
                format!("It is a link to {target}, which is not there")
            } else {
                format!("It is a link to {target}, which can't be followed: {e}")
            });
        }
        _ => return None,
    };
    let link = if own.is_symlink() { "a link to " } else { "" };
    Some(format!("It is {link}{}, and no file", kind_of(found)))
}

fn kind_of(file_type: std::fs::FileType) -> &'static str {
    if file_type.is_dir() {
        return "a directory";
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        if file_type.is_fifo() {
            return "a FIFO";
        }
        if file_type.is_socket() {
            return "a socket";
        }
    }
    "a device"
}

/// At most `limit` bytes of a regular file's beginning; nothing else is opened, or waited for.
pub(super) fn beginning(path: &Path, limit: u64) -> Option<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(crate::sys::fs::open(path, flags, crate::sys::fs::Mode::empty()).ok()?);
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(limit).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// A text in one field of a line.
pub(super) fn escaped(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for &byte in bytes {
        match byte {
            b'!'..=b'~' if byte != b'%' => out.push(char::from(byte)),
            _ => out.push_str(&format!("%{byte:02x}")),
        }
    }
    out
}

/// The opposite of [`escaped`].
pub(super) fn unescaped(text: &str) -> Option<Vec<u8>> {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut i = 0;
    while i < bytes.len() {
        if bytes[i] == b'%' {
            let hex = std::str::from_utf8(bytes.get(i + 1..i + 3)?).ok()?;
            out.push(u8::from_str_radix(hex, 16).ok()?);
            i += 3;
        } else {
            out.push(bytes[i]);
            i += 1;
        }
    }
    Some(out)
}

pub(super) fn unescaped_text(text: &str) -> Option<String> {
    String::from_utf8(unescaped(text)?).ok()
}
