//! A client that says what a test wants it to, over standard streams or HTTP.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::harness::{Workspace, executable, marked_processes};

/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// A variable that every process of a test has in its environment.
const MARK: &str = "SERVE_TEST_MARK";

/// The token of a server over HTTP.
pub(super) const TOKEN: &str = "a-token-of-the-tests";

/// A server, and what it says.
pub(super) struct Server {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    /// What came while something else was waited for.
    pub(super) aside: Vec<Value>,
    mark: String,
    next: u64,
}

impl Server {
    pub(super) fn start(ws: &Workspace, args: &[&str]) -> Self {
        let mark = ws.root().display().to_string();
        let call = ws
            .program(&executable("serve_tools"), args)
            .env(MARK, &mark)
            .env("GEMINI_TOOLS_SERVE_TOKEN", TOKEN);
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

    /// One that has been greeted by a client with these capabilities.
    pub(super) fn greeted(ws: &Workspace, args: &[&str], capabilities: &Value) -> Self {
        let mut server = Self::start(ws, args);
        server.greet("2025-11-25", capabilities);
        server
    }

    pub(super) fn greet(&mut self, version: &str, capabilities: &Value) -> Value {
        let greeting = self.ask("initialize", &greeting(version, capabilities));
        self.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string());
        greeting
    }

    /// Sends a line.
    pub(super) fn say(&mut self, line: &str) {
        let input = self.input.as_mut().expect("still open");
        // One that has ended is seen at its answers.
        let _ = writeln!(input, "{line}").and_then(|()| input.flush());
    }

    pub(super) fn hang_up(&mut self) {
        self.input = None;
    }

    /// Sends a request; gives its id.
    pub(super) fn request(&mut self, method: &str, params: &Value) -> u64 {
        let id = self.next;
        self.next += 1;
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.say(&message.to_string());
        id
    }

    /// The next line, or `None` where it has ended.
    pub(super) fn line(&mut self) -> Option<String> {
        match self.lines.recv_timeout(PATIENCE) {
            Ok(line) => Some(line),
            Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => None,
            Err(e) => panic!("the server says nothing: {e}"),
        }
    }

    /// The next message.
    pub(super) fn message(&mut self) -> Value {
        let line = self.line().expect("the server has ended");
        serde_json::from_str(&line).unwrap_or_else(|e| panic!("{e}: {line}"))
    }

    /// The answer to a request; what comes before it is kept aside.
    pub(super) fn answer(&mut self, id: u64) -> Value {
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

    pub(super) fn ask(&mut self, method: &str, params: &Value) -> Value {
        let id = self.request(method, params);
        self.answer(id)
    }

    /// The result of a call.
    pub(super) fn call(&mut self, tool: &str, args: &Value) -> Value {
        let answer = self.ask("tools/call", &json!({"name": tool, "arguments": args}));
        assert!(answer["error"].is_null(), "{answer}");
        answer["result"].clone()
    }

    /// The next request of the server's own, which is answered.
    pub(super) fn answer_request(&mut self, method: &str, result: &Value) -> Value {
        let at = self.aside.iter().position(|m| m["method"] == method);
        let request = match at {
            Some(at) => self.aside.remove(at),
            None => loop {
                let message = self.message();
                if message["method"] == method {
                    break message;
                }
                self.aside.push(message);
            },
        };
        let answer = json!({"jsonrpc": "2.0", "id": request["id"], "result": result});
        self.say(&answer.to_string());
        request
    }

    pub(super) fn signal(&self, signal: Signal) {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, signal).expect("a child of ours");
    }

    /// Waits for its end; gives the exit status.
    pub(super) fn status(&mut self) -> Option<i32> {
        for _ in 0..PATIENCE.as_millis() / 10 {
            if let Some(status) = self.child.try_wait().expect("a child of ours") {
                return status.code();
            }
            thread::sleep(Duration::from_millis(10));
        }
        panic!("the server does not end");
    }

    /// Waits until a process with this in its command line runs.
    pub(super) fn wait_for_process(&self, line: &str) {
        for _ in 0..PATIENCE.as_millis() / 10 {
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
    pub(super) fn wait_until_gone(&self, line: &str) {
        let mut left = Vec::new();
        for _ in 0..PATIENCE.as_millis() / 10 {
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
    pub(super) fn address(&mut self) -> SocketAddr {
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

pub(super) fn greeting(version: &str, capabilities: &Value) -> Value {
    json!({"protocolVersion": version, "capabilities": capabilities,
        "clientInfo": {"name": "tests", "version": "1"}})
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
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) head: String,
    pub(super) body: String,
}

impl Reply {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    /// The message with this id, of a stream of events.
    pub(super) fn answer(&self, id: u64) -> Value {
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
pub(super) fn post(to: SocketAddr, headers: &[(&str, Option<&str>)], body: &str) -> Reply {
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
    let mut text = String::from("POST /mcp HTTP/1.1\r\n");
    for (name, value) in all {
        if let Some(value) = value {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
    }
    text.push_str(&format!("Content-Length: {}\r\n\r\n", body.len()));
    let mut stream = TcpStream::connect(to).expect("it listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("a limit");
    stream.write_all(text.as_bytes()).expect("sent");
    // One that is refused may not be read to its end.
    let _ = stream.write_all(body.as_bytes());
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
