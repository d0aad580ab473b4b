//! Talks to an MCP server as a host does: initialization, the list of tools, and one call that has
//! no effect.

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
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

/// How long the server may take to answer a request. Of all hosts, Codex gives up first, after 10
/// s.
const LIMIT: Duration = Duration::from_secs(10);

const GRACE: Duration = Duration::from_secs(2);

const MAX_WAITING_LINES: usize = 1024;

pub(super) struct ServerAnswers {
    pub(super) tools: usize,
    /// The error of the harmless call, if it failed. `None` if the server does not have its tool.
    pub(super) call: Option<Result<(), String>>,
}

fn unusable(what: impl Into<String>) -> Diagnostic {
    let why = "The host goes on without the tools.";
    let help = "Name serve_tools itself, with its own arguments only: get_tools init does. Run the command by hand to see what it says.";
    fault("host-server-fails", what, why, help)
}

pub(super) fn shake_hands(program: &Program<'_>) -> Result<ServerAnswers, Diagnostic> {
    let running = program.start();
    let mut running =
        running.map_err(|e| unusable(format!("The server can't be started: {e}.")))?;
    let mut talk = Talk {
        input: running.input.take().map(File::from),
        lines: lines_of(running.output.take()),
        stderr: lines_of(running.errors.take()),
        next_id: 0,
    };
    let answers = talk.run();
    talk.input = None;
    if !running.wait(GRACE) {
        running.end(Duration::ZERO);
        running.wait(GRACE);
    }
    answers
}

/// Reads lines on a thread until the stream ends or a line is too long. Lines that nobody takes are
/// dropped, except for the first ones, so that the server can always write.
fn lines_of(stream: Option<OwnedFd>) -> Receiver<Vec<u8>> {
    let (sender, receiver) = sync_channel(MAX_WAITING_LINES);
    let _ = std::thread::Builder::new().spawn(move || {
        let mut stream = BufReader::new(File::from(stream?));
        loop {
            let mut line = Vec::new();
            let mut within = (&mut stream).take(MAX_WITH_MEDIA_BYTES as u64);
            within.read_until(b'\n', &mut line).ok()?;
            if !line.ends_with(b"\n") {
                return Some(());
            }
            let _ = sender.try_send(line);
        }
    });
    receiver
}

struct Talk {
    input: Option<File>,
    lines: Receiver<Vec<u8>>,
    stderr: Receiver<Vec<u8>>,
    next_id: u64,
}

impl Talk {
    fn run(&mut self) -> Result<ServerAnswers, Diagnostic> {
        let client = json!({ "name": "gemini-tools-doctor", "version": "1" });
        let greeting = json!({
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client,
        });
        self.demand("initialize", &greeting)?;
        self.say(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        let list = self.demand("tools/list", &json!({}))?;
        let tools = list["tools"].as_array().map_or(&[][..], Vec::as_slice);
        let mut call = None;
        if tools.iter().any(|tool| tool["name"] == HARMLESS) {
            let params = json!({ "name": HARMLESS, "arguments": { "path": "." } });
            call = Some(match self.ask("tools/call", &params)? {
                Ok(result) if result["isError"] == true => {
                    let text = result["content"][0]["text"].as_str();
                    Err(text.unwrap_or_default().to_owned())
                }
                answer => answer.map(drop),
            });
        }
        let tools = tools.len();
        Ok(ServerAnswers { tools, call })
    }

    fn say(&mut self, message: &Value) {
        if let Some(input) = &mut self.input {
            let line = format!("{message}\n");
            let _ = gemini_tools_process::own::without_sigpipe(|| input.write_all(line.as_bytes()));
        }
    }

    fn demand(&mut self, method: &str, params: &Value) -> Result<Value, Diagnostic> {
        let answer = self.ask(method, params)?;
        answer.map_err(|message| unusable(format!("The server refuses {method}: {message}")))
    }

    fn ask(&mut self, method: &str, params: &Value) -> Result<Result<Value, String>, Diagnostic> {
        self.next_id += 1;
        let id = self.next_id;
        self.say(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        let until = Instant::now() + LIMIT;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let line = self.lines.recv_timeout(left).map_err(|e| match e {
                RecvTimeoutError::Timeout => {
                    unusable(format!("The server does not answer {method}."))
                }
                RecvTimeoutError::Disconnected => {
                    let stderr = std::iter::from_fn(|| self.stderr.recv_timeout(GRACE).ok());
                    let stderr: Vec<u8> = stderr.flatten().collect();
                    unusable(format!(
                        "The server ends before it answers {method}. {}",
                        excerpt(&stderr)
                    ))
                }
            })?;
            // Lines that are not messages are skipped, as by hosts. A request from the server may
            // have the same id, but it has a method.
            let mut message = json::read::<Value>(&line).unwrap_or_default();
            if message["id"] != id || !message["method"].is_null() {
                continue;
            }
            return Ok(match message["error"]["message"].as_str() {
                Some(error) => Err(error.to_owned()),
                None => Ok(message["result"].take()),
            });
        }
    }
}
