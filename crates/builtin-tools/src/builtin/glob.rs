//! `glob`: files by pattern, the newest first.

use super::{BuiltinTool, ToolEnv, ignored_note, node_modules_note};
use gemini_tools_core::colours::Look;
use gemini_tools_core::tool::named::NamedText;
use gemini_tools_core::tool::{
    Args, Confirmation, Context, ErrorKind, FoundPlace, Kind, Limit, Location, ResultPlaces,
    Schema, ToolError, ToolInfo, ToolInvocation, ToolResult, Usage,
};
use gemini_tools_workspace::ignore::IgnoreSource;
use gemini_tools_workspace::pattern::{PatternSet, expand_braces};
use gemini_tools_workspace::walk::{
    NodeModules, Visitor, WalkEntry, WalkOptions, WalkReport, walk,
};
use gemini_tools_workspace::{Respect, Workspace, WorkspacePath, show_path};
use rustix::fs::{AtFlags, FileType, Stat};
use serde::Deserialize;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::SystemTime;

/// Files changed within this time are ordered by it; older ones by name.
const RECENT_SECS: i64 = 24 * 60 * 60;

/// Maximum bytes that the paths of one call may take.
const MAX_BYTES: usize = 16 * 1024 * 1024;

/// Memory for a path besides its text.
const HIT_BYTES: usize = 64;

/// Everything that is fixed about the tool.
pub(super) static TOOL: BuiltinTool = BuiltinTool {
    name: "glob",
    summary: "Finds paths by pattern, the newest first",
    description: "Finds files of the project by a glob pattern, such as 'src/**/*.ts' or \
        '**/*.{md,txt}', and gives their absolute paths: those changed within a day first, the \
        newest at the top, then the others by name. '*.ts' looks at the top directory only. \
        Hidden files count; ignored ones are left out and counted.",
    info: ToolInfo::new("FindFiles", Kind::Search)
        .on_this_machine()
        .with_aliases(&["GlobTool"]),
    usage: Usage {
        renamed: &[("dir_path", "path")],
        limits: &[
            (
                "the age of files that count as recent, and stand first",
                Limit::Hours(RECENT_SECS as u64 / 3600),
            ),
            ("paths of matching files", Limit::Bytes(MAX_BYTES as u64)),
        ],
        examples: &[
            "call_tool glob '**/*.rs'",
            "call_tool glob '*.md' path=docs",
        ],
        errors: &[
            (ErrorKind::SearchPathNotFound, "`path` does not exist"),
            (ErrorKind::SearchPathNotADirectory, "`path` is a file"),
            (
                ErrorKind::PathNotInWorkspace,
                "`path` is outside, or the pattern leads out of it with `..`",
            ),
        ],
        ..Usage::NONE
    },
    build,
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

/// Decides about `node_modules`, given the patterns and the path to search.
pub(super) fn node_modules<'a>(
    patterns: impl IntoIterator<Item = &'a str>,
    path: Option<&str>,
    respect: Respect,
) -> NodeModules {
    let is_in = |text: &str| text.to_ascii_lowercase().contains("node_modules");
    // `!(node_modules)` does not ask for it.
    let is_named = |pattern: &str| is_in(pattern) && !pattern.contains("!(");
    if path.is_some_and(is_in) || patterns.into_iter().any(is_named) {
        NodeModules::Named
    } else if respect.git {
        NodeModules::LeftOut
    } else {
        NodeModules::Ordinary
    }
}

struct Call {
    workspace: Arc<Workspace>,
    /// Directories to search; several where the workspace has several roots and no path was given.
    places: Vec<WorkspacePath>,
    pattern: String,
    set: PatternSet,
    respect: Respect,
    node_modules: NodeModules,
}

fn build(
    args: Args,
    schema: &Schema,
    ToolEnv { workspace, .. }: &ToolEnv,
) -> Result<Box<dyn ToolInvocation>, ToolError> {
    let params: Params = args.parse(schema)?;
    if params.pattern.trim().is_empty() {
        return Err(ToolError::invalid("\"pattern\" must not be empty.")
            .with_hint("Use '**/*' for all files."));
    }
    let mut places = match &params.path {
        Some(path) => vec![workspace.locate(path)?],
        None => workspace.root_places(),
    };
    for place in &places {
        if params.path.is_some() {
            require_directory(workspace, place)?;
        }
    }
    let mut pattern = params.pattern.as_str();
    if pattern.starts_with('/') {
        let start = places
            .iter()
            .position(|place| below(pattern, place).is_some());
        let Some(start) = start else {
            workspace.locate(pattern)?;
            return Err(ToolError::invalid(format!(
                "The absolute pattern {pattern:?} does not lie below the directory to search in."
            ))
            .with_hint("Use a relative pattern, and 'path' for the directory."));
        };
        places = vec![places.swap_remove(start)];
        pattern = below(pattern, &places[0]).unwrap_or(pattern);
    }
    let ignore_case = !params.case_sensitive.unwrap_or(false);
    let respect = Respect {
        git: params.respect_git_ignore.unwrap_or(true),
        gemini: params.respect_gemini_ignore.unwrap_or(true),
    };
    Ok(Box::new(Call {
        set: compile(pattern, ignore_case)?,
        pattern: pattern.to_owned(),
        workspace: Arc::clone(workspace),
        places,
        respect,
        node_modules: node_modules([pattern], params.path.as_deref(), respect),
    }))
}

/// Compiles the patterns that braces stand for, without `.`, `..` and empty components.
fn compile(pattern: &str, ignore_case: bool) -> Result<PatternSet, ToolError> {
    let mut patterns = Vec::new();
    for alternative in expand_braces(pattern)? {
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
    Ok(PatternSet::for_paths(patterns, ignore_case)?)
}

/// Returns the pattern without detours; `None` where it climbs higher than it began, or where `**` does not
/// say from where.
fn without_detours(pattern: &str) -> Option<String> {
    let mut parts: Vec<&str> = Vec::new();
    let last = pattern.rsplit('/').next().unwrap_or_default();
    for part in pattern.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop().filter(|above| *above != "**")?;
            }
            part => parts.push(part),
        }
    }
    // A slash or dots at the end ask for directories.
    let asks_for_directories = matches!(last, "" | "." | "..");
    let end = if asks_for_directories { "/" } else { "" };
    Some(parts.join("/") + end)
}

/// Returns the rest of an absolute pattern below a directory.
fn below<'a>(pattern: &'a str, place: &WorkspacePath) -> Option<&'a str> {
    let rest = pattern.strip_prefix(place.path().to_str()?)?;
    rest.strip_prefix('/')
}

/// Refuses what is not a directory, with the error types of searches.
pub(super) fn require_directory(
    workspace: &Workspace,
    place: &WorkspacePath,
) -> Result<(), ToolError> {
    match workspace.file_type(place) {
        Ok(FileType::Directory) => Ok(()),
        Ok(_) => Err(ToolError::new(
            ErrorKind::SearchPathNotADirectory,
            format!("{} is not a directory.", place.path().display()),
        )
        .with_hint("Give the directory to search in.")),
        Err(mut e) => {
            if e.kind == ErrorKind::FileNotFound {
                e.kind = ErrorKind::SearchPathNotFound;
            }
            Err(e)
        }
    }
}

/// A file that matches.
struct GlobMatch {
    /// Nanoseconds; only for files changed within a day, else `None`.
    changed: Option<i128>,
    from: usize,
    to: usize,
}

struct Finder<'a> {
    call: &'a Call,
    place: &'a WorkspacePath,
    /// Files changed after this second are recent.
    recent_after: i64,
    paths: Vec<u8>,
    hits: Vec<GlobMatch>,
    git: usize,
    gemini: usize,
    /// Memory for the paths of all workers, in bytes.
    taken: &'a AtomicUsize,
}

impl Finder<'_> {
    fn stat(&self, found: &WalkEntry<'_>) -> Option<Stat> {
        match found.file_type {
            FileType::RegularFile => {
                rustix::fs::statat(found.dir, found.name, AtFlags::SYMLINK_NOFOLLOW).ok()
            }
            // A link counts where it leads to a file of the workspace.
            FileType::Symlink => {
                let target = self.place.join(Path::new(OsStr::from_bytes(found.path)));
                let stat = self.call.workspace.stat(&target).ok()?;
                (FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile).then_some(stat)
            }
            _ => None,
        }
    }

    fn path(&self, hit: &GlobMatch) -> &[u8] {
        &self.paths[hit.from..hit.to]
    }
}

impl Visitor for Finder<'_> {
    fn wants(&self, path: &[u8], name_at: usize) -> bool {
        self.call.set.matches(path, name_at)
    }

    fn visit(&mut self, found: &WalkEntry<'_>) {
        match found.ignored {
            Some(IgnoreSource::Git) => self.git += 1,
            Some(IgnoreSource::Gemini) => self.gemini += 1,
            None => {
                let Some(stat) = self.stat(found) else { return };
                let size = HIT_BYTES + self.place.path().as_os_str().len() + found.path.len();
                if self.taken.fetch_add(size, Ordering::Relaxed) > MAX_BYTES {
                    return;
                }
                let seconds = stat.st_mtime;
                let from = self.paths.len();
                self.paths.extend_from_slice(found.path);
                self.hits.push(GlobMatch {
                    changed: (seconds > self.recent_after).then(|| {
                        i128::from(seconds) * 1_000_000_000 + i128::from(stat.st_mtime_nsec)
                    }),
                    from,
                    to: self.paths.len(),
                });
            }
        }
    }

    fn finish(&mut self) {
        let mut hits = std::mem::take(&mut self.hits);
        hits.sort_unstable_by(|a, b| {
            (b.changed.cmp(&a.changed)).then_with(|| self.path(a).cmp(self.path(b)))
        });
        self.hits = hits;
    }
}

impl ToolInvocation for Call {
    fn describe(&self) -> String {
        let shown: Vec<_> = self
            .places
            .iter()
            .map(|p| show_path(self.workspace.display(p.path())).into_owned())
            .collect();
        format!("Finds `{}` in {}", self.pattern, shown.join(" and "))
    }

    fn locations(&self) -> Vec<Location> {
        let location = |place: &WorkspacePath| Location {
            path: place.path().to_owned(),
            line: None,
        };
        self.places.iter().map(location).collect()
    }

    fn confirmation(&self, _: &Context) -> Result<Confirmation, ToolError> {
        Ok(Confirmation::NotNeeded)
    }

    fn run(mut self: Box<Self>, cx: &Context) -> Result<ToolResult, ToolError> {
        self.prefer_literal_name();
        let now = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .map_or(0, |d| d.as_secs() as i64);
        let enter = |path: &[u8]| self.set.can_match_below(path);
        let mut finders = Vec::new();
        let mut reports = Vec::new();
        let taken = AtomicUsize::new(0);
        for place in &self.places {
            let options = WalkOptions {
                respect: self.respect,
                node_modules: self.node_modules,
                visit_ignored: true,
                enter: &enter,
            };
            let (found, report) = walk(&self.workspace, place, options, &cx.cancel, || Finder {
                call: &self,
                place,
                recent_after: now - RECENT_SECS,
                paths: Vec::new(),
                hits: Vec::new(),
                git: 0,
                gemini: 0,
                taken: &taken,
            })?;
            finders.extend(found);
            reports.push(report);
        }
        if taken.load(Ordering::Relaxed) > MAX_BYTES {
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
        Ok(self.answer(&finders, &reports, cx))
    }
}

impl Call {
    /// Takes a name with brackets or braces as it is if it exists.
    fn prefer_literal_name(&mut self) {
        if !self.pattern.contains(['[', '{', '?', '*', '(']) {
            return;
        }
        let exists = |place: &WorkspacePath| {
            self.workspace
                .file_type(&place.join(Path::new(&self.pattern)))
                .is_ok_and(|t| t == FileType::RegularFile)
        };
        if self.places.iter().any(exists) {
            let mut escaped = String::new();
            for c in self.pattern.chars() {
                if "[]{}()?*\\!,".contains(c) {
                    escaped.push('\\');
                }
                escaped.push(c);
            }
            if let Ok(set) = compile(&escaped, false) {
                self.set = set;
            }
        }
    }

    /// Returns the first line of the answer, which is never cut.
    fn headline(
        &self,
        total: usize,
        finders: &[Finder<'_>],
        reports: &[WalkReport],
        cx: &Context,
    ) -> NamedText {
        let git = finders.iter().map(|f| f.git).sum();
        let gemini = finders.iter().map(|f| f.gemini).sum();
        let mut note = ignored_note(git, gemini);
        if reports.iter().any(|r| r.more_ignored) {
            note.push_str(" or more");
        }
        if let Some(more) = node_modules_note(reports) {
            let parted = if note.is_empty() { "" } else { ", " };
            note.push_str(&format!("{parted}{more}"));
        }
        if !note.is_empty() {
            note = format!(" ({note})");
        }
        let mut text = NamedText::answering(cx);
        let head = if total == 0 {
            "No files found".to_owned()
        } else {
            format!("Found {total} file(s)")
        };
        text.push_str(&format!("{head} matching '{}' within ", self.pattern));
        for (i, place) in self.places.iter().enumerate() {
            text.push_str(if i == 0 { "" } else { " and " });
            text.push_path(place.path());
        }
        text.push_str(&note);
        text.push_str(if total == 0 {
            "."
        } else {
            ", sorted by modification time (newest first):"
        });
        text
    }

    /// Returns the answer with the hits of all workers.
    fn answer(&self, finders: &[Finder<'_>], reports: &[WalkReport], cx: &Context) -> ToolResult {
        let total: usize = finders.iter().map(|f| f.hits.len()).sum();
        let mut text = self.headline(total, finders, reports, cx);
        let room: usize = finders
            .iter()
            .map(|f| f.paths.len() + f.hits.len() * 64)
            .sum();
        text.text.reserve(room);
        let mut places = Vec::new();
        merge(finders, |finder, hit| {
            let directory = finder.place.path();
            text.push_str("\n");
            text.push_path(directory);
            if !text.text.ends_with('/') {
                text.push_looking("/", Look::Path);
            }
            text.push_name(finder.path(hit));
            if cx.places == ResultPlaces::Items {
                let path = directory.join(OsStr::from_bytes(finder.path(hit)));
                places.push(FoundPlace::file(path.as_os_str().as_bytes()));
            }
        });
        super::push_unreadable(&mut text, reports);
        let mut result = ToolResult::named(text)
            .with_display(format!(
                "Found {}",
                gemini_tools_core::text::counted(total, "file")
            ))
            .with_data("files", total);
        result.locations = (cx.places == ResultPlaces::Items).then_some(places);
        result
    }
}

/// Merges the hits of all workers in order; each worker's own are sorted.
fn merge<'a>(finders: &'a [Finder<'a>], mut f: impl FnMut(&'a Finder<'a>, &'a GlobMatch)) {
    let mut heads: Vec<(
        &Finder<'_>,
        std::slice::Iter<'_, GlobMatch>,
        Option<&GlobMatch>,
    )> = finders
        .iter()
        .map(|finder| {
            let mut hits = finder.hits.iter();
            let head = hits.next();
            (finder, hits, head)
        })
        .collect();
    loop {
        let first = heads
            .iter_mut()
            .filter_map(|(finder, hits, head)| (*head).map(|hit| (*finder, hit, hits, head)))
            .min_by(|(fa, a, ..), (fb, b, ..)| {
                (b.changed.cmp(&a.changed))
                    .then_with(|| fa.place.path().cmp(fb.place.path()))
                    .then_with(|| fa.path(a).cmp(fb.path(b)))
            });
        let Some((finder, hit, hits, head)) = first else {
            return;
        };
        f(finder, hit);
        *head = hits.next();
    }
}
