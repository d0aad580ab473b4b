//! The arguments of a call, before they are checked.

use super::{Schema, ToolError};
use crate::json::JsonError;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

pub(super) const HOST_KEY: &str = "wait_for_previous";

/// A JSON object of arguments.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Args(Map<String, Value>);

impl Args {
    /// Makes arguments of a JSON value, which must be an object.
    ///
    /// # Errors
    ///
    /// `invalid_tool_params` for any other value.
    pub fn from_value(value: Value) -> Result<Self, ToolError> {
        match value {
            Value::Object(map) => Ok(Self(map)),
            other => Err(ToolError::invalid(format!(
                "The arguments must be one JSON object, but they are {}.",
                super::schema::describe(&other)
            ))
            .with_hint(r#"Give an object such as {"path":"src"}."#)),
        }
    }

    /// Makes arguments of a map from names to values.
    pub fn from_map(args: Map<String, Value>) -> Self {
        Self(args)
    }

    /// Returns the arguments as one JSON object.
    pub fn into_value(self) -> Value {
        Value::Object(self.0)
    }

    /// Returns the arguments by name.
    pub fn as_map(&self) -> &Map<String, Value> {
        &self.0
    }

    /// Adds or replaces one argument.
    pub fn insert(&mut self, name: impl Into<String>, value: Value) {
        self.0.insert(name.into(), value);
    }

    /// Renames arguments by pairs of an alias and the declared name. A value under the declared
    /// name wins.
    pub fn rename(&mut self, aliases: &[(&str, &str)]) {
        for (alias, name) in aliases {
            if let Some(value) = self.0.remove(*alias) {
                self.0.entry(*name).or_insert(value);
            }
        }
    }

    /// Checks the arguments against `schema` and returns them. `wait_for_previous`, which the host
    /// adds for itself, is removed unless the schema declares it.
    ///
    /// # Errors
    ///
    /// Returns `invalid_tool_params`, naming the argument and what was expected.
    pub fn checked(mut self, schema: &Schema) -> Result<Self, ToolError> {
        let properties = schema.value().get("properties").and_then(Value::as_object);
        if !properties.is_some_and(|p| p.contains_key(HOST_KEY)) {
            self.0.remove(HOST_KEY);
        }
        let value = Value::Object(self.0);
        schema.validate(&value)?;
        Self::from_value(value)
    }

    /// Sets the missing arguments to the defaults of the schema, and checks all as
    /// [`Args::checked`] does. Numbers such as `5.0` become integers.
    ///
    /// # Errors
    ///
    /// `invalid_tool_params`, naming the argument and what was expected.
    pub fn filled(mut self, schema: &Schema) -> Result<Map<String, Value>, ToolError> {
        fill_members(schema.value(), &mut self.0);
        let mut map = self.checked(schema)?.0;
        map.values_mut().for_each(write_whole);
        Ok(map)
    }

    /// Sets the missing arguments to the defaults of `schema`, checks all against it and
    /// deserializes them as `P`. Arguments that the schema does not name are ignored, unless it has
    /// `additionalProperties: false` or `P` denies them.
    ///
    /// # Errors
    ///
    /// `invalid_tool_params`, naming the argument and what was expected.
    pub fn parse<P: DeserializeOwned>(self, schema: &Schema) -> Result<P, ToolError> {
        let map = self.filled(schema)?;
        // `P` may be `()`, which serde makes of null only.
        let nothing = map.is_empty().then_some(Value::Null);
        let parsed = serde_path_to_error::deserialize(Value::Object(map));
        let parsed = parsed.or_else(|e| nothing.and_then(|n| P::deserialize(n).ok()).ok_or(e));
        parsed.map_err(|e| {
            let path = match e.path().to_string() {
                // This path stands for the object of the arguments itself.
                root if root == "." => "The arguments".to_owned(),
                path => format!("\"{path}\""),
            };
            let why = JsonError::new(b"", e.inner());
            ToolError::invalid(format!("{path} can't be used: {why}."))
        })
    }
}

/// Turns each number such as `5.0` into an integer: JSON Schema counts it as one, but neither serde
/// nor most programs do.
fn write_whole(value: &mut Value) {
    const MOST: f64 = 9_007_199_254_740_992.0;
    match value {
        Value::Number(number) => {
            let double = number.as_f64().filter(|_| number.is_f64());
            if let Some(whole) = double.filter(|n| n.fract() == 0.0 && n.abs() <= MOST) {
                #[expect(clippy::cast_possible_truncation, reason = "it is whole and small")]
                let whole = whole as i64;
                *value = whole.into();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(write_whole),
        Value::Object(map) => map.values_mut().for_each(write_whole),
        _ => {}
    }
}

fn fill(schema: &Value, value: &mut Value) {
    match value {
        Value::Object(map) => fill_members(schema, map),
        Value::Array(items) => items
            .iter_mut()
            .for_each(|item| fill(&schema["items"], item)),
        _ => {}
    }
}

fn fill_members(schema: &Value, map: &mut Map<String, Value>) {
    let properties = schema.get("properties").and_then(Value::as_object);
    for (key, property) in properties.into_iter().flatten() {
        match (map.get_mut(key), property.get("default")) {
            (None, Some(default)) => drop(map.insert(key.clone(), default.clone())),
            (Some(inner), _) => fill(property, inner),
            (None, None) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Args;
    use serde_json::json;

    #[test]
    fn the_declared_name_wins_over_an_alias() {
        let mut args = Args::from_value(json!({"path": "a", "file_path": "b"})).expect("object");
        args.rename(&[("path", "file_path")]);
        assert_eq!(args.as_map()["file_path"], "b");
        assert!(!args.as_map().contains_key("path"));
    }

    #[test]
    fn defaults_are_filled_in_and_the_hosts_own_key_is_taken_out() {
        #[derive(serde::Deserialize)]
        struct Params {
            n: u32,
        }
        let schema = super::Schema::from_value(json!({"type": "object",
            "additionalProperties": false, "properties": {
            "n": {"type": "integer", "default": 3}, "s": {"type": "string"},
            "o": {"type": "object", "properties": {"d": {"type": "string", "default": "x"}}}}}));
        let args = json!({"wait_for_previous": true, "o": {}});
        let filled = Args::from_value(args).expect("object").filled(&schema);
        assert_eq!(
            json!(filled.expect("valid")),
            json!({"n": 3, "o": {"d": "x"}})
        );
        let parsed = Args::default().parse::<Params>(&schema);
        assert_eq!(parsed.expect("a default").n, 3);
        let odd = Args::from_value(json!({"other": 1})).expect("object");
        assert!(odd.filled(&schema).is_err());
    }
}
