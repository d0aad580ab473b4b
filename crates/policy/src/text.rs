//! Writes arguments as the line of JSON that Gemini CLI's rules match, and compiles the regular
//! expressions of JavaScript with which they match it.

use fancy_regex::{Regex, RegexBuilder};
use serde_json::{Map, Number, Value};

const BACKTRACK_LIMIT: usize = 100_000;

/// Longest expression that is accepted; Gemini CLI has the same limit.
const MAX_PATTERN_CHARS: usize = 2048;

const BOUNDARY: &str = "(?:(?<=[0-9A-Za-z_])(?![0-9A-Za-z_])|(?<![0-9A-Za-z_])(?=[0-9A-Za-z_]))";

const NO_BOUNDARY: &str = "(?:(?<=[0-9A-Za-z_])(?=[0-9A-Za-z_])|(?<![0-9A-Za-z_])(?![0-9A-Za-z_]))";

/// Returns arguments as JSON with sorted keys. Before and after each pair of the outermost object
/// is a NUL character, which occurs nowhere else, so that a pattern can match a pair as a whole.
pub(super) fn stable_json(args: &Map<String, Value>) -> String {
    let mut out = String::new();
    object(args, "\0", &mut out);
    out
}

fn object(map: &Map<String, Value>, mark: &str, out: &mut String) {
    let mut keys: Vec<&String> = map.keys().collect();
    // JavaScript sorts by UTF-16 code units.
    keys.sort_by(|a, b| a.encode_utf16().cmp(b.encode_utf16()));
    out.push('{');
    for (i, key) in keys.into_iter().enumerate() {
        if i > 0 {
            out.push(',');
        }
        out.push_str(mark);
        out.push_str(&quoted(key));
        out.push(':');
        value(&map[key], out);
        out.push_str(mark);
    }
    out.push('}');
}

fn value(value_: &Value, out: &mut String) {
    match value_ {
        Value::Object(map) => object(map, "", out),
        Value::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                value(item, out);
            }
            out.push(']');
        }
        Value::String(text) => out.push_str(&quoted(text)),
        Value::Number(n) => out.push_str(&number(n)),
        Value::Bool(_) | Value::Null => out.push_str(&value_.to_string()),
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
    RegexBuilder::new(&translated(pattern))
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

/// Translates an expression of JavaScript into Rust's syntax. `\d` and `\w` match ASCII only, a
/// brace that is not part of a count is literal, and characters that only Rust treats as special
/// within brackets are escaped.
fn translated(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len() + 16);
    let mut chars = pattern.char_indices().peekable();
    let mut in_class = false;
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => {
                let Some((_, next)) = chars.next() else {
                    out.push('\\');
                    break;
                };
                escape(next, in_class, &mut out);
            }
            '[' if in_class => out.push_str("\\["),
            '[' => {
                in_class = true;
                out.push('[');
                if chars.next_if(|(_, c)| *c == '^').is_some() {
                    out.push('^');
                }
                // In JavaScript, `[]` matches nothing and `[^]` matches any character.
                if chars.next_if(|(_, c)| *c == ']').is_some() {
                    in_class = false;
                    let is_any = out.ends_with('^');
                    out.truncate(out.len() - if is_any { 2 } else { 1 });
                    out.push_str(if is_any { "(?s:.)" } else { "(?!)" });
                }
            }
            ']' if in_class => {
                in_class = false;
                out.push(']');
            }
            '&' | '~' if in_class => out.extend(['\\', c]),
            '-' if in_class => {
                // A dash that is not between two characters is literal.
                let is_edge = out.ends_with(['[', '^']) || pattern[at + 1..].starts_with(']');
                let is_beside_class = out.ends_with("A-Za-z_") || out.ends_with("0-9");
                out.push_str(if is_edge || is_beside_class {
                    "\\-"
                } else {
                    "-"
                });
            }
            '{' if !in_class && !counts(&pattern[at + 1..]) => out.push_str("\\{"),
            '}' if !in_class && !closes_count(&pattern[..at]) => out.push_str("\\}"),
            other => out.push(other),
        }
    }
    out
}

fn escape(next: char, in_class: bool, out: &mut String) {
    match next {
        'd' if in_class => out.push_str("0-9"),
        'd' => out.push_str("[0-9]"),
        'D' => out.push_str("[^0-9]"),
        'w' if in_class => out.push_str("0-9A-Za-z_"),
        'w' => out.push_str("[0-9A-Za-z_]"),
        'W' => out.push_str("[^0-9A-Za-z_]"),
        'b' if in_class => out.push_str("\\x08"),
        'b' => out.push_str(BOUNDARY),
        'B' => out.push_str(NO_BOUNDARY),
        '0' => out.push_str("\\x00"),
        'v' => out.push_str("\\x0B"),
        's' | 'S' | 'n' | 'r' | 't' | 'f' | 'x' | 'u' | 'k' | '1'..='9' => out.extend(['\\', next]),
        other if other.is_ascii_alphanumeric() || matches!(other, '<' | '>') => out.push(other),
        other if other.is_ascii() => out.extend(['\\', other]),
        other => out.push(other),
    }
}

fn counts(rest: &str) -> bool {
    rest.split_once('}').is_some_and(|(inner, _)| {
        inner.starts_with(|c: char| c.is_ascii_digit())
            && inner.bytes().all(|b| b.is_ascii_digit() || b == b',')
            && inner.matches(',').count() < 2
    })
}

fn closes_count(before: &str) -> bool {
    before.rfind('{').is_some_and(|at| {
        !before[..at].ends_with('\\') && counts(&format!("{}}}", &before[at + 1..]))
    })
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
