//! Finds where the hunks of a patch belong in a file, and makes the new content.
//!
//! The lines of a hunk are looked for as they are, then without regard to line ends, and then as
//! `smart_edit` looks for a text that is quoted inexactly. Each hunk must fit the file at a single
//! place, below that of the hunk before it. If the lines are literally at several places, the line
//! number of a unified diff decides, or the lines above the hunk that an envelope names (anchors).

use super::{Hunk, Line, Role};
use crate::edit::{self, Reading, Refusal};
use std::ops::Range;

/// Maximum length in bytes of a text in which a hunk is looked for inexactly.
const MAX_COMPARED_BYTES: usize = 4 * 1024 * 1024;

/// Maximum length in bytes of the old lines of a hunk that is looked for inexactly.
const MAX_HUNK_BYTES: usize = 64 * 1024;

/// The result of a patch for one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Patched {
    /// The new content.
    pub text: String,
    /// How hunks that are quoted inexactly differ from the file.
    pub readings: Vec<Reading>,
}

/// Why a hunk can't be applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HunkError {
    /// The line of the patch at which the hunk begins, from 1.
    pub number: usize,
    /// What is wrong: a clause about the hunk.
    pub why: String,
    /// The old lines of the hunk, joined by line feeds, for a search for similar text.
    pub wanted: String,
    /// True if the file has the new lines already.
    pub is_applied: bool,
    /// True if the hunk fits several places.
    pub is_ambiguous: bool,
}

impl HunkError {
    fn new(hunk: &Hunk, why: impl Into<String>) -> Self {
        let wanted: Vec<&str> = hunk.old().map(|line| line.text.as_str()).collect();
        Self {
            number: hunk.number,
            why: why.into(),
            wanted: wanted.join("\n"),
            is_applied: false,
            is_ambiguous: false,
        }
    }

    fn several(hunk: &Hunk, lines: &[usize]) -> Self {
        let first: Vec<String> = lines.iter().take(10).map(usize::to_string).collect();
        let why = format!(
            "it fits {} places, at lines {}",
            lines.len(),
            first.join(", ")
        );
        Self {
            is_ambiguous: true,
            ..Self::new(hunk, why)
        }
    }

    fn applied(hunk: &Hunk, line: usize) -> Self {
        Self {
            is_applied: true,
            ..Self::new(
                hunk,
                format!("the file has its new lines at line {line} already"),
            )
        }
    }
}

/// Applies the hunks of one file, which must be in their order in the file. A hunk that only adds
/// lines and names no line of the file adds them at the end of the file.
///
/// # Errors
///
/// Returns the first hunk that does not fit the file at exactly one place, and why.
pub fn apply(text: &str, hunks: &[Hunk]) -> Result<Patched, HunkError> {
    let mut file = Placing::new(text);
    let mut out = String::with_capacity(text.len());
    let mut readings = Vec::new();
    let (beside, alone): (Vec<&Hunk>, Vec<&Hunk>) =
        hunks.iter().partition(|hunk| hunk.old().next().is_some());
    for hunk in beside {
        let (place, content, reading) = file.place(hunk)?;
        out.push_str(&text[file.done..place.start]);
        out.push_str(&content);
        file.done = place.end;
        readings.extend(reading.filter(|reading| !readings.contains(reading)));
    }
    out.push_str(&text[file.done..]);
    for hunk in alone {
        add_at_end(&mut out, text, hunk)?;
    }
    Ok(Patched {
        text: out,
        readings,
    })
}

/// Adds the lines of a hunk without old lines to `out`, the content so far of the file `text`.
fn add_at_end(out: &mut String, text: &str, hunk: &Hunk) -> Result<(), HunkError> {
    let is_meant = text.is_empty() || hunk.start.is_none() && hunk.anchors.is_empty();
    if !is_meant {
        let why = "it has no line that stays or goes, so its place is not known";
        return Err(HunkError::new(hunk, why));
    }
    let added = hunk.added();
    let plain = text.replace("\r\n", "\n");
    if !plain.is_empty() && format!("\n{plain}").ends_with(&format!("\n{added}")) {
        let line = plain.lines().count() + 1 - added.lines().count();
        return Err(HunkError::applied(hunk, line));
    }
    let end = text.split_inclusive('\n').next().map_or("", line_end);
    let end = if end.is_empty() { "\n" } else { end };
    if !out.is_empty() && !out.ends_with('\n') {
        out.push_str(end);
    }
    out.push_str(&if end == "\r\n" {
        added.replace('\n', end)
    } else {
        added
    });
    Ok(())
}

struct Placing<'t> {
    text: &'t str,
    lines: Vec<&'t str>,
    /// The offsets of the first byte of each line, and the length of the text.
    starts: Vec<usize>,
    /// The offset up to which the text was copied to the result, with its changes.
    done: usize,
    /// The number of lines by which the last hunk was found below the line number in its head;
    /// negative if it was above.
    drift: isize,
}

/// The bytes to replace, their new content, and how the old lines of the hunk differ from them
/// (`None` if they are the same).
type Placed = (Range<usize>, String, Option<Reading>);

impl<'t> Placing<'t> {
    fn new(text: &'t str) -> Self {
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let mut starts = vec![0];
        for line in &lines {
            starts.push(starts[starts.len() - 1] + line.len());
        }
        Self {
            text,
            lines,
            starts,
            done: 0,
            drift: 0,
        }
    }

    fn place(&mut self, hunk: &Hunk) -> Result<Placed, HunkError> {
        let from = self.starts.partition_point(|start| *start < self.done);
        let below = self.below_anchors(hunk, from)?;
        let old: Vec<String> = hunk.old().map(Line::whole).collect();
        // A hunk with a line number was written by a program that compares files and knows their
        // line ends. So it is first looked for with its line ends, and then without. Other hunks
        // are looked for without them only.
        for is_exact in [true, false] {
            if is_exact && hunk.start.is_none() {
                continue;
            }
            let same = |at: usize| {
                old.iter().zip(&self.lines[at..]).all(|(old, line)| {
                    is_exact && old == line || !is_exact && without_end(old) == without_end(line)
                })
            };
            let last = (self.lines.len() + 1).saturating_sub(old.len());
            let is_in_place = |at: &usize| {
                (!hunk.is_at_end || at + old.len() == self.lines.len())
                    && (!hunk.is_at_start || *at == 0)
            };
            let found = (below[0].min(last)..last).filter(is_in_place);
            let found: Vec<usize> = found.filter(|at| same(*at)).collect();
            let Some(at) = self.choose(hunk, &found, &below)? else {
                continue;
            };
            self.check_not_applied(hunk, at)?;
            if let Some(start) = hunk.start {
                self.drift = at.cast_signed() - start.saturating_sub(1).cast_signed();
            }
            let place = self.starts[at]..self.starts[at + old.len()];
            return Ok((place, self.content(hunk, at, is_exact), None));
        }
        self.inexact(hunk, self.starts[below[0]])
    }

    /// Returns the line indices at or below which the hunk may begin: for each line that equals the
    /// first anchor, the index of the line after the last anchor. Without an anchor it is `from`.
    fn below_anchors(&self, hunk: &Hunk, from: usize) -> Result<Vec<usize>, HunkError> {
        let Some((first, inner)) = hunk.anchors.split_first() else {
            return Ok(vec![from]);
        };
        let lines = &self.lines;
        let is = |anchor: &str, at: &usize| lines[*at].trim() == anchor.trim();
        let outer = (from..lines.len())
            .filter(|at| is(first, at))
            .map(|at| at + 1);
        let below = outer.filter_map(|at| {
            inner.iter().try_fold(at, |at, anchor| {
                (at..lines.len()).find(|at| is(anchor, at)).map(|at| at + 1)
            })
        });
        let below: Vec<usize> = below.collect();
        if below.is_empty() {
            let anchors = hunk.anchors.join(" > ");
            return Err(HunkError::new(
                hunk,
                format!("no line below the hunk before is {:?}", anchors.trim()),
            ));
        }
        Ok(below)
    }

    /// Chooses the line index that the hunk means among those where its lines were found; `None` if
    /// they were found nowhere.
    fn choose(
        &self,
        hunk: &Hunk,
        found: &[usize],
        below: &[usize],
    ) -> Result<Option<usize>, HunkError> {
        if let Some(start) = hunk.start {
            let stated = start.saturating_sub(1);
            let expected = stated.saturating_add_signed(self.drift);
            if let Some(at) = [expected, stated].into_iter().find(|at| found.contains(at)) {
                return Ok(Some(at));
            }
        }
        let mut meant: Vec<usize> = if hunk.anchors.is_empty() {
            found.to_vec()
        } else {
            // Below each line that may be the anchor, only the first match of the hunk counts.
            below
                .iter()
                .filter_map(|below| found.iter().find(|at| *at >= below))
                .copied()
                .collect()
        };
        meant.dedup();
        match meant[..] {
            [] => Ok(None),
            [at] => Ok(Some(at)),
            _ => {
                let lines: Vec<usize> = meant.iter().map(|at| at + 1).collect();
                Err(HunkError::several(hunk, &lines))
            }
        }
    }

    /// Refuses a hunk that was probably applied before: it has no line number, removes no line, and
    /// the file has all of its new lines at `at`. Its unchanged lines are found there, too, so the
    /// new lines would be added a second time.
    fn check_not_applied(&self, hunk: &Hunk, at: usize) -> Result<(), HunkError> {
        let mut new = hunk.new_lines().zip(at..);
        let adds = hunk.lines.iter().all(|line| line.role != Role::Removed);
        let is_there = |(line, at): (&Line, usize)| {
            let there = self.lines.get(at);
            there.is_some_and(|there| without_end(there) == without_end(&line.text))
        };
        if hunk.start.is_none() && adds && new.all(is_there) {
            return Err(HunkError::applied(hunk, at + 1));
        }
        Ok(())
    }

    /// Returns the content that replaces the old lines of the hunk, which begin at line index `at`.
    /// Unchanged lines are copied from the file.
    fn content(&self, hunk: &Hunk, at: usize, is_exact: bool) -> String {
        let mut content = String::new();
        let mut here = at;
        let ends = self.lines.get(at).into_iter().chain(self.lines.first());
        let mut ends = ends
            .map(|line| line_end(line))
            .filter(|end| !end.is_empty());
        let mut end = ends.next().unwrap_or("\n");
        let old_count = hunk.old().count();
        for line in &hunk.lines {
            let there = self.lines.get(here).copied().unwrap_or_default();
            match line.role {
                Role::Context => content.push_str(there),
                Role::Removed => {}
                Role::Added if is_exact => content.push_str(&line.whole()),
                Role::Added => {
                    if !content.is_empty() && !content.ends_with('\n') {
                        content.push_str(end);
                    }
                    content.push_str(without_end(&line.text));
                    content.push_str(end);
                }
            }
            if line.role != Role::Added {
                here += 1;
                if !line_end(there).is_empty() {
                    end = line_end(there);
                }
            }
        }
        // The last line of the file gets a line end only if the old last line had one.
        if at + old_count == self.lines.len() && !is_exact {
            self.fit_last_end(&mut content, end);
        }
        content
    }

    fn fit_last_end(&self, content: &mut String, end: &str) {
        let is_ended = self.text.ends_with('\n');
        if !is_ended && content.ends_with('\n') {
            content.truncate(without_end(content).len());
        } else if is_ended && !content.is_empty() && !content.ends_with('\n') {
            content.push_str(end);
        }
    }

    /// Finds the old lines in the text from byte `from` on, even if they are quoted inexactly.
    fn inexact(&self, hunk: &Hunk, from: usize) -> Result<Placed, HunkError> {
        let lines = without_blank_ends(&hunk.lines);
        let joined = |left_out: Role| -> String {
            let lines = lines.iter().filter(|line| line.role != left_out);
            lines.flat_map(|line| [&*line.text, "\n"]).collect()
        };
        let (old, new) = (joined(Role::Added), joined(Role::Removed));
        let window = &self.text[from..];
        if window.len() > MAX_COMPARED_BYTES || old.len() > MAX_HUNK_BYTES {
            return Err(HunkError::new(hunk, "its lines are not in the file"));
        }
        let line_of = |at: usize| self.text[..at].matches('\n').count() + 1;
        let edited = edit::apply_inexactly(window, &old, &new).map_err(|refusal| {
            let first = line_of(from) - 1;
            match refusal {
                Refusal::NotFound => HunkError::new(hunk, "its lines are not in the file"),
                Refusal::Several { lines, .. } => {
                    let lines: Vec<usize> = lines.iter().map(|line| line + first).collect();
                    HunkError::several(hunk, &lines)
                }
                Refusal::Unclear { line, why, .. } => HunkError::new(
                    hunk,
                    format!("it resembles line {} and after, but {why}", line + first),
                ),
                Refusal::Applied { line } => HunkError::applied(hunk, line + first),
            }
        })?;
        // A whole text is escaped or has a code fence around it, but a hunk consists of single
        // lines. So such a match is not what the hunk means.
        if matches!(edited.reading, Some(Reading::Escapes | Reading::Fence)) {
            return Err(HunkError::new(hunk, "its lines are not in the file"));
        }
        let (start, end) = (from + edited.place.start, from + edited.place.end);
        let before = self.text[..start].rsplit('\n').next().unwrap_or_default();
        let after = self.text[end..].split('\n').next().unwrap_or_default();
        // The search ignores blank lines at the edges of a text, but in a hunk they are lines, so
        // the number of lines must be the same.
        let place = &self.text[start..end];
        let count = place
            .strip_suffix('\n')
            .unwrap_or(place)
            .split('\n')
            .count();
        let wanted = old.matches('\n').count();
        let has_all = edited.reading == Some(Reading::LinesLeftOut) || count == wanted;
        let is_whole = before.trim().is_empty() && after.trim().is_empty() && has_all;
        let is_in_place = (!hunk.is_at_end || self.text[end..].trim().is_empty())
            && (!hunk.is_at_start || self.text[..start].trim().is_empty());
        if !is_whole || !is_in_place {
            return Err(HunkError::new(hunk, "its lines are not in the file"));
        }
        Ok((start..end, edited.content, edited.reading))
    }
}

/// Removes unchanged blank lines from both ends of a hunk, so that the file keeps its own there.
fn without_blank_ends(mut lines: &[Line]) -> &[Line] {
    let is_blank = |line: &Line| line.role == Role::Context && line.text.trim().is_empty();
    while let [first, rest @ ..] = lines
        && is_blank(first)
    {
        lines = rest;
    }
    while let [rest @ .., last] = lines
        && is_blank(last)
    {
        lines = rest;
    }
    lines
}

fn without_end(line: &str) -> &str {
    let line = line.strip_suffix('\n').unwrap_or(line);
    line.strip_suffix('\r').unwrap_or(line)
}

fn line_end(line: &str) -> &str {
    &line[without_end(line).len()..]
}
