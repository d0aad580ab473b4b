//! Sets and removes values in a settings file without touching anything else.

use super::{json, toml, yaml};
use crate::syntax::Syntax;
use serde_json::{Map, Value};
use std::path::Path;

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Set {
    pub(super) at: Vec<String>,
    /// `None` removes the key, and the objects that become empty by that.
    pub(super) value: Option<Value>,
}

impl Set {
    pub(super) fn new<K: AsRef<str>>(at: &[K], value: Option<Value>) -> Self {
        Self {
            at: at.iter().map(|key| key.as_ref().to_owned()).collect(),
            value,
        }
    }

    fn is_done(&self, document: &Value) -> bool {
        let now = self
            .at
            .iter()
            .try_fold(document, |value, key| value.get(key));
        now == self.value.as_ref()
    }
}

fn take_out(document: &mut Value, at: &[String]) {
    let (Some((first, rest)), Some(map)) = (at.split_first(), document.as_object_mut()) else {
        return;
    };
    if let Some(below) = map.get_mut(first).filter(|_| !rest.is_empty()) {
        take_out(below, rest);
        if !below.is_null() && below.as_object().is_none_or(|below| !below.is_empty()) {
            return;
        }
    }
    map.remove(first);
}

/// Applies changes to a file's text; the file's extension tells TOML and YAML from JSON. Returns
/// `None` if the text already has the values. A result in which anything else has another meaning
/// than before is refused.
///
/// # Errors
///
/// Returns why the text can't be edited.
pub(super) fn set(path: &Path, text: &str, sets: &[Set]) -> Result<Option<String>, String> {
    let syntax = match path.extension() {
        Some(ending) if ending == "toml" => Syntax::Toml,
        Some(ending) if ending == "yaml" || ending == "yml" => Syntax::Yaml,
        _ => Syntax::Lenient,
    };
    let value = |text: &str| match syntax.value(json::without_mark(text))? {
        Value::Null => Ok::<_, String>(Value::Object(Map::new())),
        value => Ok(value),
    };
    let before = value(text)?;
    let missing: Vec<&Set> = sets.iter().filter(|set| !set.is_done(&before)).collect();
    if missing.is_empty() {
        return Ok(None);
    }
    let after = match syntax {
        Syntax::Toml => toml::edit(text, &missing)?,
        Syntax::Yaml => yaml::edit(text, &missing)?,
        _ => json::edit(text, &missing)?,
    };
    let reached = value(&after)?;
    let is_done = sets.iter().all(|set| set.is_done(&reached));
    let [before, reached] = [before, reached].map(|mut document| {
        for set in sets {
            take_out(&mut document, &set.at);
        }
        document
    });
    if !is_done || before != reached {
        return Err(
            "it can't be edited, as where a key is there twice: take out the one too many, or make the change by hand"
                .to_owned(),
        );
    }
    Ok(Some(after))
}
