//! `$ref`: what it leads to is put in its place, because the API and hosts don't follow it.

use super::named;
use gemini_tools_core::diagnostic::Diagnostic;
use gemini_tools_core::tool::reference::{find, is_data};
use serde_json::{Map, Value, json};

/// A schema that would have more nodes than this with all references resolved is refused.
const MAX_NODES: usize = 20_000;

/// Or a deeper one.
const MAX_DEPTH: usize = 48;

/// Puts what every `$ref` leads to in its place; says whether one led to what it is in. Such
/// a reference is cut: what is left says the type only.
///
/// # Errors
///
/// Where a reference leads nowhere or out of the declaration, or all of them to too much.
pub(super) fn resolve(
    schema: &mut Value,
    tool: &str,
    repairs: &mut Vec<Diagnostic>,
) -> Result<bool, Diagnostic> {
    if !has_reference(schema) {
        return Ok(false);
    }
    let root = schema.clone();
    let mut resolver = Resolver {
        root: &root,
        tool,
        repairs,
        nodes: 0,
        open: Vec::new(),
        told: false,
        has_cut: false,
    };
    resolver.walk(schema, "", 0, false)?;
    Ok(resolver.has_cut)
}

/// Looks whether every `$ref` leads to something.
///
/// # Errors
///
/// Where one leads nowhere or out of the declaration.
pub(super) fn check(schema: &Value, tool: &str) -> Result<(), Diagnostic> {
    fn walk(
        root: &Value,
        value: &Value,
        place: &str,
        names: bool,
        tool: &str,
    ) -> Result<(), Diagnostic> {
        let Value::Object(map) = value else {
            let mut items = value.as_array().into_iter().flatten().enumerate();
            return items
                .try_for_each(|(i, item)| walk(root, item, &format!("{place}[{i}]"), false, tool));
        };
        if let Some(Value::String(target)) = map.get("$ref").filter(|_| !names) {
            found(root, target, tool, place)?;
        }
        for (key, item) in map {
            if is_data(key) && !names {
                continue;
            }
            let has_names = key == "properties" && !names;
            let at = if has_names {
                place.to_owned()
            } else {
                format!("{place}.{key}")
            };
            walk(root, item, &at, has_names, tool)?;
        }
        Ok(())
    }
    walk(schema, schema, "", false, tool)
}

/// What a reference leads to.
fn found<'a>(
    root: &'a Value,
    target: &str,
    tool: &str,
    place: &str,
) -> Result<&'a Value, Diagnostic> {
    find(root, target).ok_or_else(|| {
        let why = if target.starts_with('#') {
            "leads nowhere"
        } else {
            "leads out of the declaration"
        };
        let message = format!("The reference {target:?} {why}; the tool is left out.");
        Diagnostic::error(
            "reference",
            tool,
            named(place.trim_start_matches('.')),
            message,
        )
    })
}

fn has_reference(value: &Value) -> bool {
    match value {
        Value::Object(map) => {
            map.get("$ref").is_some_and(Value::is_string) || map.values().any(has_reference)
        }
        Value::Array(items) => items.iter().any(has_reference),
        _ => false,
    }
}

struct Resolver<'a> {
    root: &'a Value,
    tool: &'a str,
    repairs: &'a mut Vec<Diagnostic>,
    nodes: usize,
    /// The references that the walk is within.
    open: Vec<String>,
    told: bool,
    has_cut: bool,
}

impl Resolver<'_> {
    /// `has_names` says that the keys of the value are names of properties.
    fn walk(
        &mut self,
        value: &mut Value,
        place: &str,
        depth: usize,
        has_names: bool,
    ) -> Result<(), Diagnostic> {
        self.nodes += 1;
        if self.nodes > MAX_NODES || depth > MAX_DEPTH {
            return Err(self.refusal(
                "large-schema",
                place,
                "With its references resolved the schema is too large for any model; the tool is \
                 left out.",
            ));
        }
        let is_definitions = place.ends_with(".$defs") || place.ends_with(".definitions");
        if is_definitions && depth == 1 {
            // They are dropped once everything is in its place.
            return Ok(());
        }
        match value {
            Value::Array(items) => {
                for (i, item) in items.iter_mut().enumerate() {
                    self.walk(item, &format!("{place}[{i}]"), depth + 1, false)?;
                }
            }
            Value::Object(map) => {
                if let Some(Value::String(target)) = map.get("$ref")
                    && !has_names
                {
                    let target = target.clone();
                    return self.follow(value, &target, place, depth);
                }
                for (key, item) in map.iter_mut() {
                    if is_data(key) && !has_names {
                        continue;
                    }
                    let is_names = key == "properties" && !has_names;
                    let within = if is_names {
                        place.to_owned()
                    } else {
                        format!("{place}.{key}")
                    };
                    self.walk(item, &within, depth + 1, is_names)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn follow(
        &mut self,
        value: &mut Value,
        target: &str,
        place: &str,
        depth: usize,
    ) -> Result<(), Diagnostic> {
        let found = found(self.root, target, self.tool, place)?;
        let beside = match value {
            Value::Object(map) => std::mem::take(map),
            _ => Map::new(),
        };
        if self.open.iter().any(|open| open == target) {
            *value = cut(found, self.root);
            self.has_cut = true;
            self.repairs.push(Diagnostic::repair(
                "cyclic-reference",
                self.tool,
                named(place.trim_start_matches('.')),
                format!(
                    "The reference {target:?} leads to what it is in, without end; it is cut \
                     here, so that anything of its type is taken."
                ),
            ));
        } else {
            *value = found.clone();
            if let (Value::Object(map), "#") = (&mut *value, target) {
                map.remove("$defs");
                map.remove("definitions");
            }
            self.open.push(target.to_owned());
            let result = self.walk(value, place, depth + 1, false);
            self.open.pop();
            result?;
            if !self.told {
                self.told = true;
                self.repairs.push(Diagnostic::repair(
                    "reference",
                    self.tool,
                    named(place.trim_start_matches('.')),
                    "What references lead to was put in their place: hosts don't follow them.",
                ));
            }
        }
        if let Value::Object(map) = value {
            // A description beside a reference is about this use of it.
            for (key, item) in beside {
                if key != "$ref" {
                    map.insert(key, item);
                }
            }
        }
        Ok(())
    }

    fn refusal(&self, rule: &'static str, place: &str, message: impl Into<String>) -> Diagnostic {
        Diagnostic::error(
            rule,
            self.tool,
            named(place.trim_start_matches('.')),
            message,
        )
    }
}

/// What is left of a schema where it would be in itself.
fn cut(schema: &Value, root: &Value) -> Value {
    let mut schema = schema;
    // A reference to a reference, but not for ever.
    for _ in 0..MAX_DEPTH {
        match schema["$ref"]
            .as_str()
            .and_then(|target| find(root, target))
        {
            Some(next) => schema = next,
            None => break,
        }
    }
    let mut left = json!({});
    for key in ["type", "description"] {
        if let Some(value) = schema.get(key) {
            left[key] = value.clone();
        }
    }
    if left.get("type").is_none() && schema.get("properties").is_some() {
        left["type"] = "object".into();
    }
    left
}
