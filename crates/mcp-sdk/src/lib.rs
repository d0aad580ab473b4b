//! Everything that uses the official SDK of the Model Context Protocol.
//!
//! [`connect`] is the client side, which `serve_tools --connect` runs; [`serve`] is the server
//! side, which `serve_tools` runs.

#[cfg(feature = "connect")]
pub mod connect;
mod message;
pub mod serve;

use gemini_tools_core::tool::ToolError;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::Builder;
use tokio::sync::oneshot;

/// Locks a mutex, even if a thread has panicked while holding it. The protected values are never
/// left half updated.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs `work`, which may block, on a thread of its own. Where no thread can be started, tokio's
/// `spawn_blocking` panics after it has queued the work, which then runs at any time or never.
pub(crate) async fn on_thread<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ToolError> {
    let (sender, done) = oneshot::channel();
    let work = move || drop(sender.send(work()));
    let no_thread = |e| ToolError::failed(format!("No thread could be started: {e}."));
    Builder::new().spawn(work).map_err(no_thread)?;
    let crashed = |_| ToolError::failed("The call has crashed (internal error).");
    done.await.map_err(crashed)
}
