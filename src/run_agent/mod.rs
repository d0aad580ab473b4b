//! `run_agent`: lets a model carry out a prompt with the tools of a discovery and a call command.

mod command;
mod input;
mod model;
mod setup;
mod show;

pub use command::command;

use crate::run_agent::command::RunAgentOptions;
use crate::run_agent::model::Model;
use crate::start;
use gemini_tools::agent::event::{SessionError, SessionErrorKind};
use gemini_tools::process::signals::Signals;
use gemini_tools::tool::Cancellation;
use std::sync::Arc;

/// The exit status with `--fail-on-refusal` if the policy has refused calls. `call_tool` exits with
/// the same status if it refuses its call.
const REFUSED: u8 = 3;

/// Runs the program and returns its exit status.
#[must_use]
pub fn run() -> u8 {
    let options = match RunAgentOptions::read() {
        Ok(options) => options,
        Err(code) => return code,
    };
    let limit = options.time_limit;
    let cancel = limit
        .map_or_else(Cancellation::default, Cancellation::with_time_limit)
        .limited_by("--time-limit");
    let signals = Arc::new(Signals::ending(cancel));
    match work(&options, &signals) {
        Ok(0) => u8::from(show::is_incomplete()),
        Ok(status) => status,
        Err(error) => error.kind.exit_status(),
    }
}

fn work(options: &RunAgentOptions, signals: &Arc<Signals>) -> Result<u8, SessionError> {
    let cancel = signals.cancellation();
    let fail = |error: SessionError| {
        // After a cancellation, other failures are only consequences of it.
        let error = cancel.interruption().map_or(error, SessionError::from);
        show::failed_early(options, &error);
        error
    };
    let prompt = input::prompt(options, cancel).map_err(fail)?;
    let setup = setup::Setup::new(options).map_err(fail)?;
    let pair = setup.pair(cancel).map_err(fail)?;
    let script = model::script(&setup, cancel).map_err(fail)?;
    let prompt = model::prompt(prompt, script.as_ref());
    let message = setup.message(&pair, &prompt, cancel).map_err(fail)?;
    let no_prompt = match options.model_script {
        Some(_) => {
            "There is no prompt. Give one as an argument, by --prompt, on standard input, or as \
             prompt: in the script."
        }
        None => "There is no prompt. Give one as an argument, by --prompt, or on standard input.",
    };
    let is_empty = message.is_empty();
    let goes_on = options.resume.is_some() || options.continues;
    if is_empty && !goes_on {
        return Err(fail(bad_input(no_prompt)));
    }
    let model = Model::new(&setup, script, &prompt.text).map_err(fail)?;
    let player = model.player.clone();
    let mut session = setup.session(&pair, signals, model).map_err(fail)?;
    if is_empty && !session.is_unfinished() {
        return Err(fail(bad_input(no_prompt)));
    }
    let ended = session.run(&prompt.text, message).map(drop);
    let refused = &session.stats().refused;
    show::refused(options, refused);
    if ended.is_ok() {
        show::expectations(options, player.as_ref());
    }
    show::undo(session.stats(), setup.journal_session());
    let is_failure = options.fail_on_refusal && !refused.is_empty();
    ended.map(|()| if is_failure { REFUSED } else { 0 })
}

pub(crate) fn bad_input(message: impl Into<String>) -> SessionError {
    SessionError::new(SessionErrorKind::BadInput, message)
}

pub(crate) fn warn(message: &str) {
    start::warn(&format!("run_agent: {message}"));
}
