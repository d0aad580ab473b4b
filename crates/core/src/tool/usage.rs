//! Which argument names a tool knows, and what an unknown name may mean.
//!
//! A program passes one JSON object, and a tool ignores names in it that it does not know: a
//! model's call should not fail because of a superfluous argument. A person types, so an unknown
//! name is a typo, and [`super::from_words`] refuses it with the nearest name.

use super::args::HOST_KEY;
use super::{Args, ErrorKind, Schema, Tool};
use crate::registry::nearest;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::fmt;
use std::path::Path;

/// The arguments that a tool accepts besides the parameters of its schema, and its help.
#[derive(Debug, Clone, Copy, Default)]
pub struct Usage<'a> {
    /// Other names of arguments, each with the declared name.
    pub renamed: &'a [(&'a str, &'a str)],
    /// Arguments that the tool accepts but does not declare.
    pub undeclared: &'a [ExtraArgument],
    /// The declared names of the parameters that take a path, with the escapes of
    /// [`crate::text::line_name`] for bytes that are not UTF-8.
    pub paths: &'a [&'a str],
    /// The tool's limits, each with the thing that it limits, in markdown.
    pub limits: &'a [(&'a str, Limit)],
    /// Shell lines that call the tool. If there are none, they are made from the schema.
    pub examples: &'a [&'a str],
    /// The tool's own errors, and the case in which it returns each, in markdown.
    pub errors: &'a [(ErrorKind, &'a str)],
    /// The file that defines the tool, if it is one of a user or project.
    pub file: Option<&'a Path>,
}

impl Usage<'_> {
    /// The usage of a tool that only takes the parameters of its schema.
    pub const NONE: Self = Self {
        renamed: &[],
        undeclared: &[],
        paths: &[],
        limits: &[],
        examples: &[],
        errors: &[],
        file: None,
    };
}

/// A limit that is printed with its unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// A number of things.
    Count(u64),
    /// A number of bytes, which is printed in whole mebibytes.
    Bytes(u64),
    /// A number of characters.
    Characters(usize),
    /// A time in seconds.
    Seconds(u64),
    /// A time in hours.
    Hours(u64),
}

impl Limit {
    /// Pairs this limit with the thing that it limits, for [`Usage::limits`].
    pub const fn of(self, thing: &str) -> (&str, Self) {
        (thing, self)
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Count(n) => f.write_str(&grouped(n)),
            Self::Bytes(n) => write!(f, "{} MiB", grouped(n / (1024 * 1024))),
            Self::Characters(n) => write!(f, "{} characters", grouped(n as u64)),
            Self::Seconds(n) => write!(f, "{} s", grouped(n)),
            Self::Hours(n) => write!(f, "{} hours", grouped(n)),
        }
    }
}

fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// An argument that is accepted but not declared, because a model would pay for its declaration in
/// every request. People and other hosts use it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct ExtraArgument {
    /// The name.
    #[serde(skip)]
    pub name: &'static str,
    /// The type, in the words of JSON Schema.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// The meaning, in markdown.
    #[serde(rename = "description")]
    pub meaning: &'static str,
}

/// The argument names that a tool accepts, each with the declared name that it stands for.
/// `declared` has the names in the schema, or is `None` if the tool accepts any name.
pub(super) struct Names<'a> {
    pub(super) tool: &'a dyn Tool,
    pub(super) declared: Option<Vec<&'a str>>,
}

impl<'a> Names<'a> {
    pub(super) fn new(tool: &'a dyn Tool) -> Self {
        let (mut declared, schema) = (Vec::new(), tool.parameters().whole());
        let is_closed = collect(schema, &mut declared);
        let takes_none = schema["properties"].as_object().is_some_and(Map::is_empty);
        Self {
            tool,
            declared: (is_closed && (takes_none || !declared.is_empty())).then_some(declared),
        }
    }

    pub(super) fn spellings(&self) -> impl Iterator<Item = (&'a str, &'a str)> {
        let usage = self.tool.usage();
        let declared = self.declared.clone().unwrap_or_default();
        let declared = declared.into_iter().map(|name| (name, name));
        let renamed = usage.renamed.iter().copied();
        let more = usage.undeclared.iter().map(|more| (more.name, more.name));
        declared.chain(renamed).chain(more)
    }

    pub(super) fn knows(&self, name: &str) -> bool {
        self.spellings().any(|(known, _)| known == name)
    }

    pub(super) fn unknown<'n>(&self, args: &'n Map<String, Value>) -> Vec<&'n str> {
        if self.declared.is_none() {
            return Vec::new();
        }
        let keys = args.keys().map(String::as_str);
        keys.filter(|key| *key != HOST_KEY && !self.knows(key))
            .collect()
    }

    pub(super) fn missing(&self, args: &Map<String, Value>) -> Vec<&'a str> {
        let is_given = |name: &&str| {
            let mut spellings = self.spellings().filter(|(_, own)| own == name);
            spellings.any(|(spelling, _)| args.contains_key(spelling))
        };
        let mut required = required(self.tool.parameters());
        required.retain(|name| !is_given(name));
        required
    }

    /// Returns the argument that an unknown name may stand for: one with a similar name, or else
    /// the only required one that is missing, if no other name is unknown.
    pub(super) fn suggestion(&self, name: &str, args: &Map<String, Value>) -> Option<&'a str> {
        self.near(name, args).or_else(|| {
            match (self.missing(args).as_slice(), self.unknown(args).len()) {
                ([one], 1) => Some(*one),
                _ => None,
            }
        })
    }

    pub(super) fn near(&self, name: &str, args: &Map<String, Value>) -> Option<&'a str> {
        let missing = self.missing(args);
        let near = nearest(name, self.spellings());
        near.iter()
            .find(|near| missing.contains(near))
            .or_else(|| near.iter().find(|near| !args.contains_key(**near)))
            .copied()
    }

    pub(super) fn own<'n>(&self, name: &'n str) -> &'n str
    where
        'a: 'n,
    {
        let mut spellings = self.spellings();
        let found = spellings.find(|(spelling, _)| *spelling == name);
        found.map_or(name, |(_, own)| own)
    }
}

/// Collects the property names that a schema declares. Returns false if one of its keywords allows
/// others; a schema that merely lacks `additionalProperties` counts as closed.
fn collect<'s>(schema: &'s Value, names: &mut Vec<&'s str>) -> bool {
    let Some(map) = schema.as_object() else {
        return true;
    };
    let is_open = |key: &str| match map.get(key) {
        Some(Value::Bool(any)) => *any,
        Some(Value::Object(_)) => true,
        _ => false,
    };
    // A schema may allow further names by these keywords, which are not collected here.
    let unread = ["$ref", "if", "dependentSchemas", "patternProperties"];
    let more = ["additionalProperties", "unevaluatedProperties"];
    let mut is_closed =
        !unread.iter().any(|key| map.contains_key(*key)) && !more.iter().any(|key| is_open(key));
    let properties = map.get("properties").and_then(Value::as_object);
    for name in properties.into_iter().flat_map(Map::keys) {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    for key in ["allOf", "anyOf", "oneOf"] {
        let parts = map.get(key).and_then(Value::as_array);
        for part in parts.into_iter().flatten() {
            is_closed &= collect(part, names);
        }
    }
    is_closed
}

pub(super) fn required(schema: &Schema) -> Vec<&str> {
    let list = schema.value()["required"].as_array();
    list.into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect()
}

pub(super) fn misnamed(tool: &dyn Tool, args: &Args) -> Option<String> {
    let args = args.as_map();
    let names = Names::new(tool);
    let missing = names.missing(args);
    if missing.is_empty() {
        return None;
    }
    let meant = names.unknown(args).into_iter().find_map(|name| {
        let meant = names.suggestion(name, args)?;
        missing.contains(&meant).then_some((name, meant))
    });
    let (name, meant) = meant?;
    Some(format!(
        "The tool {} has no argument \"{name}\": did you mean {meant}?",
        tool.name()
    ))
}

#[cfg(test)]
pub(super) mod tests;
