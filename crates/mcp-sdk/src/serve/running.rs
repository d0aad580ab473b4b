//! The calls that run, of all clients.

use gemini_tools_core::tool::{Cancellation, TICK, ToolError};
use gemini_tools_session::{Clock, WatchGuard};
use std::sync::Arc;
use tokio::sync::oneshot;

/// Watches over a call, which counts as running until the guard is dropped. The future is done when the call has been
/// interrupted and has to be given up.
pub(super) fn watch(
    clock: &Arc<Clock>,
    cancel: &Cancellation,
) -> (WatchGuard, impl Future<Output = ToolError> + use<>) {
    let (say, said) = oneshot::channel();
    let guard = clock.watch(cancel, move |error| {
        // A call that has ended meanwhile needs none.
        let _ = say.send(error);
    });
    let given_up = async {
        match said.await {
            Ok(error) => error,
            // The call has ended.
            Err(_) => std::future::pending().await,
        }
    };
    (guard, given_up)
}

/// Tells all calls to end, and waits until they have, or have been given up. A call that never ends is left to the end of
/// this process, and what it has started to its supervisor.
pub(super) async fn end(clock: &Clock) {
    clock.cancel_all();
    while !clock.is_idle() {
        tokio::time::sleep(TICK).await;
    }
}
