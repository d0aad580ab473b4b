//! Converts the result of an MCP call to a [`ToolResult`].

use gemini_tools_core::message::Part;
use gemini_tools_core::text::excerpt;
use gemini_tools_core::tool::{ErrorKind, LlmContent, PartOrText, ResultError, ToolResult};
use serde_json::Value;

const UNKNOWN_TYPE: &str = "application/octet-stream";

const MAX_SHOWN_CHARS: usize = 500;

struct Content<'a> {
    name: &'a str,
    parts: Vec<Part>,
    shown: Vec<String>,
    unusable: usize,
}

pub(super) fn result(name: &str, answer: &Value) -> ToolResult {
    let structured = &answer["structuredContent"];
    let mut fails = !matches!(answer["isError"], Value::Null | Value::Bool(false));
    let mut content = Content::new(name);
    match &answer["content"] {
        Value::Array(blocks) => content.extend(blocks),
        Value::Null if fails || !structured.is_null() => {}
        _ => content.refuse("an answer", answer),
    }
    // Part of an answer is better than none, but what has no usable part is not a success.
    fails |= content.unusable > 0 && content.unusable == content.shown.len();
    if content.parts.is_empty() && !structured.is_null() {
        content.say(structured.to_string());
    }
    let Content { parts, shown, .. } = content;
    let error = fails.then(|| ResultError {
        message: message(name, &parts),
        kind: Some(ErrorKind::McpToolError),
    });
    let llm_content = if parts.is_empty() {
        LlmContent::default()
    } else {
        let parts = parts.into_iter().map(Box::new).map(PartOrText::Part);
        LlmContent::List(parts.collect())
    };
    let mut result = ToolResult::content(llm_content).with_display(shown.join("\n"));
    result.error = error;
    result.data = structured.as_object().cloned();
    result
}

pub(super) fn resource(uri: &str, answer: &Value) -> ToolResult {
    let name = "read_mcp_resource";
    let Value::Array(contents) = &answer["contents"] else {
        return result(name, answer);
    };
    let blocks: Vec<Value> = contents
        .iter()
        .map(|content| serde_json::json!({ "type": "resource", "resource": content }))
        .collect();
    let mut result = result(name, &serde_json::json!({ "content": blocks }));
    if result.llm_content == LlmContent::default() {
        result.llm_content = LlmContent::Text(format!("The resource {uri} is empty."));
    }
    result
}

impl<'a> Content<'a> {
    fn new(name: &'a str) -> Self {
        Self {
            name,
            parts: Vec::new(),
            shown: Vec::new(),
            unusable: 0,
        }
    }

    fn say(&mut self, text: String) {
        self.parts.push(Part::text(text.clone()));
        self.shown.push(text);
    }

    fn refuse(&mut self, what: &str, value: &Value) {
        let value = value.to_string();
        let (name, shown) = (self.name, excerpt(&value, MAX_SHOWN_CHARS));
        self.unusable += 1;
        self.say(format!(
            "[Tool '{name}' provided {what} that can't be used: {shown}]"
        ));
    }

    fn extend(&mut self, blocks: &[Value]) {
        for block in blocks {
            if self.push(block).is_none() {
                self.refuse("content", block);
            }
        }
    }

    fn push(&mut self, block: &Value) -> Option<()> {
        let string = |key: &str| block[key].as_str();
        match string("type")? {
            "text" => self.say(string("text")?.to_owned()),
            kind @ ("image" | "audio") => {
                self.push_media(kind, string("mimeType")?, string("data")?);
            }
            "resource" => {
                let resource = &block["resource"];
                if let Some(content) = resource["text"].as_str() {
                    self.say(content.to_owned());
                } else {
                    let mime = resource["mimeType"].as_str().unwrap_or(UNKNOWN_TYPE);
                    self.push_media("resource", mime, resource["blob"].as_str()?);
                }
            }
            "resource_link" => {
                let label = string("title")
                    .or_else(|| string("name"))
                    .unwrap_or_default();
                self.say(format!("Resource Link: {label} at {}", string("uri")?));
            }
            _ => return None,
        }
        Some(())
    }

    /// Adds an image or another medium, unless it is invalid. A model API refuses the whole request
    /// for an invalid one, and every further request as long as the medium is in the history.
    fn push_media(&mut self, kind: &str, mime: &str, data: &str) {
        if !is_media_type(mime) {
            return self.refuse(&format!("{kind} data with a mime-type"), &mime.into());
        }
        if !is_base64(data) {
            let data = excerpt(data, 40);
            return self.refuse(&format!("{kind} data of {mime}"), &(*data).into());
        }
        let name = self.name;
        let note =
            format!("[Tool '{name}' provided the following {kind} data with mime-type: {mime}]");
        let media = Part::inline_data(mime, data.to_owned());
        self.parts.extend([Part::text(note), media]);
        self.shown.push(format!("[{kind}: {mime}]"));
    }
}

fn is_media_type(mime: &str) -> bool {
    let is_graphic = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_graphic());
    let whole = mime.split(';').next().and_then(|kind| kind.split_once('/'));
    whole.is_some_and(|(kind, rest)| is_graphic(kind) && is_graphic(rest.trim_end()))
        && !mime.contains(|c: char| !matches!(c, ' '..='~'))
}

/// Returns true for the alphabet of RFC 4648 with padding, which the protocol demands.
fn is_base64(data: &str) -> bool {
    let padding = data.len() - data.trim_end_matches('=').len();
    let is_digit = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/');
    !data.is_empty()
        && data.len().is_multiple_of(4)
        && padding <= 2
        && data.as_bytes()[..data.len() - padding].iter().all(is_digit)
}

fn message(name: &str, parts: &[Part]) -> String {
    let texts = parts.iter().filter_map(|part| part.text.as_deref());
    let texts: Vec<&str> = texts.collect();
    let said = texts.join("\n");
    if said.trim().is_empty() {
        format!("The MCP tool {name} has failed without saying why.")
    } else {
        said
    }
}

#[cfg(test)]
mod tests;
