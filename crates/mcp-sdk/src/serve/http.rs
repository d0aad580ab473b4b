//! Serves clients over HTTP, each in a session of its own.
//!
//! Any web page in a browser on this machine can send requests to a local server. A request must
//! therefore name this server in `Host` (which prevents DNS rebinding), must not come from a page
//! (`Origin` names another site than this), and must carry a token.

use super::connection::Connection;
use super::fault;
use super::server::Server;
use crate::message;
use gemini_tools_core::json::MAX_BYTES;
use gemini_tools_core::text::hex;
use gemini_tools_process::command::SERVE_TOKEN;
use http::header::{
    ACCEPT, AUTHORIZATION, CONNECTION, CONTENT_TYPE, HOST, HeaderMap, HeaderName, ORIGIN,
    WWW_AUTHENTICATE,
};
use http::uri::Authority;
use http::{HeaderValue, Method, Request, Response, StatusCode, Uri};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rmcp::model::{ErrorData, RequestId, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use sessions::Sessions;
use sha2::{Digest, Sha256};
use std::convert::Infallible;
use std::env::VarError;
use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::time::Duration;
use thiserror::Error;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use url::Host;

mod sessions;

/// The default address to listen on.
pub const DEFAULT_ADDRESS: &str = "127.0.0.1:8808";

const JSON: &str = "application/json";

const PATH: &str = "/mcp";

pub(super) const SESSION: &str = "mcp-session-id";

/// The fewest characters of a token. A shorter one could be guessed and is refused.
const MIN_TOKEN_CHARS: usize = 16;

const TOKEN_BYTES: usize = 32;

const MAX_CONNECTIONS: usize = 256;

const HEAD_LIMIT: Duration = Duration::from_secs(10);

const IDLE_LIMIT: Duration = Duration::from_secs(30 * 60);

type Answer = Response<BoxBody<Bytes, Infallible>>;
type Service = StreamableHttpService<Connection, Sessions>;

#[derive(Clone)]
struct Front {
    service: Service,
    sessions: Arc<Sessions>,
}

/// The address to listen on, and which clients may connect.
#[derive(Clone)]
pub struct Http {
    addresses: Vec<SocketAddr>,
    token: String,
    is_token_made: bool,
    hosts: Vec<String>,
    pub(super) allows_remote: bool,
}

impl fmt::Debug for Http {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Http")
            .field("addresses", &self.addresses)
            .field("hosts", &self.hosts)
            .field("allows_remote", &self.allows_remote)
            .finish_non_exhaustive()
    }
}

/// Why a server can't listen.
#[derive(Debug, Error)]
pub enum HttpError {
    /// The address can't be used.
    #[error(
        "{address:?} is not a valid address to listen on ({why}); give ADDR:PORT, such as {DEFAULT_ADDRESS}"
    )]
    Address {
        /// The address as given.
        address: String,
        /// The operating system's error.
        why: io::Error,
    },
    /// Other machines could reach the address, and the caller has not allowed that.
    #[error("{0} can be reached from other machines; that needs --allow-remote")]
    Remote(String),
    /// The token in the environment is so short that it could be guessed.
    #[error("{SERVE_TOKEN} is shorter than {MIN_TOKEN_CHARS} characters")]
    ShortToken,
    /// The token in the environment is not valid Unicode.
    #[error("{SERVE_TOKEN} can't be used: {0}")]
    Token(VarError),
    /// The system has no random numbers for a token.
    #[error("no token can be made: the system has no random numbers")]
    NoRandomness,
}

impl Http {
    /// Configures a server on `address`, an IP address or a name with a port. The token is taken
    /// from the environment (`GEMINI_TOOLS_SERVE_TOKEN`), or a random one is generated. `hosts` are
    /// further names that clients may use for this server.
    ///
    /// # Errors
    ///
    /// Returns an error if the address is malformed, if it is not a loopback address and
    /// `allows_remote` is not set, or if there is no usable token.
    pub fn new(address: &str, hosts: Vec<String>, allows_remote: bool) -> Result<Self, HttpError> {
        let found = address
            .to_socket_addrs()
            .map_err(|why| HttpError::Address {
                address: address.to_owned(),
                why,
            })?;
        let addresses: Vec<SocketAddr> = found.collect();
        if !allows_remote && !addresses.iter().all(|address| address.ip().is_loopback()) {
            return Err(HttpError::Remote(address.to_owned()));
        }
        let (token, is_token_made) = match std::env::var(SERVE_TOKEN) {
            Ok(token) if token.chars().count() >= MIN_TOKEN_CHARS => (token, false),
            Ok(_) => return Err(HttpError::ShortToken),
            Err(VarError::NotPresent) => (made_token().ok_or(HttpError::NoRandomness)?, true),
            Err(e) => return Err(HttpError::Token(e)),
        };
        Ok(Self {
            addresses,
            token,
            is_token_made,
            hosts,
            allows_remote,
        })
    }
}

fn made_token() -> Option<String> {
    let mut bytes = [0; TOKEN_BYTES];
    let random = rustls::crypto::ring::default_provider().secure_random;
    random.fill(&mut bytes).ok()?;
    Some(hex(&bytes))
}

pub(super) async fn serve(server: &Arc<Server>, http: Http) -> u8 {
    let log = server.options.log;
    let bound = async {
        let listener = TcpListener::bind(&http.addresses[..]).await?;
        let address = listener.local_addr()?;
        io::Result::Ok((listener, address))
    };
    let (listener, address) = match bound.await {
        Ok(bound) => bound,
        Err(e) => {
            let addresses: Vec<String> = http.addresses.iter().map(ToString::to_string).collect();
            log(&format!("can't listen on {}: {e}", addresses.join(" or ")));
            return 1;
        }
    };
    log(&format!("listening on http://{address}{PATH}"));
    if http.is_token_made {
        log(&format!(
            "clients need the header Authorization: Bearer {}",
            http.token
        ));
    }
    if !address.ip().is_loopback() {
        log("traffic is not encrypted: let only a network that you trust reach it");
    }
    let sessions = Arc::new(Sessions::new(IDLE_LIMIT));
    let front = Front {
        service: service(server, Arc::clone(&sessions)),
        sessions,
    };
    let http = Arc::new(http);
    let connections = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        let Ok(permit) = Arc::clone(&connections).acquire_owned().await else {
            return 1;
        };
        let Ok((stream, _)) = listener.accept().await else {
            // The client has disconnected already, or this process has too many open files. In the
            // latter case, trying again without a pause would use all of a processor's time.
            tokio::time::sleep(Duration::from_millis(20)).await;
            continue;
        };
        let (http, front) = (Arc::clone(&http), front.clone());
        tokio::spawn(async move {
            attend(stream, &http, &front).await;
            drop(permit);
        });
    }
}

fn service(server: &Arc<Server>, sessions: Arc<Sessions>) -> Service {
    let server = Arc::clone(server);
    // Requests are authorised before the SDK sees them, so its own checks of hosts and origins are
    // off. So is the event by which it invites a client to resume the session's own stream: that
    // has the same id as the first real event, and a client could not tell them apart.
    let config = StreamableHttpServerConfig::default()
        .with_sse_retry(None)
        .disable_allowed_hosts()
        .disable_allowed_origins()
        .with_max_request_body_bytes(MAX_BYTES);
    let connection = move || Ok(Connection::new(Arc::clone(&server), false));
    StreamableHttpService::new(connection, sessions, config)
}

async fn attend(stream: TcpStream, http: &Arc<Http>, front: &Front) {
    // Send small messages at once.
    let _ = stream.set_nodelay(true);
    let answer = |request: Request<Incoming>| {
        let (http, front) = (Arc::clone(http), front.clone());
        async move {
            let answer = match http.refusal(request.headers(), request.uri()) {
                Some(refusal) => refusal,
                None => pass_on(request, &front).await,
            };
            Ok::<_, Infallible>(answer)
        }
    };
    // Errors of a connection concern only its client.
    let _ = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_LIMIT)
        .serve_connection(TokioIo::new(stream), service_fn(answer))
        .await;
}

async fn pass_on(request: Request<Incoming>, front: &Front) -> Answer {
    let (mut head, body) = request.into_parts();
    // The SDK refuses a request whose `Accept` does not name both types, even if it accepts any
    // type.
    let accepted = only(&head.headers, ACCEPT).unwrap_or("*/*");
    if accepted.contains("*/*") {
        let both = HeaderValue::from_static("application/json, text/event-stream");
        head.headers.insert(ACCEPT, both);
    }
    let body = match Limited::new(body, MAX_BYTES).collect().await {
        Ok(body) => body.to_bytes(),
        Err(e) if e.is::<LengthLimitError>() => {
            let message = format!("The message has more than {MAX_BYTES} bytes.");
            return refused(StatusCode::PAYLOAD_TOO_LARGE, message);
        }
        Err(e) => {
            return refused(
                StatusCode::BAD_REQUEST,
                format!("The body is cut off: {e}."),
            );
        }
    };
    let is_end = head.method == Method::DELETE;
    let kind = head.headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes);
    let is_json = kind.is_some_and(|kind| kind.to_ascii_lowercase().starts_with(JSON.as_bytes()));
    let session = only(&head.headers, HeaderName::from_static(SESSION));
    if let Some(session) = session
        && let Some(id) = message::request_id(&body)
        && front.sessions.is_in_use(session, &id)
    {
        return unreadable(fault::id_in_use(&id), None);
    }
    // The SDK would answer as if it had ended this session, although there is none.
    if is_end
        && let Some(session) = session
        && !front.sessions.knows(session).await
    {
        return refused(StatusCode::NOT_FOUND, "There is no such session.");
    }
    // The SDK would answer with an empty stream, from which a client learns nothing.
    if head.method == Method::GET
        && let Some(session) = session
        && let Some(last) = only(&head.headers, HeaderName::from_static("last-event-id"))
        && front.sessions.has_lost(session, last).await
    {
        let message = format!("What follows event {last} is not kept any more.");
        return refused(StatusCode::GONE, message);
    }
    let again = head.clone();
    let request = Request::from_parts(head, Full::new(body.clone()));
    let mut answer = front.service.handle(request).await;
    match answer.status() {
        // The session has ended. The SDK answers 202, which some clients take for a failure.
        StatusCode::ACCEPTED if is_end => *answer.status_mut() = StatusCode::NO_CONTENT,
        // The SDK also uses this status for JSON that it can't read.
        StatusCode::UNSUPPORTED_MEDIA_TYPE if is_json => match fault::read(&body) {
            Ok(message) => {
                let body = serde_json::to_vec(&message).unwrap_or_default();
                let request = Request::from_parts(again, Full::new(Bytes::from(body)));
                answer = front.service.handle(request).await;
            }
            Err((error, id)) => return unreadable(error, id),
        },
        _ => {}
    }
    answer
}

fn unreadable(error: ErrorData, id: Option<RequestId>) -> Answer {
    let error = serde_json::to_vec(&ServerJsonRpcMessage::error(error, id)).unwrap_or_default();
    let mut answer = Response::new(Full::from(error).boxed());
    *answer.status_mut() = StatusCode::BAD_REQUEST;
    let json = HeaderValue::from_static(JSON);
    answer.headers_mut().insert(CONTENT_TYPE, json);
    answer
}

impl Http {
    fn refusal(&self, headers: &HeaderMap, uri: &Uri) -> Option<Answer> {
        let is_for_other = uri.authority().is_some_and(|named| !self.is_own(named));
        if is_for_other || !self.knows_host(headers) {
            return Some(refused(
                StatusCode::FORBIDDEN,
                "The Host header names another server than this one.",
            ));
        }
        if headers.contains_key(ORIGIN) && !is_same_origin(headers) {
            return Some(refused(
                StatusCode::FORBIDDEN,
                "Pages of a browser have no access: the Origin header names another site.",
            ));
        }
        if !self.knows_token(headers) {
            let mut answer = refused(
                StatusCode::UNAUTHORIZED,
                "The header Authorization: Bearer TOKEN is missing or wrong.",
            );
            let scheme = HeaderValue::from_static("Bearer");
            answer.headers_mut().insert(WWW_AUTHENTICATE, scheme);
            return Some(answer);
        }
        (uri.path() != PATH).then(|| refused(StatusCode::NOT_FOUND, "There is only /mcp here."))
    }

    fn knows_host(&self, headers: &HeaderMap) -> bool {
        let authority = only(headers, HOST).and_then(|value| value.parse().ok());
        authority.is_some_and(|authority| self.is_own(&authority))
    }

    fn is_own(&self, authority: &Authority) -> bool {
        // An authority with a user name is rejected.
        let Some(rest) = authority.as_str().strip_prefix(authority.host()) else {
            return false;
        };
        let is_port = |text: &str| text.is_empty() || text.parse::<u16>().is_ok();
        if !rest.is_empty() && !rest.strip_prefix(':').is_some_and(is_port) {
            return false;
        }
        match Host::parse(authority.host()) {
            // An IP address can't be the name of another site, so DNS rebinding is not possible.
            Ok(Host::Ipv4(ip)) => self.allows_remote || IpAddr::V4(ip).is_loopback(),
            Ok(Host::Ipv6(ip)) => self.allows_remote || IpAddr::V6(ip).is_loopback(),
            Ok(Host::Domain(name)) => {
                let is_it = |host: &String| host.eq_ignore_ascii_case(&name);
                name == "localhost" || self.hosts.iter().any(is_it)
            }
            Err(_) => false,
        }
    }

    fn knows_token(&self, headers: &HeaderMap) -> bool {
        let token = only(headers, AUTHORIZATION).and_then(|value| value.split_once(' '));
        token.is_some_and(|(scheme, token)| {
            // Comparing hashes reveals nothing about the token by the time it takes.
            let is_own = Sha256::digest(token.trim()) == Sha256::digest(&self.token);
            scheme.eq_ignore_ascii_case("bearer") && is_own
        })
    }
}

/// Returns true if `Origin` names the same host as `Host`, which was checked to name this server.
/// No web page has that origin, because this server serves no pages, so the request is from another
/// kind of client.
fn is_same_origin(headers: &HeaderMap) -> bool {
    let host = only(headers, HOST);
    let origin = only(headers, ORIGIN).and_then(|origin| origin.strip_prefix("http://"));
    origin.is_some_and(|origin| host.is_some_and(|host| host.eq_ignore_ascii_case(origin)))
}

fn only(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next().filter(|_| values.next().is_none())?;
    value.to_str().ok()
}

fn refused(status: StatusCode, message: impl Into<Bytes>) -> Answer {
    let mut answer = Response::new(Full::new(message.into()).boxed());
    *answer.status_mut() = status;
    let close = HeaderValue::from_static("close");
    answer.headers_mut().insert(CONNECTION, close);
    answer
}

#[cfg(test)]
mod tests;
