//! Answers that a script gives in the API's place.
//!
//! A script stands where bytes come in: retries, streams that are cut and text that is not JSON are
//! dealt with by the same code either way.

use super::error::ApiError;
use crate::http_client::Response;
use http::header::{HeaderMap, HeaderValue, RETRY_AFTER};

/// Text in the place of a credential.
const HIDDEN: &str = "***";

/// The longest text that is too short for a credential.
const NO_SECRET_BYTES: usize = 3;

/// A method of the API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApiMethod {
    /// A whole answer.
    GenerateContent,
    /// An answer in pieces.
    StreamGenerateContent,
    /// The number of tokens.
    CountTokens,
}

impl ApiMethod {
    /// Returns the name of the method in an address.
    pub fn name(self) -> &'static str {
        match self {
            ApiMethod::GenerateContent => "generateContent",
            ApiMethod::StreamGenerateContent => "streamGenerateContent",
            ApiMethod::CountTokens => "countTokens",
        }
    }
}

/// An answer that a script gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlayedAnswer {
    /// The HTTP status.
    pub status: u16,
    /// The header `Retry-After`.
    pub retry_after: Option<String>,
    /// The content.
    pub body: String,
}

/// A function that gives the next answer in the API's place, or an error where there is none.
pub type AnswerSource = Box<dyn FnMut(ApiMethod) -> Result<PlayedAnswer, ApiError> + Send>;

impl PlayedAnswer {
    pub(super) fn into_response(self) -> Response<'static> {
        let mut headers = HeaderMap::new();
        // What no header can hold is no time either.
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
