//! Encodes the new text of a file whose old content has bytes that are not text.
//!
//! A reader sees such bytes as U+FFFD, and a caller that writes the whole file gives that character
//! back. Unchanged lines keep their bytes. A U+FFFD in a changed line becomes the old bytes again
//! if it is clear which bytes are meant. An unchanged line also keeps bytes that would be encoded
//! differently, such as the second spelling of a character in `Shift_JIS`.

use super::{Encoding, Form};
use crate::diff::{Algorithm, DiffOp, diff_lines};
use encoding_rs::DecoderResult;
use gemini_tools_core::tool::{Cancellation, ToolError};
use std::collections::HashMap;
use std::convert::Infallible;
use std::ops::Range;
use std::time::{Duration, Instant};

const DIFF_TIME: Duration = Duration::from_secs(1);

/// Size in bytes of the buffer into which text is decoded only to find bytes that are not text.
const DECODED_BYTES: usize = 1024;

/// The character U+FFFD, which stands for bytes that are not text.
pub const REPLACEMENT: char = '\u{fffd}';

/// Size in bytes of the largest file in which the bytes that a U+FFFD stands for are looked for.
pub const MAX_RESTORED_BYTES: usize = 32 * 1024 * 1024;

/// A reason why a text can't be written in place of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unwritable {
    /// The encoding does not have this character.
    Character(char),
    /// It is not clear which bytes a U+FFFD of this line (from 1) stands for.
    Unclear(usize),
}

struct OldLine<'a> {
    bytes: &'a [u8],
    shown: String,
}

impl Encoding {
    /// Encodes the new text of a whole file, without the byte-order mark. Unchanged lines keep the
    /// bytes that they have in `old`, the old content. A U+FFFD in a changed line becomes the bytes
    /// of `old` that it stands for.
    ///
    /// # Errors
    ///
    /// Returns the character that can't be encoded, or the line with an ambiguous U+FFFD.
    pub fn encode_over(self, old: &[u8], text: &str) -> Result<Vec<u8>, Unwritable> {
        let plain = Encoding {
            has_mark: false,
            ..self
        };
        let old = old.strip_prefix(self.mark()).unwrap_or(old);
        if plain.encode(&plain.decode(old)).as_deref() == Ok(old) {
            let bytes = plain.encode(text).map_err(Unwritable::Character)?;
            return Ok(bytes.into_owned());
        }
        Restored::of(plain, old, text)
    }

    /// Returns the first `limit` byte ranges of `content` that decode to `text`, in which U+FFFD
    /// stands for bytes that are not text.
    ///
    /// # Errors
    ///
    /// Returns `cancelled` or `timeout`.
    pub(crate) fn find_shown(
        self,
        content: &[u8],
        text: &str,
        limit: usize,
        cancel: &Cancellation,
    ) -> Result<Vec<Range<usize>>, ToolError> {
        let shown = self.decode(content);
        let mut lengths: Vec<u8> = Vec::new();
        self.replaced(content, |bytes| {
            lengths.push(u8::try_from(bytes.len()).unwrap_or(u8::MAX));
            cancel.check()
        })?;
        let mut lengths = lengths.into_iter().map(usize::from);
        // `known` is a position in the decoded text, and `position` the same one in the bytes.
        let (mut known, mut position) = (0, 0);
        let mut position_of = |at: usize| {
            let mut pieces = shown[known..at].split(REPLACEMENT);
            let length = |piece: &str| self.encode(piece).map_or(0, |bytes| bytes.len());
            position += pieces.next().map_or(0, length);
            for piece in pieces {
                position += lengths.next().unwrap_or(0) + length(piece);
            }
            known = at;
            position
        };
        // Some encodings have several spellings of a character, so the computed range may be wrong,
        // and is checked.
        let is_shown = |place: &Range<usize>| {
            let bytes = content.get(place.clone());
            bytes.is_some_and(|bytes| self.decode(bytes) == text)
        };
        let mut places = Vec::new();
        for (at, _) in shown.match_indices(text) {
            cancel.check()?;
            let place = position_of(at)..position_of(at + text.len());
            if is_shown(&place) {
                places.push(place);
            }
            if places.len() == limit {
                break;
            }
        }
        Ok(places)
    }

    /// Calls `take` with the bytes that each U+FFFD in the decoded text stands for, until `take`
    /// fails.
    fn replaced<E>(
        self,
        bytes: &[u8],
        mut take: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let Form::Standard(standard) = self.form else {
            let mut units = bytes.chunks(4);
            return units.try_for_each(|unit| {
                let is_replaced = self.decode(unit).contains(REPLACEMENT);
                if is_replaced { take(unit) } else { Ok(()) }
            });
        };
        let mut decoder = standard.new_decoder_without_bom_handling();
        let whole = self.encode("\u{fffd}").unwrap_or_default();
        // The decoder fills all of this capacity with zeros at each call, so it is small.
        let (mut text, mut at) = (String::with_capacity(DECODED_BYTES), 0);
        loop {
            text.clear();
            let (result, read) =
                decoder.decode_to_string_without_replacement(&bytes[at..], &mut text, true);
            at += read;
            text.matches(REPLACEMENT).try_for_each(|_| take(&whole))?;
            match result {
                DecoderResult::InputEmpty => return Ok(()),
                DecoderResult::OutputFull => {}
                DecoderResult::Malformed(length, behind) => {
                    let end = at - usize::from(behind);
                    take(&bytes[end - usize::from(length)..end])?;
                }
            }
        }
    }

    fn lines(self, content: &[u8]) -> impl Iterator<Item = &[u8]> {
        let feed = self.encode("\n").unwrap_or_default();
        let units = content.chunks(self.unit()).enumerate();
        let ends = units.filter(|(_, unit)| **unit == *feed);
        let ends: Vec<usize> = ends.map(|(i, _)| (i + 1) * self.unit()).collect();
        let mut from = 0;
        let all = ends.into_iter().chain([content.len()]).map(move |end| {
            let line = &content[from..end];
            from = end;
            line
        });
        all.filter(|line| !line.is_empty())
    }

    fn old_line(self, line: &[u8]) -> OldLine<'_> {
        let ends = ["\n", "\r"].map(|end| self.encode(end).unwrap_or_default());
        let bytes = ends
            .iter()
            .fold(line, |line, end| line.strip_suffix(&**end).unwrap_or(line));
        OldLine {
            bytes,
            shown: self.decode(bytes).into_owned(),
        }
    }
}

struct Restored<'a> {
    encoding: Encoding,
    old: &'a [OldLine<'a>],
    /// The bytes of each old line by its decoded text, or `None` if lines of the same text have
    /// different bytes.
    known: HashMap<&'a str, Option<&'a [u8]>>,
    new: &'a [(&'a str, &'a str)],
    bytes: Vec<u8>,
}

impl Restored<'_> {
    fn of(encoding: Encoding, old: &[u8], text: &str) -> Result<Vec<u8>, Unwritable> {
        let old: Vec<_> = encoding.lines(old).map(|l| encoding.old_line(l)).collect();
        let new = text.split_inclusive('\n').map(|line| {
            let body = line.strip_suffix('\n').unwrap_or(line);
            line.split_at(body.strip_suffix('\r').unwrap_or(body).len())
        });
        let new: Vec<_> = new.collect();
        let old_shown: Vec<&str> = old.iter().map(|line| &*line.shown).collect();
        let new_shown: Vec<&str> = new.iter().map(|line| line.0).collect();
        let deadline = Some(Instant::now() + DIFF_TIME);
        let mut known = HashMap::new();
        for line in &old {
            let bytes = known.entry(&*line.shown).or_insert(Some(line.bytes));
            *bytes = bytes.filter(|bytes| *bytes == line.bytes);
        }
        let mut restored = Restored {
            encoding,
            old: &old,
            known,
            new: &new,
            bytes: Vec::with_capacity(text.len()),
        };
        for op in diff_lines(Algorithm::Patience, &old_shown, &new_shown, deadline) {
            if let DiffOp::Equal { .. } = op {
                for (old, new) in op.old_range().zip(op.new_range()) {
                    restored.bytes.extend_from_slice(restored.old[old].bytes);
                    restored.push(restored.new[new].1)?;
                }
            } else {
                restored.changed(op.old_range(), op.new_range())?;
            }
        }
        Ok(restored.bytes)
    }

    fn push(&mut self, text: &str) -> Result<(), Unwritable> {
        let bytes = self.encoding.encode(text).map_err(Unwritable::Character)?;
        self.bytes.extend_from_slice(&bytes);
        Ok(())
    }

    fn changed(&mut self, old: Range<usize>, new: Range<usize>) -> Result<(), Unwritable> {
        let mut sources = Vec::new();
        for line in &self.old[old.clone()] {
            let Ok(()) = self.encoding.replaced(line.bytes, |bytes| {
                sources.push(bytes.to_vec());
                Ok::<_, Infallible>(())
            });
        }
        let is_moved = |body: &str| self.known.get(body).copied().flatten();
        let bodies = self.new[new.clone()].iter().map(|line| line.0);
        let others: Vec<&str> = bodies.filter(|body| is_moved(body).is_none()).collect();
        let shown: Vec<&str> = self.old[old].iter().map(|line| &*line.shown).collect();
        let mut meant = meant(&sources, &shown.join("\n"), &others.join("\n")).into_iter();
        for number in new {
            let (body, end) = self.new[number];
            if let Some(bytes) = self.known.get(body).copied().flatten() {
                self.bytes.extend_from_slice(bytes);
            } else {
                let mut pieces = body.split(REPLACEMENT);
                self.push(pieces.next().unwrap_or_default())?;
                for piece in pieces {
                    let source = meant.next().flatten();
                    let source = source.ok_or(Unwritable::Unclear(number + 1))?;
                    self.bytes.extend_from_slice(source);
                    self.push(piece)?;
                }
            }
            self.push(end)?;
        }
        Ok(())
    }
}

/// Returns, for each U+FFFD of the text `new`, which bytes of the file it stands for, if that is
/// certain. `sources` are the bytes for which the U+FFFDs of the old text stand. If they are all
/// the same, each U+FFFD stands for them. Otherwise `new` must have as many U+FFFDs as `old`. Where
/// both texts begin or end alike, the order decides; elsewhere words may have moved, so the bytes
/// are those in the same word (in lower case) of the old text.
fn meant<'s>(sources: &'s [Vec<u8>], old: &str, new: &str) -> Vec<Option<&'s [u8]>> {
    let wanted = damaged_words(new);
    if sources.windows(2).all(|two| two[0] == two[1]) {
        return vec![sources.first().map(Vec::as_slice); wanted.len()];
    }
    if sources.len() != wanted.len() {
        return vec![None; wanted.len()];
    }
    let mut by_word: HashMap<_, Option<&[u8]>> = HashMap::new();
    for (word, source) in damaged_words(old).into_iter().zip(sources) {
        let known = by_word.entry(word).or_insert(Some(source));
        *known = known.filter(|known| known == source);
    }
    let count = |common: &mut dyn Iterator<Item = (char, char)>| {
        let alike = common.take_while(|(one, other)| one == other);
        alike.filter(|(c, _)| *c == REPLACEMENT).count()
    };
    let before = count(&mut old.chars().zip(new.chars()));
    let after = count(&mut old.chars().rev().zip(new.chars().rev()));
    let choose = |(at, (word, source)): (usize, (&(String, usize), &'s Vec<u8>))| {
        let is_outer = at < before || wanted.len() - at <= after;
        let by_order = is_outer.then_some(source.as_slice());
        let by_word = by_word.get(word).copied().flatten();
        let is_clear = by_order.is_none() || by_word.is_none() || by_order == by_word;
        by_order.or(by_word).filter(|_| is_clear)
    };
    let all = wanted.iter().zip(sources).enumerate();
    all.map(choose).collect()
}

/// Returns for each U+FFFD the word that contains it, and how many others that word has before it.
fn damaged_words(text: &str) -> Vec<(String, usize)> {
    let words = text.split(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | REPLACEMENT));
    let mut damaged = Vec::new();
    for word in words {
        let each = 0..word.matches(REPLACEMENT).count();
        damaged.extend(each.map(|nth| (word.to_lowercase(), nth)));
    }
    damaged
}
