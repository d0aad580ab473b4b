//! Texts split into lines: the file's text, and the old and the new text that a model wrote.

use std::ops::Range;

#[derive(Debug)]
pub(super) struct FileLines<'a> {
    pub(super) text: &'a str,
    lines: Vec<Range<usize>>,
}

impl<'a> FileLines<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let mut lines = Vec::new();
        let mut start = 0;
        for line in text.split_inclusive('\n') {
            let content = line.strip_suffix('\n').unwrap_or(line);
            let content = content.strip_suffix('\r').unwrap_or(content);
            lines.push(start..start + content.len());
            start += line.len();
        }
        Self { text, lines }
    }

    pub(super) fn len(&self) -> usize {
        self.lines.len()
    }

    pub(super) fn line_of(&self, byte: usize) -> usize {
        self.lines.partition_point(|line| line.start <= byte) - 1
    }

    pub(super) fn range(&self, line: usize) -> Range<usize> {
        self.lines[line].clone()
    }

    pub(super) fn whole(&self, line: usize) -> &'a str {
        &self.text[self.range(line)]
    }

    pub(super) fn line(&self, line: usize) -> &'a str {
        trim_end(self.whole(line))
    }

    pub(super) fn own_ending(&self, line: usize) -> &'static str {
        match &self.text[self.lines[line].end..self.end(line)] {
            "\r\n" => "\r\n",
            "\n" => "\n",
            _ => "",
        }
    }

    /// Returns the line end for a new line behind `line`: that of `line` itself, or else of the
    /// nearest line above that has one, or else of the nearest line below.
    pub(super) fn ending(&self, line: usize) -> &'static str {
        let before = (0..=line).rev().map(|line| self.own_ending(line));
        let after = (line..self.len()).map(|line| self.own_ending(line));
        before
            .chain(after)
            .find(|end| !end.is_empty())
            .unwrap_or("\n")
    }

    pub(super) fn end(&self, line: usize) -> usize {
        let next = self.lines.get(line + 1);
        next.map_or(self.text.len(), |next| next.start)
    }

    pub(super) fn blank_before(&self, line: usize) -> usize {
        let is_blank = |line: &usize| self.line(*line).is_empty();
        (0..line).rev().take_while(is_blank).count()
    }

    pub(super) fn blank_after(&self, line: usize) -> usize {
        let is_blank = |line: &usize| self.line(*line).is_empty();
        (line + 1..self.len()).take_while(is_blank).count()
    }
}

#[derive(Debug)]
pub(super) struct ModelLines<'a> {
    pub(super) blank_before: usize,
    pub(super) lines: Vec<&'a str>,
    pub(super) blank_after: usize,
}

impl<'a> ModelLines<'a> {
    pub(super) fn pair(old: &'a str, new: &'a str) -> (Self, Self) {
        // Blanks behind the last line end of the old text begin the next line of the file.
        let whole = |text: &'a str| {
            let text = text.trim_end_matches([' ', '\t']);
            text.ends_with('\n').then_some(text)
        };
        match whole(old) {
            Some(old) => (Self::new(old), Self::new(whole(new).unwrap_or(new))),
            None => (Self::new(old), Self::new(new)),
        }
    }

    /// Splits a text into lines. A line end at its end belongs to the last line and does not begin
    /// another one, so a line end alone is one blank line.
    fn new(text: &'a str) -> Self {
        let content = text.strip_suffix('\n').unwrap_or(text);
        let mut lines: Vec<&str> = content
            .split('\n')
            .map(|line| line.strip_suffix('\r').unwrap_or(line))
            .collect();
        if text.is_empty() {
            lines.clear();
        }
        let is_blank = |line: &&&str| line.trim().is_empty();
        let blank_after = lines.iter().rev().take_while(is_blank).count();
        lines.truncate(lines.len() - blank_after);
        let blank_before = lines.iter().take_while(is_blank).count();
        lines.drain(..blank_before);
        Self {
            blank_before,
            lines,
            blank_after,
        }
    }

    pub(super) fn trimmed(&self) -> Vec<&'a str> {
        self.lines.iter().map(|line| trim_end(line)).collect()
    }
}

pub(super) fn trim_end(line: &str) -> &str {
    line.trim_end_matches(['\r', ' ', '\t'])
}

/// Returns all blanks with which a line begins, including the wide ones that indent paragraphs in
/// Chinese and Japanese. U+0085, U+2028 and U+2029 are none: they end lines in other files.
pub(super) fn indentation(line: &str) -> &str {
    let ends = ['\r', '\u{85}', '\u{2028}', '\u{2029}'];
    let is_blank = |c: char| c.is_whitespace() && !ends.contains(&c);
    &line[..line.len() - line.trim_start_matches(is_blank).len()]
}

pub(super) fn without_indentation(line: &str) -> &str {
    &line[indentation(line).len()..]
}
