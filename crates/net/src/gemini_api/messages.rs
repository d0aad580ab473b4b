//! The bodies of requests and responses.

use gemini_tools_core::message::{Content, Part, null_is_default};
use gemini_tools_core::tool::TokenCounts;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// A tool that the model may use.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum RequestTool {
    /// Functions of the caller, as JSON declarations.
    FunctionDeclarations(Vec<Value>),
    /// Google Search, performed by the API.
    GoogleSearch {},
    /// Reading of pages that the prompt mentions, performed by the API.
    UrlContext {},
}

/// Returns generation parameters that always select the most likely answer, as Gemini CLI uses
/// them.
pub fn deterministic() -> Value {
    json!({ "temperature": 0, "topP": 1 })
}

/// A request to a model.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GenerateContentRequest {
    /// The conversation so far.
    pub contents: Vec<Content>,
    /// System instruction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_instruction: Option<Content>,
    /// Tools that the model may use.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<RequestTool>,
    /// Settings for generating the answer, in the API's form.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generation_config: Option<Value>,
}

/// Finish reasons that mean that the answer was withheld because of its content.
const BLOCK_REASONS: [&str; 6] = [
    "SAFETY",
    "RECITATION",
    "LANGUAGE",
    "BLOCKLIST",
    "PROHIBITED_CONTENT",
    "SPII",
];

/// An answer of the model.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Candidate {
    /// The content; missing if it was withheld.
    pub content: Option<Content>,
    /// The reason why the model stopped; missing until it has.
    pub finish_reason: Option<String>,
    /// The API's explanation of the finish reason.
    pub finish_message: Option<String>,
    /// The sources of the answer (`groundingChunks`), and the passages that each supports
    /// (`groundingSupports`); null without any.
    pub grounding_metadata: Value,
    /// For each page that the model was to read, whether the API could fetch it (`urlMetadata`).
    #[serde(alias = "url_context_metadata")]
    pub url_context_metadata: Value,
}

/// An answer, or one piece of a streamed one.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct GenerateContentResponse {
    /// The model's answers; one, unless more were asked for.
    #[serde(deserialize_with = "null_is_default")]
    pub candidates: Vec<Candidate>,
    /// The API's judgement of the prompt: `blockReason` says why there is no answer at all, and
    /// `blockReasonMessage` explains it.
    pub prompt_feedback: Value,
    /// The tokens of the prompt and of the answer; `None` in pieces that do not report them.
    pub usage_metadata: Option<TokenCounts>,
    /// Name of the model that answered.
    pub model_version: Option<String>,
}

impl GenerateContentResponse {
    /// Returns the parts of the first answer.
    pub fn parts(&self) -> &[Part] {
        self.candidates
            .first()
            .and_then(|c| c.content.as_ref())
            .map_or(&[], |content| &content.parts)
    }

    /// Returns the text of the first answer, without thoughts.
    pub fn text(&self) -> String {
        self.parts()
            .iter()
            .filter(|part| part.thought != Some(true))
            .filter_map(|part| part.text.as_deref())
            .collect()
    }

    /// Returns the sources of the first answer, as the API describes them; `web` of one has the
    /// `title` and the `uri` of a page.
    pub fn sources(&self) -> &[Value] {
        list(&self.grounding()["groundingChunks"])
    }

    pub(super) fn grounding(&self) -> &Value {
        let candidate = self.candidates.first();
        candidate.map_or(&Value::Null, |own| &own.grounding_metadata)
    }

    /// Returns, for each page that the model was to read, its `retrievedUrl` and
    /// `urlRetrievalStatus`: `URL_RETRIEVAL_STATUS_SUCCESS`, or why the page was not read.
    pub fn url_metadata(&self) -> &[Value] {
        let candidate = self.candidates.first();
        candidate.map_or(&[], |own| list(&own.url_context_metadata["urlMetadata"]))
    }

    /// Returns the reason why the model stopped.
    pub fn finish_reason(&self) -> Option<&str> {
        self.candidates.first()?.finish_reason.as_deref()
    }

    /// Returns the reason why there is no answer at all.
    pub fn block_reason(&self) -> Option<&str> {
        self.prompt_feedback["blockReason"].as_str()
    }

    /// Returns why the prompt or the answer was withheld, if it was.
    pub fn refusal(&self) -> Option<String> {
        let blocked = |what: &str, reason: &str, words: Option<&str>| {
            let words = words.map_or_else(String::new, |words| format!(": {words}"));
            Some(format!("the {what} was blocked: {reason}{words}"))
        };
        if let Some(reason) = self.block_reason() {
            let words = self.prompt_feedback["blockReasonMessage"].as_str();
            return blocked("prompt", reason, words);
        }
        let candidate = self.candidates.first()?;
        let reason = candidate.finish_reason.as_deref();
        let reason = reason.filter(|reason| BLOCK_REASONS.contains(reason))?;
        blocked("answer", reason, candidate.finish_message.as_deref())
    }
}

pub(super) fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}
