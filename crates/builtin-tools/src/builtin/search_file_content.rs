//! `search_file_content`: finds lines of files by a regular expression.

use super::definitions::Definitions;
use super::near_names::{NearNames, Wanted};
use super::query::{Query, with_literal_hint};
use super::scope::{
    SearchScope, node_modules_note, prefix, push_unreadable, require_directory, with_unreadable,
};
use super::search::{
    Failure, FileSearcher, Hits, MAX_BYTES, MAX_CONTEXT_LINES, SearchRequest, context_lines,
    count_of, is_gone, number, open_found,
};
use super::search_outline::{MAX_WHOLE, Outlined};
use super::syntax::Parser;
use super::{BuiltinTool, ToolEnv};
use gemini_tools_core::colours::Look;
use gemini_tools_core::tool::named::NamedText;
use gemini_tools_core::tool::{
    Cancellation, Confirmation, Context, ErrorKind, FoundPlace, Kind, Limit, Location,
    ResultPlaces, ToolError, ToolInfo, ToolInvocation, ToolResult, Usage,
};
use gemini_tools_workspace::pattern::{PatternSet, excluded, split_list};
use gemini_tools_workspace::walk::{NodeModules, Visitor, WalkEntry, WalkReport};
use gemini_tools_workspace::{Respect, Workspace, WorkspacePath, show_name};
use rustix::fs::FileType;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

const MAX_MATCHES: u64 = 20_000;

const MAX_NAMES_BYTES: usize = 12 * 1024 * 1024;

const NAME_BYTES: usize = 40;

const MAX_BINARY: usize = 10_000;

const MAX_UNREADABLE: usize = 5;

pub(super) static TOOL: BuiltinTool = BuiltinTool {
    name: "search_file_content",
    summary: "Finds lines by regular expression",
    description: "Searches the contents of the project's files for a regular expression, line by \
        line, without regard to case. Gives the matching lines with their numbers, grouped by \
        file. 'include' takes glob patterns such as '*.ts' or 'src/**/*.{c,h}'; '!dist' leaves out \
        a file or directory. Hidden files are searched, ignored ones are not; of binary ones it \
        says only how many match.",
    info: ToolInfo::new("SearchText", Kind::Search)
        .on_this_machine()
        .with_aliases(&["grep_search", "GrepTool", "RipGrepTool"]),
    usage: Usage {
        renamed: &[("dir_path", "path"), ("include_pattern", "include")],
        paths: &["path"],
        limits: &[
            Limit::Count(MAX_MATCHES).of("matching lines, where `total_max_matches` is missing"),
            Limit::Count(MAX_WHOLE).of("matching lines in several files that a model gets all"),
            Limit::Bytes(MAX_BYTES as u64).of("lines that are shown, with 64 bytes for each"),
            Limit::Count(MAX_CONTEXT_LINES).of("lines of `context`, `before` and `after`"),
            Limit::Count(super::query::MAX_PATTERN_BYTES as u64).of("an expression, in bytes"),
            Limit::Count(super::query::MAX_CHARS)
                .of("the same in characters, repetitions written out"),
            Limit::Bytes(super::query::PROGRAM_BYTES as u64).of("the program of an expression"),
            Limit::Bytes(super::search::MAX_LINE_BYTES as u64)
                .of("a line, with the lines of `before`, in a file of 256 KiB or more"),
            Limit::Bytes(super::near_names::READ_BYTES as u64)
                .of("files that are read for names like those of a pattern without a match"),
        ],
        examples: &[
            "call_tool search_file_content 'TODO|FIXME' include='*.rs' context=1",
            "call_tool search_file_content 'main(' fixed_strings=true names_only=true",
        ],
        errors: &[
            ErrorKind::InvalidToolParams
                .when("`pattern` is not a valid regular expression; the message shows where"),
            ErrorKind::SearchPathNotFound.when("`path` does not exist"),
            ErrorKind::PathNotInWorkspace.when("`path` is outside"),
            ErrorKind::PermissionDenied.when("`path` is a file that `.geminiignore` excludes"),
        ],
        ..Usage::NONE
    },
};

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Params {
    /// The regular expression, such as "function\s+\w+". Look-around works.
    pattern: String,
    /// The directory or file to search in. Default: the project's root.
    path: Option<String>,
    /// Glob patterns of the files to search, separated by commas. Default: all files.
    include: Option<String>,
    /// A regular expression; a line that matches it as well is left out, as in Gemini CLI 0.61.
    #[cfg_attr(test, schemars(extend("undeclared" = true)))]
    exclude_pattern: Option<String>,
    /// Only names the files that match.
    #[cfg_attr(test, schemars(extend("undeclared" = true)))]
    names_only: Option<bool>,
    /// Whether upper and lower case differ. Default: false.
    #[cfg_attr(test, schemars(extend("undeclared" = true)))]
    case_sensitive: Option<bool>,
    /// Takes the pattern literally.
    #[cfg_attr(test, schemars(extend("undeclared" = true)))]
    fixed_strings: Option<bool>,
    /// How many lines to show before and after each match.
    #[cfg_attr(test, schemars(extend("undeclared" = true)))]
    context: Option<f64>,
    /// How many lines to show before each match.
    #[cfg_attr(test, schemars(extend("undeclared" = true)))]
    before: Option<f64>,
    /// How many lines to show after each match.
    #[cfg_attr(test, schemars(extend("undeclared" = true)))]
    after: Option<f64>,
    /// Searches `node_modules` and what git's ignore files name, too.
    #[cfg_attr(test, schemars(extend("undeclared" = true)))]
    no_ignore: Option<bool>,
    /// The most matching lines of one file.
    #[cfg_attr(test, schemars(extend("undeclared" = true)))]
    max_matches_per_file: Option<f64>,
    /// The most matching lines of the call.
    #[cfg_attr(test, schemars(extend("undeclared" = true)))]
    total_max_matches: Option<f64>,
    /// Only gives what is defined under a name that matches, with its lines; if nothing is, the
    /// matching lines.
    #[cfg_attr(test, schemars(extend("undeclared" = true)))]
    definitions: Option<bool>,
}

/// A call of the tool. `single` is set if `path` names a file, which is then the only place in
/// `scope`. `exclude` has those of the patterns of `include` that were given with an exclamation
/// mark, and `filter` is that argument as it was given. `most_whole` is the number of matches up to
/// which a model gets all lines; it is unlimited if the call has a limit of its own. `parser` finds
/// definitions, if the call asks for them, and `names` is the pattern for their names, while
/// `query` finds the lines that may have one.
pub(super) struct Call {
    scope: SearchScope,
    single: bool,
    pattern: String,
    is_fixed: bool,
    query: Query,
    except: Option<Query>,
    include: PatternSet,
    exclude: PatternSet,
    filter: Option<String>,
    names_only: bool,
    request: SearchRequest,
    most: u64,
    most_whole: u64,
    parser: Option<Parser>,
    names: Option<Query>,
}

pub(super) fn build(params: Params, tool_env: &ToolEnv) -> Result<Call, ToolError> {
    let workspace = &tool_env.workspace;
    if params.pattern.is_empty() {
        return Err(ToolError::invalid("\"pattern\" must not be empty."));
    }
    let fixed = params.fixed_strings.unwrap_or(false);
    let ignore_case = !params.case_sensitive.unwrap_or(false);
    let query = Query::new("pattern", &params.pattern, ignore_case, fixed)
        .map_err(|e| with_literal_hint(e, &params.pattern))?;
    let lines = without_anchors(&params.pattern);
    let is_for_names = params.definitions == Some(true) && !fixed && lines != params.pattern;
    let (query, names) = if is_for_names {
        let lines = Query::new("pattern", &lines, ignore_case, false)?;
        (lines, Some(query))
    } else {
        (query, None)
    };
    let except = match params.exclude_pattern.as_deref() {
        None | Some("") => None,
        Some(pattern) => Some(Query::new("exclude_pattern", pattern, ignore_case, false)?),
    };
    let (places, single) = places(workspace, params.path.as_deref())?;
    let list = split_list(params.include.as_deref().unwrap_or_default());
    let (mut include, exclude) = include_and_exclude(&list, workspace, &places)?;
    if single {
        include = PatternSet::default();
    }
    let most = number("total_max_matches", params.total_max_matches, 1)?.unwrap_or(MAX_MATCHES);
    let names_only = params.names_only.unwrap_or(false);
    let request = request(&params, names_only, most)?;
    let respect = Respect {
        git: !params.no_ignore.unwrap_or(false),
        gemini: true,
    };
    let included = list.into_iter().filter(|part| excluded(part).is_none());
    let node_modules = NodeModules::asked_by(included, params.path.as_deref(), respect.git);
    Ok(Call {
        scope: SearchScope {
            workspace: Arc::clone(workspace),
            places,
            respect,
            node_modules,
        },
        single,
        pattern: params.pattern,
        is_fixed: fixed,
        query,
        except,
        include,
        exclude,
        filter: params.include,
        names_only,
        request,
        most,
        most_whole: match params.total_max_matches.or(params.max_matches_per_file) {
            Some(_) => u64::MAX,
            None => MAX_WHOLE,
        },
        parser: (params.definitions == Some(true)).then(|| Parser::new(tool_env)),
        names,
    })
}

/// Returns a pattern for the lines that may contain a matching name. Within a line, a name begins
/// and ends at the edge of a word, so the anchors `^` and `$` are replaced by `\b`.
fn without_anchors(pattern: &str) -> String {
    let mut lines = String::new();
    let mut rest = pattern.chars().peekable();
    let mut before = '|';
    while let Some(c) = rest.next() {
        let is_end = rest.peek().is_none_or(|next| matches!(next, '|' | ')'));
        match (before, c) {
            ('|' | '(', '^') => lines.push_str(r"\b"),
            (_, '$') if before != '\\' && is_end => lines.push_str(r"\b"),
            _ => lines.push(c),
        }
        before = if before == '\\' { ' ' } else { c };
    }
    lines
}

fn places(
    workspace: &Workspace,
    path: Option<&str>,
) -> Result<(Vec<WorkspacePath>, bool), ToolError> {
    let Some(path) = path.filter(|path| !path.is_empty()) else {
        return Ok((workspace.root_places(), false));
    };
    let place = workspace.locate(path)?;
    let file_type = workspace.file_type(&place);
    let is_file = file_type.is_ok_and(|t| t == FileType::RegularFile);
    if !is_file {
        require_directory(workspace, &place)?;
    }
    Ok((vec![place], is_file))
}

fn request(params: &Params, names_only: bool, most: u64) -> Result<SearchRequest, ToolError> {
    let per_file = number("max_matches_per_file", params.max_matches_per_file, 1)?;
    let context = context_lines("context", params.context)?.unwrap_or(0);
    // One match more than is shown, to learn whether there are more.
    let most = per_file.unwrap_or(u64::MAX).min(most.saturating_add(1));
    Ok(SearchRequest {
        before: context_lines("before", params.before)?.unwrap_or(context),
        after: context_lines("after", params.after)?.unwrap_or(context),
        most: if names_only { 1 } else { most },
        lines: !names_only,
        places: ResultPlaces::Unwanted,
    })
}

fn include_and_exclude(
    list: &[&str],
    workspace: &Workspace,
    places: &[WorkspacePath],
) -> Result<(PatternSet, PatternSet), ToolError> {
    let include = list.iter().filter(|pattern| excluded(pattern).is_none());
    let exclude = list.iter().filter_map(|pattern| excluded(pattern));
    let exclude = exclude.map(|pattern| pattern.strip_suffix('/').unwrap_or(pattern));
    let include = super::scope::patterns(workspace, include, places)?;
    let exclude = super::scope::patterns(workspace, exclude, places)?;
    Ok((
        PatternSet::for_names_or_paths(include, false)?,
        PatternSet::for_names_or_paths(exclude, false)?,
    ))
}

/// What was found so far. `files` are those with matches, by their names, which are relative to the
/// first root if they are below it, otherwise absolute; the matches themselves are kept only if
/// lines are shown. `is_cut` is set once files were dropped at the limits: then no file can be
/// shown whose name sorts behind the last one that is kept. `unreadable` has the reasons why files
/// could not be searched.
#[derive(Default)]
struct Results {
    files: BTreeMap<Vec<u8>, Option<Box<Hits>>>,
    matches: u64,
    bytes: usize,
    is_cut: bool,
    binary: BTreeSet<Vec<u8>>,
    unreadable: BTreeMap<Vec<u8>, String>,
    has_searched: bool,
    failed: Option<ToolError>,
}

impl Results {
    /// Adds the matches of a file, and drops files that can't be shown any more. In whatever order
    /// files arrive, those whose names sort first are kept, up to the limits of matches and bytes.
    fn add(&mut self, name: Vec<u8>, hits: Hits, call: &Call) {
        if hits.is_binary {
            self.binary.insert(name);
            return;
        }
        let hits = (!call.names_only).then(|| Box::new(hits));
        self.matches += count_of(hits.as_deref());
        self.bytes += size_of_file(&name, hits.as_deref());
        self.files.insert(name, hits);
        let (most, room) = call.room();
        while let Some(last) = self.files.last_entry() {
            let matches = self.matches - count_of(last.get().as_deref());
            let bytes = self.bytes - size_of_file(last.key(), last.get().as_deref());
            if matches <= most && bytes <= room {
                break;
            }
            last.remove();
            (self.matches, self.bytes, self.is_cut) = (matches, bytes, true);
        }
    }

    /// Returns the name behind which no file can be shown any more, so that such files need not be
    /// searched; `None` as long as no file was dropped.
    fn cutoff(&self) -> Option<&[u8]> {
        let last = self.files.last_key_value().filter(|_| self.is_cut)?;
        Some(last.0)
    }

    /// Forgets binary and unreadable files whose names sort behind the last file that can be shown.
    /// Whether such a file was searched before the limit was reached depends on the order in which
    /// threads search, so the answer would differ from call to call.
    fn forget_beyond_cutoff(&mut self) {
        if let Some(cutoff) = self.cutoff().map(<[u8]>::to_vec) {
            self.binary.retain(|name| *name <= cutoff);
            self.unreadable.retain(|name, _| *name <= cutoff);
        }
    }

    fn push_left_out(&self, text: &mut NamedText) {
        if !self.binary.is_empty() {
            let files = super::counted(self.binary.len(), "binary file");
            text.push_str(&format!("\n({files} with matches not shown.)"));
        }
        if self.unreadable.is_empty() {
            return;
        }
        let files = super::counted(self.unreadable.len(), "file");
        text.push_str(&format!("\n({files} could not be read"));
        let told = self.unreadable.iter().take(MAX_UNREADABLE);
        for (i, (name, reason)) in told.enumerate() {
            text.push_str(if i == 0 { ": " } else { "; " });
            text.push_name(name);
            text.push_str(&format!(": {reason}"));
        }
        text.push_str(if self.unreadable.len() > MAX_UNREADABLE {
            "; …)"
        } else {
            ")"
        });
    }
}

fn size_of_file(name: &[u8], hits: Option<&Hits>) -> usize {
    let hits = hits.map_or(0, |hits| size_of::<Hits>() + hits.bytes);
    NAME_BYTES + name.len() + hits
}

struct Finder<'a> {
    call: &'a Call,
    prefix: Vec<u8>,
    searcher: FileSearcher<'a>,
    kept: &'a Mutex<Results>,
}

impl<'a> Finder<'a> {
    fn new(
        call: &'a Call,
        place: &WorkspacePath,
        kept: &'a Mutex<Results>,
        cancel: &'a Cancellation,
    ) -> Self {
        Self {
            call,
            prefix: prefix(&call.scope.workspace, place),
            searcher: FileSearcher::new(&call.query, call.except.as_ref(), cancel, call.request),
            kept,
        }
    }

    fn kept(&self) -> MutexGuard<'_, Results> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn search(&mut self, file: std::io::Result<File>, name: impl FnOnce(&Self) -> Vec<u8>) {
        let mut file = match file {
            Ok(file) => file,
            Err(e) if is_gone(&e) => return,
            Err(e) => {
                self.kept().unreadable.insert(name(self), e.to_string());
                return;
            }
        };
        match self.searcher.search(&mut file) {
            Ok(None) => {}
            Ok(Some(mut hits)) => {
                let name = name(self);
                let mut kept = self.kept();
                if let Some(reason) = hits.unsearched.take() {
                    kept.unreadable.insert(name.clone(), reason);
                }
                if hits.count > 0 {
                    kept.add(name, hits, self.call);
                }
            }
            Err(Failure::Read(e)) if !self.call.single && is_gone(&e) => {}
            // If one file can't be read, the search of the others goes on. The answer says so.
            Err(Failure::Read(e)) if !self.call.single => {
                self.kept().unreadable.insert(name(self), e.to_string());
            }
            Err(e) => self.kept().failed = Some(e.into_error()),
        }
    }
}

impl Visitor for Finder<'_> {
    fn wants(&self, path: &[u8], name_at: usize) -> bool {
        self.call.wants(path, name_at)
    }

    fn enters(&self, path: &[u8], name_at: usize) -> bool {
        self.call.enters(path, name_at)
    }

    fn visit(&mut self, found: &WalkEntry<'_>) {
        if found.file_type != FileType::RegularFile {
            return;
        }
        let mut kept = self.kept();
        kept.has_searched = true;
        let is_beyond = kept.cutoff().is_some_and(|cutoff| {
            let cutoff = cutoff.strip_prefix(self.prefix.as_slice());
            cutoff.is_some_and(|cutoff| found.path > cutoff)
        });
        if is_beyond || kept.failed.is_some() {
            return;
        }
        drop(kept);
        self.search(open_found(found), |this| {
            [&this.prefix, found.path].concat()
        });
    }
}

struct NameFinder<'a> {
    call: &'a Call,
    wanted: &'a Wanted,
    names: NearNames<'a>,
}

impl Visitor for NameFinder<'_> {
    fn wants(&self, path: &[u8], name_at: usize) -> bool {
        self.call.wants(path, name_at)
    }

    fn enters(&self, path: &[u8], name_at: usize) -> bool {
        !self.wanted.is_done() && self.call.enters(path, name_at)
    }

    fn visit(&mut self, found: &WalkEntry<'_>) {
        if found.file_type != FileType::RegularFile || self.wanted.is_done() {
            return;
        }
        if let Ok(file) = open_found(found) {
            self.names.read(file);
        }
    }
}

impl ToolInvocation for Call {
    fn describe(&self) -> String {
        let filter = self
            .filter
            .as_ref()
            .map(|f| format!(" in files like `{f}`"))
            .unwrap_or_default();
        format!(
            "Searches for `{}`{filter} in {}",
            self.pattern,
            self.scope.describe()
        )
    }

    fn locations(&self) -> Vec<Location> {
        self.scope.locations()
    }

    fn confirmation(&self, _: &Context) -> Result<Confirmation, ToolError> {
        Ok(Confirmation::NotNeeded)
    }

    fn run(mut self: Box<Self>, cx: &Context) -> Result<ToolResult, ToolError> {
        self.request.places = cx.view.places;
        let (mut kept, mut report) = self.search(cx)?;
        if let Some(parser) = &self.parser {
            let (workspace, files) = (&self.scope.workspace, kept.files.keys());
            let names = self.names.as_ref().unwrap_or(&self.query);
            let found = Definitions::find(parser, workspace, names, files);
            if let Some(answer) = found.answer(&self.pattern, kept.matches, kept.is_cut, cx) {
                return Ok(answer);
            }
        }
        if let Some(lines) = self.names.take() {
            self.query = lines;
            (kept, report) = self.search(cx)?;
        }
        let has_searched = self.single || kept.has_searched;
        // Only a text says which names are near, and to find them costs a second walk.
        let is_text = cx.view.places == ResultPlaces::Unwanted;
        let is_nothing = kept.files.is_empty() && kept.binary.is_empty();
        let is_sought = is_text && is_nothing && self.except.is_none();
        let nearest = if is_sought && has_searched {
            self.nearest_names(cx)?
        } else {
            Vec::new()
        };
        let near = if has_searched {
            None
        } else {
            let filter = self.filter.as_deref();
            Some(self.scope.nothing_searched(filter, &cx.cancel)?)
        };
        let result = self.answer(kept, &report, &nearest, near, cx);
        Ok(match &self.filter {
            Some(filter) if !has_searched => result.with_data("unmatchedInclude", filter.as_str()),
            _ => result,
        })
    }
}

impl Call {
    fn search(&self, cx: &Context) -> Result<(Results, WalkReport), ToolError> {
        let kept = Mutex::default();
        let report = if self.single {
            self.search_file(&kept, cx)?;
            WalkReport::default()
        } else {
            let finder = |place| Finder::new(self, place, &kept, &cx.cancel);
            self.scope.walk(false, &cx.cancel, finder)?.1
        };
        let mut kept = kept.into_inner().unwrap_or_else(PoisonError::into_inner);
        match kept.failed.take() {
            Some(e) => Err(e),
            None => Ok((kept, report)),
        }
    }

    fn wants(&self, path: &[u8], name_at: usize) -> bool {
        (self.include.is_empty() || self.include.matches(path, name_at))
            && !self.exclude.matches(path, name_at)
    }

    fn enters(&self, path: &[u8], name_at: usize) -> bool {
        (self.include.is_empty() || self.include.can_match_below(path))
            && !self.exclude.matches(path, name_at)
    }

    fn nearest_names(&self, cx: &Context) -> Result<Vec<String>, ToolError> {
        let Some(wanted) = Wanted::new(&self.pattern, self.is_fixed) else {
            return Ok(Vec::new());
        };
        if self.single {
            let mut names = NearNames::new(&wanted);
            names.read(self.scope.workspace.open_file(&self.scope.places[0])?.file);
            return Ok(NearNames::nearest(vec![names]));
        }
        let finder = |_| NameFinder {
            call: self,
            wanted: &wanted,
            names: NearNames::new(&wanted),
        };
        let (finders, _) = self.scope.walk(false, &cx.cancel, finder)?;
        let names = finders.into_iter().map(|finder| finder.names).collect();
        Ok(NearNames::nearest(names))
    }

    fn room(&self) -> (u64, usize) {
        if self.names_only {
            (u64::MAX, MAX_NAMES_BYTES)
        } else {
            (self.most, MAX_BYTES)
        }
    }

    fn search_file(&self, kept: &Mutex<Results>, cx: &Context) -> Result<(), ToolError> {
        let SearchScope {
            workspace, places, ..
        } = &self.scope;
        let place = &places[0];
        let open = workspace.open_file(place)?;
        workspace.check_gemini_ignore(place)?;
        let mut finder = Finder::new(self, place, kept, &cx.cancel);
        let name = workspace.display(place.path()).as_os_str();
        finder.search(Ok(open.file), |_| name.as_bytes().to_vec());
        Ok(())
    }

    fn answer(
        &self,
        mut kept: Results,
        report: &WalkReport,
        nearest: &[String],
        near: Option<String>,
        cx: &Context,
    ) -> ToolResult {
        kept.forget_beyond_cutoff();
        let mut shown = self.show(&kept, cx);
        let notes = self.notes(&kept, report, (nearest, near), &shown, cx);
        let (text, outline) = self.text(&kept, &mut shown, notes, cx);
        let summary = format!("Found {}", super::counted(shown.matches as usize, "match"));
        let mut result = ToolResult::named(text)
            .with_display(summary)
            .with_data("matches", shown.matches)
            .with_data("files", shown.files)
            .with_data("limited", shown.is_cut);
        if !kept.binary.is_empty() {
            let names = kept.binary.iter().take(MAX_BINARY);
            let names: Vec<_> = names.map(|name| show_name(name)).collect();
            result = result.with_data("binaryFiles", names);
        }
        if !nearest.is_empty() {
            result = result.with_data("nearestNames", nearest.to_vec());
        }
        result = with_unreadable(result, report, &kept.unreadable);
        result.locations = self.request.has_places().then_some(shown.locations);
        result.view.outline = outline;
        result
    }

    /// Returns the text of the answer with the matches that `shown` has, and a shorter one if it is
    /// too long.
    fn text(
        &self,
        kept: &Results,
        shown: &mut ShownMatches,
        notes: NamedText,
        cx: &Context,
    ) -> (NamedText, Option<String>) {
        let has_lines = shown.files > 0 && !self.names_only;
        let (matches, is_cut) = (shown.matches, shown.is_cut);
        let headline = || {
            let mut text = self.headline(matches, is_cut, cx);
            text.push_str(if has_lines { "---\n" } else { "" });
            text
        };
        let outline = |ways| {
            let mut text = headline();
            let outlined = Outlined {
                files: &kept.files,
                most_of_file: self.request.most.min(self.most),
                is_cut: kept.is_cut,
            };
            outlined.push_to(&mut text, &self.query, ways);
            text
        };
        let can_be_outlined = has_lines && kept.files.len() > 1;
        let is_long = matches > self.most_whole && cx.view.condenses;
        if is_long && can_be_outlined {
            let mut text = outline("'path' or 'total_max_matches'");
            text.append(notes);
            return (text, None);
        }
        let mut text = headline();
        let end = notes.text.clone();
        text.append(std::mem::take(&mut shown.text));
        text.append(notes);
        let limit = cx.view.limit_chars.filter(|_| can_be_outlined);
        let is_over = limit.is_some_and(|limit| text.text.chars().nth(limit).is_some());
        let shorter = is_over.then(|| outline("'path'").text + &end);
        (text, shorter)
    }

    /// Returns the notes that follow the matches. If nothing was found, `nearest` has similar
    /// names, and `near` says how many files more lenient patterns would find.
    fn notes(
        &self,
        kept: &Results,
        report: &WalkReport,
        (nearest, near): (&[String], Option<String>),
        shown: &ShownMatches,
        cx: &Context,
    ) -> NamedText {
        let mut text = NamedText::answering(cx);
        let mut note = |note: String| text.push_str(&format!("\n({note})"));
        if let Some(near) = near {
            note(near);
        }
        if let Some(reading) = &self.query.note {
            note(format!("In the pattern {reading}."));
        }
        if !nearest.is_empty() {
            let names: Vec<String> = nearest.iter().map(|name| format!("`{name}`")).collect();
            note(format!(
                "Names like it in these files: {}.",
                names.join(", ")
            ));
        }
        if shown.is_cut {
            note("Narrow the search to see other matches.".to_owned());
        }
        if shown.is_cut_in_file && self.request.most <= self.most {
            let most = self.request.most;
            note(format!("Matches shown of each file: at most {most}."));
        }
        if let Some(modules) = node_modules_note(report) {
            note(format!(
                "{modules}; name it in 'include' or 'path' to search it."
            ));
        }
        kept.push_left_out(&mut text);
        push_unreadable(&mut text, report);
        text
    }

    fn show(&self, kept: &Results, cx: &Context) -> ShownMatches {
        let (most, room) = self.room();
        let mut shown = ShownMatches {
            text: NamedText::answering(cx),
            is_cut: kept.is_cut,
            ..ShownMatches::default()
        };
        for (name, hits) in &kept.files {
            if shown.matches >= most || shown.text.text.len() > room {
                shown.is_cut = true;
                break;
            }
            shown.files += 1;
            if let Some(hits) = hits {
                shown.push_file(name, hits, self);
            } else {
                shown.matches += 1;
                shown.text.push_name(name);
                shown.text.push_str("\n");
                if self.request.has_places() {
                    shown.locations.push(FoundPlace::file(name.as_slice()));
                }
            }
        }
        shown
    }

    fn headline(&self, matches: u64, is_cut: bool, cx: &Context) -> NamedText {
        let pattern = &self.pattern;
        let noun = match matches {
            0 => "No matches found".to_owned(),
            _ if self.names_only => format!("Found {matches} file(s) with matches"),
            _ => format!("Found {}", super::counted(matches, "match")),
        };
        let mut line = NamedText::answering(cx);
        line.push_str(&format!("{noun} for pattern \"{pattern}\" "));
        match self.scope.places.as_slice() {
            [one] if one.path() == self.scope.workspace.root() => {
                line.push_str("in the workspace directory");
            }
            places => {
                line.push_str("in path \"");
                for (i, place) in places.iter().enumerate() {
                    line.push_str(if i == 0 { "" } else { "\" and \"" });
                    line.push_path(self.scope.workspace.display(place.path()));
                }
                line.push_str("\"");
            }
        }
        if let Some(filter) = &self.filter {
            line.push_str(&format!(" (filter: \"{filter}\")"));
        }
        if is_cut && matches > 0 && !self.names_only {
            // This is Gemini CLI's wording, which has no singular.
            line.push_str(&format!(" (results limited to {matches} matches)"));
        }
        line.push_str(if matches == 0 { "." } else { ":\n" });
        line
    }
}

/// The matches of an answer. `is_cut` is set if it lacks some, and `is_cut_in_file` if it lacks
/// matches of a file that it shows.
#[derive(Default)]
struct ShownMatches {
    text: NamedText,
    matches: u64,
    files: usize,
    locations: Vec<FoundPlace>,
    is_cut: bool,
    is_cut_in_file: bool,
}

impl ShownMatches {
    fn push_file(&mut self, name: &[u8], hits: &Hits, call: &Call) {
        self.is_cut |= hits.count > call.most - self.matches;
        self.is_cut |= hits.is_cut && hits.count < call.request.most;
        self.is_cut_in_file |= hits.is_cut;
        let path: Arc<[u8]> = name.into();
        let body = &mut self.text;
        body.push_str("File: ");
        body.push_name(name);
        body.push_str("\n");
        let mut previous = None;
        for line in &hits.lines {
            if line.is_match {
                if self.matches == call.most {
                    break;
                }
                self.matches += 1;
                if call.request.has_places() {
                    self.locations.push(FoundPlace {
                        file: Arc::clone(&path),
                        line: Some(line.number),
                        column: line.column,
                        end_column: line.end_column,
                        text: Some(line.text.clone()),
                    });
                }
            }
            // A gap between groups of context lines is marked, as grep does.
            if hits.lines.len() as u64 > hits.count && previous.is_some_and(|n| n + 1 < line.number)
            {
                body.push_str("--\n");
            }
            previous = Some(line.number);
            body.push_str("L");
            body.push_looking(&line.number.to_string(), Look::LineNumber);
            body.push_str(if line.is_match { ": " } else { "- " });
            let text = &*line.text;
            let mut done = 0;
            if line.is_match && body.has_looks() {
                // If the engine gives up on this line, its matches are not marked.
                for found in call.query.find_all(text.as_bytes()).unwrap_or_default() {
                    body.push_str(&text[done..found.start()]);
                    body.push_looking(&text[found.start()..found.end()], Look::Match);
                    done = found.end();
                }
            }
            body.push_str(&text[done..]);
            body.push_str("\n");
        }
        body.push_str("---\n");
    }
}

#[cfg(test)]
mod tests;
