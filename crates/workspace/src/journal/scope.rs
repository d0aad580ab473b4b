//! The files of which a command's changes are kept.

use crate::git_config::UsersRules;
use crate::ignore::{IgnoreRules, IgnoreSource};
use crate::{Respect, Workspace, WorkspacePath};
use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The rules for the files of one directory.
#[derive(Debug)]
struct DirectoryRules {
    rules: IgnoreRules,
    /// The source of the rule by which the directory itself is ignored.
    ignored: Option<IgnoreSource>,
}

/// The files beneath the roots, without those that git ignores.
#[derive(Debug)]
pub(super) struct ChangeScope {
    roots: Vec<PathBuf>,
    journal: PathBuf,
    /// True if files that git ignores are in it, too.
    takes_ignored: bool,
    /// The workspace, opened when it is first needed: in another process than the tool's.
    workspace: Option<Workspace>,
    users: UsersRules,
    directories: HashMap<PathBuf, DirectoryRules>,
}

/// The place of a path in a [`ChangeScope`].
pub(super) enum Coverage {
    /// The path is outside, or ignored by git.
    Outside,
    /// The path is in it, at this path below a root.
    Inside {
        rel: PathBuf,
        is_gemini_ignored: bool,
    },
}

impl ChangeScope {
    pub(super) fn new(workspace: &Workspace, home: &Path, takes_ignored: bool) -> Self {
        Self {
            roots: workspace.roots().map(Path::to_owned).collect(),
            journal: super::place::journal(home),
            takes_ignored,
            workspace: None,
            users: UsersRules::default(),
            directories: HashMap::new(),
        }
    }

    /// Finds out whether changes of an absolute path without links are kept.
    pub(super) fn coverage(&mut self, path: &Path, is_dir: bool) -> Coverage {
        let is_covered = self.roots.iter().any(|root| path.starts_with(root))
            && !path.starts_with(&self.journal);
        if !is_covered || !self.open() {
            return Coverage::Outside;
        }
        let workspace = self.workspace.as_ref();
        let Some(place) = workspace.and_then(|workspace| workspace.place_of(path)) else {
            return Coverage::Outside;
        };
        if place.rel().as_os_str().is_empty() {
            return Coverage::Outside;
        }
        match self.ignored(&place, is_dir) {
            Some(IgnoreSource::Git) if !self.takes_ignored => Coverage::Outside,
            source => Coverage::Inside {
                rel: place.rel().to_owned(),
                is_gemini_ignored: source == Some(IgnoreSource::Gemini),
            },
        }
    }

    /// Returns true once the workspace is open.
    fn open(&mut self) -> bool {
        if self.workspace.is_none()
            && let Some((first, more)) = self.roots.split_first()
        {
            self.workspace = Workspace::open_at(first, more, None).ok();
        }
        self.workspace.is_some()
    }

    fn ignored(&mut self, place: &WorkspacePath, is_dir: bool) -> Option<IgnoreSource> {
        let parent = place.path().parent()?;
        if !self.directories.contains_key(parent) {
            let rules = self.read_rules(place, parent);
            self.directories.insert(parent.to_owned(), rules);
        }
        let directory = self.directories.get(parent)?;
        let rel = place.rel().as_os_str();
        let name_at = rel.len() - place.name().len();
        directory
            .ignored
            .or_else(|| directory.rules.ignored(rel.as_bytes(), name_at, is_dir))
    }

    /// Reads the rules for the directory of a place.
    fn read_rules(&mut self, place: &WorkspacePath, parent: &Path) -> DirectoryRules {
        let above = place.rel().parent().filter(|rel| *rel != OsStr::new(""));
        let ignored = above.and_then(|rel| {
            let above = WorkspacePath::new(place.root, rel.to_owned(), parent.to_owned());
            self.ignored(&above, true)
        });
        let scope = self
            .workspace
            .as_ref()
            .filter(|_| ignored.is_none())
            .map(|workspace| workspace.rules_above(place, Respect::ALL, &self.users));
        match scope {
            None => DirectoryRules {
                rules: IgnoreRules::default(),
                ignored,
            },
            Some(Ok(scope)) => DirectoryRules {
                rules: scope.rules,
                ignored,
            },
            // What a `.geminiignore` that can't be read closes can't be known.
            Some(Err(_)) => DirectoryRules {
                rules: IgnoreRules::default(),
                ignored: Some(IgnoreSource::Gemini),
            },
        }
    }
}
