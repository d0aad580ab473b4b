//! A blocking HTTP client: one request at a time, within time limits, aborted when the call ends.

use super::NetError;
use super::connect::Dial;
use brotli_decompressor::Decompressor;
use bytes::Bytes;
use flate2::read::MultiGzDecoder;
use gemini_tools_core::tool::Cancellation;
use gemini_tools_process::network::addresses::AddressPolicy;
use gemini_tools_process::own::without_sigpipe;
use http::Method;
use http::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_ENCODING, HeaderMap, USER_AGENT};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use rustls::{ClientConfig, RootCertStore};
use std::cell::Cell;
use std::error::Error;
use std::io::{self, Cursor, Read};
use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;
use url::Url;

const TICK: Duration = Duration::from_millis(50);

/// The slowest upload that is tolerated, in bytes per second. A request with a body gets as much
/// more time as sending the body takes at this speed.
const MIN_UPLOAD_BYTES_PER_SEC: usize = 50_000;

/// Returns the `User-Agent` of requests.
pub fn user_agent() -> String {
    format!(
        "gemini-tools/{} ({}; {})",
        env!("CARGO_PKG_VERSION"),
        std::env::consts::OS,
        std::env::consts::ARCH
    )
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HttpTimeouts {
    pub(crate) connect: Duration,
    pub(crate) first_byte: Duration,
    pub(crate) silence: Duration,
    /// The most time from the response's head to the end of its body, for [`Body::read_up_to`].
    /// Reads in pieces are bounded by `silence` alone.
    pub(crate) answer: Duration,
}

pub(crate) struct HttpRequest<'a> {
    pub(crate) method: Method,
    pub(crate) url: &'a Url,
    pub(crate) headers: Vec<(&'a str, String)>,
    pub(crate) body: Vec<u8>,
}

impl<'a> HttpRequest<'a> {
    pub(crate) fn get(url: &'a Url, headers: Vec<(&'a str, String)>) -> Self {
        Self {
            method: Method::GET,
            url,
            headers,
            body: Vec::new(),
        }
    }

    fn build(self) -> http::Result<http::Request<Full<Bytes>>> {
        let mut builder = http::Request::builder()
            .method(self.method)
            .uri(self.url.as_str())
            .header(USER_AGENT, user_agent())
            .header(ACCEPT_ENCODING, "gzip, br");
        for (name, value) in self.headers {
            builder = builder.header(name, value);
        }
        let mut request = builder.body(Full::from(self.body))?;
        let any = http::HeaderValue::from_static("*/*");
        request.headers_mut().entry(ACCEPT).or_insert(any);
        Ok(request)
    }
}

/// Sends requests, one at a time. A connection is reused by the next request to the same host.
pub(crate) struct HttpClient {
    client: Client<HttpsConnector<Dial>, Full<Bytes>>,
    dial: Dial,
    runtime: io::Result<Runtime>,
    timeouts: HttpTimeouts,
}

impl HttpClient {
    pub(crate) fn new(policy: AddressPolicy, timeouts: HttpTimeouts) -> Self {
        let dial = Dial::new(policy, timeouts.connect);
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(tls_config())
            .https_or_http()
            .enable_http1()
            .wrap_connector(dial.clone());
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        Self {
            client: Client::builder(TokioExecutor::new()).build(connector),
            dial,
            runtime,
            timeouts,
        }
    }

    /// Returns true if the policy forbids the host of an address. A host whose name can't be
    /// resolved is not forbidden.
    pub(crate) fn forbids(&self, url: &Url, cancel: &Cancellation) -> bool {
        let (Ok(runtime), Ok(uri)) = (&self.runtime, url.as_str().parse()) else {
            return false;
        };
        let peer = Peer {
            runtime,
            cancel: cancel.clone(),
            host: String::new(),
        };
        let found = peer.wait(self.timeouts.connect, self.dial.addresses(&uri));
        matches!(found, Ok(Some(Err(NetError::NotPublic(_)))))
    }

    /// Returns true if an address outside the public network has been reached, or a host that the
    /// policy allows by its name.
    pub(crate) fn has_been_inside(&self) -> bool {
        self.dial.has_been_inside.load(Ordering::Relaxed)
    }

    pub(crate) fn send(
        &mut self,
        request: HttpRequest<'_>,
        cancel: &Cancellation,
    ) -> Result<Response<'_>, NetError> {
        let host = request.url.host_str().unwrap_or_default().to_owned();
        let upload = Duration::from_secs((request.body.len() / MIN_UPLOAD_BYTES_PER_SEC) as u64);
        // The library's message might quote the address, which may contain a secret.
        let built = request.build().map_err(|_| {
            NetError::Failed(format!(
                "The request to {host} can't be sent: its address or a header has characters that HTTP does not allow."
            ))
        })?;
        let runtime = self.runtime.as_ref().map_err(|e| NetError::Connect {
            host: host.clone(),
            why: e.to_string(),
        })?;
        let peer = Peer {
            runtime,
            cancel: cancel.clone(),
            host,
        };
        let HttpTimeouts {
            connect,
            first_byte,
            ..
        } = self.timeouts;
        let limit = connect + upload + first_byte;
        let answer = peer
            .wait(limit, self.client.request(built))?
            .ok_or_else(|| peer.silent("did not answer", limit))?
            .map_err(|e| explain(&e, &peer.host))?;
        let (parts, body) = answer.into_parts();
        Ok(Response {
            status: parts.status.as_u16(),
            body: Body::new(peer, &parts.headers, body, self.timeouts),
            headers: parts.headers,
        })
    }
}

/// Returns the TLS configuration of all requests. It trusts the system's certificates, or those
/// that `SSL_CERT_FILE` and `SSL_CERT_DIR` name; they are read once.
///
/// # Panics
///
/// Never: the `ring` provider supports the default versions of the protocol.
pub fn tls_config() -> ClientConfig {
    static CONFIG: OnceLock<ClientConfig> = OnceLock::new();
    let create = || {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("ring has ciphers for TLS 1.2 and 1.3")
            .with_root_certificates(roots)
            .with_no_client_auth()
    };
    CONFIG.get_or_init(create).clone()
}

struct Peer<'c> {
    runtime: &'c Runtime,
    cancel: Cancellation,
    host: String,
}

impl Peer<'_> {
    /// Drives a future until it is done. Returns `None` if it takes longer than `limit`.
    ///
    /// # Errors
    ///
    /// Returns an error if the call was cancelled or is out of time; this is checked every
    /// [`TICK`].
    fn wait<T>(
        &self,
        limit: Duration,
        step: impl Future<Output = T>,
    ) -> Result<Option<T>, NetError> {
        let deadline = Instant::now() + limit;
        let wait = async {
            let mut step = std::pin::pin!(step);
            loop {
                NetError::check(&self.cancel)?;
                let left = deadline.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    return Ok(None);
                }
                if let Ok(done) = tokio::time::timeout(left.min(TICK), &mut step).await {
                    return Ok(Some(done));
                }
            }
        };
        // Writing to a connection that the server has closed raises SIGPIPE, which would end the
        // process.
        without_sigpipe(|| self.runtime.block_on(wait))
    }

    fn silent(&self, what: &str, limit: Duration) -> NetError {
        NetError::BadAnswer(format!("{} {what} for {} s", self.host, limit.as_secs()))
    }
}

pub(crate) struct Response<'c> {
    pub(crate) status: u16,
    headers: HeaderMap,
    pub(crate) body: Body<'c>,
}

impl Response<'_> {
    pub(crate) fn from_memory(status: u16, headers: HeaderMap, body: Vec<u8>) -> Self {
        let body = Body {
            reader: Some(Box::new(Cursor::new(body))),
            coding: String::new(),
            host: String::new(),
            begin: Instant::now(),
            limit: Duration::MAX,
            silence: Rc::default(),
        };
        Self {
            status,
            headers,
            body,
        }
    }

    /// Returns a header's value if it is UTF-8. The standard allows ASCII only, but servers send
    /// UTF-8.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        std::str::from_utf8(self.headers.get(name)?.as_bytes()).ok()
    }
}

pub(crate) struct Body<'c> {
    /// The reader of the body; `None` if the server used a content encoding that was not requested.
    reader: Option<Box<dyn Read + 'c>>,
    coding: String,
    host: String,
    begin: Instant,
    limit: Duration,
    pub(crate) silence: Rc<Cell<Duration>>,
}

impl<'c> Body<'c> {
    fn new(peer: Peer<'c>, headers: &HeaderMap, body: Incoming, timeouts: HttpTimeouts) -> Self {
        let coding = headers.get(CONTENT_ENCODING).map_or_else(String::new, |v| {
            String::from_utf8_lossy(v.as_bytes()).trim().to_lowercase()
        });
        let host = peer.host.clone();
        let silence = Rc::new(Cell::new(timeouts.silence));
        let raw = Raw {
            peer,
            body,
            left: Bytes::new(),
            silence: Rc::clone(&silence),
        };
        let reader: Option<Box<dyn Read + 'c>> = match coding.as_str() {
            "" | "identity" => Some(Box::new(raw)),
            "gzip" | "x-gzip" => Some(Box::new(MultiGzDecoder::new(raw))),
            "br" => Some(Box::new(Decompressor::new(raw, 4096))),
            _ => None,
        };
        Self {
            reader,
            coding,
            host,
            begin: Instant::now(),
            limit: timeouts.answer,
            silence,
        }
    }

    pub(crate) fn read(&mut self, buffer: &mut [u8]) -> Result<usize, NetError> {
        let Self {
            reader,
            coding,
            host,
            ..
        } = self;
        let Some(reader) = reader else {
            let name: String = coding.chars().take(40).collect();
            return Err(NetError::Failed(format!(
                "the answer of {host} has the content encoding {name:?}, which was not asked for; gzip and br are decoded"
            )));
        };
        reader.read(buffer).map_err(|e| {
            let why = || format!("the answer of {host} can't be understood: {coding}: {e}");
            find(&e)
                .cloned()
                .unwrap_or_else(|| NetError::BadAnswer(why()))
        })
    }

    /// Reads up to `limit` bytes. The second value is true if there were more.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Body::read`], and one if the body takes longer than
    /// [`HttpTimeouts::answer`].
    pub(crate) fn read_up_to(&mut self, limit: usize) -> Result<(Vec<u8>, bool), NetError> {
        let mut bytes = Vec::new();
        let has_more = self.read_into(&mut bytes, limit)?;
        Ok((bytes, has_more))
    }

    /// Like [`Body::read_up_to`], but what was read before an error stays in `bytes`.
    pub(crate) fn read_into(
        &mut self,
        bytes: &mut Vec<u8>,
        limit: usize,
    ) -> Result<bool, NetError> {
        let mut piece = vec![0; 64 * 1024];
        loop {
            let n = self.read(&mut piece)?;
            if n == 0 {
                return Ok(false);
            }
            let room = limit - bytes.len();
            bytes.extend_from_slice(&piece[..n.min(room)]);
            if n > room {
                return Ok(true);
            }
            if self.begin.elapsed() > self.limit {
                return Err(NetError::BadAnswer(format!(
                    "{} did not finish its answer for {} s",
                    self.host,
                    self.limit.as_secs()
                )));
            }
        }
    }
}

struct Raw<'c> {
    peer: Peer<'c>,
    body: Incoming,
    left: Bytes,
    silence: Rc<Cell<Duration>>,
}

impl Read for Raw<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.left.is_empty() {
            let silence = self.silence.get();
            let frame = self
                .peer
                .wait(silence, self.body.frame())
                .and_then(|done| done.ok_or_else(|| self.peer.silent("sent nothing more", silence)))
                .map_err(io::Error::other)?;
            match frame {
                None => return Ok(0),
                Some(Ok(frame)) => self.left = frame.into_data().unwrap_or_default(),
                Some(Err(e)) => return Err(io::Error::other(explain(&e, &self.peer.host))),
            }
        }
        let piece = self.left.split_to(self.left.len().min(buffer.len()));
        buffer[..piece.len()].copy_from_slice(&piece);
        Ok(piece.len())
    }
}

fn explain(error: &(dyn Error + 'static), host: &str) -> NetError {
    if let Some(own) = find::<NetError>(error) {
        return own.clone();
    }
    if let Some(tls) = find::<rustls::Error>(error) {
        let (host, why) = (host.to_owned(), tls.to_string());
        return NetError::Tls { host, why };
    }
    let mut root = error;
    while let Some(source) = root.source() {
        root = source;
    }
    let why = root.to_string();
    match find::<hyper::Error>(error) {
        Some(e) if e.is_parse() => {
            NetError::BadAnswer(format!("the answer of {host} can't be understood: {why}"))
        }
        Some(e) if e.is_user() => NetError::Failed(format!("The request to {host} can't be sent.")),
        _ => NetError::BadAnswer(format!("the answer of {host} was cut off: {why}")),
    }
}

fn find<'e, E: Error + 'static>(error: &'e (dyn Error + 'static)) -> Option<&'e E> {
    let mut at = Some(error);
    while let Some(error) = at {
        if let Some(found) = error.downcast_ref() {
            return Some(found);
        }
        // `io::Error::source` returns the source of the wrapped error, and so would skip the
        // wrapped error itself.
        let within = error
            .downcast_ref::<io::Error>()
            .and_then(io::Error::get_ref);
        at = match within {
            Some(within) => Some(within),
            None => error.source(),
        };
    }
    None
}
#[cfg(test)]
mod tests {
    use super::{HttpClient, HttpRequest, HttpTimeouts, Method};
    use crate::http_client::NetError;
    use gemini_tools_core::tool::Cancellation;
    use gemini_tools_process::network::addresses::AddressPolicy;
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::time::Duration;
    use url::Url;

    fn endless(begin: &'static str, piece: &'static str) -> Url {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("a client");
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(begin.as_bytes());
            while stream.write_all(piece.as_bytes()).is_ok() {
                std::thread::sleep(Duration::from_millis(5));
            }
        });
        Url::parse(&format!("http://{address}/")).expect("a URL")
    }

    fn get(url: &Url) -> HttpRequest<'_> {
        HttpRequest {
            method: Method::GET,
            url,
            headers: Vec::new(),
            body: Vec::new(),
        }
    }

    fn client() -> HttpClient {
        let brief = Duration::from_millis(100);
        let timeouts = HttpTimeouts {
            connect: brief,
            first_byte: brief,
            silence: Duration::from_secs(60),
            answer: brief,
        };
        HttpClient::new(AddressPolicy::Any, timeouts)
    }

    #[test]
    fn an_answer_that_only_trickles_is_given_up_unless_it_is_read_in_pieces() {
        const HEAD: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
        let given_up = |error: NetError, what| assert!(error.to_string().contains(what), "{error}");
        let cancel = Cancellation::default();
        let url = endless("HTTP/1.1 200 OK\r\n", "X: y\r\n");
        let error = client().send(get(&url), &cancel).err().expect("no head");
        given_up(error, "did not answer");
        let url = endless(HEAD, "1\r\nx\r\n");
        let mut client_of_whole = client();
        let mut answer = client_of_whole.send(get(&url), &cancel).expect("a head");
        let error = answer.body.read_up_to(usize::MAX).expect_err("no end");
        given_up(error, "did not finish its answer");
        let url = endless(HEAD, "1\r\nx\r\n");
        let mut client_of_pieces = client();
        let mut answer = client_of_pieces.send(get(&url), &cancel).expect("a head");
        for _ in 0..100 {
            assert!(answer.body.read(&mut [0; 1]).expect("a piece") > 0);
        }
    }
}
