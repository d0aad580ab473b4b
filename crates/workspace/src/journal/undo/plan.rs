//! Plans an undo: the steps that turn the present files into the former ones.
//!
//! Files are planned by identity (device and inode), not by name. A [`FormerFile`] has all names
//! that a file had before the changes. If the file still exists somewhere, its names are restored
//! as hard links, so that it keeps its mtime and its other names. Otherwise it is created from the
//! journal. Whatever the order of the steps is, all that is put in place is prepared before the first.

use super::Run;
use crate::journal::entry::{ContentStamp, FileId, FileState, NodeKind};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};

pub(super) const SHARED: &str = "has files that came later, that git ignores, or objects of git";

/// What an undo has to do about a file's mode: nothing (`None`), or give back the former mode,
/// which only the undone changes have replaced (`Ours`), or which others have changed as well since
/// then (`Others`).
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum ModeChange {
    #[default]
    None,
    Ours,
    Others,
}

/// The state that a path is to have after the undo (`then`), and what is known of the way there.
/// `source` is the index of the entry that keeps the former content in the journal, if one does.
/// `passed` has all states that the entries to be undone have recorded of the former file.
/// `former_file` is the number of the [`FormerFile`] that had this path, which all former names of
/// the file share. With `is_optional`, the path is a directory that may stay if it is not empty.
#[derive(Debug, Default)]
pub(super) struct Goal {
    pub(super) now: Option<FileState>,
    pub(super) then: Option<FileState>,
    pub(super) mode: u32,
    pub(super) mode_change: ModeChange,
    pub(super) has_content: bool,
    pub(super) source: Option<usize>,
    pub(super) passed: Vec<FileState>,
    pub(super) oldest: usize,
    pub(super) former_file: usize,
    pub(super) is_optional: bool,
}

impl Goal {
    pub(super) fn file_now(&self) -> Option<&FileState> {
        self.now.as_ref().filter(|now| now.is_file())
    }

    pub(super) fn file_then(&self) -> Option<&FileState> {
        self.then.as_ref().filter(|then| then.is_file())
    }

    /// Returns true if a new file gets the present one's access: a file tool has kept it, and then
    /// has noted a digest, or others have changed it since. A command may have put a file there that
    /// more users can read, or that belongs to another one.
    pub(super) fn keeps_access(&self) -> bool {
        let then = self.then.as_ref();
        then.is_none_or(|then| then.sha256.is_some() || then.mode != self.mode)
    }
}

#[derive(Debug, Default)]
pub(super) struct Goals {
    pub(super) by_path: BTreeMap<PathBuf, Goal>,
    pub(super) others: BTreeMap<PathBuf, FileState>,
    pub(super) shared: HashSet<PathBuf>,
}

/// What is put at a path.
#[derive(Debug)]
pub(super) enum Make {
    Directory,
    Symlink(Vec<u8>),
    /// A file with the content that this entry keeps. If another file is at the path now, that is
    /// replaced.
    File(usize),
    /// A further name of the file that is at this path now.
    LinkNow(PathBuf),
    /// A further name of the file that is put at this path.
    LinkNew(PathBuf),
}

/// The steps of an undo: files are written into (`rewrites`, each with the entry that keeps its
/// content), what has to go is `removed`, from the deepest on, `made` is put in place from the top
/// on, and modes are set. If a mode has an identity, the path must still belong to that file.
#[derive(Debug, Default)]
pub(super) struct Plan {
    pub(super) rewrites: BTreeMap<PathBuf, usize>,
    pub(super) removed: Vec<PathBuf>,
    pub(super) made: BTreeMap<PathBuf, Make>,
    pub(super) modes: BTreeMap<PathBuf, (u32, Option<FileId>)>,
}

impl Plan {
    /// Returns the paths whose content changes or whose node is exchanged.
    pub(super) fn contents(&self) -> impl Iterator<Item = &PathBuf> {
        let written = self.rewrites.keys().chain(&self.removed);
        written.chain(self.made.keys())
    }

    /// Returns the directories that are made usable before anything else, and the files that are
    /// made writable, each with the mode for that.
    pub(super) fn opened<'p>(
        &'p self,
        goals: &'p Goals,
    ) -> impl Iterator<Item = (&'p PathBuf, &'p FileState, u32)> {
        let is_reached = |(path, now): &(&PathBuf, &FileState)| {
            let is_new = matches!(self.made.get(*path), Some(Make::File(_)));
            if now.is_file() {
                is_new || self.rewrites.contains_key(*path)
            } else {
                let is_known = goals.by_path.contains_key(*path) || self.modes.contains_key(*path);
                now.is_directory() && is_known
            }
        };
        let by_path = goals.by_path.iter();
        let present = by_path.filter_map(|(path, goal)| Some((path, goal.now.as_ref()?)));
        let present = present.chain(&goals.others).filter(is_reached);
        let opened = present.map(|(path, now)| (path, now, opened_mode(now)));
        opened.filter(|(_, now, mode)| *mode != now.mode)
    }

    /// Returns the paths of the files whose present content will be lost unless it is kept, each
    /// with true if the file is overwritten rather than removed.
    pub(super) fn lost(&self, goals: &Goals) -> Vec<(PathBuf, bool)> {
        let file = |path: &PathBuf| Some(goals.now(path).filter(|now| now.is_file())?.stamp.file());
        // How many names a file gets, less those that it loses.
        let mut names: HashMap<FileId, i64> = HashMap::new();
        for file in self.removed.iter().filter_map(file) {
            *names.entry(file).or_default() -= 1;
        }
        for (path, made) in &self.made {
            let (of, more) = match made {
                Make::File(_) => (path, -1),
                Make::LinkNow(from) => (from, 1),
                _ => continue,
            };
            if let Some(file) = file(of) {
                *names.entry(file).or_default() += more;
            }
        }
        let written: HashSet<FileId> = self.rewrites.keys().filter_map(file).collect();
        let present = goals.by_path.iter();
        let present = present.filter_map(|(path, goal)| Some((path, goal.file_now()?)));
        let files = present.chain(goals.others.iter().filter(|(_, now)| now.is_file()));
        let lost = files.filter_map(|(path, now)| {
            let file = now.stamp.file();
            let before = now.links.map_or(1, |links| links as i64);
            let left = before + names.get(&file).copied().unwrap_or(0);
            let is_written = written.contains(&file);
            (left <= 0 || is_written).then(|| (path.clone(), is_written))
        });
        lost.collect()
    }
}

/// Returns the mode of a file or directory once its owner can read and change it.
fn opened_mode(now: &FileState) -> u32 {
    now.mode | if now.is_directory() { 0o700 } else { 0o600 }
}

/// A path at which the undo is not possible, and the reason as the end of a sentence about it.
pub(super) type Obstacle = (PathBuf, String);

/// A file as it was before the changes, with all the names that it had.
struct FormerFile {
    paths: Vec<PathBuf>,
    is_linked: bool,
}

#[derive(Default)]
struct Planner {
    plan: Plan,
    obstacles: Vec<Obstacle>,
    staying: HashSet<PathBuf>,
}

pub(super) fn plan(goals: &mut Goals, run: &Run<'_>) -> Result<Plan, Vec<Obstacle>> {
    let mut planner = Planner::default();
    let present = Present::new(goals, run);
    let mut claimed = HashSet::new();
    for former in former_files(goals) {
        let holder = present.holder(goals, &former, &claimed, run);
        let holder = holder.unwrap_or_else(|obstacle| {
            planner.obstacles.push(obstacle);
            None
        });
        let now = holder.as_ref().and_then(|path| goals.now(path)).cloned();
        let mode = if let (Some(at), Some(now)) = (holder, now) {
            claimed.insert(now.stamp.file());
            planner.plan_held(goals, &former, &at, &now, &present, run)
        } else {
            planner.plan_new(goals, &former)
        };
        for path in &former.paths {
            if let Some(goal) = goals.by_path.get_mut(path) {
                goal.mode = mode;
            }
        }
    }
    planner.plan_nodes(goals);
    planner.finish(goals, run)
}

struct Present {
    leaving: HashMap<ContentStamp, Vec<PathBuf>>,
    names: HashMap<FileId, Vec<PathBuf>>,
}

impl Present {
    fn new(goals: &Goals, run: &Run<'_>) -> Self {
        let (mut leaving, mut names) = (HashMap::new(), HashMap::new());
        for (path, goal) in &goals.by_path {
            let Some(now) = goal.file_now() else {
                continue;
            };
            // If an earlier undo has created this file in place of another one, it counts as that.
            let of_file: &mut Vec<_> = names.entry(run.file_of(now.stamp)).or_default();
            of_file.push(path.clone());
            if !goal.has_content {
                let of_content: &mut Vec<_> = leaving.entry(run.original(now.stamp)).or_default();
                of_content.push(path.clone());
            }
        }
        Self { leaving, names }
    }

    fn holder(
        &self,
        goals: &mut Goals,
        former: &FormerFile,
        claimed: &HashSet<FileId>,
        run: &Run<'_>,
    ) -> Result<Option<PathBuf>, Obstacle> {
        let Some(first) = goals.by_path[&former.paths[0]].then.clone() else {
            return Ok(None);
        };
        let file = first.stamp.file();
        let is_free = |path: &&PathBuf| {
            let now = goals.now(path).filter(|now| now.is_file());
            now.is_some_and(|now| !claimed.contains(&now.stamp.file()))
        };
        let has_content = |path: &&PathBuf| goals.by_path[*path].has_content;
        let files = HashSet::from([file, run.file_of(first.stamp)]);
        let same = files.iter().filter_map(|file| self.names.get(file));
        let same = same.flatten().filter(|_| former.is_linked);
        let leaving = self
            .leaving
            .get(&run.original(first.stamp))
            .into_iter()
            .flatten();
        let in_place = former.paths.iter().filter(has_content);
        // A file that an undo has created in place of the former one does not have its other names.
        let is_itself = |path: &&PathBuf| {
            let now = goals.now(path);
            now.is_some_and(|now| run.is_file(now.stamp, first.stamp))
        };
        let itself = same.clone().filter(is_itself);
        let mut known = itself.chain(same).chain(in_place).chain(leaving);
        let known = known.find(is_free).cloned();
        let has_others = first.links.unwrap_or(1) > former.paths.len() as u64;
        if !has_others || known.as_ref().is_some_and(|path| is_itself(&path)) {
            return Ok(known);
        }
        let found = run.find_name(first.stamp).map_err(|unseen| {
            let unseen = run.undo.workspace.shown(&unseen);
            let reason = format!("may have another name below {unseen}, which can't be read");
            (former.paths[0].clone(), reason)
        })?;
        let is_new = |(path, found): &(PathBuf, FileState)| {
            let is_unknown = found.stamp.file() == file && !goals.by_path.contains_key(path);
            known.is_none() || is_unknown
        };
        let Some((path, state)) = found.filter(is_new) else {
            return Ok(known);
        };
        let is_same = |known: &FileState| run.original(known.stamp) == run.original(state.stamp);
        let has_text =
            || first.sha256.is_some() && run.digest(&path).ok() == Some(first.sha256.clone());
        if !is_same(&first) && !former.passed(goals).any(is_same) && !has_text() {
            return Err((
                path,
                "was changed since, and is to have its other name again".to_owned(),
            ));
        }
        goals.others.insert(path.clone(), state);
        Ok(Some(path))
    }
}

impl Goals {
    pub(super) fn now(&self, path: &Path) -> Option<&FileState> {
        let goal = self.by_path.get(path);
        goal.map_or_else(|| self.others.get(path), |goal| goal.now.as_ref())
    }
}

fn former_files(goals: &mut Goals) -> Vec<FormerFile> {
    let file = |goal: &Goal| Some(goal.file_then()?.stamp.file());
    let is_linked = |goal: &&Goal| goal.then.as_ref().is_some_and(|then| then.links.is_some());
    let linked: HashSet<_> = goals
        .by_path
        .values()
        .filter(is_linked)
        .filter_map(file)
        .collect();
    let mut numbers = HashMap::new();
    let mut former_files: Vec<FormerFile> = Vec::new();
    for (path, goal) in &mut goals.by_path {
        let Some(file) = file(goal) else { continue };
        let is_linked = linked.contains(&file);
        let number = match numbers.get(&file) {
            Some(number) if is_linked => *number,
            _ => former_files.len(),
        };
        if number == former_files.len() {
            numbers.insert(file, number);
            let paths = Vec::new();
            former_files.push(FormerFile { paths, is_linked });
        }
        goal.former_file = number;
        former_files[number].paths.push(path.clone());
    }
    for former in &mut former_files {
        // The path that was changed first is put first, because it has the content that all names
        // of the file had.
        former.paths.sort_by_key(|path| goals.by_path[path].oldest);
    }
    // Files that still have their former content at one of their paths come first, so that no other
    // former file claims them.
    former_files.sort_by_key(|former| {
        !former
            .paths
            .iter()
            .any(|path| goals.by_path[path].has_content)
    });
    former_files
}

impl FormerFile {
    fn source(&self, goals: &Goals) -> Option<usize> {
        self.paths
            .iter()
            .find_map(|path| goals.by_path[path].source)
    }

    fn passed<'g>(&self, goals: &'g Goals) -> impl Iterator<Item = &'g FileState> {
        self.paths
            .iter()
            .flat_map(|path| &goals.by_path[path].passed)
    }
}

impl Planner {
    fn plan_held(
        &mut self,
        goals: &Goals,
        former: &FormerFile,
        at: &PathBuf,
        now: &FileState,
        present: &Present,
        run: &Run<'_>,
    ) -> u32 {
        let first = &goals.by_path[&former.paths[0]];
        let then = first.then.as_ref();
        let file = now.stamp.file();
        let is_it =
            |state: Option<&FileState>| state.is_some_and(|state| state.stamp.file() == file);
        let is_others = goals.others.contains_key(at);
        let mut anchor = is_others.then(|| at.clone());
        for path in &former.paths {
            if is_it(goals.now(path)) {
                self.staying.insert(path.clone());
                anchor.get_or_insert_with(|| path.clone());
            }
        }
        let is_same = |then: &FileState| run.original(then.stamp) == run.original(now.stamp);
        let has_content = goals.by_path.get(at).is_some_and(|goal| goal.has_content);
        // A file that was made since may have the inode of one that was removed, and, if it is a
        // copy with its size and times, be like it in all that is known. So the content is compared.
        let may_differ = || former.source(goals).is_some();
        if !has_content && (may_differ() || !then.is_some_and(is_same)) {
            let links =
                |state: Option<&FileState>| state.and_then(|state| state.links).unwrap_or(1);
            let original = run.file_of(now.stamp);
            let names = present.names.get(&original).into_iter().flatten();
            let names = names.filter(|path| is_it(goals.now(path))).count() as u64;
            let others_then = links(then).saturating_sub(former.paths.len() as u64);
            match former.source(goals) {
                _ if links(Some(now)) > names + others_then => {
                    let reason = "has another name that came later, whose content would change";
                    self.obstacles.push((at.clone(), reason.to_owned()));
                }
                Some(source) => drop(self.plan.rewrites.insert(at.clone(), source)),
                None => self.lack(goals, former),
            }
        }
        // If the file no longer has this name, the entries tell which mode it had when it lost the
        // name.
        let is_changed = |path| {
            let goal: &Goal = &goals.by_path[path];
            if is_it(goal.now.as_ref()) {
                goal.mode_change == ModeChange::Ours
            } else {
                goal.passed.iter().any(|state| state.mode == now.mode)
            }
        };
        let mode = then.map_or(0, |then| then.mode);
        let sets_mode =
            now.mode != mode && (anchor.is_none() || former.paths.iter().any(is_changed));
        let mode = if sets_mode { mode } else { now.mode };
        let is_written = self.plan.rewrites.contains_key(at);
        if sets_mode || is_written && opened_mode(now) != now.mode {
            let path = anchor.as_ref().unwrap_or(&former.paths[0]);
            self.plan.modes.insert(path.clone(), (mode, Some(file)));
        }
        for path in &former.paths {
            if !self.staying.contains(path) {
                let from = anchor.as_ref().unwrap_or(at).clone();
                self.plan.made.insert(path.clone(), Make::LinkNow(from));
            }
        }
        mode
    }

    /// Plans how to create a file again under all of its former names, because no existing file can
    /// serve as it. If its content is not stored, notes obstacles instead. Returns the mode that
    /// the file is to have.
    fn plan_new(&mut self, goals: &Goals, former: &FormerFile) -> u32 {
        let mode = goals.by_path[&former.paths[0]].mode;
        let Some(source) = former.source(goals) else {
            self.lack(goals, former);
            return mode;
        };
        // The first path that has another file now is overwritten with the content. If there is
        // none, a file is created at the first path. The other names are linked to it.
        let is_file = |path: &&PathBuf| goals.by_path[*path].file_now().is_some();
        let replaced = former.paths.iter().find(is_file);
        let first = replaced.unwrap_or(&former.paths[0]);
        self.staying.extend(replaced.cloned());
        self.plan.made.insert(first.clone(), Make::File(source));
        self.plan.modes.insert(first.clone(), (mode, None));
        for path in former.paths.iter().filter(|path| *path != first) {
            let link = Make::LinkNew(first.clone());
            self.plan.made.insert(path.clone(), link);
        }
        mode
    }

    fn lack(&mut self, goals: &Goals, former: &FormerFile) {
        for path in &former.paths {
            if !goals.by_path[path].has_content {
                self.obstacles.push((path.clone(), String::new()));
            }
        }
    }

    fn plan_nodes(&mut self, goals: &mut Goals) {
        for (path, goal) in &goals.by_path {
            let Some(then) = &goal.then else { continue };
            let is_there = goal.now.as_ref().is_some_and(|now| now.kind == then.kind);
            let made = match &then.kind {
                None => continue,
                Some(NodeKind::Special) => {
                    let now = goal.now.as_ref().filter(|_| is_there);
                    if let Some(now) = now {
                        let mode = (goal.mode, Some(now.stamp.file()));
                        self.plan.modes.insert(path.clone(), mode);
                        self.staying.insert(path.clone());
                    } else {
                        self.obstacles.push((path.clone(), String::new()));
                    }
                    continue;
                }
                Some(NodeKind::Directory) => {
                    let is_open = |now: &FileState| now.mode & 0o700 == 0o700;
                    let is_as_before = |now: &FileState| now.mode == goal.mode && is_open(now);
                    if !is_there || !goal.now.as_ref().is_some_and(is_as_before) {
                        let file = goal.now.as_ref().filter(|_| is_there);
                        let file = file.map(|now| now.stamp.file());
                        self.plan.modes.insert(path.clone(), (goal.mode, file));
                    }
                    Make::Directory
                }
                Some(NodeKind::Link(target)) => Make::Symlink(target.clone()),
            };
            if is_there {
                self.staying.insert(path.clone());
            } else {
                self.plan.made.insert(path.clone(), made);
            }
        }
    }

    /// Adds what is to be removed. Checks that directories are empty when they are removed, and
    /// exist when something is created in them.
    fn finish(mut self, goals: &mut Goals, run: &Run<'_>) -> Result<Plan, Vec<Obstacle>> {
        let is_root = |dir: &Path| run.undo.workspace.roots().any(|root| root == dir);
        let remaining = self.staying.iter().chain(self.plan.made.keys());
        let mut needed: HashSet<PathBuf> = remaining
            .filter_map(|path| path.parent().map(Path::to_owned))
            .collect();
        let mut kept = Vec::new();
        for (path, goal) in goals.by_path.iter().rev() {
            if goal.now.is_none() || self.staying.contains(path) {
                continue;
            }
            if goal.is_optional && (needed.contains(path) || goals.shared.contains(path)) {
                needed.extend(path.parent().map(Path::to_owned));
                kept.push(path.clone());
                continue;
            }
            if goals.shared.contains(path) {
                self.obstacles.push((path.clone(), SHARED.to_owned()));
            }
            self.plan.removed.push(path.clone());
        }
        for path in kept {
            if let Some(goal) = goals.by_path.get_mut(&path) {
                goal.then.clone_from(&goal.now);
                goal.mode = goal.now.as_ref().map_or(0, |now| now.mode);
            }
        }
        for path in self.plan.made.keys() {
            let above = path.parent().unwrap_or(path);
            let is_directory =
                |state: Option<&FileState>| state.is_some_and(FileState::is_directory);
            let is_there = match goals.by_path.get(above) {
                Some(goal) => is_directory(goal.then.as_ref()),
                None => is_directory(goals.others.get(above)),
            };
            if !is_there {
                let reason = "can't be made again, because its directory is gone";
                self.obstacles.push((path.clone(), reason.to_owned()));
            }
        }
        // A directory of which only names were changed is opened for these, and closed again.
        let changed = self.plan.removed.iter().chain(self.plan.made.keys());
        for above in changed.filter_map(|path| path.parent()) {
            let now = goals.others.get(above).filter(|_| !is_root(above));
            if let Some(now) = now.filter(|now| opened_mode(now) != now.mode) {
                let mode = (now.mode, Some(now.stamp.file()));
                self.plan.modes.insert(above.to_owned(), mode);
            }
        }
        if self.obstacles.is_empty() {
            Ok(self.plan)
        } else {
            Err(self.obstacles)
        }
    }
}
