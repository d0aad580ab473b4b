//! `read_many_files`: the contents of several files, one after the other.

use super::glob::NEVER;
use super::list_directory::FilteringOptions;
use super::read_file::{
    DEFAULT_LINES, FileContent, LINE_CHARS, range_note, read_content, read_decoded,
};
use super::{BuiltinTool, READ_LIMIT_CHARS, ToolEnv};
use gemini_tools_core::text::counted;
use gemini_tools_core::text::{line_name, visible};
use gemini_tools_core::tool::{
    Args, Confirmation, Context, ErrorKind, Kind, Limit, LlmContent, Location, PartOrText, Schema,
    ToolError, ToolInfo, ToolInvocation, ToolResult, Usage,
};
use gemini_tools_workspace::lines::WindowRequest;
use gemini_tools_workspace::media::{MAX_MEDIA_BYTES, is_media_name};
use gemini_tools_workspace::pattern::PatternSet;
use gemini_tools_workspace::walk::{NodeModules, Visitor, WalkEntry, WalkOptions, walk};
use gemini_tools_workspace::{Respect, Workspace, WorkspacePath, show_path};
use rustix::fs::FileType;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// Patterns that are left out by default.
const DEFAULT_EXCLUDES: &[&str] = &[
    "**/{node_modules,.git,bower_components,.svn,.hg}/**",
    "**/{dist,build,target,coverage,out,__pycache__,.venv,venv,.cache,.next}/**",
    "**/{.vscode,.idea}/**",
    "**/*.{pyc,pyo,o,a,so,dylib,dll,exe,class,jar,war,wasm,bin,obj,lib,db,sqlite,sqlite3}",
    "**/*.{zip,tar,gz,tgz,bz2,xz,zst,rar,7z}",
    "**/*.{doc,docx,xls,xlsx,ppt,pptx,odt,ods,odp}",
    "**/{.DS_Store,.env,GEMINI.md}",
];

/// Files that one call looks at, the first in the order of their paths.
const MAX_FILES: usize = 20_000;

/// Skipped files that data list.
const LISTED_SKIPS: usize = 1_000;

/// Skipped files that an answer names.
const NAMED_SKIPS: usize = 50;

/// Everything that is fixed about the tool.
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
            ("lines of each file", Limit::Count(DEFAULT_LINES)),
            ("a line that is shown", Limit::Characters(LINE_CHARS)),
            ("the text of an answer", Limit::Characters(READ_LIMIT_CHARS)),
            ("media, all together", Limit::Bytes(MAX_MEDIA_BYTES)),
            (
                "files that are looked at, in the order of their paths",
                Limit::Count(MAX_FILES as u64),
            ),
            (
                "skipped files that are named",
                Limit::Count(NAMED_SKIPS as u64),
            ),
        ],
        examples: &[
            "call_tool read_many_files README.md 'src/**/*.rs'",
            "call_tool read_many_files docs exclude:='[\"**/*.svg\"]'",
        ],
        errors: &[(
            ErrorKind::InvalidToolParams,
            "`paths` is empty, or has an empty string in it",
        )],
        ..Usage::NONE
    },
    build,
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

struct Call {
    workspace: Arc<Workspace>,
    wanted: Vec<String>,
    exclude: PatternSet,
    default_excludes: PatternSet,
    recursive: bool,
    respect: Respect,
}

fn build(
    args: Args,
    schema: &Schema,
    ToolEnv { workspace, .. }: &ToolEnv,
) -> Result<Box<dyn ToolInvocation>, ToolError> {
    let params: Params = args.parse(schema)?;
    let mut wanted = params.paths;
    wanted.extend(params.include.unwrap_or_default());
    if let Some(odd) = wanted.iter().find(|w| w.contains('\0')) {
        return Err(ToolError::invalid(format!(
            "The path {odd:?} holds a NUL character."
        )));
    }
    let set = |patterns: &mut dyn Iterator<Item = &str>| {
        let mut set = PatternSet::default();
        for pattern in patterns {
            let pattern = pattern
                .strip_suffix('/')
                .map_or(pattern.to_owned(), |d| format!("{d}/**"));
            set.extend(PatternSet::for_names_or_paths(&pattern, false)?);
        }
        Ok::<_, ToolError>(set)
    };
    let exclude = params.exclude.unwrap_or_default();
    let defaults = if params.use_default_excludes.unwrap_or(true) {
        DEFAULT_EXCLUDES
    } else {
        &[]
    };
    Ok(Box::new(Call {
        workspace: Arc::clone(workspace),
        wanted,
        exclude: set(&mut exclude.iter().map(String::as_str))?,
        default_excludes: set(&mut defaults.iter().copied())?,
        recursive: params.recursive.unwrap_or(true),
        respect: params.file_filtering_options.unwrap_or_default().respect(),
    }))
}

/// The files to read, in the order of their paths' bytes, and those left out, with the reason.
#[derive(Default)]
struct Selection {
    files: BTreeMap<OsString, WorkspacePath>,
    /// Number of files beyond those.
    beyond: usize,
    skipped: Skipped,
}

impl Selection {
    fn add(&mut self, place: WorkspacePath) {
        self.files
            .insert(place.path().as_os_str().to_owned(), place);
        if self.files.len() > MAX_FILES {
            self.files.pop_last();
            self.beyond += 1;
        }
    }
}

/// Files that are left out, the first of them with the reason.
#[derive(Default)]
struct Skipped {
    listed: BTreeMap<String, &'static str>,
    more: usize,
}

impl Skipped {
    fn insert(&mut self, path: String, reason: &'static str) {
        self.listed.insert(path, reason);
        if self.listed.len() > LISTED_SKIPS {
            self.listed.pop_last();
            self.more += 1;
        }
    }

    fn len(&self) -> usize {
        self.listed.len() + self.more
    }
}

/// The files that all workers have found below a directory.
#[derive(Default)]
struct Gathered {
    selection: Selection,
    has_file: bool,
    /// Reason why a file that was found is not read.
    excluded: Option<&'static str>,
}

struct Finder<'a> {
    call: &'a Call,
    place: &'a WorkspacePath,
    set: &'a PatternSet,
    gathered: &'a Mutex<Gathered>,
}

impl Visitor for Finder<'_> {
    fn wants(&self, path: &[u8], name_at: usize) -> bool {
        self.set.matches(path, name_at)
    }

    fn visit(&mut self, found: &WalkEntry<'_>) {
        let place = self.place.join(Path::new(OsStr::from_bytes(found.path)));
        let is_file = match found.file_type {
            FileType::RegularFile => true,
            // A link counts where it leads to a file of the workspace.
            FileType::Symlink => self
                .call
                .workspace
                .file_type(&place)
                .is_ok_and(|t| t == FileType::RegularFile),
            _ => false,
        };
        if !is_file {
            return;
        }
        let excluded = self.call.excluded(&place);
        let mut gathered = self.gathered.lock().unwrap_or_else(PoisonError::into_inner);
        if excluded.is_some() {
            gathered.excluded = excluded;
        } else {
            gathered.has_file = true;
            gathered.selection.add(place);
        }
    }
}

impl Call {
    fn select(&self, cx: &Context) -> Result<Selection, ToolError> {
        let mut selection = Selection::default();
        let mut globs = PatternSet::default();
        for wanted in &self.wanted {
            match self.workspace.locate(wanted.trim_end_matches('/')) {
                Err(e) => {
                    let reason = match e.kind {
                        ErrorKind::PathNotInWorkspace => "not in the workspace",
                        _ => "not a valid path",
                    };
                    if !wanted.trim().is_empty() && wanted != "/" {
                        selection.skipped.insert(wanted.clone(), reason);
                    }
                }
                Ok(place) => match self.workspace.file_type(&place) {
                    Ok(FileType::RegularFile) => self.add_named(&mut selection, place)?,
                    Ok(FileType::Directory) => self.add_directory(&mut selection, &place, cx)?,
                    Ok(_) => {
                        selection
                            .skipped
                            .insert(wanted.clone(), "not a regular file");
                    }
                    Err(e) if e.kind == ErrorKind::PathNotInWorkspace => {
                        selection
                            .skipped
                            .insert(wanted.clone(), "leads out of the workspace");
                    }
                    Err(_) if wanted.contains(['*', '?', '[', '{']) => {
                        let pattern = place.rel().to_string_lossy().into_owned();
                        globs.extend(PatternSet::for_paths(&pattern, true)?);
                    }
                    Err(_) => {
                        selection.skipped.insert(wanted.clone(), "does not exist");
                    }
                },
            }
        }
        if !globs.is_empty() {
            for place in self.workspace.root_places() {
                self.add_matching(&mut selection, &place, &globs, true, cx)?;
            }
        }
        Ok(selection)
    }

    /// Adds a file that was asked for by its own path.
    fn add_named(&self, selection: &mut Selection, place: WorkspacePath) -> Result<(), ToolError> {
        let shown = show_path(self.workspace.display(place.path())).into_owned();
        if let Some(reason) = self.excluded(&place) {
            selection.skipped.insert(shown, reason);
        } else if self.workspace.ignored(&place, self.respect)?.is_some() {
            selection.skipped.insert(shown, "ignored by an ignore file");
        } else {
            selection.add(place);
        }
        Ok(())
    }

    fn add_directory(
        &self,
        selection: &mut Selection,
        place: &WorkspacePath,
        cx: &Context,
    ) -> Result<(), ToolError> {
        let all = PatternSet::for_paths("**", false)?;
        if let Some(reason) = self.add_matching(selection, place, &all, self.recursive, cx)? {
            let shown = show_path(self.workspace.display(place.path())).into_owned();
            selection.skipped.insert(shown, reason);
        }
        Ok(())
    }

    /// Gives the reason where no file is to be read.
    fn add_matching(
        &self,
        selection: &mut Selection,
        place: &WorkspacePath,
        set: &PatternSet,
        recursive: bool,
        cx: &Context,
    ) -> Result<Option<&'static str>, ToolError> {
        let enter = |path: &[u8]| set.can_match_below(path);
        let options = WalkOptions {
            respect: self.respect,
            never: NEVER,
            node_modules: if self.default_excludes.is_empty() {
                NodeModules::Ordinary
            } else {
                NodeModules::LeftOut
            },
            visit_ignored: false,
            enter: Some(&enter),
            recursive,
        };
        let gathered = Mutex::new(Gathered {
            selection: std::mem::take(selection),
            ..Gathered::default()
        });
        let (_, report) = walk(&self.workspace, place, options, &cx.cancel, || Finder {
            call: self,
            place,
            set,
            gathered: &gathered,
        })?;
        let gathered = gathered
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        *selection = gathered.selection;
        if let Some(example) = report.unreadable_example.clone() {
            let reason = "nothing there was read";
            selection.skipped.insert(example, reason);
        }
        let none = "holds no file, or none that is not ignored";
        Ok((!gathered.has_file).then(|| gathered.excluded.unwrap_or(none)))
    }

    fn excluded(&self, place: &WorkspacePath) -> Option<&'static str> {
        let path = place.rel().as_os_str().as_bytes();
        let name_at = path.iter().rposition(|b| *b == b'/').map_or(0, |i| i + 1);
        if self.exclude.matches(path, name_at) {
            Some("excluded by the call")
        } else if self.default_excludes.matches(path, name_at) {
            Some("excluded by default; useDefaultExcludes: false reads it")
        } else {
            None
        }
    }

    /// Returns true if media were asked for by name or extension, as Gemini CLI judges.
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

    fn read(
        &self,
        place: &WorkspacePath,
        room: usize,
        media_room: u64,
        cx: &Context,
    ) -> Result<Result<Vec<PartOrText>, &'static str>, ToolError> {
        if is_media_name(place.path()) && !self.asks_for(place.path()) {
            return Ok(Err("media that was not asked for by name or extension"));
        }
        let Ok(open) = self.workspace.open_file(place) else {
            return Ok(Err("can't be read"));
        };
        let heading = format!(
            "--- {} ---\n\n",
            line_name(place.path().as_os_str().as_bytes())
        );
        let text = match read_content(&open, place, media_room) {
            Err(e) if e.kind == ErrorKind::FileTooLarge => {
                return Ok(Err("too large: all media of an answer may have 20 MB"));
            }
            Err(_) => return Ok(Err("can't be read")),
            Ok(FileContent::Binary) => return Ok(Err("binary")),
            Ok(FileContent::Media(part)) if self.asks_for(place.path()) => {
                let shown = show_path(self.workspace.display(place.path())).into_owned();
                let mime = part
                    .inline_data
                    .as_ref()
                    .map(|d| d.mime_type.clone())
                    .unwrap_or_default();
                return Ok(Ok(vec![
                    PartOrText::Text(format!("[The following data is {shown}, {mime}.]\n")),
                    PartOrText::Part(part),
                ]));
            }
            Ok(FileContent::Media(_)) => {
                return Ok(Err("media that was not asked for by name or extension"));
            }
            Ok(FileContent::Empty) => format!("{heading}[The file is empty.]\n\n"),
            Ok(FileContent::Text { encoding, start }) => {
                let request = WindowRequest {
                    offset: 0,
                    limit: DEFAULT_LINES,
                    line_chars: LINE_CHARS,
                    total_chars: room,
                    count: open.size() <= 64 * 1024 * 1024,
                };
                let (window, encoding) =
                    read_decoded(&open, place.path(), &start, encoding, request, &cx.cancel)?;
                let mut note = range_note(0, &window, open.size());
                if !encoding.is_utf8() {
                    note.insert_str(0, &format!("[Decoded from {}.]\n", encoding.name()));
                }
                if !note.is_empty() {
                    note.push('\n');
                }
                format!("{heading}{note}{}\n\n", window.text)
            }
        };
        Ok(Ok(vec![PartOrText::Text(text)]))
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
            exists.then(|| Location {
                path: place.path().to_owned(),
                line: None,
            })
        };
        self.wanted.iter().filter_map(place).collect()
    }

    fn confirmation(&self, _: &Context) -> Result<Confirmation, ToolError> {
        Ok(Confirmation::NotNeeded)
    }

    fn run(self: Box<Self>, cx: &Context) -> Result<ToolResult, ToolError> {
        let Selection {
            files,
            beyond,
            mut skipped,
        } = self.select(cx)?;
        skipped.more += beyond;
        let mut parts: Vec<PartOrText> = Vec::new();
        let mut read = 0;
        let mut room = READ_LIMIT_CHARS;
        let mut media_room = MAX_MEDIA_BYTES;
        for place in files.values() {
            cx.cancel.check()?;
            let shown = show_path(self.workspace.display(place.path())).into_owned();
            if room == 0 {
                skipped.insert(shown, "the answer was long enough already");
                continue;
            }
            match self.read(place, room, media_room, cx)? {
                Err(reason) => {
                    skipped.insert(shown, reason);
                }
                Ok(more) => {
                    read += 1;
                    for part in more {
                        match &part {
                            PartOrText::Text(text) => {
                                room = room.saturating_sub(text.chars().count());
                            }
                            PartOrText::Part(part) => {
                                let data = part.inline_data.as_ref().map_or(0, |d| d.data.len());
                                media_room = media_room.saturating_sub(data as u64 / 4 * 3);
                            }
                        }
                        parts.push(part);
                    }
                }
            }
        }
        Ok(answer(read, parts, &skipped, &self.wanted))
    }
}

fn answer(read: usize, parts: Vec<PartOrText>, skipped: &Skipped, wanted: &[String]) -> ToolResult {
    let mut head = String::new();
    if read == 0 {
        head.push_str(&format!(
            "No files that match {} were read.\n",
            wanted.join(", ")
        ));
    }
    if skipped.len() > 0 {
        head.push_str(&format!("[Skipped {}:\n", counted(skipped.len(), "file")));
        for (path, reason) in skipped.listed.iter().take(NAMED_SKIPS) {
            head.push_str(&format!("{}: {reason}\n", visible(path)));
        }
        if skipped.len() > NAMED_SKIPS {
            head.push_str(&format!("and {} more\n", skipped.len() - NAMED_SKIPS));
        }
        head.push_str("]\n");
    }
    let tail = if read > 0 {
        "--- End of content ---"
    } else {
        ""
    };
    let has_media = parts.iter().any(|part| matches!(part, PartOrText::Part(_)));
    let llm_content = if has_media {
        let mut list = Vec::new();
        if !head.is_empty() {
            list.push(PartOrText::Text(head));
        }
        list.extend(parts);
        list.push(PartOrText::Text(tail.to_owned()));
        LlmContent::List(list)
    } else {
        let mut text = head;
        for part in parts {
            if let PartOrText::Text(more) = part {
                text.push_str(&more);
            }
        }
        text.push_str(tail);
        LlmContent::Text(text)
    };
    let mut result = ToolResult {
        llm_content,
        is_limited: true,
        ..ToolResult::default()
    };
    result = result
        .with_display(format!("Read {}", counted(read, "file")))
        .with_data("files", read);
    if skipped.len() > 0 {
        let skipped: serde_json::Map<_, _> = skipped
            .listed
            .iter()
            .map(|(k, v)| (k.clone(), (*v).into()))
            .collect();
        result = result.with_data("skipped", skipped);
    }
    result
}
