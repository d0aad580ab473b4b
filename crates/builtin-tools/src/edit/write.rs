//! Makes the new content of the place in the file that has the old text, and proves that it reads
//! as the new text.
//!
//! What the old and the new text have in common stays as the file has it, to the byte.

use super::Edited;
use super::depth::{Layout, Pair, Texts as Indented, layout, levels, unit_of};
use super::fit::{Fit, Haystack, LinePlace, Rank};
use super::form::{
    Blanks, FormChar, before, behind, form, form_text, have_same_characters, key, shape, shape_of,
    source, words,
};
use super::lines::{FileLines, ModelLines, indentation, trim_end, without_indentation};
use super::omission::omission;
use super::reading::{Texts, is_other_blank};
use gemini_tools_workspace::diff::{Algorithm, DiffOp, diff_lines};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Range, RangeInclusive};
use std::time::{Duration, Instant};
use unicode_normalization::UnicodeNormalization;

const DIFF_TIME: Duration = Duration::from_millis(500);

/// The old text has probably forgotten the line of the file above or below it if the new text has
/// that line. This is the minimum length of such a line in bytes: a shorter one may be a bracket or
/// keyword that is there by chance.
pub(super) const MIN_FORGOTTEN_BYTES: usize = 12;

const NOT_AS_IT_SAYS: &str = "what it changes is not as it says";
const MISTYPED_TOO: &str = "a word that it has differently is in a new line, too";
const BESIDE_BLANK: &str = "the file has other blank lines than old_string beside a change";
const TWO_SPELLINGS: &str =
    "old_string has one character where the file has two, and new_string has it in a new line";
const OTHER_CHARACTERS: &str = "a line that goes has other characters than old_string";
const OTHER_BLANKS: &str = "the file has other blanks at the ends of lines than old_string, so those of new lines are not clear";
const OTHER_GAPS: &str = "the file has other blanks within a line than old_string, so those of the new line are not clear";
const TWO_ENDS: &str =
    "the file's lines end in two ways there, so the ends of new lines are not clear";

pub(super) fn write(
    haystack: &Haystack<'_>,
    texts: &Texts,
    fit: &Fit<'_>,
    rank: Rank,
) -> Result<Edited, Fault> {
    let (old, new) = ModelLines::pair(&fit.texts.old, &fit.texts.new);
    let writer = Writer {
        file: haystack.file,
        fit,
        old: &old,
        new: &new,
        old_lines: old.trimmed(),
        new_lines: new.trimmed(),
        spelling: Spelling::default(),
        out: Vec::new(),
        next: fit.first_line(),
        has_other_tails: false,
    };
    let (place, content) = writer.write()?;
    Ok(Edited {
        place,
        content,
        reading: Some(rank.reading(texts)),
    })
}

/// Why an edit is refused. The line at which the file has the new text counts from 0.
pub(super) enum Fault {
    Unclear(&'static str),
    Applied(usize),
}

impl From<&'static str> for Fault {
    fn from(why: &'static str) -> Self {
        Self::Unclear(why)
    }
}

struct Line {
    text: String,
    end: &'static str,
    new: Option<usize>,
}

struct Writer<'a> {
    file: &'a FileLines<'a>,
    fit: &'a Fit<'a>,
    old: &'a ModelLines<'a>,
    new: &'a ModelLines<'a>,
    old_lines: Vec<&'a str>,
    new_lines: Vec<&'a str>,
    spelling: Spelling,
    out: Vec<Line>,
    next: usize,
    has_other_tails: bool,
}

impl<'a> Writer<'a> {
    fn write(mut self) -> Result<(Range<usize>, String), Fault> {
        let lines = || self.fit.places.iter().filter_map(|place| place.line());
        let (Some(first), Some(last)) = (lines().next(), lines().next_back()) else {
            return Err(NOT_AS_IT_SAYS.into());
        };
        for (at, place) in self.fit.places.iter().enumerate() {
            if let LinePlace::Same(line) = place {
                self.spelling
                    .learn(self.old_lines[at], self.file.line(*line));
            }
        }
        let has_other_tails = self.tails().any(|(_, old, there)| old != there);
        self.has_other_tails = has_other_tails;
        let (old, new) = (self.old, self.new);
        let blanks = [self.file.blank_before(first), self.file.blank_after(last)];
        let changes_edge = self.merge()?;
        self.prove()?;
        let edges = [
            (old.blank_before, new.blank_before, blanks[0]),
            (old.blank_after, new.blank_after, blanks[1]),
        ];
        // A blank line at an edge of the old text that the file lacks may stand for a forgotten
        // line. And if the file and the old text have the blank line on different sides of the
        // first or last line, the change may belong to either side.
        let second = (1..self.old_lines.len()).find(|at| !self.old_lines[*at].is_empty());
        let beside = [second, self.old_lines.len().checked_sub(1)];
        let is_other = |(at, (old, new, there)): (usize, &(usize, usize, usize))| {
            let moves = || beside[at].is_some_and(|line| self.fit.other_blanks.contains(&line));
            there < old && (changes_edge[at] || old > new)
                || new > old && there > old
                || there > old && changes_edge[at] && moves()
        };
        if edges.iter().enumerate().any(is_other) || !self.are_blanks_gone_empty(first, last) {
            return Err(BESIDE_BLANK.into());
        }
        let [(before_gone, before_added), (after_gone, after_added)] =
            edges.map(|(old, new, _)| (old.saturating_sub(new), new.saturating_sub(old)));
        let start = self.file.range(first - before_gone).start;
        let end = last + after_gone;
        let blank = || Line {
            text: String::new(),
            end: self.file.ending(first),
            new: None,
        };
        let mut lines: Vec<Line> = (0..before_added).map(|_| blank()).collect();
        lines.append(&mut self.out);
        lines.extend((0..after_added).map(|_| blank()));
        // If the edit removes all lines of the match, it also removes the line end of the last one.
        let Some((last, others)) = lines.split_last() else {
            return Ok((start..self.file.end(end), String::new()));
        };
        let mut content = String::new();
        for line in others {
            content.push_str(&line.text);
            content.push_str(if line.end.is_empty() {
                self.file.ending(first)
            } else {
                line.end
            });
        }
        content.push_str(&last.text);
        if after_gone == 0 {
            return Ok((start..self.file.range(end).end, content));
        }
        content.push_str(last.end);
        Ok((start..self.file.end(end), content))
    }

    /// Makes the new lines of the place. Returns whether the edit changes the first line of the old
    /// text, and whether it changes the last.
    fn merge(&mut self) -> Result<[bool; 2], Fault> {
        let pairs = self
            .fit
            .places
            .iter()
            .enumerate()
            .filter_map(|(at, place)| {
                let line = place.line().filter(|_| !self.old_lines[at].is_empty())?;
                Some(Pair {
                    at,
                    old: indentation(self.old_lines[at]),
                    file: indentation(self.file.line(line)),
                })
            });
        let pairs: Vec<Pair<'_>> = pairs.collect();
        if self.is_beside_the_very_line(&pairs) {
            return Err(NOT_AS_IT_SAYS.into());
        }
        let (unit, is_unit_known) = self.unit(&pairs);
        let layout = layout(&Indented {
            old: &self.old_lines,
            new: &self.new_lines,
            pairs: &pairs,
            unit: &unit,
            is_unit_known,
        })?;
        // Where the file has more or fewer blank lines than the old text, the lines around them
        // must stay, and nothing may be added between them.
        let gaps = self.fit.other_blanks.iter().map(|at| {
            let before = (0..*at).rev().find(|at| !self.old_lines[*at].is_empty());
            before.map_or(0, |before| before + 1)..*at + 1
        });
        let may_change = |gap: Range<usize>| {
            let mut ops = layout.ops.iter().enumerate();
            ops.any(|(n, op)| match op {
                DiffOp::Equal { .. } => false,
                DiffOp::Insert { .. } => {
                    let place = self.places_of_insertion(&layout.ops, n);
                    *place.start() < gap.end && gap.start <= *place.end()
                }
                _ => op.old_range().start < gap.end && gap.start <= op.old_range().end,
            })
        };
        if gaps.into_iter().any(may_change) {
            return Err(BESIDE_BLANK.into());
        }
        let is_change =
            |op: Option<&DiffOp>| op.is_some_and(|op| !matches!(op, DiffOp::Equal { .. }));
        let mut changes_edge = [layout.ops.first(), layout.ops.last()].map(is_change);
        if self.is_mistyped_beside(&layout.ops, changes_edge) {
            return Err(NOT_AS_IT_SAYS.into());
        }
        if self.adds_mistyped_word(&layout.ops) {
            return Err(MISTYPED_TOO.into());
        }
        for op in &layout.ops {
            match op {
                DiffOp::Equal { .. } => {
                    for (old, new) in op.old_range().zip(op.new_range()) {
                        self.keep(old, new)?;
                    }
                }
                _ => self.change(op, &layout)?,
            }
        }
        let (first, next) = (self.fit.first_line(), self.next);
        // Both iterators give the lines in the order of their distance from the match, the nearest
        // first.
        let are_there = |added: &mut dyn Iterator<Item = &&str>,
                         lines: &mut dyn Iterator<Item = usize>| {
            let added: Vec<&&str> = added.filter(|line| !line.is_empty()).collect();
            let there = lines.map(|line| key(self.file.line(line), Blanks::Dropped));
            let there = there.filter(|key| !key.is_empty()).take(added.len());
            there.eq(added.iter().map(|line| key(line, Blanks::Dropped)))
        };
        for head in self.more_at_start() {
            changes_edge[0] = true;
            if are_there(&mut head.iter().rev(), &mut (0..first).rev()) {
                return Err(Fault::Applied(first.saturating_sub(head.len())));
            }
        }
        for tail in self.more_at_end() {
            changes_edge[1] = true;
            if are_there(&mut tail.iter(), &mut (next..self.file.len())) {
                return Err(Fault::Applied(next));
            }
        }
        Ok(changes_edge)
    }

    /// Returns true if a line beside a change seems mistyped in the old text. It may then be a line
    /// that the edit means to change.
    fn is_mistyped_beside(&self, ops: &[DiffOp], changes_edge: [bool; 2]) -> bool {
        let are_together = |at: usize| {
            let mut kept = ops.iter().filter(|op| matches!(op, DiffOp::Equal { .. }));
            kept.any(|op| op.old_range().contains(&at) && op.old_range().contains(&(at + 1)))
        };
        let mut places = self.fit.places.iter().enumerate();
        places.any(|(at, place)| {
            let is_below = at
                .checked_sub(1)
                .map_or(changes_edge[0], |at| !are_together(at));
            let is_above = if at + 1 == self.old_lines.len() {
                changes_edge[1]
            } else {
                !are_together(at)
            };
            matches!(place, LinePlace::Near(_)) && (is_below || is_above)
        })
    }

    /// Returns true if a new line has a word, or a part of a name, that the old text has mistyped
    /// in an unchanged line. It is probably mistyped in the new line as well.
    fn adds_mistyped_word(&self, ops: &[DiffOp]) -> bool {
        let words = |line: &'a str| {
            let words = line.split(|c: char| !c.is_alphabetic());
            words.filter(|word| !word.is_empty())
        };
        let places = self.fit.places.iter().zip(&self.old_lines);
        let near = places.filter_map(|(place, old)| match place {
            LinePlace::Near(line) => Some((old, self.file.line(*line))),
            _ => None,
        });
        let is_mistyped = |word: &str, old: &'a str, file: &'a str| {
            let is_part = |whole: &str| word.len() >= 4 && whole.contains(word);
            let is_known = |part: &str| words(file).any(|there| there == part);
            let mut odd = words(old).filter(|part| !is_known(part));
            odd.any(|part| part == word || is_part(part) && !words(file).any(is_part))
        };
        let near: Vec<_> = near.collect();
        let added = ops.iter().filter(|op| !matches!(op, DiffOp::Equal { .. }));
        let mut added = added
            .flat_map(|op| &self.new_lines[op.new_range()])
            .flat_map(|line| words(line));
        added.any(|word| near.iter().any(|(old, file)| is_mistyped(word, old, file)))
    }

    /// Returns the lines of the old text before which the lines that operation `n` of the diff adds
    /// may belong. There are several if the lines around equal the added ones: a diff finds only
    /// one of these places.
    fn places_of_insertion(&self, ops: &[DiffOp], n: usize) -> RangeInclusive<usize> {
        let (at, added) = (ops[n].old_range().start, ops[n].new_range());
        let kept = |op: Option<&DiffOp>| match op {
            Some(DiffOp::Equal { len, .. }) => *len,
            _ => 0,
        };
        let new = &self.new_lines;
        let is_down = |k: &usize| new[added.start + k] == new[added.end + k];
        let is_up = |k: &usize| new[added.start - 1 - k] == new[added.end - 1 - k];
        let down = (0..kept(ops.get(n + 1))).take_while(is_down).count();
        let before = n.checked_sub(1).and_then(|n| ops.get(n));
        let up = (0..kept(before)).take_while(is_up).count();
        at - up..=at + down
    }

    /// Returns the lines that the new text may add before the old text: the lines before each line
    /// that equals the first line of the old text. A diff can't tell which of these equal lines is
    /// the old one.
    fn more_at_start(&self) -> impl Iterator<Item = &[&'a str]> {
        let (old, new) = (&self.old_lines, &self.new_lines);
        let starts = (1..new.len()).filter(|at| Some(&new[*at]) == old.first());
        starts.map(|at| &new[..at]).filter(|head| {
            let with_first = &new[..=head.len()];
            !old.starts_with(with_first)
        })
    }

    fn more_at_end(&self) -> impl Iterator<Item = &[&'a str]> {
        let (old, new) = (&self.old_lines, &self.new_lines);
        let ends = (1..new.len()).filter(|at| Some(&new[at - 1]) == old.last());
        ends.map(|at| (&new[at..], &new[at - 1..]))
            .filter(|(_, with_last)| !old.ends_with(with_last))
            .map(|(tail, _)| tail)
    }

    fn are_blanks_gone_empty(&self, first: usize, last: usize) -> bool {
        let (old, new) = (self.old, self.new);
        let before = old.blank_before.saturating_sub(new.blank_before).min(first);
        let after = old.blank_after.saturating_sub(new.blank_after);
        let gone = (first - before..first).chain(last + 1..(last + 1 + after).min(self.file.len()));
        let mut blank = gone
            .map(|line| self.file.whole(line))
            .filter(|line| line.trim().is_empty());
        blank.all(str::is_empty)
    }

    /// Returns true if only the first or only the last line is indented differently in the file,
    /// and the next line of the file outside of the match equals that line of the old text exactly.
    /// The old text then probably lacks a line in between.
    fn is_beside_the_very_line(&self, pairs: &[Pair<'_>]) -> bool {
        if pairs.iter().filter(|pair| pair.old != pair.file).count() != 1 {
            return false;
        }
        let line_at = |pair: &Pair<'_>| self.fit.places[pair.at].line();
        let is_there = |pair: &Pair<'_>, line: Option<usize>| {
            let line = line.map(|line| self.file.line(line));
            pair.old != pair.file && line == Some(self.old_lines[pair.at])
        };
        let filled = |line: &usize| !self.file.line(*line).is_empty();
        let above = |pair: &Pair<'_>| (0..line_at(pair)?).rev().find(filled);
        let below = |pair: &Pair<'_>| (line_at(pair)? + 1..self.file.len()).find(filled);
        pairs
            .first()
            .is_some_and(|first| is_there(first, above(first)))
            || pairs.last().is_some_and(|last| is_there(last, below(last)))
    }

    /// Returns the unit of indentation, and whether the file or the matched lines are indented by
    /// it. If they are not, the unit is a guess.
    fn unit(&self, pairs: &[Pair<'_>]) -> (String, bool) {
        let is_of_place = |unit: &String| {
            let mut pairs = pairs.iter();
            pairs.all(|pair| levels(pair.file, unit).is_some())
        };
        let lines = self.fit.places.iter().filter_map(|place| place.line());
        let place = || unit_of(lines.map(|line| self.file.line(line)));
        let file = unit_of(self.file.text.lines());
        if let Some(unit) = file.clone().filter(is_of_place).or_else(place) {
            return (unit, true);
        }
        let texts = || unit_of(self.old_lines.iter().chain(&self.new_lines).copied());
        let only = || {
            let mut files = pairs.iter().map(|pair| pair.file);
            files.find(|file| !file.is_empty()).map(str::to_owned)
        };
        let guess = file.or_else(texts).or_else(only);
        (guess.unwrap_or_else(|| "    ".to_owned()), false)
    }

    fn push(&mut self, text: String, end: &'static str, new: Option<usize>) {
        self.out.push(Line { text, end, new });
    }

    fn keep(&mut self, old: usize, new: usize) -> Result<(), Fault> {
        let (until, own) = match self.fit.places[old] {
            LinePlace::Same(line) | LinePlace::Near(line) => (line, Some(line)),
            LinePlace::Elided(until) => (until, None),
            LinePlace::Missing => return Ok(()),
        };
        for line in self.next..until {
            let text = self.file.whole(line).to_owned();
            self.push(text, self.file.own_ending(line), None);
        }
        if let Some(line) = own {
            let (there, content) = (self.file.whole(line), self.file.line(line));
            let [before, after] = [tail(self.old.lines[old]), tail(self.new.lines[new])];
            // An unchanged line keeps the file's trailing blanks, unless the edit is meant to
            // change them. It is not if the old text has the new blanks on a line where the file
            // has others: then the model adds them out of habit.
            let own = &there[content.len()..];
            let is_models = || {
                let mut tails = self.tails();
                tails.any(|(_, old, there)| old == after && there != after)
            };
            let is_about_blanks = before != after && after != own && {
                let is_clear = if before == own {
                    !self.has_other_tails
                } else {
                    after.is_empty() || is_models()
                };
                if !is_clear {
                    return Err(OTHER_BLANKS.into());
                }
                before == own
            };
            let text = if is_about_blanks {
                format!("{content}{after}")
            } else {
                there.to_owned()
            };
            self.push(text, self.file.own_ending(line), Some(new));
        }
        self.next = own.map_or(until, |line| line + 1);
        Ok(())
    }

    fn change(&mut self, op: &DiffOp, layout: &Layout) -> Result<(), Fault> {
        let old = op.old_range();
        let start = self.next;
        for at in old.clone() {
            match self.fit.places[at] {
                LinePlace::Same(line) if line == self.next => {
                    if !have_same_characters(self.old_lines[at], self.file.line(line)) {
                        return Err(OTHER_CHARACTERS.into());
                    }
                    self.next = line + 1;
                }
                LinePlace::Missing => {}
                _ => return Err(NOT_AS_IT_SAYS.into()),
            }
        }
        self.check_not_applied(op, start..self.next)?;
        // A single line that replaces a single other one gets the line end of that one. So it does
        // not matter in this case if the file has two kinds of line ends.
        let is_one_for_one = old.len() == 1
            && op.new_range().len() == 1
            && !self
                .old_lines
                .contains(&self.new_lines[op.new_range().start]);
        if !is_one_for_one && self.has_two_ends() {
            return Err(TWO_ENDS.into());
        }
        let contents = self.contents(op)?;
        for (at, content) in op.new_range().zip(contents) {
            let line = self.new_lines[at];
            let is_omission = !old.is_empty() && omission(line).is_some();
            if is_omission && !self.old_lines.contains(&line) {
                return Err("the new text leaves lines out that the old one has".into());
            }
            if let Some(doubt) = self.fit.texts.doubt
                && self
                    .fit
                    .texts
                    .doubtful
                    .contains(&(at + self.new.blank_before))
            {
                return Err(doubt.into());
            }
            let blanks = self.tail(op, at, content.is_empty())?;
            let text = format!("{}{content}{blanks}", layout.indents[at]);
            // The line end is that of the replaced line, or else of the line before.
            let partner = (old.start + at - op.new_range().start).min(old.end);
            let partner = old
                .contains(&partner)
                .then(|| self.fit.places[partner].line());
            let line = partner.flatten().unwrap_or(self.next.saturating_sub(1));
            self.push(text, self.file.ending(line), Some(at));
        }
        Ok(())
    }

    fn has_two_ends(&self) -> bool {
        let start = self.fit.first_line().saturating_sub(self.old.blank_before);
        let end = (self.fit.last_line() + self.old.blank_after + 1).min(self.file.len());
        let mut ends = (start..end)
            .map(|line| self.file.own_ending(line))
            .filter(|end| !end.is_empty());
        let first = ends.next();
        ends.any(|end| Some(end) != first)
    }

    fn tail(&self, op: &DiffOp, at: usize, is_blank: bool) -> Result<&'a str, Fault> {
        let own = tail(self.new.lines[at]);
        // The blanks of an otherwise empty line may be a habit of the model, if the old text has
        // such a line or is indented differently from the file.
        let is_elsewhere = |line: &str| line == own && line.trim().is_empty();
        let is_moved = |(at, place): (usize, &LinePlace)| {
            let there = place.line().map(|line| indentation(self.file.line(line)));
            there.is_some_and(|there| there != indentation(self.old_lines[at]))
        };
        let may_be_models = || {
            self.fit.texts.old.split('\n').any(is_elsewhere)
                || self.fit.places.iter().enumerate().any(is_moved)
        };
        if is_blank && !own.is_empty() && may_be_models() {
            return Err(OTHER_BLANKS.into());
        }
        if !self.has_other_tails {
            return Ok(own);
        }
        // A replacing line keeps its trailing blanks if the replaced line has the same ones in the
        // file and in the old text.
        let (old, new) = (op.old_range(), op.new_range());
        let partner = (old.len() == new.len()).then(|| old.start + (at - new.start));
        if let Some(partner) = partner
            && let LinePlace::Same(line) = self.fit.places[partner]
            && tail(self.file.whole(line)) == own
            && tail(self.old.lines[partner]) == own
        {
            return Ok(own);
        }
        // If the old text lacks blanks that the file has, those of new lines are not clear.
        let is_lost = |(at, old, there): (usize, &str, &str)| {
            old != there && !there.is_empty() && self.old_lines[at].is_empty() == is_blank
        };
        let is_models = own.is_empty()
            || self
                .tails()
                .any(|(_, old, there)| old == own && there != own);
        // A model that habitually adds trailing blanks adds them to all lines, also to new ones.
        let are_everywhere = || {
            let mut added = self.new.lines.iter().zip(&self.new_lines);
            added.all(|(line, trimmed)| {
                trimmed.is_empty() || tail(line) == own || self.old_lines.contains(trimmed)
            })
        };
        if !is_models || self.tails().any(is_lost) || !own.is_empty() && !are_everywhere() {
            return Err(OTHER_BLANKS.into());
        }
        Ok("")
    }

    /// Returns, for each line of the old text that the file has, its index and its trailing blanks
    /// in the old text and in the file.
    fn tails(&self) -> impl Iterator<Item = (usize, &'a str, &'a str)> {
        let places = self.fit.places.iter().enumerate();
        places.filter_map(|(at, place)| match place {
            LinePlace::Same(line) => {
                Some((at, tail(self.old.lines[at]), tail(self.file.whole(*line))))
            }
            _ => None,
        })
    }

    /// Refuses a change whose new lines are in the file already, directly before or behind the
    /// lines `gone` that it removes: it was probably made before.
    fn check_not_applied(&self, op: &DiffOp, gone: Range<usize>) -> Result<(), Fault> {
        let keys = |line: &str| key(line, Blanks::Dropped).into_owned();
        let filled = |line: &String| !line.is_empty();
        let new = self.new_lines[op.new_range()].iter();
        let new: Vec<String> = new.map(|line| keys(line)).filter(filled).collect();
        if new.is_empty() {
            return Ok(());
        }
        let lines = |line: usize| Some(keys(self.file.line(line))).filter(filled);
        let above = (0..gone.start).rev().filter_map(lines).take(new.len());
        let mut above: Vec<String> = above.collect();
        above.reverse();
        let below = gone.end..self.file.len();
        let below: Vec<String> = below.filter_map(lines).take(new.len()).collect();
        // The old text may have left out lines beside its first or last line. There, a single new
        // line that the file has already is enough to refuse the edit.
        let (old, all) = (op.old_range(), self.old_lines.len());
        let least = |may_lack: bool| if may_lack { 1 } else { new.len() };
        let is_edge = |there: &[String]| new.starts_with(there) || new.ends_with(there);
        let is_above = |n: usize| n <= above.len() && is_edge(&above[above.len() - n..]);
        let is_below = |n: usize| below.get(..n).is_some_and(is_edge);
        // The old text may have forgotten the line of the file above or below it, if the new text
        // has that line and it is long enough. This is checked where the edit changes the first or
        // last line, and where the old text has a blank line that the file does not have.
        let place = self.fit.first_line()..self.fit.last_line() + 1;
        let says_enough = |line: &usize| {
            let line = keys(self.file.line(*line));
            line.len() >= MIN_FORGOTTEN_BYTES && new.contains(&line)
        };
        let is_filled = |line: &usize| lines(*line).is_some();
        let may_lack = [
            old.start == 0 || self.file.blank_before(place.start) < self.old.blank_before,
            old.end == all || self.file.blank_after(place.end - 1) < self.old.blank_after,
        ];
        let above_place = (0..place.start).rev().find(is_filled);
        let below_place = (place.end..self.file.len()).find(is_filled);
        let beside = [
            above_place.filter(|_| may_lack[0]),
            below_place.filter(|_| may_lack[1]),
        ];
        if let Some(line) = beside.into_iter().flatten().find(says_enough) {
            return Err(Fault::Applied(line));
        }
        if (least(old.start == 0)..=new.len()).any(is_above) {
            return Err(Fault::Applied(gone.start.saturating_sub(1)));
        }
        if (least(old.end == all)..=new.len()).any(is_below) {
            return Err(Fault::Applied(gone.end));
        }
        Ok(())
    }

    /// Returns the new lines of a change without indentation. Words that the old text has, too, are
    /// spelled as in the file.
    fn contents(&self, op: &DiffOp) -> Result<Vec<String>, Fault> {
        let joined = |lines: &[&str]| {
            let lines: Vec<&str> = lines.iter().map(|line| without_indentation(line)).collect();
            lines.join("\n")
        };
        let new = joined(&self.new_lines[op.new_range()]);
        let old = joined(&self.old_lines[op.old_range()]);
        let places = self.fit.places[op.old_range()].iter();
        let there = places.filter_map(|place| place.line());
        let there: Vec<&str> = there.map(|line| self.file.line(line)).collect();
        let there = joined(&there);
        let merged = if there == old && !self.spelling.differs && self.spelling.gaps.is_empty() {
            new
        } else {
            self.spelling.write(&old, &there, &new)?
        };
        // A line that both texts have, in different places, is written as the file has it, with its
        // own blanks and quotes, and not as the model spells it.
        let moved = |line: &&str| {
            let mut old = self.old_lines.iter().zip(&self.fit.places);
            old.find_map(|(old, place)| match place {
                LinePlace::Same(there) if without_indentation(old) == without_indentation(line) => {
                    Some(without_indentation(self.file.line(*there)))
                }
                _ => None,
            })
        };
        let lines = self.new_lines[op.new_range()].iter();
        let lines = lines.zip(merged.split('\n'));
        Ok(lines
            .map(|(line, merged)| moved(line).unwrap_or(merged).to_owned())
            .collect())
    }

    /// Proves that the new content reads as the new text: it has all lines of it in order, and
    /// otherwise only lines that were there before.
    fn prove(&self) -> Result<(), Fault> {
        let is_elsewhere = |at: &usize| {
            let line = self.new_lines[*at];
            line.is_empty() || omission(line).is_some()
        };
        let mut next = 0;
        for line in &self.out {
            let Some(new) = line.new else { continue };
            let is_near = || {
                let near = self.fit.places.iter().filter_map(|place| match place {
                    LinePlace::Near(line) => Some(self.file.whole(*line)),
                    _ => None,
                });
                near.into_iter().any(|near| near == line.text)
            };
            let [text, wanted] = [&*line.text, self.new_lines[new]];
            // The blanks and signs of a written line must all be those of the new text, or all
            // those of one line that the file has at this place.
            let has_shape_of = |line: &str| shape_of(text) == shape_of(line);
            let mut there = self.fit.places.iter().filter_map(|place| place.line());
            let reads_so = key(text, Blanks::Dropped) == key(wanted, Blanks::Dropped)
                && (has_shape_of(wanted) || there.any(|line| has_shape_of(self.file.line(line))));
            let is_next = (next..new).all(|at| is_elsewhere(&at));
            if !is_next || !(reads_so || is_near()) {
                return Err(NOT_AS_IT_SAYS.into());
            }
            next = new + 1;
        }
        if (next..self.new_lines.len()).all(|at| is_elsewhere(&at)) {
            Ok(())
        } else {
            Err(NOT_AS_IT_SAYS.into())
        }
    }
}

fn tail(line: &str) -> &str {
    &line[trim_end(line).len()..]
}

/// How the file spells characters, such as quotes, that the old text has differently.
///
/// `files` maps what the old text has, where that is not ASCII, to what the file has for it. `gaps`
/// are runs of blanks in the old text for which the file has others: either there are several
/// blanks, or the file has a tab, which may separate columns. `has_typography` is set if the old
/// text has a typographic character where the file has a plain one.
#[derive(Debug, Default)]
struct Spelling {
    files: BTreeMap<String, BTreeSet<String>>,
    gaps: BTreeSet<String>,
    differs: bool,
    has_typography: bool,
    has_other_blanks: bool,
}

impl Spelling {
    fn learn(&mut self, old: &str, there: &str) {
        let [old_form, there_form] = [old, there].map(|text| form(text, Blanks::Dropped));
        if old_form.len() != there_form.len() {
            return;
        }
        let mut start = 0;
        for end in 1..=old_form.len() {
            let is_whole = |form: &[FormChar]| {
                form.get(end)
                    .is_none_or(|next| next.start >= form[end - 1].end)
            };
            if !is_whole(&old_form) || !is_whole(&there_form) {
                continue;
            }
            let [one, file] = [(old, &old_form), (there, &there_form)]
                .map(|(text, form)| source(text, form, &(start..end)));
            self.differs |= one != file;
            // What is ASCII in a new line is meant so: the file may have `’` in a comment, which is
            // quoted with `'`, and yet `'` in its code.
            if !one.is_ascii() {
                self.has_typography |= one != file && file.is_ascii();
                // One wide character of the old text, such as a full-width comma, may stand for a
                // narrow one and a blank in the file.
                let [lacks, blank] =
                    [(old, &old_form), (there, &there_form)].map(|(text, form)| {
                        let next = form.get(end).map_or(text.len(), |next| next.start);
                        &text[form[end - 1].end..next]
                    });
                let blank = if one != file && lacks.is_empty() {
                    blank
                } else {
                    ""
                };
                let files = self.files.entry(one.to_owned()).or_default();
                files.insert([file, blank].concat());
            }
            let [blanks, files] = [(old, &old_form), (there, &there_form)]
                .map(|(text, form)| before(text, form, &(start..end)));
            self.has_other_blanks |=
                files.contains(is_other_blank) && !blanks.contains(is_other_blank);
            let may_be_column = blanks.len() > 1 || files.contains('\t');
            if blanks != files && may_be_column && !blanks.is_empty() && start > 0 {
                self.gaps.insert(blanks.to_owned());
            }
            start = end;
        }
    }

    fn spelled(&self, word: &str) -> Result<String, Fault> {
        let one = |part: &str| match self.files.get(part) {
            Some(files) if files.len() > 1 => Err(Fault::Unclear(TWO_SPELLINGS)),
            Some(files) => Ok(files.first().map_or(part, |file| file).to_owned()),
            // The old text does not have this typographic character, but has others where the file
            // has plain ones, so it is not known which spelling is meant.
            None if self.has_typography
                && !part.is_ascii()
                && form_text(part, Blanks::Kept).is_ascii() =>
            {
                Err(Fault::Unclear(TWO_SPELLINGS))
            }
            None => Ok(part.to_owned()),
        };
        if self.files.contains_key(word) {
            return one(word);
        }
        // The file may write a letter and its accent as one character where the old text has two
        // (the Unicode forms NFC and NFD). Then new words are written in the same way.
        let is_composed = |(one, files): (&String, &BTreeSet<String>)| {
            files
                .iter()
                .any(|file| file != one && one.nfc().eq(file.chars()))
        };
        let composed: String = word.nfc().collect();
        let word = if composed != word && self.files.iter().any(is_composed) {
            &composed
        } else {
            word
        };
        word.chars()
            .map(|c| one(c.encode_utf8(&mut [0; 4])))
            .collect()
    }

    /// Returns the new text, with the words that the old text has, too, spelled as in the file.
    /// `there` is the file's text at the place of `old`.
    fn write(&self, old: &str, there: &str, new: &str) -> Result<String, Fault> {
        let [old_form, there_form, new_form] = [old, there, new].map(|t| form(t, Blanks::Dropped));
        if new.is_empty() || old_form.len() != there_form.len() {
            return Ok(new.to_owned());
        }
        // A character of the file is kept or removed whole, even if `form` makes several of it.
        let is_whole = |at: usize| there_form[at - 1].end <= there_form[at].start;
        let old_words = words(&old_form, is_whole);
        let new_words = words(&new_form, |_| true);
        // Where the file has other blanks, those of new lines are clear only if the edit does no more
        // than to replace words.
        let of_old = shape(old, &old_form, &old_words);
        let has_other_gaps = of_old != shape(there, &there_form, &old_words);
        if has_other_gaps && of_old != shape(new, &new_form, &new_words) {
            return Err(OTHER_GAPS.into());
        }
        let mut out = String::with_capacity(new.len());
        for op in diff_words((&old_form, &old_words), (&new_form, &new_words)) {
            let is_kept = matches!(op, DiffOp::Equal { .. });
            // If only a single quote or dash is kept and the words around it are new, it may be
            // another one than that of the old text.
            let is_beside_kept = |n: usize| {
                let (old, new) = (op.old_range().start + n, op.new_range().start + n);
                let ends = |text: &[FormChar], words: &[Range<usize>], at: usize| {
                    let char = |at: usize| text[words[at].start].c;
                    let first = at == 0 || char(at - 1) == '\n';
                    [first, at + 1 == words.len() || char(at + 1) == '\n']
                };
                let [old_ends, new_ends] = [
                    ends(&old_form, &old_words, old),
                    ends(&new_form, &new_words, new),
                ];
                op.old_range().len() > 1 || (0..2).any(|end| old_ends[end] && new_ends[end])
            };
            for (n, word) in new_words[op.new_range()].iter().enumerate() {
                // The old word that equals this one, or that this one replaces.
                let old_word = old_words[op.old_range()].get(n);
                let old_word = old_word.filter(|_| is_kept || n == 0);
                let blanks = before(new, &new_form, word);
                let is_same = |old_word: &&Range<usize>| before(old, &old_form, old_word) == blanks;
                match old_word.filter(is_same) {
                    _ if has_other_gaps => {
                        let word = &old_words[op.new_range().start + n];
                        out.push_str(before(there, &there_form, word));
                    }
                    None if self.has_other_blanks && blanks.contains(' ') => {
                        return Err(TWO_SPELLINGS.into());
                    }
                    None if self.gaps.contains(blanks) => return Err(TWO_SPELLINGS.into()),
                    _ => out.push_str(blanks),
                }
                match old_word.filter(|_| is_kept) {
                    Some(old_word) => {
                        let [file, old] = [(there, &there_form), (old, &old_form)]
                            .map(|(text, form)| source(text, form, old_word));
                        let new = source(new, &new_form, word);
                        // The spellings of the old text, the file and the new text all differ, so
                        // it is not known which one is meant.
                        if old != file && new != file && (old != new || !is_beside_kept(n)) {
                            return Err(TWO_SPELLINGS.into());
                        }
                        if old == new {
                            out.push_str(file);
                        } else {
                            out.push_str(&self.spelled(new)?);
                        }
                    }
                    None => out.push_str(&self.spelled(source(new, &new_form, word))?),
                }
            }
        }
        out.push_str(if has_other_gaps {
            behind(there, &there_form)
        } else {
            behind(new, &new_form)
        });
        Ok(out)
    }
}

type Words<'a> = (&'a [FormChar], &'a [Range<usize>]);

fn diff_words(old: Words<'_>, new: Words<'_>) -> Vec<DiffOp> {
    let [old, new] = [old, new].map(|(form, words)| -> Vec<String> {
        let text = |word: &Range<usize>| form[word.clone()].iter().map(|char| char.c).collect();
        words.iter().map(text).collect()
    });
    let deadline = Some(Instant::now() + DIFF_TIME);
    diff_lines(Algorithm::Myers, &old, &new, deadline)
}
