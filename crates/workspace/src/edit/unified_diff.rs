//! Makes unified diffs of edits. They read only the lines around each place, so that showing a
//! change in a large file is cheap.

use super::super::OpenFile;
use super::super::diff::{Algorithm, DiffOp, changes, diff_lines, group_diff_ops};
use super::super::lines::read_range;
use super::{Match, Replacement};
use gemini_tools_core::text::count_newlines;
use gemini_tools_core::tool::DiffStat;
use std::fmt::Write;
use std::io;
use std::ops::Range;
use std::time::{Duration, Instant};

const CONTEXT_LINES: usize = 3;

const CONTEXT_BYTES: u64 = 32 * 1024;

const DIFF_PLACES: usize = 200;

/// Maximum size in bytes of a text that is compared with another, or shown in full.
pub const SHOWN_BYTES: usize = 1024 * 1024;

const SHOWN_LINES: u64 = 100_000;

const DIFF_TIME: Duration = Duration::from_millis(500);

impl Replacement {
    /// Returns a unified diff of the places that change, and its statistics.
    ///
    /// # Errors
    ///
    /// Returns the operating system's error if the file can't be read.
    pub fn diff(&self, source: &OpenFile, name: &str) -> io::Result<(String, DiffStat)> {
        let shown = gemini_tools_core::text::visible(name);
        let mut diff = format!("--- {shown}\n+++ {shown}\n");
        let mut stat = DiffStat::default();
        let mut shift = 0;
        let deadline = Instant::now() + DIFF_TIME;
        let mut rest = &self.matches[..];
        while let Some(first) = rest.first() {
            let places = self.matches.len() - rest.len();
            if places >= DIFF_PLACES || diff.len() > SHOWN_BYTES {
                let _ = writeln!(diff, "… and {} more places", rest.len());
                for found in rest {
                    stat.ai_added_lines += line_count(self.text_for(found));
                    stat.ai_removed_lines += 1;
                }
                break;
            }
            if let Some((removed, added)) = self.unshown(source, first)? {
                diff.push_str(&unshown(removed, added));
                stat.ai_removed_lines += removed;
                stat.ai_added_lines += added;
                shift += added as i64 - removed as i64;
                rest = &rest[1..];
                continue;
            }
            let (begin, first_line) = self.context_start(source, first)?;
            let (count, end) =
                self.hunk(source, begin, &rest[..rest.len().min(DIFF_PLACES - places)])?;
            let (here, later) = rest.split_at(count);
            rest = later;
            let old = read_range(&source.file, begin, end - begin)?;
            let new = self.applied(&old, begin, here);
            let (old, new) = (self.encoding.decode(&old), self.encoding.decode(&new));
            let (old_lines, new_lines) = (lines_of(&old), lines_of(&new));
            let ops = diff_lines(Algorithm::Myers, &old_lines, &new_lines, Some(deadline));
            let before = first_line - 1;
            let before = (before, before.saturating_add_signed(shift));
            push_hunk(&mut diff, &ops, (&old_lines, &new_lines), before);
            count_changes(&mut stat, &ops);
            shift += new.matches('\n').count() as i64 - old.matches('\n').count() as i64;
        }
        Ok((diff, stat))
    }

    /// Returns how many of the next places share one hunk, because their context lines touch, and
    /// the offset in the file at which the hunk ends.
    fn hunk(&self, source: &OpenFile, begin: u64, places: &[Match]) -> io::Result<(usize, u64)> {
        let (mut count, mut end, mut new_bytes) = (0, begin, 0);
        while let Some(next) = places.get(count)
            && (count == 0 || self.context_start(source, next)?.0 <= end)
            && (count == 0 || new_bytes + self.text_for(next).len() <= SHOWN_BYTES)
            && self.unshown(source, next)?.is_none()
        {
            end = end.max(self.context_end(source, next.end)?);
            new_bytes += self.text_for(next).len();
            count += 1;
        }
        Ok((count, end))
    }

    /// Returns the numbers of old and new lines of a place that is too large to show; else `None`.
    fn unshown(&self, source: &OpenFile, found: &Match) -> io::Result<Option<(u64, u64)>> {
        let new = self.text_for(found);
        let length = found.end - found.start;
        if length.max(new.len() as u64) <= SHOWN_LINES {
            return Ok(None);
        }
        let old = read_range(&source.file, found.start, length)?;
        if is_shown(&old) && is_shown(new) {
            return Ok(None);
        }
        Ok(Some((line_count(&old), line_count(new))))
    }

    fn context_start(&self, source: &OpenFile, found: &Match) -> io::Result<(u64, u64)> {
        let mark = self.encoding.mark().len() as u64;
        let unit = self.encoding.unit();
        let from = found.start.saturating_sub(CONTEXT_BYTES).max(mark);
        let from = from + (found.start - from) % unit as u64;
        let before = read_range(&source.file, from, found.start - from)?;
        let newline = self.encoding.encode("\n").unwrap_or_default();
        let units = before.chunks_exact(unit).enumerate().rev();
        let starts = units.filter(|(_, unit)| **unit == *newline);
        let starts = starts.map(|(i, _)| (i + 1) * unit).take(CONTEXT_LINES + 1);
        let starts: Vec<usize> = starts.collect();
        let start = if from == mark && starts.len() <= CONTEXT_LINES {
            0
        } else {
            starts.last().copied().unwrap_or(before.len())
        };
        let lines = self.encoding.decode(&before[start..]).matches('\n').count() as u64;
        Ok((from + start as u64, found.line - lines))
    }

    fn context_end(&self, source: &OpenFile, from: u64) -> io::Result<u64> {
        let room = source.size().saturating_sub(from).min(CONTEXT_BYTES);
        let after = read_range(&source.file, from, room)?;
        let unit = self.encoding.unit();
        let newline = self.encoding.encode("\n").unwrap_or_default();
        let units = after.chunks_exact(unit).enumerate();
        let mut ends = units.filter(|(_, unit)| **unit == *newline);
        let end = ends.nth(CONTEXT_LINES);
        Ok(from + end.map_or(after.len(), |(i, _)| (i + 1) * unit) as u64)
    }
}

fn line_count(text: &[u8]) -> u64 {
    count_newlines(text) + 1
}

fn is_shown(text: &[u8]) -> bool {
    text.len() <= SHOWN_BYTES && count_newlines(text) <= SHOWN_LINES
}

fn unshown(removed: u64, added: u64) -> String {
    format!("… a change of {removed} lines to {added} lines, too long to be shown\n")
}

fn lines_of(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

type BothLines<'a> = (&'a [&'a str], &'a [&'a str]);

fn push_hunk(
    out: &mut String,
    ops: &[DiffOp],
    (old_lines, new_lines): BothLines<'_>,
    before: (u64, u64),
) {
    let (Some(first), Some(last)) = (ops.first(), ops.last()) else {
        return;
    };
    // Gemini CLI writes the count even if it is one.
    let range = |before: u64, lines: Range<usize>| {
        let is_empty = lines.is_empty();
        let start = before + lines.start as u64 + u64::from(!is_empty);
        format!("{start},{}", lines.len())
    };
    let old = first.old_range().start..last.old_range().end;
    let new = first.new_range().start..last.new_range().end;
    let (old, new) = (range(before.0, old), range(before.1, new));
    out.push_str(&format!("@@ -{old} +{new} @@\n"));
    for op in ops {
        let is_kept = matches!(op, DiffOp::Equal { .. });
        let (removed, added) = (op.old_range(), op.new_range());
        let removed = old_lines[removed]
            .iter()
            .map(|line| (if is_kept { ' ' } else { '-' }, line));
        let added = if is_kept { 0..0 } else { added };
        for (sign, line) in removed.chain(new_lines[added].iter().map(|line| ('+', line))) {
            out.push(sign);
            out.push_str(line);
            if !line.ends_with('\n') {
                out.push_str("\n\\ No newline at end of file\n");
            }
        }
    }
}

fn count_changes(stat: &mut DiffStat, ops: &[DiffOp]) {
    for op in changes(ops) {
        stat.ai_added_lines += op.new_range().len() as u64;
        stat.ai_removed_lines += op.old_range().len() as u64;
    }
}

/// Returns a unified diff of two whole texts, and its statistics.
pub fn diff_texts(old: &str, new: &str, name: &str) -> (String, DiffStat) {
    // A line feed in the name must not begin another line of the diff.
    let name = &*gemini_tools_core::text::visible(name);
    if !is_shown(old.as_bytes()) || !is_shown(new.as_bytes()) {
        let lines = |text: &str| text.split_inclusive('\n').count() as u64;
        let stat = DiffStat {
            ai_added_lines: lines(new),
            ai_removed_lines: lines(old),
            ..DiffStat::default()
        };
        let change = unshown(stat.ai_removed_lines, stat.ai_added_lines);
        return (format!("--- {name}\n+++ {name}\n{change}"), stat);
    }
    let (old_lines, new_lines) = (lines_of(old), lines_of(new));
    let deadline = Some(Instant::now() + DIFF_TIME);
    let ops = diff_lines(Algorithm::Myers, &old_lines, &new_lines, deadline);
    let mut stat = DiffStat::default();
    count_changes(&mut stat, &ops);
    let mut text = String::new();
    for hunk in group_diff_ops(ops, CONTEXT_LINES) {
        if text.is_empty() {
            text = format!("--- {name}\n+++ {name}\n");
        }
        push_hunk(&mut text, &hunk, (&old_lines, &new_lines), (0, 0));
    }
    (text, stat)
}
