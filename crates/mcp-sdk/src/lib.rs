//! Everything that uses the official SDK of the Model Context Protocol.
//!
//! [`connect`] is the client side, which `serve_tools --connect` runs; [`serve`] is the server
//! side, which `serve_tools` runs.

#[cfg(feature = "connect")]
pub mod connect;
mod message;
pub mod serve;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a mutex, even if a thread has panicked while holding it. The protected values are never
/// left half updated.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
