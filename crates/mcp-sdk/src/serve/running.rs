//! The calls that run, of all clients.

use gemini_tools_core::tool::{Cancellation, TICK, ToolError};
use gemini_tools_session::{Clock, WatchGuard};
use std::sync::Arc;
use tokio::sync::oneshot;

/// A call that runs.
pub(super) struct StartedCall {
    pub(super) cancel: Cancellation,
    /// Gets the answer where the call has been interrupted and has to be given up.
    pub(super) given_up: oneshot::Receiver<ToolError>,
    /// The call counts as running until this is dropped.
    pub(super) guard: WatchGuard,
}

impl StartedCall {
    pub(super) fn new(clock: &Arc<Clock>, cancel: Cancellation) -> Self {
        let (say, given_up) = oneshot::channel();
        let guard = clock.watch(&cancel, move |error| {
            // A call that has ended meanwhile needs none.
            let _ = say.send(error);
        });
        Self {
            cancel,
            given_up,
            guard,
        }
    }
}

/// Waits until a call has to be given up, which one that has ended never has to.
pub(super) async fn given_up(answer: oneshot::Receiver<ToolError>) -> ToolError {
    match answer.await {
        Ok(error) => error,
        Err(_) => std::future::pending().await,
    }
}

/// Tells all calls to end, and waits until they have, or have been given up. A call that never ends is left to the end of
/// this process, and what it has started to its supervisor.
pub(super) async fn end(clock: &Clock) {
    clock.cancel_all();
    while !clock.is_idle() {
        tokio::time::sleep(TICK).await;
    }
}
