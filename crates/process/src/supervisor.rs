//! Starts a program so that every process which it starts can be ended with it.
//!
//! The supervisor, a process between the caller and the program, sees to that. It outlives a caller
//! that is killed.

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

/// How long a process has after SIGTERM before it is killed with SIGKILL.
pub const GRACE: Duration = Duration::from_secs(1);

/// Something that happened to a supervised program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SupervisorEvent {
    /// The program has ended. Its children may live on.
    Ended {
        /// How the program has ended.
        status: ExitStatus,
        /// True if no process that it has started is left.
        all_gone: bool,
    },
    /// The program and all its descendants have ended, except for those that could not be ended.
    AllGone {
        /// The number of processes that could not be ended.
        left: usize,
    },
    /// The supervisor has died, so nothing more is reported.
    Lost,
}

pub(crate) struct Start<'a> {
    /// The file to execute. A relative path starts in `directory`.
    pub program: &'a Path,
    /// The name that the program sees as its own (`argv[0]`).
    pub name: &'a OsStr,
    /// The arguments that the program gets.
    pub arguments: &'a [&'a OsStr],
    /// Variables of its environment.
    pub environment: &'a BTreeMap<OsString, OsString>,
    /// The working directory as an open descriptor, so that it can't be swapped for another one.
    pub directory: BorrowedFd<'a>,
    /// The standard input; `None` for an empty one.
    pub input: Option<OwnedFd>,
    /// True if standard error gets a pipe of its own; otherwise it goes to the pipe of the output.
    pub apart: bool,
    /// The sandbox that the program is put into.
    pub sandbox: Option<&'a Sandbox>,
    /// The watch that keeps a copy of each file before the program changes it.
    pub changes: Option<&'a ChangeWatch>,
}
