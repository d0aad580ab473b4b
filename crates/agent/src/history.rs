//! What was said so far, and what of it a model gets.

use gemini_tools_core::message::{Content, Part};
use serde_json::Value;

/// A conversation.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct History {
    contents: Vec<Content>,
}

impl History {
    /// A conversation that goes on from these messages.
    pub fn new(contents: Vec<Content>) -> Self {
        Self { contents }
    }

    /// All messages.
    pub fn contents(&self) -> &[Content] {
        &self.contents
    }

    /// Adds a message.
    pub fn push(&mut self, content: Content) {
        self.contents.push(content);
    }

    /// The messages that the API takes: turns of the model without content are left out, with
    /// all that the model said in the same turn, as by Gemini CLI.
    pub fn curated(&self) -> Vec<&Content> {
        let mut kept: Vec<&Content> = Vec::new();
        let mut rest = self.contents.as_slice();
        while let Some(first) = rest.first() {
            let is_models = first.role == "model";
            let n = if is_models {
                rest.iter().take_while(|c| c.role == "model").count()
            } else {
                1
            };
            if !is_models || rest[..n].iter().all(is_valid) {
                kept.extend(&rest[..n]);
            }
            rest = &rest[n..];
        }
        kept
    }

    /// Calls at the end that have no answer.
    pub fn open_calls(&self) -> Vec<&Part> {
        match self.contents.last() {
            Some(last) if last.role == "model" => last
                .parts
                .iter()
                .filter(|part| part.function_call.is_some())
                .collect(),
            _ => Vec::new(),
        }
    }

    /// Where the conversation may be cut so that about `share` of its characters stay: before
    /// a question of the user, or before a turn of the model, so that no call loses its answer.
    /// `None` where there is no such place but the beginning.
    pub fn split(&self, share: f64) -> Option<usize> {
        let sizes: Vec<usize> = self.contents.iter().map(size).collect();
        let all: usize = sizes.iter().sum();
        let may_stay = (all as f64 * share) as usize;
        let is_question = |content: &Content| {
            content.role == "user" && content.parts.iter().all(|p| p.function_response.is_none())
        };
        let mut last = None;
        let mut behind = all;
        for (i, content) in self.contents.iter().enumerate() {
            let begins_turn =
                content.role == "model" && i > 0 && self.contents[i - 1].role == "user";
            if i > 0 && (is_question(content) || begins_turn) {
                last = Some(i);
                if behind <= may_stay {
                    return last;
                }
            }
            behind -= sizes[i];
        }
        // All of it may go where no call is open.
        if !self.contents.is_empty() && self.open_calls().is_empty() {
            last = Some(self.contents.len());
        }
        last
    }
}

fn is_valid(content: &Content) -> bool {
    !content.parts.is_empty()
        && content.parts.iter().all(|part| {
            *part != Part::default()
                && (part.thought == Some(true) || part.text.as_deref() != Some(""))
        })
}

fn size(content: &Content) -> usize {
    serde_json::to_value(content).map_or(0, |value| characters(&value))
}

fn characters(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(characters).sum(),
        Value::Object(fields) => fields.values().map(characters).sum(),
        _ => 4,
    }
}

#[cfg(test)]
mod tests {
    use super::History;
    use gemini_tools_core::message::{Content, Part};
    use serde_json::json;

    fn contents(value: serde_json::Value) -> Vec<Content> {
        serde_json::from_value(value).expect("messages")
    }

    #[test]
    fn empty_turns_of_the_model_are_left_out() {
        let history = History::new(contents(json!([
            {"role": "user", "parts": [{"text": "a"}]},
            {"role": "model", "parts": []},
            {"role": "user", "parts": [{"text": "b"}]},
            {"role": "model", "parts": [{"text": ""}]},
            {"role": "model", "parts": [{"text": "c"}]},
            {"role": "user", "parts": [{"text": ""}]},
            {"role": "model", "parts": [{"text": "d"}]},
        ])));
        let kept = history.curated();
        let texts: Vec<_> = kept.iter().map(|c| c.parts[0].text.as_deref()).collect();
        assert_eq!(texts, [Some("a"), Some("b"), Some(""), Some("d")]);
    }

    #[test]
    fn a_conversation_is_cut_where_no_call_loses_its_answer() {
        let long = "x".repeat(1000);
        let mut history = History::new(contents(json!([
            {"role": "user", "parts": [{"text": long}]},
            {"role": "model", "parts": [{"functionCall": {"name": "t", "args": {}}}]},
            {"role": "user", "parts": [{"functionResponse": {"name": "t", "response": {"output": long}}}]},
            {"role": "model", "parts": [{"text": long}]},
            {"role": "user", "parts": [{"text": "short"}]},
            {"role": "model", "parts": [{"text": "short"}]},
        ])));
        assert_eq!(history.split(0.4), Some(3));
        assert_eq!(history.split(0.3), Some(4));
        assert_eq!(history.split(0.0), Some(6));
        history.push(Content {
            role: "model".to_owned(),
            parts: vec![Part {
                function_call: serde_json::from_value(json!({"name": "t", "args": {}}))
                    .expect("a call"),
                ..Part::default()
            }],
        });
        // What is open stays.
        assert_eq!(history.split(0.0), Some(5));
        assert_eq!(History::default().split(0.0), None);
    }
}
