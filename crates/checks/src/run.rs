//! Checks the files of a workspace by all rules. Each root is walked once for all of them, and each
//! file is read once at most.
//!
//! # How it works
//!
//! Rules with the same `include` and `exclude` share a filter, so that a file's name is matched
//! once for all of them. A file is opened only if a rule about lines applies to it. It is read in
//! blocks: one automaton finds which of these rules can match in a block at all, and only those
//! search it.

use crate::baseline::Baseline;
use crate::changed::ChangedLines;
use crate::rules::{Demand, LineRule, Rule};
use gemini_tools_builtin_tools::builtin::line_pattern::{
    LineSearcher, Prefilter, TextEnd, TextReader, is_gone, open_found, prefix, shown_line,
};
use gemini_tools_core::text::{counted, line_name};
use gemini_tools_core::tool::{Cancellation, ErrorKind, ToolError};
use gemini_tools_workspace::pattern::{PatternSet, excluded};
use gemini_tools_workspace::walk::{
    NODE_MODULES, NodeModules, Visitor, WalkEntry, WalkOptions, WalkReport, name_one, walk,
};
use gemini_tools_workspace::{Respect, Workspace, WorkspacePath};
use rustix::fs::FileType;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashSet};
use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// The most memory for findings, in bytes. Beyond it, the rule that has the most of it loses those
/// that are last by name, so that no rule's findings crowd out those of another.
const MAX_FINDINGS_BYTES: usize = 12 * 1024 * 1024;

/// The memory that a finding takes besides its texts, in bytes; an estimate.
const FINDING_BYTES: usize = 160;

/// The beginning of a comment that exempts its line from rules. The names of these rules follow.
const ALLOW: &[u8] = b"check: allow(";

/// Why a file of a list is left out.
const MISSING: &str = "is not there";
const CLOSED: &str = "is excluded by .geminiignore";
const DIRECTORY: &str = "is a directory, not a file";
const REPOSITORY: &str = "is another repository";
const LINK: &str = "is a link, whose lines are not read";
const SPECIAL: &str = "is a special file, whose lines are not read";

const FROM_TOP: &str = "git's names count from the top of the repository: git diff has --relative.";

/// Returns true if a name that is not there leads to a file below `root` from a directory above.
/// Then the list's names count from that directory, and those that are there all the same are not
/// the files that were meant.
fn counts_from_above(root: &Path, name: &[u8]) -> bool {
    let name = Path::new(OsStr::from_bytes(name));
    let is_below = |from: &Path| {
        root.strip_prefix(from)
            .is_ok_and(|own| name.starts_with(own))
    };
    let mut above = root.ancestors().skip(1);
    above.any(|from| is_below(from) && from.join(name).exists())
}

/// The files and lines that a run checks.
#[derive(Debug, Default)]
pub struct Selection {
    /// The names of the files to check, relative to the first root and taken literally, not as
    /// patterns; `None` for all files that a walk finds.
    pub files: Option<Vec<Vec<u8>>>,
    /// The changed lines: a finding in another line, or in a file without changed lines, does not
    /// count. `None` if all lines count.
    pub lines: Option<ChangedLines>,
    /// The directory that is searched for files; `None` for all roots.
    pub path: Option<String>,
    /// Set if files that git ignores are checked, too.
    pub no_ignore: bool,
    /// The names of files whose lines are never checked, in the form of [`Finding::file`]: the rule
    /// files and the baseline file, which have the texts that the rules are against.
    pub except: Vec<Vec<u8>>,
}

/// A breach of a rule. Those of one rule are ordered by file and line.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// The index of the rule in the list of rules.
    pub rule: usize,
    /// The file, relative to the first root if it lies below it; empty if a required file is
    /// missing.
    pub file: Vec<u8>,
    /// The line, from 1; `None` if the finding is about the file as a whole.
    pub line: Option<u64>,
    /// The column where the match starts and the column after its end, from 1, in characters;
    /// `None` if the finding is about the file as a whole.
    pub columns: Option<[u64; 2]>,
    /// The line without blanks at its ends, cut around the match if it is long; empty if the
    /// finding is about the file as a whole.
    pub text: String,
    /// The rule's message, which says what is wrong.
    pub message: String,
}

/// The outcome of a run.
#[derive(Debug, Default)]
pub struct Outcome {
    /// The findings that a report lists, sorted by file, line and rule. Whether a rule is broken is
    /// up to `counts`, because some findings may have been dropped.
    pub findings: Vec<Finding>,
    /// For each rule, how many findings there are that the baseline does not know, whether or not
    /// `max` allows them.
    pub counts: Vec<u64>,
    /// For each rule, how many files it applies to.
    pub seen: Vec<u64>,
    /// How many files were checked.
    pub files: u64,
    /// How many findings are in the baseline and therefore not in `findings`.
    pub known: u64,
    /// The findings of the baseline by these rules that the run has not found; `None` if there are
    /// none, or if not all files were looked at.
    pub gone: Option<Baseline>,
    /// Set if findings were dropped because there were too many.
    pub is_cut: bool,
    /// How many files and directories could not be checked, or not completely.
    pub unreadable: u64,
    /// The unreadable files and directories, each with the reason; not all, if they are many.
    pub unreadable_places: Vec<String>,
    /// Remarks about files that were left out.
    pub remarks: Vec<String>,
    /// The first file of [`Selection::files`], and why it was left out, if all of them were.
    pub nothing: Option<(Vec<u8>, &'static str)>,
}

/// The `include` and `exclude` patterns that one or more rules share.
struct Filter {
    include: PatternSet,
    exclude: PatternSet,
    node_modules: NodeModules,
}

impl Filter {
    fn new(
        rule: &Rule,
        workspace: &Workspace,
        places: &[WorkspacePath],
        selection: &Selection,
    ) -> Result<Self, ToolError> {
        let compile = |patterns: &[&str]| {
            let mut meant = Vec::new();
            for pattern in patterns {
                let pattern = pattern.strip_suffix('/').unwrap_or(pattern);
                meant.extend(workspace.patterns_below(pattern, places)?);
            }
            PatternSet::for_names_or_paths(meant, false)
        };
        let include: Vec<&str> = rule.included().collect();
        let excluded = rule.include.iter().filter_map(|one| excluded(one));
        let exclude: Vec<&str> = excluded.chain(rule.exclude.iter().map(|s| &**s)).collect();
        let in_rule = |mut error: ToolError| {
            error.message.insert_str(0, &format!("Rule {}: ", rule.id));
            error
        };
        Ok(Self {
            include: compile(&include).map_err(in_rule)?,
            exclude: compile(&exclude).map_err(in_rule)?,
            node_modules: NodeModules::asked_by(
                include,
                selection.path.as_deref(),
                !selection.no_ignore,
            ),
        })
    }

    /// Returns true if a file, or a directory above it, matches `exclude`. `name_at` is the byte
    /// offset at which the last component of `path` begins.
    fn leaves_out(&self, path: &[u8], name_at: usize) -> bool {
        if self.exclude.is_empty() {
            return false;
        }
        let slashes = path.iter().enumerate().filter(|(_, b)| **b == b'/');
        let mut start = 0;
        let mut above = slashes.map(|(at, _)| (&path[..at], std::mem::replace(&mut start, at + 1)));
        above.any(|(directory, name_at)| self.exclude.matches(directory, name_at))
            || self.exclude.matches(path, name_at)
    }

    fn takes(&self, path: &[u8], name_at: usize) -> bool {
        (self.include.is_empty() || self.include.matches(path, name_at))
            && !self.leaves_out(path, name_at)
    }
}

struct Run<'a> {
    rules: &'a [Rule],
    filters: Vec<Filter>,
    /// For each rule, the index of its filter in the list of filters.
    filter_of: Vec<usize>,
    /// The rules about lines, each with its index in `rules`, in the order in which `prefilter`
    /// numbers them.
    line_rules: Vec<(usize, &'a LineRule)>,
    prefilter: Prefilter,
    selection: &'a Selection,
    cancel: &'a Cancellation,
    shared: Mutex<Shared>,
}

/// The results of a run, to which all workers add. For each rule, `kept` has the findings that are
/// kept for listing, and the memory that they take. `not_text` counts the files without text in
/// which a rule demands a line. The rules in `blind` require files that may lie in a directory that
/// could not be read.
#[derive(Default)]
struct Shared {
    kept: Vec<(BinaryHeap<Finding>, usize)>,
    bytes: usize,
    counts: Vec<u64>,
    seen: Vec<u64>,
    files: u64,
    not_text: u64,
    known: u64,
    baseline: Option<Baseline>,
    unreadable: u64,
    unreadable_places: BTreeMap<Vec<u8>, String>,
    blind: HashSet<usize>,
}

/// Checks the files of a workspace by all rules. Findings that `baseline` contains don't count.
pub fn run(
    rules: &[Rule],
    workspace: &Workspace,
    selection: &Selection,
    baseline: Option<Baseline>,
    cancel: &Cancellation,
) -> Result<Outcome, ToolError> {
    let places = match &selection.path {
        Some(path) => vec![workspace.locate(path)?],
        None => workspace.root_places(),
    };
    let run = Run::new(rules, workspace, &places, selection, baseline, cancel)?;
    let (mut remarks, mut nothing) = (Vec::new(), None);
    let is_wanted = |rule: &Rule| selection.files.is_none() || matches!(rule.demand, Demand::File);
    if rules.iter().any(is_wanted) {
        for place in &places {
            let filters = run.filters.iter().map(|filter| filter.node_modules);
            let options = WalkOptions {
                respect: Respect {
                    git: !selection.no_ignore,
                    gemini: true,
                },
                node_modules: filters.max().unwrap_or(NodeModules::LeftOut),
                visit_ignored: false,
            };
            let active: Vec<bool> = rules.iter().map(is_wanted).collect();
            let make = || Worker::new(&run, prefix(workspace, place), active.clone());
            let (_, report) = walk(workspace, place, options, cancel, make)?;
            run.unread_directories(report, &prefix(workspace, place));
        }
    }
    if let Some(names) = &selection.files {
        let active = rules.iter().map(|rule| !is_wanted(rule)).collect();
        let mut worker = Worker::new(&run, Vec::new(), active);
        run.shared().files = 0;
        nothing = worker.list(names, workspace, &mut remarks)?;
    }
    cancel.check()?;
    Ok(Outcome {
        nothing,
        ..run.finish(remarks)
    })
}

impl<'a> Run<'a> {
    fn new(
        rules: &'a [Rule],
        workspace: &Workspace,
        places: &[WorkspacePath],
        selection: &'a Selection,
        baseline: Option<Baseline>,
        cancel: &'a Cancellation,
    ) -> Result<Self, ToolError> {
        let (mut filters, mut known) = (Vec::new(), Vec::new());
        let mut filter_of = Vec::new();
        for rule in rules {
            let key = (&rule.include, &rule.exclude);
            let at = known.iter().position(|other| *other == key);
            filter_of.push(at.unwrap_or(known.len()));
            if at.is_some() {
                continue;
            }
            known.push(key);
            filters.push(Filter::new(rule, workspace, places, selection)?);
        }
        let line_rules: Vec<_> = (0..)
            .zip(rules)
            .filter_map(|(i, rule)| match &rule.demand {
                Demand::NoMatch(lines) | Demand::Match(lines) => Some((i, lines)),
                _ => None,
            })
            .collect();
        Ok(Self {
            rules,
            filters,
            filter_of,
            prefilter: Prefilter::new(line_rules.iter().map(|(_, rule)| &rule.pattern)),
            line_rules,
            selection,
            cancel,
            shared: Mutex::new(Shared {
                kept: vec![(BinaryHeap::new(), 0); rules.len()],
                counts: vec![0; rules.len()],
                seen: vec![0; rules.len()],
                baseline,
                ..Shared::default()
            }),
        })
    }

    fn shared(&self) -> std::sync::MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn unreadable(&self, name: Vec<u8>, why: String) {
        let mut shared = self.shared();
        shared.unreadable += 1;
        name_one(&mut shared.unreadable_places, name, why);
    }

    fn unread_directories(&self, report: WalkReport, prefix: &[u8]) {
        let mut shared = self.shared();
        let is_told = report.unreadable == report.unreadable_places.len();
        for (i, filter) in self.filter_of.iter().enumerate() {
            let include = &self.filters[*filter].include;
            let can_hold = |path: &Vec<u8>| include.is_empty() || include.can_match_below(path);
            if !is_told || report.unreadable_places.keys().any(can_hold) {
                shared.blind.insert(i);
            }
        }
        shared.unreadable += report.unreadable as u64;
        for (path, why) in report.unreadable_places {
            name_one(&mut shared.unreadable_places, [prefix, &path].concat(), why);
        }
    }

    fn finish(self, mut remarks: Vec<String>) -> Outcome {
        let shared = self.shared.into_inner();
        let mut shared = shared.unwrap_or_else(PoisonError::into_inner);
        if shared.not_text > 0 {
            let files = counted(shared.not_text, "file");
            remarks.push(format!("{files} without text left out."));
        }
        let is_whole = self.selection.files.is_none() && shared.unreadable == 0;
        let (mut findings, mut is_cut) = (Vec::new(), false);
        for (i, rule) in self.rules.iter().enumerate() {
            let is_blind = shared.blind.contains(&i);
            if matches!(rule.demand, Demand::File) && shared.seen[i] == 0 && !is_blind {
                shared.add(self.rules, None, vec![file_finding(rule, i, &[], "")]);
            }
            let (count, most) = (shared.counts[i], rule.max);
            if count > most {
                let kept = std::mem::take(&mut shared.kept[i].0);
                is_cut |= (kept.len() as u64) < count;
                findings.extend(kept);
            }
            let rest = match count.cmp(&most) {
                Ordering::Greater if most > 0 => format!("and at most {most} are allowed."),
                // In the files that were not looked at there may be more.
                Ordering::Less if is_whole => format!("so that \"max\" can be {count}."),
                _ => continue,
            };
            let found = counted(count, "finding");
            remarks.push(format!("Rule {}: {found}, {rest}", rule.id));
        }
        findings.sort_by(|a, b| (&a.file, a.line, a.rule).cmp(&(&b.file, b.line, b.rule)));
        let left = shared.baseline;
        let left = left.filter(|_| is_whole && self.selection.path.is_none());
        let gone = left.map(|left| left.by_rules(self.rules));
        Outcome {
            findings,
            counts: shared.counts,
            seen: shared.seen,
            files: shared.files,
            known: shared.known,
            gone: gone.filter(|gone| !gone.is_empty()),
            is_cut,
            unreadable: shared.unreadable,
            unreadable_places: shared.unreadable_places.into_values().collect(),
            remarks,
            nothing: None,
        }
    }
}

impl Shared {
    fn add(&mut self, rules: &[Rule], lines: Option<&ChangedLines>, mut found: Vec<Finding>) {
        let is_changed = |found: &Finding| {
            lines.is_none_or(|lines| match found.line {
                Some(line) => lines.has_line(&found.file, line),
                None => lines.has_file(&found.file),
            })
        };
        // Of findings with the same text, those in lines that have not changed are the known ones.
        // Otherwise the baseline would hide a new one, and the old one would not count.
        found.sort_by_key(is_changed);
        for finding in found {
            let (i, is_changed) = (finding.rule, is_changed(&finding));
            let baseline = self.baseline.as_mut();
            let is_known = baseline.is_some_and(|known| known.take(&rules[i].id, &finding));
            self.known += u64::from(is_known && is_changed);
            if is_known || !is_changed {
                continue;
            }
            self.counts[i] += 1;
            self.bytes += size(&finding);
            let (kept, bytes) = &mut self.kept[i];
            *bytes += size(&finding);
            kept.push(finding);
        }
        while self.bytes > MAX_FINDINGS_BYTES
            && let Some((kept, bytes)) = self.kept.iter_mut().max_by_key(|(_, bytes)| *bytes)
            && kept.len() > 1
        {
            // Many at once, because looking for this rule takes time.
            for dropped in (0..kept.len().div_ceil(8)).filter_map(|_| kept.pop()) {
                *bytes -= size(&dropped);
                self.bytes -= size(&dropped);
            }
        }
    }
}

fn size(finding: &Finding) -> usize {
    FINDING_BYTES + finding.text.len() + finding.message.len() + finding.file.len()
}

struct Worker<'a> {
    run: &'a Run<'a>,
    prefix: Vec<u8>,
    active: Vec<bool>,
    reader: TextReader,
    searcher: LineSearcher<'a>,
    applies: Vec<bool>,
}

impl Visitor for Worker<'_> {
    fn wants(&self, path: &[u8], name_at: usize) -> bool {
        self.run
            .filters
            .iter()
            .any(|filter| filter.takes(path, name_at))
    }

    fn enters(&self, path: &[u8], name_at: usize) -> bool {
        let mut filters = self.run.filters.iter();
        filters.any(|filter| {
            let include = &filter.include;
            (include.is_empty() || include.can_match_below(path))
                && !filter.exclude.matches(path, name_at)
        })
    }

    fn visit(&mut self, found: &WalkEntry<'_>) {
        let is_regular = found.file_type == FileType::RegularFile;
        let above = found.path.len() - found.name.count_bytes();
        let mut above = found.path[..above].split(|b| *b == b'/');
        let in_modules = above.any(|name| name == NODE_MODULES);
        self.look(found.path, in_modules, is_regular, || open_found(found));
    }
}

impl<'a> Worker<'a> {
    fn new(run: &'a Run<'a>, prefix: Vec<u8>, active: Vec<bool>) -> Self {
        Self {
            run,
            prefix,
            active,
            reader: TextReader::default(),
            searcher: LineSearcher::new(run.cancel),
            applies: Vec::new(),
        }
    }

    /// Checks the files named in `names`. Adds a remark about those that are left out. If all are,
    /// returns the first, and why.
    fn list(
        &mut self,
        names: &[Vec<u8>],
        workspace: &Workspace,
        remarks: &mut Vec<String>,
    ) -> Result<Option<(Vec<u8>, &'static str)>, ToolError> {
        let (mut left_out, mut looked) = (Vec::new(), HashSet::new());
        for name in names {
            self.run.cancel.check()?;
            let path = Path::new(OsStr::from_bytes(name));
            let place = workspace.place_of(path).ok_or_else(|| {
                let what = format!(
                    "The listed file {} is not in the workspace.",
                    line_name(name)
                );
                ToolError::new(ErrorKind::PathNotInWorkspace, what)
                    .with_hint("Names count from the project's root.")
            })?;
            if looked.insert(place.path().to_owned()) {
                let why = self.look_at_listed(name, &place, workspace);
                left_out.extend(why.map(|why| (name, why)));
            }
        }
        let mut missing = left_out.iter().filter(|(_, why)| *why == MISSING);
        if let Some((name, why)) =
            missing.find(|(name, _)| counts_from_above(workspace.root(), name))
        {
            let what = format!("The listed file {} {why}.", line_name(name));
            return Err(ToolError::invalid(what).with_hint(FROM_TOP));
        }
        for why in [MISSING, CLOSED, DIRECTORY, REPOSITORY, LINK, SPECIAL] {
            let mut same = left_out.iter().filter(|(_, other)| *other == why);
            if let Some((first, _)) = same.next() {
                let names = counted(same.count() + 1, "name");
                let first = line_name(first);
                remarks.push(format!("{names} of the list left out: {first} {why}."));
            }
        }
        // What .geminiignore excludes is left out as the project wants it, and what a commit adds
        // may be a link or a submodule only.
        left_out.retain(|(_, why)| matches!(*why, MISSING | DIRECTORY | SPECIAL));
        let first = left_out.first().filter(|_| left_out.len() == looked.len());
        Ok(first.map(|(name, why)| ((*name).clone(), *why)))
    }

    fn look_at_listed(
        &mut self,
        name: &[u8],
        place: &WorkspacePath,
        workspace: &Workspace,
    ) -> Option<&'static str> {
        // As in a walk, a link is a file with a name and without text. What it leads to is checked
        // under its own name, and is no change where only the link is new.
        let is_link = place.path().is_symlink();
        let kind = is_link.then_some(Ok(FileType::Symlink));
        match kind.unwrap_or_else(|| workspace.file_type(place)) {
            Ok(FileType::Directory) if place.path().join(".git").exists() => {
                return Some(REPOSITORY);
            }
            Ok(FileType::Directory) => return Some(DIRECTORY),
            Ok(_) if workspace.check_gemini_ignore(place).is_err() => return Some(CLOSED),
            Ok(kind) => {
                let shown = workspace.display(place.path());
                let shown = shown.as_os_str().as_bytes().to_vec();
                let open = || workspace.open_file(place).map(|open| open.file);
                let open = || open().map_err(|e| std::io::Error::other(e.message));
                let is_regular = kind == FileType::RegularFile;
                self.look(&shown, false, is_regular, open);
                let mut rules = self.run.line_rules.iter();
                if !is_regular && rules.any(|(i, _)| self.applies[*i]) {
                    return Some(if is_link { LINK } else { SPECIAL });
                }
            }
            Err(error) if error.kind == ErrorKind::FileNotFound => return Some(MISSING),
            Err(error) => self.run.unreadable(name.to_vec(), error.message),
        }
        None
    }

    /// Checks one file, whose path is relative to the start of the walk. Calls `open` only if a
    /// rule about lines applies to the file. With `in_modules` the file is below `node_modules`,
    /// and only rules that ask for that directory apply.
    fn look(
        &mut self,
        path: &[u8],
        in_modules: bool,
        is_regular: bool,
        open: impl FnOnce() -> std::io::Result<File>,
    ) {
        let run = self.run;
        let name = [&self.prefix, path].concat();
        let is_own = run.selection.except.contains(&name);
        let name_at = path.iter().rposition(|b| *b == b'/').map_or(0, |at| at + 1);
        let fits = |filter: &Filter| {
            let is_asked = !in_modules || filter.node_modules != NodeModules::LeftOut;
            is_asked && filter.takes(path, name_at)
        };
        let taken: Vec<bool> = run.filters.iter().map(fits).collect();
        let applies = run.filter_of.iter().zip(&self.active);
        self.applies.clear();
        self.applies
            .extend(applies.map(|(filter, active)| *active && taken[*filter]));
        for (i, _) in run.line_rules.iter().filter(|_| is_own) {
            self.applies[*i] = false;
        }
        if !self.applies.contains(&true) {
            return;
        }
        let mut shared = run.shared();
        shared.files += 1;
        for (seen, applies) in shared.seen.iter_mut().zip(&self.applies) {
            *seen += u64::from(*applies);
        }
        drop(shared);
        let mut found = Vec::new();
        for (i, rule) in run
            .rules
            .iter()
            .enumerate()
            .filter(|(i, _)| self.applies[*i])
        {
            let base = String::from_utf8_lossy(&path[name_at..]);
            let text = match &rule.demand {
                Demand::NoFile => String::from_utf8_lossy(&name),
                Demand::Name(wanted) if !wanted.matches_whole(base.as_bytes()) => base,
                _ => continue,
            };
            found.push(file_finding(rule, i, &name, &text));
        }
        if is_regular && run.line_rules.iter().any(|(i, _)| self.applies[*i]) {
            match open() {
                Ok(file) => self.read(&name, file, &mut found),
                Err(e) if is_gone(&e) => {}
                Err(e) => self.unreadable(&name, &e.to_string()),
            }
        }
        if !found.is_empty() {
            let lines = run.selection.lines.as_ref();
            run.shared().add(run.rules, lines, found);
        }
    }

    fn unreadable(&self, name: &[u8], reason: &str) {
        let why = format!("{}: {reason}", line_name(name));
        self.run.unreadable(name.to_owned(), why);
    }

    fn read(&mut self, name: &[u8], mut file: File, found: &mut Vec<Finding>) {
        let run = self.run;
        let Self {
            reader,
            searcher,
            applies,
            ..
        } = self;
        let mut possible = vec![false; run.line_rules.len()];
        let mut has_match = possible.clone();
        let (mut given_up, mut is_empty) = (0, true);
        let before = found.len();
        let read = reader.read(&mut file, run.cancel, &mut |lines, text| {
            is_empty &= text.is_empty();
            possible.fill(false);
            run.prefilter.look(text, &mut possible);
            for (slot, (i, rule)) in run.line_rules.iter().enumerate() {
                if !applies[*i] || !possible[slot] || has_match[slot] {
                    continue;
                }
                let wanted = &run.rules[*i];
                let except = rule.except.as_ref();
                let searched = searcher.search(&rule.pattern, except, text, |number, line| {
                    if matches!(wanted.demand, Demand::Match(_)) {
                        has_match[slot] = true;
                        return false;
                    }
                    if !allows(line, &wanted.id) {
                        found.push(line_finding(wanted, *i, name, lines + number, line));
                    }
                    true
                });
                // A search fails only if the call was interrupted, and then the whole run ends
                // anyway.
                given_up += searched.unwrap_or_default();
            }
        });
        let why = match &read {
            Ok(TextEnd::LongLine(line)) => format!("line {line} is too long"),
            Ok(_) if given_up == 0 => String::new(),
            Ok(_) => format!("a pattern takes too long on {}", counted(given_up, "line")),
            Err(e) => e.to_string(),
        };
        if !why.is_empty() {
            self.unreadable(name, &why);
        }
        match read {
            Ok(TextEnd::Whole) if !is_empty => found.extend(self.without_match(name, &has_match)),
            Ok(TextEnd::Binary) => {
                // As in a search, a match counts, but no line is shown. None is required.
                let rules: BTreeSet<usize> = found.drain(before..).map(|f| f.rule).collect();
                let of_file = |i| file_finding(&run.rules[i], i, name, "");
                found.extend(rules.into_iter().map(of_file));
                let lacks_match = !self.without_match(name, &has_match).is_empty();
                run.shared().not_text += u64::from(lacks_match);
            }
            _ => {}
        }
    }

    fn without_match(&self, name: &[u8], has_match: &[bool]) -> Vec<Finding> {
        let rules = self.run.line_rules.iter().zip(has_match);
        let missing = rules.filter_map(|((i, _), has_match)| {
            let rule = &self.run.rules[*i];
            let asks = matches!(rule.demand, Demand::Match(_)) && self.applies[*i];
            (asks && !has_match).then(|| file_finding(rule, *i, name, ""))
        });
        missing.collect()
    }
}

fn file_finding(rule: &Rule, number: usize, name: &[u8], text: &str) -> Finding {
    Finding {
        rule: number,
        file: name.to_vec(),
        line: None,
        columns: None,
        text: String::new(),
        message: rule.message(text, ""),
    }
}

fn line_finding(rule: &Rule, number: usize, name: &[u8], line: u64, text: &[u8]) -> Finding {
    let text = String::from_utf8_lossy(text);
    let found = match &rule.demand {
        Demand::NoMatch(lines) => lines.pattern.find(text.as_bytes()),
        _ => 0..0,
    };
    let column = |at: usize| text.get(..at).unwrap_or_default().chars().count() as u64 + 1;
    let shown = shown_line(&text, found.start);
    Finding {
        rule: number,
        file: name.to_vec(),
        line: Some(line),
        columns: Some([column(found.start), column(found.end)]),
        text: shown.trim().to_owned(),
        message: rule.message(&shown, &text),
    }
}

/// Returns true if a comment in the line exempts it from this rule and gives a reason. A comment
/// without a reason does not count.
fn allows(line: &[u8], id: &str) -> bool {
    let comments = line.windows(ALLOW.len()).enumerate();
    let starts = comments.filter(|(_, words)| *words == ALLOW);
    starts.map(|(at, _)| at).any(|at| {
        let rest = String::from_utf8_lossy(&line[at + ALLOW.len()..]);
        rest.split_once(')').is_some_and(|(ids, rest)| {
            // What follows the comment, or begins another one, is no reason.
            let reason = rest.split("*/").next().unwrap_or_default();
            let reason = reason.split("check: allow(").next().unwrap_or_default();
            let has_reason = reason.chars().any(char::is_alphanumeric);
            has_reason && ids.split(',').any(|allowed| allowed.trim() == id)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::{allows, is_gone};

    #[test]
    fn a_file_that_was_deleted_or_became_a_link_is_gone() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("a");
        let open = || {
            let flags = rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::NOFOLLOW;
            rustix::fs::open(&path, flags, rustix::fs::Mode::empty())
        };
        assert!(is_gone(&open().expect_err("deleted").into()));
        std::os::unix::fs::symlink("/", &path).expect("a link");
        assert!(is_gone(&open().expect_err("a link").into()));
        assert!(!is_gone(&rustix::io::Errno::ACCESS.into()));
    }

    #[test]
    fn a_comment_allows_the_rules_that_it_names_and_needs_a_reason() {
        for (line, wanted) in [
            ("x // check: allow(a) because", true),
            ("x # check: allow(b, a) old file", true),
            ("x // check: allow(a)", false),
            ("x /* check: allow(a) */", false),
            ("/* check: allow(a) */ x();", false),
            ("/* check: allow(a) old */ x();", true),
            ("x // check: allow(a) // check: allow(b) because", false),
            ("x // check: allow(b) because", false),
            ("x // check: allow(b) y check: allow(a) z", true),
            ("x // check: allow(a", false),
        ] {
            assert_eq!(allows(line.as_bytes(), "a"), wanted, "{line}");
        }
    }
}
