//! What a process sees to before it does anything.

use crate::raw;
use rustix::fd::BorrowedFd;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::stdio::{stderr, stdin, stdout};

/// Opens the standard streams that are closed, so that no file gets their numbers, has the system
/// keep how children end, and closes what others could see of this process. Whether all streams
/// are there.
pub fn prepare() -> bool {
    for stream in [stdin(), stdout(), stderr()] {
        if is_closed(stream) && !open_null() {
            return false;
        }
    }
    raw::reset_sigchld();
    close_to_others();
    true
}

/// Closes `/proc/PID/fd` and the memory of this process to all other processes of an ordinary
/// user: a command that a tool runs could else open the stream that the answer goes to, and write
/// another one there. What is forked from here is closed as well; a program that is started is
/// not. No core file is left either.
#[cfg(target_os = "linux")]
fn close_to_others() {
    use rustix::process::{DumpableBehavior, set_dumpable_behavior};
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
}

#[cfg(not(target_os = "linux"))]
fn close_to_others() {}

fn is_closed(stream: BorrowedFd<'_>) -> bool {
    rustix::io::fcntl_getfd(stream) == Err(Errno::BADF)
}

/// Opens the null device under the lowest free number and leaves it open.
fn open_null() -> bool {
    rustix::fs::open("/dev/null", OFlags::RDWR, Mode::empty())
        .map(std::mem::forget)
        .is_ok()
}
