//! The files of a directory of tools: what is known of them without reading, and their
//! beginnings.

use rustix::fs::{AtFlags, CWD, FileType, OFlags, Stat};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// What changes when a file does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    size: u64,
    modified: i128,
    changed: i128,
    inode: u64,
    device: u64,
}

impl Stamp {
    fn new(stat: &Stat) -> Self {
        let nanos = |secs: i64, nanos: i128| i128::from(secs) * 1_000_000_000 + nanos;
        Self {
            size: stat.st_size as u64,
            modified: nanos(stat.st_mtime, i128::from(stat.st_mtime_nsec)),
            changed: nanos(stat.st_ctime, i128::from(stat.st_ctime_nsec)),
            inode: stat.st_ino,
            device: stat.st_dev,
        }
    }

    /// Of what a path leads to.
    pub(super) fn of(path: &Path) -> Option<Self> {
        let stat = rustix::fs::statat(CWD, path, AtFlags::empty()).ok()?;
        Some(Self::new(&stat))
    }

    /// Whether a change in the same tick of the clock as `written` could have gone unseen: git's
    /// rule for its index.
    pub(super) fn is_racy(&self, written: i128) -> bool {
        /// The kernel's clock for files moves in such steps at most, in nanoseconds.
        const TICK: i128 = 20_000_000;
        self.modified.max(self.changed) + TICK >= written
    }

    pub(super) fn modified(&self) -> i128 {
        self.modified
    }

    pub(super) fn to_text(self) -> String {
        format!(
            "{:x},{:x},{:x},{:x},{:x}",
            self.size, self.modified, self.changed, self.inode, self.device
        )
    }

    pub(super) fn from_text(text: &str) -> Option<Self> {
        let mut fields = text.split(',');
        let mut next = || fields.next();
        let stamp = Self {
            size: u64::from_str_radix(next()?, 16).ok()?,
            modified: i128::from_str_radix(next()?, 16).ok()?,
            changed: i128::from_str_radix(next()?, 16).ok()?,
            inode: u64::from_str_radix(next()?, 16).ok()?,
            device: u64::from_str_radix(next()?, 16).ok()?,
        };
        Some(stamp)
    }
}

/// The regular files of a directory that may be tools, sorted by name, each with its stamp and
/// whether it may be executed. Links are followed.
pub(super) fn list(directory: &Path) -> Vec<(Vec<u8>, Stamp, bool)> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let Ok(dir) = rustix::fs::open(directory, flags, rustix::fs::Mode::empty()) else {
        return Vec::new();
    };
    let Ok(entries) = rustix::fs::Dir::read_from(&dir) else {
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
        let Ok(stat) = rustix::fs::statat(&dir, entry.file_name(), AtFlags::empty()) else {
            continue;
        };
        if FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile {
            let is_executable = stat.st_mode & 0o111 != 0;
            files.push((name.to_owned(), Stamp::new(&stat), is_executable));
        }
    }
    files.sort_unstable_by(|a, b| a.0.cmp(&b.0));
    files
}

/// At most `limit` bytes of a regular file's beginning; nothing else is opened, or waited for.
pub(super) fn beginning(path: &Path, limit: u64) -> Option<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, rustix::fs::Mode::empty()).ok()?);
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
