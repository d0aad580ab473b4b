//! Writes results of calls in each API's format.

use gemini_tools_core::answer::Answer;
use gemini_tools_core::message::{Blob, Part};
use serde_json::{Value, json};

/// Replaces an empty text in APIs that do not accept one.
const NOTHING: &str = "(no output)";

const IMAGES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

const PDF: &str = "application/pdf";

fn failure(answer: &Answer<'_>) -> Option<String> {
    answer
        .failure()
        .map(|(message, _)| format!("Error: {message}"))
}

const TEXTS: &str = "a tool message of this API holds text only";

const SOME_MEDIA: &str = "a result in this API holds text, PDF and images as PNG, JPEG, GIF or WebP \
    only";

pub(super) fn text(answer: &Answer<'_>) -> String {
    if let Some(failure) = failure(answer) {
        return failure;
    }
    let contents = answer.contents();
    if contents.iter().all(|part| part.inline_data.is_none()) {
        return answer.text();
    }
    let texts: Vec<String> = contents.iter().map(|part| text_of(part, TEXTS)).collect();
    texts.join("\n")
}

pub(super) fn for_responses(answer: &Answer<'_>) -> Value {
    let contents = answer.contents();
    if answer.failure().is_some() || contents.iter().all(|part| part.inline_data.is_none()) {
        return text(answer).into();
    }
    let items = contents.iter().map(|part| match &part.inline_data {
        Some(Blob { mime_type, data }) if IMAGES.contains(&mime_type.as_str()) => {
            json!({"type": "input_image", "image_url": format!("data:{mime_type};base64,{data}")})
        }
        Some(Blob { mime_type, data }) if mime_type == PDF => json!({"type": "input_file",
            "filename": "document.pdf", "file_data": format!("data:{mime_type};base64,{data}")}),
        _ => json!({"type": "input_text", "text": text_of(part, SOME_MEDIA)}),
    });
    items.collect()
}

pub(super) fn tool_result(id: &str, answer: &Answer<'_>) -> Value {
    if let Some((message, _)) = answer.failure() {
        return json!({"type": "tool_result", "tool_use_id": id, "is_error": true,
            "content": [{"type": "text", "text": message}]});
    }
    let source =
        |blob: &Blob| json!({"type": "base64", "media_type": blob.mime_type, "data": blob.data});
    let block = |part: &Part| match &part.inline_data {
        Some(blob) if IMAGES.contains(&blob.mime_type.as_str()) => {
            json!({"type": "image", "source": source(blob)})
        }
        Some(blob) if blob.mime_type == PDF => {
            json!({"type": "document", "source": source(blob)})
        }
        _ => json!({"type": "text", "text": text_of(part, SOME_MEDIA)}),
    };
    let contents = answer.contents();
    let mut blocks: Vec<Value> = contents.iter().map(block).collect();
    if blocks.is_empty() {
        blocks.push(json!({"type": "text", "text": NOTHING}));
    }
    json!({"type": "tool_result", "tool_use_id": id, "content": blocks})
}

fn text_of(part: &Part, why: &str) -> String {
    match (&part.text, &part.inline_data) {
        (Some(text), _) => text.clone(),
        (None, Some(Blob { mime_type, .. })) => {
            format!("Content of the type {mime_type} is left out: {why}.")
        }
        (None, None) => NOTHING.to_owned(),
    }
}
