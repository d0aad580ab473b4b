//! Runs calls through one long-lived `call_tool --batch --stream`, because a process for each call
//! would cost more time than most calls.

use super::call::{CallOutcome, CallRequest};
use super::external_commands::ExternalCommand;
use super::pair::broken;
use gemini_tools_core::answer::Answer;
use gemini_tools_core::json::{self, JsonError, MAX_BYTES};
use gemini_tools_core::registry::bare_name;
use gemini_tools_core::tool::{
    Cancellation, Display, ErrorKind, Interruption, ModelCall, TailToolCallRequest, ToolResult,
};
use gemini_tools_policy::approval::Explanation;
use gemini_tools_process::line_client::{LineClient, LineReply, TICK};
use rustix::process::Signal;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

const MAX_ID_BYTES: usize = 64;

const GRACE: Duration = Duration::from_secs(5);

/// A client of `call_tool`. The process is started by the first call, and started again by the next
/// call if it has exited.
#[derive(Debug)]
pub(super) struct BatchClient {
    call_tool: ExternalCommand,
    client: LineClient<BatchLine>,
}

/// A line of output of `call_tool --batch --stream`: the result of a call, a piece of output of a
/// running call, or a report of a request that a tool has made to a model.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
struct BatchLine(Value);

impl LineReply for BatchLine {
    type Notes = ();

    fn answers(&self) -> Option<(u64, bool)> {
        let id = self.0["id"].as_str()?.parse().ok()?;
        Some((id, self.0["type"] == "result"))
    }

    fn is_nameless(&self) -> bool {
        self.answers().is_none()
    }

    fn note(self, (): &mut ()) {}
}

impl BatchClient {
    pub(super) fn new(call_tool: ExternalCommand) -> Self {
        let client = LineClient::default();
        Self { call_tool, client }
    }

    /// Runs a call and waits for its result. `judged` holds the annotations that the policy relied
    /// on when it allowed a call of an MCP tool, and is `None` if it relied on none; `call_tool`
    /// refuses the call if the server has changed them since.
    pub(super) fn call(
        &self,
        name: &str,
        judged: Option<&Map<String, Value>>,
        request: &CallRequest,
        cancel: &Cancellation,
        on_model_call: &dyn Fn(ModelCall),
    ) -> Result<ToolResult, Box<CallOutcome>> {
        let mut call = json!({ "name": name, "args": request.args, "returnTailCall": true });
        if let Some(judged) = judged {
            call["annotations"] = json!(judged);
        }
        let call = call.to_string();
        // `call` is the JSON object without the key `id`, which is added when it is sent; this
        // leaves room for it.
        if call.len() > MAX_BYTES - MAX_ID_BYTES {
            let message = format!(
                "The call of {name} has {} bytes; a call may have up to {MAX_BYTES}. Make it in \
                 smaller steps.",
                call.len()
            );
            let kind = ErrorKind::InvalidToolParams;
            return Err(Box::new(CallOutcome::failure(request, kind, message)));
        }
        let sent = self.client.send(
            || Ok(self.command()),
            |id| format!("{{\"id\":\"{id}\",{}\n", &call[1..]).into_bytes(),
        );
        let broken = |message: String| Box::new(broken(request, message));
        let (_, receiver) = sent.map_err(|e| broken(format!("{e}.")))?;
        let line = wait(&receiver, cancel, on_model_call, || {
            // Ending the process ends all its calls. That is right, because a session's calls are
            // only ever cancelled together.
            if let Some(running) = self.client.take() {
                running.terminate(GRACE);
            }
        });
        let line = line.map_err(|why| {
            match why {
            Some(why) => Box::new(CallOutcome::interrupted(request, why)),
            None => broken(
                "call_tool ended before it had answered; whether the call has had an effect is not \
                 known."
                    .to_owned(),
            ),
        }
        })?;
        json::from_value(line)
            .map_err(|e| broken(format!("call_tool did not print a result: {e}.")))
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.call_tool.path);
        command
            .args(["--batch", "--stream", "--output", "result"])
            .envs(self.call_tool.environment.iter().map(|(k, v)| (k, v)))
            // The terminal sends the signal of Ctrl-C to its foreground process group. `call_tool`
            // is in a group of its own, so that only the agent gets it and can end `call_tool` in
            // order.
            .process_group(0);
        command
    }

    pub(super) fn explain(
        &self,
        name: &str,
        request: &CallRequest,
        cancel: &Cancellation,
    ) -> Result<Explanation, Box<CallOutcome>> {
        let broken = |message: String| Box::new(broken(request, message));
        let arguments = [name.to_owned(), "--explain".to_owned()];
        let ended = self.call_tool.end_of_call(&arguments, request, cancel)?;
        let value: Value = json::read_unlimited(&ended.stdout).map_err(|e| {
            broken(format!(
                "call_tool --explain did not print valid JSON: {e}."
            ))
        })?;
        if let Some(response) = value.pointer("/functionResponse/response") {
            let message = response["error"].as_str().unwrap_or_default();
            let kind = ErrorKind::deserialize(&response["errorType"]);
            return Err(Box::new(CallOutcome::failure(
                request,
                kind.unwrap_or(ErrorKind::ExecutionFailed),
                message,
            )));
        }
        explanation(value).map_err(|e| {
            broken(format!(
                "call_tool --explain printed no usable confirmation: {e}."
            ))
        })
    }
}

impl Drop for BatchClient {
    fn drop(&mut self) {
        // `call_tool` exits when its standard input is closed. Commands that it has left in the
        // background on purpose keep running.
        let running = self.client.take();
        if let Some(identity) = running.and_then(|running| running.close(GRACE)) {
            identity.signal(Signal::KILL);
        }
    }
}

fn explanation(mut value: Value) -> Result<Explanation, JsonError> {
    let mut take = |key: &str| value.get_mut(key).map(Value::take).unwrap_or_default();
    let locations = json::from_value(take("locations")).unwrap_or_default();
    let description = take("description");
    let confirmation = match take("confirmation") {
        Value::Bool(false) => None,
        details => Some(json::from_value(details)?),
    };
    Ok(Explanation {
        description: description.as_str().unwrap_or_default().to_owned(),
        locations,
        confirmation,
        is_for_once: false,
    })
}

/// Waits for the result of a call, and reports requests to a model that arrive before it. If the call
/// is cancelled or its time is over, calls `end` once and waits for the result for a grace period.
///
/// # Errors
///
/// Returns the interruption, or `None` if `call_tool` exited without a result.
fn wait(
    receiver: &Receiver<BatchLine>,
    cancel: &Cancellation,
    on_model_call: &dyn Fn(ModelCall),
    end: impl FnOnce(),
) -> Result<Value, Option<Interruption>> {
    loop {
        match receiver.recv_timeout(TICK) {
            Ok(BatchLine(line)) if line["type"] == "output" => {}
            Ok(BatchLine(mut line)) if line["type"] == "model_call" => {
                if let Ok(call) = serde_json::from_value(line["call"].take()) {
                    on_model_call(call);
                }
            }
            Ok(BatchLine(line)) => return Ok(line),
            Err(RecvTimeoutError::Disconnected) => return Err(cancel.interruption()),
            Err(RecvTimeoutError::Timeout) => {}
        }
        if let Some(why) = cancel.interruption() {
            end();
            // `call_tool` has been told to end, but first sends the result with the output so far.
            let until = Instant::now() + GRACE;
            let left = || until.saturating_duration_since(Instant::now());
            while let Ok(BatchLine(line)) = receiver.recv_timeout(left()) {
                if line["type"] == "result" {
                    return Ok(line);
                }
            }
            return Err(Some(why));
        }
    }
}

pub(super) fn outcome(
    request: &CallRequest,
    mut result: ToolResult,
) -> (CallOutcome, Option<TailToolCallRequest>) {
    let tail_call = result.tail_tool_call_request.take();
    let error = result.error.clone();
    let status = result
        .data
        .as_ref()
        .and_then(|data| data.get("exitCode")?.as_i64());
    // Observers show the diff from the field `diff`. If `display` held it as well, they would show
    // it twice.
    let (display, diff, diff_stat) = match std::mem::take(&mut result.return_display) {
        Display::FileDiff(diff) => {
            let text = Some(diff.file_diff).filter(|diff| !diff.is_empty());
            (Display::default(), text, Some(diff.diff_stat))
        }
        display => (display, None, None),
    };
    let answer = Answer {
        name: &request.name,
        id: Some(&request.id),
        outcome: Ok(result),
    };
    let text = match &error {
        Some(error) => error.message.clone(),
        None => answer.text(),
    };
    let command_failure = command_failure(request, status, &text).filter(|_| error.is_none());
    let outcome = CallOutcome {
        parts: answer.parts(),
        command_failure,
        display,
        text,
        diff,
        diff_stat,
        error,
    };
    (outcome, tail_call)
}

/// Returns the exit status or signal of a failed shell command. The status is in the call's data; a
/// signal is only in the text. The last line that matches is used, because the command's own output
/// comes before it and may contain the same words.
fn command_failure(request: &CallRequest, status: Option<i64>, text: &str) -> Option<String> {
    if bare_name(&request.name) != "run_shell_command" {
        return None;
    }
    if let Some(status) = status {
        return (status != 0).then(|| format!("exit {status}"));
    }
    let mut lines = text.lines().rev();
    let signal = lines.find_map(|line| line.strip_prefix("Signal: "))?;
    (signal != "(none)").then(|| signal.to_owned())
}
