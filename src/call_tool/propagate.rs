//! `call_tool --propagate-status`: exits with the status of the command that the call has run, as
//! `env` and `timeout` do.

use crate::call_tool::options::CallToolOptions;
use gemini_tools::answer::Answer;
use gemini_tools::tool::ErrorKind;
use serde_json::Value;

pub(crate) const FLAG: &str = "--propagate-status";

/// Exit status for failures that are not the command's own. As in shells, 126 and 127 mean that a
/// command could not be run, and higher numbers a signal.
pub(crate) const OURS: u8 = 125;

const TOO_LARGE: u8 = 255;

pub(crate) fn status(options: &CallToolOptions, answer: &Answer<'_>, status: u8) -> u8 {
    if !options.propagate_status {
        return status;
    }
    let failure = answer.failure().map(|(_, kind)| kind);
    if let Some(ErrorKind::Timeout | ErrorKind::Cancelled) = failure {
        return status;
    }
    let data = answer
        .outcome
        .as_ref()
        .ok()
        .and_then(|result| result.data.as_ref());
    let number = |key: &str| data.and_then(|data| data.get(key)).and_then(Value::as_i64);
    match (number("exitCode"), number("signal")) {
        (Some(code), _) => u8::try_from(code).unwrap_or(TOO_LARGE),
        (None, Some(signal)) => u8::try_from(128 + signal).unwrap_or(TOO_LARGE),
        // The call has succeeded without an exit status: the command still runs in the background,
        // or the tool's results carry none.
        (None, None) if failure.is_none() => 0,
        (None, None) => OURS,
    }
}
