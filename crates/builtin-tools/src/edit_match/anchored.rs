//! The most lenient tier: lines that the edit only quotes may differ a little.
//!
//! Lines that say the same but for blanks are anchors. Between them a quoted line may differ by
//! a few characters, blank lines and comments of the file may be missing from the old text, and
//! a line such as `...` may stand for lines that were left out. What the edit changes or takes
//! away must be there as it says, and the place must be the only one.

use super::Outcome;
use super::form::{Blanks, form_text};
use super::lines::{FileLines, ModelLines};
use super::merge::{LinePlace, Merge};
use super::omission::omission;
use gemini_tools_core::tool::{Cancellation, ToolError};
use gemini_tools_workspace::diff::{Algorithm, DiffOp, diff_lines};

/// Quoted lines less alike than this are others.
const MIN_LIKENESS: f64 = 0.75;

/// Lines of the file between two lines of the old text, where nothing says that some were
/// left out.
const MAX_SKIPPED_LINES: usize = 6;

/// Lines that `...` stands for, at most.
const MAX_ELIDED_LINES: usize = 200;

/// Characters of all anchors together, at least.
const MIN_ANCHOR_CHARS: usize = 12;

/// The most lines that are compared.
const MAX_LINES: usize = 2_000;

/// The places of all lines of the old text.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Alignment {
    places: Vec<LinePlace>,
    /// Number of lines that are nearly the same.
    near: usize,
}

impl Alignment {
    /// Returns the first and the last line of the file where a line of the old text is.
    fn range(&self) -> (usize, usize) {
        let mut lines = self.places.iter().filter_map(|place| place.line());
        let first = lines.next().unwrap_or_default();
        (first, lines.next_back().unwrap_or(first))
    }
}

struct Search<'a, 'f> {
    file: &'a FileLines<'f>,
    file_forms: Vec<String>,
    old: &'a [&'a str],
    old_forms: Vec<String>,
    /// True for each line that the edit leaves as it is.
    is_quoted: Vec<bool>,
    is_elision: Vec<bool>,
}

pub(super) fn find(
    file: &FileLines<'_>,
    old: &str,
    new: &str,
    cancel: &Cancellation,
) -> Result<Outcome, ToolError> {
    let (old_lines, new_lines) = ModelLines::pair(old, new, true);
    let wanted = old_lines.trimmed();
    // A single line must say enough to be looked for without its blanks.
    let says_enough = |line: &&str| form_of(line).chars().count() >= MIN_ANCHOR_CHARS;
    if wanted.len() < 2 && !wanted.first().is_some_and(says_enough) || wanted.len() > MAX_LINES {
        return Ok(Outcome::Nothing);
    }
    let ops = diff_lines(Algorithm::Patience, &wanted, &new_lines.trimmed(), None);
    let mut is_quoted = vec![false; wanted.len()];
    for op in &ops {
        if let DiffOp::Equal { old_index, len, .. } = op {
            is_quoted[*old_index..old_index + len].fill(true);
        }
    }
    let file_forms: Vec<String> = (0..file.len()).map(|i| form_of(file.line(i))).collect();
    let is_elision: Vec<bool> = wanted.iter().map(|line| omission(line).is_some()).collect();
    let search = Search {
        file,
        old_forms: wanted.iter().map(|line| form_of(line)).collect(),
        file_forms,
        old: &wanted,
        is_quoted,
        is_elision,
    };
    let alignments = search.alignments(cancel)?;
    Ok(match alignments.as_slice() {
        [] => Outcome::Nothing,
        [one] => Merge::new(file, &one.places, &old_lines, &new_lines).outcome(),
        several => Outcome::Several(several.iter().map(|one| one.range().0 + 1).collect()),
    })
}

/// Returns what a line says: its form without any blanks.
fn form_of(line: &str) -> String {
    form_text(line, Blanks::Dropped)
}

/// Returns true if a line is only a comment, in most languages.
fn is_comment(line: &str) -> bool {
    let line = line.trim_start();
    ["//", "#", "/*", "*", "--", ";", "<!--", "%"]
        .into_iter()
        .any(|mark| line.starts_with(mark))
}

impl Search<'_, '_> {
    /// Returns the places, the near ones too, that don't overlap.
    fn alignments(&self, cancel: &Cancellation) -> Result<Vec<Alignment>, ToolError> {
        let mut found: Vec<Alignment> = Vec::new();
        for start in 0..self.file.len() {
            if start % 256 == 0 {
                cancel.check()?;
            }
            let alignment = self.align(start);
            let Some(alignment) = alignment.filter(|one| self.is_sound(one)) else {
                continue;
            };
            let (first, last) = alignment.range();
            // Of places that overlap, the one with fewer differences is meant.
            if let Some(other) = found.iter_mut().find(|other| {
                let (a, b) = other.range();
                first <= b && a <= last
            }) {
                if alignment.near < other.near {
                    *other = alignment;
                }
            } else {
                found.push(alignment);
            }
        }
        // A place with all lines the same counts more than one that only resembles it by
        // several lines; with one line of difference it is not sure enough.
        if let Some(least) = found.iter().map(|a| a.near).min() {
            found.retain(|a| a.near <= least + 1);
        }
        Ok(found)
    }

    /// Returns true if a line of the old text says the same as a line of the file.
    fn is_same(&self, old: usize, line: usize) -> bool {
        self.file_forms.get(line) == Some(&self.old_forms[old])
    }

    /// Returns true if a line of the old text that stays is nearly the same as a line of the file.
    fn is_near(&self, old: usize, line: usize) -> bool {
        let (a, Some(b)) = (&self.old_forms[old], self.file_forms.get(line)) else {
            return false;
        };
        let (short, long) = (a.len().min(b.len()), a.len().max(b.len()));
        self.is_quoted[old]
            && short > 0
            && short * 2 >= long
            && strsim::normalized_levenshtein(a, b) >= MIN_LIKENESS
    }

    /// Follows the old text line by line from a line of the file on.
    fn align(&self, start: usize) -> Option<Alignment> {
        let mut places = Vec::with_capacity(self.old.len());
        let mut next = start;
        let mut near = 0;
        let mut i = 0;
        while i < self.old.len() {
            if self.is_elision[i] && i > 0 && i + 1 < self.old.len() && self.is_quoted[i] {
                let target = self.after_elision(i + 1, next)?;
                places.push(LinePlace::Elided(target));
                next = target;
                i += 1;
                continue;
            }
            let place = self.step(i, next)?;
            match place {
                LinePlace::Same(line) => next = line + 1,
                LinePlace::Near(line) => {
                    near += 1;
                    next = line + 1;
                }
                LinePlace::Missing | LinePlace::Elided(_) => {}
            }
            places.push(place);
            i += 1;
        }
        Some(Alignment { places, near })
    }

    /// Finds line `i` of the old text at `next`, or behind blank lines and comments that the old
    /// text has left out.
    fn step(&self, i: usize, next: usize) -> Option<LinePlace> {
        let may_skip =
            |line: &usize| self.file_forms[*line].is_empty() || is_comment(self.file.line(*line));
        let skipped = if i == 0 {
            0
        } else {
            let lines = (next..self.file.len()).take(MAX_SKIPPED_LINES);
            lines.take_while(may_skip).count()
        };
        let behind = next + skipped;
        if let Some(line) = (next..=behind).find(|line| self.is_same(i, *line)) {
            return Some(LinePlace::Same(line));
        }
        if self.old_forms[i].is_empty() {
            return Some(LinePlace::Missing);
        }
        let near = [next, behind]
            .into_iter()
            .find(|line| self.is_near(i, *line));
        near.map(LinePlace::Near)
    }

    /// Finds the first line from `next` on that says what line `i` of the old text says, and goes on
    /// as that does.
    fn after_elision(&self, i: usize, next: usize) -> Option<usize> {
        if self.old_forms[i].is_empty() {
            return None;
        }
        let end = self.file.len().min(next + MAX_ELIDED_LINES);
        let goes_on = |line: usize| match self.old_forms.get(i + 1) {
            Some(form) if !form.is_empty() && !self.is_elision[i + 1] => self.is_same(i + 1, line),
            _ => true,
        };
        let mut found = (next..end).filter(|line| self.is_same(i, *line) && goes_on(line + 1));
        let first = found.next()?;
        // What was left out must be clear.
        found.next().is_none().then_some(first)
    }

    /// Returns true if enough of the place is the same.
    fn is_sound(&self, alignment: &Alignment) -> bool {
        let mut same_lines = 0;
        let mut same_chars = 0;
        for (i, place) in alignment.places.iter().enumerate() {
            if let LinePlace::Same(_) = place
                && !self.old_forms[i].is_empty()
            {
                same_lines += 1;
                same_chars += self.old_forms[i].chars().count();
            }
        }
        let near = alignment.near;
        same_chars >= MIN_ANCHOR_CHARS && near <= 3 && near * 2 <= same_lines
    }
}
