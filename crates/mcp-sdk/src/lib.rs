//! All that uses the official SDK of the Model Context Protocol.
//!
//! [`connect`] holds the connections to servers, for `serve_tools --connect`; [`serve`] is the
//! server that `serve_tools` is.

#[cfg(feature = "connect")]
pub mod connect;
pub mod serve;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a mutex. A thread that has panicked meanwhile has left its value whole.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
