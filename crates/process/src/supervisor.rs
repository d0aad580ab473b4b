//! Starting a program so that all that it starts can be ended with it.
//!
//! A supervisor sees to that: a process between the caller and the program.

mod supervised;

pub use supervised::SupervisedProgram;
pub(crate) use supervised::{MESSAGE_BYTES, chosen};

use crate::changes::ChangeWatch;
use crate::sandbox::Sandbox;
use rustix::fd::{BorrowedFd, OwnedFd};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::ExitStatus;
use std::time::Duration;

/// The time of processes between being asked to end and being killed.
pub const GRACE: Duration = Duration::from_secs(1);

/// News of a program that was started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SupervisorEvent {
    /// The program has ended; others that it started may live on.
    Ended {
        /// The status.
        status: ExitStatus,
        /// True if nothing is left of what it started.
        all_gone: bool,
    },
    /// No process is left but those that could not be ended.
    AllGone {
        /// Their number.
        left: usize,
    },
    /// The program is no longer watched over.
    Lost,
}

pub(crate) struct Start<'a> {
    /// The file of the program. A relative path counts from the directory.
    pub program: &'a Path,
    /// The name for itself (`argv[0]`).
    pub name: &'a OsStr,
    /// The arguments that the program gets.
    pub arguments: &'a [&'a OsStr],
    /// Variables of its environment.
    pub environment: &'a BTreeMap<OsString, OsString>,
    /// The directory, open, so that it can't be exchanged.
    pub directory: BorrowedFd<'a>,
    /// The standard input; `None` for an empty one.
    pub input: Option<OwnedFd>,
    /// True if standard error is kept apart.
    pub apart: bool,
    /// The sandbox that the program is put into.
    pub sandbox: Option<&'a Sandbox>,
    /// The watch that has kept what the program changes.
    pub changes: Option<&'a ChangeWatch>,
}
