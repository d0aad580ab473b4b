//! The JSON Schema of a tool's arguments: the one that a model gets, and the one that arguments are
//! checked against if a model can't get all of it.

use super::{ToolError, check};
use crate::json::unrounded;
use crate::text::excerpt;
use serde::{Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::sync::OnceLock;

/// A JSON Schema, as text and, once it is needed, as a value.
#[derive(Debug, Clone)]
pub struct Schema {
    text: Cow<'static, str>,
    value: OnceLock<Value>,
    /// The full schema, against which arguments are checked, if models get only a simplified one.
    whole: Option<Value>,
}

impl Schema {
    /// Makes a schema that is part of the program; `text` is compact JSON.
    pub const fn from_static(text: &'static str) -> Self {
        Self {
            text: Cow::Borrowed(text),
            value: OnceLock::new(),
            whole: None,
        }
    }

    /// Makes a schema of a JSON value.
    pub fn from_value(value: Value) -> Self {
        Self {
            text: Cow::Owned(value.to_string()),
            value: OnceLock::from(value),
            whole: None,
        }
    }

    /// Returns the schema of the arguments that `P` is made of, in the plain form that the Gemini
    /// API takes: without references, titles, formats, and the null of an `Option`. A `default`
    /// stays, and [`Args::parse`](super::Args::parse) fills it in.
    #[cfg(feature = "schemars")]
    pub fn of<P: schemars::JsonSchema>() -> Self {
        let settings = schemars::generate::SchemaSettings::draft07().with(|settings| {
            settings.inline_subschemas = true;
            settings.meta_schema = None;
        });
        let schema = settings.into_generator().into_root_schema_for::<P>();
        let mut value = schema.to_value();
        simplify(&mut value);
        Self::from_value(value)
    }

    /// Sets the schema that arguments are checked against; if `whole` is `None`, that is this
    /// schema itself. A model still gets this schema, which says as much of the whole as an API
    /// accepts.
    #[must_use]
    pub fn checked_by(mut self, whole: Option<Value>) -> Self {
        self.whole = whole;
        self
    }

    /// Returns the schema as JSON.
    pub fn value(&self) -> &Value {
        self.value
            .get_or_init(|| serde_json::from_str(&self.text).unwrap_or(Value::Null))
    }

    /// Returns true if this is a schema of objects. The schemas of built-in tools are texts that
    /// are parsed only when they are needed. For this they are not parsed, and the `type` of one
    /// that was not parsed yet is not looked at.
    pub(crate) fn is_of_objects(&self) -> bool {
        let its = self.value.get().and_then(|schema| schema.get("type"));
        let is_among = |types: &Vec<Value>| types.iter().any(|one| one == "object");
        self.text.starts_with('{')
            && its.is_none_or(|its| its == "object" || its.as_array().is_some_and(is_among))
    }

    /// Returns the schema that arguments are checked against.
    pub fn whole(&self) -> &Value {
        self.whole.as_ref().unwrap_or_else(|| self.value())
    }

    /// Checks a value against [`Schema::whole`].
    ///
    /// # Errors
    ///
    /// Returns `invalid_tool_params`, naming the argument, what was expected and what was given.
    pub fn validate(&self, value: &Value) -> Result<(), ToolError> {
        check::check(self.whole(), value).map_err(ToolError::invalid)
    }
}

impl Serialize for Schema {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw: &RawValue = serde_json::from_str(&self.text).map_err(serde::ser::Error::custom)?;
        raw.serialize(serializer)
    }
}

#[cfg(feature = "schemars")]
fn simplify(value: &mut Value) {
    let Some(map) = value.as_object_mut() else {
        return;
    };
    for key in ["title", "$schema", "format"] {
        map.remove(key);
    }
    map.retain(|key, value| key != "default" || !value.is_null());
    if let Some(Value::Array(types)) = map.get_mut("type") {
        types.retain(|t| t != "null");
        if let [one] = types.as_slice() {
            let one = one.clone();
            map.insert("type".to_owned(), one);
        }
    }
    if let Some(Value::Array(values)) = map.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    if let Some(Value::Array(any)) = map.get_mut("anyOf") {
        any.retain(|schema| schema["type"] != "null");
        if any.len() == 1
            && let Some(Value::Object(one)) = any.pop()
        {
            map.remove("anyOf");
            for (key, value) in one {
                map.entry(key).or_insert(value);
            }
        }
    }
    if let Some(Value::String(text)) = map.get_mut("description") {
        *text = text.replace('\n', " ");
    }
    if let Some(Value::Object(properties)) = map.get_mut("properties") {
        properties.values_mut().for_each(simplify);
    }
    for key in ["items", "additionalProperties"] {
        map.get_mut(key).into_iter().for_each(simplify);
    }
    for key in ["anyOf", "oneOf", "allOf"] {
        let branches = map.get_mut(key).and_then(Value::as_array_mut);
        branches.into_iter().flatten().for_each(simplify);
    }
}

pub(super) fn describe(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(b) => format!("the boolean {b}"),
        Value::Number(n) => format!("the number {n}"),
        Value::String(s) if unrounded(s.as_bytes()).is_some() => {
            format!("{}, an integer of more than 64 bits", excerpt(s, 100))
        }
        Value::String(s) if s.chars().count() <= 40 => format!("the string {s:?}"),
        Value::String(_) => "a string".to_owned(),
        Value::Array(_) => "an array".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    }
}

#[cfg(all(test, feature = "patterns"))]
mod tests;
