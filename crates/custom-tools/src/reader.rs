//! Reading the keys of a tool's file, and saying what is wrong with them.

use gemini_tools_core::diagnostic::Diagnostic;
use serde_json::{Map, Value};
use std::path::Path;

/// The keys of one file that have not been read yet, and what was wrong with the others.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    pub(super) tool: &'a str,
    pub(super) file: &'a Path,
    pub(super) findings: Vec<Diagnostic>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(tool: &'a str, file: &'a Path) -> Self {
        Self {
            tool,
            file,
            findings: Vec::new(),
        }
    }

    /// Something for which the tool is left out.
    pub(super) fn report(&mut self, key: &str, message: impl Into<String>) {
        let finding = Diagnostic::error("manifest", self.tool, key, message);
        self.findings.push(finding.in_file(self.file));
    }

    pub(super) fn warn(&mut self, rule: &'static str, key: &str, message: impl Into<String>) {
        let finding = Diagnostic::warning(rule, self.tool, key, message);
        self.findings.push(finding.in_file(self.file));
    }

    /// Takes a key's text.
    pub(super) fn text(&mut self, map: &mut Map<String, Value>, key: &str) -> Option<String> {
        match map.remove(key)? {
            Value::String(text) => Some(text),
            other => {
                self.report(
                    key,
                    format!("It must be a text, but it is {}.", kind_of(&other)),
                );
                None
            }
        }
    }

    /// Takes a key's truth.
    pub(super) fn flag(&mut self, map: &mut Map<String, Value>, key: &str) -> Option<bool> {
        match map.remove(key)? {
            Value::Bool(flag) => Some(flag),
            other => {
                self.report(
                    key,
                    format!("It must be true or false, but it is {}.", kind_of(&other)),
                );
                None
            }
        }
    }

    /// Takes a key's name, which must be one of `names`; gives its place among them.
    pub(super) fn choice(
        &mut self,
        map: &mut Map<String, Value>,
        key: &str,
        names: &[&str],
    ) -> Option<usize> {
        let text = self.text(map, key)?;
        let found = names.iter().position(|name| *name == text);
        if found.is_none() {
            let near = near(&text, names.iter().copied());
            self.report(
                key,
                format!("{text:?} is not one of {}.{near}", names.join(", ")),
            );
        }
        found
    }

    /// Reports keys that were not read.
    pub(super) fn unknown(&mut self, map: &Map<String, Value>, prefix: &str, known: &[&str]) {
        for key in map.keys() {
            let near = near(key, known.iter().copied());
            let message = if near.is_empty() {
                format!("There is no such key; the keys are {}.", known.join(", "))
            } else {
                format!("There is no such key.{near}")
            };
            self.report(&format!("{prefix}{key}"), message);
        }
    }
}

/// ` Did you mean "X"?`, to follow a sentence, or nothing.
pub(super) fn near<'n>(name: &str, names: impl Iterator<Item = &'n str>) -> String {
    let lower = name.to_lowercase().replace('-', "_");
    names
        .map(|other| (strsim::normalized_damerau_levenshtein(&lower, other), other))
        .filter(|(score, _)| *score >= 0.6)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map_or_else(String::new, |(_, other)| {
            format!(" Did you mean {other:?}?")
        })
}

/// What a value is, for messages.
pub(super) fn kind_of(value: &Value) -> String {
    match value {
        Value::Null => "nothing".to_owned(),
        Value::Bool(b) => format!("the boolean {b}"),
        Value::Number(n) => format!("the number {n}"),
        Value::String(s) if s.chars().count() <= 40 => format!("the text {s:?}"),
        Value::String(_) => "a text".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "a table".to_owned(),
    }
}
