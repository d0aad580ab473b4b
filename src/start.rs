//! Starting an executable without the standard library's own preparations.
//!
//! Those read the process's memory map and install handlers for a stack overflow, which takes
//! a sixth of the time of a small call. What of them matters is done here: nothing that is
//! opened later may get the number of a closed standard stream, or an answer would be written
//! into a file. `SIGPIPE` keeps its default action, so a reader that goes away ends the
//! process quietly, as is usual for Unix tools.

use rustix::fd::BorrowedFd;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
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

/// Runs `main` and gives the exit status.
pub fn run(main: fn() -> u8) -> u8 {
    use rustix::stdio::{stderr, stdin, stdout};
    for stream in [stdin(), stdout(), stderr()] {
        if is_closed(stream) && !open_null() {
            return UNFORESEEN;
        }
    }
    catch_unwind(AssertUnwindSafe(main)).unwrap_or(UNFORESEEN)
}

fn is_closed(stream: BorrowedFd<'_>) -> bool {
    rustix::io::fcntl_getfd(stream) == Err(Errno::BADF)
}

/// Opens the null device under the lowest free number and leaves it open.
fn open_null() -> bool {
    rustix::fs::open("/dev/null", OFlags::RDWR, Mode::empty())
        .map(std::mem::forget)
        .is_ok()
}
