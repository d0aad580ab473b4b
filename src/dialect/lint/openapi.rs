//! The operations of an `OpenAPI` 3 description as functions.
//!
//! An operation with an `operationId` becomes a function of that name; its parameters become
//! arguments, the JSON of its request the argument `body`.

use super::Source;
use super::document::{Document, Item, Step};
use crate::declaration::Finding;
use serde_json::{Map, Value, json};

const METHODS: [&str; 8] = [
    "get", "put", "post", "delete", "options", "head", "patch", "trace",
];

const SCHEMAS: &str = "#/components/schemas/";

/// The functions of a description.
pub(super) fn read(value: &Value) -> Result<Document, String> {
    let version = value["openapi"].as_str().unwrap_or_default();
    if !version.starts_with("3.") {
        return Err(format!(
            "\"openapi\" is {version:?}; only OpenAPI 3 is known, such as \"3.1.0\"."
        ));
    }
    let mut document = Document {
        source: Source::OpenApi,
        items: Vec::new(),
        findings: Vec::new(),
    };
    let paths = value["paths"].as_object();
    for (path, operations) in paths.into_iter().flatten() {
        for method in METHODS {
            let operation = &operations[method];
            if !operation.is_object() {
                continue;
            }
            let steps = ["paths", path, method].map(|s| Step::Key(s.to_owned()));
            if operation["operationId"].as_str().is_none_or(str::is_empty) {
                document.findings.push(Finding::warning(
                    "operation-id",
                    &format!("{} {path}", method.to_uppercase()),
                    "operationId",
                    "It is missing: the operation can't become a function.",
                ));
                continue;
            }
            let function = function(value, operations, operation);
            document.items.push(Item::new(steps.to_vec(), function));
        }
    }
    Ok(document)
}

fn function(root: &Value, operations: &Value, operation: &Value) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    let own = operation["parameters"].as_array();
    let shared = operations["parameters"].as_array();
    // An operation's own parameter counts before the path's.
    for parameter in shared.into_iter().chain(own).flatten() {
        let parameter = followed(root, parameter);
        let Some(name) = parameter["name"].as_str() else {
            continue;
        };
        let mut schema = match &parameter["schema"] {
            Value::Null => parameter["content"]["application/json"]["schema"].clone(),
            schema => schema.clone(),
        };
        if let (Some(map), description @ Value::String(_)) =
            (schema.as_object_mut(), &parameter["description"])
        {
            map.insert("description".to_owned(), description.clone());
        }
        if parameter["required"] == true && !required.iter().any(|r| r == name) {
            required.push(Value::from(name));
        }
        properties.insert(name.to_owned(), schema);
    }
    let body = followed(root, &operation["requestBody"]);
    let of_body = &body["content"]["application/json"]["schema"];
    if !of_body.is_null() {
        if body["required"] == true {
            required.push("body".into());
        }
        properties.insert("body".to_owned(), of_body.clone());
    }
    let mut schema = json!({"type": "object", "properties": properties});
    if !required.is_empty() {
        schema["required"] = required.into();
    }
    let schemas = &root["components"]["schemas"];
    if schemas.is_object() {
        schema["$defs"] = schemas.clone();
        lead_to_definitions(&mut schema);
    }
    let texts = [&operation["description"], &operation["summary"]];
    let description = texts.into_iter().find(|text| text.is_string());
    json!({
        "name": operation["operationId"],
        "description": description.unwrap_or(&Value::Null),
        "parametersJsonSchema": schema,
    })
}

/// What a reference leads to within the document, or the value itself.
fn followed<'a>(root: &'a Value, value: &'a Value) -> &'a Value {
    let target = value["$ref"].as_str().and_then(|t| t.strip_prefix('#'));
    target.and_then(|t| root.pointer(t)).unwrap_or(value)
}

/// Makes references to the document's schemas ones into the schema itself.
fn lead_to_definitions(value: &mut Value) {
    match value {
        Value::Object(map) => {
            if let Some(Value::String(target)) = map.get_mut("$ref")
                && let Some(name) = target.strip_prefix(SCHEMAS)
            {
                *target = format!("#/$defs/{name}");
            }
            map.values_mut().for_each(lead_to_definitions);
        }
        Value::Array(items) => items.iter_mut().for_each(lead_to_definitions),
        _ => {}
    }
}
