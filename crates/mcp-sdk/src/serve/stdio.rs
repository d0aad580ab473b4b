//! A client on the standard streams: one message per line.
//!
//! The SDK's own transport (rmcp 3.9) ignores lines that are not JSON, so that the client waits for
//! ever, and answers JSON that is not a message without the request's id. Here every invalid line
//! is answered. Reading and writing is done on threads, because standard streams may be anything:
//! pipes, sockets, terminals, files.
//!
//! What may come before `initialize` is decided here, too. The SDK's own beginning ends the session
//! at an early notification, and lets the first request that stands for itself decide that all
//! others have to.

use super::{cant_serve, fault, rounds};
use crate::lock;
use gemini_tools_core::json::MAX_BYTES;
use gemini_tools_process::output::write_stdout;
use gemini_tools_session::Clock;
use rmcp::model::{
    ClientNotification, ClientRequest, ErrorData, GetMeta, JsonRpcMessage, ProtocolVersion,
    RequestId, ServerJsonRpcMessage,
};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage, serve_directly};
use rmcp::transport::Transport;
use rmcp::{RoleServer, ServerHandler};
use std::collections::HashSet;
use std::io::{self, BufRead, Read};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::Builder;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, sleep_until, timeout};

const QUEUE: usize = 64;

const MAX_CALLS: usize = 256;

const GREETING_FIRST: &str = "The first request must be initialize, with protocolVersion, \
                              capabilities and clientInfo; or each has all of these in its _meta.";

/// How long calls may continue after the end of the input. Requests that were piped in still get
/// answers, while a client that has exited does not leave calls running for long. Hosts wait two
/// seconds before they kill a server.
const GRACE: Duration = Duration::from_secs(1);

/// If the input was silent for this long before it ended, a client was waiting for answers and has
/// given up; requests from a pipe end without a pause. Some SDKs report an answer after that as an
/// error, so none is sent.
const GIVING_UP: Duration = Duration::from_millis(250);

const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);

pub(super) async fn serve(connection: impl ServerHandler, clock: Arc<Clock>, log: fn(&str)) -> u8 {
    let (stdio, written) = match Stdio::start(clock) {
        Ok(started) => started,
        Err(e) => return cant_serve(log, &e),
    };
    let _ = serve_directly(connection, stdio, None).waiting().await;
    // The transport is closed, but its last messages may still be in the queue.
    let _ = timeout(SHUTDOWN_TIMEOUT, written).await;
    0
}

type RequestIds = Arc<Mutex<HashSet<RequestId>>>;

struct Stdio {
    clock: Arc<Clock>,
    incoming: mpsc::Receiver<Option<Vec<u8>>>,
    silence: Arc<OnceLock<Duration>>,
    outgoing: Option<mpsc::Sender<Vec<u8>>>,
    pending: RequestIds,
    answered: watch::Sender<()>,
    /// Set if the client has sent `initialize`. It is then a program that may exit, not a file of
    /// requests.
    has_greeted: bool,
    /// The id of `initialize`, until that is answered.
    greeting: Option<RequestId>,
    /// Set when further answers are dropped. A client that has closed its output no longer expects
    /// answers, even if it still reads its input.
    is_silent: bool,
    /// The error for an invalid line. It is sent before the next line is read.
    refusal: Option<Vec<u8>>,
    deadline: Option<Instant>,
}

impl Stdio {
    fn start(clock: Arc<Clock>) -> io::Result<(Self, oneshot::Receiver<()>)> {
        let (lines, incoming) = mpsc::channel(QUEUE);
        let (outgoing, messages) = mpsc::channel(QUEUE);
        let (done, written) = oneshot::channel();
        let silence = Arc::new(OnceLock::new());
        let of_input = Arc::clone(&silence);
        Builder::new().spawn(move || {
            if let Some(length) = read(&lines) {
                let _ = of_input.set(length);
            }
            // Dropped last: the receiver sees the end of the input only after `silence` is set.
            drop(lines);
        })?;
        Builder::new().spawn(move || {
            write(messages);
            let _ = done.send(());
        })?;
        let stdio = Self {
            clock,
            incoming,
            silence,
            outgoing: Some(outgoing),
            pending: Arc::default(),
            answered: watch::Sender::default(),
            has_greeted: false,
            greeting: None,
            is_silent: false,
            refusal: None,
            deadline: None,
        };
        Ok((stdio, written))
    }

    fn take(&mut self, line: Option<Vec<u8>>) -> Option<RxJsonRpcMessage<RoleServer>> {
        let Some(line) = line else {
            let message = format!("A message is longer than {MAX_BYTES} bytes.");
            self.refuse(ErrorData::invalid_request(message, None), None);
            return None;
        };
        let line = line.trim_ascii();
        if line.is_empty() {
            return None;
        }
        match fault::read(line) {
            Ok(message) => return self.admit(message),
            Err((error, id)) => self.refuse(error, id),
        }
        None
    }

    fn admit(
        &mut self,
        message: RxJsonRpcMessage<RoleServer>,
    ) -> Option<RxJsonRpcMessage<RoleServer>> {
        match &message {
            JsonRpcMessage::Request(request) => {
                if let Some(error) = self.early(&request.request) {
                    self.refuse(error, Some(request.id.clone()));
                    return None;
                }
                // A subscription has no answer to wait for at the end.
                let ends = !matches!(
                    request.request,
                    ClientRequest::SubscriptionsListenRequest(_)
                );
                if ends && let Err((error, id)) = self.begin(&request.id) {
                    self.refuse(error, id);
                    return None;
                }
                if matches!(request.request, ClientRequest::InitializeRequest(_)) {
                    self.has_greeted = true;
                    self.greeting = Some(request.id.clone());
                }
            }
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) =
                    &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    // The SDK sends no answer to a cancelled request.
                    lock(&self.pending).remove(id);
                    self.answered.send_replace(());
                }
            }
            _ => {}
        }
        Some(message)
    }

    /// Returns why a request can't come now: too early, or `initialize` again.
    fn early(&self, request: &ClientRequest) -> Option<ErrorData> {
        let names_version = rounds::are_needed(request.get_meta().protocol_version().as_ref());
        match request {
            ClientRequest::PingRequest(_) if names_version => Some(fault::no_method("ping")),
            _ if self.has_greeted => (request.method() == "initialize").then(fault::has_begun),
            ClientRequest::InitializeRequest(_)
            | ClientRequest::PingRequest(_)
            | ClientRequest::DiscoverRequest(_) => None,
            _ => (!names_version && !is_complete(request))
                .then(|| ErrorData::invalid_params(GREETING_FIRST, None)),
        }
    }

    /// Waits until `initialize` is answered. The SDK handles requests side by side, but the next
    /// one may depend on what the client has said there.
    async fn greeted(&mut self) {
        let mut answered = self.answered.subscribe();
        if let Some(id) = &self.greeting {
            while lock(&self.pending).contains(id) && answered.changed().await.is_ok() {}
        }
        self.greeting = None;
    }

    fn begin(&self, id: &RequestId) -> Result<(), (ErrorData, Option<RequestId>)> {
        let mut pending = lock(&self.pending);
        if pending.contains(id) {
            return Err((fault::id_in_use(id), None));
        }
        // The answers may all have to be kept in memory until the client reads them.
        if pending.len() >= MAX_CALLS {
            let message = format!("{MAX_CALLS} requests are not answered yet; wait for some.");
            return Err((ErrorData::internal_error(message, None), Some(id.clone())));
        }
        pending.insert(id.clone());
        Ok(())
    }

    fn refuse(&mut self, error: ErrorData, id: Option<RequestId>) {
        self.refusal = line(&ServerJsonRpcMessage::error(error, id)).ok();
    }

    /// After the end of the input, waits until the running calls have ended. Cancels them when the
    /// time is over, or when the client no longer reads answers.
    async fn drain(&mut self) {
        let mut answered = self.answered.subscribe();
        let silence = self.silence.get().copied().unwrap_or_default();
        self.is_silent |= silence >= GIVING_UP;
        let grace = *self.deadline.get_or_insert_with(|| Instant::now() + GRACE);
        let with_shutdown = grace + SHUTDOWN_TIMEOUT;
        for (limit, is_last) in [(grace, false), (with_shutdown, true)] {
            loop {
                if lock(&self.pending).is_empty() {
                    return;
                }
                answered.mark_unchanged();
                let is_gone = self.outgoing.as_ref().is_none_or(mpsc::Sender::is_closed);
                tokio::select! {
                    _ = answered.changed() => {}
                    () = sleep_until(limit) => break,
                    () = std::future::ready(()), if is_gone && !is_last => break,
                }
            }
            // A client that has sent `initialize` and then closed its output has gone, so it does
            // not need the answers of calls that are cancelled now. If the requests came from a
            // file, somebody still reads the answers.
            self.is_silent |= self.has_greeted;
            self.clock.cancel_all();
        }
    }
}

impl Transport<RoleServer> for Stdio {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let id = match &item {
            JsonRpcMessage::Response(response) => Some(response.id.clone()),
            JsonRpcMessage::Error(error) => error.id.clone(),
            _ => None,
        };
        let (outgoing, pending) = (self.outgoing.clone(), Arc::clone(&self.pending));
        let (answered, is_silent) = (self.answered.clone(), self.is_silent);
        async move {
            let line = line(&item)?;
            let outgoing = outgoing.ok_or(io::ErrorKind::NotConnected)?;
            let sent = if is_silent {
                Ok(())
            } else {
                outgoing.send(line).await
            };
            if let Some(id) = id {
                let mut pending = lock(&pending);
                pending.remove(&id);
                drop(pending);
                answered.send_replace(());
            }
            sent.map_err(|_| io::ErrorKind::BrokenPipe.into())
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        let outgoing = self.outgoing.clone()?;
        // The SDK may drop this future at any await and call the method again, so all state is in
        // `self`.
        loop {
            self.greeted().await;
            if self.refusal.is_some() {
                // Wait until the client reads, before more is read from it.
                let Ok(place) = outgoing.reserve().await else {
                    break;
                };
                if let Some(line) = self.refusal.take() {
                    place.send(line);
                }
                continue;
            }
            let line = tokio::select! {
                line = self.incoming.recv() => line,
                // The client no longer reads answers.
                () = outgoing.closed() => None,
            };
            let Some(line) = line else { break };
            if let Some(message) = self.take(line) {
                return Some(message);
            }
        }
        drop(outgoing);
        self.drain().await;
        None
    }

    async fn close(&mut self) -> io::Result<()> {
        self.outgoing = None;
        Ok(())
    }
}

/// Returns true if a request has all with it that it needs without `initialize`.
fn is_complete(request: &ClientRequest) -> bool {
    let missing = request
        .get_meta()
        .missing_required_keys(&ProtocolVersion::V_2026_07_28);
    missing.is_empty()
}

fn line(message: &ServerJsonRpcMessage) -> serde_json::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    Ok(line)
}

fn read(lines: &mpsc::Sender<Option<Vec<u8>>>) -> Option<Duration> {
    let mut stdin = io::stdin().lock();
    loop {
        let mut line = Vec::new();
        let mut within = (&mut stdin).take(MAX_BYTES as u64);
        let began = Instant::now();
        if !matches!(within.read_until(b'\n', &mut line), Ok(1..)) {
            return Some(began.elapsed());
        }
        let is_whole = line.ends_with(b"\n") || line.len() < MAX_BYTES;
        if !is_whole && stdin.skip_until(b'\n').is_err() {
            return None;
        }
        lines.blocking_send(is_whole.then_some(line)).ok()?;
    }
}

fn write(mut messages: mpsc::Receiver<Vec<u8>>) {
    while let Some(message) = messages.blocking_recv() {
        if write_stdout(&message).is_err() {
            return;
        }
    }
}
