//! Sockets that are waited for together with the end of the caller.

pub use crate::system::sockets::{connect, wait};
pub use rustix::event::PollFlags;

use crate::fd::BorrowedFd;
use std::fmt;
use std::io;
use std::time::Duration;

/// What may end a wait before its time.
pub struct Watch<'a> {
    /// Becomes ready when the caller is gone.
    pub caller: Option<BorrowedFd<'a>>,
    /// How often `check` is asked at least.
    pub tick: Duration,
    /// Told whether the caller is gone; its error ends the wait.
    pub check: &'a dyn Fn(bool) -> io::Result<()>,
}

impl fmt::Debug for Watch<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch")
            .field("caller", &self.caller)
            .field("tick", &self.tick)
            .finish_non_exhaustive()
    }
}
