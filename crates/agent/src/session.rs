//! The agent's loop: ask the model, run its calls, send the results back, until it makes no more
//! calls.

use super::call::{CallOutcome, CallRequest, ToolCall};
use super::event::{Observer, SessionError, SessionErrorKind, SessionEvent};
use super::loops::CallLoop;
use super::model_script::{Recorder, ScriptPlayer};
use super::pair::{DiscoveredTool, Pair};
use super::record::{Line, OpenCall, SessionRecord, StoredSession};
use super::scheduler::{FinishedCalls, Runner, Scheduler};
use super::stats::Stats;
use super::turn::{self, Turn};
use gemini_tools_core::tool::{Cancellation, ErrorKind, Interruption};
use gemini_tools_net::gemini_api::{
    ApiError, ApiErrorKind, Content, GeminiClient, GenerateContentRequest, Part, RequestTool,
};
use gemini_tools_policy::approval::Gate;
use gemini_tools_policy::approval::terminal::TerminalPrompt;
use serde_json::Value;
use std::sync::Mutex;
use std::time::Instant;

/// The configuration of a session.
#[derive(Debug, Clone)]
pub struct SessionConfig {
    /// The model that is asked.
    pub model: String,
    /// The system prompt.
    pub system: String,
    /// Messages that precede the history in each request: the environment, and the model's
    /// acknowledgement.
    pub context: Vec<Content>,
    /// The generation parameters, in the API's form.
    pub generation: Value,
    /// The maximum number of turns; `None` for no limit.
    pub max_turns: Option<u32>,
    /// Set if calls of built-in tools are to have descriptions even if nobody is asked about them.
    pub describes: bool,
}

/// A running session.
#[derive(Debug)]
pub struct AgentSession<'a> {
    pub(super) parts: Parts<'a>,
    pub(super) config: SessionConfig,
    id: String,
    tools: Vec<RequestTool>,
    pub(super) conversation: Vec<Content>,
    open: Vec<OpenCall>,
    prompts: usize,
    prompt_id: String,
    loops: CallLoop,
    pub(super) last_prompt_tokens: u64,
    /// Compression is not tried before a prompt has this many tokens. Each attempt raises the
    /// number, so that an attempt that did not help is not repeated in every turn. A successful
    /// attempt resets it.
    pub(super) compress_from: u64,
}

/// What a session needs from its caller.
#[derive(Debug)]
pub struct Parts<'a> {
    /// The client that asks the model.
    pub client: GeminiClient,
    /// The tools that the model is offered, and the commands that run them.
    pub pair: &'a Pair,
    /// Decides which calls may run.
    pub gate: Gate,
    /// Asks the user about calls; `None` if there is no terminal to ask on.
    pub asker: Option<TerminalPrompt>,
    /// Receives the events of the session.
    pub listeners: Listeners,
    /// The script that replaces the model; `client` then plays it.
    pub player: Option<ScriptPlayer>,
    /// Cancels the whole session.
    pub cancel: Cancellation,
}

/// Where a session's events go.
#[derive(Debug, Default)]
pub struct Listeners {
    /// The observers that show or record the session.
    pub observers: Vec<Box<dyn Observer>>,
    /// The file of the session.
    pub record: Option<SessionRecord>,
    /// Records the run as a script, if asked for.
    pub recorder: Option<Recorder>,
    /// The statistics so far.
    pub stats: Stats,
}

impl Listeners {
    pub(super) fn take(&mut self, event: &SessionEvent<'_>) {
        match event {
            SessionEvent::Request { turn, .. } => self.stats.turns = *turn,
            SessionEvent::ModelCall(call) => self.stats.count_model_call(call),
            SessionEvent::Call(call) => {
                if call.outcome().is_some() {
                    self.stats.count_call(call);
                }
                if let (Some(record), Some(outcome)) = (&mut self.record, call.answer()) {
                    let place = call.place;
                    record.write(&Line::Done { place, outcome });
                }
            }
            _ => {}
        }
        if let Some(recorder) = &mut self.recorder {
            recorder.take(event);
        }
        for observer in &mut self.observers {
            observer.take(event);
        }
    }
}

fn is_prompt(content: &Content) -> bool {
    let last = content.parts.last();
    content.role == "user" && last.is_some_and(|part| part.function_response.is_none())
}

impl<'a> AgentSession<'a> {
    /// Creates a session that continues `stored`; an empty `stored` makes it a new session.
    pub fn new(parts: Parts<'a>, config: SessionConfig, stored: StoredSession) -> Self {
        let prompts = stored.contents.iter().filter(|c| is_prompt(c)).count();
        let declarations = parts.pair.tools().iter().map(DiscoveredTool::to_json);
        let declarations: Vec<_> = declarations.collect();
        let tools = if declarations.is_empty() {
            Vec::new()
        } else {
            vec![RequestTool::FunctionDeclarations(declarations)]
        };
        Self {
            tools,
            parts,
            config,
            id: stored.id,
            conversation: stored.contents,
            open: stored.open,
            prompts,
            prompt_id: String::new(),
            loops: CallLoop::default(),
            last_prompt_tokens: stored.prompt_tokens,
            compress_from: 0,
        }
    }

    /// Returns true if the session can continue without a new prompt.
    pub fn is_unfinished(&self) -> bool {
        let last = self.conversation.last();
        !self.open.is_empty() || last.is_some_and(|last| last.role != "model")
    }

    /// Returns the statistics so far.
    pub fn stats(&self) -> &Stats {
        &self.parts.listeners.stats
    }

    /// Runs until the model makes no more calls, and returns the text of its last turn. `text` is
    /// what the user has typed, and `prompt` the message made of it, with the contents of mentioned
    /// files. Both are empty to continue an interrupted session.
    ///
    /// # Errors
    ///
    /// Returns the reason why the session ended early.
    pub fn run(&mut self, text: &str, prompt: Vec<Part>) -> Result<String, SessionError> {
        let started = Instant::now();
        self.parts.listeners.take(&SessionEvent::Started {
            session: &self.id,
            model: &self.config.model,
        });
        self.begin_prompt(text);
        let done = self.go_on(prompt);
        let player = self.parts.player.as_ref();
        let at_end = player.map_or(Ok(()), ScriptPlayer::finish);
        let recorded = self.record_turns(&[]);
        let ended = done.and_then(|text| at_end.and(recorded).map(|()| text));
        let stats = &mut self.parts.listeners.stats;
        stats.duration = started.elapsed();
        let stats = stats.clone();
        self.notify(&SessionEvent::Ended {
            error: ended.as_ref().err(),
            stats: &stats,
        });
        ended
    }

    fn begin_prompt(&mut self, text: &str) {
        // A session that is resumed without a new prompt keeps the number of its last prompt.
        self.prompts = (self.prompts + usize::from(!text.is_empty())).max(1);
        self.prompt_id = format!("{}########{}", self.id, self.prompts);
        self.parts.client.set_prompt(&self.id, &self.prompt_id);
        if !text.is_empty() {
            let id = &self.prompt_id;
            let event = SessionEvent::Prompt { id, text };
            self.parts.listeners.take(&event);
        }
    }

    fn go_on(&mut self, prompt: Vec<Part>) -> Result<String, SessionError> {
        let open = std::mem::take(&mut self.open).into_iter();
        let mut message: Vec<Part> = open.flat_map(answer_of_open_call).collect();
        message.extend(prompt);
        if !message.is_empty() {
            self.keep(Content::new("user", message));
        }
        loop {
            self.check()?;
            let turn = self.ask()?;
            if !turn.parts.is_empty() {
                self.keep(Content::new("model", turn.parts.clone()));
            }
            if let Some(why) = &turn.refusal {
                return Err(SessionError::failed(format!(
                    "The model gave no answer: {why}. Rephrase the prompt."
                )));
            }
            if turn.is_loop {
                let what = "The model repeats itself; it was stopped.";
                return Err(SessionError::new(SessionErrorKind::Loop, what));
            }
            if turn.calls.is_empty() {
                return self.end(turn);
            }
            let repeated = turn.calls.iter().find(|call| self.loops.grows(call));
            if let Some(call) = repeated {
                let what = format!("The model repeats the same call ({call}); it was stopped.");
                return Err(SessionError::new(SessionErrorKind::Loop, what));
            }
            self.write(&Line::Calls {
                requests: turn.calls.clone(),
            });
            self.check_record()?;
            let done = self.schedule(turn.calls);
            self.answer(&done)?;
            let repeated = done
                .calls
                .iter()
                .find(|call| self.loops.grows_by_answer(call));
            if let Some(ToolCall { request, .. }) = repeated {
                let what = format!(
                    "The model repeats the same calls and gets the same answers (the last is \
                     {request}); it was stopped."
                );
                return Err(SessionError::new(SessionErrorKind::Loop, what));
            }
        }
    }

    fn end(&mut self, turn: Turn) -> Result<String, SessionError> {
        match turn.finish.as_deref() {
            Some(reason) if turn.text.trim().is_empty() => {
                return Err(SessionError::failed(format!(
                    "The model gave no usable answer ({reason}), several times. Try again, \
                     or another model."
                )));
            }
            Some("STOP") | None => {}
            Some(reason) => {
                let why = match reason {
                    "MAX_TOKENS" => "it has reached the model's limit of tokens",
                    other => &format!("the API gives {other} as the reason"),
                };
                self.notify(&SessionEvent::Warning(&format!(
                    "The answer is cut off: {why}."
                )));
            }
        }
        self.check_record()?;
        Ok(turn.text)
    }

    fn answer(&mut self, done: &FinishedCalls) -> Result<(), SessionError> {
        self.record_turns(&done.calls)?;
        let outcomes = done.calls.iter().filter_map(ToolCall::outcome);
        let mut kinds = outcomes.clone().map(CallOutcome::kind);
        let is_full = kinds.any(|kind| kind == Some(ErrorKind::NoSpaceLeft));
        let parts = outcomes.flat_map(|outcome| outcome.parts.clone()).collect();
        self.keep(Content::new("user", parts));
        if is_full {
            return Err(SessionError::failed(
                "A tool has found no space left on the disk; nothing can go on like this.",
            ));
        }
        if done.is_stopped {
            return Err(self.interrupted());
        }
        self.check()?;
        let player = self.parts.player.as_ref();
        player.map_or(Ok(()), |player| player.check(&done.calls))
    }

    fn record_turns(&mut self, answered: &[ToolCall]) -> Result<(), SessionError> {
        let Some(recorder) = &mut self.parts.listeners.recorder else {
            return Ok(());
        };
        let hide = |text: &str| self.parts.client.without_credential(text);
        let written = recorder.write_turns(answered, &hide);
        written.map_err(SessionError::failed)
    }

    fn ask(&mut self) -> Result<Turn, SessionError> {
        let turn = self.stats().turns + 1;
        if let Some(max) = self.config.max_turns.filter(|max| turn > *max) {
            let what = format!(
                "The session has reached its limit of {max} turns before the model was done. \
                 --max-turns raises it."
            );
            return Err(SessionError::new(SessionErrorKind::TurnLimit, what));
        }
        self.compress(false)?;
        let mut asked = self.request(turn);
        if asked.as_ref().is_err_and(ApiError::is_too_long) && self.compress(true)? {
            asked = self.request(turn);
        }
        let turn = asked.map_err(|e| self.api_failed(&e))?;
        if let Some(usage) = &turn.usage {
            self.last_prompt_tokens = usage.prompt;
        }
        Ok(turn)
    }

    fn request(&mut self, turn: u32) -> Result<Turn, ApiError> {
        let prompt_id = &self.prompt_id;
        let event = SessionEvent::Request { prompt_id, turn };
        self.parts.listeners.take(&event);
        let context = self.config.context.iter();
        let contents = context.chain(&self.conversation).cloned();
        let request = GenerateContentRequest {
            contents: contents.collect(),
            system_instruction: Some(Content::user(self.config.system.as_str())),
            tools: self.tools.clone(),
            generation_config: Some(self.config.generation.clone()),
        };
        turn::ask(
            &mut self.parts.client,
            &self.config.model,
            &request,
            &self.parts.cancel,
            &mut |event| self.parts.listeners.take(event),
        )
    }

    fn schedule(&mut self, requests: Vec<CallRequest>) -> FinishedCalls {
        let parts = &mut self.parts;
        Scheduler {
            runner: Runner {
                pair: parts.pair,
                notify: &Mutex::new(&mut |event: &SessionEvent<'_>| parts.listeners.take(event)),
                cancel: &parts.cancel,
                by_annotations: parts.gate.heeds_annotations(),
            },
            gate: &parts.gate,
            asker: &mut parts.asker,
            describes: self.config.describes,
        }
        .run(requests)
    }

    fn keep(&mut self, content: Content) {
        // The API reports how many tokens a prompt has together with the model's answer to it.
        let prompt_tokens = (content.role == "model").then_some(self.last_prompt_tokens);
        self.write(&Line::Content {
            content: content.clone(),
            prompt_tokens,
        });
        self.conversation.push(content);
    }

    pub(super) fn write(&mut self, line: &Line) {
        if let Some(record) = &mut self.parts.listeners.record {
            record.write(line);
        }
    }

    pub(super) fn notify(&mut self, event: &SessionEvent<'_>) {
        self.parts.listeners.take(event);
    }

    fn check(&mut self) -> Result<(), SessionError> {
        self.check_record()?;
        let why = self.parts.cancel.interruption();
        why.map_or(Ok(()), |why| Err(why.into()))
    }

    fn check_record(&mut self) -> Result<(), SessionError> {
        let record = self.parts.listeners.record.as_mut();
        let checked = record.map_or(Ok(()), SessionRecord::check);
        checked.map_err(SessionError::failed)
    }

    fn interrupted(&self) -> SessionError {
        let why = self.parts.cancel.interruption();
        why.unwrap_or(Interruption::Cancelled(0)).into()
    }

    pub(super) fn api_failed(&self, error: &ApiError) -> SessionError {
        match error.kind {
            ApiErrorKind::Cancelled | ApiErrorKind::OutOfTime => self.interrupted(),
            ApiErrorKind::NotRecorded => {
                SessionError::new(SessionErrorKind::ScriptDiffers, error.to_string())
            }
            _ => SessionError::failed(error.to_string()),
        }
    }
}

/// Returns the answer to a call whose result was not yet in the history when the session was
/// interrupted: the recorded outcome if the call had ended. Otherwise the answer is an error that
/// tells the model to look whether the call has had an effect. The call is not repeated, because it
/// may already have taken effect.
fn answer_of_open_call(call: OpenCall) -> Vec<Part> {
    let outcome = call.outcome.unwrap_or_else(|| {
        CallOutcome::failure(
            &call.request,
            ErrorKind::Cancelled,
            "The session was broken off before this call was answered, and it is not known \
             whether it has had an effect. It was not made again: look first.",
        )
    });
    outcome.parts
}
