//! From what a server says about its tools to what a model is told: names, the schema gate, and
//! what is held back.

use super::names;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

/// A deeper schema is refused: it would be one that grows by its own references.
const MAX_DEPTH: usize = 64;

/// A tool of a server.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Declared {
    /// Its name on the server.
    pub(super) original: String,
    /// Its name for a model.
    pub(super) name: String,
    /// Tells this declaration from every other.
    pub(super) hash: String,
    /// Whether the server says that it changes nothing.
    pub(super) reads: bool,
    /// Whether the server runs it as a task only.
    pub(super) as_task: bool,
    /// Why a model is not told of it.
    pub(super) held: Option<String>,
    /// The declaration as compact JSON, without the closing brace; empty where it is held back.
    pub(super) text: String,
}

/// All tools of a server, and what is wrong with those that are left out.
pub(super) fn declare(server: &str, tools: &[Value]) -> (Vec<Declared>, Vec<String>) {
    let (mut declared, mut notes) = (Vec::<Declared>::new(), Vec::new());
    for tool in tools {
        match declare_one(server, tool) {
            Ok(one) => {
                if let Some(other) = declared.iter().find(|other| other.name == one.name) {
                    notes.push(format!(
                        "{:?} is left out: {:?} has the name {} already.",
                        one.original, other.original, one.name
                    ));
                } else {
                    declared.push(one);
                }
            }
            Err(note) => notes.push(note),
        }
    }
    declared.sort_by(|a, b| a.name.cmp(&b.name));
    (declared, notes)
}

fn declare_one(server: &str, tool: &Value) -> Result<Declared, String> {
    let Some(original) = tool["name"].as_str().filter(|name| !name.is_empty()) else {
        return Err("A tool without a name is left out.".to_owned());
    };
    let name = names::qualified(server, original);
    let held = hidden_in(tool).map(|what| format!("it has invisible characters ({what})"));
    let description = tool["description"].as_str().unwrap_or_default();
    let text = if held.is_some() {
        String::new()
    } else {
        let schema = schema_of(&tool["inputSchema"])
            .map_err(|reason| format!("{original:?} is left out: {reason}."))?;
        format!(
            r#"{{"name":{},"description":{},"parametersJsonSchema":{schema}"#,
            json!(name),
            json!(description),
        )
    };
    Ok(Declared {
        original: original.to_owned(),
        name,
        hash: hash_of(tool),
        reads: tool["annotations"]["readOnlyHint"] == true,
        as_task: tool["execution"]["taskSupport"] == "required",
        held,
        text,
    })
}

/// The hash of all that a model or a person goes by.
fn hash_of(tool: &Value) -> String {
    let mut tool = tool.clone();
    if let Some(map) = tool.as_object_mut() {
        map.remove("_meta");
        map.remove("icons");
    }
    hex(&Sha256::digest(tool.to_string()))
}

/// The first half of a hash: enough to tell things apart.
pub(super) fn hex(hash: &[u8]) -> String {
    let mut text = String::new();
    for byte in hash.iter().take(16) {
        text.push_str(&format!("{byte:02x}"));
    }
    text
}

/// The first character in any text of a declaration that a person would not see, though a model
/// reads it.
fn hidden_in(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => hidden(text),
        Value::Array(items) => items.iter().find_map(hidden_in),
        Value::Object(map) => map
            .iter()
            .filter(|(key, _)| *key != "icons")
            .find_map(|(key, value)| hidden(key).or_else(|| hidden_in(value))),
        _ => None,
    }
}

fn hidden(text: &str) -> Option<String> {
    if text.is_ascii() && !text.bytes().any(|b| b.is_ascii_control()) {
        return None;
    }
    let mut before = ' ';
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let is_hidden = match c {
            '\n' | '\r' | '\t' => false,
            // Joiners belong to emoji and to some scripts, but not between Latin letters.
            '\u{200c}' | '\u{200d}' => before.is_ascii() || chars.peek().is_none_or(char::is_ascii),
            '\u{ad}'
            | '\u{61c}'
            | '\u{115f}'
            | '\u{1160}'
            | '\u{180e}'
            | '\u{200b}'
            | '\u{200e}'
            | '\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{3164}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e0fff}' => true,
            c => c.is_control(),
        };
        if is_hidden {
            return Some(format!("U+{:04X}", u32::from(c)));
        }
        before = c;
    }
    None
}

/// The schema of a tool's arguments as the API takes it.
fn schema_of(schema: &Value) -> Result<Value, String> {
    let mut schema = match schema {
        Value::Null => json!({ "type": "object", "properties": {} }),
        Value::Object(_) => inlined(schema, schema, &mut Vec::new())?,
        _ => return Err("its schema is no object".to_owned()),
    };
    if let Some(map) = schema.as_object_mut() {
        for key in ["$schema", "$id", "$defs", "definitions"] {
            map.remove(key);
        }
    }
    if let Some(place) = untyped(&mut schema, "its schema") {
        return Err(format!("{place} has no type, which the API refuses"));
    }
    if schema["type"] != "object" {
        return Err("its schema does not describe an object".to_owned());
    }
    Ok(schema)
}

/// A copy in which what `$ref` refers to stands in its place. `open` are the references on the
/// way here.
fn inlined(node: &Value, root: &Value, open: &mut Vec<String>) -> Result<Value, String> {
    if open.len() > MAX_DEPTH {
        return Err("its schema is nested too deep".to_owned());
    }
    match node {
        Value::Object(map) => {
            let Some(target) = map.get("$ref").and_then(Value::as_str) else {
                let mut copy = Map::new();
                for (key, value) in map {
                    if matches!(key.as_str(), "$defs" | "definitions") && open.is_empty() {
                        continue;
                    }
                    // What stands there is data.
                    let value = match key.as_str() {
                        "default" | "examples" | "enum" | "const" => value.clone(),
                        _ => inlined(value, root, open)?,
                    };
                    copy.insert(key.clone(), value);
                }
                return Ok(Value::Object(copy));
            };
            if open.iter().any(|other| other == target) {
                return Err(format!("its schema refers to itself ({target})"));
            }
            let found = target
                .strip_prefix('#')
                .and_then(|pointer| root.pointer(pointer));
            let Some(found) = found else {
                return Err(format!(
                    "its schema refers to {target}, which is not part of it"
                ));
            };
            open.push(target.to_owned());
            let mut copy = inlined(found, root, open)?;
            open.pop();
            if let Some(copy) = copy.as_object_mut() {
                for (key, value) in map.iter().filter(|(key, _)| *key != "$ref") {
                    copy.insert(key.clone(), value.clone());
                }
            }
            Ok(copy)
        }
        Value::Array(items) => items
            .iter()
            .map(|item| inlined(item, root, open))
            .collect::<Result<_, _>>()
            .map(Value::Array),
        other => Ok(other.clone()),
    }
}

/// The first node that says no type, neither itself nor in all branches of a combiner. Where the
/// type is certain it is added.
fn untyped(node: &mut Value, place: &str) -> Option<String> {
    let Some(map) = node.as_object_mut() else {
        // `true` allows everything, which is no type.
        return Some(place.to_owned());
    };
    if !map.contains_key("type") {
        let mut has_branches = false;
        for key in ["anyOf", "oneOf", "allOf"] {
            let branches = map.get_mut(key).and_then(Value::as_array_mut);
            for branch in branches.into_iter().flatten() {
                has_branches = true;
                if let Some(place) = untyped(branch, place) {
                    return Some(place);
                }
            }
        }
        match certain(map) {
            _ if has_branches => {}
            Some(certain) => {
                map.insert("type".to_owned(), certain.into());
            }
            None => return Some(place.to_owned()),
        }
    }
    if let Some(items) = map.get_mut("items")
        && let Some(place) = untyped(items, &format!("{place}, items"))
    {
        return Some(place);
    }
    let properties = map.get_mut("properties").and_then(Value::as_object_mut);
    properties
        .into_iter()
        .flatten()
        .find_map(|(key, value)| untyped(value, &format!("{place}, {key}")))
}

/// The type that a node without one must have.
fn certain(map: &Map<String, Value>) -> Option<&'static str> {
    let is = |key: &str, f: fn(&Value) -> bool| map.get(key).is_some_and(f);
    let only_strings = |value: &Value| {
        value
            .as_array()
            .is_some_and(|list| !list.is_empty() && list.iter().all(Value::is_string))
    };
    if is("properties", Value::is_object) {
        Some("object")
    } else if is("items", Value::is_object) {
        Some("array")
    } else if is("enum", only_strings) || is("const", Value::is_string) {
        Some("string")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::declare;
    use serde_json::{Value, json};

    fn one(schema: &Value) -> Result<Value, String> {
        let tool = json!({"name": "t", "description": "d", "inputSchema": schema});
        let (tools, mut notes) = declare("s", &[tool]);
        match tools.first() {
            Some(tool) => {
                let text = format!("{}}}", tool.text);
                let mut value: Value = serde_json::from_str(&text).expect("JSON");
                assert_eq!(value["name"], "s__t");
                Ok(value["parametersJsonSchema"].take())
            }
            None => Err(notes.remove(0)),
        }
    }

    #[test]
    fn a_schema_without_types_is_refused_and_says_where() {
        for (schema, reason) in [
            (
                json!({"type": "object", "properties": {"x": {"description": "d"}}}),
                "its schema, x",
            ),
            (
                json!({"type": "object", "properties": {"x": {"type": "array", "items": {}}}}),
                "x, items",
            ),
            (
                json!({"type": "object", "properties": {"x": {"anyOf": [{"type": "string"}, {}]}}}),
                "its schema, x",
            ),
            (json!([]), "no object"),
            (json!({"type": "string"}), "object"),
            (
                json!({"type": "object", "properties": {"x": {"$ref": "#/$defs/a"}},
                    "$defs": {"a": {"type": "object", "properties": {"x": {"$ref": "#/$defs/a"}}}}}),
                "refers to itself",
            ),
            (
                json!({"type": "object", "properties": {"x": {"$ref": "other.json"}}}),
                "not part of it",
            ),
        ] {
            let note = one(&schema).expect_err("refused");
            assert!(
                note.contains(reason) && note.contains("\"t\""),
                "{note} {schema}"
            );
        }
    }

    #[test]
    fn references_are_put_in_their_place_and_certain_types_added() {
        let schema = json!({"$schema": "s", "properties": {
            "a": {"$ref": "#/$defs/a", "description": "d"}, "e": {"enum": ["x"]}},
            "$defs": {"a": {"type": "integer"}}});
        assert_eq!(
            one(&schema).expect("repaired"),
            json!({"type": "object", "properties": {
                "a": {"type": "integer", "description": "d"}, "e": {"type": "string", "enum": ["x"]}}})
        );
        assert_eq!(one(&Value::Null).expect("made")["type"], "object");
    }

    #[test]
    fn what_cannot_be_seen_is_held_back() {
        for text in [
            "a\u{200b}b",
            "a\u{202e}b",
            "a\u{e0041}",
            "a\u{1b}[0m",
            "a\u{200d}b",
        ] {
            for tool in [
                json!({"name": "t", "description": text}),
                json!({"name": "t", "inputSchema": {"type": "object",
                    "properties": {"x": {"type": "string", "description": text}}}}),
                json!({"name": text}),
            ] {
                let (tools, _) = declare("s", std::slice::from_ref(&tool));
                assert!(
                    tools[0].held.is_some() && tools[0].text.is_empty(),
                    "{tool}"
                );
            }
        }
        let fine = json!({"name": "t", "description": "Größe\n👩\u{200d}🚀 می\u{200c}خواهم"});
        assert_eq!(declare("s", &[fine]).0[0].held, None);
    }

    #[test]
    fn one_bad_tool_costs_only_itself() {
        let (tools, notes) = declare(
            "s",
            &[
                json!({"name": "b"}),
                json!({"name": "b"}),
                json!(7),
                json!({"name": "a b"}),
                json!({"name": "a_b"}),
                json!({"name": "a"}),
            ],
        );
        let names: Vec<_> = tools.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(names, ["s__a", "s__a_b", "s__b"]);
        assert_eq!(notes.len(), 3, "{notes:?}");
    }
}
