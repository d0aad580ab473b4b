//! Checking a value against a JSON Schema.
//!
//! Supported are the keywords in declarations of the Gemini API and of MCP servers: types, values,
//! bounds, members and elements, `anyOf`, `oneOf`, `allOf` and `not`, references within the schema,
//! and tuples, also as older drafts write them. As JSON Schema asks for unknown keywords, all
//! others are ignored: `format`, `if`, `contains`, `dependent*`, `unevaluated*` and `$dynamicRef`
//! are left to the tool. So are a pattern that is no regular expression here, a reference without a
//! target, and a schema that takes too many steps. Without the feature `patterns` a schema with a
//! pattern fits nothing, because arguments that are only partly checked must not pass as checked.
//!
//! A general validator compiles a schema first. That costs more than a whole small call, so this
//! one does not.

use super::equal::{canonical, is_multiple, order, same};
use super::pattern::{self, Patterns};
use super::reference::{self, find};
use super::schema::describe;
use crate::text::{counted, excerpt};
use serde_json::{Map, Value};
use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

/// A keyword that limits a number, the comparison that violates it, and its words in messages.
type Bound = (&'static str, fn(Ordering) -> bool, &'static str);

const MAX_STEPS: usize = 1_000_000;

const MAX_EXCERPT_CHARS: usize = 200;

const MAX_DEPTH: usize = 400;

const UNREADABLE: &str = "The tool's schema has a pattern, and its program lacks the feature \
    `patterns` of gemini-tools-library, which checks it.";

pub(super) fn check(schema: &Value, value: &Value) -> Result<(), String> {
    if pattern::ARE_CHECKED || !reference::has_patterns(schema) {
        return check_part(schema, schema, value);
    }
    Err(UNREADABLE.to_owned())
}

pub(super) fn accepts(root: &Value, part: &Value, value: &Value) -> bool {
    check_part(root, part, value).is_ok()
}

fn check_part(root: &Value, part: &Value, value: &Value) -> Result<(), String> {
    let draft = root["$schema"].as_str().unwrap_or_default();
    let mut checker = Checker {
        root,
        has_lone_references: ["draft-04", "draft-06", "draft-07"]
            .iter()
            .any(|old| draft.contains(old)),
        path: String::new(),
        open: Vec::new(),
        depth: 0,
        steps: MAX_STEPS,
        patterns: Patterns::default(),
        targets: HashMap::new(),
    };
    let result = checker.check(part, value);
    if checker.steps == 0 { Ok(()) } else { result }
}

struct Checker<'a> {
    root: &'a Value,
    /// True for older drafts, in which a reference makes its sibling keywords void.
    has_lone_references: bool,
    path: String,
    /// References that are being followed, each with the value that it is checked for. Following
    /// such a pair again would never end.
    open: Vec<(*const Value, *const Value)>,
    depth: usize,
    steps: usize,
    patterns: Patterns<'a>,
    targets: HashMap<&'a str, Option<&'a Value>>,
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

fn count(schema: &Map<String, Value>, key: &str) -> Option<u64> {
    let number = schema.get(key)?;
    // The cast turns a number beyond the range of `u64` into `u64::MAX`, which no count reaches.
    let whole = |n: f64| (n >= 0.0 && n.fract() == 0.0).then_some(n as u64);
    number.as_u64().or_else(|| number.as_f64().and_then(whole))
}

fn list<'s>(schema: &'s Map<String, Value>, key: &str) -> &'s [Value] {
    schema
        .get(key)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

fn map<'s>(
    schema: &'s Map<String, Value>,
    key: &str,
) -> impl Iterator<Item = (&'s String, &'s Value)> + use<'s> {
    schema
        .get(key)
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
}

fn repeated(items: &[Value]) -> Option<&Value> {
    let mut seen = HashSet::new();
    items.iter().find(|item| !seen.insert(canonical(item)))
}

fn tuple(schema: &Map<String, Value>) -> (&[Value], Option<&Value>) {
    match (schema.get("prefixItems"), schema.get("items")) {
        (Some(Value::Array(first)), rest) => (first, rest),
        (_, Some(Value::Array(first))) => (first, schema.get("additionalItems")),
        (_, all) => (&[], all),
    }
}

pub(super) fn element(schema: &Map<String, Value>, at: usize) -> Option<&Value> {
    let (first, rest) = tuple(schema);
    first.get(at).or(rest)
}

impl<'a> Checker<'a> {
    fn wrong(&self, what: &str) -> Result<(), String> {
        Err(format!("{} {what}.", name(&self.path)))
    }

    fn within(&mut self, step: &str, schema: &'a Value, value: &Value) -> Result<(), String> {
        let before = self.path.len();
        if !self.path.is_empty() && !step.starts_with('[') {
            self.path.push('.');
        }
        self.path.push_str(step);
        let result = self.check(schema, value);
        self.path.truncate(before);
        result
    }

    fn check(&mut self, schema: &'a Value, value: &Value) -> Result<(), String> {
        let map = match schema {
            Value::Object(map) => map,
            Value::Bool(false) => return self.wrong("must not be given"),
            _ => return Ok(()),
        };
        self.steps = self.steps.saturating_sub(1);
        if self.depth == MAX_DEPTH {
            self.steps = 0;
        }
        if self.steps == 0 {
            return Ok(());
        }
        self.depth += 1;
        let result = self.check_object(map, value);
        self.depth -= 1;
        result
    }

    fn check_object(
        &mut self,
        schema: &'a Map<String, Value>,
        value: &Value,
    ) -> Result<(), String> {
        if let Some(target) = schema.get("$ref") {
            self.check_reference(target, value)?;
            if self.has_lone_references {
                return Ok(());
            }
        }
        self.check_type(schema, value)?;
        self.check_values(schema, value)?;
        self.check_combiners(schema, value)?;
        match value {
            Value::Object(map) => self.check_map(schema, map),
            Value::Array(items) => self.check_items(schema, items),
            Value::String(text) => self.check_text(schema, text),
            Value::Number(_) => self.check_bounds(schema, value),
            Value::Null | Value::Bool(_) => Ok(()),
        }
    }

    fn find(&mut self, target: &'a str) -> Option<&'a Value> {
        let root = self.root;
        let entry = self.targets.entry(target);
        *entry.or_insert_with(|| find(root, target))
    }

    fn check_reference(&mut self, target: &'a Value, value: &Value) -> Result<(), String> {
        let found = target.as_str().and_then(|target| self.find(target));
        let Some(found) = found else { return Ok(()) };
        let pair = (std::ptr::from_ref(found), std::ptr::from_ref(value));
        // The reference leads back to itself and restricts nothing.
        if self.open.contains(&pair) {
            return Ok(());
        }
        self.open.push(pair);
        let result = self.check(found, value);
        self.open.pop();
        result
    }

    fn check_type(&self, schema: &Map<String, Value>, value: &Value) -> Result<(), String> {
        let expected: Vec<&str> = match schema.get("type") {
            Some(Value::String(one)) => vec![one],
            Some(Value::Array(many)) => many.iter().filter_map(Value::as_str).collect(),
            _ => return Ok(()),
        };
        if expected.is_empty() || expected.iter().any(|t| matches_type(t, value)) {
            return Ok(());
        }
        let wanted: Vec<_> = expected.iter().map(|t| with_article(t)).collect();
        self.wrong(&format!(
            "must be {}, but it is {}",
            wanted.join(" or "),
            describe(value)
        ))
    }

    fn check_values(&self, schema: &Map<String, Value>, value: &Value) -> Result<(), String> {
        if let Some(Value::Array(allowed)) = schema.get("enum")
            && !allowed.iter().any(|one| same(one, value))
        {
            let allowed: Vec<_> = allowed.iter().map(Value::to_string).collect();
            return self.wrong(&format!(
                "must be one of {}, but it is {}",
                allowed.join(", "),
                describe(value)
            ));
        }
        if let Some(wanted) = schema.get("const").filter(|wanted| !same(wanted, value)) {
            return self.wrong(&format!("must be {wanted}, but it is {}", describe(value)));
        }
        Ok(())
    }

    fn check_combiners(
        &mut self,
        schema: &'a Map<String, Value>,
        value: &Value,
    ) -> Result<(), String> {
        for branch in list(schema, "allOf") {
            self.check(branch, value)?;
        }
        for key in ["anyOf", "oneOf"] {
            let mut first = None;
            let mut hits = 0;
            for branch in list(schema, key) {
                match self.check(branch, value) {
                    Ok(()) => hits += 1,
                    Err(e) => first = first.or(Some(e)),
                }
            }
            if hits == 0
                && let Some(e) = first
            {
                return Err(e);
            }
            if key == "oneOf" && hits > 1 {
                return self.wrong("fits more than one of its alternatives");
            }
        }
        if let Some(not) = schema.get("not")
            && self.check(not, value).is_ok()
        {
            let not = not.to_string();
            let not = excerpt(&not, MAX_EXCERPT_CHARS);
            return self.wrong(&format!("must not fit {not}"));
        }
        Ok(())
    }

    fn check_map(
        &mut self,
        schema: &'a Map<String, Value>,
        members: &Map<String, Value>,
    ) -> Result<(), String> {
        self.check_count(
            schema,
            ["minProperties", "maxProperties"],
            members.len(),
            "property",
        )?;
        let mut required = list(schema, "required").iter().filter_map(Value::as_str);
        if let Some(key) = required.find(|key| !members.contains_key(*key)) {
            let name = self.inner(key);
            return Err(format!("\"{name}\" is missing; it is required."));
        }
        self.check_properties(schema, members)
    }

    fn inner(&self, key: &str) -> String {
        if self.path.is_empty() {
            key.to_owned()
        } else {
            format!("{}.{key}", self.path)
        }
    }

    fn check_properties(
        &mut self,
        schema: &'a Map<String, Value>,
        members: &Map<String, Value>,
    ) -> Result<(), String> {
        for (key, property) in map(schema, "properties") {
            if let Some(item) = members.get(key) {
                self.within(key, property, item)?;
            }
        }
        if let Some(names) = schema.get("propertyNames") {
            for key in members.keys() {
                self.within(key, names, &Value::from(key.as_str()))
                    .map_err(|e| format!("The name {key:?} can't be used: {e}"))?;
            }
        }
        let more = schema.get("additionalProperties");
        if more.is_none() && !schema.contains_key("patternProperties") {
            return Ok(());
        }
        for (key, item) in members {
            let known = schema.get("properties").and_then(Value::as_object);
            let mut is_known = known.is_some_and(|known| known.contains_key(key));
            for (pattern, property) in map(schema, "patternProperties") {
                let fits = self.patterns.fit(pattern, key);
                if fits == Some(true) {
                    self.within(key, property, item)?;
                }
                is_known |= fits != Some(false);
            }
            match more {
                Some(Value::Bool(false)) if !is_known => {
                    let known: Vec<&str> = ["properties", "patternProperties"]
                        .iter()
                        .flat_map(|names| map(schema, names).map(|(name, _)| name.as_str()))
                        .collect();
                    return Err(format!(
                        "{} is not known; what is known: {}.",
                        name(&self.inner(key)),
                        known.join(", ")
                    ));
                }
                Some(more) if !is_known => self.within(key, more, item)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn check_items(
        &mut self,
        schema: &'a Map<String, Value>,
        items: &[Value],
    ) -> Result<(), String> {
        self.check_count(schema, ["minItems", "maxItems"], items.len(), "element")?;
        if schema.get("uniqueItems") == Some(&Value::Bool(true))
            && let Some(again) = repeated(items)
        {
            return self.wrong(&format!(
                "must not hold the same element twice, but {} is there again",
                describe(again)
            ));
        }
        let (first, rest) = tuple(schema);
        if rest == Some(&Value::Bool(false)) && items.len() > first.len() {
            return self.wrong(&format!(
                "must hold at most {}, not {}",
                counted(first.len(), "element"),
                items.len()
            ));
        }
        for (i, item) in items.iter().enumerate() {
            if let Some(schema) = element(schema, i) {
                self.within(&format!("[{i}]"), schema, item)?;
            }
        }
        Ok(())
    }

    fn check_count(
        &self,
        schema: &Map<String, Value>,
        keys: [&str; 2],
        holds: usize,
        what: &str,
    ) -> Result<(), String> {
        let [least, most] = keys.map(|key| count(schema, key));
        let (words, bound) = match (least, most) {
            (Some(least), _) if (holds as u64) < least => ("at least", least),
            (_, Some(most)) if (holds as u64) > most => ("at most", most),
            _ => return Ok(()),
        };
        let bound = counted(bound, what);
        self.wrong(&format!("must hold {words} {bound}, not {holds}"))
    }

    fn check_text(&mut self, schema: &'a Map<String, Value>, text: &str) -> Result<(), String> {
        let length = || text.chars().count() as u64;
        if let Some(least) = count(schema, "minLength")
            && least > 0
            && length() < least
        {
            return match least {
                1 => self.wrong("must not be empty"),
                _ => self.wrong(&format!("must be at least {least} characters long")),
            };
        }
        if let Some(most) = count(schema, "maxLength")
            && length() > most
        {
            return self.wrong(&format!("must be at most {most} characters long"));
        }
        if let Some(Value::String(pattern)) = schema.get("pattern")
            && self.patterns.fit(pattern, text) == Some(false)
        {
            return self.wrong(&format!(
                "must match {pattern}, but it is {}",
                describe(&Value::from(text))
            ));
        }
        Ok(())
    }

    fn check_bounds(&self, schema: &Map<String, Value>, number: &Value) -> Result<(), String> {
        let bounds: [Bound; 4] = [
            ("minimum", Ordering::is_lt, "at least"),
            ("exclusiveMinimum", Ordering::is_le, "greater than"),
            ("maximum", Ordering::is_gt, "at most"),
            ("exclusiveMaximum", Ordering::is_ge, "less than"),
        ];
        for (key, is_beyond, words) in bounds {
            if let Some(bound) = schema.get(key)
                && order(number, bound).is_some_and(is_beyond)
            {
                let unit = unit(schema);
                return self.wrong(&format!(
                    "must be {words} {bound}{unit}, but it is {number}"
                ));
            }
        }
        if let Some(step) = schema.get("multipleOf")
            && !is_multiple(number, step)
        {
            return self.wrong(&format!("must be a multiple of {step}, but it is {number}"));
        }
        Ok(())
    }
}

/// Returns the unit of a number, after a blank, if the schema's description names one. A message
/// that names the unit tells a caller who has sent milliseconds that seconds are expected.
fn unit(schema: &Map<String, Value>) -> String {
    let text = schema.get("description").and_then(Value::as_str);
    let words = text
        .into_iter()
        .flat_map(|text| text.split(|c: char| !c.is_alphabetic()));
    words
        .map(str::to_ascii_lowercase)
        .find(|word| ["milliseconds", "seconds", "minutes", "bytes"].contains(&word.as_str()))
        .map_or_else(String::new, |word| format!(" {word}"))
}

#[cfg(all(test, feature = "patterns"))]
mod tests;
