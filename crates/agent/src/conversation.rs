//! The conversation of a session, and where it may be cut.

use gemini_tools_core::message::{Content, Part};
use serde::Serialize;

pub(super) fn bytes(value: &(impl Serialize + ?Sized)) -> usize {
    serde_json::to_string(value).map_or(0, |json| json.len())
}

/// Estimates the tokens of messages as one for four bytes of JSON. Media are left out: their tokens
/// don't depend on their bytes.
pub(super) fn tokens(contents: &[Content]) -> u64 {
    let media: usize = contents.iter().map(|own| media_bytes(&own.parts)).sum();
    (bytes(contents).saturating_sub(media) / 4) as u64
}

fn media_bytes(parts: &[Part]) -> usize {
    let of_part = |part: &Part| {
        let own = part.inline_data.as_ref().map_or(0, |own| own.data.len());
        let response = part.function_response.as_ref();
        own + response.map_or(0, |response| media_bytes(&response.parts))
    };
    parts.iter().map(of_part).sum()
}

/// Chooses where to cut a conversation, so that the part after the cut has at most `share` of the
/// bytes of its JSON if possible. The cut is before a prompt of the user, before a turn of the
/// model or at the end, never between a call and its result, which the API would refuse. Returns
/// `None` if there is no such place after the first message.
pub(super) fn split(contents: &[Content], share: f64) -> Option<usize> {
    let sizes: Vec<usize> = contents.iter().map(bytes).collect();
    let all: usize = sizes.iter().sum();
    let may_stay = (all as f64 * share) as usize;
    let is_question = |content: &Content| {
        content.role == "user" && content.parts.iter().all(|p| p.function_response.is_none())
    };
    let mut last = None;
    let mut behind = all;
    for (i, content) in contents.iter().enumerate() {
        let begins_turn = content.role == "model" && i > 0 && contents[i - 1].role == "user";
        if i > 0 && (is_question(content) || begins_turn) {
            last = Some(i);
            if behind <= may_stay {
                return last;
            }
        }
        behind -= sizes[i];
    }
    // The cut may be at the very end, unless the last message has a call without its result.
    let has_open_calls = |last: &Content| {
        last.role == "model" && last.parts.iter().any(|p| p.function_call.is_some())
    };
    if contents.last().is_some_and(|c| !has_open_calls(c)) {
        last = Some(contents.len());
    }
    last
}

#[cfg(test)]
mod tests {
    use super::split;
    use gemini_tools_core::message::{Content, Part};
    use serde_json::json;

    fn contents(value: serde_json::Value) -> Vec<Content> {
        serde_json::from_value(value).expect("messages")
    }

    #[test]
    fn a_conversation_is_cut_where_no_call_loses_its_answer() {
        let long = "x".repeat(1000);
        let mut contents = contents(json!([
            {"role": "user", "parts": [{"text": long}]},
            {"role": "model", "parts": [{"functionCall": {"name": "t", "args": {}}}]},
            {"role": "user", "parts": [{"functionResponse": {"name": "t", "response": {"output": long}}}]},
            {"role": "model", "parts": [{"text": long}]},
            {"role": "user", "parts": [{"text": "short"}]},
            {"role": "model", "parts": [{"text": "short"}]},
        ]));
        assert_eq!(split(&contents, 0.4), Some(3));
        assert_eq!(split(&contents, 0.3), Some(4));
        assert_eq!(split(&contents, 0.0), Some(6));
        contents.push(Content {
            role: "model".to_owned(),
            parts: vec![Part {
                function_call: serde_json::from_value(json!({"name": "t", "args": {}}))
                    .expect("a call"),
                ..Part::default()
            }],
        });
        // The last message is a call without a result, so the cut is before the model's turn that
        // contains it.
        assert_eq!(split(&contents, 0.0), Some(5));
        assert_eq!(split(&[], 0.0), None);
    }
}
