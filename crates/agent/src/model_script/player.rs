//! Plays a script in the place of a model, and checks the answers of tools against it.

use super::places::ScriptPlaces;
use super::{Call, ModelScript, Turn};
use crate::call::ToolCall;
use crate::event::{SessionError, SessionErrorKind};
use gemini_tools_core::text::{counted, excerpt};
use gemini_tools_net::gemini_api::{ApiError, ApiMethod, GeminiClient, PlayedAnswer};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

const SHOWN_CHARS: usize = 400;

/// A script that is being played. Clones share the position.
#[derive(Debug, Clone)]
pub struct ScriptPlayer(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    name: String,
    left: VecDeque<Turn>,
    played: usize,
    calls: Vec<Call>,
    calls_sent: usize,
    met: usize,
    places: ScriptPlaces,
    checks: bool,
}

impl ScriptPlayer {
    /// Starts a script. Without `checks`, its expectations are ignored.
    pub fn new(script: ModelScript, places: ScriptPlaces, checks: bool) -> Self {
        Self(Arc::new(Mutex::new(State {
            name: script.name,
            left: script.turns.into(),
            played: 0,
            calls: Vec::new(),
            calls_sent: 0,
            met: 0,
            places,
            checks,
        })))
    }

    /// Returns a client whose requests are answered from the script.
    pub fn client(&self) -> GeminiClient {
        let own = self.clone();
        GeminiClient::played(Box::new(move |method| own.state().next(method)))
    }

    /// Compares the results of calls with the script's expectations.
    ///
    /// # Errors
    ///
    /// Returns an error that names each call whose result differs.
    pub fn check(&self, calls: &[ToolCall]) -> Result<(), SessionError> {
        let mut state = self.state();
        if !state.checks {
            return Ok(());
        }
        let first = state.calls_sent - state.calls.len() + 1;
        let mut mismatches = Vec::new();
        let mut met = 0;
        for (number, (call, scripted)) in calls.iter().zip(&state.calls).enumerate() {
            let Some(expect) = &scripted.expect else {
                continue;
            };
            match expect.mismatch(call, &state.places) {
                None => met += 1,
                Some(how) => {
                    let call = call.request.to_string();
                    let shown = excerpt(&call, SHOWN_CHARS);
                    mismatches.push(format!("call {}, {shown}:{how}", first + number));
                }
            }
        }
        state.met += met;
        if mismatches.is_empty() {
            return Ok(());
        }
        Err(differs(format!(
            "The run differs from the model script {} in {}",
            state.name,
            mismatches.join("\n\nand in ")
        )))
    }

    /// Checks, at the end of the run, that all turns were played.
    ///
    /// # Errors
    ///
    /// Returns an error if turns are left.
    pub fn finish(&self) -> Result<(), SessionError> {
        let state = self.state();
        let (left, played) = (state.left.len(), state.played);
        if left == 0 {
            return Ok(());
        }
        let were = if left == 1 { "was" } else { "were" };
        Err(differs(format!(
            "The model script {} has {} more of the model that {were} not asked for: the run was \
             over with answer {played}, which has no call.",
            state.name,
            counted(left, "answer"),
        )))
    }

    /// Returns the number of expectations that the run has met.
    pub fn expectations_met(&self) -> usize {
        self.state().met
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn next(&mut self, method: ApiMethod) -> Result<PlayedAnswer, ApiError> {
        let is_turn = method == ApiMethod::StreamGenerateContent;
        let turn = is_turn.then(|| self.left.pop_front()).flatten();
        let Some(turn) = turn else {
            return Err(ApiError::not_recorded(format!(
                "The model script {} has {} of the model, and the run asks for one more. Add a \
                 turn, or record the run again; the last turn has no calls.",
                self.name,
                counted(self.played, "answer"),
            )));
        };
        self.played += 1;
        let answer = turn.answer(&mut self.calls_sent);
        self.calls = turn.calls;
        answer
    }
}

fn differs(message: String) -> SessionError {
    SessionError::new(SessionErrorKind::ScriptDiffers, message)
}
