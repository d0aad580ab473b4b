//! Reads a file of variables as Gemini CLI does, which uses npm's `dotenv` 16.

use super::{HOST_PREFIX, PREFIX, is_dangling};
use fancy_regex::Regex;
use std::io::{Error, ErrorKind, Result};
use std::path::Path;
use std::sync::LazyLock;

const MAX_BYTES: u64 = 1024 * 1024;

/// The expression by which `dotenv` finds the variables. It is taken as it is, since a parser of
/// our own would differ from it somewhere, and a line that sets a restriction would be lost. `\s`
/// stands for [`BLANKS`], and `\w` for ASCII only.
const LINE: &str = concat!(
    r"(?m)^\s*(?:export\s+)?([\w.-]+)(?:\s*=\s*?|:\s+?)",
    r#"(\s*'(?:\\'|[^'])*'|\s*"(?:\\"|[^"])*"|\s*`(?:\\`|[^`])*`|[^#\r\n]+)?\s*(?:#.*)?$"#
);

/// What JavaScript calls blank. U+FEFF, the byte order mark, is among it; U+0085 is not.
const BLANKS: &str =
    r"[\t-\r \u{a0}\u{1680}\u{2000}-\u{200a}\u{2028}\u{2029}\u{202f}\u{205f}\u{3000}\u{feff}]";

fn is_blank(c: char) -> bool {
    c == '\u{feff}' || c.is_whitespace() && c != '\u{85}'
}

pub(super) fn read(file: &Path) -> Result<Option<String>> {
    let stat = match std::fs::metadata(file) {
        Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return if is_dangling(file) {
                Err(Error::other("it is a link that leads nowhere"))
            } else {
                Ok(None)
            };
        }
        stat => stat?,
    };
    if !stat.is_file() {
        return Err(Error::other("it is not a regular file"));
    }
    if stat.len() > MAX_BYTES {
        return Err(Error::other(format!("it has more than {MAX_BYTES} bytes")));
    }
    let bytes = std::fs::read(file)?;
    // A text in UTF-16 has zero bytes. None of its lines would be recognised, and a restriction in
    // it would be lost without notice. No variable can hold a zero byte, so such a file is an
    // error.
    if bytes.contains(&0) {
        return Err(Error::other("it is not text in UTF-8"));
    }
    Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
}

pub(super) fn of_tools(text: &str) -> Vec<(String, String)> {
    // Most such files hold a key of the API only, and need no expression compiled at each start.
    if !text.contains(PREFIX) && !text.contains(HOST_PREFIX) {
        return Vec::new();
    }
    let mut lines = parse(text);
    lines.retain(|(name, _)| name.starts_with(PREFIX) || name.starts_with(HOST_PREFIX));
    lines
}

/// Returns the variables of a file as `dotenv` reads it: `KEY=VALUE` or `KEY: VALUE`, with
/// `export`, comments, and quotes that may go over several lines. A repeated key is returned each
/// time; its last value counts.
pub fn parse(text: &str) -> Vec<(String, String)> {
    static COMPILED: LazyLock<Option<Regex>> = LazyLock::new(|| {
        let line = LINE.replace(r"\w", "0-9A-Za-z_").replace(r"\s", BLANKS);
        Regex::new(&line).ok()
    });
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let found = COMPILED.iter().flat_map(|line| line.captures_iter(&text));
    let variables = found.flatten().filter_map(|found| {
        let value = found.get(2).map_or("", |value| value.as_str());
        Some((
            found.get(1)?.as_str().to_owned(),
            unquoted(value.trim_matches(is_blank)),
        ))
    });
    variables.collect()
}

fn unquoted(value: &str) -> String {
    let quote = value
        .chars()
        .next()
        .filter(|c| matches!(c, '"' | '\'' | '`'));
    let inner = quote.and_then(|quote| value.strip_prefix(quote)?.strip_suffix(quote));
    let inner = inner.unwrap_or(value);
    match quote {
        Some('"') => inner.replace("\\n", "\n").replace("\\r", "\r"),
        _ => inner.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn a_file_of_variables_is_read_as_dotenv_reads_it() {
        for (text, expected) in [
            (
                "A=1\n #B=2\nC='x # y'\nexport D = z # w\n=5\nE\nF=\"\"",
                &[("A", "1"), ("C", "x # y"), ("D", "z"), ("F", "")][..],
            ),
            ("\u{feff}A=1", &[("A", "1")]),
            (
                "A: 1\nB:2\nexport\tC=3\nD\n=\n4",
                &[("A", "1"), ("C", "3"), ("D", "")],
            ),
            ("A=x#y\nB=x\t#y\nC=#", &[("A", "x"), ("B", "x"), ("C", "")]),
            ("A='x\nB=1\ny'\nC=2", &[("A", "x\nB=1\ny"), ("C", "2")]),
            ("A='x\nB=1", &[("A", "'x"), ("B", "1")]),
            (
                "A=\"x\\ny\\r\"\nB='x\\n'",
                &[("A", "x\ny\r"), ("B", "x\\n")],
            ),
            ("A=1\rB=2\r\nA=3", &[("A", "1"), ("B", "2"), ("A", "3")]),
        ] {
            let found = parse(text);
            let found: Vec<_> = found.iter().map(|(k, v)| (&**k, &**v)).collect();
            assert_eq!(found, expected, "{text:?}");
        }
    }
}
