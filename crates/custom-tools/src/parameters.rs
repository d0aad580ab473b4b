//! A tool's parameters, as a JSON Schema or in the short form.

use super::keys::{Keys, Parameter};
use super::report::{Report, nearest};
use gemini_tools_core::declarations::json_type;
use gemini_tools_core::tool::Schema;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

const TYPES: [&str; 6] = ["string", "integer", "number", "boolean", "array", "object"];

pub(super) fn schema(report: &mut Report<'_>, keys: &mut Keys) -> Value {
    match (keys.parameters.take(), keys.params.take()) {
        (Some(schema), None) => Value::Object(schema),
        (None, params) => short_form(report, params.unwrap_or_default()),
        (Some(_), Some(_)) => {
            let message = "There are \"parameters\" as well; a tool has one of the two.";
            report.fault("params", message);
            json!({ "type": "object", "properties": {} })
        }
    }
}

fn short_form(report: &mut Report<'_>, params: BTreeMap<String, Parameter>) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for (name, mut parameter) in params {
        check(report, &format!("params.{name}"), &mut parameter);
        if parameter.required {
            required.push(name.clone());
        }
        let mut schema = json!(parameter);
        if let Some(map) = schema.as_object_mut() {
            map.retain(|_, value| !value.is_null());
        }
        properties.insert(name, schema);
    }
    let mut schema = json!({ "type": "object", "properties": properties });
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}

/// Checks a parameter. A wrong type is replaced by a valid one, so that it is reported only once.
fn check(report: &mut Report<'_>, place: &str, parameter: &mut Parameter) {
    if parameter.description.is_none() {
        let message = "It has no description: a model can only guess what it is for.";
        report.warn("no-description", place, message);
    }
    let problem = match &parameter.kind {
        Some(name) if json_type(name).is_none() => {
            let nearest = nearest(name, TYPES.into_iter());
            format!(
                "It is {name:?}; it must be one of {}.{nearest}",
                TYPES.join(", ")
            )
        }
        None if parameter.values.is_none() => {
            format!("It is missing; it must be one of {}.", TYPES.join(", "))
        }
        _ => String::new(),
    };
    if !problem.is_empty() {
        report.fault(&format!("{place}.type"), problem);
        parameter.kind = Some("string".to_owned());
    }
}

pub(super) fn check_defaults(report: &mut Report<'_>, schema: &Value) {
    let properties = schema["properties"].as_object().into_iter().flatten();
    for (name, property) in properties {
        let place = format!("params.{name}");
        if let Some(pattern) = property["pattern"].as_str()
            && let Err(e) = fancy_regex::Regex::new(pattern)
        {
            let message = format!("It is not a valid regular expression: {e}.");
            report.fault(&format!("{place}.pattern"), message);
            continue;
        }
        let Some(default) = property.get("default") else {
            continue;
        };
        if let Err(e) = Schema::from_value(property.clone()).validate(default) {
            let reason = e.message.replace("The arguments", "it");
            let message = format!("It does not fit the parameter itself: {reason}");
            report.fault(&format!("{place}.default"), message);
        }
    }
}
