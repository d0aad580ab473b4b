//! Starting an executable without the standard library's own preparations.
//!
//! Those read the process's memory map and install handlers for a stack overflow, which takes
//! a sixth of the time of a small call. What of them matters is done here: nothing that is
//! opened later may get the number of a closed standard stream, or an answer would be written
//! into a file; and how children end must not be forgotten because a host does not want to know it
//! of its own. `SIGPIPE` keeps its default action, so a reader that goes away ends the
//! process quietly, as is usual for Unix tools.

#[cfg(unix)]
use crate::sys::fd::BorrowedFd;
#[cfg(unix)]
use crate::sys::fs::{Mode, OFlags};
#[cfg(unix)]
use crate::sys::io::Errno;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The exit status of a failure that no code foresaw (`EX_SOFTWARE` of `sysexits.h`).
const UNFORESEEN: u8 = 70;

/// Defines `main` for a function that gives the exit status.
#[macro_export]
macro_rules! main {
    ($run:path) => {
        #[cfg(all(target_os = "linux", target_env = "gnu"))]
        #[expect(
            unsafe_code,
            reason = "the C library looks for a function of this name"
        )]
        #[unsafe(no_mangle)]
        extern "C" fn main(
            _: std::ffi::c_int,
            _: *const *const std::ffi::c_char,
        ) -> std::ffi::c_int {
            std::ffi::c_int::from($crate::start::run($run))
        }

        #[cfg(not(all(target_os = "linux", target_env = "gnu")))]
        fn main() -> std::process::ExitCode {
            $crate::start::run($run).into()
        }
    };
}

/// Runs `main` and gives the exit status. Windows gives no file the handle of a missing stream.
#[cfg(windows)]
pub fn run(main: fn() -> u8) -> u8 {
    catch_unwind(AssertUnwindSafe(main)).unwrap_or(UNFORESEEN)
}

/// Runs `main` and gives the exit status.
#[cfg(unix)]
pub fn run(main: fn() -> u8) -> u8 {
    use crate::sys::stdio::{stderr, stdin, stdout};
    for stream in [stdin(), stdout(), stderr()] {
        if is_closed(stream) && !open_null() {
            return UNFORESEEN;
        }
    }
    crate::process::keep_endings();
    close_to_others();
    catch_unwind(AssertUnwindSafe(main)).unwrap_or(UNFORESEEN)
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

#[cfg(all(unix, not(target_os = "linux")))]
fn close_to_others() {}

#[cfg(unix)]
fn is_closed(stream: BorrowedFd<'_>) -> bool {
    crate::sys::io::fcntl_getfd(stream) == Err(Errno::BADF)
}

/// Opens the null device under the lowest free number and leaves it open.
#[cfg(unix)]
fn open_null() -> bool {
    crate::sys::fs::open("/dev/null", OFlags::RDWR, Mode::empty())
        .map(std::mem::forget)
        .is_ok()
}
