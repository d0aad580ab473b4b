//! Converts arguments to the types that a tool declares, as far as that takes no guessing.
//!
//! A model whose API makes every argument required writes `null` for one that it leaves out, and
//! small models write numbers and lists as text, and `True` as in Python. Both have only one
//! possible meaning if the schema accepts neither `null` nor text. An argument that fits the schema
//! is never changed.

use super::check::{accepts, element};
use super::reference::find;
use super::usage::Names;
use super::{Schema, Tool};
use crate::json::read;
use serde_json::{Map, Value, json};

const MAX_HOPS: usize = 16;

/// Converts the arguments of a call to the types that `tool` declares. `null` for an optional
/// argument means its absence, and text is converted like `KEY=VALUE` on a command line. A value
/// that can't be converted stays as it is, and the schema refuses it.
pub fn convert(tool: &dyn Tool, args: &mut Value) {
    let Value::Object(members) = args else { return };
    let usage = tool.usage();
    let names = Names::new(tool);
    convert_by(tool.parameters(), members, &|name| {
        let own = names.own(name);
        let mut undeclared = usage.undeclared.iter();
        let more = undeclared.find(|more| more.name == own);
        (
            own.to_owned(),
            more.map(|more| json!({ "type": more.kind })),
        )
    });
}

impl Schema {
    /// Does the same as [`convert`], for arguments by their declared names.
    pub fn convert(&self, args: &mut Map<String, Value>) {
        convert_by(self, args, &|name| (name.to_owned(), None));
    }
}

fn convert_by(
    schema: &Schema,
    members: &mut Map<String, Value>,
    own: &dyn Fn(&str) -> (String, Option<Value>),
) {
    let root = schema.whole();
    let declared = resolve(root, root);
    members.retain(|key, value| {
        let (name, undeclared) = own(key);
        match (undeclared, declared["properties"].get(&name)) {
            (_, Some(property)) => member(root, declared, &name, property, value),
            (Some(property), None) => member(&property, &Value::Null, &name, &property, value),
            (None, None) => true,
        }
    });
}

/// Converts a member of an object. Returns false if it must be left out: if it is `null`, which its
/// schema does not accept, and not required.
fn member(root: &Value, object: &Value, name: &str, schema: &Value, value: &mut Value) -> bool {
    if !value.is_null() {
        convert_value(root, schema, value);
        return true;
    }
    let required = object["required"].as_array();
    let is_required = required.is_some_and(|names| names.iter().any(|one| one == name));
    is_required || accepts(root, schema, value)
}

fn convert_value(root: &Value, schema: &Value, value: &mut Value) {
    let schema = resolve(root, schema);
    let kinds = kinds(schema).unwrap_or_default();
    let has_list = kinds.contains(&"array");
    let is_list = has_list && kinds.iter().all(|kind| matches!(*kind, "array" | "null"));
    if let Value::String(text) = &*value {
        let is_clear = has_list == is_list && !accepts(root, schema, value);
        match from_text(schema, text).filter(|_| is_clear) {
            Some(converted) => *value = converted,
            None => return,
        }
    } else if is_list
        && (value.is_number() || value.is_boolean())
        && accepts(root, element_of(schema, 0), value)
    {
        *value = json!([value]);
    }
    match value {
        Value::Object(members) => members.retain(|name, value| {
            if let Some(property) = schema["properties"].get(name) {
                return member(root, schema, name, property, value);
            }
            // If the schema has `patternProperties`, it depends on the name whether
            // `additionalProperties` are meant for this property, so it is left as it is.
            if let Some(more @ Value::Object(_)) = schema.get("additionalProperties")
                && schema.get("patternProperties").is_none()
            {
                convert_value(root, more, value);
            }
            true
        }),
        Value::Array(items) => {
            for (at, item) in items.iter_mut().enumerate() {
                convert_value(root, element_of(schema, at), item);
            }
        }
        _ => {}
    }
}

fn resolve<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    let mut schema = schema;
    for _ in 0..MAX_HOPS {
        let target = schema["$ref"].as_str();
        let next = target.and_then(|target| find(root, target));
        match next.or_else(|| only_alternative(schema)) {
            Some(next) => schema = next,
            None => break,
        }
    }
    schema
}

fn only_alternative(schema: &Value) -> Option<&Value> {
    if schema.get("type").is_some() || schema.get("properties").is_some() {
        return None;
    }
    let mut keys = ["anyOf", "oneOf", "allOf"].iter();
    let all = keys.find_map(|key| schema[*key].as_array())?;
    let mut others = all.iter().filter(|one| one["type"] != "null");
    let one = others.next()?;
    others.next().is_none().then_some(one)
}

/// Converts a text to the type that a schema wants. Returns `None` if the type has no such value.
/// For an array the text is one item, or a JSON list of all items.
pub(super) fn from_text(schema: &Value, text: &str) -> Option<Value> {
    let Some(kinds) = kinds(schema).filter(|kinds| !kinds.contains(&"string")) else {
        return Some(text.into());
    };
    if kinds.contains(&"array") {
        return items_from_text(schema, text);
    }
    let json = match text.trim() {
        "True" => "true",
        "False" => "false",
        text => text,
    };
    let value = read(json.as_bytes()).ok()?;
    let fits = match &value {
        Value::Null => kinds.contains(&"null"),
        Value::Bool(_) => kinds.contains(&"boolean"),
        Value::Number(_) => kinds.contains(&"number") || kinds.contains(&"integer"),
        Value::Object(_) => kinds.contains(&"object"),
        Value::String(_) | Value::Array(_) => false,
    };
    fits.then_some(value)
}

/// Returns the array that a text stands for. Models write lists as JSON in a text. JSON that is no
/// list of such items is one item: `[1]` may be a pattern.
fn items_from_text(schema: &Value, text: &str) -> Option<Value> {
    let json = Some(text.trim()).filter(|text| text.starts_with('['));
    let list = json.and_then(|json| read(json.as_bytes()).ok());
    if let Some(Value::Array(all)) = list
        && all.iter().enumerate().all(|(at, item)| {
            let schema = element_of(schema, at);
            accepts(schema, schema, item)
        })
    {
        return Some(Value::Array(all));
    }
    Some(Value::Array(vec![from_text(element_of(schema, 0), text)?]))
}

fn element_of(schema: &Value, at: usize) -> &Value {
    let found = schema.as_object().and_then(|schema| element(schema, at));
    found.unwrap_or(&Value::Null)
}

pub(super) fn kinds(schema: &Value) -> Option<Vec<&str>> {
    match &schema["type"] {
        Value::String(one) => return Some(vec![one]),
        Value::Array(all) => return Some(all.iter().filter_map(Value::as_str).collect()),
        _ => {}
    }
    let mut any = ["anyOf", "oneOf"].iter();
    let variants = any.find_map(|key| schema[*key].as_array())?;
    // If a variant is an array, its items are described there and not in `schema`, so the kinds
    // count as unknown.
    let known = |variant| kinds(variant).filter(|kinds| !kinds.contains(&"array"));
    let kinds: Option<Vec<_>> = variants.iter().map(known).collect();
    Some(kinds?.concat())
}

#[cfg(test)]
mod tests {
    use super::convert;
    use crate::tool::usage::tests::taking;
    use serde_json::{Value, json};

    fn schema() -> Value {
        json!({"type": "object", "required": ["needed"], "$defs": {
            "depth": {"type": "object", "properties": {"n": {"type": "integer"}}}},
            "properties": {
            "needed": {"type": "number"},
            "text": {"type": "string"},
            "count": {"type": "integer"},
            "is_set": {"type": "boolean"},
            "names": {"type": "array", "items": {"type": "string"}},
            "numbers": {"type": "array", "items": {"type": "integer"}},
            "rows": {"type": "array", "items": {"type": "object", "properties": {
                "n": {"type": "number"}}}},
            "options": {"type": "object", "required": ["kept"], "properties": {
                "depth": {"type": "integer"}, "kept": {"type": "boolean"}}},
            "nullable": {"type": ["integer", "null"]},
            "maybe": {"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}]},
            "either": {"type": ["integer", "string"]},
            "list_or_number": {"type": ["integer", "array"]},
            "scalar": {"oneOf": [{"type": "integer"}, {"type": "boolean"}]},
            "any": {},
            "shared": {"$ref": "#/$defs/depth"},
            "pair": {"type": "array", "items": {"type": "boolean"}, "prefixItems": [
                {"type": "string"}, {"type": ["string", "integer"]}]},
            "old_pair": {"type": "array", "additionalItems": {"type": "boolean"}, "items": [
                {"type": "string"}]},
            "named": {"type": "object", "additionalProperties": {"type": "number"},
                "patternProperties": {"^t": {"type": "string"}}},
            "map": {"type": "object", "additionalProperties": {"type": "number"}},
            "level": {"type": "integer", "enum": [1, 2]}}})
    }

    fn converted(args: Value) -> Value {
        let mut args = args;
        convert(&taking(schema()), &mut args);
        args
    }

    #[test]
    fn null_for_what_is_optional_is_its_absence_unless_the_schema_takes_it() {
        for (given, expected) in [
            (json!({"count": null, "text": null}), json!({})),
            (
                json!({"names": null, "maybe": null, "any": null}),
                json!({"maybe": null, "any": null}),
            ),
            (json!({"nullable": null}), json!({"nullable": null})),
            (json!({"needed": null}), json!({"needed": null})),
            (
                json!({"no_ignore": null, "unknown": null}),
                json!({"unknown": null}),
            ),
            (
                json!({"options": {"depth": null, "kept": null}}),
                json!({"options": {"kept": null}}),
            ),
            (json!({"shared": {"n": null}}), json!({"shared": {}})),
            (json!({"names": [null]}), json!({"names": [null]})),
        ] {
            assert_eq!(converted(given.clone()), expected, "{given}");
        }
    }

    #[test]
    fn text_takes_the_type_that_the_schema_names_where_it_names_one() {
        for (given, expected) in [
            (
                json!({"count": "10", "needed": " 3.5 "}),
                json!({"count": 10, "needed": 3.5}),
            ),
            (
                json!({"count": "3.0", "is_set": "true"}),
                json!({"count": 3.0, "is_set": true}),
            ),
            (json!({"no_ignore": "false"}), json!({"no_ignore": false})),
            (json!({"is_set": "True"}), json!({"is_set": true})),
            (json!({"names": "a"}), json!({"names": ["a"]})),
            (
                json!({"names": "[\"a\",\"b\"]"}),
                json!({"names": ["a", "b"]}),
            ),
            (json!({"numbers": "7"}), json!({"numbers": [7]})),
            (json!({"numbers": 7}), json!({"numbers": [7]})),
            (json!({"numbers": "[7,8]"}), json!({"numbers": [7, 8]})),
            (json!({"numbers": ["7", 8]}), json!({"numbers": [7, 8]})),
            (
                json!({"rows": [{"n": "1"}, {"n": null}]}),
                json!({"rows": [{"n": 1}, {}]}),
            ),
            (
                json!({"options": "{\"depth\":\"1\"}"}),
                json!({"options": {"depth": 1}}),
            ),
            (json!({"maybe": "a"}), json!({"maybe": ["a"]})),
            (
                json!({"nullable": "5", "scalar": "true"}),
                json!({"nullable": 5, "scalar": true}),
            ),
            (
                json!({"shared": {"n": "2"}, "map": {"x": "4"}}),
                json!({"shared": {"n": 2}, "map": {"x": 4}}),
            ),
            (json!({"level": "2"}), json!({"level": 2})),
            (
                json!({"pair": ["true", "1", "true"], "old_pair": ["true", "true"]}),
                json!({"pair": ["true", "1", true], "old_pair": ["true", true]}),
            ),
            (json!({"pair": "true"}), json!({"pair": ["true"]})),
            (
                json!({"pair": "[\"a\",1,true]"}),
                json!({"pair": ["a", 1, true]}),
            ),
        ] {
            assert_eq!(converted(given.clone()), expected, "{given}");
        }
    }

    #[test]
    fn what_fits_or_is_no_value_of_the_type_stays_as_it_is() {
        for same in [
            json!({"text": "10", "either": "10", "any": "10", "unknown": "10"}),
            json!({"count": "ten", "is_set": "TRUE", "needed": ""}),
            json!({"count": "true", "is_set": "1", "options": "x"}),
            json!({"list_or_number": "10"}),
            json!({"list_or_number": 10, "names": 1, "pair": false}),
            json!({"text": 5}),
            json!({"named": {"t": "1"}}),
            json!(["no object"]),
        ] {
            assert_eq!(converted(same.clone()), same);
        }
        // `[1]` is valid JSON, but no list of names: it is a single name, such as a glob pattern.
        assert_eq!(
            converted(json!({"names": "[1]"})),
            json!({"names": ["[1]"]})
        );
    }
}
