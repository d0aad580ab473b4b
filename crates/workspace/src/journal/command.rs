//! Keeps what a command is about to change.
//!
//! The supervisor of a command names each path before the command touches it. At the first touch
//! the path's state is kept: a file that is about to lose its name gets a second name in the
//! journal, any other is copied. When the command ends, each path is compared with its former
//! state, and every difference becomes an entry of the journal.

mod record;

use super::entry::{ContentStamp, FileState, NodeKind, OldContent};
use super::keeper::{self, Hour, new_id, now};
use super::scope::ChangeScope;
use super::{Journal, place};
use crate::{OpenFile, Workspace};
use rustix::fs::{AtFlags, CWD, Stat, linkat, unlinkat};
use rustix::io::Errno;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

const MAX_PATHS: usize = 50_000;

const MAX_PATH_BYTES: usize = 4096;

/// The file system's clock may lag behind by one tick.
const CLOCK_TICK: Duration = Duration::from_millis(10);

/// How a command is about to touch a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// The content may be written, perhaps through another name of the file.
    Content,
    /// The mode is changed.
    Mode,
    /// The name is created or removed, or becomes that of another file.
    Name,
}

/// How many changes a command has made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ChangeCounts {
    /// The number of paths that the command has changed.
    pub changed: u32,
    /// The number of those changes that can't be undone.
    pub lost: u32,
}

#[derive(Debug)]
struct OriginalState {
    id: String,
    state: Option<FileState>,
    /// When the file was last written to or changed otherwise (ctime). Nothing can set that back.
    changed_at: Option<(i128, i128)>,
    /// Where the old content is. `Lost` without a reason means that the path did not exist, or that
    /// nothing had to be kept yet because only the mode was to be changed.
    kept: OldContent,
    is_excluded: bool,
    /// Where what is at the path now was before the command, if that can't be kept.
    moved_from: Option<PathBuf>,
}

impl OriginalState {
    fn new(state: Option<FileState>, kept: OldContent, is_excluded: bool) -> Self {
        Self {
            id: new_id(),
            state,
            changed_at: None,
            kept,
            is_excluded,
            moved_from: None,
        }
    }

    fn is_untouched(&self) -> bool {
        self.kept == OldContent::default()
    }

    fn is_lost(&self) -> bool {
        let is_lost = matches!(self.kept, OldContent::Lost(_)) && !self.is_untouched();
        is_lost && !self.is_excluded || self.moved_from.is_some()
    }
}

/// A file with several names (hard links), as it was when the command first touched one of them
/// (`state`), with the id of the copy of its content in the journal (`kept`).
#[derive(Debug)]
struct LinkedFile {
    state: FileState,
    kept: Option<String>,
}

#[derive(Debug)]
pub(super) struct UndoOrigin {
    pub(super) call: String,
    pub(super) command: String,
    /// The time of the undo, which decides where the journal keeps what it changes.
    pub(super) at: u64,
    pub(super) undoes: HashMap<PathBuf, Vec<String>>,
}

/// The changes of a running command.
#[derive(Debug)]
pub struct CommandChanges {
    journal: Arc<Journal>,
    scope: ChangeScope,
    tool: String,
    line: String,
    /// The state of each path before it was first touched. The keys are text, because comparing
    /// paths by components takes longer.
    before: BTreeMap<OsString, OriginalState>,
    linked: HashMap<(u64, u64), LinkedFile>,
    /// The git repositories that the command has made, each as the directory of its `HEAD`.
    repositories: HashSet<PathBuf>,
    undo: Option<UndoOrigin>,
    hour: Option<Hour>,
    kept_bytes: u64,
    missed: u32,
    digested: u64,
    command: Option<String>,
    began: SystemTime,
}

impl CommandChanges {
    /// Creates an empty collection for the command `line` of the tool `tool`; `None` if the
    /// workspace has no journal. Files that git ignores are kept only with `takes_ignored`.
    pub fn new(workspace: &Workspace, tool: &str, line: &str, takes_ignored: bool) -> Option<Self> {
        let journal = Arc::clone(workspace.journal.get()?);
        // The caller is determined now, from the parent process: the changes are recorded in
        // another process, the command's supervisor.
        journal.caller();
        Some(Self {
            scope: ChangeScope::new(workspace, journal.home.as_deref(), takes_ignored),
            journal,
            tool: tool.to_owned(),
            line: line.to_owned(),
            before: BTreeMap::new(),
            linked: HashMap::new(),
            repositories: HashSet::new(),
            undo: None,
            hour: None,
            kept_bytes: 0,
            missed: 0,
            digested: 0,
            command: None,
            began: SystemTime::now() - CLOCK_TICK,
        })
    }

    pub(super) fn of_undo(workspace: &Workspace, undo: UndoOrigin) -> Option<Self> {
        let changes = Self::new(workspace, super::UNDO, "", true)?;
        Some(Self {
            command: Some(undo.command.clone()),
            undo: Some(undo),
            ..changes
        })
    }

    pub(super) fn loss(&self, path: &Path) -> Option<&str> {
        let Some(before) = self.before.get(path.as_os_str()) else {
            return Some("it could not be kept");
        };
        let is_linked = |state: &FileState| {
            let linked = self.linked.get(&state.stamp.file());
            linked.is_some_and(|linked| linked.kept.is_some())
        };
        match &before.kept {
            OldContent::Lost(reason) if !before.state.as_ref().is_some_and(is_linked) => {
                Some(if reason.is_empty() {
                    "it could not be kept"
                } else {
                    reason
                })
            }
            _ => None,
        }
    }

    pub(super) fn abandon(self) {
        for before in self.before.values() {
            self.discard(before);
        }
    }

    /// Returns the devices of the roots.
    pub fn devices(&self) -> HashSet<u64> {
        self.scope.devices()
    }

    /// Counts a change that can't be undone because its path is unknown. `above` is the nearest
    /// directory whose path is known: if nothing below it is kept anyway, the change is not counted.
    pub fn miss(&mut self, above: Option<&Path>) {
        if above.is_none_or(|dir| self.scope.covers_below(dir)) {
            self.missed = self.missed.saturating_add(1);
        }
    }

    /// Keeps the state of a path, absolute and without links, before a command touches it.
    pub fn touch(&mut self, path: &Path, access: Access) {
        if self.before.contains_key(path.as_os_str()) {
            return self.touch_again(path, access);
        }
        let found = match self.scope.look(path) {
            Ok(found) => found,
            // Renaming a directory has made this path, and no system call takes a path of its
            // length. Other calls for which a name is too long will fail.
            Err(Errno::NAMETOOLONG) if path.as_os_str().len() >= MAX_PATH_BYTES => {
                return self.miss(path.parent());
            }
            Err(_) => return,
        };
        let is_dir = found
            .as_ref()
            .is_some_and(|(state, _)| state.is_directory());
        let Some(covered) = self.scope.find(path, is_dir) else {
            return;
        };
        if self.before.len() >= MAX_PATHS {
            return self.miss(None);
        }
        let exclusion = self
            .journal
            .exclusion(covered.is_gemini_ignored, &covered.rel);
        let mut before = OriginalState::new(None, OldContent::default(), exclusion.is_some());
        if let Some((state, stat)) = found {
            let is_kept = state.is_file() && access != Access::Mode && exclusion.is_none();
            if state.kind == Some(NodeKind::Special) && access != Access::Mode {
                before.kept = OldContent::Lost("it was no regular file".to_owned());
            }
            before.changed_at = Some(changed_at(&stat));
            before.state = Some(self.first_state(state));
            if let Some(reason) = exclusion {
                before.kept = OldContent::Lost(reason.to_owned());
            } else if is_kept {
                self.keep_once(path, stat, access, &mut before);
            }
        }
        self.before.insert(path.into(), before);
    }

    /// Returns the state in which the command found a file. That is not the present one if the
    /// command has written to the file under another name.
    fn first_state(&mut self, state: FileState) -> FileState {
        let file = state.stamp.file();
        if state.is_file() && state.links.is_some() {
            let linked = || LinkedFile {
                state: state.clone(),
                kept: None,
            };
            return self.linked.entry(file).or_insert_with(linked).state.clone();
        }
        let linked = self.linked.get(&file).filter(|_| state.is_file());
        linked.map_or(state, |linked| linked.state.clone())
    }

    /// Keeps the content of a file, unless the command has changed it already or the journal has a
    /// copy that was made under another name.
    fn keep_once(&mut self, path: &Path, stat: Stat, access: Access, before: &mut OriginalState) {
        let stamp = ContentStamp::from(&stat);
        let linked = self.linked.get(&stamp.file());
        let is_kept = linked.is_some_and(|linked| linked.kept.is_some());
        if is_kept
            || before
                .state
                .as_ref()
                .is_none_or(|state| state.stamp != stamp)
        {
            return;
        }
        // The journal's copy serves all names of the file, so it is made even if the command only
        // removes one of them.
        let access = if linked.is_some() {
            Access::Content
        } else {
            access
        };
        before.kept = self.keep(path, stat, access, &before.id);
        if before.kept == OldContent::Copied
            && let Some(linked) = self.linked.get_mut(&stamp.file())
        {
            linked.kept = Some(before.id.clone());
        }
    }

    /// Keeps the content of a file that was touched before, if only this further touch endangers
    /// the content.
    fn touch_again(&mut self, path: &Path, access: Access) {
        let Some(mut before) = self.before.remove(path.as_os_str()) else {
            return;
        };
        let is_needed = match access {
            Access::Content => matches!(before.kept, OldContent::Moved) || before.is_untouched(),
            Access::Name => before.is_untouched(),
            Access::Mode => false,
        };
        if is_needed
            && let Some(state) = before.state.as_ref().filter(|state| state.is_file())
            && let Ok(Some((now, stat))) = self.scope.look(path)
            && now.stamp == state.stamp
        {
            self.discard(&before);
            before.kept = OldContent::default();
            self.keep_once(path, stat, access, &mut before);
        }
        self.before.insert(path.into(), before);
    }

    /// Keeps the states of `from` and `to` before `from` is renamed to `to`, or before both swap
    /// with `exchanges`. For a directory, everything below it is kept too.
    pub fn rename(&mut self, from: &Path, to: &Path, exchanges: bool) {
        if self.scope.is_above_root(from) || exchanges && self.scope.is_above_root(to) {
            // Until it has its name again, what is in it has paths that are not below a root.
            self.miss(None);
        }
        self.move_tree(from, to);
        if exchanges {
            self.move_tree(to, from);
        }
        self.touch(to, Access::Name);
    }

    fn move_tree(&mut self, from: &Path, to: &Path) {
        let takes_ignored = self.scope.takes_ignored;
        let mut waiting = vec![(from.to_owned(), to.to_owned(), takes_ignored)];
        while let Some((from, to, takes_all)) = waiting.pop() {
            let found = std::fs::symlink_metadata(&from).ok();
            // No system call takes a path of any length. What is outside of the roots has no state.
            let is_dir = match self.scope.look(&from) {
                Ok(looked) => looked.is_some_and(|(state, _)| state.is_directory()),
                Err(_) => found.as_ref().is_some_and(std::fs::Metadata::is_dir),
            };
            // What the command itself has made elsewhere, such as a temporary file, can be lost.
            self.scope.takes_ignored = takes_all;
            let arrives = found.is_some()
                && born(&from).is_none_or(|at| at < self.began)
                && self.scope.find(&from, is_dir).is_none()
                && self.scope.find(&to, is_dir).is_some()
                && !self.knows(&from);
            // Its new name may be its only one, so its former name is given back, or it stays.
            let takes_all = takes_all || arrives;
            self.scope.takes_ignored = takes_all;
            let is_covered = self.scope.find(&from, is_dir).is_some();
            let origin = (arrives && !is_covered).then(|| from.clone());
            let origin = origin.or_else(|| self.origin(&from));
            // The command may write to the content at the new path, so it is copied.
            self.touch(&from, Access::Content);
            self.touch(&to, Access::Name);
            if let Some(before) = self.before.get_mut(to.as_os_str()) {
                before.moved_from = origin;
            }
            if !(is_dir && is_covered) {
                continue;
            }
            if self.before.len() >= MAX_PATHS {
                self.miss(Some(&from));
                continue;
            }
            let Ok(entries) = std::fs::read_dir(&from) else {
                self.miss(Some(&from));
                continue;
            };
            for entry in entries.flatten() {
                if waiting.len() < MAX_PATHS {
                    waiting.push((entry.path(), to.join(entry.file_name()), takes_all));
                } else {
                    self.miss(None);
                }
            }
        }
        self.scope.takes_ignored = takes_ignored;
    }

    /// Returns true if the file at a path is kept under another name, which it had before.
    fn knows(&self, path: &Path) -> bool {
        let file = ContentStamp::at(CWD, path).map(ContentStamp::file);
        let mut states = self
            .before
            .values()
            .filter_map(|before| before.state.as_ref());
        states.any(|state| Some(state.stamp.file()) == file)
    }

    /// Returns where what is at a path was before the command, if it was moved there itself or with
    /// a directory above it.
    fn origin(&self, path: &Path) -> Option<PathBuf> {
        let mut above = path.ancestors();
        above.find_map(|path| self.before.get(path.as_os_str())?.moved_from.clone())
    }

    fn keep(&mut self, path: &Path, stat: Stat, access: Access, id: &str) -> OldContent {
        let lost = |reason: &str| OldContent::Lost(reason.to_owned());
        let size = u64::try_from(stat.st_size).unwrap_or(0);
        if self.kept_bytes + size > self.journal.limits.max_bytes {
            return lost("more was changed than is kept");
        }
        let dir = match &mut self.hour {
            Some(hour) => &hour.dir,
            none => match self
                .journal
                .open_hour(self.undo.as_ref().map_or_else(now, |u| u.at))
            {
                Ok(hour) => &none.insert(hour).dir,
                Err(reason) => return OldContent::Lost(reason),
            },
        };
        // A file that has another hard link is copied: any program could change the content in the
        // journal through that link.
        if access == Access::Name
            && i128::from(stat.st_nlink) == 1
            && linkat(CWD, path, dir, id, AtFlags::empty()).is_ok()
        {
            self.kept_bytes += size;
            return OldContent::Moved;
        }
        let Ok(file) = place::open_file(CWD, path) else {
            return lost("it could not be read");
        };
        let kept = keeper::copy(&OpenFile { file, stat }, dir, id);
        if kept == OldContent::Copied {
            self.kept_bytes += size;
        }
        kept
    }

    fn discard(&self, before: &OriginalState) {
        if let (OldContent::Moved | OldContent::Copied, Some(hour)) = (&before.kept, &self.hour) {
            let _ = unlinkat(&hour.dir, &*before.id, AtFlags::empty());
        }
    }
}

fn changed_at(stat: &Stat) -> (i128, i128) {
    (stat.st_ctime.into(), stat.st_ctime_nsec.into())
}

/// Returns when a file was made, if its file system tells. The standard library can't read that
/// when it is linked to musl.
fn born(path: &Path) -> Option<SystemTime> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{AtFlags, CWD, StatxFlags, statx};
        let found = statx(CWD, path, AtFlags::SYMLINK_NOFOLLOW, StatxFlags::BTIME).ok()?;
        let is_told = found.stx_mask & StatxFlags::BTIME.bits() != 0;
        let since = Duration::new(
            u64::try_from(found.stx_btime.tv_sec).ok()?,
            found.stx_btime.tv_nsec,
        );
        is_told.then(|| SystemTime::UNIX_EPOCH + since)
    }
    #[cfg(not(target_os = "linux"))]
    std::fs::symlink_metadata(path).ok()?.created().ok()
}
