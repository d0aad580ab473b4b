//! Windows: handles in the place of descriptors.
//!
//! Files are opened relative to an open directory by `NtCreateFile`, as `openat` does it: no
//! path is put together, so that exchanging a directory for a link in between gains nothing.

#![expect(
    unsafe_code,
    reason = "the system's functions take pointers; no maintained crate offers these safely"
)]

pub(crate) mod access;
pub mod console;
pub mod event;
pub mod fd;
pub mod ffi;
pub mod files;
pub mod fs;
pub mod holes;
pub mod io;
mod job;
pub mod own;
mod owner;
pub(crate) mod paths;
pub mod process;
pub mod program;
#[cfg(feature = "runtime")]
pub mod runtime;
pub(crate) mod sockets;
pub(crate) mod start;
pub mod stdio;
pub(crate) mod supervisor;
pub mod termios;
pub mod tree;
pub mod tty;
pub mod unix_fs;
pub mod unix_process;
