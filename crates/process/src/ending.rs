//! How a process ends.

pub use crate::supervisor::GRACE;

use super::signal_name;
use std::fmt;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

/// How a process ended: by itself with an exit code, or by a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessEnd {
    /// The exit code.
    Code(i32),
    /// The signal's number.
    Signal(i32),
}

impl From<ExitStatus> for ProcessEnd {
    fn from(status: ExitStatus) -> Self {
        match status.signal() {
            Some(signal) => Self::Signal(signal),
            // A process that was not ended by a signal has an exit code.
            None => Self::Code(status.code().unwrap_or_default()),
        }
    }
}

impl fmt::Display for ProcessEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Code(code) => write!(f, "exit status {code}"),
            Self::Signal(signal) => f.write_str(&signal_name(signal)),
        }
    }
}
