//! Requests and responses.

use gemini_tools_core::message::{Content, Part, null_is_default};
use gemini_tools_core::tool::TokenCounts;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// A tool that the model may use.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RequestTool {
    /// Functions of the caller, as they were declared.
    FunctionDeclarations(Vec<Value>),
    /// Google's search, run by the API.
    GoogleSearch {},
    /// Pages of the prompt, read by the API.
    UrlContext {},
}

/// The amount of thinking.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ThinkingConfig {
    /// In tokens; -1 leaves it to the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking_budget: Option<i64>,
    /// For later models, in words: `HIGH`, for example.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking_level: Option<String>,
    /// True if the answer includes thoughts.
    pub include_thoughts: bool,
}

/// Settings for generating an answer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GenerationConfig {
    /// From 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// From 0 to 1.
    #[serde(rename = "topP", skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
    /// The longest answer, in tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u64>,
    /// `application/json` for an answer that is JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_mime_type: Option<String>,
    /// The JSON Schema of such an answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_json_schema: Option<Value>,
    /// For models that think.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking_config: Option<ThinkingConfig>,
    /// Everything else, as the API has it.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

impl GenerationConfig {
    /// Returns Gemini CLI's settings, which always take the likeliest answer.
    pub fn deterministic() -> Self {
        Self {
            temperature: Some(0.0),
            top_p: Some(1.0),
            ..Self::default()
        }
    }
}

/// A request to a model.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GenerateContentRequest {
    /// The conversation so far.
    pub contents: Vec<Content>,
    /// System instruction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_instruction: Option<Content>,
    /// Tools that the model may use.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<RequestTool>,
    /// Rules for the use of tools, in the API's form.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_config: Option<Value>,
    /// Settings for generating the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generation_config: Option<GenerationConfig>,
    /// Everything else, `safetySettings` for example, as the API has it.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// A request by reference, for a conversation that is sent again as it grows.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BorrowedRequest<'a> {
    /// The conversation so far: each a [`Content`] as JSON, which is sent as it is.
    pub contents: Vec<&'a RawValue>,
    /// System instruction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_instruction: Option<&'a Content>,
    /// Tools that the model may use.
    #[serde(skip_serializing_if = "<[RequestTool]>::is_empty")]
    pub tools: &'a [RequestTool],
    /// Settings for generating the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generation_config: Option<&'a GenerationConfig>,
}

/// A request that can be sent to a model.
pub trait ModelRequest: Serialize {
    /// Returns the fields that are JSON already, in the order in which they are serialized.
    fn written(&self) -> &[&RawValue] {
        &[]
    }
}

impl ModelRequest for GenerateContentRequest {}

impl ModelRequest for BorrowedRequest<'_> {
    fn written(&self) -> &[&RawValue] {
        &self.contents
    }
}

/// The reason why the model stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(
    missing_docs,
    reason = "the names are the API's and say what they mean"
)]
pub enum FinishReason {
    Stop,
    MaxTokens,
    Safety,
    Recitation,
    Language,
    Blocklist,
    ProhibitedContent,
    Spii,
    MalformedFunctionCall,
    UnexpectedToolCall,
    /// Any other.
    Other(String),
}

impl FinishReason {
    /// The API's name.
    pub fn as_str(&self) -> &str {
        match self {
            FinishReason::Stop => "STOP",
            FinishReason::MaxTokens => "MAX_TOKENS",
            FinishReason::Safety => "SAFETY",
            FinishReason::Recitation => "RECITATION",
            FinishReason::Language => "LANGUAGE",
            FinishReason::Blocklist => "BLOCKLIST",
            FinishReason::ProhibitedContent => "PROHIBITED_CONTENT",
            FinishReason::Spii => "SPII",
            FinishReason::MalformedFunctionCall => "MALFORMED_FUNCTION_CALL",
            FinishReason::UnexpectedToolCall => "UNEXPECTED_TOOL_CALL",
            FinishReason::Other(name) => name,
        }
    }

    /// Returns true if the answer was held back because of its content.
    pub fn is_blocked(&self) -> bool {
        matches!(
            self,
            FinishReason::Safety
                | FinishReason::Recitation
                | FinishReason::Language
                | FinishReason::Blocklist
                | FinishReason::ProhibitedContent
                | FinishReason::Spii
        )
    }
}

impl<'de> Deserialize<'de> for FinishReason {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        let known = [
            FinishReason::Stop,
            FinishReason::MaxTokens,
            FinishReason::Safety,
            FinishReason::Recitation,
            FinishReason::Language,
            FinishReason::Blocklist,
            FinishReason::ProhibitedContent,
            FinishReason::Spii,
            FinishReason::MalformedFunctionCall,
            FinishReason::UnexpectedToolCall,
        ];
        Ok(known
            .into_iter()
            .find(|reason| reason.as_str() == name)
            .unwrap_or(FinishReason::Other(name)))
    }
}

impl Serialize for FinishReason {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// A page that an answer rests on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebSource {
    /// The address.
    #[serde(default, deserialize_with = "null_is_default")]
    pub uri: String,
    /// The page's title, often the site's name.
    #[serde(default, deserialize_with = "null_is_default")]
    pub title: String,
}

/// A source that an answer rests on.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct GroundingChunk {
    /// A page; other kinds of sources are in `other`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub web: Option<WebSource>,
    /// Everything else, as it came.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// A stretch of an answer's text, in bytes of its UTF-8 form.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Segment {
    /// Index of the answer's part.
    pub part_index: usize,
    /// First byte.
    pub start_index: usize,
    /// After the last byte.
    pub end_index: usize,
    /// The text itself.
    pub text: String,
}

/// The sources of a stretch of the answer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GroundingSupport {
    /// The stretch.
    #[serde(default)]
    pub segment: Option<Segment>,
    /// Positions in [`GroundingMetadata::grounding_chunks`].
    #[serde(default, deserialize_with = "null_is_default")]
    pub grounding_chunk_indices: Vec<usize>,
    /// Everything else, as it came.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// The sources of an answer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GroundingMetadata {
    /// Queries of the search.
    #[serde(default, deserialize_with = "null_is_default")]
    pub web_search_queries: Vec<String>,
    /// The sources.
    #[serde(default, deserialize_with = "null_is_default")]
    pub grounding_chunks: Vec<GroundingChunk>,
    /// Stretches of the answer with their sources.
    #[serde(default, deserialize_with = "null_is_default")]
    pub grounding_supports: Vec<GroundingSupport>,
    /// Everything else, as it came.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// The outcome of reading a page.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UrlMetadata {
    /// The address.
    #[serde(default, deserialize_with = "null_is_default")]
    pub retrieved_url: String,
    /// `URL_RETRIEVAL_STATUS_SUCCESS`, or why not.
    #[serde(default, deserialize_with = "null_is_default")]
    pub url_retrieval_status: String,
}

/// The outcomes of reading pages.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UrlContextMetadata {
    /// Outcome for each page.
    #[serde(default, deserialize_with = "null_is_default")]
    pub url_metadata: Vec<UrlMetadata>,
}

/// An answer of the model.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Candidate {
    /// Content of the answer; missing if it was held back.
    #[serde(default)]
    pub content: Option<Content>,
    /// The reason why the model stopped; missing until it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish_reason: Option<FinishReason>,
    /// The API's words for that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish_message: Option<String>,
    /// Sources of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grounding_metadata: Option<GroundingMetadata>,
    /// Outcomes of reading pages.
    #[serde(
        default,
        alias = "url_context_metadata",
        skip_serializing_if = "Option::is_none"
    )]
    pub url_context_metadata: Option<UrlContextMetadata>,
    /// Everything else, safety ratings among it, as it came.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// The API's judgement of the prompt.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PromptFeedback {
    /// The reason why there is no answer at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block_reason: Option<String>,
    /// The API's words for that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block_reason_message: Option<String>,
    /// Everything else, as it came.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// The cost of an answer, in tokens.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct UsageMetadata {
    /// Tokens of the question.
    pub prompt_token_count: u64,
    /// Tokens of the answer.
    pub candidates_token_count: u64,
    /// Tokens of the question that were cached.
    pub cached_content_token_count: u64,
    /// Tokens of thoughts.
    pub thoughts_token_count: u64,
    /// Tokens of what the API's own tools brought.
    pub tool_use_prompt_token_count: u64,
    /// Sum of all counts.
    pub total_token_count: u64,
    /// Everything else, as it came.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

impl From<&UsageMetadata> for TokenCounts {
    fn from(usage: &UsageMetadata) -> Self {
        Self {
            prompt: usage.prompt_token_count,
            candidates: usage.candidates_token_count,
            total: usage.total_token_count,
            cached: usage.cached_content_token_count,
            thoughts: usage.thoughts_token_count,
            tool: usage.tool_use_prompt_token_count,
        }
    }
}

/// An answer, or one piece of a streamed one.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GenerateContentResponse {
    /// The model's answers; one, unless more were asked for.
    #[serde(default, deserialize_with = "null_is_default")]
    pub candidates: Vec<Candidate>,
    /// The API's judgement of the prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_feedback: Option<PromptFeedback>,
    /// Cost of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage_metadata: Option<UsageMetadata>,
    /// Name of the model that answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_version: Option<String>,
    /// Everything else, as it came.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

impl GenerateContentResponse {
    /// The parts of the first answer.
    pub fn parts(&self) -> &[Part] {
        self.candidates
            .first()
            .and_then(|c| c.content.as_ref())
            .map_or(&[], |content| &content.parts)
    }

    /// The text of the first answer, without thoughts.
    pub fn text(&self) -> String {
        self.parts()
            .iter()
            .filter(|part| part.thought != Some(true))
            .filter_map(|part| part.text.as_deref())
            .collect()
    }

    /// Returns the reason why the model stopped.
    pub fn finish_reason(&self) -> Option<&FinishReason> {
        self.candidates.first()?.finish_reason.as_ref()
    }

    /// Returns the reason why the prompt or the answer was held back.
    pub fn refusal(&self) -> Option<String> {
        let feedback = self.prompt_feedback.as_ref();
        if let Some(reason) = feedback.and_then(|f| f.block_reason.as_deref()) {
            let words = feedback.and_then(|f| f.block_reason_message.as_deref());
            return Some(match words {
                Some(words) => format!("the prompt was blocked: {reason}: {words}"),
                None => format!("the prompt was blocked: {reason}"),
            });
        }
        let candidate = self.candidates.first()?;
        let reason = candidate
            .finish_reason
            .as_ref()
            .filter(|r| r.is_blocked())?;
        Some(match &candidate.finish_message {
            Some(words) => format!("the answer was blocked: {}: {words}", reason.as_str()),
            None => format!("the answer was blocked: {}", reason.as_str()),
        })
    }
}
