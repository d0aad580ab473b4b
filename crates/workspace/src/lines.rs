//! A window of lines of a file, without loading the file.

use super::OpenFile;
use super::text::{Encoding, FileDecoder};
use gemini_tools_core::scan::{self, count_newlines};
use gemini_tools_core::tool::{Cancellation, ToolError};
use gemini_tools_platform::fd::AsFd;
use std::io;
use std::path::Path;

/// Large enough that the system's copying dominates, small enough for the second-level cache.
const BUFFER_BYTES: usize = 256 * 1024;

/// A lower bound for the buffer, so that a file that has grown since it was opened is not read in tiny
/// pieces.
const MIN_BUFFER_BYTES: usize = 256;

/// Where lines are not counted, a line longer than this ends the window: its end would have to
/// be looked for in the rest of a large file.
const ENDLESS_LINE_BYTES: u64 = 8 * 1024 * 1024;

/// From here on the rest of a file is counted by two threads.
const PARALLEL_COUNT_BYTES: u64 = 32 * 1024 * 1024;

/// Which lines, and how much of them.
#[derive(Debug, Clone, Copy)]
pub struct WindowRequest {
    /// The first line, from 0.
    pub offset: u64,
    /// The most lines.
    pub limit: u64,
    /// Longer lines are cut, in UTF-16 units, the characters of Gemini CLI.
    pub line_chars: usize,
    /// The window ends before the line that would exceed this, in characters.
    pub total_chars: usize,
    /// Whether lines after the window are counted.
    pub count: bool,
}

/// The lines that were asked for.
#[derive(Debug, Default)]
pub struct Window {
    /// Their text, line ends included.
    pub text: String,
    /// How many lines it holds.
    pub lines: u64,
    /// How many lines the file has, where that was counted.
    pub total: Option<u64>,
    /// Whether lines follow the window.
    pub more: bool,
    /// The first line that was cut, from 1.
    pub first_cut_line: Option<u64>,
}

/// Reads a window of lines. `start` is the beginning of the file, which was read already, with its
/// byte order mark.
///
/// # Errors
///
/// `cancelled`, `timeout`, or what the system says.
pub fn read_window(
    open: &OpenFile,
    path: &Path,
    start: &[u8],
    encoding: Encoding,
    request: WindowRequest,
    cancel: &Cancellation,
) -> Result<Window, ToolError> {
    let fail = |e: io::Error| super::io_error(&e, path);
    let mut collector = Collector::new(request);
    collector.out.reserve(start.len());
    let mut decoder = (!encoding.is_utf8()).then(|| FileDecoder::new(encoding));
    let mut piece = String::new();
    let mut push = |collector: &mut Collector, bytes: &[u8], ended| match &mut decoder {
        None => collector.push(bytes),
        Some(decoder) => {
            piece.clear();
            decoder.push(bytes, ended, &mut piece);
            collector.push(piece.as_bytes());
        }
    };
    push(
        &mut collector,
        start.get(encoding.mark().len()..).unwrap_or_default(),
        false,
    );
    let mut position = start.len() as u64;
    // One byte more shows that the file has ended, or has grown.
    let left = usize::try_from((open.size() + 1).saturating_sub(position)).unwrap_or(BUFFER_BYTES);
    let mut buffer = vec![0; left.clamp(MIN_BUFFER_BYTES, BUFFER_BYTES)];
    let mut ended = false;
    while !ended && !collector.done {
        cancel.check()?;
        let n = read_at(&open.file, &mut buffer, position).map_err(fail)?;
        position += n as u64;
        ended = n == 0;
        push(&mut collector, &buffer[..n], ended);
    }
    if ended {
        collector.finish();
    } else if request.count && decoder.is_none() {
        let size = open.size().max(position);
        let count = count_range(open, position, size, cancel).map_err(|e| match e {
            CountError::Stopped(e) => e,
            CountError::System(e) => fail(e),
        })?;
        collector.count_rest(&count);
    } else if request.count {
        while !ended {
            cancel.check()?;
            let n = read_at(&open.file, &mut buffer, position).map_err(fail)?;
            position += n as u64;
            ended = n == 0;
            if let Some(decoder) = &mut decoder {
                piece.clear();
                decoder.push(&buffer[..n], ended, &mut piece);
                let last = piece.as_bytes().last().copied();
                collector.count_rest(&Count {
                    newlines: count_newlines(piece.as_bytes()),
                    last,
                });
            }
        }
    }
    let beyond = !ended && position < open.size();
    Ok(collector.into_window(ended, beyond))
}

/// The first bytes of a file, at most `limit`.
///
/// # Errors
///
/// What the system says.
pub fn beginning(open: &OpenFile, limit: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(open.size()).map_or(limit, |size| size.min(limit))];
    let mut filled = 0;
    while filled < bytes.len() {
        let n = read_at(&open.file, &mut bytes[filled..], filled as u64)?;
        if n == 0 {
            break;
        }
        filled += n;
    }
    bytes.truncate(filled);
    Ok(bytes)
}

fn read_at(file: impl AsFd, buffer: &mut [u8], position: u64) -> io::Result<usize> {
    loop {
        match gemini_tools_platform::io::pread(&file, &mut *buffer, position) {
            Err(gemini_tools_platform::io::Errno::INTR) => {}
            other => return Ok(other?),
        }
    }
}

enum CountError {
    Stopped(ToolError),
    System(io::Error),
}

struct Count {
    newlines: u64,
    last: Option<u8>,
}

/// Counts the line feeds of a range, with two threads where that pays.
fn count_range(
    open: &OpenFile,
    from: u64,
    to: u64,
    cancel: &Cancellation,
) -> Result<Count, CountError> {
    if to - from < PARALLEL_COUNT_BYTES {
        return count_serially(open, from, to, cancel);
    }
    let middle = from + (to - from) / 2;
    std::thread::scope(|scope| {
        let first = scope.spawn(|| count_serially(open, from, middle, cancel));
        let second = count_serially(open, middle, to, cancel)?;
        let first = first
            .join()
            .map_err(|_| CountError::System(io::Error::other("a thread failed")))??;
        Ok(Count {
            newlines: first.newlines + second.newlines,
            last: second.last.or(first.last),
        })
    })
}

fn count_serially(
    open: &OpenFile,
    from: u64,
    to: u64,
    cancel: &Cancellation,
) -> Result<Count, CountError> {
    let length = usize::try_from(to.saturating_sub(from)).unwrap_or(BUFFER_BYTES);
    let mut buffer = vec![0; length.min(BUFFER_BYTES)];
    let mut count = Count {
        newlines: 0,
        last: None,
    };
    let mut position = from;
    while position < to {
        cancel.check().map_err(CountError::Stopped)?;
        let room = usize::try_from(to - position)
            .unwrap_or(BUFFER_BYTES)
            .min(BUFFER_BYTES);
        let n = read_at(&open.file, &mut buffer[..room], position).map_err(CountError::System)?;
        if n == 0 {
            break;
        }
        count.newlines += count_newlines(&buffer[..n]);
        count.last = Some(buffer[n - 1]);
        position += n as u64;
    }
    Ok(count)
}

/// Takes a file's text in pieces and keeps the window.
struct Collector {
    request: WindowRequest,
    /// Whole lines seen so far.
    line: u64,
    /// Bytes of the window.
    out: Vec<u8>,
    /// Where in `out` the current line begins.
    line_at: usize,
    /// All bytes of the current line, also those not kept.
    line_bytes: u64,
    /// Lines in `out`.
    kept: u64,
    /// Characters in the first `counted` bytes of `out`.
    chars: usize,
    counted: usize,
    first_cut_line: Option<u64>,
    /// The window is complete; what follows is only counted.
    done: bool,
    /// Whether anything follows the window.
    more: bool,
    rest: Count,
    last_byte: Option<u8>,
}

impl Collector {
    fn new(request: WindowRequest) -> Self {
        Self {
            request,
            line: 0,
            out: Vec::new(),
            line_at: 0,
            line_bytes: 0,
            kept: 0,
            chars: 0,
            counted: 0,
            first_cut_line: None,
            done: request.limit == 0,
            more: false,
            rest: Count {
                newlines: 0,
                last: None,
            },
            last_byte: None,
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
            let end = scan::position(b'\n', bytes);
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
            self.count_rest(&Count {
                newlines: count_newlines(bytes),
                last: bytes.last().copied(),
            });
        }
    }

    /// Adds what can be shown of a piece of the current line.
    fn keep(&mut self, segment: &[u8]) {
        self.line_bytes += segment.len() as u64;
        // One unit takes at most three bytes; two more let a cut be recognised.
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
        // There are no more characters than bytes: where those fit, nothing is counted.
        if self.chars + self.out.len() - self.counted > self.request.total_chars {
            let new = &self.out[self.counted..];
            self.chars += new.iter().filter(|b| **b & 0xc0 != 0x80).count();
            self.counted = self.out.len();
        }
        if self.chars > self.request.total_chars && self.kept > 0 {
            self.out.truncate(self.line_at);
            self.done = true;
            self.count_rest(&Count {
                newlines: 1,
                last: Some(b'\n'),
            });
            return;
        }
        self.line = number;
        self.kept += 1;
        self.line_at = self.out.len();
        self.line_bytes = 0;
        self.done = self.kept >= self.request.limit;
    }

    /// Shortens the current line where it has too many characters.
    fn cut_line(&mut self, number: u64) {
        let text = String::from_utf8_lossy(&self.out[self.line_at..]);
        let ending = if text.ends_with("\r\n") {
            "\r\n"
        } else if text.ends_with('\n') {
            "\n"
        } else {
            ""
        };
        let body = &text[..text.len() - ending.len()];
        let mut units = 0;
        let cut = body.char_indices().find_map(|(at, c)| {
            units += c.len_utf16();
            (units > self.request.line_chars).then_some(at)
        });
        if let Some(at) = cut {
            let mut short = body[..at].to_owned();
            let is_endless = !self.request.count && self.line_bytes > ENDLESS_LINE_BYTES;
            let more = if is_endless { " or more" } else { "" };
            short.push_str(&format!(
                "... [truncated, the line has {}{more} bytes]\n",
                self.line_bytes
            ));
            self.out.truncate(self.line_at);
            self.out.extend_from_slice(short.as_bytes());
            self.first_cut_line.get_or_insert(number);
        }
    }

    fn count_rest(&mut self, count: &Count) {
        self.more |= count.newlines > 0 || count.last.is_some();
        self.rest.newlines += count.newlines;
        self.rest.last = count.last.or(self.rest.last);
    }

    /// The file has ended: a last line without a line feed counts too.
    fn finish(&mut self) {
        if !self.done && self.line_bytes > 0 {
            self.end_line();
        } else if self.line < self.request.offset && self.last_byte.is_some_and(|b| b != b'\n') {
            self.line += 1;
        }
    }

    fn into_window(self, ended: bool, beyond: bool) -> Window {
        let open_line = u64::from(self.rest.last.is_some_and(|b| b != b'\n'));
        let total = self.line + self.rest.newlines + open_line;
        let counted = ended || (self.request.count && (self.done || self.more));
        let text = String::from_utf8(self.out)
            .unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned());
        Window {
            text,
            lines: self.kept,
            total: counted.then_some(total),
            more: if counted {
                total > self.line
            } else {
                self.more || beyond
            },
            first_cut_line: self.first_cut_line,
        }
    }
}

/// What follows the first `n` line feeds, of which there are enough.
fn after_newlines(bytes: &[u8], mut n: u64) -> &[u8] {
    let mut rest = bytes;
    while n > 0 {
        let block = &rest[..rest.len().min(4096)];
        let here = count_newlines(block);
        if here < n {
            n -= here;
            rest = &rest[block.len()..];
            continue;
        }
        for (i, byte) in block.iter().enumerate() {
            if *byte == b'\n' {
                n -= 1;
                if n == 0 {
                    return &rest[i + 1..];
                }
            }
        }
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::{Collector, Window, WindowRequest};

    fn window(text: &str, piece: usize, offset: u64, limit: u64, count: bool) -> Window {
        let mut collector = Collector::new(WindowRequest {
            offset,
            limit,
            line_chars: 10,
            total_chars: 60,
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
            assert_eq!(w.first_cut_line, Some(4));
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
        // Characters count, not bytes.
        for line in ["123456789\n", "ééééééééé\n"] {
            let w = window(&line.repeat(20), 7, 0, 99, true);
            assert_eq!((w.lines, w.total, w.more), (6, Some(20), true));
        }
    }
}
