//! Decides where in the text of the memory file a fact goes.
//!
//! Everything but the new lines is copied as bytes, so it stays unchanged whatever its encoding.
//! [`super::save_memory`] handles the file and the call, [`super::fact`] the form of a fact.

use super::fact::Fact;

const HEADING: &str = "## Gemini Added Memories";

struct Line<'a> {
    text: &'a [u8],
    end: usize,
}

/// Returns the byte offset at which to insert a fact, and the text to insert. The fact goes to the
/// end of the first section with the heading `HEADING`, or into a new section at the end of the
/// file. Returns `None` if such a section has the fact already.
pub(super) fn insertion(file: &[u8], fact: &Fact) -> Option<(usize, String)> {
    let lines = split(file);
    let newline = match lines.first() {
        Some(line) if file[..line.end].ends_with(b"\r\n") => "\r\n",
        _ => "\n",
    };
    let mut place = None;
    for (heading, _) in lines.iter().enumerate().filter(|(_, l)| is_heading(l.text)) {
        let mut following = heading + 1..lines.len();
        let end = following.find(|at| ends_section(lines[*at].text));
        let end = end.unwrap_or(lines.len());
        let section = &lines[heading..end];
        if section.iter().any(|line| fact.is_line(line.text)) {
            return None;
        }
        if place.is_none() {
            let last = section.iter().rposition(|line| !is_blank(line.text));
            place = Some((heading + last.unwrap_or(0), end));
        }
    }
    let item = &fact.stored;
    let Some((last, end)) = place else {
        let is_ended = file.ends_with(b"\n");
        let gap = match lines.last() {
            None => String::new(),
            Some(line) if is_ended && is_blank(line.text) => String::new(),
            Some(_) => newline.repeat(if is_ended { 1 } else { 2 }),
        };
        let lines = format!("{gap}{HEADING}{newline}- {item}{newline}");
        return Some((file.len(), lines));
    };
    let at = lines[last].end;
    let before = if file[..at].ends_with(b"\n") {
        ""
    } else {
        newline
    };
    // If the next section's heading follows directly, a blank line is put before it.
    let is_last = last + 1 == end && end < lines.len();
    let after = if is_last { newline } else { "" };
    Some((at, format!("{before}- {item}{newline}{after}")))
}

fn split(file: &[u8]) -> Vec<Line<'_>> {
    let body = file.strip_prefix(b"\xef\xbb\xbf").unwrap_or(file);
    let mut end = file.len() - body.len();
    let lines = body.split_inclusive(|b| *b == b'\n').map(|line| {
        end += line.len();
        let text = line.strip_suffix(b"\n").unwrap_or(line);
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        Line { text, end }
    });
    lines.collect()
}

fn is_blank(text: &[u8]) -> bool {
    text.trim_ascii().is_empty()
}

fn is_heading(text: &[u8]) -> bool {
    let mut text = text.trim_ascii_end();
    // Markdown allows a heading to end in `#` marks.
    while let Some(rest) = text.strip_suffix(b"#") {
        text = rest;
    }
    text.trim_ascii_end() == HEADING.as_bytes()
}

fn ends_section(text: &[u8]) -> bool {
    text.starts_with(b"# ") || text.starts_with(b"## ")
}

#[cfg(test)]
mod tests;
