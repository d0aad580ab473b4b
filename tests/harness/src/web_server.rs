//! A small HTTP/1.1 server on loopback, for tests of whatever fetches: it answers as a closure says, keeps what it was
//! asked, and counts connections, so that a test sees from this side who was reached and who was not.
//!
//! Each connection gets a thread and one answer. A server that is dropped ends its endless answers.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use flate2::write::GzEncoder;
use flate2::{Compress, Compression, FlushCompress};

/// The variable with hosts that may be asked though their addresses are not public.
pub const ALLOW: &str = "GEMINI_TOOLS_FETCH_ALLOW";

/// How long a server that says nothing more waits between two looks whether it is still wanted.
const TICK: Duration = Duration::from_millis(10);

/// A request as it came.
#[derive(Debug, Clone)]
pub struct Asked {
    /// `GET`, or `CONNECT` where the server is taken for a proxy.
    pub method: String,
    /// A path, or host and port behind `CONNECT`.
    pub target: String,
    /// All lines up to the blank one.
    pub head: String,
    /// What came after it, as long as `Content-Length` says.
    pub body: Vec<u8>,
}

impl Asked {
    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().skip(1).find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

/// The connection that an answer is written to.
pub struct Line<'a> {
    stream: TcpStream,
    shared: &'a Shared,
}

impl Line<'_> {
    pub fn send(&mut self, bytes: impl AsRef<[u8]>) -> io::Result<()> {
        self.stream.write_all(bytes.as_ref())
    }

    /// Sends a piece again and again, with a pause behind each, until the client wants no more.
    pub fn send_forever(&mut self, piece: &[u8], pause: Duration) -> io::Result<()> {
        while self.shared.is_wanted() {
            self.stream.write_all(piece)?;
            thread::sleep(pause);
        }
        Ok(())
    }

    /// Says nothing more, but leaves the connection open.
    pub fn be_silent(&mut self) -> io::Result<()> {
        self.stream.set_read_timeout(Some(TICK))?;
        let mut byte = [0];
        while self.shared.is_wanted() {
            match self.stream.read(&mut byte) {
                Ok(0) => break,
                Ok(_) => {}
                Err(e) if is_patience(&e) => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    /// Reads a further request from the same connection: what comes through a tunnel.
    pub fn next_request(&mut self) -> io::Result<Option<Asked>> {
        let asked = receive(&mut self.stream, self.shared)?;
        if let Some(asked) = &asked {
            lock(&self.shared.asked).push(asked.clone());
        }
        Ok(asked)
    }
}

struct Shared {
    is_over: AtomicBool,
    connections: AtomicUsize,
    asked: Mutex<Vec<Asked>>,
}

impl Shared {
    fn is_wanted(&self) -> bool {
        !self.is_over.load(Ordering::SeqCst)
    }
}

/// See the module's documentation.
pub struct WebServer {
    address: SocketAddr,
    shared: Arc<Shared>,
}

impl WebServer {
    /// A server on `127.0.0.1` that answers by `answer`.
    pub fn new(
        answer: impl Fn(&Asked, &mut Line<'_>) -> io::Result<()> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port of loopback");
        Self::on(listener, answer)
    }

    /// A server on a socket that listens already.
    pub fn on(
        listener: TcpListener,
        answer: impl Fn(&Asked, &mut Line<'_>) -> io::Result<()> + Send + Sync + 'static,
    ) -> Self {
        let address = listener.local_addr().expect("its address");
        let shared = Arc::new(Shared {
            is_over: AtomicBool::new(false),
            connections: AtomicUsize::new(0),
            asked: Mutex::new(Vec::new()),
        });
        let own = Arc::clone(&shared);
        let answer = Arc::new(answer);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream else { continue };
                if !own.is_wanted() {
                    break;
                }
                own.connections.fetch_add(1, Ordering::SeqCst);
                let (own, answer) = (Arc::clone(&own), Arc::clone(&answer));
                // A client that goes away in the middle is what many of these tests are about.
                thread::spawn(move || drop(serve(stream, &own, &*answer)));
            }
        });
        Self { address, shared }
    }

    /// A server of these answers by path, each whole bytes; 404 for every other path.
    pub fn of(pages: Vec<(&'static str, Vec<u8>)>) -> Self {
        Self::new(move |asked, line| {
            let found = pages.iter().find(|(path, _)| *path == asked.target);
            match found {
                Some((_, answer)) => line.send(answer),
                None => line.send(status(404, "text/plain", "nothing here")),
            }
        })
    }

    /// A server that answers everything alike.
    pub fn always(answer: Vec<u8>) -> Self {
        Self::new(move |_, line| line.send(&answer))
    }

    /// A server that no call may reach. It listens on every address of this machine, of both versions of IP where there
    /// are two, so that no spelling misses it.
    pub fn canary() -> Self {
        let listener = TcpListener::bind("[::]:0")
            .or_else(|_| TcpListener::bind("0.0.0.0:0"))
            .expect("a port");
        Self::on(listener, |_, line| line.send(page("text/plain", "tweet")))
    }

    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// Host and port, as a rule that allows this server and nothing else.
    pub fn host(&self) -> String {
        self.address.to_string()
    }

    /// The address of a path.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// How many connections were made, with or without a request.
    pub fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::SeqCst)
    }

    /// What was asked so far.
    pub fn asked(&self) -> Vec<Asked> {
        lock(&self.shared.asked).clone()
    }

    /// The targets of what was asked so far.
    pub fn targets(&self) -> Vec<String> {
        self.asked().into_iter().map(|a| a.target).collect()
    }

    pub fn forget(&self) {
        lock(&self.shared.asked).clear();
    }
}

impl Drop for WebServer {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::SeqCst);
        // Wakes the thread that waits for connections.
        let ip = match self.address.ip() {
            ip if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
            ip => ip,
        };
        drop(TcpStream::connect((ip, self.address.port())));
    }
}

fn serve(
    mut stream: TcpStream,
    shared: &Shared,
    answer: &dyn Fn(&Asked, &mut Line<'_>) -> io::Result<()>,
) -> io::Result<()> {
    let Some(asked) = receive(&mut stream, shared)? else {
        return Ok(());
    };
    lock(&shared.asked).push(asked.clone());
    answer(&asked, &mut Line { stream, shared })
}

/// Reads the head of a request; the body, if any, stays unread.
fn receive(stream: &mut TcpStream, shared: &Shared) -> io::Result<Option<Asked>> {
    stream.set_read_timeout(Some(TICK))?;
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        match stream.read(&mut byte) {
            Ok(0) => return Ok(None),
            Ok(_) => head.push(byte[0]),
            Err(e) if is_patience(&e) && shared.is_wanted() => {}
            Err(e) => return Err(e),
        }
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let mut words = head.split_whitespace().map(str::to_owned);
    let mut asked = Asked {
        method: words.next().unwrap_or_default(),
        target: words.next().unwrap_or_default(),
        head,
        body: Vec::new(),
    };
    let length = asked.header("content-length").and_then(|l| l.parse().ok());
    let length: usize = length.unwrap_or(0);
    while asked.body.len() < length {
        let mut piece = vec![0; length - asked.body.len()];
        match stream.read(&mut piece) {
            Ok(0) => break,
            Ok(count) => asked.body.extend_from_slice(&piece[..count]),
            Err(e) if is_patience(&e) && shared.is_wanted() => {}
            Err(e) => return Err(e),
        }
    }
    Ok(Some(asked))
}

fn is_patience(e: &io::Error) -> bool {
    matches!(
        e.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted
    )
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A whole answer with status 200.
pub fn page(media_type: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    status(200, media_type, body)
}

/// A whole answer with any status.
pub fn status(code: u16, media_type: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    answer(code, &[("Content-Type", media_type)], body.as_ref())
}

/// A redirect with exactly these bytes as its target.
pub fn redirect(code: u16, target: &str) -> Vec<u8> {
    answer(code, &[("Location", target)], b"")
}

/// A whole answer with these headers; an empty value leaves the header out.
pub fn answer(code: u16, headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
    let mut out = format!("HTTP/1.1 {code} As Said\r\nConnection: close\r\n");
    for (name, value) in headers.iter().filter(|(_, value)| !value.is_empty()) {
        out.push_str(&format!("{name}: {value}\r\n"));
    }
    out.push_str(&format!("Content-Length: {}\r\n\r\n", body.len()));
    [out.as_bytes(), body].concat()
}

/// The head of an answer whose end is the end of the connection.
pub fn endless_head(headers: &[(&str, &str)]) -> Vec<u8> {
    let mut out = "HTTP/1.1 200 OK\r\nConnection: close\r\n".to_owned();
    for (name, value) in headers {
        out.push_str(&format!("{name}: {value}\r\n"));
    }
    out.push_str("\r\n");
    out.into_bytes()
}

/// A whole answer in chunks of that many bytes.
pub fn chunked(media_type: &str, body: &[u8], size: usize) -> Vec<u8> {
    let headers = [
        ("Content-Type", media_type),
        ("Transfer-Encoding", "chunked"),
    ];
    let mut out = endless_head(&headers);
    for piece in body.chunks(size) {
        out.extend_from_slice(format!("{:x}\r\n", piece.len()).as_bytes());
        out.extend_from_slice(piece);
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(b"0\r\n\r\n");
    out
}

/// A whole answer, compressed.
pub fn gzipped(media_type: &str, body: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(body).expect("memory takes all");
    packed(media_type, &encoder.finish().expect("memory takes all"))
}

/// A whole answer with that content coding, as it is named.
pub fn coded(coding: &str, media_type: &str, bytes: &[u8]) -> Vec<u8> {
    let headers = [("Content-Type", media_type), ("Content-Encoding", coding)];
    answer(200, &headers, bytes)
}

/// A compressed answer of that many MiB, all alike. A block that stands for itself is repeated, because to compress all
/// of it would take longer than any test; the checksum at the end is none.
pub fn gzip_bomb(media_type: &str, mib: usize) -> Vec<u8> {
    let mut block = Vec::with_capacity(64 * 1024);
    Compress::new(Compression::best(), false)
        .compress_vec(&vec![b'0'; 1024 * 1024], &mut block, FlushCompress::Full)
        .expect("memory takes all");
    let head = b"\x1f\x8b\x08\0\0\0\0\0\0\xff";
    packed(media_type, &[&head[..], &block.repeat(mib)].concat())
}

fn packed(media_type: &str, bytes: &[u8]) -> Vec<u8> {
    coded("gzip", media_type, bytes)
}
