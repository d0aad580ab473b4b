//! The most lenient tier: lines that the edit only quotes may differ a little.
//!
//! Lines that say the same but for blanks are anchors. Between them a quoted line may differ by
//! a few characters, blank lines and comments of the file may be missing from the old text, and
//! a line such as `...` may stand for lines that were left out. What the edit changes or takes
//! away must be there as it says, and the place must be the only one.

use super::depth::{Pair, Placed, Texts, placed};
use super::lines::{Fitted, Lines, ModelLines, indentation, line_end};
use super::normal::loose;
use super::{EditMatch, Found, MatchTier};
use gemini_tools_core::tool::{Cancellation, ToolError};
use gemini_tools_workspace::diff::{Algorithm, DiffOp, diff_lines};
use std::collections::HashMap;

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

/// A line of the old text, and where it is in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Says the same.
    Same(usize),
    /// Is nearly the same.
    Near(usize),
    /// Blank, and not in the file.
    Missing,
    /// Stands for the lines that were left out, which are from here to before there.
    Elided(usize, usize),
}

/// The places of all lines of the old text.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Alignment {
    places: Vec<Place>,
    near: usize,
}

struct Search<'a, 'f> {
    file: &'a Lines<'f>,
    file_forms: Vec<String>,
    old: &'a [&'a str],
    old_forms: Vec<String>,
    /// True for each line that the edit leaves as it is.
    is_quoted: Vec<bool>,
    is_elision: Vec<bool>,
}

pub(super) fn find(
    file: &Lines<'_>,
    old: &str,
    new: &str,
    cancel: &Cancellation,
) -> Result<Found, ToolError> {
    let (old_lines, new_lines) = (ModelLines::of(old), ModelLines::of(new));
    let wanted = old_lines.core();
    if wanted.len() < 2 && !is_one_line_worth(&wanted) || wanted.len() > MAX_LINES {
        return Ok(Found::Nothing);
    }
    let ops = diff_lines(Algorithm::Patience, &wanted, &new_lines.core(), None);
    let mut is_quoted = vec![false; wanted.len()];
    for op in &ops {
        if let DiffOp::Equal { old_index, len, .. } = op {
            is_quoted[*old_index..old_index + len].fill(true);
        }
    }
    let file_forms: Vec<String> = (0..file.len()).map(|i| loose(file.line(i))).collect();
    let is_elision: Vec<bool> = wanted.iter().map(|line| is_elision(line)).collect();
    let search = Search {
        file,
        old_forms: wanted.iter().map(|line| loose(line)).collect(),
        file_forms,
        old: &wanted,
        is_quoted,
        is_elision,
    };
    let alignments = search.alignments(cancel)?;
    Ok(match alignments.as_slice() {
        [] => Found::Nothing,
        [one] => search.replace(one, &old_lines, &new_lines),
        several => Found::Several(
            several
                .iter()
                .map(|a| file.content[first_of(a)].start)
                .collect(),
        ),
    })
}

/// Returns true if a single line says enough to be looked for without its blanks.
fn is_one_line_worth(lines: &[&str]) -> bool {
    lines
        .first()
        .is_some_and(|line| loose(line).chars().count() >= MIN_ANCHOR_CHARS)
}

/// Returns true if a line stands for others: `...`, also in a comment or with a few words.
fn is_elision(line: &str) -> bool {
    let bare = line
        .trim()
        .trim_start_matches("/*")
        .trim_end_matches("*/")
        .trim_start_matches("<!--")
        .trim_end_matches("-->")
        .trim_start_matches(['/', '#', '-', ';', '%', '*'])
        .trim();
    let Some(rest) = bare.strip_prefix("...").or_else(|| bare.strip_prefix('…')) else {
        return false;
    };
    let rest = rest
        .trim()
        .trim_end_matches('.')
        .trim_end_matches('…')
        .trim();
    rest.is_empty()
        || is_comment(line) && rest.split(' ').count() <= 6
        || rest.starts_with("existing")
        || rest.starts_with("rest of")
}

/// Returns true if a line is only a comment, in most languages.
fn is_comment(line: &str) -> bool {
    let line = line.trim_start();
    ["//", "#", "/*", "*", "--", ";", "<!--", "%"]
        .into_iter()
        .any(|mark| line.starts_with(mark))
}

fn first_of(alignment: &Alignment) -> usize {
    lines_of(alignment).next().unwrap_or_default()
}

/// The lines of the file where lines of the old text are.
fn lines_of(alignment: &Alignment) -> impl DoubleEndedIterator<Item = usize> + '_ {
    alignment.places.iter().filter_map(|place| match place {
        Place::Same(i) | Place::Near(i) => Some(*i),
        Place::Missing | Place::Elided(..) => None,
    })
}

impl Search<'_, '_> {
    /// Returns the places, the near ones too, that don't overlap.
    fn alignments(&self, cancel: &Cancellation) -> Result<Vec<Alignment>, ToolError> {
        let mut found: Vec<Alignment> = Vec::new();
        for start in 0..self.file.len() {
            if start % 256 == 0 {
                cancel.check()?;
            }
            if !self.can_start(start) {
                continue;
            }
            let Some(alignment) = self.align(start) else {
                continue;
            };
            if !self.is_sound(&alignment) {
                continue;
            }
            let range = |a: &Alignment| (first_of(a), lines_of(a).next_back().unwrap_or(0));
            let (first, last) = range(&alignment);
            // Of places that overlap, the one with fewer differences is meant.
            if let Some(other) = found.iter_mut().find(|other| {
                let (a, b) = range(other);
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

    fn can_start(&self, line: usize) -> bool {
        self.matches(0, line).is_some()
    }

    /// Compares a line of the old text with a line of the file.
    fn matches(&self, old: usize, line: usize) -> Option<Place> {
        let (a, b) = (&self.old_forms[old], &self.file_forms[line]);
        if a == b {
            return Some(Place::Same(line));
        }
        if a.is_empty() || b.is_empty() || !self.is_quoted[old] {
            return None;
        }
        let (short, long) = (a.len().min(b.len()), a.len().max(b.len()));
        if short * 2 < long {
            return None;
        }
        (strsim::normalized_levenshtein(a, b) >= MIN_LIKENESS).then_some(Place::Near(line))
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
                places.push(Place::Elided(next, target));
                next = target;
                i += 1;
                continue;
            }
            let place = self.step(i, next)?;
            match place {
                Place::Same(line) => next = line + 1,
                Place::Near(line) => {
                    near += 1;
                    next = line + 1;
                }
                Place::Missing | Place::Elided(..) => {}
            }
            places.push(place);
            i += 1;
        }
        Some(Alignment { places, near })
    }

    /// Finds line `i` of the old text at `next` or a little behind it.
    fn step(&self, i: usize, next: usize) -> Option<Place> {
        let here = (next < self.file.len())
            .then(|| self.matches(i, next))
            .flatten();
        if let Some(Place::Same(line)) = here {
            return Some(Place::Same(line));
        }
        // Blank lines and comments that the old text has left out.
        let mut line = next;
        while i > 0
            && line < self.file.len()
            && line - next < MAX_SKIPPED_LINES
            && self.may_skip(line)
        {
            line += 1;
            if line < self.file.len()
                && let Some(Place::Same(found)) = self.matches(i, line)
            {
                return Some(Place::Same(found));
            }
        }
        if self.old_forms[i].is_empty() {
            return Some(Place::Missing);
        }
        if here.is_some() {
            return here;
        }
        if line > next && line < self.file.len() {
            return self.matches(i, line);
        }
        None
    }

    fn may_skip(&self, line: usize) -> bool {
        self.file_forms[line].is_empty() || is_comment(self.file.line(line))
    }

    /// The first line from `next` on that says what line `i` of the old text says, and goes on
    /// as that does.
    fn after_elision(&self, i: usize, next: usize) -> Option<usize> {
        if self.old_forms[i].is_empty() {
            return None;
        }
        let end = self.file.len().min(next + MAX_ELIDED_LINES);
        let mut found = (next..end).filter(|line| {
            matches!(self.matches(i, *line), Some(Place::Same(_)))
                && (self.old_forms.get(i + 1).is_none_or(|form| {
                    form.is_empty()
                        || self.is_elision[i + 1]
                        || self.file_forms.get(line + 1) == Some(form)
                }))
        });
        let first = found.next()?;
        // What was left out must be clear.
        found.next().is_none().then_some(first)
    }

    /// Returns true if enough of the place is the same.
    fn is_sound(&self, alignment: &Alignment) -> bool {
        let mut same_lines = 0;
        let mut same_chars = 0;
        for (i, place) in alignment.places.iter().enumerate() {
            if let Place::Same(_) = place
                && !self.old_forms[i].is_empty()
            {
                same_lines += 1;
                same_chars += self.old_forms[i].chars().count();
            }
        }
        let near = alignment.near;
        same_chars >= MIN_ANCHOR_CHARS && near <= 3 && near * 2 <= same_lines
    }

    fn replace(&self, alignment: &Alignment, old: &ModelLines<'_>, new: &ModelLines<'_>) -> Found {
        let mut lines = lines_of(alignment);
        let Some(core_start) = lines.next() else {
            return Found::Nothing;
        };
        let core_end = lines.next_back().unwrap_or(core_start);
        let fitted = old.fit(new, self.file, core_start, core_end);
        let (first, last) = (core_start - fitted.before, core_end + fitted.after);
        // Blank lines at either end are the file's.
        let mut places: Vec<Place> = (first..core_start).map(Place::Same).collect();
        places.extend(&alignment.places);
        places.extend((core_end + 1..=last).map(Place::Same));
        let mut region = self.file.region(first, last);
        let newline = line_end(self.file.text, region.clone());
        let ops = diff_lines(Algorithm::Patience, &fitted.old, &fitted.new, None);
        let pairs = self.pairs(&fitted.old, &places);
        let texts = Texts {
            old: &fitted.old,
            new: &fitted.new,
            ops,
            pairs: &pairs,
            unit: &self.file.unit(),
        };
        let Placed {
            ops,
            lines: new_lines,
        } = match placed(texts) {
            Ok(fit) => fit,
            Err(why) => return Found::Unclear(region.start, why),
        };
        let mut merge = Merge {
            search: self,
            fitted: &fitted,
            places: &places,
            new_lines: &new_lines,
            out: Vec::new(),
            next: first,
            was_quoted: true,
        };
        for op in ops {
            if let Err(why) = merge.take(op) {
                return Found::Unclear(region.start, why);
            }
        }
        let out = merge.out;
        if out.is_empty() {
            region.end = self.file.ends[last];
        }
        Found::One(EditMatch {
            start: region.start,
            end: region.end,
            replacement: out.join(newline),
            tier: MatchTier::Anchored,
        })
    }

    /// Returns the indentations of the old text's lines in both texts.
    fn pairs<'t>(&'t self, old: &[&'t str], places: &[Place]) -> Vec<Pair<'t>> {
        let pair = |(at, place): (usize, &Place)| match place {
            Place::Same(line) | Place::Near(line) if !old[at].is_empty() => Some(Pair {
                at,
                old: indentation(old[at]),
                file: indentation(self.file.line(*line)),
            }),
            _ => None,
        };
        places.iter().enumerate().filter_map(pair).collect()
    }
}

/// The new content of a place, line by line.
struct Merge<'a, 's, 'f, 't> {
    search: &'a Search<'s, 'f>,
    fitted: &'a Fitted<'t>,
    places: &'a [Place],
    /// The lines that only the new text has, as they are to be in the file.
    new_lines: &'a HashMap<usize, String>,
    out: Vec<String>,
    /// The next line of the file that is not dealt with.
    next: usize,
    /// True if the previous line of the old text stays.
    was_quoted: bool,
}

impl Merge<'_, '_, '_, '_> {
    fn take(&mut self, op: DiffOp) -> Result<(), &'static str> {
        if let DiffOp::Equal {
            old_index,
            new_index,
            len,
        } = op
        {
            for n in 0..len {
                self.keep(old_index + n, new_index + n);
            }
            return Ok(());
        }
        let old_range = op.old_range();
        for (n, i) in old_range.clone().enumerate() {
            self.drop_line(i, n == 0)?;
        }
        for i in op.new_range() {
            let line = self.fitted.new[i];
            if is_elision(line) && !self.fitted.old.contains(&line) {
                return Err("the new text leaves lines out that the old one has");
            }
            let line = &self.new_lines[&i];
            let blanks = self.fitted.blanks_behind(i);
            self.out.push(format!("{line}{blanks}"));
        }
        if !old_range.is_empty() {
            self.was_quoted = false;
        }
        Ok(())
    }

    /// A line that both texts have stays as the file has it, with what the old text has left
    /// out before it.
    fn keep(&mut self, old: usize, new: usize) {
        let file = self.search.file;
        let (until, own) = match self.places[old] {
            Place::Same(line) | Place::Near(line) => (line, Some(line)),
            Place::Elided(_, to) => (to, None),
            Place::Missing => return,
        };
        let before = (self.next..until).map(|line| file.whole(line).to_owned());
        self.out.extend(before);
        self.next = until;
        if let Some(line) = own {
            let kept = self.fitted.kept(old, new, file.whole(line));
            self.out.push(kept);
            self.next = line + 1;
        }
        self.was_quoted = true;
    }

    /// A line that the new text does not have must be there as the old one says.
    fn drop_line(&mut self, old: usize, is_first: bool) -> Result<(), &'static str> {
        let line = match self.places[old] {
            Place::Same(line) => line,
            Place::Missing => return Ok(()),
            Place::Near(_) | Place::Elided(..) => return Err("what it changes is not as it says"),
        };
        // Lines that the old text has left out are kept with a line that stays, if they are
        // next to one.
        let skipped = self.next..line;
        let is_blank = |line: usize| self.search.file_forms[line].is_empty();
        let has_content = skipped.clone().any(|line| !is_blank(line));
        let is_next_to_kept = is_first && self.was_quoted;
        if has_content && !is_next_to_kept {
            return Err("it would change lines that old_string does not quote");
        }
        if is_next_to_kept {
            let kept = skipped.map(|line| self.search.file.whole(line).to_owned());
            self.out.extend(kept);
        }
        self.next = line + 1;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::is_elision;

    #[test]
    fn dots_stand_for_lines_only_where_they_stand_alone() {
        for line in [
            "...",
            "  // ...",
            "# ... existing code ...",
            "/* … */",
            "    ... rest of it",
        ] {
            assert!(is_elision(line), "{line}");
        }
        for line in ["...args,", "foo(...)", "// see x...", "a"] {
            assert!(!is_elision(line), "{line}");
        }
    }
}
