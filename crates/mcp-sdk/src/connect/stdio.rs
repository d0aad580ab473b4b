//! A server that is a child process and communicates over its standard streams.
//!
//! # How it works
//!
//! [`start`] starts the program with three pipes. [`Stdio`] is the transport from which the SDK
//! reads messages and to which it writes them, one line of JSON each. A separate task reads
//! standard error to its end, so that a server that writes much there is never blocked, and keeps
//! the last `TAIL_BYTES`.
//!
//! The SDK's own transport is not used, because it hangs if a server prints without end or prints
//! an endless line. Here, three things end the connection: a line of more than
//! `MAX_WITH_MEDIA_BYTES`, a message that would take too much memory (`check_message`), and more
//! than `MAX_GARBAGE_BYTES` of output that is not messages. Less of that is skipped, because many
//! servers print a greeting; the first such line is kept.
//!
//! [`StrayOutputLog`] holds what can explain a failure: why reading was stopped, the first line
//! that was not a message, and the end of standard error. It is shared with the connection and
//! outlives the transport.
//!
//! The SDK may drop a pending `receive` and call it again. A partly read line is therefore in
//! `self.line` and not in the future. Closing the transport closes the server's standard input,
//! which asks it to exit. Waiting for that, and killing a server that does not exit, is up to
//! `connection`.

use super::environment;
use crate::lock;
use gemini_tools_core::json::{self, MAX_WITH_MEDIA_BYTES};
use gemini_tools_core::text::one_line;
use gemini_tools_process::network::wire::Connect;
use gemini_tools_process::piped::{PipedProgram, Program};
use rmcp::RoleClient;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rustix::fd::OwnedFd;
use std::collections::VecDeque;
use std::ffi::OsStr;
use std::io;
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::unix::pipe::{self, Receiver as Reader};

const MAX_GARBAGE_BYTES: usize = 1024 * 1024;

const TAIL_BYTES: usize = 2000;

const CHUNK_BYTES: usize = 64 * 1024;

/// The output of a server other than messages, which may explain a failure.
#[derive(Debug, Clone, Default)]
pub(super) struct StrayOutputLog(Arc<Mutex<StrayOutput>>);

#[derive(Debug, Default)]
struct StrayOutput {
    errors: VecDeque<u8>,
    is_complete: bool,
    garbage: Option<String>,
    fault: Option<String>,
}

impl StrayOutputLog {
    fn with<T>(&self, f: impl FnOnce(&mut StrayOutput) -> T) -> T {
        f(&mut lock(&self.0))
    }

    pub(super) fn is_complete(&self) -> bool {
        self.with(|said| said.is_complete)
    }

    pub(super) fn set_fault(&self, fault: String) {
        self.with(|said| said.fault = Some(fault));
    }

    pub(super) fn fault(&self) -> Option<String> {
        self.with(|said| said.fault.clone())
    }

    /// Returns the output as a clause to be appended to an error message; empty if there was none.
    /// If the server has exited, its standard error is presented as the reason.
    pub(super) fn description(&self, has_ended: bool) -> String {
        self.with(|said| {
            let mut told = String::new();
            if let Some(line) = &said.garbage {
                told.push_str(&format!("; it printed {line:?}, which is not a message"));
            }
            let errors: Vec<u8> = said.errors.iter().copied().collect();
            let errors = String::from_utf8_lossy(&errors);
            let words = one_line(&errors);
            if !words.is_empty() {
                let before = if has_ended && told.is_empty() {
                    ":"
                } else {
                    "; on standard error it said:"
                };
                told.push_str(&format!("{before} \"{words}\""));
            }
            told
        })
    }
}

pub(super) fn start(
    connect: &Connect,
    command: &str,
) -> Result<(PipedProgram, Stdio, StrayOutputLog), String> {
    let environment = environment::server_environment(&connect.env);
    let program = Program {
        name: OsStr::new(command),
        arguments: &connect.args,
        environment: &environment,
        directory: &connect.cwd,
    };
    let failed = |e: &dyn std::fmt::Display| format!("{command} can't be started: {e}");
    let mut piped = program.start().map_err(|e| match e.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory if !connect.cwd.is_dir() => {
            failed(&format!("there is no directory {}", connect.cwd.display()))
        }
        io::ErrorKind::NotFound => failed(&"there is no such program"),
        _ => failed(&e),
    })?;
    let (Some(input), Some(output), Some(errors)) =
        (piped.input.take(), piped.output.take(), piped.errors.take())
    else {
        return Err(failed(&"it has no pipes"));
    };
    let aside = StrayOutputLog::default();
    let stdio = Stdio::new(input, output, aside.clone()).map_err(|e| failed(&e))?;
    let errors = Reader::from_owned_fd(errors).map_err(|e| failed(&e))?;
    tokio::spawn(keep_tail(errors, aside.clone()));
    Ok((piped, stdio, aside))
}

async fn keep_tail(mut errors: Reader, aside: StrayOutputLog) {
    let mut buffer = vec![0; CHUNK_BYTES];
    while let Ok(n @ 1..) = errors.read(&mut buffer).await {
        aside.with(|said| {
            said.errors.extend(&buffer[..n]);
            let surplus = said.errors.len().saturating_sub(TAIL_BYTES);
            said.errors.drain(..surplus);
        });
    }
    aside.with(|said| said.is_complete = true);
}

type Writer = Arc<tokio::sync::Mutex<Option<pipe::Sender>>>;

pub(super) struct Stdio {
    reader: BufReader<Reader>,
    /// The part of a line read so far. It is kept here because the SDK may drop a pending
    /// `receive`.
    line: Vec<u8>,
    writer: Writer,
    aside: StrayOutputLog,
    garbage_bytes: usize,
}

impl Stdio {
    fn new(input: OwnedFd, output: OwnedFd, aside: StrayOutputLog) -> io::Result<Self> {
        let writer = pipe::Sender::from_owned_fd(input)?;
        Ok(Self {
            reader: BufReader::with_capacity(CHUNK_BYTES, Reader::from_owned_fd(output)?),
            line: Vec::new(),
            writer: Arc::new(tokio::sync::Mutex::new(Some(writer))),
            aside,
            garbage_bytes: 0,
        })
    }

    async fn read_line(&mut self) -> bool {
        loop {
            let Ok(available) = self.reader.fill_buf().await else {
                return false;
            };
            if available.is_empty() {
                // A last message may have no newline.
                return !self.line.is_empty();
            }
            let end = memchr::memchr(b'\n', available);
            let taken = end.map_or(available.len(), |at| at + 1);
            if self.line.len() + taken > MAX_WITH_MEDIA_BYTES {
                self.aside.set_fault(format!(
                    "it printed a line of more than {MAX_WITH_MEDIA_BYTES} bytes"
                ));
                return false;
            }
            self.line.extend_from_slice(&available[..taken]);
            self.reader.consume(taken);
            if end.is_some() {
                return true;
            }
        }
    }

    fn ignore_line(&mut self) -> bool {
        let line = String::from_utf8_lossy(&self.line[..self.line.len().min(200)]);
        let line = line.trim().to_owned();
        self.aside
            .with(|said| said.garbage.get_or_insert(line).len());
        self.garbage_bytes += self.line.len();
        if self.garbage_bytes > MAX_GARBAGE_BYTES {
            let fault = "it floods its standard output with what is not a message";
            self.aside.set_fault(fault.to_owned());
            return false;
        }
        true
    }
}

impl Transport<RoleClient> for Stdio {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let writer = Arc::clone(&self.writer);
        async move {
            let mut line = serde_json::to_vec(&item)?;
            line.push(b'\n');
            let mut writer = writer.lock().await;
            let writer = writer.as_mut().ok_or(io::ErrorKind::NotConnected)?;
            writer.write_all(&line).await
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        while self.read_line().await {
            let line = self.line.trim_ascii();
            let is_empty = line.is_empty();
            let message = match json::check_message(line) {
                Ok(()) => super::parse_message(line),
                Err(e) => {
                    let fault = format!("it printed a message that is too large: {e}");
                    self.aside.set_fault(fault);
                    return None;
                }
            };
            if message.is_none() && !is_empty && !self.ignore_line() {
                return None;
            }
            self.line.clear();
            // Otherwise the memory of a large message would stay in use until the connection ends.
            self.line.shrink_to(CHUNK_BYTES);
            if message.is_some() {
                return message;
            }
        }
        None
    }

    async fn close(&mut self) -> io::Result<()> {
        self.writer.lock().await.take();
        Ok(())
    }
}
