//! Names that an API takes, and back.
//!
//! A name that doesn't fit gets `_` for each character that is not taken, and a hash of the whole
//! at its end: a host that knows the tools knows which was meant.

use super::Dialect;
use crate::declaration::{HASH_CHARS, hashed};
use std::borrow::Cow;

/// The name of a tool in a dialect.
pub(super) fn mapped(dialect: Dialect, name: &str) -> Cow<'_, str> {
    if dialect.takes_name(name) {
        return Cow::Borrowed(name);
    }
    let takes_dot = matches!(dialect, Dialect::Gemini | Dialect::Mcp);
    let mut plain = with_underscores(name, takes_dot);
    if dialect == Dialect::Gemini && !plain.starts_with(|c: char| c.is_ascii_alphabetic()) {
        plain.insert(0, '_');
    }
    Cow::Owned(hashed(&plain, name, dialect.longest_name()))
}

/// A name in which `_` stands for all that is not a letter, digit, `_` or `-`.
pub(super) fn with_underscores(name: &str, takes_dot: bool) -> String {
    let fits =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-') || c == '.' && takes_dot;
    name.chars()
        .map(|c| if fits(c) { c } else { '_' })
        .collect()
}

/// Whether a name looks as if it stood for another: nothing need be asked about one that doesn't.
pub(crate) fn may_be_mapped(name: &str) -> bool {
    let hash = name.len().checked_sub(HASH_CHARS + 1);
    let hash = hash.and_then(|at| name.get(at..)?.strip_prefix('_'));
    hash.is_some_and(|hash| hash.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')))
}

/// Whether `written` is what some dialect calls the tool `name`.
pub(crate) fn is_mapped(name: &str, written: &str) -> bool {
    may_be_mapped(written)
        && Dialect::ALL
            .into_iter()
            .any(|dialect| !dialect.takes_name(name) && mapped(dialect, name) == written)
}

#[cfg(test)]
mod tests {
    use super::{is_mapped, may_be_mapped};
    use crate::dialect::Dialect;

    #[test]
    fn a_mapped_name_is_known_for_what_it_stands_for() {
        let long = format!("{}.z", "long".repeat(20));
        for name in ["a.b", "git__a.b", &long] {
            let written = Dialect::OpenAi.name_for(name);
            assert!(is_mapped(name, &written), "{name}: {written}");
            assert!(!is_mapped("a-b", &written));
        }
        for plain in ["read_file", "a", "", "x_0123456G", "é_0123456"] {
            assert!(!may_be_mapped(plain), "{plain}");
        }
    }
}
