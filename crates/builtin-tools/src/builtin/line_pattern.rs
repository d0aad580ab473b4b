//! Searches the lines of a file for many patterns while it is read once, for the crate
//! `gemini-tools-checks`.
//!
//! This module has a single pattern ([`LinePattern`]), a filter that tells which of many patterns
//! can match in a text at all ([`Prefilter`]), and a reader that gives a file in blocks of whole
//! lines ([`TextReader`]). The module `query` decides what a pattern means, and `search` which
//! bytes are text, as they do for `search_file_content`.

pub use super::scope::prefix;
pub use super::search::{is_gone, open_found};

use super::candidates::candidates;
use super::query::{LineMatcher, Query};
use super::search::{
    BUFFER_BYTES, Blocks, Failure, MAX_LINE_BYTES, beginning, cut, without_line_feed,
};
use aho_corasick::Span;
use aho_corasick::packed;
use gemini_tools_core::text::count_newlines;
use gemini_tools_core::tool::{Cancellation, ToolError};
use gemini_tools_workspace::PageBuffer;
use grep_searcher::{MmapChoice, Searcher, SearcherBuilder, Sink, SinkMatch};
use regex_syntax::hir::{Hir, HirKind};
use std::borrow::Cow;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::ops::Range;

const MAX_LITERALS: usize = 64;

const FEW_PATTERNS: usize = 3;

const GROUP: usize = 64;

const MAX_GROUPS: usize = 8;

const MIN_LITERAL: usize = 3;

const FOLDED: [&str; 2] = ["\u{212a}", "\u{17f}"];

/// A pattern for single lines, with the meaning that it has in `search_file_content`.
#[derive(Debug)]
pub struct LinePattern {
    query: Query,
    ignores_case: bool,
    /// Literal texts of which each match has at least one, in any letter case if case is ignored.
    /// `None` if none are known, or more than `MAX_LITERALS`: then hardly any file lacks all of
    /// them, so to look for them saves nothing.
    literals: Option<Vec<Vec<u8>>>,
}

impl LinePattern {
    /// Compiles a pattern. Errors name the argument or key that it comes from, `name`. With
    /// `fixed`, the pattern is taken literally.
    ///
    /// # Errors
    ///
    /// Returns `invalid_tool_params` with the name, the fault and its place in the pattern.
    pub fn new(
        name: &str,
        pattern: &str,
        ignores_case: bool,
        fixed: bool,
    ) -> Result<Self, ToolError> {
        Ok(Self {
            query: Query::new(name, pattern, ignores_case, fixed)?,
            ignores_case,
            literals: literals(pattern, fixed).filter(|all| {
                let fits = |one: &Vec<u8>| !one.is_empty() && (!ignores_case || one.is_ascii());
                all.len() <= MAX_LITERALS && all.iter().all(fits)
            }),
        })
    }

    /// Returns true if a line, given without its line feed, matches. A line on which the pattern
    /// takes too long does not match.
    pub fn is_match(&self, line: &[u8]) -> bool {
        self.query.is_match(line).unwrap_or_default()
    }

    /// Returns true if a text that is no line, such as the name of a file, matches. Line feeds and
    /// carriage returns in it are characters like others.
    pub fn matches_whole(&self, text: &[u8]) -> bool {
        self.query
            .find_from(text, 0)
            .is_ok_and(|found| found.is_some())
    }

    /// Returns the bytes of the first match in a line for which [`LinePattern::is_match`] is true;
    /// `0..0` if it takes too long to find.
    pub fn find(&self, line: &[u8]) -> Range<usize> {
        let found = self.query.find_from(self.query.line(line), 0);
        let found = found.unwrap_or_default();
        found.map_or(0..0, |found| found.start()..found.end())
    }

    /// Returns all groups of the pattern for the first match in a line, of which the whole match is
    /// the first; `None` for one that took no part. The list is empty if the match takes too long
    /// to find.
    pub fn groups<'l>(&self, line: &'l str) -> Vec<Option<&'l str>> {
        self.query.groups(line)
    }
}

/// Returns a line as answers show it: if it is too long, it is cut to the text around the byte
/// `at`, where the match begins.
pub fn shown_line(line: &str, at: usize) -> Cow<'_, str> {
    cut(line, at)
}

fn literals(pattern: &str, fixed: bool) -> Option<Vec<Vec<u8>>> {
    if fixed {
        return Some(vec![pattern.as_bytes().to_vec()]);
    }
    let parse = |pattern: &str| {
        let mut parser = regex_syntax::ParserBuilder::new();
        let hir = parser.utf8(false).multi_line(true).build().parse(pattern);
        hir.ok().as_ref().and_then(required)
    };
    // This parser refuses look-around and back-references. An expression of `candidates` has none
    // and matches all lines that the pattern matches, so its literal texts are required, too.
    let weaker = || candidates(pattern, false).iter().find_map(|p| parse(p));
    parse(pattern).or_else(weaker)
}

/// Returns literal texts of which each match of an expression has at least one. If there are
/// several sets of such texts, it is the set whose shortest text is longest.
fn required(hir: &Hir) -> Option<Vec<Vec<u8>>> {
    let shortest = |set: &Vec<Vec<u8>>| set.iter().map(Vec::len).min();
    match hir.kind() {
        HirKind::Literal(literal) => Some(vec![literal.0.to_vec()]),
        HirKind::Capture(capture) => required(&capture.sub),
        HirKind::Repetition(repetition) if repetition.min > 0 => required(&repetition.sub),
        HirKind::Concat(parts) => parts.iter().filter_map(required).max_by_key(shortest),
        HirKind::Alternation(parts) => {
            let sets: Option<Vec<_>> = parts.iter().map(required).collect();
            sets.map(|sets| sets.concat())
        }
        _ => None,
    }
}

/// Tells which of many patterns can match in a text, by one search for all their literal texts.
///
/// If there are no more than `FEW_PATTERNS` patterns, each counts as possible in every text: so few
/// rule a text out sooner by themselves.
///
/// A searcher looks for up to `GROUP` literal texts, and there are at most `MAX_GROUPS` searchers,
/// each of which looks through the whole text. A searcher compares a few bytes at once, and no more
/// than its shortest literal text has, which is why none is shorter than `MIN_LITERAL`.
#[derive(Debug)]
pub struct Prefilter {
    groups: Vec<Group>,
    /// Indices of the patterns that ignore case. They may match without their literal texts in a
    /// text with one of the characters `FOLDED`, the Kelvin sign and the long s: these equal the
    /// letters k and s where case is ignored.
    folding: Vec<usize>,
    /// Indices of the patterns that may match in every text, because no literal texts of theirs are
    /// looked for.
    always: Vec<usize>,
}

/// The literal texts that one searcher finds, each with the index of its pattern, by their first
/// byte. It compares 16 or 32 bytes at a time and can't ignore case. So if some pattern ignores
/// case, the literal texts and the searched text are in lower case.
#[derive(Debug)]
struct Group {
    searcher: packed::Searcher,
    by_byte: BTreeMap<u8, Vec<(Vec<u8>, usize)>>,
}

impl Group {
    /// Returns `None` if the processor lacks the vector instructions that the searcher needs.
    fn new(texts: &[(Vec<u8>, usize)]) -> Option<Self> {
        let searcher = packed::Searcher::new(texts.iter().map(|(text, _)| text))?;
        let mut by_byte = BTreeMap::<_, Vec<_>>::new();
        for one in texts {
            by_byte
                .entry(*one.0.first()?)
                .or_default()
                .push(one.clone());
        }
        Some(Self { searcher, by_byte })
    }

    fn look(&self, text: &[u8], possible: &mut [bool]) {
        let mut from = 0;
        while let Some(found) = self.searcher.find_in(text, Span::from(from..text.len())) {
            // The searcher reports only one of the literal texts that it finds at this byte.
            let at = found.start();
            for (literal, pattern) in self.by_byte.get(&text[at]).into_iter().flatten() {
                possible[*pattern] |= text[at..].starts_with(literal);
            }
            from = at + 1;
        }
    }
}

impl Prefilter {
    /// Makes the searchers. From then on, a pattern is known by its index in `patterns`.
    pub fn new<'p>(patterns: impl IntoIterator<Item = &'p LinePattern>) -> Self {
        let (mut texts, mut always, mut folding) = (Vec::new(), Vec::new(), Vec::new());
        let patterns: Vec<_> = patterns.into_iter().collect();
        let are_few = patterns.len() <= FEW_PATTERNS;
        for (i, pattern) in patterns.into_iter().enumerate() {
            let fits = |all: &&Vec<Vec<u8>>| {
                let are_long = all.iter().all(|one| one.len() >= MIN_LITERAL);
                are_long && !are_few && texts.len() + all.len() <= MAX_GROUPS * GROUP
            };
            let Some(literals) = pattern.literals.as_ref().filter(fits) else {
                always.push(i);
                continue;
            };
            folding.extend(pattern.ignores_case.then_some(i));
            texts.extend(literals.iter().map(|one| (one.clone(), i)));
        }
        if !folding.is_empty() {
            for (text, _) in &mut texts {
                text.make_ascii_lowercase();
            }
        }
        let mut groups = Vec::new();
        for texts in texts.chunks(GROUP) {
            match Group::new(texts) {
                Some(group) => groups.push(group),
                None => always.extend(texts.iter().map(|(_, pattern)| *pattern)),
            }
        }
        Self {
            groups,
            folding,
            always,
        }
    }

    /// Sets `possible` to true at the index of each pattern that may match in a text. Does not
    /// change the other values.
    pub fn look(&self, text: &[u8], possible: &mut [bool]) {
        let mut set = |patterns: &[usize]| patterns.iter().for_each(|i| possible[*i] = true);
        set(&self.always);
        let has = |sign: &str| memchr::memmem::find(text, sign.as_bytes()).is_some();
        if !self.folding.is_empty() && FOLDED.into_iter().any(has) {
            set(&self.folding);
        }
        if !self.groups.is_empty() {
            let text = match self.folding.as_slice() {
                [] => Cow::from(text),
                _ => Cow::from(text.to_ascii_lowercase()),
            };
            self.groups
                .iter()
                .for_each(|group| group.look(&text, possible));
        }
    }
}

/// Searches texts for matching lines. Its buffers are reused for the next text.
#[derive(Debug)]
pub struct LineSearcher<'a> {
    searcher: Searcher,
    cancel: &'a Cancellation,
}

impl<'a> LineSearcher<'a> {
    /// Makes a searcher. Its searches end early once `cancel` says that the call may not go on.
    pub fn new(cancel: &'a Cancellation) -> Self {
        let mut builder = SearcherBuilder::new();
        builder.line_number(true).bom_sniffing(false);
        Self {
            searcher: builder.memory_map(MmapChoice::never()).build(),
            cancel,
        }
    }

    /// Calls `take` for each line that matches `pattern` and not `except`, with its number, from 1,
    /// and its bytes without line feed, until `take` returns false. Returns the number of lines on
    /// which a pattern takes too long, which therefore count as not matching.
    ///
    /// # Errors
    ///
    /// Returns `cancelled` or `timeout` if the call may not go on, or an error if the search fails.
    pub fn search(
        &mut self,
        pattern: &LinePattern,
        except: Option<&LinePattern>,
        text: &[u8],
        take: impl FnMut(u64, &[u8]) -> bool,
    ) -> Result<u64, ToolError> {
        let given_up = Cell::new(0);
        let matcher = LineMatcher {
            query: &pattern.query,
            except: except.map(|except| &except.query),
            cancel: self.cancel,
            given_up: &given_up,
        };
        let searched = self.searcher.search_slice(matcher, text, Lines(take));
        self.cancel.check()?;
        searched.map_err(Failure::into_error)?;
        Ok(given_up.get())
    }
}

struct Lines<F>(F);

impl<F: FnMut(u64, &[u8]) -> bool> Sink for Lines<F> {
    type Error = Failure;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, Failure> {
        let number = found.line_number().unwrap_or_default();
        Ok(self.0(number, without_line_feed(found.bytes())))
    }
}

/// How much of a file [`TextReader::read`] has passed on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TextEnd {
    /// All of it was passed on, or the call was interrupted.
    Whole,
    /// The file has a zero byte, so it is not text. As much of it was passed on as a search reads.
    Binary,
    /// This line, counted from 1, is too long. Neither it nor anything behind it was passed on.
    LongLine(u64),
}

/// Reads files as UTF-8. Its buffers are reused for the next file.
#[derive(Debug, Default)]
pub struct TextReader {
    buffer: Option<PageBuffer>,
    block: Vec<u8>,
}

impl TextReader {
    /// Calls `take` for each block of whole lines of an open file, with the number of lines before
    /// the block and the block's text. A file in another encoding is decoded to UTF-8; a byte order
    /// mark is left out. Reading ends early once `cancel` says that the call may not go on.
    ///
    /// # Errors
    ///
    /// Returns the operating system's error.
    pub fn read(
        &mut self,
        file: &mut File,
        cancel: &Cancellation,
        take: &mut dyn FnMut(u64, &[u8]),
    ) -> std::io::Result<TextEnd> {
        let buffer = self.buffer.take();
        let mut buffer = buffer.unwrap_or_else(|| PageBuffer::new(BUFFER_BYTES));
        let read = file.read(&mut buffer);
        let end = read.and_then(|filled| self.read_from(&buffer[..filled], file, cancel, take));
        self.buffer = Some(buffer);
        end
    }

    fn read_from(
        &mut self,
        start: &[u8],
        file: &File,
        cancel: &Cancellation,
        take: &mut dyn FnMut(u64, &[u8]),
    ) -> std::io::Result<TextEnd> {
        let (encoding, text) = beginning(start);
        if start.len() == BUFFER_BYTES {
            let ascii = (encoding.is_none() && start.is_ascii()).then_some(file);
            let mut blocks = Blocks::new(encoding, text.chain(file), ascii, cancel);
            return self.read_blocks(&mut blocks, encoding.is_none(), take);
        }
        match encoding {
            Some(encoding) => take(0, encoding.decode(text).as_bytes()),
            None => take(0, text),
        }
        let is_binary = encoding.is_none() && memchr::memchr(0, text).is_some();
        Ok(if is_binary {
            TextEnd::Binary
        } else {
            TextEnd::Whole
        })
    }

    fn read_blocks(
        &mut self,
        blocks: &mut Blocks<'_>,
        may_be_binary: bool,
        take: &mut dyn FnMut(u64, &[u8]),
    ) -> std::io::Result<TextEnd> {
        let block = &mut self.block;
        let (mut filled, mut lines) = (0, 0);
        let end = loop {
            if filled == block.len() {
                if filled >= MAX_LINE_BYTES {
                    break TextEnd::LongLine(lines + 1);
                }
                block.resize((2 * filled).max(BUFFER_BYTES), 0);
            }
            let n = blocks.read(&mut block[filled..])?;
            filled += n;
            let whole = match memchr::memrchr(b'\n', &block[..filled]) {
                _ if n == 0 => filled,
                Some(at) => at + 1,
                None => 0,
            };
            if whole > 0 {
                take(lines, &block[..whole]);
                lines += count_newlines(&block[..whole]);
                block.copy_within(whole..filled, 0);
                filled -= whole;
            }
            if n == 0 {
                break TextEnd::Whole;
            }
        };
        let is_binary = may_be_binary && blocks.has_zero();
        Ok(if is_binary { TextEnd::Binary } else { end })
    }
}

#[cfg(test)]
mod tests {
    use super::{LinePattern, Prefilter, TextEnd, TextReader};
    use gemini_tools_core::tool::Cancellation;
    use std::io::{Seek, Write};

    fn pattern(text: &str, ignores_case: bool) -> LinePattern {
        LinePattern::new("pattern", text, ignores_case, false).expect("a pattern")
    }

    #[test]
    fn a_pattern_that_matches_is_among_those_that_can() {
        let texts = [
            "TODO",
            "todo: x",
            "a \u{212a}ey",
            "\u{17f}hort",
            "foobar",
            "x.unwrap()",
            "ab",
            "",
            "fobar",
            "no literal 7",
            "-> free(x)",
            "{ brace",
            "TODAY and oobar",
        ];
        let patterns = [
            r"\bTODO\b",
            "key",
            "short",
            "foo|oobar",
            r"\.unwrap\(\)",
            "a?b",
            r"\d",
            "(?<=-> )free",
            "{ b",
            "TOD(O|AY)",
            "(?i)tOd",
            "^$",
            "(to)(do)+",
            "[kK]ey",
        ];
        for ignores_case in [true, false] {
            let compiled: Vec<_> = patterns.iter().map(|p| pattern(p, ignores_case)).collect();
            let filter = Prefilter::new(&compiled);
            for text in texts {
                let mut possible = vec![false; compiled.len()];
                filter.look(text.as_bytes(), &mut possible);
                for (pattern, possible) in compiled.iter().zip(possible) {
                    let is_match = pattern.is_match(text.as_bytes());
                    assert!(!is_match || possible, "{pattern:?} in {text:?}");
                }
            }
        }
        let todo = ["TODO", r"\d+", "TODO", "TODO"].map(|text| pattern(text, false));
        let mut possible = [false; 4];
        Prefilter::new(&todo).look(b"nothing", &mut possible);
        let only_digits = [false, true, false, false];
        assert_eq!(
            possible, only_digits,
            "what has a literal text is ruled out"
        );
    }

    #[test]
    fn a_text_is_found_wherever_it_begins_and_ends() {
        let words = ["abc", "needle", "eed", "dle"];
        let compiled = words.map(|word| pattern(word, true));
        for length in 6..80 {
            let filter = Prefilter::new(&compiled);
            for start in 0..=length - 6 {
                let mut text = vec![b'.'; length];
                text[start..start + 6].copy_from_slice(b"nEEdle");
                let mut possible = [false; 4];
                filter.look(&text, &mut possible);
                assert_eq!(possible, [false, true, true, true], "{start} of {length}");
            }
        }
    }

    #[test]
    fn blocks_are_whole_lines_and_make_up_the_file() {
        let line = "0123456789abcde\n";
        let long = "x".repeat(3 * 1024 * 1024);
        for (content, end) in [
            (line.repeat(100_000), TextEnd::Whole),
            (line.repeat(3) + "no end", TextEnd::Whole),
            (String::new(), TextEnd::Whole),
            (line.repeat(50_000) + "\0" + line, TextEnd::Binary),
            ("a\0b".to_owned(), TextEnd::Binary),
            (line.to_owned() + &long, TextEnd::LongLine(2)),
        ] {
            let mut file = tempfile::tempfile().expect("a file");
            file.write_all(content.as_bytes()).expect("written");
            file.rewind().expect("the start");
            let mut read = Vec::new();
            let mut lines = 0;
            let mut take = |before: u64, block: &[u8]| {
                assert_eq!(before, lines);
                lines += super::count_newlines(block);
                read.extend_from_slice(block);
            };
            let ended = TextReader::default().read(&mut file, &Cancellation::default(), &mut take);
            assert_eq!(ended.expect("read"), end);
            assert!(content.as_bytes().starts_with(&read));
            assert!(end != TextEnd::Whole || read.len() == content.len());
        }
    }
}
