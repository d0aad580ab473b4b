//! Our results as the protocol's content blocks.

use gemini_tools_core::answer::Answer;
use gemini_tools_core::client_host::ClientHost;
use gemini_tools_core::message::Part;
use gemini_tools_core::tool::{ErrorKind, LlmContent, PartOrText, ToolError};
use rmcp::model::{CallToolResult, ContentBlock, Resource, ResourceContents};
use serde_json::{Map, Value, json};

/// Returns the result of a call. `is_foreign` is true if an MCP server has given it, whose
/// structured content is by its own schema; `host` is the client's, where it is known.
pub(super) fn result(
    answer: &Answer<'_>,
    is_foreign: bool,
    host: Option<&ClientHost>,
) -> CallToolResult {
    let mut result = whole_result(answer, is_foreign);
    if host.is_some_and(|host| host.shows_structured) {
        result.structured_content = None;
    }
    result
}

fn whole_result(answer: &Answer<'_>, is_foreign: bool) -> CallToolResult {
    let result = match (&answer.outcome, answer.failure()) {
        (_, Some((message, kind))) => return failure(&message, kind),
        (Err(e), None) => return refused(e),
        (Ok(result), None) => result,
    };
    let mut blocks = Vec::new();
    match &result.llm_content {
        LlmContent::Text(text) => blocks.push(ContentBlock::text(text)),
        LlmContent::Part(part) => push(answer.name, part, &mut blocks),
        LlmContent::List(list) => {
            for item in list {
                match item {
                    PartOrText::Text(text) => blocks.push(ContentBlock::text(text)),
                    PartOrText::Part(part) => push(answer.name, part, &mut blocks),
                }
            }
        }
    }
    let has_media = blocks.iter().any(|block| block.as_text().is_none());
    let structured = match &result.data {
        Some(data) if is_foreign => Some(data.clone()),
        // A client that shows nothing else would lose them.
        Some(data) if !has_media => Some(with_text(data, &blocks)),
        _ => None,
    };
    let mut result = CallToolResult::success(blocks);
    result.structured_content = structured.map(Value::Object);
    result
}

/// Returns the result of a call that could not even be made.
pub(super) fn refused(error: &ToolError) -> CallToolResult {
    failure(&error.to_string(), error.kind)
}

fn failure(message: &str, kind: ErrorKind) -> CallToolResult {
    let mut result = CallToolResult::error(vec![ContentBlock::text(message)]);
    result.structured_content = Some(json!({ "errorType": kind }));
    result
}

/// Adds the text to the data that belongs to it: the protocol wants each to say what the other says.
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

fn push(tool: &str, part: &Part, blocks: &mut Vec<ContentBlock>) {
    if let Some(text) = &part.text {
        return blocks.push(ContentBlock::text(text));
    }
    if let Some(blob) = &part.inline_data {
        let (mime, data) = (blob.mime_type.clone(), blob.data.clone());
        return blocks.push(match mime.split('/').next() {
            Some("image") => ContentBlock::image(data, mime),
            Some("audio") => ContentBlock::audio(data, mime),
            _ => {
                // A resource must have an address; this one can't be read again.
                let uri = format!("tool-result:{tool}/{}", blocks.len());
                let contents = ResourceContents::blob(data, uri).with_mime_type(mime);
                ContentBlock::resource(contents)
            }
        });
    }
    if let Some(uri) = part
        .file_data
        .as_ref()
        .and_then(|file| file["fileUri"].as_str())
    {
        let name = uri.rsplit('/').next().unwrap_or_default();
        let link = Resource::new(uri, name);
        let mime = part
            .file_data
            .as_ref()
            .and_then(|file| file["mimeType"].as_str());
        return blocks.push(ContentBlock::resource_link(match mime {
            Some(mime) => link.with_mime_type(mime),
            None => link,
        }));
    }
    let text = serde_json::to_string(part).unwrap_or_default();
    blocks.push(ContentBlock::text(text));
}

#[cfg(test)]
mod tests {
    use super::result;
    use gemini_tools_core::answer::Answer;
    use gemini_tools_core::client_host::ClientHost;
    use gemini_tools_core::tool::{ErrorKind, LlmContent, ToolError, ToolResult};
    use serde_json::{Value, json};

    fn printed(outcome: Result<ToolResult, ToolError>, is_foreign: bool) -> Value {
        let answer = Answer {
            name: "t",
            id: None,
            outcome,
        };
        serde_json::to_value(result(&answer, is_foreign, None)).expect("JSON")
    }

    fn parts(parts: Value) -> ToolResult {
        let content: LlmContent = serde_json::from_value(parts).expect("parts");
        ToolResult {
            llm_content: content,
            ..ToolResult::default()
        }
    }

    #[test]
    fn parts_become_blocks_of_their_kind() {
        let blob = |mime: &str| json!({"inlineData": {"mimeType": mime, "data": "AA=="}});
        let all = json!(["a", {"text": "b"}, blob("image/png"), blob("audio/wav"),
            blob("application/pdf"),
            {"fileData": {"fileUri": "https://example.invalid/x.png", "mimeType": "image/png"}}]);
        let printed = printed(Ok(parts(all)), false);
        assert_eq!(
            printed["content"],
            json!([{"type": "text", "text": "a"}, {"type": "text", "text": "b"},
                {"type": "image", "mimeType": "image/png", "data": "AA=="},
                {"type": "audio", "mimeType": "audio/wav", "data": "AA=="},
                {"type": "resource", "resource": {"uri": "tool-result:t/4",
                    "mimeType": "application/pdf", "blob": "AA=="}},
                {"type": "resource_link", "uri": "https://example.invalid/x.png",
                    "name": "x.png", "mimeType": "image/png"}])
        );
        assert_eq!(printed["isError"], false);
        assert!(printed.get("structuredContent").is_none());
    }

    #[test]
    fn data_stands_beside_its_text_unless_a_server_has_given_it() {
        let with_data = || ToolResult::text("hi").with_data("n", 1);
        let ours = printed(Ok(with_data()), false);
        assert_eq!(ours["structuredContent"], json!({"n": 1, "output": "hi"}));
        let theirs = printed(Ok(with_data()), true);
        assert_eq!(theirs["structuredContent"], json!({"n": 1}));
    }

    #[test]
    fn data_never_takes_the_place_of_media() {
        let blob = json!([{"inlineData": {"mimeType": "image/png", "data": "AA=="}}]);
        let result = parts(blob).with_data("n", 1);
        assert!(
            printed(Ok(result), false)
                .get("structuredContent")
                .is_none()
        );
    }

    #[test]
    fn clients_that_show_it_to_a_model_get_no_structured_content() {
        for (client, expected) in [
            (Some("claude-code"), false),
            (Some("codex-mcp-client"), false),
            (Some("qwen-cli-mcp-client-gemini-tools"), false),
            (Some("inspector-cli"), true),
            (None, true),
        ] {
            let answer = Answer {
                name: "t",
                id: None,
                outcome: Ok(ToolResult::text("hi").with_data("n", 1)),
            };
            let result = result(&answer, false, client.and_then(ClientHost::find));
            let has_structured = result.structured_content.is_some();
            assert_eq!(has_structured, expected, "{client:?}");
        }
    }

    #[test]
    fn a_failure_names_its_kind() {
        let error = ToolError::new(ErrorKind::FileNotFound, "No.").with_hint("Look.");
        let printed = printed(Err(error), false);
        assert_eq!(printed["isError"], true);
        assert_eq!(printed["content"][0]["text"], "No. Look.");
        assert_eq!(
            printed["structuredContent"],
            json!({"errorType": "file_not_found"})
        );
    }
}
