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

mod needle;
mod unified_diff;

pub use unified_diff::{SHOWN_BYTES, diff_texts};

use super::OpenFile;
use super::line_endings::{Survey, Surveyor, with_end, with_own_ends};
use super::lines::read_at;
use super::text::Encoding;
use gemini_tools_core::tool::{Cancellation, ErrorKind, ToolError};
use needle::{Needle, Reading, find_all};
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Pieces in which unchanged content is copied.
const COPY_BYTES: usize = 512 * 1024;

/// The most places that one call replaces: each takes some memory until all are known.
pub const MAX_PLACES: usize = 200_000;

/// The most that line ends of their own may take at all places, in bytes.
const MAX_OWN_BYTES: usize = 8 * 1024 * 1024;

/// A place at which the text was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Match {
    /// First byte.
    pub start: u64,
    /// The byte after the last.
    pub end: u64,
    /// The line of the first byte, from 1.
    pub line: u64,
}

/// The places of a text in a file.
#[derive(Debug, Default)]
pub struct Occurrences {
    /// The places, in order, without overlap.
    pub matches: Vec<Match>,
    /// True if the line ends in the text had to stand for others.
    pub by_line_ending: bool,
}

/// A character that the file's encoding can't hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unmappable(pub char);

/// Finds every place of `old` in a file.
///
/// # Errors
///
/// Returns `Ok(Err(_))` if the file's encoding can't hold the text; otherwise `cancelled`, `timeout`,
/// `edit_preparation_failure` for too many places, or the operating system's error.
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
    let exact = find_all(open, path, &needle, Reading::Exact, cancel)?;
    if !exact.is_empty() || !needle.has_lines() {
        return Ok(Ok(Occurrences {
            matches: exact,
            by_line_ending: false,
        }));
    }
    let matches = find_all(open, path, &needle, Reading::Loose, cancel)?;
    Ok(Ok(Occurrences {
        by_line_ending: !matches.is_empty(),
        matches,
    }))
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
        let n = read_at(&source.file, &mut buffer, at).map_err(|e| super::io_error(&e, path))?;
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
    /// The range of the file that the buffer holds.
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

    /// Returns the `length` bytes from a place on, fewer if the file ends.
    fn at(&mut self, at: u64, length: usize) -> io::Result<&[u8]> {
        let end = self.source.size().min(at + length as u64);
        if at < self.held.start || end > self.held.end {
            let size = usize::try_from(self.source.size()).unwrap_or(COPY_BYTES);
            self.buffer
                .resize(self.buffer.len().max(length.min(size)), 0);
            let n = read_at(&self.source.file, &mut self.buffer, at)?;
            self.held = at..at + n as u64;
        }
        let from = (at - self.held.start) as usize;
        let to = (self.held.end.min(end) - self.held.start) as usize;
        Ok(&self.buffer[from..to.max(from)])
    }

    fn copy(&mut self, mut at: u64, end: u64, to: &mut impl Write) -> io::Result<()> {
        while at < end {
            if !self.held.contains(&at) {
                let n = read_at(&self.source.file, &mut self.buffer, at)?;
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
    /// Returns `Ok(Err(_))` if the file's encoding can't hold the text. Otherwise `cancelled`, `timeout`,
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

    /// Returns a replacement of one range of bytes, at a line (from 1), by a text whose line ends are
    /// right already.
    ///
    /// # Errors
    ///
    /// Returns the first character that the file's encoding can't hold.
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

    /// Returns true if the file would stay as it is.
    ///
    /// # Errors
    ///
    /// Returns the operating system's error.
    pub fn changes_nothing(&self, source: &OpenFile) -> io::Result<bool> {
        for found in &self.matches {
            let new = self.text_for(found);
            if (found.end - found.start) != new.len() as u64 {
                return Ok(false);
            }
            let mut old = vec![0; new.len()];
            let n = read_at(&source.file, &mut old, found.start)?;
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
    /// Returns the operating system's error.
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

    /// Returns the size of the new file.
    pub fn new_size(&self, source: &OpenFile) -> u64 {
        let (mut more, mut less) = (0_u64, 0);
        for found in &self.matches {
            more = more.saturating_add(self.text_for(found).len() as u64);
            less += found.end - found.start;
        }
        source.size().saturating_add(more).saturating_sub(less)
    }

    /// Returns the new content, given all of the old one.
    pub fn apply(&self, old: &[u8]) -> Vec<u8> {
        self.applied(old, 0, &self.matches)
    }

    /// Replaces these places in a part of the file that begins at `begin`.
    fn applied(&self, old: &[u8], begin: u64, places: &[Match]) -> Vec<u8> {
        let mut new = Vec::with_capacity(old.len());
        let mut at = 0;
        for found in places {
            let (start, end) = ((found.start - begin) as usize, (found.end - begin) as usize);
            new.extend_from_slice(old.get(at..start).unwrap_or_default());
            new.extend_from_slice(self.text_for(found));
            at = end;
        }
        new.extend_from_slice(old.get(at..).unwrap_or_default());
        new
    }
}
