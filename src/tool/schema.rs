//! The JSON Schema of a tool's arguments, and checking arguments against it.
//!
//! Checks the keywords that declarations use, which are those that
//! [`crate::declaration::repair_schema`] leaves in others'; `format` is left to the tool. A general validator compiles a schema
//! before it checks once, which costs more than a whole small call: that is why this one
//! is ours.

use super::ToolError;
use serde::{Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;
use std::sync::OnceLock;

/// A JSON Schema, as text and, when first needed, as a value.
#[derive(Clone)]
pub struct Schema {
    text: Cow<'static, str>,
    value: OnceLock<Value>,
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Schema({})", self.text)
    }
}

impl Schema {
    /// A schema that is part of the program; `text` is compact JSON.
    pub const fn from_static(text: &'static str) -> Self {
        Self {
            text: Cow::Borrowed(text),
            value: OnceLock::new(),
        }
    }

    /// A schema made at run time.
    pub fn from_value(value: Value) -> Self {
        Self {
            text: Cow::Owned(value.to_string()),
            value: OnceLock::from(value),
        }
    }

    /// The schema as JSON.
    pub fn value(&self) -> &Value {
        self.value
            .get_or_init(|| serde_json::from_str(&self.text).unwrap_or(Value::Null))
    }

    /// Checks a value.
    ///
    /// # Errors
    ///
    /// `invalid_tool_params`, naming the argument, what was expected and what came.
    pub fn validate(&self, value: &Value) -> Result<(), ToolError> {
        check(self.value(), value, &mut String::new()).map_err(ToolError::invalid)
    }
}

impl Serialize for Schema {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw: &RawValue = serde_json::from_str(&self.text).map_err(serde::ser::Error::custom)?;
        raw.serialize(serializer)
    }
}

/// A short description of a JSON value for messages.
pub(super) fn describe(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(b) => format!("the boolean {b}"),
        Value::Number(n) => format!("the number {n}"),
        Value::String(s) if s.chars().count() <= 40 => format!("the string {s:?}"),
        Value::String(_) => "a string".to_owned(),
        Value::Array(_) => "an array".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    }
}

fn name(path: &str) -> String {
    if path.is_empty() {
        "The arguments".to_owned()
    } else {
        format!("\"{path}\"")
    }
}

fn matches_type(expected: &str, value: &Value) -> bool {
    match expected {
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "null" => value.is_null(),
        "number" => value.is_number(),
        "integer" => value.as_f64().is_some_and(|n| n.fract() == 0.0),
        _ => true,
    }
}

fn with_article(expected: &str) -> String {
    let article = if matches!(expected, "array" | "object" | "integer") {
        "an"
    } else {
        "a"
    };
    format!("{article} {expected}")
}

fn check(schema: &Value, value: &Value, path: &mut String) -> Result<(), String> {
    let Some(schema) = schema.as_object() else {
        return Ok(());
    };
    let expected: Vec<&str> = match schema.get("type") {
        Some(Value::String(one)) => vec![one],
        Some(Value::Array(many)) => many.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    if !expected.is_empty() && !expected.iter().any(|t| matches_type(t, value)) {
        let wanted: Vec<_> = expected.iter().map(|t| with_article(t)).collect();
        return Err(format!(
            "{} must be {}, but it is {}.",
            name(path),
            wanted.join(" or "),
            describe(value)
        ));
    }
    if let Some(allowed) = schema.get("enum").and_then(Value::as_array)
        && !allowed.contains(value)
    {
        let allowed: Vec<_> = allowed.iter().map(Value::to_string).collect();
        return Err(format!(
            "{} must be one of {}, but it is {}.",
            name(path),
            allowed.join(", "),
            describe(value)
        ));
    }
    if let Some(wanted) = schema.get("const")
        && wanted != value
    {
        return Err(format!(
            "{} must be {wanted}, but it is {}.",
            name(path),
            describe(value)
        ));
    }
    check_combiners(schema, value, path)?;
    match value {
        Value::Object(map) => {
            check_count(
                schema,
                ["minProperties", "maxProperties"],
                map.len(),
                path,
                "properties",
            )?;
            for key in schema
                .get("required")
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
            {
                if let Some(key) = key.as_str()
                    && !map.contains_key(key)
                {
                    let full = if path.is_empty() {
                        key.to_owned()
                    } else {
                        format!("{path}.{key}")
                    };
                    return Err(format!("\"{full}\" is missing; it is required."));
                }
            }
            check_properties(schema, map, path)?;
        }
        Value::Array(items) => check_items(schema, items, path)?,
        Value::String(text) => check_text(schema, text, path)?,
        Value::Number(number) => check_bounds(schema, number.as_f64().unwrap_or(f64::NAN), path)?,
        Value::Null | Value::Bool(_) => {}
    }
    Ok(())
}

fn check_properties(
    schema: &serde_json::Map<String, Value>,
    map: &serde_json::Map<String, Value>,
    path: &mut String,
) -> Result<(), String> {
    let properties = schema.get("properties").and_then(Value::as_object);
    for (key, sub) in properties.into_iter().flatten() {
        if let Some(item) = map.get(key) {
            descend(path, key, |path| check(sub, item, path))?;
        }
    }
    let Some(more) = schema.get("additionalProperties") else {
        return Ok(());
    };
    for (key, item) in map {
        if properties.is_some_and(|p| p.contains_key(key)) {
            continue;
        }
        if more == &Value::Bool(false) {
            let known: Vec<&str> = properties
                .into_iter()
                .flat_map(|p| p.keys().map(String::as_str))
                .collect();
            return descend(path, key, |path| {
                Err(format!(
                    "{} is not known; what is known: {}.",
                    name(path),
                    known.join(", ")
                ))
            });
        }
        descend(path, key, |path| check(more, item, path))?;
    }
    Ok(())
}

fn check_items(
    schema: &serde_json::Map<String, Value>,
    items: &[Value],
    path: &mut String,
) -> Result<(), String> {
    check_count(
        schema,
        ["minItems", "maxItems"],
        items.len(),
        path,
        "element(s)",
    )?;
    if schema.get("uniqueItems") == Some(&Value::Bool(true))
        && let Some(at) = (1..items.len()).find(|at| items[..*at].contains(&items[*at]))
    {
        return Err(format!(
            "{} must not hold the same element twice, but {} is there again.",
            name(path),
            describe(&items[at])
        ));
    }
    if let Some(sub) = schema.get("items") {
        for (i, item) in items.iter().enumerate() {
            let before = path.len();
            path.push_str(&format!("[{i}]"));
            check(sub, item, path)?;
            path.truncate(before);
        }
    }
    Ok(())
}

fn check_count(
    schema: &serde_json::Map<String, Value>,
    keys: [&str; 2],
    count: usize,
    path: &str,
    what: &str,
) -> Result<(), String> {
    let [least, most] = keys.map(|key| schema.get(key).and_then(Value::as_u64));
    match (least, most) {
        (Some(least), _) if (count as u64) < least => {
            Err(format!("{} must hold at least {least} {what}.", name(path)))
        }
        (_, Some(most)) if (count as u64) > most => Err(format!(
            "{} must hold at most {most} {what}, but it holds {count}.",
            name(path)
        )),
        _ => Ok(()),
    }
}

fn check_text(
    schema: &serde_json::Map<String, Value>,
    text: &str,
    path: &str,
) -> Result<(), String> {
    let bound = |key| schema.get(key).and_then(Value::as_u64);
    let length = || text.chars().count() as u64;
    if let Some(least) = bound("minLength")
        && least > 0
        && length() < least
    {
        return Err(if least == 1 {
            format!("{} must not be empty.", name(path))
        } else {
            format!("{} must be at least {least} characters long.", name(path))
        });
    }
    if let Some(most) = bound("maxLength")
        && length() > most
    {
        return Err(format!(
            "{} must be at most {most} characters long.",
            name(path)
        ));
    }
    if let Some(pattern) = schema.get("pattern").and_then(Value::as_str) {
        // One that is no pattern here, or that takes too long, is left to the tool.
        let fits = fancy_regex::Regex::new(pattern)
            .ok()
            .and_then(|regex| regex.is_match(text).ok());
        if fits == Some(false) {
            return Err(format!(
                "{} must match {pattern}, but it is {}.",
                name(path),
                describe(&Value::from(text))
            ));
        }
    }
    Ok(())
}

fn descend(
    path: &mut String,
    key: &str,
    f: impl FnOnce(&mut String) -> Result<(), String>,
) -> Result<(), String> {
    let before = path.len();
    if !path.is_empty() {
        path.push('.');
    }
    path.push_str(key);
    f(path)?;
    path.truncate(before);
    Ok(())
}

fn check_bounds(
    schema: &serde_json::Map<String, Value>,
    number: f64,
    path: &str,
) -> Result<(), String> {
    let bound = |key| schema.get(key).and_then(Value::as_f64);
    let wrong = |words: String| {
        Err(format!(
            "{} must be {words}, but it is {number}.",
            name(path)
        ))
    };
    let least = bound("minimum").filter(|least| number < *least);
    let below = bound("exclusiveMinimum").filter(|below| number <= *below);
    let most = bound("maximum").filter(|most| number > *most);
    let above = bound("exclusiveMaximum").filter(|above| number >= *above);
    // What is a multiple can't be told by rounded quotients alone.
    let step = bound("multipleOf").filter(|step| {
        let quotient = number / step;
        *step > 0.0 && (quotient - quotient.round()).abs() > 1e-9
    });
    match (least, below, most, above, step) {
        (Some(least), ..) => wrong(format!("at least {least}")),
        (_, Some(below), ..) => wrong(format!("greater than {below}")),
        (_, _, Some(most), ..) => wrong(format!("at most {most}")),
        (_, _, _, Some(above), _) => wrong(format!("less than {above}")),
        (.., Some(step)) => wrong(format!("a multiple of {step}")),
        _ => Ok(()),
    }
}

fn check_combiners(
    schema: &serde_json::Map<String, Value>,
    value: &Value,
    path: &mut String,
) -> Result<(), String> {
    let list = |key| schema.get(key).and_then(Value::as_array);
    for sub in list("allOf").into_iter().flatten() {
        check(sub, value, path)?;
    }
    for key in ["anyOf", "oneOf"] {
        let Some(branches) = list(key) else { continue };
        let mut first = None;
        let mut hits = 0;
        for branch in branches {
            let before = path.len();
            match check(branch, value, path) {
                Ok(()) => hits += 1,
                Err(e) => first = first.or(Some(e)),
            }
            path.truncate(before);
        }
        if hits == 0
            && let Some(e) = first
        {
            return Err(e);
        }
        if key == "oneOf" && hits > 1 {
            return Err(format!(
                "{} fits more than one of its alternatives.",
                name(path)
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::Schema;
    use serde_json::{Value, json};

    fn message(schema: Value, value: &Value) -> String {
        match Schema::from_value(schema).validate(value) {
            Ok(()) => String::new(),
            Err(e) => e.message,
        }
    }

    #[test]
    fn messages_name_the_argument_and_what_was_expected() {
        let schema = json!({"type":"object","required":["a"],"properties":{
            "a":{"type":"string","minLength":1},"n":{"type":"integer","minimum":0,"maximum":9},
            "l":{"type":"array","minItems":1,"items":{"type":"string"}},
            "o":{"type":"object","properties":{"b":{"type":"boolean"}}},
            "e":{"enum":["x","y"]},
            "u":{"anyOf":[{"type":"string"},{"type":"number"}]}}});
        let cases = [
            (json!({}), r#""a" is missing; it is required."#),
            (json!({"a":""}), r#""a" must not be empty."#),
            (
                json!({"a":1}),
                r#""a" must be a string, but it is the number 1."#,
            ),
            (
                json!({"a":"x","n":1.5}),
                r#""n" must be an integer, but it is the number 1.5."#,
            ),
            (
                json!({"a":"x","n":-1}),
                r#""n" must be at least 0, but it is -1."#,
            ),
            (
                json!({"a":"x","n":10}),
                r#""n" must be at most 9, but it is 10."#,
            ),
            (
                json!({"a":"x","l":[]}),
                r#""l" must hold at least 1 element(s)."#,
            ),
            (
                json!({"a":"x","l":["k",null]}),
                r#""l[1]" must be a string, but it is null."#,
            ),
            (
                json!({"a":"x","o":{"b":"no"}}),
                r#""o.b" must be a boolean, but it is the string "no"."#,
            ),
            (
                json!({"a":"x","e":"z"}),
                r#""e" must be one of "x", "y", but it is the string "z"."#,
            ),
            (
                json!({"a":"x","u":[]}),
                r#""u" must be a string, but it is an array."#,
            ),
            (
                json!([]),
                "The arguments must be an object, but it is an array.",
            ),
        ];
        for (value, expected) in cases {
            assert_eq!(message(schema.clone(), &value), expected, "{value}");
        }
        let good = json!({"a":"x","n":5.0,"l":["k"],"o":{},"e":"y","u":3,"other":null});
        assert_eq!(message(schema, &good), "");
    }

    #[test]
    fn the_keywords_of_other_peoples_schemas_count() {
        let cases = [
            (
                json!({"type":"string","maxLength":2}),
                json!("abc"),
                "at most 2 characters",
            ),
            (
                json!({"type":"string","pattern":"^[a-z]+$"}),
                json!("A1"),
                "must match ^[a-z]+$",
            ),
            (
                json!({"type":"number","exclusiveMaximum":1}),
                json!(1),
                "less than 1",
            ),
            (
                json!({"type":"number","multipleOf":0.1}),
                json!(0.25),
                "a multiple of 0.1",
            ),
            (
                json!({"type":"array","maxItems":1}),
                json!([1, 2]),
                "at most 1 element",
            ),
            (
                json!({"type":"array","uniqueItems":true}),
                json!([1, 1]),
                "twice",
            ),
            (
                json!({"type":"object","minProperties":1}),
                json!({}),
                "at least 1 properties",
            ),
            (json!({"const":"a"}), json!("b"), "must be \"a\""),
            (
                json!({"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}),
                json!({"b":1}),
                "\"b\" is not known; what is known: a.",
            ),
            (
                json!({"type":"object","additionalProperties":{"type":"string"}}),
                json!({"b":1}),
                "\"b\" must be a string",
            ),
        ];
        for (schema, value, expected) in cases {
            let text = message(schema, &value);
            assert!(text.contains(expected), "{value}: {text}");
        }
        assert_eq!(
            message(json!({"type":"number","multipleOf":0.1}), &json!(0.3)),
            ""
        );
    }
}
