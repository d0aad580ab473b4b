//! Reads ignore files from the disk.

use super::Workspace;
use super::git_config::UsersRules;
use super::ignore::{Base, IgnoreRules, IgnoreSource, MAX_FILE_BYTES, RuleFile};
use super::resolve::{ResolveError, WorkspacePath, open_by_kernel, open_by_steps};
use crate::files::PATH_ONLY;
use gemini_tools_core::tool::{ErrorKind, ToolError};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags};
use rustix::io::Errno;
use std::ffi::{CStr, OsStr};
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const MAX_LINE_BYTES: u64 = 64 * 1024;

const GEMINI_IGNORE: &str = ".geminiignore";

const READING: OFlags = OFlags::RDONLY
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

/// The kinds of ignore files that count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Respect {
    /// True if `.gitignore`, `.git/info/exclude` and the user's own file for all repositories
    /// count.
    pub git: bool,
    /// True if `.geminiignore` counts.
    pub gemini: bool,
}

impl Respect {
    /// All kinds of ignore files count.
    pub const ALL: Self = Self {
        git: true,
        gemini: true,
    };
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct IgnoreFilesSeen {
    pub(super) git: bool,
    pub(super) gitignore: bool,
    pub(super) geminiignore: bool,
}

impl IgnoreFilesSeen {
    pub(super) fn note(&mut self, name: &[u8]) {
        match name {
            b".git" => self.git = true,
            b".gitignore" => self.gitignore = true,
            b".geminiignore" => self.geminiignore = true,
            _ => {}
        }
    }
}

/// The rules that apply in a directory. Git's files count only inside of a repository, as for git
/// itself.
#[derive(Debug, Clone, Default)]
pub(super) struct IgnoreScope {
    pub(super) rules: IgnoreRules,
    pub(super) in_repository: bool,
}

/// An open directory. `path` is relative to the root with the index `root`; it is empty or ends in
/// a slash.
#[derive(Clone, Copy)]
pub(super) struct OpenDirectory<'a> {
    pub(super) fd: BorrowedFd<'a>,
    pub(super) root: usize,
    pub(super) path: &'a [u8],
}

impl Workspace {
    pub(super) fn rules_above(
        &self,
        place: &WorkspacePath,
        respect: Respect,
        users: &UsersRules,
    ) -> Result<IgnoreScope, ToolError> {
        let root = &self.roots[place.root];
        let mut scope = IgnoreScope::default();
        if respect.git && !has(root.dir.as_fd(), c".git") {
            scope = above_the_root(&root.path, users);
        }
        let mut depth = 0;
        let rel = place.rel().as_os_str().as_bytes();
        let mut here = PathBuf::new();
        for component in place.rel() {
            let at = WorkspacePath::new(place.root, here.clone(), PathBuf::new());
            if let Ok(dir) = self.open_beneath(&at, PATH_ONLY | OFlags::DIRECTORY) {
                let dir = OpenDirectory {
                    fd: dir.as_fd(),
                    root: place.root,
                    path: &rel[..depth],
                };
                let seen = IgnoreFilesSeen {
                    git: respect.git && has(dir.fd, c".git"),
                    gitignore: true,
                    geminiignore: true,
                };
                scope = scope.entered(self, dir, seen, respect, users)?;
            }
            here.push(component);
            depth = (here.as_os_str().len() + 1).min(rel.len());
        }
        Ok(scope)
    }

    /// Refuses a file that `.geminiignore` excludes.
    ///
    /// # Errors
    ///
    /// Returns `permission_denied`, also if a `.geminiignore` above the file can't be read, since
    /// it might exclude the file.
    pub fn check_gemini_ignore(&self, place: &WorkspacePath) -> Result<(), ToolError> {
        if !self.is_closed(place, false)? {
            return Ok(());
        }
        Err(ToolError::new(
            ErrorKind::PermissionDenied,
            format!("{} is excluded by .geminiignore.", place.path().display()),
        )
        .with_hint("If you need this file, ask the user to take the rule out of .geminiignore."))
    }

    /// Returns true if `.geminiignore` excludes a file or a directory above it, by its path or by
    /// the path that links lead to. A `.geminiignore` that can't be read excludes everything.
    pub fn is_gemini_ignored(&self, place: &WorkspacePath) -> bool {
        self.is_closed(place, false).unwrap_or(true)
    }

    /// Returns true if `.geminiignore` excludes a file or directory or one above it, by its path or
    /// by the path that links lead to.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`IgnoreScope::entered`].
    pub(super) fn is_closed(&self, place: &WorkspacePath, is_dir: bool) -> Result<bool, ToolError> {
        let respect = Respect {
            git: false,
            gemini: true,
        };
        let mut ignored = self.ignored_as_named(place, is_dir, respect)?;
        if ignored.is_none()
            && let Some(real) = self.real_place(place).filter(|real| real != place)
        {
            ignored = self.ignored_as_named(&real, is_dir, respect)?;
        }
        Ok(ignored.is_some())
    }

    /// Returns which ignore files exclude a file or a directory above it; `None` if none does.
    ///
    /// # Errors
    ///
    /// Returns `permission_denied` if a `.geminiignore` above the file can't be read.
    pub fn ignored(
        &self,
        place: &WorkspacePath,
        respect: Respect,
    ) -> Result<Option<IgnoreSource>, ToolError> {
        let named = self.ignored_as_named(place, false, respect)?;
        if named.is_some() || !respect.gemini {
            return Ok(named);
        }
        Ok(self
            .is_closed(place, false)?
            .then_some(IgnoreSource::Gemini))
    }

    pub(super) fn ignored_as_named(
        &self,
        place: &WorkspacePath,
        is_dir: bool,
        respect: Respect,
    ) -> Result<Option<IgnoreSource>, ToolError> {
        let rules = self
            .rules_above(place, respect, &UsersRules::default())?
            .rules;
        let path = place.rel().as_os_str().as_bytes();
        if rules.is_empty() || path.is_empty() {
            return Ok(None);
        }
        let mut name_at = 0;
        for end in memchr::memchr_iter(b'/', path).chain([path.len()]) {
            let ignored = rules.ignored(&path[..end], name_at, is_dir || end < path.len());
            if ignored.is_some() {
                return Ok(ignored);
            }
            name_at = end + 1;
        }
        Ok(None)
    }

    /// Reads the `.geminiignore` of a directory. A link is followed if it stays in the workspace.
    fn gemini_rules(
        &self,
        OpenDirectory { fd, root, path }: OpenDirectory<'_>,
    ) -> Result<Option<RuleFile>, ToolError> {
        let rel = || Path::new(OsStr::from_bytes(path)).join(GEMINI_IGNORE);
        let closed = |why: &str| {
            let file = self.roots[root].path.join(rel());
            ToolError::new(
                ErrorKind::PermissionDenied,
                format!(
                    "{} can't be read ({why}), so that everything below its directory is closed.",
                    file.display()
                ),
            )
            .with_hint("Ask the user to make it a readable file, or to remove it.")
        };
        let opened =
            rustix::fs::openat(fd, GEMINI_IGNORE, READING | OFlags::NOFOLLOW, Mode::empty());
        let opened = match opened {
            Err(Errno::NOENT) => return Ok(None),
            Err(Errno::LOOP) => {
                let place = WorkspacePath::new(root, rel(), PathBuf::new());
                self.open_beneath(&place, READING)
            }
            other => other.map_err(ResolveError::System),
        };
        let file = opened.map_err(|failure| match failure {
            ResolveError::Escapes => closed("it leads out of the workspace"),
            ResolveError::System(errno) => closed(&errno.to_string()),
        })?;
        let file = File::from(file);
        let metadata = file.metadata().map_err(|e| closed(&e.to_string()))?;
        if !metadata.is_file() {
            return Err(closed("it is not a regular file"));
        }
        if metadata.len() > MAX_FILE_BYTES {
            let most = format!("it has more than {MAX_FILE_BYTES} bytes");
            return Err(closed(&most));
        }
        let rules = read_rules(file).ok_or_else(|| closed("reading it fails"))?;
        if rules.is_closed() {
            return Err(closed("it has too many rules"));
        }
        Ok(Some(rules))
    }
}

impl IgnoreScope {
    /// Returns the rules that apply inside of `dir`. `self` has those of the directories above it.
    ///
    /// # Errors
    ///
    /// Returns `permission_denied` if its `.geminiignore` can't be read, since what it excludes is
    /// unknown. An unreadable or linked `.gitignore` is ignored, as by git.
    pub(super) fn entered(
        &self,
        workspace: &Workspace,
        dir: OpenDirectory<'_>,
        seen: IgnoreFilesSeen,
        respect: Respect,
        users: &UsersRules,
    ) -> Result<Self, ToolError> {
        let OpenDirectory { fd, path, .. } = dir;
        let mut scope = self.clone();
        if respect.git && seen.git {
            scope.rules = scope.rules.without_git();
            scope.in_repository = true;
            let files = users.get().cloned().into_iter();
            for file in files.chain(own_excludes(fd).map(Arc::new)) {
                scope.rules.add_git(file, Base::Below(path.len()));
            }
        }
        if respect.git
            && scope.in_repository
            && seen.gitignore
            && let Some(file) = read_rules_at(fd, Path::new(".gitignore"))
        {
            scope.rules.add_git(file.into(), Base::Below(path.len()));
        }
        if respect.gemini
            && seen.geminiignore
            && let Some(file) = workspace.gemini_rules(dir)?
        {
            scope.rules.add_gemini(file, path.len());
        }
        Ok(scope)
    }
}

/// Reads git's rules from the top of the enclosing repository down to the directory above the root.
fn above_the_root(root: &Path, users: &UsersRules) -> IgnoreScope {
    let mut scope = IgnoreScope::default();
    let Some(top) = root
        .ancestors()
        .skip(1)
        .find(|dir| dir.join(".git").exists())
    else {
        return scope;
    };
    scope.in_repository = true;
    let seen_from = |dir: &Path| {
        let rest = root.strip_prefix(dir).unwrap_or(root);
        Base::Above([rest.as_os_str().as_bytes(), b"/"].concat())
    };
    let dir = rustix::fs::open(top, READING | OFlags::DIRECTORY, Mode::empty());
    let own = dir.ok().and_then(|dir| own_excludes(dir.as_fd()));
    let files = users.get().cloned().into_iter();
    for file in files.chain(own.map(Arc::new)) {
        scope.rules.add_git(file, seen_from(top));
    }
    let mut between: Vec<&Path> = root
        .ancestors()
        .skip(1)
        .take_while(|dir| dir.starts_with(top))
        .collect();
    between.reverse();
    for dir in between {
        if let Some(file) = read_rules_at(CWD, &dir.join(".gitignore")) {
            scope.rules.add_git(file.into(), seen_from(dir));
        }
    }
    scope
}

fn has(dir: BorrowedFd<'_>, name: &CStr) -> bool {
    rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW).is_ok()
}

/// Reads the `info/exclude` of a repository whose topmost directory is `top`.
///
/// A link is followed if it stays in the repository. Outside of it, only the `info/exclude` of a
/// git directory is read, which a worktree needs. A project may come from a stranger, and if it
/// could have any file read as rules, what is missing in a listing would reveal the file's content.
fn own_excludes(top: BorrowedFd<'_>) -> Option<RuleFile> {
    if let Some(file) = open_beneath(top, Path::new(".git/info/exclude")) {
        return read_rules(file);
    }
    let kept = kept_elsewhere(top)?;
    let named = open_beneath(kept.as_fd(), Path::new("commondir")).and_then(line_of);
    let common = match named {
        Some(common) => open_directory(kept.as_fd(), Path::new(&common))?,
        None => kept,
    };
    if !has(common.as_fd(), c"HEAD") || !has(common.as_fd(), c"objects") {
        return None;
    }
    read_rules(open_beneath(common.as_fd(), Path::new("info/exclude"))?)
}

/// Opens git's directory of a repository in which `.git` is not that directory itself.
///
/// In a worktree or submodule, `.git` is a file with the path of git's directory (see
/// gitrepository-layout). If `.git` is a link, the link is followed.
fn kept_elsewhere(top: BorrowedFd<'_>) -> Option<OwnedFd> {
    let stat = rustix::fs::statat(top, c".git", AtFlags::SYMLINK_NOFOLLOW).ok()?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => {
            let line = line_of(open(top, Path::new(".git"), OFlags::NOFOLLOW)?)?;
            open_directory(top, Path::new(line.strip_prefix("gitdir: ")?))
        }
        FileType::Symlink => open_directory(top, Path::new(".git")),
        _ => None,
    }
}

fn open_directory(dir: BorrowedFd<'_>, path: &Path) -> Option<OwnedFd> {
    let flags = PATH_ONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::openat(dir, path, flags, Mode::empty()).ok()
}

fn line_of(file: File) -> Option<String> {
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut text = String::new();
    file.take(MAX_LINE_BYTES).read_to_string(&mut text).ok()?;
    Some(text.trim_end_matches(['\r', '\n']).to_owned())
}

fn read_rules_at(dir: BorrowedFd<'_>, path: &Path) -> Option<RuleFile> {
    read_rules(open(dir, path, OFlags::NOFOLLOW)?)
}

pub(super) fn read_named(path: &Path) -> Option<Vec<u8>> {
    // The user's own configuration names the file, so links are followed.
    read(open(CWD, path, OFlags::empty())?)
}

fn open_beneath(dir: BorrowedFd<'_>, path: &Path) -> Option<File> {
    let opened = open_by_kernel(dir, path, READING, true);
    let opened = opened.unwrap_or_else(|| open_by_steps(dir, path, READING));
    opened.ok().map(File::from)
}

fn open(dir: BorrowedFd<'_>, path: &Path, more: OFlags) -> Option<File> {
    let fd = rustix::fs::openat(dir, path, READING | more, Mode::empty()).ok()?;
    Some(fd.into())
}

fn read_rules(file: File) -> Option<RuleFile> {
    Some(RuleFile::parse(&read(file)?))
}

fn read(file: File) -> Option<Vec<u8>> {
    let metadata = file.metadata().ok().filter(std::fs::Metadata::is_file)?;
    // With room for one byte more than the file has, one system call reads all of it and a second
    // one finds its end.
    let size = metadata.len().min(MAX_FILE_BYTES);
    let mut text = Vec::with_capacity(usize::try_from(size).ok()? + 1);
    file.take(MAX_FILE_BYTES + 1).read_to_end(&mut text).ok()?;
    Some(text)
}
