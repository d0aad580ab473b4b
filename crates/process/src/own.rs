//! This process: preparing it, watching its caller, and ending it.

pub use crate::raw::without_sigpipe;

use crate::raw;
use rustix::fd::OwnedFd;
use rustix::process::{Pid, Signal, getppid};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Prepares this process. `SIGCHLD` gets its default action, because a host may ignore it and then
/// the kernel forgets how children ended. A write beyond the limit for file sizes fails. On Linux,
/// other processes of the same user can't look into this process any more, unless the user is root.
pub fn prepare() {
    raw::reset_signal(Signal::CHILD);
    // With a handler for SIGXFSZ, writing more to a file than its size limit allows is an error
    // instead of the end of the process, which would leave a temporary file.
    let ignored = Arc::new(AtomicBool::new(false));
    let _ = signal_hook::flag::register(Signal::XFSZ.as_raw(), ignored);
    // Other processes of the user then can't open `/proc/PID/fd` or the memory of this process. A
    // command that a tool runs could otherwise write another answer to the stream that the answer
    // goes to. Forked processes are protected, too, but not programs that are started. No core file
    // is written either.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
}

/// Restores the default action of `SIGPIPE`, which Rust's standard library ignores, so that a
/// closed pipe ends this process quietly.
pub fn end_by_sigpipe() {
    raw::reset_signal(Signal::PIPE);
}

/// Returns a descriptor that becomes readable when the parent of this process has ended; `None` if
/// the parent is the first process of the system or container, which only adopts orphans.
pub fn caller() -> Option<OwnedFd> {
    let parent = getppid().filter(|parent| *parent != Pid::INIT)?;
    let caller = raw::watch_process(parent).ok()?;
    // The parent may have ended before it was watched, and another process may have got its id.
    (getppid() == Some(parent)).then_some(caller)
}

/// Returns SIGHUP, which tells that the terminal was closed; `None` if ignored, as under `nohup`.
pub fn hangup() -> Option<i32> {
    let signal = Signal::HUP.as_raw();
    (!raw::is_ignored(signal)).then_some(signal)
}

/// Leaves the terminal's session, because the terminal's signals are meant for the parent process.
pub fn leave_terminal() {
    // This fails only for a process that leads its process group already.
    let _ = rustix::process::setsid();
}

/// Ends this process at once, without waiting for other threads.
pub fn exit(status: u8) -> ! {
    raw::exit(status.into())
}
