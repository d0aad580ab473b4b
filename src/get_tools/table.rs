//! Tables and paragraphs that fit a terminal.

use crate::get_tools::style::Style;
use gemini_tools::colours::Look;
use gemini_tools::output::width;
use gemini_tools::text::{shortened, wrapped};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

pub(crate) struct Column {
    heading: &'static str,
    cells: Vec<String>,
    width: usize,
    look: Option<Look>,
}

impl Column {
    pub(crate) fn new(heading: &'static str, look: Option<Look>, cells: Vec<String>) -> Self {
        let widest = cells.iter().map(|cell| cell.width()).max();
        let width = widest.unwrap_or_default().max(heading.len());
        Self {
            heading,
            cells,
            width,
            look,
        }
    }
}

pub(crate) fn table(all: &[Column], width: usize, has_colours: bool) -> String {
    let rows = all.first().map_or(0, |column| column.cells.len());
    let mut text = String::new();
    for at in 0..=rows {
        let mut used = 0;
        for (index, column) in all.iter().enumerate() {
            let (cell, look) = match at.checked_sub(1) {
                None => (column.heading, Some(Look::Heading)),
                Some(row) => (&*column.cells[row], column.look),
            };
            let room = width.saturating_sub(used);
            let cell = shortened(cell, room, |c| c.width().unwrap_or(0));
            match look.filter(|_| has_colours && !cell.is_empty()) {
                Some(look) => look.push(&mut text, &cell),
                None => text.push_str(&cell),
            }
            used += cell.width();
            let start_of_next: usize = all[..=index].iter().map(|column| column.width + 2).sum();
            if index + 1 == all.len() || start_of_next >= width {
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
