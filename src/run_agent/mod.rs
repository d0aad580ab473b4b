//! `run_agent`: lets a model carry out a prompt with the tools of a discovery and a call command.

mod command;
mod input;
mod model;
mod setup;
mod show;

pub use command::command;

use crate::run_agent::command::RunAgentOptions;
use crate::run_agent::model::Model;
use crate::start::{Failure, refuse};
use clap::Parser;
use gemini_tools::agent::event::{SessionError, SessionErrorKind};
use gemini_tools::process::signals::Signals;
use gemini_tools::tool::Cancellation;
use std::sync::Arc;

/// The exit status with `--fail-on-refusal` if the policy has refused calls. `call_tool` exits with
/// the same status if it refuses its call.
const REFUSED: u8 = 3;

const BAD_INPUT: SessionErrorKind = SessionErrorKind::BadInput;

/// Runs the program and returns its exit status.
///
/// # Errors
///
/// Returns why no session was begun.
pub fn run() -> anyhow::Result<u8> {
    let options = RunAgentOptions::try_parse().map_err(|e| refuse(e, BAD_INPUT.exit_status()))?;
    let limit = options.time_limit;
    let cancel = limit
        .map_or_else(Cancellation::default, Cancellation::with_time_limit)
        .limited_by("--time-limit");
    let signals = Arc::new(Signals::ending(cancel));
    let status = work(&options, &signals).map_err(|error| {
        // After a cancellation, other failures are only consequences of it.
        let interruption = signals.cancellation().interruption();
        let error = interruption.map_or(error, SessionError::from);
        show::failed_early(&options, &error);
        Failure(error.kind.exit_status(), error.message)
    })?;
    Ok(match status {
        0 => u8::from(show::is_incomplete()),
        status => status,
    })
}

/// Returns the status of the session, which shows its own errors, or why it was not begun.
fn work(options: &RunAgentOptions, signals: &Arc<Signals>) -> Result<u8, SessionError> {
    let cancel = signals.cancellation();
    let prompt = input::prompt(options, cancel)?;
    let setup = setup::Setup::new(options)?;
    let pair = setup.pair(cancel)?;
    let script = model::script(&setup, cancel)?;
    let prompt = model::prompt(prompt, script.as_ref());
    let message = setup.message(&pair, &prompt, cancel)?;
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
        return Err(bad_input(no_prompt));
    }
    let model = Model::new(&setup, script, &prompt.text)?;
    let player = model.player.clone();
    let mut session = setup.session(&pair, signals, model)?;
    if is_empty && !session.is_unfinished() {
        return Err(bad_input(no_prompt));
    }
    let ended = session.run(&prompt.text, message).map(drop);
    let refused = &session.stats().refused;
    show::refused(options, refused);
    if ended.is_ok() {
        show::expectations(options, player.as_ref());
    }
    show::undo(session.stats(), setup.journal_session());
    let is_failure = options.fail_on_refusal && !refused.is_empty();
    Ok(match ended {
        Err(error) => error.kind.exit_status(),
        Ok(()) if is_failure => REFUSED,
        Ok(()) => 0,
    })
}

pub(crate) fn bad_input(message: impl Into<String>) -> SessionError {
    SessionError::new(BAD_INPUT, message)
}
