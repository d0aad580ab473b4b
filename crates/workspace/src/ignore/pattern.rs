//! Patterns of ignore files, parsed and matched byte by byte as git does it.
//!
//! `globset` is not used, because every call first reads ignore files of perhaps a hundred
//! patterns, and compiling those to automata costs more than searching a small folder.

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Byte(u8),
    Separator,
    AnyByte,
    Star,
    /// `**/`: any number of directories, or none.
    AnyDirectories,
    /// `/**` at the end: everything below a directory, but not the directory itself.
    Rest,
    Class {
        negated: bool,
        ranges: Vec<(u8, u8)>,
    },
}

impl Token {
    fn matches(&self, byte: u8) -> bool {
        byte != b'/'
            && match self {
                Token::Byte(own) => byte == *own,
                Token::Class { negated, ranges } => {
                    let is_in = |(from, to): &(u8, u8)| (*from..=*to).contains(&byte);
                    ranges.iter().any(is_in) != *negated
                }
                _ => true,
            }
    }
}

/// A pattern in the form that is fastest to match: mostly a text with one star or none.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Form {
    Exact(Vec<u8>),
    Suffix(Vec<u8>),
    Prefix(Vec<u8>),
    General(Vec<Token>),
}

#[derive(Debug, Clone)]
pub(crate) struct BytePattern {
    form: Form,
    /// If true, only the last component of a path is compared: the pattern has no slash but a
    /// trailing one, or is `**/name`.
    is_for_names: bool,
}

impl BytePattern {
    /// Compiles a pattern without its leading and trailing slash. `anchored` is true if it had a
    /// slash other than a trailing one. Returns `None` if it can't match anything.
    pub(crate) fn new(pattern: &[u8], anchored: bool) -> Option<Self> {
        let name = match pattern.strip_prefix(b"**/") {
            Some(name) if !name.contains(&b'/') && name != b"**" => Some(name),
            _ => (!anchored).then_some(pattern),
        };
        let tokens = tokenize(name.unwrap_or(pattern))?;
        let form = match tokens.as_slice() {
            [Token::Star, rest @ ..] if !rest.contains(&Token::Separator) => {
                literal(rest).map(Form::Suffix)
            }
            [rest @ .., Token::Star] => literal(rest).map(Form::Prefix),
            all => literal(all).map(Form::Exact),
        };
        Some(Self {
            form: form.unwrap_or(Form::General(tokens)),
            is_for_names: name.is_some(),
        })
    }

    #[inline]
    pub(crate) fn matches(&self, path: &[u8], name_at: usize) -> bool {
        let text = if self.is_for_names {
            path.get(name_at..).unwrap_or_default()
        } else {
            path
        };
        match &self.form {
            // Most texts differ in the first byte, and comparing that alone first is faster.
            Form::Exact(literal) => text.first() == literal.first() && text == literal,
            Form::Suffix(literal) => text
                .strip_suffix(literal.as_slice())
                .is_some_and(|rest| !rest.contains(&b'/')),
            Form::Prefix(literal) => text
                .strip_prefix(literal.as_slice())
                .is_some_and(|rest| !rest.contains(&b'/')),
            Form::General(tokens) => has_end(tokens, text) && matches_tokens(tokens, text),
        }
    }

    pub(super) fn size(&self) -> usize {
        let of_token = |token: &Token| match token {
            Token::Class { ranges, .. } => size_of::<Token>() + size_of_val(ranges.as_slice()),
            _ => size_of::<Token>(),
        };
        match &self.form {
            Form::Exact(bytes) | Form::Suffix(bytes) | Form::Prefix(bytes) => bytes.len(),
            Form::General(tokens) => tokens.iter().map(of_token).sum(),
        }
    }

    pub(super) fn last_bytes(&self) -> Option<Vec<u8>> {
        let tokens = match &self.form {
            Form::Exact(literal) | Form::Suffix(literal) => {
                return literal.last().map(|last| vec![*last]);
            }
            Form::Prefix(_) => return None,
            Form::General(tokens) => tokens,
        };
        match tokens.last()? {
            Token::Byte(byte) => Some(vec![*byte]),
            Token::Class {
                negated: false,
                ranges,
            } => Some(ranges.iter().flat_map(|(from, to)| *from..=*to).collect()),
            _ => None,
        }
    }
}

fn literal(tokens: &[Token]) -> Option<Vec<u8>> {
    let byte = |token: &Token| match token {
        Token::Byte(byte) => Some(*byte),
        Token::Separator => Some(b'/'),
        _ => None,
    };
    tokens.iter().map(byte).collect()
}

/// Returns true if the text ends as the tokens after the last `*` require. Most texts don't, and
/// matching from the front takes several times as long.
fn has_end(tokens: &[Token], text: &[u8]) -> bool {
    let is_one =
        |token: &&Token| matches!(token, Token::Byte(_) | Token::AnyByte | Token::Class { .. });
    let mut end = tokens.iter().rev().take_while(is_one);
    let mut bytes = text.iter().rev();
    end.all(|token| bytes.next().is_some_and(|byte| token.matches(*byte)))
}

/// Matches a text. On a mismatch it goes back only to the last `*` and the last `**/`: whatever an
/// earlier one could match besides, the later one can match as well. So the time is bounded by the
/// product of both lengths.
fn matches_tokens(tokens: &[Token], text: &[u8]) -> bool {
    let (mut token, mut at) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    let mut directories: Option<(usize, usize)> = None;
    loop {
        let next = match tokens.get(token) {
            None if at == text.len() => return true,
            None => None,
            Some(Token::Star) => {
                star = Some((token + 1, at));
                Some(at)
            }
            Some(Token::AnyDirectories) => {
                directories = Some((token + 1, at));
                star = None;
                Some(at)
            }
            Some(Token::Rest) => return at < text.len(),
            Some(_) if at == text.len() => None,
            Some(Token::Separator) => (text[at] == b'/').then_some(at + 1),
            Some(one) => one.matches(text[at]).then_some(at + 1),
        };
        if let Some(next) = next {
            at = next;
            token += 1;
            continue;
        }
        if let Some((after, from)) = star
            && text.get(from).is_some_and(|byte| *byte != b'/')
        {
            star = Some((after, from + 1));
            (token, at) = (after, from + 1);
            continue;
        }
        star = None;
        let Some((after, from)) = directories else {
            return false;
        };
        let Some(slash) = text[from..].iter().position(|b| *b == b'/') else {
            return false;
        };
        directories = Some((after, from + slash + 1));
        (token, at) = (after, from + slash + 1);
    }
}

fn tokenize(pattern: &[u8]) -> Option<Vec<Token>> {
    let mut tokens = Vec::with_capacity(pattern.len());
    let mut i = 0;
    while let Some(byte) = pattern.get(i) {
        match byte {
            b'*' => {
                let stars = pattern[i..].iter().take_while(|b| **b == b'*').count();
                let is_component = stars > 1 && (i == 0 || pattern[i - 1] == b'/');
                i += stars;
                match pattern.get(i..).unwrap_or_default() {
                    [] if is_component => tokens.push(Token::Rest),
                    [b'/', ..] if is_component => {
                        any_directories(&mut tokens);
                        i += 1;
                    }
                    // Here `**` stands for at least one directory: only before an unescaped slash,
                    // git lets it stand for none.
                    [b'\\', b'/', ..] if is_component => {
                        any_directories(&mut tokens);
                        tokens.push(Token::Star);
                    }
                    _ => tokens.push(Token::Star),
                }
                continue;
            }
            b'?' => tokens.push(Token::AnyByte),
            b'/' => tokens.push(Token::Separator),
            b'[' => {
                let (token, end) = class(pattern, i)?;
                tokens.push(token);
                i = end;
                continue;
            }
            b'\\' => {
                i += 1;
                tokens.push(match pattern.get(i)? {
                    b'/' => Token::Separator,
                    byte => Token::Byte(*byte),
                });
            }
            byte => tokens.push(Token::Byte(*byte)),
        }
        i += 1;
    }
    Some(tokens)
}

fn any_directories(tokens: &mut Vec<Token>) {
    if tokens.last() != Some(&Token::AnyDirectories) {
        tokens.push(Token::AnyDirectories);
    }
}

/// Parses the class at `start`, such as `[a-z]`. Returns it and the position after it, or `None` if
/// the class is not closed or has an unknown name.
fn class(pattern: &[u8], start: usize) -> Option<(Token, usize)> {
    let found = crate::pattern::class(pattern, start).filter(|class| !class.has_unknown_name)?;
    // For git, a range that runs backwards is its first byte.
    let range = |(from, to): (char, char)| {
        Some((u8::try_from(from).ok()?, u8::try_from(to.max(from)).ok()?))
    };
    let token = Token::Class {
        negated: found.negated,
        ranges: found.ranges.into_iter().filter_map(range).collect(),
    };
    Some((token, found.end))
}
