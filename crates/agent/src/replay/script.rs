//! Turns of a model that are written by hand, as YAML or JSON.
//!
//! A script is a list of turns, each an answer of the API to one request: text and calls, or a
//! fault. JSON is YAML, so one library reads both, and says where a mistake is.

use super::{Entry, RecordedCall, RecordedPrompt, Recording, RecordingError};
use super::{Places, Source, content, read_text};
use crate::call::ToolCall;
use gemini_tools_core::registry::nearest;
use gemini_tools_net::gemini_api::{ApiMethod, RecordedAnswer};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use serde_saphyr::{Error, Spanned};
use std::path::Path;

/// The most times that a turn is repeated.
const MAX_REPEAT: u32 = 1000;

/// The beginning of a piece, as a text that is not JSON.
const MALFORMED: &str = r#"{"candidates": [{"content": "#;

/// Maximum characters of an answer that are shown.
const SHOWN_CHARS: usize = 1000;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Script {
    prompt: Option<String>,
    model: Option<String>,
    turns: Vec<Spanned<Turn>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Turn {
    thought: Option<String>,
    text: Option<String>,
    #[serde(default)]
    calls: Vec<Call>,
    finish: Option<String>,
    fault: Option<Fault>,
    status: Option<u16>,
    retry_after: Option<f64>,
    message: Option<String>,
    repeat: Option<u32>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Call {
    name: String,
    #[serde(default)]
    args: Map<String, Value>,
    expect: Option<Expectation>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Fault {
    /// The stream ends before the model has finished.
    Cut,
    /// A piece of the stream is not JSON.
    Malformed,
    /// No answer comes.
    Unreachable,
}

/// What a script expects of a tool's answer.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expectation {
    state: Option<ExpectedState>,
    error_type: Option<String>,
    #[serde(default)]
    contains: Texts,
    #[serde(default)]
    lacks: Texts,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum ExpectedState {
    Success,
    Error,
    Cancelled,
}

/// One text, or several.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged, expecting = "a text, or a list of texts")]
enum Texts {
    One(String),
    Some(Vec<String>),
}

impl Default for Texts {
    fn default() -> Self {
        Texts::Some(Vec::new())
    }
}

impl Texts {
    fn each(&self) -> &[String] {
        match self {
            Texts::One(text) => std::slice::from_ref(text),
            Texts::Some(texts) => texts,
        }
    }

    fn each_mut(&mut self) -> &mut [String] {
        match self {
            Texts::One(text) => std::slice::from_mut(text),
            Texts::Some(texts) => texts,
        }
    }
}

impl Expectation {
    /// The same, with the places of this machine.
    pub(super) fn at(&mut self, places: &Places) {
        for text in self
            .contains
            .each_mut()
            .iter_mut()
            .chain(self.lacks.each_mut())
        {
            *text = places.found(text);
        }
    }

    /// How an answer is other than expected.
    pub(super) fn flaw(&self, call: &ToolCall) -> Option<String> {
        let outcome = super::compare::outcome(call)?;
        let text = texts(&outcome.parts);
        let state = match self.state {
            None => None,
            Some(ExpectedState::Success) => Some("success"),
            Some(ExpectedState::Error) => Some("error"),
            Some(ExpectedState::Cancelled) => Some("cancelled"),
        };
        let kind = outcome.error_type.as_deref();
        let why = if let Some(state) = state.filter(|state| *state != outcome.state) {
            format!("expected is {state}, and it is {}", outcome.state)
        } else if let Some(wanted) = self.error_type.as_deref().filter(|k| Some(*k) != kind) {
            let is = kind.unwrap_or("none");
            format!("expected is the error type {wanted}, and it is {is}")
        } else if let Some(missing) = self.contains.each().iter().find(|t| !text.contains(*t)) {
            format!("the answer does not contain {missing:?}")
        } else if let Some(there) = self.lacks.each().iter().find(|t| text.contains(*t)) {
            format!("the answer contains {there:?}")
        } else {
            return None;
        };
        let shown: String = text.chars().take(SHOWN_CHARS).collect();
        let more = if shown.len() < text.len() { "…" } else { "" };
        Some(format!(
            "{why}. The answer ({}):\n{shown}{more}",
            outcome.state
        ))
    }
}

/// All texts of an answer.
fn texts(parts: &[Value]) -> String {
    fn collect<'a>(value: &'a Value, own: &mut Vec<&'a str>) {
        match value {
            Value::String(text) => own.push(text),
            Value::Array(items) => items.iter().for_each(|item| collect(item, own)),
            Value::Object(fields) => fields.values().for_each(|value| collect(value, own)),
            _ => {}
        }
    }
    let mut own = Vec::new();
    for part in parts {
        match part["functionResponse"].get("response") {
            Some(response) => collect(response, &mut own),
            None => collect(&part["text"], &mut own),
        }
    }
    own.join("\n")
}

/// Reads a script.
///
/// # Errors
///
/// Where it can't be read, and where it is wrong: with the line, and what was meant.
pub fn read(path: &Path) -> Result<Recording, RecordingError> {
    let text = read_text(path, "model script")?;
    let mut own = parse(path, &text)?;
    own.name = path.display().to_string();
    Ok(own)
}

fn parse(path: &Path, text: &str) -> Result<Recording, RecordingError> {
    let script: Script = serde_saphyr::from_str(text).map_err(|e| wrong(path, &e))?;
    if script.turns.is_empty() {
        return Err(content(
            path,
            None,
            "The script has no turns. Add one below turns:.",
        ));
    }
    let mut own = Recording {
        source: Source::Script,
        model: script.model,
        is_whole: true,
        ..Recording::default()
    };
    own.prompts.extend(
        script
            .prompt
            .map(|text| RecordedPrompt { text, parts: None }),
    );
    let mut made = 0;
    for turn in script.turns {
        let line = usize::try_from(turn.referenced.line()).ok();
        let turn = turn.value;
        let flawed = |reason: String| content(path, line, reason);
        if let Some(reason) = turn.flaw() {
            return Err(flawed(reason));
        }
        for _ in 0..turn.repeat.unwrap_or(1) {
            own.entries.push(turn.entry(&mut made));
        }
    }
    Ok(own)
}

/// An error of the library as ours: the line, what is wrong, and what was meant.
fn wrong(path: &Path, error: &Error) -> RecordingError {
    let error = error.without_snippet();
    let place = error.location().filter(|place| place.line() > 0);
    let line = place.and_then(|place| usize::try_from(place.line()).ok());
    let reason = match error {
        Error::SerdeUnknownField {
            field, expected, ..
        } => {
            let what = format!("A model script has no key {field:?} here.");
            meant(&what, field, expected)
        }
        Error::SerdeUnknownVariant {
            variant, expected, ..
        } => {
            let what = format!("{variant:?} is not a valid value here.");
            meant(&what, variant, expected)
        }
        Error::SerdeMissingField { field, .. } => {
            format!("The key {field:?} is missing here.")
        }
        error => {
            let said = error.to_string();
            // The library says the line as well.
            let said = said.lines().next().unwrap_or_default();
            let said = said.split(" at line ").next().unwrap_or(said);
            format!(
                "It is not a valid model script: {}.",
                said.trim_end_matches('.')
            )
        }
    };
    content(path, line, reason)
}

fn meant(what: &str, written: &str, expected: &[&'static str]) -> String {
    let near = nearest(written, expected.iter().map(|own| (*own, *own)));
    if near.is_empty() {
        format!("{what} There are: {}.", expected.join(", "))
    } else {
        format!("{what} Did you mean {}?", near.join(" or "))
    }
}

impl Turn {
    /// What does not go together.
    fn flaw(&self) -> Option<String> {
        let speaks = self.text.is_some() || self.thought.is_some() || !self.calls.is_empty();
        if let Some(status) = self.status {
            if !(300..=599).contains(&status) {
                return Some(format!(
                    "The status {status} is not one of a failure; use 300 to 599, such as 429 or 503."
                ));
            }
            if speaks || self.fault.is_some() || self.finish.is_some() {
                return Some(
                    "A turn with a status is a refusal of the API and has nothing besides \
                     retry_after, message and repeat. Make the rest a turn of its own."
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
        if self
            .retry_after
            .is_some_and(|secs| !secs.is_finite() || secs < 0.0)
        {
            return Some("retry_after is a number of seconds from 0.".to_owned());
        }
        if self
            .repeat
            .is_some_and(|times| times == 0 || times > MAX_REPEAT)
        {
            return Some(format!("repeat is a number from 1 to {MAX_REPEAT}."));
        }
        None
    }

    /// The answer that the turn stands for. `made` counts the calls of the script, for their ids.
    fn entry(&self, made: &mut u32) -> Entry {
        let mut answer = RecordedAnswer::new(ApiMethod::StreamGenerateContent, 200);
        if let Some(status) = self.status {
            answer.status = Some(status);
            answer.retry_after = self.retry_after.map(|secs| secs.to_string());
            let message = self.message.as_deref().unwrap_or("by the model script");
            answer.body = Some(json!({ "error": { "code": status, "message": message } }));
        }
        let mut parts: Vec<Value> = Vec::new();
        parts.extend(
            self.thought
                .iter()
                .map(|text| json!({"text": text, "thought": true})),
        );
        parts.extend(self.text.iter().map(|text| json!({ "text": text })));
        parts.extend(self.calls.iter().map(|call| {
            *made += 1;
            let id = format!("call-{made}");
            json!({"functionCall": {"id": id, "name": call.name, "args": call.args}})
        }));
        let chunk = |part| json!({"candidates": [{"content": {"role": "model", "parts": [part]}}]});
        answer.chunks = parts.into_iter().map(chunk).collect();
        match self.fault {
            Some(Fault::Malformed) => answer.chunks.push(MALFORMED.into()),
            Some(Fault::Unreachable) => {
                answer.status = None;
                answer.failure = Some("by the model script".to_owned());
            }
            None if self.status.is_none() => {
                let finish = self.finish.as_deref().unwrap_or("STOP");
                match answer.chunks.last_mut() {
                    Some(last) => last["candidates"][0]["finishReason"] = finish.into(),
                    None => answer
                        .chunks
                        .push(json!({"candidates": [{"finishReason": finish}]})),
                }
            }
            Some(Fault::Cut) | None => {}
        }
        Entry {
            answer,
            told: None,
            calls: self.calls.iter().map(Call::recorded).collect(),
        }
    }
}

impl Call {
    fn recorded(&self) -> RecordedCall {
        RecordedCall {
            name: self.name.clone(),
            args: self.args.clone(),
            outcome: None,
            expect: self.expect.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::parse;
    use crate::replay::Recording;
    use serde_json::json;
    use std::path::Path;

    fn script(text: &str) -> Recording {
        parse(Path::new("s.yaml"), text).expect("a script")
    }

    #[test]
    fn turns_are_text_calls_and_faults() {
        let own = script(
            "prompt: Go\nturns:\n\
             - thought: Hm\n  text: I look.\n  calls:\n\
             \x20 - name: read_file\n    args: {absolute_path: a.txt, limit: 3, x: [1.5, true, null]}\n\
             - status: 429\n  retry_after: 0.05\n\
             - fault: cut\n  text: Half\n\
             - fault: malformed\n\
             - fault: unreachable\n\
             - text: Bye\n  finish: MAX_TOKENS\n  repeat: 2\n",
        );
        assert_eq!(own.prompts[0].text, "Go");
        let answers: Vec<_> = own.entries.iter().map(|entry| &entry.answer).collect();
        assert_eq!(answers.len(), 7);
        assert_eq!(answers[0].chunks.len(), 3);
        let last = &answers[0].chunks[2]["candidates"][0];
        assert_eq!(last["finishReason"], "STOP");
        assert_eq!(
            last["content"]["parts"][0]["functionCall"],
            json!({"id": "call-1", "name": "read_file",
                "args": {"absolute_path": "a.txt", "limit": 3, "x": [1.5, true, null]}})
        );
        assert_eq!(answers[1].status, Some(429));
        assert_eq!(answers[1].retry_after.as_deref(), Some("0.05"));
        assert!(
            answers[2].chunks[0]["candidates"][0]
                .get("finishReason")
                .is_none()
        );
        assert!(answers[3].chunks[0].is_string());
        assert_eq!(answers[4].status, None);
        assert_eq!(answers[5], answers[6]);
        assert_eq!(own.entries[0].calls.len(), 1);
    }

    #[test]
    fn json_is_read_too() {
        let own = script(r#"{"turns": [{"calls": [{"name": "t"}], "repeat": 3}, {"text": ""}]}"#);
        assert_eq!(own.entries.len(), 4);
        let id = |n: usize| {
            own.entries[n].answer.chunks[0]["candidates"][0]["content"]["parts"][0]["functionCall"]
                ["id"]
                .clone()
        };
        assert_eq!([id(0), id(2)], ["call-1", "call-3"]);
    }

    #[test]
    fn a_mistake_is_named_with_its_line_and_what_was_meant() {
        for (text, said) in [
            (
                "turns:\n- text: a\n- txet: b\n",
                "s.yaml, line 3: A model script has no key \"txet\" here. Did you mean text?",
            ),
            (
                "turn:\n- text: a\n",
                "line 1: A model script has no key \"turn\" here. Did you mean turns?",
            ),
            (
                "turns:\n- call: x\n",
                "line 2: A model script has no key \"call\" here. Did you mean calls?",
            ),
            (
                "turns:\n- calls:\n  - args: {}\n",
                "line 3: The key \"name\" is missing here.",
            ),
            ("prompt: x\n", "The key \"turns\" is missing here."),
            (
                "turns:\n- fault: cutt\n",
                "line 2: \"cutt\" is not a valid value here. Did you mean cut?",
            ),
            (
                "turns:\n- fault: burn\n",
                "There are: cut, malformed, unreachable.",
            ),
            (
                "turns:\n- text: [a]\n",
                "line 2: It is not a valid model script: ",
            ),
            ("turns:\n- text: \"a\n", "line "),
            ("turns: []\n", "s.yaml: The script has no turns."),
            ("turns:\n- {}\n", "line 2: The turn is empty."),
            (
                "turns:\n- text: a\n- status: 200\n",
                "line 3: The status 200 is not one of a failure",
            ),
            (
                "turns:\n- status: 429\n  text: a\n",
                "line 2: A turn with a status is a refusal",
            ),
            (
                "turns:\n- text: a\n  retry_after: 1\n",
                "line 2: retry_after and message are for",
            ),
            (
                "turns:\n- status: 429\n  retry_after: -1\n",
                "a number of seconds from 0",
            ),
            (
                "turns:\n- fault: unreachable\n  text: a\n",
                "no answer comes",
            ),
            (
                "turns:\n- fault: cut\n  text: a\n  finish: STOP\n",
                "leave one of them out",
            ),
            ("turns:\n- text: a\n  repeat: 0\n", "from 1 to 1000"),
            (
                "turns:\n- calls:\n  - name: t\n    expect: {state: succes}\n",
                "line 4: \"succes\" is not a valid value here. Did you mean success?",
            ),
            (
                "turns:\n- calls:\n  - name: t\n    expect: {contain: a}\n",
                "Did you mean contains?",
            ),
            (
                "turns:\n- text: a\n  text: b\n",
                "line 3: It is not a valid model script: ",
            ),
            ("", "s.yaml"),
        ] {
            let e = parse(Path::new("s.yaml"), text)
                .expect_err(text)
                .to_string();
            assert!(e.contains(said), "{text}\n{e}");
            assert!(e.starts_with("s.yaml") && !e.contains('\n'), "{e}");
        }
    }
}
