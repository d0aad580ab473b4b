//! Patterns of ignore files, read as git reads them: byte by byte, with its own rules for what
//! is between brackets.

use super::{Token, named_class};

/// The tokens of a pattern; `None` where git lets it match nothing.
pub(super) fn tokenize(pattern: &[u8]) -> Option<Vec<Token>> {
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
                    // At least one directory: git lets `**` stand for none only before a
                    // slash that is not escaped.
                    [b'\\', b'/', ..] if is_component => {
                        any_directories(&mut tokens);
                        tokens.push(Token::Star);
                    }
                    _ => tokens.push(Token::Star),
                }
                continue;
            }
            b'?' => tokens.push(Token::AnyChar),
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
                    byte => Token::Char(u32::from(*byte)),
                });
            }
            byte => tokens.push(Token::Char(u32::from(*byte))),
        }
        i += 1;
    }
    Some(tokens)
}

fn any_directories(tokens: &mut Vec<Token>) {
    if tokens.last() != Some(&Token::AnyDirs) {
        tokens.push(Token::AnyDirs);
    }
}

/// The class that begins at `start`, and where the text after it begins; `None` where it does not
/// end or names a class that does not exist.
fn class(pattern: &[u8], start: usize) -> Option<(Token, usize)> {
    let negated = matches!(pattern.get(start + 1)?, b'!' | b'^');
    let first = start + 1 + usize::from(negated);
    let mut ranges = Vec::new();
    // The byte before a hyphen. A range or a named class is not one.
    let mut previous = None;
    let mut i = first;
    loop {
        let byte = *pattern.get(i)?;
        let after = pattern.get(i + 1..).unwrap_or_default();
        let single = match (byte, after) {
            (b']', _) if i > first => break,
            (b'\\', _) => {
                i += 1;
                *pattern.get(i)?
            }
            (b'-', [to, ..]) if *to != b']' && previous.is_some() => {
                i += 1;
                if *to == b'\\' {
                    i += 1;
                }
                let to = *pattern.get(i)?;
                ranges.extend(previous.map(|from| (u32::from(from), u32::from(to))));
                previous = None;
                i += 1;
                continue;
            }
            (b'[', [b':', name @ ..]) => {
                let end = name.iter().position(|b| *b == b']')?;
                match name[..end].strip_suffix(b":") {
                    Some(b"space") => ranges.extend([(0x09, 0x0a), (0x0d, 0x0d), (0x20, 0x20)]),
                    Some(name) => ranges.extend(named_class(std::str::from_utf8(name).ok()?)?),
                    None => {
                        ranges.push((u32::from(b'['), u32::from(b'[')));
                        previous = Some(b'[');
                        i += 1;
                        continue;
                    }
                }
                previous = None;
                i += 2 + end + 1;
                continue;
            }
            (byte, _) => byte,
        };
        ranges.push((u32::from(single), u32::from(single)));
        previous = Some(single);
        i += 1;
    }
    Some((Token::Class { negated, ranges }, i + 1))
}
