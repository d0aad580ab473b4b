//! The older way by HTTP: one stream of events from the server, which first says where messages
//! are posted to. The SDK has given it up; many servers have not.

use super::http;
use crate::mcp::wire::Connect;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap};
use rmcp::RoleClient;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use std::io;
use url::Url;

/// The largest event, in bytes.
const MAX_EVENT_BYTES: usize = 64 * 1024 * 1024;

/// A server's stream of events, and where it takes messages.
pub(super) struct Sse {
    events: Events,
    client: reqwest::Client,
    headers: HeaderMap,
    post: Url,
}

impl Sse {
    /// Opens the stream and waits for the address of messages.
    pub(super) async fn open(connect: &Connect, url: &Url) -> Result<Self, String> {
        let client = http::client(url)?;
        let headers = http::headers(connect)?;
        let answer = client
            .get(url.clone())
            .headers(headers.clone())
            .header(ACCEPT, "text/event-stream")
            .send()
            .await
            .map_err(|e| http::reason(&e))?;
        if !answer.status().is_success() {
            return Err(format!("it answers with status {}", answer.status()));
        }
        let is_stream = answer
            .headers()
            .get(CONTENT_TYPE)
            .and_then(|value| value.to_str().ok())
            .is_some_and(|value| value.starts_with("text/event-stream"));
        if !is_stream {
            return Err("it does not answer with a stream of events".to_owned());
        }
        let mut events = Events::new(answer);
        loop {
            let Some(event) = events.next().await else {
                return Err("its stream ends before it says where messages go".to_owned());
            };
            if event.kind == "endpoint" {
                let post = url
                    .join(event.data.trim())
                    .map_err(|e| format!("the address for messages is none: {e}"))?;
                // Whoever answers the stream must not have headers sent elsewhere.
                if post.origin() != url.origin() {
                    return Err("it wants messages to go to another host".to_owned());
                }
                return Ok(Self {
                    events,
                    client,
                    headers,
                    post,
                });
            }
        }
    }
}

impl Transport<RoleClient> for Sse {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let request = self
            .client
            .post(self.post.clone())
            .headers(self.headers.clone())
            .header(CONTENT_TYPE, "application/json");
        async move {
            let request = request.body(serde_json::to_vec(&item)?);
            let answer = request
                .send()
                .await
                .map_err(|e| io::Error::other(http::reason(&e)))?;
            if answer.status().is_success() {
                return Ok(());
            }
            Err(io::Error::other(format!(
                "it answers with status {}",
                answer.status()
            )))
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        while let Some(event) = self.events.next().await {
            if event.kind == "message"
                && let Ok(message) = super::message_of(event.data.as_bytes())
            {
                return Some(message);
            }
        }
        None
    }

    async fn close(&mut self) -> io::Result<()> {
        self.events.answer = None;
        Ok(())
    }
}

#[derive(Debug, Default, PartialEq)]
struct Event {
    kind: String,
    data: String,
}

/// Events out of a body. A waiting that is given up loses nothing.
struct Events {
    answer: Option<reqwest::Response>,
    buffer: Vec<u8>,
}

impl Events {
    fn new(answer: reqwest::Response) -> Self {
        Self {
            answer: Some(answer),
            buffer: Vec::new(),
        }
    }

    async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = take_event(&mut self.buffer) {
                return Some(event);
            }
            if self.buffer.len() > MAX_EVENT_BYTES {
                return None;
            }
            let chunk = self.answer.as_mut()?.chunk().await.ok()??;
            self.buffer.extend_from_slice(&chunk);
        }
    }
}

/// Takes the first event that is there as a whole.
fn take_event(buffer: &mut Vec<u8>) -> Option<Event> {
    let (mut event, mut at) = (Event::default(), 0);
    let mut has_data = false;
    while let Some(length) = memchr::memchr(b'\n', &buffer[at..]) {
        let line = &buffer[at..at + length];
        let line = String::from_utf8_lossy(line.strip_suffix(b"\r").unwrap_or(line));
        at += length + 1;
        if line.is_empty() {
            if has_data {
                drop(line);
                buffer.drain(..at);
                if event.kind.is_empty() {
                    "message".clone_into(&mut event.kind);
                }
                return Some(event);
            }
            event = Event::default();
            continue;
        }
        let (field, value) = line.split_once(':').unwrap_or((&line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut event.kind),
            "data" => {
                if has_data {
                    event.data.push('\n');
                }
                event.data.push_str(value);
                has_data = true;
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{Event, take_event};

    #[test]
    fn events_are_taken_whole_and_in_order() {
        let mut buffer =
            b": hello\n\nevent: endpoint\r\ndata: /m?s=1\r\n\r\ndata: a\ndata: b\n".to_vec();
        let event = |kind: &str, data: &str| {
            Some(Event {
                kind: kind.to_owned(),
                data: data.to_owned(),
            })
        };
        assert_eq!(take_event(&mut buffer), event("endpoint", "/m?s=1"));
        assert_eq!(take_event(&mut buffer), None);
        buffer.extend_from_slice(b"\nrest");
        assert_eq!(take_event(&mut buffer), event("message", "a\nb"));
        assert_eq!(buffer, b"rest");
    }
}
