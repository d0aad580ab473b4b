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
use std::io::Read;
use std::path::Path;

const MAX_FILE_BYTES: u64 = 64 * 1024 * 1024;

const MAX_REPEAT: u32 = 1000;

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
    /// Reads a script, and replaces placeholders by the directories of this machine.
    ///
    /// # Errors
    ///
    /// Returns a message that names the line and the mistake if the file can't be played.
    pub fn read(path: &Path, places: &ScriptPlaces) -> Result<Self, String> {
        let file = std::fs::File::open(path).map_err(|e| fail(path, &e))?;
        Self::read_from(path, file, places)
    }

    /// Reads a script from an open file or pipe. `name` is for messages only.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`ModelScript::read`].
    pub fn read_from(
        name: &Path,
        source: impl Read,
        places: &ScriptPlaces,
    ) -> Result<Self, String> {
        let mut own = parse(name, &read_text(name, source)?)?;
        let found = |text: &str| places.found(text);
        own.prompt = own.prompt.as_deref().map(found);
        for turn in &mut own.turns {
            turn.change_texts(&found);
        }
        Ok(own)
    }
}

fn read_text(path: &Path, source: impl Read) -> Result<String, String> {
    let mut bytes = Vec::new();
    let mut limited = source.take(MAX_FILE_BYTES + 1);
    limited
        .read_to_end(&mut bytes)
        .map_err(|e| fail(path, &e))?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(fail(
            path,
            &format!("it has more than {MAX_FILE_BYTES} bytes"),
        ));
    }
    String::from_utf8(bytes).map_err(|_| content(path, None, "It is not UTF-8 text."))
}

fn parse(path: &Path, text: &str) -> Result<ModelScript, String> {
    // As in YAML 1.2, `no` is a string and not a boolean.
    let options = serde_saphyr::options! { strict_booleans: true };
    let file = serde_saphyr::from_str_with_options(text, options);
    let file: File = file.map_err(|e| explain(path, &e))?;
    if file.turns.is_empty() {
        let reason = "The script has no turns. Add one below turns:.";
        return Err(content(path, None, reason));
    }
    let mut turns = Vec::new();
    for turn in file.turns {
        let line = turn.referenced.line();
        let turn = turn.value;
        if let Some(reason) = turn.contradiction() {
            return Err(content(path, Some(line), &reason));
        }
        let times = turn.repeat.unwrap_or(1) as usize;
        turns.extend(std::iter::repeat_n(turn, times));
    }
    Ok(ModelScript {
        name: path.display().to_string(),
        model: file.model,
        prompt: file.prompt,
        turns,
    })
}

fn fail(path: &Path, reason: &dyn fmt::Display) -> String {
    format!("The model script {}: {reason}.", path.display())
}

fn content(path: &Path, line: Option<u64>, reason: &str) -> String {
    let line = line.map_or_else(String::new, |line| format!(", line {line}"));
    format!("{}{line}: {reason}", path.display())
}

/// Rephrases an error of the YAML library: names the line, what is wrong, and the key or value that
/// was probably meant.
fn explain(path: &Path, error: &Error) -> String {
    let error = error.without_snippet();
    let place = error.location().filter(|place| place.line() > 0);
    let suggest = |what: String, written: &str, expected: &[&'static str]| {
        let near = nearest(written, expected.iter().map(|own| (*own, *own)));
        if near.is_empty() {
            format!("{what} There are: {}.", expected.join(", "))
        } else {
            format!("{what} Did you mean {}?", near.join(" or "))
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
        Error::SerdeMissingField { field, .. } => {
            format!("The key {field:?} is missing here.")
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
    fn contradiction(&self) -> Option<String> {
        let speaks = self.text.is_some() || self.thought.is_some() || !self.calls.is_empty();
        if let Some(status) = self.status {
            if !(300..=599).contains(&status) {
                return Some(format!(
                    "The status {status} is not one of a failure; use 300 to 599, such as 429 or 503."
                ));
            }
            if speaks || self.fault.is_some() || self.finish.is_some() {
                return Some(
                    "A turn with a status is a refusal of the API: it takes only \
                     retry_after, message and repeat. Put the rest into another turn."
                        .to_owned(),
                );
            }
        } else if self.retry_after.is_some() || self.message.is_some() {
            return Some("retry_after and message are for a turn with a status.".to_owned());
        } else if !speaks && self.fault.is_none() && self.finish.is_none() {
            return Some(
                "The turn is empty. It needs text, calls, a status or a fault; text: '' is an \
                 answer without words."
                    .to_owned(),
            );
        }
        if self.fault == Some(Fault::Unreachable) && (speaks || self.finish.is_some()) {
            return Some("With fault: unreachable no answer comes, so it has no text.".to_owned());
        }
        if self.fault.is_some() && self.finish.is_some() {
            return Some("A turn with a fault does not finish; leave one of them out.".to_owned());
        }
        let is_time = |secs: f64| secs.is_finite() && secs >= 0.0;
        if self.retry_after.is_some_and(|secs| !is_time(secs)) {
            return Some("retry_after is a number of seconds from 0.".to_owned());
        }
        let is_count = |times| (1..=MAX_REPEAT).contains(&times);
        let is_wrong = self.repeat.is_some_and(|times| !is_count(times));
        is_wrong.then(|| format!("repeat is a number from 1 to {MAX_REPEAT}."))
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
