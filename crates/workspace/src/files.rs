//! Who owns a file, who may write to it, and which file it is.

use rustix::fd::AsFd;
use rustix::fs::{AtFlags, CWD, OFlags, Stat};
use rustix::io::Errno;
use std::fs::{DirBuilder, File, Metadata};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::Path;

const OTHERS_WRITE: u32 = 0o022;

/// Returns the device and the inode, which together identify a file.
pub fn identity(metadata: &Metadata) -> (u64, u64) {
    (metadata.dev(), metadata.ino())
}

/// Checks that only root and the user can have written a file, by its owner and mode and those of
/// its directory.
///
/// # Errors
///
/// Returns the reason, as the end of a sentence.
pub fn check_writers(path: &Path, metadata: &Metadata) -> Result<(), &'static str> {
    let is_secure = |of: &Metadata| {
        let is_sticky = of.is_dir() && of.mode() & 0o1000 != 0;
        !can_be_written_by_others(of) || is_sticky && is_of_root_or_user(of)
    };
    let dir = path.parent().unwrap_or(path).metadata();
    if is_secure(metadata) && dir.is_ok_and(|dir| is_secure(&dir)) {
        return Ok(());
    }
    Err("others can write to it or to its directory")
}

/// Returns true if somebody other than root and the user owns a file or may write to it.
pub fn can_be_written_by_others(metadata: &Metadata) -> bool {
    !is_of_root_or_user(metadata) || metadata.mode() & OTHERS_WRITE != 0
}

fn is_of_root_or_user(metadata: &Metadata) -> bool {
    [0, rustix::process::geteuid().as_raw()].contains(&metadata.uid())
}

/// Returns true if only root owns a directory and can write to it.
pub fn is_of_the_system(directory: &Path) -> bool {
    std::fs::metadata(directory)
        .is_ok_and(|metadata| metadata.uid() == 0 && metadata.mode() & OTHERS_WRITE == 0)
}

/// Returns true if the git repository in `directory` belongs to the user or to the owner of `root`,
/// and `directory` to the same user as its `.git`. Returns `None` if there is no repository.
pub fn is_our_repository(directory: &Path, root: &Path) -> Option<bool> {
    let owner = owner_of(&directory.join(".git"))?;
    let is_ours = owner == rustix::process::geteuid().as_raw() || owner_of(root) == Some(owner);
    Some(is_ours && owner_of(directory) == Some(owner))
}

fn owner_of(path: &Path) -> Option<u32> {
    // If `.git` is a link, the owner of the link counts, not that of its target.
    let stat = rustix::fs::statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    Some(stat.st_uid)
}

/// Checks that a directory belongs to the user and that nobody else may use it.
///
/// # Errors
///
/// Returns `PERM` if one of these does not hold, or the operating system's error.
#[doc(hidden)]
pub fn check_private(directory: impl AsFd) -> Result<(), Errno> {
    let stat = rustix::fs::fstat(directory)?;
    let own = rustix::process::geteuid().as_raw();
    let others = stat.st_mode & 0o077;
    if stat.st_uid == own && others == 0 {
        Ok(())
    } else {
        Err(Errno::PERM)
    }
}

/// If a directory lies in a `.gemini` or `.cache`, checks that the home directory around that
/// exists. One that does not exist is a mistake in its path, or means that the user has none. It
/// must not be created just because something is to be stored below it.
pub(crate) fn check_home(directory: &Path) -> io::Result<()> {
    let is_in_home = |dir: &&Path| dir.ends_with(".gemini") || dir.ends_with(".cache");
    let within = directory.ancestors().find(is_in_home);
    match within.and_then(Path::parent) {
        Some(home) => home.metadata().map(drop),
        None => Ok(()),
    }
}

/// Creates a directory with mode 700, and missing ones above it. An existing directory keeps its
/// mode.
///
/// # Errors
///
/// Returns the operating system's error, also if the home directory does not exist that it is in.
pub fn make_private(directory: &Path) -> io::Result<()> {
    check_home(directory)?;
    let mut builder = DirBuilder::new();
    builder.recursive(true).mode(0o700).create(directory)
}

/// Flushes a directory, so that the names in it survive a loss of power.
///
/// # Errors
///
/// Returns the operating system's error.
pub fn flush_names(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

/// Returns a file's 12 permission bits, including those for set-user-ID, set-group-ID and sticky.
#[cfg_attr(
    target_os = "linux",
    expect(
        clippy::useless_conversion,
        reason = "the types differ between systems"
    )
)]
#[doc(hidden)]
pub fn mode(stat: &Stat) -> u32 {
    u32::from(stat.st_mode) & 0o7777
}

/// Flags for a descriptor that is not read from: a directory to open others beneath, or a file to
/// be examined.
#[cfg(target_os = "linux")]
pub const PATH_ONLY: OFlags = OFlags::PATH;

/// Flags for a descriptor that is not read from: a directory to open others beneath, or a file to
/// be examined.
#[cfg(target_os = "macos")]
pub const PATH_ONLY: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY);
