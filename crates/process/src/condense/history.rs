//! The latest lines that are shown, by which a block is known when it comes again.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};

/// The number of lines that are remembered.
const MAX_LINES: usize = 16 * 1024;

/// The number of places in the table of positions.
const PLACES: usize = 4 * MAX_LINES;

/// The latest lines that are shown.
#[derive(Debug, Default)]
pub(super) struct History {
    /// The hashes of the lines, with their numbers in the output.
    lines: VecDeque<(u64, u64)>,
    /// The position of the first of them among all lines that were shown.
    first: u64,
    /// The latest position of a line with a hash that has its place here.
    positions: Vec<u64>,
}

pub(super) fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

fn place(hash: u64) -> usize {
    hash as usize % PLACES
}

impl History {
    pub(super) fn add(&mut self, hash: u64, number: u64) {
        self.positions.resize(PLACES, u64::MAX);
        self.positions[place(hash)] = self.end();
        self.lines.push_back((hash, number));
        if self.lines.len() > MAX_LINES {
            self.lines.pop_front();
            self.first += 1;
        }
    }

    /// Returns the position after the last line.
    pub(super) fn end(&self) -> u64 {
        self.first + self.lines.len() as u64
    }

    /// Returns the latest position of a line, unless another line has taken its place.
    pub(super) fn position(&self, hash: u64) -> Option<u64> {
        let position = *self.positions.get(place(hash))?;
        let (found, _) = self.line(position)?;
        (found == hash).then_some(position)
    }

    pub(super) fn line(&self, position: u64) -> Option<(u64, u64)> {
        let at = position.checked_sub(self.first)?;
        self.lines.get(usize::try_from(at).ok()?).copied()
    }
}
