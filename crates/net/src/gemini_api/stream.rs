//! Responses out of a stream, as they come.

use super::client::parsed;
use super::error::{ApiError, ApiErrorKind};
use super::messages::GenerateContentResponse;
use super::sse::Events;
use gemini_tools_core::message::Part;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// Bytes that the whole of a streamed answer may have.
const MAX_ANSWER_BYTES: usize = gemini_tools_core::json::MAX_WITH_MEDIA_BYTES;

/// Time in which something must come that is more than comments and empty responses. A model may
/// think for minutes before it says anything.
const CONTENT_LIMIT: Duration = Duration::from_secs(300);

/// Reads the bytes of `streamGenerateContent?alt=sse`, in whatever pieces they come.
///
/// ```
/// # use gemini_tools_net::gemini_api::{ApiError, ResponseStream};
/// # use std::ops::ControlFlow;
/// # fn main() -> Result<(), ApiError> {
/// let mut stream = ResponseStream::new(false);
/// let mut said = String::new();
/// let body = b"data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"Hi\"}]},\"finishReason\":\"STOP\"}]}\n\n";
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
    /// True once a response said that the answer is complete.
    is_finished: bool,
    is_stopped: bool,
    bytes: usize,
    last_content: Instant,
    content_limit: Duration,
}

impl ResponseStream {
    /// Makes a reader at the beginning of a stream; `is_wrapped` for Code Assist, whose responses
    /// are in a `response` of their own.
    pub fn new(is_wrapped: bool) -> Self {
        Self {
            events: Events::default(),
            is_wrapped,
            is_finished: false,
            is_stopped: false,
            bytes: 0,
            last_content: Instant::now(),
            content_limit: CONTENT_LIMIT,
        }
    }

    /// Sets the time in which something must come that is more than comments and empty responses.
    #[must_use]
    pub fn with_content_limit(mut self, limit: Duration) -> Self {
        self.content_limit = limit;
        self
    }

    /// Takes the next bytes; `on_piece` gets each response that they complete, and may end the
    /// stream, after which it gets no more.
    ///
    /// # Errors
    ///
    /// Returns an error if a response can't be read or says an error, if the whole answer is too
    /// large, or if nothing has come for too long that says anything.
    pub fn push(
        &mut self,
        bytes: &[u8],
        on_piece: &mut dyn FnMut(GenerateContentResponse) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, ApiError> {
        self.bytes = self.bytes.saturating_add(bytes.len());
        if self.bytes > MAX_ANSWER_BYTES {
            return Err(ApiError::endless(&format!(
                "it has more than {MAX_ANSWER_BYTES} bytes"
            )));
        }
        for (_, data) in self.events.push(bytes)? {
            if self.is_stopped {
                break;
            }
            self.take(parsed(&data, self.is_wrapped)?, on_piece);
        }
        if !self.is_stopped && self.last_content.elapsed() > self.content_limit {
            return Err(ApiError::endless(&format!(
                "it has said nothing for {} s",
                self.content_limit.as_secs()
            )));
        }
        Ok(if self.is_stopped {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        })
    }

    /// Takes the end of the stream.
    ///
    /// # Errors
    ///
    /// [`ApiErrorKind::Network`] where it came before the model had finished.
    pub fn finish(
        mut self,
        on_piece: &mut dyn FnMut(GenerateContentResponse) -> ControlFlow<()>,
    ) -> Result<(), ApiError> {
        if self.is_stopped {
            return Ok(());
        }
        if let Some(rest) = self.events.finish() {
            // Half of a last piece is a cut, not nonsense.
            let piece = parsed(&rest, self.is_wrapped).map_err(|e| match e.kind {
                ApiErrorKind::BadResponse => ApiError::cut("it ends in the middle of a piece"),
                _ => e,
            })?;
            self.take(piece, on_piece);
        }
        if self.is_finished || self.is_stopped {
            Ok(())
        } else {
            Err(ApiError::cut("the model had not finished"))
        }
    }

    /// Hands on a response.
    fn take(
        &mut self,
        piece: GenerateContentResponse,
        on_piece: &mut dyn FnMut(GenerateContentResponse) -> ControlFlow<()>,
    ) {
        if has_content(&piece) {
            self.last_content = Instant::now();
        }
        self.is_finished |= is_last(&piece);
        self.is_stopped = on_piece(piece).is_break();
    }
}

/// Returns true for a response that says more than that the stream goes on.
fn has_content(piece: &GenerateContentResponse) -> bool {
    let is_empty = |part: &Part| {
        let rest = Part {
            text: None,
            thought: None,
            ..part.clone()
        };
        rest == Part::default() && part.text.as_deref().unwrap_or_default().is_empty()
    };
    is_last(piece) || !piece.parts().iter().all(is_empty)
}

fn is_last(piece: &GenerateContentResponse) -> bool {
    let feedback = piece.prompt_feedback.as_ref();
    piece.finish_reason().is_some() || feedback.is_some_and(|f| f.block_reason.is_some())
}
