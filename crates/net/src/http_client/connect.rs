//! Opens connections: resolves the name, checks the addresses against the policy, and connects to a
//! checked address, through a proxy if there is one.
//!
//! The proxy is given the checked address, too. Given a name, it would resolve it again, perhaps to
//! an internal address. It only gets names that the user has allowed.

use super::NetError;
use super::names::resolve;
use super::proxy::{Proxy, find_proxy};
use bytes::Bytes;
use gemini_tools_process::network::addresses::{AddressPolicy, is_public, known_addresses};
use http::header::{HOST, PROXY_AUTHORIZATION};
use http::{Request, Uri};
use http_body_util::Empty;
use hyper_util::client::legacy::connect::proxy::SocksV5;
use hyper_util::rt::TokioIo;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tower::{Service, service_fn};
use url::Url;

const MAX_ADDRESSES: usize = 8;

#[derive(Debug, Clone)]
pub(super) struct Dial {
    policy: Arc<AddressPolicy>,
    limit: Duration,
    pub(super) has_been_inside: Arc<AtomicBool>,
}

impl Service<Uri> for Dial {
    type Response = TokioIo<TcpStream>;
    type Error = NetError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, NetError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), NetError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let dial = self.clone();
        Box::pin(async move {
            match find_proxy(&uri)? {
                Some(proxy) => dial.open_by_proxy(&proxy, &uri).await,
                None => dial.open(&uri).await,
            }
            .map(TokioIo::new)
        })
    }
}

impl Dial {
    pub(super) fn new(policy: AddressPolicy, limit: Duration) -> Self {
        Self {
            policy: Arc::new(policy),
            limit,
            has_been_inside: Arc::default(),
        }
    }

    /// Connects to the first address that answers. The time limit is shared out among the
    /// addresses, so that one that drops packets can't use all of it.
    async fn open(&self, uri: &Uri) -> Result<TcpStream, NetError> {
        let sockets = self.addresses(uri).await?;
        let mut why = "it has no address".to_owned();
        let deadline = Instant::now() + self.limit;
        for (i, socket) in sockets.iter().enumerate() {
            let left = deadline.saturating_duration_since(Instant::now());
            let share = left / u32::try_from(sockets.len() - i).unwrap_or(1);
            match timeout(share, TcpStream::connect(socket)).await {
                Ok(Ok(stream)) => {
                    // Disables Nagle's algorithm, so that small messages are sent at once.
                    let _ = stream.set_nodelay(true);
                    return Ok(stream);
                }
                Ok(Err(e)) => why = e.to_string(),
                Err(_) => why = format!("{} did not answer", socket.ip()),
            }
        }
        let (_, host, port) = parse(uri)?;
        Err(NetError::Connect {
            host: authority(&host, port),
            why,
        })
    }

    pub(super) async fn addresses(&self, uri: &Uri) -> Result<Vec<SocketAddr>, NetError> {
        let (url, host, port) = parse(uri)?;
        let known = url.host().and_then(|host| known_addresses(&host));
        let found = match known {
            Some(known) => known,
            None => resolve(&host, self.limit).await?,
        };
        let judged = self.policy.filter_allowed(&host, port, found);
        let mut judged = judged.map_err(NetError::NotPublic)?;
        if !judged.iter().copied().all(is_public) || self.policy.trusts(&host, port) {
            self.has_been_inside.store(true, Ordering::Relaxed);
        }
        // An IPv4 address that is mapped into IPv6 is converted back, so that it is reached over
        // IPv4.
        for address in &mut judged {
            *address = address.to_canonical();
        }
        judged.truncate(MAX_ADDRESSES);
        if judged.is_empty() {
            return Err(NetError::NoSuchName(host));
        }
        Ok(judged.into_iter().map(|a| (a, port).into()).collect())
    }

    /// Connects through a proxy. The policy does not apply to the proxy itself, which the user has
    /// chosen and which is often on a private network.
    async fn open_by_proxy(&self, proxy: &Proxy, uri: &Uri) -> Result<TcpStream, NetError> {
        let (_, host, port) = parse(uri)?;
        let target = if self.policy.trusts(&host, port) {
            self.has_been_inside.store(true, Ordering::Relaxed);
            authority(&host, port)
        } else {
            let judged = self.addresses(uri).await.map_err(|e| match e {
                NetError::Names { host, why } => NetError::Names {
                    host,
                    why: format!(
                        "{why}; names are judged before the proxy gets them, unless the host is allowed"
                    ),
                },
                other => other,
            })?;
            judged[0].to_string()
        };
        let direct = Self::new(AddressPolicy::Any, self.limit);
        let stream = direct.open(&proxy.uri).await.map_err(|e| match e {
            NetError::Connect { why, .. } => NetError::Connect {
                host: format!("the proxy {}", proxy.name),
                why,
            },
            other => other,
        })?;
        let failed = |why: String| NetError::Failed(format!("the proxy {}: {why}", proxy.name));
        let asked = async {
            if proxy.is_socks {
                open_by_socks(stream, proxy, &target).await
            } else {
                open_tunnel(stream, proxy, &target).await
            }
        };
        match timeout(self.limit, asked).await {
            Ok(opened) => opened.map_err(failed),
            Err(_) => Err(failed("it did not answer in time".to_owned())),
        }
    }
}

async fn open_tunnel(stream: TcpStream, proxy: &Proxy, target: &str) -> Result<TcpStream, String> {
    let words = |e: hyper::Error| e.to_string();
    let handshake = hyper::client::conn::http1::handshake::<_, Empty<Bytes>>(TokioIo::new(stream));
    let (mut sender, connection) = handshake.await.map_err(words)?;
    // The task drives the connection. If it fails, `send_request` returns the error as well.
    tokio::spawn(connection.with_upgrades());
    let mut request = Request::connect(target).header(HOST, target);
    if let Some(login) = proxy.intercept.basic_auth() {
        request = request.header(PROXY_AUTHORIZATION, login);
    }
    let request = request.body(Empty::new()).map_err(|e| e.to_string())?;
    let answer = sender.send_request(request).await.map_err(words)?;
    if !answer.status().is_success() {
        let status = answer.status();
        return Err(format!("it refused to connect to {target} ({status})"));
    }
    let upgraded = hyper::upgrade::on(answer).await.map_err(words)?;
    match upgraded.downcast::<TokioIo<TcpStream>>() {
        Ok(parts) if parts.read_buf.is_empty() => Ok(parts.io.into_inner()),
        _ => Err("it sent more than the head of its answer".to_owned()),
    }
}

async fn open_by_socks(
    stream: TcpStream,
    proxy: &Proxy,
    target: &str,
) -> Result<TcpStream, String> {
    let mut stream = Some(TokioIo::new(stream));
    let connected = service_fn(move |_: Uri| {
        let stream = stream.take().ok_or(io::ErrorKind::NotConnected.into());
        std::future::ready::<io::Result<_>>(stream)
    });
    let mut socks = SocksV5::new(proxy.uri.clone(), connected);
    if let Some((user, password)) = proxy.intercept.raw_auth() {
        socks = socks.with_auth(user.to_owned(), password.to_owned());
    }
    let target: Uri = target
        .parse()
        .map_err(|_| format!("{target} is not an address"))?;
    let opened = socks.call(target).await.map_err(|e| e.to_string())?;
    Ok(opened.into_inner())
}

fn parse(uri: &Uri) -> Result<(Url, String, u16), NetError> {
    let url = Url::parse(&uri.to_string())
        .map_err(|e| NetError::Failed(format!("{uri} is not a valid address: {e}")))?;
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    let host = host.to_owned();
    match url.port_or_known_default() {
        Some(port) if !host.is_empty() => Ok((url, host, port)),
        _ => Err(NetError::Failed(format!("{url} names no host."))),
    }
}

/// Returns true if an address is known to lead to this machine: a loopback address, or `localhost`.
pub fn is_this_machine(url: &Url) -> bool {
    let known = url.host().and_then(|host| known_addresses(&host));
    known.is_some_and(|known| known.iter().all(IpAddr::is_loopback))
}

/// Returns a host with its port, as requests and errors name it: an address of IPv6 in brackets.
fn authority(host: &str, port: u16) -> String {
    if host.contains(':') {
        format!("[{host}]:{port}")
    } else {
        format!("{host}:{port}")
    }
}
