//! Values in a file of JSON with comments, put in and taken out without touching anything else.

use gemini_tools_settings::settings::{jsonc, strict_jsonc};
use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstObject, CstObjectProp, CstRootNode};
use serde_json::Value;

/// The byte order mark that some editors put before a text.
const MARK: &str = "\u{feff}";

/// A value at a key of nested objects.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Set {
    pub(super) at: Vec<String>,
    /// The text; `None` to take the key out.
    pub(super) value: Option<String>,
}

impl Set {
    /// Makes a value for a key, or takes the key out where there is none.
    pub(super) fn new(at: &[&str], value: Option<String>) -> Self {
        Self {
            at: at.iter().map(|&key| key.to_owned()).collect(),
            value,
        }
    }

    /// Returns true if the key has that value in a document.
    fn is_done(&self, document: &Value) -> bool {
        let now = self
            .at
            .iter()
            .try_fold(document, |value, key| value.get(key));
        match &self.value {
            Some(value) => now.and_then(Value::as_str) == Some(value),
            None => now.is_none(),
        }
    }
}

/// Checks that Gemini CLI can read a text: JSON with comments, nothing else. Nothing at all is not a
/// fault here, because something will be put in.
///
/// # Errors
///
/// Returns what is wrong, and what to do.
pub(super) fn check_strict(text: &str) -> Result<(), String> {
    match strict_jsonc(text) {
        Ok(_) => Ok(()),
        Err(e) => Err(format!(
            "Gemini CLI can't read it: {}. It takes UTF-8 without a byte order mark, and JSON with comments, but no commas after the last value, no single quotes and no keys without quotes: correct that line, then run get_tools init again",
            e.trim_end_matches('.')
        )),
    }
}

/// Puts values in. Returns the text, `None` where it has them already.
///
/// # Errors
///
/// Returns why the text can't be edited.
pub(super) fn set(text: &str, sets: &[Set]) -> Result<Option<String>, String> {
    let (mark, text) = parted(text);
    let root = parse(text)?;
    let before = value_of(text)?;
    let top = root
        .object_value_or_create()
        .ok_or("it must hold an object")?;
    let missing = sets.iter().filter(|set| !set.is_done(&before));
    let mut is_changed = false;
    for set in missing {
        is_changed = true;
        match &set.value {
            Some(value) => put_text(&top, &set.at, CstInputValue::String(value.clone()))?,
            None => drop(property(&top, &set.at).map(CstObjectProp::remove)),
        }
    }
    if !is_changed {
        return Ok(None);
    }
    let mut after = root.to_string();
    if !after.ends_with('\n') && (text.is_empty() || text.ends_with('\n')) {
        after.push('\n');
    }
    let value = value_of(&after)?;
    if !sets.iter().all(|set| set.is_done(&value)) {
        return Err(
            "it can't be edited, as where a key is there twice: take out the one too many, or put the two commands in by hand"
                .to_owned(),
        );
    }
    Ok(Some(format!("{mark}{after}")))
}

/// Splits a byte order mark off.
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
    use super::{Set, check_strict, set};

    fn sets() -> [Set; 2] {
        [
            Set::new(&["tools", "discoveryCommand"], Some("get_tools".to_owned())),
            Set::new(&["tools", "callCommand"], Some("call_tool".to_owned())),
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
            let value =
                |text: &str| super::value_of(text.trim_start_matches('\u{feff}')).expect("JSON");
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
