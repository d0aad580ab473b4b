//! `read_many_files`: reads several files, in the order of their paths.

use super::list_directory::FilteringOptions;
use super::read_file::{
    COUNT_BYTES, DEFAULT_LINES, FileContent, LINE_CHARS, read_content, read_decoded, show_window,
    window_text,
};
use super::{BuiltinTool, NOTES, READ_LIMIT_CHARS, ToolEnv};
use gemini_tools_core::client_host::AnswerLimit;
use gemini_tools_core::text::{counted, line_name, visible};
use gemini_tools_core::tool::{
    Confirmation, Context, ErrorKind, Kind, Limit, LlmContent, Location, PartOrText, ToolError,
    ToolInfo, ToolInvocation, ToolResult, Usage,
};
use gemini_tools_workspace::ignore::IgnoreSource;
use gemini_tools_workspace::lines::WindowRequest;
use gemini_tools_workspace::media::MAX_MEDIA_BYTES;
use gemini_tools_workspace::pattern::PatternSet;
use gemini_tools_workspace::walk::{NodeModules, Visitor, WalkEntry, WalkOptions, walk};
use gemini_tools_workspace::{Respect, Workspace, WorkspacePath};
use rustix::fs::FileType;
use serde::Deserialize;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

const DEFAULT_EXCLUDES: &[&str] = &[
    "**/{node_modules,.git,bower_components,.svn,.hg}/**",
    "**/{dist,build,target,coverage,out,__pycache__,.venv,venv,.cache,.next}/**",
    "**/{.vscode,.idea}/**",
    "**/*.{pyc,pyo,o,a,so,dylib,dll,exe,class,jar,war,wasm,bin,obj,lib,db,sqlite,sqlite3}",
    "**/*.{zip,tar,gz,tgz,bz2,xz,zst,rar,7z}",
    "**/*.{doc,docx,xls,xlsx,ppt,pptx,odt,ods,odp}",
    "**/{.DS_Store,.env,GEMINI.md}",
];

const BY_DEFAULT: &str = "excluded by default; useDefaultExcludes: false reads it";

const MAX_FILES: usize = 20_000;

const NAMED_SKIPS: usize = 50;

pub(super) static TOOL: BuiltinTool = BuiltinTool {
    name: "read_many_files",
    summary: "Reads files, directories and globs",
    description: "Reads several files of the project at once: 'paths' takes files, directories \
        and glob patterns relative to the root. Each file's text comes after a line with its \
        path, ordered by path. Build output, dependencies, binaries and ignored files are left \
        out by default. Images, PDFs, audio and video come only when asked for by name or \
        extension.",
    info: ToolInfo::new("ReadManyFiles", Kind::Read)
        .on_this_machine()
        .with_aliases(&["ReadManyFilesTool"]),
    usage: Usage {
        limits: &[
            Limit::Count(DEFAULT_LINES).of("lines of each file"),
            Limit::Characters(LINE_CHARS).of("a line that is shown"),
            Limit::Characters(READ_LIMIT_CHARS).of("the text of an answer"),
            Limit::Bytes(MAX_MEDIA_BYTES).of("media, all together"),
            Limit::Count(MAX_FILES as u64)
                .of("files that are looked at, in the order of their paths"),
            Limit::Count(NAMED_SKIPS as u64).of("skipped files that are named"),
        ],
        examples: &[
            "call_tool read_many_files README.md 'src/**/*.rs'",
            "call_tool read_many_files docs exclude:='[\"**/*.svg\"]'",
        ],
        errors: &[
            ErrorKind::InvalidToolParams.when("`paths` is empty, or has an empty string in it")
        ],
        ..Usage::NONE
    },
};

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(super) struct Params {
    /// Files, directories or glob patterns, such as ["src/**/*.ts", "README.md", "docs/"].
    #[cfg_attr(test, schemars(length(min = 1), inner(length(min = 1))))]
    paths: Vec<String>,
    /// More patterns of files to read.
    #[cfg_attr(test, schemars(inner(length(min = 1))))]
    include: Option<Vec<String>>,
    /// Patterns of files to leave out.
    #[cfg_attr(test, schemars(inner(length(min = 1))))]
    exclude: Option<Vec<String>>,
    /// Whether directories are read with what lies below them. Default: true.
    recursive: Option<bool>,
    /// Whether to leave out build output, dependencies, binaries and the like. Default: true.
    #[serde(rename = "useDefaultExcludes")]
    use_default_excludes: Option<bool>,
    /// Which ignore files count.
    file_filtering_options: Option<FilteringOptions>,
}

pub(super) struct Call {
    workspace: Arc<Workspace>,
    wanted: Vec<String>,
    excluded: PatternSet,
    excluded_by_default: PatternSet,
    node_modules: NodeModules,
    recursive: bool,
    respect: Respect,
}

pub(super) fn build(
    params: Params,
    ToolEnv { workspace, .. }: &ToolEnv,
) -> Result<Call, ToolError> {
    let mut wanted = params.paths;
    wanted.extend(params.include.unwrap_or_default());
    if let Some(odd) = wanted.iter().find(|w| w.contains('\0')) {
        return Err(ToolError::invalid(format!(
            "The path {odd:?} holds a NUL character."
        )));
    }
    let has_defaults = params.use_default_excludes.unwrap_or(true);
    let defaults = if has_defaults { DEFAULT_EXCLUDES } else { &[] };
    let exclude = params.exclude.unwrap_or_default();
    let exclude = super::scope::patterns(workspace, &exclude, &workspace.root_places())?;
    let exclude = exclude
        .iter()
        .map(|pattern| match pattern.strip_suffix('/') {
            Some(directory) => format!("{directory}/**"),
            None => pattern.clone(),
        });
    Ok(Call {
        workspace: Arc::clone(workspace),
        wanted,
        excluded: PatternSet::for_names_or_paths(exclude, false)?,
        excluded_by_default: PatternSet::for_names_or_paths(defaults, false)?,
        node_modules: if has_defaults {
            NodeModules::LeftOut
        } else {
            NodeModules::Ordinary
        },
        recursive: params.recursive.unwrap_or(true),
        respect: params.file_filtering_options.unwrap_or_default().respect(),
    })
}

#[derive(Default)]
struct Selection {
    files: BTreeMap<OsString, WorkspacePath>,
    skipped: SkipList,
}

impl Selection {
    fn add(&mut self, place: WorkspacePath) {
        self.files
            .insert(place.path().as_os_str().to_owned(), place);
        if self.files.len() > MAX_FILES {
            self.files.pop_last();
            self.skipped.count += 1;
        }
    }
}

/// The files that are not read, with the reasons. Those that a pattern or a directory has are only
/// counted in `unnamed`: they can be all files of a build.
#[derive(Default)]
struct SkipList {
    named: BTreeMap<String, Cow<'static, str>>,
    count: usize,
    unnamed: BTreeMap<&'static str, usize>,
}

impl SkipList {
    fn insert(&mut self, path: String, reason: impl Into<Cow<'static, str>>) {
        if self.named.insert(path, reason.into()).is_none() {
            self.count += 1;
        }
        if self.named.len() > NAMED_SKIPS {
            self.named.pop_last();
        }
    }

    fn note(&self) -> String {
        let mut note = String::new();
        if self.count > 0 {
            note.push_str(&format!("[Skipped {}:\n", counted(self.count, "file")));
            for (path, reason) in &self.named {
                note.push_str(&format!("{}: {reason}\n", visible(path)));
            }
            if self.count > self.named.len() {
                note.push_str(&format!("and {} more\n", self.count - self.named.len()));
            }
            note.push_str("]\n");
        }
        for (reason, count) in &self.unnamed {
            note.push_str(&format!(
                "[Left out {}: {reason}]\n",
                counted(*count, "file")
            ));
        }
        note
    }
}

struct Finder<'a> {
    call: &'a Call,
    place: &'a WorkspacePath,
    set: &'a PatternSet,
    recursive: bool,
    selection: &'a Mutex<Selection>,
    has_file: bool,
}

impl Visitor for Finder<'_> {
    fn wants(&self, path: &[u8], name_at: usize) -> bool {
        self.set.matches(path, name_at)
    }

    fn enters(&self, path: &[u8], _name_at: usize) -> bool {
        self.recursive && self.set.can_match_below(path)
    }

    fn visit(&mut self, found: &WalkEntry<'_>) {
        let place = self.place.join(Path::new(OsStr::from_bytes(found.path)));
        let is_file = match found.file_type {
            FileType::RegularFile => true,
            // A symbolic link counts if it leads to a regular file of the workspace.
            FileType::Symlink => {
                let target = self.call.workspace.file_type(&place);
                target.is_ok_and(|t| t == FileType::RegularFile)
            }
            _ => false,
        };
        if !is_file {
            return;
        }
        let left_out = self.call.left_out(&place, found.ignored);
        let selection = self.selection.lock();
        let mut selection = selection.unwrap_or_else(PoisonError::into_inner);
        if let Some(reason) = left_out {
            *selection.skipped.unnamed.entry(reason).or_default() += 1;
            return;
        }
        self.has_file = true;
        selection.add(place);
    }
}

impl Call {
    fn select(&self, cx: &Context) -> Result<Selection, ToolError> {
        let mut selection = Selection::default();
        let mut globs = Vec::new();
        for wanted in &self.wanted {
            if wanted.trim().is_empty() || wanted == "/" {
                continue;
            }
            let place = match self.workspace.locate(wanted) {
                Ok(place) => place,
                Err(e) => {
                    let reason = match e.kind {
                        ErrorKind::PathNotInWorkspace => "not in the workspace",
                        _ => "not a valid path",
                    };
                    selection.skipped.insert(wanted.clone(), reason);
                    continue;
                }
            };
            let found = self.workspace.file_type(&place);
            let is_file = matches!(found, Ok(FileType::RegularFile));
            let is_none = matches!(&found, Err(e) if e.kind != ErrorKind::PathNotInWorkspace);
            // A file that has exactly this name is meant. But whoever gives a pattern with `*` or
            // `?` hardly knows that a file has such a name, so the text is taken as a pattern as
            // well.
            let is_wild = wanted.contains(['*', '?']);
            if is_wild && is_file || wanted.contains(['*', '?', '[', '{']) && is_none {
                // A leading `~` is a part of a name here. Without `./` before it, it would mean
                // the home directory.
                let pattern = format!("./{}", place.rel().to_string_lossy());
                let roots = self.workspace.root_places();
                globs.extend(self.workspace.patterns_below(&pattern, &roots)?);
                if !is_file {
                    continue;
                }
            }
            let reason = match found {
                Ok(FileType::RegularFile) => {
                    self.add_named(&mut selection, place)?;
                    continue;
                }
                Ok(FileType::Directory) => {
                    self.add_directory(&mut selection, &place, cx)?;
                    continue;
                }
                Ok(_) => "not a regular file".into(),
                Err(e) if e.kind == ErrorKind::PathNotInWorkspace => {
                    "leads out of the workspace".into()
                }
                Err(e) if e.kind == ErrorKind::PathIsNotADirectory => "is no directory".into(),
                Err(_) => match self.workspace.nearest_question(&place) {
                    Some(question) => format!("does not exist. {question}").into(),
                    None => Cow::Borrowed("does not exist"),
                },
            };
            selection.skipped.insert(wanted.clone(), reason);
        }
        if !globs.is_empty() {
            let globs = PatternSet::for_paths(globs, true)?;
            for place in self.workspace.root_places() {
                self.add_matching(&mut selection, &place, &globs, true, cx)?;
            }
        }
        Ok(selection)
    }

    fn display(&self, place: &WorkspacePath) -> String {
        self.workspace.display_name(place).into_owned()
    }

    fn add_named(&self, selection: &mut Selection, place: WorkspacePath) -> Result<(), ToolError> {
        let ignored = self.workspace.ignored(&place, self.respect)?;
        match self.left_out(&place, ignored) {
            Some(reason) => selection.skipped.insert(self.display(&place), reason),
            None => selection.add(place),
        }
        Ok(())
    }

    fn add_directory(
        &self,
        selection: &mut Selection,
        place: &WorkspacePath,
        cx: &Context,
    ) -> Result<(), ToolError> {
        let all = PatternSet::for_paths(["**"], false)?;
        if !self.add_matching(selection, place, &all, self.recursive, cx)? {
            let reason = "no file of it is read";
            selection.skipped.insert(self.display(place), reason);
        }
        Ok(())
    }

    fn add_matching(
        &self,
        selection: &mut Selection,
        place: &WorkspacePath,
        set: &PatternSet,
        recursive: bool,
        cx: &Context,
    ) -> Result<bool, ToolError> {
        let options = WalkOptions {
            respect: self.respect,
            node_modules: self.node_modules,
            visit_ignored: true,
        };
        let shared = Mutex::new(std::mem::take(selection));
        let (finders, report) = walk(&self.workspace, place, options, &cx.cancel, || Finder {
            call: self,
            place,
            set,
            recursive,
            selection: &shared,
            has_file: false,
        })?;
        let has_file = finders.iter().any(|finder| finder.has_file);
        *selection = shared.into_inner().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, example)) = report.unreadable_places.into_iter().next() {
            selection.skipped.insert(example, "nothing there was read");
        }
        Ok(has_file)
    }

    /// Returns why a file is not read. If several things exclude it, the reason names all of them:
    /// whoever changed only one of them would still not get the file.
    fn left_out(
        &self,
        place: &WorkspacePath,
        ignored: Option<IgnoreSource>,
    ) -> Option<&'static str> {
        let path = place.rel().as_os_str().as_bytes();
        let name_at = path.iter().rposition(|b| *b == b'/').map_or(0, |i| i + 1);
        let is_default = || self.excluded_by_default.matches(path, name_at);
        match ignored {
            _ if self.excluded.matches(path, name_at) => Some("excluded by the call"),
            Some(_) if is_default() => Some(
                "excluded by default, and ignored by an ignore file; useDefaultExcludes: false and \
                 file_filtering_options read it",
            ),
            None if is_default() => Some(BY_DEFAULT),
            Some(IgnoreSource::Git) => Some(
                "ignored by git; file_filtering_options: {\"respect_git_ignore\": false} reads it",
            ),
            Some(IgnoreSource::Gemini) => Some(
                "ignored by .geminiignore; file_filtering_options: {\"respect_gemini_ignore\": \
                 false} reads it",
            ),
            None => None,
        }
    }

    /// Returns true if a path or pattern of the call has the name or the extension of the media
    /// file `path` in it. As in Gemini CLI, other media files are not read.
    fn asks_for(&self, path: &Path) -> bool {
        let extension = path
            .extension()
            .map(|e| format!(".{}", e.to_string_lossy().to_lowercase()));
        let stem = path
            .file_stem()
            .map(|s| s.to_string_lossy().into_owned())
            .unwrap_or_default();
        self.wanted.iter().any(|wanted| {
            extension
                .as_ref()
                .is_some_and(|e| wanted.to_lowercase().contains(e))
                || (!stem.is_empty() && wanted.contains(&stem))
        })
    }

    /// Reads a file into the parts of an answer. The inner error says why the file is skipped,
    /// which does not fail the call.
    fn read(
        &self,
        place: &WorkspacePath,
        room: &Room,
        cx: &Context,
    ) -> Result<Result<Vec<PartOrText>, &'static str>, ToolError> {
        const NOT_ASKED_FOR: &str = "media that was not asked for by name or extension";
        let name = line_name(place.path().as_os_str().as_bytes());
        let is_asked_for = self.asks_for(place.path());
        let Ok(open) = self.workspace.open_file(place) else {
            return Ok(Err("can't be read"));
        };
        let sight = cx
            .view
            .remembers
            .then(|| self.workspace.sight(&open, place));
        let mut sight = sight.flatten();
        let media_bytes = if is_asked_for { room.media_bytes } else { 0 };
        let text = match read_content(&open, place, media_bytes) {
            Err(e) if e.kind == ErrorKind::FileTooLarge && !is_asked_for => {
                return Ok(Err(NOT_ASKED_FOR));
            }
            Err(e) if e.kind == ErrorKind::FileTooLarge => {
                return Ok(Err("too large: all media of an answer may have 20 MB"));
            }
            Err(_) => return Ok(Err("can't be read")),
            Ok(FileContent::Binary) => return Ok(Err("binary")),
            Ok(FileContent::Media(_)) if !is_asked_for => return Ok(Err(NOT_ASKED_FOR)),
            Ok(FileContent::Media(part)) => {
                let data = part.inline_data.as_ref();
                let mime = data.map(|d| d.mime_type.clone()).unwrap_or_default();
                let name = self.display(place);
                self.workspace.saw(sight);
                return Ok(Ok(vec![
                    PartOrText::Text(format!("[The following data is {name}, {mime}.]\n")),
                    PartOrText::Part(part),
                ]));
            }
            Ok(FileContent::Empty) => "[The file is empty.]".to_owned(),
            Ok(FileContent::Text { encoding, start }) => {
                let most = room.text;
                let notes = name.len() + NOTES;
                let request = WindowRequest {
                    offset: 0,
                    limit: DEFAULT_LINES.min(most.lines.map_or(u64::MAX, |n| n as u64)),
                    line_chars: LINE_CHARS,
                    size: AnswerLimit {
                        size: most.size.saturating_sub(notes),
                        ..most
                    },
                    count: open.size() <= COUNT_BYTES,
                };
                let (window, encoding) =
                    read_decoded(&open, place.path(), &start, encoding, request, &cx.cancel)?;
                let text = window_text(0, &window, encoding, open.size());
                show_window(&mut sight, 0, window);
                text
            }
        };
        let text = format!("--- {name} ---\n\n{text}\n\n");
        if room.text.unit.of_text(&text) > room.text.size {
            return Ok(Err(LONG_ENOUGH));
        }
        self.workspace.saw(sight);
        Ok(Ok(vec![PartOrText::Text(text)]))
    }
}

const LONG_ENOUGH: &str = "the answer was long enough already";

struct Room {
    text: AnswerLimit,
    media_bytes: u64,
}

impl Room {
    fn take(&mut self, part: &PartOrText) {
        match part {
            PartOrText::Text(text) => {
                let AnswerLimit { size, unit, lines } = &mut self.text;
                *size = size.saturating_sub(unit.of_text(text));
                let count = text.matches('\n').count();
                *lines = lines.map(|lines| lines.saturating_sub(count));
            }
            PartOrText::Part(part) => {
                let data = part.inline_data.as_ref().map_or(0, |d| d.data.len());
                self.media_bytes = self.media_bytes.saturating_sub(data as u64 / 4 * 3);
            }
        }
    }
}

impl ToolInvocation for Call {
    fn describe(&self) -> String {
        format!("Reads the files that match `{}`", self.wanted.join("`, `"))
    }

    fn locations(&self) -> Vec<Location> {
        let place = |wanted: &String| {
            let place = self.workspace.locate(wanted).ok()?;
            let exists = self.workspace.file_type(&place).is_ok();
            exists.then(|| place.path().into())
        };
        self.wanted.iter().filter_map(place).collect()
    }

    fn confirmation(&self, _: &Context) -> Result<Confirmation, ToolError> {
        Ok(Confirmation::NotNeeded)
    }

    fn run(self: Box<Self>, cx: &Context) -> Result<ToolResult, ToolError> {
        let Selection { files, mut skipped } = self.select(cx)?;
        let mut parts: Vec<PartOrText> = Vec::new();
        let mut read = 0;
        let mut room = Room {
            text: super::room_to_read(cx),
            media_bytes: MAX_MEDIA_BYTES,
        };
        for place in files.values() {
            cx.cancel.check()?;
            let added = if room.text.size == 0 || room.text.lines == Some(0) {
                Err(LONG_ENOUGH)
            } else {
                self.read(place, &room, cx)?
            };
            match added {
                Err(reason) => skipped.insert(self.display(place), reason),
                Ok(added) => {
                    read += 1;
                    for part in added {
                        room.take(&part);
                        parts.push(part);
                    }
                }
            }
        }
        Ok(self.answer(read, parts, &skipped))
    }
}

impl Call {
    fn answer(&self, read: usize, parts: Vec<PartOrText>, skipped: &SkipList) -> ToolResult {
        let mut head = skipped.note();
        if read == 0 {
            let none = format!(
                "No files that match {} were read.\n",
                self.wanted.join(", ")
            );
            head.insert_str(0, &none);
        }
        let mut list = Vec::new();
        if !head.is_empty() {
            list.push(PartOrText::Text(head));
        }
        list.extend(parts);
        if read > 0 {
            list.push(PartOrText::Text("--- End of content ---".to_owned()));
        }
        let texts = list.iter().map(|part| match part {
            PartOrText::Text(text) => Some(text.as_str()),
            PartOrText::Part(_) => None,
        });
        let llm_content = match texts.collect::<Option<String>>() {
            Some(text) => LlmContent::Text(text),
            None => LlmContent::List(list),
        };
        let mut result = ToolResult::content(llm_content)
            .with_display(format!("Read {}", counted(read, "file")))
            .with_data("files", read);
        result.view.is_limited = true;
        if skipped.count > 0 {
            let named = skipped.named.iter();
            let named = named.map(|(path, reason)| (path.clone(), reason.as_ref().into()));
            result = result.with_data("skipped", named.collect::<serde_json::Map<_, _>>());
        }
        result
    }
}
