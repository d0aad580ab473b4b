//! Tables and paragraphs that fit a terminal.

use crate::get_tools::style::Style;
use gemini_tools::colours::Look;
use gemini_tools::output::width;
use gemini_tools::text::{shortened, wrapped};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Returns a table whose first row has the headings. What does not fit into `width` is left out.
pub(crate) fn table<const N: usize>(
    rows: &[[String; N]],
    width: usize,
    has_colours: bool,
) -> String {
    let widest = |at: usize| rows.iter().map(|row| row[at].width()).max();
    let mut text = String::new();
    for (number, row) in rows.iter().enumerate() {
        let (mut used, mut start_of_next) = (0, 0);
        for (at, cell) in row.iter().enumerate() {
            let look = match (number, at) {
                (0, _) => Some(Look::Heading),
                (_, 0) => Some(Look::Path),
                _ => None,
            };
            let room = width.saturating_sub(used);
            let cell = shortened(cell, room, |c| c.width().unwrap_or(0));
            match look.filter(|_| has_colours && !cell.is_empty()) {
                Some(look) => look.push(&mut text, &cell),
                None => text.push_str(&cell),
            }
            used += cell.width();
            start_of_next += widest(at).unwrap_or_default() + 2;
            if at + 1 == N || start_of_next >= width {
                break;
            }
            text.push_str(&" ".repeat(start_of_next - used));
            used = start_of_next;
        }
        text.truncate(text.trim_end_matches(' ').len());
        text.push('\n');
    }
    text
}

/// Wraps lines between words at the terminal's width; continuation lines are indented by `indent`.
/// In a pipe lines are not wrapped.
pub(crate) fn at_width(text: &str, indent: &str, style: Style) -> String {
    let mut out = String::new();
    for line in text.lines() {
        if !style.has_marks {
            out.push_str(line);
            out.push('\n');
            continue;
        }
        let start = line.len() - line.trim_start().len();
        let (own, words) = line.split_at(start);
        let room = width().saturating_sub(own.len() + indent.len()).max(20);
        let broken = wrapped(words, room).replace('\n', &format!("\n{own}{indent}"));
        out.push_str(&format!("{own}{broken}\n"));
    }
    out
}
