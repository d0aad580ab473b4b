//! The line ends of an edited file.
//!
//! A text that takes a place in a file gets its line ends from the file: [`with_end`] where all
//! lines of the file end alike, else [`with_own_ends`]. A lone carriage return is a line end as
//! well.

use super::diff::{Algorithm, DiffOp, diff_lines};
use super::text::{Encoding, LineEnding};
use std::ops::Range;
use std::time::{Duration, Instant};

/// Time after which lines are compared more coarsely.
const DIFF_TIME: Duration = Duration::from_millis(500);

/// The line ends nearest to a place, outside of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NearbyEnds {
    /// The last line end before the place.
    pub before: Option<LineEnding>,
    /// The first line end behind the place.
    pub behind: Option<LineEnding>,
}

/// The line ends of a file, as far as an edit of some places needs them.
#[derive(Debug, Default)]
pub struct Survey {
    /// The first line end of the file.
    pub first: Option<LineEnding>,
    /// True if not all lines of the file end alike.
    pub is_mixed: bool,
    /// The line ends around each place, in order.
    pub around: Vec<NearbyEnds>,
}

/// Reads a file from front to back for a [`Survey`].
pub(super) struct Surveyor<'a, P: Fn(usize) -> Option<Range<u64>>> {
    /// The place of a number, in order and without overlap.
    place: P,
    /// A carriage return and a line feed.
    units: [Vec<u8>; 2],
    /// The position of a carriage return that may be the first half of a line end.
    open_return: Option<u64>,
    last: Option<LineEnding>,
    /// The number of places that begin before the present position, and of those that end there.
    begun: usize,
    ended: usize,
    survey: &'a mut Survey,
}

impl<'a, P: Fn(usize) -> Option<Range<u64>>> Surveyor<'a, P> {
    pub(super) fn new(encoding: Encoding, survey: &'a mut Survey, place: P) -> Self {
        let unit = |c: &str| encoding.encode(c).unwrap_or_default().into_owned();
        Self {
            place,
            units: [unit("\r"), unit("\n")],
            open_return: None,
            last: None,
            begun: 0,
            ended: 0,
            survey,
        }
    }

    /// Reads the next bytes, whose first is at this position: whole code units.
    pub(super) fn read(&mut self, bytes: &[u8], position: u64) {
        let width = self.units[0].len();
        if width == 1 {
            let mut at = 0;
            while let Some(i) = memchr::memchr2(b'\r', b'\n', &bytes[at..]) {
                at += i;
                self.meet(bytes[at] == b'\r', position + at as u64);
                at += 1;
            }
            return;
        }
        for (number, unit) in bytes.chunks_exact(width).enumerate() {
            if let Some(i) = self.units.iter().position(|known| known == unit) {
                self.meet(i == 0, position + (number * width) as u64);
            }
        }
    }

    fn meet(&mut self, is_return: bool, at: u64) {
        let width = self.units[0].len() as u64;
        match self.open_return.take() {
            Some(before) if !is_return && before + width == at => {
                self.end(before, LineEnding::Crlf);
                return;
            }
            Some(before) => self.end(before, LineEnding::Cr),
            None => {}
        }
        if is_return {
            self.open_return = Some(at);
        } else {
            self.end(at, LineEnding::Lf);
        }
    }

    fn end(&mut self, at: u64, ending: LineEnding) {
        self.begin_places(at);
        while (self.place)(self.ended).is_some_and(|place| place.end <= at) {
            self.survey.around[self.ended].behind = Some(ending);
            self.ended += 1;
        }
        self.last = Some(ending);
        let first = *self.survey.first.get_or_insert(ending);
        self.survey.is_mixed |= first != ending;
    }

    /// Notes the last line end for the places that begin up to a position.
    fn begin_places(&mut self, at: u64) {
        while (self.place)(self.begun).is_some_and(|place| place.start <= at) {
            self.survey.around.push(NearbyEnds {
                before: self.last,
                behind: None,
            });
            self.begun += 1;
        }
    }

    /// Ends the survey at the end of the file.
    pub(super) fn finish(mut self) {
        if let Some(at) = self.open_return.take() {
            self.end(at, LineEnding::Cr);
        }
        self.begin_places(u64::MAX);
    }
}

/// Gives a text that takes a place in another text the line ends that it has there.
pub fn fitted(text: &str, place: Range<usize>, new: &str) -> String {
    let mut survey = Survey::default();
    let range = place.start as u64..place.end as u64;
    let utf8 = Encoding::Utf8 { bom: false };
    let mut surveyor = Surveyor::new(utf8, &mut survey, |number| {
        (number == 0).then(|| range.clone())
    });
    surveyor.read(text.as_bytes(), 0);
    surveyor.finish();
    match (survey.first, survey.around.first()) {
        (Some(_), Some(around)) if survey.is_mixed => with_own_ends(&text[place], *around, new),
        (Some(ending), _) => with_end(new, ending),
        (None, _) => new.to_owned(),
    }
}

/// Returns the lines of a text, each with its line end; the last one has none.
fn lines(text: &str) -> impl Iterator<Item = (&str, Option<LineEnding>)> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest.take()?;
        let Some(at) = memchr::memchr2(b'\r', b'\n', text.as_bytes()) else {
            return Some((text, None));
        };
        let (line, end) = text.split_at(at);
        let ending = LineEnding::at_start(end);
        rest = Some(&end[ending.text().len()..]);
        Some((line, Some(ending)))
    })
}

/// Returns true if texts differ in nothing but line ends.
pub fn differ_in_ends_only(one: &str, other: &str) -> bool {
    lines(one)
        .map(|line| line.0)
        .eq(lines(other).map(|line| line.0))
}

/// Returns the text with this end for each of its lines.
pub fn with_end(text: &str, ending: LineEnding) -> String {
    let mut out = String::with_capacity(text.len());
    for (line, end) in lines(text) {
        out.push_str(line);
        out.push_str(end.map_or("", |_| ending.text()));
    }
    out
}

/// Returns a text for a place in a file whose lines end in different ways: a line that stays keeps
/// its end, one that changes has the end of the line it takes the place of, and one that is new
/// the end of the line before it, or of the next line where none is before it.
pub fn with_own_ends(place: &str, around: NearbyEnds, new: &str) -> String {
    let (old_lines, old_ends): (Vec<&str>, Vec<_>) = lines(place).unzip();
    let (new_lines, written): (Vec<&str>, Vec<_>) = lines(new).unzip();
    let mut ends: Vec<Option<LineEnding>> = vec![None; new_lines.len()];
    let deadline = Some(Instant::now() + DIFF_TIME);
    for op in diff_lines(Algorithm::Myers, &old_lines, &new_lines, deadline) {
        if let DiffOp::Delete { .. } | DiffOp::Insert { .. } = op {
            continue;
        }
        for (old, new) in op.old_range().zip(op.new_range()) {
            ends[new] = old_ends[old].or(around.behind);
        }
    }
    let next = ends.iter().flatten().next().copied();
    let mut before = around.before.or(next).or(around.behind);
    let mut out = String::with_capacity(new.len() + new_lines.len());
    for ((line, own), end) in new_lines.iter().zip(written).zip(ends) {
        out.push_str(line);
        let Some(own) = own else { continue };
        before = end.or(before);
        let end = before.unwrap_or(own);
        let follows_return =
            out.ends_with('\r') || out.is_empty() && around.before == Some(LineEnding::Cr);
        // The two would be one line end.
        let is_half = end == LineEnding::Lf && follows_return;
        out.push_str(if is_half { "\r" } else { end.text() });
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{LineEnding, fitted, with_end};

    #[test]
    fn each_line_keeps_its_own_end_and_new_ones_end_like_the_line_before() {
        let cases = [
            ("", "a\nb\r\nc", "\n", "a\nb\nC", "a\nb\r\nC"),
            ("", "a\nb\r\nc", "\n", "A\nB\nC", "A\nB\r\nC"),
            ("", "a\nb\r\nc", "\n", "a\nb\nx\nc", "a\nb\r\nx\r\nc"),
            ("", "a\nb\r\nc", "\n", "x\na\nb\nc", "x\na\nb\r\nc"),
            ("z\r\n", "a\nb\r\nc", "\n", "x\na\nb\nc", "x\r\na\nb\r\nc"),
            ("", "a\nb\r\nc", "\n", "b\nc", "b\r\nc"),
            ("", "a\r\nb", "\nc\r\n", "a\nb\nx", "a\r\nb\nx"),
            ("", "a\nb", "\r\n", "a\nb\nx", "a\nb\r\nx"),
            ("", "a\rb", "\n", "a\r\nb\r\nx", "a\rb\nx"),
            ("", "a\r\nb", "\r\nc\r\n", "a\nb\rx", "a\r\nb\r\nx"),
            ("", "a\nb\n", "c\n", "a\r\nb\r\n", "a\nb\n"),
            ("", "a", "", "x\r\ny", "x\r\ny"),
            ("", "a\nb\r\n", "", "x", "x"),
            ("a\rb\n", "c", "", "c\r\nd", "c\nd"),
        ];
        for (before, place, behind, new, expected) in cases {
            let text = format!("{before}{place}{behind}");
            let range = before.len()..before.len() + place.len();
            assert_eq!(
                fitted(&text, range, new),
                expected,
                "{before:?} {place:?} {behind:?} {new:?}"
            );
        }
        assert_eq!(with_end("a\rb\r\nc\n", LineEnding::Cr), "a\rb\rc\r");
    }
}
