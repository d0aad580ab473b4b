//! Finds the line of a key in a settings file, for messages.

use super::keys;
use gemini_tools_core::diagnostic::Diagnostic;
use gemini_tools_core::position::{self, Position};
use gemini_tools_workspace::file_owner::FileOwner;
use jsonc_parser::ast::{Object, Value};
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast, parse_to_serde_value};
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::path::{Path, PathBuf};

/// The texts of settings files, read when they are first needed.
#[derive(Debug)]
pub struct SettingsLines {
    home: Option<PathBuf>,
    root: PathBuf,
    texts: HashMap<PathBuf, Option<String>>,
}

impl SettingsLines {
    /// Creates the object for the project in `root`. `home` is the user's home directory.
    pub fn new(home: Option<&Path>, root: &Path) -> Self {
        Self {
            home: home.map(Path::to_owned),
            root: root.to_owned(),
            texts: HashMap::new(),
        }
    }

    /// Returns the line of the dotted key `key`, counted from 1. If the key is missing, the line is
    /// that of its innermost parent that exists.
    pub fn line_of(&mut self, path: &Path, key: &str) -> Option<usize> {
        let place = self.position_of(path, key)?;
        usize::try_from(place.line.get()).ok()
    }

    /// Gives a finding about a settings file the position of the finding's key.
    pub fn place(&mut self, finding: &mut Diagnostic) {
        let file = finding.place.file().map(Path::to_owned);
        if let Some(place) = file.and_then(|file| self.position_of(&file, &finding.place.key)) {
            finding.put_at(place);
        }
    }

    fn position_of(&mut self, path: &Path, key: &str) -> Option<Position> {
        let owner = FileOwner::by_location(path, self.home.as_deref(), &self.root);
        let read = || owner.read(path).ok().flatten();
        let text = self
            .texts
            .entry(path.to_owned())
            .or_insert_with(read)
            .as_ref()?;
        let parsed = parse_to_ast(text, &CollectOptions::default(), &ParseOptions::default());
        let value = parsed.ok()?.value?;
        let top = value.as_object()?;
        let list = key.split('[').next().unwrap_or(key);
        let old = keys::old_name(list).filter(|_| !is_there(top, list));
        let at = start_of(top, old.unwrap_or(key)).or_else(|| start_of(top, key))?;
        Some(position::LineIndex::new(text).position(at))
    }
}

/// Returns where a key stands twice in one object of a settings file, if a restriction may be in
/// one of the two: only the second one would count.
pub(super) fn twin(text: &str) -> Option<String> {
    let keys: Keys = parse_to_serde_value(text, &ParseOptions::default()).ok()?;
    let twin = keys.twin(keys::may_restrict)?;
    // The line is that of the second key. If it is written differently the second time, for example
    // with escapes, only the first one is found, and the line is that of the first.
    let second = text.rmatch_indices(&format!("\"{twin}\"")).next();
    let line = second.map(|(at, _)| position::LineIndex::new(text).position(at).line);
    let place = line
        .map(|line| format!("line {line}: "))
        .unwrap_or_default();
    Some(format!("{place}{twin:?} stands twice"))
}

/// The keys of an object, with those of the objects in it. Whole values would take a hundred times
/// as much memory as their text.
#[derive(Default)]
struct Keys(Vec<(String, Keys)>);

impl Keys {
    fn twin(&self, counts: fn(&str) -> bool) -> Option<&str> {
        let mut seen = HashSet::new();
        let mut counted = self.0.iter().filter(|(key, _)| counts(key));
        counted.find_map(|(key, inner)| {
            if seen.insert(key) {
                inner.twin(|_| true)
            } else {
                Some(key.as_str())
            }
        })
    }
}

impl<'de> Deserialize<'de> for Keys {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(KeysVisitor)
    }
}

struct KeysVisitor;

impl<'de> Visitor<'de> for KeysVisitor {
    type Value = Keys;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E>(self, _: bool) -> Result<Keys, E> {
        Ok(Keys::default())
    }

    fn visit_i64<E>(self, _: i64) -> Result<Keys, E> {
        Ok(Keys::default())
    }

    fn visit_u64<E>(self, _: u64) -> Result<Keys, E> {
        Ok(Keys::default())
    }

    fn visit_f64<E>(self, _: f64) -> Result<Keys, E> {
        Ok(Keys::default())
    }

    fn visit_str<E>(self, _: &str) -> Result<Keys, E> {
        Ok(Keys::default())
    }

    fn visit_unit<E>(self) -> Result<Keys, E> {
        Ok(Keys::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Keys, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Keys::default())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Keys, A::Error> {
        let mut keys = Vec::new();
        while let Some(entry) = object.next_entry()? {
            keys.push(entry);
        }
        Ok(Keys(keys))
    }
}

fn is_there(object: &Object<'_>, key: &str) -> bool {
    let mut names = key.split('.');
    let last = names.next_back();
    let inner = names.try_fold(object, |object, name| object.get_object(name));
    last.is_some_and(|last| inner.is_some_and(|inner| inner.get(last).is_some()))
}

/// Returns the byte offset of a dotted key. The names of properties may themselves contain dots, so
/// the longest property that matches is taken.
fn start_of(object: &Object<'_>, key: &str) -> Option<usize> {
    let ends = |name: &str| match key.strip_prefix(name)? {
        "" => Some(""),
        rest => rest.strip_prefix(['.', '[']),
    };
    let fits = object
        .properties
        .iter()
        .filter_map(|p| Some((p, ends(p.name.as_str())?)));
    let (property, rest) = fits.min_by_key(|(_, rest)| rest.len())?;
    let own = property.range.start;
    match &property.value {
        Value::Object(inner) if !rest.is_empty() => Some(start_of(inner, rest).unwrap_or(own)),
        _ => Some(own),
    }
}

#[cfg(test)]
mod tests {
    use super::SettingsLines;
    use gemini_tools_core::diagnostic::Diagnostic;

    #[test]
    fn the_line_of_a_key_is_found_in_both_generations() {
        let text = "{ // one\n\"tools\": {\n \"core\": []},\n\"excludeTools\": [],\n\"mcpServers\":\
                    {\n\"a.b\": {\n\"args\": [\n1]}}}";
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("settings.json");
        std::fs::write(&path, text).expect("written");
        let mut lines = SettingsLines::new(None, dir.path());
        for (key, line) in [
            ("tools.core", Some(3)),
            ("tools.exclude", Some(4)),
            ("mcpServers.a.b", Some(6)),
            ("mcpServers.a.b.args[0]", Some(7)),
            ("mcpServers.c", Some(5)),
            ("telemetry", None),
        ] {
            assert_eq!(lines.line_of(&path, key), line, "{key}");
        }
        assert_eq!(lines.line_of(&path.join("none"), "tools"), None);
        let mut finding = Diagnostic::warning("r", "", "tools.core", "m").in_file(&path);
        lines.place(&mut finding);
        assert!(finding.text().contains(":3:2: "), "{finding}");
    }
}
