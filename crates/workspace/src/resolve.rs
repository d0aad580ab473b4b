//! Resolves paths beneath a root.
//!
//! The kernel resolves a path if it can (`openat2` with `RESOLVE_BENEATH`). It refuses links with
//! an absolute target even if they stay inside. In that case, or if the system call is missing, the
//! path is walked one component at a time over open directories that are never links. Both check at
//! the moment of opening, so that swapping a directory for a link gains nothing.

use super::{Workspace, normalize};
use crate::files::PATH_ONLY;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;
use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// Maximum number of links that are followed on the way of one path, as in the kernel.
pub(super) const MAX_LINKS: usize = 40;

/// A path beneath a root. It need not exist on the disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkspacePath {
    pub(super) root: usize,
    rel: PathBuf,
    path: PathBuf,
    is_directory: bool,
}

impl WorkspacePath {
    pub(super) fn new(root: usize, rel: PathBuf, path: PathBuf) -> Self {
        Self {
            root,
            rel,
            path,
            is_directory: false,
        }
    }

    #[must_use]
    pub(super) fn named_as_directory(mut self, is_directory: bool) -> Self {
        self.is_directory = is_directory;
        self
    }

    pub(super) fn is_directory(&self) -> bool {
        self.is_directory
    }

    /// Returns the absolute path, which may contain links but no `..`.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the path relative to its root; empty for the root itself.
    pub fn rel(&self) -> &Path {
        &self.rel
    }

    pub(super) fn is_root(&self) -> bool {
        self.rel.as_os_str().is_empty()
    }

    /// Returns the last component; empty for the root itself.
    pub fn name(&self) -> &OsStr {
        self.path.file_name().unwrap_or_default()
    }

    pub(super) fn parent(&self) -> Option<Self> {
        let (rel, path) = (self.rel.parent()?, self.path.parent()?);
        Some(Self::new(self.root, rel.to_owned(), path.to_owned()))
    }

    /// Returns a path below this one.
    #[must_use]
    pub fn join(&self, rel: &Path) -> Self {
        Self::new(self.root, self.rel.join(rel), self.path.join(rel))
    }
}

/// Why a path can't be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResolveError {
    /// The path leads out of all roots.
    Escapes,
    /// The operating system's error.
    System(Errno),
}

impl From<Errno> for ResolveError {
    fn from(errno: Errno) -> Self {
        ResolveError::System(errno)
    }
}

/// A directory entry that need not exist. `dir` is its open directory or, if that does not exist
/// either, the deepest existing one above it; `missing` has the directories between the two. `name`
/// is the name of the entry, which was not a link when it was looked at.
#[derive(Debug)]
pub struct Entry {
    pub(super) root: usize,
    pub(super) dir: OwnedFd,
    pub(super) missing: Vec<OsString>,
    pub(super) name: Option<OsString>,
}

impl Entry {
    pub(super) fn real_path(&self) -> Option<PathBuf> {
        let mut path = super::walk::real_path(&self.dir)?;
        path.extend(&self.missing);
        path.push(self.name.as_deref()?);
        Some(path)
    }
}

impl Workspace {
    pub(super) fn open_beneath(
        &self,
        place: &WorkspacePath,
        flags: OFlags,
    ) -> Result<OwnedFd, ResolveError> {
        let root = &self.roots[place.root];
        let flags = if place.is_directory() {
            flags | OFlags::DIRECTORY
        } else {
            flags
        };
        if let Some(answer) = open_by_kernel(root.dir.as_fd(), place.rel(), flags, true) {
            Ok(answer?)
        } else {
            let entry = self.entry(place)?;
            if !entry.missing.is_empty() {
                return Err(Errno::NOENT.into());
            }
            let name = entry.name.as_deref().unwrap_or(OsStr::new("."));
            let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            Ok(rustix::fs::openat(&entry.dir, name, flags, Mode::empty())?)
        }
    }

    /// Opens the directory above a place, of which no component may be a link.
    ///
    /// # Errors
    ///
    /// Returns the operating system's error: `LOOP` or `NOTDIR` for a link, and `ISDIR` for a root.
    pub(super) fn open_parent(&self, place: &WorkspacePath) -> Result<OwnedFd, Errno> {
        let root = self.roots[place.root].dir.as_fd();
        let above = place.rel().parent().ok_or(Errno::ISDIR)?;
        open_plain(root, above, PATH_ONLY | OFlags::DIRECTORY)
    }

    /// Finds the directory entry that a place stands for. Links are followed to their target, which
    /// need not exist.
    pub(super) fn entry(&self, place: &WorkspacePath) -> Result<Entry, ResolveError> {
        let mut walk = Walk {
            workspace: self,
            root: place.root,
            dirs: Vec::new(),
            todo: VecDeque::new(),
            links: 0,
        };
        walk.restart(place.root, place.rel())?;
        walk.run()
    }

    /// Returns the index of the root that a link's absolute target lies in, and the path below it.
    fn place_of_link(&self, target: &Path) -> Result<(usize, PathBuf), ResolveError> {
        let absolute = normalize(target).ok_or(ResolveError::Escapes)?;
        let place = self
            .beneath(&absolute)
            .or_else(|| self.beneath(&std::fs::canonicalize(absolute).ok()?))
            .ok_or(ResolveError::Escapes)?;
        Ok((place.root, place.rel))
    }
}

/// Opens a path with `openat2`. Returns `None` if the caller must resolve it component by
/// component: the system call is missing, or met a link that it refuses. Unless it `follows` links,
/// every link is an error.
#[cfg(target_os = "linux")]
pub(super) fn open_by_kernel(
    dir: BorrowedFd<'_>,
    path: &Path,
    flags: OFlags,
    follows: bool,
) -> Option<Result<OwnedFd, Errno>> {
    use rustix::fs::{ResolveFlags, openat2};
    let links = if follows {
        ResolveFlags::NO_MAGICLINKS
    } else {
        ResolveFlags::NO_SYMLINKS
    };
    let (flags, resolve) = (flags | OFlags::CLOEXEC, ResolveFlags::BENEATH | links);
    for _ in 0..8 {
        match openat2(dir, or_dot(path), flags, Mode::empty(), resolve) {
            // Something was renamed meanwhile, so the kernel can't rule out an escape.
            Err(Errno::AGAIN) => {}
            Err(Errno::NOSYS | Errno::PERM) => return None,
            Err(Errno::XDEV | Errno::LOOP) if follows => return None,
            answer => return Some(answer),
        }
    }
    None
}

#[cfg(not(target_os = "linux"))]
pub(super) fn open_by_kernel(
    _dir: BorrowedFd<'_>,
    _path: &Path,
    _flags: OFlags,
    _follows: bool,
) -> Option<Result<OwnedFd, Errno>> {
    None
}

fn or_dot(path: &Path) -> &Path {
    if path.as_os_str().is_empty() {
        Path::new(".")
    } else {
        path
    }
}

/// Opens a path below a directory. No component of the path may be a link.
pub(super) fn open_plain(
    dir: BorrowedFd<'_>,
    path: &Path,
    flags: OFlags,
) -> Result<OwnedFd, Errno> {
    open_by_kernel(dir, path, flags, false)
        .unwrap_or_else(|| open_by_steps(dir, or_dot(path), flags))
}

/// Opens a path, absolute or below a directory, one component at a time. No component may be a
/// link.
pub(super) fn open_by_steps(
    dir: BorrowedFd<'_>,
    path: &Path,
    flags: OFlags,
) -> Result<OwnedFd, Errno> {
    let mut names = path.components().peekable();
    let mut here: Option<OwnedFd> = None;
    while let Some(name) = names.next() {
        let from = here.as_ref().map_or(dir, AsFd::as_fd);
        let flags = match names.peek() {
            Some(_) => PATH_ONLY | OFlags::DIRECTORY,
            None => flags,
        };
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        here = Some(rustix::fs::openat(
            from,
            name.as_os_str(),
            flags,
            Mode::empty(),
        )?);
    }
    here.ok_or(Errno::NOENT)
}

struct Walk<'a> {
    workspace: &'a Workspace,
    root: usize,
    /// The open directories from the root to the present one. At a `..` the last one is dropped, and
    /// nothing need be looked up.
    dirs: Vec<OwnedFd>,
    todo: VecDeque<OsString>,
    links: usize,
}

impl Walk<'_> {
    fn restart(&mut self, root: usize, path: &Path) -> Result<(), ResolveError> {
        let dir = rustix::io::fcntl_dupfd_cloexec(&self.workspace.roots[root].dir, 0)?;
        self.root = root;
        self.dirs = vec![dir];
        self.push_front(path);
        Ok(())
    }

    fn here(&self) -> Result<BorrowedFd<'_>, ResolveError> {
        self.dirs
            .last()
            .map(AsFd::as_fd)
            .ok_or(ResolveError::Escapes)
    }

    fn push_front(&mut self, path: &Path) {
        for part in path.as_os_str().as_bytes().split(|b| *b == b'/').rev() {
            if !part.is_empty() && part != b"." {
                self.todo.push_front(OsStr::from_bytes(part).to_owned());
            }
        }
    }

    fn run(mut self) -> Result<Entry, ResolveError> {
        while let Some(name) = self.todo.pop_front() {
            if name == ".." {
                self.dirs.pop();
                if self.dirs.is_empty() {
                    return Err(ResolveError::Escapes);
                }
                continue;
            }
            let last = self.todo.is_empty();
            match rustix::fs::statat(self.here()?, &name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::Symlink => {
                    self.follow(&name)?;
                }
                Ok(_) if last => return self.found(Some(name), Vec::new()),
                Ok(_) => {
                    let flags = PATH_ONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                    match rustix::fs::openat(self.here()?, &name, flags, Mode::empty()) {
                        Ok(dir) => self.dirs.push(dir),
                        // The directory has just been replaced by a link, so look again.
                        Err(Errno::LOOP) => self.again(name)?,
                        Err(Errno::NOTDIR) if self.is_link(&name) => self.again(name)?,
                        Err(errno) => return Err(errno.into()),
                    }
                }
                Err(Errno::NOENT) => {
                    let mut missing = vec![name];
                    for rest in std::mem::take(&mut self.todo) {
                        if rest == ".." {
                            // A directory that does not exist has no parent to go up to.
                            return Err(Errno::NOENT.into());
                        }
                        missing.push(rest);
                    }
                    let name = missing.pop();
                    return self.found(name, missing);
                }
                Err(errno) => return Err(errno.into()),
            }
        }
        self.found(None, Vec::new())
    }

    fn is_link(&self, name: &OsStr) -> bool {
        self.here().is_ok_and(|dir| {
            rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)
                .is_ok_and(|s| FileType::from_raw_mode(s.st_mode) == FileType::Symlink)
        })
    }

    fn again(&mut self, name: OsString) -> Result<(), ResolveError> {
        self.count()?;
        self.todo.push_front(name);
        Ok(())
    }

    fn count(&mut self) -> Result<(), ResolveError> {
        self.links += 1;
        if self.links > MAX_LINKS {
            return Err(Errno::LOOP.into());
        }
        Ok(())
    }

    fn follow(&mut self, name: &OsStr) -> Result<(), ResolveError> {
        self.count()?;
        let target = match rustix::fs::readlinkat(self.here()?, name, Vec::new()) {
            Ok(target) => PathBuf::from(OsString::from_vec(target.into_bytes())),
            // The link has just been replaced by something else, so look again.
            Err(Errno::INVAL) => {
                self.todo.push_front(name.to_owned());
                return Ok(());
            }
            Err(errno) => return Err(errno.into()),
        };
        if target.is_absolute() {
            let (root, rest) = self.workspace.place_of_link(&target)?;
            return self.restart(root, &rest);
        }
        self.push_front(&target);
        Ok(())
    }

    fn found(
        mut self,
        name: Option<OsString>,
        missing: Vec<OsString>,
    ) -> Result<Entry, ResolveError> {
        Ok(Entry {
            root: self.root,
            dir: self.dirs.pop().ok_or(ResolveError::Escapes)?,
            missing,
            name,
        })
    }
}
