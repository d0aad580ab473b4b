//! The standard streams.

use super::fd::BorrowedFd;
use std::os::windows::io::AsRawHandle;

fn borrowed(handle: std::os::windows::io::RawHandle) -> BorrowedFd<'static> {
    // SAFETY: the standard streams stay open as long as the process; one that is missing is
    // null, which every function refuses.
    unsafe { BorrowedFd::borrow_raw(handle) }
}

/// Standard input.
pub fn stdin() -> BorrowedFd<'static> {
    borrowed(std::io::stdin().as_raw_handle())
}

/// Standard output.
pub fn stdout() -> BorrowedFd<'static> {
    borrowed(std::io::stdout().as_raw_handle())
}

/// Standard error.
pub fn stderr() -> BorrowedFd<'static> {
    borrowed(std::io::stderr().as_raw_handle())
}
