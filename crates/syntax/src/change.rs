//! Finds where two versions of a text differ, and parts around the difference that may be parsed
//! alone.

use similar::{Algorithm, DiffOp, capture_diff_slices_deadline};
use std::ops::Range;
use std::time::{Duration, Instant};

/// Parts of up to this many lines are tried before larger ones.
const PART_LINES: usize = 400;

/// Words with which a line continues what an earlier line of the same indentation has begun.
const CONTINUING: [&str; 15] = [
    "else", "elif", "elsif", "except", "finally", "catch", "end", "then", "do", "done", "fi",
    "esac", "when", "rescue", "ensure",
];

/// The lines of two versions of a text. `old_range` is the single range of lines of `old` that
/// contains all differences, and `new_range` has the lines of `new` in their place.
pub(crate) struct Change<'t> {
    old: Vec<&'t str>,
    new: Vec<&'t str>,
    old_range: Range<usize>,
    new_range: Range<usize>,
}

/// A range of lines of both versions that contains all differences.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Part {
    /// Number of spaces and tabs before the part's first line. Up to as many are removed from every
    /// line before the part is parsed.
    depth: usize,
    pub(crate) old: Range<usize>,
    pub(crate) new: Range<usize>,
}

impl Part {
    /// Returns true if the part is not indented, so that it is probably inside of no block.
    pub(crate) fn is_outermost(&self) -> bool {
        self.depth == 0
    }
}

impl<'t> Change<'t> {
    pub(crate) fn new(old: &'t str, new: &'t str) -> Self {
        let old: Vec<&str> = old.split_inclusive('\n').collect();
        let new: Vec<&str> = new.split_inclusive('\n').collect();
        let same = |pair: &(&&str, &&str)| pair.0 == pair.1;
        let first = old.iter().zip(&new).take_while(same).count();
        let rest = old[first..].iter().rev().zip(new[first..].iter().rev());
        let last = rest.take_while(same).count();
        Self {
            old_range: first..old.len() - last,
            new_range: first..new.len() - last,
            old,
            new,
        }
    }

    pub(crate) fn whole(&self) -> Part {
        Part {
            depth: 0,
            old: 0..self.old.len(),
            new: 0..self.new.len(),
        }
    }

    pub(crate) fn is_whole(&self, part: &Part) -> bool {
        part.new == (0..self.new.len())
    }

    /// Returns the parts in the order in which they should be tried: first the largest that has up
    /// to [`PART_LINES`] lines, then the smaller ones within it, then the larger ones around it.
    /// Whether a part can be parsed alone is not known before.
    pub(crate) fn parts(&self) -> Vec<Part> {
        let changed = self.old[self.old_range.clone()].iter();
        let changed = changed.chain(&self.new[self.new_range.clone()]);
        let mut depth = changed.filter_map(|line| depth(line)).min();
        if self.old_range.is_empty() || self.new_range.is_empty() {
            let around = self.old[self.old_range.end..].iter();
            depth = depth.max(around.filter_map(|line| self::depth(line)).take(1).min());
        }
        let mut most = depth.unwrap_or(usize::MAX);
        let mut parts = Vec::new();
        for at in (0..self.old_range.start).rev() {
            let Some(depth) = begins(self.old[at]).filter(|depth| *depth <= most) else {
                continue;
            };
            parts.push(self.part(at, depth));
            if depth == 0 {
                break;
            }
            most = depth - 1;
        }
        let small = |part: &Part| part.old.len().max(part.new.len()) <= PART_LINES;
        let within = parts.iter().take_while(|part| small(part)).count();
        parts[..within].reverse();
        parts
    }

    fn part(&self, from: usize, depth: usize) -> Part {
        let after = self.old[self.old_range.end..].iter();
        let kept = after.take_while(|line| begins(line).is_none_or(|of| of > depth));
        let kept = kept.count();
        Part {
            depth,
            old: from..self.old_range.end + kept,
            new: from..self.new_range.end + kept,
        }
    }

    pub(crate) fn texts(&self, part: &Part) -> (String, String) {
        let text = |lines: &[&str]| {
            let lines = lines.iter().map(|line| {
                let blanks = line.len() - line.trim_start_matches([' ', '\t']).len();
                &line[blanks.min(part.depth)..]
            });
            lines.collect()
        };
        (
            text(&self.old[part.old.clone()]),
            text(&self.new[part.new.clone()]),
        )
    }

    /// Returns the ranges of new lines, from 0, that differ from old ones. If lines were only
    /// removed, the range is the line after them. Once `budget` is used up, ranges get too large.
    pub(crate) fn hunks(&self, budget: Duration) -> Vec<Range<usize>> {
        let old = &self.old[self.old_range.clone()];
        let new = &self.new[self.new_range.clone()];
        let from = self.new_range.start;
        let last = self.new.len().saturating_sub(1);
        let until = Instant::now() + budget;
        capture_diff_slices_deadline(Algorithm::Myers, old, new, Some(until))
            .iter()
            .filter(|op| !matches!(op, DiffOp::Equal { .. }))
            .map(|op| {
                let range = op.new_range();
                let start = (from + range.start).min(last);
                start..(from + range.end).max(start + 1)
            })
            .collect()
    }

    /// Returns true if `is` holds for any changed line of either version.
    pub(crate) fn any(&self, is: impl Fn(&str) -> bool) -> bool {
        let old = self.old[self.old_range.clone()].iter();
        let mut changed = old.chain(&self.new[self.new_range.clone()]);
        changed.any(|line| is(line))
    }

    pub(crate) fn new_line(&self, at: usize) -> &'t str {
        self.new.get(at).copied().unwrap_or_default()
    }
}

fn depth(line: &str) -> Option<usize> {
    let text = line.trim_start_matches([' ', '\t']);
    (!text.trim().is_empty()).then(|| line.len() - text.len())
}

/// Returns the indentation of a line that may begin a statement or definition. Returns `None` for
/// blank lines and for those that continue what earlier lines have begun.
fn begins(line: &str) -> Option<usize> {
    let text = line.trim_start();
    let word = text.split(|c: char| !c.is_alphanumeric()).next();
    let goes_on = text.starts_with(['}', ')', ']', '{', '#'])
        || text.starts_with("</")
        || word.is_some_and(|word| CONTINUING.contains(&word));
    depth(line).filter(|_| !goes_on)
}
