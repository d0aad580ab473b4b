//! The tiers on which every character of the old text counts, but for blanks and look-alikes.

use super::form::{Blanks, FormChar, form, form_text, plain};
use super::lines::{FileLines, ModelLines, indentation};
use super::merge::{LinePlace, Merge};
use super::{Outcome, depth};
use std::ops::Range;

/// The most places that are looked at.
const MAX_PLACES: usize = 100;

/// The most bytes of all places that are compared.
const MAX_COMPARED_BYTES: usize = 64 * 1024 * 1024;

/// An old text of fewer characters, a bracket for example, says too little unless its blanks are
/// the file's.
const MIN_CHARS: usize = 3;

/// A file in the form that is searched.
pub(super) struct Haystack<'a> {
    file: &'a FileLines<'a>,
    chars: Vec<FormChar>,
    text: String,
}

/// A place that has the old text's characters.
struct Candidate {
    /// From the first character that is not blank to the last.
    range: Range<usize>,
    /// True if the old text's blanks are there too.
    has_same_blanks: bool,
}

impl<'a> Haystack<'a> {
    pub(super) fn new(file: &'a FileLines<'a>) -> Self {
        let chars = form(file.text, Blanks::Dropped);
        let text = chars.iter().map(|char| char.c).collect();
        Self { file, chars, text }
    }

    /// Finds the one place of the old text. Places that have its blanks too come before others.
    pub(super) fn find(&self, old: &str, new: &str) -> Outcome {
        let mut candidates = self.candidates(old);
        if candidates.iter().any(|one| one.has_same_blanks) {
            candidates.retain(|one| one.has_same_blanks);
        }
        match candidates.as_slice() {
            [] => Outcome::Nothing,
            [one] => self.replaced(one, old, new),
            several => {
                let line = |one: &Candidate| self.file.line_of(one.range.start) + 1;
                Outcome::Several(several.iter().map(line).collect())
            }
        }
    }

    fn candidates(&self, old: &str) -> Vec<Candidate> {
        let wanted = form_text(old.trim(), Blanks::Dropped);
        let length = wanted.chars().count();
        let mut candidates = Vec::new();
        if wanted.is_empty() {
            return candidates;
        }
        let finder = memchr::memmem::Finder::new(&wanted);
        let (mut byte, mut at) = (0, 0);
        let mut compared = 0;
        while let Some(found) = finder.find(&self.text.as_bytes()[byte..]) {
            at += self.text[byte..byte + found].chars().count();
            byte += found;
            compared += old.len();
            if compared > MAX_COMPARED_BYTES {
                return Vec::new();
            }
            candidates.extend(self.candidate(old, &self.chars[at..at + length], at));
            if candidates.len() == MAX_PLACES {
                break;
            }
            byte += self.chars[at].c.len_utf8();
            at += 1;
        }
        candidates
    }

    /// Returns the place of these characters if the old text may be meant there.
    fn candidate(&self, old: &str, chars: &[FormChar], at: usize) -> Option<Candidate> {
        let (first, last) = (chars.first()?, chars.last()?);
        let range = first.start()..last.end();
        // A character of the file may be several of the form.
        let is_cut = at > 0 && self.chars[at - 1].end() > range.start
            || (self.chars.get(at + chars.len())).is_some_and(|next| next.start() < range.end);
        if is_cut {
            return None;
        }
        let (head, tail) = self.around(&range);
        let has_same_blanks = self.has_same_blanks(old, &range);
        let is_whole_lines = is_blank(head) && is_blank(tail);
        let is_enough = if is_whole_lines {
            has_same_blanks || chars.len() >= MIN_CHARS
        } else {
            // Blank lines around a part of a line can't be meant.
            let starts_line = !old
                .trim_start_matches([' ', '\t'])
                .starts_with(['\r', '\n']);
            let ends_line = old.trim_end_matches([' ', '\t']).ends_with('\n');
            has_same_blanks && starts_line && (!ends_line || is_blank(tail))
        };
        is_enough.then_some(Candidate {
            range,
            has_same_blanks,
        })
    }

    /// Returns what is before and behind a place on its lines.
    fn around(&self, place: &Range<usize>) -> (&'a str, &'a str) {
        let text = self.file.text;
        let first = self.file.range(self.file.line_of(place.start));
        let last = self.file.range(self.file.line_of(place.end - 1));
        (
            &text[first.start..place.start],
            &text[place.end.min(last.end)..last.end],
        )
    }

    fn has_same_blanks(&self, old: &str, place: &Range<usize>) -> bool {
        let old = old.trim_end().trim_start_matches(['\r', '\n']);
        let blanks = indentation(old).len();
        let there = place.start.checked_sub(blanks);
        let there = there.and_then(|start| self.file.text.get(start..place.end));
        there.is_some_and(|there| form_text(there, Blanks::Kept) == form_text(old, Blanks::Kept))
    }

    fn replaced(&self, place: &Candidate, old: &str, new: &str) -> Outcome {
        let first = self.file.line_of(place.range.start);
        let last = self.file.line_of(place.range.end - 1);
        let places: Vec<LinePlace> = (first..=last).map(LinePlace::Same).collect();
        let (head, tail) = self.around(&place.range);
        if is_blank(head) && is_blank(tail) {
            let (old, new) = ModelLines::pair(old, new, !place.has_same_blanks);
            return Merge::new(self.file, &places, &old, &new).outcome();
        }
        // A part of a line becomes whole lines.
        let (old, new) = match old.strip_suffix('\n') {
            Some(old) => (old, new.strip_suffix('\n').unwrap_or(new)),
            None => (old, new),
        };
        if !depth::stays_in_block(head, old, new) {
            return Outcome::Unclear(first + 1, depth::UNCLEAR);
        }
        let head = if is_blank(head) {
            ""
        } else {
            &head[..head.len() - indentation(old).len()]
        };
        let [old, new] = [old, new].map(|text| [head, text, tail].concat());
        let (old, new) = ModelLines::pair(&old, &new, false);
        Merge::new(self.file, &places, &old, &new).outcome()
    }
}

/// Returns true if nothing of a text can be seen.
fn is_blank(text: &str) -> bool {
    text.chars()
        .all(|c| plain(c).is_none_or(char::is_whitespace))
}
