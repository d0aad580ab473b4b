//! Finds where the hunks of a patch belong in a file, and makes the new content.
//!
//! The lines of a hunk are looked for as they are, then without regard to line ends, and then as
//! `smart_edit` looks for a text that is quoted inexactly. Each hunk must fit the file at a single
//! place, below that of the hunk before it. If the lines are literally at several places, the line
//! number of a unified diff decides, or the lines above the hunk that an envelope names (anchors).

use super::{Hunk, Line, Role};
use crate::edit::{self, Reading, Refusal};
use std::ops::Range;

const MAX_COMPARED_BYTES: usize = 4 * 1024 * 1024;

const MAX_HUNK_BYTES: usize = 64 * 1024;

/// A hunk counts as applied before if the file has its new lines below its anchor, the line that
/// the patch names to tell where the hunk belongs. New lines of fewer characters than this may be
/// there by chance, except right below it with lines that stay.
const MIN_APPLIED_CHARS: usize = 12;

const NOT_THERE: &str = "its lines are not in the file";
const TOO_LARGE: &str =
    "its lines are not in the file as they are, and are too many to be compared otherwise";

const NO_PLACE: &str = "it has no line that stays or goes, so its place is not known; give lines \
                        that stay around it";

const NO_MARKS: &str = "its unchanged lines are one blank less deep than there, so they seem to \
                        lack the blank that marks them";

/// The result of a patch for one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Patched {
    /// The new content of the file.
    pub text: String,
    /// How hunks that are quoted inexactly differ from the file.
    pub readings: Vec<Reading>,
    /// The lines, from 1, of hunks that are at other lines than their numbers say.
    pub moved: Vec<usize>,
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
    /// What kind of fault that is.
    pub misfit: Misfit,
}

/// How a hunk does not fit a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Misfit {
    /// The file does not have the old lines.
    Missing,
    /// The file has the old lines, but not where the hunk has to be.
    Misplaced,
    /// The hunk fits several places.
    Ambiguous,
    /// The file has the new lines already.
    Applied,
}

impl HunkError {
    fn new(hunk: &Hunk, misfit: Misfit, why: impl Into<String>) -> Self {
        let wanted: Vec<&str> = hunk.old().map(|line| line.text.as_str()).collect();
        Self {
            number: hunk.number,
            why: why.into(),
            wanted: wanted.join("\n"),
            misfit,
        }
    }

    fn missing(hunk: &Hunk, why: impl Into<String>) -> Self {
        Self::new(hunk, Misfit::Missing, why)
    }

    fn several(hunk: &Hunk, lines: &[usize]) -> Self {
        let first: Vec<String> = lines.iter().take(10).map(usize::to_string).collect();
        let (count, first) = (lines.len(), first.join(", "));
        let why = format!("it fits {count} places, at lines {first}");
        Self::new(hunk, Misfit::Ambiguous, why)
    }

    fn misplaced(hunk: &Hunk, line: usize, but: &str) -> Self {
        let why = format!("its lines are at line {line}, but {but}");
        Self::new(hunk, Misfit::Misplaced, why)
    }

    fn applied(hunk: &Hunk, line: usize) -> Self {
        let why = format!("the file has its new lines at line {line} already");
        Self::new(hunk, Misfit::Applied, why)
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
    let has_old = |hunk: &Hunk| hunk.old().next().is_some();
    let count = hunks.iter().rposition(has_old).map_or(0, |at| at + 1);
    let (beside, alone) = hunks.split_at(count);
    for hunk in beside {
        // A hunk without old lines can only be added at the end of the file. This one can't be
        // meant there, because a hunk that follows it has its place in the file.
        if !has_old(hunk) {
            return Err(HunkError::missing(hunk, NO_PLACE));
        }
        let (place, content, reading) = file.place(hunk)?;
        out.push_str(&text[file.done..place.start]);
        out.push_str(&content);
        file.done = place.end;
        file.anchors = &hunk.anchors;
        readings.extend(reading.filter(|reading| !readings.contains(reading)));
    }
    out.push_str(&text[file.done..]);
    for hunk in alone {
        add_at_end(&mut out, text, hunk)?;
    }
    Ok(Patched {
        text: out,
        readings,
        moved: file.moved,
    })
}

/// Appends the lines of a hunk that has no old lines to `out`, which is the content of the file
/// `text` with the hunks applied so far.
fn add_at_end(out: &mut String, text: &str, hunk: &Hunk) -> Result<(), HunkError> {
    let is_meant = text.is_empty() || !hunk.is_numbered && hunk.anchors.is_empty();
    if !is_meant {
        return Err(HunkError::missing(hunk, NO_PLACE));
    }
    let added = hunk.added();
    let plain = text.replace("\r\n", "\n");
    if !plain.is_empty() && format!("\n{plain}").ends_with(&format!("\n{added}")) {
        let line = plain.lines().count() + 1 - added.lines().count();
        return Err(HunkError::applied(hunk, line));
    }
    let end = first_end(text);
    if !out.is_empty() && !out.ends_with('\n') {
        out.push_str(end);
    }
    out.push_str(&added.replace('\n', end));
    Ok(())
}

/// A file whose hunks are placed one after another. `starts` are the offsets of the first byte of
/// each line, and the length of the text. `done` is the offset up to which the text was copied to
/// the result, with its changes. `stated` is the line number in the head of the last hunk, and
/// `drift` by how many lines it was found below that (above, if it is negative): the numbers of the
/// next hunk are probably off by as much. `moved` are the lines, from 1, of hunks that were not
/// where their heads say, and `anchors` those of the last hunk.
struct Placing<'t> {
    text: &'t str,
    lines: Vec<&'t str>,
    starts: Vec<usize>,
    done: usize,
    stated: usize,
    drift: isize,
    moved: Vec<usize>,
    anchors: &'t [String],
}

/// A place for a hunk: the bytes to replace, their new content, and how the hunk's old lines differ
/// from them (`None` if they are the same).
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
            stated: 0,
            drift: 0,
            moved: Vec::new(),
            anchors: &[],
        }
    }

    fn place(&mut self, hunk: &Hunk) -> Result<Placed, HunkError> {
        let from = self.starts.partition_point(|start| *start < self.done);
        let below = self.below_anchors(hunk, from)?;
        let old: Vec<String> = hunk.old().map(Line::whole).collect();
        let mut misplaced = None;
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
            let all: Vec<usize> = (0..last).filter(|at| same(*at)).collect();
            let (above, found) = all.split_at(all.partition_point(|at| *at < below[0]));
            let above = above.first().map(|at| Self::not_below(hunk, *at, from));
            let is_early = hunk.start.is_some_and(|start| start < self.stated);
            // The line numbers say that this hunk belongs above the one before it. If its lines are
            // also there, those may be meant, and it is not clear which.
            if let Some(above) = above.clone().filter(|_| is_early) {
                return Err(above);
            }
            let meant = self.at_ends(hunk, found)?;
            let Some(at) = self.choose(hunk, &meant, &below)? else {
                let not_at_end = found.first().map(|at| Self::not_at_end(hunk, *at));
                misplaced = misplaced.or(not_at_end).or(above);
                continue;
            };
            self.check_not_applied(hunk, at, below[0])?;
            if let Some(start) = hunk.start {
                if !self.stated_places(start).contains(&at) {
                    self.moved.push(at + 1);
                }
                self.stated = start;
                self.drift = at.cast_signed() - start.saturating_sub(1).cast_signed();
            }
            let place = self.starts[at]..self.starts[at + old.len()];
            return Ok((place, self.content(hunk, at, is_exact), None));
        }
        let found = self.inexact(hunk, below[0]);
        found.map_err(|e| match misplaced {
            _ if e.why != NOT_THERE => e,
            Some(misplaced) => misplaced,
            None => self.applied(hunk).unwrap_or(e),
        })
    }

    /// Returns true if the file has all of these lines from line index `at` on.
    fn has_at(&self, lines: &[&str], at: usize) -> bool {
        let there = self.lines.get(at..at + lines.len());
        there.is_some_and(|there| {
            let mut pairs = there.iter().zip(lines);
            pairs.all(|(there, line)| without_end(there) == without_end(line))
        })
    }

    /// Says that a hunk whose old lines are missing was applied before, if its new lines are where
    /// its number says, with one that stays. A model that is told only that its lines are missing
    /// would make the change once more.
    fn applied(&self, hunk: &Hunk) -> Option<HunkError> {
        let stays = |line: &Line| line.role == Role::Context && !line.text.trim().is_empty();
        let new: Vec<&str> = hunk.new_lines().map(|line| line.text.as_str()).collect();
        let places = hunk.start.filter(|_| hunk.lines.iter().any(stays));
        let mut places = places
            .into_iter()
            .flat_map(|start| self.stated_places(start));
        let found = places.find(|at| self.has_at(&new, *at));
        found.map(|at| HunkError::applied(hunk, at + 1))
    }

    fn not_below(hunk: &Hunk, at: usize, from: usize) -> HunkError {
        let what = if at < from {
            "the hunk before it"
        } else {
            "the line after \"@@ \""
        };
        HunkError::misplaced(hunk, at + 1, &format!("that is not below {what}"))
    }

    fn not_at_end(hunk: &Hunk, at: usize) -> HunkError {
        let end = if hunk.is_at_end { "end" } else { "beginning" };
        HunkError::misplaced(hunk, at + 1, &format!("not at the {end} of the file"))
    }

    fn is_at_ends(&self, hunk: &Hunk, at: usize) -> bool {
        (!hunk.is_at_end || at + hunk.old().count() == self.lines.len())
            && (!hunk.is_at_start || at == 0)
    }

    /// Returns those of the line indices `found` at which a hunk is at the end or the beginning of
    /// the file, if it must be there. A unified diff says so itself only if it marks a line without
    /// an end. Else its unchanged lines, which are on one side of the change, suggest it. So if its
    /// lines are at neither end, they are taken where they are, and if they are both at an end and
    /// at its line number, it is not clear which place is meant.
    fn at_ends(&self, hunk: &Hunk, found: &[usize]) -> Result<Vec<usize>, HunkError> {
        let is_at_ends = |at: &usize| self.is_at_ends(hunk, *at);
        let is_last =
            |at: &&usize| !hunk.says_end() || **at + hunk.old().count() == self.lines.len();
        let found = found.iter().filter(is_last);
        let (ends, others): (Vec<usize>, Vec<usize>) = found.partition(|at| is_at_ends(at));
        let Some((start, end)) = hunk.start.zip(ends.first()) else {
            let is_said = hunk.start.is_none();
            return Ok(if is_said { ends } else { others });
        };
        let mut stated = self.stated_places(start).into_iter();
        match stated.find(|at| others.contains(at)) {
            Some(at) => Err(HunkError::several(hunk, &[at + 1, end + 1])),
            None => Ok(ends),
        }
    }

    /// Returns the line indices at or below which a hunk with anchors may begin: for each line that
    /// equals the first anchor, the index of the line after the last anchor. For a hunk without
    /// anchors, that is `from`; for one with those of the hunk before, it may be that one, too.
    fn below_anchors(&self, hunk: &Hunk, from: usize) -> Result<Vec<usize>, HunkError> {
        let Some((first, inner)) = hunk.anchors.split_first() else {
            return Ok(vec![from]);
        };
        let all_below = |anchor: &String| -> Vec<usize> {
            let lines = (from..self.lines.len()).map(|at| at + 1);
            lines
                .filter(|below| self.lines[below - 1].trim() == anchor.trim())
                .collect()
        };
        let inner: Vec<Vec<usize>> = inner.iter().map(all_below).collect();
        let below = all_below(first).into_iter().filter_map(|at| {
            inner.iter().try_fold(at, |at, all| {
                all.get(all.partition_point(|below| *below <= at)).copied()
            })
        });
        let is_same = hunk.anchors == self.anchors;
        let below = is_same.then_some(from).into_iter().chain(below);
        let below: Vec<usize> = below.collect();
        if below.is_empty() {
            let anchors = hunk.anchors.join(" > ");
            let why = format!("no line below the hunk before is {:?}", anchors.trim());
            // What is missing is the anchor. The lines of the hunk may be in the file just as they
            // are, so it would tell nothing to show the text that is most similar to them.
            return Err(HunkError {
                wanted: String::new(),
                ..HunkError::missing(hunk, why)
            });
        }
        Ok(below)
    }

    /// Returns the line indices that a hunk may mean if its head says line `start`: that line,
    /// moved by as many lines as the hunk before was (`drift`), and the line itself.
    fn stated_places(&self, start: usize) -> [usize; 2] {
        let stated = start.saturating_sub(1);
        [stated.saturating_add_signed(self.drift), stated]
    }

    fn choose(
        &self,
        hunk: &Hunk,
        found: &[usize],
        below: &[usize],
    ) -> Result<Option<usize>, HunkError> {
        if let Some(start) = hunk.start {
            // The line numbers of a patch are usually all off by as much as that of the hunk
            // before. But if only that one was wrong, this number is right. If the lines are at
            // both places, it is not clear which is meant.
            match self.stated_places(start).map(|at| found.contains(&at)) {
                [true, true] if self.drift != 0 => {
                    let lines = self.stated_places(start).map(|at| at + 1);
                    return Err(HunkError::several(hunk, &lines));
                }
                are_there => {
                    let mut stated = self.stated_places(start).into_iter().zip(are_there);
                    if let Some((at, _)) = stated.find(|(_, is_there)| *is_there) {
                        return Ok(Some(at));
                    }
                }
            }
        }
        let mut meant: Vec<usize> = if hunk.anchors.is_empty() {
            found.to_vec()
        } else {
            // Below each line that may be the anchor, only the first match of the hunk counts.
            below
                .iter()
                .filter_map(|below| found.get(found.partition_point(|at| at < below)))
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

    /// Refuses a hunk that was probably applied before, because the file has all of its new lines
    /// where the hunk says that they belong: at its line number, or below its anchors from line
    /// index `from` on. The old lines that were found at `at` are then those of a similar place, or
    /// unchanged lines beside which the new ones would be added a second time.
    fn check_not_applied(&self, hunk: &Hunk, at: usize, from: usize) -> Result<(), HunkError> {
        let new: Vec<&str> = hunk.new_lines().map(|line| line.text.as_str()).collect();
        let is_there = |at: &usize| self.has_at(&new, *at);
        let has = |role| hunk.lines.iter().any(|line| line.role == role);
        // A hunk that only removes lines was probably applied before if its unchanged lines are
        // next to each other. That can be told only if it has some on both sides of the removed
        // ones.
        let is_around = [hunk.lines.first(), hunk.lines.last()]
            .iter()
            .all(|line| line.is_some_and(|line| line.role == Role::Context));
        // A hunk that in effect only adds lines may have added them beside those by which it was
        // found, above or below them.
        let old: Vec<&str> = hunk.old().map(|line| line.text.as_str()).collect();
        let only_adds = !has(Role::Removed)
            || new.len() > old.len() && (new.starts_with(&old) || new.ends_with(&old));
        let is_added = |line: &&Line| line.role == Role::Added;
        let leading = hunk.lines.iter().take_while(is_added).count();
        let beside = [
            at.checked_sub(leading),
            (at + old.len()).checked_sub(new.len()),
        ];
        let beside = beside
            .into_iter()
            .flatten()
            .find(|at| only_adds && is_there(at));
        let says_much = has(Role::Added) || is_around;
        let elsewhere = if let Some(start) = hunk.start {
            let places = self.stated_places(start);
            let is_elsewhere = says_much && !places.contains(&at);
            let mut places = places.into_iter().filter(|_| is_elsewhere);
            places.find(is_there)
        } else {
            let chars: usize = new.iter().map(|line| line.trim().chars().count()).sum();
            let is_framed = has(Role::Context);
            let says_enough = |place| chars >= MIN_APPLIED_CHARS || is_framed && place == from;
            let mut above = from..at;
            above.find(|at| {
                says_much && says_enough(*at) && !hunk.anchors.is_empty() && is_there(at)
            })
        };
        let found = elsewhere.or(beside);
        found.map_or(Ok(()), |line| Err(HunkError::applied(hunk, line + 1)))
    }

    /// Returns the content that replaces the old lines of a hunk, which begin at line index `at`.
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
        if at + old_count == self.lines.len() && !is_exact {
            self.fit_last_end(hunk, &mut content, end);
        }
        content
    }

    /// Gives the last line of the file a line end, or takes it away, as the hunk says. If it does
    /// not, the new last line has one only if the old one had one.
    fn fit_last_end(&self, hunk: &Hunk, content: &mut String, end: &str) {
        let is_ended = hunk.is_ended().unwrap_or(self.text.ends_with('\n'));
        let whole = without_end(content);
        // Without its line end, an empty last line would not be there.
        if !is_ended && content.ends_with('\n') && !whole.is_empty() && !whole.ends_with('\n') {
            content.truncate(whole.len());
        } else if is_ended && !content.is_empty() && !content.ends_with('\n') {
            content.push_str(end);
        }
    }

    /// Finds the old lines of a hunk in the text from line index `first` on, even if they are
    /// quoted inexactly. That takes long, so neither the text may be larger than
    /// `MAX_COMPARED_BYTES`, nor the old lines than `MAX_HUNK_BYTES`.
    fn inexact(&self, hunk: &Hunk, first: usize) -> Result<Placed, HunkError> {
        let lines = without_blank_ends(&hunk.lines);
        let from = self.starts[first];
        let joined = |left_out: Role| -> String {
            let lines = lines.iter().filter(|line| line.role != left_out);
            lines.flat_map(|line| [&*line.text, "\n"]).collect()
        };
        let (old, new) = (joined(Role::Added), joined(Role::Removed));
        let window = &self.text[from..];
        if window.len() > MAX_COMPARED_BYTES || old.len() > MAX_HUNK_BYTES {
            return Err(HunkError::missing(hunk, TOO_LARGE));
        }
        let line_of = |at: usize| self.text[..at].matches('\n').count() + 1;
        let edited = edit::apply_to_lines(window, &old, &new).map_err(|refusal| match refusal {
            Refusal::NotFound => HunkError::missing(hunk, NOT_THERE),
            Refusal::TooLarge => HunkError::missing(hunk, TOO_LARGE),
            Refusal::Several { lines, .. } => {
                let lines: Vec<usize> = lines.iter().map(|line| line + first).collect();
                HunkError::several(hunk, &lines)
            }
            Refusal::Unclear { line, why, .. } => HunkError::missing(
                hunk,
                format!("it resembles line {} and after, but {why}", line + first),
            ),
            Refusal::Applied { line } => HunkError::applied(hunk, line + first),
        })?;
        // A whole text is escaped or has a code fence around it, but a hunk consists of single
        // lines. So such a match is not what the hunk means.
        if matches!(edited.reading, Some(Reading::Escapes | Reading::Fence)) {
            return Err(HunkError::missing(hunk, NOT_THERE));
        }
        let (start, end) = (from + edited.place.start, from + edited.place.end);
        // The search ignores blank lines at the edges of a text, but in a hunk they are lines, so
        // the number of lines must be the same. Those that stay were compared, but are not replaced.
        let place = &self.text[start..end];
        let count = place
            .strip_suffix('\n')
            .unwrap_or(place)
            .split('\n')
            .count();
        let wanted = lines.iter().filter(|line| line.role != Role::Added).count();
        let wanted = wanted - count_blank_ends(lines).iter().sum::<usize>();
        let has_all = edited.reading == Some(Reading::LinesLeftOut) || count == wanted;
        let is_in_place = (!hunk.is_at_end || self.text[end..].trim().is_empty())
            && (!hunk.is_at_start || self.text[..start].trim().is_empty());
        if !has_all {
            return Err(HunkError::missing(hunk, NOT_THERE));
        }
        let line = line_of(start);
        if !is_in_place {
            return Err(Self::not_at_end(hunk, line - 1));
        }
        if lacks_marks(lines, place) {
            let why = format!("it resembles line {line} and after, but {NO_MARKS}");
            return Err(HunkError::missing(hunk, why));
        }
        self.check_not_applied(hunk, line - 1, first)?;
        let (mut content, mut end) = (edited.content, end);
        if hunk.says_end() && without_end(&self.text[end..]).is_empty() {
            content.push_str(&self.text[end..]);
            end = self.text.len();
            self.fit_last_end(hunk, &mut content, first_end(self.text));
        }
        Ok((start..end, content, edited.reading))
    }
}

/// Removes unchanged blank lines from both ends of a hunk, so that the file keeps its own there.
/// Blank lines beside a change stay, because they say where it belongs.
fn without_blank_ends(lines: &[Line]) -> &[Line] {
    let [first, last] = count_blank_ends(lines);
    let last = lines.len() - last;
    let stays = |at: usize| matches!(lines.get(at), Some(line) if line.role == Role::Context);
    let from = if stays(first) { first } else { 0 };
    let to = if last > first && stays(last - 1) {
        last
    } else {
        lines.len()
    };
    &lines[from..to]
}

fn count_blank_ends(lines: &[Line]) -> [usize; 2] {
    let is_blank = |line: &&Line| line.role == Role::Context && line.text.trim().is_empty();
    let first = lines.iter().take_while(is_blank).count();
    let last = lines[first..].iter().rev().take_while(is_blank).count();
    [first, last]
}

/// Returns true if unchanged lines of a hunk have one blank less than the file has in `place`, and
/// no removed line has. Their first blank was then probably meant as the file's own and not as the
/// mark of the patch, while the new lines, whose `+` was not forgotten, have all blanks that they
/// should have.
fn lacks_marks(lines: &[Line], place: &str) -> bool {
    let is_less_deep = |line: &&Line| {
        let text = line.text.trim_end();
        let is_it = |there: &str| there.trim_end().strip_prefix(' ') == Some(text);
        line.role != Role::Added && !text.is_empty() && place.lines().any(is_it)
    };
    let mut less_deep = lines.iter().filter(is_less_deep).peekable();
    less_deep.peek().is_some() && less_deep.all(|line| line.role == Role::Context)
}

fn without_end(line: &str) -> &str {
    let line = line.strip_suffix('\n').unwrap_or(line);
    line.strip_suffix('\r').unwrap_or(line)
}

fn first_end(text: &str) -> &str {
    let end = text.split_inclusive('\n').next().map_or("", line_end);
    if end.is_empty() { "\n" } else { end }
}

fn line_end(line: &str) -> &str {
    &line[without_end(line).len()..]
}
