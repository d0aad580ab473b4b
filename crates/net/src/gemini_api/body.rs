//! The body of a request, without a copy of the conversation.
//!
//! # How it works
//!
//! A history of megabytes goes out with every turn, and each of its messages is JSON already. So
//! the body is not put together: the serializer writes to [`Body`], which knows such a message by
//! its place in memory and notes only where it belongs. What is sent is what was written between
//! them, and they themselves, in turn. A message that is not known again is copied like all else.

use super::error::{ApiError, ApiErrorKind};
use super::messages::ModelRequest;
use serde::Serialize;
use serde_json::value::RawValue;
use std::io::{self, Write};

/// The body of a request.
#[derive(Debug, Default)]
pub(super) struct Body<'a> {
    /// The JSON of everything but the messages.
    own: Vec<u8>,
    /// The messages, and how much of the rest comes before each.
    messages: Vec<(usize, &'a [u8])>,
    /// Messages that were not written yet.
    expected: &'a [&'a RawValue],
}

impl<'a> Body<'a> {
    /// Writes a request, or what wraps it.
    pub(super) fn new(
        request: &'a impl ModelRequest,
        wrapped: &impl Serialize,
    ) -> Result<Self, ApiError> {
        let mut own = Self {
            expected: request.written(),
            ..Self::default()
        };
        match serde_json::to_writer(&mut own, wrapped) {
            Ok(()) => Ok(own),
            Err(e) => Err(ApiError::new(
                ApiErrorKind::BadRequest,
                format!("The request can't be written as JSON: {e}."),
            )),
        }
    }

    /// A body that is whole.
    pub(super) fn whole(own: Vec<u8>) -> Self {
        Self {
            own,
            ..Self::default()
        }
    }

    /// The pieces that follow each other.
    pub(super) fn pieces(&self) -> Vec<&[u8]> {
        let mut pieces = Vec::with_capacity(2 * self.messages.len() + 1);
        let mut done = 0;
        for (before, message) in &self.messages {
            pieces.extend([&self.own[done..*before], message]);
            done = *before;
        }
        pieces.push(&self.own[done..]);
        pieces
    }
}

impl Write for Body<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.expected.split_first() {
            Some((next, rest)) if std::ptr::eq(next.get().as_bytes(), bytes) => {
                self.messages.push((self.own.len(), next.get().as_bytes()));
                self.expected = rest;
            }
            _ => self.own.extend_from_slice(bytes),
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Body;
    use crate::gemini_api::messages::{BorrowedRequest, GenerateContentRequest};
    use gemini_tools_core::message::Content;
    use serde_json::value::to_raw_value;

    #[test]
    fn a_conversation_is_sent_as_if_it_were_written_anew_and_is_not_copied() {
        let contents = ["a", "b\n\"", ""].map(Content::user);
        let system = Content::user("s");
        let written: Vec<_> = contents
            .iter()
            .map(|c| to_raw_value(c).expect("JSON"))
            .collect();
        let request = BorrowedRequest {
            contents: written.iter().map(|message| &**message).collect(),
            system_instruction: Some(&system),
            ..BorrowedRequest::default()
        };
        let body = Body::new(&request, &request).expect("JSON");
        let same = GenerateContentRequest {
            contents: contents.to_vec(),
            system_instruction: Some(system.clone()),
            ..GenerateContentRequest::default()
        };
        let anew = serde_json::to_vec(&same).expect("JSON");
        assert_eq!(body.pieces().concat(), anew);
        assert_eq!(serde_json::to_vec(&request).expect("JSON"), anew);
        let kept: usize = written.iter().map(|message| message.get().len()).sum();
        assert_eq!(body.own.len() + kept, anew.len());
    }
}
