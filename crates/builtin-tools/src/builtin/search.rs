//! Searches one file for lines: the engine behind `search_file_content`.
//!
//! # How it works
//!
//! `grep-searcher` finds the lines that a [`LineMatcher`] says match. [`FileSearcher::search`]
//! reads a file into a buffer with one call. A UTF-8 file of less than `BUFFER_BYTES` fits and is
//! searched as one text; any other goes through a second buffer in blocks of whole lines. It grows
//! up to `MAX_LINE_BYTES` for a long line with the context before it. A longer line ends the search
//! of its file, and the answer says so.
//!
//! `grep-searcher` recognises encodings by a byte order mark only, so a file that is not UTF-8 is
//! decoded here. A file with a zero byte is binary: it is searched up to `BINARY_BYTES` behind the
//! first zero byte, and the answer says that it matches, but shows no line of it. `HitSink` keeps
//! the lines to show, up to [`MAX_BYTES`] of one file and of one call. Beyond that the answer is
//! cut, as it is at the limit of matches.
//!
//! `query` decides what a pattern means, `search_file_content` and `workspace::walk` which files
//! are searched.

use super::query::{LineMatcher, Query};
use gemini_tools_core::text::{count_newlines, counted};
use gemini_tools_core::tool::{Cancellation, ErrorKind, ResultPlaces, ToolError};
use gemini_tools_workspace::PageBuffer;
use gemini_tools_workspace::lines::encoding_of_file;
use gemini_tools_workspace::text::{DecodedReader, Encoding, detect};
use gemini_tools_workspace::walk::WalkEntry;
use grep_matcher::{Match, Matcher};
use grep_searcher::{
    MmapChoice, Searcher, SearcherBuilder, Sink, SinkContext, SinkError, SinkMatch,
};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::borrow::Cow;
use std::cell::Cell;
use std::fs::File;
use std::io::Read;
use std::ops::Range;

pub(super) const BUFFER_BYTES: usize = 256 * 1024;

pub(super) const MAX_LINE_BYTES: usize = 2 * 1024 * 1024;

const BINARY_BYTES: usize = 1024 * 1024;

pub(super) const MAX_BYTES: usize = 4 * 1024 * 1024;

const LINE_BYTES: usize = 64;

const LINE_CHARS: usize = 2_000;

pub(super) const MAX_CONTEXT_LINES: u64 = 10_000;

/// A line of the answer. The columns are where its first match begins and ends, from 1, in the unit
/// of [`ResultPlaces`]; they are `None` if that is not wanted or not known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ShownLine {
    pub(super) number: u64,
    pub(super) is_match: bool,
    pub(super) text: Box<str>,
    pub(super) column: Option<u64>,
    pub(super) end_column: Option<u64>,
}

#[derive(Debug, Default)]
pub(super) struct Hits {
    pub(super) count: u64,
    pub(super) is_binary: bool,
    pub(super) lines: Vec<ShownLine>,
    pub(super) bytes: usize,
    pub(super) is_cut: bool,
    pub(super) unsearched: Option<String>,
}

/// What a search shows: the lines `before` and `after` a match, and at most `most` matches of a
/// file. Without `lines`, matches are only counted.
#[derive(Debug, Clone, Copy)]
pub(super) struct SearchRequest {
    pub(super) before: u64,
    pub(super) after: u64,
    pub(super) most: u64,
    pub(super) lines: bool,
    pub(super) places: ResultPlaces,
}

impl SearchRequest {
    pub(super) fn has_places(&self) -> bool {
        self.places != ResultPlaces::Unwanted
    }
}

/// Returns the number of a file's matches. `None` means that only the file's name is shown, which
/// counts as one.
pub(super) fn count_of(hits: Option<&Hits>) -> u64 {
    hits.map_or(1, |hits| hits.count)
}

pub(super) fn number(name: &str, value: Option<f64>, least: u64) -> Result<Option<u64>, ToolError> {
    match value {
        None => Ok(None),
        Some(n) if n >= least as f64 => Ok(Some(n as u64)),
        Some(n) => Err(ToolError::invalid(format!(
            "\"{name}\" must be at least {least}, but it is {n}."
        ))),
    }
}

pub(super) fn context_lines(name: &str, value: Option<f64>) -> Result<Option<u64>, ToolError> {
    match number(name, value, 0)? {
        Some(n) if n > MAX_CONTEXT_LINES => Err(ToolError::invalid(format!(
            "\"{name}\" must be at most {MAX_CONTEXT_LINES}, but it is {n}."
        ))),
        other => Ok(other),
    }
}

#[derive(Debug)]
pub(super) enum Failure {
    Read(std::io::Error),
    Search(String),
    Stopped(ToolError),
}

impl Failure {
    pub(super) fn into_error(self) -> ToolError {
        match self {
            Failure::Read(e) => ToolError::new(
                ErrorKind::GrepExecutionError,
                format!("A file can't be read: {e}."),
            )
            .with_source(e),
            Failure::Search(e) => ToolError::new(
                ErrorKind::GrepExecutionError,
                format!("The search failed: {e}."),
            ),
            Failure::Stopped(e) => e,
        }
    }
}

impl SinkError for Failure {
    fn error_message<T: std::fmt::Display>(message: T) -> Self {
        Self::Search(message.to_string())
    }

    fn error_io(error: std::io::Error) -> Self {
        Self::Read(error)
    }
}

pub(super) const SEARCHED: OFlags = OFlags::RDONLY
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// Opens a file that a walk has found.
pub fn open_found(found: &WalkEntry<'_>) -> std::io::Result<File> {
    let file = rustix::fs::openat(found.dir, found.name, SEARCHED, Mode::empty())?;
    Ok(File::from(file))
}

/// Returns true for an error of a file that was removed after the walk had found it, or replaced by
/// a link, a socket or a directory. A walk that comes later would not see it either.
pub fn is_gone(e: &std::io::Error) -> bool {
    let gone = [Errno::NOENT, Errno::LOOP, Errno::NXIO, Errno::ISDIR];
    Errno::from_io_error(e).is_some_and(|e| gone.contains(&e))
}

pub(super) struct FileSearcher<'a> {
    query: &'a Query,
    except: Option<&'a Query>,
    cancel: &'a Cancellation,
    request: SearchRequest,
    searcher: Searcher,
    buffer: Option<PageBuffer>,
}

impl<'a> FileSearcher<'a> {
    pub(super) fn new(
        query: &'a Query,
        except: Option<&'a Query>,
        cancel: &'a Cancellation,
        request: SearchRequest,
    ) -> Self {
        let context = |lines: u64| {
            let lines = if request.lines { lines } else { 0 };
            usize::try_from(lines).unwrap_or(usize::MAX)
        };
        let searcher = SearcherBuilder::new()
            .before_context(context(request.before))
            .after_context(context(request.after))
            .line_number(request.lines)
            .max_matches(Some(request.most))
            .memory_map(MmapChoice::never())
            .bom_sniffing(false)
            .heap_limit(Some(MAX_LINE_BYTES))
            .build();
        Self {
            query,
            except,
            cancel,
            request,
            searcher,
            buffer: None,
        }
    }

    pub(super) fn search(&mut self, file: &mut File) -> Result<Option<Hits>, Failure> {
        let buffer = self.buffer.take();
        let mut buffer = buffer.unwrap_or_else(|| PageBuffer::new(BUFFER_BYTES));
        // A read of a regular file fills the buffer unless the file ends there.
        let hits = file.read(&mut buffer).map_err(Failure::Read);
        let hits = hits.and_then(|filled| self.search_from(&buffer[..filled], file));
        self.buffer = Some(buffer);
        self.cancel.check().map_err(Failure::Stopped)?;
        hits
    }

    fn search_from(&mut self, start: &[u8], file: &File) -> Result<Option<Hits>, Failure> {
        let (encoding, text) = beginning(start);
        let given_up = Cell::new(0);
        let matcher = LineMatcher {
            query: self.query,
            except: self.except,
            cancel: self.cancel,
            given_up: &given_up,
        };
        let mut sink = HitSink {
            matcher,
            request: self.request,
            hits: Hits::default(),
            whole: &[],
            is_binary: false,
        };
        let has_zero = if encoding.is_none() && start.len() < BUFFER_BYTES {
            sink.whole = text;
            self.searcher.search_slice(matcher, text, &mut sink)?;
            sink.is_binary
        } else {
            let is_ascii = encoding.is_none() && start.is_ascii();
            let ascii = is_ascii.then_some(file);
            self.search_blocks(encoding, text.chain(file), ascii, &mut sink)?
        };
        let mut hits = sink.hits;
        if given_up.get() > 0 {
            let lines = counted(given_up.get(), "line");
            let reason = format!("the pattern takes too long on {lines}");
            hits.unsearched.get_or_insert(reason);
        }
        if hits.count == 0 && hits.unsearched.is_none() {
            return Ok(None);
        }
        hits.is_binary = has_zero;
        Ok(Some(hits))
    }

    fn search_blocks<'f>(
        &mut self,
        encoding: Option<Encoding>,
        file: impl Read + 'f,
        ascii: Option<&'f File>,
        sink: &mut HitSink<'_>,
    ) -> Result<bool, Failure> {
        let mut blocks = Blocks::new(encoding, file, ascii, self.cancel);
        let searcher = &mut self.searcher;
        let result = searcher.search_reader(sink.matcher, &mut blocks, &mut *sink);
        let is_binary = blocks.has_zero && encoding.is_none();
        match result {
            // Errors of the operating system have a number. An error without one means that a line
            // is longer than the searcher's limit.
            Err(Failure::Read(e)) if e.raw_os_error().is_none() => {
                if !is_binary {
                    sink.hits.unsearched = Some(too_long(blocks.lines + 1, self.request));
                }
            }
            result => result?,
        }
        Ok(is_binary)
    }
}

fn too_long(line: u64, request: SearchRequest) -> String {
    let context = if request.before > 0 {
        " with the context before it"
    } else {
        ""
    };
    let most = MAX_LINE_BYTES / (1024 * 1024);
    format!("line {line}{context} is longer than {most} MiB")
}

/// Returns the encoding of a file that begins with `start`, and `start` without its byte order
/// mark. The encoding is `None` for UTF-8 and for a file that is not text. If `start` is shorter
/// than [`BUFFER_BYTES`], it is the whole file.
pub(super) fn beginning(start: &[u8]) -> (Option<Encoding>, &[u8]) {
    // The check of the standard library would take a fifth of the instructions of a whole search.
    let is_utf8 = simdutf8::basic::from_utf8(start).is_ok();
    // Text in UTF-16 may be valid UTF-8 as well, but then it has zero bytes.
    let encoding = if is_utf8 && memchr::memchr(0, start).is_none() {
        None
    } else {
        detect(start, start.len() < BUFFER_BYTES).filter(|e| !e.is_utf8())
    };
    let mark = encoding.map_or(b"\xef\xbb\xbf".as_slice(), Encoding::mark);
    (encoding, start.strip_prefix(mark).unwrap_or(start))
}

/// A reader that gives the text of a file in blocks, as UTF-8 if its encoding is known. It ends
/// early if the call is cancelled, or `BINARY_BYTES` after the first zero byte. `ascii` is the file
/// itself as long as everything that was read of it is ASCII, and so does not tell its encoding.
pub(super) struct Blocks<'a> {
    inner: Box<dyn Read + 'a>,
    ascii: Option<&'a File>,
    cancel: &'a Cancellation,
    lines: u64,
    has_zero: bool,
    binary_bytes: usize,
}

impl<'a> Blocks<'a> {
    pub(super) fn new(
        encoding: Option<Encoding>,
        file: impl Read + 'a,
        ascii: Option<&'a File>,
        cancel: &'a Cancellation,
    ) -> Self {
        Self {
            inner: match encoding {
                Some(encoding) => Box::new(DecodedReader::new(file, encoding)),
                None => Box::new(file),
            },
            ascii,
            cancel,
            lines: 0,
            has_zero: false,
            binary_bytes: 0,
        }
    }

    pub(super) fn has_zero(&self) -> bool {
        self.has_zero
    }

    /// Decodes the file from here on if it is in an older encoding, such as Windows-1252, which its
    /// first bytes beyond ASCII tell. `buffer` begins with `n` bytes that are not decoded. Returns
    /// how many bytes are in `buffer` afterwards.
    fn decoded(&mut self, file: &File, buffer: &mut [u8], n: usize) -> std::io::Result<usize> {
        let encoding = encoding_of_file(file, file.metadata()?.len())?;
        let Some(encoding) = encoding.filter(|encoding| encoding.is_legacy()) else {
            return Ok(n);
        };
        let empty: Box<dyn Read> = Box::new(std::io::empty());
        let rest = std::io::Cursor::new(buffer[..n].to_vec());
        let rest = rest.chain(std::mem::replace(&mut self.inner, empty));
        self.inner = Box::new(DecodedReader::new(rest, encoding));
        self.inner.read(buffer)
    }
}

impl Read for Blocks<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.binary_bytes >= BINARY_BYTES || self.cancel.check().is_err() {
            return Ok(0);
        }
        let mut n = self.inner.read(buffer)?;
        if let Some(file) = self.ascii.filter(|_| !buffer[..n].is_ascii()) {
            self.ascii = None;
            n = self.decoded(file, buffer, n)?;
        }
        let first = || memchr::memchr(0, &buffer[..n]);
        if let Some(zero) = self.has_zero.then_some(0).or_else(first) {
            self.has_zero = true;
            // Where it ends must not depend on how much is read at once.
            n = n.min(zero + BINARY_BYTES - self.binary_bytes);
            self.binary_bytes += n - zero;
        }
        self.lines += count_newlines(&buffer[..n]);
        Ok(n)
    }
}

struct HitSink<'a> {
    matcher: LineMatcher<'a>,
    request: SearchRequest,
    hits: Hits,
    whole: &'a [u8],
    is_binary: bool,
}

impl HitSink<'_> {
    fn push_match(&mut self, number: u64, line: &[u8]) {
        let text = String::from_utf8_lossy(line);
        let places = self.request.places;
        let is_placed = self.request.has_places() || line.len() > LINE_CHARS;
        let found = if is_placed {
            // If the engine gives up on the line, the place of the match is not known.
            let found = self.matcher.find(text.as_bytes());
            found.unwrap_or_default()
        } else {
            None
        };
        let found = found.unwrap_or(Match::zero(0));
        let column = |at: usize| {
            let before = text.get(..at).unwrap_or_default();
            let before = match places {
                ResultPlaces::Matches => before.chars().count(),
                // What reads lines as grep prints them, such as an editor, counts bytes.
                ResultPlaces::Items => before.len(),
                _ => return None,
            };
            Some(before as u64 + 1)
        };
        let columns = [column(found.start()), column(found.end())];
        self.push(number, columns, true, &cut(&text, found.start()));
    }

    fn push_context(&mut self, number: u64, line: &[u8]) {
        let is_excepted = self.matcher.is_excepted(line);
        let is_excepted = is_excepted.unwrap_or_else(|_| {
            self.matcher.give_up();
            true
        });
        if !is_excepted && self.hits.bytes < MAX_BYTES {
            let text = String::from_utf8_lossy(line);
            self.push(number, [None, None], false, &cut(&text, 0));
        }
    }

    fn push(&mut self, number: u64, columns: [Option<u64>; 2], is_match: bool, text: &str) {
        self.hits.bytes += LINE_BYTES + text.len();
        self.hits.lines.push(ShownLine {
            number,
            is_match,
            // Nothing is escaped, so that text copied from the answer is found by an edit.
            text: text.into(),
            column: columns[0],
            end_column: columns[1],
        });
    }
}

impl Sink for HitSink<'_> {
    type Error = Failure;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, Failure> {
        let line = without_line_feed(found.bytes());
        let number = found.line_number().unwrap_or_default();
        if self.hits.count == self.request.most {
            // No more matches are wanted, so this line is only context after the last one.
            self.push_context(number, line);
            return Ok(true);
        }
        self.hits.count += 1;
        if self.hits.count == 1 && memchr::memchr(0, self.whole).is_some() {
            // No line of a binary file is shown, so one match is as good as many.
            self.is_binary = true;
            return Ok(false);
        }
        if self.request.lines {
            self.push_match(number, line);
        }
        self.hits.is_cut = self.hits.count >= self.request.most || self.hits.bytes >= MAX_BYTES;
        Ok(self.hits.bytes < MAX_BYTES)
    }

    fn context(&mut self, _: &Searcher, found: &SinkContext<'_>) -> Result<bool, Failure> {
        let number = found.line_number().unwrap_or_default();
        self.push_context(number, without_line_feed(found.bytes()));
        Ok(true)
    }
}

pub(super) fn without_line_feed(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\n").unwrap_or(line)
}

/// Shortens a long line to the text around its match, which begins at byte `at`.
pub(super) fn cut(line: &str, at: usize) -> Cow<'_, str> {
    let line = line.trim_end_matches(['\r', '\n']);
    let part = around(line, at, LINE_CHARS);
    if part.len() == line.len() {
        return Cow::Borrowed(line);
    }
    let head = if part.start > 0 { "... " } else { "" };
    let tail = if part.end < line.len() {
        "... [truncated]"
    } else {
        ""
    };
    Cow::Owned(format!("{head}{}{tail}", &line[part]))
}

/// Returns the part of a line to show, which has at most `most` characters: all of the line if it
/// is no longer, otherwise the text around a match that begins at byte `at`.
pub(super) fn around(line: &str, at: usize, most: usize) -> Range<usize> {
    if line.len() <= most || line.chars().nth(most).is_none() {
        return 0..line.len();
    }
    let mut from = if at < most / 2 { 0 } else { at - most / 4 };
    while !line.is_char_boundary(from) {
        from -= 1;
    }
    let to = line[from..].char_indices().nth(most);
    from..to.map_or(line.len(), |(i, _)| from + i)
}

#[cfg(test)]
mod tests;
