//! `glob`: finds files by a pattern, and lists recently changed ones first.

use super::scope::{
    SearchScope, directory_and_name, ignored_note, node_modules_note, push_unreadable,
    require_directory, with_unreadable,
};
use super::{BuiltinTool, ToolEnv};
use gemini_tools_core::colours::Look;
use gemini_tools_core::tool::named::NamedText;
use gemini_tools_core::tool::{
    Confirmation, Context, ErrorKind, FoundPlace, Kind, Limit, Location, ResultPlaces, ToolError,
    ToolInfo, ToolInvocation, ToolResult, Usage,
};
use gemini_tools_workspace::ignore::IgnoreSource;
use gemini_tools_workspace::pattern::{PatternSet, expand_braces, without_detours};
use gemini_tools_workspace::walk::{NodeModules, Visitor, WalkEntry, WalkReport};
use gemini_tools_workspace::{Respect, WorkspacePath};
use rustix::fs::{AtFlags, FileType, Stat};
use rustix::io::Errno;
use serde::Deserialize;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::SystemTime;

/// Files that were changed within this time are sorted by the time of the change, the newest first.
/// Older ones follow, sorted by name.
const RECENT_SECS: i64 = 24 * 60 * 60;

const MAX_BYTES: usize = 16 * 1024 * 1024;

const HIT_BYTES: usize = 64;

/// From this many files on, a model gets each directory on a line of its own and below it the names
/// in it, if on average at least `GROUP` of the files are in one directory. Otherwise that would be
/// no shorter than the paths.
const LONG_LIST: usize = 20;

const GROUP: usize = 2;

pub(super) static TOOL: BuiltinTool = BuiltinTool {
    name: "glob",
    summary: "Finds paths by pattern, the newest first",
    description: "Finds files of the project by a glob pattern, such as 'src/**/*.ts' or \
        '**/*.{md,txt}', and gives their paths, which begin at the project's root: those \
        changed within a day first, the newest at the top, then the others by name. '*.ts' \
        looks at the top directory only. Hidden files count; ignored ones are left out and \
        counted.",
    info: ToolInfo::new("FindFiles", Kind::Search)
        .on_this_machine()
        .with_aliases(&["GlobTool"]),
    usage: Usage {
        renamed: &[("dir_path", "path")],
        paths: &["path"],
        limits: &[
            Limit::Hours(RECENT_SECS as u64 / 3600)
                .of("the age of files that count as recent, and stand first"),
            Limit::Bytes(MAX_BYTES as u64).of("paths of matching files"),
        ],
        examples: &[
            "call_tool glob '**/*.rs'",
            "call_tool glob '*.md' path=docs",
        ],
        errors: &[
            ErrorKind::SearchPathNotFound.when("`path` does not exist"),
            ErrorKind::SearchPathNotADirectory.when("`path` is a file"),
            ErrorKind::PathNotInWorkspace
                .when("`path` is outside, or the pattern leads out of it with `..`"),
        ],
        ..Usage::NONE
    },
};

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Params {
    /// The glob pattern: *, ?, [a-z], [!a], {a,b}, {1..3}, !(a), and ** for any directories.
    pattern: String,
    /// The directory to search in. Default: the project's root.
    path: Option<String>,
    /// Whether upper and lower case differ. Default: false.
    case_sensitive: Option<bool>,
    /// Whether to leave out what .gitignore names. Default: true.
    respect_git_ignore: Option<bool>,
    /// Whether to leave out what .geminiignore names. Default: true.
    respect_gemini_ignore: Option<bool>,
}

pub(super) struct Call {
    scope: SearchScope,
    pattern: String,
    set: PatternSet,
    ignore_case: bool,
}

pub(super) fn build(
    params: Params,
    ToolEnv { workspace, .. }: &ToolEnv,
) -> Result<Call, ToolError> {
    if params.pattern.trim().is_empty() {
        return Err(ToolError::invalid("\"pattern\" must not be empty.")
            .with_hint("Use '**/*' for all files."));
    }
    let mut places = workspace.root_places();
    if let Some(path) = params.path.as_deref().filter(|path| !path.is_empty()) {
        places = vec![workspace.locate(path)?];
        require_directory(workspace, &places[0])?;
    }
    let meant = workspace.meant_pattern(&params.pattern)?;
    let mut pattern = &*meant;
    if pattern.starts_with('/') {
        let below = |place: WorkspacePath| {
            let rest = workspace.pattern_below(pattern, &place)?;
            Some((rest.trim_start_matches('/'), place))
        };
        let Some((rest, place)) = places.into_iter().find_map(below) else {
            workspace.locate(pattern)?;
            return Err(ToolError::invalid(format!(
                "The absolute pattern {pattern:?} does not lie below the directory to search in."
            ))
            .with_hint("Use a relative pattern, and 'path' for the directory."));
        };
        (pattern, places) = (rest, vec![place]);
    }
    // A leading `~` is a part of a name here. Without `./` before it, it would mean the home
    // directory.
    let meanings = workspace.patterns_below(&format!("./{pattern}"), &places)?;
    let ignore_case = !params.case_sensitive.unwrap_or(false);
    let respect = Respect {
        git: params.respect_git_ignore.unwrap_or(true),
        gemini: params.respect_gemini_ignore.unwrap_or(true),
    };
    Ok(Call {
        set: compile(pattern, &meanings, ignore_case)?,
        ignore_case,
        pattern: pattern.to_owned(),
        scope: SearchScope {
            workspace: Arc::clone(workspace),
            places,
            respect,
            node_modules: NodeModules::asked_by([pattern], params.path.as_deref(), respect.git),
        },
    })
}

/// Compiles the patterns that the argument `pattern` stands for (`meanings`). Braces are expanded,
/// and `.`, `..` and empty components are removed. Errors name `pattern`.
fn compile(pattern: &str, meanings: &[String], ignore_case: bool) -> Result<PatternSet, ToolError> {
    let mut alternatives = Vec::new();
    for meaning in meanings {
        alternatives.append(&mut expand_braces(meaning)?);
    }
    let mut patterns = Vec::new();
    for alternative in alternatives {
        let Some(plain) = without_detours(&alternative) else {
            return Err(ToolError::new(
                ErrorKind::PathNotInWorkspace,
                format!("The pattern {pattern:?} leads out of the directory that is searched."),
            )
            .with_hint(
                "Patterns match below that directory only; use 'path' to search another one.",
            ));
        };
        patterns.push(plain);
    }
    PatternSet::for_paths(patterns, ignore_case)
}

/// A file that matches. `changed` is when it was modified, in nanoseconds since 1970, or `None` if
/// that is not recent, so that such files are sorted by name alone.
struct GlobMatch<'a> {
    changed: Option<i128>,
    place: &'a WorkspacePath,
    path: Box<[u8]>,
}

impl GlobMatch<'_> {
    fn order(&self, other: &Self) -> Ordering {
        let [place, other_place] = [self, other].map(|one| one.place.path().as_os_str());
        (other.changed.cmp(&self.changed))
            .then_with(|| place.cmp(other_place))
            .then_with(|| self.path.cmp(&other.path))
    }

    fn is_beside(&self, other: &Self) -> bool {
        let [one, another] =
            [self, other].map(|hit| (hit.place.path(), directory_and_name(&hit.path).0));
        one == another
    }
}

struct Finder<'a> {
    call: &'a Call,
    place: &'a WorkspacePath,
    recent_after_secs: i64,
    hits: Vec<GlobMatch<'a>>,
    git: usize,
    gemini: usize,
    taken: &'a AtomicUsize,
}

impl Finder<'_> {
    /// Returns when a file was modified, in seconds and nanoseconds since 1970; `None` if the
    /// answer does not list such an entry.
    fn modified(&self, found: &WalkEntry<'_>) -> Option<(i64, i128)> {
        let own = || rustix::fs::statat(found.dir, found.name, AtFlags::SYMLINK_NOFOLLOW);
        let time = |stat: Stat| (stat.st_mtime, i128::from(stat.st_mtime_nsec));
        match found.file_type {
            FileType::RegularFile => match own() {
                Ok(stat) => Some(time(stat)),
                Err(Errno::NOENT) => None,
                // A directory may let its names be read, but not what they are the names of. Such a
                // file is listed, as `git ls-files` does, among those that are not recent.
                Err(_) => Some((i64::MIN, 0)),
            },
            // A symbolic link counts if it leads to a regular file of the workspace or nowhere:
            // git, too, lists a dead link as a file.
            FileType::Symlink => {
                let target = self.place.join(Path::new(OsStr::from_bytes(found.path)));
                match self.call.scope.workspace.stat(&target) {
                    Ok(stat) => (FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile)
                        .then(|| time(stat)),
                    Err(e) if e.kind != ErrorKind::PathNotInWorkspace => own().ok().map(time),
                    Err(_) => None,
                }
            }
            _ => None,
        }
    }
}

impl Visitor for Finder<'_> {
    fn wants(&self, path: &[u8], name_at: usize) -> bool {
        self.call.set.matches(path, name_at)
    }

    fn enters(&self, path: &[u8], _name_at: usize) -> bool {
        self.call.set.can_match_below(path)
    }

    fn visit(&mut self, found: &WalkEntry<'_>) {
        match found.ignored {
            Some(IgnoreSource::Git) => self.git += 1,
            Some(IgnoreSource::Gemini) => self.gemini += 1,
            None => {
                let Some((seconds, nanos)) = self.modified(found) else {
                    return;
                };
                let size = HIT_BYTES + self.place.path().as_os_str().len() + found.path.len();
                if self.taken.fetch_add(size, Relaxed) > MAX_BYTES {
                    return;
                }
                let nanos = i128::from(seconds) * 1_000_000_000 + nanos;
                self.hits.push(GlobMatch {
                    changed: (seconds > self.recent_after_secs).then_some(nanos),
                    place: self.place,
                    path: found.path.into(),
                });
            }
        }
    }

    fn finish(&mut self) {
        self.hits.sort_unstable_by(GlobMatch::order);
    }
}

impl ToolInvocation for Call {
    fn describe(&self) -> String {
        format!("Finds `{}` in {}", self.pattern, self.scope.describe())
    }

    fn locations(&self) -> Vec<Location> {
        self.scope.locations()
    }

    fn confirmation(&self, _: &Context) -> Result<Confirmation, ToolError> {
        Ok(Confirmation::NotNeeded)
    }

    fn run(self: Box<Self>, cx: &Context) -> Result<ToolResult, ToolError> {
        let now = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .map_or(0, |d| d.as_secs() as i64);
        let taken = AtomicUsize::new(0);
        let (finders, report) = self.scope.walk(true, &cx.cancel, |place| Finder {
            call: &self,
            place,
            recent_after_secs: now - RECENT_SECS,
            hits: Vec::new(),
            git: 0,
            gemini: 0,
            taken: &taken,
        })?;
        if taken.load(Relaxed) > MAX_BYTES {
            return Err(ToolError::new(
                ErrorKind::GlobExecutionError,
                format!(
                    "The paths of the files that match '{}' take more than {} MiB.",
                    self.pattern,
                    MAX_BYTES / (1024 * 1024)
                ),
            )
            .with_hint("Narrow the pattern, or name a directory in 'path'."));
        }
        let is_empty =
            |finder: &Finder<'_>| finder.hits.is_empty() && finder.git + finder.gemini == 0;
        let near = if finders.iter().all(is_empty) {
            self.near_files(cx)?
        } else {
            None
        };
        Ok(self.answer(finders, &report, near, cx))
    }
}

impl Call {
    /// Returns how many files the pattern would match without regard to letter case, or in
    /// subdirectories; `None` if it would match none.
    fn near_files(&self, cx: &Context) -> Result<Option<String>, ToolError> {
        let mut ways = Vec::new();
        let mut add = |way: String, pattern: &str, ignore_case| {
            if let Ok(set) = compile(pattern, &[pattern.to_owned()], ignore_case) {
                ways.push((way, set));
            }
        };
        let below = format!("**/{}", self.pattern);
        if !self.ignore_case {
            add("in another case".to_owned(), &self.pattern, true);
        }
        if !self.pattern.starts_with("**") {
            add(
                format!("in subdirectories, as '{below}'"),
                &below,
                self.ignore_case,
            );
        }
        self.scope.near_files(&ways, &cx.cancel)
    }

    fn answer(
        &self,
        finders: Vec<Finder<'_>>,
        report: &WalkReport,
        near: Option<String>,
        cx: &Context,
    ) -> ToolResult {
        let git = finders.iter().map(|f| f.git).sum();
        let gemini = finders.iter().map(|f| f.gemini).sum();
        let mut hits: Vec<GlobMatch<'_>> = finders.into_iter().flat_map(|f| f.hits).collect();
        // Each worker has sorted its own matches, and this sort is fast on sorted runs.
        hits.sort_by(GlobMatch::order);
        let mut ignored = ignored_note(git, gemini);
        if report.more_ignored && !ignored.is_empty() {
            ignored.push_str(" or more");
        }
        ignored.extend(near);
        let mut text = self.headline(hits.len(), ignored, report, cx);
        let groups = hits.chunk_by(GlobMatch::is_beside);
        let is_long = hits.len() >= LONG_LIST && groups.clone().count() * GROUP <= hits.len();
        if is_long && cx.view.condenses {
            text.push_str(", below their directories:");
            for group in groups {
                self.push_group(&mut text, group);
            }
        } else {
            text.push_str(if hits.is_empty() { "." } else { ":" });
            for hit in &hits {
                self.push_path(&mut text, hit.place, &hit.path);
            }
        }
        let places = hits.iter().map(|hit| {
            let path = hit.place.path().join(OsStr::from_bytes(&hit.path));
            FoundPlace::file(path.as_os_str().as_bytes())
        });
        push_unreadable(&mut text, report);
        let mut result = ToolResult::named(text)
            .with_display(format!("Found {}", super::counted(hits.len(), "file")))
            .with_data("files", hits.len());
        result = with_unreadable(result, report, &BTreeMap::new());
        result.locations = (cx.view.places == ResultPlaces::Items).then(|| places.collect());
        result
    }

    fn push_group(&self, text: &mut NamedText, group: &[GlobMatch<'_>]) {
        let place = group[0].place;
        let directory = directory_and_name(&group[0].path).0;
        let is_root = directory.is_empty() && self.scope.above(place).is_none();
        self.push_path(text, place, if is_root { b"./" } else { directory });
        for hit in group {
            text.push_str("\n ");
            text.push_name(directory_and_name(&hit.path).1);
        }
    }

    fn push_path(&self, text: &mut NamedText, place: &WorkspacePath, path: &[u8]) {
        text.push_str("\n");
        if let Some(above) = self.scope.above(place) {
            text.push_path(above);
            if !text.text.ends_with('/') {
                text.push_looking("/", Look::Path);
            }
        }
        text.push_name(path);
    }

    fn headline(
        &self,
        total: usize,
        ignored: String,
        report: &WalkReport,
        cx: &Context,
    ) -> NamedText {
        let (head, tail) = match total {
            0 => ("No files found".to_owned(), ""),
            _ => (
                format!("Found {total} file(s)"),
                ", sorted by modification time (newest first)",
            ),
        };
        let mut text = NamedText::answering(cx);
        text.push_str(&format!("{head} matching '{}' within ", self.pattern));
        for (i, place) in self.scope.places.iter().enumerate() {
            text.push_str(if i == 0 { "" } else { " and " });
            text.push_path(place.path());
        }
        // The paths are relative to the first root. Without this note, they could be taken for
        // paths relative to the directory that was searched.
        if total > 0 && self.scope.has_place_below_root() {
            text.push_str(", as paths below ");
            text.push_path(self.scope.workspace.root());
        }
        let ignored = Some(ignored).filter(|note| !note.is_empty());
        let notes = ignored.into_iter().chain(node_modules_note(report));
        let notes = notes.collect::<Vec<_>>().join(", ");
        if !notes.is_empty() {
            text.push_str(&format!(" ({notes})"));
        }
        text.push_str(tail);
        text
    }
}
