//! Parses responses out of a stream of server-sent events as they arrive.

use super::client::parsed;
use super::error::{ApiError, ApiErrorKind};
use super::messages::GenerateContentResponse;
use super::sse::Events;
use gemini_tools_core::json::MAX_WITH_MEDIA_BYTES;
use gemini_tools_core::message::Part;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// The stream is aborted if no content arrives for this long. Comments and empty responses don't
/// count, or a server could keep the call alive for ever. A model may think for minutes before it
/// says anything.
const CONTENT_LIMIT: Duration = Duration::from_secs(300);

/// Parses the body of `streamGenerateContent?alt=sse`, which may be fed in pieces of any size.
///
/// ```
/// # use gemini_tools_net::gemini_api::{ApiError, ResponseStream};
/// # use std::ops::ControlFlow;
/// # fn main() -> Result<(), ApiError> {
/// let mut stream = ResponseStream::new(false);
/// let mut said = String::new();
/// let body = b"data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"Hi\"}]},\
///     \"finishReason\":\"STOP\"}]}\n\n";
/// for half in body.chunks(40) {
///     let _ = stream.push(half, &mut |response| {
///         said.push_str(&response.text());
///         ControlFlow::Continue(())
///     })?;
/// }
/// stream.finish(&mut |_| ControlFlow::Continue(()))?;
/// assert_eq!(said, "Hi");
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct ResponseStream {
    events: Events,
    is_wrapped: bool,
    /// Set once a response has a finish reason. A stream that ends without one was cut off.
    is_finished: bool,
    bytes: usize,
    last_content: Instant,
}

impl ResponseStream {
    /// Creates a parser. `is_wrapped` is set for Code Assist, which puts each response into a field
    /// `response`.
    pub fn new(is_wrapped: bool) -> Self {
        Self {
            events: Events::default(),
            is_wrapped,
            is_finished: false,
            bytes: 0,
            last_content: Instant::now(),
        }
    }

    /// Parses the next bytes, and passes the responses that they complete to `on_piece`. If
    /// `on_piece` breaks, the stream has ended and nothing must be pushed any more.
    ///
    /// # Errors
    ///
    /// Returns an error if a response can't be parsed or is an error, if the whole answer is too
    /// large, or if no content has arrived for too long.
    pub fn push(
        &mut self,
        bytes: &[u8],
        on_piece: &mut dyn FnMut(GenerateContentResponse) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, ApiError> {
        self.bytes = self.bytes.saturating_add(bytes.len());
        if self.bytes > MAX_WITH_MEDIA_BYTES {
            return Err(ApiError::endless(&format!(
                "it has more than {MAX_WITH_MEDIA_BYTES} bytes"
            )));
        }
        let events = self.events.push(bytes);
        let events = events.map_err(|e| ApiError::endless(&e.to_string()))?;
        for (_, data) in events {
            let piece = parsed(&data, self.is_wrapped)?;
            if self.take(piece, on_piece).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        if self.last_content.elapsed() > CONTENT_LIMIT {
            return Err(ApiError::endless(&format!(
                "it has said nothing for {} s",
                CONTENT_LIMIT.as_secs()
            )));
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Ends the stream.
    ///
    /// # Errors
    ///
    /// Returns [`ApiErrorKind::Network`] if the stream ended before the model had finished.
    pub fn finish(
        mut self,
        on_piece: &mut dyn FnMut(GenerateContentResponse) -> ControlFlow<()>,
    ) -> Result<(), ApiError> {
        if let Some(rest) = self.events.finish() {
            // An incomplete last piece means that the stream was cut off, not that the API sent
            // garbage.
            let piece = parsed(&rest, self.is_wrapped).map_err(|e| match e.kind {
                ApiErrorKind::BadResponse => ApiError::cut("it ends in the middle of a piece"),
                _ => e,
            })?;
            if self.take(piece, on_piece).is_break() {
                return Ok(());
            }
        }
        if !self.is_finished {
            return Err(ApiError::cut("the model had not finished"));
        }
        Ok(())
    }

    pub(super) fn is_finished(&self) -> bool {
        self.is_finished
    }

    fn take(
        &mut self,
        piece: GenerateContentResponse,
        on_piece: &mut dyn FnMut(GenerateContentResponse) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        if has_content(&piece, true) {
            self.last_content = Instant::now();
        }
        self.is_finished |= is_last(&piece);
        on_piece(piece)
    }
}

/// Returns true if a response ends the answer or holds a part of it; `with_thoughts` says whether a
/// thought counts as one.
pub(super) fn has_content(piece: &GenerateContentResponse, with_thoughts: bool) -> bool {
    let counts = |part: &Part| with_thoughts || part.thought != Some(true);
    let mut parts = piece.parts().iter();
    is_last(piece) || parts.any(|part| counts(part) && !is_empty(part))
}

fn is_empty(part: &Part) -> bool {
    let rest = Part {
        text: None,
        thought: None,
        ..part.clone()
    };
    rest == Part::default() && part.text.as_deref().unwrap_or_default().is_empty()
}

fn is_last(piece: &GenerateContentResponse) -> bool {
    piece.finish_reason().is_some() || piece.block_reason().is_some()
}

#[cfg(test)]
mod tests {
    use super::{CONTENT_LIMIT, ResponseStream};
    use std::ops::ControlFlow;
    use std::time::Instant;

    #[test]
    fn a_stream_that_says_nothing_for_too_long_is_given_up() {
        let long_ago = Instant::now().checked_sub(CONTENT_LIMIT * 2);
        for nothing in [
            ": still there\n\n",
            "data: {}\n\n",
            "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"\"}]}}]}\n\n",
        ] {
            let mut stream = ResponseStream::new(false);
            stream.last_content = long_ago.expect("a time");
            let pushed = stream.push(nothing.as_bytes(), &mut |_| ControlFlow::Continue(()));
            let error = pushed.expect_err("no end").to_string();
            assert!(error.contains("said nothing"), "{error}");
        }
    }
}
