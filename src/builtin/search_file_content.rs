//! `search_file_content`: lines of files by a regular expression.

use super::glob::{NEVER, node_modules, require_directory};
use super::search::{Failure, Hits, Query, Searcher, Wanted};
use super::{Declaration, Spec, Surroundings};
use crate::sys::ffi::OsStrExt;
use crate::sys::fs::{FileType, Mode, OFlags};
use crate::tool::named::NamedText;
use crate::tool::{
    Args, Confirmation, Context, Kind, Location, Schema, ToolError, ToolInvocation, ToolResult,
};
use crate::workspace::pattern::{PatternSet, split_list};
use crate::workspace::walk::{Found, NodeModules, Options, Report, Visitor, walk};
use crate::workspace::{Place, Respect, Workspace, show_name, show_path};
use serde::Deserialize;
use serde_json::{Value, json};
use std::fs::File;
use std::sync::Arc;

/// Matching lines that one call gives.
pub(super) const MOST_MATCHES: u64 = 20_000;

/// Text that one call gives, in bytes; beyond it the answer is cut as by the limit of matches.
pub(super) const MOST_BYTES: usize = 8 * 1024 * 1024;

pub(super) const DECLARATION: Declaration = Declaration {
    name: "search_file_content",
    description: "Searches the contents of the project's files for a regular expression, line by \
        line, without regard to case. Gives the matching lines with their numbers, grouped by \
        file. 'include' takes glob patterns such as '*.ts' or 'src/**/*.{c,h}'; '!dist' leaves out \
        a file or directory. Hidden files are searched; binary and ignored ones are not.",
    schema: include_str!("declarations/search_file_content.json"),
    aliases: &["grep_search", "GrepTool", "RipGrepTool"],
    kind: Kind::Search,
    is_idempotent: true,
    is_open_world: false,
    renamed: &[("dir_path", "path"), ("include_pattern", "include")],
};

pub(super) const SPEC: Spec = Spec {
    declaration: &DECLARATION,
    display_name: "SearchText",
    can_update_output: false,
    undeclared: &[
        "exclude_pattern",
        "names_only",
        "count",
        "case_sensitive",
        "fixed_strings",
        "context",
        "before",
        "after",
        "no_ignore",
        "max_matches_per_file",
        "total_max_matches",
    ],
    build,
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
    #[cfg_attr(test, schemars(skip))]
    exclude_pattern: Option<String>,
    #[cfg_attr(test, schemars(skip))]
    names_only: Option<bool>,
    #[cfg_attr(test, schemars(skip))]
    count: Option<bool>,
    #[cfg_attr(test, schemars(skip))]
    case_sensitive: Option<bool>,
    #[cfg_attr(test, schemars(skip))]
    fixed_strings: Option<bool>,
    #[cfg_attr(test, schemars(skip))]
    context: Option<f64>,
    #[cfg_attr(test, schemars(skip))]
    before: Option<f64>,
    #[cfg_attr(test, schemars(skip))]
    after: Option<f64>,
    #[cfg_attr(test, schemars(skip))]
    no_ignore: Option<bool>,
    #[cfg_attr(test, schemars(skip))]
    max_matches_per_file: Option<f64>,
    #[cfg_attr(test, schemars(skip))]
    total_max_matches: Option<f64>,
}

/// What of the matches is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Lines,
    Names,
    Counts,
}

/// What an exclamation mark before a pattern leaves out, with all that is below it.
#[derive(Default)]
struct Excluded {
    any: PatternSet,
    /// Patterns that end in a slash.
    directories: PatternSet,
}

impl Excluded {
    fn file(&self, path: &[u8], name_at: usize) -> bool {
        self.any.matches(path, name_at)
    }

    fn directory(&self, path: &[u8]) -> bool {
        let name_at = path.iter().rposition(|b| *b == b'/').map_or(0, |i| i + 1);
        self.any.matches(path, name_at) || self.directories.matches(path, name_at)
    }
}

struct Call {
    workspace: Arc<Workspace>,
    places: Vec<Place>,
    /// The one file to search, where `path` names a file.
    single: bool,
    pattern: String,
    query: Query,
    /// Lines that this matches are left out.
    except: Option<Query>,
    include: PatternSet,
    exclude: Excluded,
    filter: Option<String>,
    form: Form,
    wanted: Wanted,
    most: u64,
    respect: Respect,
    node_modules: NodeModules,
}

fn build(
    args: Args,
    schema: &Schema,
    Surroundings { workspace, .. }: &Surroundings,
) -> Result<Box<dyn ToolInvocation>, ToolError> {
    let params: Params = args.parse(schema)?;
    if params.pattern.is_empty() {
        return Err(ToolError::invalid("\"pattern\" must not be empty."));
    }
    let fixed = params.fixed_strings.unwrap_or(false);
    let ignore_case = !params.case_sensitive.unwrap_or(false);
    let query = Query::new("pattern", &params.pattern, ignore_case, fixed)?;
    let mut single = false;
    let places = match &params.path {
        None => workspace.root_places(),
        Some(path) => {
            let place = workspace.locate(path)?;
            single = workspace
                .file_type(&place)
                .is_ok_and(|t| t == FileType::RegularFile);
            if !single {
                require_directory(workspace, &place)?;
            }
            vec![place]
        }
    };
    let except = match params.exclude_pattern.as_deref() {
        None | Some("") => None,
        Some(pattern) => Some(Query::new("exclude_pattern", pattern, ignore_case, false)?),
    };
    let (mut include, exclude) = patterns(params.include.as_deref())?;
    if single {
        include = PatternSet::default();
    }
    let form = match (params.names_only, params.count) {
        (Some(true), _) => Form::Names,
        (_, Some(true)) => Form::Counts,
        _ => Form::Lines,
    };
    let most = number("total_max_matches", params.total_max_matches, 1)?.unwrap_or(MOST_MATCHES);
    let per_file = number("max_matches_per_file", params.max_matches_per_file, 1)?;
    let context = number("context", params.context, 0)?.unwrap_or(0);
    // One more than is shown, so that it is known whether more exist.
    let cap = if form == Form::Lines {
        most.saturating_add(1)
    } else {
        u64::MAX
    };
    let wanted = Wanted {
        before: number("before", params.before, 0)?.unwrap_or(context),
        after: number("after", params.after, 0)?.unwrap_or(context),
        most: match (form, per_file) {
            (Form::Names, _) => 1,
            (_, Some(n)) => n.min(cap),
            (_, None) => cap,
        },
        lines: form == Form::Lines,
        columns: false,
    };
    let respect = Respect {
        git: !params.no_ignore.unwrap_or(false),
        gemini: true,
    };
    let included = split_list(params.include.as_deref().unwrap_or_default());
    let included = included.into_iter().filter(|part| !part.starts_with('!'));
    let node_modules = node_modules(included, params.path.as_deref(), respect);
    Ok(Box::new(Call {
        workspace: Arc::clone(workspace),
        places,
        single,
        pattern: params.pattern,
        query,
        except,
        include,
        exclude,
        filter: params.include,
        form,
        wanted,
        most,
        respect,
        node_modules,
    }))
}

/// The patterns of a list, and what those that begin with an exclamation mark leave out.
fn patterns(list: Option<&str>) -> Result<(PatternSet, Excluded), ToolError> {
    let (mut positive, mut negative) = (PatternSet::default(), Excluded::default());
    for pattern in split_list(list.unwrap_or_default()) {
        let (set, pattern) = match pattern.strip_prefix('!') {
            Some(rest) => match rest.strip_suffix('/') {
                Some(directory) => (&mut negative.directories, directory),
                None => (&mut negative.any, rest),
            },
            None => (&mut positive, pattern),
        };
        let more = PatternSet::for_names_or_paths(pattern, false).map_err(ToolError::invalid)?;
        set.extend(more);
    }
    Ok((positive, negative))
}

fn number(name: &str, value: Option<f64>, least: u64) -> Result<Option<u64>, ToolError> {
    match value {
        None => Ok(None),
        Some(n) if n >= least as f64 => Ok(Some(n as u64)),
        Some(n) => Err(ToolError::invalid(format!(
            "\"{name}\" must be at least {least}, but it is {n}."
        ))),
    }
}

/// A file with matches.
struct Matched {
    /// Relative to the first root where it lies below, else absolute.
    name: Vec<u8>,
    hits: Hits,
}

struct Finder<'a> {
    call: &'a Call,
    /// The directory of the walk, as it is shown before each name.
    prefix: Vec<u8>,
    searcher: Searcher<'a>,
    files: Vec<Matched>,
    matches: u64,
    bytes: usize,
    /// Files after this one can't be among those that are shown.
    cutoff: Option<Vec<u8>>,
    /// Binary files with matches, which are not shown.
    binary: Vec<Vec<u8>>,
    unreadable: u64,
    cut: bool,
    failed: Option<ToolError>,
}

impl<'a> Finder<'a> {
    fn new(call: &'a Call, place: &Place) -> Self {
        let shown = call.workspace.display(place.path());
        let mut prefix = if shown == call.workspace.root() {
            Vec::new()
        } else {
            shown.as_os_str().as_bytes().to_vec()
        };
        if !prefix.is_empty() && !prefix.ends_with(b"/") {
            prefix.push(b'/');
        }
        Self {
            call,
            prefix,
            searcher: Searcher::new(&call.query, call.except.as_ref(), call.wanted),
            files: Vec::new(),
            matches: 0,
            bytes: 0,
            cutoff: None,
            binary: Vec::new(),
            unreadable: 0,
            cut: false,
            failed: None,
        }
    }

    fn search(&mut self, file: std::io::Result<File>, name: impl FnOnce(&Self) -> Vec<u8>) {
        let mut file = match file {
            Ok(file) => file,
            // It vanished, or became a link, meanwhile.
            Err(e) if matches!(e.kind(), std::io::ErrorKind::NotFound) => return,
            Err(_) => {
                self.unreadable += 1;
                return;
            }
        };
        match self.searcher.search(&mut file) {
            Ok(None) => {}
            Ok(Some(hits)) if hits.is_binary => {
                let name = name(self);
                self.binary.push(name);
            }
            Ok(Some(hits)) => {
                self.matches += hits.count;
                self.bytes += hits.text.len();
                let name = name(self);
                self.files.push(Matched { name, hits });
                self.prune();
            }
            // One file that can't be read does not spoil the search of many.
            Err(Failure::Read(_)) if !self.call.single => self.unreadable += 1,
            Err(e) => self.failed = Some(e.into_error()),
        }
    }

    /// Forgets what can't be shown. What is kept suffices whatever the other workers find:
    /// the first matches in the order of names, up to both limits.
    fn prune(&mut self) {
        let call = self.call;
        if call.form != Form::Lines
            || (self.matches < call.most.saturating_add(1).saturating_mul(2)
                && self.bytes < 2 * MOST_BYTES)
        {
            return;
        }
        self.files.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        let (mut matches, mut bytes, mut kept) = (0, 0, 0);
        for file in &self.files {
            if matches > call.most || bytes > MOST_BYTES {
                break;
            }
            matches += file.hits.count;
            bytes += file.hits.text.len();
            kept += 1;
        }
        self.files.truncate(kept);
        self.cutoff = self.files.last().map(|file| file.name.clone());
        (self.matches, self.bytes, self.cut) = (matches, bytes, true);
    }
}

impl Visitor for Finder<'_> {
    fn wants(&self, path: &[u8], name_at: usize) -> bool {
        let call = self.call;
        (call.include.is_empty() || call.include.matches(path, name_at))
            && !call.exclude.file(path, name_at)
    }

    fn visit(&mut self, found: &Found<'_>) {
        if found.file_type != FileType::RegularFile || self.failed.is_some() {
            return;
        }
        if let Some(cutoff) = &self.cutoff
            && cutoff
                .strip_prefix(self.prefix.as_slice())
                .is_some_and(|cutoff| found.path > cutoff)
        {
            return;
        }
        let flags =
            OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = crate::sys::fs::openat(found.dir, found.name, flags, Mode::empty());
        self.search(file.map(File::from).map_err(Into::into), |this| {
            [&this.prefix, found.path].concat()
        });
    }

    fn finish(&mut self) {
        self.files.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    }
}

impl ToolInvocation for Call {
    fn describe(&self) -> String {
        let shown: Vec<_> = self
            .places
            .iter()
            .map(|p| show_path(self.workspace.display(p.path())).into_owned())
            .collect();
        let filter = self
            .filter
            .as_ref()
            .map(|f| format!(" in files like `{f}`"))
            .unwrap_or_default();
        format!(
            "Searches for `{}`{filter} in {}",
            self.pattern,
            shown.join(" and ")
        )
    }

    fn locations(&self) -> Vec<Location> {
        let location = |place: &Place| Location {
            path: place.path().to_owned(),
            line: None,
        };
        self.places.iter().map(location).collect()
    }

    fn confirmation(&self, _: &Context) -> Result<Confirmation, ToolError> {
        Ok(Confirmation::NotNeeded)
    }

    fn run(mut self: Box<Self>, cx: &Context) -> Result<ToolResult, ToolError> {
        self.wanted.columns = cx.wants_locations;
        let mut finders = Vec::new();
        let mut reports = Vec::new();
        if self.single {
            let place = &self.places[0];
            let open = self.workspace.open_file(place)?;
            self.workspace.check_gemini_ignore(place)?;
            let mut finder = Finder::new(&self, place);
            let name = self
                .workspace
                .display(place.path())
                .as_os_str()
                .as_bytes()
                .to_vec();
            finder.search(Ok(open.file), |_| name);
            finders.push(finder);
        } else {
            let includes =
                |path: &[u8]| self.include.is_empty() || self.include.can_match_below(path);
            let enter = |path: &[u8]| !self.exclude.directory(path) && includes(path);
            for place in &self.places {
                let options = Options {
                    respect: self.respect,
                    never: NEVER,
                    node_modules: self.node_modules,
                    links: None,
                    visit_ignored: false,
                    enter: Some(&enter),
                    recursive: true,
                };
                let (found, report) = walk(&self.workspace, place, options, &cx.cancel, || {
                    Finder::new(&self, place)
                })?;
                finders.extend(found);
                reports.push(report);
            }
        }
        if let Some(e) = finders.iter_mut().find_map(|f| f.failed.take()) {
            return Err(e);
        }
        Ok(self.answer(finders, &reports))
    }
}

impl Call {
    fn answer(&self, finders: Vec<Finder<'_>>, reports: &[Report]) -> ToolResult {
        let mut binary: Vec<Vec<u8>> = Vec::new();
        let unreadable: u64 = finders.iter().map(|f| f.unreadable).sum();
        let mut cut = finders.iter().any(|f| f.cut);
        let mut files: Vec<Matched> = Vec::new();
        for finder in finders {
            files.extend(finder.files);
            binary.extend(finder.binary);
        }
        binary.sort_unstable();
        files.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        let mut body = NamedText::default();
        let (mut matches, mut shown_files) = (0, 0);
        let mut locations = Vec::new();
        for file in &files {
            if self.form == Form::Lines && (matches >= self.most || body.text.len() > MOST_BYTES) {
                cut = true;
                break;
            }
            shown_files += 1;
            if self.wanted.columns {
                let name = show_name(&file.name);
                let room =
                    usize::try_from(self.most - matches.min(self.most)).unwrap_or(usize::MAX);
                push_locations(&mut locations, &name, &file.hits, room);
            }
            match self.form {
                Form::Names => {
                    matches += 1;
                    body.push_name(&file.name);
                    body.push_str("\n");
                }
                Form::Counts => {
                    matches += file.hits.count;
                    body.push_name(&file.name);
                    body.push_str(&format!(": {}\n", file.hits.count));
                }
                Form::Lines => {
                    let room = self.most - matches;
                    matches += push_file(&mut body, &file.name, &file.hits, room);
                    cut |= file.hits.count > room;
                }
            }
        }
        let per_file_cut = self.wanted.most <= self.most
            && self.form == Form::Lines
            && files.iter().any(|f| f.hits.is_cut);
        let mut text = self.headline(matches, cut);
        if shown_files > 0 && self.form == Form::Lines {
            text.push_str("---\n");
        }
        text.append(body);
        let mut note = |note: String| text.push_str(&format!("\n({note})"));
        for query in [Some(&self.query), self.except.as_ref()]
            .into_iter()
            .flatten()
        {
            if let Some(reading) = &query.note {
                note(format!("In the {} {reading}.", query.name));
            }
        }
        if cut {
            note("Narrow the search to see other matches.".to_owned());
        }
        if per_file_cut {
            let most = self.wanted.most;
            note(format!("Matches shown of each file: at most {most}."));
        }
        if let Some(modules) = super::node_modules_note(reports) {
            note(format!(
                "{modules}; name it in 'include' or 'path' to search it."
            ));
        }
        if !binary.is_empty() {
            let files = super::counted(binary.len(), "binary file");
            note(format!("{files} with matches not shown."));
        }
        if unreadable > 0 {
            let files = super::counted(unreadable as usize, "file");
            note(format!("{files} could not be read."));
        }
        super::push_unreadable(&mut text, reports);
        let summary = format!("Found {}", super::counted(matches as usize, "match"));
        let mut result = ToolResult::named(text)
            .with_display(summary)
            .with_data("matches", matches)
            .with_data("files", shown_files)
            .with_data("limited", cut);
        if !binary.is_empty() {
            let names: Vec<_> = binary.iter().map(|name| show_name(name)).collect();
            result = result.with_data("binaryFiles", names);
        }
        let directories: usize = reports.iter().map(|r| r.unreadable).sum();
        let unread = unreadable + directories as u64;
        if unread > 0 {
            result = result.with_data("unreadable", unread);
        }
        if self.wanted.columns {
            return result.with_data("locations", locations);
        }
        result
    }

    /// The first line of the answer.
    fn headline(&self, matches: u64, cut: bool) -> NamedText {
        let pattern = &self.pattern;
        let noun = match (matches, self.form) {
            (0, _) => "No matches found".to_owned(),
            (_, Form::Names) => format!("Found {matches} file(s) with matches"),
            (1, _) => "Found 1 match".to_owned(),
            _ => format!("Found {matches} matches"),
        };
        let mut line = NamedText::default();
        line.push_str(&format!("{noun} for pattern \"{pattern}\" "));
        match self.places.as_slice() {
            [one] if one.path() == self.workspace.root() => {
                line.push_str("in the workspace directory");
            }
            places => {
                line.push_str("in path \"");
                for (i, place) in places.iter().enumerate() {
                    line.push_str(if i == 0 { "" } else { "\" and \"" });
                    line.push_path(self.workspace.display(place.path()));
                }
                line.push_str("\"");
            }
        }
        if let Some(filter) = &self.filter {
            line.push_str(&format!(" (filter: \"{filter}\")"));
        }
        if cut && matches > 0 && self.form != Form::Names {
            // Gemini CLI's words, which have no singular.
            line.push_str(&format!(" (results limited to {matches} matches)"));
        }
        line.push_str(if matches == 0 { "." } else { ":\n" });
        line
    }
}

/// Appends the places of a file's matches, up to `room`; the file alone where its lines were not
/// wanted.
fn push_locations(locations: &mut Vec<Value>, name: &str, hits: &Hits, room: usize) {
    if hits.lines.is_empty() {
        locations.push(json!({ "file": name }));
    }
    for line in hits.lines.iter().filter(|line| line.is_match).take(room) {
        let text = &hits.text[line.text.0..line.text.1];
        let mut location = json!({"file": name, "line": line.number, "text": text});
        if let Some(column) = line.column {
            location["column"] = column.into();
        }
        locations.push(location);
    }
}

/// Appends the lines of one file, up to `room` matches; gives back how many.
fn push_file(body: &mut NamedText, name: &[u8], hits: &Hits, room: u64) -> u64 {
    use std::fmt::Write;
    body.push_str("File: ");
    body.push_name(name);
    let body = &mut body.text;
    body.push('\n');
    let mut matches = 0;
    let mut previous = None;
    for line in &hits.lines {
        if line.is_match {
            if matches == room {
                break;
            }
            matches += 1;
        }
        // A gap between groups of context lines is marked, as grep does.
        if hits.lines.len() as u64 > hits.count && previous.is_some_and(|n| n + 1 < line.number) {
            body.push_str("--\n");
        }
        previous = Some(line.number);
        let sign = if line.is_match { ':' } else { '-' };
        // Writing to a string does not fail.
        let _ = writeln!(
            body,
            "L{}{sign} {}",
            line.number,
            &hits.text[line.text.0..line.text.1]
        );
    }
    body.push_str("---\n");
    matches
}
