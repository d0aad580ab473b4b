//! Our own call command, kept running: `call_tool --batch --stream` costs no process a call.

use super::call::{CallFailure, CallOutcome, CallRequest, CommandFailure};
use super::external_commands;
use super::pair::{CallNews, broken};
use gemini_tools_answers::answer::Answer;
use gemini_tools_approval::approval::Explanation;
use gemini_tools_core::json::MAX_BYTES;
use gemini_tools_core::registry::bare_name;
use gemini_tools_core::tool::{
    Cancellation, ConfirmationDetails, Display, ErrorKind, LlmContent, Location, ToolResult,
};
use gemini_tools_process::line_client::{LineClient, Reply, TICK};
use gemini_tools_process::program_run::MAX_STREAM_BYTES;
use rustix::process::Signal;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

/// Bytes that an id adds to a call at most.
const MAX_ID_BYTES: usize = 64;

/// How long the command has to end its calls when it is asked to.
const GRACE: Duration = Duration::from_secs(5);

/// `call_tool`, started at the first call, and again where it has ended.
#[derive(Debug)]
pub(super) struct BatchClient {
    program: PathBuf,
    environment: Vec<(String, String)>,
    client: LineClient<BatchLine>,
}

/// What `call_tool --batch --stream` prints.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
struct BatchLine(Value);

impl Reply for BatchLine {
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

/// What `call_tool --output result` prints.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ResultLine {
    llm_content: LlmContent,
    #[serde(default)]
    return_display: Value,
    #[serde(default)]
    data: Value,
    #[serde(default)]
    error: Option<CallFailure>,
}

/// What `call_tool --explain` prints.
#[derive(Deserialize)]
struct ExplainLine {
    #[serde(default)]
    description: String,
    #[serde(default)]
    locations: Vec<Location>,
    confirmation: Value,
}

impl BatchClient {
    pub(super) fn new(program: PathBuf, environment: Vec<(String, String)>) -> Self {
        Self {
            program,
            environment,
            client: LineClient::default(),
        }
    }

    /// Runs a call; `judged` is what the tool's MCP server had said of it when the call was judged
    /// by that.
    pub(super) fn run(
        &self,
        name: &str,
        judged: Option<&Map<String, Value>>,
        request: &CallRequest,
        cancel: &Cancellation,
        news: &dyn Fn(CallNews<'_>),
    ) -> CallOutcome {
        let mut call = json!({ "name": name, "args": request.args });
        if let Some(judged) = judged {
            call["annotations"] = json!(judged);
        }
        let call = call.to_string();
        // The id is added below.
        if call.len() > MAX_BYTES - MAX_ID_BYTES {
            let message = format!(
                "The call of {name} has {} bytes; a call may have up to {MAX_BYTES}. Make it in \
                 smaller steps.",
                call.len()
            );
            return CallOutcome::failure(request, ErrorKind::InvalidToolParams, message);
        }
        let sent = self.client.send(
            || Ok(self.command()),
            |id, _| format!("{{\"id\":\"{id}\",{}\n", &call[1..]).into_bytes(),
        );
        let (_, receiver) = match sent {
            Ok(sent) => sent,
            Err(e) => return broken(request, format!("{e}.")),
        };
        loop {
            match receiver.recv_timeout(TICK) {
                Ok(BatchLine(said)) if said["type"] == "output" => {
                    if let Some(text) = said["text"].as_str() {
                        news(CallNews::Text(text));
                    }
                }
                Ok(BatchLine(mut said)) if said["type"] == "model_call" => {
                    if let Ok(call) = serde_json::from_value(said["call"].take()) {
                        news(CallNews::ModelCall(call));
                    }
                }
                Ok(BatchLine(said)) => return outcome(request, said),
                Err(RecvTimeoutError::Disconnected) => {
                    let message = "call_tool ended before it had answered; whether the call has \
                                   had an effect is not known.";
                    return match cancel.interruption() {
                        Some(why) => CallOutcome::interrupted(request, why),
                        None => broken(request, message),
                    };
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
            if let Some(why) = cancel.interruption() {
                // All calls of a session are cancelled together.
                if let Some(running) = self.client.take() {
                    running.terminate(GRACE);
                }
                // What it said last, such as what a command has printed, is still on its way.
                let until = Instant::now() + GRACE;
                let left = || until.saturating_duration_since(Instant::now());
                while let Ok(BatchLine(said)) = receiver.recv_timeout(left()) {
                    if said["type"] == "result" {
                        return outcome(request, said);
                    }
                }
                return CallOutcome::interrupted(request, why);
            }
        }
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(["--batch", "--stream", "--output", "result"])
            .envs(self.environment.iter().map(|(k, v)| (k, v)))
            // A signal of the terminal is ours to pass on.
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
        let ended = external_commands::run(
            self.program.as_os_str(),
            &arguments,
            &self.environment,
            &Value::Object(request.args.clone()).to_string(),
            external_commands::CALL_TIME,
            cancel,
        )
        .map_err(|e| broken(format!("{} can't be started: {e}.", self.program.display())))?;
        if let Err(why) = ended.ending {
            return Err(Box::new(external_commands::not_ended(request, why, cancel)));
        }
        if ended.is_cut {
            return Err(broken(format!(
                "call_tool --explain printed more than {MAX_STREAM_BYTES} bytes. Make the change in smaller steps."
            )));
        }
        let value: Value = gemini_tools_core::json::read_unlimited(&ended.stdout).map_err(|e| {
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
        let line: ExplainLine = gemini_tools_core::json::from_value(value).map_err(|e| {
            broken(format!(
                "call_tool --explain did not print an explanation: {e}."
            ))
        })?;
        let confirmation = match line.confirmation {
            Value::Bool(false) => None,
            details => Some(
                gemini_tools_core::json::from_value::<ConfirmationDetails>(details).map_err(
                    |e| {
                        broken(format!(
                            "call_tool --explain printed no usable confirmation: {e}."
                        ))
                    },
                )?,
            ),
        };
        Ok(Explanation {
            description: line.description,
            locations: line.locations,
            confirmation,
            is_for_once: false,
        })
    }
}

impl Drop for BatchClient {
    fn drop(&mut self) {
        // Its input ends, and so does it: what it has left in the background on purpose stays.
        let running = self.client.take();
        if let Some(identity) = running.and_then(|running| running.close(GRACE)) {
            identity.signal(Signal::KILL);
        }
    }
}

/// The outcome that a line says.
fn outcome(request: &CallRequest, line: Value) -> CallOutcome {
    let line: ResultLine = match gemini_tools_core::json::from_value(line) {
        Ok(line) => line,
        Err(e) => return broken(request, format!("call_tool did not print a result: {e}.")),
    };
    let result = ToolResult {
        llm_content: line.llm_content,
        error: line
            .error
            .clone()
            .map(|e| gemini_tools_core::tool::ResultError {
                message: e.message,
                kind: e.kind,
            }),
        ..ToolResult::default()
    };
    let answer = Answer {
        name: &request.name,
        id: Some(&request.id),
        outcome: Ok(result),
    };
    let text = match &line.error {
        Some(error) => error.message.clone(),
        None => answer.text(),
    };
    let command_failure = match &line.error {
        None => command_failure(request, &line.data, &text),
        Some(_) => None,
    };
    let diff = line.return_display["fileDiff"].as_str();
    let diff = diff.filter(|diff| !diff.is_empty()).map(str::to_owned);
    let diff_stat = line.return_display.get("diffStat").cloned();
    // A person is shown a diff once.
    let display = match serde_json::from_value(line.return_display) {
        Ok(Display::FileDiff(_)) | Err(_) => Display::default(),
        Ok(display) => display,
    };
    CallOutcome {
        parts: answer.parts(),
        command_failure,
        display,
        text,
        diff,
        diff_stat,
        error: line.error,
    }
}

/// How the command of `run_shell_command` has failed. Its data has the exit status; a signal is
/// only in the text, in the last line that begins so: what a command prints comes before.
fn command_failure(request: &CallRequest, data: &Value, text: &str) -> Option<CommandFailure> {
    const SIGNAL: &str = "Signal: ";

    if bare_name(&request.name) != "run_shell_command" {
        return None;
    }
    if let Some(status) = data["exitCode"].as_i64() {
        return (status != 0).then_some(CommandFailure::Status(status));
    }
    let name = text
        .lines()
        .rev()
        .find_map(|line| line.strip_prefix(SIGNAL))?;
    (name != "(none)").then(|| CommandFailure::Signal(name.to_owned()))
}
