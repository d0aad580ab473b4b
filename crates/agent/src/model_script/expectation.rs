//! What a script expects a call to answer, and how a different answer is reported.

use super::places::ScriptPlaces;
use super::stable::stable;
use crate::call::{CallEnd, ToolCall};
use gemini_tools_core::message::Part;
use gemini_tools_core::text::{excerpt, hex};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use similar::TextDiff;
use std::time::Duration;

const MAX_LINES: usize = 200;

const SHOWN_CHARS: usize = 1000;

const DIFF_TIME: Duration = Duration::from_secs(2);

/// What one call is expected to answer. Absent fields are not compared.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Expectation {
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<CallEnd>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<String>,
    #[serde(deserialize_with = "texts", skip_serializing_if = "Vec::is_empty")]
    contains: Vec<String>,
    #[serde(deserialize_with = "texts", skip_serializing_if = "Vec::is_empty")]
    lacks: Vec<String>,
}

fn texts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "a text, or a list of texts")]
    enum Texts {
        One(String),
        Some(Vec<String>),
    }
    Ok(match Texts::deserialize(deserializer)? {
        Texts::One(text) => vec![text],
        Texts::Some(texts) => texts,
    })
}

impl Expectation {
    pub(super) fn of_answer(
        call: &ToolCall,
        places: &ScriptPlaces,
        hide: &dyn Fn(&str) -> String,
    ) -> Option<Self> {
        let answer = Answer::new(call)?;
        Some(Self {
            state: Some(answer.state),
            error_type: answer.error_type,
            answer: Some(stable(&places.named(&hide(&answer.text)))),
            ..Self::default()
        })
    }

    pub(super) fn change_texts(&mut self, change: &dyn Fn(&str) -> String) {
        for text in self.contains.iter_mut().chain(&mut self.lacks) {
            *text = change(text);
        }
    }

    pub(super) fn mismatch(&self, call: &ToolCall, places: &ScriptPlaces) -> Option<String> {
        let Answer {
            state,
            error_type,
            text,
        } = &Answer::new(call)?;
        if let Some(wanted) = &self.answer {
            let whole = |state: CallEnd, kind: Option<&String>, text: &str| {
                let kind = kind.map_or_else(String::new, |kind| format!(" ({kind})"));
                format!("{}{kind}\n{}", state.name(), stable(text))
            };
            let end = self.state.unwrap_or(*state);
            // An expected error without a type matches any type.
            let any = error_type.as_ref().filter(|_| end == *state);
            let wanted = whole(end, self.error_type.as_ref().or(any), wanted);
            let came = whole(*state, error_type.as_ref(), &places.named(text));
            if wanted != came {
                return Some(format!("\n{}", unified(&wanted, &came)));
            }
        }
        let state = state.name();
        let why = if let Some(wanted) = self.state.filter(|wanted| wanted.name() != state) {
            format!("expected is {}, and it is {state}", wanted.name())
        } else if let Some(wanted) = &self.error_type
            && self.error_type != *error_type
        {
            let came = error_type.as_deref().unwrap_or("none");
            format!("expected is the error type {wanted}, and it is {came}")
        } else if let Some(missing) = self.contains.iter().find(|t| !text.contains(*t)) {
            format!("the answer does not contain {missing:?}")
        } else if let Some(there) = self.lacks.iter().find(|t| text.contains(*t)) {
            format!("the answer contains {there:?}")
        } else {
            return None;
        };
        let shown = excerpt(text, SHOWN_CHARS);
        Some(format!(" {why}. The answer ({state}):\n{shown}"))
    }
}

struct Answer {
    state: CallEnd,
    error_type: Option<String>,
    text: String,
}

impl Answer {
    fn new(call: &ToolCall) -> Option<Self> {
        let outcome = call.outcome()?;
        let kind = outcome.error.as_ref().and_then(|error| error.kind);
        let texts: Vec<String> = outcome.parts.iter().map(part_text).collect();
        Some(Self {
            state: outcome.end(),
            error_type: json!(kind).as_str().map(str::to_owned),
            text: texts.join("\n"),
        })
    }
}

/// Returns the text of a part. Images and other media are represented by type, size and hash, so
/// that they can be compared without filling the report.
fn part_text(part: &Part) -> String {
    let part = serde_json::to_value(part).unwrap_or_default();
    if let Some(data) = part["inlineData"]["data"].as_str() {
        let kind = part["inlineData"]["mimeType"].as_str().unwrap_or_default();
        let hash = hex(&Sha256::digest(data.as_bytes())[..8]);
        return format!("[{kind}, {} characters of base64, {hash}]", data.len());
    }
    let Some(response) = part["functionResponse"]["response"].as_object() else {
        return part["text"]
            .as_str()
            .map_or_else(|| part.to_string(), str::to_owned);
    };
    let mut texts: Vec<String> = Vec::new();
    for (key, value) in response {
        texts.push(match value {
            Value::String(text) if key == "output" || key == "error" => text.clone(),
            value => format!("{key}: {value:#}"),
        });
    }
    texts.join("\n")
}

fn unified(wanted: &str, came: &str) -> String {
    let lines = |text| str::split(text, '\n').collect::<Vec<_>>();
    let (mut old, mut new) = (lines(wanted), lines(came));
    // A final newline is only of interest if just one of the texts has it.
    if old.last() == Some(&"") && new.last() == Some(&"") {
        old.pop();
        new.pop();
    }
    let diff = TextDiff::configure()
        .timeout(DIFF_TIME)
        .diff_slices(&old, &new);
    let text = diff
        .unified_diff()
        .header("expected", "answered")
        .missing_newline_hint(false)
        .to_string();
    let mut lines: Vec<&str> = text.lines().collect();
    let more = lines.len().saturating_sub(MAX_LINES);
    lines.truncate(MAX_LINES);
    let more = (more > 0).then(|| format!("\n… {more} more lines"));
    lines.join("\n") + &more.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{Expectation, ScriptPlaces, part_text, unified};
    use crate::output::tests::{done, failed, text};
    use gemini_tools_core::message::Part;
    use serde_json::json;

    fn expect(value: serde_json::Value) -> Expectation {
        serde_json::from_value(value).expect("an expectation")
    }

    #[test]
    fn the_whole_answer_is_compared_line_by_line_with_its_end() {
        let places = ScriptPlaces::default();
        let mismatch = |expected: &str, came: &str| {
            let mut outcome = text(came);
            outcome.parts = vec![Part::function_response(
                Some("i"),
                "t",
                json!({"output": came}),
            )];
            let call = done("t", json!({}), outcome);
            expect(json!({"state": "success", "answer": expected})).mismatch(&call, &places)
        };
        assert_eq!(mismatch("a\nb", "a\nb"), None);
        assert_eq!(mismatch("at <time>", "at 2026-01-31 08:09:10"), None);
        assert_eq!(
            mismatch("a\nb\nc", "a\nB\nc").as_deref(),
            Some("\n--- expected\n+++ answered\n@@ -1,4 +1,4 @@\n success\n a\n-b\n+B\n c")
        );
        let newline = mismatch("a", "a\n").expect("a newline more");
        assert!(newline.ends_with(" a\n+"), "{newline}");
        let call = failed("t", json!({}), "gone");
        let shown = expect(json!({"state": "success", "answer": "a"}))
            .mismatch(&call, &places)
            .expect("another end");
        assert!(
            shown.contains("-success\n-a\n+error (file_not_found)\n+gone"),
            "{shown}"
        );
        let same =
            Expectation::of_answer(&call, &places, &str::to_owned).expect("a call that is over");
        assert_eq!(same.mismatch(&call, &places), None);
    }

    #[test]
    fn media_are_compared_and_not_shown() {
        let media = |data: &str| part_text(&Part::inline_data("image/png", data.to_owned()));
        assert_eq!(media("AAAA"), media("AAAA"));
        assert_ne!(media("AAAA"), media("AAAB"));
        assert!(media("AAAA").starts_with("[image/png, 4 characters of base64, "));
    }

    #[test]
    fn a_long_difference_is_cut_and_says_so() {
        let old: Vec<String> = (0..300).map(|n| format!("{n}")).collect();
        let shown = unified(&old.join("\n"), "");
        assert!(shown.ends_with("\n… 104 more lines"), "{shown}");
    }
}
