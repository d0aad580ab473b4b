//! Glob patterns over slash-separated paths: for the tools and for ignore files.
//!
//! `*` and `?` stay within a name, `**` as a whole component spans any number of them, classes are
//! `[a-z]`, `[!a]`, `[^a]`, `[[:digit:]]`; a backslash takes the next character literally. A
//! leading dot needs no special mention. The tools' patterns for paths may also have groups:
//! `@(a|b)`, `?(a)`, `*(a)`, `+(a)`, `!(a)`.
//!
//! # How it works
//!
//! [`expand_braces`] makes several patterns of one with braces. Each pattern is compiled to a list
//! of tokens: a character, a separator, `*`, `**/`, a class, a group. Most patterns are a literal
//! text with a star before or behind it, or none; their `Shape` compares bytes and needs no tokens.
//!
//! The others go through one of two matchers. `matches_tokens` goes back to the last `*` and the
//! last `**/` only, which takes no more than the product of both lengths. For groups that is not
//! enough: `GroupMatcher` follows all places at once where a token may begin, and remembers where
//! each group can end that begins at a place, so that nested groups don't multiply the time.
//!
//! A walk asks more than whether a path matches. [`Pattern::can_match_below`] says whether a
//! directory is worth entering, and must never say no above a path that matches (the fuzz target
//! `pattern` checks that).
//!
//! The tools' patterns are compared with characters, those of ignore files with bytes, as git does
//! it; what git understands otherwise is in `git`. The matchers are ours rather than `globset`'s,
//! because ignore files with a hundred patterns come before every first answer: compiling those to
//! automata costs more than searching a small folder. Which of several rules decides is left to
//! `ignore`.

mod git;

use gemini_tools_core::tool::ToolError;
use std::collections::{BTreeSet, HashMap};
use thiserror::Error;

/// An element of a compiled pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Char(u32),
    Separator,
    AnyChar,
    Star,
    /// `**/`: any number of whole components, also none.
    AnyDirs,
    /// A final `**`: at least one component.
    Rest,
    Class {
        negated: bool,
        ranges: Vec<(u32, u32)>,
    },
    Group {
        kind: Group,
        choices: Vec<Vec<Token>>,
    },
}

/// The number of times that one of a group's choices occurs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Group {
    Once,
    AtMostOnce,
    Often,
    AtLeastOnce,
    /// Anything else does.
    Not,
}

impl Group {
    fn from_sign(sign: char) -> Option<Self> {
        Some(match sign {
            '@' => Group::Once,
            '?' => Group::AtMostOnce,
            '*' => Group::Often,
            '+' => Group::AtLeastOnce,
            '!' => Group::Not,
            _ => return None,
        })
    }
}

/// The part of a pattern that most patterns consist of, for a quick answer.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Shape {
    /// The whole text.
    Exact(Vec<u8>),
    /// `*` and then this.
    Suffix(Vec<u8>),
    /// This and then `*`.
    Prefix(Vec<u8>),
    General,
}

/// The units with which a pattern's tokens are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PatternMode {
    /// Characters.
    Plain,
    /// Characters, and there are groups among the tokens.
    Groups,
    /// Bytes.
    Bytes,
}

/// A compiled pattern without braces.
#[derive(Debug, Clone)]
pub struct Pattern {
    tokens: Vec<Token>,
    shape: Shape,
    /// Only the last component is looked at: the pattern has no inner slash, or is `**/name`.
    basename_only: bool,
    ignore_case: bool,
    mode: PatternMode,
}

impl Pattern {
    /// Compiles a pattern for whole relative paths: `*.c` matches at the top only.
    pub fn for_path(pattern: &str, ignore_case: bool) -> Self {
        let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
        Self::for_whole_path(pattern, ignore_case, false)
    }

    fn for_whole_path(pattern: &str, ignore_case: bool, with_groups: bool) -> Self {
        match pattern.strip_prefix("**/") {
            Some(name) if !name.contains('/') && name != "**" => {
                Self::compile(name, true, ignore_case, with_groups)
            }
            _ => Self::compile(pattern, false, ignore_case, with_groups),
        }
    }

    /// Compiles a pattern for names: it is compared with the last component of a path.
    pub fn for_name(pattern: &str, ignore_case: bool) -> Self {
        Self::compile(pattern, true, ignore_case, false)
    }

    /// Compiles the pattern of an ignore file, with leading and trailing slash taken off; `None`
    /// where it can't match anything.
    pub(super) fn for_ignore_rule(pattern: &[u8], anchored: bool) -> Option<Self> {
        let name = match pattern.strip_prefix(b"**/") {
            Some(name) if !name.contains(&b'/') && name != b"**" => Some(name),
            _ => (!anchored).then_some(pattern),
        };
        let tokens = git::tokenize(name.unwrap_or(pattern))?;
        let shape = shape_of(&tokens, false, true);
        let is_general = shape == Shape::General;
        Some(Self {
            shape,
            // Only a pattern that has no simpler shape needs them.
            tokens: if is_general { tokens } else { Vec::new() },
            basename_only: name.is_some(),
            ignore_case: false,
            mode: PatternMode::Bytes,
        })
    }

    fn compile(pattern: &str, basename_only: bool, ignore_case: bool, with_groups: bool) -> Self {
        let chars: Vec<char> = pattern.chars().collect();
        let tokens = tokenize(&chars, ignore_case, with_groups);
        let shape = shape_of(&tokens, ignore_case, false);
        let is_group = |token: &Token| matches!(token, Token::Group { .. });
        Self {
            mode: if tokens.iter().any(is_group) {
                PatternMode::Groups
            } else {
                PatternMode::Plain
            },
            tokens,
            shape,
            basename_only,
            ignore_case,
        }
    }

    /// Returns true if a path matches; `name_at` is the offset of its last component.
    #[inline]
    pub fn matches(&self, path: &[u8], name_at: usize) -> bool {
        let text = if self.basename_only {
            path.get(name_at..).unwrap_or_default()
        } else {
            path
        };
        match &self.shape {
            Shape::Exact(literal) => self.same(text, literal),
            Shape::Suffix(literal) => {
                text.len() >= literal.len()
                    && self.same(&text[text.len() - literal.len()..], literal)
                    && (self.basename_only || !text.contains(&b'/'))
            }
            Shape::Prefix(literal) => {
                text.len() >= literal.len()
                    && self.same(&text[..literal.len()], literal)
                    && (self.basename_only || !text[literal.len()..].contains(&b'/'))
            }
            Shape::General => self.has_end(text) && self.fits(&self.tokens, text),
        }
    }

    /// Returns true if a text ends as the pattern does behind its last `*`, as far as that is compared with bytes: most
    /// texts do not, and going through the pattern from its beginning takes several times as long.
    #[inline]
    fn has_end(&self, text: &[u8]) -> bool {
        let is_one = |token: &&Token| {
            let is_one = matches!(token, Token::Char(_) | Token::AnyChar | Token::Class { .. });
            is_one && self.mode == PatternMode::Bytes
        };
        let mut end = self.tokens.iter().rev().take_while(is_one);
        let mut bytes = text.iter().rev();
        end.all(|token| {
            let byte = bytes.next();
            byte.is_some_and(|byte| fits_char(token, u32::from(*byte), self.ignore_case))
        })
    }

    /// Returns true if these tokens match a text.
    fn fits(&self, tokens: &[Token], text: &[u8]) -> bool {
        match self.mode {
            PatternMode::Plain => matches_tokens::<false>(tokens, text, self.ignore_case),
            PatternMode::Groups => GroupMatcher::new(text, self.ignore_case).matches(tokens),
            PatternMode::Bytes => matches_tokens::<true>(tokens, text, self.ignore_case),
        }
    }

    #[inline]
    fn same(&self, a: &[u8], b: &[u8]) -> bool {
        if self.ignore_case {
            a.eq_ignore_ascii_case(b)
        } else {
            // Mostly the first byte differs.
            a.first() == b.first() && a == b
        }
    }

    /// Returns true if something below the directory `path` can match.
    pub fn can_match_below(&self, path: &[u8]) -> bool {
        if self.basename_only {
            return true;
        }
        let mut components = path.split(|b| *b == b'/');
        for segment in self.tokens.split(|t| *t == Token::Separator) {
            if segment
                .iter()
                .any(|t| matches!(t, Token::AnyDirs | Token::Rest))
            {
                return true;
            }
            match components.next() {
                None => return true,
                Some(name) if self.fits(segment, name) => {}
                Some(_) => return false,
            }
        }
        false
    }

    /// Returns the memory that grows with the pattern, in bytes.
    pub(super) fn size(&self) -> usize {
        let of_token = |token: &Token| match token {
            Token::Class { ranges, .. } => size_of::<Token>() + size_of_val(ranges.as_slice()),
            _ => size_of::<Token>(),
        };
        let literal = match &self.shape {
            Shape::Exact(bytes) | Shape::Suffix(bytes) | Shape::Prefix(bytes) => bytes.len(),
            Shape::General => 0,
        };
        literal + self.tokens.iter().map(of_token).sum::<usize>()
    }

    /// The bytes with which a matching path can end, or `None` for any. For patterns of ignore
    /// files.
    pub(super) fn last_bytes(&self) -> Option<Vec<u8>> {
        let byte = |c: u32| u8::try_from(c).ok();
        if let Shape::Exact(literal) | Shape::Suffix(literal) = &self.shape {
            return literal.last().map(|last| vec![*last]);
        }
        match self.tokens.last()? {
            Token::Char(c) => byte(*c).map(|c| vec![c]),
            Token::Class {
                negated: false,
                ranges,
            } => {
                let bytes = ranges.iter().flat_map(|(from, to)| *from..=*to);
                Some(bytes.filter_map(byte).collect())
            }
            _ => None,
        }
    }
}

fn fold(c: u32, ignore_case: bool) -> u32 {
    if !ignore_case {
        return c;
    }
    match char::from_u32(c) {
        Some(c) if c.is_ascii() => u32::from(c.to_ascii_lowercase()),
        Some(c) => {
            let mut lower = c.to_lowercase();
            match (lower.next(), lower.next()) {
                (Some(one), None) => u32::from(one),
                _ => u32::from(c),
            }
        }
        None => c,
    }
}

fn tokenize(chars: &[char], ignore_case: bool, with_groups: bool) -> Vec<Token> {
    let mut tokens = Vec::with_capacity(chars.len());
    let mut i = 0;
    while i < chars.len() {
        if with_groups && let Some((kind, choices, end)) = group(chars, i) {
            let compile = |choice: &[char]| {
                let mut tokens = tokenize(choice, ignore_case, true);
                // A group holds no slash, and matches none: `**` is a star like others there.
                for token in tokens.iter_mut().filter(|token| **token == Token::Rest) {
                    *token = Token::Star;
                }
                tokens
            };
            let choices = choices.into_iter().map(compile).collect();
            tokens.push(Token::Group { kind, choices });
            i = end;
            continue;
        }
        match chars[i] {
            '*' => {
                let mut end = i + chars[i..].iter().take_while(|c| **c == '*').count();
                // The last one belongs to a group.
                if with_groups && end - i > 1 && group(chars, end - 1).is_some() {
                    end -= 1;
                }
                let whole = end - i == 2
                    && (i == 0 || chars[i - 1] == '/')
                    && (end == chars.len() || chars[end] == '/');
                i = end;
                if !whole {
                    tokens.push(Token::Star);
                } else if end == chars.len() {
                    tokens.push(Token::Rest);
                } else {
                    i += 1;
                    if tokens.last() != Some(&Token::AnyDirs) {
                        tokens.push(Token::AnyDirs);
                    }
                }
                continue;
            }
            '?' => tokens.push(Token::AnyChar),
            '/' => tokens.push(Token::Separator),
            '[' => {
                if let Some((token, end)) = class(chars, i, ignore_case) {
                    tokens.push(token);
                    i = end;
                    continue;
                }
                tokens.push(Token::Char(u32::from('[')));
            }
            '\\' if i + 1 < chars.len() => {
                i += 1;
                tokens.push(Token::Char(fold(u32::from(chars[i]), ignore_case)));
            }
            c => tokens.push(Token::Char(fold(u32::from(c), ignore_case))),
        }
        i += 1;
    }
    tokens
}

/// The group that begins at `start`: its choices, and where the text after it begins. A group
/// that holds a slash is none, as in Gemini CLI.
fn group(chars: &[char], start: usize) -> Option<(Group, Vec<&[char]>, usize)> {
    let kind = Group::from_sign(*chars.get(start)?)?;
    if chars.get(start + 1) != Some(&'(') {
        return None;
    }
    let mut choices = Vec::new();
    let (mut depth, mut from, mut i) = (1, start + 2, start + 2);
    loop {
        match chars.get(i)? {
            '/' => return None,
            '\\' => i += 1,
            '[' => {
                if let Some((_, end)) = class(chars, i, false) {
                    i = end;
                    continue;
                }
            }
            '(' => depth += 1,
            '|' if depth == 1 => {
                choices.push(&chars[from..i]);
                from = i + 1;
            }
            ')' => {
                depth -= 1;
                if depth == 0 {
                    choices.push(&chars[from..i]);
                    return Some((kind, choices, i + 1));
                }
            }
            _ => {}
        }
        i += 1;
    }
}

/// The class that begins at `start`, and where the text after it begins.
fn class(chars: &[char], start: usize, ignore_case: bool) -> Option<(Token, usize)> {
    let mut i = start + 1;
    let negated = matches!(chars.get(i), Some('!' | '^'));
    if negated {
        i += 1;
    }
    let first = i;
    let mut ranges = Vec::new();
    loop {
        let mut c = *chars.get(i)?;
        match c {
            ']' if i > first => break,
            '/' => return None,
            '[' if chars.get(i + 1) == Some(&':') => {
                let name_at = i + 2;
                let length = chars.get(name_at..)?.iter().position(|c| *c == ':')?;
                let name: String = chars[name_at..name_at + length].iter().collect();
                if chars.get(name_at + length + 1) == Some(&']')
                    && let Some(named) = named_class(match name.as_str() {
                        "lower" | "upper" if ignore_case => "alpha",
                        name => name,
                    })
                {
                    ranges.extend_from_slice(named);
                    i = name_at + length + 2;
                    continue;
                }
            }
            '\\' => {
                i += 1;
                c = *chars.get(i)?;
            }
            _ => {}
        }
        let mut to = c;
        if chars.get(i + 1) == Some(&'-') && chars.get(i + 2).is_some_and(|c| *c != ']') {
            i += 2;
            to = chars[i];
            if to == '\\' {
                i += 1;
                to = *chars.get(i)?;
            }
        }
        let (from, to) = (u32::from(c), u32::from(to));
        ranges.push((from, to));
        if ignore_case {
            ranges.push((fold(from, true), fold(to, true)));
            let upper = |c: u32| char::from_u32(c).map_or(c, |c| u32::from(c.to_ascii_uppercase()));
            ranges.push((upper(from), upper(to)));
        }
        i += 1;
    }
    Some((Token::Class { negated, ranges }, i + 1))
}

fn named_class(name: &str) -> Option<&'static [(u32, u32)]> {
    Some(match name {
        "alpha" => &[(0x41, 0x5a), (0x61, 0x7a)],
        "digit" => &[(0x30, 0x39)],
        "alnum" => &[(0x30, 0x39), (0x41, 0x5a), (0x61, 0x7a)],
        "upper" => &[(0x41, 0x5a)],
        "lower" => &[(0x61, 0x7a)],
        "space" => &[(0x09, 0x0d), (0x20, 0x20)],
        "blank" => &[(0x09, 0x09), (0x20, 0x20)],
        "cntrl" => &[(0x00, 0x1f), (0x7f, 0x7f)],
        "graph" => &[(0x21, 0x7e)],
        "print" => &[(0x20, 0x7e)],
        "punct" => &[(0x21, 0x2f), (0x3a, 0x40), (0x5b, 0x60), (0x7b, 0x7e)],
        "xdigit" => &[(0x30, 0x39), (0x41, 0x46), (0x61, 0x66)],
        _ => return None,
    })
}

fn shape_of(tokens: &[Token], ignore_case: bool, is_bytewise: bool) -> Shape {
    let literal = |tokens: &[Token]| -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        for token in tokens {
            let c = match token {
                Token::Char(c) if is_bytewise => {
                    bytes.push(u8::try_from(*c).ok()?);
                    continue;
                }
                Token::Char(c) => char::from_u32(*c)?,
                Token::Separator => '/',
                _ => return None,
            };
            if ignore_case && !c.is_ascii() {
                return None;
            }
            let mut buffer = [0; 4];
            bytes.extend_from_slice(c.encode_utf8(&mut buffer).as_bytes());
        }
        Some(bytes)
    };
    match tokens {
        [Token::Star, rest @ ..] if !rest.contains(&Token::Separator) => {
            literal(rest).map_or(Shape::General, Shape::Suffix)
        }
        [rest @ .., Token::Star] => literal(rest).map_or(Shape::General, Shape::Prefix),
        all => literal(all).map_or(Shape::General, Shape::Exact),
    }
}

/// The character at `at` and its length; a byte that is not UTF-8 counts as one character.
#[inline]
fn char_at(text: &[u8], at: usize) -> (u32, usize) {
    let first = text[at];
    if first < 0x80 {
        return (u32::from(first), 1);
    }
    let length = match first {
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => 1,
    };
    match text.get(at..at + length).map(std::str::from_utf8) {
        Some(Ok(s)) => (s.chars().next().map_or(0xfffd, u32::from), length),
        _ => (0x11_0000 + u32::from(first), 1),
    }
}

/// The byte or the character at `at`, and its length.
#[inline]
fn one_at<const BYTES: bool>(text: &[u8], at: usize) -> (u32, usize) {
    if BYTES {
        (u32::from(text[at]), 1)
    } else {
        char_at(text, at)
    }
}

/// Returns true if a token for one character matches this one.
#[inline]
fn fits_char(token: &Token, c: u32, ignore_case: bool) -> bool {
    c != u32::from('/')
        && match token {
            Token::Char(wanted) => fold(c, ignore_case) == *wanted,
            Token::Class { negated, ranges } => {
                let folded = fold(c, ignore_case);
                ranges
                    .iter()
                    .any(|(from, to)| (*from..=*to).contains(&c) || (*from..=*to).contains(&folded))
                    != *negated
            }
            _ => true,
        }
}

/// Matches patterns with groups by following all places at once at which a token may begin.
/// The matches of a group from a place are found out once only, so time is bounded by a power of
/// both lengths that does not depend on how groups are nested.
struct GroupMatcher<'a> {
    text: &'a [u8],
    ignore_case: bool,
    /// By the group's address and the place where it begins.
    known: HashMap<(*const Token, usize), BTreeSet<usize>>,
}

impl<'a> GroupMatcher<'a> {
    fn new(text: &'a [u8], ignore_case: bool) -> Self {
        Self {
            text,
            ignore_case,
            known: HashMap::new(),
        }
    }

    fn matches(mut self, tokens: &[Token]) -> bool {
        self.follow(tokens, 0).contains(&self.text.len())
    }

    /// Returns the places where the tokens may end that begin at `from`.
    fn follow(&mut self, tokens: &[Token], from: usize) -> BTreeSet<usize> {
        let mut places = BTreeSet::from([from]);
        for (i, token) in tokens.iter().enumerate() {
            let mut next = BTreeSet::new();
            for place in places {
                self.step(token, &tokens[i + 1..], place, &mut next);
            }
            places = next;
        }
        places
    }

    /// Adds where one token may end.
    fn step(&mut self, token: &Token, rest: &[Token], from: usize, next: &mut BTreeSet<usize>) {
        let text = self.text;
        match token {
            Token::Group { kind, choices } => {
                let key = (std::ptr::from_ref(token), from);
                if !self.known.contains_key(&key) {
                    let ends = self.group(*kind, choices, rest, from);
                    self.known.insert(key, ends);
                }
                next.extend(&self.known[&key]);
            }
            Token::Star => next.extend(self.within_name(from)),
            Token::AnyDirs => {
                next.insert(from);
                let slashes = (from..text.len()).filter(|i| text[*i] == b'/');
                next.extend(slashes.map(|i| i + 1));
            }
            Token::Rest => next.extend((from < text.len()).then_some(text.len())),
            _ if from == text.len() => {}
            Token::Separator => next.extend((text[from] == b'/').then_some(from + 1)),
            one => {
                let (c, length) = char_at(text, from);
                next.extend(fits_char(one, c, self.ignore_case).then_some(from + length));
            }
        }
    }

    /// The beginnings of all characters of a name from `from` on, and its end.
    fn within_name(&self, from: usize) -> Vec<usize> {
        let mut places = vec![from];
        let mut at = from;
        while at < self.text.len() && self.text[at] != b'/' {
            at += char_at(self.text, at).1;
            places.push(at);
        }
        places
    }

    fn group(
        &mut self,
        kind: Group,
        choices: &[Vec<Token>],
        rest: &[Token],
        from: usize,
    ) -> BTreeSet<usize> {
        let once = self.any(choices, from);
        match kind {
            Group::Once => once,
            Group::AtMostOnce => &once | &BTreeSet::from([from]),
            Group::Often => &self.repeated(choices, once) | &BTreeSet::from([from]),
            Group::AtLeastOnce => self.repeated(choices, once),
            Group::Not => {
                // None of the choices, each with what follows, may be all of the name.
                let name = self.within_name(from);
                let end = name.last().copied().unwrap_or(from);
                let here = rest.split(|t| *t == Token::Separator).next();
                let here = here.unwrap_or_default();
                let is_one = |at: usize| self.follow(here, at).contains(&end);
                if once.into_iter().any(is_one) {
                    BTreeSet::new()
                } else {
                    name.into_iter().collect()
                }
            }
        }
    }

    fn any(&mut self, choices: &[Vec<Token>], from: usize) -> BTreeSet<usize> {
        let ends = choices.iter().flat_map(|choice| self.follow(choice, from));
        ends.collect()
    }

    fn repeated(&mut self, choices: &[Vec<Token>], once: BTreeSet<usize>) -> BTreeSet<usize> {
        let mut ends = once.clone();
        let mut pending: Vec<usize> = once.into_iter().collect();
        while let Some(from) = pending.pop() {
            for end in self.any(choices, from) {
                if ends.insert(end) {
                    pending.push(end);
                }
            }
        }
        ends
    }
}

/// Matches by going back to the last `*` and the last `**/` only. That is enough: what an
/// earlier one could take in addition, the later one can take as well. Time is bounded by
/// the product of both lengths.
fn matches_tokens<const BYTES: bool>(tokens: &[Token], text: &[u8], ignore_case: bool) -> bool {
    let (mut token, mut at) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    let mut dirs: Option<(usize, usize)> = None;
    loop {
        let advanced = match tokens.get(token) {
            None if at == text.len() => return true,
            None => None,
            Some(Token::Star) => {
                star = Some((token + 1, at));
                Some(at)
            }
            Some(Token::AnyDirs) => {
                dirs = Some((token + 1, at));
                star = None;
                Some(at)
            }
            Some(Token::Rest) => return at < text.len(),
            Some(_) if at == text.len() => None,
            Some(Token::Separator) => (text[at] == b'/').then_some(at + 1),
            Some(one) => {
                let (c, length) = one_at::<BYTES>(text, at);
                fits_char(one, c, ignore_case).then_some(at + length)
            }
        };
        if let Some(next) = advanced {
            at = next;
            token += 1;
            continue;
        }
        if let Some((after, from)) = star
            && from < text.len()
            && text[from] != b'/'
        {
            let next = from + one_at::<BYTES>(text, from).1;
            star = Some((after, next));
            (token, at) = (after, next);
            continue;
        }
        star = None;
        if let Some((after, from)) = dirs
            && let Some(slash) = text[from..].iter().position(|b| *b == b'/')
        {
            let next = from + slash + 1;
            dirs = Some((after, next));
            (token, at) = (after, next);
            continue;
        }
        return false;
    }
}

/// The most patterns that braces may stand for.
pub const MAX_ALTERNATIVES: usize = 4096;

/// The braces in a pattern stand for more than [`MAX_ALTERNATIVES`] patterns.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("The braces in {0:?} stand for more than {MAX_ALTERNATIVES} patterns.")]
pub struct TooManyAlternatives(String);

impl From<TooManyAlternatives> for ToolError {
    fn from(error: TooManyAlternatives) -> Self {
        Self::invalid(error.to_string())
    }
}

/// Expands `{a,b}` (nested too) and `{1..3}`, `{a..e}`. Braces without a comma or range, and
/// such as don't close, mean themselves.
///
/// # Errors
///
/// An error: the braces stand for more than [`MAX_ALTERNATIVES`] patterns.
pub fn expand_braces(pattern: &str) -> Result<Vec<String>, TooManyAlternatives> {
    let mut done = Vec::new();
    let mut pending = vec![(String::new(), pattern.to_owned())];
    while let Some((head, rest)) = pending.pop() {
        match next_group(&rest) {
            None => done.push(head + &rest),
            Some((start, end, choices)) => {
                for choice in choices.into_iter().rev() {
                    // What is in a choice may hold braces of its own, so it is looked at
                    // again; what is before it may not.
                    pending.push((
                        format!("{head}{}", &rest[..start]),
                        format!("{choice}{}", &rest[end..]),
                    ));
                }
            }
        }
        if done.len() + pending.len() > MAX_ALTERNATIVES {
            return Err(TooManyAlternatives(pattern.to_owned()));
        }
    }
    Ok(done)
}

/// The first brace group that means something: its bounds and its choices.
fn next_group(text: &str) -> Option<(usize, usize, Vec<String>)> {
    let bytes = text.as_bytes();
    let mut i = 0;
    while i < bytes.len() {
        match bytes[i] {
            b'\\' => i += 1,
            b'{' => {
                if let Some((end, commas)) = group_end(bytes, i) {
                    let inner = &text[i + 1..end];
                    if !commas.is_empty() {
                        let mut choices = Vec::new();
                        let mut from = i + 1;
                        for comma in commas.into_iter().chain([end]) {
                            choices.push(text[from..comma].to_owned());
                            from = comma + 1;
                        }
                        return Some((i, end + 1, choices));
                    }
                    if let Some(choices) = range(inner) {
                        return Some((i, end + 1, choices));
                    }
                }
            }
            _ => {}
        }
        i += 1;
    }
    None
}

fn group_end(bytes: &[u8], start: usize) -> Option<(usize, Vec<usize>)> {
    let mut depth = 0;
    let mut commas = Vec::new();
    let mut i = start;
    while i < bytes.len() {
        match bytes[i] {
            b'\\' => i += 1,
            b'{' => depth += 1,
            b'}' => {
                depth -= 1;
                if depth == 0 {
                    return Some((i, commas));
                }
            }
            b',' if depth == 1 => commas.push(i),
            _ => {}
        }
        i += 1;
    }
    None
}

fn range(inner: &str) -> Option<Vec<String>> {
    let (from, to) = inner.split_once("..")?;
    let (to, step) = match to.split_once("..") {
        Some((to, step)) => (to, step.parse::<i64>().ok()?.unsigned_abs().max(1)),
        None => (to, 1),
    };
    let step = usize::try_from(step).ok()?;
    if let (Ok(a), Ok(b)) = (from.parse::<i64>(), to.parse::<i64>()) {
        let width = if from.starts_with('0') || to.starts_with('0') {
            from.len().max(to.len())
        } else {
            0
        };
        let count = a.abs_diff(b);
        if count / step as u64 > MAX_ALTERNATIVES as u64 {
            return None;
        }
        let count = i64::try_from(count).ok()?;
        return Some(
            (0..=count)
                .step_by(step)
                .map(|i| format!("{:0width$}", if a <= b { a + i } else { a - i }))
                .collect(),
        );
    }
    let (mut a, mut b) = (from.chars(), to.chars());
    match (a.next(), a.next(), b.next(), b.next()) {
        (Some(x), None, Some(y), None) if x.is_ascii_alphabetic() && y.is_ascii_alphabetic() => {
            let mut letters: Vec<String> = if x <= y {
                (x..=y).map(String::from).collect()
            } else {
                (y..=x).rev().map(String::from).collect()
            };
            let mut at = 0;
            letters.retain(|_| {
                at += 1;
                (at - 1) % step == 0
            });
            Some(letters)
        }
        _ => None,
    }
}

/// A list of patterns of which one must match.
#[derive(Debug, Clone, Default)]
pub struct PatternSet(Vec<Pattern>);

impl PatternSet {
    /// Expands braces in `pattern` and compiles each alternative for whole paths, with groups
    /// such as `@(a|b)` and `!(a)`.
    ///
    /// # Errors
    ///
    /// As [`expand_braces`].
    pub fn for_paths(pattern: &str, ignore_case: bool) -> Result<Self, TooManyAlternatives> {
        let compile = |p: &String| {
            let p = p.strip_prefix("./").unwrap_or(p);
            Pattern::for_whole_path(p, ignore_case, true)
        };
        Ok(Self(expand_braces(pattern)?.iter().map(compile).collect()))
    }

    /// Compiles like [`PatternSet::for_paths`], but an alternative without a slash is compared with
    /// names in every directory, as in ignore files and `rg --glob`.
    ///
    /// # Errors
    ///
    /// As [`expand_braces`].
    pub fn for_names_or_paths(
        pattern: &str,
        ignore_case: bool,
    ) -> Result<Self, TooManyAlternatives> {
        let compile = |p: &String| match p.strip_prefix('/') {
            Some(rest) => Pattern::for_path(rest, ignore_case),
            None if p.contains('/') => Pattern::for_path(p, ignore_case),
            None => Pattern::for_name(p, ignore_case),
        };
        Ok(Self(expand_braces(pattern)?.iter().map(compile).collect()))
    }

    /// Adds the patterns of another set.
    pub fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// Returns true if there is no pattern at all.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns true if one of the patterns matches; see [`Pattern::matches`].
    #[inline]
    pub fn matches(&self, path: &[u8], name_at: usize) -> bool {
        self.0.iter().any(|p| p.matches(path, name_at))
    }

    /// Returns true if something below the directory can match.
    pub fn can_match_below(&self, path: &[u8]) -> bool {
        self.0.iter().any(|p| p.can_match_below(path))
    }
}

/// Splits a comma-separated list of patterns at the commas that are outside of braces.
pub fn split_list(list: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut depth, mut from, mut escaped) = (0_u32, 0, false);
    for (i, b) in list.bytes().enumerate() {
        match b {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'{' => depth += 1,
            b'}' => depth = depth.saturating_sub(1),
            b',' if depth == 0 => {
                parts.push(&list[from..i]);
                from = i + 1;
            }
            _ => {}
        }
    }
    parts.push(&list[from..]);
    parts
        .into_iter()
        .map(str::trim)
        .filter(|p| !p.is_empty())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{Pattern, PatternSet, expand_braces, split_list};

    fn name_at(path: &str) -> usize {
        path.rfind('/').map_or(0, |i| i + 1)
    }

    #[test]
    fn patterns_match_as_in_a_shell_with_globstar_and_dotglob() {
        let cases = [
            ("*.c", "a.c", true),
            ("*.c", "d/a.c", false),
            ("**/*.c", "a.c", true),
            ("**/*.c", "d/e/a.c", true),
            ("**/*.c", "d/e/a.cc", false),
            ("d/**/*.c", "d/a.c", true),
            ("d/**/*.c", "d/e/f/a.c", true),
            ("d/**/*.c", "e/d/a.c", false),
            ("d/**", "d/a/b", true),
            ("d/**", "d", false),
            ("**", "a/b", true),
            ("**/d/*.c", "x/d/a.c", true),
            ("**/d/*.c", "x/d/e/a.c", false),
            ("**/a*b/**/c", "x/aab/y/z/c", true),
            ("**/a*b/**/c", "x/aac/y/z/c", false),
            ("a?c", "abc", true),
            ("a?c", "aéc", true),
            ("a?c", "a/c", false),
            ("[!a]*.t", "b1.t", true),
            ("[!a]*.t", "a1.t", false),
            ("[a-c]x", "bx", true),
            ("[]]x", "]x", true),
            ("[[:digit:]]x", "3x", true),
            ("x[y", "x[y", true),
            (r"\*.t", "*.t", true),
            (r"\*.t", "a.t", false),
            ("**/.*", "x/.rc", true),
            ("*a*b", "xaxab", true),
            ("*a*b", "xaxa", false),
            ("./a/*.c", "a/x.c", true),
            ("a/*", "a/b", true),
            ("a/*", "a/b/c", false),
            ("é*", "é1", true),
            ("**/x/**", "a/x/b", true),
            ("a/**/b", "a/b", true),
            ("***", "a", true),
            ("***", "a/b", false),
            ("a/***/b", "a/x/y/b", false),
            ("a**b", "axxb", true),
            ("a**b", "ax/xb", false),
        ];
        for (pattern, path, expected) in cases {
            let got = Pattern::for_path(pattern, false).matches(path.as_bytes(), name_at(path));
            assert_eq!(got, expected, "{pattern} {path}");
        }
    }

    #[test]
    fn groups_match_as_in_minimatch() {
        let long = "a".repeat(60);
        let cases = [
            ("@(a|b).txt", "a.txt", true),
            ("@(a|b).txt", "c.txt", false),
            ("!(a).txt", "a.txt", false),
            ("!(a).txt", "ab.txt", true),
            ("!(a|b*).txt", "bc.txt", false),
            ("!(a)*", "abc", false),
            ("!(*.test).ts", "x.test.ts", false),
            ("!(*.test).ts", "x.ts", true),
            ("+(ab).c", "abab.c", true),
            ("+(ab).c", ".c", false),
            ("*(ab).c", ".c", true),
            ("?(x)y", "y", true),
            ("?(x)y", "xxy", false),
            ("**/@(a|b)/*.c", "d/b/x.c", true),
            ("**/@(a|b)/*.c", "d/c/x.c", false),
            ("**/!(d)/*.c", "d/x.c", false),
            ("@(a|+(b|c))d", "bcbd", true),
            ("@(a/b)", "a/b", false),
            ("@([)]|x)", ")", true),
            (r"\@(a)", "@(a)", true),
            ("(a)", "(a)", true),
            ("@(a", "@(a", true),
            ("**(a)", "xa", true),
            ("*(**|q)", "ab", true),
            ("*(**|q)", "a/b", false),
            ("d@(**)/c", "de/c", true),
            ("d@(**)/c", "d/e/c", false),
            ("*(*(*(*(a))))!(b)!(c)!(d)!(e)x", long.as_str(), false),
        ];
        for (pattern, path, expected) in cases {
            let set = PatternSet::for_paths(pattern, false).expect("few");
            assert_eq!(
                set.matches(path.as_bytes(), name_at(path)),
                expected,
                "{pattern} {path}"
            );
        }
        let set = PatternSet::for_paths("@(a|b)/!(c)/*.t", false).expect("few");
        for (dir, expected) in [("a", true), ("c", false), ("b/d", true), ("b/c", false)] {
            assert_eq!(set.can_match_below(dir.as_bytes()), expected, "{dir}");
        }
        assert!(
            !Pattern::for_path("@(a)", false).matches(b"a", 0),
            "no ignore file has them"
        );
    }

    #[test]
    fn case_can_be_ignored_also_beyond_ascii() {
        for (pattern, path) in [
            ("**/readme*", "x/README.md"),
            ("É*", "éa"),
            ("[a-c]x", "BX"),
            ("[[:upper:]]x", "ax"),
        ] {
            assert!(
                Pattern::for_path(pattern, true).matches(path.as_bytes(), name_at(path)),
                "{pattern} {path}"
            );
        }
    }

    #[test]
    fn directories_that_cannot_hold_a_match_are_known() {
        let p = Pattern::for_path("src/*/x/**/*.c", false);
        for (dir, expected) in [
            ("src", true),
            ("lib", false),
            ("src/a", true),
            ("src/a/y", false),
            ("src/a/x/k/l", true),
        ] {
            assert_eq!(p.can_match_below(dir.as_bytes()), expected, "{dir}");
        }
        assert!(!Pattern::for_path("*.c", false).can_match_below(b"src"));
    }

    #[test]
    fn braces_expand_with_nesting_ranges_and_escapes() {
        let cases: [(&str, &[&str]); 11] = [
            ("a{b,c}d", &["abd", "acd"]),
            ("{a,b{1,2}}x", &["ax", "b1x", "b2x"]),
            ("p{1..3}", &["p1", "p2", "p3"]),
            ("p{08..10}", &["p08", "p09", "p10"]),
            ("{c..a}", &["c", "b", "a"]),
            ("{1..10..3}", &["1", "4", "7", "10"]),
            ("{3..1..-2}", &["3", "1"]),
            ("{a..e..2}", &["a", "c", "e"]),
            ("{x}", &["{x}"]),
            (r"\{a,b}", &[r"\{a,b}"]),
            ("{a,b", &["{a,b"]),
        ];
        for (pattern, expected) in cases {
            assert_eq!(expand_braces(pattern).expect("few"), expected, "{pattern}");
        }
        assert!(expand_braces(&"{a,b}".repeat(20)).is_err());
    }

    #[test]
    fn a_list_is_split_outside_of_braces_only() {
        assert_eq!(split_list("*.{a,b}, *.c ,,d"), ["*.{a,b}", "*.c", "d"]);
    }

    #[test]
    fn many_stars_take_no_exponential_time() {
        let text = "a".repeat(5_000);
        let pattern = format!("{}b", "a*".repeat(40));
        assert!(!Pattern::for_path(&pattern, false).matches(text.as_bytes(), 0));
        let set = PatternSet::for_names_or_paths("*.{c,h}", false).expect("few");
        assert!(set.matches(b"d/x.h", 2) && !set.matches(b"d/x.hh", 2));
    }
}
