//! Differences between two lists of lines.
//!
//! The algorithms compare numbers that stand for lines, so they are compiled for one type only,
//! whatever stands for a line: its text or a hash of it.
//! Each further type, like each of `similar`'s other algorithms, would add 100 KB to every
//! executable.

use similar::algorithms::{Capture, Compact, IdentifyDistinct, Replace, myers, patience};
use std::hash::Hash;
use std::time::Instant;

pub use similar::{DiffOp, group_diff_ops};

/// A way to find the lines that two texts have in common.
#[derive(Debug, Clone, Copy)]
pub enum Algorithm {
    /// Finds the fewest changes.
    Myers,
    /// First matches the lines that occur exactly once in both texts.
    Patience,
}

/// Computes the operations that turn the old lines into the new ones, in order. After `deadline`
/// the rest is compared more coarsely; `None` sets no limit.
pub fn diff_lines<L: Eq + Hash>(
    algorithm: Algorithm,
    old: &[L],
    new: &[L],
    deadline: Option<Instant>,
) -> Vec<DiffOp> {
    let lines = IdentifyDistinct::<u32>::new(old, 0..old.len(), new, 0..new.len());
    let (old, all_old) = (lines.old_lookup(), lines.old_range());
    let (new, all_new) = (lines.new_lookup(), lines.new_range());
    let mut ops = Compact::new(Replace::new(Capture::new()), old, new);
    // `Capture` only stores the operations, which can't fail.
    let Ok(()) = match algorithm {
        Algorithm::Myers => myers::diff_deadline(&mut ops, old, all_old, new, all_new, deadline),
        Algorithm::Patience => {
            patience::diff_deadline(&mut ops, old, all_old, new, all_new, deadline)
        }
    };
    ops.into_inner().into_inner().into_ops()
}

/// Returns the operations that remove or add lines.
pub fn changes(ops: &[DiffOp]) -> impl Iterator<Item = &DiffOp> {
    ops.iter().filter(|op| !matches!(op, DiffOp::Equal { .. }))
}

#[cfg(test)]
mod tests {
    use super::{Algorithm, DiffOp, diff_lines};

    #[test]
    fn operations_make_the_new_lines_of_the_old_ones() {
        let (old, new) = (["a", "b", "c", "a"], ["a", "c", "d", "a", "a"]);
        for algorithm in [Algorithm::Myers, Algorithm::Patience] {
            let mut made: Vec<&str> = Vec::new();
            for op in diff_lines(algorithm, &old, &new, None) {
                match op {
                    DiffOp::Equal { .. } => made.extend(&old[op.old_range()]),
                    _ => made.extend(&new[op.new_range()]),
                }
            }
            assert_eq!(made, new);
        }
    }
}
