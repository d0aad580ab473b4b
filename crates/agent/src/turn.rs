//! A turn of a model, which is asked again if its answer can't be used.

use super::call::CallRequest;
use super::event::SessionEvent;
use super::loops::TextLoop;
use super::thought::Thought;
use gemini_tools_core::tool::{Cancellation, TokenCounts};
use gemini_tools_net::gemini_api::{
    ApiError, Attempt, GeminiClient, GenerateContentRequest, GenerateContentResponse, Part,
};
use std::cell::RefCell;
use std::ops::ControlFlow;
use std::time::Instant;

/// Maximum times that a turn is asked for while the model says nothing that can be used, as by
/// Gemini CLI.
const MAX_TRIES: u32 = 3;

pub(super) const MAX_CALLS: usize = 1_000;

/// The answer of a model in one turn.
#[derive(Debug, Clone, Default)]
pub struct Turn {
    /// For the history: without thoughts, texts that follow each other as one.
    pub parts: Vec<Part>,
    /// The calls that it wants.
    pub calls: Vec<CallRequest>,
    /// The turn's text.
    pub text: String,
    /// The reason why it stopped, or why the prompt was blocked.
    pub finish: Option<String>,
    /// The reason why there is no answer, where it was held back.
    pub refusal: Option<String>,
    /// The tokens of the request and of the answer.
    pub usage: Option<TokenCounts>,
    /// Set if the text repeats itself, so that the rest was not read.
    pub is_loop: bool,
    /// Set if there were more calls than a turn may have, so that the rest was not read.
    pub has_too_many_calls: bool,
}

impl Turn {
    /// Returns the reason to ask again, if the answer can't be used and the next may be better.
    fn retry_reason(&self) -> Option<&'static str> {
        if self.refusal.is_some() || self.is_loop {
            return None;
        }
        match self.finish.as_deref() {
            Some("MALFORMED_FUNCTION_CALL") => Some("it has made a malformed call"),
            Some("UNEXPECTED_TOOL_CALL") => Some("it called a tool that was not offered"),
            _ if self.calls.is_empty() && self.text.trim().is_empty() => {
                Some("its answer is empty")
            }
            _ => None,
        }
    }

    fn add(&mut self, piece: &GenerateContentResponse, notify: &dyn Fn(&SessionEvent<'_>)) {
        for part in piece.parts() {
            if part.thought == Some(true) {
                let thought = Thought::parse(part.text.as_deref().unwrap_or_default());
                if !thought.is_empty() {
                    notify(&SessionEvent::Thought(&thought));
                }
                continue;
            }
            if let Some(call) = &part.function_call {
                if self.calls.len() == MAX_CALLS {
                    self.has_too_many_calls = true;
                    return;
                }
                let id = call.id.clone().filter(|id| !id.is_empty());
                self.calls.push(CallRequest {
                    id: id.unwrap_or_else(|| generate_id(&call.name)),
                    name: call.name.clone(),
                    args: call.args.clone(),
                });
            }
            if let Some(text) = part.text.as_deref().filter(|text| !text.is_empty()) {
                self.text.push_str(text);
                notify(&SessionEvent::Text(text));
            }
            self.keep(part);
        }
        self.refusal = piece.refusal().or(self.refusal.take());
        let feedback = piece.prompt_feedback.as_ref();
        let blocked = || feedback.and_then(|feedback| feedback.block_reason.clone());
        let finish = piece.finish_reason().map(str::to_owned);
        self.finish = finish.or_else(blocked).or(self.finish.take());
        // The tokens may be told in any piece, and the last that tells them knows best.
        self.usage = piece.usage_metadata.or(self.usage.take());
    }

    /// Adds a part to those for the history. An empty one would make the API refuse it.
    fn keep(&mut self, part: &Part) {
        let is_plain = |part: &Part| {
            let text = part.text.as_deref();
            text.is_some_and(|text| *part == Part::text(text))
        };
        if *part == Part::default() || *part == Part::text("") {
            return;
        }
        match (self.parts.last_mut(), &part.text) {
            (Some(last), Some(more)) if is_plain(part) && is_plain(last) => {
                last.text.get_or_insert_default().push_str(more);
            }
            _ => self.parts.push(part.clone()),
        }
    }
}

fn generate_id(name: &str) -> String {
    use std::hash::{BuildHasher, RandomState};
    let number = RandomState::new().hash_one(name);
    format!("{name}-{number:016x}")
}

/// Asks until there is a turn that can be used, or trying makes no sense any more.
///
/// # Errors
///
/// Returns the error of the API.
pub(super) fn ask(
    client: &mut GeminiClient,
    model: &str,
    request: &GenerateContentRequest,
    cancel: &Cancellation,
    notify: &mut dyn FnMut(&SessionEvent<'_>),
) -> Result<Turn, ApiError> {
    // Pieces and attempts have one receiver.
    let notify = RefCell::new(notify);
    let notify = |event: &SessionEvent<'_>| (notify.borrow_mut())(event);
    let mut tries = 0;
    loop {
        tries += 1;
        let turn = ask_once(client, model, request, cancel, &notify)?;
        match turn.retry_reason().filter(|_| tries < MAX_TRIES) {
            Some(reason) => notify(&SessionEvent::Retry(reason)),
            None => return Ok(turn),
        }
    }
}

fn ask_once(
    client: &mut GeminiClient,
    model: &str,
    request: &GenerateContentRequest,
    cancel: &Cancellation,
    notify: &dyn Fn(&SessionEvent<'_>),
) -> Result<Turn, ApiError> {
    let started = Instant::now();
    let mut turn = Turn::default();
    let mut loops = TextLoop::default();
    let mut on_piece = |piece: GenerateContentResponse| {
        let before = turn.text.len();
        turn.add(&piece, notify);
        turn.is_loop |= loops.grows(&turn.text[before..]);
        if turn.is_loop || turn.has_too_many_calls {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    };
    let mut on_attempt = |attempt: &Attempt<'_>| {
        notify(&SessionEvent::ModelCall(&attempt.call));
        if let Some(error) = attempt.error {
            let wait = attempt.wait;
            notify(&SessionEvent::AttemptFailed { error, wait });
        }
    };
    client.stream(model, request, cancel, &mut on_piece, &mut on_attempt)?;
    notify(&SessionEvent::Response {
        turn: &turn,
        duration: started.elapsed(),
    });
    Ok(turn)
}
