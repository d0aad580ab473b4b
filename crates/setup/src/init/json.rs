//! Edits JSON with comments, and leaves everything else as it is, byte for byte.

use super::set::Set;
use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstObject, CstRootNode};
use serde_json::Value;

const MARK: &str = "\u{feff}";

/// Applies changes to a text.
///
/// # Errors
///
/// Returns why the text can't be edited.
pub(super) fn edit(text: &str, sets: &[&Set]) -> Result<String, String> {
    let body = without_mark(text);
    let root = CstRootNode::parse(body, &ParseOptions::default()).map_err(|e| e.to_string())?;
    let top = root
        .object_value_or_create()
        .ok_or("it must hold an object")?;
    for set in sets {
        match &set.value {
            Some(value) => put(&top, &set.at, input(value))?,
            None => take_out(&top, &set.at),
        }
    }
    let mut after = root.to_string();
    if !after.ends_with('\n') && (body.is_empty() || body.ends_with('\n')) {
        after.push('\n');
    }
    let mark = if body.len() < text.len() { MARK } else { "" };
    Ok(format!("{mark}{after}"))
}

pub(super) fn without_mark(text: &str) -> &str {
    text.strip_prefix(MARK).unwrap_or(text)
}

fn put(top: &CstObject, at: &[String], value: CstInputValue) -> Result<(), String> {
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

fn take_out(object: &CstObject, at: &[String]) {
    let Some((first, rest)) = at.split_first() else {
        return;
    };
    if let Some(below) = object.object_value(first).filter(|_| !rest.is_empty()) {
        take_out(&below, rest);
        if !below.properties().is_empty() {
            return;
        }
    }
    if let Some(property) = object.get(first) {
        property.remove();
    }
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(is_so) => CstInputValue::Bool(*is_so),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(list) => CstInputValue::Array(list.iter().map(input).collect()),
        Value::Object(map) => {
            let pairs = map.iter().map(|(key, one)| (key.clone(), input(one)));
            CstInputValue::Object(pairs.collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::set::Set;
    use crate::syntax::Syntax;
    use serde_json::Value;
    use std::path::Path;

    fn set(text: &str, sets: &[Set]) -> Result<Option<String>, String> {
        super::super::set::set(Path::new("settings.json"), text, sets)
    }

    fn sets() -> [Set; 2] {
        [
            Set::new(&["tools", "discoveryCommand"], Some("get_tools".into())),
            Set::new(&["tools", "callCommand"], Some("call_tool".into())),
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
            let after = set(before, &sets()).expect("JSON").expect("changed");
            assert!(
                after.contains("\"discoveryCommand\": \"get_tools\"") || !after.contains('\n'),
                "{after}"
            );
            assert_eq!(set(&after, &sets()).expect("JSON"), None, "twice is once");
            let keys = sets().map(|set| Set { value: None, ..set });
            let back = set(&after, &keys).expect("JSON").expect("changed");
            let value = |text: &str| -> Value {
                let text = text.trim_start_matches('\u{feff}');
                Syntax::Lenient.value(text).expect("JSON")
            };
            let without = |text: &str| {
                let mut value = value(text);
                let tools = value["tools"].as_object_mut();
                tools.map(|tools| tools.remove("callCommand"));
                if value["tools"] == serde_json::json!({}) || value["tools"].is_null() {
                    value.as_object_mut().expect("an object").remove("tools");
                }
                value
            };
            assert_eq!(without(&back), without(before), "{before}\n{after}\n{back}");
            for comment in ["// mine", "/* y */", "// last"] {
                assert_eq!(back.contains(comment), before.contains(comment), "{back}");
            }
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
