//! How a command ends, as the process that watches over it says.

use super::signal_name;
use std::fmt;
use std::time::Duration;

/// How long processes have between being asked to end and being killed. On Windows none is asked.
pub const GRACE: Duration = Duration::from_secs(1);

/// How a process ended: by itself with a code, or by a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// The exit code.
    Code(i32),
    /// The signal's number. Windows ends no process by one.
    Signal(i32),
}

/// `exit status 3`, or the name of a signal.
impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Code(code) => write!(f, "exit status {code}"),
            Self::Signal(signal) => f.write_str(&signal_name(signal)),
        }
    }
}

/// What there is to say of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandEvent {
    /// The command has ended; others that it started may live on.
    Ended {
        /// How.
        ending: Ending,
        /// Whether nothing is left of what it started.
        all_gone: bool,
    },
    /// Nothing is left but the processes that could not be ended.
    AllGone {
        /// How many.
        left: usize,
    },
    /// The command is no longer watched over. It does not come to that on Windows.
    Lost,
}
