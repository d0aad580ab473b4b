//! Searching a file's bytes for a text in the file's encoding.

use super::super::OpenFile;
use super::super::lines::read_at;
use super::super::text::Encoding;
use super::{MAX_PLACES, Match};
use gemini_tools_core::text::count_newlines;
use gemini_tools_core::tool::{Cancellation, ErrorKind, ToolError};
use memchr::memmem::Finder;
use std::path::Path;

/// Size of the pieces in which a file is scanned, in bytes. Pieces are larger if the text is longer
/// than a quarter of this size, and a file in an older multi-byte encoding is one piece.
const PIECE_BYTES: usize = 1024 * 1024;

/// Length of the longest character of an older encoding, in bytes (GB18030).
const LONGEST_CHARACTER_BYTES: usize = 4;

pub(super) struct Needle {
    finder: Finder<'static>,
    newline: Vec<u8>,
    carriage_return: Vec<u8>,
    encoding: Encoding,
}

impl Needle {
    pub(super) fn new(text: &str, encoding: Encoding) -> Result<Self, char> {
        let encode = |text: &str| encoding.encode(text).map(std::borrow::Cow::into_owned);
        Ok(Self {
            finder: Finder::new(&encode(text)?).into_owned(),
            newline: encode("\n")?,
            carriage_return: encode("\r")?,
            encoding,
        })
    }

    fn length(&self) -> usize {
        self.finder.needle().len()
    }

    /// Finds the first match from `from` on that does not split `\r\n`.
    fn next(
        &self,
        text: &[u8],
        mut from: usize,
        cancel: &Cancellation,
    ) -> Result<Option<usize>, ToolError> {
        loop {
            cancel.check()?;
            let rest = text.get(from..).unwrap_or_default();
            let Some(start) = self.finder.find(rest).map(|i| from + i) else {
                return Ok(None);
            };
            let end = start + self.length();
            if !self.is_within_end(text, start) && !self.is_within_end(text, end) {
                return Ok(Some(start));
            }
            from = start + 1;
        }
    }

    fn is_within_end(&self, text: &[u8], at: usize) -> bool {
        text[at..].starts_with(&self.newline) && text[..at].ends_with(&self.carriage_return)
    }

    /// Returns true if a character begins at `at`. `known` is an earlier position where one begins,
    /// and is moved forward. UTF-16 and UTF-32 need only the offset. Only older multi-byte
    /// encodings are decoded: in others the bytes of a character never occur within another.
    fn is_boundary(&self, text: &[u8], known: &mut usize, at: usize) -> bool {
        let unit = self.encoding.unit();
        if unit > 1 {
            return at.is_multiple_of(unit);
        }
        if !self.encoding.is_ambiguous() {
            return true;
        }
        // A line feed is never part of another character. No byte is decoded twice, or a file
        // without line feeds would take quadratic time.
        let newline = memchr::memrchr(b'\n', &text[*known..at]);
        *known = newline.map_or(*known, |i| *known + i + 1);
        let is_whole = |bytes: &[u8]| self.encoding.is_whole(bytes);
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
            // Bytes that are no character are skipped one by one.
            *known += length.unwrap_or(1);
        }
        *known == at
    }

    fn count_lines(&self, text: &[u8]) -> u64 {
        if self.newline.len() == 1 {
            count_newlines(text)
        } else {
            text.chunks_exact(self.newline.len())
                .filter(|unit| *unit == self.newline)
                .count() as u64
        }
    }
}

struct Search<'a> {
    needle: &'a Needle,
    path: &'a Path,
    cancel: &'a Cancellation,
    buffer: Vec<u8>,
    filled: usize,
    base: u64,
    /// Number of the line, from 1, of the last match, or of the line on which the buffer begins.
    line: u64,
    matches: Vec<Match>,
    /// A match that overlaps the last one found. It becomes `overlap` if it may be meant as well.
    twin: Option<Match>,
    overlap: Option<Match>,
}

/// Returns the matches in order, without those that overlap an earlier one. The second value is a
/// match that overlaps one of them and may be meant instead of it.
pub(super) fn find_all(
    open: &OpenFile,
    path: &Path,
    needle: &Needle,
    cancel: &Cancellation,
) -> Result<(Vec<Match>, Option<Match>), ToolError> {
    let size = usize::try_from(open.size())
        .unwrap_or(usize::MAX)
        .saturating_add(1);
    // A piece is several times as long as the needle, so that each match, with what overlaps it,
    // lies wholly in this piece or in the next one, which begins before the end of this one. Its
    // size is a multiple of every code unit. In an encoding whose characters can be told apart only
    // from the beginning of a line, the whole file is one piece.
    let least = needle.length() * 4 + 16;
    let piece = if needle.encoding.is_ambiguous() {
        size
    } else {
        PIECE_BYTES.min(size)
    };
    let capacity = piece.max(least).next_multiple_of(8);
    let mut search = Search {
        needle,
        path,
        cancel,
        buffer: vec![0_u8; capacity],
        filled: 0,
        base: needle.encoding.mark().len() as u64,
        line: 1,
        matches: Vec::new(),
        twin: None,
        overlap: None,
    };
    loop {
        cancel.check()?;
        let position = search.base + search.filled as u64;
        let free = &mut search.buffer[search.filled..];
        let n =
            read_at(&open.file, free, position).map_err(|e| super::super::io_error(&e, path))?;
        search.filled += n;
        if search.filled < capacity {
            search.find_before(search.filled)?;
            return Ok((search.matches, search.overlap.or(search.twin)));
        }
        // A match that begins near the end of the piece may not end in it. It is left to the next
        // piece, which begins at `settled` and so has all of it.
        let settled = capacity - 2 * needle.length() - 4 * needle.newline.len();
        let counted = search.find_before(settled)?;
        search.move_on(settled, counted);
    }
}

impl Search<'_> {
    /// Finds the matches that begin before `end` in the buffer. Returns the position in the buffer
    /// up to which lines have been counted.
    fn find_before(&mut self, end: usize) -> Result<usize, ToolError> {
        let text = &self.buffer[..self.filled];
        let taken = self
            .matches
            .last()
            .map_or(0, |m| m.end.saturating_sub(self.base));
        let mut from = usize::try_from(taken)
            .unwrap_or(self.filled)
            .min(self.filled);
        let (mut counted, mut boundary) = (0, 0);
        while let Some(start) = self.needle.next(text, from, self.cancel)? {
            let stop = start + self.needle.length();
            if start >= end {
                break;
            }
            if start < boundary || !self.needle.is_boundary(text, &mut boundary, start) {
                from = start + 1;
                continue;
            }
            if self.matches.len() == MAX_PLACES {
                return Err(too_many_places(self.path));
            }
            self.line += self.needle.count_lines(&text[counted..start]);
            counted = start;
            let place = |start: usize, line: u64| Match {
                start: self.base + start as u64,
                end: self.base + (start + self.needle.length()) as u64,
                line,
                text: 0,
            };
            // A place that overlaps the last match may be meant instead of it. But if it overlaps
            // this match as well, both matches are lost with it, so it is hardly meant.
            let twin = self.twin.take();
            self.overlap = self
                .overlap
                .or(twin.filter(|twin| twin.end <= self.base + start as u64));
            let (mut next, mut known) = (start + 1, boundary);
            while self.overlap.is_none() && self.twin.is_none() {
                let until = (stop + self.needle.length()).min(text.len());
                let other = self.needle.next(&text[..until], next, self.cancel)?;
                let Some(other) = other.filter(|other| *other < stop) else {
                    break;
                };
                if other >= known && self.needle.is_boundary(text, &mut known, other) {
                    let line = self.line + self.needle.count_lines(&text[start..other]);
                    self.twin = Some(place(other, line));
                }
                next = other + 1;
            }
            self.matches.push(place(start, self.line));
            from = stop;
        }
        Ok(counted)
    }

    fn move_on(&mut self, settled: usize, counted: usize) {
        let kept = settled - settled % self.needle.encoding.unit();
        if kept > counted {
            self.line += self.needle.count_lines(&self.buffer[counted..kept]);
        }
        self.buffer.copy_within(kept..self.filled, 0);
        self.base += kept as u64;
        self.filled -= kept;
    }
}

pub(super) fn too_many_places(path: &Path) -> ToolError {
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
