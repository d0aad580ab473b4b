//! The sessions of clients over HTTP, of which only so many are kept: each takes memory until it ends, and few clients
//! end theirs.

use rmcp::transport::streamable_http_server::SessionManager;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The header that names a session.
pub(super) const SESSION: &str = "mcp-session-id";

/// Maximum sessions. The one of which nothing was heard for the longest time ends for another.
const MAX_SESSIONS: usize = 256;

/// Time until a session ends of which nothing is heard.
const IDLE_LIMIT: Duration = Duration::from_secs(30 * 60);

/// The open sessions, and when each was last heard of.
pub(super) struct Sessions {
    pub(super) manager: Arc<LocalSessionManager>,
    heard: Mutex<HashMap<String, Instant>>,
}

impl Sessions {
    pub(super) fn new() -> Self {
        let mut manager = LocalSessionManager::default();
        manager.session_config.keep_alive = Some(IDLE_LIMIT);
        Self {
            manager: Arc::new(manager),
            heard: Mutex::default(),
        }
    }

    fn heard(&self) -> MutexGuard<'_, HashMap<String, Instant>> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that a session was heard of, if it is open.
    pub(super) fn note(&self, id: &str) {
        if let Some(time) = self.heard().get_mut(id) {
            *time = Instant::now();
        }
    }

    /// Adds a session, and ends another if there are too many.
    pub(super) async fn add(&self, id: String) {
        self.heard().insert(id, Instant::now());
        let open: Vec<String> = {
            let sessions = self.manager.sessions.read().await;
            sessions.keys().map(ToString::to_string).collect()
        };
        let oldest = {
            let mut heard = self.heard();
            heard.retain(|id, _| open.contains(id));
            if heard.len() <= MAX_SESSIONS {
                return;
            }
            let oldest = heard.iter().min_by_key(|(_, time)| **time);
            let oldest = oldest.map(|(id, _)| id.clone()).unwrap_or_default();
            heard.remove(&oldest);
            oldest
        };
        // It may have ended by itself meanwhile.
        let _ = self.manager.close_session(&oldest.into()).await;
    }
}
