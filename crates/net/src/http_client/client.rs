//! An HTTP client that makes one request at a time.

use super::connect::Dial;
use super::content_encoding::{self, Undecodable};
use super::{AddressPolicy, NetError};
use gemini_tools_core::tool::Cancellation;
use std::io::{self, Read};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;
use ureq::config::Config;
use ureq::http;
use ureq::tls::{Certificate, RootCerts, TlsConfig, TlsProvider};
use ureq::unversioned::transport::{Connector, RustlsConnector};
use ureq::{Agent, SendBody};
use url::Url;

/// Size of the pieces in which a request is sent, in bytes. Each time wakes the peer's side, which
/// is most of the work where that is on the same machine.
const OUTPUT_BYTES: usize = 256 * 1024;

/// Returns the `User-Agent` of requests.
pub fn user_agent() -> String {
    format!(
        "gemini-tools/{} ({}; {})",
        env!("CARGO_PKG_VERSION"),
        std::env::consts::OS,
        std::env::consts::ARCH
    )
}

/// Time limits for a peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HttpTimeouts {
    /// To resolve the name, and to connect.
    pub connect: Duration,
    /// From the request to the first byte of the answer.
    pub first_byte: Duration,
    /// Between two pieces of the answer.
    pub silence: Duration,
    /// From the first byte of the answer to its end, or to that of its head if the body is read in pieces.
    pub answer: Duration,
}

/// The call that a client works for at the moment.
#[derive(Debug, Default)]
pub(super) struct CurrentCall {
    pub(super) cancel: Cancellation,
    /// True if the body is read in pieces, which may come as long as they like.
    pub(super) is_in_pieces: bool,
}

type SharedCall = Arc<Mutex<CurrentCall>>;

fn locked(call: &SharedCall) -> MutexGuard<'_, CurrentCall> {
    call.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The method of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Asks for a page.
    Get,
    /// Sends the body.
    Post,
}

/// An HTTP request.
#[derive(Clone)]
pub struct HttpRequest<'a> {
    /// The method.
    pub method: Method,
    /// The address: `http` or `https`.
    pub url: &'a Url,
    /// Names and values; `host`, `user-agent` and `accept-encoding` are added.
    pub headers: Vec<(&'a str, String)>,
    /// In pieces that follow each other, so that they need not be copied together; empty for `GET`.
    pub body: &'a [&'a [u8]],
}

impl std::fmt::Debug for HttpRequest<'_> {
    /// Without the values of headers, the body, and what may be secret in the address.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HttpRequest")
            .field("method", &self.method)
            .field("host", &self.url.host_str())
            .finish_non_exhaustive()
    }
}

/// Sends requests, one at a time. Connections are kept for the next request to the same host.
#[derive(Debug)]
pub struct HttpClient {
    agent: Agent,
    call: SharedCall,
}

impl HttpClient {
    /// A client for hosts that `policy` allows. The certificates of the system (or those that
    /// `SSL_CERT_FILE` and `SSL_CERT_DIR` name) are read when the first one is made.
    pub fn new(policy: AddressPolicy, timeouts: HttpTimeouts) -> Self {
        let call = SharedCall::default();
        let dial = Dial {
            policy: Arc::new(policy),
            timeouts,
            call: Arc::clone(&call),
        };
        let tls = TlsConfig::builder()
            .provider(TlsProvider::Rustls)
            .root_certs(RootCerts::Specific(roots()))
            .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .build();
        let config = Config::builder()
            .tls_config(tls)
            .proxy(None)
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .user_agent(user_agent())
            .accept("*/*")
            .accept_encoding(content_encoding::ACCEPTED)
            .output_buffer_size(OUTPUT_BYTES)
            .build();
        let connector = ().chain(dial.clone()).chain(RustlsConnector::default());
        Self {
            agent: Agent::with_parts(config, connector, dial),
            call,
        }
    }

    /// Sends a request and gives the answer once its head is there, whatever its status.
    ///
    /// # Errors
    ///
    /// What went wrong on the way.
    pub fn send(
        &mut self,
        request: &HttpRequest<'_>,
        cancel: &Cancellation,
    ) -> Result<Response<'_>, NetError> {
        *locked(&self.call) = CurrentCall {
            cancel: cancel.clone(),
            is_in_pieces: false,
        };
        let host = request.url.host_str().unwrap_or_default().to_owned();
        let method = match request.method {
            Method::Get => http::Method::GET,
            Method::Post => http::Method::POST,
        };
        let mut builder = http::Request::builder()
            .method(method)
            .uri(request.url.as_str());
        for (name, value) in &request.headers {
            builder = builder.header(*name, value);
        }
        // The message of the library could quote the address with what is secret in it.
        let unfit = |_| {
            NetError::BadRequest(format!(
                "The request to {host} can't be sent: its address or a header has characters that HTTP does not allow."
            ))
        };
        let sent = match request.method {
            Method::Get => self.agent.run(builder.body(()).map_err(unfit)?),
            Method::Post => {
                let bytes: usize = request.body.iter().map(|piece| piece.len()).sum();
                let mut pieces = Pieces {
                    first: &[],
                    others: request.body,
                };
                let body = SendBody::from_reader(&mut pieces);
                let builder = builder.header(http::header::CONTENT_LENGTH, bytes);
                self.agent.run(builder.body(body).map_err(unfit)?)
            }
        };
        let (parts, body) = sent.map_err(|e| explained(e, &host))?.into_parts();
        let codings = parts.headers.get_all(http::header::CONTENT_ENCODING);
        let codings = codings
            .iter()
            .map(|v| String::from_utf8_lossy(v.as_bytes()));
        let raw = body.into_with_config().limit(u64::MAX).reader();
        Ok(Response {
            status: parts.status.as_u16(),
            body: Body {
                reader: content_encoding::decoded(raw, codings),
                host,
                call: Arc::clone(&self.call),
                _client: std::marker::PhantomData,
            },
            headers: parts.headers,
        })
    }
}

/// The rest of a body: of the piece that is being read, and the other pieces.
struct Pieces<'a> {
    first: &'a [u8],
    others: &'a [&'a [u8]],
}

impl Read for Pieces<'_> {
    /// Fills the buffer as long as there is something: each buffer becomes a packet.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut done = 0;
        while done < buffer.len() {
            if self.first.is_empty() {
                let Some((first, others)) = self.others.split_first() else {
                    break;
                };
                (self.first, self.others) = (first, others);
            }
            done += self.first.read(&mut buffer[done..])?;
        }
        Ok(done)
    }
}

/// An answer whose body is still to be read.
#[derive(Debug)]
pub struct Response<'c> {
    /// The status.
    pub status: u16,
    headers: http::HeaderMap,
    /// The content.
    pub body: Body<'c>,
}

impl Response<'_> {
    /// A header's value, where it is text: ASCII by the standard, UTF-8 in the wild.
    pub fn header(&self, name: &str) -> Option<&str> {
        std::str::from_utf8(self.headers.get(name)?.as_bytes()).ok()
    }
}

/// The content of an answer, decompressed as it comes.
pub struct Body<'c> {
    /// Or why there is none.
    reader: Result<Box<dyn Read>, String>,
    host: String,
    call: SharedCall,
    /// The client sends nothing else as long as this is read.
    _client: std::marker::PhantomData<&'c mut HttpClient>,
}

impl std::fmt::Debug for Body<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Body")
            .field("host", &self.host)
            .finish_non_exhaustive()
    }
}

impl Body<'_> {
    /// Reads what is there, waiting for it; zero is the end.
    ///
    /// # Errors
    ///
    /// Returns the error of the connection, also if the answer ends before its end.
    pub fn read(&mut self, buffer: &mut [u8]) -> Result<usize, NetError> {
        locked(&self.call).is_in_pieces = true;
        self.read_piece(buffer)
    }

    fn read_piece(&mut self, buffer: &mut [u8]) -> Result<usize, NetError> {
        let reader = self.reader.as_mut().map_err(|coding| NetError::Coding {
            host: self.host.clone(),
            coding: coding.clone(),
        })?;
        reader
            .read(buffer)
            .map_err(|e| explained(ureq::Error::from(e), &self.host))
    }

    /// Reads to the end, but no more than `limit` bytes; and whether there was more.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Body::read`], and one if the end takes longer than [`HttpTimeouts::answer`].
    pub fn read_up_to(&mut self, limit: usize) -> Result<(Vec<u8>, bool), NetError> {
        let mut bytes = Vec::new();
        let mut piece = vec![0; 64 * 1024];
        loop {
            let n = self.read_piece(&mut piece)?;
            if n == 0 {
                return Ok((bytes, false));
            }
            let room = limit - bytes.len();
            bytes.extend_from_slice(&piece[..n.min(room)]);
            if n > room {
                return Ok((bytes, true));
            }
        }
    }
}

/// The system's certificates, read once.
fn roots() -> Arc<Vec<Certificate<'static>>> {
    static ROOTS: OnceLock<Arc<Vec<Certificate<'static>>>> = OnceLock::new();
    let load = || {
        let found = rustls_native_certs::load_native_certs();
        let certificates = found.certs.iter();
        Arc::new(
            certificates
                .map(|c| Certificate::from_der(c).to_owned())
                .collect(),
        )
    };
    Arc::clone(ROOTS.get_or_init(load))
}

/// The library's error as ours.
fn explained(error: ureq::Error, host: &str) -> NetError {
    let host = host.to_owned();
    match error {
        ureq::Error::Other(inner) => match inner.downcast::<NetError>() {
            Ok(own) => *own,
            Err(e) => NetError::Protocol {
                host,
                why: e.to_string(),
            },
        },
        ureq::Error::Rustls(e) => NetError::Tls {
            host,
            why: e.to_string(),
        },
        ureq::Error::Tls(why) => NetError::Tls {
            host,
            why: why.to_owned(),
        },
        ureq::Error::Io(e) => {
            if let Some(undecodable) = inner::<Undecodable>(&e) {
                interruption_within(&undecodable.source).unwrap_or_else(|| NetError::Protocol {
                    host,
                    why: undecodable.to_string(),
                })
            } else if let Some(tls) = inner::<rustls::Error>(&e) {
                let why = tls.to_string();
                NetError::Tls { host, why }
            } else {
                let why = e.to_string();
                NetError::Cut { host, why }
            }
        }
        ureq::Error::BadUri(_) | ureq::Error::Http(_) => {
            NetError::BadRequest(format!("The request to {host} can't be sent."))
        }
        e => NetError::Protocol {
            host,
            why: e.to_string(),
        },
    }
}

/// Returns the error within an I/O error.
fn inner<E: std::error::Error + 'static>(e: &std::io::Error) -> Option<&E> {
    e.get_ref()?.downcast_ref()
}

/// Returns the reason why the connection ended, also if a decompressor has wrapped it.
fn interruption_within(e: &std::io::Error) -> Option<NetError> {
    let mut at: Option<&(dyn std::error::Error + 'static)> = e.get_ref().map(|e| e as _);
    while let Some(error) = at {
        if let Some(ureq::Error::Other(own)) = error.downcast_ref::<ureq::Error>() {
            return match own.downcast_ref::<NetError>()? {
                NetError::Cancelled => Some(NetError::Cancelled),
                NetError::OutOfTime => Some(NetError::OutOfTime),
                NetError::Silent { host, what, secs } => Some(NetError::Silent {
                    host: host.clone(),
                    what,
                    secs: *secs,
                }),
                _ => None,
            };
        }
        at = error.source();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{HttpClient, HttpRequest, HttpTimeouts, Method};
    use crate::http_client::{AddressPolicy, NetError};
    use gemini_tools_core::tool::Cancellation;
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::time::Duration;
    use url::Url;

    /// Returns the address of a server whose answer begins so, and goes on with this piece for ever.
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
            method: Method::Get,
            url,
            headers: Vec::new(),
            body: &[],
        }
    }

    fn client() -> HttpClient {
        let long = Duration::from_secs(60);
        let timeouts = HttpTimeouts {
            connect: long,
            first_byte: long,
            silence: long,
            answer: Duration::from_millis(100),
        };
        HttpClient::new(AddressPolicy::Any, timeouts)
    }

    #[test]
    fn an_answer_that_only_trickles_is_given_up_unless_it_is_read_in_pieces() {
        const HEAD: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
        let given_up = |error: NetError| error.to_string().contains("did not finish its answer");
        let cancel = Cancellation::default();
        let url = endless("HTTP/1.1 200 OK\r\n", "X: y\r\n");
        let error = client().send(&get(&url), &cancel).expect_err("no head");
        assert!(given_up(error));
        let url = endless(HEAD, "1\r\nx\r\n");
        let mut client_of_whole = client();
        let mut answer = client_of_whole.send(&get(&url), &cancel).expect("a head");
        assert!(given_up(
            answer.body.read_up_to(usize::MAX).expect_err("no end")
        ));
        let url = endless(HEAD, "1\r\nx\r\n");
        let mut client_of_pieces = client();
        let mut answer = client_of_pieces.send(&get(&url), &cancel).expect("a head");
        for _ in 0..100 {
            assert!(answer.body.read(&mut [0; 1]).expect("a piece") > 0);
        }
    }
}
