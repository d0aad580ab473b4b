//! Where the journal lies: directories that are the user's alone.
//!
//! `~/.gemini/tools_journal/` has a directory for each hour, by its number since 1970, and in
//! that `log` with a line for each change, and by their ids the old files. A file of another file
//! system can't be moved there; it goes into `.gemini-tools-journal-UID` at the place where its own is
//! mounted, as trash goes into `.Trash-UID`, unless that is in a directory that tools work in:
//! then it is copied.

use gemini_tools_platform::fd::{AsFd, OwnedFd};
use gemini_tools_platform::fs::{self, FileType, Mode, OFlags};
use gemini_tools_platform::io::Errno;
use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

/// The name of the log of an hour.
pub(crate) const LOG: &str = "log";

/// Milliseconds of what is in one directory.
pub(crate) const HOUR_MILLIS: u64 = 60 * 60 * 1000;

/// What leaves it out of what git sees, of other programs' searches, and of what our tools read.
const IGNORE: [&str; 3] = [".gitignore", ".ignore", ".geminiignore"];

/// The journal below a home directory.
pub(crate) fn journal(home: &Path) -> PathBuf {
    home.join(".gemini/tools_journal")
}

fn directory_flags() -> OFlags {
    OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC
}

/// Opens a directory that is the user's alone; `None` where it is not there, or another user
/// could have put something into it.
pub(crate) fn open(path: &Path) -> Result<Option<OwnedFd>, Errno> {
    let dir = match fs::open(path, directory_flags(), Mode::empty()) {
        Err(Errno::NOENT) => return Ok(None),
        dir => dir?,
    };
    gemini_tools_platform::files::check_private(&dir)?;
    Ok(Some(dir))
}

/// Opens the directory of an hour; `None` where there is none.
///
/// # Errors
///
/// Returns the operating system's error if it can't be opened, `PERM` if it is not the user's alone.
pub(crate) fn open_hour(dir: &OwnedFd, hour: u64) -> Result<Option<OwnedFd>, Errno> {
    match fs::openat(dir, &*hour.to_string(), directory_flags(), Mode::empty()) {
        Err(Errno::NOENT) => Ok(None),
        opened => {
            let opened = opened?;
            gemini_tools_platform::files::check_private(&opened)?;
            Ok(Some(opened))
        }
    }
}

/// Opens the directory of an hour, and makes it where it is missing; true where it was made.
///
/// # Errors
///
/// Returns the errors of [`open_hour`].
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

/// Makes a directory that is the user's alone, with the usual ones above it, and opens it.
pub(crate) fn make(path: &Path) -> Result<OwnedFd, Errno> {
    use gemini_tools_platform::unix_fs::DirBuilderExt;
    let mut builder = std::fs::DirBuilder::new();
    let above = path.parent().map_or(Ok(()), std::fs::create_dir_all);
    let made = above.and_then(|()| match builder.mode(0o700).create(path) {
        Err(e) if e.kind() == ErrorKind::AlreadyExists => Ok(()),
        made => made,
    });
    made.map_err(|e| Errno::from_io_error(&e).unwrap_or(Errno::IO))?;
    let dir = open(path)?.ok_or(Errno::NOENT)?;
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    for name in IGNORE {
        if let Ok(file) = fs::openat(&dir, name, flags, Mode::from_raw_mode(0o600)) {
            // Without it the directory is seen, where it lies in a project, but works.
            let _ = File::from(file).write_all(b"*\n");
        }
    }
    Ok(dir)
}

/// Opens a file of the journal for reading: a regular one, and not a link.
pub(crate) fn open_file(dir: &OwnedFd, name: &str) -> Result<File, Errno> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = fs::openat(dir, name, flags, Mode::empty())?;
    let stat = fs::fstat(&file)?;
    if FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile {
        Ok(file.into())
    } else {
        Err(Errno::INVAL)
    }
}

/// The hours that a directory of the journal has, oldest first.
pub(crate) fn hours(dir: &OwnedFd) -> Result<Vec<u64>, Errno> {
    let mut hours = Vec::new();
    for entry in fs::Dir::read_from(dir)? {
        let name = entry?;
        let name = name.file_name().to_str().ok();
        hours.extend(name.and_then(|name| name.parse::<u64>().ok()));
    }
    hours.sort_unstable();
    Ok(hours)
}

/// What tells whether a file can be moved from one directory to another.
#[cfg(target_os = "linux")]
pub(crate) fn mount(dir: impl AsFd) -> Option<(u64, u32, u32)> {
    use gemini_tools_platform::fs::{AtFlags, StatxFlags, statx};
    let flags = StatxFlags::MNT_ID;
    let stat = statx(dir, "", AtFlags::EMPTY_PATH, flags).ok()?;
    let known = stat.stx_mask & StatxFlags::MNT_ID.bits() != 0;
    known.then_some((stat.stx_mnt_id, stat.stx_dev_major, stat.stx_dev_minor))
}

/// What tells whether a file can be moved from one directory to another.
#[cfg(not(target_os = "linux"))]
pub(crate) fn mount(dir: impl AsFd) -> Option<i128> {
    fs::fstat(dir).ok().map(|stat| i128::from(stat.st_dev))
}

/// The directory for old files on the file system of `dir`, and its path; `None` where there
/// can't be one, or it would be in one of the `roots` that tools work in.
#[cfg(target_os = "linux")]
pub(crate) fn beside(
    dir: gemini_tools_platform::fd::BorrowedFd<'_>,
    roots: &[PathBuf],
) -> Option<(OwnedFd, PathBuf)> {
    use std::os::fd::AsRawFd;
    let own = mount(dir)?;
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut top = fs::openat(dir, ".", flags, Mode::empty()).ok()?;
    loop {
        let above = fs::openat(&top, "..", flags, Mode::empty()).ok()?;
        let identity = |dir: &OwnedFd| fs::fstat(dir).map(|stat| (stat.st_dev, stat.st_ino)).ok();
        if mount(&above) != Some(own) || identity(&above) == identity(&top) {
            break;
        }
        top = above;
    }
    let top = std::fs::read_link(format!("/proc/self/fd/{}", top.as_raw_fd())).ok()?;
    if roots.iter().any(|root| top.starts_with(root)) {
        return None;
    }
    let user = gemini_tools_platform::process::geteuid().as_raw();
    let path = top.join(format!(".gemini-tools-journal-{user}"));
    let dir = match open(&path) {
        Ok(Some(dir)) => dir,
        // One directory only: what is mounted is there.
        Ok(None) => make(&path).ok()?,
        Err(_) => return None,
    };
    (mount(&dir) == Some(own)).then_some((dir, path))
}
