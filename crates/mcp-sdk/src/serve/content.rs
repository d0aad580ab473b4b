//! Converts results of our tools to MCP content blocks.

use gemini_tools_core::answer::Answer;
use gemini_tools_core::message::{Blob, Part};
use gemini_tools_core::tool::{ErrorKind, ToolError};
use rmcp::model::{CallToolResult, ContentBlock, Resource, ResourceContents};
use serde_json::{Map, Value, json};

/// Converts a call's result. `structured` says whether the client gets structured content.
/// `is_foreign` is true if the result comes from an MCP server; its structured content must then be
/// passed on unchanged, because the client checks it against that server's schema.
pub(super) fn result(answer: &Answer<'_>, is_foreign: bool, structured: bool) -> CallToolResult {
    let result = match (&answer.outcome, answer.failure()) {
        (_, Some((message, kind))) => {
            let mut result = failure(&message, kind, structured);
            for part in answer.media_of_failure() {
                push(answer.name, part, &mut result.content);
            }
            return result;
        }
        (Err(e), None) => return refused(e, structured),
        (Ok(result), None) => result,
    };
    let mut blocks = Vec::new();
    for part in result.llm_content.to_parts() {
        push(answer.name, part, &mut blocks);
    }
    let has_media = blocks.iter().any(|block| block.as_text().is_none());
    let data = match result.data.as_ref().filter(|_| structured) {
        Some(data) if is_foreign => Some(data.clone()),
        // A client that shows only structured content would lose images and the like.
        Some(data) if !has_media => Some(with_text(data, &blocks)),
        _ => None,
    };
    let mut result = CallToolResult::success(blocks);
    result.structured_content = data.map(Value::Object);
    result
}

pub(super) fn refused(error: &ToolError, structured: bool) -> CallToolResult {
    failure(&error.to_string(), error.kind, structured)
}

fn failure(message: &str, kind: ErrorKind, structured: bool) -> CallToolResult {
    let mut result = CallToolResult::error(vec![ContentBlock::text(message)]);
    let data = structured.then(|| json!({ "error": message, "errorType": kind }));
    result.structured_content = data;
    result
}

/// Adds the text to the structured data. The protocol wants both to carry the same information,
/// since a client may use only one of them.
fn with_text(data: &Map<String, Value>, blocks: &[ContentBlock]) -> Map<String, Value> {
    let texts: Vec<&str> = blocks
        .iter()
        .filter_map(|block| block.as_text().map(|text| text.text.as_str()))
        .collect();
    let mut all = data.clone();
    if !texts.is_empty() {
        all.entry("output")
            .or_insert_with(|| texts.join("\n").into());
    }
    all
}

fn push(tool: &str, part: Part, blocks: &mut Vec<ContentBlock>) {
    blocks.push(match part {
        Part {
            text: Some(text), ..
        } => ContentBlock::text(text),
        Part {
            inline_data: Some(Blob { mime_type, data }),
            ..
        } => match mime_type.split('/').next() {
            Some("image") => ContentBlock::image(data, mime_type),
            Some("audio") => ContentBlock::audio(data, mime_type),
            _ => {
                // The protocol requires a URI. This one only serves as a name; nothing can be read
                // by it.
                let uri = format!("tool-result:{tool}/{}", blocks.len());
                let contents = ResourceContents::blob(data, uri).with_mime_type(mime_type);
                ContentBlock::resource(contents)
            }
        },
        part => match part.file_data.as_ref().and_then(link) {
            Some(link) => ContentBlock::resource_link(link),
            None => ContentBlock::text(serde_json::to_string(&part).unwrap_or_default()),
        },
    });
}

fn link(file: &Value) -> Option<Resource> {
    let uri = file["fileUri"].as_str()?;
    let link = Resource::new(uri, uri.rsplit('/').next().unwrap_or_default());
    Some(match file["mimeType"].as_str() {
        Some(mime) => link.with_mime_type(mime),
        None => link,
    })
}

#[cfg(test)]
mod tests;
