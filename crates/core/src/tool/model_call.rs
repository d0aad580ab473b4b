//! A request to a model, as statistics and telemetry count it.

use serde::{Deserialize, Serialize};

/// A request to a model, its cost and its outcome.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelCall {
    /// Name of the model that has answered, or that was asked if there is no answer.
    pub model: String,
    /// Time from the request to the end of the answer, in milliseconds.
    pub duration_ms: u64,
    /// Tokens that the API has counted.
    pub tokens: TokenCounts,
    /// Reason why there is no answer, or only a part of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ModelCallError>,
}

/// Numbers of tokens of a request and its answer. The API's own names of the fields, those of its
/// `usageMetadata`, are also read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TokenCounts {
    /// Tokens of the prompt.
    #[serde(alias = "promptTokenCount")]
    pub prompt: u64,
    /// Tokens of the answer.
    #[serde(alias = "candidatesTokenCount")]
    pub candidates: u64,
    /// Number of all tokens.
    #[serde(alias = "totalTokenCount")]
    pub total: u64,
    /// Tokens of the prompt that the API has taken from its cache.
    #[serde(alias = "cachedContentTokenCount")]
    pub cached: u64,
    /// Tokens of thoughts.
    #[serde(alias = "thoughtsTokenCount")]
    pub thoughts: u64,
    /// Tokens of results of the API's own tools.
    #[serde(alias = "toolUsePromptTokenCount")]
    pub tool: u64,
}

impl std::ops::AddAssign for TokenCounts {
    fn add_assign(&mut self, more: Self) {
        self.prompt += more.prompt;
        self.candidates += more.candidates;
        self.total += more.total;
        self.cached += more.cached;
        self.thoughts += more.thoughts;
        self.tool += more.tool;
    }
}

/// Reason why a request to a model has failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelCallError {
    /// Name of the kind of error.
    pub kind: String,
    /// HTTP status, if there was an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Message for people.
    pub message: String,
}
