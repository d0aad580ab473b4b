//! A connection to one MCP server, and the requests made over it.

use super::handler::Handler;
use super::sse::Sse;
use super::stdio::{self, StrayOutputLog};
use super::{Problem, http};
use crate::message::{self, NOT_AN_OBJECT, UNUSABLE};
use crate::{lock, on_thread};
use gemini_tools_core::json::MAX_BYTES;
use gemini_tools_process::ending::ProcessEnd;
use gemini_tools_process::network::wire::{Connect, FailureKind, ServerRequest};
use gemini_tools_process::piped::PipedProgram;
use gemini_tools_process::signal_name;
use rmcp::model::{
    ClientRequest, CustomRequest, CustomResult, ProtocolVersion, ServerCapabilities, ServerResult,
};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, PeerRequestOptions, RunningService, ServiceError,
    serve_client_with_lifecycle,
};
use rmcp::transport::IntoTransport;
use rmcp::transport::streamable_http_client::{HttpStatusError, StreamableHttpError};
use rmcp::{Peer, RoleClient};
use serde_json::{Map, Value, json};
use std::error::Error;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{OnceCell, watch};
use tokio::time::{Instant, timeout, timeout_at};
use url::Url;

/// The number of tools or resources of one server after which no further page is requested. A buggy
/// server may send pages for ever.
const MAX_ITEMS: usize = 5000;

const MAX_PAGES: usize = 500;

const CANCELLING: Duration = Duration::from_millis(500);

/// How long a server may take to exit by itself after its standard input is closed, before it is
/// signalled.
const BY_ITSELF: Duration = Duration::from_millis(150);

const GRACE: Duration = Duration::from_secs(1);

const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(3);

const EXIT_TIMEOUT: Duration = Duration::from_secs(5);

const CLOSED: &str = "it closed the connection before it answered";

/// How often one request is sent, at most, to a server that answers with requests for input.
const MAX_ROUNDS: usize = 10;

static OPENED: AtomicU64 = AtomicU64::new(0);

type Service = RunningService<RoleClient, Handler>;

pub(super) struct Connection {
    peer: Peer<RoleClient>,
    handler: Handler,
    service: Mutex<Option<Service>>,
    process: Mutex<Option<PipedProgram>>,
    aside: StrayOutputLog,
    end: OnceCell<String>,
    /// No other connection has this name, not even one of another process.
    name: String,
    is_expired: AtomicBool,
}

pub(super) struct WaitLimit {
    pub(super) id: u64,
    pub(super) deadline: Instant,
    pub(super) given_up: watch::Receiver<bool>,
}

impl WaitLimit {
    pub(super) async fn over(&mut self) -> FailureKind {
        let deadline = self.deadline;
        match timeout_at(deadline, self.given_up.wait_for(|given_up| *given_up)).await {
            Err(_) => FailureKind::TimedOut,
            Ok(_) => FailureKind::Cancelled,
        }
    }
}

impl Connection {
    pub(super) async fn open(
        connect: &Connect,
        handler: Handler,
        until: &mut WaitLimit,
    ) -> Result<Self, Problem> {
        let (aside, refusal) = (Mutex::new(StrayOutputLog::default()), Mutex::new(None));
        let opened = tokio::select! {
            opened = Self::greet(connect, handler, &aside, &refusal) => opened,
            why = until.over() => Err(match (why, lock(&refusal).take()) {
                (FailureKind::TimedOut, Some(refusal)) => Problem::connection(refusal),
                (FailureKind::TimedOut, None) => {
                    Problem::new(why, "it did not answer in time to the greeting")
                }
                _ => Problem::new(why, "it was cancelled"),
            }),
        };
        let aside = aside.into_inner().unwrap_or_else(PoisonError::into_inner);
        opened.map_err(|mut problem| {
            let has_ended = problem.why == FailureKind::Gone;
            problem.message.push_str(&aside.description(has_ended));
            // No call was sent yet, so none can have had an effect.
            if has_ended {
                problem.why = FailureKind::Connection;
            }
            problem
        })
    }

    async fn greet(
        connect: &Connect,
        handler: Handler,
        aside: &Mutex<StrayOutputLog>,
        refusal: &Mutex<Option<String>>,
    ) -> Result<Self, Problem> {
        let first = match Self::greet_as(connect, handler.clone(), false, aside).await {
            Err(problem) if problem.may_know_newest => problem,
            other => return other,
        };
        *lock(refusal) = Some(first.message.clone());
        // The server may only know the newest protocol version, which has another handshake. If
        // that fails as well, the first error is reported, because the second handshake was only a
        // guess.
        let second = Self::greet_as(connect, handler, true, aside).await;
        second.map_err(|_| first)
    }

    async fn greet_as(
        connect: &Connect,
        handler: Handler,
        newest: bool,
        shared: &Mutex<StrayOutputLog>,
    ) -> Result<Self, Problem> {
        let bad = |message: String| Problem::connection(message);
        if let Some(command) = &connect.command {
            let (piped, transport, aside) = stdio::start(connect, command).map_err(bad)?;
            *lock(shared) = aside.clone();
            let process = Mutex::new(Some(piped));
            return match serve(handler.clone(), transport, newest).await {
                Ok(service) => Ok(Self::new(service, handler, process, aside)),
                Err(mut problem) => {
                    if problem.why == FailureKind::Gone {
                        problem.message = describe_end(&process, &aside).await;
                    }
                    Err(problem)
                }
            };
        }
        let (text, may_be_sse) = match (&connect.http_url, &connect.url) {
            (Some(url), _) => (url, false),
            (None, Some(url)) => (url, true),
            (None, None) => {
                let message = "it has neither a command nor an address in the settings";
                return Err(Problem::connection(message));
            }
        };
        let url: Url = http::address(text).map_err(bad)?;
        let transport = http::streamable(connect, &url).map_err(bad)?;
        let streamed = serve(handler.clone(), transport, newest).await;
        let aside = StrayOutputLog::default();
        let service = match streamed {
            Ok(service) => service,
            Err(mut problem) if may_be_sse && !newest && !problem.is_refusal => {
                let sse = match Sse::open(connect, &url, aside.clone()).await {
                    Ok(sse) => sse,
                    Err(reason) => {
                        if !problem.message.ends_with(&reason) {
                            problem.message.push_str(&format!(", nor by SSE: {reason}"));
                        }
                        return Err(problem);
                    }
                };
                serve(handler.clone(), sse, false).await?
            }
            Err(problem) => return Err(problem),
        };
        Ok(Self::new(service, handler, Mutex::default(), aside))
    }

    fn new(
        service: Service,
        handler: Handler,
        process: Mutex<Option<PipedProgram>>,
        aside: StrayOutputLog,
    ) -> Self {
        Self {
            peer: service.peer().clone(),
            handler,
            service: Mutex::new(Some(service)),
            process,
            aside,
            end: OnceCell::new(),
            name: format!(
                "{} {}",
                std::process::id(),
                OPENED.fetch_add(1, Ordering::Relaxed)
            ),
            is_expired: AtomicBool::new(false),
        }
    }

    pub(super) fn is_closed(&self) -> bool {
        self.is_expired.load(Ordering::Relaxed) || self.peer.is_transport_closed()
    }

    fn capabilities(&self) -> ServerCapabilities {
        let info = self.peer.peer_info();
        info.map(|info| info.capabilities.clone())
            .unwrap_or_default()
    }

    pub(super) async fn ask(
        &self,
        request: &ServerRequest,
        until: &mut WaitLimit,
    ) -> Result<Value, Problem> {
        match request {
            ServerRequest::Tools => self.tools(until).await,
            ServerRequest::Resources => self.resources(until).await,
            ServerRequest::Call { connection, .. } if *connection != self.name => {
                let message = "it ends each connection before the call";
                Err(Problem::new(FailureKind::Reconnected, message))
            }
            ServerRequest::Call {
                tool, arguments, ..
            } => {
                let params = json!({ "name": tool, "arguments": arguments });
                self.complete("tools/call", params, until).await
            }
            ServerRequest::Read { uri } => {
                let params = json!({ "uri": uri });
                self.complete("resources/read", params, until).await
            }
        }
    }

    async fn complete(
        &self,
        method: &str,
        params: Value,
        until: &mut WaitLimit,
    ) -> Result<Value, Problem> {
        let bad = |message: String| Err(Problem::connection(message));
        let mut round = params.clone();
        for _ in 0..MAX_ROUNDS {
            let answer = self.request(method, round, until).await?;
            match &answer["resultType"] {
                Value::Null => return Ok(answer),
                kind if kind == "complete" => return Ok(answer),
                kind if kind == "input_required" => {}
                kind => {
                    return bad(format!(
                        "it answers with a result of the type {kind}, which is not known here"
                    ));
                }
            }
            let mut responses = Map::new();
            for (key, wanted) in answer["inputRequests"].as_object().into_iter().flatten() {
                let wanted = wanted["method"].as_str().unwrap_or_default();
                let Some(response) = self.handler.answer(wanted) else {
                    return bad(format!(
                        "it asks for {wanted:?} before it completes its answer, which is not \
                         offered here"
                    ));
                };
                responses.insert(key.clone(), response);
            }
            let state = answer["requestState"].as_str();
            if responses.is_empty() && state.is_none() {
                return bad("it asks for more and does not say for what".to_owned());
            }
            round = params.clone();
            if !responses.is_empty() {
                round["inputResponses"] = responses.into();
            }
            if let Some(state) = state {
                round["requestState"] = state.into();
            }
        }
        bad(format!(
            "its answer was not complete after {MAX_ROUNDS} requests"
        ))
    }

    async fn tools(&self, until: &mut WaitLimit) -> Result<Value, Problem> {
        let capabilities = self.capabilities();
        let (mut tools, mut notes) = (Vec::new(), Vec::new());
        if capabilities.tools.is_some() {
            let method = "tools/list";
            tools = self.pages(method, "tools", &mut notes, until).await?;
        }
        Ok(json!({
            "tools": tools,
            "notes": notes,
            "connection": self.name,
            "resources": capabilities.resources.is_some(),
        }))
    }

    async fn resources(&self, until: &mut WaitLimit) -> Result<Value, Problem> {
        let mut notes = Vec::new();
        if self.capabilities().resources.is_none() {
            return Ok(json!({ "resources": [], "templates": [] }));
        }
        let resources = self
            .pages("resources/list", "resources", &mut notes, until)
            .await?;
        let method = "resources/templates/list";
        let templates = self
            .pages(method, "resourceTemplates", &mut notes, until)
            .await
            // Many servers without templates don't implement the method.
            .or_else(|problem| match problem.why {
                FailureKind::Refused => Ok(Vec::new()),
                _ => Err(problem),
            })?;
        Ok(json!({ "resources": resources, "templates": templates, "notes": notes }))
    }

    async fn pages(
        &self,
        method: &str,
        key: &str,
        notes: &mut Vec<String>,
        until: &mut WaitLimit,
    ) -> Result<Vec<Value>, Problem> {
        let mut items: Vec<Value> = Vec::new();
        let mut cursors: Vec<String> = Vec::new();
        let mut bytes = 0;
        loop {
            let params = match cursors.last() {
                Some(cursor) => json!({ "cursor": cursor }),
                None => json!({}),
            };
            let mut answer = self.request(method, params, until).await?;
            let Some(Value::Array(more)) = answer.get_mut(key).map(Value::take) else {
                let message = format!("its answer has no list of {key}");
                return Err(Problem::connection(message));
            };
            // The limit of a single message applies to all pages together.
            bytes += serde_json::to_vec(&more).map_or(0, |list| list.len());
            if bytes > MAX_BYTES {
                let message = format!("its list of {key} has more than {MAX_BYTES} bytes");
                return Err(Problem::connection(message));
            }
            items.extend(more);
            let next = answer["nextCursor"].as_str().unwrap_or_default().to_owned();
            if next.is_empty() && items.len() <= MAX_ITEMS {
                return Ok(items);
            }
            if cursors.contains(&next) || cursors.len() >= MAX_PAGES || items.len() >= MAX_ITEMS {
                items.truncate(MAX_ITEMS);
                notes.push(format!(
                    "Its list of {key} is too long, or without end; the first {} count.",
                    items.len()
                ));
                return Ok(items);
            }
            cursors.push(next);
        }
    }

    async fn request(
        &self,
        method: &str,
        params: Value,
        until: &mut WaitLimit,
    ) -> Result<Value, Problem> {
        let request = ClientRequest::CustomRequest(CustomRequest::new(method, Some(params)));
        let options = PeerRequestOptions::no_options();
        let sent = self.peer.send_request_with_option(request, options);
        let mut handle = match timeout_at(until.deadline, sent).await {
            Ok(Ok(handle)) => handle,
            Ok(Err(e)) => return Err(self.explained(e).await),
            Err(_) => {
                let message = "it does not take the request";
                return Err(Problem::new(FailureKind::TimedOut, message));
            }
        };
        let token = handle.progress_token.clone();
        lock(&self.handler.progress).insert(token.clone(), until.id);
        let answered = tokio::select! {
            biased;
            answer = &mut handle.rx => Ok(answer),
            why = until.over() => Err(why),
        };
        lock(&self.handler.progress).remove(&token);
        match answered {
            Ok(Ok(Ok(ServerResult::CustomResult(CustomResult(Value::Object(result)))))) => {
                Ok(result.into())
            }
            Ok(Ok(Ok(result))) => match serde_json::to_value(result) {
                Ok(result) if result.is_object() => Ok(result),
                _ => {
                    let unusable = message::unusable(NOT_AN_OBJECT);
                    Err(Problem::new(FailureKind::Gone, unusable.message))
                }
            },
            Ok(Ok(Err(e))) => Err(self.explained(e).await),
            Ok(Err(_)) => Err(self.explained(ServiceError::TransportClosed).await),
            Err(why) => {
                let reason = match why {
                    FailureKind::TimedOut => "the time limit was reached",
                    _ => "the call was cancelled",
                };
                // A server that does not read its input must not delay the answer.
                let _ = timeout(CANCELLING, handle.cancel(Some(reason.to_owned()))).await;
                let aside = self.aside.description(false);
                Err(Problem::new(
                    why,
                    format!("it did not answer in time{aside}"),
                ))
            }
        }
    }

    async fn explained(&self, e: ServiceError) -> Problem {
        match e {
            ServiceError::McpError(e) if e.code == UNUSABLE => {
                Problem::new(FailureKind::Gone, e.message)
            }
            ServiceError::McpError(e) => {
                let mut message = e.message.to_string();
                if let Some(data) = e.data.filter(|data| !data.is_null()) {
                    message.push_str(&format!(" ({data})"));
                }
                Problem::new(FailureKind::Refused, message)
            }
            ServiceError::TransportClosed => {
                Problem::new(FailureKind::Gone, self.end_in_words().await)
            }
            // The request was not read, so it can't have had an effect.
            ServiceError::TransportSend(e) if is_broken_pipe(&*e.error) => {
                Problem::connection(self.end_in_words().await)
            }
            ServiceError::TransportSend(e) if is_expired(&*e.error) => {
                self.is_expired.store(true, Ordering::Relaxed);
                let message = "it ends each session at once (HTTP 404)";
                Problem::new(FailureKind::Reconnected, message)
            }
            ServiceError::TransportSend(e) => {
                let (reason, is_unsent) = reason(&*e.error);
                let why = if is_unsent {
                    FailureKind::Connection
                } else {
                    FailureKind::Gone
                };
                Problem::new(why, format!("it can't be reached: {reason}"))
            }
            other => Problem::connection(other.to_string()),
        }
    }

    /// Describes how the server ended, with its last output. This is determined once, so that all
    /// calls that were running at the end report the same.
    async fn end_in_words(&self) -> String {
        let words = self.end.get_or_init(|| async {
            let mut message = describe_end(&self.process, &self.aside).await;
            message.push_str(&self.aside.description(true));
            message
        });
        words.await.clone()
    }

    pub(super) async fn end(&self) {
        let service = lock(&self.service).take();
        if let Some(mut service) = service {
            let _ = service.close_with_timeout(GRACE).await;
        }
        let process = lock(&self.process).take();
        let Some(mut process) = process else { return };
        // This blocks, and must not delay the end of other servers.
        let ended = on_thread(move || {
            if !process.wait(BY_ITSELF) {
                process.end(GRACE);
                process.wait(SHUTDOWN_TIMEOUT);
            }
        });
        let _ = ended.await;
    }
}

async fn describe_end(process: &Mutex<Option<PipedProgram>>, aside: &StrayOutputLog) -> String {
    let until = Instant::now() + EXIT_TIMEOUT;
    let ending = loop {
        let ending = match lock(process).as_mut() {
            Some(process) => {
                process.is_gone();
                process.ending()
            }
            // The server is reached by HTTP, or is being ended already.
            None => return aside.fault().unwrap_or_else(|| CLOSED.to_owned()),
        };
        if let Some(fault) = aside.fault() {
            return fault;
        }
        if ending.is_some() && aside.is_complete() || Instant::now() >= until {
            break ending;
        }
        tokio::time::sleep(Duration::from_millis(3)).await;
    };
    match ending {
        Some(ProcessEnd::Code(code)) => format!("it exited with status {code} before it answered"),
        Some(ProcessEnd::Signal(signal)) => {
            format!("it was ended by {} before it answered", signal_name(signal))
        }
        None => "it closed its standard output before it answered".to_owned(),
    }
}

async fn serve<T, E, A>(handler: Handler, transport: T, newest: bool) -> Result<Service, Problem>
where
    T: IntoTransport<RoleClient, E, A>,
    E: std::error::Error + Send + Sync + 'static,
{
    let mode = if newest {
        ClientLifecycleMode::Discover {
            preferred_versions: vec![ProtocolVersion::LATEST],
        }
    } else {
        ClientLifecycleMode::Initialize
    };
    serve_client_with_lifecycle(handler, transport, mode)
        .await
        .map_err(|e| greeting_problem(&e))
}

fn greeting_problem(e: &ClientInitializeError) -> Problem {
    let mut problem = Problem::connection("");
    problem.message = match e {
        ClientInitializeError::JsonRpcError(e) => {
            problem.is_refusal = true;
            problem.may_know_newest = true;
            if e.code == UNUSABLE {
                problem.message = e.message.to_string();
                return problem;
            }
            format!("it refuses the greeting: {}", e.message)
        }
        ClientInitializeError::ConnectionClosed(_) => {
            problem.why = FailureKind::Gone;
            CLOSED.to_owned()
        }
        ClientInitializeError::TransportError { error, .. } if is_broken_pipe(&*error.error) => {
            problem.why = FailureKind::Gone;
            "it closed its standard input".to_owned()
        }
        ClientInitializeError::TransportError { error, .. } => {
            let (reason, _) = reason(&*error.error);
            problem.may_know_newest = is_bad_request(&*error.error);
            format!("it can't be reached: {reason}")
        }
        ClientInitializeError::ConflictInitResponseId(..)
        | ClientInitializeError::UncorrelatedErrorResponse { .. } => {
            "it answers the greeting under another number".to_owned()
        }
        ClientInitializeError::ExpectedInitResponse(_)
        | ClientInitializeError::ExpectedInitResult(_) => {
            "it answers the greeting with something else".to_owned()
        }
        other => other.to_string(),
    };
    problem
}

fn is_broken_pipe(e: &(dyn Error + 'static)) -> bool {
    e.downcast_ref::<io::Error>()
        .is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe)
}

fn is_expired(e: &(dyn Error + 'static)) -> bool {
    matches!(
        e.downcast_ref(),
        Some(StreamableHttpError::<reqwest::Error>::SessionExpired)
    )
}

fn is_bad_request(e: &(dyn Error + 'static)) -> bool {
    matches!(
        e.downcast_ref::<StreamableHttpError<reqwest::Error>>(),
        Some(StreamableHttpError::UnexpectedServerResponse(said)) if said.starts_with("HTTP 400")
    )
}

/// Returns why a message could not be sent, and whether it is certain that nothing was sent. If so,
/// the request can't have had an effect.
fn reason(e: &(dyn Error + 'static)) -> (String, bool) {
    // The SDK's error type does not implement `source`.
    let by_client = e.downcast_ref::<StreamableHttpError<reqwest::Error>>();
    match by_client {
        Some(StreamableHttpError::Client(e)) => return (http::reason(e), e.is_connect()),
        Some(StreamableHttpError::UnexpectedContentType(kind)) => {
            let kind = kind
                .as_deref()
                .unwrap_or("something without a Content-Type");
            let said = format!("it answers with {kind}, which is not MCP; check its address");
            return (said, false);
        }
        Some(StreamableHttpError::HttpStatus(HttpStatusError {
            status,
            retry_after: Some(wait),
            ..
        })) => {
            return (format!("HTTP {status}, Retry-After: {wait}"), false);
        }
        Some(StreamableHttpError::AuthRequired(_)) => {
            let said = "HTTP 401: it wants credentials; its settings may have them as headers";
            return (said.to_owned(), false);
        }
        _ => {}
    }
    let mut said = e.to_string();
    let mut source = e.source();
    while let Some(inner) = source {
        let inner_said = inner.to_string();
        if !said.contains(&inner_said) {
            said.push_str(&format!(": {inner_said}"));
        }
        source = inner.source();
    }
    (said, false)
}
