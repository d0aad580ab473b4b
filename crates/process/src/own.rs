//! This process: preparing it, watching its caller, and ending it.

pub use crate::raw::without_sigpipe;

use crate::raw;
use rustix::fd::OwnedFd;
use rustix::process::{Pid, Signal, getppid};

/// Prepares this process. `SIGCHLD` gets its default action, because a host may ignore it and then
/// the kernel forgets how children ended. And no other process of an ordinary user may look into
/// this one.
pub fn prepare() {
    raw::reset_signal(Signal::CHILD);
    // This closes `/proc/PID/fd` and our memory to them: a command that a tool runs could else open the
    // stream that the answer goes to, and write another one there. What is forked from here is closed
    // as well; a program that is started is not. No core file is left either.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
}

/// Restores the default action of `SIGPIPE`, which Rust's standard library ignores, so that a
/// closed pipe ends this process quietly.
pub fn end_by_sigpipe() {
    raw::reset_signal(Signal::PIPE);
}

/// Returns a descriptor that becomes readable when the parent of this process has ended. Returns
/// `None` if the parent is the first process of the system or container, which adopts orphans and
/// never was the caller.
pub fn caller() -> Option<OwnedFd> {
    let parent = getppid().filter(|parent| *parent != Pid::INIT)?;
    let caller = raw::watch_process(parent).ok()?;
    // It may have gone before it was watched, and another have its id.
    (getppid() == Some(parent)).then_some(caller)
}

/// Returns the signal that tells of a closed terminal. `None` under `nohup`, which ignores it.
pub fn hangup() -> Option<i32> {
    let signal = Signal::HUP.as_raw();
    (!raw::is_ignored(signal)).then_some(signal)
}

/// Leaves the terminal's session. Its signals are meant for the parent process.
pub fn leave_terminal() {
    // Only a process that leads its group already can't.
    let _ = rustix::process::setsid();
}

/// Ends this process at once, without waiting for other threads.
pub fn exit(status: u8) -> ! {
    raw::exit(status.into())
}
