//! The system's interface as the other modules use it: that of `rustix`, which covers Unix.
//!
//! On Windows `windows` gives as much of it as is needed there the same names, over handles in
//! the place of descriptors. What has no counterpart isn't there, so that it can't be used by
//! mistake.
//!
//! # What it owns
//!
//! - the names [`fs`], [`io`], [`fd`], [`event`], [`process`], [`stdio`], [`termios`] on every
//!   system;
//! - [`canonicalize`], which gives a path in the usual form of the system;
//! - [`check_names`]: names that can't be a file's there;
//! - [`files`]: whose a file is, who may write to it, and what tells it from others;
//! - [`access`]: the access of a file, given to the one that takes its place;
//! - [`program`]: which files are programs, and how some are started;
//! - [`own`]: this process: what it sees to first, who has started it, and its end;
//! - [`supervisor`]: starting a program so that all that it starts can be ended with it;
//! - [`tree`] and [`identity`]: which processes there are below a process, and ending them;
//! - `runtime`: pipes and signals for tokio, with the feature of that name;
//! - [`sockets`]: sockets that are waited for together with the end of the caller;
//! - [`holes`]: parts of a file that take no room;
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
//! use gemini_tools_platform::{canonicalize, fs, links};
//!
//! let file = std::fs::File::open("Cargo.toml")?;
//! // The same call on Unix and on Windows.
//! assert!(fs::fstat(&file)?.st_size > 0);
//!
//! // A path without links leads to itself.
//! let real = canonicalize("Cargo.toml")?;
//! assert!(links::resolve(&real)?.is_plain());
//! # Ok::<(), std::io::Error>(())
//! ```

#[cfg(unix)]
pub use rustix::{event, fd, fs, io, process, stdio, termios};

/// Names and paths as bytes.
#[cfg(unix)]
pub use std::os::unix::ffi;

/// Modes and identities of files.
#[cfg(unix)]
pub use std::os::unix::fs as unix_fs;

/// Groups and endings of processes.
#[cfg(unix)]
pub use std::os::unix::process as unix_process;

pub mod access;
pub mod identity;
pub mod isolated;
pub mod links;
mod processors;
#[cfg(unix)]
pub mod raw;
mod read_buffer;
pub mod sockets;
pub mod supervisor;
#[cfg(unix)]
mod unix;
pub mod unread;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
use unix as system;
#[cfg(windows)]
use windows as system;

#[cfg(feature = "runtime")]
pub use system::runtime;
pub use system::{files, holes, own, program, tree, tty};

#[cfg(windows)]
pub use windows::paths::{check_names, check_new_names};
#[cfg(windows)]
pub use windows::{
    console, event, fd, ffi, fs, io, process, stdio, termios, unix_fs, unix_process,
};

pub use processors::processors;
pub use read_buffer::ReadBuffer;

use std::path::{Path, PathBuf};

/// A name that no file can have on this system, and why, as a sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct UnusableName(String);

/// Accepts every path: on Unix each name is a file's.
///
/// # Errors
///
/// None; Windows has names that are not a file's.
#[cfg(unix)]
pub fn check_names(_path: &Path) -> Result<(), UnusableName> {
    Ok(())
}

#[cfg(unix)]
pub use check_names as check_new_names;

/// The path without links, in the form that is usual: on Windows without the prefix `\\?\`,
/// where it can do without.
///
/// # Errors
///
/// What the system says.
pub fn canonicalize(path: impl AsRef<Path>) -> std::io::Result<PathBuf> {
    let path = path.as_ref().canonicalize()?;
    #[cfg(windows)]
    let path = windows::paths::usual_form(path);
    Ok(path)
}

/// Makes a named pipe, for tests of what reads files.
///
/// # Panics
///
/// Where it can't.
#[cfg(unix)]
#[doc(hidden)]
pub fn make_fifo(path: &Path) {
    let status = std::process::Command::new("mkfifo").arg(path).status();
    assert!(status.expect("mkfifo").success());
}
