//! The history of a conversation, and the part of it that goes to a model.

use gemini_tools_core::message::{Content, Part};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

/// A conversation. It is kept as the JSON that goes to the API with every turn, and only so: as
/// values it would take twice the memory.
#[derive(Debug, Clone, Default)]
pub struct History {
    messages: Vec<Message>,
}

#[derive(Debug, Clone)]
struct Message {
    is_models: bool,
    is_valid: bool,
    json: Box<RawValue>,
}

impl History {
    /// Makes a conversation that goes on from these messages.
    pub fn new(contents: &[Content]) -> Self {
        let mut own = Self::default();
        for content in contents {
            own.push(content);
        }
        own
    }

    /// Adds a message.
    pub fn push(&mut self, content: &Content) {
        self.messages.push(Message {
            is_models: content.role == "model",
            is_valid: is_valid(content),
            json: written(content),
        });
    }

    /// Returns true if the model has to speak next.
    pub fn is_unanswered(&self) -> bool {
        self.messages.last().is_some_and(|last| !last.is_models)
    }

    /// Returns all messages.
    ///
    /// # Errors
    ///
    /// Returns an error if one is nested too deeply to be read again.
    pub fn read(&self) -> Result<Vec<Content>, serde_json::Error> {
        let messages = self.messages.iter();
        messages
            .map(|said| serde_json::from_str(said.json.get()))
            .collect()
    }

    /// Returns the messages that the API takes: turns of the model without content are left out, with
    /// all that the model said in the same turn, as by Gemini CLI.
    pub fn curated(&self) -> impl Iterator<Item = &RawValue> {
        let turns = self.messages.chunk_by(|a, b| a.is_models && b.is_models);
        let kept = turns.filter(|turn| turn.iter().all(|said| !said.is_models || said.is_valid));
        kept.flatten().map(|said| &*said.json)
    }
}

/// Returns a message as JSON, as requests take it.
pub fn written(content: &Content) -> Box<RawValue> {
    // All names in it are texts, so that it can be written. The API would refuse `null`.
    to_raw_value(content).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

/// Returns the place to cut a conversation so that about `share` of its characters stay: before a question
/// of the user, or before a turn of the model, so that no call loses its answer. `None` where only the
/// beginning is such a place.
pub fn split(contents: &[Content], share: f64) -> Option<usize> {
    let sizes: Vec<usize> = contents.iter().map(size).collect();
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
    // All of it may go where no call is open.
    let has_open_calls = |last: &Content| {
        last.role == "model" && last.parts.iter().any(|p| p.function_call.is_some())
    };
    if contents.last().is_some_and(|c| !has_open_calls(c)) {
        last = Some(contents.len());
    }
    last
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
    use super::{History, split};
    use gemini_tools_core::message::{Content, Part};
    use serde_json::json;
    use serde_json::value::RawValue;

    fn read(said: &RawValue) -> Content {
        serde_json::from_str(said.get()).expect("a message")
    }

    fn contents(value: serde_json::Value) -> Vec<Content> {
        serde_json::from_value(value).expect("messages")
    }

    #[test]
    fn empty_turns_of_the_model_are_left_out() {
        let history = History::new(&contents(json!([
            {"role": "user", "parts": [{"text": "a"}]},
            {"role": "model", "parts": []},
            {"role": "user", "parts": [{"text": "b"}]},
            {"role": "model", "parts": [{"text": ""}]},
            {"role": "model", "parts": [{"text": "c"}]},
            {"role": "user", "parts": [{"text": ""}]},
            {"role": "model", "parts": [{"text": "d"}]},
        ])));
        let kept = history.curated();
        let kept: Vec<_> = kept.map(|said| read(said).parts[0].text.take()).collect();
        let want = ["a", "b", "", "d"].map(|text| Some(text.to_owned()));
        assert_eq!(kept, want);
        let last = contents(json!([{"role": "model", "parts": [{"text": "d"}]}]));
        assert_eq!(history.read().expect("messages")[6..], last);
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
        // What is open stays.
        assert_eq!(split(&contents, 0.0), Some(5));
        assert_eq!(split(&[], 0.0), None);
    }
}
