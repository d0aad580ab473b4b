//! An answer that is being read: the API's, or one that a script gives in its place.
//!
//! A script stands where bytes come in: retries, streams that are cut and text that is not JSON are
//! dealt with by the same code either way.

use super::error::ApiError;
use crate::http_client as net;
use std::io::{Cursor, Read as _};

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
    /// The reason why no answer comes, if none does.
    pub failure: Option<String>,
}

impl Default for PlayedAnswer {
    fn default() -> Self {
        Self {
            status: 200,
            retry_after: None,
            body: String::new(),
            failure: None,
        }
    }
}

/// A function that gives the next answer in the API's place, or an error where there is none.
pub type AnswerSource = Box<dyn FnMut(ApiMethod) -> Result<PlayedAnswer, ApiError> + Send>;

/// An answer that is being read.
pub(super) struct Answer<'a> {
    pub(super) status: u16,
    pub(super) retry_after: Option<String>,
    pub(super) content_type: Option<String>,
    body: Body<'a>,
}

enum Body<'a> {
    Received(net::Body<'a>),
    Played(Cursor<Vec<u8>>),
}

impl<'a> Answer<'a> {
    /// Begins to read an answer of the API.
    pub(super) fn from_response(response: net::Response<'a>) -> Self {
        let header = |name| response.header(name).map(str::to_owned);
        Self {
            status: response.status,
            retry_after: header("retry-after"),
            content_type: header("content-type"),
            body: Body::Received(response.body),
        }
    }

    /// Begins to read an answer of a script.
    ///
    /// # Errors
    ///
    /// Returns an error if no answer comes.
    pub(super) fn from_played(answer: PlayedAnswer) -> Result<Self, ApiError> {
        if let Some(why) = &answer.failure {
            return Err(ApiError::unreached(why));
        }
        Ok(Self {
            status: answer.status,
            retry_after: answer.retry_after,
            content_type: None,
            body: Body::Played(Cursor::new(answer.body.into_bytes())),
        })
    }

    /// Reads the next bytes; zero is the end.
    pub(super) fn read(&mut self, buffer: &mut [u8]) -> Result<usize, ApiError> {
        match &mut self.body {
            Body::Received(body) => body.read(buffer).map_err(ApiError::from),
            // Reading from memory does not fail.
            Body::Played(bytes) => Ok(bytes.read(buffer).unwrap_or(0)),
        }
    }

    /// Reads to the end, but no more than `limit` bytes, and tells if there was more.
    pub(super) fn read_up_to(&mut self, limit: usize) -> Result<(Vec<u8>, bool), ApiError> {
        let mut bytes = Vec::new();
        let mut piece = vec![0; 64 * 1024];
        loop {
            let n = self.read(&mut piece)?;
            let room = limit - bytes.len();
            bytes.extend_from_slice(&piece[..n.min(room)]);
            if n == 0 || n > room {
                return Ok((bytes, n > room));
            }
        }
    }
}

/// Returns a text in which a credential does not show.
pub(super) fn without(text: &str, secret: &str) -> String {
    if secret.len() > NO_SECRET_BYTES {
        text.replace(secret, HIDDEN)
    } else {
        text.to_owned()
    }
}
