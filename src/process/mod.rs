//! Starting programs: fed with nothing, drained without limit, ended with all that they
//! started.
//!
//! Linux only: it stands on what the kernel of Linux says about processes. Everything is
//! about one command at a time; what a tool makes of it is in [`crate::builtin`].

pub mod capture;
pub mod command;
pub(crate) mod isolated;
pub mod jobs;
pub mod log;
pub mod piped;
mod raw;
pub mod sandbox;
pub mod terminal;
pub mod tree;
pub mod warden;

pub(crate) use raw::without_sigpipe;

/// `SIGTERM` and so on; a number where the signal has no name.
pub(crate) fn signal_name(signal: i32) -> String {
    signal_hook::low_level::signal_name(signal).map_or_else(|| signal.to_string(), str::to_owned)
}
