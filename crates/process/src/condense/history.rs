//! Remembers the last lines that were shown, to recognise a block of lines that is printed again.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};

const MAX_LINES: usize = 16 * 1024;

const PLACES: usize = 4 * MAX_LINES;

#[derive(Debug, Default)]
pub(super) struct History {
    /// The hash of each line, with its line number in the output.
    lines: VecDeque<(u64, u64)>,
    first: u64,
    /// A hash table without chains: each entry is the index, plus one, of the last line whose hash
    /// belongs to it. So 0 is an empty entry, and a new table costs nothing, since the system gives
    /// out memory full of zeros. If two hashes belong to one entry, a repetition may be missed.
    positions: Vec<u64>,
}

pub(super) fn hash(value: &(impl Hash + ?Sized)) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

fn place(hash: u64) -> usize {
    hash as usize % PLACES
}

impl History {
    pub(super) fn add(&mut self, hash: u64, number: u64) {
        if self.positions.is_empty() {
            self.positions = vec![0; PLACES];
        }
        self.positions[place(hash)] = self.end() + 1;
        self.lines.push_back((hash, number));
        if self.lines.len() > MAX_LINES {
            self.lines.pop_front();
            self.first += 1;
        }
    }

    pub(super) fn end(&self) -> u64 {
        self.first + self.lines.len() as u64
    }

    pub(super) fn position(&self, hash: u64) -> Option<u64> {
        let position = self.positions.get(place(hash))?.checked_sub(1)?;
        let (found, _) = self.line(position)?;
        (found == hash).then_some(position)
    }

    pub(super) fn line(&self, position: u64) -> Option<(u64, u64)> {
        let at = position.checked_sub(self.first)?;
        self.lines.get(usize::try_from(at).ok()?).copied()
    }
}
