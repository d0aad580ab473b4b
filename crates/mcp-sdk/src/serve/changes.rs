//! Telling a client that the tools have changed: at its next request, or since 2026-07-28 on a
//! stream that it keeps open for that.

use super::declare::{self, Audience};
use super::server::{Project, Server};
use gemini_tools_core::tool::Cancellation;
use rmcp::RoleServer;
use rmcp::service::{Peer, SubscriptionContext};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// Time for which an answer waits for the notice of other tools: an MCP server may take its time to
/// list them.
const NOTIFY_LIMIT: Duration = Duration::from_secs(2);

/// Interval between two looks for changes while a client listens for them.
const PAUSE: Duration = Duration::from_secs(2);

/// Number of looks after which a project that keeps changing is taken as it is.
const MAX_TRIES: usize = 5;

/// The fingerprint of the tool list that was last sent to a client.
#[derive(Default)]
pub(super) struct LastNotified(Mutex<Option<u64>>);

impl LastNotified {
    pub(super) fn known(&self) -> Option<u64> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn know(&self, fingerprint: u64) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(fingerprint);
    }

    /// Notifies a client that knows other tools than the project's that they have changed.
    pub(super) async fn notify(
        &self,
        project: Arc<Project>,
        audience: Audience,
        cancel: Cancellation,
        peer: &Peer<RoleServer>,
    ) {
        let now = tokio::task::spawn_blocking(move || fingerprint(&project, audience, &cancel));
        // What takes longer is told at the next request.
        let Ok(Ok(now)) = timeout(NOTIFY_LIMIT, now).await else {
            return;
        };
        if self.known() != Some(now) {
            self.know(now);
            // A client that is gone is seen elsewhere.
            let _ = peer.notify_tool_list_changed().await;
        }
    }
}

/// Returns the fingerprint of the project's tools.
fn fingerprint(project: &Project, audience: Audience, cancel: &Cancellation) -> u64 {
    let now = declare::fingerprint(&declare::declared(project, audience, cancel));
    project.know_as(now);
    now
}

/// The state of the project before a client was told that its subscription counts: later changes
/// are announced.
#[derive(Default)]
pub(super) struct Before(Mutex<Option<u64>>);

impl Before {
    /// Looks, which is not worth a thread of its own.
    pub(super) fn look(&self, server: &Server) {
        let state = server
            .project(&[], None)
            .ok()
            .map(|project| project.state());
        let mut before = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Another client may be about to listen.
        *before = before.or(state);
    }

    fn take(&self) -> Option<u64> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Notifies a client that listens, until it does not any more.
pub(super) async fn follow(
    server: &Arc<Server>,
    audience: Audience,
    before: &Before,
    subscription: &SubscriptionContext,
) {
    let before = before.take();
    if subscription.accepted().tools_list_changed != Some(true) {
        return subscription.cancelled().await;
    }
    let mut known: Option<Look> = None;
    loop {
        // A project that can't be opened now may be later.
        if let Some(now) = look(server, audience, known).await {
            let is_other = match known {
                Some(known) => known.tools != now.tools,
                None => before.is_some_and(|before| before != now.state),
            };
            known = Some(now);
            if is_other
                && subscription
                    .sink()
                    .notify_tool_list_changed()
                    .await
                    .is_err()
            {
                return;
            }
        }
        tokio::select! {
            () = subscription.cancelled() => return,
            () = sleep(PAUSE) => {}
        }
    }
}

/// The result of a look at the project.
#[derive(Clone, Copy)]
struct Look {
    /// Tells apart what decides about tools.
    state: u64,
    /// Tells apart the tools.
    tools: u64,
}

async fn look(server: &Arc<Server>, audience: Audience, known: Option<Look>) -> Option<Look> {
    let server = Arc::clone(server);
    let look = tokio::task::spawn_blocking(move || {
        let started = server.start();
        let mut tries = 0;
        loop {
            let project = server.project(&[], audience.memory_host).ok()?;
            let state = project.state();
            let is_known = |look: &Look| project.is_known_as(look.tools);
            let tools = known.filter(is_known).map_or_else(
                || fingerprint(&project, audience, &started.cancel),
                |known| known.tools,
            );
            tries += 1;
            // Tools that have come in between would count as those of before.
            if project.is_current() || tries == MAX_TRIES {
                return Some(Look { state, tools });
            }
        }
    });
    look.await.ok().flatten()
}
