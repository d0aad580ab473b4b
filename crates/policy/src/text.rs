//! Writes arguments as the line of JSON that Gemini CLI's rules match, and compiles the regular
//! expressions of JavaScript with which they match it.

use fancy_regex::{Regex, RegexBuilder};
use gemini_tools_core::javascript::translated;
use serde_json::{Map, Number, Value};

const BACKTRACK_LIMIT: usize = 100_000;

/// Longest expression that is accepted; Gemini CLI has the same limit.
const MAX_PATTERN_CHARS: usize = 2048;

/// Returns arguments as JSON with sorted keys. Before and after each pair of the outermost object
/// is a NUL character, which occurs nowhere else, so that a pattern can match a pair as a whole.
pub(super) fn stable_json(args: &Map<String, Value>) -> String {
    object(args, "\0")
}

fn object(map: &Map<String, Value>, mark: &str) -> String {
    let mut pairs: Vec<(&String, &Value)> = map.iter().collect();
    // JavaScript sorts by UTF-16 code units.
    pairs.sort_by(|(a, _), (b, _)| a.encode_utf16().cmp(b.encode_utf16()));
    let pairs = pairs.into_iter();
    let pairs = pairs.map(|(key, value)| format!("{mark}{}:{}{mark}", quoted(key), json(value)));
    format!("{{{}}}", pairs.collect::<Vec<_>>().join(","))
}

fn json(value: &Value) -> String {
    match value {
        Value::Object(map) => object(map, ""),
        Value::Array(items) => {
            let items = items.iter().map(json);
            format!("[{}]", items.collect::<Vec<_>>().join(","))
        }
        Value::Number(n) => number(n),
        Value::String(_) | Value::Bool(_) | Value::Null => value.to_string(),
    }
}

pub(super) fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

fn number(n: &Number) -> String {
    match n.as_f64() {
        Some(0.0) => "0".to_owned(),
        Some(x) if x.fract() == 0.0 && x.abs() < 1e21 => format!("{x:.0}"),
        _ => n.to_string(),
    }
}

pub(super) fn compile(pattern: &str) -> Result<Regex, String> {
    if pattern.encode_utf16().count() > MAX_PATTERN_CHARS {
        return Err(format!("it is longer than {MAX_PATTERN_CHARS} characters"));
    }
    RegexBuilder::new(&translated(pattern, false))
        .backtrack_limit(BACKTRACK_LIMIT)
        .build()
        .map_err(|e| e.to_string().lines().last().unwrap_or_default().to_owned())
}

/// Returns true if Gemini CLI rejects an expression because a search could take for ever: it
/// repeats something that has a repetition in it.
pub(super) fn is_refused(pattern: &str) -> bool {
    let nested = compile(r"\([^)]*[*+?{].*\)[*+?{]");
    nested.is_ok_and(|nested| nested.is_match(pattern).unwrap_or(true))
}

#[cfg(test)]
mod tests {
    use super::{compile, stable_json};
    use serde_json::json;

    fn stable(value: &serde_json::Value) -> String {
        stable_json(value.as_object().expect("an object")).replace('\0', "·")
    }

    #[test]
    fn arguments_are_one_line_with_sorted_keys() {
        for (args, want) in [
            (json!({}), "{}"),
            (
                json!({"b": 1.0, "a": "x\n\"\u{1}é"}),
                "{·\"a\":\"x\\n\\\"\\u0001é\"·,·\"b\":1·}",
            ),
            (
                json!({"z": {"y": [1, null, {"b": true, "a": 0.5}]}}),
                "{·\"z\":{\"y\":[1,null,{\"a\":0.5,\"b\":true}]}·}",
            ),
            (
                json!({"n": 1e20, "m": 1e-7, "o": 123_456_789_012_345_678_u64}),
                "{·\"m\":1e-7·,·\"n\":100000000000000000000·,·\"o\":123456789012345680·}",
            ),
            (
                json!({"\u{ff5e}": 1, "\u{1f600}": 2}),
                "{·\"😀\":2·,·\"～\":1·}",
            ),
        ] {
            assert_eq!(stable(&args), want);
        }
    }

    #[test]
    fn expressions_mean_what_they_do_in_javascript() {
        for (pattern, text, matches) in [
            (r#"^{"command""#, r#"{"command":"x"}"#, true),
            (r"a{2}", "aa", true),
            (r"a{,2}", "a{,2}", true),
            (r"\w+", "é", false),
            (r"^[\w-]+$", "a-b", true),
            (r"^[^\/]+$", "a/b", false),
            (r"[[&&a]", "&", true),
            (r"[]", "x", false),
            (r"[^]", "\n", true),
            (r"\d", "٣", false),
            (r"(?!git)g", "git", false),
            (r"(?<=x)y", "xy", true),
            (r"\x00a\x00", "\0a\0", true),
            (r"^a$", "a\n", false),
            (r"\bfoo\b", "a foo b", true),
            (r"\-\_\@", "-_@", true),
        ] {
            let regex = compile(pattern).unwrap_or_else(|e| panic!("{pattern}: {e}"));
            assert_eq!(
                regex.is_match(text).unwrap_or(false),
                matches,
                "{pattern} {text}"
            );
        }
        assert!(compile("(").is_err());
        assert!(compile(&"a".repeat(2049)).is_err());
    }
}
