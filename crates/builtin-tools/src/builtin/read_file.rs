//! `read_file`: reads a range of lines of a text file, or a media file.

use super::syntax::Parser;
use super::{BuiltinTool, OUTSIDE, READ_LIMIT_CHARS, ToolEnv};
use base64::engine::general_purpose::STANDARD;
use base64::write::EncoderStringWriter;
use gemini_tools_core::message::Part;
use gemini_tools_core::tool::{
    Cancellation, Confirmation, Context, ErrorKind, Kind, Limit, LlmContent, Location, ToolError,
    ToolInfo, ToolInvocation, ToolResult, Usage,
};
use gemini_tools_syntax::{Symbol, outline_text};
use gemini_tools_workspace::lines::{Window, WindowRequest, beginning, encoding_of, read_window};
use gemini_tools_workspace::media::{MAX_MEDIA_BYTES, is_media_name, mime_type};
use gemini_tools_workspace::seen::Sight;
use gemini_tools_workspace::text::{Encoding, SAMPLE_BYTES, detect};
use gemini_tools_workspace::{OpenFile, Workspace, WorkspacePath};
use serde::Deserialize;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

pub(super) const DEFAULT_LINES: u64 = 2_000;

pub(super) const LINE_CHARS: usize = 2_000;

pub(super) const COUNT_BYTES: u64 = 64 * 1024 * 1024;

/// Maximum length in bytes of an outline that the call asks for, and of a note on the definitions
/// outside of the lines that are shown. The latter has some 600 tokens.
const OUTLINE_BYTES: [usize; 2] = [20_000, 2_000];

pub(super) static TOOL: BuiltinTool = BuiltinTool {
    name: "read_file",
    summary: "Reads a text file, an image, a PDF or audio",
    description: "Reads one file of the project. Text comes back as it is, 2,000 lines at most \
        unless 'limit' says otherwise, lines over 2,000 characters cut; where more remains, the \
        answer says which lines it shows and the 'offset' to go on with. Files of any size can be \
        read that way. Images, PDFs, audio and video come back as data (up to 20 MB). UTF-8, \
        UTF-16 and older encodings are decoded.",
    info: ToolInfo::new("ReadFile", Kind::Read)
        .on_this_machine()
        .with_aliases(&["ReadFileTool"]),
    usage: Usage {
        renamed: &[("file_path", "absolute_path"), ("path", "absolute_path")],
        paths: &["absolute_path"],
        limits: &[
            Limit::Count(DEFAULT_LINES).of("lines, where `limit` is missing"),
            Limit::Characters(LINE_CHARS).of("a line that is shown"),
            Limit::Characters(READ_LIMIT_CHARS).of("the text of an answer"),
            Limit::Bytes(MAX_MEDIA_BYTES).of("media"),
            Limit::Bytes(COUNT_BYTES).of("a file whose lines are counted without `count_lines`"),
        ],
        examples: &[
            "call_tool read_file README.md limit=20",
            "call_tool read_file src/main.rs start_line=2 end_line=3",
        ],
        errors: &[
            ErrorKind::FileNotFound.when("there is no such file"),
            OUTSIDE,
            ErrorKind::TargetIsDirectory.when("it is a directory"),
            ErrorKind::PermissionDenied
                .when("`.geminiignore` excludes it, or the system denies access"),
            ErrorKind::FileTooLarge.when("it is not text, and larger than the limit for media"),
            ErrorKind::ReadContentFailure.when("it is a device, FIFO or socket, or reading fails"),
            ErrorKind::InvalidToolParams.when("`offset` is beyond the end"),
        ],
        ..Usage::NONE
    },
};

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Params {
    /// Path of the file: absolute, or relative to the project's root.
    absolute_path: String,
    /// The line to start at, counted from 0. Default: 0.
    #[cfg_attr(test, schemars(range(min = 0)))]
    offset: Option<f64>,
    /// The most lines to read. Default: 2000.
    #[cfg_attr(test, schemars(range(min = 1)))]
    limit: Option<f64>,
    /// The first line, counted from 1.
    #[cfg_attr(test, schemars(extend("undeclared" = true)))]
    start_line: Option<f64>,
    /// The last line, counted from 1, inclusive.
    #[cfg_attr(test, schemars(extend("undeclared" = true)))]
    end_line: Option<f64>,
    /// Whether all lines are counted, also those of a very large file.
    #[cfg_attr(test, schemars(extend("undeclared" = true)))]
    count_lines: Option<bool>,
    /// Gives only what a source file defines: kinds, names and lines.
    #[cfg_attr(test, schemars(extend("undeclared" = true)))]
    outline: Option<bool>,
}

pub(super) struct Call {
    workspace: Arc<Workspace>,
    place: WorkspacePath,
    offset: u64,
    limit: u64,
    has_default_limit: bool,
    count_lines: Option<bool>,
    outline: bool,
    parser: Parser,
}

pub(super) fn build(params: Params, tool_env: &ToolEnv) -> Result<Call, ToolError> {
    let (offset, limit) = window(&params)?;
    let (workspace, place) = locate_readable(tool_env, &params.absolute_path)?;
    Ok(Call {
        workspace,
        place,
        offset,
        limit,
        has_default_limit: params.limit.is_none() && params.end_line.is_none(),
        count_lines: params.count_lines,
        outline: params.outline.unwrap_or(false),
        parser: Parser::new(tool_env),
    })
}

fn window(params: &Params) -> Result<(u64, u64), ToolError> {
    // Fractions are cut off, as JavaScript's slice does it for Gemini CLI.
    let whole = |n: f64| n.max(0.0) as u64;
    let mut offset = whole(params.offset.unwrap_or(0.0));
    let mut limit = params.limit.map_or(DEFAULT_LINES, |n| whole(n).max(1));
    if let Some(start) = params.start_line {
        if start < 1.0 {
            return Err(ToolError::invalid(format!(
                "\"start_line\" must be at least 1, but it is {start}."
            )));
        }
        offset = whole(start) - 1;
    }
    if let Some(end) = params.end_line {
        if whole(end) <= offset {
            return Err(ToolError::invalid(format!(
                "\"end_line\" ({end}) must not be before \"start_line\" ({}).",
                offset + 1
            )));
        }
        let until_end = whole(end) - offset;
        limit = params.limit.map_or(until_end, |_| limit.min(until_end));
    }
    Ok((offset, limit))
}

fn locate_readable(
    tool_env: &ToolEnv,
    path: &str,
) -> Result<(Arc<Workspace>, WorkspacePath), ToolError> {
    let workspace = &tool_env.workspace;
    match workspace.locate(path) {
        Ok(place) => {
            workspace.check_gemini_ignore(&place)?;
            Ok((Arc::clone(workspace), place))
        }
        #[cfg(feature = "full")]
        Err(e) if e.kind == ErrorKind::PathNotInWorkspace => {
            // Long answers of earlier calls, kept outside of the workspace, may be read, too.
            let wider = workspace
                .with_overflow(path, tool_env.client_host)
                .ok_or(e)?;
            let place = wider.locate(path)?;
            Ok((Arc::new(wider), place))
        }
        Err(e) => Err(e),
    }
}

impl ToolInvocation for Call {
    fn describe(&self) -> String {
        let path = self.workspace.display_name(&self.place);
        if self.offset == 0 && self.limit == DEFAULT_LINES {
            format!("Reads `{path}`")
        } else {
            let (from, to) = (self.offset + 1, self.offset.saturating_add(self.limit));
            format!("Reads lines {from}-{to} of `{path}`")
        }
    }

    fn locations(&self) -> Vec<Location> {
        vec![Location {
            path: self.place.path().to_owned(),
            line: Some(self.offset + 1),
        }]
    }

    fn confirmation(&self, _: &Context) -> Result<Confirmation, ToolError> {
        Ok(Confirmation::NotNeeded)
    }

    fn run(self: Box<Self>, cx: &Context) -> Result<ToolResult, ToolError> {
        let open = self
            .workspace
            .open_file(&self.place)
            .map_err(|e| self.workspace.with_nearest(e, &self.place))?;
        let sight = cx
            .view
            .remembers
            .then(|| self.workspace.sight(&open, &self.place));
        let mut sight = sight.flatten();
        let result = match read_content(&open, &self.place, MAX_MEDIA_BYTES)? {
            FileContent::Empty => empty(),
            FileContent::Media(part) => {
                let shown = format!("Read {}", self.place.name().to_string_lossy());
                ToolResult::content(LlmContent::Part(part)).with_display(shown)
            }
            FileContent::Binary => {
                let name = self.workspace.display_name(&self.place);
                return Ok(ToolResult::text(format!(
                    "[Binary file {name}, {} bytes: its content cannot be shown as text.]",
                    open.size()
                ))
                .with_display(format!("Skipped binary file {name}")));
            }
            FileContent::Text { encoding, .. } if self.outline => {
                return self.read_outline(&open, encoding);
            }
            FileContent::Text { encoding, start } => {
                self.read_text(&open, encoding, &start, &mut sight, cx)?
            }
        };
        self.workspace.saw(sight);
        Ok(result)
    }
}

impl Call {
    fn read_text(
        &self,
        open: &OpenFile,
        encoding: Encoding,
        start: &[u8],
        sight: &mut Option<Sight>,
        cx: &Context,
    ) -> Result<ToolResult, ToolError> {
        let room = super::room_to_read(cx);
        let request = WindowRequest {
            offset: self.offset,
            limit: self.limit.min(room.lines.map_or(u64::MAX, |n| n as u64)),
            line_chars: LINE_CHARS,
            size: room,
            count: self.count_lines.unwrap_or(open.size() <= COUNT_BYTES),
        };
        let (window, encoding) = read_decoded(
            open,
            self.place.path(),
            start,
            encoding,
            request,
            &cx.cancel,
        )?;
        if open.size() == encoding.mark().len() as u64 {
            return Ok(empty());
        }
        if window.lines == 0 {
            let total = window.total.unwrap_or(0);
            return Err(ToolError::invalid(format!(
                "There is no line {} in {}, which has {}.",
                self.offset.saturating_add(1),
                self.place.path().display(),
                super::counted(total as usize, "line")
            ))
            .with_hint("\"start_line\" counts from 1, \"offset\" from 0."));
        }
        let last = self.offset + window.lines;
        let summary = format!(
            "Read lines {}-{last}{} of {}",
            self.offset.saturating_add(1),
            window.total.map(|n| format!(" of {n}")).unwrap_or_default(),
            self.workspace.display_name(&self.place)
        );
        let mut text = window_text(self.offset, &window, encoding, open.size());
        if window.more && self.has_default_limit {
            let most = OUTLINE_BYTES[1].min(room.size / 8);
            text.push_str(&self.outline_beyond(open, encoding, last, most)?);
        }
        let mut result = ToolResult::text(text)
            .with_display(summary)
            .with_data("encoding", encoding.name())
            .with_data("firstLine", self.offset + 1)
            .with_data("lastLine", last);
        if let Some(total) = window.total {
            result = result.with_data("totalLines", total);
        }
        result.view.is_limited = true;
        show_window(sight, self.offset, window);
        Ok(result)
    }

    fn symbols(
        &self,
        open: &OpenFile,
        encoding: Encoding,
    ) -> Result<Option<Vec<Symbol>>, ToolError> {
        let symbols = self.parser.outline_of(&self.place, open, Some(encoding));
        symbols.map_err(|e| gemini_tools_workspace::io_error(&e, self.place.path()))
    }

    fn read_outline(&self, open: &OpenFile, encoding: Encoding) -> Result<ToolResult, ToolError> {
        let name = self.workspace.display_name(&self.place);
        let why = match self.symbols(open, encoding)? {
            Some(symbols) if !symbols.is_empty() => {
                let text = outline_text(&symbols, 0..0, OUTLINE_BYTES[0]);
                return Ok(
                    ToolResult::text(text).with_display(format!("Read the outline of {name}"))
                );
            }
            Some(_) => "nothing is known that it defines",
            None => "it is not parsed",
        };
        Err(ToolError::invalid(format!("There is no outline of {name}: {why}.")).with_hint(
            "Read its lines, without \"outline\". Files are parsed that are in a known language, no larger than 1 MiB, \
             not generated or minified (as one with a line over 5,000 bytes), and take no more than 500 ms.",
        ))
    }

    /// Returns a note on what the file defines outside of the lines that are shown. `last` is the
    /// number of the last of these, from 1.
    fn outline_beyond(
        &self,
        open: &OpenFile,
        encoding: Encoding,
        last: u64,
        most_bytes: usize,
    ) -> Result<String, ToolError> {
        let symbols = self.symbols(open, encoding)?.unwrap_or_default();
        let shown = self.offset as usize + 1..last as usize + 1;
        let text = outline_text(&symbols, shown, most_bytes);
        Ok(match text.as_str() {
            "" => text,
            text => format!(
                "\n[The other lines have these; start_line and end_line read a part.]\n{text}"
            ),
        })
    }
}

/// Notes in `sight` which lines of the file are shown, unless it is the whole file.
pub(super) fn show_window(sight: &mut Option<Sight>, offset: u64, window: Window) {
    let is_part = offset > 0 || window.more || !window.cut_lines.is_empty();
    if let Some(sight) = sight.as_mut().filter(|_| is_part) {
        let last = (offset + window.lines) as usize;
        let end = if window.more { last } else { usize::MAX };
        sight.show_only(offset as usize..end, window.cut_lines);
    }
}

pub(super) fn window_text(offset: u64, window: &Window, encoding: Encoding, size: u64) -> String {
    let mut text = String::new();
    if !encoding.is_utf8() {
        text.push_str(&format!("[Decoded from {}.]\n", encoding.name()));
    }
    let last = offset + window.lines;
    if offset > 0 || window.more || !window.cut_lines.is_empty() {
        let total = match window.total {
            Some(total) => format!("of {total}"),
            None => format!("of a file of {size} bytes whose lines were not counted"),
        };
        text.push_str(&format!("[Showing lines {}-{last} {total}.", offset + 1));
        if window.more {
            let doubt = if window.is_endless {
                " Its last line may be the file's last one."
            } else {
                ""
            };
            text.push_str(&format!(
                "{doubt} To read on, call read_file with offset {last}."
            ));
        }
        text.push_str("]\n");
    }
    if let Some(line) = window.cut_lines.first() {
        text.push_str(&format!(
            "[Lines over {LINE_CHARS} characters are truncated, the first of them line {line}; \
             search_file_content shows the text around a match in those of up to 2 MiB.]\n"
        ));
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text + &window.text
}

fn empty() -> ToolResult {
    ToolResult::text("[The file is empty.]").with_display("The file is empty".to_owned())
}

/// Reads a window of lines, and returns the file's encoding with it. `start` is the beginning of
/// the file, which was read already. If that looks like UTF-8 but the window is not valid UTF-8,
/// the encoding is detected from the file's first bytes beyond ASCII, and the window is read again.
pub(super) fn read_decoded(
    open: &OpenFile,
    path: &Path,
    start: &[u8],
    encoding: Encoding,
    request: WindowRequest,
    cancel: &Cancellation,
) -> Result<(Window, Encoding), ToolError> {
    let window = read_window(open, path, start, encoding, request, cancel)?;
    let is_whole = open.size() <= SAMPLE_BYTES as u64;
    if is_whole || encoding != Encoding::default() || !window.text.contains('\u{fffd}') {
        return Ok((window, encoding));
    }
    let further_on = encoding_of(open).map_err(|e| gemini_tools_workspace::io_error(&e, path))?;
    match further_on.filter(|encoding| encoding.is_legacy()) {
        Some(encoding) => {
            let window = read_window(open, path, start, encoding, request, cancel)?;
            Ok((window, encoding))
        }
        None => Ok((window, encoding)),
    }
}

pub(super) enum FileContent {
    Empty,
    Media(Box<Part>),
    Binary,
    Text { encoding: Encoding, start: Vec<u8> },
}

/// Detects by its beginning what a file holds, and reads a media file whole. One of more than
/// `room` bytes is an error.
pub(super) fn read_content(
    open: &OpenFile,
    place: &WorkspacePath,
    room: u64,
) -> Result<FileContent, ToolError> {
    let path = place.path();
    let fail = |e: std::io::Error| gemini_tools_workspace::io_error(&e, path);
    let size = open.size();
    let sample = beginning(open, SAMPLE_BYTES).map_err(fail)?;
    if sample.is_empty() {
        return Ok(FileContent::Empty);
    }
    let content = detect(&sample, size <= SAMPLE_BYTES as u64);
    let mime = mime_type(&sample, path, content.is_some());
    match (content, mime) {
        // By its name this is a media file; its bytes only look like text in a legacy encoding.
        (Some(encoding), None) if encoding.is_legacy() && is_media_name(path) => {
            Ok(FileContent::Binary)
        }
        (Some(encoding), None) => Ok(FileContent::Text {
            encoding,
            start: sample,
        }),
        (None, None) if size <= MAX_MEDIA_BYTES => Ok(FileContent::Binary),
        _ if size > room => Err(ToolError::new(
            ErrorKind::FileTooLarge,
            format!(
                "{} has {size} bytes and is not text; at most {MAX_MEDIA_BYTES} bytes (20 MB) of media can be read.",
                path.display()
            ),
        )
        .with_hint("Use a smaller version of it.")),
        (None, None) => Ok(FileContent::Binary),
        (_, Some(mime)) => {
            let data = as_base64((&open.file).take(MAX_MEDIA_BYTES), size).map_err(fail)?;
            Ok(FileContent::Media(Box::new(Part::inline_data(mime, data))))
        }
    }
}

/// Encodes a file in base64 while it is read, so that it is not in memory twice.
fn as_base64(mut file: impl Read, size: u64) -> std::io::Result<String> {
    let data = String::with_capacity(usize::try_from(size).unwrap_or(0).div_ceil(3) * 4);
    let mut encoder = EncoderStringWriter::from_consumer(data, &STANDARD);
    std::io::copy(&mut file, &mut encoder)?;
    Ok(encoder.into_inner())
}
