//! References in a JSON Schema.

use percent_encoding::percent_decode_str;
use serde_json::Value;

/// Returns the schema within `root` that a reference leads to, by a JSON pointer, an anchor or the
/// `$id` of a schema. Returns `None` if there is no such schema, or more than one.
pub fn find<'a>(root: &'a Value, target: &str) -> Option<&'a Value> {
    let (address, fragment) = target.split_once('#').unwrap_or((target, ""));
    let document = if address.is_empty() {
        root
    } else {
        only(root, &|schema| {
            schema["$id"].as_str().map(|id| id.trim_end_matches('#')) == Some(address)
        })?
    };
    let fragment = percent_decode_str(fragment).decode_utf8_lossy();
    if fragment.is_empty() || fragment.starts_with('/') {
        return document.pointer(&fragment);
    }
    let is_called = |schema: &Value, key: &str| schema[key] == *fragment;
    only(document, &|schema| {
        is_called(schema, "$anchor") || is_called(schema, "$dynamicAnchor")
    })
}

fn only<'a>(value: &'a Value, holds: &dyn Fn(&Value) -> bool) -> Option<&'a Value> {
    fn gather<'a>(value: &'a Value, holds: &dyn Fn(&Value) -> bool, all: &mut Vec<&'a Value>) {
        match value {
            Value::Object(map) => {
                if holds(value) {
                    all.push(value);
                }
                let schemas = map.iter().filter(|(key, _)| !is_data(key));
                schemas.for_each(|(_, inner)| gather(inner, holds, all));
            }
            Value::Array(items) => items.iter().for_each(|inner| gather(inner, holds, all)),
            _ => {}
        }
    }
    let mut all = Vec::new();
    gather(value, holds, &mut all);
    match all[..] {
        [one] => Some(one),
        _ => None,
    }
}

/// Returns true if the value of this keyword of a schema is data, and not a schema.
pub fn is_data(key: &str) -> bool {
    matches!(key, "default" | "enum" | "const" | "examples" | "example")
}
