//! Adapts schemas of arguments to what an API accepts.
//!
//! `OpenAI` and Anthropic reject `allOf`, `anyOf` and `oneOf` at the top level of a schema.
//! `OpenAI` also rejects `enum`, `const` and `not` there, a top level without properties, and an
//! array without a schema for its items. Anthropic also rejects names of properties that are empty,
//! have more than 64 characters, or contain others than letters, digits, `_`, `.` and `-`. Any of
//! these makes the whole request fail.

use super::Dialect;
use gemini_tools_core::names::{hashed, may_be_mapped, with_underscores};
use serde_json::{Map, Value, json};
use std::borrow::Cow;

const COMBINERS: [&str; 3] = ["allOf", "anyOf", "oneOf"];

const NOT_AT_THE_TOP: [&str; 3] = ["enum", "const", "not"];

const LONGEST_KEY: usize = 64;

pub(super) fn fitted(dialect: Dialect, schema: &Value) -> Option<Value> {
    let mut fitted = schema.clone();
    match dialect {
        Dialect::Gemini => return None,
        Dialect::OpenAi | Dialect::OpenAiResponses => {
            flatten(&mut fitted);
            if let Some(root) = fitted.as_object_mut() {
                root.retain(|key, _| !NOT_AT_THE_TOP.contains(&key.as_str()));
                if is_of(root, "object") && !root.contains_key("$ref") {
                    root.entry("properties").or_insert_with(|| json!({}));
                }
            }
            each_node(&mut fitted, &mut |node| {
                if is_of(node, "array") && !node.contains_key("items") {
                    node.insert("items".to_owned(), json!({}));
                }
            });
        }
        Dialect::Anthropic => {
            flatten(&mut fitted);
            each_node(&mut fitted, &mut rename_properties);
        }
    }
    (fitted != *schema).then_some(fitted)
}

fn is_of(node: &Map<String, Value>, name: &str) -> bool {
    match node.get("type") {
        Some(Value::String(own)) => own == name,
        Some(Value::Array(names)) => names.iter().any(|own| own == name),
        _ => false,
    }
}

/// Merges the properties of `allOf`, `anyOf` and `oneOf` into those of the top level. The tool
/// still checks the arguments by its own schema.
fn flatten(schema: &mut Value) {
    let Some(root) = schema.as_object_mut() else {
        return;
    };
    for key in COMBINERS {
        let Some(Value::Array(branches)) = root.remove(key) else {
            continue;
        };
        for branch in branches {
            if let Some(Value::Object(more)) = branch.get("properties") {
                let all = root.entry("properties").or_insert_with(|| json!({}));
                for (name, property) in more {
                    if let Some(all) = all.as_object_mut() {
                        all.entry(name).or_insert_with(|| property.clone());
                    }
                }
            }
            // All schemas of `allOf` must match, so what each requires is required. Of `anyOf` and
            // `oneOf` one is enough, so nothing that only some of them require is required.
            if let (Some(Value::Array(more)), "allOf") = (branch.get("required"), key) {
                let all = root.entry("required").or_insert_with(|| json!([]));
                if let Some(all) = all.as_array_mut() {
                    let new: Vec<_> = more.iter().filter(|n| !all.contains(n)).cloned().collect();
                    all.extend(new);
                }
            }
        }
    }
}

fn each_node(schema: &mut Value, f: &mut impl FnMut(&mut Map<String, Value>)) {
    let Some(node) = schema.as_object_mut() else {
        return;
    };
    f(node);
    for (key, value) in node {
        match (key.as_str(), value) {
            ("properties" | "$defs" | "definitions", Value::Object(named)) => {
                for inner in named.values_mut() {
                    each_node(inner, f);
                }
            }
            ("items" | "additionalProperties", inner) => each_node(inner, f),
            ("allOf" | "anyOf" | "oneOf", Value::Array(branches)) => {
                for branch in branches {
                    each_node(branch, f);
                }
            }
            _ => {}
        }
    }
}

fn takes_key(key: &str) -> bool {
    (1..=LONGEST_KEY).contains(&key.len())
        && key
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-'))
}

fn key_for(key: &str) -> Cow<'_, str> {
    if takes_key(key) {
        Cow::Borrowed(key)
    } else {
        Cow::Owned(hashed(&with_underscores(key, true), key, LONGEST_KEY))
    }
}

fn rename_properties(node: &mut Map<String, Value>) {
    if let Some(Value::Object(properties)) = node.get_mut("properties")
        && properties.keys().any(|key| !takes_key(key))
    {
        *properties = std::mem::take(properties)
            .into_iter()
            .map(|(key, property)| (key_for(&key).into_owned(), property))
            .collect();
    }
    if let Some(Value::Array(required)) = node.get_mut("required") {
        for key in required {
            if let Some(new) = key.as_str().map(|key| key_for(key).into_owned()) {
                *key = new.into();
            }
        }
    }
}

/// Restores the argument names of the tool's own `schema` where an API required other names.
pub fn restore(schema: &Value, args: &mut Value) {
    match args {
        Value::Array(items) => {
            for item in items {
                restore(&schema["items"], item);
            }
        }
        Value::Object(map) => {
            let branches = COMBINERS.iter().filter_map(|key| schema[*key].as_array());
            let all = std::iter::once(schema).chain(branches.flatten());
            for (key, inner) in all.filter_map(|s| s["properties"].as_object()).flatten() {
                let written = key_for(key);
                if *written != **key
                    && may_be_mapped(&written)
                    && let Some(value) = map.remove(&*written)
                {
                    map.insert(key.clone(), value);
                }
                if let Some(value) = map.get_mut(key) {
                    restore(inner, value);
                }
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::{fitted, restore};
    use crate::dialect::Dialect;
    use serde_json::json;

    #[test]
    fn what_an_api_refuses_is_taken_out_and_all_else_stays() {
        let plain = json!({"type": "object", "properties": {"a": {"type": "string"}}});
        for dialect in Dialect::ALL {
            assert_eq!(fitted(dialect, &plain), None, "{dialect:?}");
        }
        let schema = json!({"type": "object", "required": ["a"],
            "anyOf": [{"properties": {"a": {"type": "string"}}, "required": ["b"]},
                      {"properties": {"b": {"type": "array"}}}],
            "allOf": [{"properties": {"c": {"type": "null"}}, "required": ["c"]}]});
        let flat = fitted(Dialect::Anthropic, &schema).expect("changed");
        assert_eq!(
            flat,
            json!({"type": "object", "required": ["a", "c"], "properties":
            {"a": {"type": "string"}, "b": {"type": "array"}, "c": {"type": "null"}}})
        );
        let flat = fitted(Dialect::OpenAi, &schema).expect("changed");
        assert_eq!(
            flat["properties"]["b"],
            json!({"type": "array", "items": {}})
        );
        assert_eq!(fitted(Dialect::Gemini, &schema), None);
    }

    #[test]
    fn properties_get_their_own_names_back() {
        let schema = json!({"type": "object", "required": ["$top"], "properties": {
            "$top": {"type": "integer"},
            "list": {"type": "array", "items": {"type": "object", "properties":
                {"a b": {"type": "string"}}}}}});
        let written = fitted(Dialect::Anthropic, &schema).expect("changed");
        let top = written["required"][0].as_str().expect("a name");
        assert!(top.starts_with("_top_") && written["properties"][top]["type"] == "integer");
        let inner = &written["properties"]["list"]["items"]["properties"];
        let inner = inner
            .as_object()
            .and_then(|m| m.keys().next())
            .expect("one");
        let mut args = json!({top: 3, "list": [{inner: "x"}]});
        restore(&schema, &mut args);
        assert_eq!(args, json!({"$top": 3, "list": [{"a b": "x"}]}));
    }
}
