//! Processes, told apart by more than their ids, which are used again.

use serde::{Deserialize, Serialize};

/// A process, told apart from a later one with the same id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Identity {
    /// The process id.
    pub pid: i32,
    /// The moment of its start: on Linux in clock ticks since the machine's, on macOS in
    /// microseconds since 1970.
    pub start_time: u64,
}

impl Identity {
    /// Whether the process is still alive.
    pub fn is_alive(self) -> bool {
        Self::of(self.pid) == Some(self)
    }
}
