//! System calls as the other crates make them: those of `rustix`, and what Linux and macOS do differently.
//!
//! # What it owns
//!
//! - the names [`fs`], [`io`], [`fd`], [`event`], [`process`], [`stdio`], [`termios`] of `rustix`;
//! - [`files`]: whose a file is, who may write to it, and what tells it from others;
//! - [`access`]: the access of a file, given to the one that takes its place;
//! - [`program`]: which files are programs, and how some are started;
//! - [`own`]: this process: what it sees to first, who has started it, and its end;
//! - [`supervisor`]: starting a program so that all that it starts can be ended with it;
//! - [`tree`] and [`identity`]: which processes there are below a process, and ending them;
//! - `runtime`: pipes and signals for tokio, with the feature of that name;
//! - [`sockets`]: sockets that are waited for together with the end of the caller;
//! - [`tty`]: the terminal on which a person is asked;
//! - [`links`]: where a path leads, and through which links;
//! - [`processors()`]: how many there are to share work among;
//! - [`ReadBuffer`]: a buffer for what comes in pieces of unknown size;
//! - [`unread`]: what a reader has not taken yet of what was written;
//! - [`isolated`]: work on data of strangers, in a process that may die of it.
//!
//! What a program does with files and processes is up to the crates above: access beneath roots is
//! in `gemini-tools-workspace`, the limits of commands and what is kept of them in
//! `gemini-tools-process`.
//!
//! # Example
//!
//! ```
//! use gemini_tools_platform::{fs, links};
//!
//! let file = std::fs::File::open("Cargo.toml")?;
//! assert!(fs::fstat(&file)?.st_size > 0);
//!
//! // A path without links leads to itself.
//! let real = std::fs::canonicalize("Cargo.toml")?;
//! assert!(links::resolve(&real)?.is_plain());
//! # Ok::<(), std::io::Error>(())
//! ```

pub use rustix::{event, fd, fs, io, process, stdio, termios};

/// Names and paths as bytes.
pub use std::os::unix::ffi;

/// Modes and identities of files.
pub use std::os::unix::fs as unix_fs;

/// Groups and endings of processes.
pub use std::os::unix::process as unix_process;

pub mod access;
pub mod identity;
pub mod isolated;
pub mod links;
mod processors;
pub mod raw;
mod read_buffer;
pub mod sockets;
pub mod supervisor;
mod unix;
pub mod unread;

use unix as system;

#[cfg(feature = "runtime")]
pub use system::runtime;
pub use system::{files, own, program, tree, tty};

pub use processors::processors;
pub use read_buffer::ReadBuffer;

use std::path::Path;

/// Makes a named pipe, for tests of what reads files.
///
/// # Panics
///
/// Where it can't.
#[doc(hidden)]
pub fn make_fifo(path: &Path) {
    let status = std::process::Command::new("mkfifo").arg(path).status();
    assert!(status.expect("mkfifo").success());
}
