//! A turn of a model, which is asked again if its answer can't be used.

use super::call::CallRequest;
use super::event::Event;
use super::loops::TextLoop;
use super::thought::ThoughtReader;
use gemini_tools_core::tool::Cancellation;
use gemini_tools_net::gemini_api::{
    ApiError, Attempt, Content, FinishReason, GeminiClient, GenerateContentResponse, ModelRequest,
    Part,
};
use std::cell::RefCell;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// Turns that are asked for anew where the model says nothing that can be used, as by Gemini
/// CLI.
const MAX_TRIES: u32 = 3;

/// Calls that a turn may have.
pub(super) const MAX_CALLS: usize = 1_000;

/// The first pause before the model is asked again.
const PAUSE: Duration = Duration::from_millis(500);

/// The answer of a model in one turn.
#[derive(Debug, Clone, Default)]
pub struct Turn {
    /// For the history: without thoughts, texts that follow each other as one.
    pub parts: Vec<Part>,
    /// The calls that it wants.
    pub calls: Vec<CallRequest>,
    /// The turn's text.
    pub text: String,
    /// The reason why it stopped.
    pub finish: Option<FinishReason>,
    /// The reason why there is no answer, where it was held back.
    pub refusal: Option<String>,
    /// The last piece, with what was used.
    pub last: Option<GenerateContentResponse>,
    /// Set if the text repeats itself, so that the rest was not read.
    pub is_loop: bool,
    /// Set if there were more calls than a turn may have, so that the rest was not read.
    pub has_too_many_calls: bool,
}

impl Turn {
    /// Returns the message for the history.
    pub fn content(&self) -> Content {
        Content {
            role: "model".to_owned(),
            parts: self.parts.clone(),
        }
    }

    /// Returns the reason to ask again, if the answer can't be used and the next may be better.
    fn retry_reason(&self) -> Option<&'static str> {
        if self.refusal.is_some() || self.is_loop {
            return None;
        }
        match &self.finish {
            Some(FinishReason::MalformedFunctionCall) => Some("it has made a malformed call"),
            Some(FinishReason::UnexpectedToolCall) => Some("it called a tool that was not offered"),
            _ if self.calls.is_empty() && self.text.trim().is_empty() => {
                Some("its answer is empty")
            }
            _ => None,
        }
    }

    fn take(
        &mut self,
        response: GenerateContentResponse,
        thoughts: &mut ThoughtReader,
        notify: &mut dyn FnMut(&Event<'_>),
    ) {
        for part in response.parts() {
            if part.thought == Some(true) {
                if let Some(piece) = &part.text {
                    if let Some(thought) = thoughts.push(piece) {
                        notify(&Event::Thought(&thought));
                    }
                    notify(&Event::ThoughtPiece(piece));
                }
                continue;
            }
            if *part != Part::default()
                && let Some(thought) = thoughts.finish()
            {
                notify(&Event::Thought(&thought));
            }
            if let Some(call) = &part.function_call {
                if self.calls.len() == MAX_CALLS {
                    self.has_too_many_calls = true;
                    return;
                }
                let id = match &call.id {
                    Some(id) if !id.is_empty() => id.clone(),
                    _ => generate_id(&call.name),
                };
                self.calls.push(CallRequest {
                    id,
                    name: call.name.clone(),
                    args: call.args.clone(),
                });
            }
            if let Some(text) = part.text.as_deref().filter(|text| !text.is_empty()) {
                self.text.push_str(text);
                notify(&Event::Text(text));
            }
            self.keep(part);
        }
        self.refusal = response.refusal().or(self.refusal.take());
        if let Some(finish) = response.finish_reason() {
            self.finish = Some(finish.clone());
        }
        // What was used may be told in any piece, and the last that tells it knows best.
        let before = self.last.take();
        let last = self.last.insert(response);
        if let Some(before) = before {
            last.usage_metadata = last.usage_metadata.take().or(before.usage_metadata);
            last.model_version = last.model_version.take().or(before.model_version);
        }
    }

    /// Adds a part to those for the history. An empty one would make the API refuse it.
    fn keep(&mut self, part: &Part) {
        let is_plain = |part: &Part| {
            *part
                == Part {
                    text: part.text.clone(),
                    ..Part::default()
                }
        };
        if *part == Part::default() || is_plain(part) && part.text.as_deref() == Some("") {
            return;
        }
        match self.parts.last_mut() {
            Some(last) if is_plain(part) && last.text.is_some() && is_plain(last) => {
                let text = last.text.get_or_insert_default();
                text.push_str(part.text.as_deref().unwrap_or_default());
            }
            _ => self.parts.push(part.clone()),
        }
    }
}

/// Returns an id for a call that the model has given none.
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
pub fn ask(
    client: &mut GeminiClient,
    model: &str,
    request: &impl ModelRequest,
    cancel: &Cancellation,
    notify: &mut dyn FnMut(&Event<'_>),
) -> Result<Turn, ApiError> {
    let mut tries = 0;
    loop {
        tries += 1;
        let turn = ask_once(client, model, request, cancel, notify)?;
        let Some(reason) = turn.retry_reason().filter(|_| tries < MAX_TRIES) else {
            return Ok(turn);
        };
        notify(&Event::Retry(reason));
        // A model that is played is as good at once.
        let pause = if client.is_played() {
            Duration::ZERO
        } else {
            PAUSE
        };
        let until = Instant::now() + pause * tries;
        while Instant::now() < until && cancel.interruption().is_none() {
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Asks for one answer.
fn ask_once(
    client: &mut GeminiClient,
    model: &str,
    request: &impl ModelRequest,
    cancel: &Cancellation,
    notify: &mut dyn FnMut(&Event<'_>),
) -> Result<Turn, ApiError> {
    // Pieces and attempts have one receiver.
    let notify = RefCell::new(notify);
    let tell = |event: &Event<'_>| (notify.borrow_mut())(event);
    let started = Instant::now();
    let mut turn = Turn::default();
    let mut loops = TextLoop::default();
    let mut thoughts = ThoughtReader::default();
    let mut piece = |response| {
        let before = turn.text.len();
        turn.take(response, &mut thoughts, &mut |event| tell(event));
        turn.is_loop |= loops.grows(&turn.text[before..]);
        if turn.is_loop || turn.has_too_many_calls {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    };
    let mut attempted = |attempt: &Attempt<'_>| {
        tell(&Event::ModelCall(&attempt.call));
        if let Some(error) = attempt.error {
            let wait = attempt.wait;
            tell(&Event::AttemptFailed { error, wait });
        }
    };
    let asked = client.stream_telling(model, request, cancel, &mut piece, &mut attempted);
    let duration = started.elapsed();
    if let Some(thought) = thoughts.finish() {
        tell(&Event::Thought(&thought));
    }
    if let Err(error) = asked {
        tell(&Event::ApiFailed {
            error: &error,
            duration,
        });
        return Err(error);
    }
    tell(&Event::Response {
        last: turn.last.as_ref(),
        duration,
    });
    Ok(turn)
}
