//! The protocol of the Gemini API: messages, requests and responses, three ways of authentication,
//! streaming.
//!
//! Names and shapes follow the public `v1beta` API. Fields that this crate does not know are
//! preserved wherever a message may be sent back to the API. [`GeminiClient`] talks to the Gemini
//! API, Vertex AI or Code Assist with the same methods. Nothing here knows any tool.
//!
//! Connections are made by `http_client`. Which tools a request declares, and what becomes of the
//! model's calls, is up to the callers.
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
pub(crate) use id::random;
pub use id::unique_id;
pub use messages::{
    Candidate, GenerateContentRequest, GenerateContentResponse, RequestTool, deterministic,
};
pub use played::{AnswerSource, ApiMethod, PlayedAnswer};
pub use sse::{Event, Events, SseError};
pub use stream::ResponseStream;
