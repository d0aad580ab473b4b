//! The memory file's text: where in it a fact goes.
//!
//! Only text is handled here, byte by byte outside of what is put in. The file itself and the
//! call are [`super::save_memory`]'s, what a fact looks like is [`super::fact`]'s.

use super::fact::Fact;
use gemini_tools_core::scan::Finder;

/// The title of the section that facts go to.
const TITLE: &str = "Gemini Added Memories";

/// A text to put into the file, and where.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Insertion {
    /// In bytes.
    pub(super) at: usize,
    /// Whole lines, but where the line before it has no end yet.
    pub(super) text: String,
}

/// One line of the file.
struct Line<'a> {
    /// Without its end.
    text: &'a [u8],
    /// After its end, in bytes of the file.
    end: usize,
    /// Within a fenced block or a comment, where no heading is one.
    is_hidden: bool,
}

/// Where a fact goes: to the end of the first section of memories, or into a new one at the
/// end of the file. `None` where a section holds it already.
pub(super) fn insertion(file: &[u8], fact: &Fact) -> Option<Insertion> {
    let lines = lines_of(file);
    let newline = |line: Option<&Line<'_>>| match line {
        Some(line) if file[..line.end].ends_with(b"\r\n") => "\r\n",
        _ => "\n",
    };
    let mut place = None;
    for (heading, _) in lines.iter().enumerate().filter(|(_, line)| is_title(line)) {
        let end = (heading + 1..lines.len())
            .find(|at| ends_section(&lines, *at))
            .unwrap_or(lines.len());
        let section = &lines[heading..end];
        if section.iter().any(|l| !l.is_hidden && fact.is_line(l.text)) {
            return None;
        }
        if place.is_none() {
            let last = section.iter().rposition(|line| !is_blank(line.text));
            place = Some((heading + last.unwrap_or(0), end));
        }
    }
    let item = fact.stored();
    let Some((last, end)) = place else {
        let newline = newline(lines.first());
        let gap = match file.strip_suffix(b"\n") {
            _ if lines.is_empty() => String::new(),
            None => newline.repeat(2),
            Some(rest) if rest.strip_suffix(b"\r").unwrap_or(rest).ends_with(b"\n") => {
                String::new()
            }
            Some(_) => newline.to_owned(),
        };
        return Some(Insertion {
            at: file.len(),
            text: format!("{gap}## {TITLE}{newline}- {item}{newline}"),
        });
    };
    let at = lines[last].end;
    let is_open = !file[..at].ends_with(b"\n");
    let newline = newline(if is_open {
        lines.first()
    } else {
        lines.get(last)
    });
    let before = if is_open { newline } else { "" };
    let after = if last + 1 == end && end < lines.len() {
        newline
    } else {
        ""
    };
    Some(Insertion {
        at,
        text: format!("{before}- {item}{newline}{after}"),
    })
}

fn lines_of(file: &[u8]) -> Vec<Line<'_>> {
    let body = file.strip_prefix(b"\xef\xbb\xbf").unwrap_or(file);
    let mut end = file.len() - body.len();
    let mut lines: Vec<Line<'_>> = body
        .split_inclusive(|b| *b == b'\n')
        .map(|line| {
            end += line.len();
            let text = line.strip_suffix(b"\n").unwrap_or(line);
            Line {
                text: text.strip_suffix(b"\r").unwrap_or(text),
                end,
                is_hidden: false,
            }
        })
        .collect();
    hide(&mut lines);
    lines
}

/// Marks what lies in fenced blocks and comments. One that is never closed hides nothing:
/// otherwise a section after it would never be found again, and each fact get a new one.
fn hide(lines: &mut [Line<'_>]) {
    // From this length on a fence of backticks or tildes has no end any more.
    let mut unclosed = [usize::MAX; 2];
    let mut comments_end = true;
    let mut at = 0;
    while at < lines.len() {
        let text = lines[at].text;
        let mut last = None;
        if let Some((mark, length)) = fence(text) {
            let limit = &mut unclosed[usize::from(mark == b'~')];
            if length < *limit {
                let closes = |line: &Line<'_>| closes_fence(line.text, mark, length);
                last = lines[at + 1..].iter().position(closes);
                if last.is_none() {
                    *limit = length;
                }
            }
        } else if comments_end
            && let Some(rest) = unindented(text).and_then(|t| t.strip_prefix(b"<!--"))
            && !contains(rest, b"-->")
        {
            last = lines[at + 1..]
                .iter()
                .position(|l| contains(l.text, b"-->"));
            comments_end = last.is_some();
        }
        let end = last.map_or(at, |last| at + 1 + last);
        if end > at {
            for line in &mut lines[at..=end] {
                line.is_hidden = true;
            }
        }
        at = end + 1;
    }
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    Finder::new(part).find(text).is_some()
}

fn is_blank(text: &[u8]) -> bool {
    text.trim_ascii().is_empty()
}

/// The line without the up to three spaces that a block may be indented by.
fn unindented(text: &[u8]) -> Option<&[u8]> {
    let rest = text.trim_ascii_start();
    let indent = &text[..text.len() - rest.len()];
    (indent.len() <= 3 && indent.iter().all(|b| *b == b' ')).then_some(rest)
}

/// The mark and length of a fence that begins a block.
fn fence(text: &[u8]) -> Option<(u8, usize)> {
    let text = unindented(text)?;
    let mark = *text.first().filter(|b| matches!(**b, b'`' | b'~'))?;
    let length = text.iter().take_while(|b| **b == mark).count();
    let info = &text[length..];
    (length >= 3 && !(mark == b'`' && info.contains(&b'`'))).then_some((mark, length))
}

fn closes_fence(text: &[u8], mark: u8, length: usize) -> bool {
    unindented(text).is_some_and(|text| {
        let text = text.trim_ascii_end();
        text.len() >= length && text.iter().all(|b| *b == mark)
    })
}

/// The level and the title of a heading that begins with `#`.
fn heading<'a>(line: &Line<'a>) -> Option<(usize, &'a [u8])> {
    if line.is_hidden {
        return None;
    }
    let text = unindented(line.text)?;
    let level = text.iter().take_while(|b| **b == b'#').count();
    let title = &text[level..];
    let is_apart = title.first().is_none_or(|b| matches!(b, b' ' | b'\t'));
    ((1..=6).contains(&level) && is_apart).then(|| (level, title.trim_ascii()))
}

fn is_title(line: &Line<'_>) -> bool {
    heading(line).is_some_and(|(level, title)| {
        // Marks at its end belong to the heading, not to the title.
        let marks = title.iter().rev().take_while(|b| **b == b'#').count();
        level == 2 && title[..title.len() - marks].trim_ascii_end() == TITLE.as_bytes()
    })
}

/// Whether a heading of the first or second level begins here, by `#` or by being underlined.
fn ends_section(lines: &[Line<'_>], at: usize) -> bool {
    if let Some((level, _)) = heading(&lines[at]) {
        return level <= 2;
    }
    let is_underline = |line: &Line<'_>| {
        !line.is_hidden
            && unindented(line.text)
                .map(<[u8]>::trim_ascii_end)
                .is_some_and(|text| {
                    !text.is_empty()
                        && (text.iter().all(|b| *b == b'=') || text.iter().all(|b| *b == b'-'))
                })
    };
    // An underlined heading of several lines, or one that goes on from an item of a list, is
    // not looked for.
    let before = &lines[at - 1];
    let is_paragraph = unindented(lines[at].text)
        .and_then(<[u8]>::first)
        .is_some_and(|first| !b"-*+>#`~|<=".contains(first));
    !lines[at].is_hidden
        && is_paragraph
        && (is_blank(before.text) || heading(before).is_some())
        && lines.get(at + 1).is_some_and(is_underline)
}

#[cfg(test)]
mod tests {
    use super::{Insertion, insertion};
    use crate::builtin::fact::Fact;
    use proptest::prelude::{Strategy, proptest};
    use proptest::{collection, sample};

    /// The file after a fact was added; `None` where it was there.
    fn with(file: &str, fact: &str) -> Option<String> {
        let fact = Fact::new(fact).expect("a fact");
        let Insertion { at, text } = insertion(file.as_bytes(), &fact)?;
        let mut file = file.to_owned();
        file.insert_str(at, &text);
        Some(file)
    }

    #[test]
    fn a_fact_goes_to_the_end_of_the_section() {
        const H: &str = "## Gemini Added Memories";
        let cases = [
            ("", format!("{H}\n- x\n")),
            ("\u{feff}", format!("\u{feff}{H}\n- x\n")),
            ("a", format!("a\n\n{H}\n- x\n")),
            ("a\n", format!("a\n\n{H}\n- x\n")),
            ("a\n\n", format!("a\n\n{H}\n- x\n")),
            ("a\r\n", format!("a\r\n\r\n{H}\r\n- x\r\n")),
            ("a\r\n\r\n", format!("a\r\n\r\n{H}\r\n- x\r\n")),
            ("## Gemini Added Memories", format!("{H}\n- x\n")),
            (
                "\u{feff}## Gemini Added Memories ##\n",
                format!("\u{feff}{H} ##\n- x\n"),
            ),
            (
                "## Gemini Added Memories\n\n\n## B\n",
                format!("{H}\n- x\n\n\n## B\n"),
            ),
            (
                "## Gemini Added Memories\n\n- a\n\n\n\n",
                format!("{H}\n\n- a\n- x\n\n\n\n"),
            ),
            (
                "## Gemini Added Memories\r\n- a\r\n## B",
                format!("{H}\r\n- a\r\n- x\r\n\r\n## B"),
            ),
            (
                "# T\r\n## Gemini Added Memories\n- a",
                format!("# T\r\n{H}\n- a\r\n- x\r\n"),
            ),
            (
                "## Gemini Added Memories\n- a\n# B\n",
                format!("{H}\n- a\n- x\n\n# B\n"),
            ),
            (
                "## Gemini Added Memories\n- a\n\nB\n===\n",
                format!("{H}\n- a\n- x\n\nB\n===\n"),
            ),
            (
                "## Gemini Added Memories\n- a\n\n---\nb\n",
                format!("{H}\n- a\n\n---\nb\n- x\n"),
            ),
            (
                "## Gemini Added Memories\n```\n## B\n```\n",
                format!("{H}\n```\n## B\n```\n- x\n"),
            ),
            (
                "## Gemini Added Memories\n<!--\n## B\n-->\n",
                format!("{H}\n<!--\n## B\n-->\n- x\n"),
            ),
            (
                "### Gemini Added Memories\n",
                format!("### Gemini Added Memories\n\n{H}\n- x\n"),
            ),
            (
                "~~~\n## Gemini Added Memories\n~~~\n",
                format!("~~~\n{H}\n~~~\n\n{H}\n- x\n"),
            ),
            (
                "```\n## Gemini Added Memories\n",
                format!("```\n{H}\n- x\n"),
            ),
            (
                "<!--\n## Gemini Added Memories\n",
                format!("<!--\n{H}\n- x\n"),
            ),
        ];
        for (file, expected) in cases {
            assert_eq!(with(file, "x").as_deref(), Some(&*expected), "{file:?}");
        }
    }

    #[test]
    fn a_fact_that_is_there_is_not_added_again() {
        for (file, fact) in [
            ("## Gemini Added Memories\n- x\n", "x"),
            ("## Gemini Added Memories\r\n- a\r\n-  x \r\n", "- x\n"),
            ("## Gemini Added Memories\n- @a.md\n", "@a.md"),
            ("## Gemini Added Memories\n* \\@a.md", "@a.md"),
            (
                "## Gemini Added Memories\n- a\n## B\n## Gemini Added Memories\n- x\n",
                "x",
            ),
        ] {
            assert_eq!(with(file, fact), None, "{file:?}");
        }
        for file in [
            "- x\n## Gemini Added Memories\n",
            "## Gemini Added Memories\n- X\n- x y\n-x\n## B\n- x\n",
            "## Gemini Added Memories\n```\n- x\n```\n",
        ] {
            assert!(with(file, "x").is_some(), "{file:?}");
        }
    }

    #[test]
    fn a_file_full_of_beginnings_without_an_end_is_no_burden() {
        for line in [
            "```x\n",
            "<!--\n",
            "## Gemini Added Memories\n",
            "~~~\n```\n",
            "a\n=\n",
        ] {
            let file = line.repeat(100_000);
            assert!(with(&file, "x").is_some());
        }
    }

    fn file() -> impl Strategy<Value = String> {
        let pieces = vec![
            "## Gemini Added Memories",
            "## Gemini Added Memories\n",
            "# T\n",
            "### S\r\n",
            "- x",
            "- y\n",
            "\n",
            "\r\n",
            "\r",
            " ",
            "    ",
            "```",
            "~~~~\n",
            "```\n",
            "<!--",
            "-->\n",
            "text",
            "text\n",
            "===\n",
            "---\n",
            "\u{feff}",
            "é",
        ];
        collection::vec(sample::select(pieces), 0..16).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn only_lines_are_put_in_and_the_fact_is_found_again(file in file(), fact in "[-a@`# ]{0,6}[a-z]") {
            let fact = Fact::new(&fact).expect("a fact");
            if let Some(Insertion { at, text }) = insertion(file.as_bytes(), &fact) {
                let (before, after) = file.split_at(at);
                let item = format!("- {}", fact.stored());
                assert_eq!(text.lines().filter(|line| *line == item).count(), 1);
                assert!(text.lines().all(|l| l.is_empty() || l == item || l == "## Gemini Added Memories"));
                assert!(text.ends_with('\n'));
                assert!(before.is_empty() || before.ends_with(['\n', '\u{feff}']) || text.starts_with(['\n', '\r']));
                let new = format!("{before}{text}{after}");
                assert_eq!(insertion(new.as_bytes(), &fact), None, "{file:?} -> {new:?}");
            }
        }
    }
}
