//! What a document holds, as its API takes it: changed where it must be, all else as it was.

use super::document::{Document, Entry, Holds, Item, SCHEMA_KEYS};
use super::rules::{HINTS, mcp_faults};
use gemini_tools_core::position::{Node, NodeKind, Step};
use gemini_tools_dialects::Dialect;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// A declaration as its API takes it.
pub(super) struct Repaired {
    pub(super) name: String,
    /// `None` where there is none, and none is needed.
    pub(super) schema: Option<Value>,
    /// Whether `OpenAI`'s strict mode must be off.
    pub(super) is_loose: bool,
}

impl Repaired {
    /// The declaration as JSON, its keys in the order in which they are in the document.
    pub(super) fn to_json(&self, dialect: Dialect, item: &Item, top: &Node) -> Option<String> {
        let mut map = item.value().as_object()?.clone();
        map.insert("name".to_owned(), self.name.as_str().into());
        let key = key_of_schema(dialect);
        let own = item.schema_key();
        if let Some(schema) = &self.schema {
            map.retain(|key, _| !SCHEMA_KEYS.contains(&key.as_str()));
            map.insert(key.to_owned(), schema.clone());
        }
        let is_fine =
            |text: &Value| text.is_string() || dialect == Dialect::Gemini && text.is_null();
        if map.get("description").is_some_and(|text| !is_fine(text)) {
            map.remove("description");
        }
        if dialect == Dialect::Mcp {
            repair_mcp(&mut map);
        }
        if self.is_loose {
            map.insert("strict".to_owned(), false.into());
        }
        if dialect == Dialect::OpenAiResponses {
            map.insert("type".to_owned(), "function".into());
        } else if map.get("type").is_some_and(|kind| kind == "function") {
            map.remove("type");
        }
        let layout = Layout {
            renamed: own.filter(|own| *own != key).map(|own| (own, key)),
            instead: None,
        };
        let node = top.find(&item.path).map(|(_, node)| node);
        let mut out = String::new();
        write_map(&mut out, &map, node, &layout);
        Some(out)
    }
}

/// Takes out what clients of the protocol refuse besides names and arguments, or repairs it.
fn repair_mcp(map: &mut Map<String, Value>) {
    for (key, _) in mcp_faults(&Value::Object(map.clone())) {
        map.remove(key);
    }
    if let Some(Value::Object(annotations)) = map.get_mut("annotations") {
        annotations.retain(|key, value| match key.as_str() {
            "title" => value.is_string(),
            key => !HINTS.contains(&key) || value.is_boolean(),
        });
    }
    match map.get_mut("outputSchema") {
        Some(Value::Object(schema)) if !schema.contains_key("type") => {
            schema.insert("type".to_owned(), "object".into());
        }
        Some(schema) if schema["type"] != "object" => drop(map.remove("outputSchema")),
        _ => {}
    }
    for key in ["inputSchema", "outputSchema"] {
        let schema = map
            .get_mut(key)
            .and_then(|schema| schema.get_mut("properties"));
        let properties = schema.and_then(Value::as_object_mut).into_iter().flatten();
        for (_, property) in properties {
            match property {
                Value::Bool(true) => *property = json!({}),
                Value::Bool(false) => *property = json!({"not": {}}),
                _ => {}
            }
        }
    }
}

fn key_of_schema(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Gemini => "parametersJsonSchema",
        Dialect::OpenAi | Dialect::OpenAiResponses => "parameters",
        Dialect::Anthropic => "input_schema",
        Dialect::Mcp => "inputSchema",
    }
}

/// The list of tools with its declarations as they are now; those that can't be repaired are
/// left out.
pub(super) fn list(document: &Document, mut items: Vec<Option<String>>, top: &Node) -> Vec<String> {
    let dialect = document.dialect;
    let mut take = |i: usize| items.get_mut(i).and_then(Option::take);
    let mut all = Vec::new();
    for entry in &document.entries {
        match &entry.holds {
            Holds::None => all.push(around(entry, None, top)),
            Holds::Itself(i) if dialect == Dialect::OpenAi => all
                .extend(take(*i).map(|text| format!(r#"{{"type":"function","function":{text}}}"#))),
            Holds::Function(i) if dialect == Dialect::OpenAi => {
                all.extend(take(*i).map(|text| around(entry, Some(("function", &text)), top)));
            }
            Holds::Itself(i) | Holds::Function(i) => all.extend(take(*i)),
            Holds::List(key, range) => {
                let texts: Vec<String> = range.clone().filter_map(&mut take).collect();
                let is_alone = entry.value.as_object().is_none_or(|map| map.len() == 1);
                if dialect != Dialect::Gemini {
                    all.extend(texts);
                } else if !(texts.is_empty() && is_alone) {
                    let text = format!("[{}]", texts.join(","));
                    all.push(around(entry, Some((key, &text)), top));
                }
            }
        }
    }
    all
}

/// One of the list of tools, with a text in the place of the declarations in it.
fn around(entry: &Entry, instead: Option<(&str, &str)>, top: &Node) -> String {
    let mut out = String::new();
    let node = top.find(&entry.path).map(|(_, node)| node);
    match &entry.value {
        Value::Object(map) => {
            let layout = Layout {
                instead,
                renamed: None,
            };
            write_map(&mut out, map, node, &layout);
        }
        other => write(&mut out, other, node),
    }
    out
}

/// What is different in an object from how it is in the document.
#[derive(Default)]
struct Layout<'a> {
    /// A key that is another one now.
    renamed: Option<(&'a str, &'a str)>,
    /// JSON that is the value of a key.
    instead: Option<(&'a str, &'a str)>,
}

fn write(out: &mut String, value: &Value, node: Option<&Node>) {
    match value {
        Value::Object(map) => write_map(out, map, node, &Layout::default()),
        Value::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write(out, item, child(node, Step::Index(i)));
            }
            out.push(']');
        }
        leaf => out.push_str(&leaf.to_string()),
    }
}

/// Keys that are in the document come first and in its order.
fn write_map(out: &mut String, map: &Map<String, Value>, node: Option<&Node>, layout: &Layout<'_>) {
    let stood = match node.map(|node| &node.kind) {
        Some(NodeKind::Map(entries)) => &entries[..],
        _ => &[],
    };
    let stood = stood.iter().map(|(own, _, _)| match layout.renamed {
        Some((before, now)) if before == own => (own.as_str(), now),
        _ => (own.as_str(), own.as_str()),
    });
    let new = map.keys().map(|key| (key.as_str(), key.as_str()));
    let mut written = BTreeSet::new();
    out.push('{');
    for (own, key) in stood.chain(new) {
        let Some(value) = map.get(key).filter(|_| written.insert(key.to_owned())) else {
            continue;
        };
        if written.len() > 1 {
            out.push(',');
        }
        out.push_str(&Value::from(key).to_string());
        out.push(':');
        match layout.instead {
            Some((place, text)) if place == key => out.push_str(text),
            _ => write(out, value, child(node, Step::Key(own.to_owned()))),
        }
    }
    out.push('}');
}

fn child(node: Option<&Node>, step: Step) -> Option<&Node> {
    node?.find(&[step]).map(|(_, node)| node)
}
