//! Lists the definitions in a text, by queries that each grammar has for that.

use crate::parser::{TimedParser, is_source, thread_time};
use crate::{Language, OUTLINE_BUDGET, Symbol};
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::ops::{ControlFlow, Range};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tree_sitter::{
    CaptureQuantifier, Node, Query, QueryCursor, QueryCursorOptions, StreamingIterator,
};

const MAX_SYMBOLS: usize = 20_000;

const NAME_CHARS: usize = 80;

/// The prefix of the capture names by which queries mark definitions.
const DEFINITION: &str = "definition.";

/// Returns all definitions in a text, sorted by place. Returns `None`, and never a part of them,
/// for a text that is larger than [`crate::MAX_BYTES`], is generated or minified, has more than
/// 20,000, or takes longer than [`OUTLINE_BUDGET`].
#[must_use]
pub fn outline(text: &str, language: Language) -> Option<Vec<Symbol>> {
    if !is_source(text) {
        return None;
    }
    let query = query(language)?;
    let mut parser = TimedParser::new(language, OUTLINE_BUDGET)?;
    let tree = parser.parse(text)?;
    let mut symbols = matches(&query, tree.root_node(), text, parser.until)?;
    symbols.sort_by_key(|(bytes, _)| (bytes.start, Reverse(bytes.end)));
    symbols.dedup_by(|(_, next), (_, one)| {
        (next.line, &next.name, &next.kind) == (one.line, &one.name, &one.kind)
    });
    let mut around: Vec<Range<usize>> = Vec::new();
    let nested = symbols.into_iter().map(|(bytes, mut symbol)| {
        around.retain(|outer| outer.end >= bytes.end && *outer != bytes);
        symbol.depth = around.len();
        around.push(bytes);
        symbol
    });
    Some(nested.collect())
}

/// Returns the query for the definitions of a language. Each is compiled only once in a process.
fn query(language: Language) -> Option<Arc<Query>> {
    static QUERIES: Mutex<Option<HashMap<Language, Arc<Query>>>> = Mutex::new(None);
    let mut queries = QUERIES.lock().unwrap_or_else(PoisonError::into_inner);
    let queries = queries.get_or_insert_default();
    if let Some(query) = queries.get(&language) {
        return Some(Arc::clone(query));
    }
    let text = language.queries().join("\n");
    let mut query = Query::new(&language.grammar(), &text).ok()?;
    for pattern in 0..query.pattern_count() {
        let captures = query
            .capture_names()
            .iter()
            .zip(query.capture_quantifiers(pattern));
        let mut definitions = captures.filter(|(name, quantifier)| {
            name.starts_with(DEFINITION) && **quantifier != CaptureQuantifier::Zero
        });
        let defines = definitions.next().is_some();
        drop(definitions);
        if !defines {
            query.disable_pattern(pattern);
        }
    }
    let query = Arc::new(query);
    queries.insert(language, Arc::clone(&query));
    Some(query)
}

type Placed = (Range<usize>, Symbol);

/// Returns `None` if the time is up or there are too many.
fn matches(query: &Query, root: Node<'_>, text: &str, until: Duration) -> Option<Vec<Placed>> {
    let mut is_over = |_: &_| {
        if thread_time() < until {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    };
    let options = QueryCursorOptions::new().progress_callback(&mut is_over);
    let mut cursor = QueryCursor::new();
    let mut matches = cursor.matches_with_options(query, root, text.as_bytes(), options);
    let names = query.capture_names();
    let mut seen = HashSet::new();
    let mut symbols = Vec::new();
    while let Some(found) = matches.next() {
        let mut name: Option<(Node<'_>, usize)> = None;
        let mut definition = None;
        for capture in found.captures() {
            let capture_name = names[capture.index as usize];
            if capture_name == "name" {
                let first = name.map_or(capture.node, |(first, _)| first);
                name = Some((first, capture.node.end_byte()));
            } else if let Some(kind) = capture_name.strip_prefix(DEFINITION) {
                definition = Some((kind, capture.node));
            }
        }
        let (Some((name, end)), Some((kind, node))) = (name, definition) else {
            continue;
        };
        if seen.insert(name.id()) {
            symbols.push(symbol(kind, name, &text[name.start_byte()..end], node));
        }
    }
    (symbols.len() <= MAX_SYMBOLS && thread_time() < until).then_some(symbols)
}

fn symbol(kind: &str, named: Node<'_>, name: &str, mut node: Node<'_>) -> Placed {
    // The node of the name's parent tells a union from a struct even where queries don't.
    let own = named.parent().map_or("", |parent| parent.kind());
    let first_word = own.split('_').next().unwrap_or_default();
    let kind = match (kind, first_word) {
        (
            "class" | "type" | "interface",
            "struct" | "enum" | "union" | "trait" | "class" | "type",
        ) => first_word,
        _ => kind,
    };
    // Some queries mark only the declarator, or a definition without the `export` or decorators
    // before it. The node around these is the whole definition.
    while let Some(parent) = node.parent().filter(|parent| {
        let kind = parent.kind();
        kind.ends_with("_declarator")
            || matches!(
                kind,
                "function_definition"
                    | "declaration"
                    | "field_declaration"
                    | "export_statement"
                    | "decorated_definition"
            )
    }) {
        node = parent;
    }
    let words: Vec<&str> = name.split_whitespace().collect();
    let end = node.end_position();
    // A node that ends at the start of a line ends with the line before.
    let end_row = if end.column == 0 {
        end.row
    } else {
        end.row + 1
    };
    let line = node.start_position().row + 1;
    let symbol = Symbol {
        kind: kind.to_owned(),
        name: words.join(" ").chars().take(NAME_CHARS).collect(),
        line,
        end_line: end_row.max(line),
        depth: 0,
    };
    (node.byte_range(), symbol)
}
