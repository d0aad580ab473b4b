//! The limits of one analysis. A line comes from a model, which may write one whose analysis takes
//! very long: `$(…)` can be nested, and scripts can contain scripts. So a single budget covers all
//! that is parsed and found in one analysis.

use std::cell::Cell;

pub(super) const MAX_DEPTH: usize = 40;

const MAX_PARTS: usize = 20_000;

const MAX_BYTES: usize = 1024 * 1024;

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
    /// Spends some of the budget. Returns `None` if it is exhausted, now or by an earlier call:
    /// callers pass that on with `?`, which ends the analysis.
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

    pub(super) fn exceed(&self, limit: &'static str) {
        self.exceeded.set(self.exceeded.get().or(Some(limit)));
    }

    pub(super) fn exceeded(&self) -> Option<&'static str> {
        self.exceeded.get()
    }
}
