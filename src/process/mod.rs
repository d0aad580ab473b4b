//! Starting programs: fed with nothing, drained without limit, ended with all that they
//! started.
//!
//! It stands on what the kernel says about processes; what differs between systems is in a
//! file for each, in `raw` and `tree`. Everything is about one command at a time; what a tool
//! makes of it is in [`crate::builtin`].

pub mod capture;
pub mod command;
pub(crate) mod isolated;
pub mod jobs;
pub mod log;
pub mod piped;
mod raw;
pub mod sandbox;
pub mod terminal;
pub mod tree;
pub mod warden;

pub(crate) use raw::{is_ignored, without_sigpipe};

use rustix::fd::OwnedFd;

/// A descriptor that becomes readable when whoever has started this process is gone (see
/// [`crate::tool::Cancellation::with_caller`]). `None` where that is nobody's caller: the first
/// process of a machine or a container.
pub fn caller() -> Option<OwnedFd> {
    use rustix::process::{Pid, getppid};
    let parent = getppid().filter(|parent| *parent != Pid::INIT)?;
    let caller = raw::watch_process(parent).ok()?;
    // It may have gone before it was watched, and another have its id.
    (getppid() == Some(parent)).then_some(caller)
}

/// `SIGTERM` and so on; a number where the signal has no name.
pub(crate) fn signal_name(signal: i32) -> String {
    signal_hook::low_level::signal_name(signal).map_or_else(|| signal.to_string(), str::to_owned)
}
