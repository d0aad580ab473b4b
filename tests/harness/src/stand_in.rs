//! The stand-in of the Gemini API (`scripts/stand-in`, see `scripts/e2e.d/STAND_IN.md`), started for one test. It needs
//! node: where that is missing, a test is skipped with a message, but not in CI.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use super::{checkout, skipped};

/// A stand-in that plays a script. It ends with this value, or with the test's process: then its standard input closes.
pub struct StandIn {
    child: Child,
    url: String,
}

impl StandIn {
    /// Starts one that plays `script`.
    pub fn playing(script: &Value) -> Option<Self> {
        if Command::new("node").arg("--version").output().is_err() {
            skipped("node");
            return None;
        }
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
        let own = Self { child, url };
        own.play(script);
        Some(own)
    }

    /// The stand-in's base address.
    pub fn url(&self) -> &str {
        &self.url
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
        let host = self.url.strip_prefix("http://").expect("http");
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
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
