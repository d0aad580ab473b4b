//! Anybody's commands: one process a call, started and judged as Gemini CLI does it.

use super::call::{CallRequest, Failure, Outcome};
use super::pair::{Printed, broken};
use crate::custom::judge::{self, Verdict, five_lines};
use crate::genai::{FunctionResponse, Part};
use crate::process::identity::Identity;
use crate::process::{tree, without_sigpipe};
use crate::sys::unix_process::{CommandExt, ExitStatusExt};
use crate::tool::{Cancellation, Interruption, ResultError};
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// More of either stream is not kept, in bytes.
pub(super) const MAX_OUTPUT: usize = 16 * 1024 * 1024;

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
#[derive(Default)]
pub(super) struct Ended {
    pub(super) stdout: Vec<u8>,
    pub(super) stderr: Vec<u8>,
    pub(super) status: Option<ExitStatus>,
    /// Why it was ended.
    pub(super) interruption: Option<Interruption>,
    /// Whether it printed more than [`MAX_OUTPUT`] bytes.
    pub(super) is_cut: bool,
}

/// What has been read of a stream so far.
#[derive(Default)]
struct Drained {
    bytes: Vec<u8>,
    is_cut: bool,
    /// Nothing more is wanted.
    is_taken: bool,
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
        match run(command, &self.environment, input, &limited(cancel)) {
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

/// What ends a call: the session's end, or its own where that is nearer.
pub(super) fn limited(cancel: &Cancellation) -> Cancellation {
    let left = cancel
        .deadline()
        .map(|end| end.saturating_duration_since(Instant::now()));
    cancel.restarted(left.map_or(CALL_TIME, |left| left.min(CALL_TIME)))
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
    let ended = run(
        command,
        environment,
        String::new(),
        &cancel.restarted(limit),
    )?;
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
/// as Gemini CLI does. When the call has to end, everything that it started is ended; a process
/// that escapes that and holds the pipes open is not waited for.
pub(super) fn run(
    mut command: Command,
    environment: &[(String, String)],
    input: String,
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
    // No thread here is joined: each lives as long as some process holds its pipe.
    if let Some(mut stdin) = child.stdin.take() {
        // A program that does not read its arguments has none to miss.
        std::thread::spawn(move || without_sigpipe(|| stdin.write_all(input.as_bytes())));
    }
    let (sender, receiver) = channel();
    let outs = drain(child.stdout.take(), sender.clone());
    let errs = drain(child.stderr.take(), sender);
    let mut interruption = wait_for_pipes(&receiver, cancel);
    let status = if interruption.is_none() {
        // Its pipes are closed, but it may go on.
        wait(&mut child, cancel).unwrap_or_else(|why| {
            interruption = Some(why);
            None
        })
    } else {
        None
    };
    let status = status.or_else(|| end(&mut child));
    if interruption.is_some() {
        // What it said last may still be on its way.
        let _ = receiver.recv_timeout(GRACE);
    }
    let (outs, errs) = (taken(&outs), taken(&errs));
    Ok(Ended {
        stdout: outs.bytes,
        stderr: errs.bytes,
        status,
        interruption,
        is_cut: outs.is_cut || errs.is_cut,
    })
}

/// Reads to the end in a thread of its own, and keeps what there is room for; then the sender
/// is dropped.
fn drain(stream: Option<impl Read + Send + 'static>, done: Sender<()>) -> Arc<Mutex<Drained>> {
    let drained = Arc::new(Mutex::new(Drained::default()));
    let own = Arc::clone(&drained);
    std::thread::spawn(move || {
        let Some(mut stream) = stream else { return };
        let mut buffer = vec![0; 64 * 1024];
        loop {
            match stream.read(&mut buffer) {
                Ok(0) => break,
                Ok(n) => {
                    let mut drained = own.lock().unwrap_or_else(PoisonError::into_inner);
                    // Whatever still holds the pipe is told so by its end.
                    if drained.is_taken {
                        break;
                    }
                    let room = MAX_OUTPUT.saturating_sub(drained.bytes.len());
                    drained.bytes.extend_from_slice(&buffer[..n.min(room)]);
                    drained.is_cut |= n > room;
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        drop(done);
    });
    drained
}

fn taken(drained: &Mutex<Drained>) -> Drained {
    let end = Drained {
        is_taken: true,
        ..Drained::default()
    };
    std::mem::replace(
        &mut *drained.lock().unwrap_or_else(PoisonError::into_inner),
        end,
    )
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

/// Waits for the program itself, which may go on without its pipes; `None` where it is lost.
fn wait(child: &mut Child, cancel: &Cancellation) -> Result<Option<ExitStatus>, Interruption> {
    loop {
        match child.try_wait() {
            Ok(None) => {}
            Ok(status) => return Ok(status),
            Err(_) => return Ok(None),
        }
        if let Some(interruption) = cancel.interruption() {
            return Err(interruption);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Ends a program with all that it started.
fn end(child: &mut Child) -> Option<ExitStatus> {
    if let Ok(id) = i32::try_from(child.id()) {
        let mut all: Vec<Identity> = Identity::of(id).into_iter().collect();
        #[cfg(unix)]
        all.extend(tree::of_group(id));
        all.extend(tree::descendants(id));
        tree::end(&all, GRACE);
    }
    // It is gone, unless the system keeps it.
    let _ = child.kill();
    let until = Instant::now() + GRACE;
    loop {
        match child.try_wait() {
            Ok(None) if Instant::now() < until => std::thread::sleep(Duration::from_millis(1)),
            Ok(status) => return status,
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
