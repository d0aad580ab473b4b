//! Work on data from strangers, on a thread of its own with a large stack.
//!
//! What is weaker here: Windows has no fork, so that work which runs out of memory or stack ends
//! the call with it, and work that takes too long is left behind until the call is over.

use super::{GoOn, IsolationError, ResourceLimits, STACK_BYTES, TICK};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Instant;

/// Does `work` on a thread of its own.
pub(super) fn run<E>(
    bounds: ResourceLimits,
    go_on: &GoOn<'_, E>,
    work: impl FnOnce() -> Vec<u8> + Send + 'static,
) -> Result<Vec<u8>, IsolationError<E>> {
    let (sender, receiver) = channel();
    let thread = std::thread::Builder::new().stack_size(STACK_BYTES);
    let started = thread.spawn(move || {
        // The caller may no longer be there to take it.
        let _ = sender.send(catch_unwind(AssertUnwindSafe(work)));
    });
    started.map_err(|_| IsolationError::NotStarted)?;
    let until = Instant::now() + bounds.time;
    loop {
        go_on().map_err(IsolationError::Interrupted)?;
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(IsolationError::TooSlow);
        }
        match receiver.recv_timeout(left.min(TICK)) {
            Ok(Ok(result)) if result.len() as u64 <= bounds.result_bytes => return Ok(result),
            Ok(_) | Err(RecvTimeoutError::Disconnected) => return Err(IsolationError::Died),
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

type Work<'w> = dyn FnMut(&[u8]) -> Vec<u8> + Send + 'w;

/// What works as long as it is asked to: here, on the caller's own thread.
pub struct Worker<'w> {
    work: Box<Work<'w>>,
}

impl fmt::Debug for Worker<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Worker").finish_non_exhaustive()
    }
}

impl<'w> Worker<'w> {
    /// Makes it ready. Windows bounds nothing.
    ///
    /// # Errors
    ///
    /// None; elsewhere no process may be left to start.
    pub fn start(
        _: ResourceLimits,
        work: impl FnMut(&[u8]) -> Vec<u8> + Send + 'w,
    ) -> std::io::Result<Self> {
        Ok(Self {
            work: Box::new(work),
        })
    }

    /// Has it work on a piece, and gives the result.
    ///
    /// # Errors
    ///
    /// Where the caller gives it up beforehand.
    pub fn ask<E>(
        &mut self,
        request: &[u8],
        go_on: &GoOn<'_, E>,
    ) -> Result<Vec<u8>, IsolationError<E>> {
        go_on().map_err(IsolationError::Interrupted)?;
        Ok((self.work)(request))
    }
}
