//! Repairing the JSON Schema of a tool's arguments so that the Gemini API and Gemini CLI accept it.
//!
//! Gemini CLI wants a type in every schema, or an `anyOf`, `oneOf` or `allOf` whose branches all
//! have one. What Gemini CLI drops or the API refuses is left out of the schema for a model.
//! Arguments are checked against the schema as its author wrote it.

use super::empty_object;
use crate::diagnostic::Diagnostic;
use crate::tool::reference::{NAMED_SCHEMAS, find, is_data};
use serde_json::{Map, Value, json};

const MAX_SCHEMAS: usize = 20_000;

const MAX_DEPTH: usize = 48;

const TYPES: [&str; 7] = [
    "string", "number", "boolean", "object", "array", "null", "integer",
];

const COMBINERS: [&str; 3] = ["anyOf", "oneOf", "allOf"];

/// Keywords of a schema that don't restrict arguments. They are dropped without a message.
const NOTES: [&str; 13] = [
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
    "externalDocs",
    "xml",
];

/// Formats that the API accepts. It refuses a request with any other.
const FORMATS: [&str; 7] = [
    "date-time",
    "enum",
    "float",
    "double",
    "int32",
    "int64",
    "byte",
];

/// Repairs the schema of a tool's arguments and adds what was done to `repairs`. Returns the
/// author's schema for checking arguments, with only type names and `nullable` repaired, if
/// anything else was repaired too.
///
/// # Errors
///
/// Returns the finding because of which the tool is dropped.
pub fn repair_schema(
    schema: &mut Value,
    tool: &str,
    repairs: &mut Vec<Diagnostic>,
) -> Result<Option<Value>, Diagnostic> {
    let refusal = |key: &str, message: &str| Diagnostic::error("schema", tool, key, message);
    if !schema.is_object() {
        let message = "The schema of the arguments is not an object; the tool is left out.";
        return Err(refusal("parametersJsonSchema", message));
    }
    if schema.as_object().is_some_and(Map::is_empty) {
        *schema = Value::Object(empty_object());
    }
    let mut repair = SchemaRepair {
        tool,
        repairs,
        root: Value::Null,
        schemas: 0,
        depth: 0,
        open: Vec::new(),
    };
    repair.normalize(schema, "");
    repair.root = schema.clone();
    let before = repair.repairs.len();
    repair.reduce(schema, "")?;
    if let Some(root) = schema.as_object_mut() {
        if !root.contains_key("type") {
            let message = "The arguments are always an object; the type was added.";
            repair.add("type", "", message);
            root.insert("type".to_owned(), "object".into());
        }
        // Hosts look for `properties` even if a tool has no parameters.
        root.entry("properties").or_insert_with(|| json!({}));
    }
    if schema["type"] != "object" {
        let message = "The arguments must be an object; the tool is left out.";
        return Err(refusal("type", message));
    }
    repair.open_untyped(schema, "");
    let mut whole = std::mem::take(&mut repair.root);
    if repair.repairs.len() == before {
        return Ok(None);
    }
    whole["type"] = "object".into();
    Ok(Some(whole))
}

struct SchemaRepair<'a> {
    tool: &'a str,
    repairs: &'a mut Vec<Diagnostic>,
    root: Value,
    schemas: usize,
    depth: usize,
    open: Vec<String>,
}

impl SchemaRepair<'_> {
    fn refusal(&self, code: &'static str, place: &str, message: impl Into<String>) -> Diagnostic {
        Diagnostic::error(code, self.tool, display_place(place), message)
    }

    fn add(&mut self, code: &'static str, place: &str, message: impl Into<String>) {
        let repair = Diagnostic::repair(code, self.tool, display_place(place), message);
        self.repairs.push(repair);
    }

    fn normalize(&mut self, schema: &mut Value, place: &str) {
        match schema {
            Value::Array(items) => {
                for (i, item) in items.iter_mut().enumerate() {
                    self.normalize(item, &format!("{place}[{i}]"));
                }
            }
            Value::Object(map) => {
                self.repair_type(map, place);
                self.repair_nullable(map, place);
                for (key, inner) in map.iter_mut().filter(|(key, _)| !is_data(key)) {
                    // Findings name a property without the key `properties`, such as `a.b`.
                    let at = match key.as_str() {
                        "properties" => place.to_owned(),
                        key => within(place, key),
                    };
                    match inner {
                        Value::Object(named) if NAMED_SCHEMAS.contains(&key.as_str()) => {
                            for (name, inner) in named {
                                self.normalize(inner, &within(&at, name));
                            }
                        }
                        inner => self.normalize(inner, &at),
                    }
                }
            }
            _ => {}
        }
    }

    fn repair_type(&mut self, map: &mut Map<String, Value>, place: &str) {
        let names = match map.get_mut("type") {
            Some(Value::Array(list)) => list.as_mut_slice(),
            Some(one) => std::slice::from_mut(one),
            None => return,
        };
        for name in names {
            let found = name
                .as_str()
                .and_then(|name| Some((name, json_type(name)?)));
            if let Some((written, right)) = found.filter(|(written, right)| written != right) {
                let message = format!("{written:?} was taken for {right:?}.");
                *name = right.into();
                self.add("type-name", place, message);
            }
        }
    }

    fn repair_nullable(&mut self, map: &mut Map<String, Value>, place: &str) {
        let is_nullable = map.get("nullable") == Some(&Value::Bool(true));
        // In `OpenAPI`, `nullable` says that a value may be null.
        if map.get("nullable").is_some_and(Value::is_boolean) {
            map.remove("nullable");
        }
        if !is_nullable {
            return;
        }
        if let Some(Value::Array(values)) = map.get_mut("enum")
            && !values.contains(&Value::Null)
        {
            values.push(Value::Null);
        }
        let null = json!("null");
        match map.get_mut("type") {
            Some(Value::Array(list)) if !list.contains(&null) => list.push(null),
            Some(one @ Value::String(_)) => *one = json!([one.take(), "null"]),
            None => {
                if let Some(Value::Array(list)) = map.get_mut("anyOf") {
                    list.push(json!({ "type": "null" }));
                }
            }
            _ => {}
        }
        let message = "\"nullable\" became the type \"null\" beside its own.";
        self.add("nullable", place, message);
    }

    /// Removes from a schema, and from all schemas within it, what the API and hosts don't accept,
    /// and adds each type that can be inferred for certain.
    fn reduce(&mut self, schema: &mut Value, place: &str) -> Result<(), Diagnostic> {
        self.schemas += 1;
        if self.schemas > MAX_SCHEMAS || self.depth > MAX_DEPTH {
            let message = "With its references resolved the schema is too large for any model; the \
                           tool is left out.";
            return Err(self.refusal("large-schema", place, message));
        }
        if let Some(target) = schema["$ref"].as_str().map(str::to_owned) {
            return self.follow(schema, target, place);
        }
        if schema.is_boolean() {
            *schema = json!({});
        }
        let Some(map) = schema.as_object_mut() else {
            let message = format!("A schema is an object, and not {}.", excerpt(schema));
            return Err(self.refusal("schema", place, message));
        };
        if let Some(value) = map.remove("const") {
            map.entry("enum").or_insert_with(|| json!([value]));
            self.add("const", place, "\"const\" became an \"enum\" of one.");
        }
        self.strip(map, place);
        self.add_type(map, place);
        self.depth += 1;
        for_each_inner(map, place, &mut |inner, place| self.reduce(inner, place))?;
        self.depth -= 1;
        self.type_branches(map, place);
        Ok(())
    }

    /// Replaces a reference by its target, and reduces the target. If the target contains this
    /// reference, only its type and description are kept, because the schema would never end.
    fn follow(
        &mut self,
        schema: &mut Value,
        target: String,
        place: &str,
    ) -> Result<(), Diagnostic> {
        let Some(found) = find(&self.root, &target) else {
            let message = format!(
                "The reference {target:?} leads nowhere in the declaration; the tool is left out."
            );
            return Err(self.refusal("reference", place, message));
        };
        let mut found = found.clone();
        let is_cyclic = self.open.contains(&target);
        if is_cyclic {
            found = cut(&found);
            let message = format!(
                "The reference {target:?} contains itself; it is cut here, so that anything of \
                 its type is accepted."
            );
            self.add("cyclic-reference", place, message);
        } else if self.repairs.iter().all(|repair| repair.code != "reference") {
            let message =
                "What references lead to was put in their place: hosts don't follow them.";
            self.add("reference", place, message);
        }
        if let (Value::Object(beside), Value::Object(found)) = (schema.take(), &mut found) {
            // A description beside a reference is about this use of the target and replaces the
            // target's own.
            found.extend(beside.into_iter().filter(|(key, _)| key != "$ref"));
        }
        *schema = found;
        self.open.push(target);
        let result = self.reduce(schema, place);
        self.open.pop();
        result
    }

    fn strip(&mut self, map: &mut Map<String, Value>, place: &str) {
        if map.contains_key("patternProperties") {
            // `patternProperties` is removed, so `additionalProperties` would forbid names that it
            // allows.
            map.remove("additionalProperties");
        }
        let mut stripped: Vec<String> = Vec::new();
        map.retain(|key, value| {
            let Some(fits) = fits_keyword(key, value) else {
                if !NOTES.contains(&key.as_str()) {
                    stripped.push(format!("{key:?}"));
                }
                return false;
            };
            let is_open = matches!(key.as_str(), "items" | "additionalProperties")
                && (*value == true || *value == json!({}));
            if !fits && !is_open {
                stripped.push(format!("{key:?}: {}", excerpt(value)));
            }
            fits
        });
        if !stripped.is_empty() {
            let message = format!("The API does not take {}.", stripped.join(", "));
            let repair = Diagnostic::repair("keyword", self.tool, display_place(place), message);
            self.repairs.push(repair.advise("", "It is left out."));
        }
    }

    fn add_type(&mut self, map: &mut Map<String, Value>, place: &str) {
        if map.contains_key("type") {
            return;
        }
        let certain = match map.get("enum") {
            Some(Value::Array(values)) => types_of(values),
            _ if map.contains_key("properties") => "object".into(),
            _ if map.contains_key("items") => "array".into(),
            _ => return,
        };
        self.add("type", place, format!("The type was added: {certain}."));
        map.insert("type".to_owned(), certain);
    }

    fn type_branches(&mut self, map: &mut Map<String, Value>, place: &str) {
        let Some(own) = map.get("type").cloned() else {
            return;
        };
        let mut is_changed = false;
        for key in COMBINERS {
            let branches = map.get_mut(key).and_then(Value::as_array_mut);
            for branch in branches.into_iter().flatten() {
                if let Some(branch) = branch.as_object_mut().filter(|branch| is_untyped(branch)) {
                    branch.insert("type".to_owned(), own.clone());
                    is_changed = true;
                }
            }
        }
        if is_changed {
            let message = "The type was added to the alternatives as well.";
            self.add("type", place, message);
        }
    }

    /// Declares each schema whose type is neither given nor inferred as one of any type, by an
    /// `anyOf` of all types, because the API refuses a schema without a type.
    fn open_untyped(&mut self, schema: &mut Value, place: &str) {
        let Some(map) = schema.as_object_mut() else {
            return;
        };
        let open = for_each_inner(map, place, &mut |inner, place| {
            self.open_untyped(inner, place);
            Ok(())
        });
        if open.is_ok() && is_untyped(map) {
            let any = TYPES[..6].iter().map(|name| json!({ "type": name }));
            map.insert("anyOf".to_owned(), any.collect());
            self.add(
                "untyped",
                place,
                "It has no type, which the API refuses, and none can be inferred: it is declared \
                 as any type. Add \"type\".",
            );
        }
    }
}

/// Returns true if the API accepts a value for a keyword. Returns `None` if it does not know the
/// keyword.
fn fits_keyword(key: &str, value: &Value) -> Option<bool> {
    let all = |fits: fn(&Value) -> bool| {
        let list = value.as_array();
        list.is_some_and(|list| !list.is_empty() && list.iter().all(fits))
    };
    let is_type = |value: &Value| value.as_str().is_some_and(|name| TYPES.contains(&name));
    let is_schema = value.as_object().is_some_and(|map| !map.is_empty());
    Some(match key {
        "type" => is_type(value) || all(is_type),
        "title" | "description" | "pattern" => value.is_string(),
        "format" => value.as_str().is_some_and(|name| FORMATS.contains(&name)),
        "default" => true,
        "enum" => all(|_| true),
        "anyOf" | "oneOf" | "allOf" => all(|_| true),
        "properties" => value.is_object(),
        "required" | "propertyOrdering" => {
            value.as_array().is_some_and(Vec::is_empty) || all(Value::is_string)
        }
        "items" => is_schema,
        "additionalProperties" => is_schema || value.is_boolean(),
        "uniqueItems" => value.is_boolean(),
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => value.is_number(),
        "multipleOf" => value.as_f64().is_some_and(|number| number > 0.0),
        "minItems" | "maxItems" | "minLength" | "maxLength" | "minProperties" | "maxProperties" => {
            value.as_f64().is_some_and(|n| n >= 0.0 && n.fract() == 0.0)
        }
        _ => return None,
    })
}

fn for_each_inner(
    map: &mut Map<String, Value>,
    place: &str,
    f: &mut dyn FnMut(&mut Value, &str) -> Result<(), Diagnostic>,
) -> Result<(), Diagnostic> {
    for (key, value) in map {
        match (key.as_str(), value) {
            ("properties", Value::Object(properties)) => {
                for (name, property) in properties {
                    f(property, &within(place, name))?;
                }
            }
            ("items" | "additionalProperties", inner @ Value::Object(_)) => {
                f(inner, &within(place, key))?;
            }
            ("anyOf" | "oneOf" | "allOf", Value::Array(branches)) => {
                for (i, branch) in branches.iter_mut().enumerate() {
                    f(branch, &within(place, &format!("{key}[{i}]")))?;
                }
            }
            _ => {}
        }
    }
    Ok(())
}

fn is_untyped(map: &Map<String, Value>) -> bool {
    let has = |key: &str| map.contains_key(key);
    !has("type") && !COMBINERS.into_iter().any(has)
}

fn cut(schema: &Value) -> Value {
    let kept = ["type", "description"].into_iter();
    let kept = kept.filter_map(|key| Some((key.to_owned(), schema.get(key)?.clone())));
    let mut left: Map<String, Value> = kept.collect();
    if !left.contains_key("type") && schema.get("properties").is_some() {
        left.insert("type".to_owned(), "object".into());
    }
    Value::Object(left)
}

fn excerpt(value: &Value) -> String {
    match value {
        Value::Object(_) => "an object".to_owned(),
        value => value.to_string().chars().take(40).collect(),
    }
}

fn within(place: &str, key: &str) -> String {
    let key = if key.is_empty() { "\"\"" } else { key };
    match place {
        "" => key.to_owned(),
        place => format!("{place}.{key}"),
    }
}

fn display_place(place: &str) -> &str {
    if place.is_empty() { "schema" } else { place }
}

/// Returns the JSON Schema type that a name means in any dialect or programming language, or `None`
/// for an unknown name.
pub fn json_type(name: &str) -> Option<&'static str> {
    Some(match name.to_ascii_lowercase().as_str() {
        "string" | "str" | "text" => "string",
        "integer" | "int" | "long" | "i64" => "integer",
        "number" | "float" | "double" | "f64" => "number",
        "boolean" | "bool" => "boolean",
        "array" | "list" | "tuple" => "array",
        "object" | "dict" | "map" | "table" => "object",
        "null" | "none" => "null",
        _ => return None,
    })
}

fn types_of(values: &[Value]) -> Value {
    let mut types: Vec<&str> = values.iter().map(type_of).collect();
    types.sort_unstable();
    types.dedup();
    match types[..] {
        [one] => one.into(),
        _ => json!(types),
    }
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
