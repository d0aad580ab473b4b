//! Starting a program so that all that it starts can be ended with it.
//!
//! A supervisor sees to that: a process between the caller and the program.

mod start;
mod supervised;

pub use start::file_with;
pub use supervised::Supervised;

use rustix::fd::{BorrowedFd, OwnedFd};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io;
use std::path::Path;
use std::process::ExitStatus;
use std::time::Duration;

/// How long processes have between being asked to end and being killed.
pub const GRACE: Duration = Duration::from_secs(1);

/// What there is to say of a program that was started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// The program has ended; others that it started may live on.
    Ended {
        /// How.
        status: ExitStatus,
        /// Whether nothing is left of what it started.
        all_gone: bool,
    },
    /// Nothing is left but the processes that could not be ended.
    AllGone {
        /// How many.
        left: usize,
    },
    /// The program is no longer watched over.
    Lost,
}

/// Takes what there is of a program that stays when its caller is gone.
pub trait Keeper {
    /// Takes a piece of output.
    fn output(&mut self, bytes: &[u8]);

    /// Takes how a process has ended.
    fn ended(&mut self, process: i32, status: ExitStatus);
}

/// Opens the files that [`Supervised::detach`] names: the record, and the log of the output.
pub type OpenKeeper = fn(record: &Path, log: &Path) -> io::Result<Box<dyn Keeper>>;

/// What a process does to itself before it becomes the program. It may only make system calls.
pub type Confine<'a> = dyn Fn() -> Result<(), Errno> + 'a;

/// What a program is started with.
pub struct Start<'a> {
    /// The file of the program. A relative path counts from the directory.
    pub program: &'a Path,
    /// What it is told that it is called.
    pub name: &'a OsStr,
    /// The arguments that the program gets.
    pub arguments: &'a [&'a OsStr],
    /// All of its environment.
    pub environment: &'a BTreeMap<OsString, OsString>,
    /// Where it runs: an open directory, so that it can't be exchanged.
    pub directory: BorrowedFd<'a>,
    /// What it reads on standard input; `None` for nothing.
    pub input: Option<OwnedFd>,
    /// Whether standard error is kept apart.
    pub apart: bool,
    /// Where it has a sandbox: what puts it there, last of all.
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
