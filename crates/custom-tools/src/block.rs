//! The block of comments in a script that says that it is a tool, like Python's
//! inline script metadata (PEP 723):
//!
//! ```text
//! # /// tool
//! # description = "Says hello."
//! # ///
//! ```
//!
//! The block is read and never run. The comment markers may be `#`, `//`, `--` or `;`.

const COMMENTS: [&str; 4] = ["#", "//", "--", ";"];

pub(super) fn find(text: &str) -> Result<Option<String>, String> {
    let mut lines = text.lines().enumerate();
    let mut block: Option<String> = None;
    while let Some((at, line)) = lines.next() {
        let Some(sign) = opening(line) else { continue };
        if block.is_some() {
            return Err(format!(
                "line {} begins a second \"/// tool\" block; a file is one tool.",
                at + 1
            ));
        }
        let toml = block.insert(String::new());
        let is_closed = loop {
            let inner = lines
                .next()
                .and_then(|(_, line)| unmarked(sign, line.trim_end()));
            match inner {
                Some(line) if line.trim() == "///" => break true,
                Some(line) => {
                    toml.push_str(line);
                    toml.push('\n');
                }
                None => break false,
            }
        };
        if !is_closed {
            return Err(format!(
                "the \"/// tool\" block of line {} has no end; close it with a line \
                 \"{sign} ///\", within the file's first {} KiB.",
                at + 1,
                super::MAX_BLOCK_BYTES / 1024
            ));
        }
    }
    Ok(block)
}

fn opening(line: &str) -> Option<&'static str> {
    let is_opening = |rest: &str| {
        let rest = rest.trim().strip_prefix("///");
        rest.is_some_and(|rest| rest.starts_with([' ', '\t']) && rest.trim() == "tool")
    };
    let mut signs = COMMENTS.into_iter();
    signs.find(|sign| line.strip_prefix(sign).is_some_and(is_opening))
}

fn unmarked<'a>(sign: &str, line: &'a str) -> Option<&'a str> {
    let rest = line.strip_prefix(sign)?;
    Some(rest.strip_prefix(' ').unwrap_or(rest))
}

pub(super) fn first_line(text: &str) -> usize {
    let at = text.lines().position(|line| opening(line).is_some());
    at.map_or(1, |at| at + 2)
}

pub(super) fn margin(text: &str, line: &str) -> usize {
    let sign = text.lines().find_map(opening);
    let rest = sign.and_then(|sign| unmarked(sign, line));
    rest.map_or(0, |rest| line.chars().count() - rest.chars().count())
}

/// Parses the `#!` line of a script. As in Linux, everything after the program is one argument.
pub(super) fn interpreter(text: &str) -> Option<Vec<String>> {
    let line = text.strip_prefix("#!")?.lines().next()?.trim();
    let (program, rest) = line.split_once([' ', '\t']).unwrap_or((line, ""));
    if program.is_empty() {
        return None;
    }
    let rest = rest.trim();
    let mut words = vec![program.to_owned()];
    if !rest.is_empty() {
        words.push(rest.to_owned());
    }
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::{find, interpreter};

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
