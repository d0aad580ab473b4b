//! Opens and creates the directories of the journal, which only the user may use.
//!
//! `~/.gemini/tools_journal/` has a directory for each hour, whose name is the number of the hour
//! since 1970. In it are the file `log`, with a line for each change, and the old files, named by
//! the ids of the changes. A file on another file system can't be moved there, and is copied.

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{self, CWD, FileType, Mode, OFlags};
use rustix::io::Errno;
use rustix::path::Arg;
use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

pub(crate) const LOG: &str = "log";

pub(crate) const HOUR_MILLIS: u64 = 60 * 60 * 1000;

/// Names of files that hide the journal from git, from other search programs and from these tools.
const IGNORE: [&str; 3] = [".gitignore", ".ignore", ".geminiignore"];

pub(crate) fn journal(home: &Path) -> PathBuf {
    home.join(".gemini/tools_journal")
}

/// Opens a directory that only the user may use. Returns `None` if it does not exist.
///
/// # Errors
///
/// Returns the operating system's error, and `PERM` if others own the directory or may use it.
pub(crate) fn open(path: &Path) -> Result<Option<OwnedFd>, Errno> {
    open_private(CWD, path)
}

/// Returns why a directory of the journal can't be used, and the remedy, as the end of a sentence.
pub(crate) fn complaint(path: &Path, errno: Errno) -> String {
    let name = crate::show_path(path);
    let stat = fs::lstat(path).ok();
    let is_own = |stat: &fs::Stat| stat.st_uid == rustix::process::geteuid().as_raw();
    match (errno, stat) {
        (Errno::PERM, Some(stat)) if !is_own(&stat) => {
            format!("{name} belongs to another user; remove it, or set HOME")
        }
        (Errno::PERM, Some(stat)) => {
            let mode = crate::files::mode(&stat);
            format!("{name} has mode {mode:o} and must have mode 700; run: chmod 700 {name}")
        }
        (Errno::NOENT | Errno::NOTDIR, None) => {
            format!(
                "{name} can't be there, because a directory above it is missing, or a file is in place of a directory; set HOME"
            )
        }
        (Errno::INVAL | Errno::NXIO, _) => format!("{name} is no regular file; remove it"),
        (Errno::LOOP | Errno::NOTDIR, _) => {
            format!("{name} is a link, or no directory; remove it")
        }
        (errno, _) => format!("{name} can't be used: {errno}"),
    }
}

pub(crate) fn open_or_make(path: &Path) -> Result<OwnedFd, String> {
    let opened = open(path).and_then(|dir| dir.map_or_else(|| make(path), Ok));
    opened.map_err(|errno| complaint(path, errno))
}

pub(crate) fn open_hour(dir: &OwnedFd, hour: u64) -> Result<Option<OwnedFd>, Errno> {
    open_private(dir.as_fd(), hour.to_string().as_ref())
}

fn open_private(at: BorrowedFd<'_>, path: &Path) -> Result<Option<OwnedFd>, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let dir = match fs::openat(at, path, flags, Mode::empty()) {
        Err(Errno::NOENT) => return Ok(None),
        dir => dir?,
    };
    crate::files::check_private(&dir)?;
    Ok(Some(dir))
}

pub(crate) fn make_hour(dir: &OwnedFd, hour: u64) -> Result<(OwnedFd, bool), Errno> {
    if let Some(opened) = open_hour(dir, hour)? {
        return Ok((opened, false));
    }
    match fs::mkdirat(dir, &*hour.to_string(), Mode::from_raw_mode(0o700)) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(errno) => return Err(errno),
    }
    Ok((open_hour(dir, hour)?.ok_or(Errno::NOENT)?, true))
}

/// Opens a directory that only the user may use, and creates it if it is missing. Missing
/// directories above it, but for the home directory, are created with the default mode.
pub(crate) fn make(path: &Path) -> Result<OwnedFd, Errno> {
    use std::os::unix::fs::DirBuilderExt;
    let mut builder = std::fs::DirBuilder::new();
    let above = path.parent().map_or(Ok(()), |above| {
        crate::files::check_home(path)?;
        std::fs::create_dir_all(above)
    });
    let made = above.and_then(|()| match builder.mode(0o700).create(path) {
        Err(e) if e.kind() == ErrorKind::AlreadyExists => Ok(()),
        made => made,
    });
    made.map_err(|e| Errno::from_io_error(&e).unwrap_or(Errno::IO))?;
    let dir = open(path)?.ok_or(Errno::NOENT)?;
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    for name in IGNORE {
        if let Ok(file) = fs::openat(&dir, name, flags, Mode::from_raw_mode(0o600)) {
            // If this fails, the journal works, but a search in a directory above it may find its
            // files.
            let _ = File::from(file).write_all(b"*\n");
        }
    }
    Ok(dir)
}

pub(crate) fn open_file(dir: impl AsFd, path: impl Arg) -> Result<File, Errno> {
    open_regular(dir, path, OFlags::RDONLY)
}

/// Opens a regular file, with mode 600 if `flags` have it created. A pipe doesn't stop the caller.
pub(super) fn open_regular(dir: impl AsFd, path: impl Arg, flags: OFlags) -> Result<File, Errno> {
    let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = fs::openat(dir, path, flags, Mode::from_raw_mode(0o600))?;
    let stat = fs::fstat(&file)?;
    if FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile {
        Ok(file.into())
    } else {
        Err(Errno::INVAL)
    }
}

pub(crate) fn hours(dir: &OwnedFd) -> Result<Vec<u64>, Errno> {
    let names = names(dir)?;
    let mut hours: Vec<u64> = names.iter().filter_map(|name| name.parse().ok()).collect();
    hours.sort_unstable();
    Ok(hours)
}

pub(crate) fn names(dir: &OwnedFd) -> Result<Vec<String>, Errno> {
    let mut names = Vec::new();
    for entry in fs::Dir::read_from(dir)? {
        let name = entry?.file_name().to_str().map(str::to_owned);
        names.extend(name.ok().filter(|name| name != "." && name != ".."));
    }
    Ok(names)
}

pub(super) fn is_one_mount(one: &OwnedFd, other: &OwnedFd) -> bool {
    let mount = mount(one);
    mount.is_some() && mount == self::mount(other)
}

/// Returns true if the file in `dir` is itself a mount point, and false if that is unknown.
pub(crate) fn is_mount_point(file: impl AsFd, dir: impl AsFd) -> bool {
    // Only the ids of the mounts are compared: on an overlay file system, a file and its directory
    // may have different devices within one mount.
    let mounts = mount(file).zip(mount(dir));
    mounts.is_some_and(|(file, dir)| file.0 != dir.0)
}

/// Returns numbers that identify the mount of a file, or `None` if it is not known. A file can be
/// moved between two directories only if these have the same mount.
#[cfg(target_os = "linux")]
fn mount(file: impl AsFd) -> Option<(u64, u32, u32)> {
    use rustix::fs::{AtFlags, StatxFlags, statx};
    let flags = StatxFlags::MNT_ID;
    let stat = statx(file, "", AtFlags::EMPTY_PATH, flags).ok()?;
    let known = stat.stx_mask & StatxFlags::MNT_ID.bits() != 0;
    known.then_some((stat.stx_mnt_id, stat.stx_dev_major, stat.stx_dev_minor))
}

#[cfg(not(target_os = "linux"))]
fn mount(file: impl AsFd) -> Option<(i128, ())> {
    let stat = fs::fstat(file).ok()?;
    Some((i128::from(stat.st_dev), ()))
}
