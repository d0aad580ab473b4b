//! The line ends of an edited place whose lines end in different ways.

use super::diff::{Algorithm, DiffOp, diff_lines};
use super::text::LineEnding;
use std::time::{Duration, Instant};

/// After this, lines are told apart more coarsely.
const DIFF_TIME: Duration = Duration::from_millis(500);

/// How the lines end that begin in `place`; the last one's end may be in `behind`.
fn ends_of(place: &str, behind: &str) -> Vec<LineEnding> {
    let mut ends = Vec::new();
    let mut before = None;
    for c in place.chars() {
        if c == '\n' {
            ends.push(ending(before));
        }
        before = Some(c);
    }
    let is_open = !place.is_empty() && !place.ends_with('\n');
    for c in behind.chars().take_while(|_| is_open) {
        if c == '\n' {
            ends.push(ending(before));
            break;
        }
        before = Some(c);
    }
    ends
}

fn ending(before: Option<char>) -> LineEnding {
    if before == Some('\r') {
        LineEnding::Crlf
    } else {
        LineEnding::Lf
    }
}

fn lines_of(text: &str) -> Vec<&str> {
    let bare = |line: &'_ str| line.len() - usize::from(line.ends_with('\r'));
    let mut lines: Vec<&str> = text.split('\n').collect();
    let last = lines.len() - 1;
    for line in &mut lines[..last] {
        *line = &line[..bare(line)];
    }
    lines
}

/// A text that takes a place in a file, with the file's own line ends: a line that stays keeps
/// its end, one that changes has the end of the line it takes the place of, and one that is new
/// the end of the line before it. `behind` is what follows the place. `None` where all lines
/// end alike.
pub fn with_own_ends(place: &str, behind: &str, new: &str) -> Option<String> {
    let ends = ends_of(place, behind);
    let first = *ends.first()?;
    if !new.contains('\n') || ends.iter().all(|end| *end == first) {
        return None;
    }
    let (old_lines, new_lines) = (lines_of(place), lines_of(new));
    let mut new_ends: Vec<Option<LineEnding>> = vec![None; new_lines.len()];
    let deadline = Some(Instant::now() + DIFF_TIME);
    for op in diff_lines(Algorithm::Myers, &old_lines, &new_lines, deadline) {
        if let DiffOp::Delete { .. } | DiffOp::Insert { .. } = op {
            continue;
        }
        for (old, new) in op.old_range().zip(op.new_range()) {
            new_ends[new] = ends.get(old).copied();
        }
    }
    let known = new_ends.iter().flatten().next();
    let mut before = known.copied().unwrap_or(first);
    let mut out = String::with_capacity(new.len() + new_lines.len());
    let last = new_lines.len() - 1;
    for (line, own) in new_lines.iter().zip(new_ends).take(last) {
        out.push_str(line);
        before = own.unwrap_or(before);
        out.push_str(match before {
            LineEnding::Lf => "\n",
            LineEnding::Crlf => "\r\n",
        });
    }
    out.push_str(new_lines[last]);
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::with_own_ends;

    #[test]
    fn each_line_keeps_its_own_end_and_new_ones_end_like_their_neighbours() {
        let cases = [
            ("a\nb\r\nc", "\n", "a\nb\nC", Some("a\nb\r\nC")),
            ("a\nb\r\nc", "\n", "A\nB\nC", Some("A\nB\r\nC")),
            ("a\nb\r\nc", "\n", "a\nb\nx\nc", Some("a\nb\r\nx\r\nc")),
            ("a\nb\r\nc", "\n", "x\na\nb\nc", Some("x\na\nb\r\nc")),
            ("a\nb\r\nc", "\n", "b\nc", Some("b\r\nc")),
            ("a\r\nb", "\nc\r\n", "a\nb\nx", Some("a\r\nb\nx")),
            ("a\nb", "\r\n", "a\nb\nx", Some("a\nb\r\nx")),
            ("a\r\nb", "\r\nc\n", "a\nb\nx", None),
            ("a\nb\n", "c\r\n", "a\r\nb\r\n", None),
            ("a", "", "x\ny", None),
            ("a\nb\r\n", "", "x", None),
        ];
        for (place, behind, new, expected) in cases {
            assert_eq!(
                with_own_ends(place, behind, new).as_deref(),
                expected,
                "{place:?} {behind:?} {new:?}"
            );
        }
    }
}
