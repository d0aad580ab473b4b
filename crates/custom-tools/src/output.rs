//! Parses structured output of a tool's program: JSON, or a complete result.

use super::report::nearest_name;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use gemini_tools_core::json;
use gemini_tools_core::message::{Blob, Part};
use gemini_tools_core::tool::{
    Display, ErrorKind, LlmContent, PartOrText, ResultError, TailToolCallRequest, ToolResult,
    WantedInput,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

#[derive(Deserialize)]
#[serde(
    deny_unknown_fields,
    rename_all = "camelCase",
    expecting = "an object with llmContent, error or inputRequests"
)]
struct WholeResult {
    llm_content: Option<Value>,
    return_display: Option<Value>,
    error: Option<ReportedError>,
    data: Option<Map<String, Value>>,
    tail_tool_call_request: Option<TailToolCallRequest>,
    input_requests: Option<Map<String, Value>>,
    request_state: Option<String>,
}

#[derive(Debug)]
pub(super) enum Printed {
    Result(Box<ToolResult>),
    Wanted(WantedInput),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object with message and type")]
struct ReportedError {
    message: String,
    #[serde(rename = "type")]
    kind: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
enum KeyedPart {
    Text(String),
    InlineData(Blob),
    FileData(FileData),
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct FileData {
    mime_type: String,
    file_uri: String,
}

/// A part in the form that Gemini CLI's documentation of tools shows, with its type in `type`.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", deny_unknown_fields)]
enum TypedPart {
    Text { text: String },
    Image { image: Media },
    Audio { audio: Media },
    Video { video: Media },
    File { file: Media },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Media {
    url: String,
}

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

pub(super) fn printed(stdout: &[u8]) -> Result<Printed, String> {
    let (_, value) = parse(stdout)?;
    let whole: WholeResult = json::from_value(value).map_err(|e| {
        let message = e.to_string();
        format!(
            "it is not a ToolResult: {message}.{}",
            nearest_name(&message)
        )
    })?;
    if let Some(requests) = whole.input_requests {
        if requests.is_empty() {
            return Err("its inputRequests are empty, where questions were expected.".to_owned());
        }
        let state = whole.request_state;
        return Ok(Printed::Wanted(WantedInput { requests, state }));
    }
    result(whole).map(|result| Printed::Result(Box::new(result)))
}

fn result(whole: WholeResult) -> Result<ToolResult, String> {
    let error = whole.error.map(|error| ResultError {
        kind: Some(
            error
                .kind
                .map_or(ErrorKind::ExecutionFailed, |name| error_kind(&name)),
        ),
        message: error.message,
    });
    let llm_content = match (whole.llm_content, &error) {
        (Some(content), _) => read_content(content)?,
        (None, Some(error)) => LlmContent::Text(error.message.clone()),
        (None, None) => {
            return Err(
                "\"llmContent\" is missing: what the model gets, as text or parts.".to_owned(),
            );
        }
    };
    let return_display = match (whole.return_display, &llm_content) {
        (Some(display), _) => read_display(display)?,
        (None, LlmContent::Text(text)) => text.clone().into(),
        (None, _) => Display::default(),
    };
    let mut result = ToolResult::content(llm_content);
    result.return_display = return_display;
    result.error = error;
    result.data = whole.data;
    result.tail_tool_call_request = whole.tail_tool_call_request;
    Ok(result)
}

/// Parses the name of an error kind, in upper or lower case. An unknown one counts as a general
/// failure, so that the tool's message is not lost.
fn error_kind(name: &str) -> ErrorKind {
    let name = Value::from(name.to_ascii_lowercase());
    ErrorKind::deserialize(name).unwrap_or(ErrorKind::ExecutionFailed)
}

fn read_content(content: Value) -> Result<LlmContent, String> {
    match content {
        Value::String(text) => Ok(LlmContent::Text(text)),
        Value::Array(items) => {
            let items = items.into_iter().enumerate().map(|(i, item)| match item {
                Value::String(text) => Ok(PartOrText::Text(text)),
                part => {
                    let part = read_part(part, &format!("llmContent[{i}]"))?;
                    Ok(PartOrText::Part(Box::new(part)))
                }
            });
            items.collect::<Result<_, String>>().map(LlmContent::List)
        }
        part => read_part(part, "llmContent").map(|part| LlmContent::Part(Box::new(part))),
    }
}

pub(super) fn read_part(part: Value, place: &str) -> Result<Part, String> {
    let wrong = |reason: String| format!("\"{place}\" can't be used: {reason}.");
    if !part.is_object() {
        return Err(wrong(
            "it must be a text, a part, or a list of both".to_owned(),
        ));
    }
    let media = if part.get("type").is_some() {
        match json::from_value(part).map_err(|e| wrong(e.to_string()))? {
            TypedPart::Text { text } => return Ok(Part::text(text)),
            TypedPart::Image { image: media }
            | TypedPart::Audio { audio: media }
            | TypedPart::Video { video: media }
            | TypedPart::File { file: media } => from_data_url(&media.url).ok_or_else(|| {
                let form = "data:image/png;base64,…";
                wrong(format!(
                    "its url must be a data URL with its type, in base64: {form}"
                ))
            })?,
        }
    } else {
        match json::from_value(part).map_err(|e| wrong(e.to_string()))? {
            KeyedPart::Text(text) => return Ok(Part::text(text)),
            KeyedPart::FileData(file) => {
                return Ok(Part {
                    file_data: Some(serde_json::json!(file)),
                    ..Part::default()
                });
            }
            KeyedPart::InlineData(media) => media,
        }
    };
    if STANDARD.decode(&media.data).is_err() {
        return Err(wrong("its data is not base64".to_owned()));
    }
    Ok(Part::inline_data(media.mime_type, media.data))
}

fn from_data_url(url: &str) -> Option<Blob> {
    let scheme = url.get(..5)?;
    let (head, data) = url[5..].split_once(',')?;
    let head = head.strip_suffix(";base64")?;
    let mime = head.split(';').next()?;
    let is_whole = scheme.eq_ignore_ascii_case("data:") && mime.contains('/');
    is_whole.then(|| Blob {
        mime_type: mime.to_ascii_lowercase(),
        data: data.to_owned(),
    })
}

/// Parses a display. Its keys decide which type is tried, so that an error message is about the
/// type that the program meant.
fn read_display(display: Value) -> Result<Display, String> {
    match display {
        Value::String(text) => Ok(Display::Markdown(text)),
        display if display.get("fileDiff").is_some() => {
            let wrong = |e| format!("\"returnDisplay\" can't be used: {e}.");
            let diff = json::from_value(display).map_err(wrong)?;
            Ok(Display::FileDiff(Box::new(diff)))
        }
        Value::Array(_) | Value::Object(_) => Ok(Display::Other(display)),
        _ => Err("\"returnDisplay\" must be a text (markdown), an object or a list.".to_owned()),
    }
}

#[cfg(test)]
mod tests;
