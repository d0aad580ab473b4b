//! Patterns of JSON Schema, which are regular expressions of JavaScript (ECMA-262).

use crate::javascript::translated;
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

fn regex(pattern: &str) -> Option<Regex> {
    Regex::new(&translated(pattern, true)).ok()
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
