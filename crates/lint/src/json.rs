//! The places of a JSON document's values.

use gemini_tools_core::position::{LineIndex, Node, NodeKind, Position};
use jsonc_parser::ast::Value;
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};

/// The places in a text that is valid JSON.
pub(super) fn places(text: &str) -> Node {
    let parsed = parse_to_ast(text, &CollectOptions::default(), &ParseOptions::default());
    let top = parsed.ok().and_then(|parsed| parsed.value);
    match &top {
        Some(top) => node(&LineIndex::of(text), top),
        None => Node {
            at: Position::START,
            kind: NodeKind::Other,
        },
    }
}

fn node(lines: &LineIndex<'_>, value: &Value<'_>) -> Node {
    let kind = match value {
        Value::Object(object) => {
            let entries = object.properties.iter().map(|property| {
                let name = property.name.as_str();
                let mut inner = node(lines, &property.value);
                if let ("$ref", Value::StringLit(target)) = (name, &property.value) {
                    inner.kind = NodeKind::Target(target.value.clone().into_owned());
                }
                (name.to_owned(), lines.position(property.range.start), inner)
            });
            NodeKind::Map(entries.collect())
        }
        Value::Array(array) => {
            NodeKind::List(array.elements.iter().map(|e| node(lines, e)).collect())
        }
        _ => NodeKind::Other,
    };
    Node {
        at: lines.position(value.range().start),
        kind,
    }
}
