//! Holds back runs of similar or repeated lines until it is known whether leaving them out saves
//! more than the marker costs.

use super::history::History;
use std::collections::VecDeque;

const MIN_LINES: usize = 3;

const MIN_BYTES: usize = 120;

/// The lines of a run are held until it ends. If there are more than so many, and they have more
/// than so many bytes together, the first ones are dropped, to bound the memory. A run of lines
/// without letters and digits, such as a drawing, stays as it is; but if some of its lines were
/// dropped, only `LAST_LINES` stay.
const MAX_HELD: (usize, usize) = (64, 4 * MIN_BYTES);

const LAST_LINES: usize = 4;

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
pub(super) struct Line<'t> {
    pub(super) text: &'t str,
    pub(super) number: u64,
    pub(super) hash: u64,
    pub(super) shape: Option<u64>,
}

#[derive(Debug, Default)]
pub(super) struct Run<'t> {
    kind: Option<RunKind>,
    first: u64,
    dropped: usize,
    held: VecDeque<Line<'t>>,
    shown: History,
    /// The shapes of the last lines that were shown one after the other, with nothing left out
    /// between them.
    above: VecDeque<u64>,
    pub(super) left_out_lines: u64,
}

impl<'t> Run<'t> {
    pub(super) fn add(&mut self, line: Line<'t>, keep: usize, out: &mut String) {
        if let Some(kind) = self.kind.and_then(|kind| self.goes_on(kind, &line)) {
            self.kind = Some(kind);
            return self.hold(line);
        }
        self.end(keep, out);
        self.kind = self.begins(&line);
        if self.kind.is_some() {
            self.first = line.number;
            self.hold(line);
        } else {
            self.show(&line, out);
        }
    }

    pub(super) fn pass(&mut self, text: &str, out: &mut String) {
        self.end(1, out);
        self.above.clear();
        out.push_str(text);
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
        // The repeated block ends where the run begins. After its last line its first one may come
        // again, as in the output of a loop.
        if follows == self.first {
            Some(first)
        } else {
            (number(next) == Some(follows)).then_some(next)
        }
    }

    fn show(&mut self, line: &Line<'_>, out: &mut String) {
        out.push_str(line.text);
        self.shown.add(line.hash, line.number);
        match line.shape {
            Some(shape) => self.above.push_back(shape),
            None => self.above.clear(),
        }
        if self.above.len() > MAX_SHAPES {
            self.above.pop_front();
        }
    }

    fn hold(&mut self, line: Line<'t>) {
        self.held.push_back(line);
        let bytes = || self.held.iter().map(|line| line.text.len()).sum::<usize>();
        if self.held.len() > MAX_HELD.0 && (self.dropped > 0 || bytes() > MAX_HELD.1) {
            self.held.pop_front();
            self.dropped += 1;
        }
    }

    /// Ends the run. If it is long enough, a marker replaces it. Of a run of lines that are only
    /// similar, the last `keep` lines with letters or digits stay.
    pub(super) fn end(&mut self, keep: usize, out: &mut String) {
        let Some(kind) = self.kind.take() else {
            return;
        };
        let held = Vec::from(std::mem::take(&mut self.held));
        let dropped = std::mem::take(&mut self.dropped);
        let kept = match kind {
            RunKind::Again(..) => 0,
            RunKind::Like(_) => {
                let is_full = |line: &&Line<'_>| line.text.contains(char::is_alphanumeric);
                let mut full = held
                    .iter()
                    .rev()
                    .enumerate()
                    .filter(|(_, line)| is_full(line));
                let all = if dropped > 0 { LAST_LINES } else { held.len() };
                full.nth(keep - 1).map_or(all, |(at, _)| at + 1)
            }
        };
        let (gone, last) = held.split_at(held.len() - kept);
        let bytes: usize = gone.iter().map(|line| line.text.len()).sum();
        let mut shown = &held[..];
        if dropped > 0 || gone.len() >= MIN_LINES && bytes >= MIN_BYTES {
            let count = (dropped + gone.len()) as u64;
            self.left_out_lines += count;
            out.push_str(&self.marker(kind, count));
            self.above.clear();
            shown = last;
        }
        for line in shown {
            self.show(line, out);
        }
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
