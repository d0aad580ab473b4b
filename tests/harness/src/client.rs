//! A client that says what a test wants it to, over standard streams or HTTP.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::{Workspace, executable, marked_processes};

/// How long anything may take.
const WAIT_LIMIT: Duration = Duration::from_secs(30);

/// A variable that every process of a test has in its environment: MCP servers get those of XDG.
const MARK: &str = "XDG_SERVE_TEST_MARK";

/// The token of a server over HTTP.
pub const TOKEN: &str = "a-token-of-the-tests";

/// A server, and what it says.
pub struct Server {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    /// What came while something else was waited for.
    pub aside: Vec<Value>,
    mark: String,
    next: u64,
}

impl Server {
    pub fn start(ws: &Workspace, args: &[&str]) -> Self {
        Self::launch(ws, &executable("serve_tools"), args, &[])
    }

    /// Starts another program than `serve_tools`.
    pub fn start_program(ws: &Workspace, program: &Path, args: &[&str]) -> Self {
        Self::launch(ws, program, args, &[])
    }

    /// Starts one with these variables in its environment.
    pub fn start_with(ws: &Workspace, args: &[&str], variables: &[(&str, &str)]) -> Self {
        Self::launch(ws, &executable("serve_tools"), args, variables)
    }

    fn launch(ws: &Workspace, program: &Path, args: &[&str], variables: &[(&str, &str)]) -> Self {
        let mark = ws.root().display().to_string();
        let call = ws
            .program(program, args)
            .env(MARK, &mark)
            .env("GEMINI_TOOLS_SERVE_TOKEN", TOKEN);
        let call = variables
            .iter()
            .fold(call, |call, (name, value)| call.env(name, value));
        let mut command = call.command();
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let is_http = args.contains(&"--http");
        command.stderr(if is_http {
            Stdio::piped()
        } else {
            Stdio::null()
        });
        let mut child = command.spawn().expect("the server starts");
        let input = child.stdin.take();
        let lines = if is_http {
            lines_of(child.stderr.take().expect("piped"))
        } else {
            lines_of(child.stdout.take().expect("piped"))
        };
        Self {
            child,
            input,
            lines,
            aside: Vec::new(),
            mark,
            next: 1,
        }
    }

    /// One that has been greeted by a client with these capabilities, which is told the kinds of errors.
    pub fn greeted(ws: &Workspace, args: &[&str], capabilities: &Value) -> Self {
        let mut server = Self::start(ws, &[args, &["--structured-content"]].concat());
        server.greet("2025-11-25", capabilities);
        server
    }

    pub fn greet(&mut self, version: &str, capabilities: &Value) -> Value {
        let greeting = self.ask("initialize", &greeting(version, capabilities));
        self.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string());
        greeting
    }

    /// Sends a line.
    pub fn say(&mut self, line: &str) {
        self.say_bytes(line.as_bytes());
    }

    /// Sends a line that may not be text.
    pub fn say_bytes(&mut self, line: &[u8]) {
        let input = self.input.as_mut().expect("still open");
        let sent = input
            .write_all(line)
            .and_then(|()| input.write_all(b"\n"))
            .and_then(|()| input.flush());
        // One that has ended is seen at its answers.
        drop(sent);
    }

    /// Sends a notification.
    pub fn notify(&mut self, method: &str, params: &Value) {
        self.say(&json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string());
    }

    /// The next message of the server's own of this kind; what comes before it is kept aside.
    pub fn told(&mut self, method: &str) -> Value {
        if let Some(at) = self.aside.iter().position(|m| m["method"] == method) {
            return self.aside.remove(at);
        }
        loop {
            let message = self.message();
            if message["method"] == method {
                return message;
            }
            self.aside.push(message);
        }
    }

    pub fn hang_up(&mut self) {
        self.input = None;
    }

    /// Sends a request; gives its id.
    pub fn request(&mut self, method: &str, params: &Value) -> u64 {
        let id = self.next;
        self.next += 1;
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.say(&message.to_string());
        id
    }

    /// The next line, or `None` where it has ended.
    pub fn line(&mut self) -> Option<String> {
        match self.lines.recv_timeout(WAIT_LIMIT) {
            Ok(line) => Some(line),
            Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => None,
            Err(e) => panic!("the server says nothing: {e}"),
        }
    }

    /// The next message.
    pub fn message(&mut self) -> Value {
        let line = self.line().expect("the server has ended");
        serde_json::from_str(&line).unwrap_or_else(|e| panic!("{e}: {line}"))
    }

    /// The answer to a request; what comes before it is kept aside.
    pub fn answer(&mut self, id: u64) -> Value {
        if let Some(at) = self.aside.iter().position(|m| is_answer(m, id)) {
            return self.aside.remove(at);
        }
        loop {
            let message = self.message();
            if is_answer(&message, id) {
                return message;
            }
            self.aside.push(message);
        }
    }

    pub fn ask(&mut self, method: &str, params: &Value) -> Value {
        let id = self.request(method, params);
        self.answer(id)
    }

    /// The result of a call.
    pub fn call(&mut self, tool: &str, args: &Value) -> Value {
        let answer = self.ask("tools/call", &json!({"name": tool, "arguments": args}));
        assert!(answer["error"].is_null(), "{answer}");
        answer["result"].clone()
    }

    /// The next request of the server's own, which is answered.
    pub fn answer_request(&mut self, method: &str, result: &Value) -> Value {
        let request = self.told(method);
        let answer = json!({"jsonrpc": "2.0", "id": request["id"], "result": result});
        self.say(&answer.to_string());
        request
    }

    pub fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).expect("a child of ours");
    }

    /// Waits for its end; gives the exit status.
    pub fn status(&mut self) -> Option<i32> {
        for _ in 0..WAIT_LIMIT.as_millis() / 10 {
            if let Some(status) = self.child.try_wait().expect("a child of ours") {
                return status.code();
            }
            thread::sleep(Duration::from_millis(10));
        }
        panic!("the server does not end");
    }

    /// Waits until a process with this in its command line runs.
    pub fn wait_for_process(&self, line: &str) {
        for _ in 0..WAIT_LIMIT.as_millis() / 10 {
            if marked_processes(MARK, &self.mark)
                .iter()
                .any(|(_, l)| l.contains(line))
            {
                return;
            }
            thread::sleep(Duration::from_millis(10));
        }
        panic!("{line} does not start");
    }

    /// Waits until nothing with this in its command line runs.
    pub fn wait_until_gone(&self, line: &str) {
        let mut left = Vec::new();
        for _ in 0..WAIT_LIMIT.as_millis() / 10 {
            left = marked_processes(MARK, &self.mark);
            left.retain(|(_, l)| l.contains(line));
            if left.is_empty() {
                return;
            }
            thread::sleep(Duration::from_millis(10));
        }
        panic!("left behind: {left:?}");
    }

    /// The address of one over HTTP.
    pub fn address(&mut self) -> SocketAddr {
        let line = self.line().expect("it listens");
        let address = line
            .split_once("http://")
            .and_then(|(_, rest)| rest.strip_suffix("/mcp"));
        address
            .and_then(|a| a.parse().ok())
            .unwrap_or_else(|| panic!("no address: {line}"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn greeting(version: &str, capabilities: &Value) -> Value {
    json!({"protocolVersion": version, "capabilities": capabilities,
        "clientInfo": {"name": "gemini-cli-mcp-client-tests", "version": "1"}})
}

fn is_answer(message: &Value, id: u64) -> bool {
    message["id"] == id && message["method"].is_null()
}

fn lines_of(from: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        for line in BufReader::new(from).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    receiver
}

/// An answer by HTTP.
#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Reply {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    /// The message with this id, of a stream of events.
    pub fn answer(&self, id: u64) -> Value {
        let data = self
            .body
            .lines()
            .filter_map(|line| line.strip_prefix("data:"));
        let mut messages = data.filter_map(|text| serde_json::from_str::<Value>(text.trim()).ok());
        messages
            .find(|message| is_answer(message, id))
            .unwrap_or_else(|| panic!("no answer {id}: {self:?}"))
    }
}

/// A request by HTTP with these headers besides the usual ones, of which `None` leaves one out.
pub fn post(to: SocketAddr, headers: &[(&str, Option<&str>)], body: &str) -> Reply {
    request("POST", to, headers, body)
}

/// The same by another method.
pub fn request(
    method: &str,
    to: SocketAddr,
    headers: &[(&str, Option<&str>)],
    body: &str,
) -> Reply {
    let mut stream = send(method, to, headers, body);
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes);
    let answer = String::from_utf8_lossy(&bytes).into_owned();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    let status = head.split(' ').nth(1).and_then(|s| s.parse().ok());
    Reply {
        status: status.unwrap_or_else(|| panic!("no answer: {answer:?}")),
        head: head.to_owned(),
        body: body.to_owned(),
    }
}

fn send(method: &str, to: SocketAddr, headers: &[(&str, Option<&str>)], body: &str) -> TcpStream {
    let bearer = format!("Bearer {TOKEN}");
    let host = to.to_string();
    let mut all = vec![
        ("Host", Some(host.as_str())),
        ("Authorization", Some(bearer.as_str())),
        ("Content-Type", Some("application/json")),
        ("Accept", Some("application/json, text/event-stream")),
        ("Connection", Some("close")),
    ];
    all.retain(|(name, _)| {
        !headers
            .iter()
            .any(|(own, _)| own.eq_ignore_ascii_case(name))
    });
    all.extend(headers);
    let mut text = format!("{method} /mcp HTTP/1.1\r\n");
    for (name, value) in all {
        if let Some(value) = value {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
    }
    text.push_str(&format!("Content-Length: {}\r\n\r\n", body.len()));
    let mut stream = TcpStream::connect(to).expect("it listens");
    stream.set_read_timeout(Some(WAIT_LIMIT)).expect("a limit");
    stream.write_all(text.as_bytes()).expect("sent");
    // One that is refused may not be read to its end.
    let _ = stream.write_all(body.as_bytes());
    stream
}

/// A request by HTTP whose answer is read event by event.
pub struct Exchange(BufReader<TcpStream>);

impl Exchange {
    pub fn post(to: SocketAddr, headers: &[(&str, Option<&str>)], body: &str) -> Self {
        Self(BufReader::new(send("POST", to, headers, body)))
    }

    /// The next message of the stream.
    pub fn message(&mut self) -> Value {
        loop {
            if let Ok(message) = serde_json::from_str(&self.field("data:")) {
                return message;
            }
        }
    }

    /// The next id of an event.
    pub fn event_id(&mut self) -> String {
        self.field("id:")
    }

    fn field(&mut self, name: &str) -> String {
        loop {
            let mut line = String::new();
            let count = self.0.read_line(&mut line).expect("the stream goes on");
            assert!(count > 0, "the stream has ended");
            if let Some(value) = line.strip_prefix(name) {
                return value.trim().to_owned();
            }
        }
    }
}

/// A session over HTTP, as it was before 2026-07-28.
pub struct Session {
    to: SocketAddr,
    id: String,
    version: String,
}

impl Session {
    pub fn begin(to: SocketAddr, version: &str, capabilities: &Value) -> Self {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize",
            "params": greeting(version, capabilities)});
        let reply = post(to, &[], &body.to_string());
        assert_eq!(reply.status, 200, "{reply:?}");
        assert_eq!(reply.answer(1)["result"]["protocolVersion"], version);
        let id = reply.header("mcp-session-id").expect("a session");
        let session = Self {
            to,
            id: id.to_owned(),
            version: version.to_owned(),
        };
        let begun = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        let reply = post(to, &session.headers(), &begun.to_string());
        assert_eq!(reply.status, 202, "{reply:?}");
        session
    }

    /// Clients have named the version in a header since 2025-06-18.
    pub fn headers(&self) -> Vec<(&str, Option<&str>)> {
        let mut headers = vec![("Mcp-Session-Id", Some(self.id.as_str()))];
        if self.version.as_str() >= "2025-06-18" {
            headers.push(("MCP-Protocol-Version", Some(&self.version)));
        }
        headers
    }

    pub fn send(&self, message: &Value) -> Exchange {
        Exchange::post(self.to, &self.headers(), &message.to_string())
    }

    /// Sends what is not a request.
    pub fn tell(&self, message: &Value) {
        let reply = post(self.to, &self.headers(), &message.to_string());
        assert_eq!(reply.status, 202, "{reply:?}");
    }
}
