//! The HTTP+SSE transport of older protocol versions: a stream of events from the server, whose
//! first event names the address for messages. The SDK has dropped it, but many servers still use
//! it.

use super::http;
use super::stdio::StrayOutputLog;
use gemini_tools_core::json;
use gemini_tools_net::gemini_api as genai;
use gemini_tools_process::network::wire::Connect;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap};
use rmcp::RoleClient;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use std::collections::VecDeque;
use std::io;
use url::Url;

pub(super) struct Sse {
    events: Events,
    client: reqwest::Client,
    headers: HeaderMap,
    post: Url,
}

impl Sse {
    pub(super) async fn open(
        connect: &Connect,
        url: &Url,
        aside: StrayOutputLog,
    ) -> Result<Self, String> {
        let client = http::client(url)?;
        let headers: HeaderMap = http::headers(connect)?.into_iter().collect();
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
        let mut events = Events {
            answer: Some(answer),
            parser: genai::Events::default(),
            ready: VecDeque::new(),
            aside,
        };
        loop {
            let Some((name, data)) = events.next().await else {
                return Err("its stream ends before it says where messages go".to_owned());
            };
            if name == b"endpoint" {
                let post = url
                    .join(String::from_utf8_lossy(&data).trim())
                    .map_err(|e| format!("the address for messages is not valid: {e}"))?;
                // Otherwise the server could have our headers, with their secrets, sent to another
                // host.
                if post.origin() != url.origin() {
                    return Err("it asks for messages to another host".to_owned());
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
        while let Some((name, data)) = self.events.next().await {
            if !matches!(&name[..], b"" | b"message") {
                continue;
            }
            if let Err(e) = json::check_message(&data) {
                self.events.end(&e.to_string());
            } else if let Some(message) = super::parse_message(&data) {
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

/// Parses events from the response's body. The future of [`Events::next`] may be dropped while it
/// waits, without losing events.
struct Events {
    answer: Option<reqwest::Response>,
    parser: genai::Events,
    ready: VecDeque<genai::Event>,
    aside: StrayOutputLog,
}

impl Events {
    async fn next(&mut self) -> Option<genai::Event> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(event);
            }
            let chunk = self.answer.as_mut()?.chunk().await.ok()??;
            match self.parser.push(&chunk) {
                Ok(events) => self.ready.extend(events),
                Err(e) => self.end(&e.to_string()),
            }
        }
    }

    fn end(&mut self, why: &str) {
        let fault = format!("it sent a message that is too large: {why}");
        self.aside.set_fault(fault);
        self.ready.clear();
        self.answer = None;
    }
}
