//! Reading ignore files from the disk.

use super::Workspace;
use super::ignore::{Ignored, RuleFile, Rules};
use super::resolve::Place;
use crate::sys::fd::{AsFd, BorrowedFd};
use crate::sys::ffi::OsStrExt;
use crate::sys::fs::{AtFlags, Mode, OFlags};
use std::ffi::CStr;
use std::io::Read;
use std::path::{Path, PathBuf};

/// More than this of an ignore file is not read.
const MAX_IGNORE_FILE_BYTES: u64 = 4 * 1024 * 1024;

/// Which ignore files count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Respect {
    /// `.gitignore` and `.git/info/exclude`.
    pub git: bool,
    /// `.geminiignore`.
    pub gemini: bool,
}

impl Respect {
    /// All of them.
    pub const ALL: Self = Self {
        git: true,
        gemini: true,
    };
}

/// Which of the names that matter a directory holds.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Seen {
    pub(super) git: bool,
    pub(super) gitignore: bool,
    pub(super) geminiignore: bool,
}

/// The rules that hold in a directory, and whether git's files count in it: they do inside
/// of a repository only, as for git.
#[derive(Debug, Clone)]
pub(super) struct Scope {
    pub(super) rules: Rules,
    pub(super) in_repository: bool,
}

impl Workspace {
    /// The rules of everything above a directory of the workspace; its own files are not
    /// among them.
    pub(super) fn rules_above(&self, place: &Place, respect: Respect) -> Scope {
        let root = &self.roots[place.root];
        let mut scope = Scope {
            rules: Rules::default(),
            in_repository: false,
        };
        if respect.git && !has(root.dir.as_fd(), c".git") {
            scope = above_the_root(&root.path);
        }
        let mut depth = 0;
        let rel = place.rel().as_os_str().as_bytes();
        let mut here = PathBuf::new();
        for component in place.rel() {
            let at = Place::new(place.root, here.clone(), PathBuf::new());
            if let Ok(dir) = self.open_beneath(&at, super::path_only() | OFlags::DIRECTORY) {
                let dir = dir.as_fd();
                let seen = Seen {
                    git: respect.git && has(dir, c".git"),
                    gitignore: true,
                    geminiignore: true,
                };
                scope = scope.entered(dir, &rel[..depth], seen, respect);
            }
            here.push(component);
            depth = (here.as_os_str().len() + 1).min(rel.len());
        }
        scope
    }

    /// Whether `.geminiignore` closes a file, or a directory above it: by the path that it has
    /// here, or by that to which links lead.
    pub fn is_gemini_ignored(&self, place: &Place) -> bool {
        self.is_closed(place, false)
    }

    /// The same of a directory.
    pub(super) fn is_directory_gemini_ignored(&self, place: &Place) -> bool {
        self.is_closed(place, true)
    }

    fn is_closed(&self, place: &Place, is_dir: bool) -> bool {
        let respect = Respect {
            git: false,
            gemini: true,
        };
        let is_closed = |place: &Place| self.ignored_as_named(place, is_dir, respect).is_some();
        let real = || self.real_place(place).filter(|real| real != place);
        is_closed(place) || real().is_some_and(|real| is_closed(&real))
    }

    /// Who asks for a file, or for a directory above it, to be left out.
    pub fn ignored(&self, place: &Place, respect: Respect) -> Option<Ignored> {
        self.ignored_as_named(place, false, respect).or_else(|| {
            let is_closed = respect.gemini && self.is_gemini_ignored(place);
            is_closed.then_some(Ignored::Gemini)
        })
    }

    fn ignored_as_named(&self, place: &Place, is_dir: bool, respect: Respect) -> Option<Ignored> {
        let rules = self.rules_above(place, respect).rules;
        let path = place.rel().as_os_str().as_bytes();
        if rules.is_empty() || path.is_empty() {
            return None;
        }
        let ends = path
            .iter()
            .enumerate()
            .filter(|(_, b)| **b == b'/')
            .map(|(i, _)| i);
        let mut name_at = 0;
        for end in ends.chain([path.len()]) {
            let ignored = rules.ignored(&path[..end], name_at, is_dir || end < path.len());
            if ignored.is_some() {
                return ignored;
            }
            name_at = end + 1;
        }
        None
    }
}

impl Scope {
    /// The rules inside of a directory, `path` being its path below the root with a final
    /// slash, or empty.
    pub(super) fn entered(
        &self,
        dir: BorrowedFd<'_>,
        path: &[u8],
        seen: Seen,
        respect: Respect,
    ) -> Self {
        let mut scope = self.clone();
        if respect.git && seen.git {
            scope.rules = scope.rules.without_git();
            scope.in_repository = true;
            if let Some(file) = read_at(dir, c".git/info/exclude") {
                scope.rules = scope.rules.with_git(file, path.len());
            }
        }
        if respect.git
            && scope.in_repository
            && seen.gitignore
            && let Some(file) = read_at(dir, c".gitignore")
        {
            scope.rules = scope.rules.with_git(file, path.len());
        }
        if respect.gemini
            && seen.geminiignore
            && let Some(file) = read_at(dir, c".geminiignore")
        {
            scope.rules = scope.rules.with_gemini(file, path.len());
        }
        scope
    }
}

/// Git's rules from the top of the repository that the root lies in down to above the root.
fn above_the_root(root: &Path) -> Scope {
    let mut scope = Scope {
        rules: Rules::default(),
        in_repository: false,
    };
    let Some(top) = root
        .ancestors()
        .skip(1)
        .find(|dir| dir.join(".git").exists())
    else {
        return scope;
    };
    scope.in_repository = true;
    let seen_from = |dir: &Path| {
        let mut rest = root
            .strip_prefix(dir)
            .unwrap_or(root)
            .as_os_str()
            .as_bytes()
            .to_vec();
        #[cfg(windows)]
        rest.iter_mut()
            .filter(|b| **b == b'\\')
            .for_each(|b| *b = b'/');
        rest.push(b'/');
        rest
    };
    if let Some(file) = read_path(&top.join(".git/info/exclude")) {
        scope.rules = scope.rules.with_git_above(file, seen_from(top));
    }
    let mut between: Vec<&Path> = root
        .ancestors()
        .skip(1)
        .take_while(|dir| dir.starts_with(top))
        .collect();
    between.reverse();
    for dir in between {
        if let Some(file) = read_path(&dir.join(".gitignore")) {
            scope.rules = scope.rules.with_git_above(file, seen_from(dir));
        }
    }
    scope
}

fn has(dir: BorrowedFd<'_>, name: &CStr) -> bool {
    crate::sys::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW).is_ok()
}

fn read_at(dir: BorrowedFd<'_>, name: &CStr) -> Option<RuleFile> {
    let flags =
        OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let fd = crate::sys::fs::openat(dir, name, flags, Mode::empty()).ok()?;
    read_rules(fd.into())
}

fn read_path(path: &Path) -> Option<RuleFile> {
    read_rules(std::fs::File::open(path).ok()?)
}

fn read_rules(file: std::fs::File) -> Option<RuleFile> {
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut text = Vec::new();
    file.take(MAX_IGNORE_FILE_BYTES)
        .read_to_end(&mut text)
        .ok()?;
    Some(RuleFile::parse(&text))
}
