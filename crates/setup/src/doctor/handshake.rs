//! The first talk with a server of tools, as a host has it: the greeting, the list, and one call
//! that has no effect.

use super::calls::HARMLESS;
use super::fault;
use gemini_tools_core::diagnostic::Diagnostic;
use gemini_tools_core::json::{self, MAX_WITH_MEDIA_BYTES};
use gemini_tools_process::piped::Program;
use gemini_tools_process::terminal::excerpt;
use serde_json::{Value, json};
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::OwnedFd;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel, sync_channel};
use std::time::{Duration, Instant};

/// The time after which hosts give a server up that is silent: Codex waits 10 s, others longer.
const LIMIT: Duration = Duration::from_secs(10);

/// The time in which a server ends when its input is closed.
const GRACE: Duration = Duration::from_secs(2);

/// Maximum lines of a server that wait to be looked at.
const MAX_WAITING_LINES: usize = 16;

/// Maximum bytes of standard error that are kept.
const MAX_STDERR_BYTES: u64 = 64 * 1024;

/// The answers of a server.
#[derive(Debug, Default)]
pub(super) struct ServerAnswers {
    /// The names of its tools.
    pub(super) tools: Vec<String>,
    /// The harmless call that was made: its tool, and the error.
    pub(super) call: Option<(&'static str, Option<String>)>,
    /// The first line on standard output that is no message.
    pub(super) noise: Option<String>,
    /// The time to the answer of the greeting.
    pub(super) took: Duration,
}

/// Makes the finding about a server that can't be used.
fn unusable(what: String, help: &'static str) -> Diagnostic {
    let why = "The host goes on without the tools.";
    fault("host-server-fails", what, why, help)
}

/// Starts a server, and talks to it. Then all that it started is ended.
///
/// # Errors
///
/// Returns a finding if it can't be used.
pub(super) fn shake_hands(program: &Program<'_>) -> Result<ServerAnswers, Diagnostic> {
    let mut running = program.start().map_err(|e| {
        let what = format!("The server can't be started: {e}.");
        unusable(what, "Run the command by hand to see why.")
    })?;
    let mut talk = Talk {
        input: running.input.take().map(File::from),
        lines: lines_of(running.output.take()),
        stderr: end_of(running.errors.take()),
        answers: ServerAnswers::default(),
        next_id: 0,
    };
    let result = talk.run();
    let Talk { input, answers, .. } = talk;
    drop(input);
    if !running.wait(GRACE) {
        running.end(Duration::ZERO);
        running.wait(GRACE);
    }
    result.map(|()| answers)
}

/// Reads lines on a thread, until the output is closed or a line is too long, which is the last one.
fn lines_of(output: Option<OwnedFd>) -> Receiver<Vec<u8>> {
    let (sender, receiver) = sync_channel(MAX_WAITING_LINES);
    if let Some(output) = output {
        std::thread::spawn(move || {
            let mut output = BufReader::new(File::from(output));
            let mut read = || {
                let mut line = Vec::new();
                let mut within = (&mut output).take(MAX_WITH_MEDIA_BYTES as u64 + 1);
                let read = within.read_until(b'\n', &mut line);
                read.is_ok_and(|read| read > 0).then_some(line)
            };
            while let Some(line) = read() {
                let is_last = line.len() > MAX_WITH_MEDIA_BYTES;
                if sender.send(line).is_err() || is_last {
                    break;
                }
            }
        });
    }
    receiver
}

/// Reads standard error on a thread, until it is closed.
fn end_of(errors: Option<OwnedFd>) -> Receiver<Vec<u8>> {
    let (sender, receiver) = channel();
    if let Some(errors) = errors {
        std::thread::spawn(move || {
            let mut errors = File::from(errors);
            let mut kept = Vec::new();
            let _ = (&mut errors).take(MAX_STDERR_BYTES).read_to_end(&mut kept);
            // What waits for room in the pipe would never end.
            let _ = std::io::copy(&mut errors, &mut std::io::sink());
            let _ = sender.send(kept);
        });
    }
    receiver
}

/// A talk with a server.
struct Talk {
    input: Option<File>,
    lines: Receiver<Vec<u8>>,
    stderr: Receiver<Vec<u8>>,
    answers: ServerAnswers,
    next_id: u64,
}

impl Talk {
    fn run(&mut self) -> Result<(), Diagnostic> {
        let began = Instant::now();
        let client = json!({ "name": "gemini-tools-doctor", "version": "1" });
        let greeting = json!({
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client,
        });
        self.demand("initialize", &greeting)?;
        self.answers.took = began.elapsed();
        self.say(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        let list = self.demand("tools/list", &json!({}))?;
        let tools = list["tools"].as_array().into_iter().flatten();
        let names = tools.filter_map(|tool| tool["name"].as_str().map(str::to_owned));
        self.answers.tools = names.collect();
        let is_there = |(name, _): &(&str, &str)| self.answers.tools.iter().any(|one| one == name);
        let Some((name, arguments)) = HARMLESS.into_iter().find(is_there) else {
            return Ok(());
        };
        let arguments: Value = serde_json::from_str(arguments).unwrap_or_default();
        let call = json!({ "name": name, "arguments": arguments });
        let error = match self.ask("tools/call", &call)? {
            Ok(result) if result["isError"] == true => {
                let text = result["content"][0]["text"].as_str();
                Some(text.unwrap_or_default().to_owned())
            }
            Ok(_) => None,
            Err(message) => Some(message),
        };
        self.answers.call = Some((name, error));
        Ok(())
    }

    /// Writes a message. A server that reads nothing more gives no answer either.
    fn say(&mut self, message: &Value) {
        if let Some(input) = &mut self.input {
            let line = format!("{message}\n");
            let _ = gemini_tools_process::own::without_sigpipe(|| input.write_all(line.as_bytes()));
        }
    }

    /// Makes a request without which there are no tools, and waits for its result.
    fn demand(&mut self, method: &str, params: &Value) -> Result<Value, Diagnostic> {
        self.ask(method, params)?.map_err(|message| {
            let what = format!("The server refuses {method}: {message}");
            let help = "Name serve_tools of this version: get_tools init does.";
            unusable(what, help)
        })
    }

    /// Makes a request, and waits for its result, or the message by which the server refuses it.
    fn ask(&mut self, method: &str, params: &Value) -> Result<Result<Value, String>, Diagnostic> {
        self.next_id += 1;
        let id = self.next_id;
        self.say(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        let until = Instant::now() + LIMIT;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let line = match self.lines.recv_timeout(left) {
                Ok(line) => line,
                Err(RecvTimeoutError::Timeout) => {
                    let what = format!("The server does not answer {method}.");
                    let help = "Name serve_tools itself; a wrapper must hand on standard input and output.";
                    return Err(unusable(what, help));
                }
                Err(RecvTimeoutError::Disconnected) => return Err(self.ended()),
            };
            if line.len() > MAX_WITH_MEDIA_BYTES {
                let what = format!(
                    "The server answers {method} with a line of more than {} MiB.",
                    MAX_WITH_MEDIA_BYTES >> 20
                );
                let help = "Name serve_tools itself, whose lines are shorter.";
                return Err(unusable(what, help));
            }
            let Ok(mut message) = json::read::<Value>(&line) else {
                let text = String::from_utf8_lossy(&line).trim().to_owned();
                self.answers.noise.get_or_insert(text);
                continue;
            };
            // A request of the server may have the same number.
            if message["id"] != id || !message["method"].is_null() {
                continue;
            }
            if let Some(error) = message["error"]["message"].as_str() {
                return Ok(Err(error.to_owned()));
            }
            return Ok(Ok(message["result"].take()));
        }
    }

    /// Makes the finding about a server that ends, or closes its output, before it answers.
    fn ended(&self) -> Diagnostic {
        let stderr = self.stderr.recv_timeout(GRACE).unwrap_or_default();
        let noise = self.answers.noise.as_deref().unwrap_or_default();
        let said = [stderr.as_slice(), noise.as_bytes()].map(excerpt).join(" ");
        let what = format!("The server ends before it answers. {}", said.trim());
        let help = "Run the command by hand and correct what it says; its arguments are those of serve_tools.";
        unusable(what, help)
    }
}
