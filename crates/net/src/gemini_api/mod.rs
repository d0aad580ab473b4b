//! The Gemini wire: messages, requests and responses, three ways to be let in, streaming.
//!
//! Field names and shapes follow the public `v1beta` API; fields that this crate does not know are
//! kept wherever a message may go back to the API. [`GeminiClient`] speaks to the API itself, to
//! Vertex AI and to Code Assist, by the same calls. Nothing here knows any tool.
//!
//! How a server is reached is up to `gemini-tools-net`, and which tools a request declares
//! and what becomes of calls up to the callers.
//!
//! # Example
//!
//! ```
//! use gemini_tools_net::gemini_api::{GenerateContentResponse, SecretText};
//!
//! let response: GenerateContentResponse = serde_json::from_str(
//!     r#"{"candidates": [{
//!         "content": {"role": "model", "parts": [
//!             {"text": "I look."},
//!             {"functionCall": {"name": "read_file", "args": {"absolute_path": "a.txt"}}}
//!         ]},
//!         "finishReason": "STOP"
//!     }]}"#,
//! )?;
//! assert_eq!(response.text(), "I look.");
//! let call = response.parts()[1].function_call.as_ref().expect("a call");
//! assert_eq!(call.name, "read_file");
//!
//! // A key can't get into a log by mistake.
//! assert!(!format!("{:?}", SecretText::new("key-1")).contains("key-1"));
//! # Ok::<(), serde_json::Error>(())
//! ```

mod citations;
mod client;
mod credentials;
mod default_credentials;
mod error;
mod external_account;
mod id;
mod login;
mod messages;
mod played;
mod retry;
mod sse;
mod stream;
mod tokens;

pub use citations::cited;
pub use client::{Attempt, GeminiClient};
pub use credentials::{Credentials, SecretText};
pub use error::{ApiError, ApiErrorKind};
pub use gemini_tools_core::message::{Blob, Content, FunctionCall, FunctionResponse, Part};
pub use id::unique_id;
pub use messages::{
    Candidate, GenerateContentRequest, GenerateContentResponse, GroundingChunk, GroundingMetadata,
    GroundingSupport, PromptFeedback, RequestTool, Segment, UrlContextMetadata, UrlMetadata,
    WebSource, deterministic,
};
pub use played::{AnswerSource, ApiMethod, PlayedAnswer};
pub use sse::{Event, Events, SseError};
pub use stream::ResponseStream;
