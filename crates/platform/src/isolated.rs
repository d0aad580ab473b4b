//! Work on data from strangers, in a process that may die of it.
//!
//! Parsers of large formats can run out of stack, loop, or unpack without bound, and what looks
//! at no clock can't be told to end. Here they do it in a fork with limits of memory and time; the
//! caller gets the result, or the reason why there is none. [`run`] does one thing, a [`Worker`] one after the other.

mod fork;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "macos")]
mod macos;
mod worker;

pub use worker::Worker;

use std::time::Duration;

/// How often it is looked whether the call has ended.
const TICK: Duration = Duration::from_millis(50);

/// The child's stack: parsers that descend into deep nesting need more than the usual one.
const STACK_BYTES: usize = 64 * 1024 * 1024;

/// Why there is no result; `E` is the caller's reason to give up.
#[derive(Debug)]
pub enum IsolationError<E> {
    /// The work has died: of a limit, or of itself.
    Died,
    /// The work took too long.
    TooSlow,
    /// The system would not let it begin.
    NotStarted,
    /// The caller gave it up.
    Interrupted(E),
}

/// What the work may use.
#[derive(Debug, Clone, Copy)]
pub struct ResourceLimits {
    /// Memory besides what the caller has already.
    pub memory_bytes: u64,
    /// Time.
    pub time: Duration,
    /// Maximum bytes taken of a result.
    pub result_bytes: u64,
}

/// What a caller is asked again and again while it waits: whether it still wants the result.
pub type GoOn<'a, E> = dyn Fn() -> Result<(), E> + 'a;

/// Does `work` apart from the caller, as long as `go_on` has no error.
///
/// # Errors
///
/// Why there is no result.
pub fn run<E>(
    bounds: ResourceLimits,
    go_on: &GoOn<'_, E>,
    work: impl FnOnce() -> Vec<u8> + Send + 'static,
) -> Result<Vec<u8>, IsolationError<E>> {
    fork::run(bounds, go_on, work)
}
