//! What a tool has printed, as a result.

use super::manifest::Output;
use crate::genai::Part;
use crate::process::capture::Captured;
use crate::shown::show_path;
use crate::tool::{
    Display, ErrorKind, LlmContent, ResultError, TailToolCallRequest, ToolError, ToolResult,
};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

const KEYS: [&str; 5] = [
    "llmContent",
    "returnDisplay",
    "error",
    "data",
    "tailToolCallRequest",
];

/// What a part must hold one of.
const PART_KEYS: [&str; 9] = [
    "text",
    "inlineData",
    "fileData",
    "functionCall",
    "functionResponse",
    "executableCode",
    "codeExecutionResult",
    "thought",
    "videoMetadata",
];

/// The result of a call; `failure` is why it failed, if it did.
pub(super) fn result(
    name: &str,
    form: Output,
    output: Captured,
    failure: Option<ToolError>,
) -> Result<ToolResult, ToolError> {
    match (form, failure) {
        (Output::Text, None) => Ok(text(output)),
        (Output::Text | Output::Json, Some(failure)) => Err(failure),
        (Output::Json, None) => {
            let (text, value) = json(name, "output = \"json\"", &output)?;
            let mut result = ToolResult::text(text);
            if let Value::Object(data) = value {
                result.data = Some(data);
            }
            Ok(result)
        }
        (Output::ToolResult, None) => whole(name, &output),
        // A tool that explains its own failure has the word.
        (Output::ToolResult, Some(failure)) => match whole(name, &output) {
            Ok(result) if result.error.is_some() && failure.kind == ErrorKind::ExecutionFailed => {
                Ok(result)
            }
            _ => Err(failure),
        },
    }
}

fn text(output: Captured) -> ToolResult {
    let mut result = ToolResult::text(output.text.as_str()).with_data("bytes", output.bytes);
    if let Some(file) = &output.file {
        result = result.with_data("outputFile", show_path(file).into_owned());
    }
    result.terminal_text.clone_from(&output.coloured);
    result.return_display = output.coloured.unwrap_or(output.text).into();
    result.is_limited = true;
    result
}

fn error(name: &str, what: &str) -> ToolError {
    ToolError::new(
        ErrorKind::ExecutionFailed,
        format!("The tool {name} gave no usable result: {what}"),
    )
}

/// The output as it was printed, and as a value.
fn json(name: &str, wanted: &str, output: &Captured) -> Result<(String, Value), ToolError> {
    let Some(raw) = &output.raw else {
        return Err(error(name, "it printed more than 64 MiB."));
    };
    let text = String::from_utf8_lossy(raw.trim_ascii());
    let value = serde_json::from_str(&text).map_err(|e| {
        let start: String = text.chars().take(200).collect();
        let start = if start.is_empty() {
            "It printed nothing.".to_owned()
        } else {
            format!("It printed: {start}")
        };
        error(
            name,
            &format!("it says {wanted}, but what it printed is not JSON: {e}. {start}"),
        )
    })?;
    Ok((text.into_owned(), value))
}

/// A whole result, strictly read.
fn whole(name: &str, output: &Captured) -> Result<ToolResult, ToolError> {
    let (_, value) = json(name, "output = \"tool_result\"", output)?;
    parse(value).map_err(|what| error(name, &what))
}

fn parse(value: Value) -> Result<ToolResult, String> {
    let Value::Object(mut map) = value else {
        return Err("a tool_result is an object such as {\"llmContent\":\"done\"}.".to_owned());
    };
    if let Some(odd) = map.keys().find(|key| !KEYS.contains(&key.as_str())) {
        return Err(format!(
            "a tool_result has no {odd:?}; its keys are {}.",
            KEYS.join(", ")
        ));
    }
    let mut result = ToolResult::default();
    let content = map.remove("llmContent");
    let has_content = content.is_some();
    if let Some(content) = content {
        check_content(&content)?;
        result.llm_content = typed("llmContent", content)?;
    }
    if let Some(display) = map.remove("returnDisplay") {
        result.return_display = match display {
            Value::String(text) => Display::Markdown(text),
            list @ Value::Array(_) => Display::Ansi(typed("returnDisplay", list)?),
            object @ Value::Object(_) if object.get("todos").is_some() => {
                Display::Todos(typed("returnDisplay", object)?)
            }
            _ => {
                return Err(
                    "returnDisplay must be a text, {\"todos\":[…]}, or lines of a terminal."
                        .to_owned(),
                );
            }
        };
    }
    if let Some(error) = map.remove("error").filter(|error| !error.is_null()) {
        result.error = Some(failure(error)?);
    }
    match map.remove("data") {
        None | Some(Value::Null) => {}
        Some(Value::Object(data)) => result.data = Some(data),
        Some(_) => return Err("data must be an object.".to_owned()),
    }
    if let Some(next) = map
        .remove("tailToolCallRequest")
        .filter(|next| !next.is_null())
    {
        let next: TailToolCallRequest = typed("tailToolCallRequest", next)?;
        result.tail_tool_call_request = Some(next);
    }
    if !has_content && result.error.is_none() && result.tail_tool_call_request.is_none() {
        return Err("a tool_result must have llmContent, error or tailToolCallRequest.".to_owned());
    }
    if !has_content && let Some(error) = &result.error {
        result.llm_content = LlmContent::Text(error.message.clone());
    }
    Ok(result)
}

fn failure(error: Value) -> Result<ResultError, String> {
    let Value::Object(mut map) = error else {
        return Err("error must be an object such as {\"message\":\"no such table\"}.".to_owned());
    };
    let Some(Value::String(message)) = map.remove("message") else {
        return Err("error.message is missing, or no text.".to_owned());
    };
    let kind = match map.remove("type") {
        None | Some(Value::Null) => Some(ErrorKind::ExecutionFailed),
        Some(kind) => Some(typed::<ErrorKind>("error.type", kind)?),
    };
    match map.keys().next() {
        Some(odd) => Err(format!(
            "error has no {odd:?}; its keys are message and type."
        )),
        None => Ok(ResultError { message, kind }),
    }
}

fn typed<T: DeserializeOwned>(key: &str, value: Value) -> Result<T, String> {
    serde_path_to_error::deserialize(value).map_err(|e| {
        let path = e.path().to_string();
        let path = if path == "." {
            key.to_owned()
        } else {
            format!("{key}.{path}")
        };
        format!("{path} can't be used: {}.", e.into_inner())
    })
}

fn check_content(content: &Value) -> Result<(), String> {
    match content {
        Value::String(_) => Ok(()),
        Value::Object(part) => check_part("llmContent", part),
        Value::Array(list) => list
            .iter()
            .enumerate()
            .try_for_each(|(at, item)| match item {
                Value::String(_) => Ok(()),
                Value::Object(part) => check_part(&format!("llmContent[{at}]"), part),
                _ => Err(format!("llmContent[{at}] must be a text or a part.")),
            }),
        _ => Err("llmContent must be a text, a part, or a list of both.".to_owned()),
    }
}

fn check_part(path: &str, part: &Map<String, Value>) -> Result<(), String> {
    if !part.keys().any(|key| PART_KEYS.contains(&key.as_str())) {
        return Err(format!(
            "{path} is no part: it must have text, inlineData {{mimeType, data}} or fileData \
             {{mimeType, fileUri}}."
        ));
    }
    let part: Part = typed(path, Value::Object(part.clone()))?;
    if let Some(blob) = &part.inline_data {
        use base64::Engine;
        let engine = base64::engine::general_purpose::STANDARD;
        if blob.mime_type.is_empty() || engine.decode(&blob.data).is_err() {
            return Err(format!(
                "{path}.inlineData must have a mimeType, and data in base64 with padding."
            ));
        }
    }
    Ok(())
}
