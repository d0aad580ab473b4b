//! The stand-in of the Gemini API (`scripts/stand-in`, see `scripts/e2e.d/STAND_IN.md`), started for one test. It needs
//! node: where that is missing, a test is skipped with a message, but not in CI.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use super::page::is_installed;
use super::{checkout, skipped};

/// Stand-ins that no test uses now: starting one takes longer than most of the tests that need one.
static IDLE: Mutex<Vec<Started>> = Mutex::new(Vec::new());

/// A stand-in that plays a script, for one test at a time. It ends with the test's process: then its standard input
/// closes.
pub struct StandIn(Option<Started>);

/// A stand-in that runs. Dropping it ends it.
struct Started {
    child: Child,
    url: String,
}

impl Started {
    fn new() -> Self {
        let program = checkout().join("scripts/stand-in");
        // It has no use for certificates, and node reads those at each start, for longer than all else takes.
        let mut child = Command::new(program)
            .env_remove("NODE_EXTRA_CA_CERTS")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("scripts/stand-in starts");
        let mut line = String::new();
        let stdout = child.stdout.take().expect("piped");
        BufReader::new(stdout).read_line(&mut line).expect("a line");
        let said: Value = serde_json::from_str(&line).expect("where it listens");
        let url = said["url"].as_str().expect("an address").to_owned();
        Self { child, url }
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

impl StandIn {
    /// Has one play `script`.
    pub fn playing(script: &Value) -> Option<Self> {
        if !is_installed("node") {
            skipped("node");
            return None;
        }
        let idle = idle().pop();
        let own = Self(Some(idle.unwrap_or_else(Started::new)));
        own.play(script);
        Some(own)
    }

    /// The stand-in's base address.
    pub fn url(&self) -> &str {
        let started = self.0.as_ref().expect("in use");
        &started.url
    }

    /// Plays another script, and forgets what was asked.
    pub fn play(&self, script: &Value) {
        let answer = self.control("PUT", "/_script", &script.to_string());
        assert!(answer.0.contains(" 20"), "{answer:?}");
    }

    /// All requests so far, as `STAND_IN.md` describes them.
    pub fn requests(&self) -> Vec<Value> {
        let (_, body) = self.control("GET", "/_requests", "");
        serde_json::from_str(&body).expect("a list of requests")
    }

    /// How many requests there were of a kind.
    pub fn count(&self, kind: &str) -> usize {
        let requests = self.requests();
        requests.iter().filter(|r| r["kind"] == kind).count()
    }

    /// First line and body of an answer.
    fn control(&self, method: &str, path: &str, body: &str) -> (String, String) {
        let host = self.url().strip_prefix("http://").expect("http");
        let mut stream = TcpStream::connect(host).expect("a server");
        let length = body.len();
        // By HTTP/1.0 the answer comes in one piece.
        let head = format!("{method} {path} HTTP/1.0\r\nContent-Length: {length}\r\n\r\n");
        stream.write_all(head.as_bytes()).expect("sent");
        stream.write_all(body.as_bytes()).expect("sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
        let line = head.lines().next().unwrap_or_default();
        (line.to_owned(), body.to_owned())
    }
}

impl Drop for StandIn {
    fn drop(&mut self) {
        // What a test that failed has left running may still ask it.
        if !std::thread::panicking() {
            idle().extend(self.0.take());
        }
    }
}

fn idle() -> MutexGuard<'static, Vec<Started>> {
    IDLE.lock().unwrap_or_else(PoisonError::into_inner)
}
