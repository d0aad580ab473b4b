//! From the result of an MCP call to ours.

use gemini_tools_core::message::Part;
use gemini_tools_core::tool::{ErrorKind, LlmContent, PartOrText, ResultError, ToolResult};
use serde_json::Value;

/// The type of a resource that does not say what it is.
const UNKNOWN_TYPE: &str = "application/octet-stream";

/// Returns the result of a call of the tool `name`, as it is called on its server.
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
    ToolResult {
        llm_content,
        return_display: shown.join("\n").into(),
        error,
        data: structured.as_object().cloned(),
        ..ToolResult::default()
    }
}

/// Returns the result of reading resources: `contents`, as MCP has it.
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

/// Returns the message of a tool that has failed.
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
mod tests {
    use super::{resource, result};
    use gemini_tools_core::tool::{ErrorKind, LlmContent};
    use serde_json::{Value, json};

    fn parts(answer: &Value) -> Value {
        serde_json::to_value(result("t", answer).llm_content).expect("JSON")
    }

    #[test]
    fn blocks_become_the_parts_of_the_contract() {
        for (block, expected) in [
            (json!({"type": "text", "text": "a"}), json!([{"text": "a"}])),
            (
                json!({"type": "image", "mimeType": "image/png", "data": "AA=="}),
                json!([
                    {"text": "[Tool 't' provided the following image data with mime-type: image/png]"},
                    {"inlineData": {"mimeType": "image/png", "data": "AA=="}}]),
            ),
            (
                json!({"type": "audio", "mimeType": "audio/wav", "data": "AA=="}),
                json!([
                    {"text": "[Tool 't' provided the following audio data with mime-type: audio/wav]"},
                    {"inlineData": {"mimeType": "audio/wav", "data": "AA=="}}]),
            ),
            (
                json!({"type": "resource", "resource": {"uri": "u", "text": "r"}}),
                json!([{"text": "r"}]),
            ),
            (
                json!({"type": "resource", "resource": {"uri": "u", "blob": "AA=="}}),
                json!([
                    {"text": "[Tool 't' provided the following resource data with mime-type: application/octet-stream]"},
                    {"inlineData": {"mimeType": "application/octet-stream", "data": "AA=="}}]),
            ),
            (
                json!({"type": "resource_link", "uri": "u:1", "name": "n", "title": "T"}),
                json!([{"text": "Resource Link: T at u:1"}]),
            ),
            (
                json!({"type": "resource_link", "uri": "u:1", "name": "n"}),
                json!([{"text": "Resource Link: n at u:1"}]),
            ),
        ] {
            assert_eq!(parts(&json!({"content": [block]})), expected, "{block}");
        }
    }

    #[test]
    fn structured_content_is_data_and_text_only_where_there_is_no_other() {
        let both =
            json!({"content": [{"type": "text", "text": "a"}], "structuredContent": {"n": 1}});
        assert_eq!(parts(&both), json!([{"text": "a"}]));
        assert_eq!(result("t", &both).data.expect("data")["n"], 1);
        assert_eq!(
            parts(&json!({"structuredContent": {"n": 1}})),
            json!([{"text": "{\"n\":1}"}])
        );
        assert_eq!(
            result("t", &json!({})).llm_content,
            LlmContent::Text(String::new())
        );
    }

    #[test]
    fn failures_are_what_the_server_says() {
        let failed = json!({"isError": true, "content": [{"type": "text", "text": "no"}]});
        let error = result("t", &failed).error.expect("an error");
        assert_eq!(
            (error.message.as_str(), error.kind),
            ("no", Some(ErrorKind::McpToolError))
        );
        let silent = result("t", &json!({"isError": true}))
            .error
            .expect("an error");
        assert!(silent.message.contains("without saying why"));
    }

    #[test]
    fn an_empty_resource_says_so() {
        let empty = resource("u:1", &json!({"contents": []})).llm_content;
        assert_eq!(
            empty,
            LlmContent::Text("The resource u:1 is empty.".to_owned())
        );
    }
}
