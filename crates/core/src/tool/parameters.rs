//! The parameters of a schema in words, for a page, a table or a help text.

use serde_json::Value;

/// A parameter of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameter<'a> {
    /// The name. A member of an object follows the object's name, as in `options.depth`.
    pub name: String,
    /// The type with its limits, such as `array of string, at least 1`.
    pub kind: String,
    /// True if the parameter is required in the call, or in the object that holds it.
    pub is_required: bool,
    /// The default value, which the schema gives for a missing argument.
    pub default: Option<&'a Value>,
    /// Purpose of the parameter.
    pub description: &'a str,
}

const MAX_DEPTH: usize = 4;

/// Returns the parameters of a schema: first the required ones, otherwise in the order of the
/// schema. The members of an object follow it.
pub fn parameters(schema: &Value) -> Vec<Parameter<'_>> {
    let mut all = Vec::new();
    collect(schema, "", MAX_DEPTH, &mut all);
    all
}

fn collect<'a>(schema: &'a Value, before: &str, depth: usize, all: &mut Vec<Parameter<'a>>) {
    if depth == 0 {
        return;
    }
    let is_required = |name: &str| {
        let list = schema["required"].as_array();
        list.is_some_and(|list| list.iter().any(|r| r == name))
    };
    let properties = schema["properties"].as_object();
    let mut named: Vec<_> = properties.into_iter().flatten().collect();
    named.sort_by_key(|(name, _)| !is_required(name));
    for (name, property) in named {
        all.push(Parameter {
            name: format!("{before}{name}"),
            kind: kind_of_parameter(property),
            is_required: is_required(name),
            default: property.get("default"),
            description: property["description"].as_str().unwrap_or_default(),
        });
        collect(property, &format!("{before}{name}."), depth - 1, all);
    }
}

/// Returns the type of a parameter in the words of JSON Schema, with its limits.
pub fn kind_of_parameter(schema: &Value) -> String {
    let mut kind = match &schema["type"] {
        Value::String(name) => name.clone(),
        Value::Array(names) => {
            let names: Vec<&str> = names.iter().filter_map(Value::as_str).collect();
            names.join(" or ")
        }
        _ => {
            let branches = schema["anyOf"]
                .as_array()
                .or_else(|| schema["oneOf"].as_array());
            let mut names: Vec<String> = Vec::new();
            for branch in branches.into_iter().flatten() {
                let name = kind_of_parameter(branch);
                if !names.contains(&name) {
                    names.push(name);
                }
            }
            if names.is_empty() {
                "any".to_owned()
            } else {
                names.join(" or ")
            }
        }
    };
    if kind == "array" && schema["items"]["type"].is_string() {
        // The limits of the elements stand in brackets, to tell them from the limits of the number
        // of elements, which follow.
        kind = match kind_of_parameter(&schema["items"]) {
            limited if limited.contains(", ") => format!("array of ({limited})"),
            items => format!("array of {items}"),
        };
    }
    if let Some(values) = schema["enum"].as_array() {
        let values: Vec<String> = values.iter().map(Value::to_string).collect();
        kind = format!("{kind}: {}", values.join(", "));
    }
    for (key, words) in [
        ("minimum", "from"),
        ("exclusiveMinimum", "over"),
        ("maximum", "up to"),
        ("minItems", "at least"),
        ("maxItems", "at most"),
    ] {
        if schema[key].is_number() {
            kind.push_str(&format!(", {words} {}", schema[key]));
        }
    }
    if let Some(pattern) = schema["pattern"].as_str() {
        kind.push_str(&format!(", matching {pattern}"));
    }
    kind
}

#[cfg(test)]
mod tests {
    use super::parameters;
    use serde_json::json;

    #[test]
    fn required_parameters_are_first_and_members_of_objects_follow_them() {
        let schema = json!({"required": ["b"], "properties": {
            "a": {"type": "object", "properties": {"d": {"type": "number", "default": 2}}},
            "b": {"type": "array", "items": {"type": "string"}, "minItems": 1},
            "c": {"enum": ["x", 1], "type": ["string", "number"]},
            "f": {"type": "array", "items": {"type": "integer", "maximum": 3}, "maxItems": 2},
            "g": {"type": "string", "pattern": "^[a-z]+$"},
            "e": {"anyOf": [{"type": "string"}, {"type": "null"}, {"type": "string"}]}}});
        let all = parameters(&schema);
        let shown: Vec<String> = all
            .iter()
            .map(|p| format!("{} {} {} {:?}", p.name, p.kind, p.is_required, p.default))
            .collect();
        assert_eq!(
            shown,
            [
                "b array of string, at least 1 true None",
                "a object false None",
                "a.d number false Some(Number(2))",
                "c string or number: \"x\", 1 false None",
                "e string or null false None",
                "f array of (integer, up to 3), at most 2 false None",
                "g string, matching ^[a-z]+$ false None",
            ]
        );
    }
}
