//! `run_agent` that makes the calls that a test wants next: its model's answers wait until the test knows them.

use crate::{Workspace, executable};
use serde_json::{Value, json};
use std::fs::File;
use std::io::{ErrorKind, Read as _, Seek as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Stdio};
use std::thread::sleep;
use std::time::Duration;

/// A conversation of `run_agent`, which is the user's as far as approvals go.
#[derive(Debug)]
pub struct SteeredAgent {
    child: Child,
    api: TcpListener,
    /// The request that the model has not answered yet.
    waiting: Option<TcpStream>,
    errors: File,
}

impl SteeredAgent {
    /// Starts the agent, and waits for its first request.
    #[must_use]
    pub fn start(ws: &Workspace) -> Self {
        let api = TcpListener::bind("127.0.0.1:0").expect("an address");
        api.set_nonblocking(true).expect("a listener");
        let url = format!("http://{}", api.local_addr().expect("an address"));
        let call = ws.program(&executable("run_agent"), &["--yolo", "Go."]);
        let call = call
            .env("GEMINI_API_KEY", "k")
            .env("GOOGLE_GEMINI_BASE_URL", &url);
        let mut command = call.command();
        command.stdin(Stdio::null()).stdout(Stdio::null());
        let errors = tempfile::tempfile().expect("a file");
        let stderr = errors.try_clone().expect("a file");
        let child = command.stderr(stderr).spawn().expect("the agent");
        let mut agent = Self {
            child,
            api,
            waiting: None,
            errors,
        };
        agent.next_request();
        agent
    }

    /// Lets the agent make a call, and returns its `functionResponse.response`.
    pub fn call(&mut self, tool: &str, args: &Value) -> Value {
        self.answer(&json!({"functionCall": {"name": tool, "args": args}}));
        let mut request = self.next_request();
        let contents = request["contents"].as_array_mut().and_then(Vec::pop);
        let mut last = contents.expect("a message");
        let parts = last["parts"].as_array_mut().expect("parts").iter_mut();
        let mut responses = parts.map(|part| part["functionResponse"]["response"].take());
        responses
            .find(|response| !response.is_null())
            .expect("a response")
    }

    fn answer(&mut self, part: &Value) {
        let content = json!({"role": "model", "parts": [part]});
        let body = json!({"candidates": [{"content": content, "finishReason": "STOP"}]});
        let mut waiting = self.waiting.take().expect("a request");
        let head =
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";
        // The agent may have ended.
        let _ = write!(waiting, "{head}data: {body}\r\n\r\n");
    }

    fn errors(&mut self) -> String {
        let mut text = String::new();
        self.errors.rewind().expect("a file");
        let _ = self.errors.read_to_string(&mut text);
        text
    }

    /// Waits for a request for an answer of the model, and returns its body.
    fn next_request(&mut self) -> Value {
        loop {
            match self.api.accept() {
                Ok((stream, _)) => {
                    stream.set_nonblocking(false).expect("a connection");
                    let (head, body) = read(&stream);
                    assert!(head.contains("GenerateContent"), "{head}");
                    self.waiting = Some(stream);
                    return body;
                }
                Err(e) if e.kind() == ErrorKind::WouldBlock => {
                    if let Some(ended) = self.child.try_wait().expect("a child") {
                        panic!("the agent has ended with {ended}: {}", self.errors());
                    }
                    sleep(Duration::from_millis(1));
                }
                Err(e) => panic!("{e}"),
            }
        }
    }
}

impl Drop for SteeredAgent {
    fn drop(&mut self) {
        if self.waiting.is_some() {
            self.answer(&json!({"text": "Done."}));
        } else {
            let _ = self.child.kill();
        }
        let _ = self.child.wait();
    }
}

fn read(mut stream: &TcpStream) -> (String, Value) {
    let (mut bytes, mut chunk) = (Vec::new(), [0; 16 * 1024]);
    loop {
        let n = stream.read(&mut chunk).expect("a request");
        assert!(n > 0, "a request breaks off");
        bytes.extend_from_slice(&chunk[..n]);
        let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else {
            continue;
        };
        let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
        let length = head.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            let is_length = name.eq_ignore_ascii_case("content-length");
            is_length.then(|| value.trim().parse::<usize>().ok())?
        });
        let body = &bytes[end + 4..];
        if body.len() >= length.expect("a length") {
            return (head, serde_json::from_slice(body).expect("JSON"));
        }
    }
}
