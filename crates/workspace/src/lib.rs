//! Access to the project's files: every tool goes through here.
//!
//! A [`Workspace`] holds its roots as open directories. A path is resolved beneath a root while it
//! is opened, by the kernel or one component at a time over open directories, and never by
//! comparing strings. So a directory that is exchanged for a link in between leads nowhere else.
//!
//! A program that reads and writes files for a model, or for any other caller that is not trusted
//! with all of the user's files, needs this. Joining a root and a path and then checking the result
//! leaves a gap: between the check and the opening, a command can put a link into the path.
//!
//! # Example
//!
//! ```
//! use gemini_tools_core::tool::{Cancellation, ErrorKind};
//! use gemini_tools_workspace::Workspace;
//! use std::io::{Read, Write};
//!
//! let dir = tempfile::tempdir()?;
//! let root = dir.path().canonicalize()?;
//! let workspace = Workspace::open_at(&root, &[], None)?;
//!
//! // A write creates missing directories, and succeeds as a whole or not at all.
//! let place = workspace.locate("notes/today.txt")?;
//! let target = workspace.target(&place, &Cancellation::default())?;
//! target.commit(&place, |file| file.write_all(b"Says hello.\n"))?;
//!
//! let mut text = String::new();
//! workspace.open_file(&place)?.file.read_to_string(&mut text)?;
//! assert_eq!(text, "Says hello.\n");
//!
//! // Neither a path nor a link leads out of the roots.
//! let error = workspace.locate("../other").unwrap_err();
//! assert_eq!(error.kind, ErrorKind::PathNotInWorkspace);
//! std::os::unix::fs::symlink("/etc", root.join("link"))?;
//! let error = workspace.open_file(&workspace.locate("link/passwd")?).unwrap_err();
//! assert_eq!(error.kind, ErrorKind::PathNotInWorkspace);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What it owns
//!
//! - [`resolve`]: paths beneath a root, links followed as long as they stay inside;
//! - [`write`](mod@write): new content in the place of old, all or nothing;
//! - [`edit`] and [`line_endings`]: replacing a text in a file, every byte outside of it as it was;
//! - [`lines`], [`text`] and [`media`]: reading parts of files, decoding text, recognising media;
//! - [`walk`], [`pattern`] and [`ignore`]: walking a tree with several threads, filtered by globs
//!   and by `.gitignore` and similar files;
//! - [`files`] and [`links`]: who owns a file and who may write to it, and where a path leads;
//! - [`file_owner`]: opening settings, tools and policy rules, which a project must not redirect;
//! - [`journal`]: the changes that tools have made, and undoing them;
//! - [`seen`]: what a conversation has seen of files, so that no write loses changes unnoticed;
//! - [`overflow`], [`atomic_file`] and [`stamp`]: these tools' own files below the home directory.
//!
//! This crate reads no settings of these tools: its callers decide what is read and written, and
//! whether that is allowed. Errors are tool errors ([`ToolError`]), because they go to a model
//! unchanged.
//!
//! # Guarantees
//!
//! - No path, link or `..` leads out of the roots, and neither does a directory that is exchanged
//!   for a link meanwhile: on Linux by `openat2`, elsewhere by a walk over open directories.
//! - Only regular files are opened for reading. A named pipe is not waited for.
//! - After a full disk, a crash or a kill a file has its old content or its new content. A file
//!   `.gemini-tools-….tmp` may be left, which a later write in its directory removes, or, of a
//!   change of several files or of an undo, `.gemini-change-….tmp`, until that is completed. Only a
//!   file that must be written in place, such as a mount point, may be left half-written.
//! - A replaced file keeps its owner, group, mode, access list and extended attributes (except file
//!   capabilities), or the write is refused.
//! - Two writers of this crate wait for each other. A change that another program makes between
//!   reading and writing is noticed, and that program's file stays or is put back.
//! - Lines are read, and texts replaced, in pieces: a file may be larger than memory, unless it is
//!   in a multi-byte encoding older than Unicode.
//!
//! # Limits
//!
//! - Rights are per root, not per file: a caller may read everything below a root, and a root is
//!   either writable or read-only.
//! - A hard link keeps the old content: the new content is a new file
//!   ([`Target::other_names`](write::Target::other_names) counts them).
//! - On a file system without locks, two writers notice each other only as they put files in place.
//! - On macOS this was never tried on a real machine.
//! - Items hidden from this documentation (`#[doc(hidden)]`) have types of `rustix` or `similar` in
//!   their signatures and are for our own crates: they change with these dependencies, whatever the
//!   version of this crate says.

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod access;
mod argument;
pub mod atomic_file;
#[doc(hidden)]
pub mod diff;
pub mod edit;
pub mod file_owner;
pub mod files;
pub mod git_config;
pub mod ignore;
mod in_place;
pub mod journal;
pub mod line_endings;
pub mod lines;
pub mod links;
pub mod media;
mod nearest;
mod new_file;
pub mod overflow;
mod page_buffer;
pub mod pattern;
mod processors;
mod project;
pub mod resolve;
mod rules;
pub mod seen;
pub mod stamp;
pub mod text;
mod user_file;
pub mod walk;
pub mod write;

pub use page_buffer::PageBuffer;
pub use processors::processors;
pub use resolve::{Entry, WorkspacePath};
pub use rules::Respect;

use gemini_tools_core::text::path_from_argument;
pub use gemini_tools_core::text::{show_name, show_path};

use crate::files::PATH_ONLY;
use gemini_tools_core::tool::{ErrorKind, ToolError};
use journal::Journal;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::borrow::Cow;
use std::ffi::OsStr;
use std::fs::File;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// What the error about a path outside says of more roots. A command with an option for that leaves
/// it out.
pub const MORE_ROOTS: &str =
    " The user can add a directory with context.includeDirectories in their settings.";

/// Longest path that Linux accepts, in bytes. No program could open a file with a longer one.
const MAX_PATH_BYTES: usize = 4095;

/// A directory that tools may work in.
#[derive(Debug)]
pub struct Root {
    path: PathBuf,
    written: PathBuf,
    dir: OwnedFd,
    read_only: bool,
}

/// The directories that tools may work in, and nothing else.
#[derive(Debug)]
pub struct Workspace {
    roots: Vec<Root>,
    /// Paths that were given as roots but refused, because a command could change where they lead.
    refused: Vec<PathBuf>,
    home: Option<PathBuf>,
    journal: OnceLock<Arc<Journal>>,
    seen: Arc<seen::SeenFiles>,
}

/// An open file and what is known of it.
#[derive(Debug)]
pub struct OpenFile {
    /// The file, open for reading from its start.
    pub file: File,
    /// The state of the file when it was opened.
    pub stat: Stat,
}

impl OpenFile {
    /// Returns the size in bytes.
    pub fn size(&self) -> u64 {
        u64::try_from(self.stat.st_size).unwrap_or(0)
    }
}

impl Workspace {
    /// Opens the workspace whose first root is the current directory.
    ///
    /// `more` are further roots, absolute or relative to the first. A root that can't be opened is
    /// skipped, and one that a command could redirect is refused (see [`Workspace::open_among`]).
    /// Long answers are stored below `home`, the user's home directory, if there is one.
    ///
    /// # Errors
    ///
    /// Returns `execution_failed` if the current directory can't be opened.
    pub fn open(more: &[PathBuf], home: Option<&Path>) -> Result<Self, ToolError> {
        let first = std::env::current_dir().map_err(|e| not_opened("The current directory", &e))?;
        Self::open_at(&first, more, home)
    }

    /// Opens a workspace whose first root is `first`, an absolute path without links. The other
    /// arguments are those of [`Workspace::open`].
    ///
    /// # Errors
    ///
    /// Returns `execution_failed` if the first root can't be opened.
    pub fn open_at(first: &Path, more: &[PathBuf], home: Option<&Path>) -> Result<Self, ToolError> {
        Self::open_among(first, more, &[], home)
    }

    /// Opens a workspace where commands may also write below the paths `writable`, which are
    /// absolute or relative to the first root.
    ///
    /// A further root is refused if its path leads out of a directory that commands may write to (a
    /// path of `writable`, another root or the temporary directory) through a link in that
    /// directory: a command could point the link elsewhere. See [`Workspace::refused_roots`].
    ///
    /// # Errors
    ///
    /// Returns `execution_failed` if the first root can't be opened.
    pub fn open_among(
        first: &Path,
        more: &[PathBuf],
        writable: &[PathBuf],
        home: Option<&Path>,
    ) -> Result<Self, ToolError> {
        let what = || format!("The directory {}", show_path(first));
        let dir = open_without_links(first).map_err(|e| not_opened(&what(), &e))?;
        let mut workspace = Self::with_root(first.to_owned(), dir, false);
        workspace.home = home.map(Path::to_owned);
        workspace.add_roots(more, writable, false);
        Ok(workspace)
    }

    fn with_root(path: PathBuf, dir: OwnedFd, read_only: bool) -> Self {
        let root = Root {
            written: path.clone(),
            path,
            dir,
            read_only,
        };
        Self {
            roots: vec![root],
            refused: Vec::new(),
            home: None,
            journal: OnceLock::new(),
            seen: Arc::default(),
        }
    }

    fn add_roots(&mut self, more: &[PathBuf], writable: &[PathBuf], read_only: bool) {
        let first = self.root().to_owned();
        let named = |path: &PathBuf| {
            let written = first.join(path);
            let resolved = links::resolve(&written).ok()?;
            Some((written, resolved))
        };
        let found: Vec<_> = more.iter().filter_map(named).collect();
        // Filled only if a root's path has links: the directories where commands could change them.
        let mut changeable = Vec::new();
        if found.iter().any(|(_, resolved)| !resolved.is_plain()) {
            let temporary = [std::env::temp_dir()];
            let places = writable.iter().chain(&temporary).filter_map(named);
            changeable.extend(places.map(|(_, resolved)| resolved.real));
            changeable.extend(self.roots().map(Path::to_owned));
            changeable.extend(found.iter().map(|(_, resolved)| resolved.real.clone()));
        }
        for (written, resolved) in found {
            if changeable.iter().any(|dir| resolved.leaves(dir)) {
                self.refused.push(written);
            } else if self.roots.iter().all(|root| root.path != resolved.real)
                && let Ok(dir) = open_without_links(&resolved.real)
            {
                self.roots.push(Root {
                    path: resolved.real,
                    written,
                    dir,
                    read_only,
                });
            }
        }
    }

    /// Returns the paths that were given as further roots but refused, because a command could
    /// change where they lead.
    pub fn refused_roots(&self) -> &[PathBuf] {
        &self.refused
    }

    /// Returns the paths of the writable roots and of the refused ones as they were given, links
    /// included. A sandbox for commands applies the same refusal to them itself.
    pub fn written_roots(&self) -> impl Iterator<Item = &Path> {
        let written = self.roots.iter().filter(|root| !root.read_only);
        written
            .map(|root| root.written.as_path())
            .chain(self.refused.iter().map(PathBuf::as_path))
    }

    /// Checks that the path of each writable root still names the directory that is open. If that
    /// was moved and another one took its place, what is written would go into the old one.
    ///
    /// # Errors
    ///
    /// Returns `execution_failed` for a path that names another directory.
    pub fn check_roots(&self) -> Result<(), ToolError> {
        let is_replaced = |root: &&Root| {
            let id = |stat: Stat| (stat.st_dev, stat.st_ino);
            let now = rustix::fs::stat(&root.written).map(id);
            now.is_ok() && now != rustix::fs::fstat(&root.dir).map(id)
        };
        let mut writable = self.roots.iter().filter(|root| !root.read_only);
        writable.find(is_replaced).map_or(Ok(()), |root| {
            let message = format!(
                "The directory {} was moved or deleted, and another one is in its place.",
                show_path(&root.path)
            );
            Err(ToolError::failed(message).with_hint("Start a new session in it."))
        })
    }

    /// Returns true if the old content of written files is kept.
    pub fn keeps_changes(&self) -> bool {
        self.home.is_some() && self.journal.get().is_some()
    }

    /// Keeps the old content of written files in `journal` from now on.
    pub fn set_journal(&self, journal: Arc<Journal>) {
        // If a journal is set already, that one stays.
        let _ = self.journal.set(journal);
    }

    /// Returns the path of the first root, to which path arguments are relative.
    pub fn root(&self) -> &Path {
        &self.roots[0].path
    }

    /// Returns the user's home directory; `None` if the workspace was opened without one.
    pub fn home(&self) -> Option<&Path> {
        self.home.as_deref()
    }

    /// Returns the paths of all roots that can be written to.
    pub fn roots(&self) -> impl Iterator<Item = &Path> {
        self.roots
            .iter()
            .filter(|r| !r.read_only)
            .map(|r| r.path.as_path())
    }

    /// Returns the first root as a [`WorkspacePath`].
    pub fn root_place(&self) -> WorkspacePath {
        WorkspacePath::new(0, PathBuf::new(), self.root().to_owned())
    }

    /// Returns all roots that can be written to, except those below another root.
    pub fn root_places(&self) -> Vec<WorkspacePath> {
        let is_below_another = |path: &Path| {
            let mut others = self.roots().filter(|other| *other != path);
            others.any(|other| path.starts_with(other))
        };
        self.roots
            .iter()
            .enumerate()
            .filter(|(_, root)| !root.read_only && !is_below_another(&root.path))
            .map(|(i, root)| WorkspacePath::new(i, PathBuf::new(), root.path.clone()))
            .collect()
    }

    /// Returns a path as messages show it: relative to the first root if it lies below that.
    pub fn display<'a>(&self, path: &'a Path) -> &'a Path {
        match path.strip_prefix(self.root()) {
            Ok(rest) if !rest.as_os_str().is_empty() => rest,
            _ => path,
        }
    }

    /// Returns the path of a place as text for messages, made as by [`Workspace::display`].
    pub fn display_name<'a>(&self, place: &'a WorkspacePath) -> Cow<'a, str> {
        show_path(self.display(place.path()))
    }

    /// Finds the root that a path argument lies beneath, and the path below it.
    /// [`Workspace::meant`] interprets the argument. The disk is asked for the root only if the
    /// path's components don't show it. `..` is resolved as text, as in Gemini CLI.
    ///
    /// # Errors
    ///
    /// Returns `invalid_tool_params` for a path that is empty, too long or has a NUL, and for a
    /// text that is no path here (a URL, say), and `path_not_in_workspace` for a path outside of
    /// all roots.
    pub fn locate(&self, argument: &str) -> Result<WorkspacePath, ToolError> {
        let meant = self.meant(argument)?;
        if meant.trim().is_empty() {
            return Err(ToolError::invalid("The path must not be empty.")
                .with_hint("Give an absolute path, or one relative to the project's root."));
        }
        if meant.contains('\0') {
            return Err(ToolError::invalid(format!(
                "The path {meant:?} holds a NUL character, which no file name can hold."
            )));
        }
        if meant.len() > MAX_PATH_BYTES {
            return Err(system_error(Errno::NAMETOOLONG, &meant));
        }
        let path = path_from_argument(&meant);
        let place = self.place_of(&path).ok_or_else(|| self.outside(&meant))?;
        Ok(place.named_as_directory(argument::names_directory(&path)))
    }

    /// Returns the place of a path, absolute or relative to the first root; `None` if it lies
    /// outside of all roots. Nothing need exist there.
    pub fn place_of(&self, path: &Path) -> Option<WorkspacePath> {
        let absolute = normalize(&self.root().join(path))?;
        if let Some(place) = self.beneath(&absolute) {
            return Some(place);
        }
        // The path may lead to the root through a link above the root, so its real path is
        // compared. This is only to find the place: opening it checks again that no link leads out
        // of the root.
        let mut existing = absolute.as_path();
        let mut rest = Vec::new();
        loop {
            if let Ok(real) = std::fs::canonicalize(existing) {
                let full = rest.iter().rev().fold(real, |p: PathBuf, c| p.join(c));
                return self.beneath(&full);
            }
            rest.push(existing.file_name()?.to_owned());
            existing = existing.parent()?;
        }
    }

    /// Returns the place of an absolute path by its components alone, without looking at the disk.
    /// Of nested roots the innermost counts.
    fn beneath(&self, absolute: &Path) -> Option<WorkspacePath> {
        let mut best: Option<(usize, &Path)> = None;
        for (index, root) in self.roots.iter().enumerate() {
            if let Ok(rest) = absolute.strip_prefix(&root.path)
                && best
                    .is_none_or(|(_, shortest)| rest.as_os_str().len() < shortest.as_os_str().len())
            {
                best = Some((index, rest));
            }
        }
        best.map(|(root, rest)| WorkspacePath::new(root, rest.to_owned(), absolute.to_owned()))
    }

    fn outside(&self, argument: &str) -> ToolError {
        let roots: Vec<_> = self.roots().map(|p| p.display().to_string()).collect();
        let mut hint = format!("Use a path below {}.{MORE_ROOTS}", roots.join(" or "));
        for refused in &self.refused {
            hint.push(' ');
            hint.push_str(&refusal(refused));
        }
        ToolError::new(
            ErrorKind::PathNotInWorkspace,
            format!("The path {argument} is not in the workspace."),
        )
        .with_hint(hint)
    }

    /// Opens a regular file for reading.
    ///
    /// # Errors
    ///
    /// Returns `file_not_found`, `target_is_directory`, `permission_denied`,
    /// `path_not_in_workspace`, or `read_content_failure` for a special file such as a socket and
    /// for a file of `/proc`.
    pub fn open_file(&self, place: &WorkspacePath) -> Result<OpenFile, ToolError> {
        // `NONBLOCK`, because opening a named pipe would otherwise wait for a writer.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
        let fd = self
            .open_beneath(place, flags)
            .map_err(|e| Self::path_error(e, place))?;
        let stat = rustix::fs::fstat(&fd).map_err(|e| Self::path_error(e.into(), place))?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => {}
            FileType::Directory => {
                let error = Self::path_error(Errno::ISDIR.into(), place);
                return Err(error.with_hint("Use list_directory to see what it holds."));
            }
            other => return Err(special_file(place, other)),
        }
        if stat.st_size == 0 && is_pseudo_file_system(&fd) {
            return Err(ToolError::new(
                ErrorKind::ReadContentFailure,
                format!(
                    "{} is a pseudo-file of the kernel, which is not read.",
                    place.path().display()
                ),
            ));
        }
        Ok(OpenFile {
            file: File::from(fd),
            stat,
        })
    }

    /// Opens a directory for reading.
    ///
    /// # Errors
    ///
    /// Returns `file_not_found`, `path_is_not_a_directory`, `permission_denied` or
    /// `path_not_in_workspace`.
    pub fn open_dir(&self, place: &WorkspacePath) -> Result<OwnedFd, ToolError> {
        self.open_beneath(place, OFlags::RDONLY | OFlags::DIRECTORY)
            .map_err(|e| Self::path_error(e, place))
    }

    /// Returns the type of the file that a path leads to, following links beneath the roots.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Workspace::open_file`].
    #[doc(hidden)]
    pub fn file_type(&self, place: &WorkspacePath) -> Result<FileType, ToolError> {
        self.stat(place)
            .map(|stat| FileType::from_raw_mode(stat.st_mode))
    }

    /// Returns the `stat` of the file that a path leads to, following links beneath the roots.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Workspace::open_file`].
    #[doc(hidden)]
    pub fn stat(&self, place: &WorkspacePath) -> Result<Stat, ToolError> {
        self.open_beneath(place, PATH_ONLY)
            .and_then(|fd| Ok(rustix::fs::fstat(&fd)?))
            .map_err(|e| Self::path_error(e, place))
    }

    /// Returns true if the last component of a path is a symbolic link.
    pub fn is_link(&self, place: &WorkspacePath) -> bool {
        self.entry_type(place) == Some(FileType::Symlink)
    }

    fn entry_type(&self, place: &WorkspacePath) -> Option<FileType> {
        let above = self.open_beneath(&place.parent()?, PATH_ONLY | OFlags::DIRECTORY);
        let stat = rustix::fs::statat(above.ok()?, place.name(), AtFlags::SYMLINK_NOFOLLOW);
        Some(FileType::from_raw_mode(stat.ok()?.st_mode))
    }

    pub(crate) fn path_error(error: resolve::ResolveError, place: &WorkspacePath) -> ToolError {
        let path = place.path().display();
        match error {
            resolve::ResolveError::Escapes => ToolError::new(
                ErrorKind::PathNotInWorkspace,
                format!("The path {path} leads out of the workspace through a link."),
            )
            .with_hint("Use a path that stays below the project's root."),
            resolve::ResolveError::System(Errno::NOTDIR) if place.is_directory() => {
                system_error(Errno::NOTDIR, &format!("{path}/"))
                    .with_hint("Name a directory there, or leave out the slash at the end.")
            }
            resolve::ResolveError::System(errno) => system_error(errno, &path.to_string()),
        }
    }
}

fn not_opened(what: &str, error: &std::io::Error) -> ToolError {
    let hint = match error.kind() {
        std::io::ErrorKind::PermissionDenied => "It must be readable.",
        _ if Errno::from_io_error(error) == Some(Errno::LOOP) => {
            "A part of the path is a link; give it without links."
        }
        _ => "Give the absolute path of an existing directory.",
    };
    ToolError::failed(format!("{what} can't be opened: {error}.")).with_hint(hint)
}

/// Returns the sentence that tells why a root is refused.
pub fn refusal(root: &Path) -> String {
    format!(
        "{} is not worked in: it leads through a symbolic link in a place that commands may \
         write to, and they could point it elsewhere.",
        show_path(root)
    )
}

/// Returns the real path of a directory that is to become a first root. `written` is absolute.
/// Commands may write below the paths `writable` and in the temporary directory.
///
/// # Errors
///
/// Returns `policy_violation` if the path leads out of one of those directories through a link in
/// it, which a command could point elsewhere; otherwise the operating system's error.
pub fn real_root(written: &Path, writable: &[PathBuf]) -> Result<PathBuf, ToolError> {
    let fail = |e| system_error(e, &written.display().to_string());
    let resolved = links::resolve(written).map_err(fail)?;
    let temporary = [std::env::temp_dir()];
    let leaves = |dir: &PathBuf| {
        let dir = links::resolve(&resolved.real.join(dir));
        dir.is_ok_and(|dir| resolved.leaves(&dir.real))
    };
    if !resolved.is_plain() && writable.iter().chain(&temporary).any(leaves) {
        let error = ToolError::denied(refusal(written));
        return Err(error.with_hint("If it is meant, name where it leads instead."));
    }
    Ok(resolved.real)
}

fn open_without_links(path: &Path) -> std::io::Result<OwnedFd> {
    // The path was resolved before. A link that was put into it since must not be followed.
    let flags = PATH_ONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let top = rustix::fs::open("/", flags, Mode::empty())?;
    let is_name = |part: Component<'_>| matches!(part, Component::Normal(_));
    let below = path.strip_prefix("/").ok();
    let below = below.filter(|below| below.components().all(is_name));
    let below = below.ok_or(std::io::Error::other("it is relative, or has a .. in it"))?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY;
    Ok(resolve::open_plain(top.as_fd(), below, flags)?)
}

fn open_directory(path: &Path) -> std::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(rustix::fs::open(path, flags, Mode::empty())?)
}

/// Returns the tool error for an error of the operating system about the file `path`.
#[doc(hidden)]
pub fn system_error(errno: Errno, path: &str) -> ToolError {
    use ErrorKind as Kind;
    let (kind, rest, hint) = match errno {
        Errno::ACCESS | Errno::PERM => {
            let message = format!("The system denies access to {path}.");
            return with_cause(Kind::PermissionDenied, message, errno)
                .with_hint("Check its permissions.");
        }
        Errno::NOSPC | Errno::DQUOT => {
            let message = format!("There is no space left for {path}.");
            return with_cause(Kind::NoSpaceLeft, message, errno)
                .with_hint("Nothing was changed; free some space first.");
        }
        Errno::NAMETOOLONG => {
            let beginning: String = path.chars().take(80).collect();
            let message = format!("The path {beginning}… is longer than the system allows.");
            return with_cause(Kind::InvalidToolParams, message, errno)
                .with_hint("A name may have 255 bytes.");
        }
        Errno::NOENT => (
            Kind::FileNotFound,
            "does not exist",
            "Check the path, or find the file with glob.",
        ),
        Errno::NOTDIR => (
            Kind::PathIsNotADirectory,
            "can't be used: the path, or a part of it, is a file and not a directory",
            "Name a directory there.",
        ),
        Errno::ISDIR => (Kind::TargetIsDirectory, "is a directory, not a file", ""),
        Errno::ROFS => (Kind::PermissionDenied, "is on a read-only file system", ""),
        Errno::FBIG => (
            Kind::NoSpaceLeft,
            "would be larger than the system allows",
            "Nothing was changed.",
        ),
        Errno::LOOP => (
            Kind::FileNotFound,
            "leads through too many symbolic links",
            "",
        ),
        Errno::NXIO => (
            Kind::ReadContentFailure,
            "is a socket or device, not a regular file",
            "",
        ),
        other => {
            let message = format!("{path} can't be used: {}.", std::io::Error::from(other));
            return with_cause(Kind::ExecutionFailed, message, errno);
        }
    };
    let error = with_cause(kind, format!("{path} {rest}."), errno);
    if hint.is_empty() {
        return error;
    }
    error.with_hint(hint)
}

fn with_cause(kind: ErrorKind, message: String, errno: Errno) -> ToolError {
    ToolError::new(kind, message).with_source(std::io::Error::from(errno))
}

/// Returns the tool error for a file that can't be read or written. The reason is that of the
/// operating system if `error` has its number, and otherwise the text of `error`.
pub fn io_error(error: &std::io::Error, path: &Path) -> ToolError {
    let path = path.display();
    match error.raw_os_error() {
        Some(number) => system_error(Errno::from_raw_os_error(number), &path.to_string()),
        None => ToolError::failed(format!("{path} can't be used: {error}.")),
    }
}

fn special_file(place: &WorkspacePath, file_type: FileType) -> ToolError {
    let what = match file_type {
        FileType::Fifo => "a named pipe",
        FileType::Socket => "a socket",
        FileType::CharacterDevice | FileType::BlockDevice => "a device",
        _ => "a special file",
    };
    ToolError::new(
        ErrorKind::ReadContentFailure,
        format!("{} is {what}, not a regular file.", place.path().display()),
    )
    .with_hint("Name a regular file.")
}

fn is_pseudo_file_system(fd: &OwnedFd) -> bool {
    // Files in `/proc`, and some in `/sys`, report a size of zero, whatever they hold.
    #[cfg(target_os = "linux")]
    {
        const PROC: i64 = 0x9fa0;
        const SYSFS: i64 = 0x6265_6572;
        rustix::fs::fstatfs(fd).is_ok_and(|fs| {
            let kind = fs.f_type;
            kind == PROC || kind == SYSFS
        })
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = fd;
        false
    }
}

fn normalize(path: &Path) -> Option<PathBuf> {
    let mut parts: Vec<&OsStr> = Vec::new();
    for component in path.components() {
        match component {
            Component::ParentDir => {
                parts.pop()?;
            }
            Component::Normal(name) => parts.push(name),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    let top = PathBuf::from("/");
    Some(parts.iter().fold(top, |path, part| path.join(part)))
}

#[cfg(test)]
mod tests {
    use super::{Workspace, io_error, normalize};
    use std::path::Path;

    #[test]
    fn an_error_without_a_number_keeps_its_reason() {
        let error = io_error(&std::io::Error::other("a thread failed"), Path::new("/a"));
        assert_eq!(error.message, "/a can't be used: a thread failed.");
    }

    #[test]
    fn a_first_root_is_no_directory_that_a_command_has_chosen() {
        use gemini_tools_core::tool::ErrorKind;
        let dir = tempfile::tempdir().expect("a directory");
        let top = dir.path().canonicalize().expect("exists");
        let (inside, outside) = (top.join("in"), top.join("out"));
        std::fs::create_dir(&inside).expect("made");
        std::fs::create_dir(&outside).expect("made");
        let (away, way) = (inside.join("away"), top.join("way"));
        for link in [&away, &way] {
            std::os::unix::fs::symlink(&outside, link).expect("a link");
        }
        let real = |root: &Path| super::real_root(root, std::slice::from_ref(&inside));
        assert_eq!(real(&way).expect("its own"), outside);
        let refused = real(&away).expect_err("refused");
        assert_eq!(refused.kind, ErrorKind::PolicyViolation, "{refused}");
        // `open_at` needs a path without links. If a link was put into the path after it had been
        // resolved, opening fails, and the link is not followed.
        assert!(Workspace::open_at(&outside, &[], None).is_ok());
        assert!(Workspace::open_at(&away, &[], None).is_err());
    }

    #[test]
    fn dots_are_taken_off_as_text_and_never_climb_above_the_top() {
        assert_eq!(
            normalize(Path::new("/a/./b/../c")).as_deref(),
            Some(Path::new("/a/c"))
        );
        assert_eq!(normalize(Path::new("/../a")), None);
    }
}
