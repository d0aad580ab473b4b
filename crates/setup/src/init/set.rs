//! Sets and removes values in a settings file without touching anything else.

use super::record::Edit;
use super::splice::{Splice, insertions, removal};
use super::tree::Node;
use crate::syntax::{MARK, Syntax};
use serde_json::{Map, Value};
use std::path::Path;

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Set {
    pub(super) at: Vec<String>,
    /// `None` removes the key.
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

/// A settings file. Its ending tells TOML and YAML from JSON.
struct File<'a> {
    syntax: Syntax,
    text: &'a str,
    value: Value,
}

impl<'a> File<'a> {
    fn read(path: &Path, text: &'a str) -> Result<Self, String> {
        let syntax = match path.extension() {
            Some(ending) if ending == "toml" => Syntax::Toml,
            Some(ending) if ending == "yaml" || ending == "yml" => Syntax::Yaml,
            // What was strict stays strict.
            _ if Syntax::Comments.value(text).is_ok() => Syntax::Comments,
            _ => Syntax::Lenient,
        };
        Ok(Self {
            syntax,
            text,
            value: value(syntax, text)?,
        })
    }

    /// Returns the first of some splices after which the key has its new value, and all else has
    /// the same as before.
    fn proved(
        &self,
        set: &Set,
        splices: impl IntoIterator<Item = Splice>,
    ) -> Option<(String, Splice)> {
        let rest = without(self.value.clone(), &set.at);
        splices.into_iter().find_map(|splice| {
            let after = splice.apply(self.text);
            let value = value(self.syntax, &after).ok()?;
            let is_right = set.is_done(&value) && without(value, &set.at) == rest;
            is_right.then_some((after, splice))
        })
    }
}

fn value(syntax: Syntax, text: &str) -> Result<Value, String> {
    match syntax.value(text)? {
        Value::Null => Ok(Value::Object(Map::new())),
        value => Ok(value),
    }
}

/// Removes a key, and the objects around it that are then empty.
fn without(mut document: Value, at: &[String]) -> Value {
    if let (Some((first, rest)), Some(map)) = (at.split_first(), document.as_object_mut())
        && let Some(below) = map.remove(first)
        && !rest.is_empty()
    {
        let below = without(below, rest);
        if !below.is_null() && below != Value::Object(Map::new()) {
            map.insert(first.clone(), below);
        }
    }
    document
}

const BY_HAND: &str = "nothing else may change with it, but would, as where a key is there twice or another value refers to this one: make the change by hand";

/// Applies changes to a file's text. Returns the new text, and what of it a later [`take_out`]
/// takes back if there is only one change; `None` if the text already has the values. A result in
/// which anything else has another meaning than before is refused.
///
/// # Errors
///
/// Returns why the text can't be edited.
pub(super) fn set(path: &Path, text: &str, sets: &[Set]) -> Result<Option<(String, Edit)>, String> {
    let (mark, body) = text.split_at(text.len() - text.trim_start_matches(MARK).len());
    let mut done = None;
    for set in sets {
        let now = done
            .as_ref()
            .map_or(body, |(text, _): &(String, Edit)| text);
        let file = File::read(path, now)?;
        if set.is_done(&file.value) {
            continue;
        }
        let tree = Node::parse(file.syntax, now)?;
        let (splices, made) = if let Some(value) = &set.value {
            insertions(file.syntax, now, &tree, (&set.at, value))?
        } else {
            let splice = removal(file.syntax, now, &tree, (&set.at, 0));
            (splice.into_iter().collect(), 0)
        };
        let (after, splice) = file.proved(set, splices).ok_or(BY_HAND)?;
        let edit = Edit {
            at: set.at.clone(),
            made,
            instead: now[splice.range].to_owned(),
            added: splice.new,
            ..Edit::default()
        };
        done = Some((after, edit));
    }
    Ok(done.map(|(after, edit)| (format!("{mark}{after}"), edit)))
}

/// Takes an inserted value out again: the very text if it is still there, or else what its keys now
/// lead to.
///
/// # Errors
///
/// Returns why the text can't be edited.
pub(super) fn take_out(path: &Path, text: &str, edit: &Edit) -> Result<Option<String>, String> {
    let (mark, body) = text.split_at(text.len() - text.trim_start_matches(MARK).len());
    let file = File::read(path, body)?;
    let set = Set::new(&edit.at, None);
    if set.is_done(&file.value) {
        return Ok(None);
    }
    let mut places = body
        .match_indices(&edit.added)
        .map(|(at, added)| at..at + added.len());
    let place = places.next().filter(|_| places.next().is_none());
    let exact = place.map(|range| Splice {
        range,
        new: edit.instead.clone(),
    });
    let tree = Node::parse(file.syntax, body)?;
    let other = removal(file.syntax, body, &tree, (&edit.at, edit.made));
    let (after, _) = file
        .proved(&set, exact.into_iter().chain(other))
        .ok_or(BY_HAND)?;
    Ok(Some(format!("{mark}{after}")))
}

#[cfg(test)]
mod tests {
    use super::{Edit, Set, set, take_out};
    use serde_json::{Value, json};
    use std::path::Path;

    /// Texts of each syntax: after a key has gone in each has all its lines, and after the key has
    /// gone out, also without knowledge of what went in, the same bytes.
    const TEXTS: &[(&str, &[&str])] = &[
        (
            "a.json",
            &[
                "",
                "{}",
                "{\n}\n",
                "// nothing",
                "{\"a\":1}",
                "{ \"a\": 1, // why\n}",
                "\u{feff}{ \"s\": { } }\r\n",
                "{\r\n\t\"a\": [1,\r\n2],\r\n\r\n}\r\n",
                "{\n  \"s\": {\n    // \"x\": {} // off\n  }\n}\n",
                "{\n  \"s\": { /* off\n */ \"x\": {} }\n}\n",
                "{ /* a\n b */ \"s\": {\n\n  \"x\": {}\n} }\n",
                "{\n  \"s\": null\n}\n",
            ],
        ),
        (
            "a.toml",
            &[
                "",
                "# mine",
                "\u{feff}m = \"m\" # why\r\n\r\n[p.\"/a\"]\r\nt = '''\r\n\n'''\r\n# end\r\n",
                "[s] # mine\n",
                "[\"s\".'z.z']\nc=1\n",
                "[s]\nx = { c = 1 }\n",
                "s = { x = { c = 1 } } # y\n",
                "s.x.c = 1\n[[t]]\n",
            ],
        ),
        (
            "a.yaml",
            &[
                "",
                "# mine",
                "A: b",
                "A: b # why\ns: # mine\n  # off\n\n# end\nB: |\n  text\n",
                "s:\n    # x\n    x:\n        y: z\n    # last\nB: c",
                "A: b\r\ns:\r\n  x:\r\n    y: z\r\n",
                "s: {x: {y: z}} # flow\n",
                "s: {} # mine\n",
                "---\ns: &all\n  x: &x {y: z}\n  w: *x\n...\n",
                "--- # d\nA: b\n...\n# end\n",
                "B: |+\n  text\n\n",
                "s: ~ # off\n",
                "s:",
            ],
        ),
    ];

    fn entry() -> Value {
        json!({"args": [], "cmd": "/a b/#c/serve_tools", "e": {"A": "yes"}, "t": 600})
    }

    #[test]
    fn a_key_goes_in_and_out_and_every_other_byte_stays() {
        for (path, texts) in TEXTS {
            for before in *texts {
                let path = Path::new(path);
                let sets = [Set::new(&["s", "own"], Some(entry()))];
                let (after, edit) = set(path, before, &sets).expect(before).expect("changed");
                assert_eq!(set(path, &after, &sets), Ok(None), "twice is once: {after}");
                let back = take_out(path, &after, &edit).expect("edited");
                assert_eq!(back.as_deref(), Some(*before), "{after}");
                assert_eq!(take_out(path, before, &edit), Ok(None), "{before}");
                // As after a host has written the file anew, so that the added text is not in it.
                let added = String::new();
                let back = take_out(path, &after, &Edit { added, ..edit });
                let back = back.expect("edited").expect("changed");
                let bare = |text: &str| {
                    let words: String = text.split_whitespace().collect();
                    let words = words.replace("null", "{}").replace('~', "{}");
                    words.trim_end_matches("{}").to_owned()
                };
                assert_eq!(bare(&back), bare(before), "{after}");
            }
        }
    }

    #[test]
    fn a_value_is_replaced_where_it_stands_and_a_key_joins_its_table() {
        for (path, before, value, expected) in [
            (
                "a.toml",
                "[s]\nown = 'x' # mine\n",
                json!("y"),
                "[s]\nown = \"y\" # mine\n",
            ),
            (
                "a.toml",
                "[s] # mine\nz = 1\n",
                json!(["y"]),
                "[s] # mine\nown = [\"y\"]\nz = 1\n",
            ),
            (
                "a.yaml",
                "s:\n  own: x # mine\n",
                json!("y"),
                "s:\n  own: \"y\" # mine\n",
            ),
            (
                "a.yaml",
                "s:\n  own:\n    - x\n",
                json!(["y"]),
                "s:\n  own:\n    [\"y\"]\n",
            ),
            (
                "a.json",
                "{'s': {own: 1 /* mine */}}",
                json!("y"),
                "{'s': {own: \"y\" /* mine */}}",
            ),
            (
                "a.json",
                "{\"s\": 1, \"s\": {}}",
                json!("y"),
                "{\"s\": 1, \"s\": {\"own\": \"y\"}}",
            ),
        ] {
            let sets = [Set::new(&["s", "own"], Some(value))];
            let after = set(Path::new(path), before, &sets).expect(before);
            assert_eq!(after.expect("changed").0, expected);
        }
    }

    #[test]
    fn what_the_host_has_written_around_it_stays() {
        for (path, before, made, expected) in [
            (
                "a.json",
                "{\"a\": 1, \"s\": {\"own\": {}}}",
                1,
                Some("{\"a\": 1}"),
            ),
            (
                "a.json",
                "{\n  \"a\": 1,\n  \"s\": {\"own\": {}} // y\n}",
                1,
                Some("{\n  \"a\": 1// y\n}"),
            ),
            (
                "a.json",
                "{\"s\": {\"own\": {} /* z */, \"b\": 1,}}",
                1,
                None,
            ),
            (
                "a.json",
                "{\"s\": { // mine\n\"own\": {}\n}}",
                1,
                Some("{\"s\": { // mine\n}}"),
            ),
            (
                "a.yaml",
                "s: # mine\n  own:\n    a: |\n      b\n# c\nd: 1\n",
                1,
                Some("s: # mine\n# c\nd: 1\n"),
            ),
            (
                "a.yaml",
                "s:\n  own:\n    a: 1\n# c\nd: 1\n",
                1,
                Some("# c\nd: 1\n"),
            ),
            (
                "a.toml",
                "[s.own]\nc = 1\n[s.own.e]\nd = 1 # x\n[z]\n",
                0,
                Some("# x\n[z]\n"),
            ),
            ("a.toml", "[s.own]\nc = 1\n[z]\n[s.own.e]\n", 0, None),
        ] {
            let at = ["s".to_owned(), "own".to_owned()].to_vec();
            let edit = Edit {
                at,
                made,
                ..Edit::default()
            };
            let after = take_out(Path::new(path), before, &edit);
            assert_eq!(after.ok().flatten().as_deref(), expected, "{before}");
        }
    }

    #[test]
    fn what_cannot_hold_the_key_is_refused_with_its_line() {
        let sets = [Set::new(&["s", "own"], Some(entry()))];
        for (path, text, reason) in [
            (
                "a.json",
                "[]",
                "it must hold an object (line 1): correct that line",
            ),
            ("a.json", "{\n\"s\": [] }", "s must be an object (line 2)"),
            ("a.json", "{", "line 1"),
            ("a.toml", "\ns = 1", "s must be a table (line 2)"),
            ("a.toml", "\na = \n", "line 2"),
            ("a.toml", "[[s]]", "s must be a table (line 1)"),
            ("a.yaml", "- a\n", "it must hold a mapping (line 1)"),
            ("a.yaml", "s: 1\n", "s must be a mapping (line 1)"),
            (
                "a.yaml",
                "b: &b {}\ns: *b\n",
                "s must be a mapping (line 2)",
            ),
            ("a.yaml", "a: [\n", "line"),
        ] {
            let error = set(Path::new(path), text, &sets).expect_err(text);
            assert!(
                error.contains(reason) && !error.contains('\n'),
                "{text}: {error}"
            );
        }
    }
}
