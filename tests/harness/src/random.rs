//! Numbers that a seed decides, for tests that generate what they try. `GEMINI_TOOLS_SEED` repeats a run.

use std::env;
use std::io::{self, Write};
use std::time::{SystemTime, UNIX_EPOCH};

/// A sequence of numbers (`SplitMix64`).
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((z ^ (z >> 31)) >> 33).expect("31 bits") % bound
    }

    /// True once in so many times.
    pub fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    pub fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }
}

/// The seeds of so many trials of a test: from `GEMINI_TOOLS_SEED` on, or else from a number of this moment; they are
/// printed past the test runner.
pub fn seeds(test: &str, count: u32) -> impl Iterator<Item = u64> {
    let given = env::var("GEMINI_TOOLS_SEED").ok();
    let first: u64 = given.map_or_else(
        || {
            let now = SystemTime::now().duration_since(UNIX_EPOCH);
            let now = now.expect("a time after 1970");
            now.as_secs() ^ u64::from(now.subsec_nanos())
        },
        |seed| seed.parse().expect("GEMINI_TOOLS_SEED is a number"),
    );
    let _ = writeln!(
        io::stderr(),
        "{test}: {count} trials from GEMINI_TOOLS_SEED={first} on"
    );
    (0..u64::from(count)).map(move |n| first.wrapping_add(n))
}
