//! Merging three versions of a text by lines.
//!
//! The differences of both sides from the version that they come from are put into one text.
//! Where both have changed the same lines, or lines that touch, in different ways, there is no
//! clean merge.

use gemini_tools_workspace::diff::{Algorithm, DiffOp, diff_lines};
use std::ops::Range;
use std::time::{Duration, Instant};

/// A longer comparison is coarse, and merges less.
const DIFF_TIME: Duration = Duration::from_secs(2);

/// Lines of the base that a side replaces, by which of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Hunk {
    base: Range<usize>,
    own: Range<usize>,
}

fn hunks(base: &[&str], own: &[&str]) -> Vec<Hunk> {
    let deadline = Some(Instant::now() + DIFF_TIME);
    let ops = diff_lines(Algorithm::Myers, base, own, deadline);
    let changes = ops.iter().filter(|op| !matches!(op, DiffOp::Equal { .. }));
    let mut hunks: Vec<Hunk> = Vec::new();
    for op in changes {
        let hunk = Hunk {
            base: op.old_range(),
            own: op.new_range(),
        };
        match hunks.last_mut() {
            Some(last) if last.base.end == hunk.base.start && last.own.end == hunk.own.start => {
                last.base.end = hunk.base.end;
                last.own.end = hunk.own.end;
            }
            _ => hunks.push(hunk),
        }
    }
    hunks
}

/// The text with the changes of both; `None` where they contradict each other.
pub fn merge(base: &str, ours: &str, theirs: &str) -> Option<String> {
    let lines = |text| str::split_inclusive(text, '\n').collect::<Vec<_>>();
    let (base, ours, theirs) = (lines(base), lines(ours), lines(theirs));
    let (mut a, mut b) = (
        hunks(&base, &ours).into_iter().peekable(),
        hunks(&base, &theirs).into_iter().peekable(),
    );
    let mut merged = String::new();
    let mut at = 0;
    loop {
        let (hunk, own) = match (a.peek(), b.peek()) {
            (None, None) => break,
            (Some(left), Some(right)) => {
                let apart = |first: &Hunk, second: &Hunk| first.base.end < second.base.start;
                if apart(left, right) {
                    (a.next()?, &ours)
                } else if apart(right, left) {
                    (b.next()?, &theirs)
                } else if left.base == right.base
                    && ours[left.own.clone()] == theirs[right.own.clone()]
                {
                    b.next();
                    (a.next()?, &ours)
                } else {
                    return None;
                }
            }
            (Some(_), None) => (a.next()?, &ours),
            (None, Some(_)) => (b.next()?, &theirs),
        };
        merged.extend(base[at..hunk.base.start].iter().copied());
        merged.extend(own[hunk.own.clone()].iter().copied());
        at = hunk.base.end;
    }
    merged.extend(base[at..].iter().copied());
    Some(merged)
}

#[cfg(test)]
mod tests {
    use super::merge;

    #[test]
    fn changes_apart_are_joined_and_contradictions_refused() {
        let base = "a\nb\nc\nd\ne\nf\n";
        for (ours, theirs, expected) in [
            ("a\nb\nc\nd\ne\nf\n", base, Some(base)),
            (
                "A\nb\nc\nd\ne\nf\n",
                "a\nb\nc\nd\ne\nF\n",
                Some("A\nb\nc\nd\ne\nF\n"),
            ),
            (
                "a\nb\nc\nd\nf\n",
                "x\na\nb\nc\nd\ne\nf\n",
                Some("x\na\nb\nc\nd\nf\n"),
            ),
            (
                "A\nb\nc\nd\ne\nf\n",
                "A\nb\nc\nd\ne\nf\n",
                Some("A\nb\nc\nd\ne\nf\n"),
            ),
            ("A\nb\nc\nd\ne\nf\n", "x\nb\nc\nd\ne\nf\n", None),
            ("a\nB\nc\nd\ne\nf\n", "a\nb\nC\nd\ne\nf\n", None),
            ("", base, Some("")),
            (
                "a\nb\nc\nd\ne\nf\ng",
                "A\nb\nc\nd\ne\nf\n",
                Some("A\nb\nc\nd\ne\nf\ng"),
            ),
        ] {
            assert_eq!(
                merge(base, ours, theirs).as_deref(),
                expected,
                "{ours:?} {theirs:?}"
            );
            assert_eq!(
                merge(base, theirs, ours).as_deref(),
                expected,
                "{theirs:?} {ours:?}"
            );
        }
    }
}
