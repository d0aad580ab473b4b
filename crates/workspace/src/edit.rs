//! Replaces a text in a file and leaves every byte outside of it as it was.
//!
//! # How it works
//!
//! [`find`] encodes the text to look for as the file is encoded (`Needle`) and scans the bytes of
//! the file, whatever its size, in pieces that overlap by the length of the text. The file is
//! decoded as a whole only if the text has U+FFFD, which stands for bytes that are not text. If the
//! text is not found as it is, it is looked for once more with each kind of line end.
//!
//! Equal bytes are not always the same text. `Needle::is_boundary` refuses a place within a
//! character: in UTF-16 by its offset, in an older multi-byte encoding by decoding from the last
//! line feed (such a file is scanned as one piece). No place begins or ends between `\r` and `\n`.
//!
//! A [`Replacement`] holds the places and the new text, which gets the line ends of the file
//! (`line_endings`). [`Replacement::write`] copies the file and inserts the new text, and
//! [`Replacement::diff`] reads only the lines around each place.
//!
//! Bytes that are not valid in the file's encoding stay as well. How often a text may occur is up
//! to the tools. Finding a text that differs slightly is up to `gemini_tools_builtin_tools::edit`,
//! and putting the new content in place as a whole up to `workspace::write`.

mod needle;
mod unified_diff;

pub use unified_diff::{SHOWN_BYTES, diff_texts};

use super::OpenFile;
use super::line_endings::{ending_of, first_ending, with_end, with_new_end};
use super::lines::{beginning, read_range};
use super::text::{Encoding, LineEnding, MAX_RESTORED_BYTES, REPLACEMENT, Unwritable};
use gemini_tools_core::text::count_newlines;
use gemini_tools_core::tool::{Cancellation, ToolError};
use needle::{Needle, find_all};
use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};
use std::path::Path;

const COPY_BYTES: usize = 512 * 1024;

/// The most places that one call replaces, because all of them are held in memory.
pub const MAX_PLACES: usize = 200_000;

const NEAR_BYTES: u64 = 64 * 1024;

/// How many bytes are read at first. It is a multiple of four, so that no code unit is cut in two.
const NEXT_BYTES: u64 = 1024;

/// A place at which the text was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Match {
    /// The offset of the first byte of the text, in the file.
    pub start: u64,
    /// The offset of the first byte after the text, in the file.
    pub end: u64,
    /// The number of the line, counted from 1, on which the text begins.
    pub line: u64,
    /// The index, in `Replacement::texts`, of the text that replaces this match.
    text: usize,
}

/// The places of a text in a file.
#[derive(Debug, Default)]
pub struct Occurrences {
    /// The places, in order, without overlap.
    pub matches: Vec<Match>,
    /// A place that overlaps one of `matches` and may be meant as well as that one.
    pub overlap: Option<Match>,
    /// True if the text was found only after its line ends had been replaced by others.
    pub by_line_ending: bool,
    /// True if the text has U+FFFD and was found where the file has bytes that are not text.
    pub by_replacement: bool,
}

impl Occurrences {
    /// Returns the numbers of the lines on which the text begins, also where places overlap.
    #[must_use]
    pub fn lines(&self) -> Vec<u64> {
        let places = self.matches.iter().chain(&self.overlap);
        let mut lines: Vec<u64> = places.map(|place| place.line).collect();
        lines.sort_unstable();
        lines
    }
}

/// Finds every place of `old` in a file.
///
/// # Errors
///
/// Returns `Ok(Err(_))` with the first character of `old` that the file's encoding can't represent;
/// otherwise `cancelled`, `timeout`, `edit_preparation_failure` for too many places, or the
/// operating system's error.
pub fn find(
    open: &OpenFile,
    path: &Path,
    encoding: Encoding,
    old: &str,
    cancel: &Cancellation,
) -> Result<Result<Occurrences, char>, ToolError> {
    let find = |text: &str| match Needle::new(text, encoding) {
        Ok(needle) => find_all(open, path, &needle, cancel).map(Ok),
        Err(c) => Ok(Err(c)),
    };
    let (matches, overlap) = match find(old)? {
        Err(REPLACEMENT) => (Vec::new(), None),
        Err(unmappable) => return Ok(Err(unmappable)),
        Ok(found) => found,
    };
    let mut found = Occurrences {
        matches,
        overlap,
        ..Occurrences::default()
    };
    if found.matches.is_empty() && old.contains(REPLACEMENT) {
        found.matches = find_shown(open, path, encoding, old, cancel)?;
        found.by_replacement = !found.matches.is_empty();
    }
    // Where a file has both kinds of line ends, a text with `\n` alone may mean either, so it is
    // looked for with each kind. A text with `\r`, or one that was found by its U+FFFD, is meant as
    // it is.
    let is_meant_so = found.by_replacement || old.contains('\r');
    if !old.contains(['\n', '\r']) || is_meant_so && !found.matches.is_empty() {
        return Ok(Ok(found));
    }
    let literal = found.matches.len();
    for ending in [LineEnding::Lf, LineEnding::Crlf, LineEnding::Cr] {
        let text = with_end(old, ending);
        if text != old {
            let (matches, overlap) = find(&text)?.unwrap_or_default();
            found.matches.extend(matches);
            found.overlap = found.overlap.or(overlap);
        }
    }
    found.matches.sort_unstable_by_key(|place| place.start);
    let mut end = 0;
    found.matches.retain(|place| {
        let is_free = place.start >= end;
        end = if is_free { place.end } else { end };
        is_free
    });
    found.by_line_ending = found.matches.len() > literal;
    Ok(Ok(found))
}

/// Finds `old` in the decoded text of the file, where U+FFFD stands for bytes that are not text. As
/// this decodes the whole file, nothing is found in a file over [`MAX_RESTORED_BYTES`].
fn find_shown(
    open: &OpenFile,
    path: &Path,
    encoding: Encoding,
    old: &str,
    cancel: &Cancellation,
) -> Result<Vec<Match>, ToolError> {
    if open.size() > MAX_RESTORED_BYTES as u64 {
        return Ok(Vec::new());
    }
    let bytes = beginning(open, MAX_RESTORED_BYTES).map_err(|e| super::io_error(&e, path))?;
    let mark = encoding.mark().len();
    let content = bytes.get(mark..).unwrap_or_default();
    let endings = [LineEnding::Lf, LineEnding::Crlf, LineEnding::Cr];
    let others = endings.into_iter().map(|ending| with_end(old, ending));
    let others = others.filter(|text| text != old);
    let mut places = Vec::new();
    for text in std::iter::once(old.to_owned()).chain(others) {
        places = encoding.find_shown(content, &text, MAX_PLACES + 1, cancel)?;
        if !places.is_empty() {
            break;
        }
    }
    if places.len() > MAX_PLACES {
        return Err(needle::too_many_places(path));
    }
    let (mut line, mut counted) = (1, 0);
    let place = |range: std::ops::Range<usize>| {
        let between = encoding.decode(&content[counted..range.start]);
        line += count_newlines(between.as_bytes());
        counted = range.start;
        Match {
            start: (mark + range.start) as u64,
            end: (mark + range.end) as u64,
            line,
            text: 0,
        }
    };
    Ok(places.into_iter().map(place).collect())
}

/// Returns the first line end at or after a place. Most places have one nearby, so little is read at
/// first; a lone carriage return counts only if no line feed follows in all of `length`.
fn ending_from(
    source: &OpenFile,
    at: u64,
    length: u64,
    encoding: Encoding,
) -> io::Result<Option<LineEnding>> {
    let near = read_range(&source.file, at, length.min(NEXT_BYTES))?;
    match first_ending(&near, encoding) {
        Some(LineEnding::Cr) | None if length > NEXT_BYTES => Ok(first_ending(
            &read_range(&source.file, at, length)?,
            encoding,
        )),
        found => Ok(found),
    }
}

/// A replacement that is ready to be written.
#[derive(Debug)]
pub struct Replacement {
    /// The places to replace, in order.
    pub matches: Vec<Match>,
    /// The new text in bytes. It has different bytes for different line ends, and if it has U+FFFD
    /// also for different old texts, so there is one item for each case.
    texts: Vec<Vec<u8>>,
    encoding: Encoding,
}

impl Replacement {
    /// Encodes the new text with the line ends that the file has at each place.
    ///
    /// # Errors
    ///
    /// Returns `Ok(Err(_))` with what can't be written in the file's encoding; otherwise
    /// `cancelled`, `timeout`, or the operating system's error if the file can't be read.
    pub fn new(
        found: Occurrences,
        new: &str,
        source: &OpenFile,
        path: &Path,
        encoding: Encoding,
        cancel: &Cancellation,
    ) -> Result<Result<Self, Unwritable>, ToolError> {
        let has_lines = new.contains(['\n', '\r']);
        let ending_from = |at: u64, length: u64| {
            let found = has_lines.then(|| ending_from(source, at, length, encoding));
            let found = found.transpose().map(Option::flatten);
            found.map_err(|e| super::io_error(&e, path))
        };
        let first = ending_from(encoding.mark().len() as u64, NEAR_BYTES)?;
        let (mut kinds, mut texts) = (Vec::new(), Vec::new());
        let mut matches = found.matches;
        for place in &mut matches {
            cancel.check()?;
            let kind = if found.by_line_ending {
                // This place was found by its line ends, so these decide, even if they are lone
                // carriage returns.
                ending_from(place.start, place.end - place.start)?
            } else {
                ending_of(ending_from(place.start, NEAR_BYTES)?, first)
            };
            // U+FFFD in the new text stands for bytes of the old text, which differ from place to
            // place.
            let old = if new.contains(REPLACEMENT) {
                read_range(&source.file, place.start, place.end - place.start)
                    .map_err(|e| super::io_error(&e, path))?
            } else {
                Vec::new()
            };
            let key = (kind, old);
            let known = kinds.iter().position(|known| *known == key);
            place.text = known.unwrap_or(kinds.len());
            if place.text == kinds.len() {
                let text = kind.map_or(Cow::from(new), |kind| with_new_end(new, kind).into());
                match encoding.encode_over(&key.1, &text) {
                    Ok(text) => texts.push(text),
                    Err(why) => return Ok(Err(why)),
                }
                kinds.push(key);
            }
        }
        Ok(Ok(Self {
            matches,
            texts,
            encoding,
        }))
    }

    /// Encodes the new text as it is, for a caller that has already given it the file's line ends.
    ///
    /// # Errors
    ///
    /// Returns the first character that the file's encoding can't hold.
    pub fn as_written(
        matches: Vec<Match>,
        new: &str,
        encoding: Encoding,
    ) -> Result<Self, Unwritable> {
        let text = encoding.encode(new).map_err(Unwritable::Character)?;
        Ok(Self {
            matches,
            texts: vec![text.into_owned()],
            encoding,
        })
    }

    /// Returns a replacement of one range of bytes, which begins on `line` (from 1), by a text that
    /// already has the file's line ends.
    ///
    /// # Errors
    ///
    /// Returns the first character that the file's encoding can't hold.
    pub fn of_range(
        range: std::ops::Range<u64>,
        line: u64,
        new: &str,
        encoding: Encoding,
    ) -> Result<Self, char> {
        let bytes = encoding.encode_again(new)?;
        Ok(Self {
            matches: vec![Match {
                start: range.start,
                end: range.end,
                line,
                text: 0,
            }],
            texts: vec![bytes],
            encoding,
        })
    }

    /// Returns true if the new text is ASCII, which all encodings but wide ones have alike.
    #[must_use]
    pub fn is_ascii(&self) -> bool {
        self.texts.iter().all(|text| text.is_ascii())
    }

    fn text_for(&self, found: &Match) -> &[u8] {
        &self.texts[found.text]
    }

    /// Returns true if the new content would equal the old one.
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
            if read_range(&source.file, found.start, new.len() as u64)? != *new {
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
        let mut from = BufReader::with_capacity(COPY_BYTES, &source.file);
        from.rewind()?;
        let mut to = BufWriter::with_capacity(COPY_BYTES, to);
        // The type is hidden behind `dyn Write`, so that `io::copy` writes into the buffer. If it
        // knew that there is a file behind the buffer, it would make a system call for each piece,
        // however short.
        let to: &mut dyn Write = &mut to;
        let mut copy = |bytes: u64, to: &mut dyn Write| -> io::Result<()> {
            match io::copy(&mut from.by_ref().take(bytes), to)? {
                copied if copied == bytes => Ok(()),
                _ => Err(io::ErrorKind::UnexpectedEof.into()),
            }
        };
        let mut at = 0;
        for found in &self.matches {
            copy(found.start - at, to)?;
            copy(found.end - found.start, &mut io::sink())?;
            to.write_all(self.text_for(found))?;
            at = found.end;
        }
        copy(source.size() - at, to)?;
        to.flush()
    }

    /// Returns the size of the new file in bytes.
    pub fn new_size(&self, source: &OpenFile) -> u64 {
        let (mut more, mut less) = (0_u64, 0);
        for found in &self.matches {
            more = more.saturating_add(self.text_for(found).len() as u64);
            less += found.end - found.start;
        }
        source.size().saturating_add(more).saturating_sub(less)
    }

    /// Returns the new content of a file whose whole old content is `old`.
    pub fn apply(&self, old: &[u8]) -> Vec<u8> {
        self.applied(old, 0, &self.matches)
    }

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

#[cfg(test)]
mod tests {
    use super::{MAX_PLACES, find};
    use crate::Workspace;
    use crate::text::Encoding;
    use gemini_tools_core::tool::{Cancellation, ErrorKind};

    #[test]
    fn a_place_that_may_be_meant_as_well_is_named_where_places_overlap() {
        let dir = tempfile::tempdir().expect("a directory");
        let top = dir.path().canonicalize().expect("exists");
        let workspace = Workspace::open_at(&top, &[], None).expect("a workspace");
        for (content, old, starts, overlap) in [
            ("xaaaay", "aa", &[1, 3][..], None),
            ("xaaaaa", "aa", &[1, 3], Some(4)),
            ("aaa\naa", "aa", &[0, 4], Some(1)),
            ("b\nb\nb\n", "b\nb\n", &[0], Some(2)),
            ("abab", "ab", &[0, 2], None),
        ] {
            std::fs::write(top.join("log"), content).expect("written");
            let place = workspace.locate("log").expect("a place");
            let open = workspace.open_file(&place).expect("it opens");
            let cancel = Cancellation::default();
            let found = find(&open, place.path(), Encoding::default(), old, &cancel);
            let found = found.expect("found").expect("no character is missing");
            let places: Vec<u64> = found.matches.iter().map(|place| place.start).collect();
            assert_eq!(places, starts, "{content:?}");
            let other = found.overlap.map(|place| place.start);
            assert_eq!(other, overlap, "{content:?}");
        }
    }

    #[test]
    fn each_place_of_bytes_that_are_no_text_has_its_line_up_to_the_limit() {
        let dir = tempfile::tempdir().expect("a directory");
        let top = dir.path().canonicalize().expect("exists");
        let workspace = Workspace::open_at(&top, &[], None).expect("a workspace");
        let found = |content: &[u8]| {
            std::fs::write(top.join("log"), content).expect("written");
            let place = workspace.locate("log").expect("a place");
            let open = workspace.open_file(&place).expect("it opens");
            let cancel = Cancellation::default();
            let found = find(
                &open,
                place.path(),
                Encoding::default(),
                "\u{fffd}",
                &cancel,
            );
            found.map(|found| found.expect("no character is missing").matches)
        };
        let many = found(&b"line\n\xff\xfe \n".repeat(50_000)).expect("found");
        assert_eq!(many.len(), 100_000);
        for (i, place) in many.iter().enumerate() {
            let line = (i as u64 / 2 + 1) * 2;
            assert_eq!(place.line, line);
            assert_eq!(place.start, line / 2 * 9 - 4 + i as u64 % 2);
        }
        let most = found(&b"\xff".repeat(MAX_PLACES)).expect("found");
        assert_eq!(most.len(), MAX_PLACES);
        let error = found(&b"\xff".repeat(MAX_PLACES + 1)).expect_err("too many");
        assert_eq!(error.kind, ErrorKind::EditPreparationFailure, "{error}");
    }
}
