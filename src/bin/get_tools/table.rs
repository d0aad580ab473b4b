//! Columns of text that fit a terminal.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The width where there is no terminal and no other is given.
const USUAL_WIDTH: usize = 80;

/// The characters that one line has room for: `COLUMNS`, or the terminal's.
pub(crate) fn width() -> usize {
    let chosen = std::env::var("COLUMNS").ok();
    let chosen = chosen.and_then(|text| text.trim().parse::<usize>().ok());
    let of_terminal = || {
        let size =
            gemini_tools::sys::termios::tcgetwinsize(gemini_tools::sys::stdio::stdout()).ok()?;
        Some(usize::from(size.ws_col))
    };
    chosen
        .or_else(of_terminal)
        .filter(|width| *width > 0)
        .unwrap_or(USUAL_WIDTH)
}

/// A column: its heading, and a text for each row.
pub(crate) struct Column {
    heading: &'static str,
    cells: Vec<String>,
    width: usize,
}

impl Column {
    /// A column that is as wide as its widest text.
    pub(crate) fn new(heading: &'static str, cells: Vec<String>) -> Self {
        let widest = cells.iter().map(|cell| cell.width()).max();
        let width = widest.unwrap_or_default().max(heading.len());
        Self {
            heading,
            cells,
            width,
        }
    }

    /// How wide it would be on its own.
    pub(crate) fn natural(&self) -> usize {
        self.width
    }

    /// The same column with its texts in several lines where they are wider.
    pub(crate) fn at_most(mut self, width: usize) -> Self {
        self.width = self.width.min(width).max(1);
        self
    }
}

/// The columns side by side, with two spaces in between.
pub(crate) fn table(all: &[Column]) -> String {
    let headings: Vec<Vec<String>> = all
        .iter()
        .map(|column| wrapped(column.heading, column.width))
        .collect();
    let mut text = row(all, &headings);
    let rows = all.first().map_or(0, |column| column.cells.len());
    for at in 0..rows {
        let cells: Vec<Vec<String>> = all
            .iter()
            .map(|column| wrapped(&column.cells[at], column.width))
            .collect();
        text.push_str(&row(all, &cells));
    }
    text
}

fn row(all: &[Column], cells: &[Vec<String>]) -> String {
    let height = cells.iter().map(Vec::len).max().unwrap_or_default();
    let mut text = String::new();
    for at in 0..height {
        let mut line = String::new();
        for (column, cell) in all.iter().zip(cells) {
            let part = cell.get(at).map_or("", String::as_str);
            let padding = column.width.saturating_sub(part.width()) + 2;
            line.push_str(part);
            line.push_str(&" ".repeat(padding));
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// A text in lines of at most `width`, broken between words where that is possible.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut used = 0;
    for word in text.split(' ') {
        let wide = word.width();
        if used > 0 && used + 1 + wide > width {
            lines.push(String::new());
            used = 0;
        }
        if used > 0 {
            push(&mut lines, ' ');
            used += 1;
        }
        for c in word.chars() {
            let wide = c.width().unwrap_or(0);
            if used > 0 && used + wide > width {
                lines.push(String::new());
                used = 0;
            }
            push(&mut lines, c);
            used += wide;
        }
    }
    lines
}

fn push(lines: &mut [String], c: char) {
    if let Some(line) = lines.last_mut() {
        line.push(c);
    }
}
