//! Searching one file for lines: the engine behind `search_file_content`.
//!
//! # How it works
//!
//! [`Query::new`] compiles a pattern for one of two engines: `regex`, whose time is linear in the
//! text, or, for look-around and back-references only, `fancy_regex`, which backtracks. `PatternTraits`
//! tells beforehand what a pattern can match: characters beyond ASCII, a carriage return, and how
//! many characters it has with its repetitions written out. Where all matches hold the same text,
//! `needle` looks for that, and the engine only at the lines that have it.
//!
//! [`Searcher::search`] reads a file into a buffer with one call. A file that fits is searched as
//! one text; ends of lines are looked for only around a match. A larger file goes through the
//! buffer in pieces that end at a line feed, and the lines that the next match may show as context
//! are carried over. A line that is longer than the buffer goes through in pieces that overlap by
//! `OVERLAP_BYTES`, so that no match in it may be longer. Text in another encoding than UTF-8 is
//! decoded where its bytes don't do: there is a byte order mark, the pattern is about more than
//! ASCII and the text of all matches is there, or a match may be half of a character. If a file
//! that matches has a zero byte, its matches are not shown. `Accumulator` keeps what is to be
//! shown, within the bytes that `Wanted` allows.
//!
//! The engines look at no clock, and a backtracking or large expression may take any time on a line
//! (`is_heavy`). Such a search is made by a `Worker`, a process with limits of time and memory,
//! which gets the text in blocks of whole lines. `Matching` is what both processes have in common,
//! so that a line matches in one as in the other.
//!
//! `grep-searcher` is not used, because it recognises an encoding only by a byte order mark, and
//! holds every line as a whole. Which files are searched is up to `search_file_content` and
//! `workspace::walk`.

use super::needle::Needle;
use gemini_tools_core::scan::count_newlines;
use gemini_tools_core::tool::{Cancellation, ErrorKind, ToolError};
use gemini_tools_platform::isolated::{IsolationError, ResourceLimits, Worker};
use gemini_tools_workspace::text::{ContentKind, Encoding, FileDecoder, SAMPLE_BYTES, detect};
use grep_matcher::{LineMatchKind, Matcher};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use regex_syntax::ast::ErrorKind as AstErrorKind;
use regex_syntax::hir::{Class, Hir, HirKind, Look};
use std::borrow::Cow;
use std::cell::RefCell;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::sync::OnceLock;
use std::time::Duration;

/// The buffer, and the size from which on a file is searched in pieces.
const BUFFER_BYTES: usize = 1024 * 1024;

/// How far pieces of one line overlap: no match within a line may be longer, if the line is
/// longer than the buffer.
const OVERLAP_BYTES: usize = 64 * 1024;

/// What an expression may see before the piece of a line that is searched.
const LOOK_BACK_BYTES: usize = 64;

/// Maximum bytes of a file that are decoded at once.
const DECODED_BYTES: usize = 64 * 1024;

/// No more than this is carried over from piece to piece as context.
const CARRIED_BYTES: usize = BUFFER_BYTES / 4;

/// What a line that is kept takes besides its text.
const LINE_BYTES: usize = 64;

/// A shown line is cut around its match beyond this, in characters.
const LINE_CHARS: usize = 2_000;

/// A longer expression is refused, in bytes: its tree takes some hundred times as much memory.
pub(super) const MAX_PATTERN_BYTES: usize = 16 * 1024;

/// An expression with more classes such as `\w` is refused: each is a list of hundreds of ranges.
const MAX_CLASSES: usize = 1_000;

/// How large the program of an expression may be. A call may have four: two expressions, each once
/// more for lines that hold a carriage return.
pub(super) const PROGRAM_BYTES: usize = 4 * 1024 * 1024;

/// How much of its states an engine remembers, each way.
const CACHE_BYTES: usize = 1024 * 1024;

/// How hard the backtracking engine tries on one line.
const BACKTRACK_LIMIT: usize = 1_000_000;

/// An expression with more characters, repetitions written out, is refused: compiling it takes time.
pub(super) const MAX_CHARS: u64 = 10_000;

/// One with more than this may be slow: all of them may have to be tried at each place.
const LIGHT_CHARS: u64 = 400;

/// How much text an isolated process gets at once, in bytes; a line more where it is longer.
const BLOCK_BYTES: usize = 64 * 1024;

/// What it may use for that. The result has three numbers for each line of a block.
const BOUNDS: ResourceLimits = ResourceLimits {
    memory_bytes: 64 * 1024 * 1024,
    time: Duration::from_secs(20),
    result_bytes: 2 * 1024 * 1024,
};

/// What to look for.
#[derive(Debug)]
pub(super) struct Query {
    /// The argument that it comes from.
    pub(super) name: &'static str,
    engine: Engine,
    /// What each match holds.
    needle: Option<Needle>,
    /// The end of a line may be `\r\n`: the expression asks for ends of lines.
    line_ends: Option<LineEnds>,
    /// The expression may match a carriage return without asking for one, so that a line that ends
    /// in `\r\n` must be looked at without it.
    takes_line_ends: bool,
    /// What the expression matches depends on characters beyond ASCII, so a file in an older
    /// encoding must be decoded before it is searched.
    beyond_ascii: bool,
    /// The expression may take any time.
    is_heavy: bool,
    /// What the pattern was taken for, where that is not what it says.
    pub(super) note: Option<String>,
}

#[derive(Debug)]
enum Engine {
    /// Time is linear in the text.
    Linear(Box<RegexMatcher>),
    /// For look-around and back-references only.
    Backtracking(Box<fancy_regex::Regex>),
}

/// An expression that asks for ends of lines takes a lone carriage return for one as well; so
/// lines that hold such are looked at once more, without their ends, by one that doesn't.
#[derive(Debug)]
struct LineEnds {
    pattern: String,
    ignore_case: bool,
    /// Compiled when the first such line comes.
    strict: OnceLock<Option<RegexMatcher>>,
}

impl LineEnds {
    fn strict(&self) -> Option<&RegexMatcher> {
        let build = || {
            RegexMatcherBuilder::new()
                .case_insensitive(self.ignore_case)
                .multi_line(true)
                .line_terminator(Some(b'\n'))
                .size_limit(PROGRAM_BYTES)
                .dfa_size_limit(CACHE_BYTES)
                .build(&self.pattern)
                .ok()
        };
        self.strict.get_or_init(build).as_ref()
    }
}

impl Query {
    /// Compiles a pattern.
    ///
    /// # Errors
    ///
    /// `invalid_tool_params`, with what is wrong and where.
    pub(super) fn new(
        name: &'static str,
        pattern: &str,
        ignore_case: bool,
        fixed: bool,
    ) -> Result<Self, ToolError> {
        check_length(name, pattern)?;
        if !fixed && classes(pattern) > MAX_CLASSES {
            return Err(too_many_classes(name));
        }
        let hir = if fixed {
            parse(&regex_syntax::escape(pattern), ignore_case)
        } else {
            parse(pattern, ignore_case)
        };
        let PatternTraits {
            beyond_ascii,
            line_ends,
            characters,
        } = if fixed {
            PatternTraits {
                beyond_ascii: !pattern.is_ascii(),
                ..PatternTraits::default()
            }
        } else {
            PatternTraits::of(hir.as_ref())
        };
        if characters > MAX_CHARS {
            return Err(too_large(name, characters));
        }
        let crlf = pattern.contains('$') && !fixed;
        let takes_line_ends = line_ends && !crlf && !asks_for_carriage_return(pattern);
        let linear = |pattern: &str| {
            let mut builder = RegexMatcherBuilder::new();
            builder
                .case_insensitive(ignore_case)
                .multi_line(true)
                .size_limit(PROGRAM_BYTES)
                .dfa_size_limit(CACHE_BYTES)
                .fixed_strings(fixed);
            // Each of the two says that a line feed never matches, and undoes the other.
            if crlf {
                builder.crlf(true);
            } else {
                builder.line_terminator(Some(b'\n'));
            }
            builder.build(pattern)
        };
        let query = |engine, pattern: &str, note| Self {
            name,
            needle: hir.as_ref().and_then(Needle::of),
            is_heavy: characters > LIGHT_CHARS || matches!(engine, Engine::Backtracking(_)),
            engine,
            line_ends: crlf.then(|| LineEnds {
                pattern: pattern.to_owned(),
                ignore_case,
                strict: OnceLock::new(),
            }),
            takes_line_ends,
            beyond_ascii,
            note,
        };
        if pattern.contains('\n') {
            return Err(spans_lines(name, pattern));
        }
        let error = match linear(pattern) {
            Ok(matcher) => return Ok(query(Engine::Linear(Box::new(matcher)), pattern, None)),
            Err(e) if matches!(e.kind(), grep_regex::ErrorKind::NotAllowed(_)) => {
                return Err(spans_lines(name, pattern));
            }
            Err(e) => e,
        };
        let reason = regex_syntax::ast::parse::Parser::new().parse(pattern).err();
        match reason.as_ref().map(regex_syntax::ast::Error::kind) {
            Some(AstErrorKind::UnsupportedLookAround | AstErrorKind::UnsupportedBackreference) => {
                let regex = fancy_regex::RegexBuilder::new(pattern)
                    .case_insensitive(ignore_case)
                    .backtrack_limit(BACKTRACK_LIMIT)
                    .delegate_size_limit(PROGRAM_BYTES)
                    .delegate_dfa_size_limit(CACHE_BYTES)
                    .build()
                    .map_err(|e| invalid(name, pattern, &e.to_string()))?;
                let engine = Engine::Backtracking(Box::new(regex));
                Ok(query(engine, pattern, None))
            }
            // JavaScript and grep take a brace that counts nothing for itself.
            Some(
                AstErrorKind::RepetitionCountUnclosed
                | AstErrorKind::RepetitionCountDecimalEmpty
                | AstErrorKind::RepetitionCountInvalid
                | AstErrorKind::RepetitionMissing
                | AstErrorKind::DecimalInvalid,
            ) if escape_braces(pattern) != pattern => match linear(&escape_braces(pattern)) {
                Ok(matcher) => Ok(query(
                    Engine::Linear(Box::new(matcher)),
                    &escape_braces(pattern),
                    Some("braces that count nothing were taken literally".to_owned()),
                )),
                Err(_) => Err(invalid(name, pattern, &error.to_string())),
            },
            // The pattern as it was given: the other error shows it in a group.
            Some(_) => Err(invalid(
                name,
                pattern,
                &reason.map_or_else(String::new, |e| e.to_string()),
            )),
            None => Err(invalid(name, pattern, &error.to_string())),
        }
    }
}

fn too_many_classes(name: &str) -> ToolError {
    ToolError::invalid(format!(
        "\"{name}\" has more than {MAX_CLASSES} classes such as \\w."
    ))
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

/// An expression for lines that are told apart already, of bounded size.
///
/// # Errors
///
/// `invalid_tool_params`, with what is wrong.
#[cfg(feature = "full")]
pub(super) fn bounded(name: &str, pattern: &str) -> Result<RegexMatcher, ToolError> {
    check_length(name, pattern)?;
    if classes(pattern) > MAX_CLASSES {
        return Err(too_many_classes(name));
    }
    let PatternTraits { characters, .. } = PatternTraits::of(parse(pattern, false).as_ref());
    if characters > MAX_CHARS {
        return Err(too_large(name, characters));
    }
    let mut builder = RegexMatcherBuilder::new();
    let builder = builder
        .size_limit(PROGRAM_BYTES)
        .dfa_size_limit(CACHE_BYTES);
    builder.build(pattern).map_err(|e| {
        ToolError::invalid(format!(
            "\"{name}\" is not a valid regular expression: {}",
            in_order(e.to_string().trim())
        ))
        .with_hint("Escape characters such as ( [ { . * + ? that are meant literally.")
    })
}

/// How many classes with a letter a pattern has.
fn classes(pattern: &str) -> usize {
    let mut count = 0;
    let mut bytes = pattern.bytes();
    while let Some(byte) = bytes.next() {
        let escaped = (byte == b'\\').then(|| bytes.next()).flatten();
        count += usize::from(escaped.is_some_and(|letter| b"wWdDsSpP".contains(&letter)));
    }
    count
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
    let hint = if name == "pattern" {
        "Escape special characters with a backslash, or set fixed_strings to true to look for \
         the text as it is."
    } else {
        "Escape special characters with a backslash. The pattern leaves lines out; to leave files out, \
         put '!' before a glob pattern in 'include'."
    };
    ToolError::invalid(format!(
        "\"{name}\" {pattern:?} is not a valid regular expression: {}",
        in_order(reason.trim())
    ))
    .with_hint(hint)
}

/// What the parser says, and then the place, which it shows first: `regex parse error:`, the
/// pattern with a mark below it, and `error: unclosed group`.
fn in_order(reason: &str) -> String {
    let parts = reason.strip_prefix("regex parse error:\n");
    match parts.and_then(|parts| parts.split_once("\nerror: ")) {
        Some((place, what)) => format!("{what}, at the mark:\n{place}"),
        None => format!("{}.", reason.trim_end_matches('.')),
    }
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

/// Whether a pattern itself speaks of a carriage return.
fn asks_for_carriage_return(pattern: &str) -> bool {
    let hex = ["\\x0d", "\\x{d}", "\\x{0d}", "\\u000d", "\\u{d}", "\\u{0d}"];
    let lower = pattern.to_ascii_lowercase();
    pattern.contains(['\r']) || pattern.contains("\\r") || hex.iter().any(|hex| lower.contains(hex))
}

/// What an expression consists of; `None` where it is not valid, or is for the backtracking engine.
fn parse(pattern: &str, ignore_case: bool) -> Option<Hir> {
    let mut parser = regex_syntax::ParserBuilder::new();
    let parser = parser.case_insensitive(ignore_case).utf8(false);
    parser.build().parse(pattern).ok()
}

/// What an expression may match besides plain text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct PatternTraits {
    /// What it matches depends on characters beyond ASCII.
    beyond_ascii: bool,
    /// The expression can match a carriage return.
    line_ends: bool,
    /// How many characters and classes it has, repetitions written out.
    characters: u64,
}

impl PatternTraits {
    /// The traits of an expression, or of one that could not be parsed.
    fn of(hir: Option<&Hir>) -> Self {
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

/// See [`PatternTraits::characters`].
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

/// A line that is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ShownLine {
    /// From 1.
    pub(super) number: u64,
    /// Whether it matches; else it is context.
    pub(super) is_match: bool,
    /// Where its text is in [`Hits::text`].
    pub(super) text: (usize, usize),
    /// Where in the line its first match begins, from 1 and in characters, where that is wanted
    /// and known.
    pub(super) column: Option<u64>,
    /// The first column behind that match.
    pub(super) end_column: Option<u64>,
}

/// A line that matches: its bounds in the text without its line feed, and where in the text its
/// first match is, if that is wanted or the line is too long to be shown whole.
#[derive(Debug, Clone, Copy)]
struct MatchedLine {
    start: usize,
    end: usize,
    at: usize,
    to: usize,
}

/// What was found in one file.
#[derive(Debug, Default)]
pub(super) struct Hits {
    /// Matching lines, also those that are not kept.
    pub(super) count: u64,
    /// The file is not text; its lines are not kept.
    pub(super) is_binary: bool,
    /// The lines to show.
    pub(super) lines: Vec<ShownLine>,
    /// Their text.
    pub(super) text: String,
    /// The search stopped at the limit of matches.
    pub(super) is_cut: bool,
    /// A matching line is not UTF-8.
    has_odd_line: bool,
}

/// What is wanted of a file's matches.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted {
    /// Context lines before a match.
    pub(super) before: u64,
    /// Context lines after a match.
    pub(super) after: u64,
    /// The most matching lines of one file.
    pub(super) most: u64,
    /// How much what is kept of one file may take, in bytes.
    pub(super) bytes: usize,
    /// Whether lines are kept, or only counted.
    pub(super) lines: bool,
    /// Whether it matters where in a line its match begins.
    pub(super) columns: bool,
}

/// Which lines match.
#[derive(Clone, Copy)]
struct Matching<'a> {
    query: &'a Query,
    /// Lines that this matches don't count.
    except: Option<&'a Query>,
    wanted: Wanted,
}

/// Searches file after file with one buffer.
pub(super) struct Searcher<'a> {
    matching: Matching<'a>,
    buffer: Vec<u8>,
    cancel: &'a Cancellation,
    /// Does the matching where that may take any time, once it is needed.
    worker: RefCell<Option<Worker>>,
}

/// What is wanted of a worker, as the first byte of a request.
mod wanted {
    /// The matching lines.
    pub(super) const LINES: u8 = b'L';
    /// Whether a line does not count.
    pub(super) const EXCEPTED: u8 = b'X';
    /// The first match from a place on, which comes next.
    pub(super) const WITHIN: u8 = b'W';
    /// Where in a line all matches are.
    pub(super) const SPANS: u8 = b'S';
}

/// What stopped the search of a file.
#[derive(Debug)]
pub(super) enum Failure {
    Read(std::io::Error),
    Backtracking(String),
    /// The call was interrupted, or no process could be started.
    Stopped(ToolError),
}

/// Decides about each line of context.
type IsLeftOut<'a> = dyn Fn(&[u8]) -> Result<bool, Failure> + 'a;

impl Failure {
    /// As an error of the whole call.
    pub(super) fn into_error(self) -> ToolError {
        match self {
            Failure::Read(e) => ToolError::new(
                ErrorKind::GrepExecutionError,
                format!("A file can't be read: {e}."),
            )
            .with_source(e),
            Failure::Backtracking(e) => ToolError::new(
                ErrorKind::GrepExecutionError,
                format!("The pattern takes too long on some line: {e}."),
            )
            .with_hint("Use a simpler pattern, without look-around and back-references."),
            Failure::Stopped(e) => e,
        }
    }
}

impl From<IsolationError<ToolError>> for Failure {
    fn from(ended: IsolationError<ToolError>) -> Self {
        let error = |message: &str| ToolError::new(ErrorKind::GrepExecutionError, message);
        match ended {
            IsolationError::TooSlow => Self::Backtracking(format!(
                "it was not done with it after {} s",
                BOUNDS.time.as_secs()
            )),
            IsolationError::Died => Self::Backtracking("it takes too much memory".to_owned()),
            IsolationError::NotStarted => Self::Stopped(error(
                "The pattern needs a process of its own, and none could be started.",
            )),
            IsolationError::Interrupted(e) => Self::Stopped(e),
        }
    }
}

impl<'a> Searcher<'a> {
    pub(super) fn new(
        query: &'a Query,
        except: Option<&'a Query>,
        wanted: Wanted,
        cancel: &'a Cancellation,
    ) -> Self {
        Self {
            matching: Matching {
                query,
                except,
                wanted,
            },
            buffer: vec![0; BUFFER_BYTES],
            cancel,
            worker: RefCell::default(),
        }
    }

    /// Calls `f` with every matching line from `from` on, see [`Matching::each_line`].
    fn each_line(
        &self,
        text: &[u8],
        mut from: usize,
        mut f: impl FnMut(MatchedLine) -> bool,
    ) -> Result<(), Failure> {
        if !self.matching.is_heavy() {
            return self.matching.each_line(text, from, f);
        }
        while from < text.len() {
            let least = (from + BLOCK_BYTES).min(text.len());
            let end = memchr::memchr(b'\n', &text[least..]);
            let end = end.map_or(text.len(), |at| least + at + 1);
            let numbers = self.ask(&[&[wanted::LINES], &text[from..end]])?;
            for line in numbers.chunks_exact(4) {
                let line = MatchedLine {
                    start: from + line[0],
                    end: from + line[1],
                    at: from + line[2],
                    to: from + line[3],
                };
                if !f(line) {
                    return Ok(());
                }
            }
            from = end;
        }
        Ok(())
    }

    fn is_excepted(&self, line: &[u8]) -> Result<bool, Failure> {
        if !self.matching.except.is_some_and(|except| except.is_heavy) {
            return self.matching.is_excepted(line);
        }
        let answer = self.ask(&[&[wanted::EXCEPTED], line])?;
        Ok(!answer.is_empty())
    }

    /// Where in a line all matches are, in bytes; those without a length are left out.
    pub(super) fn spans(&self, line: &str) -> Result<Vec<(usize, usize)>, Failure> {
        let line = line.as_bytes();
        let numbers = if self.matching.query.is_heavy {
            self.ask(&[&[wanted::SPANS], line])?
        } else {
            self.matching.spans(line)?
        };
        let spans = numbers.chunks_exact(2);
        Ok(spans.map(|span| (span[0], span[1])).collect())
    }

    fn find_within(&self, text: &[u8], from: usize) -> Result<Option<(usize, usize)>, Failure> {
        if !self.matching.query.is_heavy {
            return Ok(self.matching.find_within(text, from));
        }
        let answer = self.ask(&[&[wanted::WITHIN], &from.to_ne_bytes(), text])?;
        Ok(answer.first_chunk::<2>().map(|[at, to]| (*at, *to)))
    }

    /// Has the worker do something.
    fn ask(&self, request: &[&[u8]]) -> Result<Vec<usize>, Failure> {
        let mut worker = self.worker.borrow_mut();
        let worker = if let Some(worker) = worker.as_mut() {
            worker
        } else {
            let matching = self.matching;
            // What another thread is about to compile would never be ready in the worker.
            for query in [Some(matching.query), matching.except]
                .into_iter()
                .flatten()
            {
                if let Some(ends) = &query.line_ends {
                    ends.strict();
                }
            }
            let started = Worker::start(BOUNDS, move |request| matching.answer(request));
            worker.insert(started.map_err(|_| IsolationError::NotStarted)?)
        };
        let answer = worker.ask(&request.concat(), &|| self.cancel.check())?;
        match answer.split_first() {
            Some((0, numbers)) => Ok(to_numbers(numbers)),
            Some((_, message)) => Err(Failure::Backtracking(
                String::from_utf8_lossy(message).into_owned(),
            )),
            None => Err(IsolationError::Died.into()),
        }
    }

    /// Searches an open file.
    ///
    /// # Errors
    ///
    /// What the system says, or that the backtracking engine gave up.
    pub(super) fn search(&mut self, file: &mut File) -> Result<Option<Hits>, Failure> {
        let mut buffer = std::mem::take(&mut self.buffer);
        // A regular file gives all that is asked for, so less than the buffer is all of it.
        let result = match file.read(&mut buffer) {
            Err(e) => Err(Failure::Read(e)),
            Ok(n) if n < buffer.len() => self.search_whole(&buffer[..n]),
            Ok(n) => self.search_large(file, &mut buffer, n),
        };
        self.buffer = buffer;
        result
    }

    fn search_whole(&self, bytes: &[u8]) -> Result<Option<Hits>, Failure> {
        // Looked for before the encoding is: encodings without a mark write ASCII as it is.
        let needle = self.matching.query.needle.as_ref();
        let lacks_needle = || needle.is_some_and(|n| n.is_ascii() && n.find(bytes).is_none());
        if self.needs_characters() && !is_marked(bytes) && lacks_needle() {
            return Ok(None);
        }
        if let Some(text) = self.needs_decoding(bytes) {
            return self.search_text(text.as_bytes(), None, bytes);
        }
        let hits = self.search_text(bytes, Some(bytes), bytes)?;
        if hits.as_ref().is_some_and(Hits::may_split_characters)
            && let Some(encoding) = of_several_bytes(bytes)
        {
            return self.search_text(encoding.decode(bytes).as_bytes(), None, bytes);
        }
        Ok(hits)
    }

    /// The text of a file that can't be searched as it is.
    fn needs_decoding<'b>(&self, bytes: &'b [u8]) -> Option<Cow<'b, str>> {
        Some(self.foreign(bytes)?.decode(bytes))
    }

    /// Whether bytes that are not UTF-8 must be decoded first.
    fn needs_characters(&self) -> bool {
        self.matching.query.beyond_ascii || self.matching.except.is_some()
    }

    /// The encoding of a file that can't be searched as it is.
    fn foreign(&self, bytes: &[u8]) -> Option<Encoding> {
        let is_foreign = || self.needs_characters() && std::str::from_utf8(bytes).is_err();
        if !is_marked(bytes) && !is_foreign() {
            return None;
        }
        // What fills the buffer may end within a character.
        match detect(bytes, bytes.len() < BUFFER_BYTES) {
            ContentKind::Text(encoding) if !encoding.is_utf8() => Some(encoding),
            _ => None,
        }
    }

    /// Searches all lines of `text`. Where `raw` is given, a match makes it be looked at for
    /// zero bytes.
    fn search_text(
        &self,
        text: &[u8],
        raw: Option<&[u8]>,
        sample: &[u8],
    ) -> Result<Option<Hits>, Failure> {
        let mut found = Accumulator::new(self.matching.wanted);
        let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        self.each_line(text, 0, |line| {
            found.add(text, line);
            !found.is_full()
        })?;
        if found.hits.count == 0 {
            return Ok(None);
        }
        if raw.is_some_and(has_zero_byte) {
            return Ok(Some(Hits {
                is_binary: true,
                count: found.hits.count,
                ..Hits::default()
            }));
        }
        found
            .finish(text, sample, &|line| self.is_excepted(line))
            .map(Some)
    }

    fn search_large(
        &self,
        file: &mut File,
        buffer: &mut [u8],
        filled: usize,
    ) -> Result<Option<Hits>, Failure> {
        let start = &buffer[..filled];
        let foreign = self.foreign(start);
        if foreign.is_none() && has_zero_byte(start) {
            // Large and no text: its lines would not be shown, and its beginning tells enough.
            return self.search_text(start, Some(start), start);
        }
        let sample = whole_lines(start).to_vec();
        if let Some(encoding) = foreign {
            return self.search_decoded(file, encoding, buffer, &sample);
        }
        let hits = self.search_pieces(file, buffer, filled, &sample, true)?;
        if hits.as_ref().is_some_and(Hits::may_split_characters)
            && let Some(encoding) = of_several_bytes(&sample)
        {
            return self.search_decoded(file, encoding, buffer, &sample);
        }
        Ok(hits)
    }

    fn search_decoded(
        &self,
        file: &mut File,
        encoding: Encoding,
        buffer: &mut [u8],
        sample: &[u8],
    ) -> Result<Option<Hits>, Failure> {
        let mark = Some(encoding.mark().len()).filter(|_| sample.starts_with(encoding.mark()));
        let start = SeekFrom::Start(mark.unwrap_or_default() as u64);
        file.seek(start).map_err(Failure::Read)?;
        self.search_pieces(&mut Decoded::new(file, encoding), buffer, 0, b"", false)
    }

    fn search_pieces(
        &self,
        file: &mut impl Read,
        buffer: &mut [u8],
        mut filled: usize,
        sample: &[u8],
        is_raw: bool,
    ) -> Result<Option<Hits>, Failure> {
        let mut found = Accumulator::new(self.matching.wanted);
        let mut has_zero = false;
        let mut ended = false;
        // How much of the buffer's beginning was searched before, as context of what follows.
        let mut carried = 0;
        // The buffer begins inside of a line: how many bytes are for looking back only.
        let mut inside = 0;
        while !found.is_full() {
            while filled < buffer.len() && !ended {
                let n = file.read(&mut buffer[filled..]).map_err(Failure::Read)?;
                ended = n == 0;
                filled += n;
            }
            let text = &buffer[..filled];
            if text.len() == carried {
                break;
            }
            has_zero |= is_raw && has_zero_byte(&text[carried..]);
            let newline = memchr::memchr(b'\n', &text[carried..]);
            if carried > 0 && newline.is_none() && !ended {
                // A long line needs all the room.
                buffer.copy_within(carried..filled, 0);
                filled -= carried;
                carried = 0;
                found.forget_before(0);
                continue;
            }
            let keep_from = if inside > 0 || (newline.is_none() && !ended) {
                found.forget_before(0);
                match self.long_line(text, newline, ended, inside, &mut found)? {
                    LongLine::Over(next) => {
                        inside = 0;
                        found.number += 1;
                        next
                    }
                    LongLine::GoesOn(from) => {
                        inside = LOOK_BACK_BYTES.min(filled - from);
                        from
                    }
                    LongLine::Skip => {
                        if !skip_to_newline(file, buffer, &mut filled).map_err(Failure::Read)? {
                            break;
                        }
                        inside = 0;
                        found.number += 1;
                        continue;
                    }
                }
            } else {
                let end = memchr::memrchr(b'\n', text)
                    .filter(|_| !ended)
                    .map_or(filled, |i| i + 1);
                let piece = &text[..end];
                self.each_line(piece, carried, |line| {
                    found.add(piece, line);
                    !found.is_full()
                })?;
                found.keep_lines(piece, sample, &|line| self.is_excepted(line))?;
                found.number += count_newlines(&piece[found.counted_to..]);
                let from = found.context_from(piece);
                found.forget_before(from);
                carried = end - from;
                found.counted_to = carried;
                from
            };
            buffer.copy_within(keep_from..filled, 0);
            filled -= keep_from;
        }
        if found.hits.count == 0 {
            return Ok(None);
        }
        if has_zero {
            return Ok(Some(Hits {
                is_binary: true,
                count: found.hits.count,
                ..Hits::default()
            }));
        }
        found.hits.is_cut = found.is_full();
        Ok(Some(found.hits))
    }

    /// Searches a piece of a line that is longer than the buffer.
    fn long_line(
        &self,
        text: &[u8],
        newline: Option<usize>,
        ended: bool,
        inside: usize,
        found: &mut Accumulator,
    ) -> Result<LongLine, Failure> {
        let end = newline.unwrap_or(text.len());
        let is_complete = newline.is_some() || ended;
        let over = LongLine::Over((end + 1).min(text.len()));
        let line = if is_complete {
            self.matching.without_ending(&text[..end])
        } else {
            &text[..end]
        };
        if matches!(self.matching.query.engine, Engine::Backtracking(_)) {
            let reason = format!(
                "line {} is longer than {BUFFER_BYTES} bytes, too long for look-around and back-references",
                found.number
            );
            return Err(Failure::Read(std::io::Error::other(reason)));
        }
        Ok(match self.find_within(line, inside)? {
            // A match that touches the edge may go on, or be none, in the light of more.
            Some((at, to)) if to == end && !is_complete && at > 2 * LOOK_BACK_BYTES => {
                LongLine::GoesOn(at - LOOK_BACK_BYTES)
            }
            Some((at, _)) => {
                // The line is too long to be read whole: the part that was read decides.
                if !self.is_excepted(&text[..end])? {
                    found.add_piece(&text[..end], at);
                }
                if is_complete { over } else { LongLine::Skip }
            }
            None if is_complete => over,
            None => LongLine::GoesOn(text.len().saturating_sub(OVERLAP_BYTES)),
        })
    }
}

impl Matching<'_> {
    /// Whether it may take any time.
    fn is_heavy(&self) -> bool {
        self.query.is_heavy || self.except.is_some_and(|except| except.is_heavy)
    }

    /// The worker's part: a zero byte and numbers, or another one and what went wrong.
    fn answer(&self, request: &[u8]) -> Vec<u8> {
        let numbers = match request.split_first() {
            Some((&wanted::LINES, text)) => {
                let mut lines = Vec::new();
                let each = self.each_line(text, 0, |line| {
                    lines.extend([line.start, line.end, line.at, line.to]);
                    true
                });
                each.map(|()| lines)
            }
            Some((&wanted::EXCEPTED, line)) => {
                let is_excepted = self.is_excepted(line);
                is_excepted.map(|is| if is { vec![1] } else { Vec::new() })
            }
            Some((&wanted::WITHIN, rest)) => {
                let (from, text) = rest.split_at(size_of::<usize>().min(rest.len()));
                let from = to_numbers(from).first().copied().unwrap_or_default();
                let found = self.find_within(text, from);
                Ok(found.map(|(at, to)| vec![at, to]).unwrap_or_default())
            }
            Some((&wanted::SPANS, line)) => self.spans(line),
            _ => Ok(Vec::new()),
        };
        match numbers {
            Ok(numbers) => {
                let bytes = numbers.iter().flat_map(|n| n.to_ne_bytes());
                [0].into_iter().chain(bytes).collect()
            }
            Err(Failure::Backtracking(e)) => [b"!", e.as_bytes()].concat(),
            Err(e) => [b"!", e.into_error().message.as_bytes()].concat(),
        }
    }

    /// Calls `f` with every matching line from `from` on, until it says no.
    fn each_line(
        &self,
        text: &[u8],
        mut from: usize,
        mut f: impl FnMut(MatchedLine) -> bool,
    ) -> Result<(), Failure> {
        while from < text.len() {
            let Some((start, end)) = self.next_line(text, from)? else {
                return Ok(());
            };
            if self.is_excepted(&text[start..end])? {
                from = end + 1;
                continue;
            }
            let (at, to) = if self.wanted.columns || end - start > LINE_CHARS {
                let line = self.without_ending(&text[start..end]);
                let found = self.find_within(line, 0);
                found.or_else(|| self.find_back(line)).unwrap_or_default()
            } else {
                (0, 0)
            };
            let line = MatchedLine {
                start,
                end,
                at: start + at,
                to: start + to,
            };
            if !f(line) {
                return Ok(());
            }
            from = end + 1;
        }
        Ok(())
    }

    /// The bounds of the first matching line from `from` on, where a line begins.
    fn next_line(&self, text: &[u8], mut from: usize) -> Result<Option<(usize, usize)>, Failure> {
        while from < text.len() {
            let (start, end) = match &self.query.engine {
                Engine::Linear(matcher) => {
                    let rest = &text[from..];
                    let candidate = match &self.query.needle {
                        Some(needle) => needle.find(rest).map(|i| (i, needle.is_whole)),
                        // The matcher's error type has no values. What it gives may be any place
                        // of the line, also its end.
                        None => match matcher.find_candidate_line(rest).unwrap_or_default() {
                            None => None,
                            Some(LineMatchKind::Confirmed(i)) => Some((i, true)),
                            Some(LineMatchKind::Candidate(i)) => Some((i, false)),
                        },
                    };
                    let Some((at, is_sure)) = candidate.map(|(i, sure)| (from + i, sure)) else {
                        return Ok(None);
                    };
                    if at == text.len() && text.ends_with(b"\n") {
                        return Ok(None);
                    }
                    let (start, end) = line_around(text, at);
                    let line = self.without_ending(&text[start..end]);
                    let is_shorter = self.query.takes_line_ends && line.len() < end - start;
                    let is_match = if self.strict_for(line).is_some() || !is_sure || is_shorter {
                        self.find_within(line, 0).is_some()
                    } else {
                        true
                    };
                    if is_match {
                        return Ok(Some((start, end)));
                    }
                    (start, end)
                }
                Engine::Backtracking(regex) => {
                    let (start, end) = line_around(text, from);
                    if matches_back(regex, &text[start..end])? {
                        return Ok(Some((start, end)));
                    }
                    (start, end)
                }
            };
            debug_assert!(start <= end && end >= from, "the search goes on");
            from = end + 1;
        }
        Ok(None)
    }

    /// A line without the first half of `\r\n`, where that ends a line: after a carriage return
    /// at the end of a text the expression would see the beginning of another line.
    fn without_ending<'b>(&self, line: &'b [u8]) -> &'b [u8] {
        match line.strip_suffix(b"\r") {
            Some(rest) if self.query.line_ends.is_some() || self.query.takes_line_ends => rest,
            _ => line,
        }
    }

    /// What a line without its end must be looked at by, where a lone carriage return in it
    /// would be taken for one.
    fn strict_for(&self, line: &[u8]) -> Option<&RegexMatcher> {
        let ends = self.query.line_ends.as_ref()?;
        memchr::memchr(b'\r', line)?;
        ends.strict()
    }

    /// Whether a line that matches does not count.
    fn is_excepted(&self, line: &[u8]) -> Result<bool, Failure> {
        let Some(except) = self.except else {
            return Ok(false);
        };
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        match &except.engine {
            Engine::Linear(matcher) => {
                let strict = except.line_ends.as_ref().and_then(LineEnds::strict);
                let matcher = strict.unwrap_or(matcher);
                let is_foreign = except.beyond_ascii && std::str::from_utf8(line).is_err();
                let line = if is_foreign {
                    decode(line, line)
                } else {
                    return Ok(matcher.is_match(line).unwrap_or_default());
                };
                Ok(matcher.is_match(line.as_bytes()).unwrap_or_default())
            }
            Engine::Backtracking(regex) => matches_back(regex, line),
        }
    }

    /// See [`Searcher::spans`]; two numbers for each.
    fn spans(&self, line: &[u8]) -> Result<Vec<usize>, Failure> {
        let mut spans = Vec::new();
        if let Engine::Backtracking(regex) = &self.query.engine {
            let line = std::str::from_utf8(line).unwrap_or_default();
            for found in regex.find_iter(line) {
                let found = found.map_err(|e| Failure::Backtracking(e.to_string()))?;
                spans.extend([found.start(), found.end()]);
            }
        } else {
            let mut from = 0;
            while let Some((at, to)) = self.find_within(line, from).filter(|_| from <= line.len()) {
                spans.extend([at, to]);
                from = to.max(at + 1);
            }
        }
        Ok(spans
            .chunks_exact(2)
            .filter(|span| span[0] < span[1])
            .flatten()
            .copied()
            .collect())
    }

    /// Where the backtracking engine finds its first match in a line, where that is wanted.
    fn find_back(&self, line: &[u8]) -> Option<(usize, usize)> {
        let Engine::Backtracking(regex) = &self.query.engine else {
            return None;
        };
        let line = std::str::from_utf8(line)
            .ok()
            .filter(|_| self.wanted.columns)?;
        let found = regex.find(line).ok()??;
        Some((found.start(), found.end()))
    }

    fn find_within(&self, text: &[u8], from: usize) -> Option<(usize, usize)> {
        match &self.query.engine {
            Engine::Linear(matcher) => {
                let matcher = self.strict_for(text).unwrap_or(matcher);
                let found = matcher.find_at(text, from).unwrap_or_default()?;
                Some((found.start(), found.end()))
            }
            // Lines of many megabytes are not for an engine that goes back.
            Engine::Backtracking(_) => None,
        }
    }
}

/// What a worker's answer holds.
fn to_numbers(bytes: &[u8]) -> Vec<usize> {
    let words = bytes.chunks_exact(size_of::<usize>());
    words
        .filter_map(|word| word.first_chunk().map(|word| usize::from_ne_bytes(*word)))
        .collect()
}

impl Hits {
    /// Whether a match may be half of a character: a byte that is ASCII by itself is the second
    /// of a character in some older encodings.
    fn may_split_characters(&self) -> bool {
        self.has_odd_line && !self.is_binary
    }
}

/// The beginning of a file to recognise its encoding by. It does not end within a character.
fn whole_lines(bytes: &[u8]) -> &[u8] {
    let Some(sample) = bytes.get(..SAMPLE_BYTES) else {
        return bytes;
    };
    let end = memchr::memrchr(b'\n', sample);
    end.map_or(sample, |end| &sample[..=end])
}

/// The encoding of a file whose characters may have several bytes, and is not UTF-8.
fn of_several_bytes(sample: &[u8]) -> Option<Encoding> {
    match detect(whole_lines(sample), true) {
        ContentKind::Text(Encoding::Legacy(encoding)) if !encoding.is_single_byte() => {
            Some(Encoding::Legacy(encoding))
        }
        _ => None,
    }
}

fn matches_back(regex: &fancy_regex::Regex, line: &[u8]) -> Result<bool, Failure> {
    let line = String::from_utf8_lossy(line);
    let line = line.strip_suffix('\r').unwrap_or(&line);
    let is_match = regex.is_match(line);
    is_match.map_err(|e| Failure::Backtracking(e.to_string()))
}

/// A file as UTF-8, whatever it is encoded in.
struct Decoded<'f> {
    file: &'f mut File,
    decoder: FileDecoder,
    raw: Vec<u8>,
    text: String,
    /// Bytes of the text that were read.
    given: usize,
    ended: bool,
}

impl<'f> Decoded<'f> {
    /// What the file holds from its position on, which is behind its mark.
    fn new(file: &'f mut File, encoding: Encoding) -> Self {
        Self {
            file,
            decoder: FileDecoder::new(encoding),
            raw: vec![0; DECODED_BYTES],
            text: String::new(),
            given: 0,
            ended: false,
        }
    }
}

impl Read for Decoded<'_> {
    fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
        while self.given == self.text.len() && !self.ended {
            let n = self.file.read(&mut self.raw)?;
            self.ended = n == 0;
            self.given = 0;
            self.text.clear();
            self.decoder
                .push(&self.raw[..n], self.ended, &mut self.text);
        }
        let n = (&self.text.as_bytes()[self.given..]).read(to)?;
        self.given += n;
        Ok(n)
    }
}

/// How it goes on after a piece of a long line.
enum LongLine {
    /// The line ends in the piece; what follows begins here.
    Over(usize),
    /// From here on the piece is needed again.
    GoesOn(usize),
    /// The line matches; its rest is of no interest.
    Skip,
}

/// Reads on until a line feed; what follows it is left at the buffer's beginning.
fn skip_to_newline(
    file: &mut impl Read,
    buffer: &mut [u8],
    filled: &mut usize,
) -> std::io::Result<bool> {
    loop {
        let n = file.read(buffer)?;
        if n == 0 {
            *filled = 0;
            return Ok(false);
        }
        if let Some(at) = memchr::memchr(b'\n', &buffer[..n]) {
            buffer.copy_within(at + 1..n, 0);
            *filled = n - at - 1;
            return Ok(true);
        }
    }
}

/// Whether a file begins with a mark of UTF-16 or UTF-32.
fn is_marked(bytes: &[u8]) -> bool {
    matches!(
        bytes,
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] | [0, 0, 0xfe, 0xff, ..]
    )
}

fn has_zero_byte(bytes: &[u8]) -> bool {
    memchr::memchr(0, bytes).is_some()
}

/// The bounds of the line that `at` is in, without its line feed.
fn line_around(text: &[u8], at: usize) -> (usize, usize) {
    let start = memchr::memrchr(b'\n', &text[..at]).map_or(0, |i| i + 1);
    let end = memchr::memchr(b'\n', &text[at..]).map_or(text.len(), |i| at + i);
    (start, end)
}

/// Collects the matches of one file.
struct Accumulator {
    wanted: Wanted,
    hits: Hits,
    /// Matching lines of the piece at hand, with their numbers.
    pending: Vec<(u64, MatchedLine)>,
    /// The number of the line at `counted_to`.
    number: u64,
    counted_to: usize,
    /// The piece at hand has been shown up to here, if at all.
    shown_to: usize,
    /// How many lines are still to be shown after a match, and from which number on.
    owed: u64,
    owed_from: u64,
    /// How many bytes what is kept takes.
    kept: usize,
}

impl Accumulator {
    fn new(wanted: Wanted) -> Self {
        Self {
            wanted,
            hits: Hits::default(),
            pending: Vec::new(),
            number: 1,
            counted_to: 0,
            shown_to: 0,
            owed: 0,
            owed_from: 0,
            kept: 0,
        }
    }

    fn is_full(&self) -> bool {
        self.hits.count >= self.wanted.most || self.kept >= self.wanted.bytes
    }

    /// The piece goes on at this place of it.
    fn forget_before(&mut self, from: usize) {
        self.shown_to = self.shown_to.saturating_sub(from);
        self.counted_to = self.counted_to.saturating_sub(from);
    }

    /// Where the lines at the end of a piece begin that the next match may show before it.
    fn context_from(&self, piece: &[u8]) -> usize {
        let least = self
            .shown_to
            .min(piece.len())
            .max(piece.len().saturating_sub(CARRIED_BYTES));
        let mut from = piece.len();
        for _ in 0..self.wanted.before {
            let Some(end) = from.checked_sub(1).filter(|end| *end >= least) else {
                break;
            };
            let start = memchr::memrchr(b'\n', &piece[..end]).map_or(0, |i| i + 1);
            if start < least {
                break;
            }
            from = start;
        }
        from
    }

    fn add(&mut self, text: &[u8], line: MatchedLine) {
        let MatchedLine { start, end, .. } = line;
        self.hits.count += 1;
        self.hits.has_odd_line |= std::str::from_utf8(&text[start..end]).is_err();
        if self.wanted.lines {
            self.number += count_newlines(&text[self.counted_to..start]);
            self.counted_to = start;
            self.kept += LINE_BYTES + (end - start).min(2 * LINE_CHARS);
            self.pending.push((self.number, line));
        }
    }

    /// Adds what is shown of a line that is longer than the buffer: the text around the match.
    fn add_piece(&mut self, text: &[u8], at: usize) {
        self.hits.count += 1;
        if self.wanted.lines {
            self.kept += LINE_BYTES + 2 * LINE_CHARS;
            let from = at.saturating_sub(LINE_CHARS / 4);
            let to = (at + LINE_CHARS).min(text.len());
            let shown = String::from_utf8_lossy(&text[from..to]);
            self.push(
                self.number,
                [None, None],
                true,
                &format!("... {} ...", shown.trim()),
            );
        }
    }

    fn push(&mut self, number: u64, columns: [Option<u64>; 2], is_match: bool, text: &str) {
        let from = self.hits.text.len();
        // As it is, so that what is copied from it fits an edit; `cut` has taken its end away.
        self.hits.text.push_str(text);
        self.hits.lines.push(ShownLine {
            number,
            is_match,
            text: (from, self.hits.text.len()),
            column: columns[0],
            end_column: columns[1],
        });
    }

    fn finish(
        mut self,
        text: &[u8],
        sample: &[u8],
        is_left_out: &IsLeftOut<'_>,
    ) -> Result<Hits, Failure> {
        self.hits.is_cut = self.is_full();
        self.keep_lines(text, sample, is_left_out)?;
        Ok(self.hits)
    }

    /// Keeps the pending lines with their context, but for lines of that which are left out.
    fn keep_lines(
        &mut self,
        text: &[u8],
        sample: &[u8],
        is_left_out: &IsLeftOut<'_>,
    ) -> Result<(), Failure> {
        let pending = std::mem::take(&mut self.pending);
        let Wanted { before, after, .. } = self.wanted;
        let first = pending.first().map_or(text.len(), |first| first.1.start);
        self.keep_owed(text, first, sample, is_left_out)?;
        for (i, &(number, matched)) in pending.iter().enumerate() {
            let MatchedLine { start, end, at, to } = matched;
            let mut earlier = Vec::new();
            let mut from = start;
            while (earlier.len() as u64) < before && from > self.shown_to {
                let (line_start, line_end) = line_around(text, from - 1);
                if line_start < self.shown_to {
                    break;
                }
                earlier.push((line_start, line_end));
                from = line_start;
            }
            for (k, (line_start, line_end)) in earlier.iter().enumerate().rev() {
                let line = &text[*line_start..*line_end];
                if !is_left_out(line)? {
                    self.push_context(number - 1 - k as u64, line, sample);
                }
            }
            let line = decode(&text[start..end], sample);
            let columns = [at, to].map(|at| {
                let before = || decode(&text[start..at], sample).chars().count() as u64;
                self.wanted.columns.then(|| before() + 1)
            });
            self.push(number, columns, true, &cut(&line, at - start));
            self.shown_to = end + 1;
            (self.owed, self.owed_from) = (after, number + 1);
            let next = pending.get(i + 1);
            let next = next.map_or(text.len(), |next| next.1.start);
            self.keep_owed(text, next, sample, is_left_out)?;
        }
        Ok(())
    }

    /// Keeps lines that are owed to a match before them, up to a place.
    fn keep_owed(
        &mut self,
        text: &[u8],
        to: usize,
        sample: &[u8],
        is_left_out: &IsLeftOut<'_>,
    ) -> Result<(), Failure> {
        while self.owed > 0 && self.shown_to < to {
            let (line_start, line_end) = line_around(text, self.shown_to);
            let line = &text[line_start..line_end];
            if !is_left_out(line)? {
                self.push_context(self.owed_from, line, sample);
            }
            self.shown_to = line_end + 1;
            self.owed -= 1;
            self.owed_from += 1;
        }
        Ok(())
    }

    /// Keeps a line beside a match, where there is room.
    fn push_context(&mut self, number: u64, line: &[u8], sample: &[u8]) {
        if self.kept < self.wanted.bytes {
            let line = decode(line, sample);
            let line = cut(&line, 0);
            self.kept += LINE_BYTES + line.len();
            self.push(number, [None, None], false, &line);
        }
    }
}

fn decode<'b>(line: &'b [u8], sample: &[u8]) -> Cow<'b, str> {
    match std::str::from_utf8(line) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => match detect(sample, true) {
            ContentKind::Text(encoding @ Encoding::Legacy(_)) => encoding.decode(line),
            _ => String::from_utf8_lossy(line),
        },
    }
}

/// Cuts a line that is too long to be shown: around the match, or after it where the match
/// is near the beginning.
fn cut(line: &str, at: usize) -> Cow<'_, str> {
    let line = line.trim_end_matches(['\r', '\n']);
    if line.len() <= LINE_CHARS || line.chars().nth(LINE_CHARS).is_none() {
        return Cow::Borrowed(line);
    }
    let floor = |mut at: usize| {
        at = at.min(line.len());
        while !line.is_char_boundary(at) {
            at -= 1;
        }
        at
    };
    let from = if at < LINE_CHARS / 2 {
        0
    } else {
        floor(at - LINE_CHARS / 4)
    };
    let to = line[from..]
        .char_indices()
        .nth(LINE_CHARS)
        .map_or(line.len(), |(i, _)| from + i);
    let head = if from > 0 { "... " } else { "" };
    let tail = if to < line.len() {
        "... [truncated]"
    } else {
        ""
    };
    Cow::Owned(format!("{head}{}{tail}", &line[from..to]))
}

#[cfg(test)]
mod tests {
    use super::{Hits, PatternTraits, Query, Searcher, Wanted, escape_braces, parse};
    use gemini_tools_core::tool::Cancellation;
    use std::io::{Seek, Write};

    fn search(pattern: &str, text: &[u8], context: u64) -> Option<Hits> {
        let query = Query::new("pattern", pattern, true, false).expect("valid");
        let wanted = Wanted {
            before: context,
            after: context,
            most: 20_000,
            bytes: 1 << 30,
            lines: true,
            columns: true,
        };
        let mut file = tempfile::tempfile().expect("a file");
        file.write_all(text).expect("written");
        file.rewind().expect("rewound");
        Searcher::new(&query, None, wanted, &Cancellation::default())
            .search(&mut file)
            .expect("searched")
    }

    fn shown(hits: &Hits) -> Vec<(u64, bool, &str)> {
        hits.lines
            .iter()
            .map(|l| (l.number, l.is_match, &hits.text[l.text.0..l.text.1]))
            .collect()
    }

    #[test]
    fn lines_are_found_with_their_numbers_and_context() {
        let hits = search("b|e", b"a\nb\nc\nd\ne\nf\n", 1).expect("found");
        assert_eq!(
            shown(&hits),
            [
                (1, false, "a"),
                (2, true, "b"),
                (3, false, "c"),
                (4, false, "d"),
                (5, true, "e"),
                (6, false, "f")
            ]
        );
        let hits = search("^$", b"x\n\ny\n", 0).expect("found");
        assert_eq!(shown(&hits), [(2, true, "")]);
        assert!(search("x", b"", 0).is_none());
    }

    #[test]
    fn a_carriage_return_can_be_asked_for_and_is_no_part_of_a_line_end() {
        let text = b"a\r\nb\nc\r\n";
        let numbers = |pattern| {
            let hits = search(pattern, text, 0).expect("found");
            shown(&hits).iter().map(|l| l.0).collect::<Vec<_>>()
        };
        assert_eq!(numbers(r"\r"), [1, 3]);
        assert_eq!(numbers("[abc]$"), [1, 2, 3]);
        assert_eq!(numbers(r"\rx?|b"), [1, 2, 3]);
    }

    #[test]
    fn look_around_and_back_references_work() {
        let hits = search(r"foo(?!bar)", b"foobar\nfoobaz\n", 0).expect("found");
        assert_eq!(shown(&hits), [(2, true, "foobaz")]);
        let hits = search(r"(\w)\1", b"abc\nabba\n", 0).expect("found");
        assert_eq!(shown(&hits), [(2, true, "abba")]);
    }

    #[test]
    fn what_may_take_any_time_is_found_in_the_same_lines() {
        let filler = "filler line\n".repeat(100_000);
        let text = format!("needle one\r\n{filler}  a needle two\nneedles\n{filler}needle");
        // Look-around, a reference back, and one that is large when it is compiled.
        for pattern in ["needle(?!s)", r"n(e)\1dle\b", r"needle\b|([a-z]{100}!){20}"] {
            let query = Query::new("pattern", pattern, true, false).expect("valid");
            assert!(query.is_heavy, "{pattern}");
            let hits = search(pattern, text.as_bytes(), 0).expect("found");
            let expected = [
                (1, true, "needle one"),
                (100_002, true, "  a needle two"),
                (200_004, true, "needle"),
            ];
            assert_eq!(shown(&hits), expected, "{pattern}");
            assert_eq!(hits.lines[1].column, Some(5), "{pattern}");
        }
        for pattern in [
            r"\w+",
            r"^\s*(pub )?fn \w+\(",
            "größe|size",
            r"\bfoo\w{3,20}\b",
            ".{1,200}x",
        ] {
            let query = Query::new("pattern", pattern, true, false).expect("valid");
            assert!(!query.is_heavy, "{pattern}");
        }
    }

    #[test]
    fn older_encodings_are_searched_as_they_are_read() {
        let hits = search("CAF.", b"caf\xe9 cr\xe8me\n", 0).expect("found");
        assert_eq!(shown(&hits), [(1, true, "café crème")]);
        let utf16: Vec<u8> = "\u{feff}eins\nzwölf\n"
            .encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect();
        let hits = search("zwölf", &utf16, 0).expect("found");
        assert_eq!(shown(&hits), [(2, true, "zwölf")]);
        assert!(
            search("needle", b"needle\0\nneedle\n", 0)
                .expect("found")
                .is_binary
        );
    }

    #[test]
    fn large_files_and_endless_lines_are_searched_in_pieces() {
        let mut text = "filler line\n".repeat(200_000).into_bytes();
        text.extend_from_slice(b"the needle\n");
        let hits = search("needle", &text, 0).expect("found");
        assert_eq!(shown(&hits), [(200_001, true, "the needle")]);

        let mut text = b"one\n".to_vec();
        text.extend(std::iter::repeat_n(b'x', 3_000_000));
        text.extend_from_slice(b"needle");
        text.extend(std::iter::repeat_n(b'y', 2_500_000));
        text.extend_from_slice(b"\nneedle two\nend needle");
        let hits = search("needle", &text, 0).expect("found");
        let lines = shown(&hits);
        let numbers: Vec<_> = lines.iter().map(|l| l.0).collect();
        assert_eq!(numbers, [2, 3, 4]);
        assert!(lines[0].2.contains("needle") && lines[0].2.len() < 5_000);
        assert_eq!(lines[1].2, "needle two");
        assert_eq!(lines[2].2, "end needle");
        for pattern in ["^needle", "needle$"] {
            let hits = search(pattern, &text, 0).expect("found");
            assert_eq!(hits.count, 1, "{pattern}");
        }
        // A match across the edge of two pieces.
        for shift in 0..12 {
            let mut text = vec![b'x'; super::BUFFER_BYTES - 6 + shift - 4];
            text.extend_from_slice(b"needle");
            text.extend(std::iter::repeat_n(b'z', 100));
            assert_eq!(
                search("needle", &text, 0).expect("found").count,
                1,
                "{shift}"
            );
        }
    }

    #[test]
    fn context_is_the_same_wherever_a_piece_of_a_large_file_ends() {
        for length in [7, 1_000, 300_000] {
            let count = 3_500_000 / length;
            let is_match = |i: usize| i.is_multiple_of(97) || i % 1_000 == 1;
            let line = |i: usize| {
                let name = if is_match(i) { "needle" } else { "other" };
                format!("{name}{i}{}\n", " .".repeat(length / 2))
            };
            let text: String = (0..count).map(line).collect();
            let near = |i: usize| (i.saturating_sub(3)..=i + 3).any(|k| k < count && is_match(k));
            let expected: Vec<_> = (0..count)
                .filter(|i| near(*i))
                .map(|i| (i as u64 + 1, is_match(i)))
                .collect();
            let hits = search("needle", text.as_bytes(), 3).expect("found");
            let found: Vec<_> = hits.lines.iter().map(|l| (l.number, l.is_match)).collect();
            assert_eq!(found, expected, "lines of {length}");
        }
    }

    #[test]
    fn large_files_in_other_encodings_are_decoded_on_the_way() {
        let mut text = "\u{feff}".to_owned();
        text.push_str(&"größer als ein Stück\n".repeat(100_000));
        text.push_str("zwölf\n");
        let utf16: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let hits = search("^zwölf$", &utf16, 0).expect("found");
        assert_eq!(shown(&hits), [(100_001, true, "zwölf")]);
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
        let hits = search("interface{}", b"var x interface{}\n", 0).expect("found");
        assert_eq!(hits.count, 1);
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
            let traits = PatternTraits::of(parse(pattern, true).as_ref());
            assert_eq!(traits.beyond_ascii, expected, "{pattern}");
        }
    }

    #[test]
    fn a_long_line_is_cut_around_its_match() {
        let text = format!("{}needle{}\n", "x".repeat(10_000), "y".repeat(10_000));
        let hits = search("needle", text.as_bytes(), 0).expect("found");
        let line = shown(&hits)[0].2;
        assert!(
            line.contains("needle") && line.len() < 2_100,
            "{}",
            line.len()
        );
    }
}
