//! Our own call command, kept running: `call_tool --batch --stream` costs no process a call.

use super::call::{CallRequest, Failure, Outcome};
use super::foreign;
use super::pair::broken;
use crate::answer::Answer;
use crate::approval::Explanation;
use crate::process::driven::MAX_STREAM_BYTES;
use crate::process::identity::Identity;
use crate::process::{tree, without_sigpipe};
use crate::sys::unix_process::CommandExt;
use crate::tool::{Cancellation, ConfirmationDetails, ErrorKind, LlmContent, Location, ToolResult};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How often it is looked whether a call has to end.
const TICK: Duration = Duration::from_millis(50);

/// How long the command has to end its calls when it is asked to.
const GRACE: Duration = Duration::from_secs(5);

/// The answers that are awaited, by the id that the call was given here.
type Awaited = Arc<Mutex<HashMap<String, Sender<Value>>>>;

/// `call_tool`, started at the first call, and again where it has ended.
#[derive(Debug)]
pub(super) struct Own {
    program: PathBuf,
    environment: Vec<(String, String)>,
    running: Mutex<Option<Running>>,
    next_id: Mutex<u64>,
}

#[derive(Debug)]
struct Running {
    child: Child,
    stdin: ChildStdin,
    awaited: Awaited,
}

/// What `call_tool --output result` prints.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ResultLine {
    llm_content: LlmContent,
    #[serde(default)]
    return_display: Value,
    #[serde(default)]
    error: Option<Failure>,
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

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Own {
    pub(super) fn new(program: PathBuf, environment: Vec<(String, String)>) -> Self {
        Self {
            program,
            environment,
            running: Mutex::new(None),
            next_id: Mutex::new(0),
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
        live: &dyn Fn(&str),
    ) -> Outcome {
        let (sender, receiver) = channel();
        let id = {
            let mut next = lock(&self.next_id);
            *next += 1;
            next.to_string()
        };
        if let Err(e) = self.send(&id, name, judged, request, sender) {
            let message = format!("{} can't be started: {e}.", self.program.display());
            return broken(request, message);
        }
        loop {
            match receiver.recv_timeout(TICK) {
                Ok(said) if said["type"] == "output" => {
                    if let Some(text) = said["text"].as_str() {
                        live(text);
                    }
                }
                Ok(said) => return outcome(request, said),
                Err(RecvTimeoutError::Disconnected) => {
                    self.forget();
                    let message = "call_tool ended before it had answered; whether the call has \
                                   had an effect is not known.";
                    return match cancel.interruption() {
                        Some(why) => Outcome::interrupted(request, why),
                        None => broken(request, message),
                    };
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
            if let Some(why) = cancel.interruption() {
                // All calls of a session are cancelled together.
                self.end();
                // What it said last, such as what a command has printed, is still on its way.
                let until = Instant::now() + GRACE;
                let left = || until.saturating_duration_since(Instant::now());
                while let Ok(said) = receiver.recv_timeout(left()) {
                    if said["type"] == "result" {
                        return outcome(request, said);
                    }
                }
                return Outcome::interrupted(request, why);
            }
        }
    }

    /// Hands a call over; starts the command where it is not running.
    fn send(
        &self,
        id: &str,
        name: &str,
        judged: Option<&Map<String, Value>>,
        request: &CallRequest,
        sender: Sender<Value>,
    ) -> io::Result<()> {
        let mut line = json!({ "id": id, "name": name, "args": request.args });
        if let Some(judged) = judged {
            line["annotations"] = json!(judged);
        }
        let mut line = line.to_string();
        line.push('\n');
        let mut slot = lock(&self.running);
        let is_gone = |running: &mut Running| !matches!(running.child.try_wait(), Ok(None));
        if slot.as_mut().is_none_or(is_gone) {
            *slot = Some(self.start()?);
        }
        let running = slot.as_mut().ok_or(io::ErrorKind::NotConnected)?;
        lock(&running.awaited).insert(id.to_owned(), sender);
        without_sigpipe(|| running.stdin.write_all(line.as_bytes()))
    }

    fn start(&self) -> io::Result<Running> {
        let mut child = Command::new(&self.program)
            .args(["--batch", "--stream", "--output", "result"])
            .envs(self.environment.iter().map(|(k, v)| (k, v)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            // A signal of the terminal is ours to pass on.
            .process_group(0)
            .spawn()?;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        let awaited = Awaited::default();
        let own = Arc::clone(&awaited);
        std::thread::spawn(move || {
            distribute(BufReader::new(stdout), &own);
            // Whoever still waits learns that nothing comes any more.
            lock(&own).clear();
        });
        Ok(Running {
            child,
            stdin,
            awaited,
        })
    }

    /// Ends the command with all of its calls.
    fn end(&self) {
        let Some(mut running) = lock(&self.running).take() else {
            return;
        };
        let id = i32::try_from(running.child.id()).unwrap_or_default();
        if let Some(identity) = Identity::of(id) {
            identity.signal(crate::sys::process::Signal::TERM);
        }
        let until = Instant::now() + GRACE;
        while matches!(running.child.try_wait(), Ok(None)) {
            if Instant::now() > until {
                let mut all: Vec<_> = Identity::of(id).into_iter().collect();
                all.extend(tree::descendants(id));
                tree::end(&all, Duration::ZERO);
                let _ = running.child.wait();
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn forget(&self) {
        if let Some(mut running) = lock(&self.running).take() {
            let _ = running.child.kill();
            let _ = running.child.wait();
        }
    }

    pub(super) fn explain(
        &self,
        name: &str,
        request: &CallRequest,
        cancel: &Cancellation,
    ) -> Result<Explanation, Box<Outcome>> {
        let broken = |message: String| Box::new(broken(request, message));
        let arguments = [name.to_owned(), "--explain".to_owned()];
        let ended = foreign::run(
            self.program.as_os_str(),
            &arguments,
            &self.environment,
            &Value::Object(request.args.clone()).to_string(),
            foreign::CALL_TIME,
            cancel,
        )
        .map_err(|e| broken(format!("{} can't be started: {e}.", self.program.display())))?;
        if let Err(why) = ended.ending {
            return Err(Box::new(foreign::not_ended(request, why, cancel)));
        }
        if ended.is_cut {
            return Err(broken(format!(
                "call_tool --explain printed more than {MAX_STREAM_BYTES} bytes. Make the change in smaller steps."
            )));
        }
        let value: Value = serde_json::from_slice(&ended.stdout)
            .map_err(|e| broken(format!("call_tool --explain did not print JSON: {e}.")))?;
        if let Some(response) = value.pointer("/functionResponse/response") {
            let message = response["error"].as_str().unwrap_or_default();
            let kind = ErrorKind::deserialize(&response["errorType"]);
            return Err(Box::new(Outcome::failure(
                request,
                kind.unwrap_or(ErrorKind::ExecutionFailed),
                message,
            )));
        }
        let line: ExplainLine = serde_json::from_value(value)
            .map_err(|e| broken(format!("call_tool --explain printed something else: {e}.")))?;
        let confirmation = match line.confirmation {
            Value::Bool(false) => None,
            details => Some(
                ConfirmationDetails::deserialize(&details)
                    .map_err(|e| broken(format!("what has to be confirmed is not clear: {e}.")))?,
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

impl Drop for Own {
    fn drop(&mut self) {
        // Its input ends, and so does it: what it has left in the background on purpose stays.
        if let Some(mut running) = lock(&self.running).take() {
            drop(running.stdin);
            let until = Instant::now() + GRACE;
            while matches!(running.child.try_wait(), Ok(None)) && Instant::now() < until {
                std::thread::sleep(Duration::from_millis(1));
            }
            let _ = running.child.kill();
            let _ = running.child.wait();
        }
    }
}

/// Hands lines to those who wait for them.
fn distribute(lines: impl BufRead, awaited: &Awaited) {
    for line in lines.split(b'\n') {
        let Ok(line) = line else { return };
        let Ok(line) = serde_json::from_slice::<Value>(&line) else {
            continue;
        };
        let Some(id) = line["id"].as_str().map(str::to_owned) else {
            continue;
        };
        let mut awaited = lock(awaited);
        let is_last = line["type"] == "result";
        if let Some(sender) = awaited.get(&id) {
            // Whoever has gone away does not want it.
            let _ = sender.send(line);
        }
        if is_last {
            awaited.remove(&id);
        }
    }
}

/// The outcome that a line says.
fn outcome(request: &CallRequest, line: Value) -> Outcome {
    let line: ResultLine = match ResultLine::deserialize(line) {
        Ok(line) => line,
        Err(e) => return broken(request, format!("call_tool answered something else: {e}.")),
    };
    let result = ToolResult {
        llm_content: line.llm_content,
        error: line.error.clone().map(|e| crate::tool::ResultError {
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
    Outcome {
        parts: answer.parts(),
        text,
        diff: line.return_display["fileDiff"]
            .as_str()
            .filter(|diff| !diff.is_empty())
            .map(str::to_owned),
        diff_stat: line.return_display.get("diffStat").cloned(),
        error: line.error,
    }
}
