//! Schemas of arguments as Gemini's own `Schema`, which is under `parameters`: a subset of
//! `OpenAPI`.
//!
//! It knows one type, in capitals, `anyOf` only by itself, `enum` of texts only, and no rest of
//! names. What it can't express is left out, or put into the description; the tool checks it all
//! the same.

use serde_json::{Map, Value, json};

/// A schema, with its keywords as keys.
type Schema = Map<String, Value>;

/// Keywords that are written as they are.
const KEPT: [&str; 12] = [
    "format",
    "title",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
    "minLength",
    "maxLength",
    "pattern",
    "minimum",
    "maximum",
    "default",
];

/// The types of a value of which nothing is known; a list would have to name its elements.
const OPEN: [&str; 4] = ["string", "number", "boolean", "object"];

/// Returns the schema in Gemini's own form; `None` for an object of which nothing is known, which
/// the API wants left out at the top.
pub(super) fn native(schema: &Value) -> Option<Value> {
    let schema = schema.as_object()?;
    let properties = schema.get("properties").and_then(Value::as_object);
    let mut combiners = ["anyOf", "oneOf", "allOf"].iter();
    let is_known = properties.is_some_and(|all| !all.is_empty())
        || combiners.any(|key| schema.contains_key(*key));
    is_known.then(|| Value::Object(rewrite(schema.clone(), None)))
}

/// Rewrites a schema; `described` is the description of its use, where it has none of its own.
fn rewrite(mut schema: Schema, described: Option<&str>) -> Schema {
    for branch in take_branches(&mut schema, "allOf") {
        merge(&mut schema, branch);
    }
    let mut branches = take_branches(&mut schema, "anyOf");
    branches.extend(take_branches(&mut schema, "oneOf"));
    let mut types = take_types(&mut schema);
    let mut is_nullable = schema.remove("nullable") == Some(Value::Bool(true));
    let all = types.len() + branches.len();
    if types.len() > 1 {
        types.retain(|name| name != "null");
    }
    branches.retain(|branch| branch.len() > 1 || branch.get("type") != Some(&json!("null")));
    is_nullable |= types.len() + branches.len() < all;
    if types.is_empty() && branches.is_empty() {
        types = if std::mem::take(&mut is_nullable) {
            vec!["null".to_owned()]
        } else {
            OPEN.map(str::to_owned).to_vec()
        };
    }
    if types.is_empty() && branches.len() == 1 {
        // Only null was beside it.
        merge(&mut schema, branches.remove(0));
        schema.insert("nullable".to_owned(), is_nullable.into());
        return rewrite(schema, described);
    }
    let own = schema.remove("description");
    let own = own.as_ref().and_then(Value::as_str);
    let description = own.or(described);
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        let is_possible = |name: &String| values.iter().any(|value| is_of(value, name));
        if types.len() > 1 && types.iter().any(is_possible) {
            types.retain(is_possible);
        }
    }
    let variants = match &types[..] {
        [] => branches,
        [name] => {
            // Beside a type alternatives only narrow it: the names that they add are taken over.
            for mut branch in branches {
                branch.retain(|key, _| key == "properties");
                merge(&mut schema, branch);
            }
            return of_one_type(&schema, name, description, is_nullable);
        }
        names => names.iter().map(|name| variant(&schema, name)).collect(),
    };
    let variants = variants.into_iter().map(|mut variant| {
        if is_nullable {
            variant.insert("nullable".to_owned(), true.into());
        }
        Value::Object(rewrite(variant, description))
    });
    let variants: Value = variants.collect();
    [("anyOf".to_owned(), variants)].into_iter().collect()
}

/// Takes the names of types out of a schema.
fn take_types(schema: &mut Schema) -> Vec<String> {
    match schema.remove("type") {
        Some(Value::String(one)) => vec![one],
        Some(Value::Array(list)) => {
            let names = list.iter().filter_map(Value::as_str);
            names.map(str::to_owned).collect()
        }
        _ => Vec::new(),
    }
}

/// Takes the branches of a combiner out of a schema.
fn take_branches(schema: &mut Schema, key: &str) -> Vec<Schema> {
    let Some(Value::Array(branches)) = schema.remove(key) else {
        return Vec::new();
    };
    let branches = branches.into_iter();
    branches
        .filter_map(|branch| match branch {
            Value::Object(branch) => Some(branch),
            _ => None,
        })
        .collect()
}

/// Adds the keywords of another schema of the same value that a schema does not have; properties
/// and required names are added one by one.
fn merge(schema: &mut Schema, other: Schema) {
    for (key, more) in other {
        match (schema.get_mut(&key), more) {
            (None, more) => {
                schema.insert(key, more);
            }
            (Some(Value::Object(own)), Value::Object(more)) if key == "properties" => {
                for (name, property) in more {
                    own.entry(name).or_insert(property);
                }
            }
            (Some(Value::Array(own)), Value::Array(more)) if key == "required" => {
                for name in more {
                    if !own.contains(&name) {
                        own.push(name);
                    }
                }
            }
            _ => {}
        }
    }
}

/// Returns the part of a schema that is about values of one of its types.
fn variant(schema: &Schema, name: &str) -> Schema {
    let about = schema.iter().filter(|(key, _)| is_about(key, name));
    let mut variant: Schema = about.map(|(key, v)| (key.clone(), v.clone())).collect();
    variant.insert("type".to_owned(), name.into());
    if let Some(Value::Array(values)) = schema.get("enum") {
        let values = values.iter().filter(|value| is_of(value, name));
        variant.insert("enum".to_owned(), values.cloned().collect());
    }
    variant
}

/// Returns true if a value is of a type.
fn is_of(value: &Value, name: &str) -> bool {
    match name {
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "object" => value.is_object(),
        "array" => value.is_array(),
        "null" => value.is_null(),
        "number" => value.is_number(),
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        _ => false,
    }
}

/// Returns true if a keyword is about values of a type. The values of an enumeration are divided up
/// among the types.
fn is_about(key: &str, name: &str) -> bool {
    let about = match key {
        "enum" => return false,
        "minLength" | "maxLength" | "pattern" | "format" => "string",
        "items" | "minItems" | "maxItems" => "array",
        "properties" | "required" | "minProperties" | "maxProperties" => "object",
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => {
            return matches!(name, "integer" | "number");
        }
        _ => return true,
    };
    about == name
}

/// Returns a schema that has one type.
fn of_one_type(
    schema: &Schema,
    name: &str,
    description: Option<&str>,
    is_nullable: bool,
) -> Schema {
    let mut out = Schema::new();
    let mut put = |key: &str, value: Value| drop(out.insert(key.to_owned(), value));
    let mut description = description.unwrap_or_default().to_owned();
    let values = schema.get("enum").and_then(Value::as_array);
    let values = values.into_iter().flatten();
    let values: Vec<&Value> = values.filter(|v| !(is_nullable && v.is_null())).collect();
    let is_name = |value: &&Value| value.as_str().is_some_and(|text| !text.is_empty());
    if name == "string" && !values.is_empty() && values.iter().all(is_name) {
        put("enum", json!(values));
    } else if !values.is_empty() {
        let values: Vec<String> = values.into_iter().map(Value::to_string).collect();
        let space = if description.is_empty() { "" } else { " " };
        description.push_str(&format!("{space}One of {}.", values.join(", ")));
    }
    put("type", name.to_ascii_uppercase().into());
    if !description.is_empty() {
        put("description", description.into());
    }
    if is_nullable {
        put("nullable", true.into());
    }
    for (key, value) in schema
        .iter()
        .filter(|(key, _)| KEPT.contains(&key.as_str()))
    {
        put(key, value.clone());
    }
    for (key, bound, step) in [
        ("exclusiveMinimum", "minimum", 1),
        ("exclusiveMaximum", "maximum", -1),
    ] {
        let Some(value) = schema.get(key).filter(|_| !schema.contains_key(bound)) else {
            continue;
        };
        // For numbers there is no next one: the bound itself is declared to fit.
        let next = value.as_i64().filter(|_| name == "integer");
        let next = next.and_then(|number| number.checked_add(step));
        put(bound, next.map_or_else(|| value.clone(), Value::from));
    }
    if name == "array" {
        // The API wants an element described, also where nothing is known of it.
        let items = schema.get("items").and_then(Value::as_object);
        put(
            "items",
            Value::Object(rewrite(items.cloned().unwrap_or_default(), None)),
        );
    }
    if name == "object" {
        put_properties(&mut out, schema);
    }
    out
}

/// Adds the properties of an object, and the names of those that are required.
fn put_properties(out: &mut Schema, schema: &Schema) {
    let properties = schema.get("properties").and_then(Value::as_object);
    let Some(properties) = properties.filter(|all| !all.is_empty()) else {
        return;
    };
    let rewritten = properties.iter().map(|(key, property)| {
        let property = property.as_object().cloned().unwrap_or_default();
        (key.clone(), Value::Object(rewrite(property, None)))
    });
    let rewritten = Value::Object(rewritten.collect());
    out.insert("properties".to_owned(), rewritten);
    let required = schema.get("required").and_then(Value::as_array);
    let required = required.into_iter().flatten().filter_map(Value::as_str);
    let required: Vec<&str> = required
        .filter(|key| properties.contains_key(*key))
        .collect();
    if !required.is_empty() {
        out.insert("required".to_owned(), json!(required));
    }
}

#[cfg(test)]
mod tests {
    use super::native;
    use serde_json::{Value, json};

    /// Returns the form of one parameter.
    fn of(parameter: &Value) -> Value {
        let schema = json!({"type": "object", "properties": {"x": parameter}});
        let mut rewritten = native(&schema).expect("a parameter");
        rewritten["properties"]["x"].take()
    }

    #[test]
    fn each_schema_becomes_one_that_the_api_takes() {
        for (given, wanted) in [
            (
                json!({"type": ["string", "null"], "description": "d", "enum": ["a", null]}),
                json!({"type": "STRING", "description": "d", "enum": ["a"], "nullable": true}),
            ),
            (
                json!({"anyOf": [{"type": "integer", "exclusiveMinimum": 0}, {"type": "null"}], "default": null}),
                json!({"type": "INTEGER", "minimum": 1, "nullable": true, "default": null}),
            ),
            (
                json!({"type": "integer", "description": "How many.", "enum": [1, 2]}),
                json!({"type": "INTEGER", "description": "How many. One of 1, 2."}),
            ),
            (
                json!({"description": "d", "oneOf": [{"type": "string"}, {"type": "boolean", "description": "e"}]}),
                json!({"anyOf": [{"type": "STRING", "description": "d"}, {"type": "BOOLEAN", "description": "e"}]}),
            ),
            (
                json!({"type": ["string", "array"], "minLength": 1, "items": {"type": "number"}}),
                json!({"anyOf": [{"type": "STRING", "minLength": 1}, {"type": "ARRAY", "items": {"type": "NUMBER"}}]}),
            ),
            (
                json!({"type": "object", "additionalProperties": false, "required": ["a", "b"],
                    "properties": {"a": {"type": "string"}}, "oneOf": [{"properties": {"b": {"type": "null"}}}]}),
                json!({"type": "OBJECT", "required": ["a", "b"],
                    "properties": {"a": {"type": "STRING"}, "b": {"type": "NULL"}}}),
            ),
            (
                json!({"type": "object", "allOf": [{"type": "object", "properties": {"a": {"type": "string"}}}]}),
                json!({"type": "OBJECT", "properties": {"a": {"type": "STRING"}}}),
            ),
            (
                json!({"type": "object", "required": ["a"], "properties": {"a": {"type": "string"}},
                    "allOf": [{"required": ["required", "a"], "properties": {"required": {"type": "string"}}},
                        {"required": ["c"], "properties": {"required": {"type": "null"}, "c": {"type": "null"}}}]}),
                json!({"type": "OBJECT", "required": ["a", "required", "c"], "properties":
                    {"a": {"type": "STRING"}, "required": {"type": "STRING"}, "c": {"type": "NULL"}}}),
            ),
            (
                json!({"type": ["string", "integer", "boolean", "null"], "enum": ["a", 1, null]}),
                json!({"anyOf": [{"type": "STRING", "enum": ["a"], "nullable": true},
                    {"type": "INTEGER", "description": "One of 1.", "nullable": true}]}),
            ),
            (
                json!({"description": "d"}),
                json!({"anyOf": [{"type": "STRING", "description": "d"}, {"type": "NUMBER", "description": "d"},
                    {"type": "BOOLEAN", "description": "d"}, {"type": "OBJECT", "description": "d"}]}),
            ),
            (
                json!({"anyOf": [{"type": "null"}]}),
                json!({"type": "NULL"}),
            ),
            (
                json!({"type": "array", "uniqueItems": true}),
                json!({"type": "ARRAY", "items": {"anyOf": [{"type": "STRING"}, {"type": "NUMBER"},
                    {"type": "BOOLEAN"}, {"type": "OBJECT"}]}}),
            ),
        ] {
            assert_eq!(of(&given), wanted, "{given}");
        }
    }

    #[test]
    fn no_parameters_are_left_out() {
        assert_eq!(native(&json!({"type": "object", "properties": {}})), None);
    }
}
