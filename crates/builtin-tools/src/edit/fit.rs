//! Finds the places in a file that have all lines of an old text, in their order.

use super::depth::stays_in_block;
use super::form::{Blanks, form, is_word, key, tabs_between_words};
use super::lines::{FileLines, ModelLines, indentation};
use super::omission::omission;
use super::reading::Texts;
use super::{MAX_PLACES, Reading, cuts_word};
use gemini_tools_workspace::diff::{Algorithm, DiffOp, diff_lines};
use std::borrow::Cow;
use std::cell::{Cell, OnceCell};
use std::collections::HashMap;
use std::ops::Range;

const MIN_LIKENESS: f64 = 0.75;

const MAX_MISTYPED: usize = 3;

const MAX_SHORT_WORD: usize = 4;

const MAX_MISTYPED_BYTES: usize = 2_000;

const MAX_ELIDED_LINES: usize = 200;

const MAX_ALTERNATIVES: usize = 64;

const MAX_STEPS: usize = 100_000_000;

/// An old text of fewer characters fits too many places. It must be quoted exactly.
const MIN_CHARS: usize = 3;

pub(super) const MIN_ANCHOR_CHARS: usize = 12;

/// The differences that a place may have from the old text, from strict to lenient.
///
/// `Strict` allows for other indentation, other blanks at the ends of lines, and characters that
/// look alike. `Loose` allows for other blanks within the lines, too. `Part` is as strict as
/// `Strict`, but the old text may begin or end within a line of the file. `LinesLeftOut` is `Loose`
/// with blank lines that only the file or only the old text has, and with lines for which the old
/// text has `...`. `Mistyped` also allows for mistyped letters in lines that the edit does not
/// change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rank {
    Strict,
    Loose,
    Part,
    LinesLeftOut,
    Mistyped,
}

impl Rank {
    pub(super) const ALL: [Self; 5] = [
        Self::Strict,
        Self::Loose,
        Self::Part,
        Self::LinesLeftOut,
        Self::Mistyped,
    ];

    pub(super) fn reading(self, texts: &Texts) -> Reading {
        texts.reading.unwrap_or(match self {
            Self::Strict | Self::Loose | Self::Part => Reading::LookAlikes,
            Self::LinesLeftOut => Reading::LinesLeftOut,
            Self::Mistyped => Reading::Mistyped,
        })
    }
}

/// Where a line of the old text is in the file. `Near` is a line that the edit does not change and
/// that is nearly the same in the file, and `Missing` a blank line that the file does not have.
/// `Elided` is a `...` line: it stands for the lines of the file up to the one with this index,
/// exclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LinePlace {
    Same(usize),
    Near(usize),
    Missing,
    Elided(usize),
}

impl LinePlace {
    pub(super) fn line(self) -> Option<usize> {
        match self {
            Self::Same(line) | Self::Near(line) => Some(line),
            Self::Missing | Self::Elided(_) => None,
        }
    }
}

/// A place that has the old text. `texts` are the old and the new text, extended to whole lines if
/// they are parts of lines, and `places` has one entry for each line of the old text. `around` is
/// how many bytes the file has before the match on its first line, and behind it on its last.
/// `other_blanks` are the indices of the old text's lines before which the file has more or fewer
/// blank lines, and `near` counts the mistyped ones.
#[derive(Debug, Clone)]
pub(super) struct Fit<'t> {
    pub(super) texts: Cow<'t, Texts>,
    pub(super) places: Vec<LinePlace>,
    around: (usize, usize),
    pub(super) other_blanks: Vec<usize>,
    near: usize,
    /// Whether `...` would stand for lines beyond the block of the lines around it. Nobody can tell
    /// then what is meant, so such a fit is not edited; but it counts as a place, or else another
    /// one with the same lines would seem to be the only one.
    pub(super) leaves_block: bool,
}

impl Fit<'_> {
    pub(super) fn first_line(&self) -> usize {
        let mut lines = self.places.iter().filter_map(|place| place.line());
        lines.next().unwrap_or_default()
    }

    pub(super) fn last_line(&self) -> usize {
        let lines = self.places.iter().rev().find_map(|place| place.line());
        lines.unwrap_or_default()
    }
}

/// The lines of a file that are not blank, as numbers. Equal lines have the same number, which
/// makes them fast to compare.
struct Level {
    blanks: Blanks,
    numbers: HashMap<String, u32>,
    lines: Vec<u32>,
}

/// The lines of the file in which old texts are looked for. To find them may cost `MAX_STEPS` lines
/// and pairs of bytes that are compared; after that, the search is exhausted and may have missed
/// places.
pub(super) struct Haystack<'a> {
    pub(super) file: &'a FileLines<'a>,
    filled: Vec<usize>,
    strict: Level,
    loose: OnceCell<Level>,
    steps_left: Cell<usize>,
}

/// The lines of an old text. `runs` are the indices of those that are not blank, divided at the
/// lines with `...`. `stays` tells which lines the edit keeps, and `goes` which ones the new text
/// has nowhere.
struct Old<'t> {
    lines: Vec<&'t str>,
    runs: Vec<Vec<usize>>,
    stays: Vec<bool>,
    goes: Vec<bool>,
    strict: Vec<Option<u32>>,
}

impl<'t> Old<'t> {
    fn new(texts: &'t Texts, strict: &Level) -> Self {
        let (old, new) = ModelLines::pair(&texts.old, &texts.new);
        let (lines, new) = (old.trimmed(), new.trimmed());
        let mut stays = vec![false; lines.len()];
        for op in diff_lines(Algorithm::Patience, &lines, &new, None) {
            if let DiffOp::Equal { .. } = op {
                stays[op.old_range()].fill(true);
            }
        }
        let goes = lines.iter().map(|line| !new.contains(line)).collect();
        let numbers: Vec<_> = lines.iter().map(|line| strict.number(line)).collect();
        let mut runs = vec![Vec::new()];
        for (at, line) in lines.iter().enumerate() {
            // A `...` that the file has as well stands for itself.
            let is_inner = at > 0 && at + 1 < lines.len();
            if is_inner && stays[at] && omission(line).is_some() && numbers[at].is_none() {
                runs.push(Vec::new());
            } else if let Some(run) = runs.last_mut()
                && !key(line, Blanks::Kept).is_empty()
            {
                run.push(at);
            }
        }
        Self {
            lines,
            runs,
            stays,
            goes,
            strict: numbers,
        }
    }

    fn characters(&self) -> usize {
        let lines = self.runs.iter().flatten();
        lines
            .map(|at| key(self.lines[*at], Blanks::Dropped).chars().count())
            .sum()
    }
}

impl<'a> Haystack<'a> {
    pub(super) fn new(file: &'a FileLines<'a>) -> Self {
        let filled = (0..file.len()).filter(|line| !key(file.line(*line), Blanks::Kept).is_empty());
        let filled: Vec<usize> = filled.collect();
        Self {
            strict: Level::new(file, &filled, Blanks::Kept),
            loose: OnceCell::new(),
            steps_left: Cell::new(MAX_STEPS),
            file,
            filled,
        }
    }

    fn old<'t>(&self, texts: &'t Texts) -> Old<'t> {
        Old::new(texts, &self.strict)
    }

    fn step(&self, steps: usize) {
        let left = self.steps_left.get();
        self.steps_left.set(left.saturating_sub(steps));
    }

    pub(super) fn is_exhausted(&self) -> bool {
        self.steps_left.get() == 0
    }

    fn level(&self, rank: Rank) -> &Level {
        let dropped = || Level::new(self.file, &self.filled, Blanks::Dropped);
        match rank {
            Rank::Strict | Rank::Part => &self.strict,
            _ => self.loose.get_or_init(dropped),
        }
    }

    pub(super) fn fits<'t>(&self, texts: &'t Texts, rank: Rank) -> Vec<Fit<'t>> {
        if rank == Rank::Part {
            return self.parts(texts);
        }
        let old = self.old(texts);
        let level = self.level(rank);
        let number = |at: &usize| level.number(old.lines[*at]);
        let runs: Vec<Vec<Option<u32>>> = old
            .runs
            .iter()
            .map(|run| run.iter().map(number).collect())
            .collect();
        if runs.iter().any(Vec::is_empty) {
            return Vec::new();
        }
        let least = match rank {
            Rank::LinesLeftOut | Rank::Mistyped => MIN_ANCHOR_CHARS,
            _ => MIN_CHARS,
        };
        let says_enough = old.characters() >= least;
        let may_differ = rank == Rank::Mistyped && runs.len() == 1;
        let mistyped = if may_differ {
            MAX_MISTYPED.min(runs[0].len() / 3)
        } else {
            0
        };
        let mut fits: Vec<Fit<'t>> = Vec::new();
        for start in 0..self.filled.len() {
            // With more places than this, it can't be clear which one is meant, so the search ends.
            if fits.len() > MAX_PLACES || self.is_exhausted() {
                return fits;
            }
            let starts = self.starts(level, &runs, start, mistyped).into_iter();
            let ways = starts.filter_map(|starts| {
                let fit = self.fit(texts, &old, &runs, level, &starts)?;
                let is_sure = says_enough || self.has_same_blanks(&fit, &old);
                (is_sure && Self::is_at(rank, &fit, &old)).then_some(fit)
            });
            let mut ways: Vec<Fit<'t>> = ways.collect();
            if ways.iter().any(|fit| !fit.leaves_block) {
                ways.retain(|fit| !fit.leaves_block);
            }
            fits.extend(ways);
        }
        if rank == Rank::Mistyped
            && let Some(least) = fits.iter().map(|fit| fit.near).min()
        {
            // A place with only one more mistyped line than the best one may be the one that is
            // meant, too. But places that overlap count as one.
            fits.retain(|fit| fit.near <= least + 1);
            fits.sort_by_key(|fit| fit.near);
            let mut apart: Vec<Fit<'t>> = Vec::new();
            for fit in fits {
                let overlaps = |other: &Fit<'_>| {
                    fit.first_line() <= other.last_line() && other.first_line() <= fit.last_line()
                };
                if !apart.iter().any(overlaps) {
                    apart.push(fit);
                }
            }
            fits = apart;
        }
        fits
    }

    /// Finds the ways in which the file has the parts of the old text between its `...` lines
    /// (`runs`) in this order, the first of them at `start`. Positions count only lines that are
    /// not blank. If a run is at several positions behind the one before, the first two are
    /// returned, because it is not clear then which lines `...` stands for.
    fn starts(
        &self,
        level: &Level,
        runs: &[Vec<Option<u32>>],
        start: usize,
        mistyped: usize,
    ) -> Vec<Vec<usize>> {
        let is_at = |run: &[Option<u32>], at: usize, mistyped: usize| {
            let Some(there) = level.lines.get(at..at + run.len()) else {
                return false;
            };
            let (mut others, mut steps) = (0, 0);
            let is_at = run.iter().zip(there).all(|(one, there)| {
                steps += 1;
                others += usize::from(*one != Some(*there));
                others <= mistyped
            });
            self.step(steps);
            is_at
        };
        let Some((first, rest)) = runs.split_first() else {
            return Vec::new();
        };
        if !is_at(first, start, mistyped) {
            return Vec::new();
        }
        let mut all = vec![vec![start]];
        let (mut end, mut before) = (start + first.len(), first.len());
        for run in rest {
            let until = (end + MAX_ELIDED_LINES).min(level.lines.len());
            let found: Vec<usize> = (end..until)
                .filter(|at| is_at(run, *at, 0))
                .take(2)
                .collect();
            // Nobody writes `...` where no line is left out. So a fit in which it stands for no
            // line is not what is meant.
            let Some(at) = found.first().filter(|at| **at > end) else {
                return Vec::new();
            };
            let is_behind =
                |starts: &&Vec<usize>, at| starts.last().is_some_and(|s| s + before <= at);
            let with = |at: &usize| -> Vec<Vec<usize>> {
                let all = all.iter().filter(|starts| is_behind(starts, *at));
                all.map(|starts| [&**starts, &[*at]].concat()).collect()
            };
            all = found.iter().flat_map(with).take(MAX_ALTERNATIVES).collect();
            (end, before) = (at + run.len(), run.len());
        }
        all
    }

    fn fit<'t>(
        &self,
        texts: &'t Texts,
        old: &Old<'_>,
        runs: &[Vec<Option<u32>>],
        level: &Level,
        starts: &[usize],
    ) -> Option<Fit<'t>> {
        let mut places = vec![LinePlace::Missing; old.lines.len()];
        let mut other_blanks = Vec::new();
        let mut near = 0;
        let mut leaves_block = false;
        self.step(places.len());
        for ((run, numbers), start) in old.runs.iter().zip(runs).zip(starts) {
            let mut before: Option<(usize, usize)> = None;
            for (n, at) in run.iter().enumerate() {
                let line = self.filled[start + n];
                let is_same = numbers[n] == Some(level.lines[start + n]);
                if is_same && old.goes[*at] && !have_same_gaps(old.lines[*at], self.file.line(line))
                {
                    return None;
                }
                let own = old.strict[*at];
                let is_nearest = own.is_none_or(|own| own == self.strict.lines[start + n]);
                places[*at] = if is_same && is_nearest {
                    LinePlace::Same(line)
                } else if self.is_near(old, *at, line, level) {
                    near += 1;
                    LinePlace::Near(line)
                } else {
                    return None;
                };
                if let Some((before_at, before_line)) = before {
                    let gap = at - before_at - 1;
                    let there = line - before_line - 1;
                    for blank in 0..gap.min(there) {
                        places[before_at + 1 + blank] = LinePlace::Same(before_line + 1 + blank);
                    }
                    if gap != there {
                        other_blanks.push(*at);
                    }
                }
                before = Some((*at, line));
            }
        }
        for (n, run) in old.runs.iter().enumerate().skip(1) {
            let (first, before) = (run[0], *old.runs[n - 1].last()?);
            let is_elision = |at: &usize| omission(old.lines[*at]).is_some();
            let elision = (before + 1..first).find(is_elision)?;
            let (from, to) = (places[before].line()? + 1, self.filled[starts[n]]);
            let between = starts[n - 1] + old.runs[n - 1].len()..starts[n];
            let head = old.runs[n - 1].iter().map(|at| old.lines[*at]);
            leaves_block |= !self.is_one_block(head, [from - 1, to], &self.filled[between]);
            // Blank lines of the old text directly above or below `...` stand for as many blank
            // lines as the file has there.
            let above = self
                .file
                .blank_after(from - 1)
                .min(elision - before - 1)
                .min(to - from);
            let below = self
                .file
                .blank_before(to)
                .min(first - elision - 1)
                .min(to - from - above);
            for blank in 0..above {
                places[before + 1 + blank] = LinePlace::Same(from + blank);
            }
            for blank in 0..below {
                places[first - 1 - blank] = LinePlace::Same(to - 1 - blank);
            }
            if above < elision - before - 1 || below < first - elision - 1 {
                other_blanks.push(first);
            }
            places[elision] = LinePlace::Elided(to - below);
        }
        Some(Fit {
            texts: Cow::Borrowed(texts),
            places,
            around: (0, 0),
            other_blanks,
            near,
            leaves_block,
        })
    }

    /// Returns true if the lines `between` two lines are in one block with them, so that `...` may
    /// stand for them: a person who reads on from the first of the two lines, which is the last one
    /// of `head`, stops where its block ends.
    fn is_one_block<'l>(
        &self,
        mut head: impl Iterator<Item = &'l str>,
        two: [usize; 2],
        between: &[usize],
    ) -> bool {
        let text = |line: &usize| self.file.line(*line);
        let indent = |line: &usize| indentation(text(line));
        let [above, below] = [indent(&two[0]), indent(&two[1])];
        let is_deeper = |there: &str, than| there.starts_with(than) && there != than;
        let mut indents = between.iter().map(indent);
        if !below.starts_with(above) {
            return indents.all(|there| is_deeper(there, below));
        }
        if below != above
            || between
                .first()
                .is_some_and(|line| is_deeper(indent(line), above))
        {
            return indents.all(|there| is_deeper(there, above));
        }
        if !above.is_empty() {
            return indents.all(|there| there.starts_with(above));
        }
        // If nothing is indented, a block ends at a blank line, at a closing bracket that was not
        // opened in it, and at a line that begins in the same way as a line of `head`, such as
        // `[section]`. The items of one list begin in the same way, too, and stay in one block.
        let mut open = 0;
        let is_closed = |line: &usize| {
            open -= i32::from(text(line).starts_with([')', ']', '}']));
            let is_closed = open < 0;
            open += i32::from(text(line).ends_with(['(', '[', '{']));
            is_closed
        };
        let end = beginning(text(&two[1]));
        let is_next =
            |begins| begins != end && between.iter().any(|line| beginning(text(line)) == begins);
        !between.iter().any(is_closed)
            && !head.any(|line| is_next(beginning(line)))
            && (two[0]..two[1]).all(|line| !text(&line).is_empty())
    }

    fn is_at(rank: Rank, fit: &Fit<'_>, old: &Old<'_>) -> bool {
        let is_whole = fit.other_blanks.is_empty() && old.runs.len() == 1;
        match rank {
            Rank::Strict | Rank::Loose | Rank::Part => is_whole,
            Rank::LinesLeftOut => true,
            Rank::Mistyped => {
                let same = |place: &&LinePlace| matches!(place, LinePlace::Same(_));
                let filled = fit
                    .places
                    .iter()
                    .zip(&old.lines)
                    .filter(|(_, l)| !l.is_empty());
                let same = filled.map(|(place, _)| place).filter(same).count();
                fit.near * 2 <= same
            }
        }
    }

    /// Returns true if the old text's line `at` may be the file's `line`, mistyped. Lines that are
    /// less alike than `MIN_LIKENESS` are different lines, and no other line of the file may be as
    /// similar.
    fn is_near(&self, old: &Old<'_>, at: usize, line: usize, level: &Level) -> bool {
        let wanted = key(old.lines[at], Blanks::Dropped);
        if !old.stays[at] || level.numbers.contains_key(&*wanted) {
            return false;
        }
        let there = key(self.file.line(line), Blanks::Dropped);
        self.step(wanted.len());
        if !have_same_words(&wanted, &there) {
            return false;
        }
        let likeness = self.likeness(&wanted, &there, MIN_LIKENESS);
        likeness >= MIN_LIKENESS
            && level
                .numbers
                .keys()
                .all(|other| *other == there || self.likeness(&wanted, other, likeness) < likeness)
    }

    /// Returns how alike two lines are, from 0 to 1; less than `least` if they are not that much
    /// alike. Lines over `MAX_MISTYPED_BYTES` take too long to compare and count as different.
    fn likeness(&self, one: &str, other: &str, least: f64) -> f64 {
        let long = one.len().max(other.len());
        if long > MAX_MISTYPED_BYTES {
            return 0.0;
        }
        let likeness = |distance: usize| 1.0 - distance as f64 / long as f64;
        // The exact comparison is slow. The counts of the bytes show how many must be put in or
        // replaced at least, and so rule out most lines.
        let mut counts = [0_isize; 256];
        one.bytes().for_each(|byte| counts[usize::from(byte)] += 1);
        other
            .bytes()
            .for_each(|byte| counts[usize::from(byte)] -= 1);
        self.step(long);
        let differing: usize = counts.iter().map(|count| count.unsigned_abs()).sum();
        if likeness(differing.midpoint(one.len().abs_diff(other.len()))) < least {
            return 0.0;
        }
        self.step(one.len() * other.len());
        let [one, other] = [one, other].map(|line| line.as_bytes().to_vec());
        likeness(strsim::generic_levenshtein(&one, &other))
    }

    fn has_same_blanks(&self, fit: &Fit<'_>, old: &Old<'_>) -> bool {
        let lines = fit.places.iter().zip(&old.lines);
        lines
            .filter_map(|(place, old)| Some((place.line()?, *old)))
            .all(|(line, old)| self.file.line(line) == old)
    }

    fn parts<'t>(&self, texts: &'t Texts) -> Vec<Fit<'t>> {
        let old = texts.old.trim_matches('\n');
        let lines: Vec<&str> = old.split('\n').collect();
        let [first, .., last] = &*[&lines[..], &lines[lines.len() - 1..]].concat() else {
            return Vec::new();
        };
        let mut fits = Vec::new();
        if old != old.trim() || old.chars().count() < MIN_CHARS {
            return fits;
        }
        if lines.len() == 1 {
            let wanted = key(first, Blanks::Kept);
            let mut found = HashMap::new();
            for (line, number) in self.filled.iter().zip(&self.strict.lines) {
                let text = self.file.line(*line);
                let is_there = *found
                    .entry(number)
                    .or_insert_with(|| key(text, Blanks::Kept).contains(&*wanted));
                if is_there {
                    for place in places_in(text, &wanted) {
                        fits.extend(self.part(texts, *line, &place));
                    }
                }
            }
            return fits;
        }
        let (head, tail) = (key(first, Blanks::Kept), key(last, Blanks::Kept));
        for line in 0..self.file.len().saturating_sub(lines.len() - 1) {
            let text = |n: usize| self.file.line(line + n);
            let inner = 1..lines.len() - 1;
            let is_there = key(text(0), Blanks::Kept).ends_with(&*head)
                && key(text(lines.len() - 1), Blanks::Kept).starts_with(&*tail)
                && inner
                    .clone()
                    .all(|n| key(text(n), Blanks::Kept) == key(lines[n], Blanks::Kept));
            if !is_there {
                continue;
            }
            let start = places_in(text(0), &head).into_iter().next_back();
            let end = places_in(text(lines.len() - 1), &tail).into_iter().next();
            if let (Some(start), Some(end)) = (start, end) {
                fits.extend(self.part(texts, line, &(start.start..end.end)));
            }
        }
        fits
    }

    /// Returns the fit of an old text that begins within `line`, at the byte `cuts.start`, and ends
    /// in the same or a later line at the byte `cuts.end`.
    fn part<'t>(&self, texts: &'t Texts, line: usize, cuts: &Range<usize>) -> Option<Fit<'t>> {
        // Line feeds at the ends of the old text stand for those of the file, which stay. If the
        // new text has more of them, the further ones are added.
        let feeds = |text: &str| text.len() - text.trim_start_matches('\n').len();
        let above = feeds(&texts.new).min(feeds(&texts.old));
        let new = &texts.new[above..];
        let feeds = |text: &str| text.len() - text.trim_end_matches('\n').len();
        let new = &new[..new.len() - feeds(new).min(feeds(&texts.old))];
        let old = texts.old.trim_matches('\n');
        let text = |line: usize| self.file.line(line);
        let last = line + old.matches('\n').count();
        // The match may begin and end with invisible characters.
        let chars = form(old, Blanks::Kept);
        let (first_char, last_char) = (chars.first()?, chars.last()?);
        let head = &text(line)[..cuts.start];
        let head = head.strip_suffix(&old[..first_char.start]).unwrap_or(head);
        let tail = &text(last)[cuts.end..];
        let tail = tail.strip_prefix(&old[last_char.end..]).unwrap_or(tail);
        // A line number is in front of a whole line. Behind other text, such as another number, it
        // is not one: `12:30 lunch` is no part of `11:30 lunch`.
        let starts_line =
            texts.old.starts_with('\n') || texts.reading == Some(Reading::LineNumbers);
        if cuts_word(head, old, tail)
            || starts_line && !head.trim().is_empty()
            || texts.old.ends_with('\n') && !tail.trim().is_empty()
        {
            return None;
        }
        let around = (head.len(), tail.len());
        let head = if head.trim().is_empty() { "" } else { head };
        // Line feeds at the end of `new` are all meant as additional ones. So both texts get the
        // line end that the last line has in the file, or it would be counted among them.
        let is_ended = tail.is_empty() && new.ends_with('\n');
        let end = if is_ended { "\n" } else { "" };
        let mut texts = texts.clone();
        texts.old = [head, old, tail, end].concat();
        texts.new = [head, new, tail, end].concat();
        let doubtful = texts.doubtful.iter();
        texts.doubtful = doubtful
            .filter_map(|line| line.checked_sub(above))
            .collect();
        if !stays_in_block(head, old, &texts.new) {
            texts.doubt = Some(super::depth::UNCLEAR);
            texts.doubtful = (0..texts.new.split('\n').count()).collect();
        }
        Some(Fit {
            texts: Cow::Owned(texts),
            places: (line..=last).map(LinePlace::Same).collect(),
            around,
            other_blanks: Vec::new(),
            near: 0,
            leaves_block: false,
        })
    }

    pub(super) fn place(&self, fit: &Fit<'_>) -> Range<usize> {
        let [first, last] = [fit.first_line(), fit.last_line()].map(|line| self.file.range(line));
        let end = last.start + self.file.line(fit.last_line()).len();
        first.start + fit.around.0..end - fit.around.1
    }

    /// Returns the index of the line at which the file has the new text already, with the same
    /// indentation. Returns `None` for a short new text, and for one all of whose lines the old
    /// text has, too: the file may have these by chance.
    pub(super) fn line_of_new(&self, texts: &Texts) -> Option<usize> {
        let wanted = texts.to_new();
        let old = self.old(&wanted);
        // Unchanged lines may be together at many places, so one line must be new.
        let is_added = |line: &str| !texts.old.contains(line.trim());
        if old.characters() < MIN_ANCHOR_CHARS || !texts.new.lines().any(is_added) {
            return None;
        }
        let fits = self.fits(&wanted, Rank::Strict);
        let mut there = fits.iter().filter(|fit| self.has_same_blanks(fit, &old));
        there.next().map(Fit::first_line)
    }

    /// Returns true if the file has all lines that the new text adds, and none of those that it
    /// removes, not even with other letters.
    pub(super) fn may_be_done(&self, texts: &Texts) -> bool {
        let (old, new) = ModelLines::pair(&texts.old, &texts.new);
        let (old, new) = (old.trimmed(), new.trimmed());
        let is_there = |line: &&str| self.strict.number(line).is_some();
        let mut gone = old
            .iter()
            .filter(|line| !line.is_empty() && !new.contains(line));
        let mut added = new
            .iter()
            .filter(|line| !line.is_empty() && !old.contains(line));
        let is_mistyped = |line: &&str| {
            let wanted = key(line, self.strict.blanks);
            self.strict.numbers.keys().any(|there| {
                self.likeness(&wanted, there, MIN_LIKENESS) >= MIN_LIKENESS
                    && have_same_words(&wanted, there)
                    && !new.iter().any(|new| key(new, self.strict.blanks) == *there)
            })
        };
        !gone.any(|line| is_there(line) || is_mistyped(line))
            && added.next().is_some_and(is_there)
            && added.all(is_there)
    }
}

impl Level {
    fn new(file: &FileLines<'_>, filled: &[usize], blanks: Blanks) -> Self {
        let mut numbers: HashMap<String, u32> = HashMap::new();
        let mut lines = Vec::with_capacity(filled.len());
        for line in filled {
            let key = key(file.line(*line), blanks);
            let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
            lines.push(*numbers.entry(key.into_owned()).or_insert(next));
        }
        Self {
            blanks,
            numbers,
            lines,
        }
    }

    fn number(&self, line: &str) -> Option<u32> {
        self.numbers.get(&*key(line, self.blanks)).copied()
    }
}

/// Returns true if two lines that differ in blanks only have them at the same places. The number of
/// spaces at a place does not matter. But tabs, if the quoted line has any, must be as many:
/// between two columns, their number says how many empty columns there are.
fn have_same_gaps(quoted: &str, there: &str) -> bool {
    let tabs_quoted = tabs_between_words(quoted);
    let [one, other] = [quoted, there].map(|line| key(line, Blanks::Kept));
    one.split_whitespace().eq(other.split_whitespace())
        && (tabs_quoted.is_empty() || tabs_quoted == tabs_between_words(there))
}

/// Returns the marks and the first word with which a line begins; if the marks end in an opening
/// bracket or a blank, only these, so that `[one]` and `[other]` begin alike.
fn beginning(line: &str) -> &str {
    let word = line.find(is_word).unwrap_or(line.len());
    let (marks, rest) = line.split_at(word);
    if marks.ends_with(['(', '[', '{', ' ']) {
        return marks;
    }
    &line[..line.len() - rest.trim_start_matches(is_word).len()]
}

/// Returns true if two lines have the same words, with at most one slip in each, and otherwise the
/// same signs, except for blanks and a mark at the end. Another word, digit or sign is no slip, but
/// means another line; other backslashes or HTML entities mean that the text is escaped.
fn have_same_words(one: &str, other: &str) -> bool {
    // In a script without capitals, such as Chinese, one letter may be a word.
    let is_letter = |c: char| c.is_lowercase() || c.is_uppercase();
    let others = |line: &str| -> String {
        let line = line.strip_suffix([',', ';', '.']).unwrap_or(line);
        let others = line
            .chars()
            .filter(|c| !is_letter(*c) && !c.is_whitespace());
        others.collect()
    };
    // A name such as `getUser` is two words.
    let words = |text: &str| -> Vec<String> {
        let (mut apart, mut is_lower) = (String::new(), false);
        for c in text.chars() {
            if is_lower && c.is_uppercase() {
                apart.push(' ');
            }
            is_lower = c.is_lowercase();
            apart.extend(c.to_lowercase());
        }
        let words = apart.split(|c: char| !is_letter(c));
        let words = words.filter(|word| !word.is_empty());
        words.map(str::to_owned).collect()
    };
    if others(one) != others(other) {
        return false;
    }
    let [one, other] = [one, other].map(words);
    let is_slip = |(one, other): (&String, &String)| {
        // Short words of the same length, such as `get` and `set`, are different ones.
        let is_long = one.chars().count() > MAX_SHORT_WORD || one.len() != other.len();
        let [one, other] = [one, other].map(|word| word.chars().collect::<Vec<_>>());
        let same = std::iter::zip(&one, &other).take_while(|(one, other)| one == other);
        let (one, other) = (&one[same.clone().count()..], &other[same.count()..]);
        let same = std::iter::zip(one.iter().rev(), other.iter().rev());
        let same = same.take_while(|(one, other)| one == other).count();
        match (&one[..one.len() - same], &other[..other.len() - same]) {
            ([], []) => true,
            ([_], [] | [_]) | ([], [_]) => is_long,
            ([a, b], [c, d]) => (a, b) == (d, c),
            _ => false,
        }
    };
    one.concat() == other.concat()
        || one.len() == other.len() && one.iter().zip(&other).all(is_slip)
}

fn places_in(line: &str, wanted: &str) -> Vec<Range<usize>> {
    let chars = form(line, Blanks::Kept);
    let text: String = chars.iter().map(|char| char.c).collect();
    let length = wanted.chars().count();
    let mut places = Vec::new();
    // If `wanted` is empty, the text had only invisible characters, which the form leaves out.
    if wanted.is_empty() {
        return places;
    }
    let mut from = 0;
    while let Some(found) = text[from..].find(wanted) {
        let byte = from + found;
        let at = text[..byte].chars().count();
        let (first, last) = (chars[at], chars[at + length - 1]);
        // In the form, several characters may stand for one of the file. A match must not begin or
        // end between them.
        let is_cut = at > 0 && chars[at - 1].end > first.start
            || chars
                .get(at + length)
                .is_some_and(|next| next.start < last.end);
        if !is_cut {
            places.push(first.start..last.end);
        }
        from = byte + first.c.len_utf8();
    }
    places
}
