//! Where the keys and values of a settings file are in its text.

use crate::syntax::Syntax;
use granit_parser::{Event, Parser, Span, StructureStyle};
use jsonc_parser::ast::Value as Json;
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A value. The span of a table or mapping without braces does not cover what is in it.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) span: Range<usize>,
    /// `None` if it is no mapping.
    pub(super) entries: Option<Vec<Entry>>,
}

#[derive(Debug)]
pub(super) struct Entry {
    pub(super) key: String,
    /// Where the key begins.
    pub(super) at: usize,
    pub(super) node: Node,
}

impl Node {
    /// Finds the keys and values of a text. Only mappings in mappings are looked into.
    ///
    /// # Errors
    ///
    /// Returns why the text can't be parsed.
    pub(super) fn parse(syntax: Syntax, text: &str) -> Result<Self, String> {
        let nothing = Self {
            span: text.len()..text.len(),
            entries: None,
        };
        match syntax {
            Syntax::Toml => {
                let top = DeTable::parse(text).map_err(|e| e.to_string())?;
                Ok(of_table(0..0, top.get_ref()))
            }
            Syntax::Yaml => {
                let events: Result<Vec<_>, _> = Parser::new_from_str(text).collect();
                let mut events = events
                    .map_err(|e| e.to_string())?
                    .into_iter()
                    .filter(is_part);
                let root = of_events(text, &mut events, &mut 0);
                Ok(root.map_or(nothing, |(_, root)| root))
            }
            _ => {
                let all = CollectOptions::default();
                let parsed = parse_to_ast(text, &all, &ParseOptions::default());
                let root = parsed.map_err(|e| e.to_string())?.value;
                Ok(root.as_ref().map_or(nothing, of_json))
            }
        }
    }

    /// Returns true if the mapping has braces around it.
    pub(super) fn is_braced(&self, text: &str) -> bool {
        self.entries.is_some() && text[self.span.start..].starts_with('{')
    }

    /// Returns where the value and all that is in it ends.
    fn end(&self) -> usize {
        let within = self.entries.iter().flatten().map(|entry| entry.node.end());
        within.fold(self.span.end, usize::max)
    }

    pub(super) fn get(&self, key: &str) -> Option<(usize, &Entry)> {
        let mut all = self.entries.as_deref()?.iter().enumerate();
        all.rfind(|(_, entry)| entry.key == key)
    }

    /// Finds the key and value at some keys. Returns where the entry before it in its mapping ends,
    /// and where it is itself.
    pub(super) fn find(&self, at: &[String]) -> Option<(Option<usize>, Range<usize>)> {
        let (key, above) = at.split_last()?;
        let parent = above
            .iter()
            .try_fold(self, |node, key| Some(&node.get(key)?.1.node))?;
        let (index, entry) = parent.get(key)?;
        let before = parent.entries.iter().flatten().take(index).last();
        // The key of a table of TOML is within its header.
        let start = entry.at.min(entry.node.span.start);
        let before = before.map(|before| before.node.end());
        Some((before, start..entry.node.end()))
    }
}

fn of_json(value: &Json<'_>) -> Node {
    let entries = value.as_object().map(|object| {
        let properties = object.properties.iter().map(|property| Entry {
            key: property.name.as_str().to_owned(),
            at: property.start(),
            node: of_json(&property.value),
        });
        properties.collect()
    });
    Node {
        span: value.start()..value.end(),
        entries,
    }
}

fn of_table(span: Range<usize>, table: &DeTable<'_>) -> Node {
    let of_value = |value: &Spanned<DeValue<'_>>| match value.get_ref() {
        DeValue::Table(table) => of_table(value.span(), table),
        _ => Node {
            span: value.span(),
            entries: None,
        },
    };
    let entries = table.iter().map(|(key, value)| Entry {
        key: key.get_ref().to_string(),
        at: key.span().start,
        node: of_value(value),
    });
    let mut entries: Vec<Entry> = entries.collect();
    entries.sort_by_key(|entry| entry.at);
    Node {
        span,
        entries: Some(entries),
    }
}

fn is_part((event, _): &(Event<'_>, Span)) -> bool {
    event.is_node() || matches!(event, Event::MappingEnd | Event::SequenceEnd)
}

/// Takes the events of one value, with its text if it is a scalar; `None` at the end of a mapping,
/// a list or the file. `last` is set to where the last event that was taken ends.
fn of_events<'a>(
    text: &str,
    events: &mut impl Iterator<Item = (Event<'a>, Span)>,
    last: &mut usize,
) -> Option<(String, Node)> {
    let (event, span) = events.next()?;
    let Range { start, end } = span.byte_range()?;
    *last = end;
    let (style, is_map) = match event {
        Event::MappingStart(style, ..) => (style, true),
        Event::SequenceStart(style, ..) => (style, false),
        Event::Scalar(value, ..) => {
            let span = start..start + text[start..end].trim_end().len();
            let entries = None;
            return Some((value.into_owned(), Node { span, entries }));
        }
        Event::Alias(_) => {
            let (span, entries) = (start..end, None);
            return Some((String::new(), Node { span, entries }));
        }
        _ => return None,
    };
    let mut children = Vec::new();
    while let Some(child) = of_events(text, events, last) {
        children.push(child);
    }
    let end = match style {
        StructureStyle::Flow => *last,
        // The event at its end is where the next thing begins.
        StructureStyle::Block => children
            .iter()
            .fold(start, |end, (_, c)| end.max(c.span.end)),
    };
    let mut children = children.into_iter();
    let pairs = std::iter::from_fn(|| Some((children.next()?, children.next()?)));
    let entries = pairs.map(|((key, key_node), (_, mut node))| {
        // A value that is left out has no place of its own.
        if node.span.is_empty() {
            node.span = key_node.span.end..key_node.span.end;
        }
        let at = key_node.span.start;
        Entry { key, at, node }
    });
    let entries = is_map.then(|| entries.collect());
    let span = start..end;
    Some((String::new(), Node { span, entries }))
}
