//! Clients by HTTP on one address, each in a session of its own.
//!
//! Any page that a browser shows can send requests to this machine. So a request must name the
//! server by a name that no other program can give it (`Host`), must not come from a page
//! (`Origin`), and must carry a token.

use super::connection::Connection;
use super::fault;
use super::server::Server;
use gemini_tools_core::json::MAX_BYTES;
use gemini_tools_core::text::hex;
use gemini_tools_process::command::SERVE_TOKEN;
use http::header::{
    AUTHORIZATION, CONNECTION, CONTENT_TYPE, HOST, HeaderMap, HeaderName, ORIGIN, WWW_AUTHENTICATE,
};
use http::uri::Authority;
use http::{HeaderValue, Method, Request, Response, StatusCode, Uri};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rmcp::model::ServerJsonRpcMessage;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
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

/// Address that is listened at by default.
pub const DEFAULT_ADDRESS: &str = "127.0.0.1:8808";

const JSON: &str = "application/json";

const PATH: &str = "/mcp";

/// A shorter token can be guessed, in characters.
const MIN_TOKEN_CHARS: usize = 16;

/// Bytes of chance in a token that is made here.
const TOKEN_BYTES: usize = 32;

/// Maximum connections served at once; more wait.
const MAX_CONNECTIONS: usize = 256;

/// Time limit for a request's head.
const HEAD_LIMIT: Duration = Duration::from_secs(10);

/// Time until a session ends of which nothing is heard.
const IDLE_LIMIT: Duration = Duration::from_secs(30 * 60);

type Answer = Response<BoxBody<Bytes, Infallible>>;
type Service = StreamableHttpService<Connection, LocalSessionManager>;

/// The address to listen at, and the clients that may connect.
#[derive(Clone)]
pub struct Http {
    addresses: Vec<SocketAddr>,
    token: String,
    is_token_made: bool,
    /// Names by which clients may call this server, besides those of this machine for itself.
    hosts: Vec<String>,
    /// True if clients may be on other machines, and call the server by any of its addresses.
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

/// The reason why a server can't listen.
#[derive(Debug, Error)]
pub enum HttpError {
    /// The address can't be used.
    #[error(
        "{address:?} is not a valid address to listen on ({why}); give ADDR:PORT, such as {DEFAULT_ADDRESS}"
    )]
    Address {
        /// The address as it was given.
        address: String,
        /// Error of the operating system.
        why: io::Error,
    },
    /// Other machines can reach the address, which was not allowed.
    #[error("{0} can be reached from other machines; that needs --allow-remote")]
    Remote(String),
    /// The token of the environment can be guessed.
    #[error("{SERVE_TOKEN} is shorter than {MIN_TOKEN_CHARS} characters")]
    ShortToken,
    /// The token of the environment can't be read.
    #[error("{SERVE_TOKEN} can't be used: {0}")]
    Token(VarError),
    /// The system has no random numbers for a token.
    #[error("no token can be made: the system has no random numbers")]
    NoRandomness,
}

impl Http {
    /// Listens on `address`, an address or a name with a port. The token is that of the
    /// environment (`GEMINI_TOOLS_SERVE_TOKEN`), or a new one. `hosts` are names that clients
    /// may use for this server.
    ///
    /// # Errors
    ///
    /// The address is not valid, it is not a loopback address and `allows_remote` is not set, or
    /// there is no token that can be used.
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

/// Serves clients for ever. Gives the exit status where that is not possible.
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
    let (http, service) = (Arc::new(http), service(server));
    let connections = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        let Ok(permit) = Arc::clone(&connections).acquire_owned().await else {
            return 1;
        };
        let Ok((stream, _)) = listener.accept().await else {
            // The connection is gone already, or there are too many open files.
            tokio::time::sleep(Duration::from_millis(20)).await;
            continue;
        };
        let (http, service) = (Arc::clone(&http), service.clone());
        tokio::spawn(async move {
            attend(stream, &http, &service).await;
            drop(permit);
        });
    }
}

fn service(server: &Arc<Server>) -> Service {
    let mut sessions = LocalSessionManager::default();
    sessions.session_config.keep_alive = Some(IDLE_LIMIT);
    let server = Arc::clone(server);
    // Who may ask is decided here, before the SDK sees anything of it.
    let config = StreamableHttpServerConfig::default()
        .disable_allowed_hosts()
        .disable_allowed_origins()
        .with_max_request_body_bytes(MAX_BYTES);
    let connection = move || Ok(Connection::new(Arc::clone(&server), false));
    StreamableHttpService::new(connection, Arc::new(sessions), config)
}

async fn attend(stream: TcpStream, http: &Arc<Http>, service: &Service) {
    // Small messages are not to wait for more.
    let _ = stream.set_nodelay(true);
    let answer = |request: Request<Incoming>| {
        let (http, service) = (Arc::clone(http), service.clone());
        async move {
            let answer = match http.refusal(request.headers(), request.uri()) {
                Some(refusal) => refusal,
                None => pass_on(request, &service).await,
            };
            Ok::<_, Infallible>(answer)
        }
    };
    // Whatever goes wrong is between the client and the network.
    let _ = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_LIMIT)
        .serve_connection(TokioIo::new(stream), service_fn(answer))
        .await;
}

/// Hands a request of a client that may ask to the SDK.
async fn pass_on(request: Request<Incoming>, service: &Service) -> Answer {
    let (head, body) = request.into_parts();
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
    let request = Request::from_parts(head, Full::new(body.clone()));
    let mut answer = service.handle(request).await;
    match answer.status() {
        // The session is over by now. Clients take 202, which the SDK says, for a failure.
        StatusCode::ACCEPTED if is_end => *answer.status_mut() = StatusCode::NO_CONTENT,
        // The SDK calls JSON that is not a message so, too.
        StatusCode::UNSUPPORTED_MEDIA_TYPE if is_json => return unreadable(&body),
        _ => {}
    }
    answer
}

/// Returns the answer to a body that is not a message, as standard input gets it.
fn unreadable(body: &[u8]) -> Answer {
    let (error, id) = fault::unreadable_message(body);
    let error = serde_json::to_vec(&ServerJsonRpcMessage::error(error, id)).unwrap_or_default();
    let mut answer = Response::new(Full::from(error).boxed());
    *answer.status_mut() = StatusCode::BAD_REQUEST;
    let json = HeaderValue::from_static(JSON);
    answer.headers_mut().insert(CONTENT_TYPE, json);
    answer
}

/// The rule for who may send requests.
impl Http {
    /// Returns the answer to a request that is none of ours. The connection is closed with it.
    fn refusal(&self, headers: &HeaderMap, uri: &Uri) -> Option<Answer> {
        let is_for_other = uri.authority().is_some_and(|named| !self.is_own(named));
        if is_for_other || !self.knows_host(headers) {
            return Some(refused(
                StatusCode::FORBIDDEN,
                "The Host header names another server than this one.",
            ));
        }
        if headers.contains_key(ORIGIN) {
            return Some(refused(
                StatusCode::FORBIDDEN,
                "Pages of a browser have no access: the request has an Origin header.",
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

    /// Returns true for a name of this server, with a port or without.
    fn is_own(&self, authority: &Authority) -> bool {
        // A user's name before the host is none of ours.
        let Some(rest) = authority.as_str().strip_prefix(authority.host()) else {
            return false;
        };
        let is_port = |text: &str| text.is_empty() || text.parse::<u16>().is_ok();
        if !rest.is_empty() && !rest.strip_prefix(':').is_some_and(is_port) {
            return false;
        }
        match Host::parse(authority.host()) {
            // No other name leads to a number.
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
            // Hashes take as long to compare whatever is wrong.
            let is_own = Sha256::digest(token.trim()) == Sha256::digest(&self.token);
            scheme.eq_ignore_ascii_case("bearer") && is_own
        })
    }
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
