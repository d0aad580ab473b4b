//! Values in a file of JSON with comments, put in and taken back without touching anything else.

use gemini_tools_config::settings::{jsonc, strict_jsonc};
use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstObject, CstObjectProp, CstRootNode};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The mark that some editors put before a text.
const MARK: &str = "\u{feff}";

/// A value at a key of nested objects.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Set {
    pub(super) at: Vec<String>,
    /// `None` where there is to be none.
    pub(super) value: Option<String>,
}

impl Set {
    pub(super) fn new(at: &[&str], value: String) -> Self {
        Self {
            at: at.iter().map(|&key| key.to_owned()).collect(),
            value: Some(value),
        }
    }

    /// Takes a key out.
    pub(super) fn remove(at: &[&str]) -> Self {
        Self {
            value: None,
            ..Self::new(at, String::new())
        }
    }

    /// Whether this is what was put there.
    pub(super) fn is_done(&self, now: Option<&Value>) -> bool {
        match &self.value {
            Some(value) => now.and_then(Value::as_str) == Some(value),
            None => now.is_none(),
        }
    }
}

/// Whether Gemini CLI can read a text: JSON with comments, nothing else. Nothing at all is not a
/// fault here, because something will be put in.
pub(super) fn check_strict(text: &str) -> Result<(), String> {
    match strict_jsonc(text) {
        Ok(_) => Ok(()),
        Err(e) => Err(format!(
            "Gemini CLI can't read it: {}. It takes UTF-8 without a byte order mark, and JSON with comments, but no commas after the last value, no single quotes and no keys without quotes: correct that line, then run get_tools init again",
            e.trim_end_matches('.')
        )),
    }
}

/// Puts values in. Gives the text, `None` where it has them already, and what was there before.
pub(super) fn set(
    text: &str,
    sets: &[Set],
) -> Result<(Option<String>, Vec<Option<Value>>), String> {
    let (mark, text) = parted(text);
    let root = parse(text)?;
    let mut expected = value_of(text)?;
    let top = root
        .object_value_or_create()
        .ok_or("it must hold an object")?;
    let mut is_changed = false;
    let mut old = Vec::new();
    for set in sets {
        let before = get(&expected, &set.at).cloned();
        if !set.is_done(before.as_ref()) {
            is_changed = true;
            match &set.value {
                Some(value) => put_text(&top, &set.at, CstInputValue::String(value.clone()))?,
                None => drop(property(&top, &set.at).map(CstObjectProp::remove)),
            }
            put(&mut expected, &set.at, set.value.as_deref());
        }
        old.push(before);
    }
    if !is_changed {
        return Ok((None, old));
    }
    let mut after = root.to_string();
    if !after.ends_with('\n') && (text.is_empty() || text.ends_with('\n')) {
        after.push('\n');
    }
    checked(&after, &expected)?;
    Ok((Some(format!("{mark}{after}")), old))
}

/// Takes values out that are still as they were put in, or puts back what was there. `None`
/// where there is nothing to do.
pub(super) fn take_back(
    text: &str,
    keys: &[(Set, Option<Value>)],
) -> Result<Option<String>, String> {
    let (mark, text) = parted(text);
    let root = parse(text)?;
    let now = value_of(text)?;
    let Some(top) = root.object_value() else {
        return Ok(None);
    };
    let mut is_changed = false;
    for (set, old) in keys {
        let there = get(&now, &set.at);
        if !set.is_done(there) || there == old.as_ref() {
            continue;
        }
        match (old, property(&top, &set.at)) {
            (Some(old), _) => put_text(&top, &set.at, input(old))?,
            (None, Some(property)) => property.remove(),
            (None, None) => continue,
        }
        is_changed = true;
    }
    // An object that was made for them.
    for (set, _) in keys {
        if set.at.len() == 2
            && let Some(above) = top.get(&set.at[0])
            && above.object_value().is_some_and(|object| {
                object.properties().is_empty() && !object.to_string().contains('/')
            })
        {
            above.remove();
        }
    }
    if !is_changed {
        return Ok(None);
    }
    let after = root.to_string();
    value_of(&after)?;
    Ok(Some(format!("{mark}{after}")))
}

fn parted(text: &str) -> (&str, &str) {
    text.strip_prefix(MARK)
        .map_or(("", text), |rest| (MARK, rest))
}

fn parse(text: &str) -> Result<CstRootNode, String> {
    CstRootNode::parse(text, &ParseOptions::default()).map_err(|e| e.to_string())
}

fn value_of(text: &str) -> Result<Value, String> {
    Ok(match jsonc(text)? {
        Value::Null => Value::Object(serde_json::Map::new()),
        value => value,
    })
}

/// Nothing is written that does not mean what it should.
fn checked(text: &str, expected: &Value) -> Result<(), String> {
    if value_of(text)? == *expected {
        return Ok(());
    }
    Err(
        "it can't be edited without changing something else, as where a key is there twice: take out the one too many, or put the two commands in by hand"
            .to_owned(),
    )
}

fn get<'v>(value: &'v Value, at: &[String]) -> Option<&'v Value> {
    at.iter().try_fold(value, |value, key| value.get(key))
}

fn put(value: &mut Value, at: &[String], text: Option<&str>) {
    let Some((key, above)) = at.split_last() else {
        return;
    };
    let mut here = value;
    for name in above {
        here = &mut here[name.as_str()];
    }
    match (text, here.as_object_mut()) {
        (None, Some(map)) => drop(map.remove(key)),
        _ => here[key.as_str()] = Value::from(text),
    }
}

/// Puts a value into the text, and makes the objects above it.
fn put_text(top: &CstObject, at: &[String], value: CstInputValue) -> Result<(), String> {
    let (key, above) = at.split_last().ok_or("there is no key")?;
    let mut object = top.clone();
    for (depth, name) in above.iter().enumerate() {
        object = object
            .object_value_or_create(name)
            .ok_or_else(|| format!("{} must be an object", at[..=depth].join(".")))?;
    }
    match object.get(key) {
        Some(property) => property.set_value(value),
        None => drop(object.append(key, value)),
    }
    Ok(())
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(is) => CstInputValue::Bool(*is),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(list) => CstInputValue::Array(list.iter().map(input).collect()),
        Value::Object(map) => {
            let pairs = map.iter().map(|(key, value)| (key.clone(), input(value)));
            CstInputValue::Object(pairs.collect())
        }
    }
}

fn property(top: &CstObject, at: &[String]) -> Option<CstObjectProp> {
    let (key, above) = at.split_last()?;
    let mut object = top.clone();
    for name in above {
        object = object.object_value(name)?;
    }
    object.get(key)
}

#[cfg(test)]
mod tests {
    use super::{Set, check_strict, set, take_back};

    fn sets() -> [Set; 2] {
        [
            Set::new(&["tools", "discoveryCommand"], "get_tools".to_owned()),
            Set::new(&["tools", "callCommand"], "call_tool".to_owned()),
        ]
    }

    #[test]
    fn values_go_in_and_out_and_all_else_stays() {
        for before in [
            "{}\n",
            "{\n  // mine\n  \"theme\": \"x\", /* y */\n  \"tools\": {\n    \"core\": [\"a\"], // last\n  }\n}\n",
            "{\"a\":1,\"tools\":{\"callCommand\":\"mine\"}}",
            "{\r\n\t\"b\": [1,\r\n2],\r\n}\r\n",
            "\u{feff}{ \"tools\": { } }",
        ] {
            let (after, old) = set(before, &sets()).expect("JSON");
            let after = after.expect("changed");
            assert!(
                after.contains("\"discoveryCommand\": \"get_tools\"") || !after.contains('\n'),
                "{after}"
            );
            assert_eq!(set(&after, &sets()).expect("JSON").0, None, "twice is once");
            let keys: Vec<_> = sets().into_iter().zip(old).collect();
            let back = take_back(&after, &keys).expect("JSON").expect("changed");
            let value =
                |text: &str| super::value_of(text.trim_start_matches('\u{feff}')).expect("JSON");
            let mut expected = value(before);
            if expected["tools"] == serde_json::json!({}) {
                expected.as_object_mut().expect("an object").remove("tools");
            }
            assert_eq!(value(&back), expected, "{before}\n{after}\n{back}");
            for comment in ["// mine", "/* y */", "// last"] {
                assert_eq!(back.contains(comment), before.contains(comment), "{back}");
            }
        }
    }

    #[test]
    fn old_values_of_any_kind_come_back() {
        let before =
            "{\n  \"old\": [1.5, {\"a\": true}],\n  \"tools\": {\"callCommand\": null}\n}\n";
        let sets = [sets()[1].clone(), Set::remove(&["old"])];
        let (after, old) = set(before, &sets).expect("JSON");
        let after = after.expect("changed");
        assert!(!after.contains("old"), "{after}");
        let keys: Vec<_> = sets.into_iter().zip(old).collect();
        let back = take_back(&after, &keys).expect("JSON").expect("changed");
        let value = |text: &str| super::value_of(text).expect("JSON");
        assert_eq!(value(&back), value(before), "{back}");
    }

    #[test]
    fn only_what_gemini_cli_reads_is_strict() {
        for good in [
            "",
            " // nothing\n",
            "{} // end",
            "/* a\n*/ {\"//\": \"/*\", \"\\\\\": \"\\\"//\"} /* end */",
        ] {
            assert_eq!(check_strict(good), Ok(()), "{good}");
        }
        for (bad, line) in [
            ("\u{feff}{}", "line 1"),
            ("{\n\"a\": 1, // last\n}", "line 2"),
            ("{\n'a': 1}", "line 2"),
            ("{/*\n*/ a: 1}", "line 2"),
        ] {
            let error = check_strict(bad).expect_err("refused");
            assert!(error.contains(line), "{bad}: {error}");
        }
    }

    #[test]
    fn what_is_no_object_is_refused() {
        for (text, reason) in [
            ("[]", "it must hold an object"),
            ("{\"tools\": []}", "tools must be an object"),
            ("{", "line 1"),
        ] {
            let error = set(text, &sets()).expect_err("refused");
            assert!(error.contains(reason), "{error}");
        }
    }
}
