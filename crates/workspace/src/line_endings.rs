//! Gives new text the line ends of the file that is edited.
//!
//! The first line end at or after the place of the edit counts, or else the first one in the file.
//! A lone carriage return is a line end only where there is no line feed: elsewhere it is a character
//! of a line, such as one within a string.

use super::text::{Encoding, LineEnding};
use std::ops::Range;

/// Returns the first line end in `bytes`, which must begin with a whole code unit; `None` if there
/// is none. A lone `\r` counts only if there is no `\n`.
pub(super) fn first_ending(bytes: &[u8], encoding: Encoding) -> Option<LineEnding> {
    let unit = encoding.unit();
    let [cr, lf] = ["\r", "\n"].map(|end| encoding.encode(end).unwrap_or_default());
    let find = |end: &[u8]| {
        if unit == 1 {
            return memchr::memmem::find(bytes, end);
        }
        let at = bytes.chunks_exact(unit).position(|unit| *unit == *end);
        at.map(|at| at * unit)
    };
    match find(&lf) {
        Some(at) if bytes[..at].ends_with(&cr) => Some(LineEnding::Crlf),
        Some(_) => Some(LineEnding::Lf),
        None => find(&cr).map(|_| LineEnding::Cr),
    }
}

/// Returns the line end of an edit: that of the place, unless it is a lone `\r` and the file has
/// another one, or else that of the file.
pub(super) fn ending_of(place: Option<LineEnding>, file: Option<LineEnding>) -> Option<LineEnding> {
    let place_only = place.filter(|ending| *ending != LineEnding::Cr);
    place_only.or(file).or(place)
}

/// Returns `new` with the line ends that `text` has at `place`, the range of bytes to be replaced.
pub fn fitted(text: &str, place: Range<usize>, new: &str) -> String {
    let [there, first] =
        [&text[place.start..], text].map(|text| first_ending(text.as_bytes(), Encoding::default()));
    match ending_of(there, first) {
        Some(ending) => with_new_end(new, ending),
        None => new.to_owned(),
    }
}

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

/// Returns true if two texts are equal apart from their line ends.
pub fn differ_in_ends_only(one: &str, other: &str) -> bool {
    lines(one)
        .map(|line| line.0)
        .eq(lines(other).map(|line| line.0))
}

/// Returns the text with each of its line ends replaced by `ending`.
pub fn with_end(text: &str, ending: LineEnding) -> String {
    let mut out = String::with_capacity(text.len());
    for (line, end) in lines(text) {
        out.push_str(line);
        out.push_str(end.map_or("", |_| ending.text()));
    }
    out
}

/// Returns a new text with its line ends replaced by `ending`. A lone `\r` is a character of its
/// line and stays, unless `ending` is a lone `\r` too. Directly before a line end it would pass for
/// a part of that end, so there it is replaced like a line end.
pub(super) fn with_new_end(text: &str, ending: LineEnding) -> String {
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    while let Some((line, behind)) = rest.split_once('\n') {
        let plain = line.trim_end_matches('\r');
        out.push_str(plain);
        out.push_str(&ending.text().repeat((line.len() - plain.len()).max(1)));
        rest = behind;
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::{LineEnding, fitted, with_end};

    #[test]
    fn a_new_text_has_the_line_ends_of_its_place() {
        let cases = [
            ("", "a\nb\r\nc", "\n", "a\nb\rC", "a\nb\rC"),
            ("z\r\n", "a", "\n", "x\ry", "x\ry"),
            ("", "a", "\n", "x\r\r\ny", "x\n\ny"),
            ("", "a", "\rb\nc", "x\ny", "x\ny"),
            ("b\n", "a", "\rc", "x\ny", "x\ny"),
            ("z\r\n", "a", "", "x\ny", "x\r\ny"),
            ("", "a\rb", "\r", "a\r\nb\r\nx", "a\rb\rx"),
            ("", "a", "", "x\r\ny", "x\r\ny"),
            ("", "a\nb\r\n", "", "x", "x"),
        ];
        for (before, place, behind, new, expected) in cases {
            let text = format!("{before}{place}{behind}");
            let range = before.len()..before.len() + place.len();
            assert_eq!(fitted(&text, range, new), expected, "{text:?} {new:?}");
        }
        assert_eq!(with_end("a\rb\r\nc\n", LineEnding::Cr), "a\rb\rc\r");
    }
}
