//! Edits YAML, and keeps comments and the order of keys.

use super::set::Set;
use serde_json::Value;
use std::collections::BTreeMap;
use yaml_edit::{Document, Mapping, ScalarValue, YamlFile, YamlValue};

pub(super) fn edit(text: &str, sets: &[&Set]) -> Result<String, String> {
    let file: YamlFile = text.parse().map_err(|e| format!("{e}"))?;
    let there = file.documents().next();
    let document = match &there {
        Some(document) => document.clone(),
        None => Document::new_mapping(),
    };
    let top = document.as_mapping().ok_or("it must hold a mapping")?;
    for set in sets {
        match &set.value {
            Some(value) => put(&top, &set.at, value)?,
            None => take_out(&top, &set.at),
        }
    }
    Ok(match there {
        Some(_) => file.to_string(),
        // The text consists of comments only. They stay above what is added.
        None if text.is_empty() || text.ends_with('\n') => format!("{text}{document}"),
        None => format!("{text}\n{document}"),
    })
}

fn put(top: &Mapping, at: &[String], value: &Value) -> Result<(), String> {
    let (first, rest) = at.split_first().ok_or("there is no key")?;
    if rest.is_empty() {
        top.set(first, converted(value));
        return Ok(());
    }
    if let Some(below) = top.get_mapping(first) {
        return put(&below, rest, value);
    }
    let is_null =
        |node: yaml_edit::YamlNode| node.as_scalar().is_some_and(yaml_edit::Scalar::is_null);
    if !top.get(first).is_none_or(is_null) {
        return Err(format!("{first} must be a mapping"));
    }
    // The nested mappings are built together with their content. If an empty mapping were set
    // first, it would be written as `{}`, and its later entries within these braces.
    let nested = rest.iter().rev().fold(converted(value), |value, key| {
        YamlValue::Mapping(BTreeMap::from([(key.clone(), value)]))
    });
    top.set(first, nested);
    Ok(())
}

fn take_out(top: &Mapping, at: &[String]) {
    let Some((first, rest)) = at.split_first() else {
        return;
    };
    if let Some(below) = top.get_mapping(first).filter(|_| !rest.is_empty()) {
        take_out(&below, rest);
        if !below.is_empty() {
            return;
        }
    }
    top.remove(first);
}

fn converted(value: &Value) -> YamlValue {
    match value {
        Value::Null => YamlValue::Scalar(ScalarValue::null()),
        Value::Bool(is_so) => YamlValue::Scalar((*is_so).into()),
        Value::Number(number) => YamlValue::Scalar(ScalarValue::parse(number.to_string())),
        Value::String(text) => YamlValue::Scalar(text.as_str().into()),
        Value::Array(list) => YamlValue::Sequence(list.iter().map(converted).collect()),
        Value::Object(map) => {
            let pairs = map.iter().map(|(key, one)| (key.clone(), converted(one)));
            YamlValue::Mapping(pairs.collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::set::{Set, set};
    use serde_json::json;
    use std::path::Path;

    #[test]
    fn an_entry_goes_in_and_out_and_all_else_stays() {
        let path = Path::new("config.yaml");
        let at = ["extensions", "gemini-tools"];
        let entry =
            json!({"cmd": "/a b/#c/serve_tools", "args": [], "envs": {"A": "yes"}, "timeout": 600});
        for before in [
            "",
            "# mine\n",
            "A: b # why\nextensions:\n  x:\n    y: z # yes\n\n# end\nB: |\n  text\n",
            "extensions:\n    x:\n        y: z\n    # last\nB: c",
            "A: b\r\nextensions:\r\n  x:\r\n    y: z\r\n",
            "extensions: {x: {y: z}} # flow\n",
            "---\nextensions: &all\n  x: &x {y: z}\n  w: *x\n...\n",
            "A: b",
        ] {
            let sets = [Set::new(&at, Some(entry.clone()))];
            let after = set(path, before, &sets).expect("YAML").expect("changed");
            assert_eq!(set(path, &after, &sets), Ok(None), "twice is once: {after}");
            let sets = [Set::new(&at, None)];
            let back = set(path, &after, &sets).expect("YAML").expect("changed");
            // If the added entry was the only one, removing it leaves an empty mapping, `{}`.
            let back = back.trim_end().trim_end_matches("{}").trim_end();
            assert_eq!(back, before.trim_end(), "{after}");
        }
    }

    #[test]
    fn a_changed_value_keeps_its_comment_and_what_is_no_mapping_is_refused() {
        let path = Path::new("config.yaml");
        let sets = [Set::new(&["a", "b"], Some("new".into()))];
        let after = set(path, "a:\n  b: old # mine\n", &sets);
        assert_eq!(after, Ok(Some("a:\n  b: new # mine\n".to_owned())));
        for (text, reason) in [
            ("a: 1\n", "a must be a mapping"),
            ("- a\n", "it must hold a mapping"),
            ("a: [\n", "line"),
            ("a: {b: 1}\na: {b: 2}\n", "a"),
        ] {
            let error = set(path, text, &sets).expect_err("refused");
            assert!(error.contains(reason), "{text}: {error}");
        }
    }
}
