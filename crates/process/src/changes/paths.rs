//! Finds the file that a system call of another process is about.

use super::Access;
use super::calls::CallPath;
use super::listener::Notice;
use rustix::fd::OwnedFd;
use rustix::fs::{CWD, Mode, OFlags, openat, readlinkat};
use rustix::io::Errno;
use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};

/// Maximum number of links that are followed here, on the way to a file that does not exist. For
/// existing files, the kernel follows the links.
const MAX_LINKS: usize = 8;

#[derive(Debug, Default)]
pub(super) struct Locator {
    /// Directories whose paths are known to have no links in them. A command makes thousands of
    /// calls in a few directories, and resolving each path costs several system calls. The set is
    /// cleared when one of its directories may be replaced by a link.
    plain: HashSet<PathBuf>,
}

impl Locator {
    /// Returns the absolute path, without links, of the file that a call is about to touch; `None`
    /// if the call is going to fail, or if the file has no path.
    ///
    /// # Errors
    ///
    /// Returns the operating system's error if the path can't be read from the process.
    pub(super) fn locate(
        &mut self,
        notice: &Notice,
        target: CallPath,
    ) -> Result<Option<PathBuf>, Errno> {
        let text = match target.path {
            Some(index) => notice.string(notice.arguments[index])?,
            None => Vec::new(),
        };
        let thread = notice.thread;
        let base = match target.directory.map(|index| notice.descriptor(index)) {
            _ if text.first() == Some(&b'/') => format!("/proc/{thread}/root"),
            None | Some(libc::AT_FDCWD) => format!("/proc/{thread}/cwd"),
            Some(fd) => format!("/proc/{thread}/fd/{fd}"),
        };
        let text = of_process(text, thread);
        let follows = target.access != Access::Name;
        if let Some(path) = self.known(&base, &text, follows) {
            self.note(&path, follows);
            return Ok(Some(path));
        }
        let mut path = PathBuf::from(base).into_os_string();
        if !text.is_empty() {
            path.push("/");
            path.push(OsStr::from_bytes(&text));
        } else if target.path.is_some() && !follows {
            // A call that creates, renames or removes a name fails if the path is empty.
            return Ok(None);
        }
        let path = real_path(PathBuf::from(path), follows);
        if let Some(path) = &path {
            self.note(path, follows);
        }
        Ok(path)
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
        (is_known && !(follows && path.is_symlink())).then_some(path)
    }
}

/// Replaces `/proc/self` and `/dev/fd` by the directory of the calling process. In the supervisor
/// they would mean the supervisor's own.
fn of_process(text: Vec<u8>, thread: u32) -> Vec<u8> {
    let own = [
        (&b"/proc/self/"[..], ""),
        (b"/proc/thread-self/", ""),
        (b"/dev/fd/", "fd/"),
    ];
    let rest = own
        .iter()
        .find_map(|(prefix, dir)| Some((text.strip_prefix(*prefix)?, dir)));
    match rest {
        Some((rest, dir)) => [format!("/proc/{thread}/{dir}").as_bytes(), rest].concat(),
        None => text,
    }
}

fn real_path(mut path: PathBuf, follows: bool) -> Option<PathBuf> {
    for _ in 0..MAX_LINKS {
        if follows && let Some(file) = open(&path, OFlags::empty()) {
            return path_of(&file);
        }
        let bytes = path.as_os_str().as_bytes();
        let end = bytes.iter().rposition(|byte| *byte != b'/')? + 1;
        let start = bytes[..end].iter().rposition(|byte| *byte == b'/')? + 1;
        let name = OsStr::from_bytes(&bytes[start..end]).to_owned();
        if name == "." || name == ".." {
            return path_of(&open(&path, OFlags::empty())?);
        }
        let parent = OsStr::from_bytes(&bytes[..start]);
        let parent = open(Path::new(parent), OFlags::DIRECTORY)?;
        let link = follows.then(|| readlinkat(&parent, &name, Vec::new()).ok());
        let directory = path_of(&parent)?;
        match link.flatten() {
            // The link leads to a file that does not exist yet.
            Some(link) => path = directory.join(OsString::from_vec(link.into_bytes())),
            None => return Some(directory.join(name)),
        }
    }
    None
}

fn open(path: &Path, flags: OFlags) -> Option<OwnedFd> {
    let flags = flags | OFlags::PATH | OFlags::CLOEXEC;
    openat(CWD, path, flags, Mode::empty()).ok()
}

fn path_of(file: &OwnedFd) -> Option<PathBuf> {
    let link = format!("/proc/self/fd/{}", file.as_raw_fd());
    std::fs::read_link(link)
        .ok()
        .filter(|path| path.is_absolute())
}
