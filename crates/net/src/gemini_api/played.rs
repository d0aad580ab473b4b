//! Scripted responses in the place of the API.
//!
//! A script replaces the bytes of the HTTP response, not parsed messages. Retries, broken streams
//! and malformed JSON therefore run through the same code as in production.

use super::error::ApiError;
use crate::http_client::Response;
use http::header::{HeaderMap, HeaderValue, RETRY_AFTER};

const HIDDEN: &str = "***";

/// Texts of up to this many bytes are not treated as secrets; replacing every occurrence of one
/// would garble the message.
const NO_SECRET_BYTES: usize = 3;

/// A method of the API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApiMethod {
    /// Returns a whole answer.
    GenerateContent,
    /// Returns an answer in pieces.
    StreamGenerateContent,
}

impl ApiMethod {
    /// Returns the method's name as it stands in a URL, such as `generateContent`.
    pub fn name(self) -> &'static str {
        match self {
            ApiMethod::GenerateContent => "generateContent",
            ApiMethod::StreamGenerateContent => "streamGenerateContent",
        }
    }
}

/// A response that a script provides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlayedAnswer {
    /// The HTTP status.
    pub status: u16,
    /// The value of the header `Retry-After`; `None` for a response without it.
    pub retry_after: Option<String>,
    /// The body of the response.
    pub body: String,
}

/// A function that returns the next response instead of the API, or an error if there is none.
pub type AnswerSource = Box<dyn FnMut(ApiMethod) -> Result<PlayedAnswer, ApiError> + Send>;

impl PlayedAnswer {
    pub(super) fn into_response(self) -> Response<'static> {
        let mut headers = HeaderMap::new();
        // A text that is not a valid header value is left out. It could not be a time either.
        if let Some(Ok(value)) = self.retry_after.map(HeaderValue::try_from) {
            headers.insert(RETRY_AFTER, value);
        }
        Response::from_memory(self.status, headers, self.body.into_bytes())
    }
}

pub(super) fn without(text: &str, secret: &str) -> String {
    if secret.len() > NO_SECRET_BYTES {
        text.replace(secret, HIDDEN)
    } else {
        text.to_owned()
    }
}
