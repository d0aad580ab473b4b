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
    let both = json!({"content": [{"type": "text", "text": "a"}], "structuredContent": {"n": 1}});
    assert_eq!(parts(&both), json!([{"text": "a"}]));
    assert_eq!(result("t", &both).data.expect("data")["n"], 1);
    assert_eq!(
        parts(&json!({"structuredContent": {"n": 1}})),
        json!([{"text": "{\"n\":1}"}])
    );
    assert_eq!(
        result("t", &json!({"content": []})).llm_content,
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

#[test]
fn what_has_no_usable_part_is_a_failure_that_shows_it() {
    for (answer, shown) in [
        (json!({}), "{}"),
        (json!({"task": {"taskId": "7"}}), "taskId"),
        (json!({"content": "quota exceeded"}), "quota exceeded"),
        (json!({"content": {"type": "text", "text": "one"}}), "one"),
        (json!({"content": [{"type": "text", "text": 5}]}), "5"),
        (json!({"content": ["words"]}), "words"),
        (json!({"content": [{"text": "untyped"}]}), "untyped"),
        (
            json!({"content": [{"type": "resource", "resource": {"uri": "u:1"}}]}),
            "u:1",
        ),
        (
            json!({"content": [{"type": "image", "mimeType": "image/png"}]}),
            "image/png",
        ),
        (
            json!({"content": [{"type": "text", "text": "no"}], "isError": "true"}),
            "no",
        ),
    ] {
        let error = result("t", &answer).error.expect("a failure");
        assert!(error.message.contains(shown), "{answer}: {}", error.message);
        assert_eq!(error.kind, Some(ErrorKind::McpToolError));
    }
    for contents in [json!(null), json!("text"), json!([{"uri": "u:1"}])] {
        let answer = resource("u:1", &json!({"contents": contents}));
        assert!(answer.error.is_some(), "{contents}");
    }
}

#[test]
fn media_that_no_api_takes_become_a_text() {
    let words = json!({"type": "text", "text": "words"});
    for (mime, data) in [
        ("image/png", "!!!"),
        ("image/png", ""),
        ("image/png", "===="),
        ("image/png", "AAA"),
        ("image/png", "__-_"),
        ("image/png", "data:image/png;base64,AA=="),
        ("", "AA=="),
        ("image", "AA=="),
        ("/png", "AA=="),
        ("image/p\u{1b}ng", "AA=="),
        ("image/png\n", "AA=="),
    ] {
        let block = json!({"type": "image", "mimeType": mime, "data": data});
        let answer = json!({"content": [words, block]});
        let parts = parts(&answer);
        assert!(result("t", &answer).error.is_none(), "{block}");
        let told = parts[1]["text"].as_str().expect("a text");
        assert!(told.contains("that can't be used"), "{block}: {told}");
        assert_eq!(parts.as_array().map(Vec::len), Some(2), "{block}");
    }
    let long = json!({"type": "audio", "mimeType": "audio/wav; rate=8", "data": "A+/="});
    assert!(parts(&json!({"content": [long]}))[1]["inlineData"].is_object());
}
