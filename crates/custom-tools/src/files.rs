//! The files of a directory of tools: what is known of them without reading, and their
//! beginnings.

use gemini_tools_core::text::show_path;
use gemini_tools_process::program::may_be_executed;
use gemini_tools_workspace::file_owner::{FileOwner, LEADS_OUT};
use gemini_tools_workspace::resolve::ResolveError;
use gemini_tools_workspace::stamp::Stamp;
use rustix::fs::{AtFlags, Dir, FileType, OFlags, Stat, statat};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Returns true if any user may execute a file.
pub(super) fn is_executable(file: &Path, whose: FileOwner<'_>) -> bool {
    whose.stat(file).is_ok_and(|stat| may_be_executed(&stat))
}

/// Returns true if two files of tools have the same content, so that nothing is lost where only one
/// counts: with `get_tools init` a user and their project get the same example.
pub(super) fn are_same(one: (&Path, FileOwner<'_>), other: (&Path, FileOwner<'_>)) -> bool {
    let text = |(path, whose)| beginning(path, whose, super::MAX_MANIFEST_BYTES);
    // What lies beside them need not be the same.
    let is_alone = |text: &[u8]| {
        let text = String::from_utf8_lossy(text);
        !text.contains("{@dir}") && !text.contains("GEMINI_TOOL_DIR")
    };
    text(one).is_some_and(|one| is_alone(&one) && text(other).as_ref() == Some(&one))
}

/// Lists the regular files of a directory that may be tools, sorted by name. Links are followed; a
/// project's as long as they stay in it.
///
/// # Errors
///
/// Returns a sentence if a link on the way to the directory leads out of the project.
pub(super) fn list(
    directory: &Path,
    whose: FileOwner<'_>,
) -> Result<Vec<(Vec<u8>, Stamp, bool)>, String> {
    let dir = match whose.open(directory, OFlags::RDONLY | OFlags::DIRECTORY) {
        Err(ResolveError::Escapes) => return Err(format!("{}: {LEADS_OUT}", show_path(directory))),
        Err(ResolveError::System(_)) => return Ok(Vec::new()),
        Ok(dir) => dir,
    };
    let Ok(entries) = Dir::read_from(&dir) else {
        return Ok(Vec::new());
    };
    let mut files = Vec::new();
    for entry in entries.flatten() {
        let name = entry.file_name().to_bytes();
        let is_other = is_hidden(name) || entry.file_type() == FileType::Directory;
        if is_other {
            continue;
        }
        let mut stat = statat(&dir, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW).ok();
        let file_type = |stat: &Stat| FileType::from_raw_mode(stat.st_mode);
        if stat.as_ref().map(file_type) == Some(FileType::Symlink) {
            stat = whose.stat(&directory.join(OsStr::from_bytes(name))).ok();
        }
        let Some(stat) = stat.filter(|stat| file_type(stat) == FileType::RegularFile) else {
            continue;
        };
        let is_executable = may_be_executed(&stat);
        files.push((name.to_owned(), Stamp::from_stat(&stat), is_executable));
    }
    files.sort_unstable_by(|a, b| a.0.cmp(&b.0));
    Ok(files)
}

fn is_hidden(name: &[u8]) -> bool {
    name.starts_with(b".") || name.ends_with(b"~")
}

/// Lists what [`list`] skips although it looks like a tool, sorted by name, each with its nature:
/// links that are not followed, and what is called like a manifest and is not a file.
pub(super) fn oddities(directory: &Path, whose: FileOwner<'_>) -> Vec<(PathBuf, String)> {
    let names = whose.names(directory).unwrap_or_default().into_iter();
    let mut all: Vec<_> = names
        .filter(|name| !is_hidden(name.as_bytes()))
        .map(|name| directory.join(name))
        .filter_map(|path| Some((what_is_odd(&path, whose)?, path)))
        .map(|(what, path)| (path, what))
        .collect();
    all.sort_unstable();
    all
}

fn what_is_odd(path: &Path, whose: FileOwner<'_>) -> Option<String> {
    let (_, target) = whose.entry(path).ok()?;
    let is_manifest = path.extension().is_some_and(|e| e == "toml");
    let found = match whose.stat(path) {
        Ok(found) => FileType::from_raw_mode(found.st_mode),
        Err(e) => {
            let target = target?;
            let target = gemini_tools_core::text::show_name(&target);
            return Some(match e {
                ResolveError::Escapes => format!("It is a link to {target}: {LEADS_OUT}"),
                ResolveError::System(Errno::NOENT) => {
                    format!("It is a link to {target}, which is not there")
                }
                ResolveError::System(e) => {
                    format!("It is a link to {target}, which can't be followed: {e}")
                }
            });
        }
    };
    if found == FileType::RegularFile || !is_manifest {
        return None;
    }
    let link = if target.is_some() { "a link to " } else { "" };
    Some(format!("It is {link}{}, and no file", kind_of(found)))
}

fn kind_of(file_type: FileType) -> &'static str {
    match file_type {
        FileType::Directory => "a directory",
        FileType::Fifo => "a FIFO",
        FileType::Socket => "a socket",
        _ => "a device",
    }
}

/// Reads at most `limit` bytes of a regular file's beginning; nothing else is opened, or waited
/// for.
pub(super) fn beginning(path: &Path, whose: FileOwner<'_>, limit: u64) -> Option<Vec<u8>> {
    whose.beginning(path, limit).ok()?
}
