//! The pattern of a search: compiled, and as a matcher of lines for `grep-searcher`.
//!
//! # How it works
//!
//! [`Query::new`] compiles a pattern for one of two engines: `grep-regex`, whose time is linear in
//! the text, or, for look-around and back-references only, `fancy_regex`, which backtracks.
//! `PatternTraits` tells beforehand what a pattern can match: characters beyond ASCII, a carriage
//! return, and how many characters it has with its repetitions written out.
//!
//! [`LineMatcher`] finds candidate lines in a block of text, by the text that all matches hold
//! (`needle`) or by the engine, and decides about each line alone where that is not enough: a line
//! may end in `\r\n`, whose carriage return does not belong to it, and `exclude_pattern` may leave
//! it out. The engines look at no clock, so for an expression that may take long (`is_heavy`) each
//! line is a candidate, and the call's clock is looked at before it.

use super::needle::Needle;
use gemini_tools_core::tool::{Cancellation, ToolError};
use grep_matcher::{LineMatchKind, LineTerminator, Match, Matcher, NoCaptures};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use regex_syntax::ast::ErrorKind as AstErrorKind;
use regex_syntax::hir::{Class, Hir, HirKind, Look};
use std::sync::{Mutex, PoisonError};

/// Maximum length of an expression, in bytes: its tree takes some hundred times as much memory.
pub(super) const MAX_PATTERN_BYTES: usize = 16 * 1024;

/// Maximum number of classes such as `\w` in an expression: each is a list of hundreds of ranges.
const MAX_CLASSES: usize = 1_000;

/// Maximum size of a compiled expression. A call may have four: two expressions, each once more
/// for `$` before `\r\n`.
pub(super) const PROGRAM_BYTES: usize = 4 * 1024 * 1024;

/// Memory for the states that an engine remembers, each way.
const CACHE_BYTES: usize = 1024 * 1024;

/// Steps back that the backtracking engine takes on one line.
const BACKTRACK_LIMIT: usize = 1_000_000;

/// Length of a line from which on one thread at a time looks around in it, in bytes: the engine
/// may remember every place of it.
const LONG_LINE_BYTES: usize = 16 * 1024;

/// Maximum number of characters, repetitions written out: compiling an expression takes time.
pub(super) const MAX_CHARS: u64 = 10_000;

/// Number of characters up to which an expression is fast: all of them may have to be tried at
/// each place.
const LIGHT_CHARS: u64 = 400;

/// A compiled pattern.
#[derive(Debug)]
pub(super) struct Query {
    /// The argument that it comes from.
    pub(super) name: &'static str,
    /// Decides about a line.
    engine: Engine,
    /// Finds candidates where `$` must also match before `\r\n`. It takes a lone carriage return
    /// for the end of a line as well, so `engine` decides.
    crlf: Option<Box<RegexMatcher>>,
    /// Text that each match holds.
    needle: Option<Needle>,
    line_end: LineEnd,
    /// Matches depend on characters beyond ASCII, so that a file in an older encoding must be
    /// decoded before it is searched.
    pub(super) beyond_ascii: bool,
    /// The expression may take long on a line.
    is_heavy: bool,
    /// An explanation, where the pattern was not taken as it stands.
    pub(super) note: Option<String>,
}

/// The treatment of a carriage return at the end of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineEnd {
    /// The expression asks for it: it belongs to the line.
    Kept,
    /// A line must be looked at without it.
    Removed,
    /// A line matches with it as without.
    Irrelevant,
}

#[derive(Debug)]
enum Engine {
    /// Time is linear in the text.
    Linear(Box<RegexMatcher>),
    /// For look-around and back-references only.
    Backtracking {
        regex: Box<fancy_regex::Regex>,
        /// Held while a long line is looked at.
        long_line: Mutex<()>,
    },
}

impl Query {
    /// Compiles a pattern.
    ///
    /// # Errors
    ///
    /// Returns `invalid_tool_params` with the fault and its place.
    pub(super) fn new(
        name: &'static str,
        pattern: &str,
        ignore_case: bool,
        fixed: bool,
    ) -> Result<Self, ToolError> {
        check_length(name, pattern)?;
        if pattern.contains('\n') {
            return Err(spans_lines(name, pattern));
        }
        if fixed {
            return Self::compile(name, &regex_syntax::escape(pattern), ignore_case)
                .map_err(|e| e.explain(name, pattern));
        }
        check_classes(name, pattern)?;
        let error = match Self::compile(name, pattern, ignore_case) {
            Ok(query) => return Ok(query),
            Err(CompileError::Syntax(e)) if !is_about_line_feeds(&e) => e,
            Err(e) => return Err(e.explain(name, pattern)),
        };
        match regex_syntax::ast::parse::Parser::new().parse(pattern) {
            Ok(_) => Err(invalid(name, pattern, &error.to_string())),
            Err(e) if asks_to_look_around(e.kind()) => {
                Self::backtracking(name, pattern, ignore_case)
            }
            // JavaScript and grep take a brace that counts nothing for itself.
            Err(e) if is_about_braces(e.kind()) && escape_braces(pattern) != pattern => {
                let mut query = Self::compile(name, &escape_braces(pattern), ignore_case)
                    .map_err(|_| invalid(name, pattern, &error.to_string()))?;
                query.note = Some("braces that count nothing were taken literally".to_owned());
                Ok(query)
            }
            // The pattern as it was given: the other error shows it in a group.
            Err(e) => Err(invalid(name, pattern, &e.to_string())),
        }
    }

    /// Compiles a pattern for the linear engine.
    fn compile(name: &'static str, pattern: &str, ignore_case: bool) -> Result<Self, CompileError> {
        let hir = parse(pattern, ignore_case);
        let traits = PatternTraits::new(hir.as_ref());
        if traits.characters > MAX_CHARS {
            return Err(CompileError::Size(traits.characters));
        }
        let has_line_end = pattern.contains('$');
        let mut builder = RegexMatcherBuilder::new();
        builder
            .case_insensitive(ignore_case)
            .multi_line(true)
            .size_limit(PROGRAM_BYTES)
            .dfa_size_limit(CACHE_BYTES)
            .line_terminator(Some(b'\n'));
        let engine = builder.build(pattern).map_err(CompileError::Syntax)?;
        let crlf = has_line_end.then(|| builder.crlf(true).build(pattern));
        let crlf = crlf.transpose().map_err(CompileError::Syntax)?;
        let line_end = if has_line_end {
            LineEnd::Removed
        } else if asks_for_carriage_return(pattern) {
            LineEnd::Kept
        } else if traits.line_ends {
            LineEnd::Removed
        } else {
            LineEnd::Irrelevant
        };
        Ok(Self {
            name,
            engine: Engine::Linear(Box::new(engine)),
            crlf: crlf.map(Box::new),
            needle: hir.as_ref().and_then(Needle::new),
            line_end,
            beyond_ascii: traits.beyond_ascii,
            is_heavy: traits.characters > LIGHT_CHARS,
            note: None,
        })
    }

    /// Compiles a pattern for the backtracking engine.
    fn backtracking(
        name: &'static str,
        pattern: &str,
        ignore_case: bool,
    ) -> Result<Self, ToolError> {
        let regex = fancy_regex::RegexBuilder::new(pattern)
            .case_insensitive(ignore_case)
            .backtrack_limit(BACKTRACK_LIMIT)
            .delegate_size_limit(PROGRAM_BYTES)
            .delegate_dfa_size_limit(CACHE_BYTES)
            .build()
            .map_err(|e| invalid(name, pattern, &e.to_string()))?;
        Ok(Self {
            name,
            engine: Engine::Backtracking {
                regex: Box::new(regex),
                long_line: Mutex::default(),
            },
            crlf: None,
            needle: None,
            line_end: LineEnd::Removed,
            beyond_ascii: true,
            is_heavy: true,
            note: None,
        })
    }

    /// Returns true if the text of all matches is ASCII and not in `bytes`.
    pub(super) fn lacks_ascii_text(&self, bytes: &[u8]) -> bool {
        let needle = self.needle.as_ref();
        needle.is_some_and(|needle| needle.is_ascii() && needle.find(bytes).is_none())
    }

    /// Returns the line as the expression sees it.
    fn line<'l>(&self, line: &'l [u8]) -> &'l [u8] {
        match line.strip_suffix(b"\r") {
            Some(rest) if self.line_end != LineEnd::Kept => rest,
            _ => line,
        }
    }

    /// Returns true if a line matches.
    ///
    /// # Errors
    ///
    /// Returns the reason of the backtracking engine to give up.
    pub(super) fn is_match(&self, line: &[u8]) -> Result<bool, String> {
        let line = self.line(line);
        match &self.engine {
            Engine::Linear(matcher) => Ok(matcher.is_match(line).unwrap_or_default()),
            Engine::Backtracking { .. } => Ok(self.find_from(line, 0)?.is_some()),
        }
    }

    /// Returns the first match from a place on.
    fn find_from(&self, line: &[u8], from: usize) -> Result<Option<Match>, String> {
        match &self.engine {
            Engine::Linear(matcher) => Ok(matcher.find_at(line, from).unwrap_or_default()),
            Engine::Backtracking { regex, long_line } => {
                let _alone = (line.len() > LONG_LINE_BYTES)
                    .then(|| long_line.lock().unwrap_or_else(PoisonError::into_inner));
                let text = String::from_utf8_lossy(line);
                let found = regex.find_from_pos(text.as_ref(), from);
                let found = found.map_err(|e| e.to_string())?;
                // Places in a text with replacements may be beyond the line.
                let place = |at: usize| at.min(line.len());
                Ok(found.map(|found| Match::new(place(found.start()), place(found.end()))))
            }
        }
    }

    /// Returns the places of all matches in a line, but for those without a length.
    ///
    /// # Errors
    ///
    /// Returns the reason of the backtracking engine to give up.
    pub(super) fn find_all(&self, line: &[u8]) -> Result<Vec<Match>, String> {
        let line = self.line(line);
        let mut matches = Vec::new();
        let mut from = 0;
        while from <= line.len()
            && let Some(found) = self.find_from(line, from)?
        {
            from = found.end().max(found.start() + 1);
            // A match without a length may have been inside of a character.
            while from < line.len() && line[from] & 0xc0 == 0x80 {
                from += 1;
            }
            matches.push(found);
        }
        matches.retain(|found| !found.is_empty());
        Ok(matches)
    }
}

/// The lines that match one expression and not another.
#[derive(Debug, Clone, Copy)]
pub(super) struct LineMatcher<'a> {
    pub(super) query: &'a Query,
    /// The lines that don't count.
    pub(super) except: Option<&'a Query>,
    pub(super) cancel: &'a Cancellation,
}

impl LineMatcher<'_> {
    /// Returns true if a line does not count.
    ///
    /// # Errors
    ///
    /// Returns the reason of the backtracking engine to give up.
    pub(super) fn is_excepted(&self, line: &[u8]) -> Result<bool, String> {
        self.except
            .map_or(Ok(false), |except| except.is_match(line))
    }
}

impl Matcher for LineMatcher<'_> {
    type Captures = NoCaptures;
    type Error = String;

    fn find_at(&self, line: &[u8], from: usize) -> Result<Option<Match>, String> {
        self.query.find_from(self.query.line(line), from)
    }

    fn new_captures(&self) -> Result<NoCaptures, String> {
        Ok(NoCaptures::new())
    }

    fn is_match(&self, line: &[u8]) -> Result<bool, String> {
        if self.query.is_heavy || self.except.is_some() {
            self.cancel.check().map_err(|e| e.message)?;
        }
        Ok(self.query.is_match(line)? && !self.is_excepted(line)?)
    }

    fn line_terminator(&self) -> Option<LineTerminator> {
        Some(LineTerminator::byte(b'\n'))
    }

    fn find_candidate_line(&self, text: &[u8]) -> Result<Option<LineMatchKind>, String> {
        let query = self.query;
        let found = match (&query.needle, &query.engine) {
            (Some(needle), _) => needle.find(text).map(|at| (at, needle.is_whole)),
            (None, Engine::Linear(matcher)) if !query.is_heavy => {
                let matcher = query.crlf.as_ref().unwrap_or(matcher);
                match matcher.find_candidate_line(text).unwrap_or_default() {
                    Some(LineMatchKind::Confirmed(at)) => Some((at, true)),
                    Some(LineMatchKind::Candidate(at)) => Some((at, false)),
                    None => None,
                }
            }
            _ => (!text.is_empty()).then_some((0, false)),
        };
        // An empty match behind the last line is in no line.
        let found = found.filter(|(at, _)| *at < text.len() || !text.ends_with(b"\n"));
        let must_look = query.line_end == LineEnd::Removed || self.except.is_some();
        Ok(found.map(|(at, is_sure)| {
            if is_sure && !must_look {
                LineMatchKind::Confirmed(at)
            } else {
                LineMatchKind::Candidate(at)
            }
        }))
    }
}

/// A reason why the linear engine does not take an expression.
enum CompileError {
    Syntax(grep_regex::Error),
    /// The number of characters.
    Size(u64),
}

impl CompileError {
    fn explain(&self, name: &str, pattern: &str) -> ToolError {
        match self {
            Self::Size(characters) => too_large(name, *characters),
            Self::Syntax(e) if is_about_line_feeds(e) => spans_lines(name, pattern),
            Self::Syntax(e) => invalid(name, pattern, &e.to_string()),
        }
    }
}

fn check_length(name: &str, pattern: &str) -> Result<(), ToolError> {
    if pattern.len() <= MAX_PATTERN_BYTES {
        return Ok(());
    }
    Err(ToolError::invalid(format!(
        "\"{name}\" has {} bytes; it may have {MAX_PATTERN_BYTES}.",
        pattern.len()
    )))
}

/// Counts classes with a letter.
fn check_classes(name: &str, pattern: &str) -> Result<(), ToolError> {
    let mut count = 0;
    let mut bytes = pattern.bytes();
    while let Some(byte) = bytes.next() {
        let escaped = (byte == b'\\').then(|| bytes.next()).flatten();
        count += usize::from(escaped.is_some_and(|letter| b"wWdDsSpP".contains(&letter)));
    }
    if count <= MAX_CLASSES {
        return Ok(());
    }
    Err(ToolError::invalid(format!(
        "\"{name}\" has more than {MAX_CLASSES} classes such as \\w."
    )))
}

fn spans_lines(name: &str, pattern: &str) -> ToolError {
    ToolError::invalid(format!(
        "\"{name}\" {pattern:?} contains a line break, but the search goes line by line."
    ))
    .with_hint("Search for what is on one of the lines; 'context' shows those around it.")
}

fn too_large(name: &str, characters: u64) -> ToolError {
    ToolError::invalid(format!(
        "\"{name}\" is too large for a regular expression: with its repetitions written out it \
         has {characters} characters, and at most {MAX_CHARS} are allowed."
    ))
    .with_hint("Repeat less often: * and + have no limit.")
}

fn invalid(name: &str, pattern: &str, reason: &str) -> ToolError {
    let hint = if name == "exclude_pattern" {
        " The pattern leaves lines out; to leave files out, put '!' before a glob pattern in 'include'."
    } else {
        ""
    };
    ToolError::invalid(format!(
        "\"{name}\" {pattern:?} is not a valid regular expression: {}",
        in_order(reason.trim())
    ))
    .with_hint(format!(
        "Escape characters such as ( [ {{ . * + ? that are meant literally.{hint}"
    ))
}

/// Puts the parser's reason before the place, which it shows first: `regex parse error:`, the
/// pattern with a mark below it, and `error: unclosed group`.
fn in_order(reason: &str) -> String {
    let parts = reason.strip_prefix("regex parse error:\n");
    match parts.and_then(|parts| parts.split_once("\nerror: ")) {
        Some((place, what)) => format!("{what}, at the mark:\n{place}"),
        None => format!("{}.", reason.trim_end_matches('.')),
    }
}

fn is_about_line_feeds(error: &grep_regex::Error) -> bool {
    matches!(error.kind(), grep_regex::ErrorKind::NotAllowed(_))
}

fn asks_to_look_around(kind: &AstErrorKind) -> bool {
    matches!(
        kind,
        AstErrorKind::UnsupportedLookAround | AstErrorKind::UnsupportedBackreference
    )
}

fn is_about_braces(kind: &AstErrorKind) -> bool {
    matches!(
        kind,
        AstErrorKind::RepetitionCountUnclosed
            | AstErrorKind::RepetitionCountDecimalEmpty
            | AstErrorKind::RepetitionCountInvalid
            | AstErrorKind::RepetitionMissing
            | AstErrorKind::DecimalInvalid
    )
}

/// Puts a backslash before each brace that does not count a repetition.
fn escape_braces(pattern: &str) -> String {
    let mut out = String::new();
    let mut rest = pattern;
    while let Some(c) = rest.chars().next() {
        let after = &rest[c.len_utf8()..];
        match c {
            '\\' => {
                let next = after.chars().next().map_or(0, char::len_utf8);
                // A class or a code point in braces belongs to its backslash.
                let braced = after.starts_with(['p', 'P', 'x', 'u', 'U', 'k', 'b']);
                let end = match after[next..].strip_prefix('{').filter(|_| braced) {
                    Some(inner) => inner.find('}').map_or(next, |i| next + i + 2),
                    None => next,
                };
                out.push('\\');
                out.push_str(&after[..end]);
                rest = &after[end..];
                continue;
            }
            '{' => {
                let counts = after.find('}').is_some_and(|end| {
                    let inner = &after[..end];
                    inner.starts_with(|c: char| c.is_ascii_digit())
                        && inner.chars().all(|c| c.is_ascii_digit() || c == ',')
                }) && !out.is_empty();
                if counts {
                    let end = after.find('}').map_or(0, |i| i + 1);
                    out.push('{');
                    out.push_str(&after[..end]);
                    rest = &after[end..];
                    continue;
                }
                out.push_str("\\{");
            }
            '}' => out.push_str("\\}"),
            other => out.push(other),
        }
        rest = after;
    }
    out
}

/// Returns true if a pattern itself asks for a carriage return.
fn asks_for_carriage_return(pattern: &str) -> bool {
    let hex = ["\\x0d", "\\x{d}", "\\x{0d}", "\\u000d", "\\u{d}", "\\u{0d}"];
    let lower = pattern.to_ascii_lowercase();
    pattern.contains(['\r']) || pattern.contains("\\r") || hex.iter().any(|hex| lower.contains(hex))
}

/// Parses an expression; `None` where it is not valid, or is for the backtracking engine.
fn parse(pattern: &str, ignore_case: bool) -> Option<Hir> {
    let mut parser = regex_syntax::ParserBuilder::new();
    let parser = parser.case_insensitive(ignore_case).utf8(false);
    parser.build().parse(pattern).ok()
}

/// The traits of an expression that decide how it is searched for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct PatternTraits {
    /// Matches depend on characters beyond ASCII.
    beyond_ascii: bool,
    /// The expression can match a carriage return.
    line_ends: bool,
    /// Number of characters and classes, repetitions written out.
    characters: u64,
}

impl PatternTraits {
    /// Returns the traits of an expression, the worst ones if it could not be parsed.
    fn new(hir: Option<&Hir>) -> Self {
        let mut traits = Self::default();
        if let Some(hir) = hir {
            traits.add(hir);
            traits.characters = characters(hir);
        } else {
            (traits.beyond_ascii, traits.line_ends) = (true, true);
        }
        traits
    }

    fn add(&mut self, hir: &Hir) {
        // Two letters beyond ASCII fold to s and k; no older encoding has them.
        const FOLDED: [char; 2] = ['\u{17f}', '\u{212a}'];
        match hir.kind() {
            HirKind::Literal(literal) => self.beyond_ascii |= !literal.0.is_ascii(),
            HirKind::Class(Class::Unicode(class)) => {
                for range in class.ranges() {
                    let is_folded = range.start() == range.end() && FOLDED.contains(&range.start());
                    self.beyond_ascii |= !range.end().is_ascii() && !is_folded;
                    self.line_ends |= (range.start()..=range.end()).contains(&'\r');
                }
            }
            HirKind::Class(Class::Bytes(class)) => {
                for range in class.ranges() {
                    self.beyond_ascii |= range.end() >= 0x80;
                    self.line_ends |= (range.start()..=range.end()).contains(&b'\r');
                }
            }
            HirKind::Repetition(r) => self.add(&r.sub),
            HirKind::Capture(c) => self.add(&c.sub),
            HirKind::Concat(subs) | HirKind::Alternation(subs) => {
                for sub in subs {
                    self.add(sub);
                }
            }
            // Whether a word begins or ends depends on both neighbours.
            HirKind::Look(look) => {
                let ends = [Look::Start, Look::End, Look::StartLF, Look::EndLF];
                let crlf = [Look::StartCRLF, Look::EndCRLF];
                self.beyond_ascii |= !ends.contains(look) && !crlf.contains(look);
            }
            HirKind::Empty => {}
        }
    }
}

/// Counts characters and classes, repetitions written out.
fn characters(hir: &Hir) -> u64 {
    match hir.kind() {
        HirKind::Literal(literal) => literal.0.len() as u64,
        HirKind::Class(_) => 1,
        HirKind::Repetition(r) => {
            let times = r.max.unwrap_or(r.min).max(1);
            characters(&r.sub).saturating_mul(times.into())
        }
        HirKind::Capture(c) => characters(&c.sub),
        HirKind::Concat(subs) | HirKind::Alternation(subs) => {
            subs.iter().map(characters).fold(0, u64::saturating_add)
        }
        HirKind::Look(_) | HirKind::Empty => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::{PatternTraits, Query, escape_braces, parse};

    #[test]
    fn an_expression_that_may_take_long_is_known() {
        for (pattern, is_heavy) in [
            ("needle(?!s)", true),
            (r"n(e)\1dle\b", true),
            (r"needle\b|([a-z]{100}!){20}", true),
            (r"\w+", false),
            (r"^\s*(pub )?fn \w+\(", false),
            ("größe|size", false),
            (r"\bfoo\w{3,20}\b", false),
            (".{1,200}x", false),
        ] {
            let query = Query::new("pattern", pattern, true, false).expect("valid");
            assert_eq!(query.is_heavy, is_heavy, "{pattern}");
        }
    }

    #[test]
    fn braces_that_count_nothing_are_literal() {
        for (pattern, expected) in [
            ("interface{}", r"interface\{\}"),
            ("fn main() {", r"fn main() \{"),
            ("a{2,3}", "a{2,3}"),
            (r"\p{L}{", r"\p{L}\{"),
            (r"\{x}", r"\{x\}"),
        ] {
            assert_eq!(escape_braces(pattern), expected);
        }
        assert!(Query::new("pattern", "foo(", true, false).is_err());
    }

    #[test]
    fn what_can_match_beyond_ascii_is_known() {
        for (pattern, expected) in [
            ("PM_RESUME", false),
            (r"^[a-z]+_skip$", false),
            (r"\bskip", true),
            ("größe", true),
            (r"\w", true),
            ("a.c", true),
        ] {
            let traits = PatternTraits::new(parse(pattern, true).as_ref());
            assert_eq!(traits.beyond_ascii, expected, "{pattern}");
        }
    }
}
