//! Glob patterns over slash-separated paths, for the tools.
//!
//! `*` and `?` match within a name, also a leading dot. `**` as a whole component matches any
//! number of components. Classes are `[a-z]`, `[!a]`, `[^a]` and `[[:digit:]]`; each matches its
//! own text as well, because `[id]` is a usual name of a directory. Groups are `@(a|b)`, `?(a)`,
//! `*(a)`, `+(a)` and `!(a)`. A backslash takes the next character literally.
//!
//! # How it works
//!
//! [`expand_braces`] turns a pattern with braces into several patterns. Most patterns have nothing
//! special but stars, and are compared as those of ignore files are (`BytePattern`). All others of a
//! set become two regular expressions, one for names and one for paths. `!(a)` becomes a look-ahead,
//! for which the engine backtracks, up to `BACKTRACK_LIMIT`.
//!
//! A walk also asks whether a directory is worth entering: [`PatternSet::can_match_below`] must
//! never say no above a path that matches (the fuzz target `pattern` checks that). A further
//! expression matches the directories that lead to possible matches.
//!
//! The patterns of ignore files have a syntax of their own, which is in `ignore`; only classes
//! (`class`) are the same.

mod braces;
mod class;
mod fault;

pub use braces::{MAX_ALTERNATIVES, expand_braces};
pub(crate) use class::class;
pub use fault::fault;

use crate::ignore::BytePattern;
use class::Class;
use fancy_regex::{Regex, RegexBuilder};
use gemini_tools_core::tool::ToolError;
use std::collections::HashMap;

/// How many times the regular expression engine may backtrack on one path. If it needs more, the
/// path does not match.
const BACKTRACK_LIMIT: usize = 100_000;

const MAX_EXPRESSION_BYTES: usize = 256 * 1024;

const PROGRAM_BYTES: usize = 8 * 1024 * 1024;

const CACHE_BYTES: usize = 1024 * 1024;

/// Maximum number of groups `!(…)` in a component of a pattern. The expression of each repeats
/// everything after it, so the size grows exponentially with their number.
const MAX_NEGATIONS: usize = 8;

/// Maximum number of parentheses that are open at once, because a group is translated by recursion.
const MAX_DEPTH: usize = 64;

/// How many characters of a component may be searched in vain for the end of a class. After each of
/// these searches the next begins only one character further on.
const MAX_SEARCHED_CHARS: usize = 1024 * 1024;

fn too_large(pattern: &str) -> ToolError {
    let beginning: String = pattern.chars().take(80).collect();
    ToolError::invalid(format!(
        "The pattern {beginning:?} is too large or has too many groups."
    ))
}

/// Returns a pattern that is compared by bytes and needs no regular expression: one with stars alone.
/// If letter case is ignored, the pattern is in lower case, as the path that is compared must be.
fn simple(pattern: &str, is_for_names: bool, ignore_case: bool) -> Option<BytePattern> {
    let is_plain = !pattern.contains(['?', '[', '\\', '(']) && !pattern.contains("***");
    if !is_plain || ignore_case && !pattern.is_ascii() {
        return None;
    }
    let lower = pattern.to_ascii_lowercase();
    let pattern = if ignore_case { &lower } else { pattern };
    BytePattern::new(pattern.as_bytes(), !is_for_names)
}

/// A set of patterns, which matches a path that at least one of them matches.
#[derive(Debug, Clone, Default)]
pub struct PatternSet {
    simple: Vec<BytePattern>,
    ignore_case: bool,
    paths: Option<Regex>,
    names: Option<Regex>,
    directories: Option<Regex>,
    /// True if a pattern may match below any directory, so that all must be entered.
    enters_all: bool,
}

impl PatternSet {
    /// Expands braces and compiles each resulting pattern for whole paths: `*.c` matches only files
    /// directly in the top directory.
    ///
    /// # Errors
    ///
    /// Returns `invalid_tool_params` if the braces stand for too many patterns, or the patterns are
    /// too large.
    pub fn for_paths<P: AsRef<str>>(
        patterns: impl IntoIterator<Item = P>,
        ignore_case: bool,
    ) -> Result<Self, ToolError> {
        Self::compile(patterns, ignore_case, Builder::add_path)
    }

    /// Compiles like [`PatternSet::for_paths`], but a pattern without a slash is compared with the
    /// names in every directory, as in ignore files and `rg --glob`.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`PatternSet::for_paths`].
    pub fn for_names_or_paths<P: AsRef<str>>(
        patterns: impl IntoIterator<Item = P>,
        ignore_case: bool,
    ) -> Result<Self, ToolError> {
        Self::compile(
            patterns,
            ignore_case,
            |builder, alternative| match alternative.strip_prefix('/') {
                Some(rest) => builder.add_path(rest),
                None if alternative.contains('/') => builder.add_path(alternative),
                None => builder.add_name(alternative),
            },
        )
    }

    fn compile<P: AsRef<str>>(
        patterns: impl IntoIterator<Item = P>,
        ignore_case: bool,
        add: impl Fn(&mut Builder, &str) -> Result<(), ToolError>,
    ) -> Result<Self, ToolError> {
        let mut builder = Builder::default();
        builder.set.ignore_case = ignore_case;
        for pattern in patterns {
            for alternative in expand_braces(pattern.as_ref())? {
                add(&mut builder, &alternative)?;
            }
        }
        builder.build()
    }

    /// Returns true if there is no pattern at all.
    pub fn is_empty(&self) -> bool {
        self.simple.is_empty() && self.paths.is_none() && self.names.is_none()
    }

    /// Returns true if one of the patterns matches a path. `name_at` is the offset of its last
    /// component.
    pub fn matches(&self, path: &[u8], name_at: usize) -> bool {
        let name = path.get(name_at..).unwrap_or_default();
        let lower = self.ignore_case.then(|| path.to_ascii_lowercase());
        let compared = lower.as_deref().unwrap_or(path);
        let mut simple = self.simple.iter();
        simple.any(|pattern| pattern.matches(compared, name_at))
            || is_match(self.names.as_ref(), name)
            || is_match(self.paths.as_ref(), path)
    }

    /// Returns true if something below the directory `path` could match.
    pub fn can_match_below(&self, path: &[u8]) -> bool {
        self.enters_all || is_match(self.directories.as_ref(), path)
    }
}

fn is_match(regex: Option<&Regex>, path: &[u8]) -> bool {
    regex.is_some_and(|regex| {
        // Bytes that are not UTF-8 become U+FFFD, which `?` matches like any character.
        let path = String::from_utf8_lossy(path);
        regex.is_match(&*path).unwrap_or_default()
    })
}

#[derive(Default)]
struct Builder {
    set: PatternSet,
    paths: Alternatives,
    names: Alternatives,
    directories: Alternatives,
}

/// The alternatives of a regular expression, each after a `|`.
#[derive(Default)]
struct Alternatives(String);

impl Alternatives {
    fn push(&mut self, expression: &str, pattern: &str) -> Result<(), ToolError> {
        self.0.push('|');
        self.0.push_str(expression);
        if self.0.len() > MAX_EXPRESSION_BYTES {
            return Err(too_large(pattern));
        }
        Ok(())
    }
}

impl Builder {
    fn add_name(&mut self, pattern: &str) -> Result<(), ToolError> {
        self.set.enters_all = true;
        match simple(pattern, true, self.set.ignore_case) {
            Some(simple) => self.set.simple.push(simple),
            None => self.names.push(&translate(pattern)?, pattern)?,
        }
        Ok(())
    }

    fn add_path(&mut self, pattern: &str) -> Result<(), ToolError> {
        let plain = without_detours(pattern);
        let pattern = plain.as_deref().unwrap_or(pattern);
        if let Some(name) = pattern.strip_prefix("**/")
            && !name.contains('/')
            && name != "**"
        {
            return self.add_name(name);
        }
        let components: Vec<&str> = pattern.split('/').collect();
        let (mut path, mut has_stars) = (String::new(), false);
        for (i, component) in components.iter().enumerate() {
            let is_last = i + 1 == components.len();
            if *component == "**" {
                if !self.set.enters_all {
                    self.directories.push(&format!("{path}.*"), pattern)?;
                    // The directory above `**` must be entered, too. Its path has no final slash.
                    if let Some(above) = path.strip_suffix('/') {
                        self.directories.push(above, pattern)?;
                    }
                }
                self.set.enters_all |= i == 0;
                has_stars = true;
                path.push_str(if is_last { ".+" } else { "(?:[^/]+/)*" });
                continue;
            }
            path.push_str(&translate(component)?);
            if !is_last {
                if !has_stars {
                    self.directories.push(&path, pattern)?;
                }
                path.push('/');
            }
            if path.len() > MAX_EXPRESSION_BYTES {
                return Err(too_large(pattern));
            }
        }
        match simple(pattern, false, self.set.ignore_case) {
            Some(simple) => self.set.simple.push(simple),
            None => self.paths.push(&path, pattern)?,
        }
        Ok(())
    }

    fn build(mut self) -> Result<PatternSet, ToolError> {
        if self.set.enters_all {
            self.directories.0.clear();
        }
        self.set.paths = self.compile(&self.paths)?;
        self.set.names = self.compile(&self.names)?;
        self.set.directories = self.compile(&self.directories)?;
        Ok(self.set)
    }

    fn compile(&self, alternatives: &Alternatives) -> Result<Option<Regex>, ToolError> {
        let Some(alternatives) = alternatives.0.strip_prefix('|') else {
            return Ok(None);
        };
        let case = if self.set.ignore_case { "i" } else { "" };
        let expression = format!("(?s{case})^(?:{alternatives})$");
        let mut builder = RegexBuilder::new(&expression);
        builder
            .backtrack_limit(BACKTRACK_LIMIT)
            .delegate_size_limit(PROGRAM_BYTES)
            .delegate_dfa_size_limit(CACHE_BYTES);
        let built = builder.build();
        built.map(Some).map_err(|_| {
            // Which of the patterns it is can't be told, because they are compiled together.
            ToolError::invalid("A pattern is too large or has too many groups.".to_owned())
        })
    }
}

fn translate(component: &str) -> Result<String, ToolError> {
    let is_allowed = component.matches("!(").count() <= MAX_NEGATIONS;
    let translated = || {
        let chars: Vec<char> = component.chars().collect();
        let mut translation = Translation {
            parts: &parts(&chars)?,
            chars: &chars,
            expression: String::new(),
        };
        translation.push(0, chars.len())?;
        Some(translation.expression)
    };
    let expression = is_allowed.then(translated).flatten();
    expression.ok_or_else(|| too_large(component))
}

enum Part {
    Class(String, usize),
    Group(Vec<usize>),
}

/// Finds the classes and groups in a component by their positions; `None` if parentheses are
/// nested too deeply, or the component is too large.
fn parts(chars: &[char]) -> Option<HashMap<usize, Part>> {
    let (mut parts, mut open, mut i) = (HashMap::new(), Vec::new(), 0);
    let (mut escaped, mut searched) = (None, 0);
    let last_bracket = last_bracket(chars);
    while let Some(c) = chars.get(i) {
        match c {
            '\\' => {
                i += 1;
                escaped = Some(i);
            }
            '[' if i < last_bracket => {
                if let Some(class) = class(chars, i) {
                    parts.insert(i, Part::Class(class_expression(&class), class.end));
                    i = class.end;
                    continue;
                }
                searched += chars.len() - i;
                if searched > MAX_SEARCHED_CHARS {
                    return None;
                }
            }
            '(' => {
                let sign = i.checked_sub(1).filter(|i| escaped != Some(*i));
                let sign = sign.filter(|i| "@?*+!".contains(chars[*i]));
                open.push((sign, Vec::new()));
                if open.len() > MAX_DEPTH {
                    return None;
                }
            }
            '|' => {
                if let Some((_, ends)) = open.last_mut() {
                    ends.push(i);
                }
            }
            ')' => {
                if let Some((Some(sign), mut ends)) = open.pop() {
                    ends.push(i);
                    parts.insert(sign, Part::Group(ends));
                }
            }
            _ => {}
        }
        i += 1;
    }
    Some(parts)
}

/// Returns the position of the last `]` without a backslash, after which no class begins.
fn last_bracket(chars: &[char]) -> usize {
    let (mut last, mut i) = (0, 0);
    while let Some(c) = chars.get(i) {
        match c {
            '\\' => i += 1,
            ']' => last = i,
            _ => {}
        }
        i += 1;
    }
    last
}

struct Translation<'a> {
    chars: &'a [char],
    parts: &'a HashMap<usize, Part>,
    expression: String,
}

impl Translation<'_> {
    fn push(&mut self, from: usize, to: usize) -> Option<()> {
        let mut i = from;
        while i < to {
            if self.expression.len() > MAX_EXPRESSION_BYTES {
                return None;
            }
            match (self.parts.get(&i), self.chars[i]) {
                (Some(Part::Class(class, end)), _) => {
                    // Brackets may be meant literally, as in `[id]`, a usual name of a directory.
                    self.expression.push_str(&format!("(?:{class}|"));
                    for c in &self.chars[i..*end] {
                        push_literal(*c, &mut self.expression);
                    }
                    self.expression.push(')');
                    i = *end;
                    continue;
                }
                (Some(Part::Group(ends)), sign) => {
                    i = self.push_group(sign, i + 2, ends, to)?;
                    continue;
                }
                (None, '*') => self.expression.push_str("[^/]*"),
                (None, '?') => self.expression.push_str("[^/]"),
                (None, '\\') if i + 1 < to => {
                    i += 1;
                    push_literal(self.chars[i], &mut self.expression);
                }
                (None, c) => push_literal(c, &mut self.expression),
            }
            i += 1;
        }
        Some(())
    }

    /// Appends the expression of a group, whose choices begin at `from`. The text around it goes
    /// on until `to`, which `!(…)` needs for its look-ahead. Returns the position after the group.
    fn push_group(&mut self, sign: char, from: usize, ends: &[usize], to: usize) -> Option<usize> {
        let begin = if sign == '!' { "(?!(?:" } else { "(?:" };
        let before = self.expression.len();
        self.expression.push_str(begin);
        let choices = self.expression.len();
        let mut at = from;
        for end in ends {
            self.expression.push_str(if at > from { "|" } else { "" });
            self.push(at, *end)?;
            at = end + 1;
        }
        if sign != '!' && self.expression.len() == choices {
            // A regular expression must not repeat nothing, as `*()` does.
            self.expression.truncate(before);
            return Some(at);
        }
        self.expression.push(')');
        match sign {
            // The look-ahead refuses a name in which one of the choices is followed by a match of
            // the text after the group. With the choices alone, `!(a)b` would also refuse `axb`.
            '!' => {
                self.push(at, to)?;
                self.expression.push_str("(?:/|$))[^/]*");
            }
            '@' => {}
            sign => self.expression.push(sign),
        }
        Some(at)
    }
}

fn push_literal(c: char, out: &mut String) {
    out.push_str(&fancy_regex::escape(c.encode_utf8(&mut [0; 4])));
}

/// Returns the expression of a class. A range whose end is before its start matches nothing.
fn class_expression(class: &Class) -> String {
    let mut ranges = String::new();
    for (from, to) in class.ranges.iter().filter(|(from, to)| from <= to) {
        let (from, to) = (u32::from(*from), u32::from(*to));
        ranges.push_str(&format!("\\x{{{from:x}}}-\\x{{{to:x}}}"));
    }
    match (class.negated, ranges.is_empty()) {
        (true, _) => format!("[^/{ranges}]"),
        (false, true) => "[^\\s\\S]".to_owned(),
        (false, false) => format!("[{ranges}&&[^/]]"),
    }
}

/// Returns a pattern that matches only `text`, with a backslash before each special character.
pub fn escaped(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len());
    for c in text.chars() {
        if "[]{}()?*\\!,".contains(c) {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern
}

/// Removes `.`, `..` and empty components. Returns `None` if `..` leads above the directory where
/// the pattern starts, or follows `**`, which stands for directories with different parents.
pub fn without_detours(pattern: &str) -> Option<String> {
    let mut parts: Vec<&str> = Vec::new();
    let last = pattern.rsplit('/').next().unwrap_or_default();
    for part in pattern.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop().filter(|above| *above != "**")?;
            }
            part => parts.push(part),
        }
    }
    // A pattern that ends in `/`, `/.` or `/..` asks for directories.
    let asks_for_directories = matches!(last, "" | "." | "..");
    let end = if asks_for_directories { "/" } else { "" };
    Some(parts.join("/") + end)
}

/// Returns what a pattern of a list leaves out: the pattern behind an exclamation mark. `None` for
/// a pattern of what is taken in; `!(a)` is a group, which is one of these.
pub fn excluded(pattern: &str) -> Option<&str> {
    let rest = pattern.strip_prefix('!')?;
    (!rest.starts_with('(')).then_some(rest)
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
    let parts = parts.into_iter().map(str::trim);
    parts.filter(|p| !p.is_empty()).collect()
}

#[cfg(test)]
mod tests;
