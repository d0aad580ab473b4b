//! What a tool's program prints where that is more than text.

use crate::tool::{Display, ErrorKind, LlmContent, ResultError, TailToolCallRequest, ToolResult};
use base64::Engine;
use serde::Deserialize;
use serde_json::{Map, Value};

/// The keys of a whole result.
const KEYS: [&str; 5] = [
    "llmContent",
    "returnDisplay",
    "error",
    "data",
    "tailToolCallRequest",
];

/// JSON as it is: its text for the model, and its value as data.
pub(super) fn json(stdout: &[u8]) -> Result<ToolResult, String> {
    let (text, value) = parse(stdout)?;
    let mut result = ToolResult::text(text);
    result.data = Some(match value {
        Value::Object(map) => map,
        other => [("value".to_owned(), other)].into_iter().collect(),
    });
    Ok(result)
}

fn parse(stdout: &[u8]) -> Result<(&str, Value), String> {
    let text = std::str::from_utf8(stdout).map_err(|_| "it is no UTF-8.".to_owned())?;
    let text = text.trim();
    if text.is_empty() {
        return Err("it is nothing, where JSON was expected.".to_owned());
    }
    let value = serde_json::from_str(text).map_err(|e| format!("it is no JSON: {e}."))?;
    Ok((text, value))
}

/// A whole result: parts, display, error, data, tail call.
pub(super) fn tool_result(stdout: &[u8]) -> Result<ToolResult, String> {
    let (_, value) = parse(stdout)?;
    let Value::Object(mut map) = value else {
        return Err(format!(
            "it is no ToolResult, which is an object with {}.",
            KEYS.join(", ")
        ));
    };
    if let Some(unknown) = map.keys().find(|key| !KEYS.contains(&key.as_str())) {
        let near = super::reader::near(unknown, KEYS.into_iter());
        return Err(format!(
            "a ToolResult has no key {unknown:?}{near}; it has {}.",
            KEYS.join(", ")
        ));
    }
    let mut result = ToolResult::default();
    if let Some(error) = map.remove("error").filter(|e| !e.is_null()) {
        result.error = Some(error_of(error)?);
    }
    match (map.remove("llmContent"), &result.error) {
        (Some(content), _) => result.llm_content = content_of(content)?,
        (None, Some(error)) => result.llm_content = LlmContent::Text(error.message.clone()),
        (None, None) => {
            return Err(
                "\"llmContent\" is missing: what the model gets, as text or parts.".to_owned(),
            );
        }
    }
    result.return_display = match map.remove("returnDisplay") {
        None | Some(Value::Null) => match &result.llm_content {
            LlmContent::Text(text) => text.clone().into(),
            _ => Display::default(),
        },
        Some(display) => display_of(display)?,
    };
    result.data = match map.remove("data") {
        None | Some(Value::Null) => None,
        Some(Value::Object(data)) => Some(data),
        Some(_) => return Err("\"data\" must be an object.".to_owned()),
    };
    if let Some(next) = map.remove("tailToolCallRequest").filter(|n| !n.is_null()) {
        result.tail_tool_call_request = Some(tail_of(next)?);
    }
    Ok(result)
}

fn error_of(error: Value) -> Result<ResultError, String> {
    let Value::Object(mut map) = error else {
        return Err(
            "\"error\" must be an object with \"message\" and, if known, \"type\".".to_owned(),
        );
    };
    let Some(Value::String(message)) = map.remove("message") else {
        return Err("\"error.message\" must be a text.".to_owned());
    };
    let kind = match map.remove("type") {
        None | Some(Value::Null) => Some(ErrorKind::ExecutionFailed),
        Some(kind) => Some(ErrorKind::deserialize(&kind).map_err(|_| {
            format!(
                "\"error.type\" is {kind}, which is no type of error; \"execution_failed\" is one."
            )
        })?),
    };
    match map.keys().next() {
        Some(key) => Err(format!("\"error.{key}\" is not known.")),
        None => Ok(ResultError { message, kind }),
    }
}

fn content_of(content: Value) -> Result<LlmContent, String> {
    match &content {
        Value::String(_) => {}
        Value::Object(part) => check_part(part, "llmContent")?,
        Value::Array(items) => {
            for (i, item) in items.iter().enumerate() {
                let place = format!("llmContent[{i}]");
                match item {
                    Value::String(_) => {}
                    Value::Object(part) => check_part(part, &place)?,
                    _ => return Err(format!("\"{place}\" must be a text or a part.")),
                }
            }
        }
        _ => return Err("\"llmContent\" must be a text, a part, or a list of both.".to_owned()),
    }
    serde_json::from_value(content).map_err(|e| format!("\"llmContent\" can't be used: {e}."))
}

/// A part is one thing, and what it needs is there.
fn check_part(part: &Map<String, Value>, place: &str) -> Result<(), String> {
    const KINDS: [(&str, [&str; 2]); 3] = [
        ("text", ["", ""]),
        ("inlineData", ["mimeType", "data"]),
        ("fileData", ["mimeType", "fileUri"]),
    ];
    let mut found = 0;
    for (kind, fields) in KINDS {
        let Some(value) = part.get(kind) else {
            continue;
        };
        found += 1;
        if kind == "text" {
            if !value.is_string() {
                return Err(format!("\"{place}.text\" must be a text."));
            }
            continue;
        }
        for field in fields {
            if !value[field].is_string() {
                return Err(format!("\"{place}.{kind}.{field}\" must be a text."));
            }
        }
        if kind == "inlineData" {
            let data = value["data"].as_str().unwrap_or_default();
            if base64::engine::general_purpose::STANDARD
                .decode(data)
                .is_err()
            {
                return Err(format!("\"{place}.inlineData.data\" is no base64."));
            }
        }
    }
    if found == 1 && part.len() == 1 {
        return Ok(());
    }
    let keys: Vec<&str> = part.keys().map(String::as_str).collect();
    let keys = if keys.is_empty() {
        "nothing".to_owned()
    } else {
        keys.join(", ")
    };
    Err(format!(
        "\"{place}\" must be one part, with \"text\", \"inlineData\" or \"fileData\", but it has {keys}."
    ))
}

fn display_of(display: Value) -> Result<Display, String> {
    let wrong = |e: serde_json::Error| format!("\"returnDisplay\" can't be used: {e}.");
    match display {
        Value::String(text) => Ok(Display::Markdown(text)),
        Value::Object(map) if map.contains_key("fileDiff") => {
            serde_json::from_value(Value::Object(map))
                .map(|diff| Display::FileDiff(Box::new(diff)))
                .map_err(wrong)
        }
        Value::Object(map) if map.contains_key("todos") => {
            serde_json::from_value(Value::Object(map))
                .map(Display::Todos)
                .map_err(wrong)
        }
        _ => Err(
            "\"returnDisplay\" must be a text (markdown), or an object with \"fileDiff\" or \
                  \"todos\"."
                .to_owned(),
        ),
    }
}

fn tail_of(next: Value) -> Result<TailToolCallRequest, String> {
    let is_whole = next["name"].is_string()
        && next["args"].is_object()
        && next.as_object().is_some_and(|map| map.len() == 2);
    is_whole
        .then(|| serde_json::from_value(next).ok())
        .flatten()
        .ok_or_else(|| {
            "\"tailToolCallRequest\" must be {\"name\": \"…\", \"args\": {…}}.".to_owned()
        })
}

#[cfg(test)]
mod tests {
    use super::{json, tool_result};
    use serde_json::json as j;

    #[test]
    fn a_whole_result_is_taken_strictly() {
        let good = j!({"llmContent": ["a", {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}],
            "returnDisplay": "b", "data": {"n": 1}, "tailToolCallRequest": {"name": "t", "args": {}}});
        let result = tool_result(good.to_string().as_bytes()).expect("a result");
        assert!(result.tail_tool_call_request.is_some() && result.error.is_none());
        for (value, expected) in [
            (j!([]), "is no ToolResult"),
            (j!({"llm_content": "a"}), "did you mean \"llmContent\""),
            (j!({}), "\"llmContent\" is missing"),
            (j!({"llmContent": 1}), "a text, a part, or a list"),
            (j!({"llmContent": [1]}), "\"llmContent[0]\" must be"),
            (j!({"llmContent": {}}), "but it has nothing"),
            (
                j!({"llmContent": {"text": "a", "x": 1}}),
                "but it has text, x",
            ),
            (
                j!({"llmContent": {"inlineData": {"data": "AAAA"}}}),
                "\"llmContent.inlineData.mimeType\"",
            ),
            (
                j!({"llmContent": {"inlineData": {"mimeType": "a/b", "data": "*"}}}),
                "no base64",
            ),
            (
                j!({"llmContent": "a", "returnDisplay": 1}),
                "\"returnDisplay\" must be",
            ),
            (j!({"llmContent": "a", "data": 1}), "\"data\" must be"),
            (j!({"error": "x"}), "\"error\" must be an object"),
            (j!({"error": {"message": 1}}), "\"error.message\""),
            (
                j!({"error": {"message": "m", "type": "odd"}}),
                "no type of error",
            ),
            (
                j!({"llmContent": "a", "tailToolCallRequest": {"name": "t"}}),
                "\"tailToolCallRequest\" must be",
            ),
        ] {
            let text = tool_result(value.to_string().as_bytes()).expect_err(expected);
            assert!(text.contains(expected), "{text}");
        }
    }

    #[test]
    fn json_is_text_and_data() {
        let result = json(b" [1, 2]\n").expect("JSON");
        assert_eq!(j!(result.data), j!({"value": [1, 2]}));
        for bad in [&b""[..], b"{", b"\xff"] {
            assert!(json(bad).is_err());
        }
    }
}
