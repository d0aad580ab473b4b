//! Replacing a text in a file, byte by byte outside of the text.
//!
//! # How it works
//!
//! [`find`] encodes the text to look for as the file is encoded (`Needle`) and scans the bytes of
//! the file, in pieces that overlap by the length of the text, whatever the size of the file.
//! Nothing is decoded but what is shown. The first reading is exact. If it finds nothing, the
//! second lets each line end of the text stand for any: the longest line of the text is looked
//! for, and the lines before and after it are compared around each candidate. Both readings give
//! places in order and without overlap.
//!
//! Bytes that are alike are not always the same text. `Needle::is_boundary` refuses a place within
//! a character: in UTF-16 by its offset, in an older encoding of several bytes by
//! decoding from the last line feed (such a file is scanned as one piece). No place begins or ends
//! within `\r\n`.
//!
//! A [`Replacement`] holds the places and the new text, with the line ends of the file, whichever
//! the texts have. If the file has several kinds, each place has a text of its own
//! (`line_endings`). [`Replacement::write`] copies the file and puts the new text in, and
//! [`Replacement::diff`] reads only the lines around each place.
//!
//! Outside of the places each byte stays as it was, also bytes that are not valid in the file's
//! encoding. How often a text may occur is up to the tools, finding a text that differs up to
//! `edit_match`, and putting the new content into place, whole or not at all, up to
//! `workspace::write`.

use super::OpenFile;
use super::diff::{Algorithm, DiffOp, diff_lines, group_diff_ops};
use super::line_endings::{Survey, Surveyor, with_end, with_own_ends};
use super::text::{Encoding, LineEnding};
use gemini_tools_core::scan::{self, Finder, count_newlines};
use gemini_tools_core::tool::{Cancellation, DiffStat, ErrorKind, ToolError};
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::time::{Duration, Instant};

/// Pieces in which a file is scanned; more only where the text itself is longer.
const PIECE_BYTES: usize = 1024 * 1024;

/// Pieces in which unchanged content is copied.
const COPY_BYTES: usize = 512 * 1024;

/// Lines around a change that a diff shows.
const CONTEXT_LINES: usize = 3;

/// No further than this is looked for the lines around a change.
const CONTEXT_BYTES: u64 = 32 * 1024;

/// Maximum bytes of a character in an older encoding: those of GB18030.
const LONGEST_CHARACTER_BYTES: usize = 4;

/// Changes that a diff shows.
const DIFF_PLACES: usize = 200;

/// The most places that one call replaces: each takes some memory until all are known.
pub const MAX_PLACES: usize = 200_000;

/// The most that line ends of their own may take at all places, in bytes.
const MAX_OWN_BYTES: usize = 8 * 1024 * 1024;

/// A longer text is not compared with another, and not shown whole.
pub const SHOWN_BYTES: usize = 1024 * 1024;

/// Nor is one with more lines.
const SHOWN_LINES: u64 = 100_000;

/// After this the rest of a comparison is coarse.
const DIFF_TIME: Duration = Duration::from_millis(500);

/// Where the text was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Match {
    /// First byte.
    pub start: u64,
    /// After the last byte.
    pub end: u64,
    /// From 1.
    pub line: u64,
}

/// The text to look for, encoded.
struct Needle {
    /// All of it, as it is.
    whole: Finder,
    /// All of it, with line feeds as line ends. Its lines are not taken apart: a text may be a
    /// million of them.
    plain: Vec<u8>,
    has_lines: bool,
    /// The longest line, by which candidates are looked for, or the last line feed where all lines
    /// are empty, and its place in `plain`.
    anchor: (std::ops::Range<usize>, Finder),
    newline: Vec<u8>,
    carriage_return: Vec<u8>,
    encoding: Encoding,
    longest: usize,
}

/// All places of a text in a file.
#[derive(Debug, Default)]
pub struct Occurrences {
    /// The places, in order, without overlap.
    pub matches: Vec<Match>,
    /// Whether the line ends in the text had to stand for others.
    pub by_line_ending: bool,
}

/// The edit can't be expressed in the file's encoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unmappable(pub char);

/// Finds every place of `old` in a file.
///
/// # Errors
///
/// `Ok(Err(_))` where the file's encoding can't hold the text; else what the system says.
pub fn find(
    open: &OpenFile,
    path: &Path,
    encoding: Encoding,
    old: &str,
    cancel: &Cancellation,
) -> Result<Result<Occurrences, Unmappable>, ToolError> {
    let needle = match Needle::new(old, encoding) {
        Ok(needle) => needle,
        Err(c) => return Ok(Err(Unmappable(c))),
    };
    let exact = scan(open, path, &needle, Reading::Exact, cancel)?;
    if !exact.is_empty() || !needle.has_lines {
        return Ok(Ok(Occurrences {
            matches: exact,
            by_line_ending: false,
        }));
    }
    let matches = scan(open, path, &needle, Reading::Loose, cancel)?;
    Ok(Ok(Occurrences {
        by_line_ending: !matches.is_empty(),
        matches,
    }))
}

/// How the text is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reading {
    /// Byte by byte. Time is linear.
    Exact,
    /// A line end stands for any kind.
    Loose,
}

impl Needle {
    fn new(old: &str, encoding: Encoding) -> Result<Self, char> {
        let encode = |text: &str| encoding.encode(text).map(std::borrow::Cow::into_owned);
        let plain = encode(&with_end(old, LineEnding::Lf))?;
        let (newline, carriage_return) = (encode("\n")?, encode("\r")?);
        let whole = encode(old)?;
        let mut needle = Self {
            whole: Finder::new(&whole),
            has_lines: false,
            anchor: (0..0, Finder::new(&newline)),
            newline,
            carriage_return,
            encoding,
            longest: 0,
            plain,
        };
        let (mut anchor, mut start, mut ends) = (0..0, 0, 0);
        loop {
            let end = needle.newline_in(&needle.plain, start, needle.plain.len(), false);
            let line = start..end.unwrap_or(needle.plain.len());
            if line.len() > anchor.len() {
                anchor = line;
            }
            let Some(end) = end else { break };
            start = end + needle.newline.len();
            ends += 1;
        }
        if anchor.is_empty() {
            anchor = start - needle.newline.len().min(start)..start;
        }
        needle.has_lines = ends > 0;
        needle.longest = needle.plain.len() + ends * needle.newline.len();
        needle.longest = needle.longest.max(whole.len());
        needle.anchor = (anchor.clone(), Finder::new(&needle.plain[anchor]));
        Ok(needle)
    }

    /// The first place from `from` on.
    fn next(
        &self,
        text: &[u8],
        mut from: usize,
        reading: Reading,
        cancel: &Cancellation,
    ) -> Result<Option<(usize, usize)>, ToolError> {
        // A place may begin before a candidate that was none.
        let floor = from;
        let mut tries = 0_u32;
        loop {
            tries += 1;
            if tries.is_multiple_of(256) {
                cancel.check()?;
            }
            let rest = text.get(from..).unwrap_or_default();
            match reading {
                Reading::Exact => {
                    let Some(i) = self.whole.find(rest) else {
                        return Ok(None);
                    };
                    let (start, end) = (from + i, from + i + self.whole.needle().len());
                    if !self.is_within_end(text, start) && !self.is_within_end(text, end) {
                        return Ok(Some((start, end)));
                    }
                    from = start + 1;
                }
                Reading::Loose => {
                    let Some(i) = self.anchor.1.find(rest) else {
                        return Ok(None);
                    };
                    if let Some((start, end)) = self.around(text, from + i)
                        && start >= floor
                    {
                        return Ok(Some((start, end)));
                    }
                    from += i + 1;
                }
            }
        }
    }

    /// Returns true if a position is between the halves of a line end.
    fn is_within_end(&self, text: &[u8], at: usize) -> bool {
        text[at..].starts_with(&self.newline) && text[..at].ends_with(&self.carriage_return)
    }

    /// Tries the text around a candidate for the anchor: where it begins and ends.
    fn around(&self, text: &[u8], at: usize) -> Option<(usize, usize)> {
        let (anchor, _) = &self.anchor;
        let (unit, length) = (self.newline.len(), self.plain.len());
        if at < anchor.start || text.len() - at < length - anchor.start {
            return None;
        }
        let mut end = at + anchor.len();
        let mut own = anchor.end;
        while own < length {
            if self.plain[own..].starts_with(&self.newline) {
                end += self.end_at(text.get(end..)?)?;
                own += unit;
            }
            let line = own..self
                .newline_in(&self.plain, own, length, false)
                .unwrap_or(length);
            if !text.get(end..)?.starts_with(&self.plain[line.clone()]) {
                return None;
            }
            end += line.len();
            own = line.end;
        }
        let mut start = at;
        let mut own = anchor.start;
        // An anchor that is a line feed may be the second half of a line end.
        if self.is_within_end(text, start) {
            start -= unit;
        }
        while own > 0 {
            if self.plain[..own].ends_with(&self.newline) {
                start -= self.end_before(&text[..start])?;
                own -= unit;
            }
            let line = self.newline_in(&self.plain, 0, own, true);
            let line = line.map_or(0, |at| at + unit)..own;
            if !text[..start].ends_with(&self.plain[line.clone()]) {
                return None;
            }
            start -= line.len();
            own = line.start;
        }
        let is_split = self.is_within_end(text, start) || self.is_within_end(text, end);
        (!is_split).then_some((start, end))
    }

    /// Returns the length of the line end that a text begins with.
    fn end_at(&self, text: &[u8]) -> Option<usize> {
        let unit = self.newline.len();
        if text.starts_with(&self.newline) {
            return Some(unit);
        }
        let rest = text.strip_prefix(&self.carriage_return[..])?;
        Some(
            unit + if rest.starts_with(&self.newline) {
                unit
            } else {
                0
            },
        )
    }

    /// Returns the length of the line end that a text ends with.
    fn end_before(&self, text: &[u8]) -> Option<usize> {
        let unit = self.newline.len();
        let Some(rest) = text.strip_suffix(&self.newline[..]) else {
            return text.ends_with(&self.carriage_return).then_some(unit);
        };
        Some(
            unit + if rest.ends_with(&self.carriage_return) {
                unit
            } else {
                0
            },
        )
    }

    /// Whether `at` is where a character begins; `known` is a place where one does, and is
    /// moved on. Only older encodings of several bytes need to be asked: in all others no
    /// character's bytes are inside of another.
    fn is_boundary(&self, text: &[u8], known: &mut usize, at: usize) -> bool {
        let unit = self.encoding.unit();
        if unit > 1 {
            return at.is_multiple_of(unit);
        }
        match self.encoding {
            Encoding::Legacy(encoding) if !encoding.is_single_byte() => {
                // A line feed is never part of another character. No byte is looked at twice, or
                // a file without line feeds would take its size's square.
                let newline = scan::last_position(b'\n', &text[*known..at]);
                *known = newline.map_or(*known, |i| *known + i + 1);
                let is_whole = |bytes: &[u8]| {
                    let decoded =
                        encoding.decode_without_bom_handling_and_without_replacement(bytes);
                    decoded.is_some()
                };
                if is_whole(&text[*known..at]) {
                    *known = at;
                    return true;
                }
                while *known < at {
                    let mut lengths = 1..=LONGEST_CHARACTER_BYTES;
                    let length = lengths.find(|n| {
                        let character = text.get(*known..*known + n);
                        character.is_some_and(is_whole)
                    });
                    // What is not a character is passed over byte by byte.
                    *known += length.unwrap_or(1);
                }
                *known == at
            }
            _ => true,
        }
    }

    /// The line feeds in a piece.
    fn count_lines(&self, text: &[u8]) -> u64 {
        if self.newline.len() == 1 {
            count_newlines(text)
        } else {
            text.chunks_exact(self.newline.len())
                .filter(|unit| *unit == self.newline)
                .count() as u64
        }
    }

    /// Where the first or last line feed between two places is.
    fn newline_in(&self, text: &[u8], from: usize, to: usize, last: bool) -> Option<usize> {
        let unit = self.newline.len();
        if unit == 1 {
            let piece = text.get(from..to)?;
            let found = if last {
                scan::last_position(b'\n', piece)
            } else {
                scan::position(b'\n', piece)
            };
            return found.map(|i| from + i);
        }
        let is_newline = |at: &usize| text.get(*at..at + unit) == Some(self.newline.as_slice());
        let mut places = (from - from % unit..to).step_by(unit);
        if last {
            places.rfind(is_newline)
        } else {
            places.find(is_newline)
        }
    }
}

fn scan(
    open: &OpenFile,
    path: &Path,
    needle: &Needle,
    reading: Reading,
    cancel: &Cancellation,
) -> Result<Vec<Match>, ToolError> {
    let mark = needle.encoding.mark().len() as u64;
    let size = usize::try_from(open.size())
        .unwrap_or(usize::MAX)
        .saturating_add(1);
    // Room for a whole text before and after a piece's edge, and a multiple of every unit. In
    // an encoding whose characters can't be told apart from the middle there are no pieces.
    let piece = match needle.encoding {
        Encoding::Legacy(encoding) if !encoding.is_single_byte() => size,
        _ => PIECE_BYTES.max(needle.longest * 4 + 16),
    };
    let capacity = piece.min(size.max(16)).next_multiple_of(8);
    let mut buffer = vec![0_u8; capacity];
    let mut matches: Vec<Match> = Vec::new();
    let (mut filled, mut base, mut line) = (0, mark, 1);
    loop {
        cancel.check()?;
        let n = read_full(&open.file, &mut buffer[filled..], base + filled as u64)
            .map_err(|e| super::io_error(&e, path))?;
        filled += n;
        let ended = filled < capacity;
        let text = &buffer[..filled];
        // What begins near the end may go on in the next piece.
        let settled = if ended {
            filled
        } else {
            filled - needle.longest - 4 * needle.newline.len()
        };
        let taken = matches.last().map_or(0, |m| m.end.saturating_sub(base));
        let mut from = usize::try_from(taken).unwrap_or(filled).min(filled);
        let (mut counted_to, mut boundary) = (0, 0);
        let mut tries = 0_u32;
        while let Some((start, end)) = needle.next(text, from, reading, cancel)? {
            tries += 1;
            if tries.is_multiple_of(256) {
                cancel.check()?;
            }
            if start >= settled {
                break;
            }
            if start < boundary || !needle.is_boundary(text, &mut boundary, start) {
                from = start + 1;
                continue;
            }
            if matches.len() == MAX_PLACES {
                return Err(too_many_places(path));
            }
            line += needle.count_lines(&text[counted_to..start]);
            counted_to = start;
            matches.push(Match {
                start: base + start as u64,
                end: base + end as u64,
                line,
            });
            from = end;
        }
        if ended {
            return Ok(matches);
        }
        let unit = needle.encoding.unit();
        let keep_from = settled - settled % unit;
        if keep_from > counted_to {
            line += needle.count_lines(&text[counted_to..keep_from]);
        }
        buffer.copy_within(keep_from..filled, 0);
        base += keep_from as u64;
        filled -= keep_from;
    }
}

fn too_many_own_ends(path: &Path) -> ToolError {
    ToolError::new(
        ErrorKind::EditPreparationFailure,
        format!(
            "{} has lines that end in different ways, and new_string with the line ends of each \
             place would take more than {MAX_OWN_BYTES} bytes; nothing was changed.",
            gemini_tools_core::text::show_path(path)
        ),
    )
    .with_hint("Replace fewer places at once, or give the file line ends of one kind first.")
}

fn too_many_places(path: &Path) -> ToolError {
    ToolError::new(
        ErrorKind::EditPreparationFailure,
        format!(
            "old_string is at more than {MAX_PLACES} places in {}, the most that one call \
             replaces; nothing was changed.",
            gemini_tools_core::text::show_path(path)
        ),
    )
    .with_hint("Give more of the text around the places that are meant.")
}

/// Reads the line ends of a file, and those around some places.
fn survey(
    source: &OpenFile,
    matches: &[Match],
    encoding: Encoding,
    path: &Path,
    cancel: &Cancellation,
) -> Result<Survey, ToolError> {
    let mut survey = Survey::default();
    let place = |number: usize| matches.get(number).map(|found| found.start..found.end);
    let mut surveyor = Surveyor::new(encoding, &mut survey, place);
    let size = usize::try_from(source.size()).unwrap_or(COPY_BYTES);
    let mut buffer = vec![0; size.clamp(8, COPY_BYTES).next_multiple_of(8)];
    let mut at = encoding.mark().len() as u64;
    loop {
        cancel.check()?;
        let n = read_full(&source.file, &mut buffer, at).map_err(|e| super::io_error(&e, path))?;
        surveyor.read(&buffer[..n], at);
        at += n as u64;
        if n < buffer.len() {
            surveyor.finish();
            return Ok(survey);
        }
    }
}

/// A file that is copied from front to back, in ranges of any size.
struct Pieces<'a> {
    source: &'a OpenFile,
    buffer: Vec<u8>,
    /// Which bytes of the file the buffer holds.
    held: std::ops::Range<u64>,
}

impl<'a> Pieces<'a> {
    fn new(source: &'a OpenFile) -> Self {
        let size = usize::try_from(source.size()).unwrap_or(COPY_BYTES);
        Self {
            source,
            buffer: vec![0; size.clamp(1, COPY_BYTES)],
            held: 0..0,
        }
    }

    /// The `length` bytes from a place on, fewer where the file ends.
    fn at(&mut self, at: u64, length: usize) -> io::Result<&[u8]> {
        let end = self.source.size().min(at + length as u64);
        if at < self.held.start || end > self.held.end {
            let size = usize::try_from(self.source.size()).unwrap_or(COPY_BYTES);
            self.buffer
                .resize(self.buffer.len().max(length.min(size)), 0);
            let n = read_full(&self.source.file, &mut self.buffer, at)?;
            self.held = at..at + n as u64;
        }
        let from = (at - self.held.start) as usize;
        let to = (self.held.end.min(end) - self.held.start) as usize;
        Ok(&self.buffer[from..to.max(from)])
    }

    fn copy(&mut self, mut at: u64, end: u64, to: &mut impl Write) -> io::Result<()> {
        while at < end {
            if !self.held.contains(&at) {
                let n = read_full(&self.source.file, &mut self.buffer, at)?;
                self.held = at..at + n as u64;
                if n == 0 {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
            }
            let to_here = end.min(self.held.end);
            let piece = (at - self.held.start) as usize..(to_here - self.held.start) as usize;
            to.write_all(&self.buffer[piece])?;
            at = to_here;
        }
        Ok(())
    }
}

fn read_full(file: &File, buffer: &mut [u8], position: u64) -> io::Result<usize> {
    let mut done = 0;
    while done < buffer.len() {
        match gemini_tools_platform::io::pread(file, &mut buffer[done..], position + done as u64) {
            Ok(0) => break,
            Ok(n) => done += n,
            Err(gemini_tools_platform::io::Errno::INTR) => {}
            Err(e) => return Err(e.into()),
        }
    }
    Ok(done)
}

/// A replacement that is ready to be written.
#[derive(Debug)]
pub struct Replacement {
    /// The places to replace, in order.
    pub matches: Vec<Match>,
    /// The new text of the places that have none of their own.
    text: Vec<u8>,
    /// By first byte: the new texts in a file whose lines end in different ways.
    own: HashMap<u64, Vec<u8>>,
    encoding: Encoding,
}

impl Replacement {
    /// Encodes the new text with the line ends of the file.
    ///
    /// # Errors
    ///
    /// `Ok(Err(_))` if the file's encoding can't hold the text. Otherwise `cancelled`, `timeout`,
    /// `edit_preparation_failure` if texts for each place take too much memory, or the operating
    /// system's error if the file can't be read.
    pub fn new(
        matches: Vec<Match>,
        new: &str,
        source: &OpenFile,
        path: &Path,
        encoding: Encoding,
        cancel: &Cancellation,
    ) -> Result<Result<Self, Unmappable>, ToolError> {
        let survey = if new.contains(['\n', '\r']) {
            survey(source, &matches, encoding, path, cancel)?
        } else {
            Survey::default()
        };
        let with_ends = survey.first.map(|ending| with_end(new, ending));
        let text = match encoding.encode(with_ends.as_deref().unwrap_or(new)) {
            Ok(text) => text.into_owned(),
            Err(c) => return Ok(Err(Unmappable(c))),
        };
        let mut replacement = Self {
            matches,
            text,
            own: HashMap::new(),
            encoding,
        };
        if survey.is_mixed {
            replacement.keep_line_ends(&survey, new, source, path, cancel)?;
        }
        Ok(Ok(replacement))
    }

    /// Gives each place a text with the line ends that the file has there.
    fn keep_line_ends(
        &mut self,
        survey: &Survey,
        new: &str,
        source: &OpenFile,
        path: &Path,
        cancel: &Cancellation,
    ) -> Result<(), ToolError> {
        let mut taken = 0;
        let mut pieces = Pieces::new(source);
        for (number, (found, around)) in self.matches.iter().zip(&survey.around).enumerate() {
            if number.is_multiple_of(256) {
                cancel.check()?;
            }
            let length = usize::try_from(found.end - found.start).unwrap_or(0);
            let place = pieces
                .at(found.start, length)
                .map_err(|e| super::io_error(&e, path))?;
            let own = with_own_ends(&self.encoding.decode(place), *around, new);
            // It has no other characters than the text that was encoded before.
            let own = self.encoding.encode(&own).unwrap_or_default();
            if *own == *self.text {
                continue;
            }
            taken += own.len();
            if taken > MAX_OWN_BYTES {
                return Err(too_many_own_ends(path));
            }
            self.own.insert(found.start, own.into_owned());
        }
        Ok(())
    }

    /// A replacement of one range of bytes, at a line (from 1), by a text whose line ends are
    /// right already.
    ///
    /// # Errors
    ///
    /// The first character that the file's encoding can't hold.
    pub fn of_range(
        range: std::ops::Range<u64>,
        line: u64,
        new: &str,
        encoding: Encoding,
    ) -> Result<Self, Unmappable> {
        let bytes = encoding.encode_again(new).map_err(Unmappable)?;
        Ok(Self {
            matches: vec![Match {
                start: range.start,
                end: range.end,
                line,
            }],
            text: bytes,
            own: HashMap::new(),
            encoding,
        })
    }

    fn text_for(&self, found: &Match) -> &[u8] {
        self.own.get(&found.start).unwrap_or(&self.text)
    }

    /// Whether the file would stay as it is.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn changes_nothing(&self, source: &OpenFile) -> io::Result<bool> {
        for found in &self.matches {
            let new = self.text_for(found);
            if (found.end - found.start) != new.len() as u64 {
                return Ok(false);
            }
            let mut old = vec![0; new.len()];
            let n = read_full(&source.file, &mut old, found.start)?;
            if old[..n] != *new {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Writes the whole new content to `to`.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn write(&self, source: &OpenFile, to: &mut File) -> io::Result<()> {
        let mut source_pieces = Pieces::new(source);
        let mut to = BufWriter::with_capacity(COPY_BYTES, to);
        let mut at = 0;
        for found in &self.matches {
            source_pieces.copy(at, found.start, &mut to)?;
            to.write_all(self.text_for(found))?;
            at = found.end;
        }
        source_pieces.copy(at, source.size(), &mut to)?;
        to.flush()
    }

    /// How large the file will be.
    pub fn new_size(&self, source: &OpenFile) -> u64 {
        let (mut more, mut less) = (0_u64, 0);
        for found in &self.matches {
            more = more.saturating_add(self.text_for(found).len() as u64);
            less += found.end - found.start;
        }
        source.size().saturating_add(more).saturating_sub(less)
    }

    /// The new content, given all of the old one.
    pub fn apply(&self, old: &[u8]) -> Vec<u8> {
        let mut new = Vec::with_capacity(old.len());
        let mut at = 0;
        for found in &self.matches {
            let (start, end) = (found.start as usize, found.end as usize);
            new.extend_from_slice(old.get(at..start).unwrap_or_default());
            new.extend_from_slice(self.text_for(found));
            at = end;
        }
        new.extend_from_slice(old.get(at..).unwrap_or_default());
        new
    }

    /// A unified diff of the places that change, and its statistics.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn diff(&self, source: &OpenFile, name: &str) -> io::Result<(String, DiffStat)> {
        let shown = gemini_tools_core::text::visible(name);
        let mut diff = format!("--- {shown}\n+++ {shown}\n");
        let mut stat = DiffStat::default();
        let mut shift = 0;
        let deadline = Instant::now() + DIFF_TIME;
        let mut rest = &self.matches[..];
        let mut places = 0;
        while let Some(first) = rest.first() {
            if places >= DIFF_PLACES || diff.len() > SHOWN_BYTES {
                diff.push_str(&format!("… and {} more places\n", rest.len()));
                for found in rest {
                    let lines = |bytes: &[u8]| count_newlines(bytes) + 1;
                    stat.ai_added_lines += lines(self.text_for(found));
                    stat.ai_removed_lines += 1;
                }
                break;
            }
            if let Some((removed, added)) = self.unshown(source, first)? {
                diff.push_str(&unshown(removed, added));
                stat.ai_removed_lines += removed;
                stat.ai_added_lines += added;
                shift += added as i64 - removed as i64;
                places += 1;
                rest = &rest[1..];
                continue;
            }
            let (begin, first_line) = self.context_start(source, first)?;
            let mut count = 0;
            let mut end = begin;
            let mut new_bytes = 0;
            while let Some(next) = rest.get(count)
                && (count == 0 || self.context_start(source, next)?.0 <= end)
                && places + count < DIFF_PLACES
                && (count == 0 || new_bytes + self.text_for(next).len() <= SHOWN_BYTES)
                && self.unshown(source, next)?.is_none()
            {
                end = end.max(self.context_end(source, next.end)?);
                new_bytes += self.text_for(next).len();
                count += 1;
            }
            let (here, later) = rest.split_at(count);
            rest = later;
            places += count;
            let mut old = vec![0; usize::try_from(end - begin).unwrap_or(0)];
            let n = read_full(&source.file, &mut old, begin)?;
            old.truncate(n);
            let mut new = Vec::with_capacity(old.len());
            let mut at = begin;
            for found in here {
                let piece = (at - begin) as usize..(found.start - begin) as usize;
                new.extend_from_slice(old.get(piece).unwrap_or_default());
                new.extend_from_slice(self.text_for(found));
                at = found.end;
            }
            new.extend_from_slice(old.get((at - begin) as usize..).unwrap_or_default());
            let old = self.encoding.decode(&old);
            let new = self.encoding.decode(&new);
            let (old_lines, new_lines) = (lines_of(&old), lines_of(&new));
            let ops = diff_lines(Algorithm::Myers, &old_lines, &new_lines, Some(deadline));
            push_hunk(&mut diff, &ops, (&old_lines, &new_lines), first_line, shift);
            count_changes(&mut stat, &ops);
            shift += new.matches('\n').count() as i64 - old.matches('\n').count() as i64;
        }
        Ok((diff, stat))
    }

    /// How many lines a place has and will have, where those are too many or too long to be shown.
    fn unshown(&self, source: &OpenFile, found: &Match) -> io::Result<Option<(u64, u64)>> {
        let new = self.text_for(found);
        let length = usize::try_from(found.end - found.start).unwrap_or(0);
        if length <= SHOWN_LINES as usize && new.len() <= SHOWN_LINES as usize {
            return Ok(None);
        }
        let mut old = vec![0; length];
        let n = read_full(&source.file, &mut old, found.start)?;
        old.truncate(n);
        if is_shown(&old) && is_shown(new) {
            return Ok(None);
        }
        let lines = |text: &[u8]| count_newlines(text) + 1;
        Ok(Some((lines(&old), lines(new))))
    }

    /// Where the lines before a place begin that are shown, and the number of the first.
    fn context_start(&self, source: &OpenFile, found: &Match) -> io::Result<(u64, u64)> {
        let mark = self.encoding.mark().len() as u64;
        let unit = self.encoding.unit() as u64;
        let from = found.start.saturating_sub(CONTEXT_BYTES).max(mark);
        let from = from + (found.start - from) % unit;
        let mut before = vec![0; usize::try_from(found.start - from).unwrap_or(0)];
        let n = read_full(&source.file, &mut before, from)?;
        before.truncate(n);
        let newline = self.encoding.encode("\n").unwrap_or_default().into_owned();
        let unit = newline.len();
        let mut lines = 0;
        let mut at = before.len();
        let mut start = if from == mark { 0 } else { at };
        while at >= unit {
            at -= unit;
            if before[at..at + unit] == newline[..] {
                if lines == CONTEXT_LINES as u64 {
                    start = at + unit;
                    break;
                }
                lines += 1;
                if from != mark {
                    start = at + unit;
                }
            }
        }
        let lines = self.encoding.decode(&before[start..]).matches('\n').count() as u64;
        Ok((from + start as u64, found.line - lines))
    }

    /// Where the lines after a place end that are shown.
    fn context_end(&self, source: &OpenFile, from: u64) -> io::Result<u64> {
        let room = source.size().saturating_sub(from).min(CONTEXT_BYTES);
        let mut after = vec![0; usize::try_from(room).unwrap_or(0)];
        let n = read_full(&source.file, &mut after, from)?;
        after.truncate(n);
        let newline = self.encoding.encode("\n").unwrap_or_default().into_owned();
        let unit = newline.len();
        let mut lines = 0;
        let mut at = 0;
        while at + unit <= after.len() {
            if after[at..at + unit] == newline[..] {
                lines += 1;
                if lines > CONTEXT_LINES {
                    return Ok(from + (at + unit) as u64);
                }
            }
            at += unit;
        }
        Ok(from + after.len() as u64)
    }
}

/// Whether a text is compared line by line.
fn is_shown(text: &[u8]) -> bool {
    text.len() <= SHOWN_BYTES && count_newlines(text) <= SHOWN_LINES
}

/// What a diff says of a change that it does not show.
fn unshown(removed: u64, added: u64) -> String {
    format!("… a change of {removed} lines to {added} lines, too long to be shown\n")
}

/// The lines of a text with their ends. Only a line feed ends a line, for `patch` as for git.
fn lines_of(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

/// The lines of both texts.
type BothLines<'a> = (&'a [&'a str], &'a [&'a str]);

/// Adds one hunk whose first old line has that number; new lines are `shift` further down.
fn push_hunk(
    out: &mut String,
    ops: &[DiffOp],
    (old_lines, new_lines): BothLines<'_>,
    line: u64,
    shift: i64,
) {
    let (old, new) = (old_lines.len() as u64, new_lines.len() as u64);
    let first = |count: u64, line: i64| if count == 0 { line - 1 } else { line };
    let line = i64::try_from(line).unwrap_or(i64::MAX);
    out.push_str(&format!(
        "@@ -{},{old} +{},{new} @@\n",
        first(old, line),
        first(new, line + shift)
    ));
    push_changes(out, ops, (old_lines, new_lines));
}

/// Adds the lines of a hunk.
fn push_changes(out: &mut String, ops: &[DiffOp], (old_lines, new_lines): BothLines<'_>) {
    for op in ops {
        let is_kept = matches!(op, DiffOp::Equal { .. });
        let (removed, added) = (op.old_range(), op.new_range());
        let removed = old_lines[removed]
            .iter()
            .map(|line| (if is_kept { ' ' } else { '-' }, line));
        let added = if is_kept { 0..0 } else { added };
        for (sign, line) in removed.chain(new_lines[added].iter().map(|line| ('+', line))) {
            out.push(sign);
            out.push_str(line);
            if !line.ends_with('\n') {
                out.push_str("\n\\ No newline at end of file\n");
            }
        }
    }
}

/// How many lines were added and removed.
fn count_changes(stat: &mut DiffStat, ops: &[DiffOp]) {
    for op in ops.iter().filter(|op| !matches!(op, DiffOp::Equal { .. })) {
        stat.ai_added_lines += op.new_range().len() as u64;
        stat.ai_removed_lines += op.old_range().len() as u64;
    }
}

/// A unified diff of two whole texts, and its statistics.
pub fn diff_texts(old: &str, new: &str, name: &str) -> (String, DiffStat) {
    // A line feed in a name must not make a line of its own.
    let name = &*gemini_tools_core::text::visible(name);
    if !is_shown(old.as_bytes()) || !is_shown(new.as_bytes()) {
        let lines = |text: &str| text.split_inclusive('\n').count() as u64;
        let stat = DiffStat {
            ai_added_lines: lines(new),
            ai_removed_lines: lines(old),
            ..DiffStat::default()
        };
        let change = unshown(stat.ai_removed_lines, stat.ai_added_lines);
        return (format!("--- {name}\n+++ {name}\n{change}"), stat);
    }
    let (old_lines, new_lines) = (lines_of(old), lines_of(new));
    let deadline = Some(Instant::now() + DIFF_TIME);
    let ops = diff_lines(Algorithm::Myers, &old_lines, &new_lines, deadline);
    let mut stat = DiffStat::default();
    count_changes(&mut stat, &ops);
    // As diff writes it: a count of one is left out.
    let range = |start: usize, end: usize| match end - start {
        0 => format!("{start},0"),
        1 => format!("{}", start + 1),
        count => format!("{},{count}", start + 1),
    };
    let mut text = String::new();
    for hunk in group_diff_ops(ops, CONTEXT_LINES) {
        let (Some(first), Some(last)) = (hunk.first(), hunk.last()) else {
            continue;
        };
        if text.is_empty() {
            text = format!("--- {name}\n+++ {name}\n");
        }
        text.push_str(&format!(
            "@@ -{} +{} @@\n",
            range(first.old_range().start, last.old_range().end),
            range(first.new_range().start, last.new_range().end)
        ));
        push_changes(&mut text, &hunk, (&old_lines, &new_lines));
    }
    (text, stat)
}
