//! Reads one settings file by key and type, and applies each key's rule.

use super::{CORRECT, Origin, PerFile, Scope, Settings, UNTRUSTED, keys};
use gemini_tools_core::diagnostic::Diagnostic;
use gemini_tools_environment::variables::MAY_RESTRICT;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

#[derive(Debug, Clone, Copy)]
pub(super) struct Key {
    pub(super) name: &'static str,
    pub(super) old: Option<&'static str>,
    pub(super) rule: Rule,
}

/// What a project's file may do to a key. An untrusted project may only make things stricter.
#[derive(Debug, Clone, Copy)]
pub(super) enum Rule {
    /// Nothing: only the user's and the system's files count.
    Own,
    /// Everything if the project is trusted, otherwise nothing.
    Trusted,
    /// The value is a list of what is excluded. All files' lists are joined, so that a project can
    /// only exclude more.
    TakesAway,
    /// The value is a list of what is allowed. An untrusted project's list can't allow anything
    /// that the user's list does not.
    Leaves,
    /// `true` in any file counts, and no other file can revoke it.
    Switch,
    /// The value is an upper limit. An untrusted project can only lower it.
    Limit {
        is_none: fn(i64) -> bool,
        otherwise: u64,
    },
    /// The value is a mode. The stricter of two counts.
    Stricter,
    /// The value is a list of file names, of which a project may only give Markdown files without a
    /// directory.
    PlainNames,
}

impl Rule {
    fn allows(self, limit: Option<i64>) -> u64 {
        match (self, limit) {
            (Self::Limit { is_none, .. }, Some(n)) if !is_none(n) => u64::try_from(n).unwrap_or(0),
            (Self::Limit { otherwise, .. }, None) => otherwise,
            _ => u64::MAX,
        }
    }
}

pub(super) struct Reader<'a> {
    pub(super) scope: Scope,
    pub(super) path: &'a Path,
    pub(super) file: &'a Value,
    pub(super) into: &'a mut Settings,
}

impl<'a> Reader<'a> {
    /// Returns the key's value if the file may set it, and otherwise notes that it is ignored.
    pub(super) fn value(&mut self, key: Key) -> Option<&'a Value> {
        let value = self.written(key)?;
        match key.rule {
            Rule::Own if self.is_project() => {
                let what = "left out, it counts in your own settings only";
                self.leave_out("settings-scope", key.name, what);
                None
            }
            Rule::Trusted if !self.counts_for_scope() => {
                self.leave_out(UNTRUSTED, key.name, "left out, the project is not trusted");
                None
            }
            _ => Some(value),
        }
    }

    fn written(&self, key: Key) -> Option<&'a Value> {
        let value = self.at(key.name).filter(|value| !value.is_null());
        value.or_else(|| self.written_of_old(key))
    }

    fn written_of_old(&self, key: Key) -> Option<&'a Value> {
        let old = key.old?;
        let value = self.file.get(old)?;
        // The old key can be the parent of the new one: `model` was a string, and is now the object
        // that contains `model.name`.
        let is_new = value.is_object() && key.name.starts_with(old);
        (!is_new && !value.is_null()).then_some(value)
    }

    pub(super) fn at(&self, name: &str) -> Option<&'a Value> {
        let mut names = name.split('.');
        names.try_fold(self.file, |value, name| value.get(name))
    }

    pub(super) fn is_project(&self) -> bool {
        self.scope == Scope::Project
    }

    pub(super) fn counts_for_scope(&self) -> bool {
        !self.is_project() || self.into.trust.is_trusted()
    }

    pub(super) fn leave_out(&mut self, code: &'static str, key: &str, what: &str) {
        let note = Diagnostic::warning(code, "", key, what);
        self.into.notes.push(note.in_file(self.path));
    }

    pub(super) fn replaces(&mut self, key: Key) {
        self.into.origins.retain(|origin| origin.key != key.name);
        self.adds(key);
    }

    pub(super) fn adds(&mut self, key: Key) {
        let value = self.written(key).cloned().unwrap_or_default();
        self.into.origins.push(Origin {
            key: key.name,
            scope: self.scope,
            value,
        });
    }

    pub(super) fn set<T, F: From<T>>(
        &mut self,
        key: Key,
        read: impl FnOnce(&mut Self, Key) -> Option<T>,
        field: fn(&mut Settings) -> &mut F,
    ) {
        if let Some(value) = read(self, key) {
            *field(self.into) = value.into();
            self.replaces(key);
        }
    }

    /// Sets one of the two parts of a field: that of the project's file, or that of the user's and
    /// the system's files. The value replaces only earlier ones of the same part.
    pub(super) fn set_for_scope<T, F: From<T>>(
        &mut self,
        key: Key,
        read: impl FnOnce(&mut Self, Key) -> Option<T>,
        field: fn(&mut Settings) -> &mut PerFile<F>,
    ) {
        if let Some(value) = read(self, key) {
            let scope = self.scope;
            *field(self.into).of_scope(scope) = value.into();
            let is_other = |from: Scope| (from == Scope::Project) != (scope == Scope::Project);
            let origins = &mut self.into.origins;
            origins.retain(|origin| origin.key != key.name || is_other(origin.scope));
            self.adds(key);
        }
    }

    pub(super) fn extend<T>(
        &mut self,
        key: Key,
        read: impl FnOnce(&mut Self, Key) -> Option<Vec<T>>,
        field: fn(&mut Settings) -> &mut Vec<T>,
    ) {
        if let Some(list) = read(self, key) {
            field(self.into).extend(list);
            self.adds(key);
        }
    }

    pub(super) fn switch_on(&mut self, key: Key, field: fn(&mut Settings) -> &mut bool) {
        if self.flag(key) == Some(true) {
            *field(self.into) = true;
            self.adds(key);
        }
    }

    /// Reports a value of the wrong type. If it is meant as a restriction, that is a fault:
    /// ignoring it would allow what the user wants to forbid.
    pub(super) fn wrong(&mut self, key: &str, expected: &str, value: &Value) {
        let what = format!("{expected} is expected, not {}", kind_of(value));
        let name = key.split('[').next().unwrap_or(key);
        let is_old = self.at(name).is_none_or(Value::is_null);
        let old = keys::old_name(name).filter(|_| is_old);
        let written = old.map_or(key.to_owned(), |old| key.replacen(name, old, 1));
        if keys::restricts(key) {
            self.fault(&written, what);
        } else {
            self.leave_out("settings-value", &written, &what);
        }
    }

    pub(super) fn fault(&mut self, key: &str, what: String) {
        let fault = Diagnostic::error("settings-value", "", key, what).in_file(self.path);
        self.into.problems.push(fault.advise(MAY_RESTRICT, CORRECT));
    }

    /// Reports restrictions that would have no effect where they stand: within a value that is not
    /// an object, under a single key that contains the dots, or under the old name of a key that
    /// also stands there with another value.
    pub(super) fn find_misplaced(&mut self) {
        let names = keys::restricting();
        let parents: BTreeSet<&str> = names
            .clone()
            .flat_map(|name| name.match_indices('.').map(|(end, _)| &name[..end]))
            .collect();
        for parent in parents {
            let value = self.at(parent);
            if let Some(value) = value.filter(|value| !value.is_object() && !value.is_null()) {
                self.fault(
                    parent,
                    format!("an object is expected, not {}", kind_of(value)),
                );
            }
        }
        for key in keys::ALL.iter().filter(|key| keys::restricts(key.name)) {
            let old = self.written_of_old(*key);
            if old.is_some() && self.written(*key) != old {
                let old = key.old.unwrap_or_default();
                let what = format!("{old:?} stands beside it, with another value");
                self.fault(key.name, what);
            }
        }
        for name in names.filter(|name| name.contains('.')) {
            if self.file.get(name).is_some() {
                let keys = name.replace('.', "\": { \"");
                self.fault(
                    name,
                    format!("it has no effect as one name; write \"{keys}\": …"),
                );
            }
        }
    }

    /// Notes names that are nearly those of restrictions: whoever has misspelt one relies on it.
    pub(super) fn find_misspelt(&mut self) {
        let names = |key: &Key| key.old.into_iter().chain([key.name]);
        let known: BTreeSet<&str> = keys::ALL.iter().flat_map(names).collect();
        let restricting = keys::ALL.iter().filter(|key| keys::restricts(key.name));
        let restricting: Vec<&str> = restricting.flat_map(names).collect();
        for written in paths_in(self.file, "", 3) {
            if !known.contains(&*written) {
                self.note_misspelt(&written, &restricting);
            }
        }
    }

    /// Notes that a name is unknown if it nearly is one of `names`: if it has a typing error, or
    /// lacks the section.
    pub(super) fn note_misspelt(&mut self, written: &str, names: &[&str]) {
        let is_meant = |name: &&&str| {
            let last = name.rsplit('.').next().unwrap_or(name);
            let most = (last.len() / 4).clamp(1, 2);
            let steps = || strsim::osa_distance(&written.to_lowercase(), &name.to_lowercase());
            written.eq_ignore_ascii_case(last)
                || written.len().abs_diff(name.len()) <= most && steps() <= most
        };
        if let Some(name) = names.iter().find(is_meant) {
            let what = format!("left out, there is no such setting; is {name:?} meant?");
            self.leave_out("settings-name", written, &what);
        }
    }

    pub(super) fn typed<T>(
        &mut self,
        key: Key,
        expected: &str,
        read: impl FnOnce(&'a Value) -> Option<T>,
    ) -> Option<T> {
        let value = self.value(key)?;
        let read = read(value);
        if read.is_none() {
            self.wrong(key.name, expected, value);
        }
        read
    }

    pub(super) fn text(&mut self, key: Key) -> Option<&'a str> {
        self.typed(key, "a string", Value::as_str)
    }

    pub(super) fn owned_text(&mut self, key: Key) -> Option<String> {
        self.text(key).map(str::to_owned)
    }

    pub(super) fn flag(&mut self, key: Key) -> Option<bool> {
        self.typed(key, "true or false", Value::as_bool)
    }

    pub(super) fn count(&mut self, key: Key) -> Option<u32> {
        let count = |value: &Value| u32::try_from(value.as_u64()?).ok();
        self.typed(key, "a whole number, not negative", count)
    }

    pub(super) fn limit(
        &mut self,
        key: Key,
        now: Option<i64>,
        read: impl FnOnce(&'a Value) -> Option<i64>,
    ) -> Option<i64> {
        let limit = self.typed(key, "a whole number", read)?;
        if key.rule.allows(Some(limit)) > key.rule.allows(now) && !self.counts_for_scope() {
            let what = "left out, it would allow more: the project is not trusted";
            self.leave_out(UNTRUSTED, key.name, what);
            return None;
        }
        Some(limit)
    }

    pub(super) fn list(&mut self, key: Key) -> Option<Vec<String>> {
        let value = self.value(key)?;
        self.list_in(key.name, value)
    }

    /// Returns a list of names. A single string counts as a list of one, as in Gemini CLI.
    pub(super) fn names(&mut self, key: Key) -> Option<Vec<String>> {
        match self.value(key)? {
            Value::String(name) => Some(vec![name.clone()]),
            value => self.list_in(key.name, value),
        }
    }

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
                // Numbers such as ports are often written without quotes.
                Value::Number(_) | Value::Bool(_) => {
                    table.insert(name.clone(), value.to_string());
                }
                _ => self.wrong(&format!("{key}.{name}"), "a string", value),
            }
        }
        table
    }
}

/// Returns the dotted names of what is in an object, down to so many levels.
fn paths_in(value: &Value, within: &str, levels: usize) -> Vec<String> {
    let inside = value.as_object().filter(|_| levels > 0);
    let paths = inside.into_iter().flatten().flat_map(|(name, value)| {
        let path = format!("{within}{name}");
        let more = paths_in(value, &format!("{path}."), levels - 1);
        std::iter::once(path).chain(more)
    });
    paths.collect()
}

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
