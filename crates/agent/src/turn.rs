//! Asks the model for one turn, and again if its answer is unusable.

use super::call::CallRequest;
use super::event::SessionEvent;
use super::loops::TextLoop;
use super::thought::Thought;
use gemini_tools_core::tool::{Cancellation, TokenCounts};
use gemini_tools_net::gemini_api::{
    ApiError, Attempt, GeminiClient, GenerateContentRequest, GenerateContentResponse, Part,
    unique_id,
};
use std::cell::RefCell;
use std::ops::ControlFlow;
use std::time::Instant;

/// How often the model is asked in one turn if its answers are empty or malformed. The value is
/// Gemini CLI's.
const MAX_TRIES: u32 = 3;

const MAX_CALLS: usize = 1_000;

/// The model's answer in one turn.
#[derive(Debug, Clone, Default)]
pub struct Turn {
    /// The parts for the history: thoughts are omitted, and consecutive texts joined.
    pub parts: Vec<Part>,
    /// The requested calls.
    pub calls: Vec<CallRequest>,
    /// The turn's text.
    pub text: String,
    /// The reason why the model stopped, or why the prompt was blocked.
    pub finish: Option<String>,
    /// Why the answer was withheld, if it was.
    pub refusal: Option<String>,
    /// The tokens of the request and of the answer.
    pub usage: Option<TokenCounts>,
    /// Set if the text repeats itself, or if there are calls without end. The rest was not read.
    pub is_loop: bool,
}

impl Turn {
    /// Returns why the answer is unusable, if asking again may help. A refusal or a loop would only
    /// repeat itself.
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
                if thought != Thought::default() {
                    notify(&SessionEvent::Thought(&thought));
                }
                continue;
            }
            if let Some(call) = &part.function_call {
                let id = call.id.clone().filter(|id| !id.is_empty());
                self.calls.push(CallRequest {
                    id: id.unwrap_or_else(|| format!("{}-{}", call.name, unique_id())),
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
        let finish = piece.finish_reason().or(piece.block_reason());
        self.finish = finish.map(str::to_owned).or(self.finish.take());
        // Any piece may report token counts; the last report is the complete one.
        self.usage = piece.usage_metadata.or(self.usage.take());
    }

    /// Appends a part to the history. Empty parts are skipped, because the API would refuse the
    /// next request; consecutive texts are joined.
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

pub(super) fn ask(
    client: &mut GeminiClient,
    model: &str,
    request: &GenerateContentRequest,
    cancel: &Cancellation,
    notify: &mut dyn FnMut(&SessionEvent<'_>),
) -> Result<Turn, ApiError> {
    // Both closures below need `notify`.
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
        turn.is_loop |= loops.grows(&turn.text[before..]) || turn.calls.len() > MAX_CALLS;
        if turn.is_loop {
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
