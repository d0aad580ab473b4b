//! The implementation of `serve_tools --connect`: connections to MCP servers, by means of the
//! official SDK, and the tasks of built-in tools that need the network (`gemini-tools-net`) or a
//! parser (`gemini-tools-syntax`).
//!
//! Requests arrive as JSON lines on standard input, and answers are written as JSON lines to
//! standard output (`network::wire` in `gemini-tools-process`). A server is connected to when it is
//! first needed. At the end of the input, all servers are ended with all their descendants. That
//! also happens if this process is killed, because each server runs under a supervisor.
//!
//! The caller decides which servers there are and whether a call may be made.
//!
//! # Example
//!
//! ```no_run
//! fn main() -> std::process::ExitCode {
//!     gemini_tools_mcp_sdk::connect::run().into()
//! }
//! ```

mod connection;
mod environment;
mod handler;
mod http;
mod memory;
mod sse;
mod stdio;

use crate::lock;
use crate::message::{self, Message};
use connection::{Connection, WaitLimit};
use gemini_tools_core::json;
use gemini_tools_core::text::{excerpt, one_line};
use gemini_tools_core::tool::{Cancellation, Context, OutputUpdate, TICK};
use gemini_tools_process::network::wire::{
    Ask, ClientMessage, Connect, FailureKind, Request, ServerRequest, SyntaxRequest, WebRequest,
};
use gemini_tools_syntax::{Language, new_errors, outline};
use handler::Handler;
use rmcp::RoleClient;
use rmcp::model::{CustomResult, JsonRpcMessage, ServerResult};
use rmcp::service::RxJsonRpcMessage;
use rustix::io::fcntl_dupfd_cloexec;
use rustix::stdio::stdin;
use serde::Deserialize;
use serde_json::Value;
use std::collections::HashMap;
use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(1);

const MAX_MESSAGE_CHARS: usize = 1500;

#[derive(Debug)]
pub(crate) struct Problem {
    why: FailureKind,
    message: String,
    /// Set if the failure suggests that the server only supports the newest handshake, which is
    /// then tried.
    may_know_newest: bool,
    is_refusal: bool,
}

impl Problem {
    fn connection(message: impl Into<String>) -> Self {
        Self::new(FailureKind::Connection, message)
    }

    fn new(why: FailureKind, message: impl Into<String>) -> Self {
        Self {
            why,
            message: message.into(),
            may_know_newest: false,
            is_refusal: false,
        }
    }
}

/// Parses a server's message, which must be of a size that [`json::check_message`] accepts. Returns
/// `None` for what is not a message. Results, except those of a handshake, are kept as plain JSON:
/// the SDK's types reject what is older or newer than they are, and one unknown element would make
/// a whole list unreadable.
///
/// [`json::check_message`]: gemini_tools_core::json::check_message
fn parse_message(text: &[u8]) -> Option<RxJsonRpcMessage<RoleClient>> {
    match message::read(text) {
        Message::Request(_, value) | Message::Notification(value) => json::from_value(value).ok(),
        Message::Response(id, result) => {
            let is_greeting = ["protocolVersion", "supportedVersions"]
                .iter()
                .any(|key| result.get(key).is_some());
            let greeting = is_greeting.then(|| ServerResult::deserialize(&result).ok());
            let result = greeting
                .flatten()
                .unwrap_or_else(|| CustomResult::new(result).into());
            Some(JsonRpcMessage::response(result, id))
        }
        Message::Error(id, error) => Some(JsonRpcMessage::error(error, id)),
        Message::Unreadable(..) => None,
    }
}

fn send(message: &ClientMessage) {
    let Ok(mut line) = serde_json::to_vec(message) else {
        return;
    };
    line.push(b'\n');
    let mut stdout = std::io::stdout().lock();
    // If this fails, the caller has exited, and the input ends as well.
    let _ = stdout.write_all(&line).and_then(|()| stdout.flush());
}

fn failure(id: u64, message: String) -> ClientMessage {
    ClientMessage::Failed {
        id,
        why: FailureKind::Connection,
        message,
    }
}

struct Server {
    connect: Connect,
    handler: Handler,
    connection: tokio::sync::Mutex<Option<Arc<Connection>>>,
}

impl Server {
    /// Formats a message for the user: on one line, of limited length, without control characters,
    /// and without the server's URL, which may contain a secret.
    fn tidy_line(&self, message: &str) -> String {
        let mut message = message.to_owned();
        for url in [&self.connect.url, &self.connect.http_url]
            .into_iter()
            .flatten()
        {
            message = message.replace(&format!(" for url ({url})"), "");
            message = message.replace(url.as_str(), "its address");
        }
        let line = one_line(&message.replace(char::is_control, " "));
        excerpt(line.trim_end_matches('.'), MAX_MESSAGE_CHARS).into_owned()
    }

    async fn ask(&self, what: &ServerRequest, until: &mut WaitLimit) -> Result<Value, Problem> {
        self.connection(until).await?.ask(what, until).await
    }

    async fn connection(&self, until: &mut WaitLimit) -> Result<Arc<Connection>, Problem> {
        let mut slot = tokio::select! {
            slot = self.connection.lock() => slot,
            why = until.over() => {
                return Err(Problem::new(why, "it is still being connected to"));
            }
        };
        if let Some(connection) = slot.as_ref().filter(|c| !c.is_closed()) {
            return Ok(Arc::clone(connection));
        }
        if let Some(old) = slot.take() {
            tokio::spawn(async move {
                // Calls over an expired session may still be answered.
                while Arc::strong_count(&old) > 1 {
                    sleep(TICK).await;
                }
                old.end().await;
            });
            // After a restart, the server may be of another version with other tools.
            self.handler.say_changed();
        }
        let new = Connection::open(&self.connect, self.handler.clone(), until).await?;
        let new = Arc::new(new);
        *slot = Some(Arc::clone(&new));
        Ok(new)
    }
}

/// A request that is not answered yet. If the task or thread that works on it panics, dropping this
/// value answers the request with an error.
struct Open {
    id: u64,
    running: Cancels,
    answer: Option<ClientMessage>,
}

impl Open {
    fn new(id: u64, running: &Cancels, cancel: impl FnOnce() + Send + 'static) -> Self {
        lock(running).insert(id, Box::new(cancel));
        Self {
            id,
            running: Arc::clone(running),
            answer: None,
        }
    }

    fn answer(mut self, answer: ClientMessage) {
        self.answer = Some(answer);
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        lock(&self.running).remove(&self.id);
        let crashed = || {
            failure(
                self.id,
                "the request has crashed (internal error)".to_owned(),
            )
        };
        send(&self.answer.take().unwrap_or_else(crashed));
    }
}

type Cancels = Arc<Mutex<HashMap<u64, Box<dyn FnOnce() + Send>>>>;

#[derive(Default)]
struct Hub {
    servers: HashMap<String, Arc<Server>>,
    running: Cancels,
    tasks: JoinSet<()>,
}

/// Serves requests until standard input ends. Returns the exit status: 0, 1 without an async
/// runtime, or 2 if standard input can't be read.
pub fn run() -> u8 {
    // Ctrl-C in the terminal is for the process that has started this one.
    gemini_tools_process::own::leave_terminal();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let Ok(runtime) = runtime else { return 1 };
    let status = runtime.block_on(serve());
    // A pending DNS lookup would otherwise delay the exit.
    runtime.shutdown_timeout(Duration::ZERO);
    status
}

async fn serve() -> u8 {
    let stdin = fcntl_dupfd_cloexec(stdin(), 0)
        .map_err(std::io::Error::from)
        .and_then(tokio::net::unix::pipe::Receiver::from_owned_fd);
    let Ok(stdin) = stdin else { return 2 };
    let mut hub = Hub::default();
    let mut lines = BufReader::with_capacity(64 * 1024, stdin);
    let mut line = Vec::new();
    while let Ok(1..) = lines.read_until(b'\n', &mut line).await {
        if let Ok(ask) = serde_json::from_slice(&line) {
            hub.take(ask);
        }
        line.clear();
        line.shrink_to(64 * 1024);
    }
    hub.end().await;
    0
}

impl Hub {
    fn take(&mut self, ask: Ask) {
        match ask {
            Ask::Do(request) => self.start(request),
            Ask::Web(request) => self.start_web(request),
            Ask::Syntax(request) => self.start_syntax(request),
            Ask::Cancel { id } => {
                let cancel = lock(&self.running).remove(&id);
                if let Some(cancel) = cancel {
                    cancel();
                }
            }
        }
    }

    fn start(&mut self, request: Request) {
        while self.tasks.try_join_next().is_some() {}
        let server = self
            .servers
            .entry(request.server)
            .or_insert_with_key(|name| {
                Arc::new(Server {
                    handler: Handler::new(name, &request.connect.roots),
                    connect: request.connect,
                    connection: tokio::sync::Mutex::default(),
                })
            });
        let server = Arc::clone(server);
        let (switch, given_up) = watch::channel(false);
        let cancel = move || {
            let _ = switch.send(true);
        };
        let open = Open::new(request.id, &self.running, cancel);
        self.tasks.spawn(async move {
            let id = request.id;
            let mut until = WaitLimit {
                id,
                deadline: Instant::now() + Duration::from_millis(request.limit_ms),
                given_up,
            };
            let mut answer = server.ask(&request.what, &mut until).await;
            if matches!(&answer, Err(problem) if problem.why == FailureKind::Reconnected) {
                answer = server.ask(&request.what, &mut until).await;
            }
            open.answer(match answer {
                Ok(result) => ClientMessage::Done { id, result },
                Err(Problem { why, message, .. }) => ClientMessage::Failed {
                    id,
                    why,
                    message: server.tidy_line(&message),
                },
            });
        });
    }

    fn start_web(&self, request: WebRequest) {
        let limit = request.limit_ms.map(Duration::from_millis);
        let cancel = limit.map_or_else(Cancellation::default, Cancellation::with_time_limit);
        let (id, token) = (request.id, cancel.clone());
        let open = Open::new(id, &self.running, move || token.cancel());
        start_thread(open, move || {
            let cx = Context::new(cancel, true).with_live_output(move |news| {
                if let OutputUpdate::ModelCall(call) = news {
                    send(&ClientMessage::ModelCall { id, call });
                }
            });
            let answer = gemini_tools_net::web::run(&request.task, request.home.as_deref(), &cx);
            serde_json::to_value(answer).map_err(|e| e.to_string())
        });
    }

    /// Starts a thread that parses a text. From then on this process can open no files or
    /// connections: the parsers' grammars are C code, and the text may be crafted to exploit a
    /// fault in them.
    fn start_syntax(&self, request: SyntaxRequest) {
        let open = Open::new(request.id, &self.running, || ());
        memory::limit_once();
        memory::open_nothing_more();
        start_thread(open, move || {
            let text = &request.text;
            let language = Language::of_name(&request.name);
            let answer = language.map(|language| match &request.old {
                Some(part) => {
                    let old = part.restore(text).unwrap_or_default();
                    serde_json::to_value(new_errors(&old, text, language))
                }
                None => serde_json::to_value(outline(text, language)),
            });
            let answer = answer.and_then(Result::ok);
            answer.ok_or_else(|| "there is no such language".to_owned())
        });
    }

    async fn end(mut self) {
        for (_, cancel) in std::mem::take(&mut *lock(&self.running)) {
            cancel();
        }
        // Give the tasks time to notify their servers of the cancellation.
        let _ = timeout(SHUTDOWN_TIMEOUT, async {
            while self.tasks.join_next().await.is_some() {}
        })
        .await;
        let mut ending = JoinSet::new();
        for server in self.servers.into_values() {
            ending.spawn(async move {
                let connection = server.connection.lock().await.take();
                if let Some(connection) = connection {
                    connection.end().await;
                }
            });
        }
        while ending.join_next().await.is_some() {}
    }
}

fn start_thread(open: Open, work: impl FnOnce() -> Result<Value, String> + Send + 'static) {
    memory::limit_once();
    let id = open.id;
    // If no thread can be started, dropping the request answers it.
    let _ = std::thread::Builder::new().spawn(move || {
        let answer = work();
        open.answer(match answer {
            Ok(result) => ClientMessage::Done { id, result },
            Err(message) => failure(id, message),
        });
    });
}
