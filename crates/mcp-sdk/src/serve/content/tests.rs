use super::result;
use gemini_tools_core::answer::Answer;
use gemini_tools_core::tool::{ErrorKind, LlmContent, ToolError, ToolResult};
use serde_json::{Value, json};

fn printed(outcome: Result<ToolResult, ToolError>, is_foreign: bool) -> Value {
    let answer = Answer {
        name: "t",
        id: None,
        outcome,
    };
    serde_json::to_value(result(&answer, is_foreign, true)).expect("JSON")
}

fn parts(parts: Value) -> ToolResult {
    let content: LlmContent = serde_json::from_value(parts).expect("parts");
    ToolResult::content(content)
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
fn a_client_that_has_not_asked_gets_no_structured_content() {
    let error = ToolError::new(ErrorKind::FileNotFound, "No.");
    for outcome in [Ok(ToolResult::text("hi").with_data("n", 1)), Err(error)] {
        let answer = Answer {
            name: "t",
            id: None,
            outcome,
        };
        for is_foreign in [false, true] {
            let result = result(&answer, is_foreign, false);
            assert_eq!(result.structured_content, None, "{answer:?}");
        }
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
        json!({"error": "No. Look.", "errorType": "file_not_found"})
    );
}
