//! The calls that run, of all clients.

use crate::lock;
use gemini_tools_core::tool::{Cancellation, GracePeriod, TICK, ToolError};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// The cancellations of all calls that run.
#[derive(Default)]
pub(super) struct RunningCalls {
    next: AtomicU64,
    calls: Mutex<HashMap<u64, Cancellation>>,
}

impl RunningCalls {
    /// Adds a call, which counts as running until the guard is dropped.
    pub(super) fn start(self: &Arc<Self>, cancel: Cancellation) -> CallGuard {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        lock(&self.calls).insert(id, cancel.clone());
        CallGuard {
            id,
            cancel,
            running: Arc::clone(self),
        }
    }

    /// Tells all calls to end.
    pub(super) fn cancel_all(&self) {
        lock(&self.calls).values().for_each(Cancellation::cancel);
    }

    /// Tells all calls to end, and waits until they have, or have to be given up.
    pub(super) async fn end(&self) {
        self.cancel_all();
        let mut grace: HashMap<u64, GracePeriod> = HashMap::new();
        // A call that never ends is left to the end of this process, and what it has started to
        // its supervisor.
        let mut count = || {
            let calls = lock(&self.calls);
            let goes_on = |(id, cancel): &(&u64, &Cancellation)| {
                !grace.entry(**id).or_default().is_over(cancel)
            };
            // The grace of each call begins when it is looked at, so all are.
            calls.iter().filter(goes_on).count()
        };
        while count() > 0 {
            tokio::time::sleep(TICK).await;
        }
    }
}

/// A call that runs.
pub(super) struct CallGuard {
    id: u64,
    pub(super) cancel: Cancellation,
    running: Arc<RunningCalls>,
}

impl Drop for CallGuard {
    fn drop(&mut self) {
        lock(&self.running.calls).remove(&self.id);
    }
}

/// Waits until a call that has been interrupted has to be given up.
pub(super) async fn given_up(cancel: Cancellation) -> ToolError {
    let mut grace = GracePeriod::default();
    while !grace.is_over(&cancel) {
        tokio::time::sleep(TICK).await;
    }
    cancel.give_up()
}
