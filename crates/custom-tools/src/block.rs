//! The block of comments in a script that says that it is a tool, like Python's
//! inline script metadata (PEP 723):
//!
//! ```text
//! # /// tool
//! # description = "Says hello."
//! # ///
//! ```
//!
//! It is read and never run. The comments may be `#`, `//`, `--` or `;`, or one from `/*` to `*/`,
//! whose lines may begin with a `*`.

/// The comments of the languages that scripts are written in.
const COMMENTS: [&str; 4] = ["#", "//", "--", ";"];

/// The opening of a block, behind the sign of a comment.
const OPENING: &str = "/// tool";

/// The marks by which the lines of a block are comments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Marks {
    /// Each by this sign.
    Sign(&'static str),
    /// The lines are within `/*` and `*/`, and begin with a `*` or don't.
    Within { stars: bool },
}

impl Marks {
    /// Returns a line of the block without its mark; `None` if it has none.
    fn unmarked(self, line: &str) -> Option<&str> {
        let rest = match self {
            Self::Sign(sign) => line.strip_prefix(sign)?,
            Self::Within { stars: true } => line.trim_start().strip_prefix('*')?,
            Self::Within { stars: false } => return Some(line),
        };
        Some(rest.strip_prefix(' ').unwrap_or(rest))
    }

    /// Returns true if this line ends the block.
    fn is_end(self, line: &str) -> bool {
        let whole = line.trim();
        let rest = self.unmarked(line).map(str::trim);
        let is_within = matches!(self, Self::Within { .. });
        rest == Some("///") || is_within && (whole == "*/" || rest == Some("/// */"))
    }

    /// Returns the line that ends such a block.
    fn end(self) -> String {
        match self {
            Self::Sign(sign) => format!("{sign} ///"),
            Self::Within { .. } => "*/".to_owned(),
        }
    }
}

/// A block in a text.
struct Block {
    /// The first line behind the opening, counted from 1.
    first: usize,
    marks: Marks,
    inner: String,
}

/// Finds the block in a text and returns its TOML, without the comment signs.
///
/// # Errors
///
/// Returns a sentence about a second block, or about one without an end.
pub(super) fn find(text: &str) -> Result<Option<String>, String> {
    Ok(block(text)?.map(|block| block.inner))
}

fn block(text: &str) -> Result<Option<Block>, String> {
    let all: Vec<&str> = text.lines().collect();
    let mut block: Option<Block> = None;
    let mut at = 0;
    while at < all.len() {
        let Some(marks) = opening(&all, at) else {
            at += 1;
            continue;
        };
        if block.is_some() {
            return Err(format!(
                "line {} begins a second \"/// tool\" block; a file is one tool.",
                at + 1
            ));
        }
        let lines = &all[at + 1..];
        let end = lines
            .iter()
            .position(|line| marks.is_end(line) || marks.unmarked(line.trim_end()).is_none());
        let Some(end) = end.filter(|end| marks.is_end(lines[*end])) else {
            return Err(format!(
                "the \"/// tool\" block of line {} has no end; close it with a line \
                 \"{}\", within the file's first {} KiB.",
                at + 1,
                marks.end(),
                super::MAX_BLOCK_BYTES / 1024
            ));
        };
        let inner = lines[..end].iter().map(|line| {
            let line = marks.unmarked(line.trim_end()).unwrap_or_default();
            format!("{line}\n")
        });
        block = Some(Block {
            first: at + 2,
            marks,
            inner: inner.collect(),
        });
        at += end + 2;
    }
    Ok(block)
}

/// Returns the first line of the block's text, counted from 1.
pub(super) fn first_line(text: &str) -> usize {
    block(text).ok().flatten().map_or_else(
        || {
            let all: Vec<&str> = text.lines().collect();
            let at = (0..all.len()).find(|at| opening(&all, *at).is_some());
            at.map_or(1, |at| at + 2)
        },
        |block| block.first,
    )
}

/// Returns the number of characters before the text of a line in the block.
pub(super) fn margin(text: &str, line: &str) -> usize {
    let marks = block(text).ok().flatten().map(|block| block.marks);
    let rest = marks.and_then(|marks| marks.unmarked(line));
    rest.map_or(0, |rest| line.chars().count() - rest.chars().count())
}

/// Returns the marks of the block that begins in a line.
fn opening(all: &[&str], at: usize) -> Option<Marks> {
    let line = all[at];
    let is_opening = |rest: &str| {
        let rest = rest.trim().strip_prefix("///");
        rest.is_some_and(|rest| rest.starts_with([' ', '\t']) && rest.trim() == "tool")
    };
    let signs = COMMENTS.into_iter();
    let mut signs = signs.filter(|sign| line.strip_prefix(sign).is_some_and(is_opening));
    if let Some(sign) = signs.next() {
        return Some(Marks::Sign(sign));
    }
    let trimmed = line.trim_start();
    let begins = |line: &str| matches!(line.trim(), "/*" | "/**");
    let within = trimmed
        .strip_prefix("/*")
        .map(|rest| rest.trim_start_matches('*'));
    let within = within.or_else(|| trimmed.strip_prefix('*'));
    let is_below = at > 0 && begins(all[at - 1]) && is_opening(trimmed);
    (is_below || within.is_some_and(is_opening)).then(|| {
        let next = all.get(at + 1).map_or("", |line| line.trim_start());
        Marks::Within {
            stars: next.starts_with('*') && next.trim_end() != "*/",
        }
    })
}

/// Finds the line, counted from 1, that looks like the beginning of a block and is not: behind the
/// sign of another comment, or not at the beginning of its line.
pub(super) fn near_miss(text: &str) -> Option<usize> {
    /// Maximum bytes before it.
    const LONGEST_BYTES: usize = 12;
    let is_near = |line: &str| {
        let before = line.trim_end().strip_suffix(OPENING);
        let before = before.map(|before| before.trim().to_ascii_lowercase());
        before.is_some_and(|before| {
            let is_sign = !before.contains(|c: char| c.is_ascii_alphanumeric());
            !before.is_empty() && before.len() <= LONGEST_BYTES && (is_sign || before == "rem")
        })
    };
    text.lines().position(is_near).map(|at| at + 1)
}

/// Returns the program and arguments of a script's first line.
pub(super) fn interpreter(text: &str) -> Option<Vec<String>> {
    let line = text.strip_prefix("#!")?.lines().next()?.trim();
    let (program, rest) = line.split_once([' ', '\t']).unwrap_or((line, ""));
    if program.is_empty() {
        return None;
    }
    let rest = rest.trim();
    let mut words = vec![program.to_owned()];
    // As the kernel has it: one argument at most.
    if !rest.is_empty() {
        words.push(rest.to_owned());
    }
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::{find, first_line, interpreter, margin, near_miss};

    #[test]
    fn a_block_stands_in_the_comments_of_any_language() {
        for comment in ["#", "//", "--", ";"] {
            let text = format!(
                "#!/usr/bin/env x\n{comment} /// tool\n{comment} a = 1\n{comment}\n{comment}   [b]\n{comment} ///\ncode\n"
            );
            assert_eq!(
                find(&text).expect("well formed").as_deref(),
                Some("a = 1\n\n  [b]\n"),
                "{comment}"
            );
        }
        let crlf = "# /// tool\r\n# a = 1\r\n# ///\r\n";
        assert_eq!(find(crlf).expect("well formed").as_deref(), Some("a = 1\n"));
        assert_eq!(find("# /// script\n# ///\n# /// toolbox\n"), Ok(None));
        assert!(find("# /// tool\n# a = 1\ncode\n").is_err());
        assert!(find("# /// tool\n# ///\n# /// tool\n# ///\n").is_err());
    }

    #[test]
    fn a_block_stands_in_one_comment_too() {
        for text in [
            "#!/usr/bin/env node\n/* /// tool\na = 1\n\n  [b]\n*/\ncode\n",
            "#!/usr/bin/env node\n/* /// tool\na = 1\n\n  [b]\n/// */\ncode\n",
            "/*\n/// tool\na = 1\n\n  [b]\n///\n*/\ncode\n",
            "/**\n * /// tool\n * a = 1\n *\n *   [b]\n * ///\n */\ncode\n",
            "/** /// tool\n * a = 1\n *\n *   [b]\n */\ncode\n",
        ] {
            let found = find(text).expect("well formed");
            assert_eq!(found.as_deref(), Some("a = 1\n\n  [b]\n"), "{text}");
            let first = text.lines().nth(first_line(text) - 1).expect("a line");
            let at = margin(text, first);
            assert_eq!(&first[at..], "a = 1", "{text}");
        }
        let list = "/* /// tool\na = \"\"\"\n* one\n\"\"\"\n*/\n";
        let kept = "a = \"\"\"\n* one\n\"\"\"\n";
        assert_eq!(find(list).expect("well formed").as_deref(), Some(kept));
        assert!(find("/* /// tool\na = 1\n").is_err());
        assert!(find("/**\n * /// tool\n * a = 1\ncode\n").is_err());
    }

    #[test]
    fn what_is_nearly_a_block_is_seen() {
        for text in [
            "x\n  # /// tool\n",
            "x\n--[[ /// tool\n",
            "x\nREM /// tool\n",
        ] {
            assert_eq!(find(text), Ok(None), "{text}");
            assert_eq!(near_miss(text), Some(2), "{text}");
        }
        for text in [
            "/// tool\n",
            "Begin it with # /// tool\n",
            "# /// toolbox\n",
            "",
        ] {
            assert_eq!(near_miss(text), None, "{text}");
        }
    }

    #[test]
    fn the_first_line_names_the_interpreter() {
        let words = |text| interpreter(text).unwrap_or_default();
        assert_eq!(
            words("#!/usr/bin/env python3\n"),
            ["/usr/bin/env", "python3"]
        );
        assert_eq!(words("#! /bin/sh\n"), ["/bin/sh"]);
        assert!(interpreter("print(1)").is_none());
    }
}
