//! The one way to open files that decide what tools may do (settings, tool definitions, policy
//! rules), and the records that these tools keep about such files.
//!
//! The user's own files may be links to anywhere. A project's files are opened beneath the project
//! by the kernel: if a repository links one of them to a file elsewhere, that file is not read, and
//! a named pipe there is not waited for.

use super::resolve::{ResolveError, open_by_kernel};
use super::{Workspace, WorkspacePath, open_directory};
use crate::files::PATH_ONLY;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Size of the longest text that is read, in bytes. Such files are read on every call, before they
/// are trusted, and parsed settings take some hundred times the memory of their text.
const MAX_TEXT_BYTES: u64 = 512 * 1024;

/// The reason in errors about a link that is not followed.
pub const LEADS_OUT: &str = "a link leads out of the project";

/// The owner of a file, which decides how it is opened.
#[derive(Debug, Clone, Copy)]
pub enum FileOwner<'a> {
    /// The user or the administrator: links are followed.
    Users,
    /// The project in `root`: links are followed as long as they stay in it.
    Projects {
        /// The project's directory.
        root: &'a Path,
        /// The user's home.
        home: Option<&'a Path>,
    },
}

/// Returns true if a directory is the user's home.
pub fn is_home(home: Option<&Path>, root: &Path) -> bool {
    home.is_some_and(|home| {
        home == root || std::fs::canonicalize(home).is_ok_and(|canonical| canonical == root)
    })
}

/// An open regular file and its metadata.
#[derive(Debug)]
pub struct RegularFile {
    /// The file.
    pub file: File,
    /// The metadata.
    pub metadata: Metadata,
}

impl From<ResolveError> for io::Error {
    fn from(failure: ResolveError) -> Self {
        match failure {
            ResolveError::Escapes => io::Error::other(LEADS_OUT),
            ResolveError::System(errno) => errno.into(),
        }
    }
}

impl<'a> FileOwner<'a> {
    /// Returns the owner of a file by its path. A file in the `.gemini` of the project in `root`
    /// belongs to the project, unless `root` is the user's home directory.
    pub fn by_location(path: &Path, home: Option<&'a Path>, root: &'a Path) -> Self {
        if home != Some(root) && path.starts_with(root.join(".gemini")) {
            Self::Projects { root, home }
        } else {
            Self::Users
        }
    }

    /// Opens a path, following links as this owner allows.
    ///
    /// # Errors
    ///
    /// Returns the operating system's error, or `Escapes` if a link leads out of the project.
    #[doc(hidden)]
    pub fn open(self, path: &Path, flags: OFlags) -> Result<OwnedFd, ResolveError> {
        let flags = flags | OFlags::CLOEXEC;
        let users = || Ok(rustix::fs::open(path, flags, Mode::empty())?);
        let Self::Projects { root, home } = self else {
            return users();
        };
        match beneath(root, path, flags) {
            // `root` is the user's home directory under another name, so links are followed.
            Err(ResolveError::Escapes) if is_home(home, root) => users(),
            opened => opened,
        }
    }

    /// Returns the `stat` of the file that a path leads to, links followed.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`FileOwner::open`].
    #[doc(hidden)]
    pub fn stat(self, path: &Path) -> Result<Stat, ResolveError> {
        let opened = self.open(path, PATH_ONLY)?;
        Ok(rustix::fs::fstat(&opened)?)
    }

    /// Returns the `stat` of a path without following a link at its end, and such a link's target.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`FileOwner::open`].
    #[doc(hidden)]
    pub fn entry(self, path: &Path) -> Result<(Stat, Option<Vec<u8>>), ResolveError> {
        let parent = path.parent().ok_or(Errno::NOENT)?;
        let name = path.file_name().ok_or(Errno::NOENT)?;
        let dir = self.open(parent, PATH_ONLY | OFlags::DIRECTORY)?;
        let stat = rustix::fs::statat(&dir, name, AtFlags::SYMLINK_NOFOLLOW)?;
        let is_link = FileType::from_raw_mode(stat.st_mode) == FileType::Symlink;
        let target = is_link.then(|| rustix::fs::readlinkat(&dir, name, Vec::new()));
        Ok((stat, target.transpose()?.map(std::ffi::CString::into_bytes)))
    }

    /// Returns the names in a directory, in no order.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`FileOwner::open`].
    pub fn names(self, path: &Path) -> Result<Vec<OsString>, ResolveError> {
        use std::os::unix::ffi::OsStrExt;
        let dir = self.open(path, OFlags::RDONLY | OFlags::DIRECTORY)?;
        let mut names = Vec::new();
        for entry in Dir::read_from(&dir)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if name != b"." && name != b".." {
                names.push(OsStr::from_bytes(name).to_owned());
            }
        }
        Ok(names)
    }

    /// Opens a regular file. Returns `None` if nothing is there. Opening never waits, since a
    /// project may have put a named pipe there.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`FileOwner::open`], or an error for anything but a regular file.
    pub fn open_regular(self, path: &Path) -> io::Result<Option<RegularFile>> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
        let file = match self.open(path, flags) {
            Err(ResolveError::System(Errno::NOENT | Errno::NOTDIR)) => return Ok(None),
            file => File::from(file?),
        };
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(io::Error::other("it is not a regular file"));
        }
        Ok(Some(RegularFile { file, metadata }))
    }

    /// Returns the text of a file, or `None` if there is none.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`FileOwner::open_regular`].
    pub fn read(self, path: &Path) -> io::Result<Option<String>> {
        self.open_regular(path)?.map(RegularFile::text).transpose()
    }

    /// Returns the first bytes of a file, at most `limit`, or `None` if there is no file.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`FileOwner::open_regular`].
    pub fn beginning(self, path: &Path, limit: u64) -> io::Result<Option<Vec<u8>>> {
        let opened = self.open_regular(path)?;
        opened.map(|opened| opened.beginning(limit)).transpose()
    }
}

impl RegularFile {
    /// Returns the content as text, with U+FFFD for bytes that are not UTF-8.
    ///
    /// # Errors
    ///
    /// Returns the operating system's error, or one for a file that is too large.
    pub fn text(self) -> io::Result<String> {
        let bytes = self.beginning(MAX_TEXT_BYTES + 1)?;
        if bytes.len() as u64 > MAX_TEXT_BYTES {
            let reason = format!("it has more than {MAX_TEXT_BYTES} bytes");
            return Err(io::Error::other(reason));
        }
        Ok(String::from_utf8(bytes)
            .unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned()))
    }

    fn beginning(self, limit: u64) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::with_capacity(self.metadata.len().min(limit) as usize + 1);
        self.file.take(limit).read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

fn beneath(root: &Path, path: &Path, flags: OFlags) -> Result<OwnedFd, ResolveError> {
    let rel = path.strip_prefix(root).map_err(|_| ResolveError::Escapes)?;
    let said = |e: &io::Error| ResolveError::System(Errno::from_io_error(e).unwrap_or(Errno::IO));
    let dir = open_directory(root).map_err(|e| said(&e))?;
    if let Some(opened) = open_by_kernel(dir.as_fd(), rel, flags, true) {
        return Ok(opened?);
    }
    let workspace = Workspace::reading(root).map_err(|e| said(&e))?;
    let place = WorkspacePath::new(0, rel.to_owned(), PathBuf::from(path));
    workspace.open_beneath(&place, flags)
}
