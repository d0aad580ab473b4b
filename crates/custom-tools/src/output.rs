//! What a tool's program prints where that is more than text.

use base64::Engine;
use gemini_tools_core::json;
use gemini_tools_core::tool::{
    Display, ErrorKind, LlmContent, ResultError, TailToolCallRequest, ToolResult,
};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

/// The keys of a whole result.
const KEYS: [&str; 5] = [
    "llmContent",
    "returnDisplay",
    "error",
    "data",
    "tailToolCallRequest",
];

/// JSON as it is: its text for the model, and its value as data.
pub(super) fn of_json(stdout: &[u8]) -> Result<ToolResult, String> {
    let (text, value) = parse(stdout)?;
    let mut result = ToolResult::text(text);
    result.data = Some(match value {
        Value::Object(map) => map,
        other => [("value".to_owned(), other)].into_iter().collect(),
    });
    Ok(result)
}

fn parse(stdout: &[u8]) -> Result<(&str, Value), String> {
    let text = std::str::from_utf8(stdout).map_err(|_| "it is not UTF-8.".to_owned())?;
    let text = text.trim();
    if text.is_empty() {
        return Err("it is nothing, where JSON was expected.".to_owned());
    }
    let value = json::read(text.as_bytes()).map_err(|e| format!("it is not valid JSON: {e}."))?;
    Ok((text, value))
}

/// A whole result: parts, display, error, data, tail call.
pub(super) fn tool_result(stdout: &[u8]) -> Result<ToolResult, String> {
    let (_, value) = parse(stdout)?;
    let Value::Object(mut map) = value else {
        return Err(format!(
            "it is not a ToolResult, which is an object with {}.",
            KEYS.join(", ")
        ));
    };
    if let Some(unknown) = map.keys().find(|key| !KEYS.contains(&key.as_str())) {
        let near = super::reader::near(unknown, KEYS.into_iter());
        return Err(format!(
            "a ToolResult has no key {unknown:?}; it has {}.{near}",
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
        None | Some(Value::Null) => ErrorKind::ExecutionFailed,
        Some(Value::String(name)) => kind_of_error(&name),
        Some(_) => return Err("\"error.type\" must be a text.".to_owned()),
    };
    match map.keys().next() {
        Some(key) => Err(format!("\"error.{key}\" is not known.")),
        None => Ok(ResultError {
            message,
            kind: Some(kind),
        }),
    }
}

/// The type of error of a name in any spelling, `FILE_NOT_FOUND` and `FileNotFound` too. One that
/// is not known must not take the place of what the tool itself says: it is a failure like others.
fn kind_of_error(name: &str) -> ErrorKind {
    let mut snake = String::with_capacity(name.len());
    let mut was_small = false;
    for c in name.trim().chars() {
        if c.is_ascii_uppercase() && was_small {
            snake.push('_');
        }
        was_small = c.is_ascii_lowercase() || c.is_ascii_digit();
        snake.push(if c.is_ascii_alphanumeric() {
            c.to_ascii_lowercase()
        } else {
            '_'
        });
    }
    ErrorKind::deserialize(Value::from(snake)).unwrap_or(ErrorKind::ExecutionFailed)
}

fn content_of(mut content: Value) -> Result<LlmContent, String> {
    match &mut content {
        Value::Array(items) => {
            for (i, item) in items.iter_mut().enumerate() {
                take_typed(item, &format!("llmContent[{i}]"))?;
            }
        }
        one => take_typed(one, "llmContent")?,
    }
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
    json::from_value(content).map_err(|e| format!("\"llmContent\" can't be used: {e}."))
}

/// Makes one of Gemini's parts of one that names its type, as `{type: "image", image: {url: "data:…"}}`
/// does, the form in Gemini CLI's documentation of tools.
fn take_typed(item: &mut Value, place: &str) -> Result<(), String> {
    const MEDIA: [&str; 4] = ["image", "audio", "video", "file"];
    let Some(kind) = item["type"].as_str().map(str::to_owned) else {
        return Ok(());
    };
    let keys = item.as_object().map_or(0, Map::len);
    if keys != 2 || item.get(&kind).is_none() {
        return Err(format!(
            "\"{place}\" is of type {kind:?}: it must have \"type\" and {kind:?}, and nothing else."
        ));
    }
    if kind == "text" {
        *item = json!({ "text": item["text"].take() });
        return Ok(());
    }
    if !MEDIA.contains(&kind.as_str()) {
        return Err(format!(
            "\"{place}.type\" is {kind:?}, but it must be \"text\" or one of {}.",
            MEDIA.join(", ")
        ));
    }
    let url = item[&kind]["url"].as_str().unwrap_or_default();
    let Some((mime, data)) = from_data_url(url) else {
        return Err(format!(
            "\"{place}.{kind}.url\" must be a data URL with its type, in base64: data:image/png;base64,…"
        ));
    };
    *item = json!({ "inlineData": { "mimeType": mime, "data": data } });
    Ok(())
}

/// The type and the base64 of a data URL.
fn from_data_url(url: &str) -> Option<(String, String)> {
    let scheme = url.get(..5)?;
    let (head, data) = url[5..].split_once(',')?;
    let head = head.strip_suffix(";base64")?;
    let mime = head.split(';').next()?;
    let is_whole = scheme.eq_ignore_ascii_case("data:") && mime.contains('/');
    is_whole.then(|| (mime.to_ascii_lowercase(), data.to_owned()))
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
                return Err(format!("\"{place}.inlineData.data\" is not base64."));
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
    fn read<T: DeserializeOwned>(value: Value) -> Result<T, String> {
        let wrong = |e| format!("\"returnDisplay\" can't be used: {e}.");
        json::from_value(value).map_err(wrong)
    }
    let has = |key: &str| display.get(key).is_some();
    match &display {
        Value::String(text) => Ok(Display::Markdown(text.clone())),
        Value::Array(_) => read(display).map(Display::Ansi),
        _ if has("fileDiff") => read(display).map(|diff| Display::FileDiff(Box::new(diff))),
        _ if has("todos") => read(display).map(Display::Todos),
        _ if has("agentName") => read(display).map(Display::Subagent),
        _ => Err(
            "\"returnDisplay\" must be a text (markdown), lines of a terminal ([[{\"text\": \"…\"}]]), or \
             an object with \"fileDiff\", \"todos\" or \"agentName\"."
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
    use super::{from_data_url, kind_of_error, of_json, tool_result};
    use gemini_tools_core::tool::{Display, ErrorKind};
    use serde_json::json as j;

    #[test]
    fn a_whole_result_is_taken_strictly() {
        let good = j!({"llmContent": ["a", {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}],
            "returnDisplay": "b", "data": {"n": 1}, "tailToolCallRequest": {"name": "t", "args": {}}});
        let result = tool_result(good.to_string().as_bytes()).expect("a result");
        assert!(result.tail_tool_call_request.is_some() && result.error.is_none());
        for (value, expected) in [
            (j!([]), "is not a ToolResult"),
            (j!({"llm_content": "a"}), "Did you mean \"llmContent\"?"),
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
                "not base64",
            ),
            (
                j!({"llmContent": "a", "returnDisplay": 1}),
                "\"returnDisplay\" must be",
            ),
            (j!({"llmContent": "a", "data": 1}), "\"data\" must be"),
            (j!({"error": "x"}), "\"error\" must be an object"),
            (j!({"error": {"message": 1}}), "\"error.message\""),
            (
                j!({"error": {"message": "m", "type": 1}}),
                "\"error.type\" must be a text",
            ),
            (
                j!({"llmContent": {"type": "image", "image": {"url": "https://x.test/a.png"}}}),
                "\"llmContent.image.url\" must be a data URL",
            ),
            (
                j!({"llmContent": [{"type": "image", "url": "data:,"}]}),
                "\"llmContent[0]\" is of type",
            ),
            (
                j!({"llmContent": {"type": "chart", "chart": {}}}),
                "must be \"text\" or one of image",
            ),
            (
                j!({"llmContent": "a", "returnDisplay": [["plain"]]}),
                "\"returnDisplay\" can't be used",
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
    fn an_error_keeps_its_type_in_any_spelling_and_its_message_in_any_case() {
        for name in [
            "FILE_NOT_FOUND",
            "file_not_found",
            "FileNotFound",
            "file-not-found",
        ] {
            assert_eq!(kind_of_error(name), ErrorKind::FileNotFound, "{name}");
        }
        for name in ["EXECUTION_FAILED", "NO_SUCH_TYPE", ""] {
            assert_eq!(kind_of_error(name), ErrorKind::ExecutionFailed, "{name}");
        }
        let odd = j!({"error": {"message": "the tool's own", "type": "ODD"}});
        let result = tool_result(odd.to_string().as_bytes()).expect("a result");
        let error = result.error.expect("an error");
        assert_eq!(error.message, "the tool's own");
    }

    #[test]
    fn displays_of_every_sort_are_taken() {
        let display = |display: serde_json::Value| {
            let whole = j!({"llmContent": "a", "returnDisplay": display});
            let result = tool_result(whole.to_string().as_bytes()).expect("a result");
            result.return_display
        };
        let ansi = display(j!([[{"text": "red", "fg": "#ff0000"}], []]));
        assert!(matches!(ansi, Display::Ansi(lines) if lines[0][0].text == "red"));
        let activity = j!([{"type": "thought", "content": "hm", "status": "running"}]);
        let agent = display(j!({"agentName": "a", "recentActivity": activity}));
        assert!(matches!(agent, Display::Subagent(_)));
        let diff = display(j!({"fileDiff": "d", "fileName": "f"}));
        assert!(matches!(diff, Display::FileDiff(_)));
        let todos = display(j!({"todos": [{"description": "d", "status": "pending"}]}));
        assert!(matches!(todos, Display::Todos(_)));
    }

    #[test]
    fn a_data_url_has_a_type_and_base64() {
        let of = |url| from_data_url(url).unwrap_or_default();
        let png = ("image/png".to_owned(), "AAAA".to_owned());
        assert_eq!(of("data:image/png;base64,AAAA"), png);
        assert_eq!(of("DATA:image/PNG;charset=x;base64,AAAA"), png);
        for bad in [
            "",
            "data:",
            "é",
            "data:image/png,AAAA",
            "data:;base64,AAAA",
            "http://a/b;base64,c",
        ] {
            assert_eq!(from_data_url(bad), None, "{bad}");
        }
    }

    #[test]
    fn json_is_text_and_data() {
        let result = of_json(b" [1, 2]\n").expect("JSON");
        assert_eq!(j!(result.data), j!({"value": [1, 2]}));
        for bad in [&b""[..], b"{", b"\xff"] {
            assert!(of_json(bad).is_err());
        }
    }
}
