//! Runs commands, one process for each: discovery commands, `call_tool --explain`, and call
//! commands that are not of this installation. The output and the exit status of the latter are
//! judged by Gemini CLI's rules.

use super::call::{CallOutcome, CallRequest};
use super::pair::{CallLimits, broken};
use gemini_tools_core::answer::limit_text;
use gemini_tools_core::tool::{Cancellation, Display, ErrorKind, Interruption};
use gemini_tools_custom_tools::program_output::{self, ParsedOutput};
use gemini_tools_process::command::StopReason;
use gemini_tools_process::kept_answers;
use gemini_tools_process::piped::Program;
use gemini_tools_process::program_run::{Input, MAX_STREAM_BYTES, ProgramRun, RunOptions};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// How long a process that a command has left behind may hold its output open. Filters of the
/// command's own need a moment to write the rest; a service would be waited for without end.
const HOLD: Duration = Duration::from_millis(500);

/// How much longer than the limit an answer may be without being cut. A call command of this project
/// has cut its answer already, and says so in a last line that comes on top.
const NOTE_CHARS: usize = 1_000;

/// The reason given when the process that supervises a command was killed, so that the command had
/// to be killed too.
pub(super) const UNWATCHED: &str = "the process that watched over it was killed";

#[derive(Debug)]
pub(super) struct ExternalCommand {
    pub(super) path: PathBuf,
    pub(super) environment: Vec<(String, String)>,
    limits: CallLimits,
}

impl ExternalCommand {
    pub(super) fn new(
        path: impl Into<PathBuf>,
        environment: &[(String, String)],
        limits: &CallLimits,
    ) -> Self {
        Self {
            path: path.into(),
            environment: environment.to_vec(),
            limits: limits.clone(),
        }
    }

    pub(super) fn call(
        &self,
        name: &str,
        request: &CallRequest,
        cancel: &Cancellation,
    ) -> CallOutcome {
        let ended = self.end_of_call(&[name.to_owned()], request, cancel);
        let mut own = ended.map_or_else(|failed| *failed, |ended| outcome(request, &ended));
        self.limits.apply(name, &mut own);
        own
    }

    pub(super) fn end_of_call(
        &self,
        arguments: &[String],
        request: &CallRequest,
        cancel: &Cancellation,
    ) -> Result<ProgramRun, Box<CallOutcome>> {
        let input = Value::Object(request.args.clone()).to_string();
        let ended = self
            .run(arguments, &input, self.limits.time, cancel)
            .map_err(|e| {
                // The model gets this error in the same form as the error of a command that ran and
                // failed.
                let error = format!("Error: spawn {} {e}", self.path.display());
                broken(request, program_output::not_started(&error))
            })?;
        match ended.ending {
            _ if ended.is_cut => Err(Box::new(broken(
                request,
                format!(
                    "The call has printed more than {MAX_STREAM_BYTES} bytes and was ended; narrow \
                     it down to see its answer."
                ),
            ))),
            Err(why) => Err(Box::new(self.not_ended(request, why, cancel))),
            Ok(_) => Ok(ended),
        }
    }

    /// Runs the program to its end. Processes that it leaves in the background go on running.
    pub(super) fn run(
        &self,
        arguments: &[String],
        input: &str,
        limit: Duration,
        cancel: &Cancellation,
    ) -> io::Result<ProgramRun> {
        let mut variables: BTreeMap<_, _> = std::env::vars_os().collect();
        for (name, value) in &self.environment {
            variables.insert(name.into(), value.into());
        }
        let program = Program {
            name: self.path.as_os_str(),
            arguments,
            environment: &variables,
            directory: &std::env::current_dir()?,
        };
        let drive = RunOptions {
            input: Input::Bytes(input.as_bytes()),
            limit,
            hold: HOLD,
            leaves: true,
        };
        program.run(drive, cancel)
    }

    fn not_ended(
        &self,
        request: &CallRequest,
        why: StopReason,
        cancel: &Cancellation,
    ) -> CallOutcome {
        let interruption = match why {
            StopReason::CallOutOfTime(limit) => Interruption::TimedOut(limit),
            StopReason::OutOfTime | StopReason::Idle => {
                let message = format!(
                    "The call took longer than {} s and was ended. GEMINI_TOOLS_TIMEOUT sets the \
                     limit.",
                    self.limits.time.as_secs_f64()
                );
                return CallOutcome::failure(request, ErrorKind::Timeout, message);
            }
            StopReason::Cancelled => Interruption::Cancelled(cancel.signal().unwrap_or_default()),
            StopReason::Unwatched => {
                return broken(request, format!("The call was ended: {UNWATCHED}."));
            }
        };
        CallOutcome::interrupted(request, interruption)
    }
}

impl CallLimits {
    /// Cuts the response to a call of `tool` if it is too long. It is then only the text.
    fn apply(&self, tool: &str, own: &mut CallOutcome) {
        let mut parts = own.parts.iter_mut();
        let response = parts.find_map(|part| part.function_response.as_mut());
        let (Some(limit), Some(response)) = (self.chars, response) else {
            return;
        };
        let is_within = |text: &str| text.chars().nth(limit + NOTE_CHARS).is_none();
        if is_within(&response.response.to_string()) {
            return;
        }
        let kept = self.kept.as_deref();
        limit_text(&mut own.text, limit, &|text| {
            kept_answers::keep(kept?, tool, text)
        });
        let key = if own.error.is_some() {
            "error"
        } else {
            "output"
        };
        response.response = json!({ key: own.text });
        if let Some(error) = &mut own.error {
            error.message.clone_from(&own.text);
        }
    }
}

/// Judges a finished command as Gemini CLI does. For example, output on standard error makes the
/// call a failure even with exit status 0.
fn outcome(request: &CallRequest, ended: &ProgramRun) -> CallOutcome {
    let parsed = program_output::parse(&ended.stdout, &ended.stderr, ended.ending.ok());
    let (text, error, response, more) = match parsed {
        ParsedOutput::Answer(answer) => {
            let (text, error) = program_output::message_of(&answer);
            let response = match &error {
                Some(error) => json!({ "error": error.message }),
                None => answer.response,
            };
            (text, error, response, answer.parts)
        }
        ParsedOutput::Text(text) => {
            let response = json!({ "output": text });
            (text, None, response, Vec::new())
        }
        ParsedOutput::Failure(text) => return broken(request, text),
    };
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let display = Display::Markdown(lines.next().unwrap_or_default().to_owned());
    let mut own = CallOutcome::answered(request, response, text);
    own.parts.extend(more);
    CallOutcome {
        error,
        display,
        ..own
    }
}
