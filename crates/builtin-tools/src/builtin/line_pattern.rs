//! Searches the lines of a file for many patterns while it is read once, for the crate
//! `gemini-tools-checks`.
//!
//! This module has a single pattern ([`LinePattern`]), which tells of a text whether it can match
//! there at all, and a reader that gives a file in blocks of whole lines ([`TextReader`]). The module `query` decides what a pattern means, and `search` which
//! bytes are text, as they do for `search_file_content`.

pub use super::scope::prefix;
pub use super::search::{is_gone, open_found};

use super::candidates::candidates;
use super::query::{LineMatcher, Query};
use super::search::{
    BUFFER_BYTES, Blocks, Failure, MAX_LINE_BYTES, beginning, cut, without_line_feed,
};
use gemini_tools_core::text::count_newlines;
use gemini_tools_core::tool::{Cancellation, ToolError};
use gemini_tools_workspace::PageBuffer;
use grep_searcher::{MmapChoice, Searcher, SearcherBuilder, Sink, SinkMatch};
use memchr::memmem::Finder;
use regex_syntax::hir::{Hir, HirKind};
use std::borrow::Cow;
use std::cell::{Cell, OnceCell};
use std::fs::File;
use std::io::Read;
use std::ops::Range;

const MAX_LITERALS: usize = 64;

/// The Kelvin sign and the long s, which equal the letters k and s where case is ignored.
const FOLDED: [&str; 2] = ["\u{212a}", "\u{17f}"];

/// A pattern for single lines, with the meaning that it has in `search_file_content`.
#[derive(Debug)]
pub struct LinePattern {
    query: Query,
    ignores_case: bool,
    /// Literal texts of which each match has at least one, in lower case if case is ignored. `None`
    /// if none are known, or more than `MAX_LITERALS`: then hardly any file lacks all of them, so
    /// to look for them saves nothing.
    literals: Option<Vec<Finder<'static>>>,
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
        let literals = literals(pattern, fixed).filter(|all| {
            let fits = |one: &Vec<u8>| !one.is_empty() && (!ignores_case || one.is_ascii());
            all.len() <= MAX_LITERALS && all.iter().all(fits)
        });
        let finder = |mut one: Vec<u8>| {
            if ignores_case {
                one.make_ascii_lowercase();
            }
            Finder::new(&one).into_owned()
        };
        Ok(Self {
            query: Query::new(name, pattern, ignores_case, fixed)?,
            ignores_case,
            literals: literals.map(|all| all.into_iter().map(finder).collect()),
        })
    }

    /// Returns true if the pattern may match in a text, which then has one of its literal texts. A
    /// pattern that ignores case may match without them where the text has one of the characters
    /// `FOLDED`.
    pub fn may_match(&self, text: &PatternText<'_>) -> bool {
        let Some(literals) = &self.literals else {
            return true;
        };
        let (searched, has_folded) = if self.ignores_case {
            let (lower, has_folded) = text.folded();
            (lower.as_slice(), *has_folded)
        } else {
            (text.text, false)
        };
        has_folded || literals.iter().any(|one| one.find(searched).is_some())
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

/// A text in which many patterns are looked for. What those that ignore case need of it is made once.
#[derive(Debug)]
pub struct PatternText<'t> {
    text: &'t [u8],
    /// The text in lower case, and whether it has one of the characters `FOLDED`.
    folded: OnceCell<(Vec<u8>, bool)>,
}

impl<'t> PatternText<'t> {
    /// Makes it of a text.
    pub fn new(text: &'t [u8]) -> Self {
        let folded = OnceCell::new();
        Self { text, folded }
    }

    fn folded(&self) -> &(Vec<u8>, bool) {
        let has = |sign: &str| memchr::memmem::find(self.text, sign.as_bytes()).is_some();
        let fold = || (self.text.to_ascii_lowercase(), FOLDED.into_iter().any(has));
        self.folded.get_or_init(fold)
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
    use super::{LinePattern, PatternText, TextEnd, TextReader};
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
            for (one, text) in patterns.iter().flat_map(|p| texts.map(|text| (*p, text))) {
                let compiled = pattern(one, ignores_case);
                let may_match = compiled.may_match(&PatternText::new(text.as_bytes()));
                let is_match = compiled.is_match(text.as_bytes());
                assert!(!is_match || may_match, "{one:?} in {text:?}");
            }
        }
        for (one, may_match) in [("TODO", false), (r"\d+", true), ("(fo|ba)r", false)] {
            let text = PatternText::new(b"nothing");
            assert_eq!(pattern(one, false).may_match(&text), may_match, "{one}");
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
