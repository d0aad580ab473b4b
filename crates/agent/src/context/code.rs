//! Where a markdown text is code: fenced and indented blocks, and spans between backticks.
//!
//! Only as much of markdown is known here as that needs. Where in doubt, in a list for example,
//! text is not indented code.

use std::collections::HashMap;
use std::ops::Range;

/// The parts of a text that are code, in order.
pub(super) fn regions(text: &str) -> Vec<Range<usize>> {
    let mut scan = Scan::default();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        scan.line(text, line, at);
        at += line.len();
    }
    if let Some(fence) = scan.fence.take() {
        // A block that is never closed reaches to the end.
        scan.regions.push(fence.start..at);
    } else {
        scan.end_paragraph(text, at);
    }
    scan.regions
}

struct Fence {
    mark: u8,
    length: usize,
    /// Where its block begins.
    start: usize,
}

#[derive(Default)]
struct Scan {
    regions: Vec<Range<usize>>,
    fence: Option<Fence>,
    /// Where the lines of text at hand begin.
    paragraph: Option<usize>,
    in_list: bool,
}

impl Scan {
    fn line(&mut self, text: &str, line: &str, at: usize) {
        let end = at + line.len();
        if let Some(fence) = &self.fence {
            if closes(line, fence) {
                self.regions.push(fence.start..end);
                self.fence = None;
            }
            return;
        }
        if line.trim().is_empty() {
            self.end_paragraph(text, at);
            return;
        }
        if let Some((mark, length)) = opens(line) {
            self.end_paragraph(text, at);
            self.fence = Some(Fence {
                mark,
                length,
                start: at,
            });
            return;
        }
        let is_indented = is_indented(line);
        if is_indented && self.paragraph.is_none() && !self.in_list {
            self.regions.push(at..end);
            return;
        }
        if is_list_item(line) {
            self.in_list = true;
        } else if !is_indented && self.paragraph.is_none() && !line.starts_with(' ') {
            self.in_list = false;
        }
        self.paragraph.get_or_insert(at);
    }

    /// Finds the spans of the lines from the paragraph's beginning to `end`.
    fn end_paragraph(&mut self, text: &str, end: usize) {
        let Some(start) = self.paragraph.take() else {
            return;
        };
        let runs = runs(&text.as_bytes()[..end], start);
        // For each run the next one that is as long.
        let mut closing = vec![None; runs.len()];
        let mut last = HashMap::new();
        for (i, run) in runs.iter().enumerate().rev() {
            closing[i] = last.insert(run.len(), i);
        }
        let mut i = 0;
        while let Some(run) = runs.get(i) {
            match closing[i] {
                Some(end) if !is_escaped(text.as_bytes(), run.start) => {
                    self.regions.push(run.start..runs[end].end);
                    i = end + 1;
                }
                _ => i += 1,
            }
        }
    }
}

/// The runs of backticks.
fn runs(bytes: &[u8], mut from: usize) -> Vec<Range<usize>> {
    let mut runs = Vec::new();
    while let Some(next) = memchr::memchr(b'`', &bytes[from..]) {
        let start = from + next;
        let length = bytes[start..].iter().take_while(|b| **b == b'`').count();
        from = start + length;
        runs.push(start..from);
    }
    runs
}

fn is_escaped(bytes: &[u8], at: usize) -> bool {
    let before = bytes[..at].iter().rev();
    before.take_while(|b| **b == b'\\').count() % 2 == 1
}

/// The mark and length of a fence that begins a block, in quotes and lists too.
fn opens(line: &str) -> Option<(u8, usize)> {
    let mut rest = line.trim_start_matches([' ', '\t', '>']);
    if let Some(item) = rest.strip_prefix(['-', '*', '+'])
        && item.starts_with([' ', '\t'])
    {
        rest = item.trim_start();
    }
    let mark = *rest
        .as_bytes()
        .first()
        .filter(|b| matches!(b, b'`' | b'~'))?;
    let length = rest.bytes().take_while(|b| *b == mark).count();
    let is_span = mark == b'`' && rest[length..].contains('`');
    (length >= 3 && !is_span).then_some((mark, length))
}

fn closes(line: &str, fence: &Fence) -> bool {
    let rest = line.trim_start_matches([' ', '\t', '>']).trim_end();
    rest.len() >= fence.length && rest.bytes().all(|b| b == fence.mark)
}

fn is_indented(line: &str) -> bool {
    let spaces = line.bytes().take_while(|b| *b == b' ').count();
    spaces >= 4 || line[spaces..].starts_with('\t')
}

fn is_list_item(line: &str) -> bool {
    let line = line.trim_start();
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let marks: &[char] = if digits == 0 {
        &['-', '*', '+']
    } else {
        &['.', ')']
    };
    line[digits..]
        .strip_prefix(marks)
        .is_some_and(|rest| rest.starts_with([' ', '\t', '\n']) || rest.is_empty())
}

#[cfg(test)]
mod tests {
    use super::regions;

    /// What of a text is code, without white space around.
    fn code(text: &str) -> Vec<&str> {
        regions(text).into_iter().map(|r| text[r].trim()).collect()
    }

    #[test]
    fn blocks_and_spans_are_code() {
        for (text, expected) in [
            ("a `b` c ``d ` e`` f", vec!["`b`", "``d ` e``"]),
            ("a `b\nc` d", vec!["`b\nc`"]),
            ("a `b\n\nc` d", vec![]),
            ("a \\`b` c", vec![]),
            ("`` a ` b", vec![]),
            ("a\n```sh\nb\n```\nc", vec!["```sh\nb\n```"]),
            (
                "~~~~\n```\n~~~\n~~~~\nc `d`",
                vec!["~~~~\n```\n~~~\n~~~~", "`d`"],
            ),
            ("```\nnever closed\n\n`x`", vec!["```\nnever closed\n\n`x`"]),
            ("> ```\n> a\n> ```\nb", vec!["> ```\n> a\n> ```"]),
            ("- ```\n  a\n  ```\nb", vec!["- ```\n  a\n  ```"]),
            ("```a``` b", vec!["```a```"]),
            ("a\n\n    b\n    c\nd", vec!["b", "c"]),
            ("a\n    b", vec![]),
            ("- a\n\n    b\n", vec![]),
            ("1. a\n\n    b\n\nc\n\n\td", vec!["d"]),
            ("", vec![]),
        ] {
            assert_eq!(code(text), expected, "{text:?}");
        }
    }

    #[test]
    fn many_runs_of_backticks_take_no_long_time() {
        let text: String = (1..600).map(|n| "`".repeat(n) + " ").collect();
        assert!(regions(&text).is_empty());
        assert!(regions(&"` `` ".repeat(50_000)).len() > 30_000);
    }
}
