//! The memory file's text: where in it a fact goes.
//!
//! Only text is handled here, byte by byte outside of what is put in. The file itself and the
//! call are [`super::save_memory`]'s, what a fact looks like is [`super::fact`]'s.

use super::fact::Fact;

/// The heading of the section, of level 2.
const HEADING: &str = "## Gemini Added Memories";

/// A text to put in, and its place.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Insertion {
    /// The offset in the file, in bytes.
    pub(super) at: usize,
    /// Whole lines, with a line end before them if the file's last line lacks one.
    pub(super) text: String,
}

/// A line of the file.
struct Line<'a> {
    /// The line without its end.
    text: &'a [u8],
    /// The offset after its end.
    end: usize,
}

/// Returns the line to add for a fact: at the end of the section, or of the file, with the section's
/// heading, if there is none. `None` if the fact is in a section already.
pub(super) fn insertion(file: &[u8], fact: &Fact) -> Option<Insertion> {
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
    let item = fact.stored();
    let Some((last, end)) = place else {
        let is_ended = file.ends_with(b"\n");
        let gap = match lines.last() {
            None => String::new(),
            Some(line) if is_ended && is_blank(line.text) => String::new(),
            Some(_) => newline.repeat(if is_ended { 1 } else { 2 }),
        };
        return Some(Insertion {
            at: file.len(),
            text: format!("{gap}{HEADING}{newline}- {item}{newline}"),
        });
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
    Some(Insertion {
        at,
        text: format!("{before}- {item}{newline}{after}"),
    })
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

/// Returns true for a heading of level 1 or 2.
fn ends_section(text: &[u8]) -> bool {
    text.starts_with(b"# ") || text.starts_with(b"## ")
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
                "## Gemini Added Memories\n- a\n\n---\nb\n",
                format!("{H}\n- a\n\n---\nb\n- x\n"),
            ),
            (
                "### Gemini Added Memories\n",
                format!("### Gemini Added Memories\n\n{H}\n- x\n"),
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
        ] {
            assert!(with(file, "x").is_some(), "{file:?}");
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
