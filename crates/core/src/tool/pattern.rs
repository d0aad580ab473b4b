//! Patterns of JSON Schema, which are regular expressions of JavaScript (ECMA-262).

use fancy_regex::Regex;
use std::collections::BTreeMap;

pub(super) const ARE_CHECKED: bool = true;

#[derive(Default)]
pub(super) struct Patterns<'a>(BTreeMap<&'a str, Option<Regex>>);

impl<'a> Patterns<'a> {
    /// Returns whether a text fits a pattern; `None` if the pattern can't be translated to a
    /// regular expression of Rust.
    pub(super) fn fit(&mut self, pattern: &'a str, text: &str) -> Option<bool> {
        let found = self.0.entry(pattern).or_insert_with(|| regex(pattern));
        found.as_ref()?.is_match(text).ok()
    }
}

const SETS: [char; 6] = ['d', 'D', 's', 'S', 'w', 'W'];

/// The content of a character class that matches no character: one of JavaScript may be empty.
const EMPTY: &str = r"&&\D\d";

fn regex(pattern: &str) -> Option<Regex> {
    Regex::new(&translated(pattern)).ok()
}

/// Translates a pattern for the crate `fancy_regex`. In ECMA-262, `\d` and `\w` match only ASCII,
/// `\s` also matches a byte order mark, and `.` matches none of four characters that end a line. A
/// class may be empty; within it, `[`, `&&`, `~~` and a `-` that forms no range stand for
/// themselves. `{,3}` is plain text, because a repetition must have a minimum.
fn translated(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len() + 16);
    let mut is_in_class = false;
    // Within a class: whether the previous character can begin a range, and whether the next one
    // ends a range.
    let (mut may_begin, mut ends) = (false, false);
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        let rest = chars.as_str();
        let is_set = c == '\\' && rest.starts_with(SETS);
        let is_range = c == '-'
            && may_begin
            && !rest.starts_with(']')
            && !rest
                .strip_prefix('\\')
                .is_some_and(|rest| rest.starts_with(SETS));
        let set = |inner: &str| {
            if is_in_class {
                inner.to_owned()
            } else {
                format!("[{inner}]")
            }
        };
        match c {
            '\\' => match chars.next() {
                Some('d') => out.push_str(&set("0-9")),
                Some('w') => out.push_str(&set("A-Za-z0-9_")),
                Some('s') => out.push_str(&set(r"\s\x{FEFF}")),
                Some('D') => out.push_str("[^0-9]"),
                Some('W') => out.push_str("[^A-Za-z0-9_]"),
                Some('S') => out.push_str(r"[^\s\x{FEFF}]"),
                Some(next) => out.extend(['\\', next]),
                None => out.push('\\'),
            },
            '[' if is_in_class => out.push_str(r"\["),
            '-' if is_in_class && !is_range => out.push_str(r"\-"),
            '&' | '~' if is_in_class => out.extend(['\\', c]),
            '.' if !is_in_class => out.push_str(r"[^\n\r\x{2028}\x{2029}]"),
            '{' if !is_in_class && rest.starts_with(',') => out.push_str(r"\{"),
            '[' => {
                let not = if rest.starts_with('^') { "^" } else { "" };
                chars = rest[not.len()..].chars();
                // Without this, a `]` that follows at once would be a character of the class.
                let is_empty = chars.as_str().starts_with(']');
                out.extend(["[", not, if is_empty { EMPTY } else { "" }]);
                (is_in_class, may_begin, ends) = (true, false, false);
                continue;
            }
            ']' => {
                is_in_class = false;
                out.push(c);
            }
            c => out.push(c),
        }
        may_begin = is_in_class && !(is_set || is_range || ends);
        ends = is_range;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::regex;

    #[test]
    fn classes_are_those_of_ecma_262() {
        for (pattern, good, bad) in [
            (r"^\d$", "7", "߀"),
            (r"^\D$", "߀", "7"),
            (r"^\w+$", "a_9", "é"),
            (r"^\W$", "é", "a"),
            (r"^[\w.-]+$", "a-b.c", "é"),
            (r"^[^\d]$", "߀", "7"),
            (r"^[\D]$", "߀", "7"),
            (r"^\s$", "\u{feff}", "a"),
            (r"^\S$", "a", "\u{feff}"),
            (r"^[[&&a]$", "[", "b"),
            (r"^\[\\d\]$", r"[\d]", "[1]"),
            (r"^\p{Letter}$", "é", "1"),
            (r"^(?=a)\w\/$", "a/", "b/"),
            ("^a{,3}$", "a{,3}", "aa"),
            ("^a{1,3}$", "aa", "a{1,3}"),
            ("^.$", "\u{85}", "\r"),
            ("^.$", "é", "\u{2028}"),
            (r"^[.{,]\.$", "{.", "a."),
            ("^[^]$", "\n", ""),
            ("^[]?a$", "a", "]a"),
            ("^[+--]$", ",", "."),
            ("^[--/]$", ".", ","),
            ("^[a-z--9]$", "/", "+"),
            ("^[^--/]$", ",", "."),
            (r"^[\w-.]$", "-", "/"),
            (r"^[.-\d]$", "-", "/"),
            ("^[a~~b&&c]$", "~", "d"),
        ] {
            let regex = regex(pattern).expect(pattern);
            assert_eq!(regex.is_match(good).ok(), Some(true), "{pattern}");
            assert_eq!(regex.is_match(bad).ok(), Some(false), "{pattern}");
        }
        assert!(regex("(").is_none());
    }
}
