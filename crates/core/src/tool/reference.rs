//! References in a JSON Schema.

use percent_encoding::percent_decode_str;
use serde_json::Value;

/// The keywords whose values are objects of schemas, each by a name that is no keyword.
pub const NAMED_SCHEMAS: [&str; 5] = [
    "properties",
    "patternProperties",
    "dependentSchemas",
    "$defs",
    "definitions",
];

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
    let mut all = Vec::new();
    gather(value, holds, &mut all);
    match all[..] {
        [one] => Some(one),
        _ => None,
    }
}

fn gather<'a>(value: &'a Value, holds: &dyn Fn(&Value) -> bool, all: &mut Vec<&'a Value>) {
    match value {
        Value::Object(map) => {
            if holds(value) {
                all.push(value);
            }
            for (key, inner) in map.iter().filter(|(key, _)| !is_data(key)) {
                match inner {
                    // The keys are names here, also one such as `default`.
                    Value::Object(named) if NAMED_SCHEMAS.contains(&key.as_str()) => {
                        named.values().for_each(|inner| gather(inner, holds, all));
                    }
                    inner => gather(inner, holds, all),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|inner| gather(inner, holds, all)),
        _ => {}
    }
}

pub(super) fn has_patterns(schema: &Value) -> bool {
    let mut all = Vec::new();
    let has_one =
        |schema: &Value| schema["pattern"].is_string() || schema["patternProperties"].is_object();
    gather(schema, &has_one, &mut all);
    !all.is_empty()
}

/// Returns true if the value of this keyword of a schema is data, and not a schema.
pub fn is_data(key: &str) -> bool {
    matches!(key, "default" | "enum" | "const" | "examples" | "example")
}

#[cfg(test)]
mod tests {
    use super::{NAMED_SCHEMAS, find};
    use serde_json::json;

    #[test]
    fn an_anchor_is_found_below_any_name_and_not_in_data() {
        for key in NAMED_SCHEMAS {
            for name in ["a", "default", "enum", "const", "example", "properties"] {
                let root = json!({ key: { name: { "$anchor": "x" } } });
                assert_eq!(find(&root, "#x"), Some(&root[key][name]), "{key} {name}");
            }
        }
        assert_eq!(find(&json!({ "default": { "$anchor": "x" } }), "#x"), None);
    }
}
