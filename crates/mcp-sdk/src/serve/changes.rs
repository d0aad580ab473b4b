//! Tells a client that the tools have changed: with its next request or, since protocol version
//! 2026-07-28, on a stream that it keeps open for this.

use super::declare::{self, Audience};
use super::server::{Project, Server};
use crate::{lock, on_thread};
use gemini_tools_core::tool::Cancellation;
use gemini_tools_session::with_time_limit;
use rmcp::RoleServer;
use rmcp::service::{Peer, SubscriptionContext};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::{sleep, timeout};

const NOTIFY_LIMIT: Duration = Duration::from_secs(2);

const PAUSE: Duration = Duration::from_secs(2);

#[derive(Default)]
pub(super) struct KnownTools(Mutex<Option<u64>>);

impl KnownTools {
    pub(super) fn get(&self) -> Option<u64> {
        *lock(&self.0)
    }

    pub(super) fn set(&self, fingerprint: impl Into<Option<u64>>) {
        *lock(&self.0) = fingerprint.into();
    }

    pub(super) async fn notify(
        &self,
        project: Arc<Project>,
        audience: Audience,
        cancel: Cancellation,
        peer: &Peer<RoleServer>,
    ) {
        let now = on_thread(move || fingerprint(&project, audience, &cancel));
        // If this takes too long, the client is notified with its next request.
        let Ok(Ok(now)) = timeout(NOTIFY_LIMIT, now).await else {
            return;
        };
        if self.get() != Some(now) {
            self.set(now);
            // An error means that the client has disconnected, so there is nobody to notify.
            let _ = peer.notify_tool_list_changed().await;
        }
    }
}

fn fingerprint(project: &Project, audience: Audience, cancel: &Cancellation) -> u64 {
    let now = declare::fingerprint(&declare::client_tools(project, audience, cancel));
    project.declared.set(now);
    now
}

pub(super) async fn follow(
    server: &Arc<Server>,
    audience: Audience,
    subscription: &SubscriptionContext,
) {
    if subscription.accepted().tools_list_changed != Some(true) {
        return subscription.cancelled().await;
    }
    // The tools may have changed after the client has listed them and before it subscribed. The
    // first comparison is therefore with the tools that it was told.
    let mut known = server.last_declared(audience.host);
    loop {
        // If the project can't be opened now, the next round tries again.
        if let Some(now) = look(server, audience, known).await {
            let is_other = known.is_some_and(|known| known != now);
            known = Some(now);
            let sink = subscription.sink();
            if is_other && sink.notify_tool_list_changed().await.is_err() {
                return;
            }
        }
        tokio::select! {
            () = subscription.cancelled() => return,
            () = sleep(PAUSE) => {}
        }
    }
}

async fn look(server: &Arc<Server>, audience: Audience, known: Option<u64>) -> Option<u64> {
    let server = Arc::clone(server);
    let look = on_thread(move || {
        let cancel = with_time_limit(&Cancellation::default());
        let _running = server.clock.watch(&cancel, |_| {});
        let project = server.project(&[], audience.host).ok()?;
        let is_known = known.filter(|tools| project.is_known_as(*tools));
        Some(is_known.unwrap_or_else(|| fingerprint(&project, audience, &cancel)))
    });
    look.await.ok().flatten()
}
