//! The memory file's text: where in it a fact goes.
//!
//! Only text is handled here, byte by byte outside of what is put in. The file itself and the
//! call are [`super::save_memory`]'s, what a fact looks like is [`super::fact`]'s.

use super::fact::Fact;

const HEADING: &str = "## Gemini Added Memories";

struct Line<'a> {
    /// The line without its end.
    text: &'a [u8],
    /// The offset after its end.
    end: usize,
}

/// Returns where to put in which lines for a fact: at the end of the section, or of the file, with the
/// section's heading, if there is none. The place is an offset in bytes; the lines are whole, with a
/// line end before them if the file's last line lacks one. `None` if the fact is in a section already.
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
    // A heading that follows at once gets a blank line before it.
    let is_last = last + 1 == end && end < lines.len();
    let after = if is_last { newline } else { "" };
    Some((at, format!("{before}- {item}{newline}{after}")))
}

/// Splits a file into lines; a byte-order mark belongs to none.
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

/// Returns true for the section's heading, also with marks at its end.
fn is_heading(text: &[u8]) -> bool {
    let mut text = text.trim_ascii_end();
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
