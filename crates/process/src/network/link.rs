//! Starts `serve_tools --connect`, which reaches the network and MCP servers, and waits for
//! answers.
//!
//! The executable is in the same directory as this one, and is started on the first request. It
//! ends all servers when its input ends, which happens however this process ends.

use crate::line_client::{LineClient, LineReply, TICK};
use crate::network::wire::{
    Ask, ClientMessage, Connect, FailureKind, OldPart, Request, ServerRequest, SyntaxRequest,
    WebAnswer, WebRequest, WebTask,
};
use crate::network::{Network, protocol};
use crate::read_buffer::is_readable;
use gemini_tools_core::tool::{Cancellation, Context, ErrorKind, OutputUpdate, ToolError};
use gemini_tools_syntax::{Symbol, SyntaxError};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::collections::BTreeSet;
use std::env::consts::EXE_SUFFIX;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

const PROGRAM: &str = "serve_tools";

const LAUNCHERS: &str = "GEMINI_TOOLS_LAUNCHERS";

/// How much longer than its time limit a request is waited for. The helper process enforces the
/// limit itself, and its error says more than one made here.
const SPARE: Duration = Duration::from_secs(2);

/// How long to wait for all servers to end. The helper process ends them even if this process no
/// longer waits.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(2);

/// How long to wait for an answer about syntax. The parser itself gives up after 50 ms of processor
/// time and reports it; this limit is for a machine so busy that the parser does not get that much.
const PARSING: Duration = Duration::from_secs(5);

/// Why a request has no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Kind of the failure.
    pub why: FailureKind,
    /// Human-readable reason.
    pub message: String,
}

impl Failure {
    fn new(why: FailureKind, message: impl Into<String>) -> Self {
        Self {
            why,
            message: message.into(),
        }
    }
}

impl LineReply for ClientMessage {
    type Notes = BTreeSet<String>;

    fn answers(&self) -> Option<(u64, bool)> {
        match self {
            ClientMessage::Done { id, .. } | ClientMessage::Failed { id, .. } => Some((*id, true)),
            ClientMessage::Progress { id, .. } | ClientMessage::ModelCall { id, .. } => {
                Some((*id, false))
            }
            ClientMessage::Changed { .. } => None,
        }
    }

    fn note(self, changed: &mut BTreeSet<String>) {
        if let ClientMessage::Changed { server } = self {
            changed.insert(server);
        }
    }
}

/// The connection to the helper process, which is started on the first request, and again if it has
/// ended.
#[derive(Debug, Default)]
pub struct Link {
    client: LineClient<ClientMessage>,
}

/// A request to a server.
#[derive(Debug)]
pub struct Question<'a> {
    /// The server's name in the settings.
    pub server: &'a str,
    /// How to reach the server.
    pub connect: &'a Connect,
    /// What is requested.
    pub what: ServerRequest,
    /// Time limit of the request.
    pub limit: Duration,
}

impl Link {
    /// Makes a request to a server and returns its answer. `progress` gets progress messages before
    /// it.
    ///
    /// # Errors
    ///
    /// Returns the reason why there is no answer.
    pub fn ask(
        &self,
        question: &Question<'_>,
        cancel: &Cancellation,
        progress: &dyn Fn(&str),
    ) -> Result<Value, Failure> {
        let until = Instant::now().checked_add(question.limit + SPARE);
        self.exchange(
            |id| {
                Ask::Do(Request {
                    id,
                    server: question.server.to_owned(),
                    connect: question.connect.clone(),
                    limit_ms: u64::try_from(question.limit.as_millis()).unwrap_or(u64::MAX),
                    what: question.what.clone(),
                })
            },
            until,
            cancel,
            &|message| {
                if let ClientMessage::Progress { text, .. } = message {
                    progress(&text);
                }
            },
        )
    }

    /// Begins to look for the syntax errors that a change of the file `name` makes, from `old` to
    /// `text`. The receiver gets them; it is closed without any if there is no answer in time.
    pub fn begin_errors(
        self: &Arc<Self>,
        name: String,
        old: &str,
        text: String,
    ) -> Receiver<Vec<SyntaxError>> {
        let (sender, receiver) = channel();
        let link = Arc::clone(self);
        let old = Some(OldPart::new(old, &text));
        // If no thread can be started, the sender is dropped, and the receiver gets no answer.
        let _ = std::thread::Builder::new().spawn(move || {
            if let Some(errors) = link.parse(name, old, text) {
                // The receiver may be gone because the call has failed meanwhile.
                let _ = sender.send(errors);
            }
        });
        receiver
    }

    /// Returns what the text of the file `name` defines; `None` if there is no answer in time, or
    /// the text is not one to parse.
    pub fn outline(&self, name: String, text: String) -> Option<Vec<Symbol>> {
        self.parse::<Option<_>>(name, None, text).flatten()
    }

    fn parse<T: DeserializeOwned>(
        &self,
        name: String,
        old: Option<OldPart>,
        text: String,
    ) -> Option<T> {
        let until = Instant::now().checked_add(PARSING);
        let id = 0;
        let request = SyntaxRequest {
            id,
            name,
            old,
            text,
        };
        let ask = |id| {
            let request = request.clone();
            Ask::Syntax(SyntaxRequest { id, ..request })
        };
        let never = Cancellation::default();
        let answer = self.exchange(ask, until, &never, &|_| {}).ok()?;
        serde_json::from_value(answer).ok()
    }

    fn exchange(
        &self,
        ask: impl Fn(u64) -> Ask,
        until: Option<Instant>,
        cancel: &Cancellation,
        news: &dyn Fn(ClientMessage),
    ) -> Result<Value, Failure> {
        let (id, receiver) = self
            .client
            .send(command, |id| line(&ask(id)))
            .map_err(|e| Failure::new(FailureKind::Connection, e.to_string()))?;
        loop {
            match receiver.recv_timeout(TICK) {
                Ok(ClientMessage::Done { result, .. }) => return Ok(result),
                Ok(ClientMessage::Failed { why, message, .. }) => {
                    return Err(Failure { why, message });
                }
                Ok(message) => news(message),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(Failure::new(
                        FailureKind::Gone,
                        format!(
                            "{PROGRAM} has ended without an answer; it must be of the same version \
                             as this executable ({})",
                            protocol()
                        ),
                    ));
                }
            }
            let caller = cancel.caller();
            if caller.is_some_and(|caller| is_readable(caller, Duration::ZERO)) {
                cancel.cancel();
            }
            if cancel.interruption().is_some() {
                self.give_up(id);
                return Err(Failure::new(FailureKind::Cancelled, "it was cancelled"));
            }
            if until.is_some_and(|until| Instant::now() > until) {
                self.give_up(id);
                return Err(Failure::new(FailureKind::TimedOut, "it took too long"));
            }
        }
    }

    /// Returns the servers whose tools have changed since the last call of this method.
    pub fn take_changed(&self) -> BTreeSet<String> {
        self.client.take_notes()
    }

    fn give_up(&self, id: u64) {
        self.client.cancel(id, &line(&Ask::Cancel { id }));
    }
}

impl Network for Link {
    fn run(
        &self,
        task: &WebTask,
        home: Option<&Path>,
        cx: &Context,
    ) -> Result<WebAnswer, ToolError> {
        let cancel = &cx.cancel;
        let request = |id| {
            let left = cancel.deadline().map(|deadline| {
                let left = deadline.saturating_duration_since(Instant::now());
                u64::try_from(left.as_millis() + 1).unwrap_or(u64::MAX)
            });
            Ask::Web(WebRequest {
                id,
                limit_ms: left,
                home: home.map(Path::to_owned),
                task: task.clone(),
            })
        };
        let answer = self.exchange(request, None, cancel, &|message| {
            if let ClientMessage::ModelCall { call, .. } = message {
                cx.update_output(OutputUpdate::ModelCall(call));
            }
        });
        let mut reason = match answer.map(serde_json::from_value) {
            Ok(Ok(answer)) => {
                // The helper process knows only how much time was left, and not whose limit that
                // was: `check` returns the error that says so.
                if let WebAnswer::Error {
                    kind: ErrorKind::Timeout,
                    ..
                } = &answer
                {
                    cancel.check()?;
                }
                return Ok(answer);
            }
            Ok(Err(e)) => e.to_string(),
            Err(failure) => {
                if failure.why == FailureKind::Cancelled {
                    cancel.check()?;
                }
                failure.message
            }
        };
        if let Some(first) = reason.get(..1).map(str::to_ascii_uppercase) {
            reason.replace_range(..1, &first);
        }
        Err(ToolError::failed(format!("{reason}.")))
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        if let Some(running) = self.client.take() {
            // If some servers take longer, the helper process ends them although nobody waits for
            // it.
            let _ = running.close(SHUTDOWN_TIMEOUT);
        }
    }
}

/// Returns the path of `serve_tools`, which is in the directory of this executable.
///
/// # Errors
///
/// Returns an error if it is not there; the message says what to do.
pub fn helper() -> io::Result<PathBuf> {
    let own = std::env::current_exe().map_err(|e| {
        let what = "the directory of this executable is not known";
        io::Error::other(format!("{what}: {e}"))
    })?;
    let program = own.with_file_name(format!("{PROGRAM}{EXE_SUFFIX}"));
    if program.is_file() {
        return Ok(program);
    }
    let what = format!(
        "{PROGRAM}, which reaches MCP servers and the network, must be beside this executable"
    );
    // In a checkout `serve_tools` may not have been built yet. It is not built now, since a build
    // takes longer than a call may.
    Err(io::Error::other(match launcher() {
        Some(launcher) => format!(
            "{what}, but is not built yet; run {} --version once, which builds it",
            launcher.display()
        ),
        None => format!(
            "{what}, but {} does not exist; install it there",
            program.display()
        ),
    }))
}

fn launcher() -> Option<PathBuf> {
    let launcher = Path::new(&std::env::var_os(LAUNCHERS)?).join(PROGRAM);
    launcher.is_file().then_some(launcher)
}

fn command() -> io::Result<Command> {
    let mut command = Command::new(helper()?);
    command.args(["--connect", &protocol()]);
    Ok(command)
}

fn line(ask: &Ask) -> Vec<u8> {
    // Serialising fails only for maps whose keys are not strings.
    let mut line = serde_json::to_vec(ask).unwrap_or_default();
    line.push(b'\n');
    line
}
