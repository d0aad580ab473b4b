//! Work on data from strangers, in a process that may die of it.
//!
//! Parsers of large formats can run out of stack, loop, or unpack without bound, and what looks
//! at no clock can't be told to end. Here they do it in a fork with limits of memory and time
//! (on Windows, which has none, on a thread with a limit of time); the caller gets the result, or
//! the reason why there is none. [`run`] does one thing, a [`Worker`] one after the other.

#[cfg(unix)]
mod fork;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "macos")]
mod macos;
#[cfg(windows)]
mod thread;
#[cfg(unix)]
mod worker;

#[cfg(windows)]
pub use thread::Worker;
#[cfg(unix)]
pub use worker::Worker;

use gemini_tools_core::tool::{Cancellation, ToolError};
use std::time::Duration;
use url::Url;

/// How often it is looked whether the call has ended.
const TICK: Duration = Duration::from_millis(50);

/// The child's stack: parsers that descend into deep nesting need more than the usual one.
const STACK_BYTES: usize = 64 * 1024 * 1024;

/// Why there is no result.
#[derive(Debug)]
pub enum IsolationError {
    /// The work has died: of a limit, or of itself.
    Died,
    /// The work took too long.
    TooSlow,
    /// The system would not let it begin.
    NotStarted,
    /// The call was interrupted.
    Interrupted(ToolError),
}

/// What the work may use.
#[derive(Debug, Clone, Copy)]
pub struct ResourceLimits {
    /// Memory besides what the caller has already. Windows has no such limit for a thread.
    pub memory_bytes: u64,
    /// Time.
    pub time: Duration,
    /// Maximum bytes taken of a result.
    pub result_bytes: u64,
}

/// Does `work` on what came from an address, apart from the call.
pub fn run(
    bounds: ResourceLimits,
    cancel: &Cancellation,
    bytes: &[u8],
    url: &Url,
    work: fn(&[u8], &Url) -> Vec<u8>,
) -> Result<Vec<u8>, IsolationError> {
    #[cfg(unix)]
    {
        fork::run(bounds, cancel, || work(bytes, url))
    }
    #[cfg(windows)]
    {
        let (bytes, url) = (bytes.to_owned(), url.clone());
        thread::run(bounds, cancel, move || work(&bytes, &url))
    }
}
