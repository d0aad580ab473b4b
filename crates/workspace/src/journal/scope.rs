//! Decides for which files the changes that a command makes are kept.

use super::entry::{ContentStamp, FileState, NodeKind};
use super::keeper::stamped;
use super::node;
use crate::git_config::UsersRules;
use crate::ignore::{IgnoreRules, IgnoreSource};
use crate::{Respect, Workspace, WorkspacePath};
use rustix::fs::Stat;
use rustix::io::Errno;
use std::collections::{HashMap, HashSet};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

#[derive(Debug)]
struct DirectoryRules {
    rules: IgnoreRules,
    ignored: Option<IgnoreSource>,
}

#[derive(Debug)]
pub(super) struct ChangeScope {
    roots: Vec<PathBuf>,
    journal: Option<PathBuf>,
    pub(super) takes_ignored: bool,
    /// Opened on first use, in the process of the command's supervisor and not in the tool's.
    workspace: Option<Workspace>,
    users: UsersRules,
    directories: HashMap<PathBuf, DirectoryRules>,
}

pub(super) struct CoveredPath {
    pub(super) rel: PathBuf,
    pub(super) is_gemini_ignored: bool,
}

impl ChangeScope {
    pub(super) fn new(workspace: &Workspace, home: Option<&Path>, takes_ignored: bool) -> Self {
        Self {
            roots: workspace.roots().map(Path::to_owned).collect(),
            journal: home.map(super::place::journal),
            takes_ignored,
            workspace: None,
            users: UsersRules::default(),
            directories: HashMap::new(),
        }
    }

    /// Returns a path, relative to its root, if its changes are recorded; otherwise `None`. `path`
    /// is absolute and has no links. These changes are not recorded: outside of the roots, in the
    /// journal's own directory, and, unless `takes_ignored` is set, of files that git ignores.
    pub(super) fn find(&mut self, path: &Path, is_dir: bool) -> Option<CoveredPath> {
        let is_below_root = self.roots.iter().any(|root| path.starts_with(root));
        let is_of_journal = self
            .journal
            .as_ref()
            .is_some_and(|journal| path.starts_with(journal));
        if !is_below_root || is_of_journal {
            return None;
        }
        let place = self.workspace()?.place_of(path)?;
        if place.is_root() {
            return None;
        }
        match self.ignored(&place, is_dir) {
            Some(IgnoreSource::Git) if !self.takes_ignored => None,
            source => Some(CoveredPath {
                rel: place.rel().to_owned(),
                is_gemini_ignored: source == Some(IgnoreSource::Gemini),
            }),
        }
    }

    pub(super) fn covers_below(&mut self, dir: &Path) -> bool {
        let is_kept = |covered: CoveredPath| !covered.is_gemini_ignored;
        self.roots.iter().any(|root| root == dir) || self.find(dir, true).is_some_and(is_kept)
    }

    pub(super) fn is_above_root(&self, path: &Path) -> bool {
        self.roots.iter().any(|root| root.starts_with(path))
    }

    pub(super) fn devices(&self) -> HashSet<u64> {
        let stats = self.roots.iter().flat_map(rustix::fs::stat);
        stats
            .map(|stat| ContentStamp::from(&stat).file().0)
            .collect()
    }

    pub(super) fn root(&self) -> Option<(&Path, FileState)> {
        let root = self.roots.first()?;
        let state = stamped(&rustix::fs::lstat(root).ok()?);
        let kind = Some(NodeKind::Directory);
        Some((root, FileState { kind, ..state }))
    }

    pub(super) fn look(&mut self, path: &Path) -> Result<Option<(FileState, Stat)>, Errno> {
        let workspace = self.workspace().ok_or(Errno::XDEV)?;
        let place = workspace.beneath(path).ok_or(Errno::XDEV)?;
        node::look_plain(workspace, &place)
    }

    pub(super) fn workspace(&mut self) -> Option<&Workspace> {
        if self.workspace.is_none()
            && let Some((first, more)) = self.roots.split_first()
        {
            self.workspace = Workspace::open_at(first, more, None).ok();
        }
        self.workspace.as_ref()
    }

    fn ignored(&mut self, place: &WorkspacePath, is_dir: bool) -> Option<IgnoreSource> {
        let parent = place.path().parent()?;
        if !self.directories.contains_key(parent) {
            let rules = self.read_rules(place);
            self.directories.insert(parent.to_owned(), rules);
        }
        let directory = self.directories.get(parent)?;
        let rel = place.rel().as_os_str();
        let name_at = rel.len() - place.name().len();
        directory
            .ignored
            .or_else(|| directory.rules.ignored(rel.as_bytes(), name_at, is_dir))
    }

    fn read_rules(&mut self, place: &WorkspacePath) -> DirectoryRules {
        let above = place.parent().filter(|above| !above.is_root());
        let ignored = above.and_then(|above| self.ignored(&above, true));
        let scope = self
            .workspace
            .as_ref()
            .filter(|_| ignored.is_none())
            .map(|workspace| workspace.rules_above(place, Respect::ALL, &self.users));
        let (rules, ignored) = match scope {
            None => (IgnoreRules::default(), ignored),
            Some(Ok(scope)) => (scope.rules, ignored),
            // A `.geminiignore` that can't be read may exclude everything, so no content is kept.
            Some(Err(_)) => (IgnoreRules::default(), Some(IgnoreSource::Gemini)),
        };
        DirectoryRules { rules, ignored }
    }
}
