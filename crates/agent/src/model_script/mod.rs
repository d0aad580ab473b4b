//! Recorded or hand-written answers of a model, which are played in its place.
//!
//! A script is a YAML (or JSON) file with a list of turns. Each turn is the API's answer to one
//! request: text and calls, or a fault. A call may state what its tool is expected to answer. A
//! [`Recorder`] writes such a file during a run with a real model, and a [`ScriptPlayer`] plays
//! one. The tools really run, and the policy judges their calls as in any run.
//!
//! A script provides the bytes of HTTP responses (in `gemini-tools-net`), not parsed messages, so
//! that refusals, broken streams and malformed JSON run through the same code as real ones.
//! [`places`] makes a file independent of the machine.

mod expectation;
pub mod places;
mod player;
mod recorder;
mod stable;

pub use expectation::Expectation;
pub use places::ScriptPlaces;
pub use player::ScriptPlayer;
pub use recorder::Recorder;

use gemini_tools_core::registry::nearest;
use gemini_tools_net::gemini_api::{ApiError, PlayedAnswer};
use places::each_text_of;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use serde_saphyr::{Error, Spanned};
use std::fmt;
use std::path::Path;

const MALFORMED: &str = r#"{"candidates": [{"content": "#;

/// A parsed script.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ModelScript {
    /// The path of the file, for messages.
    pub name: String,
    /// The name of the model; `None` if the script does not say. An option overrides it.
    pub model: Option<String>,
    /// The prompt; `None` if the script does not say. A prompt of the caller overrides it.
    pub prompt: Option<String>,
    turns: Vec<Turn>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    prompt: Option<String>,
    model: Option<String>,
    turns: Vec<Spanned<Turn>>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Turn {
    #[serde(skip_serializing_if = "Option::is_none")]
    thought: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    calls: Vec<Call>,
    #[serde(skip_serializing_if = "Option::is_none")]
    finish: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fault: Option<Fault>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    repeat: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Call {
    name: String,
    #[serde(default)]
    args: Map<String, Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expect: Option<Expectation>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Fault {
    Cut,
    Malformed,
    Unreachable,
}

impl ModelScript {
    /// Parses a script, and replaces placeholders by the directories of this machine. `name` is that
    /// of the file, for messages.
    ///
    /// # Errors
    ///
    /// Returns a message that names the line and the mistake if the script can't be played.
    pub fn parse(name: &Path, text: Vec<u8>, places: &ScriptPlaces) -> Result<Self, String> {
        let text = String::from_utf8(text);
        let text = text.map_err(|_| content(name, None, "It is not UTF-8 text."))?;
        // As in YAML 1.2, `no` is a string and not a boolean.
        let options = serde_saphyr::options! { strict_booleans: true };
        let file = serde_saphyr::from_str_with_options(&text, options);
        let file: File = file.map_err(|e| explain(name, &e))?;
        if file.turns.is_empty() {
            let reason = "The script has no turns. Add one below turns:.";
            return Err(content(name, None, reason));
        }
        let found = |text: &str| places.found(text);
        let mut turns = Vec::new();
        for Spanned {
            value: mut turn,
            referenced,
            ..
        } in file.turns
        {
            if let Some(reason) = turn.contradiction() {
                return Err(content(name, Some(referenced.line()), reason));
            }
            turn.change_texts(&found);
            let times = turn.repeat.unwrap_or(1) as usize;
            turns.extend(std::iter::repeat_n(turn, times));
        }
        Ok(Self {
            name: name.display().to_string(),
            model: file.model,
            prompt: file.prompt.as_deref().map(found),
            turns,
        })
    }
}

fn fail(path: &Path, reason: &dyn fmt::Display) -> String {
    format!("The model script {}: {reason}.", path.display())
}

fn content(path: &Path, line: Option<u64>, reason: &str) -> String {
    let line = line.map_or_else(String::new, |line| format!(", line {line}"));
    format!("{}{line}: {reason}", path.display())
}

fn explain(path: &Path, error: &Error) -> String {
    let error = error.without_snippet();
    let place = error.location().filter(|place| place.line() > 0);
    let suggest = |what: String, written: &str, expected: &[&'static str]| {
        let near = nearest(written, expected.iter().map(|own| (*own, *own)));
        match near.as_slice() {
            [] => format!("{what} There are: {}.", expected.join(", ")),
            near => format!("{what} Did you mean {}?", near.join(" or ")),
        }
    };
    let reason = match error {
        Error::SerdeUnknownField {
            field, expected, ..
        } => {
            let what = format!("A model script has no key {field:?} here.");
            suggest(what, field, expected)
        }
        Error::SerdeUnknownVariant {
            variant, expected, ..
        } => {
            let what = format!("{variant:?} is not a valid value here.");
            suggest(what, variant, expected)
        }
        error => {
            let text = error.to_string();
            // The library's message also names the line, which is added below.
            let text = text.lines().next().unwrap_or_default();
            let text = text.split(" at line ").next().unwrap_or(text);
            let text = text.trim_end_matches('.');
            format!("It is not a valid model script: {text}.")
        }
    };
    content(path, place.map(|place| place.line()), &reason)
}

impl Turn {
    fn contradiction(&self) -> Option<&'static str> {
        let speaks = self.text.is_some() || self.thought.is_some() || !self.calls.is_empty();
        let answers = speaks || self.finish.is_some();
        let (refuses, breaks) = (self.status.is_some(), self.fault.is_some());
        let has_words = self.retry_after.is_some() || self.message.is_some();
        let is_failure = |status| (300..=599).contains(&status);
        let is_time = |secs: f64| secs.is_finite() && secs >= 0.0;
        let is_count = |times| (1..=1000).contains(&times);
        let mistakes = [
            (
                !self.status.is_none_or(is_failure),
                "The status is not one of a failure; use 300 to 599, such as 429 or 503.",
            ),
            (
                refuses && (answers || breaks)
                    || !refuses && has_words
                    || breaks && self.finish.is_some()
                    || self.fault == Some(Fault::Unreachable) && answers,
                "Some keys don't go together: status, retry_after and message are a refusal of the \
                 API, a turn with a fault does not finish, and with fault: unreachable no answer \
                 comes. Put the rest into another turn.",
            ),
            (
                !refuses && !answers && !breaks,
                "The turn is empty. It needs text, calls, a status or a fault; text: '' is an \
                 answer without words.",
            ),
            (
                !self.retry_after.is_none_or(is_time),
                "retry_after is a number of seconds from 0.",
            ),
            (
                !self.repeat.is_none_or(is_count),
                "repeat is a number from 1 to 1000.",
            ),
        ];
        let mistake = mistakes.iter().find(|(is_made, _)| *is_made);
        mistake.map(|(_, reason)| *reason)
    }

    /// Applies `change` to each text that may contain a path. Leaves out the `answer` of an
    /// expectation: it is compared while the placeholders are still in it.
    fn change_texts(&mut self, change: &dyn Fn(&str) -> String) {
        for text in [&mut self.thought, &mut self.text, &mut self.message] {
            *text = text.as_deref().map(change);
        }
        for call in &mut self.calls {
            call.name = change(&call.name);
            each_text_of(&mut call.args, change);
            if let Some(expect) = &mut call.expect {
                expect.change_texts(change);
            }
        }
    }

    /// Builds the API's response for this turn. `calls` counts the calls of the script so far; the
    /// ids of this turn's calls are derived from it.
    ///
    /// # Errors
    ///
    /// Returns an error if the turn stands for an API that can't be reached.
    fn answer(&self, calls: &mut usize) -> Result<PlayedAnswer, ApiError> {
        if self.fault == Some(Fault::Unreachable) {
            return Err(ApiError::unreached("by the model script"));
        }
        if let Some(status) = self.status {
            let message = self
                .message
                .as_deref()
                .unwrap_or("The model script says so.");
            return Ok(PlayedAnswer {
                status,
                retry_after: self.retry_after.map(|secs| secs.to_string()),
                body: json!({ "error": { "code": status, "message": message } }).to_string(),
            });
        }
        let mut parts: Vec<Value> = Vec::new();
        let thought = self.thought.iter();
        parts.extend(thought.map(|text| json!({"text": text, "thought": true})));
        parts.extend(self.text.iter().map(|text| json!({ "text": text })));
        parts.extend(self.calls.iter().map(|call| {
            *calls += 1;
            let id = format!("call-{calls}");
            json!({"functionCall": {"id": id, "name": call.name, "args": call.args}})
        }));
        let chunk = |part| json!({"candidates": [{"content": {"role": "model", "parts": [part]}}]});
        let mut chunks: Vec<Value> = parts.into_iter().map(chunk).collect();
        if self.fault.is_none() {
            let finish = self.finish.as_deref().unwrap_or("STOP");
            if chunks.is_empty() {
                chunks.push(json!({"candidates": [{}]}));
            }
            if let Some(last) = chunks.last_mut() {
                last["candidates"][0]["finishReason"] = finish.into();
            }
        }
        let mut texts: Vec<String> = chunks.iter().map(Value::to_string).collect();
        if self.fault == Some(Fault::Malformed) {
            texts.push(MALFORMED.to_owned());
        }
        let events = texts.iter().map(|text| format!("data: {text}\n\n"));
        Ok(PlayedAnswer {
            status: 200,
            retry_after: None,
            body: events.collect(),
        })
    }
}

#[cfg(test)]
mod tests;
