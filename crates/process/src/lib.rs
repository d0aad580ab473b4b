//! Starts programs, reads what they print, and ends them with every process that they have started.
//!
//! A [`supervisor`], a process between the caller and the program, watches over each command, and
//! [`tree`] finds the processes that the command has started. What a tool answers about a command
//! is left to the tool.
//!
//! # What it owns
//!
//! - [`changes`]: copies of the files that a command changes, for undo;
//! - [`command`]: runs a line of shell or a program: environment, limits, and how it is ended;
//! - [`capture`], [`log`] and [`terminal`]: what a command prints, kept within bounds;
//! - [`condense`]: that output without its repetitions, for a model;
//! - [`jobs`]: commands that go on in the background, from one call to the next;
//! - [`kept_answers`]: files with answers that are too long for a model, for later calls to read;
//! - [`output`]: writing to standard output, so that a host reads every character whole;
//! - [`piped`] and [`line_client`]: programs that keep running and exchange messages over pipes;
//! - [`program_run`]: runs a program to its end, as a host does;
//! - [`network`]: requests to `serve_tools --connect`, the only program that reaches the network,
//!   and the addresses that it may reach;
//! - [`sandbox`]: the kernel's limits on a command;
//! - [`supervisor`] and [`tree`]: the process that watches over a command, and all below that one;
//! - [`own`] and [`signals`]: this process: its caller, and the signals that end it;
//! - [`program`]: which files are programs, and how some are started;
//! - [`tty`]: the terminal on which a person is asked;
//! - [`unread`]: how many written bytes the reader of a pipe or socket has not read yet.
//!
//! Whether a command may run is up to `gemini-tools-policy`. The code that runs between fork and
//! exec is in `raw`, and makes system calls only.
//!
//! # Example
//!
//! ```
//! use gemini_tools_core::tool::Cancellation;
//! use gemini_tools_process::ending::ProcessEnd;
//! use gemini_tools_process::piped::Program;
//! use gemini_tools_process::program_run::{Input, RunOptions};
//! use std::time::Duration;
//!
//! let program = Program {
//!     name: "sort".as_ref(),
//!     arguments: &["-r".to_owned()],
//!     environment: &std::env::vars_os().collect(),
//!     directory: "/".as_ref(),
//! };
//! let options = RunOptions {
//!     input: Input::Bytes(b"one\ntwo\n"),
//!     limit: Duration::from_secs(30),
//!     hold: Duration::from_secs(1),
//!     leaves: false,
//! };
//! let run = program.run(options, &Cancellation::default())?;
//! assert_eq!(run.stdout, b"two\none\n");
//! assert_eq!(run.ending, Ok(ProcessEnd::Code(0)));
//! # Ok::<(), std::io::Error>(())
//! ```

pub mod capture;
#[cfg_attr(not(target_os = "linux"), path = "changes/elsewhere.rs")]
pub mod changes;
pub mod command;
pub mod condense;
pub mod decode;
pub mod ending;
pub mod jobs;
pub mod kept_answers;
pub mod line_client;
pub mod log;
pub mod network;
pub mod output;
pub mod own;
pub mod piped;
pub mod program;
pub mod program_run;
mod raw;
mod read_buffer;
#[cfg(feature = "runtime")]
pub mod runtime;
pub mod sandbox;
pub mod signals;
mod start;
pub mod supervisor;
pub mod terminal;
pub mod tree;
pub mod tty;
pub mod unread;

pub use own::{caller, exit};
pub use read_buffer::{ReadBuffer, read_named, read_stdin, wait_for_stdin};

/// What this system can't do that Linux can, as text for a person; `None` on Linux.
pub const PLATFORM_LIMITATIONS: Option<&str> = if cfg!(target_os = "linux") {
    None
} else {
    Some(
        "macOS, where its maintainers have never run it: no sandbox for commands; a process that \
         has left its session and lost its parent outlives its call",
    )
};

/// Returns the name of a signal, such as `SIGTERM`, or its number if it has no name.
pub fn signal_name(signal: i32) -> String {
    signal_hook::low_level::signal_name(signal).map_or_else(|| signal.to_string(), str::to_owned)
}
