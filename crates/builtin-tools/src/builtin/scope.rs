//! The directories that `glob` and `search_file_content` search.

use super::locations;
use gemini_tools_core::text::line_name;
use gemini_tools_core::tool::named::NamedText;
use gemini_tools_core::tool::{Cancellation, ErrorKind, Location, ToolError, ToolResult};
use gemini_tools_workspace::pattern::{PatternSet, excluded, split_list};
use gemini_tools_workspace::walk::{
    MAX_NAMED, NodeModules, Visitor, WalkEntry, WalkOptions, WalkReport, walk,
};
use gemini_tools_workspace::{Respect, Workspace, WorkspacePath};
use rustix::fs::FileType;
use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

/// Where a search looks, and which ignore files count. There are several `places` if the workspace
/// has several roots and the call gives no path.
pub(super) struct SearchScope {
    pub(super) workspace: Arc<Workspace>,
    pub(super) places: Vec<WorkspacePath>,
    pub(super) respect: Respect,
    pub(super) node_modules: NodeModules,
}

impl SearchScope {
    pub(super) fn describe(&self) -> String {
        let names = self
            .places
            .iter()
            .map(|place| self.workspace.display_name(place));
        names.collect::<Vec<_>>().join(" and ")
    }

    /// Returns the path to put before the names of the files that are found at a place; `None` if
    /// the place is the first root.
    pub(super) fn above<'p>(&self, place: &'p WorkspacePath) -> Option<&'p Path> {
        let is_root = place.path() == self.workspace.root();
        (!is_root).then(|| self.workspace.display(place.path()))
    }

    pub(super) fn has_place_below_root(&self) -> bool {
        let mut starts = self.places.iter().filter_map(|place| self.above(place));
        starts.any(Path::is_relative)
    }

    pub(super) fn locations(&self) -> Vec<Location> {
        self.places.iter().flat_map(locations).collect()
    }

    pub(super) fn walk<'p, V: Visitor>(
        &'p self,
        visit_ignored: bool,
        cancel: &Cancellation,
        make: impl Fn(&'p WorkspacePath) -> V + Sync,
    ) -> Result<(Vec<V>, WalkReport), ToolError> {
        let options = WalkOptions {
            respect: self.respect,
            node_modules: self.node_modules,
            visit_ignored,
        };
        let mut visitors = Vec::new();
        let mut all = WalkReport::default();
        for place in &self.places {
            let (found, report) = walk(&self.workspace, place, options, cancel, || make(place))?;
            visitors.extend(found);
            all.unreadable += report.unreadable;
            all.unreadable_places.extend(report.unreadable_places);
            all.more_ignored |= report.more_ignored;
            all.node_modules += report.node_modules;
        }
        Ok((visitors, all))
    }
}

struct Count<'a> {
    set: &'a PatternSet,
    files: [usize; 2],
}

impl Visitor for Count<'_> {
    fn wants(&self, path: &[u8], name_at: usize) -> bool {
        self.set.matches(path, name_at)
    }

    fn enters(&self, path: &[u8], _: usize) -> bool {
        self.set.can_match_below(path)
    }

    fn visit(&mut self, found: &WalkEntry<'_>) {
        let is_file = found.file_type == FileType::RegularFile;
        self.files[usize::from(found.ignored.is_some())] += usize::from(is_file);
    }
}

impl SearchScope {
    /// Says how many files a search would find with more lenient patterns, after its own have
    /// matched none. Each of `ways` has such patterns and words that describe them. The first that
    /// finds files, ignored or not, decides. Returns `None` if none of them does.
    pub(super) fn near_files(
        &self,
        ways: &[(String, PatternSet)],
        cancel: &Cancellation,
    ) -> Result<Option<String>, ToolError> {
        for (way, set) in ways {
            let count = |_| Count { set, files: [0; 2] };
            let (counts, _) = self.walk(true, cancel, count)?;
            for (at, noun) in ["file", "ignored file"].into_iter().enumerate() {
                let files: usize = counts.iter().map(|count| count.files[at]).sum();
                if files > 0 {
                    let files = super::counted(files, noun);
                    return Ok(Some(format!("{files} {way}").trim_end().to_owned()));
                }
            }
        }
        Ok(None)
    }

    /// Says that no file was searched, and how many there would be without ignore files, or if
    /// `filter`, a list of patterns that match no file, were read more leniently.
    pub(super) fn nothing_searched(
        &self,
        filter: Option<&str>,
        cancel: &Cancellation,
    ) -> Result<String, ToolError> {
        let Some(filter) = filter else {
            let all = PatternSet::for_names_or_paths(["*"], false)?;
            let found = self.near_files(&[(String::new(), all)], cancel)?;
            return Ok(match found {
                Some(found) => format!("No file was searched; {}.", there_is(&found)),
                None => "No file was searched; there is none.".to_owned(),
            });
        };
        let list = split_list(filter);
        let included = list.iter().filter(|one| excluded(one).is_none());
        let plain: Vec<String> = included.map(|one| (*one).to_owned()).collect();
        let below: Vec<String> = plain.iter().map(|one| format!("**/{one}")).collect();
        let deeper = format!("in subdirectories, as '{}'", below.join(","));
        let mut ways = Vec::new();
        for (way, patterns, ignore_case) in [
            (String::new(), &plain, false),
            ("in another case".to_owned(), &plain, true),
            (deeper, &below, false),
        ] {
            let set = PatternSet::for_names_or_paths(patterns, ignore_case)?;
            ways.push((way, set));
        }
        let found = self.near_files(&ways, cancel)?;
        Ok(match found {
            Some(found) => format!("No file fits the filter; {}.", there_is(&found)),
            None => "No file fits the filter.".to_owned(),
        })
    }
}

fn there_is(found: &str) -> String {
    let verb = if found.starts_with("1 ") { "is" } else { "are" };
    format!("there {verb} {found}")
}

/// Returns the prefix that turns a file's path below `place` into its name in answers.
pub fn prefix(workspace: &Workspace, place: &WorkspacePath) -> Vec<u8> {
    let shown = workspace.display(place.path());
    let mut prefix = shown.as_os_str().as_bytes().to_vec();
    if shown == workspace.root() {
        prefix.clear();
    }
    if !prefix.is_empty() && !prefix.ends_with(b"/") {
        prefix.push(b'/');
    }
    prefix
}

pub(super) fn directory_and_name(path: &[u8]) -> (&[u8], &[u8]) {
    path.split_at(memchr::memrchr(b'/', path).map_or(0, |at| at + 1))
}

pub(super) fn patterns<P: AsRef<str>>(
    workspace: &Workspace,
    patterns: impl IntoIterator<Item = P>,
    places: &[WorkspacePath],
) -> Result<Vec<String>, ToolError> {
    let mut all = Vec::new();
    for pattern in patterns {
        all.extend(workspace.patterns_below(pattern.as_ref(), places)?);
    }
    Ok(all)
}

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
            e.kind = match e.kind {
                ErrorKind::FileNotFound => ErrorKind::SearchPathNotFound,
                ErrorKind::PathIsNotADirectory => ErrorKind::SearchPathNotADirectory,
                other => other,
            };
            Err(workspace.with_nearest(e, place))
        }
    }
}

pub(super) fn ignored_note(git: usize, gemini: usize) -> String {
    let part = |n: usize, who: &str| (n > 0).then(|| format!("{n} {who}-ignored"));
    let parts = [part(git, "git"), part(gemini, "gemini")];
    let parts: Vec<_> = parts.into_iter().flatten().collect();
    parts.join(", ")
}

pub(super) fn node_modules_note(report: &WalkReport) -> Option<String> {
    let directories = super::counted(report.node_modules, "node_modules directory");
    (report.node_modules > 0).then(|| format!("{directories} left out"))
}

pub(super) fn push_unreadable(text: &mut NamedText, report: &WalkReport) {
    if let Some(example) = report.unreadable_places.values().next() {
        let directories = super::counted(report.unreadable, "directory");
        text.push_str(&format!("\n({directories} could not be read: {example})"));
    }
}

pub(super) fn with_unreadable(
    result: ToolResult,
    report: &WalkReport,
    files: &BTreeMap<Vec<u8>, String>,
) -> ToolResult {
    let unread = report.unreadable + files.len();
    if unread == 0 {
        return result;
    }
    let of_file = |(name, why): (&Vec<u8>, &String)| format!("{}: {why}", line_name(name));
    let directories = report.unreadable_places.values().cloned();
    let files = files.iter().take(MAX_NAMED).map(of_file);
    let places: Vec<_> = files.chain(directories).collect();
    result
        .with_data("unreadable", unread)
        .with_data("unreadablePlaces", places)
}
