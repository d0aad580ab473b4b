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
