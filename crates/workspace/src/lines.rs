//! Reads a window of lines without loading the whole file.

use super::OpenFile;
use super::page_buffer::PageBuffer;
use super::text::{Encoding, SAMPLE_BYTES, detect};
use gemini_tools_core::client_host::{AnswerLimit, SizeUnit};
use gemini_tools_core::text::count_newlines;
use gemini_tools_core::tool::{Cancellation, ToolError};
use rustix::io::{pread, retry_on_intr};
use std::fs::File;
use std::io;
use std::path::Path;

/// Size of the read buffer, in bytes: large enough that copying takes longer than the system calls,
/// and small enough for the level 2 cache.
const BUFFER_BYTES: usize = 256 * 1024;

const MIN_BUFFER_BYTES: usize = 256;

/// Length in bytes of the longest line whose end is searched for if the file's lines are not
/// counted. Without this limit, one long line would make a window cost as much as the whole file.
const ENDLESS_LINE_BYTES: u64 = 8 * 1024 * 1024;

const MAX_DETECTED_BYTES: u64 = 32 * 1024 * 1024;

const CONTEXT_BYTES: u64 = 1024;

/// A request for a window of lines.
#[derive(Debug, Clone, Copy, Default)]
pub struct WindowRequest {
    /// The index of the first line, from 0.
    pub offset: u64,
    /// The maximum number of lines.
    pub limit: u64,
    /// The maximum length of a line in UTF-16 code units, as in Gemini CLI; longer lines are cut.
    pub line_chars: usize,
    /// The maximum size of the window. The window ends before the line that would exceed it, but
    /// has at least one line. The lines are limited by `limit` alone.
    pub size: AnswerLimit,
    /// True to read on after the window and count all lines of the file.
    pub count: bool,
}

/// The lines of a file that a [`WindowRequest`] asks for.
#[derive(Debug, Default)]
pub struct Window {
    /// The text of the lines, with their line ends.
    pub text: String,
    /// The number of lines in the window.
    pub lines: u64,
    /// The number of lines in the file; `None` if the file was not read to its end.
    pub total: Option<u64>,
    /// True if lines follow the window, or may follow it because its last line is endless.
    pub more: bool,
    /// True if the last line is so long that its end was not looked for.
    pub is_endless: bool,
    /// The numbers, from 1, of the lines that were cut.
    pub cut_lines: Vec<u64>,
}

/// Reads a window of lines. `start` is the beginning of the file, with its byte-order mark, which
/// the caller has read already.
///
/// # Errors
///
/// Returns `cancelled`, `timeout`, or the operating system's error.
pub fn read_window(
    open: &OpenFile,
    path: &Path,
    start: &[u8],
    encoding: Encoding,
    request: WindowRequest,
    cancel: &Cancellation,
) -> Result<Window, ToolError> {
    let mut collector = Collector::new(request);
    collector.out.reserve(start.len());
    let mut decoder = (!encoding.is_utf8()).then(|| encoding.decoder());
    let mut text = String::new();
    let mut push = |collector: &mut Collector, bytes: &[u8], ended| match &mut decoder {
        None => collector.push(bytes),
        Some(decoder) => {
            text.clear();
            decoder.push(bytes, ended, &mut text);
            collector.push(text.as_bytes());
        }
    };
    let content = start.get(encoding.mark().len()..).unwrap_or_default();
    push(&mut collector, content, false);
    let mut position = start.len() as u64;
    // With room for one byte more than the file had when it was opened, one read shows whether the
    // file ends there or has grown.
    let left = usize::try_from((open.size() + 1).saturating_sub(position)).unwrap_or(BUFFER_BYTES);
    let mut buffer = PageBuffer::new(left.clamp(MIN_BUFFER_BYTES, BUFFER_BYTES));
    let mut ended = false;
    while !ended && (request.count || !collector.done) {
        cancel.check()?;
        let n =
            read_at(&open.file, &mut buffer, position).map_err(|e| super::io_error(&e, path))?;
        position += n as u64;
        ended = n < buffer.len();
        push(&mut collector, &buffer[..n], ended);
    }
    if ended {
        collector.finish();
    }
    let beyond = !ended && position < open.size();
    Ok(collector.into_window(ended, beyond))
}

/// Returns the first bytes of a file, at most `limit`.
///
/// # Errors
///
/// Returns the operating system's error.
pub fn beginning(open: &OpenFile, limit: usize) -> io::Result<Vec<u8>> {
    read_range(&open.file, 0, open.size().min(limit as u64))
}

/// Recognises the encoding of a file by its beginning or, where that is ASCII, by the text around
/// the first other byte. Returns `None` for a file that is not text.
///
/// # Errors
///
/// Returns the operating system's error.
pub fn encoding_of(open: &OpenFile) -> io::Result<Option<Encoding>> {
    encoding_of_file(&open.file, open.size())
}

/// Recognises the encoding of a regular file of `size` bytes, as [`encoding_of`] does.
///
/// # Errors
///
/// Returns the operating system's error.
pub fn encoding_of_file(file: &File, size: u64) -> io::Result<Option<Encoding>> {
    let start = read_range(file, 0, size.min(SAMPLE_BYTES as u64))?;
    let is_whole = size <= SAMPLE_BYTES as u64;
    if is_whole || !start.is_ascii() {
        return Ok(detect(&start, is_whole));
    }
    if let Some(at) = first_beyond_ascii(file)? {
        let from = at.saturating_sub(CONTEXT_BYTES);
        let sample = read_range(file, from, SAMPLE_BYTES as u64)?;
        let further_on = detect(&sample, from + sample.len() as u64 >= size);
        if further_on.is_some_and(Encoding::is_legacy) {
            return Ok(further_on);
        }
    }
    Ok(detect(&start, false))
}

fn first_beyond_ascii(file: &File) -> io::Result<Option<u64>> {
    let mut buffer = PageBuffer::new(BUFFER_BYTES);
    let mut at = SAMPLE_BYTES as u64;
    while at < MAX_DETECTED_BYTES {
        let n = read_at(file, &mut buffer, at)?;
        let piece = &buffer[..n];
        if !piece.is_ascii() {
            let found = piece.iter().position(|b| !b.is_ascii());
            return Ok(found.map(|found| at + found as u64));
        }
        if n < BUFFER_BYTES {
            break;
        }
        at += n as u64;
    }
    Ok(None)
}

/// Reads `length` bytes from `position` on, fewer if the file ends before. The file's position
/// stays.
///
/// # Errors
///
/// Returns the operating system's error.
pub fn read_range(file: &File, position: u64, length: u64) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(length).unwrap_or(0)];
    let filled = read_at(file, &mut bytes, position)?;
    bytes.truncate(filled);
    Ok(bytes)
}

/// Reads from `position` on until the buffer is full or the file ends. Returns how many bytes were
/// read. The file's own position does not change.
///
/// # Errors
///
/// Returns the operating system's error.
pub fn read_at(file: &File, buffer: &mut [u8], position: u64) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        let read = || pread(file, &mut buffer[filled..], position + filled as u64);
        match retry_on_intr(read)? {
            0 => break,
            n => filled += n,
        }
    }
    Ok(filled)
}

/// Collects a window of lines in `out`. Only the first `counted` bytes of it have been counted, and
/// have the size `sized`: counting is put off until the limit may be reached. Once the window is
/// complete (`done`), further lines are only counted.
#[derive(Default)]
struct Collector {
    request: WindowRequest,
    line: u64,
    out: Vec<u8>,
    line_at: usize,
    line_bytes: u64,
    kept: u64,
    sized: usize,
    counted: usize,
    cut_lines: Vec<u64>,
    done: bool,
    more: bool,
    is_endless: bool,
    rest_newlines: u64,
    last_byte: Option<u8>,
}

impl Collector {
    fn new(request: WindowRequest) -> Self {
        Self {
            request,
            done: request.limit == 0,
            ..Self::default()
        }
    }

    fn push(&mut self, mut bytes: &[u8]) {
        self.last_byte = bytes.last().copied().or(self.last_byte);
        if self.line < self.request.offset {
            let here = count_newlines(bytes);
            if self.line + here < self.request.offset {
                self.line += here;
                return;
            }
            let skip = self.request.offset - self.line;
            bytes = after_newlines(bytes, skip);
            self.line = self.request.offset;
        }
        while !bytes.is_empty() && !self.done {
            let end = memchr::memchr(b'\n', bytes);
            let (segment, next) = bytes.split_at(end.map_or(bytes.len(), |i| i + 1));
            bytes = next;
            self.keep(segment);
            if end.is_some() {
                self.end_line();
            } else if !self.request.count && self.line_bytes > ENDLESS_LINE_BYTES {
                self.end_line();
                self.done = true;
                self.more = true;
            }
        }
        if self.done && !bytes.is_empty() {
            self.rest_newlines += count_newlines(bytes);
            self.more = true;
        }
    }

    fn keep(&mut self, segment: &[u8]) {
        self.line_bytes += segment.len() as u64;
        // `line_chars` counts UTF-16 code units, each of which takes at most three bytes in UTF-8.
        // Eight more bytes are kept, so that `cut_line` sees when a line is longer.
        let most = self.request.line_chars * 3 + 8;
        let have = self.out.len() - self.line_at;
        let take = segment.len().min(most.saturating_sub(have));
        self.out.extend_from_slice(&segment[..take]);
    }

    fn end_line(&mut self) {
        let number = self.line + 1;
        if self.out.len() - self.line_at > self.request.line_chars {
            self.cut_line(number);
        }
        // The size of a text is at most its bytes, or for JSON six times as many, so that the count
        // can wait until these exceed the limit.
        let AnswerLimit { size, unit, .. } = self.request.size;
        let of_byte = unit.of_char('\0');
        if self.sized + (self.out.len() - self.counted) * of_byte > size {
            let new = &self.out[self.counted..];
            self.sized += match unit {
                SizeUnit::Chars => new.iter().filter(|b| **b & 0xc0 != 0x80).count(),
                _ => unit.of_text(&String::from_utf8_lossy(new)),
            };
            self.counted = self.out.len();
        }
        if self.sized > size && self.kept > 0 {
            self.out.truncate(self.line_at);
            self.done = true;
            self.rest_newlines += 1;
            self.more = true;
            return;
        }
        self.line = number;
        self.kept += 1;
        self.line_at = self.out.len();
        self.line_bytes = 0;
        self.done = self.kept >= self.request.limit;
    }

    fn cut_line(&mut self, number: u64) {
        let text = String::from_utf8_lossy(&self.out[self.line_at..]);
        let body = text.strip_suffix("\r\n").or(text.strip_suffix('\n'));
        let body = body.unwrap_or(&text);
        let mut units = 0;
        let cut = body.char_indices().find_map(|(at, c)| {
            units += c.len_utf16();
            (units > self.request.line_chars).then_some(at)
        });
        if let Some(at) = cut {
            let mut short = body[..at].to_owned();
            self.is_endless = !self.request.count && self.line_bytes > ENDLESS_LINE_BYTES;
            let more = if self.is_endless { " or more" } else { "" };
            short.push_str(&format!(
                "... [truncated, the line has {}{more} bytes]\n",
                self.line_bytes
            ));
            self.out.truncate(self.line_at);
            self.out.extend_from_slice(short.as_bytes());
            self.cut_lines.push(number);
        }
    }

    fn finish(&mut self) {
        if !self.done && self.line_bytes > 0 {
            self.end_line();
            self.last_byte = None;
        } else if self.line < self.request.offset && self.last_byte.is_some_and(|b| b != b'\n') {
            self.line += 1;
        }
    }

    fn into_window(self, ended: bool, beyond: bool) -> Window {
        let is_open = self.more && self.last_byte.is_some_and(|b| b != b'\n');
        let total = self.line + self.rest_newlines + u64::from(is_open);
        let text = String::from_utf8(self.out)
            .unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned());
        Window {
            text,
            lines: self.kept,
            total: ended.then_some(total),
            more: if ended {
                total > self.line
            } else {
                self.more || beyond
            },
            cut_lines: self.cut_lines,
            is_endless: self.is_endless,
        }
    }
}

fn after_newlines(bytes: &[u8], n: u64) -> &[u8] {
    let nth = usize::try_from(n - 1).unwrap_or(usize::MAX);
    let last = memchr::memchr_iter(b'\n', bytes).nth(nth);
    last.map_or(&[], |at| &bytes[at + 1..])
}

#[cfg(test)]
mod tests {
    use super::{AnswerLimit, Collector, SizeUnit, Window, WindowRequest};

    fn window(text: &str, piece: usize, offset: u64, limit: u64, count: bool) -> Window {
        let mut collector = Collector::new(WindowRequest {
            offset,
            limit,
            line_chars: 10,
            size: AnswerLimit::new(60, SizeUnit::Chars),
            count,
        });
        for piece in text.as_bytes().chunks(piece) {
            collector.push(piece);
        }
        collector.finish();
        collector.into_window(true, false)
    }

    #[test]
    fn windows_are_the_same_however_the_file_is_cut_into_pieces() {
        let text = "a\nbb\n\nccccccccccccccccccccé\r\nd\ne";
        for piece in 1..=text.len() {
            let w = window(text, piece, 1, 3, true);
            assert_eq!(
                w.text,
                "bb\n\ncccccccccc... [truncated, the line has 24 bytes]\n"
            );
            assert_eq!((w.lines, w.total, w.more), (3, Some(6), true), "{piece}");
            assert_eq!(w.cut_lines, [4]);
            let w = window(text, piece, 4, 9, true);
            assert_eq!(
                (w.text.as_str(), w.lines, w.total, w.more),
                ("d\ne", 2, Some(6), false)
            );
            let w = window(text, piece, 9, 9, true);
            assert_eq!(
                (w.text.as_str(), w.lines, w.total, w.more),
                ("", 0, Some(6), false)
            );
        }
    }

    #[test]
    fn the_window_ends_before_the_line_that_is_too_much() {
        // The limit counts characters, not bytes.
        for line in ["123456789\n", "ééééééééé\n"] {
            let w = window(&line.repeat(20), 7, 0, 99, true);
            assert_eq!((w.lines, w.total, w.more), (6, Some(20), true));
        }
    }
}
