//! The pattern of a search: compiles it, and matches lines with it for `grep-searcher`.
//!
//! # How it works
//!
//! [`Query::new`] compiles a pattern for one of two engines: `grep-regex`, whose time is linear in
//! the text, or `fancy_regex`, which backtracks and is used for look-around and back-references
//! only. The syntax tree of a linear pattern tells beforehand how many characters it has with its
//! repetitions written out; one with too many is refused.
//!
//! [`LineMatcher`] lets the engine find candidate lines in a block of text, and then decides about
//! each line alone, because a line may end in `\r\n`, whose carriage return does not belong to it.
//! Candidates for the backtracking engine are found by a weaker expression, which matches more
//! lines (module `candidates`). The engines look at no clock, so for an expression that may take
//! long (`is_heavy`), the call's time limit is checked before each line. Every line is a candidate
//! if no weaker expression is known, or if a linear expression is heavy.
//!
//! # Limits
//!
//! A pattern comes from a model, and must take neither the memory nor the time of a call. An
//! expression has at most [`MAX_PATTERN_BYTES`], because its tree takes some hundred times as much
//! memory, and at most `MAX_CLASSES` classes such as `\w`, each of which takes a list of hundreds
//! of ranges. Compiled, it takes at most [`PROGRAM_BYTES`]. A call may have four compiled
//! expressions: two patterns, each compiled once more to let its `$` match before `\r\n`.
//! [`MAX_CHARS`] limits the time for compiling: it counts the characters of an expression with its
//! repetitions written out. An expression with at most `LIGHT_CHARS` of them counts as fast, since
//! all of them may have to be tried at each position of the text.
//!
//! The backtracking engine may take `BACKTRACK_LIMIT` steps on one line, which take some tenths of
//! a second. A back-reference compares the text that it repeats in one step, so fewer steps are
//! allowed if this text may be longer than `SHORT_REPEAT_BYTES`. The engine may also take memory
//! for every position of a line. So a line over `LONG_LINE_BYTES` is matched by one thread at a
//! time.

use super::candidates::{candidates, repeats_more};
use gemini_tools_core::tool::{Cancellation, ToolError};
use grep_matcher::{Captures, LineMatchKind, LineTerminator, Match, Matcher, NoCaptures};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use regex_syntax::ast::parse::Parser;
use regex_syntax::ast::{AssertionKind, Ast, ErrorKind as AstErrorKind, Visitor, visit};
use regex_syntax::hir::{Hir, HirKind};
use std::borrow::Cow;
use std::cell::Cell;
use std::convert::Infallible;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, OnceLock, PoisonError};

pub(super) const MAX_PATTERN_BYTES: usize = 16 * 1024;

const MAX_CLASSES: usize = 1_000;

pub(super) const PROGRAM_BYTES: usize = 4 * 1024 * 1024;

const MAX_ESCAPED_BRACES: usize = 100;

const CACHE_BYTES: usize = 1024 * 1024;

const BACKTRACK_LIMIT: usize = 10_000_000;

const SHORT_REPEAT_BYTES: usize = 256;

const MAX_CANDIDATE_BYTES: usize = 64 * 1024;

const LONG_LINE_BYTES: usize = 16 * 1024;

pub(super) const MAX_CHARS: u64 = 10_000;

const LIGHT_CHARS: u64 = 400;

/// A compiled pattern. `finder` finds candidate lines for the backtracking engine, and for a linear
/// expression whose `$` must also match before `\r\n`; it is `None` if it is not needed, or if no
/// expression for it is known. `keeps_return` is set if the expression has a carriage return: then
/// one at the end of a line belongs to the line, which it otherwise does not.
#[derive(Debug)]
pub(super) struct Query {
    engine: Engine,
    finder: Option<Box<RegexMatcher>>,
    keeps_return: bool,
    is_heavy: bool,
    pub(super) note: Option<String>,
}

#[derive(Debug)]
enum Engine {
    Linear(Box<RegexMatcher>),
    Backtracking(Box<Backtracking>),
}

/// A pattern for the backtracking engine. `regexes` are the same expression with different limits:
/// each allows half the steps of the one before it, and is compiled when it is first needed.
/// `repeats` is set if a back-reference can repeat a long text, and `long_line` is locked while a
/// long line is matched.
#[derive(Debug)]
struct Backtracking {
    pattern: String,
    ignores_case: bool,
    regexes: [OnceLock<fancy_regex::Regex>; 24],
    repeats: bool,
    long_line: Mutex<()>,
}

impl Backtracking {
    fn apply<T>(
        &self,
        line: &[u8],
        search: impl FnOnce(&fancy_regex::Regex, &str) -> fancy_regex::Result<T>,
    ) -> Result<T, String> {
        let _alone = (line.len() > LONG_LINE_BYTES).then(|| {
            let lock = self.long_line.lock();
            lock.unwrap_or_else(PoisonError::into_inner)
        });
        let text = match simdutf8::basic::from_utf8(line) {
            Ok(text) => Cow::Borrowed(text),
            Err(_) => String::from_utf8_lossy(line),
        };
        let regex = self.regex(self.halvings(line))?;
        // fancy-regex 0.20 panics on some lines, for example with `(?i)(?:\S(éK|\1))+`. Such a line
        // counts as not matching, like one that takes too many steps, and the search goes on.
        let found = catch_unwind(AssertUnwindSafe(|| search(regex, &text)));
        let found = found.map_err(|_| "the engine failed".to_owned())?;
        found.map_err(|e| e.to_string())
    }

    fn find_from(&self, line: &[u8], from: usize) -> Result<Option<Match>, String> {
        let found = self.apply(line, |regex, text| {
            let found = regex.find_from_pos(text, from)?;
            Ok(found.map(|found| found.range()))
        })?;
        // The match is in `text`, where U+FFFD stands for invalid bytes and may be longer than they
        // are, so its offsets may be beyond the end of `line`.
        let place = |at: usize| at.min(line.len());
        Ok(found.map(|found| Match::new(place(found.start), place(found.end))))
    }

    fn halvings(&self, line: &[u8]) -> usize {
        let longest = if self.repeats { line.len() } else { 0 };
        let halvings = (longest / SHORT_REPEAT_BYTES).checked_ilog2();
        halvings.map_or(0, |log| log as usize + 1)
    }

    fn regex(&self, halvings: usize) -> Result<&fancy_regex::Regex, String> {
        let halvings = halvings.min(self.regexes.len() - 1);
        let regex = &self.regexes[halvings];
        if let Some(regex) = regex.get() {
            return Ok(regex);
        }
        let built = fancy_regex::RegexBuilder::new(&self.pattern)
            .case_insensitive(self.ignores_case)
            .delegate_size_limit(PROGRAM_BYTES)
            .delegate_dfa_size_limit(CACHE_BYTES)
            .backtrack_limit(BACKTRACK_LIMIT >> halvings)
            .build()
            .map_err(|e| e.to_string())?;
        Ok(regex.get_or_init(|| built))
    }
}

impl Query {
    pub(super) fn new(
        name: &str,
        pattern: &str,
        ignore_case: bool,
        fixed: bool,
    ) -> Result<Self, ToolError> {
        Self::from_pattern(pattern, ignore_case, fixed).map_err(|mut e| {
            e.message.insert_str(0, &format!("{name:?} "));
            e
        })
    }

    fn from_pattern(pattern: &str, ignore_case: bool, fixed: bool) -> Result<Self, ToolError> {
        // The caller puts the argument's name before the message of an error.
        if pattern.len() > MAX_PATTERN_BYTES {
            return Err(ToolError::invalid(format!(
                "has {} bytes; it may have {MAX_PATTERN_BYTES}.",
                pattern.len()
            )));
        }
        if pattern.contains('\n') {
            return Err(spans_lines(pattern));
        }
        if fixed {
            return Self::linear(&regex_syntax::escape(pattern), ignore_case);
        }
        check_classes(pattern)?;
        let Err(error) = Parser::new().parse(pattern) else {
            return Self::linear(pattern, ignore_case);
        };
        let at_fault = &pattern[error.span().start.offset..];
        if match error.kind() {
            AstErrorKind::UnsupportedLookAround | AstErrorKind::UnsupportedBackreference => true,
            // References to named groups.
            AstErrorKind::EscapeUnrecognized => at_fault.starts_with("\\k"),
            AstErrorKind::FlagUnrecognized => at_fault.starts_with("P="),
            _ => false,
        } {
            return Self::backtracking(pattern, ignore_case);
        }
        // JavaScript and grep take a brace that begins no valid repetition literally.
        let escaped = escape_braces(pattern).ok_or_else(|| invalid(pattern, &error.to_string()))?;
        let mut query = Self::linear(&escaped, ignore_case)?;
        query.note = Some("braces that count nothing were taken literally".to_owned());
        Ok(query)
    }

    fn linear(pattern: &str, ignore_case: bool) -> Result<Self, ToolError> {
        let characters = characters_of(pattern, ignore_case);
        if characters > MAX_CHARS {
            return Err(ToolError::invalid(format!(
                "is too large for a regular expression: with its repetitions written out it has \
                 {characters} characters, and at most {MAX_CHARS} are allowed."
            ))
            .with_hint("Repeat less often: * and + have no limit."));
        }
        let fault = |e: grep_regex::Error| match e.kind() {
            grep_regex::ErrorKind::NotAllowed(_) => spans_lines(pattern),
            _ => invalid(pattern, &e.to_string()),
        };
        let mut builder = builder();
        builder.case_insensitive(ignore_case).multi_line(true);
        let engine = builder.build(pattern).map_err(fault)?;
        let crlf = pattern
            .contains('$')
            .then(|| builder.build(&with_returns(pattern)));
        let finder = crlf.transpose().map_err(fault)?;
        Ok(Self {
            engine: Engine::Linear(Box::new(engine)),
            finder: finder.map(Box::new),
            keeps_return: asks_for_carriage_return(pattern),
            is_heavy: characters > LIGHT_CHARS,
            note: None,
        })
    }

    fn backtracking(pattern: &str, ignore_case: bool) -> Result<Self, ToolError> {
        let engine = Backtracking {
            pattern: pattern.to_owned(),
            ignores_case: ignore_case,
            regexes: std::array::from_fn(|_| OnceLock::new()),
            repeats: repeats_more(pattern, SHORT_REPEAT_BYTES),
            long_line: Mutex::default(),
        };
        engine.regex(0).map_err(|e| invalid(pattern, &e))?;
        Ok(Self {
            engine: Engine::Backtracking(Box::new(engine)),
            finder: finder_of(candidates(pattern, ignore_case)).map(Box::new),
            keeps_return: asks_for_carriage_return(pattern),
            is_heavy: true,
            note: None,
        })
    }

    #[cfg(test)]
    fn is_backtracking(&self) -> bool {
        matches!(self.engine, Engine::Backtracking(_))
    }

    pub(super) fn line<'l>(&self, line: &'l [u8]) -> &'l [u8] {
        match line.strip_suffix(b"\r") {
            Some(rest) if !self.keeps_return => rest,
            _ => line,
        }
    }

    pub(super) fn is_match(&self, line: &[u8]) -> Result<bool, String> {
        let line = self.line(line);
        match &self.engine {
            Engine::Linear(matcher) => Ok(matcher.is_match(line).unwrap_or_default()),
            Engine::Backtracking(_) => Ok(self.find_from(line, 0)?.is_some()),
        }
    }

    pub(super) fn find_from(&self, line: &[u8], from: usize) -> Result<Option<Match>, String> {
        match &self.engine {
            Engine::Linear(matcher) => Ok(matcher.find_at(line, from).unwrap_or_default()),
            Engine::Backtracking(engine) => engine.find_from(line, from),
        }
    }

    /// Returns the texts of all groups for the first match in a line, the whole match first.
    /// Returns none if the engine gives up.
    pub(super) fn groups<'l>(&self, line: &'l str) -> Vec<Option<&'l str>> {
        let text = self.line(line.as_bytes());
        let found: Vec<Option<Range<usize>>> = match &self.engine {
            Engine::Linear(matcher) => {
                let groups = matcher.new_captures().and_then(|mut groups| {
                    matcher.captures(text, &mut groups)?;
                    Ok(groups)
                });
                let group = |i| groups.as_ref().ok()?.get(i).map(|at| at.start()..at.end());
                (0..matcher.capture_count()).map(group).collect()
            }
            Engine::Backtracking(engine) => {
                let found = engine.apply(text, |regex, text| {
                    let groups = regex.captures(text)?;
                    let group = |i| groups.as_ref()?.get(i).map(|group| group.range());
                    Ok((0..regex.captures_len()).map(group).collect())
                });
                found.unwrap_or_default()
            }
        };
        found.into_iter().map(|at| line.get(at?)).collect()
    }

    /// Returns the byte ranges of all matches in a line that are not empty, or why the engine gave
    /// up.
    pub(super) fn find_all(&self, line: &[u8]) -> Result<Vec<Match>, String> {
        let line = self.line(line);
        let mut matches = Vec::new();
        let mut from = 0;
        while from <= line.len()
            && let Some(found) = self.find_from(line, from)?
        {
            from = found.end().max(found.start() + 1);
            // The byte behind an empty match may be inside a character.
            from = char_boundary(line, from);
            matches.push(found);
        }
        matches.retain(|found| !found.is_empty());
        Ok(matches)
    }
}

/// Matches lines for `grep-searcher` until the call is cancelled. A line on which the backtracking
/// engine gives up does not match, and is counted in `given_up`.
#[derive(Debug, Clone, Copy)]
pub(super) struct LineMatcher<'a> {
    pub(super) query: &'a Query,
    pub(super) except: Option<&'a Query>,
    pub(super) cancel: &'a Cancellation,
    pub(super) given_up: &'a Cell<u64>,
}

impl LineMatcher<'_> {
    pub(super) fn is_excepted(&self, line: &[u8]) -> Result<bool, String> {
        self.except
            .map_or(Ok(false), |except| except.is_match(line))
    }

    pub(super) fn give_up(&self) {
        self.given_up.set(self.given_up.get() + 1);
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
        let is_match = self.query.is_match(line);
        let is_match = is_match.and_then(|found| Ok(found && !self.is_excepted(line)?));
        Ok(is_match.unwrap_or_else(|_| {
            self.give_up();
            false
        }))
    }

    fn line_terminator(&self) -> Option<LineTerminator> {
        Some(LineTerminator::byte(b'\n'))
    }

    fn find_candidate_line(&self, text: &[u8]) -> Result<Option<LineMatchKind>, String> {
        let query = self.query;
        let finder = match &query.engine {
            Engine::Linear(_) if query.is_heavy => None,
            // An expression with `\A` or `\z` is tried on each line alone, because they mean the
            // edges of a line, and in a block of lines they would be those of the block.
            Engine::Linear(matcher) if matcher.line_terminator().is_none() => None,
            Engine::Linear(matcher) => query.finder.as_ref().or(Some(matcher)),
            Engine::Backtracking(_) => query.finder.as_ref(),
        };
        let at = match finder {
            Some(matcher) => {
                let found = matcher.find_candidate_line(text).unwrap_or_default();
                found.map(|(LineMatchKind::Confirmed(at) | LineMatchKind::Candidate(at))| at)
            }
            None => (!text.is_empty()).then_some(0),
        };
        // An empty match behind the last line feed belongs to no line.
        let at = at.filter(|at| *at < text.len() || !text.ends_with(b"\n"));
        Ok(at.map(LineMatchKind::Candidate))
    }
}

fn builder() -> RegexMatcherBuilder {
    let mut builder = RegexMatcherBuilder::new();
    builder
        .size_limit(PROGRAM_BYTES)
        .dfa_size_limit(CACHE_BYTES)
        .line_terminator(Some(b'\n'));
    builder
}

/// Compiles the first expression that is within the limits and does not match an empty text. One
/// that matches an empty text may match at every position, so it would rule out no line.
fn finder_of(expressions: Vec<String>) -> Option<RegexMatcher> {
    let builder = builder();
    let fitting = expressions.into_iter().filter(|expression| {
        expression.len() <= MAX_CANDIDATE_BYTES && characters_of(expression, false) <= MAX_CHARS
    });
    let mut finders = fitting.filter_map(|expression| builder.build(&expression).ok());
    finders.find(|finder| !finder.is_match(b"").unwrap_or(true))
}

fn char_boundary(text: &[u8], at: usize) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    at + rest.iter().take_while(|byte| **byte & 0xc0 == 0x80).count()
}

fn with_returns(pattern: &str) -> String {
    struct Ends(Vec<usize>);
    impl Visitor for Ends {
        type Output = Vec<usize>;
        type Err = Infallible;

        fn finish(self) -> Result<Vec<usize>, Infallible> {
            Ok(self.0)
        }

        fn visit_pre(&mut self, ast: &Ast) -> Result<(), Infallible> {
            if let Ast::Assertion(assertion) = ast
                && assertion.kind == AssertionKind::EndLine
            {
                self.0.push(assertion.span.start.offset);
            }
            Ok(())
        }
    }
    let Ok(ast) = Parser::new().parse(pattern) else {
        return pattern.to_owned();
    };
    let Ok(ends) = visit(&ast, Ends(Vec::new()));
    let mut written = pattern.to_owned();
    // Each `$` also matches before `\r\n`, and takes nothing there, since `\b` may follow. They are
    // replaced from the last to the first, so that the other offsets stay right.
    for end in ends.into_iter().rev() {
        written.replace_range(end..=end, "(?:(?R:$)|$)");
    }
    written
}

fn check_classes(pattern: &str) -> Result<(), ToolError> {
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
        "has more than {MAX_CLASSES} classes such as \\w."
    )))
}

fn spans_lines(pattern: &str) -> ToolError {
    ToolError::invalid(format!(
        "{pattern:?} contains a line break, but the search goes line by line."
    ))
    .with_hint("Search for what is on one of the lines; 'context' shows those around it.")
}

fn invalid(pattern: &str, reason: &str) -> ToolError {
    ToolError::invalid(format!(
        "{pattern:?} is not a valid regular expression: {}",
        in_order(reason.trim())
    ))
    .with_hint("Escape characters such as ( [ { . * + ? that are meant literally.")
}

/// Moves the reason in a parser's error to its front. The parser prints `regex parse error:`, then
/// the pattern with a mark below the fault, and then `error: unclosed group`.
fn in_order(reason: &str) -> String {
    let parts = reason.strip_prefix("regex parse error:\n");
    match parts.and_then(|parts| parts.split_once("\nerror: ")) {
        Some((place, what)) => format!("{what}, at the mark:\n{place}"),
        None => format!("{}.", reason.trim_end_matches('.')),
    }
}

fn escape_braces(pattern: &str) -> Option<String> {
    let mut escaped = pattern.to_owned();
    for _ in 0..MAX_ESCAPED_BRACES {
        let Err(error) = Parser::new().parse(&escaped) else {
            return Some(escaped);
        };
        if !matches!(
            error.kind(),
            AstErrorKind::RepetitionCountUnclosed
                | AstErrorKind::RepetitionCountDecimalEmpty
                | AstErrorKind::RepetitionMissing
        ) {
            return None;
        }
        // The error's place is the brace, or the character behind it.
        let at = error.span().start.offset;
        let end = at + usize::from(escaped.get(at..)?.starts_with('{'));
        escaped.insert(escaped.get(..end)?.rfind('{')?, '\\');
    }
    None
}

/// Returns true if a pattern is about the `\r` of a line. "All to the line's end" is not.
fn asks_for_carriage_return(pattern: &str) -> bool {
    let hex = ["\\x0d", "\\x{d}", "\\x{0d}", "\\u000d", "\\u{d}", "\\u{0d}"];
    let pattern = pattern.replace(r"[^\r\n]", "").replace(r"[^\n\r]", "");
    let lower = pattern.to_ascii_lowercase();
    pattern.contains(['\r']) || pattern.contains("\\r") || hex.iter().any(|hex| lower.contains(hex))
}

fn characters_of(pattern: &str, ignore_case: bool) -> u64 {
    let mut parser = regex_syntax::ParserBuilder::new();
    let parser = parser.case_insensitive(ignore_case).utf8(false);
    let hir = parser.build().parse(pattern);
    // 0 for an expression that is invalid, or that only the backtracking engine knows.
    hir.as_ref().map_or(0, characters)
}

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

pub(super) fn with_literal_hint(error: ToolError, pattern: &str) -> ToolError {
    let repeats = |rest: &str| rest.starts_with(|c: char| c.is_ascii_digit());
    let is_plain = !pattern.contains(['\\', '|', '^', '$', '\n'])
        && ![".*", ".+", ".?", "(?"]
            .iter()
            .any(|operator| pattern.contains(operator))
        && !pattern.split('{').skip(1).any(repeats);
    match error.hint.clone().filter(|_| is_plain) {
        Some(hint) => error.with_hint(format!("{hint} Or set fixed_strings to true.")),
        None => error,
    }
}

#[cfg(test)]
mod tests;
