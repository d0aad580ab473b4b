//! A JSON Schema made such that the API takes it, and the gate for what can't be.
//!
//! The gate is CONTRACT section 10's: every node has a type, or a combiner whose branches all
//! have one.

use super::{Finding, empty_object, references};
use serde_json::{Map, Value, json};

/// The deepest schema that is looked at.
const MAX_DEPTH: usize = 64;

/// What the API and our own check know. All else is taken out.
const KNOWN: [&str; 27] = [
    "type",
    "format",
    "title",
    "description",
    "default",
    "enum",
    "items",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "pattern",
    "properties",
    "required",
    "additionalProperties",
    "minProperties",
    "maxProperties",
    "propertyOrdering",
    "anyOf",
    "oneOf",
    "allOf",
];

/// What says nothing about which arguments are right; it goes without a word.
const NOTES: [&str; 14] = [
    "$schema",
    "$id",
    "$comment",
    "$anchor",
    "$defs",
    "definitions",
    "examples",
    "example",
    "deprecated",
    "readOnly",
    "writeOnly",
    "title",
    "externalDocs",
    "xml",
];

/// The formats that the API takes; it refuses a request with another one.
const FORMATS: [&str; 7] = [
    "date-time",
    "enum",
    "float",
    "double",
    "int32",
    "int64",
    "byte",
];

const COMBINERS: [&str; 3] = ["anyOf", "oneOf", "allOf"];

/// Repairs the schema of a tool's arguments and adds what was done to `repairs`.
///
/// # Errors
///
/// Why the tool is left out.
pub fn repair_schema(
    schema: &mut Value,
    tool: &str,
    repairs: &mut Vec<Finding>,
) -> Result<(), Finding> {
    if !schema.is_object() {
        return Err(Finding::refusal(
            "schema",
            tool,
            "parametersJsonSchema",
            "The schema of the arguments is no object; the tool is left out.",
        ));
    }
    references::resolve(schema, tool, repairs)?;
    if schema.as_object().is_some_and(Map::is_empty) {
        *schema = Value::Object(empty_object());
    }
    let mut mender = Mender { tool, repairs };
    mender.mend(schema, "", 0)?;
    let is_object = |v: &Value| v["type"] == "object";
    if let Some(root) = schema.as_object_mut() {
        if !root.contains_key("type") {
            mender.said(
                "type",
                "",
                "The arguments are always an object; the type was added.",
            );
            root.insert("type".to_owned(), "object".into());
        }
        // Hosts look for it, also where there is none.
        root.entry("properties").or_insert_with(|| json!({}));
    }
    if !is_object(schema) {
        return Err(Finding::refusal(
            "schema",
            tool,
            "type",
            "The arguments must be an object; the tool is left out.",
        ));
    }
    if let Some(place) = untyped(schema) {
        return Err(Finding::refusal(
            "untyped",
            tool,
            &place,
            "There is no type, which the API refuses, and none is certain; the tool is left out. \
             Add \"type\".",
        ));
    }
    Ok(())
}

/// The place of the first node of a schema that says no type, neither itself nor in all
/// branches of a combiner; the root is called `schema`.
pub fn untyped(schema: &Value) -> Option<String> {
    fn find(schema: &Value, place: &str) -> Option<String> {
        let within = |key: &str| match place {
            "" => key.to_owned(),
            place => format!("{place}.{key}"),
        };
        let branches = |key: &&str| schema[*key].as_array().filter(|list| !list.is_empty());
        let combined: Vec<_> = COMBINERS
            .iter()
            .filter_map(|key| Some((*key, branches(key)?)))
            .collect();
        if schema.get("type").is_none() && combined.is_empty() {
            return Some(if place.is_empty() { "schema" } else { place }.to_owned());
        }
        // What stands beside a type only narrows it.
        if schema.get("type").is_none()
            && let Some(place) = combined.iter().find_map(|(key, list)| {
                let mut all = list.iter().enumerate();
                all.find_map(|(i, branch)| find(branch, &within(&format!("{key}[{i}]"))))
            })
        {
            return Some(place);
        }
        let properties = schema["properties"].as_object().into_iter().flatten();
        properties
            .map(|(key, value)| (key.as_str(), value))
            .chain(schema.get("items").map(|items| ("items", items)))
            .find_map(|(key, value)| find(value, &within(key)))
    }
    find(schema, "")
}

struct Mender<'a> {
    tool: &'a str,
    repairs: &'a mut Vec<Finding>,
}

impl Mender<'_> {
    fn said(&mut self, rule: &'static str, place: &str, message: impl Into<String>) {
        let place = if place.is_empty() { "schema" } else { place };
        self.repairs
            .push(Finding::repair(rule, self.tool, place, message));
    }

    fn mend(&mut self, schema: &mut Value, place: &str, depth: usize) -> Result<(), Finding> {
        if depth > MAX_DEPTH {
            return Err(Finding::refusal(
                "large-schema",
                self.tool,
                place,
                "The schema is deeper than any model follows; the tool is left out.",
            ));
        }
        let Some(map) = schema.as_object_mut() else {
            // `true` and the like: the gate says so.
            return Ok(());
        };
        self.mend_type(map, place);
        self.mend_constants(map, place);
        self.mend_bounds(map, place);
        self.mend_items(map, place);
        self.mend_required(map, place);
        self.add_type(map, place);
        self.mend_nullable(map, place);
        self.strip(map, place);
        let within = |key: &str| match place {
            "" => key.to_owned(),
            place => format!("{place}.{key}"),
        };
        if let Some(Value::Object(properties)) = map.get_mut("properties") {
            for (key, property) in properties {
                self.mend(property, &within(key), depth + 1)?;
            }
        }
        for key in ["items", "additionalProperties"] {
            if let Some(inner) = map.get_mut(key).filter(|v| v.is_object()) {
                self.mend(inner, &within(key), depth + 1)?;
            }
        }
        // `additionalProperties: {}` is `true`, and the API wants types.
        if map
            .get("additionalProperties")
            .is_some_and(|v| v == &json!({}))
        {
            map.remove("additionalProperties");
        }
        for key in COMBINERS {
            if let Some(Value::Array(branches)) = map.get_mut(key) {
                for (i, branch) in branches.iter_mut().enumerate() {
                    self.mend(branch, &within(&format!("{key}[{i}]")), depth + 1)?;
                }
            }
        }
        self.type_branches(map, place);
        Ok(())
    }

    /// Types of other dialects: Gemini's own in capitals, those of programming languages.
    fn mend_type(&mut self, map: &mut Map<String, Value>, place: &str) {
        let mut changed = None;
        match map.get_mut("type") {
            Some(Value::String(name)) => {
                if let Some(right) = right_type(name) {
                    changed = Some(format!("{name:?} was taken for {right:?}."));
                    right.clone_into(name);
                } else if name.eq_ignore_ascii_case("TYPE_UNSPECIFIED") {
                    changed = Some(format!("{name:?} says nothing and was taken out."));
                    map.remove("type");
                }
            }
            Some(Value::Array(list)) => {
                for item in list {
                    if let Some(right) = item.as_str().and_then(right_type) {
                        changed = Some(format!("{item} was taken for {right:?}."));
                        *item = right.into();
                    }
                }
            }
            _ => {}
        }
        if let Some(message) = changed {
            self.said("type-name", place, message);
        }
    }

    fn mend_constants(&mut self, map: &mut Map<String, Value>, place: &str) {
        if let Some(value) = map.remove("const") {
            self.said("const", place, "\"const\" became an \"enum\" of one.");
            map.entry("enum").or_insert_with(|| json!([value]));
        }
        if map
            .get("enum")
            .and_then(Value::as_array)
            .is_some_and(Vec::is_empty)
        {
            self.said("enum", place, "An \"enum\" of nothing was taken out.");
            map.remove("enum");
        }
        // Gemini's own dialect writes numbers of an enumeration as strings.
        let is_integer = map.get("type") == Some(&json!("integer"));
        if let Some(Value::Array(list)) = map.get_mut("enum").filter(|_| is_integer) {
            let numbers: Option<Vec<i64>> = list
                .iter()
                .map(|v| v.as_str().and_then(|s| s.parse().ok()))
                .collect();
            if let Some(numbers) = numbers {
                *list = numbers.into_iter().map(Value::from).collect();
                self.said(
                    "enum",
                    place,
                    "The strings of an integer's \"enum\" became integers.",
                );
            }
        }
    }

    /// Draft 4 has booleans beside the bound.
    fn mend_bounds(&mut self, map: &mut Map<String, Value>, place: &str) {
        for (key, bound) in [
            ("exclusiveMinimum", "minimum"),
            ("exclusiveMaximum", "maximum"),
        ] {
            let Some(Value::Bool(is_exclusive)) = map.get(key) else {
                continue;
            };
            let is_exclusive = *is_exclusive;
            map.remove(key);
            if is_exclusive && let Some(value) = map.remove(bound) {
                map.insert(key.to_owned(), value);
            }
            self.said(
                "bounds",
                place,
                format!("{key:?} is a number, not a boolean."),
            );
        }
        for key in [
            "minLength",
            "maxLength",
            "minItems",
            "maxItems",
            "minProperties",
            "maxProperties",
        ] {
            // Gemini's own dialect writes these as strings.
            let number = map.get(key).and_then(Value::as_str).map(str::parse::<u64>);
            if let Some(Ok(number)) = number {
                map.insert(key.to_owned(), number.into());
                self.said(
                    "bounds",
                    place,
                    format!("{key:?} is a number, not a string."),
                );
            }
        }
    }

    /// Lists with a schema for each place, which the API doesn't know.
    fn mend_items(&mut self, map: &mut Map<String, Value>, place: &str) {
        let tuple = match (map.remove("prefixItems"), map.get("items")) {
            (Some(Value::Array(list)), _) => list,
            (None, Some(Value::Array(list))) => list.clone(),
            _ => {
                if map
                    .get("items")
                    .is_some_and(|v| v.is_boolean() || v == &json!({}))
                {
                    map.remove("items");
                    map.entry("type").or_insert_with(|| "array".into());
                }
                return;
            }
        };
        map.entry("type").or_insert_with(|| "array".into());
        let mut kinds: Vec<Value> = Vec::new();
        for item in tuple {
            if !kinds.contains(&item) {
                kinds.push(item);
            }
        }
        match kinds.len() {
            0 => drop(map.remove("items")),
            1 => drop(map.insert("items".to_owned(), kinds.remove(0))),
            _ => drop(map.insert("items".to_owned(), json!({ "anyOf": kinds }))),
        }
        self.said(
            "tuple",
            place,
            "A schema for each place of the list became one that any of its elements may fit.",
        );
    }

    fn mend_required(&mut self, map: &mut Map<String, Value>, place: &str) {
        // Draft 3 has it at the property.
        let mut required: Vec<String> = Vec::new();
        if let Some(Value::Object(properties)) = map.get_mut("properties") {
            for (key, property) in properties {
                if let Some(property) = property.as_object_mut()
                    && let Some(Value::Bool(is_required)) = property.get("required").cloned()
                {
                    property.remove("required");
                    if is_required {
                        required.push(key.clone());
                    }
                    let message = "\"required\" is a list beside \"properties\".";
                    self.said(
                        "required",
                        format!("{place}.{key}").trim_start_matches('.'),
                        message,
                    );
                }
            }
        }
        if !required.is_empty() {
            let list = map.entry("required").or_insert_with(|| json!([]));
            if let Value::Array(list) = list {
                list.extend(required.into_iter().map(Value::from));
            }
        }
        let has = |key: &str| map.get("properties").is_some_and(|p| p.get(key).is_some());
        let unknown: Vec<String> = map
            .get("required")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter(|key| !key.as_str().is_some_and(has))
            .map(Value::to_string)
            .collect();
        if unknown.is_empty() {
            if map.get("required").is_some_and(|r| !r.is_array()) {
                map.remove("required");
                self.said(
                    "required",
                    place,
                    "\"required\" is a list of names; it was taken out.",
                );
            }
            return;
        }
        let properties = map.get("properties").cloned().unwrap_or_default();
        if let Some(Value::Array(list)) = map.get_mut("required") {
            list.retain(|key| {
                key.as_str()
                    .is_some_and(|key| properties.get(key).is_some())
            });
            if list.is_empty() {
                map.remove("required");
            }
        }
        self.said(
            "required",
            place,
            format!(
                "{} can't be required: there is no such property.",
                unknown.join(", ")
            ),
        );
    }

    /// Adds the type where it is certain.
    fn add_type(&mut self, map: &mut Map<String, Value>, place: &str) {
        if map.contains_key("type") {
            return;
        }
        let any = |keys: &[&str]| keys.iter().any(|key| map.contains_key(*key));
        let certain = if any(&["properties", "required", "minProperties", "maxProperties"])
            || map.get("additionalProperties").is_some()
        {
            Some("object")
        } else if any(&["items", "minItems", "maxItems", "uniqueItems"]) {
            Some("array")
        } else if let Some(values) = map.get("enum").and_then(Value::as_array) {
            type_of_all(values)
        } else if any(&["minLength", "maxLength", "pattern"]) {
            Some("string")
        } else if any(&[
            "minimum",
            "maximum",
            "exclusiveMinimum",
            "exclusiveMaximum",
            "multipleOf",
        ]) {
            Some("number")
        } else {
            None
        };
        if let Some(certain) = certain {
            self.said("type", place, format!("The type was added: {certain:?}."));
            map.insert("type".to_owned(), certain.into());
        }
    }

    /// `OpenAPI`'s way to say that there may be none.
    fn mend_nullable(&mut self, map: &mut Map<String, Value>, place: &str) {
        if !matches!(map.remove("nullable"), Some(Value::Bool(true))) {
            return;
        }
        if let Some(Value::Array(values)) = map.get_mut("enum")
            && !values.contains(&Value::Null)
        {
            values.push(Value::Null);
        }
        match map.get_mut("type") {
            Some(Value::Array(list)) if !list.contains(&json!("null")) => list.push("null".into()),
            Some(one @ Value::String(_)) => *one = json!([one.take(), "null"]),
            None => {
                if let Some(Value::Array(list)) = map.get_mut("anyOf") {
                    list.push(json!({ "type": "null" }));
                }
            }
            _ => {}
        }
        self.said(
            "nullable",
            place,
            "\"nullable\" became the type \"null\" beside its own.",
        );
    }

    fn strip(&mut self, map: &mut Map<String, Value>, place: &str) {
        let mut stripped: Vec<String> = Vec::new();
        map.retain(|key, value| {
            if NOTES.contains(&key.as_str()) && key != "title" {
                return false;
            }
            let is_known = KNOWN.contains(&key.as_str())
                && (key != "format" || value.as_str().is_some_and(|f| FORMATS.contains(&f)));
            if !is_known {
                let shown = if key == "format" {
                    format!("\"format\": {value}")
                } else {
                    format!("{key:?}")
                };
                stripped.push(shown);
            }
            is_known
        });
        if !stripped.is_empty() {
            self.said(
                "keyword",
                place,
                format!(
                    "{} was taken out: the API does not know it.",
                    stripped.join(", ")
                ),
            );
        }
    }

    /// Branches without a type of their own have that which stands beside the combiner.
    fn type_branches(&mut self, map: &mut Map<String, Value>, place: &str) {
        let Some(own) = map.get("type").cloned() else {
            return;
        };
        let mut added = false;
        for key in COMBINERS {
            if let Some(Value::Array(branches)) = map.get_mut(key) {
                for branch in branches.iter_mut().filter_map(Value::as_object_mut) {
                    let is_typed = branch.contains_key("type")
                        || COMBINERS.iter().any(|key| branch.contains_key(*key));
                    if !is_typed {
                        branch.insert("type".to_owned(), own.clone());
                        added = true;
                    }
                }
            }
        }
        if added {
            self.said(
                "type",
                place,
                "The type was added to the alternatives as well.",
            );
        }
    }
}

/// What a type of another dialect is called in JSON Schema; `None` where it is right.
fn right_type(name: &str) -> Option<&'static str> {
    let right = match name.to_ascii_lowercase().as_str() {
        "string" | "str" | "text" => "string",
        "integer" | "int" | "long" => "integer",
        "number" | "float" | "double" => "number",
        "boolean" | "bool" => "boolean",
        "array" | "list" => "array",
        "object" | "dict" | "map" => "object",
        "null" | "none" => "null",
        _ => return None,
    };
    (right != name).then_some(right)
}

fn type_of_all(values: &[Value]) -> Option<&'static str> {
    let all = |is: fn(&Value) -> bool| values.iter().all(is);
    if values.is_empty() {
        None
    } else if all(Value::is_string) {
        Some("string")
    } else if all(|v| v.is_i64() || v.is_u64()) {
        Some("integer")
    } else if all(Value::is_number) {
        Some("number")
    } else if all(Value::is_boolean) {
        Some("boolean")
    } else {
        None
    }
}
