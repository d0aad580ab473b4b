//! Finds the file that a system call of another process is about.

use super::Access;
use super::calls::CallPath;
use super::listener::Notice;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{CWD, Mode, OFlags, PROC_SUPER_MAGIC, Stat, openat, readlinkat, stat, statfs};
use rustix::io::Errno;
use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};

/// The kernel follows no more links than these.
const MAX_LINKS: usize = 40;

const MAX_PATH_BYTES: usize = 4096;

/// A path that can't be found out, with the nearest directory above it whose path is known.
#[derive(Debug)]
pub(super) struct Unknown {
    pub(super) above: Option<PathBuf>,
}

#[derive(Debug)]
pub(super) struct Locator {
    /// Directories whose paths are known to have no links in them. A command makes thousands of
    /// calls in a few directories, and resolving each path costs several system calls. The set is
    /// cleared when one of its directories may be replaced by a link.
    plain: HashSet<PathBuf>,
    /// The mount namespace of this process.
    namespace: Option<PathBuf>,
    devices: HashSet<u64>,
}

impl Locator {
    pub(super) fn new(devices: HashSet<u64>) -> Self {
        Self {
            plain: HashSet::new(),
            namespace: std::fs::read_link("/proc/self/ns/mnt").ok(),
            devices,
        }
    }

    /// Returns the absolute path, without links, of the file that a call is about to touch; `None`
    /// if the call is going to fail, or if the file has no path.
    ///
    /// # Errors
    ///
    /// Returns [`Unknown`] if the path can't be read from the process, or is too long for the
    /// kernel to tell.
    pub(super) fn locate(
        &mut self,
        notice: &Notice,
        target: CallPath,
    ) -> Result<Option<PathBuf>, Unknown> {
        let text = match target.path.map(|index| notice.path(index)) {
            // The call fails for the same reason, or its process was killed.
            Some(Err(Errno::NAMETOOLONG | Errno::FAULT | Errno::SRCH)) => return Ok(None),
            Some(text) => text.map_err(|_| Unknown { above: None })?,
            None => Vec::new(),
        };
        let thread = notice.thread;
        let base = match target.directory.map(|index| notice.descriptor(index)) {
            _ if text.first() == Some(&b'/') => format!("/proc/{thread}/root"),
            None | Some(libc::AT_FDCWD) => format!("/proc/{thread}/cwd"),
            Some(fd) => format!("/proc/{thread}/fd/{fd}"),
        };
        let follows = target.access != Access::Name;
        let namespace = std::fs::read_link(format!("/proc/{thread}/ns/mnt")).ok();
        let is_elsewhere = namespace.is_some() && namespace != self.namespace;
        if !is_elsewhere && let Some(path) = self.known(&base, &text, follows) {
            self.note(&path, follows);
            return Ok(Some(path));
        }
        if text.is_empty() && target.path.is_some() && !follows {
            // A call that creates, renames or removes a name fails if the path is empty.
            return Ok(None);
        }
        let Some(path) = plain_path(base, &text, thread, follows) else {
            return Ok(None);
        };
        match real_path(&path, follows)? {
            Some(path) if is_elsewhere => self.here(path, thread),
            Some(path) => {
                self.note(&path, follows);
                Ok(Some(path))
            }
            None => Ok(None),
        }
    }

    /// Returns a path of a process with other mounts, if it is the same here; `None` if it is on
    /// none of the devices.
    ///
    /// # Errors
    ///
    /// Returns [`Unknown`] if the path may be that of a file which has another one here.
    fn here(&self, path: PathBuf, thread: u32) -> Result<Option<PathBuf>, Unknown> {
        let dir = path.parent().unwrap_or(&path);
        let there = Path::new("/proc").join(thread.to_string()).join("root");
        let there = stat(there.join(dir.strip_prefix("/").unwrap_or(dir))).ok();
        let file = |stat: &Stat| (stat.st_dev, stat.st_ino);
        if there.is_some() && there.as_ref().map(file) == stat(dir).ok().as_ref().map(file) {
            return Ok(Some(path));
        }
        match there {
            Some(there) if !self.devices.contains(&there.st_dev) => Ok(None),
            _ => Err(Unknown { above: None }),
        }
    }

    fn note(&mut self, path: &Path, is_content: bool) {
        if !is_content && self.plain.contains(path) {
            // The call may move or remove this directory, and a link may then take its place.
            self.plain.clear();
        }
        let mut above = path.ancestors().skip(1);
        while above
            .next()
            .is_some_and(|dir| !self.plain.contains(dir) && self.plain.insert(dir.to_owned()))
        {
        }
    }

    /// Returns the path of a file whose directory is in `plain`, so that it need not be resolved;
    /// `None` for other directories, and for a link that has to be followed.
    fn known(&self, base: &str, text: &[u8], follows: bool) -> Option<PathBuf> {
        let text = Path::new(OsStr::from_bytes(text));
        let is_plain = |part| {
            matches!(
                part,
                Component::Normal(_) | Component::CurDir | Component::RootDir
            )
        };
        if self.plain.is_empty() || text.file_name().is_none() || !text.components().all(is_plain) {
            return None;
        }
        let base = std::fs::read_link(base).ok()?;
        let text = text.strip_prefix("/").unwrap_or(text);
        let path: PathBuf = base.join(text).components().collect();
        let is_known = self.plain.contains(path.parent()?);
        let is_link = || match readlinkat(CWD, &path, Vec::new()) {
            Err(Errno::NAMETOOLONG) => true,
            link => link.is_ok(),
        };
        (is_known && !(follows && is_link())).then_some(path)
    }
}

/// Follows the links on the way to a file, and, if `follows`, at its end. `/proc/self`, to which
/// `/dev/fd` and `/dev/stdin` lead, means the process that made the call. The kernel would take it
/// for the supervisor, which asks. Links in the directory of a process in `/proc` are left to the
/// kernel. Returns `None` for too many links.
fn plain_path(base: String, text: &[u8], thread: u32, follows: bool) -> Option<PathBuf> {
    let parts = |text: &[u8]| -> Vec<Vec<u8>> {
        let parts = text.split(|byte| *byte == b'/').rev();
        parts
            .filter(|part| !part.is_empty())
            .map(<[u8]>::to_vec)
            .collect()
    };
    let (mut path, mut rest, mut links) = (PathBuf::from(base), parts(text), 0);
    while let Some(part) = rest.pop() {
        let next = path.join(OsStr::from_bytes(&part));
        let link = readlinkat(CWD, &next, Vec::new()).ok();
        let Some(link) = link.filter(|_| follows || !rest.is_empty()) else {
            path = next;
            continue;
        };
        let is_of_proc = statfs(&path).is_ok_and(|fs| fs.f_type == PROC_SUPER_MAGIC);
        match (is_of_proc, &*part) {
            (true, b"self" | b"thread-self") => path = format!("/proc/{thread}").into(),
            (true, _) => path = next,
            (false, _) if links == MAX_LINKS => return None,
            (false, _) => {
                links += 1;
                if link.to_bytes().starts_with(b"/") {
                    path = format!("/proc/{thread}/root").into();
                }
                rest.extend(parts(link.to_bytes()));
            }
        }
    }
    Some(path)
}

/// Returns the path of a file, also of one that does not exist yet. No link is on the way to it but
/// those of a process's own directory.
fn real_path(path: &Path, follows: bool) -> Result<Option<PathBuf>, Unknown> {
    if follows && let Some(file) = open(CWD, path, OFlags::empty())? {
        let found = path_of(&file);
        // If the file's path is too long for the kernel to tell, that of its directory may not be,
        // so the path is put together from it.
        if !matches!(found, Err(Errno::NAMETOOLONG)) {
            return Ok(found.ok().flatten());
        }
    }
    let Some((parent, name)) = split(path.as_os_str().as_bytes()) else {
        return Ok(None);
    };
    if name == "." || name == ".." {
        return match open(CWD, path, OFlags::empty())? {
            Some(dir) => known_path(&dir),
            None => Ok(None),
        };
    }
    let Some(parent) = open(CWD, Path::new(parent), OFlags::DIRECTORY)? else {
        return Ok(None);
    };
    // The call has an open file, and `/proc` can't tell the file's path.
    if follows
        && matches!(
            readlinkat(&parent, name, Vec::new()),
            Err(Errno::NAMETOOLONG)
        )
    {
        return Err(Unknown { above: None });
    }
    Ok(known_path(&parent)?.map(|directory| directory.join(name)))
}

fn split(path: &[u8]) -> Option<(&OsStr, &OsStr)> {
    let end = path.iter().rposition(|byte| *byte != b'/')? + 1;
    let start = path[..end].iter().rposition(|byte| *byte == b'/')? + 1;
    Some((
        OsStr::from_bytes(&path[..start]),
        OsStr::from_bytes(&path[start..end]),
    ))
}

/// Opens a file only to name it; `None` if the call of the process can't open it either.
fn open(at: impl AsFd, path: &Path, flags: OFlags) -> Result<Option<OwnedFd>, Unknown> {
    let flags = flags | OFlags::PATH | OFlags::CLOEXEC;
    match openat(at, path, flags, Mode::empty()) {
        // The path has grown by the name of the directory where the process starts. Or a name is
        // too long, and the call will fail.
        Err(Errno::NAMETOOLONG) if path.as_os_str().len() >= MAX_PATH_BYTES => {
            Err(Unknown { above: None })
        }
        file => Ok(file.ok()),
    }
}

fn path_of(file: &OwnedFd) -> Result<Option<PathBuf>, Errno> {
    let link = format!("/proc/self/fd/{}", file.as_raw_fd());
    let path = readlinkat(CWD, link, Vec::new())?;
    let path = PathBuf::from(OsString::from_vec(path.into_bytes()));
    Ok(Some(path).filter(|path| path.is_absolute()))
}

/// Returns the path of an open directory, and `None` if it has none.
///
/// # Errors
///
/// Returns the nearest directory above that has a path, if the directory's own path is too long.
fn known_path(dir: &OwnedFd) -> Result<Option<PathBuf>, Unknown> {
    let found = path_of(dir);
    if !matches!(found, Err(Errno::NAMETOOLONG)) {
        return Ok(found.ok().flatten());
    }
    let mut above = open(dir, Path::new(".."), OFlags::DIRECTORY)?;
    while let Some(dir) = above {
        match path_of(&dir) {
            Err(Errno::NAMETOOLONG) => above = open(&dir, Path::new(".."), OFlags::DIRECTORY)?,
            path => {
                return Err(Unknown {
                    above: path.ok().flatten(),
                });
            }
        }
    }
    Err(Unknown { above: None })
}
