//! Connections: resolve, judge, connect to the judged address, by a proxy where there is one.
//!
//! The HTTP library asks [`Dial`] for connections. It sees names only where nothing is judged by
//! address; where something is, a proxy too is told the address, not the name.

use super::client::CurrentCall;
use super::names::{interrupted, resolve};
use super::proxy::{Proxy, ProxyKind};
use super::sockets::{PollFlags, connect_one, wait};
use super::{AddressPolicy, HttpTimeouts, NetError};
use base64::Engine;
use gemini_tools_core::tool::Cancellation;
use gemini_tools_process::network::addresses::known_addresses;
use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Shutdown, SocketAddr, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{
    Buffers, ConnectionDetails, Connector, Either, LazyBuffers, NextTimeout, Transport,
};
use url::Url;

/// Maximum bytes read of a proxy's answer.
const MAX_PROXY_ANSWER_BYTES: usize = 16 * 1024;

/// Addresses of one name that are tried.
const MAX_ADDRESSES: usize = 8;

/// The resolver and the connector of the HTTP library.
#[derive(Debug, Clone)]
pub(super) struct Dial {
    pub(super) policy: Arc<AddressPolicy>,
    pub(super) timeouts: HttpTimeouts,
    pub(super) call: Arc<Mutex<CurrentCall>>,
}

impl Dial {
    fn call(&self) -> MutexGuard<'_, CurrentCall> {
        self.call.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn cancel(&self) -> Cancellation {
        self.call().cancel.clone()
    }

    /// The judged addresses of the host of an address.
    fn addresses(&self, url: &Url) -> Result<Vec<SocketAddr>, NetError> {
        let (host, port) = host_and_port(url)?;
        let found = match url.host().and_then(|host| known_addresses(&host)) {
            Some(known) => known,
            None => resolve(&host, self.timeouts.connect, &self.cancel())?,
        };
        let mut judged = self.policy.filter_allowed(&host, port, found)?;
        // An address of IPv4 within IPv6 is connected to as what it is.
        for address in &mut judged {
            *address = address.to_canonical();
        }
        judged.truncate(MAX_ADDRESSES);
        Ok(judged.into_iter().map(|a| (a, port).into()).collect())
    }

    fn connect_by_proxy(&self, proxy: &Proxy, url: &Url) -> Result<TcpStream, NetError> {
        let (host, port) = host_and_port(url)?;
        let failed = |why: String| NetError::Proxy {
            proxy: proxy.shown(),
            why,
        };
        let target = if self.policy.trusts(&host, port) {
            host
        } else {
            let judged = self.addresses(url).map_err(|e| match e {
                NetError::Names { host, why } => NetError::Names {
                    host,
                    why: format!(
                        "{why}; names are judged before the proxy gets them, unless the host is allowed"
                    ),
                },
                other => other,
            })?;
            match judged.first() {
                Some(SocketAddr::V6(v6)) => format!("[{}]", v6.ip()),
                Some(v4) => v4.ip().to_string(),
                None => return Err(NetError::NoSuchName(host)),
            }
        };
        let cancel = self.cancel();
        // Proxies are the user's own choice and may well be private.
        let found = match proxy.host.parse::<IpAddr>() {
            Ok(address) => vec![address],
            Err(_) => resolve(&proxy.host, self.timeouts.connect, &cancel)?,
        };
        let sockets: Vec<_> = found.iter().map(|a| (*a, proxy.port).into()).collect();
        let stream = connect(&sockets, &proxy.shown(), self.timeouts.connect, &cancel)?;
        let until = Instant::now() + self.timeouts.connect;
        let mut line = Line {
            stream: &stream,
            cancel: &cancel,
            until,
        };
        match proxy.kind {
            ProxyKind::Connect => line.http_connect(proxy, &target, port).map_err(failed)?,
            ProxyKind::Socks5 => line.socks5(proxy, &target, port).map_err(failed)?,
        }
        interrupted(&cancel)?;
        Ok(stream)
    }
}

/// The host without brackets, and the port.
fn host_and_port(url: &Url) -> Result<(String, u16), NetError> {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    match url.port_or_known_default() {
        Some(port) if !host.is_empty() => Ok((host.to_owned(), port)),
        _ => Err(NetError::BadRequest(format!("{url} names no host."))),
    }
}

fn parsed(uri: &Uri) -> Result<Url, NetError> {
    Url::parse(&uri.to_string())
        .map_err(|e| NetError::BadRequest(format!("{uri} is not a valid address: {e}")))
}

/// The first of the addresses that answers.
fn connect(
    sockets: &[SocketAddr],
    host: &str,
    limit: Duration,
    cancel: &Cancellation,
) -> Result<TcpStream, NetError> {
    let mut why = "it has no address".to_owned();
    let until = Instant::now() + limit;
    for (i, socket) in sockets.iter().enumerate() {
        // One address that swallows everything must not use up the time of the others.
        let left = until.saturating_duration_since(Instant::now());
        let share = left / u32::try_from(sockets.len() - i).unwrap_or(1);
        match connect_one(*socket, share, cancel) {
            Ok(stream) => return Ok(stream),
            Err(e) => why = e.to_string(),
        }
        interrupted(cancel)?;
    }
    Err(NetError::Connect {
        host: host.to_owned(),
        why,
    })
}

/// A connection on which a proxy is asked for another.
struct Line<'a> {
    stream: &'a TcpStream,
    cancel: &'a Cancellation,
    until: Instant,
}

impl Line<'_> {
    fn send(&mut self, mut bytes: &[u8]) -> Result<(), String> {
        let mut stream = self.stream;
        while !bytes.is_empty() {
            self.wait(PollFlags::OUT)?;
            match stream.write(bytes) {
                Ok(n) => bytes = &bytes[n..],
                Err(e) if e.kind() == ErrorKind::WouldBlock => {}
                Err(e) => return Err(e.to_string()),
            }
        }
        Ok(())
    }

    fn receive(&mut self, buffer: &mut [u8]) -> Result<(), String> {
        let mut stream = self.stream;
        let mut done = 0;
        while done < buffer.len() {
            self.wait(PollFlags::IN)?;
            match stream.read(&mut buffer[done..]) {
                Ok(0) => return Err("it ended the connection".to_owned()),
                Ok(n) => done += n,
                Err(e) if e.kind() == ErrorKind::WouldBlock => {}
                Err(e) => return Err(e.to_string()),
            }
        }
        Ok(())
    }

    fn wait(&self, flags: PollFlags) -> Result<(), String> {
        match wait(self.stream, flags, Some(self.until), self.cancel) {
            Ok(true) => Ok(()),
            Ok(false) => Err("it did not answer in time".to_owned()),
            Err(e) => Err(e.to_string()),
        }
    }

    /// RFC 9110, section 9.3.6.
    fn http_connect(&mut self, proxy: &Proxy, target: &str, port: u16) -> Result<(), String> {
        let target = if target.contains(':') && !target.starts_with('[') {
            format!("[{target}]")
        } else {
            target.to_owned()
        };
        let mut head = format!("CONNECT {target}:{port} HTTP/1.1\r\nHost: {target}:{port}\r\n");
        if let Some((user, password)) = &proxy.credentials {
            let pair =
                base64::engine::general_purpose::STANDARD.encode(format!("{user}:{password}"));
            head.push_str(&format!("Proxy-Authorization: Basic {pair}\r\n"));
        }
        head.push_str("\r\n");
        self.send(head.as_bytes())?;
        // Byte by byte: what follows the head belongs to the connection.
        let mut answer = Vec::new();
        while !answer.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            self.receive(&mut byte)?;
            answer.push(byte[0]);
            if answer.len() > MAX_PROXY_ANSWER_BYTES {
                return Err("its answer has no end".to_owned());
            }
        }
        let answer = String::from_utf8_lossy(&answer);
        let line = answer.lines().next().unwrap_or_default();
        let status = line.split(' ').nth(1).unwrap_or_default();
        if line.starts_with("HTTP/1.") && status.starts_with('2') && status.len() == 3 {
            return Ok(());
        }
        Err(format!("it refused to connect to {target}:{port} ({line})"))
    }

    /// RFC 1928 and, for the password, RFC 1929.
    fn socks5(&mut self, proxy: &Proxy, target: &str, port: u16) -> Result<(), String> {
        let method = if proxy.credentials.is_some() { 2 } else { 0 };
        self.send(&[5, 1, method])?;
        let mut chosen = [0; 2];
        self.receive(&mut chosen)?;
        if chosen != [5, method] {
            return Err("it doesn't speak SOCKS 5, or needs another kind of login".to_owned());
        }
        if let Some((user, password)) = &proxy.credentials {
            let mut login = vec![1];
            for text in [user, password] {
                let length = u8::try_from(text.len()).map_err(|_| "its login is too long")?;
                login.push(length);
                login.extend_from_slice(text.as_bytes());
            }
            self.send(&login)?;
            let mut answer = [0; 2];
            self.receive(&mut answer)?;
            if answer[1] != 0 {
                return Err("it refused the login".to_owned());
            }
        }
        let mut request = vec![5, 1, 0];
        match target.trim_matches(['[', ']']).parse::<IpAddr>() {
            Ok(IpAddr::V4(v4)) => {
                request.push(1);
                request.extend_from_slice(&v4.octets());
            }
            Ok(IpAddr::V6(v6)) => {
                request.push(4);
                request.extend_from_slice(&v6.octets());
            }
            Err(_) => {
                request.push(3);
                request.push(u8::try_from(target.len()).map_err(|_| "the name is too long")?);
                request.extend_from_slice(target.as_bytes());
            }
        }
        request.extend_from_slice(&port.to_be_bytes());
        self.send(&request)?;
        let mut answer = [0; 4];
        self.receive(&mut answer)?;
        if answer[1] != 0 {
            return Err(format!("it refused to connect (code {})", answer[1]));
        }
        let rest = match answer[3] {
            1 => 4,
            4 => 16,
            _ => {
                let mut length = [0];
                self.receive(&mut length)?;
                usize::from(length[0])
            }
        };
        self.receive(&mut vec![0; rest + 2])
    }
}

impl Resolver for Dial {
    fn resolve(
        &self,
        uri: &Uri,
        _: &Config,
        _: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let url = parsed(uri).map_err(other)?;
        let mut found = self.empty();
        if proxy_of(&url).map_err(other)?.is_some() {
            // The connector does the whole way; the library wants some address.
            found.push((Ipv4Addr::UNSPECIFIED, 0).into());
            return Ok(found);
        }
        for socket in self.addresses(&url).map_err(other)? {
            found.push(socket);
        }
        if found.is_empty() {
            let (host, _) = host_and_port(&url).map_err(other)?;
            return Err(other(NetError::NoSuchName(host)));
        }
        Ok(found)
    }
}

impl<In: Transport> Connector<In> for Dial {
    type Out = Either<In, GuardedStream>;

    fn connect(
        &self,
        details: &ConnectionDetails,
        _: Option<In>,
    ) -> Result<Option<Self::Out>, ureq::Error> {
        let url = parsed(details.uri).map_err(other)?;
        let stream = if let Some(proxy) = proxy_of(&url).map_err(other)? {
            self.connect_by_proxy(&proxy, &url)
        } else {
            let (host, port) = host_and_port(&url).map_err(other)?;
            let name = format!("{host}:{port}");
            connect(&details.addrs, &name, self.timeouts.connect, &self.cancel())
        };
        let buffers = LazyBuffers::new(
            details.config.input_buffer_size(),
            details.config.output_buffer_size(),
        );
        Ok(Some(Either::B(GuardedStream {
            stream: stream.map_err(other)?,
            buffers,
            dial: self.clone(),
            host: host_and_port(&url).map_err(other)?.0,
            answering_since: None,
        })))
    }
}

fn proxy_of(url: &Url) -> Result<Option<Proxy>, NetError> {
    Proxy::of_environment(url)
}

pub(super) fn other(error: NetError) -> ureq::Error {
    ureq::Error::Other(Box::new(error))
}

/// A connection, watched for silence and for the end of the call.
#[derive(Debug)]
pub(super) struct GuardedStream {
    stream: TcpStream,
    buffers: LazyBuffers,
    dial: Dial,
    host: String,
    /// Time of the first byte that has come since something was sent.
    answering_since: Option<Instant>,
}

impl GuardedStream {
    /// Waits until the socket is ready, no longer than the peer may be silent.
    fn wait(&self, flags: PollFlags, timeout: NextTimeout) -> Result<(), ureq::Error> {
        let timeouts = &self.dial.timeouts;
        let (own, what) = match (flags, self.answering_since) {
            (PollFlags::OUT, _) => (timeouts.silence, "took nothing"),
            (_, Some(since)) => {
                let is_late = since.elapsed() > timeouts.answer;
                if is_late && !self.dial.call().is_in_pieces {
                    return Err(other(NetError::Silent {
                        host: self.host.clone(),
                        what: "did not finish its answer",
                        secs: timeouts.answer.as_secs(),
                    }));
                }
                (timeouts.silence, "sent nothing more")
            }
            (_, None) => (timeouts.first_byte, "did not answer"),
        };
        let library = timeout.not_zero().map(|t| *t);
        let limit = library.map_or(own, |l| l.min(own));
        let until = Some(Instant::now() + limit);
        if wait(&self.stream, flags, until, &self.dial.cancel())? {
            return Ok(());
        }
        if limit < own {
            return Err(ureq::Error::Timeout(timeout.reason));
        }
        Err(other(NetError::Silent {
            host: self.host.clone(),
            what,
            secs: own.as_secs(),
        }))
    }
}

impl Transport for GuardedStream {
    fn buffers(&mut self) -> &mut dyn Buffers {
        &mut self.buffers
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), ureq::Error> {
        self.answering_since = None;
        let mut done = 0;
        while done < amount {
            self.wait(PollFlags::OUT, timeout)?;
            let mut stream = &self.stream;
            match stream.write(&self.buffers.output()[done..amount]) {
                Ok(n) => done += n,
                Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
                Err(e) => return Err(e.into()),
            }
        }
        Ok(())
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, ureq::Error> {
        loop {
            self.wait(PollFlags::IN, timeout)?;
            let mut stream = &self.stream;
            match stream.read(self.buffers.input_append_buf()) {
                Ok(n) => {
                    self.buffers.input_appended(n);
                    self.answering_since.get_or_insert_with(Instant::now);
                    return Ok(n > 0);
                }
                Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
                Err(e) => return Err(e.into()),
            }
        }
    }

    /// Returns true if a kept connection can be used again: the peer has neither ended it nor sent
    /// something unasked.
    fn is_open(&mut self) -> bool {
        let mut byte = [0];
        matches!(
            self.stream.peek(&mut byte),
            Err(e) if e.kind() == ErrorKind::WouldBlock
        )
    }
}

impl Drop for GuardedStream {
    fn drop(&mut self) {
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}
