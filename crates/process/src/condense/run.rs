//! Holds back runs of similar or repeated lines until it is known whether leaving them out saves
//! more than the marker costs.

use super::history::History;
use std::collections::VecDeque;

const MIN_LINES: usize = 3;

const MIN_BYTES: usize = 120;

/// The lines of a run of similar lines are held until the run ends. If some are dropped, this many
/// of the last ones stay, to show how the run ends.
const LAST_LINES: usize = 4;

/// The lines of a run of similar lines that are held until the run ends: beyond this many lines or
/// bytes, some are dropped to bound the memory.
const MAX_HELD: (usize, usize) = (64, 64 * 1024);

/// A line belongs to a run if its shape is that of one of so many lines directly above the run.
const MAX_SHAPES: usize = 8;

#[derive(Debug, Clone, Copy)]
enum RunKind {
    /// Lines of which each has the same shape as one of the lines directly above the run; the
    /// number says how many of those lines. The marker that replaces the run names that number.
    Like(usize),
    /// The lines repeat an earlier block. The numbers are indices in `shown`: of the block's first
    /// line, and of the line that would be repeated next.
    Again(u64, u64),
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Line<'a> {
    pub(super) text: &'a str,
    pub(super) number: u64,
    pub(super) hash: u64,
    pub(super) shape: Option<u64>,
}

#[derive(Debug, Clone, Copy)]
struct Held {
    size: usize,
    hash: u64,
    shape: Option<u64>,
}

#[derive(Debug, Default)]
pub(super) struct Run {
    kind: Option<RunKind>,
    first: u64,
    dropped: usize,
    dropped_bytes: usize,
    text: String,
    held: VecDeque<Held>,
    shown: History,
    /// The shapes of the last lines that were shown one after the other, with nothing left out
    /// between them.
    above: VecDeque<u64>,
    pub(super) left_out_lines: u64,
}

impl Run {
    pub(super) fn add(&mut self, line: &Line<'_>, keep: usize, out: &mut impl FnMut(&str)) {
        if let Some(kind) = self.kind.and_then(|kind| self.goes_on(kind, line)) {
            self.kind = Some(kind);
            return self.hold(line);
        }
        self.end(keep, out);
        self.kind = self.begins(line);
        if self.kind.is_some() {
            self.first = line.number;
            self.hold(line);
        } else {
            self.show(line.hash, line.number, line.shape);
            out(line.text);
        }
    }

    pub(super) fn pass(&mut self, text: &str, out: &mut impl FnMut(&str)) {
        self.end(1, out);
        self.above.clear();
        out(text);
    }

    /// Returns how far above the run, in lines, a line of the same shape was shown.
    fn is_like(&self, line: &Line<'_>) -> Option<usize> {
        let mut above = self.above.iter().rev();
        Some(1 + above.position(|shape| line.shape == Some(*shape))?)
    }

    fn begins(&self, line: &Line<'_>) -> Option<RunKind> {
        if let Some(count) = self.is_like(line) {
            return Some(RunKind::Like(count));
        }
        let position = self.shown.position(line.hash)?;
        Some(RunKind::Again(position, position + 1))
    }

    fn goes_on(&self, kind: RunKind, line: &Line<'_>) -> Option<RunKind> {
        match kind {
            RunKind::Like(count) => Some(RunKind::Like(count.max(self.is_like(line)?))),
            RunKind::Again(first, next) => {
                let next = self.position_after(first, next)?;
                let (hash, _) = self.shown.line(next)?;
                (hash == line.hash).then_some(RunKind::Again(first, next + 1))
            }
        }
    }

    /// Returns the position of the line with which a repeated block would go on. A marker tells
    /// line numbers of the whole output, of which some lines were not shown. So the next line that
    /// was shown only counts if it also comes next in the whole output.
    fn position_after(&self, first: u64, next: u64) -> Option<u64> {
        let number = |position| self.shown.line(position).map(|(_, number)| number);
        let follows = number(next.checked_sub(1)?)? + 1;
        // The block reaches to the run, so its first line may follow again, as in the output of a
        // loop.
        if follows == self.first {
            Some(first)
        } else {
            (number(next) == Some(follows)).then_some(next)
        }
    }

    fn show(&mut self, hash: u64, number: u64, shape: Option<u64>) {
        self.shown.add(hash, number);
        match shape {
            Some(shape) => self.above.push_back(shape),
            None => self.above.clear(),
        }
        if self.above.len() > MAX_SHAPES {
            self.above.pop_front();
        }
    }

    fn hold(&mut self, line: &Line<'_>) {
        if matches!(self.kind, Some(RunKind::Again(..))) && self.dropped > 0 {
            self.dropped += 1;
            self.dropped_bytes += line.text.len();
            return;
        }
        self.text.push_str(line.text);
        self.held.push_back(Held {
            size: line.text.len(),
            hash: line.hash,
            shape: line.shape,
        });
        self.drop_lines();
    }

    fn drop_lines(&mut self) {
        if self.held.len() < MAX_HELD.0 && self.text.len() < MAX_HELD.1 {
            return;
        }
        let lines = self.held.len().saturating_sub(LAST_LINES);
        let bytes: usize = self.held.iter().take(lines).map(|line| line.size).sum();
        // The run is still too short to be left out, so its lines must not be dropped.
        if self.dropped == 0 && (lines < MIN_LINES || bytes < MIN_BYTES) {
            return;
        }
        self.text.drain(..bytes);
        self.held.drain(..lines);
        self.dropped += lines;
        self.dropped_bytes += bytes;
    }

    /// Ends the run. If it is long enough, a marker replaces it. Of a run of lines that are only
    /// similar, the last `keep` lines with letters or digits stay.
    pub(super) fn end(&mut self, keep: usize, out: &mut impl FnMut(&str)) {
        let Some(kind) = self.kind.take() else {
            return;
        };
        let kept = match kind {
            RunKind::Again(..) => 0,
            RunKind::Like(_) => self.last_lines(keep),
        };
        let gone = self.held.len() - kept;
        let bytes: usize = self.held.iter().take(gone).map(|line| line.size).sum();
        let is_worth_it =
            self.dropped + gone >= MIN_LINES && self.dropped_bytes + bytes >= MIN_BYTES;
        let text = std::mem::take(&mut self.text);
        let (mut number, mut rest) = (self.first, text.as_str());
        if is_worth_it {
            let count = (self.dropped + gone) as u64;
            self.left_out_lines += count;
            out(&self.marker(kind, count));
            number += count;
            rest = &rest[bytes..];
            self.held.drain(..gone);
            self.above.clear();
        }
        out(rest);
        for line in std::mem::take(&mut self.held) {
            self.show(line.hash, number, line.shape);
            number += 1;
        }
        (self.dropped, self.dropped_bytes) = (0, 0);
    }

    fn last_lines(&self, keep: usize) -> usize {
        let lines = self.text.lines().rev().enumerate();
        let is_blank = |line: &str| !line.contains(char::is_alphanumeric);
        let mut full = lines.filter(|(_, line)| !is_blank(line));
        full.nth(keep - 1).map_or(self.held.len(), |(at, _)| at + 1)
    }

    fn marker(&self, kind: RunKind, count: u64) -> String {
        let (first, last) = (self.first, self.first + count - 1);
        match kind {
            RunKind::Like(1) => format!("… {count} lines like this ({first}-{last})\n"),
            RunKind::Like(above) => {
                format!("… {count} lines like these {above} ({first}-{last})\n")
            }
            RunKind::Again(block, _) => {
                let like = self.shown.line(block).map_or(0, |(_, number)| number);
                format!("… {count} lines again, as from line {like}\n")
            }
        }
    }
}
