//! Values of one settings file, by key and type.

use super::{Note, Scope, Settings};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// A key with dots, and its name in the older, flat generation of settings.
#[derive(Debug, Clone, Copy)]
pub(super) struct Key(pub(super) &'static str, pub(super) Option<&'static str>);

impl Key {
    pub(super) const fn new(name: &'static str) -> Self {
        Self(name, None)
    }

    pub(super) const fn since(name: &'static str, old: &'static str) -> Self {
        Self(name, Some(old))
    }
}

/// One file, and the settings that it adds to.
pub(super) struct Reader<'a> {
    pub(super) scope: Scope,
    pub(super) path: &'a Path,
    pub(super) file: &'a Value,
    pub(super) into: &'a mut Settings,
}

impl<'a> Reader<'a> {
    /// The value, where there is one.
    pub(super) fn get(&self, key: Key) -> Option<&'a Value> {
        let new = key
            .0
            .split('.')
            .try_fold(self.file, |value, name| value.get(name));
        new.or_else(|| self.file.get(key.1?))
            .filter(|value| !value.is_null())
    }

    pub(super) fn is_project(&self) -> bool {
        self.scope == Scope::Project
    }

    /// Whether this file's word counts where a project's does only in a trusted folder; if it
    /// does not, that is noted.
    pub(super) fn is_believed(&mut self, key: Key) -> bool {
        let is_believed = !self.is_project() || self.into.trust.is_trusted();
        if !is_believed && self.get(key).is_some() {
            self.leave_out(key.0, "left out, the project is not trusted", true);
        }
        is_believed
    }

    /// Whether this file is the user's own or the system's; if it is not, that is noted.
    pub(super) fn is_own(&mut self, key: Key) -> bool {
        if self.is_project() && self.get(key).is_some() {
            self.leave_out(
                key.0,
                "left out, it counts in your own settings only",
                false,
            );
        }
        !self.is_project()
    }

    pub(super) fn leave_out(&mut self, key: &str, what: &str, needs_trust: bool) {
        let note = Note {
            scope: self.scope,
            file: self.path.to_owned(),
            key: key.to_owned(),
            what: what.to_owned(),
            needs_trust,
        };
        self.into.notes.push(note);
    }

    /// Notes that this file's value has taken the place of all others.
    pub(super) fn replaces(&mut self, key: Key) {
        self.into.origins.retain(|(name, _)| *name != key.0);
        self.adds(key);
    }

    /// Notes that this file's value counts beside others.
    pub(super) fn adds(&mut self, key: Key) {
        self.into.origins.push((key.0, self.scope));
    }

    /// Notes a value of the wrong type.
    pub(super) fn wrong(&mut self, key: &str, expected: &str, value: &Value) {
        let what = format!("{expected} is expected, not {}", kind_of(value));
        self.leave_out(key, &what, false);
    }

    fn typed<T>(
        &mut self,
        key: Key,
        expected: &str,
        read: impl FnOnce(&'a Value) -> Option<T>,
    ) -> Option<T> {
        let value = self.get(key)?;
        let read = read(value);
        if read.is_none() {
            self.wrong(key.0, expected, value);
        }
        read
    }

    pub(super) fn text(&mut self, key: Key) -> Option<&'a str> {
        self.typed(key, "a string", Value::as_str)
    }

    pub(super) fn flag(&mut self, key: Key) -> Option<bool> {
        self.typed(key, "true or false", Value::as_bool)
    }

    pub(super) fn number<T>(
        &mut self,
        key: Key,
        read: impl FnOnce(&'a Value) -> Option<T>,
    ) -> Option<T> {
        self.typed(key, "a whole number", read)
    }

    pub(super) fn list(&mut self, key: Key) -> Option<Vec<String>> {
        let value = self.get(key)?;
        self.list_in(key.0, value)
    }

    /// [`Reader::list`], where what can't be understood may have been a restriction: then not
    /// everything may go on as if nothing had been said.
    pub(super) fn restrictions(&mut self, key: Key) -> Option<Vec<String>> {
        let before = self.into.notes.len();
        let list = match self.get(key)? {
            // Gemini CLI takes one name for a list of one.
            Value::String(name) => Some(vec![name.clone()]),
            value => self.list_in(key.0, value),
        };
        let notes = self.into.notes.split_off(before);
        let problems = notes.iter().map(ToString::to_string);
        self.into.problems.extend(problems);
        list
    }

    /// The texts of a list; other things in it are noted and left out.
    pub(super) fn list_in(&mut self, key: &str, value: &Value) -> Option<Vec<String>> {
        let Some(list) = value.as_array() else {
            self.wrong(key, "a list of strings", value);
            return None;
        };
        let mut texts = Vec::with_capacity(list.len());
        for (i, value) in list.iter().enumerate() {
            match value.as_str() {
                Some(text) => texts.push(text.to_owned()),
                None => self.wrong(&format!("{key}[{i}]"), "a string", value),
            }
        }
        Some(texts)
    }

    /// The texts of an object; other things in it are noted and left out.
    pub(super) fn table_in(&mut self, key: &str, value: &Value) -> BTreeMap<String, String> {
        let mut table = BTreeMap::new();
        let Some(map) = value.as_object() else {
            self.wrong(key, "an object of strings", value);
            return table;
        };
        for (name, value) in map {
            match value {
                Value::String(text) => {
                    table.insert(name.clone(), text.clone());
                }
                // A port is often written without quotes.
                Value::Number(_) | Value::Bool(_) => {
                    table.insert(name.clone(), value.to_string());
                }
                _ => self.wrong(&format!("{key}.{name}"), "a string", value),
            }
        }
        table
    }
}

/// What a value is, for people. The value itself may be a secret.
fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
