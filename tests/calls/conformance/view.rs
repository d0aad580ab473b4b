//! What an answer says, with real paths replaced by placeholders, read more leniently than the harness does: here only
//! the facts count that the expectations speak of.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::Value;

use super::fixture::{Case, collapse, sha256};
use crate::harness::{Answer, Workspace};

/// A file that came as data.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub(super) struct Inline {
    #[serde(rename = "mimeType")]
    mime_type: Option<String>,
    bytes: usize,
    sha256: String,
}

#[derive(Default)]
pub(super) struct View {
    /// What contradicts the protocol itself.
    pub(super) problems: Vec<String>,
    /// Whether the tool succeeded, where that can be told.
    pub(super) ok: Option<bool>,
    pub(super) output: String,
    pub(super) error: String,
    pub(super) error_type: Option<String>,
    pub(super) inline: Vec<Inline>,
    /// The output and every other text of the answer.
    pub(super) all: String,
}

impl View {
    pub(super) fn of(case: &Case, answer: &Answer, workspace: &Workspace) -> Self {
        let mut view = Self::default();
        match serde_json::from_slice(&answer.stdout) {
            Ok(document) => view.read(case, &collapse(&document, workspace), answer.status()),
            Err(e) => view
                .problems
                .push(format!("stdout is not one JSON value: {e}")),
        }
        view
    }

    fn read(&mut self, case: &Case, document: &Value, status: i32) {
        let response = &document["functionResponse"];
        let mut problem = |text: String| self.problems.push(text);
        if response["name"] != case.tool.as_str() {
            problem(format!("functionResponse.name is {}", response["name"]));
        }
        let body = &response["response"];
        match (body.get("output"), body.get("error")) {
            (Some(output), None) => {
                self.ok = Some(true);
                match output.as_str() {
                    Some(text) => text.clone_into(&mut self.output),
                    None => problem("response.output is not a string".to_owned()),
                }
                if status != 0 {
                    problem(format!("exit status {status} with an output"));
                }
            }
            (None, Some(error)) => {
                self.ok = Some(false);
                error
                    .as_str()
                    .unwrap_or_default()
                    .clone_into(&mut self.error);
                if self.error.trim().is_empty() {
                    problem("response.error says nothing".to_owned());
                }
                if status == 0 {
                    problem("exit status 0 with an error".to_owned());
                }
            }
            _ => problem("response must have exactly one of output and error".to_owned()),
        }
        self.error_type = body["errorType"].as_str().map(str::to_owned);
        self.all.clone_from(&self.output);
        self.collect(document);
    }

    /// Finds further texts and all inline data, wherever they are.
    fn collect(&mut self, value: &Value) {
        match value {
            Value::Array(items) => items.iter().for_each(|v| self.collect(v)),
            Value::Object(object) => match object.get("inlineData") {
                Some(data) => {
                    let bytes = STANDARD.decode(data["data"].as_str().unwrap_or_default());
                    let bytes = bytes.unwrap_or_default();
                    self.inline.push(Inline {
                        mime_type: data["mimeType"].as_str().map(str::to_owned),
                        bytes: bytes.len(),
                        sha256: sha256(&bytes),
                    });
                }
                None => {
                    for (key, value) in object {
                        match value.as_str() {
                            Some(text) if key == "text" => {
                                self.all.push('\n');
                                self.all += text;
                            }
                            _ => self.collect(value),
                        }
                    }
                }
            },
            _ => {}
        }
    }
}
