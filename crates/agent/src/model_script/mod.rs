//! Turns of a model in a file, which take the model's place in a run.
//!
//! A script is YAML, and so JSON too: a list of turns, each the answer of the API to one request: text
//! and calls, or a fault. A call may say what its tool is expected to answer. A [`Recorder`] writes
//! such a file of a run with a model, a [`ScriptPlayer`] plays one. The tools run as in any run, and pass
//! the same gate.
//!
//! The answers go in where bytes of the API would (`gemini-tools-net`), so that refusals,
//! streams that are cut and text that is not JSON take the code path of real ones. [`places`] makes
//! a file one for every machine.

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

/// Maximum bytes of a file that is played.
const MAX_FILE_BYTES: u64 = 64 * 1024 * 1024;

const MAX_REPEAT: u32 = 1000;

/// A chunk of a stream that is not JSON.
const MALFORMED: &str = r#"{"candidates": [{"content": "#;

/// The turns of a file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ModelScript {
    /// Path of the file, as it is shown.
    pub name: String,
    /// The model that the run names, where no option says otherwise.
    pub model: Option<String>,
    /// The prompt, where none is given.
    pub prompt: Option<String>,
    turns: Vec<Turn>,
}

/// The content of a file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    prompt: Option<String>,
    model: Option<String>,
    turns: Vec<Spanned<Turn>>,
}

/// An answer of the API to one request.
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

/// A call of a turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Call {
    name: String,
    #[serde(default)]
    args: Map<String, Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expect: Option<Expectation>,
}

/// A fault of the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Fault {
    /// The stream ends before the model has finished.
    Cut,
    /// A chunk of the stream is not JSON.
    Malformed,
    /// No answer comes.
    Unreachable,
}

impl ModelScript {
    /// Reads a script, with the directories of this machine in the place of their names.
    ///
    /// # Errors
    ///
    /// Returns a message that names the line and the mistake if the file can't be played.
    pub fn read(path: &Path, places: &ScriptPlaces) -> Result<Self, String> {
        let file = std::fs::File::open(path).map_err(|e| fail(path, &e))?;
        Self::read_from(path, file, places)
    }

    /// Reads a script from a file that is open, a pipe too. Its name is for messages.
    ///
    /// # Errors
    ///
    /// As [`ModelScript::read`].
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
    // As in YAML 1.2, and as people mean it: `no` is a text.
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

/// Returns a message about a file that can't be read or written.
fn fail(path: &Path, reason: &dyn fmt::Display) -> String {
    format!("The model script {}: {reason}.", path.display())
}

/// Returns a message about a mistake in a file, and about its line where one is known.
fn content(path: &Path, line: Option<u64>, reason: &str) -> String {
    let line = line.map_or_else(String::new, |line| format!(", line {line}"));
    format!("{}{line}: {reason}", path.display())
}

/// Turns an error of the YAML library into ours: the line, the mistake, and the nearest spelling.
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
            // The library names the line as well.
            let text = text.lines().next().unwrap_or_default();
            let text = text.split(" at line ").next().unwrap_or(text);
            let text = text.trim_end_matches('.');
            format!("It is not a valid model script: {text}.")
        }
    };
    content(path, place.map(|place| place.line()), &reason)
}

impl Turn {
    /// Returns a message if keys don't go together.
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

    /// Changes the texts that name places of a machine. Whole answers are compared by the names.
    fn change_texts(&mut self, change: &dyn Fn(&str) -> String) {
        for text in [&mut self.thought, &mut self.text, &mut self.message] {
            *text = text.as_deref().map(change);
        }
        for call in &mut self.calls {
            each_text_of(&mut call.args, change);
            if let Some(expect) = &mut call.expect {
                expect.change_texts(change);
            }
        }
    }

    /// Returns the answer that the turn stands for, or the error where none comes. `calls` counts
    /// the calls of the script, for their ids.
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
