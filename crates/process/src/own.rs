//! This process: its preparation, its caller and its end.

pub use crate::raw::without_sigpipe;

use crate::raw;
use rustix::fd::OwnedFd;
use rustix::process::{Pid, Signal, getppid};

/// Prepares this process: the system keeps how its children end, also where the caller ignores
/// `SIGCHLD`; and no other process of an ordinary user can look into it.
pub fn prepare() {
    raw::reset_signal(Signal::CHILD);
    // This closes `/proc/PID/fd` and our memory to them: a command that a tool runs could else open the
    // stream that the answer goes to, and write another one there. What is forked from here is closed
    // as well; a program that is started is not. No core file is left either.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
}

/// Lets `SIGPIPE` end this process, which Rust's standard library ignores.
pub fn end_by_sigpipe() {
    raw::reset_signal(Signal::PIPE);
}

/// Returns a descriptor that becomes readable when the process that has started this one is gone. `None`
/// where that is not a caller: the first process of a machine or a container.
pub fn caller() -> Option<OwnedFd> {
    let parent = getppid().filter(|parent| *parent != Pid::INIT)?;
    let caller = raw::watch_process(parent).ok()?;
    // It may have gone before it was watched, and another have its id.
    (getppid() == Some(parent)).then_some(caller)
}

/// Returns the signal that says that the terminal is gone, if this process gets it: under `nohup` it
/// does not.
pub fn hangup() -> Option<i32> {
    let signal = Signal::HUP.as_raw();
    (!raw::is_ignored(signal)).then_some(signal)
}

/// Leaves the terminal, whose signals are for the process that has started this one.
pub fn leave_terminal() {
    // Only a process that leads its group already can't.
    let _ = rustix::process::setsid();
}

/// Ends this process at once, whatever its threads do.
pub fn exit(status: u8) -> ! {
    raw::exit(status.into())
}
