//! Converts the result of an MCP call to a [`ToolResult`].

use gemini_tools_core::message::Part;
use gemini_tools_core::tool::{ErrorKind, LlmContent, PartOrText, ResultError, ToolResult};
use serde_json::Value;

const UNKNOWN_TYPE: &str = "application/octet-stream";

pub(super) fn result(name: &str, answer: &Value) -> ToolResult {
    let mut parts = Vec::new();
    let mut shown = Vec::new();
    let blocks = answer["content"].as_array().map_or(&[][..], Vec::as_slice);
    for block in blocks {
        push(name, block, &mut parts, &mut shown);
    }
    let structured = &answer["structuredContent"];
    if parts.is_empty() && !structured.is_null() {
        parts.push(text(structured.to_string()));
        shown.push(structured.to_string());
    }
    let error = (answer["isError"] == true).then(|| ResultError {
        message: message(name, &parts),
        kind: Some(ErrorKind::McpToolError),
    });
    let llm_content = if parts.is_empty() {
        LlmContent::default()
    } else {
        LlmContent::List(parts)
    };
    let mut result = ToolResult::content(llm_content).with_display(shown.join("\n"));
    result.error = error;
    result.data = structured.as_object().cloned();
    result
}

pub(super) fn resource(uri: &str, answer: &Value) -> ToolResult {
    let blocks: Vec<Value> = answer["contents"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|content| serde_json::json!({ "type": "resource", "resource": content }))
        .collect();
    let mut result = result(
        "read_mcp_resource",
        &serde_json::json!({ "content": blocks }),
    );
    if result.llm_content == LlmContent::default() {
        result.llm_content = LlmContent::Text(format!("The resource {uri} is empty."));
    }
    result
}

fn text(text: impl Into<String>) -> PartOrText {
    PartOrText::Part(Box::new(Part::text(text)))
}

fn push(name: &str, block: &Value, parts: &mut Vec<PartOrText>, shown: &mut Vec<String>) {
    let string = |key: &str| block[key].as_str().unwrap_or_default();
    let mut media = |kind: &str, mime: &str, data: &str| {
        parts.push(text(format!(
            "[Tool '{name}' provided the following {kind} data with mime-type: {mime}]"
        )));
        let part = Part::inline_data(mime, data.to_owned());
        parts.push(PartOrText::Part(Box::new(part)));
    };
    match string("type") {
        "text" => {
            parts.push(text(string("text")));
            shown.push(string("text").to_owned());
        }
        kind @ ("image" | "audio") => {
            media(kind, string("mimeType"), string("data"));
            shown.push(format!("[{kind}: {}]", string("mimeType")));
        }
        "resource" => {
            let resource = &block["resource"];
            let mime = resource["mimeType"].as_str().unwrap_or(UNKNOWN_TYPE);
            if let Some(content) = resource["text"].as_str() {
                parts.push(text(content));
                shown.push(content.to_owned());
            } else if let Some(data) = resource["blob"].as_str() {
                media("resource", mime, data);
                shown.push(format!("[resource: {mime}]"));
            }
        }
        "resource_link" => {
            let label = block["title"].as_str().unwrap_or_else(|| string("name"));
            let line = format!("Resource Link: {label} at {}", string("uri"));
            parts.push(text(&line));
            shown.push(line);
        }
        other => {
            let line = format!("[Tool '{name}' provided content of the unknown type {other:?}]");
            parts.push(text(&line));
            shown.push(line);
        }
    }
}

fn message(name: &str, parts: &[PartOrText]) -> String {
    let texts: Vec<&str> = parts
        .iter()
        .filter_map(|part| match part {
            PartOrText::Text(text) => Some(text.as_str()),
            PartOrText::Part(part) => part.text.as_deref(),
        })
        .collect();
    let said = texts.join("\n");
    if said.trim().is_empty() {
        format!("The MCP tool {name} has failed without saying why.")
    } else {
        said
    }
}

#[cfg(test)]
mod tests;
