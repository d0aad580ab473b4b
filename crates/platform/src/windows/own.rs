//! This process: what it sees to before it does anything, who has started it, and its end.

use super::fd::OwnedFd;
use super::tree;
use crate::identity::Identity;

/// Nothing: Windows gives no file the handle of a missing stream, and keeps how children end.
pub fn prepare() -> bool {
    true
}

/// A handle that becomes ready when the process that has started this one is gone.
pub fn caller() -> Option<OwnedFd> {
    let own = Identity::of(i32::try_from(std::process::id()).ok()?)?;
    let parent = tree::parent(own.pid)?;
    // A process that began after us has only taken over the id.
    let is_older = Identity::of(parent).is_some_and(|p| p.start_time <= own.start_time);
    let opened = super::process::open(u32::try_from(parent).ok()?, 0).ok();
    opened.filter(|_| is_older)
}

/// Nothing: the process that has started this one sees to signals of the console.
pub fn leave_terminal() {}

/// Ends this process at once, whatever its threads do.
pub fn exit(status: u8) -> ! {
    std::process::exit(status.into())
}

/// Does something during which writing to a pipe without a reader is an error: it always is.
pub fn without_sigpipe<T>(write: impl FnOnce() -> T) -> T {
    write()
}

/// The signal that says that the console is gone: there is none, the process is ended.
pub fn hangup() -> Option<i32> {
    None
}
