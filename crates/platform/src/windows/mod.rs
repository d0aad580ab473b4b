//! Windows: handles in the place of descriptors.
//!
//! Files are opened relative to an open directory by `NtCreateFile`, as `openat` does it: no
//! path is put together, so that exchanging a directory for a link in between gains nothing.

#![expect(
    unsafe_code,
    reason = "the system's functions take pointers; no maintained crate offers these safely"
)]

pub mod console;
pub mod event;
pub mod fd;
pub mod ffi;
pub mod files;
pub mod fs;
pub mod holes;
pub mod io;
mod owner;
pub(crate) mod paths;
pub mod process;
pub mod program;
pub mod start;
pub mod stdio;
pub mod termios;
pub mod unix_fs;
pub mod unix_process;
