//! Determines the shape of a line: its text without what differs between similar lines of a log.

use super::history::hash;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Minimum length in bytes of a word that makes a line a message rather than data.
const MIN_WORD_BYTES: usize = 3;

const MIN_FIRST_BYTES: usize = 2;

/// Number of first tokens of a line among which there must be a word that makes it a message;
/// otherwise the line is data.
const MAX_TOKENS_BEFORE: usize = 8;

const MAX_UNIT_BYTES: usize = 3;

const MAX_RATE_BYTES: usize = 6;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// The hash of a message's words. Lines with the same words say the same about different
    /// things.
    Words(u64),
    /// The hash of an indented key, such as `name:`. Only consecutive lines with the same key are
    /// similar: tables of data don't repeat a key in the next line.
    Key(u64),
    Rule,
    /// A line that is never similar to another, such as a path, a row of a table or source text.
    Data,
}

enum Token<'a> {
    Mark,
    Word(&'a str),
    /// The first word of a message, which says what is done with the thing named after it.
    Verb,
    /// A word with a number attached, such as `Get:12`.
    Label(&'a str),
    /// A number, time, size or hash, with its unit if that is attached.
    Number,
    Unit,
    Name(&'a str),
}

impl Shape {
    pub(super) fn new(whole: &str) -> Self {
        let is_indented = whole.starts_with([' ', '\t']);
        let line = whole.trim();
        if !line.contains(char::is_alphanumeric) {
            return Self::Rule;
        }
        let mut tokens = line.split_ascii_whitespace();
        let first = tokens.next().unwrap_or_default();
        if is_indented && first.ends_with(':') {
            let is_measure = matches!(tokens.next().map(Token::new), Some(Token::Number));
            let key = if is_measure { Self::Words } else { Self::Key };
            return key(hash(first));
        }
        if is_source(line) || first.bytes().all(|b| b.is_ascii_digit()) {
            return Self::Data;
        }
        let line = if is_indented { whole } else { line };
        Self::of_tokens(line).map_or(Self::Data, Self::Words)
    }

    fn of_tokens(line: &str) -> Option<u64> {
        let mut hasher = DefaultHasher::new();
        let mut has_verb = false;
        let mut has_name = false;
        let mut before = Token::Mark;
        for (count, text) in line.split_ascii_whitespace().enumerate() {
            if text == "=" || (!has_verb && count == MAX_TOKENS_BEFORE) {
                return None;
            }
            match Token::new(text).after(&before) {
                Token::Mark => {}
                token @ (Token::Word(word) | Token::Label(word)) => {
                    word.hash(&mut hasher);
                    let is_status = word.len() > 1 && word.bytes().all(|b| b.is_ascii_uppercase());
                    let is_first = line.starts_with(word);
                    let min = if is_first {
                        MIN_FIRST_BYTES
                    } else {
                        MIN_WORD_BYTES
                    };
                    let is_verb = is_status || !has_name && word.len() >= min;
                    before = match token {
                        Token::Word(_) if is_verb && !is_status && !has_verb => Token::Verb,
                        token => token,
                    };
                    has_verb |= is_verb;
                }
                token => {
                    has_name |= matches!(token, Token::Name(_));
                    if !matches!(before, Token::Number | Token::Unit | Token::Name(_)) {
                        '\0'.hash(&mut hasher);
                    }
                    before = token;
                }
            }
        }
        has_verb.then(|| hasher.finish())
    }
}

fn is_source(line: &str) -> bool {
    let is_directive = |rest: &str| rest.starts_with(|c: char| c.is_alphabetic() || c == '[');
    line.starts_with(['{', '"', '<', '|', '}', '+'])
        || line.starts_with("- ")
        || line.contains(" { ")
        || line.starts_with("//")
        || line.strip_prefix('#').is_some_and(is_directive)
        || line.ends_with([';', '{', '}', ',', '(', '\\'])
}

impl<'a> Token<'a> {
    fn new(text: &'a str) -> Self {
        let is_edge = |c: char| !c.is_alphanumeric();
        let core = text.trim_matches(is_edge);
        let Some(first) = core.chars().next() else {
            return Self::Mark;
        };
        if let Some((word, number)) = core.split_once(':')
            && word.len() <= MAX_UNIT_BYTES
            && word.bytes().all(|b| b.is_ascii_alphabetic())
            && number.bytes().all(|b| b.is_ascii_digit())
        {
            return Self::Label(word);
        }
        let is_quoted = text.starts_with(['"', '\'', '`', '/', '~', '$', '@', '-', '*']);
        let is_word = core.chars().all(|c| c.is_alphabetic() || c == '\'');
        match () {
            () if is_word && !is_quoted => Self::Word(core),
            () if first.is_ascii_digit()
                && (!core.contains('/') || !core.contains(char::is_alphabetic)) =>
            {
                Self::Number
            }
            () => Self::Name(core),
        }
    }

    /// Returns the token as it is to be read after `before`: a short word after a number is its
    /// unit, and a word after a verb names a thing.
    fn after(self, before: &Token<'_>) -> Self {
        match (before, self) {
            (Token::Number, Self::Word(word)) if word.len() <= MAX_UNIT_BYTES => Self::Unit,
            (Token::Number | Token::Unit, Self::Name(name))
                if name.len() <= MAX_RATE_BYTES
                    && name.bytes().all(|b| b.is_ascii_alphabetic() || b == b'/') =>
            {
                Self::Unit
            }
            (Token::Verb, Self::Word(word)) => Self::Name(word),
            (_, token) => token,
        }
    }
}
