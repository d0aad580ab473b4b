//! The limits of an analysis: one count for all that it reads, and for all that it finds.

use std::cell::Cell;

/// The deepest nesting of what is read, of commands and expansions alike.
pub(super) const MAX_DEPTH: usize = 40;

/// The most parts: commands, words and expansions.
const MAX_PARTS: usize = 20_000;

/// The most bytes of all texts that are read, scripts within scripts included.
const MAX_BYTES: usize = 1024 * 1024;

/// The rest of what an analysis may still read.
pub(super) struct Limits {
    parts: Cell<usize>,
    bytes: Cell<usize>,
    exceeded: Cell<Option<&'static str>>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            parts: Cell::new(MAX_PARTS),
            bytes: Cell::new(MAX_BYTES),
            exceeded: Cell::new(None),
        }
    }
}

impl Limits {
    /// Counts parts and bytes; `None` where a limit is exceeded, now or before.
    pub(super) fn take(&self, parts: usize, bytes: usize) -> Option<()> {
        match self.parts.get().checked_sub(parts) {
            Some(left) => self.parts.set(left),
            None => self.exceed("more than 20,000 parts"),
        }
        match self.bytes.get().checked_sub(bytes) {
            Some(left) => self.bytes.set(left),
            None => self.exceed("more than 1 MiB of scripts"),
        }
        self.exceeded.get().is_none().then_some(())
    }

    /// Notes that a limit is exceeded: nothing more is read.
    pub(super) fn exceed(&self, limit: &'static str) {
        self.exceeded.set(self.exceeded.get().or(Some(limit)));
    }

    pub(super) fn exceeded(&self) -> Option<&'static str> {
        self.exceeded.get()
    }
}
