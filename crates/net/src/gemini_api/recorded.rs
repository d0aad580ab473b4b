//! Answers of the API as they came, to be written down and played again.
//!
//! A client hands what it has read to a [`Recorder`], whatever became of it, and another takes its
//! answers from a [`Player`] instead of the network. Both stand where bytes come in: retries,
//! streams that are cut and text that is not JSON are dealt with by the same code either way. What
//! is recorded is an answer's content. Requests, addresses and credentials are not in it.

use super::error::ApiError;
use super::sse::{Events, SseError};
use crate::http_client::{self as net, NetError};
use gemini_tools_core::json;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Text that is shown in the place of a credential.
const HIDDEN: &str = "***";

/// The longest text that is too short for a credential.
const NO_SECRET_BYTES: usize = 3;

/// A method of the API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ApiMethod {
    /// A whole answer.
    GenerateContent,
    /// An answer in pieces.
    StreamGenerateContent,
    /// The number of tokens.
    CountTokens,
}

impl ApiMethod {
    /// The name of the method in an address.
    pub fn name(self) -> &'static str {
        match self {
            ApiMethod::GenerateContent => "generateContent",
            ApiMethod::StreamGenerateContent => "streamGenerateContent",
            ApiMethod::CountTokens => "countTokens",
        }
    }
}

/// A recorded answer to a request, or its failure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordedAnswer {
    /// Method of the request.
    pub method: ApiMethod,
    /// The HTTP status; `None` where no answer came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// The header `Retry-After`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<String>,
    /// The header `Content-Type` of a success that should be a stream and is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_type: Option<String>,
    /// The pieces of a stream: documents; a text is a piece that is not JSON.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub chunks: Vec<Value>,
    /// The beginning of a piece in which the stream ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rest: Option<String>,
    /// The content of all that is not a stream: a document, or a text that is not JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<Value>,
    /// The reason why the answer ends early, if the connection broke.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

impl RecordedAnswer {
    /// An answer with this status and nothing in it.
    pub fn new(method: ApiMethod, status: u16) -> Self {
        Self {
            method,
            status: Some(status),
            retry_after: None,
            content_type: None,
            chunks: Vec::new(),
            rest: None,
            body: None,
            failure: None,
        }
    }

    /// The bytes of its content, as an API that needs no wrapper sends them.
    fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for chunk in &self.chunks {
            data_lines(&mut bytes, &content(chunk));
            bytes.push(b'\n');
        }
        if let Some(rest) = &self.rest {
            data_lines(&mut bytes, rest);
        }
        if let Some(body) = &self.body {
            bytes.extend_from_slice(content(body).as_bytes());
        }
        bytes
    }

    fn take_content(&mut self, kept: &[u8], is_wrapped: bool) {
        let is_stream = self.method == ApiMethod::StreamGenerateContent
            && self.status == Some(200)
            && self.content_type.is_none();
        if !is_stream {
            let is_wrapped = is_wrapped && self.method == ApiMethod::GenerateContent;
            self.body = (!kept.is_empty()).then(|| document(kept, is_wrapped));
            return;
        }
        let mut events = Events::new();
        let chunks = &mut self.chunks;
        // An event that is too large has ended the stream for who has read it, too.
        let _ = events.push::<SseError>(kept, |data| {
            chunks.push(document(data, is_wrapped));
            Ok(())
        });
        match events.finish().map(|rest| document(&rest, is_wrapped)) {
            None => {}
            Some(Value::String(rest)) => self.rest = Some(rest),
            Some(whole) => self.chunks.push(whole),
        }
    }
}

/// The data of an event as lines of a stream.
fn data_lines(bytes: &mut Vec<u8>, data: &str) {
    for line in data.split('\n') {
        bytes.extend_from_slice(b"data: ");
        bytes.extend_from_slice(line.as_bytes());
        bytes.push(b'\n');
    }
}

/// Returns the text of a document: a text is itself.
fn content(document: &Value) -> String {
    match document {
        Value::String(text) => text.clone(),
        document => document.to_string(),
    }
}

/// A document as it is recorded, without the wrapper of Code Assist. What is not JSON, or is a
/// text in JSON, is the text as it came.
fn document(data: &[u8], is_wrapped: bool) -> Value {
    let text = || Value::String(String::from_utf8_lossy(data).into_owned());
    match json::read::<Value>(data) {
        Err(_) | Ok(Value::String(_)) => text(),
        Ok(mut value) if is_wrapped && value.get("error").is_none() => value
            .get_mut("response")
            .map(Value::take)
            .unwrap_or_default(),
        Ok(value) => value,
    }
}

/// Gets each answer of the API when it was read.
pub type Recorder = Box<dyn FnMut(RecordedAnswer) + Send>;

/// Gives the next answer in the API's place; an error where there is none.
pub type Player = Box<dyn FnMut(ApiMethod) -> Result<RecordedAnswer, ApiError> + Send>;

/// An answer that is being read, of the API or of a player.
pub(super) struct Answer<'a> {
    pub(super) status: u16,
    pub(super) retry_after: Option<String>,
    pub(super) content_type: Option<String>,
    body: Body<'a>,
    /// Bytes that were read, if they are recorded.
    kept: Option<Vec<u8>>,
    failure: Option<String>,
}

enum Body<'a> {
    Sent(net::Body<'a>),
    Played {
        bytes: Vec<u8>,
        at: usize,
        failure: Option<String>,
    },
}

impl<'a> Answer<'a> {
    pub(super) fn sent(response: net::Response<'a>, is_recorded: bool) -> Self {
        let header = |name| response.header(name).map(str::to_owned);
        Self {
            status: response.status,
            retry_after: header("retry-after"),
            content_type: header("content-type"),
            body: Body::Sent(response.body),
            kept: is_recorded.then(Vec::new),
            failure: None,
        }
    }

    /// # Errors
    ///
    /// Where no answer came.
    pub(super) fn played(recorded: &RecordedAnswer, is_recorded: bool) -> Result<Self, ApiError> {
        let Some(status) = recorded.status else {
            let why = recorded.failure.as_deref().unwrap_or("no answer came");
            return Err(ApiError::unreached(why));
        };
        Ok(Self {
            status,
            retry_after: recorded.retry_after.clone(),
            content_type: recorded.content_type.clone(),
            body: Body::Played {
                bytes: recorded.bytes(),
                at: 0,
                failure: recorded.failure.clone(),
            },
            kept: is_recorded.then(Vec::new),
            failure: None,
        })
    }

    /// Reads what is there; zero is the end.
    pub(super) fn read(&mut self, buffer: &mut [u8]) -> Result<usize, ApiError> {
        let read = match &mut self.body {
            Body::Sent(body) => body.read(buffer).map_err(ApiError::from),
            Body::Played { bytes, at, failure } => {
                let n = buffer.len().min(bytes.len() - *at);
                buffer[..n].copy_from_slice(&bytes[*at..*at + n]);
                *at += n;
                match failure {
                    Some(why) if n == 0 => Err(ApiError::unreached(why)),
                    _ => Ok(n),
                }
            }
        };
        match (&read, &mut self.kept) {
            (Ok(n), Some(kept)) => kept.extend_from_slice(&buffer[..*n]),
            (Err(e), Some(_)) => self.failure = Some(e.reason().to_owned()),
            _ => {}
        }
        read
    }

    /// Reads to the end, but no more than `limit` bytes; and whether there was more.
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

    /// Returns the record of an answer, without this credential.
    pub(super) fn recorded(
        self,
        method: ApiMethod,
        is_wrapped: bool,
        secret: &str,
    ) -> RecordedAnswer {
        let is_stream = |kind: &String| kind.starts_with("text/event-stream");
        let is_success = self.status == 200 && method == ApiMethod::StreamGenerateContent;
        let mut own = RecordedAnswer {
            retry_after: self.retry_after,
            content_type: self
                .content_type
                .filter(|kind| is_success && !is_stream(kind)),
            failure: self.failure.map(|why| without(&why, secret)),
            ..RecordedAnswer::new(method, self.status)
        };
        let kept = self.kept.unwrap_or_default();
        let is_told = secret.len() > NO_SECRET_BYTES
            && memchr::memmem::find(&kept, secret.as_bytes()).is_some();
        if is_told {
            let text = without(&String::from_utf8_lossy(&kept), secret);
            own.take_content(text.as_bytes(), is_wrapped);
        } else {
            own.take_content(&kept, is_wrapped);
        }
        own
    }
}

/// Returns the record of a request without an answer.
pub(super) fn no_answer(method: ApiMethod, error: &NetError, secret: &str) -> RecordedAnswer {
    RecordedAnswer {
        status: None,
        failure: Some(without(&error.to_string(), secret)),
        ..RecordedAnswer::new(method, 0)
    }
}

/// A text in which a credential does not show.
pub(super) fn without(text: &str, secret: &str) -> String {
    if secret.len() > NO_SECRET_BYTES {
        text.replace(secret, HIDDEN)
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::{ApiMethod, RecordedAnswer};
    use serde_json::{Value, json};

    fn stream(bytes: &str, is_wrapped: bool) -> RecordedAnswer {
        let mut own = RecordedAnswer::new(ApiMethod::StreamGenerateContent, 200);
        own.take_content(bytes.as_bytes(), is_wrapped);
        own
    }

    #[test]
    fn a_stream_that_is_played_is_the_one_that_was_recorded() {
        for (bytes, chunks, rest) in [
            (
                "data: {\"a\":1}\n\ndata: {\"b\":\ndata: 2}\r\n\r\n",
                json!([{"a": 1}, {"b": 2}]),
                None,
            ),
            (
                "data: {\"a\":1}\n\ndata: {\"b",
                json!([{"a": 1}]),
                Some("{\"b"),
            ),
            ("data: {\"a\":1}", json!([{"a": 1}]), None),
            (
                "data: {\"a\"\n\ndata: \"x\"\n\n",
                json!(["{\"a\"", "\"x\""]),
                None,
            ),
            ("data: [\ndata: x\n\n", json!(["[\nx"]), None),
            ("", json!([]), None),
        ] {
            let own = stream(bytes, false);
            assert_eq!(Value::from(own.chunks.clone()), chunks, "{bytes}");
            assert_eq!(own.rest.as_deref(), rest, "{bytes}");
            let played = String::from_utf8(own.bytes()).expect("UTF-8");
            assert_eq!(stream(&played, false), own, "{bytes}");
            let written = serde_json::to_string(&own).expect("JSON");
            assert_eq!(
                serde_json::from_str::<RecordedAnswer>(&written).expect("one"),
                own
            );
        }
    }

    #[test]
    fn the_wrapper_of_code_assist_is_not_recorded() {
        let own = stream(
            "data: {\"response\":{\"a\":1},\"traceId\":\"t\"}\n\ndata: {\"error\":{\"code\":500}}\n\n",
            true,
        );
        assert_eq!(
            own.chunks,
            [json!({"a": 1}), json!({"error": {"code": 500}})]
        );
    }
}
