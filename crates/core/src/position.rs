//! Positions in a document, in whatever language it is written.
//!
//! The parser of a language builds a tree of [`Node`]s with the positions of the document's values.
//! This module follows the path that a finding names to its position in that tree.

use crate::diagnostic::Diagnostic;
use std::num::NonZeroU32;

const MOST_HOPS: usize = 16;

/// A line and a column of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// The line, from 1.
    pub line: NonZeroU32,
    /// The column, from 1, in characters.
    pub column: NonZeroU32,
}

impl Position {
    /// The first line and column of a text.
    pub const START: Self = Self {
        line: NonZeroU32::MIN,
        column: NonZeroU32::MIN,
    };

    /// Makes a position of a line and a column, both counted from 1. An invalid number counts as 1.
    pub fn new(line: usize, column: usize) -> Self {
        let number = |n: usize| u32::try_from(n).ok().and_then(NonZeroU32::new);
        Self {
            line: number(line).unwrap_or(NonZeroU32::MIN),
            column: number(column).unwrap_or(NonZeroU32::MIN),
        }
    }
}

/// Size in bytes of the blocks for which characters are counted in advance, so that a column is
/// found by counting within one block even if the document is a single long line.
const BLOCK_BYTES: usize = 256;

/// An index that gives the line and column of a byte in a text.
#[derive(Debug)]
pub struct LineIndex<'a> {
    text: &'a [u8],
    starts: Vec<usize>,
    counts: Vec<usize>,
}

impl<'a> LineIndex<'a> {
    /// Builds the index of a text.
    pub fn new(text: &'a str) -> Self {
        let ends = text.bytes().enumerate().filter(|(_, b)| *b == b'\n');
        let counts = text.as_bytes().chunks(BLOCK_BYTES).scan(0, |count, block| {
            let before = *count;
            *count += characters(block);
            Some(before)
        });
        Self {
            text: text.as_bytes(),
            starts: std::iter::once(0)
                .chain(ends.map(|(at, _)| at + 1))
                .collect(),
            counts: counts.collect(),
        }
    }

    fn characters_before(&self, at: usize) -> usize {
        let block = at / BLOCK_BYTES;
        let Some(count) = self.counts.get(block) else {
            let last = self.counts.len().saturating_sub(1);
            return self.counts.last().copied().unwrap_or_default()
                + characters(&self.text[last * BLOCK_BYTES..]);
        };
        let end = at.min(self.text.len());
        count + characters(&self.text[block * BLOCK_BYTES..end])
    }

    /// Returns the position of the byte at offset `at`. An offset beyond the text stands for its
    /// end.
    pub fn position(&self, at: usize) -> Position {
        let line = self.starts.partition_point(|start| *start <= at);
        let start = self.starts[line.saturating_sub(1)];
        let before = self.characters_before(at) - self.characters_before(start);
        Position::new(line, before + 1)
    }
}

fn characters(text: &[u8]) -> usize {
    text.iter().filter(|byte| (**byte & 0xC0) != 0x80).count()
}

/// A value of a document and where it begins.
#[derive(Debug, Clone)]
pub struct Node {
    /// Start of the value.
    pub at: Position,
    /// Content of the value.
    pub kind: NodeKind,
}

/// The content of a [`Node`].
#[derive(Debug, Clone)]
pub enum NodeKind {
    /// The entries of a map: each name, the position of the name, and the value.
    Map(Vec<(String, Position, Node)>),
    /// The elements of a list, in order.
    List(Vec<Node>),
    /// The target of a `$ref`.
    Target(String),
    /// A text, a number, `true`, `false` or `null`.
    Other,
}

/// A step of a path, from a value to one within it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// To the value of this key of a map.
    Key(String),
    /// To this element of a list, counted from 0.
    Index(usize),
}

impl Node {
    /// Returns the value at the end of a path, and the position of its key, or its own position if
    /// it has no key. Returns `None` if there is no such value.
    pub fn find(&self, path: &[Step]) -> Option<(Position, &Node)> {
        path.iter()
            .try_fold((self.at, self), |(_, node), step| match step {
                Step::Key(name) => node.get(name),
                Step::Index(i) => node.element(*i),
            })
    }

    fn get(&self, name: &str) -> Option<(Position, &Node)> {
        let NodeKind::Map(entries) = &self.kind else {
            return None;
        };
        // If a name occurs twice, the last one counts.
        let mut entries = entries.iter().rev();
        let (_, at, node) = entries.find(|(own, _, _)| own == name)?;
        Some((*at, node))
    }

    fn element(&self, index: usize) -> Option<(Position, &Node)> {
        let NodeKind::List(items) = &self.kind else {
            return None;
        };
        items.get(index).map(|node| (node.at, node))
    }

    fn pointer(&self, pointer: &str) -> Option<&Node> {
        let mut tokens = pointer.split('/');
        if tokens.next() != Some("") {
            return None;
        }
        tokens.try_fold(self, |node, token| {
            let name = token.replace("~1", "/").replace("~0", "~");
            let index = || node.element(name.parse().ok()?);
            node.get(&name).or_else(index).map(|(_, node)| node)
        })
    }
}

/// How far a path could be followed in a document.
#[derive(Debug, Clone, Copy)]
pub struct DeepestMatch {
    /// Length in bytes of the end of the path that could not be followed.
    pub rest: usize,
    /// Position of the deepest value that was found, or of its name if it has one.
    pub at: Position,
}

/// Finds the positions of places such as `a.items.anyOf[1]`, as findings name them.
#[derive(Debug)]
pub struct Search<'a> {
    /// The documents in which targets of `$ref` are looked up.
    pub roots: Vec<&'a Node>,
}

impl Search<'_> {
    /// Follows a place such as `a.items.anyOf[1]` as far as possible; `None` if not even its first
    /// step exists. Schema properties are named without the key `properties`. A key may contain
    /// dots, so the longest one that fits is taken.
    pub fn deepest(&self, node: &Node, place: &str) -> Option<DeepestMatch> {
        self.follow(node, place, MOST_HOPS)
    }

    fn follow(&self, node: &Node, place: &str, hops: usize) -> Option<DeepestMatch> {
        let place = place.strip_prefix('.').unwrap_or(place);
        if place.is_empty() {
            return None;
        }
        match &node.kind {
            NodeKind::Map(entries) => {
                let rest_after = |name: &str| {
                    let rest = place.strip_prefix(name)?;
                    (rest.is_empty() || rest.starts_with(['.', '['])).then_some(rest)
                };
                let fits = entries.iter().rev();
                let fits = fits.filter_map(|(name, at, node)| Some((at, node, rest_after(name)?)));
                let direct = fits.min_by_key(|(_, _, rest)| rest.len());
                let direct = direct.map(|(at, node, rest)| {
                    let own = DeepestMatch {
                        rest: rest.len(),
                        at: *at,
                    };
                    self.follow(node, rest, hops).unwrap_or(own)
                });
                let inner = node.get("properties");
                let inner = inner.and_then(|(_, node)| self.follow(node, place, hops));
                let target = hops.checked_sub(1).and_then(|hops| {
                    let target = self.target(node)?;
                    self.follow(target, place, hops)
                });
                let all = direct.into_iter().chain(inner).chain(target);
                all.min_by_key(|found| found.rest)
            }
            NodeKind::List(_) => {
                let (index, rest) = place.strip_prefix('[')?.split_once(']')?;
                let (at, element) = node.element(index.parse().ok()?)?;
                let own = DeepestMatch {
                    rest: rest.len(),
                    at,
                };
                Some(self.follow(element, rest, hops).unwrap_or(own))
            }
            NodeKind::Target(_) | NodeKind::Other => None,
        }
    }

    pub(crate) fn target<'n>(&'n self, node: &Node) -> Option<&'n Node> {
        let NodeKind::Target(target) = &node.get("$ref")?.1.kind else {
            return None;
        };
        let pointer = target.strip_prefix('#')?;
        self.roots.iter().find_map(|root| root.pointer(pointer))
    }
}

impl Diagnostic {
    /// Sets the line and the column of the diagnostic.
    pub fn put_at(&mut self, position: Position) {
        self.place.line = Some(position.line);
        self.place.column = Some(position.column);
    }
}

#[cfg(test)]
mod tests {
    use super::{LineIndex, Position};

    #[test]
    fn columns_are_counted_in_characters() {
        let text = "ab\nüx\n";
        let lines = LineIndex::new(text);
        let x = text.find('x').expect("there");
        assert_eq!(lines.position(x), Position::new(2, 2));
        assert_eq!(lines.position(0), Position::START);
        assert_eq!(lines.position(text.len()), Position::new(3, 1));
        assert_eq!(lines.position(usize::MAX), Position::new(3, 1));
    }

    #[test]
    fn columns_of_long_lines_are_those_of_short_ones() {
        let text = format!(
            "{}\n{}x{}",
            "é".repeat(300),
            "😀 ".repeat(1000),
            "y".repeat(512)
        );
        let lines = LineIndex::new(&text);
        for (at, _) in text.char_indices() {
            let line = text[..at].matches('\n').count() + 1;
            let column = text[..at].chars().rev().take_while(|c| *c != '\n').count() + 1;
            assert_eq!(lines.position(at), Position::new(line, column), "{at}");
        }
        assert_eq!(lines.position(text.len()), Position::new(2, 2514));
        assert_eq!(LineIndex::new("").position(0), Position::START);
    }
}
