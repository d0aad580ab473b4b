//! A document taken apart into declarations, each with its place.

use gemini_tools_core::diagnostic::Diagnostic;
use gemini_tools_core::position::{Node, Position, Search, Step};
use gemini_tools_dialects::Dialect;
use serde_json::{Value, json};
use std::ops::Range;

/// One declaration.
#[derive(Debug)]
pub(super) struct Item {
    /// Where it is.
    pub(super) path: Vec<Step>,
    /// Where its schema is, if it has one.
    pub(super) schema_path: Vec<Step>,
    value: Value,
    schema_key: Option<&'static str>,
}

/// All of them.
#[derive(Debug)]
pub(super) struct Document {
    pub(super) dialect: Dialect,
    pub(super) items: Vec<Item>,
    /// What is in the list of tools, and which of it are declarations.
    pub(super) entries: Vec<Entry>,
    /// What was noticed while it was taken apart, and where.
    pub(super) findings: Vec<(Vec<Step>, Diagnostic)>,
}

/// One of the list of tools.
#[derive(Debug)]
pub(super) struct Entry {
    /// Where it is.
    pub(super) path: Vec<Step>,
    /// What is there; nothing in the place of the declarations in it.
    pub(super) value: Value,
    pub(super) holds: Holds,
}

/// Which declarations are in an entry of the list of tools, by their places among all.
#[derive(Debug)]
pub(super) enum Holds {
    /// The entry is a tool of the API itself.
    None,
    /// The entry is a declaration.
    Itself(usize),
    /// `function` is one, as Chat Completions wants it.
    Function(usize),
    /// The declarations in the list under a key, as Gemini wants them.
    List(&'static str, Range<usize>),
}

/// Under which keys schemas are.
pub(super) const SCHEMA_KEYS: [&str; 6] = [
    "parametersJsonSchema",
    "parameters",
    "inputSchema",
    "input_schema",
    "parameters_json_schema",
    "parametersSchema",
];

impl Item {
    /// A declaration at a place.
    pub(super) fn new(path: Vec<Step>, value: Value) -> Self {
        let schema_key = SCHEMA_KEYS.into_iter().find(|key| !value[*key].is_null());
        let mut schema_path = path.clone();
        schema_path.extend(schema_key.map(|key| Step::Key(key.to_owned())));
        Self {
            path,
            schema_path,
            value,
            schema_key,
        }
    }

    /// The place of what a finding names; of the nearest that is there, where it is itself not.
    pub(super) fn position(&self, top: &Node, place: &str) -> Option<Position> {
        let (own, declaration) = top.find(&self.path)?;
        let schema = top.find(&self.schema_path);
        if place == "schema" {
            return Some(schema.map_or(own, |(at, _)| at));
        }
        let search = Search {
            roots: schema
                .map(|(_, node)| node)
                .into_iter()
                .chain([top])
                .collect(),
        };
        let nodes = [Some(declaration), schema.map(|(_, node)| node)];
        let nodes = nodes.into_iter().flatten();
        let found = nodes.filter_map(|node| search.deepest(node, place));
        // Nothing is found as well as the declaration itself by what leads nowhere in it.
        let best = found.min_by_key(|found| found.rest);
        Some(best.map_or(own, |found| found.at))
    }

    /// The declaration with its name, without the wrapper of its dialect.
    pub(super) fn value(&self) -> &Value {
        &self.value
    }

    pub(super) fn name(&self) -> &str {
        self.value["name"].as_str().unwrap_or_default()
    }

    /// The key of its schema.
    pub(super) fn schema_key(&self) -> Option<&'static str> {
        self.schema_key
    }

    /// The declaration's schema, or that of a tool without arguments.
    pub(super) fn schema(&self) -> Value {
        match self.schema_key {
            Some(key) => self.value[key].clone(),
            None => json!({"type": "object", "properties": {}}),
        }
    }
}

const SHAPES: &str = "It is none of the documents that are known: declarations of Gemini, OpenAI, \
    Anthropic or MCP. Say with --dialect which it is meant to be.";

impl Document {
    /// Takes a document apart.
    ///
    /// # Errors
    ///
    /// Why it can't be, in a sentence.
    pub(super) fn read(mut value: Value, chosen: Option<Dialect>) -> Result<Self, String> {
        let mut path = Vec::new();
        let mut is_mcp = false;
        // The answer of an MCP server, and a request to an API.
        for key in ["result", "tools"] {
            if value
                .get(key)
                .is_some_and(|v| v.is_array() || v.is_object())
            {
                is_mcp |= key == "result";
                path.push(Step::Key(key.to_owned()));
                value = value[key].take();
            }
        }
        let mut places: Vec<(Vec<Step>, Value)> = match value {
            Value::Array(items) => items
                .into_iter()
                .enumerate()
                .map(|(i, item)| ([&path[..], &[Step::Index(i)]].concat(), item))
                .collect(),
            Value::Object(_) => vec![(path, value)],
            _ => return Err(SHAPES.to_owned()),
        };
        let found = places.iter().find_map(|(_, item)| dialect_of(item));
        let found = if is_mcp { Some(Dialect::Mcp) } else { found };
        let dialect = match (chosen, found) {
            (Some(chosen), _) => chosen,
            (None, Some(found)) => found,
            (None, None) if places.is_empty() => Dialect::Gemini,
            (None, None) => return Err(SHAPES.to_owned()),
        };
        let mut document = Self {
            dialect,
            items: Vec::new(),
            entries: Vec::new(),
            findings: Vec::new(),
        };
        for (path, item) in &mut places {
            document.take(dialect, std::mem::take(path), item.take());
        }
        Ok(document)
    }

    /// Adds the declarations of one item.
    fn take(&mut self, dialect: Dialect, path: Vec<Step>, mut item: Value) {
        let first = self.items.len();
        let holds = if let Some((key, list)) = declarations(&mut item) {
            for (i, declaration) in list.into_iter().enumerate() {
                let steps = [Step::Key(key.to_owned()), Step::Index(i)];
                let path = [&path[..], &steps].concat();
                self.items.push(Item::new(path, declaration));
            }
            Holds::List(key, first..self.items.len())
        } else if item["function"].is_object() {
            let inner = item["function"].take();
            let place = [&path[..], &[Step::Key("function".to_owned())]].concat();
            if dialect != Dialect::OpenAi {
                let message = "The declaration is in the wrapper of another API, OpenAI's \
                               Chat Completions.";
                self.refuse_wrapper(&place, &inner, message);
            }
            self.items.push(Item::new(place, inner));
            Holds::Function(first)
        } else if is_the_apis_own(dialect, &item) {
            Holds::None
        } else {
            if let Some(message) = why_not_bare(dialect, &item) {
                self.refuse_wrapper(&path, &item, message);
            }
            self.items.push(Item::new(path.clone(), item.take()));
            Holds::Itself(first)
        };
        self.entries.push(Entry {
            path,
            value: item,
            holds,
        });
    }

    fn refuse_wrapper(&mut self, place: &[Step], declaration: &Value, message: &str) {
        let name = declaration["name"].as_str().unwrap_or_default();
        let finding = Diagnostic::error("wrapper", name, "function", message);
        self.findings.push((place.to_owned(), finding));
    }
}

/// Takes the list out of Gemini's wrapper.
fn declarations(item: &mut Value) -> Option<(&'static str, Vec<Value>)> {
    ["functionDeclarations", "function_declarations"]
        .into_iter()
        .find_map(|key| match item.get_mut(key)?.take() {
            Value::Array(list) => Some((key, list)),
            _ => None,
        })
}

/// Whether it is a tool of the API itself, which has no schema of its user's.
fn is_the_apis_own(dialect: Dialect, item: &Value) -> bool {
    let kind = item["type"].as_str();
    match dialect {
        Dialect::OpenAi | Dialect::OpenAiResponses => kind.is_some_and(|kind| kind != "function"),
        Dialect::Anthropic => kind.is_some_and(|kind| !matches!(kind, "function" | "custom")),
        Dialect::Mcp => false,
        Dialect::Gemini => item.as_object().is_some_and(|map| {
            let is_ours =
                |key: &str| matches!(key, "name" | "description") || SCHEMA_KEYS.contains(&key);
            !map.is_empty() && !map.keys().any(|key| is_ours(key))
        }),
    }
}

/// What an API has against a declaration that is there as it is.
fn why_not_bare(dialect: Dialect, item: &Value) -> Option<&'static str> {
    let is_function = item["type"] == "function";
    match dialect {
        Dialect::OpenAi if is_function => Some(
            "Chat Completions wants the declaration under \"function\"; without that it is one for \
             the Responses API.",
        ),
        Dialect::OpenAi => Some(
            "Chat Completions wants the declaration under \"function\", beside \"type\": \
             \"function\".",
        ),
        Dialect::OpenAiResponses if !is_function => {
            Some("The Responses API wants \"type\": \"function\" in it.")
        }
        Dialect::Gemini | Dialect::Anthropic | Dialect::Mcp if is_function => {
            Some("\"type\": \"function\" is OpenAI's; this API does not know it.")
        }
        _ => None,
    }
}

fn dialect_of(item: &Value) -> Option<Dialect> {
    let has = |key: &str| item.get(key).is_some();
    if has("functionDeclarations") || has("function_declarations") {
        Some(Dialect::Gemini)
    } else if item["function"].is_object() {
        Some(Dialect::OpenAi)
    } else if item["type"] == "function" && has("name") {
        Some(Dialect::OpenAiResponses)
    } else if has("input_schema") {
        Some(Dialect::Anthropic)
    } else if has("inputSchema") {
        Some(Dialect::Mcp)
    } else if has("parametersJsonSchema") || has("parameters") || has("name") && !has("type") {
        Some(Dialect::Gemini)
    } else {
        None
    }
}
