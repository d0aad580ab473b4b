//! A little of Markdown, line by line, for a terminal.

/// A terminal switches a style on and off by these sequences.
#[derive(Clone, Copy)]
struct Style {
    on: &'static str,
    off: &'static str,
}

const BOLD: Style = Style {
    on: "\x1b[1m",
    off: "\x1b[22m",
};
const DIM: Style = Style {
    on: "\x1b[2m",
    off: "\x1b[22m",
};
const CODE: Style = Style {
    on: "\x1b[36m",
    off: "\x1b[39m",
};

/// Renders lines one after the other. What it does not know stays as it is written.
#[derive(Debug, Default)]
pub(super) struct Markdown {
    /// The character of the fence that is open, and how many there are of it.
    fence: Option<(char, usize)>,
}

impl Markdown {
    /// A line without its end and without control characters, as a terminal should show it.
    pub(super) fn line(&mut self, line: &str) -> String {
        if self.is_code(line) {
            return styled(DIM, line);
        }
        let text = line.trim_start_matches(' ');
        let indent = &line[..line.len() - text.len()];
        if indent.len() <= 3
            && let Some(heading) = heading(text)
        {
            return styled(BOLD, &inline(heading, true));
        }
        match bullet(text) {
            Some(item) => format!("{indent}• {}", inline(item, false)),
            None => inline(line, false),
        }
    }

    /// Whether the line belongs to a fenced block; its fences do.
    fn is_code(&mut self, line: &str) -> bool {
        let text = line.trim();
        let sign = text.chars().next().filter(|c| matches!(c, '`' | '~'));
        let length = sign.map_or(0, |sign| text.chars().take_while(|c| *c == sign).count());
        match (self.fence, sign) {
            (Some((open, least)), _) => {
                if sign == Some(open) && length >= least && length == text.len() {
                    self.fence = None;
                }
                true
            }
            // What follows back-ticks on the line must not have more of them: then it is code
            // within a line.
            (None, Some(sign)) if length >= 3 && (sign == '~' || !text[length..].contains('`')) => {
                self.fence = Some((sign, length));
                true
            }
            _ => false,
        }
    }
}

fn heading(text: &str) -> Option<&str> {
    let rest = text.trim_start_matches('#');
    let level = text.len() - rest.len();
    let is_one = (1..=6).contains(&level) && rest.starts_with(' ');
    is_one.then(|| rest.trim().trim_end_matches('#').trim_end())
}

fn bullet(text: &str) -> Option<&str> {
    ["- ", "* ", "+ "]
        .iter()
        .find_map(|sign| text.strip_prefix(sign))
        // Such a line is a rule.
        .filter(|rest| rest.chars().any(|c| !matches!(c, '-' | '*' | ' ')))
}

fn styled(Style { on, off }: Style, text: &str) -> String {
    if text.is_empty() {
        return String::new();
    }
    format!("{on}{text}{off}")
}

/// Code and bold text within a line.
fn inline(text: &str, is_bold: bool) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(['`', '*', '\\']) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let taken = escaped(rest)
            .or_else(|| code(rest))
            .or_else(|| bold(rest, is_bold));
        let (shown, length) = taken.unwrap_or_else(|| {
            // All of a run that opens nothing, so that no part of it does.
            let sign = &rest[..1];
            let length = rest.len() - rest.trim_start_matches(sign).len();
            (rest[..length].to_owned(), length)
        });
        out.push_str(&shown);
        rest = &rest[length..];
    }
    out.push_str(rest);
    out
}

/// A sign that means itself; what is shown, and the length of the source.
fn escaped(text: &str) -> Option<(String, usize)> {
    let sign = text.strip_prefix('\\')?.chars().next()?;
    matches!(sign, '*' | '`').then(|| (sign.to_string(), 2))
}

fn code(text: &str) -> Option<(String, usize)> {
    let rest = text.trim_start_matches('`');
    let fence = text.len() - rest.len();
    if fence == 0 {
        return None;
    }
    let mut at = 0;
    while let Some(next) = rest[at..].find('`') {
        at += next;
        let run = rest[at..].len() - rest[at..].trim_start_matches('`').len();
        if run == fence {
            return Some((styled(CODE, rest[..at].trim()), fence + at + run));
        }
        at += run;
    }
    None
}

fn bold(text: &str, is_bold: bool) -> Option<(String, usize)> {
    let rest = text.strip_prefix("**")?;
    if rest.starts_with(['*', ' ']) {
        return None;
    }
    let is_end = |at: &usize| *at > 0 && !rest[..*at].ends_with(' ');
    let end = rest.match_indices("**").map(|(at, _)| at).find(is_end)?;
    let inner = inline(&rest[..end], true);
    let shown = if is_bold { inner } else { styled(BOLD, &inner) };
    Some((shown, 2 + end + 2))
}

#[cfg(test)]
mod tests {
    use super::Markdown;

    /// The lines with names in place of the escape sequences.
    fn rendered(lines: &str) -> String {
        let mut markdown = Markdown::default();
        let lines: Vec<String> = lines.split('\n').map(|line| markdown.line(line)).collect();
        lines
            .join("\n")
            .replace("\x1b[1m", "<b>")
            .replace("\x1b[2m", "<d>")
            .replace("\x1b[22m", "</>")
            .replace("\x1b[36m", "<c>")
            .replace("\x1b[39m", "</c>")
    }

    #[test]
    fn what_is_marked_looks_so() {
        let cases = [
            ("# Title", "<b>Title</>"),
            ("### `a` and **b** ##", "<b><c>a</c> and b</>"),
            ("a **bold** word", "a <b>bold</> word"),
            ("**a `b` c**", "<b>a <c>b</c> c</>"),
            ("`` a`b ``!", "<c>a`b</c>!"),
            ("- item **x**", "• item <b>x</>"),
            ("  * item", "  • item"),
            ("1. item", "1. item"),
            (r"\*\*no\*\*", "**no**"),
        ];
        for (line, expected) in cases {
            assert_eq!(rendered(line), expected, "{line}");
        }
    }

    #[test]
    fn what_is_not_marked_stays() {
        let lines = [
            "#hash",
            "####### seven",
            "2 * 3 ** 4",
            "** a **",
            "****",
            "a ** b",
            "`open",
            "* * *",
            "---",
            "-x",
            r"C:\dir",
            "**open",
            "snake_case__name__",
            "",
        ];
        for line in lines {
            let mut markdown = Markdown::default();
            assert_eq!(markdown.line(line), line, "{line}");
        }
    }

    #[test]
    fn code_between_fences_is_dimmed_and_not_read() {
        let lines = "```rust\n# **x**\n~~~\n\n```\n**y**";
        let expected = "<d>```rust</>\n<d># **x**</>\n<d>~~~</>\n\n<d>```</>\n<b>y</>";
        assert_eq!(rendered(lines), expected);
        assert_eq!(
            rendered("````\n```\n````\n**y**"),
            "<d>````</>\n<d>```</>\n<d>````</>\n<b>y</>"
        );
        assert_eq!(rendered("```inline``` **y**"), "<c>inline</c> <b>y</>");
    }

    #[test]
    fn no_line_makes_it_panic_or_leaves_a_style_on() {
        let pieces = ["*", "**", "`", "``", "\\", "ä", " ", "#", "- ", "x", "```"];
        for a in pieces {
            for b in pieces {
                for c in pieces {
                    for d in pieces {
                        let line = format!("{a}{b}{c}{d}{a}");
                        let shown = Markdown::default().line(&line);
                        let count = |code: &str| shown.matches(code).count();
                        let on = count("\x1b[1m") + count("\x1b[2m");
                        assert_eq!(on, count("\x1b[22m"), "{line}");
                        assert_eq!(count("\x1b[36m"), count("\x1b[39m"), "{line}");
                    }
                }
            }
        }
    }
}
