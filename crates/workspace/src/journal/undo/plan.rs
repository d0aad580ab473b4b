//! Plans an undo: the steps that turn the present files into the former ones.
//!
//! Files are planned by identity (device and inode), not by name. A [`FormerFile`] has all names
//! that a file had before the changes. If the file still exists somewhere, its names are restored
//! as hard links, so that it keeps its mtime and its other names. Otherwise it is created from the
//! journal. The order is: make directories writable, remove what has to go from the deepest on,
//! create what was there from the top on, and set modes last.

use super::Run;
use crate::journal::entry::{ContentStamp, FileId, FileState, NodeKind};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};

pub(super) const SHARED: &str = "has files that came later, or that git ignores";

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
}

#[derive(Debug, Default)]
pub(super) struct Goals {
    pub(super) by_path: BTreeMap<PathBuf, Goal>,
    pub(super) others: BTreeMap<PathBuf, FileState>,
    pub(super) shared: HashSet<PathBuf>,
}

#[derive(Debug)]
pub(super) enum Step {
    /// Gives a file a temporary second name, so that it survives while its other names are removed.
    Aside(PathBuf),
    Remove(PathBuf),
    Directory(PathBuf),
    Symlink(PathBuf, Vec<u8>),
    Create {
        path: PathBuf,
        source: usize,
    },
    Replace {
        path: PathBuf,
        source: usize,
    },
    /// Writes into the file itself, so that its other names change with it.
    Rewrite {
        path: PathBuf,
        source: usize,
    },
    Link {
        path: PathBuf,
        from: PathBuf,
    },
    LinkAside {
        path: PathBuf,
        index: usize,
    },
    /// Sets the mode. If an identity is given, the path must still belong to that file.
    Mode(PathBuf, u32, Option<FileId>),
}

impl Step {
    pub(super) fn path(&self) -> &Path {
        match self {
            Self::Aside(path)
            | Self::Remove(path)
            | Self::Directory(path)
            | Self::Symlink(path, _)
            | Self::Create { path, .. }
            | Self::Replace { path, .. }
            | Self::Rewrite { path, .. }
            | Self::Link { path, .. }
            | Self::LinkAside { path, .. }
            | Self::Mode(path, ..) => path,
        }
    }
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
    obstacles: Vec<Obstacle>,
    aside: Vec<Step>,
    rewrites: Vec<Step>,
    replacements: Vec<Step>,
    makes: BTreeMap<PathBuf, Step>,
    modes: BTreeMap<PathBuf, (u32, Option<FileId>)>,
    staying: HashSet<PathBuf>,
}

pub(super) fn plan(goals: &mut Goals, run: &Run<'_>) -> Result<Vec<Step>, Vec<Obstacle>> {
    let mut planner = Planner::default();
    let present = Present::new(goals, run);
    let mut claimed = HashSet::new();
    for former in former_files(goals) {
        let holder = present.holder(goals, &former, &claimed, run);
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
    planner.finish(goals)
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
            // An earlier undo may have created this file in place of another one. Then it counts as
            // both.
            let original = run.original(now.stamp).file();
            for file in HashSet::from([now.stamp.file(), original]) {
                let of_file: &mut Vec<_> = names.entry(file).or_default();
                of_file.push(path.clone());
            }
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
    ) -> Option<PathBuf> {
        let first = goals.by_path[&former.paths[0]].then.clone()?;
        let file = first.stamp.file();
        let is_free = |path: &&PathBuf| {
            let now = goals.now(path).filter(|now| now.is_file());
            now.is_some_and(|now| !claimed.contains(&now.stamp.file()))
        };
        let has_content = |path: &&PathBuf| goals.by_path[*path].has_content;
        let same = self
            .names
            .get(&file)
            .into_iter()
            .flatten()
            .filter(|_| former.is_linked);
        let leaving = self
            .leaving
            .get(&run.original(first.stamp))
            .into_iter()
            .flatten();
        let in_place = former.paths.iter().filter(has_content);
        if let Some(path) = same.chain(in_place).chain(leaving).find(is_free) {
            return Some(path.clone());
        }
        if first.links.unwrap_or(1) <= former.paths.len() as u64 {
            return None;
        }
        let (path, state) = run.find_name(file)?;
        let is_same = |known: &FileState| run.original(known.stamp) == run.original(state.stamp);
        if !is_same(&first) && !former.passed(goals).any(is_same) {
            return None;
        }
        goals.others.insert(path.clone(), state);
        Some(path)
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
        let is_others = goals.others.contains_key(at);
        let mut anchor = is_others.then(|| at.clone());
        for path in &former.paths {
            let now = goals.by_path[path].file_now();
            if now.is_some_and(|now| now.stamp.file() == file) {
                self.staying.insert(path.clone());
                anchor.get_or_insert_with(|| path.clone());
            }
        }
        let is_same = |then: &FileState| run.original(then.stamp) == run.original(now.stamp);
        let has_content = goals.by_path.get(at).is_some_and(|goal| goal.has_content);
        if !has_content && !then.is_some_and(is_same) {
            let links =
                |state: Option<&FileState>| state.and_then(|state| state.links).unwrap_or(1);
            let names = present.names.get(&file).map_or(0, Vec::len) as u64;
            let others_then = links(then).saturating_sub(former.paths.len() as u64);
            match former.source(goals) {
                _ if links(Some(now)) > names + others_then => {
                    let reason = "has another name that came later, whose content would change";
                    self.obstacles.push((at.clone(), reason.to_owned()));
                }
                Some(source) => self.rewrites.push(Step::Rewrite {
                    path: at.clone(),
                    source,
                }),
                None => self.lack(goals, former),
            }
        }
        // If the file no longer has this name, the entries tell which mode it had when it lost the
        // name.
        let is_changed = |path| {
            let goal: &Goal = &goals.by_path[path];
            let is_there = goal
                .now
                .as_ref()
                .is_some_and(|now| now.stamp.file() == file);
            let was_left = || goal.passed.iter().any(|state| state.mode == now.mode);
            if is_there {
                goal.mode_change == ModeChange::Ours
            } else {
                was_left()
            }
        };
        let mode = then.map_or(0, |then| then.mode);
        let sets_mode =
            now.mode != mode && (anchor.is_none() || former.paths.iter().any(is_changed));
        if sets_mode {
            let path = anchor.as_ref().unwrap_or(&former.paths[0]);
            self.modes.insert(path.clone(), (mode, Some(file)));
        }
        let mut index = None;
        for path in former
            .paths
            .iter()
            .filter(|path| !self.staying.contains(*path))
        {
            let step = if let Some(from) = &anchor {
                let from = from.clone();
                Step::Link {
                    path: path.clone(),
                    from,
                }
            } else {
                let index = *index.get_or_insert_with(|| {
                    self.aside.push(Step::Aside(at.clone()));
                    self.aside.len() - 1
                });
                Step::LinkAside {
                    path: path.clone(),
                    index,
                }
            };
            self.makes.insert(path.clone(), step);
        }
        if sets_mode { mode } else { now.mode }
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
        let path = first.clone();
        if replaced.is_some() {
            self.staying.insert(path.clone());
            self.replacements.push(Step::Replace { path, source });
        } else {
            self.makes
                .insert(path.clone(), Step::Create { path, source });
        }
        self.modes.insert(first.clone(), (mode, None));
        for path in former.paths.iter().filter(|path| *path != first) {
            let (path, from) = (path.clone(), first.clone());
            self.makes.insert(path.clone(), Step::Link { path, from });
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
            let step = match &then.kind {
                None => continue,
                Some(NodeKind::Special) if is_there => {
                    self.staying.insert(path.clone());
                    continue;
                }
                Some(NodeKind::Special) => {
                    self.obstacles.push((path.clone(), String::new()));
                    continue;
                }
                Some(NodeKind::Directory) => {
                    let is_open = |now: &FileState| now.mode & 0o700 == 0o700;
                    let is_as_before = |now: &FileState| now.mode == goal.mode && is_open(now);
                    if !is_there || !goal.now.as_ref().is_some_and(is_as_before) {
                        let file = goal.now.as_ref().filter(|_| is_there);
                        let file = file.map(|now| now.stamp.file());
                        self.modes.insert(path.clone(), (goal.mode, file));
                    }
                    Step::Directory(path.clone())
                }
                Some(NodeKind::Link(target)) => Step::Symlink(path.clone(), target.clone()),
            };
            if is_there {
                self.staying.insert(path.clone());
            } else {
                self.makes.insert(path.clone(), step);
            }
        }
    }

    /// Puts the steps in order. Checks that directories are empty when they are removed, and exist
    /// when something is created in them.
    fn finish(mut self, goals: &mut Goals) -> Result<Vec<Step>, Vec<Obstacle>> {
        let remaining = self.staying.iter().chain(self.makes.keys());
        let mut needed: HashSet<PathBuf> = remaining
            .filter_map(|path| path.parent().map(Path::to_owned))
            .collect();
        let (mut removals, mut kept) = (Vec::new(), Vec::new());
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
            removals.push(Step::Remove(path.clone()));
        }
        for path in kept {
            if let Some(goal) = goals.by_path.get_mut(&path) {
                goal.then.clone_from(&goal.now);
                goal.mode = goal.now.as_ref().map_or(0, |now| now.mode);
            }
        }
        for path in self.makes.keys() {
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
        if !self.obstacles.is_empty() {
            return Err(self.obstacles);
        }
        let mut steps = Self::openings(goals);
        steps.append(&mut self.aside);
        steps.append(&mut self.rewrites);
        steps.append(&mut self.replacements);
        steps.append(&mut removals);
        steps.extend(self.makes.into_values());
        order_links(&mut steps);
        let modes = self.modes.into_iter().rev();
        steps.extend(modes.map(|(path, (mode, file))| Step::Mode(path, mode, file)));
        Ok(steps)
    }

    fn openings(goals: &Goals) -> Vec<Step> {
        let is_closed = |(path, goal): (&PathBuf, &Goal)| {
            let now = goal.now.as_ref().filter(|now| now.is_directory())?;
            let step = || Step::Mode(path.clone(), now.mode | 0o700, Some(now.stamp.file()));
            (now.mode & 0o700 != 0o700).then(step)
        };
        goals.by_path.iter().filter_map(is_closed).collect()
    }
}

fn order_links(steps: &mut Vec<Step>) {
    let made: HashSet<PathBuf> = steps
        .iter()
        .filter(|step| matches!(step, Step::Create { .. }))
        .map(|step| step.path().to_owned())
        .collect();
    let is_late = |step: &Step| matches!(step, Step::Link { from, .. } if made.contains(from));
    let (late, now): (Vec<_>, Vec<_>) = std::mem::take(steps).into_iter().partition(is_late);
    steps.extend(now);
    steps.extend(late);
}
