//! Checking a value against a JSON Schema.
//!
//! All of draft 2020-12 that is about the value, and what older drafts wrote otherwise: tuples
//! under `items`, `dependencies`. `format` and what a text holds are left to the tool, and so is
//! what can't be checked: a pattern that is not a regular expression here, a reference that leads
//! nowhere. A general validator compiles a schema before it checks once, which costs more than a
//! whole small call: that is why this one is ours.

use super::equal::{digest, is_multiple, order, same};
use super::pattern::regex;
use super::reference::find;
use super::schema::describe;
use crate::text::counted;
use serde_json::{Map, Value};
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// A schema that takes more steps for one value is left to the tool.
const MAX_STEPS: usize = 1_000_000;

/// And one that goes deeper.
const MAX_DEPTH: usize = 400;

/// Checks a value.
///
/// # Errors
///
/// The argument, what was expected and what came.
pub(super) fn check(schema: &Value, value: &Value) -> Result<(), String> {
    let draft = schema["$schema"].as_str().unwrap_or_default();
    let mut checker = Checker {
        root: schema,
        has_lone_references: ["draft-04", "draft-06", "draft-07"]
            .iter()
            .any(|old| draft.contains(old)),
        path: String::new(),
        open: Vec::new(),
        depth: 0,
        steps: MAX_STEPS,
        patterns: BTreeMap::new(),
        targets: HashMap::new(),
    };
    let result = checker.check(schema, value);
    if checker.steps == 0 { Ok(()) } else { result }
}

struct Checker<'a> {
    /// What references lead into.
    root: &'a Value,
    /// In older drafts what is beside a reference does not count.
    has_lone_references: bool,
    /// Where the value is in the arguments.
    path: String,
    /// The references that the check is within, each with the value it is for.
    open: Vec<(*const Value, *const Value)>,
    depth: usize,
    /// How many are left.
    steps: usize,
    /// The patterns so far; `None` is not one.
    patterns: BTreeMap<&'a str, Option<fancy_regex::Regex>>,
    /// What the references so far lead to.
    targets: HashMap<&'a str, Option<&'a Value>>,
}

/// What schemas of one value have looked at: names of an object, places of a list.
#[derive(Default)]
struct Evaluated {
    is_all: bool,
    names: BTreeSet<String>,
    places: BTreeSet<usize>,
}

/// How an argument is called in a message.
fn name(path: &str) -> String {
    if path.is_empty() {
        "The arguments".to_owned()
    } else {
        format!("\"{path}\"")
    }
}

/// A part of a schema for a message.
fn shown(schema: &Value) -> String {
    const MAX_CHARS: usize = 200;
    let text = schema.to_string();
    match text.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
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

/// A count in a schema. Whole numbers may be written with a fraction of 0.
fn count(schema: &Map<String, Value>, key: &str) -> Option<u64> {
    let number = schema.get(key)?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is whole and not negative; a larger one than any count may become the largest"
    )]
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

/// The schemas for the first places of a list, and that for all others.
fn tuple(schema: &Map<String, Value>) -> (&[Value], Option<&Value>) {
    match (schema.get("prefixItems"), schema.get("items")) {
        (Some(Value::Array(first)), rest) => (first, rest),
        (_, Some(Value::Array(first))) => (first, schema.get("additionalItems")),
        (_, all) => (&[], all),
    }
}

impl<'a> Checker<'a> {
    fn name(&self) -> String {
        name(&self.path)
    }

    /// Checks what is within the value.
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

    fn fits(&mut self, schema: &'a Value, value: &Value) -> bool {
        self.check(schema, value).is_ok()
    }

    /// Whether a text fits a pattern; `None` where that can't be told.
    fn fits_pattern(&mut self, pattern: &'a str, text: &str) -> Option<bool> {
        let found = self
            .patterns
            .entry(pattern)
            .or_insert_with(|| regex(pattern));
        found.as_ref()?.is_match(text).ok()
    }

    fn check(&mut self, schema: &'a Value, value: &Value) -> Result<(), String> {
        let map = match schema {
            Value::Object(map) => map,
            Value::Bool(false) => return Err(format!("{} must not be given.", self.name())),
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
        for key in ["$ref", "$dynamicRef", "$recursiveRef"] {
            if let Some(target) = schema.get(key) {
                self.check_reference(target, value)?;
                if self.has_lone_references {
                    return Ok(());
                }
            }
        }
        self.check_type(schema, value)?;
        self.check_values(schema, value)?;
        self.check_combiners(schema, value)?;
        match value {
            Value::Object(map) => self.check_map(schema, map, value),
            Value::Array(items) => self.check_items(schema, items, value),
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
        self.opened(found, value, |this| this.check(found, value))
    }

    /// Calls `f` unless it is called for the same schema and value already: such a loop says
    /// nothing.
    fn opened<T: Default>(
        &mut self,
        schema: &'a Value,
        value: &Value,
        f: impl FnOnce(&mut Self) -> Result<T, String>,
    ) -> Result<T, String> {
        let pair = (std::ptr::from_ref(schema), std::ptr::from_ref(value));
        if self.open.contains(&pair) {
            return Ok(T::default());
        }
        self.open.push(pair);
        let result = f(self);
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
        Err(format!(
            "{} must be {}, but it is {}.",
            self.name(),
            wanted.join(" or "),
            describe(value)
        ))
    }

    fn check_values(&self, schema: &Map<String, Value>, value: &Value) -> Result<(), String> {
        if let Some(Value::Array(allowed)) = schema.get("enum")
            && !allowed.iter().any(|one| same(one, value))
        {
            let allowed: Vec<_> = allowed.iter().map(Value::to_string).collect();
            return Err(format!(
                "{} must be one of {}, but it is {}.",
                self.name(),
                allowed.join(", "),
                describe(value)
            ));
        }
        if let Some(wanted) = schema.get("const").filter(|wanted| !same(wanted, value)) {
            return Err(format!(
                "{} must be {wanted}, but it is {}.",
                self.name(),
                describe(value)
            ));
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
                return Err(format!(
                    "{} fits more than one of its alternatives.",
                    self.name()
                ));
            }
        }
        if let Some(not) = schema.get("not")
            && self.fits(not, value)
        {
            let not = shown(not);
            return Err(format!("{} must not fit {not}.", self.name()));
        }
        if let Some(condition) = schema.get("if") {
            let key = if self.fits(condition, value) {
                "then"
            } else {
                "else"
            };
            if let Some(branch) = schema.get(key) {
                self.check(branch, value)?;
            }
        }
        Ok(())
    }

    fn check_map(
        &mut self,
        schema: &'a Map<String, Value>,
        members: &Map<String, Value>,
        value: &Value,
    ) -> Result<(), String> {
        self.check_count(
            schema,
            ["minProperties", "maxProperties"],
            members.len(),
            "property",
        )?;
        self.check_required(list(schema, "required"), members, "")?;
        for key in ["dependentRequired", "dependentSchemas", "dependencies"] {
            for (name, wanted) in map(schema, key).filter(|(name, _)| members.contains_key(*name)) {
                match wanted {
                    Value::Array(names) => {
                        let why = format!(" where {name:?} is given");
                        self.check_required(names, members, &why)?;
                    }
                    schema => self.check(schema, value)?,
                }
            }
        }
        self.check_properties(schema, members)?;
        let Some(rest) = schema.get("unevaluatedProperties") else {
            return Ok(());
        };
        let mut evaluated = Evaluated::default();
        self.see(schema, value, &mut evaluated, true);
        if evaluated.is_all {
            return Ok(());
        }
        for (key, item) in members
            .iter()
            .filter(|(key, _)| !evaluated.names.contains(*key))
        {
            if rest == &Value::Bool(false) {
                let name = name(&self.inner(key));
                return Err(format!("{name} is not known."));
            }
            self.within(key, rest, item)?;
        }
        Ok(())
    }

    /// Where a member of the value is.
    fn inner(&self, key: &str) -> String {
        if self.path.is_empty() {
            key.to_owned()
        } else {
            format!("{}.{key}", self.path)
        }
    }

    fn check_required(
        &self,
        names: &[Value],
        members: &Map<String, Value>,
        why: &str,
    ) -> Result<(), String> {
        let mut names = names.iter().filter_map(Value::as_str);
        match names.find(|key| !members.contains_key(*key)) {
            Some(key) => Err(format!(
                "\"{}\" is missing; it is required{why}.",
                self.inner(key)
            )),
            None => Ok(()),
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
                let fits = self.fits_pattern(pattern, key);
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
        value: &Value,
    ) -> Result<(), String> {
        self.check_count(schema, ["minItems", "maxItems"], items.len(), "element")?;
        if schema.get("uniqueItems") == Some(&Value::Bool(true))
            && let Some(again) = self.repeated(items)
        {
            return Err(format!(
                "{} must not hold the same element twice, but {} is there again.",
                self.name(),
                describe(again)
            ));
        }
        let (first, rest) = tuple(schema);
        if rest == Some(&Value::Bool(false)) && items.len() > first.len() {
            return Err(format!(
                "{} must hold at most {}, not {}.",
                self.name(),
                counted(first.len(), "element"),
                items.len()
            ));
        }
        for (i, item) in items.iter().enumerate() {
            if let Some(schema) = first.get(i).or(rest) {
                self.within(&format!("[{i}]"), schema, item)?;
            }
        }
        self.check_contains(schema, items)?;
        let Some(rest) = schema.get("unevaluatedItems") else {
            return Ok(());
        };
        let mut evaluated = Evaluated::default();
        self.see(schema, value, &mut evaluated, true);
        if evaluated.is_all {
            return Ok(());
        }
        for (i, item) in items.iter().enumerate() {
            if !evaluated.places.contains(&i) {
                self.within(&format!("[{i}]"), rest, item)?;
            }
        }
        Ok(())
    }

    /// The first element that is the same as one before it.
    fn repeated<'v>(&mut self, items: &'v [Value]) -> Option<&'v Value> {
        let mut evaluated: HashMap<u64, Vec<&Value>> = HashMap::new();
        for item in items {
            let alike = evaluated.entry(digest(item)).or_default();
            self.steps = self.steps.saturating_sub(1 + alike.len());
            if self.steps == 0 {
                return None;
            }
            if alike.iter().any(|one| same(one, item)) {
                return Some(item);
            }
            alike.push(item);
        }
        None
    }

    fn check_contains(
        &mut self,
        schema: &'a Map<String, Value>,
        items: &[Value],
    ) -> Result<(), String> {
        let Some(wanted) = schema.get("contains") else {
            return Ok(());
        };
        let mut hits = 0;
        for item in items {
            hits += u64::from(self.fits(wanted, item));
        }
        let least = count(schema, "minContains").unwrap_or(1);
        let most = count(schema, "maxContains").unwrap_or(u64::MAX);
        let say = |bound: &str, number: u64| {
            Err(format!(
                "{} must hold {bound} {} that fit {}, not {hits}.",
                self.name(),
                counted(number, "element"),
                shown(wanted)
            ))
        };
        if hits < least {
            say("at least", least)
        } else if hits > most {
            say("at most", most)
        } else {
            Ok(())
        }
    }

    fn check_count(
        &self,
        schema: &Map<String, Value>,
        keys: [&str; 2],
        holds: usize,
        what: &str,
    ) -> Result<(), String> {
        let [least, most] = keys.map(|key| count(schema, key));
        match (least, most) {
            (Some(least), _) if (holds as u64) < least => Err(format!(
                "{} must hold at least {}, not {holds}.",
                self.name(),
                counted(least, what)
            )),
            (_, Some(most)) if (holds as u64) > most => Err(format!(
                "{} must hold at most {}, not {holds}.",
                self.name(),
                counted(most, what)
            )),
            _ => Ok(()),
        }
    }

    fn check_text(&mut self, schema: &'a Map<String, Value>, text: &str) -> Result<(), String> {
        let length = || text.chars().count() as u64;
        if let Some(least) = count(schema, "minLength")
            && least > 0
            && length() < least
        {
            return Err(if least == 1 {
                format!("{} must not be empty.", self.name())
            } else {
                format!("{} must be at least {least} characters long.", self.name())
            });
        }
        if let Some(most) = count(schema, "maxLength")
            && length() > most
        {
            return Err(format!(
                "{} must be at most {most} characters long.",
                self.name()
            ));
        }
        if let Some(Value::String(pattern)) = schema.get("pattern")
            && self.fits_pattern(pattern, text) == Some(false)
        {
            return Err(format!(
                "{} must match {pattern}, but it is {}.",
                self.name(),
                describe(&Value::from(text))
            ));
        }
        Ok(())
    }

    fn check_bounds(&self, schema: &Map<String, Value>, number: &Value) -> Result<(), String> {
        for (key, refused, words) in [
            ("minimum", &[Ordering::Less][..], "at least"),
            (
                "exclusiveMinimum",
                &[Ordering::Less, Ordering::Equal],
                "greater than",
            ),
            ("maximum", &[Ordering::Greater], "at most"),
            (
                "exclusiveMaximum",
                &[Ordering::Greater, Ordering::Equal],
                "less than",
            ),
        ] {
            let Some(bound) = schema.get(key) else {
                continue;
            };
            if order(number, bound).is_some_and(|order| refused.contains(&order)) {
                return Err(format!(
                    "{} must be {words} {bound}, but it is {number}.",
                    self.name()
                ));
            }
        }
        if let Some(step) = schema.get("multipleOf")
            && !is_multiple(number, step)
        {
            return Err(format!(
                "{} must be a multiple of {step}, but it is {number}.",
                self.name()
            ));
        }
        Ok(())
    }

    /// Gathers what the schemas of a value have looked at. `is_own` leaves out the keywords that
    /// are about the rest.
    fn see(
        &mut self,
        schema: &'a Map<String, Value>,
        value: &Value,
        evaluated: &mut Evaluated,
        is_own: bool,
    ) {
        self.steps = self.steps.saturating_sub(1);
        if self.steps == 0 || evaluated.is_all {
            return;
        }
        match value {
            Value::Object(members) => {
                evaluated.is_all |= schema.contains_key("additionalProperties")
                    || !is_own && schema.contains_key("unevaluatedProperties");
                let named = map(schema, "properties").map(|(key, _)| key);
                evaluated.names.extend(named.cloned());
                for (pattern, _) in map(schema, "patternProperties") {
                    for key in members.keys() {
                        if self.fits_pattern(pattern, key) != Some(false) {
                            evaluated.names.insert(key.clone());
                        }
                    }
                }
            }
            Value::Array(items) => {
                let (first, rest) = tuple(schema);
                evaluated.is_all |=
                    rest.is_some() || !is_own && schema.contains_key("unevaluatedItems");
                evaluated.places.extend(0..first.len());
                if let Some(wanted) = schema.get("contains") {
                    for (i, item) in items.iter().enumerate() {
                        if self.fits(wanted, item) {
                            evaluated.places.insert(i);
                        }
                    }
                }
            }
            _ => return,
        }
        for key in ["$ref", "$dynamicRef", "$recursiveRef"] {
            let Some(target) = schema.get(key).and_then(Value::as_str) else {
                continue;
            };
            let Some(found) = self.find(target) else {
                // It may have looked at anything.
                evaluated.is_all = true;
                return;
            };
            let looked = self.opened(found, value, |this| {
                this.evaluate_branch(found, value, evaluated);
                Ok(())
            });
            drop(looked);
        }
        for branch in list(schema, "allOf") {
            self.evaluate_branch(branch, value, evaluated);
        }
        for branch in list(schema, "anyOf").iter().chain(list(schema, "oneOf")) {
            if self.fits(branch, value) {
                self.evaluate_branch(branch, value, evaluated);
            }
        }
        if let Some(condition) = schema.get("if") {
            let key = if self.fits(condition, value) {
                self.evaluate_branch(condition, value, evaluated);
                "then"
            } else {
                "else"
            };
            if let Some(branch) = schema.get(key) {
                self.evaluate_branch(branch, value, evaluated);
            }
        }
        for key in ["dependentSchemas", "dependencies"] {
            for (name, branch) in map(schema, key) {
                if value.get(name).is_some() {
                    self.evaluate_branch(branch, value, evaluated);
                }
            }
        }
    }

    fn evaluate_branch(&mut self, schema: &'a Value, value: &Value, evaluated: &mut Evaluated) {
        if let Some(schema) = schema.as_object() {
            self.see(schema, value, evaluated, false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::check;
    use serde_json::{Value, json};

    /// Schemas, each with values that fit and values that don't.
    fn cases() -> [(Value, Value, Value); 13] {
        let text = json!({"type": "string"});
        [
            (
                json!({"patternProperties": {"^x-": text}, "additionalProperties": false}),
                json!([{"x-a": "y"}, {}, 7]),
                json!([{"y": "y"}, {"x-a": 1}]),
            ),
            (
                json!({"prefixItems": [text], "items": {"type": "number"}}),
                json!([["a", 1, 2], [], ["a"]]),
                json!([["a", "b"], [1]]),
            ),
            (
                json!({"items": [text], "additionalItems": false}),
                json!([["a"], []]),
                json!([["a", "b"], [1]]),
            ),
            (
                json!({"enum": [1, {"a": 2.0}]}),
                json!([1.0, {"a": 2}]),
                json!([true, "1"]),
            ),
            (
                json!({"maxItems": 2.0}),
                json!([[1, 2]]),
                json!([[1, 2, 3]]),
            ),
            (
                json!({"oneOf": [{"required": ["a"]}, {"required": ["b"]}]}),
                json!([{"a": 1}, {"b": 1}]),
                json!([{"a": 1, "b": 1}, {}]),
            ),
            (json!({"not": text}), json!([1, null]), json!(["a"])),
            (
                json!({"if": {"required": ["a"]}, "then": {"required": ["b"]}, "else": {"maxProperties": 0}}),
                json!([{"a": 1, "b": 1}, {}]),
                json!([{"a": 1}, {"c": 1}]),
            ),
            (
                json!({"contains": text, "minContains": 2, "maxContains": 3}),
                json!([["a", 1, "b"]]),
                json!([["a"], ["a", "b", "c", "d"]]),
            ),
            (
                json!({"contains": text, "minContains": 0}),
                json!([[]]),
                json!([]),
            ),
            (
                json!({"dependentRequired": {"a": ["b"]}, "dependentSchemas": {"c": {"required": ["d"]}}}),
                json!([{}, {"a": 1, "b": 1}, {"c": 1, "d": 1}]),
                json!([{"a": 1}, {"c": 1}]),
            ),
            (
                json!({"dependencies": {"a": ["b"], "c": {"required": ["d"]}}}),
                json!([{"b": 1}]),
                json!([{"a": 1}, {"c": 1}]),
            ),
            (
                json!({"propertyNames": {"pattern": "^[a-z]+$"}}),
                json!([{"ab": 1}]),
                json!([{"A": 1}]),
            ),
        ]
    }

    /// The cases about what other schemas leave, and about references.
    fn more_cases() -> [(Value, Value, Value); 8] {
        let text = json!({"type": "string"});
        [
            (
                json!({"allOf": [{"properties": {"a": true}}], "properties": {"b": true}, "unevaluatedProperties": false}),
                json!([{"a": 1, "b": 1}]),
                json!([{"c": 1}]),
            ),
            (
                json!({"anyOf": [{"required": ["a"], "properties": {"a": true}}, true], "unevaluatedProperties": text}),
                json!([{"a": 1, "c": "x"}]),
                json!([{"c": 1}]),
            ),
            (
                json!({"prefixItems": [true], "contains": text, "unevaluatedItems": false}),
                json!([[1, "a"]]),
                json!([[1, "a", 2]]),
            ),
            (
                json!({"$defs": {"n": {"required": ["v"], "properties": {"c": {"items": {"$ref": "#/$defs/n"}}}}}, "$ref": "#/$defs/n"}),
                json!([{"v": 1, "c": [{"v": 1, "c": []}]}]),
                json!([{"v": 1, "c": [{}]}]),
            ),
            (
                json!({"$defs": {"x": {"$anchor": "here", "type": "string"}}, "$ref": "#here", "minLength": 2}),
                json!(["ab"]),
                json!(["a", 1]),
            ),
            (
                json!({"$schema": "http://json-schema.org/draft-07/schema#", "definitions": {"x": text},
                    "$ref": "#/definitions/x", "minLength": 2}),
                json!(["a"]),
                json!([1]),
            ),
            (
                json!({"properties": {"a": false}}),
                json!([{}]),
                json!([{"a": 1}]),
            ),
            // What can't be checked is left to the tool.
            (
                json!({"$ref": "#/nowhere", "patternProperties": {"(": text}, "pattern": "(", "additionalProperties": false}),
                json!([{"a": 1}, "b"]),
                json!([]),
            ),
        ]
    }

    #[test]
    fn every_keyword_about_a_value_counts() {
        for (schema, good, bad) in cases().into_iter().chain(more_cases()) {
            for value in good.as_array().expect("a list") {
                assert_eq!(check(&schema, value), Ok(()), "{schema} {value}");
            }
            for value in bad.as_array().expect("a list") {
                assert!(check(&schema, value).is_err(), "{schema} {value}");
            }
        }
    }

    #[test]
    fn messages_say_where_and_what_was_expected() {
        for (schema, value, expected) in [
            (
                json!({"patternProperties": {"^x-": true}, "properties": {"a": true}, "additionalProperties": false}),
                json!({"b": 1}),
                "\"b\" is not known; what is known: a, ^x-.",
            ),
            (
                json!({"properties": {"a": {"dependentRequired": {"b": ["c"]}}}}),
                json!({"a": {"b": 1}}),
                "\"a.c\" is missing; it is required where \"b\" is given.",
            ),
            (
                json!({"properties": {"l": {"prefixItems": [{"type": "string"}]}}}),
                json!({"l": [1]}),
                "\"l[0]\" must be a string, but it is the number 1.",
            ),
            (
                json!({"not": {"required": ["a"]}}),
                json!({"a": 1}),
                "The arguments must not fit {\"required\":[\"a\"]}.",
            ),
            (
                json!({"maximum": 9_007_199_254_740_992_u64}),
                json!(9_007_199_254_740_993_u64),
                "The arguments must be at most 9007199254740992, but it is 9007199254740993.",
            ),
        ] {
            assert_eq!(check(&schema, &value), Err(expected.to_owned()));
        }
    }

    #[test]
    fn a_long_list_is_looked_through_once() {
        let unique = json!({"uniqueItems": true});
        let mut items: Vec<Value> = (0..300_000).map(Value::from).collect();
        items.push(json!(299_999.0));
        let refused = check(&unique, &Value::from(items));
        let message = refused.expect_err("the last one is there twice");
        assert!(message.contains("299999"), "{message}");
        for (value, fits) in [
            (
                json!([9_007_199_254_740_992_u64, 9_007_199_254_740_993_u64]),
                true,
            ),
            (json!([1, true, "1", [1], {"a": 1}, null, false, 0]), true),
            (json!([{"a": 1, "b": [2]}, {"b": [2.0], "a": 1}]), false),
            (json!([0, -0.0]), false),
        ] {
            assert_eq!(check(&unique, &value).is_ok(), fits, "{value}");
        }
    }

    #[test]
    fn a_reference_is_looked_up_once() {
        let mut definitions = serde_json::Map::new();
        for i in 0..20_000 {
            definitions.insert(format!("d{i}"), json!({"description": "d"}));
        }
        definitions.insert(
            "last".to_owned(),
            json!({"$anchor": "here", "type": "integer"}),
        );
        let schema = json!({"$defs": definitions, "items": {"$ref": "#here"}});
        let mut items: Vec<Value> = (0..20_000).map(Value::from).collect();
        assert_eq!(check(&schema, &Value::from(items.clone())), Ok(()));
        items.push("a".into());
        assert!(check(&schema, &Value::from(items)).is_err());
    }

    #[test]
    fn a_schema_that_never_comes_to_an_end_is_left_to_the_tool() {
        let own = json!({"$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/a"}]}}, "$ref": "#/$defs/a"});
        assert_eq!(check(&own, &json!(1)), Ok(()));
        let mut definitions = serde_json::Map::new();
        for i in 0..60 {
            let next = json!({"$ref": format!("#/$defs/d{}", i + 1)});
            definitions.insert(format!("d{i}"), json!({"anyOf": [next, next]}));
        }
        definitions.insert("d60".to_owned(), false.into());
        let large = json!({"$defs": definitions, "not": {"not": {"$ref": "#/$defs/d0"}}});
        assert_eq!(check(&large, &json!(1)), Ok(()));
        let deep = json!({"items": {"$ref": "#"}, "minItems": 1});
        let value = (0..120).fold(json!([1]), |value, _| json!([value]));
        assert_eq!(check(&deep, &value), Ok(()));
    }
}
