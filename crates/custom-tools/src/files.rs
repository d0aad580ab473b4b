//! Lists a tools directory, without reading the files.

use gemini_tools_core::text::show_path;
use gemini_tools_process::program::may_be_executed;
use gemini_tools_workspace::file_owner::{FileOwner, LEADS_OUT};
use gemini_tools_workspace::resolve::ResolveError;
use gemini_tools_workspace::stamp::Stamp;
use rustix::fs::{AtFlags, Dir, FileType, OFlags, Stat, statat};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

pub(super) fn is_executable(file: &Path, owner: FileOwner<'_>) -> bool {
    owner.stat(file).is_ok_and(|stat| may_be_executed(&stat))
}

pub(super) struct ListedFile {
    pub(super) name: OsString,
    pub(super) stamp: Stamp,
    pub(super) is_executable: bool,
}

/// Lists the regular files that may be tools, sorted by name. Links are followed, but those in a
/// project only if they stay within the project.
///
/// # Errors
///
/// Returns a message if the directory can't be read, or its own path leads out of the project.
pub(super) fn list(directory: &Path, owner: FileOwner<'_>) -> Result<Vec<ListedFile>, String> {
    let dir = match owner.open(directory, OFlags::RDONLY | OFlags::DIRECTORY) {
        Err(ResolveError::Escapes) => return Err(format!("{}: {LEADS_OUT}", show_path(directory))),
        Err(ResolveError::System(Errno::NOENT | Errno::NOTDIR)) => return Ok(Vec::new()),
        Err(ResolveError::System(e)) => return Err(format!("{}: {e}", show_path(directory))),
        Ok(dir) => dir,
    };
    let Ok(entries) = Dir::read_from(&dir) else {
        return Ok(Vec::new());
    };
    let mut files = Vec::new();
    for entry in entries.flatten() {
        let name = entry.file_name().to_bytes();
        // Skip hidden files, and backups made by editors.
        let is_hidden = name.starts_with(b".") || name.ends_with(b"~");
        if is_hidden || entry.file_type() == FileType::Directory {
            continue;
        }
        let mut stat = statat(&dir, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW).ok();
        let file_type = |stat: &Stat| FileType::from_raw_mode(stat.st_mode);
        if stat.as_ref().map(file_type) == Some(FileType::Symlink) {
            stat = owner.stat(&directory.join(OsStr::from_bytes(name))).ok();
        }
        let Some(stat) = stat.filter(|stat| file_type(stat) == FileType::RegularFile) else {
            continue;
        };
        files.push(ListedFile {
            name: OsStr::from_bytes(name).to_owned(),
            stamp: Stamp::from_stat(&stat),
            is_executable: may_be_executed(&stat),
        });
    }
    files.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    Ok(files)
}
