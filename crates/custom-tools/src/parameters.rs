//! A tool's parameters: as a JSON Schema, or in the short form.

use super::reader::{Reader, kind_of};
use gemini_tools_core::tool::Schema;
use serde_json::{Map, Value, json};

/// The keys of a parameter in the short form, and what JSON Schema calls them.
const SHORT: [(&str, &str); 18] = [
    ("type", "type"),
    ("description", "description"),
    ("default", "default"),
    ("required", "required"),
    ("enum", "enum"),
    ("minimum", "minimum"),
    ("maximum", "maximum"),
    ("exclusive_minimum", "exclusiveMinimum"),
    ("exclusive_maximum", "exclusiveMaximum"),
    ("multiple_of", "multipleOf"),
    ("items", "items"),
    ("min_items", "minItems"),
    ("max_items", "maxItems"),
    ("unique_items", "uniqueItems"),
    ("min_length", "minLength"),
    ("max_length", "maxLength"),
    ("pattern", "pattern"),
    ("properties", "properties"),
];

const TYPES: [&str; 6] = ["string", "integer", "number", "boolean", "array", "object"];

/// Takes `parameters` or `params` out of a file's keys and gives the JSON Schema.
pub(super) fn read(reader: &mut Reader<'_>, map: &mut Map<String, Value>) -> Value {
    let nothing = json!({ "type": "object", "properties": {} });
    match (map.remove("parameters"), map.remove("params")) {
        (Some(_), Some(_)) => {
            reader.report(
                "params",
                "There are \"parameters\" as well; a tool has one of the two.",
            );
            nothing
        }
        (None, None) => nothing,
        (Some(schema @ Value::Object(_)), None) => schema,
        (Some(other), None) => {
            reader.report(
                "parameters",
                format!(
                    "It must be a JSON Schema in a table, but it is {}.",
                    kind_of(&other)
                ),
            );
            nothing
        }
        (None, Some(Value::Object(params))) => short_form(reader, params),
        (None, Some(other)) => {
            reader.report(
                "params",
                format!(
                    "It must hold a table for each parameter, but it is {}.",
                    kind_of(&other)
                ),
            );
            nothing
        }
    }
}

fn short_form(reader: &mut Reader<'_>, params: Map<String, Value>) -> Value {
    let mut properties = Map::new();
    let mut required: Vec<String> = Vec::new();
    for (name, value) in params {
        let place = format!("params.{name}");
        let Value::Object(keys) = value else {
            reader.report(
                &place,
                format!(
                    "It must be a table such as {{ type = \"string\" }}, but it is {}.",
                    kind_of(&value)
                ),
            );
            continue;
        };
        if keys.get("description").is_none() {
            reader.warn(
                "no-description",
                &place,
                "It has no description: a model can only guess what it is for.",
            );
        }
        if let Some((schema, is_required)) = parameter(reader, &place, keys) {
            if is_required {
                required.push(name.clone());
            }
            properties.insert(name, schema);
        }
    }
    let mut schema = json!({ "type": "object", "properties": properties });
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}

/// One parameter, and whether it is required.
fn parameter(
    reader: &mut Reader<'_>,
    place: &str,
    keys: Map<String, Value>,
) -> Option<(Value, bool)> {
    let mut schema = Map::new();
    let mut unknown = Map::new();
    for (key, value) in keys {
        let known = SHORT
            .iter()
            .find(|(short, long)| key == *short || key == *long);
        match known {
            Some((_, long)) => drop(schema.insert((*long).to_owned(), value)),
            None => drop(unknown.insert(key, value)),
        }
    }
    let known: Vec<&str> = SHORT.iter().map(|(short, _)| *short).collect();
    reader.unknown(&unknown, &format!("{place}."), &known);
    let is_required = match schema.remove("required") {
        None => false,
        Some(Value::Bool(flag)) => flag,
        Some(other) => {
            reader.report(
                &format!("{place}.required"),
                format!("It must be true or false, but it is {}.", kind_of(&other)),
            );
            false
        }
    };
    match schema.get("type") {
        Some(Value::String(name)) if TYPES.contains(&name.as_str()) => {}
        None if schema.contains_key("enum") => {}
        other => {
            let what = other.map_or_else(
                || "It is missing".to_owned(),
                |v| format!("It is {}", kind_of(v)),
            );
            let name = other.and_then(Value::as_str).unwrap_or_default();
            let near = match json_type(name) {
                Some(meant) => format!(" Did you mean \"{meant}\"?"),
                None => super::reader::near(name, TYPES.into_iter()),
            };
            reader.report(
                &format!("{place}.type"),
                format!("{what}; it must be one of {}.{near}", TYPES.join(", ")),
            );
            return None;
        }
    }
    if let Some(items) = schema.get_mut("items")
        && let Value::String(name) = items
    {
        *items = json!({ "type": name });
    }
    if is_required && schema.contains_key("default") {
        reader.warn(
            "required-default",
            place,
            "It is required and has a default: a model is told to give it, and where it does not, \
             the default is used. Say one of the two.",
        );
    }
    Some((Value::Object(schema), is_required))
}

/// The type of JSON Schema that a type of a programming language is.
fn json_type(name: &str) -> Option<&'static str> {
    Some(match name {
        "int" | "i64" | "long" => "integer",
        "str" | "text" => "string",
        "bool" => "boolean",
        "float" | "double" | "f64" => "number",
        "list" | "tuple" => "array",
        "dict" | "map" | "table" => "object",
        _ => return None,
    })
}

/// Reports defaults that the schema itself refuses, and patterns that are not valid.
pub(super) fn check_defaults(reader: &mut Reader<'_>, schema: &Value) {
    let properties = schema["properties"].as_object().into_iter().flatten();
    for (name, property) in properties {
        let place = format!("params.{name}");
        if let Some(pattern) = property["pattern"].as_str()
            && let Err(e) = fancy_regex::Regex::new(pattern)
        {
            reader.report(
                &format!("{place}.pattern"),
                format!("It is not a valid regular expression: {e}."),
            );
            continue;
        }
        let Some(default) = property.get("default") else {
            continue;
        };
        if let Err(e) = Schema::from_value(property.clone()).validate(default) {
            let reason = e.message.replace("The arguments", "it");
            reader.report(
                &format!("{place}.default"),
                format!("It does not fit the parameter itself: {reason}"),
            );
        }
    }
}
