//! Turns tool names into names that hosts and APIs accept, and recognises such names.
//!
//! In a name that is not accepted, `_` replaces each forbidden character, and a hash of the
//! original name is added. Whoever knows all tools can then tell which one such a name means.

use crate::text::hex;
use sha2::{Digest, Sha256};
use std::borrow::Cow;

pub(crate) const HASH_CHARS: usize = 8;

/// A format for declaring tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Dialect {
    /// Function declarations as Gemini CLI reads them.
    #[default]
    Gemini,
    /// `tools` of `OpenAI`'s Chat Completions API, which many other services accept.
    OpenAi,
    /// `tools` of `OpenAI`'s Responses API. A declaration is one flat object, and strict by
    /// default.
    OpenAiResponses,
    /// `tools` of Anthropic's Messages API.
    Anthropic,
}

impl Dialect {
    /// Every dialect.
    pub const ALL: [Dialect; 4] = [
        Dialect::Gemini,
        Dialect::OpenAi,
        Dialect::OpenAiResponses,
        Dialect::Anthropic,
    ];

    /// Returns the dialect's name, which [`Dialect::from_name`] accepts.
    pub fn name(self) -> &'static str {
        match self {
            Dialect::Gemini => "gemini",
            Dialect::OpenAi => "openai",
            Dialect::OpenAiResponses => "openai-responses",
            Dialect::Anthropic => "anthropic",
        }
    }

    /// Returns the dialect with this name, or `None` if there is none.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|dialect| dialect.name() == name)
    }

    /// Returns the maximum length of a tool's name in characters.
    pub fn longest_name(self) -> usize {
        match self {
            Dialect::Gemini => 63,
            Dialect::OpenAi | Dialect::OpenAiResponses => 64,
            Dialect::Anthropic => 128,
        }
    }

    /// Returns true if the dialect's API accepts a tool's name as it is.
    pub fn takes_name(self, name: &str) -> bool {
        match self {
            Dialect::Gemini => crate::registry::is_valid_name(name),
            Dialect::OpenAi | Dialect::OpenAiResponses | Dialect::Anthropic => {
                (1..=self.longest_name()).contains(&name.len())
                    && name
                        .bytes()
                        .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'))
            }
        }
    }

    /// Returns a tool's name if the dialect accepts it, otherwise an accepted name that ends in a
    /// hash.
    pub fn name_for(self, name: &str) -> Cow<'_, str> {
        if self.takes_name(name) {
            return Cow::Borrowed(name);
        }
        let plain = match self {
            Dialect::Gemini => api_name(name),
            _ => with_underscores(name, false),
        };
        Cow::Owned(hashed(&plain, name, self.longest_name()))
    }
}

/// Replaces every character that is not an ASCII letter, a digit, `_` or `-` by `_`. Dots stay if
/// `takes_dot` is set.
pub fn with_underscores(name: &str, takes_dot: bool) -> String {
    let fits =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-') || c == '.' && takes_dot;
    name.chars()
        .map(|c| if fits(c) { c } else { '_' })
        .collect()
}

/// Returns a name with only those characters that the Gemini API accepts. The API may still refuse
/// its length.
pub fn api_name(name: &str) -> String {
    let mut name = with_underscores(name, true);
    if !name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        name.insert(0, '_');
    }
    name
}

/// Returns true if a name ends in a hash as this module adds it. Only such a name need be compared
/// with the names that tools have for other APIs.
pub fn may_be_mapped(name: &str) -> bool {
    let hash = name.len().checked_sub(HASH_CHARS + 1);
    let hash = hash.and_then(|at| name.get(at..)?.strip_prefix('_'));
    hash.is_some_and(|hash| hash.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')))
}

/// Returns true if `written` is the name that some dialect uses for the tool `name`.
pub fn is_mapped(name: &str, written: &str) -> bool {
    may_be_mapped(written)
        && Dialect::ALL
            .into_iter()
            .any(|dialect| !dialect.takes_name(name) && dialect.name_for(name) == written)
}

/// Returns the beginning of `name`, which must be ASCII, and a hash of `original`. The result has
/// at most `longest` characters and practically never equals that of another original.
pub fn hashed(name: &str, original: &str, longest: usize) -> String {
    let hash = hex(&Sha256::digest(original.as_bytes())[..HASH_CHARS / 2]);
    let keep = name.len().min(longest - HASH_CHARS - 1);
    format!("{}_{hash}", name[..keep].trim_end_matches('_'))
}

#[cfg(test)]
mod tests {
    use super::{Dialect, is_mapped, may_be_mapped};

    #[test]
    fn a_name_begins_as_the_original_where_that_is_accepted() {
        for (name, start) in [("_a b", "_a_b_"), ("9 b", "_9_b_"), (".b", "_.b_")] {
            let written = Dialect::Gemini.name_for(name);
            assert!(written.starts_with(start), "{name}: {written}");
            assert!(Dialect::Gemini.takes_name(&written), "{written}");
        }
    }

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
