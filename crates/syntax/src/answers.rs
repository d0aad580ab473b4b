//! The results that this crate returns.

use serde::{Deserialize, Serialize};
use std::fmt::Write;
use std::ops::Range;

/// A changed line on which a syntax error is blamed: one of the lines that do not parse, or else
/// the nearest changed line before them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SyntaxError {
    /// The line in the new text, counted from 1.
    pub line: usize,
    /// The line's text, without blanks around it, cut to 120 characters.
    pub text: String,
}

/// A definition in a source text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Symbol {
    /// Kind, such as `function`, `struct` or `key`.
    pub kind: String,
    /// Name, on one line.
    pub name: String,
    /// First line, counted from 1.
    pub line: usize,
    /// Last line, counted from 1.
    pub end_line: usize,
    /// The number of symbols that enclose this one.
    pub depth: usize,
}

impl Symbol {
    /// Returns the first and the last line, counted from 1.
    #[must_use]
    pub fn lines(&self) -> (usize, usize) {
        (self.line, self.end_line)
    }
}

/// Formats an outline with one line for each symbol. Symbols that lie wholly within the lines
/// `shown`, counted from 1, are omitted. The text has at most `bytes` bytes, plus a note that says
/// how many symbols had to be left out; the most deeply nested ones are left out first.
#[must_use]
pub fn outline_text(symbols: &[Symbol], shown: Range<usize>, bytes: usize) -> String {
    let hidden =
        |symbol: &&Symbol| !shown.contains(&symbol.line) || !shown.contains(&symbol.end_line);
    let hidden: Vec<&Symbol> = symbols.iter().filter(hidden).collect();
    let deepest = hidden.iter().map(|symbol| symbol.depth).max().unwrap_or(0);
    let mut text = String::new();
    for most in (0..=deepest).rev() {
        text = lines_of(hidden.iter().filter(|symbol| symbol.depth <= most));
        if text.len() <= bytes {
            break;
        }
    }
    let kept = text.match_indices('\n').map(|(at, _)| at + 1);
    let end = kept.take_while(|end| *end <= bytes).last().unwrap_or(0);
    text.truncate(end);
    let left_out = hidden.len() - text.lines().count();
    if left_out > 0 {
        let _ = writeln!(text, "({left_out} more within or after these)");
    }
    text
}

fn lines_of<'s>(symbols: impl Iterator<Item = &'s &'s Symbol>) -> String {
    symbols.fold(String::new(), |mut text, symbol| {
        let indent = "  ".repeat(symbol.depth.min(4));
        let Symbol { kind, name, .. } = symbol;
        let (first, last) = symbol.lines();
        let lines = if first == last {
            first.to_string()
        } else {
            format!("{first}-{last}")
        };
        let _ = writeln!(text, "{indent}{lines} {kind} {name}");
        text
    })
}
