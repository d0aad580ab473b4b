//! The lines of a text, with where they are.

use std::ops::Range;

/// A text by lines.
#[derive(Debug)]
pub(super) struct Lines<'a> {
    /// Whole text.
    pub(super) text: &'a str,
    /// Range of each line's content, without its end and without blanks before that.
    pub(super) content: Vec<Range<usize>>,
    /// End of each line, its line end included.
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

    /// Returns the unit of the lines' indentation.
    pub(super) fn unit(&self) -> String {
        let lines = (0..self.len()).map(|i| self.line(i));
        super::depth::unit_of(lines).unwrap_or_else(|| "    ".to_owned())
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

/// Returns the line end around a place: that of the place itself, else the commonest of the text.
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

/// A text of a model as lines, without carriage returns and without its last line feed.
#[derive(Debug, Clone)]
pub(super) struct ModelLines<'a> {
    /// As they are written.
    raw: Vec<&'a str>,
    /// From the first line that is not blank to the last.
    core: Range<usize>,
}

/// The lines of both texts that count at a place, without blanks at their ends.
#[derive(Debug)]
pub(super) struct Fitted<'a> {
    pub(super) old: Vec<&'a str>,
    pub(super) new: Vec<&'a str>,
    raw_old: Vec<&'a str>,
    raw_new: Vec<&'a str>,
    /// Blank lines of the old text before and behind its core that are in the file too.
    pub(super) before: usize,
    pub(super) after: usize,
}

fn trimmed(line: &str) -> &str {
    line.trim_end_matches([' ', '\t'])
}

impl<'a> ModelLines<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        let text = text.strip_suffix('\n').unwrap_or(text);
        let raw: Vec<&str> = if text.is_empty() {
            Vec::new()
        } else {
            text.split('\n')
                .map(|line| line.strip_suffix('\r').unwrap_or(line))
                .collect()
        };
        let is_content = |line: &&str| !trimmed(line).is_empty();
        let first = raw.iter().position(is_content).unwrap_or(raw.len());
        let end = raw.iter().rposition(is_content).map_or(first, |i| i + 1);
        Self {
            raw,
            core: first..end,
        }
    }

    /// The lines from the first that is not blank to the last, without blanks at their ends.
    pub(super) fn core(&self) -> Vec<&'a str> {
        self.raw[self.core.clone()]
            .iter()
            .map(|line| trimmed(line))
            .collect()
    }

    /// The old text, whose core is on lines `first` to `last` of the file, and the new one:
    /// blank lines at either end that are too many are taken off both.
    pub(super) fn fit(
        &self,
        new: &Self,
        file: &Lines<'_>,
        first: usize,
        last: usize,
    ) -> Fitted<'a> {
        let is_blank = |i: &usize| file.content[*i].is_empty();
        let blank_before = (0..first).rev().take_while(is_blank).count();
        let blank_after = (last + 1..file.len()).take_while(is_blank).count();
        let (own_before, own_after) = (self.core.start, self.raw.len() - self.core.end);
        let (before, after) = (own_before.min(blank_before), own_after.min(blank_after));
        let raw_old = &self.raw[self.core.start - before..self.core.end + after];
        let (new_before, new_after) = if new.core.is_empty() {
            (0, 0)
        } else {
            (new.core.start, new.raw.len() - new.core.end)
        };
        // What stays in the old text stays in the new one.
        let skipped = (own_before - before).min(new_before.saturating_sub(before));
        let dropped = (own_after - after).min(new_after.saturating_sub(after));
        let raw_new = &new.raw[skipped..new.raw.len() - dropped];
        let trim = |lines: &[&'a str]| lines.iter().map(|line| trimmed(line)).collect();
        Fitted {
            old: trim(raw_old),
            new: trim(raw_new),
            raw_old: raw_old.to_vec(),
            raw_new: raw_new.to_vec(),
            before,
            after,
        }
    }
}

impl<'a> Fitted<'a> {
    /// The text of a line that both texts have: the file's, unless the edit is about the
    /// blanks at its end.
    pub(super) fn kept(&self, old: usize, new: usize, file: &str) -> String {
        let blanks_behind = |line: &'_ str| line.len() - trimmed(line).len();
        let before = &self.raw_old[old][self.old[old].len()..];
        let after = self.blanks_behind(new);
        let (content, behind) = file.split_at(file.len() - blanks_behind(file));
        if before != after && before == behind {
            format!("{content}{after}")
        } else {
            file.to_owned()
        }
    }

    /// Returns the blanks behind the content of a line of the new text.
    pub(super) fn blanks_behind(&self, new: usize) -> &'a str {
        &self.raw_new[new][self.new[new].len()..]
    }
}
