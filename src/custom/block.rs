//! The block of comments in a script that says that it is a tool, in the manner of Python's
//! inline script metadata (PEP 723):
//!
//! ```text
//! # /// tool
//! # description = "Says hello."
//! # ///
//! ```
//!
//! It is read and never run. The comments may be `#`, `//`, `--` or `;`.

/// The comments of the languages that scripts are written in.
const COMMENTS: [&str; 4] = ["#", "//", "--", ";"];

/// The text of the block, without the comment signs; `None` where there is none.
///
/// # Errors
///
/// What is wrong with it.
pub(super) fn find(text: &str) -> Result<Option<String>, String> {
    let mut lines = text.lines().enumerate();
    let mut block = None;
    while let Some((at, line)) = lines.next() {
        let Some(comment) = opening(line) else {
            continue;
        };
        if block.is_some() {
            return Err(format!(
                "line {} begins a second \"/// tool\" block; a file is one tool.",
                at + 1
            ));
        }
        let mut inner = String::new();
        let mut is_closed = false;
        for (_, line) in lines.by_ref() {
            let line = line.trim_end();
            let Some(rest) = line.strip_prefix(comment) else {
                break;
            };
            if rest.trim() == "///" {
                is_closed = true;
                break;
            }
            inner.push_str(rest.strip_prefix(' ').unwrap_or(rest));
            inner.push('\n');
        }
        if !is_closed {
            return Err(format!(
                "the \"/// tool\" block of line {} has no end; close it with a line \
                 \"{comment} ///\", within the file's first {} KiB.",
                at + 1,
                super::MAX_BLOCK_BYTES / 1024
            ));
        }
        block = Some(inner);
    }
    Ok(block)
}

/// The first line of the block's text, counted from 1.
pub(super) fn first_line(text: &str) -> usize {
    let at = text.lines().position(|line| opening(line).is_some());
    at.map_or(1, |at| at + 2)
}

/// How many characters of a line in the block stand before its text.
pub(super) fn margin(line: &str) -> usize {
    let sign = COMMENTS.into_iter().find(|sign| line.starts_with(sign));
    sign.map_or(0, |sign| {
        sign.len() + usize::from(line[sign.len()..].starts_with(' '))
    })
}

/// The comment sign of a line that begins a block.
fn opening(line: &str) -> Option<&'static str> {
    COMMENTS.into_iter().find(|comment| {
        line.strip_prefix(comment)
            .and_then(|rest| rest.trim().strip_prefix("///"))
            .is_some_and(|rest| rest.starts_with([' ', '\t']) && rest.trim() == "tool")
    })
}

/// The program and arguments of a script's first line, for one that is not marked as
/// executable.
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
