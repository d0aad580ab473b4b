//! A JSON Schema made such that the API takes it, and the gate for what can't be.
//!
//! The gate is Gemini CLI's: every node has a type, or a combiner whose branches all have one.

use super::{empty_object, keywords, references};
use gemini_tools_core::diagnostic::Diagnostic;
use serde_json::{Map, Number, Value, json};
use std::collections::BTreeSet;

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
pub const FORMATS: [&str; 7] = [
    "date-time",
    "enum",
    "float",
    "double",
    "int32",
    "int64",
    "byte",
];

/// What a value of any type may be.
const ANY: [&str; 6] = ["string", "number", "boolean", "object", "array", "null"];

/// What is of no use for checking a value.
const IDLE: [&str; 11] = [
    "title",
    "description",
    "default",
    "examples",
    "example",
    "deprecated",
    "readOnly",
    "writeOnly",
    "externalDocs",
    "xml",
    "$comment",
];

const COMBINERS: [&str; 3] = ["anyOf", "oneOf", "allOf"];

/// What says something about the value, and the API does not know it.
const UNTOLD: [&str; 16] = [
    "$dynamicRef",
    "$recursiveRef",
    "not",
    "if",
    "then",
    "else",
    "contains",
    "minContains",
    "maxContains",
    "dependentRequired",
    "dependentSchemas",
    "dependencies",
    "propertyNames",
    "patternProperties",
    "unevaluatedItems",
    "unevaluatedProperties",
];

/// Repairs the schema of a tool's arguments and adds what was done to `repairs`. Gives what
/// arguments are to be checked against, where a model can't be told all of it: the schema as it
/// was, in the words of JSON Schema.
///
/// # Errors
///
/// Why the tool is left out.
pub fn repair_schema(
    schema: &mut Value,
    tool: &str,
    repairs: &mut Vec<Diagnostic>,
) -> Result<Option<Value>, Diagnostic> {
    let original = schema.clone();
    let before = repairs.len();
    repair_for_gemini(schema, tool, repairs)?;
    let says_all = repairs.len() == before;
    Ok((!says_all).then(|| whole(original, tool)).flatten())
}

/// A schema as arguments are checked against it; `None` where it can't be read.
fn whole(mut schema: Value, tool: &str) -> Option<Value> {
    let mut repairer = SchemaRepair {
        tool,
        repairs: &mut Vec::new(),
        purpose: Purpose::Checks,
        has_cut: false,
        relaxed: 0,
    };
    repairer.repair(&mut schema, "", 0, None).ok()?;
    schema
        .as_object_mut()?
        .entry("type")
        .or_insert_with(|| "object".into());
    Some(schema)
}

fn repair_for_gemini(
    schema: &mut Value,
    tool: &str,
    repairs: &mut Vec<Diagnostic>,
) -> Result<(), Diagnostic> {
    if !schema.is_object() {
        return Err(Diagnostic::error(
            "schema",
            tool,
            "parametersJsonSchema",
            "The schema of the arguments is not an object; the tool is left out.",
        ));
    }
    let has_cut = references::resolve(schema, tool, repairs)?;
    if schema.as_object().is_some_and(Map::is_empty) {
        *schema = Value::Object(empty_object());
    }
    let mut repairer = SchemaRepair {
        tool,
        repairs,
        purpose: Purpose::Gemini,
        has_cut,
        relaxed: 0,
    };
    repairer.repair(schema, "", 0, None)?;
    let is_object = |v: &Value| v["type"] == "object";
    if let Some(root) = schema.as_object_mut() {
        if !root.contains_key("type") {
            repairer.repaired(
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
        return Err(Diagnostic::error(
            "schema",
            tool,
            "type",
            "The arguments must be an object; the tool is left out.",
        ));
    }
    repairer.open_untyped(schema, "");
    Ok(())
}

/// The place of the first node of a schema that says no type, neither itself nor in all
/// branches of a combiner; the root is called `schema`.
pub fn untyped(schema: &Value) -> Option<String> {
    fn find(schema: &Value, place: &str) -> Option<String> {
        let within = |key: &str| within(place, key);
        let branches = |key: &&str| schema[*key].as_array().filter(|list| !list.is_empty());
        let combined: Vec<_> = COMBINERS
            .iter()
            .filter_map(|key| Some((*key, branches(key)?)))
            .collect();
        if schema.get("type").is_none() && combined.is_empty() {
            return Some(named(place).to_owned());
        }
        let in_branches = combined.iter().find_map(|(key, list)| {
            let mut all = list.iter().enumerate();
            all.find_map(|(i, branch)| find(branch, &within(&format!("{key}[{i}]"))))
        });
        if in_branches.is_some() {
            return in_branches;
        }
        let properties = schema["properties"].as_object().into_iter().flatten();
        let inner = ["items", "additionalProperties"].into_iter();
        let inner = inner.filter_map(|key| Some((key, schema.get(key)?)));
        properties
            .map(|(key, value)| (key.as_str(), value))
            // `additionalProperties` may be a boolean.
            .chain(inner.filter(|(_, value)| value.is_object()))
            .find_map(|(key, value)| find(value, &within(key)))
    }
    find(schema, "")
}

/// What an API takes where a list has a schema for each place, the `items` of older drafts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tuples {
    /// Any draft.
    AsTheyAre,
    /// Draft 2020-12, where they are `prefixItems`.
    Prefixed,
    /// One schema for all places only.
    Joined,
}

/// Makes a schema a sound JSON Schema for an object, whichever API it is for. What no API takes
/// as it was is added to `findings` as an error.
///
/// # Errors
///
/// Why it can't be repaired.
pub fn repair_plain(
    schema: &mut Value,
    tool: &str,
    tuples: Tuples,
    findings: &mut Vec<Diagnostic>,
) -> Result<(), Diagnostic> {
    if !schema.is_object() {
        return Err(Diagnostic::error(
            "schema",
            tool,
            "schema",
            "The schema of the arguments is not an object.",
        ));
    }
    references::check(schema, tool)?;
    let mut repairer = SchemaRepair {
        tool,
        repairs: findings,
        purpose: Purpose::Plain(tuples),
        has_cut: false,
        relaxed: 0,
    };
    repairer.repair(schema, "", 0, None)?;
    match schema.get("type") {
        Some(name) if name == "object" => Ok(()),
        Some(_) => Err(Diagnostic::error(
            "schema",
            tool,
            "type",
            "The arguments must be an object.",
        )),
        None => {
            repairer.refused(
                "type",
                "schema",
                "\"type\" is missing at the top; it must be \"object\" there.",
            );
            schema["type"] = "object".into();
            Ok(())
        }
    }
}

/// The properties that all schemas of one value name together. What is required in an
/// alternative may be described beside it.
#[derive(Debug, Default)]
struct Known {
    names: BTreeSet<String>,
    /// Whether there may be others, in what a reference leads to.
    is_open: bool,
}

impl Known {
    /// `keys` are those under which a schema of the same value is, besides the combiners.
    fn of(schema: &Value, keys: &[&str]) -> Self {
        let mut known = Self::default();
        known.take(schema, keys);
        known
    }

    fn take(&mut self, schema: &Value, keys: &[&str]) {
        self.is_open |= schema.get("$ref").is_some() || schema.get("$dynamicRef").is_some();
        let properties = schema.get("properties").and_then(Value::as_object);
        let names = properties.into_iter().flat_map(Map::keys);
        self.names.extend(names.cloned());
        for inner in keys.iter().filter_map(|key| schema.get(*key)) {
            self.take(inner, keys);
        }
        for inner in COMBINERS.iter().filter_map(|key| schema.get(*key)) {
            for branch in inner.as_array().into_iter().flatten() {
                self.take(branch, keys);
            }
        }
    }

    fn has(&self, key: &str) -> bool {
        self.is_open || self.names.contains(key)
    }
}

/// What a schema is repaired for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    /// The API and hosts of Gemini.
    Gemini,
    /// Another API, for which it stays JSON Schema.
    Plain(Tuples),
    /// Checking arguments: it says what it said, in the words of JSON Schema.
    Checks,
}

struct SchemaRepair<'a> {
    tool: &'a str,
    repairs: &'a mut Vec<Diagnostic>,
    purpose: Purpose,
    /// Whether a reference without end was cut.
    has_cut: bool,
    /// How often something had to be left out that says which values are right.
    relaxed: usize,
}

impl SchemaRepair<'_> {
    fn repaired(&mut self, rule: &'static str, place: &str, message: impl Into<String>) {
        self.repairs
            .push(Diagnostic::repair(rule, self.tool, named(place), message));
    }

    /// Reports keywords that the API does not know, and that are left out.
    fn left_out(&mut self, place: &str, keywords: &str) {
        let what = format!("The API does not know {keywords}.");
        let repair = Diagnostic::repair("keyword", self.tool, named(place), what);
        self.repairs.push(repair.advise("", "It is left out."));
    }

    /// What no API takes as it was: an error where the schema is looked at for one that does not
    /// repair it.
    fn refused(&mut self, rule: &'static str, place: &str, message: impl Into<String>) {
        if self.purpose == Purpose::Gemini {
            self.repaired(rule, place, message);
        } else {
            self.repairs
                .push(Diagnostic::error(rule, self.tool, named(place), message));
        }
    }

    fn check_depth(&self, place: &str, depth: usize) -> Result<(), Diagnostic> {
        if depth <= MAX_DEPTH {
            return Ok(());
        }
        Err(Diagnostic::error(
            "large-schema",
            self.tool,
            place,
            "The schema is deeper than any model follows; the tool is left out.",
        ))
    }

    /// Repairs a schema, and all in it. `around` says which properties there are where it is one of
    /// several for the same value.
    fn repair(
        &mut self,
        schema: &mut Value,
        place: &str,
        depth: usize,
        around: Option<&Known>,
    ) -> Result<(), Diagnostic> {
        self.check_depth(place, depth)?;
        if self.purpose == Purpose::Gemini && schema.is_boolean() {
            // What takes everything, and what takes nothing: that the check knows.
            self.relaxed += usize::from(*schema == false);
            *schema = json!({});
        }
        if !keywords::is_schema(schema) {
            let message = format!("A schema is an object, and not {}.", short(schema));
            return Err(Diagnostic::error(
                "schema",
                self.tool,
                named(place),
                message,
            ));
        }
        let beside: &[&str] = match self.purpose {
            Purpose::Gemini => &[],
            Purpose::Plain(_) | Purpose::Checks => &["not", "if", "then", "else"],
        };
        let own = around.is_none().then(|| Known::of(schema, beside));
        let Some(known) = around.or(own.as_ref()) else {
            return Ok(());
        };
        let Some(map) = schema.as_object_mut() else {
            return Ok(());
        };
        self.repair_type(map, place);
        match self.purpose {
            Purpose::Gemini => self.repair_for_gemini(map, place, depth, known),
            Purpose::Plain(_) => self.repair_plain(map, place, depth, known),
            Purpose::Checks => {
                self.repair_nullable(map, place);
                map.retain(|key, _| !IDLE.contains(&&**key));
                self.repair_plain(map, place, depth, known)
            }
        }
    }

    /// Says of what has no certain type that it may be of any, in a form that the API and hosts
    /// take.
    fn open_untyped(&mut self, schema: &mut Value, place: &str) {
        let Some(map) = schema.as_object_mut() else {
            return;
        };
        let mut has_branches = false;
        for key in COMBINERS {
            if let Some(Value::Array(branches)) = map.get_mut(key) {
                has_branches |= !branches.is_empty();
                for (i, branch) in branches.iter_mut().enumerate() {
                    self.open_untyped(branch, &within(place, &format!("{key}[{i}]")));
                }
            }
        }
        if !has_branches && !map.contains_key("type") {
            let any = ANY.map(|name| json!({ "type": name }));
            map.insert("anyOf".to_owned(), any.as_slice().into());
            self.repaired(
                "untyped",
                place,
                "There is no type, which the API refuses, and none is certain: it is said to be \
                 of any type. Add \"type\" where it is not.",
            );
        }
        if let Some(Value::Object(properties)) = map.get_mut("properties") {
            for (key, property) in properties {
                self.open_untyped(property, &within(place, key));
            }
        }
        for key in ["items", "additionalProperties"] {
            if let Some(inner) = map.get_mut(key) {
                self.open_untyped(inner, &within(place, key));
            }
        }
    }

    /// Repairs what is not JSON Schema, and leaves all else.
    fn repair_plain(
        &mut self,
        map: &mut Map<String, Value>,
        place: &str,
        depth: usize,
        known: &Known,
    ) -> Result<(), Diagnostic> {
        self.repair_enum(map, place);
        self.repair_bounds(map, place);
        self.repair_tuple(map, place);
        self.repair_required(map, place, known);
        self.repair_values(map, place);
        // A definition may be of any value.
        let anything = Known {
            is_open: true,
            ..Known::default()
        };
        for (key, inner) in map.iter_mut() {
            let at = within(place, key);
            let (about, has_names) = match key.as_str() {
                "not" | "if" | "then" | "else" | "allOf" | "anyOf" | "oneOf" => {
                    (Some(known), false)
                }
                "dependentSchemas" => (Some(known), true),
                "$defs" | "definitions" => (Some(&anything), true),
                "properties" | "patternProperties" => (None, true),
                "items"
                | "prefixItems"
                | "additionalItems"
                | "unevaluatedItems"
                | "contains"
                | "additionalProperties"
                | "unevaluatedProperties"
                | "propertyNames" => (None, false),
                _ => continue,
            };
            match inner {
                Value::Array(list) => {
                    for (i, inner) in list.iter_mut().enumerate() {
                        self.repair(inner, &format!("{at}[{i}]"), depth + 1, about)?;
                    }
                }
                Value::Object(map) if has_names => {
                    // Names of properties are alone in a place.
                    let at = if key == "properties" { place } else { &at };
                    for (name, inner) in map {
                        self.repair(inner, &within(at, name), depth + 1, about)?;
                    }
                }
                inner => self.repair(inner, &at, depth + 1, about)?,
            }
        }
        Ok(())
    }

    /// A schema for each place of a list, where that is not what the API calls `items`.
    fn repair_tuple(&mut self, map: &mut Map<String, Value>, place: &str) {
        if !map.get("items").is_some_and(Value::is_array) {
            return;
        }
        match self.purpose {
            Purpose::Plain(Tuples::Prefixed) => {
                let rest = map.remove("additionalItems");
                let tuple = map.remove("items").unwrap_or_default();
                map.entry("prefixItems").or_insert(tuple);
                if let Some(rest) = rest {
                    map.insert("items".to_owned(), rest);
                }
                self.refused(
                    "tuple",
                    place,
                    "\"items\" is one schema for all places of a list; a list of schemas, one for \
                     each place, is \"prefixItems\".",
                );
            }
            Purpose::Plain(Tuples::Joined) => {
                map.remove("additionalItems");
                if let Some(Value::Array(tuple)) = map.remove("items") {
                    join(map, tuple);
                }
                self.refused(
                    "tuple",
                    place,
                    "\"items\" must be one schema for all places of a list; use \"anyOf\" in it.",
                );
            }
            Purpose::Plain(Tuples::AsTheyAre) | Purpose::Gemini | Purpose::Checks => {}
        }
    }

    /// Makes of it what the API and hosts understand.
    fn repair_for_gemini(
        &mut self,
        map: &mut Map<String, Value>,
        place: &str,
        depth: usize,
        known: &Known,
    ) -> Result<(), Diagnostic> {
        self.repair_constants(map, place);
        self.repair_bounds(map, place);
        self.repair_items(map, place);
        self.repair_patterns(map, place);
        self.take_out_impossible(map, place);
        self.repair_required(map, place, known);
        self.repair_values(map, place);
        self.add_type(map, place);
        self.repair_nullable(map, place);
        self.strip(map, place);
        if let Some(Value::Object(properties)) = map.get_mut("properties") {
            for (key, property) in properties {
                self.repair(property, &within(place, key), depth + 1, None)?;
            }
        }
        for key in ["items", "additionalProperties"] {
            if let Some(inner) = map.get_mut(key).filter(|v| v.is_object()) {
                self.repair(inner, &within(place, key), depth + 1, None)?;
            }
        }
        // `additionalProperties: {}` is `true`, and the API wants types.
        if map
            .get("additionalProperties")
            .is_some_and(|v| v == &json!({}))
        {
            map.remove("additionalProperties");
        }
        let mut is_vague = false;
        for key in COMBINERS {
            let before = self.relaxed;
            if let Some(Value::Array(branches)) = map.get_mut(key) {
                for (i, branch) in branches.iter_mut().enumerate() {
                    let at = within(place, &format!("{key}[{i}]"));
                    self.repair(branch, &at, depth + 1, Some(known))?;
                }
            }
            is_vague |= key == "oneOf" && (self.has_cut || self.relaxed > before);
        }
        if is_vague && let Some(branches) = map.remove("oneOf") {
            self.loosen(map, branches, place);
        }
        self.type_branches(map, place);
        Ok(())
    }

    /// Alternatives of which more than one may fit once what tells them apart is left out.
    fn loosen(&mut self, map: &mut Map<String, Value>, branches: Value, place: &str) {
        if map.contains_key("anyOf") {
            let all = map.entry("allOf").or_insert_with(|| json!([]));
            if let Some(all) = all.as_array_mut() {
                all.push(json!({ "anyOf": branches }));
            }
        } else {
            map.insert("anyOf".to_owned(), branches);
        }
        self.repaired(
            "alternatives",
            place,
            "\"oneOf\" became \"anyOf\": the API does not know all that tells the alternatives \
             apart.",
        );
    }

    /// Names that are given by patterns: what they may hold counts for all other names.
    fn repair_patterns(&mut self, map: &mut Map<String, Value>, place: &str) {
        let Some(Value::Object(patterns)) = map.get("patternProperties") else {
            return;
        };
        let rest = match map.get("additionalProperties") {
            Some(Value::Bool(false)) => None,
            Some(rest @ Value::Object(_)) => Some(rest),
            // Any other name is right already.
            _ => return,
        };
        if patterns.is_empty() {
            return;
        }
        let mut kinds: Vec<Value> = Vec::new();
        for kind in patterns.values().chain(rest) {
            if *kind != false && !kinds.contains(kind) {
                kinds.push(kind.clone());
            }
        }
        let is_open = kinds.iter().any(|kind| *kind == true || *kind == json!({}));
        match kinds.len() {
            0 => {}
            _ if is_open => drop(map.remove("additionalProperties")),
            1 => drop(map.insert("additionalProperties".to_owned(), kinds.remove(0))),
            _ => {
                let any = json!({ "anyOf": kinds });
                map.insert("additionalProperties".to_owned(), any);
            }
        }
        self.repaired(
            "patterns",
            place,
            "Names by a pattern became names of any kind, because the API does not know patterns.",
        );
    }

    /// Properties that must not be given, and alternatives that nothing fits.
    fn take_out_impossible(&mut self, map: &mut Map<String, Value>, place: &str) {
        let mut gone = 0;
        if let Some(Value::Object(properties)) = map.get_mut("properties") {
            let before = properties.len();
            properties.retain(|_, property| *property != false);
            gone += before - properties.len();
            self.relaxed += gone;
        }
        for key in ["anyOf", "oneOf"] {
            if let Some(Value::Array(branches)) = map.get_mut(key) {
                let before = branches.len();
                if branches.iter().any(|branch| *branch != false) {
                    branches.retain(|branch| *branch != false);
                }
                gone += before - branches.len();
            }
        }
        if gone > 0 {
            self.left_out(place, "\"false\"");
        }
    }

    /// Types of other dialects: Gemini's own in capitals, those of programming languages.
    fn repair_type(&mut self, map: &mut Map<String, Value>, place: &str) {
        let is_plain = self.purpose != Purpose::Gemini;
        let instead = |name: &str, right: &str| {
            if is_plain {
                format!("{name:?} is not a type of JSON Schema; it would be {right:?}.")
            } else {
                format!("{name:?} was taken for {right:?}.")
            }
        };
        let mut changed = None;
        match map.get_mut("type") {
            Some(Value::String(name)) => {
                if let Some(right) = right_type(name) {
                    changed = Some(instead(name, right));
                    right.clone_into(name);
                } else if name.eq_ignore_ascii_case("TYPE_UNSPECIFIED") {
                    changed = Some(format!("{name:?} says nothing and was taken out."));
                    map.remove("type");
                }
            }
            Some(Value::Array(list)) => {
                for item in list.iter_mut() {
                    if let Some((name, right)) = item
                        .as_str()
                        .and_then(|name| Some((name, right_type(name)?)))
                    {
                        changed = Some(instead(name, right));
                        *item = right.into();
                    }
                }
                if let Some(twice) = drop_repeated(list) {
                    changed = Some(format!("\"type\" names {twice} twice."));
                }
            }
            _ => {}
        }
        if let Some(message) = changed {
            self.refused("type-name", place, message);
        }
        // At the top nothing but an object helps.
        if !place.is_empty()
            && let Some(unknown) = map.get("type").filter(|name| !is_type(name)).cloned()
        {
            map.remove("type");
            self.relaxed += 1;
            let message = format!(
                "{unknown} is not a type of JSON Schema; the types are {}.",
                TYPES.join(", ")
            );
            self.refused("type-name", place, message);
        }
    }

    fn repair_constants(&mut self, map: &mut Map<String, Value>, place: &str) {
        if let Some(value) = map.remove("const") {
            self.repaired("const", place, "\"const\" became an \"enum\" of one.");
            map.entry("enum").or_insert_with(|| json!([value]));
        }
        self.repair_enum(map, place);
    }

    fn repair_enum(&mut self, map: &mut Map<String, Value>, place: &str) {
        if let Some(other) = map.get_mut("enum").filter(|values| !values.is_array()) {
            let message = format!("\"enum\" is a list of values, and not {}.", short(other));
            let value = other.take();
            if value.is_object() || value.is_null() {
                map.remove("enum");
            } else {
                *other = json!([value]);
            }
            self.refused("enum", place, message);
        }
        if map
            .get("enum")
            .and_then(Value::as_array)
            .is_some_and(Vec::is_empty)
        {
            self.relaxed += 1;
            self.repaired("enum", place, "An \"enum\" of nothing was taken out.");
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
                self.repaired(
                    "enum",
                    place,
                    "The strings of an integer's \"enum\" became integers.",
                );
            }
        }
    }

    /// Draft 4 has booleans beside the bound.
    fn repair_bounds(&mut self, map: &mut Map<String, Value>, place: &str) {
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
            self.refused(
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
                self.refused(
                    "bounds",
                    place,
                    format!("{key:?} is a number, not a string."),
                );
            }
        }
        for key in [
            "minimum",
            "maximum",
            "exclusiveMinimum",
            "exclusiveMaximum",
            "multipleOf",
        ] {
            let number = map
                .get(key)
                .and_then(Value::as_str)
                .map(str::parse::<Number>);
            if let Some(Ok(number)) = number {
                map.insert(key.to_owned(), number.into());
                self.refused(
                    "bounds",
                    place,
                    format!("{key:?} is a number, not a string."),
                );
            }
        }
    }

    /// Takes out what is not of the kind that its keyword takes.
    fn repair_values(&mut self, map: &mut Map<String, Value>, place: &str) {
        let mut faults = Vec::new();
        map.retain(|key, value| match keywords::mismatch(key, value) {
            Some(wanted) => {
                faults.push(format!("{key:?} is {wanted}, and not {}.", short(value)));
                false
            }
            None => true,
        });
        for message in faults {
            self.relaxed += 1;
            self.refused("keyword-value", place, message);
        }
    }

    /// Lists with a schema for each place, which the API doesn't know.
    fn repair_items(&mut self, map: &mut Map<String, Value>, place: &str) {
        let (first, rest) = match (map.remove("prefixItems"), map.remove("items")) {
            (Some(Value::Array(first)), rest) => (first, rest),
            (_, Some(Value::Array(first))) => (first, map.remove("additionalItems")),
            (_, None) => return,
            (_, Some(all)) => (Vec::new(), Some(all)),
        };
        if first.is_empty()
            && rest
                .as_ref()
                .is_some_and(|rest| !is_anything(rest) && *rest != false)
        {
            map.extend(rest.map(|all| ("items".to_owned(), all)));
            return;
        }
        if !map.contains_key("type") {
            self.repaired("type", place, "The type was added: \"array\".");
            map.insert("type".to_owned(), "array".into());
        }
        let most = map.get("maxItems").and_then(Value::as_f64);
        #[expect(clippy::cast_precision_loss, reason = "a list in a schema is short")]
        let places = first.len() as f64;
        let is_closed = rest == Some(Value::Bool(false)) || most.is_some_and(|most| most <= places);
        if rest == Some(Value::Bool(false)) && most.is_none_or(|most| most > places) {
            map.insert("maxItems".to_owned(), first.len().into());
        }
        if first.is_empty() {
            return;
        }
        self.relaxed += 1;
        describe_places(map, &first, rest.as_ref().filter(|_| !is_closed));
        match rest {
            _ if is_closed => join(map, first),
            Some(rest) if !is_anything(&rest) => join(map, [first, vec![rest]].concat()),
            _ => {}
        }
        self.repaired(
            "tuple",
            place,
            "A schema for each place of the list became one that any of its elements may fit, and \
             the description says the order.",
        );
    }

    fn repair_required(&mut self, map: &mut Map<String, Value>, place: &str, known: &Known) {
        if let Some(other) = map.get_mut("required").filter(|names| !names.is_array()) {
            let message = format!("\"required\" is a list of names, and not {}.", short(other));
            match other.take() {
                Value::String(name) if known.has(&name) => *other = json!([name]),
                _ => drop(map.remove("required")),
            }
            self.refused("required", place, message);
        }
        self.gather_required(map, place);
        let Some(Value::Array(list)) = map.get_mut("required") else {
            return;
        };
        let is_described = |key: &Value| key.as_str().is_some_and(|key| known.has(key));
        let twice = drop_repeated(list);
        let no_name = list.iter().position(|name| !name.is_string());
        let no_name = no_name.map(|at| short(&list[at]));
        list.retain(Value::is_string);
        let unknown: Vec<String> = list
            .iter()
            .filter(|key| !is_described(key))
            .map(Value::to_string)
            .collect();
        if matches!(self.purpose, Purpose::Plain(_)) {
            list.retain(is_described);
        }
        if list.is_empty() && !(unknown.is_empty() && no_name.is_none()) {
            map.remove("required");
        }
        if let Some(twice) = twice {
            let message = format!("\"required\" names {twice} twice.");
            self.refused("required", place, message);
        }
        if let Some(other) = no_name {
            let message = format!("\"required\" is a list of names, and {other} is none.");
            self.refused("required", place, message);
        }
        if unknown.is_empty() {
            return;
        }
        let names = unknown.join(", ");
        if self.purpose == Purpose::Gemini {
            let properties = map.entry("properties").or_insert_with(|| json!({}));
            for name in unknown
                .iter()
                .filter_map(|name| serde_json::from_str::<String>(name).ok())
            {
                properties[name] = json!({});
            }
            let message = format!("What is required is described, too: {names} may be anything.");
            self.repaired("required", place, message);
        } else {
            let message = format!("{names} can't be required: there is no such property.");
            self.repaired("required", place, message);
        }
    }

    /// Draft 3 has it at the property.
    fn gather_required(&mut self, map: &mut Map<String, Value>, place: &str) {
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
                    self.refused("required", &within(place, key), message);
                }
            }
        }
        if required.is_empty() {
            return;
        }
        let list = map.entry("required").or_insert_with(|| json!([]));
        if let Value::Array(list) = list {
            let new = required.into_iter().map(Value::from);
            let new: Vec<Value> = new.filter(|name| !list.contains(name)).collect();
            list.extend(new);
        }
    }

    /// Adds the type where it is certain.
    fn add_type(&mut self, map: &mut Map<String, Value>, place: &str) {
        if map.contains_key("type") {
            return;
        }
        let any = |keys: &[&str]| keys.iter().any(|key| map.contains_key(*key));
        let certain = if let Some(values) = map.get("enum").and_then(Value::as_array) {
            types_of(values)
        } else if any(&[
            "properties",
            "required",
            "minProperties",
            "maxProperties",
            "additionalProperties",
        ]) {
            Some("object".into())
        } else if any(&["items", "minItems", "maxItems", "uniqueItems"]) {
            Some("array".into())
        } else if any(&["minLength", "maxLength", "pattern"]) {
            Some("string".into())
        } else if any(&[
            "minimum",
            "maximum",
            "exclusiveMinimum",
            "exclusiveMaximum",
            "multipleOf",
        ]) {
            Some("number".into())
        } else {
            None
        };
        if let Some(certain) = certain {
            self.repaired("type", place, format!("The type was added: {certain}."));
            map.insert("type".to_owned(), certain);
        }
    }

    /// `OpenAPI`'s way to say that there may be none.
    fn repair_nullable(&mut self, map: &mut Map<String, Value>, place: &str) {
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
        self.repaired(
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
                self.relaxed += usize::from(UNTOLD.contains(&&**key));
                stripped.push(shown);
            }
            is_known
        });
        if !stripped.is_empty() {
            self.left_out(place, &stripped.join(", "));
        }
    }

    /// Branches without a type of their own have that which is beside the combiner.
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
            self.repaired(
                "type",
                place,
                "The type was added to the alternatives as well.",
            );
        }
    }
}

/// A value for a message.
fn short(value: &Value) -> String {
    match value {
        Value::Object(_) => "an object".to_owned(),
        value => value.to_string().chars().take(40).collect(),
    }
}

/// A place in a place. The empty name is one, too.
pub fn within(place: &str, key: &str) -> String {
    let key = if key.is_empty() { "\"\"" } else { key };
    match place {
        "" => key.to_owned(),
        place => format!("{place}.{key}"),
    }
}

/// What a place is called in a finding.
pub fn named(place: &str) -> &str {
    if place.is_empty() { "schema" } else { place }
}

/// Leaves the first of equal values; gives one of which there were several.
fn drop_repeated(list: &mut Vec<Value>) -> Option<Value> {
    let mut seen: Vec<Value> = Vec::new();
    let mut repeated = None;
    list.retain(|value| {
        let is_new = !seen.contains(value);
        if is_new {
            seen.push(value.clone());
        } else {
            repeated = Some(value.clone());
        }
        is_new
    });
    repeated
}

/// Makes of schemas for each place of a list one that any of its elements may fit.
fn join(map: &mut Map<String, Value>, tuple: Vec<Value>) {
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

/// The types of JSON Schema.
const TYPES: [&str; 7] = [
    "string", "integer", "number", "boolean", "array", "object", "null",
];

fn is_type(value: &Value) -> bool {
    let is_name = |value: &Value| value.as_str().is_some_and(|name| TYPES.contains(&name));
    match value {
        Value::Array(list) => !list.is_empty() && list.iter().all(is_name),
        one => is_name(one),
    }
}

/// The types of some values, as "type" says them.
fn types_of(values: &[Value]) -> Option<Value> {
    let mut types: Vec<&str> = values.iter().map(type_of).collect();
    types.sort_unstable();
    types.dedup();
    if types.contains(&"number") {
        types.retain(|name| *name != "integer");
    }
    match types[..] {
        [] => None,
        [one] => Some(one.into()),
        _ => Some(json!(types)),
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

/// Whether a schema takes every value.
fn is_anything(schema: &Value) -> bool {
    *schema == true || *schema == json!({})
}

/// Adds to the description of a list what is at which place.
fn describe_places(map: &mut Map<String, Value>, first: &[Value], rest: Option<&Value>) {
    /// The most characters of a schema for one place.
    const MAX_CHARS: usize = 200;
    let place = |schema: &Value| match schema.as_object() {
        Some(only) if only.len() == 1 && schema["type"].is_string() => {
            schema["type"].as_str().unwrap_or_default().to_owned()
        }
        _ if is_anything(schema) => "anything".to_owned(),
        _ => schema.to_string().chars().take(MAX_CHARS).collect(),
    };
    let first: Vec<String> = first.iter().map(place).collect();
    let mut text = format!("Elements in this order: {}", first.join(", "));
    if let Some(rest) = rest.filter(|rest| !is_anything(rest)) {
        text.push_str(&format!("; all others: {}", place(rest)));
    }
    text.push('.');
    if let Some(Value::String(own)) = map.get("description") {
        text = format!("{own} {text}");
    }
    map.insert("description".to_owned(), text.into());
}
