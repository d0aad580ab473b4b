//! Holds back runs of similar or repeated lines until it is known whether leaving them out saves
//! more than the marker costs.

use super::history::History;
use std::collections::VecDeque;

const MIN_LINES: usize = 3;

const MIN_BYTES: usize = 240;

/// Number of a run's last lines that stay held when earlier ones are dropped, to show how it ends.
const LAST_LINES: usize = 4;

/// Numbers of lines and of bytes that are held before some are dropped, to bound the memory.
const MAX_HELD: (usize, usize) = (64, 64 * 1024);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RunKind {
    Like,
    Again,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Line<'a> {
    pub(super) text: &'a str,
    pub(super) number: u64,
    pub(super) hash: u64,
}

#[derive(Debug, Default)]
pub(super) struct Run {
    kind: Option<RunKind>,
    first: u64,
    dropped: usize,
    dropped_bytes: usize,
    text: String,
    held: VecDeque<(usize, u64)>,
    /// For a repeated block, two indices in `shown`: that of its first line, and the one after the
    /// line that was repeated last.
    block: (u64, u64),
    shown: History,
    pub(super) left_out_lines: u64,
}

impl Run {
    pub(super) fn kind(&self) -> Option<RunKind> {
        self.kind
    }

    /// Returns true if the line is the next one of the block that is being repeated.
    pub(super) fn goes_on(&self, line: &Line<'_>) -> bool {
        let is_next = |(hash, _)| hash == line.hash;
        let next = self.shown.line(self.next_position());
        self.kind == Some(RunKind::Again) && next.is_some_and(is_next)
    }

    fn next_position(&self) -> u64 {
        let (first, next) = self.block;
        // The block ends with the last line that was shown, so its first line may follow again, as
        // in the output of a loop.
        if next == self.shown.end() {
            first
        } else {
            next
        }
    }

    pub(super) fn is_known(&self, line: &Line<'_>) -> bool {
        self.shown.position(line.hash).is_some()
    }

    pub(super) fn show(&mut self, line: &Line<'_>, out: &mut impl FnMut(&str)) {
        self.shown.add(line.hash, line.number);
        out(line.text);
    }

    pub(super) fn add(&mut self, kind: RunKind, line: &Line<'_>, out: &mut impl FnMut(&str)) {
        let goes_on = match kind {
            RunKind::Like => self.kind == Some(kind),
            RunKind::Again => self.goes_on(line),
        };
        if !goes_on {
            self.end(1, out);
            self.kind = Some(kind);
            self.first = line.number;
            let position = self.shown.position(line.hash).unwrap_or_default();
            self.block = (position, position);
        }
        self.block.1 = self.next_position() + 1;
        if kind == RunKind::Again && self.dropped > 0 {
            self.dropped += 1;
            self.dropped_bytes += line.text.len();
            return;
        }
        self.text.push_str(line.text);
        self.held.push_back((line.text.len(), line.hash));
        self.drop_lines();
    }

    fn drop_lines(&mut self) {
        if self.held.len() < MAX_HELD.0 && self.text.len() < MAX_HELD.1 {
            return;
        }
        let lines = self.held.len().saturating_sub(LAST_LINES);
        let bytes: usize = self.held.iter().take(lines).map(|(size, _)| size).sum();
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
            RunKind::Again => 0,
            RunKind::Like => self.last_lines(keep),
        };
        let gone = self.held.len() - kept;
        let bytes: usize = self.held.iter().take(gone).map(|(size, _)| size).sum();
        let is_worth_it =
            self.dropped + gone >= MIN_LINES && self.dropped_bytes + bytes >= MIN_BYTES;
        let (mut number, mut rest) = (self.first, self.text.as_str());
        let mut held = self.held.make_contiguous();
        if is_worth_it {
            let count = (self.dropped + gone) as u64;
            self.left_out_lines += count;
            let (block, _) = self.block;
            let like = self.shown.line(block).map_or(0, |(_, number)| number);
            out(&marker(kind, count, number, like));
            number += count;
            rest = &rest[bytes..];
            held = &mut held[gone..];
        }
        for (size, hash) in held {
            let (text, after) = rest.split_at(*size);
            rest = after;
            self.shown.add(*hash, number);
            number += 1;
            out(text);
        }
        self.text.clear();
        self.held.clear();
        (self.dropped, self.dropped_bytes) = (0, 0);
    }

    fn last_lines(&self, keep: usize) -> usize {
        let lines = self.text.lines().rev().enumerate();
        let is_blank = |line: &str| !line.contains(char::is_alphanumeric);
        let mut full = lines.filter(|(_, line)| !is_blank(line));
        full.nth(keep - 1).map_or(self.held.len(), |(at, _)| at + 1)
    }
}

fn marker(kind: RunKind, count: u64, first: u64, like: u64) -> String {
    match kind {
        RunKind::Like => {
            let last = first + count - 1;
            format!("… {count} lines like this ({first}-{last})\n")
        }
        RunKind::Again => format!("… {count} lines again, as from line {like}\n"),
    }
}
