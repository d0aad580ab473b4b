//! Starting a program so that all that it starts can be ended with it.
//!
//! On Unix a supervisor sees to that, a process between the caller and the program. On Windows a
//! job object holds them: nothing in it outlives its last handle, which is the caller's, so that
//! even a caller that is killed leaves nothing behind.
//!
//! What is weaker on Windows: no process is asked to end politely first, and nothing can stay
//! without its caller, because there is no process that would keep its output.

pub use crate::system::start::file_with;
pub use crate::system::supervisor::Supervised;

use crate::fd::{BorrowedFd, OwnedFd};
use crate::io::Errno;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io;
use std::path::Path;
use std::process::ExitStatus;
use std::time::Duration;

/// How long processes have between being asked to end and being killed. On Windows none is asked.
pub const GRACE: Duration = Duration::from_secs(1);

/// Whether a program can go on when its caller is gone.
pub const SUPPORTS_BACKGROUND: bool = cfg!(unix);

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
    /// The program is no longer watched over. It does not come to that on Windows.
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
    /// What it is told that it is called. On Windows it is told its path.
    pub name: &'a OsStr,
    /// The arguments that the program gets.
    pub arguments: &'a [&'a OsStr],
    /// All of its environment.
    pub environment: &'a BTreeMap<OsString, OsString>,
    /// Where it runs: an open directory, so that it can't be exchanged.
    pub directory: BorrowedFd<'a>,
    /// The path of the directory, which Windows wants.
    pub path: &'a Path,
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
