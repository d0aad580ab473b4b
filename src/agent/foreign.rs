//! Anybody's commands: one process a call, started and judged as Gemini CLI does it.

use super::call::{CallRequest, Failure, Outcome};
use super::pair::{Printed, broken};
use crate::custom::judge::{self, Verdict, five_lines};
use crate::genai::{FunctionResponse, Part};
use crate::process::identity::Identity;
use crate::process::tree;
use crate::sys::unix_process::{CommandExt, ExitStatusExt};
use crate::tool::{Cancellation, Interruption, ResultError};
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// More of either stream is not kept, in bytes.
const MAX_OUTPUT: usize = 16 * 1024 * 1024;

/// How often it is looked whether a call has to end.
const TICK: Duration = Duration::from_millis(50);

/// How long processes have to end by themselves.
const GRACE: Duration = Duration::from_secs(1);

/// How long a call may take where nobody says.
const CALL_TIME: Duration = Duration::from_secs(600);

/// A call command that may be anybody's.
#[derive(Debug)]
pub(super) struct Foreign {
    program: PathBuf,
    environment: Vec<(String, String)>,
}

/// How a process ended.
struct Ended {
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    status: Option<ExitStatus>,
    /// Why it was ended.
    interruption: Option<Interruption>,
    is_cut: bool,
}

impl Foreign {
    pub(super) fn new(program: &Path, environment: Vec<(String, String)>) -> Self {
        Self {
            program: program.to_owned(),
            environment,
        }
    }

    pub(super) fn run(&self, name: &str, request: &CallRequest, cancel: &Cancellation) -> Outcome {
        let mut command = Command::new(&self.program);
        command.arg(name);
        let input = Value::Object(request.args.clone()).to_string();
        // The session's end may be nearer.
        let left = cancel
            .deadline()
            .map(|end| end.saturating_duration_since(Instant::now()));
        let cancel = cancel.restarted(left.map_or(CALL_TIME, |left| left.min(CALL_TIME)));
        match run(command, &self.environment, input.as_bytes(), &cancel) {
            Ok(ended) => judge(request, &ended),
            Err(e) => {
                // The form that the model knows from other failures.
                let error = format!("Error: spawn {} {e}", self.program.display());
                let nothing = judge::Ended {
                    stdout: b"",
                    stderr: b"",
                    code: None,
                    signal: None,
                };
                broken(request, five_lines(nothing, &error))
            }
        }
    }
}

/// Runs a discovery command to its end.
pub(super) fn discover(
    words: &[String],
    environment: &[(String, String)],
    limit: Duration,
    cancel: &Cancellation,
) -> io::Result<Printed> {
    let mut command = Command::new(OsStr::new(&words[0]));
    command.args(&words[1..]);
    let ended = run(command, environment, b"", &cancel.restarted(limit))?;
    let failure = match (ended.interruption, ended.status) {
        (Some(Interruption::TimedOut), _) => Some(format!("it took more than {limit:?}")),
        (Some(Interruption::Cancelled(_)), _) => Some("it was cancelled".to_owned()),
        (None, Some(status)) if status.success() => None,
        (None, Some(status)) => Some(status.to_string()),
        (None, None) => Some("it was lost".to_owned()),
    };
    Ok(Printed {
        stdout: ended.stdout,
        stderr: String::from_utf8_lossy(&ended.stderr).into_owned(),
        failure,
    })
}

/// Starts a program, feeds it, takes in what it prints, and waits until its pipes are closed,
/// as Gemini CLI does; then, or when the call has to end, everything that it started is ended.
fn run(
    mut command: Command,
    environment: &[(String, String)],
    input: &[u8],
    cancel: &Cancellation,
) -> io::Result<Ended> {
    command
        .envs(environment.iter().map(|(k, v)| (k, v)))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // A signal of the terminal is ours to pass on.
        .process_group(0);
    let mut child = command.spawn()?;
    let stdin = child.stdin.take();
    let (outs, errs) = (child.stdout.take(), child.stderr.take());
    std::thread::scope(|scope| {
        scope.spawn(move || {
            // A program that does not read its arguments has none to miss.
            if let Some(mut stdin) = stdin {
                let _ = stdin.write_all(input);
            }
        });
        let (sender, receiver) = channel();
        let out_sender = sender.clone();
        let out = scope.spawn(move || drain(outs, || drop(out_sender)));
        let err = scope.spawn(move || drain(errs, || drop(sender)));
        let interruption = wait_for_pipes(&receiver, cancel);
        let status = end(&mut child, interruption.is_some());
        let (stdout, out_cut) = out.join().unwrap_or_default();
        let (stderr, err_cut) = err.join().unwrap_or_default();
        Ok(Ended {
            stdout,
            stderr,
            status,
            interruption,
            is_cut: out_cut || err_cut,
        })
    })
}

/// Reads to the end, keeps what there is room for, then calls `done`.
fn drain(stream: Option<impl Read>, done: impl FnOnce()) -> (Vec<u8>, bool) {
    let mut kept = Vec::new();
    let mut is_cut = false;
    if let Some(mut stream) = stream {
        let mut buffer = vec![0; 64 * 1024];
        loop {
            match stream.read(&mut buffer) {
                Ok(0) => break,
                Ok(n) => {
                    let room = MAX_OUTPUT - kept.len();
                    kept.extend_from_slice(&buffer[..n.min(room)]);
                    is_cut |= n > room;
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
    }
    done();
    (kept, is_cut)
}

/// Waits until both readers are done, or the call has to end.
fn wait_for_pipes(receiver: &Receiver<()>, cancel: &Cancellation) -> Option<Interruption> {
    loop {
        match receiver.recv_timeout(TICK) {
            Err(RecvTimeoutError::Disconnected) => return None,
            Ok(()) | Err(RecvTimeoutError::Timeout) => {}
        }
        if let Some(interruption) = cancel.interruption() {
            return Some(interruption);
        }
    }
}

/// Waits for the program itself. One that has to go is ended with all that it started.
fn end(child: &mut Child, must_go: bool) -> Option<ExitStatus> {
    if must_go && let Ok(id) = i32::try_from(child.id()) {
        let mut all: Vec<Identity> = Identity::of(id).into_iter().collect();
        all.extend(tree::descendants(id));
        tree::end(&all, GRACE);
    }
    let until = Instant::now() + GRACE;
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status),
            // Its pipes are closed, but it goes on: its answer is complete.
            Ok(None) if must_go && Instant::now() > until => {
                let _ = child.kill();
                return child.wait().ok();
            }
            Ok(None) => std::thread::sleep(Duration::from_millis(1)),
            Err(_) => return None,
        }
    }
}

/// What a call has come to, by Gemini CLI's rules.
fn judge(request: &CallRequest, ended: &Ended) -> Outcome {
    if let Some(why) = ended.interruption {
        return Outcome::interrupted(request, why);
    }
    if ended.is_cut {
        return broken(
            request,
            format!(
                "The call has printed more than {MAX_OUTPUT} bytes; narrow it down to see its answer."
            ),
        );
    }
    let verdict = judge::judge(judge::Ended {
        stdout: &ended.stdout,
        stderr: &ended.stderr,
        code: ended.status.and_then(|s| s.code()),
        signal: ended.status.and_then(|s| s.signal()),
    });
    match verdict {
        Verdict::Answer(answer) => unwrapped(request, *answer),
        Verdict::Text(text) => text_outcome(request, &text),
        Verdict::Failure(text) => broken(request, text),
    }
}

fn unwrapped(request: &CallRequest, answer: FunctionResponse) -> Outcome {
    let (text, error) = judge::told(&answer);
    let error = error.map(|ResultError { message, kind }| Failure { message, kind });
    let response = match &error {
        Some(error) => json!({ "error": error.message }),
        None => answer.response,
    };
    let mut parts = vec![Part::function_response(
        &request.id,
        &request.name,
        response,
    )];
    parts.extend(answer.parts);
    Outcome {
        parts,
        text,
        error,
        ..Outcome::default()
    }
}

fn text_outcome(request: &CallRequest, text: &str) -> Outcome {
    Outcome {
        parts: vec![Part::function_response(
            &request.id,
            &request.name,
            json!({ "output": text }),
        )],
        text: text.to_owned(),
        ..Outcome::default()
    }
}
