//! Parses settings files, and expands the variables in them.

use super::{Scope, lines};
use gemini_tools_environment::variables::is_dangling;
use gemini_tools_workspace::file_owner::FileOwner;
use gemini_tools_workspace::files;
use serde_json::Value;
use std::path::Path;

pub(super) struct SettingsFile {
    pub(super) value: Value,
    /// Set if the text contains a `$`, so that variables may have to be expanded.
    pub(super) has_variables: bool,
    pub(super) id: (u64, u64),
}

pub(super) fn parse(
    path: &Path,
    scope: Scope,
    owner: FileOwner<'_>,
) -> Result<Option<SettingsFile>, String> {
    let Some(opened) = owner.open_regular(path).map_err(|e| e.to_string())? else {
        return if is_dangling(path) {
            Err("it is a link that leads nowhere".to_owned())
        } else {
            Ok(None)
        };
    };
    let id = files::identity(&opened.metadata);
    if matches!(scope, Scope::System | Scope::SystemDefaults) {
        // Gemini CLI 0.61 ignores a system file that anyone but root can write. Here a file that
        // the user owns is accepted too, because an environment variable may name such a file. It
        // can't give the user more rights than the user's own settings file can.
        files::check_writers(path, &opened.metadata)?;
    }
    let text = opened.text().map_err(|e| e.to_string())?;
    // Before the values, so that both are not held at once.
    let twin = lines::twin(&text);
    match jsonc(&text) {
        // The file is empty, or contains only comments.
        Ok(Value::Null) => Ok(None),
        Ok(value @ Value::Object(_)) => match twin {
            Some(twin) => Err(twin),
            None => Ok(Some(SettingsFile {
                has_variables: text.contains('$'),
                value,
                id,
            })),
        },
        Ok(_) => Err("expected an object in { }".to_owned()),
        Err(e) => Err(e),
    }
}

fn fault(error: &jsonc_parser::errors::ParseError) -> String {
    let mut message = error.kind().to_string();
    message[..1].make_ascii_lowercase();
    let (line, column) = (error.line_display(), error.column_display());
    format!("line {line}, column {column}: {message}")
}

/// Parses JSON with comments and trailing commas. A text without a value is null.
///
/// # Errors
///
/// Returns what is wrong, and at which line.
pub fn jsonc(text: &str) -> Result<Value, String> {
    jsonc_parser::parse_to_serde_value(text, &jsonc_parser::ParseOptions::default())
        .map_err(|e| fault(&e))
}

/// Parses settings as strictly as Gemini CLI does: comments are removed, and the rest must be plain
/// JSON (seen in 0.61.0, which otherwise ends with status 52). [`jsonc`] accepts more, so this
/// function serves only to tell the user what Gemini CLI would reject.
///
/// # Errors
///
/// Returns what is wrong, and at which line.
pub fn strict_jsonc(text: &str) -> Result<Value, String> {
    const STRICT: jsonc_parser::ParseOptions = jsonc_parser::ParseOptions {
        allow_comments: true,
        allow_loose_object_property_names: false,
        allow_trailing_commas: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    if text.starts_with('\u{feff}') {
        return Err(
            "line 1, column 1: there is a byte order mark (BOM) before the text".to_owned(),
        );
    }
    jsonc_parser::parse_to_serde_value(text, &STRICT).map_err(|e| fault(&e))
}

/// Expands variables in all strings: `$NAME`, `${NAME}` and `${NAME:-default}`, as Gemini CLI 0.61
/// does. A reference to an unset variable without a default is left as it is written.
pub(super) fn expand_all(value: &mut Value, variable: &dyn Fn(&str) -> Option<String>) {
    match value {
        Value::String(text) if text.contains('$') => *text = expand(text, variable),
        Value::Array(list) => list.iter_mut().for_each(|v| expand_all(v, variable)),
        Value::Object(map) => map.values_mut().for_each(|v| expand_all(v, variable)),
        _ => {}
    }
}

/// Expands environment variables in a text.
pub fn expanded(text: &str) -> String {
    expand(text, &|name| std::env::var(name).ok())
}

fn expand(text: &str, variable: &dyn Fn(&str) -> Option<String>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let (name, otherwise, length) = reference(rest);
        match variable(name).filter(|_| !name.is_empty()) {
            Some(value) => out.push_str(&value),
            None => out.push_str(otherwise.unwrap_or(&rest[..length])),
        }
        rest = &rest[length..];
    }
    out.push_str(rest);
    out
}

/// Parses the reference to a variable with which `text` begins, at a `$`: the variable's name, its
/// default, and the length of the reference in bytes. The name is empty if it is no reference.
pub fn reference(text: &str) -> (&str, Option<&str>, usize) {
    let after = &text[1..];
    if let Some(inner) = after.strip_prefix('{') {
        return match inner.find('}') {
            Some(end) => {
                let (name, otherwise) = match inner[..end].split_once(":-") {
                    Some((name, otherwise)) => (name, Some(otherwise)),
                    None => (&inner[..end], None),
                };
                (name, otherwise.filter(|_| !name.is_empty()), end + 3)
            }
            None => ("", None, 1),
        };
    }
    let end = after
        .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .unwrap_or(after.len());
    (&after[..end], None, end + 1)
}

#[cfg(test)]
mod tests {
    use super::expand;

    #[test]
    fn variables_are_put_in_as_by_gemini_cli() {
        let variable = |name: &str| match name {
            "A" => Some("one".to_owned()),
            "EMPTY" => Some(String::new()),
            _ => None,
        };
        for (text, expected) in [
            ("$A", "one"),
            ("x$A-y${A}z", "xone-yonez"),
            ("$AB ${AB}", "$AB ${AB}"),
            ("${AB:-two} ${A:-two} ${AB:-}", "two one "),
            ("[$EMPTY]", "[]"),
            ("$ $$A ${} ${A", "$ $one ${} ${A"),
            ("${:-x} é$A", "${:-x} éone"),
        ] {
            assert_eq!(expand(text, &variable), expected, "{text}");
        }
    }
}
