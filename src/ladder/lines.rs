//! The lines of a text, with where they stand.

use std::ops::Range;

/// A text by lines.
#[derive(Debug)]
pub(super) struct Lines<'a> {
    /// All of it.
    pub(super) text: &'a str,
    /// Where each line's content stands, without its end and without blanks before that.
    pub(super) content: Vec<Range<usize>>,
    /// Where each line ends, its line end included.
    pub(super) ends: Vec<usize>,
}

impl<'a> Lines<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        let (mut content, mut ends) = (Vec::new(), Vec::new());
        let mut start = 0;
        for line in text.split_inclusive('\n') {
            let trimmed = line.trim_end_matches(['\n', '\r', ' ', '\t']);
            content.push(start..start + trimmed.len());
            start += line.len();
            ends.push(start);
        }
        Self {
            text,
            content,
            ends,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.content.len()
    }

    /// A line's content.
    pub(super) fn line(&self, i: usize) -> &'a str {
        &self.text[self.content[i].clone()]
    }

    /// From the first byte of line `first` to the end of line `last`'s content, with the blanks
    /// before its line end.
    pub(super) fn region(&self, first: usize, last: usize) -> Range<usize> {
        self.content[first].start..self.visible_end(last)
    }

    /// The end of a line without its line end.
    pub(super) fn visible_end(&self, i: usize) -> usize {
        let whole = &self.text[..self.ends[i]];
        let whole = whole.strip_suffix('\n').unwrap_or(whole);
        whole.strip_suffix('\r').unwrap_or(whole).len()
    }

    /// A line with the blanks at its end, without its line end.
    pub(super) fn whole(&self, i: usize) -> &'a str {
        &self.text[self.content[i].start..self.visible_end(i)]
    }
}

/// How lines end around a place: as in the place itself, else as most do in the text.
pub(super) fn line_end(text: &str, place: Range<usize>) -> &'static str {
    let count = |part: &str| {
        let crlf = part.matches("\r\n").count();
        (crlf, part.matches('\n').count() - crlf)
    };
    let (mut crlf, mut lf) = count(&text[place]);
    if crlf + lf == 0 {
        (crlf, lf) = count(text);
    }
    if crlf > lf { "\r\n" } else { "\n" }
}

/// A line's indentation.
pub(super) fn indentation(line: &str) -> &str {
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

/// A text of a model as lines: without carriage returns, blanks at line ends, and blank lines
/// at either end.
#[derive(Debug, Clone)]
pub(super) struct ModelLines<'a> {
    pub(super) lines: Vec<&'a str>,
    /// Blank lines that were taken off the front.
    pub(super) before: usize,
    /// Line feeds that were taken off the end.
    pub(super) after: usize,
}

impl<'a> ModelLines<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        let mut lines: Vec<&str> = text
            .split('\n')
            .map(|line| line.trim_end_matches(['\r', ' ', '\t']))
            .collect();
        let before = lines.iter().take_while(|line| line.is_empty()).count();
        if before == lines.len() {
            return Self {
                lines: Vec::new(),
                before: 0,
                after: before - 1,
            };
        }
        lines.drain(..before);
        let kept = lines.iter().rposition(|line| !line.is_empty());
        let kept = kept.map_or(0, |last| last + 1);
        let after = lines.len() - kept;
        lines.truncate(kept);
        Self {
            lines,
            before,
            after,
        }
    }

    /// The new text's lines, without what was taken off the old text as well.
    pub(super) fn like(text: &'a str, old: &Self) -> Self {
        let mut own = Self::of(text);
        if own.lines.is_empty() {
            return own;
        }
        let more = own.before.saturating_sub(old.before);
        for _ in 0..more {
            own.lines.insert(0, "");
        }
        for _ in 0..own.after.saturating_sub(old.after) {
            own.lines.push("");
        }
        own
    }
}
