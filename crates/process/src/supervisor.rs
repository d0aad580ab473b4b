//! Starting a program so that all that it starts can be ended with it.
//!
//! A supervisor sees to that: a process between the caller and the program.

mod start;
mod supervised;

pub use start::file_with;
pub use supervised::SupervisedProgram;

use rustix::fd::{BorrowedFd, OwnedFd};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io;
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

/// Takes what there is of a program that stays when its caller is gone.
pub trait OutputKeeper {
    /// Takes a piece of output.
    fn output(&mut self, bytes: &[u8]);

    /// Takes how a process has ended.
    fn ended(&mut self, process: i32, status: ExitStatus);
}

/// Opens the files that [`SupervisedProgram::detach`] names: the record, and the log of the output.
pub type OpenKeeper = fn(record: &Path, log: &Path) -> io::Result<Box<dyn OutputKeeper>>;

/// The last steps of a process before it becomes the program. They may only make system calls.
pub type Confine<'a> = dyn Fn() -> Result<(), Errno> + 'a;

/// A program to be started.
pub struct Start<'a> {
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
    /// The last step, which puts it into its sandbox.
    pub confine: Option<&'a Confine<'a>>,
    /// For when it stays.
    pub keeper: OpenKeeper,
}

impl fmt::Debug for Start<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Arguments and environment may hold secrets.
        f.debug_struct("Start")
            .field("program", &self.program)
            .finish_non_exhaustive()
    }
}
