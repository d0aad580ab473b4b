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

/// Lets `start` start a thread which, on Linux, stays on the processor of this one.
///
/// A process has ended when each of its threads has, and a sleeping thread must wake up for that.
/// On another processor, which may be idle or busy with other work, that takes as long as a whole
/// small call. The thread must not be one that computes, or that starts processes.
pub fn on_this_processor<T>(start: impl FnOnce() -> T) -> T {
    #[cfg(target_os = "linux")]
    let all = {
        use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};
        let (own, mut here) = (sched_getcpu(), CpuSet::new());
        let all = sched_getaffinity(None)
            .ok()
            .filter(|_| own < CpuSet::MAX_CPU);
        all.inspect(|_| {
            here.set(own);
            let _ = sched_setaffinity(None, &here);
        })
    };
    let started = start();
    #[cfg(target_os = "linux")]
    if let Some(all) = all {
        // The same processors as before, so the system has no reason to refuse.
        let _ = rustix::thread::sched_setaffinity(None, &all);
    }
    started
}

/// Ends this process at once, without waiting for other threads.
pub fn exit(status: u8) -> ! {
    raw::exit(status.into())
}
