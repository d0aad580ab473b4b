//! Schemas of arguments as Gemini's own `Schema`, which is under `parameters`: a subset of
//! `OpenAPI`.
//!
//! It knows one type, in capitals, `anyOf` only by itself, `enum` of texts only, and no rest of
//! names. What it can't say is left out, or said in the description; the tool checks it all the
//! same.

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// What is written as it is.
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

/// The types of a value of which nothing is known; a list would have to say of what.
const OPEN: [&str; 4] = ["string", "number", "boolean", "object"];

/// The members of an object in the order in which they were written, which matters to a model.
#[derive(Debug, Clone, Default)]
struct Members(Vec<(String, Box<RawValue>)>);

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct All;
        impl<'de> Visitor<'de> for All {
            type Value = Members;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut all = Vec::new();
                while let Some(member) = map.next_entry()? {
                    all.push(member);
                }
                Ok(Members(all))
            }
        }
        deserializer.deserialize_map(All)
    }
}

impl Members {
    fn of(raw: &RawValue) -> Self {
        serde_json::from_str(raw.get()).unwrap_or_default()
    }

    fn raw(&self, key: &str) -> Option<&RawValue> {
        let mut all = self.0.iter();
        all.find(|(own, _)| own == key).map(|(_, raw)| &**raw)
    }

    fn value(&self, key: &str) -> Value {
        let raw = self.raw(key);
        raw.and_then(|raw| serde_json::from_str(raw.get()).ok())
            .unwrap_or_default()
    }

    fn list(&self, key: &str) -> Vec<Box<RawValue>> {
        let raw = self.raw(key);
        raw.and_then(|raw| serde_json::from_str(raw.get()).ok())
            .unwrap_or_default()
    }

    /// Adds what another schema of the same value says, where this one does not say it.
    fn add(&mut self, other: Members) {
        for (key, more) in other.0 {
            match (&*key, self.0.iter_mut().find(|(own, _)| *own == key)) {
                (_, None) => self.0.push((key, more)),
                ("properties", Some((_, own))) => {
                    let mut all = Members::of(own);
                    let new = Members::of(&more).0.into_iter();
                    let new: Vec<_> = new.filter(|(name, _)| all.raw(name).is_none()).collect();
                    all.0.extend(new);
                    if let Ok(text) = serde_json::value::to_raw_value(&all) {
                        *own = text;
                    }
                }
                ("required", Some((_, own))) => {
                    let names = |raw: &RawValue| -> Vec<Value> {
                        serde_json::from_str(raw.get()).unwrap_or_default()
                    };
                    let mut all = names(own);
                    let new = names(&more).into_iter();
                    let new: Vec<_> = new.filter(|name| !all.contains(name)).collect();
                    all.extend(new);
                    *own = raw(&Value::from(all));
                }
                _ => {}
            }
        }
    }
}

impl serde::Serialize for Members {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, raw)| (key, raw)))
    }
}

/// The schema in Gemini's own form, as compact JSON; `None` for an object of which nothing is
/// known, which the API wants left out at the top.
pub(super) fn native(schema: &RawValue) -> Option<String> {
    let members = Members::of(schema);
    let properties = members.raw("properties").map(Members::of);
    let has_branches = ["anyOf", "oneOf", "allOf"]
        .iter()
        .any(|key| members.raw(key).is_some());
    let is_empty = properties.is_none_or(|all| all.0.is_empty()) && !has_branches;
    (!is_empty).then(|| written(members, None))
}

/// A schema with what is said of it where it is used.
fn written(mut node: Members, told: Option<&str>) -> String {
    for branch in node.list("allOf") {
        node.add(Members::of(&branch));
    }
    let mut types: Vec<String> = match node.value("type") {
        Value::String(one) => vec![one],
        Value::Array(list) => list
            .iter()
            .filter_map(|name| name.as_str().map(str::to_owned))
            .collect(),
        _ => Vec::new(),
    };
    let mut branches: Vec<Members> = ["anyOf", "oneOf"]
        .iter()
        .flat_map(|key| node.list(key))
        .map(|raw| Members::of(&raw))
        .collect();
    let all = types.len() + branches.len();
    let has_one_type = types.len() == 1;
    if !has_one_type {
        types.retain(|name| name != "null");
    }
    branches.retain(|branch| branch.value("type") != "null" || branch.0.len() > 1);
    let mut is_nullable = types.len() + branches.len() < all;
    if types.is_empty() && branches.is_empty() {
        if is_nullable {
            types.push("null".to_owned());
            is_nullable = false;
        } else {
            types = OPEN.map(str::to_owned).to_vec();
        }
    }
    let values = node.value("enum");
    if let Some(values) = values.as_array().filter(|_| types.len() > 1) {
        let is_possible = |name: &String| values.iter().any(|value| is_of(value, name));
        if types.iter().any(is_possible) {
            types.retain(is_possible);
        }
    }
    let own = node.value("description");
    let description = own.as_str().or(told).map(str::to_owned);
    if types.is_empty() && branches.len() == 1 {
        // Only null stood beside it.
        let mut inner = branches.remove(0);
        node.0
            .retain(|(key, _)| !matches!(&**key, "anyOf" | "oneOf" | "allOf" | "type"));
        inner.0.retain(|(key, _)| node.raw(key).is_none());
        node.0.extend(inner.0);
        if is_nullable {
            node.0.push(("nullable".to_owned(), raw(&json!(true))));
        }
        return written(node, told);
    }
    let several: Vec<Members> = if types.is_empty() {
        branches
    } else if types.len() > 1 {
        let rest = node.0.iter();
        let rest = rest.filter(|(key, _)| !matches!(&**key, "type" | "anyOf" | "oneOf" | "allOf"));
        let rest: Vec<_> = rest.cloned().collect();
        let of = |name: &String| {
            let mut own = Members(vec![("type".to_owned(), raw(&json!(name)))]);
            own.0
                .extend(rest.iter().filter(|(key, _)| is_about(key, name)).cloned());
            if let Some(values) = values.as_array() {
                let values = values.iter().filter(|value| is_of(value, name));
                let values: Vec<_> = values.collect();
                own.0.push(("enum".to_owned(), raw(&json!(values))));
            }
            own
        };
        types.iter().map(of).collect()
    } else {
        // Beside a type they only narrow it: names that they add are said.
        for branch in branches {
            let mut all = branch;
            all.0.retain(|(key, _)| key == "properties");
            node.add(all);
        }
        Vec::new()
    };
    let is_nullable = is_nullable || node.value("nullable") == true;
    if let (true, Some(name)) = (several.is_empty(), types.first()) {
        return of_one_type(&node, name, description, is_nullable);
    }
    let branches = several.into_iter().map(|mut branch| {
        if is_nullable {
            branch.0.push(("nullable".to_owned(), raw(&json!(true))));
        }
        written(branch, description.as_deref())
    });
    let branches: Vec<String> = branches.collect();
    format!(r#"{{"anyOf":[{}]}}"#, branches.join(","))
}

/// Whether a value is of a type.
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

/// Whether a keyword says something about values of a type. The values of an enumeration are
/// divided up among the types.
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

fn raw(value: &Value) -> Box<RawValue> {
    RawValue::from_string(value.to_string()).unwrap_or_default()
}

/// A schema that says one type.
fn of_one_type(
    node: &Members,
    name: &str,
    description: Option<String>,
    is_nullable: bool,
) -> String {
    let mut description = description.unwrap_or_default();
    let mut out = vec![format!(r#""type":{}"#, json!(name.to_ascii_uppercase()))];
    let mut values: Vec<Value> = match node.value("enum") {
        Value::Array(values) => values,
        _ => Vec::new(),
    };
    values.retain(|value| !(is_nullable && value.is_null()));
    let is_name = |value: &Value| value.as_str().is_some_and(|text| !text.is_empty());
    if name == "string" && !values.is_empty() && values.iter().all(is_name) {
        out.push(format!(r#""enum":{}"#, json!(values)));
    } else if !values.is_empty() {
        let values: Vec<String> = values.iter().map(Value::to_string).collect();
        let words = format!("One of {}.", values.join(", "));
        if !description.is_empty() {
            description.push(' ');
        }
        description.push_str(&words);
    }
    if !description.is_empty() {
        out.insert(1, format!(r#""description":{}"#, json!(description)));
    }
    if is_nullable {
        out.push(r#""nullable":true"#.to_owned());
    }
    for (key, raw) in node.0.iter().filter(|(key, _)| KEPT.contains(&&**key)) {
        out.push(format!("{}:{raw}", json!(key)));
    }
    for (key, bound, step) in [
        ("exclusiveMinimum", "minimum", 1),
        ("exclusiveMaximum", "maximum", -1),
    ] {
        let Some(raw) = node.raw(key).filter(|_| node.raw(bound).is_none()) else {
            continue;
        };
        // For numbers there is no next one: the bound itself is said to fit.
        let next = node.value(key).as_i64().filter(|_| name == "integer");
        let next = next.and_then(|number| number.checked_add(step));
        let value = next.map_or_else(|| raw.get().to_owned(), |number| number.to_string());
        out.push(format!("{}:{value}", json!(bound)));
    }
    if name == "array" {
        let items = match node.raw("items") {
            Some(items) => Members::of(items),
            // The API wants to be told something.
            None => Members::default(),
        };
        let items = written(items, None);
        out.push(format!(r#""items":{items}"#));
    }
    let properties = node.raw("properties").map(Members::of).unwrap_or_default();
    if name == "object" && !properties.0.is_empty() {
        let written = properties
            .0
            .iter()
            .map(|(key, raw)| format!("{}:{}", json!(key), written(Members::of(raw), None)));
        let written: Vec<String> = written.collect();
        out.push(format!(r#""properties":{{{}}}"#, written.join(",")));
        if let Value::Array(mut required) = node.value("required") {
            required.retain(|key| {
                key.as_str()
                    .is_some_and(|key| properties.raw(key).is_some())
            });
            if !required.is_empty() {
                out.push(format!(r#""required":{}"#, json!(required)));
            }
        }
    }
    format!("{{{}}}", out.join(","))
}

#[cfg(test)]
mod tests {
    use super::native;
    use serde_json::value::RawValue;
    use serde_json::{Value, json};

    /// What one parameter becomes.
    fn of(parameter: &Value) -> Value {
        let schema = json!({"type": "object", "properties": {"x": parameter}});
        let raw = RawValue::from_string(schema.to_string()).expect("JSON");
        let written = native(&raw).expect("a parameter");
        let mut value: Value = serde_json::from_str(&written).expect("JSON");
        value["properties"]["x"].take()
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
    fn the_order_stays_and_no_parameters_are_left_out() {
        let text =
            r#"{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"string"}}}"#;
        let raw = RawValue::from_string(text.to_owned()).expect("JSON");
        let written = native(&raw).expect("parameters");
        assert!(written.find("\"z\"") < written.find("\"a\""), "{written}");
        let nothing = RawValue::from_string(r#"{"type":"object","properties":{}}"#.to_owned());
        assert_eq!(native(&nothing.expect("JSON")), None);
    }
}
