//! Handles what a server sends by itself: requests for the roots, and notifications of progress and
//! of changed tools.

#![expect(deprecated, reason = "servers of today ask for roots")]

use super::send;
use crate::lock;
use gemini_tools_process::network::wire::ClientMessage;
use rmcp::model::{
    ClientCapabilities, ClientConfig, Implementation, ListRootsResult, ProgressNotificationParam,
    ProgressToken, ProtocolVersion, Root, RootsCapabilities,
};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{ClientHandler, ErrorData, RoleClient};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use url::Url;

#[derive(Clone)]
pub(super) struct Handler {
    server: Arc<str>,
    roots: Arc<[PathBuf]>,
    /// For each progress token, the number of the request whose progress the server reports with
    /// it.
    pub(super) progress: Arc<Mutex<HashMap<ProgressToken, u64>>>,
}

impl Handler {
    pub(super) fn new(server: &str, roots: &[PathBuf]) -> Self {
        Self {
            server: server.into(),
            roots: roots.into(),
            progress: Arc::default(),
        }
    }

    fn roots(&self) -> ListRootsResult {
        let urls = self
            .roots
            .iter()
            .filter_map(|path| Url::from_file_path(path).ok());
        ListRootsResult::new(urls.map(|url| Root::new(url.to_string())).collect())
    }

    /// Returns the answer to a request that a server makes within a result; `None` for requests
    /// that this client does not support. Forms are declined, since there is no user to fill them
    /// in.
    pub(super) fn answer(&self, method: &str) -> Option<Value> {
        match method {
            "roots/list" => serde_json::to_value(self.roots()).ok(),
            "elicitation/create" => Some(json!({ "action": "decline" })),
            _ => None,
        }
    }

    pub(super) fn say_changed(&self) {
        send(&ClientMessage::Changed {
            server: self.server.to_string(),
        });
    }
}

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        let mut capabilities = ClientCapabilities::default();
        capabilities.roots = Some(RootsCapabilities::default());
        let own = Implementation::new("gemini-tools", env!("CARGO_PKG_VERSION"));
        // The newest protocol version that begins with `initialize`, which today's servers expect.
        ClientConfig::new(capabilities, own)
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }

    async fn list_roots(
        &self,
        _: RequestContext<RoleClient>,
    ) -> Result<ListRootsResult, ErrorData> {
        Ok(self.roots())
    }

    async fn on_progress(
        &self,
        progress: ProgressNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        let id = lock(&self.progress).get(&progress.progress_token).copied();
        let Some(id) = id else { return };
        let far = match progress.total {
            Some(total) => format!("{} of {total}", progress.progress),
            None => progress.progress.to_string(),
        };
        let text = match progress.message {
            Some(message) => format!("{message} ({far})\n"),
            None => format!("{far}\n"),
        };
        send(&ClientMessage::Progress { id, text });
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.say_changed();
    }
}
