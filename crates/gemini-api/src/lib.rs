//! The Gemini wire: messages, requests and responses, three ways to be let in, streaming.
//!
//! Field names and shapes follow the public `v1beta` API; fields that this crate does not know
//! are kept wherever a message may go back to the API. [`GeminiClient`] speaks to the API itself, to
//! Vertex AI and to Code Assist, by the same calls. Nothing here knows any tool.

mod citations;
mod client;
mod credentials;
mod error;
mod id;
mod messages;
mod retry;
mod sse;
mod stream;

pub use citations::cited;
pub use client::GeminiClient;
pub use credentials::{Credentials, Secret};
pub use error::{ApiError, ApiErrorKind};
pub use gemini_tools_core::message::{Blob, Content, FunctionCall, FunctionResponse, Part};
pub use id::unique_id;
pub use messages::{
    BorrowedRequest, Candidate, FinishReason, GenerateContentRequest, GenerateContentResponse,
    GenerationConfig, GroundingChunk, GroundingMetadata, GroundingSupport, ModelRequest,
    PromptFeedback, RequestTool, Segment, ThinkingConfig, UrlContextMetadata, UrlMetadata,
    UsageMetadata, WebSource,
};
pub use retry::RetryPolicy;
pub use sse::{Events, SseError};
pub use stream::ResponseStream;
